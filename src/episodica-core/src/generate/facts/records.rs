//! Turns candidates into records of the fact log.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::clock::Moment;
use crate::generate::episode::is_common_word;
use crate::generate::facts::claims::stated_kind;
use crate::generate::facts::{FactCandidate, RULES_VERSION};
use crate::ids::{Owner, record_id};
use crate::index::for_each_term;
use crate::model::{BY_RULES, MemoryKind, Message, SemanticMemory, TextProvenance};
use crate::text::heads::SentenceHeads;

/// The attribute of a fact that states a name.
const NAME: &str = "name";

/// The first revision of a fact. Its id follows from the message and the span that it quotes, or
/// from a model's sentence and the first message that it cites. The provenance is that of a
/// quotation; callers that use a model overwrite it.
pub(crate) fn fact_from(
    owner: &Owner,
    candidate: &FactCandidate,
    episode: Option<&str>,
    now: Moment,
) -> SemanticMemory {
    let first = candidate.source_messages.first().map_or("", String::as_str);
    let memory_id = match &candidate.quote {
        Some(quote) => {
            let span = quote.span.map(u32::to_le_bytes).concat();
            record_id(owner, "semantic", &[b"quote", first.as_bytes(), &span])
        }
        None => {
            let parts = [&*candidate.subject, &*candidate.attribute, &*candidate.content, first];
            record_id(owner, "semantic", &parts.map(str::as_bytes))
        }
    };
    SemanticMemory {
        quote: candidate.quote.clone(),
        kind: candidate.kind,
        source_episodes: episode.map(str::to_owned).into_iter().collect(),
        confidence: candidate.confidence,
        importance: candidate.importance,
        source_messages: candidate.source_messages.clone(),
        subject: candidate.subject.clone(),
        attribute: candidate.attribute.clone(),
        value: candidate.value.clone(),
        valid_from: candidate.valid_from,
        provenance: TextProvenance {
            method: BY_RULES.to_owned(),
            prompt_version: RULES_VERSION.to_owned(),
            ..TextProvenance::default()
        },
        ..SemanticMemory::new(memory_id, owner.user.clone(), candidate.content.clone(), now)
    }
}

/// Confidence and importance of a fact that the application states: it knows the fact, and
/// considers it worth keeping.
const STATED_CONFIDENCE: f32 = 1.0;
const STATED_IMPORTANCE: f32 = 0.8;

/// The candidate for a fact that the application states.
pub(crate) fn stated_candidate(
    content: &str,
    subject: &str,
    kind: Option<MemoryKind>,
    at: Moment,
) -> FactCandidate {
    FactCandidate {
        content: content.to_owned(),
        quote: None,
        kind: kind.unwrap_or_else(|| stated_kind(content)),
        confidence: STATED_CONFIDENCE,
        importance: STATED_IMPORTANCE,
        subject: subject.to_owned(),
        attribute: String::new(),
        value: String::new(),
        valid_from: at,
        said: at,
        source_messages: Vec::new(),
    }
}

/// The next revision of a fact, still to be changed.
pub(crate) fn next_revision(fact: &SemanticMemory, now: Moment) -> SemanticMemory {
    SemanticMemory { updated_at: now, revision_count: fact.revision_count + 1, ..fact.clone() }
}

/// The words of the messages that prove a fact, and of their speakers' names.
pub(crate) struct EvidenceWords(HashSet<String>);

impl EvidenceWords {
    pub fn of(sources: &[&Message]) -> Self {
        let texts =
            sources.iter().flat_map(|message| [Cow::from(&*message.content), message.person()]);
        Self(texts.flat_map(|text| terms_of(&text)).collect())
    }

    /// True if the messages have every word of a fact's sentence, subject and value, apart from
    /// function words.
    pub fn prove(&self, fact: &SemanticMemory) -> bool {
        let texts = [&*fact.content, &*fact.subject, &*fact.value];
        let has = |term: &String| self.0.contains(term) || is_common_word(term);
        texts.into_iter().flat_map(terms_of).all(|term| has(&term))
    }

    /// True if any text of a fact has a word of `text` that the messages do not have.
    pub fn lack_words_of(&self, fact: &SemanticMemory, text: &str) -> bool {
        let metadata = serde_json::to_string(&fact.metadata).unwrap_or_default();
        let texts = [&*fact.content, &*fact.subject, &*fact.value, &*fact.attribute, &*metadata];
        self.lack_words_in(&texts, text)
    }

    /// True if any of `texts` has a word of `text` that the messages do not have.
    pub fn lack_words_in(&self, texts: &[&str], text: &str) -> bool {
        let lost: HashSet<String> = terms_of(text)
            .into_iter()
            .filter(|term| !self.0.contains(term) && !is_common_word(term))
            .collect();
        texts.iter().flat_map(|text| terms_of(text)).any(|term| lost.contains(&term))
    }
}

/// The terms of a text, as searches find them.
pub(super) fn terms_of(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for_each_term(text, |term| terms.push(term.text.to_owned()));
    terms
}

/// True if a fact must not be missed (names, allergies, illnesses, prohibitions): it is never
/// proposed for forgetting. Such facts are needed rarely, but then they matter.
pub fn is_vital(fact: &SemanticMemory) -> bool {
    let text = fact.quote.as_deref().map_or(&*fact.content, |quote| &*quote.text);
    fact.attribute == NAME || SentenceHeads::of(text, false).must > 0.0
}
