//! Files that are not what was written: an error, never a crash.

use std::path::Path;

use crate::random::Random;
use episodica_core::ErrorKind;
use episodica_core::index::{VectorIndexFactory, VectorIndexKind};
use episodica_faiss::FaissFactory;
use half::f16;

/// What a file may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Single,
    Halves,
    Graph,
}

const ALL: [Held; 3] = [Held::Single, Held::Halves, Held::Graph];
const LABELS: [u64; 20] = [20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];

/// Twenty vectors of 6 numbers, as bytes of a file.
fn written(held: Held, path: &Path) -> Vec<u8> {
    let (factory, rows) = (FaissFactory::default(), Random(1).directions(20, 6));
    let index = match held {
        Held::Single => factory.restore(LABELS.to_vec(), rows.into()).unwrap(),
        Held::Halves => factory.restore(LABELS.to_vec(), rows.mapv(f16::from_f32).into()).unwrap(),
        Held::Graph => {
            let mut index = factory.create(VectorIndexKind::Hnsw, 6).unwrap();
            index.add(&LABELS, rows.view()).unwrap();
            index
        }
    };
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
    for held in ALL {
        written(held, &path);
        let index = FaissFactory::default().read(&path, 6, LABELS.to_vec()).unwrap();
        let kind = if held == Held::Graph { VectorIndexKind::Hnsw } else { VectorIndexKind::Flat };
        assert_eq!((index.kind(), index.labels(), index.dimension()), (kind, &LABELS[..], 6));
        let rows = Random(1).directions(20, 6);
        match held {
            Held::Halves => assert_eq!(index.vectors(), rows.mapv(f16::from_f32).into()),
            _ => assert_eq!(index.vectors(), rows.clone().into()),
        }
        assert_eq!(index.search(rows.row(3), 1).unwrap()[0].0, LABELS[3]);
    }
}

#[test]
fn a_file_cut_off_anywhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    for held in ALL {
        let bytes = written(held, &path);
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            assert_eq!(
                read(&path, 6, &LABELS),
                Err(ErrorKind::Index),
                "{held:?} cut to {length} of {} bytes",
                bytes.len()
            );
        }
    }
}

#[test]
fn a_damaged_head_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.faiss");
    // Kind, dimension, rows; two numbers without meaning and `is_trained` are FAISS's own; metric,
    // number of floats. Of halves, all.
    for (held, head) in [(Held::Single, (0..16).chain(33..45)), (Held::Halves, (0..81).chain(0..0))]
    {
        let bytes = written(held, &path);
        for at in head {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                std::fs::write(&path, &damaged).unwrap();
                assert_eq!(
                    read(&path, 6, &LABELS),
                    Err(ErrorKind::Index),
                    "bit {bit} of byte {at}, {held:?}"
                );
            }
        }
    }
    let mut endless = written(Held::Halves, &path);
    endless[81..83].copy_from_slice(&f16::INFINITY.to_le_bytes());
    std::fs::write(&path, &endless).unwrap();
    assert_eq!(read(&path, 6, &LABELS), Err(ErrorKind::Index), "a vector that is not finite");
    let bytes = written(Held::Graph, &path);
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
    for held in ALL {
        written(held, &path);
        assert_eq!(read(&path, 7, &LABELS), Err(ErrorKind::Index));
        assert_eq!(read(&path, 0, &LABELS), Err(ErrorKind::Index));
        assert_eq!(read(&path, 6, &LABELS[1..]), Err(ErrorKind::Index));
        assert_eq!(read(&path, 6, &[LABELS.as_slice(), &[99]].concat()), Err(ErrorKind::Index));
        let mut twice = LABELS;
        twice[0] = twice[1];
        assert_eq!(read(&path, 6, &twice), Err(ErrorKind::InvalidInput));
    }
    std::fs::write(&path, [b'x'; 500]).unwrap();
    assert_eq!(read(&path, 6, &LABELS), Err(ErrorKind::Index));
    assert_eq!(read(&folder.path().join("missing"), 6, &LABELS), Err(ErrorKind::Io));
    let index = FaissFactory::default().create(VectorIndexKind::Flat, 6).unwrap();
    let error = index.write(&folder.path().join("no such folder/index.faiss")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index);
    assert!(!error.chain().contains('\n'), "{}", error.chain());
}
