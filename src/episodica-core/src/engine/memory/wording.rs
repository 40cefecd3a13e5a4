//! Reads the text of a fact once, for the indexes. Reading needs no index, so the texts of many
//! facts are read in parallel before the facts are added one by one.

use crate::index::TextTerms;
use crate::score::TokenTable;
use crate::text::normalized;

#[derive(Debug, Clone)]
pub(crate) struct FactWording {
    pub terms: TextTerms,
    pub tokens: Vec<u16>,
    pub normalized: String,
}

impl FactWording {
    pub fn of(content: &str, tokens: &dyn TokenTable) -> Self {
        Self {
            terms: TextTerms::of(content),
            tokens: tokens.ids(content),
            normalized: normalized(content),
        }
    }
}
