//! Splits a sentence that states two facts: "I live in Paris and work as a nurse." Separate facts
//! can end separately: the home may change while the job stays.

use super::slots;
use crate::generate::episode::ToldSentence;
use crate::text::Language;

/// Separators of two clauses.
const JOINTS: [&str; 10] =
    [", and ", ", but ", " and ", " but ", " und ", " y ", " et ", "，", "; ", ", "];

/// Words that open a clause about the speaker.
const SUBJECTS: [&str; 19] = [
    "i ", "i'm ", "i've ", "we ", "we're ", "my ", "our ", "ich ", "wir ", "mein", "yo ", "mi ",
    "je ", "j'", "nous ", "mon ", "ma ", "我", "我们",
];

/// The clauses of a sentence that each state a fact about the speaker, with the facts' texts; one
/// clause if the sentence states one fact.
pub(super) fn clauses(told: &ToldSentence) -> Vec<(String, String)> {
    let (head, body, tail) = framed(told);
    let said = told.said.trim_end_matches(['.', '!', '。', '！']);
    for joint in JOINTS {
        // The fact must contain the separator as often as the sentence, so that the n-th of one
        // corresponds to the n-th of the other.
        if said.matches(joint).count() != body.matches(joint).count() {
            continue;
        }
        for (number, (at, _)) in said.match_indices(joint).enumerate() {
            let (left, right) = (&said[..at], &said[at + joint.len()..]);
            let is_own = SUBJECTS.iter().any(|word| right.to_lowercase().starts_with(word));
            let right = if is_own { right.to_owned() } else { with_subject(right, told.language) };
            let (Some(one), other) =
                (slots::fill(left, told.date.as_ref()), slots::fill(&right, told.date.as_ref()))
            else {
                continue;
            };
            let differs = other.as_ref().map_or(is_own, |other| {
                other.attribute != one.attribute || other.whose != one.whose
            });
            let Some((place, _)) = body.match_indices(joint).nth(number).filter(|_| differs) else {
                continue;
            };
            let (first, second) = (&body[..place], &body[place + joint.len()..]);
            let second = if !told.is_rewritten {
                capitalised(&right)
            } else if second.starts_with(told.speaker.as_str()) || is_own {
                capitalised(second)
            } else if told.language == Language::Chinese {
                let is_spaced = told.speaker.ends_with(|c: char| c.is_ascii_alphanumeric());
                format!("{}{}{second}", told.speaker, if is_spaced { " " } else { "" })
            } else {
                format!("{} {second}", capitalised(&told.speaker))
            };
            return vec![
                (left.to_owned(), format!("{head}{first}{tail}")),
                (right.clone(), format!("{head}{second}{tail}")),
            ];
        }
    }
    Vec::new()
}

/// Splits the text of a fact into the parts before, within and after its quotation.
fn framed(told: &ToldSentence) -> (&str, &str, &str) {
    let content = told.content.as_str();
    let marks = |c: char| matches!(c, '.' | '!' | '。' | '！' | '"' | '”');
    let body = content.trim_end_matches(marks);
    let tail = &content[body.len()..];
    let start = if told.is_rewritten {
        0
    } else {
        let open = body.find([':', '：']).unwrap_or(0);
        body.len() - body[open..].trim_start_matches([':', '：', ' ', '"', '“']).len()
    };
    let tail = if tail.is_empty() { "." } else { tail };
    (&content[..start], &body[start..], tail)
}

fn with_subject(clause: &str, language: Language) -> String {
    let subject = match language {
        Language::German => "Ich ",
        Language::French => "Je ",
        Language::Spanish | Language::Other => "",
        Language::Chinese => "我",
        Language::English => "I ",
    };
    format!("{subject}{clause}")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + chars.as_str()
}
