//! From query to ranked, explained hits and packed context.
//!
//! Pure functions over indexes and records: no locks, no files, no network. `docs/scoring.md` derives every formula and shows its ablation.

mod explanation;
mod fusion;
mod intent;
mod norlift;
mod request;
mod snippet;

pub use explanation::Explanation;
pub use fusion::{RRF_K, min_max, reciprocal_rank_fusion, top_k};
pub use intent::{Intent, detect_intent};
pub use norlift::lift;
pub use request::{Filter, Hit, HitKind, Method, Record, Request, Response};
pub use snippet::{SNIPPET_CHARS, snippet};
