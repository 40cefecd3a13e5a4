//! Facts of a segment of messages: its best sentences, up to a volume.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::civil::Date;

use super::candidate::{FactCandidate, FactExtraction, RejectReason, TurnedDown};
use super::confirmed;
use super::cues::BackReferences;
use super::know_how;
use super::rank::{SAME_MESSAGE, importance, score};
use super::reported::without_reported;
use super::separate_clauses;
use super::slots::{self, FilledSlot};
use super::words::{SentenceSigns, WordSigns};
use crate::clock::Moment;
use crate::config::{LearnFrom, MemoryConfig};
use crate::fork::ForkLazy;
use crate::generate::episode::{
    EpisodeText, ToldSentence, breaks_off, sentences_told, write_and_tell,
};
use crate::generate::reconcile::denied;
use crate::generate::voice::speaks_of_self;
use crate::model::{MemoryKind, Message};
use crate::text::heads::{ProfileSection, SentenceHeads};
use crate::text::words::words;
use crate::text::{Language, PhraseTable, normalized};

/// Version of the rules, stored with their output.
pub const RULES_VERSION: &str = "facts-5";

/// Maximum number of facts per hundred messages.
const VOLUME: usize = 45;
/// Minimum volume of a segment, regardless of its length.
const MIN_VOLUME: usize = 2;

/// Confidence in a rewritten sentence, then in a quotation.
const REWRITTEN_CONFIDENCE: f32 = 0.85;
const QUOTED_CONFIDENCE: f32 = 0.75;

/// Minimum importance of a sentence that must be kept, then of an instruction.
const SLOT_IMPORTANCE: f32 = 0.7;
const PROCEDURE_IMPORTANCE: f32 = 0.55;

/// Maximum length of a sentence about something lasting, in bytes; longer ones tell a story.
const MAX_LASTING: usize = 120;

/// A candidate with its rank.
struct RankedCandidate {
    candidate: FactCandidate,
    score: f32,
    /// Kept even if the volume is used up.
    is_certain: bool,
    message: usize,
}

/// The facts of a segment: its best sentences.
///
/// Deterministic: the same messages and configuration give the same candidates. Candidates cite ids
/// of `messages`. Facts about a user come from the user's messages and from an agent's statements
/// about the user. In a conversation between two people, both are users.
pub fn extract_offline(messages: &[Arc<Message>], config: &MemoryConfig) -> FactExtraction {
    extract_told(&sentences_told(messages), messages, config)
}

/// Writes the episode of `messages` and extracts its facts; reads the messages only once.
/// Equivalent to [`write_offline`](crate::generate::episode::write_offline) and
/// [`extract_offline`].
pub fn write_and_extract(
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> (EpisodeText, FactExtraction) {
    let (text, told) = write_and_tell(messages);
    (text, extract_told(&told, messages, config))
}

fn extract_told(
    told: &[ToldSentence],
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> FactExtraction {
    let mut found = extract(told, messages, config);
    found.candidates.retain(|candidate| is_learned(candidate, messages, config.learn_from));
    found
}

/// True if a candidate is supported by a message of a speaker whose messages are learned from.
pub(super) fn is_learned(
    candidate: &FactCandidate,
    messages: &[Arc<Message>],
    from: LearnFrom,
) -> bool {
    let by_agent = match from {
        LearnFrom::Both => return true,
        LearnFrom::User => false,
        LearnFrom::Assistant => true,
    };
    let proves = |message: &&Arc<Message>| candidate.source_messages.contains(&message.message_id);
    messages.iter().filter(proves).any(|message| message.is_agent() == by_agent)
}

/// The sentences of a segment that were rejected as facts.
pub fn turned_down(messages: &[Arc<Message>], config: &MemoryConfig) -> Vec<TurnedDown> {
    let mut found = Vec::new();
    extract_noting(&sentences_told(messages), messages, config, &mut |at, text, reason| {
        // An agent's action that spans several messages has no single message.
        if let Some(message) = messages.get(at) {
            let (statement, said) = (text.to_owned(), message.timestamp);
            let (message_id, reason) = (message.message_id.clone(), reason.name());
            found.push(TurnedDown { message_id, statement, said, reason });
        }
    });
    found
}

pub(super) fn extract(
    told: &[ToldSentence],
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> FactExtraction {
    let mut out = FactExtraction::default();
    out.candidates = extract_noting(told, messages, config, &mut |_, _, reason| out.reject(reason));
    out
}

/// Extracts the candidates and calls `turned_down` with the message, text and reason of every other
/// sentence.
fn extract_noting(
    told: &[ToldSentence],
    messages: &[Arc<Message>],
    config: &MemoryConfig,
    turned_down: &mut dyn FnMut(usize, &str, RejectReason),
) -> Vec<FactCandidate> {
    let mut ranked: Vec<RankedCandidate> = Vec::new();
    for (at, sentence) in told.iter().enumerate() {
        match read(sentence, &told[..at], messages, config) {
            Ok(found) => ranked.extend(found),
            Err(Some(reason)) => turned_down(sentence.message, &sentence.said, reason),
            Err(None) => {}
        }
    }
    keep_best(&mut ranked, messages.len(), turned_down);
    let mut seen = HashSet::new();
    let mut candidates = Vec::with_capacity(ranked.len());
    for RankedCandidate { candidate, message, .. } in ranked {
        if seen.insert(normalized(&candidate.content)) {
            candidates.push(candidate);
        } else {
            turned_down(message, &candidate.content, RejectReason::Duplicate);
        }
    }
    candidates
}

/// Keeps the best sentences, in the order of their messages.
fn keep_best(
    ranked: &mut Vec<RankedCandidate>,
    messages: usize,
    turned_down: &mut dyn FnMut(usize, &str, RejectReason),
) {
    let volume = messages.saturating_mul(VOLUME).div_ceil(100).max(MIN_VOLUME);
    let mut order: Vec<usize> = (0..ranked.len()).collect();
    order.sort_by(|a, b| ranked[*b].score.total_cmp(&ranked[*a].score).then(a.cmp(b)));
    let mut said = HashSet::new();
    for at in &order {
        if !said.insert(ranked[*at].message) {
            ranked[*at].score += SAME_MESSAGE;
        }
    }
    order.sort_by(|a, b| ranked[*b].score.total_cmp(&ranked[*a].score).then(a.cmp(b)));
    let mut kept = vec![false; ranked.len()];
    for (rank, at) in order.into_iter().enumerate() {
        kept[at] = rank < volume || ranked[at].is_certain;
        if !kept[at] {
            let RankedCandidate { candidate, message, .. } = &ranked[at];
            turned_down(*message, &candidate.content, RejectReason::Volume);
        }
    }
    let mut kept = kept.into_iter();
    ranked.retain(|_| kept.next().unwrap_or_default());
}

/// Extracts the facts of one sentence: one, or one per clause if a person states several about
/// themself. `Err(None)` if the sentence cannot be a fact.
fn read(
    told: &ToldSentence,
    before: &[ToldSentence],
    messages: &[Arc<Message>],
    config: &MemoryConfig,
) -> Result<Vec<RankedCandidate>, Option<RejectReason>> {
    let message = &*messages[told.message];
    if told.by_agent
        && let Some(candidate) = confirmed::confirmed(told, before, messages)
    {
        return Ok(vec![RankedCandidate {
            candidate,
            score: f32::INFINITY,
            is_certain: true,
            message: told.message,
        }]);
    }
    if message.is_machinery() {
        return Err(None);
    }
    if told.asks {
        return Err(Some(RejectReason::Question));
    }
    let own = told.own.as_deref().unwrap_or(&told.said);
    if told.own.is_some() && !own.contains(char::is_alphanumeric) {
        return Err(Some(RejectReason::Quoted));
    }
    // A denial in another text denies nothing of the speaker.
    if told.own.is_some() && denied(&told.said, "").is_some() && denied(own, "").is_none() {
        return Err(Some(RejectReason::Quoted));
    }
    let reading = SentenceSigns::of(own);
    if reading.first.has(WordSigns::HYPOTHETICAL) {
        return Err(Some(RejectReason::Hypothetical));
    }
    let is_procedure = told.own.is_none() && know_how::is_procedure(&told.said, told.language);
    let content = match (told.by_agent, is_procedure) {
        (_, true) => told.said.clone(),
        (false, _) => told.content.clone(),
        (true, _) => know_how::about_user(told).ok_or(Some(RejectReason::NotAboutUser))?,
    };
    let answers = told.message > 0 && answers(&messages[told.message - 1], message);
    let heads =
        if told.own.is_none() { *told.heads() } else { SentenceHeads::of(own, told.by_agent) };
    let is_personal = told.by_agent
        || !matches!(told.language, Language::English | Language::German | Language::French)
        || speaks_of_self(own);
    let score = score(told, heads.worth, answers, is_personal);
    let says =
        if message.is_agent() { OwnWords::default() } else { OwnWords::of(told, own, message) };
    let denies = says.denies;
    let is_vital = says.is_real && heads.must > 0.0 && told.form.content > 0;
    let is_clear = heads.unclear <= SURELY_CLEAR && !told.form.dangles;
    let is_lasting = !told.by_agent
        && !told.form.dangles
        && heads.profile > 0.0
        && !is_history(told, own, message)
        && told.said.len() <= MAX_LASTING
        && told.date.is_none();
    // A rule for the assistant is a wish of the user.
    let is_wish = is_vital && is_lasting && !is_personal;
    let confidence = if told.is_rewritten { REWRITTEN_CONFIDENCE } else { QUOTED_CONFIDENCE };
    let fact = |says: OwnWords, content: String| {
        let must = says.slot.is_some() || says.denies || is_vital;
        let least = if must { SLOT_IMPORTANCE } else { 0.0 };
        let least = if is_procedure { PROCEDURE_IMPORTANCE } else { least };
        let (kind, attribute, value, whose) = match says.slot {
            Some(slot) => (slot.kind, slot.attribute, slot.value, slot.whose),
            None if is_procedure => (MemoryKind::Procedure, String::new(), String::new(), None),
            None => {
                let kind = if is_wish {
                    MemoryKind::Preference
                } else {
                    kind(is_lasting, told.date.is_some(), reading, heads)
                };
                (kind, String::new(), String::new(), None)
            }
        };
        let candidate = FactCandidate {
            content,
            kind,
            confidence,
            importance: importance(score).max(least),
            subject: match whose {
                Some(whose) => format!("{}'s {whose}", told.speaker),
                None => told.speaker.clone(),
            },
            attribute,
            value,
            valid_from: valid_from(told, message.timestamp),
            said: message.timestamp,
            source_messages: vec![message.message_id.clone()],
        };
        RankedCandidate {
            candidate,
            score,
            is_certain: is_procedure || must,
            message: told.message,
        }
    };
    // An addition ("and I also have a dog") limits its own clause, so the clauses are read apart.
    let parts = if says.is_real && told.own.is_none() {
        separate_clauses::clauses(told)
            .into_iter()
            .map(|(own, content)| (OwnWords::of(told, &own, message), content))
            .collect()
    } else {
        Vec::new()
    };
    let facts = if parts.len() > 1 {
        parts.into_iter().map(|(says, content)| fact(says, content)).collect()
    } else {
        let mut fact = fact(says, content);
        let has_slot = !fact.candidate.attribute.is_empty();
        if !(is_clear || has_slot || denies || is_procedure) {
            stand_alone(&mut fact.candidate, told, before, messages);
        }
        if gives_only_the_name(told) || !has_slot && says_nothing_alone(told) {
            return Err(Some(RejectReason::LowImportance));
        }
        vec![fact]
    };
    if facts.iter().all(|fact: &RankedCandidate| fact.candidate.importance < config.min_importance)
    {
        return Err(Some(RejectReason::LowImportance));
    }
    if confidence < config.min_confidence {
        return Err(Some(RejectReason::LowConfidence));
    }
    Ok(facts)
}

/// True if a sentence is no statement by itself: it breaks off or consists of function words.
fn says_nothing_alone(told: &ToldSentence) -> bool {
    breaks_off(&told.said) || told.form.content == 0
}

/// Words of a sentence in which a speaker gives a name.
const BEING: &str =
    "i i'm im am it's its is this here ich bin hier es ist je suis c'est soy yo me 我 是";

/// True if a sentence only repeats its speaker's name ("I'm Rosa").
fn gives_only_the_name(told: &ToldSentence) -> bool {
    let lower = |text: &str| text.to_lowercase().replace('’', "'");
    let (said, name) = (lower(&told.said), lower(&told.speaker));
    let is_empty = |word: &str| {
        words(&name).any(|known| known == word) || BEING.split(' ').any(|known| known == word)
    };
    words(&said).all(is_empty)
}

/// Maximum number of messages between a sentence that refers back and its antecedent.
const BACK: usize = 4;
/// The score of the head `unclear` up to which a sentence is left alone. An earlier sentence too
/// many does less harm than a fact that only its speaker understands.
const SURELY_CLEAR: f32 = -1.0;
/// Maximum length of a fact made of two sentences, in bytes.
const MAX_TOGETHER: usize = 300;

/// Prepends an earlier sentence to one that can't be understood alone ("I'm not, no."): the one
/// before it in the same message; else the question that it answers, the statement that it replies
/// to or the speaker's latest clear one, in this order (to an agent, the last two change places).
/// Nothing refers back to small talk.
fn stand_alone(
    candidate: &mut FactCandidate,
    told: &ToldSentence,
    before: &[ToldSentence],
    messages: &[Arc<Message>],
) {
    let is_near = |earlier: &&ToldSentence| earlier.message + BACK >= told.message;
    let fits = |earlier: &&ToldSentence| {
        let length = earlier.content.len() + candidate.content.len();
        // What fills a slot is a fact of its own, which may become outdated.
        let is_other = earlier.own.is_none() && earlier.said != told.said;
        is_other
            && earlier.form.content > 0
            && length < MAX_TOGETHER
            && slots::fill(&earlier.said, None).is_none()
    };
    let near = || before.iter().rev().take_while(is_near).filter(fits);
    let says = |earlier: &ToldSentence, most_unclear: f32| {
        let heads = earlier.heads();
        !earlier.asks && heads.small_talk <= 0.0 && heads.unclear <= most_unclear
    };
    let is_clear = |earlier: &&ToldSentence| !earlier.form.dangles && says(earlier, 0.0);
    let replied_to = || {
        let is_before = |earlier: &&ToldSentence| {
            earlier.message + 1 == told.message && earlier.speaker != told.speaker
        };
        near().filter(is_before)
    };
    let statement = || replied_to().find(is_clear);
    let own = || near().filter(|earlier| earlier.speaker == told.speaker).find(is_clear);
    let to_agent = told.message > 0 && messages[told.message - 1].is_agent();
    let Some(earlier) = near()
        .find(|earlier| earlier.message == told.message)
        .filter(|earlier| says(earlier, f32::INFINITY))
        .or_else(|| replied_to().find(|earlier| earlier.asks))
        .or_else(|| if to_agent { own().or_else(statement) } else { statement().or_else(own) })
    else {
        return;
    };
    candidate.content = format!("{} {}", earlier.content, candidate.content);
    let source = &messages[earlier.message].message_id;
    if !candidate.source_messages.contains(source) {
        candidate.source_messages.insert(0, source.clone());
    }
}

/// Properties of a person's own words, apart from their rank.
#[derive(Default)]
struct OwnWords {
    /// The slot that the words fill.
    slot: Option<FilledSlot>,
    /// True if the words deny what held until now.
    denies: bool,
    /// True if the words are neither a supposition nor a dream.
    is_real: bool,
}

impl OwnWords {
    /// Reads a sentence. Statements that are reported, supposed, dreamt or valid only for a while
    /// neither fill nor end a slot.
    fn of(told: &ToldSentence, own: &str, message: &Message) -> Self {
        let own = without_reported(own);
        let cues = BackReferences::of(&own);
        if cues.unreal {
            return Self::default();
        }
        let is_history = is_history(told, &own, message);
        let slot = slots::fill(&own, told.date.as_ref());
        let slot = slot.filter(|_| !cues.limit && !is_history);
        let denies = denied(&own, "").is_some();
        Self { slot, denies, is_real: true }
    }
}

/// Words of a story about earlier days.
static ONCE: ForkLazy<PhraseTable<()>> = ForkLazy::new(|| {
    let words = " then |after that|originally|back then|when i was\
        |as a kid|as a child|growing up|before that|at first|used to|als kind|de niño|小时候";
    PhraseTable::new(words.split('|').map(|words| (words, ())))
});

/// Maximum age, in seconds, of a dated change that still describes the present.
const RECENT_SECONDS: f64 = 400.0 * 86_400.0;

/// True if a sentence reports a past that may be over: "then I moved to Lyon for two years", "I
/// moved to Lyon in 2009."
fn is_history(told: &ToldSentence, own: &str, message: &Message) -> bool {
    let lower = format!(" {} ", own.to_lowercase());
    let long_ago = told.date.and_then(|date| midnight(date.to, message.timestamp));
    let long_ago =
        long_ago.is_some_and(|day| message.timestamp.seconds_since(day) > RECENT_SECONDS);
    ONCE.are_in(&lower) || long_ago && !SINCE.iter().any(|word| lower.contains(word))
}

/// Words for a state that began long ago and still holds.
const SINCE: [&str; 9] = ["since", "for ", "seit", "desde", "hace", "depuis", "从", "以来", "born"];

/// True if the message answers another speaker's question.
fn answers(before: &Message, message: &Message) -> bool {
    before.speaker() != message.speaker() && before.content.trim_end().ends_with(['?', '？'])
}

/// The category of a sentence without a slot. Only a lasting sentence gets a category of a profile.
pub(super) fn kind(
    is_lasting: bool,
    is_dated: bool,
    reading: SentenceSigns,
    heads: SentenceHeads,
) -> MemoryKind {
    let signs = reading.all;
    if signs.has(WordSigns::CHOICE) {
        return MemoryKind::Decision;
    }
    if !is_lasting {
        let happens =
            is_dated || signs.has(WordSigns::PAST) || heads.section == ProfileSection::Goal;
        return if happens { MemoryKind::Event } else { MemoryKind::Entity };
    }
    match heads.section {
        ProfileSection::Personal => MemoryKind::PersonalInfo,
        ProfileSection::Work => MemoryKind::WorkHistory,
        ProfileSection::Taste => MemoryKind::Preference,
        ProfileSection::Relation => MemoryKind::Relationship,
        ProfileSection::Goal => MemoryKind::Goal,
    }
}

/// Start of validity: the day named in the sentence if that day is past, else the time of the
/// message.
fn valid_from(told: &ToldSentence, said: Moment) -> Moment {
    told.date
        .and_then(|mention| midnight(mention.from, said))
        .filter(|moment| *moment < said)
        .unwrap_or(said)
}

/// Start of a day in the UTC offset of `said`.
fn midnight(date: Date, said: Moment) -> Option<Moment> {
    let days = date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs();
    Moment::new(
        (days - i64::from(said.offset_seconds())).checked_mul(1_000_000)?,
        said.offset_seconds(),
    )
    .ok()
}
