//! What a search is asked for, and what it answers.

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
    /// Most hits per kind, 1 to 1000.
    pub top_k: usize,
    /// The kinds wanted.
    pub kinds: Vec<HitKind>,
    /// How to rank.
    pub method: Method,
    /// What may be returned.
    pub filter: Filter,
    /// Least cosine of a hit; `None` = the preset's (none by default). Never applied to fused
    /// scores.
    pub threshold: Option<f32>,
    /// When "now" is, for questions that say "last week".
    pub now: Moment,
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
    /// Its score: comparable within one kind of one search only. Equal to `explanation.value`.
    pub score: f64,
    /// Place among the hits of its kind, from 1.
    pub rank: usize,
    /// The messages that matched, best first: one for a message, an episode's own, none for a
    /// semantic memory.
    pub messages: Vec<Arc<Message>>,
    /// The question's terms, which [`Hit::snippet`] shows.
    pub terms: Arc<[String]>,
    /// The score as a sum of named terms.
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

/// What a search found.
#[derive(Debug, Clone)]
pub struct Response {
    /// Best first within each kind; kinds in the order asked for.
    pub hits: Vec<Hit>,
    /// Legs that could not take part, and why.
    pub degraded: Vec<String>,
    /// What the question was taken to ask for.
    pub intent: Intent,
}
