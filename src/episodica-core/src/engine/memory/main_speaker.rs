//! The speaker whose memory this probably is.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::engine::memory::view::UserView;
use crate::model::Message;

/// Number of messages in which the main speaker is looked for.
const LATEST: usize = 1_000;

/// The speaker, no agent, who is heard in most sessions of the latest messages; among several the
/// one with most messages, then the first by name.
pub(crate) fn main_speaker(view: &UserView) -> Option<String> {
    let last = view.messages.message_slots().next_back()?;
    let heard = heard_speakers(latest_messages(view, last));
    let most = heard
        .into_iter()
        .max_by_key(|(name, heard)| (heard.sessions.len(), heard.messages, Reverse(*name)));
    most.map(|(name, _)| name.to_owned())
}

/// The latest messages up to a slot, the latest first.
fn latest_messages(view: &UserView, last: u32) -> impl Iterator<Item = &Arc<Message>> {
    let slots = (0..=last).rev().filter(|slot| view.messages.has_message(*slot)).take(LATEST);
    slots.map(|slot| view.messages.get(slot))
}

/// What is heard of a speaker.
#[derive(Default)]
struct HeardSpeaker<'m> {
    sessions: HashSet<Option<&'m str>>,
    messages: usize,
}

/// What is heard of each speaker except agents.
fn heard_speakers<'m>(
    messages: impl Iterator<Item = &'m Arc<Message>>,
) -> HashMap<&'m str, HeardSpeaker<'m>> {
    let mut heard: HashMap<&str, HeardSpeaker<'_>> = HashMap::new();
    for message in messages.filter(|message| !message.is_agent()) {
        let speaker = heard.entry(message.speaker()).or_default();
        speaker.sessions.insert(message.session_id.as_deref());
        speaker.messages += 1;
    }
    heard
}
