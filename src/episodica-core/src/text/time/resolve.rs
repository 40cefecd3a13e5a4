//! Rewriting a text so that it can be read years later.

use super::mention::{Grain, TimeMention};
use super::mentions::mentions;
use crate::clock::Moment;
use crate::text::{Language, is_cjk};

/// After these words a date takes no preposition of its own.
const PREPOSITIONS: &[&str] = &[
    "about",
    "after",
    "around",
    "as",
    "at",
    "before",
    "between",
    "by",
    "during",
    "early",
    "for",
    "from",
    "in",
    "like",
    "late",
    "mid",
    "of",
    "on",
    "over",
    "since",
    "than",
    "throughout",
    "till",
    "to",
    "until",
    "was",
    "is",
    "were",
    "and",
    "through",
];

/// Before these words a date at the beginning of a sentence is its subject: "Yesterday was great".
const VERBS: &[&str] = &[
    "was", "is", "were", "will", "has", "had", "would", "isn", "wasn", "went", "felt", "marks",
    "marked", "turned",
];

/// Feasts keep their names.
const FEASTS: &[&str] = &[
    "christmas",
    "xmas",
    "halloween",
    "easter",
    "thanksgiving",
    "valentine",
    "boxing day",
    "independence day",
    "new year",
];

const WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// `text` with its confident relative dates replaced by absolute ones, as written at `anchor`.
///
/// The rest of the text is untouched, and so are dates that are absolute already or that a reader
/// could not be sure of. A date in Chinese characters is rewritten in Chinese; `language` decides
/// for those without.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::{Language, time::resolve_text};
/// let monday = Moment::parse("2023-05-08T10:00:00Z")?;
/// assert_eq!(resolve_text("I moved last Friday.", monday, Language::English), "I moved on Friday 5 May 2023.");
/// assert_eq!(resolve_text("We met two years ago.", monday, Language::English), "We met in 2021.");
/// assert_eq!(resolve_text("昨天我跑步了。", monday, Language::Chinese), "2023年5月7日我跑步了。");
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn resolve_text(text: &str, anchor: Moment, language: Language) -> String {
    let found = mentions(text, anchor);
    if found.is_empty() {
        return text.to_owned();
    }
    let mut resolved = String::with_capacity(text.len() + 16 * found.len());
    let mut done = 0;
    for mention in found.iter().filter(|mention| mention.relative && mention.confident) {
        resolved.push_str(&text[done..mention.start]);
        let surface = &text[mention.start..mention.end];
        let chinese = surface.contains(is_cjk)
            || language == Language::Chinese
                && !surface.contains(|c: char| c.is_ascii_alphabetic());
        let written = if chinese {
            in_chinese(mention, surface)
        } else {
            in_english(mention, surface, &text[..mention.start], &text[mention.end..])
        };
        resolved.push_str(&written);
        done = mention.end;
    }
    resolved.push_str(&text[done..]);
    resolved
}

fn in_chinese(mention: &TimeMention, surface: &str) -> String {
    let mut written = mention.describe(Language::Chinese);
    let part = if surface.ends_with("晚") || surface.ends_with("晚上") {
        "晚上"
    } else if surface.ends_with(['早', '晨']) || surface.ends_with("早上") {
        "早上"
    } else if surface.ends_with('夜') {
        "夜里"
    } else {
        ""
    };
    written.push_str(part);
    written
}

fn in_english(mention: &TimeMention, surface: &str, before: &str, after: &str) -> String {
    let lower = surface.to_ascii_lowercase();
    let mut date = mention.describe(Language::English);
    let mut preposition = match mention.grain {
        Grain::Day if mention.from != mention.to => "from",
        Grain::Day => "on",
        Grain::Weekend => "on",
        _ => "in",
    };
    if let Some(feast) = FEASTS.iter().find_map(|name| lower.find(name)) {
        // A feast says more than its date.
        let year = mention.from.year();
        date = format!("{} {year}", &surface[feast..]);
        preposition = if lower.ends_with("eve") || lower.ends_with("day") { "on" } else { "at" };
    } else if mention.from == mention.to {
        let weekday =
            WEEKDAYS[usize::from(mention.from.weekday().to_monday_zero_offset().unsigned_abs())];
        if lower.contains(&weekday.to_ascii_lowercase()[..3]) {
            date = format!("{weekday} {date}");
        }
        for (words, part) in [
            (&["morning"][..], "morning"),
            (&["afternoon"], "afternoon"),
            (&["evening", "tonight"], "evening"),
            (&["night"], "night"),
        ] {
            if words.iter().any(|word| lower.ends_with(word)) {
                date = format!("the {part} of {date}");
                break;
            }
        }
    }
    if mention.grain == Grain::Season {
        date = format!(
            "the {} of {}",
            date.split(' ').next().unwrap_or_default(),
            date.split(' ').nth(1).unwrap_or_default()
        );
    }
    // "in two weeks" has its own preposition, which goes with it.
    let previous = last_word(before);
    let possessive = after.starts_with(['\'', '’']);
    let subject = starts_sentence(before) && VERBS.contains(&first_word(after).as_str());
    if PREPOSITIONS.contains(&previous.as_str()) || possessive || subject || is_label(before, after)
    {
        preposition = "";
    }
    // After an article or an adjective the date stands alone: "the May 2023 trip".
    if matches!(previous.as_str(), "the" | "a" | "this" | "that" | "my" | "our") {
        preposition = "";
        date = date.strip_prefix("the ").map_or(date.clone(), str::to_owned);
    }
    let mut written = if preposition.is_empty() { date } else { format!("{preposition} {date}") };
    if surface.starts_with(|c: char| c.is_ascii_uppercase()) && starts_sentence(before) {
        written[..1].make_ascii_uppercase();
    }
    written
}

/// Whether the mention is a whole line or bracket by itself: "Yesterday: rain", "(yesterday)".
fn is_label(before: &str, after: &str) -> bool {
    let opens = before.is_empty() || before.ends_with(['(', '[', '\n']);
    let closes = after.is_empty() || after.starts_with([':', ')', ']', '\n']);
    opens && closes
}

fn starts_sentence(before: &str) -> bool {
    before.trim_end_matches([' ', '"', '“', '*', '(', '-']).is_empty()
        || before
            .trim_end_matches([' ', '"', '“', '*', '(', '-'])
            .ends_with(['.', '!', '?', '\n', ':', '…', '。'])
}

fn last_word(before: &str) -> String {
    let before = before.trim_end_matches([' ', '-']);
    let start = before
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    before[start..].to_ascii_lowercase()
}

fn first_word(after: &str) -> String {
    after
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect::<String>()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn english() {
        let monday = Moment::parse("2023-05-08T10:00:00Z").unwrap();
        for (text, expected) in [
            ("I went there yesterday", "I went there on 7 May 2023"),
            ("Yesterday I went there", "On 7 May 2023 I went there"),
            ("Yesterday was great", "7 May 2023 was great"),
            ("I moved last Friday.", "I moved on Friday 5 May 2023."),
            ("Since last Friday I run.", "Since Friday 5 May 2023 I run."),
            ("Last week we met.", "In the week of 1 May 2023 we met."),
            ("We met last week", "We met in the week of 1 May 2023"),
            ("We leave next month", "We leave in June 2023"),
            ("plans for next month", "plans for June 2023"),
            ("two years ago I quit", "in 2021 I quit"),
            ("I will fly in three weeks", "I will fly in the week of 29 May 2023"),
            ("It rained last night.", "It rained on the night of 7 May 2023."),
            ("I ran this morning", "I ran on the morning of 8 May 2023"),
            ("See you tonight!", "See you on the evening of 8 May 2023!"),
            ("We hiked last weekend", "We hiked on the weekend of 6 May 2023"),
            ("We surfed last summer", "We surfed in the summer of 2022"),
            ("We married last year", "We married in 2022"),
            ("yesterday's talk", "7 May 2023's talk"),
            ("I met her on May 5, 2022.", "I met her on May 5, 2022."),
            ("We met on Friday", "We met on Friday"),
            ("a few weeks ago I fell", "a few weeks ago I fell"),
            ("We met in March and talked", "We met in March 2023 and talked"),
            ("Ana came for Thanksgiving and stayed", "Ana came for Thanksgiving 2022 and stayed"),
            ("We met last Christmas", "We met at Christmas 2022"),
            ("We danced on New Year's Eve", "We danced on New Year's Eve 2022"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(resolve_text(text, monday, Language::English), expected, "{text}");
        }
    }

    #[test]
    fn chinese() {
        let monday = Moment::parse("2023-05-08T10:00:00+08:00").unwrap();
        for (text, expected) in [
            ("我昨天去了公园。", "我2023年5月7日去了公园。"),
            ("昨晚下雨了", "2023年5月7日晚上下雨了"),
            ("今天早上我跑步", "2023年5月8日早上我跑步"),
            ("上周五我们见面了", "2023年5月5日我们见面了"),
            ("上周很忙", "2023年5月1日那一周很忙"),
            ("下个月搬家", "2023年6月搬家"),
            ("去年夏天去了海边", "2022年夏天去了海边"),
            ("两年前毕业", "2021年毕业"),
            ("上周末去爬山", "2023年5月6日那个周末去爬山"),
            ("前几天有点累", "前几天有点累"),
            ("我是2021年毕业的", "我是2021年毕业的"),
        ] {
            assert_eq!(resolve_text(text, monday, Language::Chinese), expected, "{text}");
        }
    }
}
