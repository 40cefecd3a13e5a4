//! Classifies the kind of answer that a question asks for, by rules, in English and Chinese.
//!
//! The order of tests is entity, temporal, then factual, so that "when did we meet" is temporal and
//! a bare name is an entity.

use serde::Serialize;

use crate::text::script::is_unspaced;
use crate::text::vocabulary::{asks_unspaced, asks_when};
use crate::text::words::for_each_word;

/// The five intents of Cortex-Mem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryIntent {
    /// A bare name: two to four CJK characters, or one to three capitalised words.
    Entity,
    /// Asks when, or names a time.
    Temporal,
    /// Asks how things or people are connected.
    Relational,
    /// Asks for a fact: who, what, where, how many.
    Factual,
    /// Anything else.
    #[default]
    General,
}

impl QueryIntent {
    /// The name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Entity => "entity",
            Self::Temporal => "temporal",
            Self::Relational => "relational",
            Self::Factual => "factual",
            Self::General => "general",
        }
    }

    /// Cortex-Mem's threshold for cosines of questions of this intent (preset `cortex`).
    pub(crate) fn cortex_threshold(self) -> f32 {
        match self {
            Self::Entity | Self::Factual => 0.4,
            Self::Relational | Self::Temporal => 0.45,
            Self::General => 0.5,
        }
    }
}

const TEMPORAL_PHRASES: [&str; 6] =
    ["how long", "what time", "last ", "next ", "in may", "how often"];
const TEMPORAL_CJK: [&str; 22] = [
    "什么时候",
    "何时",
    "几月",
    "几号",
    "哪天",
    "哪年",
    "多久",
    "昨天",
    "今天",
    "明天",
    "前天",
    "去年",
    "今年",
    "明年",
    "上周",
    "下周",
    "上个月",
    "下个月",
    "周末",
    "月份",
    "最近",
    "以前",
];
const RELATIONAL_PHRASES: [&str; 8] = [
    "related to",
    "relationship",
    "connected",
    "in common",
    "between",
    "compare",
    "difference",
    "both ",
];
const RELATIONAL_CJK: [&str; 5] = ["关系", "之间", "区别", "共同", "有关"];
const FACTUAL: &str = "who what where which whose whom why how";

/// Detects the intent from the wording.
pub fn detect_intent(query: &str) -> QueryIntent {
    let text = query.trim();
    let lower = text.to_lowercase();
    let letters = text.chars().filter(|c| c.is_alphanumeric()).count();
    let cjk = text.chars().filter(|c| is_unspaced(*c)).count();
    let mut words = Vec::new();
    for_each_word(text, |word, _| words.push(word.to_owned()));
    let has =
        |list: &str| words.iter().any(|word| list.split_whitespace().any(|listed| listed == word));
    let contains = |list: &[&str]| list.iter().any(|phrase| lower.contains(phrase));

    let temporal = words.iter().any(|word| asks_when(word))
        || contains(&TEMPORAL_PHRASES)
        || contains(&TEMPORAL_CJK)
        || words.iter().any(|word| is_year(word));
    let factual = has(FACTUAL) || asks_unspaced(text);
    let bare_cjk = (2..=4).contains(&cjk) && letters == cjk;
    let capitalised =
        text.split_whitespace().all(|word| word.chars().next().is_some_and(char::is_uppercase));
    let bare_name = cjk == 0 && (1..=3).contains(&words.len()) && capitalised;
    match () {
        () if (bare_cjk || bare_name) && !temporal && !factual => QueryIntent::Entity,
        () if temporal => QueryIntent::Temporal,
        () if contains(&RELATIONAL_PHRASES) || contains(&RELATIONAL_CJK) => QueryIntent::Relational,
        () if factual => QueryIntent::Factual,
        () => QueryIntent::General,
    }
}

fn is_year(word: &str) -> bool {
    word.len() == 4
        && (word.starts_with("19") || word.starts_with("20"))
        && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intents_by_wording() {
        for (query, intent) in [
            ("When did she move?", QueryIntent::Temporal),
            ("What happened in 2021?", QueryIntent::Temporal),
            ("昨天吃了什么", QueryIntent::Temporal),
            ("什么时候搬家", QueryIntent::Temporal),
            ("Lyon", QueryIntent::Entity),
            ("Ada Lovelace", QueryIntent::Entity),
            ("生日", QueryIntent::Entity),
            ("谁来过", QueryIntent::Factual),
            ("What is the difference between the two plans?", QueryIntent::Relational),
            ("Where does she live?", QueryIntent::Factual),
            ("tell me about her garden", QueryIntent::General),
            ("", QueryIntent::General),
        ] {
            assert_eq!(detect_intent(query), intent, "{query}");
        }
    }
}
