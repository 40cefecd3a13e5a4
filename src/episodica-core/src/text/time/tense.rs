//! Decides by the tense of its clause whether a date without a year is in the past or the future.
//!
//! A clause ends at punctuation and at a conjunction. The clause of the date decides first, then
//! the clause before it, then the clause after it.

use std::ops::Range;

use super::calendar::TimeLean;
use super::grammar::{TenseRule, TenseSigns};
use super::languages::{chinese, english, french, german, spanish};
use crate::fork::ForkLazy;
use crate::text::expression::TextExpression;
use crate::text::expressions::ExpressionSet;

/// Number of bytes that are read on either side of a date.
const REACH: usize = 240;

/// Minimum length in bytes, apart from its date, of a clause that has a verb.
const SHORT_CLAUSE: usize = 12;

/// The expressions of a [`TenseSigns`].
pub(super) struct TenseReader {
    signs: ExpressionSet,
    /// The tense that each sign indicates; `None` for a shadow.
    leans: Vec<Option<TimeLean>>,
    bounds: TextExpression,
    rule: TenseRule,
}

pub(super) static ENGLISH: ForkLazy<TenseReader> =
    ForkLazy::new(|| TenseReader::new(&english::TENSE));
pub(super) static CHINESE: ForkLazy<TenseReader> =
    ForkLazy::new(|| TenseReader::new(&chinese::TENSE));
pub(super) static GERMAN: ForkLazy<TenseReader> =
    ForkLazy::new(|| TenseReader::new(&german::TENSE));
pub(super) static SPANISH: ForkLazy<TenseReader> =
    ForkLazy::new(|| TenseReader::new(&spanish::TENSE));
pub(super) static FRENCH: ForkLazy<TenseReader> =
    ForkLazy::new(|| TenseReader::new(&french::TENSE));

impl TenseReader {
    fn new(tense: &TenseSigns) -> Self {
        let sign = |sign: &&str| {
            let sign = sign.replace("<participle>", tense.participle);
            let sign = sign.replace("<irregular>", tense.irregular);
            // An ending such as 've is not at a word boundary.
            let begin = if !tense.spaced || sign.starts_with("['’]") { "" } else { r"\b" };
            let end = if !tense.spaced || sign.ends_with('$') { "" } else { r"\b" };
            format!("{begin}(?:{sign}){end}")
        };
        let kinds = [
            (tense.shadows, None),
            (tense.intentions, Some(TimeLean::Future)),
            (tense.past, Some(TimeLean::Past)),
            (tense.ahead, Some(TimeLean::Future)),
            (tense.open, Some(TimeLean::Unknown)),
        ];
        let kinds = kinds.into_iter().filter(|(signs, _)| !signs.is_empty());
        let any = |signs: &[&str]| signs.iter().map(sign).collect::<Vec<_>>().join("|");
        let (signs, leans) = kinds.map(|(signs, lean)| (any(signs), lean)).unzip();
        let conjunctions = match tense.conjunctions {
            "" => String::new(),
            words => format!(r"|\b(?:{words})\b"),
        };
        Self {
            signs: ExpressionSet::new(signs),
            leans,
            bounds: TextExpression::new(format!(
                r"[,;:!?\n…()。，！？；：]|\.(?:\s|$)|\s[-–—]\s|——{conjunctions}"
            )),
            rule: tense.rule,
        }
    }

    /// The tense of the date at `place` of `text`.
    pub(super) fn lean(&self, text: &str, place: Range<usize>) -> TimeLean {
        let clause = self.clause(text, place.clone());
        // The preposition at the start of a mention also shows the tense: since, for.
        let surface = &text[place.clone()];
        let preposition = surface.find(' ').unwrap_or(0);
        let before = &text[clause.start..place.start + preposition];
        let after = &text[place.end..clause.end];
        let own = self.read(before, after);
        let beside = before.len() - preposition + after.len();
        let settled = match self.rule {
            TenseRule::Nearest => own != TimeLean::Unknown,
            TenseRule::PastFirst => own == TimeLean::Past || beside >= SHORT_CLAUSE,
            TenseRule::AheadFirst => own != TimeLean::Unknown || beside >= SHORT_CLAUSE / 2,
        };
        if settled {
            return own;
        }
        let window = window(text, &place);
        let (before, after) = (&text[window.start..clause.start], &text[clause.end..window.end]);
        let previous = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        if !ends_sentence(&before[previous.len()..]) {
            let previous = &previous[self.last_bound(previous)..];
            let found = self.read(previous, "");
            if !previous.is_empty() && found != TimeLean::Unknown {
                return found;
            }
        }
        let next = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        if ends_sentence(&after[..after.len() - next.len()]) {
            return own;
        }
        let end = self.bounds.find(next).map_or(next.len(), |bound| bound.range().start);
        match self.read("", &next[..end]) {
            TimeLean::Unknown => own,
            found => found,
        }
    }

    /// The clause around `place`.
    pub(super) fn clause(&self, text: &str, place: Range<usize>) -> Range<usize> {
        let window = window(text, &place);
        let before = &text[window.start..place.start];
        let after = &text[place.end..window.end];
        let end = self.bounds.find(after).map_or(after.len(), |bound| bound.range().start);
        window.start + self.last_bound(before)..place.end + end
    }

    fn last_bound(&self, text: &str) -> usize {
        self.bounds.find_all(text).last().map_or(0, |bound| bound.range().end)
    }

    /// The tense of a clause; `before` and `after` are its parts around the date.
    fn read(&self, before: &str, after: &str) -> TimeLean {
        if self.rule == TenseRule::Nearest {
            return match self.leans(before.trim_end()).last() {
                Some(lean) => lean,
                None => self.leans(after).next().unwrap_or(TimeLean::Unknown),
            };
        }
        let clause = format!("{before} {after}");
        if clause.trim().is_empty() {
            return TimeLean::Unknown;
        }
        let (mut past, mut ahead, mut open) = (false, false, false);
        for lean in self.leans(&clause) {
            past |= lean == TimeLean::Past;
            ahead |= lean == TimeLean::Future;
            open |= lean == TimeLean::Unknown;
        }
        match self.rule {
            TenseRule::AheadFirst if ahead => TimeLean::Future,
            TenseRule::AheadFirst if !past => TimeLean::Unknown,
            _ if past => TimeLean::Past,
            _ if open && !ahead => TimeLean::Unknown,
            _ => TimeLean::Future,
        }
    }

    /// The tenses of the signs in `text`, in order.
    fn leans<'s>(&'s self, text: &'s str) -> impl Iterator<Item = TimeLean> + 's {
        self.signs.find(text).filter_map(|sign| self.leans[sign])
    }
}

/// The range of `text` that is read around `place`.
fn window(text: &str, place: &Range<usize>) -> Range<usize> {
    let mut start = place.start.saturating_sub(REACH);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let mut end = (place.end + REACH).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end
}

fn ends_sentence(marks: &str) -> bool {
    marks.contains(['.', '!', '?', '\n', '…', '。', '！', '？'])
}
