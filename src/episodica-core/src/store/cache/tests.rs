use std::sync::Arc;

use super::*;
use crate::clock::{FixedClock, Moment};
use crate::ids::Owner;
use crate::store::Store;
use crate::store::log::OpenMode;
use crate::store::testing::MemoryBackend;

const KIND: LogKind = LogKind::Episodes;

fn owner() -> Owner {
    Owner::new("default", "a").unwrap()
}

fn store(disk: &MemoryBackend) -> Store {
    let clock = FixedClock::new(Moment::new(0, 0).unwrap());
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), OpenMode::ReadWrite, &clock).unwrap()
}

fn head() -> VectorCacheHead {
    let row = |id: &str| CacheRow { id: id.into(), layer: "l0".into(), hash: "h".into() };
    let (model, index_kind) = ("table-1".into(), "hnsw".into());
    VectorCacheHead {
        model,
        dimension: 2,
        index_kind,
        log: LogPosition { bytes: 9, records: 1 },
        rows: vec![row("e1"), row("e2")],
    }
}

/// The vectors of all tests, in both precisions.
fn both() -> [Matrix<'static>; 2] {
    let vectors = ndarray::array![[1.0_f32, 0.0], [0.0, 1.0]];
    [vectors.mapv(half::f16::from_f32).into(), vectors.into()]
}

fn saved(vectors: &Matrix<'_>) -> MemoryBackend {
    let disk = MemoryBackend::new();
    let writer = disk.clone();
    let mut write = |path: &Path| {
        writer.create_new(path).unwrap().append(b"the graph").unwrap();
        Ok(())
    };
    store(&disk).save_vectors(&owner(), KIND, &head(), vectors, Some(&mut write)).unwrap();
    disk.after_power_cut()
}

fn load(disk: &MemoryBackend, problems: &mut Vec<StoreProblem>) -> Option<VectorCache> {
    store(disk).load_vectors(&owner(), KIND, "table-1", Some(2), problems).unwrap()
}

#[test]
fn a_cache_comes_back() {
    for vectors in both() {
        let disk = saved(&vectors);
        let mut problems = Vec::new();
        let index = Some("/m/episodes/vector_db/a.faiss".into());
        assert_eq!(load(&disk, &mut problems), Some(VectorCache { head: head(), vectors, index }));
        store(&disk).remove_vectors(&owner(), KIND).unwrap();
        assert_eq!(load(&disk, &mut problems), None);
        assert!(problems.is_empty());
    }
}

#[test]
fn vectors_of_another_shape_than_the_manifest_says_are_not_believed() {
    let [halves, single] = both();
    let disk = saved(&single);
    let path = disk.files().into_keys().find(|path| path.ends_with("a.manifest.json")).unwrap();
    let said = |change: &dyn Fn(&mut serde_json::Map<String, serde_json::Value>)| {
        let mut manifest = serde_json::from_slice(&disk.files()[&path]).unwrap();
        change(&mut manifest);
        manifest.remove("crc");
        let mut line = Vec::new();
        encode_line(&mut line, &manifest).unwrap();
        disk.put(&path, &line);
        let mut problems = Vec::new();
        assert_eq!(load(&disk, &mut problems), None);
        problems.remove(0).message
    };
    let row = serde_json::json!({"id": "e3", "hash": "h"});
    let one_more = said(&|manifest| manifest["rows"].as_array_mut().unwrap().push(row.clone()));
    assert_eq!(one_more, "the vectors don't have the shape of the manifest");
    // The file of a cache in the other precision.
    let (path, bytes) = saved(&halves)
        .files()
        .into_iter()
        .find(|(path, _)| path.ends_with("a_embeddings.npy"))
        .unwrap();
    disk.put(&path, &bytes);
    assert_eq!(said(&|_| {}), "the vectors don't have the checksum of the manifest");
}

#[test]
fn every_flipped_bit_is_seen() {
    both().iter().for_each(flipped_bits_are_seen);
}

#[test]
fn the_flat_index_of_an_earlier_version_is_not_read_and_goes_at_the_next_writing() {
    let vectors = &both()[0];
    let head = VectorCacheHead { index_kind: "flat".into(), ..head() };
    let (disk, path) = (MemoryBackend::new(), Path::new("/m/episodes/vector_db/a.faiss"));
    let writer = disk.clone();
    let mut write = |path: &Path| {
        writer.create_new(path).unwrap().append(b"the index").unwrap();
        Ok(())
    };
    let save = |write: Option<WriteGraph<'_>>| {
        store(&disk).save_vectors(&owner(), KIND, &head, vectors, write).unwrap();
    };
    save(Some(&mut write));
    let known = Some(VectorCache { head: head.clone(), vectors: vectors.clone(), index: None });
    let mut problems = Vec::new();
    assert_eq!(load(&disk, &mut problems), known);
    disk.put(path, b"something else");
    assert_eq!(load(&disk, &mut problems), known);
    save(None);
    assert!(!disk.files().contains_key(path));
    assert_eq!((load(&disk, &mut problems), problems), (known, Vec::new()));
}

fn flipped_bits_are_seen(vectors: &Matrix<'_>) {
    let disk = saved(vectors);
    let files: Vec<_> =
        disk.files().into_iter().filter(|(path, _)| path.starts_with("/m/episodes")).collect();
    assert_eq!(files.len(), 3);
    for (path, bytes) in files {
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            disk.put(&path, &flipped);
            let mut problems = Vec::new();
            let found = load(&disk, &mut problems);
            match found {
                // The line feed after the manifest carries no data.
                _ if bit / 8 == bytes.len() - 1
                    && path.extension().is_some_and(|extension| extension == "json") => {}
                None => assert_eq!(problems.len(), 1),
                Some(cache) => {
                    assert_eq!(
                        (cache.index, problems.len()),
                        (None, 1),
                        "{} bit {bit}",
                        path.display()
                    );
                    assert_eq!(cache.vectors, *vectors);
                }
            }
        }
        disk.put(&path, &bytes);
    }
}

#[test]
fn another_model_is_named() {
    let disk = saved(&both()[1]);
    let mismatch = |model, dimension| {
        store(&disk)
            .load_vectors(&owner(), KIND, model, dimension, &mut Vec::new())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        mismatch("ada", Some(1536)),
        "the vectors come from embedding model `table-1` with 2 dimensions, the store \
         was opened with `ada` with 1536 dimensions in `/m/episodes/vector_db/a.manifest.json`"
    );
    assert!(mismatch("table-1", Some(3)).contains("`table-1` with 3 dimensions"));
    assert!(
        store(&disk)
            .load_vectors(&owner(), KIND, "table-1", None, &mut Vec::new())
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_cache_that_cant_be_read_is_a_missing_cache() {
    for name in ["a.manifest.json", "a_embeddings.npy", "a.faiss"] {
        let disk = saved(&both()[1]);
        let path = Path::new("/m/episodes/vector_db").join(name);
        disk.remove_file(&path).unwrap();
        disk.create_dir_all(&path).unwrap();
        let mut problems = Vec::new();
        let found = load(&disk, &mut problems);
        assert_eq!(found.is_some(), name == "a.faiss", "the vectors alone are a cache, too");
        assert_eq!((problems.len(), problems[0].mended), (1, true));
        let expected = "the cache can't be read: is a directory";
        assert_eq!((problems[0].message.as_str(), &problems[0].path), (expected, &path));
    }
}

#[test]
fn a_cache_of_another_user_is_not_believed() {
    let disk = saved(&both()[1]);
    for (path, bytes) in disk.files() {
        if let Some(name) = path.file_name().unwrap().to_string_lossy().strip_prefix('a') {
            disk.put(path.with_file_name(format!("b{name}")), &bytes);
        }
    }
    let (mut problems, b) = (Vec::new(), Owner::new("default", "b").unwrap());
    let found = store(&disk).load_vectors(&b, KIND, "table-1", Some(2), &mut problems).unwrap();
    assert_eq!(found, None);
    assert_eq!(problems[0].message, "the cache belongs to another user");
}

#[test]
fn a_full_disk_is_not_blamed_on_the_index() {
    let disk = MemoryBackend::new();
    let store = store(&disk);
    let full = disk.clone();
    // The library reports only a failure, after it has filled the disk.
    let mut write = |_: &Path| {
        full.limit(Some(full.files().values().map(Vec::len).sum()));
        Err(Error::new(ErrorKind::Index, "cannot write the index"))
    };
    let vectors = &both()[1];
    let error = store.save_vectors(&owner(), KIND, &head(), vectors, Some(&mut write)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(
        error.chain(),
        "cannot write the index in `/m/episodes/vector_db/a.faiss`: no space left on device"
    );
    assert!(error.hint().is_some());
    disk.limit(None);
    let mut write = |_: &Path| Err(Error::new(ErrorKind::Index, "the graph is broken"));
    let error = store.save_vectors(&owner(), KIND, &head(), vectors, Some(&mut write)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Index, "where the disk has room, it was the index");
}
