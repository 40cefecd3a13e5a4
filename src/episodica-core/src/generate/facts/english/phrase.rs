//! The verb phrase: what is done, when, and whether it is denied, with the verb in the form that
//! goes with a name.

use super::lexicon::{ADVERBS, FILLERS, FREQUENCY, SUPPOSING};
use super::rules::When;
use super::tokens::Tokens;
use super::verbs::{Form, is_past_too, third_person};
use crate::generate::facts::RejectReason;

/// How the subject of the statement agrees with its verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Person {
    /// "I" in the message, one name in the statement.
    Speaker,
    /// "We" in the message, of whom only the speaker is known.
    Company,
    /// Third person singular in both.
    Third,
    /// Plural in both.
    Plural,
}

/// A verb phrase.
#[derive(Debug, Clone)]
pub(super) struct Phrase {
    pub(super) when: When,
    pub(super) negated: bool,
    /// The main verb in its base form; `be` and `have` for the copula and possession.
    pub(super) verb: &'static str,
    /// The token after the main verb.
    pub(super) next: usize,
    /// The phrase as the statement writes it, main verb included.
    pub(super) text: String,
    /// Says "usually", "often" and the like.
    pub(super) habitual: bool,
    /// "has worked", "has been working".
    pub(super) perfect: bool,
    /// "is working", "has been working".
    pub(super) progressive: bool,
}

impl Phrase {
    /// A copula that the message leaves out, before the complement at `next`.
    pub(super) fn copula(text: String, next: usize) -> Self {
        Self {
            when: When::Now,
            negated: false,
            verb: "be",
            next,
            text,
            habitual: false,
            perfect: false,
            progressive: false,
        }
    }
}

/// Reads the verb phrase that starts at a token. `None`: there is none, or none that states
/// anything.
pub(super) fn read(
    tokens: &Tokens,
    start: usize,
    person: Person,
) -> Result<Option<Phrase>, RejectReason> {
    let mut out = Writer { person, words: Vec::new(), negated: false, habitual: false };
    let at = out.adverbs(tokens, start);
    let word = tokens.low(at);
    if tokens.is(at, SUPPOSING) || word == "'d" && !past_perfect_follows(tokens, at + 1) {
        return Err(RejectReason::Hypothetical);
    }
    Ok(match word {
        "'m" | "am" | "is" | "are" | "'re" | "was" | "were" => out.copula(tokens, at, word),
        "'s" if perfect_follows(tokens, at + 1) => out.perfect(tokens, at, "has"),
        "'s" => out.copula(tokens, at, "is"),
        "'ve" | "have" | "has" if perfect_follows(tokens, at + 1) => out.perfect(tokens, at, "has"),
        "had" if perfect_follows(tokens, at + 1) => out.perfect(tokens, at, "had"),
        "'d" if past_perfect_follows(tokens, at + 1) => out.perfect(tokens, at, "had"),
        "do" | "does" | "did" => out.emphatic(tokens, at, word),
        "will" | "'ll" | "wo" => out.future(tokens, at),
        "can" | "ca" | "could" => out.ability(tokens, at),
        "used" if tokens.low(at + 1) == "to" => out.used_to(tokens, at),
        "have" | "'ve" | "has" if tokens.low(at + 1) == "to" => None,
        _ => out.plain(tokens, at),
    })
}

struct Writer {
    person: Person,
    words: Vec<String>,
    negated: bool,
    habitual: bool,
}

impl Writer {
    /// Takes adverbs and negations, returns the token after them.
    fn adverbs(&mut self, tokens: &Tokens, mut at: usize) -> usize {
        loop {
            let word = tokens.low(at);
            if self.person == Person::Company && matches!(word, "both" | "all") {
                at += 1;
                continue;
            }
            if matches!(word, "not" | "n't") {
                self.negated = true;
            } else if matches!(word, "kind" | "sort") && tokens.low(at + 1) == "of" {
                at += 1;
            } else if tokens.is(at, ADVERBS) && tokens.verb(at).is_none() {
                self.negated |= word == "never";
                self.habitual |= tokens.is(at, FREQUENCY);
                if !tokens.is(at, FILLERS) {
                    self.words.push(word.to_owned());
                }
            } else {
                return at;
            }
            at += 1;
        }
    }

    /// Puts an auxiliary before the adverbs that were taken, with its negation.
    fn auxiliary(&mut self, word: &str) {
        let never = self.words.iter().any(|word| word == "never");
        let text = if self.negated && !never { format!("{word} not") } else { word.to_owned() };
        self.words.insert(0, text);
    }

    fn done(self, verb: &'static str, form: &str, next: usize, when: When) -> Phrase {
        let Self { mut words, negated, habitual, .. } = self;
        if !form.is_empty() {
            words.push(form.to_owned());
        }
        Phrase {
            when,
            negated,
            verb,
            next,
            text: words.join(" "),
            habitual,
            perfect: false,
            progressive: false,
        }
    }

    fn agree(&self, singular: &'static str, plural: &'static str) -> &'static str {
        if self.person == Person::Plural { plural } else { singular }
    }

    fn copula(mut self, tokens: &Tokens, at: usize, word: &str) -> Option<Phrase> {
        let past = matches!(word, "was" | "were");
        let be = if past { self.agree("was", "were") } else { self.agree("is", "are") };
        let next = self.adverbs(tokens, at + 1);
        self.auxiliary(be);
        let follower = tokens.low(next);
        if follower == "gonna"
            || follower == "going"
                && tokens.low(next + 1) == "to"
                && tokens.verb(next + 2).is_some_and(|(_, form)| form == Form::Base)
        {
            let main = if follower == "gonna" { next + 1 } else { next + 2 };
            let (base, _) = tokens.verb(main)?;
            self.words.push("going to".to_owned());
            return (!past).then(|| self.done(base, base, main + 1, When::Ahead));
        }
        if let Some((base, Form::Ing)) = tokens.verb(next) {
            let ahead = !past
                && matches!(
                    base,
                    "move"
                        | "go"
                        | "fly"
                        | "visit"
                        | "leave"
                        | "start"
                        | "meet"
                        | "get"
                        | "travel"
                        | "open"
                        | "retire"
                        | "join"
                );
            let when = if past {
                When::Past
            } else if ahead {
                When::Ahead
            } else {
                When::Now
            };
            let mut phrase = self.done(base, follower, next + 1, when);
            phrase.progressive = true;
            return Some(phrase);
        }
        Some(self.done("be", "", next, if past { When::Past } else { When::Now }))
    }

    fn perfect(mut self, tokens: &Tokens, at: usize, aux: &str) -> Option<Phrase> {
        let next = self.adverbs(tokens, at + 1);
        let aux = if aux == "has" { self.agree("has", "have") } else { "had" };
        let word = tokens.low(next);
        if word == "got"
            && !matches!(
                tokens.low(next + 1),
                "married" | "engaged" | "to" | "into" | "accepted" | "promoted"
            )
        {
            self.auxiliary(aux);
            return Some(self.done("have", "", next + 1, When::Now));
        }
        self.auxiliary(aux);
        if word == "been" {
            self.words.push("been".to_owned());
            let after = self.adverbs(tokens, next + 1);
            let follower = tokens.low(after);
            let mut phrase = match tokens.verb(after) {
                Some((base, Form::Ing)) => {
                    let mut phrase = self.done(base, follower, after + 1, When::Now);
                    phrase.progressive = true;
                    phrase
                }
                _ if matches!(follower, "to") => self.done("visit", "", after, When::Past),
                _ => self.done("be", "", after, When::Now),
            };
            phrase.perfect = true;
            return Some(phrase);
        }
        let (base, _) = tokens.verb(next)?;
        let lasting = matches!(base, "work" | "live" | "love" | "own" | "play")
            && (next..tokens.len()).any(|index| matches!(tokens.low(index), "since" | "for"));
        let mut phrase =
            self.done(base, word, next + 1, if lasting { When::Now } else { When::Past });
        phrase.perfect = true;
        Some(phrase)
    }

    /// "do love", "don't eat", "didn't go".
    fn emphatic(mut self, tokens: &Tokens, at: usize, word: &str) -> Option<Phrase> {
        let main = self.adverbs(tokens, at + 1);
        let (base, form) = tokens.verb(main)?;
        if form != Form::Base
            || main == at + 1 && word != "did" && !self.negated && tokens.low(main) == "to"
        {
            return None;
        }
        if word == "did" {
            if !self.negated {
                return None;
            }
            self.words.insert(0, "did not".to_owned());
            return Some(self.done(base, base, main + 1, When::Past));
        }
        if !self.negated || self.words.iter().any(|word| word == "never") {
            let shown = self.present(base);
            return Some(self.done(base, &shown, main + 1, When::Now));
        }
        let aux = self.agree("doesn't", "don't");
        self.words.insert(0, aux.to_owned());
        let (shown, base) =
            if tokens.low(main) == "have" { ("have", "have") } else { (base, base) };
        Some(self.done(base, shown, main + 1, When::Now))
    }

    fn future(mut self, tokens: &Tokens, at: usize) -> Option<Phrase> {
        let main = self.adverbs(tokens, at + 1);
        self.auxiliary("will");
        let progressive = tokens.low(main) == "be";
        if progressive {
            self.words.push("be".to_owned());
            return match tokens.verb(main + 1) {
                Some((base, Form::Ing)) => {
                    Some(self.done(base, tokens.low(main + 1), main + 2, When::Ahead))
                }
                _ => None,
            };
        }
        let (base, form) = tokens.verb(main)?;
        (form == Form::Base).then(|| self.done(base, base, main + 1, When::Ahead))
    }

    /// Only what somebody can't do says something lasting: "can't stand", "can't eat".
    fn ability(mut self, tokens: &Tokens, at: usize) -> Option<Phrase> {
        let main = self.adverbs(tokens, at + 1);
        let base = match tokens.low(main) {
            "stand" => "hate",
            "eat" => "eat",
            "drink" => "drink",
            _ => return None,
        };
        if !self.negated || tokens.low(at) == "could" {
            return None;
        }
        self.words.insert(0, "can't".to_owned());
        // "can't stand" is a dislike, not the denial of one.
        self.negated = base != "hate";
        Some(self.done(base, tokens.low(main), main + 1, When::Now))
    }

    fn used_to(mut self, tokens: &Tokens, at: usize) -> Option<Phrase> {
        let (base, form) = tokens.verb(at + 2).filter(|(_, form)| *form == Form::Base)?;
        self.words.push("used to".to_owned());
        debug_assert_eq!(form, Form::Base);
        Some(self.done(base, tokens.low(at + 2), at + 3, When::Past))
    }

    fn plain(self, tokens: &Tokens, at: usize) -> Option<Phrase> {
        let word = tokens.low(at);
        let (base, form) = match word {
            "wanna" => ("want", Form::Base),
            "have" | "'ve" => ("have", Form::Base),
            "had" => ("have", Form::Past),
            _ => tokens.verb(at)?,
        };
        match form {
            Form::Base if is_past_too(base) && self.person != Person::Plural => {
                Some(self.done(base, word, at + 1, When::Past))
            }
            Form::Base if word == "wanna" => Some(self.done("want", "wants to", at + 1, When::Now)),
            Form::Base if self.person == Person::Third => None,
            Form::Base => {
                let shown = self.present(base);
                Some(self.done(base, &shown, at + 1, When::Now))
            }
            Form::Third => {
                (self.person == Person::Third).then(|| self.done(base, word, at + 1, When::Now))
            }
            Form::Past => Some(self.done(base, word, at + 1, When::Past)),
            Form::Participle | Form::Ing => None,
        }
    }

    fn present(&self, base: &str) -> String {
        if self.person == Person::Plural { base.to_owned() } else { third_person(base) }
    }
}

/// The same after "'d", which is "would" before a base form.
fn past_perfect_follows(tokens: &Tokens, at: usize) -> bool {
    perfect_follows(tokens, at)
        && (at..at + 4)
            .any(|index| matches!(tokens.verb(index), Some((_, Form::Past | Form::Participle))))
}

/// Does a past participle follow, adverbs and negation aside?
fn perfect_follows(tokens: &Tokens, mut at: usize) -> bool {
    while matches!(tokens.low(at), "not" | "n't") || tokens.is(at, ADVERBS) {
        at += 1;
    }
    match tokens.verb(at) {
        Some((base, Form::Past)) => base != "be",
        Some((_, Form::Participle)) => true,
        Some((base, Form::Base)) => is_past_too(base) || matches!(base, "become" | "come" | "run"),
        _ => tokens.low(at) == "got",
    }
}
