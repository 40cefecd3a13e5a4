//! Records that stay compressed until they are read.
//!
//! A search over many records reads few of them, and reading all of them at opening would take
//! longer than all other steps of opening together. A shelf keeps records in their written form,
//! several to a page; a record is read when first requested, then kept.
//!
//! A file that was tampered with may hold unreadable rows. Checking every row at opening would
//! defeat the shelf's purpose. So reading such a row unwinds with [`UnreadableRow`], and the shelf
//! remembers it: the engine then discards the file.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::size::{InMemory, block_size};
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// Bytes at which a page is closed: enough for compression, few enough to read a single row
/// quickly.
const PAGE_BYTES: usize = 4_096;

/// The panic payload of a row that can't be read.
#[derive(Debug, Clone, Copy)]
pub struct UnreadableRow;

/// How many times its length a page may grow when decompressed: LZ4 allows no more.
const GROWTH: usize = 255;

/// Rows of bytes in compressed pages.
#[derive(Debug, Default, Clone)]
pub struct CompressedPages {
    bytes: Vec<u8>,
    /// Where each page ends.
    ends: Vec<u64>,
    /// Number of rows up to the end of each page.
    rows: Vec<u32>,
}

impl CompressedPages {
    /// Reads the columns of [`ShelfWriter::pack_columns`].
    pub(crate) fn unpack_columns(unpacker: &mut ColumnUnpacker<'_>) -> Option<Self> {
        let pages = Self {
            rows: unpacker.next_column()?,
            ends: unpacker.next_column()?,
            bytes: unpacker.next_column()?,
        };
        pages.is_sound().then_some(pages)
    }

    fn decompress_page(&self, number: usize) -> Option<RowPage> {
        let bytes =
            lz4_flex::block::decompress_size_prepended(self.compressed_page(number)).ok()?;
        let first = if number == 0 { 0 } else { self.rows[number - 1] };
        Some(RowPage { bytes, first, rows: (self.rows[number] - first) as usize })
    }

    fn compressed_page(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start as usize..self.ends[number] as usize]
    }

    /// True if the pages follow one another, and the size of each allows its number of rows.
    fn is_sound(&self) -> bool {
        let fits = |number: usize| {
            let first = if number == 0 { 0 } else { self.rows[number - 1] };
            let page = self.compressed_page(number);
            page.split_first_chunk().is_some_and(|(size, page)| {
                let size = u32::from_le_bytes(*size) as usize;
                size <= page.len() * GROWTH && (self.rows[number] - first) as usize <= size / 4
            })
        };
        self.rows.len() == self.ends.len()
            && self.ends.last().map_or(0, |end| *end) == self.bytes.len() as u64
            && self.ends.is_sorted()
            && self.rows.is_sorted()
            && (0..self.rows.len()).all(fits)
    }

    /// The number of the page that contains a row.
    fn page_of(&self, row: u32) -> usize {
        self.rows.partition_point(|end| *end <= row)
    }

    fn len(&self) -> usize {
        self.rows.last().map_or(0, |rows| *rows as usize)
    }

    fn heap_bytes(&self) -> usize {
        block_size(self.bytes.capacity())
            + block_size(self.ends.capacity() * size_of::<u64>())
            + block_size(self.rows.capacity() * size_of::<u32>())
    }
}

/// The rows of one page: the end of each row, then all rows.
struct RowPage {
    bytes: Vec<u8>,
    /// Number of the first row.
    first: u32,
    rows: usize,
}

impl RowPage {
    fn row_bytes(&self, number: u32) -> Option<&[u8]> {
        let number = (number - self.first) as usize;
        let end = |row: usize| -> Option<usize> {
            let (bytes, _) = self.bytes.get(row * 4..)?.split_first_chunk()?;
            Some(u32::from_le_bytes(*bytes) as usize)
        };
        let start = if number == 0 { 0 } else { end(number - 1)? };
        self.bytes.get(self.rows * 4..)?.get(start..end(number)?)
    }
}

/// Writes the rows of a shelf.
#[derive(Debug, Default)]
pub struct ShelfWriter {
    pages: CompressedPages,
    ends: Vec<u8>,
    rows: Vec<u8>,
}

impl ShelfWriter {
    /// Continues after all rows of `pages`, which are taken over unchanged.
    pub fn continue_after(pages: CompressedPages) -> Self {
        Self { pages, ..Self::default() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.pages.len() + self.ends.len() / size_of::<u32>()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends a row. An empty row stands for no record.
    pub fn push_row(&mut self, row: &[u8]) {
        self.rows.extend_from_slice(row);
        self.ends.extend_from_slice(&(self.rows.len() as u32).to_le_bytes());
        if self.rows.len() >= PAGE_BYTES {
            self.turn_page();
        }
    }

    fn turn_page(&mut self) {
        if !self.ends.is_empty() {
            self.pages.rows.push(self.pages.len() as u32 + (self.ends.len() / 4) as u32);
            self.ends.append(&mut self.rows);
            self.pages.bytes.extend(lz4_flex::block::compress_prepend_size(&self.ends));
            self.pages.ends.push(self.pages.bytes.len() as u64);
            self.ends.clear();
        }
    }

    /// Writes the columns of the pages into a snapshot.
    pub fn pack_columns(mut self, packer: &mut ColumnPacker) {
        self.turn_page();
        packer.push_column(&self.pages.rows);
        packer.push_column(&self.pages.ends);
        packer.push_bytes(self.pages.bytes);
    }
}

/// Reads a record from its row; `None` if the row is malformed.
type Read<R> = Box<dyn Fn(&[u8]) -> Option<R> + Send + Sync>;

/// Records by the number of their row; see the module documentation.
pub struct RecordShelf<R> {
    pages: CompressedPages,
    records: Box<[OnceLock<Arc<R>>]>,
    read: Read<R>,
    /// Memory of the records that were read.
    read_bytes: AtomicUsize,
    /// True once a row could not be read, or contradicted the logs.
    unsound: AtomicBool,
}

impl<R: InMemory> RecordShelf<R> {
    /// Reads a shelf from a snapshot; `read` decodes a row.
    pub(crate) fn unpack_columns(unpacker: &mut ColumnUnpacker<'_>, read: Read<R>) -> Option<Self> {
        let pages = CompressedPages::unpack_columns(unpacker)?;
        let records = std::iter::repeat_with(OnceLock::new).take(pages.len()).collect();
        Some(Self {
            pages,
            records,
            read,
            read_bytes: AtomicUsize::new(0),
            unsound: AtomicBool::new(false),
        })
    }

    /// True once a row could not be read.
    pub(crate) fn is_unsound(&self) -> bool {
        self.unsound.load(Ordering::Relaxed)
    }

    /// Memory of the pages and of the records that were read.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.pages.heap_bytes()
            + block_size(size_of_val(&*self.records))
            + self.read_bytes.load(Ordering::Relaxed)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True without rows.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The record of a row.
    ///
    /// # Panics
    /// If the row is empty or out of range; with [`UnreadableRow`] if it can't be read.
    pub fn get(&self, row: u32) -> &Arc<R> {
        self.read_row(row, &mut self.written_rows())
    }

    /// The records of several rows; neighbours share the decompression of their page.
    ///
    /// # Panics
    /// As [`RecordShelf::get`].
    pub fn get_rows(&self, rows: &[u32]) -> Vec<Arc<R>> {
        let mut unread = self.written_rows();
        rows.iter().map(|row| Arc::clone(self.read_row(*row, &mut unread))).collect()
    }

    fn read_row(&self, row: u32, unread: &mut ShelfRows<'_>) -> &Arc<R> {
        self.records[row as usize].get_or_init(|| {
            if let Some(record) = unread.read_row(row).and_then(|row| (self.read)(row)) {
                self.read_bytes.fetch_add(record.heap_bytes(), Ordering::Relaxed);
                return Arc::new(record);
            }
            self.reject_snapshot()
        })
    }

    /// Rejects a snapshot that contradicts the logs.
    ///
    /// # Panics
    /// Always, with [`UnreadableRow`].
    pub(crate) fn reject_snapshot(&self) -> ! {
        self.unsound.store(true, Ordering::Relaxed);
        // `resume_unwind` prints no panic message; the engine reports an error instead.
        std::panic::resume_unwind(Box::new(UnreadableRow))
    }

    /// The rows in their pages.
    pub(crate) fn pages(&self) -> &CompressedPages {
        &self.pages
    }

    /// The rows as they were written.
    pub fn written_rows(&self) -> ShelfRows<'_> {
        ShelfRows { pages: &self.pages, open: None }
    }
}

/// Decompresses the pages of a shelf, one at a time.
pub struct ShelfRows<'a> {
    pages: &'a CompressedPages,
    open: Option<RowPage>,
}

impl ShelfRows<'_> {
    /// Returns a row; sequential access is fast. `None` if it can't be read.
    ///
    /// # Panics
    /// If the row is out of range.
    pub fn read_row(&mut self, row: u32) -> Option<&[u8]> {
        let there = |page: &RowPage| {
            row.checked_sub(page.first).is_some_and(|place| (place as usize) < page.rows)
        };
        if !self.open.as_ref().is_some_and(there) {
            self.open = self.pages.decompress_page(self.pages.page_of(row));
        }
        self.open.as_ref()?.row_bytes(row)
    }
}

impl<R> Default for RecordShelf<R> {
    fn default() -> Self {
        Self {
            pages: CompressedPages::default(),
            records: Box::default(),
            read: Box::new(|_| None),
            read_bytes: AtomicUsize::new(0),
            unsound: AtomicBool::new(false),
        }
    }
}

impl<R: InMemory> fmt::Debug for RecordShelf<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shelf").field("rows", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl InMemory for String {
        fn owned_bytes(&self) -> usize {
            block_size(self.capacity())
        }
    }

    fn shelf(rows: usize) -> RecordShelf<String> {
        let mut writer = ShelfWriter::default();
        (0..rows).for_each(|row| writer.push_row("row ".repeat(row % 5 * 97).as_bytes()));
        unpacked(writer)
    }

    fn unpacked(writer: ShelfWriter) -> RecordShelf<String> {
        let mut packer = ColumnPacker::default();
        writer.pack_columns(&mut packer);
        let (pieces, sum) = packer.finish();
        let bytes = pieces.concat();
        let mut unpacker = ColumnUnpacker::new(Box::new(&bytes[..]), sum);
        RecordShelf::unpack_columns(
            &mut unpacker,
            Box::new(|row| String::from_utf8(row.to_vec()).ok()),
        )
        .unwrap()
    }

    #[test]
    fn a_row_that_nobody_wrote_unwinds_and_is_remembered() {
        let shelf = shelf(50);
        let hostile = RecordShelf { read: Box::new(|_| None::<String>), ..shelf };
        assert!(!hostile.is_unsound());
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hostile.get(7).len()));
        assert!(outcome.unwrap_err().is::<UnreadableRow>());
        assert!(hostile.is_unsound());
    }

    #[test]
    fn rows_come_back_behind_those_of_another_shelf() {
        let first = shelf(50);
        let mut writer = ShelfWriter::continue_after(first.pages().clone());
        (0..7).for_each(|row| writer.push_row(format!("more {row}").as_bytes()));
        let both = unpacked(writer);
        let text = |row: u32| both.get(row).as_str();
        assert_eq!(both.len(), 57);
        assert!((0..50).all(|row| text(row) == first.get(row).as_str()));
        assert!((0..7).all(|row| text(50 + row) == format!("more {row}")));
    }

    #[test]
    fn rows_come_back() {
        for rows in [0, 1, 2, 7, 50] {
            let shelf = shelf(rows);
            assert_eq!(shelf.len(), rows);
            let unread = shelf.heap_bytes();
            let numbers: Vec<u32> = (0..rows as u32).rev().collect();
            for (number, record) in numbers.iter().zip(shelf.get_rows(&numbers)) {
                assert_eq!(*record, "row ".repeat(*number as usize % 5 * 97));
                assert!(Arc::ptr_eq(&record, shelf.get(*number)));
            }
            assert!(shelf.heap_bytes() >= unread + rows * 48, "what is read is counted");
            let mut unread = shelf.written_rows();
            numbers.iter().for_each(|number| {
                assert_eq!(unread.read_row(*number), Some(shelf.get(*number).as_bytes()));
            });
        }
    }
}
