//! Parses a question once into its terms, the speakers and dates that it names, and the text to
//! embed.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;

use super::beside::{AskedBesideTimes, without};
use super::late::TokenTable;
use super::translations::{SoughtWord, WordTranslator, is_japanese};
use super::variants::{QueryWord, WordVariant, variants};
use crate::clock::Moment;
use crate::index::{LocalDay, MessageIndex, SpeakerId, name_forms, stem_word};
use crate::text::script::is_unspaced;
use crate::text::time::{DatePart, DateRange, date_parts, query_range};
use crate::text::tongue::QueryLanguage;
use crate::text::vocabulary::is_function_word;
use crate::text::words::{fold, for_each_bigram, for_each_word, runs};
use crate::text::{Language, language};

/// Chinese function characters; a run is split at them before it is divided into bigrams.
pub(super) const FUNCTION_CHARACTERS: &str =
    "的了吗呢吧啊呀么是在有我你他她它们这那哪谁什几多少怎和跟与也都就还很不没";

/// Words of a question that asks for a time.
const WHEN: [&str; 10] =
    ["when", "date", "day", "month", "year", "time", "long", "ago", "often", "since"];
const WHEN_UNSPACED: [&str; 10] =
    ["什么时候", "何时", "哪天", "哪一天", "哪年", "几号", "几点", "多久", "いつ", "언제"];
/// Words of a question about the past.
const PAST: [&str; 12] = [
    "was",
    "were",
    "did",
    "had",
    "used",
    "before",
    "previously",
    "formerly",
    "originally",
    "ago",
    "former",
    "previous",
];
const PAST_UNSPACED: [&str; 9] =
    ["以前", "之前", "曾", "原来", "过去", "当时", "那时", "去年", "昨天"];
/// Weight of the single characters of a bigram.
const CHARACTER_WEIGHT: f32 = 0.15;
/// Weight of a single character that is a word with translations.
const WORD_WEIGHT: f32 = 0.3;

/// A relative date that covers more days than this does not restrict the day of a message.
const MAX_RANGE_DAYS: i32 = 62;

/// A term of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// The term, in the index's form.
    pub text: String,
    /// How informative the word is in general; multiplied by its rarity in the index.
    pub weight: f32,
    /// True if the term's script is written without spaces.
    pub unspaced: bool,
    /// Words of the index that count as occurrences of the term.
    pub variants: Vec<WordVariant>,
}

/// A parsed question.
#[derive(Debug, Clone, Default)]
pub struct ParsedQuery {
    /// The question as asked.
    pub text: String,
    /// Distinct index terms without speakers' names; with them if the question has nothing else.
    pub terms: Vec<QueryTerm>,
    /// `terms` with the names, for texts that mention people in the third person.
    pub all_terms: Vec<QueryTerm>,
    /// The speakers that the question names, ascending.
    pub named: BTreeSet<SpeakerId>,
    /// The dates that the question names.
    pub dates: BTreeSet<DatePart>,
    /// The days that the question names relative to now ("yesterday", "last Friday"); set by
    /// [`ParsedQuery::at`].
    pub range: Option<DateRange>,
    /// True if the question asks for a time.
    pub asks_when: bool,
    /// True if the question is about the past or names a date. Later messages then get no
    /// preference.
    pub asks_past: bool,
    /// True if the question has a word that the talk has, beside words of times.
    pub asks_of_the_talk: bool,
    /// True if the question names a time, and nothing else that the talk has.
    pub asks_only_when: bool,
    /// True if the question is in English, the language of the package's token table.
    pub is_english: bool,
    /// The question's words without speakers' names; the package's table embeds this text.
    pub plain: String,
    /// The question as written, without speakers' names; a sentence embedder embeds this text.
    pub sentence: String,
    /// The words of `plain` without function words; used for token comparison.
    pub content: String,
}

/// The speakers whom a question names, and their names as it writes them.
fn named_speakers<'n>(
    folded: &str,
    words: &BTreeSet<String>,
    index: &'n MessageIndex,
) -> (BTreeSet<SpeakerId>, BTreeSet<&'n str>) {
    let (mut named, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (id, name) in index.speaker_words().iter().enumerate() {
        for word in name {
            let unspaced = word.starts_with(is_unspaced);
            let form = name_forms(word)
                .find(|form| if unspaced { folded.contains(form) } else { words.contains(*form) });
            if let Some(form) = form {
                named.insert(id as SpeakerId);
                names.insert(form);
            }
        }
    }
    (named, names)
}

/// True if `name` has a word by which a speaker is named.
pub(super) fn is_speaker(index: &MessageIndex, name: &str) -> bool {
    let folded = fold(name);
    !named_speakers(&folded, &words_of(&folded), index).0.is_empty()
}

/// The distinct words of a folded text.
fn words_of(folded: &str) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    for_each_word(folded, |word, _| {
        words.insert(word.to_owned());
    });
    words
}

impl ParsedQuery {
    /// Parses a question about the messages in `index`.
    pub fn new(text: &str, index: &MessageIndex, table: &dyn TokenTable) -> Self {
        let folded = fold(text);
        let words = words_of(&folded);
        let tongue = QueryLanguage::of(words.iter().map(String::as_str));
        let (named, names) = named_speakers(&folded, &words, index);
        // Names in scripts without spaces are removed from their run before the run is split.
        let mut rest = folded.clone().into_owned();
        for name in names.iter().filter(|name| name.starts_with(is_unspaced)) {
            rest = rest.replace(name, " ");
        }
        let (mut plain, mut content) = (Vec::new(), Vec::new());
        for_each_word(&rest, |word, unspaced| {
            if !names.contains(word) {
                plain.push(word.to_owned());
                if unspaced || !is_empty(word, tongue) {
                    content.push(word.to_owned());
                }
            }
        });
        let name_stems: BTreeSet<String> =
            names.iter().map(|name| stem_word(name).into_owned()).collect();
        let mut terms = terms_in(&rest, tongue);
        terms.retain(|term| !name_stems.contains(term));
        if terms.is_empty() {
            terms = terms_in(&folded, tongue);
        }
        let is_english = tongue.is_none() && language(text) == Language::English;
        let reader = TermReader {
            folded: &folded,
            tongue,
            inflects: !is_english,
            translator: WordTranslator::new(&index.field.postings, tongue, &folded),
            index,
            table,
        };
        let weight = |terms: Vec<String>| reader.weigh(terms);
        let or = |words: Vec<String>, other: &str| {
            if words.is_empty() { other.to_owned() } else { words.join(" ") }
        };
        let plain = or(plain, text);
        let sentence = without(text, &names);
        let content = or(content, &plain);
        let says = |known: &[&str], unspaced: &[&str]| {
            words.iter().any(|word| known.contains(&word.as_str()))
                || unspaced.iter().any(|phrase| folded.contains(phrase))
        };
        let asks_when = says(&WHEN, &WHEN_UNSPACED);
        let dates = date_parts(text);
        let asks_past = !dates.is_empty() || says(&PAST, &PAST_UNSPACED);
        let all_terms = terms_in(&folded, tongue);
        let is_whole = terms == all_terms;
        let terms = weight(terms);
        let all_terms = if is_whole { terms.clone() } else { weight(all_terms) };
        let asked = AskedBesideTimes::new(text, &terms, index);
        Self {
            text: text.to_owned(),
            terms,
            all_terms,
            named,
            dates,
            range: None,
            asks_when,
            asks_past,
            asks_of_the_talk: asked.of_the_talk,
            asks_only_when: asked.only_when,
            is_english,
            plain,
            sentence,
            content,
        }
    }

    /// Resolves relative dates against `now`. A question about yesterday means messages of that
    /// day, but one about something that began four years ago means any message about it, so longer
    /// ranges than [`MAX_RANGE_DAYS`] are ignored. A stated year, month or day does not depend on
    /// `now`, so relative dates are parsed only if the question states at most a weekday.
    ///
    /// "Since March 2025" means every message from then on, and states no other date.
    #[must_use]
    pub fn at(mut self, now: Moment) -> Self {
        let asked = query_range(&self.text, now);
        if asked.is_some_and(|range| range.from.is_some() && range.to.is_none()) {
            self.dates.clear();
            self.range = asked;
        } else if self.dates.iter().all(|part| matches!(part, DatePart::Weekday(_))) {
            let days = |range: &DateRange| {
                range.from.zip(range.to).map(|(from, to)| (to - from).get_days())
            };
            self.range =
                asked.filter(|range| days(range).is_some_and(|days| days < MAX_RANGE_DAYS));
        }
        self
    }

    /// True if `name` refers to one of the speakers that the question names.
    pub fn names(&self, index: &MessageIndex, name: &str) -> bool {
        if self.named.is_empty() || name.is_empty() {
            return false;
        }
        let name = fold(name);
        self.named
            .iter()
            .flat_map(|speaker| &index.speaker_words()[*speaker as usize])
            .any(|word| name.contains(word.as_str()))
    }

    /// Share of the question's date parts that match `day`, plus one half if `day` is in the range
    /// of a relative date. Without date parts: 1 inside the range, else 0.
    pub(crate) fn date_match(&self, day: LocalDay) -> f32 {
        let meant = self.range.is_some_and(|range| {
            let date = Date::new(day.year, day.month, day.day).ok();
            date.is_some_and(|date| {
                range.from.is_none_or(|from| from <= date) && range.to.is_none_or(|to| date <= to)
            })
        });
        if self.dates.is_empty() {
            return if meant { 1.0 } else { 0.0 };
        }
        let same = |part: &&DatePart| match **part {
            DatePart::Year(year) => day.year == year,
            DatePart::Month(month) => day.month == month,
            DatePart::Day(number) => day.day == number,
            DatePart::Weekday(weekday) => day.weekday == weekday,
        };
        self.dates.iter().filter(same).count() as f32 / self.dates.len() as f32
            + if meant { 0.5 } else { 0.0 }
    }

    /// True if the question names a day or a part of a date.
    pub(crate) fn names_a_day(&self) -> bool {
        !self.dates.is_empty() || self.range.is_some()
    }

    /// Highest possible value of [`ParsedQuery::date_match`].
    pub(crate) fn most_date_match(&self) -> f32 {
        match (self.dates.is_empty(), self.range.is_some()) {
            (true, false) => 0.0,
            (false, true) => 1.5,
            _ => 1.0,
        }
    }
}

/// Assigns weights and variants to the terms of one question.
struct TermReader<'a> {
    folded: &'a str,
    tongue: Option<QueryLanguage>,
    /// True if words have inflected forms that the index's stemmer does not reduce.
    inflects: bool,
    translator: Option<WordTranslator<'a>>,
    index: &'a MessageIndex,
    table: &'a dyn TokenTable,
}

impl TermReader<'_> {
    /// Assigns each term its weight and variants. A word's weight says how informative the word is
    /// in general: the square of its row's norm in the token table relative to the typical norm, at
    /// most 1 (1 for a word of several tokens). A bigram weighs 1, and each of its characters a
    /// small constant.
    fn weigh(&self, terms: Vec<String>) -> Vec<QueryTerm> {
        let mut general: BTreeMap<String, f32> = BTreeMap::new();
        let mut spelled: BTreeMap<String, String> = BTreeMap::new();
        let mut unspaced_runs: Vec<String> = Vec::new();
        for_each_word(self.folded, |word, unspaced| {
            if unspaced {
                return unspaced_runs.push(word.to_owned());
            }
            spelled.entry(stem_word(word).into_owned()).or_insert_with(|| word.to_owned());
            if let [id] = self.table.ids(word).as_slice() {
                general.insert(
                    stem_word(word).into_owned(),
                    (self.table.weight(*id) / self.table.typical_weight()).min(1.0).powi(2),
                );
            }
        });
        let mut weighted: Vec<QueryTerm> = Vec::with_capacity(terms.len());
        for text in &terms {
            let unspaced = text.starts_with(is_unspaced);
            let weight = if unspaced { 1.0 } else { general.get(text).copied().unwrap_or(1.0) };
            weighted.push(QueryTerm { text: text.clone(), weight, unspaced, variants: Vec::new() });
        }
        self.find_variants(&mut weighted, &spelled);
        let mut words = self.words_of_runs(&mut weighted, &unspaced_runs);
        let known: BTreeSet<&str> = terms.iter().map(String::as_str).collect();
        let mut seen: BTreeSet<char> = BTreeSet::new();
        for text in terms.iter().filter(|text| text.starts_with(is_unspaced)) {
            if text.chars().count() != 2 {
                continue;
            }
            for c in text.chars().filter(|c| !FUNCTION_CHARACTERS.contains(*c)) {
                let text = c.to_string();
                if seen.insert(c) && !known.contains(text.as_str()) {
                    words.push(unspaced_term(text, CHARACTER_WEIGHT, Vec::new()));
                }
            }
        }
        weighted.append(&mut words);
        weighted
    }

    /// Adds variants to words of scripts with spaces: words of the index that are spelled alike,
    /// have the same stem, or mean the same. `spelled` maps each term to the word in the question.
    fn find_variants(&self, terms: &mut [QueryTerm], spelled: &BTreeMap<String, String>) {
        let postings = &self.index.field.postings;
        let mut sought = Vec::new();
        for term in terms.iter().filter(|term| !term.unspaced) {
            let word = spelled.get(&term.text).map_or(term.text.as_str(), String::as_str);
            let spelling =
                QueryWord { term: &term.text, word, inflects: self.inflects, tongue: self.tongue };
            sought.push(SoughtWord { word, variants: variants(postings, &spelling) });
        }
        if let Some(translator) = &self.translator {
            translator.translate(&mut sought);
        }
        let found: Vec<Vec<WordVariant>> = sought.into_iter().map(|word| word.variants).collect();
        let words = terms.iter_mut().filter(|term| !term.unspaced);
        words.zip(found).for_each(|(term, variants)| term.variants = variants);
    }

    /// Finds words of the lexicon in runs of scripts without spaces. The term that is a word's
    /// first two characters gets, as variants, the words of the index with the same meaning.
    /// Returns new terms for words that have no such term.
    fn words_of_runs(&self, terms: &mut [QueryTerm], unspaced_runs: &[String]) -> Vec<QueryTerm> {
        let mut others = Vec::new();
        let Some(translator) = &self.translator else { return others };
        let japanese = is_japanese(self.folded);
        let found = unspaced_runs.iter().flat_map(|run| translator.read_run(run, japanese));
        for (word, mut variants) in found {
            let end = word.char_indices().nth(2).map_or(word.len(), |(end, _)| end);
            let text = word[..end].to_owned();
            variants.retain(|variant| variant.text != text);
            match terms.iter_mut().find(|term| term.text == text) {
                Some(term) if word.chars().nth(1).is_some() => term.variants.extend(variants),
                _ => others.push(unspaced_term(text, WORD_WEIGHT, variants)),
            }
        }
        others
    }
}

fn unspaced_term(text: String, weight: f32, variants: Vec<WordVariant>) -> QueryTerm {
    QueryTerm { text, weight, unspaced: true, variants }
}

/// True if a word says nothing about a topic, in English or in the language of the question.
fn is_empty(word: &str, tongue: Option<QueryLanguage>) -> bool {
    is_function_word(word) || tongue.is_some_and(|tongue| tongue.is_function_word(word))
}

/// Distinct terms in order of first appearance; function words only if the text has no others.
pub fn query_terms(text: &str) -> Vec<String> {
    terms_in(text, None)
}

/// [`query_terms`] of a question in language `tongue`.
fn terms_in(text: &str, tongue: Option<QueryLanguage>) -> Vec<String> {
    let (mut terms, mut weak) = (Vec::new(), Vec::new());
    for_each_word(text, |word, unspaced| {
        if !unspaced {
            if !is_empty(word, tongue) {
                terms.push(stem_word(word).into_owned());
            }
        } else if word.chars().nth(2).is_none() {
            push_run(word, &mut terms);
        } else {
            for run in runs(word, |c| !FUNCTION_CHARACTERS.contains(c)) {
                let single = run.chars().nth(1).is_none();
                push_run(run, if single { &mut weak } else { &mut terms });
            }
        }
    });
    if terms.is_empty() {
        terms = weak;
    }
    if terms.is_empty() {
        for_each_word(text, |word, unspaced| {
            if unspaced { push_run(word, &mut terms) } else { terms.push(word.to_owned()) }
        });
    }
    let mut seen = BTreeSet::new();
    terms.retain(|term| seen.insert(term.clone()));
    terms
}

fn push_run(run: &str, terms: &mut Vec<String>) {
    if for_each_bigram(run, |bigram| terms.push(bigram.to_owned())) == 0 {
        terms.push(run.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_of_questions() {
        assert_eq!(query_terms("What did she buy at the market?"), ["buy", "market"]);
        assert_eq!(query_terms("你的生日是什么时候"), ["生日", "时候"]);
        assert_eq!(query_terms("猫"), ["猫"]);
        assert_eq!(query_terms("who is he"), ["who", "is", "he"]);
    }

    #[test]
    fn relative_dates_are_reckoned_from_now() {
        let table = crate::embed::StaticTable::shared();
        let asked = |text: &str| {
            ParsedQuery::new(text, &MessageIndex::default(), table)
                .at(Moment::parse("2024-03-12T09:00:00Z").expect("valid"))
        };
        let day = |text: &str| LocalDay::from_moment(Moment::parse(text).expect("valid"));
        assert_eq!(asked("what did we do yesterday?").date_match(day("2024-03-11")), 1.0);
        assert_eq!(asked("what did we do yesterday?").date_match(day("2024-03-12")), 0.0);
        assert_eq!(asked("我们昨天做了什么").date_match(day("2024-03-11")), 1.0);
        let friday = asked("whom did we meet last Friday?");
        assert_eq!(
            (friday.date_match(day("2024-03-08")), friday.date_match(day("2024-03-01"))),
            (1.5, 1.0)
        );
        assert_eq!(asked("what happened in May 2023?").range, None);
        let since = asked("what happened since March 2023?");
        assert_eq!(since.date_match(day("2023-04-20T09:00:00Z")), 1.0);
        assert_eq!(since.date_match(day("2022-03-20T09:00:00Z")), 0.0);
        assert_eq!(asked("where did she live four years ago?").range, None);
        assert_eq!(asked("who is Anna?").date_match(day("2024-03-11")), 0.0);
    }
}
