//! The features of a piece, gathered one after another.

use super::layout::FEATURES;
use super::model::PieceScores;
use crate::text::heads::probability;

/// Features in the order of their weights.
pub(super) struct FeatureList {
    values: [f32; FEATURES],
    count: usize,
}

impl Default for FeatureList {
    fn default() -> Self {
        Self { values: [0.0; FEATURES], count: 0 }
    }
}

impl FeatureList {
    pub(super) fn number(&mut self, value: f32) {
        if let Some(place) = self.values.get_mut(self.count) {
            *place = value;
        }
        self.count += 1;
    }

    pub(super) fn yes(&mut self, holds: bool) {
        self.number(f32::from(u8::from(holds)));
    }

    /// The probability that a score stands for; 0 if there is none.
    pub(super) fn score(&mut self, score: Option<f32>) {
        self.number(score.map_or(0.0, probability));
    }

    pub(super) fn heads(&mut self, heads: PieceScores) {
        self.score(Some(heads.announces));
        self.score(Some(heads.invents));
        self.score(Some(heads.asks));
        self.score(Some(heads.names));
    }

    /// All of them.
    pub(super) fn whole(self) -> [f32; FEATURES] {
        assert_eq!(self.count, FEATURES, "the number of features");
        self.values
    }
}
