//! Where the vectors of a view lie in their files, so that a snapshot only adds what is new.
//!
//! Each log has one file of vectors. It is written as a whole with its manifest; snapshots taken
//! later append to it. A slot never gets another vector while a view lasts, so a row once written
//! stays true; what was removed from the view stays in the file until it is written anew.

use crate::engine::memory::snapshot::VectorSums;
use crate::engine::memory::view::{NONE, UserView};
use crate::index::{TextIndex, VectorIndex};
use crate::matrix::Matrix;
use crate::pack::{ColumnPacker, ColumnUnpacker};
use crate::store::{FileSum, LogKind};

/// The log of each field's file: of messages, abstracts and narratives, facts.
const KINDS: [LogKind; 4] =
    [LogKind::Messages, LogKind::Episodes, LogKind::Episodes, LogKind::Semantic];

/// The fields of a view that have vectors.
fn fields(view: &UserView) -> [&TextIndex; 4] {
    [&view.messages.field, &view.abstracts, &view.narratives, &view.statements]
}

fn labels(field: &TextIndex) -> &[u64] {
    field.vectors().map_or(&[][..], VectorIndex::labels)
}

/// The files of vectors of a view, as far as they were written.
#[derive(Debug, Clone, Default)]
pub(crate) struct VectorFiles {
    /// Length and checksum of each.
    pub sums: VectorSums,
    /// Number of vectors in each.
    pub rows: [usize; 3],
    /// In half precision?
    is_half: [bool; 3],
    /// Does the manifest name all of them?
    pub is_named: [bool; 3],
    /// The row of each field's vectors in its file, by slot.
    places: [Vec<u32>; 4],
}

/// What a file lacks of the vectors of a view.
#[derive(Debug)]
pub(super) enum MissingVectors {
    Nothing,
    /// These, which can be appended.
    Rows(Matrix<'static>),
    /// It has to be written as a whole: there is none, or one in single precision.
    All,
}

impl VectorFiles {
    /// Notes that the file of a log was just written as a whole: field after field, each in the
    /// order of its labels.
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

    /// Files as a snapshot names them.
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

    /// Gives each vector of the view that a file lacks its place, and says what is to be written.
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

    /// For a snapshot: the labels of each field, and the rows of their vectors.
    pub fn pack(&self, view: &UserView, packer: &mut ColumnPacker) {
        for (field, places) in fields(view).into_iter().zip(&self.places) {
            let labels = labels(field);
            packer.column(labels);
            packer.values(labels.iter().map(|label| places[*label as usize]));
        }
    }
}

/// The vectors of a field, as a snapshot names them.
pub(super) struct NamedVectors {
    pub labels: Vec<u64>,
    /// The row of each in the file.
    pub rows: Vec<u32>,
}

impl NamedVectors {
    /// Four of them, as [`VectorFiles::pack`] wrote them.
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

/// Copies of these rows, in half precision if wanted.
fn copied(rows: &Matrix<'_>, places: &[usize], is_half: bool) -> Matrix<'static> {
    let rows = rows.picked(places);
    if is_half { Matrix::Half(rows.into_half()) } else { rows }
}
