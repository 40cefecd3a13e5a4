//! Packing the most evidence into a budget of tokens: whole messages under the day they were said
//! on, and statements where a message doesn't fit.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use super::ScoredMessage;
use crate::index::MessageIndex;
use crate::text::count_tokens;

/// How much better a message must be to be worth e times the tokens: `score - PRICE x ln(tokens)`
/// is what ranks.
const PRICE: f64 = 0.2;
/// Rounds in which tokens that were saved by leaving names out are spent.
const ROUNDS: usize = 4;
/// Messages considered beyond those that the budget could hold at a few tokens each.
const CONSIDERED: usize = 512;

/// A short text that can stand for messages which did not fit: a semantic memory or the summary of
/// an episode.
#[derive(Debug, Clone)]
pub struct Statement {
    /// What is written, one line.
    pub text: String,
    /// The messages it was made from.
    pub sources: Vec<u32>,
}

/// What was packed.
#[derive(Debug, Clone, Default)]
pub struct Packed {
    /// The text, ready for a prompt; at most the budget in tokens.
    pub text: String,
    /// Tokens of `text` (o200k_base).
    pub token_count: usize,
    /// The messages inside, in the order of the text.
    pub messages: Vec<u32>,
    /// Which of the statements are inside, by index.
    pub statements: Vec<usize>,
}

/// The day (on the speaker's own clock) and session a message stands under.
type Place = (jiff::civil::Date, Option<Arc<str>>);

/// A place in the order of the text: the day, when the first message of it was said, the session.
type Sitting = (jiff::civil::Date, crate::clock::Moment, Option<Arc<str>>);

/// Opens the list of statements.
const STATEMENTS: &str = "# Known\n";

/// Packs the best of `ranked` (best first) into `budget` tokens, then the best statements whose
/// messages did not fit.
pub fn pack(
    index: &MessageIndex,
    ranked: &[ScoredMessage],
    statements: &[Statement],
    budget: usize,
) -> Packed {
    Packing { index, statements, budget, header_tokens: count_tokens("# 30 November 2024, Wed\n") }
        .pack(ranked)
}

struct Packing<'a> {
    index: &'a MessageIndex,
    statements: &'a [Statement],
    budget: usize,
    header_tokens: usize,
}

impl Packing<'_> {
    fn pack(&self, ranked: &[ScoredMessage]) -> Packed {
        let mut wanted: Vec<(f64, u32, usize)> = ranked
            .iter()
            .take(CONSIDERED.max(self.budget / 8))
            .map(|message| {
                let cost = self.cost(message.slot);
                (message.score - PRICE * (cost as f64).ln(), message.slot, cost)
            })
            .collect();
        wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));

        let mut chosen: Vec<u32> = Vec::new();
        let mut inside: HashSet<u32> = HashSet::new();
        let mut places: BTreeSet<Place> = BTreeSet::new();
        let mut used = 0;
        for _ in 0..ROUNDS {
            let before = chosen.len();
            for (_, slot, cost) in &wanted {
                if used + cost > self.budget || inside.contains(slot) {
                    continue;
                }
                let place = self.place(*slot);
                let cost = if places.contains(&place) { *cost } else { cost + self.header_tokens };
                if used + cost <= self.budget {
                    used += cost;
                    places.insert(place);
                    inside.insert(*slot);
                    chosen.push(*slot);
                }
            }
            if chosen.len() == before {
                break;
            }
            // The exact count is lower: names are left out where the same person goes on.
            used = self.render(&chosen, &[]).token_count + 1;
        }
        let said = self.statements_that_fit(&inside, used);
        self.fit(chosen, said)
    }

    /// Statements, best first, that tell something of which not all messages are inside, as far as
    /// the budget goes.
    fn statements_that_fit(&self, inside: &HashSet<u32>, mut used: usize) -> Vec<usize> {
        let (mut said, mut lines) = (Vec::new(), BTreeSet::new());
        for (number, statement) in self.statements.iter().enumerate() {
            let told = !statement.sources.is_empty()
                && statement.sources.iter().all(|source| inside.contains(source));
            if told {
                continue;
            }
            let line = statement_line(&statement.text);
            let heading = if said.is_empty() { count_tokens(STATEMENTS) } else { 0 };
            let cost = count_tokens(&line) + heading;
            if used + cost <= self.budget && lines.insert(line) {
                used += cost;
                said.push(number);
            }
        }
        said
    }

    /// Counts the whole text and takes out what was chosen last until it fits: pieces may count
    /// differently together than alone.
    fn fit(&self, mut chosen: Vec<u32>, mut said: Vec<usize>) -> Packed {
        loop {
            let packed = self.render(&chosen, &said);
            if packed.token_count <= self.budget {
                return packed;
            }
            if said.pop().is_none() && chosen.pop().is_none() {
                return Packed::default();
            }
        }
    }

    fn cost(&self, slot: u32) -> usize {
        self.index.line_tokens(slot, || {
            let message = self.index.get(slot);
            count_tokens(&format!("{}: {}\n", message.speaker(), message.content))
        })
    }

    fn place(&self, slot: u32) -> Place {
        let message = self.index.get(slot);
        (message.timestamp.local().date(), message.session_id.clone())
    }

    fn render(&self, chosen: &[u32], said: &[usize]) -> Packed {
        let mut text = String::new();
        if !said.is_empty() {
            text.push_str(STATEMENTS);
            said.iter()
                .for_each(|number| text.push_str(&statement_line(&self.statements[*number].text)));
        }
        // Sessions stay together even where their times cross.
        let mut days: BTreeMap<Sitting, Vec<u32>> = BTreeMap::new();
        let mut starts: BTreeMap<Place, crate::clock::Moment> = BTreeMap::new();
        for slot in chosen {
            let time = self.index.get(*slot).timestamp;
            let start = starts.entry(self.place(*slot)).or_insert(time);
            *start = time.min(*start);
        }
        for slot in chosen {
            let place = self.place(*slot);
            days.entry((place.0, starts[&place], place.1)).or_default().push(*slot);
        }
        let mut messages = Vec::with_capacity(chosen.len());
        for ((date, ..), mut slots) in days {
            slots.sort_by_key(|slot| (self.index.get(*slot).timestamp, *slot));
            text.push_str(&format!("# {}\n", date.strftime("%-d %b %Y, %a")));
            let mut speaker = None;
            for slot in slots {
                let message = self.index.get(slot);
                if speaker != Some(message.speaker()) {
                    text.push_str(message.speaker());
                    text.push_str(": ");
                    speaker = Some(message.speaker());
                }
                text.push_str(&message.content);
                text.push('\n');
                messages.push(slot);
            }
        }
        text.truncate(text.trim_end_matches('\n').len());
        Packed { token_count: count_tokens(&text), text, messages, statements: said.to_vec() }
    }
}

fn statement_line(text: &str) -> String {
    format!("- {}\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
}
