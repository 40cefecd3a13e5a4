//! The memory system: ties the modules together, and owns users, locks and lifetimes.
//!
//! Dependencies run one way: the public operations of [`Engine`] -> `writing`, `reading`, `asking`
//! and `background` -> `memory` -> the store and the indexes.
//!
//! * `lifecycle`, `operations`, `maintain`, `transfer`, `shelving`: every public operation of the
//!   Python package is one method of [`Engine`].
//! * Operations in `writing`, `reading` and `background` are functions over `services` (settings,
//!   files, clock, embedder, model) and an open user.
//! * `registry` holds the open users. `user` is an open user: a `memory::user::UserMemory` with the
//!   state of each operation.
//! * Messages flow `ingest -> form (cut, compose) -> learn (extract)`; searches read the view.
//! * With a model or a remote embedder, episodes and facts are made in the background: `queue`
//!   holds the users with pending work, `pending` does the work. Without both, so is what one
//!   addition of a message or two leaves: `catching_up`.
//!
//! No lock is held while a text is embedded, a model is asked or the interpreter is entered.

mod asking;
mod background;
mod callback_guard;
mod catching_up;
mod counters;
mod feed;
mod lifecycle;
mod maintain;
mod memory;
mod operations;
mod panics;
mod reading;
mod registry;
mod services;
mod shelving;
mod transfer;
mod user;
mod writing;

pub use asking::estimate::estimate_cost;
pub use feed::{ChangeEvent, ChangeKind, EventPage};
pub use lifecycle::{Engine, EngineHandle, EngineParts};
pub use memory::listing::{ListingPage, RecordKind, RecordOutline};
pub use memory::records::AnyRecord;
pub use memory::turn::CallbackScope;
pub use reading::changes::SaidLater;
pub use reading::context::{ContextRequest, PackedContext};
pub use reading::export::ExportedRecords;
pub use reading::forgetting::{ForgettingPlan, ForgettingPolicy, ForgottenRecord};
pub use reading::sessions::UserSession;
pub use writing::import::ImportedRecords;
pub use writing::remember::StatedFact;

pub use crate::generate::estimate::CostEstimate;
pub use crate::generate::facts::TurnedDown;
pub use crate::generate::voice::likely_name;
