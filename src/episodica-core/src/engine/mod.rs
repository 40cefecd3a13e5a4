//! The memory system itself: ties the modules together, owns users, locks and lifetimes.
//!
//! * [`Engine`] is the face: every public operation of the Python package is one method of it.
//! * One user in memory is a `user::User`: its logs, its [`view::View`] behind a read-write lock, and the turn for forming memories.
//! * Data flows `ingest -> form -> learn`; `search` reads the view; `maintain`, `verify` and `erase` look after the files.
//!
//! No lock is held while a text is embedded, a model is asked or the interpreter is entered.

mod caches;
mod context;
mod erase;
mod form;
mod ingest;
mod learn;
mod maintain;
mod read;
mod search;
mod system;
mod turn;
mod user;
mod verify;
mod view;

pub use context::{Context, ContextRequest};
pub use read::{AnyRecord, Page, RecordKind};
pub use system::{Engine, Parts};
