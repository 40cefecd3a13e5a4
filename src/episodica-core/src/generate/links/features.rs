//! Compares two sentences by the pieces that both have and their rarity, and by numbers; tells
//! which pieces a later sentence has.
//! `tools/link_features.py` computes the same.

use std::cmp::Ordering;

use unicode_normalization::UnicodeNormalization;

use crate::embed::piece_ids;

/// Number of features of a pair.
pub(super) const FEATURES: usize = 15;
/// The features of a pair, in the order of `PAIR` in `tools/link_features.py`. The last two, of the
/// vectors, are 0 until [`add_cosine`].
pub(super) type PairFeatures = [f32; FEATURES];
/// Where the features of the vectors begin.
pub(super) const OF_VECTORS: usize = FEATURES - 2;
/// The feature that the later sentence has another number.
const OTHER_NUMBER: usize = 7;

/// Written by `tools/train_links.py`: how much each piece of the vocabulary says, a byte each.
static RARITIES: &[u8] = include_bytes!("../../../assets/rarities.bin");
/// Bytes of [`RARITIES`] for a rarity of 1.
const OF_BYTE: f32 = 32.0;

/// Sentences that share less rarity than this are not compared.
const LEAST_SHARED: f32 = 2.5;
/// What a later sentence has to say beyond the earlier one, in rarity, to say more.
const SAYS_MORE: f32 = 0.5;
/// The shared rarity that counts most.
const MOST_SHARED: f32 = 20.0;
/// Maximum length of a sentence that is read, in characters.
const MAX_CHARS: usize = 2_000;
/// Rarity of a number for each digit or mark, and at most.
const OF_DIGIT: f32 = 1.5;
const OF_NUMBER: f32 = 4.0;
/// Cosine from which two sentences say nearly the same.
const NEARLY_EQUAL: f32 = 0.75;
/// Number of pieces from the beginning of a sentence that its heads read.
const HEAD_PIECES: usize = 96;

/// The parts of a sentence that are compared.
#[derive(Debug, Clone)]
pub(super) struct SentencePieces {
    /// Distinct pieces that say something, ascending, each with its rarity.
    rare: Vec<(u16, f32)>,
    /// Sum of the rarities and of what the numbers say, at least 1.
    rarity: f32,
    /// Distinct pieces that follow one another, ascending.
    neighbours: Vec<[u16; 2]>,
    /// Distinct numbers, ascending.
    numbers: Vec<String>,
    /// Distinct pieces at its beginning.
    first: Vec<u16>,
}

impl SentencePieces {
    pub fn of(text: &str) -> Self {
        let text = match text.char_indices().nth(MAX_CHARS) {
            Some((end, _)) => &text[..end],
            None => text,
        };
        let pieces = piece_ids(text);
        let neighbours = pieces.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let first = distinct(pieces.iter().take(HEAD_PIECES).copied().collect());
        let rare: Vec<(u16, f32)> = distinct(pieces)
            .into_iter()
            .map(|piece| (piece, rarity(piece)))
            .filter(|(_, rarity)| *rarity > 0.0)
            .collect();
        let numbers = distinct(numbers(text));
        let total: f32 = rare.iter().map(|(_, rarity)| rarity).sum();
        let of_numbers: f32 = numbers.iter().map(|number| rarity_of_number(number)).sum();
        Self {
            rare,
            rarity: (total + of_numbers).max(1.0),
            neighbours: distinct(neighbours),
            numbers,
            first,
        }
    }

    /// The distinct pieces that the heads of a sentence read.
    pub fn of_heads(&self) -> &[u16] {
        &self.first
    }
}

fn distinct<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items.dedup();
    items
}

/// How much a piece says: 0 for common ones and numbers, about 6 for the rarest.
fn rarity(piece: u16) -> f32 {
    RARITIES.get(usize::from(piece)).map_or(0.0, |byte| f32::from(*byte) / OF_BYTE)
}

/// What a number of two characters or more says.
fn rarity_of_number(number: &str) -> f32 {
    if number.len() > 1 { (OF_DIGIT * number.len() as f32).min(OF_NUMBER) } else { 0.0 }
}

/// The rarities of the pieces and numbers that two sentences share.
#[derive(Default, Clone, Copy)]
struct SharedPieces {
    total: f32,
    /// The three greatest.
    rarest: [f32; 3],
}

impl SharedPieces {
    fn of(a: &SentencePieces, b: &SentencePieces) -> Self {
        let mut shared = Self::default();
        let (mut left, mut right) = (a.rare.iter().peekable(), b.rare.iter().peekable());
        while let (Some((one, rarity)), Some((other, _))) = (left.peek(), right.peek()) {
            match one.cmp(other) {
                Ordering::Less => drop(left.next()),
                Ordering::Greater => drop(right.next()),
                Ordering::Equal => {
                    shared.add(*rarity);
                    left.next();
                    right.next();
                }
            }
        }
        for number in a.numbers.iter().filter(|number| b.numbers.contains(number)) {
            shared.add(rarity_of_number(number));
        }
        shared
    }

    fn add(&mut self, rarity: f32) {
        self.total += rarity;
        let mut rest = rarity;
        for place in &mut self.rarest {
            if rest > *place {
                std::mem::swap(&mut rest, place);
            }
        }
    }
}

/// The features of a pair; `None` if the sentences share too little to be compared, or if the later
/// one only says the same again.
pub(super) fn compare(earlier: &SentencePieces, later: &SentencePieces) -> Option<PairFeatures> {
    let shared = SharedPieces::of(earlier, later);
    if shared.total < LEAST_SHARED {
        return None;
    }
    let flag = |holds: bool| f32::from(u8::from(holds));
    let has_same = later.numbers.iter().any(|number| earlier.numbers.contains(number));
    let has_other = later.numbers.iter().any(|number| !earlier.numbers.contains(number));
    let is_other_number = !earlier.numbers.is_empty() && has_other;
    let says_more = later.rarity - shared.total >= SAYS_MORE || is_other_number;
    if !says_more {
        return None;
    }
    let is_shared = |pair: &&[u16; 2]| earlier.neighbours.binary_search(pair).is_ok();
    let both = later.neighbours.iter().filter(is_shared).count() as f32;
    let [rarest, second, third] = shared.rarest.map(|rarity| rarity / 5.0);
    Some([
        shared.total.min(MOST_SHARED) / 10.0,
        shared.total / earlier.rarity,
        shared.total / later.rarity,
        rarest,
        second,
        third,
        flag(has_same),
        flag(is_other_number),
        flag(earlier.numbers.is_empty() && !later.numbers.is_empty()),
        flag(says_more),
        both / earlier.neighbours.len().max(1) as f32,
        both / later.neighbours.len().max(1) as f32,
        flag(has_same && is_other_number),
        0.0,
        0.0,
    ])
}

/// Sets the features of the vectors. With another number, nearly equal sentences don't say the
/// same.
pub(super) fn add_cosine(features: &mut PairFeatures, cosine: f32) {
    features[OF_VECTORS] = cosine;
    if features[OTHER_NUMBER] == 0.0 {
        features[OF_VECTORS + 1] = 4.0 * (cosine - NEARLY_EQUAL).max(0.0);
    }
}

/// The numbers of a text: digits, with single points, commas and colons between them.
fn numbers(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut number = String::new();
    let mut mark = None;
    for c in text.nfkc().chain([' ']) {
        if c.is_ascii_digit() {
            number.extend(mark.take());
            number.push(c);
        } else if !number.is_empty() && mark.is_none() && matches!(c, '.' | ',' | ':') {
            mark = Some(c);
        } else if !number.is_empty() {
            found.push(std::mem::take(&mut number));
            mark = None;
        }
    }
    found
}
