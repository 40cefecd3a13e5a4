//! A random sample of the messages, for estimates that would take too long over all of them.
//!
//! It consists of the messages whose ids have the smallest hashes. This is as good as a random
//! choice, does not depend on the order of arrival, and costs one comparison per update.

use super::MessageIndex;
use crate::text::hash::{fnv1a, mix};

/// Number of messages in the sample.
const SIZE: usize = 32;

/// The smallest hashes of ids with their slots, ascending.
#[derive(Debug, Default)]
pub(super) struct IdSample(Vec<(u64, u32)>);

impl IdSample {
    /// Adds a message if its hash is small enough.
    pub fn offer_message(&mut self, message_id: &str, slot: u32) {
        let offered = (mix(fnv1a(message_id.bytes())), slot);
        if self.0.len() == SIZE && self.0.last().is_some_and(|last| offered.0 >= last.0) {
            return;
        }
        let place = self.0.partition_point(|known| *known < offered);
        self.0.insert(place, offered);
        self.0.truncate(SIZE);
    }

    pub fn has_slot(&self, slot: u32) -> bool {
        self.0.iter().any(|known| known.1 == slot)
    }
}

impl MessageIndex {
    /// Slots of the sample, or of all messages if there are few, in an order that does not depend
    /// on the order of arrival.
    pub fn sampled_slots(&self) -> impl Iterator<Item = u32> {
        self.sample.0.iter().map(|(_, slot)| *slot)
    }

    /// Draws the sample anew.
    pub(super) fn draw_sample(&self) -> IdSample {
        let mut sample = IdSample::default();
        self.message_slots().for_each(|slot| sample.offer_message(self.ids.key_of(slot), slot));
        sample
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;

    #[test]
    fn the_same_messages_are_drawn_in_any_order_of_arrival_and_after_deletions() {
        let said = |n: u64| testing::said(n, "user", None, "2024-03-11T09:00:00Z", "text");
        let drawn = |order: &mut dyn Iterator<Item = u64>, gone: &[u64]| {
            let mut index = MessageIndex::default();
            order.for_each(|n| assert!(index.add_message(said(n), &[]).is_some()));
            for n in gone {
                index.remove_message(&said(*n).message_id).unwrap();
            }
            index.sampled_slots().map(|slot| index.get(slot).message_id.clone()).collect::<Vec<_>>()
        };
        let all = drawn(&mut (0..500), &[]);
        assert_eq!(all.len(), SIZE);
        assert_eq!(drawn(&mut (0..500).rev(), &[]), all);
        let gone: Vec<u64> = (100..400).collect();
        let left = drawn(&mut (0..100).chain(400..500), &[]);
        assert_eq!(drawn(&mut (0..500).rev(), &gone), left);
    }
}
