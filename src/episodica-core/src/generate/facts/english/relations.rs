//! Who belongs to whom: "my sister Anna", "our dog's name is Rex".

use super::clauses::{Possession, possession};
use super::lexicon::PARTNERS;
use super::tokens::Tokens;
use crate::generate::facts::extract::{Draft, Talk};
use crate::model::MemoryKind;

/// The named relatives, friends and pets of a sentence, each as a statement.
pub(super) fn named(tokens: &Tokens, talk: &Talk) -> Vec<Draft> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if !matches!(tokens.low(at), "my" | "our") {
            continue;
        }
        let Some(owned) = possession(tokens, at).filter(|owned| owned.relation) else { continue };
        let (name, adjective) = if owned.name.1 > owned.name.0 {
            (tokens.slice(owned.name.0..owned.name.1).to_owned(), (at + 1, owned.head))
        } else if let Some(name) = introduced(tokens, &owned) {
            (name, (at + 1, owned.head))
        } else {
            continue;
        };
        if owned.plural || talk.is_participant(&name) || !name.contains(char::is_lowercase) {
            continue;
        }
        let relation = tokens.low(owned.head);
        let described = plain_adjectives(tokens, adjective);
        let content = format!("{name} is {}'s {described}{relation}.", talk.speaker);
        let single = tokens.is(owned.head, PARTNERS);
        found.push(Draft {
            kind: MemoryKind::Relationship,
            subject: talk.subject(),
            attribute: if single { "partner".to_owned() } else { format!("has:{relation}") },
            value: name.to_lowercase(),
            confidence: 0.9,
            importance: 0.68,
            content,
            from: None,
        });
    }
    found
}

/// "named Rex", "called Rex", "'s name is Rex", "is called Rex" after the noun.
fn introduced(tokens: &Tokens, owned: &Possession) -> Option<String> {
    let at = owned.head + 1;
    let start = match (tokens.low(at), tokens.low(at + 1)) {
        ("named" | "called", _) => at + 1,
        ("'s", "name") if matches!(tokens.low(at + 2), "is" | "'s") => at + 3,
        ("is" | "'s", "called" | "named") => at + 2,
        _ => return None,
    };
    let mut end = start;
    while end < start + 3 && tokens.is_capital(end) {
        end += 1;
    }
    (end > start).then(|| tokens.slice(start..end).to_owned())
}

/// Adjectives of kin that say something lasting.
fn plain_adjectives(tokens: &Tokens, range: (usize, usize)) -> String {
    let kept = (range.0..range.1).map(|index| tokens.low(index)).filter(|word| {
        matches!(
            *word,
            "older"
                | "younger"
                | "little"
                | "big"
                | "twin"
                | "half"
                | "step"
                | "oldest"
                | "youngest"
                | "eldest"
                | "late"
                | "old"
                | "best"
                | "ex"
                | "former"
                | "school"
                | "college"
                | "childhood"
                | "pet"
                | "guide"
        )
    });
    kept.map(|word| format!("{word} ")).collect()
}
