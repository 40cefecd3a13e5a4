//! One lasting fact about the owner's world.

use serde::{Deserialize, Serialize};

use super::{PROCEDURE, Procedure, SaidBy, TextProvenance};
use crate::clock::Moment;

/// The provenance method of facts that quote a message.
pub(crate) const BY_RULES: &str = "offline";
/// The provenance method of facts stated or corrected by the application.
pub(crate) const BY_USER: &str = "user";

/// Key in the metadata of a fact whose subject is an agent. Without the key, the subject is the
/// user.
pub const ABOUT: &str = "about";
/// The value of [`ABOUT`] for an agent.
pub const AGENT: &str = "agent";

/// The words of a message that a fact quotes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactQuote {
    /// The exact words.
    pub text: String,
    /// First character of the words in the message's content, and the one after the last; counted
    /// in code points.
    pub span: [u32; 2],
    /// The speaker's name as the fact shows it.
    pub speaker: String,
    /// When the message was said.
    pub said_at: Moment,
    /// Who said the words.
    pub said_by: SaidBy,
    /// Id of the message with the question that these words answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
}

/// An ending that a fact states of another fact.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactEnding {
    /// The fact that ends.
    pub memory_id: String,
    /// From when on it does not hold.
    pub from: Moment,
}

/// What the later of two quotations says about what the earlier one says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// The earlier words were wrong.
    Correction,
    /// It is different now.
    Change,
    /// It is over, or will not happen.
    Cancelled,
    /// It may change.
    Tentative,
    /// The same again.
    Same,
    /// Something about it. Also stands for kinds in files that this version does not know.
    #[default]
    #[serde(other)]
    Later,
}

impl LinkKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Correction, Self::Change, Self::Cancelled, Self::Tentative, Self::Same, Self::Later];

    /// The word used in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correction => "correction",
            Self::Change => "change",
            Self::Cancelled => "cancelled",
            Self::Tentative => "tentative",
            Self::Same => "same",
            Self::Later => "later",
        }
    }
}

/// Which side of a change the user keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptSide {
    /// The earlier words hold, the later ones never did.
    Old,
    /// The earlier words held until the later ones were said.
    New,
    /// Both hold.
    Both,
}

impl KeptSide {
    /// The word used in files and in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
            Self::Both => "both",
        }
    }
}

/// An earlier quotation about the same thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactLink {
    /// The fact with the earlier words.
    pub old: String,
    /// The earlier words in their message, in code points.
    pub old_span: [u32; 2],
    /// The later words in theirs.
    pub span: [u32; 2],
    /// What the later words say about it.
    #[serde(default)]
    pub kind: LinkKind,
    /// How sure it is that both are about the same thing, 0 to 1.
    pub score: f32,
    /// What the user decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptSide>,
}

/// A fact, with the episodes and messages that prove it and the time for which it held.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SemanticMemory {
    /// Unique among the owner's facts; the same in all revisions.
    pub memory_id: String,
    /// The user.
    pub user_id: String,
    /// A quotation with its speaker and resolved dates, or the sentence of a model or the
    /// application.
    pub content: String,
    /// The words that the fact quotes; `None` for the sentence of a model or the application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<Box<FactQuote>>,
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
    /// The attribute of the subject (`employer`, `home`, …) that a model or the application stated;
    /// else empty.
    #[serde(default)]
    pub attribute: String,
    /// The value of the attribute, as stated; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// When the event took place or takes place, as a model stated it: a day, month or year in ISO
    /// 8601, or two of them with a slash; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// Since when the fact holds.
    pub valid_from: Moment,
    /// When the fact stops to hold, which may be to come; `None` = no end is known. Derived from
    /// [`closed_at`](Self::closed_at) and the facts of [`ended_by`](Self::ended_by).
    #[serde(default)]
    pub valid_to: Option<Moment>,
    /// Id of the fact that ends this one. Derived as `valid_to` is.
    #[serde(default)]
    pub superseded_by: Option<String>,
    /// The facts that this one ends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<FactEnding>,
    /// Ids of the facts that name this one in `ends`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended_by: Vec<String>,
    /// The earlier quotations about the same thing, the latest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<FactLink>,
    /// Until when the fact held, as the user or the application decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Moment>,
    /// Ids of the facts and of the messages of other episodes that the model saw when it wrote this
    /// fact. It also saw all messages of the source episodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<String>,
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

/// Lowest confidence of a model's fact that stands beside messages.
const STANDING_CONFIDENCE: f32 = 0.5;

impl SemanticMemory {
    /// A fact that holds and was written at `now`, of which nothing but its words is known.
    pub(crate) fn new(memory_id: String, user_id: String, content: String, now: Moment) -> Self {
        Self {
            memory_id,
            user_id,
            content,
            quote: None,
            kind: MemoryKind::default(),
            source_episodes: Vec::new(),
            created_at: now,
            confidence: 0.0,
            importance: 0.0,
            metadata: serde_json::Map::new(),
            source_messages: Vec::new(),
            subject: String::new(),
            attribute: String::new(),
            value: String::new(),
            when: String::new(),
            valid_from: now,
            valid_to: None,
            superseded_by: None,
            ends: Vec::new(),
            ended_by: Vec::new(),
            links: Vec::new(),
            closed_at: None,
            shown: Vec::new(),
            expires_at: None,
            archived_at: None,
            updated_at: now,
            revision_count: 0,
            provenance: TextProvenance::default(),
        }
    }

    /// True if the fact has not ended by `now`. One that ended before it began never holds.
    pub fn holds_at(&self, now: Moment) -> bool {
        self.valid_to.is_none_or(|until| until > now && until > self.valid_from)
    }

    /// True for a state that does not hold yet. A future event or goal is known now.
    pub fn begins_after(&self, now: Moment) -> bool {
        let happens = matches!(self.kind, MemoryKind::Event | MemoryKind::Goal);
        self.valid_from > now && !(happens && self.attribute.is_empty())
    }

    /// True if no end of the fact is known.
    pub fn is_open(&self) -> bool {
        self.valid_to.is_none()
    }

    /// True if the application stated the fact.
    pub fn is_stated(&self) -> bool {
        self.provenance.method == BY_USER
    }

    /// True if it is known since when it holds: a fact that the application stated without a time
    /// only tells when it was stated.
    pub fn is_dated(&self) -> bool {
        !self.is_stated() || self.valid_from != self.created_at
    }

    /// True if it stands beside messages: the application stated it, or a model that gave a
    /// usable answer.
    pub fn stands_beside_messages(&self) -> bool {
        let is_doubted = self.confidence < STANDING_CONFIDENCE || self.provenance.is_by_rules();
        self.is_stated() || !is_doubted
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
