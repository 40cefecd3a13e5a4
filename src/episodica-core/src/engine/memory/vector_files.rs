//! Maps the vectors of a view to the rows of their files, so that a snapshot only appends new
//! vectors.
//!
//! Each log has one vector file. It is written as a whole with its manifest; later snapshots append
//! to it. A slot keeps its vector as long as the view lives, so a written row stays valid. Vectors
//! removed from the view stay in the file until it is rewritten.

use crate::engine::memory::snapshot::VectorSums;
use crate::engine::memory::view::{NONE, UserView};
use crate::index::{TextIndex, VectorIndex};
use crate::matrix::Matrix;
use crate::pack::{ColumnPacker, ColumnUnpacker};
use crate::store::{FileSum, LogKind};

/// The log of each field's file: messages, abstracts and narratives, facts.
const KINDS: [LogKind; 4] =
    [LogKind::Messages, LogKind::Episodes, LogKind::Episodes, LogKind::Semantic];

/// The fields of a view that have vectors.
fn fields(view: &UserView) -> [&TextIndex; 4] {
    [&view.messages.field, &view.abstracts, &view.narratives, &view.statements]
}

fn labels(field: &TextIndex) -> &[u64] {
    field.vectors().map_or(&[][..], VectorIndex::labels)
}

/// The vector files of a view, as far as they are written.
#[derive(Debug, Clone, Default)]
pub(crate) struct VectorFiles {
    /// Length and checksum of each file.
    pub sums: VectorSums,
    /// Number of vectors in each file.
    pub rows: [usize; 3],
    /// Whether each file is in half precision.
    is_half: [bool; 3],
    /// Whether the manifest of each file names all vectors.
    pub is_named: [bool; 3],
    /// The row of each field's vectors in its file, by slot.
    places: [Vec<u32>; 4],
}

/// The vectors of a view that a file lacks.
#[derive(Debug)]
pub(super) enum MissingVectors {
    Nothing,
    /// These vectors, which can be appended.
    Rows(Matrix<'static>),
    /// The file must be rewritten: it is missing, or in single precision.
    All,
}

impl VectorFiles {
    /// Records that the file of a log was rewritten: field after field, each in the order of its
    /// labels.
    pub fn rewritten(&mut self, view: &UserView, kind: LogKind, sum: Option<FileSum>) {
        let fields = fields(view).into_iter().zip(KINDS).zip(&mut self.places);
        let kind = kind as usize;
        (self.rows[kind], self.is_half[kind], self.is_named[kind]) = (0, false, true);
        self.sums[kind] = sum;
        for ((field, _), places) in fields.filter(|((_, of), _)| *of as usize == kind) {
            places.clear();
            self.is_half[kind] |=
                field.vectors().is_some_and(|vectors| vectors.vectors().is_half());
            for label in labels(field) {
                put(places, *label, self.rows[kind]);
                self.rows[kind] += 1;
            }
        }
    }

    /// The files that a snapshot names.
    pub(super) fn restored(
        sums: VectorSums,
        rows: [usize; 3],
        is_half: [bool; 3],
        is_named: [bool; 3],
        named: &[NamedVectors; 4],
    ) -> Self {
        let places = named.each_ref().map(|NamedVectors { labels, rows }| {
            let mut places = Vec::new();
            labels
                .iter()
                .zip(rows)
                .for_each(|(label, row)| put(&mut places, *label, *row as usize));
            places
        });
        Self { sums, rows, is_half, is_named, places }
    }

    /// Assigns a row to each vector that its file lacks, and returns the vectors to write.
    pub(super) fn lacks(&mut self, view: &UserView) -> [MissingVectors; 3] {
        let mut parts = [const { Some(Vec::new()) }; 3];
        for ((field, kind), places) in fields(view).into_iter().zip(KINDS).zip(&mut self.places) {
            let kind = kind as usize;
            let (Some(vectors), Some(rows)) = (field.vectors(), &mut parts[kind]) else { continue };
            let is_new = |label: &u64| places.get(*label as usize).is_none_or(|row| *row == NONE);
            let at = |(at, _): (usize, _)| at;
            let new = (0..).zip(vectors.labels()).filter(|(_, label)| is_new(label));
            let new: Vec<usize> = new.map(at).collect();
            if new.is_empty() {
                continue;
            }
            let all = vectors.vectors();
            if self.sums[kind].is_none() || all.is_half() && !self.is_half[kind] {
                parts[kind] = None;
                continue;
            }
            for at in &new {
                put(places, vectors.labels()[*at], self.rows[kind]);
                self.rows[kind] += 1;
            }
            self.is_named[kind] = false;
            rows.push(copied(&all, &new, self.is_half[kind]));
        }
        parts.map(|parts| match parts {
            Some(parts) if parts.is_empty() => MissingVectors::Nothing,
            Some(parts) => {
                Matrix::concatenate(parts).map_or(MissingVectors::All, MissingVectors::Rows)
            }
            None => MissingVectors::All,
        })
    }

    /// Writes the labels of each field, and the rows of their vectors, into a snapshot.
    pub fn pack(&self, view: &UserView, packer: &mut ColumnPacker) {
        for (field, places) in fields(view).into_iter().zip(&self.places) {
            let labels = labels(field);
            packer.column(labels);
            packer.values(labels.iter().map(|label| places[*label as usize]));
        }
    }
}

/// The vectors of a field that a snapshot names.
pub(super) struct NamedVectors {
    pub labels: Vec<u64>,
    /// The row of each vector in the file.
    pub rows: Vec<u32>,
}

impl NamedVectors {
    /// Reads the four fields that [`VectorFiles::pack`] wrote.
    pub fn unpack(unpacker: &mut ColumnUnpacker<'_>) -> Option<[Self; 4]> {
        let mut next = || {
            let named = Self { labels: unpacker.column()?, rows: unpacker.column()? };
            (named.labels.len() == named.rows.len()).then_some(named)
        };
        Some([next()?, next()?, next()?, next()?])
    }
}

fn put(places: &mut Vec<u32>, label: u64, row: usize) {
    let slot = label as usize;
    if places.len() <= slot {
        places.resize(slot + 1, NONE);
    }
    places[slot] = row as u32;
}

/// Copies these rows, in half precision if `is_half`.
fn copied(rows: &Matrix<'_>, places: &[usize], is_half: bool) -> Matrix<'static> {
    let rows = rows.picked(places);
    if is_half { Matrix::Half(rows.into_half()) } else { rows }
}
