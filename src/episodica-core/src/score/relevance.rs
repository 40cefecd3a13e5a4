//! Relevance: the probability that a hit answers the question, 0 to 1, on one scale for all kinds.
//!
//! It is computed in two steps. The first gives the probability that any message answers the
//! question: a logistic function of six signs, such as how far the best message of other speakers
//! exceeds the best one of the person named in the question. The second gives the probability that
//! a hit is an answer: a logistic function of its distance to the best message and of the first
//! step's result. Both rise with the raw score, so the order within a kind does not change.
//!
//! `python -m evaluation fit` fits the constants on labelled questions. Some of these questions
//! have no answer in the conversation; some are asked of another user's memory.

use super::HitKind;

/// Range of store sizes, in messages, that the constants were fitted on. Other sizes are clamped to
/// it.
const SIZES: (f64, f64) = (100.0, 600.0);

/// Weight of the first step's result in the second step.
const DOUBT: f64 = 2.245;

/// Signs from which the first step estimates whether a question is answered at all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerSigns {
    /// Raw score of the best message.
    pub best: f64,
    /// The best message's term `statement`, weighted.
    pub statement: f64,
    /// How far words and meaning of the best message exceed those of the best message by a speaker
    /// named in the question; 0 if the question names no speaker.
    pub gap: f64,
    /// Highest `words` term of any message, unweighted: the share of the question in one window.
    pub words: f64,
    /// Weighted word and subject score of the best fact.
    pub fact: f64,
    /// Number of the user's messages.
    pub messages: usize,
}

/// How well a question is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerRelevance {
    /// Raw score of the best message.
    best: f64,
    /// Logarithm of the probability that any message answers the question.
    likely: f64,
}

impl AnswerSigns {
    /// Estimates from these signs whether the question is answered.
    pub fn answered(&self) -> AnswerRelevance {
        let (least, most) = SIZES;
        let size = (self.messages as f64).clamp(least, most).ln();
        let odds = 0.616 * self.best - 2.318 * self.gap
            + 3.232 * self.statement
            + 1.454 * self.words
            + 2.035 * self.fact
            - 1.835 * size
            + 7.169;
        AnswerRelevance { best: self.best, likely: -(-odds).exp().ln_1p() }
    }
}

/// Relevance of a record with this default score. Facts are compared with the question only, since
/// a search for facts ranks no messages. The probability that the question is answered has the same
/// weight for messages and episodes, so it does not favour either kind.
pub fn relevance(kind: HitKind, score: f64, answered: &AnswerRelevance) -> f64 {
    let odds = match kind {
        HitKind::Message => 3.342 * (score - answered.best) + DOUBT * answered.likely - 0.445,
        HitKind::Episodic => 5.668 * score + DOUBT * answered.likely - 5.17,
        HitKind::Semantic => 2.809 * score - 9.434,
    };
    1.0 / (1.0 + (-odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_rises_with_the_score_and_stays_between_0_and_1() {
        let answered =
            AnswerSigns { best: 3.0, messages: 300, ..AnswerSigns::default() }.answered();
        for kind in [HitKind::Message, HitKind::Semantic, HitKind::Episodic] {
            let of = |tenths: i32| relevance(kind, f64::from(tenths) / 10.0, &answered);
            let rising: Vec<f64> = (-20..60).map(of).collect();
            assert!(rising.is_sorted() && rising[0] > 0.0 && rising[79] < 1.0, "{rising:?}");
        }
    }

    #[test]
    fn questions_about_what_somebody_else_said_are_hardly_answered() {
        let own = AnswerSigns {
            best: 3.5,
            statement: 0.4,
            words: 0.6,
            fact: 1.0,
            messages: 500,
            gap: 0.0,
        };
        let others = AnswerSigns { gap: 0.8, ..own };
        let top = |signs: AnswerSigns| relevance(HitKind::Message, signs.best, &signs.answered());
        assert!(top(own) > 1.5 * top(others), "{} {}", top(own), top(others));
        let small = AnswerSigns { messages: 3, ..own };
        assert_eq!(small.answered(), AnswerSigns { messages: 100, ..own }.answered());
    }
}
