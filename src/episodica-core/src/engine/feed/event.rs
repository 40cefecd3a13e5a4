//! What an event is.

use crate::clock::Moment;

/// The kinds of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A message was stored.
    Message,
    /// A session was closed: its episodes and facts are there.
    Session,
    /// An episode was written, or written again.
    Episode,
    /// A new fact.
    Add,
    /// A fact has another text, holds no longer or holds again.
    Update,
    /// A fact was said again and gained a proof.
    Merge,
    /// A new fact ended an older one.
    Supersede,
    /// A candidate said nothing new.
    Ignore,
    /// A sentence that is no fact; no log has it.
    Reject,
    /// A record, or everything of a user, was deleted.
    Delete,
    /// A record was taken out of searches.
    Archive,
    /// A record that was archived, or had expired, takes part again.
    Restore,
}

impl ChangeKind {
    /// The word for it in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "MESSAGE",
            Self::Session => "SESSION",
            Self::Episode => "EPISODE",
            Self::Add => "ADD",
            Self::Update => "UPDATE",
            Self::Merge => "MERGE",
            Self::Supersede => "SUPERSEDE",
            Self::Ignore => "IGNORE",
            Self::Reject => "REJECT",
            Self::Delete => "DELETE",
            Self::Archive => "ARCHIVE",
            Self::Restore => "RESTORE",
        }
    }

    /// Why, for people, where the line says no more.
    fn reason(self) -> &'static str {
        match self {
            Self::Message
            | Self::Episode
            | Self::Reject
            | Self::Delete
            | Self::Archive
            | Self::Restore => "",
            Self::Session => "closed",
            Self::Add => "new",
            Self::Update => "another text",
            Self::Merge => "said again",
            Self::Supersede => "ended an older fact",
            Self::Ignore => "says nothing new",
        }
    }
}

/// One change of a record.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeEvent {
    /// The cursor of what follows it; empty within a page of the events of very many users.
    pub cursor: String,
    /// When it happened, as the record says; of a message, when it was said.
    pub at: Moment,
    /// User id.
    pub user_id: String,
    /// What happened.
    pub change: ChangeKind,
    /// The record or session; empty if everything of the user was deleted.
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

impl ChangeEvent {
    /// An event without texts.
    pub(crate) fn of(change: ChangeKind, id: impl Into<String>, at: Moment) -> Self {
        Self {
            cursor: String::new(),
            at,
            user_id: String::new(),
            change,
            id: id.into(),
            statement: String::new(),
            previous: None,
            previous_id: None,
            evidence: Vec::new(),
            reason: change.reason().to_owned(),
        }
    }
}

/// Events in their order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<ChangeEvent>,
    /// Where to continue.
    pub cursor: String,
    /// False if the logs of a user are no continuation of what was read: after an event that
    /// declares it void, everything of the user follows again.
    pub complete: bool,
}
