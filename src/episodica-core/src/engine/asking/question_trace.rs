//! The questions that a record was made from, for the trace.

use crate::store::TraceStep;

/// The trace of the questions for one record.
#[derive(Debug, Default, Clone)]
pub(crate) struct QuestionTrace(pub Vec<TraceStep>);

impl QuestionTrace {
    /// Adds the trace of another record.
    pub fn add_trace(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Adds the ids of the records that were made from the answers.
    pub fn with_ids(mut self, ids: &[String]) -> Self {
        self.0.iter_mut().for_each(|step| step.ids.extend(ids.iter().cloned()));
        self
    }
}
