//! Vectors, episodes and facts of the last additions.
//!
//! An addition of a message or two returns when they are in the log and their words are indexed.
//! Everything else is derived from them by the thread of the queue, or first thing in the next
//! operation that needs it, whichever comes first. What a crash prevents, the first operation after
//! the next opening does.

use std::sync::Arc;

use crate::control::CallControl;
use crate::engine::background::pending::note_unfinished;
use crate::engine::lifecycle::Engine;
use crate::engine::services::EngineServices;
use crate::engine::user::{OpenUser, UserGuard};
use crate::engine::writing::form::{BufferCut, form_in_turn};
use crate::error::{ErrorKind, Result};
use crate::model::Episode;

/// A call with more messages or bytes derives everything itself: many at once take less time each.
const FEW: usize = 2;
const FEW_BYTES: usize = 16 << 10;
/// Maximum number of messages that wait; it bounds the work that a search does first.
const MOST_WAITING: usize = 1_024;

impl Engine {
    /// True if a call with so many messages and bytes leaves the rest to the queue.
    pub(crate) fn leaves_rest(&self, user: &UserGuard, messages: usize, bytes: usize) -> bool {
        self.services.derives_alone()
            && messages <= FEW
            && bytes <= FEW_BYTES
            && self.users.has_room(&self.services)
            && user.view.read().backlog.unembedded_slots().len() <= MOST_WAITING
    }

    /// Derives what the last additions left. Waits for another thread that does so up to the
    /// deadline of `control`. After a failure, which `health` shows, the operation goes on without.
    ///
    /// # Errors
    /// The error of `control` when the caller gives up.
    pub(crate) fn catch_up(&self, user: &UserGuard, control: &dyn CallControl) -> Result<()> {
        // A callback reads what there is: this thread derives already.
        let is_due = !self.services.read_only
            && self.services.derives_alone()
            && !user.view.read().is_caught_up()
            && !user.turns.is_held_here();
        if !is_due {
            return Ok(());
        }
        match derive_rest(&self.services, user, control) {
            Err(error) if error.kind() == ErrorKind::Interrupted => control.check(),
            Err(error) => {
                note_unfinished(&self.services, user, &error);
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    /// [`Engine::catch_up`] for every open user, or one.
    ///
    /// # Errors
    /// As [`Engine::catch_up`].
    pub(crate) fn catch_up_all(
        &self,
        user_id: Option<&str>,
        control: &dyn CallControl,
    ) -> Result<()> {
        let is_meant = |user: &UserGuard| user_id.is_none_or(|id| id == user.owner.user);
        self.users
            .open_users()
            .iter()
            .filter(|user| is_meant(user))
            .try_for_each(|user| self.catch_up(user, control))
    }
}

fn derive_rest(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    let Some(_turn) = user.turns.take_until(control.deadline(), control)? else {
        return Ok(Vec::new());
    };
    form_in_turn(services, user, BufferCut::Finished, control)
}
