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

/// Signs in a sentence that something has changed, that it is limited, or that it is not real.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BackReferences {
    /// Something else holds now.
    pub change: bool,
    /// Valid for a limited time, or in addition to the existing value.
    pub limit: bool,
    /// A supposition or a dream.
    pub unreal: bool,
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

    fn add(&mut self, sign: CueSign) {
        match sign {
            CueSign::Change => self.change = true,
            CueSign::Limit => self.limit = true,
            CueSign::Unreal => self.unreal = true,
        }
    }
}

/// True if the speaker asserts a text: it reports no other person's words, and is no supposition or
/// dream.
pub(crate) fn is_asserted(text: &str) -> bool {
    !BackReferences::of(text).unreal && without_reported(text).len() == text.len()
}

/// True if the clause of `text` that contains `value` says that something has changed: "moved to",
/// "now". In scripts without spaces, the whole text counts.
pub(crate) fn tells_change(text: &str, value: &str) -> bool {
    const BOUNDS: [&str; 11] =
        [", ", "; ", ": ", ". ", "! ", " and ", " but ", " und ", " aber ", " y ", " et "];
    let mut clause = text.to_lowercase();
    if !clause.contains(is_cjk) {
        for bound in BOUNDS {
            let found = clause.split(bound).find(|part| part.contains(value)).map(str::to_owned);
            clause = found.unwrap_or(clause);
        }
    }
    BackReferences::of(&clause).change
}

#[derive(Debug, Clone, Copy)]
enum CueSign {
    Change,
    Limit,
    Unreal,
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
            "@unreal" => set(&mut sign, CueSign::Unreal),
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
        for changed in ["I now live in Lyon.", "Ab sofort!", "我搬到青岛了", "Ahora vivo en Lugo."]
        {
            assert!(BackReferences::of(changed).change, "{changed}");
        }
        assert!(BackReferences::of("It's temporary, for a fortnight.").limit);
        assert_eq!(BackReferences::of("I know the nowhere man."), BackReferences::default());
        assert!(BackReferences::of("If we moved to Rome now, I'd sing.").unreal);
        assert!(
            BackReferences::of("It goes up to 45 mg.").change
                && !BackReferences::of("I went up to Ben.").change
        );
    }

    #[test]
    fn a_change_counts_in_the_clause_of_the_value() {
        assert!(tells_change("Ann moved to Lyon, and it rains.", "lyon"));
        assert!(tells_change("Ann: \"Jetzt wohne ich in Graz.\"", "graz"));
        assert!(!tells_change("Ann lives in Lyon, and Ann's sister moved.", "lyon"));
        assert!(!tells_change("Ann lives in Lyon.", "lyon"));
    }
}
