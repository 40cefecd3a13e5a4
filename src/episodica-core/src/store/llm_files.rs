//! Prompts and model answers: the cache that avoids repeated calls, and the trace for inspection.
//!
//! Both contain private text. They are logs with the usual recovery (unfinished lines are cut off,
//! damaged lines quarantined). They are removed with the user, and removed whole if any record is
//! erased.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::log::{LogFile, RecordLog};
use super::scan::Visit;
use crate::clock::Moment;
use crate::error::Result;

/// A model's answer, stored under the hash of its prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CachedAnswer {
    /// Hash of model, prompt and answer format.
    pub hash: String,
    /// The model that answered.
    pub model: String,
    /// The answer as received.
    pub text: String,
    /// Time of the answer.
    pub at: Moment,
}

/// The cached model answers of one user.
#[derive(Debug)]
pub struct AnswerCache {
    log: RecordLog,
    answers: HashMap<String, CachedAnswer>,
}

impl AnswerCache {
    /// Opens an answer cache.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(place: LogFile) -> Result<Self> {
        let mut answers = HashMap::new();
        let (log, _) = RecordLog::open(place, &mut |line| read_answer(line.bytes, &mut answers))?;
        Ok(Self { log, answers })
    }

    /// The answer to a prompt with this hash.
    pub fn get(&self, hash: &str) -> Option<&CachedAnswer> {
        self.answers.get(hash)
    }

    /// Stores an answer, durably. The caller locks out other processes.
    ///
    /// # Errors
    /// As [`RecordLog::append_records`].
    pub fn store_answer(&mut self, answer: CachedAnswer) -> Result<()> {
        let answers = &mut self.answers;
        catch_up(&mut self.log, &mut |line| read_answer(line.bytes, answers))?;
        self.log.append_records(std::slice::from_ref(&answer))?;
        self.answers.insert(answer.hash.clone(), answer);
        Ok(())
    }
}

fn read_answer(line: &[u8], answers: &mut HashMap<String, CachedAnswer>) -> Result<(), String> {
    let answer: CachedAnswer =
        serde_json::from_slice(line).map_err(|error| format!("not a cached answer: {error}"))?;
    answers.insert(answer.hash.clone(), answer);
    Ok(())
}

fn read_step(line: &[u8]) -> Result<TraceStep, String> {
    serde_json::from_slice(line).map_err(|error| format!("not a trace: {error}"))
}

/// Reads the lines of other processes, so that the next append follows them.
fn catch_up(log: &mut RecordLog, visit: Visit<'_>) -> Result<()> {
    let followed = match log.read_tail()? {
        Some(tail) => log.take_tail(tail, true, visit)?,
        None => false,
    };
    if !followed {
        *log = log.reopen(visit)?;
    }
    Ok(())
}

/// One question and its answer, for inspection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceStep {
    /// Ids of the records that resulted.
    pub ids: Vec<String>,
    /// The step that called the model: `boundary`, `episode`, `extract`.
    pub phase: String,
    /// The model that answered.
    pub model: String,
    /// Version of the prompt.
    pub prompt_version: String,
    /// The system prompt: the task.
    pub system: String,
    /// The user prompt: the input.
    pub user: String,
    /// The answer as received; empty if there was none.
    pub answer: String,
    /// Why the answer is missing or was not used; empty if it was used.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
    /// True if the answer came from the cache.
    pub cached: bool,
    /// Prompt and completion tokens.
    pub tokens: u64,
    /// Time of the answer.
    pub at: Moment,
}

/// The trace of one user.
#[derive(Debug)]
pub struct UserTrace {
    log: RecordLog,
}

impl UserTrace {
    /// Opens a trace.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(place: LogFile) -> Result<Self> {
        let (log, _) = RecordLog::open(place, &mut |line| read_step(line.bytes).map(drop))?;
        Ok(Self { log })
    }

    /// Appends steps, durably. The caller locks out other processes.
    ///
    /// # Errors
    /// As [`RecordLog::append_records`].
    pub fn append_steps(&mut self, steps: &[TraceStep]) -> Result<()> {
        catch_up(&mut self.log, &mut |line| read_step(line.bytes).map(drop))?;
        self.log.append_records(steps).map(drop)
    }

    /// The steps that led to a record, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn record_steps(&self, id: &str) -> Result<Vec<TraceStep>> {
        let mut steps = Vec::new();
        self.log.for_each(&mut |line| {
            if let Ok(step) = serde_json::from_slice::<TraceStep>(line.bytes)
                && step.ids.iter().any(|known| known == id)
            {
                steps.push(step);
            }
        })?;
        Ok(steps)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::clock::FixedClock;
    use crate::ids::Owner;
    use crate::store::testing::MemoryBackend;
    use crate::store::{OpenMode, Store};

    #[test]
    fn answers_and_traces_come_back() {
        let disk = Arc::new(MemoryBackend::new());
        let at = Moment::parse("2026-11-01T08:00:00Z").unwrap();
        let owner = Owner::new("default", "a").unwrap();
        let answer = CachedAnswer { hash: "h".into(), model: "m".into(), text: "{}".into(), at };
        let step = |id: &str| TraceStep {
            ids: vec![id.into()],
            phase: "episode".into(),
            model: "m".into(),
            prompt_version: "v1".into(),
            system: "s".into(),
            user: "u".into(),
            answer: "{}".into(),
            failure: String::new(),
            cached: false,
            tokens: 7,
            at,
        };
        {
            let store = Store::open_on(
                Arc::clone(&disk) as _,
                Path::new("/m"),
                OpenMode::ReadWrite,
                &FixedClock::new(at),
            )
            .unwrap();
            store.open_answers(&owner).unwrap().store_answer(answer.clone()).unwrap();
            store.open_trace(&owner).unwrap().append_steps(&[step("e1"), step("e2")]).unwrap();
        }
        let store =
            Store::open_on(disk, Path::new("/m"), OpenMode::ReadWrite, &FixedClock::new(at))
                .unwrap();
        assert_eq!(store.open_answers(&owner).unwrap().get("h"), Some(&answer));
        assert_eq!(store.open_trace(&owner).unwrap().record_steps("e2").unwrap(), [step("e2")]);
    }
}
