//! Facts from a person's request and the confirmation of an assistant or a tool: "Move the review
//! to 10 April." and "Moved to 10 April."

use std::sync::Arc;

use super::candidate::FactCandidate;
use crate::fork::ForkLazy;
use crate::generate::episode::ToldSentence;
use crate::model::{MemoryKind, Message};
use crate::text::expression::TextExpression;

/// Maximum number of messages between a request and its confirmation, such as tool calls and
/// results.
const REACH: usize = 4;
/// Maximum length of a confirmation and of a request, in bytes.
const MAX_BYTES: usize = 160;

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

/// The fact that an agent's sentence confirms; it cites both messages.
pub(super) fn confirmed(
    told: &ToldSentence,
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
        || !DONE.is_match(&told.said)
        || OPEN.is_match(&told.said)
    {
        return None;
    }
    let request = before.iter().rev().find(|other| !messages[other.message].is_agent())?;
    let between = told.message.checked_sub(request.message)?;
    if !(1..=REACH).contains(&between)
        || request.said.len() > MAX_BYTES
        || request.own.is_some()
        || request.message + 1 > told.message
    {
        return None;
    }
    let asked = &messages[request.message];
    Some(FactCandidate {
        content: format!("{} {}", request.content, told.content),
        kind: MemoryKind::Decision,
        confidence: 0.75,
        importance: 0.62,
        subject: request.speaker.clone(),
        attribute: String::new(),
        value: String::new(),
        ends: Vec::new(),
        valid_from: message.timestamp,
        said: message.timestamp,
        source_messages: vec![asked.message_id.clone(), message.message_id.clone()],
    })
}
