//! Finds phrases anywhere in a text, in one pass.

use aho_corasick::AhoCorasick;

/// Phrases, each with a value.
pub(crate) struct PhraseTable<T> {
    phrases: AhoCorasick,
    values: Vec<T>,
}

impl<T> PhraseTable<T> {
    /// Builds the table, which is meant for a few short phrases.
    ///
    /// # Panics
    /// If the phrases exceed the capacity of an automaton.
    pub fn new(phrases: impl Iterator<Item = (&'static str, T)>) -> Self {
        let (phrases, values): (Vec<_>, Vec<T>) = phrases.unzip();
        let phrases = AhoCorasick::new(phrases).expect("invariant: few short phrases");
        Self { phrases, values }
    }

    /// The start and the value of each occurrence.
    pub fn in_text(&self, text: &str) -> impl Iterator<Item = (usize, &T)> {
        let found = self.phrases.find_overlapping_iter(text);
        found.map(|found| (found.start(), &self.values[found.pattern().as_usize()]))
    }

    /// True if one of the phrases occurs.
    pub fn are_in(&self, text: &str) -> bool {
        self.phrases.is_match(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_overlap() {
        let phrases = PhraseTable::new([("你好", 1), ("好的", 2), ("的", 3)].into_iter());
        let mut found: Vec<_> = phrases.in_text("你好的").map(|(at, value)| (at, *value)).collect();
        found.sort_unstable();
        assert_eq!(found, [(0, 1), (3, 2), (6, 3)]);
        assert!(phrases.are_in("a的") && !phrases.are_in("a") && !phrases.are_in(""));
    }
}
