//! How often records were returned, and when last: one line a record, replaced as a whole.
//!
//! It follows from no log, so losing it loses the counts and nothing else. Every deletion removes
//! it; whoever deleted writes it again without what is gone.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::backend::{Backend, parent_of};
use super::files::{create_dir_all, read, remove, replace_file, sync_dir};
use super::layout::Layout;
use super::line::{check_line, encode_line};
use crate::clock::Moment;
use crate::error::Result;
use crate::ids::Owner;

/// How often a record was returned by a search or a context.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// How often.
    pub uses: u64,
    /// When last.
    pub last_used: Moment,
}

impl Use {
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
struct Row {
    id: String,
    #[serde(flatten)]
    count: Use,
}

/// The counts of a user by the ids of records. Lines that can't be read are left out.
///
/// # Errors
/// `Io`.
pub(super) fn load(
    backend: &dyn Backend,
    layout: &Layout,
    owner: &Owner,
) -> Result<BTreeMap<String, Use>> {
    let bytes = read(backend, &layout.uses_path(owner), "cannot read the counts of uses")?;
    let bytes = bytes.unwrap_or_default();
    let rows = bytes.split(|byte| *byte == b'\n').filter(|line| check_line(line) == Ok(true));
    let rows = rows.filter_map(|line| serde_json::from_slice::<Row>(line).ok());
    Ok(rows.map(|row| (row.id, row.count)).collect())
}

/// Replaces the counts of a user, durably; removes the file where there are none.
///
/// # Errors
/// `Io`; the earlier counts, or none, are then in place.
pub(super) fn save(
    backend: &dyn Backend,
    layout: &Layout,
    owner: &Owner,
    counts: &BTreeMap<String, Use>,
) -> Result<()> {
    let path = layout.uses_path(owner);
    if counts.is_empty() {
        let removed = remove(backend, &path)?;
        return if removed { sync_dir(backend, parent_of(&path)) } else { Ok(()) };
    }
    let mut lines = Vec::new();
    for (id, count) in counts {
        encode_line(&mut lines, &Row { id: id.clone(), count: *count })?;
    }
    create_dir_all(backend, parent_of(&path))?;
    replace_file(backend, &path, &lines)
}
