//! Whom a model's fact may be about where several people talk: models confuse speakers easily.

use std::sync::Arc;

use crate::generate::voice::speaks_of_self;
use crate::model::Message;
use crate::text::words::words;
use crate::text::{is_cjk, sentences};

/// Minimum length of a nickname that shortens a name, in characters.
const SHORT_NAME: usize = 3;

/// The people who talk, and what they said.
pub(super) struct Talk<'m> {
    messages: &'m [Arc<Message>],
    /// The people, without agents, each once.
    people: Vec<&'m str>,
}

impl<'m> Talk<'m> {
    pub fn of(messages: &'m [Arc<Message>]) -> Self {
        let mut people: Vec<&str> = Vec::new();
        for message in messages.iter().filter(|message| !message.is_agent()) {
            if !people.contains(&message.speaker()) {
                people.push(message.speaker());
            }
        }
        Self { messages, people }
    }

    /// True if a fact that cites these messages may be about `subject`, or about the person with
    /// whose name its sentence begins: the subject is none of the people who talk, or one of whom
    /// the messages speak. If only one person talks, a fact may be about anybody.
    pub fn may_be_about(&self, subject: &str, sentence: &str, cited: &[usize]) -> bool {
        if self.people.len() < 2 {
            return true;
        }
        let mut about = self.called(subject);
        if about.is_empty() {
            about = self.first_named(sentence);
        }
        let speak_of = |person: &&str| cited.iter().any(|at| self.speaks_of(*at, person));
        about.is_empty() || about.iter().any(speak_of)
    }

    /// The people with whose name, or a part of it, a sentence begins.
    fn first_named(&self, sentence: &str) -> Vec<&'m str> {
        let first = words(sentence).next().and_then(|word| parts_of(word).next());
        let begins = |person: &&&str| {
            let is_first = |part: String| Some(part) == first;
            let is_unspaced = person.contains(is_cjk) && sentence.starts_with(**person);
            is_unspaced || parts_of(person).any(is_first)
        };
        self.people.iter().filter(begins).copied().collect()
    }

    /// The people whom a name, a part of it, or a short form may mean.
    fn called(&self, name: &str) -> Vec<&'m str> {
        let is_name = name.starts_with(char::is_uppercase);
        let name: Vec<String> = parts_of(name).collect();
        let is_called = |person: &&&str| {
            let person: Vec<String> = parts_of(person).collect();
            let has = |all: &[String], some: &[String]| {
                !some.is_empty() && some.iter().all(|one| all.contains(one))
            };
            let is_short = matches!(&*name, [short] if is_name
                && short.chars().count() >= SHORT_NAME
                && person.iter().any(|part| part.starts_with(&**short)));
            has(&name, &person) || has(&person, &name) || is_short
        };
        self.people.iter().filter(is_called).copied().collect()
    }

    /// True if a message speaks of a person: it is the person's own, names the person other than to
    /// address them, or answers a question that the person asked about themself.
    fn speaks_of(&self, at: usize, person: &str) -> bool {
        let message = &self.messages[at];
        // What an agent confirms may concern anybody.
        if message.is_agent() || message.speaker() == person || names(&message.content, person) {
            return true;
        }
        let other = |before: &&Arc<Message>| before.speaker() != message.speaker();
        let asker = self.messages[..at].iter().rev().find(other);
        asker.is_some_and(|asker| {
            let last = sentences(&asker.content).into_iter().next_back().unwrap_or_default();
            asker.speaker() == person
                && last.ends_with(['?', '？'])
                && speaks_of_self(last)
                && !speaks_of_self(&message.content)
        })
    }
}

/// The subject as a person of these messages: a voice that a program did not know is a person of
/// its session only.
pub(super) fn person_in(subject: String, sources: &[&Message]) -> String {
    let name = subject.to_lowercase();
    let speaker = sources.iter().find(|message| message.speaker().to_lowercase() == name);
    speaker.map_or(subject, |message| message.person().into_owned())
}

/// The parts of a name in lower case, without what follows an apostrophe. A single letter is no
/// name.
fn parts_of(name: &str) -> impl Iterator<Item = String> {
    let stem = |word: &str| word.split(['\'', '’']).next().unwrap_or(word).to_lowercase();
    words(name).map(stem).filter(|part| part.len() > 1)
}

/// True if a text names a person other than to address them. After the name in an address there is
/// punctuation, and before it no word in lower case.
fn names(text: &str, person: &str) -> bool {
    let parts: Vec<String> = parts_of(person).collect();
    if person.contains(is_cjk) {
        return text
            .match_indices(person)
            .any(|(at, name)| text[at + name.len()..].starts_with(|c: char| c.is_alphanumeric()));
    }
    words(text).any(|word| {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        let Some(plain) = parts_of(word).next() else { return false };
        let is_short = plain.chars().count() >= SHORT_NAME
            && word.starts_with(char::is_uppercase)
            && parts.iter().any(|part| part.starts_with(&*plain));
        if !is_short && !parts.contains(&plain) {
            return false;
        }
        let after = text[at + word.len()..].strip_prefix(' ');
        let before = text[..at].strip_suffix(' ').and_then(|before| before.rsplit(' ').next());
        after.is_some_and(|rest| rest.starts_with(char::is_alphanumeric))
            || before.is_some_and(|word| {
                word.starts_with(char::is_lowercase) && word.ends_with(char::is_alphabetic)
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::said;

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn talk(lines: &[(&str, &str)]) -> Vec<Arc<Message>> {
        let line = |(number, (name, text)): (usize, &(&str, &str))| match *name {
            "assistant" => said(number as u64, "assistant", None, DAY, text),
            name => said(number as u64, "user", Some(name), DAY, text),
        };
        lines.iter().enumerate().map(line).collect()
    }

    #[test]
    fn of_several_people_a_fact_is_about_one_of_whom_its_messages_speak() {
        let talk = talk(&[
            ("Leah Ortiz", "I can't eat gluten."),
            ("Carmen Diaz", "Can I come if it rains?"),
            ("Claire Ng", "No, text the office. And Leah only does logistics."),
            ("Alexandra", "Thanks, Leah! I asked Carm about it, alex style."),
            ("assistant", "The rota has Carmen on Monday."),
        ]);
        let talk = Talk::of(&talk);
        let keeps = |subject: &str, cited: usize| talk.may_be_about(subject, "It is so.", &[cited]);
        assert!(keeps("Leah Ortiz", 0) && keeps("leah", 0) && keeps("Leah Ortiz's diet", 0));
        assert!(keeps("Leah Ortiz", 2), "a first name");
        assert!(keeps("Carmen Diaz", 2), "who asked about herself");
        assert!(keeps("Carmen", 3), "a nickname");
        assert!(keeps("Claire Ng", 4), "an agent confirms");
        assert!(keeps("the office", 2) && keeps("", 2));
        assert!(!keeps("Claire Ng", 0) && !keeps("Claire", 0) && !keeps("carmen diaz", 0));
        assert!(!keeps("Leah", 3), "addressed only");
        assert!(!keeps("Alex", 0) && keeps("Alex", 3), "a short form of the speaker's name");
        assert!(!talk.may_be_about("", "Claire can't eat gluten.", &[0]), "named by the sentence");
        assert!(talk.may_be_about("diet", "Leah can't eat gluten.", &[0]));
    }

    #[test]
    fn a_question_to_another_person_does_not_make_the_answer_about_the_asker() {
        let talk = talk(&[
            ("Rosa", "What do you do for a living?"),
            ("Tom", "I work as a nurse."),
            ("Rosa", "Can you send me the rota?"),
            ("Tom", "Sent, I took a photo."),
        ]);
        let talk = Talk::of(&talk);
        assert!(!talk.may_be_about("Rosa", "Rosa works as a nurse.", &[1]));
        assert!(!talk.may_be_about("Rosa", "Rosa took a photo.", &[3]));
    }

    #[test]
    fn names_in_han_characters_and_a_single_speaker() {
        let two = talk(&[("小林", "我对花生过敏。"), ("王芳", "小林，你好！小林喜欢跑步。")]);
        let two = Talk::of(&two);
        assert!(two.may_be_about("小林", "小林对花生过敏。", &[0]));
        assert!(two.may_be_about("小林", "小林喜欢跑步。", &[1]));
        assert!(!two.may_be_about("王芳", "王芳对花生过敏。", &[0]));
        let one = talk(&[("u_4711", "I'm Maria."), ("assistant", "Hello Maria!")]);
        assert!(Talk::of(&one).may_be_about("Maria", "Maria can't eat gluten.", &[0]));
    }
}
