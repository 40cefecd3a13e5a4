//! A denial ends the fact that it denies: "I no longer take metformin." ends "I take metformin
//! twice a day."
//!
//! The two must say nearly the same: all words of the denying clause occur in the fact except
//! function words, the fact begins with one of them, and has few others. Looser rules were wrong
//! each time that they applied to real chats (`docs/decisions/035`).

use std::collections::HashSet;

use crate::fork::ForkLazy;
use crate::generate::facts::{is_asserted, tells_the_past};
use crate::index::for_each_term;
use crate::model::SemanticMemory;
use crate::text::PhraseTable;
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

/// Chinese characters that add nothing to a denial, among them numerals and times of day.
const EMPTY_HAN: &str = "\
    我俩们咱的了是已经再也现在目前那这只个家吧呢啊不没有就都条位去还从跟和辆\
    一二三四五六每天周早晚";

/// Maximum number of words with content in a fact that do not occur in the denial. A denial of one
/// word ends only a fact of that word: "We don't talk any more" does not end "I'm talking on the
/// phone".
const MORE_WORDS: usize = 2;

/// What a sentence denies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Denial {
    language: Option<QueryLanguage>,
    /// Stems of the denied words; for Chinese, their characters.
    stems: Vec<String>,
    /// Index terms of the clause.
    pub terms: Vec<String>,
}

/// The denial of a fact's text; `None` if it denies nothing of the speaker.
pub(crate) fn denied(content: &str, subject: &str) -> Option<Denial> {
    // Most texts deny nothing; this test is cheap.
    static LAST_WORDS: ForkLazy<PhraseTable<()>> = ForkLazy::new(|| {
        let marks = DENIALS.iter().filter_map(|(_, marks)| marks.last()?.trim().rsplit(' ').next());
        PhraseTable::new(marks.map(|mark| (mark, ())))
    });
    if !LAST_WORDS.are_in(&fold(content)) {
        return None;
    }
    let text = plain(content, subject);
    let (clause, (name, marks)) = clauses(&text).into_iter().find_map(|clause| {
        let row = DENIALS.iter().find(|row| matches(&clause, row))?;
        Some((clause, *row))
    })?;
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
    let marked: HashSet<&str> = marks.iter().flat_map(|mark| mark.split_whitespace()).collect();
    let kept = words.iter().filter(|word| !marked.contains(*word)).copied();
    let stems: Vec<String> = if name == "chinese" {
        han_words(&clause)
    } else {
        kept.filter_map(|word| stem(word, language)).collect()
    };
    // One Chinese character says too little.
    if stems.len() < if name == "chinese" { 2 } else { 1 } {
        return None;
    }
    let mut terms = Vec::new();
    for_each_term(&clause, |term| terms.push(term.text.to_owned()));
    Some(Denial { language, stems, terms })
}

/// True if a denial ends a fact of the same subject.
pub(crate) fn ends(denial: &Denial, fact: &SemanticMemory) -> bool {
    if !fact.is_current() || fact.is_procedure() {
        return false;
    }
    let text = plain(&fact.content, &fact.subject);
    let known: Vec<String> = if text.contains(is_han) {
        han_words(&text)
    } else {
        words(&text).filter_map(|word| stem(word, denial.language)).collect()
    };
    let more = if denial.stems.len() > 1 { MORE_WORDS } else { 0 };
    // "My sister lives in Leeds" begins with another word than "I no longer live in Leeds".
    known.first().is_some_and(|first| denial.stems.contains(first))
        && known.len() <= denial.stems.len() + more
        && denial.stems.iter().all(|stem| known.contains(stem))
        && !is_past(&fact.content)
        && denied(&fact.content, &fact.subject).is_none()
}

/// True if a fact is about the past. In Chinese, 了 also means a change that lasts.
fn is_past(content: &str) -> bool {
    if content.contains(is_han) {
        return content.contains('过');
    }
    tells_the_past(&content.replace(" called ", " ").replace(" named ", " "))
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
    let marks = [',', ';', ':', '!', '?', '。', '、', '–', '\u{2014}'];
    let clauses = text.split(marks).flat_map(|part| part.split(". "));
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

/// The stem of a word; `None` for a word without content.
fn stem(word: &str, language: Option<QueryLanguage>) -> Option<String> {
    let is_function = match language {
        Some(language) => language.is_function_word(word),
        None => is_function_word(word),
    };
    let is_single = word.chars().count() == 1 && !word.starts_with(|c: char| c.is_ascii_digit());
    // The stemmer reads "lives" as the plural of "life"; adverbs such as "sadly" add nothing.
    let word = if word == "lives" { "live" } else { word };
    (!is_function && !is_single && !word.ends_with("ly"))
        .then(|| stem_in(language, word).into_owned())
}

/// The characters of a Chinese text that have content, and its words in Latin script.
fn han_words(text: &str) -> Vec<String> {
    let text = text.replace("上班", "工作");
    let han = text.chars().filter(|c| is_han(*c) && !EMPTY_HAN.contains(*c));
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
            ("Ann smokes.", "Ann no longer smokes."),
            ("Ann: \"Ich nehme Metformin am Abend.\"", "Ann: \"Ich nehme Metformin nicht mehr.\""),
            ("Ann: \"Je prends du fer le matin.\"", "Ann: \"Je ne prends plus du fer.\""),
            ("Ann: \"Tomo hierro por la mañana.\"", "Ann: \"Ya no tomo hierro.\""),
            ("安每天上瑜伽课。", "安不再上瑜伽课了，现在每天跑步。"),
            (
                "Ann lives in a small flat in Leeds.",
                "Ann doesn't live in Leeds any more, by the way.",
            ),
            (
                "Ann: \"Ich bin mit Lena zusammen.\"",
                "Ann: \"Mit Lena bin ich nicht mehr zusammen.\"",
            ),
            ("Ann: \"J'ai une moto.\"", "Ann: \"Je n'ai plus de moto.\""),
            ("Ann: \"j'habite à Rennes\"", "Ann: \"j'habite plus à Rennes\""),
            ("Ann lives in lyon with Ann's cousin.", "Ann: \"dont live in lyon anymore\""),
            ("安每周三晚上上瑜伽课。", "安不再上瑜伽课了。"),
            ("安有一只猫。", "安没有猫了。"),
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
            ("Ann smokes a pack a day.", "Ann no longer smokes."),
            ("Ann needs to get up early.", "Ann: \"I dont really need any more\""),
            ("Ann is talking on Ann's phone.", "Ann: \"we dont talk anymore\""),
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
