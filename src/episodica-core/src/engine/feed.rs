//! The latest changes of records, for callers that follow a store.
//!
//! In memory only, and at most [`KEPT`] of them: a caller that was away for longer, or across a
//! restart, learns from [`EventPage::complete`] that it has to list the records again. Deletions
//! remove the user's events, because these contain their texts.

use std::collections::VecDeque;

use crate::sync::Mutex;

use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::model::{EventKind, SemanticEvent, SemanticMemory};

/// Maximum number of events.
const KEPT: usize = 8_192;

/// The cursor that stands for the end of the feed.
const LATEST: &str = "latest";

/// The kinds of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A message was stored.
    Message,
    /// An episode was written, or written again.
    Episode,
    /// A new fact.
    Add,
    /// A fact has another text.
    Update,
    /// A fact was said again and gained a proof.
    Merge,
    /// A new fact ended an older one.
    Supersede,
    /// A candidate said nothing new.
    Ignore,
    /// A record, or everything of a user, was deleted.
    Delete,
    /// A record was taken out of searches.
    Archive,
    /// A record that was archived, or had expired, takes part again.
    Restore,
}

impl Change {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "MESSAGE",
            Self::Episode => "EPISODE",
            Self::Add => "ADD",
            Self::Update => "UPDATE",
            Self::Merge => "MERGE",
            Self::Supersede => "SUPERSEDE",
            Self::Ignore => "IGNORE",
            Self::Delete => "DELETE",
            Self::Archive => "ARCHIVE",
            Self::Restore => "RESTORE",
        }
    }
}

/// One change of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its position among all events since the store was opened, from 1.
    pub number: u64,
    /// The cursor of what follows it; filled in when it is read.
    pub cursor: String,
    /// When it was noted.
    pub at: Moment,
    /// User id.
    pub user_id: String,
    /// What happened.
    pub change: Change,
    /// The record; empty if everything of the user was deleted.
    pub id: String,
    /// The text of a fact, the title of an episode; empty otherwise.
    pub statement: String,
    /// The text that it replaced or repeated.
    pub previous: Option<String>,
    /// The fact with that text, if it is another one.
    pub previous_id: Option<String>,
    /// Ids of the messages that prove it.
    pub evidence: Vec<String>,
    /// Why, for people.
    pub reason: String,
}

impl From<EventKind> for Change {
    fn from(kind: EventKind) -> Self {
        match kind {
            EventKind::Add => Self::Add,
            EventKind::Update => Self::Update,
            EventKind::Merge => Self::Merge,
            EventKind::Supersede => Self::Supersede,
            EventKind::Ignore => Self::Ignore,
        }
    }
}

impl Event {
    /// An event without texts.
    pub(crate) fn of(change: Change, id: impl Into<String>, at: Moment) -> Self {
        Self {
            number: 0,
            cursor: String::new(),
            at,
            user_id: String::new(),
            change,
            id: id.into(),
            statement: String::new(),
            previous: None,
            previous_id: None,
            evidence: Vec::new(),
            reason: String::new(),
        }
    }
}

/// The event of a change that left `fact` as it is now.
pub(crate) fn fact_event(change: Change, fact: &SemanticMemory, at: Moment) -> Event {
    Event {
        statement: fact.content.clone(),
        evidence: fact.source_messages.clone(),
        ..Event::of(change, &fact.memory_id, at)
    }
}

/// The event of a candidate that became, or changed, `fact`; `closed` is the fact that it ended.
pub(crate) fn learned_event(
    outcome: &SemanticEvent,
    fact: &SemanticMemory,
    closed: Option<String>,
    at: Moment,
) -> Event {
    Event {
        previous: outcome.previous.clone(),
        previous_id: closed,
        reason: outcome.reason.clone(),
        ..fact_event(outcome.event.into(), fact, at)
    }
}

/// Events in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<Event>,
    /// Where to continue.
    pub cursor: String,
    /// False if events between the caller's cursor and the first one are no longer known.
    pub complete: bool,
}

/// The events of an engine since it was opened.
#[derive(Debug)]
pub(crate) struct Feed {
    /// Tells the cursors of one opening from those of another.
    opening: i64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Event>,
    /// The number of the latest event.
    last: u64,
    /// The number of the latest event that had to go for a newer one.
    lost: u64,
}

impl Feed {
    /// A feed that begins now.
    pub fn new(now: Moment) -> Self {
        Self { opening: now.micros(), kept: Mutex::default() }
    }

    /// Notes what happened to a user's records.
    pub fn note(&self, user_id: &str, events: impl IntoIterator<Item = Event>) {
        let mut kept = self.kept.lock();
        for event in events {
            kept.last += 1;
            let number = kept.last;
            if kept.events.len() == KEPT {
                kept.lost = kept.events.pop_front().map_or(kept.lost, |gone| gone.number);
            }
            kept.events.push_back(Event { number, user_id: user_id.to_owned(), ..event });
        }
    }

    /// Drops the events of a user whose texts are being deleted.
    pub fn forget(&self, user_id: &str) {
        self.kept.lock().events.retain(|event| event.user_id != user_id);
    }

    /// Up to `limit` events after a cursor, of one user or of all.
    ///
    /// # Errors
    /// `InvalidInput` for text that is not a cursor.
    pub fn since(
        &self,
        cursor: Option<&str>,
        user_id: Option<&str>,
        limit: usize,
    ) -> Result<EventPage> {
        let kept = self.kept.lock();
        let (after, complete) = match cursor {
            None => (0, kept.lost == 0),
            Some(LATEST) => (kept.last, true),
            Some(text) => match read_cursor(text)? {
                (opening, number) if opening == self.opening && number <= kept.last => {
                    (number, number >= kept.lost)
                }
                _ => (0, false),
            },
        };
        let first = kept.events.partition_point(|event| event.number <= after);
        let mut events = Vec::new();
        let mut end = kept.last;
        for event in kept.events.range(first..) {
            if user_id.is_some_and(|user_id| user_id != event.user_id) {
                continue;
            }
            if events.len() == limit {
                end = events.last().map_or(after, |last: &Event| last.number);
                break;
            }
            events.push(Event { cursor: self.cursor(event.number), ..event.clone() });
        }
        Ok(EventPage { events, cursor: self.cursor(end), complete })
    }

    fn cursor(&self, number: u64) -> String {
        format!("{:x}-{number:x}", self.opening)
    }
}

fn read_cursor(text: &str) -> Result<(i64, u64)> {
    text.split_once('-')
        .and_then(|(opening, number)| {
            let opening = i64::from_str_radix(opening, 16).ok()?;
            Some((opening, u64::from_str_radix(number, 16).ok()?))
        })
        .ok_or_else(|| {
            Error::invalid(format!("not a cursor: `{text}`"))
                .with_hint("pass the `cursor` of an earlier page, or `latest`")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed() -> Feed {
        Feed::new(Moment::parse("2024-03-11T09:30:00Z").unwrap())
    }

    fn added(id: impl Into<String>) -> Event {
        Event::of(Change::Add, id, Moment::parse("2024-03-11T09:30:00Z").unwrap())
    }

    fn ids(page: &EventPage) -> Vec<&str> {
        page.events.iter().map(|event| event.id.as_str()).collect()
    }

    #[test]
    fn a_cursor_continues_where_its_page_ended() {
        let feed = feed();
        feed.note("ann", ["1", "2"].map(added));
        feed.note("bob", ["3"].map(added));
        feed.note("ann", ["4"].map(added));
        let first = feed.since(None, Some("ann"), 2).unwrap();
        assert_eq!((ids(&first), first.complete), (vec!["1", "2"], true));
        let rest = feed.since(Some(&first.cursor), Some("ann"), 2).unwrap();
        assert_eq!(ids(&rest), ["4"]);
        let end = feed.since(Some(&rest.cursor), None, 2).unwrap();
        assert_eq!((ids(&end), end.complete), (vec![], true));
        assert_eq!(feed.since(Some(LATEST), None, 2).unwrap().cursor, rest.cursor);
        assert!(feed.since(Some("nonsense"), None, 2).is_err());
    }

    #[test]
    fn what_no_longer_fits_is_reported_as_lost() {
        let feed = feed();
        feed.note("ann", [added("first")]);
        let cursor = feed.since(None, None, 10).unwrap().cursor;
        feed.note("ann", (0..KEPT).map(|n| added(n.to_string())));
        assert!(feed.since(Some(&cursor), None, 1).unwrap().complete);
        feed.note("ann", [added("last")]);
        let page = feed.since(Some(&cursor), None, 1).unwrap();
        assert_eq!((ids(&page), page.complete), (vec!["1"], false));
        let other = Feed::new(Moment::parse("2025-01-01T00:00:00Z").unwrap());
        assert!(!other.since(Some(&cursor), None, 1).unwrap().complete);
    }

    #[test]
    fn a_deletion_leaves_no_text() {
        let feed = feed();
        feed.note("ann", [Event { statement: "Ann is ill.".into(), ..added("1") }]);
        feed.note("bob", [added("2")]);
        feed.forget("ann");
        assert_eq!(ids(&feed.since(None, None, 10).unwrap()), ["2"]);
    }
}
