//! Whether a model's fact about a speaker is in the speaker's own words.

use std::collections::HashSet;

use super::model::same_name;
use crate::generate::voice::{base_voice, spans};
use crate::index::for_each_term;
use crate::model::{Message, SaidBy};

/// The subject as a person of these messages: a voice that a program did not know is a person of
/// its session only.
pub(super) fn person_in(subject: String, sources: &[&Message]) -> String {
    let speaker = sources.iter().find(|message| same_name(message.speaker(), &subject));
    speaker.map_or(subject, |message| message.person().into_owned())
}

/// True if a fact may be what a speaker said of themself: its subject does not speak in the cited
/// messages, or the speaker's own words in one of them have at least as many of its words as the
/// words of others there: a copied chat, a text to translate, a block of memory.
pub(super) fn is_own(subject: &str, content: &str, sources: &[&Message]) -> bool {
    let mut speakers = sources.iter().filter(|one| same_name(one.speaker(), subject)).peekable();
    if speakers.peek().is_none() {
        return true;
    }
    let stated = terms(content);
    speakers.any(|message| {
        let base = base_voice(message);
        let found = spans(&message.content, message.speaker(), base);
        // The language model judges better than the small one whether a sentence is fiction.
        if matches!(&found[..], [whole] if whole.said_by == SaidBy::Quoted) {
            return true;
        }
        let (mut own, mut others) = (String::new(), String::new());
        for span in found {
            let text = if span.said_by == base { &mut own } else { &mut others };
            text.push_str(&message.content[span.range]);
            text.push('\n');
        }
        let shared = |text: &str| stated.intersection(&terms(text)).count();
        let is_silent = !own.contains(char::is_alphanumeric);
        others.is_empty() || !is_silent && shared(&own) >= shared(&others)
    })
}

/// The terms of a text, as searches find them.
pub(super) fn terms(text: &str) -> HashSet<String> {
    let mut terms = HashSet::new();
    for_each_term(text, |term| {
        terms.insert(term.text.to_owned());
    });
    terms
}
