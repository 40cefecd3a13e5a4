//! The adapter through core's traits, as the engine uses it.

#![allow(clippy::unwrap_used, reason = "a test that can't go on says so by panicking")]

#[path = "../../../../tests/rust/child.rs"]
mod child;
#[path = "../../../../tests/rust/counts.rs"]
mod counts;
mod files;
mod halves;
mod hostile;
mod index;
mod random;
