//! Searches one user's memory: reads the question, ranks each kind, and merges the best of all.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic;
use std::time::{Duration, Instant};

use ndarray::Array1;
use rayon::prelude::*;

use crate::clock::Moment;
use crate::config::RetrievalPreset;
use crate::control::{CallControl, DeadlineControl};
use crate::embed::STATIC_MODEL;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::indexing::other_dimension;
use crate::engine::memory::view::UserView;
use crate::engine::reading::hits::{HitBuilder, RankedSlot};
use crate::engine::reading::moments::add_moments;
use crate::error::{Error, ErrorKind, Result};
use crate::parallel;
use crate::score::{
    CosineThreshold, HitKind, ParsedQuery, QueryIntent, RankingInput, RankingSettings, SearchHit,
    SearchMethod, SearchRequest, SearchResponse, TermWeights, are_facts_scored_in_full,
    detect_intent, is_scored_in_full,
};

/// Most hits a search may ask for.
pub const MAX_TOP_K: usize = 1_000;
/// Longest question, in characters.
pub const MAX_QUERY_CHARS: usize = 32_768;
/// Upper limit of the configured timeout of a search.
const LONGEST_PATIENCE: Duration = Duration::from_secs(86_400);
/// Most terms of the question that snippets mark.
const SNIPPET_TERMS: usize = 64;
/// Depths of ranking in a large memory, tried in order. The depth decides which records are
/// candidates, so it must not depend on `top_k`: the first hits are the same for every `top_k`.
const DEPTHS: [usize; 3] = [20, 200, MAX_TOP_K];

/// A prepared question: read and embedded.
pub(crate) struct PreparedQuestion {
    pub query: ParsedQuery,
    /// Terms that snippets mark.
    pub terms: Arc<[String]>,
    pub vector: Option<Array1<f32>>,
    pub intent: QueryIntent,
    pub degraded: Vec<String>,
}

impl Engine {
    /// Finds the best records for a question; see `docs/scoring.md`. Returns no hits for an unknown
    /// user. The hits for `top_k` are the first hits for any greater `top_k`.
    ///
    /// # Errors
    /// `InvalidInput` for an empty query, one of more than [`MAX_QUERY_CHARS`] characters, or a
    /// `top_k` out of 1 to 1000; `Io` if the user's files can't be read.
    pub fn search(
        &self,
        user_id: &str,
        request: &SearchRequest,
        control: &dyn CallControl,
    ) -> Result<SearchResponse> {
        self.check_request(request)?;
        self.services.counters.searches.fetch_add(1, atomic::Ordering::Relaxed);
        let intent = detect_intent(&request.query);
        let hurried = self.hurried(control);
        let Some(user) = self.known_user(user_id, &hurried)? else {
            return Ok(SearchResponse { hits: Vec::new(), degraded: Vec::new(), intent });
        };
        let query =
            ParsedQuery::new(&request.query, &user.view.read().messages, self.services.tokens);
        let mut prepared = self.prepare(&query.at(request.now), request, &hurried)?;
        let view = user.view.read();
        self.note_degradation(&view, request, &mut prepared);
        let search = SearchRun { engine: self, view: &view, request, prepared: &prepared };
        let mut degraded = prepared.degraded.clone();
        let hits = search.best(&mut degraded)?;
        degraded.dedup();
        user.uses.note_uses(hits.iter().map(SearchHit::id), self.services.clock.now());
        Ok(SearchResponse { hits, degraded, intent })
    }

    pub(crate) fn check_request(&self, request: &SearchRequest) -> Result<()> {
        self.check_open()?;
        if request.query.trim().is_empty() {
            return Err(Error::invalid("query is empty"));
        }
        let chars = request.query.chars().count();
        if chars > MAX_QUERY_CHARS {
            return Err(Error::invalid(format!(
                "query is longer than {MAX_QUERY_CHARS} characters: `{chars}`"
            )));
        }
        let mut limits = request.per_kind.values().chain([&request.top_k]);
        if let Some(wrong) = limits.find(|most| !(1..=MAX_TOP_K).contains(*most)) {
            return Err(Error::invalid(format!(
                "top_k must be between 1 and {MAX_TOP_K}: `{wrong}`"
            )));
        }
        if request.kinds.is_empty() {
            return Err(Error::invalid("kinds is empty"));
        }
        Ok(())
    }

    /// Control of a search, which waits for a server only for a short time.
    pub(crate) fn hurried<'a>(&self, control: &'a dyn CallControl) -> DeadlineControl<'a> {
        let patience = Duration::try_from_secs_f64(self.services.config.search_timeout_seconds);
        let patience = patience.unwrap_or(LONGEST_PATIENCE).min(LONGEST_PATIENCE);
        DeadlineControl::new(control, Instant::now() + patience)
    }

    /// True for any embedder but the table of token vectors.
    pub(crate) fn embeds_sentences(&self) -> bool {
        self.services.embedder.model_name() != STATIC_MODEL
    }

    /// Embeds the question, unless the method uses words only. No lock is held here.
    pub(crate) fn prepare(
        &self,
        query: &ParsedQuery,
        request: &SearchRequest,
        control: &dyn CallControl,
    ) -> Result<PreparedQuestion> {
        let mut degraded = Vec::new();
        let text = if self.embeds_sentences() { &query.sentence } else { &query.plain };
        let vector = match request.method {
            SearchMethod::Bm25 => None,
            _ => match self.services.embedder.embed_controlled(&[text], control) {
                Ok(rows) => Some(rows.row(0).to_owned()),
                Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
                Err(error) => {
                    self.services
                        .counters
                        .embedding_failures
                        .fetch_add(1, atomic::Ordering::Relaxed);
                    degraded.push(format!("vector: {error}"));
                    None
                }
            },
        };
        let terms = query.all_terms.iter().take(SNIPPET_TERMS);
        Ok(PreparedQuestion {
            intent: detect_intent(&query.text),
            query: query.clone(),
            terms: terms.map(|term| term.text.clone()).collect(),
            vector,
            degraded,
        })
    }

    pub(crate) fn note_degradation(
        &self,
        view: &UserView,
        request: &SearchRequest,
        prepared: &mut PreparedQuestion,
    ) {
        if request.method == SearchMethod::Bm25 {
            return;
        }
        let Some(given) = prepared.vector.as_ref().map(Array1::len) else { return };
        if let Some(stored) = view.dimension().filter(|stored| *stored != given) {
            prepared.degraded.push(format!("vector: {}", other_dimension(given, stored)));
            prepared.vector = None;
            return;
        }
        let missing = view.backlog.unembedded_slots().len();
        if missing > 0 {
            prepared.degraded.push(format!("vector: {missing} messages have no vector yet"));
        }
    }
}

pub(crate) struct SearchRun<'a> {
    pub engine: &'a Engine,
    pub view: &'a UserView,
    pub request: &'a SearchRequest,
    pub prepared: &'a PreparedQuestion,
}

impl<'a> SearchRun<'a> {
    /// The best hits of all kinds, merged by relevance.
    fn best(&self, degraded: &mut Vec<String>) -> Result<Vec<SearchHit>> {
        let kinds = &self.request.kinds;
        let mut lists: Vec<Vec<RankedHit>> = kinds.iter().map(|_| Vec::new()).collect();
        let depths = self.depths();
        // Facts may lack hits even at the last depth: most that a depth proposes may be superseded.
        let may_lack = |kind| kind == HitKind::Semantic && !are_facts_scored_in_full(self.view);
        let deeper = DEPTHS.into_iter().filter(|depth| depths.last() < Some(depth));
        let mut rankings: Vec<HitBuilder<'_>> = Vec::new();
        for (depth, is_deeper) in
            depths.iter().map(|depth| (*depth, false)).chain(deeper.map(|depth| (depth, true)))
        {
            let lacks = |(kind, list): (&HitKind, &Vec<RankedHit>)| {
                let wanted = self.request.wanted(*kind).min(depth);
                list.len() < wanted && (!is_deeper || may_lack(*kind))
            };
            let lacking: Vec<bool> = kinds.iter().zip(&lists).map(lacks).collect();
            if !lacking.contains(&true) {
                continue;
            }
            let hits = self.hits(depth);
            if !is_deeper {
                hits.ranking.prepare(&hits.asked, kinds);
            }
            let find = |kind: &HitKind, lacks: bool| {
                let mut degraded = Vec::new();
                let found = lacks.then(|| hits.of(*kind, &mut degraded)).transpose()?;
                Ok((found.unwrap_or_default(), degraded))
            };
            let found = self.of_each_kind(&lacking, hits.asked.is_shared(), find)?;
            for ((kind, list), (found, reasons)) in kinds.iter().zip(&mut lists).zip(found) {
                append(list, found, rankings.len(), self.request.wanted(*kind).min(depth));
                degraded.extend(reasons);
            }
            rankings.push(hits);
        }
        let score = |ranked: &RankedHit| ranked.found.score;
        let best = merge(lists, self.request.top_k, score, |ranked| {
            let record = ranked.found.record(self.view);
            record.map(|record| (record.time(), record.id().to_owned()))
        });
        let made = best.into_iter().map(|ranked| rankings[ranked.by].made(ranked.found));
        let mut made: Vec<SearchHit> = made.filter_map(Result::transpose).collect::<Result<_>>()?;
        add_moments(self.view, &mut made);
        Ok(numbered(made))
    }

    /// Applies `find` to each kind; its argument tells whether the kind lacks hits. Runs in
    /// parallel if `shared`.
    fn of_each_kind<T: Send>(
        &self,
        lacking: &[bool],
        shared: bool,
        find: impl Fn(&HitKind, bool) -> Result<T> + Sync + Send,
    ) -> Result<Vec<T>> {
        let kinds = &self.request.kinds;
        let find = |(kind, lacks): (&HitKind, &bool)| find(kind, *lacks);
        if shared {
            parallel::run_in_pool(|| kinds.par_iter().zip(lacking).map(find).collect())
        } else {
            kinds.iter().zip(lacking).map(find).collect()
        }
    }

    /// The depths at which the kinds are ranked.
    fn depths(&self) -> Vec<usize> {
        let kinds = self.request.kinds.iter();
        let wanted = kinds.map(|kind| self.request.wanted(*kind)).max().unwrap_or_default();
        if is_scored_in_full(self.view) {
            return vec![wanted];
        }
        let enough = DEPTHS.iter().position(|depth| *depth >= wanted).unwrap_or(DEPTHS.len() - 1);
        DEPTHS[..=enough].to_vec()
    }

    /// A ranking for the best `wanted` hits of each kind.
    pub fn hits(&self, wanted: usize) -> HitBuilder<'a> {
        let config = &self.engine.services.config;
        let settings = RankingSettings {
            weights: TermWeights::of(config, self.engine.embeds_sentences(), &self.prepared.query),
            layer_weights: config.layer_weights,
            rrf_k: config.rrf_k,
            preset: config.preset,
        };
        let threshold = match self.request.threshold {
            None if config.preset == RetrievalPreset::Cortex => {
                CosineThreshold::Relaxing(self.prepared.intent)
            }
            _ => CosineThreshold::None,
        };
        let (query, filter) = (&self.prepared.query, &self.request.filter);
        let mut asked = RankingInput::new(
            self.view,
            query,
            self.engine.services.tokens,
            filter,
            settings,
            wanted,
        );
        asked.vector = self.prepared.vector.as_ref().map(|vector| vector.view());
        asked.exhaustive =
            threshold != CosineThreshold::None || config.preset != RetrievalPreset::Default;
        asked.include_superseded = self.request.include_superseded;
        let ranking = self.request.method.ranking();
        let least = self.request.threshold;
        let terms = Arc::clone(&self.prepared.terms);
        HitBuilder { asked, view: self.view, ranking, threshold, least, terms }
    }
}

/// A hit without its record, and the number of the ranking that found it.
struct RankedHit {
    found: RankedSlot,
    by: usize,
}

/// Appends hits of ranking `by`, which is deeper than the rankings before, until the list has
/// `wanted`. New hits rank below the known ones, so their relevance is capped at that of the last
/// known one.
fn append(list: &mut Vec<RankedHit>, found: Vec<RankedSlot>, by: usize, wanted: usize) {
    let known: HashSet<u32> = list.iter().map(|ranked| ranked.found.slot()).collect();
    let ceiling = list.last().map_or(f64::INFINITY, |ranked| ranked.found.score);
    for mut found in found.into_iter().filter(|found| !known.contains(&found.slot())) {
        if list.len() == wanted {
            break;
        }
        found.score = found.score.min(ceiling);
        list.push(RankedHit { found, by });
    }
}

/// Merges sorted lists into the best `most`. Ties are broken by `key`: the later time first, then
/// the id.
pub(super) fn merge<T, K: Ord>(
    lists: Vec<Vec<T>>,
    most: usize,
    score: impl Fn(&T) -> f64,
    key: impl Fn(&T) -> Option<(Moment, K)>,
) -> Vec<T> {
    let mut lists: Vec<_> = lists.into_iter().map(|list| list.into_iter().peekable()).collect();
    let mut merged = Vec::new();
    while merged.len() < most {
        let heads = lists.iter_mut().enumerate();
        let heads = heads.filter_map(|(number, list)| Some((number, list.peek()?)));
        // Only ties need the records.
        let best = heads.max_by(|(_, a), (_, b)| {
            score(a).total_cmp(&score(b)).then_with(|| match (key(a), key(b)) {
                (Some(a), Some(b)) => a.0.cmp(&b.0).then_with(|| b.1.cmp(&a.1)),
                _ => Ordering::Equal,
            })
        });
        let Some(next) = best.map(|(number, _)| number).and_then(|number| lists[number].next())
        else {
            break;
        };
        merged.push(next);
    }
    merged
}

pub(super) fn numbered(mut hits: Vec<SearchHit>) -> Vec<SearchHit> {
    (1..).zip(&mut hits).for_each(|(rank, hit)| hit.rank = rank);
    hits
}
