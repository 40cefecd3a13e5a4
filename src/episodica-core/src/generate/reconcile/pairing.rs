//! What a message ends that no slot sees: an earlier fact of the same speaker about the same thing.
//!
//! Two messages are about the same thing if they share words that few messages have. Only a message
//! with a cue of change ends anything, and only if it states another value of the same kind, or the
//! cue is strong and they share enough. What is true for a while, beside what holds, or in a dream
//! ends nothing.

use crate::generate::episode::{is_common_word, is_stop_char};
use crate::generate::facts::{Candidate, Cues, is_paired};
use crate::index::stem;
use crate::model::SemanticMemory;
use crate::text::words::{for_each_bigram, for_each_word};

use super::decide::known_value;

/// Shared words by which a strong cue ends what an earlier message said.
const ENOUGH_SHARED: usize = 2;

/// Everyday words of languages that have no list of their own.
const FOREIGN: &str = "\
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
    você";

/// The words by which two messages are seen to be about the same thing, as terms of the index, each
/// once.
pub(crate) fn topics(text: &str) -> Vec<String> {
    let mut topics: Vec<String> = Vec::new();
    let mut add = |topic: &str| {
        if !topics.iter().any(|known| known == topic) {
            topics.push(topic.to_owned());
        }
    };
    for_each_word(text, |word, unspaced| {
        if unspaced {
            for_each_bigram(word, |pair| {
                if !pair.contains(is_stop_char) {
                    add(pair);
                }
            });
            return;
        }
        let telling = word.len() > 2
            && word.bytes().any(|byte| !byte.is_ascii_digit())
            && !is_common_word(word)
            && !FOREIGN.split(' ').any(|common| common == word);
        if telling {
            add(&stem(word));
        }
    });
    topics
}

/// Does a message with these cues, whose fact is `candidate`, end `fact`? `shared` are the topics
/// that it has in common with the message of `fact`.
pub(crate) fn ends(
    candidate: &Candidate,
    cues: Cues,
    fact: &SemanticMemory,
    shared: &[&str],
) -> bool {
    if !fact.is_current() || !cues.may_end() || cues.limit && !cues.end || shared.is_empty() {
        return false;
    }
    if is_other_value(candidate, fact) {
        return true;
    }
    // A slot of one value is looked after by its attribute; of another thing it says nothing.
    let same_slot = fact.attribute.is_empty()
        || is_paired(&fact.attribute)
        || fact.attribute == candidate.attribute;
    let lower = fact.content.to_lowercase();
    let is_about = shared.iter().any(|topic| lower.contains(topic));
    same_slot
        && (cues.change || cues.end)
        && shared.len() >= ENOUGH_SHARED
        && (is_about || cues.end)
}

/// Two values of one kind, of which only one can hold: 30 mg and 45 mg.
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
        ends(&candidate(attribute, value, said), Cues::of(said), old, &shared)
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
    fn common_words_are_no_topic() {
        assert_eq!(topics("I went there again because of you"), Vec::<String>::new());
        assert_eq!(topics("Ich habe heute noch eine Platine"), ["platin"]);
    }
}
