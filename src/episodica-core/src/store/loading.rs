//! Reads the logs of a user into records.

use std::sync::Arc;

use super::codec::{
    DeletedLine, StateRecord, episode_of_line, fact_of_line, is_deleted, is_state, read_message,
};
use super::layout::LogKind;
use super::log::LogSum;
use super::log_store::UserLogs;
use super::record_folding::{
    FoldEntry, FoldedMessages, FoldedRecords, LoadedUser, attach_messages,
};
use super::scan::RawLine;
use crate::error::{Error, Result};
use crate::ids::Owner;
use crate::model::{Episode, SemanticMemory, StoreProblem};

/// Logs of at least this many bytes are read in parallel.
const READ_IN_PARALLEL: u64 = 1 << 20;

/// Why a line can't simply be added to the known records: it changes one.
const AN_EDIT: &str = "an edit";

/// Reads logs one after the other; states and removals have the same form in all three.
struct LogReading<'a> {
    logs: &'a dyn UserLogs,
    states: Vec<StateRecord>,
    problems: Vec<StoreProblem>,
}

impl<'a> LogReading<'a> {
    fn new(logs: &'a dyn UserLogs) -> Self {
        Self { logs, states: Vec::new(), problems: Vec::new() }
    }

    fn read_log(
        &mut self,
        kind: LogKind,
        apply: &mut dyn FnMut(FoldEntry<'_>) -> Result<(), String>,
    ) -> Result<()> {
        let states = &mut self.states;
        let visit = &mut |line: RawLine<'_>| -> Result<(), String> {
            if is_state(line.bytes) {
                let state: StateRecord = serde_json::from_slice(line.bytes)
                    .map_err(|error| format!("not a state: {error}"))?;
                match state {
                    StateRecord::Edited { message_ids, .. } => {
                        apply(FoldEntry::Edited(&message_ids))?;
                    }
                    // Skips headers, notes of repeated facts, and lines of later versions.
                    told if told.is_only_told() => {}
                    state => states.push(state),
                }
            } else if is_deleted(line.bytes) {
                let gone: DeletedLine = serde_json::from_slice(line.bytes)
                    .map_err(|error| format!("not a removal: {error}"))?;
                apply(FoldEntry::Deleted(&gone.deleted))?;
            } else {
                apply(FoldEntry::Record(line.bytes))?;
            }
            Ok(())
        };
        let recovery = self.logs.visit_after(kind, &LogSum::default(), visit)?;
        let recovery = recovery.ok_or_else(|| Error::internal("a log rejects the empty prefix"))?;
        self.problems.extend(recovery.problems);
        Ok(())
    }
}

/// Reads messages, and episodes with references to them.
fn read_conversation<'a>(
    logs: &'a dyn UserLogs,
    owner: &Owner,
) -> Result<(LogReading<'a>, FoldedMessages, FoldedRecords<Episode>)> {
    let (mut reading, mut messages) = (LogReading::new(logs), FoldedMessages::default());
    reading.read_log(LogKind::Messages, &mut |entry| {
        match entry {
            FoldEntry::Record(line) => messages.put_version(read_message(line)?),
            FoldEntry::Edited(ids) => messages.adopt_newest(ids),
            FoldEntry::Deleted(_) => {}
        }
        Ok(())
    })?;
    let mut episodes = FoldedRecords::default();
    reading.read_log(LogKind::Episodes, &mut |entry| {
        let id = |episode: &Episode| episode.episode_id.clone();
        episodes.apply_line(entry, id, |line| episode_of_line(owner, line))
    })?;
    Ok((reading, messages, episodes))
}

fn read_facts<'a>(
    logs: &'a dyn UserLogs,
    owner: &Owner,
) -> Result<(LogReading<'a>, FoldedRecords<SemanticMemory>)> {
    let (mut reading, mut facts) = (LogReading::new(logs), FoldedRecords::default());
    reading.read_log(LogKind::Semantic, &mut |entry| {
        let id = |fact: &SemanticMemory| fact.memory_id.clone();
        facts.apply_line(entry, id, |line| fact_of_line(owner, line))
    })?;
    Ok((reading, facts))
}

/// Reads all records of a user's logs, and repairs the logs.
///
/// # Errors
/// `Io`.
pub(super) fn load_user(logs: &dyn UserLogs, owner: &Owner) -> Result<LoadedUser> {
    let conversation = || read_conversation(logs, owner);
    let facts = || read_facts(logs, owner);
    let (conversation, facts) = if logs.current_head()?.ends.iter().sum::<u64>() < READ_IN_PARALLEL
    {
        (conversation(), facts())
    } else {
        crate::parallel::join_pair(conversation, facts)
    };
    let ((mut reading, messages, episodes), (facts_reading, facts)) = (conversation?, facts?);
    reading.states.extend(facts_reading.states);
    reading.problems.extend(facts_reading.problems);
    let (messages, message_history, edits) = messages.finish();
    let (mut episodes, mut episode_history) = episodes.finish();
    let (semantic, semantic_history) = facts.finish();
    let inside = episodes.iter_mut().chain(episode_history.values_mut().flatten());
    let missing = attach_messages(&messages, inside);
    if missing > 0 {
        reading.problems.push(StoreProblem {
            path: logs.log_path(LogKind::Episodes),
            line: None,
            message: format!("episodes name messages that were lost: `{missing}`"),
            remedy: "their texts are kept; import the messages again if an export has them".into(),
            mended: true,
        });
    }
    Ok(LoadedUser {
        next_seq: messages.last().map_or(0, |message| message.seq + 1),
        messages,
        message_history,
        edits,
        episodes,
        episode_history,
        semantic,
        semantic_history,
        states: reading.states,
        problems: reading.problems,
    })
}

/// The records after a known prefix of the logs. The inner `Err` means that the logs begin
/// differently, or that the lines after the prefix require more than adding records (bad lines,
/// removals); it lists the repairs.
///
/// # Errors
/// `Io`.
pub(super) fn load_behind(
    logs: &dyn UserLogs,
    owner: &Owner,
    known: &[LogSum; 3],
) -> Result<Result<LoadedUser, Vec<StoreProblem>>> {
    let later = |kinds: &[LogKind]| -> Result<(bool, LoadedUser)> {
        let (mut later, mut is_whole) = (LaterRecords::new(owner), true);
        for kind in kinds {
            let mut line = |line: RawLine<'_>| later.read_line(*kind, line.bytes);
            let recovery = logs.visit_after(*kind, &known[*kind as usize], &mut line)?;
            is_whole &= recovery.is_some();
            later.loaded.problems.extend(recovery.into_iter().flat_map(|found| found.problems));
        }
        Ok((is_whole, later.finish()))
    };
    let conversation = || later(&[LogKind::Messages, LogKind::Episodes]);
    let (conversation, facts) =
        crate::parallel::join_pair(conversation, || later(&[LogKind::Semantic]));
    let ((is_whole, mut loaded), (are_facts_whole, facts)) = (conversation?, facts?);
    loaded.problems.extend(facts.problems);
    if !(is_whole && are_facts_whole) {
        return Ok(Err(loaded.problems));
    }
    loaded.semantic = facts.semantic;
    loaded.states.extend(facts.states);
    Ok(Ok(loaded))
}

/// Reads the lines after a known prefix into records, in log order.
pub(super) struct LaterRecords<'a> {
    owner: &'a Owner,
    loaded: LoadedUser,
}

impl<'a> LaterRecords<'a> {
    pub fn new(owner: &'a Owner) -> Self {
        Self { owner, loaded: LoadedUser::default() }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// Why the line is not a record, or can't simply be added to the known records.
    pub fn read_line(&mut self, kind: LogKind, line: &[u8]) -> Result<(), String> {
        if is_deleted(line) {
            return Err("a removal".into());
        }
        if is_state(line) {
            let state: StateRecord =
                serde_json::from_slice(line).map_err(|error| format!("not a state: {error}"))?;
            match state {
                StateRecord::Edited { .. } => return Err(AN_EDIT.into()),
                told if told.is_only_told() => {}
                state => self.loaded.states.push(state),
            }
            return Ok(());
        }
        match kind {
            LogKind::Messages => {
                let message = read_message(line)?;
                if message.edited_at.is_some() {
                    return Err(AN_EDIT.into());
                }
                self.loaded.next_seq = self.loaded.next_seq.max(message.seq + 1);
                self.loaded.messages.push(Arc::new(message));
            }
            LogKind::Episodes => {
                self.loaded.episodes.push(Arc::new(episode_of_line(self.owner, line)?));
            }
            LogKind::Semantic => {
                self.loaded.semantic.push(Arc::new(fact_of_line(self.owner, line)?));
            }
        }
        Ok(())
    }

    pub fn finish(self) -> LoadedUser {
        self.loaded
    }
}
