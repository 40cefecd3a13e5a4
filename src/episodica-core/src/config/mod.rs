//! All settings of the engine, with their defaults, bounds and documentation. The caller reads the
//! values from keywords, the environment or TOML.

mod choices;
mod memory;
mod setting;

pub use choices::{BoundaryMode, LearnFrom, RetrievalPreset, SecretPolicy};
pub use memory::{MESSAGE_WEIGHTS, MemoryConfig, STATIC_WEIGHTS};
pub use setting::{NumberBounds, SettingKind, SettingRow};
