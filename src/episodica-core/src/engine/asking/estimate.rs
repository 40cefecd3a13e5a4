//! Estimates what a model will cost for messages that are not added yet.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::{Clock, Moment, SystemClock};
use crate::config::MemoryConfig;
use crate::error::Result;
use crate::generate::estimate::{CostEstimate, estimate};
use crate::model::{Message, NewMessage};

/// Estimates the questions about conversations that are added with these settings, each session to
/// its end. Messages without a time follow each other.
///
/// # Errors
/// `Config` for values out of bounds.
pub fn estimate_cost(config: &MemoryConfig, messages: Vec<NewMessage>) -> Result<CostEstimate> {
    config.validate()?;
    let mut now: Moment = SystemClock.now();
    let mut sessions: BTreeMap<Option<String>, Vec<Arc<Message>>> = BTreeMap::new();
    for (number, message) in messages.into_iter().enumerate() {
        now = message.timestamp.unwrap_or(now);
        let session = sessions.entry(message.session_id).or_default();
        session.push(Arc::new(Message {
            seq: number as u64,
            role: message.role.into(),
            name: message.name.map(Into::into),
            content: message.content,
            timestamp: now,
            ..Message::reference(String::new())
        }));
    }
    let mut sum = CostEstimate::default();
    for session in sessions.values() {
        sum += estimate(session, config)?;
    }
    Ok(sum)
}
