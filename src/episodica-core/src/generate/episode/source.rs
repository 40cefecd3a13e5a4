//! The messages of an episode, prepared for writing: cleaned turns, split into sentences and words,
//! within limits.
//!
//! Removes control characters and keeps the lines of code. Reads only the start and the end of a
//! very long message; the message itself is stored and indexed in full.

use std::sync::Arc;

use super::lexicon::{KeyMap, exact_key, word_key};
use super::units::{TurnUnit, TurnWord, split_units};
use crate::clock::Moment;
use crate::model::Message;
use crate::text::time::{TimeMention, mentions_after};
use crate::text::{Language, language, telling_start};

/// Number of bytes read from the start of a long message …
const FRONT_BYTES: usize = 6_000;
/// … and from its end.
const BACK_BYTES: usize = 1_500;
/// Names longer than this many characters are clipped.
const MAX_NAME_CHARS: usize = 40;

/// The languages of a conversation; of two with equal byte counts, the one further down wins.
const LANGUAGES: [Language; 6] = [
    Language::Chinese,
    Language::Other,
    Language::German,
    Language::Spanish,
    Language::French,
    Language::English,
];

/// All data read from the messages.
pub(super) struct EpisodeSource {
    /// One entry per message, in order.
    pub turns: Vec<SourceTurn>,
    /// The language of most of the text.
    pub language: Language,
    /// Display names in order of appearance.
    pub speakers: Vec<SourceSpeaker>,
    /// The keys of all words of the speakers' names.
    pub name_keys: KeyMap<()>,
}

/// A speaker.
pub(super) struct SourceSpeaker {
    /// The name in the messages, clipped.
    pub full: String,
    /// The name that texts use ("Haruto" for "Haruto (Pebble Support)", "the
    /// user" for a role).
    pub short: String,
    /// True if the speaker is known only by a role, not by a name.
    pub is_role: bool,
}

/// One message.
pub(super) struct SourceTurn {
    /// Index into [`EpisodeSource::speakers`].
    pub speaker: usize,
    /// Index of the message.
    pub message: usize,
    /// True if an agent wrote the message.
    pub by_agent: bool,
    /// When the message was written.
    pub moment: Moment,
    /// True if the words may be of another day.
    pub is_of_two_days: bool,
    /// The cleaned text.
    pub text: String,
    /// Language of the text; that of the conversation if the text is too short to tell.
    pub language: Language,
    /// The sentences and code blocks.
    pub units: Vec<TurnUnit>,
}

impl EpisodeSource {
    /// Reads the messages.
    pub fn from_messages(messages: &[Arc<Message>]) -> Self {
        let mut speakers: Vec<SourceSpeaker> = Vec::new();
        let mut turns = Vec::with_capacity(messages.len());
        let mut votes = [0_usize; LANGUAGES.len()];
        for (at, message) in messages.iter().enumerate() {
            let name = clean_line(message.speaker(), MAX_NAME_CHARS);
            let speaker =
                speakers.iter().position(|known| known.full == name).unwrap_or_else(|| {
                    speakers.push(SourceSpeaker::new(name, message.name.is_none()));
                    speakers.len() - 1
                });
            let text = clean_text(&message.content);
            let language = language(telling_start(&text));
            votes[language_slot(language)] += text.len().min(400);
            turns.push(SourceTurn {
                speaker,
                message: at,
                by_agent: message.is_agent(),
                moment: message.timestamp,
                is_of_two_days: message.is_of_two_days(),
                text,
                language,
                units: Vec::new(),
            });
        }
        let most = (0..LANGUAGES.len()).max_by_key(|slot| (votes[*slot], *slot));
        let main = most.map_or(Language::Other, |slot| LANGUAGES[slot]);
        for speaker in &mut speakers {
            speaker.localise_role(main);
        }
        for turn in &mut turns {
            if turn.language != main
                && turn.text.chars().filter(|c| c.is_alphabetic()).take(8).count() < 8
            {
                turn.language = main;
            }
            turn.units = split_units(&turn.text);
        }
        let mut name_keys = KeyMap::default();
        for speaker in speakers.iter().filter(|speaker| !speaker.is_role) {
            for word in std::iter::once(&*speaker.short).chain(
                speaker.full.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1),
            ) {
                name_keys.insert(word_key(word), ());
                name_keys.insert(exact_key(word), ());
            }
        }
        Self { turns, language: main, speakers, name_keys }
    }

    /// The sentence without the addressee's name: "Hey Jon, …" and "…, Jon!".
    pub fn without_address<'a>(&self, text: &'a str) -> &'a str {
        let mut text = text;
        let names = || {
            self.speakers.iter().filter(|speaker| !speaker.is_role).map(|speaker| &*speaker.short)
        };
        if let Some((front, rest)) = text.split_once([',', '!', '，', '！'])
            && front.len() <= 30
            && !rest.trim().is_empty()
            && names().any(|name| {
                front.ends_with(name)
                    && front[..front.len() - name.len()].trim().split(' ').count() < 2
            })
        {
            text = rest.trim_start();
        }
        let bare = text.trim_end_matches(['.', '!', ' ', '。', '！']);
        let cut =
            names().find_map(|name| bare.strip_suffix(name)?.trim_end().strip_suffix([',', '，']));
        cut.filter(|cut| cut.len() > 8).unwrap_or(text)
    }

    /// The times that `part` mentions, a part of the sentence that begins at `place` of a turn.
    pub fn mentioned_times(&self, turn: &SourceTurn, place: usize, part: &str) -> Vec<TimeMention> {
        let own = turn.units.iter().rev().filter(|unit| unit.end <= place);
        let earlier = self.turns[..turn.message].iter().rev().map(|turn| &*turn.text);
        let before = own.map(|unit| turn.unit_text(unit)).chain(earlier);
        let mut dates = mentions_after(before, part, turn.moment, turn.language);
        if turn.is_of_two_days {
            dates.iter_mut().for_each(TimeMention::leave_open);
        }
        dates
    }

    /// The speaker of a turn.
    pub fn turn_speaker(&self, turn: &SourceTurn) -> &SourceSpeaker {
        &self.speakers[turn.speaker]
    }
}

fn language_slot(language: Language) -> usize {
    LANGUAGES.iter().position(|known| *known == language).unwrap_or_default()
}

/// The name of a message's speaker as a fact shows it: "Haruto" for "Haruto (Pebble Support)", "the
/// user" for a role.
pub(in crate::generate) fn speaker_label(message: &Message, language: Language) -> String {
    let name = clean_line(message.speaker(), MAX_NAME_CHARS);
    let mut speaker = SourceSpeaker::new(name, message.name.is_none());
    speaker.localise_role(language);
    speaker.short
}

impl SourceSpeaker {
    fn new(full: String, is_role: bool) -> Self {
        let cut = full.find(['(', '（', '[', '<']).filter(|at| *at > 0).unwrap_or(full.len());
        let short = full[..cut].trim().to_owned();
        Self { short, full, is_role }
    }

    /// Translates roles into the conversation's language; names stay.
    fn localise_role(&mut self, language: Language) {
        if self.short.is_empty() {
            self.short = self.full.clone();
        }
        if !self.is_role {
            return;
        }
        let role = self.full.to_lowercase();
        let role = if role == "human" { "user" } else { role.as_str() };
        let word = match (language, role) {
            (
                Language::English,
                "user" | "assistant" | "system" | "tool" | "customer" | "client" | "patient",
            ) => format!("the {role}"),
            (Language::Chinese, "user") => "用户".to_owned(),
            (Language::Chinese, "assistant") => "助手".to_owned(),
            (Language::Chinese, "system") => "系统".to_owned(),
            (Language::Chinese, "tool") => "工具".to_owned(),
            (_, "user") => role.to_owned(),
            _ => return,
        };
        self.short = word;
    }
}

impl SourceTurn {
    /// The text of a unit.
    pub fn unit_text(&self, unit: &TurnUnit) -> &str {
        &self.text[unit.start..unit.end]
    }

    /// The text of a word.
    pub fn word_text(&self, word: &TurnWord) -> &str {
        &self.text[word.start..word.end]
    }
}

/// The text on one line, without control characters, clipped to `chars` characters.
pub(super) fn clean_line(text: &str, chars: usize) -> String {
    let line: String =
        text.chars().take(chars * 4).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut out = String::new();
    for (count, word) in line.split_whitespace().enumerate() {
        if count > 0 {
            out.push(' ');
        }
        out.push_str(word);
    }
    match out.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", out[..end].trim_end()),
        None => out,
    }
}

/// The last character boundary at or before `bytes`.
fn floor_boundary(text: &str, bytes: usize) -> usize {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

/// Removes control characters, and the middle of a very long text.
fn clean_text(text: &str) -> String {
    let push = |part: &str, out: &mut String| {
        if part.bytes().all(|byte| byte >= b' ' && byte != 0x7f || byte == b'\n') && part.is_ascii()
        {
            out.push_str(part);
            return;
        }
        for c in part.chars() {
            match c {
                '\n' => out.push('\n'),
                '\t' => out.push_str("    "),
                '\r' | '\u{feff}' | '\u{200b}' => {}
                c if c.is_control() => out.push(' '),
                c => out.push(c),
            }
        }
    };
    let text = text.trim();
    let mut out = String::with_capacity(text.len().min(FRONT_BYTES + BACK_BYTES + 8));
    if text.len() <= FRONT_BYTES + BACK_BYTES {
        push(text, &mut out);
        return out;
    }
    let (front, back) =
        (floor_boundary(text, FRONT_BYTES), floor_boundary(text, text.len() - BACK_BYTES));
    push(&text[..front], &mut out);
    out.push_str("\n[…]\n");
    push(&text[back..], &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_read_at_both_ends() {
        let text = format!("{}END", "words and \u{0}more ".repeat(100_000));
        let cleaned = clean_text(&text);
        assert!(
            cleaned.len() < FRONT_BYTES + BACK_BYTES + 16
                && cleaned.ends_with("END")
                && !cleaned.contains('\u{0}')
        );
    }
}
