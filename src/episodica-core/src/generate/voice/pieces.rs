//! Splits a message into pieces: sentences, and the labels before a colon.

use std::ops::Range;

use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};
use crate::text::sentences;

/// Maximum number of pieces that are judged; the rest of the message has the voice of the last one.
const MAX_PIECES: usize = 600;
/// Maximum length of a label, in bytes.
const MAX_LABEL: usize = 120;

/// How a piece follows the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// It is the first.
    Start,
    /// In the same line.
    Line,
    /// In the next line.
    Next,
    /// After an empty line.
    Gap,
}

/// A sentence, or a label.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    /// Bytes of the message, without white space at the ends.
    pub range: Range<usize>,
    /// How it follows the piece before.
    pub edge: Edge,
    /// Number of its line, and of its block: blocks have an empty line between them.
    pub line: usize,
    pub block: usize,
    /// It ends in a colon or has the form of a heading, so that it introduces what follows.
    pub opens: bool,
}

/// A line of a message.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Bytes of the message, without white space at the ends.
    pub range: Range<usize>,
    pub block: usize,
}

/// The lines of a text that are not empty.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let (mut found, mut block, mut gap, mut at) = (Vec::<Line>::new(), 0, false, 0);
    for line in text.split_inclusive(is_line_end) {
        let start = at + line.len() - line.trim_start().len();
        let bare = line.trim();
        at += line.len();
        if bare.is_empty() {
            // The two characters of "\r\n" make one end of line.
            gap |= line != "\n" || !text[..at - 1].ends_with('\r');
            continue;
        }
        block += usize::from(gap && !found.is_empty());
        gap = false;
        found.push(Line { range: start..start + bare.len(), block });
    }
    found
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The pieces of a text.
pub(super) fn pieces(text: &str, lines: &[Line]) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let whole = &text[line.range.clone()];
        if found.len() >= MAX_PIECES {
            break;
        }
        if is_heading(whole) {
            push(&mut found, line.range.clone(), number, line.block, true);
            continue;
        }
        for sentence in sentences(whole) {
            let start = sentence.as_ptr() as usize - text.as_ptr() as usize;
            let end = start + sentence.len();
            let Some(label) = label(sentence) else {
                push(&mut found, start..end, number, line.block, false);
                continue;
            };
            push(&mut found, start..start + label, number, line.block, true);
            let rest = &text[start + label..end];
            if !rest.trim().is_empty() {
                let from = end - rest.trim_start().len();
                push(&mut found, from..end, number, line.block, false);
            }
        }
    }
    found
}

fn push(found: &mut Vec<Piece>, range: Range<usize>, line: usize, block: usize, opens: bool) {
    let edge = match found.last() {
        None => Edge::Start,
        Some(last) if last.line == line => Edge::Line,
        Some(last) if last.block == block => Edge::Next,
        Some(_) => Edge::Gap,
    };
    found.push(Piece { range, edge, line, block, opens });
}

/// True for a line that is a heading by its marks: `# Notes`, `**Notes**`, `--- Notes ---`,
/// `[Notes]`.
pub(super) fn is_heading(line: &str) -> bool {
    let hashes = line.trim_start_matches('#');
    if hashes.len() < line.len() && hashes.starts_with(' ') {
        return true;
    }
    let is_mark = |c: char| "*_=-~—–─═#[]【】<>".contains(c);
    let inner = line.trim_end_matches([':', '：']).trim_matches(|c| is_mark(c) || c == ' ');
    let before = line.len() - line.trim_start_matches(is_mark).len();
    let after = line.trim_end_matches([':', '：']);
    let after = after.len() - after.trim_end_matches(is_mark).len();
    let brackets = line.starts_with(['[', '【']) && line.ends_with([']', '】', ':', '：']);
    !inner.is_empty()
        && inner.len() <= MAX_LABEL
        && (before >= 2 && after >= 2 || brackets && before >= 1 && after >= 1)
        && !inner.contains(['.', '。', '!', '?', ']', '】'])
}

/// The length of the label at the start of a sentence, with its colon or dash: "Home:",
/// "Voicemail from Mum -".
fn label(sentence: &str) -> Option<usize> {
    bracketed(sentence).or_else(|| before_mark(sentence))
}

/// "[Caption] A red door": the length of the bracket.
fn bracketed(sentence: &str) -> Option<usize> {
    let close = match sentence.chars().next()? {
        '[' => ']',
        '(' => ')',
        '（' => '）',
        '【' => '】',
        _ => return None,
    };
    let at = sentence.find(close).filter(|at| *at <= MAX_LABEL)?;
    let end = at + close.len_utf8();
    let is_label = sentence[..at].contains(char::is_alphabetic) && !sentence[..at].contains(':');
    (is_label && sentence[end..].contains(is_alphanumeric)).then_some(end)
}

fn before_mark(sentence: &str) -> Option<usize> {
    let mut before = None;
    for (at, c) in sentence.char_indices() {
        if at > MAX_LABEL {
            return None;
        }
        let end = at + c.len_utf8();
        let after = sentence[end..].chars().next();
        let is_end = match c {
            '：' => true,
            ':' => after.is_none_or(|after| {
                after.is_whitespace()
                    || after == '*'
                    || is_opening(after)
                    || is_ideograph_or_kana(after)
                    || after.is_alphabetic() && before.is_some_and(is_ideograph_or_kana)
            }),
            '–' | '—' | '-' => {
                before == Some(' ') && after == Some(' ') && sentence[..at].split(' ').count() <= 6
            }
            _ => false,
        };
        if is_end && sentence[..at].chars().any(is_alphanumeric) {
            // The marks of bold type belong to the label: "**Tom:** I moved."
            let marks = sentence[end..].len() - sentence[end..].trim_start_matches('*').len();
            return Some(end + marks);
        }
        before = Some(c);
    }
    None
}

/// True for a mark that opens a quotation.
pub(super) fn is_opening(c: char) -> bool {
    matches!(c, '"' | '\'' | '“' | '„' | '«' | '‹' | '「' | '『' | '‘' | '‚' | '”' | '»')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<(&str, Edge, bool)> {
        let found = pieces(text, &lines(text));
        found.into_iter().map(|one| (&text[one.range], one.edge, one.opens)).collect()
    }

    #[test]
    fn labels_and_sentences_are_pieces() {
        use Edge::*;
        assert_eq!(
            split("Translate: I moved at 10:04. Ok?\r\n\r\n- a\n**Tom**: hi\n# Notes"),
            [
                ("Translate:", Start, true),
                ("I moved at 10:04.", Line, false),
                ("Ok?", Line, false),
                ("- a", Gap, false),
                ("**Tom**:", Next, true),
                ("hi", Line, false),
                ("# Notes", Next, true),
            ]
        );
        assert_eq!(
            split("小红：我搬家了。好"),
            [("小红：", Start, true), ("我搬家了。", Line, false), ("好", Line, false)]
        );
        assert_eq!(split("see https://a.example, at 10:04").len(), 1);
    }
}
