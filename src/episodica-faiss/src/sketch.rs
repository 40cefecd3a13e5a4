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
/// Rows whose distances are found before any is looked at; the signs of so many stay in the
/// processor's nearest cache.
const STRIP: usize = 512;

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
        let alike = self.alike(query, proposed);
        if alike.rows.len() <= wanted {
            return alike.rows;
        }
        let tables = products_by_byte(query);
        let score = |words: &[u64]| -> f32 {
            // Eight sums side by side: one after the other, each addition would wait for the one
            // before.
            let mut sums = [0.0_f32; 8];
            for (word, tables) in words.iter().zip(tables.chunks(8)) {
                for ((sum, table), byte) in sums.iter_mut().zip(tables).zip(word.to_le_bytes()) {
                    *sum += table[usize::from(byte)];
                }
            }
            sums.iter().sum()
        };
        let scores = alike.words.chunks_exact(self.width).map(score);
        let mut scored: Vec<(f32, usize)> = scores.zip(alike.rows).collect();
        let (_, last, _) = scored.select_nth_unstable_by(wanted - 1, |a, b| b.0.total_cmp(&a.0));
        let least = last.0;
        let chosen = scored.into_iter().filter(|(score, _)| *score >= least);
        let mut rows: Vec<usize> = chosen.map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// At least `wanted` rows with the fewest signs that differ from the query's (all that tie with
    /// the last), in rising order.
    fn alike(&self, query: &[f32], wanted: usize) -> Alike {
        let mut signs = vec![0; self.width];
        for_each_signs(Slice::Single(query), query.len(), |_, word, bits| signs[word] = bits);
        let mut alike = self.up_to(&signs, self.likely_bound(&signs, wanted));
        if alike.rows.len() < wanted {
            alike = self.up_to(&signs, u16::MAX);
        }
        if (1..alike.rows.len()).contains(&wanted) {
            let mut distances = alike.distances.clone();
            let most = *distances.select_nth_unstable(wanted - 1).1;
            alike.keep_up_to(most, self.width);
        }
        alike
    }

    /// A number of signs that no more than which differ, by a sample, in `wanted` rows.
    fn likely_bound(&self, signs: &[u64], wanted: usize) -> u16 {
        /// Blocks of which one row is in the sample, at most.
        const SAMPLE: usize = 2_047;
        let block = ROWS * self.width;
        let blocks = self.words.len() / block;
        let mut sample = Vec::with_capacity(SAMPLE);
        for block in self.words.chunks_exact(block).step_by(blocks / SAMPLE + 1) {
            let mut distances = [0; ROWS];
            differing_bits(signs, block, &mut distances);
            sample.push(distances[0]);
        }
        let share = (wanted * sample.len()).div_ceil(self.rows.max(1));
        sampled_bound(&sample, share, u16::cmp).unwrap_or(u16::MAX)
    }

    /// The rows with no more than `most` signs that differ, in one walk: what is found is copied
    /// while it is in the processor's nearest cache.
    fn up_to(&self, signs: &[u64], most: u16) -> Alike {
        let mut alike = Alike::default();
        let mut distances = [0; STRIP];
        let strips = self.words.chunks(STRIP * self.width);
        for (strip, first) in strips.zip((0..self.rows).step_by(STRIP)) {
            let distances = &mut distances[..STRIP.min(strip.len() / self.width)];
            differing_bits(signs, strip, distances);
            let distances = &distances[..distances.len().min(self.rows - first)];
            for (block, at) in distances.chunks(BLOCK).zip((first..).step_by(BLOCK)) {
                // Most blocks have none. Without a branch for each row, the compiler compares
                // several at a time.
                if !block.iter().fold(false, |any, distance| any | (*distance <= most)) {
                    continue;
                }
                for (row, distance) in (at..).zip(block).filter(|(_, it)| **it <= most) {
                    alike.rows.push(row);
                    alike.distances.push(*distance);
                    let words = (0..self.width).map(|word| place(self.width, row, word));
                    alike.words.extend(words.map(|place| self.words[place]));
                }
            }
        }
        alike
    }
}

/// Rows with few signs that differ from a query's, in rising order.
#[derive(Debug, Default)]
struct Alike {
    rows: Vec<usize>,
    /// How many signs differ, by row.
    distances: Vec<u16>,
    /// The signs themselves, row after row.
    words: Vec<u64>,
}

impl Alike {
    /// Drops the rows with more than `most` signs that differ.
    fn keep_up_to(&mut self, most: u16, width: usize) {
        let mut kept = 0;
        for at in 0..self.rows.len() {
            if self.distances[at] <= most {
                self.rows[kept] = self.rows[at];
                self.distances[kept] = self.distances[at];
                self.words.copy_within(at * width..(at + 1) * width, kept * width);
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        self.distances.truncate(kept);
        self.words.truncate(kept * width);
    }
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
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1).rows, [0]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 2).rows, [0, 2]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 9).rows, [0, 1, 2]);
        sketch.set(1, Slice::Single(&[1.0, 1.0, 1.0]));
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1).rows, [0, 1]);
        sketch.copy(2, 0);
        sketch.truncate(2);
        assert_eq!(sketch.alike(&[1.0, -1.0, 1.0], 1).rows, [0]);
        assert_eq!(over(&[-1.0; 130], 65).alike(&[-1.0; 65], 1).rows, [0, 1]);
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
