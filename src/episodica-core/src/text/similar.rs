//! Near duplicates among long texts: the same log ingested twice, an episode told again with a word
//! changed.
//!
//! Likeness of characters says nothing about short statements: "works at Google" and "works at
//! Meta" differ in one word and both matter. So these are gates for texts of some fifty words and
//! more, and are never used on facts.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::script::{is_cjk, word_count, words};

/// Below this many words (CJK characters) nothing is a near duplicate.
pub const MIN_NEAR_DUPLICATE_WORDS: usize = 50;
/// The largest distance between the SimHashes of near duplicates, in bits of 64 (Manku, Jain and
/// Das Sarma 2007).
const MAX_HAMMING: u32 = 3;
/// The share of the longer text that near duplicates have in common, in order.
const MIN_COMMON: f64 = 0.8;
/// Longer texts are compared on this many characters or words: it bounds the cost of one comparison
/// to tens of milliseconds.
const MAX_COMPARED_CHARS: usize = 100_000;
const MAX_COMPARED_WORDS: usize = 20_000;

/// A 64-bit fingerprint that differs in few bits for texts that share most words (Charikar 2002).
///
/// Features are the words in lower case, and for CJK text the pairs of neighbouring characters;
/// order does not count. A text without words has fingerprint 0.
///
/// ```
/// use episodica_core::text::{hamming, simhash64};
/// assert_eq!(hamming(simhash64("Tea, green."), simhash64("green tea")), 0);
/// ```
pub fn simhash64(text: &str) -> u64 {
    let mut votes = [0i32; 64];
    let mut previous: Option<&str> = None;
    for word in words(text) {
        let cjk = word.starts_with(is_cjk);
        match previous {
            Some(before) if cjk => vote(&mut votes, feature(before.chars().chain(word.chars()))),
            _ if cjk => {}
            _ => vote(&mut votes, feature(word.chars().flat_map(char::to_lowercase))),
        }
        previous = cjk.then_some(word);
    }
    votes.iter().enumerate().fold(0, |bits, (at, &sum)| bits | u64::from(sum > 0) << at)
}

fn vote(votes: &mut [i32; 64], feature: u64) {
    for (at, sum) in votes.iter_mut().enumerate() {
        *sum = sum.saturating_add(if feature >> at & 1 == 1 { 1 } else { -1 });
    }
}

/// FNV-1a over the characters, finished with the mixer of SplitMix64: fingerprints are stored, so
/// the function is fixed.
fn feature(chars: impl Iterator<Item = char>) -> u64 {
    let mut hash = chars.fold(0xCBF2_9CE4_8422_2325_u64, |hash, c| {
        (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0100_0000_01B3)
    });
    hash = (hash ^ hash >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    hash ^ hash >> 31
}

/// In how many bits two fingerprints differ (0 to 64).
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// The longest run of characters that both texts have, as a share (0 to 1) of the longer one.
///
/// Compares the first 100,000 characters of each; time is O(n log n). Two empty texts are alike
/// (1).
///
/// ```
/// use episodica_core::text::longest_common_substring_ratio;
/// assert_eq!(longest_common_substring_ratio("abcdef", "xbcdex"), 4.0 / 6.0);
/// ```
pub fn longest_common_substring_ratio(a: &str, b: &str) -> f64 {
    let a: Vec<char> = a.chars().take(MAX_COMPARED_CHARS).collect();
    let b: Vec<char> = b.chars().take(MAX_COMPARED_CHARS).collect();
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    // A common run of length n contains one of every smaller length, so the longest is found by
    // bisection.
    let (mut known, mut above) = (0, a.len().min(b.len()) + 1);
    while above - known > 1 {
        let middle = known + (above - known) / 2;
        let seen: HashSet<u64, BuildHasherDefault<AsIs>> = windows(&a, middle).collect();
        if windows(&b, middle).any(|hash| seen.contains(&hash)) {
            known = middle;
        } else {
            above = middle;
        }
    }
    known as f64 / longer as f64
}

/// The prime 2^61 - 1, modulo which hashes are taken.
const PRIME: u64 = (1 << 61) - 1;

/// `a * b` modulo [`PRIME`]; both are below it.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let folded = (product as u64 & PRIME) + (product >> 61) as u64;
    if folded >= PRIME { folded - PRIME } else { folded }
}

/// Rolling hashes of all runs of `size` characters: a chance collision among 100,000 runs has odds
/// of some 10^-9.
fn windows(chars: &[char], size: usize) -> impl Iterator<Item = u64> {
    const BASE: u64 = 0x0123_4567_89AB_CDEF;
    let leading = (1..size).fold(1, |power, _| times(power, BASE));
    let mut hash = 0;
    chars.iter().enumerate().filter_map(move |(at, &c)| {
        if at >= size {
            hash =
                (hash + PRIME - times(u64::from(u32::from(chars[at - size])) + 1, leading)) % PRIME;
        }
        hash = (times(hash, BASE) + u64::from(u32::from(c)) + 1) % PRIME;
        (at + 1 >= size).then_some(hash)
    })
}

/// A hasher for numbers that are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        // The table takes its tag from the highest bits, which a number below 2^61 leaves empty.
        self.0 = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

/// The longest series of words that both texts have in the same order, gaps allowed, as a share (0
/// to 1) of the longer one in words.
///
/// Compares the first 20,000 words (CJK characters) of each, without regard to case; time is O(n *
/// m / 64). Two texts without words are alike (1).
///
/// ```
/// use episodica_core::text::longest_common_subsequence_ratio;
/// assert_eq!(longest_common_subsequence_ratio("we met in the park", "We met at the park."), 0.8);
/// ```
pub fn longest_common_subsequence_ratio(a: &str, b: &str) -> f64 {
    let a: Vec<u64> = word_features(a);
    let b: Vec<u64> = word_features(b);
    let longer = a.len().max(b.len());
    if longer == 0 {
        return 1.0;
    }
    common_subsequence(&a, &b) as f64 / longer as f64
}

fn word_features(text: &str) -> Vec<u64> {
    words(text)
        .take(MAX_COMPARED_WORDS)
        .map(|word| feature(word.chars().flat_map(char::to_lowercase)))
        .collect()
}

/// The bit-parallel algorithm of Hyyrö (2004): one bit a word of `a`, one pass over those bits for
/// each word of `b`.
fn common_subsequence(a: &[u64], b: &[u64]) -> usize {
    let blocks = a.len().div_ceil(64);
    let mut places: HashMap<u64, Vec<u32>> = HashMap::new();
    for (at, &word) in a.iter().enumerate() {
        places.entry(word).or_default().push(at as u32);
    }
    let mut row = vec![u64::MAX; blocks];
    let mut matches = vec![0u64; blocks];
    for word in b {
        let Some(positions) = places.get(word) else { continue };
        for &at in positions {
            matches[at as usize / 64] |= 1 << (at % 64);
        }
        let mut carry = false;
        for (block, &matching) in row.iter_mut().zip(&matches) {
            let hit = *block & matching;
            let (sum, over) = block.overflowing_add(hit);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            carry = over | over_again;
            *block = sum | (*block & !matching);
        }
        for &at in positions {
            matches[at as usize / 64] = 0;
        }
    }
    let tail = a.len() % 64;
    row.iter()
        .enumerate()
        .map(|(at, &block)| {
            let used = if at + 1 == blocks && tail != 0 { (1u64 << tail) - 1 } else { u64::MAX };
            (!block & used).count_ones() as usize
        })
        .sum()
}

/// Whether two long texts tell the same thing in (nearly) the same words: at least
/// [`MIN_NEAR_DUPLICATE_WORDS`] words each, SimHash distance of at most 3 bits, and more than 80 %
/// of the longer one in common in order.
///
/// Never for facts: one changed word may be all that matters there.
///
/// ```
/// use episodica_core::text::is_near_duplicate;
/// let log = "the quick brown fox jumps over the lazy dog near the river ".repeat(6);
/// assert!(is_near_duplicate(&log, &log.to_uppercase()));
/// assert!(!is_near_duplicate("works at Google", "works at Google"));
/// ```
pub fn is_near_duplicate(a: &str, b: &str) -> bool {
    word_count(a) >= MIN_NEAR_DUPLICATE_WORDS
        && word_count(b) >= MIN_NEAR_DUPLICATE_WORDS
        && hamming(simhash64(a), simhash64(b)) <= MAX_HAMMING
        && longest_common_subsequence_ratio(a, b) > MIN_COMMON
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slow_subsequence(a: &[u64], b: &[u64]) -> usize {
        let mut row = vec![0; b.len() + 1];
        for x in a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        row[b.len()]
    }

    #[test]
    fn fingerprints_are_stable() {
        assert_eq!(simhash64(""), 0);
        assert_eq!(hamming(0b1011, 0b0010), 2);
        assert_eq!(simhash64("Green TEA"), simhash64("green tea"));
        assert_ne!(simhash64("我喜欢绿茶"), simhash64("绿茶喜欢我"));
    }

    #[test]
    fn unrelated_texts_are_far_apart() {
        let a = "we walked along the river and talked about the garden that her uncle planted before the war";
        let b = "my laptop crashed twice during the demo so the client asked for another meeting on Monday";
        assert!(hamming(simhash64(a), simhash64(b)) > 15);
    }

    #[test]
    fn substrings_of_long_runs_stay_fast() {
        let (a, b) = ("a".repeat(1_000_000), "ab".repeat(500_000));
        assert!(longest_common_substring_ratio(&a, &b) < 0.001);
        assert_eq!(longest_common_substring_ratio("", ""), 1.0);
        assert_eq!(longest_common_substring_ratio("", "x"), 0.0);
        assert_eq!(longest_common_substring_ratio("昨天去了公园", "昨天去了商店"), 4.0 / 6.0);
    }

    #[test]
    fn short_texts_are_never_near_duplicates() {
        let text = "one two three four five ".repeat(9);
        assert!(!is_near_duplicate(&text, &text));
    }

    proptest! {
        #[test]
        fn bit_parallel_equals_the_textbook(a in prop::collection::vec(0u64..6, 0..200), b in prop::collection::vec(0u64..6, 0..200)) {
            prop_assert_eq!(common_subsequence(&a, &b), slow_subsequence(&a, &b));
        }
    }
}
