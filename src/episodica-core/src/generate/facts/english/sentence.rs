//! One sentence at a time: its clauses, their subjects, and the statements they make.

use super::clauses::{MAX_CLAUSE, begins_clause, end, lead, possession};
use super::lexicon::{JOB_NOUNS, SUPPOSING, VAGUE_PLANS, within};
use super::phrase::{Person, Phrase};
use super::render::{held_from, rewrite};
use super::rules::{When, rules};
use super::states::{Reading, is_vague};
use super::tokens::{Shape, Tokens};
use super::{phrase, relations, states};
use crate::generate::facts::RejectReason;
use crate::generate::facts::extract::{Draft, Talk};
use crate::model::MemoryKind;
use crate::text::time::{TimeMention, mentions};

type Found = Vec<Result<Draft, RejectReason>>;

/// The statements of a sentence.
pub(in crate::generate::facts) fn read(sentence: &str, talk: &Talk) -> Found {
    let mut found = Vec::new();
    if sentence.len() < 8 || !promising(sentence) {
        return found;
    }
    let tokens = Tokens::new(sentence);
    if sentence.trim_end_matches(['"', ')', '!']).ends_with('?') {
        found.push(Err(RejectReason::Question));
        return found;
    }
    let reader = Reader { tokens: &tokens, talk, mentions: mentions(tokens.text(), talk.said) };
    if talk.agent {
        reader.about_user(&mut found);
        return found;
    }
    found.extend(relations::named(&tokens, talk).into_iter().map(Ok));
    let mut at = 0;
    let mut first = true;
    while at < tokens.len() {
        let lead = lead(&tokens, at);
        if lead.supposing {
            found.push(Err(RejectReason::Hypothetical));
            return found;
        }
        let clause = reader.clause(lead.start, lead.adverbial, first);
        first = false;
        let next = match clause {
            Ok((next, draft)) => {
                if let Some(mut draft) = draft {
                    draft.confidence -= if lead.hedged { 0.15 } else { 0.0 };
                    found.push(Ok(draft));
                }
                next
            }
            Err(reason) => {
                found.push(Err(reason));
                end(&tokens, lead.start + 1, false)
            }
        };
        at = next.max(lead.start + 1).max(at + 1);
    }
    found
}

/// A cheap look at the bytes: does anybody's first or second person, or a named decision, occur?
fn promising(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    let boundary = |index: usize| index == 0 || !bytes[index - 1].is_ascii_alphanumeric();
    bytes.iter().enumerate().any(|(index, byte)| {
        boundary(index)
            && match byte {
                b'I' | b'i' => bytes.get(index + 1).is_none_or(|next| !next.is_ascii_alphanumeric()),
                b'm' | b'M' => sentence[index..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case("my")),
                b'w' | b'W' => sentence[index..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case("we")),
                b'o' | b'O' => sentence[index..].get(..4).is_some_and(|word| word.eq_ignore_ascii_case("our ")),
                b'y' | b'Y' => sentence[index..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("you")),
                b'l' | b'L' => sentence[index..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("let")),
                b'd' | b'D' => sentence[index..].get(..9).is_some_and(|word| word.eq_ignore_ascii_case("decision:")),
                b'G' | b'J' | b'B' | b'V' | b'A' | b'S' | b'Q' | b'F' => index == 0,
                _ => false,
            }
    })
}

struct Reader<'a> {
    tokens: &'a Tokens,
    talk: &'a Talk,
    mentions: Vec<TimeMention>,
}

type Clause = Result<(usize, Option<Draft>), RejectReason>;

impl Reader<'_> {
    /// Reads the clause at `start`; gives the token at which the search goes on.
    fn clause(&self, start: usize, adverbial: Option<(usize, usize)>, first: bool) -> Clause {
        let tokens = self.tokens;
        let skip = end(tokens, start + 1, false);
        let word = tokens.low(start);
        match word {
            "i" => self.predicate(self.me(), start + 1, Person::Speaker, adverbial),
            "we" => self
                .predicate(self.me(), start + 1, Person::Speaker, adverbial)
                .map(|(next, draft)| (next, draft.map(|draft| Draft { confidence: draft.confidence - 0.05, ..draft }))),
            "my" | "our" => self.possessed(start, adverbial),
            "let" if tokens.low(start + 1) == "'s" => self.proposal(start, skip),
            "decision" if tokens.low(start + 1) == ":" => self.declared(start + 2),
            _ if first && phrase_is_elided(tokens, start) => self
                .predicate(self.me(), start, Person::Speaker, adverbial)
                .map(|(next, draft)| (next, draft.map(|draft| Draft { confidence: draft.confidence - 0.1, ..draft }))),
            _ => Ok((skip, None)),
        }
    }

    fn me(&self) -> (String, String) {
        (self.talk.speaker.clone(), self.talk.subject())
    }

    /// "my sister ...", "my birthday ...", "my partner and I ...".
    fn possessed(&self, start: usize, adverbial: Option<(usize, usize)>) -> Clause {
        let tokens = self.tokens;
        let skip = end(tokens, start + 1, false);
        let Some(owned) = possession(tokens, start) else { return Ok((skip, None)) };
        if tokens.low(owned.end) == "and" && matches!(tokens.low(owned.end + 1), "i" | "me") {
            let label = format!("{} and their {}", self.talk.speaker, tokens.slice(start + 1..owned.end));
            return self.predicate((label, self.talk.subject()), owned.end + 2, Person::Plural, adverbial);
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
            let kind =
                if draft.kind == MemoryKind::Preference || draft.kind == MemoryKind::Event { draft.kind } else { MemoryKind::Relationship };
            Draft { kind, confidence: draft.confidence - 0.04, ..draft }
        });
        Ok((next, draft))
    }

    /// "my birthday is on ...", "my favourite colour is ...", "my phone number is ...".
    fn trait_of(&self, start: usize, head: usize, skip: usize) -> Clause {
        use MemoryKind::{Goal, PersonalInfo, Preference, WorkHistory};
        let tokens = self.tokens;
        let verb = head + 1;
        let is_was = matches!(tokens.low(verb), "is" | "'s" | "was" | "are") || matches!(tokens.low(head), "'s" | "is" | "are");
        if !is_was {
            return Ok((skip, None));
        }
        let noun = (start + 1..=head).map(|index| tokens.low(index)).collect::<Vec<_>>().join(" ");
        let favourite = noun.strip_prefix("favorite ").or_else(|| noun.strip_prefix("favourite ")).or_else(|| noun.strip_prefix("fave "));
        let (kind, attribute, importance) = match noun.as_str() {
            "name" => (PersonalInfo, "name".to_owned(), 0.8),
            "birthday" => (PersonalInfo, "birthday".to_owned(), 0.8),
            "phone number" | "number" | "new number" | "phone" | "mobile number" => (PersonalInfo, "phone".to_owned(), 0.75),
            "email" | "email address" | "e-mail" => (PersonalInfo, "email".to_owned(), 0.75),
            "address" | "new address" | "home address" => (PersonalInfo, "address".to_owned(), 0.75),
            "blood type" | "age" | "hometown" | "nationality" | "star sign" => (PersonalInfo, noun.replace(' ', "_"), 0.7),
            "job" | "profession" | "job title" => (WorkHistory, "occupation".to_owned(), 0.65),
            "goal" | "dream" | "plan" | "big dream" | "main goal" | "resolution" => (Goal, "goal".to_owned(), 0.55),
            _ => match favourite {
                Some(thing) => (Preference, format!("favourite:{}", thing.trim_end_matches('s')), 0.6),
                None => return Ok((skip, None)),
            },
        };
        let from = verb + 1;
        let list = end(tokens, from, true);
        if list <= from || is_vague(tokens, from, list) || list - from > MAX_CLAUSE {
            return Err(RejectReason::Vague);
        }
        let word = tokens.low(verb);
        let digits = (from..list).any(|index| tokens.shape(index) == Shape::Number || tokens.low(index).contains('@'));
        if matches!(attribute.as_str(), "phone" | "email" | "address") && !digits || attribute == "name" && !tokens.is_capital(from) {
            return Ok((list, None));
        }
        let object = rewrite(tokens, from..list, self.talk, &self.mentions, false)?;
        let be = if word == "'s" { "is" } else { word };
        let content = format!("{}'s {noun} {be} {}.", self.talk.speaker, object.text);
        let value = normal(&object.text);
        Ok((list, Some(Draft { kind, subject: self.talk.subject(), attribute, value, confidence: 0.88, importance, content, from: None })))
    }

    /// "let's go with X": taken as what the speaker settled on.
    fn proposal(&self, start: usize, skip: usize) -> Clause {
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
        let text = rewrite(tokens, start + 2..last, self.talk, &self.mentions, false)?.text;
        let content = format!("{} decided to {text}.", self.talk.speaker);
        Ok((last, Some(self.decision(content))))
    }

    /// "Decision: X".
    fn declared(&self, from: usize) -> Clause {
        let tokens = self.tokens;
        let last = (from..tokens.len()).find(|index| tokens.low(*index) == "." && index + 1 == tokens.len()).unwrap_or(tokens.len());
        let text = rewrite(tokens, from..last, self.talk, &self.mentions, false)?.text;
        Ok((tokens.len(), (!text.is_empty()).then(|| self.decision(format!("{} decided: {text}.", self.talk.speaker)))))
    }

    fn decision(&self, content: String) -> Draft {
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

    /// What an agent says about its user: "your order 88-3141 was shipped", kept only where it is specific.
    fn about_user(&self, found: &mut Found) {
        let (tokens, Some(user)) = (self.tokens, self.talk.other.as_ref()) else { return };
        let start = lead(tokens, 0).start;
        if tokens.low(start) != "your" {
            return found.push(Err(RejectReason::NotAboutUser));
        }
        let Some(verb) = (start + 2..(start + 7).min(tokens.len()))
            .find(|index| matches!(tokens.low(*index), "is" | "was" | "has" | "will" | "are" | "were" | "starts" | "arrives" | "expires"))
        else {
            return found.push(Err(RejectReason::NotAboutUser));
        };
        let last = end(tokens, verb + 1, true);
        let specific = (start + 1..last).any(|index| tokens.shape(index) == Shape::Number || tokens.is_capital(index))
            || self.mentioned(start, last).is_some();
        if !specific || last <= verb + 1 {
            return found.push(Err(RejectReason::Vague));
        }
        found.push(rewrite(tokens, start + 1..last, self.talk, &self.mentions, true).map(|piece| Draft {
            kind: MemoryKind::Entity,
            subject: user.clone(),
            attribute: (start + 1..verb).map(|index| tokens.low(index)).collect::<Vec<_>>().join(" "),
            value: String::new(),
            confidence: 0.7,
            importance: 0.55,
            content: format!("{user}'s {}.", piece.text),
            from: None,
        }));
    }

    /// Subject and verb phrase are there: what do they state?
    fn predicate(&self, subject: (String, String), start: usize, person: Person, adverbial: Option<(usize, usize)>) -> Clause {
        let tokens = self.tokens;
        let fallback = end(tokens, start, false);
        let Some(mut phrase) = phrase::read(tokens, start, person)? else { return Ok((fallback, None)) };
        let listing = matches!(
            phrase.verb,
            "love" | "like" | "enjoy" | "hate" | "adore" | "prefer" | "speak" | "have" | "play" | "be" | "eat" | "dislike"
        );
        let last = end(tokens, phrase.next, listing);
        let Some(reading) = self.reading(&mut phrase, last)? else { return Ok((last, None)) };
        if last - phrase.next > MAX_CLAUSE {
            return Err(RejectReason::Vague);
        }
        if (phrase.next..last).any(|index| within(SUPPOSING, tokens.low(index))) && reading.kind != MemoryKind::Decision {
            return Err(RejectReason::Hypothetical);
        }
        let object = rewrite(tokens, phrase.next..last, self.talk, &self.mentions, person != Person::Speaker)?;
        let mut mention = object.mention;
        let mut content = subject.0;
        for part in [phrase.text.as_str(), object.text.as_str()] {
            if !part.is_empty() {
                content.push(' ');
                content.push_str(part);
            }
        }
        let led = adverbial.and_then(|(from, to)| self.mentioned(from, to)).filter(|_| mention.is_none());
        if let Some(led) = led {
            content.push(' ');
            content.push_str(&super::render::dated(&led, ""));
            mention = Some(led);
        }
        content.push('.');
        let importance = f32::from(reading.importance) / 100.0 + self.specifics(phrase.next, last, mention.is_some(), phrase.when);
        let value = if reading.fixed.is_empty() { normal(&self.value(reading.value)) } else { reading.fixed.to_owned() };
        let value = if phrase.negated && !value.is_empty() { format!("not {value}") } else { value };
        let dates = phrase.when == When::Past || reading.attribute == "employer" || reading.attribute == "home";
        let from = mention.filter(|_| dates).and_then(|mention| held_from(&mention, self.talk.said.local().date()));
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
    fn reading(&self, phrase: &mut Phrase, last: usize) -> Result<Option<Reading>, RejectReason> {
        let tokens = self.tokens;
        let at = phrase.next;
        match phrase.verb {
            "be" => return Ok(states::be(tokens, phrase, last)),
            "have" => return Ok(states::have(tokens, phrase, last)),
            _ => {}
        }
        let next = tokens.low(at);
        let fits = |list: &str| if at < last { list == "*" || within(list, next) } else { within(list, ".") };
        let Some(rule) = rules(phrase.verb).iter().find(|rule| {
            rule.when == phrase.when && (fits(rule.next) || rule.next.starts_with("a an") && tokens.is_capital(at) && at < last)
        }) else {
            return Ok(None);
        };
        let eats = rule.attribute == "diet_detail";
        if phrase.negated {
            let lasting = rule.when == When::Now
                && matches!(rule.kind, MemoryKind::Preference | MemoryKind::WorkHistory | MemoryKind::PersonalInfo)
                && !matches!(phrase.verb, "play" | "learn");
            if !lasting && phrase.verb != "decide" {
                return Ok(None);
            }
        } else if eats && !phrase.habitual {
            return Ok(None);
        }
        if rule.attribute == "habit" && !phrase.habitual && !(at..last).any(|index| tokens.low(index) == "every") {
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
            && is_vague(tokens, if matched && rule.kind != MemoryKind::Preference { at + 1 } else { at }, last)
        {
            return Err(RejectReason::Vague);
        }
        let mut reading = Reading::new(rule.kind, rule.attribute, value, rule.confidence, rule.importance);
        self.refine(phrase, &mut reading, (at, last))?;
        if eats {
            reading.attribute = "diet".to_owned();
            reading.importance = if phrase.negated { 62 } else { 48 };
            reading.confidence = 84;
        }
        Ok(Some(reading))
    }

    /// What single verbs need besides their rows.
    fn refine(&self, phrase: &Phrase, reading: &mut Reading, (at, last): (usize, usize)) -> Result<(), RejectReason> {
        let tokens = self.tokens;
        match (reading.kind, phrase.verb) {
            (MemoryKind::Goal, "want" | "plan" | "hope" | "aim" | "intend" | "try") => {
                let verb = if tokens.low(at) == "to" { at + 1 } else { at };
                let empty = last <= verb + 1 || is_vague(tokens, verb + 1, last);
                if empty || within(VAGUE_PLANS, tokens.low(verb)) {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::Preference, "love" | "like" | "enjoy" | "adore") => {
                let talk = (at..last).any(|index| {
                    matches!(tokens.low(index), "pic" | "photo" | "picture" | "your" | "you" | "hearing" | "idea" | "way" | "seeing")
                });
                if talk {
                    return Err(RejectReason::Vague);
                }
                if matches!(tokens.low(at), "the") {
                    reading.importance -= 8;
                }
                if tokens.low(at) == "to" && matches!(tokens.low(at + 1), "think" | "see" | "hear" | "know" | "believe" | "say") {
                    return Err(RejectReason::Vague);
                }
            }
            (MemoryKind::WorkHistory, "quit" | "leave" | "resign") => {
                let job = (at..last).any(|index| within(JOB_NOUNS, tokens.low(index)));
                match (at..last).find(|index| tokens.low(*index) == "at" && tokens.is_capital(index + 1)) {
                    Some(place) if job => {
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
            (MemoryKind::Decision, _) if last <= at + 1 => return Err(RejectReason::Vague),
            (MemoryKind::PersonalInfo, "speak") => {
                let language = (at..last).any(|index| within(super::lexicon::LANGUAGES, tokens.low(index)));
                if !language {
                    return Err(RejectReason::Vague);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The value's words: up to where place, time or company begin.
    fn value(&self, (from, to): (usize, usize)) -> String {
        let tokens = self.tokens;
        let stop = (from + 1..to).find(|index| {
            let mentioned = self.mentions.iter().any(|mention| mention.start == tokens.range(*index).start);
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
                        | "to"
                        | "during"
                        | "again"
                        | "by"
                )
        });
        tokens.slice(from..stop.unwrap_or(to).max(from)).to_owned()
    }

    /// The first date that is mentioned between two tokens.
    fn mentioned(&self, from: usize, to: usize) -> Option<TimeMention> {
        let (start, end) = (self.tokens.range(from).start, self.tokens.range(to).start);
        self.mentions.iter().find(|mention| mention.start >= start && mention.start < end && mention.confident).copied()
    }

    /// Names, numbers and dates make a statement worth more.
    fn specifics(&self, from: usize, to: usize, dated: bool, when: When) -> f32 {
        let tokens = self.tokens;
        let names = (from..to).any(|index| {
            tokens.is_capital(index)
                && !self.mentions.iter().any(|mention| (mention.start..mention.end).contains(&tokens.range(index).start))
        });
        let numbers = (from..to).any(|index| tokens.shape(index) == Shape::Number);
        let words = (to - from.min(to)).min(12) as f32;
        let dated = if dated && when != When::Now { 0.1 } else { 0.0 };
        dated + if names { 0.08 } else { 0.0 } + if numbers { 0.04 } else { 0.0 } + words * 0.004
    }
}

/// A sentence without subject that reads as the speaker's report: "Moved to Lyon last week."
fn phrase_is_elided(tokens: &Tokens, at: usize) -> bool {
    use super::verbs::{Form, verb};
    if begins_clause(tokens, at) {
        return false;
    }
    match verb(tokens.low(at)) {
        Some((base, Form::Past)) => {
            matches!(
                base,
                "get"
                    | "move"
                    | "buy"
                    | "visit"
                    | "go"
                    | "quit"
                    | "finish"
                    | "join"
                    | "start"
                    | "adopt"
                    | "win"
                    | "meet"
                    | "break"
                    | "sign"
                    | "attend"
                    | "book"
            ) && tokens.low(at + 1) != "it"
        }
        _ => false,
    }
}

/// A value as it is compared: lower case, without article and final punctuation.
fn normal(text: &str) -> String {
    let lower = text.to_lowercase();
    let trimmed = lower.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '%'));
    ["a ", "an ", "the ", "my ", "our ", "their "]
        .iter()
        .find_map(|article| trimmed.strip_prefix(article))
        .unwrap_or(trimmed)
        .trim()
        .to_owned()
}
