//! Writing a statement: the words of a clause in the third person, with absolute dates.

use std::ops::Range;

use jiff::civil::Date;

use super::lexicon::{DANGLING, word};
use super::tokens::{Shape, Tokens};
use crate::generate::facts::RejectReason;
use crate::generate::facts::dates;
use crate::generate::facts::extract::Talk;
use crate::text::Language;
use crate::text::time::{Grain, TimeMention};

/// How the words of a clause are to be read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct View {
    /// The subject is a third person, to whom "his", "her" and "their" may refer.
    pub(super) third: bool,
    /// The subject was "we", and is told of the speaker alone.
    pub(super) company: bool,
    /// The clause tells of what is to come.
    pub(super) ahead: bool,
    /// The clause tells of one occasion, so that a bare weekday means one day.
    pub(super) dates: bool,
}

/// A piece of a statement, and the date that it mentions, if any.
#[derive(Debug, Clone, Default)]
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) mention: Option<TimeMention>,
}

/// Rewrites the tokens of `range` as told about `talk.speaker` by others.
///
/// # Errors
/// `Unresolved` where a pronoun has no referent among the words, `Vague` where the words break off.
pub(super) fn rewrite(
    tokens: &Tokens,
    range: Range<usize>,
    talk: &Talk,
    mentions: &[TimeMention],
    view: View,
) -> Result<Piece, RejectReason> {
    let today = talk.said.local().date();
    let mut piece = Piece::default();
    let mut index = range.start;
    let mut nouns = 0_usize;
    while index < range.end {
        let bytes = tokens.range(index);
        if let Some(mention) = mentions
            .iter()
            .find(|mention| mention.start <= bytes.start && bytes.start < mention.end)
        {
            let surface = &tokens.text()[mention.start..mention.end];
            let mention = &dates::meant(mention, surface, view.ahead, today);
            let after = tokens.at_byte(mention.end);
            // "Wednesday nights", "Tuesday meetings": which day of the week, not which day.
            let habit = !mention.confident
                && tokens.shape(after) == Shape::Word
                && after < range.end
                && !matches!(
                    tokens.low(after),
                    "at" | "in"
                        | "to"
                        | "for"
                        | "with"
                        | "and"
                        | "on"
                        | "from"
                        | "when"
                        | "after"
                        | "before"
                        | "while"
                        | "by"
                        | "near"
                        | "as"
                        | "of"
                        | "because"
                );
            if mention.relative && !habit && (mention.confident || view.dates) {
                let before = index
                    .checked_sub(1)
                    .filter(|_| index > range.start)
                    .map_or("", |before| tokens.low(before));
                push(&mut piece.text, " ", &dated(mention, before));
            } else {
                push(&mut piece.text, gap(tokens, index, &range), surface);
            }
            piece.mention = piece.mention.or(Some(*mention));
            index = tokens.at_byte(mention.end).max(index + 1);
            continue;
        }
        if view.company && tokens.low(index) == "together"
            || index + 1 == range.end
                && index > range.start
                && matches!(tokens.low(index), "too" | "though" | "lol" | "haha")
        {
            index += 1;
            continue;
        }
        let step = replace(tokens, index, &range, talk, nouns, view)?;
        let (text, taken) = step;
        push(&mut piece.text, gap(tokens, index, &range), &text);
        // A referent for later pronouns: what "a", a possessive or a capital letter presents as a
        // thing or person.
        let presented = index > range.start
            && matches!(
                tokens.low(index - 1),
                "a" | "an" | "my" | "our" | "some" | "two" | "three"
            );
        nouns += usize::from(presented || tokens.is_capital(index) && index > 0);
        index += taken;
    }
    let last = piece.text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    if word(&last).class.has(DANGLING) {
        return Err(RejectReason::Vague);
    }
    Ok(piece)
}

/// The text for one token (or several): itself, or what stands for it in the third person.
fn replace(
    tokens: &Tokens,
    index: usize,
    range: &Range<usize>,
    talk: &Talk,
    nouns: usize,
    view: View,
) -> Result<(String, usize), RejectReason> {
    let word = tokens.low(index);
    let next = tokens.low(index + 1);
    let other = || talk.other.clone().ok_or(RejectReason::Unresolved);
    let before = index
        .checked_sub(1)
        .filter(|_| index > range.start)
        .map_or("", |before| tokens.low(before));
    let text = match word {
        "i" | "we" => {
            let (verb, taken) = match next {
                "'m" | "am" => (" are", 2),
                "was" => (" were", 2),
                _ => ("", 1),
            };
            return Ok((format!("they{verb}"), taken));
        }
        "me" | "us" => "them".to_owned(),
        "my" | "our" => "their".to_owned(),
        "mine" | "ours" => "theirs".to_owned(),
        "myself" | "ourselves" => "themselves".to_owned(),
        "you"
            if matches!(
                next,
                "can"
                    | "have"
                    | "need"
                    | "get"
                    | "do"
                    | "are"
                    | "'re"
                    | "know"
                    | "guys"
                    | "all"
                    | "ca"
                    | "should"
                    | "must"
            ) =>
        {
            return Err(RejectReason::Unresolved);
        }
        "you" => other()?,
        "your" => format!("{}'s", other()?),
        "yours" | "yourself" | "y'all" | "ya" | "u" => return Err(RejectReason::Unresolved),
        "he" | "she" | "it" | "they" | "him" | "them" | "its" | "her" | "his" | "their"
        | "hers" | "theirs" | "itself" | "himself" | "herself" | "themselves" => {
            let referent =
                nouns >= 1 && !matches!(before, "love" | "like") && index > range.start + 1
                    || view.third && matches!(word, "his" | "her" | "their" | "its");
            if !referent {
                return Err(RejectReason::Unresolved);
            }
            tokens.raw(index).to_owned()
        }
        "each" if view.company && next == "other" => return Err(RejectReason::Unresolved),
        "this" | "these" | "those" => return Err(RejectReason::Unresolved),
        "here" => return Err(RejectReason::Unresolved),
        "there" if nouns < 1 => return Err(RejectReason::Unresolved),
        "that"
            if nouns == 0
                || index + 1 >= range.end
                || matches!(
                    before,
                    "of" | "about"
                        | "for"
                        | "with"
                        | "in"
                        | "at"
                        | "on"
                        | "like"
                        | "from"
                        | "after"
                        | "before"
                ) =>
        {
            return Err(RejectReason::Unresolved);
        }
        "one" | "ones" if index + 1 >= range.end => return Err(RejectReason::Unresolved),
        _ => tokens.raw(index).to_owned(),
    };
    Ok((text, 1))
}

/// The absolute date in words, with the preposition it needs after the word `before`.
pub(super) fn dated(mention: &TimeMention, before: &str) -> String {
    let words = dates::describe(mention, Language::English);
    if dates::is_vague(mention) {
        return words;
    }
    let governed = matches!(
        before,
        "on" | "in"
            | "at"
            | "since"
            | "until"
            | "till"
            | "by"
            | "from"
            | "for"
            | "before"
            | "after"
            | "of"
            | "during"
            | "to"
            | "around"
            | "the"
            | "over"
    );
    if governed {
        return words;
    }
    match mention.grain {
        Grain::Day | Grain::Weekend
            if mention.from == mention.to || mention.grain == Grain::Weekend =>
        {
            format!("on {words}")
        }
        Grain::Day => format!("from {words}"),
        _ => format!("in {words}"),
    }
}

/// The first day a mention means, if the clause dates what happened.
pub(super) fn held_from(mention: &TimeMention, today: Date) -> Option<Date> {
    (!dates::is_vague(mention) && mention.from <= today).then_some(mention.from)
}

fn gap<'a>(tokens: &'a Tokens, index: usize, range: &Range<usize>) -> &'a str {
    if index == range.start { "" } else { tokens.gap(index) }
}

fn push(text: &mut String, gap: &str, more: &str) {
    if !text.is_empty() && !gap.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}
