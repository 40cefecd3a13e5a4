//! Backends that fail on purpose: a memory that can lose its power, and a countdown to an error.
//!
//! Public only so that the crash tests of the repository can use them; no part of the engine's
//! interface.

mod countdown;
mod memory;

pub use countdown::{CountdownBackend, Failure};
pub use memory::{MemoryBackend, Random, TempDir};
