//! Selects the content of a context.

use std::collections::{BTreeSet, HashSet};

use super::form::Form;
use super::text::{KnownFact, Outdated, Place, Summary, Writer, Written};
use crate::clock::Zone;
use crate::control::Control;
use crate::error::Result;
use crate::index::MessageIndex;
use crate::score::ScoredMessage;
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
/// Messages whose tokens are counted between two checks for an interruption.
const BETWEEN_CHECKS: usize = 64;

/// The candidates for a context, each kind best first.
pub struct Material<'a> {
    /// All messages.
    pub index: &'a MessageIndex,
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
        material,
        writer,
        budget,
        chosen: Vec::new(),
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

struct Packing<'a> {
    material: &'a Material<'a>,
    writer: Writer<'a>,
    budget: usize,
    /// Tokens of a day heading without its year and with it.
    day_tokens: [usize; 2],
    year_tokens: usize,
    fact_tokens: Vec<usize>,
    /// The selected messages, in the order of selection.
    chosen: Vec<u32>,
    inside: HashSet<u32>,
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
    fn wanted(&self) -> Result<Vec<(u32, usize)>> {
        let considered = CONSIDERED.max(self.budget / 8);
        let messages = self.material.messages.iter().take(considered);
        let mut wanted: Vec<(f64, u32, usize)> = messages
            .enumerate()
            .map(|(number, message)| {
                if number.is_multiple_of(BETWEEN_CHECKS) {
                    self.writer.control.check()?;
                }
                let tokens = self.writer.message_tokens(message.slot, self.budget)?;
                Ok((message.score - PRICE * (tokens as f64).ln(), message.slot, tokens))
            })
            .collect::<Result<_>>()?;
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        Ok(wanted.into_iter().map(|(_, slot, tokens)| (slot, tokens)).collect())
    }

    /// Adds messages while they fit, each with the facts that superseded its content.
    fn add_messages(&mut self, wanted: &[(u32, usize)]) -> Result<()> {
        let mut used = self.used()?;
        let mut places: BTreeSet<Place> =
            self.chosen.iter().map(|slot| self.writer.place(*slot)).collect();
        let mut years: HashSet<i16> = places.iter().map(|(day, _)| day.year()).collect();
        for (slot, tokens) in wanted {
            if used + tokens > self.budget || self.inside.contains(slot) {
                continue;
            }
            let place = self.writer.place(*slot);
            let is_new_year = !years.contains(&place.0.year());
            let heading =
                if places.contains(&place) { 0 } else { self.day_tokens[usize::from(is_new_year)] };
            let successors = self.missing_successors(*slot);
            let facts: usize =
                successors.iter().map(|number| self.fact_tokens[*number] + self.year_tokens).sum();
            if used + tokens + heading + facts <= self.budget {
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
            && sources().all(|slot| self.inside.contains(slot))
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
            if summary.sources.iter().all(|slot| self.inside.contains(slot)) {
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
        Ok(self.writer.write(&self.known, &self.chosen, &[])?.tokens + 1)
    }

    /// Counts the whole text and removes the latest selections until it fits: pieces can have more
    /// tokens together than separately.
    fn fit(mut self, mut summaries: Vec<usize>) -> Result<Packed> {
        loop {
            let Written { text, tokens, messages, facts } =
                self.writer.write(&self.known, &self.chosen, &summaries)?;
            if tokens <= self.budget {
                return Ok(Packed { text, token_count: tokens, messages, facts, summaries });
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
