//! Boundaries by rules over time, topic, cues and size, without a model.
//!
//! A segment ends at the first of these:
//! * a message of another session (`None` counts as a session): always, regardless of the length,
//!   so that no episode spans two sessions;
//! * a pause of `time_gap_minutes` before or after the time span of the segment; messages out of
//!   order within that span are not a pause;
//! * a completed goodbye, an announced change of topic, or a drop in cohesion, if the confidence
//!   reaches `boundary_confidence_threshold` and both sides keep `buffer_size_min` messages of the
//!   same session;
//! * `buffer_size_max`: the place with the least cohesion in the second half of the full segment.
//!
//! A stretch shorter than `buffer_size_min` joins the next segment if a pause of at most a day
//! follows; before a longer one and at the end of a session it becomes an episode.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::cohesion::BufferCohesion;
use super::reading::FeatureCache;
use super::scan::{BufferScan, BufferSegment};
use crate::config::MemoryConfig;
use crate::model::{BoundaryReason, DetectionMethod, Message};

/// The finished segments at the front of `buffer`, in order; later messages stay in the buffer.
///
/// `vectors` has one normalised row per message, shape `(buffer.len(), dimension)`. Without them,
/// or with another number of rows, words are compared. Adding messages one by one, and removing
/// finished segments in between, gives the same segments as adding them all at once.
pub fn finished_segments(
    buffer: &[Arc<Message>],
    vectors: Option<ArrayView2<'_, f32>>,
    config: &MemoryConfig,
) -> Vec<BufferSegment> {
    segments_read(&FeatureCache::default(), buffer, vectors, config)
}

/// [`finished_segments`] with cached features of the messages.
pub fn segments_read(
    readings: &FeatureCache,
    buffer: &[Arc<Message>],
    vectors: Option<ArrayView2<'_, f32>>,
    config: &MemoryConfig,
) -> Vec<BufferSegment> {
    BufferScan::new(
        buffer,
        readings,
        buffer_cohesion(buffer, vectors),
        config,
        DetectionMethod::Heuristic,
        false,
    )
    .finished_segments()
}

/// Like [`finished_segments`], but also ends the remaining messages, however few, with `reason`
/// (`Flush` or `Session`).
pub fn flush_segments(
    buffer: &[Arc<Message>],
    vectors: Option<ArrayView2<'_, f32>>,
    config: &MemoryConfig,
    reason: BoundaryReason,
) -> Vec<BufferSegment> {
    let scan = BufferScan::new(
        buffer,
        &FeatureCache::default(),
        buffer_cohesion(buffer, vectors),
        config,
        DetectionMethod::Heuristic,
        true,
    );
    with_rest(&scan, buffer.len(), reason)
}

/// The segments of a complete buffer, including the remaining messages.
pub(super) fn with_rest(
    scan: &BufferScan<'_>,
    messages: usize,
    reason: BoundaryReason,
) -> Vec<BufferSegment> {
    let mut found = scan.finished_segments();
    let done = found.iter().map(|segment| segment.length).sum();
    if done < messages {
        found.push(scan.build_segment(done, messages, reason, 1.0, DetectionMethod::Forced));
    }
    found
}

fn buffer_cohesion<'a>(
    buffer: &[Arc<Message>],
    vectors: Option<ArrayView2<'a, f32>>,
) -> BufferCohesion<'a> {
    match vectors {
        Some(rows) if rows.nrows() == buffer.len() && rows.ncols() > 0 => {
            BufferCohesion::Vectors(rows)
        }
        _ => BufferCohesion::Words,
    }
}
