//! Checks a file before FAISS reads it.
//!
//! FAISS allocates and reads as much as the sizes in a file say, without checking them against each
//! other. The caller's checksum detects damage. This module detects the file of another index and
//! wrong sizes, and `graph_file` wrong links. Files in half precision are written and read here,
//! without FAISS.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use episodica_core::{Error, Result};
use fs_err::File;
use half::f16;

use crate::graph_file;
use crate::native::failure;

/// Size of the header: four letters, dimension (i32), rows (i64), two unused numbers (i64), trained
/// (u8), metric (i32). See `write_index_header` in FAISS's `impl/index_write.cpp`.
pub(crate) const HEADER: usize = 4 + 4 + 8 + 8 + 8 + 1 + 4;
/// Size of the header of a flat index, which ends with the count of the following numbers (u64).
const FLAT_HEADER: usize = HEADER + 8;
/// "Flat index of inner products".
pub(crate) const FLAT: &[u8] = b"IxFI";
/// "Index of scalar quantizers".
const QUANTIZED: &[u8] = b"IxSQ";
/// FAISS's number for the quantizer to half precision.
const HALVES: i32 = 4;
/// Size of the header of a scalar quantizer: the general header, then its type (i32), an unused
/// range (i32, f32), dimension (u64), bytes per row (u64), number of trained values (u64), and
/// number of bytes of the codes (u64). See `write_ScalarQuantizer`.
const HALF_HEADER: usize = HEADER + 4 + 4 + 4 + 4 * 8;
/// "Index with an id map".
pub(crate) const ID_MAP: &[u8] = b"IxMp";
/// "HNSW over flat storage".
pub(crate) const HNSW_FLAT: &[u8] = b"IHNf";

/// Precision of the rows of a flat index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowPrecision {
    Single,
    Half,
}

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileStructure {
    Flat(RowPrecision),
    Hnsw,
}

/// The header of a file in half precision, as FAISS writes it for an inner-product index `SQfp16`.
fn half_header(rows: usize, dimension: usize) -> Result<Vec<u8>> {
    let d = i32::try_from(dimension)
        .map_err(|_| failure(format!("dimension is too large: `{dimension}`")))?;
    let mut header = QUANTIZED.to_vec();
    header.extend(d.to_le_bytes());
    header.extend((rows as u64).to_le_bytes());
    // Two unused numbers; trained, since no training is needed; inner products.
    header.extend([(1_u64 << 20).to_le_bytes(); 2].as_flattened());
    header.push(1);
    header.extend(0_i32.to_le_bytes());
    header.extend(HALVES.to_le_bytes());
    header.extend([0; 8]);
    let row = 2 * dimension as u64;
    header
        .extend([dimension as u64, row, 0, row * rows as u64].map(u64::to_le_bytes).as_flattened());
    Ok(header)
}

/// Writes rows in half precision in the format of FAISS's index `SQfp16`, byte for byte. FAISS
/// itself would have to copy all rows first.
///
/// # Errors
/// `Index` if the file cannot be written.
pub(crate) fn write_halves(path: &Path, halves: &[f16], dimension: usize) -> Result<()> {
    let header = half_header(halves.len() / dimension, dimension)?;
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(&header)?;
        file.write_all(bytemuck::cast_slice(halves))
    };
    write().map_err(|error: std::io::Error| {
        failure("cannot write the vector index").caused_by(error).at(path, None)
    })
}

/// Reads the rows of a file that [`inspect`] accepted.
///
/// # Errors
/// `Io` if the file cannot be read.
pub(crate) fn read_halves(path: &Path) -> Result<Vec<f16>> {
    let read = || {
        let mut file = File::open(path)?;
        let numbers = (file.metadata()?.len() as usize).saturating_sub(HALF_HEADER) / 2;
        file.seek(SeekFrom::Start(HALF_HEADER as u64))?;
        let mut halves = episodica_simd::zeroed(numbers);
        file.read_exact(bytemuck::cast_slice_mut(&mut halves))?;
        Ok(halves)
    };
    read().map_err(|cause| Error::io("cannot read the vector index", path, cause))
}

/// Returns the structure in the file, after checking everything outside of FAISS's own structures.
/// The file must contain `rows` rows; an HNSW graph may contain more, which were removed.
///
/// # Errors
/// `Index` if the file is not such an index; `Io` if it cannot be read.
pub(crate) fn inspect(path: &Path, dimension: usize, rows: usize) -> Result<FileStructure> {
    let io = |cause| Error::io("cannot read the vector index", path, cause);
    let refuse = |why: &str| {
        failure(format!("file is not the vector index that was written: {why}")).at(path, None)
    };
    let mut file = File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut head = Vec::new();
    Read::by_ref(&mut file)
        .take((HALF_HEADER + HEADER) as u64)
        .read_to_end(&mut head)
        .map_err(io)?;
    if head.len() < FLAT_HEADER {
        return Err(refuse("it is too short"));
    }
    let number = |at: usize| {
        u64::from_le_bytes(head[at..at + 8].try_into().expect("invariant: eight bytes"))
    };
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
            Ok(FileStructure::Flat(RowPrecision::Single))
        }
        QUANTIZED => {
            let expected = half_header(rows, dimension)?;
            if head.get(..HALF_HEADER) != Some(&expected) {
                return Err(refuse("its header is not that of as many vectors in half precision"));
            }
            if length != HALF_HEADER as u64 + numbers * 2 {
                return Err(refuse("it has another length"));
            }
            Ok(FileStructure::Flat(RowPrecision::Half))
        }
        ID_MAP if head[HEADER..].starts_with(HNSW_FLAT) => {
            // Apart from the graph, each node has a vector and an id.
            let least = held.saturating_mul(dimension as u64 * 4 + 8);
            if held < rows as u64 || length < least {
                return Err(refuse("it holds another number of vectors"));
            }
            graph_file::check(path, dimension)?;
            Ok(FileStructure::Hnsw)
        }
        _ => Err(refuse("it is of another kind")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::native::NativeIndex;

    const D: usize = 3;
    const ROWS: usize = 7;

    /// A file that all of FAISS 1.12 wrote: the same rows in each (`tests/fixtures/README.md`).
    fn theirs(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/faiss").join(name)
    }

    fn rows() -> Vec<f32> {
        NativeIndex::read(&theirs("flat.faiss"), D).unwrap().flat_rows().unwrap().to_vec()
    }

    #[test]
    fn files_of_faiss_are_read_and_written_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ours");
        for (name, structure) in [
            ("flat.faiss", FileStructure::Flat(RowPrecision::Single)),
            ("graph.faiss", FileStructure::Hnsw),
        ] {
            let path = theirs(name);
            assert_eq!(inspect(&path, D, ROWS).unwrap(), structure);
            let native = NativeIndex::read(&path, D).unwrap();
            native.write(&ours).unwrap();
            assert_eq!(fs_err::read(&ours).unwrap(), fs_err::read(&path).unwrap(), "{name}");
            let (scores, found) = native.search(&[1.0, 0.5, 0.25], ROWS).unwrap();
            assert_eq!(found, [3, 2, 5, 6, 0, 4, 1], "{name}");
            assert_eq!(scores[..3], [16_376.0, 1.0, 0.6875], "{name}");
        }
    }

    #[test]
    fn a_graph_that_is_built_here_is_the_one_that_faiss_builds() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ours");
        let mut graph = NativeIndex::graph(D, crate::hnsw::LINKS).unwrap();
        graph.set_candidates(64, 80);
        graph.add_with_ids(&rows(), &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        graph.write(&ours).unwrap();
        assert_eq!(fs_err::read(&ours).unwrap(), fs_err::read(theirs("graph.faiss")).unwrap());
    }

    #[test]
    fn faiss_writes_the_same_halves() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ours");
        let path = theirs("halves.faiss");
        let halves: Vec<f16> = rows().into_iter().map(f16::from_f32).collect();
        write_halves(&ours, &halves, D).unwrap();
        assert_eq!(fs_err::read(&ours).unwrap(), fs_err::read(&path).unwrap());
        assert_eq!(inspect(&path, D, ROWS).unwrap(), FileStructure::Flat(RowPrecision::Half));
        assert_eq!(read_halves(&path).unwrap(), halves);
        write_halves(&ours, &[], 5).unwrap();
        assert_eq!(inspect(&ours, 5, 0).unwrap(), FileStructure::Flat(RowPrecision::Half));
        assert_eq!(read_halves(&ours).unwrap(), []);
    }

    #[test]
    fn a_file_of_another_kind_is_refused_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd");
        for bytes in [&b"IxSQ"[..], b"IxFI", b"what?"] {
            fs_err::write(&path, bytes).unwrap();
            let error = NativeIndex::read(&path, D).err().expect("refused").to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
