//! Columns of plain numbers and texts, one after the other: the form of indexes in a snapshot.
//!
//! A pack does not describe itself: only the version that wrote it can read it. Each column starts
//! with the count and the checksum of its values, so that they are read straight into place and
//! damage is noticed. A checksum over all counts and checksums identifies the pack. Numbers are in
//! the byte order of the machine, which is little-endian wherever snapshots are written.

use std::io::Read;

use bytemuck::{NoUninit, Pod};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Length and checksum of a pack, or of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackSum {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32: of a file, over its bytes; of a pack, over the count and checksum of every column.
    pub crc32: u32,
}

/// Bytes before a column: the count of its values, and their checksum.
const HEAD: usize = 8 + 4;

/// Columns of at least this size are moved instead of copied.
const MANY_BYTES: usize = 4_096;

/// Collects columns.
#[derive(Debug, Default)]
pub struct ColumnPacker {
    /// The bytes so far, in order.
    pieces: Vec<Vec<u8>>,
    heads: crc32fast::Hasher,
}

impl ColumnPacker {
    /// Appends values.
    pub fn push_column<T: NoUninit>(&mut self, values: &[T]) {
        self.push_parts([values].into_iter());
    }

    /// Appends values from several slices as one column.
    pub fn push_parts<'a, T: NoUninit>(&mut self, parts: impl Iterator<Item = &'a [T]> + Clone) {
        let count = parts.clone().map(<[T]>::len).sum();
        let mut bytes = episodica_simd::room_for(count * size_of::<T>());
        parts.for_each(|part| bytes.extend_from_slice(bytemuck::cast_slice(part)));
        self.append_values(count, bytes);
    }

    /// Appends values that an iterator produces.
    pub fn push_values<T: NoUninit>(&mut self, values: impl ExactSizeIterator<Item = T>) {
        let count = values.len();
        let mut bytes = episodica_simd::room_for(count * size_of::<T>());
        values.for_each(|value| bytes.extend_from_slice(bytemuck::bytes_of(&value)));
        self.append_values(count, bytes);
    }

    /// Appends bytes without copying them.
    pub fn push_bytes(&mut self, bytes: Vec<u8>) {
        self.append_values(bytes.len(), bytes);
    }

    /// Appends `count` values. A large column becomes a piece of its own.
    fn append_values(&mut self, count: usize, values: Vec<u8>) {
        let (count, crc) = ((count as u64).to_le_bytes(), crc32fast::hash(&values).to_le_bytes());
        let head = [&count[..], &crc[..]].concat();
        self.heads.update(&head);
        if self.pieces.is_empty() {
            self.pieces.push(Vec::new());
        }
        let last = self.pieces.len() - 1;
        self.pieces[last].extend_from_slice(&head);
        if values.len() < MANY_BYTES {
            self.pieces[last].extend_from_slice(&values);
        } else {
            self.pieces.extend([values, Vec::new()]);
        }
    }

    /// Appends a small value of any form, as JSON.
    ///
    /// # Panics
    /// For a map whose keys are not strings.
    pub fn push_json<T: Serialize + ?Sized>(&mut self, value: &T) {
        self.push_column(&serde_json::to_vec(value).expect("invariant: the value has a JSON form"));
    }

    /// The pack, in pieces, and its sum.
    pub fn finish(self) -> (Vec<Vec<u8>>, PackSum) {
        let bytes = self.pieces.iter().map(|piece| piece.len() as u64).sum();
        (self.pieces, PackSum { bytes, crc32: self.heads.finalize() })
    }
}

/// Reads columns in their order; returns `None` if the next column does not match the request.
pub struct ColumnUnpacker<'a> {
    source: Box<dyn Read + Send + 'a>,
    expected: PackSum,
    /// Bytes that may still follow.
    left: u64,
    heads: crc32fast::Hasher,
}

impl<'a> ColumnUnpacker<'a> {
    /// Reads a source that begins with the `expected` pack.
    pub fn new(source: Box<dyn Read + Send + 'a>, expected: PackSum) -> Self {
        Self { source, expected, left: expected.bytes, heads: crc32fast::Hasher::new() }
    }

    /// The next column.
    pub fn next_column<T: Pod>(&mut self) -> Option<Vec<T>> {
        let mut head = [0; HEAD];
        self.source.read_exact(&mut head).ok()?;
        self.heads.update(&head);
        let (count, crc) = head.split_first_chunk::<8>()?;
        let count = u64::from_le_bytes(*count);
        // A damaged count must not allocate more than the pack can hold.
        self.left = self
            .left
            .checked_sub((HEAD as u64).checked_add(count.checked_mul(size_of::<T>() as u64)?)?)?;
        let mut values = episodica_simd::zeroed_vec::<T>(usize::try_from(count).ok()?);
        let bytes = bytemuck::cast_slice_mut::<T, u8>(&mut values);
        self.source.read_exact(bytes).ok()?;
        (crc32fast::hash(bytes).to_le_bytes() == crc).then_some(values)
    }

    /// The next column, as text.
    pub fn next_text(&mut self) -> Option<String> {
        String::from_utf8(self.next_column()?).ok()
    }

    /// The next column, as JSON.
    pub fn next_json<T: DeserializeOwned>(&mut self) -> Option<T> {
        serde_json::from_slice(&self.next_column::<u8>()?).ok()
    }

    /// True if this was the expected pack, read to its end.
    pub(crate) fn ends_whole(self) -> bool {
        self.left == 0 && self.heads.finalize() == self.expected.crc32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Columns = (Vec<u32>, String, (String, u8), Vec<f32>);

    fn read(bytes: &[u8], sum: PackSum) -> Option<Columns> {
        let mut unpacker = ColumnUnpacker::new(Box::new(bytes), sum);
        let columns = (
            unpacker.next_column()?,
            unpacker.next_text()?,
            unpacker.next_json()?,
            unpacker.next_column()?,
        );
        unpacker.ends_whole().then_some(columns)
    }

    fn packed(last: f32) -> (Vec<u8>, PackSum) {
        let mut packer = ColumnPacker::default();
        packer.push_column(&[7_u32, 8, 9]);
        packer.push_bytes("né".as_bytes().to_vec());
        packer.push_json(&("a", 1));
        packer.push_column(&[1.5_f32, last]);
        let (pieces, sum) = packer.finish();
        (pieces.concat(), sum)
    }

    #[test]
    fn columns_come_back_in_their_order() {
        let (bytes, sum) = packed(-2.0);
        assert_eq!(
            read(&bytes, sum),
            Some((vec![7, 8, 9], "né".to_owned(), ("a".to_owned(), 1), vec![1.5, -2.0]))
        );
    }

    #[test]
    fn nothing_damaged_comes_back() {
        let (bytes, sum) = packed(-2.0);
        (0..bytes.len()).for_each(|cut| assert_eq!(read(&bytes[..cut], sum), None, "{cut}"));
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&flipped, sum), None, "bit {bit}");
        }
        let (other, _) = packed(-3.0);
        assert_eq!(read(&other, sum), None);
    }
}
