//! Finds the lines of a log that no record depends on.

use std::collections::{HashMap, HashSet};

use super::editable_log::EditableLog;
use crate::error::Result;
use crate::store::codec::{DeletedLine, StateRecord, is_deleted, is_state};

/// How many of the latest earlier revisions a compaction keeps.
pub const KEPT_REVISIONS: usize = 8;

/// Returns the numbers of a log's dead lines, and the ids of records that are removed completely.
///
/// Dead lines are old revisions, withdrawn records, and replaced states.
pub(super) fn dead_lines(
    log: &dyn EditableLog,
    id_of: &dyn Fn(&[u8]) -> Option<String>,
) -> Result<(HashSet<u64>, Vec<String>)> {
    let mut revisions: HashMap<String, Vec<u64>> = HashMap::new();
    let mut states: HashMap<(bool, String), u64> = HashMap::new();
    let (mut dead, mut gone) = (HashSet::new(), HashSet::new());
    log.for_each(&mut |line| {
        let number = line.number;
        if is_deleted(line.bytes) {
            if let Ok(DeletedLine { deleted }) = serde_json::from_slice(line.bytes)
                && let Some(lines) = revisions.remove(&deleted)
            {
                dead.extend(lines);
                dead.insert(number);
                gone.insert(deleted);
            }
            return;
        }
        if is_state(line.bytes) {
            let key = match serde_json::from_slice(line.bytes) {
                Ok(StateRecord::Session { session_id, .. }) => (true, session_id),
                Ok(StateRecord::Learned { episode_id, .. }) => (false, episode_id),
                Ok(StateRecord::Ignored { .. }) => {
                    dead.insert(number);
                    return;
                }
                _ => return,
            };
            dead.extend(states.insert(key, number));
            return;
        }
        if let Some(id) = id_of(line.bytes) {
            gone.remove(&id);
            let lines = revisions.entry(id).or_default();
            lines.push(number);
            if lines.len() > KEPT_REVISIONS + 1 {
                dead.insert(lines.remove(0));
            }
        }
    })?;
    Ok((dead, gone.into_iter().collect()))
}
