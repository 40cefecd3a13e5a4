//! The three logs of one user: opening reads them once, appending makes records durable.
//!
//! Each log has its own lock, so that a message is not kept waiting by an episode on its way to the
//! disk. Reading takes no lock.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;

use super::backend::{FileStamp, io_error};
use super::layout::LogKind;
use super::lenient::{MAX_JSON_DEPTH, is_too_deep};
use super::line::encode_line;
use super::log::{Log, LogPosition, Mode, Recovery, Rewrite};
use super::nemori::{self, UNPLACED};
use super::records::{Deleted, StateRecord, is_deleted, is_state};
use super::scan::Line;
use super::store::{Inner, Registration};
use crate::error::Result;
use crate::ids::Owner;
use crate::model::{Episode, Message, Problem, SemanticMemory};

/// Earlier revisions of records, oldest first, by id.
pub type History<T> = HashMap<String, Vec<Arc<T>>>;

/// From so many bytes on logs are read at the same time.
const READ_TOGETHER: u64 = 1 << 20;

/// Everything a user's logs hold.
#[derive(Debug, Default)]
pub struct LoadedUser {
    /// In the order of their `seq`, each id once; those that stand only inside of (imported)
    /// episodes included.
    pub messages: Vec<Arc<Message>>,
    /// The `seq` of the next message.
    pub next_seq: u64,
    /// The current revision of every episode, in the order of first appearance; their messages are
    /// shared with `messages`.
    pub episodes: Vec<Arc<Episode>>,
    /// Earlier revisions, oldest first, by id; all revisions of those that were taken out (merged).
    pub episode_history: History<Episode>,
    /// The current revision of every memory (superseded ones too: see
    /// [`SemanticMemory::is_current`]), in the order of first appearance.
    pub semantic: Vec<Arc<SemanticMemory>>,
    /// Earlier revisions, oldest first, by id; all revisions of those that were taken out.
    pub semantic_history: History<SemanticMemory>,
    /// States of the message log, then the episode log, then the semantic log, each in order: later
    /// ones win.
    pub states: Vec<StateRecord>,
    /// What was wrong and what was done about it.
    pub problems: Vec<Problem>,
}

/// The logs of one user, open; at most one a user and store.
#[derive(Debug)]
pub struct UserStore {
    owner: Owner,
    pub(super) inner: Arc<Inner>,
    logs: [Mutex<Log>; 3],
    /// State of the three files just before they were read.
    read_at: [Option<FileStamp>; 3],
    /// A deletion stopped half-way and has to be finished before anything is appended.
    erasing: AtomicBool,
    /// Keeps a second opening out until this one is dropped.
    _registration: Option<Registration>,
}

/// Records of one kind by id, revisions folded.
struct Folded<T> {
    current: Vec<Option<Arc<T>>>,
    places: HashMap<String, usize>,
    history: History<T>,
}

impl<T> Default for Folded<T> {
    fn default() -> Self {
        Self { current: Vec::new(), places: HashMap::new(), history: HashMap::new() }
    }
}

impl<T> Folded<T> {
    fn put(&mut self, id: &str, record: T) {
        let record = Arc::new(record);
        match self.places.get(id) {
            None => {
                self.places.insert(id.to_owned(), self.current.len());
                self.current.push(Some(record));
            }
            Some(place) => {
                if let Some(earlier) = self.current[*place].replace(record) {
                    self.history.entry(id.to_owned()).or_default().push(earlier);
                }
            }
        }
    }

    fn take_out(&mut self, id: &str) {
        if let Some(earlier) = self.places.get(id).and_then(|place| self.current[*place].take()) {
            self.history.entry(id.to_owned()).or_default().push(earlier);
        }
    }

    /// Takes in a line of the log, read by `read` where it is a record; what there is to note about
    /// it.
    fn take_in(
        &mut self,
        entry: Entry<'_>,
        id: fn(&T) -> &str,
        read: impl FnOnce(&[u8]) -> Result<(T, Vec<String>), String>,
    ) -> Result<Vec<String>, String> {
        match entry {
            Entry::Deleted(id) => {
                self.take_out(id);
                Ok(Vec::new())
            }
            Entry::Record(line) => {
                let (record, notes) = read(line)?;
                let own = id(&record).to_owned();
                self.put(&own, record);
                Ok(notes)
            }
        }
    }

    fn finish(self) -> (Vec<Arc<T>>, History<T>) {
        (self.current.into_iter().flatten().collect(), self.history)
    }
}

/// One string for all that are equal: roles, names and sessions repeat with every message.
#[derive(Default)]
struct Interner(HashSet<Arc<str>>);

impl Interner {
    fn intern(&mut self, text: &mut Arc<str>) {
        match self.0.get(&**text) {
            Some(known) => *text = Arc::clone(known),
            None => {
                self.0.insert(Arc::clone(text));
            }
        }
    }

    fn message(&mut self, message: &mut Message) {
        self.intern(&mut message.role);
        for text in [&mut message.name, &mut message.session_id].into_iter().flatten() {
            self.intern(text);
        }
    }
}

fn read_message(owner: &Owner, line: &[u8]) -> Result<Message, String> {
    let strict: Result<Message, _> = serde_json::from_slice(line);
    let message = strict.or_else(|_| nemori::read_message(owner, line))?;
    match message.metadata.as_ref().is_some_and(|raw| is_too_deep(raw.get())) {
        true => Err(format!("not a message: metadata is nested deeper than {MAX_JSON_DEPTH}")),
        false => Ok(message),
    }
}

/// The message of a line of the message log; `None` for a line that is none.
pub(super) fn read_message_line(owner: &Owner, line: &[u8]) -> Option<Message> {
    if is_state(line) || is_deleted(line) { None } else { read_message(owner, line).ok() }
}

/// A line of a log that is no state.
enum Entry<'a> {
    Record(&'a [u8]),
    Deleted(&'a str),
}

/// Reads the logs one after the other; lines that are states or removals look the same in all
/// three.
struct Opening<'a> {
    inner: &'a Inner,
    states: Vec<StateRecord>,
    problems: Vec<Problem>,
}

impl<'a> Opening<'a> {
    fn new(inner: &'a Inner) -> Self {
        Self { inner, states: Vec::new(), problems: Vec::new() }
    }

    fn log(
        &mut self,
        source: &LogSource,
        take: &mut dyn FnMut(Entry<'_>) -> Result<Vec<String>, String>,
    ) -> Result<Log> {
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
                take(Entry::Deleted(&gone.deleted))?;
            } else {
                notes.extend(
                    take(Entry::Record(line.bytes))?.into_iter().map(|note| (line.number, note)),
                );
            }
            Ok(())
        };
        for row in &source.legacy {
            // What is wrong with these is reported when the store is opened for writing and
            // converts them.
            let _ = visit(Line { number: 0, offset: 0, bytes: row });
        }
        let (log, Recovery { problems, .. }) = Log::open(
            Arc::clone(&self.inner.backend),
            self.inner.layout.root(),
            &source.path,
            self.inner.mode,
            visit,
        )?;
        self.problems.extend(problems);
        self.problems.extend(notes.into_iter().map(|(line, message)| Problem {
            path: source.path.clone(),
            line: Some(line),
            message,
            remedy: "correct the line by hand if it matters".into(),
            mended: true,
        }));
        Ok(log)
    }
}

/// Where the lines of one log come from.
pub(super) struct LogSource {
    /// The JSONL file.
    pub path: PathBuf,
    /// Records of a legacy file that may not be converted now (read-only).
    pub legacy: Vec<Vec<u8>>,
}

type Told<'a> = (Opening<'a>, (Log, Log), Vec<Arc<Message>>, Folded<Episode>);

/// What was told: messages, and the episodes that share them.
fn read_told<'a>(
    mut opening: Opening<'a>,
    owner: &Owner,
    messages_source: &LogSource,
    episodes_source: &LogSource,
) -> Result<Told<'a>> {
    let (mut messages, mut ids, mut interner) = (Vec::new(), HashSet::new(), Interner::default());
    let message_log = opening.log(messages_source, &mut |entry| {
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
    let episode_log = opening.log(episodes_source, &mut |entry| {
        episodes.take_in(
            entry,
            |episode: &Episode| &episode.episode_id,
            |line| nemori::read_episode(owner, line, &known),
        )
    })?;
    drop(known);
    Ok((opening, (message_log, episode_log), messages, episodes))
}

/// What was learned: semantic memories.
fn read_learned<'a>(
    mut opening: Opening<'a>,
    owner: &Owner,
    source: &LogSource,
) -> Result<(Opening<'a>, Log, Folded<SemanticMemory>)> {
    let mut semantic = Folded::default();
    let log = opening.log(source, &mut |entry| {
        semantic.take_in(
            entry,
            |memory: &SemanticMemory| &memory.memory_id,
            |line| nemori::read_semantic(owner, line),
        )
    })?;
    Ok((opening, log, semantic))
}

impl UserStore {
    pub(super) fn open(
        inner: &Arc<Inner>,
        owner: &Owner,
        sources: [LogSource; 3],
        registration: Option<Registration>,
    ) -> Result<(Self, LoadedUser)> {
        let read_at = Self::stamps(inner, &sources)?;
        let [messages_source, episodes_source, semantic_source] = sources;
        let told = || read_told(Opening::new(inner), owner, &messages_source, &episodes_source);
        let learned = || read_learned(Opening::new(inner), owner, &semantic_source);
        let bytes: u64 = read_at.iter().flatten().map(|stamp| stamp.bytes).sum();
        let (told, learned) =
            if bytes < READ_TOGETHER { (told(), learned()) } else { rayon::join(told, learned) };
        let (
            (mut opening, logs, mut messages, episodes),
            (learned_opening, semantic_log, semantic),
        ) = (told?, learned?);
        opening.states.extend(learned_opening.states);
        opening.problems.extend(learned_opening.problems);

        let (mut episodes, mut episode_history) = episodes.finish();
        let (semantic, semantic_history) = semantic.finish();
        let inside = episodes.iter_mut().chain(episode_history.values_mut().flatten());
        let next_seq = place_messages(&mut messages, inside);
        let (states, problems) = (opening.states, opening.problems);
        let loaded = LoadedUser {
            messages,
            next_seq,
            episodes,
            episode_history,
            semantic,
            semantic_history,
            states,
            problems,
        };
        Ok((
            Self::over(inner, owner, [logs.0, logs.1, semantic_log], read_at, registration),
            loaded,
        ))
    }

    /// The state of the three files.
    pub(super) fn stamps(
        inner: &Inner,
        sources: &[LogSource; 3],
    ) -> Result<[Option<FileStamp>; 3]> {
        let mut stamps = [None; 3];
        for (stamp, source) in stamps.iter_mut().zip(sources) {
            *stamp = inner
                .backend
                .stat(&source.path)
                .map_err(|error| io_error("cannot look at the log", &source.path, error))?;
        }
        Ok(stamps)
    }

    /// Over three open logs.
    pub(super) fn over(
        inner: &Arc<Inner>,
        owner: &Owner,
        logs: [Log; 3],
        read_at: [Option<FileStamp>; 3],
        registration: Option<Registration>,
    ) -> Self {
        let (inner, logs) = (Arc::clone(inner), logs.map(Mutex::new));
        Self {
            owner: owner.clone(),
            inner,
            logs,
            read_at,
            erasing: AtomicBool::new(false),
            _registration: registration,
        }
    }

    /// Whose logs they are.
    pub fn owner(&self) -> &Owner {
        &self.owner
    }

    /// May they be written?
    pub fn mode(&self) -> Mode {
        self.inner.mode
    }

    pub(super) fn lock_logs(&self) -> [MutexGuard<'_, Log>; 3] {
        // Always in this order, so that two callers can't wait for each other.
        let [messages, episodes, semantic] = &self.logs;
        [messages.lock(), episodes.lock(), semantic.lock()]
    }

    pub(super) fn set_erasing(&self, erasing: bool) {
        self.erasing.store(erasing, Ordering::SeqCst);
    }

    /// Is there a deletion that failed half-way? It is finished before the next append, or when the
    /// store is opened.
    pub fn is_erasing(&self) -> bool {
        self.erasing.load(Ordering::SeqCst)
    }

    fn log(&self, kind: LogKind) -> &Mutex<Log> {
        &self.logs[kind as usize]
    }

    /// Appends messages, then states, in one durable write. With neither, makes durable what was
    /// readable at opening: call it before a message is acknowledged as known already.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_messages(
        &self,
        messages: &[Arc<Message>],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.append(LogKind::Messages, messages, &[], states)
    }

    /// Appends episodes (a known id = its next revision), then takes the `deleted` ids out of the
    /// current ones, then states, in one durable write. An episode of which only a beginning
    /// survives a crash is not there; nor is what follows it.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_episodes(
        &self,
        episodes: &[Arc<Episode>],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.append(LogKind::Episodes, episodes, deleted, states)
    }

    /// Appends semantic memories (a known id = its next revision), then takes the `deleted` ids out
    /// of the current ones, then states, in one durable write. [`StateRecord::Learned`] among the
    /// states stands behind the memories, so it never survives without them.
    ///
    /// # Errors
    /// As [`Log::append`].
    pub fn append_semantic(
        &self,
        memories: &[Arc<SemanticMemory>],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        self.append(LogKind::Semantic, memories, deleted, states)
    }

    fn append<T: Serialize>(
        &self,
        kind: LogKind,
        records: &[T],
        deleted: &[&str],
        states: &[StateRecord],
    ) -> Result<LogPosition> {
        let mut lines = Vec::new();
        records.iter().try_for_each(|record| encode_line(&mut lines, record))?;
        deleted
            .iter()
            .try_for_each(|id| encode_line(&mut lines, &Deleted { deleted: (*id).to_owned() }))?;
        states.iter().try_for_each(|state| encode_line(&mut lines, state))?;
        self.finish_erasure()?;
        self.log(kind)
            .lock()
            .append_lines(&lines, (records.len() + deleted.len() + states.len()) as u64)
    }

    /// How far a log reaches.
    pub fn position(&self, kind: LogKind) -> LogPosition {
        self.log(kind).lock().position()
    }

    /// Rewrites one log, each line as `decide` says, atomically. Revisions are history: to drop
    /// lines is to lose it.
    ///
    /// # Errors
    /// As [`Log::rewrite`].
    pub fn rewrite(
        &self,
        kind: LogKind,
        decide: &mut dyn FnMut(Line<'_>) -> Rewrite,
    ) -> Result<()> {
        self.finish_erasure()?;
        self.log(kind).lock().rewrite(decide)
    }

    /// Reads the acknowledged part of the logs once more; what is wrong with it now.
    ///
    /// # Errors
    /// `Io` when a file can't be read.
    pub fn check_logs(&self) -> Result<Vec<Problem>> {
        let mut problems = Vec::new();
        for log in self.lock_logs() {
            problems.extend(log.check()?);
        }
        Ok(problems)
    }

    /// Do the three files still hold what was read? How a read-only view finds out that it is out
    /// of date; it then opens the user again.
    ///
    /// # Errors
    /// `Io` when a file can't be asked.
    pub fn is_fresh(&self) -> Result<bool> {
        let [messages, episodes, semantic] = &self.logs;
        Ok([messages.lock().stamp()?, episodes.lock().stamp()?, semantic.lock().stamp()?]
            == self.read_at)
    }
}

/// Adds the messages that stand only inside of episodes, gives a `seq` to those without, and sorts;
/// returns the next free `seq`.
///
/// Imported messages come first where the numbers of the log leave room for them (they did come
/// first, if the store began as another program's), else last.
fn place_messages<'a>(
    messages: &mut Vec<Arc<Message>>,
    episodes: impl Iterator<Item = &'a mut Arc<Episode>>,
) -> u64 {
    let logged: HashSet<&str> =
        messages.iter().map(|message| message.message_id.as_str()).collect();
    let mut extra: Vec<Arc<Message>> = Vec::new();
    let mut extra_places: HashMap<String, usize> = HashMap::new();
    // Episodes, and which of their positions take which of the extra messages.
    let mut patches = Vec::new();
    for episode in episodes {
        let mut patch: Vec<(usize, usize)> = Vec::new();
        for (position, message) in episode.original_messages.iter().enumerate() {
            if !logged.contains(message.message_id.as_str()) {
                let place = *extra_places.entry(message.message_id.clone()).or_insert_with(|| {
                    extra.push(Arc::clone(message));
                    extra.len() - 1
                });
                patch.push((position, place));
            }
        }
        if !patch.is_empty() {
            patches.push((episode, patch));
        }
    }
    let placed =
        || messages.iter().chain(&extra).map(|message| message.seq).filter(|seq| *seq != UNPLACED);
    let end = placed().max().map_or(0, |seq| seq + 1);
    let wanted = extra.iter().filter(|message| message.seq == UNPLACED).count() as u64;
    let mut front = match placed().min() {
        Some(first) if first < wanted => end,
        _ => 0,
    };
    for message in &mut extra {
        if message.seq == UNPLACED {
            *message = Arc::new(Message { seq: front, ..Message::clone(message) });
            front += 1;
        }
    }
    let mut next = end.max(front);
    for message in messages.iter_mut().filter(|message| message.seq == UNPLACED) {
        *message = Arc::new(Message { seq: next, ..Message::clone(message) });
        next += 1;
    }
    for (episode, patch) in patches {
        let episode = Arc::make_mut(episode);
        for (position, place) in patch {
            episode.original_messages[position] = Arc::clone(&extra[place]);
        }
    }
    messages.extend(extra);
    messages.sort_by_key(|message| message.seq);
    next
}
