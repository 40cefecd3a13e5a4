//! Features of a message's text alone.

use crate::index::Terms;
use crate::text::vocabulary::tells_time;
use crate::text::words::for_each_word;

/// The features of a message's text. Reading needs no index, so many messages are read in parallel
/// before they are added one by one.
#[derive(Debug, Clone, Default)]
pub struct MessageReading {
    pub(super) terms: Terms,
    pub(super) tokens: Vec<u16>,
    pub(super) question_share: f32,
    pub(super) tells_time: bool,
    pub(super) has_number: bool,
}

impl MessageReading {
    /// Of a message's text with its WordPiece ids.
    pub fn of(content: &str, tokens: Vec<u16>) -> Self {
        let (question_share, tells_time) = read(content);
        let has_number = content.bytes().any(|byte| byte.is_ascii_digit());
        Self { terms: Terms::of(content), tokens, question_share, tells_time, has_number }
    }
}

/// The share of sentences that are questions, and whether the text names a time.
fn read(text: &str) -> (f32, bool) {
    let (mut asking, mut sentences, mut open) = (0_u32, 0_u32, false);
    let mut ends = |c: char, open: &mut bool| match c {
        '?' | '？' if *open => {
            asking += 1;
            sentences += 1;
            *open = false;
        }
        '.' | '!' | '。' | '！' if *open => {
            sentences += 1;
            *open = false;
        }
        _ => *open |= c.is_alphanumeric(),
    };
    text.chars().for_each(|c| ends(c, &mut open));
    sentences += u32::from(open);
    let mut time = false;
    for_each_word(text, |word, unspaced| time |= tells_time(word, unspaced));
    (asking as f32 / sentences.max(1) as f32, time)
}
