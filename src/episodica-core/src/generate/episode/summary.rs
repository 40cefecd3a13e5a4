//! L0: two or three spans that tell the episode, in order, each with its speaker.

use super::content::{clip_text, fits_tokens};
use super::quotation::quote_speaker;
use super::source::EpisodeSource;
use super::spans::TellingSpan;
use crate::text::Language;
use crate::text::time::with_dates;

/// Maximum number of tokens of a summary.
pub(super) const MAX_TOKENS: usize = 100;
/// Maximum number of spans.
const MAX_SPANS: usize = 3;
/// Maximum length of a span, in characters.
const MAX_CHARS: usize = 160;

/// Writes the summary: the best span, then others of other messages, those worth a note first.
pub(super) fn write_summary(source: &EpisodeSource, spans: &[TellingSpan<'_>]) -> String {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| {
        let is_first = |at: usize| at == 0;
        let rank = |at: usize| spans[at].worth.min(0.0) + spans[at].score;
        is_first(*b).cmp(&is_first(*a)).then(rank(*b).total_cmp(&rank(*a)))
    });
    let mut chosen: Vec<usize> = Vec::new();
    let mut text = String::new();
    for at in order {
        let span = &spans[at];
        let is_told = |known: &usize| spans[*known].turn.message == span.turn.message;
        if chosen.len() == MAX_SPANS || chosen.iter().any(is_told) {
            continue;
        }
        let mut next = chosen.clone();
        next.push(at);
        next.sort_by_key(|at| spans[*at].turn.message);
        let candidate = assemble_summary(source, spans, &next);
        if candidate.len() > text.len() && fits_tokens(&candidate, MAX_TOKENS) {
            (chosen, text) = (next, candidate);
        }
    }
    if text.is_empty() { first_words(source) } else { text }
}

/// For a conversation without spans: the first words that were said, or the names.
fn first_words(source: &EpisodeSource) -> String {
    let said = source.turns.iter().find(|turn| turn.text.chars().any(|c| !c.is_whitespace()));
    let names = || source.speakers.iter().map(|speaker| &*speaker.short).collect::<Vec<_>>();
    let text = match said {
        Some(turn) => {
            let line = turn.text.split_whitespace().collect::<Vec<_>>().join(" ");
            quote_speaker(
                &source.turn_speaker(turn).short,
                &clip_text(&line, MAX_CHARS),
                turn.language,
            )
        }
        None => names().join(", "),
    };
    clip_text(&text, MAX_TOKENS).into_owned()
}

fn assemble_summary(source: &EpisodeSource, spans: &[TellingSpan<'_>], chosen: &[usize]) -> String {
    let told = chosen.iter().filter_map(|at| {
        let TellingSpan { turn, place, .. } = spans[*at];
        let span = spans[*at].shorten_to(MAX_CHARS)?;
        let dated = with_dates(span, &source.mentioned_times(turn, place, span));
        let line = dated.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(quote_speaker(&source.turn_speaker(turn).short, &line, turn.language))
    });
    told.collect::<Vec<_>>().join(if source.language == Language::Chinese { "" } else { " " })
}
