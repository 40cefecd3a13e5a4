//! Backends that fail on purpose (an in-memory file system with power cuts, a countdown to an
//! error), and the reference model of a log store.
//!
//! Public only for the repository's crash tests; not part of the engine's interface.

mod countdown;
mod logs;
mod memory;

pub use countdown::{CountdownBackend, Failure};
pub use logs::{MemoryLogs, record_line};
pub use memory::{MemoryBackend, Random, TempDir};
