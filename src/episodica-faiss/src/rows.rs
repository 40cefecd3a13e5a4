//! The rows of a flat index: owned by FAISS if there are few, and here in half precision if there
//! are many.
//!
//! FAISS stores a flat index in single precision, 102 MB for 100,000 rows of 256 values. So more
//! than [`MANY`] rows are converted to half precision, which changes an inner product of unit
//! vectors by about 0.0001. They stay in half precision even if rows are removed. Labels, sketch
//! and mean belong to the index.

use episodica_core::Result;
use episodica_core::index::Matrix;
use episodica_simd::{half_inner_products, inner_product};
use half::f16;
use half::slice::HalfFloatSliceExt;
use ndarray::ArrayView2;

use crate::native::NativeIndex;

/// Up to this many rows, FAISS owns them.
pub(crate) const MANY: usize = 4_096;
/// Growth of the rows in half precision: at least 1 / `ROOM` of their current size. Doubling
/// would use as much memory as single precision.
const ROOM: usize = 8;

/// Contiguous rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RowSlice<'a> {
    Single(&'a [f32]),
    Half(&'a [f16]),
}

impl RowSlice<'_> {
    /// Number of values.
    pub(crate) fn len(self) -> usize {
        match self {
            Self::Single(numbers) => numbers.len(),
            Self::Half(numbers) => numbers.len(),
        }
    }

    /// The values in a range.
    pub(crate) fn part_of(self, range: std::ops::Range<usize>) -> Self {
        match self {
            Self::Single(numbers) => Self::Single(&numbers[range]),
            Self::Half(numbers) => Self::Half(&numbers[range]),
        }
    }

    /// Copies to single precision.
    pub(crate) fn to_single(self) -> Vec<f32> {
        match self {
            Self::Single(numbers) => numbers.to_vec(),
            Self::Half(numbers) => numbers.to_f32_vec(),
        }
    }

    /// Inner product of `query` with each of `rows`, computed as in FAISS.
    pub(crate) fn inner_products(self, query: &[f32], rows: &[usize]) -> Vec<f32> {
        let d = query.len();
        let mut products = vec![0.0; rows.len()];
        match self {
            Self::Single(numbers) => {
                for (row, product) in rows.iter().zip(&mut products) {
                    *product = inner_product(query, &numbers[row * d..][..d]);
                }
            }
            Self::Half(halves) => {
                half_inner_products(query, halves.reinterpret_cast(), rows, &mut products);
            }
        }
        products
    }
}

enum RowNumbers {
    Single(NativeIndex),
    Half(Vec<f16>),
}

/// Contiguous rows of one dimension.
pub(crate) struct RowMatrix {
    numbers: RowNumbers,
    dimension: usize,
}

impl RowMatrix {
    pub(crate) fn new(dimension: usize) -> Result<Self> {
        Ok(Self { numbers: RowNumbers::Single(NativeIndex::new(dimension)?), dimension })
    }

    /// Takes over stored rows. Rows in half precision keep it, even if there are few, and are moved
    /// if they are owned.
    pub(crate) fn over_matrix(matrix: Matrix<'_>) -> Result<Self> {
        let dimension = matrix.ncols();
        match matrix {
            Matrix::Single(rows) if rows.nrows() <= MANY => {
                let mut native = NativeIndex::new(dimension)?;
                native.add_rows(
                    rows.as_standard_layout().as_slice().expect("invariant: standard layout"),
                )?;
                Ok(Self { numbers: RowNumbers::Single(native), dimension })
            }
            many => {
                let rows = many.into_half();
                let halves = if rows.is_standard_layout() {
                    rows.into_owned()
                } else {
                    rows.as_standard_layout().into_owned()
                };
                let (mut halves, first) = halves.into_raw_vec_and_offset();
                halves.drain(..first.unwrap_or(0));
                Ok(Self { numbers: RowNumbers::Half(halves), dimension })
            }
        }
    }

    pub(crate) fn all_rows(&self) -> RowSlice<'_> {
        match &self.numbers {
            RowNumbers::Single(native) => RowSlice::Single(native.rows()),
            RowNumbers::Half(halves) => RowSlice::Half(halves),
        }
    }

    /// The rows from `row` on.
    pub(crate) fn from(&self, row: usize) -> RowSlice<'_> {
        let all = self.all_rows();
        all.part_of(row * self.dimension..all.len())
    }

    pub(crate) fn row_at(&self, row: usize) -> RowSlice<'_> {
        self.all_rows().part_of(row * self.dimension..(row + 1) * self.dimension)
    }

    pub(crate) fn as_matrix(&self) -> Matrix<'_> {
        fn array_view<A>(numbers: &[A], dimension: usize) -> ArrayView2<'_, A> {
            ArrayView2::from_shape((numbers.len() / dimension, dimension), numbers)
                .expect("invariant: rows are whole")
        }
        match self.all_rows() {
            RowSlice::Single(numbers) => array_view(numbers, self.dimension).into(),
            RowSlice::Half(numbers) => array_view(numbers, self.dimension).into(),
        }
    }

    /// The FAISS index, if it owns the rows.
    pub(crate) fn native_index(&self) -> Option<&NativeIndex> {
        match &self.numbers {
            RowNumbers::Single(native) => Some(native),
            RowNumbers::Half(_) => None,
        }
    }

    /// Appends whole rows, whose values are finite in half precision. Returns true if this
    /// converted all rows to half precision.
    pub(crate) fn append_rows(&mut self, rows: &[f32]) -> Result<bool> {
        match &mut self.numbers {
            RowNumbers::Single(native)
                if native.row_count() + rows.len() / self.dimension <= MANY =>
            {
                native.add_rows(rows).map(|()| false)
            }
            RowNumbers::Single(native) => {
                let before = native.rows();
                let mut halves = Vec::with_capacity(before.len() + rows.len());
                append_rounded(&mut halves, before);
                append_rounded(&mut halves, rows);
                self.numbers = RowNumbers::Half(halves);
                Ok(true)
            }
            RowNumbers::Half(halves) => {
                append_rounded(halves, rows);
                Ok(false)
            }
        }
    }

    pub(crate) fn set_row(&mut self, row: usize, vector: &[f32]) {
        let place = row * self.dimension..(row + 1) * self.dimension;
        match &mut self.numbers {
            RowNumbers::Single(native) => native.rows_mut()[place].copy_from_slice(vector),
            RowNumbers::Half(halves) => halves[place].convert_from_f32_slice(vector),
        }
    }

    /// Copies row `from` over row `to`.
    pub(crate) fn copy_row(&mut self, from: usize, to: usize) {
        let (source, place) =
            (from * self.dimension..(from + 1) * self.dimension, to * self.dimension);
        match &mut self.numbers {
            RowNumbers::Single(native) => native.rows_mut().copy_within(source, place),
            RowNumbers::Half(halves) => halves.copy_within(source, place),
        }
    }

    /// Removes the rows from `rows` on.
    pub(crate) fn truncate(&mut self, rows: usize) -> Result<()> {
        match &mut self.numbers {
            RowNumbers::Single(native) => native.truncate(rows),
            RowNumbers::Half(halves) => {
                halves.truncate(rows * self.dimension);
                if halves.len() < halves.capacity() / 2 {
                    halves.shrink_to_fit();
                }
                Ok(())
            }
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        match &self.numbers {
            RowNumbers::Single(native) => native.row_count() * self.dimension * size_of::<f32>(),
            RowNumbers::Half(halves) => halves.capacity() * size_of::<f16>(),
        }
    }
}

/// Appends values, rounded to half precision.
fn append_rounded(halves: &mut Vec<f16>, numbers: &[f32]) {
    let before = halves.len();
    if halves.capacity() < before + numbers.len() {
        halves.reserve_exact(numbers.len().max(before / ROOM));
    }
    halves.resize(before + numbers.len(), f16::ZERO);
    halves[before..].convert_from_f32_slice(numbers);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(rows: &RowMatrix) -> Vec<f32> {
        rows.as_matrix().to_single().into_raw_vec_and_offset().0
    }

    #[test]
    fn rows_become_halves_above_the_border_and_stay_so() {
        let mut rows = RowMatrix::new(1).unwrap();
        let counted: Vec<f32> = (0..MANY).map(|row| (row % 2_000) as f32).collect();
        assert!(!rows.append_rows(&counted).unwrap());
        assert!(rows.native_index().is_some() && !rows.as_matrix().is_half());
        assert!(rows.append_rows(&[0.1]).unwrap());
        assert!(rows.native_index().is_none() && rows.as_matrix().is_half());
        assert!(!rows.append_rows(&[0.2]).unwrap());
        let held = numbers(&rows);
        assert_eq!(held[..MANY], counted);
        assert_eq!(held[MANY..], [f16::from_f32(0.1).to_f32(), f16::from_f32(0.2).to_f32()]);
        rows.copy_row(MANY, 1);
        rows.set_row(0, &[7.0]);
        rows.truncate(2).unwrap();
        assert_eq!(numbers(&rows), [7.0, f16::from_f32(0.1).to_f32()]);
        assert!(rows.native_index().is_none());
        assert_eq!(rows.heap_bytes(), 4, "what was removed is given back");
    }

    #[test]
    fn halves_of_others_are_taken_over_in_place() {
        let halves = ndarray::Array2::from_shape_fn((3, 2), |(row, column)| {
            f16::from_f32((2 * row + column) as f32)
        });
        let (place, turned) = (halves.as_ptr(), halves.t().to_owned());
        let rows = RowMatrix::over_matrix(halves.clone().into()).unwrap();
        assert_eq!(numbers(&rows), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let moved = RowMatrix::over_matrix(halves.into()).unwrap();
        let RowSlice::Half(held) = moved.all_rows() else { panic!("halves stay halves") };
        assert_eq!(held.as_ptr(), place);
        assert_eq!(numbers(&RowMatrix::over_matrix(turned.t().into()).unwrap()), numbers(&rows));
        assert_eq!(
            numbers(&RowMatrix::over_matrix(turned.slice(ndarray::s![1.., 1..]).into()).unwrap()),
            [3.0, 5.0]
        );
    }
}
