//! A denial ends the fact that it denies: "I no longer take metformin." ends "I take metformin
//! twice a day."
//!
//! The earlier fact must be the speaker's own, contain all words of the denying clause except
//! function words, and describe a state, since an event stays true.

use std::collections::HashSet;

use super::decide::is_single_valued;
use crate::generate::facts::{is_asserted, tells_the_past};
use crate::index::for_each_term;
use crate::model::SemanticMemory;
use crate::text::script::is_han;
use crate::text::tongue::{QueryLanguage, stem_in};
use crate::text::vocabulary::is_function_word;
use crate::text::words::fold;

/// Negations that say that a state is over: the language, and words that occur in this order. Texts
/// are compared without accents and apostrophes. Verbs such as "quit", "stopped" or "sold" are not
/// among them: in 52,367 messages of real chats they ended two facts, both still true.
const DENIALS: [(&str, &[&str]); 22] = [
    ("english", &[" no longer "]),
    ("english", &[" not ", " anymore "]),
    ("english", &[" not ", " any more "]),
    ("english", &[" not ", " any longer "]),
    ("german", &[" nicht mehr "]),
    ("german", &[" nimmer "]),
    ("german", &[" kein ", " mehr "]),
    ("german", &[" keine ", " mehr "]),
    ("german", &[" keinen ", " mehr "]),
    ("german", &[" keiner ", " mehr "]),
    ("spanish", &[" ya no "]),
    ("spanish", &[" no ", " mas "]),
    ("french", &[" ne ", " plus "]),
    ("french", &[" n ", " plus "]),
    ("french", &[" je ", " plus "]),
    ("french", &[" j ", " plus "]),
    ("italian", &[" non ", " piu "]),
    ("portuguese", &[" ja nao "]),
    ("chinese", &["不再"]),
    ("chinese", &["不", "了"]),
    ("chinese", &["没有", "了"]),
    ("chinese", &["没再"]),
];

/// Words after a bare "plus" that deny; before an adjective it compares.
const AFTER_PLUS: &str = "a au aux chez dans de d du en avec le la les l mon ma mes";
/// English contractions as they are typed, and their words.
const TYPED: [(&str, &str); 10] = [
    (" dont ", " do not "),
    (" doesnt ", " does not "),
    (" isnt ", " is not "),
    (" arent ", " are not "),
    (" havent ", " have not "),
    (" hasnt ", " has not "),
    (" cant ", " can not "),
    (" aint ", " am not "),
    (" im ", " i am "),
    (" ive ", " i have "),
];

/// Words between clauses.
const JOINTS: [&str; 17] = [
    " because ",
    " since ",
    " but ",
    " so ",
    " and ",
    " weil ",
    " und ",
    " aber ",
    " porque ",
    " y ",
    " pero ",
    " parce que ",
    " et ",
    " mais ",
    " perche ",
    " ma ",
    " mas ",
];

/// Other people, and words that open a clause within the clause: such a denial is not of the
/// speaker's own state. "el", "la" and "es" have other meanings, too.
const OTHERS: [(&str, &str); 4] = [
    (
        "english",
        "he she they it you him her them his their your why what how where who whose whether if",
    ),
    ("german", "er sie es du ihr ihm ihn ihnen dir dich man sein warum was wie wo wer ob wenn"),
    ("french", "il elle ils elles tu vous lui leur pourquoi quoi comment ou qui que qu quand"),
    ("spanish", "ella ellos ellas usted ustedes tu te le les que quien donde como cuando"),
];
/// Chinese words for others.
const OTHERS_HAN: [char; 5] = ['他', '她', '它', '你', '您'];
/// Spanish pronouns between the denial and its verb.
const CLITICS: [&str; 9] = ["te", "se", "lo", "la", "los", "las", "le", "les", "nos"];

/// Words of the first person: subjects, and Spanish verbs that leave the subject out.
const SUBJECTS: [&str; 13] =
    ["i", "we", "ich", "wir", "je", "j", "nous", "on", "yo", "tengo", "tenemos", "soy", "estoy"];

/// Words that add nothing to a denial.
const FILLERS: &str = "\
    now sadly unfortunately actually currently anymore more longer really last week month \
    year today ve re ll leider ubrigens inzwischen mittlerweile jetzt mehr seit ahora \
    desgraciadamente lamentablemente malheureusement maintenant depuis voila user together \
    zusammen letzte letzten know think care feel remember sure understand weiss se sais \
    recuerdo there dort letztem heute hoy aujourd hab lol btw every away rid off up luckily \
    finally";
/// Chinese characters that add nothing to a denial, as part of a sentence.
const FILLERS_HAN: &str = "\
    我俺们咱的了是已经再也现在目前那这只个家吧呢啊不没有在就都条位种去还用户知道记得懂早从\
    跟和辆分手戒退卖";

/// Verbs without content of their own: a denial with one word besides them ends only facts with the
/// same verb.
const BE: &[&str] = &[
    "am", "is", "are", "m", "bin", "ist", "sind", "suis", "est", "sommes", "soy", "es", "somos",
    "estoy",
];
const HAVE: &[&str] = &[
    "have", "has", "own", "owns", "got", "drive", "drives", "ride", "rides", "habe", "hab",
    "haben", "hat", "fahre", "ai", "avons", "tengo",
];
/// Prepositions of place.
const PLACE: &[&str] = &[
    "at", "in", "on", "with", "bei", "beim", "im", "mit", "en", "con", "chez", "dans", "au", "avec",
];
/// A denial with one word ends only facts with at most this many words with content.
const MAX_WORDS_OF_ONE: usize = 6;
/// Stems of verbs with the same meaning in a denial, and the slots that stand for them. A fact with
/// a verb of another row is about something else.
const VERBS: [(&[&str], &[&str]); 3] = [
    (&["home"], &["live", "wohn", "leb", "viv", "habit", "住"]),
    (&["employer", "role"], &["work", "job", "arbeit", "trabaj", "travaill", "工", "作"]),
    (
        &[],
        &[
            "love", "like", "hate", "enjoy", "prefer", "visit", "lieb", "mag", "hass", "gust",
            "encant", "aim", "ador", "喜", "爱",
        ],
    ),
];
/// Words that a fact must contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequiredWords {
    None,
    Be,
    Have,
}

/// What a sentence denies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Denial {
    language: Option<QueryLanguage>,
    /// Stems of the denied words; for Chinese, their characters.
    stems: Vec<String>,
    /// Words besides the stems that the fact must contain.
    needs: RequiredWords,
    /// Index terms of the clause.
    pub terms: Vec<String>,
}

/// The denial of a fact's text; `None` if it denies nothing of the speaker.
pub(crate) fn denied(content: &str, subject: &str) -> Option<Denial> {
    // Most texts deny nothing; this test is cheap.
    let folded = fold(content);
    let may_deny = |(_, marks): &(&str, &[&str])| {
        let last = marks.last().and_then(|mark| mark.trim().rsplit(' ').next());
        last.is_some_and(|last| folded.contains(last))
    };
    if !DENIALS.iter().any(may_deny) {
        return None;
    }
    let text = plain(content, subject);
    let (clause, row) = clauses(&text).into_iter().find_map(|clause| {
        let row = DENIALS.iter().find(|row| matches(&clause, row))?;
        Some((clause, row))
    })?;
    let (name, marks) = *row;
    let is_chinese = name == "chinese";
    let marked: HashSet<&str> = marks.iter().flat_map(|mark| mark.split_whitespace()).collect();
    let words: Vec<&str> = words(&clause).collect();
    let others = OTHERS.iter().find(|(of, _)| *of == name).map_or("", |(_, words)| words);
    let is_other = |word: &&str| others.split(' ').any(|other| other == *word);
    if words.iter().any(is_other)
        || clause.contains(OTHERS_HAN)
        || name == "spanish" && !is_first_person(&words)
        || has_quotation(content)
        || !is_asserted(content)
    {
        return None;
    }
    let language = QueryLanguage::named(name);
    let stems: Vec<String> = if is_chinese {
        han_words(&clause)
    } else {
        let kept = without_since(&words).filter(|word| !marked.contains(word));
        kept.filter_map(|word| stem(word, language)).collect()
    };
    // One Chinese character says too little.
    if stems.len() < if is_chinese { 2 } else { 1 } {
        return None;
    }
    let has = |forms: &[&str]| words.iter().any(|word| forms.contains(word));
    let needs = if stems.len() > 1 {
        RequiredWords::None
    } else if has(HAVE) {
        RequiredWords::Have
    } else if has(BE) && !has(PLACE) {
        // Not "I'm no longer at Bosch": a place or a group is no quality.
        RequiredWords::Be
    } else {
        RequiredWords::None
    };
    let mut terms = Vec::new();
    for_each_term(&clause, |term| terms.push(term.text.to_owned()));
    Some(Denial { language, stems, needs, terms })
}

/// True if a denial ends a fact of the same subject.
pub(crate) fn ends(denial: &Denial, fact: &SemanticMemory) -> bool {
    if !fact.is_current() || fact.is_procedure() {
        return false;
    }
    let is_slot = is_single_valued(&fact.attribute) || fact.attribute == "has";
    let text = plain(&fact.content, &fact.subject);
    let words: Vec<&str> = words(&text).collect();
    let known: Vec<(String, usize)> = if text.contains(is_han) {
        han_words(&text).into_iter().zip(0..).collect()
    } else {
        let stems = words.iter().zip(0..);
        stems.filter_map(|(word, at)| Some((stem(word, denial.language)?, at))).collect()
    };
    // "I don't work at the bakery any more" also ends "back from my shift at the bakery", but not
    // "I live above the bakery".
    let row_of = |stem: &str| VERBS.iter().position(|(_, stems)| stems.contains(&stem));
    let has_slots = |row: &usize| !VERBS[*row].0.is_empty();
    let meant = denial.stems.iter().find_map(|stem| row_of(stem)).filter(has_slots);
    let stands_for = |row: usize| VERBS[row].0.contains(&fact.attribute.as_str());
    let is_other = (0..VERBS.len()).any(|row| {
        let says = known.iter().any(|(stem, _)| row_of(stem) == Some(row));
        meant != Some(row) && (says || stands_for(row))
    });
    let is_known = |stem: &String| known.iter().any(|(other, _)| other == stem);
    let is_meant = |stem: &String| meant.is_some() && row_of(stem) == meant && !is_other;
    let has_verb = |forms: &[&str]| words.iter().any(|word| forms.contains(word));
    let is_short = known.len() <= MAX_WORDS_OF_ONE;
    denial.stems.iter().all(|stem| is_known(stem) || is_meant(stem))
        && denial.stems.iter().any(is_known)
        && (denial.stems.len() > 1 || is_slot || is_short)
        && match denial.needs {
            RequiredWords::None => true,
            RequiredWords::Be => is_slot || has_verb(BE),
            RequiredWords::Have => is_slot || text.contains(['有', '养', '买']) || has_verb(HAVE),
        }
        && is_own(denial, &text, &words, &known)
        && (is_slot || !is_past(&fact.content, &words))
        && denied(&fact.content, &fact.subject).is_none()
}

/// True if a fact is about the past. A verb of the present tense outweighs a participle ("a dog
/// called Rex"); in Chinese, 了 also means a change that lasts.
fn is_past(content: &str, words: &[&str]) -> bool {
    if content.contains(is_han) {
        return content.contains('过');
    }
    let is_present = words.iter().any(|word| BE.contains(word) || HAVE.contains(word));
    !is_present && tells_the_past(&content.replace(" called ", " ").replace(" named ", " "))
}

/// True if the speaker is the subject of the fact, or the denial names its subject.
fn is_own(denial: &Denial, text: &str, words: &[&str], known: &[(String, usize)]) -> bool {
    let first = known.first();
    let names_first = first.is_some_and(|(stem, _)| denial.stems.contains(stem));
    let Some((_, place)) = known.iter().find(|(stem, _)| denial.stems.contains(stem)) else {
        return false;
    };
    if text.contains(is_han) {
        return names_first || !is_of_relative(text);
    }
    let before = &words[..*place];
    let is_speaker = before.iter().any(|word| SUBJECTS.contains(word));
    // "Back from my shift", "working at Bosch".
    let leaves_out = before.first().is_some_and(|word| {
        word.ends_with("ing") || ["just", "back", "still", "finally"].contains(word)
    });
    let is_spanish = denial.language == QueryLanguage::named("spanish");
    let is_first = |word: &&str| word.ends_with(['o', 'y']) || word.ends_with("mos");
    names_first || is_speaker || leaves_out || is_spanish && before.first().is_some_and(is_first)
}

/// True if a Chinese text begins with a relative or an acquaintance of the speaker.
fn is_of_relative(text: &str) -> bool {
    const RELATIVES: &str = "妈爸哥姐弟妹儿女老太先男朋同室邻表堂爷奶外叔姨舅婆公";
    let rest = text.split_once('我').map_or(text, |(_, rest)| rest);
    rest.trim_start_matches(['的', '们']).starts_with(|c| RELATIVES.contains(c))
}

/// The text as it is compared: in the first person, folded, without the marks around a quotation,
/// bracketed dates and apostrophes, with spaces at both ends.
fn plain(content: &str, subject: &str) -> String {
    let mut text = without_brackets(content);
    if !subject.is_empty() {
        let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
        let (name, mut rest) = (lower(subject), lower(&text));
        if let Some(said) = rest.strip_prefix(&name).and_then(|r| r.strip_prefix([':', '：'])) {
            rest = said.to_owned();
        }
        text = if rest.contains(is_han) {
            rest.replace(&format!(" {name} "), "我")
                .replace(&format!("{name} "), "我")
                .replace(&name, "我")
        } else {
            let padded = format!(" {} ", rest.replace('’', "'"));
            padded.replace(&format!(" {name}'s "), " my ").replace(&format!(" {name} "), " i ")
        };
    }
    let mut plain = String::with_capacity(text.len() + 2);
    plain.push(' ');
    let text = text.replace('’', "'").replace("n't", " not");
    plain.push_str(&fold(&text).replace(['\'', '"', '“', '”', '„'], " "));
    plain.push(' ');
    for (typed, words) in TYPED {
        if plain.contains(typed) {
            plain = plain.replace(typed, words);
        }
    }
    plain
}

fn without_brackets(text: &str) -> String {
    let (mut out, mut depth) = (String::with_capacity(text.len()), 0_usize);
    for c in text.chars() {
        match c {
            '[' | '（' => depth += 1,
            ']' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}

/// The clauses of a plain text, each with spaces at both ends.
fn clauses(text: &str) -> Vec<String> {
    let mut marked = text.to_owned();
    for joint in JOINTS {
        marked = marked.replace(joint, " ; ");
    }
    let marks = [',', ';', ':', '!', '?', '。', '、', '–', '\u{2014}'];
    let clauses = marked.split(marks).flat_map(|part| part.split(". "));
    clauses.map(|clause| format!(" {} ", clause.trim_matches([' ', '.']))).collect()
}

fn matches(clause: &str, (language, marks): &(&str, &[&str])) -> bool {
    let mut at = 0;
    let all = marks.iter().all(|mark| match clause[at..].find(mark) {
        Some(found) => {
            at += found + mark.trim_end().len();
            true
        }
        None => false,
    });
    if !all {
        return false;
    }
    let next = words(&clause[at..]).next().unwrap_or_default();
    match *language {
        // Without "ne", "plus" before an adjective compares.
        "french" if [" je ", " j "].contains(&marks[0]) => {
            next.is_empty() || AFTER_PLUS.split(' ').any(|word| word == next)
        }
        // "受不了" is no change.
        "chinese" => !clause.contains("不了"),
        _ => true,
    }
}

fn words(clause: &str) -> impl Iterator<Item = &str> {
    clause.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The words without the day since when the denial holds: "seit Ostern", "depuis le 3 mai".
fn without_since<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    let mut skipped = 0;
    words.iter().copied().filter(move |word| {
        if ["seit", "desde", "depuis"].contains(word) {
            skipped = 1;
            return false;
        }
        let is_skipped = skipped > 0;
        if is_skipped && (word.len() > 3 || skipped > 3) {
            skipped = 0;
        } else if is_skipped {
            skipped += 1;
        }
        !is_skipped
    })
}

/// The stem of a word; `None` for a word without content.
fn stem(word: &str, language: Option<QueryLanguage>) -> Option<String> {
    let is_function = match language {
        Some(language) => language.is_function_word(word),
        None => is_function_word(word),
    };
    let is_single = word.chars().count() == 1 && !word.starts_with(|c: char| c.is_ascii_digit());
    let is_empty = is_function
        || is_single
        || FILLERS.split_whitespace().any(|filler| filler == word)
        || SUBJECTS.contains(&word);
    // The stemmer reads "lives" as the plural of "life".
    let word = if word == "lives" { "live" } else { word };
    (!is_empty).then(|| stem_in(language, word).into_owned())
}

/// The characters of a Chinese text that have content, and its words in Latin script.
fn han_words(text: &str) -> Vec<String> {
    let text = text.replace("上班", "工作");
    let han = text.chars().filter(|c| is_han(*c) && !FILLERS_HAN.contains(*c));
    let latin = words(&text).flat_map(|word| word.split(is_han)).filter(|word| word.len() > 1);
    han.map(String::from).chain(latin.map(str::to_owned)).collect()
}

/// True if the verb after a Spanish denial may be in the first person; Spanish leaves out pronouns.
fn is_first_person(words: &[&str]) -> bool {
    if words.iter().any(|word| ["mi", "mis", "me"].contains(word)) {
        return true;
    }
    let verb = words.iter().skip_while(|word| **word != "no").skip(1);
    let verb = verb.copied().find(|word| !CLITICS.contains(word)).unwrap_or_default();
    verb.ends_with(['o', 'y']) || verb.ends_with("mos")
}

/// True if a fact quotes another text within the speaker's words.
fn has_quotation(content: &str) -> bool {
    let inner = content.trim_end_matches(|c: char| !c.is_alphanumeric());
    let start = inner.find(": \"").map_or(0, |at| at + 3);
    let start = inner.find("：“").map_or(start, |at| at + "：“".len());
    let inner = &inner[start.min(inner.len())..];
    inner.contains(['"', '“', '„', '«', '「', '‘'])
        || inner.starts_with('\'')
        || inner.contains(" '")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;
    use crate::generate::facts::FactCandidate;
    use crate::generate::reconcile::{FactDecision, apply};
    use crate::ids::Owner;
    use crate::model::EventKind;
    use crate::model::MemoryKind;

    fn fact(content: &str) -> SemanticMemory {
        let at = Moment::parse("2024-03-11").expect("valid");
        let candidate = FactCandidate {
            content: content.to_owned(),
            kind: MemoryKind::Entity,
            confidence: 0.8,
            importance: 0.6,
            subject: "Ann".to_owned(),
            attribute: String::new(),
            value: String::new(),
            ends: Vec::new(),
            valid_from: at,
            said: at,
            source_messages: vec!["m0".to_owned()],
        };
        let add = FactDecision {
            event: EventKind::Add,
            target: None,
            content: None,
            reason: String::new(),
        };
        let owner = Owner::new("default", "ann").expect("valid");
        apply(&owner, &candidate, &add, &[], &[], at).records.remove(0)
    }

    fn ended(old: &str, new: &str) -> bool {
        denied(new, "Ann").is_some_and(|terms| ends(&terms, &fact(old)))
    }

    #[test]
    fn a_denial_ends_what_says_all_that_it_denies() {
        for (old, new) in [
            ("Ann takes metformin twice a day.", "Ann no longer takes metformin."),
            ("Ann takes metformin twice a day.", "Ann doesn't take metformin anymore, it worked."),
            ("Ann smokes a pack a day.", "Ann no longer smokes."),
            ("Ann: \"Ich nehme Metformin am Abend.\"", "Ann: \"Ich nehme Metformin nicht mehr.\""),
            ("Ann: \"Je prends du fer le matin.\"", "Ann: \"Je ne prends plus du fer.\""),
            ("Ann: \"Tomo hierro por la mañana.\"", "Ann: \"Ya no tomo hierro.\""),
            ("安每天上瑜伽课。", "安不再上瑜伽课了，现在每天跑步。"),
            (
                "Ann lives in a small flat in Leeds.",
                "Ann doesn't live in Leeds any more, by the way.",
            ),
            ("Ann: \"I'm on the committee of our club.\"", "Ann is no longer on the committee."),
            (
                "Ann: \"We have a poodle called Biscuit.\"",
                "Ann: \"Sadly we no longer have Biscuit.\"",
            ),
            ("Ann: \"Ich rauche zwölf am Tag.\"", "Ann: \"Ich rauche seit Ostern nicht mehr.\""),
            (
                "Ann: \"Ich bin mit Lena zusammen.\"",
                "Ann: \"Mit Lena bin ich nicht mehr zusammen.\"",
            ),
            ("Ann: \"J'ai une vieille moto.\"", "Ann: \"Je n'ai plus de moto.\""),
            ("Ann: \"j'habite à Rennes\"", "Ann: \"j'habite plus à Rennes\""),
            ("Ann lives in lyon with Ann's cousin.", "Ann: \"dont live in lyon anymore\""),
            ("Ann: \"working at bosch as a tester\"", "Ann: \"im not at bosch anymore\""),
            ("Ann: \"Ich arbeite im Rewe an der Kasse\"", "Ann: \"bin nicht mehr bei Rewe\""),
            ("安有一只猫。", "安没有猫了。"),
            ("Ann: \"back from my shift at the bakery\"", "Ann no longer works at the bakery."),
            ("Ann: \"We foster a dog named Pepper\"", "Ann: \"Pepper isn't with us any more\""),
            ("安在一家广告公司上班。", "安不在那家广告公司工作了。"),
            ("安养了一只橘猫。", "那只橘猫安已经不养了。"),
        ] {
            assert!(ended(old, new), "{old} | {new}");
        }
    }

    #[test]
    fn a_denial_ends_no_event_and_nothing_else() {
        for (old, new) in [
            ("Ann broke an ankle on the ledge at Moab.", "Ann no longer climbs without a rope."),
            ("Ann took metformin for a year.", "Ann no longer takes metformin."),
            ("Ann takes metformin twice a day.", "Ann takes metformin."),
            ("Ann takes aspirin.", "Ann no longer takes metformin."),
            ("Ann loves jazz in the evening.", "Ann no longer loves jazz in the car."),
            (
                "Ann knows that seems like an unmature thing to say.",
                "Ann: \"I don't know why it does the things it does anymore.\"",
            ),
            ("Ann no longer smokes.", "Ann no longer smokes."),
            ("Ann lives in Leeds.", "Ann's sister no longer lives in Leeds."),
            ("Ann's sister lives in Leeds.", "Ann no longer lives in Leeds."),
            ("Ann: \"Ich habe einen Hund.\"", "Ann: \"Ich habe keine Lust mehr.\""),
            ("Ann: \"Vivo en Lugo.\"", "Ann: \"Ya no vive en Lugo.\""),
            ("Ann: \"J'ai deux chats.\"", "Ann: \"Je n'ai plus que deux chats.\""),
            ("Ann lives in Leeds.", "If Ann no longer lives in Leeds, Ann will be free."),
            ("Ann lives in Leeds.", "Ann: \"Tom says I no longer live in Leeds.\""),
            ("Ann is vegan.", "Ann: \"'I'm no longer vegan' was the best line.\""),
            ("安住在成都。", "安的妹妹不住在成都了。"),
            ("Ann loves the dog next door.", "Ann no longer has a dog."),
            ("Ann lives above the bakery.", "Ann no longer works at the bakery."),
            ("Ann is from Leeds.", "Ann used to live in Leeds."),
            ("Ann loves Leeds.", "Ann no longer lives in Leeds."),
            ("Ann drinks coffee all day.", "Ann no longer likes coffee."),
            ("Ann loves cookies.", "Ann sold cookies at the fair."),
            ("Ann works with Tom.", "Ann: \"Tom and Lea broke up.\""),
            ("Ann: \"J'ai deux chats.\"", "Ann: \"J'ai plus de chats que toi.\""),
        ] {
            assert!(!ended(old, new), "{old} | {new}");
        }
    }
}
