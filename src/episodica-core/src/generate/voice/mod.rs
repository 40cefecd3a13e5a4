//! Whose words the parts of a message are.
//!
//! A person's message often contains more than the person's own words: a copied chat, a mail, a
//! text to translate, a story, a log, the blocks that an application puts before a question.
//! [`spans`] divides the original text of a message, by ranges of bytes, among those who said it.
//! What is not the person's own says nothing about the person: it must not become a fact about
//! them, and no part of it may end one.
//!
//! If the end of a foreign text is unclear, the rest of the message counts as foreign: a fact that
//! was missed can be stated again, but one that was taken from another person's words would stand
//! beside a true one.

mod others;

use std::ops::Range;

pub(in crate::generate) use others::{speaks_of_self, words_of_others};

use crate::model::{Message, SaidBy};

/// A part of a message in one voice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VoiceSpan {
    /// Bytes of the message's content.
    pub range: Range<usize>,
    /// Whose words they are.
    pub said_by: SaidBy,
}

/// Divides the text of a message among those whose words it contains.
///
/// `content` is the original text, `speaker` the name of who wrote the message (its role if it has
/// no name), and `base` the voice of the words that are the writer's own: [`base_voice`] gives it.
/// The spans are in order, cover all of `content`, and neighbours differ in their voice; an empty
/// text has none. Takes time linear in the length of the text.
pub fn spans(content: &str, speaker: &str, base: SaidBy) -> Vec<VoiceSpan> {
    let mut found = Vec::new();
    let mut push = |range: Range<usize>, said_by| match found.last_mut() {
        _ if range.is_empty() => (),
        Some(VoiceSpan { range: last, said_by: voice }) if *voice == said_by => {
            last.end = range.end;
        }
        _ => found.push(VoiceSpan { range, said_by }),
    };
    let mut at = 0;
    for range in others::words_of_others(content, speaker) {
        push(at..range.start, base);
        at = range.end;
        push(range, SaidBy::Quoted);
    }
    push(at..content.len(), base);
    found
}

/// The voice of the words that are a message's own.
pub fn base_voice(message: &Message) -> SaidBy {
    let is_role = |role: &str| message.role.eq_ignore_ascii_case(role);
    if is_role("tool") || is_role("function") {
        SaidBy::Tool
    } else if message.is_machinery() {
        SaidBy::Application
    } else if message.is_agent() {
        SaidBy::Assistant
    } else {
        SaidBy::User
    }
}

/// The voice of a part of a message: that of most of its bytes, and of two equal ones the first.
/// Text of no length has the voice of the place where it stands.
pub fn said_by(spans: &[VoiceSpan], part: Range<usize>) -> SaidBy {
    let mut best = (0, SaidBy::default());
    let touching = spans.iter().filter(|span| {
        span.range.start < part.end.max(part.start + 1) && span.range.end > part.start
    });
    let touching: Vec<&VoiceSpan> = touching.collect();
    for span in &touching {
        let same = touching.iter().filter(|other| other.said_by == span.said_by);
        let bytes: usize = same
            .map(|other| {
                let end = other.range.end.min(part.end.max(part.start + 1));
                end - other.range.start.max(part.start)
            })
            .sum();
        if bytes > best.0 {
            best = (bytes, span.said_by);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_the_text_and_name_its_voices() {
        let text = "Tom sagt „Ich wohne in Bonn“, ich nicht.\n> hi there";
        let found = spans(text, "Ann", SaidBy::User);
        let parts: Vec<(&str, SaidBy)> =
            found.iter().map(|span| (&text[span.range.clone()], span.said_by)).collect();
        assert_eq!(
            parts,
            [
                ("Tom sagt „", SaidBy::User),
                ("Ich wohne in Bonn", SaidBy::Quoted),
                ("“, ich nicht.\n", SaidBy::User),
                ("> hi there", SaidBy::Quoted),
            ]
        );
        assert_eq!(said_by(&found, 0..text.len()), SaidBy::User);
        assert_eq!(said_by(&found, text.len() - 5..text.len()), SaidBy::Quoted);
        assert_eq!(spans("", "Ann", SaidBy::User), []);
    }
}
