//! Shared dependencies of all operations: settings, files, clock, embedder, model, cost. Has no
//! reference to open users.

use std::sync::Arc;

use crate::clock::{Clock, DisplayZone};
use crate::config::MemoryConfig;
use crate::embed::Embedder;
use crate::engine::asking::gate::CallGate;
use crate::engine::callback_guard::CallbackGuard;
use crate::engine::counters::EngineCounters;
use crate::engine::feed::FeedPositions;
use crate::engine::memory::indexing::IndexingSettings;
use crate::error::Result;
use crate::ids::Owner;
use crate::index::VectorIndexFactory;
use crate::llm::{LanguageModel, UsageLedger};
use crate::score::TokenTable;
use crate::store::Store;

/// The parts of an engine that do not change while it is open.
pub(crate) struct EngineServices {
    pub config: MemoryConfig,
    /// The zone of `config`.
    pub zone: DisplayZone,
    pub tenant: String,
    pub store: Store,
    pub read_only: bool,
    pub clock: Arc<dyn Clock>,
    pub embedder: Arc<dyn Embedder>,
    pub vectors: Arc<dyn VectorIndexFactory>,
    pub tokens: &'static dyn TokenTable,
    pub llm: Option<Arc<dyn LanguageModel>>,
    pub ledger: Arc<UsageLedger>,
    pub gate: CallGate,
    pub counters: EngineCounters,
    pub feed: FeedPositions,
    pub callouts: CallbackGuard,
}

impl EngineServices {
    /// True if a model or a remote embedder is configured.
    pub fn has_background_work(&self) -> bool {
        self.llm.is_some() || !self.embedder.is_local()
    }

    /// True if the package's own code derives everything from messages, without a model, a server
    /// or a callable.
    pub fn derives_alone(&self) -> bool {
        self.llm.is_none() && self.embedder.is_own()
    }

    /// True without a model, or while the model is not known to fail.
    pub fn is_model_available(&self) -> bool {
        self.llm.as_ref().is_none_or(|model| model.is_available())
    }

    pub fn owner_of(&self, user_id: &str) -> Result<Owner> {
        Owner::new(&self.tenant, user_id)
    }

    pub fn indexing_settings(&self) -> IndexingSettings<'_> {
        IndexingSettings {
            config: &self.config,
            factory: &*self.vectors,
            tokens: self.tokens,
            embedder: &*self.embedder,
            counters: &self.counters,
            opens_without_embedding: !self.embedder.is_local() && !self.read_only,
        }
    }
}
