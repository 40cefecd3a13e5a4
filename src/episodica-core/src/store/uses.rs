//! How often records were returned, and when last: one line a record, replaced as a whole.
//!
//! It follows from no log, so losing it loses the counts and nothing else. Every deletion removes
//! it; whoever deleted writes it again without what is gone.

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
    /// Both counts together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
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

/// The counts in lines, by the ids of records. Lines that can't be read are left out.
pub(super) fn decode(bytes: &[u8]) -> BTreeMap<String, RecordUse> {
    let rows = bytes.split(|byte| *byte == b'\n').filter(|line| check_line(line) == Ok(true));
    let rows = rows.filter_map(|line| serde_json::from_slice::<UseRow>(line).ok());
    rows.map(|row| (row.id, row.count)).collect()
}

/// The lines of counts.
///
/// # Errors
/// `InvalidInput` for an id that is too long.
pub(super) fn encode(counts: &BTreeMap<String, RecordUse>) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for (id, count) in counts {
        encode_line(&mut lines, &UseRow { id: id.clone(), count: *count })?;
    }
    Ok(lines)
}
