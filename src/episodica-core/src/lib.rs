//! The engine of episodica: turns messages into episodes and facts, and finds them again.
//!
//! Data flows one way through the modules, and each depends only on those before it:
//! `error, fork, sync, control, ids, clock, config, matrix, pack, parallel -> {remote, model} ->
//! text -> {store, index, llm -> embed} -> score -> {boundary, generate} -> engine`.
//! ARCHITECTURE.md at the top of the repository is the map.

#![forbid(unsafe_code)]

pub(crate) mod boundary;
pub mod clock;
pub mod config;
pub mod control;
pub mod embed;
pub mod engine;
pub(crate) mod error;
pub mod fork;
pub(crate) mod generate;
pub mod ids;
pub mod index;
pub mod llm;
pub(crate) mod matrix;
pub mod model;
pub(crate) mod pack;
pub(crate) mod parallel;
pub mod remote;
pub mod score;
pub mod store;
pub mod sync;
pub mod text;

pub use error::{Error, ErrorKind, Result};
