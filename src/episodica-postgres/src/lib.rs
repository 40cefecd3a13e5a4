//! The logs of a store in PostgreSQL: any number of machines, one database.
//!
//! [`PgLogs`] implements the core's `LogStore`. The database has what is true (the lines of the
//! logs, byte for byte those of the files, and the counts of uses); what can be made again from it
//! lies in a directory of each machine. An append is one statement: it moves the user's head from
//! the end that the writer has seen to the new one and inserts the lines, or does nothing. So no
//! lock is held between two statements, every statement is complete in itself, none is prepared
//! under a name, and a pooler in transaction mode may stand in between.
//!
//! Nothing here knows what a line means.

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
