//! Adds the absolute dates of relative mentions to a text, so that it is clear without its context.
//!
//! The text keeps its own words: a date in brackets follows an expression, after a day or a month
//! without a year only the year.

use super::mention::{NamedDates, TimeMention};
use super::style;
use crate::text::Language;

/// `text` with the days of `found`, its mentions in order: its own words, and marks in brackets.
pub(crate) fn with_dates(text: &str, found: &[TimeMention]) -> String {
    let mut out = String::with_capacity(text.len() + 16 * found.len());
    let mut done = 0;
    for (at, mark) in day_marks(text, found) {
        out.push_str(&text[done..at]);
        out.push_str(&mark);
        done = at;
    }
    out.push_str(&text[done..]);
    out
}

/// The days of those of `found`, a text's mentions, that are relative and confident: each with the
/// place after the words that it resolves, in bytes, and in brackets: " [5 May 2023]". A day or a
/// month without its year gets the year. Chinese has no space before the bracket.
pub(crate) fn day_marks(text: &str, found: &[TimeMention]) -> Vec<(usize, String)> {
    let sure = found.iter().filter(|mention| mention.relative && mention.confident);
    let mark = |mention: &TimeMention| {
        let (surface, after) = (&text[mention.start..mention.end], &text[mention.end..]);
        let is_one_year = mention.from.year() == mention.to.year();
        let only_year = mention.naming == NamedDates::NoYear && is_one_year;
        let days = if only_year {
            style::of(mention.language).year(mention.from.year())
        } else {
            mention.describe(mention.language)
        };
        let is_chinese = mention.language == Language::Chinese;
        let space = if is_chinese { "" } else { " " };
        let part = if is_chinese && !only_year { part_of(surface) } else { "" };
        (mention.end + possessive(after), format!("{space}[{days}{part}]"))
    };
    sure.map(mark).collect()
}

/// Length of the possessive ending at the start of a text, as in "yesterday's talk": it stays with
/// the words of time.
fn possessive(after: &str) -> usize {
    ["'s", "’s"].into_iter().find(|ending| after.starts_with(ending)).map_or(0, str::len)
}

/// The part of a month or year at the end of a Chinese expression: 上个月底.
fn part_of(surface: &str) -> &str {
    let mut parts = ["底", "末", "初", "中旬", "上旬", "下旬"].into_iter();
    let part = parts.find(|part| surface.ends_with(part)).unwrap_or_default();
    // 周末 means the weekend, not the end of a longer unit.
    if surface.ends_with("周末") { "" } else { part }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::text::time::mentions::mentions_in;

    /// `text`, written at `anchor`, with its dates; `language` is that of the conversation.
    pub fn resolve_text(text: &str, anchor: Moment, language: Language) -> String {
        with_dates(text, &mentions_in(text, anchor, language))
    }

    #[test]
    fn dates_are_written_in_the_language_of_their_expression() {
        let monday = Moment::parse("2023-05-08T10:00:00+08:00").unwrap();
        for (text, expected) in [
            ("I went there yesterday.", "I went there yesterday [7 May 2023]."),
            ("Yesterday's talk was long.", "Yesterday's [7 May 2023] talk was long."),
            ("I moved last Friday.", "I moved last Friday [5 May 2023]."),
            ("We leave next month.", "We leave next month [June 2023]."),
            ("Two years ago I quit.", "Two years ago [2021] I quit."),
            ("We fly in three weeks.", "We fly in three weeks [around 29 May 2023]."),
            ("We hiked last weekend.", "We hiked last weekend [6 to 7 May 2023]."),
            ("We sailed last winter.", "We sailed last winter [December 2022 to February 2023]."),
            ("I met her on May 5, 2022.", "I met her on May 5, 2022."),
            ("We met in March and talked.", "We met in March [2023] and talked."),
            ("We met on May 5 and talked.", "We met on May 5 [2023] and talked."),
            ("We met on the 5th of May.", "We met on the 5th of May [2023]."),
            (
                "We sail in June, from the 9th to the 12th.",
                "We sail in June, from the 9th to the 12th [2023].",
            ),
            ("We danced on New Year's Eve.", "We danced on New Year's Eve [31 December 2022]."),
            ("A few days ago I fell.", "A few days ago [4 to 6 May 2023] I fell."),
            ("Gestern war ich beim Arzt.", "Gestern [7. Mai 2023] war ich beim Arzt."),
            ("Im Juni ziehen wir um.", "Im Juni [2023] ziehen wir um."),
            (
                "Vor drei Wochen habe ich gekündigt.",
                "Vor drei Wochen [um den 17. April 2023] habe ich gekündigt.",
            ),
            ("Nos casamos el 3 de junio.", "Nos casamos el 3 de junio [2023]."),
            ("Ayer perdí el tren.", "Ayer [7 de mayo de 2023] perdí el tren."),
            ("Lundi dernier il a neigé.", "Lundi dernier [1er mai 2023] il a neigé."),
            ("昨晚下雨了", "昨晚[2023年5月7日]下雨了"),
            ("上周很忙", "上周[2023年5月1日至7日]很忙"),
            ("上个月底很忙", "上个月底[2023年4月底]很忙"),
            ("九月底我要搬家", "九月底[2023年]我要搬家"),
            ("今年九月底我要搬家", "今年九月底[2023年9月底]我要搬家"),
            ("上周末去玩", "上周末[2023年5月6日至7日]去玩"),
            ("六月三号我要去杭州", "六月三号[2023年]我要去杭州"),
            ("我是2021年毕业的", "我是2021年毕业的"),
            ("nothing here", "nothing here"),
        ] {
            assert_eq!(resolve_text(text, monday, crate::text::language(text)), expected);
        }
    }
}
