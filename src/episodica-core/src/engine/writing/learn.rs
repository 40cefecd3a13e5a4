//! Learns facts from new episodes: extracts candidates, reconciles them with known facts, appends
//! and indexes the result.
//!
//! The rules learn from several episodes at once, a model from one at a time, so that it knows the
//! facts of the episodes before.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ndarray::Array2;
use serde_json::Value;

use crate::clock::Moment;
use crate::control::{CallControl, patiently};
use crate::engine::asking::conversation::write_trace;
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::{FactTexts, all_rows, rows_of};
use crate::engine::memory::passing_speakers::PassingSpeakers;
use crate::engine::memory::view::UserView;
use crate::engine::memory::wording::FactWording;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::conflicts::{ConflictCandidates, LearnedFacts};
use crate::engine::writing::draft::{bytes_of, is_unchanged};
use crate::engine::writing::extracted_facts::CandidateOrigin;
use crate::engine::writing::fact_endings::{ReplacedFacts, ended_by, replaced_by};
use crate::engine::writing::recall::without_recalled;
use crate::error::Result;
use crate::generate::facts::model::FactDetails;
use crate::generate::facts::{FactCandidate, FactExtraction, RejectReason, extract_offline};
use crate::generate::reconcile::{
    FactDecision, SUPERSEDES, apply, close, is_ahead, restore, superseded,
};
use crate::model::{Episode, EventKind, Message, SemanticMemory};
use crate::parallel;
use crate::store::StateRecord;

/// Most episodes from which the rules learn in one step. Each candidate of a step is compared with
/// all candidates before it, so a long backlog takes several steps.
const STEP: usize = 32;

/// A candidate, with its episode.
pub(crate) type Found<'a> = (&'a Arc<Episode>, FactCandidate);

impl CandidateOrigin {
    /// Adds provenance and dates to a record that was made from a candidate.
    fn mark(
        &self,
        told: &FactDetails,
        replaced: Option<&ReplacedFacts>,
        record: &mut SemanticMemory,
    ) {
        record.provenance = self.provenance.clone();
        let dates = [("occurred_from", &told.from), ("occurred_to", &told.to)];
        // If it ends several facts, the record names the latest.
        let ended = replaced.and_then(|one| {
            one.facts.iter().map(|(fact, _)| fact).max_by_key(|fact| fact.valid_from)
        });
        let ended = ended.filter(|_| !record.metadata.contains_key(SUPERSEDES));
        let supersedes = ended.map(|fact| (SUPERSEDES, &fact.memory_id));
        let known = dates.into_iter().chain(supersedes).filter(|(_, text)| !text.is_empty());
        for (key, text) in known {
            record.metadata.insert(key.to_owned(), Value::String(text.clone()));
        }
    }
}

/// One step of learning: the candidates and their origin.
pub(crate) struct LearningStep<'a> {
    pub episodes: &'a [Arc<Episode>],
    pub found: &'a [Found<'a>],
    pub texts: FactTexts,
    /// `None` = the rules.
    pub origin: Option<CandidateOrigin>,
    /// True if the rules replaced a failing model, which is to learn again.
    pub pending_llm: bool,
    /// The questions, for the trace.
    pub asked: QuestionTrace,
    /// The state of the memory from which the step decides.
    pub basis: DecisionBasis,
}

impl<'a> LearningStep<'a> {
    pub fn by_rules(
        episodes: &'a [Arc<Episode>],
        found: &'a [Found<'a>],
        texts: FactTexts,
        basis: DecisionBasis,
    ) -> Self {
        let (origin, pending_llm, asked) = (None, false, QuestionTrace::default());
        Self { episodes, found, texts, origin, pending_llm, asked, basis }
    }

    /// The speakers who pass by, by episode. A model decides by itself what is worth a fact.
    fn passing_speakers(&self, view: &UserView) -> HashMap<&'a str, PassingSpeakers> {
        let episodes = self.episodes.iter().filter(|_| self.origin.is_none());
        let of = |one: &'a Arc<Episode>| {
            let passing = PassingSpeakers::of(view, &one.original_messages, &HashSet::new());
            (&*one.episode_id, passing)
        };
        episodes.map(of).collect()
    }
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
        let basis = user.basis();
        let unlearned = unlearned_episodes(user);
        let Some(episodes) = unlearned.chunks(STEP).next() else {
            user.progress.forget_stated();
            return Ok(());
        };
        learn_step(services, user, episodes, basis, control)?;
    }
}

fn learn_step(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<()> {
    let extracted = episode_extractions(services, user, episodes, control)?;
    let mut found: Vec<Found<'_>> = Vec::new();
    let mut texts = Vec::with_capacity(episodes.len());
    for (episode, (extraction, read)) in episodes.iter().zip(extracted) {
        count_rejected(services, &extraction);
        found.extend(extraction.candidates.into_iter().map(|candidate| (episode, candidate)));
        texts.push(read);
    }
    let texts = joined_texts(services, &found, texts, control)?;
    let step = LearningStep::by_rules(episodes, &found, texts, basis);
    reconcile_and_commit(services, user, step, control)
}

/// Extracts the facts of each episode by the rules. Uses the facts that were extracted with the
/// text, unless a context was recognised in the messages since then.
fn episode_extractions(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    control: &dyn CallControl,
) -> Result<Vec<(FactExtraction, FactTexts)>> {
    let known = user.progress.take_stated(episodes);
    let mut unread = Vec::new();
    let mut extracted: Vec<Option<_>> = Vec::with_capacity(episodes.len());
    for (episode, stated) in episodes.iter().zip(known) {
        let own = without_recalled(services, user, &episode.original_messages);
        let known = stated.filter(|_| is_unchanged(&own, &episode.original_messages));
        unread.extend(known.is_none().then_some(own));
        extracted.push(known.map(|stated| (stated.extraction, stated.texts)));
    }
    let (bytes, config) = (bytes_of(unread.iter().flatten()), services.config.clone());
    let reader = services.reader();
    let extract = move |messages: Vec<_>| {
        let extraction = extract_offline(&messages, &config);
        let texts = reader.facts(extraction.contents());
        (extraction, texts)
    };
    let read = patiently(bytes, control, move || parallel::map(unread, 1, extract))?;
    let mut read = read.into_iter();
    Ok(extracted.into_iter().filter_map(|known| known.or_else(|| read.next())).collect())
}

/// Episodes not learned from, in order.
pub(crate) fn unlearned_episodes(user: &OpenUser) -> Vec<Arc<Episode>> {
    let view = user.view.read();
    let mut episodes: Vec<_> =
        view.backlog.unlearned().keys().filter_map(|id| view.episodes.slot(id)).collect();
    episodes.sort_unstable();
    episodes.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
}

/// Withdraws the facts that the rules learned from these episodes while the model failed; the
/// model's facts replace them. Facts that a withdrawn fact had ended are current again.
pub(crate) fn withdraw_stand_ins(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[&str],
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<()> {
    let (withdrawn, restored) = {
        let view = user.view.read();
        let relearned: HashSet<&str> =
            episodes.iter().copied().filter(|id| view.backlog.relearn().contains(*id)).collect();
        if relearned.is_empty() {
            return Ok(());
        }
        let facts = || view.facts.iter().map(|(_, fact)| fact);
        let withdrawn: HashSet<String> = facts()
            .filter(|fact| is_stand_in(fact, |id| relearned.contains(id)))
            .map(|fact| fact.memory_id.clone())
            .collect();
        let is_ended = |fact: &&Arc<SemanticMemory>| {
            fact.superseded_by.as_ref().is_some_and(|by| withdrawn.contains(by))
                && !withdrawn.contains(&fact.memory_id)
        };
        let restored = facts().filter(is_ended);
        let restored = restored.map(|fact| Arc::new(restore(fact, services.clock.now())));
        let restored: Vec<_> = restored.collect();
        (withdrawn, restored)
    };
    let texts: Vec<&str> = restored.iter().map(|fact| fact.content.as_str()).collect();
    let rows = services.indexing().embed(&texts, control)?;
    services.counters.count("facts_replaced", withdrawn.len() as u64);
    let gone: Vec<&str> = withdrawn.iter().map(String::as_str).collect();
    let _writer = user.lock_writer_on(basis, true, &services.indexing())?;
    user.store.append_semantic(&restored, &gone, &[])?;
    user.note_change();
    let mut view = user.view.write();
    for (row, fact) in restored.iter().enumerate() {
        let vector = rows.as_ref().map(|rows| rows_of(rows.view(), row..row + 1));
        view.put_fact(Arc::clone(fact), vector, &services.indexing())?;
    }
    view.withdraw_facts(&gone)
}

pub(crate) fn count_rejected(services: &EngineServices, extraction: &FactExtraction) {
    let mut rejected = services.counters.rejected.lock();
    for (reason, count) in &extraction.rejected {
        *rejected.entry(reason.name()).or_default() += count;
    }
}

/// Joins wordings and vectors of all candidates, and embeds these if a vector is missing.
fn joined_texts(
    services: &EngineServices,
    found: &[Found<'_>],
    read: Vec<FactTexts>,
    control: &dyn CallControl,
) -> Result<FactTexts> {
    let with_facts = read.iter().filter(|texts| !texts.wordings.is_empty());
    let rows = match all_rows(with_facts.map(|texts| &texts.rows)) {
        Some(rows) => Some(rows),
        None => embed_found(services, found, control)?,
    };
    Ok(FactTexts { wordings: read.into_iter().flat_map(|texts| texts.wordings).collect(), rows })
}

/// Reads the texts of candidates that a model found.
pub(crate) fn read_found(
    services: &EngineServices,
    found: &[Found<'_>],
    control: &dyn CallControl,
) -> Result<FactTexts> {
    let tokens = services.tokens;
    let read = |(_, candidate): &Found<'_>| Arc::new(FactWording::of(&candidate.content, tokens));
    let wordings = parallel::map(found.iter().collect(), parallel::FEW_TEXTS, read);
    Ok(FactTexts { wordings, rows: embed_found(services, found, control)? })
}

fn embed_found(
    services: &EngineServices,
    found: &[Found<'_>],
    control: &dyn CallControl,
) -> Result<Option<Array2<f32>>> {
    let texts: Vec<&str> = found.iter().map(|(_, candidate)| candidate.content.as_str()).collect();
    services.indexing().embed(&texts, control)
}

/// Reconciles candidates with known facts and with each other, and commits the outcome.
pub(crate) fn reconcile_and_commit(
    services: &EngineServices,
    user: &OpenUser,
    step: LearningStep<'_>,
    control: &dyn CallControl,
) -> Result<()> {
    let learned = reconcile_step(services, user, &step);
    let ids: Vec<String> = learned.latest.keys().cloned().collect();
    commit_learned(services, user, &step, learned, control)?;
    write_trace(services, user, step.asked.about(&ids));
    Ok(())
}

fn reconcile_step(
    services: &EngineServices,
    user: &OpenUser,
    step: &LearningStep<'_>,
) -> LearnedFacts {
    let conflicts = {
        let view = user.view.read();
        let find = |(candidate, wording): (&FactCandidate, &Arc<FactWording>)| {
            ConflictCandidates::find(&view, candidate, Arc::clone(wording))
        };
        let candidates = step.found.iter().map(|found| &found.1);
        let worded = candidates.zip(&step.texts.wordings).collect();
        parallel::map(worded, parallel::FEW_TEXTS, find)
    };
    let passing = step.passing_speakers(&user.view.read());
    let mut learned = LearnedFacts::default();
    for (row, (episode, candidate)) in step.found.iter().enumerate() {
        let now = services.clock.now();
        if passing.get(&*episode.episode_id).is_some_and(|one| one.exclude(candidate, episode)) {
            let reason = RejectReason::PassingSpeaker.name();
            *services.counters.rejected.lock().entry(reason).or_default() += 1;
            continue;
        }
        let told = step.origin.as_ref().and_then(|origin| origin.told.get(row));
        let replaced = told.map(|told| replaced_by(&user.view.read(), &learned, candidate, told));
        let candidate = replaced.as_ref().map_or(candidate, |replaced| &replaced.candidate);
        // A message from the future has a wrong date, and its fact could never be superseded.
        let is_from_ahead = |message: &Arc<Message>| {
            is_ahead(message.timestamp, now)
                && candidate.source_messages.contains(&message.message_id)
        };
        if episode.original_messages.iter().any(is_from_ahead) {
            services.counters.count("candidates_from_the_future", 1);
            continue;
        }
        let (mut decision, known) = {
            let view = user.view.read();
            let mut near = learned.concerned(&view, candidate, &conflicts[row]);
            // A model was not shown the facts that were ended.
            if told.is_none() && reopen_facts(services, &view, &near, now, &mut learned) {
                near = learned.concerned(&view, candidate, &conflicts[row]);
            }
            near.retain(|known| !is_ahead(known.valid_from, now));
            (conflicts[row].reconcile(&view, candidate, &near), near)
        };
        let mut known: Vec<&SemanticMemory> = known.iter().map(|fact| &**fact).collect();
        // A model names the facts that end. The rules would misjudge it, because its attributes
        // differ from theirs.
        if told.is_some() && matches!(decision.event, EventKind::Supersede | EventKind::Add) {
            decision = FactDecision { event: EventKind::Add, target: None, ..decision };
        }
        if let Some(newer) = replaced.as_ref().and_then(|replaced| replaced.newer.as_deref()) {
            known.push(newer);
            let target = Some(known.len() - 1);
            decision = FactDecision { event: EventKind::Add, target, ..decision };
        }
        let sources = [episode.episode_id.clone()];
        let decision = decision.without_surplus(&known, now);
        let mut applied = apply(&user.owner, candidate, &decision, &known, &sources, now);
        // A fact with this id was learned before, from the same words of the same message. It
        // is not new, even if it was corrected since.
        let is_known = |record: &SemanticMemory| {
            record.revision_count == 0 && user.view.read().facts.slot(&record.memory_id).is_some()
        };
        if applied.records.last().is_some_and(is_known) {
            continue;
        }
        // The last record holds the candidate; a record before it is a fact that ends.
        if let (Some(origin), Some(told), Some(record)) =
            (&step.origin, told, applied.records.last_mut())
        {
            origin.mark(told, replaced.as_ref(), record);
        }
        let same = decision.target.and_then(|target| known.get(target).copied());
        if let (Some(same), true) = (same, applied.records.is_empty()) {
            learned.ignored.push(ignored(&same.memory_id, candidate, now));
        }
        // A known fact that is confirmed may end other facts, too.
        let current = applied.records.last().or(same.filter(|_| applied.records.is_empty()));
        let current =
            current.filter(|record| record.is_current() && !is_ahead(record.valid_from, now));
        let successor = current.map(|record| record.memory_id.clone());
        let close_for = |known: &SemanticMemory, since, learned: &mut LearnedFacts| {
            let Some(successor) = &successor else { return };
            if known.memory_id != *successor {
                let closed = close(known, since, successor, now);
                let wording = Arc::new(FactWording::of(&closed.content, services.tokens));
                learned.put(closed, wording, None);
            }
        };
        // The successor's record follows, so that the feed reports both as one event.
        for (known, since) in replaced.iter().flat_map(|replaced| &replaced.facts) {
            close_for(known, *since, &mut learned);
        }
        for record in applied.records {
            let same_text = record.content == candidate.content;
            let wording = if same_text {
                Arc::clone(&step.texts.wordings[row])
            } else {
                Arc::new(FactWording::of(&record.content, services.tokens))
            };
            learned.put(record, wording, same_text.then_some(row));
        }
        if successor.is_some() && told.is_none() {
            for known in ended_by(&user.view.read(), &learned, candidate) {
                close_for(&known, candidate.valid_from, &mut learned);
            }
        }
    }
    learned
}

/// Reopens the facts that one of `near` ended on a day ahead of the clock, which was wrong when
/// that fact was learned. Returns whether there were any.
fn reopen_facts(
    services: &EngineServices,
    view: &UserView,
    near: &[Arc<SemanticMemory>],
    now: Moment,
    learned: &mut LearnedFacts,
) -> bool {
    let ahead: Vec<_> = near.iter().filter(|fact| is_ahead(fact.valid_from, now)).collect();
    if ahead.is_empty() {
        return false;
    }
    let is_ended = |fact: &&Arc<SemanticMemory>| {
        let by = fact.superseded_by.as_deref();
        fact.valid_to.is_some_and(|until| is_ahead(until, now))
            && ahead.iter().any(|ahead| by == Some(&ahead.memory_id))
            && !learned.latest.contains_key(&fact.memory_id)
    };
    let facts = view.facts.iter().map(|(_, fact)| fact);
    let reopened: Vec<_> = facts.filter(is_ended).map(|fact| restore(fact, now)).collect();
    let is_reopened = |id: &str| reopened.iter().any(|fact| fact.memory_id == id);
    let enders = ahead.into_iter().filter(|fact| superseded(fact).is_some_and(is_reopened));
    let mut changed: Vec<_> = enders.map(|fact| restore(fact, now)).collect();
    changed.iter_mut().for_each(|fact| drop(fact.metadata.remove(SUPERSEDES)));
    changed.extend(reopened);
    let is_any = !changed.is_empty();
    for fact in changed {
        let wording = Arc::new(FactWording::of(&fact.content, services.tokens));
        learned.put(fact, wording, None);
    }
    is_any
}

/// Appends the facts, together with notes that mark these episodes as learned; then updates the
/// view.
fn commit_learned(
    services: &EngineServices,
    user: &OpenUser,
    step: &LearningStep<'_>,
    learned: LearnedFacts,
    control: &dyn CallControl,
) -> Result<()> {
    // Records whose text differs from their candidate (merged or closed revisions) are embedded
    // separately.
    let others: Vec<&str> = learned
        .latest
        .values()
        .filter(|fresh| fresh.row.is_none())
        .map(|fresh| fresh.memory.content.as_str())
        .collect();
    let other_rows = services.indexing().embed(&others, control)?;
    let at = services.clock.now();
    let done = step.episodes.iter();
    let notes: Vec<StateRecord> = learned
        .ignored
        .iter()
        .cloned()
        .chain(done.map(|episode| StateRecord::Learned {
            episode_id: episode.episode_id.clone(),
            revision: episode.revision,
            at,
            pending_llm: step.pending_llm,
        }))
        .collect();
    let writer = user.lock_writer_on(step.basis, true, &services.indexing())?;
    user.store.append_semantic(&learned.records, &[], &notes)?;
    log::debug!("{} facts are in the log", learned.records.len());
    user.note_change();
    let mut view = user.view.write();
    let mut other = 0..;
    for fresh in learned.latest.values() {
        let (rows, row) = match fresh.row {
            Some(row) => (&step.texts.rows, row),
            None => (&other_rows, other.next().unwrap_or_default()),
        };
        let vector = rows.as_ref().map(|rows| rows_of(rows.view(), row..row + 1));
        view.put_read(Arc::clone(&fresh.memory), &fresh.wording, vector, &services.indexing())?;
    }
    // Revisions that were replaced within the step belong to the history, as they do after
    // reading the log.
    let replaced = learned.records.iter().filter(|record| !learned.is_latest(record));
    replaced.for_each(|record| view.facts.put_earlier(&record.memory_id, Arc::clone(record)));
    for episode in step.episodes {
        view.backlog.learned(&episode.episode_id, episode.revision, step.pending_llm);
    }
    drop(view);
    drop(writer);
    compact_if_worth(services, user, control);
    Ok(())
}

/// True for a fact that the rules learned in the model's place: all its episodes are to be learned
/// from again.
pub(super) fn is_stand_in(fact: &SemanticMemory, is_relearned: impl Fn(&str) -> bool) -> bool {
    fact.provenance.is_by_rules()
        && !fact.source_episodes.is_empty()
        && fact.source_episodes.iter().all(|id| is_relearned(id))
}

/// The note that a candidate repeats a known fact.
pub(crate) fn ignored(memory_id: &str, candidate: &FactCandidate, at: Moment) -> StateRecord {
    let source_messages = candidate.source_messages.clone();
    StateRecord::Ignored { memory_id: memory_id.to_owned(), source_messages, at }
}
