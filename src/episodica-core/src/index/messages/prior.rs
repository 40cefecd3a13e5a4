//! Features of a message that do not depend on the question.

use super::SpeakerId;
use crate::clock::Moment;

/// The calendar day of a message on its speaker's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDay {
    /// Year.
    pub year: i16,
    /// Month, 1 to 12.
    pub month: i8,
    /// Day of the month.
    pub day: i8,
    /// Day of the week, 0 = Monday.
    pub weekday: i8,
}

impl LocalDay {
    /// The day of a moment.
    pub fn of(moment: Moment) -> Self {
        let local = moment.local();
        Self {
            year: local.year(),
            month: local.month(),
            day: local.day(),
            weekday: local.weekday().to_monday_zero_offset(),
        }
    }
}

/// The features of a message that do not depend on the question. Short, because choosing candidates
/// reads it for every message.
#[derive(Debug, Clone, Copy)]
pub struct MessagePrior {
    /// The speaker.
    pub speaker: SpeakerId,
    /// Share of its sentences that ask something, 0 to 1.
    pub question_share: f32,
    /// The same of the message before it; 0 without one.
    pub answers: f32,
    /// When, on its speaker's clock.
    pub day: LocalDay,
    /// Whether it has an expression of time.
    pub tells_time: bool,
    /// Whether it has a digit.
    pub has_number: bool,
    /// Whether an assistant, a tool or the system said it that has no name of its own.
    pub by_agent: bool,
}
