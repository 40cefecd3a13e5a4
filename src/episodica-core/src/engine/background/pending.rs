//! Processes a user's backlog in steps, in the background or after a crash or an outage. Each step
//! takes the user's turn, so a caller waits for at most one step.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::control::CallControl;
use crate::engine::asking::conversation::{model_session, write_trace};
use crate::engine::background::work_status::WorkOutcome;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit::WORTH_A_REQUEST;
use crate::engine::writing::commit_episodes::commit_episodes;
use crate::engine::writing::compose::{ComposedEpisode, OUTAGE, compose_texts, shown_in_all};
use crate::engine::writing::draft::decide_anew;
use crate::engine::writing::edit::follow_edits;
use crate::engine::writing::extract::{learn_by_model, learn_from_written, shows_known};
use crate::engine::writing::form::{
    BufferCut, MOST_DRAFTS, form_episodes, form_some, form_user, settle_sessions,
};
use crate::engine::writing::ingest::embed_messages;
use crate::engine::writing::learn::{learn_by_rules, unlearned_episodes};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Episode, Message, REFUSED};
use crate::store::{DeadLetter, TurnHolder};

/// How long background work waits for another process that forms memories of the same user.
const TURN_PATIENCE: Duration = Duration::from_secs(60);
const TURN_PAUSE: Duration = Duration::from_millis(20);

/// Which texts the model is to write again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingRetry {
    /// Texts that the rules wrote during an outage. After an unusable answer or a refusal, the
    /// model would only answer the same again.
    Outages,
    All,
}

/// Processes a user's backlog, and repeats work that another process interfered with. Stops
/// after a step if `is_crowded`, which means that other users wait.
pub(crate) fn work_on(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
    is_crowded: &dyn Fn() -> bool,
) -> Result<WorkOutcome> {
    if services.derives_alone() {
        return derive_rest(services, user, control);
    }
    decide_anew(services, control, || work_on_once(services, user, control, is_crowded))
}

/// Derives what additions of a message or two left. The next operation repeats what fails.
fn derive_rest(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<WorkOutcome> {
    if let Err(error) = form_user(services, user, BufferCut::Finished, control) {
        control.check()?;
        note_unfinished(services, user, &error);
    }
    Ok(WorkOutcome::Done)
}

/// Notes for `health` why something was not derived, unless another process was faster, or the
/// user was deleted or opened again.
pub(crate) fn note_unfinished(services: &EngineServices, user: &OpenUser, error: &Error) {
    if !matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Closed) {
        services.counters.note_failure(Some(&user.owner.user), error);
    }
}

/// Waits for the turn among processes, so that two processes don't pay a model for the same
/// work. Returns `None` after [`TURN_PATIENCE`], and without a model: work without the turn is
/// correct, but may be paid for twice.
fn take_turn(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<Option<TurnHolder>> {
    let until = Instant::now() + TURN_PATIENCE;
    while services.llm.is_some() && Instant::now() < until {
        if let turn @ TurnHolder::Mine(_) = user.store.try_turn()? {
            // The previous holder may have formed memories.
            user.refresh_view(&services.indexing_settings(), control)?;
            return Ok(Some(turn));
        }
        control.check()?;
        std::thread::sleep(TURN_PAUSE);
    }
    Ok(None)
}

fn work_on_once(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
    is_crowded: &dyn Fn() -> bool,
) -> Result<WorkOutcome> {
    let _turn_among_processes = take_turn(services, user, control)?;
    {
        let _turn = user.turns.take_turn(control)?;
        follow_edits(services, user, control)?;
    }
    // A model finds boundaries without vectors, so a remote embedder gets the messages later,
    // together with their episodes.
    let embeds_first = services.llm.is_none() || services.embedder.is_local();
    if embeds_first {
        let _turn = user.turns.take_turn(control)?;
        embed_messages(services, user, control)?;
    }
    let closing = user.view.read().backlog.closing_sessions().clone();
    for session in closing {
        let _turn = user.turns.take_turn(control)?;
        form_episodes(services, user, BufferCut::Session(&session), control)?;
    }
    loop {
        let formed = {
            let _turn = user.turns.take_turn(control)?;
            form_some(services, user, BufferCut::Finished, control)?
        };
        while learn_next(services, user, control)? {
            if is_crowded() {
                return Ok(WorkOutcome::More);
            }
        }
        if formed.is_empty() || services.llm.is_none() {
            break;
        }
        if is_crowded() {
            return Ok(WorkOutcome::More);
        }
    }
    {
        let _turn = user.turns.take_turn(control)?;
        settle_sessions(services, user, control)?;
    }
    let needs_model = write_again(services, user, PendingRetry::Outages, control)?;
    while learn_next(services, user, control)? {}
    if !embeds_first && waits_for_more(user) {
        return Ok(WorkOutcome::Lingers);
    }
    let missing = {
        let _turn = user.turns.take_turn(control)?;
        embed_messages(services, user, control)?;
        user.embed_missing(&services.indexing_settings(), control)?
    };
    Ok(match (missing, needs_model) {
        (1.., _) => WorkOutcome::Failed,
        (0, true) => WorkOutcome::NeedsModel,
        (0, false) => WorkOutcome::Done,
    })
}

/// True if only a few messages lack vectors, and messages have arrived since the last check:
/// more may follow, and one request embeds them all.
fn waits_for_more(user: &OpenUser) -> bool {
    let view = user.view.read();
    let (waiting, all) = (view.backlog.unembedded_slots().len(), view.messages.len());
    let before = user.progress.lingered.swap(all, Ordering::Relaxed);
    (1..WORTH_A_REQUEST).contains(&waiting) && before != all
}

/// Learns from the next episode that was not learned from yet; the rules learn from all such
/// episodes at once. Returns `false` if no such episode is left.
fn learn_next(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<bool> {
    let _turn = user.turns.take_turn(control)?;
    let Some(episode) = unlearned_episodes(user).into_iter().next() else { return Ok(false) };
    match model_session(services, user, control) {
        Some(mut conversation) => learn_by_model(services, &mut conversation, &episode)?,
        None => learn_by_rules(services, user, control)?,
    }
    Ok(true)
}

/// Has the model redo the work of the rules: first the texts of episodes, then facts. Goes on
/// after an episode without an answer, but not after a whole batch without one. Returns `true`
/// if work is left for a working model.
fn write_again(
    services: &EngineServices,
    user: &OpenUser,
    retry: PendingRetry,
    control: &dyn CallControl,
) -> Result<bool> {
    let Some(mut conversation) = model_session(services, user, control) else { return Ok(false) };
    let mut unanswered = false;
    let wanted: Vec<Arc<Episode>> = unwritten_episodes(user, retry);
    let most =
        if shows_known(services) { 1 } else { MOST_DRAFTS.max(services.config.llm_concurrency) };
    for some in wanted.chunks(most) {
        if !services.is_model_available() {
            return Ok(true);
        }
        let _turn = user.turns.take_turn(control)?;
        let basis = user.decision_basis();
        let current = |episode: &Arc<Episode>| {
            let view = user.view.read();
            view.episodes.by_id(&episode.episode_id).filter(|now| is_by_rules(now)).cloned()
        };
        let episodes: Vec<Arc<Episode>> = some.iter().filter_map(current).collect();
        let messages: Vec<&[Arc<Message>]> =
            episodes.iter().map(|episode| &episode.original_messages[..]).collect();
        let texts = compose_texts(services, user, &messages, control)?;
        let asked = texts.len();
        let answered = texts.iter().filter(|text| text.provenance.fallback != OUTAGE).count();
        for (episode, text) in episodes.into_iter().zip(texts) {
            let written = write_over(services, user, &episode, text, basis)?;
            if shows_known(services) {
                learn_from_written(services, user, written.as_slice(), control)?;
            }
        }
        if answered == 0 && asked > 0 {
            return Ok(true);
        }
        unanswered |= answered < asked;
    }
    let relearn: Vec<String> =
        user.view.read().backlog.episodes_to_relearn().iter().cloned().collect();
    for id in relearn {
        if !services.is_model_available() {
            return Ok(true);
        }
        let _turn = user.turns.take_turn(control)?;
        let waits = || user.view.read().backlog.episodes_to_relearn().contains(&id);
        let episode = user.view.read().episodes.by_id(&id).cloned();
        if let Some(episode) = episode.filter(|_| waits()) {
            learn_by_model(services, &mut conversation, &episode)?;
            unanswered |= waits();
        }
    }
    Ok(unanswered)
}

/// Replaces the rules' text of an episode by the model's and returns the new episode; `None`
/// without a usable answer: the text stays.
fn write_over(
    services: &EngineServices,
    user: &OpenUser,
    episode: &Arc<Episode>,
    text: ComposedEpisode,
    basis: DecisionBasis,
) -> Result<Option<Arc<Episode>>> {
    write_trace(services, user, text.asked.with_ids(std::slice::from_ref(&episode.episode_id)));
    if text.provenance.fallback == OUTAGE || text.provenance.fallback == episode.provenance.fallback
    {
        return Ok(None);
    }
    let rewritten = Arc::new(Episode {
        shown: shown_in_all(episode, &text.shown),
        title: text.text.title,
        summary: text.text.summary,
        content: text.text.content,
        entities: text.text.entities,
        provenance: text.provenance,
        revision: episode.revision + 1,
        ..(**episode).clone()
    });
    services.counters.count_event("episodes_written_again", 1);
    log::info!("{} wrote an episode again after the rules", rewritten.provenance.method);
    let written = std::slice::from_ref(&rewritten);
    user.progress.keep_stated(written, vec![text.stated]);
    commit_episodes(services, user, written, &[], basis)?;
    Ok(Some(rewritten))
}

/// Episodes that the model is to write again, in the order of their slots.
fn unwritten_episodes(user: &OpenUser, retry: PendingRetry) -> Vec<Arc<Episode>> {
    let view = user.view.read();
    let (unwritten, refused) = (view.backlog.unwritten_episodes(), view.backlog.refused_episodes());
    let ids = unwritten.iter().chain(refused.iter().filter(|_| retry == PendingRetry::All));
    let mut slots: Vec<u32> = ids.filter_map(|id| view.episodes.slot_by_id(id)).collect();
    slots.sort_unstable();
    slots.dedup();
    let episodes = slots.into_iter().filter_map(|slot| view.episodes.get(slot).cloned());
    let is_wanted = |episode: &Arc<Episode>| {
        retry == PendingRetry::All || episode.provenance.fallback == OUTAGE
    };
    episodes.filter(is_wanted).collect()
}

/// Continues work that a crash interrupted, during the caller's call; for configurations
/// without background work.
pub(crate) fn resume_work(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    {
        let _turn = user.turns.take_turn(control)?;
        follow_edits(services, user, control)?;
    }
    let (closing, has_unlearned) = {
        let view = user.view.read();
        (view.backlog.closing_sessions().clone(), !view.backlog.unlearned_episodes().is_empty())
    };
    for session in closing {
        form_user(services, user, BufferCut::Session(&session), control)?;
    }
    if has_unlearned {
        let _turn = user.turns.take_turn(control)?;
        decide_anew(services, control, || learn_by_rules(services, user, control))?;
        settle_sessions(services, user, control)?;
    }
    Ok(())
}

/// Does all pending work, and asks again where the model refused or its answer was unusable.
pub(crate) fn retry_all(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    work_on(services, user, control, &|| false)?;
    decide_anew(services, control, || {
        write_again(services, user, PendingRetry::All, control)?;
        while learn_next(services, user, control)? {}
        Ok(())
    })
}

/// Writes dead letters for the records that lack a vector after the last attempt.
pub(crate) fn give_up_vectors(services: &EngineServices, user: &OpenUser) {
    let last = services.counters.last_failure();
    let error = last.as_deref().unwrap_or("the embedder failed").to_owned();
    let at = services.clock.now();
    let letter = |id: &str, kind: &str| DeadLetter {
        id: id.to_owned(),
        kind: kind.to_owned(),
        layer: String::new(),
        error: error.clone(),
        attempts: 4,
        at,
    };
    let missing = user.view.read().without_vector();
    let letters: Vec<DeadLetter> =
        missing.iter().map(|one| letter(&one.id, one.field.kind_name())).collect();
    services.counters.count_event("dead_letters", letters.len() as u64);
    if !letters.is_empty() {
        log::error!(
            "{} records could not be indexed and wait for retry_pending: {error}",
            letters.len()
        );
    }
    if letters.is_empty() || user.place.leaving.load(Ordering::SeqCst) {
        return;
    }
    let Ok(_writer) = user.lock_writer(&services.indexing_settings()) else { return };
    let outcome = services.store.dead_letters(&user.owner).and_then(|(mut log, known)| {
        let new: Vec<DeadLetter> = letters
            .into_iter()
            .filter(|letter| !known.iter().any(|other| other.id == letter.id))
            .collect();
        log.append_letters(&new)
    });
    if let Err(error) = outcome {
        services.counters.note_failure(Some(&user.owner.user), &error);
    }
}

/// Removes the dead letters once every record has its vectors.
pub(crate) fn settle_letters(
    services: &EngineServices,
    user: &OpenUser,
    missing: usize,
) -> Result<()> {
    if missing > 0 {
        return Ok(());
    }
    let _writer = user.lock_writer(&services.indexing_settings())?;
    let (mut letters, known) = services.store.dead_letters(&user.owner)?;
    if known.is_empty() { Ok(()) } else { letters.remove_replayed(&|_| true) }
}

/// True if the rules wrote an episode in place of a model.
fn is_by_rules(episode: &Episode) -> bool {
    episode.provenance.pending_llm || episode.provenance.fallback == REFUSED
}
