//! English in the third person. Every first-person subject needs a verb with a known third-person
//! form, and the sentence must not address the listener.

use std::borrow::Cow;

use crate::fork::ForkLazy;
use crate::text::script::is_alphanumeric;
use crate::text::vocabulary::WordSet;

/// Verbs whose third-person form adds an `s`; their plain form after "I" is the present tense.
const PRESENT: &str = "\
    admire adore agree aim appreciate ask attend avoid bake believe belong blame bring build buy \
    call care carry check clean climb collect come commute consider cook count cycle dance deal \
    depend deserve design disagree dislike dream drink drive earn eat enjoy exercise expect feel \
    find finish focus follow forget get give go grow guess hate have hear help hold hope imagine \
    intend jog join keep know lack lead learn leave like listen live look love make manage mean \
    meet mind miss move need notice own owe paint pay plan play practise practice prefer promise \
    publish recommend remember rent rely ride run save say see seem sell send serve share sing sit \
    sleep smell sound speak spend stand start stay stop struggle study suffer suggest support \
    suppose swear swim take talk teach tend thank think train translate travel treat trust try \
    understand use visit volunteer wait wake walk want watch wear wish wonder work worry write";

/// Irregular past forms, which are the same in every person. Leaves out forms that are also the
/// present ("put", "read").
const PAST: &str = "\
    ate became began bent bit blew bought broke brought built burnt came caught chose did dreamt \
    drew drank drove dug fell felt fought found flew forgot gave got grew heard held hid kept knew \
    laid learnt led left lent lost made meant met paid ran rang rode rose said sang sat saw sent \
    shook shot slept sold spent spoke spilt stole stood struck stuck swam swore taught thought \
    threw told took tore understood went woke won wore wrote";

/// Auxiliaries that are the same in every person.
const MODALS: &str = "\
    can could will would shall should may might must can't cannot couldn't won't wouldn't \
    shouldn't mustn't had hadn't did didn't was wasn't used";

/// Adverbs that may stand between a subject and its verb.
const ADVERBS: &str = "\
    also just really still always never often usually sometimes recently finally actually already \
    only now even probably definitely totally mostly mainly currently generally normally rarely \
    suddenly simply truly certainly once almost nearly eventually barely hardly honestly literally \
    absolutely accidentally secretly then first officially";

/// Verbs after which "and" usually joins nouns, so that the word after it is no second verb: "I
/// love cake and dance".
const TAKE_A_NOUN: &str = "\
    admire adore appreciate dislike enjoy hate have hear help hope let like love mean miss need \
    notice prefer recommend see suggest watch";

/// Words for the listener or for a group: a sentence with one is quoted.
const OTHERS_MEANT: &str = "\
    you your yours yourself you're you've you'll you'd we us our ours ourselves we're we've we'll \
    we'd let's u ur y'all myself oneself";

/// Words before "I" in a question or an inversion ("do I"); such a sentence is quoted.
const INVERTING: &str = "\
    am do did have had was can could will would shall should may might must does don't didn't \
    haven't wasn't nor";

/// Other subjects. A later verb without "I" belongs to such a subject.
const SUBJECTS: &str = "he she it they who that which there everyone everybody someone nobody";

/// Fillers at the start of a sentence, which a rewritten sentence drops.
const FILLERS: &str = "\
    oh yeah yes yep well haha hahaha wow hey ok okay ah hmm so and but right sure anyway no nope \
    aw lol btw actually honestly";

/// Fillers that are dropped even without a comma after them.
const BARE_FILLERS: &str = "btw just lol anyway";

/// Verbs that open a request to the listener.
const REQUESTS: &str = "\
    let take check tell give look remember try make stay wish keep have come help feel send call \
    wait join don't do can could would will";

/// Forms of "to be" before "me".
const BEING: [&str; 5] = ["is", "was", "be", "it's", "that's"];

static PRESENT_SET: WordSet = ForkLazy::new(|| PRESENT.split_whitespace().collect());
static PAST_SET: WordSet =
    ForkLazy::new(|| PAST.split_whitespace().chain(MODALS.split_whitespace()).collect());
static ADVERB_SET: WordSet = ForkLazy::new(|| ADVERBS.split_whitespace().collect());
static OTHERS_SET: WordSet = ForkLazy::new(|| OTHERS_MEANT.split_whitespace().collect());
static INVERTING_SET: WordSet = ForkLazy::new(|| INVERTING.split_whitespace().collect());
static SUBJECT_SET: WordSet = ForkLazy::new(|| SUBJECTS.split_whitespace().collect());
static FILLER_SET: WordSet = ForkLazy::new(|| FILLERS.split_whitespace().collect());

/// Maximum number of times that a rewritten sentence names the speaker. A quotation reads better
/// than more repetition.
const MAX_NAMINGS: usize = 2;

/// True if the sentence contains a first-person word, so that [`english`] may rewrite it.
pub(in crate::generate::episode) fn may_be_english(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let opens = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        // "I ", "I'm", "I’m", "im ", "ive ", "my ", "me ", "mine".
        opens
            && match byte {
                b'I' | b'i' => {
                    matches!(bytes.get(at + 1), Some(b' ' | b'\'' | 0xe2 | b'm' | b'v'))
                }
                b'M' | b'm' => matches!(bytes.get(at + 1), Some(b'y' | b'e' | b'i')),
                _ => false,
            }
    })
}

/// The third-person form of `name`'s English sentence, or `None` if it must be quoted.
pub(in crate::generate::episode) fn english(sentence: &str, name: &str) -> Option<String> {
    if sentence.len() > 400
        || sentence.contains(['"', '“', '”', '?', '`', '\n', '{', '<', '…'])
        || sentence.contains("...")
        || name.is_empty()
    {
        return None;
    }
    let mut words: Vec<&str> = sentence.split(' ').filter(|word| !word.is_empty()).collect();
    let is_filler = |word: &str| {
        let plain = bare(word);
        word.ends_with([',', '!', '.']) && FILLER_SET.contains(&*plain)
            || BARE_FILLERS.split_whitespace().any(|filler| filler == plain)
    };
    let fillers = words.iter().take_while(|word| is_filler(word)).count();
    words.drain(..fillers.min(words.len().saturating_sub(2)));
    let bares: Vec<Cow<'_, str>> = words.iter().map(|word| bare(word)).collect();
    if bares.is_empty() {
        return None;
    }
    let asks_for = REQUESTS.split_whitespace().any(|verb| verb == bares[0]);
    if asks_for || bares.iter().any(|word| OTHERS_SET.contains(&**word)) || is_exclamation(&bares) {
        return None;
    }
    // "The cake was me" means that the speaker baked it.
    if bares.windows(2).any(|pair| BEING.contains(&&*pair[0]) && pair[1] == "me") {
        return None;
    }
    // "Moved to my new flat": the subject is missing, so the speaker's name is added.
    let opens_with_verb = PAST_SET.contains(&*bares[0])
        || PRESENT_SET.contains(&*bares[0])
        || is_regular_past(&bares[0])
        || bares[0] == "been";
    if opens_with_verb || stands_for_a_verb(&words, &bares) {
        return None;
    }
    let mut rewriting =
        RewriteState { name, words: &words, bares: &bares, out: Vec::new(), named: 0 };
    let mut at = 0;
    let mut first_subject = None;
    while at < words.len() {
        let lower = &*bares[at];
        if is_subject(lower) {
            at += rewriting.subject(at, first_subject)?;
            first_subject = first_subject.or(Some(at));
            continue;
        }
        match lower {
            "my" => rewriting.name_as(&possessive(name)),
            "mine" => rewriting.name_as(&format!("{}{}", possessive(name), tail(words[at]))),
            "me" => rewriting.name_as(&format!("{name}{}", tail(words[at]))),
            _ => rewriting.out.push(Cow::Borrowed(words[at])),
        }
        at += 1;
    }
    (1..=MAX_NAMINGS).contains(&rewriting.named).then(|| finish(&rewriting.out.join(" ")))
}

/// True for "I do, but": the auxiliary stands for an earlier verb.
fn stands_for_a_verb(words: &[&str], bares: &[Cow<'_, str>]) -> bool {
    let is_auxiliary = |word: &str| matches!(word, "do" | "don't" | "did" | "didn't" | "have");
    (1..words.len()).any(|at| {
        let next = bares.get(at + 1).map(|word| &**word);
        let breaks = words[at].ends_with([',', '.', '!']) || matches!(next, None | Some("but"));
        bares[at - 1] == "i" && is_auxiliary(&bares[at]) && breaks
    })
}

/// True for "My goodness" and "Oh my", which are not possessives.
fn is_exclamation(bares: &[Cow<'_, str>]) -> bool {
    bares.iter().enumerate().any(|(at, word)| {
        word == "my"
            && matches!(
                bares.get(at + 1).map(|word| &**word),
                None | Some("goodness" | "god" | "gosh" | "word" | "bad")
            )
    })
}

fn is_subject(word: &str) -> bool {
    matches!(word, "i" | "i'm" | "i've" | "i'll" | "i'd" | "im" | "ive")
}

/// The punctuation after the letters of a word.
fn tail(word: &str) -> &str {
    word.trim_start_matches(|c: char| c.is_alphanumeric() || c == '\'' || c == '’')
}

/// The state of rewriting a sentence.
struct RewriteState<'a> {
    name: &'a str,
    words: &'a [&'a str],
    bares: &'a [Cow<'a, str>],
    out: Vec<Cow<'a, str>>,
    /// Number of times the sentence already names the speaker.
    named: usize,
}

impl RewriteState<'_> {
    fn name_as(&mut self, form: &str) {
        self.out.push(Cow::Owned(form.to_owned()));
        self.named += 1;
    }

    fn bare(&self, at: usize) -> &str {
        self.bares.get(at).map_or("", |word| &**word)
    }

    /// Rewrites the subject at `at` with its verb and returns the number of words consumed. `first`
    /// is the index of the word after an earlier subject, if there is one.
    fn subject(&mut self, at: usize, first: Option<usize>) -> Option<usize> {
        let (words, bares) = (self.words, self.bares);
        let before = if at == 0 { "" } else { &*bares[at - 1] };
        if INVERTING_SET.contains(before) {
            return None;
        }
        let joined = matches!(before, "and" | "or" | "but");
        // "I sat down, and I wept" names its subject once.
        let goes_on = matches!(before, "and" | "but")
            && words[at.saturating_sub(2)].ends_with(',')
            && first.is_some_and(|first| {
                !bares[first..at].iter().any(|word| SUBJECT_SET.contains(&**word))
            });
        if !goes_on {
            self.name_as(self.name);
        }
        // "My sister and I love it" is plural; "I came and I love it" is not.
        let plural = joined && before != "but" && first.is_none();
        if plural && !self.is_same_in_plural(at) {
            return self.plural_verb(at);
        }
        self.verb(at)
    }

    /// Pushes the verb of "my sister and I" unchanged: the plain form is also the plural.
    fn plural_verb(&mut self, at: usize) -> Option<usize> {
        let mut verb = at + 1;
        while ADVERB_SET.contains(self.bare(verb)) {
            verb += 1;
        }
        let is_known = PRESENT_SET.contains(self.bare(verb)) || self.bare(verb) == "don't";
        let is_verb = |word: &Cow<'_, str>| {
            PRESENT_SET.contains(&**word)
                || PAST_SET.contains(&**word)
                || matches!(&**word, "is" | "are" | "has" | "does")
                || is_regular_past(word)
        };
        let is_whole = self.bare(0) == "my" && at < 6 && !self.bares[1..at].iter().any(is_verb);
        let is_plain = self.bare(at) == "i" && is_known && is_whole;
        is_plain.then(|| {
            self.out.extend(self.words[at + 1..=verb].iter().map(|word| Cow::Borrowed(*word)));
            verb + 1 - at
        })
    }

    /// True if the verb of the subject at `at` has the same form after "she" and "they".
    fn is_same_in_plural(&self, at: usize) -> bool {
        let mut verb = at + 1;
        while ADVERB_SET.contains(self.bare(verb)) {
            verb += 1;
        }
        let verb = self.bare(verb);
        matches!(self.bare(at), "i" | "i'll" | "i'd")
            && !matches!(verb, "was" | "wasn't")
            && (PAST_SET.contains(verb) || is_regular_past(verb))
    }

    /// Pushes the words from the subject at `at` to its verb, with the verb in the third person;
    /// returns the number of words consumed.
    fn verb(&mut self, at: usize) -> Option<usize> {
        let mut next = at + 1;
        while next < at + 3 && ADVERB_SET.contains(self.bare(next)) {
            next += 1;
        }
        let verb = self.bare(next).to_owned();
        let contracted = match self.bare(at) {
            "i'm" | "im" => "is",
            "i've" | "ive" => "has",
            "i'll" => "will",
            "i'd" if takes_would(&verb) => "would",
            "i'd" if verb == "been" || is_regular_past(&verb) => "had",
            "i'd" => return None,
            _ => "",
        };
        if !contracted.is_empty() {
            if self.bare(at) != "i'll" && self.has_second_verb(at + 1) {
                return None;
            }
            self.out.push(Cow::Borrowed(contracted));
            return Some(1);
        }
        let word = self.words.get(next)?;
        let is_past = PAST_SET.contains(&*verb) || is_regular_past(&verb);
        let form = match &*verb {
            "am" => "is".to_owned(),
            "haven't" | "havent" => "hasn't".to_owned(),
            "do" => "does".to_owned(),
            "don't" | "dont" => "doesn't".to_owned(),
            _ if is_past => verb.clone(),
            _ if PRESENT_SET.contains(&*verb) => third_person(&verb),
            _ => return None,
        };
        let is_modal = MODALS.split_whitespace().any(|modal| modal == verb) && verb != "was";
        let takes_base = is_modal || matches!(&*verb, "do" | "don't" | "dont");
        let second = if takes_base || !self.has_second_verb(next) {
            None
        } else {
            Some(self.second_verb(next, &verb)?)
        };
        self.out.extend(self.words[at + 1..next].iter().map(|word| Cow::Borrowed(*word)));
        self.out.push(Cow::Owned(format!("{form}{}", tail(word))));
        let Some(second) = second else { return Some(next + 1 - at) };
        for between in next + 1..second {
            match self.bare(between) {
                "my" => self.name_as(&possessive(self.name)),
                _ => self.out.push(Cow::Borrowed(self.words[between])),
            }
        }
        let form = third_person(self.bare(second));
        self.out.push(Cow::Owned(format!("{form}{}", tail(self.words[second]))));
        Some(second + 1 - at)
    }

    /// The only other verb of the subject, if it is certainly a verb in the present tense: "I live
    /// in Paris and work as a nurse". `None` if several words may need an ending, or if the word
    /// may be a noun ("I love cake and dance") or an infinitive ("I want to bake and sell").
    fn second_verb(&self, first: usize, verb: &str) -> Option<usize> {
        let is_plain = |verb: &str| {
            PRESENT_SET.contains(verb) && !TAKE_A_NOUN.split_whitespace().any(|one| one == verb)
        };
        let second = (first + 2..self.bares.len())
            .find(|at| PRESENT_SET.contains(self.bare(*at)) && self.bare(*at - 1) == "and")?;
        let between = &self.bares[first + 1..second];
        let opens_another = |word: &Cow<'_, str>| {
            word == "to"
                || word == "me"
                || word == "that"
                || MODALS.split_whitespace().any(|modal| modal == word)
                || SUBJECT_SET.contains(&**word)
                || PRESENT_SET.contains(&**word)
                || is_subject(word)
        };
        let goes_on = self.bare(second + 1);
        let is_verb = matches!(goes_on, "as" | "at" | "for" | "in" | "on" | "with" | "a" | "an")
            || matches!(goes_on, "the" | "my" | "to" | "from" | "it" | "them" | "about");
        let ends_there = !self.has_second_verb(second)
            && !self.words[first..second - 1].iter().any(|word| word.ends_with(','));
        (is_plain(verb) && is_verb && ends_there && !between.iter().any(opens_another))
            .then_some(second)
    }

    /// True if a second verb would also need an ending: "I bake and sell", "I run, swim and dance".
    fn has_second_verb(&self, from: usize) -> bool {
        (from..self.bares.len()).any(|at| {
            let joins = matches!(self.bare(at), "and" | "or" | "but");
            let listed = self.words[at].ends_with(',');
            let mut next = at + 1;
            while ADVERB_SET.contains(self.bare(next)) {
                next += 1;
            }
            (joins || listed) && matches!(self.bare(next), "am" | "do" | "don't" | "haven't")
                || (joins || listed && !is_subject(self.bare(at)))
                    && PRESENT_SET.contains(self.bare(next))
        })
    }
}

fn is_regular_past(verb: &str) -> bool {
    verb.len() > 4 && verb.ends_with("ed") && !verb.ends_with("eed")
}

/// True if "'d" before the word stands for "would".
fn takes_would(verb: &str) -> bool {
    matches!(verb, "love" | "like" | "rather" | "prefer" | "hate" | "say" | "be" | "have")
}

fn third_person(verb: &str) -> String {
    if verb == "have" {
        return "has".to_owned();
    }
    let before_last = verb.bytes().rev().nth(1).unwrap_or(b'a');
    if verb.ends_with('y') && !b"aeiou".contains(&before_last) {
        format!("{}ies", &verb[..verb.len() - 1])
    } else if verb.ends_with(['s', 'x', 'z', 'o']) || verb.ends_with("ch") || verb.ends_with("sh") {
        format!("{verb}es")
    } else {
        format!("{verb}s")
    }
}

/// The possessive: `Maya's`, `James'`.
pub(in crate::generate::episode) fn possessive(name: &str) -> String {
    if name.ends_with('s') { format!("{name}'") } else { format!("{name}'s") }
}

/// The word in lower case, without surrounding punctuation, with straight apostrophes.
fn bare(word: &str) -> Cow<'_, str> {
    let word = word.trim_matches(|c: char| !is_alphanumeric(c));
    if !word.is_ascii() {
        return Cow::Owned(word.replace('’', "'").to_lowercase());
    }
    if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(word.to_ascii_lowercase())
    } else {
        Cow::Borrowed(word)
    }
}

/// Adds a capital letter at the start and a full stop at the end.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_person_becomes_third_where_grammar_allows() {
        for (said, told) in [
            ("I moved to Lyon last Friday!", "Maya moved to Lyon last Friday."),
            ("Just last week I fell.", "Last week Maya fell."),
            ("Yeah, I've just started at my new job.", "Maya has just started at Maya's new job."),
            ("I really love pottery.", "Maya really loves pottery."),
            ("My sister Lena is pregnant!", "Maya's sister Lena is pregnant."),
            ("I don't drive", "Maya doesn't drive."),
            ("Last week I fell and broke my ankle.", "Last week Maya fell and broke Maya's ankle."),
            ("I’m allergic to walnuts.", "Maya is allergic to walnuts."),
            ("I study at night.", "Maya studies at night."),
            ("I left because I was tired.", "Maya left because Maya was tired."),
            ("I sat down, and I have loved it since.", "Maya sat down, and has loved it since."),
            ("The shelter gave me a dog.", "The shelter gave Maya a dog."),
            ("They give me strength.", "They give Maya strength."),
            ("When the lease ended I moved on.", "When the lease ended Maya moved on."),
            ("My brother and I moved.", "Maya's brother and Maya moved."),
            ("I'd been there before.", "Maya had been there before."),
            ("I live in Paris and work as a nurse.", "Maya lives in Paris and works as a nurse."),
            ("I live in Oslo and have a dog.", "Maya lives in Oslo and has a dog."),
            (
                "I teach at my school and run a choir.",
                "Maya teaches at Maya's school and runs a choir.",
            ),
            ("I have two cats and I'm happy.", "Maya has two cats and Maya is happy."),
            ("My sister and I love hiking.", "Maya's sister and Maya love hiking."),
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
            "I bake and sell.",
            "I want to bake and sell the bread.",
            "I love cake and dance with it.",
            "I live, love, and work in Paris.",
            "I was ill but love it now.",
            "It rained.",
            "I yeet it.",
            "I taught myself.",
            "So am I.",
            "Oh my goodness.",
            "He hates my brother and I love him.",
            "I think that I know what I want.",
            "I'm a nurse and work at night.",
            "I cook, bake, and read.",
            "Take care of my plants.",
            "Moved to my new flat.",
            "Walk the coast path with my brother, he has never hiked.",
            "I do but the people are nice to me.",
            "The cake was me.",
        ] {
            assert_eq!(english(said, "Maya"), None, "{said}");
        }
    }
}
