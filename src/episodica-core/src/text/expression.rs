//! One expression of a table: an automaton finds the end of a match, and backtracking finds its
//! groups.
//!
//! The engines of the `regex` crate would also search backwards for the start of a match. Automata
//! for that would take two thirds of the memory, since a class of letters is three times as large
//! when it is read backwards. They would also have to build new states for most texts.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;

use regex_automata::hybrid::dfa::{self, DFA};
use regex_automata::nfa::thompson::Compiler;
use regex_automata::nfa::thompson::backtrack::{self, BoundedBacktracker};
use regex_automata::nfa::thompson::pikevm::PikeVM;
use regex_automata::util::captures::Captures;
use regex_automata::util::pool::Pool;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchError};

use crate::fork::{ForkLazy, get_or_make};

/// A regular expression that ignores case and does not match empty text. It is compiled on first
/// use: this takes some milliseconds, and a process that asks one question needs few of the
/// hundreds of expressions.
pub(crate) struct TextExpression {
    text: String,
    compiled: OnceLock<SearchEngines>,
}

/// A match in a text.
#[derive(Debug)]
pub(crate) struct TextMatch<'t> {
    text: &'t str,
    groups: Captures,
}

/// Search engines that share one automaton.
struct SearchEngines {
    /// Finds the end of the first match in one pass. Gives up at a non-ASCII character if the
    /// expression has word boundaries.
    forward: DFA,
    /// Cached states, per thread.
    states: Kept<dfa::Cache>,
    /// Finds the groups of a match in a short text.
    backtracking: BoundedBacktracker,
}

/// A pool of caches: a search takes one, and any thread may reuse it.
type Kept<T> = Pool<T, Box<dyn Fn() -> T + Send + Sync + UnwindSafe + RefUnwindSafe>>;

/// Backtracking's scratch memory, shared by all expressions; every search resets it.
static VISITED: ForkLazy<Kept<Option<backtrack::Cache>>> =
    ForkLazy::new(|| Pool::new(Box::new(|| None)));

impl TextExpression {
    /// Accepts a pattern of this crate. Unit tests compile all patterns, so an invalid one is found
    /// there.
    pub(crate) fn new(text: String) -> Self {
        let expression = Self { text, compiled: OnceLock::new() };
        if cfg!(test) {
            let _ = expression.search_engines();
        }
        expression
    }

    fn search_engines(&self) -> &SearchEngines {
        get_or_make(&self.compiled, || SearchEngines::new(&self.text))
    }

    /// True if the expression matches anywhere in `text`.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let (engines, input) = (self.search_engines(), Input::new(text).earliest(true));
        match engines.end_of_match(&input) {
            Ok(end) => end.is_some(),
            Err(_) => engines.find_groups(input).is_some(),
        }
    }

    /// The first match in `text`.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<TextMatch<'t>> {
        self.find_from(text, 0)
    }

    /// All matches in `text`; each begins after the previous one ends.
    pub(crate) fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = TextMatch<'t>> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let found = self.find_from(text, at)?;
            at = found.range().end;
            Some(found)
        })
    }

    fn find_from<'t>(&self, text: &'t str, at: usize) -> Option<TextMatch<'t>> {
        let engines = self.search_engines();
        let mut input = Input::new(text).span(at..text.len());
        if let Ok(end) = engines.end_of_match(&input) {
            input.set_end(end?);
            if let Some(start) = engines.start_of_match(&input) {
                input.set_start(start);
            }
        }
        Some(TextMatch { text, groups: engines.find_groups(input)? })
    }
}

impl TextMatch<'_> {
    /// Range of the match, in bytes.
    pub(crate) fn range(&self) -> Range<usize> {
        self.groups.get_match().expect("invariant: it was found").range()
    }
}

impl<'t> TextMatch<'t> {
    /// The text of a named group, if it takes part in the match.
    pub(crate) fn named_group(&self, name: &str) -> Option<&'t str> {
        self.groups.get_group_by_name(name).map(|span| &self.text[span])
    }
}

impl SearchEngines {
    fn new(pattern: &str) -> Self {
        let ignoring_case = syntax::Config::new().case_insensitive(true);
        let nfa = Compiler::new().syntax(ignoring_case).build(pattern);
        let nfa = nfa.expect("invariant: the patterns are tested");
        // As in the `regex` crate: the automaton gives up if it has to drop its states too often.
        let config = dfa::Config::new()
            .unicode_word_boundary(true)
            .skip_cache_capacity_check(true)
            .minimum_cache_clear_count(Some(3))
            .minimum_bytes_per_state(Some(10));
        let forward = DFA::builder().configure(config).build_from_nfa(nfa.clone());
        let forward = forward.expect("invariant: the patterns are tested");
        let backtracking = BoundedBacktracker::builder().build_from_nfa(nfa);
        let backtracking = backtracking.expect("invariant: the patterns are tested");
        let of = forward.clone();
        let states = Pool::new(Box::new(move || of.create_cache()) as _);
        Self { forward, states, backtracking }
    }

    fn end_of_match(&self, input: &Input<'_>) -> Result<Option<usize>, MatchError> {
        let found = self.forward.try_search_fwd(&mut self.states.get(), input)?;
        Ok(found.map(|found| found.offset()))
    }

    /// First position at which a match starts. An anchored search from one position ends after a
    /// few bytes, while backtracking would need memory for all text before the match.
    fn start_of_match(&self, input: &Input<'_>) -> Option<usize> {
        let from = |at| input.clone().span(at..input.end()).anchored(Anchored::Yes);
        let mut states = self.states.get();
        let mut found = |at| match self.forward.try_search_fwd(&mut states, &from(at)) {
            Ok(None) => None,
            Ok(Some(_)) => Some(Some(at)),
            Err(_) => Some(None),
        };
        input.get_range().find_map(&mut found)?
    }

    /// The groups of the first match.
    fn find_groups(&self, input: Input<'_>) -> Option<Captures> {
        let mut groups = self.backtracking.create_captures();
        let mut visited = VISITED.get();
        let visited = match &mut *visited {
            Some(visited) => {
                visited.reset(&self.backtracking);
                visited
            }
            none => none.insert(self.backtracking.create_cache()),
        };
        if self.backtracking.try_captures(visited, input.clone(), &mut groups).is_err() {
            // The text is too long for backtracking.
            let simulation = PikeVM::builder().build_from_nfa(self.backtracking.get_nfa().clone());
            let simulation = simulation.expect("invariant: the patterns are tested");
            simulation.captures(&mut simulation.create_cache(), input, &mut groups);
        }
        groups.is_match().then_some(groups)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex::{Regex, RegexBuilder};

    use super::*;

    const PATTERNS: [&str; 6] = [
        r"\bin (?P<n>\d{1,4}|two|a few) (?P<unit>days?|weeks?)\b",
        r"(?P<y>[12]\d{3})-(?P<m>\d\d)",
        r"\b(?P<mon>märz|may)(?: (?P<d>[0-3]?\d))?(?:st|th)?\b",
        r"(?:搬到|住在)(?P<v>[^，。,\s]{1,8}?)(?:了|，|。|$)",
        r"^my (?P<o>[\w' ]{2,20}?) is (?P<v>(?-i:\p{Lu})[^\s,.]*(?: \p{Lu}\w+){0,2})",
        r"\w+ing\b",
    ];

    static BOTH: ForkLazy<Vec<(TextExpression, Regex)>> = ForkLazy::new(|| {
        let regex = |text| RegexBuilder::new(text).case_insensitive(true).build().unwrap();
        PATTERNS.iter().map(|text| (TextExpression::new((*text).to_owned()), regex(text))).collect()
    });

    fn assert_same(ours: &TextExpression, regex: &Regex, text: &str) {
        assert_eq!(ours.is_match(text), regex.is_match(text), "{regex}: {text}");
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        let found: Vec<_> = ours
            .find_all(text)
            .map(|found| {
                (found.range(), names.iter().map(|name| found.named_group(name)).collect())
            })
            .collect();
        let expected: Vec<(Range<usize>, Vec<Option<&str>>)> = regex
            .captures_iter(text)
            .map(|found| {
                let group = |name: &&str| found.name(name).map(|group| group.as_str());
                (found.get_match().range(), names.iter().map(group).collect())
            })
            .collect();
        assert_eq!(found, expected, "{regex}: {text}");
    }

    proptest! {
        #[test]
        fn matches_and_groups_are_those_of_the_regex_crate(
            text in "(In |in a few |two |12 |2024-0|days?|week|, |May 3rd|märz 2|é|my dog's |is )\
                {0,6}(Ana |Bo|ing |住在|搬到北京|了|，| |May|\\PC){0,6}",
        ) {
            BOTH.iter().for_each(|(ours, regex)| assert_same(ours, regex, &text));
        }
    }

    #[test]
    fn long_texts_are_searched_as_short_ones_are() {
        for filler in ["on and on, ", "weiter, ähnlich, "] {
            let text = format!("In 2 days. {}in two weeks; 2024-05", filler.repeat(20_000));
            BOTH.iter().for_each(|(ours, regex)| assert_same(ours, regex, &text));
        }
    }
}
