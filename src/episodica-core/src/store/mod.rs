//! Records on disk: append-only JSONL logs that survive crashes. The store never sees an index.
