//! The engine under attack, on files that lose power and disks that fail: what it acknowledged
//! stays, what was deleted stays deleted.

mod audit;
mod deletion;
mod endings;
mod forgetting;
mod future;
mod hostile;
mod in_place;
mod lifetimes;
mod llm;
mod model;
mod processes;
mod snapshot;
mod support;
mod unsaid;
mod verify;
