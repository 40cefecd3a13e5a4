//! The default strategy: all terms with a measured gain, on one scale.

use rustc_hash::FxHashMap;

use super::{Ranking, RankingInput};
use crate::config::RetrievalPreset;
use crate::error::Result;
use crate::score::mean::mean;
use crate::score::{
    FactTerms, FieldScores, HitKind, MaxSim, ScoreTerm, ScoredMessage, ScoredRecord, estimate_fact,
    last_successor, least_of_best, raise_successors, score_fact, sort_records,
};

/// Weights of similarity and importance in the preset `memo`.
const MEMO_SIMILARITY: f64 = 0.7;
const MEMO_IMPORTANCE: f64 = 0.3;

/// Number of facts compared with the question token by token, those that are most promising by the
/// other terms.
const COMPARED: usize = 256;

/// How far the score of a stated sentence that answers a question may lie below that of a short
/// quotation with the question's words.
const STATED_LAG: f64 = 0.9;

/// Weighted sums of named terms.
pub(super) struct HybridRanking;

impl Ranking for HybridRanking {
    fn prepare(&self, asked: &RankingInput<'_>, kinds: &[HitKind]) {
        asked.compare_ahead(kinds);
    }

    fn messages(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredMessage>> {
        asked.default_messages()
    }

    fn facts(&self, asked: &RankingInput<'_>) -> Vec<ScoredRecord> {
        let scores = asked.fact_scores();
        let mut facts = fact_terms(asked, scores);
        if !asked.exhaustive {
            keep_best(asked, scores, &mut facts);
        }
        ranked(asked, scores, facts)
    }

    fn best_fact(&self, asked: &RankingInput<'_>, best: f64) -> f64 {
        let is_memo = asked.settings.preset == RetrievalPreset::Memo;
        if is_memo { best } else { best.max(asked.best_fact(true) - STATED_LAG) }
    }

    fn episodes(&self, asked: &RankingInput<'_>) -> Result<Vec<ScoredRecord>> {
        let fields = asked.episode_scores();
        let mut slots = asked.admitted_episodes(fields)?;
        let layers = asked.layers(fields, &slots)?;
        if !asked.exhaustive {
            let estimate = |slot: &u32| layers.estimate(*slot, asked.corpus.members(*slot));
            let estimates: Vec<f64> = slots.iter().map(estimate).collect();
            let least = least_of_best(&estimates, asked.wanted);
            let mut estimates = estimates.into_iter();
            slots.retain(|_| estimates.next().is_some_and(|estimate| estimate >= least));
        }
        let score = |slot| layers.score(slot, asked.corpus.members(slot));
        let mut ranked: Vec<ScoredRecord> = slots.into_iter().map(score).collect();
        sort_records(&mut ranked);
        Ok(ranked)
    }
}

/// Unweighted terms of every admitted fact. If there are many, only the [`COMPARED`] most promising
/// ones are compared token by token; the other facts count as average in this term.
fn fact_terms(asked: &RankingInput<'_>, scores: &FieldScores) -> Vec<(u32, FactTerms)> {
    let corpus = asked.corpus;
    // Many facts share a subject, so each subject is compared once.
    let mut named: FxHashMap<u32, bool> = FxHashMap::default();
    let terms = asked.proposed_facts(scores).into_iter().map(|slot| {
        let (subject, name) = corpus.subject(slot);
        let terms = FactTerms {
            tokens: 0.0,
            vector_weight: asked.settings.weights.vector(),
            current: corpus.is_current(slot),
            about_named: *named
                .entry(subject)
                .or_insert_with(|| asked.query.names(corpus.messages(), name)),
        };
        (slot, terms)
    });
    let mut facts: Vec<(u32, FactTerms)> = terms.collect();
    let estimate = |(slot, terms): &(u32, FactTerms)| estimate_fact(scores, *slot, *terms);
    let estimates: Vec<f64> = facts.iter().map(estimate).collect();
    let least = least_of_best(&estimates, COMPARED);
    let promising = facts.iter_mut().zip(estimates).filter(|(_, estimate)| *estimate >= least);
    let mut promising: Vec<_> = promising.map(|(fact, _)| fact).collect();

    let mut question = MaxSim::new(asked.table, &asked.query.text);
    for (slot, terms) in &mut promising {
        terms.tokens = question.score(corpus.fact_tokens(*slot));
    }
    let mean = mean(promising.iter().map(|(_, terms)| terms.tokens));
    let range = promising.iter().map(|(_, terms)| terms.tokens).fold(0.0, f32::max) - mean;
    for (_, terms) in &mut promising {
        terms.tokens = if range > 1e-6 { (terms.tokens - mean) / range } else { 0.0 };
    }
    facts
}

/// Drops facts that cannot be among the best, since building an explanation for each fact would
/// dominate the cost.
fn keep_best(asked: &RankingInput<'_>, scores: &FieldScores, facts: &mut Vec<(u32, FactTerms)>) {
    let successor = |slot: u32| last_successor(slot, |slot| asked.corpus.successor(slot));
    let successors: Vec<Option<u32>> = facts.iter().map(|(slot, _)| successor(*slot)).collect();
    let mut worth: FxHashMap<u32, f64> =
        facts.iter().map(|(slot, terms)| (*slot, estimate_fact(scores, *slot, *terms))).collect();
    // A fact inherits the score of the fact that it superseded.
    for ((slot, _), last) in facts.iter().zip(&successors) {
        if let Some(last) = *last {
            let inherited = worth[slot];
            worth.entry(last).and_modify(|own| *own = own.max(inherited));
        }
    }
    let admitted = facts.iter().filter(|(slot, _)| asked.admits_standing(*slot));
    let estimates: Vec<f64> = admitted.map(|(slot, _)| worth[slot]).collect();
    let least = least_of_best(&estimates, asked.wanted);
    let among_best = |slot: &u32| worth.get(slot).is_some_and(|worth| *worth >= least);
    // A superseded fact stays if its successor does, since the successor inherits its score.
    let mut successors = successors.into_iter();
    facts.retain(|(slot, _)| match successors.next().flatten() {
        Some(last) if !asked.include_superseded => among_best(&last),
        _ => among_best(slot),
    });
}

fn ranked(
    asked: &RankingInput<'_>,
    scores: &FieldScores,
    facts: Vec<(u32, FactTerms)>,
) -> Vec<ScoredRecord> {
    let score = |(slot, terms): (u32, FactTerms)| {
        if asked.settings.preset == RetrievalPreset::Memo {
            memo(asked, scores, slot)
        } else {
            score_fact(scores, slot, terms)
        }
    };
    let mut ranked: Vec<ScoredRecord> = facts.into_iter().map(score).collect();
    let successor = |slot| last_successor(slot, |slot| asked.corpus.successor(slot));
    raise_successors(&mut ranked, |slot| successor(slot).map(|later| (later, 1.0)));
    ranked.retain(|record| asked.admits_standing(record.slot));
    sort_records(&mut ranked);
    ranked
}

/// The formula of the preset `memo`.
fn memo(asked: &RankingInput<'_>, scores: &FieldScores, slot: u32) -> ScoredRecord {
    let cosine = scores.cosine(slot);
    let importance = asked.corpus.fact(slot).map_or(0.0, |fact| f64::from(fact.importance));
    let parts = vec![
        ScoreTerm::weighted("similarity", MEMO_SIMILARITY, f64::from(cosine.unwrap_or(0.0))),
        ScoreTerm::weighted("importance", MEMO_IMPORTANCE, importance),
    ];
    ScoredRecord { slot, explanation: ScoreTerm::raw(parts), cosine }
}
