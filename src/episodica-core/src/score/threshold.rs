//! Minimum cosines of hits in the preset `cortex`. A threshold set by the caller applies to
//! relevance.

use super::QueryIntent;

/// Lowest threshold after relaxing, and the size of a step.
const FLOOR: f32 = 0.4;
const STEP: f32 = 0.1;

/// Minimum cosine of hits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CosineThreshold {
    /// No threshold.
    None,
    /// The threshold of the preset `cortex` for an intent, lowered step by step while no record
    /// passes.
    Relaxing(QueryIntent),
}

impl CosineThreshold {
    /// Removes records below the threshold; records without a cosine stay. If no record reaches
    /// even the lowest threshold, keeps all and returns a note.
    pub fn apply<T>(
        self,
        ranked: &mut Vec<T>,
        cosine: impl Fn(&T) -> Option<f32>,
    ) -> Option<String> {
        let passes = |least: f32, record: &T| cosine(record).is_none_or(|cosine| cosine >= least);
        match self {
            Self::None => {}
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
        let apply = |threshold: CosineThreshold, mut cosines: Vec<Option<f32>>| {
            let note = threshold.apply(&mut cosines, |cosine| *cosine);
            (cosines, note.is_some())
        };
        let relaxing = CosineThreshold::Relaxing(QueryIntent::General);
        assert_eq!(apply(relaxing, vec![Some(0.6), Some(0.3)]), (vec![Some(0.6)], false));
        assert_eq!(apply(relaxing, vec![Some(0.42), Some(0.3)]), (vec![Some(0.42)], false));
        assert_eq!(apply(relaxing, vec![Some(0.3)]), (vec![Some(0.3)], true));
        assert_eq!(
            apply(CosineThreshold::None, vec![None, Some(0.3)]),
            (vec![None, Some(0.3)], false)
        );
    }
}
