//! Splits a sentence that states two facts: "I live in Paris and work as a nurse." Separate facts
//! can end separately: the home may change while the job stays.

use std::cell::OnceCell;

use super::slots;
use crate::generate::episode::ToldSentence;
use crate::generate::reconcile::is_single_valued;
use crate::text::Language;
use crate::text::words::words;

/// Separators of two clauses.
const JOINTS: [&str; 10] =
    [", and ", ", but ", " and ", " but ", " und ", " y ", " et ", "，", "; ", ", "];

/// Words that open a clause about the speaker.
const SUBJECTS: [&str; 19] = [
    "i ", "i'm ", "i've ", "we ", "we're ", "my ", "our ", "ich ", "wir ", "mein", "yo ", "mi ",
    "je ", "j'", "nous ", "mon ", "ma ", "我", "我们",
];

/// The clauses of a sentence that each state a fact about the speaker, with the facts' texts; none
/// if the sentence states one fact.
pub(super) fn clauses(told: &ToldSentence) -> Vec<(String, String)> {
    let Some(halves) = halves(told) else { return Vec::new() };
    let parts = halves.into_iter().flat_map(|(own, content)| {
        let half = ToldSentence {
            said: own.clone(),
            content: content.clone(),
            heads: OnceCell::new(),
            ..told.clone()
        };
        let parts = clauses(&half);
        if parts.is_empty() { vec![(own, content)] } else { parts }
    });
    parts.collect()
}

/// Splits a sentence in two where one part fills a slot.
fn halves(told: &ToldSentence) -> Option<[(String, String); 2]> {
    let (head, body, tail) = framed(told);
    let said = told.said.trim_end_matches(['.', '!', '。', '！']);
    for joint in JOINTS {
        // The fact must contain the separator as often as the sentence, so that the n-th of one
        // corresponds to the n-th of the other.
        if !said.contains(joint) || said.matches(joint).count() != body.matches(joint).count() {
            continue;
        }
        for (number, (at, _)) in said.match_indices(joint).enumerate() {
            let (left, right) = (&said[..at], &said[at + joint.len()..]);
            let Some(one) = slots::fill(left, told.date.as_ref()) else { continue };
            let lower = right.to_lowercase();
            let is_own = SUBJECTS.iter().any(|word| lower.starts_with(word));
            let right = if is_own { right.to_owned() } else { with_subject(right, told.language) };
            let other = slots::fill(&right, told.date.as_ref());
            let is_clause = is_own || told.language == Language::Chinese && has_verb(&right);
            let is_clause = is_clause && is_single_valued(&one.attribute) && !refers_back(&right);
            let differs = other.as_ref().map_or(is_clause, |other| {
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
            return Some([
                (left.to_owned(), format!("{head}{first}{tail}")),
                (right.clone(), format!("{head}{second}{tail}")),
            ]);
        }
    }
    None
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

/// True if a clause has a pronoun for something in the clause before it.
fn refers_back(clause: &str) -> bool {
    const BACK: &str = "\
        it it's that there he she him her they them this es ihn ihm ihr sie dort lo los las allí \
        elle il ils elles ça";
    clause.contains(['他', '她', '它', '那', '这'])
        || words(&clause.to_lowercase())
            .any(|word| BACK.split_whitespace().any(|known| known == word))
}

/// True if a Chinese clause without its subject begins with a verb: "养了两只猫".
fn has_verb(clause: &str) -> bool {
    let mut chars = clause.chars().skip_while(|c| *c == '我');
    chars.next().is_some_and(|first| "有在是养做当学喜".contains(first))
        || chars.take(2).any(|c| matches!(c, '了' | '过' | '着'))
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
