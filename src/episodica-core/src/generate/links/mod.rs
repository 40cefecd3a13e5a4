//! Links between what somebody said and what they said later about the same thing.
//!
//! "The choir meets on Tuesdays." and, a month later, "The choir meets on Thursdays from now on."
//! are linked. A link ends nothing: whoever shows the earlier words can show the later ones beside
//! them. Sentences that only the world connects ("I live in Oslo", "I moved to Bergen") share no
//! word and are not linked; a sentence that only says the same again seldom is.
//!
//! How sure a link of two quotations is depends on their words alone, never on what else is in the
//! store: on the pieces that both have and their rarity in the encoder's vocabulary, on numbers,
//! and on two heads that read whether the later sentence says that something changed or may
//! change. The weights were learned from pairs of sentences (`tools/train_links.py`,
//! `tools/labels/links.tsv`). The links of two messages count together ([`LINKED_ODDS`]).

mod features;
mod weights;

use std::cell::OnceCell;
use std::ops::Range;

use features::{SentencePieces, compare};
use weights::{MOST_OF_SENTENCE, score_pair, score_sentence};

use crate::generate::episode::spoken_sentences;
use crate::text::heads::SentenceHeads;

/// Least odds of a link that is shown: the sum over all links of two messages.
pub(crate) const LINKED_ODDS: f32 = 0.6;
/// Least logit of a pair of sentences that counts.
const COUNTED: f32 = -2.0;
/// Least score of the head `worth`, and greatest of the head `unclear`, of a part of a quotation
/// that may be linked: it is nearly worth a note, and stands alone.
const WORTH: f32 = -1.0;
const UNCLEAR: f32 = 0.0;
/// Greatest score of the head `small_talk` of what may be linked: all thanks to one person share a
/// rare word, the name.
const SMALL_TALK: f32 = -0.9;

/// A quotation that may be linked.
#[derive(Debug)]
pub(crate) struct LinkableQuote {
    text: String,
    sentences: Vec<LinkableSentence>,
}

#[derive(Debug)]
struct LinkableSentence {
    /// Where the sentence stands in the quotation, in bytes.
    range: Range<usize>,
    pieces: SentencePieces,
    /// What the sentence adds to the logit of its links with earlier ones, as far as it was asked.
    moves: OnceCell<f32>,
    /// Whether it may be linked, as far as it was asked.
    may_be_linked: OnceCell<bool>,
}

/// Two sentences about the same thing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentenceLink {
    /// Where the earlier sentence stands in its quotation, in bytes.
    pub old: Range<usize>,
    /// Where the later sentence stands in its quotation, in bytes.
    pub new: Range<usize>,
    /// How sure the link is, 0 to 1.
    pub score: f32,
}

impl LinkableQuote {
    /// Reads the sentences of a quotation.
    pub fn of(text: &str) -> Self {
        let units = spoken_sentences(text).into_iter();
        let told = units.filter(|unit| unit.is_speech && !unit.asks);
        let sentences = told.map(|unit| LinkableSentence {
            pieces: SentencePieces::of(&text[unit.start..unit.end]),
            range: unit.start..unit.end,
            moves: OnceCell::new(),
            may_be_linked: OnceCell::new(),
        });
        Self { sentences: sentences.collect(), text: text.to_owned() }
    }

    fn may_link(&self, sentence: &LinkableSentence) -> bool {
        *sentence.may_be_linked.get_or_init(|| {
            let heads = SentenceHeads::of(&self.text[sentence.range.clone()], false);
            let is_whole = sentence.range == (0..self.text.len());
            heads.small_talk <= SMALL_TALK
                && (is_whole || heads.worth >= WORTH && heads.unclear <= UNCLEAR)
        })
    }

    /// What the heads add to the links of a sentence with earlier ones.
    fn moves(&self, sentence: &LinkableSentence) -> f32 {
        let read = || score_sentence(&self.text[sentence.range.clone()], &sentence.pieces);
        *sentence.moves.get_or_init(read)
    }

    /// The link of this earlier quotation with a later one, if any: between the two sentences that
    /// are most surely about the same thing.
    pub fn link_with(&self, later: &Self) -> Option<SentenceLink> {
        let mut odds = 0.0;
        let mut best: Option<(f32, &Range<usize>, &Range<usize>)> = None;
        for new in &later.sentences {
            for old in &self.sentences {
                let Some(features) = compare(&old.pieces, &new.pieces) else { continue };
                let of_pair = score_pair(&features);
                if of_pair + MOST_OF_SENTENCE <= COUNTED {
                    continue;
                }
                let score = of_pair + later.moves(new);
                if score > COUNTED && self.may_link(old) && later.may_link(new) {
                    odds += score.exp();
                    if best.is_none_or(|(known, ..)| score > known) {
                        best = Some((score, &old.range, &new.range));
                    }
                }
            }
        }
        best.map(|(_, old, new)| SentenceLink {
            old: old.clone(),
            new: new.clone(),
            score: odds / (1.0 + odds),
        })
    }
}

#[cfg(test)]
mod tests;
