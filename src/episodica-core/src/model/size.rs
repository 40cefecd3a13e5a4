//! Memory of records and tables.
//!
//! Counts the allocator's blocks rather than the lengths of texts, because most texts are short:
//! five letters take a block of 32 bytes.

use std::sync::Arc;

use serde_json::Value;

use super::{
    BoundaryJudgement, Episode, FactEnding, FactLink, FactQuote, Message, SemanticMemory,
    TextProvenance,
};

/// In glibc's allocator: the header of a block, the step of block sizes, and the smallest block.
const HEAD: usize = 8;
const STEP: usize = 16;
const LEAST: usize = 32;

/// Size of the block for an allocation of `bytes`.
pub(crate) const fn block_size(bytes: usize) -> usize {
    if bytes == 0 {
        return 0;
    }
    let taken = (bytes + HEAD).next_multiple_of(STEP);
    if taken < LEAST { LEAST } else { taken }
}

/// Memory of a hashbrown map with room for `capacity` entries of `entry` bytes.
pub(crate) const fn map_bytes(capacity: usize, entry: usize) -> usize {
    if capacity == 0 {
        return 0;
    }
    // One bucket in eight stays empty, and each bucket has a control byte.
    let buckets = (capacity * 8 / 7).next_power_of_two();
    block_size(buckets * (entry + 1))
}

/// Approximate memory of a map of `len` lists with room for `capacity` of them. Most lists are
/// short.
pub(crate) const fn map_of_lists_bytes<K, T>(capacity: usize, len: usize) -> usize {
    map_bytes(capacity, size_of::<(K, Vec<T>)>()) + len * block_size(4 * size_of::<T>())
}

/// Memory of a record in an `Arc`, with the blocks that only it refers to.
pub trait InMemory: Sized {
    /// Memory of the blocks that only the record refers to.
    fn owned_bytes(&self) -> usize;

    /// Memory of the record, its reference counts and its blocks.
    fn heap_bytes(&self) -> usize {
        block_size(size_of::<Self>() + 2 * size_of::<usize>()) + self.owned_bytes()
    }
}

fn text_size(text: &String) -> usize {
    block_size(text.capacity())
}

fn texts_size(texts: &Vec<String>) -> usize {
    block_size(texts.capacity() * size_of::<String>()) + texts.iter().map(text_size).sum::<usize>()
}

fn shared_size(text: &Arc<str>) -> usize {
    block_size(text.len() + 2 * size_of::<usize>())
}

fn value_size(json: &Value) -> usize {
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(one) => text_size(one),
        Value::Array(values) => {
            block_size(values.capacity() * size_of::<Value>())
                + values.iter().map(value_size).sum::<usize>()
        }
        Value::Object(members) => object_size(members),
    }
}

fn object_size(members: &serde_json::Map<String, Value>) -> usize {
    // `serde_json` keeps the members in their order, and a hash table of their places.
    let entry = size_of::<u64>() + size_of::<String>() + size_of::<Value>();
    let own = |(key, json): (&String, &Value)| text_size(key) + value_size(json);
    block_size(members.len() * entry)
        + map_bytes(members.len(), size_of::<usize>())
        + members.iter().map(own).sum::<usize>()
}

// Each function names every field of its record, so that a new one is counted, or left out on
// purpose: a number has no block of its own.

fn provenance_size(provenance: &TextProvenance) -> usize {
    let TextProvenance {
        method,
        prompt_version,
        fallback,
        tokens: _,
        cached: _,
        salvaged: _,
        pending_llm: _,
    } = provenance;
    [method, prompt_version, fallback].into_iter().map(text_size).sum()
}

impl InMemory for Message {
    fn owned_bytes(&self) -> usize {
        let Self {
            message_id,
            seq: _,
            role,
            name,
            content,
            timestamp: _,
            session_id,
            agent_id,
            metadata,
            edited_at: _,
        } = self;
        let names = [Some(role), name.as_ref(), session_id.as_ref(), agent_id.as_ref()];
        text_size(message_id)
            + text_size(content)
            + names.into_iter().flatten().map(shared_size).sum::<usize>()
            + metadata.as_ref().map_or(0, |metadata| block_size(metadata.get().len()))
    }
}

impl InMemory for Episode {
    fn owned_bytes(&self) -> usize {
        let Self {
            episode_id,
            user_id,
            title,
            content,
            original_messages,
            message_count: _,
            boundary_reason,
            timestamp: _,
            created_at: _,
            metadata,
            tags,
            summary,
            ended_at: _,
            session_id,
            topics,
            entities,
            boundary,
            provenance: made,
            shown,
            archived_at: _,
            revision: _,
        } = self;
        let BoundaryJudgement {
            topic_summary,
            should_end: _,
            reason: _,
            confidence: _,
            detection_method: _,
        } = boundary;
        let own = [episode_id, user_id, title, content, boundary_reason, summary, topic_summary];
        own.into_iter().map(text_size).sum::<usize>()
            + block_size(original_messages.capacity() * size_of::<Arc<Message>>())
            + [tags, topics, entities, shown].into_iter().map(texts_size).sum::<usize>()
            + object_size(metadata)
            + provenance_size(made)
            + session_id.as_ref().map_or(0, shared_size)
    }
}

impl InMemory for SemanticMemory {
    fn owned_bytes(&self) -> usize {
        let Self {
            memory_id,
            user_id,
            content,
            quote,
            kind: _,
            source_episodes,
            created_at: _,
            confidence: _,
            importance: _,
            metadata,
            source_messages,
            subject,
            attribute,
            value,
            when,
            valid_from: _,
            valid_to: _,
            superseded_by,
            ends,
            ended_by,
            links,
            closed_at: _,
            shown,
            expires_at: _,
            archived_at: _,
            updated_at: _,
            revision_count: _,
            provenance: made,
        } = self;
        let own = [memory_id, user_id, content, subject, attribute, value, when];
        own.into_iter().chain(superseded_by).map(text_size).sum::<usize>()
            + quote.as_deref().map_or(0, quote_bytes)
            + block_size(ends.capacity() * size_of::<FactEnding>())
            + ends.iter().map(|ending| text_size(&ending.memory_id)).sum::<usize>()
            + block_size(links.capacity() * size_of::<FactLink>())
            + links.iter().map(|link| text_size(&link.old)).sum::<usize>()
            + [source_episodes, source_messages, ended_by, shown]
                .into_iter()
                .map(texts_size)
                .sum::<usize>()
            + object_size(metadata)
            + provenance_size(made)
    }
}

fn quote_bytes(quote: &FactQuote) -> usize {
    let FactQuote { text: words, span: _, speaker, said_at: _, said_by: _, asked } = quote;
    block_size(size_of::<FactQuote>())
        + [words, speaker].into_iter().chain(asked).map(text_size).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_allocator() {
        let taken = [0, 1, 24, 25, 40, 41, 1_000].map(block_size);
        assert_eq!(taken, [0, 32, 32, 48, 48, 64, 1_008]);
        assert_eq!((map_bytes(0, 12), map_bytes(7, 12)), (0, 112));
    }
}
