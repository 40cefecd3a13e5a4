//! Writes the texts of episodes: by the model, several at once, or by the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::engine::asking::conversation::{ModelSession, QuestionOutcome, model_session};
use crate::engine::writing::draft::{bytes_of, is_unchanged};
use crate::engine::writing::recall::without_recalled;
use crate::sync::Mutex;

use crate::control::{CallControl, patiently};
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::memory::turn::HeldTurns;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::error::Result;
use crate::generate::episode::{EpisodeText, RULES_VERSION, model, write_offline};
use crate::generate::facts;
use crate::generate::facts::model::ShownFacts;
use crate::index::TextTerms;
use crate::model::{Message, REFUSED, TextProvenance, abstract_of};
use crate::parallel;

/// Fallback reason of a text by the rules: the model failed. The model writes it again later.
pub(crate) const OUTAGE: &str = "outage";

pub(crate) struct ComposedEpisode {
    pub text: EpisodeText,
    pub provenance: TextProvenance,
    pub asked: QuestionTrace,
    /// The facts, if they were extracted together with the text.
    pub stated: Option<ExtractedFacts>,
    /// The terms of the text, if it was read.
    pub terms: Option<[TextTerms; 2]>,
}

/// Composes the texts of episodes with these messages, in order.
pub(crate) fn compose_texts(
    services: &EngineServices,
    user: &OpenUser,
    episodes: &[&[Arc<Message>]],
    control: &dyn CallControl,
) -> Result<Vec<ComposedEpisode>> {
    if services.llm.is_none() {
        let episodes: Vec<Vec<_>> = episodes.iter().map(|messages| messages.to_vec()).collect();
        let bytes = bytes_of(episodes.iter().flatten());
        return patiently(bytes, control, move || {
            parallel::map(episodes, 1, |messages| compose_by_rules(&messages))
        });
    }
    asked_at_once(services, user, episodes, control, |conversation, messages| {
        conversation.compose(messages)
    })
}

/// Composes an episode by the rules.
fn compose_by_rules(messages: &[Arc<Message>]) -> ComposedEpisode {
    let text = write_offline(messages);
    let texts = [&abstract_of(&text.title, &text.summary), &text.content];
    let terms = Some(texts.map(|text| TextTerms::of(text)));
    ComposedEpisode { terms, ..by_rules(text, "", QuestionTrace::default()) }
}

/// Asks the model about several pieces of work at once, within the limit on calls.
pub(crate) fn asked_at_once<T: Sync, A: Send>(
    services: &EngineServices,
    user: &OpenUser,
    pieces: &[T],
    control: &dyn CallControl,
    ask: impl Fn(&mut ModelSession<'_>, &T) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    let answers: Mutex<Vec<Option<Result<A>>>> = Mutex::new(pieces.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let work = &|| {
        let Some(mut conversation) = model_session(services, user, control) else { return };
        while let Some((number, piece)) = take(&next, pieces) {
            let answer = ask(&mut conversation, piece);
            answers.lock()[number] = Some(answer);
        }
    };
    let held = HeldTurns::here();
    // The calls wait more than they compute, so they use threads of their own and the caller's.
    std::thread::scope(|scope| {
        for _ in 1..pieces.len().min(services.config.llm_concurrency) {
            let held = held.clone();
            scope.spawn(move || {
                held.adopt();
                work();
            });
        }
        work();
    });
    answers.into_inner().into_iter().flatten().collect()
}

impl ModelSession<'_> {
    /// Composes one episode by the model, with its facts if they are wanted and fit the model's
    /// window. The rules write it if the answer is missing or unusable.
    fn compose(&mut self, messages: &[Arc<Message>]) -> Result<ComposedEpisode> {
        let budget = self.budget();
        let own = without_recalled(self.services, self.user, messages);
        // A recalled context belongs in the episode but must not be learned from: that takes two
        // questions.
        let is_own = is_unchanged(&own, messages);
        let wants_facts = self.services.config.semantic_memory && budget.is_roomy && is_own;
        let shown = if wants_facts { self.shown_beside(messages) } else { ShownFacts::default() };
        let prompt = model::question(messages, &shown, wants_facts, budget)?;
        let reply = match self.ask(&prompt)? {
            QuestionOutcome::Answered(reply) => reply,
            QuestionOutcome::Outage => return Ok(self.without_answer(messages, OUTAGE)),
            QuestionOutcome::Refused => return Ok(self.without_answer(messages, REFUSED)),
        };
        let written = match model::read(&reply.text, messages, &shown) {
            Ok(written) => written,
            Err(reason) => {
                self.unusable(reason.name());
                log::warn!("unusable answer for an episode: {}", reason.name());
                let mut text = self.without_answer(messages, reason.name());
                text.provenance.tokens = reply.tokens;
                return Ok(text);
            }
        };
        self.count("answers_salvaged", u64::from(written.salvaged));
        self.count("foreign_sentences", written.foreign);
        let provenance = reply.provenance(written.salvaged);
        let asked = self.take_asked();
        let stated = wants_facts.then(|| {
            let facts = facts::model::read(&reply.text, &own, &shown, &self.services.config);
            // The tokens of the whole answer are counted for the episode.
            let made = (&reply, TextProvenance { tokens: 0, ..provenance.clone() });
            self.stated(made, facts, &shown, &own, asked.clone())
        });
        if stated.is_none() {
            self.believe();
            self.keep(&reply);
        }
        Ok(ComposedEpisode { text: written.text, provenance, asked, stated, terms: None })
    }

    fn without_answer(&mut self, messages: &[Arc<Message>], reason: &str) -> ComposedEpisode {
        self.count("episodes_by_rules", 1);
        by_rules(write_offline(messages), reason, self.take_asked())
    }
}

/// The next piece of work for an idle thread.
fn take<'a, T>(next: &AtomicUsize, work: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    work.get(number).map(|piece| (number, piece))
}

/// `fallback` tells why the model did not write the text; empty if no model is configured.
fn by_rules(text: EpisodeText, fallback: &str, asked: QuestionTrace) -> ComposedEpisode {
    let provenance = TextProvenance {
        method: "offline".to_owned(),
        prompt_version: RULES_VERSION.to_owned(),
        fallback: fallback.to_owned(),
        pending_llm: !fallback.is_empty() && fallback != REFUSED,
        ..TextProvenance::default()
    };
    ComposedEpisode { text, provenance, asked, stated: None, terms: None }
}
