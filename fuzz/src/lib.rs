//! What is fuzzed. `cargo +nightly fuzz run log_reader` searches for hours; `tests/rust/mutations`
//! runs the same functions over the same corpora with a stable compiler.

pub mod targets;
