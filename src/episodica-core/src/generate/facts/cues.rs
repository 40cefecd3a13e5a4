//! Cues in a message that something has changed.
//!
//! The expressions are data (`cues.txt`).

use crate::fork::ForkLazy;
use rustc_hash::FxHashMap;

use super::reported::without_reported;
use crate::text::script::is_alphanumeric;
use crate::text::words::runs;
use crate::text::{PhraseTable, is_cjk};

const TABLE: &str = include_str!("cues.txt");

/// Signs in a sentence that it changes or limits an earlier statement, or is not real.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BackReferences {
    /// A new value replaces the old one.
    pub change: bool,
    /// Valid for a limited time only.
    pub limit: bool,
    /// Valid in addition to the existing value.
    pub beside: bool,
    /// A supposition.
    pub supposed: bool,
    /// A dream.
    pub dreamt: bool,
}

impl BackReferences {
    /// Reads a sentence.
    pub fn of(text: &str) -> Self {
        let mut cues = Self::default();
        let lower = text.to_lowercase().replace('’', "'");
        let words: Vec<&str> =
            runs(&lower, |c| is_alphanumeric(c) || matches!(c, '\'' | '-')).collect();
        for (at, word) in words.iter().enumerate() {
            for (rest, sign) in SPACED.get(word).into_iter().flatten() {
                if words.len() > at + rest.len() && matches(&words[at + 1..], rest) {
                    cues.add(*sign);
                }
            }
        }
        if lower.contains(is_cjk) {
            UNSPACED.in_text(&lower).for_each(|(_, sign)| cues.add(*sign));
        }
        cues
    }

    /// True if the sentence is neither a supposition nor a dream.
    pub fn is_real(self) -> bool {
        !self.supposed && !self.dreamt
    }

    /// True if the sentence may fill a slot: it is real, and tells of a change or has no cue for a
    /// limited time or for an additional value.
    pub fn is_lasting(self) -> bool {
        self.is_real() && (!(self.limit || self.beside) || self.change)
    }

    fn add(&mut self, sign: CueSign) {
        match sign {
            CueSign::Change => self.change = true,
            CueSign::Limit => self.limit = true,
            CueSign::Beside => self.beside = true,
            CueSign::Supposed => self.supposed = true,
            CueSign::Dreamt => self.dreamt = true,
        }
    }
}

/// True if the speaker asserts a text: it reports no other person's words, and is no supposition or
/// dream.
pub(crate) fn is_asserted(text: &str) -> bool {
    BackReferences::of(text).is_real() && without_reported(text).len() == text.len()
}

#[derive(Debug, Clone, Copy)]
enum CueSign {
    Change,
    Limit,
    Beside,
    Supposed,
    Dreamt,
}

/// True if `words` begin with the remaining words of an expression; `#` stands for a number.
fn matches(words: &[&str], rest: &[&str]) -> bool {
    words.iter().zip(rest).all(|(word, wanted)| {
        word == wanted || *wanted == "#" && word.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Expressions by their first word: the words after it, and the sign.
type Spaced = FxHashMap<&'static str, Vec<(Vec<&'static str>, CueSign)>>;

static SPACED: ForkLazy<Spaced> = ForkLazy::new(|| {
    let mut spaced = Spaced::default();
    for (expression, sign) in expressions().filter(|(text, _)| !text.contains(is_cjk)) {
        let mut words = expression.split_whitespace();
        let first = words.next().unwrap_or_default();
        spaced.entry(first).or_default().push((words.collect(), sign));
    }
    spaced
});

static UNSPACED: ForkLazy<PhraseTable<CueSign>> =
    ForkLazy::new(|| PhraseTable::new(expressions().filter(|(text, _)| text.contains(is_cjk))));

fn expressions() -> impl Iterator<Item = (&'static str, CueSign)> {
    let mut sign = CueSign::Change;
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(move |line| match line {
            "@change" => set(&mut sign, CueSign::Change),
            "@limit" => set(&mut sign, CueSign::Limit),
            "@beside" => set(&mut sign, CueSign::Beside),
            "@supposed" => set(&mut sign, CueSign::Supposed),
            "@dreamt" => set(&mut sign, CueSign::Dreamt),
            line => Some((line, sign)),
        })
        .flat_map(|(line, sign)| line.split(" | ").map(move |text| (text.trim(), sign)))
        .filter(|(text, _)| !text.is_empty())
}

fn set<T>(sign: &mut CueSign, to: CueSign) -> Option<T> {
    *sign = to;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cues_are_whole_words_in_any_language() {
        assert!(
            BackReferences::of("I no longer eat meat.").change
                && BackReferences::of("Ab Mai, Tina!").change
        );
        assert!(
            BackReferences::of("我改主意了").change
                && BackReferences::of("Trabajo ahí a partir de mayo.").change
        );
        assert!(BackReferences::of("It's temporary, for a fortnight.").limit);
        assert_eq!(BackReferences::of("I know the nowhere man."), BackReferences::default());
        assert!(!BackReferences::of("If we moved to Rome now, I'd sing.").is_real());
        assert!(
            BackReferences::of("It goes up to 45 mg.").change
                && !BackReferences::of("I went up to Ben.").change
        );
    }
}
