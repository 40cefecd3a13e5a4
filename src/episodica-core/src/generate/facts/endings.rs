//! Earlier facts that a life event ends: after a break-up, the person has no fiancé any more.
//!
//! The expressions are data (`endings.txt`).

use crate::fork::Lazy;

use regex::{RegexSet, RegexSetBuilder};

const TABLE: &str = include_str!("endings.txt");

/// What one event ends.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Slots of the same subject.
    pub slots: Vec<&'static str>,
    /// Phrases of earlier messages, lower case.
    pub phrases: Vec<&'static str>,
}

struct Endings {
    endings: Vec<Ending>,
    /// Index of the ending for each pattern.
    of_pattern: Vec<usize>,
    patterns: RegexSet,
}

static ENDINGS: Lazy<Endings> = Lazy::new(|| {
    let (mut endings, mut of_pattern, mut patterns) = (Vec::new(), Vec::new(), Vec::new());
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(ended) = line.strip_prefix("@ends ") {
            let (slots, phrases): (Vec<&str>, Vec<&str>) =
                ended.split(" | ").map(str::trim).partition(|what| what.starts_with('='));
            let slots = slots.into_iter().map(|slot| &slot[1..]).collect();
            endings.push(Ending { slots, phrases });
        } else {
            of_pattern.push(endings.len() - 1);
            patterns.push(line);
        }
    }
    let patterns = RegexSetBuilder::new(&patterns).case_insensitive(true).build();
    let patterns = patterns.expect("invariant: the table's patterns are sound");
    Endings { endings, of_pattern, patterns }
});

/// The endings in a sentence or message; each ends earlier facts of the same speaker.
pub(crate) fn endings(text: &str) -> Vec<&'static Ending> {
    let found = ENDINGS.patterns.matches(&text.replace('’', "'"));
    let mut numbers: Vec<usize> = found.into_iter().map(|line| ENDINGS.of_pattern[line]).collect();
    numbers.dedup();
    numbers.into_iter().map(|number| &ENDINGS.endings[number]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_life_ends_what_it_must() {
        for (said, slot) in [
            ("I sold the ring.", "partner"),
            ("We broke up last week.", "partner"),
            ("我和小顾分手了。", "partner"),
            ("On s'est séparés en mai.", "partner"),
            ("I retired in June!", "employer"),
            ("Ich habe letzte Woche gekündigt.", "employer"),
            ("Me han despedido.", "employer"),
        ] {
            let ended = endings(said);
            assert!(ended.iter().any(|ending| ending.slots.contains(&slot)), "{said}");
        }
        for said in ["We broke up the concrete.", "My sister retired.", "She sold the ring."] {
            assert!(endings(said).is_empty(), "{said}");
        }
    }
}
