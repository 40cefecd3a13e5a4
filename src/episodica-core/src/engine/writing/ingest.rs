//! Appends a caller's messages to the log and the view.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ndarray::Array2;

use crate::control::CallControl;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::deleted::{DeletedMarks, is_deleted};
use crate::engine::writing::edit::{Arrival, arrival_of, check_known, latest_version, version_of};
use crate::engine::writing::group_commit::{CallerBatch, SharedBatch, StoredBatch};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Owner, record_id};
use crate::index::MessageReading;
use crate::model::{Message, NewMessage, clean_name};
use crate::store::{MAX_JSON_DEPTH, is_too_deep};

/// Messages per step; a longer list takes several steps. Each step syncs three logs, which waits
/// for the disk.
const BATCH: usize = 4_096;
/// Bytes after which a step ends early.
const BATCH_BYTES: usize = 16 << 20;
/// Messages that enter the view under one lock. The number limits how long searches wait.
const VIEW_BATCH: usize = 256;
/// Attempts after which the pauses between them stop doubling.
const LONGEST_PAUSE: u32 = 6;

/// Checks every message of a call before the first is written.
///
/// # Errors
/// `InvalidInput` with the number of the message.
pub(crate) fn check_messages(services: &EngineServices, messages: &[NewMessage]) -> Result<()> {
    messages.iter().enumerate().try_for_each(|(number, message)| {
        check_message(services, message)
            .map_err(|error| Error::invalid(format!("message {number}: {error}")))
    })
}

fn check_message(services: &EngineServices, message: &NewMessage) -> Result<()> {
    let fail = |text: String| Err(Error::invalid(text));
    if message.role.trim().is_empty() {
        return fail("`role` is empty".into());
    }
    if message.content.trim().is_empty() {
        return fail("`content` is empty".into());
    }
    if message.content.len() > services.config.max_message_bytes {
        let limit = services.config.max_message_bytes;
        return fail(format!(
            "`content` is longer than max_message_bytes ({limit}): `{}`",
            message.content.len()
        ));
    }
    if message.message_id.as_deref() == Some("") {
        return fail("`message_id` is empty".into());
    }
    if message.metadata.as_ref().is_some_and(|raw| is_too_deep(raw.get())) {
        return fail(format!(
            "`metadata` is nested too deeply: more than `{MAX_JSON_DEPTH}` levels"
        ));
    }
    Ok(())
}

/// Appends the new messages of a batch to the log and the view. `None` if the user was deleted;
/// the batch is then untouched.
pub(crate) fn append_batch(
    services: &EngineServices,
    user: &OpenUser,
    batch: &mut Vec<NewMessage>,
    session_id: Option<&str>,
    control: &dyn CallControl,
) -> Result<Option<StoredBatch>> {
    let texts = batch.iter().map(|message| message.content.as_str());
    let readings = services.indexing_settings().read_messages(texts, control)?;
    let arriving = CallerBatch {
        messages: std::mem::take(batch),
        readings,
        session_id: session_id.map(str::to_owned),
        outcome: None,
    };
    let arrived = user.arrivals.submit_and_wait(arriving, |due| write_batches(services, user, due));
    let mut arrived = arrived.lock();
    let outcome =
        arrived.outcome.take().unwrap_or_else(|| Err(Error::internal("a batch was not written")));
    if let Ok(None) = outcome {
        *batch = std::mem::take(&mut arrived.messages);
    }
    outcome
}

/// Writes batches in order with one sync, and sets the outcome of each.
fn write_batches(services: &EngineServices, user: &OpenUser, due: &[SharedBatch]) {
    let mut attempt = 0;
    while !try_batches(services, user, due) {
        // Another machine wrote first. One of the competing machines always succeeds; random
        // pauses keep it from being the same one each time.
        let longest = 1_000_u64 << attempt.min(LONGEST_PAUSE);
        std::thread::sleep(Duration::from_micros(RandomState::new().hash_one(0) % longest));
        attempt += 1;
    }
}

/// Writes batches; `false` if another machine wrote first, and nothing was written.
fn try_batches(services: &EngineServices, user: &OpenUser, due: &[SharedBatch]) -> bool {
    let settle = |error: &Error| {
        due.iter().for_each(|batch| batch.lock().outcome = Some(Err(error.clone_flattened())));
        true
    };
    let mut writer = match user.lock_writer(&services.indexing_settings()) {
        Ok(writer) => writer,
        Err(error) if error.kind() == ErrorKind::Closed => {
            due.iter().for_each(|batch| batch.lock().outcome = Some(Ok(None)));
            return true;
        }
        Err(error) => return settle(&error),
    };
    let is_shared = user.store.is_shared();
    let deleted = match marks_for(services, user, due) {
        Ok(marks) => marks,
        Err(error) => return settle(&error),
    };
    let mut arrivals = Arrivals::new(services, user, writer.next_seq, &deleted);
    let outcomes: Vec<Result<StoredBatch>> = {
        let view = user.view.read();
        due.iter().map(|batch| arrivals.take_batch(&view, &mut batch.lock(), is_shared)).collect()
    };
    let Arrivals { messages, readings, versions, .. } = arrivals;
    let lines: Vec<Arc<Message>> = messages.iter().chain(&versions).cloned().collect();
    // Without new messages, this makes duplicates durable that another process wrote: they are
    // acknowledged here.
    match user.store.try_append_messages(&lines) {
        Ok(Some(_)) => {}
        Ok(None) if is_shared => return false,
        Ok(None) => return settle(&changed_by_others()),
        Err(error) => return settle(&error),
    }
    writer.next_seq += messages.len() as u64;
    for (messages, readings) in messages.chunks(VIEW_BATCH).zip(readings.chunks(VIEW_BATCH)) {
        user.view.write().add_messages(messages, readings);
    }
    if !versions.is_empty() {
        let mut view = user.view.write();
        versions.into_iter().for_each(|version| view.backlog.await_edit(version));
    }
    for (batch, stored) in due.iter().zip(outcomes) {
        batch.lock().outcome = Some(stored.map(Some));
    }
    true
}

/// The marks of deleted messages, if one of the batches leaves these out.
fn marks_for(
    services: &EngineServices,
    user: &OpenUser,
    due: &[SharedBatch],
) -> Result<Arc<HashSet<String>>> {
    let skips = |batch: &SharedBatch| batch.lock().messages.iter().any(|one| one.skips_deleted);
    if due.iter().any(skips) {
        DeletedMarks::read_marks(services, user)
    } else {
        Ok(Arc::default())
    }
}

/// The messages of some batches on their way to the log.
struct Arrivals<'a> {
    services: &'a EngineServices,
    user: &'a OpenUser,
    next_seq: u64,
    /// Marks of deleted messages.
    deleted: &'a HashSet<String>,
    messages: Vec<Arc<Message>>,
    /// One per message.
    readings: Vec<MessageReading>,
    /// Newer versions of known messages.
    versions: Vec<Arc<Message>>,
    /// The latest version of each of these messages, by id.
    latest: HashMap<String, Arc<Message>>,
}

impl<'a> Arrivals<'a> {
    fn new(
        services: &'a EngineServices,
        user: &'a OpenUser,
        next_seq: u64,
        deleted: &'a HashSet<String>,
    ) -> Self {
        let (messages, readings, versions, latest) = Default::default();
        Self { services, user, next_seq, deleted, messages, readings, versions, latest }
    }

    /// Takes the new messages of a batch, or none of them if one can't be taken; `keeps` if the
    /// batch may be taken again.
    fn take_batch(
        &mut self,
        view: &UserView,
        batch: &mut CallerBatch,
        keeps: bool,
    ) -> Result<StoredBatch> {
        check_known(view, &self.latest, &batch.messages, batch.session_id.as_deref())?;
        let (new, readings) = if keeps {
            (batch.messages.clone(), batch.readings.clone())
        } else {
            (std::mem::take(&mut batch.messages), std::mem::take(&mut batch.readings))
        };
        let (session_id, mut stored) = (batch.session_id.clone(), StoredBatch::default());
        for (new, reading) in new.into_iter().zip(readings) {
            let seq = self.next_seq + self.messages.len() as u64;
            let session_id = session_id.as_deref();
            let (told_at, skips_deleted) = (new.edited_at, new.skips_deleted);
            let message = placed_message(self.services, self.user, new, seq, session_id);
            let id = message.message_id.clone();
            let known = latest_version(view, &self.latest, &id).map(|known| &**known);
            if known.is_none() && skips_deleted && is_deleted(self.deleted, self.user, &id) {
                stored.deleted += 1;
                continue;
            }
            stored.ids.push(id);
            match (arrival_of(view, known, &message.content, told_at), known) {
                (Arrival::Known, _) => {}
                (Arrival::Edit, Some(known)) => {
                    let version = Arc::new(version_of(known, message, self.services.clock.now()));
                    stored.edited += 1;
                    self.note_message(&version);
                    self.versions.push(version);
                }
                _ => {
                    let message = Arc::new(message);
                    stored.added += 1;
                    self.note_message(&message);
                    self.messages.push(message);
                    self.readings.push(reading);
                }
            }
        }
        Ok(stored)
    }

    fn note_message(&mut self, message: &Arc<Message>) {
        self.latest.insert(message.message_id.clone(), Arc::clone(message));
    }
}

/// A message with its number, its id and its time.
fn placed_message(
    services: &EngineServices,
    user: &OpenUser,
    mut new: NewMessage,
    seq: u64,
    session_id: Option<&str>,
) -> Message {
    new.session_id = new.session_id.or_else(|| session_id.map(str::to_owned));
    let timestamp = new.timestamp.unwrap_or_else(|| services.clock.now());
    let timestamp = services.zone.writer_moment(timestamp);
    let message_id = new.message_id.take().unwrap_or_else(|| derived_id(&user.owner, &new, seq));
    Message {
        message_id,
        seq,
        role: new.role.into(),
        name: new.name.as_deref().and_then(clean_name).map(Into::into),
        content: new.content,
        timestamp,
        session_id: new.session_id.map(Into::into),
        agent_id: new.agent_id.map(Into::into),
        metadata: new.metadata,
        edited_at: new.edited_at.filter(|edited| *edited > timestamp),
    }
}

/// Embeds the messages without a vector, in order. Needs no turn: if two callers do the same at
/// once, the later vectors are ignored.
pub(crate) fn embed_messages(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    let unembedded: Vec<u32> =
        user.view.read().backlog.unembedded_slots().iter().copied().collect();
    let to = services.indexing_settings();
    for slots in unembedded.chunks(BATCH) {
        control.check()?;
        let Some(rows) = message_rows(services, user, slots, control)? else { break };
        services.counters.messages_embedded.fetch_add(slots.len() as u64, Ordering::Relaxed);
        user.view.write().add_message_vectors(slots, rows.view(), &to)?;
        user.note_change();
    }
    Ok(())
}

/// The vectors of messages, from their tokens in the index or from their texts.
fn message_rows(
    services: &EngineServices,
    user: &OpenUser,
    slots: &[u32],
    control: &dyn CallControl,
) -> Result<Option<Array2<f32>>> {
    let messages: Vec<Arc<Message>> = {
        let view = user.view.read();
        let tokens: Vec<&[u16]> = slots.iter().map(|slot| view.messages.token_ids(*slot)).collect();
        if let Some(rows) = services.embedder.embed_tokens(&tokens) {
            return Ok(Some(rows));
        }
        slots.iter().map(|slot| Arc::clone(view.messages.get(*slot))).collect()
    };
    let texts: Vec<&str> = messages.iter().map(|message| message.content.as_str()).collect();
    services.indexing_settings().embed_batches(&texts, control)
}

/// All processes of this package follow the logs and lock out other writers, so only a program that
/// ignores the lock can cause this.
fn changed_by_others() -> Error {
    Error::new(ErrorKind::CorruptStore, "the log was changed by another program while it was open")
        .with_hint("call again; nothing was written")
}

pub(crate) fn next_step(rest: &mut impl Iterator<Item = NewMessage>) -> Vec<NewMessage> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < BATCH && bytes < BATCH_BYTES {
        let Some(message) = rest.next() else { break };
        bytes += message.content.len();
        batch.push(message);
    }
    batch
}

/// The id of a message that came without one.
///
/// A dated message is identified by content, speaker, time and session, so that the same
/// conversation added twice is stored once. A message without a date is always new: two people who
/// say "ok" say it twice.
fn derived_id(owner: &Owner, new: &NewMessage, seq: u64) -> String {
    let place = match new.timestamp {
        Some(timestamp) => timestamp.micros().to_le_bytes(),
        None => seq.to_le_bytes(),
    };
    let parts = [
        if new.timestamp.is_some() { &b"dated"[..] } else { b"undated" },
        &place,
        new.session_id.as_deref().unwrap_or_default().as_bytes(),
        new.role.as_bytes(),
        new.name.as_deref().unwrap_or_default().as_bytes(),
        new.content.as_bytes(),
    ];
    record_id(owner, "message", &parts)
}
