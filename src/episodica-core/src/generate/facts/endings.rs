//! Slots that a life event ends: a person who retires no longer has an employer.
//!
//! The expressions are data (`endings.txt`).

use crate::fork::ForkLazy;
use crate::text::expressions::ExpressionTable;

const TABLE: &str = include_str!("endings.txt");

/// The expressions, each with the slots that it ends.
static ENDINGS: ForkLazy<ExpressionTable<Vec<&'static str>>> = ForkLazy::new(|| {
    let (mut slots, mut lines) = (Vec::new(), Vec::new());
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("@ends ") {
            Some(names) => slots = names.split(" | ").map(str::trim).collect(),
            None => lines.push((line.to_owned(), slots.clone())),
        }
    }
    ExpressionTable::new(lines)
});

/// The slots of the speaker that a sentence ends.
pub(crate) fn ended(sentence: &str) -> Vec<&'static str> {
    let plain = sentence.replace('’', "'");
    let mut ended: Vec<&'static str> = Vec::new();
    for (pattern, slots) in ENDINGS.candidates(&plain) {
        if slots.iter().any(|slot| !ended.contains(slot)) && pattern.is_match(&plain) {
            ended.extend(slots);
        }
    }
    ended.dedup();
    ended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_life_ends_what_it_must() {
        for (said, slot) in [
            ("We broke up last week.", "partner"),
            ("我和小顾分手了。", "partner"),
            ("On s'est séparés en mai.", "partner"),
            ("I retired in June!", "employer"),
            ("Ich habe letzte Woche gekündigt.", "employer"),
            ("Me han despedido.", "employer"),
        ] {
            assert!(ended(said).contains(&slot), "{said}");
        }
        for said in [
            "We broke up the concrete.",
            "My sister retired.",
            "She sold the ring.",
            "I sold the ring.",
        ] {
            assert!(ended(said).is_empty(), "{said}");
        }
    }
}
