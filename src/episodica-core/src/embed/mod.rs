//! Embeds texts as vectors. Implementations normalise their rows, so callers need not.
//!
//! The package contains two embedders: [`CompactEmbedder`], the default, a sentence encoder of one
//! light layer for ten languages, and [`StaticEmbedder`], a table of English token vectors
//! ([`StaticTable`]) that takes microseconds per message. [`TransformerEmbedder`] runs a sentence
//! encoder of the BERT family from a folder and takes milliseconds per message.
//! [`EndpointEmbedder`] calls a server. Python callables implement [`Embedder`] in the extension.

mod compact;
mod endpoint;
mod exponential;
mod features;
mod static_table;
mod transformer;
mod wordpiece;

use ndarray::Array2;

use crate::control::CallControl;
use crate::error::Result;
use crate::model::ServiceHealth;

pub(crate) use compact::piece_ids;
pub use compact::{COMPACT_MODEL, CompactEmbedder};
pub use endpoint::{EmbeddingSettings, EndpointEmbedder};
pub use static_table::{
    STATIC_DIMENSION, STATIC_MAX_TOKENS, STATIC_MODEL, StaticEmbedder, StaticTable, TokenVector,
};
pub use transformer::TransformerEmbedder;

/// The models that the package has used by default, oldest first.
const DEFAULT_MODELS: [&str; 3] = ["episodica-static-minilm-256-v1", STATIC_MODEL, COMPACT_MODEL];

/// True if `stored` was the default model before `present` was. Such vectors are recomputed without
/// asking: to choose no model is to follow the package.
pub(crate) fn is_earlier_default(stored: &str, present: &str) -> bool {
    let place = |model: &str| DEFAULT_MODELS.iter().position(|default| *default == model);
    place(stored).zip(place(present)).is_some_and(|(stored, present)| stored < present)
}

/// A rejected text of at most this many bytes is not cut: its length is not the reason.
pub(crate) const SHORTEST_CUT: usize = 512;

/// Returns the first two fifths of a text that was too long. A text of exactly twice the maximum
/// length then needs one cut instead of two.
pub(crate) fn shortened_text(text: &str) -> &str {
    let wanted = text.len() * 2 / 5;
    let end = (0..=wanted).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Turns texts into vectors of one fixed dimension.
pub trait Embedder: Send + Sync {
    /// Model name and version. Stored in manifests, so that vectors of different models are never
    /// mixed.
    fn model_name(&self) -> &str;

    /// Dimension of a vector; `None` until a remote model or a callable has answered once.
    fn dimension(&self) -> Option<usize>;

    /// True if this process computes the embedding. The embedding then runs in the call, otherwise
    /// in the background.
    fn is_local(&self) -> bool;

    /// True if the package's own code computes the vectors, and any thread may do so.
    fn is_own(&self) -> bool {
        false
    }

    /// Returns one row per text, in order: shape `(texts.len(), dimension)`. Rows have length 1, or
    /// are all zeros for a text without content.
    ///
    /// # Errors
    /// [`ErrorKind::Embedding`](crate::ErrorKind::Embedding) if the model fails or returns another
    /// shape.
    fn embed_texts(&self, texts: &[&str]) -> Result<Array2<f32>>;

    /// [`Embedder::embed_texts`] that can be cancelled. Embedders that call a server stop soon
    /// after `control` asks for it, and at its deadline.
    ///
    /// # Errors
    /// As [`Embedder::embed_texts`], and the error of `control`.
    fn embed_controlled(&self, texts: &[&str], _control: &dyn CallControl) -> Result<Array2<f32>> {
        self.embed_texts(texts)
    }

    /// Embeds texts given as tokens of the package's table ([`StaticTable::token_ids`]); `None` if
    /// this embedder does not use the table. A vector then takes microseconds, and a text need not
    /// be tokenised twice.
    fn embed_tokens(&self, _tokens: &[&[u16]]) -> Option<Array2<f32>> {
        None
    }

    /// Health of the server or callable; `None` if vectors are computed in this process.
    fn service_health(&self) -> Option<ServiceHealth> {
        None
    }
}
