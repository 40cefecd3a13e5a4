//! Learning from one episode with the model: predict from known facts, extract what was not
//! predicted, reconcile; three questions at most.
//!
//! If the model does not answer, the rules learn in its place, and the episode is marked to be
//! learned from again.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1};

use crate::engine::asking::conversation::{Conversation, Reply};
use crate::engine::memory::view::View;
use crate::engine::services::Services;
use crate::engine::writing::learn::{Advice, Found, LearningStep, NEAREST};
use crate::error::Result;
use crate::generate::facts::model::{
    prediction_question, read_prediction, read_statements, statements_question,
};
use crate::generate::facts::{Candidate, Extraction, extract_offline};
use crate::generate::reconcile::model as reconcile;
use crate::model::{Episode, Message, Provenance, SemanticMemory};
use crate::text::normalized_hash;

/// Known facts that a prediction is made from, as in Nemori.
const KNOWN_STATEMENTS: usize = 10;
/// A known fact with a lower cosine is unrelated to a candidate, unless it is about the same
/// attribute of the same subject.
const RELATED_COSINE: f32 = 0.3;

/// The facts that an episode states, as the model or the rules read it.
struct Statements {
    extraction: Extraction,
    /// `None`: the rules'.
    provenance: Option<Provenance>,
    pending_llm: bool,
}

impl Conversation<'_> {
    /// Learns from one episode. The caller has the user's turn.
    pub(crate) fn learn(&mut self, episode: &Arc<Episode>) -> Result<()> {
        let services = self.services;
        let messages = services.without_recalled(self.user, &episode.original_messages);
        let stated = self.statements(episode, &messages)?;
        services.count_rejected(&stated.extraction);
        if stated.extraction.candidates.is_empty() {
            self.count("episodes_without_statements", 1);
        }
        let found: Vec<Found<'_>> = stated
            .extraction
            .candidates
            .into_iter()
            .map(|candidate| (episode, candidate))
            .collect();
        let rows = services.embed_found(&found, self.control)?;
        let mut provenance = stated.provenance;
        let advice = match &mut provenance {
            Some(provenance) => self.advice(&found, rows.as_ref(), provenance)?,
            // The rules reconcile their own candidates: no call is spent on them while the model is
            // out.
            None => found.iter().map(|_| None).collect(),
        };
        // The calls are paid for once, whatever the number of facts that came of them.
        if let Some(provenance) = &mut provenance {
            provenance.tokens = provenance.tokens.div_ceil(found.len().max(1) as u64);
        }
        let step = LearningStep {
            episodes: std::slice::from_ref(episode),
            found: &found,
            rows,
            advice,
            provenance,
            pending_llm: stated.pending_llm,
            asked: self.take_asked(),
        };
        services.reconcile_and_commit(self.user, step, self.control)
    }

    fn statements(
        &mut self,
        episode: &Arc<Episode>,
        messages: &[Arc<Message>],
    ) -> Result<Statements> {
        let config = &self.services.config;
        let prediction = self.predict(episode)?;
        let predicted = prediction.as_ref().map(|(text, _)| text.as_str());
        let prompt = statements_question(messages, predicted)?;
        let Some(reply) = self.ask(&prompt)? else {
            return Ok(self.statements_by_rules(messages, true));
        };
        let Some(read) = read_statements(&reply.text, messages, config) else {
            self.count("statements_answers_malformed", 1);
            return Ok(self.statements_by_rules(messages, false));
        };
        self.keep(&reply);
        self.count("answers_salvaged", u64::from(read.salvaged));
        let mut provenance = reply.provenance(read.salvaged);
        provenance.tokens += prediction.map_or(0, |(_, reply)| reply.tokens);
        Ok(Statements {
            extraction: read.extraction,
            provenance: Some(provenance),
            pending_llm: false,
        })
    }

    fn statements_by_rules(&self, messages: &[Arc<Message>], pending_llm: bool) -> Statements {
        self.count("statements_by_rules", 1);
        let extraction = extract_offline(messages, &self.services.config);
        Statements { extraction, provenance: None, pending_llm }
    }

    /// What known facts let expect of an episode; `None` without known facts, without an answer, or
    /// if the configuration does not want it.
    fn predict(&mut self, episode: &Arc<Episode>) -> Result<Option<(String, Reply)>> {
        if !self.services.config.prediction_correction {
            return Ok(None);
        }
        let known = self.known_about(episode)?;
        if known.is_empty() {
            return Ok(None);
        }
        let prompt = prediction_question(episode, &known)?;
        let Some(reply) = self.ask(&prompt)? else { return Ok(None) };
        let Some(text) = read_prediction(&reply.text) else {
            self.count("predictions_malformed", 1);
            return Ok(None);
        };
        self.keep(&reply);
        Ok(Some((text, reply)))
    }

    /// The known facts nearest to an episode, nearest first. Without vectors, the latest.
    fn known_about(&self, episode: &Arc<Episode>) -> Result<Vec<Arc<SemanticMemory>>> {
        let indexed = {
            let view = self.user.view.read();
            let slot = view.episodes.slot(&episode.episode_id);
            let vectors = view.abstracts.vectors().zip(slot);
            vectors.and_then(|(vectors, slot)| vectors.vector(u64::from(slot)))
        };
        let vector = match indexed {
            Some(vector) => Some(vector),
            None => {
                let text = episode.abstract_text();
                let rows = self.services.indexing().embed(&[&text], self.control)?;
                rows.map(|rows| rows.row(0).to_owned())
            }
        };
        let view = self.user.view.read();
        let is_useful = |fact: &&Arc<SemanticMemory>| {
            let is_of_episode = fact.source_episodes.iter().all(|id| *id == episode.episode_id);
            fact.is_current() && !is_of_episode
        };
        let Some(vector) = vector else {
            let latest = view.facts.iter().rev().map(|(_, fact)| fact).filter(is_useful);
            return Ok(latest.take(KNOWN_STATEMENTS).cloned().collect());
        };
        let least = self.services.config.statement_similarity_threshold;
        let near = view.statements.nearest(vector.view(), 3 * KNOWN_STATEMENTS)?;
        let near = near.into_iter().filter(|(_, cosine)| *cosine >= least);
        let facts = near.filter_map(|(slot, _)| view.facts.get(slot)).filter(is_useful);
        Ok(facts.take(KNOWN_STATEMENTS).cloned().collect())
    }

    /// The model's decisions about candidates that are related to known facts.
    fn advice(
        &mut self,
        candidates: &[Found<'_>],
        rows: Option<&Array2<f32>>,
        provenance: &mut Provenance,
    ) -> Result<Advice> {
        let mut advice: Advice = candidates.iter().map(|_| None).collect();
        let mut known: Vec<Arc<SemanticMemory>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        {
            let view = self.user.view.read();
            for (number, (_, candidate)) in candidates.iter().enumerate() {
                let vector = rows.map(|rows| rows.row(number));
                let related = related_to(&view, vector, candidate)?;
                if related.is_empty() {
                    continue;
                }
                open.push(number);
                for fact in related {
                    if !known.iter().any(|other| other.memory_id == fact.memory_id) {
                        known.push(fact);
                    }
                }
            }
        }
        if open.is_empty() {
            return Ok(advice);
        }
        let asking: Vec<_> = open.iter().map(|number| &candidates[*number].1).collect();
        let held: Vec<&SemanticMemory> = known.iter().map(|fact| &**fact).collect();
        let prompt = reconcile::question(&asking, &held)?;
        let Some(reply) = self.ask(&prompt)? else {
            self.count("reconciled_by_rules", open.len() as u64);
            return Ok(advice);
        };
        let read = reconcile::read(&reply.text, &asking, &held);
        for (why, times) in &read.corrected {
            self.count(why, *times);
        }
        if read.decisions.iter().all(Option::is_none) {
            self.count("reconcile_answers_malformed", 1);
        } else {
            self.keep(&reply);
        }
        provenance.tokens += reply.tokens;
        provenance.salvaged |= read.salvaged;
        self.count("answers_salvaged", u64::from(read.salvaged));
        for (number, decision) in open.into_iter().zip(read.decisions) {
            match decision {
                Some(decision) => advice[number] = Some((decision, known.clone())),
                None => self.count("reconciled_by_rules", 1),
            }
        }
        Ok(advice)
    }
}

/// Current facts related to a candidate, nearest first; none if one of them says the same, word for
/// word: the rules see that without help.
fn related_to(
    view: &View,
    vector: Option<ArrayView1<'_, f32>>,
    candidate: &Candidate,
) -> Result<Vec<Arc<SemanticMemory>>> {
    let near = Services::nearest_known(view, vector, candidate)?;
    let hash = normalized_hash(&candidate.content);
    let current = || near.values().filter(|(fact, _)| fact.is_current());
    if current().any(|(fact, _)| normalized_hash(&fact.content) == hash) {
        return Ok(Vec::new());
    }
    let has_same_attribute = |fact: &SemanticMemory| {
        !candidate.attribute.is_empty()
            && fact.subject == candidate.subject
            && fact.attribute == candidate.attribute
    };
    let mut related: Vec<_> = current()
        .filter(|(fact, cosine)| *cosine >= RELATED_COSINE || has_same_attribute(fact))
        .collect();
    related.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.memory_id.cmp(&b.0.memory_id)));
    Ok(related.into_iter().take(2 * NEAREST).map(|(fact, _)| Arc::clone(fact)).collect())
}
