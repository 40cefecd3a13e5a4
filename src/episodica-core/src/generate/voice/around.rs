//! The surroundings of each piece: the highest scores, and the last words of another.

use super::layout::PieceFacts;
use super::pieces::Piece;

/// The higher of two scores, as far as there are any.
pub(super) fn higher(one: Option<f32>, other: Option<f32>) -> Option<f32> {
    one.into_iter().chain(other).reduce(f32::max)
}

/// For each piece, the highest score by `asks` before it and after it in its block.
pub(super) fn asked(pieces: &[Piece], facts: &[PieceFacts]) -> Vec<[Option<f32>; 2]> {
    let mut found = vec![[None; 2]; pieces.len()];
    let mut gather = |order: &mut dyn Iterator<Item = usize>, slot: usize| {
        let mut most: Option<f32> = None;
        let mut block = None;
        for at in order {
            if block.replace(pieces[at].block) != Some(pieces[at].block) {
                most = None;
            }
            found[at][slot] = most;
            most = higher(most, Some(facts[at].heads.asks));
        }
    };
    gather(&mut (0..pieces.len()), 0);
    gather(&mut (0..pieces.len()).rev(), 1);
    found
}

/// What the pieces between two empty lines say together.
#[derive(Clone)]
pub(super) struct BlockFacts {
    pieces: usize,
    /// Number of pieces in the first person.
    pub(super) first_person: usize,
    /// The highest scores.
    pub(super) announces: f32,
    pub(super) asks: f32,
}

impl BlockFacts {
    /// The share of pieces in the first person.
    pub(super) fn share(&self) -> f32 {
        self.first_person as f32 / self.pieces.max(1) as f32
    }
}

/// The blocks of a message.
pub(super) fn block_facts(pieces: &[Piece], facts: &[PieceFacts]) -> Vec<BlockFacts> {
    let none = BlockFacts { pieces: 0, first_person: 0, announces: f32::MIN, asks: f32::MIN };
    let mut found = vec![none; pieces.last().map_or(0, |piece| piece.block + 1)];
    for (piece, facts) in pieces.iter().zip(facts) {
        let block = &mut found[piece.block];
        block.pieces += 1;
        block.first_person += usize::from(facts.first_person);
        block.announces = block.announces.max(facts.heads.announces);
        block.asks = block.asks.max(facts.heads.asks);
    }
    found
}

/// For each piece, the number of blocks from the last one before it that is certainly another's.
pub(super) fn since_foreign(pieces: &[Piece], foreign: &[bool]) -> Vec<Option<usize>> {
    let mut last = None;
    let since = pieces.iter().zip(foreign).map(|(piece, is_foreign)| {
        let blocks = last.map(|block| piece.block - block);
        if *is_foreign {
            last = Some(piece.block);
        }
        blocks
    });
    since.collect()
}

/// For each piece, the highest score by `announces` before it in its line, in its block, in earlier
/// blocks; and after it in the same three.
pub(super) fn announced(pieces: &[Piece], facts: &[PieceFacts]) -> Vec<[Option<f32>; 6]> {
    let mut found = vec![[None; 6]; pieces.len()];
    let mut gather = |order: &mut dyn Iterator<Item = usize>, slot: usize| {
        let mut most = [None::<f32>; 3];
        let mut last: Option<usize> = None;
        for at in order {
            let is_new = |place: fn(&Piece) -> usize| {
                last.is_some_and(|last| place(&pieces[last]) != place(&pieces[at]))
            };
            if is_new(|piece| piece.line) {
                most[1] = higher(most[1], most[0].take());
            }
            if is_new(|piece| piece.block) {
                most[2] = higher(most[2], most[1].take());
            }
            found[at][slot..slot + 3].copy_from_slice(&most);
            let score = facts[at].heads.announces;
            most[0] = Some(most[0].map_or(score, |most| most.max(score)));
            last = Some(at);
        }
    };
    gather(&mut (0..pieces.len()), 0);
    gather(&mut (0..pieces.len()).rev(), 3);
    found
}
