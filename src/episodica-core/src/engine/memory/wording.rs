//! Reads the text of a fact once, for the indexes. Reading needs no index, so the texts of many
//! facts are read in parallel before the facts are added one by one.

use std::borrow::Cow;

use crate::index::TextTerms;
use crate::model::SemanticMemory;
use crate::score::TokenTable;
use crate::text::normalized;

#[derive(Debug, Clone)]
pub(crate) struct FactWording {
    pub terms: TextTerms,
    pub tokens: Vec<u16>,
    pub normalized: String,
}

impl FactWording {
    /// The words of a fact's text and, if it is stated, of its subject and attribute.
    pub fn from_fact(fact: &SemanticMemory, tokens: &dyn TokenTable) -> Self {
        let content = &*fact.content;
        let mut text = Cow::Borrowed(content);
        if fact.quote.is_none() {
            let about = [fact.subject.clone(), fact.attribute.replace('_', " ")];
            let is_new = |part: &String| {
                !part.is_empty() && *part != fact.user_id && !content.contains(part.as_str())
            };
            for part in about.into_iter().filter(is_new) {
                text.to_mut().push(' ');
                text.to_mut().push_str(&part);
            }
        }
        Self {
            terms: TextTerms::from_text(&text),
            tokens: tokens.ids(&text),
            normalized: normalized(content),
        }
    }
}
