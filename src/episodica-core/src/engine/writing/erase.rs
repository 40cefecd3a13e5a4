//! Edits and deletes records. An edit keeps the earlier version; a deletion leaves no byte.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use ndarray::Array2;

use crate::boundary::{describe_reason, topic_summary};
use crate::control::CallControl;
use crate::embed::STATIC_MODEL;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::records::AnyRecord;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit_episodes::commit_episodes;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::fact_deletion::{DeletionEffects, follow_facts};
use crate::engine::writing::naming::named_statement;
use crate::error::{Error, ErrorKind, Result};
use crate::generate::episode::write_offline;
use crate::generate::facts::{EvidenceWords, next_revision};
use crate::model::{
    BY_USER, BoundaryJudgement, DeleteReport, Episode, Message, SemanticMemory, TextProvenance,
};
use crate::store::{StateRecord, UserErasure};

/// Replaces the text of a fact or the narrative of an episode; see [`Engine::update`].
///
/// [`Engine::update`]: crate::engine::Engine::update
pub(crate) fn update_text(
    services: &EngineServices,
    user: &OpenUser,
    id: &str,
    content: &str,
    control: &dyn CallControl,
) -> Result<AnyRecord> {
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    match user.find_record(id).ok_or_else(|| unknown_record(id))? {
        AnyRecord::Message(_) => Err(Error::invalid(format!(
            "a message is what was said and can't be rewritten: `{id}`"
        ))
        .with_hint("delete it, or add a new one")),
        AnyRecord::Semantic(known) => {
            let fact = replace_statement(services, user, &known, content, basis, control)?;
            Ok(AnyRecord::Semantic(fact))
        }
        AnyRecord::Episode(known) => {
            let episode = Arc::new(Episode {
                content: content.to_owned(),
                revision: known.revision + 1,
                provenance: by_user(),
                ..(*known).clone()
            });
            let edited = std::slice::from_ref(&episode);
            let learned = still_learned(services, user, edited);
            commit_episodes(services, user, edited, &learned, basis)?;
            user.note_step(true, true);
            if !learned.is_empty() {
                user.view.write().backlog.nothing_to_learn(&episode.episode_id);
            }
            compact_if_worth(services, user, control);
            Ok(AnyRecord::Episode(episode))
        }
    }
}

fn by_user() -> TextProvenance {
    TextProvenance { method: BY_USER.to_owned(), ..TextProvenance::default() }
}

/// Writes the next revision of a fact with the user's words in place of the quotation, which stays
/// in the history. Whatever ended the fact no longer does.
fn replace_statement(
    services: &EngineServices,
    user: &OpenUser,
    known: &SemanticMemory,
    content: &str,
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    let view = user.view.read();
    let content = named_statement(&view, &user.owner, &known.subject, content).into_owned();
    drop(view);
    let fact = Arc::new(SemanticMemory {
        content: content.clone(),
        quote: None,
        valid_to: None,
        superseded_by: None,
        ended_by: Vec::new(),
        links: Vec::new(),
        closed_at: None,
        value: value_in(known, &content),
        provenance: by_user(),
        ..next_revision(known, services.clock.now())
    });
    let to = services.indexing_settings();
    let rows = to.embed_batches(&[&*content], control)?;
    let writer = user.lock_writer_on(basis, true, &to)?;
    user.note_step(false, true);
    user.store.append_semantic(&[Arc::clone(&fact)], &[], &[])?;
    let rows = rows.as_ref().map(|rows| rows.view());
    user.view.write().put_fact(Arc::clone(&fact), rows, &to)?;
    user.note_change();
    drop(writer);
    compact_if_worth(services, user, control);
    Ok(fact)
}

/// The value that a fact states in new words: the words in the place of the earlier value, at
/// worst all of them. The earlier value would end no other, and be told as the one before.
fn value_in(known: &SemanticMemory, content: &str) -> String {
    let value = known.value.as_str();
    if value.is_empty() || content.to_lowercase().contains(&value.to_lowercase()) {
        return value.to_owned();
    }
    let in_place = known.content.split_once(value).and_then(|(before, after)| {
        content.strip_prefix(before)?.strip_suffix(after).filter(|new| !new.trim().is_empty())
    });
    in_place.unwrap_or(content).trim().to_owned()
}

/// Deletes records and everything derived from them, in one pass over the files; see
/// [`Engine::delete`]. `choose` selects the records. The caller holds a step, so that no other
/// caller can change them.
///
/// [`Engine::delete`]: crate::engine::Engine::delete
pub(crate) fn delete_records(
    services: &EngineServices,
    user: &OpenUser,
    choose: &dyn Fn(&OpenUser) -> Vec<AnyRecord>,
    control: &dyn CallControl,
) -> Result<DeleteReport> {
    let basis = user.decision_basis();
    let mut erasure = erasure_of(choose(user));
    if erasure == UserErasure::default() {
        return Ok(DeleteReport::default());
    }
    control.check()?;
    let still_in_messages = still_said(&user.view.read(), &erasure);
    let DeletionEffects { added, relearn } =
        follow_deletion(services, user, &mut erasure, control)?;
    let report = DeleteReport { still_in_messages, ..report_of(&erasure) };
    let fact_rows = embed_changed(services, user, &erasure.replace_semantic, control)?;
    let writer = user.lock_writer_on(basis, true, &services.indexing_settings())?;
    // The erasure removes the files of answers and traces; data kept in memory would restore
    // them.
    user.notes.lock().close_files();
    user.note_step(true, true);
    user.progress.forget_stated();
    *user.recalled.lock() = Default::default();
    services.counters.forget_user(&user.owner.user);
    erasure.at = Some(services.clock.now());
    let gone = [&erasure.messages, &erasure.episodes, &erasure.semantic].into_iter().flatten();
    services.feed.note_deleted(&user.owner, gone);
    let learned = learned_after(services, user, &erasure.replace_episodes, &relearn);
    // Facts learned again are written first: an interrupted deletion loses none of them.
    user.store.append_semantic(&added, &[], &learned)?;
    {
        let (mut view, to) = (user.view.write(), services.indexing_settings());
        for fact in &added {
            let row = view.quoted_vector(fact);
            view.put_fact(Arc::clone(fact), row.as_ref().map(|row| row.view()), &to)?;
        }
    }
    // The erasure removes the counts; those of the remaining records are written again.
    let uses = services.store.read_uses(&user.owner).unwrap_or_default();
    let outcome = user.store.erase_records(erasure.clone());
    if let Err(error) = &outcome
        && !user.store.is_erasing()
    {
        // An internal error means that the logs have an episode with the message and the view
        // does not: the snapshot from which the view was restored was changed.
        let view = user.view.read();
        if error.kind() == ErrorKind::Internal && !view.messages.shelved_messages().is_empty() {
            view.messages.shelved_messages().reject_snapshot();
        }
        return outcome.map(|files| DeleteReport { files, ..report });
    }
    // The records are erased from the disk, or will be before the next append. So they leave
    // memory, even if the caller gives up now.
    let to = services.indexing_settings();
    {
        let mut view = user.view.write();
        view.apply_erasure(&erasure, fact_rows.as_ref(), &to)?;
        for note in &learned {
            view.backlog.note_learned(note);
        }
    }
    user.note_change();
    user.uses.add_counts(uses);
    drop(writer);
    user.measure_size();
    let files = outcome?;
    // The deletion has succeeded: a failure here must not be reported as its failure. (Vectors of
    // the table of tokens are computed faster than they are written.)
    let is_slow = services.embedder.model_name() != STATIC_MODEL;
    let vectors = if is_slow { user.save_vectors(&services.store, &to) } else { Ok(()) };
    for error in [user.save_uses(&services.store), vectors].into_iter().filter_map(Result::err) {
        services.counters.note_failure(Some(&user.owner.user), &error);
    }
    Ok(DeleteReport { files, ..report })
}

/// Reports the records that [`delete_records`] would remove and rewrite now. Changes
/// nothing.
pub(crate) fn preview_deletion(
    services: &EngineServices,
    user: &OpenUser,
    choose: &dyn Fn(&OpenUser) -> Vec<AnyRecord>,
    control: &dyn CallControl,
) -> Result<DeleteReport> {
    let mut erasure = erasure_of(choose(user));
    if erasure == UserErasure::default() {
        return Ok(DeleteReport::default());
    }
    let still_in_messages = still_said(&user.view.read(), &erasure);
    follow_deletion(services, user, &mut erasure, control)?;
    Ok(DeleteReport { still_in_messages, ..report_of(&erasure) })
}

/// The messages that an erasure of facts leaves, and that say what the facts say.
fn still_said(view: &UserView, erasure: &UserErasure) -> Vec<String> {
    let mut told: HashSet<&str> = erasure.messages.iter().map(String::as_str).collect();
    let mut still = Vec::new();
    for fact in erasure.semantic.iter().filter_map(|id| view.facts.by_id(id)) {
        for id in &fact.source_messages {
            if view.messages.slot_of(id).is_some() && told.insert(id.as_str()) {
                still.push(id.clone());
            }
        }
    }
    still
}

/// Adds to an erasure its consequences.
fn follow_deletion(
    services: &EngineServices,
    user: &OpenUser,
    erasure: &mut UserErasure,
    control: &dyn CallControl,
) -> Result<DeletionEffects> {
    let view = user.view.read();
    follow_episodes(&view, erasure, control)?;
    let effects = follow_facts(services, (&user.owner, &view), erasure, HashSet::new(), control)?;
    let seen = without_shown(&view, erasure, control)?;
    erasure.replace_episodes.extend(seen);
    Ok(effects)
}

/// The further episodes that a model wrote while it was shown something that goes, without that.
pub(crate) fn without_shown(
    view: &UserView,
    erasure: &UserErasure,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let gone: HashSet<&String> = erasure.messages.iter().chain(&erasure.semantic).collect();
    let without = |(episode, tells): (Arc<Episode>, bool)| {
        if tells {
            let left = episode.original_messages.clone();
            return Arc::new(episode_without(&episode, left));
        }
        let mut left = (*episode).clone();
        left.shown.retain(|id| !gone.contains(id));
        Arc::new(left)
    };
    Ok(shown_to(view, erasure, control)?.into_iter().map(without).collect())
}

/// The further episodes that a model wrote while it was shown something that goes, and whether
/// their texts may tell of it: of a message near to theirs, and of others and facts with words that
/// their own messages lack.
pub(crate) fn shown_to(
    view: &UserView,
    erasure: &UserErasure,
    control: &dyn CallControl,
) -> Result<Vec<(Arc<Episode>, bool)>> {
    let slot_of = |id: &String| view.messages.slot_of(id);
    let messages: HashMap<&String, (u32, String)> = erasure
        .messages
        .iter()
        .filter_map(|id| {
            let slot = slot_of(id)?;
            let earlier = view.messages.earlier_versions(id);
            let versions = earlier.iter().chain([view.messages.get(slot)]);
            let texts: Vec<&str> = versions.map(|version| &*version.content).collect();
            Some((id, (slot, texts.join("\n"))))
        })
        .collect();
    let facts = erasure.semantic.iter().filter_map(|id| Some((id, view.facts.by_id(id)?)));
    let facts: HashMap<&String, &Arc<SemanticMemory>> = facts.collect();
    let replaced = erasure.replace_episodes.iter().map(|episode| &episode.episode_id);
    let done: HashSet<&String> = erasure.episodes.iter().chain(replaced).collect();
    let mut found = Vec::new();
    for slot in view.episodes.current_slots() {
        if (slot as usize).is_multiple_of(FOLLOW_BATCH) {
            control.check()?;
        }
        let Some(episode) = view.episodes.get(slot) else { continue };
        let mut seen = episode.shown.iter();
        if done.contains(&episode.episode_id)
            || !seen.any(|id| messages.contains_key(id) || facts.contains_key(id))
        {
            continue;
        }
        let own: Vec<&Message> = episode.original_messages.iter().map(|one| &**one).collect();
        let words = EvidenceWords::of(&own);
        // Earlier texts are history.
        let earlier = view.episodes.earlier_revisions(&episode.episode_id);
        let revisions = earlier.iter().chain([episode]);
        let told: Vec<&str> =
            revisions.flat_map(|one| [&*one.title, &*one.summary, &*one.content]).collect();
        let near = own.iter().filter_map(|one| slot_of(&one.message_id)).collect::<Vec<u32>>();
        let tells = |id: &String| match (messages.get(id), facts.get(id)) {
            (Some((slot, text)), _) => {
                near.iter().any(|own| own.abs_diff(*slot) <= NEAR)
                    || words.lack_words_in(&told, text)
            }
            (None, Some(fact)) => words.lack_words_in(&told, &fact.content),
            (None, None) => false,
        };
        let tells = episode.shown.iter().any(tells);
        found.push((Arc::clone(episode), tells));
    }
    Ok(found)
}

/// The largest distance of messages that one question shows together.
const NEAR: u32 = 64;

/// A vector for each of these facts; `None` if no text has changed.
fn embed_changed(
    services: &EngineServices,
    user: &OpenUser,
    facts: &[Arc<SemanticMemory>],
    control: &dyn CallControl,
) -> Result<Option<Array2<f32>>> {
    let is_changed = |fact: &Arc<SemanticMemory>| {
        let view = user.view.read();
        view.facts.by_id(&fact.memory_id).is_none_or(|before| before.content != fact.content)
    };
    if !facts.iter().any(is_changed) {
        return Ok(None);
    }
    let texts: Vec<&str> = facts.iter().map(|fact| fact.content.as_str()).collect();
    services.indexing_settings().embed_batches(&texts, control)
}

/// Notes that these next revisions need no learning: they contain the messages already learned
/// from, or fewer.
pub(crate) fn still_learned(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
) -> Vec<StateRecord> {
    let (view, at) = (user.view.read(), services.clock.now());
    let learned = episodes
        .iter()
        .filter(|episode| !view.backlog.unlearned_episodes().contains_key(&episode.episode_id));
    let note = |episode: &Arc<Episode>| StateRecord::Learned {
        episode_id: episode.episode_id.clone(),
        revision: episode.revision,
        at,
        pending_llm: view.backlog.episodes_to_relearn().contains(&episode.episode_id),
    };
    learned.map(note).collect()
}

/// [`still_learned`] after a deletion; the model is asked again about the episodes in `relearn`.
pub(crate) fn learned_after(
    services: &EngineServices,
    user: &OpenUser,
    replaced: &[Arc<Episode>],
    relearn: &BTreeSet<String>,
) -> Vec<StateRecord> {
    let mut notes = still_learned(services, user, replaced);
    let (view, at) = (user.view.read(), services.clock.now());
    for id in relearn {
        let known = notes.iter_mut().find_map(|note| match note {
            StateRecord::Learned { episode_id, pending_llm, .. } if episode_id == id => {
                Some(pending_llm)
            }
            _ => None,
        });
        if let Some(pending_llm) = known {
            *pending_llm = true;
        } else if let Some(episode) = view.episodes.by_id(id)
            && !view.backlog.unlearned_episodes().contains_key(id)
        {
            let (episode_id, revision) = (id.clone(), episode.revision);
            notes.push(StateRecord::Learned { episode_id, revision, at, pending_llm: true });
        }
    }
    notes
}

fn report_of(erasure: &UserErasure) -> DeleteReport {
    DeleteReport {
        messages: erasure.messages.len(),
        episodes: erasure.episodes.len(),
        semantic_memories: erasure.semantic.len(),
        episodes_rewritten: erasure.replace_episodes.len(),
        semantic_memories_rewritten: erasure.replace_semantic.len(),
        files: 0,
        message_ids: erasure.messages.clone(),
        episode_ids: erasure.episodes.clone(),
        fact_ids: erasure.semantic.clone(),
        still_in_messages: Vec::new(),
    }
}

pub(crate) fn unknown_record(id: &str) -> Error {
    Error::invalid(format!("no record of this user has the id: `{id}`"))
}

/// The erasure of these records, each named once.
fn erasure_of(records: Vec<AnyRecord>) -> UserErasure {
    let (mut erasure, mut messages) = (UserErasure::default(), HashSet::new());
    let mut add = |erasure: &mut UserErasure, message: &Message| {
        if messages.insert(message.message_id.clone()) {
            erasure.messages.push(message.message_id.clone());
        }
    };
    for record in records {
        match record {
            AnyRecord::Semantic(fact) => erasure.semantic.push(fact.memory_id.clone()),
            AnyRecord::Message(message) => add(&mut erasure, &message),
            AnyRecord::Episode(episode) => {
                episode.original_messages.iter().for_each(|message| add(&mut erasure, message));
                erasure.episodes.push(episode.episode_id.clone());
            }
        }
    }
    for ids in [&mut erasure.semantic, &mut erasure.episodes] {
        let mut seen = HashSet::new();
        ids.retain(|id| seen.insert(id.clone()));
    }
    erasure
}

/// Records read between two checks for cancellation.
const FOLLOW_BATCH: usize = 512;

/// Adds to an erasure the episodes that lose messages: an episode is rewritten from the messages
/// left, or deleted without any.
fn follow_episodes(
    view: &UserView,
    erasure: &mut UserErasure,
    control: &dyn CallControl,
) -> Result<()> {
    let messages: HashSet<&str> = erasure.messages.iter().map(String::as_str).collect();
    let episodes: HashSet<&str> = erasure.episodes.iter().map(String::as_str).collect();
    let slots: HashSet<u32> =
        messages.iter().filter_map(|message| view.messages.slot_of(message)).collect();
    let (mut gone, mut replaced) = (Vec::new(), Vec::new());
    for slot in view.episodes.current_slots() {
        if (slot as usize).is_multiple_of(FOLLOW_BATCH) {
            control.check()?;
        }
        if !view.members.get(slot).iter().any(|member| slots.contains(member)) {
            continue;
        }
        let Some(episode) = view.episodes.get(slot) else { continue };
        if episodes.contains(episode.episode_id.as_str()) {
            continue;
        }
        let left: Vec<Arc<Message>> = episode
            .original_messages
            .iter()
            .filter(|message| !messages.contains(message.message_id.as_str()))
            .cloned()
            .collect();
        if left.is_empty() {
            gone.push(episode.episode_id.clone());
        } else {
            replaced.push(Arc::new(episode_without(episode, left)));
        }
    }
    erasure.episodes.extend(gone);
    erasure.replace_episodes.extend(replaced);
    Ok(())
}

/// The next revision of an episode: all texts rewritten from the remaining messages.
fn episode_without(episode: &Episode, left: Vec<Arc<Message>>) -> Episode {
    let text = write_offline(&left);
    let boundary =
        BoundaryJudgement { topic_summary: topic_summary(&left), ..episode.boundary.clone() };
    let times = || left.iter().map(|message| message.timestamp);
    let timestamp = times().min().unwrap_or(episode.timestamp);
    let ended_at = times().max().unwrap_or(episode.ended_at);
    let session_id = left.first().and_then(|message| message.session_id.clone());
    let session_id =
        session_id.filter(|id| left.iter().all(|message| message.session_id.as_ref() == Some(id)));
    Episode {
        title: text.title,
        summary: text.summary,
        content: text.content,
        entities: text.entities,
        message_count: left.len(),
        boundary_reason: describe_reason(boundary.reason).to_owned(),
        boundary,
        original_messages: left,
        timestamp,
        ended_at,
        session_id,
        revision: episode.revision + 1,
        provenance: TextProvenance { method: "offline".to_owned(), ..TextProvenance::default() },
        shown: Vec::new(),
        ..episode.clone()
    }
}
