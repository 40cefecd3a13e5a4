//! The core from outside: the store and the engine under attack, and readers of foreign bytes over
//! changed ones. One program, because linking takes longer than most of its tests.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test")]

mod child;
mod counts;
mod engine;
mod mutations;
mod store_crash;
