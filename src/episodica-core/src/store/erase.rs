//! Deletion without a trace, finished even when a crash comes between.
//!
//! What is to be removed is first written, durably, to a file in `intents/`; then it is removed;
//! then the intent is. Opening the store finishes every intent it finds; opening a user finishes
//! theirs. An intent names ids, and holds the records that are to stand in place of others: never
//! the content that goes.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::MutexGuard;
use serde::{Deserialize, Serialize};

use super::backend::{Backend, EntryKind, io_error, parent_of, sync_up};
use super::layout::{Layout, LogKind, SideFile};
use super::line::{check_line, encode_line};
use super::log::{Log, Mode, Rewrite, encode_records};
use super::quarantine;
use super::records::{Deleted, StateRecord, is_deleted, is_state};
use super::scan::Line;
use super::store::{Inner, Registration, Store, put_file};
use super::user::{UserStore, read_message_line};
use super::{dead_letter, nemori};
use crate::error::{Error, Result};
use crate::ids::{Owner, digest, to_hex};
use crate::model::{Episode, Problem, SemanticMemory};

/// Records to remove, and records to put in place of all revisions of others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Erasure {
    /// Ids of messages. Every current episode that holds one of them must be removed or replaced in
    /// the same erasure.
    #[serde(default)]
    pub messages: Vec<String>,
    /// Ids of episodes; all revisions go.
    #[serde(default)]
    pub episodes: Vec<String>,
    /// Ids of semantic memories; all revisions go.
    #[serde(default)]
    pub semantic: Vec<String>,
    /// Each takes the place of all revisions of its id.
    #[serde(default)]
    pub replace_episodes: Vec<Arc<Episode>>,
    /// Each takes the place of all revisions of its id.
    #[serde(default)]
    pub replace_semantic: Vec<Arc<SemanticMemory>>,
}

impl Erasure {
    fn merge(&mut self, later: Self) {
        self.messages.extend(later.messages);
        self.episodes.extend(later.episodes);
        self.semantic.extend(later.semantic);
        self.replace_episodes.retain(|old| {
            !later.replace_episodes.iter().any(|new| new.episode_id == old.episode_id)
        });
        self.replace_episodes.extend(later.replace_episodes);
        self.replace_semantic
            .retain(|old| !later.replace_semantic.iter().any(|new| new.memory_id == old.memory_id));
        self.replace_semantic.extend(later.replace_semantic);
        self.replace_episodes.retain(|episode| !self.episodes.contains(&episode.episode_id));
        self.replace_semantic.retain(|memory| !self.semantic.contains(&memory.memory_id));
    }
}

/// A deletion under way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Intent {
    pub tenant: String,
    pub user: String,
    /// `None`: everything of the user.
    pub erasure: Option<Erasure>,
}

fn intent_path(layout: &Layout, owner: &Owner) -> PathBuf {
    let hash = digest(&[owner.tenant.as_bytes(), owner.user.as_bytes()]);
    layout.intents().join(format!("{}.json", to_hex(&hash[..16])))
}

fn read_intent(backend: &dyn Backend, path: &Path) -> Result<Option<Intent>> {
    let bytes = match backend.read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => {
            other.map_err(|error| io_error("cannot read a deletion under way", path, error))?
        }
    };
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    Ok((check_line(line) == Ok(true)).then(|| serde_json::from_slice(line).ok()).flatten())
}

/// Puts an intent in place. The deletion has begun when this returns, and is sure to be finished
/// when [`sync_intent`] does.
fn place_intent(inner: &Inner, owner: &Owner, erasure: Option<Erasure>) -> Result<()> {
    let (backend, directory) = (&*inner.backend, inner.layout.intents());
    // Nobody takes the directory away before there is something in it.
    let _dirty = inner.intents_dirty.lock();
    backend
        .create_dir_all(&directory)
        .map_err(|error| io_error("cannot make the directory", &directory, error))?;
    let intent = Intent { tenant: owner.tenant.clone(), user: owner.user.clone(), erasure };
    let mut line = Vec::new();
    encode_line(&mut line, &intent)?;
    put_file(backend, &intent_path(&inner.layout, owner), &line)
}

fn sync_intent(inner: &Inner) -> Result<()> {
    let (backend, directory) = (&*inner.backend, inner.layout.intents());
    sync_up(backend, inner.layout.root(), &directory)
        .map_err(|error| io_error("cannot sync the directory", &directory, error))
}

fn remove_intent(inner: &Inner, path: &Path) -> Result<()> {
    let (backend, directory) = (&*inner.backend, inner.layout.intents());
    let mut dirty = inner.intents_dirty.lock();
    *dirty = true;
    remove(backend, path)?;
    sync_removal(inner, &mut dirty)?;
    // Another deletion may be under way; then the directory stays, and an empty one does no harm.
    let _ = backend.remove_dir(&directory);
    Ok(())
}

/// Makes the end of deletions durable where it may not be.
fn settle_intents(inner: &Inner) -> Result<()> {
    sync_removal(inner, &mut inner.intents_dirty.lock())
}

fn sync_removal(inner: &Inner, dirty: &mut bool) -> Result<()> {
    let directory = inner.layout.intents();
    if *dirty {
        match inner.backend.sync_dir(&directory) {
            // Removed by another deletion, which had synced it before.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(io_error("cannot sync the directory", &directory, error));
            }
            _ => *dirty = false,
        }
    }
    Ok(())
}

fn remove(backend: &dyn Backend, path: &Path) -> Result<()> {
    match backend.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("cannot remove the file", path, error))
        }
        _ => Ok(()),
    }
}

/// Deletions under way, each with its file.
type Pending = Vec<(PathBuf, Intent)>;

/// Deletions under way, and what is wrong with those that can't be read.
pub(super) fn pending(backend: &dyn Backend, layout: &Layout) -> Result<(Pending, Vec<Problem>)> {
    let directory = layout.intents();
    let entries = backend
        .list_dir(&directory)
        .map_err(|error| io_error("cannot list the directory", &directory, error))?;
    let (mut intents, mut problems) = (Vec::new(), Vec::new());
    for (name, kind) in entries {
        let path = directory.join(&name);
        if kind != EntryKind::File || !name.ends_with(".json") {
            continue;
        }
        match read_intent(backend, &path)? {
            Some(intent) => intents.push((path, intent)),
            None => {
                let whose = match owner_of(backend, layout, &name)? {
                    Some(owner) => {
                        format!(" of user `{}` of tenant `{}`", owner.user, owner.tenant)
                    }
                    None => String::new(),
                };
                problems.push(Problem {
                    path,
                    line: None,
                    message: format!("a deletion{whose} was interrupted and can't be read"),
                    remedy: match whose.is_empty() {
                        true => "nobody whom it could mean has any files: remove it".into(),
                        false => "delete again what was to be deleted: that removes it".into(),
                    },
                    mended: false,
                });
            }
        }
    }
    Ok((intents, problems))
}

/// Deletions that an error stopped in this process. (At opening a writer finishes all of them; a
/// reader shows none of their users.)
pub(super) fn stopped(inner: &Inner) -> Result<Vec<Problem>> {
    let (intents, mut problems) = pending(&*inner.backend, &inner.layout)?;
    problems.extend(intents.into_iter().map(|(path, intent)| Problem {
        path,
        line: None,
        message: format!(
            "a deletion of user `{}` of tenant `{}` was not finished",
            intent.user, intent.tenant
        ),
        remedy: "delete again, or open the store for writing: that finishes it".into(),
        mended: false,
    }));
    Ok(problems)
}

/// Whom the file of a deletion means by its name.
fn owner_of(backend: &dyn Backend, layout: &Layout, name: &str) -> Result<Option<Owner>> {
    for tenant in layout.tenants(backend)? {
        let owners = layout
            .users(backend, &tenant)?
            .into_iter()
            .filter_map(|user| Owner::new(&tenant, &user).ok());
        for owner in owners {
            if intent_path(layout, &owner).file_name().is_some_and(|file| file == name) {
                return Ok(Some(owner));
            }
        }
    }
    Ok(None)
}

/// Finishes what a crash interrupted. The caller has the writer's lock and no user is open.
pub(super) fn finish_pending(inner: &Inner) -> Result<Vec<Problem>> {
    let backend = &*inner.backend;
    let (intents, problems) = pending(backend, &inner.layout)?;
    for (path, intent) in intents {
        finish_intent(inner, &path, intent)?;
    }
    Ok(problems)
}

/// Finishes what an error interrupted in this process, before the user is opened again. The user is
/// not open.
pub(super) fn finish_pending_of(inner: &Inner, owner: &Owner) -> Result<()> {
    let path = intent_path(&inner.layout, owner);
    match read_intent(&*inner.backend, &path)? {
        Some(intent) => finish_intent(inner, &path, intent),
        None => settle_intents(inner),
    }
}

fn finish_intent(inner: &Inner, path: &Path, intent: Intent) -> Result<()> {
    let owner = Owner::new(&intent.tenant, &intent.user)?;
    match intent.erasure {
        None => {
            remove_user_files(&*inner.backend, &inner.layout, &owner)?;
        }
        Some(erasure) => {
            let open = |kind| {
                let path = inner.layout.log_path(&owner, kind);
                Log::open(
                    Arc::clone(&inner.backend),
                    inner.layout.root(),
                    &path,
                    Mode::ReadWrite,
                    &mut |_| Ok(()),
                )
                .map(|(log, _)| log)
            };
            let [messages, episodes, semantic] = LogKind::ALL;
            let (mut messages, mut episodes, mut semantic) =
                (open(messages)?, open(episodes)?, open(semantic)?);
            apply(inner, &owner, &erasure, [&mut messages, &mut episodes, &mut semantic])?;
        }
    }
    remove_intent(inner, path)
}

fn remove_user_files(backend: &dyn Backend, layout: &Layout, owner: &Owner) -> Result<usize> {
    let files = layout.user_files(backend, owner)?;
    files.iter().try_for_each(|path| remove(backend, path))?;
    settle_directories(backend, layout, owner)?;
    Ok(files.len())
}

/// Makes durable what was removed: by this run, or by one that failed before it could. So it asks
/// every directory, not what is still there.
fn settle_directories(backend: &dyn Backend, layout: &Layout, owner: &Owner) -> Result<()> {
    for directory in layout.directories_of(owner) {
        let mut place = directory.as_path();
        loop {
            let fail = |error| io_error("cannot sync the directory", place, error);
            // A long id goes on in directories whose names are part of it: they go with it, unless
            // another long id shares them.
            let goes_on =
                place.file_name().is_some_and(|name| name.to_string_lossy().ends_with('~'));
            if !(goes_on && backend.remove_dir(place).is_ok())
                && backend.stat(place).map_err(fail)?.is_some()
            {
                backend.sync_dir(place).map_err(fail)?;
            }
            if !goes_on {
                break;
            }
            place = parent_of(place);
        }
    }
    Ok(())
}

impl Store {
    /// Removes every file of a user: logs, caches, quarantines, traces, model answers. Returns how
    /// many there were. The user must not be open. When this returns no byte of theirs is left;
    /// after a crash in between, opening the store goes on with it.
    ///
    /// # Errors
    /// `ReadOnly`; `Internal` if the user is open; `Io`: then call again, or open the store again.
    pub fn erase_user(&self, owner: &Owner) -> Result<usize> {
        let inner = &self.inner;
        inner.check_writable()?;
        let _registration = Registration::new(inner, owner)?;
        let path = intent_path(&inner.layout, owner);
        let begun = inner
            .backend
            .stat(&path)
            .map_err(|error| io_error("cannot look for a deletion under way", &path, error))?
            .is_some();
        if !begun && inner.layout.user_files(&*inner.backend, owner)?.is_empty() {
            return Ok(0);
        }
        place_intent(inner, owner, None)?;
        sync_intent(inner)?;
        let files = remove_user_files(&*inner.backend, &inner.layout, owner)?;
        remove_intent(inner, &path)?;
        Ok(files)
    }
}

impl UserStore {
    /// Removes records, and every revision, quarantined copy, trace and cached model answer of
    /// them; returns the number of files that were removed or rewritten. After a crash in between,
    /// opening the store goes on with it.
    ///
    /// Vector caches are removed; the caller saves them anew.
    ///
    /// # Errors
    /// `Internal` if a current episode would keep one of the messages; `ReadOnly`; `Io`: then the
    /// deletion is finished before the next append, or when the store is opened.
    pub fn erase(&self, erasure: Erasure) -> Result<usize> {
        self.inner.check_writable()?;
        let mut logs = self.lock_logs();
        let path = intent_path(&self.inner.layout, self.owner());
        let mut erasure = erasure;
        if let Some(Intent { erasure: Some(mut earlier), .. }) =
            read_intent(&*self.inner.backend, &path)?
        {
            earlier.merge(erasure);
            erasure = earlier;
        }
        plan_episodes(self.owner(), &erasure, &logs[LogKind::Episodes as usize], true)?;
        place_intent(&self.inner, self.owner(), Some(erasure.clone()))?;
        // From here on nothing may be appended before it is carried out.
        self.set_erasing(true);
        sync_intent(&self.inner)?;
        self.finish(&erasure, &mut logs)
    }

    /// Finishes a deletion that failed half-way, if there is one, so that nothing is written behind
    /// it.
    ///
    /// # Errors
    /// `Io`: call again.
    pub fn finish_erasure(&self) -> Result<()> {
        if !self.is_erasing() {
            return Ok(());
        }
        let mut logs = self.lock_logs();
        let path = intent_path(&self.inner.layout, self.owner());
        if let Some(Intent { erasure: Some(erasure), .. }) =
            read_intent(&*self.inner.backend, &path)?
        {
            self.finish(&erasure, &mut logs)?;
        }
        settle_intents(&self.inner)?;
        self.set_erasing(false);
        Ok(())
    }

    fn finish(&self, erasure: &Erasure, logs: &mut [MutexGuard<'_, Log>; 3]) -> Result<usize> {
        let files =
            apply(&self.inner, self.owner(), erasure, logs.each_mut().map(|log| &mut **log))?;
        remove_intent(&self.inner, &intent_path(&self.inner.layout, self.owner()))?;
        self.set_erasing(false);
        Ok(files)
    }
}

/// Line numbers of the episode log that go because an erased message stands in them.
fn plan_episodes(
    owner: &Owner,
    erasure: &Erasure,
    log: &Log,
    strict: bool,
) -> Result<HashSet<u64>> {
    let erased: HashSet<&str> = erasure.messages.iter().map(String::as_str).collect();
    let settled = |id: &str| {
        erasure.episodes.iter().any(|erased| erased == id)
            || erasure.replace_episodes.iter().any(|episode| episode.episode_id == id)
    };
    let (mut tainted, mut current) = (HashMap::new(), HashMap::new());
    if erased.is_empty() {
        return Ok(HashSet::new());
    }
    log.for_each(&mut |line| {
        if is_deleted(line.bytes) {
            if let Ok(gone) = serde_json::from_slice::<Deleted>(line.bytes) {
                current.remove(&gone.deleted);
            }
        } else if !is_state(line.bytes)
            && let Ok((episode, _)) = nemori::read_episode(owner, line.bytes, &HashMap::new())
        {
            if episode
                .original_messages
                .iter()
                .any(|message| erased.contains(message.message_id.as_str()))
            {
                tainted.insert(line.number, episode.episode_id.clone());
            }
            current.insert(episode.episode_id, line.number);
        }
    })?;
    let left =
        tainted.iter().find(|(number, id)| current.get(*id) == Some(*number) && !settled(id));
    if let Some((number, id)) = left.filter(|_| strict) {
        return Err(Error::internal(format!("an episode would keep an erased message: `{id}`"))
            .at(log.path(), Some(*number)));
    }
    Ok(tainted.into_keys().collect())
}

/// Ids that go, and texts by which their copies elsewhere are known.
struct Targets {
    ids: HashSet<String>,
    texts: HashSet<String>,
}

/// Shortest text that is looked for in the quarantine; below it, ids alone decide.
const MIN_NEEDLE_BYTES: usize = 8;

impl Targets {
    fn texts(&mut self, texts: &[&str]) {
        self.texts.extend(
            texts.iter().filter(|text| text.len() >= MIN_NEEDLE_BYTES).map(|text| escaped(text)),
        );
    }
}

/// A text as it stands inside a JSON string.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Does it all; doing it again changes nothing.
fn apply(inner: &Inner, owner: &Owner, erasure: &Erasure, logs: [&mut Log; 3]) -> Result<usize> {
    let [messages, episodes, semantic] = logs;
    let backend = &*inner.backend;
    let tainted = plan_episodes(owner, erasure, episodes, false)?;
    let set = |ids: &[String]| -> HashSet<String> { ids.iter().cloned().collect() };
    let replaced_episodes: HashMap<&str, &Arc<Episode>> = erasure
        .replace_episodes
        .iter()
        .map(|episode| (episode.episode_id.as_str(), episode))
        .collect();
    let replaced_semantic: HashMap<&str, &Arc<SemanticMemory>> =
        erasure.replace_semantic.iter().map(|memory| (memory.memory_id.as_str(), memory)).collect();

    // The quarantines first: they are searched for texts that stand in the logs for the last time.
    let mut targets = Targets { ids: HashSet::new(), texts: HashSet::new() };
    targets.ids.extend(
        erasure
            .messages
            .iter()
            .chain(&erasure.episodes)
            .chain(&erasure.semantic)
            .map(|id| escaped(id)),
    );
    targets
        .ids
        .extend(replaced_episodes.keys().chain(replaced_semantic.keys()).map(|id| escaped(id)));
    let (gone_messages, gone_episodes, gone_semantic) =
        (set(&erasure.messages), set(&erasure.episodes), set(&erasure.semantic));
    messages.for_each(&mut |line| {
        if let Some(message) = read_message_line(owner, line.bytes)
            .filter(|message| gone_messages.contains(&message.message_id))
        {
            targets.texts(&[&message.content]);
        }
    })?;
    episodes.for_each(&mut |line| {
        if let Ok((episode, _)) = nemori::read_episode(owner, line.bytes, &HashMap::new())
            && (gone_episodes.contains(&episode.episode_id)
                || replaced_episodes.contains_key(episode.episode_id.as_str()))
        {
            targets.texts(&[&episode.title, &episode.content, &episode.summary]);
        }
    })?;
    semantic.for_each(&mut |line| {
        if let Ok((memory, _)) = nemori::read_semantic(owner, line.bytes)
            && (gone_semantic.contains(&memory.memory_id)
                || replaced_semantic.contains_key(memory.memory_id.as_str()))
        {
            targets.texts(&[&memory.content]);
        }
    })?;
    let mut files = 0;
    for log in [&*messages, &*episodes, &*semantic] {
        let needles: Vec<&str> =
            targets.ids.iter().chain(&targets.texts).map(String::as_str).collect();
        files += usize::from(quarantine::scrub(backend, log.path(), &needles)?);
    }

    if !gone_messages.is_empty() {
        files += 1;
        messages.rewrite(&mut |line| match read_message_line(owner, line.bytes) {
            Some(message) if gone_messages.contains(&message.message_id) => Rewrite::Drop,
            _ => Rewrite::Keep,
        })?;
    }
    if !tainted.is_empty() || !gone_episodes.is_empty() || !replaced_episodes.is_empty() {
        files += 1;
        let mut written = HashSet::new();
        let id_of = |line: &[u8]| {
            nemori::read_episode(owner, line, &HashMap::new())
                .ok()
                .map(|(episode, _)| episode.episode_id)
        };
        episodes.rewrite(&mut |line| {
            let replacement =
                |id: &str| replaced_episodes.get(id).map(|episode| encode_records(&[episode]));
            match decide(line, &id_of, &gone_episodes, &replacement, &mut written) {
                Rewrite::Keep if tainted.contains(&line.number) => Rewrite::Drop,
                other => other,
            }
        })?;
    }
    if !gone_semantic.is_empty() || !replaced_semantic.is_empty() || !gone_episodes.is_empty() {
        files += 1;
        let mut written = HashSet::new();
        let id_of = |line: &[u8]| {
            nemori::read_semantic(owner, line).ok().map(|(memory, _)| memory.memory_id)
        };
        semantic.rewrite(&mut |line| {
            let replacement =
                |id: &str| replaced_semantic.get(id).map(|memory| encode_records(&[memory]));
            match serde_json::from_slice(line.bytes) {
                // What was learned of an erased episode is no longer a question.
                Ok(StateRecord::Learned { episode_id, .. })
                    if is_state(line.bytes) && gone_episodes.contains(&episode_id) =>
                {
                    Rewrite::Drop
                }
                _ => decide(line, &id_of, &gone_semantic, &replacement, &mut written),
            }
        })?;
    }
    // What holds texts of many records, or numbers made from them, is not searched but removed:
    // traces, answers, caches, the snapshot, and what a crash left of a file being replaced.
    let mut derived: Vec<PathBuf> = [SideFile::Trace, SideFile::LlmCache]
        .map(|side| inner.layout.side_path(owner, side))
        .into();
    derived.push(inner.layout.snapshot_path(owner));
    for kind in LogKind::ALL {
        let caches = inner.layout.cache_paths(owner, kind);
        derived.extend([caches.manifest, caches.embeddings, caches.index]);
    }
    let leftovers = inner.layout.user_files(backend, owner)?.into_iter();
    derived.extend(
        leftovers.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")),
    );
    for path in derived {
        if backend
            .stat(&path)
            .map_err(|error| io_error("cannot look at the file", &path, error))?
            .is_some()
        {
            remove(backend, &path)?;
            files += 1;
        }
    }
    let gone = |id: &str| {
        gone_messages.contains(id) || gone_episodes.contains(id) || gone_semantic.contains(id)
    };
    files += usize::from(dead_letter::scrub(
        &inner.backend,
        inner.layout.root(),
        &inner.layout.side_path(owner, SideFile::DeadLetters),
        &gone,
    )?);
    settle_directories(backend, &inner.layout, owner)?;
    Ok(files)
}

/// The fate of a line of the episode or semantic log. A removal of an erased id goes with it; one
/// of a replaced id too, as the replacement is current.
fn decide(
    line: Line<'_>,
    id_of: &dyn Fn(&[u8]) -> Option<String>,
    gone: &HashSet<String>,
    replacement: &dyn Fn(&str) -> Option<Result<Vec<u8>>>,
    written: &mut HashSet<String>,
) -> Rewrite {
    if is_state(line.bytes) {
        return Rewrite::Keep;
    }
    if is_deleted(line.bytes) {
        let id = serde_json::from_slice::<Deleted>(line.bytes)
            .map(|gone| gone.deleted)
            .unwrap_or_default();
        return if gone.contains(&id) || replacement(&id).is_some() {
            Rewrite::Drop
        } else {
            Rewrite::Keep
        };
    }
    let Some(id) = id_of(line.bytes) else { return Rewrite::Keep };
    if gone.contains(&id) {
        return Rewrite::Drop;
    }
    match replacement(&id) {
        None => Rewrite::Keep,
        Some(Ok(bytes)) if written.insert(id) => Rewrite::Replace(bytes),
        // Encoding can't fail for what the intent was encoded with; the first line of the id has it
        // already.
        Some(_) => Rewrite::Drop,
    }
}

#[cfg(test)]
mod tests;
