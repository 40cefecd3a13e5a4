//! What somebody is or has: the complements of "be" and "have".

use super::lexicon::{
    APPOINTMENTS, HEALTH, PLAIN, POSSESSIONS, PROFESSIONS, RELATIONS, RELATIONS_PLURAL, VAGUE,
};
use super::phrase::Phrase;
use super::rules::When;
use super::tokens::{Shape, Tokens};
use crate::generate::facts::numbers::numbers;
use crate::model::MemoryKind;

/// What a clause says, before its text is written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub(super) kind: MemoryKind,
    pub(super) attribute: String,
    /// The tokens of the value.
    pub(super) value: (usize, usize),
    /// A value that the words don't spell out; wins over `value` unless empty.
    pub(super) fixed: &'static str,
    /// The statement says that the value no longer holds.
    pub(super) ended: bool,
    /// In hundredths.
    pub(super) confidence: u8,
    /// In hundredths.
    pub(super) importance: u8,
}

impl Reading {
    pub(super) fn new(
        kind: MemoryKind,
        attribute: &str,
        value: (usize, usize),
        confidence: u8,
        importance: u8,
    ) -> Self {
        Self {
            kind,
            attribute: attribute.to_owned(),
            value,
            fixed: "",
            ended: false,
            confidence,
            importance,
        }
    }

    fn fixed(self, fixed: &'static str) -> Self {
        Self { fixed, ..self }
    }
}

/// What follows "am", "is", "was", "has been".
pub(super) fn be(tokens: &Tokens, phrase: &Phrase, end: usize) -> Option<Reading> {
    use MemoryKind::{Goal, PersonalInfo, Preference, Relationship, WorkHistory};
    let at = phrase.next;
    let (word, follower) = (tokens.low(at), tokens.low(at + 1));
    let rest = (at + 1, end);
    let now = phrase.when == When::Now;
    let known = match word {
        "allergic" if follower == "to" => {
            Reading::new(PersonalInfo, "allergy", (at + 2, end), 93, 82)
        }
        "intolerant" | "diabetic" | "asthmatic" | "dyslexic" | "colour-blind" | "colorblind"
        | "left-handed" | "deaf" | "epileptic" => {
            Reading::new(PersonalInfo, "health", (at, at + 1), 88, 70)
        }
        "lactose" | "gluten" if follower == "intolerant" => {
            Reading::new(PersonalInfo, "health", (at, at + 2), 92, 75)
        }
        "vegetarian" | "vegan" | "pescatarian" | "teetotal" => {
            Reading::new(Preference, "diet", (at, at + 1), 90, 68)
        }
        "married" | "engaged" | "divorced" | "widowed" | "separated" if now => {
            Reading::new(Relationship, "relationship_status", (at, at + 1), 85, 68)
        }
        "single" if now && at + 1 >= end => {
            Reading::new(Relationship, "relationship_status", (at, at + 1), 82, 62)
        }
        "pregnant" => Reading::new(PersonalInfo, "expecting", (at, at + 1), 88, 75),
        "retired" if now => Reading::new(WorkHistory, "job_status", (at, at + 1), 86, 65),
        "unemployed" | "self-employed" if now => {
            Reading::new(WorkHistory, "job_status", (at, at + 1), 88, 65)
        }
        "from" if now && tokens.is_capital(at + 1) => {
            Reading::new(PersonalInfo, "hometown", rest, 88, 68)
        }
        "born" if matches!(follower, "in" | "on" | "and") => {
            Reading::new(PersonalInfo, "birth", (at + 2, end), 90, 72)
        }
        "raised" if follower == "in" => {
            Reading::new(PersonalInfo, "childhood", (at + 2, end), 85, 60)
        }
        "promoted" | "hired" | "fired" | "laid" => {
            Reading::new(WorkHistory, "job_change", rest, 88, 68)
        }
        "diagnosed" if follower == "with" => {
            Reading::new(PersonalInfo, "health", (at + 2, end), 90, 75)
        }
        "into" if now => Reading::new(Preference, "likes", rest, 75, 50),
        "afraid" | "scared" | "terrified" if now && follower == "of" => {
            Reading::new(Preference, "fears", (at + 2, end), 82, 55)
        }
        "obsessed" | "passionate" | "crazy" if now && matches!(follower, "with" | "about") => {
            Reading::new(Preference, "likes", (at + 2, end), 82, 55)
        }
        "interested" if now && follower == "in" => {
            Reading::new(Preference, "interests", (at + 2, end), 80, 52)
        }
        "determined" if now && follower == "to" => {
            Reading::new(Goal, "goal", (at + 2, end), 76, 46)
        }
        "accepted" | "selected" | "elected" | "nominated" | "awarded" | "invited" | "admitted" => {
            Reading::new(MemoryKind::Event, "event", rest, 80, 54)
        }
        "in" | "at" if now && is_address(tokens, at + 1, end) => {
            Reading::new(PersonalInfo, "home", rest, 74, 62)
        }
        "named" | "called" => Reading::new(MemoryKind::Entity, "name", rest, 85, 58),
        "a" | "an" | "the" | "my" | "also" | "our" => return noun(tokens, at, end, now),
        _ => return age_or_name(tokens, at, end, now),
    };
    let known = match word {
        "pregnant" => known.fixed("pregnant"),
        _ => known,
    };
    (!phrase.negated
        || matches!(
            known.attribute.as_str(),
            "relationship_status" | "allergy" | "diet" | "likes" | "interests" | "health"
        ))
    .then_some(known)
}

/// "a nurse at ...", "a big fan of ...", "a single mum of two".
fn noun(tokens: &Tokens, at: usize, end: usize, now: bool) -> Option<Reading> {
    let head_end = (at + 1..end)
        .find(|index| {
            matches!(
                tokens.low(*index),
                "of" | "at"
                    | "in"
                    | "for"
                    | "with"
                    | "and"
                    | ","
                    | "who"
                    | "from"
                    | "on"
                    | "by"
                    | "to"
                    | "now"
                    | "here"
                    | "that"
            )
        })
        .unwrap_or(end);
    let head = head_end.checked_sub(1).filter(|head| *head > at)?;
    let word = tokens.low(head);
    let indefinite = matches!(tokens.low(at), "a" | "an");
    if word == "fan" && indefinite && tokens.low(head + 1) == "of" {
        return Some(Reading::new(MemoryKind::Preference, "likes", (head + 2, end), 82, 52));
    }
    if word == "person"
        && indefinite
        && head > at + 1
        && !tokens.is(head - 1, PLAIN)
        && !matches!(
            tokens.low(head - 1),
            "better" | "bad" | "changed" | "busy" | "lucky" | "happy"
        )
    {
        return Some(Reading::new(MemoryKind::Preference, "likes", (at + 1, head), 80, 54));
    }
    if matches!(word, "vegetarian" | "vegan" | "pescatarian") {
        return Some(Reading::new(MemoryKind::Preference, "diet", (head, head + 1), 90, 68));
    }
    if word == "member" && tokens.low(head + 1) == "of" {
        return Some(Reading::new(MemoryKind::WorkHistory, "member", (head + 2, end), 82, 55));
    }
    let person = matches!(
        word,
        "mum"
            | "mom"
            | "dad"
            | "mother"
            | "father"
            | "parent"
            | "grandmother"
            | "grandfather"
            | "widow"
            | "widower"
            | "twin"
            | "orphan"
            | "aunt"
            | "uncle"
    ) || word == "child" && tokens.low(head.saturating_sub(1)) == "only";
    if person && indefinite {
        return Some(Reading::new(MemoryKind::Relationship, "family", (at + 1, head_end), 82, 58));
    }
    if tokens.is(head, PROFESSIONS)
        && !(at + 1..head).any(|index| {
            matches!(
                tokens.low(index),
                "good"
                    | "great"
                    | "terrible"
                    | "bad"
                    | "real"
                    | "amazing"
                    | "supportive"
                    | "best"
                    | "lucky"
                    | "better"
            )
        })
    {
        let attribute = if now { "occupation" } else { "former_occupation" };
        return Some(Reading::new(MemoryKind::WorkHistory, attribute, (at + 1, head_end), 86, 66));
    }
    None
}

/// "34", "34 years old", "Haruto from ...".
fn age_or_name(tokens: &Tokens, at: usize, end: usize, now: bool) -> Option<Reading> {
    if tokens.shape(at) == Shape::Word && now && at + 1 >= end && numbers(tokens.low(at)).len() == 1
    {
        return Some(Reading::new(MemoryKind::PersonalInfo, "age", (at, at + 1), 84, 62));
    }
    if tokens.shape(at) == Shape::Number && now {
        let years = matches!(tokens.low(at + 1), "years" | "year") && tokens.low(at + 2) == "old";
        let plain = at + 1 >= end
            && tokens.raw(at).len() <= 2
            && tokens.raw(at).bytes().all(|byte| byte.is_ascii_digit());
        return (years || plain)
            .then(|| Reading::new(MemoryKind::PersonalInfo, "age", (at, at + 1), 88, 65));
    }
    None
}

/// A house number with a street, or a named court with a flat.
fn is_address(tokens: &Tokens, at: usize, end: usize) -> bool {
    let street = |word: &str| {
        matches!(
            word,
            "street"
                | "road"
                | "lane"
                | "avenue"
                | "court"
                | "square"
                | "drive"
                | "place"
                | "yard"
                | "close"
                | "way"
                | "terrace"
                | "boulevard"
        )
    };
    (at..end).any(|index| street(tokens.low(index)) && tokens.is_capital(index))
}

/// Does a job without subject and copula stand here: "Still a teacher at ...", "Now an engineer in
/// ..."?
pub(super) fn still(tokens: &Tokens, at: usize) -> bool {
    at > 0
        && matches!(tokens.low(at - 1), "still" | "now")
        && matches!(tokens.low(at), "a" | "an")
        && (at + 1..at + 5).any(|index| tokens.is(index, PROFESSIONS))
}

/// What follows "have", "has", "had".
pub(super) fn have(tokens: &Tokens, phrase: &Phrase, end: usize) -> Option<Reading> {
    use MemoryKind::{Entity, Event, PersonalInfo, Preference, Relationship};
    let at = phrase.next;
    if matches!(
        tokens.low(at),
        "to" | "the" | "such" | "so" | "been" | "your" | "you" | "that" | "this"
    ) {
        return None;
    }
    let head_end = (at..end)
        .find(|index| {
            matches!(
                tokens.low(*index),
                "of" | "at"
                    | "in"
                    | "for"
                    | "with"
                    | "as"
                    | "and"
                    | ","
                    | "who"
                    | "from"
                    | "on"
                    | "by"
                    | "to"
                    | "named"
                    | "called"
                    | "that"
                    | "next"
                    | "this"
                    | "last"
                    | "tomorrow"
                    | "yesterday"
                    | "now"
                    | "since"
                    | "when"
                    | "again"
            ) || *index > at && tokens.shape(*index) == Shape::Number
        })
        .unwrap_or(end);
    let head = head_end.checked_sub(1).filter(|head| *head >= at)?;
    let word = tokens.low(head);
    let singular = word.strip_suffix('s').unwrap_or(word);
    let value = (at, head_end);
    let now = phrase.when == When::Now;
    let digits = (head..end.min(head + 4))
        .find(|index| *index > head && tokens.shape(*index) == Shape::Number);
    let found = if let (Some(number), true) = (digits, matches!(word, "number" | "phone")) {
        Reading::new(PersonalInfo, "phone", (number, end), 86, 75)
    } else if matches!(word, "place" | "job" | "position" | "internship" | "placement")
        && matches!(tokens.low(head_end), "as" | "at" | "with" | "in")
    {
        Reading::new(MemoryKind::WorkHistory, "job_change", value, 80, 64)
    } else if tokens.is(head, RELATIONS) || tokens.is(head, RELATIONS_PLURAL) {
        let relation =
            if super::lexicon::word(singular).class.has(RELATIONS) { singular } else { word };
        if matches!(word, "friend" | "friends" | "fish" | "student" | "students" | "support")
            && phrase.next + 1 >= head_end
        {
            return None;
        }
        Reading::new(Relationship, &format!("has:{relation}"), value, 86, 62)
    } else if tokens.is(head, HEALTH) {
        Reading::new(PersonalInfo, "health", value, 82, 62)
    } else if tokens.is(head, APPOINTMENTS) {
        Reading::new(Event, "appointment", value, 78, 48)
    } else if tokens.is(head, POSSESSIONS) && now {
        Reading::new(Entity, "has", value, 78, 52)
    } else if matches!(word, "passion" | "crush" | "soft spot") {
        Reading::new(Preference, "likes", (head_end + 1, end), 72, 48)
    } else {
        return None;
    };
    (!phrase.negated || matches!(found.kind, Relationship | Entity | PersonalInfo)).then_some(found)
}

/// Is the first weighty word of an object one that says nothing by itself?
pub(super) fn is_vague(tokens: &Tokens, mut at: usize, end: usize) -> bool {
    let pure = |word: &str| {
        matches!(
            word,
            "a" | "an"
                | "the"
                | "some"
                | "my"
                | "our"
                | "to"
                | "in"
                | "at"
                | "on"
                | "with"
                | "for"
                | "from"
                | "of"
                | "up"
                | "into"
                | "about"
                | "and"
                | "as"
                | "all"
        )
    };
    while at < end && pure(tokens.low(at)) {
        at += 1;
    }
    let start = at;
    while at + 1 < end && tokens.is(at, PLAIN) {
        at += 1;
    }
    if at >= end {
        return true;
    }
    tokens.is(at, VAGUE) || at > start && at + 1 >= end && tokens.is(at, PLAIN)
}
