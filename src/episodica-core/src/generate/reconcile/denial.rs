//! A denial ends the fact that it denies: "I no longer take metformin." ends "I take metformin
//! twice a day."
//!
//! The earlier fact must be about the same person, begin with the denied words (verb and object),
//! and describe a state, since an event stays true. Slots handle denials themselves.

use crate::generate::facts::tells_the_past;
use crate::index::for_each_term;
use crate::model::{MemoryKind, SemanticMemory};

/// Expressions for "no longer", by language. All words of one row must occur, in this order.
const NO_LONGER: [&[&str]; 17] = [
    &[" no longer "],
    &["n't ", " anymore"],
    &["n't ", " any more"],
    &["n't ", " any longer"],
    &[" not ", " anymore"],
    &[" not ", " any more"],
    &[" nicht mehr"],
    &[" kein ", " mehr"],
    &[" keine ", " mehr"],
    &[" keinen ", " mehr"],
    &[" ya no "],
    &[" ne ", " plus"],
    &[" n'", " plus"],
    &[" non ", " più"],
    &[" já não "],
    &["不再"],
    &["已经不"],
];

/// Marks and words between clauses.
const BOUNDS: [&str; 16] = [
    ", ",
    "; ",
    ": ",
    ". ",
    "! ",
    "，",
    "。",
    "；",
    " because ",
    " since ",
    " but ",
    " so ",
    " weil ",
    " porque ",
    " parce que ",
    " perché ",
];

/// A clause with a single index term is a denial only if it has at most this many words …
const MAX_WORDS_OF_ONE: usize = 2;
/// … and it ends only facts with at most this many terms.
const MAX_TERMS_OF_ONE: usize = 6;

/// The denied part of a fact: the index terms of its clause without the denial.
pub(crate) fn denied(content: &str, subject: &str) -> Option<Vec<String>> {
    let text = format!(" {} ", spoken(content, subject).replace('’', "'"));
    let lower = text.to_lowercase();
    let row = NO_LONGER.iter().find(|row| {
        let mut at = 0;
        row.iter().all(|word| match lower[at..].find(word) {
            Some(found) => {
                at += found + word.trim_end().len();
                true
            }
            None => false,
        })
    })?;
    let at = lower.find(row[0])?;
    let start = BOUNDS.iter().filter_map(|mark| Some(lower[..at].rfind(mark)? + mark.len())).max();
    let start = start.unwrap_or(0);
    let behind = at + row[0].trim_end().len();
    let end = BOUNDS.iter().filter_map(|mark| lower[behind..].find(mark)).min();
    let end = end.map_or(lower.len(), |found| behind + found);
    let mut clause = format!("{} ", &lower[start.min(at)..end]);
    for word in *row {
        clause = clause.replacen(word.trim_end(), if *word == "n't " { "" } else { " " }, 1);
    }
    for helper in [" do ", " does ", " did "] {
        clause = clause.replacen(helper, " ", 1);
    }
    let terms = terms(&clause);
    let is_bare = clause.split_whitespace().count() <= MAX_WORDS_OF_ONE;
    (terms.len() > 1 || !terms.is_empty() && is_bare).then_some(terms)
}

/// True if a denial ends a fact of the same subject.
pub(crate) fn ends(denied: &[String], fact: &SemanticMemory) -> bool {
    if !fact.is_current()
        || fact.is_procedure()
        || fact.kind == MemoryKind::Event
        || tells_the_past(&fact.content)
        || self::denied(&fact.content, &fact.subject).is_some()
    {
        return false;
    }
    let said = terms(spoken(&fact.content, &fact.subject));
    said.starts_with(denied) && (denied.len() > 1 || said.len() <= MAX_TERMS_OF_ONE)
}

/// The text of a fact without its subject's name and the marks around a quotation.
fn spoken<'a>(content: &'a str, subject: &str) -> &'a str {
    let rest = content
        .get(..subject.len())
        .filter(|start| !subject.is_empty() && start.to_lowercase() == subject.to_lowercase());
    let rest = rest.map_or(content, |start| &content[start.len()..]);
    rest.trim_matches(|c: char| !c.is_alphanumeric())
}

fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.text.to_owned()));
    terms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::generate::facts::FactCandidate;
    use crate::generate::reconcile::{FactDecision, apply};
    use crate::ids::Owner;
    use crate::model::EventKind;

    fn fact(content: &str) -> SemanticMemory {
        let at = Moment::parse("2024-03-11").expect("valid");
        let candidate = FactCandidate {
            content: content.to_owned(),
            kind: MemoryKind::Entity,
            confidence: 0.8,
            importance: 0.6,
            subject: "Ann".to_owned(),
            attribute: String::new(),
            value: String::new(),
            ends: Vec::new(),
            valid_from: at,
            said: at,
            source_messages: vec!["m0".to_owned()],
        };
        let add = FactDecision {
            event: EventKind::Add,
            target: None,
            content: None,
            reason: String::new(),
        };
        let owner = Owner::new("default", "ann").expect("valid");
        apply(&owner, &candidate, &add, &[], &[], at).records.remove(0)
    }

    fn ended(old: &str, new: &str) -> bool {
        denied(new, "Ann").is_some_and(|terms| ends(&terms, &fact(old)))
    }

    #[test]
    fn a_denial_ends_what_says_all_that_it_denies() {
        for (old, new) in [
            ("Ann takes metformin twice a day.", "Ann no longer takes metformin."),
            ("Ann takes metformin twice a day.", "Ann doesn't take metformin anymore, it worked."),
            ("Ann smokes a pack a day.", "Ann no longer smokes."),
            ("Ann: \"Ich nehme Metformin am Abend.\"", "Ann: \"Ich nehme Metformin nicht mehr.\""),
            ("Ann: \"Je prends du fer le matin.\"", "Ann: \"Je ne prends plus du fer.\""),
            ("Ann: \"Tomo hierro por la mañana.\"", "Ann: \"Ya no tomo hierro.\""),
        ] {
            assert!(ended(old, new), "{old} | {new}");
        }
    }

    #[test]
    fn a_denial_ends_no_event_and_nothing_else() {
        for (old, new) in [
            ("Ann broke an ankle on the ledge at Moab.", "Ann no longer climbs without a rope."),
            ("Ann took metformin for a year.", "Ann no longer takes metformin."),
            ("Ann takes metformin twice a day.", "Ann takes metformin."),
            ("Ann takes aspirin.", "Ann no longer takes metformin."),
            ("Ann loves jazz in the evening.", "Ann no longer loves jazz in the car."),
            (
                "Ann knows that seems like an unmature thing to say.",
                "Ann: \"I don't know why it does the things it does anymore.\"",
            ),
            ("安每天上瑜伽课。", "安不再上瑜伽课了，现在每天跑步。"),
            ("Ann no longer smokes.", "Ann no longer smokes."),
        ] {
            assert!(!ended(old, new), "{old} | {new}");
        }
    }
}
