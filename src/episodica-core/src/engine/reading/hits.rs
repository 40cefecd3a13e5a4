//! Hits of one kind: ranked, cut by the threshold, and made of the records.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::memory::view::View;
use crate::error::Result;
use crate::model::Message;
use crate::score::{
    Answered, Asked, Explanation, Hit, HitKind, Ranking, Record, ScoredMessage, ScoredRecord,
    Signs, Threshold, raise_later, raise_successors, sort_records,
};

/// What hits are made from.
pub(crate) struct Hits<'a> {
    pub asked: Asked<'a>,
    pub view: &'a View,
    pub ranking: &'static dyn Ranking,
    pub threshold: Threshold,
    /// Least relevance of a hit.
    pub least: Option<f64>,
    /// What snippets show.
    pub terms: Arc<[String]>,
}

impl Hits<'_> {
    /// The hits of a kind, best first.
    pub fn of(&self, kind: HitKind, degraded: &mut Vec<String>) -> Result<Vec<Hit>> {
        let mut hits = self.ranked(kind, degraded)?;
        if let Some(least) = self.least {
            hits.retain(|hit| hit.score >= least);
        }
        Ok(hits)
    }

    fn ranked(&self, kind: HitKind, degraded: &mut Vec<String>) -> Result<Vec<Hit>> {
        match kind {
            HitKind::Message => {
                let messages = self.messages()?;
                let answered = self.asked.answered_by(&messages);
                let kept = self.cut(messages, |message| message.cosine, degraded);
                Ok(self.of_messages(&kept, &answered))
            }
            HitKind::Semantic => {
                let mut facts = self.ranking.facts(&self.asked);
                self.settle_ties(&mut facts, |slot| {
                    let fact = self.view.facts.get(slot);
                    fact.map(|fact| (fact.valid_from, fact.memory_id.clone()))
                });
                Ok(self.of_facts(self.cut(facts, |fact| fact.cosine, degraded)))
            }
            HitKind::Episodic => {
                let mut episodes = self.ranking.episodes(&self.asked)?;
                if !self.asked.query.asks_past {
                    self.raise_later_episodes(&mut episodes)?;
                }
                self.settle_ties(&mut episodes, |slot| {
                    let episode = self.view.episodes.get(slot);
                    episode.map(|episode| (episode.timestamp, episode.episode_id.clone()))
                });
                self.of_episodes(self.cut(episodes, |episode| episode.cosine, degraded))
            }
        }
    }

    /// Messages by the method asked for, best first. Where the question asks for the present, what
    /// superseded a message is not below it.
    pub fn messages(&self) -> Result<Vec<ScoredMessage>> {
        let mut messages = self.ranking.messages(&self.asked)?;
        if !self.asked.query.asks_past {
            raise_later(&mut messages, self.view, self.view.superseded());
        }
        Ok(messages)
    }

    /// The episode of the message that superseded a message of an episode that may be a hit is not
    /// below that episode if the superseded message is its best match, and correspondingly lower if
    /// it matches less well: of nearly equal matches no rounding decides.
    fn raise_later_episodes(&self, ranked: &mut [ScoredRecord]) -> Result<()> {
        if self.view.superseded().is_empty() {
            return Ok(());
        }
        let mut later: FxHashMap<u32, Vec<(u32, f64)>> = FxHashMap::default();
        // Of equal ones it is not known yet which may be hits.
        let last = ranked.get(self.asked.wanted.saturating_sub(1));
        let least = last.map_or(f64::MIN, |episode| episode.explanation.value);
        for episode in ranked.iter().take_while(|episode| episode.explanation.value >= least) {
            for (message, share) in self.asked.shares(episode.slot)? {
                let facts = self.view.superseded().get(&message).into_iter().flatten();
                let sources = facts.flat_map(|fact| self.asked.corpus.sources(*fact));
                let others = sources.filter_map(|source| self.view.episode_of(*source));
                let others = others.filter(|slot| *slot != episode.slot);
                later.entry(episode.slot).or_default().extend(others.map(|slot| (slot, share)));
            }
        }
        raise_successors(ranked, |slot| later.get(&slot).into_iter().flatten().copied());
        sort_records(ranked);
        Ok(())
    }

    /// Drops messages of less relevance than asked for.
    pub fn keep_relevant(&self, messages: &mut Vec<ScoredMessage>, answered: &Answered) {
        let Some(least) = self.least else { return };
        let relevance =
            |score| self.ranking.relevance(&self.asked, HitKind::Message, score, answered);
        messages.retain(|message| relevance(message.score) >= least);
    }

    /// Those that pass the threshold, as many as are wanted.
    fn cut<T>(
        &self,
        mut ranked: Vec<T>,
        cosine: impl Fn(&T) -> Option<f32>,
        degraded: &mut Vec<String>,
    ) -> Vec<T> {
        degraded.extend(self.threshold.apply(&mut ranked, cosine));
        ranked.truncate(self.asked.wanted);
        ranked
    }

    /// Of records with equal scores, those that may be hits, the later comes first, then the order
    /// is by id: slots follow the order of arrival.
    fn settle_ties<K: Ord, I: Ord>(
        &self,
        ranked: &mut [ScoredRecord],
        key: impl Fn(u32) -> Option<(K, I)>,
    ) {
        let mut start = 0;
        for ties in ranked.chunk_by_mut(|a, b| a.explanation.value == b.explanation.value) {
            if start >= self.asked.wanted {
                break;
            }
            start += ties.len();
            if ties.len() > 1 {
                ties.sort_by_cached_key(|record| {
                    key(record.slot).map(|(time, id)| (std::cmp::Reverse(time), id))
                });
            }
        }
    }

    /// Hits of ranked messages of a question that is so well answered.
    pub fn of_messages(&self, ranked: &[ScoredMessage], answered: &Answered) -> Vec<Hit> {
        let hits = ranked.iter().map(|scored| {
            let message = Arc::clone(self.view.messages.get(scored.slot));
            let raw = self.ranking.explain(scored, &self.asked.settings.weights);
            let messages = vec![Arc::clone(&message)];
            self.hit(HitKind::Message, raw, answered, messages, Record::Message(message))
        });
        hits.collect()
    }

    fn of_facts(&self, ranked: Vec<ScoredRecord>) -> Vec<Hit> {
        // The relevance of a fact does not depend on messages.
        let unknown = Signs::default().answered();
        let hits = ranked.into_iter().filter_map(|scored| {
            let fact = Record::Semantic(Arc::clone(self.view.facts.get(scored.slot)?));
            Some(self.hit(HitKind::Semantic, scored.explanation, &unknown, Vec::new(), fact))
        });
        hits.collect()
    }

    fn of_episodes(&self, ranked: Vec<ScoredRecord>) -> Result<Vec<Hit>> {
        let answered = self.asked.answered()?;
        let mut hits = Vec::with_capacity(ranked.len());
        for scored in ranked {
            let Some(episode) = self.view.episodes.get(scored.slot) else { continue };
            let matched = self.asked.matched(scored.slot)?;
            let messages: Vec<Arc<Message>> =
                matched.iter().map(|slot| Arc::clone(self.view.messages.get(*slot))).collect();
            let episode = Record::Episode(Arc::clone(episode));
            hits.push(self.hit(
                HitKind::Episodic,
                scored.explanation,
                &answered,
                messages,
                episode,
            ));
        }
        Ok(hits)
    }

    fn hit(
        &self,
        kind: HitKind,
        raw: Explanation,
        answered: &Answered,
        messages: Vec<Arc<Message>>,
        record: Record,
    ) -> Hit {
        let score = self.ranking.relevance(&self.asked, kind, raw.value, answered);
        Hit {
            kind,
            score,
            rank: 0,
            terms: Arc::clone(&self.terms),
            messages,
            explanation: Explanation::relevance(score, raw),
            record,
        }
    }
}
