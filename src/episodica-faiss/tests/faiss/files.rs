//! Damaged and foreign files: an error, never a crash.

use std::path::Path;

use crate::random::Random;
use episodica_core::ErrorKind;
use episodica_core::index::{VectorIndexFactory, VectorIndexKind};
use episodica_faiss::FaissFactory;

const LABELS: [u64; 20] = [20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/// A graph of twenty vectors of 6 numbers, as bytes of a file.
fn written(path: &Path) -> Vec<u8> {
    let mut index = FaissFactory::default().create(VectorIndexKind::Hnsw, 6).unwrap();
    index.add(&LABELS, Random(1).directions(20, 6).view()).unwrap();
    index.write(path).unwrap();
    std::fs::read(path).unwrap()
}

fn read(path: &Path, dimension: usize, labels: &[u64]) -> Result<usize, ErrorKind> {
    FaissFactory::default()
        .read(path, dimension, labels.to_vec())
        .map(|index| index.len())
        .map_err(|error| error.kind())
}

#[test]
fn a_file_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    // A name that is not ASCII and one with a space go through C.
    let path = folder.path().join("räume 空.faiss");
    written(&path);
    let index = FaissFactory::default().read(&path, 6, LABELS.to_vec()).unwrap();
    assert_eq!(
        (index.kind(), index.labels(), index.dimension()),
        (VectorIndexKind::Hnsw, &LABELS[..], 6)
    );
    let rows = Random(1).directions(20, 6);
    assert_eq!(index.vectors(), rows.clone().into());
    assert_eq!(index.search(rows.row(3), 1).unwrap()[0].0, LABELS[3]);
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    let bytes = written(&path);
    for length in 0..bytes.len() {
        std::fs::write(&path, &bytes[..length]).unwrap();
        assert_eq!(
            read(&path, 6, &LABELS),
            Err(ErrorKind::Index),
            "cut to {length} of {} bytes",
            bytes.len()
        );
    }
}

#[test]
fn a_damaged_head_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    let bytes = written(&path);
    for at in (0..8).chain(37..41) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        assert_eq!(read(&path, 6, &LABELS), Err(ErrorKind::Index), "byte {at} of a graph");
    }
}

#[test]
fn another_index_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    written(&path);
    assert_eq!(read(&path, 7, &LABELS), Err(ErrorKind::Index));
    assert_eq!(read(&path, 0, &LABELS), Err(ErrorKind::Index));
    assert_eq!(read(&path, 6, &LABELS[1..]), Err(ErrorKind::Index));
    assert_eq!(read(&path, 6, &[LABELS.as_slice(), &[99]].concat()), Err(ErrorKind::Index));
    let mut twice = LABELS;
    twice[0] = twice[1];
    assert_eq!(read(&path, 6, &twice), Err(ErrorKind::InvalidInput));
    std::fs::write(&path, [b'x'; 500]).unwrap();
    assert_eq!(read(&path, 6, &LABELS), Err(ErrorKind::Index));
    assert_eq!(read(&folder.path().join("missing"), 6, &LABELS), Err(ErrorKind::Io));
    let index = FaissFactory::default().create(VectorIndexKind::Hnsw, 6).unwrap();
    let error = index.write(&folder.path().join("no such folder/index.faiss")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    assert!(!error.chain().contains('\n'), "{}", error.chain());
    let flat = FaissFactory::default().create(VectorIndexKind::Flat, 6).unwrap();
    assert_eq!(flat.write(&path).unwrap_err().kind(), ErrorKind::Index, "it has no file");
}
