//! What a sentence that asks tells: "I'm vegan" in "I'm vegan, what can I eat?"

use std::ops::Range;

use super::model::VoiceModel;
use crate::text::script::is_alphanumeric;

/// Number of marks in a sentence at which it may be divided.
const MAX_MARKS: usize = 6;
/// How sure it must be that one part tells and the other asks, and how much surer if the question
/// comes first.
const SURE: f32 = 0.0;
const SECOND: f32 = 3.0;

/// The part of a sentence that asks in which its speaker tells something, as a range of bytes;
/// `None` if it only asks.
pub(in crate::generate) fn told_part(sentence: &str) -> Option<Range<usize>> {
    told_by(VoiceModel::packaged(), sentence)
}

pub(super) fn told_by(model: VoiceModel<'_>, sentence: &str) -> Option<Range<usize>> {
    let mut best: Option<(f32, Range<usize>)> = None;
    for (end, start) in cuts(sentence).take(MAX_MARKS) {
        let (first, second) = (&sentence[..end], &sentence[start..]);
        // The mark of the question stands at the end, whichever part asks.
        let plain = second.trim_end_matches(|c: char| !is_word(c));
        let asked = format!("{first}?");
        let tells_first = model.glance(first).states.min(model.glance(second).asks);
        let tells_second = model.glance(plain).states.min(model.glance(&asked).asks) - SECOND;
        for (score, part) in [(tells_first, 0..end), (tells_second, start..sentence.len())] {
            if score > SURE && best.as_ref().is_none_or(|(most, _)| score > *most) {
                best = Some((score, part));
            }
        }
    }
    let (_, part) = best?;
    let text = &sentence[part.clone()];
    let inner = text.trim_start_matches(|c| !is_word(c));
    let start = part.end - inner.len();
    Some(start..start + inner.trim_end_matches(|c| !is_word(c)).len())
}

/// True for what may begin and end a quotation.
fn is_word(c: char) -> bool {
    is_alphanumeric(c) || matches!(c, '%' | '€' | '$')
}

/// Where a sentence may be divided: the end of the part before a mark and the start of the part
/// after it.
fn cuts(sentence: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut has_words = false;
    sentence.char_indices().filter_map(move |(at, mark)| {
        let had_words = has_words;
        has_words |= is_alphanumeric(mark);
        let end = at + mark.len_utf8();
        let is_cut = match mark {
            ',' | ';' | ':' | '–' | '—' => sentence[end..].starts_with(char::is_whitespace),
            '，' | '、' | '；' | '：' => true,
            '¿' => at > 0,
            _ => false,
        };
        let start = if mark == '¿' { at } else { end };
        (is_cut && had_words).then_some((at, start))
    })
}
