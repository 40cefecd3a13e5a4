//! Memory of records and tables.
//!
//! Counts the allocator's blocks rather than the lengths of texts, because most texts are short:
//! five letters take a block of 32 bytes.

use std::sync::Arc;

use serde_json::Value;

use super::{Episode, FactEnding, FactLink, FactQuote, Message, SemanticMemory, TextProvenance};

/// In glibc's allocator: the header of a block, the step of block sizes, and the smallest block.
const HEAD: usize = 8;
const STEP: usize = 16;
const LEAST: usize = 32;

/// Size of the block for an allocation of `bytes`.
pub(crate) const fn block(bytes: usize) -> usize {
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
    block(buckets * (entry + 1))
}

/// Approximate memory of a map of `len` lists with room for `capacity` of them. Most lists are
/// short.
pub(crate) const fn map_of_lists_bytes<K, T>(capacity: usize, len: usize) -> usize {
    map_bytes(capacity, size_of::<(K, Vec<T>)>()) + len * block(4 * size_of::<T>())
}

/// Memory of a record in an `Arc`, with the blocks that only it refers to.
pub trait InMemory: Sized {
    /// Memory of the blocks that only the record refers to.
    fn owned_bytes(&self) -> usize;

    /// Memory of the record, its reference counts and its blocks.
    fn heap_bytes(&self) -> usize {
        block(size_of::<Self>() + 2 * size_of::<usize>()) + self.owned_bytes()
    }
}

fn text(text: &String) -> usize {
    block(text.capacity())
}

fn texts(texts: &Vec<String>) -> usize {
    block(texts.capacity() * size_of::<String>()) + texts.iter().map(text).sum::<usize>()
}

fn shared(text: &Arc<str>) -> usize {
    block(text.len() + 2 * size_of::<usize>())
}

fn value(json: &Value) -> usize {
    match json {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(one) => text(one),
        Value::Array(values) => {
            block(values.capacity() * size_of::<Value>()) + values.iter().map(value).sum::<usize>()
        }
        Value::Object(members) => object(members),
    }
}

fn object(members: &serde_json::Map<String, Value>) -> usize {
    // `serde_json` keeps the members in their order, and a hash table of their places.
    let entry = size_of::<u64>() + size_of::<String>() + size_of::<Value>();
    let own = |(key, json): (&String, &Value)| text(key) + value(json);
    block(members.len() * entry)
        + map_bytes(members.len(), size_of::<usize>())
        + members.iter().map(own).sum::<usize>()
}

fn provenance(provenance: &TextProvenance) -> usize {
    text(&provenance.method) + text(&provenance.prompt_version) + text(&provenance.fallback)
}

impl InMemory for Message {
    fn owned_bytes(&self) -> usize {
        let names = [Some(&self.role), self.name.as_ref(), self.session_id.as_ref()];
        let names = names.into_iter().flatten().chain(&self.agent_id);
        text(&self.message_id)
            + text(&self.content)
            + names.map(shared).sum::<usize>()
            + self.metadata.as_ref().map_or(0, |metadata| block(metadata.get().len()))
    }
}

impl InMemory for Episode {
    fn owned_bytes(&self) -> usize {
        let own = [
            &self.episode_id,
            &self.user_id,
            &self.title,
            &self.content,
            &self.boundary_reason,
            &self.summary,
            &self.boundary.topic_summary,
        ];
        own.into_iter().map(text).sum::<usize>()
            + block(self.original_messages.capacity() * size_of::<Arc<Message>>())
            + [&self.tags, &self.topics, &self.entities, &self.shown]
                .into_iter()
                .map(texts)
                .sum::<usize>()
            + object(&self.metadata)
            + provenance(&self.provenance)
            + self.session_id.as_ref().map_or(0, shared)
    }
}

impl InMemory for SemanticMemory {
    fn owned_bytes(&self) -> usize {
        let own = [
            &self.memory_id,
            &self.user_id,
            &self.content,
            &self.subject,
            &self.attribute,
            &self.value,
            &self.when,
        ];
        let quote = |quote: &FactQuote| {
            block(size_of::<FactQuote>())
                + [&quote.text, &quote.speaker].into_iter().map(text).sum::<usize>()
                + quote.asked.as_ref().map_or(0, text)
        };
        own.into_iter().chain(&self.superseded_by).map(text).sum::<usize>()
            + self.quote.as_deref().map_or(0, quote)
            + block(self.ends.capacity() * size_of::<FactEnding>())
            + self.ends.iter().map(|ending| text(&ending.memory_id)).sum::<usize>()
            + block(self.links.capacity() * size_of::<FactLink>())
            + self.links.iter().map(|link| text(&link.old)).sum::<usize>()
            + [&self.source_episodes, &self.source_messages, &self.ended_by, &self.shown]
                .into_iter()
                .map(texts)
                .sum::<usize>()
            + object(&self.metadata)
            + provenance(&self.provenance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_those_of_the_allocator() {
        let taken = [0, 1, 24, 25, 40, 41, 1_000].map(block);
        assert_eq!(taken, [0, 32, 32, 48, 48, 64, 1_008]);
        assert_eq!((map_bytes(0, 12), map_bytes(7, 12)), (0, 112));
    }
}
