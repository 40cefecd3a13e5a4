//! Token counts, for budgets: how much of a model's context a text takes.
//!
//! The tables are inside the package, so counting never touches the network. Context packing calls this for every candidate message.

use std::sync::LazyLock;

use tiktoken::CoreBpe;

/// The encoding; the first use unpacks its table.
static O200K: LazyLock<&'static CoreBpe> =
    LazyLock::new(|| tiktoken::get_encoding("o200k_base").expect("invariant: the build carries the o200k_base table"));

/// How many tokens of the `o200k_base` encoding `text` is.
///
/// What looks like a special token (`<|endoftext|>`) is counted as the ordinary text that it is in a message. Other models' encodings
/// differ by some per cent in English and more in other languages: callers who budget for them leave room.
///
/// The first call unpacks the table; after that the cost is linear in the length of the text.
///
/// ```
/// use episodica_core::text::count_tokens;
/// assert_eq!(count_tokens(""), 0);
/// assert_eq!(count_tokens("hello world"), 2);
/// ```
pub fn count_tokens(text: &str) -> usize {
    O200K.count(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_ordinary_text() {
        assert_eq!(count_tokens("<|endoftext|>"), 7);
        assert!(count_tokens("<|im_start|>user") > 2);
    }
}
