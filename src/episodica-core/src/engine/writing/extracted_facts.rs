//! The facts of an episode before they are stored.

use crate::engine::asking::question_trace::QuestionTrace;
use crate::generate::facts::FactExtraction;
use crate::generate::facts::model::FactDetails;
use crate::model::TextProvenance;

/// The facts of an episode, extracted by the model, or by the rules in its place.
#[derive(Debug)]
pub(crate) struct ExtractedFacts {
    pub extraction: FactExtraction,
    /// `None` if the rules extracted the facts.
    pub origin: Option<CandidateOrigin>,
    pub pending_llm: bool,
    pub asked: QuestionTrace,
    /// The hash of the question that the model answered; empty for facts of the rules.
    pub answer: String,
}

impl ExtractedFacts {
    /// The facts of the rules in place of the model's.
    pub fn by_rules_instead(
        extraction: FactExtraction,
        pending_llm: bool,
        asked: QuestionTrace,
    ) -> Self {
        Self { extraction, origin: None, pending_llm, asked, answer: String::new() }
    }
}

/// The origin of a model's candidates.
#[derive(Debug)]
pub(crate) struct CandidateOrigin {
    /// Provenance of the new facts.
    pub provenance: TextProvenance,
    /// The model's details for each of its candidates: dates, and the facts that it ends or
    /// corrects. Quotations of the rules follow these candidates.
    pub told: Vec<FactDetails>,
    /// Ids of the known facts and the earlier messages that the model saw.
    pub shown: Vec<String>,
}
