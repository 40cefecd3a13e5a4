//! Marks the words about which something was said later.

use crate::clock::DisplayZone;
use crate::engine::memory::view::UserView;
use crate::score::{ContextWords, LaterWords, later_mark};

/// What was said later about each part of a message: the latest words of a message that `admits`
/// lets in.
pub(super) fn later_words(
    view: &UserView,
    zone: &DisplayZone,
    told_in: &ContextWords,
    message: u32,
    admits: &dyn Fn(u32) -> bool,
) -> Vec<LaterWords> {
    let Some(pairs) = view.shown_links().of_messages.get(&message) else { return Vec::new() };
    let content = &view.messages.get(message).content;
    let mut found: Vec<LaterWords> = Vec::new();
    for pair in pairs {
        let later = view.sources.get(pair.1);
        let Some(message) = later.last().filter(|_| later.iter().all(|later| admits(*later)))
        else {
            continue;
        };
        let Some(linked) = view.linked_facts(*pair).filter(|linked| !linked.is_settled()) else {
            continue;
        };
        let said = linked.new.quote.as_ref().map(|quote| quote.said_at);
        let (Some(said), Some([_, words])) = (said, linked.words()) else { continue };
        let Some(at) = end_of_words(content, linked.link.old_span) else { continue };
        // The pairs of a message begin with the latest.
        if !found.iter().any(|known| known.mark.0 == at) {
            let mark = (at, later_mark(told_in, zone.local_moment(said).local().date(), words));
            found.push(LaterWords { mark, message: *message });
        }
    }
    found
}

/// The byte after the last letter or digit of a span of code points.
fn end_of_words(content: &str, [from, to]: [u32; 2]) -> Option<usize> {
    let words = content.char_indices().take(to as usize).skip(from as usize);
    words.filter(|(_, c)| c.is_alphanumeric()).last().map(|(at, c)| at + c.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_after_the_last_word() {
        let text = "Ich wohne in Köln. Ja!";
        assert_eq!(end_of_words(text, [0, 18]), Some("Ich wohne in Köln".len()));
        assert_eq!(end_of_words("住在奥斯陆。", [0, 6]), Some("住在奥斯陆".len()));
        assert_eq!(end_of_words("…", [0, 1]), None);
        assert_eq!(end_of_words("ab", [5, 9]), None);
    }
}
