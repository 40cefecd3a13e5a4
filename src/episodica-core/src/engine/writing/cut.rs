//! Episodes by the model: asks the questions of [`generate::window`] and [`boundary::turn`]. If the
//! model fails, keyword overlap finds the boundaries.
//!
//! [`generate::window`]: crate::generate::window
//! [`boundary::turn`]: crate::boundary::turn

use std::sync::Arc;

use crate::boundary::window::{WindowScan, WindowStep};
use crate::boundary::{BufferSegment, keyword_overlap, turn, window};
use crate::config::BoundaryMode;
use crate::engine::asking::conversation::ModelSession;
use crate::engine::writing::compose::ComposedEpisode;
use crate::engine::writing::draft::EpisodeDraft;
use crate::engine::writing::extract::shows_known;
use crate::engine::writing::form::SessionGroup;
use crate::engine::writing::ingest::embed_messages;
use crate::error::Result;
use crate::generate::window::{WindowParts, question};
use crate::model::{BoundaryReason, Message};

/// Finished segments, and each episode as far as an answer tells it.
type ToldSegments = (Vec<BufferSegment>, Vec<Option<ComposedEpisode>>);

/// True if the model told one of these episodes.
pub(crate) fn has_told(drafts: &[EpisodeDraft]) -> bool {
    drafts.iter().any(|draft| draft.told.is_some())
}

impl ModelSession<'_> {
    /// Cuts finished segments from the front of a group, until there are `most`; the last cut may
    /// give a few more. Stops after a window with facts, if the model is to see them with the next
    /// one. Only asks about messages that no earlier question has shown, so that the
    /// number of calls is bounded by the number of messages, whatever the answers.
    pub(crate) fn cut_episodes(
        &mut self,
        group: &SessionGroup,
        most: usize,
    ) -> Result<Vec<EpisodeDraft>> {
        let config = &self.services.config;
        let session = group.messages.first().and_then(|message| message.session_id.clone());
        let mut drafts: Vec<EpisodeDraft> = Vec::new();
        let mut rest = &group.messages[..];
        let learns_first = shows_known(self.services);
        while !rest.is_empty() && drafts.len() < most && !(learns_first && has_told(&drafts)) {
            let shown = self.user.progress.seen.lock().get(&session).copied().unwrap_or(0);
            let seen = rest.iter().take_while(|message| message.seq < shown).count();
            let by_turns = config.boundary_mode == BoundaryMode::Message;
            let step = if by_turns {
                turn::plan_step(rest, seen, group.complete, config)
            } else {
                window::plan_step(rest, seen, group.complete, config)
            };
            let mut told = Vec::new();
            let segments = match step {
                WindowStep::Wait => break,
                WindowStep::Cut(segments) => segments,
                WindowStep::Ask(count) => {
                    let complete = group.complete.filter(|_| count == rest.len());
                    let found = if by_turns {
                        self.ask_turn(&rest[..count])?
                    } else {
                        self.ask_window(&rest[..count], complete)?.map(|found| {
                            told = found.1;
                            found.0
                        })
                    };
                    if let Some(last) = rest.get(count - 1) {
                        self.user.progress.seen.lock().insert(session.clone(), last.seq + 1);
                    }
                    found.unwrap_or_else(|| self.cut_by_keywords(rest, group.complete))
                }
            };
            let mut told = told.into_iter();
            for segment in segments {
                let told: Option<ComposedEpisode> = told.next().flatten();
                let (front, back) = rest.split_at(segment.length.min(rest.len()));
                if !front.is_empty() {
                    let (messages, asked) = (front.to_vec(), self.take_asked());
                    drafts.push(EpisodeDraft { messages, segment, asked, told });
                }
                rest = back;
            }
        }
        if rest.is_empty() {
            // The next messages of the session have higher numbers.
            self.user.progress.seen.lock().remove(&session);
        }
        // Questions without a cut belong to no episode.
        self.take_asked();
        Ok(drafts)
    }

    /// Cuts by keyword overlap, in place of the model.
    fn cut_by_keywords(
        &self,
        messages: &[Arc<Message>],
        complete: Option<BoundaryReason>,
    ) -> Vec<BufferSegment> {
        let config = &self.services.config;
        self.count_event("boundaries_by_keyword_overlap", 1);
        log::info!(
            "boundaries by keyword overlap in place of the model: {} messages",
            messages.len()
        );
        match complete {
            Some(reason) => keyword_overlap::flush_segments(messages, None, config, reason),
            None => keyword_overlap::finished_segments(messages, None, config),
        }
    }

    /// Asks about a window: its finished segments, and each episode as far as the answer tells it.
    fn ask_window(
        &mut self,
        messages: &[Arc<Message>],
        complete: Option<BoundaryReason>,
    ) -> Result<Option<ToldSegments>> {
        if shows_known(self.services) {
            // The facts nearest to a message are found by its vector.
            let _one = self.user.progress.embedding.lock();
            embed_messages(self.services, self.user, self.control)?;
        }
        let (config, shown) = (&self.services.config, self.shown_window(messages));
        let parts = if complete.is_some() { WindowParts::All } else { WindowParts::Finished };
        let prompt = question(&shown.own, &shown.beside, parts, config, self.window_budget())?;
        let Some(reply) = self.ask_model(&prompt)?.into_reply() else { return Ok(None) };
        let Some(WindowScan { segments, repaired, salvaged }) =
            window::read_answer(&reply.text, messages, complete, config)
        else {
            self.note_unusable("boundary_answers_malformed");
            return Ok(None);
        };
        self.count_event("boundary_indexes_repaired", repaired as u64);
        self.count_event("answers_salvaged", u64::from(salvaged));
        let lengths: Vec<usize> = segments.iter().map(|segment| segment.length).collect();
        let told = self.told_episodes(&reply, &shown, &lengths, false);
        Ok(Some((segments, told)))
    }

    fn ask_turn(&mut self, messages: &[Arc<Message>]) -> Result<Option<Vec<BufferSegment>>> {
        let prompt = turn::boundary_prompt(messages, self.window_budget())?;
        let Some(reply) = self.ask_model(&prompt)?.into_reply() else { return Ok(None) };
        let Some(segment) = turn::read_answer(&reply.text, messages, &self.services.config) else {
            self.note_unusable("boundary_answers_malformed");
            return Ok(None);
        };
        self.cache_reply(&reply);
        Ok(Some(segment.into_iter().collect()))
    }
}
