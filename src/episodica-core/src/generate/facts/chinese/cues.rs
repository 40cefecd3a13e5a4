//! Sentences that are kept as instructions, and the cues of problems and solutions.

use super::lexicon::contains;

/// 先……再……, or an instruction with code in it.
pub(in crate::generate::facts) fn procedure(sentence: &str) -> bool {
    if sentence.len() > 400 || sentence.ends_with(['?', '？']) || sentence.contains(['我', '你'])
    {
        return false;
    }
    let steps = sentence.find('先').is_some_and(|first| sentence[first..].contains('再'));
    let code = sentence.contains('`')
        && contains(&["运行", "执行", "输入", "使用", "设置", "安装"], sentence);
    let put_off = contains(&["再说", "再见", "再聊", "再看"], sentence);
    steps && !put_off && sentence.chars().count() >= 16 || code
}

/// Tells of a failure.
pub(in crate::generate::facts) fn is_problem(sentence: &str) -> bool {
    contains(
        &[
            "报错",
            "错误",
            "失败",
            "崩溃",
            "出错",
            "卡死",
            "超时",
            "异常",
            "打不开",
            "连不上",
            "故障",
            "死机",
            "泄漏",
        ],
        sentence,
    ) && !sentence.ends_with(['?', '？'])
}

/// Tells what cured, or caused, one.
pub(in crate::generate::facts) fn is_solution(sentence: &str) -> bool {
    contains(
        &[
            "解决了",
            "解决方法",
            "解决办法",
            "修复了",
            "修好了",
            "原因是",
            "办法是",
            "就好了",
            "就正常了",
        ],
        sentence,
    ) && !contains(&["如果", "要是"], sentence)
}
