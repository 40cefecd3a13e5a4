//! What is read of a fact's text alone, once: for the indexes, and to compare it with other facts.
//! Reading needs no index, so many facts are read at once before one after the other enters it.

use crate::generate::reconcile::WordSignature;
use crate::index::TextTerms;
use crate::score::TokenTable;
use crate::text::normalized;

/// The words of a fact.
#[derive(Debug, Clone)]
pub(crate) struct FactWording {
    pub terms: TextTerms,
    pub tokens: Vec<u16>,
    pub normalized: String,
    pub signature: WordSignature,
}

impl FactWording {
    /// Reads the text of a fact.
    pub fn of(content: &str, tokens: &dyn TokenTable) -> Self {
        Self {
            terms: TextTerms::of(content),
            tokens: tokens.ids(content),
            normalized: normalized(content),
            signature: WordSignature::of(content),
        }
    }
}
