//! The meaning of dates without a year: weekdays, days of a month, months and feasts, whose year or
//! week the tense tells.

use super::calendar::{self, Days, TimeLean};
use super::grammar::NamedStep;
use super::holidays;
use super::meaning::{DateMatch, MatchPlace};
use super::mention::DateGrain;
use super::tense::DateReach;
use crate::text::Language;

/// If neither a year nor the tense of the sentence tells which year is meant, a day is certain only
/// within this many days of the day of the text.
pub(super) const NEAR_DAYS: i32 = 120;
/// Indefinite articles before a date; the English one is part of "a week in June", a plan.
const ARTICLES: [&str; 5] = ["einem", "einer", "einen", "un", "one"];
/// Titles before the name of a person.
const TITLES: [&str; 9] = ["Frau", "Herr", "Herrn", "Familie", "Mr", "Mrs", "Ms", "Miss", "Dr"];

impl MatchPlace<'_, '_> {
    /// The weekday before a number or after the date: "Saturday 21 March", "21 March (Sat)".
    pub(super) fn weekday_beside(&self) -> Option<i8> {
        let is_mark = |c: char| !c.is_alphabetic();
        let words = self.text[self.start..self.end].split(is_mark);
        let mut words = words.filter(|word| !word.is_empty()).take(3);
        let named = |word: &str| {
            let weekdays = &self.patterns.weekdays;
            let short = || self.patterns.short_weekdays.find(word);
            let is_short = || word.starts_with(char::is_uppercase);
            weekdays.find(&word.to_lowercase()).or_else(|| is_short().then(short)?)
        };
        words.find_map(named).or_else(|| {
            let after = self.text[self.end..].strip_prefix([',', ' ']);
            let after = after?.trim_start_matches([' ', '(', ',']);
            named(after.split(is_mark).next()?)
        })
    }

    /// Whether the sentence continues after the match in a way that a name would not.
    pub(super) fn ends_here(&self) -> bool {
        self.patterns.goes_on.is_match(&self.text[self.end..])
    }

    /// True if the words name a part of a month.
    pub(super) fn is_part(&self) -> bool {
        self.group("part").is_some()
    }

    /// True if a day follows a month: "through April 10".
    pub(super) fn precedes_day(&self) -> bool {
        let is_month = self.group("mon").is_some() && self.group("d").is_none();
        is_month && matches!(self.digits_after(&[' ']), 1 | 2)
    }

    /// Number of digits after the match and `marks`.
    pub(super) fn digits_after(&self, marks: &[char]) -> usize {
        let after = self.text[self.end..].trim_start_matches(marks);
        after.bytes().take_while(u8::is_ascii_digit).count()
    }

    /// An annual date in the year given by its number, by a word such as "last", or by the tense.
    pub(super) fn stepped(
        &self,
        step: NamedStep,
        grain: DateGrain,
        days: impl Fn(i64) -> Option<Days>,
    ) -> Option<DateMatch> {
        if let Some(year) = self.number::<i64>("y") {
            return Some(DateMatch::absolute(days(year)?, grain));
        }
        if self.group("y").is_none() && self.precedes_day() {
            return None;
        }
        let lean = match step {
            NamedStep::Tense => self.lean(),
            _ => TimeLean::Unknown,
        };
        let found = match step {
            NamedStep::BeforeLast => {
                let (last, _) = calendar::last(self.today, &days)?;
                calendar::last(last, &days)
            }
            NamedStep::Last => calendar::last(self.today, &days),
            NamedStep::Next | NamedStep::NextOrLater => calendar::next(self.today, &days),
            NamedStep::This => days(i64::from(self.today.year())),
            NamedStep::Tense => calendar::infer(self.today, lean, &days),
        }?;
        let is_general = || {
            // "En agosto hace calor", but a part of a month is of one year: "Ende März".
            matches!(grain, DateGrain::Month | DateGrain::Season)
                && !self.is_part()
                && self.patterns.tense.is_general(self.text, self.start..self.end)
        };
        let sure = step != NamedStep::Tense
            || self.tells_year(found, lean, &days)
                && !self.is_yearly()
                && !self.is_one_of_many()
                && !is_general()
                && self.digits_after(&[',', ' ', '(']) != 4;
        let found =
            DateMatch { lacks_year: step == NamedStep::Tense, ..DateMatch::new(found, grain) };
        Some(found.sure(sure))
    }

    /// True if an article before the date leaves open which year is meant: "on a day in May".
    fn is_one_of_many(&self) -> bool {
        let before = self.text[..self.start].trim_end();
        let word = before.rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        ARTICLES.contains(&word)
    }

    /// True if the tense leaves no doubt about the year of an annual date.
    fn tells_year(&self, found: Days, lean: TimeLean, days: impl Fn(i64) -> Option<Days>) -> bool {
        let is_day = self.group("d").is_some();
        match lean {
            // Such a form is of the past as well: "compramos la casa el 19 de marzo".
            TimeLean::Unknown
                if self.patterns.tense.may_be_past(self.text, self.start..self.end) =>
            {
                is_day && calendar::days_between(self.today, found.0).abs() <= NEAR_DAYS
            }
            TimeLean::Unknown => {
                // A day that has passed needs a past tense: a wedding on 8 June may be next year's.
                let ahead = calendar::days_between(self.today, found.0);
                is_day && found.1 >= self.today && ahead <= NEAR_DAYS
            }
            _ if calendar::infer(self.today, TimeLean::Unknown, &days) == Some(found) => true,
            // A year that is not the nearest needs a clear tense.
            _ => {
                self.clear_lean(DateReach::Year) == lean
                    && !(is_day && calendar::is_doubtful(self.today, found, &days))
            }
        }
    }

    pub(super) fn weekday(&self, step: NamedStep) -> Option<DateMatch> {
        let weekday = self.named_weekday()?;
        let of_today = self.today.weekday().to_monday_zero_offset();
        let lean = match step {
            NamedStep::Tense | NamedStep::This => self.clear_lean(DateReach::Week),
            _ => TimeLean::Unknown,
        };
        let past = step == NamedStep::Last || step == NamedStep::Tense && lean != TimeLean::Future;
        let day = if past {
            calendar::weekday_before(self.today, weekday)?
        } else {
            calendar::weekday_after(self.today, weekday, i8::from(step != NamedStep::This))?
        };
        let sure = match step {
            NamedStep::Tense => {
                // "On Monday", said on a Monday, may be today in every tense.
                lean != TimeLean::Unknown
                    && weekday != of_today
                    && !self.is_habit()
                    && self.is_one_weekday()
            }
            NamedStep::This => weekday > of_today && lean != TimeLean::Past,
            NamedStep::NextOrLater => weekday <= of_today,
            NamedStep::BeforeLast | NamedStep::Last | NamedStep::Next => true,
        };
        Some(DateMatch { weekday: true, ..DateMatch::day(day) }.sure(sure))
    }

    /// True if "Friday week" may be in the past, or be two things: "on Friday week 3 begins".
    pub(super) fn is_other_week(&self) -> bool {
        let surface = self.text[self.start..self.end].to_lowercase();
        let next = self.text[self.end..].trim_start();
        let next = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_number = next.starts_with(|c: char| c.is_ascii_digit())
            || self.patterns.numbers.find(next).is_some_and(|number| number > 1);
        [" week", " fortnight"].iter().any(|word| surface.ends_with(word))
            && (is_number || next == "ago" || self.clear_lean(DateReach::Week) == TimeLean::Past)
    }

    /// True if a weekday is not one of several and not part of a name: "Monday to Friday", "Friday
    /// scan".
    pub(super) fn is_one_weekday(&self) -> bool {
        let (before, after) = (&self.text[..self.start], &self.text[self.end..]);
        let first = self.text[self.start..self.end].split(' ').next().unwrap_or_default();
        let is_bare = self.patterns.weekdays.find(&first.to_lowercase()).is_some();
        !self.patterns.listed_before.is_match(before)
            && !self.patterns.listed_after.is_match(after)
            && !ends_in_title(before)
            && !(self.patterns.language == Language::English
                && (after.starts_with(['\'', '’'])
                    || is_bare
                        && (!self.ends_here() || ends_in_name(before) || is_compared(before))))
    }

    /// The ordinal of a weekday or week in its month; the last is -1.
    pub(super) fn nth(&self) -> Option<i8> {
        self.patterns.ordinals.find(self.group("nth")?)
    }

    /// The nth week of a month (from day 1, 8, 15 or 22; the last week: its last seven days), or
    /// its nth weekend.
    pub(super) fn span_of_month(&self) -> Option<DateMatch> {
        let (nth, month) = (self.nth()?, self.month("mon")?);
        let weekend = self.group("span")?.eq_ignore_ascii_case("weekend");
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            if weekend {
                let saturday = calendar::nth_weekday(year, month, nth, 5)?;
                return Some((saturday, calendar::add_days(saturday, 1)?));
            }
            let (first, last) = calendar::month(year, month)?;
            let from = match nth {
                -1 => calendar::add_days(last, -6)?,
                nth => calendar::add_days(first, 7 * i64::from(nth - 1))?,
            };
            Some((from, calendar::add_days(from, 6)?))
        })?;
        Some(DateMatch { lacks_year: false, absolute: false, ..found })
    }

    pub(super) fn nth_weekday(&self) -> Option<DateMatch> {
        let (nth, month, weekday) = (self.nth()?, self.month("mon")?, self.named_weekday()?);
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            calendar::nth_weekday(year, month, nth, weekday).map(|day| (day, day))
        })?;
        // The words do not state the day, so the output adds it.
        Some(DateMatch { lacks_year: false, absolute: false, ..found })
    }

    pub(super) fn feast(&self, step: NamedStep) -> Option<DateMatch> {
        let feast = self.patterns.feasts.find(self.group("feast")?)?;
        // The rest of a longer name has a capital letter in German.
        let is_followed = self.patterns.language == Language::German
            && self.text[self.end..]
                .strip_prefix(' ')
                .is_some_and(|next| next.starts_with(char::is_lowercase));
        if !self.ends_here() && !is_followed {
            return None;
        }
        let found = self.stepped(step, DateGrain::Day, |year| {
            holidays::holiday(year, feast).map(|day| (day, day))
        })?;
        Some(DateMatch { lacks_year: false, ..found })
    }

    /// One day, or a range of days, possibly into the next month.
    pub(super) fn date(&self) -> Option<DateMatch> {
        let month = self.month("mon").or_else(|| self.number("m"))?;
        let first = self.day_number("d")?;
        let last = if self.group("d2").is_some() { self.day_number("d2")? } else { first };
        let last_month = match self.group("mon2") {
            Some(_) => self.month("mon2")?,
            None => self.number("m2").unwrap_or(month),
        };
        if let Some(found) = self.date_on_weekday(month, first, last) {
            return Some(found);
        }
        let found = self.stepped(NamedStep::Tense, DateGrain::Day, |year| {
            let to_year = year + i64::from(last_month < month);
            let days =
                (calendar::date(year, month, first)?, calendar::date(to_year, last_month, last)?);
            (days.0 <= days.1).then_some(days)
        })?;
        // A year after "2.4." would not be read as a part of the date.
        let lacks_year = found.lacks_year && self.group("mon").is_some();
        Some(DateMatch { lacks_year, ..found })
    }

    /// A date without a year that names its weekday, which tells the year. If the date has this
    /// weekday in no year near that of the text, one of the two is a mistake.
    pub(super) fn date_on_weekday(&self, month: i8, day: i8, last: i8) -> Option<DateMatch> {
        if day != last || self.group("y").is_some() {
            return None;
        }
        let weekday = self.weekday_beside()?;
        let days = |year| calendar::date(year, month, day).map(|day| (day, day));
        let nearest = calendar::infer(self.today, TimeLean::Unknown, days)?.0;
        let date = calendar::day_on_weekday(self.today, weekday, days).unwrap_or(nearest);
        let agrees = || match self.clear_lean(DateReach::Year) {
            TimeLean::Past => date <= self.today,
            TimeLean::Future => date >= self.today,
            TimeLean::Unknown => false,
        };
        let fits = date.weekday().to_monday_zero_offset() == weekday;
        let sure = fits && (date == nearest || agrees());
        Some(DateMatch { lacks_year: true, ..DateMatch::day(date) }.sure(sure))
    }

    /// "Between May and July 2022". A range across the new year ends in the year that is named.
    pub(super) fn months(&self) -> Option<DateMatch> {
        let (first, last) = (self.month("mon")?, self.month("mon2")?);
        let days = |year: i64| {
            let from = year - i64::from(last < first);
            Some((calendar::month(from, first)?.0, calendar::month(year, last)?.1))
        };
        match (self.number::<i64>("y"), self.number::<i64>("y2")) {
            (Some(from), Some(to)) => {
                let days = (calendar::month(from, first)?.0, calendar::month(to, last)?.1);
                (days.0 <= days.1).then(|| DateMatch::absolute(days, DateGrain::Month))
            }
            (Some(from), None) => {
                let to = from + i64::from(last < first);
                Some(DateMatch::absolute(days(to)?, DateGrain::Month))
            }
            (None, Some(to)) => Some(DateMatch::absolute(days(to)?, DateGrain::Month)),
            (None, None) => {
                let lean = self.clear_lean(DateReach::Year);
                let found = calendar::infer(self.today, lean, days)?;
                let sure = lean != TimeLean::Unknown && !self.is_habit();
                Some(DateMatch::new(found, DateGrain::Month).sure(sure))
            }
        }
    }

    /// A bare day of the month: the nearest one that matches the tense, which decides the month.
    pub(super) fn day_of_month(&self) -> Option<DateMatch> {
        let day = self.day_number("d")?;
        if let Some(step) = self.group("step") {
            let offset = match step.to_lowercase().as_str() {
                "last" => -1,
                "next" => 1,
                _ => 0,
            };
            let (first, _) = calendar::month_offset(self.today, offset)?;
            return calendar::date(first.year().into(), first.month(), day).map(DateMatch::day);
        }
        if !self.ends_here() {
            return None;
        }
        let (lean, weekday) = (self.clear_lean(DateReach::Year), self.named_weekday());
        let (found, is_clear) = calendar::day_and_weekday(self.today, lean, day, weekday)?;
        // "Different from the first" counts things.
        let is_number =
            self.group("d").is_some_and(|day| day.starts_with(|c: char| c.is_ascii_digit()));
        // "From the 28th to New Year": the other end tells the month.
        let is_range = self.patterns.range_goes_on.is_match(&self.text[self.end..]);
        let sure = is_clear && is_number && !is_range && !self.is_habit();
        Some(DateMatch { lacks_month: weekday.is_none(), ..DateMatch::day(found) }.sure(sure))
    }
}

/// True if `before` ends in a name that a weekday may belong to: "Man", "Ruby", "Sheffield".
fn ends_in_name(before: &str) -> bool {
    let Some(before) = before.strip_suffix(' ') else { return false };
    let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
}

/// True if `before` ends in the title of a person: "Frau Sonntag".
fn ends_in_title(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    TITLES.contains(&word)
}

/// True if `before` ends in a word after which a weekday is a kind of day: "a default of Sunday".
fn is_compared(before: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    ["of", "as", "than", "like"].into_iter().any(|kind| word.eq_ignore_ascii_case(kind))
}
