//! Every setting of the engine, with its default, its bounds and its meaning. Where values come
//! from (keyword, environment, TOML) is the caller's business.

mod choices;
mod memory;
mod setting;

pub use choices::{BoundaryMode, LearnFrom, RetrievalPreset};
pub use memory::{MESSAGE_WEIGHTS, MemoryConfig, SENTENCE_WEIGHTS};
pub use setting::{NumberBounds, SettingKind, SettingRow};
