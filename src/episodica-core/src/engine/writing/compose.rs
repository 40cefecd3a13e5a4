//! Writes the texts of episodes: by the model, several at once, or by the rules.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::control::{CallControl, run_cancellable};
use crate::engine::asking::conversation::{
    ModelReply, ModelSession, QuestionOutcome, ask_meanwhile, model_session,
};
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::memory::turn::HeldTurns;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::draft::{EpisodeDraft, bytes_of};
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::engine::writing::recall::without_recalled;
use crate::error::Result;
use crate::generate::episode::model::UnusableAnswer;
use crate::generate::episode::{EpisodeText, RULES_VERSION, write_offline};
use crate::generate::facts;
use crate::generate::facts::model::ShownFacts;
use crate::generate::window::{TextOutcome, WindowParts, question, ranges, read_texts};
use crate::index::TextTerms;
use crate::model::{Episode, Message, REFUSED, TextProvenance, abstract_of};
use crate::parallel;
use crate::sync::Mutex;

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
    /// Ids of what the model saw besides the episode's messages.
    pub shown: Vec<String>,
}

/// What a model saw for the next text of an episode and for its earlier ones, which are history.
pub(crate) fn shown_in_all(earlier: &Episode, next: &[String]) -> Vec<String> {
    let ids: BTreeSet<&String> = earlier.shown.iter().chain(next).collect();
    ids.into_iter().cloned().collect()
}

/// Messages as a model is shown them, with the facts and earlier messages next
/// to them.
pub(crate) struct ShownWindow<'a> {
    /// The messages as they were said.
    pub messages: &'a [Arc<Message>],
    /// The same ones without recalled contexts, which must not be learned from.
    pub own: Vec<Arc<Message>>,
    pub beside: ShownFacts,
}

impl ShownWindow<'_> {
    /// Ids of what the model saw besides the messages at this place.
    pub fn ids_beside(&self, place: &Range<usize>) -> Vec<String> {
        // The sources too: a fact may be gone before they are.
        let known = self.beside.known.iter();
        let known =
            known.flat_map(|fact| [&fact.memory_id].into_iter().chain(&fact.source_messages));
        let before = self.beside.before.iter().map(|message| &message.message_id);
        let (front, rest) = self.messages.split_at(place.start.min(self.messages.len()));
        let others = front.iter().chain(rest.iter().skip(place.len()));
        let others = others.map(|message| &message.message_id);
        let ids: BTreeSet<&String> = known.chain(before).chain(others).collect();
        ids.into_iter().cloned().collect()
    }
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
        return run_cancellable(bytes, control, move || {
            parallel::map_items(episodes, 1, |messages| compose_by_rules(&messages))
        });
    }
    asked_at_once(services, user, episodes, control, |conversation, messages| {
        conversation.compose_episode(messages)
    })
}

/// Composes drafts, in order; those that the model told together with their ends are ready.
pub(crate) fn compose_drafts(
    services: &EngineServices,
    user: &OpenUser,
    drafts: &mut [EpisodeDraft],
    control: &dyn CallControl,
) -> Result<Vec<ComposedEpisode>> {
    let told: Vec<Option<ComposedEpisode>> =
        drafts.iter_mut().map(|draft| draft.told.take()).collect();
    let untold = drafts.iter().zip(&told).filter(|(_, told)| told.is_none());
    let untold: Vec<&[Arc<Message>]> = untold.map(|(draft, _)| &draft.messages[..]).collect();
    let mut asked = compose_texts(services, user, &untold, control)?.into_iter();
    Ok(told.into_iter().filter_map(|told| told.or_else(|| asked.next())).collect())
}

/// Composes an episode by the rules.
fn compose_by_rules(messages: &[Arc<Message>]) -> ComposedEpisode {
    let text = write_offline(messages);
    let texts = [&abstract_of(&text.title, &text.summary), &text.content];
    let terms = Some(texts.map(|text| TextTerms::from_text(text)));
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
    let erasures = user.notes.lock().close_count();
    let work = &|| {
        let Some(mut conversation) = model_session(services, user, control) else { return };
        conversation.begin_questions(erasures);
        while let Some((number, piece)) = take_next(&next, pieces) {
            let answer = ask(&mut conversation, piece);
            answers.lock()[number] = Some(answer);
        }
    };
    let held = HeldTurns::of_thread();
    // The calls wait more than they compute, so they use threads of their own and the caller's.
    let ask = || {
        std::thread::scope(|scope| {
            for _ in 1..pieces.len().min(services.config.llm_concurrency) {
                let held = held.clone();
                scope.spawn(move || {
                    held.adopt_turns();
                    work();
                });
            }
            work();
        });
        Ok(())
    };
    if pieces.is_empty() {
        return Ok(Vec::new());
    }
    ask_meanwhile(user, ask)?;
    answers.into_inner().into_iter().flatten().collect()
}

impl ModelSession<'_> {
    /// Composes one episode by the model, with its facts if they are wanted. The rules write it if
    /// the answer is missing or unusable.
    fn compose_episode(&mut self, messages: &[Arc<Message>]) -> Result<ComposedEpisode> {
        let window = self.shown_window(messages);
        let (config, budget) = (&self.services.config, self.window_budget());
        let prompt = question(&window.own, &window.beside, WindowParts::All, config, budget)?;
        let reply = match self.ask_model(&prompt)? {
            QuestionOutcome::Answered(reply) => reply,
            QuestionOutcome::Outage => return Ok(self.without_answer(messages, OUTAGE)),
            QuestionOutcome::Refused => return Ok(self.without_answer(messages, REFUSED)),
        };
        let told = self.told_episodes(&reply, &window, &[messages.len()], true).pop().flatten();
        Ok(told
            .unwrap_or_else(|| self.compose_by_rules(&reply, messages, UnusableAnswer::Malformed)))
    }

    /// What the model is shown with these messages.
    pub(crate) fn shown_window<'m>(&self, messages: &'m [Arc<Message>]) -> ShownWindow<'m> {
        let own = without_recalled(self.services, self.user, messages);
        let beside = if self.services.config.semantic_memory {
            self.shown_beside(&own)
        } else {
            ShownFacts::default()
        };
        ShownWindow { messages, own, beside }
    }

    /// The episodes that were cut from the front of a window, with these numbers of messages, as an
    /// answer tells them. `None` for one of which it tells nothing, unless it `is_final`.
    pub(crate) fn told_episodes(
        &mut self,
        reply: &ModelReply,
        window: &ShownWindow<'_>,
        lengths: &[usize],
        is_final: bool,
    ) -> Vec<Option<ComposedEpisode>> {
        let config = &self.services.config;
        let asked = self.take_asked();
        let texts = read_texts(&reply.text, window.messages, lengths, config);
        // The tokens of the answer are divided among the episodes, not counted for the facts.
        let tokens = reply.tokens.div_ceil(lengths.len().max(1) as u64);
        let provenance = TextProvenance { tokens, ..reply.provenance(false) };
        let mut facts = if config.semantic_memory {
            let facts = facts::model::read(&reply.text, &window.own, &window.beside, config);
            let made = (reply, TextProvenance { tokens: 0, ..provenance.clone() });
            self.stated_facts(made, facts, window, lengths, &asked)
        } else {
            self.note_usable();
            self.cache_reply(reply);
            Vec::new()
        }
        .into_iter();
        let places = ranges(lengths, window.messages.len());
        let tell = |(text, place): (Option<TextOutcome>, Range<usize>)| {
            let stated = facts.next();
            let nothing = is_final.then_some(Err(UnusableAnswer::Malformed));
            let composed = match text.or(nothing)? {
                Ok(written) => {
                    self.count_event("answers_salvaged", u64::from(written.salvaged));
                    let salvaged = written.salvaged;
                    ComposedEpisode {
                        text: written.text,
                        provenance: TextProvenance { salvaged, ..provenance.clone() },
                        asked: asked.clone(),
                        stated: None,
                        terms: None,
                        shown: window.ids_beside(&place),
                    }
                }
                Err(reason) => self.compose_by_rules(reply, &window.messages[place], reason),
            };
            Some(ComposedEpisode { stated, ..composed })
        };
        texts.into_iter().zip(places).map(tell).collect()
    }

    /// The rules' text in place of an unusable one.
    fn compose_by_rules(
        &self,
        reply: &ModelReply,
        messages: &[Arc<Message>],
        reason: UnusableAnswer,
    ) -> ComposedEpisode {
        self.note_unusable(reason.name());
        self.count_event("episodes_by_rules", 1);
        log::warn!("unusable answer for an episode: {}", reason.name());
        let mut text = by_rules(write_offline(messages), reason.name(), QuestionTrace::default());
        text.provenance.tokens = reply.tokens;
        text
    }

    fn without_answer(&mut self, messages: &[Arc<Message>], reason: &str) -> ComposedEpisode {
        self.count_event("episodes_by_rules", 1);
        by_rules(write_offline(messages), reason, self.take_asked())
    }
}

/// The next piece of work for an idle thread.
fn take_next<'a, T>(next: &AtomicUsize, work: &'a [T]) -> Option<(usize, &'a T)> {
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
    ComposedEpisode { text, provenance, asked, stated: None, terms: None, shown: Vec::new() }
}
