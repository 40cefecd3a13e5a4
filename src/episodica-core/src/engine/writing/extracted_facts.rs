//! The facts of an episode before they are compared with the known ones.

use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::memory::indexing::FactTexts;
use crate::generate::facts::FactExtraction;
use crate::generate::facts::model::FactDetails;
use crate::model::TextProvenance;

/// The facts of an episode, extracted by the model or the rules.
#[derive(Debug)]
pub(crate) struct ExtractedFacts {
    pub extraction: FactExtraction,
    /// Wordings and vectors of the candidates; empty if the candidates were not read.
    pub texts: FactTexts,
    /// `None` if the rules extracted the facts.
    pub origin: Option<CandidateOrigin>,
    pub pending_llm: bool,
    pub asked: QuestionTrace,
}

impl ExtractedFacts {
    /// The facts of the rules, if no model is configured.
    pub fn by_rules(extraction: FactExtraction, texts: FactTexts) -> Self {
        Self { texts, ..Self::by_rules_instead(extraction, false, QuestionTrace::default()) }
    }

    /// The facts of the rules in place of the model's.
    pub fn by_rules_instead(
        extraction: FactExtraction,
        pending_llm: bool,
        asked: QuestionTrace,
    ) -> Self {
        Self { extraction, texts: FactTexts::default(), origin: None, pending_llm, asked }
    }
}

/// The origin of a model's candidates.
#[derive(Debug)]
pub(crate) struct CandidateOrigin {
    /// Provenance of the new facts.
    pub provenance: TextProvenance,
    /// The model's details for each candidate: dates, and the facts that it ends or corrects.
    pub told: Vec<FactDetails>,
}
