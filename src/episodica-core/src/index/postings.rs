//! The inverted index: for each term, the records that contain it. Slots (`u32`, given out by the caller in rising order) name records.
//!
//! Adding and removing cost the terms of the record; nothing grows with the size of the index. A removed record's postings stay until
//! [`Postings::compact`] and are skipped through [`Postings::is_alive`]. Scores are not computed here.

use rustc_hash::FxHashMap;

use super::terms::Terms;

/// One record that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The record.
    pub slot: u32,
    /// How often the term occurs in it.
    pub frequency: u32,
}

/// A posting, the slack of its list, and its place in the list of the record's terms.
const POSTING_BYTES: usize = 16;

#[derive(Debug, Clone, Default)]
struct TermList {
    postings: Vec<Posting>,
    alive: u32,
}

#[derive(Debug, Clone, Default)]
struct Document {
    alive: bool,
    length: u32,
    /// The numbers of its distinct terms.
    terms: Box<[u32]>,
}

/// Terms to records; see the module's documentation.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    dictionary: FxHashMap<Box<str>, u32>,
    lists: Vec<TermList>,
    documents: Vec<Document>,
    alive: usize,
    total_length: u64,
    /// Rough size of what the lists below hold, in bytes.
    bytes: usize,
}

impl Postings {
    /// Adds a record under a slot higher than all before.
    ///
    /// # Panics
    /// If the slot was given out before: slots are the engine's own.
    pub fn add(&mut self, slot: u32, text: &str) {
        self.add_terms(slot, &Terms::of(text));
    }

    /// [`Postings::add`] of a text that was read ahead.
    ///
    /// # Panics
    /// As [`Postings::add`].
    pub fn add_terms(&mut self, slot: u32, terms: &Terms) {
        assert!(slot as usize >= self.documents.len(), "invariant: slots are given out in rising order");
        self.documents.resize(slot as usize, Document::default());
        let mut length = 0_u32;
        let mut distinct = Vec::new();
        for term in terms.iter() {
            length += u32::from(term.counts);
            let number = match self.dictionary.get(term.text) {
                Some(number) => *number,
                None => {
                    let number = self.lists.len() as u32;
                    self.dictionary.insert(term.text.into(), number);
                    self.bytes += term.text.len() + 72;
                    self.lists.push(TermList::default());
                    number
                }
            };
            let list = &mut self.lists[number as usize];
            match list.postings.last_mut() {
                Some(last) if last.slot == slot => last.frequency += 1,
                _ => {
                    list.postings.push(Posting { slot, frequency: 1 });
                    self.bytes += POSTING_BYTES;
                    list.alive += 1;
                    distinct.push(number);
                }
            }
        }
        self.documents.push(Document { alive: true, length, terms: distinct.into() });
        self.alive += 1;
        self.total_length += u64::from(length);
    }

    /// Removes a record. Unknown or removed slots are passed over.
    pub fn remove(&mut self, slot: u32) {
        let Some(document) = self.documents.get_mut(slot as usize).filter(|document| document.alive) else { return };
        let document = std::mem::take(document);
        self.alive -= 1;
        self.total_length -= u64::from(document.length);
        for number in document.terms {
            self.lists[number as usize].alive -= 1;
        }
    }

    /// Drops the postings of removed records: worth its cost, linear in the index, once they are a fair share.
    pub fn compact(&mut self) {
        let documents = &self.documents;
        for list in &mut self.lists {
            list.postings.retain(|posting| documents[posting.slot as usize].alive);
        }
    }

    /// The records that contain `term`, by rising slot, removed ones included.
    pub fn postings(&self, term: &str) -> &[Posting] {
        self.list(term).map_or(&[], |list| &list.postings)
    }

    /// How many living records contain `term`.
    pub fn document_frequency(&self, term: &str) -> usize {
        self.list(term).map_or(0, |list| list.alive as usize)
    }

    /// Inverse document frequency of a term in `frequency` of the living records: `ln(1 + (n - df + 1/2) / (df + 1/2))`, never negative.
    pub fn idf(&self, frequency: usize) -> f32 {
        let (n, df) = (self.alive as f32, frequency as f32);
        (1.0 + (n - df + 0.5).max(0.0) / (df + 0.5)).ln()
    }

    /// Number of distinct terms of a record; 0 for none.
    pub fn distinct(&self, slot: u32) -> usize {
        self.documents.get(slot as usize).map_or(0, |document| document.terms.len())
    }

    /// Is there a living record under this slot?
    pub fn is_alive(&self, slot: u32) -> bool {
        self.documents.get(slot as usize).is_some_and(|document| document.alive)
    }

    /// Number of terms of a record, repetitions counted; 0 for none.
    pub fn length(&self, slot: u32) -> u32 {
        self.documents.get(slot as usize).map_or(0, |document| document.length)
    }

    /// Number of living records.
    pub fn len(&self) -> usize {
        self.alive
    }

    /// Is there no living record?
    pub fn is_empty(&self) -> bool {
        self.alive == 0
    }

    /// One more than the highest slot ever given out.
    pub fn slots(&self) -> usize {
        self.documents.len()
    }

    /// Mean number of terms of a living record; at least 1.
    pub fn mean_length(&self) -> f32 {
        (self.total_length as f32 / self.alive.max(1) as f32).max(1.0)
    }

    /// Rough size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.bytes + self.documents.capacity() * size_of::<Document>()
    }

    fn list(&self, term: &str) -> Option<&TermList> {
        self.dictionary.get(term).map(|number| &self.lists[*number as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_and_removing_keep_the_statistics() {
        let mut index = Postings::default();
        index.add(0, "red apples and green apples");
        index.add(1, "green tea");
        assert_eq!(index.postings("appl"), [Posting { slot: 0, frequency: 2 }]);
        assert_eq!((index.document_frequency("green"), index.len(), index.mean_length()), (2, 2, 3.0));
        assert_eq!(index.distinct(0), 3);
        index.remove(0);
        assert_eq!((index.document_frequency("green"), index.document_frequency("appl"), index.len()), (1, 0, 1));
        index.remove(0);
        assert_eq!(index.postings("green").len(), 2);
        index.compact();
        assert_eq!(index.postings("green"), [Posting { slot: 1, frequency: 1 }]);
    }
}
