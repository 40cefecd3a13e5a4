//! Relevance: the probability that a hit answers the question, 0 to 1, on one scale for all kinds.
//!
//! Two steps. First, how likely is it that any message answers the question: a logistic function
//! of six signs, such as how much better the best message of somebody else is than the best of the
//! person whom the question names. Then, how likely is a hit to be an answer: a logistic function
//! of its distance to the best message and of the first step. Both rise with the raw score, so the
//! order within a kind stays.
//!
//! `python -m evaluation.fit_relevance` fits the constants on labelled questions, some without an
//! answer in the conversation, some put to the wrong user.

use super::HitKind;

/// Stores smaller or larger than those that the constants were fitted on count as these, in
/// messages.
const SIZES: (f64, f64) = (100.0, 600.0);

/// Weight of the first step in the second.
const DOUBT: f64 = 2.245;

/// What tells whether a question is answered at all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerSigns {
    /// Raw score of the best message.
    pub best: f64,
    /// Its term `statement`, weighted.
    pub statement: f64,
    /// By how much words and meaning of the best message exceed those of the best message of a
    /// speaker whom the question names; 0 if it names none.
    pub gap: f64,
    /// The largest term `words` of a message, unweighted: share of the question in one window.
    pub words: f64,
    /// Words and subject of the best fact, weighted.
    pub fact: f64,
    /// Messages of the user.
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
    /// The probability that these signs give.
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

/// The relevance of a record, from its default score. Facts are compared with the question alone:
/// a search for facts ranks no messages. A doubt whether the question is answered weighs the same
/// for messages and episodes, so that it does not put one kind before the other.
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
