//! Sentence splitting for English and CJK text, including chat style: a sentence may begin without
//! a capital letter and ends at a line break or bullet.
//!
//! Uses rules on characters; the abbreviations below are its only dictionary. Ambiguous places ("He
//! works for Acme Inc. The pay is good") are not split: readers understand a sentence that is too
//! long, but misread half a sentence.

use super::Language;
use super::script::{is_cjk, is_emoji, is_han};
use super::tongue::is_german_function_word;
use super::vocabulary::months;

/// Abbreviations before a name or a number: a capital letter after them does not begin a sentence.
const TITLES: &[&str] = &[
    "adm", "approx", "art", "bzw", "ca", "capt", "ch", "col", "dept", "dr", "dra", "ed", "eq",
    "est", "evtl", "fig", "gen", "ggf", "gov", "hon", "inkl", "lt", "maj", "messrs", "mme", "mr",
    "mrs", "ms", "mt", "no", "nos", "nr", "op", "pp", "prof", "rep", "rev", "sec", "sen", "sgt",
    "sra", "st", "vol", "vs",
];

/// Abbreviations that may also end a sentence: a capital letter after them begins a new one.
const OTHERS: &[&str] = &[
    "al", "apr", "aug", "ave", "blvd", "bros", "cf", "co", "corp", "dec", "eg", "etc", "feb",
    "fri", "hr", "hrs", "ie", "inc", "jan", "jr", "jul", "jun", "ltd", "mar", "max", "min", "mins",
    "misc", "mon", "nov", "oct", "rd", "sat", "sep", "sept", "sr", "sun", "tel", "thu", "tue",
    "wed",
];

/// German words before a day of the month.
const DAY_PREPOSITIONS: [&str; 9] = ["ab", "am", "bis", "dem", "den", "der", "und", "vom", "zum"];

/// German words before an ordinal, and the stems of those that are inflected. "Am" is English, too.
const DETERMINERS: [&str; 11] =
    ["beim", "das", "dem", "den", "der", "des", "die", "im", "vom", "zum", "zur"];
const DETERMINER_STEMS: [&str; 8] =
    ["dein", "dies", "euer", "eure", "ihr", "mein", "sein", "unser"];
const MAX_INFLECTION: usize = 2;

/// Words that more often begin a sentence than continue a name after an abbreviation with dots
/// ("the U.S. They left").
const STARTERS: &[&str] = &[
    "A", "After", "All", "And", "As", "At", "But", "For", "He", "Her", "His", "How", "I", "I'm",
    "If", "In", "It", "It's", "My", "No", "On", "Our", "She", "So", "That", "The", "Their", "Then",
    "There", "These", "They", "This", "We", "What", "When", "Why", "Yes", "You", "Your",
];

/// The sentences of `text`, in order, trimmed, none empty; together they contain every character
/// except white space.
///
/// A sentence ends at a line break, at `。！？` and similar marks, and at `. ! ?` followed by white
/// space, unless the dot belongs to an abbreviation (`Dr.`, `e.g.`, `U.S.`), an initial, a list
/// number (`1.`), or an ellipsis in mid-sentence. Dots in numbers, addresses and file names have no
/// space after them. Closing quotes and brackets, and emoji after the end, stay with their
/// sentence.
///
/// ```
/// use episodica_core::text::sentences;
/// assert_eq!(
///     sentences("Dr. Wu paid $3.50, e.g. for tea. Nice!"),
///     ["Dr. Wu paid $3.50, e.g. for tea.", "Nice!"]
/// );
/// assert_eq!(sentences("我搬家了。你呢？"), ["我搬家了。", "你呢？"]);
/// assert!(sentences(" \n ").is_empty());
/// ```
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = match c {
            '\n' | '\r' | '\u{2028}' | '\u{2029}' | '\u{0B}' | '\u{0C}' => Some(at + c.len_utf8()),
            '。' | '！' | '？' | '｡' | '．' => Some(closed_end(text, at)),
            '.' | '!' | '?' | '…' | '‼' | '⁉' => latin_end(text, start, at, c),
            _ => None,
        };
        let Some(end) = end else {
            if matches!(c, '.' | '!' | '?' | '…') {
                // If one mark of a run does not end the sentence, later marks of the run do not
                // either.
                while chars.peek().is_some_and(|(_, next)| matches!(next, '.' | '!' | '?' | '…'))
                {
                    chars.next();
                }
            }
            continue;
        };
        push(&mut found, &text[start..end]);
        start = end;
        while chars.peek().is_some_and(|(next, _)| *next < end) {
            chars.next();
        }
    }
    push(&mut found, &text[start..]);
    found
}

fn push<'a>(found: &mut Vec<&'a str>, piece: &'a str) {
    let piece = piece.trim();
    if !piece.is_empty() {
        found.push(piece);
    }
}

/// The end of a sentence whose last marks begin at `at`: after all marks, closing quotes and
/// trailing emoji.
fn closed_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let marks = rest.find(|c| !is_terminal(c)).unwrap_or(rest.len());
    let closed = marks + rest[marks..].find(|c| !is_closing(c)).unwrap_or(rest.len() - marks);
    let tail = &rest[closed..];
    let emoji = tail.find(|c: char| !is_emoji(c) && c != ' ').unwrap_or(tail.len());
    let end = if tail[..emoji].trim().is_empty() { closed } else { closed + emoji };
    at + end
}

fn is_terminal(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | '…' | '‼' | '⁉' | '。' | '！' | '？' | '｡' | '．' | '~' | '～')
}

fn is_closing(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '”'
            | '’'
            | '»'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
            | '*'
            | '_'
    )
}

/// The end of a sentence that may end at the mark `c` at `at`; `None` if it continues.
fn latin_end(text: &str, start: usize, at: usize, c: char) -> Option<usize> {
    let rest = &text[at..];
    let marks = rest.find(|c| !is_terminal(c)).unwrap_or(rest.len());
    let end = closed_end(text, at);
    let quoted = rest[marks..].starts_with(is_closing);
    let after = &text[end..];
    let Some(next) = after.chars().next() else { return Some(end) };
    let emoji = text[at + marks..end].contains(is_emoji);
    if is_cjk(next) && !matches!(c, '.') {
        return Some(end);
    }
    if !next.is_whitespace() && !emoji {
        // Some writers type "。" as a dot: 你好.我是
        let between_han = c == '.' && marks == 1 && is_han(next) && text[..at].ends_with(is_han);
        return between_han.then_some(end);
    }
    let line_ends = after.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']);
    let follower = after.trim_start().chars().next()?;
    if line_ends || emoji {
        return Some(end);
    }
    let ellipsis = c == '…' || rest[..marks].starts_with("..");
    if ellipsis || quoted {
        return (!follower.is_lowercase()).then_some(end);
    }
    if c != '.' || marks > 1 {
        return Some(end);
    }
    dot_ends(&text[start..at], after.trim_start(), follower).then_some(end)
}

/// Whether a single dot after `before`, with white space after it, ends the sentence.
fn dot_ends(before: &str, after: &str, follower: char) -> bool {
    let word_start = before
        .rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '“' | '/'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let word = &before[word_start..];
    if word.is_empty() {
        return true;
    }
    let first = before[..word_start]
        .trim_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '•' | '#' | '>' | '('))
        .is_empty();
    let lower = word.to_lowercase();
    let lower = lower.trim_matches(|c: char| !c.is_alphanumeric());
    // A list number: "1. Boil water", "a. Yes", "IV. Results".
    if first
        && word.len() <= 4
        && (word.bytes().all(|b| b.is_ascii_digit()) || word.len() == 1 && word != "I")
    {
        return false;
    }
    if is_german_dot(&before[..word_start], word, lower, after, follower) {
        return false;
    }
    if TITLES.binary_search(&lower).is_ok() {
        // "no." is usually an answer, less often a number.
        return matches!(lower, "no" | "art" | "col" | "rev") && !follower.is_ascii_digit();
    }
    if OTHERS.binary_search(&lower).is_ok() {
        // "in the sun.", "the max.": an abbreviation that is also a word ends the sentence unless a
        // lower-case letter or digit follows.
        return !follower.is_lowercase() && !follower.is_ascii_digit();
    }
    let dotted = word.contains('.')
        && word
            .split('.')
            .all(|part| part.chars().count() <= 2 && part.chars().all(char::is_alphabetic));
    if dotted {
        return dotted_ends(lower, after, follower);
    }
    let initial = word.chars().count() == 1 && word.chars().all(char::is_uppercase) && word != "I";
    if initial {
        return !follower.is_uppercase()
            || STARTERS.binary_search(&after.split(' ').next().unwrap_or_default()).is_ok();
    }
    true
}

/// Whether the dot belongs to a German ordinal, date or street.
fn is_german_dot(previous: &str, word: &str, lower: &str, after: &str, follower: char) -> bool {
    let is_number = |text: &str| {
        (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if is_number(word) {
        // "am 21. März": an ordinal before its month.
        let next = after.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        if months(Language::German).contains(&next) || ["bis", "und", "oder"].contains(&next) {
            return true;
        }
        // "am 27. ist die Prüfung": without its month.
        let previous = previous.trim_end().rsplit(' ').next().unwrap_or_default();
        if follower.is_lowercase() && DAY_PREPOSITIONS.contains(&&*previous.to_lowercase()) {
            return true;
        }
        // "in der 16. Woche", but "Ich komme ab dem 5. Es regnet."
        if is_determiner(previous) && follower.is_uppercase() && !is_german_function_word(next) {
            return true;
        }
    }
    // "Lindenstr. 4": a street.
    if lower.ends_with("str") && follower.is_ascii_digit() {
        return true;
    }
    // "am 2.1. bin ich …": a date without its year.
    let day_and_month = lower.split_once('.').filter(|_| follower.is_lowercase());
    day_and_month.is_some_and(|(day, month)| is_number(day) && is_number(month))
}

fn is_determiner(word: &str) -> bool {
    let lower = word.to_lowercase();
    let is_inflected =
        |stem: &str| lower.strip_prefix(stem).is_some_and(|ending| ending.len() <= MAX_INFLECTION);
    DETERMINERS.contains(&&*lower) || DETERMINER_STEMS.iter().any(|stem| is_inflected(stem))
}

/// Whether an abbreviation of several letters with dots, such as "p.m.", ends a sentence.
fn dotted_ends(lower: &str, after: &str, follower: char) -> bool {
    if lower.starts_with("e.g") || lower.starts_with("i.e") {
        return false;
    }
    let next_word = after
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '.' | ';'))
        .next()
        .unwrap_or_default();
    STARTERS.binary_search(&next_word).is_ok() || lower.ends_with(".m") && follower.is_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tables_are_sorted() {
        assert!(TITLES.is_sorted() && OTHERS.is_sorted() && STARTERS.is_sorted());
    }

    #[test]
    fn splits() {
        for (text, expected) in [
            (
                "Hello there! How are you? I'm fine.",
                vec!["Hello there!", "How are you?", "I'm fine."],
            ),
            ("I met Mr. and Mrs. Smith at 3.5 km.", vec!["I met Mr. and Mrs. Smith at 3.5 km."]),
            (
                "We moved to the U.S. in 2019. It was cold.",
                vec!["We moved to the U.S. in 2019.", "It was cold."],
            ),
            ("We left the U.S. They stayed.", vec!["We left the U.S.", "They stayed."]),
            (
                "I like fruit, e.g. Gala apples, i.e. Sweet ones.",
                vec!["I like fruit, e.g. Gala apples, i.e. Sweet ones."],
            ),
            (
                "See https://a.example/x.html?q=1. Then run main.rs now.",
                vec!["See https://a.example/x.html?q=1.", "Then run main.rs now."],
            ),
            ("Well... maybe. Hmm... OK then", vec!["Well... maybe.", "Hmm...", "OK then"]),
            ("wait… what", vec!["wait… what"]),
            (
                "He said \"Stop!\" and left. \"Really?\" she asked.",
                vec!["He said \"Stop!\" and left.", "\"Really?\" she asked."],
            ),
            ("He said \"Stop.\" Then he left.", vec!["He said \"Stop.\"", "Then he left."]),
            (
                "- milk\n- eggs\n\n1. Boil water.\n2. Add tea.",
                vec!["- milk", "- eggs", "1. Boil water.", "2. Add tea."],
            ),
            ("i love it!!! so much!! :)", vec!["i love it!!!", "so much!!", ":)"]),
            ("yes. i think so. ok", vec!["yes.", "i think so.", "ok"]),
            ("So cool! 😊 I'm in. 🎉🎉", vec!["So cool! 😊", "I'm in. 🎉🎉"]),
            ("I woke at 6 a.m. and ran.", vec!["I woke at 6 a.m. and ran."]),
            (
                "J. R. Tolkien wrote. So did I. Done",
                vec!["J. R. Tolkien wrote.", "So did I.", "Done"],
            ),
            ("No. 5 is mine. No. Never.", vec!["No. 5 is mine.", "No.", "Never."]),
            (
                "It cost 40 etc. and more. (Yes.) Fine",
                vec!["It cost 40 etc. and more.", "(Yes.)", "Fine"],
            ),
            ("我昨天去了北京。天气很好！你呢？", vec!["我昨天去了北京。", "天气很好！", "你呢？"]),
            ("他说：“走吧。”然后走了。", vec!["他说：“走吧。”", "然后走了。"]),
            ("版本3.5发布了，见a.txt。好", vec!["版本3.5发布了，见a.txt。", "好"]),
            ("好的……我想想。太好了！！！走", vec!["好的……", "我想想。", "太好了！！！", "走"]),
            ("你好.我是小王.", vec!["你好.", "我是小王."]),
            ("真的吗?是的!好", vec!["真的吗?", "是的!", "好"]),
            ("Line one\r\nline two", vec!["Line one", "line two"]),
            ("Ich komme am 21. März an. Bis dann.", vec!["Ich komme am 21. März an.", "Bis dann."]),
            (
                "Wir sind vom 12. bis zum 26. Juli weg. Bis dann.",
                vec!["Wir sind vom 12. bis zum 26. Juli weg.", "Bis dann."],
            ),
            (
                "Am 1. und 2. März ist Markt. Am 9. ist Ruhe. Ich bin 40. und du?",
                vec!["Am 1. und 2. März ist Markt.", "Am 9. ist Ruhe.", "Ich bin 40. und du?"],
            ),
            (
                "Ich bin in der 16. Woche schwanger. Seit dem 5. Es wird ein Kind.",
                vec!["Ich bin in der 16. Woche schwanger.", "Seit dem 5.", "Es wird ein Kind."],
            ),
            (
                "Unser 3. Kind geht in die 2. Klasse. Mein 40. Geburtstag ist im 7. Monat.",
                vec![
                    "Unser 3. Kind geht in die 2. Klasse.",
                    "Mein 40. Geburtstag ist im 7. Monat.",
                ],
            ),
            (
                "I am 16. My sister is 12. Bonn is far.",
                vec!["I am 16.", "My sister is 12.", "Bonn is far."],
            ),
            ("we lost 2 to 1. then it rained.", vec!["we lost 2 to 1.", "then it rained."]),
            ("Das ist Nr. 5. Gut.", vec!["Das ist Nr. 5.", "Gut."]),
        ] {
            assert_eq!(sentences(text), expected, "{text}");
        }
    }

    #[test]
    fn long_runs_are_linear() {
        assert_eq!(sentences(&"a.".repeat(500_000)).len(), 1);
        assert_eq!(sentences(&".".repeat(1_000_000)).len(), 1);
        assert_eq!(sentences(&". ".repeat(200_000)).len(), 200_000);
        assert_eq!(sentences(&"!a".repeat(200_000)).len(), 1);
        assert_eq!(sentences(&"ab. ".repeat(200_000)).len(), 200_000);
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_lost(text in "[ -~。！？…\n猫😊]{0,200}") {
            let kept: String = sentences(&text).concat().split_whitespace().collect();
            let all: String = text.split_whitespace().collect();
            prop_assert_eq!(kept, all);
        }
    }
}
