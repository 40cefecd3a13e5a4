//! Columns of plain numbers and texts, one after the other: how indexes lie in a snapshot.
//!
//! Nothing in it says what it is: it is read by the version that wrote it, behind a checksum ([`crate::store::Snapshot`]). Numbers stand in the
//! byte order of the machine, which is little-endian wherever snapshots are written.

use bytemuck::{NoUninit, Pod};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Takes columns in.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// Appends values under their number.
    pub fn column<T: NoUninit>(&mut self, values: &[T]) {
        self.bytes.extend_from_slice(&(values.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(bytemuck::cast_slice(values));
    }

    /// Appends a value of many forms as JSON; for what is small.
    ///
    /// # Panics
    /// For a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.column(&serde_json::to_vec(value).expect("invariant: the value has a JSON form"));
    }

    /// Appends what another packer took in, as one column.
    pub fn part(&mut self, part: Packer) {
        self.column(&part.bytes);
    }

    /// All of it.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Gives columns back in their order; `None` where the bytes are no such column.
#[derive(Debug, Clone, Copy)]
pub struct Unpacker<'a> {
    rest: &'a [u8],
}

impl<'a> Unpacker<'a> {
    /// Over all of what a packer took in.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    fn raw(&mut self, width: usize) -> Option<&'a [u8]> {
        let (count, rest) = self.rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*count)).ok()?.checked_mul(width)?;
        let (values, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(values)
    }

    /// The next column.
    pub fn column<T: Pod>(&mut self) -> Option<Vec<T>> {
        let bytes = self.raw(size_of::<T>())?;
        let mut values = bytemuck::allocation::zeroed_vec(bytes.len() / size_of::<T>());
        bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(bytes);
        Some(values)
    }

    /// The next column, a text.
    pub fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.raw(1)?).ok()
    }

    /// The next column, JSON.
    pub fn json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(self.raw(1)?).ok()
    }

    /// The next column, another packer's.
    pub fn part(&mut self) -> Option<Self> {
        self.raw(1).map(Self::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_in_their_order_and_not_from_a_part_of_the_bytes() {
        let mut inner = Packer::default();
        inner.column(&[1.5_f32, -2.0]);
        let mut packer = Packer::default();
        packer.column(&[7_u32, 8, 9]);
        packer.column("né".as_bytes());
        packer.json(&("a", 1));
        packer.part(inner);
        let bytes = packer.finish();
        let read = |bytes: &[u8]| -> Option<(Vec<u32>, String, (String, u8), Vec<f32>)> {
            let mut unpacker = Unpacker::new(bytes);
            Some((unpacker.column()?, unpacker.text()?.to_owned(), unpacker.json()?, unpacker.part()?.column()?))
        };
        assert_eq!(read(&bytes), Some((vec![7, 8, 9], "né".to_owned(), ("a".to_owned(), 1), vec![1.5, -2.0])));
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut]), None, "{cut}");
        }
    }
}
