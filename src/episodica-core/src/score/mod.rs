//! From query to ranked, explained hits and packed context.
//!
//! Pure functions over indexes and records: no locks, no files, no network. `docs/scoring.md`
//! derives every formula and shows its ablation.

mod candidates;
mod context;
mod explanation;
mod fusion;
mod intent;
mod late;
mod lexical;
mod messages;
mod norlift;
mod query;
mod records;
mod request;
mod snippet;

pub use context::{Packed, Statement, pack};
pub use explanation::Explanation;
pub use fusion::{RRF_K, min_max, reciprocal_rank_fusion, top_k};
pub use intent::{Intent, detect_intent};
pub use late::{MaxSim, TokenTable};
pub use lexical::{BM25_B, BM25_B_LONG, BM25_K1, bm25, windowed_bm25};
pub use messages::{MessageRanking, ScoredMessage, TERMS as MESSAGE_TERMS, Weights};
pub use norlift::lift;
pub use query::{DatePart, Query, QueryTerm, date_parts, query_terms};
pub use records::{
    EpisodeLayers, FieldScores, ScoredRecord, StatementFacts, estimate_statement, last_successor,
    least_of_best, raise_successors, score_statement, sort_records,
};
pub use request::{Filter, Hit, HitKind, Method, Record, Request, Response};
pub use snippet::{SNIPPET_CHARS, snippet};
