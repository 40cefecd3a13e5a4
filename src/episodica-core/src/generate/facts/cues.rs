//! Cues by which a message shows that something is no longer as it was.
//!
//! The expressions are data (`cues.txt`).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::is_cjk;
use crate::text::words::runs;

const TABLE: &str = include_str!("cues.txt");

/// What a message says about earlier ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cues {
    /// Something else holds now.
    pub change: bool,
    /// Perhaps something else holds now.
    pub weak: bool,
    /// Something is over.
    pub end: bool,
    /// Only for a while, or beside what holds.
    pub limit: bool,
    /// Supposed or dreamt.
    pub once: bool,
}

impl Cues {
    /// Reads a text.
    pub fn of(text: &str) -> Self {
        let mut cues = Self::default();
        let lower = text.to_lowercase().replace('’', "'");
        let words: Vec<&str> =
            runs(&lower, |c| c.is_alphanumeric() || matches!(c, '\'' | '-')).collect();
        for (at, word) in words.iter().enumerate() {
            for (rest, sign) in SPACED.get(word).into_iter().flatten() {
                if words[at + 1..].starts_with(rest) {
                    cues.add(*sign);
                }
            }
        }
        if !lower.is_ascii() {
            for (run, sign) in &*UNSPACED {
                if lower.contains(run) {
                    cues.add(*sign);
                }
            }
        }
        cues
    }

    /// May something that was said before have ended?
    pub fn may_end(self) -> bool {
        (self.change || self.weak || self.end) && !self.once
    }

    fn add(&mut self, sign: Sign) {
        match sign {
            Sign::Change => self.change = true,
            Sign::Weak => self.weak = true,
            Sign::End => self.end = true,
            Sign::Limit => self.limit = true,
            Sign::Once => self.once = true,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Sign {
    Change,
    Weak,
    End,
    Limit,
    Once,
}

/// Expressions by their first word: the words that follow it, and what it is a sign of.
type Spaced = HashMap<&'static str, Vec<(Vec<&'static str>, Sign)>>;

static SPACED: LazyLock<Spaced> = LazyLock::new(|| {
    let mut spaced = Spaced::new();
    for (expression, sign) in expressions().filter(|(text, _)| !text.contains(is_cjk)) {
        let mut words = expression.split_whitespace();
        let first = words.next().unwrap_or_default();
        spaced.entry(first).or_default().push((words.collect(), sign));
    }
    spaced
});

static UNSPACED: LazyLock<Vec<(&'static str, Sign)>> =
    LazyLock::new(|| expressions().filter(|(text, _)| text.contains(is_cjk)).collect());

fn expressions() -> impl Iterator<Item = (&'static str, Sign)> {
    let mut sign = Sign::Change;
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(move |line| match line {
            "@change" => set(&mut sign, Sign::Change),
            "@weak" => set(&mut sign, Sign::Weak),
            "@end" => set(&mut sign, Sign::End),
            "@limit" => set(&mut sign, Sign::Limit),
            "@once" => set(&mut sign, Sign::Once),
            line => Some((line, sign)),
        })
        .flat_map(|(line, sign)| line.split(" | ").map(move |text| (text.trim(), sign)))
        .filter(|(text, _)| !text.is_empty())
}

fn set<T>(sign: &mut Sign, to: Sign) -> Option<T> {
    *sign = to;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_are_whole_words_in_any_language() {
        assert!(
            Cues::of("I no longer eat meat.").end && Cues::of("Wir sagen: ab Mai, jetzt!").weak
        );
        assert!(Cues::of("我改主意了").change && Cues::of("Ya no trabajo ahí.").end);
        assert!(Cues::of("It's temporary, for a fortnight.").limit);
        assert_eq!(Cues::of("I know the nowhere man."), Cues::default());
        assert!(!Cues::of("If we moved to Rome now, I'd sing.").may_end());
    }
}
