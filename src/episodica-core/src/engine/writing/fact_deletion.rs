//! How a deletion changes the facts that stay.
//!
//! A quotation goes with its message. What a model wrote from a window with a deleted message is
//! set aside: it stays if the remaining messages that it cites prove it word by word, otherwise the
//! model is asked again. Endings are folded again without the facts that go. So the memory becomes
//! what it would be if the deleted messages had never been said.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::writing::keep::closed_by;
use crate::engine::writing::refold::refold_facts;
use crate::error::Result;
use crate::generate::facts::{EvidenceWords, asked_before, extract_quotes, fact_from};
use crate::ids::Owner;
use crate::model::{Episode, FactEnding, Message, SemanticMemory};
use crate::store::UserErasure;
use crate::text::normalized;

/// Facts read between two checks for cancellation.
const BETWEEN_CHECKS: usize = 512;

/// What a deletion adds to the memory.
#[derive(Default)]
pub(crate) struct DeletionEffects {
    /// Quotations in place of a model's facts. With a model, they hold until it has answered.
    pub added: Vec<Arc<SemanticMemory>>,
    /// Episodes about which the model is to be asked again.
    pub relearn: BTreeSet<String>,
}

/// A deletion whose consequences are being computed.
struct DeletionRun<'a> {
    view: &'a UserView,
    /// The deleted messages.
    messages: HashSet<String>,
    /// The deleted episodes.
    episodes: HashSet<String>,
    /// Episodes that lose messages, by id.
    replaced: HashMap<String, Arc<Episode>>,
    /// Facts that the caller deletes.
    chosen: HashSet<String>,
    /// Quotations that the changed messages still say.
    still_said: HashSet<String>,
    /// Facts that go because a message goes.
    gone: HashSet<String>,
    relearn: BTreeSet<String>,
}

/// Adds to an erasure the facts that go and change with it. Those that are `still_said` stay.
pub(crate) fn follow_facts(
    services: &EngineServices,
    (owner, view): (&Owner, &UserView),
    erasure: &mut UserErasure,
    still_said: HashSet<String>,
    control: &dyn CallControl,
) -> Result<DeletionEffects> {
    let set = |ids: &[String]| ids.iter().cloned().collect::<HashSet<String>>();
    let replaced = erasure.replace_episodes.iter();
    let mut run = DeletionRun {
        view,
        messages: set(&erasure.messages),
        episodes: set(&erasure.episodes),
        replaced: replaced.map(|one| (one.episode_id.clone(), Arc::clone(one))).collect(),
        chosen: set(&erasure.semantic),
        still_said,
        gone: HashSet::new(),
        relearn: BTreeSet::new(),
    };
    run.find_gone(control)?;
    let changed = run.changed_facts(control)?;
    let now = services.clock.now();
    let find = |id: &str| run.fact_stays(id).then(|| view.facts.by_id(id).map(|fact| &**fact))?;
    erasure.replace_semantic.extend(refold_facts(changed, &find, now).into_iter().map(Arc::new));
    let mut gone: Vec<String> = run.gone.iter().cloned().collect();
    gone.sort_unstable();
    erasure.semantic.extend(gone);
    let relearn = std::mem::take(&mut run.relearn);
    let asks = services.llm.is_some();
    let cited = if asks { run.cited_messages() } else { HashSet::new() };
    let mut added = Vec::new();
    for id in &relearn {
        let known = || view.episodes.slot_by_id(id).and_then(|slot| view.episodes.get(slot));
        let Some(episode) = run.replaced.get(id).or_else(known) else { continue };
        let found = extract_quotes(&episode.original_messages, &services.config);
        let is_cited = |id: &String| cited.contains(id.as_str());
        let facts = found.candidates.iter();
        let facts = facts.filter(|candidate| !candidate.source_messages.iter().any(is_cited));
        let facts = facts.map(|candidate| fact_from(owner, candidate, Some(id), now));
        let is_new = |fact: &SemanticMemory| view.facts.slot_by_id(&fact.memory_id).is_none();
        added.extend(facts.filter(is_new).map(Arc::new));
    }
    Ok(DeletionEffects { added, relearn: if asks { relearn } else { BTreeSet::new() } })
}

/// The facts that name one of these facts as ended or linked, without them: their next revisions.
pub(crate) fn facts_without(
    view: &UserView,
    withdrawn: &[String],
    now: Moment,
) -> Vec<Arc<SemanticMemory>> {
    let run = DeletionRun {
        view,
        messages: HashSet::new(),
        episodes: HashSet::new(),
        replaced: HashMap::new(),
        chosen: withdrawn.iter().cloned().collect(),
        still_said: HashSet::new(),
        gone: HashSet::new(),
        relearn: BTreeSet::new(),
    };
    let mut changed = BTreeMap::new();
    let reopened = run.reopened_facts();
    for (_, fact) in view.facts.iter().filter(|(_, fact)| run.fact_stays(&fact.memory_id)) {
        let mut left = (**fact).clone();
        run.leave_out(&mut left, &reopened);
        if left != **fact {
            changed.insert(left.memory_id.clone(), left);
        }
    }
    let find = |id: &str| run.fact_stays(id).then(|| view.facts.by_id(id).map(|fact| &**fact))?;
    refold_facts(changed, &find, now).into_iter().map(Arc::new).collect()
}

impl DeletionRun<'_> {
    fn fact_stays(&self, fact: &str) -> bool {
        !self.gone.contains(fact) && !self.chosen.contains(fact)
    }

    /// The messages that a fact which stays cites.
    fn cited_messages(&self) -> HashSet<&str> {
        let facts = self.view.facts.iter().map(|(_, fact)| fact);
        facts
            .filter(|fact| self.fact_stays(&fact.memory_id))
            .flat_map(|fact| fact.source_messages.iter().map(String::as_str))
            .collect()
    }

    /// Finds the facts that go with the messages. A fact may have been written from one that goes,
    /// so this is repeated until no further fact goes.
    fn find_gone(&mut self, control: &dyn CallControl) -> Result<()> {
        loop {
            let mut going: Vec<(String, Vec<String>)> = Vec::new();
            for (number, (_, fact)) in self.view.facts.iter().enumerate() {
                if number.is_multiple_of(BETWEEN_CHECKS) {
                    control.check()?;
                }
                if self.fact_stays(&fact.memory_id) && self.fact_goes(fact) {
                    let asked =
                        if fact.provenance.is_by_rules() { &[] } else { &*fact.source_episodes };
                    going.push((fact.memory_id.clone(), asked.to_vec()));
                }
            }
            if going.is_empty() {
                return Ok(());
            }
            for (id, episodes) in going {
                self.gone.insert(id);
                let left = episodes.into_iter().filter(|id| !self.episodes.contains(id));
                self.relearn.extend(left);
            }
        }
    }

    fn fact_goes(&self, fact: &SemanticMemory) -> bool {
        if self.still_said.contains(&fact.memory_id) {
            return false;
        }
        let is_gone = |id: &String| self.messages.contains(id);
        let loses = fact.source_messages.iter().any(is_gone);
        if fact.is_stated() {
            return loses && fact.is_procedure();
        }
        if fact.provenance.is_by_rules() {
            return loses;
        }
        let of_changed = |id: &String| self.replaced.contains_key(id) || self.episodes.contains(id);
        let saw = fact.source_episodes.iter().any(of_changed)
            || fact.shown.iter().any(|id| is_gone(id) || self.gone.contains(id));
        if loses || saw {
            return !self.is_proved(fact);
        }
        let saw_chosen = fact.shown.iter().filter(|id| self.chosen.contains(*id));
        let texts = saw_chosen.filter_map(|id| self.view.facts.by_id(id));
        let mut texts = texts.map(|fact| &*fact.content);
        let sources = self.left_sources(fact);
        texts.any(|text| EvidenceWords::of(&sources).lack_words_of(fact, text))
    }

    /// The messages of a fact that stay.
    fn left_sources(&self, fact: &SemanticMemory) -> Vec<&Message> {
        let left = fact.source_messages.iter().filter(|id| !self.messages.contains(*id));
        let slots = left.filter_map(|id| self.view.messages.slot_of(id));
        slots.map(|slot| &**self.view.messages.get(slot)).collect()
    }

    /// True if the remaining messages that a fact cites prove it word by word.
    fn is_proved(&self, fact: &SemanticMemory) -> bool {
        let sources = self.left_sources(fact);
        let words = EvidenceWords::of(&sources);
        let slots = self.messages.iter().filter_map(|id| self.view.messages.slot_of(id));
        let mut lost = slots.map(|slot| &*self.view.messages.get(slot).content);
        !sources.is_empty()
            && words.prove(fact)
            && !lost.any(|text| words.lack_words_of(fact, text))
    }

    /// The facts that stay and name something that goes, without that.
    fn changed_facts(&self, control: &dyn CallControl) -> Result<BTreeMap<String, SemanticMemory>> {
        let mut changed = BTreeMap::new();
        let reopened = self.reopened_facts();
        for (number, (_, fact)) in self.view.facts.iter().enumerate() {
            if number.is_multiple_of(BETWEEN_CHECKS) {
                control.check()?;
            }
            if !self.fact_stays(&fact.memory_id) {
                continue;
            }
            let mut left = (**fact).clone();
            if !self.still_said.contains(&fact.memory_id) {
                left.source_messages.retain(|id| !self.messages.contains(id));
            }
            left.source_episodes.retain(|id| !self.episodes.contains(id));
            left.shown.retain(|id| !self.messages.contains(id) && self.fact_stays(id));
            self.leave_out(&mut left, &reopened);
            if let Some(quote) = &mut left.quote {
                quote.asked = self.answered_message(fact);
            }
            if left != **fact {
                changed.insert(left.memory_id.clone(), left);
            }
        }
        Ok(changed)
    }

    /// Removes the links with facts that go, and their endings.
    fn leave_out(&self, fact: &mut SemanticMemory, reopened: &ReopenedFacts) {
        fact.links.retain(|link| self.fact_stays(&link.old));
        if let Some(reopened) = reopened.get(&fact.memory_id)
            && fact.closed_at.is_some_and(|at| reopened.before.contains(&at))
        {
            fact.closed_at = reopened.still;
        }
        self.inherit_endings(fact);
    }

    /// The facts that the user closed by keeping another one that goes now.
    fn reopened_facts(&self) -> ReopenedFacts {
        let mut reopened = ReopenedFacts::new();
        let mut still: HashMap<&str, Moment> = HashMap::new();
        for (_, new) in self.view.facts.iter() {
            for link in new.links.iter().filter(|link| link.kept.is_some()) {
                let Some(old) = self.view.facts.by_id(&link.old) else { continue };
                let Some((closed, at)) = closed_by(link, old, new) else { continue };
                let kept = if closed.memory_id == old.memory_id { new } else { old };
                if !self.fact_stays(&closed.memory_id) {
                    continue;
                }
                if self.fact_stays(&kept.memory_id) {
                    let first = still.entry(&closed.memory_id).or_insert(at);
                    *first = at.min(*first);
                } else {
                    reopened.entry(closed.memory_id.clone()).or_default().before.insert(at);
                }
            }
        }
        reopened.iter_mut().for_each(|(id, one)| one.still = still.get(&**id).copied());
        reopened
    }

    /// Removes the endings by and of facts that go. A fact that ended one of these ends what that
    /// one ended: of three homes in turn, the third follows the first once the second is gone.
    fn inherit_endings(&self, fact: &mut SemanticMemory) {
        let mut named = fact.ends.iter().map(|of| &of.memory_id).chain(&fact.ended_by);
        if named.all(|id| self.fact_stays(id)) {
            return;
        }
        let mut ends: Vec<FactEnding> = Vec::new();
        let mut open: Vec<FactEnding> = std::mem::take(&mut fact.ends);
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(ending) = open.pop() {
            if !seen.insert(ending.memory_id.clone()) {
                continue;
            }
            if self.fact_stays(&ending.memory_id) {
                ends.push(ending);
            } else if let Some(gone) = self.view.facts.by_id(&ending.memory_id) {
                // Who moved back to a town does not end having lived there.
                let is_other = |id: &String| {
                    self.view.facts.by_id(id).is_none_or(|of| !says_the_same(of, fact))
                };
                let inherited = gone.ends.iter().map(|of| of.memory_id.clone());
                let inherited = inherited.filter(is_other);
                open.extend(inherited.map(|memory_id| FactEnding { memory_id, from: ending.from }));
            }
        }
        ends.sort_by(|a, b| (a.from, &a.memory_id).cmp(&(b.from, &b.memory_id)));
        fact.ends = ends;
        let (mut open, mut seen) = (std::mem::take(&mut fact.ended_by), HashSet::new());
        while let Some(id) = open.pop() {
            if !seen.insert(id.clone()) {
                continue;
            }
            let Some(by) = self.view.facts.by_id(&id) else { continue };
            if !self.fact_stays(&id) {
                open.extend(by.ended_by.iter().cloned());
            } else if !says_the_same(by, fact) {
                fact.ended_by.push(id);
            }
        }
        fact.ended_by.sort();
    }

    /// The message that a quotation answers, once the deleted ones are gone.
    fn answered_message(&self, fact: &SemanticMemory) -> Option<String> {
        let quote = fact.quote.as_ref()?;
        let replaced = fact.source_episodes.iter().find_map(|id| self.replaced.get(id));
        let Some(episode) = replaced else { return quote.asked.clone() };
        let messages = &episode.original_messages;
        let id = fact.source_messages.first()?;
        let at = messages.iter().position(|message| message.message_id == *id)?;
        let before: String = messages[at].content.chars().take(quote.span[0] as usize).collect();
        let asked = asked_before(messages, at).filter(|_| opens_text(&before));
        asked.map(|asked| asked.message_id.clone())
    }
}

/// A fact that was closed by decisions for another one.
#[derive(Default)]
struct ReopenedFact {
    /// When the decisions that go closed it.
    before: BTreeSet<Moment>,
    /// When one that stays does.
    still: Option<Moment>,
}

/// By id.
type ReopenedFacts = HashMap<String, ReopenedFact>;

/// True if nothing is said in the text before a quotation.
fn opens_text(before: &str) -> bool {
    !before.contains(char::is_alphanumeric)
}

fn says_the_same(one: &SemanticMemory, other: &SemanticMemory) -> bool {
    one.subject.to_lowercase() == other.subject.to_lowercase()
        && normalized(&one.content) == normalized(&other.content)
}
