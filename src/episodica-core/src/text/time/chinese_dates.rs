//! Chinese dates by name and number: 2023年5月3日, 五月三号, 国庆节, 夏天 after a year, and ranges
//! of dates.

use super::annual::NEAR_DAYS;
use super::calendar::{self, TimeLean};
use super::chinese::{ChineseMatch, ChinesePosition, part_of_month, week_word, weekday_char};
use super::chinese_numbers::{day_of_month, is_digit, number};
use super::holidays::{self, Holiday};
use super::lunar::LunarFeast;
use super::mention::DateGrain;
use super::tense;

const HOLIDAYS: &[(&str, Holiday)] = &[
    ("元旦", Holiday::Fixed(1, 1)),
    ("情人节", Holiday::Fixed(2, 14)),
    ("妇女节", Holiday::Fixed(3, 8)),
    ("愚人节", Holiday::Fixed(4, 1)),
    ("劳动节", Holiday::Fixed(5, 1)),
    ("五一节", Holiday::Fixed(5, 1)),
    ("五一假期", Holiday::Fixed(5, 1)),
    ("五一", Holiday::Fixed(5, 1)),
    ("儿童节", Holiday::Fixed(6, 1)),
    ("教师节", Holiday::Fixed(9, 10)),
    ("国庆节", Holiday::Fixed(10, 1)),
    ("國慶節", Holiday::Fixed(10, 1)),
    ("国庆", Holiday::Fixed(10, 1)),
    ("國慶", Holiday::Fixed(10, 1)),
    ("万圣节", Holiday::Fixed(10, 31)),
    ("双十一", Holiday::Fixed(11, 11)),
    ("平安夜", Holiday::Fixed(12, 24)),
    ("圣诞节", Holiday::Fixed(12, 25)),
    ("聖誕節", Holiday::Fixed(12, 25)),
    ("圣诞", Holiday::Fixed(12, 25)),
    ("聖誕", Holiday::Fixed(12, 25)),
    ("跨年夜", Holiday::Fixed(12, 31)),
    ("除夕", Holiday::Lunar(LunarFeast::NewYear(-1))),
    ("大年三十", Holiday::Lunar(LunarFeast::NewYear(-1))),
    ("大年初一", Holiday::Lunar(LunarFeast::NewYear(0))),
    ("春节", Holiday::Lunar(LunarFeast::NewYear(0))),
    ("春節", Holiday::Lunar(LunarFeast::NewYear(0))),
    ("元宵", Holiday::Lunar(LunarFeast::NewYear(14))),
    ("端午", Holiday::Lunar(LunarFeast::DragonBoat)),
    ("中秋", Holiday::Lunar(LunarFeast::MidAutumn)),
];

/// Words of a clause about what a month is like.
const GENERAL: [&str; 9] = ["最", "总", "總", "一般", "通常", "很", "太", "特别", "得"];

/// Words that make a date recur every year, or that of another calendar.
const YEARLY: [&str; 7] = ["生日", "每年", "纪念日", "紀念日", "农历", "農曆", "阴历"];

impl ChinesePosition<'_> {
    /// The date after a year of `length` bytes: a month, a day, a season, a feast, or the year
    /// alone.
    pub(super) fn in_year(&self, length: usize, year: i64) -> Option<ChineseMatch> {
        let tail = &self.rest()[length..];
        let (skipped, tail) = match tail.strip_prefix('的') {
            Some(tail) => ('的'.len_utf8(), tail),
            None => (0, tail),
        };
        if let Some(hit) = self.month_day(tail, Some(year)) {
            return Some(ChineseMatch { length: length + skipped + hit.length, ..hit });
        }
        for (at, name) in ["春", "夏", "秋", "冬"].into_iter().enumerate() {
            let Some(after) = tail.strip_prefix(name) else { continue };
            if let Some(kind) = ["天", "季"].into_iter().find(|kind| after.starts_with(kind)) {
                let days = calendar::season(year, at as i8)?;
                let hit = ChineseMatch::new(
                    length + skipped + name.len() + kind.len(),
                    days,
                    DateGrain::Season,
                );
                // Some speakers mean the winter at the start of the year, others the one at its
                // end.
                return Some(if at == 3 { hit.unsure() } else { hit });
            }
        }
        if let Some((name, feast)) = HOLIDAYS.iter().find(|(name, _)| tail.starts_with(name)) {
            let day = holidays::holiday(year, *feast)?;
            return Some(ChineseMatch::new(
                length + skipped + name.len(),
                (day, day),
                DateGrain::Day,
            ));
        }
        let parts = ["年底", "年末", "年初", "年中", "底", "初"];
        let part = parts.into_iter().find(|part| tail.starts_with(part));
        let length = length + part.map_or(0, |part| skipped + part.len());
        Some(ChineseMatch::new(length, calendar::year(year)?, DateGrain::Year))
    }

    /// 2023年5月3日, 2021年, 5月3号, 五月, 90年代.
    pub(super) fn dated(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (first, after) = number(rest)?;
        if let Some(after) = after.strip_prefix('年') {
            let length = rest.len() - after.len();
            if after.starts_with('代') {
                let start = if first.value < 100 { 1900 + first.value } else { first.value };
                let plausible =
                    first.value % 10 == 0 && (20..=2090).contains(&first.value) && start >= 1800;
                let hit = ChineseMatch {
                    relative: false,
                    ..ChineseMatch::new(
                        length + '代'.len_utf8(),
                        calendar::decade(start)?,
                        DateGrain::Decade,
                    )
                };
                return plausible.then_some(hit);
            }
            if first.digits == 4 && (1000..=2999).contains(&first.value) {
                let hit = ChineseMatch { relative: false, ..self.in_year(length, first.value)? };
                return Some(self.years_until(hit));
            }
            if first.digits == 2 && first.value < 70 && self.month_day(after, None).is_some() {
                let hit = self.in_year(length, 2000 + first.value)?;
                return Some(ChineseMatch { relative: false, ..hit }.unsure());
            }
            return None;
        }
        self.month_day(rest, None)
    }

    /// 2019年到2021年.
    fn years_until(&self, hit: ChineseMatch) -> ChineseMatch {
        let tail = &self.rest()[hit.length..];
        let until = || {
            let (last, after) = number(connector(tail)?)?;
            let after = after.strip_prefix('年')?;
            let (_, to) = calendar::year(last.value)?;
            (hit.grain == DateGrain::Year && last.digits == 4 && to > hit.days.1)
                .then_some((to, tail.len() - after.len()))
        };
        match until() {
            Some((to, length)) => {
                ChineseMatch { length: hit.length + length, days: (hit.days.0, to), ..hit }
            }
            None => hit,
        }
    }

    /// 5月3日, 五月份, 5月3日至6月1日, at the beginning of `tail`, in `year` or the matching year.
    fn month_day(&self, tail: &str, year: Option<i64>) -> Option<ChineseMatch> {
        let (month, after) = month_name(tail)?;
        let (day, after) = match day_of_month(after) {
            Some((day, after)) => (Some(day), after),
            None => (None, part_of_month(after.strip_prefix('份').unwrap_or(after))),
        };
        let (end_month, end_day, end) = range_end(month, day, after);
        let days = |year: i64| {
            let turned = i64::from(end_month < month);
            let (first, last) =
                (calendar::month(year, month)?, calendar::month(year + turned, end_month)?);
            let from = day.map_or(Some(first.0), |day| calendar::date(year, month, day))?;
            let to = end_day
                .map_or(Some(last.1), |day| calendar::date(year + turned, end_month, day))?;
            (from <= to).then_some((from, to))
        };
        let length = tail.len() - end.len();
        let grain = if day.is_some() { DateGrain::Day } else { DateGrain::Month };
        if let Some(year) = year {
            return Some(ChineseMatch {
                relative: false,
                ..ChineseMatch::new(length, days(year)?, grain)
            });
        }
        // `tail` may begin after the start of the mention, so the surrounding text is looked up by
        // position.
        let reach = self.rest().len() - end.len();
        let lean = self.lean(reach);
        let found = calendar::infer(self.today, lean, days)?;
        // Chinese marks past actions: a date without such a mark is ahead, or in doubt if it has
        // just passed. 五月的 may be any year's.
        let nearest = calendar::infer(self.today, TimeLean::Unknown, days)?;
        let doubtful = match lean {
            TimeLean::Unknown => self.is_vague(found, day.is_some(), end),
            _ if found == nearest => false,
            _ => {
                self.clear_lean(reach) != lean
                    || day.is_some() && calendar::is_doubtful(self.today, found, days)
            }
        };
        let hit = ChineseMatch { lacks_year: true, ..ChineseMatch::new(length, found, grain) };
        if let Some((weekday, _)) = week_word(end.trim_start_matches(['（', '(', ' ', '，']))
            .and_then(weekday_char)
            .filter(|_| day.is_some() && end_day == day)
        {
            // The weekday tells the year, or one of the two is a mistake.
            let on_weekday = calendar::day_on_weekday(self.today, weekday, days);
            return Some(match on_weekday {
                Some(date) if date == nearest.0 => ChineseMatch { days: nearest, ..hit },
                _ => hit.unsure(),
            });
        }
        Some(if doubtful || self.is_yearly(reach) { hit.unsure() } else { hit })
    }

    /// True if a date may recur every year, by its clause or the word before: 生日：5月3日.
    fn is_yearly(&self, reach: usize) -> bool {
        let before = self.text[..self.start].trim_end_matches(['：', ':', '，', ' ']);
        YEARLY.iter().any(|word| before.ends_with(*word)) || self.clause_has(reach, &YEARLY)
    }

    /// True if a date without a tense has passed, is far ahead, or may be any year's.
    fn is_vague(&self, found: calendar::Days, is_day: bool, end: &str) -> bool {
        let reach = self.rest().len() - end.len();
        let passed = if is_day { found.1 < self.today } else { found.0 <= self.today };
        let far = if is_day { NEAR_DAYS } else { 2 * NEAR_DAYS };
        passed
            || calendar::days_between(self.today, found.0) > far
            || !is_day && (end.starts_with('的') || self.clause_has(reach, &GENERAL))
    }

    /// 十五号, without its month.
    pub(super) fn day_alone(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (day, after) = day_of_month(rest)?;
        let counts =
            after.starts_with(|c: char| "店馆館院厅廳桌房床机機公选選球车車站文".contains(c));
        let length = rest.len() - after.len();
        if counts || !rest[..length].ends_with(['号', '號']) || self.follows("第月门門") {
            return None;
        }
        let (weekday, after) = match week_word(after).and_then(weekday_char) {
            Some((weekday, after)) => (Some(weekday), after),
            None => (None, after),
        };
        let length = rest.len() - after.len();
        // Chinese marks past actions: a later day of this month without such a mark is ahead.
        let clause = tense::CHINESE.clause(self.text, self.start..self.start + length);
        let lean = match self.clear_lean(length) {
            TimeLean::Unknown
                if clause.len() > length
                    && day >= self.today.day()
                    && self.lean(length) == TimeLean::Unknown =>
            {
                TimeLean::Future
            }
            lean => lean,
        };
        let (date, is_clear) = calendar::day_and_weekday(self.today, lean, day, weekday)?;
        let hit = ChineseMatch::new(length, (date, date), DateGrain::Day);
        let hit = ChineseMatch { lacks_month: weekday.is_none(), ..hit };
        let clear = is_clear && !self.clause_has(length, &["每"]);
        Some(if clear { hit } else { hit.unsure() })
    }

    /// 元旦, 国庆节, without a year.
    pub(super) fn holiday(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (name, feast) = HOLIDAYS.iter().find(|(name, _)| rest.starts_with(name))?;
        let after = rest[name.len()..].trim_start_matches(['节', '節']);
        let length = rest.len() - after.len();
        // 圣诞树 and 国庆路 are things and places; 叫国庆 and 国庆叔 are people.
        if after.starts_with(|c: char| "树樹老帽路歌卡礼禮叔哥姐爷爺奶号號街".contains(c))
            || self.follows("叫名姓是阿小老和跟給给找第")
            || *name == "五一" && after.starts_with(is_digit)
        {
            return None;
        }
        let lean = self.lean(length);
        let in_year = |year| holidays::holiday(year, *feast).map(|day| (day, day));
        let days = calendar::infer(self.today, lean, in_year)?;
        let hit = ChineseMatch::new(length, days, DateGrain::Day);
        let yearly =
            lean == TimeLean::Unknown || self.follows("每") || self.clause_has(length, &["每年"]);
        // 五一泡汤了 in April is about the coming one: its cancellation has happened.
        let is_next_nearer = calendar::next(self.today, in_year).is_some_and(|(next, _)| {
            calendar::days_between(self.today, next) < calendar::days_between(days.1, self.today)
        });
        Some(if yearly || is_next_nearer { hit.unsure() } else { hit })
    }
}

fn month_name(text: &str) -> Option<(i8, &str)> {
    let (month, after) = number(text)?;
    let after = after.strip_prefix('月')?;
    let month = i8::try_from(month.value).ok().filter(|month| (1..=12).contains(month))?;
    Some((month, after))
}

fn connector(text: &str) -> Option<&str> {
    text.trim_start_matches(' ').strip_prefix(['至', '到', '-', '－', '–', '—', '~', '～'])
}

/// The last month and day of a range that begins with a month or day, and the text after it.
fn range_end(month: i8, day: Option<i8>, after: &str) -> (i8, Option<i8>, &str) {
    let list = day.and(after.strip_prefix(['和', '、', '及']));
    let Some(next) = connector(after).or(list) else { return (month, day, after) };
    let (later_month, next) =
        month_name(next).map_or((None, next), |(month, next)| (Some(month), next));
    match (day, day_of_month(next), later_month) {
        (Some(_), Some((later, next)), _) => (later_month.unwrap_or(month), Some(later), next),
        (None, _, Some(later)) => (later, day, next.strip_prefix('份').unwrap_or(next)),
        _ => (month, day, after),
    }
}
