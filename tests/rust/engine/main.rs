//! The engine under attack, on files that lose power and disks that fail: what it acknowledged
//! stays, what was deleted stays deleted.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test")]

mod audit;
#[path = "../child.rs"]
mod child;
#[path = "../counts.rs"]
mod counts;
mod deletion;
mod endings;
mod forgetting;
mod hostile;
mod in_place;
mod lifetimes;
mod llm;
mod model;
mod processes;
mod snapshot;
mod support;
mod verify;
