//! What a search is asked for, and what it answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{Explanation, Filter, Intent, snippet};
use crate::clock::Moment;
use crate::model::{Episode, Message, SemanticMemory};

/// The kinds of record a search can return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HitKind {
    /// An episode.
    Episodic,
    /// A semantic memory.
    Semantic,
    /// A single message, remembered or still in the buffer.
    Message,
}

/// How records are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Everything that was measured to help, on one scale.
    #[default]
    Hybrid,
    /// Reciprocal rank fusion of the two legs.
    Rrf,
    /// Meaning alone.
    Vector,
    /// Words alone.
    Bm25,
    /// Episodes by the votes of the semantic memories learned from them.
    Norlift,
}

/// A search.
#[derive(Debug, Clone)]
pub struct Request {
    /// The question.
    pub query: String,
    /// Most hits in all, 1 to 1000.
    pub top_k: usize,
    /// Most hits of single kinds; a kind that is not named has no limit of its own.
    pub per_kind: BTreeMap<HitKind, usize>,
    /// The kinds wanted.
    pub kinds: Vec<HitKind>,
    /// How to rank.
    pub method: Method,
    /// What may be returned.
    pub filter: Filter,
    /// Least cosine of a hit; `None` = the preset's (none by default). Never applied to fused
    /// scores.
    pub threshold: Option<f32>,
    /// True if facts that no longer hold may be returned.
    pub include_superseded: bool,
    /// When "now" is, for questions that say "last week".
    pub now: Moment,
}

impl Request {
    /// Most hits of a kind.
    pub fn wanted(&self, kind: HitKind) -> usize {
        self.per_kind.get(&kind).map_or(self.top_k, |most| self.top_k.min(*most))
    }
}

/// The record behind a hit.
#[derive(Debug, Clone)]
pub enum Record {
    /// An episode.
    Episode(Arc<Episode>),
    /// A semantic memory.
    Semantic(Arc<SemanticMemory>),
    /// A message.
    Message(Arc<Message>),
}

/// One found record with its score and the terms that make it.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its kind.
    pub kind: HitKind,
    /// Relevance, 0 to 1, on one scale for all kinds. Equal to `explanation.value`.
    pub score: f64,
    /// Place among the hits, from 1.
    pub rank: usize,
    /// The messages that matched, best first: one for a message, an episode's own, none for a
    /// semantic memory.
    pub messages: Vec<Arc<Message>>,
    /// The question's terms, which [`Hit::snippet`] shows.
    pub terms: Arc<[String]>,
    /// The raw score as a sum of named terms, and what it was mapped to.
    pub explanation: Explanation,
    /// The record.
    pub record: Record,
}

impl Hit {
    /// About 100 characters around the match.
    pub fn snippet(&self) -> String {
        let shown = match (&self.record, self.messages.first()) {
            (_, Some(message)) => &message.content,
            (Record::Episode(episode), _) => &episode.content,
            (Record::Semantic(fact), _) => &fact.content,
            (Record::Message(message), _) => &message.content,
        };
        snippet(shown, &self.terms)
    }
}

impl Hit {
    /// The id of the record.
    pub fn id(&self) -> &str {
        match &self.record {
            Record::Episode(episode) => &episode.episode_id,
            Record::Semantic(fact) => &fact.memory_id,
            Record::Message(message) => &message.message_id,
        }
    }

    /// When it took place, was said, or became true.
    pub fn time(&self) -> Moment {
        match &self.record {
            Record::Episode(episode) => episode.timestamp,
            Record::Semantic(fact) => fact.valid_from,
            Record::Message(message) => message.timestamp,
        }
    }
}

/// What a search found.
#[derive(Debug, Clone)]
pub struct Response {
    /// Best first.
    pub hits: Vec<Hit>,
    /// Legs that could not take part, and why.
    pub degraded: Vec<String>,
    /// What the question was taken to ask for.
    pub intent: Intent,
}
