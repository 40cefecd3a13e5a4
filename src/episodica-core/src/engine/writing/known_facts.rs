//! The known facts that the model sees with an episode: those that the episode may change.
//!
//! An episode can change several things. So each sentence proposes the facts nearest to it, by
//! shared rare words and by vectors, and the sentences take turns.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};

use crate::clock::Moment;
use crate::engine::memory::view::UserView;
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::engine::writing::learn::is_stand_in;
use crate::index::TextTerms;
use crate::model::{MemoryKind, Message, SemanticMemory, is_unknown_person};
use crate::text::{normalized, sentences};

/// Of the facts shown, one in four is about home, work and family: a message often changes such a
/// fact without sharing a word with it.
const OF_PERSON: usize = 4;
/// Number of facts nearest in meaning to a message that are compared.
const NEAREST: usize = 64;
/// Number of facts that a sentence proposes.
const PROPOSED: usize = 4;
/// The inverse document frequency of a word in one fact of fifty. Sharing only such a word scores a
/// half.
const RARE_WORD: f32 = 4.0;
/// The least score by words of two facts about the same matter.
const SAME_MATTER: f32 = 0.6;
/// Least score of a proposal: below, a fact has nothing to do with the sentence.
const LEAST: f32 = 0.3;

/// The facts that these messages may change, the oldest first: those that held or were to come when
/// the messages were said. What was told later is left out: a model that is asked again about
/// earlier messages must not end it. `least` is the least cosine by which a fact is near in
/// meaning, `most` their number; those `leaving` are left out.
pub(super) fn facts_about(
    view: &UserView,
    messages: &[Arc<Message>],
    least: f32,
    (most, leaving): (usize, &HashSet<String>),
) -> Vec<Arc<SemanticMemory>> {
    let ids: HashSet<&str> = messages.iter().map(|message| message.message_id.as_str()).collect();
    let relearn = view.backlog.episodes_to_relearn();
    let said = messages.iter().map(|message| message.timestamp).min().unwrap_or(Moment::MAX);
    let last = ids.iter().filter_map(|id| view.messages.slot_of(id)).max().unwrap_or(u32::MAX);
    let is_later = |id: &String| view.messages.slot_of(id).is_some_and(|slot| slot > last);
    let is_known = |fact: &SemanticMemory| {
        fact.source_messages.is_empty() || !fact.source_messages.iter().all(is_later)
    };
    // Of facts that say the same, the latest is shown; an ending of it ends the others, too.
    let mut told: HashMap<(String, String), u32> = HashMap::new();
    let known = view.facts.iter().filter(|(_, fact)| fact.holds_at(said) && is_known(fact));
    for (slot, fact) in known {
        told.insert((fact.subject.to_lowercase(), normalized(&fact.content)), slot);
    }
    let told: HashSet<u32> = told.into_values().collect();
    // Facts learned only from these messages are left out: they are to be learned again.
    let usable: HashMap<u32, &Arc<SemanticMemory>> = view
        .facts
        .iter()
        .filter(|(slot, fact)| {
            told.contains(slot)
                && !fact.is_procedure()
                && !leaving.contains(&fact.memory_id)
                && !is_of_other_session(&fact.subject, messages)
                && (fact.source_messages.is_empty()
                    || !fact.source_messages.iter().all(|id| ids.contains(id.as_str())))
                // The model's facts will replace a stand-in.
                && !is_stand_in(fact, |id| relearn.contains(id))
        })
        .collect();
    let mut latest: Vec<u32> = usable.keys().copied().collect();
    latest.sort_unstable_by(|a, b| b.cmp(a));
    let mut chosen: Vec<u32> = Vec::new();
    let mut seen = HashSet::new();
    let few = usable.len() <= most;
    let share = if few { most } else { most - most / OF_PERSON };
    let proposed = propose_facts(view, messages, least, &usable).into_iter();
    chosen.extend(proposed.filter(|slot| seen.insert(*slot)).take(share));
    let of_person = |slot: &u32| {
        let kind = usable[slot].kind;
        few || matches!(
            kind,
            MemoryKind::PersonalInfo | MemoryKind::WorkHistory | MemoryKind::Relationship
        )
    };
    let rest: Vec<u32> =
        latest.into_iter().filter(|slot| of_person(slot) && seen.insert(*slot)).collect();
    let room = if few { most } else { most / OF_PERSON };
    chosen.extend(rest.into_iter().take(room));
    // In this order, the beginnings of prompts are alike.
    chosen.sort_unstable();
    chosen.into_iter().map(|slot| Arc::clone(usable[&slot])).collect()
}

/// True if the facts that a model stated may change one of those with these slots, which it had not
/// seen: they are about the same property of the same subject, or share rare words.
pub(super) fn may_change<'a>(
    view: &UserView,
    stated: &ExtractedFacts,
    unseen: impl Iterator<Item = &'a Range<usize>>,
) -> bool {
    let told = stated.origin.as_ref().map_or(0, |origin| origin.told.len());
    let unseen: HashSet<usize> = unseen.cloned().flatten().collect();
    let news: HashMap<u32, &Arc<SemanticMemory>> =
        view.facts.iter().filter(|(slot, _)| unseen.contains(&(*slot as usize))).collect();
    !news.is_empty()
        && stated.extraction.candidates.iter().take(told).any(|fact| {
            let scores = by_words(view, &fact.content);
            news.iter().any(|(slot, new)| {
                // What happened ends nothing that happened.
                let happened = [fact.kind, new.kind]
                    .iter()
                    .all(|kind| matches!(kind, MemoryKind::Event | MemoryKind::Case));
                let is_same =
                    !happened && !fact.attribute.is_empty() && fact.attribute == new.attribute;
                new.quote.is_none()
                    && new.subject.to_lowercase() == fact.subject.to_lowercase()
                    && normalized(&new.content) != normalized(&fact.content)
                    && (is_same || scores.get(slot).is_some_and(|score| *score >= SAME_MATTER))
            })
        })
}

/// True if a fact is about a voice that a program did not know, in another session.
fn is_of_other_session(subject: &str, messages: &[Arc<Message>]) -> bool {
    let label = subject.split(" (").next().unwrap_or_default();
    label.len() < subject.len()
        && is_unknown_person(label)
        && !messages.iter().any(|message| message.person() == subject)
}

/// The facts that the sentences propose, in turns, the surest of each turn first. The sentences of
/// users come before those of agents.
fn propose_facts(
    view: &UserView,
    messages: &[Arc<Message>],
    least: f32,
    usable: &HashMap<u32, &Arc<SemanticMemory>>,
) -> Vec<u32> {
    let slots: Option<Vec<u32>> =
        messages.iter().map(|message| view.messages.slot_of(&message.message_id)).collect();
    let vectors: Option<Array2<f32>> = slots.and_then(|slots| view.message_vectors(&slots));
    let mut proposed: Vec<(usize, bool, f32, u32)> = Vec::new();
    for (row, message) in messages.iter().enumerate() {
        let meaning = vectors.as_ref().map(|vectors| vectors.row(row));
        let near = meaning.map(|vector| by_meaning(view, vector)).unwrap_or_default();
        let near: Vec<_> = near.into_iter().filter(|(_, cosine)| *cosine >= least).collect();
        for sentence in sentences(&message.content) {
            let mut scores = by_words(view, sentence);
            for (slot, cosine) in &near {
                *scores.entry(*slot).or_default() += cosine;
            }
            let mut best: Vec<(f32, u32)> = scores
                .into_iter()
                .filter(|(slot, score)| *score >= LEAST && usable.contains_key(slot))
                .map(|(slot, score)| (score, slot))
                .collect();
            best.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
            let turns = best.into_iter().take(PROPOSED).enumerate();
            proposed
                .extend(turns.map(|(turn, (score, slot))| (turn, message.is_agent(), score, slot)));
        }
    }
    proposed
        .sort_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then(b.2.total_cmp(&a.2)).then(a.3.cmp(&b.3)));
    proposed.into_iter().map(|(.., slot)| slot).collect()
}

/// Scores facts by the words that a sentence shares with them, from 0 to below 1: rare words count
/// more.
fn by_words(view: &UserView, sentence: &str) -> HashMap<u32, f32> {
    let postings = &view.statements.postings;
    let terms = TextTerms::from_text(sentence);
    let terms: HashSet<&str> = terms.iter().map(|term| term.text).collect();
    let mut sums: HashMap<u32, f32> = HashMap::new();
    for term in terms {
        let idf = postings.idf(postings.document_frequency(term));
        for posting in postings.term_postings(term) {
            *sums.entry(posting.slot).or_default() += idf;
        }
    }
    sums.into_iter().map(|(slot, sum)| (slot, sum / (sum + RARE_WORD))).collect()
}

/// The facts nearest in meaning to a message, each with its cosine.
fn by_meaning(view: &UserView, vector: ArrayView1<'_, f32>) -> Vec<(u32, f32)> {
    // A vector of another dimension, after a change of embedders, has no neighbours.
    view.statements.nearest_slots(vector, NEAREST).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;

    #[test]
    fn facts_about_unknown_voices_of_other_sessions_are_not_shown() {
        let day = "2024-03-11T09:30:00+01:00";
        let mut message = (*said(0, "user", Some("Speaker 1"), day, "I moved to Oslo.")).clone();
        message.session_id = Some("tuesday".into());
        let messages = [Arc::new(message)];
        for (subject, is_other) in [
            ("Speaker 1 (monday)", true),
            ("Speaker 1 (tuesday)", false),
            ("Speaker 2 (tuesday)", true),
            ("Speaker 1", false),
            ("Ada (Sales)", false),
        ] {
            assert_eq!(is_of_other_session(subject, &messages), is_other, "{subject}");
        }
    }
}
