//! Vectors on disk: a cache beside a log, believed only as far as its checksums reach.
//!
//! Three files: `<user>_embeddings.npy` (the vectors), `<user>.faiss` (the index over them, written
//! by the index itself) and `<user>.manifest.json`, one line with the model, the identity and
//! content hash of every row, length and CRC-32 of the two others, and a checksum of its own. The
//! manifest is written last; whatever disagrees with it is a cache that isn't there. The caller
//! compares rows with records: it embeds what is missing or changed, and drops what has no record.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::{Backend, io_error, parent_of};
use super::layout::{CachePaths, LogKind};
use super::line::{check_line, encode_line};
use super::log::LogPosition;
use super::npy;
use super::store::{Store, replace_file, replace_with_pieces};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::matrix::Matrix;
use crate::model::Problem;

/// The version of the manifest.
const MANIFEST_VERSION: u32 = 1;

const REMEDY: &str = "it is rebuilt from the log by itself; `rebuild_indices` does so at once";

/// Which text a vector was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheRow {
    /// Id of the record.
    pub id: String,
    /// Layer of the record; empty where it has one only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub layer: String,
    /// Content hash of the text.
    pub hash: String,
}

/// What the vectors are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorCacheHead {
    /// Name and version of the embedding model.
    pub model: String,
    /// Length of a vector.
    pub dimension: usize,
    /// The structure of the index (`flat`, `hnsw`), in the words of whoever writes it.
    pub index_kind: String,
    /// How far the log reached.
    pub log: LogPosition,
    /// One row a vector, in the order of the vectors.
    pub rows: Vec<CacheRow>,
}

/// A cache that agrees with its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorCache {
    /// What the vectors are.
    pub head: VectorCacheHead,
    /// The vectors, shape `(rows, dimension)`, each of length 1, in the precision of the file.
    pub vectors: Matrix<'static>,
    /// The index file, if there is one whose checksum holds.
    pub index: Option<PathBuf>,
}

/// Writes an index to the path that it is given.
pub type WriteIndex<'a> = &'a mut dyn FnMut(&Path) -> Result<()>;

/// Length and checksum of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Length in bytes.
    pub bytes: u64,
    /// CRC-32 in eight lower-case hex digits.
    pub crc32: String,
}

/// The line itself. The fields of [`VectorCacheHead`] stand here one by one: flattened, reading
/// them would take twice as long.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest<'a> {
    version: u32,
    normalized: bool,
    embeddings: Sum,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<Sum>,
    model: Cow<'a, str>,
    dimension: usize,
    index_kind: Cow<'a, str>,
    log: LogPosition,
    rows: Cow<'a, [CacheRow]>,
}

impl<'a> Manifest<'a> {
    fn new(head: &'a VectorCacheHead, embeddings: Sum, index: Option<Sum>) -> Self {
        Self {
            version: MANIFEST_VERSION,
            normalized: true,
            embeddings,
            index,
            model: (&*head.model).into(),
            dimension: head.dimension,
            index_kind: (&*head.index_kind).into(),
            log: head.log,
            rows: (&*head.rows).into(),
        }
    }

    fn into_head(self) -> VectorCacheHead {
        VectorCacheHead {
            model: self.model.into_owned(),
            dimension: self.dimension,
            index_kind: self.index_kind.into_owned(),
            log: self.log,
            rows: self.rows.into_owned(),
        }
    }
}

/// Sums up what it is given, or what is read through it.
struct Summing<R> {
    source: R,
    hasher: crc32fast::Hasher,
    bytes: u64,
}

impl<R> Summing<R> {
    fn of(source: R) -> Self {
        Self { source, hasher: crc32fast::Hasher::new(), bytes: 0 }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
    }

    fn sum(self) -> Sum {
        Sum { bytes: self.bytes, crc32: format!("{:08x}", self.hasher.finalize()) }
    }
}

impl<R: Read> Summing<R> {
    /// The sum of all, with what has not been read yet.
    fn sum_to_end(mut self) -> io::Result<Sum> {
        let mut chunk = vec![0; 256 << 10];
        loop {
            match self.read(&mut chunk) {
                Ok(0) => return Ok(self.sum()),
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
        }
    }
}

impl<R: Read> Read for Summing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.take_in(&buffer[..count]);
        Ok(count)
    }
}

pub(super) fn sum(pieces: &[&[u8]]) -> Sum {
    let mut sum = Summing::of(());
    pieces.iter().for_each(|piece| sum.take_in(piece));
    sum.sum()
}

pub(super) fn sum_of_file(backend: &dyn Backend, path: &Path) -> io::Result<Sum> {
    Summing::of(backend.read_from(path, 0)?).sum_to_end()
}

/// The vectors in a file of this checksum and shape; what is wrong with it, for people, otherwise.
pub(super) fn read_vectors(
    backend: &dyn Backend,
    path: &Path,
    expected: &Sum,
    shape: (usize, usize),
) -> io::Result<Result<Matrix<'static>, String>> {
    let other = || Ok(Err("the vectors don't have the checksum of the manifest".to_owned()));
    let source = match backend.read_from(path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err("the vectors are missing".into()));
        }
        source => source?,
    };
    let length = backend.stat(path)?.map_or(0, |stamp| stamp.bytes);
    if length != expected.bytes {
        return other();
    }
    let mut source = Summing::of(source);
    let vectors = npy::decode(&mut source, length, shape)?;
    match source.sum_to_end()? == *expected {
        true => Ok(vectors),
        false => other(),
    }
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

pub(super) fn remove(backend: &dyn Backend, path: &Path) -> Result<bool> {
    match backend.remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(io_error("cannot remove the file", path, error)),
    }
}

impl Store {
    /// Writes the vector cache of one log, durably. `write_index` is given a path and writes the
    /// index there; `None` = there is no index. Returns length and checksum of the file with the
    /// vectors.
    ///
    /// # Errors
    /// `ReadOnly`; `Internal` if rows and vectors don't match; what `write_index` returns; `Io`.
    /// The log is untouched; what is left of the cache is not believed.
    pub fn save_vectors(
        &self,
        owner: &Owner,
        kind: LogKind,
        head: &VectorCacheHead,
        vectors: &Matrix<'_>,
        write_index: Option<WriteIndex<'_>>,
    ) -> Result<Sum> {
        self.inner.check_writable()?;
        if vectors.dim() != (head.rows.len(), head.dimension) {
            return Err(Error::internal(format!(
                "vectors and rows of a cache differ: `{:?}`",
                vectors.dim()
            )));
        }
        let (backend, paths) = (&**self.backend(), self.layout().cache_paths(owner, kind));
        let directory = parent_of(&paths.manifest);
        backend
            .create_dir_all(directory)
            .map_err(|error| io_error("cannot make the directory", directory, error))?;
        let index = match write_index {
            Some(write) => Some(save_index(backend, &paths.index, write)?),
            None => {
                remove(backend, &paths.index)?;
                None
            }
        };
        let embeddings = npy::encode(vectors);
        let pieces = embeddings.pieces();
        replace_with_pieces(backend, &paths.embeddings, &pieces)?;
        let (sum, mut line) = (sum(&pieces), Vec::new());
        encode_line(&mut line, &Manifest::new(head, sum.clone(), index))?;
        replace_file(backend, &paths.manifest, &line)?;
        Ok(sum)
    }

    /// Reads the vector cache of one log; `None` with a problem where it isn't sound, `None`
    /// without one where there is none. `model` and `dimension` (if known) are those of the
    /// embedder at hand.
    ///
    /// # Errors
    /// `EmbeddingMismatch` where a sound cache comes from another model or has another dimension;
    /// `Io`.
    pub fn load_vectors(
        &self,
        owner: &Owner,
        kind: LogKind,
        model: &str,
        dimension: Option<usize>,
        problems: &mut Vec<Problem>,
    ) -> Result<Option<VectorCache>> {
        let (backend, paths) = (&**self.backend(), self.layout().cache_paths(owner, kind));
        let mut problem = |path: &Path, message: String| {
            problems.push(Problem {
                path: path.to_owned(),
                line: None,
                message,
                remedy: REMEDY.into(),
                mended: true,
            });
        };
        let Some(bytes) = read(backend, &paths.manifest)? else { return Ok(None) };
        let manifest = match read_manifest(&bytes) {
            Ok(manifest) => manifest,
            Err(message) => {
                problem(&paths.manifest, message);
                return Ok(None);
            }
        };
        check_model(&paths, &manifest, model, dimension)?;
        let shape = (manifest.rows.len(), manifest.dimension);
        let vectors = match read_vectors(backend, &paths.embeddings, &manifest.embeddings, shape) {
            Ok(Ok(vectors)) => vectors,
            Ok(Err(message)) => {
                problem(&paths.embeddings, message);
                return Ok(None);
            }
            Err(error) => return Err(io_error("cannot read the file", &paths.embeddings, error)),
        };
        let index = match &manifest.index {
            None => None,
            Some(expected) => match sum_of_file(backend, &paths.index) {
                Ok(found) if found == *expected => Some(paths.index),
                Ok(_) => {
                    problem(
                        &paths.index,
                        "the index doesn't have the checksum of the manifest".into(),
                    );
                    None
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    problem(&paths.index, "the index is missing".into());
                    None
                }
                Err(error) => return Err(io_error("cannot read the index", &paths.index, error)),
            },
        };
        Ok(Some(VectorCache { head: manifest.into_head(), vectors, index }))
    }

    /// Removes the vector cache of one log, manifest first.
    ///
    /// # Errors
    /// `ReadOnly`; `Io`.
    pub fn remove_vectors(&self, owner: &Owner, kind: LogKind) -> Result<()> {
        self.inner.check_writable()?;
        let (backend, paths) = (&**self.backend(), self.layout().cache_paths(owner, kind));
        let mut any = false;
        for path in [&paths.manifest, &paths.embeddings, &paths.index] {
            any |= remove(backend, path)?;
        }
        let directory = parent_of(&paths.manifest);
        match any {
            true => backend
                .sync_dir(directory)
                .map_err(|error| io_error("cannot sync the directory", directory, error)),
            false => Ok(()),
        }
    }
}

fn save_index(backend: &dyn Backend, path: &Path, write: WriteIndex<'_>) -> Result<Sum> {
    let temporary = temporary(path);
    let written = remove(backend, &temporary).and_then(|_| write(&temporary)).and_then(|()| {
        let finish = || {
            let sum = sum_of_file(backend, &temporary)?;
            backend.open_append(&temporary)?.sync_data()?;
            backend.rename(&temporary, path)?;
            Ok(sum)
        };
        finish().map_err(|error| io_error("cannot write the index", path, error))
    });
    if written.is_err() {
        let _ = backend.remove_file(&temporary);
    }
    written
}

fn read(backend: &dyn Backend, path: &Path) -> Result<Option<Vec<u8>>> {
    match backend.read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("cannot read the file", path, error)),
    }
}

fn read_manifest(bytes: &[u8]) -> Result<Manifest<'static>, String> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    match check_line(line) {
        Ok(true) => {}
        Ok(false) => return Err("the manifest has no checksum".into()),
        Err(reason) => return Err(format!("the manifest is damaged: {reason}")),
    }
    let manifest = serde_json::from_slice::<Manifest<'_>>(line);
    // One of another version need not look like ours.
    let version = manifest.as_ref().map_or_else(
        |_| serde_json::from_slice(line).ok(),
        |manifest| Some(Version { version: manifest.version }),
    );
    match version {
        Some(Version { version }) if version != MANIFEST_VERSION => Err(format!(
            "the manifest has version {version}, this code reads version {MANIFEST_VERSION}"
        )),
        _ => manifest.map_err(|error| format!("the manifest can't be read: {error}")),
    }
}

fn check_model(
    paths: &CachePaths,
    head: &Manifest<'_>,
    model: &str,
    dimension: Option<usize>,
) -> Result<()> {
    if head.model == model && dimension.is_none_or(|dimension| dimension == head.dimension) {
        return Ok(());
    }
    let asked =
        dimension.map_or_else(String::new, |dimension| format!(" with {dimension} dimensions"));
    let context = format!(
        "the vectors come from embedding model `{}` with {} dimensions, the store was opened with `{model}`{asked}",
        head.model, head.dimension
    );
    Err(Error::new(ErrorKind::EmbeddingMismatch, context)
        .at(&paths.manifest, None)
        .with_hint("call `rebuild_indices` to embed everything with the new model, or open the store with the old one"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::clock::{FixedClock, Moment};
    use crate::store::log::Mode;
    use crate::store::testing::MemoryBackend;

    const KIND: LogKind = LogKind::Episodes;

    fn owner() -> Owner {
        Owner::new("default", "a").unwrap()
    }

    fn store(disk: &MemoryBackend) -> Store {
        let clock = FixedClock::new(Moment::new(0, 0).unwrap());
        Store::open_on(Arc::new(disk.clone()), Path::new("/m"), Mode::ReadWrite, &clock).unwrap()
    }

    fn head() -> VectorCacheHead {
        let row = |id: &str| CacheRow { id: id.into(), layer: "l0".into(), hash: "h".into() };
        let (model, index_kind) = ("table-1".into(), "flat".into());
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
            writer.create_new(path).unwrap().append(b"the index").unwrap();
            Ok(())
        };
        store(&disk).save_vectors(&owner(), KIND, &head(), vectors, Some(&mut write)).unwrap();
        disk.after_power_cut()
    }

    fn load(disk: &MemoryBackend, problems: &mut Vec<Problem>) -> Option<VectorCache> {
        store(disk).load_vectors(&owner(), KIND, "table-1", Some(2), problems).unwrap()
    }

    #[test]
    fn a_cache_comes_back() {
        for vectors in both() {
            let disk = saved(&vectors);
            let mut problems = Vec::new();
            let index = Some("/m/episodes/vector_db/a.faiss".into());
            assert_eq!(
                load(&disk, &mut problems),
                Some(VectorCache { head: head(), vectors, index })
            );
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
                    // The line feed behind the manifest says nothing.
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
            "the vectors come from embedding model `table-1` with 2 dimensions, the store was opened with `ada` with 1536 dimensions \
             in `/m/episodes/vector_db/a.manifest.json`"
        );
        assert!(mismatch("table-1", Some(3)).contains("`table-1` with 3 dimensions"));
        assert!(
            store(&disk)
                .load_vectors(&owner(), KIND, "table-1", None, &mut Vec::new())
                .unwrap()
                .is_some()
        );
    }
}
