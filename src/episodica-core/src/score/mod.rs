//! From query to ranked, explained hits and packed context.
//!
//! Pure functions over indexes and records: no locks, no files, no network. `docs/scoring.md` derives every formula and shows its ablation.

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
pub use late::{TokenTable, windowed_maxsim};
pub use lexical::{BM25_B, BM25_K1, bm25, windowed_bm25};
pub use messages::{ScoredMessage, TERMS as MESSAGE_TERMS, rank_messages};
pub use norlift::lift;
pub use query::{DatePart, Query, date_parts, query_terms};
pub use records::{EpisodeLayers, FieldScores, ScoredRecord, names_subject, score_fact, sort_records};
pub use request::{Filter, Hit, HitKind, Method, Record, Request, Response};
pub use snippet::{SNIPPET_CHARS, snippet};
