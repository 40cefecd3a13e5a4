//! Inputs and shared computations of all strategies, for one question about one corpus.

use std::sync::OnceLock;

use ndarray::ArrayView1;
use rustc_hash::FxHashMap;

use super::UserCorpus;
use crate::config::RetrievalPreset;
use crate::error::Result;
use crate::index::TextIndex;
use crate::model::SemanticMemory;
use crate::parallel;
use crate::score::candidates::later_first;
use crate::score::fusion::{top_k, top_k_and_ties};
use crate::score::relevance::{AnswerRelevance, AnswerSigns};
use crate::score::terms::{DATE, SPEAKER, STATEMENT, TOKENS, VECTOR, WORDS};
use crate::score::{
    BM25_B, BM25_B_LONG, EpisodeFields, EpisodeLayers, FactTerms, FieldScores, HitKind,
    MessageRanking, ParsedQuery, RecordFilter, ScoredMessage, TermWeights, TokenTable, bm25,
    estimate_fact, last_successor,
};

/// Length of one leg's list. It does not depend on the number of hits requested, since reciprocal
/// rank fusion of longer lists gives different scores.
const LEG_DEPTH: usize = 1_000;

/// Minimum number of messages for which several cores share one question. Below it, throughput is
/// higher if each core answers its own question.
const SHARED: usize = 1 << 18;

/// Minimum contribution of content (words and meaning) to the score of a message in a context, if
/// it shares no word with the question. A message below it is by the right person, but about
/// something else.
const LEAST_CONTENT: f64 = 0.1;

/// In a shorter conversation any message may help to understand the others, so none is left out.
pub(in crate::score) const LONG_TALK: usize = 50;

/// Number of facts whose subjects are compared with the question to estimate whether it is
/// answered.
const COMPARED_FACTS: usize = 64;

/// The settings of ranking.
#[derive(Debug, Clone, Copy)]
pub struct RankingSettings {
    /// The weights of a message's terms.
    pub weights: TermWeights,
    /// The weights of an episode's three layers.
    pub layer_weights: [f32; 3],
    /// `k` of reciprocal rank fusion.
    pub rrf_k: f32,
    /// The preset whose formulas apply.
    pub preset: RetrievalPreset,
}

/// A question, the corpus, and the number of hits wanted.
pub struct RankingInput<'a> {
    /// The records.
    pub corpus: &'a dyn UserCorpus,
    /// The question.
    pub query: &'a ParsedQuery,
    /// The question's embedding; `None` if only words are compared.
    pub vector: Option<ArrayView1<'a, f32>>,
    /// Compares tokens by meaning.
    pub table: &'a dyn TokenTable,
    /// Restricts which records may be returned.
    pub filter: &'a RecordFilter,
    /// The settings.
    pub settings: RankingSettings,
    /// Number of hits requested of each kind.
    pub wanted: usize,
    /// Number of messages requested.
    pub depth: usize,
    /// True if records below the best `wanted` must be ranked too, because a threshold is applied
    /// later.
    pub exhaustive: bool,
    /// True if superseded facts are ranked too.
    pub include_superseded: bool,
    /// All messages, ranked without the filter; shared by message and episode ranking.
    ranked: OnceLock<Vec<ScoredMessage>>,
    /// Position of each message in `ranked`, by slot.
    places: OnceLock<FxHashMap<u32, usize>>,
    fact_scores: OnceLock<FieldScores>,
    episode_scores: OnceLock<EpisodeFields>,
}

impl<'a> RankingInput<'a> {
    /// A question about `corpus`, with `wanted` hits of each kind.
    pub fn new(
        corpus: &'a dyn UserCorpus,
        query: &'a ParsedQuery,
        table: &'a dyn TokenTable,
        filter: &'a RecordFilter,
        settings: RankingSettings,
        wanted: usize,
    ) -> Self {
        Self {
            corpus,
            query,
            vector: None,
            table,
            filter,
            settings,
            wanted,
            depth: wanted,
            exhaustive: false,
            include_superseded: false,
            ranked: OnceLock::new(),
            places: OnceLock::new(),
            fact_scores: OnceLock::new(),
            episode_scores: OnceLock::new(),
        }
    }

    /// For a large user, ranks messages and compares episodes and facts with the question in
    /// parallel, before the default strategy needs the results for `kinds`.
    pub(super) fn compare_ahead(&self, kinds: &[HitKind]) {
        if kinds.contains(&HitKind::Episodic) && self.is_shared() {
            let facts = || kinds.contains(&HitKind::Semantic).then(|| self.fact_scores());
            // Errors are ignored: the same call fails again where its result is needed.
            let _ = parallel::join_pair(|| self.ranked(), || (facts(), self.episode_scores()));
        }
    }

    /// True if several cores share the work on this question.
    pub(crate) fn is_shared(&self) -> bool {
        self.corpus.messages().len() >= SHARED
    }

    /// True if every message may be returned.
    fn admits_all_messages(&self) -> bool {
        self.filter.is_empty() && !self.corpus.hides_messages()
    }

    fn admits_message(&self, slot: u32) -> bool {
        let corpus = self.corpus;
        !corpus.is_message_hidden(slot) && self.filter.admits_message(corpus.messages().get(slot))
    }

    /// The default ranking of the messages that the filter admits.
    pub(super) fn default_messages(&self) -> Result<Vec<ScoredMessage>> {
        if self.filter.is_empty() {
            return self.ranked().map(<[ScoredMessage]>::to_vec);
        }
        self.message_ranking().rank(Some(&|slot| self.admits_message(slot)))
    }

    /// The default ranking of all messages that are not hidden, computed once.
    pub(super) fn ranked(&self) -> Result<&[ScoredMessage]> {
        if self.ranked.get().is_none() {
            let seen = |slot: u32| !self.corpus.is_message_hidden(slot);
            let seen = self.corpus.hides_messages().then_some(&seen as &dyn Fn(u32) -> bool);
            let _ = self.ranked.set(self.message_ranking().rank(seen)?);
        }
        Ok(self.ranked.get().map_or(&[], Vec::as_slice))
    }

    /// Estimates from all messages and facts how well the question is answered, for episodes or
    /// facts of which the best has the score `best`.
    ///
    /// # Errors
    /// As [`super::Ranking::messages`].
    pub(crate) fn answered(&self, best: f64) -> Result<AnswerRelevance> {
        Ok(self.signs(self.ranked()?).answered(best))
    }

    /// Estimates from ranked messages how well they answer the question.
    pub(crate) fn answered_by(&self, ranked: &[ScoredMessage]) -> AnswerRelevance {
        self.signs(ranked).answered(ranked.first().map_or(0.0, |message| message.score))
    }

    fn signs(&self, ranked: &[ScoredMessage]) -> AnswerSigns {
        let weights = &self.settings.weights.terms;
        let best = |of: &dyn Fn(&ScoredMessage) -> f64| ranked.iter().map(of).fold(0.0, f64::max);
        let content = |message: &ScoredMessage| self.content(message);
        let named = |message: &ScoredMessage| message.terms[SPEAKER] > 0.0;
        let gap = if ranked.iter().any(named) {
            best(&content) - best(&|message| if named(message) { content(message) } else { 0.0 })
        } else {
            0.0
        };
        let top = ranked.first();
        let words = |message: &ScoredMessage| weights[WORDS] * f64::from(message.terms[WORDS]);
        AnswerSigns {
            statement: top
                .map_or(0.0, |message| weights[STATEMENT] * f64::from(message.terms[STATEMENT])),
            gap,
            evidence: self.best_fact(false).max(best(&words)),
            messages: self.corpus.messages().len(),
        }
    }

    /// Contribution of words and meaning to the score of a message.
    fn content(&self, message: &ScoredMessage) -> f64 {
        let weights = &self.settings.weights.terms;
        let terms = [WORDS, TOKENS, VECTOR];
        terms.into_iter().map(|term| weights[term] * f64::from(message.terms[term])).sum()
    }

    /// Removes messages of a long conversation that rank only by their speaker, time and form. If
    /// the method has no such terms, all messages stay.
    pub(crate) fn keep_content(&self, ranked: &mut Vec<ScoredMessage>) {
        let has_terms = |message: &ScoredMessage| message.terms.iter().any(|term| *term != 0.0);
        if self.corpus.messages().len() >= LONG_TALK && ranked.iter().any(has_terms) {
            ranked.retain(|message| {
                message.terms[WORDS] > 0.0
                    || self.content(message) >= LEAST_CONTENT
                    || message.terms[DATE] > 0.0
                    || message.raised > 0.0
            });
        }
    }

    /// The highest score of a fact by words, meaning and subject, as one that is current or not.
    pub(super) fn best_fact(&self, current: bool) -> f64 {
        let scores = self.fact_scores();
        let of = |slot: u32, about_named: bool| {
            let vector_weight = self.settings.weights.vector();
            let terms = FactTerms { tokens: 0.0, vector_weight, current, about_named };
            estimate_fact(scores, slot, terms)
        };
        let mut slots = scores.candidates();
        slots.retain(|slot| !self.corpus.is_fact_hidden(*slot));
        let content: Vec<f32> = slots.iter().map(|slot| of(*slot, false).max(0.0) as f32).collect();
        let best = top_k(&content, COMPARED_FACTS).into_iter().map(|place| {
            let slot = slots[place as usize];
            let (_, name) = self.corpus.subject(slot);
            of(slot, self.query.names(self.corpus.messages(), name))
        });
        best.fold(0.0, f64::max)
    }

    fn message_ranking(&self) -> MessageRanking<'_> {
        MessageRanking {
            index: self.corpus.messages(),
            query: self.query,
            vector: self.vector,
            table: self.table,
            weights: self.settings.weights,
            wanted: self.depth,
            shared: self.is_shared(),
        }
    }

    /// Messages ranked by BM25, best first.
    pub(super) fn messages_by_words(&self) -> Vec<(u32, f64)> {
        let index = self.corpus.messages();
        let mut words = bm25(&index.field.postings, &self.query.all_terms, BM25_B);
        if !self.admits_all_messages() {
            for slot in index.message_slots().filter(|slot| !self.admits_message(*slot)) {
                words[slot as usize] = 0.0;
            }
        }
        let best = top_k_and_ties(&words, LEG_DEPTH, |_| true).into_iter();
        self.leg(best.map(|slot| (slot, words[slot as usize])).collect())
    }

    /// Sorts one leg's results: best first; ties go to the later record, then to the smaller id.
    fn leg(&self, mut found: Vec<(u32, f32)>) -> Vec<(u32, f64)> {
        let index = self.corpus.messages();
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| later_first(index, a.0, b.0)));
        found.truncate(LEG_DEPTH);
        found.into_iter().map(|(slot, score)| (slot, f64::from(score))).collect()
    }

    /// Messages ranked by cosine with the question, best first.
    pub(super) fn messages_by_meaning(&self) -> Result<Vec<(u32, f64)>> {
        let index = self.corpus.messages();
        let (Some(vector), Some(vectors)) = (self.vector, index.field.vector_index()) else {
            return Ok(Vec::new());
        };
        let found = if self.admits_all_messages() {
            index.field.nearest_and_ties(vector, LEG_DEPTH)?
        } else {
            let admitted = index.message_slots().filter(|slot| self.admits_message(*slot));
            let slots: Vec<u64> = admitted.map(u64::from).collect();
            let scores = slots.iter().zip(vectors.inner_products(vector, &slots));
            scores.filter_map(|(slot, score)| Some((*slot as u32, score?))).collect()
        };
        Ok(self.leg(found))
    }

    fn field_scores(&self, field: &TextIndex, b: f32) -> FieldScores {
        let words = bm25(&field.postings, &self.query.all_terms, b);
        FieldScores::new(field, words, self.vector, self.wanted, None)
    }

    /// Word and vector scores of the facts, computed once.
    pub(super) fn fact_scores(&self) -> &FieldScores {
        self.fact_scores.get_or_init(|| {
            let corpus = self.corpus;
            let current = |slot: u32| corpus.is_current(slot) && !corpus.is_fact_hidden(slot);
            let facts = corpus.facts();
            let words = bm25(&facts.postings, &self.query.all_terms, BM25_B);
            FieldScores::new(facts, words, self.vector, self.wanted, Some(&current))
        })
    }

    /// The admitted facts that either leg proposes or that superseded a proposed fact.
    pub(super) fn proposed_facts(&self, scores: &FieldScores) -> Vec<u32> {
        let corpus = self.corpus;
        let stated_only = self.filter.wants_stated();
        if self.filter.is_empty() && !stated_only {
            let mut slots = scores.candidates();
            let successor = |slot: u32| corpus.successor(slot);
            let last = slots.iter().filter_map(|slot| last_successor(*slot, successor));
            let last: Vec<u32> = last.collect();
            slots.extend(last);
            slots.sort_unstable();
            slots.dedup();
            slots.retain(|slot| corpus.has_fact(*slot) && !corpus.is_fact_hidden(*slot));
            return slots;
        }
        // The legs may propose none of the few facts that a filter admits.
        let mut slots = corpus.fact_slots();
        let admits = |fact: &SemanticMemory| self.filter.admits_fact(fact, corpus.messages());
        slots.retain(|slot| !corpus.is_fact_hidden(*slot));
        slots.retain(|slot| !stated_only || corpus.is_stated(*slot));
        slots.retain(|slot| corpus.fact(*slot).is_some_and(|fact| admits(fact)));
        slots
    }

    /// The proposed facts that may be returned.
    pub(super) fn admitted_facts(&self, scores: &FieldScores) -> Vec<u32> {
        let mut slots = self.proposed_facts(scores);
        slots.retain(|slot| self.admits_standing(*slot));
        slots
    }

    /// True if the fact is current or superseded facts are requested.
    pub(super) fn admits_standing(&self, slot: u32) -> bool {
        self.include_superseded || self.corpus.is_current(slot)
    }

    /// Word and vector scores of the episodes' texts, computed once.
    pub(super) fn episode_scores(&self) -> &EpisodeFields {
        self.episode_scores.get_or_init(|| EpisodeFields {
            abstracts: self.field_scores(self.corpus.abstracts(), BM25_B),
            narratives: self.field_scores(self.corpus.narratives(), BM25_B_LONG),
        })
    }

    /// The admitted episodes that any layer proposes.
    pub(super) fn admitted_episodes(&self, fields: &EpisodeFields) -> Result<Vec<u32>> {
        let corpus = self.corpus;
        if self.filter.is_empty() {
            let messages = self.ranked()?.iter();
            let mut slots = fields.candidates();
            slots.extend(messages.filter_map(|message| corpus.episode_of(message.slot)));
            slots.sort_unstable();
            slots.dedup();
            slots.retain(|slot| corpus.has_episode(*slot));
            return Ok(slots);
        }
        let admits = |slot: &u32| {
            corpus.episode(*slot).is_some_and(|episode| self.filter.admits_episode(episode))
        };
        let mut slots = corpus.episode_slots();
        slots.retain(admits);
        Ok(slots)
    }

    /// The three-layer score of the episodes in `slots`.
    pub(super) fn layers<'b>(
        &'b self,
        fields: &'b EpisodeFields,
        slots: &[u32],
    ) -> Result<EpisodeLayers<'b>> {
        Ok(EpisodeLayers::new(fields, self.ranked()?, slots, self.settings.layer_weights))
    }

    /// An episode's messages, best match first.
    ///
    /// # Errors
    /// As [`super::Ranking::messages`].
    pub fn matched(&self, episode: u32) -> Result<Vec<u32>> {
        let places = self.places()?;
        let mut members = self.corpus.members(episode).to_vec();
        members.sort_by_key(|slot| (places.get(slot).copied().unwrap_or(usize::MAX), *slot));
        Ok(members)
    }

    /// The ranked messages of an episode, each with its score relative to the best of them, 0 to 1.
    ///
    /// # Errors
    /// As [`super::Ranking::messages`].
    pub fn shares(&self, episode: u32) -> Result<Vec<(u32, f64)>> {
        let (ranked, places) = (self.ranked()?, self.places()?);
        let members = self.corpus.members(episode).iter();
        let mut shares: Vec<(u32, f64)> = members
            .filter_map(|slot| places.get(slot).map(|place| (*slot, ranked[*place].score.max(0.0))))
            .collect();
        let best = shares.iter().map(|(_, score)| *score).fold(0.0, f64::max);
        for (_, share) in &mut shares {
            *share = if best > 0.0 { *share / best } else { 1.0 };
        }
        Ok(shares)
    }

    /// The position of each message in the default ranking, by slot.
    fn places(&self) -> Result<&FxHashMap<u32, usize>> {
        let ranked = self.ranked()?.iter().enumerate();
        Ok(self.places.get_or_init(|| ranked.map(|(place, found)| (found.slot, place)).collect()))
    }
}
