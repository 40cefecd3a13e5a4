//! L0: the two or three sentences that together cover most of the conversation, in order, each
//! attributed.

use super::narrative::fits;
use super::ready_sentence::{clip, passage};
use super::salience::ScoredSentence;
use super::source::EpisodeSource;
use super::told_sentences::without_emphasis;
use super::units::ReadySentence;
use crate::text::Language;

/// Maximum number of tokens of a summary.
pub(super) const MAX_TOKENS: usize = 100;
/// Maximum number of sentences.
const MAX_SENTENCES: usize = 3;
/// Maximum length of a sentence, in bytes; longer ones are left out rather than cut.
const MAX_SENTENCE_BYTES: usize = 230;

/// Writes the summary.
pub(super) fn write(source: &EpisodeSource, scored: &[ScoredSentence]) -> String {
    let mut chosen: Vec<usize> = Vec::new();
    let mut told: Vec<u64> = Vec::new();
    let mut text = String::new();
    let mut refused: Vec<usize> = Vec::new();
    while chosen.len() < MAX_SENTENCES && refused.len() < 12 {
        let free = (0..scored.len()).filter(|at| !chosen.contains(at) && !refused.contains(at));
        let Some((best, gain)) = free
            .map(|at| (at, scored[at].gain(&told)))
            .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))
        else {
            break;
        };
        if gain <= 0.0 {
            break;
        }
        let mut next = chosen.clone();
        next.push(best);
        next.sort_unstable();
        let candidate = assemble(source, scored, &next);
        let (_, unit) = scored[best].place(source);
        let long = unit.end - unit.start > MAX_SENTENCE_BYTES;
        if candidate == text || long || !fits(&candidate, MAX_TOKENS) {
            refused.push(best);
            continue;
        }
        (chosen, text) = (next, candidate);
        told.extend(scored[best].features.iter().map(|(key, _)| *key));
        told.sort_unstable();
    }
    if text.is_empty() { fallback(source, scored) } else { text }
}

/// For a conversation without topics: its first sentences, up to the limit.
fn fallback(source: &EpisodeSource, scored: &[ScoredSentence]) -> String {
    let spoken: Vec<usize> =
        (0..scored.len()).filter(|at| !scored[*at].place(source).0.text.is_empty()).collect();
    let texts = [2, 1].map(|count| {
        let first: Vec<usize> = spoken.iter().copied().take(count).collect();
        assemble(source, scored, &first)
    });
    texts.into_iter().find(|text| !text.is_empty() && fits(text, MAX_TOKENS)).unwrap_or_else(|| {
        let speakers = source.speakers.iter();
        let names: Vec<&str> = speakers.map(|speaker| &*speaker.short).collect();
        clip(&names.join(", "), MAX_TOKENS).into_owned()
    })
}

/// The chosen sentences in order. A sentence that cannot be rewritten is quoted, followed by its
/// speaker's name.
fn assemble(source: &EpisodeSource, scored: &[ScoredSentence], chosen: &[usize]) -> String {
    let mut out = String::new();
    for at in chosen {
        let (turn, unit) = scored[*at].place(source);
        let name = &source.speaker(turn).short;
        let sentence = match passage(source, turn, unit) {
            ReadySentence::Told(text) => without_notes(text),
            ReadySentence::Said(text) => quoted(text, name, turn.language, false),
            ReadySentence::Asked(text) => quoted(text, name, turn.language, true),
            ReadySentence::Aside(_) | ReadySentence::Code(_) => String::new(),
        };
        if !out.is_empty() && !sentence.is_empty() && turn.language != Language::Chinese {
            out.push(' ');
        }
        out.push_str(&sentence);
    }
    out
}

fn quoted(text: &str, name: &str, language: Language, asked: bool) -> String {
    let text = without_notes(&plain(text));
    match language {
        _ if text.is_empty() => text,
        Language::English => {
            let said = if asked { "asked" } else { "said" };
            format!("\"{}\" {name} {said}.", text.replace('"', "'"))
        }
        Language::Chinese => {
            format!("“{text}”，{name}{}。", if asked { "问" } else { "说" })
        }
        _ => format!("“{text}” ({name})"),
    }
}

/// The text without notes about the message: `[Image: a boat]`.
pub(super) fn without_notes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('[') {
        let (front, note) = rest.split_at(start);
        let kind =
            note[1..].chars().take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum::<usize>();
        let is_note = kind > 0 && note[1 + kind..].starts_with(':');
        let end = note.find(']').map_or(note.len(), |end| end + 1);
        out.push_str(front);
        if !is_note {
            out.push_str(&note[..end]);
        }
        rest = &note[end..];
    }
    out.push_str(rest);
    out.trim().to_owned()
}

/// The text without list, heading and emphasis markers.
pub(super) fn plain(text: &str) -> String {
    without_emphasis(text.trim_start_matches(['#', '*', '-', '>', '•', '+', ' ']))
}
