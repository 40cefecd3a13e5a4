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

/// Features of a message that do not depend on the question. Kept small, because the choice of
/// candidates reads it for every message.
#[derive(Debug, Clone, Copy)]
pub struct MessagePrior {
    /// The speaker.
    pub speaker: SpeakerId,
    /// Share of the message's sentences that are questions, 0 to 1.
    pub question_share: f32,
    /// `question_share` of the previous message; 0 without a previous message.
    pub answers: f32,
    /// The message's day on its speaker's clock.
    pub day: LocalDay,
    /// True if the message contains an expression of time.
    pub tells_time: bool,
    /// True if the message contains a digit.
    pub has_number: bool,
    /// How worth a note the message is, -1 to 1.
    pub worth: f32,
    /// True if a program wrote the message (`Message::is_agent`).
    pub by_agent: bool,
}
