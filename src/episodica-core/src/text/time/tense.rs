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

/// The meaning of a sign of tense.
#[derive(Clone, Copy)]
enum SignMeaning {
    /// `Unknown` for a form of several tenses.
    Tense(TimeLean),
    /// A sign that leaves the tense of the date open.
    Doubt,
    /// The past of a verb of arranging.
    Arranged,
}

/// The precision of a date whose tense is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DateReach {
    /// A weekday or a weekend: whoever names it means one within a few days. "We booked it on
    /// Sunday" tells when it was booked.
    Week,
    /// A month, or a day with its month. "We rented a cottage in August" more likely tells for
    /// when.
    Year,
}

/// The parts of a clause around a date.
struct ClauseParts<'t> {
    before: &'t str,
    after: &'t str,
    /// The tense of a verb of arranging before and after the date; `None` if it tells nothing.
    arranged: [Option<TimeLean>; 2],
}

/// The expressions of a [`TenseSigns`].
pub(super) struct TenseReader {
    signs: ExpressionSet,
    /// `None` for a shadow.
    meanings: Vec<Option<SignMeaning>>,
    purposes: Option<TextExpression>,
    bounds: TextExpression,
    personal: TextExpression,
    impersonal: TextExpression,
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
            (tense.intentions, Some(SignMeaning::Tense(TimeLean::Future))),
            (tense.arranged, Some(SignMeaning::Arranged)),
            (tense.doubts, Some(SignMeaning::Doubt)),
            (tense.past, Some(SignMeaning::Tense(TimeLean::Past))),
            (tense.ahead, Some(SignMeaning::Tense(TimeLean::Future))),
            (tense.open, Some(SignMeaning::Tense(TimeLean::Unknown))),
        ];
        let kinds = kinds.into_iter().filter(|(signs, _)| !signs.is_empty());
        let any = |signs: &[&str]| signs.iter().map(sign).collect::<Vec<_>>().join("|");
        let (signs, meanings) = kinds.map(|(signs, meaning)| (any(signs), meaning)).unzip();
        let conjunctions = match tense.conjunctions {
            "" => String::new(),
            words => format!(r"|\b(?:{words})\b"),
        };
        Self {
            signs: ExpressionSet::new(signs),
            meanings,
            purposes: (!tense.purposes.is_empty())
                .then(|| TextExpression::new(format!(r"\b(?:{})\b", tense.purposes))),
            bounds: TextExpression::new(format!(
                r"[,;:!?\n…()。，！？；：]|\.(?:\s|$)|\s[-–—]\s|——{conjunctions}"
            )),
            personal: TextExpression::new(format!(r"\b(?:{})\b", tense.personal)),
            impersonal: TextExpression::new(format!(r"\b(?:{})\b", tense.impersonal)),
            rule: tense.rule,
        }
    }

    /// The tense of the date at `place` of `text`, a month or a day.
    pub(super) fn lean(&self, text: &str, place: Range<usize>) -> TimeLean {
        let clause = self.clause(text, place.clone());
        let parts = self.parts(text, &place, &clause, None);
        let own = self.read(&parts);
        let least = match self.rule {
            TenseRule::Nearest => usize::MAX,
            TenseRule::PastFirst => SHORT_CLAUSE,
            TenseRule::AheadFirst => SHORT_CLAUSE / 2,
        };
        let own_or_none = own.unwrap_or_else(|| self.without_sign(&parts));
        if own.is_some() || clause.len() - place.len() >= least {
            return own_or_none;
        }
        self.neighbour(text, &place, &clause).unwrap_or(own_or_none)
    }

    /// The tense of the clause before `clause`, else of the clause after it, within the sentence.
    fn neighbour(
        &self,
        text: &str,
        place: &Range<usize>,
        clause: &Range<usize>,
    ) -> Option<TimeLean> {
        let window = window(text, place);
        let (before, after) = (&text[window.start..clause.start], &text[clause.end..window.end]);
        let alone = |before, after| {
            let found = self.read(&ClauseParts { before, after, arranged: [None; 2] });
            found.filter(|lean| *lean != TimeLean::Unknown)
        };
        if let Some(found) = self.clause_before(before).and_then(|previous| alone(previous, "")) {
            return Some(found);
        }
        let next = after.trim_start_matches(|c: char| !c.is_alphanumeric());
        if ends_sentence(&after[..after.len() - next.len()]) {
            return None;
        }
        let end = self.bounds.find(next).map_or(next.len(), |bound| bound.range().start);
        alone("", &next[..end])
    }

    /// The last clause of `before` that has words, unless a sentence ends after it.
    fn clause_before<'t>(&self, mut before: &'t str) -> Option<&'t str> {
        loop {
            let words = before.trim_end_matches(|c: char| !c.is_alphanumeric());
            if words.is_empty() || ends_sentence(&before[words.len()..]) {
                return None;
            }
            let bound = self.bounds.find_all(words).last().map(|bound| bound.range());
            let Some(bound) = bound.filter(|bound| bound.end == words.len()) else {
                return Some(&words[self.last_bound(words)..]);
            };
            // A conjunction: "and".
            before = &words[..bound.start];
        }
    }

    /// The tense of the date at `place` of `text` if all signs of its clause agree, else `Unknown`.
    /// A date that opens its sentence belongs to the clause after its comma: "On Friday, we met".
    pub(super) fn clear_lean(&self, text: &str, place: Range<usize>, reach: DateReach) -> TimeLean {
        let clause = self.wide_clause(text, &place);
        let parts = self.parts(text, &place, &clause, Some(reach));
        match *self.different(&parts) {
            [lean] => lean,
            [] if clause.len() - place.len() >= SHORT_CLAUSE => self.without_sign(&parts),
            _ => TimeLean::Unknown,
        }
    }

    /// True if the clause of the date at `place` of `text` has a sign that leaves its tense open.
    pub(super) fn is_open(&self, text: &str, place: Range<usize>) -> bool {
        let clause = self.wide_clause(text, &place);
        let parts = self.parts(text, &place, &clause, Some(DateReach::Week));
        self.different(&parts).contains(&TimeLean::Unknown)
    }

    /// True if the verb of the clause of the date at `place` of `text` has a form of the past that
    /// also is one of the present.
    pub(super) fn may_be_past(&self, text: &str, place: Range<usize>) -> bool {
        let is_both = |sign: usize| {
            matches!(self.meanings[sign], Some(SignMeaning::Tense(TimeLean::Unknown)))
        };
        let Range { start, end } = self.wide_clause(text, &place);
        let words = format!("{} {}", &text[start..place.start], &text[place.end..end]);
        self.rule == TenseRule::PastFirst && self.signs.find_patterns(&words).any(is_both)
    }

    /// True if a clause in the present tense need not be about the speaker's plans: "En agosto hace
    /// calor".
    pub(super) fn is_general(&self, text: &str, place: Range<usize>) -> bool {
        let clause = self.wide_clause(text, &place);
        let parts = self.parts(text, &place, &clause, None);
        self.rule == TenseRule::PastFirst
            && self.different(&parts).is_empty()
            && self.impersonal.is_match(&text[clause.clone()])
            && !self.personal.is_match(&text[clause])
    }

    /// The parts of a clause around a date. The preposition at the start of the date also shows the
    /// tense: since, for. `reach` is `None` where the likely reading of a verb of arranging counts,
    /// not the certain one.
    fn parts<'t>(
        &self,
        text: &'t str,
        place: &Range<usize>,
        clause: &Range<usize>,
        reach: Option<DateReach>,
    ) -> ClauseParts<'t> {
        let preposition = text[place.clone()].find(' ').unwrap_or(0);
        let before = &text[clause.start..place.start + preposition];
        let has_purpose = self.purposes.as_ref().is_some_and(|words| words.is_match(before));
        let arranged = match (self.rule, reach, has_purpose) {
            // 报名了周六的比赛 is about the event, 周六报名了 about the deed.
            (TenseRule::AheadFirst, ..) => [Some(TimeLean::Future), Some(TimeLean::Past)],
            (_, Some(DateReach::Week), false) => [Some(TimeLean::Past); 2],
            (_, Some(DateReach::Week), true) | (_, Some(DateReach::Year), false) => {
                [Some(TimeLean::Unknown); 2]
            }
            (_, None, _) | (_, Some(DateReach::Year), true) => [Some(TimeLean::Future); 2],
        };
        ClauseParts { before, after: &text[place.end..clause.end], arranged }
    }

    /// The tenses of the signs of a clause, without those that repeat the one before.
    fn different(&self, parts: &ClauseParts<'_>) -> Vec<TimeLean> {
        let mut leans = self.leans(parts);
        leans.dedup();
        leans
    }

    /// The tenses of the signs of a clause, in order.
    fn leans(&self, parts: &ClauseParts<'_>) -> Vec<TimeLean> {
        let ClauseParts { before, after, arranged } = *parts;
        if self.rule == TenseRule::PastFirst {
            // A verb may stand on both sides: "habe … gesehen".
            return self.signs_in(&format!("{before} {after}"), arranged[0]).collect();
        }
        let first = self.signs_in(before.trim_end(), arranged[0]);
        first.chain(self.signs_in(after, arranged[1])).collect()
    }

    /// The tenses of the signs in `text`, in order.
    fn signs_in<'s>(
        &'s self,
        text: &'s str,
        arranged: Option<TimeLean>,
    ) -> impl Iterator<Item = TimeLean> + 's {
        self.signs.find_patterns(text).filter_map(move |sign| match self.meanings[sign]? {
            SignMeaning::Tense(lean) => Some(lean),
            SignMeaning::Doubt => Some(TimeLean::Unknown),
            SignMeaning::Arranged => arranged,
        })
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

    /// The tense of a clause, if it has a sign of tense.
    fn read(&self, parts: &ClauseParts<'_>) -> Option<TimeLean> {
        let order = match self.rule {
            TenseRule::Nearest => {
                let ClauseParts { before, after, arranged } = *parts;
                let nearest = self.signs_in(before.trim_end(), arranged[0]).last();
                return nearest.or_else(|| self.signs_in(after, arranged[1]).next());
            }
            TenseRule::AheadFirst => [TimeLean::Future, TimeLean::Past, TimeLean::Unknown],
            TenseRule::PastFirst => [TimeLean::Past, TimeLean::Future, TimeLean::Unknown],
        };
        let found = self.leans(parts);
        order.into_iter().find(|lean| found.contains(lean))
    }

    /// The tense of a clause without a sign of tense.
    fn without_sign(&self, parts: &ClauseParts<'_>) -> TimeLean {
        let is_empty = parts.before.trim().is_empty() && parts.after.trim().is_empty();
        match self.rule {
            TenseRule::PastFirst if !is_empty => TimeLean::Future,
            _ => TimeLean::Unknown,
        }
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

pub(super) const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '\n', '…', '。', '！', '？'];

fn ends_sentence(marks: &str) -> bool {
    marks.contains(SENTENCE_ENDS)
}
