//! Boundaries by a model that judges for each message whether it opens a new episode, as in Nemori.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::scan::{BufferSegment, certain_places};
use super::window::{WindowStep, cut_full, whole_segment};
use crate::config::MemoryConfig;
use crate::error::Result;
use crate::llm::{
    AnswerSchema, ChatPrompt, PromptTemplate, UsagePhase, WindowBudget, format_conversation,
    is_chinese, json, render_prompt,
};
use crate::model::{BoundaryJudgement, BoundaryReason, DetectionMethod, Message};

/// Plans the next step for a buffer of one session whose first `seen` messages are already judged.
/// [`WindowStep::Ask`]`(n)` asks whether message n, counted from 1, opens an episode.
pub fn plan_step(
    buffer: &[Arc<Message>],
    seen: usize,
    complete: Option<BoundaryReason>,
    config: &MemoryConfig,
) -> WindowStep {
    if buffer.is_empty() {
        return WindowStep::Wait;
    }
    let place = seen.max(config.buffer_size_min);
    if let Some(pause) =
        certain_places(buffer, config).into_iter().next().filter(|pause| *pause <= place)
    {
        return WindowStep::Cut(vec![whole_segment(
            &buffer[..pause],
            BoundaryReason::TimeGap,
            1.0,
            config,
        )]);
    }
    if place >= config.buffer_size_max {
        return cut_full(&buffer[..config.buffer_size_max.min(buffer.len())], config);
    }
    match complete {
        _ if place < buffer.len() => WindowStep::Ask(place + 1),
        Some(reason) => WindowStep::Cut(vec![whole_segment(buffer, reason, 1.0, config)]),
        None => WindowStep::Wait,
    }
}

#[derive(Serialize)]
struct TurnValues {
    conversation: String,
}

/// The prompt that asks whether the last of `messages` opens an episode.
///
/// # Errors
/// `Internal` if the prompt can't be rendered.
pub fn boundary_prompt(messages: &[Arc<Message>], budget: WindowBudget) -> Result<ChatPrompt> {
    let (system, user) = render_prompt(
        PromptTemplate::Turn,
        is_chinese(messages),
        &TurnValues { conversation: format_conversation(messages, budget) },
    )?;
    let schema = json!({
        "type": "object",
        "properties": {
            "should_end": {"type": "boolean"},
            "confidence": {"type": "number"},
        },
        "required": ["should_end", "confidence"],
        "additionalProperties": false,
    });
    Ok(ChatPrompt {
        phase: UsagePhase::Boundary,
        system,
        user,
        schema: AnswerSchema { name: "boundary", schema },
        max_tokens: 200,
    })
}

/// Reads an answer about the last of `messages`: `Some(Some(segment))` if an episode ends before
/// it, `Some(None)` if none does, `None` if the answer is unusable.
pub fn read_answer(
    answer: &str,
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> Option<Option<BufferSegment>> {
    let value = json::object_with(answer, &["should_end"])?.value;
    let should_end = match value.get("should_end")? {
        Value::Bool(should_end) => *should_end,
        Value::String(text) => matches!(text.trim().to_lowercase().as_str(), "true" | "yes"),
        _ => return None,
    };
    let confidence =
        value.get("confidence").and_then(Value::as_f64).unwrap_or(1.0).clamp(0.0, 1.0) as f32;
    if !should_end || confidence < config.boundary_confidence_threshold {
        return Some(None);
    }
    let before = messages.len() - 1;
    let mut ended = whole_segment(&messages[..before], BoundaryReason::Llm, confidence, config);
    ended.boundary = BoundaryJudgement {
        should_end: true,
        reason: BoundaryReason::Llm,
        confidence,
        detection_method: DetectionMethod::Message,
        ..ended.boundary
    };
    Some(Some(ended))
}
