//! One utterance of a conversation.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unicode_normalization::UnicodeNormalization;

use crate::clock::Moment;
use crate::config::SecretPolicy;

/// Who speaks, in the terms of chat APIs: `user`, `assistant`, `system`, `tool` or any other word
/// the caller uses.
pub type Role = Arc<str>;

/// A message as the caller passes it, without a position in the log.
#[derive(Debug, Clone, Default)]
pub struct NewMessage {
    /// `user`, `assistant`, …
    pub role: String,
    /// The text, verbatim.
    pub content: String,
    /// The speaker's name.
    pub name: Option<String>,
    /// When it was said; `None` = now.
    pub timestamp: Option<Moment>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// The agent that said it or heard it.
    pub agent_id: Option<String>,
    /// Any JSON value, kept as it came.
    pub metadata: Option<Box<RawValue>>,
    /// The caller's own id. Other words under a known id are a newer version of that message.
    pub message_id: Option<String>,
    /// How to treat secrets in it; `None` = as the configuration says.
    pub secrets: Option<SecretPolicy>,
    /// When these words replaced earlier ones, if the caller knows; the time when it was said for
    /// words that are known to be the first.
    pub edited_at: Option<Moment>,
    /// True if other words under a known id are an error.
    pub refuses_edit: bool,
    /// True if the message is left out when the user has deleted it.
    pub skips_deleted: bool,
}

/// A message in the log, in one of its versions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Message {
    /// Unique among the owner's messages.
    pub message_id: String,
    /// Position in the owner's history, from 0, in the order of arrival; never reused.
    pub seq: u64,
    /// `user`, `assistant`, …
    pub role: Role,
    /// The speaker's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The text, verbatim.
    pub content: String,
    /// When it was said.
    pub timestamp: Moment,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<Arc<str>>,
    /// The agent that said it or heard it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<Arc<str>>,
    /// Any JSON value, kept as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Box<RawValue>>,
    /// When these words replaced earlier ones; `None` for the first version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<Moment>,
}

impl Message {
    /// Stands for a message of which only the id was read. A view has none: they are replaced by
    /// the messages when the records enter it.
    pub fn reference(message_id: String) -> Self {
        Self {
            message_id,
            seq: u64::MAX,
            role: Role::default(),
            name: None,
            content: String::new(),
            timestamp: Moment::new(0, 0).expect("invariant: 1970 is a year"),
            session_id: None,
            agent_id: None,
            metadata: None,
            edited_at: None,
        }
    }

    /// True for a [`Message::reference`]: every message that was read has a role.
    pub fn is_reference(&self) -> bool {
        self.role.is_empty()
    }

    /// The name to attribute the words to: the speaker's name, else the role.
    pub fn speaker(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.role)
    }

    /// True if the words may be of another day than the message: "yesterday", in a version of a
    /// later day, is counted from one of the two.
    pub(crate) fn is_of_two_days(&self) -> bool {
        self.edited_at.is_some_and(|at| at.local().date() != self.timestamp.local().date())
    }

    /// The person who speaks. A label that a program gives to a voice that it does not know, such
    /// as `Speaker 1`, is a person of its session only, and gets the session's id.
    pub fn person(&self) -> Cow<'_, str> {
        person_of(self.speaker(), self.session_id.as_deref())
    }

    /// True if the speaker is a program: its name, or its role if it has no name, is in
    /// `AGENT_NAMES`, or [`Message::is_machinery`] holds. Unknown roles, such as "customer", are
    /// people.
    pub fn is_agent(&self) -> bool {
        let speaker = self.speaker().trim();
        AGENT_NAMES.iter().any(|name| speaker.eq_ignore_ascii_case(name)) || self.is_machinery()
    }

    /// True if the application wrote it, not a participant.
    pub fn is_machinery(&self) -> bool {
        let roles = ["system", "tool", "developer", "function"];
        roles.iter().any(|role| self.role.eq_ignore_ascii_case(role))
    }
}

/// What programs call voices and guests that they do not know.
const UNKNOWN_PEOPLE: [&str; 52] = [
    "speaker",
    "spk",
    "participant",
    "attendee",
    "guest",
    "caller",
    "visitor",
    "unknown",
    "unidentified",
    "anonymous",
    "them",
    "they",
    "other",
    "others",
    "remote",
    "voice",
    "person",
    "interviewer",
    "interviewee",
    "sprecher",
    "sprecherin",
    "teilnehmer",
    "gast",
    "unbekannt",
    "andere",
    "locuteur",
    "locutrice",
    "intervenant",
    "invité",
    "inconnu",
    "autres",
    "hablante",
    "orador",
    "participante",
    "invitado",
    "desconocido",
    "otros",
    "участник",
    "гость",
    "说话人",
    "发言人",
    "参会者",
    "访客",
    "未知",
    "对方",
    "其他人",
    "匿名用户",
    "話者",
    "発話者",
    "相手",
    "ゲスト",
    "不明",
];

/// True for a label such as `Speaker 1`, `SPEAKER_00`, `Unknown speaker`, `说话人2`.
pub(crate) fn is_unknown_person(name: &str) -> bool {
    let lower = name.to_lowercase();
    let parts = lower.split(|c: char| c.is_whitespace() || "_-#.".contains(c));
    let words: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    let is_known =
        |word: &&str| UNKNOWN_PEOPLE.contains(&word.trim_end_matches(|c: char| c.is_ascii_digit()));
    let is_number = |word: &&str| {
        word.bytes().all(|c| c.is_ascii_digit()) || word.len() == 1 && word.is_ascii()
    };
    words.first().is_some_and(&is_known)
        && words.iter().all(|word| is_known(word) || is_number(word))
}

/// The person that a name stands for in a session.
pub(crate) fn person_of<'a>(name: &'a str, session: Option<&str>) -> Cow<'a, str> {
    match session {
        Some(session) if is_unknown_person(name) => format!("{name} ({session})").into(),
        _ => name.into(),
    }
}

/// Common speaker names of programs.
const AGENT_NAMES: [&str; 14] = [
    "assistant",
    "aimessagechunk",
    "ai",
    "bot",
    "chatbot",
    "agent",
    "system",
    "copilot",
    "model",
    "助手",
    "助理",
    "机器人",
    "客服",
    "ai助手",
];

/// A speaker's name as it is stored: on one line, without colons and invisible characters, so that
/// a name can't imitate a line of the conversation, and in one form of Unicode, so that it is one
/// person's whichever form a program writes. `None` if nothing is left.
///
/// An invisible character that no keyboard and no export puts into a name makes two names look
/// alike: `�` shows it, so that the other name stays another person's.
pub(crate) fn clean_name(name: &str) -> Option<String> {
    // Programs put marks of the direction around names.
    let is_mark = |c: char| {
        matches!(c, '\u{ad}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
            || matches!(c, '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let seen: String = name.chars().filter(|c| !is_mark(*c)).collect();
    let parts_words = seen.chars().any(is_of_unspaced_script);
    let plain: String = seen
        .nfc()
        .filter(|c| !(*c == '\u{200b}' && parts_words))
        .map(|c| match c {
            c if is_unseen(c) => char::REPLACEMENT_CHARACTER,
            c if c.is_control() || ":：".contains(c) => ' ',
            c => c,
        })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let is_seen = plain.chars().any(|c| c != char::REPLACEMENT_CHARACTER && !c.is_whitespace());
    is_seen.then(|| words.join(" "))
}

/// True for characters without width that are no part of any letter.
fn is_unseen(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}')
        || matches!(c, '\u{115f}' | '\u{1160}')
}

/// True for Thai, Lao, Burmese and Khmer, which part words by a space without width.
fn is_of_unspaced_script(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.message_id == other.message_id
            && self.content == other.content
            && self.timestamp == other.timestamp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_unknown_voices_are_persons_of_one_session() {
        for label in [
            "Speaker 1",
            "SPEAKER_00",
            "speaker",
            "Unknown",
            "Unknown Speaker 3",
            "Guest",
            "guest-7",
            "Participant #2",
            "Speaker B",
            "spk_1",
            "Sprecher 2",
            "Locuteur 1",
            "说话人1",
            "話者 2",
            "Anonymous",
            "Them",
            "Others",
            "Other 2",
            "Remote 1",
            "remote_2",
            "Remote Speaker",
            "Voice 2",
            "Person A",
            "Interviewer",
            "Unknown Voice 3",
            "Sprecherin 2",
            "Orador 2",
            "对方",
            "匿名用户",
            "発話者1",
        ] {
            assert!(is_unknown_person(label), "{label}");
            assert_eq!(person_of(label, Some("s1")), format!("{label} (s1)"));
            assert_eq!(person_of(label, None), label);
        }
        for name in [
            "Ada",
            "Guestrin",
            "Anna 2",
            "Kelp_88",
            "Alice Speaker",
            "Dr. Gast",
            "",
            "1",
            "user",
            "小红",
            "Unknown Mortal Orchestra",
            "Guest of Honour",
            "Remo",
            "Andrea",
            "Persona",
            "Otherwise Ltd",
            "The Others",
            "Thema",
        ] {
            assert!(!is_unknown_person(name), "{name}");
            assert_eq!(person_of(name, Some("s1")), name);
        }
    }

    #[test]
    fn a_name_has_one_form_of_unicode() {
        for (decomposed, composed) in
            [("Jose\u{301}", "José"), ("Zoe\u{308}", "Zoë"), ("は\u{3099}", "ば")]
        {
            assert_eq!(clean_name(decomposed).as_deref(), Some(composed));
            assert_eq!(clean_name(composed).as_deref(), Some(composed));
        }
        // Look-alikes stay apart.
        assert_ne!(clean_name("Аlice"), clean_name("Alice"));
        assert_ne!(clean_name("Ａlice"), clean_name("Alice"));
    }
}
