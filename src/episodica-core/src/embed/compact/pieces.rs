//! The unigram tokenizer of SentencePiece (Kudo 2018): of all ways to split a word into pieces of
//! the vocabulary, the one with the best sum of scores.

use rustc_hash::FxHashMap;
use unicode_normalization::UnicodeNormalization;

/// Stands before each word, as in the vocabulary.
const WORD_START: char = '▁';

/// Below the score of any piece: a character without a piece costs more than any split.
const UNKNOWN_SCORE: f32 = -30.0;

/// Maximum length of a word, in bytes. A longer run without a space is split here, to bound the
/// memory for pasted files.
const MAX_WORD_BYTES: usize = 4_096;

/// The id of a character that has no piece.
const UNKNOWN: u16 = 0;

/// The pieces with their scores (logarithms of their probability).
pub(super) struct PieceVocabulary {
    pieces: FxHashMap<&'static str, (u16, f32)>,
    longest: usize,
}

impl PieceVocabulary {
    /// Reads lines of piece, tab, score; the number of a line is the id of its piece.
    pub(super) fn new(lines: &'static str) -> Self {
        let pieces: FxHashMap<_, _> = (0..)
            .zip(lines.lines())
            .map(|(id, line)| {
                let (piece, score) =
                    line.split_once('\t').expect("invariant: each line of the file has a tab");
                (piece, (id, score.parse().expect("invariant: each score is a number")))
            })
            .collect();
        let longest = pieces.keys().map(|piece| piece.len()).max().unwrap_or(0);
        Self { pieces, longest }
    }

    /// The ids of the pieces of `text` in order, at most `limit`; characters without a piece are
    /// left out.
    pub(super) fn piece_ids(&self, text: &str, limit: usize) -> Vec<u16> {
        let mut ids = Vec::new();
        let mut word = String::new();
        for part in text.split(char::is_whitespace).filter(|part| !part.is_empty()) {
            word.clear();
            word.push(WORD_START);
            for c in part.nfkc().flat_map(char::to_lowercase) {
                if c.is_whitespace() || word.len() >= MAX_WORD_BYTES {
                    self.split_word(&word, &mut ids);
                    word.clear();
                    if c.is_whitespace() {
                        word.push(WORD_START);
                        continue;
                    }
                }
                word.push(c);
            }
            self.split_word(&word, &mut ids);
            if ids.len() >= limit {
                break;
            }
        }
        ids.truncate(limit);
        ids
    }

    fn split_word(&self, word: &str, ids: &mut Vec<u16>) {
        if word.chars().all(|c| c == WORD_START) {
            return;
        }
        if let Some((id, _)) = self.pieces.get(word) {
            return ids.push(*id);
        }
        // For each position: the best score of the text before it, and that split's last piece with
        // the start of the piece.
        let mut best = vec![(f32::NEG_INFINITY, UNKNOWN, 0); word.len() + 1];
        best[0].0 = 0.0;
        for (start, c) in word.char_indices() {
            let score = best[start].0;
            let mut offer = |end: usize, more: f32, id| {
                if score + more > best[end].0 {
                    best[end] = (score + more, id, start);
                }
            };
            offer(start + c.len_utf8(), UNKNOWN_SCORE, UNKNOWN);
            let furthest = word.len().min(start + self.longest);
            for end in (start + 1..=furthest).filter(|end| word.is_char_boundary(*end)) {
                if let Some((id, more)) = self.pieces.get(&word[start..end]) {
                    offer(end, *more, *id);
                }
            }
        }
        let first = ids.len();
        let mut end = word.len();
        let mut has_content = false;
        while end > 0 {
            let (_, id, start) = best[end];
            if id != UNKNOWN {
                ids.push(id);
                has_content |= end > WORD_START.len_utf8();
            }
            end = start;
        }
        if !has_content {
            ids.truncate(first);
        }
        ids[first..].reverse();
    }
}
