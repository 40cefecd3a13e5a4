//! Rewriting a text so that it can be read years later.

use super::mentions::mentions;
use crate::clock::Moment;
use crate::text::Language;

/// `text` with its confident relative dates replaced by absolute ones, as written at `anchor`; `language` is that of the text.
///
/// ```
/// use episodica_core::clock::Moment;
/// use episodica_core::text::{Language, time::resolve_text};
/// let monday = Moment::parse("2023-05-08T10:00:00Z")?;
/// assert_eq!(resolve_text("I ran a race yesterday.", monday, Language::English), "I ran a race on 7 May 2023.");
/// assert_eq!(resolve_text("昨天我跑步了。", monday, Language::Chinese), "2023年5月7日我跑步了。");
/// # Ok::<(), episodica_core::Error>(())
/// ```
pub fn resolve_text(text: &str, anchor: Moment, language: Language) -> String {
    let mut resolved = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for mention in mentions(text, anchor).iter().filter(|mention| mention.relative && mention.confident) {
        resolved.push_str(&text[done..mention.start]);
        if language != Language::Chinese {
            resolved.push_str("on ");
        }
        resolved.push_str(&mention.describe(language));
        done = mention.end;
    }
    resolved.push_str(&text[done..]);
    resolved
}
