//! Maintenance: wait, preload, retry, rebuild, compact.

use std::time::{Duration, Instant};

use crate::control::CallControl;
use crate::engine::background::pending::{retry_all, settle_letters};
use crate::engine::lifecycle::{Engine, WhileOpen};
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::user::{OpenUser, UserGuard};
use crate::engine::writing::compact::compact_logs;
use crate::engine::writing::draft::decide_anew;
use crate::engine::writing::form::{BufferCut, form_user};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{CompactReport, RebuildReport};
use crate::store::{KnownRequest, LogKind, RequestNote, RequestStep};

/// Longest interval between two checks of a wait without a timeout.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Engine {
    /// Waits until nothing is pending for a user (or for all): returns `true` then, `false` after
    /// `timeout`. Does not wait for texts that a failing model is to write; `stats` counts those as
    /// `pending_llm`.
    ///
    /// # Errors
    /// `Interrupted`; `Closed`.
    pub fn wait(
        &self,
        user_id: Option<&str>,
        timeout: Option<Duration>,
        control: &dyn CallControl,
    ) -> Result<bool> {
        if timeout.is_none() {
            self.services.callouts.refuse_inside("wait")?;
        }
        self.check_open()?;
        if let Some(user_id) = user_id {
            self.services.owner_of(user_id)?;
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if self.services.has_background_work() && !self.services.read_only {
            // Opening a user queues the work that a crash interrupted.
            for user_id in self.selected_users(user_id)? {
                self.known_user(&user_id, control)?;
            }
        }
        while !self.is_idle(user_id) {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            let latest = deadline.unwrap_or_else(|| Instant::now() + LOOK_AGAIN);
            self.queue.wait_for_any_change(latest, control)?;
        }
        Ok(true)
    }

    /// True if nothing is pending for a user, or for all.
    fn is_idle(&self, user_id: Option<&str>) -> bool {
        let users = match user_id {
            Some(user_id) => self.users.get(user_id).into_iter().collect(),
            None => self.users.open_users(),
        };
        users.iter().all(|user| {
            let learned = self.services.has_background_work()
                || user.view.read().backlog.unlearned_episodes().is_empty();
            // The turn first: whoever has it may be about to queue work.
            let turn = user.turns.try_take();
            learned && turn.is_some() && !self.queue.is_busy_with(user)
        })
    }

    /// Opens a user before the first search needs it.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`.
    pub fn load_user(&self, user_id: &str, control: &dyn CallControl) -> Result<RebuildReport> {
        let started = Instant::now();
        let mut report = RebuildReport::default();
        if let Some(user) = self.known_user(user_id, control)? {
            count_rebuilt(&user, &mut report);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Computes all vectors again and replaces the segment. Needed for a change of the embedding
    /// model.
    ///
    /// # Errors
    /// `Io`; `Embedding` when the embedder fails (the old segment stays); `Interrupted`.
    pub fn rebuild_indices(
        &self,
        user_id: Option<&str>,
        control: &dyn CallControl,
    ) -> Result<RebuildReport> {
        self.check_writable()?;
        let started = Instant::now();
        let mut report = RebuildReport::default();
        let users = self.selected_users(user_id)?;
        let total = users.len();
        for (done, user_id) in users.into_iter().enumerate() {
            let rebuilt =
                decide_anew(&self.services, control, || self.rebuilt_user(&user_id, control))?;
            if let Some(user) = rebuilt {
                if !self.embed_rest(&user, control)? {
                    return Err(self.cannot_embed());
                }
                count_rebuilt(&user, &mut report);
                report.embedded = report.vectors;
                user.replace_segment(&self.services.store, &self.services.indexing_settings())?;
            }
            self.services.callouts.report_progress(control, "users", done + 1, total);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Compacts the logs of one user, or of all: drops old revisions, withdrawn facts and replaced
    /// states. The messages, episodes and facts stay, each with its latest revisions.
    ///
    /// # Errors
    /// `ReadOnly`; `Interrupted`; `Io`. The next opening finishes an interrupted compaction.
    pub fn compact(
        &self,
        user_id: Option<&str>,
        control: &dyn CallControl,
    ) -> Result<CompactReport> {
        self.check_writable()?;
        let started = Instant::now();
        let mut report = CompactReport::default();
        let users = self.selected_users(user_id)?;
        let total = users.len();
        for (done, user_id) in users.into_iter().enumerate() {
            let compacted = self.with_user(&user_id, control, |user: &UserGuard| {
                let _turn = user.turns.take_turn(control)?;
                let bytes = || {
                    LogKind::ALL.map(|kind| user.store.log_position(kind).bytes).iter().sum::<u64>()
                };
                let before = bytes();
                compact_logs(&self.services, user, control)?;
                Ok((before, bytes()))
            })?;
            if let Some((before, after)) = compacted {
                report.users += 1;
                report.bytes_before += before;
                report.bytes_after += after;
            }
            self.services.callouts.report_progress(control, "users", done + 1, total);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Builds a user's view without the vectors on disk; `None` for an unknown user.
    fn rebuilt_user(&self, user_id: &str, control: &dyn CallControl) -> Result<Option<UserGuard>> {
        let owner = self.services.owner_of(user_id)?;
        if let Some(user) = self.users.get(user_id) {
            let turn = user.turns.take_turn(control)?;
            user.rebuild_view(
                KnownVectors::default(),
                &self.services.indexing_settings(),
                control,
            )?;
            user.measure_size();
            drop(turn);
            return Ok(Some(user));
        }
        self.services.store.remove_segment(&owner)?;
        self.known_user(user_id, control)
    }

    /// Embeds the records without a vector, such as records that other processes added after the
    /// rebuild; `false` if the embedder fails.
    fn embed_rest(&self, user: &OpenUser, control: &dyn CallControl) -> Result<bool> {
        if !user.view.read().lacks_vectors() {
            return Ok(true);
        }
        let _turn = user.turns.take_turn(control)?;
        let left = user.embed_missing(&self.services.indexing_settings(), control)?;
        Ok(left == 0 || !user.view.read().lacks_vectors())
    }

    fn cannot_embed(&self) -> Error {
        let last = self.services.counters.last_failure();
        let why = last.as_deref().unwrap_or("the embedder failed").to_owned();
        Error::new(ErrorKind::Embedding, format!("indexes could not be rebuilt: {why}"))
            .with_hint("call again when the embedder answers; until then, search uses words only")
    }

    /// Notes a step of a request that may be sent again, and returns what is known of it then.
    /// `name` and `body` are hashes.
    ///
    /// # Errors
    /// `ReadOnly`; `Closed`; `Io`.
    pub fn note_request(
        &self,
        name: &[u8],
        body: &[u8],
        step: RequestStep<'_>,
    ) -> Result<Option<KnownRequest>> {
        self.check_writable()?;
        let at = self.services.clock.now();
        self.services.store.note_request(&RequestNote { name, body, step, at })
    }

    /// Repeats all work that an outage left undone, and waits for it: vectors, texts, facts.
    /// Returns the number of records still pending.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn retry_pending(&self, user_id: Option<&str>, control: &dyn CallControl) -> Result<usize> {
        self.check_writable()?;
        let control = &WhileOpen { queue: &self.queue, inner: control };
        let mut pending = 0;
        for user_id in self.selected_users(user_id)? {
            let left = self.with_user(&user_id, control, |user| self.retry_user(user, control))?;
            pending += left.unwrap_or_default();
        }
        Ok(pending)
    }
}

impl Engine {
    fn retry_user(&self, user: &UserGuard, control: &dyn CallControl) -> Result<usize> {
        if self.services.has_background_work() {
            retry_all(&self.services, user, control)?;
        } else {
            form_user(&self.services, user, BufferCut::Finished, control)?;
        }
        let missing = {
            let _turn = user.turns.take_turn(control)?;
            user.embed_missing(&self.services.indexing_settings(), control)?
        };
        settle_letters(&self.services, user, missing)?;
        let view = user.view.read();
        Ok(missing + view.backlog.unlearned_episodes().len() + view.backlog.pending_llm())
    }
}

fn count_rebuilt(user: &OpenUser, report: &mut RebuildReport) {
    let view = user.view.read();
    report.users += 1;
    report.records += view.messages.len() + view.episodes.len() + view.facts.len();
    let fields = [&view.messages.field, &view.narratives, &view.statements];
    report.vectors += fields.iter().map(|field| field.vector_count()).sum::<usize>();
}
