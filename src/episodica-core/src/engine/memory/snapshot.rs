//! The snapshot in a user's segment: the view in packs, written at closing and as logs grow, and
//! restored if the logs have at most grown.
//!
//! Opening a large user from the logs reads every record and every word again. A snapshot restores
//! the indexes, and its records stay unread until they are needed. It pays off only for large users
//! ([`MemoryConfig::snapshot_threshold`]). It is derived from the logs: losing it only costs time.
//!
//! [`MemoryConfig::snapshot_threshold`]: crate::config::Config::snapshot_threshold

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::memory::backlog::UserBacklog;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::record_rows::{
    RecordRows, read_episode, read_json, read_message, to_json, write_episode, write_episodes,
    write_facts, write_messages,
};
use crate::engine::memory::table::RecordTable;
use crate::engine::memory::vector_field::VectorField;
use crate::engine::memory::view::{NONE, UserView};
use crate::index::{ListColumn, MessageIndex, Postings, StringInterner, TextIndex, VectorIndex};
use crate::matrix::Matrix;
use crate::model::{Message, RecordShelf, SemanticMemory, ShelfWriter};
use crate::pack::{ColumnPacker, ColumnUnpacker};
use crate::store::{LogSum, Segment, SegmentFooter, SnapshotPart, VectorPart};

/// The part of a view that is neither an index nor a record.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SnapshotRest {
    next_seq: u64,
    merged: HashMap<String, String>,
    #[serde(flatten)]
    backlog: UserBacklog,
}

/// Incremented with every change of the packs, and of the code that computes them.
const LAYOUT: u32 = 15;

/// Identifies the writer of snapshots, and everything that a view depends on except the logs.
fn snapshot_maker(to: &IndexingSettings<'_>) -> String {
    let learning = if to.config.semantic_memory { "with" } else { "without" };
    let (version, model) = (env!("CARGO_PKG_VERSION"), to.embedder.model_name());
    format!("episodica {version}, layout {LAYOUT}, {model}, {learning} semantic memory")
}

/// The snapshot of a segment, if this process can read it.
pub(super) fn readable_snapshot<'a>(
    footer: &'a SegmentFooter,
    to: &IndexingSettings<'_>,
) -> Option<&'a SnapshotPart> {
    footer.snapshot.as_ref().filter(|snapshot| snapshot.made_by == snapshot_maker(to))
}

/// Restores the view of a snapshot, and the number of the next message; `None` if its packs or the
/// vectors are damaged. The caller compares the logs.
pub(super) fn restore_view(
    segment: &Segment,
    to: &IndexingSettings<'_>,
) -> Option<(UserView, u64)> {
    let mut first = segment.open_pack(0)?;
    let labels = unpack_labels(&mut first)?;
    let remainder: SnapshotRest = first.next_json()?;
    let (messages, episodes, facts) =
        (segment.open_pack(1)?, segment.open_pack(2)?, segment.open_pack(3)?);
    if !first.ends_whole() {
        return None;
    }
    let read = |field: VectorField| {
        let rows = || segment.read_vectors(field.part_number()).ok();
        let labels = &labels[field as usize];
        restore_vectors(&segment.footer.vectors[field.part_number()], labels, rows, to)
    };
    let (vectors, records) = crate::parallel::join_pair(
        || crate::parallel::join_pair(|| read(VectorField::Message), || read(VectorField::Fact)),
        || restore_records(messages, episodes, facts),
    );
    let mut view = records?;
    view.messages.field.take_vectors(vectors.0?);
    view.statements.take_vectors(vectors.1?);
    let SnapshotRest { next_seq, merged, backlog } = remainder;
    let view = UserView { merged, backlog, ..view };
    let mut view = (next_seq < LAST_SEQ && view.is_sound()).then_some(view)?;
    view.fill_episode_vectors(to).ok()?;
    Some((view, next_seq))
}

/// The labels of each field's vectors, in the order of the vectors.
pub(super) fn unpack_labels(first: &mut ColumnUnpacker<'_>) -> Option<[Vec<u32>; 2]> {
    Some([first.next_column()?, first.next_column()?])
}

/// A field with the vectors of a segment. It has no word index yet: `restore_records` restores
/// that.
fn restore_vectors(
    part: &VectorPart,
    labels: &[u32],
    rows: impl FnOnce() -> Option<Matrix<'static>>,
    to: &IndexingSettings<'_>,
) -> Option<TextIndex> {
    let mut field = TextIndex::default();
    if labels.len() != part.rows {
        return None;
    }
    if !labels.is_empty() {
        let labels = labels.iter().map(|label| u64::from(*label)).collect();
        field.restore_vectors(to.factory, labels, rows()?).ok()?;
    }
    Some(field)
}

impl UserView {
    /// True if every slot has a record, and the tables by slot are as long as the records. (The
    /// checksums of a snapshot only find accidental changes.)
    fn is_sound(&self) -> bool {
        let (messages, episodes, facts) =
            (self.messages.slot_count(), self.episodes.slot_count(), self.facts.slot_count());
        let is_message = |slot: &u32| (*slot as usize) < messages;
        let alike = |field: &TextIndex, slots: usize, there: &dyn Fn(u32) -> bool| {
            let labels = field.vector_index().map_or(&[][..], VectorIndex::labels);
            field.postings.slot_count() == slots
                && (0..slots as u32).all(|slot| field.postings.is_alive(slot) == there(slot))
                && labels.iter().all(|label| u32::try_from(*label).is_ok_and(there))
        };
        alike(&self.messages.field, messages, &|slot| self.messages.has_message(slot))
            && alike(&self.abstracts, episodes, &|slot| self.episodes.is_current(slot))
            && alike(&self.narratives, episodes, &|slot| self.episodes.is_current(slot))
            && alike(&self.statements, facts, &|slot| self.facts.is_current(slot))
            && self.members.len() == episodes
            && self.members.all_values().iter().all(is_message)
            && self.episode_of.len() <= messages
            && self.episode_of.iter().all(|slot| *slot == NONE || (*slot as usize) < episodes)
            && [self.statement_tokens.len(), self.sources.len(), self.linked.len()] == [facts; 3]
            && self.standings.len() == facts
            && self.sources.all_values().iter().all(is_message)
            && self.standings.iter().all(|fact| (fact.subject as usize) < self.subjects.len())
            && self.fact_texts.values().all(|slot| (*slot as usize) < facts)
            && self.backlog.buffered_slots().iter().all(is_message)
    }

    /// True after a record could not be read, because the snapshot's file was changed.
    pub fn is_unsound(&self) -> bool {
        self.messages.shelved_messages().is_unsound()
            || self.episodes.is_unsound()
            || self.facts.is_unsound()
    }
}

/// Message numbers stay below this, so that every JSON reader can represent them.
const LAST_SEQ: u64 = 1 << 53;

/// Packs the view and the written rows of its records, as the snapshot for logs with these sums.
/// `None` if something can't be encoded.
pub(super) fn packed_snapshot(
    view: &UserView,
    next_seq: u64,
    logs: [LogSum; 3],
    rows: RecordRows,
    to: &IndexingSettings<'_>,
) -> Option<(SnapshotPart, Vec<Vec<u8>>)> {
    let packs = pack_view(view, next_seq, rows)?;
    let (pieces, packs): (Vec<_>, _) = packs.map(ColumnPacker::finish).into_iter().unzip();
    let snapshot = SnapshotPart { made_by: snapshot_maker(to), logs, packs };
    Some((snapshot, pieces.into_iter().flatten().collect()))
}

/// The packs of a view: labels and remainder, messages, episodes, facts.
fn pack_view(view: &UserView, next_seq: u64, rows: RecordRows) -> Option<[ColumnPacker; 4]> {
    let mut first = ColumnPacker::default();
    for field in VectorField::ALL {
        first.push_values(field.indexed_labels(view).iter().map(|label| *label as u32));
    }
    first.push_json(&SnapshotRest {
        next_seq,
        merged: view.merged.clone(),
        backlog: view.backlog.clone(),
    });
    let (messages, (episodes, facts)) = crate::parallel::join_pair(
        || pack_messages(&view.messages, rows.messages),
        || {
            crate::parallel::join_pair(
                || pack_episodes(view, rows.episodes),
                || pack_facts(view, rows.facts),
            )
        },
    );
    Some([first, messages?, episodes?, facts?])
}

fn restore_records(
    mut messages: ColumnUnpacker<'_>,
    mut episodes: ColumnUnpacker<'_>,
    mut facts: ColumnUnpacker<'_>,
) -> Option<UserView> {
    let shelf = Arc::new(RecordShelf::unpack_columns(&mut messages, Box::new(read_message))?);
    let spoken = Arc::clone(&shelf);
    let (messages, (episodes, facts)) = crate::parallel::join_pair(
        || checked_content(MessageIndex::unpack_columns(&mut messages, shelf), messages),
        || {
            let episodes = || checked_content(unpack_episodes(&mut episodes, spoken), episodes);
            crate::parallel::join_pair(episodes, || {
                checked_content(unpack_facts(&mut facts), facts)
            })
        },
    );
    let (messages, episodes, mut facts) = (messages?, episodes?, facts?);
    let UserView { episodes, abstracts, narratives, members, episode_of, hidden, .. } = episodes;
    let hidden = hidden.with_facts_of(std::mem::take(&mut facts.hidden));
    Some(UserView {
        messages,
        episodes,
        abstracts,
        narratives,
        members,
        episode_of,
        hidden,
        ..facts
    })
}

/// The content of a pack, if its checksum matches.
fn checked_content<T>(unpacked: Option<T>, from: ColumnUnpacker<'_>) -> Option<T> {
    unpacked.filter(|_| from.ends_whole())
}

fn pack_messages(messages: &MessageIndex, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_messages(messages, &mut rows, usize::MAX)?;
    rows.pack_columns(&mut packer);
    messages.pack_columns(&mut packer);
    Some(packer)
}

fn pack_episodes(view: &UserView, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_episodes(view, &mut rows, usize::MAX)?;
    view.episodes.pack_columns(&mut packer, rows, |episode| write_episode(view, &[], episode))?;
    view.abstracts.postings.pack_columns(&mut packer);
    view.narratives.postings.pack_columns(&mut packer);
    view.members.pack_columns(&mut packer);
    packer.push_column(&view.episode_of);
    packer.push_values(view.hidden.episodes.iter().copied());
    Some(packer)
}

fn unpack_episodes(
    unpacker: &mut ColumnUnpacker<'_>,
    messages: Arc<RecordShelf<Message>>,
) -> Option<UserView> {
    let mut view = UserView {
        episodes: RecordTable::unpack_columns(unpacker, move |row| read_episode(row, &messages))?,
        abstracts: TextIndex::of_words(Postings::unpack_columns(unpacker)?),
        narratives: TextIndex::of_words(Postings::unpack_columns(unpacker)?),
        members: ListColumn::unpack_columns(unpacker)?,
        episode_of: unpacker.next_column()?,
        ..UserView::default()
    };
    view.take_archived(&unpacker.next_column::<u32>()?)?;
    Some(view)
}

fn pack_facts(view: &UserView, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_facts(view, &mut rows, usize::MAX)?;
    view.facts.pack_columns(&mut packer, rows, to_json)?;
    view.statements.postings.pack_columns(&mut packer);
    view.statement_tokens.pack_columns(&mut packer);
    view.sources.pack_columns(&mut packer);
    view.linked.pack_columns(&mut packer);
    packer.push_column(&view.standings);
    view.subjects.pack_columns(&mut packer);
    let mut texts: Vec<[u64; 2]> =
        view.fact_texts.iter().map(|(text, slot)| [*text, u64::from(*slot)]).collect();
    texts.sort_unstable();
    packer.push_column(&texts);
    let expiring = view.hidden.expiring.iter();
    packer.push_values(expiring.map(|(at, slot)| [*at, i64::from(*slot)]));
    Some(packer)
}

fn unpack_facts(unpacker: &mut ColumnUnpacker<'_>) -> Option<UserView> {
    let mut view = UserView {
        facts: RecordTable::unpack_columns(unpacker, read_json::<SemanticMemory>)?,
        statements: TextIndex::of_words(Postings::unpack_columns(unpacker)?),
        statement_tokens: ListColumn::unpack_columns(unpacker)?,
        sources: ListColumn::unpack_columns(unpacker)?,
        linked: ListColumn::unpack_columns(unpacker)?,
        standings: unpacker.next_column()?,
        subjects: StringInterner::unpack_columns(unpacker)?,
        fact_texts: unpacker
            .next_column::<[u64; 2]>()?
            .into_iter()
            .map(|[text, slot]| (text, slot as u32))
            .collect(),
        ..UserView::default()
    };
    view.take_expiring(&unpacker.next_column::<[i64; 2]>()?)?;
    Some(view)
}
