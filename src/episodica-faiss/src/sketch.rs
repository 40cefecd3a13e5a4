//! Sign bits as a filter: one bit per dimension is enough to choose a few thousand of many rows for
//! exact comparison.
//!
//! Comparing all rows is limited by reading their bytes. The signs take a 32nd of these bytes and
//! cost nothing to append (inserting into a graph takes a millisecond per vector), and the rows
//! whose signs differ least from the query's include its nearest neighbours. There are three steps,
//! none of which reads the rows: the first half of the signs selects a few per cent of all rows;
//! the second half selects a quarter of those rows; then products of the query's values with the
//! rows' signs choose among that quarter. The caller compares the chosen rows exactly. Recall and
//! gain: docs/decisions/029-signs-before-vectors.md.

use episodica_core::index::sampled_bound;
use episodica_simd::{ROWS, add_differing_bits, bits_of, differing_bits, no_greater, zeroed_vec};

use crate::rows::RowSlice;

/// Number of rows selected by the first half of their signs, per row that is proposed. Twice as
/// many find nothing better; half as many find slightly worse rows.
const FRONT: usize = 4;
/// Number of rows whose distances are computed before they are filtered. The signs of this many fit
/// the processor's first-level cache.
const STRIP: usize = 512;

/// The signs of rows, in row order.
///
/// The first half of the signs is stored separately, in blocks of [`ROWS`] rows, so that values
/// compared together are adjacent. Most rows differ enough in the first half that their second half
/// is never read.
#[derive(Debug, Default)]
pub(crate) struct SignSketch {
    /// The first words of each row, in whole blocks. Unused rows of the last block are ignored.
    front: Vec<u64>,
    /// The other words, row by row.
    back: Vec<u64>,
    /// Number of words per row in `front` and in `back`.
    widths: [usize; 2],
    rows: usize,
}

impl SignSketch {
    pub(crate) fn new(dimension: usize) -> Self {
        let width = dimension.div_ceil(64);
        let front = width.div_ceil(2);
        Self { front: Vec::new(), back: Vec::new(), widths: [front, width - front], rows: 0 }
    }

    /// Appends whole rows.
    pub(crate) fn append_rows(&mut self, rows: RowSlice<'_>, dimension: usize) {
        let first = self.rows;
        self.resize_rows(first + rows.len() / dimension);
        self.write_signs(first, rows, dimension);
    }

    pub(crate) fn set_row(&mut self, row: usize, vector: RowSlice<'_>) {
        self.write_signs(row, vector, vector.len());
    }

    /// Overwrites the signs of the rows from row `first` on.
    fn write_signs(&mut self, first: usize, rows: RowSlice<'_>, dimension: usize) {
        for_each_signs(rows, dimension, |row, word, signs| {
            *self.word_at(first + row, word) = signs
        });
    }

    /// Copies the signs of row `from` over those of row `to`.
    pub(crate) fn copy_row(&mut self, from: usize, to: usize) {
        for word in 0..self.widths.iter().sum() {
            *self.word_at(to, word) = *self.word_at(from, word);
        }
    }

    /// Removes the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.resize_rows(self.rows.min(rows));
    }

    fn resize_rows(&mut self, rows: usize) {
        let [front, back] = self.widths;
        self.rows = rows;
        resize_words(&mut self.front, rows.div_ceil(ROWS) * ROWS * front);
        resize_words(&mut self.back, rows * back);
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        (self.front.capacity() + self.back.capacity()) * size_of::<u64>()
    }

    /// At least `wanted` rows, ascending, with the highest products of the query's values and their
    /// signs. They are chosen from the `proposed` rows whose signs differ least from the query's.
    /// Both steps include all rows that tie with the last, so that the order of arrival does not
    /// decide.
    pub(crate) fn nearest_rows(&self, query: &[f32], proposed: usize, wanted: usize) -> Vec<usize> {
        let alike = self.alike_rows(query, proposed);
        if alike.len() <= wanted {
            return alike;
        }
        let tables = products_by_byte(query);
        let score = |words: &[u64]| -> f32 {
            // Eight independent sums, since each addition to a single sum would wait for the
            // previous one.
            let mut sums = [0.0_f32; 8];
            for (word, tables) in words.iter().zip(tables.chunks(8)) {
                for ((sum, table), byte) in sums.iter_mut().zip(tables).zip(word.to_le_bytes()) {
                    *sum += table[usize::from(byte)];
                }
            }
            sums.iter().sum()
        };
        let words = self.words_of(&alike);
        let scores: Vec<f32> = words.chunks_exact(self.widths.iter().sum()).map(score).collect();
        let mut best = scores.clone();
        let least = *best.select_nth_unstable_by(wanted - 1, |a, b| b.total_cmp(a)).1;
        let chosen = alike.into_iter().zip(scores).filter(|(_, score)| *score >= least);
        chosen.map(|(row, _)| row).collect()
    }

    /// Collects the words of rows. The rows are scattered, so they are read in one tight loop that
    /// keeps many loads in flight.
    fn words_of(&self, rows: &[usize]) -> Vec<u64> {
        let [front, back] = self.widths;
        let mut words = Vec::with_capacity(rows.len() * (front + back));
        for row in rows {
            words.extend((0..front).map(|word| self.front[word_position(front, *row, word)]));
            words.extend_from_slice(&self.back[row * back..][..back]);
        }
        words
    }

    /// At least `wanted` rows, ascending, whose signs differ least from the query's, with all that
    /// tie with the last. They are chosen from the rows that differ least in the first half,
    /// [`FRONT`] per wanted row.
    fn alike_rows(&self, query: &[f32], wanted: usize) -> Vec<usize> {
        let [front, back] = self.widths;
        let mut signs = vec![0; front + back];
        for_each_signs(RowSlice::Single(query), query.len(), |_, word, bits| signs[word] = bits);
        let (front, rest) = signs.split_at(front);
        let mut alike = self.alike_in_front(front, wanted.saturating_mul(FRONT));
        add_differing_bits(rest, &self.back, &alike.rows, &mut alike.distances);
        alike.keep_nearest(wanted);
        alike.rows
    }

    /// At least `wanted` rows that differ least in the first half of the signs, with all that tie
    /// with the last.
    fn alike_in_front(&self, signs: &[u64], wanted: usize) -> SignMatches {
        let mut alike = self.up_to(signs, self.likely_bound(signs, wanted));
        if alike.rows.len() < wanted {
            alike = self.up_to(signs, u16::MAX);
        }
        alike.keep_nearest(wanted);
        alike
    }

    /// Estimates from a sample a number of differing signs in the first half that at least `wanted`
    /// rows do not exceed.
    fn likely_bound(&self, signs: &[u64], wanted: usize) -> u16 {
        /// Maximum number of blocks in the sample.
        const SAMPLE: usize = 511;
        let block = ROWS * self.widths[0];
        let blocks = self.front.len() / block;
        let mut sample = Vec::with_capacity(SAMPLE * ROWS);
        for block in self.front.chunks_exact(block).step_by(blocks / SAMPLE + 1) {
            let mut distances = [0; ROWS];
            differing_bits(signs, block, &mut distances);
            sample.extend(distances);
        }
        let share = wanted.saturating_mul(sample.len()).div_ceil(self.rows.max(1));
        sampled_bound(&sample, share, u16::cmp).unwrap_or(u16::MAX)
    }

    /// The rows with at most `most` differing signs in the first half, found in one pass.
    fn up_to(&self, signs: &[u64], most: u16) -> SignMatches {
        let mut alike = SignMatches::default();
        let (mut distances, mut near) = ([0; STRIP], [0; STRIP / 64]);
        let strips = self.front.chunks(STRIP * self.widths[0]);
        for (strip, first) in strips.zip((0..self.rows).step_by(STRIP)) {
            differing_bits(signs, strip, &mut distances);
            no_greater(&distances, most, &mut near);
            for place in bits_of(&near) {
                alike.rows.push(first + place);
                alike.distances.push(distances[place]);
            }
        }
        // Ignores the unused rows of the last block.
        let behind = alike.rows.partition_point(|row| *row < self.rows);
        alike.truncate(behind);
        alike
    }

    fn word_at(&mut self, row: usize, word: usize) -> &mut u64 {
        let [front, back] = self.widths;
        match word.checked_sub(front) {
            None => &mut self.front[word_position(front, row, word)],
            Some(word) => &mut self.back[row * back + word],
        }
    }
}

/// Resizes with zeros; the first allocation uses large pages.
fn resize_words(words: &mut Vec<u64>, count: usize) {
    if words.capacity() == 0 {
        *words = zeroed_vec(count);
    } else {
        words.resize(count, 0);
    }
}

/// Rows whose signs differ little from a query's, ascending.
#[derive(Debug, Default)]
struct SignMatches {
    rows: Vec<usize>,
    /// Number of differing signs of each row.
    distances: Vec<u16>,
}

impl SignMatches {
    /// Keeps only the nearest `wanted` rows and those that tie with the last.
    fn keep_nearest(&mut self, wanted: usize) {
        let most = self.distances.iter().copied().max().unwrap_or_default();
        let mut counts = vec![0; usize::from(most) + 1];
        self.distances.iter().for_each(|distance| counts[usize::from(*distance)] += 1);
        let mut nearer = 0;
        let last = counts.iter().position(|count: &usize| {
            nearer += count;
            nearer >= wanted
        });
        let Some(last) = last else { return };
        let mut kept = 0;
        for at in 0..self.rows.len() {
            let distance = self.distances[at];
            (self.rows[kept], self.distances[kept]) = (self.rows[at], distance);
            // Branch-free, since the processor cannot predict which rows stay.
            kept += usize::from(usize::from(distance) <= last);
        }
        self.truncate(kept);
    }

    fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
        self.distances.truncate(rows);
    }
}

/// For each byte of a row's signs and each value of that byte: the sum of the query's eight values
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

/// Position of a row's word in blocks of [`ROWS`] rows with `width` words each.
fn word_position(width: usize, row: usize, word: usize) -> usize {
    (row / ROWS * width + word) * ROWS + row % ROWS
}

/// Calls `visit` with the sign bits of rows, 64 at a time: row, index of the word, and its bits.
fn for_each_signs(rows: RowSlice<'_>, dimension: usize, visit: impl FnMut(usize, usize, u64)) {
    fn for_each_word<A: Copy>(
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
        RowSlice::Single(rows) => {
            for_each_word(rows, dimension, |number| u64::from(number.to_bits() >> 31), visit)
        }
        RowSlice::Half(rows) => {
            for_each_word(rows, dimension, |number| u64::from(number.to_bits() >> 15), visit)
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn over(rows: &[f32], dimension: usize) -> SignSketch {
        let mut sketch = SignSketch::new(dimension);
        sketch.append_rows(RowSlice::Single(rows), dimension);
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
        let mut sketch = SignSketch::new(131);
        sketch.append_rows(RowSlice::Half(&halves), 131);
        assert_eq!((sketch.front, sketch.back), {
            let single = over(&rows, 131);
            (single.front, single.back)
        });
    }

    #[test]
    fn rows_come_by_how_many_signs_differ() {
        let rows = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 1.0];
        let mut sketch = over(&rows, 3);
        assert_eq!(sketch.alike_rows(&[1.0, 1.0, 1.0], 1), [0]);
        assert_eq!(sketch.alike_rows(&[1.0, 1.0, 1.0], 2), [0, 2]);
        assert_eq!(sketch.alike_rows(&[1.0, 1.0, 1.0], 9), [0, 1, 2]);
        sketch.set_row(1, RowSlice::Single(&[1.0, 1.0, 1.0]));
        assert_eq!(sketch.alike_rows(&[1.0, 1.0, 1.0], 1), [0, 1]);
        sketch.copy_row(2, 0);
        sketch.truncate(2);
        assert_eq!(sketch.alike_rows(&[1.0, -1.0, 1.0], 1), [0]);
        assert_eq!(over(&[-1.0; 130], 65).alike_rows(&[-1.0; 65], 1), [0, 1]);
    }

    #[test]
    fn of_rows_with_as_many_differing_signs_those_win_that_differ_where_it_matters_least() {
        let rows = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]];
        let sketch = over(rows.as_flattened(), 3);
        assert_eq!(sketch.nearest_rows(&[0.9, 0.5, 0.1], 3, 1), [0]);
        assert_eq!(sketch.nearest_rows(&[0.9, 0.5, 0.1], 3, 2), [0, 2]);
        assert_eq!(sketch.nearest_rows(&[0.9, 0.5, 0.1], 4, 9), [0, 1, 2, 3]);
    }

    #[test]
    fn half_of_the_signs_and_then_all_propose_the_rows_that_counting_them_all_finds() {
        let (dimension, count) = (200, 3_001);
        let mut state = 1_u32;
        let mut number = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 31 == 0 { 1.0_f32 } else { -1.0 }
        };
        let rows: Vec<f32> = (0..count * dimension).map(|_| number()).collect();
        let query: Vec<f32> = (0..dimension).map(|_| number()).collect();
        let sketch = over(&rows, dimension);
        let differing = |row: usize, range: std::ops::Range<usize>| {
            range.filter(|at| (rows[row * dimension + at] < 0.0) != (query[*at] < 0.0)).count()
        };
        for wanted in [1, 40, 700] {
            let all: Vec<usize> = (0..count).collect();
            let nearest = |rows: Vec<usize>, wanted: usize, most: usize| -> Vec<usize> {
                let mut distances: Vec<usize> =
                    rows.iter().map(|row| differing(*row, 0..most)).collect();
                distances.sort_unstable();
                let last = distances[wanted.min(rows.len()) - 1];
                rows.into_iter().filter(|row| differing(*row, 0..most) <= last).collect()
            };
            let in_front = nearest(all, FRONT * wanted, 128);
            assert_eq!(sketch.alike_rows(&query, wanted), nearest(in_front, wanted, dimension));
        }
        assert_eq!(sketch.alike_rows(&query, 5_000).len(), count);
    }

    #[test]
    fn no_order_of_rows_decides_which_of_equal_ones_are_chosen() {
        let rows = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]];
        let sketch = over(rows.as_flattened(), 3);
        assert_eq!(sketch.nearest_rows(&[0.5, 0.5, 0.1], 3, 2), [0, 1, 2]);
    }
}
