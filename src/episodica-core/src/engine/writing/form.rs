//! From buffered messages to episodes: cut, compose, append, index. Called by `add_messages` (or
//! the background work), `flush` and `close_session`.

use std::sync::Arc;

use ndarray::{Array2, Axis, concatenate};

use crate::boundary::{self, Readings, Segment};
use crate::clock::Moment;
use crate::config::{BoundaryMode, Config};
use crate::control::{Ahead, Control, patiently};
use crate::engine::asking::conversation::Asked;
use crate::engine::memory::follow::Basis;
use crate::engine::memory::indexing::{EMBED_BATCH, EpisodeTexts, rows_of};
use crate::engine::memory::view::episode_terms;
use crate::engine::services::Services;
use crate::engine::user::User;
use crate::engine::writing::compose::Text;
use crate::engine::writing::extract::Stated;
use crate::engine::writing::learn::STEP;
use crate::error::{ErrorKind, Result};
use crate::ids::record_id;
use crate::index::Terms;
use crate::model::{BoundaryReason, Episode, Message};
use crate::parallel;
use crate::store::{SessionState, StateRecord};

/// Episodes that enter the view under one lock; searches wait no longer than that.
const VIEW_BATCH: usize = 64;

/// Episodes that are composed at the same time with a model, and a few more.
pub(crate) const MOST_DRAFTS: usize = 8;
/// Texts that are worth a request for vectors of their own.
pub(crate) const WORTH_A_REQUEST: usize = 32;

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

/// The buffered messages of one session.
pub(crate) struct Group {
    pub messages: Vec<Arc<Message>>,
    pub vectors: Option<Array2<f32>>,
    /// Why the rest of the group also becomes an episode; `None` = it stays buffered.
    pub complete: Option<BoundaryReason>,
}

/// A segment to be composed.
pub(crate) struct Draft {
    pub messages: Vec<Arc<Message>>,
    pub segment: Segment,
    /// Trace of the questions about its end.
    pub asked: Asked,
}

impl Services {
    /// Marks sessions as closed for which nothing is left to do. The caller has the user's turn.
    pub(crate) fn settle_sessions(&self, user: &User, control: &dyn Control) -> Result<()> {
        let done: Vec<String> = {
            let view = user.view.read();
            let backlog = &view.backlog;
            if backlog.closing_sessions().is_empty() || !backlog.unlearned().is_empty() {
                return Ok(());
            }
            let is_open = |session: &String| {
                let mut buffered = backlog.buffer().iter().map(|slot| view.messages.get(*slot));
                buffered.any(|message| message.session_id.as_deref() == Some(session))
            };
            backlog.closing_sessions().iter().filter(|id| !is_open(id)).cloned().collect()
        };
        for session in done {
            self.mark_session(user, &session, SessionState::Indexing)?;
            // Records that an embedder's outage left without a vector are found by their words. The
            // session is closed once nothing lacks one.
            if user.embed_missing(&self.indexing(), control)? > 0 {
                continue;
            }
            self.mark_session(user, &session, SessionState::Closed)?;
            user.view.write().backlog.session_settled(&session);
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
        let _writer = user.lock_writer(&self.indexing())?;
        user.store.append_messages(&[], &[record]).map(drop)
    }

    /// Cuts the buffer and makes episodes of the pieces. Without background work also learns from
    /// them; otherwise the caller queues the user.
    pub(crate) fn form(
        &self,
        user: &User,
        cut: Cut<'_>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        let _turn = match cut {
            Cut::Finished => match user.turns.take_for_new(control)? {
                Some(turn) => turn,
                None => return Ok(Vec::new()),
            },
            _ => user.turns.take(control)?,
        };
        // Of several callers who add at once, the first forms what all have added.
        let slots = {
            let view = user.view.read();
            let (backlog, slots) = (&view.backlog, view.messages.slot_count() as u32);
            let is_settled = backlog.unembedded().is_empty() && backlog.unlearned().is_empty();
            if cut == Cut::Finished && is_settled && view.formed == slots {
                return Ok(Vec::new());
            }
            slots
        };
        self.embed_messages(user, control)?;
        let episodes = self.form_episodes(user, cut, control)?;
        if let (Cut::Session(session), false) = (cut, episodes.is_empty()) {
            self.mark_session(user, session, SessionState::Extracting)?;
        }
        if !self.has_background_work() {
            self.decide(control, || self.learn(user, control))?;
            self.settle_sessions(user, control)?;
        }
        if !matches!(cut, Cut::Session(_)) {
            let mut view = user.view.write();
            let first = view.backlog.unembedded().first().copied();
            view.formed = first.map_or(slots, |first| slots.min(first));
        }
        Ok(episodes)
    }

    /// Decides again as long as another process changes what a decision rests on.
    pub(crate) fn decide<T>(
        &self,
        control: &dyn Control,
        mut decision: impl FnMut() -> Result<T>,
    ) -> Result<T> {
        loop {
            match decision() {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    self.counters.count("decided_again", 1);
                    control.check()?;
                }
                outcome => return outcome,
            }
        }
    }

    /// Forms episodes of all that can be cut. The caller has the user's turn.
    pub(crate) fn form_episodes(
        &self,
        user: &User,
        cut: Cut<'_>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        let mut episodes = self.form_some(user, cut, control)?;
        if self.llm.is_some() {
            loop {
                let more = self.form_some(user, cut, control)?;
                if more.is_empty() {
                    break;
                }
                episodes.extend(more);
            }
        }
        Ok(episodes)
    }

    /// Forms episodes of what can be cut, with a model a few at a time. The caller has the user's
    /// turn.
    pub(crate) fn form_some(
        &self,
        user: &User,
        cut: Cut<'_>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        let mut episodes = Vec::new();
        self.decide(control, || self.form_once(user, cut, control, &mut episodes))?;
        Ok(episodes)
    }

    /// Adds to `formed` what was committed, also if another process then comes between.
    fn form_once(
        &self,
        user: &User,
        cut: Cut<'_>,
        control: &dyn Control,
        formed: &mut Vec<Arc<Episode>>,
    ) -> Result<()> {
        let basis = user.basis();
        let groups = self.groups(user, cut);
        let by_model = matches!(
            self.config.boundary_mode,
            BoundaryMode::Auto | BoundaryMode::Window | BoundaryMode::Message
        );
        let drafts: Vec<Draft> = match self.conversation(user, control).filter(|_| by_model) {
            Some(mut conversation) => {
                let most = MOST_DRAFTS.max(self.config.llm_concurrency);
                let mut drafts = Vec::new();
                for group in groups {
                    drafts.extend(conversation.cut(group, most.saturating_sub(drafts.len()))?);
                }
                drafts
            }
            None => {
                let (readings, config) = (Arc::clone(&user.progress.readings), self.config.clone());
                let messages = groups.iter().flat_map(|group| &group.messages);
                patiently(bytes_of(messages), control, move || {
                    let cut = |group| cut_by_rules(&readings, &config, group);
                    parallel::map(groups, 1, cut).into_iter().flatten().collect()
                })?
            }
        };
        let outcome = self.write_down(user, drafts, basis, control, formed);
        if outcome.is_err() {
            // What could not be committed is cut again: the answers are in the cache.
            user.progress.seen.lock().clear();
        }
        outcome
    }

    /// Composes drafts and commits them. The rules compose the next ones while those before are
    /// committed and learned from.
    fn write_down(
        &self,
        user: &User,
        mut drafts: Vec<Draft>,
        basis: Basis,
        control: &dyn Control,
        formed: &mut Vec<Arc<Episode>>,
    ) -> Result<()> {
        // Episodes are committed in the order of their ends, whatever their sessions.
        drafts.sort_by_key(|draft| draft.messages.last().map(|message| message.seq));
        let at_once = if self.llm.is_some() { drafts.len() } else { STEP };
        let mut drafts = drafts.into_iter();
        let mut step = || drafts.by_ref().take(at_once).collect::<Vec<Draft>>();
        let (mut next, mut ahead) = (step(), None::<Ahead<Text>>);
        while !next.is_empty() {
            let now = std::mem::replace(&mut next, step());
            let texts = match ahead.take() {
                Some(ahead) => ahead.wait(control)?,
                None => self.compose(user, &messages_of(&now), control)?,
            };
            if !next.is_empty() {
                ahead = Some(self.compose_ahead(&messages_of(&next)));
            }
            formed.extend(self.commit_texts(user, now, texts, basis, control)?);
            if !next.is_empty() && !self.has_background_work() {
                self.decide(control, || self.learn(user, control))?;
            }
        }
        Ok(())
    }

    fn commit_texts(
        &self,
        user: &User,
        drafts: Vec<Draft>,
        texts: Vec<Text>,
        basis: Basis,
        control: &dyn Control,
    ) -> Result<Vec<Arc<Episode>>> {
        control.check()?;
        let mut episodes = Vec::with_capacity(drafts.len());
        let mut stated: Vec<Option<Stated>> = Vec::with_capacity(drafts.len());
        let mut read: Vec<Option<EpisodeTexts>> = Vec::with_capacity(drafts.len());
        for (draft, mut text) in drafts.into_iter().zip(texts) {
            let mut asked = draft.asked;
            asked.extend(text.asked.clone());
            stated.push(text.stated.take());
            read.push(text.read.take());
            let episode = Arc::new(self.episode(user, draft.messages, draft.segment, text));
            self.write_trace(user, asked.about(std::slice::from_ref(&episode.episode_id)));
            episodes.push(episode);
        }
        if self.config.merge_episodes {
            return self.commit_merged(user, episodes, basis, control);
        }
        self.embed_ahead(user, &episodes, &stated, control)?;
        match read.into_iter().collect() {
            Some(read) => self.commit_read(user, &episodes, read, basis, control)?,
            None => self.commit_with_vectors(user, &episodes, basis, control)?,
        }
        user.progress.keep_stated(&episodes, stated);
        Ok(episodes)
    }

    /// Asks a server at once for all vectors that are needed soon: those of episodes and facts, and
    /// of as many messages as make up a request. The embedder keeps them until they are asked for.
    fn embed_ahead(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        stated: &[Option<Stated>],
        control: &dyn Control,
    ) -> Result<()> {
        if self.embedder.is_local() {
            return Ok(());
        }
        let episodes = episodes.iter().flat_map(|one| [one.abstract_text(), one.content.clone()]);
        let facts = stated.iter().flatten().flat_map(|one| &one.extraction.candidates);
        let facts = facts.map(|fact| fact.content.clone());
        let mut texts: Vec<String> = episodes.chain(facts).collect();
        let room = WORTH_A_REQUEST.saturating_sub(texts.len());
        {
            let view = user.view.read();
            let unembedded = view.backlog.unembedded().iter().take(room);
            texts.extend(unembedded.map(|slot| view.messages.get(*slot).content.clone()));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if texts.len() <= EMBED_BATCH {
            self.indexing().embed(&texts, control)?;
        }
        Ok(())
    }

    /// Commits episodes whose texts were read; embeds them where a vector takes longer than that.
    fn commit_read(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        read: Vec<EpisodeTexts>,
        basis: Basis,
        control: &dyn Control,
    ) -> Result<()> {
        let rows: Option<Vec<_>> =
            read.iter().map(|texts| texts.rows.as_ref().map(|rows| rows.view())).collect();
        let rows = match rows.and_then(|rows| concatenate(Axis(0), &rows).ok()) {
            Some(rows) => Some(rows),
            None => self.embed_episodes(episodes, control)?,
        };
        let terms: Vec<[Terms; 2]> = read.into_iter().map(|texts| texts.terms).collect();
        self.commit_terms(user, episodes, &[], &terms, rows, basis)
    }

    /// Embeds episodes, then commits them.
    pub(crate) fn commit_with_vectors(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        basis: Basis,
        control: &dyn Control,
    ) -> Result<()> {
        let rows = self.embed_episodes(episodes, control)?;
        self.commit_episodes(user, episodes, &[], rows, basis)
    }

    /// Two vectors per episode: L0, L1.
    pub(crate) fn embed_episodes(
        &self,
        episodes: &[Arc<Episode>],
        control: &dyn Control,
    ) -> Result<Option<Array2<f32>>> {
        let texts: Vec<String> = episodes
            .iter()
            .flat_map(|episode| [episode.abstract_text(), episode.content.clone()])
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.indexing().embed(&texts, control)
    }

    /// Appends episodes to the log, then to the view. `rows` holds two vectors per episode. The
    /// `notes` come first: without them the next opening would learn from the episodes.
    pub(crate) fn commit_episodes(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        notes: &[StateRecord],
        rows: Option<Array2<f32>>,
        basis: Basis,
    ) -> Result<()> {
        let terms = parallel::map(episodes.iter().collect(), parallel::FEW_TEXTS, |episode| {
            episode_terms(episode)
        });
        self.commit_terms(user, episodes, notes, &terms, rows, basis)
    }

    /// [`Services::commit_episodes`] of episodes with these terms.
    fn commit_terms(
        &self,
        user: &User,
        episodes: &[Arc<Episode>],
        notes: &[StateRecord],
        terms: &[[Terms; 2]],
        rows: Option<Array2<f32>>,
        basis: Basis,
    ) -> Result<()> {
        let _writer = user.lock_writer_on(basis, !notes.is_empty(), &self.indexing())?;
        if !notes.is_empty() {
            user.store.append_semantic(&[], &[], notes)?;
        }
        user.store.append_episodes(episodes, &[], &[])?;
        log::debug!("{} episodes are in the log", episodes.len());
        user.note_change();
        let to = self.indexing();
        let numbered: Vec<(usize, &Arc<Episode>)> = episodes.iter().enumerate().collect();
        for batch in numbered.chunks(VIEW_BATCH) {
            let mut view = user.view.write();
            for (number, episode) in batch {
                let rows =
                    rows.as_ref().map(|rows| rows_of(rows.view(), 2 * number..2 * number + 2));
                view.put_episode(Arc::clone(episode), &terms[*number], rows, &to)?;
                if self.config.semantic_memory {
                    view.backlog.await_learning(&episode.episode_id, episode.revision);
                }
            }
        }
        Ok(())
    }

    /// The buffer by sessions, with vectors where all messages of a session have one.
    fn groups(&self, user: &User, cut: Cut<'_>) -> Vec<Group> {
        let view = user.view.read();
        // The latest moment of each buffered message and of those that came in after it.
        let mut newest: Vec<(u32, Moment)> = view
            .backlog
            .buffer()
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
            // Another session went on for longer than a pause: this one has ended, though nobody
            // closed it. Messages that arrived earlier do not count: an import may add old sessions
            // after new ones.
            let newest = slots.last().and_then(|slot| newest_since(*slot));
            let left = session.is_some()
                && newest.is_some_and(|newest| newest.seconds_since(last.timestamp) > gap);
            // Nothing was added to it since the last look.
            if cut == Cut::Finished
                && !left
                && !self.has_background_work()
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
            archived_at: None,
            revision: 0,
            original_messages: messages,
        }
    }
}

fn messages_of(drafts: &[Draft]) -> Vec<&[Arc<Message>]> {
    drafts.iter().map(|draft| &draft.messages[..]).collect()
}

fn cut_by_rules(readings: &Readings, config: &Config, group: Group) -> Vec<Draft> {
    let vectors = group.vectors.as_ref().map(|rows| rows.view());
    let segments = match group.complete {
        Some(reason) => boundary::flush(&group.messages, vectors, config, reason),
        None => boundary::segments_read(readings, &group.messages, vectors, config),
    };
    let cut: usize = segments.iter().map(|segment| segment.length).sum();
    readings.forget(&group.messages[..cut.min(group.messages.len())]);
    let mut rest = group.messages.into_iter();
    let draft = |segment: Segment| Draft {
        messages: rest.by_ref().take(segment.length).collect(),
        segment,
        asked: Asked::default(),
    };
    segments.into_iter().map(draft).collect()
}

/// How long the texts of messages are, together.
pub(crate) fn bytes_of<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> usize {
    messages.into_iter().map(|message| message.content.len()).sum()
}
