//! Safe functions for FAISS. The only other `unsafe` code is in `episodica-simd`.
//!
//! This module handles rows (positions within FAISS), never labels; `native/index.cpp` is
//! the C++ part. FAISS is compiled for a single thread, since a query is too short to share among
//! threads, and the process may fork at any time.

use std::ffi::{CStr, c_char, c_float, c_int};
use std::ptr;
use std::sync::Once;

use episodica_core::{Error, ErrorKind, Result};
use episodica_simd::inner_product;

/// FAISS's `Index`; exists in Rust only as a pointer.
#[repr(C)]
struct Index {
    _opaque: [u8; 0],
}

type InnerProduct = unsafe extern "C" fn(*const c_float, *const c_float, usize) -> c_float;

// native/index.cpp
unsafe extern "C" {
    fn episodica_set_inner_product(function: InnerProduct);
    fn episodica_faiss_version() -> *const c_char;
    fn episodica_index_last_error() -> *const c_char;
    fn episodica_index_new(out: *mut *mut Index, dimension: c_int) -> c_int;
    fn episodica_index_free(index: *mut Index);
    fn episodica_index_total(index: *const Index) -> i64;
    fn episodica_index_add(index: *mut Index, n: i64, rows: *const f32) -> c_int;
    fn episodica_index_search(
        index: *const Index,
        query: *const f32,
        k: i64,
        scores: *mut f32,
        ids: *mut i64,
    ) -> c_int;
    fn episodica_index_truncate(index: *mut Index, keep: i64) -> c_int;
    fn episodica_index_rows(index: *mut Index, numbers: *mut usize) -> *mut f32;
}

/// The inner product that FAISS calls for each comparison.
unsafe extern "C" fn product_callback(a: *const f32, b: *const f32, d: usize) -> f32 {
    // SAFETY: FAISS passes two vectors of `d` floats and does not modify them during the call.
    unsafe { inner_product(std::slice::from_raw_parts(a, d), std::slice::from_raw_parts(b, d)) }
}

/// Sets FAISS's function for comparisons, before the first index is created.
fn install_product() {
    static PREPARED: Once = Once::new();
    // SAFETY: FAISS stores a function pointer; `Once` blocks other threads until it is set.
    PREPARED.call_once(|| unsafe { episodica_set_inner_product(product_callback) });
}

/// The version of FAISS.
pub(crate) fn faiss_version() -> String {
    // SAFETY: FAISS returns a pointer to a string constant.
    unsafe { CStr::from_ptr(episodica_faiss_version()) }.to_string_lossy().into_owned()
}

/// An owned flat index of FAISS.
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
    /// Creates an empty index.
    pub(crate) fn new(dimension: usize) -> Result<Self> {
        install_product();
        let d = c_int::try_from(dimension)
            .map_err(|_| index_error(format!("dimension is too large: `{dimension}`")))?;
        let mut index = ptr::null_mut();
        // SAFETY: FAISS writes a pointer that we own if it returns 0.
        let code = unsafe { episodica_index_new(&mut index, d) };
        check_code(code, "cannot make a vector index")?;
        Ok(Self { index, dimension })
    }

    /// Number of rows.
    pub(crate) fn row_count(&self) -> usize {
        // SAFETY: `index` is live.
        usize::try_from(unsafe { episodica_index_total(self.index) })
            .expect("invariant: FAISS counts from 0")
    }

    /// Appends whole rows, stored one after the other.
    pub(crate) fn add_rows(&mut self, rows: &[f32]) -> Result<()> {
        let n = self.count_rows(rows);
        // SAFETY: `rows` holds `n * dimension` floats, which FAISS copies; `&mut self` excludes
        // other users.
        check_code(
            unsafe { episodica_index_add(self.index, n, rows.as_ptr()) },
            "cannot add to the vector index",
        )
    }

    /// The scores and ids of the `k` best rows for `query`, best first, padded with the id `-1`.
    pub(crate) fn search_rows(&self, query: &[f32], k: usize) -> Result<(Vec<f32>, Vec<i64>)> {
        assert_eq!(query.len(), self.dimension, "one whole query");
        let wanted =
            i64::try_from(k).map_err(|_| index_error(format!("too many results wanted: `{k}`")))?;
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
        check_code(code, "cannot search the vector index")?;
        Ok((scores, ids))
    }

    /// Keeps the first `keep` rows and removes the rest.
    pub(crate) fn truncate(&mut self, keep: usize) -> Result<()> {
        // SAFETY: `index` is live, and `&mut self` excludes other users.
        check_code(
            unsafe { episodica_index_truncate(self.index, keep as i64) },
            "cannot remove from the vector index",
        )?;
        debug_assert_eq!(self.row_count(), keep, "FAISS removed the tail");
        Ok(())
    }

    /// The rows, in FAISS's own memory.
    pub(crate) fn rows(&self) -> &[f32] {
        let (rows, len) = self.raw_memory();
        // SAFETY: FAISS owns `len` initialised floats there, which move or change only through
        // `&mut self`.
        unsafe { std::slice::from_raw_parts(rows, len) }
    }

    /// Mutable access to the rows.
    pub(crate) fn rows_mut(&mut self) -> &mut [f32] {
        let (rows, len) = self.raw_memory();
        // SAFETY: as in `rows`; `&mut self` makes this the only view. FAISS derives nothing from
        // the rows of a flat index.
        unsafe { std::slice::from_raw_parts_mut(rows, len) }
    }

    fn raw_memory(&self) -> (*mut f32, usize) {
        let mut len = 0;
        // SAFETY: `index` is live; FAISS writes the number of values and never returns null.
        let rows = unsafe { episodica_index_rows(self.index, &mut len) };
        (rows, len)
    }

    fn count_rows(&self, rows: &[f32]) -> i64 {
        assert_eq!(rows.len() % self.dimension, 0, "rows are whole");
        (rows.len() / self.dimension) as i64
    }
}

/// Creates an `Index` error.
pub(crate) fn index_error(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Index, context)
}

fn check_code(code: c_int, context: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(index_error(context).caused_by(last_error())) }
}

/// FAISS's message for its last failure on this thread, without the position in its sources.
fn last_error() -> String {
    // SAFETY: the string is valid until the next failure on this thread; it is copied here.
    let text = unsafe { CStr::from_ptr(episodica_index_last_error()) }.to_string_lossy();
    let text = text.rsplit_once("Error: ").map_or(&*text, |(_, message)| message);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
