//! Learns facts from new episodes, appends and indexes them.
//!
//! Without a model, facts are quotations: each depends on its own message alone, so nothing is
//! compared with known facts. A model sees known facts and names those that its new facts end;
//! [`fold`](crate::generate::facts::fold) computes when they end.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use ndarray::{Array2, Axis};

use crate::clock::Moment;
use crate::control::{CallControl, run_cancellable};
use crate::engine::asking::conversation::write_trace;
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::IndexingSettings;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::draft::bytes_of;
use crate::engine::writing::extracted_facts::CandidateOrigin;
use crate::engine::writing::fact_deletion::facts_without;
use crate::engine::writing::links::LinkingStep;
use crate::engine::writing::recall::without_recalled;
use crate::engine::writing::refold::refold_facts;
use crate::error::Result;
use crate::generate::facts::model::FactDetails;
use crate::generate::facts::{
    FactCandidate, FactExtraction, extract_quotes, fact_from, next_revision,
};
use crate::model::{Episode, FactEnding, Message, SemanticMemory};
use crate::parallel;
use crate::store::StateRecord;
use crate::text::normalized;

/// Most episodes from which the rules learn in one step.
const STEP: usize = 32;

/// Maximum number of repetitions of a statement that are looked for.
const SAME_STATEMENTS: usize = 64;

/// What a step of learning appends.
#[derive(Default)]
pub(crate) struct LearnedFacts {
    /// The records, in order; of several with one id the last is current.
    records: Vec<Arc<SemanticMemory>>,
    /// The current revision of each of them.
    latest: BTreeMap<String, Arc<SemanticMemory>>,
}

impl LearnedFacts {
    pub fn put_fact(&mut self, record: SemanticMemory) {
        let record = Arc::new(record);
        self.latest.insert(record.memory_id.clone(), Arc::clone(&record));
        self.records.push(record);
    }

    /// A fact as this step leaves it.
    pub fn find_fact<'a>(
        &'a self,
        view: &'a UserView,
        id: &str,
    ) -> Option<&'a Arc<SemanticMemory>> {
        self.latest.get(id).or_else(|| view.facts.by_id(id))
    }
}

/// The step that a set of facts is learned in.
pub(crate) struct LearningStep<'a> {
    pub episodes: &'a [Arc<Episode>],
    /// True if the rules replaced a failing model, which is to learn again.
    pub pending_llm: bool,
    /// The questions, for the trace.
    pub asked: QuestionTrace,
    /// The state of the memory from which the step decides.
    pub basis: DecisionBasis,
}

/// Learns by the rules from all episodes not learned from. The caller holds the user's
/// `FormingTurn`.
pub(crate) fn learn_by_rules(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    // Each step has a basis of its own: other processes may write between steps.
    loop {
        let basis = user.decision_basis();
        let unlearned = unlearned_episodes(user);
        let Some(episodes) = unlearned.chunks(STEP).next() else {
            user.progress.forget_stated();
            return Ok(());
        };
        let (mut learned, mut links) = (LearnedFacts::default(), LinkingStep::default());
        for (episode, found) in episodes.iter().zip(quotes_of(services, user, episodes, control)?) {
            count_rejected(services, &found);
            let view = user.view.read();
            for fact in quoted_facts(services, user, &found.candidates, &episode.episode_id) {
                // A fact with this id quotes the same words. It is not new, even if it was
                // corrected since.
                if view.facts.slot_by_id(&fact.memory_id).is_none() {
                    learned.put_linked(&view, &mut links, fact);
                }
            }
        }
        let asked = QuestionTrace::default();
        let step = LearningStep { episodes, pending_llm: false, asked, basis };
        commit_learned(services, user, &step, learned, control)?;
    }
}

/// The quotations in the messages of each episode, without those from recalled contexts.
pub(crate) fn quotes_of(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    control: &dyn CallControl,
) -> Result<Vec<FactExtraction>> {
    let with_own = |episode: &Arc<Episode>| {
        let said = episode.original_messages.clone();
        (without_recalled(services, user, &said), said)
    };
    let messages: Vec<_> = episodes.iter().map(with_own).collect();
    let bytes = bytes_of(messages.iter().flat_map(|(own, _)| own));
    let config = services.config.clone();
    let extract = move |(own, said): (Vec<_>, Vec<Arc<Message>>)| {
        let mut found = extract_quotes(&said, &config);
        let is_own = |candidate: &FactCandidate| {
            let Some(quote) = &candidate.quote else { return true };
            let of = |message: &&Arc<Message>| {
                candidate.source_messages.first() == Some(&message.message_id)
            };
            own.iter().find(of).is_some_and(|message| message.content.contains(&quote.text))
        };
        found.candidates.retain(is_own);
        found
    };
    run_cancellable(bytes, control, move || parallel::map_items(messages, 1, extract))
}

/// The records of quotations of one episode.
pub(crate) fn quoted_facts<'a>(
    services: &'a EngineServices,
    user: &'a OpenUser,
    candidates: &'a [FactCandidate],
    episode: &'a str,
) -> impl Iterator<Item = SemanticMemory> + 'a {
    candidates.iter().map(move |candidate| {
        let now = services.clock.now();
        let fact = fact_from(&user.owner, candidate, Some(episode), now);
        // A message from a clock that is ahead holds from its arrival.
        SemanticMemory { valid_from: candidate.said.min(now), ..fact }
    })
}

/// Episodes not learned from, in order.
pub(crate) fn unlearned_episodes(user: &OpenUser) -> Vec<Arc<Episode>> {
    let view = user.view.read();
    let mut episodes: Vec<_> = view
        .backlog
        .unlearned_episodes()
        .keys()
        .filter_map(|id| view.episodes.slot_by_id(id))
        .collect();
    episodes.sort_unstable();
    episodes.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
}

/// Withdraws the quotations that were learned from these episodes while the model failed; the
/// model's facts replace them.
pub(crate) fn withdraw_stand_ins(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[&str],
    basis: DecisionBasis,
) -> Result<()> {
    let withdrawn: Vec<String> = {
        let view = user.view.read();
        let relearned: HashSet<&str> = episodes
            .iter()
            .copied()
            .filter(|id| view.backlog.episodes_to_relearn().contains(*id))
            .collect();
        let facts = view.facts.iter().map(|(_, fact)| fact);
        let stand_ins = facts.filter(|fact| is_stand_in(fact, |id| relearned.contains(id)));
        stand_ins.map(|fact| fact.memory_id.clone()).collect()
    };
    if withdrawn.is_empty() {
        return Ok(());
    }
    services.counters.count_event("facts_replaced", withdrawn.len() as u64);
    // A stand-in was an ordinary quotation until the model was to be asked again.
    let changed = facts_without(&user.view.read(), &withdrawn, services.clock.now());
    let gone: Vec<&str> = withdrawn.iter().map(String::as_str).collect();
    let to = services.indexing_settings();
    let _writer = user.lock_writer_on(basis, true, &to)?;
    user.store.append_semantic(&changed, &gone, &[])?;
    user.note_change();
    let mut view = user.view.write();
    changed.iter().try_for_each(|fact| view.revise_fact(fact, None, &to))?;
    view.withdraw_facts(&gone)
}

/// True for a fact that the rules learned in the model's place: all its episodes are to be learned
/// from again.
pub(super) fn is_stand_in(fact: &SemanticMemory, is_relearned: impl Fn(&str) -> bool) -> bool {
    fact.provenance.is_by_rules()
        && !fact.source_episodes.is_empty()
        && fact.source_episodes.iter().all(|id| is_relearned(id))
}

pub(crate) fn count_rejected(services: &EngineServices, extraction: &FactExtraction) {
    let mut rejected = services.counters.rejected.lock();
    for (reason, count) in &extraction.rejected {
        *rejected.entry(reason.name()).or_default() += count;
    }
}

/// Stores the facts that a model stated about an episode, and ends those that it names.
pub(crate) fn learn_stated(
    services: &EngineServices,
    user: &OpenUser,
    step: &LearningStep<'_>,
    (candidates, origin): (&[FactCandidate], Option<&CandidateOrigin>),
    control: &dyn CallControl,
) -> Result<()> {
    let mut learned = LearnedFacts::default();
    for (row, candidate) in candidates.iter().enumerate() {
        let told = origin.and_then(|origin| Some((origin, origin.told.get(row)?)));
        let episode = &step.episodes[0].episode_id;
        let view = user.view.read();
        learn_one(services, user, (&view, episode), candidate, told, &mut learned);
    }
    let ids: Vec<String> = learned.latest.keys().cloned().collect();
    commit_learned(services, user, step, learned, control)?;
    write_trace(services, user, step.asked.clone().with_ids(&ids));
    Ok(())
}

fn learn_one(
    services: &EngineServices,
    user: &OpenUser,
    (view, episode): (&UserView, &str),
    candidate: &FactCandidate,
    told: Option<(&CandidateOrigin, &FactDetails)>,
    learned: &mut LearnedFacts,
) {
    let now = services.clock.now();
    let Some((origin, told)) = told else {
        // The rules answered in the model's place.
        let mut quoted = quoted_facts(services, user, std::slice::from_ref(candidate), episode);
        learned.put_new(view, quoted.next());
        return;
    };
    let mut fact = fact_from(&user.owner, candidate, Some(episode), now);
    fact.provenance = origin.provenance.clone();
    fact.shown = origin.shown.clone();
    fact.when = told.when();
    fact.ends = stated_endings(view, learned, candidate, told, now);
    fact.valid_from = match told.since(candidate.kind, candidate.said) {
        Some(since) => since,
        None if told.corrects.is_empty() => candidate.said.min(now),
        None => corrected_from(view, learned, told).min(candidate.said).min(now),
    };
    // The same sentence about the same messages was stated before, and may have been corrected.
    if learned.find_fact(view, &fact.memory_id).is_some() {
        return;
    }
    // The ended facts come first, so that the feed reports them with their successor.
    for ended in ended_revisions(view, learned, &fact, now) {
        learned.put_fact(ended);
    }
    learned.put_fact(fact);
}

impl LearnedFacts {
    /// Adds a quotation unless it is known.
    fn put_new(&mut self, view: &UserView, fact: Option<SemanticMemory>) {
        if let Some(fact) = fact
            && self.find_fact(view, &fact.memory_id).is_none()
        {
            self.put_linked(view, &mut LinkingStep::default(), fact);
        }
    }

    /// Adds a quotation with its links, and the next revisions of later ones that are linked with
    /// it.
    fn put_linked(&mut self, view: &UserView, links: &mut LinkingStep, fact: SemanticMemory) {
        let now = fact.created_at;
        let linked = links.link(view, &|id| self.find_fact(view, id), fact, now);
        linked.into_iter().for_each(|fact| self.put_fact(fact));
    }
}

/// Since when the facts that a fact corrects held: the fact holds since then.
fn corrected_from(view: &UserView, learned: &LearnedFacts, told: &FactDetails) -> Moment {
    let corrected = told.corrects.iter().filter_map(|id| learned.find_fact(view, id));
    corrected.map(|known| known.valid_from).min().unwrap_or(Moment::MAX)
}

/// The endings that a model's fact states. What it ends ends when the fact was said, or when the
/// fact begins, if that is another time. A fact that has not begun by then never holds, and a later
/// beginning takes the place of the earlier one. A corrected fact never held.
fn stated_endings(
    view: &UserView,
    learned: &LearnedFacts,
    candidate: &FactCandidate,
    told: &FactDetails,
    now: Moment,
) -> Vec<FactEnding> {
    let said = candidate.said.min(now);
    let since = told.since(candidate.kind, candidate.said);
    let mut endings: Vec<FactEnding> = Vec::new();
    let mut end = |known: &SemanticMemory, from: Moment| {
        // Whatever says the same ends, too, even if it has ended before: so the end holds if a
        // deletion takes the earlier one away.
        let same = same_statements(view, learned, &known.subject, &known.content);
        let ids = same.into_iter().map(|fact| fact.memory_id.clone());
        let ids = ids.chain([known.memory_id.clone()]);
        endings.extend(ids.map(|memory_id| FactEnding { memory_id, from }));
    };
    for known in told.ends.iter().filter_map(|id| learned.find_fact(view, id)) {
        let begins = since.unwrap_or(said);
        // What was to come is called off when that is said.
        let is_to_come = known.valid_from > said;
        end(known, if is_to_come { said } else { begins.max(known.valid_from) });
        // Another day for a change to come is the day of what it changes, too.
        if is_to_come && begins > said {
            let changed = known.ends.iter().filter_map(|of| learned.find_fact(view, &of.memory_id));
            changed.for_each(|fact| end(fact, begins));
        }
    }
    for known in told.corrects.iter().filter_map(|id| learned.find_fact(view, id)) {
        end(known, known.valid_from);
    }
    // A repeated statement ends again what the earlier one ended.
    let same = same_statements(view, learned, &candidate.subject, &candidate.content);
    let own: HashSet<&String> = same.iter().map(|fact| &fact.memory_id).collect();
    for ending in same.iter().flat_map(|fact| &fact.ends) {
        endings.push(FactEnding { memory_id: ending.memory_id.clone(), from: said });
    }
    endings.retain(|ending| !own.contains(&ending.memory_id));
    endings.sort_by(|a, b| (a.from, &a.memory_id).cmp(&(b.from, &b.memory_id)));
    let mut seen = HashSet::new();
    endings.retain(|ending| seen.insert(ending.memory_id.clone()));
    endings
}

/// The facts of a model with this subject and these words, the latest ones.
fn same_statements(
    view: &UserView,
    learned: &LearnedFacts,
    subject: &str,
    content: &str,
) -> Vec<Arc<SemanticMemory>> {
    let (text, subject) = (normalized(content), subject.to_lowercase());
    let is_same = |known: &&Arc<SemanticMemory>| {
        known.quote.is_none()
            && !known.is_stated()
            && known.subject.to_lowercase() == subject
            && normalized(&known.content) == text
    };
    let known = view.facts_with_words(content, SAME_STATEMENTS);
    let known = known.filter(|known| !learned.latest.contains_key(&known.memory_id));
    known.chain(learned.latest.values()).filter(is_same).cloned().collect()
}

/// The next revisions of the facts that `fact` ends, and of those whose ends depend on them.
fn ended_revisions(
    view: &UserView,
    learned: &LearnedFacts,
    fact: &SemanticMemory,
    now: Moment,
) -> Vec<SemanticMemory> {
    let mut changed: BTreeMap<String, SemanticMemory> = BTreeMap::new();
    for ending in &fact.ends {
        let Some(known) = learned.find_fact(view, &ending.memory_id) else { continue };
        if !known.ended_by.contains(&fact.memory_id) {
            let mut ended = next_revision(known, now);
            ended.ended_by.push(fact.memory_id.clone());
            ended.ended_by.sort();
            changed.insert(ended.memory_id.clone(), ended);
        }
    }
    let find = |id: &str| {
        if id == fact.memory_id {
            Some(fact)
        } else {
            learned.find_fact(view, id).map(|fact| &**fact)
        }
    };
    refold_facts(changed, &find, now)
}

/// Appends the facts, together with notes that mark these episodes as learned; then updates the
/// view.
pub(crate) fn commit_learned(
    services: &EngineServices,
    user: &OpenUser,
    step: &LearningStep<'_>,
    learned: LearnedFacts,
    control: &dyn CallControl,
) -> Result<()> {
    let to = services.indexing_settings();
    let facts: Vec<&Arc<SemanticMemory>> = learned.latest.values().collect();
    let vectors = vectors_of(user, &facts, &to, control)?;
    let at = services.clock.now();
    let done = step.episodes.iter().map(|episode| StateRecord::Learned {
        episode_id: episode.episode_id.clone(),
        revision: episode.revision,
        at,
        pending_llm: step.pending_llm,
    });
    let notes: Vec<StateRecord> = done.collect();
    let writer = user.lock_writer_on(step.basis, true, &to)?;
    user.store.append_semantic(&learned.records, &[], &notes)?;
    log::debug!("{} facts are in the log", learned.records.len());
    user.note_change();
    let mut view = user.view.write();
    for (fact, vector) in facts.iter().zip(&vectors) {
        view.put_fact(Arc::clone(fact), vector.as_ref().map(|row| row.view()), &to)?;
    }
    // Revisions that were replaced within the step belong to the history, as they do after
    // reading the log.
    let is_latest = |record: &Arc<SemanticMemory>| {
        learned.latest.get(&record.memory_id).is_some_and(|latest| Arc::ptr_eq(latest, record))
    };
    let replaced = learned.records.iter().filter(|record| !is_latest(record));
    replaced.for_each(|record| view.facts.put_earlier(&record.memory_id, Arc::clone(record)));
    for episode in step.episodes {
        view.backlog.mark_learned(&episode.episode_id, episode.revision, step.pending_llm);
    }
    drop(view);
    drop(writer);
    compact_if_worth(services, user, control);
    Ok(())
}

/// The vectors of facts, each as one row: a quotation has the vector of its message, the others are
/// embedded. `None` if the embedder fails.
pub(crate) fn vectors_of(
    user: &OpenUser,
    facts: &[&Arc<SemanticMemory>],
    to: &IndexingSettings<'_>,
    control: &dyn CallControl,
) -> Result<Vec<Option<Array2<f32>>>> {
    let (mut vectors, texts): (Vec<_>, Vec<String>) = {
        let view = user.view.read();
        let known = facts.iter().map(|fact| view.quoted_vector(fact)).collect::<Vec<_>>();
        let missing = facts.iter().zip(&known).filter(|(_, vector)| vector.is_none());
        let texts = missing.map(|(fact, _)| view.embedded_text(fact).to_owned()).collect();
        (known, texts)
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if let Some(rows) = to.embed_batches(&texts, control)? {
        let missing = vectors.iter_mut().filter(|vector| vector.is_none());
        for (vector, row) in missing.zip(rows.rows()) {
            *vector = Some(row.insert_axis(Axis(0)).to_owned());
        }
    }
    Ok(vectors)
}
