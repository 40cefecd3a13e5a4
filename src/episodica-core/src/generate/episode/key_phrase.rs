//! A phrase that tells the subject of an episode.

/// A key phrase.
#[derive(Debug, Clone)]
pub(super) struct KeyPhrase {
    /// Proper names capitalised, other words in lower case.
    pub text: String,
    /// Keys of the phrase's words.
    pub keys: Vec<u64>,
    /// How informative the phrase is.
    pub score: f32,
    /// Place of the first mention: turn, byte.
    pub place: (usize, usize),
}
