//! Turns drafts into episodes in the log and the view: composes, embeds, appends, indexes.

use std::ops::Range;
use std::sync::Arc;

use crate::boundary::BufferSegment;
use crate::control::CallControl;
use crate::engine::asking::conversation::write_trace;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::indexing::EMBED_BATCH;
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::commit_episodes::{commit_episodes, commit_terms};
use crate::engine::writing::compose::{ComposedEpisode, compose_drafts, compose_texts};
use crate::engine::writing::draft::{EpisodeDraft, decide_anew};
use crate::engine::writing::extract::{learn_from_written, shows_known};
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::engine::writing::ingest::embed_messages;
use crate::engine::writing::known_facts;
use crate::engine::writing::learn::learn_by_rules;
use crate::engine::writing::merge::commit_merged;
use crate::error::Result;
use crate::ids::record_id;
use crate::index::TextTerms;
use crate::model::{Episode, Message};

/// Episodes that the rules compose at once.
const COMPOSED_AT_ONCE: usize = 64;
/// Number of texts that justify a request of their own for their vectors.
pub(crate) const WORTH_A_REQUEST: usize = 32;

/// Composes drafts, commits them and learns from them. A model composes several at once. If it sees
/// known facts, they are learned from one after another, and one whose facts may change what was
/// learned from those before it is composed again.
pub(crate) fn write_down(
    services: &EngineServices,
    user: &OpenUser,
    mut drafts: Vec<EpisodeDraft>,
    basis: DecisionBasis,
    control: &dyn CallControl,
    formed: &mut Vec<Arc<Episode>>,
) -> Result<()> {
    // Episodes are committed in the order of their ends, across sessions.
    drafts.sort_by_key(|draft| draft.messages.last().map(|message| message.seq));
    let shows_known = shows_known(services);
    let at_once = match services.llm {
        Some(_) => services.config.llm_concurrency,
        None => COMPOSED_AT_ONCE,
    };
    if shows_known && !drafts.is_empty() {
        // The facts nearest to a message are found by its vector.
        embed_messages(services, user, control)?;
    }
    let mut drafts = drafts.into_iter().peekable();
    while drafts.peek().is_some() {
        let mut now: Vec<EpisodeDraft> = drafts.by_ref().take(at_once).collect();
        let texts = compose_drafts(services, user, &mut now, control)?;
        if shows_known {
            write_in_turn(services, user, now.into_iter().zip(texts), basis, control, formed)?;
        } else {
            formed.extend(commit_texts(services, user, now, texts, basis, control)?);
        }
        if drafts.peek().is_some() && !services.has_background_work() {
            decide_anew(services, control, || learn_by_rules(services, user, control))?;
        }
    }
    Ok(())
}

/// Commits episodes that were composed at once, and learns from one after the other. One whose
/// facts may change those of an earlier one, which the model had not seen, is composed again.
fn write_in_turn(
    services: &EngineServices,
    user: &OpenUser,
    drafts: impl Iterator<Item = (EpisodeDraft, ComposedEpisode)>,
    basis: DecisionBasis,
    control: &dyn CallControl,
    formed: &mut Vec<Arc<Episode>>,
) -> Result<()> {
    // The facts learned so far, by the answer that stated them.
    let mut learned: Vec<(String, Range<usize>)> = Vec::new();
    for (draft, mut text) in drafts {
        let unseen = |stated: &ExtractedFacts| {
            let others = learned.iter().filter(|(answer, _)| *answer != stated.answer);
            known_facts::may_change(&user.view.read(), stated, others.map(|(_, slots)| slots))
        };
        if text.stated.as_ref().is_some_and(unseen) {
            services.counters.count_event("episodes_asked_again", 1);
            text = compose_texts(services, user, &[&draft.messages], control)?.remove(0);
        }
        let answer = text.stated.as_ref().map(|stated| stated.answer.clone()).unwrap_or_default();
        let first = user.view.read().facts.slot_count();
        let written = commit_texts(services, user, vec![draft], vec![text], basis, control)?;
        learn_from_written(services, user, &written, control)?;
        learned.push((answer, first..user.view.read().facts.slot_count()));
        formed.extend(written);
    }
    Ok(())
}

fn commit_texts(
    services: &EngineServices,
    user: &OpenUser,
    drafts: Vec<EpisodeDraft>,
    texts: Vec<ComposedEpisode>,
    basis: DecisionBasis,
    control: &dyn CallControl,
) -> Result<Vec<Arc<Episode>>> {
    control.check()?;
    let mut episodes = Vec::with_capacity(drafts.len());
    let mut stated: Vec<Option<ExtractedFacts>> = Vec::with_capacity(drafts.len());
    let mut terms: Vec<Option<[TextTerms; 2]>> = Vec::with_capacity(drafts.len());
    for (draft, mut text) in drafts.into_iter().zip(texts) {
        let mut asked = draft.asked;
        asked.add_trace(text.asked.clone());
        stated.push(text.stated.take());
        terms.push(text.terms.take());
        let episode = Arc::new(episode_record(services, user, draft.messages, draft.segment, text));
        write_trace(services, user, asked.with_ids(std::slice::from_ref(&episode.episode_id)));
        episodes.push(episode);
    }
    if services.config.merge_episodes {
        return commit_merged(services, user, episodes, basis, control);
    }
    embed_ahead(services, user, &stated, control)?;
    match terms.into_iter().collect::<Option<Vec<_>>>() {
        Some(terms) => commit_terms(services, user, &episodes, &[], &terms, basis)?,
        None => commit_episodes(services, user, &episodes, &[], basis)?,
    }
    user.progress.keep_stated(&episodes, stated);
    Ok(episodes)
}

fn episode_record(
    services: &EngineServices,
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
        created_at: services.clock.now(),
        metadata: serde_json::Map::new(),
        tags: Vec::new(),
        summary: text.text.summary,
        ended_at: times.max().unwrap_or(last.timestamp),
        session_id,
        topics: Vec::new(),
        entities: text.text.entities,
        boundary,
        provenance: text.provenance,
        shown: text.shown,
        archived_at: None,
        revision: 0,
        original_messages: messages,
    }
}

/// Requests all vectors that are needed soon: those of facts, and of enough messages to fill the
/// request. The embedder caches them.
fn embed_ahead(
    services: &EngineServices,
    user: &OpenUser,
    stated: &[Option<ExtractedFacts>],
    control: &dyn CallControl,
) -> Result<()> {
    if services.embedder.is_local() {
        return Ok(());
    }
    let facts = stated.iter().flatten().flat_map(|one| &one.extraction.candidates);
    let facts = facts.filter(|fact| fact.quote.is_none()).map(|fact| fact.content.clone());
    let mut texts: Vec<String> = facts.collect();
    let room = WORTH_A_REQUEST.saturating_sub(texts.len());
    {
        let view = user.view.read();
        let unembedded = view.backlog.unembedded_slots().iter().take(room);
        texts.extend(unembedded.map(|slot| view.messages.get(*slot).content.clone()));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    if texts.len() <= EMBED_BATCH {
        services.indexing_settings().embed_batches(&texts, control)?;
    }
    Ok(())
}
