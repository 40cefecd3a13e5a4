//! The trait of ranking strategies, and the strategy of each method.

use super::RankingInput;
use super::hybrid::HybridRanking;
use super::norlift::NorLift;
use super::rrf::RrfRanking;
use super::single::{VectorRanking, WordRanking};
use crate::error::Result;
use crate::score::candidates::later_first;
use crate::score::messages::TERMS;
use crate::score::relevance::AnswerRelevance;
use crate::score::{
    HitKind, ScoreTerm, ScoredMessage, ScoredRecord, SearchMethod, TermWeights, relevance,
};

/// A way to rank records. Every list is best first.
pub trait Ranking: Sync {
    /// Computes in parallel, where that is faster, the values that ranking these kinds will need.
    fn prepare(&self, _: &RankingInput<'_>, _: &[HitKind]) {}

    /// Messages that the filter admits.
    ///
    /// # Errors
    /// `Index` if the question's vector differs in dimension from the stored ones.
    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>>;

    /// Facts that the filter admits.
    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord>;

    /// Episodes that the filter admits.
    ///
    /// # Errors
    /// As [`Ranking::messages`].
    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>>;

    /// Probability that a record with this score answers the question, 0 to 1. Rises with the
    /// score.
    fn relevance(
        &self,
        _: &RankingInput<'_>,
        kind: HitKind,
        score: f64,
        answered: &AnswerRelevance,
    ) -> f64 {
        relevance(kind, score, answered)
    }

    /// The score of a message as an explanation tree.
    fn explain(&self, message: &ScoredMessage, weights: &TermWeights) -> ScoreTerm {
        message.explain(weights)
    }
}

impl SearchMethod {
    /// The strategy for this method.
    pub fn ranking(self) -> &'static dyn Ranking {
        match self {
            Self::Hybrid => &HybridRanking,
            Self::Rrf => &RrfRanking,
            Self::Vector => &VectorRanking,
            Self::Bm25 => &WordRanking,
            Self::Norlift => &NorLift,
        }
    }
}

/// A record whose score is a single number.
pub(super) fn leaf(slot: u32, name: &'static str, value: f64, cosine: Option<f32>) -> ScoredRecord {
    ScoredRecord { slot, explanation: ScoreTerm::leaf(name, value, ""), cosine }
}

/// Messages with single-number scores and their cosines, best first; ties go to the later message.
pub(super) fn plain_messages(
    asked: &RankingInput<'_>,
    mut ranked: Vec<(u32, f64)>,
) -> Vec<ScoredMessage> {
    let index = asked.corpus.messages();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| later_first(index, a.0, b.0)));
    let labels: Vec<u64> = ranked.iter().map(|(slot, _)| u64::from(*slot)).collect();
    let cosines = match (asked.vector, asked.corpus.messages().field.vectors()) {
        (Some(vector), Some(vectors)) => vectors.scores(vector, &labels),
        _ => vec![None; labels.len()],
    };
    let scored = ranked.into_iter().zip(cosines);
    scored
        .map(|((slot, score), cosine)| ScoredMessage {
            slot,
            score,
            terms: [0.0; TERMS.len()],
            cosine,
            raised: 0.0,
        })
        .collect()
}
