//! One bit a dimension: enough to find out which few thousand of many rows are worth comparing in full.
//!
//! Comparing all rows reads all bytes of them, and that is what bounds it. A row's signs are a 32nd of that, they cost nothing to append (a graph
//! costs a millisecond a vector), and the rows with the fewest signs that differ from the query's hold its neighbours. Among
//! those the query's own numbers choose, still without a look at the rows. What is chosen is compared exactly by the caller. Recall and gain:
//! docs/performance.md.

/// The signs of rows, in their order.
#[derive(Debug, Default)]
pub(crate) struct Sketch {
    words: Vec<u64>,
    /// Words a row.
    width: usize,
}

impl Sketch {
    pub(crate) fn new(dimension: usize) -> Self {
        Self { words: Vec::new(), width: dimension.div_ceil(64) }
    }

    pub(crate) fn over(rows: &[f32], dimension: usize) -> Self {
        let mut sketch = Self::new(dimension);
        sketch.extend(rows, dimension);
        sketch
    }

    /// Appends whole rows.
    pub(crate) fn extend(&mut self, rows: &[f32], dimension: usize) {
        self.words.reserve(rows.len() / dimension * self.width);
        self.words.extend(rows.chunks_exact(dimension).flat_map(signs));
    }

    pub(crate) fn set(&mut self, row: usize, vector: &[f32]) {
        let words = &mut self.words[row * self.width..][..self.width];
        words.iter_mut().zip(signs(vector)).for_each(|(word, signs)| *word = signs);
    }

    /// Puts row `from` in the place of row `to`.
    pub(crate) fn copy(&mut self, from: usize, to: usize) {
        self.words.copy_within(from * self.width..(from + 1) * self.width, to * self.width);
    }

    /// Drops the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) {
        self.words.truncate(rows * self.width);
    }

    /// `wanted` rows with the highest products of the query and their signs, in rising order; they are sought among `proposed` rows (and all that
    /// tie with the last) with the fewest signs that differ from the query's.
    pub(crate) fn nearest(&self, query: &[f32], proposed: usize, wanted: usize) -> Vec<usize> {
        let rows = self.alike(query, proposed);
        if rows.len() <= wanted {
            return rows;
        }
        let tables = products_by_byte(query);
        let score = |row: usize| -> f32 {
            let words = &self.words[row * self.width..][..self.width];
            // Eight sums side by side: one after the other, each addition would wait for the one before.
            let mut sums = [0.0_f32; 8];
            for (word, tables) in words.iter().zip(tables.chunks(8)) {
                for ((sum, table), byte) in sums.iter_mut().zip(tables).zip(word.to_le_bytes()) {
                    *sum += table[usize::from(byte)];
                }
            }
            sums.iter().sum()
        };
        let mut scored: Vec<(f32, usize)> = rows.into_iter().map(|row| (score(row), row)).collect();
        scored.select_nth_unstable_by(wanted - 1, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut rows: Vec<usize> = scored.into_iter().take(wanted).map(|(_, row)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// At least `wanted` rows with the fewest signs that differ from the query's (all that tie with the last), in rising order.
    fn alike(&self, query: &[f32], wanted: usize) -> Vec<usize> {
        let query: Vec<u64> = signs(query).collect();
        let mut distances = vec![0_u16; self.words.len() / self.width];
        hamming_distances(&query, &self.words, &mut distances);
        let mut counts = vec![0_usize; 64 * self.width + 1];
        distances.iter().for_each(|distance| counts[usize::from(*distance)] += 1);
        let mut found = 0;
        let most = counts.iter().position(|count| {
            found += count;
            found >= wanted
        });
        let most = most.unwrap_or(counts.len());
        let mut rows = Vec::with_capacity(found);
        rows.extend(distances.iter().enumerate().filter(|(_, distance)| usize::from(**distance) <= most).map(|(row, _)| row));
        rows
    }
}

/// For each byte of a row's signs and each value of it, the sum of the query's eight numbers there, with these signs.
fn products_by_byte(query: &[f32]) -> Vec<[f32; 256]> {
    let table = |eight: &[f32]| {
        let mut table = [eight.iter().sum::<f32>(); 256];
        for byte in 1..256_usize {
            let lowest = byte.trailing_zeros() as usize;
            table[byte] = table[byte & (byte - 1)] - 2.0 * eight.get(lowest).copied().unwrap_or(0.0);
        }
        table
    };
    query.chunks(8).map(table).collect()
}

/// The sign bits of a vector, 64 a word.
fn signs(vector: &[f32]) -> impl Iterator<Item = u64> + '_ {
    vector.chunks(64).map(|chunk| chunk.iter().enumerate().fold(0, |word, (at, x)| word | u64::from(x.to_bits() >> 31) << at))
}

/// In how many bits `query` differs from each row of `rows`.
fn hamming_distances(query: &[u64], rows: &[u64], distances: &mut [u16]) {
    match query.len() {
        // The package's own vectors have 256 dimensions, MiniLM's 384: unrolled.
        4 => hamming_of_width::<4>(query, rows, distances),
        6 => hamming_of_width::<6>(query, rows, distances),
        width => {
            for (row, distance) in rows.chunks_exact(width).zip(distances) {
                *distance = row.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>() as u16;
            }
        }
    }
}

fn hamming_of_width<const WIDTH: usize>(query: &[u64], rows: &[u64], distances: &mut [u16]) {
    let Some(query) = query.first_chunk::<WIDTH>() else { return };
    for (row, distance) in rows.as_chunks::<WIDTH>().0.iter().zip(distances) {
        *distance = row.iter().zip(query).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>() as u16;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_by_how_many_signs_differ() {
        let rows = [1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 1.0];
        let mut sketch = Sketch::over(&rows, 3);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1), [0]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 2), [0, 2]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 9), [0, 1, 2]);
        sketch.set(1, &[1.0, 1.0, 1.0]);
        assert_eq!(sketch.alike(&[1.0, 1.0, 1.0], 1), [0, 1]);
        sketch.copy(2, 0);
        sketch.truncate(2);
        assert_eq!(sketch.alike(&[1.0, -1.0, 1.0], 1), [0]);
        assert_eq!(Sketch::over(&[-1.0; 130], 65).alike(&[-1.0; 65], 1), [0, 1]);
    }

    #[test]
    fn of_rows_with_as_many_differing_signs_those_win_that_differ_where_it_matters_least() {
        let rows = [[1.0, 1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, -1.0]];
        let sketch = Sketch::over(rows.as_flattened(), 3);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 3, 1), [0]);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 3, 2), [0, 2]);
        assert_eq!(sketch.nearest(&[0.9, 0.5, 0.1], 4, 9), [0, 1, 2, 3]);
    }
}
