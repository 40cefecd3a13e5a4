//! Selects the content of a context.

use std::collections::{BTreeSet, HashSet};

use super::excerpt::{Parts, Sought};
use super::form::Form;
use super::text::{Excerpts, KnownFact, Outdated, Place, Summary, Writer, Written};
use crate::clock::Zone;
use crate::control::Control;
use crate::error::Result;
use crate::index::MessageIndex;
use crate::score::{Query, ScoredMessage, TokenTable};
use crate::text::count_tokens;

/// How much better a message must score to justify e times the tokens: messages are ranked by
/// `score - PRICE x ln(tokens)`.
const PRICE: f64 = 0.2;
/// Rounds of refilling: omitted names save tokens, and each round spends the tokens saved before.
const ROUNDS: usize = 4;
/// Messages considered beyond the number that could fit at a few tokens each.
const CONSIDERED: usize = 512;
/// The facts' share of a budget up to [`SMALL_BUDGET`] tokens. In larger budgets the share falls,
/// because the context includes more of the messages that prove the facts.
const FACT_SHARE: f64 = 0.25;
const SMALL_BUDGET: f64 = 400.0;
/// The best messages are quoted in part where they do not fit as a whole.
const BEST: usize = 3;
/// One of them counts as this part of the budget at most, and its excerpt gets as much, or all that
/// the others leave.
const EXCERPT_PART: usize = 3;
/// Characters of a token, about.
const TOKEN_CHARS: usize = 4;
/// Messages whose tokens are counted between two checks for an interruption.
const BETWEEN_CHECKS: usize = 64;

/// The candidates for a context, each kind best first.
pub struct Material<'a> {
    /// All messages.
    pub index: &'a MessageIndex,
    /// The question.
    pub query: &'a Query,
    /// Word-by-word comparison.
    pub table: &'a dyn TokenTable,
    /// Messages, ranked by how well they answer.
    pub messages: &'a [ScoredMessage],
    /// Current facts. Those at index `asked` and above are included only because they superseded
    /// the content of a message.
    pub facts: &'a [KnownFact],
    /// How many of the facts answer the question.
    pub asked: usize,
    /// Messages whose content was superseded.
    pub outdated: &'a Outdated,
    /// Summaries of episodes.
    pub summaries: &'a [Summary],
    /// The output format.
    pub form: Form,
    /// Time zone in which dates are shown.
    pub zone: &'a Zone,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// The text, ready for a prompt; never more tokens than the budget.
    pub text: String,
    /// Tokens of `text` (o200k_base).
    pub token_count: usize,
    /// The included messages, in the order of the text.
    pub messages: Vec<u32>,
    /// Those of them that are quoted in part.
    pub excerpts: Vec<u32>,
    /// The included facts, in the order of the text, by index.
    pub facts: Vec<usize>,
    /// The included summaries, by index.
    pub summaries: Vec<usize>,
}

impl Packed {
    /// The empty context of the format, if the budget has room for its frame.
    pub fn empty(form: Form, budget: usize) -> Self {
        let tokens = count_tokens(form.empty());
        if tokens > budget {
            return Self::default();
        }
        Self { text: form.empty().to_owned(), token_count: tokens, ..Self::default() }
    }
}

/// Packs the best candidates into `budget` tokens: facts up to their share, then messages, then
/// more facts and summaries.
///
/// # Errors
/// What `control` says when the caller gives up.
pub fn pack(material: &Material<'_>, budget: usize, control: &dyn Control) -> Result<Packed> {
    let Material { index, facts, outdated, summaries, form, zone, .. } = *material;
    let writer = Writer { index, facts, summaries, outdated, form, zone, control };
    let fact_tokens = (0..facts.len()).map(|number| writer.count(&writer.fact_line(number)));
    Packing {
        fact_tokens: fact_tokens.collect::<Result<_>>()?,
        day_tokens: [form.day_tokens(false), form.day_tokens(true)],
        year_tokens: form.year_tokens(),
        sought: Sought::new(material.query, index, material.table),
        material,
        writer,
        budget,
        chosen: Vec::new(),
        excerpts: Excerpts::default(),
        inside: HashSet::new(),
        known: Vec::new(),
    }
    .pack()
}

/// Tokens reserved for facts before messages are added.
fn fact_tokens(budget: usize) -> usize {
    let budget = budget as f64;
    let of_small = FACT_SHARE * budget.min(SMALL_BUDGET);
    (of_small * (SMALL_BUDGET / budget).min(1.0).sqrt()) as usize
}

/// A message that may enter a context.
struct Wanted {
    slot: u32,
    /// A lower bound if the whole message can't fit.
    tokens: usize,
    /// Whether an excerpt may stand for it.
    in_part: bool,
}

struct Packing<'a> {
    material: &'a Material<'a>,
    writer: Writer<'a>,
    sought: Sought<'a>,
    budget: usize,
    /// Tokens of a day heading without its year and with it.
    day_tokens: [usize; 2],
    year_tokens: usize,
    fact_tokens: Vec<usize>,
    /// The selected messages, in the order of selection.
    chosen: Vec<u32>,
    inside: HashSet<u32>,
    /// Of the selected messages, what is quoted of those that did not fit.
    excerpts: Excerpts,
    /// The selected facts, in the order of selection.
    known: Vec<usize>,
}

impl Packing<'_> {
    fn pack(mut self) -> Result<Packed> {
        let share = fact_tokens(self.budget);
        let wanted = self.wanted()?;
        let asked = 0..self.material.asked;
        self.add_facts(asked.clone(), share);
        for _ in 0..ROUNDS {
            let before = self.chosen.len();
            self.add_messages(&wanted)?;
            // The included messages already state some facts; other facts get their share.
            self.drop_told();
            let used = self.known_tokens();
            if used < share {
                self.add_facts(asked.clone(), share - used);
            }
            if self.chosen.len() == before {
                break;
            }
        }
        self.add_facts(asked, self.budget.saturating_sub(self.used()?));
        let summaries = self.summaries()?;
        self.fit(summaries)
    }

    /// Messages ranked by score for their tokens.
    fn wanted(&self) -> Result<Vec<Wanted>> {
        let considered = CONSIDERED.max(self.budget / 8);
        let messages = self.material.messages.iter().take(considered);
        let mut wanted: Vec<(f64, Wanted)> = messages
            .enumerate()
            .map(|(number, message)| {
                if number.is_multiple_of(BETWEEN_CHECKS) {
                    self.writer.control.check()?;
                }
                let tokens = self.writer.message_tokens(message.slot, self.budget)?;
                let part = self.budget / EXCERPT_PART;
                let in_part = number < BEST && tokens > part;
                let cost = if in_part && tokens > self.budget { part.max(1) } else { tokens };
                let worth = message.score - PRICE * (cost as f64).ln();
                Ok((worth, Wanted { slot: message.slot, tokens, in_part }))
            })
            .collect::<Result<_>>()?;
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(wanted.into_iter().map(|(_, wanted)| wanted).collect())
    }

    /// Adds messages while they fit, each with the facts that superseded its content; of the best,
    /// excerpts where they do not fit.
    fn add_messages(&mut self, wanted: &[Wanted]) -> Result<()> {
        let mut used = self.used()?;
        let mut places: BTreeSet<Place> =
            self.chosen.iter().map(|slot| self.writer.place(*slot)).collect();
        let mut years: HashSet<i16> = places.iter().map(|(day, _)| day.year()).collect();
        let all: usize = wanted.iter().map(|wanted| wanted.tokens).sum();
        for Wanted { slot, tokens, in_part } in wanted {
            let fits = used + tokens <= self.budget;
            if !(fits || *in_part) || self.inside.contains(slot) {
                continue;
            }
            let place = self.writer.place(*slot);
            let is_new_year = !years.contains(&place.0.year());
            let heading =
                if places.contains(&place) { 0 } else { self.day_tokens[usize::from(is_new_year)] };
            let successors = self.missing_successors(*slot);
            let facts: usize =
                successors.iter().map(|number| self.fact_tokens[*number] + self.year_tokens).sum();
            let left = self.budget.saturating_sub(used + heading + facts);
            let mut tokens = *tokens;
            if tokens > left && *in_part {
                // What the others leave, since they may need less than the budget.
                let spare = left.saturating_sub(all - tokens);
                let room = left.min(spare.max(self.budget / EXCERPT_PART));
                if let Some((parts, counted)) = self.excerpt(*slot, room, left)? {
                    self.excerpts.insert(*slot, parts);
                    tokens = counted;
                }
            }
            if tokens <= left {
                used += tokens + heading + facts;
                years.insert(place.0.year());
                places.insert(place);
                self.inside.insert(*slot);
                self.chosen.push(*slot);
                self.known.extend(successors);
            }
        }
        Ok(())
    }

    /// The parts of a message that match, in about `room` tokens, and their tokens; `None` if not
    /// even the best part fits into `left`.
    fn excerpt(&mut self, slot: u32, room: usize, left: usize) -> Result<Option<(Parts, usize)>> {
        let content = &self.material.index.get(slot).content;
        let compared = self.sought.compare(content, self.writer.control)?;
        let mut chars = TOKEN_CHARS * room;
        loop {
            let parts = compared.excerpt(chars);
            let tokens = self.writer.excerpt_tokens(slot, &parts)?;
            if tokens <= if chars > 0 { room } else { left } {
                return Ok((!parts.is_empty()).then_some((parts, tokens)));
            }
            if chars == 0 {
                return Ok(None);
            }
            chars = if chars > TOKEN_CHARS { chars * room / (tokens + 1) } else { 0 };
        }
    }

    /// True if the whole message is included.
    fn is_whole(&self, slot: u32) -> bool {
        self.inside.contains(&slot) && !self.excerpts.contains_key(&slot)
    }

    /// Facts that superseded the message's content and are not included yet.
    fn missing_successors(&self, slot: u32) -> Vec<usize> {
        let successors = self.material.outdated.get(&slot).into_iter().flatten().copied();
        let mut missing: Vec<usize> =
            successors.filter(|number| !self.known.contains(number)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Adds facts that no included message states, best first, within `tokens`.
    fn add_facts(&mut self, facts: std::ops::Range<usize>, mut tokens: usize) {
        let year = |number: usize| self.writer.date(self.material.facts[number].since).year();
        let mut years: HashSet<i16> = self.known.iter().map(|number| year(*number)).collect();
        let mut added = Vec::new();
        for number in facts {
            if self.known.contains(&number) || self.is_told(number) {
                continue;
            }
            let heading = if years.contains(&year(number)) { 0 } else { self.year_tokens };
            if self.fact_tokens[number] + heading <= tokens {
                tokens -= self.fact_tokens[number] + heading;
                years.insert(year(number));
                added.push(number);
            }
        }
        self.known.append(&mut added);
    }

    /// True if the messages that prove a fact are included and contain all of its numbers. A fact
    /// that resolves a relative date is worth repeating.
    fn is_told(&self, number: usize) -> bool {
        let fact = &self.material.facts[number];
        let sources = || fact.sources.iter();
        let content = |slot: u32| &self.material.index.get(slot).content;
        let numbers = || fact.text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
        !fact.sources.is_empty()
            && sources().all(|slot| self.is_whole(*slot))
            && numbers().all(|number| sources().any(|slot| content(*slot).contains(number)))
    }

    /// Removes facts that included messages state, except those that superseded a message's
    /// content.
    fn drop_told(&mut self) {
        let needed: HashSet<usize> = self
            .chosen
            .iter()
            .filter_map(|slot| self.material.outdated.get(slot))
            .flatten()
            .copied()
            .collect();
        let told: HashSet<usize> = self
            .known
            .iter()
            .copied()
            .filter(|number| !needed.contains(number) && self.is_told(*number))
            .collect();
        self.known.retain(|number| !told.contains(number));
    }

    /// Token count of the facts selected so far.
    fn known_tokens(&self) -> usize {
        let year = |number: &usize| self.writer.date(self.material.facts[*number].since).year();
        let years: HashSet<i16> = self.known.iter().map(year).collect();
        let facts: usize = self.known.iter().map(|number| self.fact_tokens[*number]).sum();
        facts + years.len() * self.year_tokens
    }

    /// Summaries, best first, of episodes whose messages are not all included, within the budget.
    fn summaries(&self) -> Result<Vec<usize>> {
        let mut used = self.used()?;
        let (mut shown, mut lines) = (Vec::new(), HashSet::new());
        for (number, summary) in self.material.summaries.iter().enumerate() {
            if summary.sources.iter().all(|slot| self.is_whole(*slot)) {
                continue;
            }
            let line = self.writer.summary_line(number);
            let heading = if shown.is_empty() { self.material.form.summaries_tokens() } else { 0 };
            let tokens = self.writer.count(&line)? + heading;
            if used + tokens <= self.budget && lines.insert(line) {
                used += tokens;
                shown.push(number);
            }
        }
        Ok(shown)
    }

    /// Token count of the selection so far. The exact count is lower than this sum: a name is
    /// omitted if the same speaker continues.
    fn used(&self) -> Result<usize> {
        if self.chosen.is_empty() && self.known.is_empty() {
            return Ok(self.material.form.frame_tokens());
        }
        Ok(self.writer.write(&self.known, &self.chosen, &[], &self.excerpts)?.tokens + 1)
    }

    /// Counts the whole text and removes the latest selections until it fits: pieces can have more
    /// tokens together than separately.
    fn fit(mut self, mut summaries: Vec<usize>) -> Result<Packed> {
        loop {
            let Written { text, tokens, messages, facts } =
                self.writer.write(&self.known, &self.chosen, &summaries, &self.excerpts)?;
            if tokens <= self.budget {
                let excerpts = messages.iter().copied();
                let excerpts = excerpts.filter(|slot| self.excerpts.contains_key(slot)).collect();
                return Ok(Packed {
                    text,
                    token_count: tokens,
                    messages,
                    excerpts,
                    facts,
                    summaries,
                });
            }
            let emptied = summaries.pop().is_none()
                && self.chosen.pop().is_none()
                && self.known.pop().is_none();
            if emptied {
                return Ok(Packed::empty(self.material.form, self.budget));
            }
        }
    }
}
