//! Forms episodes from buffered messages: cuts, composes, appends, indexes. Called by
//! `add_messages` (or the background work), `flush` and `close_session`.

use std::sync::Arc;

use ndarray::Array2;

use crate::boundary::{self, BufferSegment, FeatureCache};
use crate::clock::Moment;
use crate::config::{BoundaryMode, MemoryConfig};
use crate::control::{CallControl, run_cancellable};
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit::write_down;
use crate::engine::writing::compose::asked_at_once;
use crate::engine::writing::cut::has_told;
use crate::engine::writing::draft::{EpisodeDraft, bytes_of, decide_anew};
use crate::engine::writing::edit::follow_edits;
use crate::engine::writing::extract::shows_known;
use crate::engine::writing::ingest::embed_messages;
use crate::engine::writing::learn::learn_by_rules;
use crate::error::Result;
use crate::model::{BoundaryReason, Episode, Message};
use crate::parallel;
use crate::store::{SessionState, StateRecord};

/// Episodes after which no more are cut before a model composes them, or `llm_concurrency` if that
/// is larger. The last cut may give a few more.
pub(crate) const MOST_DRAFTS: usize = 8;

/// How much of the buffer is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BufferCut<'a> {
    /// Only segments whose end is certain.
    Finished,
    All,
    Session(&'a str),
}

/// The buffered messages of one session.
pub(crate) struct SessionGroup {
    pub messages: Vec<Arc<Message>>,
    pub vectors: Option<Array2<f32>>,
    /// Why the rest of the group becomes an episode too; `None` = it stays in the buffer.
    pub complete: Option<BoundaryReason>,
}

/// Marks closed sessions without pending work as settled. The caller holds the user's
/// `FormingTurn`.
pub(crate) fn settle_sessions(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    let done: Vec<String> = {
        let view = user.view.read();
        let backlog = &view.backlog;
        if backlog.closing_sessions().is_empty() || !backlog.unlearned_episodes().is_empty() {
            return Ok(());
        }
        let is_open = |session: &String| {
            let mut buffered = backlog.buffered_slots().iter().map(|slot| view.messages.get(*slot));
            buffered.any(|message| message.session_id.as_deref() == Some(session))
        };
        backlog.closing_sessions().iter().filter(|id| !is_open(id)).cloned().collect()
    };
    for session in done {
        mark_session(services, user, &session, SessionState::Indexing)?;
        // While an embedder fails, records are found by their words only. The session is
        // settled once all have vectors.
        if user.embed_missing(&services.indexing_settings(), control)? > 0 {
            continue;
        }
        mark_session(services, user, &session, SessionState::Closed)?;
        user.view.write().backlog.session_settled(&session);
    }
    Ok(())
}

pub(crate) fn mark_session(
    services: &EngineServices,
    user: &OpenUser,
    session_id: &str,
    state: SessionState,
) -> Result<()> {
    let record =
        StateRecord::Session { session_id: session_id.to_owned(), state, at: services.clock.now() };
    let _writer = user.lock_writer(&services.indexing_settings())?;
    user.store.append_messages(&[], &[record]).map(drop)
}

/// Cuts the buffer and forms episodes. Without background work it also learns from them;
/// otherwise the caller queues the user.
pub(crate) fn form_user(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let _turn = match cut {
        BufferCut::Finished => match user.turns.take_for_new(control)? {
            Some(turn) => turn,
            None => return Ok(Vec::new()),
        },
        _ => user.turns.take_turn(control)?,
    };
    form_in_turn(services, user, cut, control)
}

/// [`form_user`] for a caller who holds the user's `FormingTurn`.
pub(crate) fn form_in_turn(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    // If several callers add at once, the first caller forms the episodes for all of them.
    let slots = {
        let view = user.view.read();
        let (backlog, slots) = (&view.backlog, view.messages.slot_count() as u32);
        let is_settled = backlog.unembedded_slots().is_empty()
            && backlog.unlearned_episodes().is_empty()
            && backlog.awaited_edits().is_empty();
        if cut == BufferCut::Finished && is_settled && view.formed == slots {
            drop(view);
            user.view.write().derived = slots;
            return Ok(Vec::new());
        }
        slots
    };
    follow_edits(services, user, control)?;
    embed_messages(services, user, control)?;
    let episodes = form_episodes(services, user, cut, control)?;
    if let (BufferCut::Session(session), false) = (cut, episodes.is_empty()) {
        mark_session(services, user, session, SessionState::Extracting)?;
    }
    if !services.has_background_work() {
        decide_anew(services, control, || learn_by_rules(services, user, control))?;
        settle_sessions(services, user, control)?;
    }
    if !matches!(cut, BufferCut::Session(_)) {
        let mut view = user.view.write();
        let first = view.backlog.unembedded_slots().first().copied();
        view.formed = first.map_or(slots, |first| slots.min(first));
        view.derived = slots;
    }
    Ok(episodes)
}

/// Forms all episodes that can be cut. The caller holds the user's `FormingTurn`.
pub(crate) fn form_episodes(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let mut episodes = form_some(services, user, cut, control)?;
    if services.llm.is_some() {
        loop {
            let more = form_some(services, user, cut, control)?;
            if more.is_empty() {
                break;
            }
            episodes.extend(more);
        }
    }
    Ok(episodes)
}

/// Forms the episodes that can be cut, with a model only a few. The caller holds the user's
/// `FormingTurn`.
pub(crate) fn form_some(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let mut episodes = Vec::new();
    decide_anew(services, control, || form_once(services, user, cut, control, &mut episodes))?;
    Ok(episodes)
}

/// Adds the committed episodes to `formed`, even if another process then interferes.
fn form_once(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
    control: &dyn CallControl,
    formed: &mut Vec<Arc<Episode>>,
) -> Result<()> {
    let basis = user.decision_basis();
    let groups = session_groups(services, user, cut);
    let by_model = matches!(
        services.config.boundary_mode,
        BoundaryMode::Auto | BoundaryMode::Window | BoundaryMode::Message
    );
    let drafts: Vec<EpisodeDraft> = match services.llm {
        Some(_) if by_model => {
            let cut = cut_by_model(services, user, &groups, control);
            // Records that were shown without being cut are shown again.
            cut.inspect_err(|_| user.progress.seen.lock().clear())?
        }
        _ => {
            let (readings, config) = (Arc::clone(&user.progress.readings), services.config.clone());
            let messages = groups.iter().flat_map(|group| &group.messages);
            run_cancellable(bytes_of(messages), control, move || {
                let cut = |group| cut_by_rules(&readings, &config, group);
                parallel::map_items(groups, 1, cut).into_iter().flatten().collect()
            })?
        }
    };
    let outcome = write_down(services, user, drafts, basis, control, formed);
    if outcome.is_err() {
        // The rest is cut again; the answers are in the cache.
        user.progress.seen.lock().clear();
    }
    outcome
}

/// Cuts the groups by the model, several at once. What a window tells is learned before the next
/// window of its session is shown.
fn cut_by_model(
    services: &EngineServices,
    user: &OpenUser,
    groups: &[SessionGroup],
    control: &dyn CallControl,
) -> Result<Vec<EpisodeDraft>> {
    let at_once = services.config.llm_concurrency;
    let most = MOST_DRAFTS.max(at_once);
    let mut drafts: Vec<EpisodeDraft> = Vec::new();
    for some in groups.chunks(at_once) {
        let room = most.saturating_sub(drafts.len());
        if room == 0 || shows_known(services) && has_told(&drafts) {
            break;
        }
        let share = room.div_ceil(some.len());
        let cut = asked_at_once(services, user, some, control, |conversation, group| {
            conversation.cut_episodes(group, share)
        })?;
        drafts.extend(cut.into_iter().flatten());
    }
    Ok(drafts)
}

/// The buffer by sessions, with vectors if all messages of a session have one.
fn session_groups(
    services: &EngineServices,
    user: &OpenUser,
    cut: BufferCut<'_>,
) -> Vec<SessionGroup> {
    let view = user.view.read();
    // For each buffered message, the latest time among it and the messages that arrived after
    // it.
    let mut newest: Vec<(u32, Moment)> = view
        .backlog
        .buffered_slots()
        .iter()
        .rev()
        .map(|slot| (*slot, view.messages.get(*slot).timestamp))
        .collect();
    for at in 1..newest.len() {
        newest[at].1 = newest[at].1.max(newest[at - 1].1);
    }
    let newest_since = |slot: u32| {
        newest.binary_search_by(|(other, _)| slot.cmp(other)).map(|at| newest[at].1).ok()
    };
    let gap = services.config.time_gap_minutes * 60.0;
    let mut groups = Vec::new();
    for slots in view.buffered_sessions() {
        let messages: Vec<Arc<Message>> =
            slots.iter().map(|slot| Arc::clone(view.messages.get(*slot))).collect();
        let Some(last) = messages.last() else { continue };
        let session = last.session_id.as_deref();
        // Another session went on for longer than the gap, so this session has ended without
        // being closed. Messages that arrived before its end do not count: an import may add
        // old sessions after new ones.
        let newest = slots.last().and_then(|slot| newest_since(*slot));
        let left = session.is_some()
            && newest.is_some_and(|newest| newest.seconds_since(last.timestamp) > gap);
        // The session has no new messages since the last check.
        if cut == BufferCut::Finished
            && !left
            && !services.has_background_work()
            && slots.last().is_some_and(|slot| *slot < view.formed)
        {
            continue;
        }
        let complete = match cut {
            BufferCut::All => Some(BoundaryReason::Flush),
            BufferCut::Session(wanted) if session == Some(wanted) => Some(BoundaryReason::Session),
            BufferCut::Session(_) => continue,
            BufferCut::Finished if left => Some(BoundaryReason::Session),
            BufferCut::Finished => None,
        };
        let vectors = view.message_vectors(&slots);
        groups.push(SessionGroup { messages, vectors, complete });
    }
    groups
}

fn cut_by_rules(
    readings: &FeatureCache,
    config: &MemoryConfig,
    group: SessionGroup,
) -> Vec<EpisodeDraft> {
    let vectors = group.vectors.as_ref().map(|rows| rows.view());
    let segments = match group.complete {
        Some(reason) => boundary::flush_segments(&group.messages, vectors, config, reason),
        None => boundary::segments_read(readings, &group.messages, vectors, config),
    };
    let cut: usize = segments.iter().map(|segment| segment.length).sum();
    readings.forget_messages(&group.messages[..cut.min(group.messages.len())]);
    let mut rest = group.messages.into_iter();
    let draft = |segment: BufferSegment| EpisodeDraft {
        messages: rest.by_ref().take(segment.length).collect(),
        segment,
        asked: QuestionTrace::default(),
        told: None,
    };
    segments.into_iter().map(draft).collect()
}
