//! The index itself: messages in their slots, by id, by speaker and by session.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHashMap;

use super::names::name_words;
use super::prior::{LocalDay, MessagePrior};
use super::reading::MessageReading;
use super::sample::IdSample;
use super::threads::{NONE, ThreadLinks, ThreadPlace, is_connected};
use crate::error::Result;
use crate::index::{ListColumn, StringInterner, TextIndex};
use crate::model::{InMemory, Message, RecordShelf, block_size, map_bytes};

/// Versions of messages, oldest first, by id.
pub(crate) type MessageVersions = HashMap<String, Vec<Arc<Message>>>;

/// Identifies a speaker within an index.
pub type SpeakerId = u32;

/// All messages of one user.
#[derive(Default)]
pub struct MessageIndex {
    /// Word and vector index of the contents.
    pub field: TextIndex,
    pub(super) rows: Vec<ThreadPlace>,
    pub(super) links: Vec<ThreadLinks>,
    pub(super) priors: Vec<MessagePrior>,
    /// The first messages, if they came from a snapshot.
    pub(super) shelf: Arc<RecordShelf<Message>>,
    /// The messages after those of the shelf.
    pub(super) records: Vec<Arc<Message>>,
    /// Messages of the shelf that were edited, by slot.
    pub(super) edited: FxHashMap<u32, Arc<Message>>,
    /// Earlier versions of messages, oldest first, by id.
    pub(super) history: MessageVersions,
    /// Message ids; the number of an id is the slot.
    pub(super) ids: StringInterner,
    /// Names of speakers; the number of a name is the [`SpeakerId`].
    pub(super) names: StringInterner,
    pub(super) speakers: Vec<Vec<String>>,
    /// Number of messages of each speaker.
    pub(super) spoken: Vec<u32>,
    /// The last message of each session. Messages without a session are split into threads by
    /// pauses.
    pub(super) ends: HashMap<Option<Arc<str>>, u32>,
    /// WordPiece ids of every message.
    pub(super) tokens: ListColumn<u16>,
    /// Memory of the messages that the shelf does not contain, in bytes.
    pub(super) record_bytes: usize,
    /// A random sample of the messages.
    pub(super) sample: IdSample,
}

impl MessageIndex {
    /// Appends a message with its WordPiece ids; returns its slot, or `None` if its id is known.
    pub fn add_message(&mut self, message: Arc<Message>, tokens: &[u16]) -> Option<u32> {
        let reading = MessageReading::from_content(&message.content, tokens.to_vec());
        self.add_read(message, &reading)
    }

    /// [`MessageIndex::add_message`] for a message that was analysed beforehand.
    pub(crate) fn add_read(
        &mut self,
        message: Arc<Message>,
        reading: &MessageReading,
    ) -> Option<u32> {
        let (slot, new) = self.ids.intern_key(&message.message_id);
        if !new {
            return None;
        }
        let end = self.ends.insert(message.session_id.clone(), slot);
        let previous = end.filter(|end| is_connected(self.get(*end), &message));
        let speaker = self.intern_speaker(message.speaker());
        self.field.postings.add_terms(slot, &reading.terms);
        self.rows.push(ThreadPlace { previous: NONE, next: NONE, line_tokens: AtomicU32::new(0) });
        self.links.push(ThreadLinks(0));
        if let Some(previous) = previous {
            self.connect_neighbours(previous, slot);
        }
        let answers =
            previous.map_or(0.0, |before| self.priors[before as usize].features.question_share);
        self.priors.push(MessagePrior {
            speaker,
            features: reading.features,
            answers,
            day: LocalDay::from_moment(message.timestamp),
            by_agent: message.is_agent(),
        });
        self.tokens.push_list(reading.tokens.iter().copied());
        self.record_bytes += message.heap_bytes();
        self.sample.offer_message(&message.message_id, slot);
        self.records.push(message);
        Some(slot)
    }

    /// Gives a message other words; the earlier ones become history. Returns its slot; `None` for
    /// an unknown id.
    ///
    /// # Errors
    /// `Index` if the vector library fails.
    pub(crate) fn replace_message(
        &mut self,
        message: &Arc<Message>,
        reading: &MessageReading,
    ) -> Result<Option<u32>> {
        let Some(slot) = self.ids.number_of(&message.message_id) else { return Ok(None) };
        let earlier = Arc::clone(self.get(slot));
        self.field.remove_slot(slot)?;
        self.field.postings.replace_terms(slot, &reading.terms);
        self.tokens.replace_list(slot, &reading.tokens);
        let at = slot as usize;
        self.priors[at].features = reading.features;
        if let Some(next) = self.next(slot) {
            self.priors[next as usize].answers = reading.features.question_share;
        }
        self.rows[at].line_tokens = AtomicU32::new(0);
        self.record_bytes += message.heap_bytes();
        match at.checked_sub(self.shelf.len()) {
            Some(later) => self.records[later] = Arc::clone(message),
            // The shelf's own version was not counted.
            None if self.edited.insert(slot, Arc::clone(message)).is_none() => {
                self.record_bytes += earlier.heap_bytes();
            }
            None => {}
        }
        self.history.entry(message.message_id.clone()).or_default().push(earlier);
        Ok(Some(slot))
    }

    /// Earlier versions of a message, oldest first.
    pub fn earlier_versions(&self, message_id: &str) -> &[Arc<Message>] {
        self.history.get(message_id).map_or(&[], Vec::as_slice)
    }

    /// Sets the earlier versions as they were read from a log.
    pub(crate) fn set_history(&mut self, history: MessageVersions) {
        let versions = history.values().flatten();
        self.record_bytes += versions.map(|message| message.heap_bytes()).sum::<usize>();
        self.history = history;
    }

    /// The earlier versions of all messages.
    pub(crate) fn version_history(&self) -> &MessageVersions {
        &self.history
    }

    /// Removes a message with its earlier versions, and connects its neighbours. Returns its slot;
    /// `None` for an unknown id.
    ///
    /// # Errors
    /// `Index` if the vector library fails.
    pub fn remove_message(&mut self, message_id: &str) -> Result<Option<u32>> {
        let Some(slot) = self.ids.number_of(message_id) else { return Ok(None) };
        let message = Arc::clone(self.get(slot));
        let linked = self.previous_slot(slot);
        // Without a session, messages that were not connected to this one may become connected to
        // each other by its removal.
        let before = linked.or_else(|| self.first_sessionless(&message, (0..slot).rev()));
        let next = self
            .next(slot)
            .or_else(|| self.first_sessionless(&message, slot + 1..self.slot_count() as u32));
        let last = self.ends.get(&message.session_id) == Some(&slot);
        self.field.remove_slot(slot)?;
        self.ids.remove_key(message_id);
        let versions = self.history.remove(message_id).into_iter().flatten();
        self.record_bytes -= versions.map(|version| version.heap_bytes()).sum::<usize>();
        if self.edited.remove(&slot).is_some() {
            self.record_bytes -= message.heap_bytes();
        }
        if self.sample.has_slot(slot) {
            self.sample = self.draw_sample();
        }
        self.tidy_speaker(slot);
        self.links[slot as usize] = ThreadLinks(0);
        if let Some(later) = (slot as usize).checked_sub(self.shelf.len()) {
            let empty = Message { content: String::new(), metadata: None, ..(*message).clone() };
            self.record_bytes -= message.heap_bytes();
            self.record_bytes += empty.heap_bytes();
            self.records[later] = Arc::new(empty);
        }
        if let Some(linked) = linked {
            self.links[linked as usize].0 &= !(ThreadLinks::NEXT_BESIDE | ThreadLinks::NEXT_AFAR);
        }
        if let Some(next) = next {
            self.links[next as usize].0 &=
                !(ThreadLinks::PREVIOUS_BESIDE | ThreadLinks::PREVIOUS_AFAR);
            let joined = before.filter(|before| is_connected(self.get(*before), self.get(next)));
            if let Some(before) = joined {
                self.connect_neighbours(before, next);
            }
            self.priors[next as usize].answers =
                joined.map_or(0.0, |before| self.priors[before as usize].features.question_share);
        }
        if last {
            match before {
                Some(before) => self.ends.insert(message.session_id.clone(), before),
                None => self.ends.remove(&message.session_id),
            };
        }
        Ok(Some(slot))
    }

    /// Removes a speaker's name after their last message was removed.
    fn tidy_speaker(&mut self, slot: u32) {
        let speaker = self.priors[slot as usize].speaker as usize;
        self.spoken[speaker] -= 1;
        if self.spoken[speaker] == 0 {
            self.speakers[speaker].clear();
        }
    }

    fn intern_speaker(&mut self, name: &str) -> SpeakerId {
        let (id, new) = self.names.intern_key(name);
        if new {
            self.speakers.push(Vec::new());
            self.spoken.push(0);
        }
        if self.spoken[id as usize] == 0 {
            self.speakers[id as usize] = name_words(name);
        }
        self.spoken[id as usize] += 1;
        id
    }

    /// Whether the slot has a message that was not removed.
    pub fn has_message(&self, slot: u32) -> bool {
        self.field.postings.is_alive(slot)
    }

    /// The message in a slot. The slot must not be empty.
    pub fn get(&self, slot: u32) -> &Arc<Message> {
        match (slot as usize).checked_sub(self.shelf.len()) {
            None => self.edited.get(&slot).unwrap_or_else(|| self.shelf.get(slot)),
            Some(later) => &self.records[later],
        }
    }

    /// The slot of a message.
    pub fn slot_of(&self, message_id: &str) -> Option<u32> {
        self.ids.number_of(message_id)
    }

    /// Whether the session has messages.
    pub(crate) fn has_session(&self, session_id: &str) -> bool {
        self.ends.contains_key(&Some(Arc::from(session_id)))
    }

    /// Slots of all messages, ascending.
    pub fn message_slots(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.slot_count() as u32).filter(|slot| self.has_message(*slot))
    }

    /// All messages in order of arrival, with their slots.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Arc<Message>)> {
        self.message_slots().map(|slot| (slot, self.get(slot)))
    }

    /// All messages in order of arrival.
    pub fn all_messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.iter().map(|(_, message)| message)
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.field.postings.len()
    }

    /// True if the index contains no messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest slot ever given out.
    pub(crate) fn slot_count(&self) -> usize {
        self.rows.len()
    }

    /// The features of each message that do not depend on the question, by slot.
    pub(crate) fn priors(&self) -> &[MessagePrior] {
        &self.priors
    }

    /// The words by which each speaker can be named, by [`SpeakerId`].
    pub fn speaker_words(&self) -> &[Vec<String>] {
        &self.speakers
    }

    /// Token count of the message as a line of a context; calls `count` only the first time.
    ///
    /// # Errors
    /// The error of `count`.
    pub(crate) fn line_tokens(
        &self,
        slot: u32,
        count: impl FnOnce() -> Result<usize>,
    ) -> Result<usize> {
        let known = &self.rows[slot as usize].line_tokens;
        match known.load(Ordering::Relaxed) {
            0 => {
                let tokens = count()?;
                known.store(u32::try_from(tokens).unwrap_or(u32::MAX), Ordering::Relaxed);
                Ok(tokens)
            }
            tokens => Ok(tokens as usize),
        }
    }

    /// WordPiece ids of a message.
    pub fn token_ids(&self, slot: u32) -> &[u16] {
        self.tokens.get(slot)
    }

    /// Size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let a_row = size_of::<ThreadPlace>() + size_of::<ThreadLinks>() + size_of::<MessagePrior>();
        let sessions = map_bytes(self.ends.capacity(), size_of::<(Option<Arc<str>>, u32)>());
        self.record_bytes
            + self.shelf.heap_bytes()
            + block_size(self.records.capacity() * size_of::<Arc<Message>>())
            + block_size(self.rows.capacity() * a_row)
            + sessions
            + self.ids.heap_bytes()
            + self.tokens.heap_bytes()
            + self.field.heap_bytes()
    }

    /// The first messages, if they came from a snapshot.
    pub(crate) fn shelved_messages(&self) -> &Arc<RecordShelf<Message>> {
        &self.shelf
    }

    /// The messages after those of the shelf.
    pub(crate) fn unshelved_messages(&self) -> &[Arc<Message>] {
        &self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;

    fn message(
        id: &str,
        name: &str,
        session: Option<&str>,
        minute: u32,
        content: &str,
    ) -> Arc<Message> {
        Arc::new(Message {
            message_id: id.into(),
            seq: 0,
            role: "user".into(),
            name: Some(name.into()),
            content: content.into(),
            timestamp: Moment::parse(&format!(
                "2024-01-01T{:02}:{:02}:00Z",
                minute / 60,
                minute % 60
            ))
            .expect("valid"),
            session_id: session.map(Into::into),
            agent_id: None,
            metadata: None,
            edited_at: None,
        })
    }

    #[test]
    fn threads_follow_sessions_and_pauses() {
        let mut index = MessageIndex::default();
        for (id, session, minute) in [
            ("a", Some("1"), 0),
            ("b", None, 1),
            ("c", Some("1"), 200),
            ("d", None, 20),
            ("e", None, 900),
        ] {
            index.add_message(
                message(id, "Ann (HR)", session, minute, "Is it 5? Yes. See you next week"),
                &[1, 2],
            );
        }
        assert_eq!(index.add_message(message("a", "Ann", None, 0, "again"), &[]), None);
        assert_eq!(
            (index.next(0), index.next(1), index.previous_slot(4)),
            (Some(2), Some(3), None)
        );
        assert_eq!(index.speaker_words()[0], ["ann"]);
        let (first, told) = (index.priors()[0], index.priors()[0].features);
        assert!((told.question_share - 1.0 / 3.0).abs() < 1e-6);
        assert!(told.tells_time && told.has_number);
        assert_eq!((first.answers, index.priors()[2].answers), (0.0, told.question_share));
        assert_eq!(index.token_ids(4), [1, 2]);
    }
}
