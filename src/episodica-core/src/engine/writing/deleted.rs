//! What the user deleted: an import leaves it out.
//!
//! An erasure leaves a mark of each deleted id at the end of the log, and nothing else of the
//! record.

use std::collections::HashSet;
use std::sync::Arc;

use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::Result;
use crate::ids::mark_of;
use crate::store::{LogEntry, LogKind};
use crate::sync::Mutex;

/// The marks of a user's deleted records.
#[derive(Debug, Default)]
pub(crate) struct DeletedMarks {
    /// With the generation of the logs: only erasures add marks, and they raise it.
    known: Mutex<Option<(u64, Arc<HashSet<String>>)>>,
}

impl DeletedMarks {
    /// The marks in the logs, which are read once for each generation. The caller holds the lock of
    /// the writer, so that no other process changes the logs meanwhile.
    ///
    /// # Errors
    /// `Io`.
    pub fn read_marks(services: &EngineServices, user: &OpenUser) -> Result<Arc<HashSet<String>>> {
        let (store, owner) = (&services.store, &user.owner);
        let ends = store.log_ends(owner)?;
        let mut known = user.deleted.known.lock();
        if let Some((generation, marks)) = &*known
            && *generation == ends.generation
        {
            return Ok(Arc::clone(marks));
        }
        let places = store.last_places(owner, &ends)?.logs;
        let mut marks = HashSet::new();
        for kind in LogKind::ALL {
            store.lines_before(owner, kind, places[kind as usize], &mut |line| {
                if let LogEntry::Erased(noted) = LogEntry::read_note(line) {
                    marks.extend(noted.gone);
                }
            })?;
        }
        let marks = Arc::new(marks);
        *known = Some((ends.generation, Arc::clone(&marks)));
        Ok(marks)
    }
}

/// True if the user deleted the record with this id.
pub(crate) fn is_deleted(marks: &HashSet<String>, user: &OpenUser, id: &str) -> bool {
    !marks.is_empty() && marks.contains(&mark_of(&user.owner, id))
}
