//! Ranks records for a query, explains the scores, and packs contexts.
//!
//! Pure functions over indexes and records: no locks, no files, no network. `docs/scoring.md`
//! derives every formula and shows its ablation.

mod beside;
mod candidates;
mod condition;
mod context;
mod episodes;
mod explanation;
mod facts;
mod fields;
mod filter;
mod fusion;
mod intent;
mod late;
mod lexical;
mod mean;
mod messages;
mod newer;
mod query;
mod ranking;
mod records;
mod relevance;
mod request;
mod snippet;
mod succession;
mod terms;
mod threshold;
mod translations;
mod variants;
mod windowed;

pub use condition::MetadataFilter;
pub use context::{
    ContextCandidates, ContextParts, ContextWords, EpisodeSummary, FactSection, KnownFact,
    LaterWords, LineMark, LineReason, Outdated, OutputForm, Parts, Successors, is_date, later_mark,
    pack, unmarked, without_contexts,
};
pub use episodes::{EpisodeFields, EpisodeLayers};
pub use explanation::{ScoreTerm, TermDetail};
pub use facts::{FactTerms, estimate_fact, score_fact};
pub use fields::FieldScores;
pub use filter::RecordFilter;
pub use fusion::{RRF_K, min_max, reciprocal_rank_fusion, top_k};
pub use intent::{QueryIntent, detect_intent};
pub use late::{MaxSim, TokenTable};
pub use lexical::{BM25_B, BM25_B_LONG, BM25_K1, bm25};
pub use messages::MessageRanking;
pub use newer::raise_newer;
pub use query::{ParsedQuery, QueryTerm, query_terms};
pub use ranking::{
    Ranking, RankingInput, RankingSettings, UserCorpus, are_facts_scored_in_full, is_scored_in_full,
};
pub use records::{ScoredRecord, least_of_best, sort_records};
pub use relevance::{AnswerRelevance, AnswerSigns, TELLING_MESSAGES, answered_at, relevance};
pub use request::{HitKind, HitRecord, SearchHit, SearchMethod, SearchRequest, SearchResponse};
pub use snippet::{SNIPPET_CHARS, snippet};
pub use succession::{
    Superseded, SupersededContent, last_successor, raise_later, raise_successors,
    superseded_messages,
};
pub use terms::{ScoredMessage, TERMS as MESSAGE_TERMS, TermWeights};
pub use threshold::CosineThreshold;
pub use windowed::WindowedWords;
