//! Supersession without a slot: a message that ends an earlier fact of the same speaker about the
//! same thing.
//!
//! Two messages are about the same thing if they share words that few messages have. Only a message
//! with a cue of change ends anything, and only if it gives another value of the same kind, or if
//! the cue is strong and the messages share enough words. A fact that is limited in time,
//! additional to another, or from a dream ends nothing.

use rustc_hash::FxHashSet;

use crate::fork::Lazy;
use crate::generate::episode::{is_common_word, is_stop_char};
use crate::generate::facts::{Candidate, Cues, is_paired};
use crate::index::stem;
use crate::model::{MemoryKind, SemanticMemory};
use crate::text::Language;
use crate::text::script::is_unspaced;
use crate::text::vocabulary::months;
use crate::text::words::{for_each_bigram, for_each_word};

use super::decide::known_value;

/// Minimum number of shared words with which a strong cue ends an earlier fact.
const ENOUGH_SHARED: usize = 2;

/// Everyday words of languages without their own list.
static FOREIGN: Lazy<FxHashSet<&str>> = Lazy::new(|| {
    "\
    ich der die das und ist ein den dem des wir sie ihr mit von vom zum zur auf aus bei bis mir \
    dir que los las una con por del sus les une est qui pas son ses mes per che gli non sul com \
    dos seu sua más las nos \
    aber auch dann dass doch eine einen einem einer euch für habe haben hatte heute ihre immer \
    jetzt kann mehr mein meine mich nach nicht noch oder schon sehr sich sind über uns unser \
    unsere viel wenn wird wieder zwei aquí como cuando desde donde ella ellos esta este esto \
    está están hace hasta hay mucho muy nada para pero poco porque puede siempre sobre también \
    tengo tiene todo todos avec avoir bien chez comme dans depuis donc elle encore être faire \
    fait leur mais même nous pour plus quand sans sont sous tout tous très tu vous anche ancora \
    avere come con cosa dopo fare loro molto nella nelle perché quando questa questo sempre sono \
    tutto tutti uma isso mais meus minha muito nós não onde pelo quando quem também tenho uns \
    você"
        .split(' ')
        .collect()
});

/// Everyday verbs that are nouns after a determiner or a number: "the fits".
static NOUNS_TOO: Lazy<FxHashSet<&str>> = Lazy::new(|| {
    "\
    cast cover cut drive fit flight leave match offer order plan play practice practise ride run \
    shift trip visit walk"
        .split(' ')
        .collect()
});

/// Words that can precede a noun.
static BEFORE_NOUNS: Lazy<FxHashSet<&str>> = Lazy::new(|| {
    "\
    a an another the my our his her their this that no any each one two three four five six \
    single more"
        .split(' ')
        .collect()
});

/// The words that show whether two messages are about the same thing, as index terms, without
/// repetition.
pub(crate) fn topics(text: &str) -> Vec<String> {
    let (mut topics, mut known): (Vec<String>, FxHashSet<String>) = Default::default();
    let mut add = |topic: &str| {
        if !known.contains(topic) {
            known.insert(topic.to_owned());
            topics.push(topic.to_owned());
        }
    };
    let mut noun_follows = false;
    for_each_word(text, |word, unspaced| {
        let may_be_noun = std::mem::replace(&mut noun_follows, BEFORE_NOUNS.contains(word));
        if unspaced {
            for_each_bigram(word, |pair| {
                if !pair.contains(is_stop_char) {
                    add(pair);
                }
            });
            return;
        }
        let base = stem(word);
        let telling = word.len() > 2
            && word.bytes().any(|byte| !byte.is_ascii_digit())
            && (!is_common_word(word) || may_be_noun && is_noun_too(word))
            && !FOREIGN.contains(word)
            && !Cues::is_cue(word);
        if telling {
            add(&base);
        }
    });
    topics
}

fn is_noun_too(word: &str) -> bool {
    NOUNS_TOO.contains(word)
        || word.strip_suffix('s').is_some_and(|singular| NOUNS_TOO.contains(singular))
}

/// True if a message with these cues, whose fact is `candidate`, ends `fact`. `shared` are the
/// topics that it shares with the message of `fact`.
pub(crate) fn ends(
    candidate: &Candidate,
    message: &str,
    cues: Cues,
    fact: &SemanticMemory,
    shared: &[&str],
) -> bool {
    if !fact.is_current() || !cues.may_end() || cues.limit && !cues.end || shared.is_empty() {
        return false;
    }
    if is_other_value(candidate, fact) || is_other_quantity(candidate, fact) {
        return true;
    }
    // Reconciling by attribute handles single-valued slots; a slot says nothing about others.
    let same_slot = fact.attribute.is_empty()
        || is_paired(&fact.attribute)
        || fact.attribute == candidate.attribute;
    let lower = fact.content.to_lowercase();
    let is_about = shared.iter().any(|topic| lower.contains(topic));
    let shares_enough =
        (cues.change || cues.end) && shared.len() >= ENOUGH_SHARED && (is_about || cues.end);
    same_slot && (shares_enough || is_over(message, shared, fact.attribute == "trip", &lower))
}

/// True if one clause both says that something is over and names the topic of the fact. Part of a
/// trip stands for the whole trip.
fn is_over(message: &str, shared: &[&str], is_trip: bool, fact: &str) -> bool {
    let marks = [',', '.', ';', ':', '!', '?', '，', '。', '；', '：', '！', '？'];
    message.split(marks).any(|clause| {
        let cues = Cues::of(clause);
        cues.end
            && cues.is_lasting()
            && topics(clause)
                .iter()
                .any(|topic| shared.contains(&topic.as_str()) && (is_trip || fact.contains(topic)))
    })
}

/// Another number of the same unit: 45 minutes, then an hour and 60 minutes.
fn is_other_quantity(candidate: &Candidate, fact: &SemanticMemory) -> bool {
    if fact.kind == MemoryKind::Event || candidate.kind == MemoryKind::Event {
        return false;
    }
    let (new, old) = (quantities(&candidate.content), quantities(&fact.content));
    new.iter().any(|(unit, _)| {
        let numbers = |all: &[(String, String)]| -> Vec<String> {
            all.iter().filter(|one| one.0 == *unit).map(|one| one.1.clone()).collect()
        };
        let (new, old) = (numbers(&new), numbers(&old));
        !old.is_empty() && !new.iter().any(|number| old.contains(number))
    })
}

/// The numbers of a text in digits, each with its unit: the sign before it or the word after it.
fn quantities(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let before = rest[..start].chars().next_back();
        rest = &rest[start..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',' | ':'));
        let end = end.unwrap_or(rest.len());
        let number = rest[..end].trim_end_matches(['.', ',', ':']);
        let behind = rest[end..].strip_prefix(' ').unwrap_or(&rest[end..]);
        let length = match behind.chars().next() {
            Some(c @ '%') => c.len_utf8(),
            Some(c) if is_unspaced(c) => c.len_utf8(),
            _ => behind.find(|c: char| !c.is_alphabetic()).unwrap_or(behind.len()),
        };
        let unit = match before {
            Some(sign @ ('£' | '$' | '€' | '¥')) => sign.to_string(),
            _ if number.len() < end => String::new(),
            _ => stem(&behind[..length].to_lowercase()).into_owned(),
        };
        if is_function_like(&unit) || is_of_date(&behind[..length]) {
            // "in 2023 we", "7 of them", "3 March": no unit.
        } else if !unit.is_empty() {
            found.push((unit, number.to_owned()));
        }
        rest = &rest[end..];
    }
    found
}

/// True for a part of a date: the name of a month in any language, 年, 月, 日 and 号.
fn is_of_date(word: &str) -> bool {
    matches!(word, "年" | "月" | "日" | "号") || MONTHS.contains(&word.to_lowercase())
}

static MONTHS: Lazy<FxHashSet<String>> = Lazy::new(|| {
    use Language::{English, French, German, Spanish};
    let names = [English, French, German, Spanish].into_iter().flat_map(months);
    names.map(|name| name.to_lowercase()).collect()
});

/// Words after a number that are not units.
fn is_function_like(word: &str) -> bool {
    const WORDS: &str = "and or of in on at the to for from we he she it they is was but with und \
        oder im am von y de en a et le la";
    WORDS.split(' ').any(|listed| listed == word)
}

/// Two values of one kind that can't both hold: 30 mg and 45 mg.
fn is_other_value(candidate: &Candidate, fact: &SemanticMemory) -> bool {
    let kind = |attribute: &str| {
        // "my GP is Dr. Kern" and "I see Dr. Salas now" name the same kind of thing.
        let is_person = attribute == "practitioner" || attribute.starts_with("contact:");
        if is_person { "practitioner".to_owned() } else { attribute.to_owned() }
    };
    let (new, old) = (kind(&candidate.attribute), kind(&fact.attribute));
    is_paired(&new) && new == old && candidate.value != known_value(fact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::generate::reconcile::{Decision, apply};
    use crate::ids::Owner;
    use crate::model::{EventKind, MemoryKind};

    fn candidate(attribute: &str, value: &str, content: &str) -> Candidate {
        Candidate {
            content: content.to_owned(),
            kind: MemoryKind::Entity,
            confidence: 0.8,
            importance: 0.6,
            subject: "Ann".to_owned(),
            attribute: attribute.to_owned(),
            value: value.to_owned(),
            valid_from: Moment::parse("2024-03-11").expect("valid"),
            source_messages: vec!["m0".to_owned()],
        }
    }

    fn fact(attribute: &str, value: &str, content: &str) -> SemanticMemory {
        let owner = Owner::new("default", "ann").expect("valid");
        let add =
            Decision { event: EventKind::Add, target: None, content: None, reason: String::new() };
        let from = candidate(attribute, value, content);
        apply(&owner, &from, &add, &[], &[], from.valid_from).records.remove(0)
    }

    fn ended(old: &SemanticMemory, said: &str, attribute: &str, value: &str) -> bool {
        let (before, after) = (topics(&old.content), topics(said));
        let shared: Vec<&str> =
            after.iter().filter(|topic| before.contains(topic)).map(String::as_str).collect();
        ends(&candidate(attribute, value, said), said, Cues::of_message(said).0, old, &shared)
    }

    #[test]
    fn another_value_of_the_same_thing_ends_the_old_one() {
        let pill = fact("dose", "30 mg", "Ann: \"Biscuit takes 30 mg of the pills for the fits.\"");
        assert!(ended(&pill, "More fits, so Biscuit goes up to 45 mg.", "dose", "45 mg"));
        assert!(!ended(&pill, "Grandpa goes up to 45 mg of aspirin.", "dose", "45 mg"));
        assert!(!ended(&pill, "Biscuit had 45 mg by mistake, poor thing.", "dose", "45 mg"));
    }

    #[test]
    fn a_strong_cue_ends_what_shares_enough() {
        let trip = fact("", "", "Ann booked a cabin in Tromsø with Steph.");
        assert!(ended(&trip, "We cancelled the Tromsø cabin.", "", ""));
        assert!(!ended(&trip, "I cancelled the gym.", "", ""));
        assert!(!ended(&trip, "If Steph cancelled the Tromsø cabin I'd cry.", "", ""));
        let flat = fact("home", "oslo", "Ann lives in a cabin in Oslo.");
        assert!(!ended(&flat, "We cancelled the Oslo cabin.", "", ""));
    }

    #[test]
    fn a_clause_that_ends_one_thing_ends_what_was_said_of_it() {
        let camel = fact("", "", "用户：“鸣沙山的骆驼都约好了。”");
        assert!(ended(&camel, "去不成了，票和骆驼全退了。", "", ""));
        assert!(!ended(&camel, "门票取消了，骆驼还在。", "", ""));
        let bike = fact("", "", "Ann rides a tandem to work.");
        assert!(ended(&bike, "I finally sold the tandem, it rusted.", "", ""));
        assert!(!ended(&bike, "I sold the car, the tandem stays.", "", ""));
    }

    #[test]
    fn another_number_of_the_same_unit_ends_the_old_one_after_a_cue() {
        let choir = fact("", "", "Ann: \"Our choir has 24 singers.\"");
        assert!(ended(&choir, "The choir is down to 19 singers.", "", ""));
        assert!(!ended(&choir, "The choir has 24 singers and 2 dogs now.", "", ""));
        assert!(!ended(&choir, "The choir sang 3 songs now.", "", ""));
        let start = fact("", "", "Nora starts on 3 March 2025.");
        assert!(!ended(&start, "We moved on 9 March, Nora says it's lovely.", "", ""));
    }

    #[test]
    fn an_everyday_verb_is_a_topic_where_it_is_a_noun() {
        assert_eq!(topics("for the fits on another leave"), ["fit", "leav"]);
        assert_eq!(topics("it fits"), Vec::<String>::new());
    }

    #[test]
    fn common_words_and_cues_are_no_topic() {
        assert_eq!(topics("I sold the tandem instead"), ["tandem"]);
        assert_eq!(topics("I went there again because of you"), Vec::<String>::new());
        assert_eq!(topics("Ich habe heute noch eine Platine"), ["platin"]);
    }
}
