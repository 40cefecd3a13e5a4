//! General English word lists of the lexical index: function words that carry no meaning of their own, and irregular forms.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Articles, pronouns, prepositions, conjunctions, question words and auxiliaries.
const FUNCTION_WORDS: &str = "a an the this that these those and or but if so than then as of at by for with about to from in on into over under up down \
    out off i me my we us our you your he him his she her it its they them their who whom whose which what when where why how is am are was were be \
    been being do does did doing have has had having will would shall should can could may might must no not nor there here just very too also";

/// Irregular forms after their base form, one group a line. Only everyday verbs and nouns.
const IRREGULAR_FORMS: &str = "\
    go goes went gone going|get got gotten|make made|take took taken|come came|see saw seen|know knew known|think thought|say said|tell told\
    |give gave given|find found|feel felt|leave left|keep kept|begin began begun|bring brought|buy bought|build built|catch caught|choose chose chosen\
    |draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|fight fought|fly flew flown|forget forgot forgotten\
    |grow grew grown|hear heard|hold held|lead led|learn learnt|lend lent|lose lost|mean meant|meet met|pay paid|ride rode ridden|ring rang rung\
    |rise rose risen|run ran|sell sold|send sent|shake shook shaken|sing sang sung|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood\
    |steal stole stolen|swim swam swum|teach taught|throw threw thrown|understand understood|wake woke woken|wear wore worn|win won\
    |write wrote written|break broke broken|bite bit bitten|blow blew blown|dream dreamt|freeze froze frozen|hide hid hidden|show shown|stick stuck\
    |strike struck|swear swore sworn|tear tore torn|shoot shot|seek sought|sweep swept|bend bent|bind bound|deal dealt|dig dug|feed fed|flee fled\
    |forgive forgave forgiven|hang hung|lay laid|light lit|shine shone|sink sank sunk|slide slid|spin spun|become became|child children\
    |person people|man men|woman women|wife wives|life lives|foot feet|tooth teeth|mouse mice";

static FUNCTION_WORD_SET: LazyLock<HashSet<&str>> = LazyLock::new(|| FUNCTION_WORDS.split_whitespace().collect());

static BASE_FORMS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let groups = IRREGULAR_FORMS.split('|').map(str::split_whitespace);
    groups.filter_map(|mut group| group.next().map(|base| group.map(move |form| (form, base)))).flatten().collect()
});

/// Does the word, in lower case, carry no meaning of its own?
pub fn is_function_word(word: &str) -> bool {
    FUNCTION_WORD_SET.contains(word)
}

/// The base form of an irregular form (`went` -> `go`), or the word itself.
pub fn base_form(word: &str) -> &str {
    BASE_FORMS.get(word).copied().unwrap_or(word)
}
