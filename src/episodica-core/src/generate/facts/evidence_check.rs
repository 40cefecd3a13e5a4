//! Checks a sentence written by a model: the prompt must hold or imply its numbers, dates and
//! names, and a participant that it is about must have written a cited message or be named in one.
//! Nothing else is checked.
//!
//! The check compares words, not meanings. A sentence that says the opposite in other words, or
//! attaches a number to the wrong thing, passes.

use std::collections::HashSet;

use super::candidate::RejectReason;
use super::numbers::numbers;
use super::support::{dates_follow, has_unknown_han, keys, texts, without};
use crate::generate::episode::is_common_word;
use crate::model::Message;
use crate::text::time::mentions;
use crate::text::words::runs;
use crate::text::{Language, is_han, language};

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
    if !dates_follow(sentence, &found, context) {
        return Err(RejectReason::UnsupportedDate);
    }
    let rest = without(sentence, &found);
    if !numbers_follow(&rest, context, participants) {
        return Err(RejectReason::UnsupportedNumber);
    }
    if !names_follow(&rest, subject, context, participants) {
        return Err(RejectReason::UnsupportedName);
    }
    let about = participants.iter().filter_map(|name| Some((sentence.find(name)?, *name))).min();
    let is_told = match about {
        Some((_, name)) => sources.iter().any(|message| tells_of(message, name)),
        None => !is_named_elsewhere(subject, sources, context),
    };
    if is_told { Ok(()) } else { Err(RejectReason::UnsupportedWords) }
}

/// True if a text of the prompt has the number, or if it follows from a year or an age: an age and
/// the year of birth add up to the year of the message, or to the year before.
fn numbers_follow(rest: &str, context: &[&Message], participants: &[&str]) -> bool {
    let stated = numbers(rest);
    if stated.is_empty() {
        return true;
    }
    let said: HashSet<String> = texts(context, participants).flat_map(numbers).collect();
    let is_sum = |number: &String| {
        let Ok(number) = number.parse::<i16>() else { return false };
        let years = context.iter().map(|message| message.timestamp.local().date().year());
        let mut others = years.flat_map(|year| [year, year - 1]).map(|year| year - number);
        number > 1 && others.any(|other| other > 1 && said.contains(&other.to_string()))
    };
    stated.iter().all(|number| number == "1" || said.contains(number) || is_sum(number))
}

/// Beginnings of words for the user, for models that translate the word "user".
const USER_WORDS: &str = "user nutzer benutzer anwender utilis utiliz usuari usuár utente gebruik \
                          użytkown пользоват";
/// German prepositions and verbs that directly precede a name, but not a noun without an article.
const BEFORE_NAMES: &str = "in bei nach aus mit von zu namens heißt";

fn is_user_word(lower: &str) -> bool {
    USER_WORDS.split(' ').any(|user| lower.starts_with(user))
}

/// True if a text of the prompt has each capitalised word of the sentence, apart from common words
/// at the beginning of a sentence.
fn names_follow(rest: &str, subject: &str, context: &[&Message], participants: &[&str]) -> bool {
    // Japanese may paraphrase in Han characters that do not form a name.
    let is_kana = |character: char| ('\u{3040}'..='\u{30ff}').contains(&character);
    let is_chinese = rest.contains(is_han) && !rest.contains(is_kana);
    if is_chinese && has_unknown_han(rest, context, participants) {
        return false;
    }
    if !rest.contains(char::is_uppercase) {
        return true;
    }
    let lower: Vec<String> = texts(context, participants).map(str::to_lowercase).collect();
    let known: HashSet<&str> = lower.iter().flat_map(|text| words(text)).collect();
    let subject = subject.to_lowercase();
    // An article has up to three letters: "Der Nutzer".
    let short = if words(&rest.to_lowercase()).any(is_user_word) { 3 } else { 2 };
    let is_german = language(&format!("{rest} {}", lower.join(" "))) == Language::German;
    words(rest).filter(|word| word.contains(char::is_uppercase)).all(|word| {
        let name = word.to_lowercase();
        let before = rest[..word.as_ptr() as usize - rest.as_ptr() as usize].trim_end();
        // In German "40." is an ordinal number, not the end of a sentence.
        let opens = before.is_empty()
            || before.ends_with(['!', '?', ':', '"', '“', '「', '。', '：'])
            || before.strip_suffix('.').is_some_and(|text| !text.ends_with(char::is_numeric));
        let is_placed = || {
            let last = before.rsplit(' ').next().unwrap_or_default().to_lowercase();
            BEFORE_NAMES.split(' ').any(|word| word == last)
        };
        let is_no_name = || {
            name.chars().count() <= short
                || is_common_word(&name)
                || !subject.is_empty() && !subject.contains(&name)
        };
        name.chars().count() == 1
            || known.contains(&*name)
            || is_user_word(&name)
            || opens && is_no_name()
            || is_german && !opens && !is_placed()
            || known.iter().any(|other| is_inflected(&name, other))
    })
}

/// The parts of words outside Han: "Ann's" is "Ann" and "s".
fn words(text: &str) -> impl Iterator<Item = &str> {
    runs(text, |character| character.is_alphanumeric() && !is_han(character))
}

/// True if two lower-case words begin with the same four or more letters and differ in the last two
/// at most, as inflected forms of a name do, or in an "s".
fn is_inflected(word: &str, other: &str) -> bool {
    let fold = |letter: char| if letter == 'ó' { 'o' } else { letter };
    let alike =
        word.chars().map(fold).zip(other.chars().map(fold)).take_while(|(a, b)| a == b).count();
    alike >= 4 && alike + 2 >= word.chars().count().max(other.chars().count())
        || word.strip_suffix('s') == Some(other)
}

/// True if a message can state a fact about a participant: the participant wrote it, an agent or a
/// tool confirms something, or the message names the participant other than to address them. After
/// the name in an address there is punctuation.
fn tells_of(message: &Message, name: &str) -> bool {
    let (text, lower) = (message.content.to_lowercase(), name.to_lowercase());
    let is_letter = |letter: char| letter.is_alphanumeric() && !is_han(letter);
    let goes_on = |(at, _): (usize, &str)| {
        let rest = &text[at + lower.len()..];
        let ends = ["'s", "’s", "s"].iter().find_map(|end| rest.strip_prefix(end));
        let rest = ends.filter(|rest| rest.starts_with(' ')).unwrap_or(rest);
        let is_next = match rest.strip_prefix(' ') {
            Some(rest) => rest.starts_with(char::is_alphanumeric),
            None => rest.starts_with(is_han),
        };
        is_next && !text[..at].ends_with(is_letter)
    };
    message.speaker() == name || &*message.role != "user" || text.match_indices(&lower).any(goes_on)
}

/// True if the conversation names the subject, but only far from the cited messages: neither these
/// nor the two messages before each of them are by the subject or name it. Confirmations by an
/// agent or a tool may concern any subject.
fn is_named_elsewhere(subject: &str, sources: &[&Message], context: &[&Message]) -> bool {
    let about = keys(subject);
    let names = |message: &&Message| {
        let said = keys(&message.content).into_iter().chain(keys(message.speaker()));
        said.into_iter().any(|key| about.contains(&key))
    };
    let near = |source: &&Message| {
        let at = context.iter().position(|message| std::ptr::eq(*message, *source));
        at.is_none_or(|at| context[at.saturating_sub(2)..=at].iter().any(names))
    };
    subject.starts_with(char::is_uppercase)
        && !words(&subject.to_lowercase()).any(is_user_word)
        && !sources.iter().any(|source| &*source.role != "user" || near(source))
        && context.iter().any(names)
}
