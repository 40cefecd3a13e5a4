//! The records of the memory and the values that searches return: plain data, no behaviour beyond reading themselves.

mod episode;
mod message;
mod report;
mod semantic;
#[cfg(test)]
pub(crate) mod testing;

pub use episode::{Boundary, BoundaryReason, DetectionMethod, Episode, Provenance};
pub use message::{Message, NewMessage, Role};
pub use report::{AddReport, DeleteReport, Problem, RebuildReport, VerifyReport};
pub use semantic::{EventKind, MemoryKind, SemanticEvent, SemanticMemory};
