//! Ends a fact because the user or the application says so.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::records::AnyRecord;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::erase::unknown_record;
use crate::engine::writing::refold::refold_facts;
use crate::engine::writing::remember::put_facts;
use crate::error::{Error, Result};
use crate::generate::facts::next_revision;
use crate::model::SemanticMemory;

/// Ends a fact at `at`; see [`Engine::close_fact`].
///
/// [`Engine::close_fact`]: crate::engine::Engine::close_fact
pub(crate) fn close_fact(
    services: &EngineServices,
    user: &OpenUser,
    id: &str,
    at: Option<Moment>,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    let now = services.clock.now();
    let known = match user.find_record(id).ok_or_else(|| unknown_record(id))? {
        AnyRecord::Semantic(known) => known,
        _ => return Err(Error::invalid(format!("only a fact can be closed: `{id}`"))),
    };
    let mut closed = next_revision(&known, now);
    closed.closed_at = Some(at.unwrap_or(now).max(known.valid_from));
    let records: Vec<Arc<SemanticMemory>> = {
        let view = user.view.read();
        let changed = BTreeMap::from([(closed.memory_id.clone(), closed)]);
        let find = |id: &str| view.facts.by_id(id).map(|fact| &**fact);
        refold_facts(changed, &find, now).into_iter().map(Arc::new).collect()
    };
    put_facts(services, user, basis, records, control)?;
    let closed = user.view.read().facts.by_id(&known.memory_id).cloned();
    closed.ok_or_else(|| Error::internal("the fact was not stored"))
}
