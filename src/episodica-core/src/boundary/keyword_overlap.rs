//! Boundaries by shared words: the fallback if a model or an embedder does not answer.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::cohesion::Cohesion;
use super::heuristic::with_rest;
use super::reading::Readings;
use super::scan::{Scan, Segment};
use crate::config::Config;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// Like [`heuristic segments`](super::segments), with words instead of vectors (which it ignores)
/// and its own detection method.
pub fn segments(
    buffer: &[Arc<Message>],
    _vectors: Option<ArrayView2<'_, f32>>,
    config: &Config,
) -> Vec<Segment> {
    Scan::new(
        buffer,
        &Readings::default(),
        Cohesion::Words,
        config,
        DetectionMethod::KeywordOverlap,
        false,
    )
    .segments()
}

/// Like [`heuristic flush`](super::flush), with words instead of vectors.
pub fn flush(
    buffer: &[Arc<Message>],
    _vectors: Option<ArrayView2<'_, f32>>,
    config: &Config,
    reason: BoundaryReason,
) -> Vec<Segment> {
    let scan = Scan::new(
        buffer,
        &Readings::default(),
        Cohesion::Words,
        config,
        DetectionMethod::KeywordOverlap,
        true,
    );
    with_rest(&scan, buffer.len(), reason)
}
