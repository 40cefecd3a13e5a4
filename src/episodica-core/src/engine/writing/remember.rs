//! Adds facts that the application states. The rules reconcile them with known facts. When the call
//! returns, the outcome is durable.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::rows_of;
use crate::engine::memory::view::UserView;
use crate::engine::memory::wording::FactWording;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::conflicts::{ConflictCandidates, LearnedFacts};
use crate::engine::writing::learn::ignored;
use crate::error::{Error, Result};
use crate::generate::facts::{FactCandidate, of_kind, stated};
use crate::generate::reconcile::{
    AppliedDecision, BY_USER, FactDecision, apply, is_ahead, known_value, note_statement,
};
use crate::ids::record_id;
use crate::model::{
    EventKind, MemoryKind, PROCEDURE, Procedure, STATED, SemanticMemory, TextProvenance,
};

/// Number of latest facts in which the user's name is looked up.
const NAMED_BY: usize = 64;

/// A fact as the application states it.
#[derive(Debug, Clone, Default)]
pub struct StatedFact {
    /// The text of the fact.
    pub content: String,
    /// Its category; `None` = the rules choose.
    pub kind: Option<MemoryKind>,
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
}

impl StatedFact {
    /// The bytes of its texts, including all steps.
    pub(crate) fn bytes(&self) -> usize {
        let procedure = self.procedure.as_ref().and_then(|one| serde_json::to_string(one).ok());
        self.content.len() + procedure.map_or(0, |text| text.len())
    }
}

/// Adds a stated fact, or returns the known one with the same content; see
/// [`Engine::remember`].
///
/// [`Engine::remember`]: crate::engine::Engine::remember
pub(crate) fn remember_fact(
    services: &EngineServices,
    user: &OpenUser,
    statement: StatedFact,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    if let Some(procedure) = &statement.procedure {
        return remember_procedure(services, user, procedure, &statement, control);
    }
    let _turn = user.turns.take(control)?;
    let basis = user.basis();
    let now = services.clock.now();
    let names = names(&user.view.read(), &user.owner.user);
    let at = statement.valid_from.unwrap_or(now);
    let expires = statement.expires_after.map(|seconds| later(now, seconds)).transpose()?;
    let candidate = of_kind(stated(&statement.content, &names, at), statement.kind);
    let to = services.indexing();
    let wording = Arc::new(FactWording::of(&candidate.content, services.tokens));
    let (decision, known) = {
        let view = user.view.read();
        let conflicts = ConflictCandidates::find(&view, &candidate, wording);
        let mut near = LearnedFacts::default().concerned(&view, &candidate, &conflicts);
        near.retain(|known| {
            !is_ahead(known.valid_from, now) || is_ahead(candidate.valid_from, now)
        });
        (conflicts.reconcile(&view, &candidate, &near), near)
    };
    if decision.event == EventKind::Ignore
        && let Some(same) = decision.target.and_then(|target| known.get(target))
    {
        if let Some(revised) = stated_again(same, &candidate, expires, now) {
            return put_fact(services, user, basis, revised, control);
        }
        let _writer = user.lock_writer_on(basis, true, &to)?;
        let noted = ignored(&same.memory_id, &candidate, now);
        user.store.append_semantic(&[], &[], &[noted])?;
        user.note_change();
        return Ok(Arc::clone(same));
    }
    let nearest: Vec<&SemanticMemory> = known.iter().map(|fact| &**fact).collect();
    let AppliedDecision { mut records, .. } =
        apply(&user.owner, &candidate, &decision, &nearest, &[], now);
    finish(&mut records, user, &candidate, statement.metadata, now)?;
    if let Some(stated) = records.last_mut() {
        let revised = known.iter().find(|fact| fact.memory_id == stated.memory_id);
        stated.expires_at = revised.map_or(expires, |known| term(known, expires));
        if stated.source_messages.is_empty() {
            stated.metadata.remove(STATED);
        } else if let Some(known) = revised {
            // A more exact restatement holds since the first statement.
            let since = statement_of(known).map_or(candidate.valid_from, |(one, _)| one.valid_from);
            note_statement(&mut stated.metadata, &candidate.content, since, now);
        }
    }
    let records: Vec<Arc<SemanticMemory>> = records.into_iter().map(Arc::new).collect();
    let texts: Vec<&str> = records.iter().map(|record| record.content.as_str()).collect();
    let rows = to.embed(&texts, control)?;
    let writer = user.lock_writer_on(basis, true, &to)?;
    user.store.append_semantic(&records, &[], &[])?;
    user.note_change();
    let mut view = user.view.write();
    for (row, record) in records.iter().enumerate() {
        let row = rows.as_ref().map(|rows| rows_of(rows.view(), row..row + 1));
        view.put_fact(Arc::clone(record), row, &to)?;
    }
    drop(view);
    drop(writer);
    compact_if_worth(services, user, control);
    let stated = records.last().ok_or_else(|| Error::internal("the fact was not stored"))?;
    Ok(Arc::clone(stated))
}

/// Adds a procedure, or returns the known fact with the same procedure.
fn remember_procedure(
    services: &EngineServices,
    user: &OpenUser,
    procedure: &Procedure,
    statement: &StatedFact,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    let _turn = user.turns.take(control)?;
    let basis = user.basis();
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
            proofs.filter_map(|id| Some((id.clone(), view.messages.slot(id)?))).collect();
        let episodes = proofs.iter().filter_map(|(_, slot)| view.episode_of(*slot));
        let episodes: BTreeSet<String> = episodes
            .filter_map(|slot| view.episodes.get(slot))
            .map(|episode| episode.episode_id.clone())
            .collect();
        (same.cloned(), proofs, episodes)
    };
    if let Some(known) = known {
        return match for_longer(&known, expires, now) {
            Some(longer) => put_fact(services, user, basis, longer, control),
            None => Ok(known),
        };
    }
    let candidate = FactCandidate {
        kind: statement.kind.unwrap_or(MemoryKind::Procedure),
        content: text,
        attribute: String::new(),
        value: String::new(),
        source_messages: proofs.into_iter().map(|(id, _)| id).collect(),
        ..stated(&procedure.goal, &[String::new()], statement.valid_from.unwrap_or(now))
    };
    let decision = FactDecision::add();
    let sources: Vec<String> = episodes.into_iter().collect();
    let AppliedDecision { mut records, .. } =
        apply(&user.owner, &candidate, &decision, &[], &sources, now);
    finish(&mut records, user, &candidate, metadata, now)?;
    let fact = records.pop().ok_or_else(|| Error::internal("the fact was not stored"))?;
    let fact = SemanticMemory { subject: String::new(), expires_at: expires, ..fact };
    put_fact(services, user, basis, fact, control)
}

/// Appends a fact to the log and adds it to the view. The caller holds the user's
/// `FormingTurn`.
fn put_fact(
    services: &EngineServices,
    user: &OpenUser,
    basis: DecisionBasis,
    fact: SemanticMemory,
    control: &dyn CallControl,
) -> Result<Arc<SemanticMemory>> {
    let (fact, to) = (Arc::new(fact), services.indexing());
    let rows = to.embed(&[fact.content.as_str()], control)?;
    let writer = user.lock_writer_on(basis, true, &to)?;
    user.store.append_semantic(std::slice::from_ref(&fact), &[], &[])?;
    user.note_change();
    let rows = rows.as_ref().map(|rows| rows.view());
    user.view.write().put_fact(Arc::clone(&fact), rows, &to)?;
    drop(writer);
    compact_if_worth(services, user, control);
    Ok(fact)
}

/// The moment `seconds` from now.
fn later(now: Moment, seconds: f64) -> Result<Moment> {
    Moment::new(now.micros().saturating_add((seconds * 1e6) as i64), now.offset_seconds())
}

/// When a restated fact expires: on the later of both dates, or never if one is missing.
fn term(known: &SemanticMemory, stated: Option<Moment>) -> Option<Moment> {
    known.expires_at.zip(stated).map(|(known, stated)| known.max(stated))
}

/// The next revision of a restated fact, if it was archived or its expiry changes.
fn for_longer(
    known: &SemanticMemory,
    stated: Option<Moment>,
    now: Moment,
) -> Option<SemanticMemory> {
    let expires_at = term(known, stated);
    let is_same = expires_at == known.expires_at && known.archived_at.is_none();
    (!is_same).then(|| SemanticMemory {
        expires_at,
        archived_at: None,
        updated_at: now,
        revision_count: known.revision_count + 1,
        ..known.clone()
    })
}

/// The next revision of a fact that the application states again, if only messages stated it before
/// or its expiry changes.
fn stated_again(
    known: &SemanticMemory,
    candidate: &FactCandidate,
    expires: Option<Moment>,
    now: Moment,
) -> Option<SemanticMemory> {
    let longer = for_longer(known, expires, now);
    if known.provenance.method == BY_USER {
        return longer;
    }
    let revision_count = known.revision_count + 1;
    let known = longer.unwrap_or_else(|| known.clone());
    let mut stated =
        SemanticMemory { provenance: by_user(), updated_at: now, revision_count, ..known };
    let metadata = &mut stated.metadata;
    note_statement(metadata, &candidate.content, candidate.valid_from, now);
    Some(stated)
}

fn by_user() -> TextProvenance {
    TextProvenance { method: BY_USER.to_owned(), ..TextProvenance::default() }
}

/// The statement of the application in a fact, and its time; `None` if the application made none,
/// or has corrected a fact from messages.
pub(crate) fn statement_of(fact: &SemanticMemory) -> Option<(FactCandidate, Moment)> {
    let by_user = fact.provenance.method == BY_USER && fact.provenance.prompt_version.is_empty();
    if !by_user || fact.is_procedure() {
        return None;
    }
    let noted = fact.metadata.get(STATED);
    let moment = |key| noted?.get(key).and_then(|at| serde_json::from_value(at.clone()).ok());
    let content = noted.and_then(|noted| noted.get("content")).and_then(Value::as_str);
    let subjects = [fact.subject.clone()];
    let valid_from = moment("valid_from").unwrap_or(fact.valid_from);
    let read = stated(content.unwrap_or(&fact.content), &subjects, valid_from);
    let is_same = content.is_none_or(|content| content == fact.content);
    let candidate = FactCandidate {
        kind: if is_same { fact.kind } else { read.kind },
        value: if is_same { known_value(fact).to_owned() } else { read.value },
        subject: fact.subject.clone(),
        attribute: fact.attribute.clone(),
        ..read
    };
    Some((candidate, moment("at").unwrap_or(fact.created_at)))
}

/// Sets metadata and provenance of the stated record, and gives a new one a unique id: a fact may
/// be stated again after it was superseded.
fn finish(
    records: &mut [SemanticMemory],
    user: &OpenUser,
    candidate: &FactCandidate,
    metadata: Map<String, Value>,
    now: Moment,
) -> Result<()> {
    let Some((stated, closed)) = records.split_last_mut() else {
        return Err(Error::internal("a statement became no record"));
    };
    stated.metadata.extend(metadata);
    stated.provenance = by_user();
    if stated.revision_count > 0 {
        return Ok(());
    }
    let seq = user.view.read().facts.len() as u64;
    let parts: [&[u8]; 4] =
        [b"stated", candidate.content.as_bytes(), &now.micros().to_le_bytes(), &seq.to_le_bytes()];
    let id = record_id(&user.owner, "semantic", &parts);
    for record in closed {
        if record.superseded_by.as_deref() == Some(stated.memory_id.as_str()) {
            record.superseded_by = Some(id.clone());
        }
    }
    stated.memory_id = id;
    Ok(())
}

/// Possible names of the user, from the subjects of the latest facts, the most frequent first. The
/// user's id comes first if a fact uses it, else last.
fn names(view: &UserView, user: &str) -> Vec<String> {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for slot in view.facts.slots().rev().take(NAMED_BY) {
        let Some(fact) = view.facts.get(slot) else { continue };
        if fact.subject.is_empty() || fact.subject.contains("'s ") {
            continue;
        }
        match counts.iter_mut().find(|(name, _)| *name == fact.subject) {
            Some((_, count)) => *count += 1,
            None => counts.push((fact.subject.clone(), 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut names: Vec<String> = counts.into_iter().map(|(name, _)| name).collect();
    // Other subjects, such as an assistant, may be more frequent.
    names.sort_by_key(|name| !name.eq_ignore_ascii_case(user));
    if !names.iter().any(|name| name.eq_ignore_ascii_case(user)) {
        names.push(user.to_owned());
    }
    names
}
