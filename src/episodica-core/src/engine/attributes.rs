//! Which memories state the same attribute of the same subject: what a new statement may contradict, repeat or extend.
//!
//! Bounded, so that learning costs the same whatever is known: somebody who likes a thousand things is not compared with all of them. A candidate
//! sees the newest memories of its attribute, and those with its own value (or the opposite of it) however old. Only current memories count.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::view::Table;
use crate::generate::reconcile::known_value;
use crate::model::SemanticMemory;

/// Memories of one attribute that a candidate is held against, the newest; attributes with one value at a time have fewer.
const NEWEST: usize = 64;
/// Memories of one value that a candidate is held against.
const SAME_VALUE: usize = 16;

/// Slots of memories by what they state, oldest first. Hashes stand for the words: a collision only shows a memory too many.
#[derive(Default)]
pub(super) struct Attributes {
    attributes: HashMap<u64, Vec<u32>>,
    values: HashMap<u64, Vec<u32>>,
}

impl Attributes {
    /// Takes in a memory under its slot, the highest so far.
    pub fn put(&mut self, slot: u32, facts: &Table<SemanticMemory>) {
        let Some(fact) = facts.get(slot).filter(|fact| !fact.attribute.is_empty()) else { return };
        let lists = [
            (self.attributes.entry(key(&fact.subject, &fact.attribute, "")).or_default(), NEWEST),
            (self.values.entry(key(&fact.subject, &fact.attribute, bare(known_value(fact)))).or_default(), SAME_VALUE),
        ];
        for (list, most) in lists {
            list.push(slot);
            if list.len() > 4 * most {
                list.retain(|slot| is_current(facts, *slot));
                list.drain(..list.len().saturating_sub(2 * most));
            }
        }
    }

    /// The slots of current memories that a statement may have to do with, each once.
    pub fn near(&self, subject: &str, attribute: &str, value: &str, facts: &Table<SemanticMemory>) -> Vec<u32> {
        if attribute.is_empty() {
            return Vec::new();
        }
        let newest = |list: Option<&Vec<u32>>, most| -> Vec<u32> {
            list.into_iter().flat_map(|list| list.iter().rev()).copied().filter(|slot| is_current(facts, *slot)).take(most).collect()
        };
        let mut slots = newest(self.attributes.get(&key(subject, attribute, "")), NEWEST);
        slots.extend(newest(self.values.get(&key(subject, attribute, bare(value))), SAME_VALUE));
        slots.sort_unstable();
        slots.dedup();
        slots
    }
}

fn is_current(facts: &Table<SemanticMemory>, slot: u32) -> bool {
    facts.get(slot).is_some_and(|fact| fact.is_current())
}

/// A value without its negation.
fn bare(value: &str) -> &str {
    value.strip_prefix("not ").unwrap_or(value)
}

fn key(subject: &str, attribute: &str, value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (subject, attribute, value).hash(&mut hasher);
    hasher.finish()
}
