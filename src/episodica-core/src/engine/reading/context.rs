//! The prompt-ready text that answers a question within a budget of tokens.

use std::collections::HashSet;
use std::sync::Arc;

use crate::control::Control;
use crate::engine::lifecycle::Engine;
use crate::engine::reading::search::Search;
use crate::error::{Error, Result};
use crate::model::Message;
use crate::score::{Hit, HitKind, Intent, Query, Record, Request, Statement, pack};

/// Statements considered for what is left of the budget.
const STATEMENTS: usize = 20;

/// What a context is asked for.
#[derive(Debug, Clone)]
pub struct ContextRequest {
    /// The question, filters and kinds; `top_k` bounds the hits that are reported, not the packing.
    pub search: Request,
    /// Most tokens of the text (o200k_base).
    pub max_tokens: usize,
}

/// A packed context.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// Ready to paste into a prompt.
    pub text: String,
    /// Tokens of the text, at most what was asked for.
    pub token_count: usize,
    /// Every message whose content stands verbatim in the text, in its order.
    pub messages: Vec<Arc<Message>>,
    /// The hits that went into the text, best first within each kind.
    pub hits: Vec<Hit>,
    /// Legs that could not take part.
    pub degraded: Vec<String>,
    /// What the question was taken to ask for.
    pub intent: Intent,
}

/// Tokens of a short message: as many messages as fit are ranked, where not all are.
const TOKENS_PER_MESSAGE: usize = 24;

impl Engine {
    /// Packs the most evidence for a question into `max_tokens`: whole messages under the day they
    /// were said on, and semantic memories or summaries where a message does not fit.
    ///
    /// # Errors
    /// As [`Engine::search`]; `InvalidInput` for a budget of 0.
    pub fn context(
        &self,
        user_id: &str,
        request: &ContextRequest,
        control: &dyn Control,
    ) -> Result<Context> {
        self.check_request(&request.search)?;
        if request.max_tokens == 0 {
            return Err(Error::invalid("max_tokens must be at least 1: `0`"));
        }
        let Some(user) = self.known_user(user_id, control)? else { return Ok(Context::default()) };
        let wide =
            Request { top_k: crate::engine::reading::search::MAX_TOP_K, ..request.search.clone() };
        let mut prepared = self.prepare(
            &Query::new(&wide.query, &user.view.read().messages, self.services.tokens).at(wide.now),
            &wide,
        );
        let view = user.view.read();
        self.note_degradation(&view, &wide, &mut prepared);
        let mut search = Search::new(self, &view, &wide, &prepared, wide.top_k);
        search.asked.depth = request.max_tokens / TOKENS_PER_MESSAGE;
        let mut degraded = prepared.degraded.clone();
        let wants = |kind| wide.kinds.contains(&kind);
        let ranked = if wants(HitKind::Message) { search.messages()? } else { Vec::new() };

        search.asked.wanted = STATEMENTS;
        let mut sources: Vec<Hit> = Vec::new();
        for kind in [HitKind::Semantic, HitKind::Episodic] {
            if wants(kind) {
                sources.extend(search.hits(kind, &mut degraded)?);
            }
        }
        let statements: Vec<Statement> = sources
            .iter()
            .map(|hit| match &hit.record {
                Record::Semantic(fact) => Statement {
                    text: fact.content.clone(),
                    sources: fact
                        .source_messages
                        .iter()
                        .filter_map(|id| view.messages.slot(id))
                        .collect(),
                },
                Record::Episode(episode) => Statement {
                    text: format!(
                        "{}: {}",
                        episode.timestamp.local().date(),
                        episode.abstract_text()
                    ),
                    sources: episode
                        .original_messages
                        .iter()
                        .filter_map(|message| view.messages.slot(&message.message_id))
                        .collect(),
                },
                Record::Message(message) => {
                    Statement { text: message.content.clone(), sources: Vec::new() }
                }
            })
            .collect();
        let packed = pack(&view.messages, &ranked, &statements, request.max_tokens);
        let inside: HashSet<u32> = packed.messages.iter().copied().collect();
        let used = ranked.into_iter().filter(|message| inside.contains(&message.slot)).collect();
        let mut hits = search.message_hits(used);
        hits.extend(packed.statements.iter().map(|number| sources[*number].clone()));
        user.recalled.lock().note(&packed.text);
        let messages =
            packed.messages.iter().map(|slot| Arc::clone(view.messages.get(*slot))).collect();
        Ok(Context {
            text: packed.text,
            token_count: packed.token_count,
            messages,
            hits,
            degraded,
            intent: prepared.intent,
        })
    }
}
