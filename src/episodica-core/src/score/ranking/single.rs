//! A single leg: words (BM25) or meaning (cosine). Returns only records that match.

use super::{Ranking, RankingInput};
use crate::error::Result;
use crate::score::candidates::later_first;
use crate::score::terms::TERMS;
use crate::score::{
    AnswerRelevance, HitKind, ScoreTerm, ScoredMessage, ScoredRecord, TermWeights, sort_records,
};

/// Words only: BM25 of each record on its own.
pub(super) struct WordRanking;

impl Ranking for WordRanking {
    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>> {
        Ok(plain_messages(asked, asked.messages_by_words()))
    }

    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord> {
        let scores = asked.fact_scores();
        let facts = asked.admitted_facts(scores).into_iter();
        matched(facts.map(|slot| leaf(slot, "bm25", f64::from(scores.words(slot)), None)).collect())
    }

    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>> {
        let fields = asked.episode_scores();
        let episodes = asked.admitted_episodes(fields)?.into_iter();
        let words = |slot| f64::from(fields.words(slot));
        Ok(matched(episodes.map(|slot| leaf(slot, "bm25", words(slot), None)).collect()))
    }

    /// The share of the question that the record answers.
    fn relevance(&self, _: &RankingInput<'_>, _: HitKind, score: f64, _: &AnswerRelevance) -> f64 {
        score.clamp(0.0, 1.0)
    }

    fn explain(&self, message: &ScoredMessage, _: &TermWeights) -> ScoreTerm {
        ScoreTerm::leaf("bm25", message.score, "share of the question's words")
    }
}

/// Meaning only: the cosine of question and record.
pub(super) struct VectorRanking;

impl Ranking for VectorRanking {
    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>> {
        Ok(plain_messages(asked, asked.messages_by_meaning()?))
    }

    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord> {
        let scores = asked.fact_scores();
        let facts = asked.admitted_facts(scores).into_iter();
        let cosine = |slot| scores.cosine(slot);
        matched(
            facts
                .map(|slot| {
                    let value = f64::from(cosine(slot).unwrap_or(0.0));
                    leaf(slot, "cosine", value, cosine(slot))
                })
                .collect(),
        )
    }

    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>> {
        let fields = asked.episode_scores();
        let slots = asked.admitted_episodes(fields)?;
        let layers = asked.layers(fields, &slots)?;
        Ok(matched(
            slots
                .into_iter()
                .map(|slot| {
                    let cosine = layers.cosine(slot, asked.corpus.members(slot));
                    leaf(slot, "cosine", f64::from(cosine.unwrap_or(0.0)), cosine)
                })
                .collect(),
        ))
    }

    fn relevance(&self, _: &RankingInput<'_>, _: HitKind, score: f64, _: &AnswerRelevance) -> f64 {
        score.clamp(0.0, 1.0)
    }

    fn explain(&self, message: &ScoredMessage, _: &TermWeights) -> ScoreTerm {
        ScoreTerm::leaf("cosine", message.score, "of question and message")
    }
}

fn matched(mut ranked: Vec<ScoredRecord>) -> Vec<ScoredRecord> {
    ranked.retain(|record| record.explanation.value > 0.0);
    sort_records(&mut ranked);
    ranked
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
    let cosines = match (asked.vector, asked.corpus.messages().field.vector_index()) {
        (Some(vector), Some(vectors)) => vectors.inner_products(vector, &labels),
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
            newer: 0.0,
        })
        .collect()
}
