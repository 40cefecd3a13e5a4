//! Facts from a person's request and the confirmation of an assistant or a tool: "Move the review
//! to 10 April." and "Moved to 10 April."

use std::sync::Arc;

use super::candidate::FactCandidate;
use super::words::tells_the_past;
use crate::fork::ForkLazy;
use crate::generate::episode::ToldSentence;
use crate::model::{MemoryKind, Message};
use crate::text::expression::TextExpression;

/// Maximum number of messages between a request and its confirmation, such as tool calls and
/// results.
const REACH: usize = 4;
/// Maximum length of a confirmation and of a request, in bytes.
const MAX_BYTES: usize = 240;

/// Verbs for actions of an agent on request.
const DID: &str = concat!(
    r"(?:moved|set|changed|updated|booked|named|cancelled|canceled|added|removed|scheduled|",
    r"switched|raised|lowered|enabled|disabled|created|deployed|merged|pinned|upgraded|",
    r"downgraded|replaced|fixed|released|assigned|",
    r"increased|reduced|pushed|saved|reserved|ordered|rolled back)",
);

/// Sentences that report a completed action or its result.
static DONE: ForkLazy<TextExpression> = ForkLazy::new(|| {
    TextExpression::new(
        concat!(
            r"^(?:done|ok|okay|sure|all set)?[.,:! –-]*(?:i(?:'ve| have)? )?(?:re)?{DID}\b|",
            r"\b(?:is|are) now\b|\bnow (?:is|are|set|runs?|uses?|points?|on|at)\b|",
            r"\b(?:is|are|was|were|has been|have been) (?:now )?(?:re)?{DID}\b|",
            r"\b(?:ist|sind) jetzt\b|\bwurden? .*(?:geändert|verschoben|gebucht|gesetzt)\b|",
            r"\b(?:ahora es|ha sido|queda|quedó)\b|\b(?:est maintenant|a été|est désormais)\b|",
            r"已经?(?:改|设|预订|订|取消|移|更新|换|部署|添加|调|推迟|提前)|现在是|",
            r"(?:変更|設定|予約|更新|移動|追加|削除)しました",
        )
        .replace("{DID}", DID),
    )
});

/// Words for an action that is not completed.
static OPEN: ForkLazy<TextExpression> = ForkLazy::new(|| {
    TextExpression::new(
        concat!(
            r"\b(?:will|'ll|would|could|can|should|shall|may|might|if|let me|want|going to|",
            r"please|not|n't|you)\b|\?",
        )
        .to_owned(),
    )
});

/// Minimum score by the head `worth` of a sentence that reports an outcome in other words.
const LEAST_WORTH: f32 = 0.5;

/// The fact that an agent's sentence reports: something done, or an outcome worth a note. It begins
/// with the request before it, if there is one, and cites both messages.
pub(super) fn confirmed(
    told: &ToldSentence,
    worth: f32,
    before: &[ToldSentence],
    messages: &[Arc<Message>],
) -> Option<FactCandidate> {
    let message = &messages[told.message];
    let is_state = told.form.has_digit || told.form.has_name || told.form.content > 1;
    if told.asks
        || told.own.is_some()
        || message.role.eq_ignore_ascii_case("system")
        || told.said.len() > MAX_BYTES
        || !is_state
        || !(DONE.is_match(&told.said) || worth > LEAST_WORTH && tells_the_past(&told.said))
        || OPEN.is_match(&told.said)
    {
        return None;
    }
    let request = before.iter().rev().find(|other| !messages[other.message].is_agent())?;
    let between = told.message.checked_sub(request.message)?;
    let is_asked =
        (1..=REACH).contains(&between) && request.said.len() <= MAX_BYTES && request.own.is_none();
    let is_done = DONE.is_match(&told.said);
    // An outcome is the agent's own action, or the answer to an order; other sentences of agents
    // are general knowledge.
    if !(is_done || acts(&told.said) || is_asked && orders(&request.said)) {
        return None;
    }
    let message_id = message.message_id.clone();
    let (content, source_messages) = if is_asked {
        let asked = messages[request.message].message_id.clone();
        (format!("{} {}", request.content, told.content), vec![asked, message_id])
    } else if is_done {
        return None;
    } else {
        (told.content.clone(), vec![message_id])
    };
    Some(FactCandidate {
        content,
        kind: MemoryKind::Decision,
        confidence: 0.75,
        importance: 0.62,
        subject: request.speaker.clone(),
        attribute: String::new(),
        value: String::new(),
        ends: Vec::new(),
        valid_from: message.timestamp,
        said: message.timestamp,
        source_messages,
    })
}

/// True if a sentence tells of its speaker's own action: "I refunded the costs."
fn acts(said: &str) -> bool {
    let first = said.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    matches!(first, "I" | "We")
}

/// True if a sentence asks for an action.
fn orders(said: &str) -> bool {
    let lower = said.to_lowercase();
    ["can you", "could you", "would you", "please"].iter().any(|words| lower.contains(words))
}
