//! Speakers who only pass by. The owner of a memory talks with many people, most of them are heard
//! once, and few of their sentences are worth a fact.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::config::MemoryConfig;
use crate::engine::memory::view::UserView;
use crate::generate::facts::{FactCandidate, RejectReason, TurnedDown, extract_offline};
use crate::model::{Episode, Message};

/// Number of messages, up to the last one of an episode, in which sessions are counted.
const WINDOW: usize = 150;
/// Number of messages in which the main speaker is looked for.
const LATEST: usize = 1_000;
/// A speaker passes by if the speaker who is heard in most sessions is heard in more than this many
/// times as many.
const TIMES: usize = 2;
/// Minimum importance of a fact that such a speaker states.
const MIN_IMPORTANCE: f32 = 0.9;

/// The names of the speakers who pass by.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PassingSpeakers(HashSet<String>);

impl PassingSpeakers {
    /// The speakers who pass by at the end of an episode of these messages. Depends only on the
    /// messages up to there and without those that are `gone`, so the outcome is the same whether
    /// the later ones are known or not.
    pub fn of(view: &UserView, episode: &[Arc<Message>], gone: &HashSet<String>) -> Self {
        let stays = |message: &&Arc<Message>| !gone.contains(&message.message_id);
        let slots = episode.iter().filter(stays);
        let slots = slots.filter_map(|message| view.messages.slot(&message.message_id));
        let Some(last) = slots.max() else { return Self::default() };
        let messages = latest(view, last).filter(stays).take(WINDOW);
        let sessions = sessions_of_speakers(messages);
        let most = sessions.values().map(HashSet::len).max().unwrap_or_default();
        let passes = |heard: &HashSet<_>| heard.len() * TIMES < most;
        let passing = sessions.iter().filter(|(_, heard)| passes(heard));
        Self(passing.map(|(name, _)| (*name).to_owned()).collect())
    }

    /// True if a candidate of an episode is not worth a fact because of its speaker.
    pub fn exclude(&self, candidate: &FactCandidate, episode: &Episode) -> bool {
        // A message before the last one only explains it.
        let said = candidate.source_messages.last();
        candidate.importance < MIN_IMPORTANCE
            && !self.0.is_empty()
            && episode
                .original_messages
                .iter()
                .find(|message| Some(&message.message_id) == said)
                .is_some_and(|message| self.0.contains(message.speaker()))
    }

    /// The candidates of an episode that are not worth a fact because of their speakers.
    pub fn turned_down(&self, episode: &Episode, config: &MemoryConfig) -> Vec<TurnedDown> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let found = extract_offline(&episode.original_messages, config).candidates.into_iter();
        let excluded = found.filter(|candidate| self.exclude(candidate, episode));
        let turned_down = |mut candidate: FactCandidate| TurnedDown {
            message_id: candidate.source_messages.pop().unwrap_or_default(),
            statement: candidate.content,
            said: candidate.said,
            reason: RejectReason::PassingSpeaker.name(),
        };
        excluded.map(turned_down).collect()
    }
}

/// The messages up to a slot, the latest first.
fn latest(view: &UserView, last: u32) -> impl Iterator<Item = &Arc<Message>> {
    let slots = (0..=last).rev().filter(|slot| view.messages.contains(*slot));
    slots.map(|slot| view.messages.get(slot))
}

/// For each speaker except agents, the sessions in which the speaker is heard.
fn sessions_of_speakers<'m>(
    messages: impl Iterator<Item = &'m Arc<Message>>,
) -> HashMap<&'m str, HashSet<Option<&'m str>>> {
    let mut sessions: HashMap<&str, HashSet<Option<&str>>> = HashMap::new();
    for message in messages.filter(|message| !message.is_agent()) {
        let session = message.session_id.as_deref();
        sessions.entry(message.speaker()).or_default().insert(session);
    }
    sessions
}

/// The speaker, no agent, who is heard in most sessions of the latest messages; among several the
/// first by name.
pub(crate) fn main_speaker(view: &UserView) -> Option<String> {
    let last = view.messages.slots().next_back()?;
    let sessions = sessions_of_speakers(latest(view, last).take(LATEST));
    let most = sessions.into_iter().max_by_key(|(name, heard)| (heard.len(), Reverse(*name)));
    most.map(|(name, _)| name.to_owned())
}

/// The episodes, by slot, at whose end other speakers may pass by once these messages are gone.
pub(crate) fn episodes_within_reach(view: &UserView, gone: &HashSet<String>) -> HashSet<u32> {
    let gone: HashSet<u32> = gone.iter().filter_map(|id| view.messages.slot(id)).collect();
    let (mut reached, mut reach) = (HashSet::new(), 0);
    for slot in view.messages.slots() {
        if gone.contains(&slot) {
            reach = WINDOW;
        } else if reach > 0 {
            reach -= 1;
            reached.extend(view.episode_of(slot));
        }
    }
    reached
}
