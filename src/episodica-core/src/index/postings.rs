//! The inverted index: for each term, the records that contain it. Slots (`u32`, given out by the caller in rising order) name records.
//!
//! Adding costs the terms of the record, removing the same; nothing here grows with the size of the index. A removed record's postings stay
//! until [`Postings::compact`] and are skipped through [`Postings::is_alive`]. Scores are not computed here.

use std::collections::HashMap;

use super::terms::{Side, for_each_term};

/// One record that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The record.
    pub slot: u32,
    /// How often the term occurs in it.
    pub frequency: u32,
}

#[derive(Debug, Clone, Default)]
struct TermList {
    postings: Vec<Posting>,
    alive: u32,
}

/// Terms to records; see the module's documentation.
#[derive(Debug, Clone, Default)]
pub struct Postings {
    dictionary: HashMap<Box<str>, u32>,
    lists: Vec<TermList>,
    /// Terms per slot; `None` where there is no (living) record.
    lengths: Vec<Option<u32>>,
    alive: usize,
    total_length: u64,
}

impl Postings {
    /// Adds a record under a slot higher than all before.
    ///
    /// # Panics
    /// If the slot was given out before: slots are the engine's own.
    pub fn add(&mut self, slot: u32, text: &str) {
        assert!(slot as usize >= self.lengths.len(), "invariant: slots are given out in rising order");
        self.lengths.resize(slot as usize, None);
        let mut length = 0_u32;
        for_each_term(text, Side::Record, |term| {
            length += 1;
            let number = match self.dictionary.get(term) {
                Some(number) => *number,
                None => {
                    let number = self.lists.len() as u32;
                    self.dictionary.insert(term.into(), number);
                    self.lists.push(TermList::default());
                    number
                }
            };
            let list = &mut self.lists[number as usize];
            match list.postings.last_mut() {
                Some(last) if last.slot == slot => last.frequency += 1,
                _ => {
                    list.postings.push(Posting { slot, frequency: 1 });
                    list.alive += 1;
                }
            }
        });
        self.lengths.push(Some(length));
        self.alive += 1;
        self.total_length += u64::from(length);
    }

    /// Removes the record whose text was `text`. Unknown or removed slots are passed over.
    pub fn remove(&mut self, slot: u32, text: &str) {
        let Some(length) = self.lengths.get_mut(slot as usize).and_then(Option::take) else { return };
        self.alive -= 1;
        self.total_length -= u64::from(length);
        let mut seen = std::collections::HashSet::new();
        for_each_term(text, Side::Record, |term| {
            if let Some(number) = self.dictionary.get(term)
                && seen.insert(*number)
            {
                self.lists[*number as usize].alive -= 1;
            }
        });
    }

    /// Drops the postings of removed records: worth its cost, linear in the index, once they are a fair share.
    pub fn compact(&mut self) {
        let lengths = &self.lengths;
        for list in &mut self.lists {
            list.postings.retain(|posting| lengths[posting.slot as usize].is_some());
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

    /// Is there a living record under this slot?
    pub fn is_alive(&self, slot: u32) -> bool {
        self.lengths.get(slot as usize).is_some_and(Option::is_some)
    }

    /// Number of terms of a record, repetitions counted; 0 for none.
    pub fn length(&self, slot: u32) -> u32 {
        self.lengths.get(slot as usize).copied().flatten().unwrap_or(0)
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
        self.lengths.len()
    }

    /// Mean number of terms of a living record; 1 for an empty index.
    pub fn mean_length(&self) -> f32 {
        match self.alive {
            0 => 1.0,
            alive => (self.total_length as f32 / alive as f32).max(1.0),
        }
    }

    /// Rough size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        let terms: usize = self.dictionary.keys().map(|term| term.len() + 32).sum();
        let postings: usize = self.lists.iter().map(|list| list.postings.capacity() * 8 + 32).sum();
        terms + postings + self.lengths.capacity() * 8
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
        index.remove(0, "red apples and green apples");
        assert_eq!((index.document_frequency("green"), index.document_frequency("appl"), index.len()), (1, 0, 1));
        index.remove(0, "red apples and green apples");
        assert_eq!(index.postings("green").len(), 2);
        index.compact();
        assert_eq!(index.postings("green"), [Posting { slot: 1, frequency: 1 }]);
    }
}
