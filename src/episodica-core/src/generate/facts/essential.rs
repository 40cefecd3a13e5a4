//! Sentences that must be kept, regardless of their length: "I'm deaf.", "Never push to main."
//!
//! The expressions are data (`essential.txt`).

use crate::fork::ForkLazy;
use crate::model::MemoryKind;
use crate::text::expressions::ExpressionTable;

const TABLE: &str = include_str!("essential.txt");

/// The expressions with the kind of fact that each finds; `None` for those in the first part,
/// `@nothing`, which exclude a sentence.
static EXPRESSIONS: ForkLazy<ExpressionTable<Option<MemoryKind>>> = ForkLazy::new(|| {
    let mut kind = None;
    let mut lines = Vec::new();
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix('@') {
            Some("nothing") => kind = None,
            Some(name) => {
                let known = MemoryKind::ALL.into_iter().find(|known| known.name() == name);
                kind = Some(known.expect("invariant: a kind has a name"));
            }
            None => lines.push((line.to_owned(), kind)),
        }
    }
    ExpressionTable::new(lines)
});

/// The kind of a sentence, in its speaker's own words, that must be kept; `None` for others.
pub(super) fn essential(sentence: &str) -> Option<MemoryKind> {
    let plain = sentence.replace('’', "'");
    let mut candidates = EXPRESSIONS.candidates(&plain);
    candidates.find(|(pattern, _)| pattern.is_match(&plain)).and_then(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_not_be_missed_is_found_in_every_language() {
        for said in [
            "I'm allergic to walnuts.",
            "I have asthma.",
            "I can't take aspirin.",
            "I don't drink alcohol.",
            "Never commit to the release branch.",
            "Please never call me before nine.",
            "I wear hearing aids.",
            "Ich bin schwanger.",
            "Ich vertrage keinen Fisch.",
            "Soy celíaca.",
            "No como carne.",
            "Je suis enceinte.",
            "Je ne mange pas de viande.",
            "我对牛奶过敏。",
            "以后请用中文回答。",
            "猫アレルギーです。",
        ] {
            assert!(essential(said).is_some(), "{said}");
        }
        for said in [
            "OK.",
            "Never mind.",
            "I can't wait.",
            "I love it!",
            "Call me later.",
            "I see.",
            "I don't know.",
            "I hate when that happens.",
            "Bis später!",
            "好的，谢谢。",
        ] {
            assert!(essential(said).is_none(), "{said}");
        }
    }
}
