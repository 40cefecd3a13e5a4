//! Whether a question about one speaker is answered by what only others say of themselves.

use rustc_hash::FxHashMap;

use super::asked::RankingInput;
use crate::score::query::is_speaker;
use crate::score::{FactTerms, TELLING_MESSAGES, estimate_fact, top_k};
use crate::text::is_cjk;
use crate::text::script::is_alphanumeric;
use crate::text::words::fold;

/// Share of its usual weight that meaning has: the nearest fact of another speaker is never far.
const MEANING: f64 = 0.5;
/// Number of facts about others, best first, of which one that does not speak of the named speakers
/// is looked for.
const COMPARED: usize = 64;

impl RankingInput<'_> {
    /// How far words and meaning of the best fact about others that has a word of the question
    /// exceed those of the best fact about the speakers whom it names; 0 if it names none, and in
    /// a short talk. A fact of another speaker that mentions a named one may answer, so it is
    /// passed over; one that quotes nobody (stated, or written by a model) counts as theirs unless
    /// its subject is another speaker.
    pub(crate) fn others_lead(&self) -> f64 {
        let (query, index) = (self.query, self.corpus.messages());
        if query.named.is_empty() || index.len() < TELLING_MESSAGES {
            return 0.0;
        }
        let scores = self.fact_scores();
        let vector_weight = MEANING * self.settings.weights.vector();
        let terms = FactTerms { tokens: 0.0, vector_weight, current: false, about_named: false };
        let mut slots = scores.candidates();
        slots.retain(|slot| !self.corpus.is_fact_hidden(*slot));
        // Whether the question names a subject, and whether the subject is a speaker.
        let (mut own, mut subjects) = (0.0_f64, FxHashMap::default());
        let of_others = |slot: &u32| {
            let value = estimate_fact(scores, *slot, terms).max(0.0);
            let (number, name) = self.corpus.subject(*slot);
            let (is_named, speaks) = *subjects
                .entry(number)
                .or_insert_with(|| (query.names(index, name), is_speaker(index, name)));
            let quotes_nobody = || self.corpus.fact(*slot).is_some_and(|one| one.quote.is_none());
            let is_named = is_named || !speaks && quotes_nobody();
            if is_named {
                own = own.max(value);
            }
            if is_named || scores.words(*slot) <= 0.0 { 0.0 } else { value as f32 }
        };
        let others: Vec<f32> = slots.iter().map(of_others).collect();
        let names =
            query.named.iter().flat_map(|speaker| &index.speaker_words()[*speaker as usize]);
        let names: Vec<&str> = names.map(String::as_str).collect();
        let best = top_k(&others, COMPARED).into_iter().find(|place| {
            let fact = self.corpus.fact(slots[*place as usize]);
            fact.is_some_and(|fact| !names.iter().any(|name| speaks_of(&fact.content, name)))
        });
        best.map_or(0.0, |place| (f64::from(others[place as usize]) - own).max(0.0))
    }
}

/// True if a text speaks of a person and does not only call the name, as in "Well done, Ann!".
fn speaks_of(text: &str, name: &str) -> bool {
    let text = &*fold(text);
    let is_pause = |c: char| !is_alphanumeric(c) && !c.is_whitespace() && !matches!(c, '\'' | '’');
    let joins = |c: char| is_alphanumeric(c) && !is_cjk(c);
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], text[at + name.len()..].chars().next());
        let is_word = !before.ends_with(joins) && !after.is_some_and(joins);
        let before = before.trim_end().chars().next_back();
        is_word && !(before.is_none_or(is_pause) && after.is_none_or(is_pause))
    })
}

#[cfg(test)]
mod tests {
    use super::speaks_of;

    #[test]
    fn a_name_that_is_only_called_is_not_spoken_of() {
        for text in [
            "Well done, Ann!",
            "Ann, I moved.",
            "I moved. Ann?",
            "Ben: \"Ann! Look.\"",
            "Anna came.",
        ] {
            assert!(!speaks_of(text, "ann"), "{text}");
        }
        for text in ["Ann works here.", "I met Ann.", "Ann's cat is ill.", "Since June, Ann plays."]
        {
            assert!(speaks_of(text, "ann"), "{text}");
        }
        assert!(speaks_of("我和小明去了巴黎。", "小明"));
        assert!(!speaks_of("小明，我去了巴黎。", "小明"));
    }
}
