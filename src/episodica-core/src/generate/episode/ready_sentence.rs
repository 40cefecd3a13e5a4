//! A sentence of an episode's text: in the third person if its grammar allows it ("Maya moved …"),
//! otherwise quoted. A relative date is followed by the absolute date in brackets, so that a
//! quotation stays literal.

use std::borrow::Cow;

use super::person;
use super::source::{EpisodeSource, SourceTurn};
use super::units::{ReadySentence, TurnUnit};
use crate::text::Language;
use crate::text::time::{resolve_text, with_dates};

/// Maximum length of a sentence, in bytes; longer ones are clipped.
pub(super) const MAX_UNIT_BYTES: usize = 1_200;
/// Maximum number of lines of a code block; longer ones lose their middle.
const MAX_CODE_LINES: usize = 14;

/// The sentence in the form that its grammar allows; computed on first use.
pub(super) fn passage<'a>(
    source: &EpisodeSource,
    turn: &SourceTurn,
    unit: &'a TurnUnit,
) -> &'a ReadySentence {
    unit.passage.get_or_init(|| tell(source, turn, unit))
}

fn tell(source: &EpisodeSource, turn: &SourceTurn, unit: &TurnUnit) -> ReadySentence {
    let text = turn.unit_text(unit);
    if unit.is_code {
        return ReadySentence::Code(clip_lines(text));
    }
    let clipped = clip(text, MAX_UNIT_BYTES);
    if clipped.starts_with('[') && clipped.ends_with(']') {
        return ReadySentence::Aside(clipped.into_owned());
    }
    // Leaves out a sentence that consists of a name: it only addresses that person.
    if unit.words.len() == 1
        && turn.units.len() > 1
        && source.name_keys.contains_key(&unit.words[0].key)
    {
        return ReadySentence::Said(String::new());
    }
    let dated = match &clipped {
        Cow::Borrowed(text) => with_dates(text, turn.dates(unit)),
        Cow::Owned(text) => resolve_text(text, turn.moment, turn.language),
    };
    if unit.asks {
        return ReadySentence::Asked(dated);
    }
    third_person(source, turn, &dated).map_or(ReadySentence::Said(dated), ReadySentence::Told)
}

/// A sentence of a turn in the third person, if its grammar allows it.
pub(super) fn third_person(
    source: &EpisodeSource,
    turn: &SourceTurn,
    text: &str,
) -> Option<String> {
    let name = &source.speaker(turn).short;
    match turn.language {
        Language::English if person::may_be_english(text) => {
            person::english(source.without_address(text), name)
        }
        Language::Chinese if text.contains('我') => {
            person::chinese(source.without_address(text), name)
        }
        _ => None,
    }
}

/// The text clipped to `bytes` bytes, at a word boundary if possible.
pub(super) fn clip(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let mut end = bytes;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = text[..end].rfind(' ').filter(|at| *at > end / 2).unwrap_or(end);
    Cow::Owned(format!("{}…", text[..cut].trim_end_matches(|c: char| !c.is_alphanumeric())))
}

/// A code block; a long one loses its middle lines.
fn clip_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(|line| clip(line.trim_end(), 240)).collect();
    if lines.len() <= MAX_CODE_LINES {
        return lines.join("\n");
    }
    let (front, back) = (MAX_CODE_LINES - 5, lines.len() - 4);
    format!("{}\n[…]\n{}", lines[..front].join("\n"), lines[back..].join("\n"))
}
