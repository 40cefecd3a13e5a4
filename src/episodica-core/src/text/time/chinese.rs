//! The Chinese grammar, for simplified and traditional characters: 昨天, 上周五, 三天前, 2023年5月, 去年夏天, 国庆节.
//!
//! There are no spaces to go by, so each pattern says which neighbours make it part of another word: 明天 is not in 说明天气.

use jiff::civil::Date;

use super::calendar::{self, Days, Holiday, Lean};
use super::chinese_numbers::{is_digit, number};
use super::mention::{Grain, TimeMention};
use super::vocabulary::Unit;

/// A match: its length in bytes, and what it means.
#[derive(Debug, Clone, Copy)]
struct Hit {
    length: usize,
    days: Days,
    grain: Grain,
    relative: bool,
    confident: bool,
}

impl Hit {
    fn new(length: usize, days: Days, grain: Grain) -> Self {
        Self { length, days, grain, relative: true, confident: true }
    }

    fn unsure(mut self) -> Self {
        self.confident = false;
        self
    }
}

const HOLIDAYS: &[(&str, i8, i8)] = &[
    ("元旦", 1, 1),
    ("情人节", 2, 14),
    ("妇女节", 3, 8),
    ("愚人节", 4, 1),
    ("劳动节", 5, 1),
    ("五一节", 5, 1),
    ("五一假期", 5, 1),
    ("儿童节", 6, 1),
    ("教师节", 9, 10),
    ("国庆节", 10, 1),
    ("國慶節", 10, 1),
    ("国庆", 10, 1),
    ("國慶", 10, 1),
    ("万圣节", 10, 31),
    ("平安夜", 12, 24),
    ("圣诞节", 12, 25),
    ("聖誕節", 12, 25),
    ("圣诞", 12, 25),
    ("聖誕", 12, 25),
    ("跨年夜", 12, 31),
];

/// The Chinese mentions of `text`.
pub(super) fn scan(text: &str, today: Date) -> Vec<TimeMention> {
    let mut found = Vec::new();
    let mut resume = 0;
    let mut previous = None;
    for (start, c) in text.char_indices() {
        let before = previous.replace(c);
        if start < resume || !begins(c) || before.is_some_and(|b| is_digit(b) && is_digit(c)) {
            continue;
        }
        let place = Place { text, start, before, today };
        if let Some(hit) = place.mention(c) {
            let end = start + hit.length;
            resume = end;
            let (from, to) = hit.days;
            found.push(TimeMention { start, end, from, to, grain: hit.grain, relative: hit.relative, confident: hit.confident });
        }
    }
    found
}

/// Whether any pattern begins with `c`.
fn begins(c: char) -> bool {
    c.is_ascii_digit() || c as u32 >= 0x3000 && "大前昨今明后後上下这這本去周週星礼禮半几幾数数两兩〇零一二三四五六七八九十百过過最近元情妇愚劳儿教国國万平圣聖跨０１２３４５６７８９".contains(c)
}

/// A place in a text where a mention may begin.
#[derive(Clone, Copy)]
struct Place<'t> {
    text: &'t str,
    start: usize,
    before: Option<char>,
    today: Date,
}

impl<'t> Place<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.start..]
    }

    fn follows(&self, any: &str) -> bool {
        self.before.is_some_and(|before| any.contains(before))
    }

    fn mention(&self, first: char) -> Option<Hit> {
        match first {
            '昨' | '今' | '明' | '大' | '前' | '后' | '後' | '去' => {
                self.named_day().or_else(|| self.named_year()).or_else(|| self.few_days())
            }
            '上' | '下' | '这' | '這' | '本' => self.determined(),
            '周' | '週' | '星' | '礼' | '禮' => self.weekday(),
            '过' | '過' | '最' | '近' => self.rolling(),
            _ => self.counted().or_else(|| self.dated()).or_else(|| self.holiday()),
        }
    }

    /// 昨天, 今晚, 大前天.
    fn named_day(&self) -> Option<Hit> {
        let rest = self.rest();
        let (word, offset) = [("大前", -3), ("前", -2), ("昨", -1), ("今", 0), ("明", 1), ("大后", 3), ("大後", 3), ("后", 2), ("後", 2)]
            .into_iter()
            .find(|(word, _)| rest.starts_with(word))?;
        let foreign = match offset {
            1 => self.follows("证证声表发文聪透证證聲發聰") || self.follows("说說") && rest[word.len()..].starts_with("天气"),
            -2 => self.follows("以之目从從提面当當天年月周午"),
            2 => self.follows("以之然最今随隨先天年月周午"),
            _ => false,
        };
        if foreign {
            return None;
        }
        let tail = &rest[word.len()..];
        let part = ["天", "日", "晚上", "晚", "夜", "早上", "早", "晨", "儿"].into_iter().find(|part| tail.starts_with(part))?;
        // 前日, 后早 and the like are something else; 今儿 and 明儿 are days.
        let allowed = match part {
            "天" => true,
            "晚" | "晚上" => matches!(offset, -2..=1),
            "日" => matches!(offset, -1..=1),
            _ => matches!(offset, -1..=1),
        };
        let after = &tail[part.len()..];
        // 今日头条, 明日香: names that begin like a day.
        if !allowed || part == "日" && ["头条", "香", "方舟"].iter().any(|name| after.starts_with(name)) {
            return None;
        }
        let day = calendar::add_days(self.today, offset)?;
        Some(Hit::new(word.len() + part.len(), (day, day), Grain::Day))
    }

    /// 去年, 今年5月, 明年夏天.
    fn named_year(&self) -> Option<Hit> {
        let rest = self.rest();
        let (word, offset) = [("大前年", -3), ("前年", -2), ("去年", -1), ("今年", 0), ("明年", 1), ("后年", 2), ("後年", 2)]
            .into_iter()
            .find(|(word, _)| rest.starts_with(word))?;
        let broken = match offset {
            -1 => self.follows("过過失") || rest[word.len()..].starts_with('轻'),
            -2 => self.follows("以之目从從提年月天"),
            2 => self.follows("以之然最今随隨年月天"),
            _ => false,
        };
        if broken {
            return None;
        }
        let year = i64::from(self.today.year()) + offset;
        self.in_year(word.len(), year).map(|hit| Hit { relative: true, ..hit })
    }

    /// What follows a year whose text is `length` bytes long: a month, a day, a season, a feast, or nothing.
    fn in_year(&self, length: usize, year: i64) -> Option<Hit> {
        let tail = &self.rest()[length..];
        let (skipped, tail) = match tail.strip_prefix('的') {
            Some(tail) => ('的'.len_utf8(), tail),
            None => (0, tail),
        };
        if let Some(hit) = self.month_day(tail, Some(year)) {
            return Some(Hit { length: length + skipped + hit.length, ..hit });
        }
        for (at, name) in ["春", "夏", "秋", "冬"].into_iter().enumerate() {
            let Some(after) = tail.strip_prefix(name) else { continue };
            if let Some(kind) = ["天", "季"].into_iter().find(|kind| after.starts_with(kind)) {
                let days = calendar::season(year, at as i8)?;
                let hit = Hit::new(length + skipped + name.len() + kind.len(), days, Grain::Season);
                // The winter of a year is the one at its beginning for some, at its end for others.
                return Some(if at == 3 { hit.unsure() } else { hit });
            }
        }
        if let Some((name, month, day)) = HOLIDAYS.iter().find(|(name, ..)| tail.starts_with(name)) {
            let day = calendar::date(year, *month, *day)?;
            return Some(Hit::new(length + skipped + name.len(), (day, day), Grain::Day));
        }
        Some(Hit::new(length, calendar::year(year)?, Grain::Year))
    }

    /// 前几天, 前两天: vague on purpose.
    fn few_days(&self) -> Option<Hit> {
        let rest = self.rest();
        let word = ["前几天", "前幾天", "前两天", "前兩天", "前些天"].into_iter().find(|word| rest.starts_with(word))?;
        let days = (calendar::add_days(self.today, -6)?, calendar::add_days(self.today, -1)?);
        Some(Hit::new(word.len(), days, Grain::Day).unsure())
    }

    /// 上周五, 这周末, 下下个月, 本月3号.
    fn determined(&self) -> Option<Hit> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        let mut tail = rest.trim_start_matches(first);
        let repeats = (rest.len() - tail.len()) / first.len_utf8();
        let step = match first {
            '上' => -(repeats as i64),
            '下' => repeats as i64,
            _ => 0,
        };
        if repeats > 2 || step == 0 && repeats > 1 || matches!(first, '上' | '下') && self.follows("早晚以网網路马馬身桌楼樓地线線")
        {
            return None;
        }
        for filler in ["一个", "一個", "个", "個", "一"] {
            if let Some(after) = tail.strip_prefix(filler) {
                tail = after;
                break;
            }
        }
        let consumed = |tail: &str| rest.len() - tail.len();
        if let Some(after) = week_word(tail) {
            if ["末"].iter().any(|end| after.starts_with(end)) {
                return Some(Hit::new(consumed(&after["末".len()..]), calendar::weekend(self.today, step)?, Grain::Weekend));
            }
            if let Some((weekday, after)) = weekday_char(after) {
                let day = calendar::day_of_week(self.today, step, weekday)?;
                return Some(Hit::new(consumed(after), (day, day), Grain::Day));
            }
            if ["期", "围", "圍", "边", "邊", "岁", "歲", "年", "到"].iter().any(|other| after.starts_with(other)) {
                return None;
            }
            return Some(Hit::new(consumed(after), calendar::week(self.today, step)?, Grain::Week));
        }
        if let Some(after) = tail.strip_prefix('月') {
            if after.starts_with(['份', '球', '亮', '饼', '餅']) && first != '上' {
                return None;
            }
            let (from, to) = calendar::month_offset(self.today, step)?;
            if let Some((day, after)) = day_of_month(after) {
                let date = calendar::date(i64::from(from.year()), from.month(), day)?;
                return Some(Hit::new(consumed(after), (date, date), Grain::Day));
            }
            return Some(Hit::new(consumed(after), (from, to), Grain::Month));
        }
        if step == 0 && first != '本' {
            for (at, name) in ["春天", "夏天", "秋天", "冬天"].into_iter().enumerate() {
                if let Some(after) = tail.strip_prefix(name) {
                    let days = calendar::season(i64::from(self.today.year()), at as i8)?;
                    let hit = Hit::new(consumed(after), days, Grain::Season);
                    return Some(if at == 3 { hit.unsure() } else { hit });
                }
            }
        }
        None
    }

    /// 周五, 星期天, 周末, without a word that says which.
    fn weekday(&self) -> Option<Hit> {
        if self.follows("每上下这這本两兩几幾半数一二三四五六七八九十0123456789个個") {
            return None;
        }
        let rest = self.rest();
        let after = week_word(rest)?;
        let lean = self.lean(rest.len() - after.len());
        if let Some(after) = after.strip_prefix('末') {
            let past = calendar::weekend(self.today, -1)?;
            let this = calendar::weekend(self.today, 0)?;
            let days = if lean == Lean::Future || this.0 <= self.today { this } else { past };
            return Some(Hit::new(rest.len() - after.len(), days, Grain::Weekend).unsure());
        }
        let (weekday, after) = weekday_char(after)?;
        let day = match lean {
            Lean::Future => calendar::weekday_after(self.today, weekday, 1)?,
            Lean::Past | Lean::Unknown => calendar::weekday_before(self.today, weekday)?,
        };
        Some(Hit::new(rest.len() - after.len(), (day, day), Grain::Day).unsure())
    }

    /// 最近三天, 过去两周, 近一个月: the days until today.
    fn rolling(&self) -> Option<Hit> {
        let rest = self.rest();
        let word = ["过去", "過去", "最近", "近"].into_iter().find(|word| rest.starts_with(word))?;
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
            Unit::Day => calendar::add_days(self.today, -count)?,
            Unit::Week => calendar::add_days(self.today, count.checked_mul(-7)?)?,
            Unit::Month | Unit::Year => {
                let months = if unit == Unit::Year { count.checked_mul(12)? } else { count };
                let (first, last) = calendar::month_offset(self.today, months.checked_neg()?)?;
                calendar::date(i64::from(first.year()), first.month(), self.today.day().min(last.day()))?
            }
            _ => return None,
        };
        Some(Hit::new(rest.len() - after.len(), (from, self.today), Grain::Day).unsure())
    }

    /// 三天前, 两个月后, 半年前, 几年前.
    fn counted(&self) -> Option<Hit> {
        let rest = self.rest();
        if self.follows("第") {
            return None;
        }
        let (least, most, exact, half, after) = if let Some(after) = rest.strip_prefix('半') {
            (1, 1, false, true, after)
        } else if let Some(after) = rest.strip_prefix(['几', '幾', '数']) {
            (2, 5, false, false, after)
        } else {
            let (number, after) = number(rest)?;
            let open = after.strip_prefix(['多', '几', '幾', '来']);
            (number.value, number.value, open.is_none(), false, open.unwrap_or(after))
        };
        let (unit, after) = unit(after)?;
        let (exact, after) = match after.strip_prefix('多') {
            Some(after) => (false, after),
            None => (exact, after),
        };
        let (direction, after) =
            [("之前", -1), ("以前", -1), ("前", -1), ("之后", 1), ("之後", 1), ("以后", 1), ("以後", 1), ("后", 1), ("後", 1)]
                .into_iter()
                .find_map(|(word, direction)| Some((direction, after.strip_prefix(word)?)))?;
        // 2021年前 is before a year, not 2,021 years ago.
        if unit == Unit::Year && least >= 1000 {
            return None;
        }
        let length = rest.len() - after.len();
        if half {
            let (days, grain) = match unit {
                Unit::Year => (calendar::month_offset(self.today, direction * 6)?, Grain::Month),
                Unit::Month => {
                    let day = calendar::add_days(self.today, direction * 15)?;
                    ((day, day), Grain::Day)
                }
                _ => return None,
            };
            return Some(Hit::new(length, days, grain).unsure());
        }
        let (near, grain) = self.away(unit, direction.checked_mul(least)?)?;
        let (far, _) = self.away(unit, direction.checked_mul(most)?)?;
        let days = (near.0.min(far.0), near.1.max(far.1));
        let grain = if days == near || matches!(grain, Grain::Month | Grain::Year) { grain } else { Grain::Day };
        let hit = Hit::new(length, days, grain);
        Some(if exact { hit } else { hit.unsure() })
    }

    fn away(&self, unit: Unit, count: i64) -> Option<(Days, Grain)> {
        Some(match unit {
            Unit::Day => {
                let day = calendar::add_days(self.today, count)?;
                ((day, day), Grain::Day)
            }
            Unit::Week => (calendar::week(self.today, count)?, Grain::Week),
            Unit::Month => (calendar::month_offset(self.today, count)?, Grain::Month),
            Unit::Year => (calendar::year(i64::from(self.today.year()).checked_add(count)?)?, Grain::Year),
            _ => return None,
        })
    }

    /// 2023年5月3日, 2021年, 5月3号, 五月, 90年代.
    fn dated(&self) -> Option<Hit> {
        let rest = self.rest();
        let (first, after) = number(rest)?;
        if let Some(after) = after.strip_prefix('年') {
            let length = rest.len() - after.len();
            if after.starts_with('代') {
                let start = if first.value < 100 { 1900 + first.value } else { first.value };
                let plausible = first.value % 10 == 0 && (20..=2090).contains(&first.value) && start >= 1800;
                let hit = Hit { relative: false, ..Hit::new(length + '代'.len_utf8(), calendar::decade(start)?, Grain::Decade) };
                return plausible.then_some(hit);
            }
            if first.digits == 4 && (1000..=2999).contains(&first.value) {
                let hit = Hit { relative: false, ..self.in_year(length, first.value)? };
                return Some(self.years_until(hit));
            }
            if first.digits == 2 && first.value < 70 && self.month_day(after, None).is_some() {
                let hit = self.in_year(length, 2000 + first.value)?;
                return Some(Hit { relative: false, ..hit }.unsure());
            }
            return None;
        }
        self.month_day(rest, None)
    }

    /// 2019年到2021年.
    fn years_until(&self, hit: Hit) -> Hit {
        let tail = &self.rest()[hit.length..];
        let until = || {
            let (last, after) = number(connector(tail)?)?;
            let after = after.strip_prefix('年')?;
            let (_, to) = calendar::year(last.value)?;
            (hit.grain == Grain::Year && last.digits == 4 && to > hit.days.1).then_some((to, tail.len() - after.len()))
        };
        match until() {
            Some((to, length)) => Hit { length: hit.length + length, days: (hit.days.0, to), ..hit },
            None => hit,
        }
    }

    /// 5月3日, 五月份, 5月3日至6月1日, at the beginning of `tail`, in `year` or the year that fits.
    fn month_day(&self, tail: &str, year: Option<i64>) -> Option<Hit> {
        let (month, after) = month_name(tail)?;
        let (day, after) = match day_of_month(after) {
            Some((day, after)) => (Some(day), after),
            None => (None, after.strip_prefix('份').unwrap_or(after)),
        };
        // The end of a range: a day, a month or both.
        let mut end_month = month;
        let mut end_day = day;
        let mut end = after;
        if let Some(next) = connector(after) {
            let (later_month, next) = month_name(next).map_or((None, next), |(month, next)| (Some(month), next));
            if let (Some(_), Some((later, next))) = (day, day_of_month(next)) {
                (end_month, end_day, end) = (later_month.unwrap_or(month), Some(later), next);
            } else if let (None, Some(later)) = (day, later_month) {
                (end_month, end) = (later, next.strip_prefix('份').unwrap_or(next));
            }
        }
        let days = |year: i64| {
            let turned = i64::from(end_month < month);
            let (first, last) = (calendar::month(year, month)?, calendar::month(year + turned, end_month)?);
            let from = day.map_or(Some(first.0), |day| calendar::date(year, month, day))?;
            let to = end_day.map_or(Some(last.1), |day| calendar::date(year + turned, end_month, day))?;
            (from <= to).then_some((from, to))
        };
        let length = tail.len() - end.len();
        let grain = if day.is_some() { Grain::Day } else { Grain::Month };
        if let Some(year) = year {
            return Some(Hit { relative: false, ..Hit::new(length, days(year)?, grain) });
        }
        let lean = self.lean(length);
        let hit = Hit::new(length, calendar::infer(self.today, lean, days)?, grain);
        let yearly = self.follows("每年") || self.sentence_has(length, &["生日", "每年", "纪念日", "紀念日", "农历", "農曆", "阴历"]);
        Some(if lean == Lean::Unknown || yearly { hit.unsure() } else { hit })
    }

    /// 元旦, 国庆节, without a year.
    fn holiday(&self) -> Option<Hit> {
        let rest = self.rest();
        let (name, month, day) = HOLIDAYS.iter().find(|(name, ..)| rest.starts_with(name))?;
        // 圣诞树 and 国庆路 are things and places.
        if rest[name.len()..].starts_with(['树', '樹', '老', '帽', '路', '歌', '卡', '礼', '禮']) {
            return None;
        }
        let lean = self.lean(name.len());
        let days = calendar::infer(self.today, lean, |year| {
            let day = calendar::holiday(year, Holiday::Fixed(*month, *day))?;
            Some((day, day))
        })?;
        Some(Hit::new(name.len(), days, Grain::Day).unsure())
    }

    /// The sentence around a mention of `length` bytes, a few dozen characters each way.
    fn sentence(&self, length: usize) -> (&'t str, &'t str) {
        let ends = |c: char| matches!(c, '。' | '！' | '？' | '\n' | '；' | '.' | '!' | '?');
        let before = &self.text[..self.start];
        let from = before.char_indices().rev().take(24).take_while(|(_, c)| !ends(*c)).last().map_or(self.start, |(at, _)| at);
        let after = &self.text[self.start + length..];
        let to = after.char_indices().take(32).take_while(|(_, c)| !ends(*c)).last().map_or(0, |(at, c)| at + c.len_utf8());
        (&before[from..], &after[..to])
    }

    fn sentence_has(&self, length: usize, words: &[&str]) -> bool {
        let (before, after) = self.sentence(length);
        words.iter().any(|word| before.contains(word) || after.contains(word))
    }

    /// Whether the sentence tells of the past or the future, by the first particle that says so.
    fn lean(&self, length: usize) -> Lean {
        if self.sentence_has(
            length,
            &["打算", "计划", "計劃", "准备", "準備", "将", "將", "会去", "要去", "会在", "再去", "期待", "想去", "吧"],
        ) {
            Lean::Future
        } else if self.sentence_has(length, &["了", "过", "過", "曾", "那时", "当时", "刚", "的时候"]) {
            Lean::Past
        } else if self.sentence_has(length, &["会", "會", "要"]) {
            Lean::Future
        } else {
            Lean::Unknown
        }
    }
}

/// What follows 周, 星期 or 礼拜.
fn week_word(text: &str) -> Option<&str> {
    ["周", "週", "星期", "礼拜", "禮拜"].into_iter().find_map(|word| text.strip_prefix(word))
}

/// The weekday (Monday is 0) at the beginning of `text`, and what follows.
fn weekday_char(text: &str) -> Option<(i8, &str)> {
    let first = text.chars().next()?;
    let weekday = match first {
        '日' | '天' => 6,
        _ => i8::try_from("一二三四五六".chars().position(|c| c == first)?).ok()?,
    };
    let after = &text[first.len_utf8()..];
    // 周一直, 周三次, 周五个: a count or an adverb after "week".
    let other = after.starts_with(['直', '共', '起', '样', '般', '次', '个', '個', '遍', '回', '场', '门', '天', '年', '十']);
    (!other).then_some((weekday, after))
}

fn unit(text: &str) -> Option<(Unit, &str)> {
    let (counted, text) = match text.strip_prefix(['个', '個']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (word, unit) = [
        ("天", Unit::Day),
        ("日", Unit::Day),
        ("周", Unit::Week),
        ("週", Unit::Week),
        ("星期", Unit::Week),
        ("礼拜", Unit::Week),
        ("禮拜", Unit::Week),
        ("月", Unit::Month),
        ("年", Unit::Year),
    ]
    .into_iter()
    .find(|(word, _)| text.starts_with(word))?;
    // Months are counted with 个: 三月 is March.
    (counted || unit != Unit::Month).then(|| (unit, &text[word.len()..]))
}

fn month_name(text: &str) -> Option<(i8, &str)> {
    let (month, after) = number(text)?;
    let after = after.strip_prefix('月')?;
    let month = i8::try_from(month.value).ok().filter(|month| (1..=12).contains(month))?;
    Some((month, after))
}

fn day_of_month(text: &str) -> Option<(i8, &str)> {
    let (day, after) = number(text)?;
    let after = after.strip_prefix(['日', '号', '號'])?;
    let day = i8::try_from(day.value).ok().filter(|day| (1..=31).contains(day))?;
    (!after.starts_with(['线', '線', '楼', '樓', '门'])).then_some((day, after))
}

fn connector(text: &str) -> Option<&str> {
    text.trim_start_matches(' ').strip_prefix(['至', '到', '-', '－', '–', '—', '~', '～'])
}
