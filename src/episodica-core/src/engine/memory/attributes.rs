//! Facts by subject and attribute: finds the facts that a new fact may contradict, repeat or
//! extend.
//!
//! The lists are bounded, so that learning costs the same however much is known: for a person who
//! likes a thousand things, not all are compared. A candidate is compared with the newest facts of
//! its attribute, and with the newest of its own value (or the opposite). Only current facts count.

use std::hash::{Hash, Hasher};

use bytemuck::{Pod, Zeroable};
use rustc_hash::{FxHashMap, FxHasher};

use crate::generate::facts::FactCandidate;
use crate::generate::reconcile::{WordSignature, is_single_valued, known_value, subject_key};
use crate::index::ListColumn;
use crate::model::{SemanticMemory, block, map_of_lists_bytes};
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// The newest facts of one attribute, up to this number, are compared with a candidate. Attributes
/// with one value at a time have fewer facts.
const NEWEST: usize = 64;
/// The newest facts of one value, up to this number, are compared with a candidate.
const SAME_VALUE: usize = 16;

/// The content of a fact in numbers that are fast to compare. Hashes stand for words: a collision
/// only adds a fact to the comparison.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct StatedValue {
    attribute: u64,
    value: u64,
    /// 1 if the attribute has one value at a time.
    single_valued: u64,
    signature: WordSignature,
}

impl StatedValue {
    /// The value of a candidate with these words.
    pub fn by(candidate: &FactCandidate, words: WordSignature) -> Self {
        Self::new(&candidate.subject, &candidate.attribute, &candidate.value, words)
    }

    /// The value of a fact with these words.
    pub fn by_memory(fact: &SemanticMemory, words: WordSignature) -> Self {
        Self::new(&fact.subject, &fact.attribute, known_value(fact), words)
    }

    fn new(subject: &str, attribute: &str, value: &str, signature: WordSignature) -> Self {
        Self {
            attribute: if attribute.is_empty() { 0 } else { key(subject, attribute, "") },
            value: if attribute.is_empty() { 0 } else { key(subject, attribute, bare(value)) },
            single_valued: is_single_valued(attribute).into(),
            signature,
        }
    }

    /// True if the rules may reconcile the two. `false` means that they don't, unless the two
    /// differ only in case or punctuation: such facts are found by their text.
    pub fn may_concern(&self, other: &Self) -> bool {
        let same = self.attribute != 0 && self.attribute == other.attribute;
        same && (self.single_valued != 0 || self.value == other.value)
            || self.signature.may_nest(other.signature)
    }
}

/// Slots of facts by attribute and by value, oldest first.
#[derive(Default)]
pub(crate) struct AttributeIndex {
    attributes: FxHashMap<u64, Vec<u32>>,
    values: FxHashMap<u64, Vec<u32>>,
    /// By slot.
    stated: Vec<StatedValue>,
}

impl AttributeIndex {
    /// Adds a fact under its slot, the highest so far; `current` tells which slots hold current
    /// facts.
    pub fn put(&mut self, slot: u32, stated: StatedValue, current: impl Fn(u32) -> bool) {
        self.stated.resize(slot as usize, StatedValue::zeroed());
        self.stated.push(stated);
        if stated.attribute == 0 {
            return;
        }
        let lists = [
            (self.attributes.entry(stated.attribute).or_default(), NEWEST),
            (self.values.entry(stated.value).or_default(), SAME_VALUE),
        ];
        for (list, most) in lists {
            list.push(slot);
            if list.len() > 4 * most {
                list.retain(|slot| current(*slot));
                list.drain(..list.len().saturating_sub(2 * most));
            }
        }
    }

    /// True if the rules may reconcile the candidate with the fact in a slot.
    pub fn may_concern(&self, stated: &StatedValue, slot: u32) -> bool {
        self.stated.get(slot as usize).is_some_and(|known| stated.may_concern(known))
    }

    /// The slots of current facts about the same attribute that the rules may reconcile with the
    /// candidate, each once: the newest few, and those with the candidate's value.
    pub fn concerned(&self, stated: &StatedValue, current: impl Fn(u32) -> bool) -> Vec<u32> {
        let wanted = |slot| self.may_concern(stated, slot) && current(slot);
        let mut slots = Vec::new();
        if stated.attribute == 0 {
            return slots;
        }
        for (list, most) in [
            (self.attributes.get(&stated.attribute), NEWEST),
            (self.values.get(&stated.value), SAME_VALUE),
        ] {
            slots.extend(
                list.into_iter()
                    .flat_map(|list| list.iter().rev())
                    .copied()
                    .filter(|slot| wanted(*slot))
                    .take(most),
            );
        }
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    pub fn heap_bytes(&self) -> usize {
        let maps = [&self.attributes, &self.values]
            .map(|map| map_of_lists_bytes::<u64, u32>(map.capacity(), map.len()));
        maps.iter().sum::<usize>() + block(self.stated.capacity() * size_of::<StatedValue>())
    }

    pub fn pack(&self, packer: &mut ColumnPacker) {
        for map in [&self.attributes, &self.values] {
            let mut lists: Vec<(&u64, &Vec<u32>)> = map.iter().collect();
            lists.sort_unstable();
            packer.values(lists.iter().map(|(key, _)| **key));
            let mut slots = ListColumn::default();
            lists.iter().for_each(|(_, list)| slots.push(list.iter().copied()));
            slots.pack(packer);
        }
        packer.column(&self.stated);
    }

    pub fn unpack(unpacker: &mut ColumnUnpacker<'_>) -> Option<Self> {
        let mut map = || -> Option<FxHashMap<u64, Vec<u32>>> {
            let (keys, slots) = (unpacker.column::<u64>()?, ListColumn::unpack(unpacker)?);
            Some(
                keys.into_iter()
                    .zip(0..)
                    .map(|(key, number)| (key, slots.get(number).to_vec()))
                    .collect(),
            )
        };
        let (attributes, values, stated) = (map()?, map()?, unpacker.column::<StatedValue>()?);
        let known = |slot: &u32| (*slot as usize) < stated.len();
        let sound = attributes.values().chain(values.values()).flatten().all(known);
        sound.then_some(Self { attributes, values, stated })
    }

    /// One more than the highest slot added.
    pub fn slot_count(&self) -> usize {
        self.stated.len()
    }
}

/// A value without its negation.
fn bare(value: &str) -> &str {
    value.strip_prefix("not ").unwrap_or(value)
}

fn key(subject: &str, attribute: &str, value: &str) -> u64 {
    let mut hasher = FxHasher::default();
    let subject = subject_key(subject);
    if subject.is_ascii() {
        subject.bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()))
    } else {
        subject.to_lowercase().hash(&mut hasher)
    }
    (0xff_u8, attribute, value).hash(&mut hasher);
    hasher.finish() | 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::clock::Moment;
    use crate::generate::reconcile::{CandidateWords, FactDecision, apply};
    use crate::ids::Owner;
    use crate::model::{EventKind, MemoryKind};
    use crate::text::normalized;

    fn candidate(
        subject: &str,
        attribute: &str,
        value: &str,
        words: &[&str],
        day: i64,
    ) -> FactCandidate {
        FactCandidate {
            content: format!("{subject} {}.", words.join(" ")),
            kind: MemoryKind::Preference,
            confidence: 0.8,
            importance: 0.6,
            subject: subject.to_owned(),
            attribute: attribute.to_owned(),
            value: value.to_owned(),
            valid_from: Moment::new(day * 86_400_000_000, 0).unwrap(),
            said: Moment::new(day * 86_400_000_000, 0).unwrap(),
            source_messages: vec!["m1".to_owned()],
        }
    }

    fn any_candidate() -> impl Strategy<Value = FactCandidate> {
        let words = proptest::sample::subsequence(
            vec!["likes", "GREEN", "tea", "茶", "don’t", "İ", "ﬁsh", "not", "a", "very"],
            0..5,
        );
        let subject = proptest::sample::select(vec!["Ann", "ann", "Zoë", "ZOË", ""]);
        let attribute = proptest::sample::select(vec!["home", "likes", ""]);
        let value = proptest::sample::select(vec!["tea", "not tea", "lyon", ""]);
        (subject, attribute, value, words, 0..3_i64).prop_map(
            |(subject, attribute, value, words, day)| {
                candidate(subject, attribute, value, &words, day)
            },
        )
    }

    proptest! {
        #[test]
        fn whatever_the_rules_look_at_is_shown_to_them(
            new in any_candidate(), old in any_candidate(),
        ) {
            let add = FactDecision {
                event: EventKind::Add,
                target: None,
                content: None,
                reason: String::new(),
            };
            let owner = Owner::new("default", "alice").unwrap();
            let known = apply(&owner, &old, &add, &[], &["e1".to_owned()], old.valid_from)
                .records
                .remove(0);
            let text = normalized(&new.content);
            let same_text = text == normalized(&known.content);
            let stated = StatedValue::by_memory(&known, WordSignature::of(&known.content));
            prop_assert!(
                !CandidateWords::by(&new, &text).concerns(&known)
                    || same_text
                    || StatedValue::by(&new, WordSignature::of(&new.content))
                        .may_concern(&stated)
            );
        }
    }
}
