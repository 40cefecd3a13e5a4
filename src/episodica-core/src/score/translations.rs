//! Finds the words of an index that mean what a word of the question means, in the question's
//! language or in another: "Hund" finds "dog" and собака.
//!
//! The lexicon (`assets/lexicon.txt`) lists everyday concepts in eight languages. Only languages in
//! which there are messages are looked up, so English conversations cost nothing. English words
//! are not replaced by other English words, since this found nothing more.

use rustc_hash::{FxHashMap, FxHashSet};

use super::variants::WordVariant;
use crate::fork::ForkLazy;
use crate::index::{Beginning, Postings, first_letters, stem_word};
use crate::text::script::{is_hangul, is_kana, is_unspaced};
use crate::text::tongue::{QueryLanguage, stem_in};
use crate::text::words::fold;

static LEXICON: &str = include_str!("../../assets/lexicon.txt");

/// Weight of one occurrence relative to the word itself: of a translation, and of a synonym in the
/// same language.
const TRANSLATION: f32 = 1.0;
const SYNONYM: f32 = 0.8;
/// Factor for longer words of scripts without spaces: only their first two characters are looked
/// up, and other words start with the same two.
const BEGINNING: f32 = 0.7;
/// Maximum number of concepts per word.
const MEANINGS: usize = 3;
/// Messages count as written in a language if at least `MARKS` of its commonest words occur in
/// them, and do so at least `SHARE` times per message in total.
const MARKS: usize = 4;
const SHARE: f32 = 0.05;
/// Longest word of the lexicon in scripts without spaces, in characters.
const LONGEST: usize = 6;

/// The columns of the lexicon.
const NAMES: [&str; 8] =
    ["", "german", "spanish", "french", "russian", "chinese", "japanese", "korean"];
const ENGLISH: usize = 0;
const CHINESE: usize = 5;
const JAPANESE: usize = 6;
const KOREAN: usize = 7;

/// A word of the lexicon.
struct LexiconWord {
    /// The indexed form; for scripts without spaces, the text to look up.
    form: String,
    /// Its stem in its language; empty for scripts without spaces.
    stem: String,
    /// Weight of one occurrence.
    share: f32,
}

/// The lexicon in one language.
struct LexiconColumn {
    /// The words of each concept.
    words: Vec<Vec<LexiconWord>>,
    /// The concepts of a stem, or of a whole word in scripts without spaces.
    known: FxHashMap<String, Vec<u16>>,
}

/// Loaded lazily, since most conversations are in one language.
static COLUMNS: [ForkLazy<LexiconColumn>; NAMES.len()] = [
    ForkLazy::new(column::<0>),
    ForkLazy::new(column::<1>),
    ForkLazy::new(column::<2>),
    ForkLazy::new(column::<3>),
    ForkLazy::new(column::<4>),
    ForkLazy::new(column::<5>),
    ForkLazy::new(column::<6>),
    ForkLazy::new(column::<7>),
];

static TONGUES: ForkLazy<[Option<QueryLanguage>; NAMES.len()]> =
    ForkLazy::new(|| NAMES.map(QueryLanguage::named));

fn column<const LANGUAGE: usize>() -> LexiconColumn {
    let (mut words, mut known) = (Vec::new(), FxHashMap::<String, Vec<u16>>::default());
    for line in LEXICON.lines().filter(|line| !line.starts_with('#')) {
        let mut concept = Vec::new();
        let column = line.split('|').nth(LANGUAGE).unwrap_or_default();
        for word in column.split_whitespace() {
            let (key, found) = read(LANGUAGE, &fold(word), TONGUES[LANGUAGE]);
            known.entry(key).or_default().push(words.len() as u16);
            concept.extend(found);
        }
        words.push(concept);
    }
    LexiconColumn { words, known }
}

/// Returns the key of a lexicon word in a question, and its form in the index: `None` for a single
/// character of a script without spaces, which is part of too many words.
fn read(
    language: usize,
    word: &str,
    tongue: Option<QueryLanguage>,
) -> (String, Option<LexiconWord>) {
    if language < CHINESE {
        let own = stem_in(tongue, word).into_owned();
        let found =
            LexiconWord { form: stem_word(word).into_owned(), stem: own.clone(), share: 1.0 };
        return (own, Some(found));
    }
    let found = word.char_indices().nth(1).map(|(second, c)| {
        let end = second + c.len_utf8();
        let share = if end == word.len() { 1.0 } else { BEGINNING };
        LexiconWord { form: word[..end].to_owned(), stem: String::new(), share }
    });
    (word.to_owned(), found)
}

/// A word of the question to be translated.
pub(super) struct SoughtWord<'a> {
    /// The folded word.
    pub word: &'a str,
    /// Words of the index that count as occurrences; translations are added here.
    pub variants: Vec<WordVariant>,
}

/// Translates the words of questions into those of one index.
pub(super) struct WordTranslator<'a> {
    postings: &'a Postings,
    /// For each column of the lexicon, true if messages are in its language.
    present: [bool; NAMES.len()],
    /// The column of the question's language, if the lexicon has it.
    own: Option<usize>,
}

impl<'a> WordTranslator<'a> {
    /// Prepares for a question in `tongue`; `None` if the question and all messages are in English.
    pub fn new(
        postings: &'a Postings,
        tongue: Option<QueryLanguage>,
        folded: &str,
    ) -> Option<Self> {
        let mut present = [true; NAMES.len()];
        for (language, name) in NAMES.iter().enumerate().take(CHINESE).skip(1) {
            present[language] =
                QueryLanguage::named(name).is_some_and(|it| is_spoken(postings, it));
        }
        // Languages written without spaces need no such test: their words occur only in texts of
        // their scripts.
        let unspaced = folded.chars().any(is_unspaced);
        let foreign = present[..CHINESE].iter().filter(|present| **present).count() > 1;
        if tongue.is_none() && !unspaced && !foreign && !has_unspaced(postings) {
            return None;
        }
        let own = match tongue {
            Some(tongue) => TONGUES.iter().position(|it| *it == Some(tongue)),
            None => Some(ENGLISH),
        };
        Some(Self { postings, present, own })
    }

    /// Adds to each word of a script with spaces the words of the index that mean the same.
    pub fn translate(&self, sought: &mut [SoughtWord<'_>]) {
        let Some(own) = self.own else { return };
        let mut found: Vec<FxHashMap<String, f32>> = Vec::with_capacity(sought.len());
        let mut inflected = InflectedStems::default();
        for (place, word) in sought.iter().enumerate() {
            let mut forms = FxHashMap::default();
            // A question of few words may be in any language of the messages.
            let languages =
                (ENGLISH..CHINESE).filter(|it| *it == own || own == ENGLISH && self.present[*it]);
            let mut keys = languages.map(|it| (it, stem_in(TONGUES[it], word.word)));
            let known = keys.find(|(it, key)| COLUMNS[*it].known.contains_key(&**key));
            if let Some((language, key)) = known {
                for concept in concepts_of(language, &key) {
                    self.forms(concept, language, &mut forms);
                    self.inflect(concept, language, place, &mut inflected);
                }
            }
            found.push(forms);
        }
        inflected.find(self.postings, &mut found);
        for (word, forms) in sought.iter_mut().zip(found) {
            add(&mut word.variants, forms);
        }
    }

    /// Finds words of the lexicon in a run of a script without spaces, longest first, each with the
    /// words of the index that mean the same.
    pub fn read_run(&self, run: &str, japanese: bool) -> Vec<(String, Vec<WordVariant>)> {
        let language = match run.chars().next() {
            Some(c) if is_hangul(c) => KOREAN,
            _ if japanese => JAPANESE,
            _ => CHINESE,
        };
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).chain([run.len()]).collect();
        let (mut words, mut at) = (Vec::new(), 0);
        while at + 1 < starts.len() {
            let longest = LONGEST.min(starts.len() - 1 - at);
            let word = (1..=longest).rev().map(|length| &run[starts[at]..starts[at + length]]);
            let known = word.into_iter().find(|word| COLUMNS[language].known.contains_key(*word));
            let Some(word) = known else {
                at += 1;
                continue;
            };
            let mut found = vec![FxHashMap::default()];
            let mut inflected = InflectedStems::default();
            for concept in concepts_of(language, word) {
                self.forms(concept, language, &mut found[0]);
                self.inflect(concept, language, 0, &mut inflected);
            }
            inflected.find(self.postings, &mut found);
            let mut variants = Vec::new();
            found.into_iter().for_each(|forms| add(&mut variants, forms));
            if !variants.is_empty() {
                words.push((word.to_owned(), variants));
            }
            at += word.chars().count();
        }
        words
    }

    /// Collects the words of a concept that the index contains in the lexicon's form.
    fn forms(&self, concept: usize, own: usize, forms: &mut FxHashMap<String, f32>) {
        for (language, word) in self.words(concept, own) {
            if self.postings.document_frequency(&word.form) > 0 {
                let share = share(language, own) * word.share;
                let known = forms.entry(word.form.clone()).or_insert(share);
                *known = known.max(share);
            }
        }
    }

    /// Collects the stems of a concept, since the index contains words of other languages with
    /// their endings.
    fn inflect(&self, concept: usize, own: usize, place: usize, inflected: &mut InflectedStems) {
        for (language, word) in self.words(concept, own) {
            if (ENGLISH + 1..CHINESE).contains(&language) {
                inflected.seek(word, language, place, share(language, own));
            }
        }
    }

    /// The words of a concept in the languages of the messages.
    fn words(
        &self,
        concept: usize,
        own: usize,
    ) -> impl Iterator<Item = (usize, &'static LexiconWord)> {
        let languages = (0..NAMES.len()).filter(move |language| {
            self.present[*language] && (*language, own) != (ENGLISH, ENGLISH)
        });
        languages.flat_map(move |language| {
            COLUMNS[language].words[concept].iter().map(move |word| (language, word))
        })
    }
}

/// True if the messages contain the commonest words of a language.
fn is_spoken(postings: &Postings, tongue: QueryLanguage) -> bool {
    let (mut marks, mut records) = (0, 0);
    for mark in tongue.marks() {
        let frequency = postings.document_frequency(&stem_word(mark));
        marks += usize::from(frequency > 0);
        records += frequency;
    }
    marks >= MARKS && records as f32 >= SHARE * postings.len() as f32
}

/// True if the messages contain the commonest characters of scripts without spaces.
fn has_unspaced(postings: &Postings) -> bool {
    ["的", "我", "の", "は", "이", "다", "가"]
        .iter()
        .any(|character| postings.document_frequency(character) > 0)
}

fn concepts_of(language: usize, key: &str) -> impl Iterator<Item = usize> {
    let known = COLUMNS[language].known.get(key).map_or(&[][..], Vec::as_slice);
    known.iter().take(MEANINGS).map(|concept| usize::from(*concept))
}

fn share(language: usize, own: usize) -> f32 {
    if language == own { SYNONYM } else { TRANSLATION }
}

/// Adds words that are not among the variants yet, in a fixed order.
fn add(variants: &mut Vec<WordVariant>, forms: FxHashMap<String, f32>) {
    let known: FxHashSet<String> = variants.iter().map(|variant| variant.text.clone()).collect();
    let new = forms.into_iter().filter(|(text, _)| !known.contains(text));
    let mut new: Vec<WordVariant> = new.map(|(text, share)| WordVariant { text, share }).collect();
    new.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.text.cmp(&b.text)));
    variants.append(&mut new);
}

/// A stem whose inflected forms are sought.
struct WordStem {
    language: usize,
    stem: &'static str,
    /// Position of the word that it translates.
    place: usize,
    share: f32,
}

/// Stems by their first letters, which the index uses to find terms.
#[derive(Default)]
struct InflectedStems {
    sought: FxHashMap<Beginning, Vec<WordStem>>,
}

impl InflectedStems {
    fn seek(&mut self, word: &'static LexiconWord, language: usize, place: usize, share: f32) {
        if let Some(first) = first_letters(&word.form) {
            let stem = WordStem { language, stem: &word.stem, place, share };
            self.sought.entry(first).or_default().push(stem);
        }
    }

    fn find(&self, postings: &Postings, found: &mut [FxHashMap<String, f32>]) {
        for (first, sought) in &self.sought {
            for term in postings.terms_with(*first) {
                for WordStem { language, stem, place, share } in sought {
                    if stem_in(TONGUES[*language], term) == *stem {
                        let known = found[*place].entry(term.to_owned()).or_insert(*share);
                        *known = known.max(*share);
                    }
                }
            }
        }
    }
}

/// True if a text contains kana. If it does, its Han characters are Japanese.
pub(super) fn is_japanese(text: &str) -> bool {
    text.chars().any(is_kana)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(texts: &[&str]) -> Postings {
        let mut index = Postings::default();
        (0..).zip(texts).for_each(|(slot, text)| index.add_record(slot, text));
        index
    }

    fn translated(index: &Postings, question: &str, word: &str) -> Vec<String> {
        let tongue = QueryLanguage::of(question.split(' '));
        let Some(translator) = WordTranslator::new(index, tongue, question) else {
            return Vec::new();
        };
        let mut sought = [SoughtWord { word, variants: Vec::new() }];
        translator.translate(&mut sought);
        sought[0].variants.iter().map(|variant| variant.text.clone()).collect()
    }

    #[test]
    fn words_find_what_means_the_same_in_other_languages() {
        let german = ["ich habe einen hund und er ist nicht alt", "die katzen sind das"];
        let index = index(&[&german[..], &["the dog barks", "我的小狗", "собаки"]].concat());
        assert_eq!(translated(&index, "what about the dog", "dog"), ["hund", "小狗"]);
        assert_eq!(
            translated(&index, "que hace el perro de la casa", "perro"),
            ["dog", "hund", "小狗"]
        );
        assert_eq!(translated(&index, "is there a cat", "cat"), ["katzen"]);
    }

    #[test]
    fn english_talk_alone_is_not_translated() {
        let index = index(&["the dog barks", "pie with apples", "a puppy"]);
        assert_eq!(translated(&index, "what about the dog", "dog"), Vec::<String>::new());
        assert_eq!(translated(&index, "wo ist der hund", "hund"), ["dog", "puppi"]);
    }

    #[test]
    fn runs_without_spaces_are_cut_into_words_of_the_lexicon() {
        let index = index(&["the hospital called", "I met a doctor"]);
        let translator = WordTranslator::new(&index, None, "去医院看医生").expect("unspaced");
        let words: Vec<String> =
            translator.read_run("去医院看医生", false).into_iter().map(|(word, _)| word).collect();
        assert_eq!(words, ["医院", "医生"]);
        let korean = translator.read_run("병원에서", false);
        assert_eq!(korean[0].1[0].text, stem_word("hospital"));
    }

    #[test]
    fn the_lexicon_has_eight_columns_and_no_function_words() {
        for line in LEXICON.lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.split('|').count(), NAMES.len(), "{line}");
            for (words, name) in line.split('|').zip(NAMES) {
                let tongue = QueryLanguage::named(name);
                let grammar =
                    |word: &&str| tongue.is_some_and(|it| it.is_function_word(&fold(word)));
                assert_eq!(words.split_whitespace().find(grammar), None, "{line}");
            }
        }
        let concepts = LEXICON.lines().count() - 3;
        assert!(COLUMNS.iter().all(|column| column.words.len() == concepts));
    }
}
