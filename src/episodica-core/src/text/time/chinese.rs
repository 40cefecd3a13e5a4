//! The Chinese grammar, for simplified and traditional characters: 昨天, 上周五, 本月3号. Dates by
//! name and number are in `chinese_dates`, counted units in `chinese_spans`.
//!
//! Chinese has no spaces, so each pattern lists the neighbours that make it part of another word:
//! 说明天气 does not mention 明天.

use jiff::civil::Date;

use super::calendar::{self, Days, TimeLean};
use super::chinese_numbers::{day_of_month, is_digit};
use super::mention::{DateGrain, NamedDates, TimeMention};
use super::tense::{self, DateReach};
use crate::text::Language;

/// A match: its length in bytes and its meaning.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChineseMatch {
    pub length: usize,
    pub days: Days,
    pub grain: DateGrain,
    pub relative: bool,
    pub confident: bool,
    pub about: Option<Date>,
    pub lacks_year: bool,
    pub weekday: bool,
    pub lacks_month: bool,
}

impl ChineseMatch {
    pub(super) fn new(length: usize, days: Days, grain: DateGrain) -> Self {
        Self {
            length,
            days,
            grain,
            relative: true,
            confident: true,
            about: None,
            lacks_year: false,
            weekday: false,
            lacks_month: false,
        }
    }

    fn naming(&self) -> NamedDates {
        if !self.relative {
            NamedDates::Days
        } else if self.lacks_year {
            NamedDates::NoYear
        } else if self.lacks_month {
            NamedDates::NoMonth
        } else if self.weekday {
            NamedDates::Weekday
        } else {
            NamedDates::Nothing
        }
    }

    pub(super) fn unsure(mut self) -> Self {
        self.confident = false;
        self
    }
}

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
        let place = ChinesePosition { text, start, before, today };
        if let Some(hit) = place.mention(c) {
            let end = start + hit.length;
            resume = end;
            let (from, to) = hit.days;
            found.push(TimeMention {
                start,
                end,
                from,
                to,
                grain: hit.grain,
                relative: hit.relative,
                confident: hit.confident,
                about: hit.about,
                naming: hit.naming(),
                language: Language::Chinese,
            });
        }
    }
    found
}

/// Whether a pattern begins with `c`.
fn begins(c: char) -> bool {
    c.is_ascii_digit()
        || c as u32 >= 0x3000
            && "大前昨今明后後上下这這本去再年月周週星礼禮半几幾数\
        数两兩〇零一二三四五六七八九十百过過最近元情妇愚劳儿教国國万平圣聖跨春除初中端双０１２３\
        ４５６７８９"
                .contains(c)
}

/// A position in a text where a mention may begin.
#[derive(Clone, Copy)]
pub(super) struct ChinesePosition<'t> {
    pub text: &'t str,
    pub start: usize,
    pub before: Option<char>,
    pub today: Date,
}

impl<'t> ChinesePosition<'t> {
    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.start..]
    }

    pub(super) fn follows(&self, any: &str) -> bool {
        self.before.is_some_and(|before| any.contains(before))
    }

    fn comes_after(&self, word: &str) -> bool {
        self.text[..self.start].ends_with(word)
    }

    fn mention(&self, first: char) -> Option<ChineseMatch> {
        match first {
            '昨' | '今' | '明' | '大' | '前' | '后' | '後' | '去' => self
                .named_day()
                .or_else(|| self.named_year())
                .or_else(|| self.few_days())
                .or_else(|| self.holiday()),
            '上' | '下' | '这' | '這' | '本' => self.determined(),
            '周' | '週' | '星' | '礼' | '禮' => self.weekday(),
            '过' | '過' | '最' | '近' => self.rolling(),
            '再' => self.hence(),
            '年' | '月' => self.part_of_unit(),
            _ => self
                .counted()
                .or_else(|| self.dated())
                .or_else(|| self.day_alone())
                .or_else(|| self.holiday()),
        }
    }

    /// 昨天, 今晚, 大前天.
    fn named_day(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (word, offset) = [
            ("大前", -3),
            ("前", -2),
            ("昨", -1),
            ("今", 0),
            ("明", 1),
            ("大后", 3),
            ("大後", 3),
            ("后", 2),
            ("後", 2),
        ]
        .into_iter()
        .find(|(word, _)| rest.starts_with(word))?;
        let foreign = match offset {
            1 => {
                self.follows("证证声表发文聪透证證聲發聰")
                    || self.follows("说說") && rest[word.len()..].starts_with("天气")
            }
            // Japanese 一昨日 is the day before yesterday.
            -1 => self.text[..self.start].ends_with('一'),
            // 明后天 is one of two days.
            -2 => self.follows("以之目从從提面当當天年月周午昨") && !self.comes_after("昨天"),
            2 => self.follows("以之然最今明随隨先天年月周午") && !self.comes_after("明天"),
            _ => false,
        };
        if foreign {
            return None;
        }
        let tail = &rest[word.len()..];
        let part = ["天", "日", "晚上", "晚", "夜", "早上", "早", "晨", "儿"]
            .into_iter()
            .find(|part| tail.starts_with(part))?;
        // 前日, 后早 and similar words have other meanings; 今儿 and 明儿 are days.
        let allowed = match part {
            "天" => true,
            "晚" | "晚上" => matches!(offset, -2..=1),
            "日" => matches!(offset, -1..=1),
            _ => matches!(offset, -1..=1),
        };
        let after = &tail[part.len()..];
        // 今日头条, 明日香: names that begin with the word for a day.
        if !allowed
            || part == "日" && ["头条", "香", "方舟"].iter().any(|name| after.starts_with(name))
        {
            return None;
        }
        let day = calendar::add_days(self.today, offset)?;
        Some(ChineseMatch::new(word.len() + part.len(), (day, day), DateGrain::Day))
    }

    /// 去年, 今年5月, 明年夏天.
    fn named_year(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let (word, offset) = [
            ("大前年", -3),
            ("前年", -2),
            ("去年", -1),
            ("今年", 0),
            ("明年", 1),
            ("后年", 2),
            ("後年", 2),
        ]
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
        self.in_year(word.len(), year).map(|hit| ChineseMatch { relative: true, ..hit })
    }

    /// 上周五, 这周末, 下下个月, 本月3号.
    fn determined(&self) -> Option<ChineseMatch> {
        let rest = self.rest();
        let first = rest.chars().next()?;
        let repeats = rest.chars().take(3).take_while(|c| *c == first).count();
        let mut tail = &rest[repeats * first.len_utf8()..];
        let step = match first {
            '上' => -(repeats as i64),
            '下' => repeats as i64,
            _ => 0,
        };
        if repeats > 2
            || step == 0 && repeats > 1
            || matches!(first, '上' | '下') && self.follows("上下早晚以网網路马馬身桌楼樓地线線")
        {
            return None;
        }
        for filler in ["一个", "一個", "个", "個", "一"] {
            if let Some(after) = tail.strip_prefix(filler) {
                tail = after;
                break;
            }
        }
        let found = match week_word(tail) {
            Some(after) => return self.in_week(step, after),
            None => tail.strip_prefix('月'),
        };
        if let Some(after) = found {
            let is_other = after.starts_with(['份', '球', '亮', '饼', '餅']) && first != '上';
            return if is_other { None } else { self.in_month(step, after) };
        }
        if step == 0 && first != '本' {
            for (at, name) in ["春天", "夏天", "秋天", "冬天"].into_iter().enumerate() {
                if let Some(after) = tail.strip_prefix(name) {
                    let days = calendar::season(i64::from(self.today.year()), at as i8)?;
                    let hit = ChineseMatch::new(rest.len() - after.len(), days, DateGrain::Season);
                    return Some(if at == 3 { hit.unsure() } else { hit });
                }
            }
        }
        None
    }

    /// 周末, 周五 or the whole week; `after` follows the word for the week.
    fn in_week(&self, step: i64, after: &str) -> Option<ChineseMatch> {
        let consumed = |tail: &str| self.rest().len() - tail.len();
        if ["末"].iter().any(|end| after.starts_with(end)) {
            return Some(ChineseMatch::new(
                consumed(&after["末".len()..]),
                calendar::weekend(self.today, step)?,
                DateGrain::Weekend,
            ));
        }
        if let Some((weekday, after)) = weekday_char(after) {
            let day = calendar::day_of_week(self.today, step, weekday)?;
            let hit = ChineseMatch::new(consumed(after), (day, day), DateGrain::Day);
            let hit = ChineseMatch { weekday: true, ..hit };
            // Some begin the week with Sunday: 这周六要 on a Sunday is not yesterday.
            let is_other_week = step == 0
                && match self.clear_lean(consumed(after)) {
                    TimeLean::Past => day > self.today,
                    TimeLean::Future | TimeLean::Unknown => day < self.today,
                };
            return Some(if is_other_week { hit.unsure() } else { hit });
        }
        if ["期", "围", "圍", "边", "邊", "岁", "歲", "年", "到"]
            .iter()
            .any(|other| after.starts_with(other))
        {
            return None;
        }
        Some(ChineseMatch::new(consumed(after), calendar::week(self.today, step)?, DateGrain::Week))
    }

    /// A day, a part or the whole of the month; `after` follows 月.
    fn in_month(&self, step: i64, after: &str) -> Option<ChineseMatch> {
        let consumed = |tail: &str| self.rest().len() - tail.len();
        let (from, to) = calendar::month_offset(self.today, step)?;
        let after =
            after.strip_prefix('的').filter(|rest| day_of_month(rest).is_some()).unwrap_or(after);
        if let Some((day, after)) = day_of_month(after) {
            let date = calendar::date(i64::from(from.year()), from.month(), day)?;
            return Some(ChineseMatch::new(consumed(after), (date, date), DateGrain::Day));
        }
        Some(ChineseMatch::new(consumed(part_of_month(after)), (from, to), DateGrain::Month))
    }

    /// 周五, 星期天, 周末, without a determiner.
    fn weekday(&self) -> Option<ChineseMatch> {
        // 两周 and 每周 are not weekdays, but 周三周五 are two.
        let after_weekday = self.before.is_some_and(|before| {
            self.text[..self.start - before.len_utf8()].ends_with(['周', '週', '期', '拜'])
        });
        // In 5月14号周二 the weekday belongs to the date.
        if self.follows("号號") {
            return None;
        }
        if !after_weekday
            && self.follows("每上下这這本两兩几幾半数一二三四五六七八九十0123456789个個")
        {
            return None;
        }
        let rest = self.rest();
        let after = week_word(rest)?;
        if let Some(after) = after.strip_prefix('末') {
            let lean = self.clear_lean(rest.len() - after.len());
            let past = calendar::weekend(self.today, -1)?;
            let this = calendar::weekend(self.today, 0)?;
            let days = if lean != TimeLean::Past || this.0 <= self.today { this } else { past };
            let hit = ChineseMatch::new(rest.len() - after.len(), days, DateGrain::Weekend);
            return Some(if lean == TimeLean::Unknown { hit.unsure() } else { hit });
        }
        let (weekday, after) = weekday_char(after)?;
        let length = rest.len() - after.len();
        let lean = self.clear_lean(length);
        let day = match lean {
            TimeLean::Past => calendar::weekday_before(self.today, weekday)?,
            TimeLean::Future | TimeLean::Unknown => {
                calendar::weekday_after(self.today, weekday, 1)?
            }
        };
        // Without a sign of the tense it may be any week's: 礼拜六睡到中午. The tense of a clause
        // about 周五的会 need not be that of the day.
        let doubtful = lean == TimeLean::Unknown
            || weekday == self.today.weekday().to_monday_zero_offset()
            || after.starts_with(['的', '到', '至', '和', '跟', '或', '、'])
            || self.clause_has(length, &["每", "通常", "一般", "总是", "總是", "经常", "經常"]);
        let hit =
            ChineseMatch { weekday: true, ..ChineseMatch::new(length, (day, day), DateGrain::Day) };
        Some(if doubtful { hit.unsure() } else { hit })
    }

    /// Whether the clause of a mention of `length` bytes contains one of `words`.
    pub(super) fn clause_has(&self, length: usize, words: &[&str]) -> bool {
        let clause = tense::CHINESE.clause(self.text, self.start..self.start + length);
        words.iter().any(|word| self.text[clause.clone()].contains(word))
    }

    /// Whether the clause, or one next to it, is about the past or the future.
    pub(super) fn lean(&self, length: usize) -> TimeLean {
        self.directed(length, tense::CHINESE.lean(self.text, self.start..self.start + length))
    }

    /// The tense of the clause if its signs agree.
    pub(super) fn clear_lean(&self, length: usize) -> TimeLean {
        let place = self.start..self.start + length;
        self.directed(length, tense::CHINESE.clear_lean(self.text, place, DateReach::Week))
    }

    /// `lean`, unless the mention is a limit: 十月之前, 周一起.
    fn directed(&self, length: usize, lean: TimeLean) -> TimeLean {
        const LIMITS: [&str; 7] = ["之前", "以前", "前", "起", "开始", "開始", "まで"];
        let after = &self.rest()[length..];
        let is_limit = LIMITS.iter().any(|word| after.starts_with(word));
        let has_begun = self.follows("从從")
            && ["开始就", "開始就", "起就"].iter().any(|word| after.starts_with(word));
        // 五一之前交接完的 may be the last or the coming one.
        let is_done = after.starts_with(['之', '以', '前'])
            && lean != TimeLean::Past
            && self.clause_has(length, &["了", "完"]);
        // 周五来不了了 calls off what was to come.
        let is_off = lean == TimeLean::Past
            && self.clause_has(length, &["了"])
            && self.clause_has(length, &["不", "取消", "别", "別"]);
        match lean {
            _ if is_off || is_limit && is_done => TimeLean::Unknown,
            // 从三月开始就 tells how long it has been so.
            TimeLean::Unknown if has_begun => TimeLean::Past,
            lean if !is_limit => lean,
            TimeLean::Past => TimeLean::Unknown,
            TimeLean::Future | TimeLean::Unknown => TimeLean::Future,
        }
    }
}

/// `text` without a leading word for a part of the month.
pub(super) fn part_of_month(text: &str) -> &str {
    let parts = ["底", "末", "初", "中旬", "上旬", "下旬"];
    parts.into_iter().find_map(|part| text.strip_prefix(part)).unwrap_or(text)
}

/// The text after 周, 星期 or 礼拜.
pub(super) fn week_word(text: &str) -> Option<&str> {
    ["周", "週", "星期", "礼拜", "禮拜"].into_iter().find_map(|word| text.strip_prefix(word))
}

/// The weekday (Monday is 0) at the beginning of `text`, and the rest.
pub(super) fn weekday_char(text: &str) -> Option<(i8, &str)> {
    let first = text.chars().next()?;
    let weekday = match first {
        '日' | '天' => 6,
        _ => i8::try_from("一二三四五六".chars().position(|c| c == first)?).ok()?,
    };
    let after = &text[first.len_utf8()..];
    // 周一直, 周三次, 周五个: a count or an adverb after "week".
    let other = after.starts_with([
        '直', '共', '起', '样', '般', '次', '个', '個', '遍', '场', '门', '天', '年', '十',
    ]);
    (!other).then_some((weekday, after))
}
