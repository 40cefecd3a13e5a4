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
