//! One bit a dimension: enough to find out which few thousand of many rows are worth comparing in
//! full.
//!
//! Comparing all rows reads all bytes of them, and that is what bounds it. A row's signs are a 32nd
//! of that, they cost nothing to append (a graph costs a millisecond a vector), and the rows with
//! the fewest signs that differ from the query's hold its neighbours. Among those the query's own
//! numbers choose, still without a look at the rows. What is chosen is compared exactly by the
//! caller. Recall and gain: docs/performance.md.

use episodica_core::index::sampled_bound;
use episodica_simd::{ROWS, differing_bits};

use crate::rows::Slice;

/// Rows whose distances are compared together.
const BLOCK: usize = 32;

/// The signs of rows, in their order, [`ROWS`] rows to a block: what is compared together lies
/// together.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    /// Whole blocks; what stands in the last one behind the rows counts for nothing.
    words: Vec<u64>,
    /// Words a row.
    width: usize,
    rows: usize,
}

impl Sketch {
    pub(crate) fn new(dimension: usize) -> Self {
        Self { words: Vec::new(), width: dimension.div_ceil(64), rows: 0 }
    }

    /// Appends whole rows.
    pub(crate) fn extend(&mut self, rows: Slice<'_>, dimension: usize) {
        let first = self.rows;
        self.rows += rows.len() / dimension;
        self.words.resize(self.rows.div_ceil(ROWS) * ROWS * self.width, 0);
        self.put(first, rows, dimension);
    }

    pub(crate) fn set(&mut self, row: usize, vector: Slice<'_>) {
        self.put(row, vector, vector.len());
    }

    /// Puts the signs of rows in the place of those from row `first` on.
    fn put(&mut self, first: usize, rows: Slice<'_>, dimension: usize) {
        for_each_signs(rows, dimension, |row, word, signs| {
            self.words[place(self.width, first + row, word)] = signs;
        });
    }

    /// Puts row `from` in the place of row `to`.
    pub(crate) fn copy(&mut self, from: usize, to: usize) {
        for word in 0..self.width {
            self.words[place(self.width, to, word)] = self.words[place(self.width, from, word)];
        }
    }

    /// Drops the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.words.truncate(self.rows.div_ceil(ROWS) * ROWS * self.width);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// At least `wanted` rows with the highest products of the query and their signs (all that tie
    /// with the last, so that the order of arrival does not decide), in rising order; they are
    /// sought among `proposed` rows (and all that tie with the last) with the fewest signs that
    /// differ from the query's.
    pub(crate) fn nearest(&self, query: &[f32], proposed: usize, wanted: usize) -> Vec<usize> {
        let rows = self.alike(query, proposed);
        if rows.len() <= wanted {
            return rows;
        }
        let tables = products_by_byte(query);
        let score = |row: usize| -> f32 {
            let words = (0..self.width).map(|word| self.words[place(self.width, row, word)]);
            // Eight sums side by side: one after the other, each addition would wait for the one
            // before.
            let mut sums = [0.0_f32; 8];
            for (word, tables) in words.zip(tables.chunks(8)) {
                for ((sum, table), byte) in sums.iter_mut().zip(tables).zip(word.to_le_bytes()) {
                    *sum += table[usize::from(byte)];
                }
            }
            sums.iter().sum()
        };
        let mut scored: Vec<(f32, usize)> = rows.into_iter().map(|row| (score(row), row)).collect();
        let (_, last, _) = scored.select_nth_unstable_by(wanted - 1, |a, b| b.0.total_cmp(&a.0));
        let least = last.0;
        let chosen = scored.into_iter().filter(|(score, _)| *score >= least);
        let mut rows: Vec<usize> = chosen.map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// At least `wanted` rows with the fewest signs that differ from the query's (all that tie with
    /// the last), in rising order.
    fn alike(&self, query: &[f32], wanted: usize) -> Vec<usize> {
        let mut signs = vec![0; self.width];
        for_each_signs(Slice::Single(query), query.len(), |_, word, bits| signs[word] = bits);
        let query = signs;
        let mut distances = vec![0_u16; self.words.len() / self.width];
        differing_bits(&query, &self.words, &mut distances);
        distances.truncate(self.rows);
        let bound = sampled_bound(&distances, wanted, u16::cmp);
        let mut rows = up_to(&distances, bound.unwrap_or(u16::MAX));
        if rows.len() < wanted {
            rows = (0..self.rows).collect();
        }
        if (1..rows.len()).contains(&wanted) {
            let mut near: Vec<u16> = rows.iter().map(|row| distances[*row]).collect();
            let most = *near.select_nth_unstable(wanted - 1).1;
            rows.retain(|row| distances[*row] <= most);
        }
        rows
    }
}

/// The rows whose distances are no greater than `most`, in rising order.
fn up_to(distances: &[u16], most: u16) -> Vec<usize> {
    let mut rows = Vec::new();
    for (block, first) in distances.chunks(BLOCK).zip((0..).step_by(BLOCK)) {
        // Most blocks have none. Without a branch for each row, the compiler compares several at a
        // time.
        if block.iter().fold(false, |any, distance| any | (*distance <= most)) {
            let near = (first..).zip(block).filter(|(_, distance)| **distance <= most);
            rows.extend(near.map(|(row, _)| row));
        }
    }
    rows
}

/// For each byte of a row's signs and each value of it, the sum of the query's eight numbers there,
/// with these signs.
fn products_by_byte(query: &[f32]) -> Vec<[f32; 256]> {
    let table = |eight: &[f32]| {
        let mut table = [eight.iter().sum::<f32>(); 256];
        for byte in 1..256_usize {
            let lowest = byte.trailing_zeros() as usize;
            table[byte] =
                table[byte & (byte - 1)] - 2.0 * eight.get(lowest).copied().unwrap_or(0.0);
        }
        table
    };
    query.chunks(8).map(table).collect()
}

/// Where a word of a row stands.
fn place(width: usize, row: usize, word: usize) -> usize {
    (row / ROWS * width + word) * ROWS + row % ROWS
}

/// Calls `visit` with the sign bits of rows, 64 at a time: number of the row, number of the word,
/// and its bits.
fn for_each_signs(rows: Slice<'_>, dimension: usize, visit: impl FnMut(usize, usize, u64)) {
    fn each<A: Copy>(
        rows: &[A],
        dimension: usize,
        sign: impl Fn(A) -> u64,
        mut visit: impl FnMut(usize, usize, u64),
    ) {
        for (row, numbers) in rows.chunks_exact(dimension).enumerate() {
            for (word, chunk) in numbers.chunks(64).enumerate() {
                let signs = chunk.iter().zip(0..);
                visit(row, word, signs.fold(0, |bits, (number, at)| bits | sign(*number) << at));
            }
        }
    }
    match rows {
        Slice::Single(rows) => {
            each(rows, dimension, |number| u64::from(number.to_bits() >> 31), visit)
        }
        Slice::Half(rows) => {
            each(rows, dimension, |number| u64::from(number.to_bits() >> 15), visit)
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn over(rows: &[f32], dimension: usize) -> Sketch {
        let mut sketch = Sketch::new(dimension);
        sketch.extend(Slice::Single(rows), dimension);
        sketch
    }

    #[test]
    fn halves_have_the_signs_of_what_they_were_rounded_from() {
        let rows: Vec<f32> = (0..2 * 131_u32)
            .map(|at| {
                [0.5, -1e-9, 0.0, -0.0, -3.0][(at.wrapping_mul(2_654_435_761) >> 7) as usize % 5]
            })
            .collect();
        let halves: Vec<f16> = rows.iter().copied().map(f16::from_f32).collect();
        let mut sketch = Sketch::new(131);
        sketch.extend(Slice::Half(&halves), 131);
        assert_eq!(sketch.words, over(&rows, 131).words);
    }

    #[test]
    fn rows_come_by_how_many_signs_differ() {
        let rows = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 1.0];
        let mut sketch = over(&rows, 3);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1), [0]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 2), [0, 2]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 9), [0, 1, 2]);
        sketch.set(1, Slice::Single(&[1.0, 1.0, 1.0]));
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1), [0, 1]);
        sketch.copy(2, 0);
        sketch.truncate(2);
        assert_eq!(sketch.alike(&[1.0, -1.0, 1.0], 1), [0]);
        assert_eq!(over(&[-1.0; 130], 65).alike(&[-1.0; 65], 1), [0, 1]);
    }

    #[test]
    fn of_rows_with_as_many_differing_signs_those_win_that_differ_where_it_matters_least() {
        let rows = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]];
        let sketch = over(rows.as_flattened(), 3);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 3, 1), [0]);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 3, 2), [0, 2]);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 4, 9), [0, 1, 2, 3]);
    }

    #[test]
    fn no_order_of_rows_decides_which_of_equal_ones_are_chosen() {
        let rows = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]];
        let sketch = over(rows.as_flattened(), 3);
        assert_eq!(sketch.nearest(&[0.5, 0.5, 0.1], 3, 2), [0, 1, 2]);
    }
}
