//! Least cosines of hits. They are compared with cosines, never with fused scores.

use super::Intent;

/// The floor below which relaxing does not go, and its step.
const FLOOR: f32 = 0.4;
const STEP: f32 = 0.1;

/// What the cosine of a hit must reach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// Nothing.
    None,
    /// This number.
    Fixed(f32),
    /// The threshold of the preset `cortex` for an intent, lowered step by step while nothing
    /// passes.
    Relaxing(Intent),
}

impl Threshold {
    /// Removes the records below the threshold; records without a cosine stay. Returns a note when
    /// relaxing ended without a record that passes and the threshold was not applied.
    pub fn apply<T>(
        self,
        ranked: &mut Vec<T>,
        cosine: impl Fn(&T) -> Option<f32>,
    ) -> Option<String> {
        let passes = |least: f32, record: &T| cosine(record).is_none_or(|cosine| cosine >= least);
        match self {
            Self::None => {}
            Self::Fixed(least) => ranked.retain(|record| passes(least, record)),
            Self::Relaxing(intent) => {
                let mut least = intent.cortex_threshold();
                while !ranked.iter().any(|record| passes(least, record)) && least > FLOOR {
                    least = (least - STEP).max(FLOOR);
                }
                if ranked.iter().any(|record| passes(least, record)) {
                    ranked.retain(|record| passes(least, record));
                } else if !ranked.is_empty() {
                    return Some(format!("threshold: nothing above {FLOOR}, so none was applied"));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relaxing_threshold_is_lowered_until_something_passes() {
        let apply = |threshold: Threshold, mut cosines: Vec<Option<f32>>| {
            let note = threshold.apply(&mut cosines, |cosine| *cosine);
            (cosines, note.is_some())
        };
        let relaxing = Threshold::Relaxing(Intent::General);
        assert_eq!(apply(relaxing, vec![Some(0.6), Some(0.3)]), (vec![Some(0.6)], false));
        assert_eq!(apply(relaxing, vec![Some(0.42), Some(0.3)]), (vec![Some(0.42)], false));
        assert_eq!(apply(relaxing, vec![Some(0.3)]), (vec![Some(0.3)], true));
        assert_eq!(apply(Threshold::Fixed(0.5), vec![None, Some(0.3)]), (vec![None], false));
    }
}
