//! Reads the logs of a user into records.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use super::codec::{
    Deleted, StateRecord, is_deleted, is_state, read_episode, read_message, read_semantic,
};
use super::fold::{Entry, Folded, Interner, LoadedUser, place_messages};
use super::layout::LogKind;
use super::log::LogSum;
use super::log_store::UserLogs;
use super::scan::Line;
use crate::error::{Error, Result};
use crate::ids::Owner;
use crate::model::{Episode, Message, Problem, SemanticMemory};

/// From so many bytes on, logs are read in parallel.
const READ_IN_PARALLEL: u64 = 1 << 20;

/// Reads logs one after the other; states and removals look the same in all three.
struct Reading<'a> {
    logs: &'a dyn UserLogs,
    states: Vec<StateRecord>,
    problems: Vec<Problem>,
}

impl<'a> Reading<'a> {
    fn new(logs: &'a dyn UserLogs) -> Self {
        Self { logs, states: Vec::new(), problems: Vec::new() }
    }

    fn log(
        &mut self,
        kind: LogKind,
        apply: &mut dyn FnMut(Entry<'_>) -> Result<Vec<String>, String>,
    ) -> Result<()> {
        let mut notes = Vec::new();
        let states = &mut self.states;
        let visit = &mut |line: Line<'_>| -> Result<(), String> {
            if is_state(line.bytes) {
                states.push(
                    serde_json::from_slice(line.bytes)
                        .map_err(|error| format!("not a state: {error}"))?,
                );
            } else if is_deleted(line.bytes) {
                let gone: Deleted = serde_json::from_slice(line.bytes)
                    .map_err(|error| format!("not a removal: {error}"))?;
                apply(Entry::Deleted(&gone.deleted))?;
            } else {
                let about = apply(Entry::Record(line.bytes))?;
                notes.extend(about.into_iter().map(|note| (line.number, note)));
            }
            Ok(())
        };
        let recovery = self.logs.read(kind, &LogSum::default(), visit)?;
        let recovery =
            recovery.ok_or_else(|| Error::internal("a log does not begin with nothing"))?;
        self.problems.extend(recovery.problems);
        let path: PathBuf = self.logs.path(kind);
        self.problems.extend(notes.into_iter().map(|(line, message)| Problem {
            path: path.clone(),
            line: Some(line),
            message,
            remedy: "correct the line by hand if it matters".into(),
            mended: true,
        }));
        Ok(())
    }
}

/// Reads messages, and the episodes that share them.
fn read_conversation<'a>(
    logs: &'a dyn UserLogs,
    owner: &Owner,
) -> Result<(Reading<'a>, Vec<Arc<Message>>, Folded<Episode>)> {
    let mut reading = Reading::new(logs);
    let (mut messages, mut ids, mut interner) = (Vec::new(), HashSet::new(), Interner::default());
    reading.log(LogKind::Messages, &mut |entry| {
        let Entry::Record(line) = entry else { return Ok(Vec::new()) };
        let mut message = read_message(owner, line)?;
        interner.message(&mut message);
        // A call that was repeated after a crash may have written a message twice.
        if ids.insert(message.message_id.clone()) {
            messages.push(Arc::new(message));
        }
        Ok(Vec::new())
    })?;
    let known: HashMap<&str, &Arc<Message>> =
        messages.iter().map(|message| (message.message_id.as_str(), message)).collect();
    let mut episodes = Folded::default();
    reading.log(LogKind::Episodes, &mut |entry| {
        let id = |episode: &Episode| episode.episode_id.clone();
        episodes.apply(entry, id, |line| read_episode(owner, line, &known))
    })?;
    drop(known);
    Ok((reading, messages, episodes))
}

/// Reads facts.
fn read_facts<'a>(
    logs: &'a dyn UserLogs,
    owner: &Owner,
) -> Result<(Reading<'a>, Folded<SemanticMemory>)> {
    let (mut reading, mut facts) = (Reading::new(logs), Folded::default());
    reading.log(LogKind::Semantic, &mut |entry| {
        let id = |fact: &SemanticMemory| fact.memory_id.clone();
        facts.apply(entry, id, |line| read_semantic(owner, line))
    })?;
    Ok((reading, facts))
}

/// Everything in a user's logs, which are mended on the way.
///
/// # Errors
/// `Io`.
pub(super) fn load(logs: &dyn UserLogs, owner: &Owner) -> Result<LoadedUser> {
    let conversation = || read_conversation(logs, owner);
    let facts = || read_facts(logs, owner);
    let (conversation, facts) = if logs.head()?.ends.iter().sum::<u64>() < READ_IN_PARALLEL {
        (conversation(), facts())
    } else {
        rayon::join(conversation, facts)
    };
    let ((mut reading, mut messages, episodes), (facts_reading, facts)) = (conversation?, facts?);
    reading.states.extend(facts_reading.states);
    reading.problems.extend(facts_reading.problems);
    let (mut episodes, mut episode_history) = episodes.finish();
    let (semantic, semantic_history) = facts.finish();
    let inside = episodes.iter_mut().chain(episode_history.values_mut().flatten());
    let next_seq = place_messages(&mut messages, inside);
    Ok(LoadedUser {
        messages,
        next_seq,
        episodes,
        episode_history,
        semantic,
        semantic_history,
        states: reading.states,
        problems: reading.problems,
    })
}

/// Opens the logs without showing their records; `false` if they are not, byte for byte, what is
/// `known` of them.
///
/// # Errors
/// `Io`.
pub(super) fn is_known(logs: &dyn UserLogs, known: &[LogSum; 3]) -> Result<bool> {
    let read = |kind: LogKind| {
        let recovery = logs.read(kind, &known[kind as usize], &mut |_| Ok(()))?;
        Ok(recovery.is_some_and(|found| found.records == 0 && found.problems.is_empty()))
    };
    let others = || -> Result<bool> { Ok(read(LogKind::Messages)? && read(LogKind::Semantic)?) };
    let (episodes, others) = rayon::join(|| read(LogKind::Episodes), others);
    Ok(episodes? && others?)
}
