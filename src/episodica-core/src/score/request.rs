//! The request and the response of a search.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::{QueryIntent, RecordFilter, ScoreTerm, snippet};
use crate::clock::Moment;
use crate::model::{Episode, Message, SemanticMemory};

/// The kinds of record a search can return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HitKind {
    /// An episode.
    Episodic,
    /// A fact.
    Semantic,
    /// A single message, in an episode or still in the buffer.
    Message,
}

/// How records are ranked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMethod {
    /// All terms with a measured gain, on one scale.
    #[default]
    Hybrid,
    /// Reciprocal rank fusion of the two legs.
    Rrf,
    /// Meaning only.
    Vector,
    /// Words only.
    Bm25,
    /// Episodes ranked by the votes of their facts.
    Norlift,
}

/// A search request.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The question.
    pub query: String,
    /// Maximum number of hits, 1 to 1000.
    pub top_k: usize,
    /// Maximum number of hits per kind; kinds not listed are limited by `top_k` only.
    pub per_kind: BTreeMap<HitKind, usize>,
    /// The requested kinds.
    pub kinds: Vec<HitKind>,
    /// The ranking method.
    pub method: SearchMethod,
    /// Restricts which records may be returned.
    pub filter: RecordFilter,
    /// Minimum relevance of a hit; `None` = the preset's rule (none by default).
    pub threshold: Option<f64>,
    /// True if superseded facts may be returned.
    pub include_superseded: bool,
    /// The time meant by "now" in questions such as "last week".
    pub now: Moment,
}

impl SearchRequest {
    /// Maximum number of hits of a kind.
    pub fn wanted(&self, kind: HitKind) -> usize {
        self.per_kind.get(&kind).map_or(self.top_k, |most| self.top_k.min(*most))
    }
}

/// The record of a hit.
#[derive(Debug, Clone)]
pub enum HitRecord {
    /// An episode.
    Episode(Arc<Episode>),
    /// A fact.
    Semantic(Arc<SemanticMemory>),
    /// A message.
    Message(Arc<Message>),
}

impl HitRecord {
    /// Its id.
    pub fn id(&self) -> &str {
        match self {
            Self::Episode(episode) => &episode.episode_id,
            Self::Semantic(fact) => &fact.memory_id,
            Self::Message(message) => &message.message_id,
        }
    }

    /// Time when the event took place, the message was sent, or the fact became true.
    pub fn time(&self) -> Moment {
        match self {
            Self::Episode(episode) => episode.timestamp,
            Self::Semantic(fact) => fact.valid_from,
            Self::Message(message) => message.timestamp,
        }
    }
}

/// A record with its score and an explanation of the score.
#[derive(Debug, Clone)]
pub struct SearchHit {
    /// Its kind.
    pub kind: HitKind,
    /// Relevance, 0 to 1, on one scale for all kinds. Equal to `explanation.value`.
    pub score: f64,
    /// Rank among the hits, from 1.
    pub rank: usize,
    /// The messages that matched, best first: a message hit has one, an episode its own messages, a
    /// fact none.
    pub messages: Vec<Arc<Message>>,
    /// The episode of a message hit; `None` while the message has none, and for other kinds.
    pub episode: Option<Arc<Episode>>,
    /// The current facts that quote a message hit; none for other kinds.
    pub claims: Vec<Arc<SemanticMemory>>,
    /// Ids of the facts that superseded this fact or the content of this message; empty for
    /// episodes.
    pub superseded_by: Vec<String>,
    /// The question's terms, around which [`SearchHit::snippet`] cuts the text.
    pub terms: Arc<[String]>,
    /// The relevance and, as a sum of named terms, the raw score from which it was computed.
    pub explanation: ScoreTerm,
    /// The record.
    pub record: HitRecord,
}

impl SearchHit {
    /// About 100 characters around the match.
    pub fn snippet(&self) -> String {
        let shown = match (&self.record, self.messages.first()) {
            (_, Some(message)) => &message.content,
            (HitRecord::Episode(episode), _) => &episode.content,
            (HitRecord::Semantic(fact), _) => &fact.content,
            (HitRecord::Message(message), _) => &message.content,
        };
        snippet(shown, &self.terms)
    }

    /// The id of the record.
    pub fn id(&self) -> &str {
        self.record.id()
    }

    /// [`HitRecord::time`] of the record.
    pub fn time(&self) -> Moment {
        self.record.time()
    }
}

/// The response of a search.
#[derive(Debug, Clone)]
pub struct SearchResponse {
    /// The hits, best first.
    pub hits: Vec<SearchHit>,
    /// Legs that were unavailable, each with the reason.
    pub degraded: Vec<String>,
    /// The detected intent of the question.
    pub intent: QueryIntent,
}
