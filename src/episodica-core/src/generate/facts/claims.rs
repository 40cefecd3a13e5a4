//! Facts without a model: spans of messages, verbatim.
//!
//! Whether a span is a fact depends on its own message alone, so a message gives the same facts
//! whatever was said before and after it; but a scrap ("The 20th.") is one only as an answer.
//! Learned heads choose the sentences ([`SentenceHeads`]). Nothing is reworded, joined with another
//! message, or ended.

use std::ops::Range;
use std::sync::Arc;

use super::candidate::{FactCandidate, FactExtraction, RejectReason, TurnedDown};
use crate::config::{LearnFrom, MemoryConfig};
use crate::embed::{CompactEmbedder, Embedder};
use crate::generate::episode::{SpokenSentence, quote_speaker, speaker_label, spoken_sentences};
use crate::generate::voice::{VoiceSpan, base_voice, said_by, spans, speaks_of_self, told_part};
use crate::model::{FactQuote, MemoryKind, Message, SaidBy, person_of};
use crate::text::heads::{ProfileSection, SentenceHeads, bare, has_name, probability};
use crate::text::time::{TimeMention, mentions_after, with_dates};
use crate::text::{count_tokens, language, telling_start};

/// Version of the rules, stored with the facts.
pub const RULES_VERSION: &str = "quotes-1";

/// Maximum length of a quotation, in o200k_base tokens.
const MAX_TOKENS: usize = 60;
/// Texts up to this number of bytes have at most [`MAX_TOKENS`] tokens, longer ones than the second
/// number have more.
const SURELY_SHORT: usize = MAX_TOKENS;
const SURELY_LONG: usize = 16 * MAX_TOKENS;
/// Confidence in a quotation: the words are certain, their meaning need not be.
const CONFIDENCE: f32 = 0.85;
/// The score of the head `unclear` up to which a sentence is quoted without the one before it.
const SURELY_CLEAR: f32 = -1.0;
/// The same for a sentence with a word for its speaker.
const CLEAR_OF_SELF: f32 = 1.0;
/// The score of `unclear` above which a sentence that stands alone may be about anybody, so it
/// belongs in no section of a profile; and above which so short a one tells nothing, in tokens.
const OF_ANYBODY: f32 = 1.0;
const SCRAP: f32 = 2.5;
const SCRAP_TOKENS: usize = 6;
/// Least importance of a sentence that must not be missed, and of one that belongs in a profile: a
/// full one keeps an old allergy or rule before sentences that are only worth a note.
const VITAL: f32 = 0.7;
const LASTING: f32 = 0.9;
/// The same for a rule for the assistant, which a full profile keeps before all else.
const RULE: f32 = 0.97;
/// The importance of a sentence is that of its score of the head `worth`: one half at `MIDDLE`, and
/// rising by `SLOPE` / 4 for each point there.
const MIDDLE: f32 = 0.6;
const SLOPE: f32 = 0.5;
/// Maximum length of a message in which an agent tells what it did or found, in bytes; a longer one
/// explains.
const MAX_REPORT: usize = 400;

/// A sentence that is worth keeping, as a range of bytes of its message.
struct KeptSpan {
    range: Range<usize>,
    importance: f32,
    kind: MemoryKind,
}

/// The facts that these messages state, in order. Deterministic.
pub fn extract_quotes(messages: &[Arc<Message>], config: &MemoryConfig) -> FactExtraction {
    let mut found = FactExtraction::default();
    let candidates = quotes_of(messages, config, &mut |_, _, reason| found.reject(reason));
    FactExtraction { candidates, ..found }
}

/// The sentences of these messages that are no facts.
pub fn turned_down(messages: &[Arc<Message>], config: &MemoryConfig) -> Vec<TurnedDown> {
    let mut found = Vec::new();
    let mut reject = |message: &Message, text: &str, reason: RejectReason| {
        found.push(TurnedDown {
            message_id: message.message_id.clone(),
            statement: text.to_owned(),
            said: message.timestamp,
            reason: reason.name(),
        });
    };
    quotes_of(messages, config, &mut reject);
    found
}

fn quotes_of(
    messages: &[Arc<Message>],
    config: &MemoryConfig,
    reject: &mut dyn FnMut(&Message, &str, RejectReason),
) -> Vec<FactCandidate> {
    let mut candidates = Vec::new();
    for ReadMessage { at, clauses } in read_messages(messages, config) {
        let is_asked = || asked_before(messages, at).is_some();
        let spans = kept_spans(&messages[at], clauses, &is_asked, config.min_importance, reject);
        if !spans.is_empty() {
            let dates = dates_of(messages, at);
            candidates.extend(spans.iter().map(|span| candidate(messages, at, span, &dates)));
        }
    }
    candidates
}

/// The clauses of a message, at this place among the messages.
struct ReadMessage {
    at: usize,
    /// `None` stands for what nobody spoke.
    clauses: Vec<Option<ScoredClause>>,
}

/// The scored clauses of the messages that are learned from. Vectors are made only of the
/// speakers' own clauses that words leave open, of all messages at once: the encoder is slow on few
/// texts, and a vector depends on its own text alone.
fn read_messages(messages: &[Arc<Message>], config: &MemoryConfig) -> Vec<ReadMessage> {
    let is_learned = |message: &Message| match config.learn_from {
        LearnFrom::Both => true,
        LearnFrom::User => !message.is_agent(),
        LearnFrom::Assistant => message.is_agent(),
    };
    let mut read = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let explains = message.is_agent() && message.content.len() > MAX_REPORT;
        let is_judged = is_learned(message) && !message.is_machinery() && !explains;
        if is_judged && CONFIDENCE >= config.min_confidence {
            read.push(ReadMessage { at, clauses: scored_clauses(message) });
        }
    }
    let mut open: Vec<(&str, bool, &mut SentenceHeads)> = Vec::new();
    for ReadMessage { at, clauses } in &mut read {
        let (content, by_agent) = (&*messages[*at].content, messages[*at].is_agent());
        for clause in clauses.iter_mut().flatten() {
            if clause.is_own && !clause.asks && clause.heads.is_open(by_agent) {
                open.push((bare(&content[clause.range.clone()]), by_agent, &mut clause.heads));
            }
        }
    }
    // The first call reads the encoder, so there is none for small talk.
    if open.is_empty() {
        return read;
    }
    let texts: Vec<&str> = open.iter().map(|(text, ..)| *text).collect();
    // Without vectors the scores of the words stand.
    if let Ok(vectors) = CompactEmbedder.embed_texts(&texts) {
        for ((text, by_agent, heads), vector) in open.into_iter().zip(vectors.rows()) {
            let vector = vector.to_slice().unwrap_or_default();
            *heads = SentenceHeads::with_vector(text, by_agent, vector);
        }
    }
    read
}

/// The message with the question that the beginning of message `at` answers: the one before it, if
/// another speaker of the session asked it.
pub fn asked_before(messages: &[Arc<Message>], at: usize) -> Option<&Arc<Message>> {
    let (message, before) = (&messages[at], messages.get(at.checked_sub(1)?)?);
    let is_other = before.speaker() != message.speaker();
    let asks = || spoken_sentences(&before.content).last().is_some_and(|unit| unit.asks);
    (is_other && before.session_id == message.session_id && asks()).then_some(before)
}

/// The times that message `at` mentions; the messages before it in its session may name a month.
fn dates_of(messages: &[Arc<Message>], at: usize) -> Vec<TimeMention> {
    let message = &messages[at];
    let before = messages[..at].iter().rev();
    let before = before.take_while(|one| one.session_id == message.session_id);
    let language = language(telling_start(&message.content));
    let before = before.map(|one| &*one.content);
    let mut dates = mentions_after(before, &message.content, message.timestamp, language);
    if message.is_of_two_days() {
        dates.iter_mut().for_each(TimeMention::leave_open);
    }
    dates
}

fn candidate(
    messages: &[Arc<Message>],
    at: usize,
    span: &KeptSpan,
    dates: &[TimeMention],
) -> FactCandidate {
    let message = &messages[at];
    let text = &message.content[span.range.clone()];
    let language = language(telling_start(&message.content));
    let speaker = speaker_label(message, language);
    let start = message.content[..span.range.start].chars().count() as u32;
    let quote = FactQuote {
        text: text.to_owned(),
        span: [start, start + text.chars().count() as u32],
        speaker: speaker.clone(),
        said_at: message.timestamp,
        said_by: base_voice(message),
        asked: asked_before(messages, at)
            .filter(|_| !message.content[..span.range.start].contains(char::is_alphanumeric))
            .map(|asked| asked.message_id.clone()),
    };
    let place = span.range.start;
    let inside = dates.iter().filter(|one| place <= one.start && one.end <= span.range.end);
    let inside =
        inside.map(|one| TimeMention { start: one.start - place, end: one.end - place, ..*one });
    let dated = with_dates(text, &inside.collect::<Vec<_>>());
    let line = dated.split_whitespace().collect::<Vec<_>>().join(" ");
    FactCandidate {
        content: quote_speaker(&speaker, &line, language),
        kind: span.kind,
        confidence: CONFIDENCE,
        importance: span.importance,
        subject: person_of(&speaker, message.session_id.as_deref()).into_owned(),
        attribute: String::new(),
        value: String::new(),
        valid_from: message.timestamp,
        said: message.timestamp,
        source_messages: vec![message.message_id.clone()],
        quote: Some(Box::new(quote)),
    }
}

/// The spans of a message that are worth keeping, in order, without overlaps.
fn kept_spans(
    message: &Message,
    clauses: Vec<Option<ScoredClause>>,
    is_asked: &dyn Fn() -> bool,
    min_importance: f32,
    reject: &mut dyn FnMut(&Message, &str, RejectReason),
) -> Vec<KeptSpan> {
    let (content, by_agent) = (&*message.content, message.is_agent());
    let mut kept: Vec<KeptSpan> = Vec::new();
    let mut before: Option<SentenceBefore> = None;
    for clause in clauses {
        let Some(clause) = clause else {
            before = None;
            continue;
        };
        let ScoredClause { range, asks, is_own, heads } = clause;
        let text = &content[range.clone()];
        let judged = if is_own {
            judge(text, asks, &heads, by_agent, min_importance)
        } else {
            Err(RejectReason::Quoted)
        };
        let mut unclear = heads.unclear;
        match judged {
            Ok((importance, kind)) => {
                let is_first = !content[..range.start].contains(char::is_alphanumeric);
                let is_answer = || is_first && is_asked();
                let span = KeptSpan { range: range.clone(), importance, kind };
                match placed(content, span, before.as_ref(), &heads, is_answer) {
                    Some(span) => {
                        if let Some(first) = before.filter(|_| span.range.start < range.start) {
                            unclear = unclear.min(first.unclear);
                        }
                        push_merged(&mut kept, span);
                    }
                    None => reject(message, text, RejectReason::Unclear),
                }
            }
            Err(reason) => match completed(content, &mut kept, before.as_ref(), &range, &heads) {
                Some(last) if reason == RejectReason::LowImportance => {
                    last.range.end = range.end;
                    unclear = f32::NEG_INFINITY;
                }
                _ => reject(message, text, reason),
            },
        }
        let is_told = is_own && !asks && heads.small_talk <= 0.0 && !heads.asks_to_forget();
        let kind = heads.profile_section().filter(|_| !by_agent).map(section_kind);
        before = is_told.then_some(SentenceBefore { range, kind, unclear });
    }
    kept
}

/// The sentence before, if it can be quoted together with the next one.
struct SentenceBefore {
    range: Range<usize>,
    /// Its section of a profile.
    kind: Option<MemoryKind>,
    /// Its score of the head `unclear`; of sentences quoted together the lowest.
    unclear: f32,
}

/// The span of a sentence in the section where it belongs: with the sentence before, if it needs
/// it and that one is clearer, and in the section of that; `None` for a scrap that answers nothing.
fn placed(
    content: &str,
    span: KeptSpan,
    before: Option<&SentenceBefore>,
    heads: &SentenceHeads,
    is_answer: impl Fn() -> bool,
) -> Option<KeptSpan> {
    let text = &content[span.range.clone()];
    let is_of_self = heads.is_rule() || speaks_of_self(text);
    let is_clear = heads.unclear <= SURELY_CLEAR || heads.unclear <= CLEAR_OF_SELF && is_of_self;
    let with_before = before
        .filter(|before| !is_clear && before.unclear < heads.unclear)
        .map(|before| (before.range.start..span.range.end, before.kind))
        .filter(|(whole, _)| fits(&content[whole.clone()]));
    if let Some((range, kind)) = with_before {
        return Some(KeptSpan { range, kind: kind.unwrap_or(span.kind), ..span });
    }
    let is_sure = heads.must > 0.0 || heads.unclear <= OF_ANYBODY || is_of_self;
    if span.kind == MemoryKind::Decision || is_sure || is_answer() {
        return Some(span);
    }
    let is_scrap = heads.unclear > SCRAP && count_tokens(text) <= SCRAP_TOKENS;
    (!is_scrap).then_some(KeptSpan { kind: MemoryKind::Event, ..span })
}

/// The line of a profile to which this sentence, which is no fact by itself, adds a number or a
/// name: "My emergency contact is my cousin. The number is 0161 555 0117."
fn completed<'a>(
    content: &str,
    kept: &'a mut [KeptSpan],
    before: Option<&SentenceBefore>,
    range: &Range<usize>,
    heads: &SentenceHeads,
) -> Option<&'a mut KeptSpan> {
    let last = kept.last_mut().filter(|last| {
        let is_next = before.is_some_and(|before| before.range.end == last.range.end);
        is_next && !matches!(last.kind, MemoryKind::Event | MemoryKind::Decision)
    })?;
    let text = &content[range.clone()];
    let is_given = text.contains(|c: char| c.is_ascii_digit()) || has_name(text);
    let is_told = heads.small_talk <= 0.0 && !heads.asks_to_forget();
    let leans = heads.unclear > OF_ANYBODY && is_told;
    (is_given && leans && fits(&content[last.range.start..range.end])).then_some(last)
}

/// True if a clause only announces another's words, with which it ends: "Caption: I moved."
fn announces(content: &str, voices: &[VoiceSpan], clause: &Range<usize>, own: SaidBy) -> bool {
    let is_word = |c: char| c.is_alphanumeric();
    let letters = content[clause.clone()].trim_end_matches(|c| !is_word(c)).len();
    let place = voices.partition_point(|span| span.range.end < clause.start + letters);
    let Some(last) = voices.get(place).filter(|last| last.said_by != own) else { return false };
    let before = content.get(clause.start..last.range.start).unwrap_or_default();
    before.trim_end_matches(|c: char| !is_word(c) && !MARKS.contains(&c)).ends_with(MARKS)
}

/// Marks between an announcement and the words that it announces.
const MARKS: [char; 6] = [':', '：', '-', '–', '—', ']'];

/// A clause that was spoken, with its scores.
struct ScoredClause {
    range: Range<usize>,
    asks: bool,
    is_own: bool,
    heads: SentenceHeads,
}

/// The clauses of a message in order, scored by their words; `None` stands for what nobody spoke.
fn scored_clauses(message: &Message) -> Vec<Option<ScoredClause>> {
    let (content, by_agent) = (&*message.content, message.is_agent());
    let voice = base_voice(message);
    let voices = spans(content, message.speaker(), voice);
    let mut clauses = Vec::new();
    for unit in &spoken_sentences(content) {
        if !unit.is_speech {
            clauses.push(None);
            continue;
        }
        let parts = clauses_within(content, unit).into_iter();
        for (range, asks) in parts.flat_map(|range| told_and_asked(content, range, unit.asks)) {
            let text = &content[range.clone()];
            // "[Image: a dog on a beach]" describes what was sent.
            if text.starts_with('[') && text.ends_with(']') {
                clauses.push(None);
                continue;
            }
            let is_own = said_by(&voices, range.clone()) == voice
                && !announces(content, &voices, &range, voice);
            let heads = SentenceHeads::of(text, by_agent);
            clauses.push(Some(ScoredClause { range, asks, is_own, heads }));
        }
    }
    clauses
}

/// A clause and whether it asks; one that asks may tell something before or after its question.
fn told_and_asked(content: &str, clause: Range<usize>, asks: bool) -> Vec<(Range<usize>, bool)> {
    let Some(told) = asks.then(|| told_part(&content[clause.clone()])).flatten() else {
        return vec![(clause, asks)];
    };
    let told = clause.start + told.start..clause.start + told.end;
    let before = trimmed(content, clause.start..told.start);
    let after = trimmed(content, told.end..clause.end);
    let parts = [(before, true), (told, false), (after, true)];
    let is_said = |part: &Range<usize>| content[part.clone()].contains(char::is_alphanumeric);
    parts.into_iter().filter(|(part, _)| is_said(part)).collect()
}

/// Adds a span; one that overlaps the last span becomes one with it.
fn push_merged(kept: &mut Vec<KeptSpan>, span: KeptSpan) {
    match kept.last_mut().filter(|last| span.range.start < last.range.end) {
        Some(last) => {
            last.range.end = span.range.end;
            if span.importance > last.importance {
                (last.importance, last.kind) = (span.importance, span.kind);
            }
        }
        None => kept.push(span),
    }
}

/// Importance and category of a sentence, or the reason why it is no fact.
fn judge(
    text: &str,
    asks: bool,
    heads: &SentenceHeads,
    by_agent: bool,
    min_importance: f32,
) -> Result<(f32, MemoryKind), RejectReason> {
    if !fits(text) {
        return Err(RejectReason::TooLong);
    }
    if asks {
        return Err(RejectReason::Question);
    }
    if by_agent {
        let importance = probability(heads.outcome);
        let is_kept = heads.outcome > 0.0 && importance >= min_importance;
        let reason = RejectReason::NotAboutUser;
        return if is_kept { Ok((importance, MemoryKind::Decision)) } else { Err(reason) };
    }
    if heads.small_talk > 0.0 || heads.asks_to_forget() {
        return Err(RejectReason::LowImportance);
    }
    let is_vital = heads.must > 0.0;
    let worth = probability(SLOPE * (heads.worth - MIDDLE));
    let section = heads.profile_section();
    let importance = match section {
        Some(ProfileSection::Rule) => RULE + (1.0 - RULE) * worth,
        Some(_) if is_vital => LASTING + (RULE - LASTING) * worth,
        None if is_vital => worth.max(VITAL),
        _ => worth,
    };
    if importance < min_importance {
        return Err(RejectReason::LowImportance);
    }
    Ok((importance, section.map_or(MemoryKind::Event, section_kind)))
}

/// The category of a text that the application states: the section of the profile in which it
/// would stand as a quotation.
pub(super) fn stated_kind(text: &str) -> MemoryKind {
    let mut heads = SentenceHeads::of(text, false);
    if let Ok(vectors) = CompactEmbedder.embed_texts(&[bare(text)]) {
        let vector = vectors.row(0).to_slice().unwrap_or_default().to_vec();
        heads = SentenceHeads::with_vector(text, false, &vector);
    }
    heads.profile_section().map_or(MemoryKind::Event, section_kind)
}

/// The category that stands for a section of the profile.
fn section_kind(section: ProfileSection) -> MemoryKind {
    match section {
        ProfileSection::Personal | ProfileSection::Rule => MemoryKind::PersonalInfo,
        ProfileSection::Work => MemoryKind::WorkHistory,
        ProfileSection::Taste => MemoryKind::Preference,
        ProfileSection::Relation => MemoryKind::Relationship,
        ProfileSection::Goal => MemoryKind::Goal,
    }
}

/// True if a text is short enough to be quoted.
fn fits(text: &str) -> bool {
    text.len() <= SURELY_SHORT || text.len() <= SURELY_LONG && count_tokens(text) <= MAX_TOKENS
}

/// The sentence without markers of lists at its start; a sentence that is too long in parts that
/// end with a clause, as long as possible.
fn clauses_within(content: &str, unit: &SpokenSentence) -> Vec<Range<usize>> {
    let text = &content[unit.start..unit.end];
    let marked = text.trim_start_matches(['#', '*', '-', '>', '•', '+', '~', ' ', '\t']);
    let start = unit.end - marked.len();
    let end = start + marked.trim_end().len();
    let sentence = &content[start..end];
    if fits(sentence) {
        return (!sentence.is_empty()).then_some(start..end).into_iter().collect();
    }
    let mut parts = Vec::new();
    let mut from = start;
    let mut last: Option<usize> = None;
    let marks = sentence.char_indices().filter(|(_, c)| is_clause_mark(*c));
    for (at, mark) in marks.map(|(at, mark)| (start + at, mark)).chain([(end, ' ')]) {
        if !fits(content[from..at].trim()) {
            match last.take().filter(|last| *last > from) {
                Some(clause) => parts.push(trimmed(content, from..clause)),
                // This clause alone is too long.
                None => parts.push(trimmed(content, from..at)),
            }
            from = parts.last().map_or(at, |part: &Range<usize>| part.end.max(from));
        }
        last = Some((at + mark.len_utf8()).min(end));
    }
    parts.push(trimmed(content, from..end));
    parts.retain(|part| !part.is_empty());
    parts
}

fn is_clause_mark(c: char) -> bool {
    matches!(c, ',' | ';' | ':' | '–' | '—' | '，' | '；' | '：' | '、')
}

/// A range without white space and marks between clauses at its ends.
fn trimmed(content: &str, range: Range<usize>) -> Range<usize> {
    let text = &content[range.clone()];
    let is_gap = |c: char| c.is_whitespace() || is_clause_mark(c);
    let inner = text.trim_start_matches(is_gap);
    let start = range.end - inner.len();
    start..start + inner.trim_end_matches(is_gap).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::testing::said;

    const DAY: &str = "2024-03-11T09:30:00+01:00";

    fn quotes(messages: &[Arc<Message>]) -> Vec<FactCandidate> {
        extract_quotes(messages, &MemoryConfig::default()).candidates
    }

    fn of_text(text: &str) -> Vec<FactCandidate> {
        quotes(&[said(0, "user", Some("Mira"), DAY, text)])
    }

    #[test]
    fn a_quotation_is_verbatim_with_its_speaker_and_dates() {
        let text = "Moin! \u{1f600} I moved to Lyon yesterday. How are you?";
        let found = of_text(text);
        let [one] = &found[..] else { panic!("{found:?}") };
        assert_eq!(one.content, "Mira: \"I moved to Lyon yesterday [10 March 2024].\"");
        let quote = one.quote.as_ref().expect("a quotation");
        assert_eq!((&*quote.text, &*quote.speaker), ("I moved to Lyon yesterday.", "Mira"));
        let [start, end] = quote.span.map(|at| at as usize);
        let at: String = text.chars().skip(start).take(end - start).collect();
        assert_eq!(at, quote.text, "spans count code points");
        assert_eq!((quote.said_by, quote.asked.as_deref()), (SaidBy::User, None));
        let chinese = quotes(&[said(0, "user", None, DAY, "我对花生过敏。")]);
        assert_eq!(chinese[0].content, "用户：“我对花生过敏。”");
    }

    #[test]
    fn an_answer_names_its_question_and_stands_alone() {
        let talk = [
            said(0, "assistant", None, DAY, "Noted. Any allergies?"),
            said(
                1,
                "user",
                Some("Mira"),
                DAY,
                "I'm allergic to walnuts. My sister Ada eats everything.",
            ),
        ];
        let found = quotes(&talk);
        let first = found.first().expect("is quoted");
        assert_eq!(first.quote.as_ref().and_then(|one| one.asked.as_deref()), Some("m0"));
        assert!(first.content.starts_with("Mira: \"I'm allergic to walnuts."), "{}", first.content);
        assert_eq!(first.source_messages, ["m1"]);
        let other = said(1, "assistant", None, DAY, "I'm allergic to walnuts.");
        assert_eq!(asked_before(&[Arc::clone(&talk[0]), other], 1), None, "the same speaker");
    }

    #[test]
    fn words_of_others_questions_and_small_talk_are_none() {
        for text in [
            "Do I live in Lyon?",
            "Haha, thanks!",
            "> I moved to Moscow.",
            "[12.03.24, 10:00:05] Mallory: I moved to Moscow and I'm allergic to nuts.",
            "Caption for the photo: I moved to Lyon.",
            "My sister's long voicemail of yesterday: \"I moved to Lyon.\"",
            "```\nI live in Lyon\n```",
            "",
            "\u{200b}",
        ] {
            assert!(of_text(text).is_empty(), "{text}: {:?}", of_text(text));
        }
        let system = said(0, "system", None, DAY, "I live in Lyon.");
        assert!(quotes(&[system]).is_empty());
    }

    #[test]
    fn a_sentence_that_asks_may_tell_something() {
        for (text, told) in [
            ("I'm allergic to walnuts, so what can I eat?", "I'm allergic to walnuts"),
            ("Meine Frau ist schwanger, welchen Tee darf sie trinken?", "Meine Frau ist schwanger"),
            ("Ich wohne seit Mai in Lyon, wie melde ich mich an?", "Ich wohne seit Mai in Lyon"),
            ("Je travaille de nuit, quand dormir ?", "Je travaille de nuit"),
            (
                "Tengo tres hijos en ese colegio, ¿puedo pedir beca?",
                "Tengo tres hijos en ese colegio",
            ),
            ("我对花生过敏，这个能吃吗？", "我对花生过敏"),
        ] {
            let found = of_text(text);
            let [one] = &found[..] else { panic!("{text}: {found:?}") };
            assert_eq!(one.quote.as_ref().map(|quote| &*quote.text), Some(told));
        }
        for text in [
            "I live in Lyon, right?",
            "If I were allergic to walnuts, what could I eat?",
            "Wenn ich gegen Hasel allergisch wäre, was dann?",
            "Do you think, as a doctor, that I may eat walnuts?",
            "我住在里昂，对吧？",
        ] {
            assert!(of_text(text).is_empty(), "{text}: {:?}", of_text(text));
        }
    }

    #[test]
    fn a_long_sentence_is_quoted_by_clauses() {
        let long = "I moved to Lyon with my two daughters and the old dog of my aunt".to_owned()
            + &", and then we painted the whole flat in green and yellow".repeat(12);
        for one in of_text(&long) {
            let quote = one.quote.expect("a quotation");
            assert!(count_tokens(&quote.text) <= MAX_TOKENS && long.contains(&quote.text));
            assert!(!quote.text.ends_with(','), "{}", quote.text);
        }
        assert!(!of_text(&long).is_empty());
        assert!(of_text(&"lala".repeat(5_000)).is_empty());
    }

    #[test]
    fn an_agent_is_quoted_where_it_reports() {
        let report = "I've moved your review to 10 April at 14:00.";
        let found = quotes(&[said(0, "assistant", None, DAY, report)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].kind, MemoryKind::Decision);
        let essay = format!("{report} {}", "You could also think about it again. ".repeat(40));
        assert!(quotes(&[said(0, "assistant", None, DAY, &essay)]).is_empty());
        let config = MemoryConfig { learn_from: LearnFrom::User, ..MemoryConfig::default() };
        let talk = [said(0, "assistant", None, DAY, report)];
        assert!(extract_quotes(&talk, &config).candidates.is_empty());
    }

    proptest! {
        #[test]
        fn a_message_gives_the_same_whatever_stands_around_it(
            texts in proptest::collection::vec(
                "(I (moved to|live in) [A-Z][a-z]{3,8}|My sister is a nurse|Why|So)[.!?, ]{1,2}\
                 (I have a dog named Rex[.,] )?(and the flat is big.)?",
                1..5,
            ),
            at in 0_usize..5,
        ) {
            let talk: Vec<Arc<Message>> = (0..).zip(&texts)
                .map(|(number, text)| said(number, "user", Some("Mira"), DAY, text))
                .collect();
            let at = at % talk.len();
            let alone = quotes(&talk[at..=at]);
            let id = &talk[at].message_id;
            let mut among = quotes(&talk);
            among.retain(|one| one.source_messages[0] == *id);
            prop_assert_eq!(&alone, &among);
            for one in alone {
                let quote = one.quote.expect("a quotation");
                prop_assert!(texts[at].contains(&quote.text));
            }
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            for one in of_text(&text) {
                let quote = one.quote.expect("a quotation");
                prop_assert!(text.contains(&quote.text) && !quote.text.is_empty());
            }
        }
    }
}
