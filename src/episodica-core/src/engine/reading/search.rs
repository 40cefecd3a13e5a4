//! Searching one user's view: which candidates, which ranking, which hits.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use ndarray::{Array1, ArrayView1};

use crate::config::Preset;
use crate::control::Control;
use crate::embed::STATIC_MODEL;
use crate::engine::memory::view::View;
use crate::engine::registry::Engine;
use crate::error::{Error, Result};
use crate::model::Message;
use crate::score::{
    BM25_B, BM25_B_LONG, EpisodeLayers, Explanation, FieldScores, Filter, Hit, HitKind, Intent,
    MESSAGE_TERMS, MaxSim, MessageRanking, Method, Query, Record, Request, Response, ScoredMessage,
    ScoredRecord, StatementFacts, Weights, bm25, detect_intent, estimate_statement, last_successor,
    least_of_best, lift, raise_successors, reciprocal_rank_fusion, score_statement, sort_records,
    top_k,
};

/// Most hits a search may ask for, per kind.
pub const MAX_TOP_K: usize = 1_000;
/// Depth of the lists that reciprocal rank fusion joins, at least.
const FUSION_DEPTH: usize = 100;
/// The floor below which relaxing a threshold does not go (preset `cortex`), and its step.
const CORTEX_FLOOR: f32 = 0.4;
const CORTEX_STEP: f32 = 0.1;
/// Shares of similarity and importance in the preset `memo`.
const MEMO_SIMILARITY: f64 = 0.7;
const MEMO_IMPORTANCE: f64 = 0.3;

/// The messages of each episode, best first, by slots.
type Members = HashMap<u32, Vec<u32>>;

/// A question made ready: read, embedded, and what may answer it.
pub(crate) struct Prepared {
    pub query: Query,
    /// What snippets show.
    pub terms: Arc<[String]>,
    pub vector: Option<Array1<f32>>,
    pub intent: Intent,
    pub degraded: Vec<String>,
}

impl Engine {
    /// Finds the records that answer a question best; see `docs/scoring.md`. An unknown user has
    /// none.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query or `top_k` out of 1 to 1000; `Io` when the user's files
    /// can't be read.
    pub fn search(
        &self,
        user_id: &str,
        request: &Request,
        control: &dyn Control,
    ) -> Result<Response> {
        self.check_request(request)?;
        self.counters.searches.fetch_add(1, Ordering::Relaxed);
        let intent = detect_intent(&request.query);
        let Some(user) = self.user(user_id, false, control)? else {
            return Ok(Response { hits: Vec::new(), degraded: Vec::new(), intent });
        };
        let mut prepared = self.prepare(
            &Query::new(&request.query, &user.view.read().messages, self.tokens).at(request.now),
            request,
        );
        let view = user.view.read();
        self.note_degradation(&view, request, &mut prepared);
        let search = Search::new(self, &view, request, &prepared);
        let mut degraded = prepared.degraded.clone();
        let mut hits = Vec::new();
        for kind in &request.kinds {
            hits.extend(search.hits(*kind, &mut degraded)?);
        }
        degraded.dedup();
        Ok(Response { hits, degraded, intent })
    }

    pub(crate) fn check_request(&self, request: &Request) -> Result<()> {
        self.check_open()?;
        if request.query.trim().is_empty() {
            return Err(Error::invalid("query is empty: ``"));
        }
        if !(1..=MAX_TOP_K).contains(&request.top_k) {
            return Err(Error::invalid(format!(
                "top_k must be between 1 and {MAX_TOP_K}: `{}`",
                request.top_k
            )));
        }
        if request.kinds.is_empty() {
            return Err(Error::invalid("kinds is empty: `[]`"));
        }
        Ok(())
    }

    /// Embeds the question, unless only words are asked for. No lock is held here.
    pub(crate) fn prepare(&self, query: &Query, request: &Request) -> Prepared {
        let mut degraded = Vec::new();
        let vector = match request.method {
            Method::Bm25 => None,
            _ => match self.embedder.embed(&[&query.plain]) {
                Ok(rows) => Some(rows.row(0).to_owned()),
                Err(error) => {
                    self.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
                    degraded.push(format!("vector: {error}"));
                    None
                }
            },
        };
        let terms = query.all_terms.iter().map(|term| term.text.clone()).collect();
        Prepared {
            intent: detect_intent(&query.text),
            query: query.clone(),
            terms,
            vector,
            degraded,
        }
    }

    pub(crate) fn note_degradation(&self, view: &View, request: &Request, prepared: &mut Prepared) {
        if request.method == Method::Bm25 || prepared.vector.is_none() {
            return;
        }
        let missing = view.unembedded.len();
        if missing > 0 {
            prepared.degraded.push(format!("vector: {missing} messages have no vector yet"));
        }
    }
}

/// One search under way.
pub(crate) struct Search<'a> {
    pub engine: &'a Engine,
    pub view: &'a View,
    pub request: &'a Request,
    pub prepared: &'a Prepared,
    /// Most hits of a kind.
    pub top_k: usize,
    /// How far down the ranking of messages is looked at.
    pub depth: usize,
    /// All messages ranked without a filter: episodes and messages both ask for it.
    ranked: OnceCell<Vec<ScoredMessage>>,
}

impl<'a> Search<'a> {
    pub fn new(
        engine: &'a Engine,
        view: &'a View,
        request: &'a Request,
        prepared: &'a Prepared,
    ) -> Self {
        Self {
            engine,
            view,
            request,
            prepared,
            top_k: request.top_k,
            depth: request.top_k,
            ranked: OnceCell::new(),
        }
    }
}

impl Search<'_> {
    /// The hits of one kind, best first.
    pub fn hits(&self, kind: HitKind, degraded: &mut Vec<String>) -> Result<Vec<Hit>> {
        match kind {
            HitKind::Message => Ok(self.message_hits(self.cut(
                self.messages()?,
                |message| message.cosine,
                degraded,
            ))),
            HitKind::Semantic => {
                Ok(self.fact_hits(self.cut(self.facts(), |fact| fact.cosine, degraded)))
            }
            HitKind::Episodic => {
                let (episodes, members) = self.episodes()?;
                Ok(self
                    .episode_hits(self.cut(episodes, |episode| episode.cosine, degraded), members))
            }
        }
    }

    fn vector(&self) -> Option<ArrayView1<'_, f32>> {
        self.prepared.vector.as_ref().map(|vector| vector.view())
    }

    /// Applies the threshold to cosines, stepwise lower where the preset says so, and keeps the
    /// best `top_k`.
    fn cut<T>(
        &self,
        mut ranked: Vec<T>,
        cosine: impl Fn(&T) -> Option<f32>,
        degraded: &mut Vec<String>,
    ) -> Vec<T> {
        let keep = |threshold: f32, item: &T| cosine(item).is_none_or(|cosine| cosine >= threshold);
        if let Some(threshold) = self.request.threshold {
            ranked.retain(|item| keep(threshold, item));
        } else if self.engine.config.preset == Preset::Cortex {
            let mut threshold = self.prepared.intent.cortex_threshold();
            while !ranked.iter().any(|item| keep(threshold, item)) && threshold > CORTEX_FLOOR {
                threshold = (threshold - CORTEX_STEP).max(CORTEX_FLOOR);
            }
            match ranked.iter().any(|item| keep(threshold, item)) {
                true => ranked.retain(|item| keep(threshold, item)),
                false if ranked.is_empty() => {}
                false => degraded
                    .push(format!("threshold: nothing above {CORTEX_FLOOR}, so none was applied")),
            }
        }
        ranked.truncate(self.top_k);
        ranked
    }

    /// Messages by the method asked for, best first.
    pub fn messages(&self) -> Result<Vec<ScoredMessage>> {
        let index = &self.view.messages;
        let filter = |slot: u32| admits_message(&self.request.filter, index.get(slot));
        let allowed: Option<&dyn Fn(u32) -> bool> =
            if self.request.filter.is_empty() { None } else { Some(&filter) };
        if matches!(self.request.method, Method::Hybrid | Method::Norlift) {
            return match allowed {
                None => self.ranked().map(<[ScoredMessage]>::to_vec),
                Some(_) => self.message_ranking().rank(allowed),
            };
        }
        let words = bm25(&index.field.postings, &self.prepared.query.all_terms, BM25_B);
        let ranking = self.legs(&words, index.len(), &index.field, |slot| {
            allowed.is_none_or(|allowed| allowed(slot))
        })?;
        let labels: Vec<u64> = ranking.iter().map(|(slot, _)| u64::from(*slot)).collect();
        let cosines = match (self.vector(), index.field.vectors()) {
            (Some(vector), Some(vectors)) => vectors.scores(vector, &labels),
            _ => vec![None; labels.len()],
        };
        let ranking = ranking.into_iter().zip(cosines);
        Ok(ranking
            .map(|((slot, score), cosine)| ScoredMessage {
                slot,
                score,
                terms: [0.0; MESSAGE_TERMS.len()],
                cosine,
            })
            .collect())
    }

    /// The default ranking of all messages, computed once.
    fn ranked(&self) -> Result<&[ScoredMessage]> {
        if self.ranked.get().is_none() {
            let _ = self.ranked.set(self.message_ranking().rank(None)?);
        }
        Ok(self.ranked.get().map_or(&[], Vec::as_slice))
    }

    /// May all but the best be left out before they are scored in full? Only where nothing looks at
    /// the others.
    fn only_best(&self) -> bool {
        self.request.method == Method::Hybrid
            && self.request.threshold.is_none()
            && self.engine.config.preset == Preset::Default
    }

    fn message_ranking(&self) -> MessageRanking<'_> {
        MessageRanking {
            index: &self.view.messages,
            query: &self.prepared.query,
            vector: self.vector(),
            table: self.engine.tokens,
            weights: self.weights(),
            wanted: self.depth,
        }
    }

    fn weights(&self) -> Weights {
        Weights::of(&self.engine.config, self.engine.embedder.model() != STATIC_MODEL)
    }

    /// The ranking of one field by words, by meaning, or by reciprocal rank fusion of both.
    fn legs(
        &self,
        lexical: &[f32],
        slots: usize,
        field: &crate::index::Field,
        allowed: impl Fn(u32) -> bool,
    ) -> Result<Vec<(u32, f64)>> {
        let depth = self.top_k.max(FUSION_DEPTH);
        let words = || -> Vec<(u32, f64)> {
            let mut allowed_only = lexical.to_vec();
            (0..slots as u32)
                .filter(|slot| !allowed(*slot))
                .for_each(|slot| allowed_only[slot as usize] = 0.0);
            top_k(&allowed_only, depth)
                .into_iter()
                .map(|slot| (slot, f64::from(lexical[slot as usize])))
                .collect()
        };
        let meaning = || -> Result<Vec<(u32, f64)>> {
            let (Some(vector), Some(vectors)) = (self.vector(), field.vectors()) else {
                return Ok(Vec::new());
            };
            let found: Vec<(u32, f32)> = match self.request.filter.is_empty() {
                true => field.nearest(vector, depth)?,
                false => {
                    let slots: Vec<u64> =
                        (0..slots as u64).filter(|slot| allowed(*slot as u32)).collect();
                    let scores = vectors.scores(vector, &slots);
                    let mut found: Vec<(u32, f32)> = slots
                        .iter()
                        .zip(scores)
                        .filter_map(|(slot, score)| Some((*slot as u32, score?)))
                        .collect();
                    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    found.truncate(depth);
                    found
                }
            };
            Ok(found.into_iter().map(|(slot, score)| (slot, f64::from(score))).collect())
        };
        let ranks =
            |list: Vec<(u32, f64)>| list.into_iter().map(|(slot, _)| slot).collect::<Vec<u32>>();
        Ok(match self.request.method {
            Method::Bm25 => words(),
            Method::Vector => meaning()?,
            _ => {
                let fused = reciprocal_rank_fusion(
                    &[ranks(words()), ranks(meaning()?)],
                    self.engine.config.rrf_k,
                );
                fused.into_iter().map(|(slot, score, _)| (slot, score)).collect()
            }
        })
    }

    pub fn message_hits(&self, ranked: Vec<ScoredMessage>) -> Vec<Hit> {
        let ranked = ranked.into_iter().enumerate();
        ranked
            .map(|(index, scored)| {
                let message = Arc::clone(self.view.messages.get(scored.slot));
                let explanation = match self.request.method {
                    Method::Hybrid | Method::Norlift => scored.explain(&self.weights()),
                    _ => Explanation::leaf("message", scored.score, self.leg_name()),
                };
                Hit {
                    kind: HitKind::Message,
                    score: explanation.value,
                    rank: index + 1,
                    terms: Arc::clone(&self.prepared.terms),
                    messages: vec![Arc::clone(&message)],
                    explanation,
                    record: Record::Message(message),
                }
            })
            .collect()
    }

    fn leg_name(&self) -> &'static str {
        match self.request.method {
            Method::Bm25 => "bm25",
            Method::Vector => "cosine",
            Method::Rrf => "reciprocal rank fusion of bm25 and cosine",
            Method::Norlift => "nor-lift",
            Method::Hybrid => "",
        }
    }

    fn facts(&self) -> Vec<ScoredRecord> {
        let table = &self.view.facts;
        let filter = &self.request.filter;
        let scores = FieldScores::new(
            &self.view.statements,
            &self.prepared.query.all_terms,
            self.vector(),
            BM25_B,
            self.top_k,
        );
        let slots = match filter.is_empty() {
            true => scores.candidates(),
            // A filter may leave just what the legs would not propose.
            false => table.slots().collect(),
        };
        // Without a filter nothing is read here: few of these become hits.
        let admits = |slot: &u32| {
            table.contains(*slot)
                && (filter.is_empty()
                    || table.get(*slot).is_some_and(|fact| admits_fact(filter, fact)))
        };
        let admitted: Vec<u32> = slots.into_iter().filter(admits).collect();
        let mut question = MaxSim::new(self.engine.tokens, &self.prepared.query.text);
        let tokens: Vec<f32> =
            admitted.iter().map(|slot| question.score(self.view.statement_tokens(*slot))).collect();
        let (mean, best) = (
            tokens.iter().sum::<f32>() / tokens.len().max(1) as f32,
            tokens.iter().copied().fold(0.0, f32::max),
        );
        let vector_weight = self.weights().vector();
        // Few subjects have many statements.
        let mut named: HashMap<u32, bool> = HashMap::new();
        let mut admitted: Vec<_> = admitted
            .into_iter()
            .zip(tokens)
            .map(|(slot, tokens)| {
                let (subject, name) = self.view.subject(slot);
                let facts = StatementFacts {
                    tokens: if best - mean > 1e-6 { (tokens - mean) / (best - mean) } else { 0.0 },
                    vector_weight,
                    current: self.view.is_current(slot),
                    about_named: *named
                        .entry(subject)
                        .or_insert_with(|| self.prepared.query.names(&self.view.messages, name)),
                };
                (slot, facts)
            })
            .collect();
        let successor = |slot| self.view.successor(slot);
        if self.only_best() {
            let estimates: Vec<f64> = admitted
                .iter()
                .map(|(slot, facts)| estimate_statement(&scores, *slot, *facts))
                .collect();
            let least = least_of_best(&estimates, self.top_k);
            // What superseded one of the best takes over its score.
            let best = admitted.iter().zip(&estimates).filter(|(_, estimate)| **estimate >= least);
            let raised: BTreeSet<u32> =
                best.filter_map(|((slot, ..), _)| last_successor(*slot, successor)).collect();
            let mut estimates = estimates.into_iter();
            admitted.retain(|one| {
                estimates.next().is_some_and(|estimate| estimate >= least)
                    || raised.contains(&one.0)
            });
        }
        let mut ranked: Vec<ScoredRecord> = admitted
            .into_iter()
            .map(|(slot, facts)| {
                let scored = score_statement(&scores, slot, facts);
                match (self.request.method, self.engine.config.preset) {
                    (Method::Bm25, _) => {
                        leaf(slot, "semantic", f64::from(scores.words(slot)), "bm25", None)
                    }
                    (Method::Vector, _) => leaf(
                        slot,
                        "semantic",
                        f64::from(scores.cosine(slot).unwrap_or(0.0)),
                        "cosine",
                        scores.cosine(slot),
                    ),
                    (_, Preset::Memo) => {
                        let parts = vec![
                            Explanation::weighted(
                                "similarity",
                                MEMO_SIMILARITY,
                                f64::from(scores.cosine(slot).unwrap_or(0.0)),
                            ),
                            Explanation::weighted(
                                "importance",
                                MEMO_IMPORTANCE,
                                table.get(slot).map_or(0.0, |fact| f64::from(fact.importance)),
                            ),
                        ];
                        ScoredRecord {
                            explanation: Explanation::sum("semantic", "", parts),
                            ..scored
                        }
                    }
                    _ => scored,
                }
            })
            .collect();
        if self.request.method == Method::Rrf {
            self.fuse(&mut ranked, "semantic", |slot| (scores.words(slot), scores.cosine(slot)));
        }
        if matches!(self.request.method, Method::Hybrid | Method::Norlift) {
            raise_successors(&mut ranked, successor);
        }
        sort_records(&mut ranked);
        self.drop_unmatched(&mut ranked);
        ranked
    }

    /// Replaces scores by the reciprocal rank fusion of the two legs.
    fn fuse(
        &self,
        ranked: &mut Vec<ScoredRecord>,
        name: &str,
        legs: impl Fn(u32) -> (f32, Option<f32>),
    ) {
        let order = |key: &dyn Fn(u32) -> Option<f32>| {
            let mut slots: Vec<(u32, f32)> =
                ranked.iter().filter_map(|record| Some((record.slot, key(record.slot)?))).collect();
            slots.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            slots.into_iter().map(|(slot, _)| slot).collect::<Vec<u32>>()
        };
        let words = order(&|slot| Some(legs(slot).0).filter(|score| *score > 0.0));
        let meaning = order(&|slot| legs(slot).1);
        let fused = reciprocal_rank_fusion(&[words, meaning], self.engine.config.rrf_k);
        let scores: HashMap<u32, f64> =
            fused.into_iter().map(|(slot, score, _)| (slot, score)).collect();
        ranked.retain(|record| scores.contains_key(&record.slot));
        for record in ranked {
            record.explanation = Explanation::leaf(
                name,
                scores[&record.slot],
                "reciprocal rank fusion of bm25 and cosine",
            );
        }
    }

    /// A single leg returns only what it matched.
    fn drop_unmatched(&self, ranked: &mut Vec<ScoredRecord>) {
        if matches!(self.request.method, Method::Bm25 | Method::Vector) {
            ranked.retain(|record| record.explanation.value > 0.0);
        }
    }

    fn fact_hits(&self, ranked: Vec<ScoredRecord>) -> Vec<Hit> {
        let ranked = ranked.into_iter().filter_map(|scored| {
            self.view.facts.get(scored.slot).map(|fact| (scored, Arc::clone(fact)))
        });
        ranked
            .enumerate()
            .map(|(index, (scored, fact))| Hit {
                kind: HitKind::Semantic,
                score: scored.explanation.value,
                rank: index + 1,
                messages: Vec::new(),
                terms: Arc::clone(&self.prepared.terms),
                explanation: scored.explanation,
                record: Record::Semantic(fact),
            })
            .collect()
    }

    /// Episodes, best first, and the messages of each by how well they matched.
    fn episodes(&self) -> Result<(Vec<ScoredRecord>, Members)> {
        let view = self.view;
        let terms = &self.prepared.query.all_terms;
        let abstracts = FieldScores::new(&view.abstracts, terms, self.vector(), BM25_B, self.top_k);
        let narratives =
            FieldScores::new(&view.narratives, terms, self.vector(), BM25_B_LONG, self.top_k);
        let scored = self.ranked()?;
        let slots: Vec<u32> = match self.request.filter.is_empty() {
            true => {
                let matched = scored.iter().filter_map(|message| view.episode_of(message.slot));
                let mut slots: Vec<u32> = abstracts
                    .candidates()
                    .into_iter()
                    .chain(narratives.candidates())
                    .chain(matched)
                    .collect();
                slots.sort_unstable();
                slots.dedup();
                slots
            }
            false => view.episodes.slots().collect(),
        };
        let (table, filter) = (&view.episodes, &self.request.filter);
        // As with statements.
        let admits = |slot: &u32| {
            table.contains(*slot)
                && (filter.is_empty()
                    || table.get(*slot).is_some_and(|episode| admits_episode(filter, episode)))
        };
        let mut admitted: Vec<u32> = slots.into_iter().filter(admits).collect();
        let layers = EpisodeLayers::new(
            &abstracts,
            &narratives,
            scored,
            &admitted,
            self.engine.config.layer_weights,
        );
        let lifts = match self.request.method {
            Method::Norlift => self.lifts(),
            _ => std::collections::BTreeMap::new(),
        };
        let said = |slot: u32| view.members.get(slot);
        if self.only_best() {
            let estimates: Vec<f64> =
                admitted.iter().map(|slot| layers.estimate(*slot, said(*slot))).collect();
            let least = least_of_best(&estimates, self.top_k);
            let mut estimates = estimates.into_iter();
            admitted.retain(|_| estimates.next().is_some_and(|estimate| estimate >= least));
        }
        let mut members = HashMap::new();
        let mut ranked = Vec::new();
        for slot in admitted {
            let (record, matched) = layers.score(slot, said(slot));
            let name = "episode";
            let words = || abstracts.words(slot).max(narratives.words(slot));
            let record = match self.request.method {
                Method::Bm25 => leaf(slot, name, f64::from(words()), "bm25", None),
                Method::Vector => leaf(
                    slot,
                    name,
                    f64::from(record.cosine.unwrap_or(0.0)),
                    "cosine",
                    record.cosine,
                ),
                Method::Norlift => {
                    let lift = table
                        .get(slot)
                        .and_then(|episode| lifts.get(&episode.episode_id))
                        .copied()
                        .unwrap_or(0.0);
                    let parts = vec![
                        Explanation::leaf("norlift", lift, "votes of semantic memories"),
                        record.explanation.scaled(0.5),
                    ];
                    ScoredRecord {
                        slot,
                        explanation: Explanation::sum(name, "", parts),
                        cosine: record.cosine,
                    }
                }
                _ => record,
            };
            members.insert(slot, matched);
            ranked.push(record);
        }
        if self.request.method == Method::Rrf {
            let cosine = |slot: u32| {
                abstracts
                    .cosine(slot)
                    .into_iter()
                    .chain(narratives.cosine(slot))
                    .max_by(f32::total_cmp)
            };
            self.fuse(&mut ranked, "episode", |slot| {
                (abstracts.words(slot).max(narratives.words(slot)), cosine(slot))
            });
        }
        sort_records(&mut ranked);
        self.drop_unmatched(&mut ranked);
        Ok((ranked, members))
    }

    /// The votes of the semantic memories for the episodes they were learned from.
    fn lifts(&self) -> std::collections::BTreeMap<String, f64> {
        let scores = FieldScores::new(
            &self.view.statements,
            &self.prepared.query.all_terms,
            self.vector(),
            BM25_B,
            self.top_k,
        );
        let (mut similarities, mut sources) = (Vec::new(), Vec::new());
        // Ids are compared as numbers inside, and named again outside.
        let mut names: Vec<&str> = self
            .view
            .facts
            .iter()
            .flat_map(|(_, fact)| fact.source_episodes.iter().map(String::as_str))
            .collect();
        names.sort_unstable();
        names.dedup();
        for (slot, fact) in self.view.facts.iter() {
            similarities.push(scores.cosine(slot).unwrap_or_else(|| scores.words(slot)));
            sources.push(
                fact.source_episodes
                    .iter()
                    .filter_map(|id| names.binary_search(&id.as_str()).ok())
                    .collect(),
            );
        }
        lift(&similarities, &sources)
            .into_iter()
            .map(|(number, lift)| (names[number].to_owned(), lift))
            .collect()
    }

    fn episode_hits(&self, ranked: Vec<ScoredRecord>, mut members: Members) -> Vec<Hit> {
        let ranked = ranked.into_iter().filter_map(|scored| {
            self.view.episodes.get(scored.slot).map(|episode| (scored, Arc::clone(episode)))
        });
        ranked
            .enumerate()
            .map(|(index, (scored, episode))| {
                let matched = members.remove(&scored.slot).unwrap_or_default();
                let messages: Vec<Arc<Message>> =
                    matched.iter().map(|slot| Arc::clone(self.view.messages.get(*slot))).collect();
                Hit {
                    kind: HitKind::Episodic,
                    score: scored.explanation.value,
                    rank: index + 1,
                    terms: Arc::clone(&self.prepared.terms),
                    messages,
                    explanation: scored.explanation,
                    record: Record::Episode(episode),
                }
            })
            .collect()
    }
}

fn leaf(slot: u32, name: &str, value: f64, detail: &str, cosine: Option<f32>) -> ScoredRecord {
    ScoredRecord { slot, explanation: Explanation::leaf(name, value, detail), cosine }
}

pub(crate) fn admits_message(filter: &Filter, message: &Message) -> bool {
    let metadata = || -> serde_json::Map<String, serde_json::Value> {
        message
            .metadata
            .as_ref()
            .and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    };
    filter.admits_time(message.timestamp, message.timestamp)
        && filter
            .session_id
            .as_ref()
            .is_none_or(|session| message.session_id.as_deref() == Some(session))
        && (filter.metadata.is_empty() || admits_metadata(filter, &metadata()))
}

pub(crate) fn admits_episode(filter: &Filter, episode: &crate::model::Episode) -> bool {
    let in_session = |session: &String| {
        episode
            .original_messages
            .iter()
            .any(|message| message.session_id.as_deref() == Some(session))
    };
    filter.is_empty()
        || filter.admits_time(episode.timestamp, episode.ended_at)
            && filter.session_id.as_ref().is_none_or(in_session)
            && (filter.metadata.is_empty()
                || admits_metadata(filter, &episode.metadata)
                || episode
                    .original_messages
                    .iter()
                    .any(|message| admits_message(&metadata_only(filter), message)))
}

pub(crate) fn admits_fact(filter: &Filter, fact: &crate::model::SemanticMemory) -> bool {
    let in_session = |session: &String| {
        fact.metadata.get("session_id").and_then(|own| own.as_str()) == Some(session)
    };
    filter.is_empty()
        || filter.admits_time(fact.valid_from, fact.valid_to.unwrap_or(crate::clock::Moment::MAX))
            && filter.session_id.as_ref().is_none_or(in_session)
            && admits_metadata(filter, &fact.metadata)
}

fn metadata_only(filter: &Filter) -> Filter {
    Filter { metadata: filter.metadata.clone(), ..Filter::default() }
}

fn admits_metadata(filter: &Filter, metadata: &serde_json::Map<String, serde_json::Value>) -> bool {
    filter.metadata.iter().all(|(key, value)| metadata.get(key) == Some(value))
}
