//! Hits of one kind: ranks records, applies the threshold, and loads the records of the hits.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::memory::recalled::own_parts;
use crate::engine::memory::view::UserView;
use crate::engine::reading::moments::add_moments;
use crate::error::Result;
use crate::index::for_each_term;
use crate::score::{
    AnswerRelevance, CosineThreshold, HitKind, HitRecord, Ranking, RankingInput, ScoreTerm,
    ScoredMessage, ScoredRecord, SearchHit, raise_later, raise_newer, raise_successors,
    sort_records,
};

/// Ranks the records of each kind, and makes hits of them.
pub(crate) struct HitBuilder<'a> {
    pub asked: RankingInput<'a>,
    pub view: &'a UserView,
    pub ranking: &'static dyn Ranking,
    pub threshold: CosineThreshold,
    /// Lowest relevance of a hit.
    pub least: Option<f64>,
    /// Terms that snippets mark.
    pub terms: Arc<[String]>,
}

/// A hit without its record: loading a record takes longer than ranking it.
#[derive(Debug)]
pub(crate) struct RankedSlot {
    pub kind: HitKind,
    scored: ScoredSlot,
    /// The relevance; at most that of the hits that a shallower ranking found.
    pub score: f64,
}

#[derive(Debug)]
enum ScoredSlot {
    Message(ScoredMessage),
    Record(ScoredRecord),
}

impl RankedSlot {
    /// The slot of the record within its kind.
    pub fn slot(&self) -> u32 {
        match &self.scored {
            ScoredSlot::Message(message) => message.slot,
            ScoredSlot::Record(record) => record.slot,
        }
    }

    /// Cosine of the question and the record; `None` without vectors.
    pub fn cosine(&self) -> Option<f32> {
        match &self.scored {
            ScoredSlot::Message(message) => message.cosine,
            ScoredSlot::Record(record) => record.cosine,
        }
    }

    pub fn record(&self, view: &UserView) -> Option<HitRecord> {
        Some(match self.kind {
            HitKind::Message => HitRecord::Message(Arc::clone(view.messages.get(self.slot()))),
            HitKind::Semantic => HitRecord::Semantic(Arc::clone(view.facts.get(self.slot())?)),
            HitKind::Episodic => HitRecord::Episode(Arc::clone(view.episodes.get(self.slot())?)),
        })
    }
}

impl HitBuilder<'_> {
    /// The hits of a kind, best first.
    pub fn of(&self, kind: HitKind, degraded: &mut Vec<String>) -> Result<Vec<RankedSlot>> {
        if kind == HitKind::Message {
            let messages = self.messages()?;
            let answered = self.asked.answered_by(&messages);
            let kept = self.cut(messages, |message| message.cosine, degraded);
            return Ok(self.relevant(kind, kept.into_iter().map(ScoredSlot::Message), &answered));
        }
        let records = self.records(kind)?;
        let best = records.first().map_or(0.0, |record| record.explanation.value);
        let is_fact = kind == HitKind::Semantic;
        let best = if is_fact { self.ranking.best_fact(&self.asked, best) } else { best };
        let answered = self.asked.answered(best)?;
        let kept = self.cut(records, |record| record.cosine, degraded);
        Ok(self.relevant(kind, kept.into_iter().map(ScoredSlot::Record), &answered))
    }

    /// Computes the relevance of each record from its score and `answered`, and keeps those that
    /// reach `least`.
    fn relevant(
        &self,
        kind: HitKind,
        scored: impl Iterator<Item = ScoredSlot>,
        answered: &AnswerRelevance,
    ) -> Vec<RankedSlot> {
        let found = scored.map(|scored| {
            let score = match &scored {
                ScoredSlot::Message(message) => message.score,
                ScoredSlot::Record(record) => record.explanation.value,
            };
            let score = self.ranking.relevance(&self.asked, kind, score, answered);
            RankedSlot { kind, scored, score }
        });
        found.filter(|found| self.least.is_none_or(|least| found.score >= least)).collect()
    }

    /// Loads the record of a hit.
    ///
    /// # Errors
    /// As [`Ranking::messages`].
    pub fn made(&self, found: RankedSlot) -> Result<Option<SearchHit>> {
        let Some(record) = found.record(self.view) else { return Ok(None) };
        let messages = match &record {
            HitRecord::Semantic(_) => Vec::new(),
            HitRecord::Message(message) => vec![Arc::clone(message)],
            HitRecord::Episode(_) => {
                let matched = self.asked.matched(found.slot())?.into_iter();
                matched.map(|slot| Arc::clone(self.view.messages.get(slot))).collect()
            }
        };
        let raw = match found.scored {
            ScoredSlot::Message(message) => {
                self.ranking.explain(&message, &self.asked.settings.weights)
            }
            ScoredSlot::Record(record) => record.explanation,
        };
        Ok(Some(SearchHit {
            kind: found.kind,
            score: found.score,
            rank: 0,
            terms: Arc::clone(&self.terms),
            messages,
            episode: None,
            claims: Vec::new(),
            superseded_by: self.superseded_by(&record),
            explanation: ScoreTerm::relevance(found.score, raw),
            record,
        }))
    }

    /// The facts that superseded a fact, or the content of a message.
    fn superseded_by(&self, record: &HitRecord) -> Vec<String> {
        match record {
            HitRecord::Semantic(fact) => fact.superseded_by.iter().cloned().collect(),
            HitRecord::Message(message) => {
                let slot = self.view.messages.slot_of(&message.message_id);
                let facts = slot.and_then(|slot| self.view.superseded_messages().get(&slot));
                let facts = facts.into_iter().flat_map(|content| &content.facts);
                facts
                    .filter_map(|slot| Some(self.view.facts.get(*slot)?.memory_id.to_string()))
                    .collect()
            }
            HitRecord::Episode(_) => Vec::new(),
        }
    }

    /// Facts or episodes by the requested method, best first.
    fn records(&self, kind: HitKind) -> Result<Vec<ScoredRecord>> {
        if kind == HitKind::Semantic {
            let mut facts = self.ranking.facts(&self.asked);
            self.settle_ties(&mut facts, |slot| {
                let fact = self.view.facts.get(slot);
                fact.map(|fact| (fact.valid_from, fact.memory_id.clone()))
            });
            return Ok(facts);
        }
        let mut episodes = self.ranking.episodes(&self.asked)?;
        if !self.asked.query.asks_past {
            self.raise_later_episodes(&mut episodes)?;
        }
        self.settle_ties(&mut episodes, |slot| {
            let episode = self.view.episodes.get(slot);
            episode.map(|episode| (episode.timestamp, episode.episode_id.clone()))
        });
        Ok(episodes)
    }

    /// Messages by the requested method, best first. If the question asks for the present, a
    /// superseded message does not rank above its successor, nor a message above a newer one that
    /// says the same with another value.
    pub fn messages(&self) -> Result<Vec<ScoredMessage>> {
        let mut messages = self.ranking.messages(&self.asked)?;
        self.leave_out_recalled(&mut messages);
        if !self.asked.query.asks_past {
            raise_later(&mut messages, self.view, self.view.superseded_messages());
            raise_newer(&mut messages, &self.view.messages, self.asked.query);
        }
        Ok(messages)
    }

    /// Leaves out messages that match only through a context inside them. Examines only messages
    /// that may be hits.
    fn leave_out_recalled(&self, messages: &mut Vec<ScoredMessage>) {
        let mut wanted = self.asked.wanted.max(self.asked.depth);
        messages.retain(|message| {
            let is_kept = wanted == 0 || !self.is_recalled(message.slot);
            wanted = wanted.saturating_sub(usize::from(is_kept));
            is_kept
        });
    }

    /// True if the message contains a context and matches only inside it.
    fn is_recalled(&self, slot: u32) -> bool {
        let Some(parts) = own_parts(self.view, slot) else { return false };
        let content = &self.view.messages.get(slot).content;
        let terms = &self.asked.query.terms;
        let mut matches = false;
        for part in parts {
            let own = &content[part];
            let asks = own.trim_end().ends_with(['?', '？']);
            for_each_term(own, |term| {
                matches |= !asks && terms.iter().any(|asked| asked.text == term.text);
            });
        }
        !matches
    }

    /// Raises episodes whose messages superseded a message of an episode that may be a hit. If the
    /// superseded message is the earlier episode's best match, the later episode does not rank
    /// below the earlier one. If the message matches less well, the later episode is raised in
    /// proportion: so a rounding error can't decide between nearly equal matches.
    fn raise_later_episodes(&self, ranked: &mut [ScoredRecord]) -> Result<()> {
        if self.view.superseded_messages().is_empty() {
            return Ok(());
        }
        let mut later: FxHashMap<u32, Vec<(u32, f64)>> = FxHashMap::default();
        // Episodes with the score of the last hit may be hits, too.
        let last = ranked.get(self.asked.wanted.saturating_sub(1));
        let least = last.map_or(f64::MIN, |episode| episode.explanation.value);
        for episode in ranked.iter().take_while(|episode| episode.explanation.value >= least) {
            for (message, share) in self.asked.shares(episode.slot)? {
                let content = self.view.superseded_messages().get(&message);
                let facts = content.into_iter().flat_map(|content| &content.facts);
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

    /// The relevance of a message with this score.
    pub fn relevance(&self, score: f64, answered: &AnswerRelevance) -> f64 {
        self.ranking.relevance(&self.asked, HitKind::Message, score, answered)
    }

    /// Drops messages below the requested relevance.
    pub fn keep_relevant(&self, messages: &mut Vec<ScoredMessage>, answered: &AnswerRelevance) {
        let Some(least) = self.least else { return };
        messages.retain(|message| self.relevance(message.score, answered) >= least);
    }

    /// The best `wanted` records that pass `threshold`.
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

    /// Breaks ties among records that may be hits: the later comes first, then the order is by id.
    /// Slots can't decide: they follow the order of arrival.
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

    /// Hits of ranked messages, given how well the question is answered.
    ///
    /// # Errors
    /// None for messages.
    pub fn of_messages(
        &self,
        ranked: &[ScoredMessage],
        answered: &AnswerRelevance,
    ) -> Result<Vec<SearchHit>> {
        let messages = ranked.iter().copied().map(ScoredSlot::Message);
        let found = self.relevant(HitKind::Message, messages, answered);
        let made = found.into_iter().filter_map(|found| self.made(found).transpose());
        let mut hits: Vec<SearchHit> = made.collect::<Result<_>>()?;
        add_moments(self.view, &mut hits);
        Ok(hits)
    }
}
