//! The adapter through core's traits, as the engine uses it.

#![allow(clippy::unwrap_used, reason = "a test that can't go on says so by panicking")]

mod halves;
mod index;
mod random;
