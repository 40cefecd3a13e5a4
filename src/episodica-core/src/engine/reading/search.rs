//! Searching one user's memory: reads the question, ranks each kind, and makes hits of the best.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ndarray::Array1;

use crate::config::Preset;
use crate::control::Control;
use crate::embed::STATIC_MODEL;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::view::View;
use crate::error::{Error, Result};
use crate::model::Message;
use crate::score::{
    Asked, Explanation, Hit, HitKind, Intent, Method, Query, Record, Request, Response,
    ScoredMessage, ScoredRecord, Settings, Threshold, Weights, detect_intent,
};

/// Most hits a search may ask for, per kind.
pub const MAX_TOP_K: usize = 1_000;

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
        self.services.counters.searches.fetch_add(1, Ordering::Relaxed);
        let intent = detect_intent(&request.query);
        let Some(user) = self.known_user(user_id, control)? else {
            return Ok(Response { hits: Vec::new(), degraded: Vec::new(), intent });
        };
        let mut prepared = self.prepare(
            &Query::new(&request.query, &user.view.read().messages, self.services.tokens)
                .at(request.now),
            request,
        );
        let view = user.view.read();
        self.note_degradation(&view, request, &mut prepared);
        let search = Search::new(self, &view, request, &prepared, request.top_k);
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
            _ => match self.services.embedder.embed(&[&query.plain]) {
                Ok(rows) => Some(rows.row(0).to_owned()),
                Err(error) => {
                    self.services.counters.embedding_failures.fetch_add(1, Ordering::Relaxed);
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
        let missing = view.backlog.unembedded().len();
        if missing > 0 {
            prepared.degraded.push(format!("vector: {missing} messages have no vector yet"));
        }
    }
}

/// One search under way.
pub(crate) struct Search<'a> {
    pub asked: Asked<'a>,
    view: &'a View,
    method: Method,
    threshold: Threshold,
    prepared: &'a Prepared,
}

impl<'a> Search<'a> {
    /// For the best `wanted` of each kind.
    pub fn new(
        engine: &'a Engine,
        view: &'a View,
        request: &'a Request,
        prepared: &'a Prepared,
        wanted: usize,
    ) -> Self {
        let config = &engine.services.config;
        let settings = Settings {
            weights: Weights::of(config, engine.services.embedder.model() != STATIC_MODEL),
            layer_weights: config.layer_weights,
            rrf_k: config.rrf_k,
            preset: config.preset,
        };
        let threshold = match request.threshold {
            Some(least) => Threshold::Fixed(least),
            None if config.preset == Preset::Cortex => Threshold::Relaxing(prepared.intent),
            None => Threshold::None,
        };
        let mut asked = Asked::new(
            view,
            &prepared.query,
            engine.services.tokens,
            &request.filter,
            settings,
            wanted,
        );
        asked.vector = prepared.vector.as_ref().map(|vector| vector.view());
        asked.exhaustive = threshold != Threshold::None || config.preset != Preset::Default;
        Self { asked, view, method: request.method, threshold, prepared }
    }

    /// The hits of one kind, best first.
    pub fn hits(&self, kind: HitKind, degraded: &mut Vec<String>) -> Result<Vec<Hit>> {
        let ranking = self.method.ranking();
        match kind {
            HitKind::Message => {
                let messages = ranking.messages(&self.asked)?;
                Ok(self.message_hits(self.best(messages, |message| message.cosine, degraded)))
            }
            HitKind::Semantic => {
                let facts = ranking.facts(&self.asked);
                Ok(self.fact_hits(self.best(facts, |fact| fact.cosine, degraded)))
            }
            HitKind::Episodic => {
                let episodes = ranking.episodes(&self.asked)?;
                self.episode_hits(self.best(episodes, |episode| episode.cosine, degraded))
            }
        }
    }

    /// Messages by the method asked for, best first.
    pub fn messages(&self) -> Result<Vec<ScoredMessage>> {
        self.method.ranking().messages(&self.asked)
    }

    /// Those that pass the threshold, as many as are wanted.
    fn best<T>(
        &self,
        mut ranked: Vec<T>,
        cosine: impl Fn(&T) -> Option<f32>,
        degraded: &mut Vec<String>,
    ) -> Vec<T> {
        degraded.extend(self.threshold.apply(&mut ranked, cosine));
        ranked.truncate(self.asked.wanted);
        ranked
    }

    pub fn message_hits(&self, ranked: Vec<ScoredMessage>) -> Vec<Hit> {
        let ranking = self.method.ranking();
        let hits = ranked.into_iter().map(|scored| {
            let message = Arc::clone(self.view.messages.get(scored.slot));
            let explanation = ranking.explain(&scored, &self.asked.settings.weights);
            let messages = vec![Arc::clone(&message)];
            self.hit(HitKind::Message, explanation, messages, Record::Message(message))
        });
        ranks(hits)
    }

    fn fact_hits(&self, ranked: Vec<ScoredRecord>) -> Vec<Hit> {
        let hits = ranked.into_iter().filter_map(|scored| {
            let fact = Record::Semantic(Arc::clone(self.view.facts.get(scored.slot)?));
            Some(self.hit(HitKind::Semantic, scored.explanation, Vec::new(), fact))
        });
        ranks(hits)
    }

    fn episode_hits(&self, ranked: Vec<ScoredRecord>) -> Result<Vec<Hit>> {
        let mut hits = Vec::with_capacity(ranked.len());
        for scored in ranked {
            let Some(episode) = self.view.episodes.get(scored.slot) else { continue };
            let matched = self.asked.matched(scored.slot)?;
            let messages: Vec<Arc<Message>> =
                matched.iter().map(|slot| Arc::clone(self.view.messages.get(*slot))).collect();
            let episode = Record::Episode(Arc::clone(episode));
            hits.push(self.hit(HitKind::Episodic, scored.explanation, messages, episode));
        }
        Ok(ranks(hits.into_iter()))
    }

    fn hit(
        &self,
        kind: HitKind,
        explanation: Explanation,
        messages: Vec<Arc<Message>>,
        record: Record,
    ) -> Hit {
        Hit {
            kind,
            score: explanation.value,
            rank: 0,
            terms: Arc::clone(&self.prepared.terms),
            messages,
            explanation,
            record,
        }
    }
}

/// Numbers hits from 1.
fn ranks(hits: impl Iterator<Item = Hit>) -> Vec<Hit> {
    hits.zip(1..).map(|(hit, rank)| Hit { rank, ..hit }).collect()
}
