//! Facts that do not depend on the speaker: instructions, solutions with their problems, and an
//! agent's statements about its user.

use std::sync::Arc;

use super::candidate::FactCandidate;
use crate::fork::ForkLazy;
use crate::generate::episode::ToldSentence;
use crate::model::{MemoryKind, Message};
use crate::text::words::runs;
use crate::text::{Language, PhraseTable};

/// Maximum number of messages between a problem and its solution.
const CASE_REACH: usize = 8;

/// Verbs that open an instruction.
const IMPERATIVES: [&str; 30] = [
    "run",
    "use",
    "set",
    "install",
    "add",
    "open",
    "call",
    "type",
    "build",
    "deploy",
    "start",
    "restart",
    "stop",
    "check",
    "create",
    "remove",
    "delete",
    "update",
    "upgrade",
    "copy",
    "paste",
    "click",
    "press",
    "select",
    "execute",
    "enable",
    "disable",
    "export",
    "configure",
    "rebase",
];

/// Words of a sentence that reports a failure.
const PROBLEMS: [&str; 34] = [
    "error",
    "errors",
    "fail",
    "fails",
    "failed",
    "failing",
    "crash",
    "crashes",
    "crashed",
    "broken",
    "bug",
    "timeout",
    "exception",
    "leak",
    "stuck",
    "hangs",
    "freezes",
    "panic",
    "panics",
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
    "doesn't work",
    "won't start",
];

/// Phrases of a sentence that names the fix or the cause of a failure.
const SOLUTIONS: [&str; 23] = [
    "fixed by",
    "fixed it by",
    "fixed that by",
    "the fix is",
    "the fix was",
    "solved by",
    "solved it by",
    "resolved by",
    "the solution is",
    "the solution was",
    "root cause",
    "the culprit",
    "workaround",
    "the cause was",
    "解决了",
    "解决方法",
    "解决办法",
    "修复了",
    "修好了",
    "原因是",
    "办法是",
    "就好了",
    "就正常了",
];

static SOLUTION: ForkLazy<PhraseTable<()>> =
    ForkLazy::new(|| PhraseTable::new(SOLUTIONS.into_iter().map(|phrase| (phrase, ()))));

/// True if the sentence explains a procedure: "To deploy, run `make ship`."
pub(super) fn is_procedure(sentence: &str, language: Language) -> bool {
    let has_code = sentence.matches('`').count() >= 2;
    if language == Language::Chinese {
        let commands = ["运行", "执行", "输入", "使用", "设置", "安装"];
        let steps = sentence.find('先').is_some_and(|first| sentence[first..].contains("再"));
        let put_off = ["再说", "再见", "再聊", "再看"].iter().any(|word| sentence.contains(word));
        let personal = sentence.contains(['我', '你']);
        return !personal
            && (steps && !put_off && sentence.chars().count() >= 16
                || has_code && commands.iter().any(|word| sentence.contains(word)));
    }
    let lower = sentence.to_lowercase();
    let opens = |text: &str| {
        let word = text.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        IMPERATIVES.contains(&word)
    };
    match lower.strip_prefix("to ").and_then(|rest| rest.split_once(", ")) {
        Some((purpose, rest)) => {
            purpose.len() < 80 && opens(rest.strip_prefix("you ").unwrap_or(rest))
        }
        None => {
            let start = ["first ", "then ", "always ", "just ", "now "]
                .iter()
                .find_map(|word| lower.strip_prefix(word))
                .unwrap_or(&lower);
            has_code
                && opens(start)
                && [" to ", " before ", " after ", " when "].iter().any(|word| start.contains(word))
        }
    }
}

/// An agent's sentence about its user: "Your order was shipped." is about the user's order.
pub(super) fn about_user(told: &ToldSentence) -> Option<String> {
    if told.language == Language::Chinese {
        let rest = told.said.strip_prefix("您的").or_else(|| told.said.strip_prefix("你的"))?;
        return (!rest.contains(['你', '您', '我'])).then(|| format!("用户的{rest}"));
    }
    let said = told.content.split_once(": \"").map_or(&*told.said, |(_, said)| said);
    let rest = said.trim_end_matches('"').strip_prefix("Your ")?;
    let other = ["you", "your", "i", "my", "we", "our", "me", "us", "i'll", "we'll", "you're"];
    let lower = rest.to_lowercase();
    let mut words = runs(&lower, |c| c.is_alphanumeric() || c == '\'');
    words.all(|word| !other.contains(&word)).then(|| format!("The user's {rest}"))
}

/// Solutions, each with the latest problem before it.
pub(super) fn cases(
    told: &[ToldSentence],
    messages: &[Arc<Message>],
) -> impl Iterator<Item = FactCandidate> {
    told.iter().enumerate().filter_map(|(at, solution)| {
        if messages[solution.message].is_machinery() || !is_solution(&solution.said) {
            return None;
        }
        let problem = told[..at]
            .iter()
            .rev()
            .take_while(|before| before.message + CASE_REACH >= solution.message)
            .find(|before| is_problem(before))?;
        Some(case(problem, solution, messages))
    })
}

fn case(
    problem: &ToldSentence,
    solution: &ToldSentence,
    messages: &[Arc<Message>],
) -> FactCandidate {
    let (subject, content) = if solution.language == Language::Chinese {
        ("助手", format!("问题：{} 解决：{}", problem.said, solution.said))
    } else {
        ("assistant", format!("Problem: {} Solution: {}", problem.said, solution.said))
    };
    let mut sources = vec![problem.message, solution.message];
    sources.dedup();
    FactCandidate {
        content,
        kind: MemoryKind::Case,
        confidence: 0.75,
        importance: 0.62,
        subject: subject.to_owned(),
        attribute: "case".to_owned(),
        value: String::new(),
        valid_from: messages[solution.message].timestamp,
        said: messages[solution.message].timestamp,
        source_messages: sources.iter().map(|at| messages[*at].message_id.clone()).collect(),
    }
}

fn is_problem(told: &ToldSentence) -> bool {
    let lower = told.said.to_lowercase();
    let mut words = runs(&lower, char::is_alphanumeric);
    !told.asks
        && (words.any(|word| PROBLEMS.contains(&word))
            || PROBLEMS
                .iter()
                .any(|sign| (!sign.is_ascii() || sign.contains(' ')) && lower.contains(sign)))
}

fn is_solution(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    SOLUTION.are_in(&lower) && !["如果", "要是"].iter().any(|word| sentence.starts_with(word))
}
