//! L0: the two or three sentences that together tell most of what was talked about, in order, each
//! attributed.

use super::narrative::{Passage, attribute, clip, fits, tell};
use super::salience::Scored;
use super::source::Source;
use crate::clock::Moment;
use crate::text::Language;

/// Most tokens of a summary.
pub(super) const MAX_TOKENS: usize = 100;
/// Most sentences.
const MAX_SENTENCES: usize = 3;
/// A sentence is clipped to this many bytes.
const MAX_SENTENCE_BYTES: usize = 230;

/// Writes the summary.
pub(super) fn write(source: &Source, scored: &[Scored], moments: &[Moment]) -> String {
    let mut chosen: Vec<usize> = Vec::new();
    let mut told: Vec<u64> = Vec::new();
    let mut text = String::new();
    let mut refused: Vec<usize> = Vec::new();
    while chosen.len() < MAX_SENTENCES && refused.len() < 4 {
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
        let candidate = assemble(source, scored, &next, moments);
        if !fits(&candidate, MAX_TOKENS) {
            refused.push(best);
            continue;
        }
        (chosen, text) = (next, candidate);
        told.extend(scored[best].features.iter().map(|(key, _)| *key));
        told.sort_unstable();
    }
    if text.is_empty() { fallback(source, scored, moments) } else { text }
}

/// Nobody said anything of a subject: what was said first, as far as it fits.
fn fallback(source: &Source, scored: &[Scored], moments: &[Moment]) -> String {
    let spoken = (0..scored.len()).filter(|at| !source.turns[scored[*at].turn].text.is_empty());
    for count in [2, 1] {
        let text =
            assemble(source, scored, &spoken.clone().take(count).collect::<Vec<_>>(), moments);
        if fits(&text, MAX_TOKENS) {
            return text;
        }
    }
    spoken.take(1).map(|at| clip(&source.turns[scored[at].turn].text, MAX_TOKENS - 4)).collect()
}

fn assemble(source: &Source, scored: &[Scored], chosen: &[usize], moments: &[Moment]) -> String {
    let mut out = String::new();
    let mut at = 0;
    while at < chosen.len() {
        let number = scored[chosen[at]].turn;
        let turn = &source.turns[number];
        let mut parts = Vec::new();
        while at < chosen.len() && scored[chosen[at]].turn == number {
            parts.push(shortened(tell(
                source,
                turn,
                &turn.units[scored[chosen[at]].unit],
                moments[number],
            )));
            at += 1;
        }
        if !out.is_empty() && turn.language != Language::Chinese {
            out.push(' ');
        }
        let mut line = String::new();
        attribute(&source.speaker(turn).short, turn.language, parts, &mut line);
        out.push_str(&line);
    }
    out
}

fn shortened(told: Passage) -> Passage {
    match told {
        Passage::Told(text) => Passage::Told(clip(&text, MAX_SENTENCE_BYTES)),
        Passage::Said(text) => Passage::Said(clip(&plain(&text), MAX_SENTENCE_BYTES)),
        Passage::Asked(text) => Passage::Asked(clip(&plain(&text), MAX_SENTENCE_BYTES)),
        Passage::Aside(text) => Passage::Aside(clip(&text, MAX_SENTENCE_BYTES)),
        Passage::Code(text) => Passage::Said(clip(
            &text
                .lines()
                .map(str::trim)
                .filter(|line| !line.starts_with("```"))
                .collect::<Vec<_>>()
                .join(" "),
            MAX_SENTENCE_BYTES,
        )),
    }
}

/// Without the marks of lists, headings and emphasis.
pub(super) fn plain(text: &str) -> String {
    text.trim_start_matches(['#', '*', '-', '>', '•', '+', ' ']).replace("**", "").replace("__", "")
}
