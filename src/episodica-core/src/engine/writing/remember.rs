//! Adds facts that the application states. They are always kept: only the same words are a repeat.
//! A fact with an attribute and a value ends the facts that state another value of it. When the
//! call returns, the outcome is durable.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::civil::Date;
use ndarray::Array2;
use serde_json::{Map, Value};

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::rows_of;
use crate::engine::memory::main_speaker::main_speaker;
use crate::engine::memory::view::UserView;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::naming::named_statement;
use crate::engine::writing::refold::refold_facts;
use crate::error::{Error, Result};
use crate::generate::facts::model::UNNAMED_USER;
use crate::generate::facts::{fact_from, next_revision, stated_candidate};
use crate::ids::{Owner, record_id};
use crate::model::{
    BY_USER, FactEnding, MemoryKind, PROCEDURE, Procedure, SemanticMemory, TextProvenance,
};
use crate::text::normalized;
use crate::text::time::{mentions, with_dates};

/// A fact as the application states it.
#[derive(Debug, Clone, Default)]
pub struct StatedFact {
    /// The text of the fact.
    pub content: String,
    /// Its category; `None` = the section of the profile that fits best.
    pub kind: Option<MemoryKind>,
    /// The person or thing that it is about; `None` = the user.
    pub subject: Option<String>,
    /// The attribute of the subject that it states; may be empty.
    pub attribute: String,
    /// The value of the attribute; may be empty.
    pub value: String,
    /// Since when it holds; `None` = now.
    pub valid_from: Option<Moment>,
    /// Seconds until it expires; `None` = never.
    pub expires_after: Option<f64>,
    /// Any JSON object.
    pub metadata: Map<String, Value>,
    /// The procedure of an agent, if the fact is about one. The fact then has the procedure's text
    /// and is not compared with other facts.
    pub procedure: Option<Procedure>,
    /// Ids of the source messages of a procedure; unknown ids are ignored.
    pub source_messages: Vec<String>,
    /// What identifies the statement in the file that it comes from: stated again from there, it is
    /// a repeat, also after it was corrected or has ended.
    pub source: Option<String>,
}

impl StatedFact {
    /// The bytes of its texts, including all steps.
    pub(crate) fn bytes(&self) -> usize {
        let subject = self.subject.as_deref().unwrap_or_default();
        let texts = [&self.content, subject, &self.attribute, &self.value];
        let procedure = self.procedure.as_ref().and_then(|one| serde_json::to_string(one).ok());
        texts.iter().map(|text| text.len()).sum::<usize>() + procedure.map_or(0, |text| text.len())
    }
}

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementOutcome {
    /// It is a new fact.
    Added,
    /// It is a new fact, and ends others.
    Ends,
    /// A fact with the same words was stated before.
    Repeats,
}

impl StatementOutcome {
    /// The word used in Python.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Ends => "ends",
            Self::Repeats => "repeats",
        }
    }
}

/// A fact as stored, and what became of the statement.
pub type RememberedFact = (Arc<SemanticMemory>, StatementOutcome);

/// Adds a stated fact; see [`Engine::remember`].
///
/// [`Engine::remember`]: crate::engine::Engine::remember
pub(crate) fn remember_fact(
    services: &EngineServices,
    user: &OpenUser,
    statement: StatedFact,
    control: &dyn CallControl,
) -> Result<RememberedFact> {
    if let Some(procedure) = &statement.procedure {
        return remember_procedure(services, user, procedure, &statement, control);
    }
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    let now = services.clock.now();
    let expires = statement.expires_after.map(|seconds| later(now, seconds)).transpose()?;
    let view = user.view.read();
    let told_id = statement.source.as_deref().map(|source| told_id(&user.owner, source));
    if let Some(known) = told_id.as_deref().and_then(|id| view.facts.by_id(id)) {
        return Ok((Arc::clone(known), StatementOutcome::Repeats));
    }
    let subject = statement.subject.clone().unwrap_or_else(|| user.owner.user.clone());
    let text = dated_statement(services, &statement, now);
    let content = named_statement(&view, &user.owner, &subject, &text).into_owned();
    let (attribute, value) = (attribute_key(&statement.attribute), statement.value.clone());
    let at = statement.valid_from.unwrap_or(now);
    let slot = (&*subject, &*attribute, &*value);
    let ends = slot_endings(&view, slot, statement.subject.is_none(), (at, now));
    let is_same = |known: &&Arc<SemanticMemory>| {
        known.is_stated()
            && known.holds_at(now)
            && !known.is_procedure()
            && (&known.attribute, &known.value) == (&attribute, &value)
            && fits(&known.metadata, &statement.metadata)
    };
    // The same words again call off what was to come in their place, so they are a new fact then.
    let known = same_words(&view, &content).find(is_same).cloned();
    if let Some(known) = known.filter(|_| ends.is_empty()) {
        drop(view);
        return restate(services, user, (basis, now), &known, (statement, expires), control);
    }
    let candidate = stated_candidate(&content, &subject, statement.kind, at);
    let mut fact = SemanticMemory {
        ends,
        attribute,
        value,
        metadata: statement.metadata,
        expires_at: expires,
        provenance: by_user(),
        ..fact_from(&user.owner, &candidate, None, now)
    };
    let new_id = || stated_id(user, view.facts.len(), &fact.content, now);
    fact.memory_id = told_id.unwrap_or_else(new_id);
    let outcome = match fact.ends.len() {
        0 => StatementOutcome::Added,
        _ => StatementOutcome::Ends,
    };
    let records = with_endings(&view, fact, now);
    drop(view);
    let fact = put_facts(services, user, basis, records, control)?;
    Ok((fact, outcome))
}

/// The statement with the days of its relative dates. They count from `valid_from`, the time of a
/// statement that is told later; but from now if they name that time themselves: "I have been here
/// since last Monday."
fn dated_statement(services: &EngineServices, statement: &StatedFact, now: Moment) -> String {
    let (text, zone) = (&*statement.content, &services.zone);
    let found = |at: Moment| {
        let mut found = mentions(text, zone.writer_moment(at));
        // The day may stand there already, in brackets.
        found.retain(|mention| {
            !text[mention.end..].trim_start().starts_with(['[', '('])
                && !text[..mention.start].trim_end().ends_with(['[', '('])
        });
        found
    };
    let of_now = found(now);
    let names = |day: Date| of_now.iter().any(|mention| mention.day() == Some(day));
    let told = statement
        .valid_from
        .filter(|at| *at < now && !names(zone.writer_moment(*at).local().date()));
    with_dates(text, &told.map_or(of_now, found))
}

/// The endings of the facts that state another value of a subject's attribute than the one that
/// holds from `at` on.
fn slot_endings(
    view: &UserView,
    (subject, attribute, value): (&str, &str, &str),
    is_of_user: bool,
    (at, now): (Moment, Moment),
) -> Vec<FactEnding> {
    if attribute.is_empty() || value.is_empty() {
        return Vec::new();
    }
    // A model names the user as the messages do.
    let speaker = if is_of_user { main_speaker(view).unwrap_or_default() } else { String::new() };
    let (speaker, subject) = (speaker.to_lowercase(), subject.to_lowercase());
    let is_about = |known: &str| {
        let known = known.to_lowercase();
        let is_user = || UNNAMED_USER.contains(&&*known) || !speaker.is_empty() && known == speaker;
        known == subject || is_of_user && is_user()
    };
    let other_value = |known: &&Arc<SemanticMemory>| {
        known.quote.is_none()
            && known.attribute == attribute
            && !known.value.is_empty()
            && known.value.to_lowercase() != value.to_lowercase()
            && known.holds_at(at.max(known.valid_from))
            && is_about(&known.subject)
    };
    let current = view.facts.current_slots().filter(|slot| view.is_current(*slot));
    let mut ends: BTreeMap<String, Moment> = BTreeMap::new();
    for known in current.filter_map(|slot| view.facts.get(slot)).filter(other_value) {
        // What was to come is called off now. What never holds ends nothing, so this fact does.
        let from = if at > now && known.valid_from > now { now } else { at };
        ends.insert(known.memory_id.clone(), from);
        if from <= known.valid_from {
            ends.extend(known.ends.iter().map(|of| (of.memory_id.clone(), at)));
        }
    }
    ends.into_iter().map(|(memory_id, from)| FactEnding { memory_id, from }).collect()
}

/// The fact, after the next revisions of the facts that it ends.
fn with_endings(view: &UserView, fact: SemanticMemory, now: Moment) -> Vec<Arc<SemanticMemory>> {
    let mut changed: BTreeMap<String, SemanticMemory> = BTreeMap::new();
    for ending in &fact.ends {
        let Some(known) = view.facts.by_id(&ending.memory_id) else { continue };
        let mut ended = next_revision(known, now);
        ended.ended_by.push(fact.memory_id.clone());
        ended.ended_by.sort();
        changed.insert(ended.memory_id.clone(), ended);
    }
    let find = |id: &str| {
        if id == fact.memory_id { Some(&fact) } else { view.facts.by_id(id).map(|fact| &**fact) }
    };
    let mut records: Vec<_> = refold_facts(changed, &find, now).into_iter().map(Arc::new).collect();
    records.push(Arc::new(fact));
    records
}

/// A fact that is stated again: it may expire later, is no longer archived, and gets further
/// metadata.
fn restate(
    services: &EngineServices,
    user: &OpenUser,
    (basis, now): (DecisionBasis, Moment),
    known: &Arc<SemanticMemory>,
    (statement, expires): (StatedFact, Option<Moment>),
    control: &dyn CallControl,
) -> Result<RememberedFact> {
    let mut again = SemanticMemory::clone(known);
    again.expires_at = term(known, expires);
    again.archived_at = None;
    again.metadata.extend(statement.metadata);
    if let Some(from) = statement.valid_from.filter(|_| !known.is_dated()) {
        again.valid_from = from;
    }
    if again == **known {
        return Ok((Arc::clone(known), StatementOutcome::Repeats));
    }
    let again = Arc::new(next_revision(&again, now));
    let fact = put_facts(services, user, basis, vec![again], control)?;
    Ok((fact, StatementOutcome::Repeats))
}

/// The facts with these words, the last one first. Facts about other things may have them, too.
fn same_words<'a>(
    view: &'a UserView,
    content: &'a str,
) -> impl Iterator<Item = &'a Arc<SemanticMemory>> {
    let last = view.same_statement(content);
    let words = normalized(content);
    let current = last.map(|_| view.facts.current_slots()).into_iter().flatten();
    let others = current.filter_map(|slot| view.facts.get(slot));
    last.into_iter().chain(others.filter(move |known| normalized(&known.content) == words))
}

/// Whether metadata add to what is known and change nothing: the same words about another project
/// are another fact.
fn fits(known: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    new.iter().all(|(key, value)| known.get(key).is_none_or(|known| known == value))
}

/// The name of an attribute as it is stored: lower case, with underscores.
fn attribute_key(attribute: &str) -> String {
    attribute.trim().to_lowercase().replace([' ', '-'], "_")
}

/// The id of a fact that a file states.
pub(crate) fn told_id(owner: &Owner, source: &str) -> String {
    record_id(owner, "semantic", &[b"told", source.as_bytes()])
}

/// A unique id: a fact may be stated again after it was ended.
fn stated_id(user: &OpenUser, known: usize, content: &str, now: Moment) -> String {
    let (seq, at) = ((known as u64).to_le_bytes(), now.micros().to_le_bytes());
    record_id(&user.owner, "semantic", &[b"stated", content.as_bytes(), &at, &seq])
}

/// Adds a procedure, or returns the known fact with the same procedure.
fn remember_procedure(
    services: &EngineServices,
    user: &OpenUser,
    procedure: &Procedure,
    statement: &StatedFact,
    control: &dyn CallControl,
) -> Result<RememberedFact> {
    let _step = user.turns.take_step(control)?;
    let basis = user.decision_basis();
    let now = services.clock.now();
    let expires = statement.expires_after.map(|seconds| later(now, seconds)).transpose()?;
    let text = procedure.text();
    let mut metadata = statement.metadata.clone();
    let kept = serde_json::to_value(procedure)
        .map_err(|error| Error::internal("a procedure has no JSON form").caused_by(error))?;
    metadata.insert(PROCEDURE.to_owned(), kept);
    let (known, proofs, episodes) = {
        let view = user.view.read();
        let same = view.same_statement(&text).filter(|fact| fact.metadata == metadata);
        let proofs = statement.source_messages.iter();
        let proofs: Vec<(String, u32)> =
            proofs.filter_map(|id| Some((id.clone(), view.messages.slot_of(id)?))).collect();
        let episodes = proofs.iter().filter_map(|(_, slot)| view.episode_of(*slot));
        let episodes: BTreeSet<String> = episodes
            .filter_map(|slot| view.episodes.get(slot))
            .map(|episode| episode.episode_id.clone())
            .collect();
        (same.cloned(), proofs, episodes)
    };
    if let Some(known) = known {
        let again = StatedFact { metadata: Map::new(), ..statement.clone() };
        return restate(services, user, (basis, now), &known, (again, expires), control);
    }
    let at = statement.valid_from.unwrap_or(now);
    let kind = statement.kind.or(Some(MemoryKind::Procedure));
    let mut candidate = stated_candidate(&text, "", kind, at);
    candidate.source_messages = proofs.into_iter().map(|(id, _)| id).collect();
    let fact = SemanticMemory {
        memory_id: stated_id(user, user.view.read().facts.len(), &text, now),
        source_episodes: episodes.into_iter().collect(),
        metadata,
        expires_at: expires,
        provenance: by_user(),
        ..fact_from(&user.owner, &candidate, None, now)
    };
    let fact = put_facts(services, user, basis, vec![Arc::new(fact)], control)?;
    Ok((fact, StatementOutcome::Added))
}

/// Appends records to the log and adds them to the view; returns the last one. The caller has taken
/// a step.
pub(crate) fn put_facts(
    services: &EngineServices,
    user: &OpenUser,
    basis: DecisionBasis,
    records: Vec<Arc<SemanticMemory>>,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    append_facts(services, user, basis, &records, None, control)?;
    compact_if_worth(services, user, control);
    let last = records.last().ok_or_else(|| Error::internal("the fact was not stored"))?;
    Ok(Arc::clone(last))
}

/// Appends facts to the log and adds them to the view, with their vectors if these are `known`.
pub(crate) fn append_facts(
    services: &EngineServices,
    user: &OpenUser,
    basis: DecisionBasis,
    facts: &[Arc<SemanticMemory>],
    known: Option<Array2<f32>>,
    control: &dyn CallControl,
) -> Result<()> {
    let to = services.indexing_settings();
    let rows = match known {
        Some(rows) => Some(rows),
        None => {
            to.embed_batches(&facts.iter().map(|fact| &*fact.content).collect::<Vec<_>>(), control)?
        }
    };
    let _writer = user.lock_writer_on(basis, true, &to)?;
    user.store.append_semantic(facts, &[], &[])?;
    user.note_change();
    let mut view = user.view.write();
    // A new fact changes no decision about others.
    if facts.iter().any(|fact| view.facts.by_id(&fact.memory_id).is_some()) {
        user.note_step(false, true);
    }
    for (row, fact) in facts.iter().enumerate() {
        let row = rows.as_ref().map(|rows| rows_of(rows.view(), row..row + 1));
        view.put_fact(Arc::clone(fact), row, &to)?;
    }
    Ok(())
}

/// The moment `seconds` from now.
fn later(now: Moment, seconds: f64) -> Result<Moment> {
    let micros = now.micros().saturating_add((seconds * 1e6) as i64);
    Moment::new(micros, now.offset_seconds()).map_err(|_| {
        Error::invalid(format!("expires_after ends after the year 9999: `{seconds}` seconds"))
    })
}

/// When a restated fact expires: on the later of both dates, or never if one is missing.
fn term(known: &SemanticMemory, stated: Option<Moment>) -> Option<Moment> {
    known.expires_at.zip(stated).map(|(known, stated)| known.max(stated))
}

fn by_user() -> TextProvenance {
    TextProvenance { method: BY_USER.to_owned(), ..TextProvenance::default() }
}
