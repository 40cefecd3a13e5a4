//! Assigns consecutive numbers to strings (ids, terms, names). All strings share one allocation;
//! each is stored once.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::model::{block_size, map_bytes};
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// Strings and their numbers; see the module's documentation. The default hasher `S` has a random
/// seed, since callers could choose ids whose hashes collide.
#[derive(Clone, Default)]
pub struct StringInterner<S = RandomState> {
    text: String,
    /// End of each string in `text`.
    ends: Vec<u32>,
    numbers: HashTable<u32>,
    hasher: S,
}

fn string_at<'a>(text: &'a str, ends: &[u32], number: u32) -> &'a str {
    let start = if number == 0 { 0 } else { ends[number as usize - 1] };
    &text[start as usize..ends[number as usize] as usize]
}

impl<S: BuildHasher + Default> StringInterner<S> {
    /// The number of a string.
    pub fn number_of(&self, key: &str) -> Option<u32> {
        self.numbers
            .find(self.hasher.hash_one(key), |number| {
                string_at(&self.text, &self.ends, *number) == key
            })
            .copied()
    }

    /// Returns the number of a string, and true if it is new; a new string gets the next number.
    pub fn intern_key(&mut self, key: &str) -> (u32, bool) {
        let hash = self.hasher.hash_one(key);
        if let Some(known) =
            self.numbers.find(hash, |number| string_at(&self.text, &self.ends, *number) == key)
        {
            return (*known, false);
        }
        let number = self.ends.len() as u32;
        self.text.push_str(key);
        self.ends.push(self.text.len() as u32);
        self.numbers.insert_unique(hash, number, |number| {
            self.hasher.hash_one(string_at(&self.text, &self.ends, *number))
        });
        (number, true)
    }

    /// Removes a string and returns its number, which is not reused. A snapshot written after a
    /// removal would bring the string back.
    pub fn remove_key(&mut self, key: &str) -> Option<u32> {
        let (text, ends) = (&self.text, &self.ends);
        let found = self
            .numbers
            .find_entry(self.hasher.hash_one(key), |number| string_at(text, ends, *number) == key);
        found.ok().map(|entry| entry.remove().0)
    }

    /// Returns the string with a number.
    ///
    /// # Panics
    /// If the number was never assigned.
    pub fn key_of(&self, number: u32) -> &str {
        string_at(&self.text, &self.ends, number)
    }

    /// Number of strings, including removed ones.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if no number was assigned.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        block_size(self.text.capacity())
            + block_size(self.ends.capacity() * size_of::<u32>())
            + map_bytes(self.numbers.capacity(), size_of::<u32>())
    }

    /// Writes to a snapshot.
    pub fn pack_columns(&self, packer: &mut ColumnPacker) {
        packer.push_column(self.text.as_bytes());
        packer.push_column(&self.ends);
    }

    /// Reads from a snapshot.
    pub(crate) fn unpack_columns(unpacker: &mut ColumnUnpacker<'_>) -> Option<Self> {
        let (text, ends, hasher) =
            (unpacker.next_text()?, unpacker.next_column::<u32>()?, S::default());
        let mut numbers = HashTable::with_capacity(ends.len());
        let mut start = 0;
        for (number, end) in (0_u32..).zip(&ends) {
            let hash = hasher.hash_one(text.get(start..*end as usize)?);
            start = *end as usize;
            numbers.insert_unique(hash, number, |number| {
                hasher.hash_one(string_at(&text, &ends, *number))
            });
        }
        Some(Self { text, ends, numbers, hasher })
    }
}

impl<S> std::fmt::Debug for StringInterner<S> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Keys").field("len", &self.ends.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_keep_their_numbers() {
        let mut keys = StringInterner::<RandomState>::default();
        assert_eq!(
            ["a", "", "né", "a"].map(|key| keys.intern_key(key)),
            [(0, true), (1, true), (2, true), (0, false)]
        );
        let mut packer = ColumnPacker::default();
        keys.pack_columns(&mut packer);
        let (pieces, sum) = packer.finish();
        let bytes = pieces.concat();
        let mut again = StringInterner::<RandomState>::unpack_columns(&mut ColumnUnpacker::new(
            Box::new(&bytes[..]),
            sum,
        ))
        .unwrap();
        assert_eq!(
            (again.number_of("né"), again.number_of("n"), again.key_of(1), again.len()),
            (Some(2), None, "", 3)
        );
        assert_eq!(again.intern_key("b"), (3, true));
        assert_eq!(
            (again.remove_key("né"), again.remove_key("né"), again.number_of("né")),
            (Some(2), None, None)
        );
        assert_eq!((again.intern_key("né"), again.number_of("a")), ((4, true), Some(0)));
    }
}
