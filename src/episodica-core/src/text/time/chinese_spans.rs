//! Counted units in Chinese: 三天前, 最近两周, 再过一周, 年底, 前几天.

use super::calendar::{self, CalendarUnit, TimeLean};
use super::chinese::{ChineseMatch, ChinesePosition};
use super::chinese_numbers::{is_digit, number};
use super::mention::DateGrain;
use super::tense;
use crate::text::is_cjk;

impl ChinesePosition<'_> {
    /// 前几天, 前两天: intentionally vague.
    pub(super) fn few_days(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let word = ["前几天", "前幾天", "前两天", "前兩天", "前些天"]
            .into_iter()
            .find(|word| rest.starts_with(word))?;
        let days = (calendar::add_days(self.today, -6)?, calendar::add_days(self.today, -1)?);
        Some(ChineseMatch::new(word.len(), days, DateGrain::Day).unsure())
    }

    /// 最近三天, 过去两周, 近一个月: the days until today.
    pub(super) fn rolling(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let word =
            ["过去", "過去", "最近", "近"].into_iter().find(|word| rest.starts_with(word))?;
        let tail = &rest[word.len()..];
        let tail = tail.strip_prefix('的').unwrap_or(tail);
        let (count, after) = if let Some(after) = tail.strip_prefix(['几', '幾']) {
            (5, after)
        } else {
            let (number, after) = number(tail)?;
            (number.value, after)
        };
        let (unit, after) = unit(after)?;
        let from = match unit {
            CalendarUnit::Day => calendar::add_days(self.today, -count)?,
            CalendarUnit::Week => calendar::add_days(self.today, count.checked_mul(-7)?)?,
            CalendarUnit::Month | CalendarUnit::Year => {
                let months =
                    if unit == CalendarUnit::Year { count.checked_mul(12)? } else { count };
                let (first, last) = calendar::month_offset(self.today, months.checked_neg()?)?;
                calendar::date(
                    i64::from(first.year()),
                    first.month(),
                    self.today.day().min(last.day()),
                )?
            }
            _ => return None,
        };
        Some(
            ChineseMatch::new(rest.len() - after.len(), (from, self.today), DateGrain::Day)
                .unsure(),
        )
    }

    /// 再过三天: in the future.
    pub(super) fn hence(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let tail = rest.strip_prefix("再过").or_else(|| rest.strip_prefix("再過"))?;
        let (count, after) = number(tail)?;
        let (unit, after) = unit(after)?;
        let (days, grain) = calendar::unit(self.today, unit, count.value)?;
        let about = match unit {
            CalendarUnit::Week => {
                Some(calendar::add_days(self.today, count.value.checked_mul(7)?)?)
            }
            _ => None,
        };
        Some(ChineseMatch { about, ..ChineseMatch::new(rest.len() - after.len(), days, grain) })
    }

    /// 年底, 月初: the year or month follows from the tense.
    pub(super) fn part_of_unit(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (unit, parts) = match rest.strip_prefix('年') {
            Some(tail) => (CalendarUnit::Year, tail),
            None => (CalendarUnit::Month, rest.strip_prefix('月')?),
        };
        let part = ['底', '末', '初', '中'].into_iter().find(|part| parts.starts_with(*part))?;
        // After these characters the word is part of another date or word.
        let joined =
            |c: char| is_digit(c) || "每个個去今明前后後上下本这這岁歲半正腊臘大".contains(c);
        if self.before.is_some_and(joined) {
            return None;
        }
        let length = '年'.len_utf8() + part.len_utf8();
        let late = matches!(part, '底' | '末');
        let offset = match (self.lean(length), late) {
            (TimeLean::Past, true) => -1,
            (TimeLean::Future, false) if part == '初' => 1,
            _ => 0,
        };
        let (days, grain) = calendar::unit(self.today, unit, offset)?;
        Some(ChineseMatch::new(length, days, grain))
    }

    /// 三天前, 两个月后, 半年前, 几年前.
    pub(super) fn counted(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        if self.follows("第") {
            return None;
        }
        let (amount, after) = Amount::read(rest)?;
        let Amount { least, most, exact, half } = amount;
        let (unit, after) = unit(after)?;
        let (exact, after) = match after.strip_prefix('多') {
            Some(after) => (false, after),
            None => (exact, after),
        };
        let (direction, after) = direction_of(after)?;
        // 2021年前 means before the year 2021, not 2,021 years ago.
        if unit == CalendarUnit::Year && least >= 1000 {
            return None;
        }
        let length = rest.len() - after.len();
        // 明天起十天后 counts from tomorrow.
        let before = &self.text[..self.start];
        let is_from = ["起", "开始", "開始"].iter().any(|word| before.ends_with(word));
        let clear = !is_from && (direction > 0 || self.is_ago(length));
        if half {
            let hit = self.half(unit, direction, length)?;
            return Some(if clear { hit } else { hit.unsure() });
        }
        let (near, grain) = calendar::unit(self.today, unit, direction.checked_mul(least)?)?;
        let (far, _) = calendar::unit(self.today, unit, direction.checked_mul(most)?)?;
        let days = (near.0.min(far.0), near.1.max(far.1));
        let grain = if days == near || matches!(grain, DateGrain::Month | DateGrain::Year) {
            grain
        } else {
            DateGrain::Day
        };
        let about = if unit == CalendarUnit::Week && least == most {
            Some(calendar::add_days(self.today, direction.checked_mul(least.checked_mul(7)?)?)?)
        } else {
            None
        };
        let hit = ChineseMatch { about, ..ChineseMatch::new(length, days, grain) };
        // 两年多前 is too vague for a date in the text.
        Some(if clear && (exact || most > least) { hit } else { hit.unsure() })
    }

    /// Half a year or month before or after today.
    fn half(&self, unit: CalendarUnit, direction: i64, length: usize) -> Option<ChineseMatch> {
        let (part, count) = match unit {
            CalendarUnit::Year => (CalendarUnit::Month, 6),
            CalendarUnit::Month => (CalendarUnit::Day, 15),
            _ => return None,
        };
        let (days, grain) = calendar::unit(self.today, part, direction * count)?;
        let about = (unit == CalendarUnit::Month).then_some(days.0);
        Some(ChineseMatch { about, ..ChineseMatch::new(length, days, grain) })
    }

    /// True if 三天前 counts from today, not from an event: 出发三天前, 3日前から.
    fn is_ago(&self, length: usize) -> bool {
        let clause = tense::CHINESE.clause(self.text, self.start..self.start + length);
        let after = &self.text[self.start + length..clause.end];
        let has_kana = |text: &str| text.contains(|c| ('\u{3041}'..='\u{30FF}').contains(&c));
        if has_kana(&self.text[clause]) {
            let is_limit = ["から", "より", "まで"].iter().any(|word| after.starts_with(word));
            return !is_limit && (after.contains('た') || after.contains('だ'));
        }
        let is_subject =
            |c: char| "我你您他她它们們人家在于於从從是就约約大概早才还還都已刚剛跟和".contains(c);
        let after_noun = self.before.is_some_and(|c| is_cjk(c) && !is_subject(c));
        !after_noun || self.clear_lean(length) == TimeLean::Past
    }
}

/// A unit of time at the beginning of `text`, and the rest.
fn unit(text: &str) -> Option<(CalendarUnit, &str)> {
    let (counted, text) = match text.strip_prefix(['个', '個']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (word, unit) = [
        ("天", CalendarUnit::Day),
        ("日", CalendarUnit::Day),
        ("周", CalendarUnit::Week),
        ("週", CalendarUnit::Week),
        ("星期", CalendarUnit::Week),
        ("礼拜", CalendarUnit::Week),
        ("禮拜", CalendarUnit::Week),
        ("月", CalendarUnit::Month),
        ("年", CalendarUnit::Year),
    ]
    .into_iter()
    .find(|(word, _)| text.starts_with(word))?;
    // Months are counted with 个: 三月 is March.
    (counted || unit != CalendarUnit::Month).then(|| (unit, &text[word.len()..]))
}

/// A number of units: 三, 两三, 几, 半.
struct Amount {
    least: i64,
    most: i64,
    exact: bool,
    half: bool,
}

impl Amount {
    /// The amount at the beginning of a text, and the text after it.
    fn read(rest: &str) -> Option<(Self, &str)> {
        if let Some(after) = rest.strip_prefix('半') {
            return Some((Self { least: 1, most: 1, exact: false, half: true }, after));
        }
        if let Some(after) = rest.strip_prefix(['几', '幾', '数']) {
            return Some((Self { least: 2, most: 4, exact: false, half: false }, after));
        }
        let (number, after) = number(rest)?;
        let open = after.strip_prefix(['多', '几', '幾', '来']);
        // 两三年 is two or three years.
        let pair = number.numerals && number.digits == 2;
        let (least, most) = if pair {
            (number.value / 10, number.value % 10)
        } else {
            (number.value, number.value)
        };
        let exact = open.is_none() && !pair;
        Some((Self { least, most, exact, half: false }, open.unwrap_or(after)))
    }
}

/// -1 for a word such as 之前, 1 for one such as 以后, and the text after it.
fn direction_of(after: &str) -> Option<(i64, &str)> {
    [
        ("之前", -1),
        ("以前", -1),
        ("前", -1),
        ("之后", 1),
        ("之後", 1),
        ("以后", 1),
        ("以後", 1),
        ("后", 1),
        ("後", 1),
    ]
    .into_iter()
    .find_map(|(word, direction)| Some((direction, after.strip_prefix(word)?)))
}
