//! Finds the lines that may mention an erased record without parsing them: of thousands of lines,
//! only a few do.

use regex::bytes::Regex;

use super::erasure::UserErasure;

/// Maximum number of ids that are searched for; with more, every line is parsed.
const MAX_IDS: usize = 256;

/// The ids of an erasure, in the form of this package's lines.
pub(super) struct IdMentions(Option<Regex>);

impl IdMentions {
    pub fn from_erasure(erasure: &UserErasure) -> Self {
        let episodes = erasure.replace_episodes.iter().map(|episode| &episode.episode_id);
        let facts = erasure.replace_semantic.iter().map(|fact| &fact.memory_id);
        let ids = erasure.messages.iter().chain(&erasure.episodes).chain(&erasure.semantic);
        Self::of_ids(ids.chain(episodes).chain(facts))
    }

    pub fn of_ids<'a>(ids: impl Iterator<Item = &'a String>) -> Self {
        let quoted = ids.map(|id| regex::escape(&serde_json::Value::from(id.as_str()).to_string()));
        // JSON may escape any character of an id as `\u`.
        let patterns: Vec<String> = quoted.chain([regex::escape("\\u")]).collect();
        let few = patterns.len() <= MAX_IDS;
        Self(few.then(|| Regex::new(&patterns.join("|")).ok()).flatten())
    }

    /// True if the line must be parsed.
    pub fn may_be_in(&self, line: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|ids| ids.is_match(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::line::encode_line;

    fn line(value: &serde_json::Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode_line(&mut out, value).unwrap();
        out.pop();
        out
    }

    #[test]
    fn lines_with_an_id_are_parsed() {
        let ids = ["m.1", "with \"quotes\"", "line\nfeed", "日本"];
        let messages = ids.map(str::to_owned).to_vec();
        let mentions =
            IdMentions::from_erasure(&UserErasure { messages, ..UserErasure::default() });
        for id in ids {
            assert!(mentions.may_be_in(&line(&serde_json::json!({"message_id": id}))), "{id}");
            let held = serde_json::json!({"original_messages": [{"message_id": id}]});
            assert!(mentions.may_be_in(&line(&held)), "{id}");
        }
        assert!(!mentions.may_be_in(&line(&serde_json::json!({"message_id": "m11"}))));
        assert!(!mentions.may_be_in(&line(&serde_json::json!({"message_id": "m", "seq": 1}))));
        let escaped = line(&serde_json::json!({"content": "\u{1b}[0m"}));
        assert!(mentions.may_be_in(&escaped), "any character may be escaped by its number");
    }

    #[test]
    fn with_many_ids_every_line_is_parsed() {
        let messages = (0..MAX_IDS).map(|id| id.to_string()).collect();
        let mentions =
            IdMentions::from_erasure(&UserErasure { messages, ..UserErasure::default() });
        assert!(mentions.may_be_in(&line(&serde_json::json!({"message_id": "m"}))));
    }
}
