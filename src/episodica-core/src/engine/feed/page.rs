//! The events after a cursor, a page at a time.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::engine::feed::cursor::FeedCursor;
use crate::engine::feed::event::{ChangeEvent, ChangeKind, EventPage};
use crate::engine::feed::lines::{FeedStep, UnreadLines};
use crate::engine::services::EngineServices;
use crate::error::Result;
use crate::ids::{Owner, mark_of};
use crate::store::{LogEnds, LogLook, UserPlaces};
use crate::sync::Mutex;

/// The cursor for the end of all logs.
const LATEST: &str = "latest";
/// Most ids of deleted records that are kept in memory.
const KEPT_IDS: usize = 8_192;
/// If the cursor covers more users than this, only the last event of a page carries a cursor.
const MAX_USERS_PER_EVENT: usize = 64;

/// How far this process has read the logs.
#[derive(Debug, Default)]
pub(crate) struct FeedPositions {
    /// Users without unread events, with the log ends and places at which this was found.
    settled: Mutex<HashMap<String, (LogEnds, UserPlaces)>>,
    /// Marks and ids of the records that this process deleted, oldest first.
    deleted: Mutex<VecDeque<(String, String)>>,
}

impl FeedPositions {
    /// Notes ids that are about to be erased: the logs keep only their marks.
    pub fn note_deleted<'a>(&self, owner: &Owner, ids: impl IntoIterator<Item = &'a String>) {
        let mut deleted = self.deleted.lock();
        for id in ids {
            if deleted.len() == KEPT_IDS {
                deleted.pop_front();
            }
            deleted.push_back((mark_of(owner, id), id.clone()));
        }
    }

    /// The id of the deleted record that `mark` stands for, if this process deleted it; otherwise
    /// the mark itself.
    fn deleted_id(&self, mark: &str) -> String {
        let deleted = self.deleted.lock();
        let known = deleted.iter().rev().find(|(known, _)| known == mark);
        known.map_or_else(|| format!("sha256:{mark}"), |(_, id)| id.clone())
    }

    fn is_settled(&self, user: &str, ends: &LogEnds, places: &UserPlaces) -> bool {
        self.settled.lock().get(user).is_some_and(|known| *known == (*ends, *places))
    }
}

/// See [`Engine::events`](crate::engine::Engine::events).
pub(crate) fn events_of(
    services: &EngineServices,
    cursor: Option<&str>,
    user_id: Option<&str>,
    limit: usize,
) -> Result<EventPage> {
    let mut page = FeedPage {
        services,
        cursor: match cursor {
            None | Some(LATEST) => FeedCursor::default(),
            Some(text) => FeedCursor::from_text(text)?,
        },
        events: Vec::new(),
        limit,
        complete: true,
    };
    let users = match user_id {
        Some(user_id) => BTreeSet::from([user_id.to_owned()]),
        None => {
            let known = page.cursor.users.keys().cloned();
            known.chain(services.store.list_users(&services.tenant)?).collect()
        }
    };
    for user in users {
        let owner = services.owner_of(&user)?;
        if cursor == Some(LATEST) {
            page.skip_user(&owner)?;
        } else if page.events.len() < limit {
            page.read_user(&owner)?;
        }
    }
    Ok(page.finish())
}

/// A page being filled.
struct FeedPage<'a> {
    services: &'a EngineServices,
    cursor: FeedCursor,
    events: Vec<ChangeEvent>,
    limit: usize,
    complete: bool,
}

impl FeedPage<'_> {
    fn finish(mut self) -> EventPage {
        let cursor = self.cursor.to_text();
        if let Some(last) = self.events.last_mut()
            && last.cursor.is_empty()
        {
            last.cursor.clone_from(&cursor);
        }
        EventPage { events: self.events, cursor, complete: self.complete }
    }

    /// Moves the cursor to the end of a user's logs.
    fn skip_user(&mut self, owner: &Owner) -> Result<()> {
        let ends = self.services.store.log_ends(owner)?;
        let places = self.services.store.last_places(owner, &ends)?;
        self.cursor.set_places(&owner.user, places);
        self.settle_places(owner, ends, places);
        Ok(())
    }

    fn settle_places(&self, owner: &Owner, ends: LogEnds, places: UserPlaces) {
        self.services.feed.settled.lock().insert(owner.user.clone(), (ends, places));
    }

    /// Adds the events after the cursor in a user's logs.
    fn read_user(&mut self, owner: &Owner) -> Result<()> {
        let services = self.services;
        loop {
            let ends = services.store.log_ends(owner)?;
            let places = self.cursor.user_places(&owner.user);
            if ends.is_nobody() {
                if self.cursor.users.contains_key(&owner.user) {
                    self.begin_anew(owner);
                    services.feed.settled.lock().remove(&owner.user);
                }
                return Ok(());
            }
            if services.feed.is_settled(&owner.user, &ends, &places) {
                return Ok(());
            }
            match services.store.look_behind(owner, &places)? {
                LogLook::Busy => return Ok(()),
                LogLook::Discontinued => {
                    self.complete = false;
                    self.begin_anew(owner);
                }
                LogLook::Lines(placed, behind) => {
                    let now = services.clock.now();
                    let mut tail = UnreadLines::new(&services.store, owner, placed, now);
                    tail.read_logs(&behind)?;
                    let (end, has_more) = (tail.reported_places(), tail.has_more());
                    for step in tail.into_steps() {
                        // The events of one line share a place, so a page can't end between them.
                        let is_next = step.places != self.cursor.user_places(&owner.user);
                        if self.events.len() >= self.limit && is_next {
                            return Ok(());
                        }
                        self.take_step(owner, step);
                    }
                    self.cursor.set_places(&owner.user, end);
                    if !has_more {
                        self.settle_places(owner, ends, end);
                        return Ok(());
                    }
                }
            }
            if self.events.len() >= self.limit {
                return Ok(());
            }
        }
    }

    /// Reports that all earlier events of a user are void.
    fn begin_anew(&mut self, owner: &Owner) {
        self.cursor.users.remove(&owner.user);
        let at = self.services.clock.now();
        let event = ChangeEvent {
            user_id: owner.user.clone(),
            ..ChangeEvent::without_texts(ChangeKind::Delete, "", at)
        };
        self.push_event(event);
    }

    fn take_step(&mut self, owner: &Owner, step: FeedStep) {
        self.cursor.set_places(&owner.user, step.places);
        let mut event = ChangeEvent { user_id: owner.user.clone(), ..step.event };
        if let Some(mark) = step.mark {
            event.id = self.services.feed.deleted_id(&mark);
        }
        self.push_event(event);
    }

    fn push_event(&mut self, event: ChangeEvent) {
        let is_short = self.cursor.users.len() <= MAX_USERS_PER_EVENT;
        let cursor = if is_short { self.cursor.to_text() } else { String::new() };
        self.events.push(ChangeEvent { cursor, ..event });
    }
}
