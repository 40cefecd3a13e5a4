//! Learning from one episode with the model: predict from what is known, extract what was not
//! predicted, reconcile; three questions at most.
//!
//! Where the model doesn't answer the rules learn in its place, and the episode is noted to be
//! learned from again.

use std::sync::Arc;

use ndarray::Array2;

use crate::control::Control;
use crate::engine::asking::ask::{Asked, Reply};
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::engine::writing::learn::{Advice, Found, Manner, NEAREST};
use crate::error::Result;
use crate::generate::facts::model::{
    prediction_question, read_prediction, read_statements, statements_question,
};
use crate::generate::facts::{Extraction, extract_offline};
use crate::generate::reconcile::model as reconcile;
use crate::llm::LanguageModel;
use crate::model::{Episode, Message, Provenance, SemanticMemory};
use crate::text::normalized_hash;

/// Known statements that a prediction is made from (the seeds' ten).
const KNOWN_STATEMENTS: usize = 10;
/// A known memory further away than this says nothing about a candidate, unless it states the same
/// attribute of the same subject.
const RELATED_COSINE: f32 = 0.3;

/// What came of asking about an episode's statements.
struct Statements {
    extraction: Extraction,
    /// `None`: the rules'.
    provenance: Option<Provenance>,
    pending_llm: bool,
}

impl Engine {
    /// Learns from one episode. The caller has the user's turn.
    pub(crate) fn learn_with_model(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        episode: &Arc<Episode>,
        control: &dyn Control,
    ) -> Result<()> {
        let messages = self.without_recalled(user, &episode.original_messages);
        let mut asked = Asked::default();
        let found = self.statements(model, user, episode, &messages, &mut asked, control)?;
        self.count_rejected(&found.extraction);
        if found.extraction.candidates.is_empty() {
            self.counters.count("episodes_without_statements", 1);
        }
        let candidates: Vec<Found<'_>> =
            found.extraction.candidates.into_iter().map(|candidate| (episode, candidate)).collect();
        let rows = self.embed_found(&candidates, control)?;
        let mut provenance = found.provenance;
        let advice = match &mut provenance {
            Some(provenance) => self.advice(
                model,
                user,
                &candidates,
                rows.as_ref(),
                provenance,
                &mut asked,
                control,
            )?,
            // The rules' own candidates are reconciled by the rules: no call is spent on them while
            // the model is out.
            None => candidates.iter().map(|_| None).collect(),
        };
        // The calls are paid for once, whatever the number of memories that came of them.
        if let Some(provenance) = &mut provenance {
            provenance.tokens = provenance.tokens.div_ceil(candidates.len().max(1) as u64);
        }
        let manner = Manner { provenance, pending_llm: found.pending_llm, asked };
        self.take_in(
            user,
            std::slice::from_ref(episode),
            &candidates,
            rows.as_ref(),
            advice,
            manner,
            control,
        )
    }

    fn statements(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        episode: &Arc<Episode>,
        messages: &[Arc<Message>],
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Statements> {
        let prediction = self.predict(model, user, episode, asked, control)?;
        let by_rules = |pending_llm| {
            self.counters.count("statements_by_rules", 1);
            Statements {
                extraction: extract_offline(messages, &self.config),
                provenance: None,
                pending_llm,
            }
        };
        let prompt =
            statements_question(messages, prediction.as_ref().map(|(text, _)| text.as_str()))?;
        let Some(reply) = self.ask(model, user, &prompt, asked, control)? else {
            return Ok(by_rules(true));
        };
        let Some(read) = read_statements(&reply.text, messages, &self.config) else {
            self.counters.count("statements_answers_malformed", 1);
            return Ok(by_rules(false));
        };
        self.keep(user, &reply);
        self.counters.count("answers_salvaged", u64::from(read.salvaged));
        let mut provenance = reply.provenance(read.salvaged);
        provenance.tokens += prediction.map_or(0, |(_, reply)| reply.tokens);
        Ok(Statements {
            extraction: read.extraction,
            provenance: Some(provenance),
            pending_llm: false,
        })
    }

    /// What the known statements let expect; `None` at a cold start, without an answer, or where it
    /// is not wanted.
    fn predict(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        episode: &Arc<Episode>,
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Option<(String, Reply)>> {
        if !self.config.prediction_correction {
            return Ok(None);
        }
        let known = self.known_about(user, episode, control)?;
        if known.is_empty() {
            return Ok(None);
        }
        let prompt = prediction_question(episode, &known)?;
        let Some(reply) = self.ask(model, user, &prompt, asked, control)? else { return Ok(None) };
        let Some(text) = read_prediction(&reply.text) else {
            self.counters.count("predictions_malformed", 1);
            return Ok(None);
        };
        self.keep(user, &reply);
        Ok(Some((text, reply)))
    }

    /// The known statements nearest to an episode, nearest first. Without vectors, the latest.
    fn known_about(
        &self,
        user: &User,
        episode: &Arc<Episode>,
        control: &dyn Control,
    ) -> Result<Vec<Arc<SemanticMemory>>> {
        let row = {
            let view = user.view.read();
            let slot = view.episodes.slot(&episode.episode_id);
            let vectors = view.abstracts.vectors().zip(slot);
            vectors.and_then(|(vectors, slot)| vectors.vector(u64::from(slot)))
        };
        let row = match row {
            Some(row) => Some(row),
            None => self
                .embed_all(&[&episode.abstract_text()], control)?
                .map(|rows| rows.row(0).to_owned()),
        };
        let view = user.view.read();
        let own = |memory: &SemanticMemory| {
            memory.source_episodes.iter().all(|id| *id == episode.episode_id)
        };
        let usable = |memory: &&Arc<SemanticMemory>| memory.is_current() && !own(memory);
        let Some(row) = row else {
            return Ok(view
                .facts
                .iter()
                .rev()
                .map(|(_, memory)| memory)
                .filter(usable)
                .take(KNOWN_STATEMENTS)
                .cloned()
                .collect());
        };
        let near = view.statements.nearest(row.view(), 3 * KNOWN_STATEMENTS)?;
        let near = near
            .into_iter()
            .filter(|(_, cosine)| *cosine >= self.config.statement_similarity_threshold);
        Ok(near
            .filter_map(|(slot, _)| view.facts.get(slot))
            .filter(usable)
            .take(KNOWN_STATEMENTS)
            .cloned()
            .collect())
    }

    /// What the model says of the candidates for which there is something to decide.
    #[expect(clippy::too_many_arguments, reason = "one step with all that it is made of")]
    fn advice(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        candidates: &[Found<'_>],
        rows: Option<&Array2<f32>>,
        provenance: &mut Provenance,
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Advice> {
        let mut advice: Advice = candidates.iter().map(|_| None).collect();
        let mut known: Vec<Arc<SemanticMemory>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        {
            let view = user.view.read();
            for (number, (_, candidate)) in candidates.iter().enumerate() {
                let near =
                    Self::nearest_known(&view, rows.map(|rows| rows.row(number)), candidate)?;
                let hash = normalized_hash(&candidate.content);
                if near.values().any(|(memory, _)| {
                    memory.is_current() && normalized_hash(&memory.content) == hash
                }) {
                    // Said before, word for word: the rules see that without help.
                    continue;
                }
                let same = |memory: &SemanticMemory| {
                    !candidate.attribute.is_empty()
                        && memory.subject == candidate.subject
                        && memory.attribute == candidate.attribute
                };
                let mut related: Vec<_> = near
                    .into_values()
                    .filter(|(memory, cosine)| {
                        memory.is_current() && (*cosine >= RELATED_COSINE || same(memory))
                    })
                    .collect();
                related.sort_by(|a, b| {
                    b.1.total_cmp(&a.1).then_with(|| a.0.memory_id.cmp(&b.0.memory_id))
                });
                if related.is_empty() {
                    continue;
                }
                open.push(number);
                for (memory, _) in related.into_iter().take(2 * NEAREST) {
                    if !known.iter().any(|other| other.memory_id == memory.memory_id) {
                        known.push(memory);
                    }
                }
            }
        }
        if open.is_empty() {
            return Ok(advice);
        }
        let asking: Vec<_> = open.iter().map(|number| &candidates[*number].1).collect();
        let held: Vec<&SemanticMemory> = known.iter().map(|memory| &**memory).collect();
        let prompt = reconcile::question(&asking, &held)?;
        let Some(reply) = self.ask(model, user, &prompt, asked, control)? else {
            self.counters.count("reconciled_by_rules", open.len() as u64);
            return Ok(advice);
        };
        let read = reconcile::read(&reply.text, &asking, &held);
        for (why, times) in &read.corrected {
            self.counters.count(why, *times);
        }
        if read.decisions.iter().all(Option::is_none) {
            self.counters.count("reconcile_answers_malformed", 1);
        } else {
            self.keep(user, &reply);
        }
        provenance.tokens += reply.tokens;
        provenance.salvaged |= read.salvaged;
        self.counters.count("answers_salvaged", u64::from(read.salvaged));
        for (number, decision) in open.into_iter().zip(read.decisions) {
            match decision {
                Some(decision) => advice[number] = Some((decision, known.clone())),
                None => self.counters.count("reconciled_by_rules", 1),
            }
        }
        Ok(advice)
    }
}
