//! Vectors on disk: a cache of the log, used only if its checksums match. Its files:
//!
//! * `<user>_embeddings.npy`: the vectors.
//! * `<user>.faiss`: the graph over the vectors, if there is one, written by the index itself.
//!   (Earlier versions wrote this file for flat indexes, too. It is then not read, and the next
//!   write of the cache removes it.)
//! * `<user>.manifest.json`: one line with the model, the identity and content hash of every row,
//!   length and CRC-32 of the other files, and a checksum of its own. It is written last; a cache
//!   that disagrees with it counts as missing. Vectors that a later snapshot appended may follow
//!   those in the manifest.
//!
//! The caller compares rows with records, embeds missing or changed records, and drops rows without
//! a record.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backend::{FileBackend, parent_of};
use super::files::{self, FileSum, SummingFile, io_error, sum_of_file};
use super::layout::{CachePaths, LogKind};
use super::line::{check_line, encode_line};
use super::log::LogPosition;
use super::npy::{self, NpyHeader};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Owner, vector_id};
use crate::matrix::Matrix;
use crate::model::StoreProblem;

const MANIFEST_VERSION: u32 = 1;

const REMEDY: &str = "it is rebuilt from the log by itself; `rebuild_indices` does so at once";

/// Identifies the text that a vector was computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheRow {
    /// Id of the record.
    pub id: String,
    /// Layer of the record; empty if the record has only one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub layer: String,
    /// Content hash of the text.
    pub hash: String,
}

impl CacheRow {
    /// The id of the vector, for external vector stores: derived from the record's URI and the
    /// layer.
    ///
    /// ```
    /// use episodica_core::ids::Owner;
    /// use episodica_core::store::{CacheRow, LogKind};
    ///
    /// # fn main() -> episodica_core::Result<()> {
    /// let row = CacheRow { id: "e1".into(), layer: "l0".into(), hash: String::new() };
    /// let alice = Owner::new("default", "alice")?;
    /// let id = row.vector_id(&alice, LogKind::Episodes);
    /// assert_eq!((id.len(), &id[14..15]), (36, "8"));
    /// assert_ne!(id, row.vector_id(&Owner::new("default", "Alice")?, LogKind::Episodes));
    /// # Ok(())
    /// # }
    /// ```
    pub fn vector_id(&self, owner: &Owner, kind: LogKind) -> String {
        let word = match kind {
            LogKind::Messages => "message",
            LogKind::Episodes => "episode",
            LogKind::Semantic => "semantic",
        };
        vector_id(&owner.tenant, &owner.uri(word, &self.id), &self.layer)
    }
}

/// Model, dimension and rows of the vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VectorCacheHead {
    /// Name and version of the embedding model.
    pub model: String,
    /// Dimension of the vectors.
    pub dimension: usize,
    /// The structure of the index (`flat`, `hnsw`), as its writer names it.
    pub index_kind: String,
    /// The end of the log when the vectors were written.
    pub log: LogPosition,
    /// One row per vector, in the order of the vectors.
    pub rows: Vec<CacheRow>,
}

/// A cache that matches its manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorCache {
    /// Model, dimension and rows of the vectors.
    pub head: VectorCacheHead,
    /// The vectors, shape `(rows, dimension)`, each of length 1, in the precision of the file.
    pub vectors: Matrix<'static>,
    /// The file of the graph, if there is one with its checksum.
    pub index: Option<PathBuf>,
}

/// Writes a graph to the given path.
pub type WriteGraph<'a> = &'a mut dyn FnMut(&Path) -> Result<()>;

/// The kind of an index without a file.
const FLAT: &str = "flat";

/// The manifest line. Repeats the fields of [`VectorCacheHead`], because serde's flattening takes
/// twice as long.
#[derive(Debug, Serialize, Deserialize)]
struct CacheManifest<'a> {
    version: u32,
    /// Missing in manifests of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Cow<'a, Owner>>,
    normalized: bool,
    embeddings: FileSum,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    index: Option<FileSum>,
    model: Cow<'a, str>,
    dimension: usize,
    index_kind: Cow<'a, str>,
    log: LogPosition,
    rows: Cow<'a, [CacheRow]>,
}

impl<'a> CacheManifest<'a> {
    fn new(
        owner: &'a Owner,
        head: &'a VectorCacheHead,
        embeddings: FileSum,
        index: Option<FileSum>,
    ) -> Self {
        Self {
            version: MANIFEST_VERSION,
            owner: Some(Cow::Borrowed(owner)),
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

/// The model named at the beginning of a manifest, without reading the rest.
pub(super) fn model(backend: &dyn FileBackend, paths: &CachePaths) -> Option<String> {
    const KEY: &[u8] = b"\"model\":";
    const READ: usize = 4_096;
    let mut bytes = Vec::with_capacity(READ);
    backend.read_from(&paths.manifest, 0).ok()?.take(READ as u64).read_to_end(&mut bytes).ok()?;
    let at = bytes.windows(KEY.len()).position(|window| window == KEY)?;
    serde_json::Deserializer::from_slice(&bytes[at + KEY.len()..]).into_iter().next()?.ok()
}

/// Reads the vectors of a file that begins with bytes of this checksum and shape; otherwise returns
/// the reason, for people.
pub(super) fn read_vectors(
    backend: &dyn FileBackend,
    path: &Path,
    expected: &FileSum,
    shape: (usize, usize),
    header: NpyHeader,
) -> io::Result<Result<Matrix<'static>, String>> {
    let other = || Ok(Err("the vectors don't have the checksum of the manifest".to_owned()));
    let source = match backend.read_from(path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err("the vectors are missing".into()));
        }
        source => source?,
    };
    let length = backend.stat(path)?.map_or(0, |stamp| stamp.bytes);
    if length < expected.bytes {
        return other();
    }
    let mut source = SummingFile::new(source.take(expected.bytes));
    let vectors = npy::decode(&mut source, expected.bytes, shape, header)?;
    if source.sum_to_end()? == *expected { Ok(vectors) } else { other() }
}

/// Writes the vector cache of one log, durably. `write_graph` writes the graph to the path that it
/// gets; without it, the file of an earlier index is removed. Returns length and checksum of the
/// vector file.
///
/// # Errors
/// `Internal` if rows and vectors do not match; any error of `write_graph`; `Io`. The log is
/// unchanged; a partial cache counts as missing.
pub(super) fn save(
    backend: &dyn FileBackend,
    owner: &Owner,
    paths: &CachePaths,
    head: &VectorCacheHead,
    vectors: &Matrix<'_>,
    write_graph: Option<WriteGraph<'_>>,
) -> Result<FileSum> {
    if vectors.dim() != (head.rows.len(), head.dimension) {
        let message = format!("vectors and rows of a cache differ: `{:?}`", vectors.dim());
        return Err(Error::internal(message));
    }
    let embeddings = npy::encode(vectors);
    let pieces = embeddings.pieces();
    files::replace_with_pieces(backend, &paths.embeddings, &pieces)?;
    let index = match write_graph {
        Some(write) => Some(save_graph(backend, &paths.index, &pieces, write)?),
        None => {
            files::remove(backend, &paths.index)?;
            None
        }
    };
    let (sum, mut line) = (files::sum(&pieces), Vec::new());
    encode_line(&mut line, &CacheManifest::new(owner, head, sum.clone(), index))?;
    files::replace_file(backend, &paths.manifest, &line)?;
    Ok(sum)
}

/// Appends vectors to a file that begins with bytes of checksum `known`, durably; first cuts off
/// any bytes after those. The manifest does not name the new vectors: a snapshot does. Returns the
/// checksum of the longer file; `None` if the file is missing or too short.
///
/// # Errors
/// `Io`.
pub(super) fn append(
    backend: &dyn FileBackend,
    path: &Path,
    known: &FileSum,
    vectors: &Matrix<'_>,
) -> Result<Option<FileSum>> {
    let numbers = npy::numbers(vectors);
    let append = || {
        if backend.stat(path)?.is_none_or(|stamp| stamp.bytes < known.bytes) {
            return Ok(None);
        }
        let Some(mut sum) = SummingFile::behind(known) else { return Ok(None) };
        let mut file = backend.open_append(path)?;
        file.truncate(known.bytes)?;
        file.append(numbers)?;
        file.sync_data()?;
        sum.add(numbers);
        Ok(Some(sum.sum()))
    };
    append().map_err(|error| io_error("cannot append to the vectors", path, error))
}

/// Reads the vector cache of one log; `None` if it is missing, or damaged, which adds a problem.
/// `model` and `dimension` (if known) are those of the current embedder.
///
/// # Errors
/// `EmbeddingMismatch` if an intact cache has another model or dimension. An unreadable file is a
/// problem, not an error: the cache is rebuilt from the log.
pub(super) fn load(
    backend: &dyn FileBackend,
    owner: &Owner,
    paths: CachePaths,
    model: &str,
    dimension: Option<usize>,
    problems: &mut Vec<StoreProblem>,
) -> Result<Option<VectorCache>> {
    let mut problem = |path: &Path, message: String| {
        problems.push(StoreProblem {
            path: path.to_owned(),
            line: None,
            message,
            remedy: REMEDY.into(),
            mended: true,
        });
    };
    let bytes = match backend.read(&paths.manifest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            problem(&paths.manifest, unreadable(&error));
            return Ok(None);
        }
    };
    let manifest = match read_manifest(&bytes) {
        Ok(manifest) => manifest,
        Err(message) => {
            problem(&paths.manifest, message);
            return Ok(None);
        }
    };
    if manifest.owner.as_deref().is_some_and(|named| named != owner) {
        problem(&paths.manifest, "the cache belongs to another user".into());
        return Ok(None);
    }
    check_model(&paths, &manifest, model, dimension)?;
    let shape = (manifest.rows.len(), manifest.dimension);
    let vectors =
        read_vectors(backend, &paths.embeddings, &manifest.embeddings, shape, NpyHeader::Exact);
    let vectors = match vectors {
        Ok(Ok(vectors)) => vectors,
        Ok(Err(message)) => {
            problem(&paths.embeddings, message);
            return Ok(None);
        }
        Err(error) => {
            problem(&paths.embeddings, unreadable(&error));
            return Ok(None);
        }
    };
    let index = match manifest.index.as_ref().filter(|_| manifest.index_kind != FLAT) {
        None => None,
        Some(expected) => match sum_of_file(backend, &paths.index) {
            Ok(found) if found == *expected => Some(paths.index),
            Ok(_) => {
                let message = "the index doesn't have the checksum of the manifest";
                problem(&paths.index, message.into());
                None
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                problem(&paths.index, "the index is missing".into());
                None
            }
            Err(error) => {
                problem(&paths.index, unreadable(&error));
                None
            }
        },
    };
    Ok(Some(VectorCache { head: manifest.into_head(), vectors, index }))
}

/// Removes the vector cache of one log, manifest first.
///
/// # Errors
/// `Io`.
pub(super) fn remove(backend: &dyn FileBackend, paths: &CachePaths) -> Result<()> {
    let mut any = false;
    for path in [&paths.manifest, &paths.embeddings, &paths.index] {
        any |= files::remove(backend, path)?;
    }
    if any { files::sync_dir(backend, parent_of(&paths.manifest)) } else { Ok(()) }
}

fn unreadable(error: &io::Error) -> String {
    format!("the cache can't be read: {error}")
}

fn save_graph(
    backend: &dyn FileBackend,
    path: &Path,
    vectors: &[&[u8]],
    write: WriteGraph<'_>,
) -> Result<FileSum> {
    let temporary = files::temporary(path);
    let fail = |error| io_error("cannot write the index", path, error);
    files::remove(backend, &temporary)?;
    let written = write(&temporary).and_then(|()| {
        let finish = || {
            let sum = sum_of_file(backend, &temporary)?;
            backend.open_append(&temporary)?.sync_data()?;
            backend.rename(&temporary, path)?;
            Ok(sum)
        };
        finish().map_err(fail)
    });
    if written.is_err() {
        let _ = backend.remove_file(&temporary);
    }
    written.map_err(|error| {
        // An index library reports only that it failed, not why. Writing a file of the same size
        // fails for the same reason and gives the operating system's message.
        let probe = || {
            let mut file = backend.create_new(&temporary)?;
            vectors.iter().try_for_each(|piece| file.append(piece))?;
            file.sync_data()
        };
        let cause = probe().err().filter(|_| error.kind() == ErrorKind::Index);
        let _ = backend.remove_file(&temporary);
        cause.map_or(error, fail)
    })
}

fn read_manifest(bytes: &[u8]) -> Result<CacheManifest<'static>, String> {
    #[derive(Deserialize)]
    struct CacheVersion {
        version: u32,
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    match check_line(line) {
        Ok(true) => {}
        Ok(false) => return Err("the manifest has no checksum".into()),
        Err(reason) => return Err(format!("the manifest is damaged: {reason}")),
    }
    let manifest = serde_json::from_slice::<CacheManifest<'_>>(line);
    // A manifest of another version may have another form.
    let version = manifest.as_ref().map_or_else(
        |_| serde_json::from_slice(line).ok(),
        |manifest| Some(CacheVersion { version: manifest.version }),
    );
    match version {
        Some(CacheVersion { version }) if version != MANIFEST_VERSION => Err(format!(
            "the manifest has version {version}, this code reads version {MANIFEST_VERSION}"
        )),
        _ => manifest.map_err(|error| format!("the manifest can't be read: {error}")),
    }
}

fn check_model(
    paths: &CachePaths,
    head: &CacheManifest<'_>,
    model: &str,
    dimension: Option<usize>,
) -> Result<()> {
    if head.model == model && dimension.is_none_or(|dimension| dimension == head.dimension) {
        return Ok(());
    }
    let asked =
        dimension.map_or_else(String::new, |dimension| format!(" with {dimension} dimensions"));
    let context = format!(
        "the vectors come from embedding model `{}` with {} dimensions, the store was opened with \
         `{model}`{asked}",
        head.model, head.dimension
    );
    Err(Error::new(ErrorKind::EmbeddingMismatch, context).at(&paths.manifest, None).with_hint(
        "call `rebuild_indices` to embed everything with the new model, or open the \
            store with the old one",
    ))
}

#[cfg(test)]
mod tests;
