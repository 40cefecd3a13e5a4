//! One sentence at a time: its clauses, their subjects, and the statements they make.

use std::cell::OnceCell;

use super::clauses::{Lead, begins_clause, end, headed, is_past, lead};
use super::lexicon::{COORDINATE, REPORTING};
use super::phrase::{Person, Phrase};
use super::tokens::Tokens;
use super::verbs::Form;
use super::{relations, states};
use crate::generate::facts::RejectReason;
use crate::generate::facts::extract::{Draft, Talk};
use crate::text::time::{TimeMention, mentions};

pub(super) type Found = Vec<Result<Draft, RejectReason>>;

/// The statements of a sentence.
pub(in crate::generate::facts) fn read(sentence: &str, talk: &Talk) -> Found {
    let mut found = Vec::new();
    if sentence.len() < 6 || !promising(sentence) {
        return found;
    }
    if sentence.trim_end_matches(['"', ')', '!']).ends_with('?') {
        found.push(Err(RejectReason::Question));
        return found;
    }
    let tokens = Tokens::new(sentence);
    let reader = Reader { tokens: &tokens, talk, dates: OnceCell::new() };
    if talk.agent {
        reader.about_user(&mut found);
        return found;
    }
    found.extend(relations::named(&tokens, talk).into_iter().map(Ok));
    let quoted = quotation(&tokens);
    let mut at = 0;
    let mut first = true;
    let mut carried: Option<(usize, usize)> = None;
    while at < tokens.len() {
        let lead = lead(&tokens, at);
        if lead.supposing {
            found.push(Err(RejectReason::Hypothetical));
            return found;
        }
        if (quoted.0..quoted.1).contains(&lead.start) {
            // Somebody else's words: whose "I" that is can't be told.
            at = quoted.1;
            continue;
        }
        // Without a comma only a date may stand before the subject: "this book I read" is no
        // report.
        let lead = Lead {
            adverbial: lead.adverbial.filter(|(from, to)| {
                tokens.low(to - 1) == "," || reader.mentioned(*from, *to).is_some()
            }),
            ..lead
        };
        if lead.start > at && lead.adverbial.is_none() && headed(&tokens, lead.start) {
            at = end(&tokens, lead.start + 1, false).max(lead.start + 1);
            continue;
        }
        let clause = match carried.take() {
            Some(before) if is_past(&tokens, lead.start) || tokens.is(lead.start, COORDINATE) => {
                reader.predicate(
                    reader.me(),
                    lead.start,
                    Person::Speaker,
                    lead.adverbial.or(Some(before)),
                )
            }
            _ => reader.clause(lead.start, lead.adverbial, first),
        };
        first = false;
        let speaks =
            matches!(tokens.low(lead.start), "i" | "we") || tokens.verb(lead.start).is_some();
        let next = match clause {
            Ok((next, draft)) => {
                if let Some(mut draft) = draft {
                    draft.confidence -= if lead.hedged { 0.15 } else { 0.0 };
                    found.push(Ok(draft));
                }
                carried = (speaks && tokens.low(next) == "and").then_some((lead.start, next));
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
                b'I' | b'i' => {
                    bytes.get(index + 1).is_none_or(|next| !next.is_ascii_alphanumeric())
                }
                b'm' | b'M' => {
                    sentence[index..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case("my"))
                }
                b'w' | b'W' => {
                    sentence[index..].get(..2).is_some_and(|word| word.eq_ignore_ascii_case("we"))
                }
                b'o' | b'O' => {
                    sentence[index..].get(..4).is_some_and(|word| word.eq_ignore_ascii_case("our "))
                }
                b'y' | b'Y' => {
                    sentence[index..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("you"))
                }
                b'l' | b'L' => {
                    sentence[index..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("let"))
                }
                b'd' | b'D' => sentence[index..]
                    .get(..9)
                    .is_some_and(|word| word.eq_ignore_ascii_case("decision:")),
                b'G' | b'J' | b'B' | b'V' | b'A' | b'S' | b'Q' | b'F' => index == 0,
                _ => false,
            }
    })
}

/// A sentence being read.
pub(super) struct Reader<'a> {
    pub(super) tokens: &'a Tokens,
    pub(super) talk: &'a Talk,
    dates: OnceCell<Vec<TimeMention>>,
}

pub(super) type Clause = Result<(usize, Option<Draft>), RejectReason>;

impl Reader<'_> {
    /// Reads the clause at `start`; gives the token at which the search goes on.
    pub(super) fn clause(
        &self,
        start: usize,
        adverbial: Option<(usize, usize)>,
        first: bool,
    ) -> Clause {
        let tokens = self.tokens;
        let skip = end(tokens, start + 1, false);
        let word = tokens.low(start);
        match word {
            "i" => self.predicate(self.me(), start + 1, Person::Speaker, adverbial),
            "we" => self.predicate(self.me(), start + 1, Person::Company, adverbial).map(
                |(next, draft)| {
                    (
                        next,
                        draft.map(|draft| Draft { confidence: draft.confidence - 0.05, ..draft }),
                    )
                },
            ),
            "my" | "our" => self.possessed(start, adverbial),
            "let" if tokens.low(start + 1) == "'s" => self.proposal(start, skip),
            "decision" if tokens.low(start + 1) == ":" => self.declared(start + 2),
            _ if self.joined(start).is_some() => {
                let next = self.joined(start).unwrap_or(start + 2);
                let label = format!("{} and {}", tokens.slice(start..next - 2), self.talk.speaker);
                self.predicate((label, self.talk.subject()), next, Person::Plural, adverbial)
            }
            _ if self.favourite_at(start, skip).is_some() => self.favourite(start, skip),
            _ if first && states::still(tokens, start) => self.elided_state(start, adverbial),
            _ if first && is_elided(tokens, start) => {
                self.predicate(self.me(), start, Person::Speaker, adverbial).map(|(next, draft)| {
                    (next, draft.map(|draft| Draft { confidence: draft.confidence - 0.1, ..draft }))
                })
            }
            _ => Ok((skip, None)),
        }
    }

    /// "Still a claims adjuster at Bellwether."
    fn elided_state(&self, start: usize, adverbial: Option<(usize, usize)>) -> Clause {
        let still = self.tokens.low(start - 1) == "still";
        let phrase = Phrase::copula(if still { "is still" } else { "is" }.to_owned(), start);
        self.state(self.me(), phrase, Person::Speaker, adverbial)
    }

    /// The token after "Leopold and I" or "Mum and me".
    fn joined(&self, start: usize) -> Option<usize> {
        let tokens = self.tokens;
        let and = (start + 1..start + 3)
            .find(|index| tokens.low(*index) == "and" && tokens.low(index + 1) == "i")?;
        (start..and).all(|index| tokens.is_capital(index)).then_some(and + 2)
    }

    /// The dates of the sentence, looked up once.
    pub(super) fn mentions(&self) -> &[TimeMention] {
        self.dates.get_or_init(|| mentions(self.tokens.text(), self.talk.said))
    }

    pub(super) fn me(&self) -> (String, String) {
        (self.talk.speaker.clone(), self.talk.subject())
    }
}

/// A sentence without subject that reads as the speaker's report: "Moved to Lyon last week."
fn is_elided(tokens: &Tokens, at: usize) -> bool {
    matches!(tokens.verb(at), Some((_, Form::Past)))
        && tokens.is(at, REPORTING)
        && tokens.low(at + 1) != "it"
        && !begins_clause(tokens, at)
}

/// The tokens between the first two quotation marks.
fn quotation(tokens: &Tokens) -> (usize, usize) {
    let mut marks =
        (0..tokens.len()).filter(|index| matches!(tokens.low(*index), "\"" | "“" | "”"));
    match (marks.next(), marks.next()) {
        (Some(open), Some(close)) => (open + 1, close),
        _ => (0, 0),
    }
}
