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
    pub(super) features: TextFeatures,
}

/// What the ranking knows of a text besides its words.
#[derive(Debug, Clone, Copy, Default)]
pub struct TextFeatures {
    /// Share of the sentences that are questions, 0 to 1.
    pub question_share: f32,
    /// True if the text contains an expression of time.
    pub tells_time: bool,
    /// True if the text contains a digit.
    pub has_number: bool,
    /// How worth a note the text is, -1 to 1.
    pub worth: f32,
}

impl MessageReading {
    /// Analyses a message's text with its WordPiece ids.
    pub fn from_content(content: &str, tokens: Vec<u16>) -> Self {
        let mut time = false;
        let terms =
            TextTerms::of_words(content, |word, unspaced| time |= tells_time(word, unspaced));
        let features = TextFeatures {
            question_share: question_share(content),
            tells_time: time,
            has_number: content.bytes().any(|byte| byte.is_ascii_digit()),
            worth: worth(content),
        };
        Self { terms, tokens, features }
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
