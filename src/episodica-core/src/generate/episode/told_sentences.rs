//! Forms of sentences: quotations, openers without content, sentences that break off.

use super::narrative::capitalised;
use crate::fork::ForkLazy;
use crate::text::Language;
use crate::text::script::is_han;
use crate::text::vocabulary::WordSet;

/// `Maya: "…"`: words with their speaker.
pub(in crate::generate) fn quotation(name: &str, text: &str, language: Language) -> String {
    if language == Language::Chinese {
        return format!("{name}：“{text}”");
    }
    format!("{}: \"{text}\"", capitalised(name))
}

/// The text without markers of emphasis. Most texts have none.
pub(super) fn without_emphasis(text: &str) -> String {
    if text.contains(['*', '_']) {
        text.replace("**", "").replace("__", "")
    } else {
        text.to_owned()
    }
}

/// Words without content that open a sentence and have a mark after them.
static OPENERS: WordSet = ForkLazy::new(|| {
    let words = "\
        yeah yes yep yup no nope nah oh ah aw aww hey hi hello well so okay ok wow hmm hm um uh \
        hehe lol lovely great cool nice sure right thanks anyway actually honestly awesome exactly \
        true same btw ugh yay ha ach ja nein naja tja übrigens hallo oui non ben bah bon alors \
        salut sí bueno pues vale hola ay oye ciao beh allora";
    words.split_whitespace().collect()
});
/// Words without content that may open a sentence before "I" or "my", without a mark.
static BARE_OPENERS: WordSet = ForkLazy::new(|| {
    let words = "\
        yeah yes yep yup oh ah aw hey well lol ok okay btw and but so wow no nope nah dude man \
        please honestly";
    words.split_whitespace().collect()
});
/// Phrases without content that open a sentence.
const PHRASES: [&str; 7] = [
    "by the way",
    "i mean",
    "to be honest",
    "problem is",
    "on another note",
    "on a side note",
    "speaking of which",
];
const OPENERS_HAN: [&str; 16] = [
    "嗯",
    "哦",
    "噢",
    "啊",
    "哈哈",
    "对了",
    "好的",
    "好吧",
    "唉",
    "诶",
    "嘿",
    "老公",
    "老婆",
    "亲爱的",
    "宝贝",
    "是啊",
];

/// True if a sentence breaks off: it has no final mark, and its last word needs another.
pub(in crate::generate) fn breaks_off(said: &str) -> bool {
    static OPEN: WordSet = ForkLazy::new(|| {
        let words = "\
            a an the my our your their and or but because if than from with am i we he she they \
            who und oder aber weil dass ein eine einen mein meine y o pero porque un una mi et ou \
            mais une mon";
        words.split_whitespace().collect()
    });
    if !said.ends_with(|c: char| c.is_alphanumeric()) {
        return false;
    }
    let last = said.rsplit(|c: char| !c.is_alphanumeric() && c != '\'').next().unwrap_or_default();
    OPEN.contains(&*last.to_lowercase())
}

/// The sentence without its openers: "I moved." for "Yeah, by the way, I moved."; `None` if it has
/// no openers.
pub(super) fn without_openers(said: &str) -> Option<String> {
    let mut rest = said;
    loop {
        let open = opener(rest).filter(|length| rest[*length..].chars().count() > MIN_REST);
        match open {
            Some(length) => rest = &rest[length..],
            None => break,
        }
    }
    (rest.len() < said.len()).then(|| capitalised(rest))
}

/// A word with each run of three or more equal letters as one letter: "heyyy" is "hey".
fn without_runs(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for run in word.chars().collect::<Vec<_>>().chunk_by(|a, b| a == b) {
        out.extend(run.iter().take(if run.len() > 2 { 1 } else { run.len() }));
    }
    out
}

/// Minimum number of characters that must remain after the opener; otherwise it stays.
const MIN_REST: usize = 4;

/// The length of the opener at the start of a sentence, with the marks after it.
fn opener(text: &str) -> Option<usize> {
    const MARKS: [char; 12] = [',', '!', '.', ';', '，', '！', '。', '、', '–', '—', ' ', '-'];
    let marks = |from: usize| {
        let after = text[from..].trim_start_matches(MARKS);
        (text.len() - after.len(), text[from..].starts_with(|c| c != ' ' && MARKS.contains(&c)))
    };
    let opens = |opener: &&&str| text.starts_with(**opener);
    if text.starts_with(is_han)
        && let Some(opener) = OPENERS_HAN.iter().find(opens)
    {
        let (end, is_marked) = marks(opener.len());
        return is_marked.then_some(end);
    }
    let begins = |phrase: &&&str| {
        let start =
            text.get(..phrase.len()).is_some_and(|start| start.eq_ignore_ascii_case(phrase));
        start && text[phrase.len()..].starts_with(MARKS)
    };
    if let Some(phrase) = PHRASES.iter().find(begins) {
        return Some(marks(phrase.len()).0);
    }
    let length = text.find(|c: char| !c.is_alphabetic()).filter(|length| *length > 0)?;
    let word = without_runs(&text[..length].to_lowercase());
    let is_in = |list: &WordSet, word: &str| word.starts_with("haha") || list.contains(word);
    let (end, is_marked) = marks(length);
    let goes_on = || {
        let next = text[end..].split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        let next = without_runs(&next.to_lowercase());
        matches!(&*next, "i" | "my" | "im" | "ive") || is_in(&BARE_OPENERS, &next)
    };
    (is_marked && is_in(&OPENERS, &word) || is_in(&BARE_OPENERS, &word) && goes_on()).then_some(end)
}
