//! An episode before it is composed, and what all steps of writing need.

use std::sync::Arc;

use crate::boundary::BufferSegment;
use crate::control::CallControl;
use crate::engine::asking::question_trace::QuestionTrace;
use crate::engine::services::EngineServices;
use crate::engine::writing::compose::ComposedEpisode;
use crate::error::{ErrorKind, Result};
use crate::model::Message;

/// Messages that become an episode.
pub(crate) struct EpisodeDraft {
    pub messages: Vec<Arc<Message>>,
    pub segment: BufferSegment,
    /// Trace of the questions about the segment's end.
    pub asked: QuestionTrace,
    /// The episode, if the model told it together with its end.
    pub told: Option<ComposedEpisode>,
}

/// Repeats `decision` while another process changes the records that it used.
pub(crate) fn decide_anew<T>(
    services: &EngineServices,
    control: &dyn CallControl,
    mut decision: impl FnMut() -> Result<T>,
) -> Result<T> {
    loop {
        match decision() {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                services.counters.count_event("decided_again", 1);
                control.check()?;
            }
            outcome => return outcome,
        }
    }
}

/// Total length of the texts of messages.
pub(crate) fn bytes_of<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> usize {
    messages.into_iter().map(|message| message.content.len()).sum()
}
