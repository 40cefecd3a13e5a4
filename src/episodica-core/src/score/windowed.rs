//! BM25 over the window of conversation around each message.
//!
//! A window is a record with weighted fields (BM25F: Robertson, Zaragoza and Taylor, 2004). Each
//! message contributes its term frequencies, normalised by its own length, so that a long answer
//! does not outweigh the short question before it.
//!
//! A common word is in many windows and says little. Once the question's rarer words set a bar that
//! a common word alone cannot reach, common words are counted only where they can decide (MaxScore:
//! Turtle and Flood, 1995). Scores that are needed are exact, so hits do not change.

use std::ops::Range;

use super::fusion::{for_each_reaching, reached_by};
use super::lexical::{BM25_K1, KnownTerm, weigh};
use super::query::QueryTerm;
use crate::index::{MessageIndex, OWN_WEIGHT, Posting};

/// Length normalisation of a message in a window.
const WINDOW_B: f32 = 0.7;
/// Factor for the contribution of messages by assistants and tools to their neighbours' windows:
/// such messages repeat what their neighbours say.
const AGENT_LENDS: f32 = 0.25;
/// A word is common if it is in at least one of this many messages. Rarer words are counted in all
/// messages.
const COMMON: usize = 64;
/// Upper bound of the rounding error of a score.
const ROUNDING: f32 = 1e-5;

/// Normalised BM25F score, 0 to 1, of each message's window.
pub struct WindowedWords<'a> {
    index: &'a MessageIndex,
    mean: f32,
    scores: Vec<f32>,
    /// Term frequency in each window while a term is counted; otherwise zeros.
    frequencies: Vec<f32>,
    /// Common terms, counted only for the slots in `exact`.
    left: Vec<KnownTerm<'a>>,
    exact: SlotSet,
}

impl<'a> WindowedWords<'a> {
    /// The score of every message.
    pub fn of_all(index: &'a MessageIndex, terms: &'a [QueryTerm]) -> Self {
        Self::new(index, terms, None)
    }

    /// Computes exact scores of at least the best `wanted` messages. Other scores may be too low
    /// but never too high, so they stay below the best; [`WindowedWords::complete`] makes them
    /// exact.
    pub fn of_best(index: &'a MessageIndex, terms: &'a [QueryTerm], wanted: usize) -> Self {
        Self::new(index, terms, Some(wanted))
    }

    fn new(index: &'a MessageIndex, terms: &'a [QueryTerm], wanted: Option<usize>) -> Self {
        let postings = &index.field.postings;
        let mut words = Self {
            index,
            mean: postings.mean_length(),
            scores: vec![0.0; postings.slot_count()],
            frequencies: vec![0.0; postings.slot_count()],
            left: Vec::new(),
            exact: SlotSet::default(),
        };
        let count = |form: &(&str, f32)| postings.term_postings(form.0).len();
        let known = weigh(postings, terms).into_iter();
        let mut known: Vec<(usize, KnownTerm<'_>)> =
            known.map(|term| (term.forms.iter().map(count).sum(), term)).collect();
        // A fixed order of terms, so that a sum has the same bits wherever it is computed.
        known.sort_by_key(|(occurrences, _)| *occurrences);
        let mut rest: f32 = known.iter().map(|(_, term)| term.worth).sum();
        let mut known = known.into_iter();
        while let Some((occurrences, term)) = known.next() {
            let wanted = wanted.filter(|_| occurrences > postings.slot_count() / COMMON);
            let others = known.as_slice().iter().map(|(occurrences, _)| occurrences).sum::<usize>();
            let decided =
                wanted.and_then(|wanted| words.within(rest, wanted, occurrences + others));
            if let Some(slots) = decided {
                words.left.push(term);
                words.left.extend(known.map(|(_, term)| term));
                words.exact = SlotSet::up_to(postings.slot_count());
                words.complete(slots.into_iter());
                break;
            }
            rest -= term.worth;
            words.count(&term);
        }
        words
    }

    /// Scores by slot; 0 for removed messages.
    pub fn scores(&self) -> &[f32] {
        &self.scores
    }

    /// Makes the scores of these slots exact.
    pub fn complete(&mut self, slots: impl Iterator<Item = u32>) {
        if !self.left.is_empty() {
            let slots: Vec<u32> = slots.filter(|slot| self.exact.insert(*slot)).collect();
            self.count_left(&slots);
        }
    }

    /// Makes all scores exact.
    pub fn complete_all(&mut self) {
        let exact: Vec<(u32, f32)> =
            self.exact.iter().map(|slot| (slot, self.scores[slot as usize])).collect();
        for term in std::mem::take(&mut self.left) {
            self.count(&term);
        }
        exact.into_iter().for_each(|(slot, score)| self.scores[slot as usize] = score);
    }

    /// The slots that may be among the best `wanted` if each gains at most `rest`; `None` if they
    /// are too many: then skipping the `occurrences` of the remaining terms saves nothing.
    fn within(&self, rest: f32, wanted: usize, occurrences: usize) -> Option<Vec<u32>> {
        let [reached] = reached_by(&self.scores, [wanted]);
        let least = reached - rest - ROUNDING;
        if least <= 0.0 {
            return None;
        }
        let mut slots = Vec::new();
        for_each_reaching(&self.scores, least, |slot, _| {
            slots.push(slot);
            least
        });
        (slots.len() < occurrences / 4).then_some(slots)
    }

    /// Counts a term in all windows.
    fn count(&mut self, KnownTerm { forms, worth }: &KnownTerm<'_>) {
        let mut touched = TouchedRanges::default();
        for (form, counts) in forms {
            for posting in self.index.field.postings.term_postings(form) {
                lend(self.index, self.mean, posting, *counts, &mut self.frequencies, &mut touched);
            }
        }
        for slots in touched.0 {
            let of_slots = self.scores[slots.clone()].iter_mut().zip(&mut self.frequencies[slots]);
            for (score, frequency) in of_slots {
                // `take` leaves zero, so a slot in two ranges is counted once.
                let tf = std::mem::take(frequency);
                *score += worth * tf / (tf + BM25_K1);
            }
        }
    }

    /// Counts the remaining terms in the windows of these slots.
    fn count_left(&mut self, slots: &[u32]) {
        let mut around = SlotSet::up_to(self.scores.len());
        for slot in slots {
            self.index.for_each_lender(*slot, |lender| {
                around.insert(lender);
            });
        }
        let mut touched = TouchedRanges::default();
        for KnownTerm { forms, worth } in &self.left {
            for (form, counts) in forms {
                let postings = self.index.field.postings.term_postings(form).iter();
                for posting in postings.filter(|posting| around.contain(posting.slot)) {
                    lend(
                        self.index,
                        self.mean,
                        posting,
                        *counts,
                        &mut self.frequencies,
                        &mut touched,
                    );
                }
            }
            for slot in slots.iter().map(|slot| *slot as usize) {
                let tf = self.frequencies[slot];
                self.scores[slot] += worth * tf / (tf + BM25_K1);
            }
            touched.0.drain(..).for_each(|slots| self.frequencies[slots].fill(0.0));
        }
    }
}

/// Adds a term's frequency in a message, normalised by the message's length, to the surrounding
/// windows.
fn lend(
    index: &MessageIndex,
    mean_length: f32,
    posting: &Posting,
    counts: f32,
    frequencies: &mut [f32],
    touched: &mut TouchedRanges,
) {
    let length = index.field.postings.term_count(posting.slot) as f32;
    let norm = 1.0 - WINDOW_B + WINDOW_B * length / mean_length;
    let own = counts * posting.frequency as f32 / norm;
    let by_agent = index.priors()[posting.slot as usize].by_agent;
    let lent = if by_agent { AGENT_LENDS * own } else { own };
    index.lend_to_windows(posting.slot, lent, frequencies, |slots| touched.add(slots));
    frequencies[posting.slot as usize] += OWN_WEIGHT * (own - lent);
}

/// Ranges of slots whose windows contain a term; they may overlap.
#[derive(Default)]
struct TouchedRanges(Vec<Range<usize>>);

impl TouchedRanges {
    fn add(&mut self, slots: Range<usize>) {
        match self.0.last_mut() {
            Some(last) if (last.start..=last.end).contains(&slots.start) => {
                last.end = last.end.max(slots.end);
            }
            _ => self.0.push(slots),
        }
    }
}

/// A set of slots.
#[derive(Default)]
struct SlotSet(Vec<u64>);

impl SlotSet {
    fn up_to(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    /// Inserts a slot; true if it is new.
    fn insert(&mut self, slot: u32) -> bool {
        let word = &mut self.0[slot as usize / 64];
        let before = std::mem::replace(word, *word | 1 << (slot % 64));
        before != *word
    }

    fn contain(&self, slot: u32) -> bool {
        self.0[slot as usize / 64] >> (slot % 64) & 1 == 1
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(&self.0).flat_map(|(word, bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| 64 * word + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::StaticTable;
    use crate::model::testing;
    use crate::score::ParsedQuery;

    /// A conversation in sessions that take turns, with words of all frequencies.
    fn talk(messages: u64) -> MessageIndex {
        const WORDS: [&str; 8] =
            ["tea", "kettle", "garden", "bridge", "violin", "harbour", "lantern", "walnut"];
        let mut index = MessageIndex::default();
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for number in 0..messages {
            let words: Vec<&str> =
                (0..1 + random(6)).map(|_| WORDS[(random(8) * random(8) / 8) as usize]).collect();
            let session = format!("s{}", random(3) * u64::from(random(10) == 0));
            let mut message = (*testing::said(
                number,
                "user",
                None,
                &format!("2024-03-11T09:{:02}:{:02}Z", number / 60 % 60, number % 60),
                &words.join(" "),
            ))
            .clone();
            message.session_id = Some(session.as_str().into());
            index.add_message(std::sync::Arc::new(message), &[]);
        }
        index
    }

    fn query(index: &MessageIndex, text: &str) -> ParsedQuery {
        ParsedQuery::new(text, index, StaticTable::shared())
    }

    #[test]
    fn where_common_words_are_skipped_the_best_are_those_that_counting_them_all_finds() {
        let mut index = talk(6_000);
        for number in (0..6_000).step_by(37) {
            let id = index.get(number).message_id.clone();
            index.remove_message(&id).unwrap();
        }
        let mut skipped = 0;
        for text in
            ["walnut tea", "lantern and kettle, tea", "Which instruments? tea walnut violin", "tea"]
        {
            let query = query(&index, text);
            let all = WindowedWords::of_all(&index, &query.terms);
            for wanted in [1, 20, 300] {
                let mut best = WindowedWords::of_best(&index, &query.terms, wanted);
                skipped += usize::from(!best.left.is_empty());
                let mut sorted = all.scores().to_vec();
                sorted.sort_unstable_by(|a, b| b.total_cmp(a));
                let last = sorted[wanted - 1];
                for (own, due) in best.scores().iter().zip(all.scores()) {
                    assert!(own.to_bits() == due.to_bits() || own < due && *own < last, "{text}");
                }
                let some = (0..6_000).step_by(101).chain([5, 6, 5]);
                best.complete(some.clone());
                for slot in some {
                    assert_eq!(best.scores()[slot as usize], all.scores()[slot as usize], "{text}");
                }
                best.complete_all();
                assert_eq!(best.scores(), all.scores(), "{text}");
            }
        }
        assert!(skipped >= 3, "{skipped}");
    }
}
