//! Events and their kinds.

use crate::clock::Moment;

/// The kinds of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// A message was stored, or a newer version of one.
    Message,
    /// A session was closed, and its episodes and facts are stored.
    Session,
    /// An episode was written or rewritten.
    Episode,
    /// A new fact.
    Add,
    /// A fact was edited, ended or reinstated.
    Update,
    /// A fact was confirmed by another message.
    Merge,
    /// A new fact ended an older one.
    Supersede,
    /// A candidate said nothing new.
    Ignore,
    /// The rules rejected a sentence; the logs don't record this.
    Reject,
    /// A record, or everything of a user, was deleted.
    Delete,
    /// A record was archived.
    Archive,
    /// An archived or expired record was restored.
    Restore,
}

impl ChangeKind {
    /// The name in reports.
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

    /// The default reason of this kind of event, for people.
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
    /// The cursor after this event. If cursors cover very many users, it is empty in all events of
    /// a page but the last.
    pub cursor: String,
    /// When the change happened, according to the record; for a message, when it was said.
    pub at: Moment,
    /// User id.
    pub user_id: String,
    /// What happened.
    pub change: ChangeKind,
    /// The record or session; empty if everything of the user was deleted.
    pub id: String,
    /// The text of a fact, the title of an episode, the newer words of a message; empty otherwise.
    pub statement: String,
    /// The earlier text that the record replaced or repeated.
    pub previous: Option<String>,
    /// The fact with the previous text, if that is another fact.
    pub previous_id: Option<String>,
    /// Ids of the messages that state the fact.
    pub evidence: Vec<String>,
    /// The reason, for people.
    pub reason: String,
}

impl ChangeEvent {
    /// An event without texts.
    pub(crate) fn without_texts(change: ChangeKind, id: impl Into<String>, at: Moment) -> Self {
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

/// One page of events, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events.
    pub events: Vec<ChangeEvent>,
    /// The cursor for the next page.
    pub cursor: String,
    /// False if a user's logs do not continue the part that was read. A `Delete` event without an
    /// id then declares the user's earlier events void, and all of the user's events follow again.
    pub complete: bool,
}
