//! Decides by the tense of its clause whether a date without a year is in the past or the future.
//!
//! A clause ends at punctuation and at a conjunction. The clause of the date decides. If it has no
//! sign of tense, the clause before it decides, then the clause after it. A weekday asks for more:
//! all signs of its own clause must agree.

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
    /// The tense that each sign indicates, `Unknown` for a doubtful one; `None` for a shadow.
    leans: Vec<Option<TimeLean>>,
    bounds: TextExpression,
    personal: TextExpression,
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
            (tense.doubts, Some(TimeLean::Unknown)),
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
            personal: TextExpression::new(format!(r"\b(?:{})\b", tense.personal)),
            rule: tense.rule,
        }
    }

    /// The tense of the date at `place` of `text`.
    pub(super) fn lean(&self, text: &str, place: Range<usize>) -> TimeLean {
        let clause = self.clause(text, place.clone());
        let (before, after) = parts(text, &place, &clause);
        let own = self.read(before, after);
        let least = match self.rule {
            TenseRule::Nearest => usize::MAX,
            TenseRule::PastFirst => SHORT_CLAUSE,
            TenseRule::AheadFirst => SHORT_CLAUSE / 2,
        };
        let own_or_none = own.unwrap_or_else(|| self.without_sign(before, after));
        if own.is_some() || clause.len() - place.len() >= least {
            return own_or_none;
        }
        let window = window(text, &place);
        let (before, after) = (&text[window.start..clause.start], &text[clause.end..window.end]);
        let previous = before.trim_end_matches(|c: char| !c.is_alphanumeric());
        if !ends_sentence(&before[previous.len()..]) {
            let previous = &previous[self.last_bound(previous)..];
            if let Some(found) = self.read(previous, "").filter(|lean| *lean != TimeLean::Unknown) {
                return found;
            }
        }
        let next = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        if ends_sentence(&after[..after.len() - next.len()]) {
            return own_or_none;
        }
        let end = self.bounds.find(next).map_or(next.len(), |bound| bound.range().start);
        match self.read("", &next[..end]) {
            None | Some(TimeLean::Unknown) => own_or_none,
            Some(found) => found,
        }
    }

    /// The tense of the date at `place` of `text` if all signs of its clause agree, else `Unknown`.
    /// A date that opens its sentence belongs to the clause after its comma: "On Friday, we met".
    pub(super) fn clear_lean(&self, text: &str, place: Range<usize>) -> TimeLean {
        let clause = self.wide_clause(text, &place);
        let (before, after) = parts(text, &place, &clause);
        match *self.different(before, after) {
            [lean] => lean,
            [] if clause.len() - place.len() >= SHORT_CLAUSE => self.without_sign(before, after),
            _ => TimeLean::Unknown,
        }
    }

    /// True if the clause of the date at `place` of `text` has a sign that leaves its tense open.
    pub(super) fn is_open(&self, text: &str, place: Range<usize>) -> bool {
        let clause = self.wide_clause(text, &place);
        let (before, after) = parts(text, &place, &clause);
        self.different(before, after).contains(&TimeLean::Unknown)
    }

    /// True if a clause in the present tense need not be about the speaker's plans: "En agosto hace
    /// calor".
    pub(super) fn is_general(&self, text: &str, place: Range<usize>) -> bool {
        let clause = self.wide_clause(text, &place);
        let (before, after) = parts(text, &place, &clause);
        self.rule == TenseRule::PastFirst
            && self.different(before, after).is_empty()
            && !self.personal.is_match(&text[clause])
    }

    /// The tenses of the signs of a clause, without those that repeat the one before.
    fn different(&self, before: &str, after: &str) -> Vec<TimeLean> {
        let mut leans: Vec<TimeLean> = match self.rule {
            TenseRule::Nearest => self.leans(before.trim_end()).chain(self.leans(after)).collect(),
            _ => self.leans(&format!("{before} {after}")).collect(),
        };
        leans.dedup();
        leans
    }

    /// The clause around `place`, and the next one if the date opens the sentence.
    fn wide_clause(&self, text: &str, place: &Range<usize>) -> Range<usize> {
        let clause = self.clause(text, place.clone());
        let has_words = |range: Range<usize>| text[range].contains(char::is_alphanumeric);
        let previous = text[..clause.start].trim_end_matches(' ');
        let opens = previous.is_empty() || previous.ends_with(SENTENCE_ENDS);
        match text[clause.end..].strip_prefix([',', '，']) {
            Some(rest)
                if opens
                    && !has_words(clause.start..place.start)
                    && !has_words(place.end..clause.end) =>
            {
                let end = self.bounds.find(rest).map_or(rest.len(), |bound| bound.range().start);
                clause.start..text.len() - rest.len() + end
            }
            _ => clause,
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

    /// The tense of a clause, if it has a sign of tense; `before` and `after` are its parts around
    /// the date.
    fn read(&self, before: &str, after: &str) -> Option<TimeLean> {
        if self.rule == TenseRule::Nearest {
            return self.leans(before.trim_end()).last().or_else(|| self.leans(after).next());
        }
        let clause = format!("{before} {after}");
        let order = match self.rule {
            TenseRule::AheadFirst => [TimeLean::Future, TimeLean::Past, TimeLean::Unknown],
            _ => [TimeLean::Past, TimeLean::Future, TimeLean::Unknown],
        };
        order.into_iter().find(|lean| self.leans(&clause).any(|found| found == *lean))
    }

    /// The tense of a clause without a sign of tense.
    fn without_sign(&self, before: &str, after: &str) -> TimeLean {
        let is_empty = before.trim().is_empty() && after.trim().is_empty();
        match self.rule {
            TenseRule::PastFirst if !is_empty => TimeLean::Future,
            _ => TimeLean::Unknown,
        }
    }

    /// The tenses of the signs in `text`, in order.
    fn leans<'s>(&'s self, text: &'s str) -> impl Iterator<Item = TimeLean> + 's {
        self.signs.find(text).filter_map(|sign| self.leans[sign])
    }
}

/// The parts of a clause around a date. The preposition at the start of the date also shows the
/// tense: since, for.
fn parts<'t>(text: &'t str, place: &Range<usize>, clause: &Range<usize>) -> (&'t str, &'t str) {
    let preposition = text[place.clone()].find(' ').unwrap_or(0);
    (&text[clause.start..place.start + preposition], &text[place.end..clause.end])
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

const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '\n', '…', '。', '！', '？'];

fn ends_sentence(marks: &str) -> bool {
    marks.contains(SENTENCE_ENDS)
}
