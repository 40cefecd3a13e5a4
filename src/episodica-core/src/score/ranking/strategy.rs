//! The trait of ranking strategies, and the strategy of each method.

use super::RankingInput;
use super::hybrid::HybridRanking;
use super::norlift::NorLift;
use super::rrf::RrfRanking;
use super::single::{VectorRanking, WordRanking};
use crate::error::Result;
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

    /// The score from which the distance of facts is measured, if the best hit among them has
    /// `best`: facts that the filter leaves out may answer better.
    fn best_fact(&self, _: &RankingInput<'_>, best: f64) -> f64 {
        best
    }

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
