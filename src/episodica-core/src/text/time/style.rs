//! The format of dates with a year in each language.

use jiff::civil::Date;

use crate::text::Language;
use crate::text::vocabulary::months;

/// The formats of one language; `{}` is the placeholder for the value.
pub(super) struct DateStyle {
    language: Language,
    /// Spring, summer, autumn; a winter is written as its months.
    seasons: [&'static str; 3],
    to: &'static str,
    around: &'static str,
}

const ENGLISH: DateStyle = DateStyle {
    language: Language::English,
    seasons: ["spring", "summer", "autumn"],
    to: " to ",
    around: "around {}",
};
const CHINESE: DateStyle = DateStyle {
    language: Language::Chinese,
    seasons: ["春天", "夏天", "秋天"],
    to: "至",
    around: "{}前后",
};
const GERMAN: DateStyle = DateStyle {
    language: Language::German,
    seasons: ["Frühling", "Sommer", "Herbst"],
    to: " bis ",
    around: "um den {}",
};
const SPANISH: DateStyle = DateStyle {
    language: Language::Spanish,
    seasons: ["primavera", "verano", "otoño"],
    to: " a ",
    around: "hacia el {}",
};
const FRENCH: DateStyle = DateStyle {
    language: Language::French,
    seasons: ["printemps", "été", "automne"],
    to: " à ",
    around: "vers le {}",
};

/// The style of `language`; `Other` uses the English style.
pub(super) fn of(language: Language) -> &'static DateStyle {
    match language {
        Language::Chinese => &CHINESE,
        Language::German => &GERMAN,
        Language::Spanish => &SPANISH,
        Language::French => &FRENCH,
        Language::English | Language::Other => &ENGLISH,
    }
}

impl DateStyle {
    fn name(&self, date: Date) -> &'static str {
        months(self.language)[usize::from(date.month().unsigned_abs()).clamp(1, 12) - 1]
    }

    pub(super) fn year(&self, year: i16) -> String {
        if self.language == Language::Chinese { format!("{year}年") } else { year.to_string() }
    }

    pub(super) fn month(&self, date: Date) -> String {
        let (name, year) = (self.name(date), date.year());
        match self.language {
            Language::Chinese => format!("{year}年{name}"),
            Language::Spanish => format!("{name} de {year}"),
            _ => format!("{name} {year}"),
        }
    }

    pub(super) fn day(&self, date: Date) -> String {
        let (day, month) = (date.day(), self.month(date));
        match self.language {
            Language::Chinese => format!("{month}{day}日"),
            Language::German => format!("{day}. {month}"),
            Language::Spanish => format!("{day} de {month}"),
            Language::French if day == 1 => format!("1er {month}"),
            _ => format!("{day} {month}"),
        }
    }

    /// A range of days in one month.
    pub(super) fn days(&self, from: Date, to: Date) -> String {
        match self.language {
            Language::Chinese => format!("{}至{}日", self.day(from), to.day()),
            Language::German => format!("{}. bis {}", from.day(), self.day(to)),
            _ => self.span(&from.day().to_string(), &self.day(to)),
        }
    }

    pub(super) fn season(&self, season: usize, year: i16) -> String {
        let name = self.seasons[season];
        if self.language == Language::Chinese {
            format!("{year}年{name}")
        } else {
            format!("{name} {year}")
        }
    }

    pub(super) fn span(&self, from: &str, to: &str) -> String {
        format!("{from}{}{to}", self.to)
    }

    pub(super) fn around(&self, day: &str) -> String {
        self.around.replace("{}", day)
    }
}
