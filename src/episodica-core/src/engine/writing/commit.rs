//! Turns drafts into episodes in the log and the view: composes, embeds, appends, indexes.

use std::sync::Arc;

use ndarray::Array2;

use crate::boundary::BufferSegment;
use crate::control::CallControl;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::{EMBED_BATCH, EpisodeTexts, all_rows, rows_of};
use crate::engine::memory::view::episode_terms;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compose::ComposedEpisode;
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::engine::writing::form::EpisodeDraft;
use crate::error::Result;
use crate::ids::record_id;
use crate::index::TextTerms;
use crate::model::{Episode, Message};
use crate::parallel;
use crate::store::StateRecord;

/// Episodes that enter the view under one lock. The number limits how long searches wait.
const VIEW_BATCH: usize = 64;
/// Episodes that the rules compose at once.
const COMPOSED_AT_ONCE: usize = 64;
/// Number of texts that justify a request of their own for their vectors.
pub(crate) const WORTH_A_REQUEST: usize = 32;

impl EngineServices {
    /// Composes drafts, commits them and learns from them. A model that sees known facts composes
    /// one draft at a time and learns from it before the next, so that the facts it sees do not
    /// depend on how the messages arrived.
    pub(crate) fn write_down(
        &self,
        user: &OpenUser,
        mut drafts: Vec<EpisodeDraft>,
        basis: DecisionBasis,
        control: &dyn CallControl,
        formed: &mut Vec<Arc<Episode>>,
    ) -> Result<()> {
        // Episodes are committed in the order of their ends, across sessions.
        drafts.sort_by_key(|draft| draft.messages.last().map(|message| message.seq));
        let shows_known = self.shows_known();
        let at_once = match self.llm {
            Some(_) if shows_known => 1,
            Some(_) => drafts.len(),
            None => COMPOSED_AT_ONCE,
        };
        if shows_known && !drafts.is_empty() {
            // The facts nearest to a message are found by its vector.
            self.embed_messages(user, control)?;
        }
        let mut drafts = drafts.into_iter().peekable();
        while drafts.peek().is_some() {
            let now: Vec<EpisodeDraft> = drafts.by_ref().take(at_once).collect();
            let texts = self.compose(user, &messages_of(&now), control)?;
            let written = self.commit_texts(user, now, texts, basis, control)?;
            if shows_known {
                self.learn_from_written(user, &written, control)?;
            }
            formed.extend(written);
            if drafts.peek().is_some() && !self.has_background_work() {
                self.decide(control, || self.learn(user, control))?;
            }
        }
        Ok(())
    }

    fn commit_texts(
        &self,
        user: &OpenUser,
        drafts: Vec<EpisodeDraft>,
        texts: Vec<ComposedEpisode>,
        basis: DecisionBasis,
        control: &dyn CallControl,
    ) -> Result<Vec<Arc<Episode>>> {
        control.check()?;
        let mut episodes = Vec::with_capacity(drafts.len());
        let mut stated: Vec<Option<ExtractedFacts>> = Vec::with_capacity(drafts.len());
        let mut read: Vec<Option<EpisodeTexts>> = Vec::with_capacity(drafts.len());
        for (draft, mut text) in drafts.into_iter().zip(texts) {
            let mut asked = draft.asked;
            asked.extend(text.asked.clone());
            stated.push(text.stated.take());
            read.push(text.read.take());
            let episode = Arc::new(self.episode(user, draft.messages, draft.segment, text));
            self.write_trace(user, asked.about(std::slice::from_ref(&episode.episode_id)));
            episodes.push(episode);
        }
        if self.config.merge_episodes {
            return self.commit_merged(user, episodes, basis, control);
        }
        self.embed_ahead(user, &episodes, &stated, control)?;
        match read.into_iter().collect() {
            Some(read) => self.commit_read(user, &episodes, read, basis, control)?,
            None => self.commit_with_vectors(user, &episodes, basis, control)?,
        }
        user.progress.keep_stated(&episodes, stated);
        Ok(episodes)
    }

    fn episode(
        &self,
        user: &OpenUser,
        messages: Vec<Arc<Message>>,
        segment: BufferSegment,
        text: ComposedEpisode,
    ) -> Episode {
        let (first, last) = (&messages[0], &messages[messages.len() - 1]);
        let parts = [
            first.message_id.as_bytes(),
            last.message_id.as_bytes(),
            &(messages.len() as u64).to_le_bytes()[..],
        ];
        let session_id = first.session_id.clone().filter(|session| {
            messages.iter().all(|message| message.session_id.as_ref() == Some(session))
        });
        let times = messages.iter().map(|message| message.timestamp);
        let (boundary_reason, boundary) = (segment.description().to_owned(), segment.boundary);
        Episode {
            episode_id: record_id(&user.owner, "episode", &parts),
            user_id: user.owner.user.clone(),
            title: text.text.title,
            content: text.text.content,
            message_count: messages.len(),
            boundary_reason,
            timestamp: times.clone().min().unwrap_or(first.timestamp),
            created_at: self.clock.now(),
            metadata: serde_json::Map::new(),
            tags: Vec::new(),
            summary: text.text.summary,
            ended_at: times.max().unwrap_or(last.timestamp),
            session_id,
            topics: text.text.topics,
            entities: text.text.entities,
            boundary,
            provenance: text.provenance,
            archived_at: None,
            revision: 0,
            original_messages: messages,
        }
    }

    /// Requests all vectors that are needed soon: those of episodes and facts, and of enough
    /// messages to fill the request. The embedder caches them.
    fn embed_ahead(
        &self,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        stated: &[Option<ExtractedFacts>],
        control: &dyn CallControl,
    ) -> Result<()> {
        if self.embedder.is_local() {
            return Ok(());
        }
        let episodes = episodes.iter().flat_map(|one| [one.abstract_text(), one.content.clone()]);
        let facts = stated.iter().flatten().flat_map(|one| one.extraction.contents());
        let facts = facts.map(str::to_owned);
        let mut texts: Vec<String> = episodes.chain(facts).collect();
        let room = WORTH_A_REQUEST.saturating_sub(texts.len());
        {
            let view = user.view.read();
            let unembedded = view.backlog.unembedded().iter().take(room);
            texts.extend(unembedded.map(|slot| view.messages.get(*slot).content.clone()));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if texts.len() <= EMBED_BATCH {
            self.indexing().embed(&texts, control)?;
        }
        Ok(())
    }

    /// Commits composed episodes; embeds them first if their texts came without vectors.
    fn commit_read(
        &self,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        read: Vec<EpisodeTexts>,
        basis: DecisionBasis,
        control: &dyn CallControl,
    ) -> Result<()> {
        let rows = match all_rows(read.iter().map(|texts| &texts.rows)) {
            Some(rows) => Some(rows),
            None => self.embed_episodes(episodes, control)?,
        };
        let terms: Vec<[TextTerms; 2]> = read.into_iter().map(|texts| texts.terms).collect();
        self.commit_terms(user, episodes, &[], &terms, rows, basis)
    }

    pub(crate) fn commit_with_vectors(
        &self,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        basis: DecisionBasis,
        control: &dyn CallControl,
    ) -> Result<()> {
        let rows = self.embed_episodes(episodes, control)?;
        self.commit_episodes(user, episodes, &[], rows, basis)
    }

    /// Two vectors per episode: L0, L1.
    pub(crate) fn embed_episodes(
        &self,
        episodes: &[Arc<Episode>],
        control: &dyn CallControl,
    ) -> Result<Option<Array2<f32>>> {
        let texts: Vec<String> = episodes
            .iter()
            .flat_map(|episode| [episode.abstract_text(), episode.content.clone()])
            .collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.indexing().embed(&texts, control)
    }

    /// Appends episodes to the log, then adds them to the view. `rows` holds two vectors per
    /// episode. The `notes` are written first: without them the next opening would learn from the
    /// episodes.
    pub(crate) fn commit_episodes(
        &self,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        notes: &[StateRecord],
        rows: Option<Array2<f32>>,
        basis: DecisionBasis,
    ) -> Result<()> {
        let terms = parallel::map(episodes.iter().collect(), parallel::FEW_TEXTS, |episode| {
            episode_terms(episode)
        });
        self.commit_terms(user, episodes, notes, &terms, rows, basis)
    }

    /// [`EngineServices::commit_episodes`] for episodes with known terms.
    fn commit_terms(
        &self,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        notes: &[StateRecord],
        terms: &[[TextTerms; 2]],
        rows: Option<Array2<f32>>,
        basis: DecisionBasis,
    ) -> Result<()> {
        let _writer = user.lock_writer_on(basis, !notes.is_empty(), &self.indexing())?;
        if !notes.is_empty() {
            user.store.append_semantic(&[], &[], notes)?;
        }
        user.store.append_episodes(episodes, &[], &[])?;
        log::debug!("{} episodes are in the log", episodes.len());
        user.note_change();
        let to = self.indexing();
        let numbered: Vec<(usize, &Arc<Episode>)> = episodes.iter().enumerate().collect();
        for batch in numbered.chunks(VIEW_BATCH) {
            let mut view = user.view.write();
            for (number, episode) in batch {
                let rows =
                    rows.as_ref().map(|rows| rows_of(rows.view(), 2 * number..2 * number + 2));
                view.put_episode(Arc::clone(episode), &terms[*number], rows, &to)?;
                if self.config.semantic_memory {
                    view.backlog.await_learning(&episode.episode_id, episode.revision);
                }
            }
        }
        Ok(())
    }
}

fn messages_of(drafts: &[EpisodeDraft]) -> Vec<&[Arc<Message>]> {
    drafts.iter().map(|draft| &draft.messages[..]).collect()
}
