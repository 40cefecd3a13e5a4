//! Checks the file of a graph before FAISS reads it.
//!
//! FAISS follows the links in a file without checking their targets, so a link beyond the nodes
//! would read foreign memory. Therefore every number of the graph is checked here, once, when the
//! file is read. The format is that of `write_HNSW` in FAISS's `impl/index_write.cpp`.

use std::io::{self, BufReader, Read};
use std::path::Path;

use episodica_core::{Error, Result};
use fs_err::File;

use crate::hnsw::LINKS;
use crate::native::failure;

/// Length of a header: four letters, dimension (i32), rows (i64), two numbers without meaning (i64
/// each), trained (u8), metric (i32). See `write_index_header` in FAISS's `impl/index_write.cpp`.
const HEADER: usize = 4 + 4 + 8 + 8 + 8 + 1 + 4;
/// "Index behind an id map".
const ID_MAP: &[u8] = b"IxMp";
/// "HNSW over flat storage".
const HNSW_FLAT: &[u8] = b"IHNf";
/// "Flat index of inner products".
const FLAT: &[u8] = b"IxFI";
/// Number of scalars (i32 each) after the links: entry point, highest level, two search widths, and
/// an unused number.
const SCALARS: usize = 5;
/// Number of bytes read at a time.
const PIECE: usize = 4_096;

/// Checks that the file is a graph of vectors of this dimension, in which every link leads to a
/// node of its level.
///
/// # Errors
/// `Index` if it is not; `Io` if the file cannot be read.
pub(crate) fn check(path: &Path, dimension: usize) -> Result<()> {
    let io = |cause| Error::io("cannot read the vector index", path, cause);
    let file = File::open(path).map_err(io)?;
    let left = file.metadata().map_err(io)?.len();
    let mut reader = GraphReader { source: BufReader::with_capacity(PIECE, file), left };
    reader.graph(dimension).map_err(|refused| match refused {
        RefusedGraph::Wrong(why) => {
            failure(format!("file is not the graph that was written: {why}")).at(path, None)
        }
        RefusedGraph::Io(cause) => io(cause),
    })
}

/// The reason why a graph is rejected.
enum RefusedGraph {
    Wrong(&'static str),
    Io(io::Error),
}

impl From<io::Error> for RefusedGraph {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Checked<T> = std::result::Result<T, RefusedGraph>;

fn demand(holds: bool, otherwise: &'static str) -> Checked<()> {
    if holds { Ok(()) } else { Err(RefusedGraph::Wrong(otherwise)) }
}

struct GraphReader<R> {
    source: R,
    /// Number of remaining bytes.
    left: u64,
}

impl<R: Read> GraphReader<R> {
    fn graph(&mut self, dimension: usize) -> Checked<()> {
        let nodes = self.header(ID_MAP, dimension)?;
        let below = self.header(HNSW_FLAT, dimension)?;
        let (levels, widths) = self.levels(nodes)?;
        self.links(&levels, &widths)?;
        self.scalars(&levels, &widths)?;
        let stored = self.header(FLAT, dimension)?;
        demand((below, stored) == (nodes, nodes), "its parts differ in length")?;
        let numbers = nodes as u64 * dimension as u64;
        self.count::<4>(numbers)?;
        self.each(numbers, |number| f32::from_le_bytes(number).is_finite())?;
        self.count::<8>(nodes as u64)?;
        self.each(nodes as u64, |_: [u8; 8]| true)?;
        demand(self.left == 0, "bytes follow its end")
    }

    /// Reads the header of an index of this kind; returns the number of vectors.
    fn header(&mut self, kind: &[u8], dimension: usize) -> Checked<usize> {
        let mut head = [0; HEADER];
        self.bytes(&mut head)?;
        demand(head.starts_with(kind), "it is of another kind")?;
        demand(head[4..8] == (dimension as i32).to_le_bytes(), "it has another dimension")?;
        demand(head[32] == 1, "it is not trained")?;
        demand(head[33..] == 0_i32.to_le_bytes(), "it does not compare by inner product")?;
        let held = u64::from_le_bytes(head[8..16].try_into().expect("invariant: eight bytes"));
        // Links are 31-bit numbers.
        let held = i32::try_from(held).ok().and_then(|held| usize::try_from(held).ok());
        held.ok_or(RefusedGraph::Wrong("it holds too many vectors"))
    }

    /// Reads the number of levels of each node and, for each number of levels, the number of links
    /// of a node with that many levels.
    fn levels(&mut self, nodes: usize) -> Checked<(Vec<u8>, Vec<u64>)> {
        let probabilities = self.length(8)?;
        self.each(probabilities, |_: [u8; 8]| true)?;
        let count = self.length(4)?;
        // FAISS makes about ten levels, so a byte suffices.
        demand(
            count == probabilities + 1 && (2..=100).contains(&count),
            "its levels are impossible",
        )?;
        let widths: Vec<u64> = (0..count).map(|level| (level + level.min(1)) * LINKS).collect();
        let mut expected = widths.iter();
        self.each(count, |width| {
            expected.next().is_some_and(|next| *next == u64::from(u32::from_le_bytes(width)))
        })?;
        self.count::<4>(nodes as u64)?;
        let mut levels = Vec::with_capacity(nodes);
        self.each(nodes as u64, |level| {
            let level = u32::from_le_bytes(level);
            levels.push(level as u8);
            (1..count).contains(&u64::from(level))
        })?;
        Ok((levels, widths))
    }

    /// Reads the offsets of each node's links, and the links.
    fn links(&mut self, levels: &[u8], widths: &[u64]) -> Checked<()> {
        let nodes = levels.len() as u64;
        self.count::<8>(nodes + 1)?;
        let (mut at, mut rest) = (0, levels.iter());
        self.each(nodes + 1, |offset| {
            let begins_here = u64::from_le_bytes(offset) == at;
            at += rest.next().map_or(0, |level| widths[usize::from(*level)]);
            begins_here
        })?;
        self.count::<4>(at)?;
        for node_levels in levels {
            for level in 0..*node_levels {
                let width = widths[usize::from(level) + 1] - widths[usize::from(level)];
                self.each(width, |link| leads(link, levels, level))?;
            }
        }
        Ok(())
    }

    fn scalars(&mut self, levels: &[u8], widths: &[u64]) -> Checked<()> {
        let mut scalars = [0; SCALARS * 4];
        self.bytes(&mut scalars)?;
        let number = |at: usize| {
            let bytes = scalars[at * 4..][..4].try_into().expect("invariant: four bytes");
            i64::from(i32::from_le_bytes(bytes))
        };
        let (entry, highest) = (number(0), number(1));
        let enters = match usize::try_from(entry) {
            Err(_) => entry == -1 && highest == -1 && levels.is_empty(),
            Ok(node) => levels.get(node).is_some_and(|level| i64::from(*level) == highest + 1),
        };
        demand(enters && highest + 1 < widths.len() as i64, "its entry point is not at the top")
    }

    /// Reads the length of a list of values of `bytes` bytes each, and checks that the file
    /// contains them all.
    fn length(&mut self, bytes: u64) -> Checked<u64> {
        let mut number = [0; 8];
        self.bytes(&mut number)?;
        let number = u64::from_le_bytes(number);
        demand(number <= self.left / bytes, "it is too short")?;
        Ok(number)
    }

    /// Reads a length that must equal `expected`.
    fn count<const BYTES: u64>(&mut self, expected: u64) -> Checked<()> {
        let count = self.length(BYTES)?;
        demand(count == expected, "its parts differ in length")
    }

    /// Reads values and checks each of them.
    fn each<const BYTES: usize>(
        &mut self,
        mut count: u64,
        mut passes: impl FnMut([u8; BYTES]) -> bool,
    ) -> Checked<()> {
        let mut piece = [0; PIECE];
        while count > 0 {
            let now = count.min((PIECE / BYTES) as u64);
            let piece = &mut piece[..now as usize * BYTES];
            self.bytes(piece)?;
            let all = piece.as_chunks().0.iter().all(|value| passes(*value));
            demand(all, "a number in it can't be right")?;
            count -= now;
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> Checked<()> {
        demand(self.left >= bytes.len() as u64, "it is too short")?;
        self.left -= bytes.len() as u64;
        Ok(self.source.read_exact(bytes)?)
    }
}

/// True if a link on a level is empty or leads to a node of that level.
fn leads(link: [u8; 4], levels: &[u8], level: u8) -> bool {
    let link = i32::from_le_bytes(link);
    match usize::try_from(link) {
        Err(_) => link == -1,
        Ok(node) => levels.get(node).is_some_and(|levels| *levels > level),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::native::NativeIndex;

    const D: usize = 3;
    const ROWS: usize = 7;

    /// A graph that all of FAISS 1.12 wrote (`tests/fixtures/README.md`).
    fn theirs() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/faiss/graph.faiss")
    }

    #[test]
    fn a_graph_of_faiss_is_read_and_written_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ours");
        check(&theirs(), D).unwrap();
        let native = NativeIndex::read(&theirs(), D).unwrap();
        native.write(&ours).unwrap();
        assert_eq!(fs_err::read(&ours).unwrap(), fs_err::read(theirs()).unwrap());
        let (scores, found) = native.search(&[1.0, 0.5, 0.25], ROWS).unwrap();
        assert_eq!(found, [3, 2, 5, 6, 0, 4, 1]);
        assert_eq!(scores[..3], [16_376.0, 1.0, 0.6875]);
    }

    #[test]
    fn a_graph_that_is_built_here_is_the_one_that_faiss_builds() {
        let folder = tempfile::tempdir().unwrap();
        let ours = folder.path().join("ours");
        let native = NativeIndex::read(&theirs(), D).unwrap();
        let mut rows = vec![0.0; ROWS * D];
        for (node, row) in rows.chunks_exact_mut(D).enumerate() {
            native.node(node, row).unwrap();
        }
        let mut graph = NativeIndex::graph(D, LINKS).unwrap();
        graph.set_candidates(64, 80);
        graph.add_with_ids(&rows, &[0, 1, 2, 3, 4, 5, 6]).unwrap();
        graph.write(&ours).unwrap();
        assert_eq!(fs_err::read(&ours).unwrap(), fs_err::read(theirs()).unwrap());
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
