//! The inverted index: for each term, the records that contain it. Records are identified by slots
//! (`u32`), which the caller assigns in ascending order.
//!
//! The cost of adding depends only on the record's terms. Removing a record removes its postings,
//! so all results are as if the record had never been added; only its words stay in the dictionary.
//! Scores are computed elsewhere.

use std::sync::OnceLock;

use bytemuck::{Pod, Zeroable};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::keys::StringInterner;
use super::ragged::ListColumn;
use super::terms::TextTerms;
use crate::model::{block_size, map_of_lists_bytes};
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// One record that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Posting {
    /// The record.
    pub slot: u32,
    /// Number of occurrences of the term in the record.
    pub frequency: u32,
}

/// The postings of a term.
#[derive(Debug, Clone)]
enum PostingList {
    /// Unchanged since the snapshot: a range of the column.
    Packed {
        start: usize,
        count: u32,
    },
    Own(Vec<Posting>),
}

#[derive(Debug, Clone)]
struct TermList {
    list: PostingList,
    alive: u32,
}

impl TermList {
    fn list_postings<'a>(&'a self, column: &'a [Posting]) -> &'a [Posting] {
        match &self.list {
            PostingList::Packed { start, count } => &column[*start..][..*count as usize],
            PostingList::Own(postings) => postings,
        }
    }

    /// Copies the list, if it is packed, and returns it for modification.
    fn owned_postings(&mut self, column: &[Posting]) -> &mut Vec<Posting> {
        if let PostingList::Packed { .. } = self.list {
            self.list = PostingList::Own(self.list_postings(column).to_vec());
        }
        match &mut self.list {
            PostingList::Own(postings) => postings,
            PostingList::Packed { .. } => unreachable!("invariant: replaced above"),
        }
    }

    fn heap_bytes(&self) -> usize {
        match &self.list {
            PostingList::Packed { .. } => 0,
            PostingList::Own(postings) => block_size(postings.capacity() * size_of::<Posting>()),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct IndexedDocument {
    length: u32,
    /// 1, or 0 for a removed record.
    alive: u32,
}

/// Maps terms to records; see the module's documentation.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    dictionary: StringInterner<FxBuildHasher>,
    /// Indexed by term number.
    lists: Vec<TermList>,
    /// The postings read from a snapshot, term by term. Lists that have not changed since are
    /// ranges of it.
    column: Vec<Posting>,
    documents: Vec<IndexedDocument>,
    /// Numbers of the distinct terms of each record.
    distinct: ListColumn<u32>,
    alive: usize,
    total_length: u64,
    /// Memory of the lists outside of the column, in bytes.
    list_bytes: usize,
    /// The terms by their first letters; computed on first use.
    beginnings: OnceLock<Beginnings>,
}

/// Number of leading letters that all forms of a word share.
const COMMON: usize = 3;

/// The first letters of a longer term.
pub(crate) type Beginning = [char; COMMON];

/// The numbers of terms by their first letters.
type Beginnings = FxHashMap<Beginning, Vec<u32>>;

/// The first letters of a term; `None` if the term has no more letters than these.
pub(crate) fn first_letters(term: &str) -> Option<Beginning> {
    let mut letters = term.chars();
    let first = [letters.next()?, letters.next()?, letters.next()?];
    letters.next().map(|_| first)
}

fn note_beginning(beginnings: &mut Beginnings, number: u32, term: &str) {
    if let Some(first) = first_letters(term) {
        beginnings.entry(first).or_default().push(number);
    }
}

impl Postings {
    /// Adds a record; its slot must be higher than all earlier ones.
    ///
    /// # Panics
    /// If the slot was used before; the engine assigns slots.
    pub fn add_record(&mut self, slot: u32, text: &str) {
        self.add_terms(slot, &TextTerms::from_text(text));
    }

    /// [`Postings::add_record`] for a text that was analysed beforehand.
    ///
    /// # Panics
    /// As [`Postings::add_record`].
    pub(crate) fn add_terms(&mut self, slot: u32, terms: &TextTerms) {
        assert!(
            slot as usize >= self.documents.len(),
            "invariant: slots are given out in rising order"
        );
        self.documents.resize(slot as usize, IndexedDocument::default());
        self.distinct.pad_to(slot as usize);
        let (length, distinct) = self.put_terms(slot, terms);
        self.documents.push(IndexedDocument { alive: 1, length });
        self.distinct.push_list(distinct);
        self.alive += 1;
        self.total_length += u64::from(length);
    }

    /// Replaces the terms of a record.
    pub(crate) fn replace_terms(&mut self, slot: u32, terms: &TextTerms) {
        self.remove_record(slot);
        let (length, distinct) = self.put_terms(slot, terms);
        self.documents[slot as usize] = IndexedDocument { alive: 1, length };
        self.distinct.replace_list(slot, &distinct);
        self.alive += 1;
        self.total_length += u64::from(length);
    }

    /// Adds the postings of a record that has none. Returns the record's length and the numbers of
    /// its distinct terms.
    fn put_terms(&mut self, slot: u32, terms: &TextTerms) -> (u32, Vec<u32>) {
        let (mut length, mut distinct) = (0_u32, Vec::new());
        for term in terms.iter() {
            length += u32::from(term.counts);
            let (number, new) = self.dictionary.intern_key(term.text);
            if new {
                self.lists.push(TermList { list: PostingList::Own(Vec::new()), alive: 0 });
                if let Some(beginnings) = self.beginnings.get_mut() {
                    note_beginning(beginnings, number, term.text);
                }
            }
            let list = &mut self.lists[number as usize];
            let before = list.heap_bytes();
            let postings = list.owned_postings(&self.column);
            let place = match postings.last() {
                Some(last) if last.slot > slot => {
                    postings.binary_search_by_key(&slot, |posting| posting.slot)
                }
                Some(last) if last.slot == slot => Ok(postings.len() - 1),
                _ => Err(postings.len()),
            };
            match place {
                Ok(known) => postings[known].frequency += 1,
                Err(place) => {
                    postings.insert(place, Posting { slot, frequency: 1 });
                    self.list_bytes += list.heap_bytes() - before;
                    list.alive += 1;
                    distinct.push(number);
                }
            }
        }
        (length, distinct)
    }

    /// Removes a record with its postings. Does nothing for unknown and removed slots.
    pub fn remove_record(&mut self, slot: u32) {
        let Some(document) =
            self.documents.get_mut(slot as usize).filter(|document| document.alive != 0)
        else {
            return;
        };
        let document = std::mem::take(document);
        self.alive -= 1;
        self.total_length -= u64::from(document.length);
        for number in self.distinct.get(slot) {
            let list = &mut self.lists[*number as usize];
            list.alive = list.alive.saturating_sub(1);
            let before = list.heap_bytes();
            let postings = list.owned_postings(&self.column);
            // The snapshot of an earlier release may lack the posting.
            if let Ok(at) = postings.binary_search_by_key(&slot, |posting| posting.slot) {
                postings.remove(at);
            }
            self.list_bytes += list.heap_bytes() - before;
        }
    }

    /// The records that contain `term`, by ascending slot. A snapshot of an earlier release may
    /// contribute removed records, which are not [alive](Postings::is_alive).
    pub fn term_postings(&self, term: &str) -> &[Posting] {
        self.term_list(term).map_or(&[], |list| list.list_postings(&self.column))
    }

    /// Number of living records that contain `term`.
    pub(crate) fn document_frequency(&self, term: &str) -> usize {
        self.term_list(term).map_or(0, |list| list.alive as usize)
    }

    /// Calls `visit` with every term of the living records.
    pub(crate) fn for_each_term(&self, mut visit: impl FnMut(&str)) {
        for (number, list) in (0_u32..).zip(&self.lists) {
            if list.alive > 0 {
                visit(self.dictionary.key_of(number));
            }
        }
    }

    /// Terms of living records that begin with these letters and are longer.
    pub(crate) fn terms_with(&self, first: Beginning) -> impl Iterator<Item = &str> {
        let beginnings = self.beginnings.get_or_init(|| {
            let mut beginnings = Beginnings::default();
            for number in 0..self.lists.len() as u32 {
                note_beginning(&mut beginnings, number, self.dictionary.key_of(number));
            }
            beginnings
        });
        let numbers = beginnings.get(&first).map_or(&[][..], Vec::as_slice).iter();
        let alive = numbers.filter(|number| self.lists[**number as usize].alive > 0);
        alive.map(|number| self.dictionary.key_of(*number))
    }

    /// Inverse document frequency of a term that `frequency` of the living records contain: `ln(1 +
    /// (n - df + 1/2) / (df + 1/2))`, never negative.
    pub(crate) fn idf(&self, frequency: usize) -> f32 {
        let (n, df) = (self.alive as f32, frequency as f32);
        (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln()
    }

    /// Number of distinct terms of a record; 0 if the slot has none.
    pub fn distinct_terms(&self, slot: u32) -> usize {
        if self.is_alive(slot) { self.distinct.get(slot).len() } else { 0 }
    }

    /// True if the slot has a record that was not removed.
    pub fn is_alive(&self, slot: u32) -> bool {
        self.documents.get(slot as usize).is_some_and(|document| document.alive != 0)
    }

    /// Number of terms of a record, including repetitions; 0 if the slot has none.
    pub fn term_count(&self, slot: u32) -> u32 {
        self.documents.get(slot as usize).map_or(0, |document| document.length)
    }

    /// Number of living records.
    pub fn len(&self) -> usize {
        self.alive
    }

    /// True if the index has no living records.
    pub fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// One more than the highest slot ever used.
    pub fn slot_count(&self) -> usize {
        self.documents.len()
    }

    /// Mean number of terms of a living record; at least 1.
    pub(crate) fn mean_length(&self) -> f32 {
        (self.total_length as f32 / self.alive.max(1) as f32).max(1.0)
    }

    /// Size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.list_bytes
            + block_size(self.column.capacity() * size_of::<Posting>())
            + block_size(self.lists.capacity() * size_of::<TermList>())
            + self.dictionary.heap_bytes()
            + block_size(self.documents.capacity() * size_of::<IndexedDocument>())
            + self.distinct.heap_bytes()
            + self.beginnings.get().map_or(0, |beginnings| {
                map_of_lists_bytes::<Beginning, u32>(beginnings.capacity(), beginnings.len())
            })
    }

    fn term_list(&self, term: &str) -> Option<&TermList> {
        self.dictionary.number_of(term).map(|number| &self.lists[number as usize])
    }

    /// Writes to a snapshot.
    pub fn pack_columns(&self, packer: &mut ColumnPacker) {
        self.dictionary.pack_columns(packer);
        let lists = || self.lists.iter().map(|list| (list.list_postings(&self.column), list.alive));
        let sizes = lists().map(|(postings, alive)| [postings.len() as u32, alive]);
        packer.push_values(sizes);
        packer.push_parts(lists().map(|(postings, _)| postings));
        packer.push_column(&self.documents);
        self.distinct.pack_columns(packer);
    }

    /// Reads from a snapshot.
    pub(crate) fn unpack_columns(unpacker: &mut ColumnUnpacker<'_>) -> Option<Self> {
        let dictionary = StringInterner::unpack_columns(unpacker)?;
        let sizes: Vec<[u32; 2]> = unpacker.next_column()?;
        let column: Vec<Posting> = unpacker.next_column()?;
        let documents: Vec<IndexedDocument> = unpacker.next_column()?;
        let (mut lists, mut start) = (Vec::with_capacity(sizes.len()), 0);
        for [count, alive] in sizes {
            let postings = column.get(start..start + count as usize)?;
            let sound = postings.is_sorted_by(|a, b| a.slot < b.slot)
                && postings.last().is_none_or(|last| (last.slot as usize) < documents.len())
                && alive <= count;
            let list = PostingList::Packed { start, count };
            lists.push(sound.then_some(TermList { list, alive })?);
            start += count as usize;
        }
        let alive = documents.iter().filter(|document| document.alive != 0).count();
        let total_length = documents.iter().map(|document| u64::from(document.length)).sum();
        let distinct = ListColumn::unpack_columns(unpacker)?;
        let complete = lists.len() == dictionary.len()
            && distinct.len() == documents.len()
            && distinct.all_values().iter().all(|number| (*number as usize) < lists.len());
        complete.then_some(Self {
            dictionary,
            lists,
            column,
            documents,
            distinct,
            alive,
            total_length,
            list_bytes: 0,
            beginnings: OnceLock::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_found_by_their_first_letters_whenever_they_came() {
        let mut index = Postings::default();
        index.add_record(0, "katzen Katze kat Hunde");
        let found = |index: &Postings| -> Vec<String> {
            let first = first_letters("katzen").expect("long enough");
            index.terms_with(first).map(str::to_owned).collect()
        };
        assert_eq!(found(&index), ["katzen", "katz"]);
        index.add_record(1, "Katalog 猫猫猫猫");
        assert_eq!(found(&index), ["katzen", "katz", "katalog"]);
        index.remove_record(0);
        assert_eq!(found(&index), ["katalog"]);
    }

    #[test]
    fn adding_and_removing_keep_the_statistics() {
        let mut index = Postings::default();
        index.add_record(0, "red apples and green apples");
        index.add_record(1, "green tea");
        changes_of_two_records(index.clone());
        let mut packer = ColumnPacker::default();
        index.pack_columns(&mut packer);
        let (pieces, sum) = packer.finish();
        let bytes = pieces.concat();
        let mut unpacker = ColumnUnpacker::new(Box::new(&bytes[..]), sum);
        changes_of_two_records(Postings::unpack_columns(&mut unpacker).expect("what was packed"));
    }

    fn changes_of_two_records(mut index: Postings) {
        assert_eq!(index.term_postings("appl"), [Posting { slot: 0, frequency: 2 }]);
        assert_eq!(
            (index.document_frequency("green"), index.len(), index.mean_length()),
            (2, 2, 3.0)
        );
        assert_eq!(index.distinct_terms(0), 3);
        index.remove_record(0);
        assert_eq!(
            (index.document_frequency("green"), index.document_frequency("appl"), index.len()),
            (1, 0, 1)
        );
        index.remove_record(0);
        assert_eq!(index.term_postings("green"), [Posting { slot: 1, frequency: 1 }]);
        index.add_record(2, "green apples");
        assert_eq!((index.document_frequency("appl"), index.slot_count()), (1, 3));
        // The same record, had it been added with these words.
        index.replace_terms(1, &TextTerms::from_text("apples with apples"));
        let appl = [Posting { slot: 1, frequency: 2 }, Posting { slot: 2, frequency: 1 }];
        assert_eq!((index.term_postings("appl"), index.document_frequency("tea")), (&appl[..], 0));
        assert_eq!((index.distinct_terms(1), index.distinct_terms(2), index.len()), (1, 2, 2));
        index.remove_record(1);
        assert_eq!(index.term_postings("appl"), [Posting { slot: 2, frequency: 1 }]);
    }
}
