//! One user in memory: records, indexes, vectors and pending work. Does not depend on the engine:
//! `writing`, `reading` and `background` act on it.

pub(crate) mod backlog;
pub(crate) mod episode_vectors;
pub(crate) mod erase;
pub(crate) mod follow;
pub(crate) mod hidden;
pub(crate) mod indexing;
mod linked;
pub(crate) mod listing;
pub(crate) mod main_speaker;
pub(crate) mod open;
pub(crate) mod recalled;
pub(crate) mod record_rows;
pub(crate) mod records;
pub(crate) mod segment;
pub(crate) mod snapshot;
pub(crate) mod table;
pub(crate) mod turn;
pub(crate) mod user;
pub(crate) mod uses;
pub(crate) mod vector_field;
pub(crate) mod vectors;
pub(crate) mod view;
pub(crate) mod wording;
