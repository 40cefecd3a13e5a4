//! An engine over files in memory, with vectors and tokens simple enough to be certainly right.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use episodica_core::clock::{Clock, FixedClock, Moment};
use episodica_core::config::MemoryConfig;
use episodica_core::control::Uninterrupted;
use episodica_core::embed::Embedder;
use episodica_core::engine::{
    AnyRecord, Engine, EngineHandle, EngineParts, ListingPage, RecordKind,
};
use episodica_core::ids::Owner;
use episodica_core::index::{Matrix, VectorIndex, VectorIndexFactory};
use episodica_core::llm::LanguageModel;
use episodica_core::model::NewMessage;
use episodica_core::score::{HitKind, RecordFilter, SearchMethod, SearchRequest, TokenTable};
use episodica_core::store::StoreLayout;
use episodica_core::store::testing::{CountdownBackend, MemoryBackend};
use episodica_core::{Error, ErrorKind, Result};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

pub type Disk = CountdownBackend<MemoryBackend>;

pub const NOW: Uninterrupted = Uninterrupted;
const DIMENSION: usize = 16;

pub fn moment(seconds: i64) -> Moment {
    Moment::new((1_790_000_000 + seconds) * 1_000_000, 0).unwrap()
}

pub fn open_as(disk: &Disk, read_only: bool, config: MemoryConfig) -> Result<EngineHandle> {
    open_with(disk, read_only, config, None)
}

pub fn open_with(
    disk: &Disk,
    read_only: bool,
    config: MemoryConfig,
    llm: Option<Arc<dyn LanguageModel>>,
) -> Result<EngineHandle> {
    Engine::open(EngineParts { config, read_only, llm, ..parts(disk) })
}

pub fn open_embedding(disk: &Disk, embedder: Arc<dyn Embedder>) -> Result<EngineHandle> {
    Engine::open(EngineParts { embedder, ..parts(disk) })
}

/// An engine whose clock is so many days ahead.
pub fn open_days_later(disk: &Disk, days: i64) -> Result<EngineHandle> {
    open_at(disk, Arc::new(FixedClock::new(moment(days * 86_400))))
}

pub fn open_at(disk: &Disk, clock: Arc<dyn Clock>) -> Result<EngineHandle> {
    Engine::open(EngineParts { clock, config: with_snapshots(), ..parts(disk) })
}

pub fn parts(disk: &Disk) -> EngineParts {
    EngineParts {
        logs: None,
        llm: None,
        ledger: Arc::default(),
        path: "/m".into(),
        tenant: "default".into(),
        config: MemoryConfig::default(),
        read_only: false,
        backend: Arc::new(disk.clone()),
        clock: Arc::new(FixedClock::new(moment(0))),
        embedder: Arc::new(Words),
        vectors: Arc::new(Rows),
        tokens: &Table,
    }
}

/// A configuration that writes a snapshot of a user with few messages, too.
pub fn with_snapshots() -> MemoryConfig {
    MemoryConfig { snapshot_threshold: 1, ..MemoryConfig::default() }
}

pub fn open(disk: &Disk) -> Result<EngineHandle> {
    open_as(disk, false, with_snapshots())
}

pub fn said(id: &str, content: &str, at: i64, session: Option<&str>) -> NewMessage {
    NewMessage {
        role: "user".into(),
        content: content.into(),
        timestamp: Some(moment(at)),
        session_id: session.map(str::to_owned),
        agent_id: None,
        message_id: Some(id.into()),
        ..NewMessage::default()
    }
}

pub fn records(engine: &Engine, user: &str, kind: RecordKind) -> Vec<AnyRecord> {
    let page = ListingPage {
        limit: usize::MAX,
        include_superseded: true,
        include_archived: true,
        ..ListingPage::default()
    };
    engine.records(user, kind, &page, &NOW).unwrap()
}

/// A question to all records, including superseded ones.
pub fn asked(
    query: &str,
    top_k: usize,
    kinds: Vec<HitKind>,
    method: SearchMethod,
) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        top_k,
        kinds,
        method,
        filter: RecordFilter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: true,
        now: moment(0),
    }
}

pub fn found(engine: &Engine, user: &str, query: &str, method: SearchMethod) -> Vec<String> {
    let request = asked(query, 10, vec![HitKind::Message], method);
    let response = engine.search(user, &request, &NOW).unwrap();
    response
        .hits
        .iter()
        .flat_map(|hit| &hit.messages)
        .map(|message| message.content.clone())
        .collect()
}

/// The files with `needle` in their names or bytes.
pub fn files_with(disk: &Disk, needle: impl AsRef<[u8]>) -> Vec<PathBuf> {
    let needle = needle.as_ref();
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
    let files = disk.inner().files().into_iter();
    files
        .filter(|(path, bytes)| holds(bytes) || holds(path.to_string_lossy().as_bytes()))
        .map(|(path, _)| path)
        .collect()
}

/// The segment of the user `alice`.
pub fn segment_path() -> PathBuf {
    StoreLayout::new(Path::new("/m")).segment_path(&Owner::new("default", "alice").unwrap())
}

/// The last line of a segment, and where it begins.
pub fn footer_of(segment: &[u8]) -> (serde_json::Value, usize) {
    let at = segment[..segment.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    (serde_json::from_slice(&segment[at..]).unwrap(), at)
}

/// The segment of `alice`, if it contains a snapshot.
pub fn snapshot(disk: &Disk) -> Option<Vec<u8>> {
    let segment = disk.inner().files().remove(&segment_path())?;
    (!footer_of(&segment).0["snapshot"].is_null()).then_some(segment)
}

/// True if `open` opens `alice` from a snapshot: the footer, four packs and two kinds of vectors
/// are read once. An opening from the logs also reads the keys of the vectors.
pub fn uses_the_snapshot(disk: &Disk, open: impl FnOnce()) -> bool {
    disk.take_operations();
    open();
    let operations = disk.take_operations();
    let read = format!("read_from {}", segment_path().display());
    operations.iter().filter(|operation| **operation == read).count() == 7
}

/// A text that contains this can't be embedded.
pub const NO_VECTOR: &str = "(illegible)";

/// Words hashed into a few dimensions. The numbers are those of half precision, so an index that
/// keeps only half of each changes no score: otherwise rounding would decide among equals, and with
/// it which messages are the best that are compared with each other.
struct Words;

fn hash(word: &str) -> usize {
    word.bytes().fold(5381, |hash: usize, byte| hash.wrapping_mul(33) ^ usize::from(byte))
}

impl Embedder for Words {
    fn model_name(&self) -> &str {
        "words-1"
    }

    fn dimension(&self) -> Option<usize> {
        Some(DIMENSION)
    }

    fn is_local(&self) -> bool {
        true
    }

    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>> {
        if texts.iter().any(|text| text.contains(NO_VECTOR)) {
            return Err(Error::new(ErrorKind::Embedding, "this can't be embedded"));
        }
        let mut rows = Array2::<f32>::zeros((texts.len(), DIMENSION));
        for (mut row, text) in rows.axis_iter_mut(Axis(0)).zip(texts) {
            text.split_whitespace().for_each(|word| row[hash(word) % DIMENSION] += 1.0);
            let length = row.dot(&row).sqrt().max(1e-9);
            row.mapv_inplace(|value| half::f16::from_f32(value / length).to_f32());
        }
        Ok(rows)
    }
}

struct Table;

impl TokenTable for Table {
    fn ids(&self, text: &str) -> Vec<u16> {
        text.split_whitespace().map(|word| (hash(word) % 1000) as u16).collect()
    }

    fn weight(&self, _: u16) -> f32 {
        1.0
    }

    fn cosine(&self, a: u16, b: u16) -> f32 {
        if a == b { 1.0 } else { 0.0 }
    }

    fn typical_weight(&self) -> f32 {
        1.0
    }
}

/// With more rows than this, an index returns them in half precision.
const MANY: usize = 4;

/// Vector indexes made of rows and labels.
struct Rows;

struct RowIndex {
    labels: Vec<u64>,
    rows: Array2<f32>,
}

impl VectorIndex for RowIndex {
    fn dimension(&self) -> usize {
        self.rows.ncols()
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn labels(&self) -> &[u64] {
        &self.labels
    }

    fn vectors(&self) -> Matrix<'_> {
        if self.rows.nrows() <= MANY {
            self.rows.view().into()
        } else {
            self.rows.mapv(half::f16::from_f32).into()
        }
    }

    fn vector_of(&self, label: u64) -> Option<Array1<f32>> {
        self.labels.iter().position(|known| *known == label).map(|at| self.rows.row(at).to_owned())
    }

    fn has_label(&self, label: u64) -> bool {
        self.labels.contains(&label)
    }

    fn mean_vector(&self) -> Array1<f32> {
        self.rows.mean_axis(Axis(0)).unwrap_or_else(|| Array1::zeros(self.rows.ncols()))
    }

    fn add_vectors(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()> {
        self.remove_labels(labels)?;
        self.labels.extend(labels);
        self.rows
            .append(Axis(0), vectors)
            .map_err(|error| Error::new(ErrorKind::Index, error.to_string()))
    }

    fn remove_labels(&mut self, labels: &[u64]) -> Result<usize> {
        let kept: Vec<usize> =
            (0..self.labels.len()).filter(|at| !labels.contains(&self.labels[*at])).collect();
        let removed = self.labels.len() - kept.len();
        self.rows = self.rows.select(Axis(0), &kept);
        self.labels = kept.into_iter().map(|at| self.labels[at]).collect();
        Ok(removed)
    }

    fn search_nearest(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        let mut all: Vec<(u64, f32)> =
            self.labels.iter().copied().zip(self.rows.dot(&query)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        Ok(all)
    }

    fn inner_products(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>> {
        labels.iter().map(|label| self.vector_of(*label).map(|row| row.dot(&query))).collect()
    }

    fn heap_bytes(&self) -> usize {
        self.rows.len() * 4 + self.labels.len() * 8
    }
}

impl VectorIndexFactory for Rows {
    fn create_index(&self, dimension: usize) -> Result<Box<dyn VectorIndex>> {
        Ok(Box::new(RowIndex { labels: Vec::new(), rows: Array2::zeros((0, dimension)) }))
    }

    fn restore_index(&self, labels: Vec<u64>, rows: Matrix<'_>) -> Result<Box<dyn VectorIndex>> {
        Ok(Box::new(RowIndex { labels, rows: rows.to_single() }))
    }

    fn library_version(&self) -> String {
        "rows".into()
    }
}
