//! General word lists of the lexical index: function words, irregular forms, words that tell a
//! time.

use std::sync::LazyLock;

use rustc_hash::{FxHashMap, FxHashSet};

/// English articles, pronouns, prepositions, conjunctions, question words and auxiliaries.
const FUNCTION_WORDS: &str = "a an the this that these those and or but if so than then as of at by for with about to from in on into onto over under \
    up down out off i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs who whom whose which what \
    when where why how is am are was were be been being do does did done doing have has had having will would shall should can could may might must \
    no not nor there here just very too also";

/// Irregular English forms after their base form, one group between bars. Only everyday verbs and
/// nouns.
const IRREGULAR_FORMS: &str = "\
    go goes went gone|get got gotten|make made|take took taken|come came|see saw seen|know knew known|think thought|say said|tell told\
    |give gave given|find found|feel felt|leave left|keep kept|begin began begun|bring brought|buy bought|build built|catch caught|choose chose chosen\
    |draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|fight fought|fly flew flown|forget forgot forgotten\
    |grow grew grown|hear heard|hold held|lead led|learn learnt|lend lent|lose lost|mean meant|meet met|pay paid|ride rode ridden|ring rang rung\
    |rise rose risen|run ran|sell sold|send sent|shake shook shaken|sing sang sung|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood\
    |steal stole stolen|swim swam swum|teach taught|throw threw thrown|understand understood|wake woke woken|wear wore worn|win won\
    |write wrote written|break broke broken|bite bit bitten|blow blew blown|dream dreamt|freeze froze frozen|hide hid hidden|show shown|stick stuck\
    |strike struck|swear swore sworn|tear tore torn|child children|person people|man men|woman women|wife wives|life lives|foot feet|tooth teeth\
    |mouse mice|shoot shot|seek sought|sweep swept|bend bent|bind bound|deal dealt|dig dug|feed fed|flee fled|forgive forgave forgiven|hang hung\
    |lay laid|light lit|shine shone|sink sank sunk|slide slid|spin spun|become became";

/// English words that place something in time.
const TIME_WORDS: &str = "yesterday today tonight tomorrow last next ago week weeks weekend month months year years monday tuesday wednesday thursday \
    friday saturday sunday january february march april june july august september october november december since morning recently";

/// Chinese words that place something in time.
const TIME_WORDS_CJK: &[&str] = &[
    "昨",
    "今天",
    "明天",
    "上周",
    "下周",
    "去年",
    "今年",
    "明年",
    "上月",
    "上个月",
    "下月",
    "下个月",
    "星期",
    "周一",
    "周二",
    "周三",
    "周四",
    "周五",
    "周六",
    "周日",
    "周末",
];

static FUNCTION_WORD_SET: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| FUNCTION_WORDS.split_whitespace().collect());
static TIME_WORD_SET: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| TIME_WORDS.split_whitespace().collect());

static BASE_FORMS: LazyLock<FxHashMap<&str, &str>> = LazyLock::new(|| {
    let groups = IRREGULAR_FORMS.split('|').map(str::split_whitespace);
    groups
        .filter_map(|mut group| group.next().map(|base| group.map(move |form| (form, base))))
        .flatten()
        .collect()
});

/// Does the word, in lower case, carry no meaning of its own?
pub fn is_function_word(word: &str) -> bool {
    FUNCTION_WORD_SET.contains(word)
}

/// The base form of an irregular form (`went` -> `go`), or the word itself.
pub fn base_form(word: &str) -> &str {
    BASE_FORMS.get(word).copied().unwrap_or(word)
}

/// Does the word (or run of unspaced script), in lower case, place something in time?
pub fn tells_time(word: &str, unspaced: bool) -> bool {
    match unspaced {
        true => TIME_WORDS_CJK.iter().any(|listed| word.contains(listed)),
        false => TIME_WORD_SET.contains(word),
    }
}
