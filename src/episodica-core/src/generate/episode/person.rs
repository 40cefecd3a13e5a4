//! From what somebody says of themself to what is told of them: "I moved" by Maya -> "Maya moved".
//!
//! Only sentences whose grammar stays right are rewritten: one first-person subject near the front,
//! a verb whose third-person form is known, nobody addressed. Everything else is left to be quoted,
//! so that no statement says more than the speaker did.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Verbs whose third-person form adds an `s`; their plain form after "I" is the present tense.
const PRESENT: &str = "admire agree aim appreciate ask attend avoid bake believe belong blame bring build buy call care carry check clean climb collect come commute \
    consider cook count cycle dance deal depend deserve design disagree dislike dream drink drive earn eat enjoy exercise expect feel find follow forget get give go grow guess \
    hate have hear help hold hope imagine intend jog join keep know lack lead learn leave like listen live look love make manage mean mind miss move need notice \
    own paint pay plan play practise practice prefer promise publish record recommend remember rent rely run save say see seem sell send serve share sing sit sleep \
    smell sound speak spend stand start stay struggle study suffer suggest support suppose swear swim take talk teach tend thank think train translate travel treat trust try understand \
    use visit volunteer wait wake walk want watch wear wish wonder work worry write";

/// Irregular past forms, which are the same in every person. Forms that are also the present
/// ("put", "read") are left out.
const PAST: &str = "ate became began bent bit blew bought broke brought built burnt came caught chose did dreamt drew drank drove dug fell felt fought found flew forgot gave got \
    grew had heard held hid kept knew laid learnt led left lent lost made meant met paid ran rang rode rose said sang sat saw sent shook shot slept sold spent spoke spilt stole stood \
    struck stuck swam swore taught thought threw told took tore understood was went woke won wore wrote";

/// Auxiliaries that are the same in every person.
const MODALS: &str = "can could will would shall should may might must can't cannot couldn't won't wouldn't shouldn't mustn't had hadn't did didn't was wasn't used";

/// Adverbs that may stand between "I" and its verb.
const ADVERBS: &str = "also just really still always never often usually sometimes recently finally actually already only now even probably definitely totally mostly mainly currently \
    generally normally rarely suddenly simply truly certainly once almost nearly eventually barely hardly honestly literally absolutely accidentally secretly then first";

/// Words for the listener or for a group: a sentence that holds one is quoted.
const OTHERS_MEANT: &str = "you your yours yourself you're you've you'll you'd we us our ours ourselves we're we've we'll we'd let's u ur y'all";

/// Words that may stand before "I" in a sentence whose subject it is: adverbs and times, nothing
/// that has a subject of its own.
const LEADING: &str = "also actually honestly luckily sadly unfortunately finally recently lately today yesterday tonight tomorrow now then later currently once sometimes usually \
    on in at for since the of last this next past every week weekend month year night morning afternoon evening day days weeks months years ago monday tuesday \
    wednesday thursday friday saturday sunday january february march april may june july august september october november december spring summer autumn winter \
    after before that first second so and but";

/// Openings that carry nothing and are dropped from a rewritten sentence.
const FILLERS: &str = "oh yeah yes yep well haha hahaha wow hey ok okay ah hmm so and but right sure anyway no nope aw lol";

/// A list as a set.
type List = LazyLock<HashSet<&'static str>>;

static PRESENT_SET: List = LazyLock::new(|| PRESENT.split_whitespace().collect());
static PAST_SET: List =
    LazyLock::new(|| PAST.split_whitespace().chain(MODALS.split_whitespace()).collect());
static ADVERB_SET: List = LazyLock::new(|| ADVERBS.split_whitespace().collect());
static OTHERS_SET: List = LazyLock::new(|| OTHERS_MEANT.split_whitespace().collect());
static LEADING_SET: List = LazyLock::new(|| LEADING.split_whitespace().collect());
static FILLER_SET: List = LazyLock::new(|| FILLERS.split_whitespace().collect());

/// Is it worth trying [`english`]: does the sentence hold an "I", or open with "My"?
pub(super) fn may_be_english(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    let whole = |at: usize| {
        let before = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        // "I ", "I'm", "I’m", "im ", "ive ".
        before && matches!(bytes.get(at + 1), Some(b' ' | b'\'' | 0xe2 | b'm' | b'v'))
    };
    sentence.starts_with("My ")
        || bytes.iter().enumerate().any(|(at, byte)| matches!(byte, b'I' | b'i') && whole(at))
}

/// The third-person form of an English sentence of `name`'s, or `None` where it must be quoted.
pub(super) fn english(sentence: &str, name: &str) -> Option<String> {
    if sentence.len() > 400
        || sentence.contains(['"', '“', '”', '?', '`', '\n', '{', '<', '…'])
        || sentence.contains("...")
        || name.is_empty()
    {
        return None;
    }
    let mut words: Vec<&str> = sentence.split(' ').filter(|word| !word.is_empty()).collect();
    while words.len() > 2
        && words[0].ends_with([',', '!', '.'])
        && FILLER_SET.contains(&*bare(words[0]))
    {
        words.remove(0);
    }
    let bares: Vec<String> = words.iter().map(|word| bare(word)).collect();
    if bares.iter().any(|word| OTHERS_SET.contains(&**word)) {
        return None;
    }
    let subjects = bares.iter().filter(|word| is_subject(word)).count();
    let subject = bares.iter().position(|word| is_subject(word));
    let opens_with_my = bares.first().is_some_and(|word| word == "my");
    match subject {
        Some(at)
            if subjects == 1
                && at <= 6
                && bares[..at]
                    .iter()
                    .all(|word| LEADING_SET.contains(&**word) || word.parse::<u32>().is_ok()) => {}
        None if opens_with_my => {}
        _ => return None,
    }
    // "They give me strength": two meanings of "them" in one sentence.
    let others = bares
        .iter()
        .any(|word| matches!(&**word, "they" | "them" | "their" | "they're" | "they've"));
    if others && bares.iter().any(|word| matches!(&**word, "my" | "me" | "mine" | "myself")) {
        return None;
    }
    let mut out: Vec<String> = Vec::with_capacity(words.len() + 1);
    let mut named = false;
    let mut at = 0;
    while at < words.len() {
        let (word, lower) = (words[at], &*bares[at]);
        let tail = word.trim_start_matches(|c: char| c.is_alphanumeric() || c == '\'' || c == '’');
        let possessive = possessive(name);
        match lower {
            _ if is_subject(lower) => {
                let rest = conjugate(lower, name, &words[at + 1..], &bares[at + 1..], &mut out)?;
                named = true;
                at += 1 + rest;
                continue;
            }
            "my" => out.push(if named { "their".to_owned() } else { possessive }),
            "me" => out.push(format!("{}{tail}", if named { "them" } else { name })),
            "mine" => out.push(format!("{}{tail}", if named { "theirs" } else { &possessive })),
            "myself" => out.push(format!("themselves{tail}")),
            _ => out.push(word.to_owned()),
        }
        named |= matches!(lower, "my" | "me" | "mine");
        at += 1;
    }
    Some(finish(&out.join(" ")))
}

fn is_subject(word: &str) -> bool {
    matches!(word, "i" | "i'm" | "i've" | "i'll" | "i'd" | "im" | "ive")
}

/// Pushes the name and the words up to the verb, with the verb in the third person; the number of
/// words taken after the subject.
fn conjugate(
    subject: &str,
    name: &str,
    words: &[&str],
    bares: &[String],
    out: &mut Vec<String>,
) -> Option<usize> {
    out.push(name.to_owned());
    match subject {
        "i'm" | "im" => out.push("is".to_owned()),
        "i've" | "ive" => out.push("has".to_owned()),
        "i'll" => out.push("will".to_owned()),
        "i'd" => {
            let next = bares.first()?;
            if !matches!(&**next, "love" | "like" | "rather" | "prefer" | "hate" | "say" | "be") {
                return None;
            }
            out.push("would".to_owned());
        }
        _ => {
            let mut taken = 0;
            while taken < 2 && bares.get(taken).is_some_and(|word| ADVERB_SET.contains(&**word)) {
                out.push(words[taken].to_owned());
                taken += 1;
            }
            let (word, lower) = (words.get(taken)?, &**bares.get(taken)?);
            let punctuation =
                word.trim_start_matches(|c: char| c.is_alphanumeric() || c == '\'' || c == '’');
            let form = match lower {
                "am" => "is".to_owned(),
                "have" => "has".to_owned(),
                "haven't" => "hasn't".to_owned(),
                "do" => "does".to_owned(),
                "don't" | "dont" => "doesn't".to_owned(),
                _ if PAST_SET.contains(lower) => lower.to_owned(),
                _ if PRESENT_SET.contains(lower) => {
                    // A second verb would need its ending too: "I bake and sell".
                    if bares[taken + 1..].windows(2).any(|pair| {
                        matches!(&*pair[0], "and" | "or" | "but") && PRESENT_SET.contains(&*pair[1])
                    }) {
                        return None;
                    }
                    third_person(lower)
                }
                _ if lower.len() > 4 && lower.ends_with("ed") && !lower.ends_with("eed") => {
                    lower.to_owned()
                }
                _ => return None,
            };
            out.push(format!("{form}{punctuation}"));
            return Some(taken + 1);
        }
    }
    Some(0)
}

fn third_person(verb: &str) -> String {
    let before_last = verb.bytes().rev().nth(1).unwrap_or(b'a');
    if verb.ends_with('y') && !b"aeiou".contains(&before_last) {
        format!("{}ies", &verb[..verb.len() - 1])
    } else if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("ch") || verb.ends_with("sh") {
        format!("{verb}es")
    } else {
        format!("{verb}s")
    }
}

/// `Maya's`, `James'`.
pub(super) fn possessive(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

/// Lower case without punctuation around it, straight apostrophes.
fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        word.replace('’', "'").to_lowercase()
    }
}

/// A capital letter in front, a full stop at the end.
fn finish(text: &str) -> String {
    let text = text.trim_end_matches(['!', ' ', '~', ',', ';', ':', '-']);
    let mut chars = text.chars();
    let mut out: String = chars.next().map(|c| c.to_uppercase().collect()).unwrap_or_default();
    out.push_str(chars.as_str());
    if !out.ends_with(['.', '?', ')']) {
        out.push('.');
    }
    out
}

/// The third-person form of a Chinese sentence of `name`'s, or `None` where it must be quoted.
pub(super) fn chinese(sentence: &str, name: &str) -> Option<String> {
    let mut text = sentence;
    while let Some(rest) = ["嗯", "哈哈", "对了", "哦", "啊", "是的", "对", "好的"]
        .iter()
        .find_map(|filler| text.strip_prefix(filler)?.strip_prefix(['，', ',', '、', '！', '!']))
    {
        text = rest.trim_start();
    }
    let unsafe_words = ["我们", "咱", "你", "您", "“", "\"", "？", "?", "吗", "…", "`"];
    if sentence.len() > 600 || unsafe_words.iter().any(|word| text.contains(word)) {
        return None;
    }
    let at = text.find('我')?;
    if text[..at].chars().count() > 4 || text[..at].contains(['，', ',']) {
        return None;
    }
    let rest = &text[at + '我'.len_utf8()..];
    // "我妈" is "Maya's mother", not a name of its own.
    let kin = rest.starts_with([
        '妈', '爸', '哥', '姐', '弟', '妹', '奶', '爷', '外', '老', '同', '朋', '妻', '婆', '叔',
        '姑', '舅', '姨',
    ]);
    let rest = rest.replace("我的", "自己的").replace("我自己", "自己");
    if rest.contains('我') {
        return None;
    }
    let spaced = name.ends_with(|c: char| c.is_ascii_alphanumeric());
    let mut out = format!(
        "{}{name}{}{}{rest}",
        &text[..at],
        if spaced { " " } else { "" },
        if kin { "的" } else { "" }
    );
    let end = out.trim_end_matches(['!', '！', '~', '～', ' ', '.', '。']).len();
    out.truncate(end);
    out.push('。');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_person_becomes_third_where_grammar_allows() {
        for (said, told) in [
            ("I moved to Lyon last Friday!", "Maya moved to Lyon last Friday."),
            ("Yeah, I've just started at my new job.", "Maya has just started at their new job."),
            ("I really love pottery.", "Maya really loves pottery."),
            ("My sister Lena is pregnant!", "Maya's sister Lena is pregnant."),
            ("I don't drive", "Maya doesn't drive."),
            ("Last week I fell and broke my ankle.", "Last week Maya fell and broke their ankle."),
            ("I’m allergic to walnuts.", "Maya is allergic to walnuts."),
            ("I study at night.", "Maya studies at night."),
        ] {
            assert_eq!(english(said, "Maya").as_deref(), Some(told), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_told_safely_is_left_to_be_quoted() {
        for said in [
            "Did I tell you?",
            "We moved.",
            "I think you know.",
            "I bake and sell bread.",
            "Lena and I left.",
            "It rained.",
            "I yeet it.",
            "I left because I was tired.",
            "I love that they help me.",
        ] {
            assert_eq!(english(said, "Maya"), None, "{said}");
        }
        assert_eq!(chinese("我们走吧。", "林晓禾"), None);
    }

    #[test]
    fn chinese_has_no_endings() {
        assert_eq!(
            chinese("我上周五提了辞职!", "林晓禾").as_deref(),
            Some("林晓禾上周五提了辞职。")
        );
        assert_eq!(
            chinese("我妈买了一箱芒果", "林晓禾").as_deref(),
            Some("林晓禾的妈买了一箱芒果。")
        );
        assert_eq!(
            chinese("嗯，我搬到了我的新家", "Maya").as_deref(),
            Some("Maya 搬到了自己的新家。")
        );
    }
}
