//! Finds the lines of withdrawn records that a model wrote from what goes.
//!
//! A record that is there is removed or replaced by the erasure itself. One that was withdrawn
//! before, such as a fact that an edit took back, is known to nothing but its dead lines. What it
//! says may come from an erased record that it cites or was shown, from an episode that loses a
//! message, or from another withdrawn record of which that holds.

use std::collections::{HashMap, HashSet};

use super::editable_log::EditableLog;
use super::mentions::IdMentions;
use crate::error::Result;
use crate::store::codec::{DeletedLine, is_deleted, is_state};

/// The numbers of the lines to remove, by log.
#[derive(Default)]
pub(super) struct StaleLines {
    pub episodes: HashSet<u64>,
    pub facts: HashSet<u64>,
}

/// The record of a line: its id, and the ids of its sources.
pub(super) struct LineOrigin {
    pub id: String,
    pub from: Vec<String>,
}

/// Reads a line; `None` if it has no record, or one that the erasure removes or replaces.
pub(super) type OriginOf<'a> = &'a dyn Fn(&[u8]) -> Option<LineOrigin>;

impl StaleLines {
    /// The lines of withdrawn records that were written from one of the `erased`, or from an
    /// episode with one.
    pub fn written_from(
        erased: &HashSet<String>,
        (episodes, of_episode): (&dyn EditableLog, OriginOf<'_>),
        (facts, of_fact): (&dyn EditableLog, OriginOf<'_>),
    ) -> Result<Self> {
        let (mut stale, mut gone, mut news) = (Self::default(), erased.clone(), erased.clone());
        while !news.is_empty() {
            let of_episodes = dead_lines_from(&news, episodes, of_episode)?;
            let of_facts = dead_lines_from(&news, facts, of_fact)?;
            let found = of_episodes.iter().chain(&of_facts).map(|(_, id)| id);
            news = found.filter(|id| !gone.contains(*id)).cloned().collect();
            gone.extend(news.iter().cloned());
            stale.episodes.extend(of_episodes.into_iter().map(|(line, _)| line));
            stale.facts.extend(of_facts.into_iter().map(|(line, _)| line));
        }
        Ok(stale)
    }
}

/// The lines before the withdrawal of their record that were written from one of these records,
/// each with the id of its own.
fn dead_lines_from(
    sources: &HashSet<String>,
    log: &dyn EditableLog,
    origin_of: OriginOf<'_>,
) -> Result<Vec<(u64, String)>> {
    let mentions = IdMentions::of_ids(sources.iter());
    let mut open: HashMap<String, Vec<u64>> = HashMap::new();
    let mut dead = Vec::new();
    log.for_each(&mut |line| {
        if is_deleted(line.bytes) {
            let Ok(DeletedLine { deleted }) = serde_json::from_slice(line.bytes) else { return };
            let lines = open.remove(&deleted).unwrap_or_default();
            dead.extend(lines.into_iter().map(|number| (number, deleted.clone())));
        } else if !is_state(line.bytes)
            && mentions.may_be_in(line.bytes)
            && let Some(origin) = origin_of(line.bytes)
            && origin.from.iter().any(|id| sources.contains(id))
        {
            open.entry(origin.id).or_default().push(line.number);
        }
    })?;
    Ok(dead)
}
