//! Checks a sentence written by a model: its numbers, dates and names must occur in the
//! conversation or follow from it, and the cited messages must concern the participant that it
//! names. A sentence without a date must also share a word with the conversation. Nothing else is
//! checked.
//!
//! The check compares words, not meanings. A sentence that says the opposite in other words, or
//! attaches a number to the wrong thing, passes.

use std::collections::HashSet;

use jiff::civil::Date;

use super::candidate::RejectReason;
use super::numbers::numbers;
use super::support::{
    capitalised, dates_supported, has_unknown_han, is_known, keys, known_words, texts, without,
};
use crate::model::Message;
use crate::text::is_han;
use crate::text::time::mentions;
use crate::text::vocabulary::is_function_word;

/// Checks a sentence about `subject` (empty if unknown) against the messages that it cites
/// (`sources`) and all text in the prompt (`context`).
///
/// # Errors
/// The first reason found.
pub fn grounded(
    sentence: &str,
    subject: &str,
    sources: &[&Message],
    context: &[&Message],
    participants: &[&str],
) -> Result<(), RejectReason> {
    if !sentence.chars().any(char::is_alphanumeric) {
        return Err(RejectReason::Empty);
    }
    let Some(first) = sources.first() else { return Err(RejectReason::NoSource) };
    let found = mentions(sentence, first.timestamp);
    let years = years_that_follow(context);
    if !found.is_empty() && !dates_supported(sentence, &found, context, &years) {
        return Err(RejectReason::UnsupportedDate);
    }
    let rest = without(sentence, &found);
    if !numbers_follow(&rest, context, &years, participants) {
        return Err(RejectReason::UnsupportedNumber);
    }
    if !names_follow(&rest, subject, context, participants) {
        return Err(RejectReason::UnsupportedName);
    }
    let speakers: HashSet<String> = participants.iter().flat_map(|name| keys(name)).collect();
    let stated: Vec<String> =
        keys(&rest).into_iter().filter(|key| !speakers.contains(key)).collect();
    let said: HashSet<String> = context.iter().flat_map(|one| keys(&one.content)).collect();
    // No word of the sentence was said.
    if found.is_empty() && !stated.is_empty() && !stated.iter().any(|key| said.contains(key)) {
        return Err(RejectReason::UnsupportedWords);
    }
    if is_about_another(sentence, &stated, sources, participants)
        || is_never_named(subject, sources, context)
    {
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

/// The years that an age or a number of years in a message leads back to from the message's date.
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

/// Words for the numbers from 2 to 10 in languages that [`numbers`] does not read. No word has
/// another meaning in another of these languages.
const COUNTS: [&str; 9] = [
    "zwei dos deux dois duas twee dwa dwie два две",
    "drei tres trois três drie trzy три",
    "vier cuatro quatre quattro quatro cztery четыре",
    "fünf cinco cinq cinque vijf pięć пять",
    "sechs seis zes sześć шесть",
    "sieben siete sette sete zeven siedem семь",
    "acht ocho huit otto oito osiem восемь",
    "neun nueve neuf nove negen dziewięć девять",
    "zehn diez dieci dez dziesięć десять",
];

fn all_numbers(text: &str) -> Vec<String> {
    let mut found = numbers(text);
    let lower = text.to_lowercase();
    let words = lower.split(|character: char| !character.is_alphanumeric());
    let count = |word: &str| {
        let row = COUNTS.iter().position(|row| row.split(' ').any(|name| name == word))?;
        Some((row + 2).to_string())
    };
    found.extend(words.filter_map(count));
    found
}

fn numbers_follow(
    rest: &str,
    context: &[&Message],
    years: &[(Date, Date)],
    participants: &[&str],
) -> bool {
    let stated = all_numbers(rest);
    if stated.is_empty() {
        return true;
    }
    let known: HashSet<String> = texts(context, participants).flat_map(all_numbers).collect();
    let spans: HashSet<String> = context
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

/// Prepositions that stand directly before a name, and verbs of naming.
const BEFORE_NAMES: [&str; 20] = [
    "in", "bei", "nach", "aus", "mit", "von", "zu", "namens", "heißt", "at", "to", "from", "with",
    "called", "named", "en", "con", "llamado", "llamada", "de",
];

/// Beginnings of words for the user, for models that translate the word "user".
const USER_WORDS: [&str; 16] = [
    "user",
    "nutzer",
    "benutzer",
    "anwender",
    "utilis",
    "utiliz",
    "usuari",
    "usuár",
    "utente",
    "gebruik",
    "użytkown",
    "пользоват",
    "ユーザー",
    "利用者",
    "使用者",
    "用户",
];

fn names_follow(rest: &str, subject: &str, context: &[&Message], participants: &[&str]) -> bool {
    let needed = capitalised(rest);
    if !needed.is_empty() {
        let lower: Vec<String> = texts(context, participants).map(str::to_lowercase).collect();
        let known = known_words(&lower);
        let stems: HashSet<String> = lower.iter().flat_map(|text| keys(text)).collect();
        let told = rest.to_lowercase();
        let nouns = has_capital_nouns(context)
            || ["nutzer", "anwender"].iter().any(|user| told.contains(user));
        let tells_of_user = USER_WORDS.iter().any(|user| told.contains(user));
        let subject = subject.to_lowercase();
        let follows = |name: &&str| {
            let word = name.to_lowercase();
            let inner = word.rsplit(['\'', '’']).find(|part| part.len() > 1).unwrap_or(&word);
            let at = name.as_ptr() as usize - rest.as_ptr() as usize;
            let before = rest[..at].trim_end();
            // In German "40." is an ordinal number, not the end of a sentence.
            let ends = before.ends_with('.')
                && !before.trim_end_matches('.').ends_with(|last: char| last.is_ascii_digit());
            let opens = before.is_empty() || ends || before.ends_with(['!', '?', ':']);
            let is_placed = before
                .rsplit(' ')
                .next()
                .is_some_and(|word| BEFORE_NAMES.contains(&word.to_lowercase().as_str()));
            // In a sentence about the user, a short capitalised word is an article: "Der Nutzer".
            let short = if tells_of_user { 3 } else { 2 };
            let is_no_name = || {
                word.chars().count() <= short
                    || is_function_word(&word)
                    || stems.contains(&word.chars().take(4).collect::<String>())
                    || !subject.is_empty() && !subject.contains(&word)
            };
            is_known(&word, &known)
                || is_known(inner, &known)
                || USER_WORDS.iter().any(|user| inner.starts_with(user))
                || opens && is_no_name()
                || nouns && !is_placed && !opens
                || known.iter().any(|other| is_inflected(&word, other))
        };
        if !needed.iter().all(follows) {
            return false;
        }
    }
    // Japanese may paraphrase in Han characters that do not form a name.
    let is_kana = |character: char| ('\u{3040}'..='\u{30ff}').contains(&character);
    if rest.is_ascii() || !rest.contains(is_han) || rest.contains(is_kana) {
        return true;
    }
    !has_unknown_han(rest, context, participants)
}

/// True if two words begin with the same four or more letters and differ in the last two at most,
/// as inflected forms of a name do.
fn is_inflected(word: &str, other: &str) -> bool {
    let fold = |letter: char| if letter == 'ó' { 'o' } else { letter };
    let alike =
        word.chars().map(fold).zip(other.chars().map(fold)).take_while(|(a, b)| a == b).count();
    alike >= 4 && alike + 2 >= word.chars().count().max(other.chars().count())
}

/// True if the conversation capitalises common nouns, as German does.
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

/// Words with which speakers refer to themselves.
const FIRST: [&str; 9] = [" i ", " i'm ", " i've ", " my ", " ich ", " je ", " yo ", "我", "私"];

const SECOND: [&str; 12] = [
    " you ", " your ", " you're ", " you've ", " du ", " dein", " dir ", " tú ", " tu ", " te ",
    "你", "您",
];

/// True if the conversation names the subject, but only far from the cited messages: neither these
/// nor the two messages before each of them are by the subject or name it. Confirmations by an
/// agent or a tool may concern any participant. If the language capitalises every noun, a subject
/// need not be a name.
fn is_never_named(subject: &str, sources: &[&Message], context: &[&Message]) -> bool {
    let words = keys(subject);
    let names = |message: &&Message| {
        let said = keys(&message.content).into_iter().chain(keys(message.speaker()));
        said.into_iter().any(|key| words.contains(&key))
    };
    let near = |source: &&Message| {
        let at = context.iter().position(|message| std::ptr::eq(*message, *source));
        at.is_none_or(|at| context[at.saturating_sub(2)..=at].iter().any(names))
    };
    let lower = subject.to_lowercase();
    subject.starts_with(char::is_uppercase)
        && !USER_WORDS.iter().any(|user| lower.contains(user))
        && !sources.iter().any(|source| &*source.role != "user")
        && !sources.iter().any(near)
        && context.iter().any(names)
        && !has_capital_nouns(context)
}

/// True if a sentence attributes a fact to the wrong participant, who neither stated it nor is
/// meant by it. Confirmations by an agent or a tool may concern any participant.
fn is_about_another(
    sentence: &str,
    stated: &[String],
    sources: &[&Message],
    participants: &[&str],
) -> bool {
    const MARKS: [char; 18] = [
        '.', ',', ';', '!', '?', ':', '\n', '。', '，', '；', '！', '？', '：', '、', '—', '(',
        ')', '…',
    ];
    let place = |name: &&&str| sentence.find(**name);
    let named: Vec<&&str> = participants.iter().filter(|name| place(name).is_some()).collect();
    let Some(about) = named.iter().copied().min_by_key(|name| place(name)) else { return false };
    let name = about.to_lowercase();
    let fits = |message: &Message, clause: &str| {
        let clause = format!(" {} ", clause.trim().to_lowercase());
        // In a sentence that names two participants, a clause is about its speaker unless it begins
        // with the other name.
        let begins = clause.match_indices(' ').nth(1).map_or(&*clause, |(end, _)| &clause[..=end]);
        let is_own = FIRST.iter().any(|word| clause.contains(word));
        let part = if named.len() > 1 { begins } else { &clause };
        let acts = |word: &str| !is_own && part.contains(word);
        message.speaker() == *about
            || &*message.role != "user"
            || acts(&name)
            || SECOND.iter().any(|word| acts(word))
            || message.content.contains(['?', '？'])
                && sources.iter().any(|source| source.speaker() == *about)
    };
    let shared = |clause: &str| {
        let keys: HashSet<String> = keys(clause).into_iter().collect();
        stated.iter().filter(|key| keys.contains(*key)).count()
    };
    let clauses = || {
        sources
            .iter()
            .flat_map(|message| message.content.split(MARKS).map(move |clause| (*message, clause)))
            .map(|(message, clause)| (message, clause, shared(clause)))
    };
    let most = clauses().map(|(_, _, shared)| shared).max();
    !clauses().any(|(message, clause, shared)| Some(shared) == most && fits(message, clause))
}
