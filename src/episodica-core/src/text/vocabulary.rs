//! Word lists of everyday language that several modules share, and the file format of lists.
//!
//! The lists are data (`vocabulary.txt`). A list for only one module is stored next to that module.

use crate::fork::ForkLazy;

use rustc_hash::{FxHashMap, FxHashSet};

use aho_corasick::AhoCorasick;

use super::Language;

const TABLE: &str = include_str!("vocabulary.txt");

/// A list of words, made a set on first use.
pub(crate) type WordSet = ForkLazy<FxHashSet<&'static str>>;

/// The lines of a table, each with the name of its list. `@name` starts a list; lines with `#` are
/// comments.
pub(crate) fn lines(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut list = "";
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).filter_map(
        move |line| match line.strip_prefix('@') {
            Some(name) => {
                list = name;
                None
            }
            None => Some((list, line)),
        },
    )
}

/// The words of one list of a table.
pub(crate) fn list(table: &'static str, name: &'static str) -> impl Iterator<Item = &'static str> {
    lines(table)
        .filter(move |(list, _)| *list == name)
        .flat_map(|(_, line)| line.split_whitespace())
}

/// The words of one of the shared lists.
pub(crate) fn shared(name: &'static str) -> impl Iterator<Item = &'static str> {
    list(TABLE, name)
}

static FUNCTION_WORDS: WordSet =
    ForkLazy::new(|| shared("function").chain(["done", "onto"]).collect());
static TIME_WORDS: WordSet = ForkLazy::new(|| shared("time").chain(shared("moment")).collect());
static WHEN_WORDS: WordSet = ForkLazy::new(|| shared("time").chain(shared("when")).collect());
static UNSPACED_TIME_WORDS: ForkLazy<AhoCorasick> = ForkLazy::new(|| {
    AhoCorasick::new(shared("moment-unspaced")).expect("invariant: few short phrases")
});
static BASE_FORMS: ForkLazy<FxHashMap<&str, &str>> = ForkLazy::new(|| {
    lines(TABLE)
        .filter(|(list, _)| *list == "irregular")
        .filter_map(|(_, line)| line.split_once(' '))
        .flat_map(|(base, forms)| forms.split(' ').map(move |form| (form, base)))
        .collect()
});

/// Whether a lower-case English word is a function word.
pub(crate) fn is_function_word(word: &str) -> bool {
    FUNCTION_WORDS.contains(word)
}

/// The base form of an irregular English form (`went` -> `go`), or the word itself.
pub(crate) fn base_form(word: &str) -> &str {
    BASE_FORMS.get(word).copied().unwrap_or(word)
}

/// Whether a lower-case word is an expression of time; `unspaced` if it is a run of a script
/// without spaces.
pub(crate) fn tells_time(word: &str, unspaced: bool) -> bool {
    if unspaced { UNSPACED_TIME_WORDS.is_match(word) } else { TIME_WORDS.contains(word) }
}

/// Words of a question in a script without spaces, which often has no question mark.
const UNSPACED_ASKING: [&str; 15] = [
    "什么", "什麼", "谁", "誰", "哪里", "哪裡", "哪儿", "哪个", "多少", "几个", "怎么", "怎麼",
    "如何", "吗", "嗎",
];
/// Replies with such a word.
const NO_QUESTION: [&str; 2] = ["没什么", "沒什麼"];

/// Whether a text in a script without spaces asks something.
pub(crate) fn asks_unspaced(text: &str) -> bool {
    UNSPACED_ASKING.iter().any(|word| text.contains(word))
        && !NO_QUESTION.iter().any(|reply| text.contains(reply))
}

/// Whether a lower-case English word occurs in questions about a time.
pub(crate) fn asks_when(word: &str) -> bool {
    WHEN_WORDS.contains(word)
}

/// The names of the months in `language`; `Other` uses the English names.
pub(crate) fn months(language: Language) -> &'static [&'static str; 12] {
    match language {
        Language::English | Language::Other => &ENGLISH_MONTHS,
        Language::Chinese => &CHINESE_MONTHS,
        Language::German => &GERMAN_MONTHS,
        Language::Spanish => &SPANISH_MONTHS,
        Language::French => &FRENCH_MONTHS,
    }
}

/// Monday to Sunday in English.
pub(crate) const ENGLISH_WEEKDAYS: [&str; 7] =
    ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
/// Monday to Sunday in Chinese, without the word for "weekday" before them.
pub(crate) const CHINESE_WEEKDAYS: [&str; 7] = ["一", "二", "三", "四", "五", "六", "日"];

const ENGLISH_MONTHS: [&str; 12] = [
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
const CHINESE_MONTHS: [&str; 12] =
    ["1月", "2月", "3月", "4月", "5月", "6月", "7月", "8月", "9月", "10月", "11月", "12月"];
const GERMAN_MONTHS: [&str; 12] = [
    "Januar",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
];
const SPANISH_MONTHS: [&str; 12] = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
];
const FRENCH_MONTHS: [&str; 12] = [
    "janvier",
    "février",
    "mars",
    "avril",
    "mai",
    "juin",
    "juillet",
    "août",
    "septembre",
    "octobre",
    "novembre",
    "décembre",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_belong_to_no_list() {
        let table = "# one\n@a\nx y\n\n# two\n@b\nz";
        assert_eq!(lines(table).collect::<Vec<_>>(), [("a", "x y"), ("b", "z")]);
        assert_eq!(list(table, "a").collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn the_shared_lists_are_found_under_their_names() {
        assert!(is_function_word("the") && !is_function_word("garden"));
        assert_eq!([base_form("went"), base_form("garden")], ["go", "garden"]);
        assert!(tells_time("march", false) && tells_time("我上周去", true));
        assert!(asks_when("when") && !asks_when("march") && !tells_time("when", false));
        assert_eq!(months(Language::Other)[4], "May");
    }
}
