//! The results of operations.

use std::path::PathBuf;

use serde::Serialize;

/// The result of `add_messages`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AddReport {
    /// Messages appended to the log.
    pub messages_added: usize,
    /// Messages left out because their id and their words were known.
    pub duplicates: usize,
    /// Messages whose ids were known with other words: newer versions of known messages.
    pub edited: usize,
    /// Messages left out because the user has deleted them.
    pub deleted: usize,
    /// Messages in the buffer, before the next boundary.
    pub buffered: usize,
    /// Ids of the episodes that this call completed.
    pub episodes: Vec<String>,
    /// Episodes whose facts are still to be learned.
    pub pending_semantic: usize,
    /// The id of every message of the call, in order, known ones included.
    pub message_ids: Vec<String>,
    /// Secrets that were masked.
    pub secrets: usize,
}

/// The result of `delete` and `delete_user_data`, or of a preview.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DeleteReport {
    /// Messages removed.
    pub messages: usize,
    /// Episodes removed.
    pub episodes: usize,
    /// Facts removed.
    pub semantic_memories: usize,
    /// Episodes written again without messages that were removed.
    pub episodes_rewritten: usize,
    /// Facts written again without proofs that were removed.
    pub semantic_memories_rewritten: usize,
    /// Files removed or rewritten.
    pub files: usize,
    /// Ids of the messages removed; none after `delete_user_data`.
    pub message_ids: Vec<String>,
    /// Ids of the episodes removed.
    pub episode_ids: Vec<String>,
    /// Ids of the facts removed.
    pub fact_ids: Vec<String>,
    /// Ids of the messages that still say what facts said that were deleted by themselves.
    pub still_in_messages: Vec<String>,
}

/// The result of `import_records`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Messages added.
    pub messages: usize,
    /// Episodes added.
    pub episodes: usize,
    /// Facts added.
    pub semantic_memories: usize,
    /// Records left out because the user already has them, or newer versions of their messages.
    pub known: usize,
    /// Newer versions of known messages.
    pub edited: usize,
    /// Records left out because the user has deleted them, or messages that they come from.
    pub deleted: usize,
}

/// The result of `backup`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct BackupReport {
    /// Users.
    pub users: usize,
    /// Files.
    pub files: usize,
    /// Bytes in these files.
    pub bytes: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The result of `compact`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct CompactReport {
    /// Users whose logs were read.
    pub users: usize,
    /// Length of the users' logs before, in bytes.
    pub bytes_before: u64,
    /// Length of the users' logs now, in bytes.
    pub bytes_after: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The result of `rebuild_indices` and `load_user_data_and_indices`.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RebuildReport {
    /// Users visited.
    pub users: usize,
    /// Messages, episodes and facts read.
    pub records: usize,
    /// Vectors in the indexes.
    pub vectors: usize,
    /// Vectors among them that were computed again.
    pub embedded: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The result of `verify`: counts, and each problem with its file and line.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct VerifyReport {
    /// Records and vectors checked.
    pub total: usize,
    /// Records and vectors that are in the indexes and equal to the log.
    pub indexed: usize,
    /// Records and vectors left out for a good reason (superseded text, no vector wanted).
    pub skipped: usize,
    /// Records and vectors that are wrong; a sound store has 0.
    pub errors: usize,
    /// One entry per error, and warnings, which are not counted as errors.
    pub problems: Vec<StoreProblem>,
}

/// One problem of a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreProblem {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, if the problem is about one.
    pub line: Option<u64>,
    /// The problem.
    pub message: String,
    /// How to repair it.
    pub remedy: String,
    /// True if the problem is only a warning: it is mended already, or harmless.
    pub mended: bool,
}
