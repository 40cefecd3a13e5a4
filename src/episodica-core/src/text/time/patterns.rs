//! Finds the expressions of time of a language from its patterns.
//!
//! A pattern is a regular expression with placeholders: `{wd}` a weekday (`{anywd}` if the date
//! follows without it, `{beside}` also in its short English form, `{swd}` a short English name),
//! `{mon}` a month, `{m}` its number, `{unit}`, `{n}` a count, `{d}` a day of a month, `{nth}` an
//! ordinal, `{base}` a day near today, `{y}` a year, `{decade}`, `{season}`, `{feast}`; `{n2}`,
//! `{d2}`, `{mon2}`, `{m2}` and `{y2}` end a range. Of the matches at one position, the longest
//! wins.

use std::ops::Range;

use crate::fork::ForkLazy;

use jiff::civil::Date;

use super::calendar::CalendarUnit;
use super::grammar::{DateVocabulary, NamedStep, PatternMeaning};
use super::holidays::Holiday;
use super::languages::{english, french, german, spanish};
use super::meaning::MatchPlace;
use super::mention::{DateGrain, TimeMention};
use super::tense::{self, TenseReader};
use crate::text::expression::{TextExpression, TextMatch};
use crate::text::expressions::ExpressionTable;
use crate::text::{Language, is_cjk};

/// Number of bytes before a mention that are read to reject it.
const REACH: usize = 60;

/// Numeric forms, shared by all languages.
const NUMERIC: &[(&str, PatternMeaning)] = &[
    (r"{y}-(?P<m>\d\d)-(?P<d>\d\d)(?:T\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?", PatternMeaning::Date),
    (r"{y}/(?P<m>\d\d?)/(?P<d>\d\d?)", PatternMeaning::Date),
    (r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.{y}", PatternMeaning::Date),
    (r"{y}-(?P<m>\d\d)", PatternMeaning::Month(NamedStep::Tense)),
    (r"(?P<a>\d\d?)/(?P<b>\d\d?)/{y}", PatternMeaning::Slashed),
    (r"(?P<a>\d\d?)-(?P<b>\d\d?)-{y}", PatternMeaning::Slashed),
];

/// What joins the weekdays of a list or a range, in all languages.
const LISTED: &str = concat!(
    r"\s*(?:,|&|/|\+|[-–—]|",
    r"\b(?:and|or|to|through|thru|till?|until|und|oder|bis|y|o|u|e|a|al|et|ou|à|au)\b)\s*",
);
const LISTED_PREPOSITIONS: &str = "(?:on|by|the|am|zum|el|le|de) ";

/// Which weekday or week of a month, in all languages; the last is -1.
const ORDINALS: [(&str, i8); 5] = [
    ("first|1st|erste[nrs]?|primer|premier", 1),
    ("second|2nd|zweite[nrs]?|segundo|deuxième", 2),
    ("third|3rd|dritte[nrs]?|tercer|troisième", 3),
    ("fourth|4th|vierte[nrs]?|cuarto|quatrième", 4),
    ("last|letzte[nrs]?|último|dernier", -1),
];

/// Words that count from today, and words after them that give them another beginning: "the last
/// Friday of term", "am letzten Freitag vor Ostern". All languages share them, but for the names.
const STEPS: &str = concat!(
    r"\b(?:last|next|past|previous|(?:vor)?letzte[nmrs]?|nächste[nmrs]?|vorige[nmrs]?|",
    r"kommende[nmrs]?|vergangene[nmrs]?|últim[oa]|próxim[oa]|pasad[oa]|derni[eè]re?|prochaine?)\b",
);
const BEGINNING_OF: &str = r"^ (?:of|des|der|dieses|del?|du)\b|^ d['’]";
const BEGINNING_IN: &str = concat!(
    r"^ (?:in|im|en|before|vor|antes de|avant|after|nach|después de|après) ",
    r"(?:(?:the|dem|der|den|la|el|le|l['’]|last|next|letzten|nächsten|diesem) ?){0,2}",
    r"(?:{mon}|{season}|{feast})\b|^ (?:in|im|en) (?:(?:the|dem|der|el|la|le) )?{unit}\b",
);
/// Words after a day that count it from another one: "le lundi suivant".
const FOLLOWING: &str = concat!(
    r"^ (?:suivante?|siguiente|darauf|danach|d['’]après|thereafter|week|fortnight)\b|",
    r"^,? a (?:week|fortnight)(?:[.,;!?]|$)",
);
/// Words before a count that make it a duration, a frequency, an age or a part of another count.
const LASTING: &str = concat!(
    r"\b(?:for|within|over|the|next|last|past|these|after|half|another|times|once|twice|hours|",
    r"{unit},?(?: and)?|(?:baby|twins|puppy|kitten)(?: is| are|['’]s)|",
    r"(?-i:[A-Z])\w+(?: is|['’]s)|(?:it|that|this|he|she|they|we|i)(?:['’](?:s|m|re|ll be)| is| ",
    r"am| are| was| were| will be)) $",
);
const ELAPSED: &str = r"\b(?:been|since|ago|old|(?:will|['’]ll) have)\b";
/// Words after a day that count from it, where no pattern reads the count.
const COUNTED_ON: &str =
    r"^ (?:in|über|vor|en|dans|dentro de) (?:[\p{L}\d]+ {unit}|huit|quinze|ocho|quince)\b";

/// The names of one kind, each with its value.
pub(super) struct NamedValues<T>(Vec<(TextExpression, T)>);

/// The patterns of a language.
pub(super) struct DatePatterns {
    pub language: Language,
    patterns: ExpressionTable<PatternMeaning>,
    pub weekdays: NamedValues<i8>,
    pub short_weekdays: NamedValues<i8>,
    pub months: NamedValues<i8>,
    pub units: NamedValues<CalendarUnit>,
    pub numbers: NamedValues<i64>,
    pub day_words: NamedValues<i8>,
    pub seasons: NamedValues<i8>,
    pub feasts: NamedValues<Holiday>,
    pub habits: TextExpression,
    pub mornings: TextExpression,
    pub goes_on: TextExpression,
    pub listed_before: TextExpression,
    pub listed_after: TextExpression,
    pub range_goes_on: TextExpression,
    pub steps: TextExpression,
    begins_of: TextExpression,
    begins_in: TextExpression,
    following: TextExpression,
    pub lasting: TextExpression,
    pub elapsed: TextExpression,
    pub counted_on: TextExpression,
    pub ordinals: NamedValues<i8>,
    pub day_first: bool,
    rejected: Option<TextExpression>,
    counted: TextExpression,
    pub tense: &'static ForkLazy<TenseReader>,
}

static ENGLISH: ForkLazy<DatePatterns> =
    ForkLazy::new(|| DatePatterns::new(Language::English, &english::VOCABULARY, &tense::ENGLISH));
static GERMAN: ForkLazy<DatePatterns> =
    ForkLazy::new(|| DatePatterns::new(Language::German, &german::VOCABULARY, &tense::GERMAN));
static SPANISH: ForkLazy<DatePatterns> =
    ForkLazy::new(|| DatePatterns::new(Language::Spanish, &spanish::VOCABULARY, &tense::SPANISH));
static FRENCH: ForkLazy<DatePatterns> =
    ForkLazy::new(|| DatePatterns::new(Language::French, &french::VOCABULARY, &tense::FRENCH));

/// The patterns for a text in `language`; the English patterns also serve all other languages.
pub(super) fn of(language: Language) -> &'static DatePatterns {
    match language {
        Language::German => &GERMAN,
        Language::Spanish => &SPANISH,
        Language::French => &FRENCH,
        Language::English | Language::Chinese | Language::Other => &ENGLISH,
    }
}

impl<T: Copy> NamedValues<T> {
    fn new<'a>(names: impl IntoIterator<Item = (&'a str, T)>) -> Self {
        let one = |(name, value)| (TextExpression::new(format!("^(?:{name})$")), value);
        Self(names.into_iter().map(one).collect())
    }

    pub(super) fn find(&self, name: &str) -> Option<T> {
        self.0.iter().find(|(regex, _)| regex.is_match(name)).map(|(_, value)| *value)
    }
}

fn any<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join("|")
}

/// The placeholders of the patterns, with their replacements.
fn placeholders(words: &DateVocabulary) -> Vec<(&'static str, String)> {
    let weekdays = any(words.weekdays);
    let months = any(words.months);
    let numbers = any(words.numbers.iter().map(|(name, _)| *name));
    let days = format!(
        r"[0-3]?\d{}",
        words.day_words.iter().map(|(name, _)| format!("|{name}")).collect::<String>()
    );
    let ordinal = r"(?:(?:st|nd|rd|th|er)\b|º)?";
    vec![
        ("{anywd}", format!("(?:{weekdays})")),
        (
            "{beside}",
            format!(r"(?:(?:{weekdays}|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b\.?))"),
        ),
        ("{wd}", format!("(?P<wd>{weekdays})")),
        ("{swd}", r"(?P<swd>(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))".to_owned()),
        ("{mon2}", format!("(?P<mon2>{months})")),
        ("{mon}", format!("(?P<mon>{months})")),
        ("{unit}", format!("(?P<unit>{})", any(words.units.iter().map(|(name, _)| *name)))),
        ("{n2}", format!(r"(?P<n2>\d{{1,4}}|{numbers})")),
        ("{n}", format!(r"(?P<n>\d{{1,4}}|{numbers})")),
        ("{nth}", format!("(?P<nth>{})", any(ORDINALS.map(|(name, _)| name)))),
        ("{season}", format!("(?P<season>{})", any(words.seasons))),
        ("{feast}", format!("(?P<feast>{})", any(words.feasts.iter().map(|(name, _)| *name)))),
        ("{d2}", format!("(?P<d2>{days}){ordinal}")),
        ("{d}", format!("(?P<d>{days}){ordinal}")),
        ("{m2}", r"(?P<m2>[01]?\d)".to_owned()),
        ("{m}", r"(?P<m>[01]?\d)".to_owned()),
        ("{y2}", r"(?P<y2>[12]\d{3})".to_owned()),
        ("{y}", r"(?P<y>[12]\d{3})".to_owned()),
        ("{base}", "(?P<base>today|tomorrow|yesterday)".to_owned()),
        ("{decade}", r"(?P<decade>(?:1[89]|20)\d0|(?-u:\b)[2-9]0)".to_owned()),
    ]
}

const SHORT_WEEKDAYS: [(&str, i8); 7] =
    [("mon", 0), ("tues?", 1), ("wed", 2), ("thu(?:rs?)?", 3), ("fri", 4), ("sat", 5), ("sun", 6)];

impl DatePatterns {
    fn new(
        language: Language,
        words: &'static DateVocabulary,
        tense: &'static ForkLazy<TenseReader>,
    ) -> Self {
        let fill = placeholders(words);
        let filled = |pattern: &str| {
            fill.iter()
                .fold(pattern.to_owned(), |pattern, (name, value)| pattern.replace(name, value))
        };
        let bounded = |pattern: &str| {
            // Full stops are boundaries by themselves; numbers may be next to Chinese characters.
            let start =
                if pattern.starts_with("{y}") || pattern.starts_with("(?P<") { "" } else { r"\b" };
            let end = if pattern.ends_with('.') || start.is_empty() { "" } else { r"\b" };
            format!("{start}(?:{}){end}", filled(pattern))
        };
        let patterns = words.patterns.iter().chain(NUMERIC);
        Self {
            language,
            patterns: ExpressionTable::new(
                patterns.map(|(text, meaning)| (bounded(text), *meaning)),
            ),
            weekdays: NamedValues::new(words.weekdays.into_iter().zip(0..)),
            short_weekdays: NamedValues::new(SHORT_WEEKDAYS),
            months: NamedValues::new(words.months.into_iter().zip(1..)),
            units: NamedValues::new(words.units.iter().copied()),
            numbers: NamedValues::new(words.numbers.iter().copied()),
            day_words: NamedValues::new(words.day_words.iter().copied()),
            seasons: NamedValues::new(words.seasons.into_iter().zip(0..)),
            feasts: NamedValues::new(words.feasts.iter().copied()),
            habits: TextExpression::new(format!(r"\b(?:{})\b", words.habits)),
            mornings: TextExpression::new(format!(r"\b(?:{})\s+$", words.mornings)),
            goes_on: TextExpression::new(format!(
                r#"^(?:\s*(?:$|[,;:!?)\]"”’…。，！？]|\.(?:\s|$)|\s[-–—])|\s+(?:{})\b)"#,
                words.goes_on
            )),
            listed_before: TextExpression::new(filled(&format!(
                r"(?:{{anywd}})s?(?:{LISTED})(?:{LISTED_PREPOSITIONS})?$"
            ))),
            listed_after: TextExpression::new(filled(&format!(
                r"^(?:{LISTED})(?:{LISTED_PREPOSITIONS})?(?:{{anywd}})"
            ))),
            range_goes_on: TextExpression::new(
                r"^(?: to| until| till| through| bis| al| hasta| au| jusqu['’]|\s?[-–])\b"
                    .to_owned(),
            ),
            steps: TextExpression::new(STEPS.to_owned()),
            begins_of: TextExpression::new(BEGINNING_OF.to_owned()),
            begins_in: TextExpression::new(filled(BEGINNING_IN)),
            following: TextExpression::new(FOLLOWING.to_owned()),
            lasting: TextExpression::new(filled(LASTING)),
            elapsed: TextExpression::new(ELAPSED.to_owned()),
            counted_on: TextExpression::new(filled(COUNTED_ON)),
            ordinals: NamedValues::new(ORDINALS),
            day_first: words.day_first,
            rejected: (!words.rejected.is_empty()).then(|| {
                TextExpression::new(format!(r"\b(?:{})", filled(&words.rejected.join("|"))))
            }),
            counted: TextExpression::new(format!(r"^ ?(?:(?:{})\b|%)", words.counted)),
            tense,
        }
    }

    /// The mentions of `text` for a text written on `today`, in order and without overlaps.
    pub(super) fn scan(&self, text: &str, today: Date) -> Vec<TimeMention> {
        let mut matches: Vec<(TextMatch<'_>, PatternMeaning)> = Vec::new();
        for (expression, meaning) in self.patterns.candidate_expressions(text) {
            matches.extend(expression.find_all(text).map(|found| (found, *meaning)));
        }
        let place = |found: &TextMatch<'_>| {
            let Range { start, end } = found.range();
            (start, std::cmp::Reverse(end))
        };
        matches.sort_by_key(|(found, _)| place(found));
        let mut mentions: Vec<TimeMention> = Vec::new();
        let mut free = 0;
        for (found, meaning) in &matches {
            let Range { start, end } = found.range();
            if start < free || !self.stands_alone(text, start, end) {
                continue;
            }
            let place = MatchPlace { patterns: self, text, today, start, end, found };
            let Some(found) = place.resolve(*meaning) else { continue };
            free = end;
            if self.counts_from_elsewhere(text, start..end, *meaning, found.grain) {
                continue;
            }
            mentions.push(TimeMention {
                start,
                end,
                from: found.days.0,
                to: found.days.1,
                grain: found.grain,
                relative: !found.absolute,
                confident: found.confident,
                about: found.about,
                naming: found.naming(),
                language: self.language,
            });
        }
        mentions
    }

    /// Whether words that seem to count from today count from another day: "the last Friday of
    /// term", "le lundi suivant".
    fn counts_from_elsewhere(
        &self,
        text: &str,
        place: Range<usize>,
        meaning: PatternMeaning,
        grain: DateGrain,
    ) -> bool {
        let (surface, after) = (&text[place.clone()], &text[place.end..]);
        if matches!(meaning, PatternMeaning::NthWeekday | PatternMeaning::SpanOfMonth) {
            return false;
        }
        // "Next year in May" counts from today.
        let is_short = matches!(grain, DateGrain::Day | DateGrain::Week | DateGrain::Weekend);
        let step = self.steps.find(surface).map(|step| step.range());
        step.is_some_and(|step| {
            // "Vendredi dernier de mauvaise humeur": only a noun is of something.
            step.end < surface.len() && self.begins_of.is_match(after)
                || is_short && self.begins_in.is_match(after)
        }) || self.following.is_match(after)
    }

    /// Whether the text at `start..end` is not part of an address, a file name, a number, a count
    /// or a name.
    fn stands_alone(&self, text: &str, start: usize, end: usize) -> bool {
        let (before, after) = (&text[..start], &text[end..]);
        let inside = |c: char| c.is_alphanumeric() && !is_cjk(c);
        let glued = before.rsplit(char::is_whitespace).next().unwrap_or_default();
        if before.ends_with(inside)
            || glued.contains("://")
            || glued.contains(['@', '\\', '_', '#', '$', '='])
            || glued.ends_with(['.', ':', '/'])
                && glued.len() > 1
                && !glued.trim_end_matches(['.', ':', '/']).chars().all(char::is_alphabetic)
            || glued.ends_with('/') && glued.len() == 1
            || glued.ends_with('-')
                && glued[..glued.len() - 1].ends_with(|c: char| c.is_ascii_digit())
        {
            return false;
        }
        let mut next = after.chars();
        let (first, second) = (next.next().unwrap_or(' '), next.next().unwrap_or(' '));
        let digits = text[..end].ends_with(|c: char| c.is_ascii_digit());
        if inside(first)
            || matches!(first, '_' | '=' | '\\' | '@')
            || matches!(first, '.' | ':' | '/') && second.is_ascii_alphanumeric()
            || first == ',' && digits && second.is_ascii_digit()
            || first == '-' && second.is_alphanumeric()
            || first == '(' && second == ')'
        {
            return false;
        }
        if digits && self.counted.is_match(after) {
            return false;
        }
        let from = (end.saturating_sub(REACH)..=start).find(|at| text.is_char_boundary(*at));
        let from = from.unwrap_or(start);
        let Some(rejected) = &self.rejected else { return true };
        rejected.find(&text[from..end]).is_none_or(|found| from + found.range().start >= start)
    }
}
