//! Packing the most evidence into a budget of tokens: whole messages under the day they were said on, and statements where a message doesn't fit.

use std::collections::{BTreeMap, BTreeSet};

use super::ScoredMessage;
use crate::index::MessageIndex;
use crate::text::count_tokens;

/// How much a message must be better to be worth twice the tokens: `score - PRICE x ln(tokens)` is what ranks.
const PRICE: f64 = 0.15;
/// Messages considered.
const CONSIDERED: usize = 600;

/// A short text that can stand for messages which did not fit: a semantic memory or the summary of an episode.
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
type Place = (jiff::civil::Date, Option<std::sync::Arc<str>>);

/// Packs the best of `ranked` (best first) into `budget` tokens, then the best statements whose messages did not fit.
pub fn pack(index: &MessageIndex, ranked: &[ScoredMessage], statements: &[Statement], budget: usize) -> Packed {
    let mut wanted: Vec<(f64, u32, usize)> = ranked
        .iter()
        .take(CONSIDERED)
        .map(|message| {
            let cost = index.line_tokens(message.slot, || count_tokens(&line(index, message.slot)));
            (message.score - PRICE * (cost as f64).ln(), message.slot, cost)
        })
        .collect();
    wanted.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));

    let place = |slot: u32| -> Place { (index.get(slot).timestamp.local().date(), index.get(slot).session_id.clone()) };
    let mut headers: BTreeMap<Place, usize> = BTreeMap::new();
    let (mut chosen, mut used) = (Vec::new(), 0);
    for (_, slot, cost) in wanted {
        let place = place(slot);
        let header = match headers.get(&place) {
            Some(_) => 0,
            None => count_tokens(&header(&place)),
        };
        if used + cost + header <= budget {
            used += cost + header;
            *headers.entry(place).or_default() += 1;
            chosen.push(slot);
        }
    }
    let inside: BTreeSet<u32> = chosen.iter().copied().collect();
    let (mut said, mut lines) = (Vec::new(), BTreeSet::new());
    for (number, statement) in statements.iter().enumerate() {
        let told = !statement.sources.is_empty() && statement.sources.iter().all(|source| inside.contains(source));
        let line = statement_line(&statement.text);
        let heading = if said.is_empty() { count_tokens(STATEMENTS) } else { 0 };
        let cost = count_tokens(&line) + heading;
        if !told && used + cost <= budget && lines.insert(line) {
            used += cost;
            said.push(number);
        }
    }
    // The sum of the lines' tokens bounds the tokens of the text but for rare merges over line ends: count, and drop the last chosen if need be.
    loop {
        let packed = render(index, &chosen, statements, &said, place);
        if packed.token_count <= budget {
            return packed;
        }
        if said.pop().is_none() && chosen.pop().is_none() {
            return Packed::default();
        }
    }
}

/// Opens the list of statements.
const STATEMENTS: &str = "[Known]\n";

fn statement_line(text: &str) -> String {
    format!("- {}\n", text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn header((date, _): &Place) -> String {
    format!("[{}]\n", date.strftime("%a %d %b %Y"))
}

fn line(index: &MessageIndex, slot: u32) -> String {
    let message = index.get(slot);
    format!("{}: {}\n", message.speaker(), message.content)
}

fn render(index: &MessageIndex, chosen: &[u32], statements: &[Statement], said: &[usize], place: impl Fn(u32) -> Place) -> Packed {
    let mut messages = chosen.to_vec();
    messages.sort_by_key(|slot| (index.get(*slot).timestamp, *slot));
    let mut text = String::new();
    if !said.is_empty() {
        text.push_str(STATEMENTS);
        said.iter().for_each(|number| text.push_str(&statement_line(&statements[*number].text)));
    }
    let mut current = None;
    for slot in &messages {
        let place = place(*slot);
        if current.as_ref() != Some(&place) {
            text.push_str(&header(&place));
            current = Some(place);
        }
        text.push_str(&line(index, *slot));
    }
    text.truncate(text.trim_end().len());
    Packed { token_count: count_tokens(&text), text, messages, statements: said.to_vec() }
}
