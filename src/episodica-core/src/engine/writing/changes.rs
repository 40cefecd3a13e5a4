//! What a new message ends though no slot says so: finds earlier messages of the same speaker about
//! the same thing, and their facts.
//!
//! Bounded, so that learning costs the same however much is known: only messages with a cue of
//! change look back, by their rarest words, at the newest messages that have them.

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::engine::memory::view::View;
use crate::engine::writing::conflicts::Learned;
use crate::generate::facts::{Candidate, Cues, Ending, endings};
use crate::generate::reconcile::{ends, topics};
use crate::index::stem;
use crate::model::{Message, SemanticMemory};
use crate::parallel;
use crate::text::words::{for_each_bigram, for_each_word};

/// A word that this share of the messages has is not a topic, nor one that fewer than
/// [`FEW_MESSAGES`] have.
const COMMON_SHARE: usize = 50;
const FEW_MESSAGES: usize = 4;
/// Words of a message by which it is looked for.
const MAX_TOPICS: usize = 16;
/// Messages with one word that are looked at, the newest.
const SAME_WORD: usize = 16;
/// Earlier messages that a message is compared with, those that share most.
const MAX_MESSAGES: usize = 4;

/// What follows from the messages of a step alone: most have several candidates, and it is found
/// for all messages at once.
pub(crate) struct Changes(FxHashMap<u32, OfMessage>);

/// What a message tells about changes.
struct OfMessage {
    cues: Cues,
    /// See [`earlier`]; empty for a message that ends nothing.
    earlier: Vec<(u32, Vec<String>)>,
    endings: Vec<&'static Ending>,
}

impl Changes {
    /// Reads the messages of candidates.
    pub(crate) fn find<'a>(view: &View, candidates: impl Iterator<Item = &'a Candidate>) -> Self {
        let mut slots: Vec<u32> =
            candidates.filter_map(|candidate| message_of(view, candidate)).collect();
        slots.sort_unstable();
        slots.dedup();
        let read = |slot| (slot, OfMessage::read(view, slot, view.messages.get(slot)));
        Self(parallel::map(slots, parallel::FEW_TEXTS, read).into_iter().collect())
    }

    /// The facts that the message of `candidate` ends, oldest message last.
    pub(crate) fn ended_by(
        &self,
        view: &View,
        learned: &Learned,
        candidate: &Candidate,
    ) -> Vec<Arc<SemanticMemory>> {
        let slot = message_of(view, candidate);
        let Some((slot, said)) = slot.and_then(|slot| Some((slot, self.0.get(&slot)?))) else {
            return Vec::new();
        };
        let message = view.messages.get(slot);
        let mut ended: Vec<Arc<SemanticMemory>> = Vec::new();
        let mut add = |fact: Arc<SemanticMemory>| {
            let own = fact.source_messages.contains(&message.message_id);
            if !own && ended.iter().all(|other| other.memory_id != fact.memory_id) {
                ended.push(fact);
            }
        };
        for (before, shared) in &said.earlier {
            let shared: Vec<&str> = shared.iter().map(String::as_str).collect();
            let facts = facts_of(view, learned, *before).into_iter();
            facts
                .filter(|fact| ends(candidate, &message.content, said.cues, fact, &shared))
                .for_each(&mut add);
        }
        for ending in &said.endings {
            with_slots(view, learned, candidate, &ending.slots).into_iter().for_each(&mut add);
            for phrase in &ending.phrases {
                with_phrase(view, learned, slot, message, phrase).into_iter().for_each(&mut add);
            }
        }
        ended
    }
}

/// The slot of the message that a candidate comes from; `None` if it comes from several.
fn message_of(view: &View, candidate: &Candidate) -> Option<u32> {
    let [id] = &candidate.source_messages[..] else { return None };
    view.messages.slot(id)
}

impl OfMessage {
    fn read(view: &View, slot: u32, message: &Message) -> Self {
        let (cues, sentences) = Cues::of_message(&message.content);
        let mut found: Vec<&'static Ending> = Vec::new();
        if !cues.dreamt {
            for ending in sentences.into_iter().flat_map(endings) {
                if !found.iter().any(|known| std::ptr::eq(*known, ending)) {
                    found.push(ending);
                }
            }
        }
        let earlier = if cues.may_end() { earlier(view, slot, message) } else { Vec::new() };
        Self { cues, earlier, endings: found }
    }
}

/// The current facts that fill one of the slots for the speaker of a candidate.
fn with_slots(
    view: &View,
    learned: &Learned,
    candidate: &Candidate,
    slots: &[&str],
) -> Vec<Arc<SemanticMemory>> {
    let speaker = candidate.subject.split("'s ").next().unwrap_or_default();
    let mut facts = Vec::new();
    for slot in slots {
        let of_slot = Candidate {
            subject: speaker.to_owned(),
            attribute: (*slot).to_owned(),
            value: String::new(),
            ..candidate.clone()
        };
        let fills = |fact: &SemanticMemory| {
            fact.is_current() && fact.attribute == *slot && fact.subject == speaker
        };
        let known = view.same_attribute(&of_slot).filter(|fact| fills(fact));
        facts.extend(
            known.filter(|fact| !learned.latest.contains_key(&fact.memory_id)).map(Arc::clone),
        );
        let fresh = learned.latest.values().map(|fresh| &fresh.memory);
        facts.extend(fresh.filter(|fact| fills(fact)).map(Arc::clone));
    }
    facts
}

/// The facts with a phrase that the speaker of a message used in earlier messages.
fn with_phrase(
    view: &View,
    learned: &Learned,
    slot: u32,
    message: &Message,
    phrase: &str,
) -> Vec<Arc<SemanticMemory>> {
    let word = phrase.rsplit(' ').next().unwrap_or(phrase);
    let mut term = String::new();
    for_each_word(word, |word, unspaced| {
        if unspaced {
            for_each_bigram(word, |pair| pair.clone_into(&mut term));
        } else {
            term = stem(word).into_owned();
        }
    });
    let has = |text: &str| text.to_lowercase().replace('’', "'").contains(phrase);
    let before = view.messages.field.postings.postings(&term).iter().rev();
    let before = before.map(|posting| posting.slot).filter(|other| *other < slot).take(SAME_WORD);
    before
        .filter(|other| {
            let other = view.messages.get(*other);
            other.speaker() == message.speaker() && has(&other.content)
        })
        .flat_map(|other| facts_of(view, learned, other))
        .filter(|fact| fact.attribute.is_empty() && fact.content.to_lowercase().contains(word))
        .collect()
}

/// Earlier messages of the same speaker that share a topic with the message in a slot, those that
/// share most first, with the topics.
fn earlier(view: &View, slot: u32, message: &Message) -> Vec<(u32, Vec<String>)> {
    let postings = &view.messages.field.postings;
    let common = (view.messages.len() / COMMON_SHARE).max(FEW_MESSAGES);
    let mut topics: Vec<(usize, String)> = topics(&message.content)
        .into_iter()
        .map(|topic| (postings.document_frequency(&topic), topic))
        .filter(|(frequency, _)| (2..=common).contains(frequency))
        .collect();
    topics.sort_unstable();
    let mut shared: HashMap<u32, Vec<String>> = HashMap::new();
    for (_, topic) in topics.into_iter().take(MAX_TOPICS) {
        let before = postings.postings(&topic).iter().rev().map(|posting| posting.slot);
        for other in before.filter(|other| *other < slot).take(SAME_WORD) {
            if view.messages.get(other).speaker() == message.speaker() {
                shared.entry(other).or_default().push(topic.clone());
            }
        }
    }
    let mut earlier: Vec<(u32, Vec<String>)> = shared.into_iter().collect();
    earlier.sort_unstable_by(|a, b| b.1.len().cmp(&a.1.len()).then(b.0.cmp(&a.0)));
    earlier.truncate(MAX_MESSAGES);
    earlier
}

/// The current facts that the message in a slot proves, the newest first.
fn facts_of(view: &View, learned: &Learned, slot: u32) -> Vec<Arc<SemanticMemory>> {
    let known = view.facts_of(slot).filter(|fact| !learned.latest.contains_key(&fact.memory_id));
    let fresh = learned.of_message(&view.messages.get(slot).message_id);
    let mut facts: Vec<Arc<SemanticMemory>> = fresh.chain(known).cloned().collect();
    facts.retain(|fact| fact.is_current() && !fact.is_procedure());
    facts
}
