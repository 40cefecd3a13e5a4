//! The links between quotations of a view: the earlier one, and what was said later about it.

use std::cmp::Reverse;
use std::collections::HashSet;

use rustc_hash::FxHashMap;

use crate::engine::memory::view::UserView;
use crate::generate::links::{LINKED_ODDS, LINKED_ODDS_TO_ASSISTANT};
use crate::model::{FactLink, KeptSide, SemanticMemory};

/// The slots of an earlier and a later fact.
type SlotPair = (u32, u32);

/// The links of a view that are shown, without their words.
#[derive(Debug, Default)]
pub(crate) struct ShownLinks {
    /// In the order in which they were learned. If a message A was followed by B and B by C, a link
    /// of A with C is left out.
    pub pairs: Vec<SlotPair>,
    /// The links, with those left out above, by the slot of the message with the earlier words, the
    /// latest later words first.
    pub of_messages: FxHashMap<u32, Vec<SlotPair>>,
}

/// A link with its two facts.
pub(crate) struct LinkedFacts<'v> {
    pub old: &'v SemanticMemory,
    pub new: &'v SemanticMemory,
    pub link: &'v FactLink,
}

impl LinkedFacts<'_> {
    /// True if the user decided that the earlier words hold as they stand.
    pub fn is_settled(&self) -> bool {
        matches!(self.link.kept, Some(KeptSide::Old | KeptSide::Both))
    }

    /// The words of both sides: a part of each quotation. `None` if the log has another span.
    pub fn words(&self) -> Option<[&str; 2]> {
        Some([part(self.old, self.link.old_span)?, part(self.new, self.link.span)?])
    }
}

fn part(fact: &SemanticMemory, span: [u32; 2]) -> Option<&str> {
    let quote = fact.quote.as_deref()?;
    let [from, to] = span.map(|at| at.checked_sub(quote.span[0]));
    let byte = |at: u32| {
        let mut ends = quote.text.char_indices().map(|(byte, _)| byte).chain([quote.text.len()]);
        ends.nth(at as usize)
    };
    quote.text.get(byte(from?)?..byte(to?)?).filter(|words| !words.is_empty())
}

impl UserView {
    /// The links between facts that are there and not hidden, of messages that are surely about the
    /// same thing.
    pub fn shown_links(&self) -> &ShownLinks {
        self.shown_links.get_or_init(|| {
            let is_shown = |slot: &u32| !self.is_fact_hidden(*slot);
            let mut pairs: Vec<SlotPair> = Vec::new();
            for new in self.facts.current_slots().filter(is_shown) {
                let olds = self.linked.get(new).iter().filter_map(|old| self.facts.slot_of(*old));
                pairs.extend(olds.filter(is_shown).map(|old| (old, new)));
            }
            let mut pairs = self.surest_of_messages(&pairs);
            let of_messages = self.by_message(&pairs);
            let messages = |(old, new): SlotPair| (self.sources.get(old), self.sources.get(new));
            let known: HashSet<_> = pairs.iter().copied().map(messages).collect();
            let mut next: FxHashMap<&[u32], Vec<&[u32]>> = FxHashMap::default();
            known.iter().for_each(|(old, new)| next.entry(old).or_default().push(new));
            pairs.retain(|pair| {
                let (old, new) = messages(*pair);
                let mut between = next[old].iter().filter(|one| **one != new);
                !between.any(|one| known.contains(&(*one, new)))
            });
            ShownLinks { pairs, of_messages }
        })
    }

    /// The surest of the links between two messages, if all of them together are sure enough, and
    /// the links of other facts that are sure enough alone. One about which the user decided stays.
    fn surest_of_messages(&self, pairs: &[SlotPair]) -> Vec<SlotPair> {
        type Messages<'v> = (&'v [u32], &'v [u32]);
        let mut of_messages: FxHashMap<Messages<'_>, Vec<(f32, SlotPair)>> = FxHashMap::default();
        let mut sure: HashSet<SlotPair> = HashSet::new();
        for pair in pairs {
            let Some(linked) = self.linked_facts(*pair) else { continue };
            if linked.link.kept.is_some() {
                sure.insert(*pair);
            }
            let odds = linked.link.score / (1.0 - linked.link.score).max(f32::EPSILON);
            let messages = (self.sources.get(pair.0), self.sources.get(pair.1));
            of_messages.entry(messages).or_default().push((odds, *pair));
        }
        for ((_, later), mut links) in of_messages {
            let least = self.least_odds(later);
            links.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            if links.iter().map(|(odds, _)| odds).sum::<f32>() < least {
                continue;
            }
            let mut chosen: Vec<SlotPair> = Vec::new();
            for (odds, (old, new)) in links {
                let is_other = chosen.iter().all(|known| known.0 != old && known.1 != new);
                if is_other && (chosen.is_empty() || odds >= least) {
                    chosen.push((old, new));
                }
            }
            sure.extend(chosen);
        }
        pairs.iter().filter(|pair| sure.contains(pair)).copied().collect()
    }

    /// Least odds of a shown link whose later words are in these messages.
    fn least_odds(&self, messages: &[u32]) -> f32 {
        let is_by_assistant = |slot| self.messages.get(slot).is_agent();
        let is_to_assistant = |slot: &u32| {
            let beside = [self.messages.previous_slot(*slot), self.messages.next(*slot)];
            beside.into_iter().flatten().any(is_by_assistant)
        };
        if messages.iter().any(is_to_assistant) { LINKED_ODDS_TO_ASSISTANT } else { LINKED_ODDS }
    }

    fn by_message(&self, pairs: &[SlotPair]) -> FxHashMap<u32, Vec<SlotPair>> {
        let mut found: FxHashMap<u32, Vec<SlotPair>> = FxHashMap::default();
        for pair in pairs {
            for message in self.sources.get(pair.0) {
                found.entry(*message).or_default().push(*pair);
            }
        }
        let said = |pair: &SlotPair| {
            let message = self.sources.get(pair.1).first();
            message.map(|slot| (self.messages.get(*slot).timestamp, *slot))
        };
        found.values_mut().for_each(|pairs| pairs.sort_by_key(|pair| Reverse(said(pair))));
        found
    }

    /// A link with its facts; `None` if one of them is no quotation any more.
    pub fn linked_facts(&self, (old, new): SlotPair) -> Option<LinkedFacts<'_>> {
        let (old, new) = (self.facts.get(old)?, self.facts.get(new)?);
        let link = new.links.iter().find(|link| link.old == old.memory_id)?;
        (old.quote.is_some() && new.quote.is_some()).then_some(LinkedFacts { old, new, link })
    }
}
