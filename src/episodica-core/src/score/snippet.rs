//! Cuts the part of a text around the match.

/// Length of a snippet, in characters.
pub const SNIPPET_CHARS: usize = 100;

/// About [`SNIPPET_CHARS`] characters of `text` around the first place that contains most of the
/// `terms` (lower case). Omitted text is marked by `…`; a short text is returned whole.
pub fn snippet(text: &str, terms: &[String]) -> String {
    let chars: Vec<char> =
        text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).take(20_000).collect();
    if chars.len() <= SNIPPET_CHARS {
        return chars.into_iter().collect::<String>().trim().to_owned();
    }
    let lower: Vec<char> = chars.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let mut places: Vec<usize> = Vec::new();
    for term in terms {
        // A stem is a prefix of its word, except for irregular words, which a snippet may miss.
        let term: Vec<char> = term.chars().take(12).collect();
        let starts = lower.windows(term.len().max(1)).enumerate().filter(|(at, window)| {
            let word_start = *at == 0 || !lower[at - 1].is_alphanumeric() || !lower[*at].is_ascii();
            word_start && !term.is_empty() && *window == term.as_slice()
        });
        places.extend(starts.map(|(at, _)| at));
    }
    places.sort_unstable();
    let within = |start: usize| {
        places.iter().filter(|at| (start..start + SNIPPET_CHARS).contains(*at)).count()
    };
    let best = places
        .iter()
        .copied()
        .max_by_key(|start| (within(*start), std::cmp::Reverse(*start)))
        .unwrap_or(0);
    let mut start = best.saturating_sub(SNIPPET_CHARS / 4).min(chars.len() - SNIPPET_CHARS);
    // Starts at a word boundary if one is near.
    if start > 0
        && let Some(space) = (start..(start + 15).min(best)).find(|at| chars[*at] == ' ')
    {
        start = space + 1;
    }
    let end = (start + SNIPPET_CHARS).min(chars.len());
    let body: String = chars[start..end].iter().collect();
    format!(
        "{}{}{}",
        if start > 0 { "…" } else { "" },
        body.trim(),
        if end < chars.len() { "…" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_shows_the_match_and_cuts_at_characters() {
        let text =
            format!("{} the lighthouse keeper sang {}", "word ".repeat(60), "猫".repeat(200));
        let shown = snippet(&text, &["lighthous".into(), "keeper".into()]);
        assert!(
            shown.contains("lighthouse keeper sang")
                && shown.starts_with('…')
                && shown.ends_with('…'),
            "{shown}"
        );
        assert!(shown.chars().count() <= SNIPPET_CHARS + 2);
        assert_eq!(snippet("short\ntext", &[]), "short text");
    }
}
