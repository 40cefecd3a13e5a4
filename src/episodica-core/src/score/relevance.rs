//! Relevance: the probability that a hit answers the question, 0 to 1, on one scale for every kind.
//!
//! Each kind's raw score goes through a logistic map, `1 / (1 + exp(-(raw x score + best x best
//! message + constant)))`. It rises with the raw score, so the order within a kind stays. The best
//! message's raw score says how well the question is answered at all: questions put to a user who
//! knows nothing of the matter have weak best messages.
//!
//! The constants are fitted by `python -m evaluation.fit_relevance` on labelled questions:
//! LoCoMo's, its adversarial ones (whose answer is not in the conversation), and questions put to
//! the wrong user.

use super::HitKind;

/// A logistic map.
struct Logistic {
    raw: f64,
    best: f64,
    constant: f64,
}

const MESSAGE: Logistic = Logistic { raw: 3.516, best: -2.074, constant: -5.592 };
const FACT: Logistic = Logistic { raw: 2.809, best: 0.0, constant: -9.434 };
const EPISODE: Logistic = Logistic { raw: 6.967, best: 0.877, constant: -9.596 };

/// The relevance of a record by its default score, with that of the best message.
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
