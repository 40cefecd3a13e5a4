//! Learning from episodes with the model: their facts, if they were not found while the episode was
//! written, and one question about all of them beside what is known.
//!
//! If the model does not answer, the rules learn in its place, and the episode is marked to be
//! learned from again.

use std::collections::HashSet;
use std::sync::Arc;

use ndarray::{Array2, ArrayView1};

use crate::engine::asking::conversation::{Asked, Conversation, Outcome};
use crate::engine::memory::indexing::FactTexts;
use crate::engine::memory::view::View;
use crate::engine::services::Services;
use crate::engine::writing::learn::{Advice, AskedOf, Found, LearningStep, NEAREST, Origin};
use crate::error::Result;
use crate::generate::facts::model::{Facts, Occurred, question, read};
use crate::generate::facts::{Candidate, Extraction, extract_offline};
use crate::generate::reconcile::model as reconcile;
use crate::model::{Episode, Message, Provenance, SemanticMemory};
use crate::text::normalized_hash;

/// Known facts that the model is shown beside an episode, as many as in Nemori.
const KNOWN_FACTS: usize = 10;
/// A known fact with a lower cosine is unrelated to a candidate, unless it is about the same
/// attribute of the same subject.
const RELATED_COSINE: f32 = 0.3;
/// Candidates that the model is asked about at once.
const RECONCILED_AT_ONCE: usize = 40;

/// The facts that an episode states, as the model or the rules read it.
#[derive(Debug)]
pub(crate) struct Stated {
    pub extraction: Extraction,
    /// What was read of the candidates; empty where nothing was.
    pub texts: FactTexts,
    /// By candidate; empty where nothing is known.
    occurred: Vec<Occurred>,
    /// `None`: the rules'.
    provenance: Option<Provenance>,
    pending_llm: bool,
    asked: Asked,
    /// The episode's own trace has what was asked.
    is_traced: bool,
}

impl Stated {
    /// What the rules found, where no model is configured.
    pub fn by_rules(extraction: Extraction, texts: FactTexts) -> Self {
        Self { texts, ..Self::by_rules_instead(extraction, false, Asked::default()) }
    }

    /// What the rules found in the model's place.
    fn by_rules_instead(extraction: Extraction, pending_llm: bool, asked: Asked) -> Self {
        let (texts, occurred, provenance) = (FactTexts::default(), Vec::new(), None);
        Self { extraction, texts, occurred, provenance, pending_llm, asked, is_traced: false }
    }

    /// The same, asked together with the episode's text.
    pub fn with_the_text(self) -> Self {
        Self { is_traced: true, ..self }
    }
}

impl Services {
    /// Learns from episodes with the model. The caller has the user's turn.
    pub(crate) fn learn_by_model(
        &self,
        conversation: &mut Conversation<'_>,
        episodes: &[Arc<Episode>],
    ) -> Result<()> {
        let (user, control) = (conversation.user, conversation.control);
        let basis = user.basis();
        let mut stated = user.progress.take_stated(episodes);
        let open: Vec<usize> = (0..episodes.len()).filter(|at| stated[*at].is_none()).collect();
        let found = self.at_the_same_time(user, &open, control, |conversation, at| {
            conversation.find_facts(&episodes[*at])
        })?;
        for (at, found) in open.into_iter().zip(found) {
            stated[at] = Some(found);
        }
        let stated: Vec<Stated> = stated.into_iter().flatten().collect();
        let relearned = episodes.iter().zip(&stated).filter(|(_, one)| one.provenance.is_some());
        let relearned: Vec<&str> =
            relearned.map(|(episode, _)| episode.episode_id.as_str()).collect();
        self.withdraw_stand_ins(user, &relearned, basis, control)?;
        let (mut candidates, mut origins) = (Vec::<Found<'_>>::new(), Vec::new());
        let (mut pending_llm, mut asked_of) = (HashSet::new(), Vec::new());
        for (episode, one) in episodes.iter().zip(stated) {
            self.count_rejected(&one.extraction);
            let count = one.extraction.candidates.len();
            conversation.count("episodes_without_facts", u64::from(count == 0));
            if one.pending_llm {
                pending_llm.insert(episode.episode_id.clone());
            }
            // The calls are paid for once, whatever the number of facts that came of them.
            let provenance = one.provenance.map(|provenance| Provenance {
                tokens: provenance.tokens.div_ceil(count.max(1) as u64),
                ..provenance
            });
            let mut occurred = one.occurred.into_iter();
            for candidate in one.extraction.candidates {
                candidates.push((episode, candidate));
                let occurred = occurred.next().unwrap_or_default();
                origins.push(Origin { provenance: provenance.clone(), occurred });
            }
            let (episode_id, is_traced) = (episode.episode_id.clone(), one.is_traced);
            asked_of.push((AskedOf { episode_id, is_traced }, one.asked));
        }
        let texts = self.read_found(&candidates, control)?;
        let advice = conversation.advice(&candidates, texts.rows.as_ref(), &mut origins)?;
        let step = LearningStep {
            episodes,
            found: &candidates,
            texts,
            advice,
            origins,
            pending_llm,
            asked: conversation.take_asked(),
            asked_of,
            basis,
        };
        self.reconcile_and_commit(user, step, control)
    }
}

impl Conversation<'_> {
    /// Facts that were read out of an answer, or the rules' in their place.
    pub(crate) fn stated(
        &self,
        facts: Option<Facts>,
        provenance: Provenance,
        messages: &[Arc<Message>],
        asked: Asked,
    ) -> Stated {
        let Some(facts) = facts else {
            self.unusable("facts_answers_malformed");
            return self.facts_by_rules(messages, false, asked);
        };
        self.count("answers_salvaged", u64::from(facts.salvaged));
        if facts.extraction.candidates.is_empty() {
            // Never poorer than without a model.
            let rules = self.facts_by_rules(messages, false, asked.clone());
            if !rules.extraction.candidates.is_empty() {
                return rules;
            }
        }
        let provenance =
            Provenance { salvaged: provenance.salvaged || facts.salvaged, ..provenance };
        Stated {
            extraction: facts.extraction,
            texts: FactTexts::default(),
            occurred: facts.occurred,
            provenance: Some(provenance),
            pending_llm: false,
            asked,
            is_traced: false,
        }
    }

    /// The facts of an episode that is written already.
    fn find_facts(&mut self, episode: &Arc<Episode>) -> Result<Stated> {
        let messages = self.services.without_recalled(self.user, &episode.original_messages);
        let known = self.known_about(&messages)?;
        let prompt = question(&messages, &known, self.budget())?;
        match self.ask(&prompt)? {
            Outcome::Answered(reply) => {
                let facts = read(&reply.text, &messages, &known, &self.services.config);
                if facts.is_some() {
                    self.keep(&reply);
                }
                let asked = self.take_asked();
                Ok(self.stated(facts, reply.provenance(false), &messages, asked))
            }
            Outcome::Outage => {
                let asked = self.take_asked();
                Ok(self.facts_by_rules(&messages, true, asked))
            }
            // The same question would be refused again.
            Outcome::Refused => {
                let asked = self.take_asked();
                Ok(self.facts_by_rules(&messages, false, asked))
            }
        }
    }

    fn facts_by_rules(&self, messages: &[Arc<Message>], pending_llm: bool, asked: Asked) -> Stated {
        self.count("facts_by_rules", 1);
        let extraction = extract_offline(messages, &self.services.config);
        Stated::by_rules_instead(extraction, pending_llm, asked)
    }

    /// The known facts nearest to each of the messages, nearest first. Without vectors, the latest.
    pub(crate) fn known_about(
        &self,
        messages: &[Arc<Message>],
    ) -> Result<Vec<Arc<SemanticMemory>>> {
        if !self.services.config.prediction_correction {
            return Ok(Vec::new());
        }
        let view = self.user.view.read();
        let ids: HashSet<&str> =
            messages.iter().map(|message| message.message_id.as_str()).collect();
        // What was learned from these messages is to be learned again.
        let is_useful = |fact: &&Arc<SemanticMemory>| {
            fact.is_current()
                && !fact.is_procedure()
                && !fact.source_messages.iter().all(|id| ids.contains(id.as_str()))
        };
        let slots: Option<Vec<u32>> =
            messages.iter().map(|message| view.messages.slot(&message.message_id)).collect();
        let vectors = slots.and_then(|slots| view.message_vectors(&slots));
        let Some(vectors) = vectors else {
            let latest = view.facts.iter().rev().map(|(_, fact)| fact).filter(is_useful);
            return Ok(latest.take(KNOWN_FACTS).cloned().collect());
        };
        // The nearest to each message before the second nearest of any: a talk has several matters.
        let least = self.services.config.statement_similarity_threshold;
        let mut near: Vec<(usize, f32, u32)> = Vec::new();
        for vector in vectors.rows() {
            let some = view.statements.nearest(vector, KNOWN_FACTS)?.into_iter();
            let some = some.filter(|(_, cosine)| *cosine >= least).enumerate();
            near.extend(some.map(|(rank, (slot, cosine))| (rank, cosine, slot)));
        }
        near.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
        let mut seen = HashSet::new();
        let slots = near.into_iter().map(|(_, _, slot)| slot).filter(|slot| seen.insert(*slot));
        let facts = slots.filter_map(|slot| view.facts.get(slot)).filter(is_useful);
        Ok(facts.take(KNOWN_FACTS).cloned().collect())
    }

    /// The model's decisions about its candidates that are related to known facts. The rules
    /// reconcile their own: no call is spent on them while the model is out.
    fn advice(
        &mut self,
        candidates: &[Found<'_>],
        rows: Option<&Array2<f32>>,
        origins: &mut [Origin],
    ) -> Result<Advice> {
        let mut advice: Advice = candidates.iter().map(|_| None).collect();
        let mut open: Vec<(usize, Vec<Arc<SemanticMemory>>)> = Vec::new();
        {
            let view = self.user.view.read();
            for (number, (_, candidate)) in candidates.iter().enumerate() {
                if origins[number].provenance.is_none() {
                    continue;
                }
                let vector = rows.map(|rows| rows.row(number));
                let related = related_to(&view, vector, candidate)?;
                if !related.is_empty() {
                    open.push((number, related));
                }
            }
        }
        for some in open.chunks(RECONCILED_AT_ONCE) {
            self.advise(candidates, some, origins, &mut advice)?;
        }
        Ok(advice)
    }

    fn advise(
        &mut self,
        candidates: &[Found<'_>],
        open: &[(usize, Vec<Arc<SemanticMemory>>)],
        origins: &mut [Origin],
        advice: &mut Advice,
    ) -> Result<()> {
        let mut known: Vec<Arc<SemanticMemory>> = Vec::new();
        for fact in open.iter().flat_map(|(_, related)| related) {
            if !known.iter().any(|other| other.memory_id == fact.memory_id) {
                known.push(Arc::clone(fact));
            }
        }
        let asking: Vec<_> = open.iter().map(|(number, _)| &candidates[*number].1).collect();
        let held: Vec<&SemanticMemory> = known.iter().map(|fact| &**fact).collect();
        let prompt = reconcile::question(&asking, &held)?;
        let Some(reply) = self.ask(&prompt)?.reply() else {
            self.count("reconciled_by_rules", open.len() as u64);
            return Ok(());
        };
        let read = reconcile::read(&reply.text, &asking, &held);
        for (why, times) in &read.corrected {
            self.count(why, *times);
        }
        if read.decisions.iter().all(Option::is_none) {
            self.unusable("reconcile_answers_malformed");
        } else {
            self.keep(&reply);
        }
        self.count("answers_salvaged", u64::from(read.salvaged));
        for ((number, _), decision) in open.iter().zip(read.decisions) {
            if let Some(provenance) = &mut origins[*number].provenance {
                provenance.tokens += reply.tokens.div_ceil(open.len() as u64);
                provenance.salvaged |= read.salvaged;
            }
            match decision {
                Some(decision) => advice[*number] = Some((decision, known.clone())),
                None => self.count("reconciled_by_rules", 1),
            }
        }
        Ok(())
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
    let current = || near.values().filter(|(fact, _)| fact.is_current() && !fact.is_procedure());
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
