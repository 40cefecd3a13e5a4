//! L1: a narrative of the messages in the third person, attributed, with absolute dates.
//!
//! A conversation longer than the budget loses its least informative sentences, greetings first;
//! the rest keep their order.

use super::ready_sentence::{MAX_UNIT_BYTES, passage};
use super::salience::ScoredSentence;
use super::source::EpisodeSource;
use super::units::ReadySentence;
use crate::clock::Moment;
use crate::text::vocabulary::{CHINESE_WEEKDAYS, ENGLISH_WEEKDAYS, months};
use crate::text::{Language, count_tokens};

/// Maximum number of tokens of a narrative.
pub(super) const MAX_TOKENS: usize = 2_000;

/// Writes the narrative.
pub(super) fn write(source: &EpisodeSource, scored: &[ScoredSentence]) -> String {
    let keep_all = vec![true; scored.len()];
    let estimate: usize = source.turns.iter().map(|turn| estimate_tokens(&turn.text) + 8).sum();
    if estimate <= 2 * MAX_TOKENS {
        let text = assemble(source, scored, &keep_all);
        if fits(&text, MAX_TOKENS) {
            return text;
        }
    }
    compressed(source, scored)
}

/// True if `text` has at most `tokens` tokens. Short texts need no count: a token has at least one
/// byte.
pub(super) fn fits(text: &str, tokens: usize) -> bool {
    text.len() <= tokens || count_tokens(text) <= tokens
}

/// A cheap estimate of the number of tokens.
fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(if text.is_ascii() { 4 } else { 3 })
}

fn compressed(source: &EpisodeSource, scored: &[ScoredSentence]) -> String {
    let mut order: Vec<usize> = (0..scored.len()).collect();
    let worth: Vec<f32> = scored
        .iter()
        .map(|scored| if scored.place(source).1.is_code { 0.5 } else { scored.score() })
        .collect();
    order.sort_by(|a, b| worth[*b].total_cmp(&worth[*a]).then(a.cmp(b)));
    let mut budget = MAX_TOKENS * 4 / 5;
    while budget > 8 {
        let mut keep = vec![false; scored.len()];
        let mut spent = 0;
        for at in &order {
            let (turn, unit) = scored[*at].place(source);
            let cost = estimate_tokens(turn.unit_text(unit)).min(MAX_UNIT_BYTES / 3) + 8;
            if worth[*at] > 0.0 && spent + cost <= budget {
                keep[*at] = true;
                spent += cost;
            }
        }
        let text = assemble(source, scored, &keep);
        if fits(&text, MAX_TOKENS) {
            return text;
        }
        budget = budget * 2 / 3;
    }
    heading(source)
}

fn assemble(source: &EpisodeSource, scored: &[ScoredSentence], keep: &[bool]) -> String {
    let mut out = heading(source);
    let mut day = source.turns.first().map(|turn| turn.moment.local().date());
    let mut at = 0;
    while at < scored.len() {
        let number = scored[at].turn;
        let turn = &source.turns[number];
        let mut parts = Vec::new();
        while at < scored.len() && scored[at].turn == number {
            if keep[at] {
                parts.push(passage(source, turn, &turn.units[scored[at].unit]));
            }
            at += 1;
        }
        if parts.is_empty() {
            continue;
        }
        let date = turn.moment.local().date();
        if day != Some(date) {
            day = Some(date);
            out.push('\n');
            out.push_str(&new_day(turn.moment, source.language));
        }
        out.push('\n');
        attribute(&source.speaker(turn).short, turn.language, &parts, &mut out);
    }
    out
}

/// Appends the parts of one turn, with the speaker's name unless the parts contain it.
fn attribute(name: &str, language: Language, parts: &[&ReadySentence], out: &mut String) {
    let mut quote: Option<(String, bool)> = None;
    let begin = out.len();
    let gap = if language == Language::Chinese { "" } else { " " };
    let close = |quote: &mut Option<(String, bool)>, out: &mut String| {
        if let Some((text, asked)) = quote.take() {
            if out.len() > begin && !out.ends_with('\n') {
                out.push_str(gap);
            }
            out.push_str(&attributed(name, language, &text, asked));
        }
    };
    for part in parts {
        match part {
            ReadySentence::Told(text) => {
                close(&mut quote, out);
                if out.len() > begin && !out.ends_with('\n') {
                    out.push_str(gap);
                }
                out.push_str(text);
            }
            ReadySentence::Aside(text) => {
                close(&mut quote, out);
                if out.len() == begin {
                    out.push_str(&attributed(name, language, "", false));
                }
                out.push_str(if out.ends_with('\n') { "" } else { " " });
                out.push_str(text);
            }
            ReadySentence::Code(text) => {
                close(&mut quote, out);
                if out.len() == begin {
                    out.push_str(&attributed(name, language, "", false));
                }
                out.push('\n');
                out.push_str(text);
                out.push('\n');
            }
            ReadySentence::Said(text) | ReadySentence::Asked(text) if text.is_empty() => {}
            ReadySentence::Said(text) => extend(&mut quote, text, false, gap),
            ReadySentence::Asked(text) => extend(&mut quote, text, true, gap),
        }
    }
    close(&mut quote, out);
    out.truncate(out.trim_end().len());
}

fn extend(quote: &mut Option<(String, bool)>, text: &str, asked: bool, gap: &str) {
    match quote {
        Some((open, asks)) => {
            open.push_str(gap);
            open.push_str(text);
            *asks &= asked;
        }
        None => *quote = Some((text.to_owned(), asked)),
    }
}

fn attributed(name: &str, language: Language, text: &str, asked: bool) -> String {
    let spaced = if name.ends_with(|c: char| c.is_ascii_alphanumeric()) { " " } else { "" };
    match language {
        _ if text.is_empty() => format!("{}:", capitalised(name)),
        Language::English => format!(
            "{} {}: \"{}\"",
            capitalised(name),
            if asked { "asked" } else { "said" },
            text.replace('"', "'")
        ),
        Language::Chinese => format!("{name}{spaced}{}：“{text}”", if asked { "问" } else { "说" }),
        _ => format!("{}: {text}", capitalised(name)),
    }
}

/// Capitalises the first letter, unless its capital consists of several characters: the text must
/// not get longer.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    let mut upper = first.to_uppercase();
    let first = upper.next().filter(|_| upper.next().is_none()).unwrap_or(first);
    std::iter::once(first).chain(chars).collect()
}

/// The first line: date and participants.
fn heading(source: &EpisodeSource) -> String {
    let Some(moment) = source.turns.first().map(|turn| turn.moment) else { return String::new() };
    let names: Vec<&str> = source
        .speakers
        .iter()
        .map(|speaker| if speaker.is_role { &*speaker.short } else { &*speaker.full })
        .take(8)
        .collect();
    let local = moment.local();
    let weekday = usize::from(local.weekday().to_monday_zero_offset().unsigned_abs()) % 7;
    match source.language {
        Language::English => {
            let who = match names.as_slice() {
                [one] => format!("{one} wrote"),
                [first @ .., last] => format!("{} and {last} talked", first.join(", ")),
                [] => return String::new(),
            };
            let month = months(Language::English)
                [usize::from(local.month().unsigned_abs()).clamp(1, 12) - 1];
            format!(
                "On {} {} {month} {} at {:02}:{:02}, {who}.",
                ENGLISH_WEEKDAYS[weekday],
                local.day(),
                local.year(),
                local.hour(),
                local.minute()
            )
        }
        Language::Chinese => {
            let who = match names.as_slice() {
                [one] => format!("{one}写道"),
                all => format!("{}的对话", all.join("和")),
            };
            let (year, month, day) = (local.year(), local.month(), local.day());
            format!(
                "{year}年{month}月{day}日（星期{}）{:02}:{:02}，{who}。",
                CHINESE_WEEKDAYS[weekday],
                local.hour(),
                local.minute()
            )
        }
        _ => format!(
            "{} {:02}:{:02} — {}",
            local.date(),
            local.hour(),
            local.minute(),
            names.join(", ")
        ),
    }
}

fn new_day(moment: Moment, language: Language) -> String {
    let local = moment.local();
    let weekday = usize::from(local.weekday().to_monday_zero_offset().unsigned_abs()) % 7;
    match language {
        Language::English => {
            let month = months(Language::English)
                [usize::from(local.month().unsigned_abs()).clamp(1, 12) - 1];
            format!("On {} {} {month} {}:", ENGLISH_WEEKDAYS[weekday], local.day(), local.year())
        }
        Language::Chinese => format!(
            "{}年{}月{}日（星期{}）：",
            local.year(),
            local.month(),
            local.day(),
            CHINESE_WEEKDAYS[weekday]
        ),
        _ => format!("{}:", local.date()),
    }
}
