//! The memory system itself: ties the modules together, owns users, locks and lifetimes.
//!
//! * [`Engine`] is the face: every public operation of the Python package is one method of it.
//! * One user in memory is a `user::User`: its logs, its [`view::View`] behind a read-write lock,
//!   and the turn for forming memories.
//! * Data flows `ingest -> form (cut, write) -> learn (extract)`; `search` reads the view;
//!   `maintain`, `verify` and `erase` look after the files.
//! * With a model, or an embedder elsewhere, the flow runs behind the caller: `work` keeps the
//!   line, `pending` says what is to be done, `ask` is the way to the model.
//!
//! No lock is held while a text is embedded, a model is asked or the interpreter is entered.

mod arrivals;
mod ask;
mod attributes;
mod caches;
mod context;
mod cut;
mod erase;
mod extract;
mod form;
mod ingest;
mod known;
mod learn;
mod maintain;
mod merge;
mod pending;
mod read;
mod recall;
mod search;
mod snapshot;
mod system;
mod table;
mod turn;
mod user;
mod verify;
mod view;
mod work;
mod write;

pub use context::{Context, ContextRequest};
pub use read::{AnyRecord, Page, RecordKind};
pub use system::{Engine, Handle, Parts};
