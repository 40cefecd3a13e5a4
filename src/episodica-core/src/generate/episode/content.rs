//! The content of an episode (L1): its messages with speakers under their days, the meaning of
//! relative dates in brackets.
//!
//! Messages longer than the budget lose their least noteworthy sentences; `[…]` stands for them.

use std::borrow::Cow;

use super::source::{EpisodeSource, SourceTurn};
use super::units::TurnUnit;
use crate::clock::Moment;
use crate::text::heads::SentenceHeads;
use crate::text::time::with_dates;
use crate::text::vocabulary::{CHINESE_WEEKDAYS, ENGLISH_WEEKDAYS, months};
use crate::text::{Language, count_tokens};

/// Maximum number of tokens of the content.
pub(super) const MAX_TOKENS: usize = 2_000;
/// Maximum length of a sentence, in bytes; longer ones are clipped.
pub(super) const MAX_UNIT_BYTES: usize = 1_200;
/// Maximum number of lines of a code block; longer ones lose their middle.
const MAX_CODE_LINES: usize = 14;
/// How noteworthy a block of code is, on the scale of the heads.
const CODE: f32 = -1.0;
const LEFT_OUT: &str = "[…]";

/// Writes the content.
pub(super) fn write_content(source: &EpisodeSource) -> String {
    let estimate: usize = source.turns.iter().map(|turn| estimate_tokens(&turn.text) + 8).sum();
    if estimate <= 2 * MAX_TOKENS {
        let text = assemble_content(source, &|_, _| true);
        if fits_tokens(&text, MAX_TOKENS) {
            return if text.is_empty() { without_words(source) } else { text };
        }
    }
    compressed_content(source)
}

/// The content of messages that say nothing, or nothing that fits.
fn without_words(source: &EpisodeSource) -> String {
    source.turns.first().map(|turn| day_line(turn.moment, source.language)).unwrap_or_default()
}

/// True if `text` has at most `tokens` tokens. Short texts need no count: a token has at least one
/// byte.
pub(super) fn fits_tokens(text: &str, tokens: usize) -> bool {
    text.len() <= tokens || count_tokens(text) <= tokens
}

/// A cheap estimate of the number of tokens.
fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(if text.is_ascii() { 4 } else { 3 })
}

/// The content with the most noteworthy sentences that fit.
fn compressed_content(source: &EpisodeSource) -> String {
    let mut units: Vec<(usize, usize, f32)> = Vec::new();
    for (at, turn) in source.turns.iter().enumerate() {
        for (number, unit) in turn.units.iter().enumerate() {
            let worth = || SentenceHeads::of(turn.unit_text(unit), turn.by_agent).worth;
            units.push((at, number, if unit.is_code { CODE } else { worth() }));
        }
    }
    units.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
    let mut budget = MAX_TOKENS * 4 / 5;
    while budget > 8 {
        let mut kept: Vec<Vec<bool>> =
            source.turns.iter().map(|turn| vec![false; turn.units.len()]).collect();
        let mut spent = 0;
        for (at, number, _) in &units {
            let turn = &source.turns[*at];
            let text = turn.unit_text(&turn.units[*number]);
            let cost = estimate_tokens(text).min(MAX_UNIT_BYTES / 3) + 8;
            if spent + cost <= budget {
                kept[*at][*number] = true;
                spent += cost;
            }
        }
        let text = assemble_content(source, &|at, number| kept[at][number]);
        if fits_tokens(&text, MAX_TOKENS) {
            return text;
        }
        budget = budget * 2 / 3;
    }
    without_words(source)
}

fn assemble_content(source: &EpisodeSource, keeps: &dyn Fn(usize, usize) -> bool) -> String {
    let (mut lines, mut day, mut is_cut) = (Vec::new(), None, false);
    for (at, turn) in source.turns.iter().enumerate() {
        let Some(said) = spoken_text(source, turn, &|number| keeps(at, number)) else {
            is_cut |= !turn.units.is_empty();
            continue;
        };
        let date = turn.moment.local().date();
        if day != Some(date) {
            day = Some(date);
            lines.push(day_line(turn.moment, source.language));
        }
        if std::mem::take(&mut is_cut) {
            lines.push(LEFT_OUT.to_owned());
        }
        let name = &source.turn_speaker(turn).short;
        let colon = if turn.language == Language::Chinese { "：" } else { ": " };
        // A line of the message can't be taken for another speaker's.
        lines.push(format!("{name}{colon}{}", said.replace('\n', "\n ")));
    }
    if is_cut {
        lines.push(LEFT_OUT.to_owned());
    }
    lines.join("\n")
}

/// What a message says, its dates resolved, without the units that are not kept; `None` if nothing
/// is.
fn spoken_text(
    source: &EpisodeSource,
    turn: &SourceTurn,
    keeps: &dyn Fn(usize) -> bool,
) -> Option<String> {
    let (mut out, mut at, mut shown, mut is_cut) = (String::new(), 0, 0, false);
    for (number, unit) in turn.units.iter().enumerate() {
        if !keeps(number) {
            is_cut = true;
        } else {
            let gap = &turn.text[at.min(unit.start)..unit.start];
            let gap = match std::mem::take(&mut is_cut) {
                false => gap.into(),
                true if turn.text[shown..unit.start].contains('\n') => {
                    Cow::Owned(format!("\n{LEFT_OUT}\n"))
                }
                true => Cow::Owned(format!(" {LEFT_OUT} ")),
            };
            out.push_str(if out.is_empty() { gap.trim_start() } else { &gap });
            out.push_str(&dated_text(source, turn, unit));
            shown = unit.end;
        }
        at = unit.end;
    }
    if turn.units.is_empty() {
        return Some(turn.text.clone()).filter(|text| !text.trim().is_empty());
    }
    // Of a message with very many sentences, the last ones are no units.
    let is_cut = is_cut || turn.text[at..].contains(char::is_alphanumeric);
    if is_cut && !out.is_empty() {
        out.push_str(&format!(" {LEFT_OUT}"));
    }
    (!out.is_empty()).then_some(out)
}

/// A unit as it was said, with its dates.
fn dated_text(source: &EpisodeSource, turn: &SourceTurn, unit: &TurnUnit) -> String {
    let text = turn.unit_text(unit);
    if unit.is_code {
        return clip_lines(text);
    }
    match clip_text(text, MAX_UNIT_BYTES) {
        Cow::Borrowed(text) => with_dates(
            text,
            unit.dates.get_or_init(|| source.mentioned_times(turn, unit.start, text)),
        ),
        Cow::Owned(text) => with_dates(&text, &source.mentioned_times(turn, unit.start, &text)),
    }
}

/// The text clipped to `bytes` bytes, at a word boundary if possible.
pub(super) fn clip_text(text: &str, bytes: usize) -> Cow<'_, str> {
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
    let lines: Vec<Cow<'_, str>> =
        text.lines().map(|line| clip_text(line.trim_end(), 240)).collect();
    if lines.len() <= MAX_CODE_LINES {
        return lines.join("\n");
    }
    let (front, back) = (MAX_CODE_LINES - 5, lines.len() - 4);
    format!("{}\n{LEFT_OUT}\n{}", lines[..front].join("\n"), lines[back..].join("\n"))
}

/// The line above the messages of a day: the day and the time of the first one.
fn day_line(moment: Moment, language: Language) -> String {
    let local = moment.local();
    let time = format!("{:02}:{:02}", local.hour(), local.minute());
    let weekday = usize::from(local.weekday().to_monday_zero_offset().unsigned_abs()) % 7;
    let month = usize::from(local.month().unsigned_abs()).clamp(1, 12);
    let (year, day) = (local.year(), local.day());
    match language {
        Language::English => {
            let month = months(Language::English)[month - 1];
            format!("{} {day} {month} {year}, {time}", ENGLISH_WEEKDAYS[weekday])
        }
        Language::Chinese => {
            format!("{year}年{month}月{day}日（星期{}）{time}", CHINESE_WEEKDAYS[weekday])
        }
        _ => format!("{} {time}", local.date()),
    }
}
