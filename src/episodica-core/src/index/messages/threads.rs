//! Threads of conversation: the neighbours of each message, and their weights in its scores.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use bytemuck::{Pod, Zeroable};

use super::MessageIndex;
use crate::model::Message;

/// Marks a missing neighbour.
pub(super) const NONE: u32 = u32::MAX;

/// Weights of the messages in a window, from three before to two after: earlier messages explain a
/// turn better than later ones.
const WINDOW: [f32; 6] = [0.25, 0.5, 0.75, 1.4, 0.5, 0.25];
const BEFORE: usize = 3;
/// Weight of the message itself.
pub const OWN_WEIGHT: f32 = WINDOW[BEFORE];
const AFTER: usize = 2;

/// Weights of neighbours in a message's similarity, from two before to one after; the message's own
/// weight is 1.
const DENSE_WINDOW: [f32; 4] = [0.2, 0.4, 1.0, 0.2];
/// Factor for neighbours that a program wrote.
const AGENT_NEIGHBOUR: f32 = 0.25;
const DENSE_BEFORE: usize = 2;

/// Messages without a session that are further apart than this are not neighbours: they belong to
/// conversations at different times of the day.
const THREAD_GAP_SECONDS: f64 = 6.0 * 3600.0;

/// The neighbours of a message in its thread.
#[derive(Debug)]
pub(super) struct ThreadPlace {
    pub previous: u32,
    pub next: u32,
    /// Token count of the message as a line of a context, computed on first use; 0 = not yet.
    pub line_tokens: AtomicU32,
}

/// Position of a message's neighbours, in one byte. Neighbours are usually adjacent slots, so
/// walking along a thread reads little memory.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ThreadLinks(pub u8);

impl ThreadLinks {
    pub const PREVIOUS_BESIDE: u8 = 1;
    pub const PREVIOUS_AFAR: u8 = 2;
    pub const NEXT_BESIDE: u8 = 4;
    pub const NEXT_AFAR: u8 = 8;

    /// Takes the links of the previous message, of the message, and of the next two. True if the
    /// two messages before it and the three after it are all in adjacent slots.
    fn are_beside(links: [Self; 4]) -> bool {
        const WANTED: u32 = u32::from_le_bytes([
            ThreadLinks::PREVIOUS_BESIDE,
            ThreadLinks::PREVIOUS_BESIDE | ThreadLinks::NEXT_BESIDE,
            ThreadLinks::NEXT_BESIDE,
            ThreadLinks::NEXT_BESIDE,
        ]);
        u32::from_le_bytes(links.map(|links| links.0)) & WANTED == WANTED
    }
}

impl MessageIndex {
    /// Makes two messages neighbours in their thread.
    pub(super) fn connect_neighbours(&mut self, before: u32, after: u32) {
        let beside = before + 1 == after;
        self.rows[before as usize].next = after;
        self.links[before as usize].0 |=
            if beside { ThreadLinks::NEXT_BESIDE } else { ThreadLinks::NEXT_AFAR };
        self.rows[after as usize].previous = before;
        self.links[after as usize].0 |=
            if beside { ThreadLinks::PREVIOUS_BESIDE } else { ThreadLinks::PREVIOUS_AFAR };
    }

    /// The first of these slots whose message has no session, if `message` has none either.
    pub(super) fn first_sessionless(
        &self,
        message: &Message,
        mut slots: impl Iterator<Item = u32>,
    ) -> Option<u32> {
        if message.session_id.is_some() {
            return None;
        }
        slots.find(|slot| self.has_message(*slot) && self.get(*slot).session_id.is_none())
    }

    /// Calls `visit` with every message whose window contains `slot`, and with the weight of `slot`
    /// in that window.
    pub(crate) fn for_each_window(&self, slot: u32, mut visit: impl FnMut(u32, f32)) {
        visit(slot, WINDOW[BEFORE]);
        let mut later = self.next(slot);
        for distance in 1..=BEFORE {
            let Some(neighbour) = later else { break };
            visit(neighbour, WINDOW[BEFORE - distance]);
            later = self.next(neighbour);
        }
        let mut earlier = self.previous_slot(slot);
        for distance in 1..=AFTER {
            let Some(neighbour) = earlier else { break };
            visit(neighbour, WINDOW[BEFORE + distance]);
            earlier = self.previous_slot(neighbour);
        }
    }

    /// Calls `visit` with every message in the window of `slot`.
    pub(crate) fn for_each_lender(&self, slot: u32, mut visit: impl FnMut(u32)) {
        visit(slot);
        let earlier =
            std::iter::successors(self.previous_slot(slot), |slot| self.previous_slot(*slot));
        let later = std::iter::successors(self.next(slot), |slot| self.next(*slot));
        earlier.take(BEFORE).chain(later.take(AFTER)).for_each(visit);
    }

    /// Adds `amount`, weighted, to the `sums` of all messages whose window contains `slot`; calls
    /// `tell` with the ranges of these slots.
    pub(crate) fn lend_to_windows(
        &self,
        slot: u32,
        amount: f32,
        sums: &mut [f32],
        mut tell: impl FnMut(Range<usize>),
    ) {
        let at = slot as usize;
        // Most threads are contiguous, so the neighbours are in adjacent slots.
        let links = at.checked_sub(1).and_then(|before| self.links.get(before..)?.first_chunk());
        let around =
            at.checked_sub(AFTER).and_then(|first| sums.get_mut(first..)?.first_chunk_mut());
        if let (Some(links), Some(around)) = (links, around)
            && ThreadLinks::are_beside(*links)
        {
            let around: &mut [f32; WINDOW.len()] = around;
            for (sum, share) in around.iter_mut().zip(WINDOW.iter().rev()) {
                *sum += share * amount;
            }
            return tell(at - AFTER..at + BEFORE + 1);
        }
        self.for_each_window(slot, |slot, share| {
            sums[slot as usize] += share * amount;
            tell(slot as usize..slot as usize + 1);
        });
    }

    /// The message said before this one in the same thread.
    pub(crate) fn previous_slot(&self, slot: u32) -> Option<u32> {
        match self.links[slot as usize].0 {
            links if links & ThreadLinks::PREVIOUS_BESIDE != 0 => Some(slot - 1),
            links if links & ThreadLinks::PREVIOUS_AFAR != 0 => {
                Some(self.rows[slot as usize].previous)
            }
            _ => None,
        }
    }

    /// The message said after this one in the same thread.
    pub fn next(&self, slot: u32) -> Option<u32> {
        match self.links[slot as usize].0 {
            links if links & ThreadLinks::NEXT_BESIDE != 0 => Some(slot + 1),
            links if links & ThreadLinks::NEXT_AFAR != 0 => Some(self.rows[slot as usize].next),
            _ => None,
        }
    }

    /// Weighted mean of `value` over a message and its neighbours, as far as these exist. The
    /// message itself weighs most; the neighbours' weights are multiplied by `share`.
    pub(crate) fn smooth_value(&self, slot: u32, share: f32, value: impl Fn(u32) -> f32) -> f32 {
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut add = |neighbour: u32, worth: f32| {
            let by_agent = neighbour != slot && self.priors[neighbour as usize].by_agent;
            let worth = if by_agent { AGENT_NEIGHBOUR * worth } else { worth };
            sum += worth * value(neighbour);
            weight += worth;
        };
        add(slot, DENSE_WINDOW[DENSE_BEFORE]);
        let mut earlier = self.previous_slot(slot);
        for distance in 1..=DENSE_BEFORE {
            let Some(neighbour) = earlier else { break };
            add(neighbour, share * DENSE_WINDOW[DENSE_BEFORE - distance]);
            earlier = self.previous_slot(neighbour);
        }
        if let Some(neighbour) = self.next(slot) {
            add(neighbour, share * DENSE_WINDOW[DENSE_BEFORE + 1]);
        }
        sum / weight
    }
}

/// True if `after` continues the thread of `before`, the previous message with the same session or
/// without one.
pub(super) fn is_connected(before: &Message, after: &Message) -> bool {
    after.session_id.is_some()
        || after.timestamp.seconds_since(before.timestamp).abs() <= THREAD_GAP_SECONDS
}
