//! Where clauses begin and end.

use super::lexicon::{
    BREAKING, COORDINATE, OPENERS, RELATIONS, RELATIONS_PLURAL, SUBORDINATING, SUPPOSING,
    TIME_OPENERS,
};
use super::states::still;
use super::tokens::{Shape, Tokens};
use super::verbs::Form;

/// Longest clause, in tokens, that is read as one statement.
pub(super) const MAX_CLAUSE: usize = 34;

/// What stands before the subject.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lead {
    /// The first token of the clause proper.
    pub(super) start: usize,
    /// "if", "maybe", "wish": the clause supposes.
    pub(super) supposing: bool,
    /// "I think", "I guess".
    pub(super) hedged: bool,
    /// The tokens of a leading adverbial that may hold a date.
    pub(super) adverbial: Option<(usize, usize)>,
}

/// Skips openers, names that are called, and adverbials that end at a comma or at the subject.
pub(super) fn lead(tokens: &Tokens, start: usize) -> Lead {
    let mut lead = Lead { start, ..Lead::default() };
    let mut at = start;
    let mut from = None;
    while at < tokens.len() {
        let word = tokens.low(at);
        let next = tokens.low(at + 1);
        if matches!(word, "i" | "we")
            && matches!(next, "think" | "guess" | "believe" | "suppose" | "mean")
            && is_subject(tokens, at + 2)
        {
            lead.hedged |= next != "mean";
            at += 2;
        } else if is_subject(tokens, at) || word == "let" && next == "'s" || still(tokens, at) {
            break;
        } else if tokens.is(at, SUPPOSING) {
            lead.supposing = true;
            break;
        } else if tokens.shape(at) == Shape::Mark
            || tokens.is(at, OPENERS) && !tokens.is(at, SUBORDINATING)
            || from.is_none() && is_called(tokens, at)
        {
            at += 1;
        } else {
            let Some(end) = adverbial_end(tokens, at) else { break };
            from = from.or(Some(at));
            lead.adverbial = Some((from.unwrap_or(at), end));
            at = end;
        }
    }
    lead.start = at;
    lead
}

/// A name that is called: "Mel, ...", "Jon! ...".
fn is_called(tokens: &Tokens, at: usize) -> bool {
    tokens.is_capital(at)
        && tokens.low(at) != "decision"
        && matches!(tokens.low(at + 1), "," | "!" | "." | "-" | "–" | ":")
        && tokens.verb(at).is_none()
}

/// The end of an adverbial that starts here: at its comma, or before a subject pronoun that follows
/// within a few words.
fn adverbial_end(tokens: &Tokens, start: usize) -> Option<usize> {
    let limit = (start + 14).min(tokens.len());
    let opener = tokens.low(start);
    if !tokens.is(start, SUBORDINATING)
        && !tokens.is(start, TIME_OPENERS)
        && tokens.shape(start) != Shape::Number
    {
        return None;
    }
    let dated = tokens.shape(start + 1) == Shape::Number
        || tokens.is(start + 1, TIME_OPENERS) && !matches!(tokens.low(start + 1), "the" | "a");
    let clause = tokens.is(start, SUBORDINATING)
        && !dated
        && !matches!(opener, "in" | "on" | "at" | "for" | "during" | "about" | "because" | "like");
    for index in start..limit {
        let word = tokens.low(index);
        if word == "," {
            return Some(index + 1);
        }
        if tokens.shape(index) == Shape::Mark && !matches!(word, "'" | "\"" | "#" | "&") {
            return None;
        }
        if index > start && matches!(word, "i" | "we") && !clause {
            return (index - start <= 6).then_some(index);
        }
        if !clause
            && index > start
            && tokens.verb(index).is_some_and(|(_, form)| form != Form::Ing && form != Form::Base)
        {
            return None;
        }
    }
    None
}

/// Is the token a past form?
pub(super) fn is_past(tokens: &Tokens, at: usize) -> bool {
    tokens.verb(at).is_some_and(|(_, form)| form == Form::Past)
}

/// Does a noun stand right before the subject at `at`, as in "the book I read"?
pub(super) fn headed(tokens: &Tokens, at: usize) -> bool {
    let before = at - 1;
    tokens.shape(before) == Shape::Word
        && !tokens.is(before, OPENERS)
        && !tokens.is(before, SUBORDINATING)
        && !matches!(
            tokens.low(before),
            "think"
                | "guess"
                | "believe"
                | "mean"
                | "suppose"
                | "yesterday"
                | "today"
                | "tonight"
                | "ago"
                | "week"
                | "month"
                | "year"
        )
}

/// Can the token be the subject of a statement that is read here?
pub(super) fn is_subject(tokens: &Tokens, at: usize) -> bool {
    match tokens.low(at) {
        "i" => tokens.raw(at) == "I" || !matches!(tokens.low(at + 1), "." | ")"),
        "we" | "my" | "our" => true,
        _ => false,
    }
}

/// Where the clause whose verb phrase ends before `start` ends (exclusive).
pub(super) fn end(tokens: &Tokens, start: usize, list: bool) -> usize {
    let mut quoted = false;
    for index in start..tokens.len() {
        let word = tokens.low(index);
        if word == "\"" || word == "“" || word == "”" {
            quoted = !quoted;
        }
        if !quoted && ends_at(tokens, index, start, list) {
            return index;
        }
    }
    tokens.len()
}

fn ends_at(tokens: &Tokens, index: usize, start: usize, list: bool) -> bool {
    let (word, next) = (tokens.low(index), tokens.low(index + 1));
    match word {
        "." if tokens.is_capital(index + 1)
            && index > start
            && tokens.raw(index - 1).len() <= 3
            && tokens.is_capital(index - 1) =>
        {
            false
        }
        "." | "!" | "?" | ";" | ":" | "…" | "(" | ")" | "–" | "—" | "~" | "*" | "|" | "/" | "=" => {
            true
        }
        "-" => {
            !tokens.gap(index).is_empty()
                || index + 1 < tokens.len() && !tokens.gap(index + 1).is_empty()
        }
        "," => comma_ends(tokens, index, start, list),
        "but" | "though" | "although" | "unless" | "if" | "whereas" | "because" | "'cause"
        | "cause" | "cuz" | "which" | "whenever" | "so"
            if index > start =>
        {
            word != "so" || !matches!(next, "much" | "many" | "well" | "hard" | "long")
        }
        "and"
            if index > start
                && !list
                && (is_past(tokens, index + 1) || tokens.is(index + 1, COORDINATE)) =>
        {
            true
        }
        "and" | "or" | "while" | "until" | "as" | "then" | "since" | "when" => {
            let own = matches!(word, "since" | "when" | "while" | "until") && matches!(next, "i");
            !own && (begins_clause(tokens, index + 1)
                || matches!(word, "and")
                    && matches!(next, "then" | "now" | "so" | "just" | "it" | "even"))
        }
        "it" | "he" | "she" | "they" | "this" | "there" | "what" => {
            index > start
                && matches!(
                    next,
                    "'s" | "is"
                        | "was"
                        | "'re"
                        | "are"
                        | "were"
                        | "'ll"
                        | "will"
                        | "has"
                        | "had"
                        | "'ve"
                )
        }
        "that" => index > start && next == "'s",
        "thanks" | "thank" | "haha" | "lol" => true,
        "tho" | "btw" => true,
        "'" => matches!(next, "cause" | "cuz" | "bout" | "til"),
        _ => {
            tokens.shape(index) == Shape::Mark
                && !matches!(
                    word,
                    "'" | "\"" | "“" | "”" | "&" | "#" | "%" | "+" | "`" | "_" | "@" | "°" | "$"
                )
        }
    }
}

fn comma_ends(tokens: &Tokens, index: usize, start: usize, list: bool) -> bool {
    let (next, second) = (tokens.low(index + 1), tokens.low(index + 2));
    if index + 1 >= tokens.len() || begins_clause(tokens, index + 1) {
        return true;
    }
    if matches!(next, "and" | "or") {
        return begins_clause(tokens, index + 2)
            || matches!(second, "then" | "now" | "so" | "it" | "even")
            || tokens.low(index + 2).is_empty()
            || !list && tokens.verb(index + 2).is_some();
    }
    let stopper = tokens.is(index + 1, BREAKING) || next == "or";
    if stopper {
        return true;
    }
    if !list && tokens.verb(index + 1).is_some_and(|(_, form)| form != Form::Base) {
        return true;
    }
    // A name that is called: the last word of the clause.
    let called = tokens.is_capital(index + 1)
        && !list
        && (matches!(second, "." | "!" | "")
            || tokens.shape(index + 2) == Shape::Mark && second != ",");
    called
        || !list
            && index > start
            && tokens.shape(index + 1) == Shape::Word
            && (index + 2..tokens.len()).take(4).any(|at| {
                tokens.verb(at).is_some_and(|(_, form)| matches!(form, Form::Past | Form::Third))
            })
}

/// Does a clause of its own begin here?
pub(super) fn begins_clause(tokens: &Tokens, at: usize) -> bool {
    let word = tokens.low(at);
    let finite = |index: usize| {
        matches!(
            tokens.low(index),
            "'s" | "is"
                | "was"
                | "are"
                | "were"
                | "'ll"
                | "will"
                | "has"
                | "had"
                | "have"
                | "do"
                | "does"
                | "did"
                | "can"
                | "ca"
                | "would"
        ) || tokens.verb(index).is_some_and(|(_, form)| matches!(form, Form::Past | Form::Third))
    };
    match word {
        "i" | "we" | "it" | "he" | "she" | "they" | "you" | "this" | "that" | "there" | "these"
        | "those" | "everyone" | "everything" | "everybody" | "people" | "nobody" | "nothing"
        | "who" | "let" | "what" => true,
        "my" | "our" | "his" | "her" | "their" | "your" | "the" | "a" => {
            (at + 1..(at + 5).min(tokens.len())).any(finite)
        }
        _ if tokens.is_capital(at) => {
            finite(at + 1) && tokens.low(at + 1) != "'s"
                || tokens.is_capital(at + 1) && finite(at + 2)
        }
        "just" | "now" | "then" | "still" | "also" | "so" => {
            matches!(tokens.low(at + 1), "i" | "we" | "it" | "he" | "she" | "they" | "you")
        }
        _ => false,
    }
}

/// A noun phrase after "my" or "our": where it ends, its relation noun, and the name that follows
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Possession {
    /// The token after the phrase (name included).
    pub(super) end: usize,
    /// The head noun.
    pub(super) head: usize,
    /// Tokens of the name, empty if none follows.
    pub(super) name: (usize, usize),
    /// The head is a relative, friend or pet.
    pub(super) relation: bool,
    pub(super) plural: bool,
}

/// Reads what "my" at `at` owns.
pub(super) fn possession(tokens: &Tokens, at: usize) -> Option<Possession> {
    let limit = (at + 6).min(tokens.len());
    let mut head = None;
    for index in at + 1..limit {
        let word = tokens.low(index);
        if tokens.is(index, RELATIONS) || tokens.is(index, RELATIONS_PLURAL) {
            head = Some(index);
            if !tokens.is(index + 1, RELATIONS) {
                break;
            }
        } else if tokens.shape(index) != Shape::Word
            || matches!(
                word,
                "'s" | "is"
                    | "was"
                    | "are"
                    | "were"
                    | "has"
                    | "had"
                    | "and"
                    | "of"
                    | "to"
                    | "in"
                    | "for"
            )
            || index > at + 1
                && tokens
                    .verb(index)
                    .is_some_and(|(_, form)| matches!(form, Form::Past | Form::Third))
        {
            head = head.or(index.checked_sub(1).filter(|before| *before > at));
            break;
        }
    }
    let head = head?;
    let relation = tokens.is(head, RELATIONS) || tokens.is(head, RELATIONS_PLURAL);
    let plural = tokens.is(head, RELATIONS_PLURAL) && !matches!(tokens.low(head), "fish" | "sheep");
    let mut name = (head + 1, head + 1);
    let comma = usize::from(tokens.low(head + 1) == ",");
    let mut last = head + 1 + comma;
    while relation
        && last < tokens.len()
        && last < head + 4 + comma
        && tokens.is_capital(last)
        && tokens.verb(last).is_none()
    {
        last += 1;
    }
    if last > head + 1 + comma && (comma == 0 || tokens.low(last) == ",") {
        name = (head + 1 + comma, last);
    }
    let end = if name.1 > name.0 {
        name.1 + usize::from(comma == 1 && tokens.low(name.1) == ",")
    } else {
        head + 1
    };
    Some(Possession { end, head, name, relation, plural })
}
