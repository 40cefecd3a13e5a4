//! Imports records from an export of this or another store, with their ids and versions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::clock::Moment;
use crate::control::{CallControl, Uninterrupted};
use crate::engine::memory::view::{UserView, episode_terms};
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::deleted::{DeletedMarks, is_deleted};
use crate::engine::writing::edit::{follow_edits, latest_version, version_of};
use crate::error::{Error, Result};
use crate::ids::Owner;
use crate::model::{Episode, ImportReport, Message, SemanticMemory};
use crate::store::{StateRecord, read_episode, read_fact, read_message};

/// Messages that enter the view under one lock. The number limits how long searches wait.
const VIEW_BATCH: usize = 256;

/// Records of one user as an export writes them.
#[derive(Debug, Clone, Default)]
pub struct ImportedRecords {
    /// Each version of each message as JSON, oldest first, with its line in the file.
    pub messages: Vec<(u64, String)>,
    /// Each version of each episode in the same form, oldest first.
    pub episodes: Vec<(u64, String)>,
    /// Each version of each fact in the same form, oldest first.
    pub facts: Vec<(u64, String)>,
    /// Ids of episodes whose facts are still to be learned.
    pub unlearned: Vec<String>,
    /// True if what the user has deleted is added, too.
    pub adds_deleted: bool,
}

impl ImportedRecords {
    /// True without any record.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.episodes.is_empty() && self.facts.is_empty()
    }
}

#[derive(Clone, Default)]
pub(crate) struct ParsedImport {
    messages: Vec<Message>,
    /// Each episode with its line in the file.
    episodes: Vec<(Episode, u64)>,
    facts: Vec<SemanticMemory>,
}

impl ParsedImport {
    /// Parses all records before any is written.
    ///
    /// # Errors
    /// `InvalidInput` with file and line.
    pub fn parse_records(imported: &ImportedRecords, owner: &Owner, path: &Path) -> Result<Self> {
        let mut parsed = Self::default();
        for (line, text) in &imported.messages {
            parsed.messages.push(parse_message(text).map_err(line_error("message", path, *line))?);
        }
        for (line, text) in &imported.episodes {
            let episode = read_episode(text.as_bytes());
            let mut episode = episode.map_err(line_error("episode", path, *line))?;
            episode.user_id.clone_from(&owner.user);
            parsed.episodes.push((episode, *line));
        }
        for (line, text) in &imported.facts {
            let mut fact = parse_fact(text).map_err(line_error("fact", path, *line))?;
            fact.user_id.clone_from(&owner.user);
            parsed.facts.push(fact);
        }
        Ok(parsed)
    }
}

fn line_error(name: &str, path: &Path, line: u64) -> impl FnOnce(String) -> Error {
    move |fault| {
        Error::invalid(format!("not a {name} of an export: {fault}")).at_path(path, Some(line))
    }
}

fn parse_message(text: &str) -> Result<Message, String> {
    let message = read_message(text.as_bytes())?;
    if message.content.trim().is_empty() {
        return Err("field `content` is empty".into());
    }
    Ok(message)
}

fn parse_fact(text: &str) -> Result<SemanticMemory, String> {
    let fact = read_fact(text.as_bytes())?;
    if fact.content.trim().is_empty() {
        return Err("field `content` is empty".into());
    }
    Ok(fact)
}

/// Adds the records that the user lacks; see [`Engine::import_records`].
///
/// Messages are written before the episodes that name them, and these before their facts.
///
/// [`Engine::import_records`]: crate::engine::Engine::import_records
pub(crate) fn import_all(
    services: &EngineServices,
    user: &OpenUser,
    parsed: &mut ParsedImport,
    imported: &ImportedRecords,
    path: &Path,
    control: &dyn CallControl,
) -> Result<ImportReport> {
    let unlearned = &imported.unlearned;
    let _turn = user.turns.take_turn(control)?;
    let to = services.indexing_settings();
    let mut report = ImportReport::default();
    let mut writer = user.lock_writer(&to)?;
    // If another machine may write first, the import may be repeated: `parsed` stays.
    let is_shared = user.store.is_shared();
    let parsed = if is_shared { parsed.clone() } else { std::mem::take(parsed) };
    let deleted = if imported.adds_deleted {
        Arc::default()
    } else {
        DeletedMarks::read_marks(services, user)?
    };
    let new =
        NewRecords::from_import(user, parsed, (writer.next_seq, &deleted), path, &mut report)?;
    let learned = new.learned_notes(unlearned, services.clock.now());
    let lines: Vec<Arc<Message>> =
        new.messages.iter().chain(&new.versions).chain(&new.edits).cloned().collect();
    let held = new.held_note(services.clock.now());
    user.store.append_messages(&lines, held.as_slice())?;
    user.store.append_episodes(&new.episodes, &[], &[])?;
    user.store.append_semantic(&new.facts, &[], &learned)?;
    user.note_change();
    let last = new.messages.iter().map(|message| message.seq + 1).max();
    writer.next_seq = writer.next_seq.max(last.unwrap_or_default());
    let read = |batch: &[Arc<Message>]| {
        // Messages in the log enter the view even if the caller gives up now.
        to.read_messages(batch.iter().map(|message| message.content.as_str()), &Uninterrupted)
    };
    for batch in new.messages.chunks(VIEW_BATCH) {
        let readings = read(batch)?;
        user.view.write().add_messages(batch, &readings);
    }
    for batch in new.versions.chunks(VIEW_BATCH) {
        let readings = read(batch)?;
        user.view.write().edit_messages(batch, &readings)?;
    }
    {
        let mut view = user.view.write();
        new.edits.iter().for_each(|version| view.backlog.await_edit(Arc::clone(version)));
    }
    for episode in &new.episodes {
        let mut view = user.view.write();
        view.put_episode(Arc::clone(episode), &episode_terms(episode), &to)?;
        if services.config.semantic_memory && unlearned.contains(&episode.episode_id) {
            view.backlog.await_learning(&episode.episode_id, episode.revision);
        } else {
            view.backlog.nothing_to_learn(&episode.episode_id);
        }
    }
    for fact in &new.facts {
        user.view.write().put_fact(Arc::clone(fact), None, &to)?;
    }
    drop(writer);
    if !services.has_background_work() {
        follow_edits(services, user, control)?;
    }
    user.embed_missing(&to, control)?;
    user.measure_size();
    Ok(report)
}

/// The records that the user lacks, in the form of the logs.
#[derive(Default)]
struct NewRecords {
    messages: Vec<Arc<Message>>,
    /// Later versions of these messages, which hold with the rest of the import.
    versions: Vec<Arc<Message>>,
    /// Newer versions of messages that the user has.
    edits: Vec<Arc<Message>>,
    episodes: Vec<Arc<Episode>>,
    facts: Vec<Arc<SemanticMemory>>,
}

/// The ids of the records of a file.
#[derive(Default)]
struct FileIds {
    /// The latest versions that the file adds.
    added: HashMap<String, Arc<Message>>,
    /// Messages whose words in the file are older than the known ones.
    outdated: HashSet<String>,
    /// Messages, episodes and facts that the user has deleted, and what comes from them.
    withheld: HashSet<String>,
    /// Records that the report counts.
    counted: HashSet<String>,
}

impl FileIds {
    fn withhold_id(&mut self, id: &str, report: &mut ImportReport) {
        report.deleted += usize::from(self.withheld.insert(id.to_owned()));
    }

    fn withholds_any<'a>(&self, mut ids: impl Iterator<Item = &'a String>) -> bool {
        !self.withheld.is_empty() && ids.any(|id| self.withheld.contains(id))
    }

    /// The revision without what it says of facts that are left out; `None` if it is left out, or
    /// was written because one of these ended the fact: then its earlier revision holds.
    fn without_withheld(&self, mut fact: SemanticMemory) -> Option<SemanticMemory> {
        if self.withheld.is_empty() {
            return Some(fact);
        }
        let ended_by = fact.ended_by.iter().chain(&fact.superseded_by);
        if self.withholds_any(ended_by.chain([&fact.memory_id])) {
            return None;
        }
        fact.ends.retain(|ending| !self.withheld.contains(&ending.memory_id));
        fact.links.retain(|link| !self.withheld.contains(&link.old));
        if let Some(quote) = &mut fact.quote {
            quote.asked = quote.asked.take().filter(|id| !self.withheld.contains(id));
        }
        Some(fact)
    }
}

impl NewRecords {
    fn from_import(
        user: &OpenUser,
        mut parsed: ParsedImport,
        (next_seq, deleted): (u64, &HashSet<String>),
        path: &Path,
        report: &mut ImportReport,
    ) -> Result<Self> {
        let view = user.view.read();
        let (mut new, mut ids) = (Self::default(), FileIds::default());
        parsed.messages.sort_by_key(|message| message.seq);
        let mut free = next_seq;
        for mut message in parsed.messages {
            // An empty user takes over the numbers; otherwise messages get the next free ones.
            message.seq = if next_seq == 0 { message.seq.max(free) } else { free };
            let at = message.seq;
            let id = &message.message_id;
            if view.messages.slot_of(id).is_none() && is_deleted(deleted, user, id) {
                ids.withhold_id(id, report);
                continue;
            }
            if new.take_message(&view, message, &mut ids, report) {
                free = at + 1;
            }
        }
        for (mut episode, line) in parsed.episodes {
            let is_outdated =
                episode.original_messages.iter().any(|one| ids.outdated.contains(&one.message_id));
            if is_outdated || view.episodes.by_id(&episode.episode_id).is_some() {
                report.known += usize::from(ids.counted.insert(episode.episode_id));
                continue;
            }
            let said = episode.original_messages.iter();
            if ids.withholds_any(said.map(|one| &one.message_id))
                || is_deleted(deleted, user, &episode.episode_id)
            {
                // Its narrative may tell of deleted messages. A new one is formed from the rest.
                ids.withhold_id(&episode.episode_id, report);
                continue;
            }
            for message in &mut episode.original_messages {
                let id = &message.message_id;
                let known = view.messages.slot_of(id).map(|slot| view.messages.get(slot));
                let found = known.or(ids.added.get(id)).cloned().ok_or_else(|| {
                    Error::invalid(format!("the export lacks a message of the episode: `{id}`"))
                        .at_path(path, Some(line))
                })?;
                *message = found;
            }
            episode.message_count = episode.original_messages.len();
            report.episodes += usize::from(ids.counted.insert(episode.episode_id.clone()));
            new.episodes.push(Arc::new(episode));
        }
        let is_known = |fact: &SemanticMemory, ids: &FileIds| {
            fact.source_messages.iter().any(|id| ids.outdated.contains(id))
                || view.facts.by_id(&fact.memory_id).is_some()
        };
        for fact in parsed.facts.iter().filter(|fact| !is_known(fact, &ids)).collect::<Vec<_>>() {
            let id = &fact.memory_id;
            let from = fact.source_messages.iter().chain(&fact.source_episodes).chain(&fact.shown);
            if is_deleted(deleted, user, id) || ids.withholds_any(from) {
                ids.withhold_id(id, report);
            }
        }
        for fact in parsed.facts {
            if is_known(&fact, &ids) {
                report.known += usize::from(ids.counted.insert(fact.memory_id));
            } else if let Some(fact) = ids.without_withheld(fact) {
                let is_new = ids.counted.insert(fact.memory_id.clone());
                report.semantic_memories += usize::from(is_new);
                new.facts.push(Arc::new(fact));
            }
        }
        report.messages = new.messages.len();
        Ok(new)
    }

    /// Takes a message, or a version of one. True if its id was unknown.
    fn take_message(
        &mut self,
        view: &UserView,
        message: Message,
        ids: &mut FileIds,
        report: &mut ImportReport,
    ) -> bool {
        let id = message.message_id.clone();
        let (is_new, at) = (view.messages.slot_of(&id).is_none(), message.edited_at);
        match latest_version(view, &ids.added, &id).cloned() {
            None => {
                let message = Arc::new(message);
                ids.added.insert(id, Arc::clone(&message));
                self.messages.push(message);
                return true;
            }
            Some(known) if at > known.edited_at && message.content != known.content => {
                let version = Arc::new(version_of(&known, message, known.timestamp));
                report.edited += usize::from(!is_new);
                // An earlier version of it in the file was known.
                report.known -= usize::from(ids.counted.remove(&id));
                ids.outdated.remove(&id);
                ids.added.insert(id, Arc::clone(&version));
                if is_new { &mut self.versions } else { &mut self.edits }.push(version);
            }
            Some(known) => {
                if message.content == known.content {
                    ids.outdated.remove(&id);
                } else {
                    ids.outdated.insert(id.clone());
                }
                report.known += usize::from(ids.counted.insert(id));
            }
        }
        false
    }

    /// The note that the later versions hold.
    fn held_note(&self, at: Moment) -> Option<StateRecord> {
        let ids: BTreeSet<&String> = self.versions.iter().map(|one| &one.message_id).collect();
        let message_ids: Vec<String> = ids.into_iter().cloned().collect();
        (!message_ids.is_empty()).then_some(StateRecord::Edited { message_ids, at })
    }

    /// The notes that these episodes need no learning.
    fn learned_notes(&self, unlearned: &[String], at: Moment) -> Vec<StateRecord> {
        let latest: HashMap<&str, u32> = self
            .episodes
            .iter()
            .map(|episode| (episode.episode_id.as_str(), episode.revision))
            .collect();
        latest
            .into_iter()
            .filter(|(id, _)| !unlearned.iter().any(|other| other == id))
            .map(|(id, revision)| StateRecord::Learned {
                episode_id: id.to_owned(),
                revision,
                at,
                pending_llm: false,
            })
            .collect()
    }
}
