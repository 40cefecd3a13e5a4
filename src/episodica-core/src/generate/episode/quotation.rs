//! Words with their speaker.

use crate::text::Language;

/// `Maya: "…"`: words with their speaker.
pub(in crate::generate) fn quote_speaker(name: &str, text: &str, language: Language) -> String {
    if language == Language::Chinese {
        return format!("{name}：“{text}”");
    }
    format!("{}: \"{text}\"", capitalise_first(name))
}

/// Capitalises the first letter, unless its capital consists of several characters: the text must
/// not get longer.
fn capitalise_first(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    let mut upper = first.to_uppercase();
    let first = upper.next().filter(|_| upper.next().is_none()).unwrap_or(first);
    std::iter::once(first).chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capital_is_one_letter_for_one() {
        let given = ["éa", "ßa", "ῲ", "x", ""].map(capitalise_first);
        assert_eq!(given, ["Éa", "ßa", "ῲ", "X", ""]);
    }
}
