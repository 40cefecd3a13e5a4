//! Tables of regular expressions. A text is tried only with the few expressions that may match it.
//!
//! An expression can match only if the text contains literals, or a number of at least so many
//! digits, that the expression requires. One pass of an automaton over the text finds the literals;
//! they and the length of the longest number leave the few expressions worth trying. A `RegexSet`
//! would find them exactly, but as soon as one expression has a word boundary, it simulates all of
//! them at once in texts with non-ASCII characters.

use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex_automata::util::syntax;
use regex_automata::{Input, meta};
use regex_syntax::hir::{Class, Hir, HirKind};

use super::expression::TextExpression;
use crate::fork::get_or_make;

/// Largest character class that is expanded into literals.
const WRITTEN_OUT: usize = 12;

/// Words that occur in too many texts to be selective.
const COMMON: [&str; 6] = ["the", "this", "and", "for", "from", "have"];

/// Minimum selectivity of a need ([`LiteralNeed`]), if the expression has a more selective one.
const TELLING: usize = 3;

/// Maximum number of needs checked per expression, the most selective ones.
const MAX_NEEDS: usize = 4;

/// Longest number that a need requires, in digits.
const MAX_DIGITS: usize = 8;

/// Expressions that ignore case and are searched together. If several match at one position, the
/// first one counts. Only the end of a match is found, which takes one pass over the text.
pub(crate) struct ExpressionSet {
    patterns: Vec<String>,
    compiled: OnceLock<meta::Regex>,
}

impl ExpressionSet {
    /// Accepts patterns of this crate that do not match empty text.
    pub(crate) fn new(patterns: Vec<String>) -> Self {
        let kinds = Self { patterns, compiled: OnceLock::new() };
        if cfg!(test) {
            let _ = kinds.compiled_regex();
        }
        kinds
    }

    fn compiled_regex(&self) -> &meta::Regex {
        let ignoring_case = syntax::Config::new().case_insensitive(true);
        let compile = || {
            let regex = meta::Builder::new().syntax(ignoring_case).build_many(&self.patterns);
            regex.expect("invariant: the patterns are tested")
        };
        get_or_make(&self.compiled, compile)
    }

    /// Indices of the patterns that match in `text`, in order; each match begins after the previous
    /// one.
    pub(crate) fn find_patterns<'t>(&'t self, text: &'t str) -> impl Iterator<Item = usize> + 't {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found =
                self.compiled_regex().search_half(&Input::new(text).span(at..text.len()))?;
            at = found.offset();
            Some(found.pattern().as_usize())
        })
    }
}

/// Expressions that ignore case, each with a value.
pub(crate) struct ExpressionTable<T> {
    all: Vec<(TextExpression, T)>,
    literals: AhoCorasick,
    /// The needs that each literal meets.
    met_by_literal: Vec<Vec<MetNeed>>,
    /// For each number of digits, the needs that a number of this length meets; a longer number
    /// meets them too.
    met_by_digits: [Vec<MetNeed>; MAX_DIGITS + 1],
    /// The needs of each expression, one bit each.
    needs: Vec<u8>,
}

/// One need of one expression.
#[derive(Debug, Clone, Copy)]
struct MetNeed {
    expression: usize,
    bit: u8,
}

/// Literals, or a number, of which every matching text contains at least one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct LiteralNeed {
    literals: Vec<String>,
    /// Minimum length of a number in the text, in ASCII digits.
    digits: Option<usize>,
}

impl<T> ExpressionTable<T> {
    /// Reads patterns of this crate. Digits in them are ASCII digits.
    pub(crate) fn new(patterns: impl IntoIterator<Item = (String, T)>) -> Self {
        let mut literals: Vec<String> = Vec::new();
        let mut met_by_literal: Vec<Vec<MetNeed>> = Vec::new();
        let mut met_by_digits: [Vec<MetNeed>; MAX_DIGITS + 1] = Default::default();
        let (mut all, mut needs) = (Vec::new(), Vec::new());
        for (expression, (pattern, value)) in patterns.into_iter().enumerate() {
            let parsed = regex_syntax::parse(&pattern).expect("invariant: the patterns are tested");
            let checked = worthwhile_needs(needs_of(&parsed));
            for (number, need) in checked.iter().enumerate() {
                let met = MetNeed { expression, bit: 1 << number };
                if let Some(digits) = need.digits {
                    met_by_digits[digits.min(MAX_DIGITS)].push(met);
                }
                for literal in need.literals.iter().flat_map(|literal| both_cases(literal)) {
                    match literals.iter().position(|known| *known == literal) {
                        Some(at) => met_by_literal[at].push(met),
                        None => {
                            literals.push(literal);
                            met_by_literal.push(vec![met]);
                        }
                    }
                }
            }
            needs.push((1 << checked.len()) - 1);
            all.push((TextExpression::new(pattern), value));
        }
        let literals = AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(&literals)
            .expect("invariant: the literals are few and short");
        Self { all, literals, met_by_literal, met_by_digits, needs }
    }

    /// The expressions that may match `text`, in order. All other expressions do not match.
    pub(crate) fn candidate_expressions(
        &self,
        text: &str,
    ) -> impl Iterator<Item = &(TextExpression, T)> {
        let mut met = vec![0_u8; self.all.len()];
        let mut note =
            |needs: &[MetNeed]| needs.iter().for_each(|need| met[need.expression] |= need.bit);
        let digits = longest_number(text).min(MAX_DIGITS);
        self.met_by_digits[..=digits].iter().for_each(|needs| note(needs));
        for literal in self.literals.find_overlapping_iter(text) {
            note(&self.met_by_literal[literal.pattern().as_usize()]);
        }
        let all = self.all.iter().zip(&self.needs).zip(met);
        all.filter_map(|((one, needs), met)| (met == *needs).then_some(one))
    }
}

/// Length of the longest run of digits.
fn longest_number(text: &str) -> usize {
    text.as_bytes().split(|byte| !byte.is_ascii_digit()).map(<[u8]>::len).max().unwrap_or_default()
}

/// Selects the needs that are worth checking.
fn worthwhile_needs(mut needs: Vec<LiteralNeed>) -> Vec<LiteralNeed> {
    needs.sort_by_key(|need| (std::cmp::Reverse(need.need_selectivity()), need.literals.len()));
    needs.dedup();
    needs.truncate(MAX_NEEDS);
    let most = needs.first().map_or(0, LiteralNeed::need_selectivity);
    needs
        .retain(|need| need.need_selectivity() >= TELLING.min(most) && need.need_selectivity() > 0);
    needs
}

/// The needs that every match of an expression meets.
fn needs_of(expression: &Hir) -> Vec<LiteralNeed> {
    if let Some(digits) = digits_of(expression) {
        return if digits == 0 { Vec::new() } else { vec![LiteralNeed::digits_need(digits)] };
    }
    match expression.kind() {
        HirKind::Literal(literal) => match String::from_utf8(literal.0.to_vec()) {
            Ok(text) => vec![LiteralNeed { literals: vec![text], digits: None }],
            Err(_) => Vec::new(),
        },
        HirKind::Class(class) => class_need(class).into_iter().collect(),
        HirKind::Capture(group) => needs_of(&group.sub),
        HirKind::Repetition(repeated) if repeated.min > 0 => needs_of(&repeated.sub),
        HirKind::Concat(parts) => needs_of_all(parts),
        HirKind::Alternation(ways) => any_of(ways).into_iter().collect(),
        HirKind::Empty | HirKind::Look(_) | HirKind::Repetition(_) => Vec::new(),
    }
}

/// The needs of all parts. Consecutive digits form one number.
fn needs_of_all(parts: &[Hir]) -> Vec<LiteralNeed> {
    let (mut needs, mut number) = (Vec::new(), 0);
    for part in parts {
        match digits_of(part) {
            Some(digits) => number += digits,
            None => {
                needs.extend((number > 0).then(|| LiteralNeed::digits_need(number)));
                number = 0;
                needs.extend(needs_of(part));
            }
        }
    }
    needs.extend((number > 0).then(|| LiteralNeed::digits_need(number)));
    needs
}

/// Combines the most selective need of each alternative into one; `None` if an alternative has no
/// need.
fn any_of(ways: &[Hir]) -> Option<LiteralNeed> {
    let mut together = LiteralNeed::default();
    for way in ways {
        let need = needs_of(way).into_iter().max_by_key(LiteralNeed::need_selectivity)?;
        together.literals.extend(need.literals);
        together.digits = match (together.digits, need.digits) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
    Some(together)
}

/// Minimum number of digits, if the expression matches only digits; otherwise `None`.
fn digits_of(expression: &Hir) -> Option<usize> {
    match expression.kind() {
        HirKind::Literal(literal) => {
            literal.0.iter().all(u8::is_ascii_digit).then_some(literal.0.len())
        }
        HirKind::Class(Class::Unicode(class)) => {
            let numeric = |at: char| at.is_numeric();
            let all = class.iter().all(|range| numeric(range.start()) && numeric(range.end()));
            all.then_some(1)
        }
        HirKind::Capture(group) => digits_of(&group.sub),
        HirKind::Repetition(repeated) => {
            digits_of(&repeated.sub).map(|digits| digits * repeated.min as usize)
        }
        HirKind::Concat(parts) => parts.iter().map(digits_of).sum(),
        HirKind::Alternation(ways) => {
            let ways: Option<Vec<usize>> = ways.iter().map(digits_of).collect();
            ways?.into_iter().min()
        }
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => None,
    }
}

fn class_need(class: &Class) -> Option<LiteralNeed> {
    let Class::Unicode(class) = class else { return None };
    let characters = class.iter().flat_map(|range| range.start()..=range.end());
    let few: Vec<String> = characters.take(WRITTEN_OUT + 1).map(String::from).collect();
    (few.len() <= WRITTEN_OUT).then_some(LiteralNeed { literals: few, digits: None })
}

impl LiteralNeed {
    fn digits_need(digits: usize) -> Self {
        Self { literals: Vec::new(), digits: Some(digits) }
    }

    /// Selectivity of the need: the number of letters of its least selective literal. A digit
    /// counts as much as a word.
    fn need_selectivity(&self) -> usize {
        let letters = |literal: &String| -> usize {
            if COMMON.contains(&literal.trim()) {
                return 1;
            }
            literal
                .chars()
                .map(|c| if c.is_ascii_digit() { 3 } else { usize::from(c.is_alphabetic()) })
                .sum()
        };
        let numbers = self.digits.map(|digits| 3 * digits);
        self.literals.iter().map(letters).chain(numbers).min().unwrap_or_default()
    }
}

/// Expands the non-ASCII letters of a literal to both cases, since the automaton ignores case only
/// in ASCII.
fn both_cases(literal: &str) -> Vec<String> {
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
    use regex::Regex;

    use super::*;

    #[test]
    fn of_kinds_that_match_at_one_place_the_first_counts() {
        let patterns = [r"\bbed\b", r"\b\w{2,}ed\b", r"\bwill\b", r"['’]ve\b", r"\bto$"];
        let kinds = ExpressionSet::new(patterns.map(str::to_owned).to_vec());
        let find = |text| kinds.find_patterns(text).collect::<Vec<usize>>();
        assert_eq!(find("The BED I painted will fit, I’ve measured it"), [0, 1, 2, 3, 1]);
        assert_eq!(find("Où est mon lit ? Café painted to"), [1, 4]);
        assert!(find("to the red").is_empty() && find("").is_empty());
    }

    const PATTERNS: [&str; 9] = [
        r"\b(?:the )?day before (?:yesterday|last)\b",
        r"\bin (?P<n>\d{1,4}|two|three) (?:days?|weeks?)\b",
        r"\b(?:märz|april)\b",
        r"[12]\d{3}",
        r"x?y*",
        r"\b(?-i:May)\b",
        r"\w+ing\b",
        r"\b(?P<mon>may|june) (?P<d>[0-3]?\d)(?:st|th)?\b",
        r"[0-9]{4}-\d\d",
    ];

    fn expressions() -> ExpressionTable<usize> {
        ExpressionTable::new(PATTERNS.iter().enumerate().map(|(at, text)| ((*text).to_owned(), at)))
    }

    fn candidates(text: &str) -> Vec<usize> {
        expressions().candidate_expressions(text).map(|(_, at)| *at).collect()
    }

    #[test]
    fn a_text_without_the_literals_has_no_candidates_but_those_that_require_none() {
        assert_eq!(candidates("We sat by the lake."), [4]);
        assert_eq!(candidates("It rained for a week."), [4]);
        assert_eq!(candidates("singing"), [4, 6]);
    }

    #[test]
    fn all_needs_of_an_expression_must_be_met() {
        assert_eq!(candidates("Two weeks it rained."), [1, 4]);
        assert_eq!(candidates("It rained, you may say."), [4, 5]);
        assert_eq!(candidates("On May 5 it rained."), [4, 5, 7]);
        assert_eq!(candidates("Room 101, floor 20."), [4]);
        assert_eq!(candidates("In 2024."), [3, 4, 8]);
    }

    #[test]
    fn every_expression_that_matches_is_a_candidate() {
        for text in [
            "The day before yesterday",
            "THE DAY BEFORE LAST, in two weeks",
            "Im MÄRZ und im märz",
            "seit 1987 in 3 days",
            "May I? Fishing.",
            "may 31st, JUNE 7",
            "",
            "早上2024年",
            "2024-05-06T10",
        ] {
            let candidates = candidates(text);
            for (at, pattern) in PATTERNS.iter().enumerate() {
                let regex = Regex::new(&format!("(?i){pattern}")).unwrap();
                assert!(!regex.is_match(text) || candidates.contains(&at), "{pattern}: {text}");
            }
        }
    }
}
