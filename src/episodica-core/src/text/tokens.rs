//! Token counts for budgets: how much of a model's context a text uses.
//!
//! The tables are inside the package, so counting never uses the network. Context packing calls
//! this for every candidate message.

use crate::fork::ForkLazy;
use std::convert::Infallible;

use tiktoken::CoreBpe;

use super::script::is_han;

/// The encoding; the first use unpacks its table.
static O200K: ForkLazy<&'static CoreBpe> = ForkLazy::new(|| {
    tiktoken::get_encoding("o200k_base").expect("invariant: the build carries the o200k_base table")
});

/// Longer texts are counted in blocks of this many bytes. Counting an unbroken run takes a heap as
/// large as the run, and a larger heap soon exceeds the processor's caches.
const BLOCK_BYTES: usize = 16 * 1024;

/// Maximum length of a token, in bytes.
pub const MAX_TOKEN_BYTES: usize = 128;

/// The number of tokens of `text` in the `o200k_base` encoding.
///
/// Text that looks like a special token (`<|endoftext|>`) counts as ordinary text. Other models'
/// encodings differ by some per cent in English and more in other languages: callers who budget for
/// them should leave a margin.
///
/// The first call unpacks the table (a quarter of a second of one processor); after that the cost
/// is linear in the length of the text. The count is exact unless, in a run of 16 KiB, no letter is
/// followed by white space, a comma or a full stop: the run is cut, and each cut may add one or two
/// tokens.
///
/// ```
/// use episodica_core::text::count_tokens;
/// assert_eq!(count_tokens(""), 0);
/// assert_eq!(count_tokens("hello world"), 2);
/// ```
pub fn count_tokens(text: &str) -> usize {
    count_tokens_while(text, || Ok::<_, Infallible>(())).unwrap_or_else(|never| match never {})
}

/// [`count_tokens`] of a text that may be long; calls `go_on` before each block.
///
/// # Errors
/// The errors of `go_on`.
pub fn count_tokens_while<E>(
    text: &str,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<usize, E> {
    let mut rest = text;
    let mut count = 0;
    while rest.len() > BLOCK_BYTES {
        go_on()?;
        let (block, tail) = rest.split_at(block_end(rest));
        count += O200K.count(block);
        rest = tail;
    }
    Ok(count + O200K.count(rest))
}

/// The end of the first block of `text`: the last position where white space, a comma or a full
/// stop follows a letter, which is also a boundary of the encoding; else the last character that
/// fits.
fn block_end(text: &str) -> usize {
    let fitting = (0..=BLOCK_BYTES)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .expect("invariant: 0 is a boundary");
    let mut follower = None;
    for (at, c) in text[..fitting].char_indices().rev() {
        if matches!(follower, Some(' ' | '\n' | ',' | '.' | '。' | '，'))
            && (c.is_ascii_alphabetic() || is_han(c))
        {
            return at + c.len_utf8();
        }
        follower = Some(c);
    }
    fitting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_ordinary_text() {
        assert_eq!(count_tokens("<|endoftext|>"), 7);
        assert!(count_tokens("<|im_start|>user") > 2);
    }

    #[test]
    fn no_token_is_longer() {
        let longest = (0..O200K.vocab_size() as u32).map(|token| O200K.decode(&[token]).len());
        assert_eq!(longest.max(), Some(MAX_TOKEN_BYTES));
    }

    #[test]
    fn known_counts() {
        // Three independent implementations agree on these values.
        for (text, count) in
            [("I'm can't", 2), ("x.\n/y", 3), ("1234567", 3), ("line\n\n\nnext", 3), ("   ", 1)]
        {
            assert_eq!(count_tokens(text), count, "{text:?}");
        }
    }

    #[test]
    fn blocks_do_not_change_prose() {
        let text = "The cat sat on the mat, and nobody minded. ".repeat(5_000);
        assert_eq!(count_tokens(&text), O200K.count(&text));
        let chinese = "我昨天和姐姐去了市场，买了很多新鲜的面包。".repeat(3_000);
        assert_eq!(count_tokens(&chinese), O200K.count(&chinese));
        let glued = "猫".repeat(100_000);
        assert!(count_tokens(&glued).abs_diff(O200K.count(&glued)) < 40);
    }
}
