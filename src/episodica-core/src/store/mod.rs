//! Records on disk: append-only JSONL logs that survive crashes. The store does not depend on
//! indexes.
//!
//! [`Store`] is a directory that any number of processes write; [`UserStore`] the three logs of one
//! user, which are the truth; everything else on disk (vector caches, snapshots) can be made again
//! from them. docs/format.md defines every byte, the sync promises and what recovery does.
//!
//! Each module depends only on those before it:
//! `backend -> files -> {line, layout, codec, handles, held, real, root, reserve} -> scan ->
//! quarantine -> log -> {legacy, side, dead_letter, cache, snapshot, uses, lock} -> locks ->
//! shared -> {adopt, format, erase} -> log_store -> {apart, file_user_logs, fold} -> file_logs ->
//! loading -> user -> store -> {backup, copy, derived, places}`.
//! [`LogStore`](log_store::LogStore) is the seam to another medium than files; all file operations
//! go through [`backend::Backend`], so that tests can cut the power between any two of them.
//!
//! The store neither segments conversations nor interprets facts; only the engine calls it.

mod adopt;
mod apart;
pub mod backend;
mod backup;
mod cache;
mod codec;
mod copy;
mod dead_letter;
mod derived;
mod erase;
mod file_logs;
mod file_user_logs;
mod files;
mod fold;
mod format;
mod frugal;
mod handles;
mod held;
pub mod layout;
mod legacy;
mod line;
mod loading;
mod lock;
mod locks;
mod log;
pub mod log_store;
mod npy;
mod open_log;
mod places;
mod quarantine;
mod real;
mod reserve;
mod root;
mod scan;
mod shared;
mod side;
mod snapshot;
#[expect(clippy::module_inception, reason = "one concept, one file: the store itself")]
mod store;
#[doc(hidden)]
pub mod testing;
mod user;
mod uses;

pub use backend::Backend;
pub use backup::Backup;
pub use cache::{CacheRow, Extent, VectorCache, VectorCacheHead, WriteIndex};
pub use codec::{Erased, LogEntry, SessionState, StateRecord};
pub(crate) use codec::{MAX_JSON_DEPTH, is_too_deep};
pub use copy::{Copied, copy_user};
pub use dead_letter::{DeadLetter, DeadLetters};
pub use erase::{Erasure, KEPT_REVISIONS, LineLog, erase_lines};
pub use files::Sum;
pub use fold::{History, LoadedUser, Opened};
pub use format::FORMAT_VERSION;
pub use held::locked_files;
pub use layout::{DEFAULT_TENANT, Layout, LogKind, SideFile};
pub use line::{MAX_LINE_BYTES, check_line};
pub use lock::Holder;
pub use log::{Log, LogPosition, LogSum, Mode, Recovery, Rewrite, encode_records};
pub use log_store::{Hold, LogEnds, LogStore, Medium, Turn, UserLogs};
pub use places::{Behind, LogPlace, Look, UserPlaces};
pub use real::RealBackend;
pub use scan::Line;
pub use side::{AnswerCache, CachedAnswer, Trace, TraceStep};
pub use snapshot::SnapshotHead;
pub use store::Store;
pub use user::UserStore;
pub use uses::Use;
