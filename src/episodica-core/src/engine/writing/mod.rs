//! Changes a memory: adds and edits messages, forms episodes, learns facts, deletes records.

pub(crate) mod archive;
pub(crate) mod close;
pub(crate) mod commit;
pub(crate) mod commit_episodes;
pub(crate) mod compact;
pub(crate) mod compose;
pub(crate) mod cut;
pub(crate) mod draft;
pub(crate) mod edit;
pub(crate) mod erase;
pub(crate) mod extract;
pub(crate) mod extracted_facts;
pub(crate) mod fact_deletion;
pub(crate) mod form;
pub(crate) mod group_commit;
pub(crate) mod import;
pub(crate) mod ingest;
pub(crate) mod keep;
mod known_facts;
pub(crate) mod learn;
mod links;
pub(crate) mod merge;
pub(crate) mod recall;
mod refold;
pub(crate) mod remember;
pub(crate) mod secrets;
pub(crate) mod write_progress;
