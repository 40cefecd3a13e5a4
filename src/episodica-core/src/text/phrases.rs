//! Phrases that may stand anywhere in a text, found in one pass.

use aho_corasick::AhoCorasick;

/// Phrases, each with what it stands for.
pub(crate) struct PhraseTable<T> {
    phrases: AhoCorasick,
    values: Vec<T>,
}

impl<T> PhraseTable<T> {
    /// Few and short ones.
    ///
    /// # Panics
    /// For more than an automaton can hold.
    pub fn new(phrases: impl Iterator<Item = (&'static str, T)>) -> Self {
        let (phrases, values): (Vec<_>, Vec<T>) = phrases.unzip();
        let phrases = AhoCorasick::new(phrases).expect("invariant: few short phrases");
        Self { phrases, values }
    }

    /// Where each occurrence of a phrase begins, and what it stands for.
    pub fn in_text(&self, text: &str) -> impl Iterator<Item = (usize, &T)> {
        let found = self.phrases.find_overlapping_iter(text);
        found.map(|found| (found.start(), &self.values[found.pattern().as_usize()]))
    }

    /// Does one of them occur?
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
