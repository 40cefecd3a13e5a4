//! Links between what somebody said and what they said later about the same thing.
//!
//! "The choir meets on Tuesdays." and, a month later, "The choir meets on Thursdays from now on."
//! are linked. A link ends nothing: whoever shows the earlier words can show the later ones beside
//! them. Sentences that only the world connects ("I live in Oslo", "I moved to Bergen") share no
//! word and are not linked; a sentence that only says the same again seldom is.
//!
//! How sure a link of two quotations is depends on their words alone, never on what else is in the
//! store: on the pieces that both have and their rarity in the encoder's vocabulary, on numbers, on
//! their vectors, and on two heads that read whether the later sentence says that something changed
//! or may change. The weights were learned from pairs of sentences (`tools/train_links.py`,
//! `tools/labels/links.tsv`). The links of two messages count together ([`LINKED_ODDS`]).

mod features;
mod weights;

use std::cell::OnceCell;
use std::ops::Range;

use features::{SentencePieces, add_cosine, compare};
use weights::{most_of_vectors, score_pair, score_sentence};

use crate::embed::{CompactEmbedder, Embedder};
use crate::generate::episode::spoken_sentences;
use crate::text::heads::SentenceHeads;

/// Least odds of a link that is shown: the sum over all links of two messages.
pub(crate) const LINKED_ODDS: f32 = 0.6;
/// The same in talk with an assistant: people tell it what changed; to one another they mostly say
/// the same again.
pub(crate) const LINKED_ODDS_TO_ASSISTANT: f32 = 0.4;
/// Least logit of a pair of sentences that counts.
const COUNTED: f32 = -2.0;
/// Least score of the head `worth` of a sentence that may be linked: it is nearly worth a note.
const WORTH: f32 = -1.0;
/// Score of the head `unclear` up to which a sentence stands alone. The excess lowers the logit
/// of a link as much: it may be about anything.
const CLEAR: f32 = 0.5;
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
    /// Its vector by the package's own encoder, as far as it was asked.
    vector: OnceCell<Vec<f32>>,
    /// What the sentence adds to the logit of its links with earlier ones, as far as it was asked.
    moves: OnceCell<f32>,
    /// How unclear it is alone, if it may be linked, as far as it was asked.
    unclear: OnceCell<Option<f32>>,
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
            vector: OnceCell::new(),
            moves: OnceCell::new(),
            unclear: OnceCell::new(),
        });
        Self { sentences: sentences.collect(), text: text.to_owned() }
    }

    /// How unclear a sentence is alone, beyond [`CLEAR`]; `None` if it may not be linked.
    fn unclear(&self, sentence: &LinkableSentence) -> Option<f32> {
        *sentence.unclear.get_or_init(|| {
            let heads = SentenceHeads::of(&self.text[sentence.range.clone()], false);
            let may_link = heads.small_talk <= SMALL_TALK && heads.worth >= WORTH;
            may_link.then(|| (heads.unclear - CLEAR).max(0.0))
        })
    }

    fn vector<'s>(&self, sentence: &'s LinkableSentence) -> &'s [f32] {
        sentence.vector.get_or_init(|| {
            let rows = CompactEmbedder.embed_texts(&[&self.text[sentence.range.clone()]]);
            rows.map_or_else(|_| Vec::new(), |rows| rows.into_iter().collect())
        })
    }

    /// What the heads add to the links of a sentence with earlier ones.
    fn moves(&self, sentence: &LinkableSentence) -> f32 {
        *sentence.moves.get_or_init(|| score_sentence(&sentence.pieces, self.vector(sentence)))
    }

    /// The link of this earlier quotation with a later one, if any: between the two sentences that
    /// are most surely about the same thing.
    pub fn link_with(&self, later: &Self) -> Option<SentenceLink> {
        let mut odds = 0.0;
        let mut best: Option<(f32, &Range<usize>, &Range<usize>)> = None;
        for new in &later.sentences {
            for old in &self.sentences {
                let Some(mut features) = compare(&old.pieces, &new.pieces) else { continue };
                if score_pair(&features) + most_of_vectors() <= COUNTED {
                    continue;
                }
                let vectors = self.vector(old).iter().zip(later.vector(new));
                add_cosine(&mut features, vectors.map(|(a, b)| a * b).sum());
                let score = score_pair(&features) + later.moves(new);
                if score <= COUNTED {
                    continue;
                }
                let unclear = self.unclear(old).zip(later.unclear(new));
                let Some(unclear) = unclear.map(|(old, new)| old.max(new)) else { continue };
                let score = score - unclear;
                if score > COUNTED {
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
