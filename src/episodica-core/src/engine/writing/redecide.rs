//! What a deletion changes of the facts that stay: those that lose proofs are told again by the
//! rest, and what a deleted fact decided about others is decided again, as though it had never been
//! said.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::clock::Moment;
use crate::config::Config;
use crate::engine::memory::view::View;
use crate::engine::writing::conflicts::last_said;
use crate::engine::writing::derived::TextsLost;
use crate::generate::facts::{Candidate, extract_offline};
use crate::generate::reconcile::{Said, apply, close, is_ahead, known_value};
use crate::ids::Owner;
use crate::model::{Episode, EventKind, SemanticMemory};
use crate::store::Erasure;
use crate::text::normalized;

/// The key under which a fact names the one that it replaced.
const SUPERSEDES: &str = "supersedes";
/// The method of what the rules wrote.
const BY_RULES: &str = "offline";

/// A fact that loses some of its proofs.
pub(crate) struct Shaken {
    pub fact: Arc<SemanticMemory>,
    pub proofs: Vec<String>,
    pub episodes: Vec<String>,
}

/// Tells the facts that lose proofs again and decides again about those that a deleted one had
/// decided about; adds both to the erasure.
pub(crate) fn redecide(
    (view, owner, config): (&View, &Owner, &Config),
    erasure: &mut Erasure,
    shaken: &[Shaken],
    now: Moment,
) {
    tell_again((view, owner, config), erasure, shaken, now);
    decide_again(view, owner, erasure, now);
}

fn tell_again(
    (view, owner, config): (&View, &Owner, &Config),
    erasure: &mut Erasure,
    shaken: &[Shaken],
    now: Moment,
) {
    let deleted: HashSet<&str> = erasure.messages.iter().map(String::as_str).collect();
    let lost = TextsLost::of(view, &deleted);
    let mut said: HashMap<&str, Vec<Candidate>> = HashMap::new();
    let (mut told, mut unproved) = (Vec::new(), Vec::new());
    for Shaken { fact, proofs, episodes } in shaken {
        let lost_proofs = proofs.len() < fact.source_messages.len();
        if lost_proofs && fact.provenance.method == BY_RULES && !fact.is_procedure() {
            for id in episodes {
                said.entry(id.as_str()).or_insert_with(|| {
                    let episode = episode_left(view, erasure, id);
                    let messages = episode.map(|episode| episode.original_messages.clone());
                    messages.map_or_else(Vec::new, |messages| {
                        extract_offline(&messages, config).candidates
                    })
                });
            }
            let text = normalized(&fact.content);
            let proves = |candidate: &&Candidate| match &proofs[..] {
                [] => normalized(&candidate.content) == text,
                _ => candidate.source_messages.iter().all(|id| proofs.contains(id)),
            };
            let rest = episodes.iter().flat_map(|id| {
                said[id.as_str()].iter().filter(proves).map(move |candidate| (id, candidate))
            });
            if let Some(again) = told_by(owner, fact, rest, now) {
                // What proved the fact before still does, also where it is not told once more.
                told.push(Arc::new(SemanticMemory {
                    source_messages: joined(proofs, &again.source_messages),
                    source_episodes: joined(episodes, &again.source_episodes),
                    ..again
                }));
                continue;
            }
        }
        if proofs.is_empty() && lost_proofs {
            unproved.push(fact.memory_id.clone());
            continue;
        }
        let mut rest = SemanticMemory {
            source_messages: proofs.clone(),
            source_episodes: episodes.clone(),
            ..(**fact).clone()
        };
        // A date from a message that goes is not kept: the first one that stays gives it.
        if fact.source_messages.first() != proofs.first() {
            let slots = proofs.iter().filter_map(|id| view.messages.slot(id));
            let first = slots.map(|slot| view.messages.get(slot).timestamp).min();
            rest.valid_from = first.unwrap_or(rest.valid_from);
        }
        if lost_proofs && lost.tells(view, &rest) {
            unproved.push(fact.memory_id.clone());
        } else {
            told.push(Arc::new(rest));
        }
    }
    erasure.semantic.extend(unproved);
    erasure.replace_semantic.extend(told);
}

/// `ids` and those of `others` that are not among them.
fn joined(ids: &[String], others: &[String]) -> Vec<String> {
    let new = others.iter().filter(|id| !ids.contains(id));
    ids.iter().chain(new).cloned().collect()
}

fn episode_left<'a>(view: &'a View, erasure: &'a Erasure, id: &str) -> Option<&'a Arc<Episode>> {
    let replaced = erasure.replace_episodes.iter().find(|episode| episode.episode_id == id);
    replaced.or_else(|| view.episodes.get(view.episodes.slot(id)?))
}

/// The fact as the candidates of the remaining messages tell it; `None` if none does.
fn told_by<'a>(
    owner: &Owner,
    known: &SemanticMemory,
    candidates: impl Iterator<Item = (&'a String, &'a Candidate)>,
    now: Moment,
) -> Option<SemanticMemory> {
    let open = SemanticMemory { valid_to: None, superseded_by: None, ..known.clone() };
    let mut told: Option<SemanticMemory> = None;
    for (episode, candidate) in candidates {
        let text = normalized(&candidate.content);
        let basis = told.as_ref().unwrap_or(&open);
        let decision = Said::by(candidate, &text).reconcile_offline(&[(basis, 0.0)]);
        let repeats =
            matches!(decision.event, EventKind::Merge | EventKind::Update | EventKind::Ignore);
        if !repeats || decision.target.is_none() {
            continue;
        }
        let Some(so_far) = told.take() else {
            let mut metadata = known.metadata.clone();
            metadata.remove("value");
            if !candidate.value.is_empty() {
                metadata.insert("value".to_owned(), Value::String(candidate.value.clone()));
            }
            told = Some(SemanticMemory {
                content: candidate.content.clone(),
                kind: candidate.kind,
                confidence: candidate.confidence,
                importance: candidate.importance,
                subject: candidate.subject.clone(),
                attribute: candidate.attribute.clone(),
                valid_from: candidate.valid_from,
                source_messages: candidate.source_messages.clone(),
                source_episodes: vec![episode.clone()],
                metadata,
                updated_at: now,
                revision_count: known.revision_count + 1,
                ..known.clone()
            });
            continue;
        };
        let sources = std::slice::from_ref(episode);
        let applied = apply(owner, candidate, &decision, &[&so_far], sources, now);
        let more = applied.records.into_iter().next();
        told = Some(match more {
            Some(more) => SemanticMemory {
                expires_at: known.expires_at,
                archived_at: known.archived_at,
                revision_count: so_far.revision_count,
                ..more
            },
            None => so_far,
        });
    }
    told
}

/// A survivor of a deletion in a group of facts about one attribute.
struct Member {
    before: Arc<SemanticMemory>,
    now: SemanticMemory,
}

/// Reopens what deleted facts had ended, and decides about it as though they had never been.
fn decide_again(view: &View, owner: &Owner, erasure: &mut Erasure, now: Moment) {
    let gone: HashSet<&str> = erasure.semantic.iter().map(String::as_str).collect();
    let replaced: HashMap<&str, &Arc<SemanticMemory>> =
        erasure.replace_semantic.iter().map(|fact| (fact.memory_id.as_str(), fact)).collect();
    // Told again with another date or text: what it decided may be different.
    let changed: HashSet<&str> = replaced
        .values()
        .filter(|fact| {
            view.facts.by_id(&fact.memory_id).is_some_and(|before| {
                before.valid_from != fact.valid_from || before.content != fact.content
            })
        })
        .map(|fact| fact.memory_id.as_str())
        .collect();
    let is_open = |id: Option<&str>| id.is_some_and(|id| gone.contains(id) || changed.contains(id));
    let is_affected = |fact: &SemanticMemory| {
        changed.contains(fact.memory_id.as_str())
            || is_open(fact.superseded_by.as_deref())
            || is_open(superseded(fact))
    };
    let survivors = || {
        view.facts.iter().map(|(_, fact)| fact).filter_map(|fact| {
            let id = fact.memory_id.as_str();
            (!gone.contains(id)).then(|| replaced.get(id).copied().unwrap_or(fact))
        })
    };
    let affected: HashSet<(String, &str, &str)> =
        survivors().filter(|fact| is_affected(fact)).map(|fact| group_of(fact)).collect();
    // Earlier revisions may name what goes, too: the present one takes their place.
    let mut haunted: Vec<Arc<SemanticMemory>> = Vec::new();
    if !(gone.is_empty() && changed.is_empty()) {
        let named = view.facts.history().into_iter().filter(|(_, earlier)| {
            earlier
                .iter()
                .any(|one| is_open(one.superseded_by.as_deref()) || is_open(superseded(one)))
        });
        let named: HashSet<String> = named.map(|(id, _)| id).collect();
        haunted.extend(survivors().filter(|fact| named.contains(&fact.memory_id)).cloned());
    }
    if affected.is_empty() && haunted.is_empty() {
        return;
    }
    let mut groups: HashMap<(String, &str, &str), Vec<&Arc<SemanticMemory>>> = HashMap::new();
    for fact in survivors() {
        let group = group_of(fact);
        if affected.contains(&group) {
            groups.entry(group).or_default().push(fact);
        }
    }
    let (mut decided, mut merged) = (Vec::new(), HashMap::new());
    for (_, facts) in groups {
        replay(view, owner, facts, &is_open, &mut merged, &mut decided, now);
    }
    let mut outcome: HashMap<String, Arc<SemanticMemory>> = erasure
        .replace_semantic
        .iter()
        .map(|fact| (fact.memory_id.clone(), Arc::clone(fact)))
        .collect();
    for fact in haunted {
        outcome.entry(fact.memory_id.clone()).or_insert(fact);
    }
    for fact in decided {
        outcome.insert(fact.memory_id.clone(), Arc::new(fact));
    }
    // What a fact ended that became part of another, the other ends.
    if !merged.is_empty() {
        for fact in survivors() {
            let fact = outcome.get(&fact.memory_id).unwrap_or(fact);
            let by = fact.superseded_by.as_ref().and_then(|by| merged.get(by));
            if let Some(by) = by {
                let fact = SemanticMemory { superseded_by: Some(by.clone()), ..(**fact).clone() };
                outcome.insert(fact.memory_id.clone(), Arc::new(fact));
            }
        }
    }
    outcome.retain(|id, _| !merged.contains_key(id));
    let mut outcome: Vec<_> = outcome.into_values().collect();
    outcome.sort_by(|a, b| a.memory_id.cmp(&b.memory_id));
    erasure.replace_semantic = outcome;
    erasure.semantic.extend(merged.into_keys());
}

/// The facts that a fact is decided about with: those of its attribute, else itself alone.
fn group_of(fact: &SemanticMemory) -> (String, &str, &str) {
    let alone = if fact.attribute.is_empty() { fact.memory_id.as_str() } else { "" };
    (fact.subject.to_lowercase(), &fact.attribute, alone)
}

fn superseded(fact: &SemanticMemory) -> Option<&str> {
    fact.metadata.get(SUPERSEDES).and_then(Value::as_str)
}

/// Decides about facts of one attribute in the order in which they were learned.
fn replay(
    view: &View,
    owner: &Owner,
    mut facts: Vec<&Arc<SemanticMemory>>,
    is_open: &dyn Fn(Option<&str>) -> bool,
    merged: &mut HashMap<String, String>,
    decided: &mut Vec<SemanticMemory>,
    now: Moment,
) {
    let first_said = |fact: &SemanticMemory| {
        let slots = fact.source_messages.iter().filter_map(|id| view.messages.slot(id));
        slots.min().unwrap_or(u32::MAX)
    };
    facts.sort_by_key(|fact| (first_said(fact), fact.created_at));
    let ids: HashSet<&str> = facts.iter().map(|fact| fact.memory_id.as_str()).collect();
    // What ended otherwise than by the rules of the attribute stays ended.
    let is_settled = |fact: &SemanticMemory| match fact.superseded_by.as_deref() {
        None => fact.valid_to.is_some() || fact.is_procedure(),
        Some(by) if is_open(Some(by)) => false,
        Some(by) => !ids.contains(by) || fact.provenance.method != BY_RULES,
    };
    let mut members: Vec<Member> = Vec::with_capacity(facts.len());
    let mut current: Vec<usize> = Vec::new();
    for before in facts.iter().map(|fact| Arc::clone(fact)) {
        let at = members.len();
        let mut fact = (*before).clone();
        if superseded(&fact).is_some_and(|id| ids.contains(id) || is_open(Some(id))) {
            fact.metadata.remove(SUPERSEDES);
        }
        let settled = is_settled(&fact);
        if !settled {
            (fact.valid_to, fact.superseded_by) = (None, None);
        }
        let candidate = candidate_of(view, &fact);
        let text = normalized(&fact.content);
        let decision = {
            let near: Vec<(&SemanticMemory, f32)> =
                current.iter().map(|at| (&members[*at].now, 0.0)).collect();
            let said_at = |known: &SemanticMemory| last_said(view, known);
            Said::by(&candidate, &text).after(&said_at).reconcile_offline(&near)
        };
        let target = decision.target.and_then(|target| current.get(target).copied());
        match (decision.event, target) {
            (EventKind::Supersede, Some(_)) if is_ahead(fact.valid_from, now) => {}
            (EventKind::Supersede, Some(target)) => {
                let ended = &mut members[target].now;
                *ended = SemanticMemory {
                    revision_count: ended.revision_count,
                    ..close(ended, fact.valid_from, &fact.memory_id, now)
                };
                let id = Value::String(ended.memory_id.clone());
                fact.metadata.insert(SUPERSEDES.to_owned(), id);
                current.retain(|at| *at != target);
            }
            (EventKind::Add, Some(target)) if !settled => {
                fact.valid_to = Some(members[target].now.valid_from.max(fact.valid_from));
                fact.superseded_by = Some(members[target].now.memory_id.clone());
            }
            (EventKind::Merge | EventKind::Update | EventKind::Ignore, Some(target))
                if !settled && are_by_rules(&members[target].now, &fact) =>
            {
                let known = &members[target].now;
                let sources = &fact.source_episodes;
                let applied = apply(owner, &candidate, &decision, &[known], sources, now);
                let into = known.memory_id.clone();
                if let Some(more) = applied.records.into_iter().next() {
                    let revision_count = known.revision_count;
                    members[target].now = SemanticMemory { revision_count, ..more };
                }
                merged.insert(fact.memory_id, into);
                continue;
            }
            _ => {}
        }
        if fact.is_current() && !settled && !is_ahead(fact.valid_from, now) {
            current.push(at);
        }
        members.push(Member { before, now: fact });
    }
    for Member { before, now: mut fact } in members {
        fact.updated_at = before.updated_at;
        if fact != *before {
            fact.updated_at = now;
            fact.revision_count = before.revision_count + 1;
            decided.push(fact);
        }
    }
}

fn are_by_rules(a: &SemanticMemory, b: &SemanticMemory) -> bool {
    [a, b].iter().all(|fact| fact.provenance.method == BY_RULES)
}

/// What a fact says, as when it was found.
fn candidate_of(view: &View, fact: &SemanticMemory) -> Candidate {
    let slots = fact.source_messages.iter().filter_map(|id| view.messages.slot(id));
    let said = slots.map(|slot| view.messages.get(slot).timestamp).min();
    Candidate {
        content: fact.content.clone(),
        kind: fact.kind,
        confidence: fact.confidence,
        importance: fact.importance,
        subject: fact.subject.clone(),
        attribute: fact.attribute.clone(),
        value: known_value(fact).to_owned(),
        ends: Vec::new(),
        valid_from: fact.valid_from,
        said: said.unwrap_or(fact.valid_from),
        source_messages: fact.source_messages.clone(),
    }
}
