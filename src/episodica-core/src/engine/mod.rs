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

mod asking;
mod background;
mod maintain;
mod memory;
mod reading;
mod registry;
mod writing;

pub use reading::context::{Context, ContextRequest};
pub use reading::records::{AnyRecord, Page, RecordKind};
pub use registry::{Engine, Handle, Parts};
