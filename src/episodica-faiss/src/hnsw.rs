//! The approximate index: a navigable graph over the vectors, for stores in which comparing all of
//! them takes too long.
//!
//! FAISS cannot remove nodes from a graph, and keeps the vectors in the order of the nodes. So the
//! adapter keeps a second copy of them in the order of the rows, and the graph is a cache over it.
//! The id of a node is its row, or [`DEAD`] if the row was removed or replaced. Dead nodes stay
//! until they exceed a fifth of all nodes; then the graph is rebuilt.

use std::path::Path;

use episodica_core::Result;
use episodica_core::index::{Matrix, VectorIndex, VectorIndexKind};
use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::FaissFactory;
use crate::input;
use crate::labels::RowLabels;
use crate::mean::RunningMean;
use crate::native::{NativeIndex, failure, inner_products};
use crate::rows::RowSlice;

/// Number of links per node on each level except the lowest, which has twice as many (M in the
/// paper).
pub(crate) const LINKS: u64 = 32;
/// The id of a node whose row was removed or replaced.
const DEAD: i64 = -1;
/// Memory of a node apart from its vector: twice M links on the lowest level and a few on the
/// levels above (four bytes each), its id, its level and its offset.
const NODE_BYTES: usize = 68 * 4 + 32;
/// The graph is rebuilt if more than one in this many nodes is dead.
const DEAD_FRACTION: usize = 5;

/// A graph over rows. Invariants: `rows` holds `labels.len()` vectors in the order of `labels`;
/// node `nodes[row]` of the graph has the id `row`, and every other node is dead.
pub(crate) struct HnswIndex {
    /// `None` after FAISS failed to extend it. Searches then compare all rows, and the next change
    /// rebuilds the graph.
    graph: Option<HnswGraph>,
    labels: RowLabels,
    rows: Vec<f32>,
    mean: RunningMean,
    dimension: usize,
    settings: FaissFactory,
}

struct HnswGraph {
    native: NativeIndex,
    /// The node of each row.
    nodes: Vec<usize>,
}

impl HnswGraph {
    fn new(dimension: usize, settings: FaissFactory) -> Result<Self> {
        let mut native = NativeIndex::graph(dimension, LINKS)?;
        configure(&mut native, settings);
        Ok(Self { native, nodes: Vec::new() })
    }

    fn over(rows: &[f32], dimension: usize, settings: FaissFactory) -> Result<Self> {
        let mut graph = Self::new(dimension, settings)?;
        let all: Vec<usize> = (0..rows.len() / dimension).collect();
        graph.put(rows, &all)?;
        Ok(graph)
    }

    /// Adds nodes for `vectors`, the new contents of `rows`; the previous nodes of these rows
    /// become dead. New rows have consecutive numbers after the existing ones.
    fn put(&mut self, vectors: &[f32], rows: &[usize]) -> Result<()> {
        let first = self.native.total();
        let ids: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
        self.native.add_with_ids(vectors, &ids)?;
        let ids = self.native.ids_mut().expect("invariant: the graph has an id map");
        for (at, &row) in rows.iter().enumerate() {
            match self.nodes.get_mut(row) {
                Some(node) => {
                    ids[*node] = DEAD;
                    *node = first + at;
                }
                None => self.nodes.push(first + at),
            }
        }
        Ok(())
    }

    /// Removes row `removed`; row `last` takes its place.
    fn swap_remove(&mut self, removed: usize, last: usize) {
        let ids = self.native.ids_mut().expect("invariant: the graph has an id map");
        let moved = self.nodes[last];
        ids[self.nodes[removed]] = DEAD;
        if removed != last {
            ids[moved] = removed as i64;
        }
        self.nodes.swap_remove(removed);
    }

    fn dead(&self) -> usize {
        self.native.total() - self.nodes.len()
    }

    fn is_worn(&self) -> bool {
        self.dead() * DEAD_FRACTION > self.native.total()
    }

    /// Live rows near `query` with their scores: `k` of them, or fewer if the graph does not reach
    /// enough.
    fn search(&self, query: &[f32], k: usize) -> Result<Vec<(usize, f32)>> {
        let total = self.native.total();
        let spare =
            if self.dead() == 0 { 0 } else { k * self.dead() / self.nodes.len().max(1) + 8 };
        let mut asked = k.saturating_add(spare).min(total);
        loop {
            let (scores, ids) = self.native.search(query, asked)?;
            let hits: Vec<(usize, f32)> = ids
                .iter()
                .zip(scores)
                .filter_map(|(&id, score)| Some((usize::try_from(id).ok()?, score)))
                .collect();
            if hits.len() >= k || asked == total {
                return Ok(hits);
            }
            asked = asked.saturating_mul(2).min(total);
        }
    }
}

fn configure(native: &mut NativeIndex, settings: FaissFactory) {
    native.set_candidates(settings.ef_search.max(1), settings.ef_construction.max(1));
}

impl HnswIndex {
    pub(crate) fn new(dimension: usize, settings: FaissFactory) -> Result<Self> {
        let graph = Some(HnswGraph::new(dimension, settings)?);
        Ok(Self {
            graph,
            labels: RowLabels::default(),
            rows: Vec::new(),
            mean: RunningMean::new(dimension),
            dimension,
            settings,
        })
    }

    pub(crate) fn read(
        path: &Path,
        dimension: usize,
        labels: Vec<u64>,
        settings: FaissFactory,
    ) -> Result<Self> {
        let refuse =
            || failure("file is not a graph with one live node for each label").at(path, None);
        let labels = RowLabels::from_rows(labels)?;
        let mut native = NativeIndex::read(path, dimension)?;
        configure(&mut native, settings);
        let ids = native.ids().ok_or_else(refuse)?;
        if ids.len() != native.total() || native.nodes_below() != Some(ids.len()) {
            return Err(refuse());
        }
        let mut nodes = vec![usize::MAX; labels.len()];
        for (node, &id) in ids.iter().enumerate().filter(|(_, id)| **id != DEAD) {
            let row =
                usize::try_from(id).ok().and_then(|row| nodes.get_mut(row)).ok_or_else(refuse)?;
            if *row != usize::MAX {
                return Err(refuse());
            }
            *row = node;
        }
        if nodes.contains(&usize::MAX) {
            return Err(refuse());
        }
        let mut rows = vec![0.0; labels.len() * dimension];
        for (vector, &node) in rows.chunks_exact_mut(dimension).zip(&nodes) {
            native.node(node, vector)?;
        }
        let mean = RunningMean::over(RowSlice::Single(&rows), dimension);
        Ok(Self {
            graph: Some(HnswGraph { native, nodes }),
            labels,
            rows,
            mean,
            dimension,
            settings,
        })
    }

    /// Compares all rows.
    fn scan(&self, query: &[f32], k: usize) -> Vec<(u64, f32)> {
        let mut products = vec![0.0; self.labels.len()];
        inner_products(query, &self.rows, &mut products);
        input::best(self.labels.as_slice().iter().copied().zip(products).collect(), k)
    }
}

impl VectorIndex for HnswIndex {
    fn kind(&self) -> VectorIndexKind {
        VectorIndexKind::Hnsw
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn labels(&self) -> &[u64] {
        self.labels.as_slice()
    }

    fn vectors(&self) -> Matrix<'_> {
        ArrayView2::from_shape((self.len(), self.dimension), &self.rows)
            .expect("invariant: one row for each label")
            .into()
    }

    fn vector(&self, label: u64) -> Option<Array1<f32>> {
        let row = self.labels.row(label)?;
        Some(ArrayView1::from(&self.rows[row * self.dimension..][..self.dimension]).to_owned())
    }

    fn contains(&self, label: u64) -> bool {
        self.labels.row(label).is_some()
    }

    fn mean(&self) -> Array1<f32> {
        self.mean.of(self.len())
    }

    fn add(&mut self, labels: &[u64], vectors: ArrayView2<'_, f32>) -> Result<()> {
        let d = self.dimension;
        let vectors = input::rows(&vectors, labels.len(), d)?;
        let vectors = vectors.as_slice().expect("invariant: standard layout");
        let mut touched: Vec<usize> =
            labels.iter().map(|&label| self.labels.row_or_insert(label)).collect();
        self.rows.resize(self.labels.len() * d, 0.0);
        for (vector, &row) in vectors.chunks_exact(d).zip(&touched) {
            // A new row consists of zeros, which do not change the mean.
            self.mean.take(RowSlice::Single(&self.rows[row * d..][..d]));
            self.mean.add(RowSlice::Single(vector));
            self.rows[row * d..][..d].copy_from_slice(vector);
        }
        // A label may occur twice in a call. Sorted by row, new rows follow the existing ones
        // without a gap.
        touched.sort_unstable();
        touched.dedup();
        let latest: Vec<f32> =
            touched.iter().flat_map(|&row| &self.rows[row * d..][..d]).copied().collect();
        self.graph = match self.graph.take() {
            Some(mut graph) => {
                graph.put(&latest, &touched)?;
                if graph.is_worn() {
                    Some(HnswGraph::over(&self.rows, d, self.settings)?)
                } else {
                    Some(graph)
                }
            }
            None => Some(HnswGraph::over(&self.rows, d, self.settings)?),
        };
        Ok(())
    }

    fn remove(&mut self, labels: &[u64]) -> Result<usize> {
        let d = self.dimension;
        let before = self.labels.len();
        for &label in labels {
            if let Some(moved) = self.labels.swap_remove(label) {
                self.mean.take(RowSlice::Single(&self.rows[moved.removed * d..][..d]));
                self.rows.copy_within(moved.last * d..(moved.last + 1) * d, moved.removed * d);
                self.rows.truncate(moved.last * d);
                if let Some(graph) = &mut self.graph {
                    graph.swap_remove(moved.removed, moved.last);
                }
            }
        }
        if self.graph.as_ref().is_some_and(HnswGraph::is_worn) {
            self.graph = Some(HnswGraph::over(&self.rows, d, self.settings)?);
        }
        Ok(before - self.labels.len())
    }

    fn search(&self, query: ArrayView1<'_, f32>, k: usize) -> Result<Vec<(u64, f32)>> {
        let query = input::query(&query, self.dimension)?;
        let query = query.as_slice().expect("invariant: standard layout");
        let k = k.min(self.len());
        if k == 0 {
            return Ok(Vec::new());
        }
        if let Some(graph) = &self.graph {
            let hits = graph.search(query, k)?;
            if hits.len() >= k {
                return Ok(input::best(
                    hits.into_iter().map(|(row, score)| (self.labels.label(row), score)).collect(),
                    k,
                ));
            }
        }
        // The graph reaches fewer than `k` live rows. Comparing all rows returns the promised
        // number.
        Ok(self.scan(query, k))
    }

    fn scores(&self, query: ArrayView1<'_, f32>, labels: &[u64]) -> Vec<Option<f32>> {
        input::scores(query, labels, &self.labels, self.dimension, |query, rows| {
            RowSlice::Single(&self.rows).products(query, rows)
        })
    }

    fn write(&self, path: &Path) -> Result<()> {
        match &self.graph {
            Some(graph) => graph.native.write(path),
            None => HnswGraph::over(&self.rows, self.dimension, self.settings)?.native.write(path),
        }
    }

    fn heap_bytes(&self) -> usize {
        let node = self.dimension * size_of::<f32>() + NODE_BYTES;
        let graph = self.graph.as_ref().map_or(0, |graph| graph.native.total() * node);
        self.rows.capacity() * size_of::<f32>() + graph + self.labels.heap_bytes()
    }
}
