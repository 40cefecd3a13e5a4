//! The engine on disks that fail and lose power: acknowledged records stay, deleted records stay
//! deleted.

mod audit;
mod catching_up;
mod deletion;
mod endings;
mod forgetting;
mod future;
mod histories;
mod hostile;
mod in_place;
mod lifetimes;
mod links;
mod llm;
mod model;
mod processes;
mod snapshot;
mod support;
mod unsaid;
mod verify;
