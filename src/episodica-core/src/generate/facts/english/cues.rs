//! Sentences that are kept as instructions, and the cues of problems and solutions.

use super::lexicon::{IMPERATIVES, PROBLEMS, word};
use super::tokens::Tokens;

/// "To deploy, run `make ship`." or an imperative with code in it: the sentence tells how something
/// is done.
pub(in crate::generate::facts) fn procedure(sentence: &str) -> bool {
    let code = sentence.contains('`');
    let opener = sentence.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    let purpose = opener == "To" && sentence.contains(", ");
    if !code && !purpose || sentence.ends_with('?') || sentence.len() > 300 {
        return false;
    }
    let tokens = Tokens::new(sentence);
    let imperative = |at: usize| tokens.is(at, IMPERATIVES);
    if purpose {
        let Some(comma) = (2..tokens.len().min(16)).find(|index| tokens.low(*index) == ",") else {
            return false;
        };
        return tokens.verb(1).is_some() | tokens.is(1, IMPERATIVES)
            && (imperative(comma + 1) || tokens.low(comma + 1) == "you" && imperative(comma + 2))
            || imperative(comma + 1) && code;
    }
    let start = usize::from(matches!(tokens.low(0), "first" | "then" | "always" | "just" | "now"));
    imperative(start) && matches_purpose(&tokens) && !pointing(&tokens)
}

fn matches_purpose(tokens: &Tokens) -> bool {
    (2..tokens.len()).any(|index| {
        matches!(tokens.low(index), "to" | "before" | "after" | "when" | "for")
            && tokens.len() > index + 1
    })
}

fn pointing(tokens: &Tokens) -> bool {
    (0..tokens.len()).any(|index| {
        matches!(tokens.low(index), "it" | "that" | "this" | "them" | "there" | "these")
    })
}

/// Tells of a failure.
pub(in crate::generate::facts) fn is_problem(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|part| word(part).class.has(PROBLEMS))
        && !lower.ends_with('?')
}

/// Tells what cured, or caused, one.
pub(in crate::generate::facts) fn is_solution(sentence: &str) -> bool {
    const CUES: [&str; 14] = [
        "fixed by",
        "fixed it by",
        "fixed that by",
        "the fix is",
        "the fix was",
        "solved by",
        "solved it by",
        "resolved by",
        "the solution is",
        "the solution was",
        "root cause",
        "the culprit",
        "workaround",
        "the cause was",
    ];
    let hinted = ["fix", "Fix", "olved", "solution", "ause", "culprit", "orkaround"]
        .iter()
        .any(|hint| sentence.contains(hint));
    hinted && {
        let lower = sentence.to_lowercase();
        CUES.iter().any(|cue| lower.contains(cue))
    }
}
