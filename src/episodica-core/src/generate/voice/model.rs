//! The learned weights: a small network that reads a piece, and a chain over the pieces of a
//! message.
//!
//! The `glance` reads the means of a piece's rows in the table of the sentence encoder, and hashes
//! of its words, which costs less than a vector. The chain is a conditional random field with two
//! states, own and other: each piece has a score from its layout and its readings, each pair of
//! neighbours one from the way in which the second follows. `tools/train_voice.py` trains both on
//! the labelled messages of `tools/labels/voice` and writes `assets/voice.bin`, 16-bit numbers.

use half::f16;

use super::layout::FEATURES;
use crate::embed::CompactEmbedder;
use crate::fork::ForkLazy;
use crate::text::hash::Fnv1a;
use crate::text::script::{is_alphanumeric, is_ideograph_or_kana};

static FILE: &[u8] = include_bytes!("../../../assets/voice.bin");
static PACKAGED: ForkLazy<Vec<f32>> = ForkLazy::new(|| numbers(FILE));

/// Sizes of the glance: what it reads, and its hidden values.
const MEANS: usize = 768;
const WORDS: usize = 768;
pub(super) const GLANCE: usize = MEANS + WORDS;
const GLANCE_HIDDEN: usize = 48;
/// Letters at the start of a longer word that are a feature of their own.
const STEM: usize = 5;
/// Number of scores.
const SCORES: usize = 5;
/// Hidden values of the network that scores a layout.
const CHAIN_HIDDEN: usize = 24;
/// Kinds of places between two pieces: four edges, after an opening or not.
pub(super) const JOINTS: usize = 8;

/// A map to hidden values with a bias each, and one from them to the scores.
const GLANCE_WEIGHTS: usize = GLANCE_HIDDEN * (GLANCE + 1) + SCORES * (GLANCE_HIDDEN + 1);
const CHAIN_WEIGHTS: usize = CHAIN_HIDDEN * (FEATURES + 2) + FEATURES + 4 * JOINTS;
const WEIGHTS: usize = GLANCE_WEIGHTS + CHAIN_WEIGHTS;

/// The numbers of a file of weights.
pub(super) fn numbers(file: &[u8]) -> Vec<f32> {
    let (pairs, _) = file.as_chunks();
    pairs.iter().map(|pair| f16::from_le_bytes(*pair).to_f32()).collect()
}

/// What a piece says, as far as its words tell; above 0 means yes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PieceScores {
    /// It announces or concerns words that are not the writer's: "Summarise this blog:".
    pub announces: f32,
    /// Its "I" is another or an invented person: "In my novel I live in Oslo."
    pub invents: f32,
    /// It asks an assistant for something.
    pub asks: f32,
    /// It is a person's name.
    pub names: f32,
    /// It tells something, though the sentence around it asks: "I'm vegan, what can I eat?"
    pub states: f32,
}

impl PieceScores {
    /// The scores of a piece without words.
    pub const NONE: Self =
        Self { announces: -4.0, invents: -4.0, asks: -4.0, names: -4.0, states: -4.0 };

    fn of(scores: [f32; SCORES]) -> Self {
        let [announces, invents, asks, names, states] = scores;
        Self { announces, invents, asks, names, states }
    }
}

/// What the glance reads of a text; `None` for a text without pieces.
pub(super) fn reading(text: &str) -> Option<[f32; GLANCE]> {
    let means = CompactEmbedder::table_means(text)?;
    let mut read = [0.0; GLANCE];
    read[..MEANS].copy_from_slice(&means);
    let sums = &mut read[MEANS..];
    let mut features = 0_u32;
    let mut add = |feature: Fnv1a| {
        let hash = feature.finish();
        let hash = hash >> 32 ^ hash;
        let sign = if hash >> 31 & 1 == 0 { 1.0 } else { -1.0 };
        sums[hash as usize % WORDS] += sign;
        features += 1;
    };
    let lower = text.to_lowercase().replace('’', "'");
    let mut before = Fnv1a::default().then('^');
    for word in words(&lower) {
        let whole = Fnv1a::default().then_all(word.chars());
        add(whole);
        add(before.then(' ').then_all(word.chars()));
        if word.chars().count() > STEM {
            add(Fnv1a::default().then('-').then_all(word.chars().take(STEM)));
        }
        before = whole;
    }
    add(before.then('$'));
    let root = (features as f32).sqrt();
    sums.iter_mut().for_each(|sum| *sum /= root);
    Some(read)
}

/// The words of a text; a Chinese or Japanese character is one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_of_word = |c: char| c == '\'' || is_alphanumeric(c) || is_ideograph_or_kana(c);
        rest = &rest[rest.find(is_of_word)?..];
        let first = rest.chars().next()?;
        let end = if is_ideograph_or_kana(first) {
            first.len_utf8()
        } else {
            rest.find(|c| !is_of_word(c) || is_ideograph_or_kana(c)).unwrap_or(rest.len())
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// The sum of the products. It is the same on every processor, and eight partial sums let the
/// compiler use vector instructions.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// The weights.
#[derive(Clone, Copy)]
pub(super) struct VoiceModel<'w>(&'w [f32]);

impl VoiceModel<'static> {
    /// The weights of the package.
    pub fn packaged() -> Self {
        Self(&PACKAGED)
    }
}

impl<'w> VoiceModel<'w> {
    /// Weights in the order of the file; `None` if their number is not right.
    #[cfg(test)]
    pub fn of(weights: &'w [f32]) -> Option<Self> {
        (weights.len() == WEIGHTS).then_some(Self(weights))
    }

    /// Scores a text by its table rows.
    pub fn glance(self, text: &str) -> PieceScores {
        let Some(read) = reading(text) else { return PieceScores::NONE };
        let (rows, out) = self.0[..GLANCE_WEIGHTS].split_at(GLANCE_HIDDEN * (GLANCE + 1));
        let mut scores = [0.0; SCORES];
        for (score, row) in scores.iter_mut().zip(out.chunks_exact(GLANCE_HIDDEN + 1)) {
            *score = row[GLANCE_HIDDEN];
        }
        for (unit, row) in rows.chunks_exact(GLANCE + 1).enumerate() {
            let value = (dot(&read, &row[..GLANCE]) + row[GLANCE]).max(0.0);
            for (score, row) in scores.iter_mut().zip(out.chunks_exact(GLANCE_HIDDEN + 1)) {
                *score += value * row[unit];
            }
        }
        PieceScores::of(scores)
    }

    /// How much more a layout speaks for another's words than for the writer's own: a network with
    /// one score, and a weight of each feature beside it.
    pub fn layout(self, features: &[f32; FEATURES]) -> f32 {
        let rows = &self.0[GLANCE_WEIGHTS..];
        let (rows, rest) = rows.split_at(CHAIN_HIDDEN * (FEATURES + 1));
        let (out, direct) = rest.split_at(CHAIN_HIDDEN);
        let hidden = rows
            .chunks_exact(FEATURES + 1)
            .zip(out)
            .map(|(row, out)| (dot(features, &row[..FEATURES]) + row[FEATURES]).max(0.0) * out);
        hidden.sum::<f32>() + dot(features, &direct[..FEATURES])
    }

    /// How well a state follows another one at a joint; true stands for other.
    fn joint(self, joint: usize, from: bool, to: bool) -> f32 {
        let start = WEIGHTS - 4 * JOINTS;
        self.0[start + 4 * joint + 2 * usize::from(from) + usize::from(to)]
    }

    /// The most likely states of a chain, true for other. `layouts` has the score of each piece,
    /// `joints` the joint before each piece, `known` the states that are certain.
    pub fn best_states(
        self,
        layouts: &[f32],
        joints: &[usize],
        known: &[Option<bool>],
    ) -> Vec<bool> {
        // For each piece and state, the better state of the piece before.
        let mut back: Vec<[bool; 2]> = Vec::with_capacity(layouts.len());
        let mut best = [0.0_f32; 2];
        for (at, layout) in layouts.iter().enumerate() {
            let (mut next, mut origin) = ([0.0_f32; 2], [false; 2]);
            for state in [false, true] {
                let from = |before: bool| {
                    best[usize::from(before)] + self.joint(joints[at], before, state)
                };
                let (value, before) = match at {
                    0 => (0.0, false),
                    _ if from(true) > from(false) => (from(true), true),
                    _ => (from(false), false),
                };
                let is_excluded = known[at].is_some_and(|known| known != state);
                let own = if state { *layout } else { 0.0 };
                next[usize::from(state)] =
                    if is_excluded { f32::NEG_INFINITY } else { value + own };
                origin[usize::from(state)] = before;
            }
            back.push(origin);
            best = next;
        }
        let mut states = vec![false; layouts.len()];
        let mut state = best[1] > best[0];
        for (place, origin) in states.iter_mut().zip(&back).rev() {
            *place = state;
            state = origin[usize::from(state)];
        }
        states
    }
}
