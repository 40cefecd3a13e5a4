//! The sessions of a user, read from the log of messages. Opens no user.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use crate::clock::Moment;
use crate::engine::lifecycle::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;
use crate::store::{LogKind, SessionState, StateRecord};

/// Attempts to read a log that is being rewritten.
const ATTEMPTS: usize = 20;

/// A session of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSession {
    /// Its id.
    pub session_id: String,
    /// Progress of closing. A session that got a message after it was closed is active.
    pub state: SessionState,
    /// When the state last changed; `None` if the session was never closed.
    pub changed_at: Option<Moment>,
    /// How many messages the session has.
    pub messages: usize,
    /// When the earliest message was said.
    pub started_at: Moment,
    /// When the latest message was said.
    pub ended_at: Moment,
}

/// The part of a message's line that concerns its session.
#[derive(Deserialize)]
struct SessionNote<'a> {
    #[serde(borrow)]
    session_id: Option<Cow<'a, str>>,
    timestamp: Moment,
}

impl Engine {
    /// The sessions of a user, in the order in which they began; empty for an unknown user.
    ///
    /// # Errors
    /// `InvalidInput` for a malformed user id; `Io`; `Closed`.
    pub fn sessions(&self, user_id: &str) -> Result<Vec<UserSession>> {
        self.check_open()?;
        let owner = self.services.owner_of(user_id)?;
        for _ in 0..ATTEMPTS {
            let store = &self.services.store;
            let before = store.log_ends(&owner)?;
            let found = self.read_sessions(&owner)?;
            if store.log_ends(&owner)?.generation == before.generation {
                return Ok(found);
            }
        }
        Err(Error::new(ErrorKind::Io, "the log changes while it is read")
            .with_hint("call again once deletions have ended"))
    }

    fn read_sessions(&self, owner: &Owner) -> Result<Vec<UserSession>> {
        let store = &self.services.store;
        let end = store.last_places(owner, &store.log_ends(owner)?)?.logs[0];
        let (mut sessions, mut places) = (Vec::new(), HashMap::new());
        store.lines_before(owner, LogKind::Messages, end, &mut |line| {
            if line.starts_with(b"{\"type\":") {
                if let Ok(StateRecord::Session { session_id, state, at }) =
                    serde_json::from_slice(line)
                    && let Some(place) = places.get(&session_id)
                {
                    let session: &mut UserSession = &mut sessions[*place];
                    (session.state, session.changed_at) = (state, Some(at));
                }
                return;
            }
            let Ok(SessionNote { session_id: Some(session_id), timestamp }) =
                serde_json::from_slice(line)
            else {
                return;
            };
            let Some(place) = places.get(&*session_id) else {
                places.insert(session_id.clone().into_owned(), sessions.len());
                sessions.push(UserSession {
                    session_id: session_id.into_owned(),
                    state: SessionState::Active,
                    changed_at: None,
                    messages: 1,
                    started_at: timestamp,
                    ended_at: timestamp,
                });
                return;
            };
            let session = &mut sessions[*place];
            session.messages += 1;
            session.state = SessionState::Active;
            session.started_at = session.started_at.min(timestamp);
            session.ended_at = session.ended_at.max(timestamp);
        })?;
        Ok(sessions)
    }
}
