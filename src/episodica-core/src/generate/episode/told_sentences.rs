//! The narrative, sentence by sentence: the input of fact extraction.
//!
//! A sentence is rewritten in the third person if its grammar allows it ("Maya moved …"); every
//! other sentence becomes an attributed quotation (`Maya: "We moved …"`). Either can be read alone:
//! relative dates are resolved, captions and code are left out, quotation marks are balanced,
//! nothing is cut. This module does not decide whether a sentence is worth keeping.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::lexicon::class_of;
use super::narrative::capitalised;
use super::ready_sentence::{passage, third_person};
use super::source::{EpisodeSource, SourceTurn};
use super::units::{ReadySentence, TurnUnit};
use crate::fork::ForkLazy;
use crate::generate::voice::spans;
use crate::model::Message;
use crate::text::Language;
use crate::text::heads::SentenceHeads;
use crate::text::script::{is_emoji, is_han};
use crate::text::time::{TimeMention, resolve_mentions};
use crate::text::vocabulary::WordSet;

/// Maximum length of a sentence, in bytes; a longer one is pasted text, not talk.
const MAX_SENTENCE_BYTES: usize = 600;

/// One sentence of a message.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::generate) struct ToldSentence {
    /// Index of the message.
    pub message: usize,
    /// True if an agent wrote the message.
    pub by_agent: bool,
    /// The speaker's name in facts: "the user" for a role.
    pub speaker: String,
    /// The original sentence, without emoji and list markers.
    pub said: String,
    /// The same without the words of others (quotations, pasted and invented text); `None` if it
    /// contains none.
    pub own: Option<String>,
    /// The sentence in the form of a fact.
    pub content: String,
    /// True for a sentence in the third person, false for an attributed quotation.
    pub is_rewritten: bool,
    /// True if the sentence ends in a question mark.
    pub asks: bool,
    /// The days of the first date in the sentence, if any.
    pub date: Option<TimeMention>,
    /// Word counts and features.
    pub form: WordCounts,
    /// The language of the message.
    pub language: Language,
    /// Computed on first use, by [`ToldSentence::heads`].
    pub heads: OnceCell<SentenceHeads>,
}

impl ToldSentence {
    /// The scores of the original sentence.
    pub fn heads(&self) -> &SentenceHeads {
        self.heads.get_or_init(|| SentenceHeads::of(&self.said, self.by_agent))
    }
}

/// The words of a sentence, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::generate) struct WordCounts {
    /// Number of distinct words that are not function words; in scripts without spaces, half the
    /// number of characters.
    pub content: usize,
    /// True if a capitalised word in mid-sentence is not a speaker's name.
    pub has_name: bool,
    /// True if the sentence contains a number in digits.
    pub has_digit: bool,
    /// True if the sentence opens with a pronoun that refers to an earlier sentence.
    pub dangles: bool,
}

/// All sentences of the messages in order, except code and standalone captions.
pub(in crate::generate) fn sentences_told(messages: &[Arc<Message>]) -> Vec<ToldSentence> {
    sentences_of(&EpisodeSource::read_spoken(messages))
}

/// As [`sentences_told`], for messages that were read without image captions.
pub(super) fn sentences_of(source: &EpisodeSource) -> Vec<ToldSentence> {
    let mut told = Vec::new();
    for turn in &source.turns {
        let speech = turn.units.iter().filter(|unit| {
            !unit.is_code && !unit.words.is_empty() && unit.end - unit.start <= MAX_SENTENCE_BYTES
        });
        let others = spans(&turn.text, &source.speaker(turn).full, turn.voice);
        let others = others.into_iter().filter(|span| span.said_by != turn.voice);
        let others: Vec<Range<usize>> = others.map(|span| span.range).collect();
        told.extend(speech.filter_map(|unit| sentence(source, turn, unit, &others)));
    }
    told
}

fn sentence(
    source: &EpisodeSource,
    turn: &SourceTurn,
    unit: &TurnUnit,
    others: &[Range<usize>],
) -> Option<ToldSentence> {
    let said = tidy(turn.unit_text(unit), turn.language)?;
    let said = without_openers(&said).unwrap_or(said);
    let name = &source.speaker(turn).short;
    // A sentence that tidying did not change has the same form as in the narrative: it is computed
    // once for both.
    let known = (said == turn.unit_text(unit)).then(|| passage(source, turn, unit));
    let (content, is_rewritten, dates) = match known {
        Some(ReadySentence::Told(text)) => (text.clone(), true, Cow::Borrowed(turn.dates(unit))),
        Some(ReadySentence::Said(text) | ReadySentence::Asked(text)) if !text.is_empty() => {
            (quotation(name, text, turn.language), false, Cow::Borrowed(turn.dates(unit)))
        }
        _ => {
            let (resolved, dates) = resolve_mentions(&said, turn.moment, turn.language);
            let told = if unit.asks { None } else { third_person(source, turn, &resolved) };
            let is_rewritten = told.is_some();
            let content = told.unwrap_or_else(|| quotation(name, &resolved, turn.language));
            (content, is_rewritten, Cow::Owned(dates))
        }
    };
    Some(ToldSentence {
        message: turn.message,
        by_agent: turn.by_agent,
        speaker: name.clone(),
        form: WordCounts { dangles: dangles(&said), ..form(source, turn, unit, others) },
        asks: unit.asks,
        date: dates.iter().find(|date| date.confident).cloned(),
        language: turn.language,
        heads: OnceCell::new(),
        own: own(turn, unit, others),
        said,
        content,
        is_rewritten,
    })
}

/// The sentence with a mark in place of each passage in the words of others; `None` if it contains
/// no such passage.
fn own(turn: &SourceTurn, unit: &TurnUnit, others: &[Range<usize>]) -> Option<String> {
    let within = others.iter().filter(|range| range.start < unit.end && range.end > unit.start);
    let (mut own, mut at) = (String::new(), unit.start);
    for range in within {
        own.push_str(&turn.text[at..range.start.clamp(at, unit.end)]);
        own.push(';');
        at = range.end.min(unit.end);
    }
    if own.is_empty() {
        return None;
    }
    own.push_str(&turn.text[at..unit.end]);
    let own = tidy(&own, turn.language).unwrap_or_default();
    Some(without_openers(&own).unwrap_or(own))
}

/// `Maya: "…"`, with single quotation marks inside.
fn quotation(name: &str, text: &str, language: Language) -> String {
    if language == Language::Chinese {
        let inner = text.replace(['“', '「'], "‘").replace(['”', '」'], "’");
        return format!("{name}：“{inner}”");
    }
    let inner = text.replace(['"', '“', '”', '„', '«', '»'], "'");
    format!("{}: \"{inner}\"", capitalised(name))
}

/// Pairs of quotation marks; a sentence with an unpaired mark loses the marks.
const QUOTES: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];

/// The text without markers of emphasis. Most texts have none.
pub(super) fn without_emphasis(text: &str) -> String {
    if text.contains(['*', '_']) {
        text.replace("**", "").replace("__", "")
    } else {
        text.to_owned()
    }
}

/// A sentence without emoji, list and emphasis markers, ellipses, and unpaired quotation marks;
/// `None` if nothing remains.
fn tidy(text: &str, language: Language) -> Option<String> {
    let chinese = language == Language::Chinese;
    let text = text.trim_start_matches(['#', '*', '-', '>', '•', '+', '~', ' ']);
    let mut out = without_emphasis(text);
    if out.contains('…') || out.contains("....") {
        for dots in ["……", "…", "...."] {
            out = out.replace(dots, "...");
        }
    }
    if out.contains("...") {
        let whole = out.trim_end_matches(['.', ' ']).to_owned();
        let ended = whole.len() < out.len();
        out = whole
            .split("...")
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(if chinese { "，" } else { " – " });
        if ended {
            out.push(if chinese { '。' } else { '.' });
        }
    }
    out.retain(|c| !is_emoji(c));
    for (open, close) in QUOTES {
        let (opened, closed) = (out.matches(open).count(), out.matches(close).count());
        let halved = if open == close { opened % 2 == 1 } else { opened != closed };
        if halved && !(open == '„' || close == '”' && out.contains('„')) {
            out.retain(|c| c != open && c != close);
        }
    }
    let out = without_lone_apostrophe(&out);
    let out =
        out.trim_end_matches([',', '，', '、', ';', '；', ':', '：', '-', '–', '~', '(', ' ']);
    let out = out.trim();
    out.chars().any(char::is_alphanumeric).then(|| out.to_owned())
}

/// The text without an unpaired apostrophe at the start: "'cause".
fn without_lone_apostrophe(text: &str) -> Cow<'_, str> {
    let opens = |at: usize| {
        !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && text[at..].chars().nth(1).is_some_and(char::is_alphanumeric)
    };
    match text.rfind(['\'', '‘', '’']) {
        Some(at) if opens(at) => {
            let mark = text[at..].chars().next().map_or(0, char::len_utf8);
            Cow::Owned(format!("{}{}", &text[..at], &text[at + mark..]))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Counts and features of the words that are the speaker's own.
fn form(
    source: &EpisodeSource,
    turn: &SourceTurn,
    unit: &TurnUnit,
    others: &[Range<usize>],
) -> WordCounts {
    let mut form = WordCounts::default();
    let mut keys: Vec<u64> = Vec::with_capacity(unit.words.len());
    for word in &unit.words {
        if others.iter().any(|range| range.contains(&word.start)) {
            continue;
        }
        let text = turn.word_text(word);
        form.has_digit |= text.bytes().any(|byte| byte.is_ascii_digit());
        if word.unspaced {
            form.content += text.chars().count().div_ceil(2);
            continue;
        }
        if !word.class.is_function() {
            keys.push(word.key);
            form.has_name |= word.capital && !word.first && !source.is_speaker_name(turn, word);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    form.content += keys.len();
    form
}

/// True if a sentence opens with a word that refers to an earlier sentence.
fn dangles(said: &str) -> bool {
    let first = said.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’')).next();
    first.is_some_and(|word| class_of(word).dangles())
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
