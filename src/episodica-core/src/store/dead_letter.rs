//! Index work that failed permanently, stored for replay: ids and reasons, no content.

use serde::{Deserialize, Serialize};

use super::files::{is_irregular, remove_file};
use super::log::{LineRewrite, LogFile, RecordLog};
use crate::clock::Moment;
use crate::error::Result;

/// One piece of work that failed permanently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The record that was not indexed.
    pub id: String,
    /// `message`, `episodic` or `semantic`.
    pub kind: String,
    /// The layer; empty = all layers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub layer: String,
    /// The last error, in one line.
    pub error: String,
    /// Number of attempts.
    pub attempts: u32,
    /// Time of the last attempt.
    pub at: Moment,
}

/// The dead letters of one user.
#[derive(Debug)]
pub struct DeadLetters {
    log: RecordLog,
}

impl DeadLetters {
    /// Opens a dead-letter file; the second value is all of its letters, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn open(place: LogFile) -> Result<(Self, Vec<DeadLetter>)> {
        let mut letters = Vec::new();
        let (log, _) = RecordLog::open(place, &mut |line| {
            letters.push(
                serde_json::from_slice(line.bytes)
                    .map_err(|error| format!("not a dead letter: {error}"))?,
            );
            Ok(())
        })?;
        Ok((Self { log }, letters))
    }

    /// Appends letters, durably.
    ///
    /// # Errors
    /// As [`RecordLog::append_records`].
    pub fn append_letters(&mut self, letters: &[DeadLetter]) -> Result<()> {
        self.log.append_records(letters).map(|_| ())
    }

    /// Removes the replayed letters: those for which `done` returns true.
    ///
    /// # Errors
    /// As [`RecordLog::rewrite_lines`].
    pub fn remove_replayed(&mut self, done: &dyn Fn(&DeadLetter) -> bool) -> Result<()> {
        self.log.rewrite_lines(&mut |line| match serde_json::from_slice(line.bytes) {
            Ok(letter) if done(&letter) => LineRewrite::Drop,
            _ => LineRewrite::Keep,
        })
    }
}

/// Removes the letters about erased records; `true` if there were any.
pub(super) fn scrub_letters(place: LogFile, gone: &dyn Fn(&str) -> bool) -> Result<bool> {
    if is_irregular(&*place.backend, &place.path) {
        return remove_file(&*place.backend, &place.path);
    }
    let (mut open, letters) = DeadLetters::open(place)?;
    let found = letters.iter().any(|letter| gone(&letter.id));
    if found {
        open.remove_replayed(&|letter| gone(&letter.id))?;
    }
    Ok(found)
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
    fn letters_wait_until_they_are_settled() {
        let disk = MemoryBackend::new();
        let at = Moment::parse("2026-11-01T08:00:00Z").unwrap();
        let store = Store::open_on(
            Arc::new(disk),
            Path::new("/m"),
            OpenMode::ReadWrite,
            &FixedClock::new(at),
        )
        .unwrap();
        let owner = Owner::new("default", "a").unwrap();
        let letter = |id: &str| DeadLetter {
            id: id.into(),
            kind: "episodic".into(),
            layer: String::new(),
            error: "endpoint is down".into(),
            attempts: 3,
            at,
        };
        let (mut letters, found) = store.dead_letters(&owner).unwrap();
        assert!(found.is_empty());
        letters.append_letters(&[letter("e1"), letter("e2")]).unwrap();
        letters.remove_replayed(&|letter| letter.id == "e1").unwrap();
        assert_eq!(store.dead_letters(&owner).unwrap().1, [letter("e2")]);
    }
}
