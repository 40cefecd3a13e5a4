//! Looking after a store: waiting, counting, checking, rebuilding.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::control::Control;
use crate::engine::memory::user::User;
use crate::engine::memory::view::View;
use crate::engine::registry::Engine;
use crate::error::Result;
use crate::model::RebuildReport;

/// How often a waiter looks again.
const POLL: Duration = Duration::from_millis(5);

impl Engine {
    /// Waits until nothing is pending for a user (or for all): `true` then, `false` when `timeout`
    /// has passed. What the rules did in the place of a model that doesn't answer is not waited
    /// for; `stats` counts it as `pending_llm`.
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
            self.owner(user_id)?;
        }
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        if self.works_behind() && !self.read_only {
            // Opening a user puts in line what a crash left undone.
            for user_id in self.selected(user_id)? {
                self.user(&user_id, false, control)?;
            }
        }
        loop {
            let users = self.open_users();
            let mut users =
                users.iter().filter(|user| user_id.is_none_or(|wanted| wanted == user.owner.user));
            let is_idle = |user: &Arc<User>| {
                !self.work.is_busy(Some(user)) && user.turns.try_take().is_some()
            };
            if users.all(|user| {
                is_idle(user) && (self.works_behind() || user.view.read().unlearned.is_empty())
            }) {
                return Ok(true);
            }
            control.check()?;
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
            std::thread::sleep(POLL);
        }
    }

    /// Counts of what one user holds, or of the whole store.
    ///
    /// # Errors
    /// `Io`; `Closed`.
    pub fn stats(&self, user_id: Option<&str>, control: &dyn Control) -> Result<Value> {
        self.check_open()?;
        match user_id {
            Some(user_id) => {
                let user = self.user(user_id, false, control)?;
                Ok(user.map_or_else(
                    || user_stats(user_id, &View::default(), 0),
                    |user| user_stats(user_id, &user.view.read(), user.heap_bytes()),
                ))
            }
            None => {
                let open = self.open_users();
                Ok(json!({
                    "tenant": self.tenant,
                    "users": self.users()?.len(),
                    "open_users": open.len(),
                    "memory_bytes": self.memory.load(Ordering::Relaxed),
                    "embedding_model": self.embedder.model(),
                    "embedding_dimension": self.embedder.dimension(),
                    "searches": self.counters.searches.load(Ordering::Relaxed),
                    "messages_embedded": self.counters.messages_embedded.load(Ordering::Relaxed),
                    "embedding_failures": self.counters.embedding_failures.load(Ordering::Relaxed),
                    "evictions": self.counters.evictions.load(Ordering::Relaxed),
                    "rejected_statements": *self.counters.rejected.lock(),
                    "mended": *self.counters.mended.lock(),
                }))
            }
        }
    }

    /// Is the engine able to work, and what is wrong if not? No secret inside.
    ///
    /// # Errors
    /// `Closed`.
    pub fn health(&self) -> Result<Value> {
        self.check_open()?;
        let failures = self.counters.embedding_failures.load(Ordering::Relaxed);
        let open = self.open_users();
        let found = open.iter().flat_map(|user| &user.problems).chain(self.store.problems());
        let problems = found.filter(|problem| !problem.mended).count();
        let available = self.llm.as_ref().is_none_or(|model| model.is_available());
        let llm = self.llm.as_ref().map_or_else(
            || json!({"configured": false}),
            |model| json!({"configured": true, "model": model.model(), "available": available, "endpoint": model.health()}),
        );
        Ok(json!({
            "status": if failures == 0 && problems == 0 && available { "ok" } else { "degraded" },
            "embedding": {"model": self.embedder.model(), "failures": failures},
            "llm": llm,
            "last_failure": self.counters.last_failure.lock().as_deref(),
            "store": {"path": self.path(), "read_only": self.read_only, "problems": problems},
        }))
    }

    /// What models cost since the engine was opened: calls, tokens and seconds by phase, model and
    /// user.
    ///
    /// # Errors
    /// `Closed`.
    pub fn usage(&self) -> Result<Value> {
        self.check_open()?;
        Ok(self.ledger.to_json())
    }

    /// Opens a user now, so that the first search needn't.
    ///
    /// # Errors
    /// `Io`; `EmbeddingMismatch`.
    pub fn load_user(&self, user_id: &str, control: &dyn Control) -> Result<RebuildReport> {
        let started = Instant::now();
        let mut report = RebuildReport::default();
        if let Some(user) = self.user(user_id, false, control)? {
            count(&user, &mut report);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Computes all vectors anew from the logs and replaces the caches: the way to another
    /// embedding model.
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
            let user = self.rebuilt_user(&user_id, control)?;
            if let Some(user) = user {
                count(&user, &mut report);
                report.embedded = report.vectors;
                self.save_caches(&user)?;
            }
            control.progress("users", done + 1, total);
        }
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    pub(crate) fn selected(&self, user_id: Option<&str>) -> Result<Vec<String>> {
        match user_id {
            Some(user_id) => {
                self.owner(user_id)?;
                Ok(vec![user_id.to_owned()])
            }
            None => self.users(),
        }
    }
}

fn count(user: &Arc<User>, report: &mut RebuildReport) {
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
        "buffered": view.buffer.len(),
        "episodes": view.episodes.len(),
        "semantic_memories": current,
        "superseded": view.facts.len() - current,
        "pending_semantic": view.unlearned.len(),
        "pending_llm": view.unwritten.union(&view.relearn).count(),
        "pending_vectors": view.unembedded.len(),
        "vectors": {
            "messages": view.messages.field.vector_count(),
            "episodes": view.abstracts.vector_count() + view.narratives.vector_count(),
            "semantic": view.statements.vector_count(),
        },
        "memory_bytes": heap_bytes,
    })
}
