//! Two mentions side by side that are one expression: "Tuesday the week after next", "am 15.
//! nächsten Monats", "a year ago tomorrow", 去年的今天. They get one date, or none.

use jiff::civil::Date;

use super::calendar;
use super::mention::{DateGrain, NamedDates, TimeMention};
use super::patterns;
use crate::text::Language;

/// What may stand between the two.
const LINKS: [&str; 22] = [
    "", "am", "on", "of", "of the", "the", "in the", "in", "der", "des", "den", "dem", "in der",
    "vom", "de", "de la", "del", "el", "le", "la", "du", "的",
];
/// Words of a count from today, next to a day that it counts from: "vor einem Jahr", 三年前.
const COUNTS: [&str; 11] =
    [" ago", " back", "vor ", "in ", "hace ", "il y a", "dans ", "dentro", "前", "后", "後"];
/// A day that a word of its own names is at most this far from today: "vorgestern".
const NAMED_DAYS: i32 = 4;

/// What two neighbours are together.
pub(super) enum Joined {
    One(TimeMention),
    /// Which of the two stay certain.
    Sure(bool, bool),
}

/// What a mention gives to an expression of two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Weekday(i8),
    /// "The 15th".
    Number(i8),
    /// "Yesterday": a day near today.
    Day,
    /// Any other day, season or weekend; with true, a weekday such as "last Friday".
    Other(bool),
    /// "Next week", "next weekend", "next month", "next year".
    Span(DateGrain),
    /// "Three weeks ago": so many days away.
    Weeks(i32),
}

/// Two mentions of one language, one after the other.
pub(super) struct Neighbours<'t> {
    pub text: &'t str,
    pub today: Date,
    pub first: &'t TimeMention,
    pub second: &'t TimeMention,
}

impl Neighbours<'_> {
    /// What the two mean together; `None` if each stands for itself.
    pub(super) fn together(&self) -> Option<Joined> {
        let (first, second) = (self.first, self.second);
        if !first.relative || !second.relative || first.language != second.language {
            return None;
        }
        let gap = &self.text[first.end..second.start];
        let link = gap.trim_matches(' ').to_lowercase();
        let roles = [self.role(first), self.role(second)];
        if roles.contains(&Role::Day) && roles.iter().any(|role| matches!(role, Role::Weekday(_))) {
            return self.day_on_weekday(&link, roles[0] == Role::Day);
        }
        if !LINKS.contains(&link.as_str()) {
            return None;
        }
        let is_span = |role: Role| matches!(role, Role::Span(_) | Role::Weeks(_));
        match [is_span(roles[0]), is_span(roles[1])] {
            // Chinese names the larger one first.
            [false, true] if first.language != Language::Chinese => {
                self.placed(first, roles[0], second, roles[1])
            }
            [true, false] => {
                let found = self.placed(second, roles[1], first, roles[0])?;
                Some(match found {
                    Joined::Sure(second, first) => Joined::Sure(first, second),
                    one => one,
                })
            }
            _ => None,
        }
    }

    fn words(&self, mention: &TimeMention) -> String {
        self.text[mention.start..mention.end].to_lowercase()
    }

    fn role(&self, mention: &TimeMention) -> Role {
        let words = self.words(mention);
        let weekday = mention.from.weekday().to_monday_zero_offset();
        match (mention.naming, mention.grain) {
            _ if mention.about.is_some() => {
                let about = mention.about.unwrap_or(self.today);
                Role::Weeks(calendar::days_between(self.today, about))
            }
            (NamedDates::Weekday, _) if self.is_stepped(&words, mention.language) => {
                Role::Other(true)
            }
            (NamedDates::Weekday, _) => Role::Weekday(weekday),
            (NamedDates::NoMonth, _) => Role::Number(mention.from.day()),
            (NamedDates::Nothing, DateGrain::Day) => {
                let away = calendar::days_between(self.today, mention.from).abs();
                let is_day = mention.from == mention.to && away <= NAMED_DAYS;
                if is_day { Role::Day } else { Role::Other(false) }
            }
            (NamedDates::Nothing, DateGrain::Season | DateGrain::Decade) => Role::Other(false),
            (NamedDates::Nothing, grain) => Role::Span(grain),
            _ => Role::Other(false),
        }
    }

    /// Whether a weekday counts from today by its own words: "last Friday", 下周五.
    fn is_stepped(&self, words: &str, language: Language) -> bool {
        match language {
            Language::Chinese => words.starts_with(['上', '下', '这', '這', '本']),
            language => patterns::of(language).steps.is_match(words),
        }
    }

    /// `fine` within, or counted by, `coarse`; the flags of `Sure` are in this order.
    fn placed(
        &self,
        fine: &TimeMention,
        role: Role,
        coarse: &TimeMention,
        within: Role,
    ) -> Option<Joined> {
        let day = match (role, within) {
            (Role::Weekday(_), Role::Span(DateGrain::Week)) if self.is_listed(fine) => None,
            (Role::Weekday(weekday), Role::Span(DateGrain::Week)) => {
                calendar::add_days(coarse.from, i64::from(weekday))
            }
            (Role::Weekday(weekday), Role::Weeks(days)) => {
                return match self.weeks_from(weekday, coarse, days) {
                    Some(day) => Some(self.one(fine, day, true)),
                    None => Some(Joined::Sure(false, false)),
                };
            }
            (Role::Other(true), Role::Weeks(_)) => return Some(Joined::Sure(false, false)),
            (Role::Weekday(_) | Role::Number(_), Role::Span(DateGrain::Year)) => None,
            (Role::Weekday(_), Role::Span(DateGrain::Month)) => None,
            (Role::Weekday(_) | Role::Number(_), Role::Span(_)) => days_of(coarse)
                .find(|day| role == Role::Number(day.day()) || role == weekday_of(*day)),
            (Role::Day, _) => match self.counted(fine, coarse, within)? {
                Some(day) => return Some(self.one(fine, day, true)),
                None => None,
            },
            // "At Christmas two years ago".
            (Role::Other(_), _) if coarse.from <= fine.from && fine.to <= coarse.to => return None,
            _ => None,
        };
        Some(match day {
            Some(day) => self.one(fine, day, coarse.confident),
            None => Joined::Sure(false, coarse.confident),
        })
    }

    /// The two as one mention of `day`.
    fn one(&self, fine: &TimeMention, day: Date, confident: bool) -> Joined {
        Joined::One(TimeMention {
            start: self.first.start,
            end: self.second.end,
            from: day,
            to: day,
            grain: DateGrain::Day,
            naming: NamedDates::Nothing,
            about: None,
            confident,
            ..*fine
        })
    }

    /// "Saturday two weeks ago", if it is the same day counted from the nearest Saturday and in the
    /// week two weeks ago.
    fn weeks_from(&self, weekday: i8, coarse: &TimeMention, days: i32) -> Option<Date> {
        let nearest = if self.today.weekday().to_monday_zero_offset() == weekday {
            self.today
        } else if days < 0 {
            calendar::weekday_before(self.today, weekday)?
        } else {
            calendar::weekday_after(self.today, weekday, 1)?
        };
        let counted = calendar::add_days(nearest, i64::from(days))?;
        (calendar::add_days(coarse.from, i64::from(weekday)) == Some(counted)).then_some(counted)
    }

    /// A day counted from one near today: "gestern vor einem Jahr". `None` if the two are apart,
    /// `Some(None)` if only the day is in doubt.
    fn counted(
        &self,
        fine: &TimeMention,
        coarse: &TimeMention,
        within: Role,
    ) -> Option<Option<Date>> {
        let words = self.words(coarse);
        let is_count = COUNTS.iter().any(|word| words.contains(word)) || words.starts_with("en ");
        let is_past = coarse.to < self.today;
        match fine.language {
            // "He told me yesterday two weeks ago they left."
            Language::English if fine.start < coarse.start => return is_count.then_some(None),
            Language::Spanish | Language::French if fine.start < coarse.start && !is_past => {
                return is_count.then_some(None);
            }
            // 去年的昨天, but 下周明天再说.
            Language::Chinese
                if coarse.end == fine.start && !self.words(fine).starts_with('今') =>
            {
                return None;
            }
            Language::Chinese => {}
            _ if !is_count => return None,
            _ => {}
        }
        let days = match within {
            Role::Weeks(days) => return Some(calendar::add_days(fine.from, i64::from(days))),
            Role::Span(DateGrain::Week) => {
                let (monday, _) = calendar::week(self.today, 0)?;
                let days = calendar::days_between(monday, coarse.from);
                return Some(calendar::add_days(fine.from, i64::from(days)));
            }
            Role::Span(DateGrain::Month | DateGrain::Year) => coarse.from,
            _ => return None,
        };
        let years = i64::from(days.year()) - i64::from(self.today.year());
        let months = match coarse.grain {
            DateGrain::Month => i64::from(days.month()) - i64::from(self.today.month()),
            _ => 0,
        };
        Some(calendar::months_away(fine.from, 12 * years + months))
    }

    /// "Tomorrow, Thursday": one day, or a weekday that contradicts it.
    fn day_on_weekday(&self, link: &str, day_first: bool) -> Option<Joined> {
        let (day, weekday) =
            if day_first { (self.first, self.second) } else { (self.second, self.first) };
        let words = self.words(weekday);
        let (opening, _) = words.split_once(' ').unwrap_or((&words, ""));
        let is_bare = weekday.language == Language::Chinese
            || patterns::of(weekday.language).weekdays.find(opening).is_some()
            || ["am", "on", "el", "le"].contains(&opening);
        if !is_bare || !["", ",", "，"].contains(&link) || self.is_listed(weekday) {
            return None;
        }
        if day.from.weekday() == weekday.from.weekday() {
            return Some(self.one(day, day.from, day.confident));
        }
        // The name of the day is the surer word.
        link.is_empty().then_some(Joined::Sure(day_first, !day_first))
    }

    /// Whether a weekday is one of several: "Monday or Tuesday of the week after next".
    fn is_listed(&self, weekday: &TimeMention) -> bool {
        let patterns = patterns::of(weekday.language);
        patterns.listed_before.is_match(&self.text[..weekday.start])
            || patterns.listed_after.is_match(&self.text[weekday.end..])
    }
}

fn weekday_of(day: Date) -> Role {
    Role::Weekday(day.weekday().to_monday_zero_offset())
}

/// The days of a mention of at most a month.
fn days_of(mention: &TimeMention) -> impl Iterator<Item = Date> + use<> {
    let (from, to) = (mention.from, mention.to);
    (0..31).filter_map(move |days| calendar::add_days(from, days)).take_while(move |day| *day <= to)
}
