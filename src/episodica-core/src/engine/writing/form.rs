//! From buffered messages to episodes: cut, write, append, index. Who calls: `add_messages` (or the
//! work behind it), `flush`, `close_session`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ndarray::Array2;
use rayon::prelude::*;

use crate::boundary::{self, Segment};
use crate::clock::Moment;
use crate::config::BoundaryMode;
use crate::control::Control;
use crate::engine::asking::ask::Asked;
use crate::engine::memory::turn::Turn;
use crate::engine::memory::user::User;
use crate::engine::memory::view::{episode_terms, rows_of};
use crate::engine::registry::Engine;
use crate::engine::writing::compose::Text;
use crate::error::Result;
use crate::ids::record_id;
use crate::model::{BoundaryReason, Episode, Message};
use crate::store::{SessionState, StateRecord};

/// Episodes that enter the view in one go; searches wait no longer than that.
const GO: usize = 64;

/// How far the buffer is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut<'a> {
    /// Only segments whose end is certain.
    Finished,
    /// Everything.
    All,
    /// Everything of one session.
    Session(&'a str),
}

/// The messages of one session that await an episode.
pub(crate) struct Group {
    pub messages: Vec<Arc<Message>>,
    pub vectors: Option<Array2<f32>>,
    /// Why the rest of it is an episode now, too.
    pub complete: Option<BoundaryReason>,
}

/// A segment to be written down.
pub(crate) struct Draft {
    pub messages: Vec<Arc<Message>>,
    pub segment: Segment,
    /// What the model was asked about its end.
    pub asked: Asked,
}

impl Engine {
    /// Closes the open buffer of a user into episodes now.
    ///
    /// # Errors
    /// `Io`; `ReadOnly`; `Interrupted`.
    pub fn flush(&self, user_id: &str, control: &dyn Control) -> Result<Vec<Arc<Episode>>> {
        self.check_writable()?;
        let Some(user) = self.user(user_id, false, control)? else { return Ok(Vec::new()) };
        self.form(&user, Cut::All, control)
    }

    /// Flushes every user who is in the store, in the order of their ids.
    ///
    /// # Errors
    /// As [`Engine::flush`].
    pub fn flush_all(&self, control: &dyn Control) -> Result<Vec<(String, Vec<Arc<Episode>>)>> {
        let mut all = Vec::new();
        for user in self.users()? {
            let episodes = self.flush(&user, control)?;
            if !episodes.is_empty() {
                all.push((user, episodes));
            }
        }
        Ok(all)
    }

    /// Ends a session: what of it is in the buffer becomes episodes, their memories are learned
    /// (behind the caller, with a model), and the session is marked as closed. Every step is on
    /// disk before the next, so that a crash resumes where it stopped.
    ///
    /// # Errors
    /// As [`Engine::flush`].
    pub fn close_session(
        &self,
        user_id: &str,
        session_id: &str,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        self.check_writable()?;
        let Some(user) = self.user(user_id, false, control)? else { return Ok(Vec::new()) };
        let known = user.view.read().messages.has_session(session_id);
        if !known {
            return Ok(Vec::new());
        }
        self.mark_session(&user, session_id, SessionState::Closing)?;
        user.view.write().closing_sessions.insert(session_id.to_owned());
        self.form(&user, Cut::Session(session_id), control)
    }

    /// Marks sessions as closed of which nothing is left to do. The caller has the user's turn.
    pub(crate) fn settle_sessions(&self, user: &User, control: &dyn Control) -> Result<()> {
        let done: Vec<String> = {
            let view = user.view.read();
            if view.closing_sessions.is_empty() || !view.unlearned.is_empty() {
                return Ok(());
            }
            let open = |session: &String| {
                view.buffer
                    .iter()
                    .any(|slot| view.messages.get(*slot).session_id.as_deref() == Some(session))
            };
            view.closing_sessions.iter().filter(|session| !open(session)).cloned().collect()
        };
        for session in done {
            self.mark_session(user, &session, SessionState::Indexing)?;
            // What an embedder's outage left without a vector is found by its words meanwhile; the
            // session is closed once nothing lacks one.
            if self.embed_missing(user, control)? > 0 {
                continue;
            }
            self.mark_session(user, &session, SessionState::Closed)?;
            let mut view = user.view.write();
            view.closing_sessions.remove(&session);
            view.closed_sessions.insert(session);
        }
        Ok(())
    }

    pub(crate) fn mark_session(
        &self,
        user: &User,
        session_id: &str,
        state: SessionState,
    ) -> Result<()> {
        let record =
            StateRecord::Session { session_id: session_id.to_owned(), state, at: self.clock.now() };
        let writer = user.writer.lock();
        if writer.gone {
            return Ok(());
        }
        user.store.append_messages(&[], &[record]).map(drop)
    }

    /// Cuts the buffer, makes episodes of the pieces, and learns from them: at once without a
    /// model, otherwise behind the caller.
    pub(crate) fn form(
        &self,
        user: &Arc<User>,
        cut: Cut<'_>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        let episodes = {
            let _turn = match cut {
                Cut::Finished => match self.turn_for_new(user, control)? {
                    Some(turn) => turn,
                    None => return Ok(Vec::new()),
                },
                _ => user.turns.take(control)?,
            };
            // Of several callers who add at once, the first forms what all have added.
            let messages = {
                let view = user.view.read();
                let settled = view.unembedded.is_empty() && view.unlearned.is_empty();
                if cut == Cut::Finished && settled && view.formed as usize == view.messages.len() {
                    return Ok(Vec::new());
                }
                view.messages.len() as u32
            };
            self.embed_messages(user, control)?;
            let episodes = self.form_episodes(user, cut, control)?;
            if let (Cut::Session(session), false) = (cut, episodes.is_empty()) {
                self.mark_session(user, session, SessionState::Extracting)?;
            }
            if !self.works_behind() {
                self.learn(user, control)?;
                self.settle_sessions(user, control)?;
            }
            if !matches!(cut, Cut::Session(_)) {
                let mut view = user.view.write();
                view.formed = view.unembedded.first().map_or(messages, |slot| messages.min(*slot));
            }
            episodes
        };
        if self.works_behind() {
            self.enqueue(user);
        }
        Ok(episodes)
    }

    /// The turn for who has added messages; `None` if somebody waits for it already, who will find
    /// these messages there, too. So of many who add to one user, one forms, one waits, and the
    /// others go on.
    fn turn_for_new<'a>(&self, user: &'a User, control: &dyn Control) -> Result<Option<Turn<'a>>> {
        if user.awaited.swap(true, Ordering::AcqRel) {
            return Ok(None);
        }
        let turn = user.turns.take(control);
        // From here on whoever adds waits again: this one may have looked already.
        user.awaited.swap(false, Ordering::AcqRel);
        turn.map(Some)
    }

    /// The caller has the user's turn.
    pub(crate) fn form_episodes(
        &self,
        user: &User,
        cut: Cut<'_>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        let groups = self.groups(user, cut);
        let drafts: Vec<Draft> = match (&self.llm, self.config.boundary_mode) {
            (Some(model), BoundaryMode::Auto | BoundaryMode::Window | BoundaryMode::Message) => {
                let mut drafts = Vec::new();
                for group in groups {
                    drafts.extend(self.cut_with_model(&**model, user, group, control)?);
                }
                drafts
            }
            _ => groups
                .into_par_iter()
                .flat_map_iter(|group| self.cut_by_rules(user, group))
                .collect(),
        };
        let outcome = self.write_down(user, drafts, control);
        if outcome.is_err() {
            // What could not be committed is cut anew: the answers are in the cache.
            user.seen.lock().clear();
        }
        outcome
    }

    /// Writes drafts down and commits them.
    fn write_down(
        &self,
        user: &User,
        mut drafts: Vec<Draft>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        control.check()?;
        // Episodes enter in the order in which they ended, whatever their sessions.
        drafts.sort_by_key(|draft| draft.messages.last().map(|message| message.seq));
        let texts = self.write_texts(user, &drafts, control)?;
        let mut episodes = Vec::with_capacity(drafts.len());
        for (draft, text) in drafts.into_iter().zip(texts) {
            let mut asked = draft.asked;
            asked.extend(text.asked.clone());
            let episode = Arc::new(self.episode(user, draft.messages, draft.segment, text));
            self.write_trace(user, asked.about(std::slice::from_ref(&episode.episode_id)));
            episodes.push(episode);
        }
        if self.config.merge_episodes {
            return self.commit_merged(user, episodes, control);
        }
        let texts = Self::episode_texts(&episodes);
        let rows =
            self.embed_all(&texts.iter().map(String::as_str).collect::<Vec<_>>(), control)?;
        self.commit_episodes(user, &episodes, rows)?;
        Ok(episodes)
    }

    fn cut_by_rules(&self, user: &User, group: Group) -> Vec<Draft> {
        let vectors = group.vectors.as_ref().map(|rows| rows.view());
        let segments = match group.complete {
            Some(reason) => boundary::flush(&group.messages, vectors, &self.config, reason),
            None => boundary::segments_read(&user.readings, &group.messages, vectors, &self.config),
        };
        let cut: usize = segments.iter().map(|segment| segment.length).sum();
        user.readings.forget(&group.messages[..cut.min(group.messages.len())]);
        let mut rest = group.messages.into_iter();
        let draft = |segment: Segment| Draft {
            messages: rest.by_ref().take(segment.length).collect(),
            segment,
            asked: Asked::default(),
        };
        segments.into_iter().map(draft).collect()
    }

    /// Appends episodes to the log, then to the view.
    pub(crate) fn commit_episodes(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        rows: Option<Array2<f32>>,
    ) -> Result<()> {
        let terms: Vec<_> = episodes.par_iter().map(|episode| episode_terms(episode)).collect();
        let writer = user.writer.lock();
        if writer.gone {
            return Ok(());
        }
        user.store.append_episodes(episodes, &[], &[])?;
        log::debug!("{} episodes are in the log", episodes.len());
        user.note_change();
        for (go, episodes) in episodes.chunks(GO).enumerate() {
            let mut view = user.view.write();
            for (number, episode) in episodes.iter().enumerate() {
                let number = go * GO + number;
                let rows =
                    rows.as_ref().map(|rows| rows_of(rows.view(), 2 * number..2 * number + 2));
                view.put_episode(Arc::clone(episode), &terms[number], rows, &self.indexing())?;
                if self.config.semantic_memory {
                    view.unlearned.insert(episode.episode_id.clone(), episode.revision);
                }
            }
        }
        Ok(())
    }

    /// The buffer by sessions, each with what is known of its vectors.
    fn groups(&self, user: &User, cut: Cut<'_>) -> Vec<Group> {
        let view = user.view.read();
        // The latest moment of each buffered message and of those that came in after it.
        let mut newest: Vec<(u32, Moment)> = view
            .buffer
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
        let gap = self.config.time_gap_minutes * 60.0;
        let mut groups = Vec::new();
        for slots in view.buffered_sessions() {
            let messages: Vec<Arc<Message>> =
                slots.iter().map(|slot| Arc::clone(view.messages.get(*slot))).collect();
            let Some(last) = messages.last() else { continue };
            let session = last.session_id.as_deref();
            // Another session has gone on for longer than a pause: this one is over, though nobody
            // said so. What came in before says nothing: somebody may be adding talk of former
            // days.
            let newest = slots.last().and_then(|slot| newest_since(*slot));
            let left = session.is_some()
                && newest.is_some_and(|newest| newest.seconds_since(last.timestamp) > gap);
            // Nothing was added to it, so it is as unfinished as it was.
            if cut == Cut::Finished
                && !left
                && !self.works_behind()
                && slots.last().is_some_and(|slot| *slot < view.formed)
            {
                continue;
            }
            let complete = match cut {
                Cut::All => Some(BoundaryReason::Flush),
                Cut::Session(wanted) if session == Some(wanted) => Some(BoundaryReason::Session),
                Cut::Session(_) => continue,
                Cut::Finished if left => Some(BoundaryReason::Session),
                Cut::Finished => None,
            };
            let vectors = view.message_vectors(&slots);
            groups.push(Group { messages, vectors, complete });
        }
        groups
    }

    fn episode(
        &self,
        user: &User,
        messages: Vec<Arc<Message>>,
        segment: Segment,
        text: Text,
    ) -> Episode {
        let (first, last) = (&messages[0], &messages[messages.len() - 1]);
        let parts = [
            first.message_id.as_bytes(),
            last.message_id.as_bytes(),
            &(messages.len() as u64).to_le_bytes()[..],
        ];
        let session_id = first.session_id.clone().filter(|session| {
            messages.iter().all(|message| message.session_id.as_ref() == Some(session))
        });
        let times = messages.iter().map(|message| message.timestamp);
        let (boundary_reason, boundary) = (segment.description().to_owned(), segment.boundary);
        Episode {
            episode_id: record_id(&user.owner, "episode", &parts),
            user_id: user.owner.user.clone(),
            title: text.text.title,
            content: text.text.content,
            message_count: messages.len(),
            boundary_reason,
            timestamp: text.timestamp.or_else(|| times.clone().min()).unwrap_or(first.timestamp),
            created_at: self.clock.now(),
            metadata: serde_json::Map::new(),
            tags: Vec::new(),
            summary: text.text.summary,
            ended_at: times.max().unwrap_or(last.timestamp),
            session_id,
            topics: text.text.topics,
            entities: text.text.entities,
            boundary,
            provenance: text.provenance,
            revision: 0,
            original_messages: messages,
        }
    }
}
