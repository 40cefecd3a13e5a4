//! Of two short messages of one speaker that say the same with another value, the later comes
//! first: "The gate code is 7712.", and a month later "The gate code is 3390, not 7712.".
//!
//! The rule compares only the best messages, and only their words. The words of the question decide
//! what the two are about: whatever the earlier message shares with the question, the later one has
//! as well, and a word that differs is none of the question's. It hides nothing.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use super::candidates::later_first;
use super::query::FUNCTION_CHARACTERS;
use super::{ParsedQuery, QueryTerm, ScoredMessage};
use crate::index::{MessageIndex, stem_word};
use crate::text::script::{is_kana, is_katakana, is_unspaced};
use crate::text::tongue::QueryLanguage;
use crate::text::vocabulary::is_function_word;
use crate::text::words::for_each_word;

/// Number of best messages that are compared with each other.
const COMPARED: usize = 20;
/// Margin by which the later message ranks above the earlier one.
const MARGIN: f64 = 0.001;
/// Least share of the shorter message's distinct words that both have. In the shortest statements,
/// such as "My manager is Ana Ruiz.", the value is half of the words.
const SHARED: f32 = 0.5;
/// The same for the tokens of the two messages, which are known without reading the texts. They
/// include parts of words, so less of them is shared.
const SHARED_TOKENS: f32 = 0.25;
/// The same for the longer message: it may have a clause more, but not a story.
const SHARED_OF_LONGER: f32 = 0.3;
/// Greatest length of a statement, in words (a character of a script without spaces is half a word)
/// and in tokens. Longer messages share many words by chance.
const MAX_WORDS: f32 = 24.0;
const MAX_TOKENS: usize = 160;
/// Greatest length of a new value, in words.
const MAX_VALUE: usize = 6;
/// Most commas of a sentence, as a share of its words; a list has more.
const MAX_COMMAS: f32 = 0.25;
/// Characters of code, which says the same in many lines.
const OF_CODE: [char; 9] = ['{', '}', '[', ']', '<', '>', '=', '`', '\\'];

/// Raises a message above the earlier ones that say the same with another value. `ranked` is best
/// first, before and after.
pub fn raise_newer(ranked: &mut [ScoredMessage], index: &MessageIndex, query: &ParsedQuery) {
    let best = &ranked[..ranked.len().min(COMPARED)];
    let mut best: Vec<ShortMessage<'_>> =
        best.iter().enumerate().filter_map(|(rank, m)| ShortMessage::of(rank, m, index)).collect();
    if best.len() < 2 {
        return;
    }
    best.sort_by(|a, b| later_first(index, b.slot, a.slot));
    // Earlier messages get their score first, so that the last of several comes first.
    let mut least: Vec<f64> = best.iter().map(|message| message.score).collect();
    for later in 1..best.len() {
        for earlier in 0..later {
            let (new, old) = (&best[later], &best[earlier]);
            if new.score < least[earlier] + MARGIN && new.changes(old, &query.terms) {
                least[later] = least[later].max(least[earlier] + MARGIN);
            }
        }
    }
    let raised: Vec<(usize, f64)> = best.iter().map(|message| message.rank).zip(least).collect();
    for (rank, least) in raised {
        let message = &mut ranked[rank];
        message.newer = least - message.score;
        message.score += message.newer;
    }
    ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
}

/// One of the best messages.
struct ShortMessage<'a> {
    rank: usize,
    slot: u32,
    score: f64,
    index: &'a MessageIndex,
    /// Distinct tokens, ascending.
    tokens: Vec<u16>,
    /// The text, read when it is first compared.
    statement: OnceCell<Option<Statement>>,
}

impl<'a> ShortMessage<'a> {
    fn of(rank: usize, message: &ScoredMessage, index: &'a MessageIndex) -> Option<Self> {
        let tokens = index.token_ids(message.slot);
        if tokens.is_empty() || tokens.len() > MAX_TOKENS {
            return None;
        }
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        tokens.dedup();
        let (slot, score) = (message.slot, message.score);
        Some(Self { rank, slot, score, index, tokens, statement: OnceCell::new() })
    }

    /// [`Statement::changes`] for an earlier message of the same speaker.
    fn changes(&self, earlier: &Self, asked: &[QueryTerm]) -> bool {
        let speaker = |message: &Self| self.index.priors()[message.slot as usize].speaker;
        let time = |message: &Self| self.index.get(message.slot).timestamp;
        speaker(self) == speaker(earlier)
            && self.shares_tokens(earlier)
            && time(self) > time(earlier)
            && match (self.statement(), earlier.statement()) {
                (Some(new), Some(old)) => new.changes(old, asked),
                _ => false,
            }
    }

    fn shares_tokens(&self, other: &Self) -> bool {
        let is_shared = |token: &&u16| other.tokens.binary_search(token).is_ok();
        let shared = self.tokens.iter().filter(is_shared).count();
        shared as f32 >= SHARED_TOKENS * self.tokens.len().min(other.tokens.len()) as f32
    }

    fn statement(&self) -> Option<&Statement> {
        let read = || Statement::of(&self.index.get(self.slot).content);
        self.statement.get_or_init(read).as_ref()
    }
}

/// The words of a short message.
struct Statement {
    /// Stems in order; each character of a script without spaces by itself.
    words: Vec<Box<str>>,
    /// Those that a change of the value may change: no function words.
    telling: FxHashSet<Box<str>>,
    distinct: FxHashSet<Box<str>>,
}

impl Statement {
    /// Reads a message; `None` for a long one, a question, a list or code.
    fn of(content: &str) -> Option<Self> {
        let content = content.trim();
        if content.contains('\n') || content.contains(OF_CODE) || content.contains(['?', '？']) {
            return None;
        }
        let mut folded = Vec::new();
        let mut length = 0.0;
        for_each_word(content, |word, unspaced| {
            if unspaced {
                length += 0.5 * word.chars().count() as f32;
                folded.extend(word.chars().map(|c| (c.to_string(), is_telling(c))));
            } else {
                length += 1.0;
                folded.push((word.to_owned(), true));
            }
        });
        let commas = content.matches([',', '，', '、', ';', '；']).count();
        if length > MAX_WORDS || folded.len() < 2 || commas as f32 > MAX_COMMAS * length.max(4.0) {
            return None;
        }
        let tongue = QueryLanguage::of(folded.iter().map(|(word, _)| word.as_str()));
        let says_little = |word: &str| {
            is_function_word(word) || tongue.is_some_and(|tongue| tongue.is_function_word(word))
        };
        let telling = folded.iter().filter(|(word, tells)| *tells && !says_little(word));
        let telling = telling.map(|(word, _)| stem_word(word).into()).collect();
        let words: Vec<Box<str>> = folded.iter().map(|(word, _)| stem_word(word).into()).collect();
        let distinct = words.iter().cloned().collect();
        Some(Self { words, telling, distinct })
    }

    /// True if this statement says the same as an `earlier` one with another value, so that it
    /// answers the question of these terms in its place.
    fn changes(&self, earlier: &Self, asked: &[QueryTerm]) -> bool {
        let shared = self.distinct.intersection(&earlier.distinct).count() as f32;
        let sizes = [self.distinct.len() as f32, earlier.distinct.len() as f32];
        if shared < 2.0
            || shared < SHARED * sizes[0].min(sizes[1])
            || shared < SHARED_OF_LONGER * sizes[0].max(sizes[1])
        {
            return false;
        }
        let names_topic = |term: &QueryTerm| !term.unspaced || term.text.chars().all(is_telling);
        let topic = asked.iter().filter(|term| names_topic(term) && earlier.has_term(term));
        let of_question: Vec<&QueryTerm> = topic.collect();
        if of_question.is_empty() || !of_question.iter().all(|term| self.has_term(term)) {
            return false;
        }
        let differs = |a: &Self, b: &Self| a.telling.difference(&b.distinct).next().is_some();
        differs(self, earlier) && (differs(earlier, self) || self.corrects(earlier))
    }

    /// True if the question's term, or a word that counts as its occurrence, is in the statement.
    fn has_term(&self, term: &QueryTerm) -> bool {
        let variants = term.variants.iter().map(|variant| variant.text.as_str());
        std::iter::once(term.text.as_str()).chain(variants).any(|text| self.has(text))
    }

    /// True if a term of the index is in the statement: a stem, or one or two characters.
    fn has(&self, term: &str) -> bool {
        let mut chars = term.chars();
        match (chars.next(), chars.next()) {
            (Some(first), Some(second)) if is_unspaced(first) => {
                let is = |word: &str, c: char| word.chars().eq([c]);
                self.words.windows(2).any(|pair| is(&pair[0], first) && is(&pair[1], second))
            }
            _ => self.distinct.contains(term),
        }
    }

    /// True if `earlier` stands here with a new value in place of an old one, which follows: "We
    /// pay 905 euros, not 840." after "We pay 840 euros.".
    fn corrects(&self, earlier: &Self) -> bool {
        (1..earlier.words.len()).any(|start| {
            let (before, tail) = earlier.words.split_at(start);
            let Some(at) = position(&self.words, before) else { return false };
            let rest = &self.words[at + start..];
            (1..=tail.len()).any(|length| {
                let (old, after) = tail.split_at(length);
                old.iter().any(|word| earlier.telling.contains(word))
                    && self.replaces(rest, old, after, earlier)
            })
        })
    }

    /// True if `rest` is a new value, then `after`, and then, at a distance from the new value, the
    /// old one.
    fn replaces(&self, rest: &[Box<str>], old: &[Box<str>], after: &[Box<str>], e: &Self) -> bool {
        let is_new = |word| self.telling.contains(word) && !e.distinct.contains(word);
        (1..=MAX_VALUE.min(rest.len())).any(|length| {
            let (value, rest) = rest.split_at(length);
            let follows = rest.strip_prefix(after).and_then(|rest| position(rest, old));
            value.iter().any(is_new) && follows.is_some_and(|gap| gap > 0 || !after.is_empty())
        })
    }
}

/// True if a character of a script without spaces may belong to a value, rather than to grammar.
fn is_telling(c: char) -> bool {
    is_katakana(c) || !is_kana(c) && !FUNCTION_CHARACTERS.contains(c)
}

/// Where `part` first stands in `words`.
fn position(words: &[Box<str>], part: &[Box<str>]) -> Option<usize> {
    words.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    /// Which of two statements of a speaker, a month apart, comes first for a question that the
    /// earlier one matches better.
    fn is_newer_first(asked: &str, earlier: &str, later: &str) -> bool {
        let mut index = MessageIndex::default();
        let table = crate::embed::StaticTable::shared();
        for (number, text) in [earlier, later].into_iter().enumerate() {
            let when = format!("2025-0{}-03T10:00:00Z", number + 1);
            let message = testing::said(number as u64, "user", None, &when, text);
            index.add_message(message, &table.token_ids(text));
        }
        let query = ParsedQuery::new(asked, &index, table);
        let scored = |slot, score| ScoredMessage {
            slot,
            score,
            terms: [0.0; crate::score::MESSAGE_TERMS.len()],
            cosine: None,
            raised: 0.0,
            newer: 0.0,
        };
        let mut ranked = [scored(0, 2.0), scored(1, 1.5)];
        raise_newer(&mut ranked, &index, &query);
        assert!(ranked[0].score >= ranked[1].score);
        assert_eq!(ranked[0].newer > 0.0, ranked[0].slot == 1);
        ranked[0].slot == 1
    }

    #[test]
    fn another_value_said_later_comes_first() {
        for (asked, earlier, later) in [
            ("which floor is mum on", "Mum is on floor 2.", "Mum is on floor 4."),
            ("who is my vet", "My vet is Ola Berg.", "My vet is Ida Moe now."),
            ("who is my vet", "My vet is Ola Berg.", "Sorry, I mean my vet is Ida Moe."),
            ("who is my vet", "My vet is Ola Berg.", "My vet is Ida Moe, not Ola Berg."),
            ("what is the door code", "The door code is 7712.", "New door code: 3390."),
            ("how high is our rent", "We pay 840 euros rent.", "We pay 905 euros rent, not 840."),
            (
                "担当者は誰ですか",
                "担当者は佐藤さんです。",
                "担当者は中村さんです、佐藤さんではない。",
            ),
            ("how long are shifts", "Our shifts are six hours.", "Our shifts are ten hours."),
            ("Wo steht mein Rad?", "Mein Rad steht im Hof.", "Mein Rad steht jetzt im Keller."),
            ("¿quién es mi tutora?", "Mi tutora es Pilar.", "Mi tutora es Inés, no Pilar."),
            ("我的柜子是几号？", "我的柜子是218号。", "我的柜子是305号，不是218号。"),
            ("我们班长是谁", "我们班长是陈敏。", "我们班长换成周凯了。"),
            ("担当者は誰ですか", "担当者は佐藤さんです。", "担当者は中村さんになりました。"),
            ("제 사물함 번호", "제 사물함 번호는 218입니다.", "제 사물함 번호는 305입니다."),
        ] {
            assert!(is_newer_first(asked, earlier, later), "{later}");
        }
    }

    #[test]
    fn a_repeat_another_topic_a_list_or_code_changes_nothing() {
        let pasted = "the pump room door code is 3390 ".repeat(12);
        for (asked, earlier, later) in [
            ("who is my vet", "My vet is Ola Berg.", "My vet is Ola Berg."),
            ("who is my vet", "My vet is Ola Berg.", "As I said, my vet is Ola Berg."),
            ("who is my vet", "My vet is Ola Berg.", "My vet is still Ola Berg, thankfully."),
            ("who is my vet", "My vet is Ola Berg.", "My vet Ola Berg."),
            ("who is my vet", "My vet is Ola Berg.", "My boss is Ida Moe."),
            ("where does Ola work", "Ola works in the harbour.", "Ida works in the mill."),
            ("who is my vet", "My vet is Ola Berg.", "Is my vet Ida Moe?"),
            ("what's the door code", "The door code is 7712.", &pasted),
            ("what to buy, milk?", "milk, eggs, bread, butter", "milk, eggs, bread, honey"),
            ("timeout", "set timeout = 30 for retries", "set timeout = 45 for retries"),
            ("what is the plan", "The plan is:\nswim\nrun", "The plan is:\nswim\nrest"),
            ("担当者は誰ですか", "担当者は佐藤さんです。", "担当者は佐藤さんだよ。"),
            ("我们班长是谁", "我们班长是陈敏。", "我们班长就是陈敏啊。"),
            ("", "My vet is Ola Berg.", "My vet is Ida Moe."),
        ] {
            assert!(!is_newer_first(asked, earlier, later), "{later}");
        }
    }

    #[test]
    fn the_last_of_several_comes_first_and_other_speakers_are_left_alone() {
        let mut index = MessageIndex::default();
        let table = crate::embed::StaticTable::shared();
        let said = [("ann", 7), ("ann", 8), ("ann", 9), ("bo", 11)];
        for (number, (name, hour)) in said.into_iter().enumerate() {
            let text = format!("The bus leaves at {hour}.");
            let when = format!("2025-03-0{}T10:00:00Z", number + 1);
            let message = testing::said(number as u64, "user", Some(name), &when, &text);
            index.add_message(message, &table.token_ids(&text));
        }
        let query = ParsedQuery::new("when the bus leaves", &index, table);
        let scored = |(slot, score)| ScoredMessage {
            slot,
            score,
            terms: [0.0; crate::score::MESSAGE_TERMS.len()],
            cosine: None,
            raised: 0.25,
            newer: 0.0,
        };
        let mut ranked = [(0, 3.0), (1, 2.5), (2, 2.0), (3, 1.0)].map(scored);
        raise_newer(&mut ranked, &index, &query);
        assert_eq!(ranked.map(|message| message.slot), [2, 1, 0, 3]);
        assert_eq!(ranked[3].newer, 0.0);
        assert_eq!(ranked[0].score, 2.0 + ranked[0].newer);
    }
}
