//! The FAISS C API behind safe functions: the only module with `unsafe`.
//!
//! It knows rows and nodes (positions inside FAISS), never labels. Every call runs on one OpenMP
//! thread: a query is too short to share, many threads per query fight with the threads of the
//! caller, and with a single thread OpenMP starts no workers, so that a process may fork before or
//! after.

use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::path::Path;
use std::ptr;

use episodica_core::{Error, ErrorKind, Result};
use faiss_sys as sys;

unsafe extern "C" {
    fn omp_get_max_threads() -> c_int;
    fn omp_set_num_threads(threads: c_int);
    /// In libfaiss_c, though not among the generated bindings.
    fn faiss_fvec_inner_products_ny(
        products: *mut f32,
        x: *const f32,
        y: *const f32,
        d: usize,
        ny: usize,
    );
    /// In libfaiss_c, though not among the generated bindings.
    fn faiss_get_version() -> *const c_char;
}

/// While it lives, OpenMP regions that this thread opens have one thread; the setting of others is
/// untouched.
struct OneThread {
    before: c_int,
}

impl OneThread {
    fn new() -> Self {
        // SAFETY: both functions only touch the calling thread's OpenMP settings.
        let before = unsafe { omp_get_max_threads() };
        if before != 1 {
            // SAFETY: as above.
            unsafe { omp_set_num_threads(1) };
        }
        Self { before }
    }
}

impl Drop for OneThread {
    fn drop(&mut self) {
        if self.before != 1 {
            // SAFETY: only the calling thread's setting; `before` came from OpenMP, so it is
            // positive.
            unsafe { omp_set_num_threads(self.before) };
        }
    }
}

/// FAISS's version.
pub(crate) fn version() -> String {
    // SAFETY: FAISS returns a pointer to a string constant.
    unsafe { CStr::from_ptr(faiss_get_version()) }.to_string_lossy().into_owned()
}

/// Inner products of `query` with each row of `rows`, the same bits as a FAISS search gives.
pub(crate) fn inner_products(query: &[f32], rows: &[f32], products: &mut [f32]) {
    assert_eq!(rows.len(), query.len() * products.len(), "rows are whole");
    // SAFETY: FAISS reads `query.len()` floats of `query` and `query.len() * products.len()` of
    // `rows`, which the assertion makes the whole of it, and writes one float for each row.
    unsafe {
        faiss_fvec_inner_products_ny(
            products.as_mut_ptr(),
            query.as_ptr(),
            rows.as_ptr(),
            query.len(),
            products.len(),
        );
    }
}

/// An index of FAISS, owned.
pub(crate) struct Native {
    /// Never null, and owned: only this value frees it.
    index: *mut sys::FaissIndex,
    dimension: usize,
}

// SAFETY: FAISS indexes have no thread affinity.
unsafe impl Send for Native {}
// SAFETY: methods with `&self` call only functions that are const in FAISS, which may run at the
// same time on one index.
unsafe impl Sync for Native {}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: `index` is owned and not used after.
        unsafe { sys::faiss_Index_free(self.index) };
    }
}

impl Native {
    /// An empty index by FAISS's description of it, for inner products.
    pub(crate) fn new(description: &CStr, dimension: usize) -> Result<Self> {
        let d = c_int::try_from(dimension)
            .map_err(|_| failure(format!("dimension is too large: `{dimension}`")))?;
        let mut index = ptr::null_mut();
        // SAFETY: `description` ends in NUL; FAISS writes a pointer we own to `index` when it
        // returns 0.
        let code = unsafe {
            sys::faiss_index_factory(
                &mut index,
                d,
                description.as_ptr(),
                sys::FaissMetricType_METRIC_INNER_PRODUCT,
            )
        };
        check(code, "cannot make a vector index")?;
        Ok(Self { index, dimension })
    }

    /// Reads an index of inner products. FAISS trusts the sizes in the file: the caller has checked
    /// what it can.
    pub(crate) fn read(path: &Path, dimension: usize) -> Result<Self> {
        let name = c_path(path)?;
        let mut index = ptr::null_mut();
        // SAFETY: `name` ends in NUL; FAISS writes a pointer we own to `index` when it returns 0.
        let code = unsafe { sys::faiss_read_index_fname(name.as_ptr(), 0, &mut index) };
        check(code, "cannot read the vector index").map_err(|error| error.at(path, None))?;
        let native = Self { index, dimension };
        // SAFETY: `index` is a live index.
        let (d, metric) =
            unsafe { (sys::faiss_Index_d(index), sys::faiss_Index_metric_type(index)) };
        if usize::try_from(d) != Ok(dimension)
            || metric != sys::FaissMetricType_METRIC_INNER_PRODUCT
        {
            return Err(failure(
                "file is not an index of inner products of the expected dimension",
            )
            .at(path, None));
        }
        Ok(native)
    }

    /// Writes the index in FAISS's format.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let name = c_path(path)?;
        // SAFETY: `index` is live, `name` ends in NUL; FAISS only reads both.
        let code = unsafe { sys::faiss_write_index_fname(self.index, name.as_ptr()) };
        check(code, "cannot write the vector index").map_err(|error| error.at(path, None))
    }

    /// How many rows FAISS holds, dead nodes included.
    pub(crate) fn total(&self) -> usize {
        // SAFETY: `index` is live.
        usize::try_from(unsafe { sys::faiss_Index_ntotal(self.index) })
            .expect("invariant: FAISS counts from 0")
    }

    /// Sets a number such as `efSearch`.
    pub(crate) fn set_parameter(&mut self, name: &CStr, value: f64) -> Result<()> {
        let mut space = ptr::null_mut();
        // SAFETY: FAISS writes a pointer we own to `space` when it returns 0; it is freed once,
        // below.
        check(
            unsafe { sys::faiss_ParameterSpace_new(&mut space) },
            "cannot set a parameter of the vector index",
        )?;
        // SAFETY: `space` and `index` are live, `name` ends in NUL, and `&mut self` keeps searches
        // out.
        let code = unsafe {
            sys::faiss_ParameterSpace_set_index_parameter(space, self.index, name.as_ptr(), value)
        };
        let outcome = check(code, "cannot set a parameter of the vector index");
        // SAFETY: `space` is ours and not used after.
        unsafe { sys::faiss_ParameterSpace_free(space) };
        outcome
    }

    /// Appends rows (whole ones, one after the other).
    pub(crate) fn add(&mut self, rows: &[f32]) -> Result<()> {
        let n = self.count(rows);
        let _one = OneThread::new();
        // SAFETY: `rows` holds `n * dimension` floats, which FAISS copies; `&mut self` keeps other
        // users out.
        check(
            unsafe { sys::faiss_Index_add(self.index, n, rows.as_ptr()) },
            "cannot add to the vector index",
        )
    }

    /// Appends rows under ids; only for an index behind an id map.
    pub(crate) fn add_with_ids(&mut self, rows: &[f32], ids: &[i64]) -> Result<()> {
        let n = self.count(rows);
        assert_eq!(rows.len(), ids.len() * self.dimension, "one id for each row");
        let _one = OneThread::new();
        // SAFETY: `rows` holds `n * dimension` floats and `ids` `n` ids, which FAISS copies; `&mut
        // self` keeps other users out.
        let code =
            unsafe { sys::faiss_Index_add_with_ids(self.index, n, rows.as_ptr(), ids.as_ptr()) };
        check(code, "cannot add to the vector index")
    }

    /// The `k` best for `query`, best first, as scores and ids; fewer leave `-1` ids at the end.
    pub(crate) fn search(&self, query: &[f32], k: usize) -> Result<(Vec<f32>, Vec<i64>)> {
        assert_eq!(query.len(), self.dimension, "one whole query");
        let wanted =
            i64::try_from(k).map_err(|_| failure(format!("too many results wanted: `{k}`")))?;
        let (mut scores, mut ids) = (vec![0.0_f32; k], vec![-1_i64; k]);
        let _one = OneThread::new();
        // SAFETY: FAISS reads one query of `dimension` floats and writes `k` scores and `k` ids,
        // the lengths of the vectors.
        let code = unsafe {
            sys::faiss_Index_search(
                self.index,
                1,
                query.as_ptr(),
                wanted,
                scores.as_mut_ptr(),
                ids.as_mut_ptr(),
            )
        };
        check(code, "cannot search the vector index")?;
        Ok((scores, ids))
    }

    /// Removes the rows from `keep` on; only for a flat index.
    pub(crate) fn truncate(&mut self, keep: usize) -> Result<()> {
        let total = self.total();
        let (from, to) = (keep as i64, total as i64);
        let (mut selector, mut removed) = (ptr::null_mut(), 0);
        // SAFETY: FAISS writes a pointer we own to `selector` when it returns 0; it is freed once,
        // below.
        check(
            unsafe { sys::faiss_IDSelectorRange_new(&mut selector, from, to) },
            "cannot remove from the vector index",
        )?;
        let _one = OneThread::new();
        // SAFETY: both are live; a range selector is a selector, which is what the cast says; `&mut
        // self` keeps other users out.
        let code =
            unsafe { sys::faiss_Index_remove_ids(self.index, selector.cast(), &mut removed) };
        // SAFETY: `selector` is ours and not used after.
        unsafe { sys::faiss_IDSelectorRange_free(selector) };
        check(code, "cannot remove from the vector index")?;
        debug_assert_eq!(removed, total - keep, "FAISS removed the tail");
        Ok(())
    }

    /// The rows of a flat index, in FAISS's own memory; `None` if it is not flat.
    pub(crate) fn flat_rows(&self) -> Option<&[f32]> {
        let (rows, len) = self.flat_memory()?;
        if len == 0 {
            return Some(&[]);
        }
        // SAFETY: FAISS owns `len` initialised floats there, which move or change only through
        // `&mut self`.
        Some(unsafe { std::slice::from_raw_parts(rows, len) })
    }

    /// The rows of a flat index, to be overwritten; `None` if it is not flat.
    pub(crate) fn flat_rows_mut(&mut self) -> Option<&mut [f32]> {
        let (rows, len) = self.flat_memory()?;
        if len == 0 {
            return Some(&mut []);
        }
        // SAFETY: as in `flat_rows`; `&mut self` makes this the only view. FAISS derives nothing
        // from the rows of a flat index.
        Some(unsafe { std::slice::from_raw_parts_mut(rows, len) })
    }

    fn flat_memory(&self) -> Option<(*mut f32, usize)> {
        // SAFETY: `index` is live; the cast is a dynamic_cast, null when it does not fit.
        let flat = unsafe { sys::faiss_IndexFlat_cast(self.index) };
        if flat.is_null() {
            return None;
        }
        let (mut rows, mut len) = (ptr::null_mut(), 0);
        // SAFETY: `flat` is the same live index; FAISS writes pointer and length.
        unsafe { sys::faiss_IndexFlat_xb(flat, &mut rows, &mut len) };
        Some((rows, len))
    }

    /// The id of every node of an index behind an id map; `None` if there is no map.
    pub(crate) fn ids(&self) -> Option<&[i64]> {
        let (ids, len) = self.id_memory()?;
        if len == 0 {
            return Some(&[]);
        }
        // SAFETY: FAISS owns `len` initialised ids there, which move or change only through `&mut
        // self`.
        Some(unsafe { std::slice::from_raw_parts(ids, len) })
    }

    /// The id of every node, to be overwritten; `None` if there is no map.
    pub(crate) fn ids_mut(&mut self) -> Option<&mut [i64]> {
        let (ids, len) = self.id_memory()?;
        if len == 0 {
            return Some(&mut []);
        }
        // SAFETY: as in `ids`; `&mut self` makes this the only view. FAISS hands ids out and
        // derives nothing from them.
        Some(unsafe { std::slice::from_raw_parts_mut(ids, len) })
    }

    fn id_memory(&self) -> Option<(*mut i64, usize)> {
        // SAFETY: `index` is live; the cast is a dynamic_cast, null when it does not fit.
        let map = unsafe { sys::faiss_IndexIDMap_cast(self.index) };
        if map.is_null() {
            return None;
        }
        let (mut ids, mut len) = (ptr::null_mut(), 0);
        // SAFETY: `map` is the same live index; FAISS writes pointer and length.
        unsafe { sys::faiss_IndexIDMap_id_map(map, &mut ids, &mut len) };
        Some((ids, len))
    }

    /// Copies the vector of a node of an index behind an id map.
    pub(crate) fn node(&self, node: usize, vector: &mut [f32]) -> Result<()> {
        assert_eq!(vector.len(), self.dimension, "room for one vector");
        assert!(node < self.total(), "a node of this index");
        // SAFETY: `index` is live; the cast is a dynamic_cast, null when it does not fit.
        let map = unsafe { sys::faiss_IndexIDMap_cast(self.index) };
        if map.is_null() {
            return Err(failure("index has no id map"));
        }
        // SAFETY: `map` is live and owns the index below it, which holds as many nodes as the map
        // (FAISS adds to both); it writes `dimension` floats to `vector`.
        let code = unsafe {
            sys::faiss_Index_reconstruct(
                sys::faiss_IndexIDMap_sub_index(map),
                node as i64,
                vector.as_mut_ptr(),
            )
        };
        check(code, "cannot read a vector of the index")
    }

    /// How many nodes the index below the id map holds; differs from [`Native::total`] only in a
    /// damaged file.
    pub(crate) fn nodes_below(&self) -> Option<usize> {
        // SAFETY: `index` is live; the cast is a dynamic_cast, null when it does not fit.
        let map = unsafe { sys::faiss_IndexIDMap_cast(self.index) };
        if map.is_null() {
            return None;
        }
        // SAFETY: `map` is live and owns the index below it.
        usize::try_from(unsafe { sys::faiss_Index_ntotal(sys::faiss_IndexIDMap_sub_index(map)) })
            .ok()
    }

    fn count(&self, rows: &[f32]) -> i64 {
        assert_eq!(rows.len() % self.dimension, 0, "rows are whole");
        (rows.len() / self.dimension) as i64
    }
}

/// An `Index` failure.
pub(crate) fn failure(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Index, context)
}

fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|cause| failure("path holds a zero byte").at(path, None).caused_by(cause))
}

fn check(code: c_int, context: &str) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(failure(context).caused_by(last_error(code))) }
}

/// What FAISS says about its last failure on this thread, without the place in its sources.
fn last_error(code: c_int) -> String {
    // SAFETY: FAISS returns null or a string that lives until the next failure on this thread; it
    // is copied here.
    let text = unsafe {
        let text = sys::faiss_get_last_error();
        if text.is_null() {
            return format!("FAISS failed with code `{code}`");
        }
        CStr::from_ptr(text).to_string_lossy()
    };
    let text = text.rsplit_once("Error: ").map_or(&*text, |(_, message)| message);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
