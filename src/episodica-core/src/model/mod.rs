//! The records of the memory and the values that searches return: plain data, whose methods only
//! read it. This module also has the shelf, which keeps many records in compressed form.

mod episode;
mod message;
mod procedure;
mod report;
mod said_by;
mod semantic;
mod shelf;
mod size;
mod status;
#[cfg(test)]
pub(crate) mod testing;

pub(crate) use episode::abstract_of;
pub use episode::{
    BoundaryJudgement, BoundaryReason, DetectionMethod, Episode, REFUSED, TextProvenance,
};
pub use message::{Message, NewMessage, Role};
pub(crate) use message::{clean_name, is_unknown_person, person_of};
pub use procedure::{PROCEDURE, Procedure, ProcedureStep};
pub use report::{
    AddReport, BackupReport, CompactReport, DeleteReport, ImportReport, RebuildReport,
    StoreProblem, VerifyReport,
};
pub use said_by::SaidBy;
pub use semantic::{
    ABOUT, AGENT, FactEnding, FactLink, FactQuote, KeptSide, LinkKind, MemoryKind, SemanticMemory,
};
pub(crate) use semantic::{BY_RULES, BY_USER};
pub use shelf::{CompressedPages, RecordShelf, ShelfRows, ShelfWriter, UnreadableRow};
pub use size::InMemory;
pub(crate) use size::{block_size, map_bytes, map_of_lists_bytes};
pub use status::{
    CallCost, Counts, EmbeddingHealth, LlmHealth, ModelHealth, ModelUsage, ServiceHealth,
    StoreHealth, StoreStats, UserStats, VectorCounts,
};
