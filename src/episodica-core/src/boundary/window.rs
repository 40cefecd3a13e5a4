//! Boundaries by a model that reads a window of messages; called only if the rules are in doubt.
//!
//! [`plan_step`] decides whether to cut the front of a buffer, to ask the model, or to wait.
//! [`read_answer`] converts any usable answer to segments that contain every message exactly once.
//! The engine calls the model, and uses the rules if the model fails.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::cohesion::BufferCohesion;
use super::heuristic;
use super::reading::FeatureCache;
use super::scan::{BufferScan, BufferSegment, certain_places, follows_day};
use crate::config::MemoryConfig;
use crate::llm::json;
use crate::model::{BoundaryJudgement, BoundaryReason, DetectionMethod, Message};

/// Maximum number of messages of a finished stretch that becomes one episode without asking the
/// model.
const PLAIN: usize = 8;
/// Minimum number of new messages before the model is asked again about a full buffer.
const WORTH_ASKING: usize = 8;
/// The confidence of a cut for which the model states none.
const UNSAID_CONFIDENCE: f32 = 0.8;

/// The next step for the front of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum WindowStep {
    /// No segment is finished, and it is too early to ask the model.
    Wait,
    /// These segments are certainly finished.
    Cut(Vec<BufferSegment>),
    /// Ask about this many messages from the front.
    Ask(usize),
}

/// Plans the next step for a buffer of one session. An earlier prompt contained the first `seen`
/// messages. `complete` is the reason why no message will follow; `None` = messages may follow.
pub fn plan_step(
    buffer: &[Arc<Message>],
    seen: usize,
    complete: Option<BoundaryReason>,
    config: &MemoryConfig,
) -> WindowStep {
    if buffer.is_empty() {
        return WindowStep::Wait;
    }
    let unseen = buffer.len().saturating_sub(seen);
    let most = config.boundary_window_messages;
    // The rest of a finished buffer is not worth a question of its own.
    let is_rest = complete.is_some() && unseen <= most + most / 2;
    if unseen >= most && !is_rest {
        return WindowStep::Ask(seen + most);
    }
    let pause = certain_places(buffer, config).into_iter().next();
    if let Some(place) = pause.filter(|place| *place <= PLAIN) {
        return WindowStep::Cut(vec![whole_segment(
            &buffer[..place],
            BoundaryReason::TimeGap,
            1.0,
            config,
        )]);
    }
    match complete {
        Some(reason) if is_plain(buffer, config) => {
            WindowStep::Cut(vec![whole_segment(buffer, reason, 1.0, config)])
        }
        Some(_) if unseen > 0 || buffer.len() > config.buffer_size_max => {
            WindowStep::Ask(buffer.len())
        }
        // The model has seen all messages and found no boundary, so they are one episode.
        Some(reason) => WindowStep::Cut(vec![whole_segment(buffer, reason, 1.0, config)]),
        None if buffer.len() < config.buffer_size_max => WindowStep::Wait,
        None if unseen >= WORTH_ASKING.min(config.boundary_window_messages) => {
            WindowStep::Ask(buffer.len())
        }
        None => cut_full(buffer, config),
    }
}

/// The first segment of a full buffer, by the rules.
pub(super) fn cut_full(buffer: &[Arc<Message>], config: &MemoryConfig) -> WindowStep {
    let mut cut = heuristic::finished_segments(buffer, None, config);
    cut.truncate(1);
    if cut.is_empty() { WindowStep::Wait } else { WindowStep::Cut(cut) }
}

/// True if a finished stretch is certainly one episode.
fn is_plain(buffer: &[Arc<Message>], config: &MemoryConfig) -> bool {
    if !certain_places(buffer, config).is_empty() || buffer.len() > config.buffer_size_max {
        return false;
    }
    buffer.len() <= PLAIN.min(config.buffer_size_max)
}

pub(super) fn whole_segment(
    messages: &[Arc<Message>],
    reason: BoundaryReason,
    confidence: f32,
    config: &MemoryConfig,
) -> BufferSegment {
    let scan = BufferScan::new(
        messages,
        &FeatureCache::default(),
        BufferCohesion::Words,
        config,
        DetectionMethod::Heuristic,
        true,
    );
    let method = match reason {
        BoundaryReason::Session | BoundaryReason::Flush => DetectionMethod::Forced,
        _ => DetectionMethod::Heuristic,
    };
    scan.build_segment(0, messages.len(), reason, confidence, method)
}

/// An answer about a window as complete segments.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowScan {
    /// The finished segments, from the front of the window.
    pub segments: Vec<BufferSegment>,
    /// Number of repairs: messages that the answer omitted, listed twice or listed out of order,
    /// and unknown numbers.
    pub repaired: usize,
    /// True if the answer's JSON needed repair.
    pub salvaged: bool,
}

/// Reads an answer about `window`; `None` if it is unusable. Without a reason in `complete`, the
/// last segment stays open and is not returned.
///
/// Every message is in exactly one segment: an omitted message joins the message before it, and a
/// message listed in two episodes belongs to the first. Certain pauses always cut; cuts below the
/// configured confidence do not; segments that are too short join a neighbour of the same day.
pub fn read_answer(
    answer: &str,
    window: &[Arc<Message>],
    complete: Option<BoundaryReason>,
    config: &MemoryConfig,
) -> Option<WindowScan> {
    let items = json::read_items(answer, "episodes");
    let claims: Vec<ClaimedEpisode> =
        items.values.iter().filter_map(ClaimedEpisode::from_value).collect();
    let mut repaired = items.lost + items.values.len() - claims.len();
    let mut owner: Vec<Option<usize>> = vec![None; window.len()];
    for (number, claim) in claims.iter().enumerate() {
        for message in &claim.messages {
            match usize::try_from(*message).ok().and_then(|at| owner.get_mut(at)) {
                Some(place @ None) => *place = Some(number),
                _ => repaired += 1,
            }
        }
    }
    // An omitted message joins the message before it; omitted messages at the start join the one
    // after them.
    let mut current = owner.iter().flatten().next().copied()?;
    let mut places: Vec<(usize, usize)> = Vec::new();
    let mut done: BTreeSet<usize> = BTreeSet::new();
    for (at, claimed) in owner.iter().enumerate() {
        match claimed {
            None => repaired += 1,
            Some(next) if *next == current => {}
            Some(next) if done.contains(next) => repaired += 1,
            Some(next) => {
                done.insert(current);
                places.push((at, current));
                current = *next;
            }
        }
    }
    let certain = certain_places(window, config);
    let mut cuts: Vec<WindowCut<'_>> = places
        .iter()
        .map(|(at, ended)| WindowCut { at: *at, claim: Some(&claims[*ended]) })
        .filter(|cut| {
            cut.confidence() >= config.boundary_confidence_threshold || certain.contains(&cut.at)
        })
        .collect();
    for place in certain {
        match cuts.iter_mut().find(|cut| cut.at == place) {
            Some(cut) => cut.claim = None,
            None => cuts.push(WindowCut { at: place, claim: None }),
        }
    }
    cuts.sort_by_key(|cut| cut.at);
    Some(WindowScan {
        segments: cut_segments(window, cuts, complete, config),
        repaired,
        salvaged: items.salvaged,
    })
}

/// One episode as the model described it.
struct ClaimedEpisode {
    messages: Vec<i64>,
    confidence: Option<f32>,
}

/// The numbers of the messages of an episode as an answer describes it.
pub(crate) fn claimed_messages(value: &Value) -> Option<Vec<i64>> {
    ClaimedEpisode::from_value(value).map(|claim| claim.messages)
}

impl ClaimedEpisode {
    fn from_value(value: &Value) -> Option<Self> {
        let numbers = value.get("messages").or_else(|| value.get("indexes")).unwrap_or(value);
        let mut messages: Vec<i64> = match numbers {
            Value::Array(numbers) => numbers.iter().filter_map(read_integer).take(10_000).collect(),
            named => json::read_numbers(named)
                .into_iter()
                .filter_map(|one| i64::try_from(one).ok())
                .collect(),
        };
        if messages.is_empty() {
            let (first, last) =
                (read_integer(value.get("first")?)?, read_integer(value.get("last")?)?);
            messages = (first..=last.min(first + 10_000)).collect();
        }
        let confidence = value
            .get("confidence")
            .and_then(Value::as_f64)
            .map(|confidence| confidence.clamp(0.0, 1.0) as f32);
        Some(Self { messages, confidence })
    }
}

fn read_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()))
}

struct WindowCut<'a> {
    at: usize,
    /// The episode that ends here; `None` for a pause.
    claim: Option<&'a ClaimedEpisode>,
}

impl WindowCut<'_> {
    fn confidence(&self) -> f32 {
        self.claim.map_or(1.0, |claim| claim.confidence.unwrap_or(UNSAID_CONFIDENCE))
    }
}

/// The segments between cuts. A segment that is too short joins the next one (the last joins the
/// previous one), unless the pause between them is longer than a day; the rules split one that is
/// too long.
fn cut_segments(
    window: &[Arc<Message>],
    cuts: Vec<WindowCut<'_>>,
    rest: Option<BoundaryReason>,
    config: &MemoryConfig,
) -> Vec<BufferSegment> {
    let min = config.buffer_size_min;
    let mut found: Vec<BufferSegment> = Vec::new();
    let mut start = 0;
    for cut in cuts {
        let left = window.len() - cut.at;
        let is_short = cut.at - start < min || (rest.is_some() && left < min);
        let is_day = cut.claim.is_none() && follows_day(window, start, cut.at);
        if is_short && !is_day {
            continue;
        }
        let made = whole_segment(&window[start..cut.at], BoundaryReason::TimeGap, 1.0, config);
        push_segment(
            &mut found,
            &window[start..cut.at],
            name_segment(made, cut.claim, cut.confidence()),
            config,
        );
        start = cut.at;
    }
    let last = &window[start..];
    match rest {
        Some(reason) => {
            push_segment(&mut found, last, whole_segment(last, reason, 1.0, config), config);
        }
        None if last.len() > config.buffer_size_max => {
            found.extend(heuristic::finished_segments(last, None, config))
        }
        None => {}
    }
    found
}

fn name_segment(
    mut segment: BufferSegment,
    claim: Option<&ClaimedEpisode>,
    confidence: f32,
) -> BufferSegment {
    if claim.is_some() {
        segment.boundary = BoundaryJudgement {
            should_end: true,
            reason: BoundaryReason::Llm,
            confidence,
            detection_method: DetectionMethod::Window,
            ..segment.boundary
        };
    }
    segment
}

fn push_segment(
    found: &mut Vec<BufferSegment>,
    messages: &[Arc<Message>],
    whole: BufferSegment,
    config: &MemoryConfig,
) {
    if whole.length <= config.buffer_size_max {
        return found.push(whole);
    }
    let mut parts = heuristic::flush_segments(messages, None, config, BoundaryReason::Size);
    let is_short = |part: &BufferSegment| part.length < config.buffer_size_min;
    if parts.iter().any(is_short) {
        parts = even_parts(messages, config);
    }
    if let Some(last) = parts.last_mut() {
        last.boundary = whole.boundary;
    }
    found.append(&mut parts);
}

/// Splits into equal parts, as few as the maximum length allows.
fn even_parts(messages: &[Arc<Message>], config: &MemoryConfig) -> Vec<BufferSegment> {
    let count = messages.len().div_ceil(config.buffer_size_max);
    let (length, longer) = (messages.len() / count, messages.len() % count);
    let mut rest = messages;
    (0..count)
        .map(|number| {
            let (front, back) = rest.split_at(length + usize::from(number < longer));
            rest = back;
            whole_segment(front, BoundaryReason::Size, 1.0, config)
        })
        .collect()
}
