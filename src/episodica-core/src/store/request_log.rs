//! The record of requests that may be sent again: which were begun, and what they stored.
//!
//! A file of lines for each day (UTC) below `requests`. All processes append to it without a lock;
//! the order of its lines decides, so a stopped process delays no other. It has hashes, ids and
//! counts, no texts, and leaves after two days. Nothing depends on it: other things in its place
//! are removed, a bad line is skipped, and after a power cut its last lines may be missing.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::{BackendFile, EntryKind, FileBackend, FileStamp};
use super::files::{in_directory, io_error, remove_entry};
use super::line::{check_line, encode_line};
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::to_hex;
use crate::model::StoreProblem;
use crate::sync::Mutex;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A step of a request that may be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStep<'a> {
    /// It is about to be worked on.
    Begun,
    /// It is done; a note of the stored records, in JSON.
    Done(&'a str),
    /// It was refused and stored nothing, so another request may have its name.
    Refused,
}

/// One step of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestNote<'a> {
    /// The name, a hash that no other request has.
    pub name: &'a [u8],
    /// The hash of its body.
    pub body: &'a [u8],
    /// The step.
    pub step: RequestStep<'a>,
    /// When it happened.
    pub at: Moment,
}

/// A request that was sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownRequest {
    /// The hash of its body.
    pub body: String,
    /// The stored records, if it is done.
    pub outcome: Option<String>,
}

/// A line of the record.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestLine {
    request: String,
    body: String,
    step: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
}

impl RequestLine {
    pub(super) fn from_note(note: &RequestNote<'_>) -> Self {
        let (step, outcome) = match note.step {
            RequestStep::Begun => ("begun", None),
            RequestStep::Done(outcome) => ("done", Some(outcome.to_owned())),
            RequestStep::Refused => ("refused", None),
        };
        Self { request: to_hex(note.name), body: to_hex(note.body), step: step.into(), outcome }
    }

    fn from_line(line: &[u8]) -> Option<Self> {
        let is_whole = check_line(line) == Ok(true);
        is_whole.then(|| serde_json::from_slice(line).ok()).flatten()
    }

    /// Takes the step after those that are known; the first outcome counts.
    pub(super) fn apply_to(self, known: &mut Option<KnownRequest>) {
        match (self.step.as_str(), self.outcome) {
            ("begun", _) => {
                known.get_or_insert(KnownRequest { body: self.body, outcome: None });
            }
            ("done", Some(outcome)) if known.as_ref().is_none_or(|one| one.outcome.is_none()) => {
                *known = Some(KnownRequest { body: self.body, outcome: Some(outcome) });
            }
            ("refused", _) => {
                known.take_if(|one| one.outcome.is_none());
            }
            _ => {}
        }
    }
}

/// How much of a day's file is known.
#[derive(Debug, Default)]
struct DayRead {
    bytes: u64,
    file_number: u64,
}

#[derive(Debug, Default)]
struct RequestState {
    days: BTreeMap<i64, DayRead>,
    /// The requests by name, with the day of their last line.
    known: HashMap<String, (i64, KnownRequest)>,
    /// The last day on which old files were removed.
    swept: Option<i64>,
}

/// The record in the directory of a store.
#[derive(Debug)]
pub(super) struct RequestLog {
    root: PathBuf,
    state: Mutex<RequestState>,
}

impl RequestLog {
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), state: Mutex::default() }
    }

    fn directory(&self) -> PathBuf {
        self.root.join("requests")
    }

    fn day_path(&self, day: i64) -> PathBuf {
        self.directory().join(format!("{day}.jsonl"))
    }

    /// Notes a step, and returns what is known of the request then.
    ///
    /// # Errors
    /// `Io` if the file can't be written, or something stands in its place that can't be removed.
    pub fn note_step(
        &self,
        backend: &dyn FileBackend,
        note: &RequestNote<'_>,
    ) -> Result<Option<KnownRequest>> {
        let (day, line) =
            (note.at.micros().div_euclid(MICROS_PER_DAY), RequestLine::from_note(note));
        let mut state = self.state.lock();
        make_room(backend, &self.directory(), EntryKind::Directory)?;
        if state.swept.replace(day) != Some(day) {
            self.remove_old_days(backend, &mut state, day);
        }
        self.read_appended(backend, &mut state, day)?;
        let name = line.request.clone();
        let before = state.known.get(&name).map(|(_, known)| known.clone());
        let is_news = match note.step {
            RequestStep::Begun => before.is_none(),
            RequestStep::Done(_) => before.as_ref().is_none_or(|known| known.outcome.is_none()),
            RequestStep::Refused => before.as_ref().is_some_and(|known| known.outcome.is_none()),
        };
        if !is_news {
            return Ok(before);
        }
        let mut bytes = Vec::new();
        encode_line(&mut bytes, &line)?;
        let path = self.day_path(day);
        for _ in 0..2 {
            let written = in_directory(backend, &path, || append_bytes(backend, &path, &bytes));
            written.map_err(|error| write_error(&path, error))?;
            self.read_appended(backend, &mut state, day)?;
            let now = state.known.get(&name).map(|(_, known)| known.clone());
            if now != before {
                return Ok(now);
            }
            // Another process died in the middle of a line, which swallowed this one.
            bytes.insert(0, b'\n');
        }
        Err(write_error(&path, io::Error::other("the line is missing after it was written")))
    }

    /// Reads the lines since the last look, of every process.
    fn read_appended(
        &self,
        backend: &dyn FileBackend,
        state: &mut RequestState,
        day: i64,
    ) -> Result<()> {
        for day in [day - 1, day] {
            let path = self.day_path(day);
            let stamp = make_room(backend, &path, EntryKind::File)?;
            let read = state.days.entry(day).or_default();
            let is_other = |stamp: &FileStamp| {
                stamp.file_number != read.file_number || stamp.bytes < read.bytes
            };
            if read.bytes > 0 && stamp.as_ref().is_none_or(is_other) {
                *read = DayRead::default();
                state.known.retain(|_, (last, _)| *last != day);
            }
            let Some(stamp) = stamp.filter(|stamp| stamp.bytes > read.bytes) else { continue };
            read.file_number = stamp.file_number;
            let mut bytes = Vec::new();
            backend
                .read_from(&path, read.bytes)
                .and_then(|mut source| source.read_to_end(&mut bytes))
                .map_err(|error| write_error(&path, error))?;
            for line in whole_lines(&bytes) {
                read.bytes += line.len() as u64 + 1;
                let Some(line) = RequestLine::from_line(line) else { continue };
                let name = line.request.clone();
                let mut known = state.known.remove(&name).map(|(_, known)| known);
                line.apply_to(&mut known);
                state.known.extend(known.map(|known| (name, (day, known))));
            }
        }
        Ok(())
    }

    /// Removes the files of all days but yesterday, today and, where clocks differ, tomorrow.
    fn remove_old_days(&self, backend: &dyn FileBackend, state: &mut RequestState, day: i64) {
        let is_kept = |other: i64| (day - 1..=day + 1).contains(&other);
        for (name, _) in backend.list_dir(&self.directory()).unwrap_or_default() {
            if day_of(&name).is_some_and(|other| !is_kept(other)) {
                let _ = make_room(backend, &self.directory().join(&name), EntryKind::Other);
            }
        }
        state.days.retain(|other, _| is_kept(*other));
        state.known.retain(|_, (last, _)| is_kept(*last));
    }

    /// Obstacles of the record, and its bad lines.
    ///
    /// # Errors
    /// `Io` if a directory can't be read.
    pub fn find_problems(&self, backend: &dyn FileBackend) -> Result<Vec<StoreProblem>> {
        let mut problems = Vec::new();
        let mut report = |path: &Path, message: &str, remedy: &str| {
            let (message, remedy) = (message.to_owned(), remedy.to_owned());
            let path = path.to_owned();
            problems.push(StoreProblem { path, line: None, message, remedy, mended: true });
        };
        const NEXT: &str = "the next repeatable request replaces it, if it is no full directory";
        let directory = self.directory();
        let looked = |path: &Path, found: io::Result<Option<FileStamp>>| {
            found.map_err(|error| io_error("cannot look at the record of requests", path, error))
        };
        match looked(&directory, backend.stat_path(&directory))? {
            None => return Ok(problems),
            Some(stamp) if stamp.kind == EntryKind::Directory => {}
            Some(_) => {
                report(&directory, "stands in the place of the record of requests", NEXT);
                return Ok(problems);
            }
        }
        let listed = backend.list_dir(&directory);
        for (name, kind) in
            listed.map_err(|error| io_error("cannot list the directory", &directory, error))?
        {
            let path = directory.join(&name);
            if day_of(&name).is_none() {
                report(&path, "no file of the record of requests", "remove it");
            } else if kind != EntryKind::File {
                report(&path, "stands in the place of the record of requests", NEXT);
            } else {
                let bytes = backend.read_file(&path).map_err(|error| write_error(&path, error))?;
                let is_bad =
                    |line: &&[u8]| !line.is_empty() && RequestLine::from_line(line).is_none();
                let bad = whole_lines(&bytes).filter(is_bad).count();
                if bad > 0 {
                    let message = format!("bad lines in the record of requests: {bad}");
                    report(&path, &message, "nothing: they are skipped, and leave in two days");
                }
            }
        }
        Ok(problems)
    }
}

fn day_of(name: &str) -> Option<i64> {
    name.strip_suffix(".jsonl")?.parse().ok()
}

/// The lines of `bytes` that are ended by a line feed, without it.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_suffix(b"\n"))
}

/// Removes an entry of another kind than `wanted`; returns the state of one that stays. Follows no
/// link.
fn make_room(
    backend: &dyn FileBackend,
    path: &Path,
    wanted: EntryKind,
) -> Result<Option<FileStamp>> {
    let clear = || -> io::Result<Option<FileStamp>> {
        let Some(stamp) = backend.stat_path(path)? else { return Ok(None) };
        if stamp.kind == wanted && wanted != EntryKind::Other {
            return Ok(Some(stamp));
        }
        remove_entry(backend, path).map(|()| None)
    };
    match clear() {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        cleared => cleared.map_err(|error| write_error(path, error)),
    }
}

fn append_bytes(backend: &dyn FileBackend, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: Box<dyn BackendFile> = match backend.open_append(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match backend.create_new(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                backend.open_append(path)?
            }
            made => made?,
        },
        opened => opened?,
    };
    file.append_bytes(bytes)
}

fn write_error(path: &Path, source: io::Error) -> Error {
    Error::new(ErrorKind::Io, "a repeatable request can't be noted")
        .at_path(path, None)
        .caused_by(source.to_string())
        .with_hint("make room or move away what stands there; requests without a key need no note")
}

#[cfg(test)]
mod tests;
