//! Looking after a store: waiting, counting, retrying, rebuilding.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::control::Control;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::vectors::KnownVectors;
use crate::engine::memory::view::View;
use crate::engine::user::{User, UserGuard};
use crate::engine::writing::form::Cut;
use crate::error::Result;
use crate::model::RebuildReport;
use crate::store::LogKind;

/// A wait without a timeout looks again after this long at the latest.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Engine {
    /// Waits until nothing is pending for a user (or for all): `true` then, `false` when `timeout`
    /// has passed. Does not wait for what a model that does not answer is to do again; `stats` counts
    /// that as `pending_llm`.
    ///
    /// # Errors
    /// `Interrupted`; `Closed`.
    pub fn wait(
        &self,
        user_id: Option<&str>,
        timeout: Option<Duration>,
        control: &dyn Control,
    ) -> Result<bool> {
        self.check_open()?;
        if let Some(user_id) = user_id {
            self.services.owner(user_id)?;
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if self.services.has_background_work() && !self.services.read_only {
            // Opening a user queues what a crash left undone.
            for user_id in self.selected(user_id)? {
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

    /// True if nothing is pending for a user, or for anybody.
    fn is_idle(&self, user_id: Option<&str>) -> bool {
        let users = match user_id {
            Some(user_id) => self.users.get(user_id).into_iter().collect(),
            None => self.users.all(),
        };
        users.iter().all(|user| {
            let learned = self.services.has_background_work()
                || user.view.read().backlog.unlearned().is_empty();
            learned && !self.queue.is_busy_with(user) && user.turns.try_take().is_some()
        })
    }

    /// Counts of one user, or of the whole store.
    ///
    /// # Errors
    /// `Io`; `Closed`.
    pub fn stats(&self, user_id: Option<&str>, control: &dyn Control) -> Result<Value> {
        self.check_open()?;
        match user_id {
            Some(user_id) => {
                let user = self.known_user(user_id, control)?;
                Ok(user.map_or_else(
                    || user_stats(user_id, &View::default(), 0),
                    |user| user_stats(user_id, &user.view.read(), user.heap_bytes()),
                ))
            }
            None => {
                let (services, counters) = (&*self.services, &self.services.counters);
                Ok(json!({
                    "tenant": services.tenant,
                    "users": self.users()?.len(),
                    "open_users": self.users.len(),
                    "memory_bytes": self.users.memory_bytes(),
                    "embedding_model": services.embedder.model(),
                    "embedding_dimension": services.embedder.dimension(),
                    "searches": counters.searches.load(Ordering::Relaxed),
                    "messages_embedded": counters.messages_embedded.load(Ordering::Relaxed),
                    "embedding_failures": counters.embedding_failures.load(Ordering::Relaxed),
                    "evictions": counters.evictions.load(Ordering::Relaxed),
                    "rejected_statements": *counters.rejected.lock(),
                    "mended": *counters.mended.lock(),
                }))
            }
        }
    }

    /// State of the embedder, the model and the store. Contains no secret.
    ///
    /// # Errors
    /// `Closed`.
    pub fn health(&self) -> Result<Value> {
        self.check_open()?;
        let services = &*self.services;
        let failures = services.counters.embedding_failures.load(Ordering::Relaxed);
        let open = self.users.all();
        let found = open.iter().flat_map(|user| &user.problems).chain(services.store.problems());
        let problems = found.filter(|problem| !problem.mended).count();
        let available = services.is_model_available();
        let llm = services.llm.as_ref().map_or_else(
            || json!({"configured": false}),
            |model| {
                json!({
                    "configured": true,
                    "model": model.model(),
                    "available": available,
                    "endpoint": model.health(),
                })
            },
        );
        let is_ok = failures == 0 && problems == 0 && available;
        Ok(json!({
            "status": if is_ok { "ok" } else { "degraded" },
            "embedding": {"model": services.embedder.model(), "failures": failures},
            "llm": llm,
            "last_failure": services.counters.last_failure(),
            "store": {
                "path": self.path(),
                "read_only": services.read_only,
                "problems": problems,
            },
        }))
    }

    /// Calls, tokens and seconds of models since the engine was opened, by phase, model and user.
    ///
    /// # Errors
    /// `Closed`.
    pub fn usage(&self) -> Result<Value> {
        self.check_open()?;
        Ok(self.services.ledger.to_json())
    }

    /// Opens a user ahead of the first search.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`.
    pub fn load_user(&self, user_id: &str, control: &dyn Control) -> Result<RebuildReport> {
        let started = Instant::now();
        let mut report = RebuildReport::default();
        if let Some(user) = self.known_user(user_id, control)? {
            count(&user, &mut report);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Computes all vectors again and replaces the caches: the way to another embedding model.
    ///
    /// # Errors
    /// `Io`; `Embedding` when the embedder fails (the old caches stay); `Interrupted`.
    pub fn rebuild_indices(
        &self,
        user_id: Option<&str>,
        control: &dyn Control,
    ) -> Result<RebuildReport> {
        self.check_writable()?;
        let started = Instant::now();
        let mut report = RebuildReport::default();
        let users = self.selected(user_id)?;
        let total = users.len();
        for (done, user_id) in users.into_iter().enumerate() {
            if let Some(user) = self.rebuilt_user(&user_id, control)? {
                count(&user, &mut report);
                report.embedded = report.vectors;
                user.save_caches(&self.services.store, &self.services.indexing())?;
            }
            self.services.callouts.progress(control, "users", done + 1, total);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Opens a user with all vectors computed anew; `None` if there is no such user.
    fn rebuilt_user(&self, user_id: &str, control: &dyn Control) -> Result<Option<UserGuard>> {
        let owner = self.services.owner(user_id)?;
        if let Some(user) = self.users.get(user_id) {
            let turn = user.turns.take(control)?;
            user.rebuild(KnownVectors::default(), &self.services.indexing(), control)?;
            user.measure();
            drop(turn);
            return Ok(Some(user));
        }
        self.services.store.remove_snapshot(&owner)?;
        for kind in LogKind::ALL {
            self.services.store.remove_vectors(&owner, kind)?;
        }
        self.known_user(user_id, control)
    }

    /// Does what an outage left undone, before it returns: vectors, texts, facts.
    /// Returns how many records are still pending.
    ///
    /// # Errors
    /// `Io`; `Interrupted`.
    pub fn retry_pending(&self, user_id: Option<&str>, control: &dyn Control) -> Result<usize> {
        self.check_writable()?;
        let mut pending = 0;
        for user_id in self.selected(user_id)? {
            let Some(user) = self.known_user(&user_id, control)? else { continue };
            if self.services.has_background_work() {
                self.services.retry_all(&user, control)?;
            } else {
                self.services.form(&user, Cut::Finished, control)?;
            }
            let missing = {
                let _turn = user.turns.take(control)?;
                user.embed_missing(&self.services.indexing(), control)?
            };
            self.services.settle_letters(&user, missing)?;
            let view = user.view.read();
            pending += missing + view.backlog.unlearned().len() + view.backlog.pending_llm();
        }
        Ok(pending)
    }
}

fn count(user: &User, report: &mut RebuildReport) {
    let view = user.view.read();
    report.users += 1;
    report.records += view.messages.len() + view.episodes.len() + view.facts.len();
    let fields = [&view.messages.field, &view.abstracts, &view.narratives, &view.statements];
    report.vectors += fields.iter().map(|field| field.vector_count()).sum::<usize>();
}

fn user_stats(user_id: &str, view: &View, heap_bytes: usize) -> Value {
    let current = view.facts.slots().filter(|slot| view.is_current(*slot)).count();
    json!({
        "user_id": user_id,
        "messages": view.messages.len(),
        "buffered": view.backlog.buffer().len(),
        "episodes": view.episodes.len(),
        "semantic_memories": current,
        "superseded": view.facts.len() - current,
        "pending_semantic": view.backlog.unlearned().len(),
        "pending_llm": view.backlog.pending_llm(),
        "pending_vectors": view.backlog.unembedded().len(),
        "vectors": {
            "messages": view.messages.field.vector_count(),
            "episodes": view.abstracts.vector_count() + view.narratives.vector_count(),
            "semantic": view.statements.vector_count(),
        },
        "memory_bytes": heap_bytes,
    })
}
