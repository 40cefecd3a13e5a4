//! Facts by a language model: parses the answer.
//!
//! The answer is parsed item by item ([`answer_form`](super::answer_form)). The model is believed,
//! except for the form of an item: it must cite messages of the prompt and state something. Where
//! several people talk, a fact must also be about one of whom the cited messages speak
//! ([`Talk`]). Rejections are counted by reason. An empty list in the requested form is a valid
//! answer, and so is a list of what is known already.
//!
//! The model also lists the known facts that each new one ends, corrects or repeats, by their
//! numbers in the prompt.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::about::{Talk, person_in};
use super::answer_form::{StatedParts, stated_parts};
use super::candidate::{FactCandidate, FactExtraction, RejectReason};
use super::records::terms_of;
use crate::clock::Moment;
use crate::config::{LearnFrom, MemoryConfig};
use crate::generate::window::ranges;
use crate::llm::{is_from_prompt, json, single_line};
use crate::model::{MemoryKind, Message, SemanticMemory};
use crate::text::{Language, language, normalized};

/// Maximum length of a fact, in characters.
const MAX_FACT_CHARS: usize = 400;
/// Maximum number of facts per window.
const MAX_FACTS: usize = 50;
/// Confidence and importance of a fact for which the model states none.
const UNSAID_CONFIDENCE: f32 = 0.7;
const UNSAID_IMPORTANCE: f32 = 0.5;
/// Confidence of a fact in a doubtful answer.
const DOUBTED_CONFIDENCE: f32 = 0.4;
/// Number of facts that any answer may end. One that ends more of them than it states facts, or
/// more than half of the shown ones, judges wrongly, so none of its endings are carried out.
const FEW_ENDED: usize = 2;
/// Least number of facts about a person that the cited messages do not mention in a doubtful
/// answer, if they are one in [`STRANGE_SHARE`] of all.
const STRANGE_FACTS: u64 = 2;
const STRANGE_SHARE: u64 = 4;
/// Minimum length of texts whose languages are compared, and of those whose language is none that
/// the rules know: in a short text, the words of two languages are often as many.
const TELLING_BYTES: usize = 40;
const TELLING_BYTES_OTHER: usize = 200;
/// How models and rules call a user without a name.
pub(crate) const UNNAMED_USER: [&str; 3] = ["user", "the user", "用户"];

/// Content of the prompt in addition to the messages.
#[derive(Debug, Clone, Default)]
pub struct ShownFacts {
    /// Known facts, by number.
    pub known: Vec<Arc<SemanticMemory>>,
    /// The last messages before the segment.
    pub before: Vec<Arc<Message>>,
}

/// Maximum number of tokens for the facts of a window.
pub const FACTS_TOKENS: u32 = 3_000;

/// Known facts in the form that prompts use; `None` if there are none.
pub fn known_lines(known: &[Arc<SemanticMemory>]) -> Option<String> {
    let line = |(number, fact): (usize, &Arc<SemanticMemory>)| {
        // As precise as the model stated it: a month does not become its first day. A fact without
        // a date is shown with the month in which it was said.
        let since = match fact.when.split('/').next().unwrap_or_default() {
            "" => fact.valid_from.local().strftime("%Y-%m").to_string(),
            told => told.to_owned(),
        };
        let until = fact.valid_to.map(|end| end.local().strftime("/%Y-%m-%d").to_string());
        let until = until.unwrap_or_default();
        let text = [&fact.subject, &fact.attribute, &fact.content].map(|text| single_line(text));
        format!("{number} | {} | {} | {since}{until} | {}", text[0], text[1], text[2])
    };
    let lines: Vec<String> = known.iter().enumerate().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// The JSON schema of a list of facts: arrays of the parts. Objects would take a third more tokens.
pub fn facts_schema() -> Value {
    json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}})
}

/// The facts in an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AnsweredFacts {
    /// Kept candidates, and counts of rejected ones.
    pub extraction: FactExtraction,
    /// Further details of each candidate.
    pub told: Vec<FactDetails>,
    /// True if the JSON needed repair or an item was lost.
    pub salvaged: bool,
    /// True if an item was lost: the answer breaks off, as a rule.
    pub is_cut: bool,
    /// True if the answer ended too many facts to be believed; its endings were dropped.
    pub ends_too_many: bool,
}

/// Details of a fact that the model states in addition to the sentence.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FactDetails {
    /// First day, month or year of the event, in ISO 8601; empty if unknown.
    pub first: String,
    /// Last day, month or year.
    pub last: String,
    /// First day, month or year on which the fact holds; empty if it holds from its message on.
    pub from: String,
    /// Ids of known facts that no longer hold.
    pub ends: Vec<String>,
    /// Ids of known facts that never held.
    pub corrects: Vec<String>,
}

impl FactDetails {
    /// The time of the event: one date, two with a slash, or nothing.
    pub fn when(&self) -> String {
        match &*self.last {
            "" => self.first.clone(),
            last => format!("{}/{last}", self.first),
        }
    }

    /// Since when the fact holds, in the time zone of `said`; `None` if it holds since then. A
    /// state for which only its day is told, and which ends another, begins on that day.
    pub fn since(&self, kind: MemoryKind, said: Moment) -> Option<Moment> {
        let is_replaced = || !self.ends.is_empty() && is_state(kind);
        let day = if self.from.is_empty() && is_replaced() { &self.first } else { &self.from };
        let date = match day.len() {
            4 => format!("{day}-01-01"),
            7 => format!("{day}-01"),
            _ => day.clone(),
        };
        let midnight = Moment::parse(&date).ok()?;
        let seconds = said.offset_seconds();
        Moment::new(midnight.micros() - i64::from(seconds) * 1_000_000, seconds).ok()
    }
}

/// True if facts of this kind tell how something is. Those of other kinds tell what happens or is
/// planned, and a plan is made, moved or called off when that is said, whatever its day.
fn is_state(kind: MemoryKind) -> bool {
    use MemoryKind::{Case, Decision, Event, Goal};
    !matches!(kind, Case | Decision | Event | Goal)
}

/// Parses an answer about `messages`. `None` if it contains no list, or an empty list that is not
/// in the requested form.
///
/// `shown` is the further content of the prompt.
pub fn read(
    answer: &str,
    messages: &[Arc<Message>],
    shown: &ShownFacts,
    config: &MemoryConfig,
) -> Option<AnsweredFacts> {
    let items = json::read_items(answer, "facts");
    let is_nothing = items.values.is_empty() && items.lost == 0;
    if !items.found || is_nothing && !items.keyed {
        return None;
    }
    let talk = Talk::of(messages);
    let mut seen: HashSet<String> = HashSet::new();
    let is_cut = items.lost > 0;
    let salvaged = items.salvaged || is_cut;
    let mut facts = AnsweredFacts { salvaged, is_cut, ..AnsweredFacts::default() };
    for parts in stated_parts(&items.values).into_iter().take(MAX_FACTS) {
        match read_one(&parts, &talk, messages, config) {
            Ok(candidate) if !is_learned(&candidate, messages, config.learn_from) => {
                facts.extraction.reject(RejectReason::NotAboutUser);
            }
            Ok(candidate) if seen.insert(normalized(&candidate.content)) => {
                let told = details_of(&parts, &shown.known);
                facts.put(candidate, told, &parts.repeats, &shown.known);
            }
            Ok(_) => facts.extraction.reject(RejectReason::Duplicate),
            Err(reason) => facts.extraction.reject(reason),
        }
    }
    facts.check_endings(shown.known.len());
    Some(facts)
}

impl AnsweredFacts {
    /// Adds a fact. One that repeats a known fact has its words, so that both count as one.
    fn put(
        &mut self,
        candidate: FactCandidate,
        told: FactDetails,
        repeats: &[u64],
        known: &[Arc<SemanticMemory>],
    ) {
        let is_new = !told.ends.is_empty() || !told.corrects.is_empty();
        let number = repeats.first().and_then(|number| usize::try_from(*number).ok());
        let repeated = number.and_then(|number| known.get(number)).filter(|_| !is_new);
        let candidate = match repeated {
            Some(known) => FactCandidate {
                content: known.content.clone(),
                kind: known.kind,
                subject: known.subject.clone(),
                attribute: known.attribute.clone(),
                value: known.value.clone(),
                ..candidate
            },
            None => candidate,
        };
        self.extraction.candidates.push(candidate);
        self.told.push(told);
    }

    /// The facts of the episodes that were cut from the front of `window`, with these numbers of
    /// messages: a fact belongs to the last message that it cites. What was rejected is counted
    /// with the first episode.
    pub fn split(self, window: &[Arc<Message>], lengths: &[usize]) -> Vec<Self> {
        let mut parts: Vec<Self> = ranges(lengths, window.len())
            .map(|_| Self { extraction: FactExtraction::default(), told: Vec::new(), ..self })
            .collect();
        if let Some(first) = parts.first_mut() {
            first.extraction.rejected = self.extraction.rejected;
        }
        for (candidate, told) in self.extraction.candidates.into_iter().zip(self.told) {
            let is_cited =
                |message: &Arc<Message>| candidate.source_messages.contains(&message.message_id);
            let last = window.iter().rposition(is_cited).unwrap_or(0);
            let part = ranges(lengths, window.len()).position(|range| range.contains(&last));
            if let Some(part) = part {
                parts[part].extraction.candidates.push(candidate);
                parts[part].told.push(told);
            }
        }
        parts
    }

    /// Drops the endings if there are too many to be believed.
    fn check_endings(&mut self, shown: usize) {
        let ended = self.told.iter().flat_map(|told| told.ends.iter().chain(&told.corrects));
        let ended = ended.collect::<HashSet<&String>>().len();
        let is_most = 2 * ended > shown || ended > self.told.len();
        self.ends_too_many = ended > FEW_ENDED && is_most;
        if self.ends_too_many {
            self.drop_endings();
        }
    }

    /// Drops all endings, and lowers the confidence in all facts, so that none stands before what
    /// was said.
    pub fn doubt(&mut self) {
        self.drop_endings();
        for candidate in &mut self.extraction.candidates {
            candidate.confidence = candidate.confidence.min(DOUBTED_CONFIDENCE);
        }
    }

    /// Drops all endings.
    fn drop_endings(&mut self) {
        for told in &mut self.told {
            told.ends.clear();
            told.corrects.clear();
        }
    }

    /// True if many facts are about a person that the cited messages do not mention: then other
    /// citations and names are wrong, too.
    pub fn is_misplaced(&self) -> bool {
        let strange = self.extraction.rejected.get(&RejectReason::OtherSpeaker);
        let strange = strange.copied().unwrap_or_default();
        let all = strange + self.extraction.candidates.len() as u64;
        strange >= STRANGE_FACTS && STRANGE_SHARE * strange >= all
    }

    /// True if the facts are in another language than the messages, as far as both tell it.
    pub fn is_in_other_language(&self, messages: &[Arc<Message>]) -> bool {
        let facts = self.extraction.candidates.iter().map(|fact| &*fact.content);
        let said = messages.iter().filter(|message| !message.is_agent());
        let said = said.map(|message| &*message.content);
        let texts = [facts.collect::<Vec<_>>().join("\n"), said.collect::<Vec<_>>().join("\n")];
        let languages = texts.each_ref().map(|text| language(text));
        let is_known = !languages.contains(&Language::Other);
        let least = if is_known { TELLING_BYTES } else { TELLING_BYTES_OTHER };
        languages[0] != languages[1] && texts.iter().all(|text| text.len() >= least)
    }
}

/// Ids of the known facts with these numbers in the prompt.
fn ids_of(numbers: &[u64], known: &[Arc<SemanticMemory>]) -> Vec<String> {
    let facts = numbers.iter().filter_map(|number| known.get(usize::try_from(*number).ok()?));
    facts.map(|fact| fact.memory_id.clone()).collect()
}

/// True if a candidate cites a message of a speaker whose messages are learned from.
fn is_learned(candidate: &FactCandidate, messages: &[Arc<Message>], from: LearnFrom) -> bool {
    let by_agent = match from {
        LearnFrom::Both => return true,
        LearnFrom::User => false,
        LearnFrom::Assistant => true,
    };
    let cites = |message: &&Arc<Message>| candidate.source_messages.contains(&message.message_id);
    messages.iter().filter(cites).any(|message| message.is_agent() == by_agent)
}

fn read_one(
    parts: &StatedParts,
    talk: &Talk<'_>,
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> Result<FactCandidate, RejectReason> {
    let content = &parts.sentence;
    let is_long = content.chars().count() > MAX_FACT_CHARS;
    if !content.chars().any(char::is_alphabetic) || is_long {
        return Err(RejectReason::Empty);
    }
    if is_from_prompt(content) {
        return Err(RejectReason::Echo);
    }
    if content.ends_with(['?', '？']) {
        return Err(RejectReason::Question);
    }
    let confidence = parts.confidence.unwrap_or(UNSAID_CONFIDENCE);
    if confidence < config.min_confidence {
        return Err(RejectReason::LowConfidence);
    }
    let importance = parts.importance.unwrap_or(UNSAID_IMPORTANCE);
    if importance < config.min_importance {
        return Err(RejectReason::LowImportance);
    }
    let cited = match &parts.messages {
        Some(numbers) => cited(numbers, messages),
        None => nearest(content, messages).into_iter().collect(),
    };
    if cited.is_empty() {
        return Err(RejectReason::NoSource);
    }
    if !talk.may_be_about(&parts.subject, content, &cited) {
        return Err(RejectReason::OtherSpeaker);
    }
    let sources: Vec<&Message> = cited.iter().map(|at| &*messages[*at]).collect();
    let (kind, subject) = (parts.kind.unwrap_or_default(), subject_of(&parts.subject));
    let said = sources.iter().map(|message| message.timestamp).max().unwrap_or(Moment::MIN);
    Ok(FactCandidate {
        content: content.clone(),
        quote: None,
        kind,
        confidence,
        importance,
        subject: person_in(subject, &sources),
        attribute: parts.attribute.to_lowercase().replace([' ', '-'], "_"),
        value: parts.value.trim_end_matches(['.', '。']).to_owned(),
        // The time of the message, since a date within the fact need not be its start.
        valid_from: said,
        said,
        source_messages: sources.iter().map(|message| message.message_id.clone()).collect(),
    })
}

/// The details that a fact's parts state; nothing for what is no date.
fn details_of(parts: &StatedParts, known: &[Arc<SemanticMemory>]) -> FactDetails {
    let (first, last) = parts.when.split_once('/').unwrap_or((&parts.when, ""));
    let (first, last) = (date_of(first), date_of(last));
    let last = if first.is_empty() || last < first { String::new() } else { last };
    let from = parts.from.as_deref().unwrap_or_default();
    FactDetails {
        first,
        last,
        from: date_of(from.split('/').next().unwrap_or_default()),
        ends: ids_of(&parts.ends, known),
        corrects: ids_of(&parts.corrects, known),
    }
}

/// A day, month or year in ISO 8601, without the time of the day; empty if the text is none.
fn date_of(text: &str) -> String {
    let text = text.trim().get(..10).unwrap_or(text.trim());
    let full = match text.len() {
        4 => format!("{text}-01-01"),
        7 => format!("{text}-01"),
        10 => text.to_owned(),
        _ => return String::new(),
    };
    if Moment::parse(&full).is_ok() { text.to_owned() } else { String::new() }
}

/// The subject as facts name it: a user without a name is `user`.
fn subject_of(subject: &str) -> String {
    let is_user = UNNAMED_USER.contains(&&*subject.to_lowercase());
    if is_user { "user".to_owned() } else { subject.to_owned() }
}

/// Indexes of the messages that a fact cites, without repetition, in order; skips unknown numbers.
fn cited(numbers: &[u64], messages: &[Arc<Message>]) -> Vec<usize> {
    let mut cited: Vec<usize> = numbers
        .iter()
        .filter_map(|number| usize::try_from(*number).ok())
        .filter(|at| *at < messages.len())
        .collect();
    cited.sort_unstable();
    cited.dedup();
    cited
}

/// For a fact without citations: the message that contains the most words of the fact, and at least
/// a third of them.
fn nearest(content: &str, messages: &[Arc<Message>]) -> Option<usize> {
    let terms = |text: &str| terms_of(text).into_iter().collect::<HashSet<String>>();
    let stated = terms(content);
    let shared = |message: &Message| stated.intersection(&terms(&message.content)).count();
    let shares = messages.iter().map(|message| shared(message)).enumerate();
    let (at, most) = shares.max_by_key(|(at, share)| (*share, std::cmp::Reverse(*at)))?;
    (most > 0 && 3 * most >= stated.len()).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::testing::{said, stated_fact};

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn talk() -> Vec<Arc<Message>> {
        vec![
            said(
                0,
                "user",
                Some("Ann"),
                DAY,
                "I moved to Lyon last Friday and started at Renault.",
            ),
            said(1, "assistant", None, DAY, "Lovely! I am a language model, I never move."),
        ]
    }

    fn statement(content: &str, subject: &str, messages: Value) -> Value {
        json!({
            "content": content, "kind": "personal_info", "subject": subject, "attribute": "Home",
            "value": "Lyon.", "confidence": 0.9, "importance": "high", "messages": messages,
        })
    }

    fn read_all(facts: Vec<Value>) -> FactExtraction {
        let answer = json!({"facts": facts}).to_string();
        read(&answer, &talk(), &ShownFacts::default(), &MemoryConfig::default())
            .expect("a list")
            .extraction
    }

    #[test]
    fn a_supported_statement_is_kept_with_its_sources() {
        let found = read_all(vec![statement(
            "Ann moved to Lyon on 8 March 2024.",
            "Ann",
            json!([0, "0", 77]),
        )]);
        let [candidate] = &found.candidates[..] else { panic!("{found:?}") };
        assert_eq!((candidate.attribute.as_str(), candidate.value.as_str()), ("home", "Lyon"));
        assert_eq!(candidate.source_messages, ["m0"]);
        assert_eq!(candidate.importance, 0.75);
    }

    #[test]
    fn an_array_says_the_same_as_an_object() {
        let sentence = "Ann moved to Lyon on 8 March 2024.";
        let row =
            json!(["event", "high", "Ann", "home", "Lyon", "2024-03-08", "", "", "0", sentence]);
        let answer =
            json!({"facts": [row, "event | Ann moved to Lyon.", "Ann started at Renault."]});
        let facts =
            read(&answer.to_string(), &talk(), &ShownFacts::default(), &MemoryConfig::default())
                .expect("a list");
        let found = &facts.extraction.candidates;
        let texts: Vec<&str> = found.iter().map(|one| one.content.as_str()).collect();
        assert_eq!(texts, [sentence, "Ann moved to Lyon.", "Ann started at Renault."]);
        let first = &found[0];
        assert_eq!((first.kind, first.importance), (MemoryKind::Event, 0.75));
        assert_eq!((&*first.attribute, &*first.value), ("home", "Lyon"));
        assert_eq!(facts.told[0].when(), "2024-03-08");
        assert!(found.iter().all(|one| one.source_messages == ["m0"]));
    }

    #[test]
    fn a_voice_that_a_program_did_not_know_is_a_person_of_its_session() {
        let mut message = (*said(0, "user", Some("Speaker 1"), DAY, "I live in Oslo.")).clone();
        message.session_id = Some("monday".into());
        assert_eq!(person_in("speaker 1".to_owned(), &[&message]), "Speaker 1 (monday)");
        assert_eq!(person_in("Ada".to_owned(), &[&message]), "Ada");
    }

    #[test]
    fn junk_is_turned_down_and_counted() {
        use RejectReason::*;
        let mut doubtful = statement("Ann moved to Lyon.", "Ann", json!([0]));
        doubtful["confidence"] = json!(0.2);
        for (value, reason) in [
            (statement("Ann moved to Lyon.", "Ann", json!([])), NoSource),
            (statement("Ann moved to Lyon.", "Ann", json!([9])), NoSource),
            (statement("Two facts in one message are two arrays", "Ann", json!([0])), Echo),
            (statement("Did Ann move to Lyon?", "Ann", json!([0])), Question),
            (statement("", "Ann", json!([0])), Empty),
            (doubtful, LowConfidence),
        ] {
            let found = read_all(vec![value.clone()]);
            assert_eq!(found.rejected.keys().collect::<Vec<_>>(), [&reason], "{value}");
            assert!(found.candidates.is_empty());
        }
    }

    #[test]
    fn one_bad_item_loses_no_other_and_no_list_is_no_answer() {
        let answer = concat!(
            r#"{"facts":[{"content":"Ann works at Renault.","kind":"work_history","#,
            r#""messages":[0]}, 7, {"content":"Ann mov"#,
        );
        let found = read(answer, &talk(), &ShownFacts::default(), &MemoryConfig::default())
            .expect("a list");
        assert_eq!(found.extraction.candidates.len(), 1);
        assert!(found.salvaged && found.is_cut);
        let empty = |answer: &str, messages: &[Arc<Message>]| {
            let facts = read(answer, messages, &ShownFacts::default(), &MemoryConfig::default());
            facts.map(|facts| facts.told.len())
        };
        assert_eq!(empty(r#"{"facts":[]}"#, &talk()), Some(0));
        for answer in ["no idea", "[]", "null", r#"{"facts":null}"#, r#"{"other":[]}"#] {
            assert_eq!(empty(answer, &talk()), None, "{answer}");
        }
    }

    fn dated(when: &str, from: Option<&str>) -> FactDetails {
        let parts = StatedParts {
            when: when.to_owned(),
            from: from.map(str::to_owned),
            ..StatedParts::default()
        };
        details_of(&parts, &[])
    }

    #[test]
    fn a_date_of_the_model_is_believed_if_it_is_one() {
        for (text, when, last) in [
            ("2024-03-08", "2024-03-08", ""),
            ("2024-03-08T09:30:00+01:00", "2024-03-08", ""),
            ("2024-03-08/2024-03-11", "2024-03-08/2024-03-11", "2024-03-11"),
            ("2024-03 / 1999", "2024-03", ""),
            ("2015", "2015", ""),
            ("soon/2024-13-01", "", ""),
        ] {
            let found = dated(text, None);
            assert_eq!((&*found.when(), &*found.last), (when, last), "{text}");
        }
    }

    #[test]
    fn a_fact_holds_from_the_day_of_the_speaker_on() {
        let said = Moment::parse(DAY).expect("valid");
        let since = |when: &str, from: Option<&str>, kind: MemoryKind, ends: usize| {
            let ends = vec!["k0".to_owned(); ends];
            let since = FactDetails { ends, ..dated(when, from) }.since(kind, said);
            since.map(|since| since.local().to_string())
        };
        use MemoryKind::{Goal, PersonalInfo};
        for (from, wanted) in [("2024-03-08", "03-08"), ("2024-03", "03-01"), ("2024", "01-01")] {
            let wanted = Some(format!("2024-{wanted}T00:00:00"));
            assert_eq!(since("", Some(from), Goal, 0), wanted);
            assert_eq!(since(from, None, PersonalInfo, 1), wanted, "the state begins on its day");
            assert_eq!(since(from, Some(""), Goal, 1), None, "a plan holds when it is told");
            assert_eq!(since(from, None, PersonalInfo, 0), None);
        }
    }

    #[test]
    fn numbers_name_known_facts_and_too_many_endings_are_none() {
        let known = |number: usize| {
            let fact = stated_fact(&format!("Ann lives in house {number}."));
            Arc::new(SemanticMemory { memory_id: format!("k{number}"), ..fact })
        };
        let shown = ShownFacts { known: (0..6).map(known).collect(), before: Vec::new() };
        let lines = known_lines(&shown.known).expect("some");
        assert!(lines.starts_with("0 | Alice |  | 2024-03 | Ann lives in house 0.\n"), "{lines}");
        let ended =
            SemanticMemory { valid_to: Moment::parse(DAY).ok(), ..stated_fact("Ann has a dog.") };
        let lines = known_lines(&[Arc::new(ended)]).expect("some");
        assert_eq!(lines, "0 | Alice |  | 2024-03/2024-03-11 | Ann has a dog.");
        let ends = |ends: Value, corrects: Value| {
            let mut fact = statement("Ann moved to Lyon.", "Ann", json!([0]));
            fact["ends"] = ends;
            fact["corrects"] = corrects;
            let answer = json!({"facts": [fact]}).to_string();
            let mut facts =
                read(&answer, &talk(), &shown, &MemoryConfig::default()).expect("a list");
            let told = facts.told.remove(0);
            (told.ends, told.corrects, facts.ends_too_many)
        };
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<String>>();
        let few = ends(json!([0, "3", 99, -1]), json!([]));
        assert_eq!(few, (ids(&["k0", "k3"]), ids(&[]), false));
        assert_eq!(ends(json!("1"), json!("5")), (ids(&["k1"]), ids(&["k5"]), false));
        assert_eq!(ends(json!([0, 1, 2]), json!([4])), (ids(&[]), ids(&[]), true));
        assert_eq!(ends(json!([0, 1, 2]), json!([])), (ids(&[]), ids(&[]), true), "one fact");
    }

    #[test]
    fn a_repeated_fact_has_the_words_of_the_known_one() {
        let known = SemanticMemory { subject: "Ann".into(), ..stated_fact("Ann lives in Lyon.") };
        let shown = ShownFacts { known: vec![Arc::new(known)], before: Vec::new() };
        let content = |fact: Value| {
            let answer = json!({"facts": [fact]}).to_string();
            let facts = read(&answer, &talk(), &shown, &MemoryConfig::default()).expect("a list");
            facts.extraction.candidates[0].content.clone()
        };
        let mut other = statement("Ann has a flat in Lyon.", "Ann", json!([0]));
        other["repeats"] = json!(0);
        assert_eq!(content(other.clone()), "Ann lives in Lyon.");
        other["repeats"] = json!(7);
        assert_eq!(content(other.clone()), "Ann has a flat in Lyon.", "an unknown number");
        other["ends"] = json!("=0, 0");
        assert_eq!(content(other), "Ann has a flat in Lyon.", "it ends the fact");
    }

    #[test]
    fn many_facts_about_others_make_an_answer_doubtful() {
        let messages: Vec<Arc<Message>> = ["Ann", "Tom", "Ann", "Tom"]
            .into_iter()
            .enumerate()
            .map(|(at, name)| said(at as u64, "user", Some(name), DAY, "I keep bees at home."))
            .collect();
        let is_misplaced = |subjects: &[&str]| {
            let fact = |(at, name): (usize, &&str)| {
                statement(&format!("{name} keeps {at} hives."), name, json!([2 * (at % 2)]))
            };
            let facts: Vec<Value> = subjects.iter().enumerate().map(fact).collect();
            let answer = json!({"facts": facts}).to_string();
            read(&answer, &messages, &ShownFacts::default(), &MemoryConfig::default())
                .expect("a list")
                .is_misplaced()
        };
        assert!(!is_misplaced(&["Ann", "Ann", "Ann"]));
        assert!(!is_misplaced(&["Ann", "Tom"]), "a slip");
        assert!(is_misplaced(&["Ann", "Tom", "Tom", "Ann", "Ann"]));
        assert!(!is_misplaced(&["Ann", "Tom", "Tom", "Ann", "Ann", "Ann", "Ann", "Ann", "Ann"]));
    }

    #[test]
    fn facts_in_another_language_are_noticed() {
        let is_other = |sentences: [&str; 2]| {
            let facts = sentences.map(|text| statement(text, "Ann", json!([0])));
            let answer = json!({"facts": facts}).to_string();
            let facts = read(&answer, &talk(), &ShownFacts::default(), &MemoryConfig::default());
            facts.expect("a list").is_in_other_language(&talk())
        };
        assert!(!is_other(["Ann moved to Lyon on 8 March 2024.", "Ann has started at Renault."]));
        assert!(is_other([
            "安在上周五搬到了里昂的一个新公寓。",
            "安最近开始在雷诺汽车公司上班工作。"
        ]));
        let spanish = [said(0, "user", None, DAY, "Llamó la doctora: son 60 gotas, no 75, y ya.")];
        let facts = [statement("El usuario toma 60 gotas desde el 15 de julio.", "", json!([0]))];
        let answer = json!({"facts": facts}).to_string();
        let read = read(&answer, &spanish, &ShownFacts::default(), &MemoryConfig::default());
        assert!(!read.expect("a list").is_in_other_language(&spanish), "too short to tell");
        assert!(is_other([
            "Ann ist am Freitag nach Lyon gezogen.",
            "Ann hat bei Renault begonnen."
        ]));
    }
}
