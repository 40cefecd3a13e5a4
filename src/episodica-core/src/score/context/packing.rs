//! Choosing what goes into a context.

use std::collections::{BTreeSet, HashSet};

use super::form::Form;
use super::text::{KnownFact, Outdated, Place, Summary, Writer, Written};
use crate::clock::Zone;
use crate::index::MessageIndex;
use crate::score::ScoredMessage;
use crate::text::count_tokens;

/// How much better a message must be to be worth e times the tokens: `score - PRICE x ln(tokens)`
/// is what ranks.
const PRICE: f64 = 0.2;
/// Rounds in which tokens that were saved by leaving names out are spent.
const ROUNDS: usize = 4;
/// Messages considered beyond those that the budget could hold at a few tokens each.
const CONSIDERED: usize = 512;
/// The facts' share of a budget up to [`SMALL_BUDGET`] tokens. Of larger ones they get fewer
/// tokens: more and more of the messages that prove them are inside.
const FACT_SHARE: f64 = 0.25;
const SMALL_BUDGET: f64 = 400.0;

/// What a context is made of, each kind best first.
pub struct Material<'a> {
    /// All messages.
    pub index: &'a MessageIndex,
    /// Messages by how well they answer.
    pub messages: &'a [ScoredMessage],
    /// Facts that hold. Those from `asked` on are there only because they superseded what a message
    /// says.
    pub facts: &'a [KnownFact],
    /// How many of the facts answer the question.
    pub asked: usize,
    /// Messages that say what no longer holds.
    pub outdated: &'a Outdated,
    /// Summaries of episodes.
    pub summaries: &'a [Summary],
    /// How it is written.
    pub form: Form,
    /// In which dates are shown.
    pub zone: &'a Zone,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// The text, ready for a prompt; at most the budget in tokens.
    pub text: String,
    /// Tokens of `text` (o200k_base).
    pub token_count: usize,
    /// The messages inside, in the order of the text.
    pub messages: Vec<u32>,
    /// The facts inside, in the order of the text, by index.
    pub facts: Vec<usize>,
    /// The summaries inside, by index.
    pub summaries: Vec<usize>,
}

impl Packed {
    /// Nothing, as the form says it, if the budget has room for that.
    pub fn empty(form: Form, budget: usize) -> Self {
        let tokens = count_tokens(form.empty());
        if tokens > budget {
            return Self::default();
        }
        Self { text: form.empty().to_owned(), token_count: tokens, ..Self::default() }
    }
}

/// Packs the best of the material into `budget` tokens: facts as far as their share goes, messages,
/// then what else fits.
pub fn pack(material: &Material<'_>, budget: usize) -> Packed {
    let Material { index, facts, outdated, summaries, form, zone, .. } = *material;
    let writer = Writer { index, facts, summaries, outdated, form, zone };
    let fact_tokens = (0..facts.len()).map(|number| count_tokens(&writer.fact_line(number)));
    Packing {
        fact_tokens: fact_tokens.collect(),
        day_tokens: form.day_tokens(),
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

/// Tokens that facts get of a budget before messages do.
fn fact_tokens(budget: usize) -> usize {
    let budget = budget as f64;
    let of_small = FACT_SHARE * budget.min(SMALL_BUDGET);
    (of_small * (SMALL_BUDGET / budget).min(1.0).sqrt()) as usize
}

struct Packing<'a> {
    material: &'a Material<'a>,
    writer: Writer<'a>,
    budget: usize,
    day_tokens: usize,
    year_tokens: usize,
    fact_tokens: Vec<usize>,
    /// Messages, in the order in which they were chosen.
    chosen: Vec<u32>,
    inside: HashSet<u32>,
    /// Facts, likewise.
    known: Vec<usize>,
}

impl Packing<'_> {
    fn pack(mut self) -> Packed {
        let share = fact_tokens(self.budget);
        let wanted = self.wanted();
        let asked = 0..self.material.asked;
        self.add_facts(asked.clone(), share);
        for _ in 0..ROUNDS {
            let before = self.chosen.len();
            self.add_messages(&wanted);
            // What the messages tell now need not be said twice; the share goes to other facts.
            self.drop_told();
            let used = self.known_tokens();
            if used < share {
                self.add_facts(asked.clone(), share - used);
            }
            if self.chosen.len() == before {
                break;
            }
        }
        self.add_facts(asked, self.budget.saturating_sub(self.used()));
        let summaries = self.summaries();
        self.fit(summaries)
    }

    /// Messages by what they are worth for their tokens.
    fn wanted(&self) -> Vec<(u32, usize)> {
        let considered = CONSIDERED.max(self.budget / 8);
        let messages = self.material.messages.iter().take(considered);
        let mut wanted: Vec<(f64, u32, usize)> = messages
            .map(|message| {
                let tokens = self.writer.message_tokens(message.slot);
                (message.score - PRICE * (tokens as f64).ln(), message.slot, tokens)
            })
            .collect();
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0));
        wanted.into_iter().map(|(_, slot, tokens)| (slot, tokens)).collect()
    }

    /// Adds messages while they fit, each with the facts that superseded what it says.
    fn add_messages(&mut self, wanted: &[(u32, usize)]) {
        let mut used = self.used();
        let mut places: BTreeSet<Place> =
            self.chosen.iter().map(|slot| self.writer.place(*slot)).collect();
        for (slot, tokens) in wanted {
            if used + tokens > self.budget || self.inside.contains(slot) {
                continue;
            }
            let place = self.writer.place(*slot);
            let heading = if places.contains(&place) { 0 } else { self.day_tokens };
            let successors = self.missing_successors(*slot);
            let facts: usize =
                successors.iter().map(|number| self.fact_tokens[*number] + self.year_tokens).sum();
            if used + tokens + heading + facts <= self.budget {
                used += tokens + heading + facts;
                places.insert(place);
                self.inside.insert(*slot);
                self.chosen.push(*slot);
                self.known.extend(successors);
            }
        }
    }

    /// Facts that superseded what a message says and are not shown yet.
    fn missing_successors(&self, slot: u32) -> Vec<usize> {
        let successors = self.material.outdated.get(&slot).into_iter().flatten().copied();
        let mut missing: Vec<usize> =
            successors.filter(|number| !self.known.contains(number)).collect();
        missing.sort_unstable();
        missing.dedup();
        missing
    }

    /// Adds facts that are not told yet, best first, within `tokens`.
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

    /// True if the messages that prove a fact are inside and lack none of its numbers: a date that
    /// a fact resolves is worth saying again.
    fn is_told(&self, number: usize) -> bool {
        let fact = &self.material.facts[number];
        let sources = || fact.sources.iter();
        let content = |slot: u32| &self.material.index.get(slot).content;
        let numbers = || fact.text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty());
        !fact.sources.is_empty()
            && sources().all(|slot| self.inside.contains(slot))
            && numbers().all(|number| sources().any(|slot| content(*slot).contains(number)))
    }

    /// Removes facts that the messages tell, but for those that superseded what a message says.
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

    /// Tokens of the facts shown so far.
    fn known_tokens(&self) -> usize {
        let year = |number: &usize| self.writer.date(self.material.facts[*number].since).year();
        let years: HashSet<i16> = self.known.iter().map(year).collect();
        let facts: usize = self.known.iter().map(|number| self.fact_tokens[*number]).sum();
        facts + years.len() * self.year_tokens
    }

    /// Summaries, best first, of episodes of which not all messages are inside, as far as the
    /// budget goes.
    fn summaries(&self) -> Vec<usize> {
        let mut used = self.used();
        let (mut shown, mut lines) = (Vec::new(), HashSet::new());
        for (number, summary) in self.material.summaries.iter().enumerate() {
            if summary.sources.iter().all(|slot| self.inside.contains(slot)) {
                continue;
            }
            let line = self.writer.summary_line(number);
            let heading = if shown.is_empty() { self.material.form.summaries_tokens() } else { 0 };
            let tokens = count_tokens(&line) + heading;
            if used + tokens <= self.budget && lines.insert(line) {
                used += tokens;
                shown.push(number);
            }
        }
        shown
    }

    /// Tokens of what was chosen so far. The exact count is lower than the sum: names are left out
    /// where the same person goes on.
    fn used(&self) -> usize {
        if self.chosen.is_empty() && self.known.is_empty() {
            return self.material.form.frame_tokens();
        }
        self.writer.write(&self.known, &self.chosen, &[]).tokens + 1
    }

    /// Counts the whole text and takes out what was chosen last until it fits: pieces may count
    /// differently together than alone.
    fn fit(mut self, mut summaries: Vec<usize>) -> Packed {
        loop {
            let Written { text, tokens, messages, facts } =
                self.writer.write(&self.known, &self.chosen, &summaries);
            if tokens <= self.budget {
                return Packed { text, token_count: tokens, messages, facts, summaries };
            }
            let emptied = summaries.pop().is_none()
                && self.chosen.pop().is_none()
                && self.known.pop().is_none();
            if emptied {
                return Packed::empty(self.material.form, self.budget);
            }
        }
    }
}
