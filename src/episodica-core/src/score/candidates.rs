//! Chooses which of many messages are worth scoring in full, from every term except vector
//! similarity.

use std::cmp::Ordering;

use super::ParsedQuery;
use super::terms::{ANSWER, DATE, ROLE, SPEAKER, STATEMENT, TERMS, TermWeights, WORDS};
use crate::index::{LocalDay, MessageIndex, MessagePrior};

/// Deduction from a message's score, in proportion to the questions in it.
const STATEMENT_ASKING: f32 = 0.375;
/// Bonus for a message that contains a digit.
const STATEMENT_NUMBER: f32 = 0.075;
/// Bonus for a message that is surely worth a note, and deduction from small talk.
const STATEMENT_WORTH: f32 = 0.1;

/// Terms of a message other than words and meaning: speaker, time, role.
pub(super) struct MessageTerms<'a> {
    query: &'a ParsedQuery,
    /// Whether the question names the speaker, by speaker number.
    named: Vec<bool>,
    weights: [f32; TERMS.len()],
    /// Weight of the time term.
    time: f32,
}

impl<'a> MessageTerms<'a> {
    /// `named` states, for each speaker, whether the question names them.
    pub fn new(query: &'a ParsedQuery, named: Vec<bool>, weights: &TermWeights) -> Self {
        // All else being equal, the better answer states what is worth a note, times and numbers,
        // and asks nothing.
        Self {
            query,
            named,
            weights: weights.terms.map(|weight| weight as f32),
            time: if query.asks_when { 0.3 } else { 0.1 },
        }
    }

    /// The terms that need no vector comparison.
    pub fn terms(&self, prior: &MessagePrior) -> [f32; TERMS.len()] {
        let mut terms = [0.0; TERMS.len()];
        terms[SPEAKER] = flag(self.named[prior.speaker as usize]);
        terms[DATE] = self.query.date_match(prior.day);
        let told = &prior.features;
        terms[STATEMENT] = self.time * flag(told.tells_time)
            + STATEMENT_NUMBER * flag(told.has_number)
            + STATEMENT_WORTH * told.worth
            - STATEMENT_ASKING * told.question_share;
        terms[ANSWER] = prior.answers;
        terms[ROLE] = -flag(prior.by_agent);
        terms
    }

    /// Weighted sum of the word score and the terms that need no vector.
    pub fn promise(&self, prior: &MessagePrior, words: f32) -> f32 {
        let terms = self.terms(prior);
        let weighted = self.weights.iter().zip(terms).map(|(weight, term)| weight * term);
        self.weights[WORDS] * words + weighted.sum::<f32>()
    }

    /// Highest possible promise of a message that shares no word with the question.
    pub fn most(&self) -> f32 {
        let speaker = flag(self.named.contains(&true)) * self.weights[SPEAKER].abs();
        speaker + self.weights[DATE].abs() * self.query.most_date_match() + self.most_of_statement()
    }

    /// Slots, ascending, of messages whose promise may reach `least` without a shared word.
    pub fn promising(
        &'a self,
        priors: &'a [MessagePrior],
        least: f32,
    ) -> impl Iterator<Item = u32> + 'a {
        let rest = self.most_of_statement();
        // Consecutive messages often share a day, so the last day's value is cached.
        let mut today: Option<(LocalDay, f32)> = None;
        (0_u32..)
            .zip(priors)
            .filter(move |(_, prior)| {
                let date = match today {
                    Some((day, value)) if day == prior.day => value,
                    _ => {
                        let value = self.weights[DATE] * self.query.date_match(prior.day);
                        today = Some((prior.day, value));
                        value
                    }
                };
                self.weights[SPEAKER] * flag(self.named[prior.speaker as usize]) + date + rest
                    >= least
            })
            .map(|(slot, _)| slot)
    }

    fn most_of_statement(&self) -> f32 {
        self.weights[STATEMENT].abs()
            * (STATEMENT_ASKING + self.time + STATEMENT_NUMBER + STATEMENT_WORTH)
            + self.weights[ANSWER].abs()
            + self.weights[ROLE].abs()
    }
}

fn flag(yes: bool) -> f32 {
    if yes { 1.0 } else { 0.0 }
}

/// Collects the slots with the highest values. Ties go to the later message, then to the smaller
/// id, so the result does not depend on the order of arrival.
pub(super) struct BestSlots<'a> {
    index: &'a MessageIndex,
    kept: Vec<(f32, u32)>,
    wanted: usize,
    /// Lowest value that a slot needs to be kept.
    pub least: f32,
}

impl<'a> BestSlots<'a> {
    pub fn new(wanted: usize, index: &'a MessageIndex) -> Self {
        Self { index, kept: Vec::with_capacity(4 * wanted), wanted, least: f32::NEG_INFINITY }
    }

    pub fn push(&mut self, slot: u32, value: f32) {
        self.kept.push((value, slot));
        if self.kept.len() >= 4 * self.wanted {
            self.shrink();
        }
    }

    /// Recomputes `least`.
    pub(crate) fn shrink(&mut self) {
        if self.kept.len() >= self.wanted {
            let index = self.index;
            let order = |a: &(f32, u32), b: &(f32, u32)| {
                b.0.total_cmp(&a.0).then_with(|| later_first(index, a.1, b.1))
            };
            let (_, last, _) = self.kept.select_nth_unstable_by(self.wanted - 1, order);
            self.least = last.0;
            self.kept.truncate(self.wanted);
        }
    }

    /// Returns the slots, ascending.
    pub fn finish(mut self) -> Vec<u32> {
        self.shrink();
        let mut slots: Vec<u32> = self.kept.into_iter().map(|(_, slot)| slot).collect();
        slots.sort_unstable();
        slots
    }
}

/// Order of two messages of equal value.
pub(super) fn later_first(index: &MessageIndex, a: u32, b: u32) -> Ordering {
    let (a, b) = (index.get(a), index.get(b));
    b.timestamp.cmp(&a.timestamp).then_with(|| a.message_id.cmp(&b.message_id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing;
    use std::collections::BTreeSet;

    #[test]
    fn all_else_being_equal_what_is_worth_a_note_comes_before_talk() {
        let mut index = MessageIndex::default();
        let texts = [
            "My sister Nora has a bakery in the old town.",
            "Haha, you and your bakery!",
            "Is there a bakery?",
            "Ich bin jetzt Bäcker in der Bakery am Kanal.",
        ];
        for (number, text) in (0..).zip(texts) {
            index.add_message(
                testing::said(number, "user", None, "2024-03-11T09:00:00Z", text),
                &[],
            );
        }
        let table = crate::embed::StaticTable::shared();
        let query = ParsedQuery::new("bakery", &index, table);
        let weights = TermWeights::of(&crate::config::MemoryConfig::default(), true, &query);
        let terms = MessageTerms::new(&query, vec![false], &weights);
        let statement: Vec<f32> =
            index.priors().iter().map(|prior| terms.terms(prior)[STATEMENT]).collect();
        for told in [statement[0], statement[3]] {
            assert!(told > statement[1].max(statement[2]) + 0.05, "{statement:?}");
        }
        let bound = terms.most_of_statement();
        assert!(statement.iter().all(|value| value.abs() <= bound), "{statement:?}");
    }

    #[test]
    fn ties_go_to_the_later_message_whatever_the_order_of_arrival() {
        let hours = [3, 9, 1, 7, 5, 2, 8, 4, 6];
        for turn in 0..hours.len() {
            let mut index = MessageIndex::default();
            let mut arrivals = hours;
            arrivals.rotate_left(turn);
            for hour in arrivals {
                let when = format!("2024-03-11T0{hour}:00:00Z");
                index.add_message(testing::said(hour, "user", None, &when, "again"), &[]);
            }
            let mut best = BestSlots::new(2, &index);
            for (slot, hour) in (0..).zip(arrivals) {
                best.push(slot, if hour == 1 { 3.0 } else { 1.0 });
            }
            let hours = best.finish().into_iter().map(|slot| arrivals[slot as usize]);
            assert_eq!(hours.collect::<BTreeSet<u64>>(), BTreeSet::from([1, 9]));
        }
    }
}
