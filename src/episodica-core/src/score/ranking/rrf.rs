//! Reciprocal rank fusion of the two legs.

use rustc_hash::FxHashMap;

use super::single::{leaf, plain_messages};
use super::{Ranking, RankingInput};
use crate::clock::Moment;
use crate::error::Result;
use crate::score::{
    AnswerRelevance, HitKind, ScoreTerm, ScoredMessage, ScoredRecord, TermWeights,
    reciprocal_rank_fusion, sort_records,
};

const DETAIL: &str = "reciprocal rank fusion of bm25 and cosine";

/// `sum over the legs of 1 / (k + rank)`.
pub(super) struct RrfRanking;

impl Ranking for RrfRanking {
    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>> {
        let slots = |ranked: Vec<(u32, f64)>| ranked.into_iter().map(|(slot, _)| slot).collect();
        let legs = [slots(asked.messages_by_words()), slots(asked.messages_by_meaning()?)];
        let fused = reciprocal_rank_fusion(&legs, asked.settings.rrf_k).into_iter();
        Ok(plain_messages(asked, fused.map(|(slot, score, _)| (slot, score)).collect()))
    }

    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord> {
        let scores = asked.fact_scores();
        let slots = asked.admitted_facts(scores);
        let key = |slot| asked.corpus.fact(slot).map(|fact| (fact.valid_from, &*fact.memory_id));
        fuse(asked, &slots, key, |slot| LegRanks {
            words: scores.words(slot),
            meaning: scores.cosine(slot),
            cosine: scores.cosine(slot),
        })
    }

    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>> {
        let fields = asked.episode_scores();
        let slots = asked.admitted_episodes(fields)?;
        let layers = asked.layers(fields, &slots)?;
        let key = |slot| {
            let episode = asked.corpus.episode(slot);
            episode.map(|episode| (episode.timestamp, &*episode.episode_id))
        };
        Ok(fuse(asked, &slots, key, |slot| LegRanks {
            words: fields.words(slot),
            meaning: fields.cosine(slot),
            cosine: layers.cosine(slot, asked.corpus.members(slot)),
        }))
    }

    /// 1 for a record that is first in both legs.
    fn relevance(
        &self,
        asked: &RankingInput<'_>,
        _: HitKind,
        score: f64,
        _: &AnswerRelevance,
    ) -> f64 {
        (score * (f64::from(asked.settings.rrf_k) + 1.0) / 2.0).clamp(0.0, 1.0)
    }

    fn explain(&self, message: &ScoredMessage, _: &TermWeights) -> ScoreTerm {
        ScoreTerm::leaf("rrf", message.score, DETAIL)
    }
}

/// A record's score in each leg.
struct LegRanks {
    words: f32,
    meaning: Option<f32>,
    /// The value that thresholds apply to.
    cosine: Option<f32>,
}

/// Combines the legs. `key` breaks ties within a leg: the later record first, then the smaller id.
fn fuse<'a>(
    asked: &RankingInput<'_>,
    slots: &[u32],
    key: impl Fn(u32) -> Option<(Moment, &'a str)>,
    legs: impl Fn(u32) -> LegRanks,
) -> Vec<ScoredRecord> {
    let later_first = |a: u32, b: u32| match (key(a), key(b)) {
        (Some(a), Some(b)) => b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    let legs: FxHashMap<u32, LegRanks> = slots.iter().map(|slot| (*slot, legs(*slot))).collect();
    let order = |value: &dyn Fn(&LegRanks) -> Option<f32>| {
        let mut ranked: Vec<(u32, f32)> =
            slots.iter().filter_map(|slot| Some((*slot, value(&legs[slot])?))).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| later_first(a.0, b.0)));
        ranked.into_iter().map(|(slot, _)| slot).collect::<Vec<u32>>()
    };
    let words = order(&|legs| Some(legs.words).filter(|score| *score > 0.0));
    let meaning = order(&|legs| legs.meaning);
    let fused = reciprocal_rank_fusion(&[words, meaning], asked.settings.rrf_k);
    let mut ranked: Vec<ScoredRecord> = fused
        .into_iter()
        .map(|(slot, score, _)| leaf(slot, "rrf", score, legs[&slot].cosine))
        .collect();
    sort_records(&mut ranked);
    ranked
}
