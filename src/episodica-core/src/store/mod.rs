//! Records on disk: append-only JSONL logs that survive crashes. The store never sees an index.
//!
//! [`Store`] is a directory with one writer; [`UserStore`] the three logs of one user, which are
//! the truth; everything else on disk (vector caches, snapshots) can be made again from them.
//! docs/format.md defines every byte, the sync promises and what recovery does.
//!
//! All file operations go through [`backend::Backend`], so that tests can cut the power between any
//! two of them. The store knows neither when a segment ends nor what a memory means; the engine
//! calls it, nobody else does.

pub mod backend;
mod cache;
mod dead_letter;
mod erase;
pub mod layout;
mod legacy;
mod lenient;
mod line;
mod lock;
mod log;
mod nemori;
mod npy;
mod quarantine;
mod records;
mod scan;
mod side;
mod snapshot;
#[expect(clippy::module_inception, reason = "one concept, one file: the store itself")]
mod store;
#[doc(hidden)]
pub mod testing;
mod user;

pub use backend::{Backend, RealBackend};
pub use cache::{CacheRow, Sum, VectorCache, VectorCacheHead, WriteIndex};
pub use dead_letter::{DeadLetter, DeadLetters};
pub use erase::Erasure;
pub use layout::{DEFAULT_TENANT, Layout, LogKind, SideFile};
pub(crate) use lenient::{MAX_JSON_DEPTH, is_too_deep};
pub use line::MAX_LINE_BYTES;
pub use lock::Holder;
pub use log::{Log, LogPosition, LogSum, Mode, Recovery, Rewrite, encode_records};
pub use records::{SessionState, StateRecord};
pub use scan::Line;
pub use side::{AnswerCache, CachedAnswer, Trace, TraceStep};
pub use snapshot::SnapshotHead;
pub use store::{FORMAT_VERSION, Store};
pub use user::{History, LoadedUser, UserStore};
