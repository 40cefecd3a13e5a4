//! Safe functions for FAISS. The only other `unsafe` code is in `episodica-simd`.
//!
//! This module handles rows and nodes (positions within FAISS), never labels; `native/index.cpp` is
//! the C++ part. FAISS is compiled for a single thread, since a query is too short to share among
//! threads, and the process may fork at any time.

use std::ffi::{CStr, c_char, c_float, c_int, c_void};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::ptr;
use std::sync::Once;

use episodica_core::{Error, ErrorKind, Result};
use episodica_simd::inner_product;
use fs_err::File;

/// FAISS's `Index`; exists in Rust only as a pointer.
#[repr(C)]
struct Index {
    _opaque: [u8; 0],
}

/// Moves `count` bytes from or to a file; returns 0 on success.
type Move = unsafe extern "C" fn(context: *mut c_void, bytes: *mut c_void, count: usize) -> c_int;
type InnerProduct = unsafe extern "C" fn(*const c_float, *const c_float, usize) -> c_float;

// native/index.cpp
unsafe extern "C" {
    fn episodica_set_inner_product(function: InnerProduct);
    fn episodica_faiss_version() -> *const c_char;
    fn episodica_index_last_error() -> *const c_char;
    fn episodica_index_flat(out: *mut *mut Index, dimension: c_int) -> c_int;
    fn episodica_index_graph(out: *mut *mut Index, dimension: c_int, links: c_int) -> c_int;
    fn episodica_index_free(index: *mut Index);
    fn episodica_index_dimension(index: *const Index) -> c_int;
    fn episodica_index_total(index: *const Index) -> i64;
    fn episodica_index_set_candidates(index: *mut Index, search: c_int, insertion: c_int);
    fn episodica_index_add(index: *mut Index, n: i64, rows: *const f32) -> c_int;
    fn episodica_index_add_with_ids(
        index: *mut Index,
        n: i64,
        rows: *const f32,
        ids: *const i64,
    ) -> c_int;
    fn episodica_index_search(
        index: *const Index,
        query: *const f32,
        k: i64,
        scores: *mut f32,
        ids: *mut i64,
    ) -> c_int;
    fn episodica_index_truncate(index: *mut Index, keep: i64) -> c_int;
    fn episodica_index_flat_rows(index: *mut Index, numbers: *mut usize) -> *mut f32;
    fn episodica_index_ids(index: *mut Index, count: *mut usize) -> *mut i64;
    fn episodica_index_nodes_below(index: *const Index) -> i64;
    fn episodica_index_node(index: *mut Index, node: i64, vector: *mut f32) -> c_int;
    fn episodica_index_write(index: *const Index, write: Move, context: *mut c_void) -> c_int;
    fn episodica_index_read(out: *mut *mut Index, read: Move, context: *mut c_void) -> c_int;
}

/// The inner product that FAISS calls for each comparison.
unsafe extern "C" fn product(a: *const f32, b: *const f32, d: usize) -> f32 {
    // SAFETY: FAISS passes two vectors of `d` floats and does not modify them during the call.
    unsafe { inner_product(std::slice::from_raw_parts(a, d), std::slice::from_raw_parts(b, d)) }
}

/// Sets FAISS's function for comparisons, before the first index is created.
fn prepare() {
    static PREPARED: Once = Once::new();
    // SAFETY: FAISS stores a function pointer; `Once` blocks other threads until it is set.
    PREPARED.call_once(|| unsafe { episodica_set_inner_product(product) });
}

/// The version of FAISS.
pub(crate) fn version() -> String {
    // SAFETY: FAISS returns a pointer to a string constant.
    unsafe { CStr::from_ptr(episodica_faiss_version()) }.to_string_lossy().into_owned()
}

/// Inner products of `query` with each row of `rows`; bit-identical to those of a FAISS search.
pub(crate) fn inner_products(query: &[f32], rows: &[f32], products: &mut [f32]) {
    assert_eq!(rows.len(), query.len() * products.len(), "rows are whole");
    for (row, product) in rows.chunks_exact(query.len().max(1)).zip(products) {
        *product = inner_product(query, row);
    }
}

/// A file that FAISS reads or writes in pieces, and its first error.
struct FaissStream<F> {
    file: F,
    failed: Option<io::Error>,
}

impl<F> FaissStream<F> {
    fn new(file: F) -> Self {
        Self { file, failed: None }
    }

    fn context(&mut self) -> *mut c_void {
        ptr::from_mut(self).cast()
    }

    /// The error of a call that transferred bytes.
    fn check(&mut self, code: c_int, context: &str, path: &Path) -> Result<()> {
        match self.failed.take() {
            Some(cause) => Err(failure(context).caused_by(cause)),
            None => check(code, context),
        }
        .map_err(|error| error.at(path, None))
    }

    fn note(&mut self, outcome: io::Result<()>) -> c_int {
        match outcome {
            Ok(()) => 0,
            Err(error) => {
                self.failed = Some(error);
                -1
            }
        }
    }
}

unsafe extern "C" fn read_piece(context: *mut c_void, bytes: *mut c_void, count: usize) -> c_int {
    // SAFETY: `NativeIndex::read` passes its own stream as the context and does not access it
    // during the call; `bytes` are `count` initialised bytes owned by FAISS.
    let (stream, bytes) = unsafe {
        (
            &mut *context.cast::<FaissStream<BufReader<File>>>(),
            std::slice::from_raw_parts_mut(bytes.cast::<u8>(), count),
        )
    };
    let outcome = stream.file.read_exact(bytes);
    stream.note(outcome)
}

unsafe extern "C" fn write_piece(context: *mut c_void, bytes: *mut c_void, count: usize) -> c_int {
    // SAFETY: `NativeIndex::write` passes its own stream as the context and does not access it
    // during the call; `bytes` are `count` bytes owned by FAISS, which are only read.
    let (stream, bytes) = unsafe {
        (
            &mut *context.cast::<FaissStream<BufWriter<File>>>(),
            std::slice::from_raw_parts(bytes.cast::<u8>(), count),
        )
    };
    let outcome = stream.file.write_all(bytes);
    stream.note(outcome)
}

/// An owned FAISS index.
pub(crate) struct NativeIndex {
    /// Never null. Only this value frees it.
    index: *mut Index,
    dimension: usize,
}

// SAFETY: FAISS indexes have no thread affinity.
unsafe impl Send for NativeIndex {}
// SAFETY: methods with `&self` call only functions that are const in FAISS, which may run
// concurrently on one index.
unsafe impl Sync for NativeIndex {}

impl Drop for NativeIndex {
    fn drop(&mut self) {
        // SAFETY: `index` is owned and not used after.
        unsafe { episodica_index_free(self.index) };
    }
}

impl NativeIndex {
    /// Creates an empty flat index.
    pub(crate) fn flat(dimension: usize) -> Result<Self> {
        // SAFETY: FAISS writes a pointer that we own if it returns 0.
        Self::made(dimension, |out, d| unsafe { episodica_index_flat(out, d) })
    }

    /// Creates an empty graph with an id map, whose nodes have `links` links.
    pub(crate) fn graph(dimension: usize, links: u64) -> Result<Self> {
        // SAFETY: FAISS writes a pointer that we own if it returns 0.
        Self::made(dimension, |out, d| unsafe { episodica_index_graph(out, d, links as c_int) })
    }

    fn made(dimension: usize, make: impl FnOnce(*mut *mut Index, c_int) -> c_int) -> Result<Self> {
        prepare();
        let d = c_int::try_from(dimension)
            .map_err(|_| failure(format!("dimension is too large: `{dimension}`")))?;
        let mut index = ptr::null_mut();
        check(make(&mut index, d), "cannot make a vector index")?;
        Ok(Self { index, dimension })
    }

    /// Reads an inner-product index. Trusts the sizes in the file, so the caller must check it
    /// first.
    pub(crate) fn read(path: &Path, dimension: usize) -> Result<Self> {
        const CONTEXT: &str = "cannot read the vector index";
        prepare();
        let file =
            File::open(path).map_err(|cause| failure(CONTEXT).caused_by(cause).at(path, None))?;
        let mut stream = FaissStream::new(BufReader::new(file));
        let mut index = ptr::null_mut();
        // SAFETY: `read_piece` gets this stream as its context, which outlives the call; FAISS
        // writes a pointer that we own to `index` if it returns 0.
        let code = unsafe { episodica_index_read(&mut index, read_piece, stream.context()) };
        stream.check(code, CONTEXT, path)?;
        let native = Self { index, dimension };
        // SAFETY: `index` is a live index.
        if usize::try_from(unsafe { episodica_index_dimension(index) }) != Ok(dimension) {
            return Err(failure("file is not an index of the expected dimension").at(path, None));
        }
        Ok(native)
    }

    /// Writes the index in FAISS's format.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        const CONTEXT: &str = "cannot write the vector index";
        let io = |cause| failure(CONTEXT).caused_by(cause).at(path, None);
        let file = File::create(path).map_err(io)?;
        let mut stream = FaissStream::new(BufWriter::new(file));
        // SAFETY: `index` is live and only read; `write_piece` gets this stream as its context,
        // which outlives the call.
        let code = unsafe { episodica_index_write(self.index, write_piece, stream.context()) };
        stream.check(code, CONTEXT, path)?;
        stream.file.flush().map_err(io)
    }

    /// Number of rows in FAISS, including dead nodes.
    pub(crate) fn total(&self) -> usize {
        // SAFETY: `index` is live.
        usize::try_from(unsafe { episodica_index_total(self.index) })
            .expect("invariant: FAISS counts from 0")
    }

    /// Sets the numbers of candidates that a search in a graph and an insertion keep.
    pub(crate) fn set_candidates(&mut self, search: u16, insertion: u16) {
        // SAFETY: `index` is live, and `&mut self` excludes concurrent searches.
        unsafe {
            episodica_index_set_candidates(self.index, search.into(), insertion.into());
        }
    }

    /// Appends whole rows, stored one after the other.
    pub(crate) fn add(&mut self, rows: &[f32]) -> Result<()> {
        let n = self.count(rows);
        // SAFETY: `rows` holds `n * dimension` floats, which FAISS copies; `&mut self` excludes
        // other users.
        check(
            unsafe { episodica_index_add(self.index, n, rows.as_ptr()) },
            "cannot add to the vector index",
        )
    }

    /// Appends rows with ids; only for an index with an id map.
    pub(crate) fn add_with_ids(&mut self, rows: &[f32], ids: &[i64]) -> Result<()> {
        let n = self.count(rows);
        assert_eq!(rows.len(), ids.len() * self.dimension, "one id for each row");
        // SAFETY: `rows` holds `n * dimension` floats and `ids` `n` ids, which FAISS copies; `&mut
        // self` excludes other users.
        let code =
            unsafe { episodica_index_add_with_ids(self.index, n, rows.as_ptr(), ids.as_ptr()) };
        check(code, "cannot add to the vector index")
    }

    /// The scores and ids of the `k` best rows for `query`, best first, padded with the id `-1`.
    pub(crate) fn search(&self, query: &[f32], k: usize) -> Result<(Vec<f32>, Vec<i64>)> {
        assert_eq!(query.len(), self.dimension, "one whole query");
        let wanted =
            i64::try_from(k).map_err(|_| failure(format!("too many results wanted: `{k}`")))?;
        let (mut scores, mut ids) = (vec![0.0_f32; k], vec![-1_i64; k]);
        // SAFETY: FAISS reads one query of `dimension` floats and writes `k` scores and `k` ids,
        // which are the lengths of the vectors.
        let code = unsafe {
            episodica_index_search(
                self.index,
                query.as_ptr(),
                wanted,
                scores.as_mut_ptr(),
                ids.as_mut_ptr(),
            )
        };
        check(code, "cannot search the vector index")?;
        Ok((scores, ids))
    }

    /// Keeps the first `keep` rows and removes the rest; only for a flat index.
    pub(crate) fn truncate(&mut self, keep: usize) -> Result<()> {
        // SAFETY: `index` is live, and `&mut self` excludes other users.
        check(
            unsafe { episodica_index_truncate(self.index, keep as i64) },
            "cannot remove from the vector index",
        )?;
        debug_assert_eq!(self.total(), keep, "FAISS removed the tail");
        Ok(())
    }

    /// The rows of a flat index, in FAISS's own memory; `None` if it is not flat.
    pub(crate) fn flat_rows(&self) -> Option<&[f32]> {
        let (rows, len) = self.flat_memory()?;
        // SAFETY: FAISS owns `len` initialised floats there, which move or change only through
        // `&mut self`.
        Some(unsafe { std::slice::from_raw_parts(rows, len) })
    }

    /// Mutable access to the rows of a flat index; `None` if it is not flat.
    pub(crate) fn flat_rows_mut(&mut self) -> Option<&mut [f32]> {
        let (rows, len) = self.flat_memory()?;
        // SAFETY: as in `flat_rows`; `&mut self` makes this the only view. FAISS derives nothing
        // from the rows of a flat index.
        Some(unsafe { std::slice::from_raw_parts_mut(rows, len) })
    }

    fn flat_memory(&self) -> Option<(*mut f32, usize)> {
        let mut len = 0;
        // SAFETY: `index` is live; FAISS writes the number of values. A null pointer means that the
        // index is not flat, even if it is empty.
        let rows = unsafe { episodica_index_flat_rows(self.index, &mut len) };
        (!rows.is_null()).then_some((rows, len))
    }

    /// The id of every node; `None` for an index without an id map.
    pub(crate) fn ids(&self) -> Option<&[i64]> {
        let (ids, len) = self.id_memory()?;
        // SAFETY: FAISS owns `len` initialised ids there, which move or change only through `&mut
        // self`.
        Some(unsafe { std::slice::from_raw_parts(ids, len) })
    }

    /// Mutable access to the id of every node; `None` for an index without an id map.
    pub(crate) fn ids_mut(&mut self) -> Option<&mut [i64]> {
        let (ids, len) = self.id_memory()?;
        // SAFETY: as in `ids`; `&mut self` makes this the only view. FAISS only returns ids and
        // derives nothing from them.
        Some(unsafe { std::slice::from_raw_parts_mut(ids, len) })
    }

    fn id_memory(&self) -> Option<(*mut i64, usize)> {
        let mut len = 0;
        // SAFETY: `index` is live; FAISS writes the number of ids. A null pointer means that the
        // index has no id map, even if it is empty.
        let ids = unsafe { episodica_index_ids(self.index, &mut len) };
        (!ids.is_null()).then_some((ids, len))
    }

    /// Copies the vector of a node of an index with an id map.
    pub(crate) fn node(&self, node: usize, vector: &mut [f32]) -> Result<()> {
        assert_eq!(vector.len(), self.dimension, "room for one vector");
        assert!(node < self.total(), "a node of this index");
        // SAFETY: `index` is live, and the index below its map has as many nodes as the map, since
        // FAISS adds to both; it writes `dimension` floats to `vector`.
        check(
            unsafe { episodica_index_node(self.index, node as i64, vector.as_mut_ptr()) },
            "cannot read a vector of the index",
        )
    }

    /// Number of nodes in the index below the id map. Differs from [`NativeIndex::total`] only if
    /// the file was damaged.
    pub(crate) fn nodes_below(&self) -> Option<usize> {
        // SAFETY: `index` is live.
        usize::try_from(unsafe { episodica_index_nodes_below(self.index) }).ok()
    }

    fn count(&self, rows: &[f32]) -> i64 {
        assert_eq!(rows.len() % self.dimension, 0, "rows are whole");
        (rows.len() / self.dimension) as i64
    }
}

/// Creates an `Index` error.
pub(crate) fn failure(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Index, context)
}

fn check(code: c_int, context: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(failure(context).caused_by(last_error())) }
}

/// FAISS's message for its last failure on this thread, without the position in its sources.
fn last_error() -> String {
    // SAFETY: the string is valid until the next failure on this thread; it is copied here.
    let text = unsafe { CStr::from_ptr(episodica_index_last_error()) }.to_string_lossy();
    let text = text.rsplit_once("Error: ").map_or(&*text, |(_, message)| message);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
