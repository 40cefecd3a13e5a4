//! Boundaries by shared words: the fallback if a model or an embedder does not answer.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::cohesion::BufferCohesion;
use super::heuristic::with_rest;
use super::reading::FeatureCache;
use super::scan::{BufferScan, BufferSegment};
use crate::config::MemoryConfig;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// Like [`heuristic segments`](super::finished_segments), with words instead of vectors (which it
/// ignores) and its own detection method.
pub fn finished_segments(
    buffer: &[Arc<Message>],
    _vectors: Option<ArrayView2<'_, f32>>,
    config: &MemoryConfig,
) -> Vec<BufferSegment> {
    BufferScan::new(
        buffer,
        &FeatureCache::default(),
        BufferCohesion::Words,
        config,
        DetectionMethod::KeywordOverlap,
        false,
    )
    .finished_segments()
}

/// Like [`heuristic flush`](super::flush_segments), with words instead of vectors.
pub fn flush_segments(
    buffer: &[Arc<Message>],
    _vectors: Option<ArrayView2<'_, f32>>,
    config: &MemoryConfig,
    reason: BoundaryReason,
) -> Vec<BufferSegment> {
    let scan = BufferScan::new(
        buffer,
        &FeatureCache::default(),
        BufferCohesion::Words,
        config,
        DetectionMethod::KeywordOverlap,
        true,
    );
    with_rest(&scan, buffer.len(), reason)
}
