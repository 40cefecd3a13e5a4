//! Checks that a model's sentence follows from the messages it cites. Stricter than [`supported`]
//! about who did something and whether it happened; more lenient about derived years and ages, and
//! about names that occur elsewhere in the same talk.
//!
//! Compares words, not meanings: a sentence that says the opposite in other words, or moves a
//! number from one thing to another, may pass.

use std::collections::HashSet;

use jiff::civil::Date;

use super::candidate::RejectReason;
use super::clauses::{BIRTHS, Clause, SECOND, WEIGHTY, clauses_of, folded_keys, has, is_negated};
use super::numbers::numbers;
use super::support::{
    capitalised, dates_supported_with, has_unknown_han, is_known, keys, known_words, titled,
    without,
};
use crate::model::Message;
use crate::text::is_han;
use crate::text::time::mentions;
use crate::text::vocabulary::is_function_word;

/// Minimum share of a sentence's words that its messages contain, for scripts with and without
/// spaces.
const SHARED_WORDS: f64 = 0.34;
const SHARED_PAIRS: f64 = 0.12;
/// Number of leading letters that two forms of a word share.
const KEY_LETTERS: usize = 4;

/// Checks a sentence against the messages that it cites (`sources`) within a talk (`context`).
///
/// # Errors
/// The first reason found.
pub fn grounded(
    sentence: &str,
    sources: &[&Message],
    context: &[&Message],
    participants: &[&str],
) -> Result<(), RejectReason> {
    if !sentence.chars().any(char::is_alphanumeric) {
        return Err(RejectReason::Empty);
    }
    let Some(first) = sources.first() else { return Err(RejectReason::NoSource) };
    let found = mentions(sentence, first.timestamp);
    let years = years_that_follow(sources);
    if !found.is_empty() && !dates_supported_with(sentence, &found, sources, &years) {
        return Err(RejectReason::UnsupportedDate);
    }
    let rest = without(sentence, &found);
    if !numbers_follow(&rest, sources, &years, participants) {
        return Err(RejectReason::UnsupportedNumber);
    }
    if !names_follow(&rest, context, participants) {
        return Err(RejectReason::UnsupportedName);
    }
    let clauses: Vec<Clause<'_>> = sources.iter().flat_map(|message| clauses_of(message)).collect();
    let told = Told::of(sentence, &rest, participants);
    if told.says_too_much(&clauses) {
        return Err(RejectReason::UnsupportedWords);
    }
    // An age implies a birth year.
    let is_birth = !years.is_empty() && has(&told.text, &BIRTHS);
    let asked = before(sources, context).flat_map(clauses_of);
    let around: Vec<Clause<'_>> =
        asked.chain(sources.iter().flat_map(|one| clauses_of(one))).collect();
    if !is_birth && !told.is_shared_with(&around) {
        return Err(RejectReason::UnsupportedWords);
    }
    if told.is_about_another(&clauses) || told.is_turned_round(&clauses) {
        return Err(RejectReason::UnsupportedWords);
    }
    Ok(())
}

/// Words next to a number that make it a number of years or an age.
const YEARS: [&str; 14] = [
    "year", "jahr", "año", "anno", "ans", "年", "岁", "歲", "i'm", "turned", "cumpl", "geworden",
    "aged", "满",
];

fn is_about_years(text: &str) -> bool {
    let lower = text.to_lowercase();
    YEARS.iter().any(|word| lower.contains(word))
}

/// Years that follow from a number of years in a message, counted back from its date.
fn years_that_follow(sources: &[&Message]) -> Vec<(Date, Date)> {
    let mut years = Vec::new();
    for message in sources.iter().filter(|message| is_about_years(&message.content)) {
        let year = message.timestamp.local().date().year();
        for number in all_numbers(&message.content) {
            let Some(span) = number.parse::<i16>().ok().filter(|span| (1..=110).contains(span))
            else {
                continue;
            };
            for year in [year - span, year - span - 1] {
                let ends = Date::new(year, 1, 1).ok().zip(Date::new(year, 12, 31).ok());
                years.extend(ends);
            }
        }
    }
    years
}

/// Words for small numbers in languages that [`numbers`] does not read.
const COUNTS: [(&str, &str); 18] = [
    ("zwei", "2"),
    ("drei", "3"),
    ("vier", "4"),
    ("fünf", "5"),
    ("sechs", "6"),
    ("sieben", "7"),
    ("acht", "8"),
    ("neun", "9"),
    ("zehn", "10"),
    ("fünfzig", "50"),
    ("dos", "2"),
    ("tres", "3"),
    ("cuatro", "4"),
    ("cinco", "5"),
    ("seis", "6"),
    ("siete", "7"),
    ("ocho", "8"),
    ("diez", "10"),
];

fn all_numbers(text: &str) -> Vec<String> {
    let mut found = numbers(text);
    let lower = text.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let count =
        |word: &str| COUNTS.iter().find(|(name, _)| *name == word).map(|(_, digits)| *digits);
    found.extend(words.filter_map(count).map(str::to_owned));
    found
}

fn numbers_follow(
    rest: &str,
    sources: &[&Message],
    years: &[(Date, Date)],
    participants: &[&str],
) -> bool {
    let stated = all_numbers(rest);
    if stated.is_empty() {
        return true;
    }
    let known: HashSet<String> = texts(sources, participants).flat_map(all_numbers).collect();
    let spans: HashSet<String> = sources
        .iter()
        .flat_map(|message| {
            let now = message.timestamp.local().date().year();
            let years = numbers(&message.content).into_iter();
            let years = years.filter_map(|number| number.parse::<i16>().ok());
            years
                .filter(move |year| (1900..=now).contains(year))
                .flat_map(move |year| [now - year, now - year - 1].map(|span| span.to_string()))
        })
        .collect();
    let is_year = |number: &String| {
        years.iter().any(|(from, _)| number.parse::<i16>().is_ok_and(|year| year == from.year()))
    };
    let is_span = |number: &String| is_about_years(rest) && spans.contains(number);
    let follows = |number: &String| {
        number == "1" || known.contains(number) || is_year(number) || is_span(number)
    };
    stated.iter().all(follows)
}

/// The messages right before the cited ones: a question shows what its answer is about.
fn before<'a>(
    sources: &'a [&'a Message],
    context: &'a [&'a Message],
) -> impl Iterator<Item = &'a Message> {
    let is_cited =
        |message: &Message| sources.iter().any(|source| source.message_id == message.message_id);
    let is_asked = |message: &Message| message.content.contains(['?', '？']);
    let pairs = context.windows(2);
    pairs.filter(move |pair| is_cited(pair[1]) && is_asked(pair[0])).map(|pair| pair[0])
}

/// Prepositions that stand directly before a name, and verbs of naming.
const BEFORE_NAMES: [&str; 20] = [
    "in", "bei", "nach", "aus", "mit", "von", "zu", "namens", "heißt", "at", "to", "from", "with",
    "called", "named", "en", "con", "llamado", "llamada", "de",
];

fn names_follow(rest: &str, context: &[&Message], participants: &[&str]) -> bool {
    let needed = capitalised(rest);
    if !needed.is_empty() {
        let lower: Vec<String> = texts(context, participants).map(str::to_lowercase).collect();
        let known = known_words(&lower);
        let stems: HashSet<String> = lower.iter().flat_map(|text| keys(text)).collect();
        let nouns = has_capital_nouns(context);
        let follows = |name: &&str| {
            let word = name.to_lowercase();
            let at = name.as_ptr() as usize - rest.as_ptr() as usize;
            let before = rest[..at].trim_end();
            // In German "40." is an ordinal number, not the end of a sentence.
            let ends = before.ends_with('.')
                && !before.trim_end_matches('.').ends_with(|last: char| last.is_ascii_digit());
            let opens = before.is_empty() || ends || before.ends_with(['!', '?', ':']);
            let is_short = word.chars().count() <= 2;
            let is_placed = before
                .rsplit(' ')
                .next()
                .is_some_and(|word| BEFORE_NAMES.contains(&word.to_lowercase().as_str()));
            is_known(&word, &known)
                || opens && (is_short || is_function_word(&word) || is_stem_of(&word, &stems))
                || nouns && !is_placed && !opens
        };
        if !needed.iter().all(follows) {
            return false;
        }
    }
    if rest.is_ascii() || !rest.contains(is_han) {
        return true;
    }
    !has_unknown_han(rest, context, participants)
        && titled(rest).all(|name| texts(context, participants).any(|text| text.contains(&name)))
}

fn is_stem_of(word: &str, stems: &HashSet<String>) -> bool {
    stems.contains(&word.chars().take(KEY_LETTERS).collect::<String>())
}

/// True if the talk capitalises common nouns, as German does.
fn has_capital_nouns(context: &[&Message]) -> bool {
    const GERMAN: [&str; 8] =
        [" ich ", " und ", " der ", " die ", " das ", " ist ", " nicht ", " ein"];
    let found = |word: &&&str| {
        context
            .iter()
            .any(|message| format!(" {} ", message.content.to_lowercase()).contains(**word))
    };
    GERMAN.iter().filter(|word| found(word)).count() >= 3
}

fn texts<'a>(messages: &'a [&Message], participants: &'a [&str]) -> impl Iterator<Item = &'a str> {
    messages
        .iter()
        .flat_map(|message| [message.content.as_str(), message.speaker()])
        .chain(participants.iter().copied())
}

/// A sentence, split into its parts.
struct Told<'a> {
    text: String,
    /// The participant that the sentence names first.
    about: Option<&'a str>,
    /// Keys of its words, in order.
    keys: Vec<String>,
    is_han: bool,
    negated: bool,
}

impl<'a> Told<'a> {
    fn of(sentence: &str, rest: &str, participants: &[&'a str]) -> Self {
        let text = format!(" {} ", sentence.to_lowercase());
        let names: HashSet<String> =
            participants.iter().flat_map(|name| folded_keys(name)).collect();
        let place = |name: &&str| sentence.find(*name);
        let named = participants.iter().filter(|name| place(name).is_some());
        let about = named.min_by_key(|name| place(name)).copied();
        Self {
            about,
            keys: folded_keys(rest).into_iter().filter(|key| !names.contains(key)).collect(),
            is_han: sentence.contains(is_han),
            negated: is_negated(&text),
            text,
        }
    }

    fn shared(&self, keys: &HashSet<String>) -> usize {
        self.keys.iter().filter(|key| keys.contains(*key)).count()
    }

    /// True if the messages contain enough of its words. A short sentence must end with one of
    /// them.
    fn is_shared_with(&self, clauses: &[Clause<'_>]) -> bool {
        let Some(last) = self.keys.last() else { return true };
        let is_known = |key: &String| clauses.iter().any(|clause| clause.keys.contains(key));
        let shared = self.keys.iter().filter(|key| is_known(key)).count();
        let least = if self.is_han { SHARED_PAIRS } else { SHARED_WORDS };
        let is_short = !self.is_han && self.keys.len() <= 3;
        shared > 0
            && shared as f64 >= least * self.keys.len() as f64
            && (!is_short || is_known(last))
    }

    /// True if the sentence uses a word of [`WEIGHTY`] that the messages don't use.
    fn says_too_much(&self, clauses: &[Clause<'_>]) -> bool {
        let is_said = |words: &[&str]| clauses.iter().any(|clause| has(&clause.text, words));
        WEIGHTY.iter().any(|words| has(&self.text, words) && !is_said(words))
    }

    /// The clauses that share the most words with the sentence, and the number of shared words.
    fn best<'c>(&self, clauses: &'c [Clause<'c>]) -> (Vec<&'c Clause<'c>>, usize) {
        let most = clauses.iter().map(|clause| self.shared(&clause.keys)).max().unwrap_or(0);
        let is_best = |clause: &&Clause<'_>| most > 0 && self.shared(&clause.keys) == most;
        (clauses.iter().filter(is_best).collect(), most)
    }

    /// True if the sentence is about one participant, but another one said it or it was about
    /// someone else.
    fn is_about_another(&self, clauses: &[Clause<'_>]) -> bool {
        let Some(about) = self.about else { return false };
        let (best, _) = self.best(clauses);
        if best.is_empty() {
            return false;
        }
        // If somebody else speaks, the clause must name or address the person.
        let name = about.to_lowercase();
        let answers = clauses.iter().any(|clause| clause.speaker == about);
        let fits = |clause: &&Clause<'_>| {
            clause.speaker == about
                || clause.text.contains(&name)
                || has(&clause.text, &SECOND)
                || clause.is_question && answers
        };
        if !best.iter().any(fits) {
            return true;
        }
        // A clause about "my sister" says nothing about the speaker.
        best.iter().all(|clause| {
            clause.speaker == about
                && !clause.kin.is_empty()
                && !clause.kin.iter().any(|word| self.text.contains(word))
        })
    }

    /// True if the sentence denies what the messages say, or states what they deny.
    fn is_turned_round(&self, clauses: &[Clause<'_>]) -> bool {
        let (best, most) = self.best(clauses);
        if best.is_empty() {
            return false;
        }
        if self.negated {
            return !clauses.iter().any(|clause| clause.negated);
        }
        if best.iter().all(|clause| clause.negated) && 2 * most >= self.keys.len() {
            return true;
        }
        // The messages use the first key in negated clauses only.
        let Some(first) = self.keys.first().filter(|_| !self.is_han) else { return false };
        let mut saying = clauses.iter().filter(|clause| clause.keys.contains(first)).peekable();
        saying.peek().is_some() && saying.all(|clause| clause.negated && clause.kin.is_empty())
    }
}
