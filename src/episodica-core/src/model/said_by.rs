//! Whose words a part of a message is.

use serde::{Deserialize, Serialize};

/// Whose words a part of a message is. Only [`SaidBy::User`] is a person's own statement about
/// themself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaidBy {
    /// The person who wrote the message, whatever their name or role.
    #[default]
    User,
    /// Another person: a line of a copied chat, a mail, a pasted text.
    Person,
    /// An assistant.
    Assistant,
    /// A tool: its result, or the lines of a log.
    Tool,
    /// Nobody in particular: text in quotation marks, text to translate or to check, a story, a
    /// song, a supposition.
    Quoted,
    /// The application: text inside tags, blocks of memory or context, captions, code.
    Application,
}

impl SaidBy {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Person => "person",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Quoted => "quoted",
            Self::Application => "application",
        }
    }
}
