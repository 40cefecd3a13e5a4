//! Records on disk: append-only JSONL logs that survive crashes. The store does not depend on
//! indexes.
//!
//! [`Store`] is a directory that any number of processes write. [`UserStore`] is the three logs of
//! one user, the source of truth; the user's segment is derived from them. docs/format.md defines
//! every byte of the logs, the sync promises and recovery.
//!
//! Each module depends only on those before it: `backend -> files -> {line, layout, codec, handles,
//! fork_locks, real, store_root, reserve} -> scan -> quarantine -> log -> {llm_files, dead_letter,
//! segment, uses, lock, request_log} -> locks -> shared -> {format, erase} -> log_store ->
//! {remote_cache, file_user_logs, record_folding} -> file_logs -> loading -> user -> store ->
//! {backup, copy, derived, log_cursor}`. [`LogStore`](log_store::LogStore) is the
//! interface to media other than files; all file operations go through [`backend::FileBackend`], so
//! that tests can cut the power between any two of them.
//!
//! The store neither segments conversations nor interprets facts; only the engine calls it.

pub mod backend;
mod backup;
mod codec;
mod copy;
mod dead_letter;
mod derived;
mod erase;
mod file_logs;
mod file_user_logs;
mod files;
mod fork_locks;
mod format;
mod handles;
pub mod layout;
mod line;
mod llm_files;
mod loading;
mod lock;
mod locks;
mod log;
mod log_cursor;
pub mod log_store;
mod open_log;
mod quarantine;
mod real;
mod record_folding;
mod remote_cache;
mod request_log;
mod reserve;
mod retry_on_emfile;
mod scan;
mod segment;
mod shared;
#[expect(clippy::module_inception, reason = "one concept, one file: the store itself")]
mod store;
mod store_root;
#[doc(hidden)]
pub mod testing;
mod user;
mod uses;

pub use backend::FileBackend;
pub use backup::BackupRun;
pub use codec::{ErasedLine, LogEntry, SessionState, StateRecord};
pub(crate) use codec::{MAX_JSON_DEPTH, is_too_deep, read_episode, read_fact, read_message};
pub use copy::{CopiedUser, copy_user};
pub use dead_letter::{DeadLetter, DeadLetters};
pub use erase::{KEPT_REVISIONS, LineLog, UserErasure, erase_lines};
pub use fork_locks::locked_files;
pub use format::FORMAT_VERSION;
pub use layout::{DEFAULT_TENANT, LogKind, SideFile, StoreLayout};
pub use line::{MAX_LINE_BYTES, check_line};
pub use llm_files::{AnswerCache, CachedAnswer, TraceStep, UserTrace};
pub use lock::LockHolder;
pub use log::{LineRewrite, LogPosition, LogRecovery, LogSum, OpenMode, RecordLog, encode_records};
pub use log_cursor::{LinesAfter, LogLook, LogPlace, UserPlaces};
pub use log_store::{Hold, LogEnds, LogMedium, LogStore, TurnHolder, UserLogs};
pub use real::RealBackend;
pub use record_folding::{AwaitedEdits, History, LoadedUser, OpenedLogs};
pub use request_log::{KnownRequest, RequestNote, RequestStep};
pub use scan::RawLine;
pub use segment::{NewSegment, NewVectors, Segment, SegmentFooter, SnapshotPart, VectorPart};
pub use store::Store;
pub use user::UserStore;
pub use uses::RecordUse;
