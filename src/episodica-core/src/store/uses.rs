//! How often records were returned, and when last: one line per record; the file is replaced as a
//! whole.
//!
//! The counts are not derived from a log; losing the file loses only the counts. Every deletion
//! removes the file, and the process that deleted writes it again with the remaining records.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::line::{check_line, encode_line};
use crate::clock::Moment;
use crate::error::Result;

/// How often a record was returned by a search or a context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RecordUse {
    /// How often.
    pub uses: u64,
    /// When last.
    pub last_used: Moment,
}

impl RecordUse {
    /// The sum of both.
    #[must_use]
    pub fn combined_with(self, other: Self) -> Self {
        Self {
            uses: self.uses.saturating_add(other.uses),
            last_used: self.last_used.max(other.last_used),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct UseRow {
    id: String,
    #[serde(flatten)]
    count: RecordUse,
}

/// Decodes lines into counts by record id; skips unreadable lines.
pub(super) fn decode_uses(bytes: &[u8]) -> BTreeMap<String, RecordUse> {
    let rows = bytes.split(|byte| *byte == b'\n').filter(|line| check_line(line) == Ok(true));
    let rows = rows.filter_map(|line| serde_json::from_slice::<UseRow>(line).ok());
    rows.map(|row| (row.id, row.count)).collect()
}

/// Encodes counts as lines.
///
/// # Errors
/// `InvalidInput` for an id that is too long.
pub(super) fn encode_uses(counts: &BTreeMap<String, RecordUse>) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for (id, count) in counts {
        encode_line(&mut lines, &UseRow { id: id.clone(), count: *count })?;
    }
    Ok(lines)
}
