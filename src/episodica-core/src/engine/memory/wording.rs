//! Reads the text of a fact once, for the indexes and for comparing it with other facts. Reading
//! needs no index, so the texts of many facts are read in parallel before the facts are added one
//! by one.

use crate::generate::reconcile::WordSignature;
use crate::index::TextTerms;
use crate::score::TokenTable;
use crate::text::normalized;

#[derive(Debug, Clone)]
pub(crate) struct FactWording {
    pub terms: TextTerms,
    pub tokens: Vec<u16>,
    pub normalized: String,
    pub signature: WordSignature,
}

impl FactWording {
    pub fn of(content: &str, tokens: &dyn TokenTable) -> Self {
        Self {
            terms: TextTerms::of(content),
            tokens: tokens.ids(content),
            normalized: normalized(content),
            signature: WordSignature::of(content),
        }
    }
}
