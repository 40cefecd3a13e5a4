//! Features of a message that do not depend on the question.

use super::SpeakerId;
use super::reading::TextFeatures;
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
    pub fn from_moment(moment: Moment) -> Self {
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
    /// What its text tells.
    pub features: TextFeatures,
    /// `question_share` of the previous message; 0 without a previous message.
    pub answers: f32,
    /// The message's day on its speaker's clock.
    pub day: LocalDay,
    /// True if a program wrote the message (`Message::is_agent`).
    pub by_agent: bool,
}
