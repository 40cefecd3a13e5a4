//! Tests of the core from outside: the store and the engine under attack, and readers of files with
//! random changes. They form one program, because linking takes longer than most of the tests.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test")]

mod child;
mod counts;
mod engine;
mod mutations;
mod store_crash;
