//! What is still to be done for a user, behind the caller or after a crash or an outage: one step
//! after another, each with a turn of its own, so that nobody waits for longer than a step.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::Control;
use crate::engine::background::queue::Outcome;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::engine::writing::compose::OUTAGE;
use crate::engine::writing::form::Cut;
use crate::error::Result;
use crate::model::Episode;
use crate::store::DeadLetter;

impl Engine {
    /// Everything that there is to do for a user now.
    pub(crate) fn work_on(&self, user: &Arc<User>, control: &dyn Control) -> Result<Outcome> {
        {
            let _turn = user.turns.take(control)?;
            self.embed_messages(user, control)?;
        }
        let closing: Vec<String> = user.view.read().closing_sessions.iter().cloned().collect();
        for session in closing {
            let _turn = user.turns.take(control)?;
            self.form_episodes(user, Cut::Session(&session), control)?;
        }
        {
            let _turn = user.turns.take(control)?;
            self.form_episodes(user, Cut::Finished, control)?;
        }
        while self.learn_next(user, control)? {}
        {
            let _turn = user.turns.take(control)?;
            self.settle_sessions(user, control)?;
        }
        let needs_model = self.write_again(user, false, control)?;
        while self.learn_next(user, control)? {}
        let missing = {
            let _turn = user.turns.take(control)?;
            self.embed_missing(user, control)?
        };
        Ok(match (missing, needs_model) {
            (1.., _) => Outcome::Failed,
            (0, true) => Outcome::NeedsModel,
            (0, false) => Outcome::Done,
        })
    }

    /// Learns from the next episode that was not learned from (by the rules: from all); `false` if
    /// there was none.
    fn learn_next(&self, user: &User, control: &dyn Control) -> Result<bool> {
        let _turn = user.turns.take(control)?;
        let Some(episode) = Self::unlearned(user).into_iter().next() else { return Ok(false) };
        match &self.llm {
            Some(model) => self.learn_with_model(&**model, user, &episode, control)?,
            None => self.learn(user, control)?,
        }
        Ok(true)
    }

    /// Has the model do what the rules did in its place: texts of episodes, then statements.
    /// Without `all` only what an outage left, as an answer that was of no use will be of none the
    /// next time. Returns whether something is left that a working model would do.
    fn write_again(&self, user: &Arc<User>, all: bool, control: &dyn Control) -> Result<bool> {
        let Some(model) = &self.llm else { return Ok(false) };
        for episode in Self::pending(user) {
            if !all && episode.provenance.fallback != OUTAGE {
                continue;
            }
            if !model.is_available() {
                return Ok(true);
            }
            let _turn = user.turns.take(control)?;
            let current = user.view.read().episodes.by_id(&episode.episode_id).cloned();
            let Some(episode) = current.filter(|episode| episode.provenance.pending_llm) else {
                continue;
            };
            let text =
                self.write_with_model(&**model, user, &episode.original_messages, control)?;
            self.write_trace(user, text.asked.about(std::slice::from_ref(&episode.episode_id)));
            if text.provenance.fallback == OUTAGE {
                return Ok(true);
            }
            let again = Arc::new(Episode {
                title: text.text.title,
                summary: text.text.summary,
                content: text.text.content,
                topics: text.text.topics,
                entities: text.text.entities,
                timestamp: text.timestamp.unwrap_or(episode.timestamp),
                provenance: text.provenance,
                revision: episode.revision + 1,
                ..(*episode).clone()
            });
            self.counters.count("episodes_written_again", 1);
            log::info!(
                "an episode that the rules wrote was written again by {}",
                again.provenance.method
            );
            let texts = Self::episode_texts(std::slice::from_ref(&again));
            let rows =
                self.embed_all(&texts.iter().map(String::as_str).collect::<Vec<_>>(), control)?;
            self.commit_episodes(user, std::slice::from_ref(&again), rows)?;
        }
        let relearn: Vec<String> = user.view.read().relearn.iter().cloned().collect();
        for id in relearn {
            if !model.is_available() {
                return Ok(true);
            }
            let _turn = user.turns.take(control)?;
            let episode = user.view.read().episodes.by_id(&id).cloned();
            let Some(episode) = episode.filter(|_| user.view.read().relearn.contains(&id)) else {
                continue;
            };
            self.learn_with_model(&**model, user, &episode, control)?;
            if user.view.read().relearn.contains(&id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Episodes that the rules wrote in the model's place, in order.
    fn pending(user: &User) -> Vec<Arc<Episode>> {
        let view = user.view.read();
        let mut slots: Vec<u32> =
            view.unwritten.iter().filter_map(|id| view.episodes.slot(id)).collect();
        slots.sort_unstable();
        slots.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
    }

    /// Goes on with what a crash cut off, when a user is opened.
    pub(crate) fn resume(&self, user: &Arc<User>, control: &dyn Control) -> Result<()> {
        if self.works_behind() {
            let something = {
                let view = user.view.read();
                !(view.buffer.is_empty()
                    && view.unembedded.is_empty()
                    && view.unlearned.is_empty()
                    && view.closing_sessions.is_empty()
                    && view.unwritten.is_empty()
                    && view.relearn.is_empty())
            };
            if something {
                self.enqueue(user);
            }
            return Ok(());
        }
        let (closing, unlearned) = {
            let view = user.view.read();
            (view.closing_sessions.clone(), !view.unlearned.is_empty())
        };
        for session in closing {
            self.form(user, Cut::Session(&session), control)?;
        }
        if unlearned {
            let _turn = user.turns.take(control)?;
            self.learn(user, control)?;
            self.settle_sessions(user, control)?;
        }
        Ok(())
    }

    /// Makes what an outage left undone, at once and in the caller's time: vectors, texts, semantic
    /// memories. Returns how many records are still pending.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn retry_pending(&self, user_id: Option<&str>, control: &dyn Control) -> Result<usize> {
        self.check_writable()?;
        let mut pending = 0;
        for user_id in self.selected(user_id)? {
            let Some(user) = self.user(&user_id, false, control)? else { continue };
            match self.works_behind() {
                true => {
                    self.work_on(&user, control)?;
                    self.write_again(&user, true, control)?;
                    while self.learn_next(&user, control)? {}
                }
                false => {
                    self.form(&user, Cut::Finished, control)?;
                }
            }
            let missing = {
                let _turn = user.turns.take(control)?;
                self.embed_missing(&user, control)?
            };
            self.settle_letters(&user, missing)?;
            let view = user.view.read();
            pending += missing + view.unlearned.len() + view.unwritten.union(&view.relearn).count();
        }
        Ok(pending)
    }

    /// Writes down which records could not be indexed, after the last attempt.
    pub(crate) fn give_up(&self, user: &User) {
        let error = self
            .counters
            .last_failure
            .lock()
            .as_deref()
            .unwrap_or("the embedder failed")
            .to_owned();
        let at = self.clock.now();
        let letter = |id: &str, kind: &str, layer: &str| DeadLetter {
            id: id.to_owned(),
            kind: kind.to_owned(),
            layer: layer.to_owned(),
            error: error.clone(),
            attempts: 4,
            at,
        };
        let letters: Vec<DeadLetter> = Self::without_vector(&user.view.read())
            .iter()
            .map(|one| letter(&one.id, one.kind, one.layer))
            .collect();
        self.counters.count("dead_letters", letters.len() as u64);
        if !letters.is_empty() {
            log::error!(
                "{} records could not be indexed and wait for retry_pending: {error}",
                letters.len()
            );
        }
        let writer = user.writer.lock();
        if letters.is_empty() || writer.gone || user.leaving.load(Ordering::SeqCst) {
            return;
        }
        let outcome = self.store.dead_letters(&user.owner).and_then(|(mut log, known)| {
            let new: Vec<DeadLetter> = letters
                .into_iter()
                .filter(|letter| {
                    !known.iter().any(|other| other.id == letter.id && other.layer == letter.layer)
                })
                .collect();
            log.append(&new)
        });
        if let Err(error) = outcome {
            self.note_failure(&error);
        }
    }

    /// Takes out the dead letters once nothing lacks a vector any more.
    fn settle_letters(&self, user: &User, missing: usize) -> Result<()> {
        if missing > 0 {
            return Ok(());
        }
        let (mut letters, known) = self.store.dead_letters(&user.owner)?;
        if known.is_empty() { Ok(()) } else { letters.settle(&|_| true) }
    }
}
