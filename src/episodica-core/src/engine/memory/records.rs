//! Finds a record of a user by its id, whatever its kind.

use std::sync::Arc;

use crate::engine::memory::user::UserMemory;
pub use crate::score::HitRecord as AnyRecord;

impl UserMemory {
    /// The record with this id or URI.
    pub fn find_record(&self, id: &str) -> Option<AnyRecord> {
        let id = self.bare_id(id);
        let view = self.view.read();
        if let Some(episode) = view.episodes.by_id(&id).or_else(|| view.merged_into(&id)) {
            return Some(AnyRecord::Episode(Arc::clone(episode)));
        }
        if let Some(fact) = view.facts.by_id(&id) {
            return Some(AnyRecord::Semantic(Arc::clone(fact)));
        }
        view.messages
            .slot_of(&id)
            .map(|slot| AnyRecord::Message(Arc::clone(view.messages.get(slot))))
    }

    /// An id, or the id inside a URI of this user.
    pub fn bare_id(&self, id: &str) -> String {
        self.owner.parse_uri(id).map_or_else(|| id.to_owned(), |(_, id)| id)
    }
}
