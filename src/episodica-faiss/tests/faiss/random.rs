//! Random vectors for the tests, the same in every run.

use ndarray::Array2;

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Approximately normal: the sum of four uniform numbers, mean 0.
    pub fn normal(&mut self) -> f32 {
        (0..4).map(|_| (self.next() >> 40) as f32 / (1u64 << 24) as f32 - 0.5).sum()
    }

    /// Unit rows around `centres` random directions, as embeddings of talk are; `spread` is the
    /// length of the noise that is added to a centre of length 1.
    pub fn clustered(
        &mut self,
        n: usize,
        d: usize,
        centres: &Array2<f32>,
        spread: f32,
    ) -> Array2<f32> {
        let noise = spread / (d as f32).sqrt() * 3.0_f32.sqrt();
        let mut rows = Array2::zeros((n, d));
        for mut row in rows.rows_mut() {
            let centre = centres.row(self.below(centres.nrows()));
            for (x, c) in row.iter_mut().zip(centre) {
                *x = c + noise * self.normal();
            }
            normalise(row.as_slice_mut().expect("invariant: rows of a new array are contiguous"));
        }
        rows
    }

    /// Unit rows in random directions.
    pub fn directions(&mut self, n: usize, d: usize) -> Array2<f32> {
        let mut rows = Array2::from_shape_simple_fn((n, d), || self.normal());
        for mut row in rows.rows_mut() {
            normalise(row.as_slice_mut().expect("invariant: rows of a new array are contiguous"));
        }
        rows
    }
}

fn normalise(row: &mut [f32]) {
    let norm = row.iter().map(|x| x * x).sum::<f32>().sqrt();
    row.iter_mut().for_each(|x| *x /= norm);
}
