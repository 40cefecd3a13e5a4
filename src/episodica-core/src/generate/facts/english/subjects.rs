//! Statements whose subject is not the speaker, or that are no predications: "my sister ...",
//! "let's go with ...", "your order ...".

use super::clauses::{MAX_CLAUSE, end, lead, possession};
use super::phrase::Person;
use super::predicate::normal;
use super::render::{View, rewrite};
use super::sentence::{Clause, Found, Reader};
use super::states::is_vague;
use super::tokens::Shape;
use crate::generate::facts::RejectReason;
use crate::generate::facts::extract::Draft;
use crate::model::MemoryKind;

impl Reader<'_> {
    /// "my sister ...", "my birthday ...", "my partner and I ...".
    pub(super) fn possessed(&self, start: usize, adverbial: Option<(usize, usize)>) -> Clause {
        let tokens = self.tokens;
        let skip = end(tokens, start + 1, false);
        let Some(owned) = possession(tokens, start) else { return Ok((skip, None)) };
        if tokens.low(owned.end) == "and" && matches!(tokens.low(owned.end + 1), "i" | "me") {
            let label =
                format!("{} and their {}", self.talk.speaker, tokens.slice(start + 1..owned.end));
            return self.predicate(
                (label, self.talk.subject()),
                owned.end + 2,
                Person::Plural,
                adverbial,
            );
        }
        if !owned.relation {
            return self.trait_of(start, owned.head, skip);
        }
        let mut noun = tokens.slice(start + 1..owned.end).trim_end_matches(',').to_owned();
        if owned.name.1 > owned.name.0 {
            noun = noun.replace(", ", " ");
        }
        let label = format!("{}'s {noun}", self.talk.speaker);
        let subject = match owned.name.1 > owned.name.0 {
            true => tokens.slice(owned.name.0..owned.name.1).to_owned(),
            false => format!("{}'s {}", self.talk.speaker, tokens.low(owned.head)),
        };
        let person = if owned.plural { Person::Plural } else { Person::Third };
        let (next, draft) = self.predicate((label, subject), owned.end, person, adverbial)?;
        let draft = draft.map(|draft| {
            let kind = if draft.kind == MemoryKind::Preference || draft.kind == MemoryKind::Event {
                draft.kind
            } else {
                MemoryKind::Relationship
            };
            Draft { kind, confidence: draft.confidence - 0.04, ..draft }
        });
        Ok((next, draft))
    }

    /// "my birthday is on ...", "my favourite colour is ...", "my phone number is ...".
    pub(super) fn trait_of(&self, start: usize, head: usize, skip: usize) -> Clause {
        use MemoryKind::{Goal, PersonalInfo, Preference, WorkHistory};
        let tokens = self.tokens;
        let verb = head + 1;
        let is_was = matches!(tokens.low(verb), "is" | "'s" | "was" | "are")
            || matches!(tokens.low(head), "'s" | "is" | "are");
        if !is_was {
            return Ok((skip, None));
        }
        let noun = (start + 1..=head).map(|index| tokens.low(index)).collect::<Vec<_>>().join(" ");
        let favourite = noun
            .strip_prefix("favorite ")
            .or_else(|| noun.strip_prefix("favourite "))
            .or_else(|| noun.strip_prefix("fave "));
        let (kind, attribute, importance) = match noun.as_str() {
            "name" => (PersonalInfo, "name".to_owned(), 0.8),
            "birthday" => (PersonalInfo, "birthday".to_owned(), 0.8),
            "phone number" | "number" | "new number" | "phone" | "mobile number" => {
                (PersonalInfo, "phone".to_owned(), 0.75)
            }
            "email" | "email address" | "e-mail" => (PersonalInfo, "email".to_owned(), 0.75),
            "address" | "new address" | "home address" => {
                (PersonalInfo, "address".to_owned(), 0.75)
            }
            "blood type" | "age" | "hometown" | "nationality" | "star sign" => {
                (PersonalInfo, noun.replace(' ', "_"), 0.7)
            }
            "job" | "profession" | "job title" => (WorkHistory, "occupation".to_owned(), 0.65),
            "goal" | "dream" | "plan" | "big dream" | "main goal" | "resolution" => {
                (Goal, "goal".to_owned(), 0.55)
            }
            _ => match favourite {
                Some(thing) => {
                    (Preference, format!("favourite:{}", thing.trim_end_matches('s')), 0.6)
                }
                None => return Ok((skip, None)),
            },
        };
        let from = verb + 1;
        let list = end(tokens, from, true);
        if list <= from || is_vague(tokens, from, list) || list - from > MAX_CLAUSE {
            return Err(RejectReason::Vague);
        }
        let word = tokens.low(verb);
        let digits = (from..list)
            .any(|index| tokens.shape(index) == Shape::Number || tokens.low(index).contains('@'));
        if matches!(attribute.as_str(), "phone" | "email" | "address") && !digits
            || attribute == "name" && !tokens.is_capital(from)
        {
            return Ok((list, None));
        }
        let object = rewrite(tokens, from..list, self.talk, self.mentions(), View::default())?;
        let be = if word == "'s" { "is" } else { word };
        let content = format!("{}'s {noun} {be} {}.", self.talk.speaker, object.text);
        let value = normal(&object.text);
        Ok((
            list,
            Some(Draft {
                kind,
                subject: self.talk.subject(),
                attribute,
                value,
                confidence: 0.88,
                importance,
                content,
                from: None,
            }),
        ))
    }

    /// "let's go with X": taken as what the speaker settled on.
    pub(super) fn proposal(&self, start: usize, skip: usize) -> Clause {
        let tokens = self.tokens;
        let verb = tokens.low(start + 2);
        let object = match (verb, tokens.low(start + 3)) {
            ("go", "with" | "for") => start + 4,
            ("use" | "choose" | "pick" | "adopt", _) => start + 3,
            _ => return Ok((skip, None)),
        };
        let last = end(tokens, object, true);
        if last <= object || is_vague(tokens, object, last) {
            return Err(RejectReason::Unresolved);
        }
        let text =
            rewrite(tokens, start + 2..last, self.talk, self.mentions(), View::default())?.text;
        let content = format!("{} decided to {text}.", self.talk.speaker);
        Ok((last, Some(self.decision(content))))
    }

    /// "Decision: X".
    pub(super) fn declared(&self, from: usize) -> Clause {
        let tokens = self.tokens;
        let last = (from..tokens.len())
            .find(|index| tokens.low(*index) == "." && index + 1 == tokens.len())
            .unwrap_or(tokens.len());
        let text = rewrite(tokens, from..last, self.talk, self.mentions(), View::default())?.text;
        Ok((
            tokens.len(),
            (!text.is_empty())
                .then(|| self.decision(format!("{} decided: {text}.", self.talk.speaker))),
        ))
    }

    pub(super) fn decision(&self, content: String) -> Draft {
        Draft {
            kind: MemoryKind::Decision,
            subject: self.talk.subject(),
            attribute: "decision".to_owned(),
            value: String::new(),
            confidence: 0.75,
            importance: 0.58,
            content,
            from: None,
        }
    }

    /// What an agent says about its user: "your order 88-3141 was shipped", kept only where it is
    /// specific.
    pub(super) fn about_user(&self, found: &mut Found) {
        let (tokens, Some(user)) = (self.tokens, self.talk.other.as_ref()) else { return };
        let start = lead(tokens, 0).start;
        if tokens.low(start) != "your" {
            return found.push(Err(RejectReason::NotAboutUser));
        }
        let Some(verb) = (start + 2..(start + 7).min(tokens.len())).find(|index| {
            matches!(
                tokens.low(*index),
                "is" | "was" | "has" | "will" | "are" | "were" | "starts" | "arrives" | "expires"
            )
        }) else {
            return found.push(Err(RejectReason::NotAboutUser));
        };
        let last = end(tokens, verb + 1, true);
        let specific = (start + 1..last)
            .any(|index| tokens.shape(index) == Shape::Number || tokens.is_capital(index))
            || self.mentioned(start, last).is_some();
        if !specific || last <= verb + 1 {
            return found.push(Err(RejectReason::Vague));
        }
        found.push(
            rewrite(
                tokens,
                start + 1..last,
                self.talk,
                self.mentions(),
                View { third: true, ahead: true, dates: true, company: false },
            )
            .map(|piece| Draft {
                kind: MemoryKind::Entity,
                subject: user.clone(),
                attribute: (start + 1..verb)
                    .map(|index| tokens.low(index))
                    .collect::<Vec<_>>()
                    .join(" "),
                value: String::new(),
                confidence: 0.7,
                importance: 0.55,
                content: format!("{user}'s {}.", piece.text),
                from: None,
            }),
        );
    }

    /// The verb of "Harry Potter is my favourite book".
    pub(super) fn favourite_at(&self, start: usize, last: usize) -> Option<usize> {
        let tokens = self.tokens;
        let verb = (start + 1..(start + 7).min(last))
            .find(|index| matches!(tokens.low(*index), "is" | "'s" | "are"))?;
        let pronoun = matches!(
            tokens.low(start),
            "this"
                | "that"
                | "it"
                | "these"
                | "those"
                | "here"
                | "there"
                | "she"
                | "he"
                | "they"
                | "what"
                | "who"
                | "one"
        );
        let fits = tokens.low(verb + 1) == "my"
            && matches!(tokens.low(verb + 2), "favorite" | "favourite" | "fave")
            && verb + 3 < last;
        (fits && !pronoun && !is_vague(tokens, start, verb)).then_some(verb)
    }

    /// The statement of [`Self::favourite_at`].
    pub(super) fn favourite(&self, start: usize, last: usize) -> Clause {
        let tokens = self.tokens;
        let Some(verb) = self.favourite_at(start, last) else { return Ok((last, None)) };
        let thing = rewrite(tokens, start..verb, self.talk, self.mentions(), View::default())?.text;
        let class =
            rewrite(tokens, verb + 2..last, self.talk, self.mentions(), View::default())?.text;
        let be = if tokens.low(verb) == "'s" { "is" } else { tokens.low(verb) };
        let attribute = format!(
            "favourite:{}",
            class.split_whitespace().skip(1).collect::<Vec<_>>().join(" ").to_lowercase()
        );
        let content = format!("{thing} {be} {}'s {class}.", self.talk.speaker);
        let value = normal(&thing);
        let kind = MemoryKind::Preference;
        Ok((
            last,
            Some(Draft {
                kind,
                subject: self.talk.subject(),
                attribute,
                value,
                confidence: 0.86,
                importance: 0.6,
                content,
                from: None,
            }),
        ))
    }
}
