//! Relevance: the probability that a hit answers the question, 0 to 1, on one scale for all kinds.
//!
//! A logistic function maps each kind's raw score: `1 / (1 + exp(-(raw x score + best x best
//! message + constant)))`. The function rises with the raw score, so the order within a kind stays.
//! The best message's raw score shows how well the question is answered at all: the best message is
//! weak if the user's messages do not cover the topic.
//!
//! `python -m evaluation.fit_relevance` fits the constants on labelled questions: LoCoMo's, its
//! adversarial questions (without an answer in the conversation), and questions to the wrong user.

use super::HitKind;

/// A logistic function.
struct Logistic {
    raw: f64,
    best: f64,
    constant: f64,
}

const MESSAGE: Logistic = Logistic { raw: 3.516, best: -2.074, constant: -5.592 };
const FACT: Logistic = Logistic { raw: 2.809, best: 0.0, constant: -9.434 };
const EPISODE: Logistic = Logistic { raw: 6.967, best: 0.877, constant: -9.596 };

/// The relevance of a record, from its default score and the best message's score.
pub fn relevance(kind: HitKind, score: f64, best_message: f64) -> f64 {
    let Logistic { raw, best, constant } = match kind {
        HitKind::Message => MESSAGE,
        HitKind::Semantic => FACT,
        HitKind::Episodic => EPISODE,
    };
    1.0 / (1.0 + (-(raw * score + best * best_message + constant)).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_rises_with_the_score_and_stays_between_0_and_1() {
        for kind in [HitKind::Message, HitKind::Semantic, HitKind::Episodic] {
            let rising: Vec<f64> =
                (-20..60).map(|tenths| relevance(kind, f64::from(tenths) / 10.0, 3.0)).collect();
            assert!(rising.is_sorted() && rising[0] > 0.0 && rising[79] < 1.0, "{rising:?}");
        }
    }
}
