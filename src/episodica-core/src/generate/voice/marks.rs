//! What a few words beside a part of a message tell about it: the writer's name before it, "just
//! kidding" after it, "I told my doctor" before a quotation, a request below a mail.

use std::ops::Range;

use super::first_person::{is_label_of, speaks_of_self};
use super::model::VoiceModel;
use super::pieces::{Line, Piece};
use crate::model::SaidBy;
use crate::text::sentences;

/// What says that the sentence before it was no statement.
const JOKES: [&str; 14] = [
    "just kidding",
    "only kidding",
    "just joking",
    "only joking",
    "april fool",
    "nur spaß",
    "nur ein scherz",
    "es broma",
    "era broma",
    "je plaisante",
    "une blague",
    "开玩笑",
    "骗你的",
    "冗談です",
];
/// Number of bytes at the start of a sentence that may say so.
const MAX_JOKE: usize = 60;
/// Number of bytes around a quotation that may tell that the writer quotes themself, and of
/// quotations that are asked about.
const MAX_LEAD: usize = 120;
pub(super) const MAX_QUOTED: usize = 32;
/// The score by `announces` below which the words before a quotation name the writer.
const ONESELF: f32 = -1.5;
/// Number of pieces at the end that may ask for something, and bytes of each.
const MAX_ASKING: usize = 8;
const MAX_REQUEST: usize = 300;

/// The first line, if the writer's name and a colon begin it: "Alice: I moved."
pub(super) fn own_line(
    text: &str,
    speaker: &str,
    lines: &[Line],
    programs: &[(Range<usize>, SaidBy)],
) -> Option<Range<usize>> {
    let first = lines.first()?.range.clone();
    let (label, _) = text[first.clone()].split_once([':', '：'])?;
    let is_programs = programs.iter().any(|(range, _)| range.start <= first.start);
    (is_label_of(label, speaker) && !is_programs).then_some(first)
}

/// True if the last paragraph asks for something: below a copied mail stand the writer's own words.
pub(super) fn asks_last(model: VoiceModel<'_>, text: &str, pieces: &[Piece]) -> bool {
    let Some(last) = pieces.last() else { return false };
    let own = pieces.iter().rev().take(MAX_ASKING).take_while(|piece| piece.block == last.block);
    let mut texts = own.map(|piece| &text[piece.range.clone()]);
    texts.any(|text| {
        text.ends_with(['?', '？']) || text.len() < MAX_REQUEST && model.glance(text).asks > 0.0
    })
}

/// True for the writer's own words in quotation marks: "I told my doctor: 'I'm vegan.'" The model
/// then judges the sentence. The words of `earlier` quotations tell nothing about it.
pub(super) fn quotes_oneself(
    model: VoiceModel<'_>,
    text: &str,
    quotation: &Range<usize>,
    earlier: &[Range<usize>],
) -> bool {
    let mut start = quotation.start.saturating_sub(MAX_LEAD);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let start = text[start..quotation.start].rfind('\n').map_or(start, |end| start + end + 1);
    let (mut lead, mut at) = (String::new(), start);
    for other in earlier.iter().filter(|other| other.end > start && other.end <= quotation.start) {
        lead.push_str(text.get(at..other.start).unwrap_or_default());
        at = at.max(other.end);
    }
    lead.push_str(&text[at..quotation.start]);
    let lead = lead.trim_end_matches(|c: char| !c.is_alphanumeric());
    let lead = sentences(lead).last().copied().unwrap_or_default();
    speaks_of_self(lead) && model.glance(lead).announces < ONESELF
}

/// The sentences before "Just kidding!", with it.
pub(super) fn jokes<'t>(
    text: &'t str,
    pieces: &'t [Piece],
) -> impl Iterator<Item = Range<usize>> + 't {
    pieces.windows(2).filter_map(|pair| {
        let after =
            text[pair[1].range.clone()].get(..MAX_JOKE).unwrap_or(&text[pair[1].range.clone()]);
        let lower = after.to_lowercase();
        let is_joke = JOKES.iter().any(|joke| lower.contains(joke));
        is_joke.then(|| pair[0].range.start..pair[1].range.end)
    })
}
