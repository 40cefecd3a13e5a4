//! The words by which a speaker can be named.

use crate::text::script::is_unspaced;
use crate::text::vocabulary::is_function_word;
use crate::text::words::{fold, for_each_word};

/// Words in a speaker's name that denote a role, not a person.
const ROLE_WORDS: &[&str] =
    &["user", "assistant", "system", "agent", "bot", "tool", "human", "ai", "support"];

/// The words of a name, without roles and text in brackets. Single letters are omitted in scripts
/// with spaces, since they do not identify a person.
pub(super) fn name_words(name: &str) -> Vec<String> {
    let outside: String = match (name.find('('), name.rfind(')')) {
        (Some(open), Some(close)) if open < close => {
            format!("{} {}", &name[..open], &name[close + 1..])
        }
        _ => name.to_owned(),
    };
    let mut words = Vec::new();
    for_each_word(&fold(&outside), |word, _| {
        if word.chars().count() > 1 && !is_function_word(word) && !ROLE_WORDS.contains(&word) {
            words.push(word.to_owned());
        }
    });
    words
}

/// Forms of a name's word that a question may use: the word, and a three-character Chinese name
/// without the family name.
pub fn name_forms(word: &str) -> impl Iterator<Item = &str> {
    let mut chars = word.char_indices();
    let given = match (chars.next(), chars.next(), chars.next(), chars.next()) {
        (Some((_, first)), Some((second, _)), Some(_), None) if is_unspaced(first) => {
            Some(&word[second..])
        }
        _ => None,
    };
    [Some(word), given].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_names_are_used_without_the_family_name() {
        assert_eq!(name_forms("林晓禾").collect::<Vec<_>>(), ["林晓禾", "晓禾"]);
        assert_eq!(name_forms("周牧").collect::<Vec<_>>(), ["周牧"]);
    }
}
