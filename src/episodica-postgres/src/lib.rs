//! Stores the logs of a store in PostgreSQL: many machines, one database.
//!
//! [`PgLogs`] implements the core's `LogStore`. The database contains the primary data: the lines
//! of the logs, byte for byte as in files, and usage counts. Derived data is in a cache directory
//! on each machine. An append is a single statement. If the user's head is still the one that the
//! writer has seen, the statement moves the head and inserts the lines; otherwise it does nothing.
//! Therefore no lock is held between statements, no statement depends on an earlier one, and none
//! is prepared by name, so a pooler in transaction mode works.
//!
//! This crate does not interpret the lines.

mod address;
mod failure;
mod logs;
mod nodes;
mod pool;
mod purge;
mod reading;
mod rights;
mod rows;
mod schema;
mod statements;
mod tls;
mod turn;
mod user_logs;
mod writing;

pub use address::StoreAddress;
pub use logs::PgLogs;
pub use nodes::StoreNode;
pub use purge::PurgeReport;
pub use schema::{SCHEMA_VERSION, SchemaState};
