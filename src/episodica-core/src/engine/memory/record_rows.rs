//! The records of a view as rows of a snapshot: appended to the rows of the previous snapshot, and
//! read one by one.

use bytemuck::{Pod, Zeroable};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
use crate::index::MessageIndex;
use crate::model::{CompressedPages, Episode, Message, RecordShelf, ShelfWriter};
use crate::store::Segment;

/// Number of rows of each kind that are written while the view is locked once.
const ROWS_AT_ONCE: usize = 8_192;

/// The records of a view in the form of a snapshot, as far as they are written.
#[derive(Default)]
pub(super) struct RecordRows {
    pub messages: ShelfWriter,
    pub episodes: ShelfWriter,
    pub facts: ShelfWriter,
}

impl RecordRows {
    /// The rows of the snapshot on disk, as far as they can be read.
    pub fn of_snapshot(segment: &Segment) -> Self {
        let rows = |number| {
            let pages = segment.open_pack(number);
            pages
                .and_then(|mut pack| CompressedPages::unpack_columns(&mut pack))
                .map(ShelfWriter::continue_after)
        };
        let [messages, episodes, facts] = [1, 2, 3].map(|number| rows(number).unwrap_or_default());
        Self { messages, episodes, facts }
    }

    /// True if few rows are missing.
    pub fn are_nearly_whole(&self, view: &UserView) -> bool {
        [
            (&self.messages, view.messages.slot_count()),
            (&self.episodes, view.episodes.slot_count()),
            (&self.facts, view.facts.slot_count()),
        ]
        .iter()
        .all(|(rows, count)| rows.len() + ROWS_AT_ONCE > *count)
    }

    /// Writes the next rows; `None` if a record can't be encoded.
    pub fn go_on(&mut self, view: &UserView) -> Option<()> {
        write_messages(&view.messages, &mut self.messages, ROWS_AT_ONCE)?;
        write_episodes(view, &mut self.episodes, ROWS_AT_ONCE)?;
        write_facts(view, &mut self.facts, ROWS_AT_ONCE)
    }
}

pub(super) fn write_messages(
    messages: &MessageIndex,
    rows: &mut ShelfWriter,
    count: usize,
) -> Option<()> {
    let shelf = messages.shelved_messages();
    if rows.len() < shelf.len() {
        *rows = ShelfWriter::continue_after(shelf.pages().clone());
    }
    let unwritten = messages.unshelved_messages().get(rows.len() - shelf.len()..)?;
    unwritten.iter().take(count).try_for_each(|message| {
        rows.push_row(&write_message(message)?);
        Some(())
    })
}

pub(super) fn write_episodes(view: &UserView, rows: &mut ShelfWriter, count: usize) -> Option<()> {
    view.episodes.write_rows(rows, count, |slot, episode| {
        write_episode(view, view.members.get(slot), episode)
    })
}

pub(super) fn write_facts(view: &UserView, rows: &mut ShelfWriter, count: usize) -> Option<()> {
    view.facts.write_rows(rows, count, |_, fact| to_json(fact))
}

pub(super) fn to_json(record: &impl Serialize) -> Option<Vec<u8>> {
    serde_json::to_vec(record).ok()
}

pub(super) fn read_json<R: serde::de::DeserializeOwned>(row: &[u8]) -> Option<R> {
    serde_json::from_slice(row).ok()
}

/// The fixed-size part of a message's row: numbers, and the end of each text. [`NO_TEXT`] is the
/// end of a missing text.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct MessageHead {
    seq: u64,
    micros: i64,
    offset_seconds: i32,
    /// Ends of id, role, content, name, session, agent, metadata, time of the edit.
    ends: [u32; 8],
    /// Fills the last eight bytes.
    unused: u32,
}

/// The end of a missing text.
const NO_TEXT: u32 = u32::MAX;

/// A binary row, because messages are many and read ten at a time with their episode: JSON takes
/// five times as long to read.
fn write_message(message: &Message) -> Option<Vec<u8>> {
    let metadata = message.metadata.as_ref().map(|raw| raw.get());
    let (id, role, content) =
        (Some(&*message.message_id), Some(&*message.role), Some(&*message.content));
    let name = message.name.as_deref();
    let (session, agent) = (message.session_id.as_deref(), message.agent_id.as_deref());
    let edited = message.edited_at.map(|at| at.to_string());
    let texts = [id, role, content, name, session, agent, metadata, edited.as_deref()];
    let (micros, offset_seconds) = (message.timestamp.micros(), message.timestamp.offset_seconds());
    let (seq, ends) = (message.seq, [NO_TEXT; 8]);
    let mut head = MessageHead { seq, micros, offset_seconds, ends, unused: 0 };
    let mut end = 0_usize;
    for (text, place) in texts.iter().zip(&mut head.ends) {
        if let Some(text) = text {
            end += text.len();
            *place = u32::try_from(end).ok().filter(|end| *end != NO_TEXT)?;
        }
    }
    let mut row = bytemuck::bytes_of(&head).to_vec();
    texts.iter().flatten().for_each(|text| row.extend_from_slice(text.as_bytes()));
    Some(row)
}

pub(super) fn read_message(row: &[u8]) -> Option<Message> {
    let (head, texts) = row.split_at_checked(size_of::<MessageHead>())?;
    let head: MessageHead = bytemuck::pod_read_unaligned(head);
    let mut start = 0;
    // The outer `None`: the row is malformed. The inner `None`: the message lacks this text.
    let mut next = |end: u32| -> Option<Option<&str>> {
        if end == NO_TEXT {
            return Some(None);
        }
        let text = std::str::from_utf8(texts.get(start..end as usize)?).ok()?;
        start = end as usize;
        Some(Some(text))
    };
    let [id, role, content, name, session, agent, metadata, edited] = head.ends;
    Some(Message {
        seq: head.seq,
        timestamp: Moment::new(head.micros, head.offset_seconds).ok()?,
        message_id: next(id)??.to_owned(),
        role: next(role)??.into(),
        content: next(content)??.to_owned(),
        name: next(name)?.map(Into::into),
        session_id: next(session)?.map(Into::into),
        agent_id: next(agent)?.map(Into::into),
        metadata: match next(metadata)? {
            Some(text) => Some(RawValue::from_string(text.to_owned()).ok()?),
            None => None,
        },
        edited_at: match next(edited)? {
            Some(text) => Some(Moment::parse(text).ok()?),
            None => None,
        },
    })
}

/// Writes the row of an episode: the number of its messages, their slots instead of their contents,
/// then the rest of the episode.
pub(super) fn write_episode(
    view: &UserView,
    members: &[u32],
    episode: &Episode,
) -> Option<Vec<u8>> {
    let said = &episode.original_messages;
    let mut row = (said.len() as u32).to_le_bytes().to_vec();
    // Looking up each message by its id would take most of the time.
    if members.len() == said.len() {
        row.extend(members.iter().flat_map(|slot| slot.to_le_bytes()));
    } else {
        for message in said {
            row.extend_from_slice(&view.messages.slot_of(&message.message_id)?.to_le_bytes());
        }
    }
    row.extend(to_json(&Episode { original_messages: Vec::new(), ..episode.clone() })?);
    Some(row)
}

pub(super) fn read_episode(row: &[u8], messages: &RecordShelf<Message>) -> Option<Episode> {
    let (count, rest) = row.split_first_chunk()?;
    let (slots, rest) = rest.split_at_checked(4 * u32::from_le_bytes(*count) as usize)?;
    let slots: Vec<u32> =
        slots.as_chunks().0.iter().map(|slot| u32::from_le_bytes(*slot)).collect();
    if slots.iter().any(|slot| *slot as usize >= messages.len()) {
        return None;
    }
    let rest = read_json(rest)?;
    Some(Episode { original_messages: messages.get_rows(&slots), ..rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_comes_back_whatever_it_has() {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        for (name, session, agent, metadata) in [
            (None, None, None, None),
            (Some("Ann"), None, Some("travel"), Some("{\"a\": [1.10, null]}")),
            (None, Some(""), Some(""), None),
            (Some("林晓禾"), Some("s"), None, Some("null")),
            (None, None, Some("客服"), Some("[]")),
        ] {
            let message = Message {
                message_id: "m".into(),
                seq: 7,
                role: "tool".into(),
                name: name.map(Into::into),
                content: String::new(),
                timestamp: Moment::parse("2024-03-11T09:30:00.000001+05:30").unwrap(),
                session_id: session.map(Into::into),
                agent_id: agent.map(Into::into),
                metadata: metadata.map(raw),
                edited_at: session.map(|_| Moment::parse("2025-01-01T00:00:00.5-08:00").unwrap()),
            };
            assert_eq!(
                format!("{:?}", read_message(&write_message(&message).unwrap()).unwrap()),
                format!("{message:?}")
            );
        }
    }
}
