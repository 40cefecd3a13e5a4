//! What a mention of time is, and how it is written down again.

use jiff::civil::Date;

use crate::text::Language;

/// How precise a mention is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Grain {
    /// One day, or a range of days that fits none of the others.
    Day,
    /// Saturday and Sunday.
    Weekend,
    /// Monday to Sunday.
    Week,
    /// One calendar month, or several.
    Month,
    /// Three months; a winter begins in December of the year before the one it ends in.
    Season,
    /// One calendar year, or several.
    Year,
    /// Ten calendar years.
    Decade,
}

/// A place in a text that names a time, and the days it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeMention {
    /// Where the mention starts, in bytes of the text.
    pub start: usize,
    /// Where it ends (exclusive), in bytes of the text.
    pub end: usize,
    /// The first day that is meant.
    pub from: Date,
    /// The last day that is meant; never before `from`.
    pub to: Date,
    /// How precise the mention is.
    pub grain: Grain,
    /// Whether its meaning depends on when it was written.
    pub relative: bool,
    /// Whether a careful reader would have no doubt about the days.
    pub confident: bool,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl TimeMention {
    /// The days in ISO 8601: a day, a month (`2023-05`), a year (`2023`), or an interval of days
    /// (`2023-05-01/2023-05-07`).
    pub fn iso(&self) -> String {
        let (from, to) = (self.from, self.to);
        let day = |date: Date| format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day());
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            Grain::Month if same_month => format!("{:04}-{:02}", from.year(), from.month()),
            Grain::Year if from.year() == to.year() => format!("{:04}", from.year()),
            _ if from == to => day(from),
            _ => format!("{}/{}", day(from), day(to)),
        }
    }

    /// The days in words: "5 May 2023", "the week of 1 May 2023", "summer 2022"; 2023年5月5日 in
    /// Chinese. Other languages get English.
    pub fn describe(&self, language: Language) -> String {
        if language == Language::Chinese {
            self.describe_chinese()
        } else {
            self.describe_english()
        }
    }

    fn describe_english(&self) -> String {
        let (from, to) = (self.from, self.to);
        let day =
            |date: Date| format!("{} {} {}", date.day(), MONTHS[month_index(date)], date.year());
        let month = |date: Date| format!("{} {}", MONTHS[month_index(date)], date.year());
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            Grain::Week => format!("the week of {}", day(from)),
            Grain::Weekend => format!("the weekend of {}", day(from)),
            Grain::Month if same_month => month(from),
            Grain::Month => format!("{} to {}", month(from), month(to)),
            Grain::Season if from.year() != to.year() => {
                format!("winter {}/{:02}", from.year(), to.year() % 100)
            }
            Grain::Season => {
                format!("{} {}", ["spring", "summer", "autumn"][season_index(from)], from.year())
            }
            Grain::Year if from.year() == to.year() => from.year().to_string(),
            Grain::Year => format!("{} to {}", from.year(), to.year()),
            Grain::Decade => format!("the {}s", from.year()),
            Grain::Day if from == to => day(from),
            Grain::Day if same_month => format!("{} to {}", from.day(), day(to)),
            Grain::Day => format!("{} to {}", day(from), day(to)),
        }
    }

    fn describe_chinese(&self) -> String {
        let (from, to) = (self.from, self.to);
        let day = |date: Date| format!("{}年{}月{}日", date.year(), date.month(), date.day());
        let month = |date: Date| format!("{}年{}月", date.year(), date.month());
        let same_month = (from.year(), from.month()) == (to.year(), to.month());
        match self.grain {
            Grain::Week => format!("{}那一周", day(from)),
            Grain::Weekend => format!("{}那个周末", day(from)),
            Grain::Month if same_month => month(from),
            Grain::Month => format!("{}至{}", month(from), month(to)),
            Grain::Season => {
                let name = if from.year() != to.year() {
                    "冬天"
                } else {
                    ["春天", "夏天", "秋天"][season_index(from)]
                };
                format!("{}年{name}", from.year())
            }
            Grain::Year if from.year() == to.year() => format!("{}年", from.year()),
            Grain::Year => format!("{}年至{}年", from.year(), to.year()),
            Grain::Decade => format!("{}年代", from.year()),
            Grain::Day if from == to => day(from),
            Grain::Day => format!("{}至{}", day(from), day(to)),
        }
    }
}

fn month_index(date: Date) -> usize {
    usize::try_from(date.month() - 1).expect("invariant: months count from 1")
}

/// Spring (0) to autumn (2), by the month it begins in.
fn season_index(from: Date) -> usize {
    ((month_index(from) + 1) / 3).clamp(1, 3) - 1
}
