//! The texts of episodes: by the model, several at once, or by the rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rayon::prelude::*;

use crate::clock::Moment;
use crate::control::Control;
use crate::engine::asking::conversation::{Asked, Conversation};
use crate::engine::memory::turn::HeldTurns;
use crate::engine::services::Services;
use crate::engine::user::User;
use crate::engine::writing::form::Draft;
use crate::error::Result;
use crate::generate::episode::{EpisodeText, RULES_VERSION, model, write_offline};
use crate::model::{Message, Provenance};

/// Why the rules wrote a text: the model did not answer. It is written again once the model is
/// back.
pub(crate) const OUTAGE: &str = "outage";

/// The text of one episode.
pub(crate) struct Text {
    pub text: EpisodeText,
    /// When it took place, if the model says so.
    pub timestamp: Option<Moment>,
    pub provenance: Provenance,
    pub asked: Asked,
}

impl Services {
    /// The texts of drafts, in their order.
    pub(crate) fn compose(
        &self,
        user: &User,
        drafts: &[Draft],
        control: &dyn Control,
    ) -> Result<Vec<Text>> {
        if self.llm.is_none() {
            let by_rules = |draft: &Draft| by_rules(&draft.messages, "", Asked::default());
            return Ok(drafts.par_iter().map(by_rules).collect());
        }
        let texts: Mutex<Vec<Option<Result<Text>>>> =
            Mutex::new(drafts.iter().map(|_| None).collect());
        let next = AtomicUsize::new(0);
        let work = &|| {
            let Some(mut conversation) = self.conversation(user, control) else { return };
            while let Some((number, draft)) = take(&next, drafts) {
                let text = conversation.compose(&draft.messages);
                texts.lock()[number] = Some(text);
            }
        };
        let held = HeldTurns::here();
        // The calls wait rather than compute: threads of their own, the caller's among them.
        std::thread::scope(|scope| {
            for _ in 1..drafts.len().min(self.config.llm_concurrency) {
                let held = held.clone();
                scope.spawn(move || {
                    held.adopt();
                    work();
                });
            }
            work();
        });
        texts.into_inner().into_iter().flatten().collect()
    }
}

impl Conversation<'_> {
    /// The text of one episode by the model, or by the rules if its answer is missing or unusable.
    pub(crate) fn compose(&mut self, messages: &[Arc<Message>]) -> Result<Text> {
        let prompt = model::question(messages)?;
        let Some(reply) = self.ask(&prompt)? else {
            self.count("episodes_by_rules", 1);
            return Ok(by_rules(messages, OUTAGE, self.take_asked()));
        };
        match model::read(&reply.text, messages) {
            Ok(written) => {
                self.keep(&reply);
                self.count("answers_salvaged", u64::from(written.salvaged));
                let provenance = reply.provenance(written.salvaged);
                let asked = self.take_asked();
                Ok(Text { text: written.text, timestamp: written.timestamp, provenance, asked })
            }
            Err(reason) => {
                self.count("episodes_by_rules", 1);
                self.count(reason.name(), 1);
                log::warn!("unusable answer for an episode: {}", reason.name());
                let mut text = by_rules(messages, reason.name(), self.take_asked());
                text.provenance.tokens = reply.tokens;
                Ok(text)
            }
        }
    }
}

/// The next piece of work, for the thread that asks first.
fn take<'a, T>(next: &AtomicUsize, work: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    work.get(number).map(|piece| (number, piece))
}

/// `fallback` is why there is no text by the model; empty where none is configured.
fn by_rules(messages: &[Arc<Message>], fallback: &str, asked: Asked) -> Text {
    let provenance = Provenance {
        method: "offline".to_owned(),
        prompt_version: RULES_VERSION.to_owned(),
        fallback: fallback.to_owned(),
        pending_llm: !fallback.is_empty(),
        ..Provenance::default()
    };
    Text { text: write_offline(messages), timestamp: None, provenance, asked }
}
