//! One lasting fact about the owner's world.

use serde::{Deserialize, Serialize};

use super::{PROCEDURE, Procedure, TextProvenance};
use crate::clock::Moment;

/// Key in the metadata of a fact whose subject is an agent. Without the key, the subject is the
/// user.
pub const ABOUT: &str = "about";
/// The value of [`ABOUT`] for an agent.
pub const AGENT: &str = "agent";

/// Key in the metadata of a fact that the application stated and messages prove, too: the text as
/// the application stated it.
pub(crate) const STATED: &str = "stated";

/// A fact, with the episodes and messages that prove it and the time for which it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticMemory {
    /// Unique among the owner's facts; the same in all revisions.
    pub memory_id: String,
    /// The user.
    pub user_id: String,
    /// The fact in the third person, understandable without its episode.
    pub content: String,
    /// Its category.
    #[serde(default)]
    pub kind: MemoryKind,
    /// Ids of the episodes it was learned from.
    #[serde(default)]
    pub source_episodes: Vec<String>,
    /// When it was first learned.
    pub created_at: Moment,
    /// 0 to 1: how certain the extraction is.
    pub confidence: f32,
    /// 0 to 1: how much it matters.
    pub importance: f32,
    /// Any JSON object.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Ids of the messages that prove the fact; after the first 64, at most one more per day.
    #[serde(default)]
    pub source_messages: Vec<String>,
    /// The person or thing that the fact is about.
    #[serde(default)]
    pub subject: String,
    /// The attribute of the subject (`employer`, `home`, …); a fact only supersedes facts with the
    /// same attribute. Empty if unknown.
    #[serde(default)]
    pub attribute: String,
    /// Since when the fact holds: the date in the message, else the message's own date.
    pub valid_from: Moment,
    /// Until when the fact held; `None` = it still holds.
    #[serde(default)]
    pub valid_to: Option<Moment>,
    /// Id of the fact that replaced this one.
    #[serde(default)]
    pub superseded_by: Option<String>,
    /// When the fact expires; `None` = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Moment>,
    /// When the fact was archived: searches and contexts leave it out. `None` = not archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Moment>,
    /// When this revision was written.
    pub updated_at: Moment,
    /// How often the fact was changed.
    #[serde(default)]
    pub revision_count: u32,
    /// How the text was made.
    #[serde(default)]
    pub provenance: TextProvenance,
}

impl SemanticMemory {
    /// True if the fact is neither superseded nor ended.
    pub fn is_current(&self) -> bool {
        self.valid_to.is_none() && self.superseded_by.is_none()
    }

    /// Its procedure, if it has one.
    pub fn procedure(&self) -> Option<Procedure> {
        serde_json::from_value(self.metadata.get(PROCEDURE)?.clone()).ok()
    }

    /// True if the fact has a procedure: other facts neither replace nor repeat it.
    pub fn is_procedure(&self) -> bool {
        self.metadata.get(PROCEDURE).is_some_and(serde_json::Value::is_object)
    }

    /// True if its subject is an agent rather than the user: a case, a procedure, or a fact stated
    /// about the agent.
    pub fn is_about_agent(&self) -> bool {
        matches!(self.kind, MemoryKind::Case | MemoryKind::Procedure)
            || self.is_stated_about_agent()
    }

    /// True if the fact was stated about an agent, or has a procedure.
    pub fn is_stated_about_agent(&self) -> bool {
        let stated = self.metadata.get(ABOUT).and_then(serde_json::Value::as_str);
        self.is_procedure() || stated == Some(AGENT)
    }
}

/// The category of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryKind {
    /// Personal information: name, age, home, health, contact.
    PersonalInfo,
    /// Employers, roles, projects, education.
    WorkHistory,
    /// Likes, dislikes, habits.
    Preference,
    /// Family, friends, colleagues, pets.
    Relationship,
    /// Something that a person wants to achieve.
    Goal,
    /// Something that took place or is planned.
    Event,
    /// A problem and its solution, owned by the agent.
    Case,
    /// A choice that was made, with its reason.
    Decision,
    /// How something is done.
    Procedure,
    /// A person, place, organisation or thing. Also stands for categories in files that this
    /// version does not know.
    #[default]
    #[serde(other)]
    Entity,
}

impl MemoryKind {
    /// All categories.
    pub const ALL: [Self; 10] = [
        Self::PersonalInfo,
        Self::WorkHistory,
        Self::Preference,
        Self::Relationship,
        Self::Goal,
        Self::Entity,
        Self::Event,
        Self::Case,
        Self::Decision,
        Self::Procedure,
    ];

    /// The word used in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::PersonalInfo => "personal_info",
            Self::WorkHistory => "work_history",
            Self::Preference => "preference",
            Self::Relationship => "relationship",
            Self::Goal => "goal",
            Self::Entity => "entity",
            Self::Event => "event",
            Self::Case => "case",
            Self::Decision => "decision",
            Self::Procedure => "procedure",
        }
    }
}

/// The outcome of reconciling a candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticEvent {
    /// The outcome.
    pub event: EventKind,
    /// The fact that it applies to.
    pub memory_id: String,
    /// Its text before, for UPDATE, MERGE and SUPERSEDE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The reason, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The outcomes of reconciling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventKind {
    /// The fact is new.
    Add,
    /// An existing fact says more now.
    Update,
    /// Two facts became one.
    Merge,
    /// An existing fact no longer holds.
    Supersede,
    /// The candidate is known already.
    Ignore,
}
