//! How a deletion changes the facts that stay. Facts that it may affect are learned again from the
//! remaining messages, in the original order, as if the deleted messages had never been said.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::passing_speakers::{PassingSpeakers, episodes_within_reach};
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::writing::conflicts::{in_order, last_said};
use crate::engine::writing::fact_endings::EndedFacts;
use crate::engine::writing::lost_texts::TextsLost;
use crate::engine::writing::remember::statement_of;
use crate::engine::writing::similar_facts::{ComparedItem, SimilarFacts, candidate_of, opened};
use crate::error::Result;
use crate::generate::facts::{FactCandidate, extract_offline};
use crate::generate::reconcile::{
    BY_RULES, BY_USER, CandidateWords, FactDecision, SUPERSEDES, apply, close, is_ahead,
    note_statement, same_words, superseded,
};
use crate::ids::Owner;
use crate::model::{Episode, EventKind, Message, STATED, SemanticMemory};
use crate::parallel;
use crate::store::UserErasure;
use crate::text::normalized;

/// The facts that the rules find in an episode before the deletion, and in its remaining messages.
#[derive(Default)]
struct EpisodeFindings {
    before: Vec<FactCandidate>,
    left: Vec<FactCandidate>,
    /// True if facts that the limit per episode excluded before the deletion may be learned now.
    learns: bool,
}

struct RelearnedCandidate {
    candidate: FactCandidate,
    /// The episode of the candidate; `None` if the application stated the candidate.
    episode: Option<String>,
    /// Id of the fact that the candidate was learned as.
    tag: Option<String>,
    /// The fact, if the application stated it.
    stated: Option<Arc<SemanticMemory>>,
    order: (Moment, u32, usize),
}

enum RelearnStep {
    Learn(Box<RelearnedCandidate>),
    /// A fact that the rules did not find, before and after it loses source messages. The fact
    /// stays.
    Keep(Arc<SemanticMemory>, Box<SemanticMemory>),
}

struct RelearnedFact {
    fact: SemanticMemory,
    tags: Vec<String>,
    stated: Option<Arc<SemanticMemory>>,
    is_kept: bool,
}

/// Removes recalled contexts from messages before they are learned from.
pub(crate) type Seen<'a> = &'a (dyn Fn(&[Arc<Message>]) -> Vec<Arc<Message>> + Sync);

/// A deletion whose consequences are being computed.
struct RelearnRun<'a> {
    services: &'a EngineServices,
    view: &'a UserView,
    owner: &'a Owner,
    seen: Seen<'a>,
    erasure: &'a mut UserErasure,
    now: Moment,
    messages: HashSet<String>,
    episodes: HashSet<String>,
    facts: HashSet<String>,
    /// The facts to learn again, by slot.
    touched: BTreeMap<u32, Arc<SemanticMemory>>,
    told: BTreeMap<String, EpisodeFindings>,
    /// Facts of a model that the deletion removes, because their evidence is gone.
    vanished: HashSet<String>,
    /// By fact: the messages in which the rules found it.
    covered: HashMap<String, HashSet<String>>,
    alike: SimilarFacts<'a>,
}

/// Adds to an erasure the changes of the facts that stay; returns the facts to append.
pub(crate) fn redecide_facts(
    services: &EngineServices,
    (owner, view, seen): (&Owner, &UserView, Seen<'_>),
    erasure: &mut UserErasure,
    control: &dyn CallControl,
) -> Result<Vec<Arc<SemanticMemory>>> {
    let set = |ids: &[String]| ids.iter().cloned().collect::<HashSet<String>>();
    let redeciding = RelearnRun {
        services,
        view,
        owner,
        seen,
        now: services.clock.now(),
        messages: set(&erasure.messages),
        episodes: set(&erasure.episodes),
        facts: set(&erasure.semantic),
        erasure,
        touched: BTreeMap::new(),
        told: BTreeMap::new(),
        vanished: HashSet::new(),
        covered: HashMap::new(),
        alike: SimilarFacts::new(view, control)?,
    };
    redeciding.run(control)
}

impl<'a> RelearnRun<'a> {
    fn run(mut self, control: &dyn CallControl) -> Result<Vec<Arc<SemanticMemory>>> {
        let (view, mut queue) = (self.view, Vec::new());
        for (slot, fact) in view.facts.iter() {
            if self.facts.contains(&fact.memory_id) || self.loses(fact) {
                self.alike.find(slot);
                self.touched.insert(slot, Arc::clone(fact));
                queue.push(ComparedItem::of_fact(view, fact));
            }
        }
        let rewritten = self.erasure.replace_episodes.iter();
        let reached = episodes_within_reach(view, &self.messages);
        let reached = reached.into_iter().filter_map(|slot| view.episodes.get(slot));
        let heard_otherwise = reached.filter(|episode| {
            let passing = |gone| PassingSpeakers::of(view, &episode.original_messages, gone);
            !self.episodes.contains(&episode.episode_id)
                && passing(&HashSet::new()) != passing(&self.messages)
        });
        let told = heard_otherwise.chain(rewritten).map(|one| one.episode_id.clone());
        self.tell(&told.collect());
        for told in self.told.values() {
            let differs = |one: &&FactCandidate, others: &[FactCandidate]| {
                !others.iter().any(|other| is_same(one, other))
            };
            let gone = told.before.iter().filter(|one| differs(one, &told.left));
            let new = told.left.iter().filter(|one| differs(one, &told.before));
            queue.extend(gone.chain(new).map(|one| self.item_of(one)));
        }
        let mut reworded = HashSet::new();
        loop {
            while let Some(item) = queue.pop() {
                control.check()?;
                for slot in self.alike.concerned(&item) {
                    if let Some(fact) = view.facts.get(slot) {
                        self.touched.insert(slot, Arc::clone(fact));
                        queue.push(ComparedItem::of_fact(view, fact));
                    }
                }
            }
            // A fact that gets its text from another sentence may concern other facts.
            let candidates = self.told.values().flat_map(|told| &told.left);
            for candidate in candidates {
                let text = normalized(&candidate.content);
                let tag = self.tag_of(candidate);
                if tag.is_some_and(|fact| normalized(&fact.content) != text)
                    && reworded.insert((candidate.source_messages.clone(), text.clone()))
                {
                    queue.push(self.item_of(candidate));
                }
            }
            let unread: BTreeSet<String> = self
                .touched
                .values()
                .filter(|fact| fact.provenance.method == BY_RULES || statement_of(fact).is_some())
                .flat_map(|fact| fact.source_episodes.iter())
                .filter(|id| !self.told.contains_key(*id) && !self.episodes.contains(*id))
                .cloned()
                .collect();
            if unread.is_empty() && queue.is_empty() {
                break;
            }
            self.tell(&unread);
        }
        let steps = self.steps();
        let entries = self.learn(steps);
        Ok(self.compare(entries))
    }

    /// True if a fact loses a source message or episode.
    fn loses(&self, fact: &SemanticMemory) -> bool {
        fact.source_messages.iter().any(|id| self.messages.contains(id))
            || fact.source_episodes.iter().any(|id| self.episodes.contains(id))
    }

    fn item_of(&self, candidate: &FactCandidate) -> ComparedItem {
        let add = FactDecision::add();
        let (owner, now) = (self.owner, self.now);
        let open = apply(owner, candidate, &add, &[], &[], now).records.remove(0);
        ComparedItem::new(candidate.clone(), open)
    }

    /// Extracts the facts of these episodes by the rules again.
    fn tell(&mut self, ids: &BTreeSet<String>) {
        let (view, services) = (self.view, self.services);
        let replaced: HashMap<&str, &Arc<Episode>> = self
            .erasure
            .replace_episodes
            .iter()
            .map(|one| (one.episode_id.as_str(), one))
            .collect();
        let mut by_model: HashSet<&str> = HashSet::new();
        for (_, fact) in view.facts.iter() {
            // A model learned from these episodes, so the rules add no facts of their own.
            if is_by_model(fact) {
                by_model.extend(fact.source_episodes.iter().map(String::as_str));
            }
        }
        let read = |id: &String| {
            let known = view.episodes.slot(id).and_then(|slot| view.episodes.get(slot));
            let Some(known) = known.filter(|_| !view.backlog.unlearned().contains_key(id)) else {
                return (id.clone(), EpisodeFindings::default());
            };
            let found = |messages: &[Arc<Message>]| {
                extract_offline(&(self.seen)(messages), &services.config).candidates
            };
            let without_passing = |mut found: Vec<FactCandidate>, gone: &HashSet<String>| {
                let passing = PassingSpeakers::of(view, &known.original_messages, gone);
                found.retain(|candidate| !passing.exclude(candidate, known));
                found
            };
            let all = found(&known.original_messages);
            let left = replaced.get(id.as_str()).map(|left| found(&left.original_messages));
            let left = without_passing(left.unwrap_or_else(|| all.clone()), &self.messages);
            let before = without_passing(all, &HashSet::new());
            let is_by_rules = services.llm.is_none() || view.backlog.relearn().contains(id);
            let learns =
                services.config.semantic_memory && is_by_rules && !by_model.contains(id.as_str());
            (id.clone(), EpisodeFindings { before, left, learns })
        };
        let told = parallel::map(ids.iter().collect(), parallel::FEW_TEXTS, read);
        self.told.extend(told);
    }

    /// The fact that a candidate was learned as, if there is one.
    fn fact_of(&self, candidate: &FactCandidate) -> Option<&'a Arc<SemanticMemory>> {
        let first = candidate.source_messages.first()?;
        let proves = |fact: &&Arc<SemanticMemory>| {
            let mut sources = candidate.source_messages.iter();
            sources.all(|id| fact.source_messages.contains(id))
        };
        let facts = || self.alike.proved_by(first).filter(proves);
        let text = normalized(&candidate.content);
        let same_text = facts().find(|fact| normalized(&fact.content) == text);
        let repeated = |fact: &&Arc<SemanticMemory>| {
            let said = CandidateWords::by(candidate, &text).reconcile_offline(&[&opened(fact)]);
            let repeats =
                matches!(said.event, EventKind::Merge | EventKind::Update | EventKind::Ignore);
            said.target.is_some() && repeats || same_words(candidate, fact)
        };
        same_text.or_else(|| facts().find(repeated))
    }

    /// The fact that a candidate was learned as, if that fact is learned again.
    fn tag_of(&self, candidate: &FactCandidate) -> Option<&'a Arc<SemanticMemory>> {
        let fact = self.fact_of(candidate)?;
        let slot = self.view.facts.slot(&fact.memory_id)?;
        self.touched.contains_key(&slot).then_some(fact)
    }

    /// The candidates to learn again and the facts to keep, in the original order.
    fn steps(&mut self) -> Vec<RelearnStep> {
        let (mut again, mut explained) = (Vec::new(), HashSet::new());
        let mut covered: HashMap<String, HashSet<String>> = HashMap::new();
        for (id, told) in &self.told {
            let Some(slot) = self.view.episodes.slot(id) else { continue };
            let Some(episode) = self.view.episodes.get(slot) else { continue };
            let last = episode.original_messages.iter();
            let last =
                last.filter_map(|message| self.view.messages.slot(&message.message_id)).max();
            let tags: Vec<Option<&Arc<SemanticMemory>>> =
                told.before.iter().map(|one| self.tag_of(one)).collect();
            for (candidate, tag) in told.before.iter().zip(&tags) {
                if let Some(tag) = tag {
                    let covers = covered.entry(tag.memory_id.clone()).or_default();
                    covers.extend(candidate.source_messages.iter().cloned());
                }
            }
            for (at, candidate) in told.left.iter().enumerate() {
                let known = told.before.iter().position(|one| is_same(one, candidate));
                let tag = match known {
                    Some(known) => match tags[known] {
                        // A model's fact is kept as it is.
                        Some(tag) if !is_by_model(tag) => Some(tag),
                        _ => continue,
                    },
                    None if !told.learns || self.is_from_ahead(candidate) => continue,
                    // The candidate is part of a fact that the user deleted.
                    None if told.before.iter().any(|one| {
                        one.source_messages.contains(&candidate.source_messages[0])
                            && one.content.contains(&candidate.content)
                            && self.fact_of(one).is_none()
                    }) =>
                    {
                        continue;
                    }
                    None => self.tag_of(candidate),
                };
                if tag.is_some_and(|tag| self.facts.contains(&tag.memory_id)) {
                    continue;
                }
                explained.extend(tag.map(|tag| tag.memory_id.clone()));
                again.push(RelearnedCandidate {
                    candidate: candidate.clone(),
                    episode: Some(id.clone()),
                    tag: tag.map(|tag| tag.memory_id.clone()),
                    stated: None,
                    order: (episode.created_at, last.unwrap_or_default(), at),
                });
            }
        }
        self.covered = covered;
        let lost = TextsLost::of(self.view, &self.messages.iter().map(String::as_str).collect());
        let mut steps: Vec<((Moment, u32, usize), RelearnStep)> = Vec::new();
        let mut vanished = HashSet::new();
        for fact in self.touched.values().filter(|fact| !self.facts.contains(&fact.memory_id)) {
            if let Some((candidate, at)) = statement_of(fact) {
                let again = RelearnedCandidate {
                    candidate,
                    episode: None,
                    tag: Some(fact.memory_id.clone()),
                    stated: Some(Arc::clone(fact)),
                    order: (at, u32::MAX, 0),
                };
                again_into(&mut steps, again);
                continue;
            }
            let covers = |id: &String| self.is_covered(&fact.memory_id, id);
            let is_told = fact.provenance.method == BY_RULES
                && !fact.is_procedure()
                && (explained.contains(&fact.memory_id)
                    || !fact.source_messages.is_empty()
                        && fact
                            .source_messages
                            .iter()
                            .all(|id| self.messages.contains(id) || covers(id)));
            if is_told {
                continue;
            }
            let kept = self.without_lost(fact, &lost);
            if kept.is_none() && is_by_model(fact) {
                vanished.insert(fact.memory_id.clone());
            }
            if let Some(kept) = kept {
                let first = fact.source_messages.iter();
                let first = first.filter_map(|id| self.view.messages.slot(id)).min();
                let order = (fact.created_at, first.unwrap_or(u32::MAX), 1);
                steps.push((order, RelearnStep::Keep(Arc::clone(fact), Box::new(kept))));
            }
        }
        self.vanished = vanished;
        again.into_iter().for_each(|again| again_into(&mut steps, again));
        steps.sort_by_key(|(order, _)| *order);
        steps.into_iter().map(|(_, step)| step).collect()
    }

    fn is_covered(&self, fact: &str, message: &String) -> bool {
        self.covered.get(fact).is_some_and(|ids| ids.contains(message))
    }

    fn is_from_ahead(&self, candidate: &FactCandidate) -> bool {
        let slots = candidate.source_messages.iter().filter_map(|id| self.view.messages.slot(id));
        slots.into_iter().any(|slot| is_ahead(self.view.messages.get(slot).timestamp, self.now))
    }

    /// A fact that the rules don't find again, without its deleted source messages. `None` if none
    /// is left, or if the fact contains a word that only deleted messages said.
    fn without_lost(&self, fact: &SemanticMemory, lost: &TextsLost) -> Option<SemanticMemory> {
        let left = |ids: &[String], gone: &HashSet<String>| -> Vec<String> {
            ids.iter().filter(|id| !gone.contains(*id)).cloned().collect()
        };
        let proofs = left(&fact.source_messages, &self.messages);
        let episodes = left(&fact.source_episodes, &self.episodes);
        let mut rest =
            SemanticMemory { source_messages: proofs, source_episodes: episodes, ..fact.clone() };
        if !self.loses(fact) {
            return Some(rest);
        }
        let loses_proofs = rest.source_messages.len() < fact.source_messages.len();
        let is_proved = if fact.source_messages.is_empty() {
            !rest.source_episodes.is_empty()
        } else {
            !rest.source_messages.is_empty()
        };
        if !is_proved {
            return None;
        }
        // The date came from a deleted message: the first message left gives the new date.
        if fact.source_messages.first() != rest.source_messages.first() {
            let slots = rest.source_messages.iter().filter_map(|id| self.view.messages.slot(id));
            let first = slots.map(|slot| self.view.messages.get(slot).timestamp).min();
            rest.valid_from = first.unwrap_or(rest.valid_from);
        }
        (!loses_proofs || !lost.tells(self.view, &rest)).then_some(rest)
    }

    fn learn(&self, steps: Vec<RelearnStep>) -> Vec<RelearnedFact> {
        let mut entries: Vec<RelearnedFact> = Vec::new();
        for step in steps {
            match step {
                RelearnStep::Keep(before, kept) => self.keep(&before, *kept, &mut entries),
                RelearnStep::Learn(again) => self.learn_one(*again, &mut entries),
            }
        }
        entries
    }

    /// The current facts, in the order in which a candidate is compared with them.
    fn near(&self, entries: &[RelearnedFact], is_ahead_too: bool) -> Vec<usize> {
        let holds = |fact: &SemanticMemory| {
            fact.is_current()
                && !fact.is_procedure()
                && (is_ahead_too || !is_ahead(fact.valid_from, self.now))
        };
        let mut near: Vec<usize> =
            (0..entries.len()).filter(|at| holds(&entries[*at].fact)).collect();
        near.sort_by(|a, b| in_order(self.view, &entries[*a].fact, &entries[*b].fact));
        near
    }

    fn decide(
        &self,
        candidate: &FactCandidate,
        is_stated: bool,
        entries: &[RelearnedFact],
    ) -> (FactDecision, Vec<usize>) {
        let text = normalized(&candidate.content);
        let said_at = |fact: &SemanticMemory| last_said(self.view, fact);
        let is_ahead_too = is_stated && is_ahead(candidate.valid_from, self.now);
        let mut near = self.near(entries, is_ahead_too);
        let said = CandidateWords::by(candidate, &text);
        near.retain(|at| said.concerns(&entries[*at].fact));
        let facts: Vec<&SemanticMemory> = near.iter().map(|at| &entries[*at].fact).collect();
        let decision = said.after(&said_at).reconcile_offline(&facts);
        (decision, near)
    }

    fn learn_one(&self, again: RelearnedCandidate, entries: &mut Vec<RelearnedFact>) {
        let RelearnedCandidate { candidate, episode, tag, stated, .. } = again;
        let (decision, near) = self.decide(&candidate, stated.is_some(), entries);
        let facts: Vec<&SemanticMemory> = near.iter().map(|at| &entries[*at].fact).collect();
        let sources: Vec<String> = episode.into_iter().collect();
        let applied = apply(self.owner, &candidate, &decision, &facts, &sources, self.now);
        let target = decision.target.and_then(|target| near.get(target).copied());
        let repeats =
            matches!(decision.event, EventKind::Merge | EventKind::Update | EventKind::Ignore);
        let mut records = applied.records;
        if let (true, Some(target)) = (repeats, target) {
            let entry = &mut entries[target];
            entry.tags.extend(tag.clone());
            let is_stated = stated.is_some();
            entry.stated = entry.stated.take().or(stated);
            if let Some(more) = records.pop() {
                entry.fact = more;
                if !is_stated {
                    self.end_others(&candidate, target, entries);
                }
            }
            tag.iter().for_each(|tag| self.end_by(tag, target, entries));
            return;
        }
        let Some(mut new) = records.pop() else { return };
        let is_known = |entry: &RelearnedFact| entry.fact.memory_id == new.memory_id;
        if stated.is_none() && entries.iter().any(is_known) {
            return;
        }
        if let Some(fact) = &stated {
            if entries.iter().all(|entry| entry.fact.memory_id != fact.memory_id) {
                new.memory_id.clone_from(&fact.memory_id);
            } else {
                // The statement was merged into a fact that is learned by itself now.
                new.provenance = fact.provenance.clone();
                let own = fact.metadata.iter().filter(|(key, _)| *key != SUPERSEDES);
                let own = own.filter(|(key, _)| *key != STATED && !new.metadata.contains_key(*key));
                let own: Vec<_> = own.map(|(key, value)| (key.clone(), value.clone())).collect();
                new.metadata.extend(own);
            }
        }
        if let (Some(mut closed), Some(target)) = (records.pop(), target) {
            closed.superseded_by = Some(new.memory_id.clone());
            entries[target].fact = closed;
        }
        let (at, is_stated) = (entries.len(), stated.is_some());
        let tags = tag.iter().cloned().collect();
        entries.push(RelearnedFact { fact: new, tags, stated, is_kept: false });
        if !is_stated {
            self.end_others(&candidate, at, entries);
        }
        tag.iter().for_each(|tag| self.end_by(tag, at, entries));
    }

    /// Ends facts that a candidate ends through its words, such as a denial.
    fn end_others(&self, candidate: &FactCandidate, at: usize, entries: &mut [RelearnedFact]) {
        let by = &entries[at].fact;
        if !by.is_current() || is_ahead(by.valid_from, self.now) {
            return;
        }
        let (ends, by) = (EndedFacts::by(candidate), by.memory_id.clone());
        for entry in entries.iter_mut().filter(|entry| entry.fact.memory_id != by) {
            if ends.end(&entry.fact) {
                entry.fact = close(&entry.fact, candidate.valid_from, &by, self.now);
            }
        }
    }

    /// Keeps a fact. If it superseded, or was superseded by, a fact that is learned again or
    /// deleted, the relation is decided again.
    fn keep(
        &self,
        before: &SemanticMemory,
        mut kept: SemanticMemory,
        entries: &mut Vec<RelearnedFact>,
    ) {
        let is_gone = |id: &str| {
            let known = self.view.facts.slot(id);
            known.is_none_or(|slot| self.touched.contains_key(&slot))
        };
        let replaced = superseded(before).filter(|id| is_gone(id)).map(str::to_owned);
        if replaced.is_some() {
            kept.metadata.remove(SUPERSEDES);
        }
        if before.superseded_by.as_deref().is_some_and(is_gone) {
            (kept.valid_to, kept.superseded_by) = (None, None);
        }
        let by = self.ender(before);
        let by =
            by.and_then(|by| entries.iter().position(|entry| entry.tags.iter().any(|id| id == by)));
        if let Some(at) = by {
            let by = &entries[at].fact;
            kept = close(&kept, self.until(before, by), &by.memory_id, self.now);
            let named = superseded(by).and_then(|id| {
                entries.iter().map(|entry| &entry.fact).find(|fact| fact.memory_id == id)
            });
            // A model's fact names the latest of the facts that it ends.
            if is_by_model(by) && named.is_none_or(|named| named.valid_from <= kept.valid_from) {
                let id = Value::String(kept.memory_id.clone());
                entries[at].fact.metadata.insert(SUPERSEDES.to_owned(), id);
            }
        }
        let candidate = candidate_of(self.view, &kept);
        let at = entries.len();
        let stays = |id: &String| entries.iter().any(|entry| entry.tags.contains(id));
        let is_open = kept.is_current() && !kept.is_procedure();
        if is_open && replaced.is_some_and(|id| !stays(&id)) {
            let (decision, near) = self.decide(&candidate, false, entries);
            let target = decision.target.and_then(|target| near.get(target).copied());
            match (decision.event, target) {
                // The model said which fact its fact ends: `end_by` ends that fact again.
                (EventKind::Supersede, _) if is_by_model(before) => {}
                (EventKind::Supersede, Some(target)) if !is_ahead(kept.valid_from, self.now) => {
                    let ended = &mut entries[target].fact;
                    *ended = close(ended, kept.valid_from, &kept.memory_id, self.now);
                    let id = Value::String(ended.memory_id.clone());
                    kept.metadata.insert(SUPERSEDES.to_owned(), id);
                }
                // Without the deleted fact between the two, this fact would have confirmed the
                // earlier one.
                (EventKind::Merge | EventKind::Ignore, Some(target))
                    if entries[target].is_kept && !kept.source_messages.is_empty() =>
                {
                    let (owner, sources) = (self.owner, &kept.source_episodes);
                    let facts: Vec<&SemanticMemory> =
                        near.iter().map(|at| &entries[*at].fact).collect();
                    let applied = apply(owner, &candidate, &decision, &facts, sources, self.now);
                    if let Some(more) = applied.records.into_iter().next() {
                        entries[target].fact = more;
                    }
                    entries[target].tags.push(before.memory_id.clone());
                    self.end_by(&before.memory_id, target, entries);
                    return;
                }
                _ => {}
            }
        }
        let tags = vec![before.memory_id.clone()];
        entries.push(RelearnedFact { fact: kept, tags, stated: None, is_kept: true });
        self.end_by(&before.memory_id, at, entries);
    }

    /// Restores an end that was not decided by the rules, or that the rules can't find again.
    fn end_by(&self, tag: &str, at: usize, entries: &mut [RelearnedFact]) {
        let (is_kept, by) = (entries[at].is_kept, entries[at].fact.clone());
        let mut replaced: Option<(Moment, String)> = None;
        for entry in entries.iter_mut().filter(|entry| entry.fact.is_current()) {
            if !(entry.is_kept || is_kept) || entry.fact.memory_id == by.memory_id {
                continue;
            }
            let ended = entry.tags.iter().filter_map(|id| self.view.facts.by_id(id));
            let ended = ended
                .filter(|fact| self.ender(fact) == Some(tag))
                .min_by_key(|fact| fact.created_at);
            if let Some(ended) = ended {
                let until = self.until(ended, &by);
                let named = self.view.facts.by_id(tag).and_then(|fact| superseded(fact));
                // A model's fact names the latest of the facts that it ends.
                let is_later = |(began, _): &(Moment, String)| entry.fact.valid_from >= *began;
                if named == Some(&ended.memory_id)
                    || is_by_model(&by) && replaced.as_ref().is_none_or(is_later)
                {
                    replaced = Some((entry.fact.valid_from, entry.fact.memory_id.clone()));
                }
                entry.fact = close(&entry.fact, until, &by.memory_id, self.now);
            }
        }
        if let Some((_, id)) = replaced {
            entries[at].fact.metadata.insert(SUPERSEDES.to_owned(), Value::String(id));
        }
    }

    /// The id of the fact that ends `fact` after the deletion: its successor or, if that is gone,
    /// the successor's successor, and so on. `None` without any.
    fn ender<'f>(&'f self, fact: &'f SemanticMemory) -> Option<&'f str> {
        let mut by = fact.superseded_by.as_deref()?;
        // Bounded, because two facts may name each other after a correction.
        for _ in 0..=self.vanished.len() {
            if !self.vanished.contains(by) {
                return Some(by);
            }
            by = self.view.facts.by_id(by)?.superseded_by.as_deref()?;
        }
        None
    }

    /// The date at which `by` ends a fact again: as before the deletion, except if the former
    /// successor is gone, or if it lost evidence and the date was its beginning. Then it is the
    /// beginning of `by`.
    fn until(&self, ended: &SemanticMemory, by: &SemanticMemory) -> Moment {
        let before = ended.superseded_by.as_ref().and_then(|id| self.view.facts.by_id(id));
        if before.is_some_and(|before| self.vanished.contains(&before.memory_id)) {
            return by.valid_from.max(ended.valid_from);
        }
        let began = before.map(|before| before.valid_from.max(ended.valid_from));
        match ended.valid_to {
            Some(until) if before.is_some_and(|one| self.loses(one)) && began == Some(until) => {
                by.valid_from
            }
            until => until.unwrap_or(by.valid_from),
        }
    }

    /// Assigns the earlier ids to the facts learned again, and adds the differences to the erasure.
    fn compare(self, mut entries: Vec<RelearnedFact>) -> Vec<Arc<SemanticMemory>> {
        let mut ids: HashMap<String, String> = HashMap::new();
        let mut taken: HashSet<String> = HashSet::new();
        let stays = |id: &String| !self.facts.contains(id) && self.view.facts.slot(id).is_some();
        for entry in &entries {
            let id = &entry.fact.memory_id;
            if stays(id) && taken.insert(id.clone()) {
                ids.insert(id.clone(), id.clone());
            }
        }
        for entry in &entries {
            let id = &entry.fact.memory_id;
            if ids.contains_key(id) {
                continue;
            }
            let tag = entry.tags.iter().find(|tag| stays(tag) && !taken.contains(*tag)).cloned();
            if let Some(tag) = tag {
                taken.insert(tag.clone());
                ids.insert(id.clone(), tag);
            }
        }
        let said: HashSet<String> =
            entries.iter().flat_map(|entry| entry.fact.source_messages.clone()).collect();
        let (mut added, mut outcome) = (Vec::new(), BTreeMap::new());
        let new_id = |id: &str| ids.get(id).cloned().unwrap_or_else(|| id.to_owned());
        for RelearnedFact { mut fact, stated, is_kept, .. } in entries.drain(..) {
            fact.superseded_by = fact.superseded_by.as_deref().map(new_id);
            if let Some(id) = superseded(&fact).map(new_id) {
                fact.metadata.insert(SUPERSEDES.to_owned(), Value::String(id));
            }
            let before = ids.get(&fact.memory_id).and_then(|id| self.view.facts.by_id(id));
            let Some(before) = before else {
                fact.revision_count = 0;
                added.push(Arc::new(fact));
                continue;
            };
            if !is_kept {
                fact = self.as_before(fact, before, stated.as_deref(), &said);
            }
            fact.updated_at = before.updated_at;
            fact.revision_count = before.revision_count;
            if fact != **before {
                fact.updated_at = self.now;
                fact.revision_count = before.revision_count + 1;
                outcome.insert(fact.memory_id.clone(), Arc::new(fact));
            }
        }
        let left: HashSet<&String> = ids.values().collect();
        let mut gone: HashSet<String> = self.facts.clone();
        for fact in self.touched.values() {
            if !left.contains(&fact.memory_id) && gone.insert(fact.memory_id.clone()) {
                self.erasure.semantic.push(fact.memory_id.clone());
            }
        }
        // An earlier revision may name deleted records: replacing the fact removes its history.
        let names = |one: &SemanticMemory| {
            let ended = one.superseded_by.as_deref().into_iter().chain(superseded(one));
            ended.into_iter().any(|id| gone.contains(id))
                || one.source_messages.iter().any(|id| self.messages.contains(id))
        };
        let named = self.view.facts.history().into_iter();
        let named = named.filter(|(_, earlier)| earlier.iter().any(|one| names(one)));
        for (id, _) in named.filter(|(id, _)| !gone.contains(id)) {
            if let Some(fact) = self.view.facts.by_id(&id) {
                outcome.entry(id).or_insert_with(|| Arc::clone(fact));
            }
        }
        self.erasure.replace_semantic.extend(outcome.into_values());
        added
    }

    /// A fact that was learned again, with everything that learning does not decide: its id, its
    /// expiry, and the source messages in which the rules don't find it.
    fn as_before(
        &self,
        told: SemanticMemory,
        before: &SemanticMemory,
        stated: Option<&SemanticMemory>,
        said: &HashSet<String>,
    ) -> SemanticMemory {
        let mut metadata = before.metadata.clone();
        for key in ["value", SUPERSEDES, STATED] {
            metadata.remove(key);
        }
        metadata.extend(told.metadata.clone());
        let is_same = told.content == before.content && statement_of(before).is_none();
        let mut provenance = if is_same { &before.provenance } else { &told.provenance }.clone();
        if let Some(stated) = stated {
            provenance.clone_from(&stated.provenance);
            if let Some((one, at)) = statement_of(stated)
                && (one.content != told.content || one.valid_from != told.valid_from)
            {
                note_statement(&mut metadata, &one.content, one.valid_from, at);
            }
        }
        let stays = |id: &&String| {
            !self.messages.contains(*id)
                && !said.contains(*id)
                && !self.is_covered(&before.memory_id, id)
        };
        let mut fact = SemanticMemory {
            memory_id: before.memory_id.clone(),
            created_at: before.created_at,
            expires_at: before.expires_at,
            archived_at: before.archived_at,
            metadata,
            provenance,
            ..told
        };
        let rest: Vec<&String> = before.source_messages.iter().filter(stays).collect();
        let of_rest = |id: &str| {
            let known = self.view.episodes.slot(id).and_then(|slot| self.view.episodes.get(slot));
            known.is_some_and(|episode| {
                let mut messages = episode.original_messages.iter();
                messages.any(|message| rest.contains(&&message.message_id))
            })
        };
        let episodes = before.source_episodes.iter().filter(|id| {
            !self.episodes.contains(*id) && !fact.source_episodes.contains(id) && of_rest(id)
        });
        let episodes: Vec<String> = episodes.cloned().collect();
        fact.source_episodes.extend(episodes);
        fact.source_messages.extend(rest.into_iter().cloned());
        // A change of order alone is not a change.
        for (now, then) in [
            (&mut fact.source_messages, &before.source_messages),
            (&mut fact.source_episodes, &before.source_episodes),
        ] {
            if now.len() == then.len() && now.iter().all(|id| then.contains(id)) {
                now.clone_from(then);
            }
        }
        fact
    }
}

fn again_into(steps: &mut Vec<((Moment, u32, usize), RelearnStep)>, again: RelearnedCandidate) {
    steps.push((again.order, RelearnStep::Learn(Box::new(again))));
}

fn is_same(one: &FactCandidate, other: &FactCandidate) -> bool {
    one.content == other.content
        && one.source_messages == other.source_messages
        && one.importance.total_cmp(&other.importance).is_eq()
}

fn is_by_model(fact: &SemanticMemory) -> bool {
    ![BY_RULES, BY_USER, "imported"].contains(&fact.provenance.method.as_str())
}
