//! Chinese in the third person: verbs have no endings, so only the pronouns change.

/// Chinese fillers at the start of a sentence.
const FILLERS_HAN: [&str; 12] =
    ["嗯", "哈哈", "对了", "哦", "啊", "是的", "对", "好的", "唉", "是啊", "不错", "谢谢"];

/// A Chinese sentence that contains one of these is quoted.
const QUOTED_HAN: [&str; 12] =
    ["我们", "咱", "你", "您", "自我", "“", "\"", "？", "?", "吗", "…", "`"];

/// Words for relatives that follow 我 without 的: 我妈 means "my mother" and is not a name.
const KIN_HAN: [&str; 37] = [
    "妈",
    "爸",
    "哥",
    "姐",
    "弟",
    "妹",
    "奶",
    "爷",
    "外婆",
    "外公",
    "外甥",
    "外孙",
    "老婆",
    "老公",
    "老师",
    "老板",
    "同学",
    "同事",
    "朋友",
    "妻",
    "婆婆",
    "公公",
    "叔",
    "姑",
    "舅",
    "姨",
    "先生",
    "丈夫",
    "太太",
    "女儿",
    "儿子",
    "女朋友",
    "男朋友",
    "孩子",
    "爱人",
    "父亲",
    "母亲",
];

/// The third-person form of `name`'s Chinese sentence, or `None` if it must be quoted.
///
/// The name replaces the first 我. A later 我 that opens a clause is dropped, because the subject
/// is known; a possessive one becomes 自己. The sentence is quoted if it contains any other 我.
pub(in crate::generate::episode) fn chinese(sentence: &str, name: &str) -> Option<String> {
    let mut text = sentence;
    while let Some(rest) = FILLERS_HAN
        .iter()
        .find_map(|filler| text.strip_prefix(filler)?.strip_prefix(['，', ',', '、', '！', '!']))
    {
        text = rest.trim_start();
    }
    if sentence.len() > 600 || QUOTED_HAN.iter().any(|word| text.contains(word)) {
        return None;
    }
    let (before, after) = text.split_once('我')?;
    let is_kin = |text: &str| KIN_HAN.iter().any(|kin| text.starts_with(kin));
    let kin = is_kin(after);
    let mut rest = String::with_capacity(after.len());
    let mut pieces = after.split('我').peekable();
    while let Some(piece) = pieces.next() {
        rest.push_str(piece);
        let Some(next) = pieces.peek() else { break };
        if next.starts_with('的') {
            rest.push_str("自己");
        } else if !next.starts_with("自己") {
            let opens = piece.ends_with(['，', ',', '；', '。', '！']);
            if !opens || kin || is_kin(next) {
                return None;
            }
        }
    }
    let spaced = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let mut out = format!(
        "{before}{}{name}{}{}{rest}",
        if spaced(before.chars().last()) { " " } else { "" },
        if spaced(name.chars().last()) { " " } else { "" },
        if kin { "的" } else { "" }
    );
    let end = out.trim_end_matches(['!', '！', '~', '～', ' ', '.', '。', '，', ',']).len();
    out.truncate(end);
    out.push('。');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_has_no_endings() {
        for (said, name, told) in [
            ("我上周五提了辞职!", "林晓禾", "林晓禾上周五提了辞职。"),
            ("我妈买了一箱芒果", "林晓禾", "林晓禾的妈买了一箱芒果。"),
            ("我先生叫李强", "周敏", "周敏的先生叫李强。"),
            ("我同意他的计划", "周敏", "周敏同意他的计划。"),
            ("不错，我女儿六岁", "周敏", "周敏的女儿六岁。"),
            ("嗯，我搬到了我的新家", "Maya", "Maya 搬到了自己的新家。"),
            ("上个月老板让我去上海", "林晓禾", "上个月老板让林晓禾去上海。"),
            ("我辞职了，我打算休息", "林晓禾", "林晓禾辞职了，打算休息。"),
        ] {
            assert_eq!(chinese(said, name).as_deref(), Some(told), "{said}");
        }
    }

    #[test]
    fn what_speaks_for_others_is_left_to_be_quoted() {
        assert_eq!(chinese("我们走吧。", "林晓禾"), None);
        assert_eq!(chinese("他让我说我不去", "林晓禾"), None);
    }
}
