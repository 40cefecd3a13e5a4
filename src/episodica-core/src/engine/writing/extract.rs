//! Learns from an episode with the model, unless its facts were extracted together with its text.
//! The model sees known facts, and names those that end.
//!
//! If the model fails, the rules learn in its place, and the episode is marked to be learned from
//! again.

use std::ops::Range;
use std::sync::Arc;

use crate::control::CallControl;
use crate::engine::asking::conversation::{
    ModelReply, ModelSession, QuestionOutcome, ask_meanwhile, model_session,
};
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compose::{OUTAGE, ShownWindow};
use crate::engine::writing::draft::decide_anew;
use crate::engine::writing::extracted_facts::{CandidateOrigin, ExtractedFacts};
use crate::engine::writing::known_facts;
use crate::engine::writing::learn::{
    LearningStep, count_rejected, learn_stated, withdraw_stand_ins,
};
use crate::error::Result;
use crate::generate::facts::model::{AnsweredFacts, ShownFacts, read};
use crate::generate::facts::{FactCandidate, FactExtraction, extract_quotes};
use crate::generate::window::{WindowParts, question, ranges};
use crate::model::{Episode, Message, SemanticMemory, TextProvenance};

/// Number of messages before an episode that the model sees, so that it can resolve pronouns.
const BEFORE: usize = 2;
/// They are looked for among this many preceding messages, of all sessions.
const BEFORE_REACH: u32 = 30;

/// True if the model sees known facts: then each episode waits for the facts of the episode
/// before.
pub(crate) fn shows_known(services: &EngineServices) -> bool {
    services.llm.is_some()
        && services.config.semantic_memory
        && services.config.prediction_correction
}

/// Learns from the episodes that the model wrote, one after another. The caller holds the
/// user's `FormingTurn`.
pub(crate) fn learn_from_written(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[Arc<Episode>],
    control: &dyn CallControl,
) -> Result<()> {
    for episode in episodes.iter().filter(|one| one.provenance.fallback != OUTAGE) {
        let id = &episode.episode_id;
        if !user.view.read().backlog.unlearned_episodes().contains_key(id) {
            continue;
        }
        decide_anew(services, control, || {
            // Another decision is about the episode as it is by then.
            let waiting = {
                let view = user.view.read();
                let waits = view.backlog.unlearned_episodes().contains_key(id);
                view.episodes.by_id(id).filter(|_| waits).cloned()
            };
            match (waiting, model_session(services, user, control)) {
                (Some(episode), Some(mut conversation)) => {
                    learn_by_model(services, &mut conversation, &episode)
                }
                _ => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// Learns from an episode with the model. The caller holds the user's `FormingTurn`.
pub(crate) fn learn_by_model(
    services: &EngineServices,
    conversation: &mut ModelSession<'_>,
    episode: &Arc<Episode>,
) -> Result<()> {
    let (user, control) = (conversation.user, conversation.control);
    let (basis, episodes) = (user.decision_basis(), std::slice::from_ref(episode));
    let stated = user.progress.take_stated(episodes).into_iter().flatten().next();
    let ExtractedFacts { extraction, origin, pending_llm, asked, .. } = match stated {
        Some(stated) => stated,
        None => {
            let erasures = user.notes.lock().close_count();
            conversation.begin_questions(erasures);
            ask_meanwhile(user, || conversation.find_facts(episode))?
        }
    };
    if origin.is_some() {
        withdraw_stand_ins(services, user, &[episode.episode_id.as_str()], basis)?;
    }
    count_rejected(services, &extraction);
    let candidates = &extraction.candidates;
    conversation.count_event("episodes_without_facts", u64::from(candidates.is_empty()));
    let step = LearningStep { episodes, pending_llm, asked, basis };
    learn_stated(services, user, &step, (candidates, origin.as_ref()), control)
}

/// The doubt about an answer with at most one fact for [`QUOTES_PER_FACT`] sentences that the rules
/// would quote, as important as this.
const SPARSE: &str = "facts_answers_sparse";
/// The doubt about an answer in another language than the messages.
const OTHER_LANGUAGE: &str = "facts_answers_other_language";
/// The doubt about an answer that takes people for each other, or cites at random.
const MISPLACED: &str = "facts_answers_misplaced";
/// The doubt about an answer that breaks off.
const CUT: &str = "facts_answers_cut";
const QUOTES_PER_FACT: usize = 4;
const TELLING_IMPORTANCE: f32 = 0.8;

/// Why the facts of an answer are doubtful. The rules would quote `said` important sentences.
fn doubt_of(
    facts: &AnsweredFacts,
    said: usize,
    shown: &ShownFacts,
    messages: &[Arc<Message>],
) -> Option<&'static str> {
    let kept = facts.extraction.candidates.len();
    let is_refused = kept == 0 && !facts.extraction.rejected.is_empty();
    let is_blind = kept == 0 && said > 1 && !has_stated(shown);
    if is_refused || is_blind {
        Some("facts_answers_empty")
    } else if facts.ends_too_many {
        Some("facts_answers_ending_too_much")
    } else if facts.is_in_other_language(messages) {
        Some(OTHER_LANGUAGE)
    } else if facts.is_misplaced() {
        Some(MISPLACED)
    } else if kept > 0 && QUOTES_PER_FACT * kept <= said {
        Some(SPARSE)
    } else if facts.is_cut {
        Some(CUT)
    } else {
        None
    }
}

/// True if a known fact that the model saw is stated, so that nothing new is a likely answer.
fn has_stated(shown: &ShownFacts) -> bool {
    shown.known.iter().any(|fact| fact.quote.is_none())
}

/// The messages of which quotations stand beside the facts of an answer: all if it is doubtful, or
/// if a model that has stated nothing yet finds nothing; those after the last cited one if it is
/// cut off.
fn quoted_beside(
    doubt: Option<&str>,
    facts: &AnsweredFacts,
    window: &ShownWindow<'_>,
) -> Range<usize> {
    let (candidates, all) = (&facts.extraction.candidates, window.own.len());
    let is_cited = |message: &Arc<Message>| {
        candidates.iter().any(|fact| fact.source_messages.contains(&message.message_id))
    };
    match doubt {
        Some(CUT) => window.own.iter().rposition(is_cited).map_or(0, |last| last + 1)..all,
        Some(_) => 0..all,
        None if candidates.is_empty() && !has_stated(&window.beside) => 0..all,
        None => all..all,
    }
}

impl ModelSession<'_> {
    /// The facts of an answer about a window, for each episode that was cut from its front, with
    /// these numbers of messages. Quotations stand beside them if the answer is doubtful, or in
    /// their place if it is unusable. Caches a usable answer.
    pub(crate) fn stated_facts(
        &self,
        (reply, provenance): (&ModelReply, TextProvenance),
        facts: Option<AnsweredFacts>,
        window: &ShownWindow<'_>,
        lengths: &[usize],
        asked: &QuestionTrace,
    ) -> Vec<ExtractedFacts> {
        let places = || ranges(lengths, window.own.len());
        let Some(mut facts) = facts else {
            self.note_unusable("facts_answers_malformed");
            let by_rules = |place| self.facts_by_rules(&window.own[place], false, asked.clone());
            return places().map(by_rules).collect();
        };
        self.count_event("answers_salvaged", u64::from(facts.salvaged));
        let config = &self.services.config;
        let quotes: Vec<FactExtraction> =
            places().map(|place| extract_quotes(&window.own[place], config)).collect();
        let telling = quotes.iter().flat_map(|quotes| &quotes.candidates);
        let said = telling.filter(|quote| quote.importance >= TELLING_IMPORTANCE).count();
        let doubt = doubt_of(&facts, said, &window.beside, &window.own);
        self.note_doubt(doubt);
        let kept = facts.extraction.candidates.len();
        if kept == 0 && doubt.is_some() {
            count_rejected(self.services, &facts.extraction);
            self.count_event("facts_by_rules", quotes.len() as u64);
            let by_rules = |quotes| ExtractedFacts::by_rules_instead(quotes, false, asked.clone());
            return quotes.into_iter().map(by_rules).collect();
        }
        self.cache_reply(reply);
        if matches!(doubt, Some(SPARSE | OTHER_LANGUAGE | MISPLACED | CUT)) {
            facts.doubt();
        }
        let quoted = quoted_beside(doubt, &facts, window);
        // One call was paid for all facts, so its tokens are divided among them.
        let provenance = TextProvenance {
            salvaged: facts.salvaged,
            tokens: provenance.tokens.div_ceil(kept.max(1) as u64),
            ..provenance
        };
        let parts = facts.split(&window.own, lengths).into_iter().zip(quotes).zip(places());
        let quoted = &window.own[quoted];
        let is_quoted = |quote: &FactCandidate| {
            quoted.iter().any(|message| quote.source_messages.contains(&message.message_id))
        };
        let learned = |((part, quotes), place): ((AnsweredFacts, FactExtraction), Range<usize>)| {
            let mut extraction = part.extraction;
            extraction.candidates.extend(quotes.candidates.into_iter().filter(is_quoted));
            let origin = CandidateOrigin {
                provenance: provenance.clone(),
                told: part.told,
                shown: window.ids_beside(&place),
            };
            ExtractedFacts {
                extraction,
                origin: Some(origin),
                pending_llm: false,
                asked: asked.clone(),
                answer: reply.hash.clone(),
            }
        };
        parts.map(learned).collect()
    }

    fn note_doubt(&self, doubt: Option<&'static str>) {
        match doubt {
            Some(doubt @ (SPARSE | CUT)) => self.note_doubtful(doubt),
            Some(doubt) => self.note_unusable(doubt),
            None => self.note_usable(),
        }
    }

    /// Extracts the facts of an episode that is written already.
    fn find_facts(&mut self, episode: &Arc<Episode>) -> Result<ExtractedFacts> {
        let window = self.shown_window(&episode.original_messages);
        let (config, budget) = (&self.services.config, self.window_budget());
        let prompt = question(&window.own, &window.beside, WindowParts::Facts, config, budget)?;
        let outcome = self.ask_model(&prompt)?;
        let asked = self.take_asked();
        // The same question would be refused again.
        let pending_llm = matches!(outcome, QuestionOutcome::Outage);
        if let Some(reply) = outcome.into_reply() {
            let facts = read(&reply.text, &window.own, &window.beside, config);
            let asked = asked.clone().with_ids(std::slice::from_ref(&episode.episode_id));
            let made = (&reply, reply.provenance(false));
            let whole = [window.own.len()];
            if let Some(stated) = self.stated_facts(made, facts, &window, &whole, &asked).pop() {
                return Ok(stated);
            }
        }
        Ok(self.facts_by_rules(&window.own, pending_llm, asked))
    }

    fn facts_by_rules(
        &self,
        messages: &[Arc<Message>],
        pending_llm: bool,
        asked: QuestionTrace,
    ) -> ExtractedFacts {
        self.count_event("facts_by_rules", 1);
        let extraction = extract_quotes(messages, &self.services.config);
        ExtractedFacts::by_rules_instead(extraction, pending_llm, asked)
    }

    /// The known facts and earlier messages that the model sees with an episode of these messages.
    pub(crate) fn shown_beside(&self, messages: &[Arc<Message>]) -> ShownFacts {
        ShownFacts { known: self.known_about(messages), before: self.messages_before(messages) }
    }

    /// The last messages of the same session before these.
    fn messages_before(&self, messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
        let view = self.user.view.read();
        let Some(first) = messages.first() else { return Vec::new() };
        let end = view.messages.slot_of(&first.message_id).unwrap_or(0);
        let slots = (end.saturating_sub(BEFORE_REACH)..end).rev();
        let earlier = slots
            .filter(|slot| view.messages.has_message(*slot))
            .map(|slot| view.messages.get(slot));
        let same = earlier.filter(|message| message.session_id == first.session_id);
        let mut before: Vec<Arc<Message>> = same.take(BEFORE).cloned().collect();
        before.reverse();
        before
    }

    /// The known facts that these messages may change; see [`known_facts::facts_about`].
    fn known_about(&self, messages: &[Arc<Message>]) -> Vec<Arc<SemanticMemory>> {
        let config = &self.services.config;
        if !config.prediction_correction {
            return Vec::new();
        }
        let (view, least) = (self.user.view.read(), config.statement_similarity_threshold);
        let leaving = self.user.progress.leaving.lock().clone();
        known_facts::facts_about(&view, messages, least, (self.window_budget().known, &leaving))
    }
}
