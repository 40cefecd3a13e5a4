//! Facts that the application adds directly. They are analysed like a sentence of a message and
//! stored verbatim.

use super::candidate::FactCandidate;
use super::extract::kind;
use super::slots;
use super::words::{SentenceSigns, WordSigns};
use crate::clock::Moment;
use crate::model::MemoryKind;
use crate::text::heads::SentenceHeads;
use crate::text::time::mentions;

/// Confidence: the application knows the facts that it adds.
const CONFIDENCE: f32 = 1.0;
/// Importance: the application considers the facts that it adds worth keeping.
const IMPORTANCE: f32 = 0.8;

/// Words for the user at the beginning of a fact.
const USERS: [&str; 7] = ["the user", "user", "she", "he", "they", "用户", "他"];

/// Creates the candidate for a fact. `subjects` are the names of the user, the usual one first; a
/// fact that begins with none of them is about the usual one.
///
/// The slots match first-person sentences, so a fact in the third person is converted first: "Alice
/// lives in Lyon" to "I live in Lyon".
pub(crate) fn stated(statement: &str, subjects: &[String], at: Moment) -> FactCandidate {
    let usual = subjects.first().cloned().unwrap_or_default();
    let named = subjects.iter().find_map(|name| Some((name, without_name(statement, name)?)));
    let (subject, spoken) = match named {
        Some((name, rest)) => (name.clone(), first_person(rest)),
        None => match USERS.iter().find_map(|name| without_name(statement, name)) {
            Some(rest) => (usual, first_person(rest)),
            None => (usual, statement.to_owned()),
        },
    };
    let date = mentions(statement, at).into_iter().find(|mention| mention.confident);
    let slot = slots::fill(&spoken, date.as_ref());
    let (kind, attribute, value, whose) = match slot {
        Some(slot) => (slot.kind, slot.attribute, slot.value, slot.whose),
        None => {
            let (heads, signs) = (SentenceHeads::of(&spoken, false), SentenceSigns::of(&spoken));
            // The application adds facts to keep, but a past event is still an event.
            let is_past = signs.all.has(WordSigns::PAST) && heads.profile <= 0.0;
            let kind = kind(date.is_none() && !is_past, date.is_some(), signs, heads);
            (kind, String::new(), String::new(), None)
        }
    };
    FactCandidate {
        content: statement.to_owned(),
        kind,
        confidence: CONFIDENCE,
        importance: IMPORTANCE,
        subject: whose.map_or_else(|| subject.clone(), |whose| format!("{subject}'s {whose}")),
        attribute,
        value,
        valid_from: at,
        said: at,
        source_messages: Vec::new(),
    }
}

/// The candidate with the category that the caller gave.
#[must_use]
pub(crate) fn of_kind(candidate: FactCandidate, kind: Option<MemoryKind>) -> FactCandidate {
    FactCandidate { kind: kind.unwrap_or(candidate.kind), ..candidate }
}

/// The text after a name at the beginning of a fact.
fn without_name<'a>(statement: &'a str, name: &str) -> Option<&'a str> {
    let start = statement.get(..name.len())?;
    let rest = &statement[name.len()..];
    let ends = !name.is_ascii() || !rest.starts_with(|c: char| c.is_alphanumeric());
    (!name.is_empty() && ends && start.to_lowercase() == name.to_lowercase()).then_some(rest)
}

/// Converts the rest of a third-person sentence to the first person.
fn first_person(rest: &str) -> String {
    let plain = rest.replace('’', "'");
    if let Some(owned) = plain.strip_prefix("'s ") {
        return format!("My {owned}");
    }
    if !plain.starts_with(char::is_whitespace) {
        return format!("我{plain}");
    }
    let mut words: Vec<String> = plain.split_whitespace().map(str::to_owned).collect();
    // An adverb may stand before the verb: "now works", "just moved".
    let verb = words.iter().position(|word| !is_adverb(word)).unwrap_or_default();
    if let Some(word) = words.get_mut(verb) {
        *word = match word.as_str() {
            "is" | "are" => "am".to_owned(),
            "has" => "have".to_owned(),
            "does" => "do".to_owned(),
            "goes" => "go".to_owned(),
            word if word.ends_with("ies") => format!("{}y", &word[..word.len() - 3]),
            word => word
                .strip_suffix('s')
                .filter(|bare| bare.len() > 2 && !bare.ends_with('s'))
                .unwrap_or(word)
                .to_owned(),
        };
    }
    format!("I {}", words.join(" "))
}

fn is_adverb(word: &str) -> bool {
    word.ends_with("ly") || matches!(word, "now" | "just" | "still" | "also" | "already")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(statement: &str) -> (String, String, String) {
        let at = Moment::parse("2024-03-11T09:30:00Z").expect("valid");
        let found = stated(statement, &["Alice".to_owned(), "小红".to_owned()], at);
        assert_eq!(found.content, statement);
        (found.subject, found.attribute, found.value)
    }

    #[test]
    fn statements_in_any_person_fill_the_slots_of_talk() {
        for (statement, subject, attribute, value) in [
            ("I live in Lyon.", "Alice", "home", "lyon"),
            ("Alice lives in Lyon", "Alice", "home", "lyon"),
            ("alice now works at Siemens.", "Alice", "employer", "siemens"),
            ("Alice has moved to Porto", "Alice", "home", "porto"),
            ("Alice's manager is Priya.", "Alice", "contact:manager", "priya"),
            ("The user lives in Graz", "Alice", "home", "graz"),
            ("小红住在苏州。", "小红", "home", "苏州"),
            ("Alicent lives in Kings Landing", "Alice", "", ""),
            ("Bob likes tea", "Alice", "", ""),
            ("", "Alice", "", ""),
        ] {
            let expected = (subject.to_owned(), attribute.to_owned(), value.to_owned());
            assert_eq!(read(statement), expected, "{statement}");
        }
    }
}
