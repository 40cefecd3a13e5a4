//! Stores which of two linked quotations the user keeps.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::refold::refold_facts;
use crate::engine::writing::remember::put_facts;
use crate::error::{Error, Result};
use crate::generate::facts::next_revision;
use crate::model::{FactLink, KeptSide, SemanticMemory};

/// Stores the decision with the later fact, and ends the fact that is not kept; see
/// [`Engine::keep_side`]. A decision replaces an earlier one, and reopens what that one ended.
///
/// [`Engine::keep_side`]: crate::engine::Engine::keep_side
pub(crate) fn keep_side(
    services: &EngineServices,
    user: &OpenUser,
    [old, new]: [&str; 2],
    side: KeptSide,
    control: &dyn CallControl,
) -> Result<()> {
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    let now = services.clock.now();
    let (old, new) = (user.bare_id(old), user.bare_id(new));
    let records: Vec<Arc<SemanticMemory>> = {
        let view = user.view.read();
        let not_linked =
            || Error::invalid(format!("these facts are not linked: `{old}` and `{new}`"));
        let facts = view.facts.by_id(&old).zip(view.facts.by_id(&new));
        let (earlier, later) = facts.ok_or_else(not_linked)?;
        let (mut earlier, mut later) = (next_revision(earlier, now), next_revision(later, now));
        let link = later.links.iter_mut().find(|link| link.old == old).ok_or_else(not_linked)?;
        let before = link.kept.replace(side);
        match before {
            Some(KeptSide::Old) => later.closed_at = None,
            Some(KeptSide::New) => earlier.closed_at = None,
            Some(KeptSide::Both) | None => {}
        }
        let link = link.clone();
        match closed_by(&link, &earlier, &later) {
            Some((closed, at)) if closed.memory_id == new => later.closed_at = Some(at),
            Some((_, at)) => earlier.closed_at = Some(at),
            None => {}
        }
        let mut changed = BTreeMap::from([(new, later)]);
        if before == Some(KeptSide::New) || side == KeptSide::New {
            changed.insert(old, earlier);
        }
        let find = |id: &str| view.facts.by_id(id).map(|fact| &**fact);
        refold_facts(changed, &find, now).into_iter().map(Arc::new).collect()
    };
    put_facts(services, user, basis, records, control).map(drop)
}

/// The fact that a decision about a link of two facts closes, and when. One that says more than
/// the words that the link is about stays open.
pub(super) fn closed_by<'f>(
    link: &FactLink,
    old: &'f SemanticMemory,
    new: &'f SemanticMemory,
) -> Option<(&'f SemanticMemory, Moment)> {
    let is_whole = |fact: &SemanticMemory, [from, to]: [u32; 2]| {
        fact.quote.as_ref().is_none_or(|quote| from <= quote.span[0] && quote.span[1] <= to)
    };
    match link.kept? {
        KeptSide::Old => is_whole(new, link.span).then_some((new, new.valid_from)),
        KeptSide::New => {
            is_whole(old, link.old_span).then_some((old, new.valid_from.max(old.valid_from)))
        }
        KeptSide::Both => None,
    }
}
