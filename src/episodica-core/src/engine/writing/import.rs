//! Imports records from an export of this or another store, with their ids and versions.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::control::{CallControl, Uninterrupted};
use crate::engine::memory::view::episode_terms;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::error::{Error, Result};
use crate::ids::Owner;
use crate::model::{Episode, ImportReport, Message, SemanticMemory};
use crate::store::{StateRecord, read_episode, read_fact, read_message};

/// Messages that enter the view under one lock. The number limits how long searches wait.
const VIEW_BATCH: usize = 256;

/// Records of one user as an export writes them.
#[derive(Debug, Clone, Default)]
pub struct ImportedRecords {
    /// Each message as JSON, with its line in the file.
    pub messages: Vec<(u64, String)>,
    /// Each version of each episode in the same form, oldest first.
    pub episodes: Vec<(u64, String)>,
    /// Each version of each fact in the same form, oldest first.
    pub facts: Vec<(u64, String)>,
    /// Ids of episodes whose facts are still to be learned.
    pub unlearned: Vec<String>,
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
    pub fn read(imported: &ImportedRecords, owner: &Owner, path: &Path) -> Result<Self> {
        let mut parsed = Self::default();
        for (line, text) in &imported.messages {
            parsed.messages.push(message(text).map_err(fault("message", path, *line))?);
        }
        for (line, text) in &imported.episodes {
            let episode = read_episode(text.as_bytes());
            let mut episode = episode.map_err(fault("episode", path, *line))?;
            episode.user_id.clone_from(&owner.user);
            parsed.episodes.push((episode, *line));
        }
        for (line, text) in &imported.facts {
            let mut fact = fact(text).map_err(fault("fact", path, *line))?;
            fact.user_id.clone_from(&owner.user);
            parsed.facts.push(fact);
        }
        Ok(parsed)
    }
}

fn fault(name: &str, path: &Path, line: u64) -> impl FnOnce(String) -> Error {
    move |fault| Error::invalid(format!("not a {name} of an export: {fault}")).at(path, Some(line))
}

fn message(text: &str) -> Result<Message, String> {
    let message = read_message(text.as_bytes())?;
    if message.content.trim().is_empty() {
        return Err("field `content` is empty".into());
    }
    Ok(message)
}

fn fact(text: &str) -> Result<SemanticMemory, String> {
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
    unlearned: &[String],
    path: &Path,
    control: &dyn CallControl,
) -> Result<ImportReport> {
    let _turn = user.turns.take(control)?;
    let to = services.indexing();
    let mut report = ImportReport::default();
    let mut writer = user.lock_writer(&to)?;
    // If another machine may write first, the import may be repeated: `parsed` stays.
    let is_shared = user.store.is_shared();
    let parsed = if is_shared { parsed.clone() } else { std::mem::take(parsed) };
    let new = NewRecords::of(user, parsed, writer.next_seq, path, &mut report)?;
    let learned = new.learned(unlearned, services.clock.now());
    user.store.append_messages(&new.messages, &[])?;
    user.store.append_episodes(&new.episodes, &[], &[])?;
    user.store.append_semantic(&new.facts, &[], &learned)?;
    user.note_change();
    let last = new.messages.iter().map(|message| message.seq + 1).max();
    writer.next_seq = writer.next_seq.max(last.unwrap_or_default());
    for batch in new.messages.chunks(VIEW_BATCH) {
        // Messages in the log enter the view even if the caller gives up now.
        let texts = batch.iter().map(|message| message.content.as_str());
        let readings = to.read_messages(texts, &Uninterrupted)?;
        user.view.write().add_messages(batch, &readings);
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
    user.embed_missing(&to, control)?;
    user.measure();
    Ok(report)
}

/// The records that the user lacks, in the form of the logs.
struct NewRecords {
    messages: Vec<Arc<Message>>,
    episodes: Vec<Arc<Episode>>,
    facts: Vec<Arc<SemanticMemory>>,
}

impl NewRecords {
    fn of(
        user: &OpenUser,
        mut parsed: ParsedImport,
        next_seq: u64,
        path: &Path,
        report: &mut ImportReport,
    ) -> Result<Self> {
        let view = user.view.read();
        parsed.messages.sort_by_key(|message| message.seq);
        let (mut messages, mut added) = (Vec::new(), HashMap::new());
        let mut free = next_seq;
        for mut message in parsed.messages {
            let id = message.message_id.clone();
            if view.messages.slot(&id).is_some() || added.contains_key(&id) {
                report.known += 1;
                continue;
            }
            // An empty user takes over the numbers; otherwise messages get the next free ones.
            message.seq = if next_seq == 0 { message.seq.max(free) } else { free };
            free = message.seq + 1;
            let message = Arc::new(message);
            added.insert(id, Arc::clone(&message));
            messages.push(message);
        }
        let mut ids = HashSet::new();
        let (mut episodes, mut facts) = (Vec::new(), Vec::new());
        for (mut episode, line) in parsed.episodes {
            if view.episodes.by_id(&episode.episode_id).is_some() {
                report.known += usize::from(ids.insert(episode.episode_id));
                continue;
            }
            for message in &mut episode.original_messages {
                let id = &message.message_id;
                let known = view.messages.slot(id).map(|slot| view.messages.get(slot));
                let found = added.get(id).or(known).cloned().ok_or_else(|| {
                    Error::invalid(format!("the export lacks a message of the episode: `{id}`"))
                        .at(path, Some(line))
                })?;
                *message = found;
            }
            episode.message_count = episode.original_messages.len();
            report.episodes += usize::from(ids.insert(episode.episode_id.clone()));
            episodes.push(Arc::new(episode));
        }
        for fact in parsed.facts {
            if view.facts.by_id(&fact.memory_id).is_some() {
                report.known += usize::from(ids.insert(fact.memory_id));
                continue;
            }
            report.semantic_memories += usize::from(ids.insert(fact.memory_id.clone()));
            facts.push(Arc::new(fact));
        }
        report.messages = messages.len();
        Ok(Self { messages, episodes, facts })
    }

    /// The notes that these episodes need no learning.
    fn learned(&self, unlearned: &[String], at: crate::clock::Moment) -> Vec<StateRecord> {
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
