//! The title: the one span that tells the episode, with its speaker where it needs one.

use super::source::EpisodeSource;
use super::spans::TellingSpan;
use crate::text::Language;
use crate::text::heads::SentenceHeads;

/// Maximum length of a title, in characters.
const MAX_CHARS: usize = 120;
/// How much a span loses that has to be shortened, apart from what its words lose.
const SHORTENED: f32 = 0.5;

/// Writes the title. Without a span it is the first words that were said, or the names.
pub(super) fn write_title(source: &EpisodeSource, spans: &[TellingSpan<'_>]) -> String {
    let fitting = spans.iter().filter_map(|span| {
        let prefix = span.speaker_prefix(source);
        let text = span.shorten_to(MAX_CHARS.saturating_sub(prefix.chars().count()))?;
        Some((span.score - telling_loss(span, text), format!("{prefix}{text}")))
    });
    // Of equal spans the first.
    fitting
        .reduce(|best, other| if other.0 > best.0 { other } else { best })
        .map(|(_, title)| title)
        .or_else(|| spans.first().and_then(|span| first_words(span.text)))
        .or_else(|| source.turns.iter().find_map(|turn| first_words(&turn.text)))
        .unwrap_or_else(|| of_names(source))
}

/// How much less a span tells in this form than whole.
fn telling_loss(span: &TellingSpan<'_>, text: &str) -> f32 {
    if span.text.starts_with(text) && span.text.len() < text.len() + 8 {
        return 0.0;
    }
    let title = |text: &str| SentenceHeads::of(text, span.turn.by_agent).title;
    SHORTENED + (title(span.text) - title(text)).max(0.0)
}

/// The words of the first line that fit, with an ellipsis if not all do; `None` without a letter,
/// digit or sign.
fn first_words(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| line.chars().any(is_telling))?;
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some((end, _)) = line.char_indices().nth(MAX_CHARS) else { return Some(line) };
    let last = line[..end].char_indices().next_back().map_or(0, |(at, _)| at);
    let end = line[..last].rfind(' ').filter(|at| *at > end / 2).unwrap_or(last);
    Some(format!("{}…", line[..end].trim_end_matches([',', ' '])))
}

/// True for all but marks.
fn is_telling(c: char) -> bool {
    !c.is_whitespace() && !c.is_ascii_punctuation() && !matches!(c, '。' | '，' | '！' | '？' | '…')
}

fn of_names(source: &EpisodeSource) -> String {
    let comma = if source.language == Language::Chinese { "、" } else { ", " };
    let mut title = String::new();
    for speaker in &source.speakers {
        let name = &speaker.short;
        if title.chars().count() + name.chars().count() + 2 > MAX_CHARS {
            break;
        }
        if !title.is_empty() {
            title.push_str(comma);
        }
        title.push_str(name);
    }
    title
}
