//! Changes a memory: adds messages, forms episodes, learns facts, deletes records.

pub(crate) mod archive;
pub(crate) mod commit;
pub(crate) mod commit_episodes;
pub(crate) mod compact;
pub(crate) mod compose;
pub(crate) mod conflicts;
pub(crate) mod cut;
pub(crate) mod draft;
pub(crate) mod erase;
pub(crate) mod extract;
pub(crate) mod extracted_facts;
pub(crate) mod fact_endings;
pub(crate) mod form;
pub(crate) mod group_commit;
pub(crate) mod import;
pub(crate) mod ingest;
mod known_facts;
pub(crate) mod learn;
pub(crate) mod lost_texts;
pub(crate) mod merge;
pub(crate) mod recall;
pub(crate) mod relearn;
pub(crate) mod remember;
pub(crate) mod similar_facts;
pub(crate) mod write_progress;
