//! Packs the text that answers a question into a budget of tokens.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::clock::{DisplayZone, Moment};
use crate::control::CallControl;
use crate::engine::lifecycle::Engine;
use crate::engine::memory::recalled::own_parts;
use crate::engine::memory::view::UserView;
use crate::engine::reading::hits::{HitBuilder, RankedSlot};
use crate::engine::reading::later::later_words;
use crate::engine::reading::search::{MAX_TOP_K, SearchRun, merge, numbered};
use crate::error::{Error, Result};
use crate::generate::voice::{base_voice, spans};
use crate::model::{Episode, Message, SaidBy, SemanticMemory};
use crate::score::{
    AnswerRelevance, ContextCandidates, ContextParts, ContextWords, EpisodeSummary, FactSection,
    HitKind, HitRecord, KnownFact, LineReason, Outdated, OutputForm, ParsedQuery, Parts,
    QueryIntent, RecordFilter, ScoredMessage, SearchHit, SearchRequest, Successors, answered_at,
    pack,
};
use crate::text::{language, normalized};

/// Number of summaries that may enter a context. As many facts may enter, or one for every
/// [`TOKENS_PER_FACT`] tokens of the budget if that is more.
const CONSIDERED: usize = 20;
const TOKENS_PER_FACT: usize = 20;
/// Lowest relevance of a fact that enters a context on its own, as a share of the best line's.
const FACT_BEARS: f64 = 0.3;
/// How far such a fact must be from an average message to the record that is most like the
/// question. Relevance alone compares facts with each other, and one of them is always best.
const FACT_LIKE: f32 = 0.4;
/// Fewest messages of which an average is one.
const ENOUGH: usize = 8;
/// Lowest relevance of a summary. Of the episodes with it, half answer the question.
const SUMMARY_BEARS: f64 = 0.3;
/// Tokens of a short message. If not all messages are ranked, as many are ranked as would fit the
/// budget at this length.
const TOKENS_PER_MESSAGE: usize = 24;

/// The parameters of a context.
#[derive(Debug, Clone)]
pub struct ContextRequest {
    /// The question, filters and kinds; `top_k` does not limit the packing.
    pub search: SearchRequest,
    /// Most tokens of the text (o200k_base).
    pub max_tokens: usize,
    /// How the text is written.
    pub form: OutputForm,
    /// Zone in which the text shows dates.
    pub zone: DisplayZone,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct PackedContext {
    /// The text for the prompt.
    pub text: String,
    /// Tokens of the text, at most `max_tokens`.
    pub token_count: usize,
    /// Every message whose content is in the text, in the order of the text. The content is there
    /// verbatim but for the bracketed days of its relative dates (lines after the first indented by
    /// a space), or escaped as JSON and tags require.
    pub messages: Vec<Arc<Message>>,
    /// Ids of the messages that are quoted in part, with `[…]` for the rest.
    pub excerpts: Vec<String>,
    /// The stated facts at the beginning of the text, in the order of the text.
    pub facts: Vec<Arc<SemanticMemory>>,
    /// Why messages that are not hits are in the text, by their ids.
    pub reasons: Vec<(String, LineReason)>,
    /// The hits in the text, best first.
    pub hits: Vec<SearchHit>,
    /// Probability that the memory answers the question, 0 to 1, whatever the budget.
    pub relevance: f64,
    /// Parts of the ranking that failed.
    pub degraded: Vec<String>,
    /// The recognised intent of the question.
    pub intent: QueryIntent,
}

impl Engine {
    /// Packs the answers to a question into `max_tokens`: messages under the day on which they were
    /// said, current facts that a model, the user or the application stated, and summaries if
    /// messages do not fit. Without messages among the kinds, all current facts count. Returns an
    /// empty context for an unknown user.
    ///
    /// # Errors
    /// As [`Engine::search`]; `InvalidInput` for a budget of 0.
    pub fn context(
        &self,
        user_id: &str,
        request: &ContextRequest,
        control: &dyn CallControl,
    ) -> Result<PackedContext> {
        self.check_request(&request.search)?;
        if request.max_tokens == 0 {
            return Err(Error::invalid("max_tokens must be at least 1: `0`"));
        }
        let hurried = self.hurried(control);
        let Some(user) = self.known_user(user_id, &hurried)? else {
            let ContextParts { text, token_count, .. } =
                ContextParts::empty(request.form, request.max_tokens);
            return Ok(PackedContext { text, token_count, ..PackedContext::default() });
        };
        // An outdated record only appears next to its successor.
        let mut wide = SearchRequest { include_superseded: false, ..request.search.clone() };
        wide.filter.stated_only = wide.kinds.contains(&HitKind::Message);
        let query = ParsedQuery::new(&wide.query, &user.view.read().messages, self.services.tokens);
        let mut prepared = self.prepare(&query.at(wide.now), &wide, &hurried)?;
        let view = user.view.read();
        self.note_degradation(&view, &wide, &mut prepared);
        let search = SearchRun { engine: self, view: &view, request: &wide, prepared: &prepared };
        let mut degraded = prepared.degraded.clone();
        let gathered = ContextSources::new(&search, request.max_tokens, &mut degraded)?;
        let packed = gathered.pack(&search, request, control)?;
        user.recalled.lock().note_line(&packed.text, view.messages.slot_count() as u32);
        let messages = packed.messages.iter();
        let facts = packed.facts.iter();
        let facts: Vec<_> = facts.map(|number| Arc::clone(&gathered.facts[*number])).collect();
        let hits = gathered.hits(&search, &packed)?;
        // Facts that are not hits were used, too: they supersede a message of the text.
        let (hit, known) =
            (hits.iter().map(SearchHit::id), facts.iter().map(|fact| &*fact.memory_id));
        let used: HashSet<&str> = hit.chain(known).collect();
        user.uses.note_uses(used, self.services.clock.now());
        let id = |slot: u32| view.messages.get(slot).message_id.clone();
        Ok(PackedContext {
            messages: messages.map(|slot| Arc::clone(view.messages.get(*slot))).collect(),
            excerpts: packed.excerpts.iter().map(|slot| id(*slot)).collect(),
            facts,
            hits,
            reasons: packed.reasons.iter().map(|(slot, reason)| (id(*slot), *reason)).collect(),
            relevance: if packed.known { answered_at(gathered.others_lead) } else { 0.0 },
            text: packed.text,
            token_count: packed.token_count,
            degraded,
            intent: prepared.intent,
        })
    }
}

/// Candidates for a context, each kind best first.
struct ContextSources {
    messages: Vec<ScoredMessage>,
    /// For each message that contains a context of this memory: the parts outside that context.
    own: FxHashMap<u32, Parts>,
    /// How well the question is answered, before any message was left out.
    answered: AnswerRelevance,
    /// How far the best fact of others exceeds those of the speakers named in the question.
    others_lead: f64,
    /// Facts that answer the question, then facts that supersede one of the messages.
    facts: Vec<Arc<SemanticMemory>>,
    /// The hits of the facts that answer the question.
    asked: Vec<SearchHit>,
    /// Lowest relevance of a fact that enters on its own.
    fact_bears: f64,
    outdated: Outdated,
    episodes: Vec<SearchHit>,
}

impl ContextSources {
    fn new(search: &SearchRun<'_>, budget: usize, degraded: &mut Vec<String>) -> Result<Self> {
        let (view, request) = (search.view, search.request);
        let wants = |kind| request.kinds.contains(&kind);
        let mut hits = search.hits(CONSIDERED.max(budget / TOKENS_PER_FACT).min(MAX_TOP_K));
        hits.asked.depth = budget / TOKENS_PER_MESSAGE;
        let mut messages = if wants(HitKind::Message) { hits.messages()? } else { Vec::new() };
        let answered = hits.asked.answered_by(&messages);
        let others_lead = hits.asked.others_lead();
        hits.keep_relevant(&mut messages, &answered);
        hits.asked.keep_content(&mut messages);
        let own = |hit: &ScoredMessage| Some((hit.slot, own_parts(view, hit.slot)?));
        let own = messages.iter().take(MAX_TOP_K).filter_map(own).collect();
        let mut asked = Vec::new();
        if wants(HitKind::Semantic) {
            let mut found = hits.of(HitKind::Semantic, degraded)?;
            keep_alike(search, &mut found, &messages);
            asked = made(&hits, found)?;
            // A fact stated twice stands in the text once.
            let mut told = HashSet::new();
            asked.retain(|hit| match &hit.record {
                HitRecord::Semantic(fact) if fact.quote.is_none() => {
                    told.insert(normalized(&fact.content))
                }
                _ => true,
            });
        }
        let mut episodes = Vec::new();
        if wants(HitKind::Episodic) {
            let mut found = hits.of(HitKind::Episodic, degraded)?;
            let least = if messages.is_empty() { 0.0 } else { SUMMARY_BEARS };
            found.retain(|found| found.score >= least);
            found.truncate(CONSIDERED);
            episodes = made(&hits, found)?;
        }
        // Without messages that compete for the budget, every fact may enter.
        let best = messages.first().map(|best| hits.relevance(best.score, &answered));
        let best = best.map(|best| asked.first().map_or(best, |hit| hit.score.max(best)));
        let fact_bears = FACT_BEARS * best.unwrap_or_default();
        let facts = asked.iter().filter_map(|hit| match &hit.record {
            HitRecord::Semantic(fact) => Some(Arc::clone(fact)),
            _ => None,
        });
        let mut gathered = Self {
            answered,
            others_lead,
            messages,
            own,
            facts: facts.collect(),
            fact_bears,
            asked,
            outdated: Outdated::default(),
            episodes,
        };
        let filter = wants(HitKind::Semantic).then_some(&request.filter);
        gathered.add_successors(view, filter);
        gathered.drop_summaries(view);
        Ok(gathered)
    }

    /// Adds the stated facts that supersede one of the messages, if `filter` admits them. `None`
    /// means that no facts are wanted: superseded messages are then marked as outdated, and no
    /// facts are added.
    fn add_successors(&mut self, view: &UserView, filter: Option<&RecordFilter>) {
        let superseded = view.superseded_messages();
        if superseded.is_empty() {
            return;
        }
        for message in &self.messages {
            let Some(content) = superseded.get(&message.slot) else { continue };
            let stated: Vec<u32> =
                content.facts.iter().copied().filter(|slot| view.is_stated(*slot)).collect();
            // What was only said later stands below, under its own day.
            if stated.is_empty() && !content.facts.is_empty() {
                continue;
            }
            let mut facts = Vec::new();
            for fact in stated.into_iter().filter_map(|slot| view.facts.get(slot)) {
                if !filter.is_some_and(|filter| filter.admits_fact(fact, &view.messages)) {
                    continue;
                }
                let known = self.facts.iter().position(|known| known.memory_id == fact.memory_id);
                facts.push(known.unwrap_or_else(|| {
                    self.facts.push(Arc::clone(fact));
                    self.facts.len() - 1
                }));
            }
            let ended = ended_at(view, &content.ended);
            let successors = Successors { facts, ended, partly: content.partly };
            self.outdated.insert(message.slot, successors);
        }
    }

    /// Drops the summaries of episodes with a superseded message, or with a message that contains
    /// an earlier context: the summary may repeat either.
    fn drop_summaries(&mut self, view: &UserView) {
        let superseded = view.superseded_messages();
        self.episodes.retain(|hit| {
            let mut slots = hit
                .messages
                .iter()
                .filter_map(|message| view.messages.slot_of(&message.message_id));
            !slots.any(|slot| superseded.contains_key(&slot) || own_parts(view, slot).is_some())
        });
    }

    fn pack(
        &self,
        search: &SearchRun<'_>,
        request: &ContextRequest,
        control: &dyn CallControl,
    ) -> Result<ContextParts> {
        let (view, zone) = (search.view, &request.zone);
        let facts = self.facts.iter().enumerate().map(|(number, fact)| KnownFact {
            text: text_with_change(view, fact, &request.search.filter),
            since: fact.valid_from,
            is_dated: fact.is_dated(),
            is_ahead: fact.begins_after(request.search.now),
            sources: slots(view, fact.source_messages.iter()),
            section: section(fact),
            relevance: self.asked.get(number).map_or(0.0, |hit| hit.score),
            bears: self.asked.get(number).is_some_and(|hit| hit.score >= self.fact_bears),
        });
        let summaries = self.episodes.iter().filter_map(|hit| match &hit.record {
            HitRecord::Episode(episode) => Some(EpisodeSummary {
                text: dated_summary(episode, zone),
                sources: slots(view, hit.messages.iter().map(|message| &message.message_id)),
            }),
            _ => None,
        });
        let (facts, summaries): (Vec<_>, Vec<_>) = (facts.collect(), summaries.collect());
        let (filter, hits) = (&request.search.filter, search.hits(1));
        let admits = |slot| {
            !view.is_message_hidden(slot)
                && filter.admits_message(view.messages.get(slot))
                && own_parts(view, slot).is_none()
        };
        let found = self.messages.iter().map(|message| message.slot);
        let told = self.facts.iter().map(|fact| &*fact.content);
        let words = ContextWords::of_talk(&view.messages, &admits, found, told);
        let material = ContextCandidates {
            index: &view.messages,
            query: &search.prepared.query,
            table: search.engine.services.tokens,
            messages: &self.messages,
            relevance: &|score| hits.relevance(score, &self.answered),
            own: &self.own,
            facts: &facts,
            asked: self.asked.len(),
            admits: &admits,
            later: &|slot| later_words(view, zone, words, slot, &admits),
            foreign: &|slot| foreign_parts(view.messages.get(slot)),
            outdated: &self.outdated,
            summaries: &summaries,
            words,
            form: request.form,
            zone,
        };
        pack(&material, request.max_tokens, control)
    }

    /// The hits in the text, best first. A fact that is in the text only because it supersedes a
    /// message is not a hit.
    fn hits(&self, search: &SearchRun<'_>, packed: &ContextParts) -> Result<Vec<SearchHit>> {
        let inside: HashSet<u32> = packed.messages.iter().copied().collect();
        let used: Vec<ScoredMessage> = self
            .messages
            .iter()
            .filter(|message| inside.contains(&message.slot))
            .copied()
            .collect();
        let messages = search.hits(used.len()).of_messages(&used, &self.answered)?;
        let mut shown = packed.facts.clone();
        shown.sort_unstable();
        let facts = shown.iter().filter_map(|number| self.asked.get(*number).cloned());
        let episodes = packed.summaries.iter().map(|number| self.episodes[*number].clone());
        let lists = vec![messages, facts.collect(), episodes.collect()];
        let key = |hit: &SearchHit| Some((hit.time(), hit.id().to_owned()));
        Ok(numbered(merge(lists, usize::MAX, |hit| hit.score, key)))
    }
}

fn made(hits: &HitBuilder<'_>, found: Vec<RankedSlot>) -> Result<Vec<SearchHit>> {
    found.into_iter().filter_map(|found| hits.made(found).transpose()).collect()
}

/// Drops facts that are hardly more like the question than an average message is, if messages
/// compete with them.
fn keep_alike(search: &SearchRun<'_>, facts: &mut Vec<RankedSlot>, messages: &[ScoredMessage]) {
    let Some(question) = &search.prepared.vector else { return };
    let Some(vectors) = search.view.messages.field.vector_index() else { return };
    if messages.is_empty() || vectors.dimension() != question.len() {
        return;
    }
    let average = vectors.mean_vector().dot(question);
    let average = if messages.len() < ENOUGH { average.min(0.0) } else { average };
    let said = messages.iter().filter_map(|message| message.cosine);
    let most = said.chain(facts.iter().filter_map(RankedSlot::cosine)).fold(average, f32::max);
    let alike = average + FACT_LIKE * (most - average);
    facts.retain(|fact| fact.cosine().is_none_or(|cosine| cosine >= alike));
}

/// Messages up to this number of bytes are read for others' words: a longer one would keep a caller
/// waiting who has cancelled.
const MOST_READ: usize = 1 << 14;

/// The parts of a person's message that are another's words; none of a very long one.
fn foreign_parts(message: &Message) -> Vec<Range<usize>> {
    let voice = base_voice(message);
    if voice != SaidBy::User || message.content.len() > MOST_READ {
        return Vec::new();
    }
    let parts = spans(&message.content, message.speaker(), voice).into_iter();
    parts.filter(|part| part.said_by != voice).map(|part| part.range).collect()
}

/// True if a summary quotes its episode's title.
fn quotes_title(summary: &str, title: &str) -> bool {
    let plain = |text: &str| text.replace(['"', '“', '”', '„', '«', '»', '「', '」'], "");
    plain(summary).contains(plain(title).trim_end_matches(['.', '…', ' ']))
}

/// A fact in one line with what held before it: "Ramipril: 10 mg since 3 June 2025, before 5 mg".
/// Of several facts that it ended, that is the latest with the same attribute, or the only one.
fn text_with_change(view: &UserView, fact: &SemanticMemory, filter: &RecordFilter) -> String {
    let ended = fact.ends.iter().filter_map(|ending| view.facts.by_id(&ending.memory_id));
    let held = |before: &&Arc<SemanticMemory>| {
        before.superseded_by.as_deref() == Some(&*fact.memory_id)
            && before.valid_to > Some(before.valid_from)
            && filter.admits_fact(before, &view.messages)
    };
    let ended: Vec<&Arc<SemanticMemory>> = ended.filter(held).collect();
    let is_same = |before: &&&Arc<SemanticMemory>| {
        ended.len() == 1 || !fact.attribute.is_empty() && before.attribute == fact.attribute
    };
    let latest = ended.iter().filter(is_same).max_by_key(|before| before.valid_from);
    let Some(before) = latest else { return fact.content.clone() };
    let text = fact.content.trim_end_matches(['.', '。']);
    let words = ContextWords::of(language(text));
    let is_value = !before.value.is_empty() && before.attribute == fact.attribute;
    if is_value {
        format!("{text}{}{}", words.before_value, before.value)
    } else {
        format!("{text}{}{}", words.before_fact, before.content.trim_end_matches(['.', '。']))
    }
}

/// When the last of some facts ended that ever held.
fn ended_at(view: &UserView, slots: &[u32]) -> Option<Moment> {
    let facts = slots.iter().filter_map(|slot| view.facts.get(*slot));
    facts.filter_map(|fact| fact.valid_to.filter(|end| *end > fact.valid_from)).max()
}

/// The heading under which a fact stands.
fn section(fact: &SemanticMemory) -> FactSection {
    match fact.procedure().map(|procedure| procedure.worked) {
        Some(Some(true)) => FactSection::Worked,
        Some(Some(false)) => FactSection::Failed,
        Some(None) => FactSection::Tried,
        None if fact.is_stated_about_agent() => FactSection::Agent,
        None => FactSection::Facts,
    }
}

fn slots<'a>(view: &UserView, ids: impl Iterator<Item = &'a String>) -> Vec<u32> {
    ids.filter_map(|id| view.messages.slot_of(id)).collect()
}

/// The day and the summary of an episode, with its title unless the summary quotes it.
fn dated_summary(episode: &Episode, zone: &DisplayZone) -> String {
    let day = zone.local_moment(episode.timestamp).local().date();
    let quotes = quotes_title(&episode.summary, &episode.title);
    let text = if quotes { episode.summary.clone() } else { episode.abstract_text() };
    format!("{day}: {text}")
}

#[cfg(test)]
mod tests {
    use super::quotes_title;

    #[test]
    fn a_quoted_title_is_recognised_without_its_marks() {
        let summary = "Ann: \"The heron is back.\" Ben: \"At last.\"";
        for title in ["Ann: The heron is back", "The heron is back.", "Ann: “The heron…"] {
            assert!(quotes_title(summary, title), "{title}");
        }
        assert!(!quotes_title(summary, "The kiln broke"));
    }
}
