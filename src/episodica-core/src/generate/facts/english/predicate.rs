//! What a subject and its verb phrase state: the kind, the value, the weight, and the text.

use super::clauses::{MAX_CLAUSE, end};
use super::lexicon::{JOB_NOUNS, LANGUAGES, RELATIONS, SUPPOSING, VAGUE_PLANS, within, word};
use super::phrase::{Person, Phrase};
use super::render::{View, dated, held_from, rewrite};
use super::rules::{When, rules};
use super::sentence::{Clause, Reader};
use super::states::{Reading, is_vague};
use super::tokens::Shape;
use super::verbs::Form;
use super::{phrase, states};
use crate::generate::facts::RejectReason;
use crate::generate::facts::dates;
use crate::generate::facts::extract::Draft;
use crate::model::MemoryKind;
use crate::text::time::{Grain, TimeMention};

impl Reader<'_> {
    /// Subject and verb phrase are there: what do they state?
    pub(super) fn predicate(
        &self,
        subject: (String, String),
        start: usize,
        person: Person,
        adverbial: Option<(usize, usize)>,
    ) -> Clause {
        let tokens = self.tokens;
        let fallback = end(tokens, start, false);
        let Some(phrase) = phrase::read(tokens, start, person)? else {
            return Ok((fallback, None));
        };
        self.state(subject, phrase, person, adverbial)
    }

    /// The statement of a subject and a verb phrase.
    pub(super) fn state(
        &self,
        subject: (String, String),
        mut phrase: Phrase,
        person: Person,
        adverbial: Option<(usize, usize)>,
    ) -> Clause {
        let tokens = self.tokens;
        let listing = matches!(
            phrase.verb,
            "love"
                | "like"
                | "enjoy"
                | "hate"
                | "adore"
                | "prefer"
                | "speak"
                | "have"
                | "play"
                | "be"
                | "eat"
                | "dislike"
                | "want"
                | "plan"
                | "hope"
                | "aim"
                | "intend"
        );
        let last = end(tokens, phrase.next, listing);
        let Some(reading) = self.reading(&mut phrase, last, adverbial)? else {
            return Ok((last, None));
        };
        if last - phrase.next > MAX_CLAUSE {
            return Err(RejectReason::Vague);
        }
        if (phrase.next..last).any(|index| tokens.is(index, SUPPOSING))
            && reading.kind != MemoryKind::Decision
        {
            return Err(RejectReason::Hypothetical);
        }
        // A bare weekday after "booked" is the last one: only a month or a day of one can be what
        // was booked for.
        let weekday = self.mentioned(phrase.next, last).is_some_and(|mention| {
            let surface = &tokens.text()[mention.start..mention.end];
            mention.grain == Grain::Day
                && !mention.confident
                && !surface.contains(|c: char| c.is_ascii_digit())
        });
        let forward = !weekday
            && matches!(
                phrase.verb,
                "book"
                    | "sign"
                    | "apply"
                    | "register"
                    | "enroll"
                    | "enrol"
                    | "decide"
                    | "order"
                    | "plan"
                    | "arrange"
                    | "enter"
            );
        let view = View {
            third: matches!(person, Person::Third | Person::Plural),
            company: person == Person::Company,
            ahead: phrase.when != When::Past || forward,
            dates: phrase.when != When::Now
                || reading.attribute == "plan"
                || reading.attribute == "appointment",
        };
        let object = rewrite(tokens, phrase.next..last, self.talk, self.mentions(), view)?;
        let mut mention = object.mention;
        let mut content = subject.0;
        for part in [phrase.text.as_str(), object.text.as_str()] {
            if !part.is_empty() {
                content.push(' ');
                content.push_str(part);
            }
        }
        let led =
            adverbial.and_then(|(from, to)| self.mentioned(from, to)).filter(|_| mention.is_none());
        if let (Some(led), Some((from, _))) = (led, adverbial) {
            let since = tokens.low(from) == "since";
            let surface = &tokens.text()[led.start..led.end];
            let led =
                dates::meant(&led, surface, view.ahead && !since, self.talk.said.local().date());
            if led.confident || view.dates {
                content.push_str(if since { " since " } else { " " });
                content.push_str(&dated(&led, if since { "since" } else { "" }));
                mention = Some(led);
            }
        }
        content.push('.');
        let importance = f32::from(reading.importance) / 100.0
            + self.specifics(phrase.next, last, mention.is_some(), phrase.when);
        let value = if reading.fixed.is_empty() {
            normal(&self.value(reading.value))
        } else {
            reading.fixed.to_owned()
        };
        let value = if (phrase.negated || reading.ended) && !value.is_empty() {
            format!("not {value}")
        } else {
            value
        };
        let dates = phrase.when == When::Past
            || reading.attribute == "employer"
            || reading.attribute == "home";
        let from = mention
            .filter(|_| dates)
            .and_then(|mention| held_from(&mention, self.talk.said.local().date()));
        let draft = Draft {
            kind: reading.kind,
            subject: subject.1,
            attribute: reading.attribute,
            value,
            confidence: f32::from(reading.confidence) / 100.0,
            importance: importance.min(0.95),
            content,
            from,
        };
        Ok((last, Some(draft)))
    }

    /// Which kind of statement the verb and its complement make; `None` for none.
    pub(super) fn reading(
        &self,
        phrase: &mut Phrase,
        last: usize,
        adverbial: Option<(usize, usize)>,
    ) -> Result<Option<Reading>, RejectReason> {
        let tokens = self.tokens;
        let at = phrase.next;
        match phrase.verb {
            "be" => return Ok(states::be(tokens, phrase, last)),
            "have" => return Ok(states::have(tokens, phrase, last)),
            _ => {}
        }
        let next = tokens.low(at);
        let fits = |list: &str| {
            if at < last { within(list, "*") || within(list, next) } else { within(list, ".") }
        };
        let Some(rule) = rules(phrase.verb).iter().find(|rule| {
            rule.when == phrase.when
                && (fits(rule.next)
                    || rule.next.starts_with("a an") && tokens.is_capital(at) && at < last)
        }) else {
            return Ok(self.dated_event(phrase, last, adverbial));
        };
        let eats = rule.attribute == "diet_detail";
        if phrase.negated {
            let lasting = rule.when == When::Now
                && matches!(
                    rule.kind,
                    MemoryKind::Preference | MemoryKind::WorkHistory | MemoryKind::PersonalInfo
                )
                && !matches!(phrase.verb, "play" | "learn");
            if !lasting && phrase.verb != "decide" {
                return Ok(None);
            }
        } else if eats && !phrase.habitual {
            return Ok(None);
        }
        if rule.attribute == "habit"
            && !phrase.habitual
            && !(at..last).any(|index| tokens.low(index) == "every")
        {
            return Ok(None);
        }
        let matched = rule.next != "*" && !rule.next.starts_with("a an") && within(rule.next, next);
        let mut value = (if matched { at + 1 } else { at }, last);
        let plain = matches!(rule.attribute, "relationship_status" | "job_change");
        if plain {
            value = (at, at + 1);
        }
        if at < last
            && !plain
            && !within(rule.next, ".")
            && is_vague(
                tokens,
                if matched && rule.kind != MemoryKind::Preference { at + 1 } else { at },
                last,
            )
        {
            return Err(RejectReason::Vague);
        }
        let mut reading =
            Reading::new(rule.kind, rule.attribute, value, rule.confidence, rule.importance);
        self.refine(phrase, &mut reading, (at, last))?;
        if eats {
            reading.attribute = "diet".to_owned();
            reading.importance = if phrase.negated { 62 } else { 48 };
            reading.confidence = 84;
        }
        Ok(Some(reading))
    }

    /// A verb without a row of its own: what happened, or is to happen, on a day that is told.
    fn dated_event(
        &self,
        phrase: &Phrase,
        last: usize,
        adverbial: Option<(usize, usize)>,
    ) -> Option<Reading> {
        let tokens = self.tokens;
        let at = phrase.next;
        let talk = matches!(
            phrase.verb,
            "say"
                | "tell"
                | "think"
                | "know"
                | "feel"
                | "mean"
                | "do"
                | "hear"
                | "forget"
                | "want"
                | "need"
                | "let"
                | "show"
                | "look"
                | "wait"
                | "come"
                | "keep"
                | "hope"
                | "wear"
                | "help"
                | "call"
                | "see"
        );
        if phrase.negated || talk || at >= last || is_vague(tokens, at, last) {
            return None;
        }
        let led = adverbial.and_then(|(from, to)| self.mentioned(from, to));
        let Some(mention) = self.mentioned(at, last).or(led) else {
            let named = (at..last).any(|index| {
                tokens.is_capital(index) && !self.talk.is_participant(tokens.raw(index))
            });
            return (named && phrase.when == When::Past)
                .then(|| Reading::new(MemoryKind::Event, "event", (at, last), 66, 43));
        };
        // A date alone is not an object: "I signed on Monday".
        let date = tokens.at_byte(mention.start);
        let bare = date == at + 1
            && matches!(
                tokens.low(at),
                "on" | "in" | "at" | "by" | "until" | "from" | "since" | "for"
            );
        if date == at || bare && tokens.at_byte(mention.end) >= last {
            return None;
        }
        let today = self.talk.said.local().date();
        let coming =
            dates::meant(&mention, &tokens.text()[mention.start..mention.end], true, today);
        match phrase.when {
            When::Past => Some(Reading::new(MemoryKind::Event, "event", (at, last), 72, 40)),
            When::Ahead if phrase.progressive || phrase.text.ends_with(phrase.verb) => {
                Some(Reading::new(MemoryKind::Goal, "plan", (at, last), 70, 40))
            }
            When::Now if coming.from > today => {
                Some(Reading::new(MemoryKind::Goal, "plan", (at, last), 68, 40))
            }
            _ => None,
        }
    }

    /// What single verbs need besides their rows.
    pub(super) fn refine(
        &self,
        phrase: &Phrase,
        reading: &mut Reading,
        (at, last): (usize, usize),
    ) -> Result<(), RejectReason> {
        let tokens = self.tokens;
        match (reading.kind, phrase.verb) {
            (MemoryKind::Goal, "want" | "plan" | "hope" | "aim" | "intend" | "try") => {
                let verb = if tokens.low(at) == "to" { at + 1 } else { at };
                let empty = last <= verb + 1 || is_vague(tokens, verb + 1, last);
                if empty || tokens.is(verb, VAGUE_PLANS) {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::Preference, "love" | "like" | "enjoy" | "adore") => {
                let talk = (at..last).any(|index| {
                    matches!(
                        tokens.low(index),
                        "pic"
                            | "photo"
                            | "picture"
                            | "your"
                            | "you"
                            | "hearing"
                            | "idea"
                            | "way"
                            | "seeing"
                    )
                });
                if talk {
                    return Err(RejectReason::Vague);
                }
                if matches!(tokens.low(at), "all" | "both" | "how")
                    || tokens.low(at) == "being" && tokens.low(at + 1) == "around"
                {
                    return Err(RejectReason::Vague);
                }
                if matches!(tokens.low(at), "the") {
                    reading.importance -= 8;
                }
                if tokens.low(at) == "to"
                    && matches!(
                        tokens.low(at + 1),
                        "just" | "think" | "see" | "hear" | "know" | "believe" | "say"
                    )
                {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::WorkHistory, "quit" | "leave" | "resign") => {
                let job = (at..last).any(|index| tokens.is(index, JOB_NOUNS));
                match (at..last)
                    .find(|index| tokens.low(*index) == "at" && tokens.is_capital(index + 1))
                {
                    Some(place) if job => {
                        reading.ended = true;
                        reading.attribute = "employer".to_owned();
                        reading.value = (place + 1, last);
                        reading.importance = 68;
                    }
                    _ if job => reading.importance = 64,
                    _ => {
                        reading.kind = MemoryKind::Event;
                        reading.importance -= 10;
                    }
                }
            }
            (MemoryKind::Relationship, "pass" | "die") => reading.fixed = "died",
            (MemoryKind::WorkHistory, "become")
                if (at..last).any(|index| tokens.is(index, RELATIONS)) =>
            {
                reading.kind = MemoryKind::Relationship
            }
            (MemoryKind::Relationship, "break") => reading.fixed = "single",
            (MemoryKind::Relationship, "marry") => reading.fixed = "married",
            (MemoryKind::Goal, "think" | "consider")
                if !phrase.progressive || !matches!(tokens.verb(at + 1), Some((_, Form::Ing))) =>
            {
                return Err(RejectReason::Vague);
            }
            (MemoryKind::Preference, "play") => {
                let without = matches!(
                    tokens.low(at),
                    "for" | "since" | "with" | "in" | "at" | "well" | "it" | "together"
                ) || tokens.low(at).ends_with("ly");
                if without {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::Event, "start" | "begin") => {
                let inner = matches!(tokens.verb(at), Some((base, Form::Ing)) if word(base).class.has(VAGUE_PLANS) || matches!(base, "try" | "get" | "realize"));
                if inner || tokens.low(at) == "to" {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::Decision, _) if last <= at + 1 => return Err(RejectReason::Vague),
            (MemoryKind::PersonalInfo, "speak") => {
                let language = (at..last).any(|index| tokens.is(index, LANGUAGES));
                if !language {
                    return Err(RejectReason::Vague);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The value's words: up to where place, time or company begin.
    pub(super) fn value(&self, (from, to): (usize, usize)) -> String {
        let tokens = self.tokens;
        let stop = (from + 1..to).find(|index| {
            let mentioned =
                self.mentions().iter().any(|mention| mention.start == tokens.range(*index).start);
            mentioned
                || matches!(
                    tokens.low(*index),
                    "in" | "at"
                        | "on"
                        | "for"
                        | "with"
                        | "from"
                        | "as"
                        | "since"
                        | "because"
                        | "and"
                        | ","
                        | "when"
                        | "until"
                        | "after"
                        | "before"
                        | "now"
                        | "anymore"
                        | "to"
                        | "during"
                        | "again"
                        | "by"
                )
        });
        tokens.slice(from..stop.unwrap_or(to).max(from)).to_owned()
    }

    /// The first date that is mentioned between two tokens.
    pub(super) fn mentioned(&self, from: usize, to: usize) -> Option<TimeMention> {
        let (start, end) = (self.tokens.range(from).start, self.tokens.range(to).start);
        self.mentions()
            .iter()
            .find(|mention| mention.start >= start && mention.start < end)
            .copied()
    }

    /// Names, numbers and dates make a statement worth more.
    pub(super) fn specifics(&self, from: usize, to: usize, dated: bool, when: When) -> f32 {
        let tokens = self.tokens;
        let names = (from..to).any(|index| {
            tokens.is_capital(index)
                && !self.mentions().iter().any(|mention| {
                    (mention.start..mention.end).contains(&tokens.range(index).start)
                })
        });
        let numbers = (from..to).any(|index| tokens.shape(index) == Shape::Number);
        let words = (to - from.min(to)).min(12) as f32;
        let dated = if dated && when != When::Now { 0.1 } else { 0.0 };
        dated + if names { 0.08 } else { 0.0 } + if numbers { 0.04 } else { 0.0 } + words * 0.004
    }
}

/// A value as it is compared: lower case, without article and final punctuation.
pub(super) fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let trimmed =
        lower.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '%'));
    ["a ", "an ", "the ", "my ", "our ", "their ", "to ", "for ", "on ", "in ", "at ", "about "]
        .iter()
        .find_map(|article| trimmed.strip_prefix(article))
        .unwrap_or(trimmed)
        .trim()
        .to_owned()
}
