//! Saves the view for the next process: packs it at closing and as logs grow, and restores it if
//! the vectors have not changed and the logs have at most grown.
//!
//! Opening a large user from the logs reads every record and every word again. A snapshot restores
//! the indexes, and its records stay unread until they are needed. It pays off only for large users
//! ([`MemoryConfig::snapshot_threshold`]). It is a cache, derived from the logs: losing it only
//! costs time.
//!
//! [`MemoryConfig::snapshot_threshold`]: crate::config::Config::snapshot_threshold

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::engine::memory::attributes::AttributeIndex;
use crate::engine::memory::backlog::UserBacklog;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::record_rows::{
    RecordRows, json, read_episode, read_json, read_message, write_episode, write_episodes,
    write_facts, write_messages,
};
use crate::engine::memory::table::RecordTable;
use crate::engine::memory::vector_files::{NamedVectors, VectorFiles};
use crate::engine::memory::view::{NONE, UserView};
use crate::ids::Owner;
use crate::index::{ListColumn, MessageIndex, Postings, StringInterner, TextIndex, VectorIndex};
use crate::matrix::Matrix;
use crate::model::{Message, RecordShelf, SemanticMemory, ShelfWriter};
use crate::pack::{ColumnPacker, ColumnUnpacker, PackSum};
use crate::store::{FileSum, LogKind, LogPosition, LogSum, SnapshotHead, Store};

/// The part of a view that is neither an index nor a record.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SnapshotRest {
    next_seq: u64,
    merged: HashMap<String, String>,
    #[serde(flatten)]
    backlog: UserBacklog,
}

/// A restored view, the rows of its vectors, and the number of the next message.
pub(super) struct RestoredView {
    pub view: UserView,
    pub files: VectorFiles,
    pub next_seq: u64,
}

/// The last snapshot on disk.
#[derive(Debug, Clone)]
pub(crate) struct WrittenSnapshot {
    pub head: SnapshotHead,
    /// The rows of its vectors; `None` if another view wrote it.
    pub files: Option<Arc<VectorFiles>>,
}

impl WrittenSnapshot {
    /// The ends of the logs when the snapshot was taken.
    pub fn positions(&self) -> Positions {
        self.head.logs.each_ref().map(|log| log.position)
    }
}

/// Incremented with every change of the packs, and of the code that computes them.
const LAYOUT: u32 = 10;

/// Identifies the writer of snapshots, and everything that a view depends on except the logs.
fn maker(to: &IndexingSettings<'_>) -> String {
    let learning = if to.config.semantic_memory { "with" } else { "without" };
    let (version, model) = (env!("CARGO_PKG_VERSION"), to.embedder.model());
    format!("episodica {version}, layout {LAYOUT}, {model}, {learning} semantic memory")
}

/// The head of the snapshot, if this process can read it.
pub(super) fn snapshot_head(
    store: &Store,
    owner: &Owner,
    to: &IndexingSettings<'_>,
) -> Option<SnapshotHead> {
    store
        .snapshot_head(owner)
        .filter(|head| head.made_by == maker(to) && cfg!(target_endian = "little"))
}

/// Restores the view of a snapshot; `None` if the snapshot or the vectors do not match the head.
/// The caller compares the logs.
pub(super) fn restore(
    store: &Store,
    owner: &Owner,
    head: &SnapshotHead,
    to: &IndexingSettings<'_>,
) -> Option<RestoredView> {
    let pack = |number| store.snapshot_pack(owner, head, number);
    let mut first = pack(0)?;
    let named = NamedVectors::unpack(&mut first)?;
    let remainder: SnapshotRest = first.json()?;
    let (messages, episodes, facts) = (pack(1)?, pack(2)?, pack(3)?);
    if !first.ends_whole() {
        return None;
    }
    let source = VectorSource { store, owner, head, to };
    let (vectors, records) = crate::parallel::join(
        || source.fields(&named),
        || restore_records(messages, episodes, facts),
    );
    let (mut view, (vectors, is_half)) = (records?, vectors?);
    let fields =
        [&mut view.messages.field, &mut view.abstracts, &mut view.narratives, &mut view.statements];
    for (field, vectors) in fields.into_iter().zip(vectors) {
        field.take_vectors(vectors);
    }
    let SnapshotRest { next_seq, merged, backlog } = remainder;
    let view = UserView { merged, backlog, ..view };
    if next_seq >= LAST_SEQ || !view.is_sound() {
        return None;
    }
    let files =
        VectorFiles::restored(head.vectors.clone(), head.rows, is_half, head.is_named, &named);
    Some(RestoredView { view, files, next_seq })
}

impl UserView {
    /// True if every slot has a record, and the tables by slot are as long as the records. (The
    /// checksums of a snapshot only find accidental changes.)
    fn is_sound(&self) -> bool {
        let (messages, episodes, facts) =
            (self.messages.slot_count(), self.episodes.slot_count(), self.facts.slot_count());
        let is_message = |slot: &u32| (*slot as usize) < messages;
        let alike = |field: &TextIndex, slots: usize, there: &dyn Fn(u32) -> bool| {
            let labels = field.vectors().map_or(&[][..], VectorIndex::labels);
            field.postings.slots() == slots
                && (0..slots as u32).all(|slot| field.postings.is_alive(slot) == there(slot))
                && labels.iter().all(|label| u32::try_from(*label).is_ok_and(there))
        };
        alike(&self.messages.field, messages, &|slot| self.messages.contains(slot))
            && alike(&self.abstracts, episodes, &|slot| self.episodes.contains(slot))
            && alike(&self.narratives, episodes, &|slot| self.episodes.contains(slot))
            && alike(&self.statements, facts, &|slot| self.facts.contains(slot))
            && self.members.len() == episodes
            && self.members.values().iter().all(is_message)
            && self.episode_of.len() <= messages
            && self.episode_of.iter().all(|slot| *slot == NONE || (*slot as usize) < episodes)
            && [self.statement_tokens.len(), self.sources.len()] == [facts; 2]
            && [self.standings.len(), self.attributes.slot_count()] == [facts; 2]
            && self.sources.values().iter().all(is_message)
            && self.standings.iter().all(|fact| (fact.subject as usize) < self.subjects.len())
            && self.fact_texts.values().all(|slot| (*slot as usize) < facts)
            && self.backlog.buffer().iter().all(is_message)
    }

    /// True after a record could not be read, because the snapshot's file was changed.
    pub fn is_unsound(&self) -> bool {
        self.messages.shelf().is_unsound() || self.episodes.is_unsound() || self.facts.is_unsound()
    }
}

/// Message numbers stay below this, so that every JSON reader can represent them.
const LAST_SEQ: u64 = 1 << 53;

/// Reads the vectors of a snapshot.
struct VectorSource<'a> {
    store: &'a Store,
    owner: &'a Owner,
    head: &'a SnapshotHead,
    to: &'a IndexingSettings<'a>,
}

/// The fields of one file, and whether its vectors are in half precision.
type FieldsOfFile<const FIELDS: usize> = ([TextIndex; FIELDS], bool);

impl VectorSource<'_> {
    /// Reads the vectors of the fields, and whether each file is in half precision. The fields have
    /// no word index yet: `restore_records` restores that.
    fn fields(&self, named: &[NamedVectors; 4]) -> Option<([TextIndex; 4], [bool; 3])> {
        let [messages, abstracts, narratives, statements] = named;
        let (messages, others) = crate::parallel::join(
            || self.fields_of(LogKind::Messages, [messages]),
            || {
                let episodes = self.fields_of(LogKind::Episodes, [abstracts, narratives])?;
                Some((episodes, self.fields_of(LogKind::Semantic, [statements])?))
            },
        );
        let (([messages], first), (episodes, facts)) = (messages?, others?);
        let (([abstracts, narratives], second), ([statements], third)) = (episodes, facts);
        Some(([messages, abstracts, narratives, statements], [first, second, third]))
    }

    /// Reads the fields of one vector file.
    fn fields_of<const FIELDS: usize>(
        &self,
        kind: LogKind,
        named: [&NamedVectors; FIELDS],
    ) -> Option<FieldsOfFile<FIELDS>> {
        let (factory, threshold) = (self.to.factory, self.to.config.hnsw_threshold);
        let mut fields = std::array::from_fn(|_| TextIndex::default());
        let count = self.head.rows[kind as usize];
        let is_in = |row: &u32| (*row as usize) < count;
        if named.iter().any(|named| named.labels.len() >= threshold)
            || !named.iter().all(|named| named.rows.iter().all(is_in))
        {
            return None;
        }
        if count == 0 {
            return Some((fields, false));
        }
        let mut rows = Some(self.store.snapshot_vectors(self.owner, self.head, kind, count)?);
        let is_half = rows.as_ref().is_some_and(Matrix::is_half);
        for (number, (field, named)) in fields.iter_mut().zip(named).enumerate() {
            let places: Vec<usize> = named.rows.iter().map(|row| *row as usize).collect();
            // The last field may keep the rows without a copy.
            let own = if number + 1 == FIELDS {
                rows.take()?.select(&places)
            } else {
                rows.as_ref()?.view().select(&places).into_owned()
            };
            field.restore_vectors(factory, threshold, named.labels.clone(), own).ok()?;
        }
        Some((fields, is_half))
    }
}

pub(super) struct PackedView {
    /// The packs, end to end.
    pub pieces: Vec<Vec<u8>>,
    sums: Vec<PackSum>,
    dimension: usize,
}

impl PackedView {
    /// Packs the view, the rows of its vectors, and the written rows of its records. `None` if
    /// something can't be encoded.
    pub fn new(
        view: &UserView,
        next_seq: u64,
        files: &VectorFiles,
        rows: RecordRows,
    ) -> Option<Self> {
        let packs = pack(view, next_seq, files, rows)?;
        let (packs, sums): (Vec<_>, _) = packs.map(ColumnPacker::finish).into_iter().unzip();
        let pieces = packs.into_iter().flatten().collect();
        let dimension = view.messages.field.vectors().map_or(0, VectorIndex::dimension);
        Some(Self { pieces, sums, dimension })
    }

    /// The head for logs with these sums.
    pub fn head(
        &self,
        logs: [LogSum; 3],
        files: &VectorFiles,
        to: &IndexingSettings<'_>,
    ) -> SnapshotHead {
        SnapshotHead {
            made_by: maker(to),
            logs,
            vectors: files.sums.clone(),
            rows: files.rows,
            is_named: files.is_named,
            dimension: self.dimension,
            packs: self.sums.clone(),
        }
    }
}

/// Length and checksum of the vectors of each log; `None` without vectors.
pub(crate) type VectorSums = [Option<FileSum>; 3];

/// The end of each log.
pub(crate) type Positions = [LogPosition; 3];

/// The packs of a view: labels and remainder, messages, episodes, facts.
fn pack(
    view: &UserView,
    next_seq: u64,
    files: &VectorFiles,
    rows: RecordRows,
) -> Option<[ColumnPacker; 4]> {
    let mut first = ColumnPacker::default();
    files.pack(view, &mut first);
    first.json(&SnapshotRest {
        next_seq,
        merged: view.merged.clone(),
        backlog: view.backlog.clone(),
    });
    let (messages, (episodes, facts)) = crate::parallel::join(
        || pack_messages(&view.messages, rows.messages),
        || {
            crate::parallel::join(
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
    let shelf = Arc::new(RecordShelf::unpack(&mut messages, Box::new(read_message))?);
    let spoken = Arc::clone(&shelf);
    let (messages, (episodes, facts)) = crate::parallel::join(
        || whole(MessageIndex::unpack(&mut messages, shelf), messages),
        || {
            let episodes = || whole(unpack_episodes(&mut episodes, spoken), episodes);
            crate::parallel::join(episodes, || whole(unpack_facts(&mut facts), facts))
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
fn whole<T>(unpacked: Option<T>, from: ColumnUnpacker<'_>) -> Option<T> {
    unpacked.filter(|_| from.ends_whole())
}

fn pack_messages(messages: &MessageIndex, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_messages(messages, &mut rows, usize::MAX)?;
    rows.pack(&mut packer);
    messages.pack(&mut packer);
    Some(packer)
}

fn pack_episodes(view: &UserView, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_episodes(view, &mut rows, usize::MAX)?;
    view.episodes.pack(&mut packer, rows, |episode| write_episode(view, &[], episode))?;
    view.abstracts.postings.pack(&mut packer);
    view.narratives.postings.pack(&mut packer);
    view.members.pack(&mut packer);
    packer.column(&view.episode_of);
    packer.values(view.hidden.episodes.iter().copied());
    Some(packer)
}

fn unpack_episodes(
    unpacker: &mut ColumnUnpacker<'_>,
    messages: Arc<RecordShelf<Message>>,
) -> Option<UserView> {
    let mut view = UserView {
        episodes: RecordTable::unpack(unpacker, move |row| read_episode(row, &messages))?,
        abstracts: TextIndex::of_words(Postings::unpack(unpacker)?),
        narratives: TextIndex::of_words(Postings::unpack(unpacker)?),
        members: ListColumn::unpack(unpacker)?,
        episode_of: unpacker.column()?,
        ..UserView::default()
    };
    view.take_archived(&unpacker.column::<u32>()?)?;
    Some(view)
}

fn pack_facts(view: &UserView, mut rows: ShelfWriter) -> Option<ColumnPacker> {
    let mut packer = ColumnPacker::default();
    write_facts(view, &mut rows, usize::MAX)?;
    view.facts.pack(&mut packer, rows, json)?;
    view.statements.postings.pack(&mut packer);
    view.statement_tokens.pack(&mut packer);
    view.sources.pack(&mut packer);
    packer.column(&view.standings);
    view.subjects.pack(&mut packer);
    let mut texts: Vec<[u64; 2]> =
        view.fact_texts.iter().map(|(text, slot)| [*text, u64::from(*slot)]).collect();
    texts.sort_unstable();
    packer.column(&texts);
    view.attributes.pack(&mut packer);
    let expiring = view.hidden.expiring.iter();
    packer.values(expiring.map(|(at, slot)| [*at, i64::from(*slot)]));
    Some(packer)
}

fn unpack_facts(unpacker: &mut ColumnUnpacker<'_>) -> Option<UserView> {
    let mut view = UserView {
        facts: RecordTable::unpack(unpacker, read_json::<SemanticMemory>)?,
        statements: TextIndex::of_words(Postings::unpack(unpacker)?),
        statement_tokens: ListColumn::unpack(unpacker)?,
        sources: ListColumn::unpack(unpacker)?,
        standings: unpacker.column()?,
        subjects: StringInterner::unpack(unpacker)?,
        fact_texts: unpacker
            .column::<[u64; 2]>()?
            .into_iter()
            .map(|[text, slot]| (text, slot as u32))
            .collect(),
        attributes: AttributeIndex::unpack(unpacker)?,
        ..UserView::default()
    };
    view.take_expiring(&unpacker.column::<[i64; 2]>()?)?;
    Some(view)
}
