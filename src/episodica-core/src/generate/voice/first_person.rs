//! First-person words.

use crate::fork::ForkLazy;
use crate::text::script::is_alphanumeric;
use crate::text::vocabulary::WordSet;

/// First-person words, in several languages.
static FIRST_PERSON: WordSet = ForkLazy::new(|| {
    let words = "\
        i i'm i've i'd i'll im my me mine we we're we've our us ich mein meine mir mich wir unser \
        je j'ai j'habite m'appelle mon ma mes nous yo mi mis me soy estoy vivo tengo trabajo io \
        mio mia abito lavoro eu meu minha moro";
    words.split_whitespace().collect()
});

/// True if a text has a first-person word.
pub(in crate::generate) fn speaks_of_self(text: &str) -> bool {
    let lower = text.to_lowercase().replace('’', "'");
    lower.contains(['我', '私', '僕', '俺'])
        || lower
            .split(|c: char| !is_alphanumeric(c) && c != '\'')
            .any(|word| FIRST_PERSON.contains(word))
}

/// True for a label that stands for the writer: "Me" above a message in a chat.
fn names_oneself(label: &str) -> bool {
    // "Mia" and "Mine" are names.
    matches!(label, "me" | "i" | "ich" | "je" | "yo" | "io" | "eu" | "我" | "私" | "僕" | "俺")
}

/// True if a label is the speaker's name, a part of it, or "me".
pub(super) fn is_label_of(label: &str, speaker: &str) -> bool {
    let (label, speaker) = (label.trim().to_lowercase(), speaker.to_lowercase());
    let is_part = || speaker.split_whitespace().any(|word| word == label);
    !label.is_empty() && (label == speaker || is_part() || names_oneself(&label))
}
