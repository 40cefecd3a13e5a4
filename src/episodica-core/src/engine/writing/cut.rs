//! Boundaries by the model: asks what [`boundary::window`] and [`boundary::turn`] want to know, and
//! lets keyword overlap stand in while nobody answers.

use std::sync::Arc;

use crate::boundary::window::{Reading, Step};
use crate::boundary::{Segment, keyword_overlap, turn, window};
use crate::config::BoundaryMode;
use crate::control::Control;
use crate::engine::asking::ask::Asked;
use crate::engine::memory::user::User;
use crate::engine::registry::Engine;
use crate::engine::writing::form::{Draft, Group};
use crate::error::Result;
use crate::llm::LanguageModel;
use crate::model::{BoundaryReason, Message};

impl Engine {
    /// Cuts what can be cut from the front of a group. Asks only about messages that no question
    /// has shown before, so that the calls are bounded by the messages, whatever the answers.
    pub(crate) fn cut_with_model(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        group: Group,
        control: &dyn Control,
    ) -> Result<Vec<Draft>> {
        let session = group.messages.first().and_then(|message| message.session_id.clone());
        let mut drafts = Vec::new();
        let mut rest = &group.messages[..];
        let mut asked = Asked::default();
        while !rest.is_empty() {
            let shown = user.seen.lock().get(&session).copied().unwrap_or(0);
            let seen = rest.iter().take_while(|message| message.seq < shown).count();
            let by_turns = self.config.boundary_mode == BoundaryMode::Message;
            let step = match by_turns {
                true => turn::plan(rest, seen, group.complete, &self.config),
                false => window::plan(rest, seen, group.complete, &self.config),
            };
            let segments = match step {
                Step::Wait => break,
                Step::Cut(segments) => segments,
                Step::Ask(count) => {
                    let complete = group.complete.filter(|_| count == rest.len());
                    let found = match by_turns {
                        true => self.ask_turn(model, user, &rest[..count], &mut asked, control)?,
                        false => self.ask_window(
                            model,
                            user,
                            &rest[..count],
                            complete,
                            &mut asked,
                            control,
                        )?,
                    };
                    if let Some(last) = rest.get(count - 1) {
                        user.seen.lock().insert(session.clone(), last.seq + 1);
                    }
                    found.unwrap_or_else(|| self.stand_in(rest, group.complete))
                }
            };
            for segment in segments {
                let (front, back) = rest.split_at(segment.length.min(rest.len()));
                if !front.is_empty() {
                    drafts.push(Draft {
                        messages: front.to_vec(),
                        segment,
                        asked: std::mem::take(&mut asked),
                    });
                }
                rest = back;
            }
        }
        if rest.is_empty() {
            // What a session's next messages are compared with is their own number: nothing to
            // remember.
            user.seen.lock().remove(&session);
        }
        Ok(drafts)
    }

    /// Segments by the words that are shared, in place of a model's.
    fn stand_in(
        &self,
        messages: &[Arc<Message>],
        complete: Option<BoundaryReason>,
    ) -> Vec<Segment> {
        self.counters.count("boundaries_by_keyword_overlap", 1);
        log::info!(
            "boundaries by keyword overlap in the model's place, {} messages",
            messages.len()
        );
        match complete {
            Some(reason) => keyword_overlap::flush(messages, None, &self.config, reason),
            None => keyword_overlap::segments(messages, None, &self.config),
        }
    }

    fn ask_window(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        messages: &[Arc<Message>],
        complete: Option<BoundaryReason>,
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Option<Vec<Segment>>> {
        let prompt = window::question(messages, &self.config)?;
        let Some(reply) = self.ask(model, user, &prompt, asked, control)? else { return Ok(None) };
        let Some(Reading { segments, repaired, salvaged }) =
            window::read(&reply.text, messages, complete, &self.config)
        else {
            self.counters.count("boundary_answers_malformed", 1);
            return Ok(None);
        };
        self.counters.count("boundary_indexes_repaired", repaired as u64);
        self.counters.count("answers_salvaged", u64::from(salvaged));
        self.keep(user, &reply);
        Ok(Some(segments))
    }

    fn ask_turn(
        &self,
        model: &dyn LanguageModel,
        user: &User,
        messages: &[Arc<Message>],
        asked: &mut Asked,
        control: &dyn Control,
    ) -> Result<Option<Vec<Segment>>> {
        let prompt = turn::question(messages)?;
        let Some(reply) = self.ask(model, user, &prompt, asked, control)? else { return Ok(None) };
        let Some(segment) = turn::read(&reply.text, messages, &self.config) else {
            self.counters.count("boundary_answers_malformed", 1);
            return Ok(None);
        };
        self.keep(user, &reply);
        Ok(Some(segment.into_iter().collect()))
    }
}
