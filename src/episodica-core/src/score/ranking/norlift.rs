//! NOR-LIFT: facts vote for their source episodes.
//!
//! For a query, let `s_i` be the similarity of fact `i`, `z_i` its z-score over all facts and `tau`
//! the 95th percentile of the `z_i`. Fact `i` votes with probability
//! `p_i = 1 / (1 + exp(-lambda (z_i - tau)))`. The votes for an episode with the facts `F` combine
//! by noisy-or: `P = 1 - prod(1 - p_i)`. The same number of average facts would give
//! `E = 1 - (1 - mean p)^|F|`. The lift, `(P - E) / (1 - E)`, does not favour episodes merely
//! because they have many facts.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::hybrid::HybridRanking;
use super::{Ranking, RankingInput};
use crate::error::Result;
use crate::model::SemanticMemory;
use crate::score::{
    AnswerRelevance, HitKind, ScoreTerm, ScoredMessage, ScoredRecord, sort_records,
};

/// Steepness of a vote.
const LAMBDA: f64 = 2.5;
/// Share of facts that vote with a probability below one half.
const TAU_PERCENTILE: f64 = 0.95;
/// Weight of an episode's layered score relative to its lift.
const LAYERED_SHARE: f64 = 0.5;

/// Ranks episodes by the votes of facts; messages and facts as the default strategy does.
pub(super) struct NorLift;

impl Ranking for NorLift {
    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>> {
        asked.default_messages()
    }

    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord> {
        HybridRanking.facts(asked)
    }

    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>> {
        let corpus = asked.corpus;
        let fields = asked.episode_scores();
        let slots = asked.admitted_episodes(fields)?;
        let layers = asked.layers(fields, &slots)?;
        let lifts = lifts(asked);
        let score = |slot: u32| {
            let layered = layers.score(slot, corpus.members(slot));
            let lift = corpus
                .episode(slot)
                .and_then(|episode| lifts.get(&episode.episode_id))
                .copied()
                .unwrap_or(0.0);
            let parts = vec![
                ScoreTerm::leaf("norlift", lift, "votes of facts"),
                ScoreTerm { name: "layers", ..layered.explanation.scaled(LAYERED_SHARE) },
            ];
            ScoredRecord { explanation: ScoreTerm::raw(parts), ..layered }
        };
        let mut ranked: Vec<ScoredRecord> = slots.into_iter().map(score).collect();
        sort_records(&mut ranked);
        Ok(ranked)
    }

    /// For an episode: its score divided by the highest possible score.
    fn relevance(
        &self,
        asked: &RankingInput<'_>,
        kind: HitKind,
        score: f64,
        answered: &AnswerRelevance,
    ) -> f64 {
        match kind {
            HitKind::Episodic => (score / (1.0 + LAYERED_SHARE)).clamp(0.0, 1.0),
            _ => HybridRanking.relevance(asked, kind, score, answered),
        }
    }
}

/// Lift of each episode by the votes of all facts, by episode id.
fn lifts(asked: &RankingInput<'_>) -> BTreeMap<String, f64> {
    let corpus = asked.corpus;
    let scores = asked.fact_scores();
    let mut slots = corpus.fact_slots();
    slots.retain(|slot| !corpus.is_fact_hidden(*slot));
    let facts = || slots.iter().filter_map(|slot| Some((*slot, corpus.fact(*slot)?)));
    // Computes with numbers in place of ids, and maps them back in the result.
    let mut names: Vec<&str> =
        facts().flat_map(|(_, fact)| fact.source_episodes.iter().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    let number = |id: &String| names.binary_search(&id.as_str()).ok();
    let vote = |(slot, fact): (u32, &Arc<SemanticMemory>)| {
        let similarity = scores.cosine(slot).unwrap_or_else(|| scores.words(slot));
        (similarity, fact.source_episodes.iter().filter_map(number).collect())
    };
    let mut votes: Vec<(f32, Vec<usize>)> = facts().map(vote).collect();
    // A fixed order of summation makes the result independent of the order in which facts arrived.
    votes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (similarities, sources): (Vec<f32>, Vec<Vec<usize>>) = votes.into_iter().unzip();
    lift(&similarities, &sources)
        .into_iter()
        .map(|(number, lift)| (names[number].to_owned(), lift))
        .collect()
}

/// Lift of each episode with votes. `similarities[i]` belongs to the fact whose source episodes are
/// `sources[i]` (any key type).
fn lift<K: Copy + Ord>(similarities: &[f32], sources: &[Vec<K>]) -> BTreeMap<K, f64> {
    let count = similarities.len();
    let mut lifts = BTreeMap::new();
    if count == 0 {
        return lifts;
    }
    let mean = similarities.iter().map(|s| f64::from(*s)).sum::<f64>() / count as f64;
    let variance =
        similarities.iter().map(|s| (f64::from(*s) - mean).powi(2)).sum::<f64>() / count as f64;
    let deviation = variance.sqrt().max(1e-9);
    let z: Vec<f64> = similarities.iter().map(|s| (f64::from(*s) - mean) / deviation).collect();
    let mut sorted = z.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let tau = sorted[((count - 1) as f64 * TAU_PERCENTILE).floor() as usize];
    let votes: Vec<f64> = z.iter().map(|z| 1.0 / (1.0 + (-LAMBDA * (z - tau)).exp())).collect();
    let average = votes.iter().sum::<f64>() / count as f64;

    let mut silence: BTreeMap<K, (f64, i32)> = BTreeMap::new();
    for (vote, sources) in votes.iter().zip(sources) {
        for source in sources {
            let entry = silence.entry(*source).or_insert((1.0, 0));
            entry.0 *= 1.0 - vote;
            entry.1 += 1;
        }
    }
    for (source, (nobody, facts)) in silence {
        let expected = 1.0 - (1.0 - average).powi(facts);
        lifts.insert(source, (1.0 - nobody - expected) / (1.0 - expected).max(1e-9));
    }
    lifts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_strong_vote_beats_many_weak_ones() {
        let mut similarities = vec![0.1_f32; 40];
        similarities[0] = 0.9;
        let mut sources = vec![vec![2]; 40];
        sources[0] = vec![1];
        let lifts = lift(&similarities, &sources);
        assert!(lifts[&1] > 0.5 && lifts[&1] > lifts[&2], "{lifts:?}");
        assert!(lift::<u32>(&[], &[]).is_empty());
        assert!(lift(&[0.5], &[vec![7]])[&7].abs() < 1e-9);
    }
}
