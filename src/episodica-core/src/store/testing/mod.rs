//! Backends that fail on purpose (a memory that can lose its power, a countdown to an error), and
//! the model of a log store.
//!
//! Public only so that the crash tests of the repository can use them; no part of the engine's
//! interface.

mod countdown;
mod logs;
mod memory;

pub use countdown::{CountdownBackend, Failure};
pub use logs::MemoryLogs;
pub use memory::{MemoryBackend, Random, TempDir};
