//! One lasting statement about the owner's world.

use serde::{Deserialize, Serialize};

use super::{PROCEDURE, Procedure, TextProvenance};
use crate::clock::Moment;

/// Whom a fact was stated about, in its metadata: `agent`, or nothing for the user.
pub const ABOUT: &str = "about";
/// The value of [`ABOUT`] for an agent.
pub const AGENT: &str = "agent";

/// What the application stated, in the metadata of a fact that messages prove, too.
pub(crate) const STATED: &str = "stated";

/// A fact, with the episodes and messages that prove it and the time for which it held.
///
/// The keys that Nemori's files have come first in JSON, ours follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticMemory {
    /// Unique among the owner's memories; stable across revisions.
    pub memory_id: String,
    /// The user it belongs to.
    pub user_id: String,
    /// The statement, third person, self-contained.
    pub content: String,
    /// Its category (`knowledge_type` in Nemori's files).
    #[serde(rename = "kind", alias = "knowledge_type", default)]
    pub kind: MemoryKind,
    /// Ids of the episodes it was learned from.
    #[serde(default)]
    pub source_episodes: Vec<String>,
    /// When it was first learned.
    pub created_at: Moment,
    /// 0 to 1: how sure the reading is.
    pub confidence: f32,
    /// 0 to 1: how much it matters.
    pub importance: f32,
    /// Any JSON object.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// Ids of the messages that prove it; beyond 64, one a day.
    #[serde(default)]
    pub source_messages: Vec<String>,
    /// The person or thing it is about.
    #[serde(default)]
    pub subject: String,
    /// Which attribute of the subject it states (`employer`, `home`, …); superseding never crosses
    /// it. Empty where none is known.
    #[serde(default)]
    pub attribute: String,
    /// From when on it held: when it was said, unless the message dates it.
    pub valid_from: Moment,
    /// Until when; `None` = still.
    #[serde(default)]
    pub valid_to: Option<Moment>,
    /// The memory that replaced it.
    #[serde(default)]
    pub superseded_by: Option<String>,
    /// After which it no longer counts; `None` = as long as it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Moment>,
    /// When it was taken out of searches and contexts; `None` = it takes part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Moment>,
    /// When this revision was written.
    pub updated_at: Moment,
    /// How often it was changed.
    #[serde(default)]
    pub revision_count: u32,
    /// How the text was made.
    #[serde(default)]
    pub provenance: TextProvenance,
}

impl SemanticMemory {
    /// Whether it is current: neither superseded nor ended.
    pub fn is_current(&self) -> bool {
        self.valid_to.is_none() && self.superseded_by.is_none()
    }

    /// The procedure that it is about, if it is about one.
    pub fn procedure(&self) -> Option<Procedure> {
        serde_json::from_value(self.metadata.get(PROCEDURE)?.clone()).ok()
    }

    /// True if it keeps a procedure: other facts neither replace nor repeat it.
    pub fn is_procedure(&self) -> bool {
        self.metadata.get(PROCEDURE).is_some_and(serde_json::Value::is_object)
    }

    /// True if it is about an agent rather than about the user: what an agent did, a case, how
    /// something is done, or what was stated about the agent.
    pub fn is_about_agent(&self) -> bool {
        matches!(self.kind, MemoryKind::Case | MemoryKind::Procedure)
            || self.is_stated_about_agent()
    }

    /// True if it was stated about an agent, or keeps what an agent did.
    pub fn is_stated_about_agent(&self) -> bool {
        let stated = self.metadata.get(ABOUT).and_then(serde_json::Value::as_str);
        self.is_procedure() || stated == Some(AGENT)
    }
}

/// The category of a semantic memory.
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
    /// What a person wants to achieve.
    Goal,
    /// Something that took place or is planned.
    Event,
    /// A problem and its solution, owned by the agent.
    Case,
    /// A choice that was made, with its reason.
    Decision,
    /// How something is done.
    Procedure,
    /// A person, place, organisation or thing; also what files call by a word that is not known
    /// here.
    #[default]
    #[serde(other)]
    Entity,
}

impl MemoryKind {
    /// All of them.
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
    /// Which of the five outcomes.
    pub event: EventKind,
    /// The memory it happened to.
    pub memory_id: String,
    /// Its text before, for UPDATE, MERGE and SUPERSEDE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// The outcomes of reconciling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventKind {
    /// A new memory.
    Add,
    /// An existing one says more now.
    Update,
    /// Two became one.
    Merge,
    /// An existing one no longer holds.
    Supersede,
    /// Nothing new.
    Ignore,
}
