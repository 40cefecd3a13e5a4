//! Carries changes of endings on to the facts whose ends depend on them.

use std::collections::BTreeMap;

use crate::clock::Moment;
use crate::generate::facts::fold::{end_of, with_end};
use crate::model::SemanticMemory;

/// Folds the ends of `changed`, and of every fact that they end, until nothing changes any more;
/// returns the next revisions of all these facts, by id. `find` returns the other facts.
pub(crate) fn refold_facts<'f>(
    mut changed: BTreeMap<String, SemanticMemory>,
    find: &'f dyn Fn(&str) -> Option<&'f SemanticMemory>,
    now: Moment,
) -> Vec<SemanticMemory> {
    let mut open: Vec<String> = changed.keys().cloned().collect();
    while let Some(id) = open.pop() {
        let (revision, ends) = {
            let known = |id: &str| changed.get(id).or_else(|| find(id));
            let Some(fact) = known(&id) else { continue };
            let Some(folded) = with_end(fact, end_of(fact, &known), now) else { continue };
            // A fact that is revised already keeps the number of that revision.
            let revised = changed.get(&id).map_or(folded.revision_count, |one| one.revision_count);
            let ends: Vec<String> =
                folded.ends.iter().map(|ending| ending.memory_id.clone()).collect();
            (SemanticMemory { revision_count: revised, ..folded }, ends)
        };
        changed.insert(id, revision);
        open.extend(ends);
    }
    changed.into_values().collect()
}
