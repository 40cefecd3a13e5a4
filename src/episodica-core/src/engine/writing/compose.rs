//! The text of episodes: by the model, several at once; by the rules without one, or in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use rayon::prelude::*;

use crate::clock::Moment;
use crate::control::Control;
use crate::engine::asking::ask::Asked;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::engine::writing::form::Draft;
use crate::error::Result;
use crate::generate::episode::{EpisodeText, RULES_VERSION, model, write_offline};
use crate::llm::LanguageModel;
use crate::model::{Message, Provenance};

/// Why a text is the rules': the model did not answer. Such a text is written again as soon as the
/// model is back.
pub(crate) const OUTAGE: &str = "outage";

/// The text of one episode.
pub(crate) struct Text {
    pub text: EpisodeText,
    /// When it took place, where the model says so.
    pub timestamp: Option<Moment>,
    pub provenance: Provenance,
    pub asked: Asked,
}

impl Engine {
    /// The texts of drafts, in their order.
    pub(crate) fn write_texts(
        &self,
        user: &User,
        drafts: &[Draft],
        control: &dyn Control,
    ) -> Result<Vec<Text>> {
        let Some(model) = &self.llm else {
            return Ok(drafts
                .par_iter()
                .map(|draft| by_rules(&draft.messages, "", Asked::default()))
                .collect());
        };
        let texts: Mutex<Vec<Option<Result<Text>>>> =
            Mutex::new(drafts.iter().map(|_| None).collect());
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((number, draft)) = take(&next, drafts) {
                let text = self.write_with_model(&**model, user, &draft.messages, control);
                texts.lock()[number] = Some(text);
            }
        };
        // The calls wait, they don't compute: threads of their own, the caller's among them.
        std::thread::scope(|scope| {
            for _ in 1..drafts.len().min(self.config.llm_concurrency) {
                scope.spawn(work);
            }
            work();
        });
        texts.into_inner().into_iter().flatten().collect()
    }

    /// The text of one episode by the model, or by the rules if nothing usable comes of asking.
    pub(crate) fn write_with_model(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        messages: &[Arc<Message>],
        control: &dyn Control,
    ) -> Result<Text> {
        let mut asked = Asked::default();
        let prompt = model::question(messages)?;
        let Some(reply) = self.ask(model, user, &prompt, &mut asked, control)? else {
            self.counters.count("episodes_by_rules", 1);
            return Ok(by_rules(messages, OUTAGE, asked));
        };
        match model::read(&reply.text, messages) {
            Ok(written) => {
                self.keep(user, &reply);
                self.counters.count("answers_salvaged", u64::from(written.salvaged));
                let provenance = reply.provenance(written.salvaged);
                Ok(Text { text: written.text, timestamp: written.timestamp, provenance, asked })
            }
            Err(reason) => {
                self.counters.count("episodes_by_rules", 1);
                self.counters.count(reason.name(), 1);
                log::warn!("an answer could not be used for an episode: {}", reason.name());
                let mut text = by_rules(messages, reason.name(), asked);
                text.provenance.tokens = reply.tokens;
                Ok(text)
            }
        }
    }
}

/// The next piece of work, for whoever asks first.
fn take<'a, T>(next: &AtomicUsize, work: &'a [T]) -> Option<(usize, &'a T)> {
    let number = next.fetch_add(1, Ordering::Relaxed);
    work.get(number).map(|piece| (number, piece))
}

/// `fallback` is why the model's text is not there; empty where no model is configured.
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
