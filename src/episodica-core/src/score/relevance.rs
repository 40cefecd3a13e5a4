//! Relevance: the probability that a hit answers the question, 0 to 1, on one scale for all kinds.
//!
//! It is computed in two steps. The first gives the probability that anything answers the question:
//! a logistic function of four signs, such as how far the best message of other speakers exceeds
//! the best one of the person named in the question. The second gives the probability that a hit is
//! an answer: a logistic function of its distance to the best hit of its kind and of the first
//! step's result. Both rise with the raw score, so the order within a kind does not change.
//!
//! `python -m evaluation fit` fits the constants on labelled questions about several kinds of talk.
//! Some of these questions have no answer in the conversation; some are asked of another user's
//! memory. No sign is an absolute cosine, since each embedder has a scale of its own.

use super::HitKind;

/// Range of store sizes, in messages, that the constants were fitted on. Other sizes are clamped to
/// it.
const SIZES: (f64, f64) = (100.0, 600.0);

/// Weight of the first step's result in the second step. It is the same for every kind, so it
/// favours none of them.
const DOUBT: f64 = 1.562;

/// How far the best fact about others may exceed the best about the speakers named in a question.
/// A greater lead says that the talk does not answer the question.
const LEAD: f64 = 0.2;
/// How fast the probability falls with the lead.
const FALL: f64 = 7.0;

/// Fewest messages of a talk that tells what it lacks. A shorter one says a twentieth of what it
/// answers in other words, and people answer for each other there.
pub const TELLING_MESSAGES: usize = 300;

/// Probability that the talk answers a question of which the facts of others have such a `lead`;
/// below one half if it probably does not.
pub fn answered_at(lead: f64) -> f64 {
    logistic(FALL * (LEAD - lead))
}

fn logistic(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// Signs from which the first step estimates whether a question is answered at all.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AnswerSigns {
    /// The best message's term `statement`, weighted.
    pub statement: f64,
    /// How far words and meaning of the best message exceed those of the best message by a speaker
    /// named in the question; 0 if the question names no speaker.
    pub gap: f64,
    /// Weighted words, meaning and subject of the best fact, or weighted words of the best window
    /// of messages if that is more.
    pub evidence: f64,
    /// Number of the user's messages.
    pub messages: usize,
}

/// How well a question is answered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AnswerRelevance {
    /// Raw score of the best hit of the kind.
    best: f64,
    /// Logarithm of the probability that anything answers the question.
    likely: f64,
}

impl AnswerSigns {
    /// Estimates from these signs whether the question is answered, for hits of a kind of which the
    /// best has the raw score `best`.
    pub fn answered(&self, best: f64) -> AnswerRelevance {
        let (least, most) = SIZES;
        let size = (self.messages as f64).clamp(least, most).ln();
        let odds = -1.17 * self.gap + 2.038 * self.statement + 2.879 * self.evidence - 1.247 * size
            + 3.295;
        AnswerRelevance { best, likely: -(-odds).exp().ln_1p() }
    }
}

/// Relevance of a record with this default score.
pub fn relevance(kind: HitKind, score: f64, answered: &AnswerRelevance) -> f64 {
    let (slope, constant) = match kind {
        HitKind::Message => (2.979, -0.624),
        HitKind::Episodic => (5.521, -0.074),
        HitKind::Semantic => (2.623, -0.995),
    };
    let odds = slope * (score - answered.best) + DOUBT * answered.likely + constant;
    logistic(odds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relevance_rises_with_the_score_and_stays_between_0_and_1() {
        let answered =
            AnswerSigns { evidence: 2.0, messages: 300, ..AnswerSigns::default() }.answered(3.0);
        for kind in [HitKind::Message, HitKind::Semantic, HitKind::Episodic] {
            let of = |tenths: i32| relevance(kind, f64::from(tenths) / 10.0, &answered);
            let rising: Vec<f64> = (-20..60).map(of).collect();
            assert!(rising.is_sorted() && rising[0] > 0.0 && rising[79] < 1.0, "{rising:?}");
        }
    }

    #[test]
    fn questions_about_what_somebody_else_said_are_hardly_answered() {
        let own = AnswerSigns { statement: 0.4, evidence: 1.2, messages: 500, gap: 0.0 };
        let others = AnswerSigns { gap: 0.8, ..own };
        for kind in [HitKind::Message, HitKind::Semantic, HitKind::Episodic] {
            let top = |signs: AnswerSigns| relevance(kind, 3.5, &signs.answered(3.5));
            assert!(top(own) > 1.5 * top(others), "{} {}", top(own), top(others));
        }
        let small = AnswerSigns { messages: 3, ..own };
        assert_eq!(small.answered(1.0), AnswerSigns { messages: 100, ..own }.answered(1.0));
    }

    #[test]
    fn an_answer_is_probable_up_to_the_line() {
        let likely = [0.0, 0.19, 0.21, 2.0].map(answered_at);
        assert!(likely.is_sorted_by(|a, b| a > b) && likely[1] > 0.5 && likely[2] < 0.5);
        assert!(likely[3] > 0.0);
    }

    #[test]
    fn the_best_hit_of_a_well_answered_question_passes_a_threshold_of_a_tenth() {
        let signs = AnswerSigns { statement: 0.1, evidence: 3.0, messages: 300, gap: 0.0 };
        for kind in [HitKind::Message, HitKind::Semantic, HitKind::Episodic] {
            let of = |score| relevance(kind, score, &signs.answered(2.0));
            assert!(of(2.0) > 0.2 && of(0.0) < 0.05, "{} {}", of(2.0), of(0.0));
        }
    }
}
