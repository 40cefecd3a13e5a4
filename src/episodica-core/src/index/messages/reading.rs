//! Features that depend only on a message's text.

use crate::index::TextTerms;
use crate::text::heads::worth;
use crate::text::script::is_alphanumeric;
use crate::text::vocabulary::tells_time;

/// Features of a message's text. Extracting them needs no index, so messages are analysed in
/// parallel before they are added one by one.
#[derive(Debug, Clone, Default)]
pub struct MessageReading {
    pub(super) terms: TextTerms,
    pub(super) tokens: Vec<u16>,
    pub(super) question_share: f32,
    pub(super) tells_time: bool,
    pub(super) has_number: bool,
    pub(super) worth: f32,
}

impl MessageReading {
    /// Analyses a message's text with its WordPiece ids.
    pub fn of(content: &str, tokens: Vec<u16>) -> Self {
        let mut time = false;
        let terms =
            TextTerms::of_words(content, |word, unspaced| time |= tells_time(word, unspaced));
        let has_number = content.bytes().any(|byte| byte.is_ascii_digit());
        let question_share = question_share(content);
        let worth = worth(content);
        Self { terms, tokens, question_share, tells_time: time, has_number, worth }
    }
}

/// The share of sentences that are questions.
fn question_share(text: &str) -> f32 {
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
        _ => *open |= is_alphanumeric(c),
    };
    text.chars().for_each(|c| ends(c, &mut open));
    sentences += u32::from(open);
    asking as f32 / sentences.max(1) as f32
}
