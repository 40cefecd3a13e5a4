//! Reports of the memory: counts, health and cost.

use std::sync::atomic::Ordering;

use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::view::UserView;
use crate::error::Result;
use crate::model::{
    EmbeddingHealth, LlmHealth, ModelHealth, ModelUsage, StoreHealth, StoreStats, UserStats,
    VectorCounts,
};
use crate::store::FORMAT_VERSION;

/// Consecutive unusable answers after which the model counts as failing.
const USELESS_ANSWERS: u64 = 2;

impl Engine {
    /// Counts of one user; all zero for an unknown user.
    ///
    /// # Errors
    /// `InvalidInput` for a malformed id; `Io`; `Closed`.
    pub fn user_stats(&self, user_id: &str, control: &dyn CallControl) -> Result<UserStats> {
        self.check_open()?;
        let user = self.known_user(user_id, control)?;
        Ok(user.map_or_else(
            || count_user(user_id, &UserView::default(), 0),
            |user| {
                user.measure_size();
                count_user(user_id, &user.view.read(), user.heap_bytes())
            },
        ))
    }

    /// Counts of the whole tenant, and of events since the store was opened.
    ///
    /// # Errors
    /// `Io`; `Closed`.
    pub fn store_stats(&self) -> Result<StoreStats> {
        self.check_open()?;
        let (services, counters) = (&*self.services, &self.services.counters);
        // Reading records, and following other processes, changes how much memory a user takes.
        self.users.open_users().iter().for_each(|user| user.measure_size());
        Ok(StoreStats {
            tenant: services.tenant.clone(),
            users: self.users()?.len(),
            open_users: self.users.len(),
            memory_bytes: self.users.memory_bytes(),
            embedding_model: services.embedder.model_name().to_owned(),
            embedding_dimension: services.embedder.dimension(),
            searches: counters.searches.load(Ordering::Relaxed),
            messages_embedded: counters.messages_embedded.load(Ordering::Relaxed),
            embedding_failures: counters.embedding_failures.load(Ordering::Relaxed),
            evictions: counters.evictions.load(Ordering::Relaxed),
            rejected_statements: counters.rejected.lock().clone(),
            mended: counters.mended.lock().clone(),
        })
    }

    /// Reports the failing parts. Contains no secret.
    ///
    /// # Errors
    /// `Closed`.
    pub fn health(&self) -> Result<ModelHealth> {
        self.check_open()?;
        let counters = &self.services.counters;
        let (embedding, llm, store) =
            (self.embedding_health(), self.llm_health(), self.store_health());
        // A local embedder fails only for lasting reasons: one failure is enough.
        let no_vectors =
            embedding.endpoint.as_ref().map_or(embedding.failures > 0, |service| service.failing);
        let is_useless = || counters.llm_unusable.load(Ordering::Relaxed) >= USELESS_ANSWERS;
        let no_answers = llm.configured
            && (!llm.available || counters.llm_failing.load(Ordering::Relaxed) || is_useless());
        let found = [
            (store.problems > 0 || store.failure.is_some(), "store"),
            (no_vectors, "embedding"),
            (no_answers, "llm"),
        ];
        Ok(ModelHealth {
            failing: found.iter().filter(|(fails, _)| *fails).map(|(_, name)| *name).collect(),
            embedding,
            llm,
            last_failure: counters.last_failure().as_deref().map(str::to_owned),
            store,
        })
    }

    fn embedding_health(&self) -> EmbeddingHealth {
        EmbeddingHealth {
            model: self.services.embedder.model_name().to_owned(),
            failures: self.services.counters.embedding_failures.load(Ordering::Relaxed),
            endpoint: self.services.embedder.service_health(),
        }
    }

    fn llm_health(&self) -> LlmHealth {
        self.services.llm.as_ref().map_or_else(LlmHealth::default, |model| LlmHealth {
            configured: true,
            model: Some(model.model_name().to_owned()),
            available: model.is_available(),
            endpoint: Some(model.service_health()),
        })
    }

    fn store_health(&self) -> StoreHealth {
        let open = self.users.open_users();
        let problems = self.services.store.problems();
        let found = open.iter().flat_map(|user| &user.problems).chain(problems);
        let medium = self.services.store.log_medium();
        StoreHealth {
            backend: medium.name,
            path: medium.place,
            server_version: medium.version,
            failure: medium.failure,
            format: FORMAT_VERSION,
            read_only: self.services.read_only,
            problems: found.filter(|problem| !problem.mended).count(),
        }
    }

    /// The cost of the models since the store was opened, by phase, model and user.
    ///
    /// # Errors
    /// `Closed`.
    pub fn usage(&self) -> Result<ModelUsage> {
        self.check_open()?;
        Ok(self.services.ledger.usage())
    }
}

fn count_user(user_id: &str, view: &UserView, heap_bytes: usize) -> UserStats {
    let current = view.facts.current_slots().filter(|slot| view.is_current(*slot)).count();
    UserStats {
        user_id: user_id.to_owned(),
        messages: view.messages.len(),
        buffered: view.backlog.buffered_slots().len(),
        episodes: view.episodes.len(),
        semantic_memories: current,
        superseded: view.facts.len() - current,
        archived: view.hidden_count(),
        pending_semantic: view.backlog.unlearned_episodes().len(),
        pending_llm: view.backlog.pending_llm(),
        refused_llm: view.backlog.refused_episodes().len(),
        pending_vectors: view.without_vector().len(),
        vectors: VectorCounts {
            messages: view.messages.field.vector_count(),
            episodes: view.narratives.vector_count(),
            semantic: view.statements.vector_count(),
        },
        memory_bytes: heap_bytes,
    }
}
