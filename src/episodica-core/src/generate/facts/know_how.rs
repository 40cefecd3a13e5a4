//! Facts that do not depend on the speaker: instructions, and an agent's statements about its user.

use crate::generate::episode::ToldSentence;
use crate::text::Language;
use crate::text::words::runs;

/// Verbs that open an instruction.
const IMPERATIVES: &str = "\
    run use set install add open call type build deploy start restart stop check create remove \
    delete update upgrade copy paste click press select execute enable disable export configure \
    rebase";

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
        IMPERATIVES.split(' ').any(|verb| verb == word)
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
