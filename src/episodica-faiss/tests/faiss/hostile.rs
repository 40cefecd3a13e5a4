//! Graphs changed on purpose: read as a graph or refused, never a crash. FAISS follows links
//! without checking where they lead, so this runs in a child process.

use std::path::Path;

use episodica_core::ErrorKind;
use episodica_core::index::{VectorIndex, VectorIndexFactory, VectorIndexKind};
use episodica_faiss::FaissFactory;

use crate::child::in_child;
use crate::counts::{report, rounds};
use crate::random::Random;

const DIMENSION: usize = 8;
const NODES: usize = 150;

fn labels() -> Vec<u64> {
    (0..NODES as u64).collect()
}

fn graph(path: &Path) -> Vec<u8> {
    let mut index = FaissFactory::default().create(VectorIndexKind::Hnsw, DIMENSION).unwrap();
    index.add(&labels(), Random(3).directions(NODES, DIMENSION).view()).unwrap();
    index.write(path).unwrap();
    std::fs::read(path).unwrap()
}

/// Does all that the engine does with a graph.
fn use_it(mut index: Box<dyn VectorIndex>, random: &mut Random) {
    let rows = random.directions(12, DIMENSION);
    for row in rows.rows() {
        assert_eq!(index.search(row, 10).unwrap().len(), 10);
    }
    index.add(&(1_000..1_012).collect::<Vec<_>>(), rows.view()).unwrap();
    index.remove(&[3, 4, 5, 1_003]).unwrap();
    assert_eq!(index.search(rows.row(0), 5).unwrap().len(), 5);
}

/// Changes one or two numbers, as an attacker would: to another node, to an extreme value, or to
/// any value.
fn change(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len() - 8);
        // Most numbers of the file are links; those at its beginning are lengths.
        let at = if random.below(3) == 0 { at % 800 } else { at };
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.next() as u8,
            2 => bytes[at..at + 4].copy_from_slice(&(random.next() as u32).to_le_bytes()),
            3 => bytes[at..at + 8].copy_from_slice(&random.next().to_le_bytes()),
            4 => {
                let edges = [-1, -2, 0, 1, NODES as i32 - 1, NODES as i32, i32::MAX, i32::MIN];
                let number = edges[random.below(edges.len())];
                let at = at - at % 4 + random.below(4);
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            5 => {
                let number = random.below(NODES) as i32;
                bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
            }
            6 => drop(bytes.drain(at..at + random.below(9))),
            _ => bytes.truncate(at + 8),
        }
        if bytes.len() < 900 {
            return;
        }
    }
}

#[test]
fn a_graph_changed_on_purpose_is_read_or_refused() {
    in_child("hostile::a_graph_changed_on_purpose_is_read_or_refused", || {
        // Uses files in memory if the system has them: writing to a disk would take most of the
        // time.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = folder.path().join("index.faiss");
        let (written, mut random) = (graph(&path), Random(11));
        let (mut read, mut refused) = (0, 0);
        for round in 0..rounds(5_000, 100_000) {
            let mut bytes = written.clone();
            change(&mut bytes, &mut random);
            std::fs::write(&path, &bytes).unwrap();
            match FaissFactory::default().read(&path, DIMENSION, labels()) {
                Ok(index) => {
                    use_it(index, &mut random);
                    read += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Index, "{round}: {}", error.chain());
                    refused += 1;
                }
            }
        }
        assert!(read > 0 && refused > 0, "{read} read, {refused} refused");
        report("graphs", &[("changed", read + refused), ("refused", refused), ("crashes", 0)]);
    });
}

#[test]
fn a_link_beyond_the_nodes_or_above_a_node_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    let written = graph(&path);
    assert!(FaissFactory::default().read(&path, DIMENSION, labels()).is_ok());
    // The links of the last node lie before the scalars and the vectors.
    let vectors = 37 + 8 + NODES * DIMENSION * 4 + 8 + NODES * 8;
    let last_link = written.len() - vectors - 20 - 4;
    for link in [NODES as i32, i32::MAX, -2] {
        let mut bytes = written.clone();
        bytes[last_link..last_link + 4].copy_from_slice(&link.to_le_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let refused = FaissFactory::default().read(&path, DIMENSION, labels()).err().unwrap();
        let told = refused.to_string();
        assert!(told.contains("a number in it can't be right"), "{told}");
    }
}
