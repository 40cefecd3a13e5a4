//! Words of one English sentence, contractions taken apart ("I'm" = `i` `'m`, "don't" = `do`
//! `n't`).

use std::ops::Range;

use super::lexicon::{Class, Word, word};
use super::verbs::Form;

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Letters, with inner hyphens and digits.
    Word,
    /// Starts with a digit (or a currency sign before one).
    Number,
    /// Anything else that is not white space.
    Mark,
}

/// A token as a byte range of its sentence.
#[derive(Debug, Clone)]
pub(super) struct Token {
    range: Range<usize>,
    shape: Shape,
    word: Word,
}

/// A sentence with its tokens. Apostrophes are straight, so that one spelling of each word is
/// enough everywhere else.
#[derive(Debug)]
pub(super) struct Tokens {
    text: String,
    lower: String,
    list: Vec<Token>,
}

const ENCLITICS: [&str; 6] = ["'m", "'re", "'ve", "'ll", "'s", "'d"];

impl Tokens {
    /// Takes a sentence apart.
    pub(super) fn new(sentence: &str) -> Self {
        let text: String = if sentence.is_ascii() {
            sentence.to_owned()
        } else {
            sentence.replace(['’', '‘', 'ʼ'], "'")
        };
        let lower = text.to_ascii_lowercase();
        let mut list = Vec::with_capacity(text.len() / 4);
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let Some(first) = text[at..].chars().next() else { break };
            if first.is_whitespace() {
                at += first.len_utf8();
                continue;
            }
            let end = word_end(&text, at, first);
            let currency = matches!(first, '$' | '€' | '£' | '¥')
                && bytes.get(at + first.len_utf8()).is_some_and(u8::is_ascii_digit);
            if currency {
                let number = at + first.len_utf8();
                let end = word_end(&text, number, '0');
                list.push(token(at..end, Shape::Number));
                at = end;
            } else if end == at {
                list.push(token(at..at + first.len_utf8(), Shape::Mark));
                at += first.len_utf8();
            } else {
                push_word(&lower, at..end, first.is_ascii_digit(), &mut list);
                at = end;
            }
        }
        for token in list.iter_mut().filter(|token| token.shape == Shape::Word) {
            token.word = word(&lower[token.range.clone()]);
        }
        Self { text, lower, list }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The token in lower case; empty beyond either end.
    pub(super) fn low(&self, index: usize) -> &str {
        self.list.get(index).map_or("", |token| &self.lower[token.range.clone()])
    }

    /// Is the token in any of the classes?
    pub(super) fn is(&self, index: usize, class: Class) -> bool {
        self.list.get(index).is_some_and(|token| token.word.class.has(class))
    }

    /// The base form and the form of the token, if it can be a verb.
    pub(super) fn verb(&self, index: usize) -> Option<(&'static str, Form)> {
        self.list.get(index).and_then(|token| token.word.verb)
    }

    /// The token as written; empty beyond the end.
    pub(super) fn raw(&self, index: usize) -> &str {
        self.list.get(index).map_or("", |token| &self.text[token.range.clone()])
    }

    /// The white space (or nothing) before a token.
    pub(super) fn gap(&self, index: usize) -> &str {
        let start = index.checked_sub(1).map_or(0, |before| self.list[before].range.end);
        &self.text[start..self.list[index].range.start]
    }

    /// Its byte range.
    pub(super) fn range(&self, index: usize) -> Range<usize> {
        self.list.get(index).map_or(self.text.len()..self.text.len(), |token| token.range.clone())
    }

    /// What it is made of; beyond the end a mark.
    pub(super) fn shape(&self, index: usize) -> Shape {
        self.list.get(index).map_or(Shape::Mark, |token| token.shape)
    }

    /// A word that starts with a capital letter and is not the pronoun "I".
    pub(super) fn is_capital(&self, index: usize) -> bool {
        self.shape(index) == Shape::Word
            && self.raw(index) != "I"
            && self.raw(index).chars().next().is_some_and(char::is_uppercase)
    }

    /// The sentence, apostrophes straight.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text from one token up to another (exclusive), verbatim.
    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        match range.is_empty() {
            true => "",
            false => &self.text[self.range(range.start).start..self.range(range.end - 1).end],
        }
    }

    /// The first token that starts at or after a byte.
    pub(super) fn at_byte(&self, byte: usize) -> usize {
        self.list.partition_point(|token| token.range.start < byte)
    }
}

fn token(range: Range<usize>, shape: Shape) -> Token {
    Token { range, shape, word: Word::default() }
}

/// The end of the word or number that starts at `at`; `at` itself if none does.
fn word_end(text: &str, at: usize, first: char) -> usize {
    if !first.is_alphanumeric() {
        return at;
    }
    let mut end = at;
    let mut characters = text[at..].chars().peekable();
    let mut before = first;
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let joins = match character {
            '\'' | '-' | '_' | '/' | '&' | '@' => {
                before.is_alphanumeric() && next.is_some_and(char::is_alphanumeric)
            }
            '.' | ',' | ':' => {
                before.is_ascii_digit() && next.is_some_and(|next| next.is_ascii_digit())
                    || character == '.' && is_dotted(before, next)
            }
            '+' | '%' => before.is_alphanumeric(),
            _ => character.is_alphanumeric(),
        };
        if !joins {
            break;
        }
        end += character.len_utf8();
        before = character;
    }
    end
}

/// A full stop inside a name of a file or an address: letters on both sides and no space.
fn is_dotted(before: char, next: Option<char>) -> bool {
    before.is_alphanumeric() && next.is_some_and(char::is_lowercase)
}

fn push_word(lower: &str, range: Range<usize>, number: bool, list: &mut Vec<Token>) {
    let shape = if number { Shape::Number } else { Shape::Word };
    let word = &lower[range.clone()];
    let cut = word
        .strip_suffix("n't")
        .map(str::len)
        .or_else(|| ENCLITICS.iter().find_map(|tail| word.strip_suffix(tail)).map(str::len));
    match cut.filter(|cut| *cut > 0) {
        Some(cut) => {
            list.push(token(range.start..range.start + cut, shape));
            list.push(token(range.start + cut..range.end, Shape::Word));
        }
        None if word == "cannot" => {
            list.push(token(range.start..range.start + 3, shape));
            list.push(token(range.start + 3..range.end, shape));
        }
        None => list.push(token(range, shape)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contractions_numbers_and_addresses() {
        let words = |text: &str| {
            let tokens = Tokens::new(text);
            (0..tokens.len())
                .map(|index| tokens.low(index).to_owned())
                .collect::<Vec<_>>()
                .join("|")
        };
        assert_eq!(words("I’m 34, can't go."), "i|'m|34|,|ca|n't|go|.");
        assert_eq!(words("Mail a.b@example.org, $1,150!"), "mail|a.b@example.org|,|$1,150|!");
        assert_eq!(
            words("My sister's dog - a nine-year-old"),
            "my|sister|'s|dog|-|a|nine-year-old"
        );
    }
}
