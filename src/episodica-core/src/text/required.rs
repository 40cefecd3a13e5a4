//! Which of many regular expressions may match a text, known from the literals they require.
//!
//! Most texts match none of a few hundred expressions. One pass of an automaton over all required
//! literals finds the few worth a try. A `RegexSet` would find them exactly, but in texts beyond
//! ASCII it simulates all expressions at once where one of them has a word boundary.

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex_syntax::hir::{Class, Hir, HirKind};

/// Largest class of characters that is written out as literals.
const WRITTEN_OUT: usize = 12;

/// Words that are in too many texts to tell anything.
const COMMON: [&str; 6] = ["the", "this", "and", "for", "from", "have"];

/// Finds the expressions that may match a text.
pub(crate) struct Required {
    literals: AhoCorasick,
    /// The expressions that require each literal, or another one instead.
    of_literal: Vec<Vec<usize>>,
    /// Expressions that require no literal.
    always: Vec<usize>,
    count: usize,
}

impl Required {
    /// For expressions that are matched regardless of case, numbered in this order.
    ///
    /// Digits are those of ASCII.
    pub(crate) fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Self {
        let mut literals: Vec<String> = Vec::new();
        let mut of_literal: Vec<Vec<usize>> = Vec::new();
        let mut always = Vec::new();
        let mut count = 0;
        for pattern in patterns {
            let parsed = regex_syntax::parse(pattern).expect("invariant: the patterns are tested");
            match required(&parsed) {
                None => always.push(count),
                Some(required) => {
                    for literal in required.iter().flat_map(|literal| cases(literal)) {
                        match literals.iter().position(|known| *known == literal) {
                            Some(at) => of_literal[at].push(count),
                            None => {
                                literals.push(literal);
                                of_literal.push(vec![count]);
                            }
                        }
                    }
                }
            }
            count += 1;
        }
        let literals = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(&literals)
            .expect("invariant: the literals are few and short");
        Self { literals, of_literal, always, count }
    }

    /// The numbers of the expressions that may match `text`, rising; no other one does.
    pub(crate) fn candidates(&self, text: &str) -> Vec<usize> {
        let mut found = self.literals.find_overlapping_iter(text).peekable();
        if found.peek().is_none() {
            return self.always.clone();
        }
        let mut may = vec![false; self.count];
        self.always.iter().for_each(|at| may[*at] = true);
        for literal in found {
            self.of_literal[literal.pattern().as_usize()].iter().for_each(|at| may[*at] = true);
        }
        (0..self.count).filter(|at| may[*at]).collect()
    }
}

/// Literals of which every match has one; the most telling ones that there are.
fn required(expression: &Hir) -> Option<Vec<String>> {
    match expression.kind() {
        HirKind::Literal(literal) => Some(vec![String::from_utf8(literal.0.to_vec()).ok()?]),
        HirKind::Class(class) => characters(class),
        HirKind::Capture(group) => required(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => required(&repeated.sub),
        HirKind::Concat(parts) => parts
            .iter()
            .filter_map(required)
            .max_by_key(|literals| (weakest(literals), std::cmp::Reverse(literals.len()))),
        HirKind::Alternation(ways) => {
            let ways: Option<Vec<_>> = ways.iter().map(required).collect();
            ways.map(|ways| ways.concat())
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

fn characters(class: &Class) -> Option<Vec<String>> {
    let Class::Unicode(class) = class else { return None };
    let ranges = || class.iter().map(|range| range.start()..=range.end());
    if ranges().next()? == ('0'..='9') && ranges().count() > 1 && is_numeric(class) {
        return Some(('0'..='9').map(String::from).collect());
    }
    let few = ranges().flatten().take(WRITTEN_OUT + 1).map(String::from);
    Some(few.collect::<Vec<_>>()).filter(|few| few.len() <= WRITTEN_OUT)
}

/// Whether a class is `\d`.
fn is_numeric(class: &regex_syntax::hir::ClassUnicode) -> bool {
    class.iter().all(|range| range.start().is_numeric() && range.end().is_numeric())
}

/// How much the least telling of some literals tells: its letters, a digit counting as a word.
fn weakest(literals: &[String]) -> usize {
    let telling = |literal: &String| -> usize {
        if COMMON.contains(&literal.trim()) {
            return 1;
        }
        literal
            .chars()
            .map(|c| if c.is_ascii_digit() { 3 } else { usize::from(c.is_alphabetic()) })
            .sum()
    };
    literals.iter().map(telling).min().unwrap_or_default()
}

/// A literal with its letters beyond ASCII in both cases; the automaton ignores case only in ASCII.
fn cases(literal: &str) -> Vec<String> {
    literal.chars().fold(vec![String::new()], |written, c| {
        let mut forms: Vec<String> = vec![c.to_lowercase().collect()];
        if !c.is_ascii() {
            forms.push(c.to_uppercase().collect());
        }
        forms.dedup();
        let extend =
            |start: &String| forms.iter().map(|form| format!("{start}{form}")).collect::<Vec<_>>();
        written.iter().flat_map(extend).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    const PATTERNS: [&str; 7] = [
        r"\b(?:the )?day before (?:yesterday|last)\b",
        r"\bin (?P<n>\d{1,4}|two|three) (?:days?|weeks?)\b",
        r"\b(?:märz|april)\b",
        r"[12]\d{3}",
        r"x?y*",
        r"\b(?-i:May)\b",
        r"\w+ing\b",
    ];

    #[test]
    fn a_text_without_the_literals_has_no_candidates_but_those_that_require_none() {
        let required = Required::new(PATTERNS);
        assert_eq!(required.candidates("We sat by the lake."), [4]);
        assert_eq!(required.candidates("It rained for a week."), [1, 4]);
        assert_eq!(required.candidates("singing"), [4, 6]);
    }

    #[test]
    fn every_expression_that_matches_is_a_candidate() {
        let required = Required::new(PATTERNS);
        for text in [
            "The day before yesterday",
            "THE DAY BEFORE LAST, in two weeks",
            "Im MÄRZ und im märz",
            "seit 1987 in 3 days",
            "May I? Fishing.",
            "",
            "早上2024年",
        ] {
            let candidates = required.candidates(text);
            for (at, pattern) in PATTERNS.iter().enumerate() {
                let regex = Regex::new(&format!("(?i){pattern}")).unwrap();
                assert!(!regex.is_match(text) || candidates.contains(&at), "{pattern}: {text}");
            }
        }
    }
}
