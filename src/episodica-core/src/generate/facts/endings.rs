//! Earlier facts that a life event ends: after a break-up, the person has no fiancé any more.
//!
//! The expressions are data (`endings.txt`).

use crate::fork::Lazy;

use crate::text::expressions::Expressions;

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
    /// The patterns, each with the index of its ending.
    lines: Expressions<usize>,
}

static ENDINGS: Lazy<Endings> = Lazy::new(|| {
    let (mut endings, mut lines) = (Vec::new(), Vec::new());
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(ended) = line.strip_prefix("@ends ") {
            let (slots, phrases): (Vec<&str>, Vec<&str>) =
                ended.split(" | ").map(str::trim).partition(|what| what.starts_with('='));
            let slots = slots.into_iter().map(|slot| &slot[1..]).collect();
            endings.push(Ending { slots, phrases });
        } else {
            lines.push((line.to_owned(), endings.len() - 1));
        }
    }
    Endings { endings, lines: Expressions::new(lines) }
});

/// The endings in a sentence or message; each ends earlier facts of the same speaker.
pub(crate) fn endings(text: &str) -> Vec<&'static Ending> {
    let plain = text.replace('’', "'");
    let candidates = ENDINGS.lines.candidates(&plain);
    let matching = candidates.filter(|(regex, _)| regex.is_match(&plain));
    let mut numbers: Vec<usize> = matching.map(|(_, ending)| *ending).collect();
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
