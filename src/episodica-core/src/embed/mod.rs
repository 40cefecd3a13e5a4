//! Text to vectors. Implementations normalise their rows; their callers do not.
//!
//! [`StaticEmbedder`] is the one inside the package: a table of token vectors ([`StaticTable`]),
//! microseconds a message. [`TransformerEmbedder`] computes a sentence encoder of the BERT family
//! from a folder: milliseconds a message. [`EndpointEmbedder`] asks a server. Python callables
//! implement [`Embedder`] elsewhere.

mod endpoint;
mod features;
mod static_table;
mod transformer;
mod wordpiece;

use ndarray::Array2;

use crate::control::CallControl;
use crate::error::Result;
use crate::model::ServiceHealth;

pub use endpoint::{EmbeddingSettings, EndpointEmbedder};
pub(crate) use static_table::is_earlier_table;
pub use static_table::{
    STATIC_DIMENSION, STATIC_MAX_TOKENS, STATIC_MODEL, StaticEmbedder, StaticTable, TokenVector,
};
pub use transformer::TransformerEmbedder;

/// A refused text is not cut below this many bytes: then its length is not the reason.
pub(crate) const SHORTEST_CUT: usize = 512;

/// The first two fifths of a text that was too long, so that one of just twice the length that a
/// model takes needs one cut, not two.
pub(crate) fn shortened(text: &str) -> &str {
    let wanted = text.len() * 2 / 5;
    let end = (0..=wanted).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

/// Turns texts into vectors of one fixed dimension.
pub trait Embedder: Send + Sync {
    /// Names model and version; stamped into manifests, so that vectors of two models never meet.
    fn model(&self) -> &str;

    /// Length of a vector; `None` until a remote model or a callable has answered once.
    fn dimension(&self) -> Option<usize>;

    /// `true` if embedding is computation in this process: then it runs at once, otherwise behind
    /// the caller's back.
    fn is_local(&self) -> bool;

    /// One row a text, in order, each of length 1 (or all zeros for a text without any content),
    /// shape `(texts.len(), dimension)`.
    ///
    /// # Errors
    /// [`ErrorKind::Embedding`](crate::ErrorKind::Embedding) when the model fails or answers with
    /// another shape.
    fn embed(&self, texts: &[&str]) -> Result<Array2<f32>>;

    /// [`Embedder::embed`] that gives up soon after `control` says so, and at its deadline, if this
    /// embedder asks a server.
    ///
    /// # Errors
    /// As [`Embedder::embed`]; what `control` says.
    fn embed_controlled(&self, texts: &[&str], _control: &dyn CallControl) -> Result<Array2<f32>> {
        self.embed(texts)
    }

    /// The vectors of texts with these tokens of the table in the package
    /// ([`StaticTable::token_ids`]), if this embedder's are made of them: then a vector takes
    /// microseconds, and a text need not be read twice.
    fn embed_tokens(&self, _tokens: &[&[u16]]) -> Option<Array2<f32>> {
        None
    }

    /// How the server or callable behind it does; `None` where vectors are computed here.
    fn health(&self) -> Option<ServiceHealth> {
        None
    }
}
