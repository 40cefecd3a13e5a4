//! The words of a context around its messages: headings, days and marks in the language of the
//! talk. They are also read back, where a context comes in a message.

use jiff::civil::Date;

use super::form::{DatePrecision, FactSection};
use crate::index::MessageIndex;
use crate::text::vocabulary::months;
use crate::text::{Language, language, telling_start};

/// Number of messages, the latest, that tell the language of a talk, and among how many they are
/// looked for first: a filter may admit few of very many.
const READ: usize = 64;
const LATEST: usize = 2_048;

/// The words of one language; `{}` stands for a date.
#[derive(Debug, PartialEq, Eq)]
pub struct ContextWords {
    language: Language,
    /// Monday to Sunday.
    weekdays: [&'static str; 7],
    facts: &'static str,
    agent: &'static str,
    worked: &'static str,
    failed: &'static str,
    tried: &'static str,
    summaries: &'static str,
    /// Begins the mark with later words.
    pub(super) later: &'static str,
    outdated: &'static str,
    outdated_since: &'static str,
    /// Stands for the date before a fact that begins then.
    pub(super) ahead: &'static str,
    /// Stands before an earlier value.
    pub before_value: &'static str,
    /// Stands before an earlier fact.
    pub before_fact: &'static str,
}

const ENGLISH: ContextWords = ContextWords {
    language: Language::English,
    weekdays: ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
    facts: "Facts, ",
    agent: "About the agent",
    worked: "What worked",
    failed: "What failed",
    tried: "What was tried",
    summaries: "Summaries",
    later: "later, ",
    outdated: "outdated",
    outdated_since: "outdated since {}",
    ahead: "from {}",
    before_value: ", before ",
    before_fact: "; before: ",
};
const CHINESE: ContextWords = ContextWords {
    language: Language::Chinese,
    weekdays: ["周一", "周二", "周三", "周四", "周五", "周六", "周日"],
    facts: "事实，",
    agent: "关于助手",
    worked: "成功的做法",
    failed: "失败的做法",
    tried: "尝试过的做法",
    summaries: "摘要",
    later: "后来，",
    outdated: "已过时",
    outdated_since: "自{}起已过时",
    ahead: "{}起",
    before_value: "，此前",
    before_fact: "；此前：",
};
const GERMAN: ContextWords = ContextWords {
    language: Language::German,
    weekdays: ["Mo", "Di", "Mi", "Do", "Fr", "Sa", "So"],
    facts: "Fakten, ",
    agent: "Über den Assistenten",
    worked: "Was gelang",
    failed: "Was misslang",
    tried: "Was versucht wurde",
    summaries: "Zusammenfassungen",
    later: "später, ",
    outdated: "überholt",
    outdated_since: "überholt seit {}",
    ahead: "ab {}",
    before_value: ", vorher ",
    before_fact: "; vorher: ",
};
const FRENCH: ContextWords = ContextWords {
    language: Language::French,
    weekdays: ["lun", "mar", "mer", "jeu", "ven", "sam", "dim"],
    facts: "Faits, ",
    agent: "Sur l’assistant",
    worked: "Ce qui a réussi",
    failed: "Ce qui a échoué",
    tried: "Ce qui a été tenté",
    summaries: "Résumés",
    later: "plus tard, ",
    outdated: "dépassé",
    outdated_since: "dépassé depuis {}",
    ahead: "à partir du {}",
    before_value: ", avant ",
    before_fact: " ; avant : ",
};
const SPANISH: ContextWords = ContextWords {
    language: Language::Spanish,
    weekdays: ["lun", "mar", "mié", "jue", "vie", "sáb", "dom"],
    facts: "Hechos, ",
    agent: "Sobre el asistente",
    worked: "Lo que funcionó",
    failed: "Lo que falló",
    tried: "Lo que se intentó",
    summaries: "Resúmenes",
    later: "más tarde, ",
    outdated: "superado",
    outdated_since: "superado desde {}",
    ahead: "a partir del {}",
    before_value: ", antes ",
    before_fact: "; antes: ",
};

/// All languages that have words.
pub(super) const ALL: [&ContextWords; 5] = [&ENGLISH, &CHINESE, &GERMAN, &FRENCH, &SPANISH];

impl ContextWords {
    /// The words of a language; `Other` uses the English ones.
    pub fn of(language: Language) -> &'static Self {
        ALL.into_iter().find(|words| words.language == language).unwrap_or(&ENGLISH)
    }

    /// The words for the language in which most of the latest messages are that `admits` lets in;
    /// if that is none of the latest, of these `found` ones. Without talk, of the `facts`.
    pub fn of_talk<'a>(
        index: &'a MessageIndex,
        admits: &dyn Fn(u32) -> bool,
        found: impl Iterator<Item = u32>,
        facts: impl Iterator<Item = &'a str>,
    ) -> &'static Self {
        let latest = (0..index.priors().len() as u32).rev().filter(|slot| index.has_message(*slot));
        let latest = latest.take(LATEST).filter(|slot| admits(*slot)).take(READ);
        let mut told: Vec<u32> = latest.collect();
        if told.is_empty() {
            told.extend(found.filter(|slot| admits(*slot)).take(READ));
        }
        let mut texts: Vec<&str> = Vec::with_capacity(READ);
        texts.extend(told.iter().map(|slot| &*index.get(*slot).content));
        if texts.is_empty() {
            texts.extend(facts.take(READ));
        }
        let mut votes = [0; ALL.len()];
        for text in texts {
            let start = telling_start(text);
            let words = Self::of(language(start));
            let place = ALL.iter().position(|known| *known == words);
            votes[place.unwrap_or_default()] += start.len();
        }
        // Of equal ones the first.
        let most = (0..ALL.len()).rev().max_by_key(|place| votes[*place]);
        ALL[most.unwrap_or_default()]
    }

    /// The heading of a day. Only the first day shown of each year has the year in it.
    pub(super) fn day_heading(&self, date: Date, with_year: bool) -> String {
        let weekday =
            self.weekdays[usize::from(date.weekday().to_monday_zero_offset().unsigned_abs())];
        let day = self.date(date, DatePrecision::Day, with_year);
        if self.language == Language::Chinese {
            format!("# {day} {weekday}\n")
        } else {
            format!("# {weekday} {day}\n")
        }
    }

    /// The heading of the facts that hold since the given year.
    pub(super) fn fact_heading(&self, year: i16) -> String {
        let end = if self.language == Language::Chinese { "年" } else { "" };
        format!("# {}{year}{end}\n", self.facts)
    }

    /// The heading of facts without a stated beginning, or of another section.
    pub(super) fn section_heading(&self, section: FactSection) -> String {
        let heading = match section {
            FactSection::Facts => self.facts_title(),
            FactSection::Agent => self.agent,
            FactSection::Worked => self.worked,
            FactSection::Failed => self.failed,
            FactSection::Tried => self.tried,
        };
        format!("# {heading}\n")
    }

    /// The heading of the summaries that replace messages that did not fit.
    pub(super) fn summaries_heading(&self) -> String {
        format!("# {}\n", self.summaries)
    }

    /// The mark on an outdated message, in brackets.
    pub(super) fn outdated_mark(&self, since: Option<&str>) -> String {
        match since {
            None => format!(" [{}]", self.outdated),
            Some(since) => format!(" [{}]", self.outdated_since.replace("{}", since)),
        }
    }

    /// A date as far as it is known; without its year under a heading that has it.
    pub(super) fn date(&self, date: Date, known: DatePrecision, with_year: bool) -> String {
        let (has_day, has_month) = (known == DatePrecision::Day, known != DatePrecision::Year);
        let (day, month, year) = (date.day(), date.month(), date.year());
        let year = with_year.then(|| year.to_string());
        if self.language == Language::Chinese {
            let year = year.map(|year| year + "年").unwrap_or_default();
            let month = if has_month { format!("{month}月") } else { String::new() };
            let day = if has_day { format!("{day}日") } else { String::new() };
            return year + &month + &day;
        }
        let day = has_day.then(|| match self.language {
            Language::German => format!("{day}."),
            Language::French if day == 1 => "1er".to_owned(),
            _ => day.to_string(),
        });
        let month = has_month.then(|| self.month(month).to_owned());
        let gap = if self.language == Language::Spanish { " de " } else { " " };
        [day, month, year].into_iter().flatten().collect::<Vec<_>>().join(gap)
    }

    fn month(&self, month: i8) -> &'static str {
        let name = months(self.language)[usize::from(month.unsigned_abs()).clamp(1, 12) - 1];
        if self.language == Language::English { &name[..3] } else { name }
    }

    /// True if the heading is that of a day, with or without the year.
    pub(super) fn is_day(&self, heading: &str, date: Date) -> bool {
        let is_written = |with_year| self.day_heading(date, with_year)[2..].trim_end() == heading;
        is_written(true) || is_written(false)
    }

    /// True for one of the headings of facts and summaries, without the mark before it.
    pub(super) fn is_heading(&self, text: &str) -> bool {
        let headings = [self.agent, self.worked, self.failed, self.tried, self.summaries];
        headings.contains(&text) || text.starts_with(self.facts) || text == self.facts_title()
    }

    /// "Facts", without the comma before a year.
    fn facts_title(&self) -> &'static str {
        self.facts.trim_end_matches([',', '，', ' '])
    }
}

/// A date that a context has written, in any of its languages.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenDate {
    pub year: Option<i16>,
    pub month: Option<i8>,
    pub day: Option<i8>,
}

impl WrittenDate {
    /// Reads "8 May 2024", "8 May", "May 2024", "May", "2024" or "from 8 May"; `None` for other
    /// texts.
    pub fn read(text: &str) -> Option<Self> {
        let ahead = ALL.iter().filter_map(|words| words.ahead.split_once("{}"));
        let bare = |(start, end)| text.strip_prefix(start)?.strip_suffix(end);
        let text = ahead.filter(|ends| *ends != ("", "")).find_map(bare).unwrap_or(text);
        let found = if text.contains(['年', '月']) { chinese(text) } else { spaced(text) }?;
        let is_date = found.month.is_some() || found.year.is_some() && found.day.is_none();
        is_date.then_some(found)
    }

    /// Reads the heading of a day, with or without its year.
    pub fn read_heading(text: &str) -> Option<Self> {
        let is_weekday = |word: &str| ALL.iter().any(|words| words.weekdays.contains(&word));
        let day = match (text.split_once(' '), text.rsplit_once(' ')) {
            (Some((weekday, day)), _) if is_weekday(weekday) => day,
            (_, Some((day, weekday))) if is_weekday(weekday) => day,
            _ => return None,
        };
        Self::read(day).filter(|date| date.day.is_some())
    }

    /// The day, in `year` if the date has none.
    pub fn in_year(self, year: Option<i16>) -> Option<Date> {
        Date::new(self.year.or(year)?, self.month?, self.day?).ok()
    }
}

fn chinese(text: &str) -> Option<WrittenDate> {
    let mut rest = text;
    let mut number = |mark: char| {
        let (digits, after) = rest.split_once(mark)?;
        let value = digits.parse::<u16>().ok()?;
        rest = after;
        i16::try_from(value).ok()
    };
    let year = number('年');
    let [month, day] = ['月', '日'].map(|mark| number(mark).and_then(|one| i8::try_from(one).ok()));
    rest.is_empty().then_some(WrittenDate { year, month, day })
}

fn spaced(text: &str) -> Option<WrittenDate> {
    let mut words = text.split(' ').filter(|word| *word != "de").peekable();
    let number = |word: &str, digits: &[usize]| {
        let is_number = digits.contains(&word.len()) && word.bytes().all(|c| c.is_ascii_digit());
        is_number.then(|| word.parse::<i16>().ok())?
    };
    let bare = |word: &&str| {
        let day = word.strip_suffix('.').or_else(|| word.strip_suffix("er")).unwrap_or(word);
        number(day, &[1, 2])
    };
    let day = words.peek().and_then(bare);
    if day.is_some() {
        words.next();
    }
    let month = words.peek().and_then(|word| {
        (1..=12).find(|month| ALL.iter().any(|words| words.month(*month) == *word))
    });
    if month.is_some() {
        words.next();
    }
    let year = words.peek().and_then(|word| number(word, &[4]));
    if year.is_some() {
        words.next();
    }
    let day = day.and_then(|day| i8::try_from(day).ok());
    words.next().is_none().then_some(WrittenDate { year, month, day })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_heading_is_read_back() {
        for words in ALL {
            for (month, day) in [(1, 1), (2, 29), (3, 14), (5, 8), (8, 31), (12, 24)] {
                let date = jiff::civil::date(2024, month, day);
                for with_year in [true, false] {
                    let heading = words.day_heading(date, with_year);
                    let text = heading.strip_prefix("# ").expect("a heading").trim_end();
                    let read = WrittenDate::read_heading(text).expect(text);
                    assert_eq!(read.year.is_some(), with_year, "{text}");
                    assert_eq!(read.in_year(Some(2024)), Some(date), "{text}");
                }
                for known in [DatePrecision::Day, DatePrecision::Month, DatePrecision::Year] {
                    let text = words.date(date, known, true);
                    assert!(WrittenDate::read(&text).is_some(), "{text}");
                }
            }
            for heading in [words.fact_heading(2024), words.section_heading(FactSection::Facts)] {
                assert!(words.is_heading(heading[2..].trim_end()), "{heading}");
            }
        }
    }

    #[test]
    fn days_are_written_as_people_write_them() {
        let date = jiff::civil::date(2025, 1, 10);
        let headings = ALL.map(|words| words.day_heading(date, true));
        assert_eq!(
            headings,
            [
                "# Fri 10 Jan 2025\n",
                "# 2025年1月10日 周五\n",
                "# Fr 10. Januar 2025\n",
                "# ven 10 janvier 2025\n",
                "# vie 10 de enero de 2025\n",
            ]
        );
    }

    #[test]
    fn dates_are_told_from_names() {
        for date in ["8 May 2024", "8 May", "May 2024", "May", "2024", "8. März", "3月8日"] {
            assert!(WrittenDate::read(date).is_some(), "{date}");
        }
        for other in ["Ann", "8", "8 2024", "May 8", "", "Ann May", "20240", "月", "年糕", "8日"]
        {
            assert!(WrittenDate::read(other).is_none(), "{other}");
        }
    }
}
