//! Explains a score as a tree: the relevance, its raw score, and named terms whose leaves sum to
//! the raw score bit for bit.

use std::fmt;

use serde::{Serialize, Serializer};

/// One named term of a score, with its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreTerm {
    /// What the term measures.
    pub name: &'static str,
    /// Contribution to the score. The value of a node with children is their sum in order, unless
    /// the node is a relevance.
    pub value: f64,
    /// How the value was derived.
    pub detail: TermDetail,
    /// The parts, if the term is a sum.
    pub children: Vec<ScoreTerm>,
}

/// How a term was derived. The text (`1.5 x 0.4300, words`) is formatted lazily, since a search
/// scores many more records than callers inspect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TermDetail {
    /// A remark; may be empty.
    Remark(&'static str),
    /// `weight x raw`.
    Product {
        /// The weight.
        weight: f64,
        /// The term before weighting.
        raw: f64,
        /// Description of the term; may be empty.
        measures: &'static str,
    },
    /// Part of a sum, with its share of the whole score.
    Share {
        /// Description of the term.
        measures: &'static str,
        /// 0 to 1.
        share: f64,
    },
    /// Computed from this raw score.
    Raw(f64),
}

impl fmt::Display for TermDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remark(remark) => f.write_str(remark),
            Self::Product { weight, raw, measures: "" } => write!(f, "{weight} x {raw:.4}"),
            Self::Product { weight, raw, measures } => {
                write!(f, "{weight} x {raw:.4}, {measures}")
            }
            Self::Share { measures, share } => write!(f, "{measures}, {share:.4} of the score"),
            Self::Raw(raw) => write!(f, "from a raw score of {raw:.4}"),
        }
    }
}

impl Serialize for TermDetail {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl ScoreTerm {
    /// A term without parts.
    pub(crate) fn leaf(name: &'static str, value: f64, remark: &'static str) -> Self {
        Self { name, value, detail: TermDetail::Remark(remark), children: Vec::new() }
    }

    /// `weight x raw`, with both numbers in the detail.
    pub fn weighted(name: &'static str, weight: f64, raw: f64) -> Self {
        Self::described(name, weight, raw, "")
    }

    /// `weight x raw`, with a description of the term.
    pub(crate) fn described(
        name: &'static str,
        weight: f64,
        raw: f64,
        measures: &'static str,
    ) -> Self {
        let detail = TermDetail::Product { weight, raw, measures };
        Self { name, value: weight * raw, detail, children: Vec::new() }
    }

    /// The relevance computed from a raw score: the only node that is not a sum.
    pub(crate) fn relevance(value: f64, raw: Self) -> Self {
        Self { name: "relevance", value, detail: TermDetail::Raw(raw.value), children: vec![raw] }
    }

    /// The raw score of a record: the sum of `children`, added in order.
    pub(crate) fn raw(children: Vec<ScoreTerm>) -> Self {
        Self::sum("raw", TermDetail::Remark(""), children)
    }

    /// The sum of `children`, added in order.
    pub fn sum(name: &'static str, detail: TermDetail, children: Vec<ScoreTerm>) -> Self {
        let value = children.iter().fold(0.0, |sum, child| sum + child.value);
        Self { name, value, detail, children }
    }

    /// The amount added to a record's score because it superseded a better match.
    pub(super) fn succession(gain: f64) -> Self {
        Self::leaf("succession", gain, "what it superseded matches better")
    }

    /// The amount added to a message's score because it is the newer of two that say the same.
    pub(super) fn newer(gain: f64) -> Self {
        Self::leaf("newer", gain, "says the same as a better match, later, with another value")
    }

    /// Adds `gain` as the last part. A score without parts first becomes a part itself.
    #[must_use]
    pub(super) fn raised(mut self, gain: f64) -> Self {
        let gain = Self::succession(gain);
        if self.children.is_empty() {
            return Self::raw(vec![self, gain]);
        }
        self.children.push(gain);
        Self::sum(self.name, self.detail, self.children)
    }

    /// Multiplies every value of the tree, to use it as a weighted part of a larger sum.
    #[must_use]
    pub fn scaled(mut self, weight: f64) -> Self {
        if self.children.is_empty() {
            self.value *= weight;
            return self;
        }
        let children = std::mem::take(&mut self.children)
            .into_iter()
            .map(|child| child.scaled(weight))
            .collect();
        Self::sum(self.name, self.detail, children)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_equals_its_parts_exactly() {
        let parts = vec![ScoreTerm::weighted("a", 0.1, 0.3), ScoreTerm::weighted("b", 0.7, 0.2)];
        let tree = ScoreTerm::raw(parts);
        assert_eq!(tree.value.to_bits(), (0.1_f64 * 0.3 + 0.7 * 0.2).to_bits());
        let scaled = tree.scaled(0.5);
        assert_eq!(
            scaled.value.to_bits(),
            (scaled.children[0].value + scaled.children[1].value).to_bits()
        );
    }

    #[test]
    fn details_are_texts_for_readers() {
        let detail = |term: ScoreTerm| term.detail.to_string();
        assert_eq!(detail(ScoreTerm::weighted("a", 0.1, 0.25)), "0.1 x 0.2500");
        let described = ScoreTerm::described("a", 2.5, 1.0, "words");
        assert_eq!(detail(described.clone()), "2.5 x 1.0000, words");
        assert_eq!(detail(ScoreTerm::relevance(0.5, described)), "from a raw score of 2.5000");
        let share = TermDetail::Share { measures: "narrative", share: 0.25 };
        assert_eq!(share.to_string(), "narrative, 0.2500 of the score");
        assert_eq!(detail(ScoreTerm::leaf("a", 1.0, "votes")), "votes");
    }
}
