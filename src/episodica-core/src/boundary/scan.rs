//! Splits a buffer into segments; all detectors use this scan.
//!
//! Segments do not depend on how the messages were batched. A place is judged by the messages of
//! its segment before it and by a fixed number after it ([`LOOKAHEAD`] or `buffer_size_min`,
//! whichever is larger), up to the segment's `buffer_size_max`-th message. The judgement waits
//! until these messages have arrived, or can no longer arrive. An open segment is always cut when
//! it reaches `buffer_size_max` messages.

use std::sync::Arc;

use super::cohesion::BufferCohesion;
use super::reading::{FeatureCache, MessageFeatures, TopicTurn, surface_form};
use crate::clock::Moment;
use crate::config::MemoryConfig;
use crate::model::{BoundaryJudgement, BoundaryReason, DetectionMethod, Message};

/// Number of messages from a place on that its judgement may read.
pub(super) const LOOKAHEAD: usize = 4;
/// A segment with fewer messages does not end at a drop in cohesion alone. A small
/// `buffer_size_max` lowers this number.
const USUAL_MINIMUM: usize = 6;
/// A pause longer than this ends a segment of any length.
const DAY_SECONDS: f64 = 86_400.0;
/// Number of words in `topic_summary`.
const TOPIC_WORDS: usize = 4;

/// A finished stretch of the buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferSegment {
    /// Number of messages, counted from the end of the previous segment or from the front of the
    /// buffer.
    pub length: usize,
    /// Why the segment ends.
    pub boundary: BoundaryJudgement,
}

impl BufferSegment {
    /// The reason for its end, for display.
    pub fn description(&self) -> &'static str {
        describe_reason(self.boundary.reason)
    }
}

/// The description of a reason, for display.
pub fn describe_reason(reason: BoundaryReason) -> &'static str {
    match reason {
        BoundaryReason::Session => "the session ended",
        BoundaryReason::TimeGap => "a long pause followed",
        BoundaryReason::TopicShift => "the talk turned to another subject",
        BoundaryReason::Intent => "another subject was announced",
        BoundaryReason::Closing => "goodbyes were said",
        BoundaryReason::Size => "the buffer was full",
        BoundaryReason::Flush => "the caller closed it",
        BoundaryReason::Llm => "the model saw a boundary",
        BoundaryReason::Imported => "imported",
    }
}

/// A pass over one buffer.
pub(super) struct BufferScan<'a> {
    buffer: &'a [Arc<Message>],
    readings: Vec<Arc<MessageFeatures>>,
    cohesion: BufferCohesion<'a>,
    config: &'a MemoryConfig,
    method: DetectionMethod,
    /// True if no message will follow, so that judgements need not wait.
    complete: bool,
}

impl<'a> BufferScan<'a> {
    /// Analyses the messages whose features `known` does not contain.
    pub fn new(
        buffer: &'a [Arc<Message>],
        known: &FeatureCache,
        cohesion: BufferCohesion<'a>,
        config: &'a MemoryConfig,
        method: DetectionMethod,
        complete: bool,
    ) -> Self {
        let readings = known.features_of(buffer);
        Self { buffer, readings, cohesion, config, method, complete }
    }

    /// All finished segments, in order.
    pub fn finished_segments(&self) -> Vec<BufferSegment> {
        let (mut found, mut start) = (Vec::new(), 0);
        while let Some((end, reason, confidence)) = self.next_cut(start) {
            let method = if reason == BoundaryReason::Session {
                DetectionMethod::Forced
            } else {
                self.method
            };
            found.push(self.build_segment(start, end, reason, confidence, method));
            start = end;
        }
        found
    }

    /// The segment `start..end` with its boundary.
    pub fn build_segment(
        &self,
        start: usize,
        end: usize,
        reason: BoundaryReason,
        confidence: f32,
        method: DetectionMethod,
    ) -> BufferSegment {
        let topic_summary = topic_words(&self.buffer[start..end], &self.readings[start..end]);
        let boundary = BoundaryJudgement {
            should_end: true,
            reason,
            confidence,
            topic_summary,
            detection_method: method,
        };
        BufferSegment { length: end - start, boundary }
    }

    /// The end of the segment that begins at `start`; `None` while the segment is open.
    fn next_cut(&self, start: usize) -> Option<(usize, BoundaryReason, f32)> {
        let (min, max) = (self.config.buffer_size_min, self.config.buffer_size_max);
        let full = start + max;
        let mut span = SegmentSpan::new(self.buffer.get(start)?.timestamp);
        for place in start + 1..=self.buffer.len() {
            if place == full {
                return Some((self.size_cut(start, full), BoundaryReason::Size, 1.0));
            }
            let message = self.buffer.get(place)?;
            if message.session_id != self.buffer[place - 1].session_id {
                return Some((place, BoundaryReason::Session, 1.0));
            }
            let pause = self.pause_confidence(&span, message.timestamp);
            let is_long = place - start >= min || span.is_a_day_before(message.timestamp);
            if is_long && self.is_enough(pause) {
                return Some((place, BoundaryReason::TimeGap, pause));
            }
            if place - start >= min {
                match self.following_messages(place, full, span) {
                    FollowingMessages::Unknown => return None,
                    FollowingMessages::Until(end) if end - place >= min => {
                        let (reason, confidence) = self.judge_place(start, place, end);
                        if self.is_enough(confidence) {
                            return Some((place, reason, confidence));
                        }
                    }
                    FollowingMessages::Until(_) | FollowingMessages::TooClose => {}
                }
            }
            span.extend_to(message.timestamp);
        }
        None
    }

    fn is_enough(&self, confidence: f32) -> bool {
        confidence > 0.0 && confidence >= self.config.boundary_confidence_threshold
    }

    fn pause_confidence(&self, span: &SegmentSpan, next: Moment) -> f32 {
        pause_confidence(self.config, span, next)
    }

    /// The messages after `place` on which its judgement depends.
    fn following_messages(
        &self,
        place: usize,
        full: usize,
        mut span: SegmentSpan,
    ) -> FollowingMessages {
        let wanted = place + LOOKAHEAD.max(self.config.buffer_size_min);
        span.extend_to(self.buffer[place].timestamp);
        for at in place + 1..wanted {
            if at >= full {
                return FollowingMessages::TooClose;
            }
            let Some(message) = self.buffer.get(at) else {
                return if self.complete {
                    FollowingMessages::Until(at)
                } else {
                    FollowingMessages::Unknown
                };
            };
            if message.session_id != self.buffer[at - 1].session_id
                || self.is_enough(self.pause_confidence(&span, message.timestamp))
            {
                return FollowingMessages::Until(at);
            }
            span.extend_to(message.timestamp);
        }
        FollowingMessages::Until(wanted)
    }

    /// The strongest cue for a boundary before `place`, with its confidence.
    fn judge_place(&self, start: usize, place: usize, end: usize) -> (BoundaryReason, f32) {
        let length = place - start;
        let at = &self.readings[place];
        let usual =
            USUAL_MINIMUM.min(self.config.buffer_size_max / 4).max(self.config.buffer_size_min);
        let maturity = (length as f32 / usual as f32).min(1.0);
        let closed = self.said_goodbye(start, place);
        let cued = closed || at.turn != TopicTurn::None;
        // A few messages before a pause or the end of a session are not a topic of their own,
        // unless the first of them announces one.
        let enough_behind = end - place >= LOOKAHEAD.min(usual);
        let asked = (cued || length >= usual && !at.backchannel) && enough_behind;
        let shift =
            if asked { self.cohesion.topic_shift(&self.readings, start, place, end) } else { None };
        let doubt = self.adjacency_penalty(place);

        let mut best = (BoundaryReason::TopicShift, 0.0);
        let mut offer = |reason, confidence: f32| {
            if confidence > best.1 {
                best = (reason, confidence.clamp(0.0, 1.0));
            }
        };
        if closed && enough_behind && !at.closes && !at.resumes && !self.is_echo(place, end) {
            offer(BoundaryReason::Closing, 0.7 + 0.15 * maturity + 0.1 * shift.unwrap_or(0.0));
        }
        match at.turn {
            TopicTurn::Strong => offer(
                BoundaryReason::Intent,
                0.72 + 0.13 * maturity + 0.1 * shift.unwrap_or(0.0) - 0.5 * (doubt - 0.2).max(0.0),
            ),
            TopicTurn::Weak if length * 3 >= usual * 2 => offer(
                BoundaryReason::Intent,
                0.35 + 0.2 * maturity + 0.4 * shift.unwrap_or(0.0) - 0.5 * doubt,
            ),
            TopicTurn::Weak | TopicTurn::None => {}
        }
        // An imminent goodbye belongs to the segment that it ends.
        let parting = self.readings[place..end].iter().any(|reading| reading.closes);
        if let Some(shift) = shift.filter(|_| length >= usual && !at.backchannel && !parting) {
            // The longer the segment, the less evidence is required to end it.
            let room =
                (length - usual) as f32 / (self.config.buffer_size_max - usual).max(1) as f32;
            let confidence = 0.8 * shift + 0.15 * room - doubt;
            // If the drop is deeper one message later, that place is judged instead.
            let deepest = || {
                shift
                    >= self
                        .cohesion
                        .topic_shift(&self.readings, start, place + 1, end)
                        .unwrap_or(0.0)
            };
            if self.is_enough(confidence) && deepest() {
                offer(BoundaryReason::TopicShift, confidence);
            }
        }
        best
    }

    /// True if the last message before `place` is a goodbye, except for one or two replies without
    /// a topic ("you too!").
    fn said_goodbye(&self, start: usize, place: usize) -> bool {
        let mut before = self.readings[start..place].iter().rev().take(3);
        before
            .find(|reading| reading.closes || !reading.backchannel)
            .is_some_and(|reading| reading.closes)
    }

    /// True if the message at `place` is only the reply to a goodbye ("you too!"), or if another
    /// goodbye follows.
    fn is_echo(&self, place: usize, end: usize) -> bool {
        self.readings[place].backchannel
            && !(place + 1..end).all(|at| self.readings[at].backchannel)
            || self.readings[place..end].iter().any(|reading| reading.closes)
    }

    /// Penalty for a cut before `place` that would separate related messages: a question and its
    /// answer, or a request and its result.
    fn adjacency_penalty(&self, place: usize) -> f32 {
        let (before, at) = (&self.readings[place - 1], &self.readings[place]);
        let answer = if before.asks { 0.3 } else { 0.0 };
        let reply = if at.replies && !before.replies { 0.4 } else { 0.0 };
        f32::max(answer, reply)
    }

    /// The place at which to cut a full segment: the place with the least cohesion in its second
    /// half that leaves the next segment its minimum length.
    fn size_cut(&self, start: usize, full: usize) -> usize {
        let (min, max) = (self.config.buffer_size_min, self.config.buffer_size_max);
        let first = start + min.max(max / 2);
        let last = full.saturating_sub(min.max(LOOKAHEAD.min(max / 4)).max(1));
        if last < first {
            return full;
        }
        let mut best = (last, f32::MIN);
        for place in first..=last {
            let end = (place + LOOKAHEAD).min(full);
            let shift = self.cohesion.topic_shift(&self.readings, start, place, end).unwrap_or(0.0);
            let turn = match self.readings[place].turn {
                TopicTurn::Strong => 0.5,
                TopicTurn::Weak => 0.3,
                TopicTurn::None => 0.0,
            };
            let position = 0.1 * (place - first) as f32 / (last - first).max(1) as f32;
            let score = shift + turn + position
                - self.adjacency_penalty(place)
                - if self.readings[place].backchannel { 0.3 } else { 0.0 };
            if score >= best.1 {
                best = (place, score);
            }
        }
        best.0
    }
}

/// The places of a buffer, in order, at which a pause is long enough to end a segment regardless of
/// the content. Each segment that ends there has its minimum length, or the pause is of a day.
pub(super) fn certain_places(buffer: &[Arc<Message>], config: &MemoryConfig) -> Vec<usize> {
    let mut places = Vec::new();
    let Some(first) = buffer.first() else { return places };
    let (mut span, mut start) = (SegmentSpan::new(first.timestamp), 0);
    for (place, message) in buffer.iter().enumerate().skip(1) {
        let pause = pause_confidence(config, &span, message.timestamp);
        let is_long =
            place - start >= config.buffer_size_min || span.is_a_day_before(message.timestamp);
        if is_long && pause > 0.0 && pause >= config.boundary_confidence_threshold {
            places.push(place);
            start = place;
            span = SegmentSpan::new(message.timestamp);
        }
        span.extend_to(message.timestamp);
    }
    places
}

/// True if more than a day passes before `place`, after the segment that begins at `start`.
pub(super) fn follows_day(buffer: &[Arc<Message>], start: usize, place: usize) -> bool {
    let mut span = SegmentSpan::new(buffer[start].timestamp);
    buffer[start..place].iter().for_each(|message| span.extend_to(message.timestamp));
    span.is_a_day_before(buffer[place].timestamp)
}

/// 0 below the configured pause; from there 0.8, rising to 1 at four times the pause.
fn pause_confidence(config: &MemoryConfig, span: &SegmentSpan, next: Moment) -> f32 {
    let ratio = span.distance_seconds(next) / (config.time_gap_minutes * 60.0);
    if ratio < 1.0 { 0.0 } else { (0.8 + 0.1 * ratio.log2() as f32).min(1.0) }
}

/// The result of looking at the messages after a place.
enum FollowingMessages {
    /// Only the messages up to this index (exclusive) count.
    Until(usize),
    /// The segment becomes full before there are enough messages, so its size decides.
    TooClose,
    /// Relevant messages may still come.
    Unknown,
}

/// The time span of a segment; messages out of order within it do not look like a pause.
#[derive(Clone, Copy)]
struct SegmentSpan {
    earliest: Moment,
    latest: Moment,
}

impl SegmentSpan {
    fn new(at: Moment) -> Self {
        Self { earliest: at, latest: at }
    }

    fn extend_to(&mut self, at: Moment) {
        self.earliest = self.earliest.min(at);
        self.latest = self.latest.max(at);
    }

    fn is_a_day_before(&self, at: Moment) -> bool {
        self.distance_seconds(at) > DAY_SECONDS
    }

    /// Seconds between the span and a moment outside of it; 0 inside.
    fn distance_seconds(&self, at: Moment) -> f64 {
        at.seconds_since(self.latest).max(self.earliest.seconds_since(at)).max(0.0)
    }
}

/// A few words that describe the topic of messages.
pub fn topic_summary(messages: &[Arc<Message>]) -> String {
    let readings: Vec<_> =
        messages.iter().map(|message| Arc::new(MessageFeatures::from_message(message))).collect();
    topic_words(messages, &readings)
}

/// The words that occur in most messages, in order of first occurrence.
fn topic_words(messages: &[Arc<Message>], readings: &[Arc<MessageFeatures>]) -> String {
    let mut all: Vec<(u64, usize)> = readings
        .iter()
        .enumerate()
        .flat_map(|(at, reading)| reading.terms.iter().map(move |term| (*term, at)))
        .collect();
    all.sort_unstable();
    let mut shared: Vec<(usize, usize, u64)> = Vec::new();
    for run in all.chunk_by(|a, b| a.0 == b.0) {
        shared.push((run.len(), run[0].1, run[0].0));
    }
    shared.sort_unstable_by_key(|(count, first, term)| (std::cmp::Reverse(*count), *first, *term));
    shared.truncate(TOPIC_WORDS);
    shared.sort_unstable_by_key(|(_, first, term)| (*first, *term));
    let words: Vec<String> = shared
        .iter()
        .filter_map(|(_, first, term)| surface_form(&messages[*first].content, *term))
        .collect();
    words.join(", ")
}
