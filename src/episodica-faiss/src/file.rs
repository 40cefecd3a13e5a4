//! What a file of FAISS must look like before FAISS may read it.
//!
//! FAISS allocates what the sizes in a file say and reads as much; it does not ask whether they go together. The caller's checksum finds
//! damage; this finds the file of another index, and for flat indexes every wrong size.

use std::io::Read;
use std::path::Path;

use episodica_core::Result;
use episodica_core::index::VectorIndexKind;
use fs_err::File;

use crate::native::failure;

/// Four letters, dimension (i32), rows (i64), two numbers without meaning (i64), trained (u8), metric (i32). See `write_index_header` in
/// FAISS's `impl/index_write.cpp`.
const HEADER: usize = 4 + 4 + 8 + 8 + 8 + 1 + 4;
/// Before the rows of a flat index stands how many numbers they are (u64).
const FLAT_HEADER: usize = HEADER + 8;
/// "Flat index of inner products".
const FLAT: &[u8] = b"IxFI";
/// "Index behind an id map".
const ID_MAP: &[u8] = b"IxMp";
/// "HNSW over flat storage".
const HNSW_FLAT: &[u8] = b"IHNf";

/// Says which structure the file holds, having checked what stands outside FAISS's own structures. `rows` are the rows it must hold; an
/// HNSW graph may hold more, which were removed.
///
/// # Errors
/// `Index` when it can't be the index; `Io` when the file can't be read.
pub(crate) fn inspect(path: &Path, dimension: usize, rows: usize) -> Result<VectorIndexKind> {
    let io = |cause| episodica_core::Error::io("cannot read the vector index", path, cause);
    let refuse = |why: &str| failure(format!("file is not the vector index that was written: {why}")).at(path, None);
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut head = Vec::new();
    file.by_ref().take((HEADER + HEADER) as u64).read_to_end(&mut head).map_err(io)?;
    if head.len() < FLAT_HEADER {
        return Err(refuse("it is too short"));
    }
    let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("invariant: eight bytes"));
    if head[4..8] != u32::try_from(dimension).unwrap_or(u32::MAX).to_le_bytes() {
        return Err(refuse("it has another dimension"));
    }
    let (held, numbers) = (number(8), (rows as u64).saturating_mul(dimension as u64));
    match &head[..4] {
        FLAT => {
            if held != rows as u64 || number(HEADER) != numbers {
                return Err(refuse("it holds another number of vectors"));
            }
            if length != FLAT_HEADER as u64 + numbers * 4 {
                return Err(refuse("it has another length"));
            }
            Ok(VectorIndexKind::Flat)
        }
        ID_MAP if head[HEADER..].starts_with(HNSW_FLAT) => {
            // Each node has its vector and its id, besides the graph.
            let least = held.saturating_mul(dimension as u64 * 4 + 8);
            if held < rows as u64 || length < least {
                return Err(refuse("it holds another number of vectors"));
            }
            Ok(VectorIndexKind::Hnsw)
        }
        _ => Err(refuse("it is of another kind")),
    }
}
