//! Boundaries by the words that stretches of talk share: the stand-in for a model that doesn't
//! answer, and for an embedder that doesn't.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::cohesion::Cohesion;
use super::heuristic::with_rest;
use super::reading::Readings;
use super::scan::{Scan, Segment};
use crate::config::Config;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// Like [`heuristic segments`](super::segments), with words in place of vectors (which are ignored)
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

/// Like [`heuristic flush`](super::flush), with words in place of vectors.
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
