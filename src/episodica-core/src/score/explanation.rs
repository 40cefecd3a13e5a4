//! Explains a score: a relevance, and the raw score behind it as a tree of named terms whose leaves
//! sum to the raw score, bit for bit.

use serde::Serialize;

/// One named term of a score, with its parts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// What the term measures.
    pub name: String,
    /// The term's contribution to the score. A node with children has their sum in order, unless it
    /// is a relevance.
    pub value: f64,
    /// A readable derivation (`1.5 x 0.43`); may be empty.
    pub detail: String,
    /// The parts, if the term is a sum.
    pub children: Vec<Explanation>,
}

impl Explanation {
    /// A term without parts.
    pub(crate) fn leaf(name: impl Into<String>, value: f64, detail: impl Into<String>) -> Self {
        Self { name: name.into(), value, detail: detail.into(), children: Vec::new() }
    }

    /// `weight x raw`, with both numbers in the detail.
    pub fn weighted(name: impl Into<String>, weight: f64, raw: f64) -> Self {
        Self::leaf(name, weight * raw, format!("{weight} x {raw:.4}"))
    }

    /// `weight x raw`, with a description of what the term measures.
    pub(crate) fn described(name: &str, weight: f64, raw: f64, measures: &str) -> Self {
        Self::leaf(name, weight * raw, format!("{weight} x {raw:.4}, {measures}"))
    }

    /// The relevance computed from a raw score: the only node that is not a sum.
    pub(crate) fn relevance(value: f64, raw: Self) -> Self {
        let detail = format!("from a raw score of {:.4}", raw.value);
        Self { name: "relevance".to_owned(), value, detail, children: vec![raw] }
    }

    /// The sum of `children`, added in order.
    pub fn sum(
        name: impl Into<String>,
        detail: impl Into<String>,
        children: Vec<Explanation>,
    ) -> Self {
        let value = children.iter().fold(0.0, |sum, child| sum + child.value);
        Self { name: name.into(), value, detail: detail.into(), children }
    }

    /// The same tree with every value multiplied, for use as a weighted part of a larger sum.
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
        let tree = Explanation::sum(
            "score",
            "",
            vec![Explanation::weighted("a", 0.1, 0.3), Explanation::weighted("b", 0.7, 0.2)],
        );
        assert_eq!(tree.value.to_bits(), (0.1_f64 * 0.3 + 0.7 * 0.2).to_bits());
        let scaled = tree.scaled(0.5);
        assert_eq!(
            scaled.value.to_bits(),
            (scaled.children[0].value + scaled.children[1].value).to_bits()
        );
    }
}
