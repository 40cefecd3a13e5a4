//! The English grammar: which pattern begins at a token, and how the sentence around it leans.
//!
//! Patterns are tried at every token from left to right; a match is skipped over. Relative patterns
//! are here, counts of units in `counts`, dates by name and number in `absolute`.

use jiff::civil::Date;

use super::calendar::{self, Days, Lean};
use super::lexer::{Kind, Token, tokens};
use super::mention::{Grain, TimeMention};
use super::vocabulary::{Unit, Word};

/// How far around a date the words are read that tell past from future.
const LEAN_TOKENS: usize = 14;

/// A match: up to which token it goes, and what it means.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub end: usize,
    pub days: Days,
    pub grain: Grain,
    pub relative: bool,
    pub confident: bool,
}

impl Found {
    pub(super) fn new(end: usize, days: Days, grain: Grain) -> Self {
        Self { end, days, grain, relative: true, confident: true }
    }

    pub(super) fn unsure(mut self) -> Self {
        self.confident = false;
        self
    }
}

pub(super) struct Grammar {
    pub tokens: Vec<Token>,
    pub today: Date,
}

/// The English (and numeric) mentions of `text`.
pub(super) fn scan(text: &str, today: Date) -> Vec<TimeMention> {
    let (tokens, trigger) = tokens(text);
    if !trigger {
        return Vec::new();
    }
    let grammar = Grammar { tokens, today };
    let mut found = Vec::new();
    let mut at = 0;
    while at < grammar.tokens.len() {
        let Some(hit) = grammar.absolute(at).or_else(|| grammar.relative(at)) else {
            at += 1;
            continue;
        };
        found.push(TimeMention {
            start: grammar.tokens[at].start,
            end: grammar.tokens[hit.end - 1].end,
            from: hit.days.0,
            to: hit.days.1,
            grain: hit.grain,
            relative: hit.relative,
            confident: hit.confident,
        });
        at = hit.end;
    }
    found
}

impl Grammar {
    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// The word at `at`, `Other` for anything else.
    pub(super) fn word(&self, at: usize) -> Word {
        match self.kind(at) {
            Some(Kind::Word(word)) => word,
            _ => Word::Other,
        }
    }

    /// The word before `at`.
    pub(super) fn before(&self, at: usize) -> Word {
        at.checked_sub(1).map_or(Word::Other, |before| self.word(before))
    }

    pub(super) fn mark(&self, at: usize, mark: u8) -> bool {
        self.kind(at) == Some(Kind::Mark(mark))
    }

    pub(super) fn capital(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.capital)
    }

    fn ends_sentence(&self, at: usize) -> bool {
        matches!(self.kind(at), Some(Kind::Mark(b'.' | b'!' | b'?' | b'\n' | b';')))
    }

    /// Whether the sentence around the tokens `start..end` tells of the past or of the future: the
    /// nearest word that says so, those before the date first.
    pub(super) fn lean(&self, start: usize, end: usize) -> Lean {
        let says = |at: usize| match self.word(at) {
            Word::WillBe | Word::Tomorrow | Word::Next => Some(Lean::Future),
            Word::WasBefore | Word::Yesterday | Word::Ago => Some(Lean::Past),
            _ => None,
        };
        for at in (start.saturating_sub(LEAN_TOKENS)..start).rev() {
            if self.ends_sentence(at) {
                break;
            }
            if let Some(lean) = says(at) {
                return lean;
            }
        }
        for at in end..(end + LEAN_TOKENS).min(self.tokens.len()) {
            if self.ends_sentence(at) {
                break;
            }
            if let Some(lean) = says(at) {
                return lean;
            }
        }
        Lean::Unknown
    }

    /// Whether what is said near the tokens `start..end` returns every year.
    pub(super) fn is_yearly(&self, start: usize, end: usize) -> bool {
        (start.saturating_sub(6)..(end + 4).min(self.tokens.len()))
            .any(|at| matches!(self.word(at), Word::Birthday | Word::Every))
    }

    fn relative(&self, at: usize) -> Option<Found> {
        match self.word(at) {
            Word::Yesterday => self.whole_day(at + 1, -1),
            Word::Today | Word::Tonight => self.whole_day(at + 1, 0),
            Word::Tomorrow => self.whole_day(at + 1, 1),
            Word::The => self.after_the(at),
            Word::Unit(..) => self.around_unit(at),
            Word::Last | Word::Past | Word::Next | Word::This => self.after_determiner(at),
            Word::Weekday(weekday) => self.weekday(at, weekday),
            Word::ShortWeekday(weekday) if self.capital(at) && self.before(at) == Word::On => {
                self.weekday(at, weekday)
            }
            Word::In => self.in_quantity(at),
            _ => self.quantity_ago(at),
        }
    }

    /// A day by its distance from today, with the part of the day that may follow.
    fn whole_day(&self, end: usize, offset: i64) -> Option<Found> {
        let end = if self.word(end) == Word::DayPart { end + 1 } else { end };
        let day = calendar::add_days(self.today, offset)?;
        Some(Found::new(end, (day, day), Grain::Day))
    }

    /// "the day before yesterday", "the week before last", "the past two weeks".
    fn after_the(&self, at: usize) -> Option<Found> {
        match self.word(at + 1) {
            Word::Unit(..) => self.around_unit(at + 1),
            // "the last week" is the seven days until now, not the calendar week: no calendar unit
            // says it exactly.
            Word::Last | Word::Past | Word::Next => {
                let found = self.after_determiner(at + 1)?;
                let rolling =
                    matches!(found.grain, Grain::Week | Grain::Month | Grain::Year | Grain::Decade);
                if !rolling {
                    return Some(found.unsure());
                }
                let future = self.word(at + 1) == Word::Next;
                let Word::Unit(unit, _) = self.word(found.end - 1) else {
                    return Some(found.unsure());
                };
                self.rolling(found.end, unit, 1, future)
            }
            _ => None,
        }
    }

    /// "day before yesterday", "week before last", "month after next".
    fn around_unit(&self, at: usize) -> Option<Found> {
        let Word::Unit(unit, false) = self.word(at) else { return None };
        let offset = match (self.word(at + 1), self.word(at + 2)) {
            (Word::Before, Word::Yesterday) if unit == Unit::Day => {
                return self.whole_day(at + 3, -2);
            }
            (Word::After, Word::Tomorrow) if unit == Unit::Day => return self.whole_day(at + 3, 2),
            (Word::Before, Word::Last) => -2,
            (Word::After, Word::Next) => 2,
            _ => return None,
        };
        // "the week before last Christmas" is something else.
        if matches!(
            self.word(at + 3),
            Word::Other | Word::WasBefore | Word::And | Word::In | Word::On | Word::At
        ) {
            return self.unit(at + 3, unit, offset);
        }
        None
    }

    /// The calendar unit that is `offset` units from now.
    pub(super) fn unit(&self, end: usize, unit: Unit, offset: i64) -> Option<Found> {
        let (days, grain) = match unit {
            Unit::Week => (calendar::week(self.today, offset)?, Grain::Week),
            Unit::Weekend => (calendar::weekend(self.today, offset)?, Grain::Weekend),
            Unit::Month => (calendar::month_offset(self.today, offset)?, Grain::Month),
            Unit::Year => {
                (calendar::year(i64::from(self.today.year()).checked_add(offset)?)?, Grain::Year)
            }
            Unit::Decade => {
                let first =
                    (i64::from(self.today.year()) / 10).checked_add(offset)?.checked_mul(10)?;
                (calendar::decade(first)?, Grain::Decade)
            }
            Unit::Day => {
                let day = calendar::add_days(self.today, offset)?;
                ((day, day), Grain::Day)
            }
            Unit::Hour | Unit::Minute => return None,
        };
        Some(Found::new(end, days, grain))
    }

    /// "last Friday", "this morning", "next month", "last summer", "this past weekend", "last few
    /// weeks".
    fn after_determiner(&self, at: usize) -> Option<Found> {
        let mut determiner = self.word(at);
        let mut next = at + 1;
        if determiner == Word::This
            && matches!(self.word(next), Word::Last | Word::Past | Word::Next)
        {
            determiner = self.word(next);
            next += 1;
        }
        // "half past", "walked past Sunday school": `past` without an article or `this` means
        // nothing by itself.
        if self.word(at) == Word::Past && self.before(at) != Word::The {
            return None;
        }
        let step = match determiner {
            Word::Last | Word::Past => -1,
            Word::This => 0,
            _ => 1,
        };
        let end = next + 1;
        match self.word(next) {
            Word::Weekday(weekday) => self.determined_weekday(end, weekday, step),
            Word::ShortWeekday(weekday) if self.capital(next) => {
                self.determined_weekday(end, weekday, step)
            }
            Word::DayPart if step == -1 => self.whole_day(end, -1),
            Word::DayPart if step == 0 => self.whole_day(end, 0),
            Word::Unit(Unit::Day | Unit::Hour | Unit::Minute, _) => None,
            Word::Unit(unit, false) => {
                // "last year" as a whole; "this week", unless a weekday makes it a day: "this week
                // Friday".
                if let (Unit::Week, Word::Weekday(weekday)) = (unit, self.word(end)) {
                    let day = calendar::day_of_week(self.today, step, weekday)?;
                    return Some(Found::new(end + 1, (day, day), Grain::Day));
                }
                self.unit(end, unit, step)
            }
            Word::Season(season) => {
                let days = |year| calendar::season(year, season);
                let found = match step {
                    -1 => calendar::last(self.today, days),
                    1 => calendar::next(self.today, days),
                    _ if season == 3 => calendar::infer(self.today, Lean::Unknown, days),
                    _ => days(i64::from(self.today.year())),
                }?;
                let hit = Found::new(end, found, Grain::Season);
                // In spring, "next summer" may be the coming one or the one after.
                let near = step == 1 && found.0.year() == self.today.year();
                Some(if near || step == 0 && season == 3 { hit.unsure() } else { hit })
            }
            Word::Month(month) | Word::ShortMonth(month) if self.capital(next) || step != 0 => {
                if self.is_day_number(end) {
                    return None;
                }
                self.determined(end, step, Grain::Month, |year| calendar::month(year, month))
            }
            Word::Holiday(holiday) => {
                let end = if matches!(self.word(end), Word::Unit(Unit::Day, false)) {
                    end + 1
                } else {
                    end
                };
                if self.word(end) == Word::Eve {
                    return None;
                }
                self.determined(end, step, Grain::Day, |year| {
                    let day = calendar::holiday(year, holiday)?;
                    Some((day, day))
                })
            }
            _ if step == 0 => None,
            _ => {
                let (after, count) = self.quantity(next)?;
                let Word::Unit(unit, true) = self.word(after) else { return None };
                self.rolling(after + 1, unit, count.most, step == 1)
            }
        }
    }

    /// A month or a feast with "last", "this" or "next" before it.
    fn determined(
        &self,
        end: usize,
        step: i64,
        grain: Grain,
        days: impl Fn(i64) -> Option<Days>,
    ) -> Option<Found> {
        let found = match step {
            -1 => calendar::last(self.today, days),
            1 => calendar::next(self.today, days),
            _ => days(i64::from(self.today.year())),
        }?;
        Some(Found::new(end, found, grain))
    }

    fn determined_weekday(&self, end: usize, weekday: i8, step: i64) -> Option<Found> {
        let today = i64::from(self.today.weekday().to_monday_zero_offset());
        let (day, confident) = match step {
            -1 => (calendar::weekday_before(self.today, weekday)?, true),
            // Said before that day of the week, "next Friday" is the coming one for some and a week
            // later for others.
            1 => (calendar::weekday_after(self.today, weekday, 1)?, i64::from(weekday) <= today),
            _ => (calendar::weekday_after(self.today, weekday, 0)?, i64::from(weekday) >= today),
        };
        let found = Found::new(end, (day, day), Grain::Day);
        Some(if confident { found } else { found.unsure() })
    }

    /// "on Friday", "Friday", "Tuesday of last week".
    fn weekday(&self, at: usize, weekday: i8) -> Option<Found> {
        if matches!(self.before(at), Word::NamesDay | Word::Every) || self.mark(at + 1, b'-') {
            return None;
        }
        let of = if self.word(at + 1) == Word::Of { at + 2 } else { at + 1 };
        let step = match self.word(of) {
            Word::Last => Some(-1),
            Word::This => Some(0),
            Word::Next => Some(1),
            _ => None,
        };
        if let (Some(step), Word::Unit(Unit::Week, false)) = (step, self.word(of + 1)) {
            let day = calendar::day_of_week(self.today, step, weekday)?;
            return Some(Found::new(of + 2, (day, day), Grain::Day));
        }
        let day = match self.lean(at, at + 1) {
            Lean::Future => calendar::weekday_after(self.today, weekday, 1)?,
            Lean::Past | Lean::Unknown => calendar::weekday_before(self.today, weekday)?,
        };
        Some(Found::new(at + 1, (day, day), Grain::Day).unsure())
    }
}
