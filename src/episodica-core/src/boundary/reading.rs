//! The features of one message for the rules, computed once.

use std::sync::Arc;

use crate::fork::ForkLazy;

use crate::sync::Mutex;
use rustc_hash::FxHashMap;

use super::cues;
use crate::model::Message;
use crate::text::hash::fnv1a;
use crate::text::script::{is_alphanumeric, is_unspaced};
use crate::text::vocabulary::is_function_word;
use crate::text::words::{for_each_word, runs};

/// Number of bytes read from the start of a message and from its end, so that a pasted log does not
/// slow the analysis down.
const READ_BYTES: usize = 2_000;

/// A sentence with more words is not a goodbye. Two characters of a script without spaces count as
/// a word.
const CLOSING_SENTENCE_WORDS: usize = 12;

/// How clearly a message announces a change of topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TopicTurn {
    /// Not at all.
    None,
    /// In words that often open an aside.
    Weak,
    /// Explicitly.
    Strong,
}

/// The features of one message.
#[derive(Debug, Clone)]
pub(super) struct MessageFeatures {
    /// Keys of the content words, sorted, without repetition: one for the first letters of a word,
    /// and one for each pair of CJK characters.
    pub terms: Vec<u64>,
    /// How clearly the message changes the topic.
    pub turn: TopicTurn,
    /// True if the message says goodbye.
    pub closes: bool,
    /// True if the message resumes the conversation after a goodbye.
    pub resumes: bool,
    /// True if the message has no topic ("haha yes", an emoji).
    pub backchannel: bool,
    /// True if the message ends in a question, so that the next message answers it.
    pub asks: bool,
    /// True if the role makes the message an answer (an assistant's or a tool's reply).
    pub replies: bool,
}

impl MessageFeatures {
    /// Analyses a message.
    pub fn from_message(message: &Message) -> Self {
        let (head, tail) = text_ends(&message.content);
        let folded = fold_case(head);
        let folded_tail = if tail.is_empty() { String::new() } else { fold_case(tail) };
        let last = if tail.is_empty() { &folded } else { &folded_tail };
        let terms = terms_of(head);
        let backchannel = tail.is_empty() && is_backchannel(&folded);
        Self {
            turn: turn_of(&folded),
            closes: closes_topic(last),
            resumes: RESUME.opens_text(folded.trim_start()),
            backchannel,
            asks: last
                .trim_end_matches(|c: char| c == ')' || c == '"' || c == '”' || c.is_whitespace())
                .ends_with(['?', '？', '吗', '呢']),
            replies: matches!(&*message.role, "assistant" | "tool" | "function"),
            terms,
        }
    }
}

/// Caches the features of one user's buffered messages by `seq`, so that adding a message does not
/// analyse the whole buffer again.
#[derive(Debug, Default)]
pub struct FeatureCache(Mutex<FxHashMap<u64, Arc<MessageFeatures>>>);

impl FeatureCache {
    /// The features of the messages, in order.
    pub(super) fn features_of(&self, buffer: &[Arc<Message>]) -> Vec<Arc<MessageFeatures>> {
        let known: Vec<Option<Arc<MessageFeatures>>> = {
            let known = self.0.lock();
            buffer.iter().map(|message| known.get(&message.seq).cloned()).collect()
        };
        // Analyses without holding the lock, so that other buffers can be analysed meanwhile.
        let read = |(message, known): (&Arc<Message>, Option<Arc<MessageFeatures>>)| {
            known.unwrap_or_else(|| Arc::new(MessageFeatures::from_message(message)))
        };
        let readings: Vec<_> = buffer.iter().zip(known).map(read).collect();
        self.0.lock().extend(
            buffer
                .iter()
                .zip(&readings)
                .map(|(message, reading)| (message.seq, Arc::clone(reading))),
        );
        readings
    }

    /// Drops the features of messages that have left the buffer.
    pub fn forget_messages(&self, messages: &[Arc<Message>]) {
        let mut known = self.0.lock();
        messages.iter().for_each(|message| {
            known.remove(&message.seq);
        });
        if known.is_empty() {
            *known = FxHashMap::default();
        }
    }
}

/// The start of a text and, if the text is longer, its end.
fn text_ends(text: &str) -> (&str, &str) {
    if text.len() <= 2 * READ_BYTES {
        return (text, "");
    }
    let (mut front, mut back) = (READ_BYTES, text.len() - READ_BYTES);
    while !text.is_char_boundary(front) {
        front -= 1;
    }
    while !text.is_char_boundary(back) {
        back += 1;
    }
    (&text[..front], &text[back..])
}

/// Converts to lower case with straight apostrophes.
fn fold_case(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '’' | '‘' | 'ʼ' => out.push('\''),
            c if c.is_ascii() => out.push(c.to_ascii_lowercase()),
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// True if a cue ends at a word boundary before `rest`. CJK cues and cues that end in punctuation
/// need no boundary.
fn ends_word(cue: &str, rest: &str) -> bool {
    let last = cue.chars().next_back().unwrap_or(' ');
    is_unspaced(last)
        || !is_alphanumeric(last)
        || !rest.chars().next().is_some_and(|c| is_alphanumeric(c) || c == '\'')
}

/// Cues by their first byte, so that only a few are compared at each word.
struct CueTable(Vec<Vec<&'static str>>);

impl CueTable {
    fn new(cues: &[&'static str]) -> Self {
        let mut by_first = vec![Vec::new(); 256];
        for cue in cues {
            by_first[usize::from(cue.as_bytes()[0])].push(*cue);
        }
        Self(by_first)
    }

    /// The cue at the start of the text, matched as whole words.
    fn opening_cue(&self, text: &str) -> Option<&'static str> {
        let first = text.as_bytes().first()?;
        self.0[usize::from(*first)]
            .iter()
            .find(|cue| text.strip_prefix(**cue).is_some_and(|rest| ends_word(cue, rest)))
            .copied()
    }

    /// True if the text starts with a cue, matched as whole words.
    fn opens_text(&self, text: &str) -> bool {
        self.opening_cue(text).is_some()
    }

    /// True if the text contains a cue, matched as whole words.
    fn occurs_in(&self, text: &str) -> bool {
        let mut inside = false;
        text.char_indices().any(|(at, c)| {
            let starts = !inside || is_unspaced(c);
            inside = is_alphanumeric(c) || c == '\'';
            starts && inside && self.opens_text(&text[at..])
        })
    }
}

static TURN_STRONG: ForkLazy<CueTable> = ForkLazy::new(|| CueTable::new(cues::TURN_STRONG));
static TURN_WEAK: ForkLazy<CueTable> = ForkLazy::new(|| CueTable::new(cues::TURN_WEAK));
static CLOSE_STRONG: ForkLazy<CueTable> = ForkLazy::new(|| CueTable::new(cues::CLOSE_STRONG));
static CLOSE_OPENING: ForkLazy<CueTable> = ForkLazy::new(|| CueTable::new(cues::CLOSE_OPENING));
/// Fillers that may precede a cue ("oh, by the way").
static FILLERS: ForkLazy<CueTable> = ForkLazy::new(|| {
    CueTable::new(&[
        "oh", "so", "ok", "okay", "well", "and", "hey", "yeah", "haha", "right", "um", "but", "哦",
        "啊", "嗯", "那",
    ])
});
static RESUME: ForkLazy<CueTable> = ForkLazy::new(|| CueTable::new(cues::RESUME));

/// Number of letters in a word's key; forms of a word usually share them.
const KEY_LETTERS: usize = 6;

static BACKCHANNEL_KEYS: ForkLazy<Vec<u64>> = ForkLazy::new(|| {
    let mut keys: Vec<u64> = cues::BACKCHANNEL.iter().map(|word| fnv1a(word.chars())).collect();
    keys.sort_unstable();
    keys
});

/// True if the lower-case word is only an acknowledgement ("yeah", "wow").
fn is_backchannel_word(word: &str) -> bool {
    BACKCHANNEL_KEYS.binary_search(&fnv1a(word.chars())).is_ok()
}

/// Calls `visit` with each content word and its key.
fn for_each_key(text: &str, mut visit: impl FnMut(u64, &str)) {
    for_each_word(text, |word, unspaced| {
        if unspaced {
            let mut before: Option<(usize, char)> = None;
            for (at, c) in word.char_indices() {
                if let Some((start, first)) = before.replace((at, c)) {
                    visit(u64::from(first) << 32 | u64::from(c), &word[start..at + c.len_utf8()]);
                }
            }
        } else {
            if word.len() > 2
                && !word.contains('\'')
                && !is_function_word(word)
                && !is_backchannel_word(word)
            {
                visit(fnv1a(word.chars().take(KEY_LETTERS)) | 1 << 63, word);
            }
        }
    });
}

fn terms_of(text: &str) -> Vec<u64> {
    let mut terms = Vec::with_capacity(text.len() / 8);
    for_each_key(text, |key, _| terms.push(key));
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The word of a text that has this key.
pub(super) fn surface_form(text: &str, term: u64) -> Option<String> {
    let mut found = None;
    for_each_key(text_ends(text).0, |key, word| {
        if key == term && found.is_none() {
            found = Some(word.to_owned());
        }
    });
    found
}

/// Approximate sentences of a folded text. Cues occur at the start or end of sentences.
fn split_clauses(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    text.split(['.', '!', '?', '。', '！', '？', '\n', ';', '；', '…'])
        .map(str::trim)
        .filter(|part| part.chars().any(is_alphanumeric))
}

fn turn_of(folded: &str) -> TopicTurn {
    let mut found = TopicTurn::None;
    for (index, clause) in split_clauses(folded).take(3).enumerate() {
        let mut clause = clause;
        for _ in 0..2 {
            if let Some(filler) = FILLERS.opening_cue(clause) {
                clause = clause[filler.len()..].trim_start_matches([',', '，', ' ', '、']);
            }
        }
        let opening = &clause[..clause.char_indices().nth(48).map_or(clause.len(), |(end, _)| end)];
        if TURN_STRONG.occurs_in(opening) {
            return TopicTurn::Strong;
        }
        // A weak cue in a later sentence does not count: the message begins with the old topic.
        if index == 0 && TURN_WEAK.opens_text(clause) {
            found = TopicTurn::Weak;
        }
    }
    found
}

fn closes_topic(folded: &str) -> bool {
    split_clauses(folded).rev().take(2).any(|clause| {
        let words = clause.split_whitespace().count()
            + clause.chars().filter(|c| is_unspaced(*c)).count() / 2;
        words <= CLOSING_SENTENCE_WORDS
            && (CLOSE_STRONG.occurs_in(clause) || CLOSE_OPENING.opens_text(clause))
    })
}

fn is_backchannel(folded: &str) -> bool {
    let mut words = 0;
    for word in runs(folded, |c| is_alphanumeric(c) || c == '\'') {
        words += 1;
        if words > 7 {
            return false;
        }
        let known = if word.starts_with(is_unspaced) {
            word.chars().all(|c| cues::BACKCHANNEL_CHARS.contains(c))
        } else {
            is_backchannel_word(word) || is_stretched(word)
        };
        if !known {
            return false;
        }
    }
    true
}

/// True for "hahahah", "yesss", "oooh": few letters, often repeated.
fn is_stretched(word: &str) -> bool {
    let mut letters: Vec<char> = word.chars().collect();
    letters.dedup();
    letters.sort_unstable();
    letters.dedup();
    letters.len() * 2 <= word.chars().count() && letters.len() <= 3
}
