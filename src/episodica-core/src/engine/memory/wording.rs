//! What is read of a fact's text alone, once: for the indexes, and to compare it with other facts.
//! Reading needs no index, so many facts are read at once before one after the other enters it.

use crate::generate::reconcile::Signature;
use crate::index::Terms;
use crate::score::TokenTable;
use crate::text::normalized;

/// The words of a fact.
#[derive(Debug, Clone)]
pub(crate) struct Wording {
    pub terms: Terms,
    pub tokens: Vec<u16>,
    pub normalized: String,
    pub signature: Signature,
}

impl Wording {
    /// Reads the text of a fact.
    pub fn of(content: &str, tokens: &dyn TokenTable) -> Self {
        Self {
            terms: Terms::of(content),
            tokens: tokens.ids(content),
            normalized: normalized(content),
            signature: Signature::of(content),
        }
    }
}
