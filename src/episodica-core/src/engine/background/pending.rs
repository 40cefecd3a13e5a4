//! Working off a user's backlog, in the background or after a crash or an outage. Each step takes a
//! turn of its own, so that nobody waits for longer than a step.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::control::Control;
use crate::engine::background::queue::Outcome;
use crate::engine::services::Services;
use crate::engine::user::User;
use crate::engine::writing::compose::OUTAGE;
use crate::engine::writing::form::Cut;
use crate::error::Result;
use crate::model::Episode;
use crate::store::DeadLetter;

/// What the model is asked again about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retry {
    /// Texts that an outage left to the rules: an answer that was of no use would be so again.
    Outages,
    /// All texts by the rules.
    All,
}

impl Services {
    /// Works off a user's backlog.
    pub(crate) fn work_on(&self, user: &User, control: &dyn Control) -> Result<Outcome> {
        {
            let _turn = user.turns.take(control)?;
            self.embed_messages(user, control)?;
        }
        let closing = user.view.read().backlog.closing_sessions().clone();
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
        let needs_model = self.write_again(user, Retry::Outages, control)?;
        while self.learn_next(user, control)? {}
        let missing = {
            let _turn = user.turns.take(control)?;
            user.embed_missing(&self.indexing(), control)?
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
        match self.conversation(user, control) {
            Some(mut conversation) => conversation.learn(&episode)?,
            None => self.learn(user, control)?,
        }
        Ok(true)
    }

    /// Has the model do again what the rules did in its place: first texts of episodes, then facts.
    /// Returns whether something is left that a working model would do.
    fn write_again(&self, user: &User, retry: Retry, control: &dyn Control) -> Result<bool> {
        let Some(mut conversation) = self.conversation(user, control) else { return Ok(false) };
        for episode in Self::unwritten(user) {
            if retry == Retry::Outages && episode.provenance.fallback != OUTAGE {
                continue;
            }
            if !self.is_model_available() {
                return Ok(true);
            }
            let _turn = user.turns.take(control)?;
            let current = user.view.read().episodes.by_id(&episode.episode_id).cloned();
            let Some(episode) = current.filter(|episode| episode.provenance.pending_llm) else {
                continue;
            };
            let text = conversation.compose(&episode.original_messages)?;
            self.write_trace(user, text.asked.about(std::slice::from_ref(&episode.episode_id)));
            if text.provenance.fallback == OUTAGE {
                return Ok(true);
            }
            let rewritten = Arc::new(Episode {
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
            log::info!("{} wrote an episode again after the rules", rewritten.provenance.method);
            self.commit_with_vectors(user, std::slice::from_ref(&rewritten), control)?;
        }
        let relearn: Vec<String> = user.view.read().backlog.relearn().iter().cloned().collect();
        for id in relearn {
            if !self.is_model_available() {
                return Ok(true);
            }
            let _turn = user.turns.take(control)?;
            let episode = {
                let view = user.view.read();
                let is_waiting = view.backlog.relearn().contains(&id);
                view.episodes.by_id(&id).filter(|_| is_waiting).cloned()
            };
            let Some(episode) = episode else { continue };
            conversation.learn(&episode)?;
            if user.view.read().backlog.relearn().contains(&id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Episodes that the rules wrote in the model's place, in order.
    fn unwritten(user: &User) -> Vec<Arc<Episode>> {
        let view = user.view.read();
        let mut slots: Vec<u32> =
            view.backlog.unwritten().iter().filter_map(|id| view.episodes.slot(id)).collect();
        slots.sort_unstable();
        slots.into_iter().filter_map(|slot| view.episodes.get(slot).cloned()).collect()
    }

    /// Continues what a crash cut off, in the caller's time: without background work.
    pub(crate) fn resume(&self, user: &User, control: &dyn Control) -> Result<()> {
        let (closing, has_unlearned) = {
            let view = user.view.read();
            (view.backlog.closing_sessions().clone(), !view.backlog.unlearned().is_empty())
        };
        for session in closing {
            self.form(user, Cut::Session(&session), control)?;
        }
        if has_unlearned {
            let _turn = user.turns.take(control)?;
            self.learn(user, control)?;
            self.settle_sessions(user, control)?;
        }
        Ok(())
    }

    /// Everything that is pending, including answers that were of no use the last time.
    pub(crate) fn retry_all(&self, user: &User, control: &dyn Control) -> Result<()> {
        self.work_on(user, control)?;
        self.write_again(user, Retry::All, control)?;
        while self.learn_next(user, control)? {}
        Ok(())
    }

    /// Writes dead letters for the records that still lack a vector after the last attempt.
    pub(crate) fn give_up(&self, user: &User) {
        let last = self.counters.last_failure();
        let error = last.as_deref().unwrap_or("the embedder failed").to_owned();
        let at = self.clock.now();
        let letter = |id: &str, kind: &str, layer: &str| DeadLetter {
            id: id.to_owned(),
            kind: kind.to_owned(),
            layer: layer.to_owned(),
            error: error.clone(),
            attempts: 4,
            at,
        };
        let missing = user.view.read().without_vector();
        let letters: Vec<DeadLetter> =
            missing.iter().map(|one| letter(&one.id, one.kind, one.layer)).collect();
        self.counters.count("dead_letters", letters.len() as u64);
        if !letters.is_empty() {
            log::error!(
                "{} records could not be indexed and wait for retry_pending: {error}",
                letters.len()
            );
        }
        let writer = user.writer.lock();
        if letters.is_empty() || writer.gone || user.place.leaving.load(Ordering::SeqCst) {
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
            self.counters.note_failure(Some(&user.owner.user), &error);
        }
    }

    /// Removes the dead letters once every record has its vectors.
    pub(crate) fn settle_letters(&self, user: &User, missing: usize) -> Result<()> {
        if missing > 0 {
            return Ok(());
        }
        let (mut letters, known) = self.store.dead_letters(&user.owner)?;
        if known.is_empty() { Ok(()) } else { letters.settle(&|_| true) }
    }
}
