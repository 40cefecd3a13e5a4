//! Vectors as rows, in one of two precisions; indexes and caches share them without conversion.
//!
//! Half precision (IEEE 754 binary16) keeps 11 significant bits: it changes an inner product of
//! unit vectors by about 0.0001, and takes half the bytes. Each index chooses its precision. This
//! module only keeps, selects, reads and converts rows; it computes no similarities.

use std::io::{self, Read};

use bytemuck::Pod;
use half::f16;
use half::slice::HalfFloatSliceExt;
use ndarray::{Array2, ArrayView2, CowArray, Ix2};

/// Bytes read at a time, so that they are still in the processor's cache for the checksum.
const READ_BYTES: usize = 256 << 10;

/// A matrix of vectors, one a row: borrowed (from an index) or owned (read from a file; `'static`).
///
/// ```
/// use episodica_core::index::Matrix;
///
/// let rows = Matrix::from(ndarray::array![[1.0_f32, 0.0], [0.6, 0.8]]);
/// assert_eq!((rows.dim(), rows.is_half()), ((2, 2), false));
/// assert_eq!(rows.select(&[1]).to_single(), ndarray::array![[0.6_f32, 0.8]]);
/// ```
#[derive(Debug, Clone)]
pub enum Matrix<'a> {
    /// Single precision.
    Single(CowArray<'a, f32, Ix2>),
    /// Half precision.
    Half(CowArray<'a, f16, Ix2>),
}

/// Equal if precision and numbers are equal.
impl PartialEq<Matrix<'_>> for Matrix<'_> {
    fn eq(&self, other: &Matrix<'_>) -> bool {
        match (self, other) {
            (Self::Single(a), Matrix::Single(b)) => a == b,
            (Self::Half(a), Matrix::Half(b)) => a == b,
            _ => false,
        }
    }
}

impl Default for Matrix<'_> {
    fn default() -> Self {
        Self::from(Array2::<f32>::zeros((0, 0)))
    }
}

impl From<Array2<f32>> for Matrix<'_> {
    fn from(rows: Array2<f32>) -> Self {
        Self::Single(rows.into())
    }
}

impl From<Array2<f16>> for Matrix<'_> {
    fn from(rows: Array2<f16>) -> Self {
        Self::Half(rows.into())
    }
}

impl<'a> From<ArrayView2<'a, f32>> for Matrix<'a> {
    fn from(rows: ArrayView2<'a, f32>) -> Self {
        Self::Single(rows.into())
    }
}

impl<'a> From<ArrayView2<'a, f16>> for Matrix<'a> {
    fn from(rows: ArrayView2<'a, f16>) -> Self {
        Self::Half(rows.into())
    }
}

impl<'a> Matrix<'a> {
    /// Rows and columns.
    pub fn dim(&self) -> (usize, usize) {
        match self {
            Self::Single(rows) => rows.dim(),
            Self::Half(rows) => rows.dim(),
        }
    }

    /// Number of vectors.
    pub fn nrows(&self) -> usize {
        self.dim().0
    }

    /// Dimension of each vector.
    pub fn ncols(&self) -> usize {
        self.dim().1
    }

    /// True in half precision.
    pub fn is_half(&self) -> bool {
        matches!(self, Self::Half(_))
    }

    /// The same rows, borrowed.
    pub fn view(&self) -> Matrix<'_> {
        match self {
            Self::Single(rows) => rows.view().into(),
            Self::Half(rows) => rows.view().into(),
        }
    }

    /// The same rows, owned: moved if they were owned, else copied.
    pub fn into_owned(self) -> Matrix<'static> {
        match self {
            Self::Single(rows) => rows.into_owned().into(),
            Self::Half(rows) => rows.into_owned().into(),
        }
    }

    /// The rows at `places`. Returns the matrix itself if these are all rows in order, else copies.
    ///
    /// # Panics
    /// If a place is out of range.
    pub fn select(self, places: &[usize]) -> Self {
        match self {
            all if places.iter().copied().eq(0..all.nrows()) => all,
            all => all.copy_rows(places),
        }
    }

    /// Copies the rows at `places`.
    ///
    /// # Panics
    /// If a place is out of range.
    pub fn copy_rows<'b>(&self, places: &[usize]) -> Matrix<'b> {
        fn rows_at<A: Clone>(rows: &ArrayView2<'_, A>, places: &[usize]) -> Array2<A> {
            let shape = (places.len(), rows.ncols());
            let mut copies = episodica_simd::room_for(shape.0 * shape.1);
            for place in places {
                match rows.row(*place).as_slice() {
                    Some(row) => copies.extend_from_slice(row),
                    None => copies.extend(rows.row(*place).iter().cloned()),
                }
            }
            Array2::from_shape_vec(shape, copies).expect("invariant: rows of one length")
        }
        match self {
            Self::Single(rows) => rows_at(&rows.view(), places).into(),
            Self::Half(rows) => rows_at(&rows.view(), places).into(),
        }
    }

    /// The rows rounded to half precision.
    pub fn into_half(self) -> CowArray<'a, f16, Ix2> {
        match self {
            Self::Half(rows) => rows,
            Self::Single(rows) => {
                let rows = rows.as_standard_layout();
                let mut halves = vec![f16::ZERO; rows.len()];
                halves.convert_from_f32_slice(rows.as_slice().expect("invariant: standard layout"));
                Array2::from_shape_vec(rows.dim(), halves)
                    .expect("invariant: one half for each value")
                    .into()
            }
        }
    }

    /// The rows in half or in single precision.
    pub(crate) fn in_precision(self, is_half: bool) -> Self {
        match self {
            Self::Half(rows) if !is_half => rows.mapv(f16::to_f32).into(),
            rows if is_half => Self::Half(rows.into_half()),
            rows => rows,
        }
    }

    /// The numbers as they stand in memory, row by row.
    ///
    /// # Panics
    /// If the rows are not in standard layout.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        let numbers = match self {
            Self::Single(rows) => rows.as_slice().map(bytemuck::cast_slice),
            Self::Half(rows) => rows.as_slice().map(bytemuck::cast_slice),
        };
        numbers.expect("invariant: standard layout")
    }

    /// Reads the numbers of a matrix of this shape; also returns their CRC-32.
    ///
    /// # Errors
    /// Errors of `source`.
    pub(crate) fn read_rows(
        source: &mut dyn Read,
        shape: (usize, usize),
        is_half: bool,
    ) -> io::Result<(Matrix<'static>, u32)> {
        fn read<A: Pod>(
            source: &mut dyn Read,
            shape: (usize, usize),
        ) -> io::Result<(Array2<A>, u32)> {
            let mut numbers = episodica_simd::zeroed_vec::<A>(shape.0 * shape.1);
            let mut sum = crc32fast::Hasher::new();
            for bytes in bytemuck::cast_slice_mut::<A, u8>(&mut numbers).chunks_mut(READ_BYTES) {
                source.read_exact(bytes)?;
                sum.update(bytes);
            }
            let rows = Array2::from_shape_vec(shape, numbers).map_err(io::Error::other)?;
            Ok((rows, sum.finalize()))
        }
        Ok(if is_half {
            let (rows, sum) = read::<f16>(source, shape)?;
            (rows.into(), sum)
        } else {
            let (rows, sum) = read::<f32>(source, shape)?;
            (rows.into(), sum)
        })
    }

    /// A copy in single precision.
    pub fn to_single(&self) -> Array2<f32> {
        match self {
            Self::Single(rows) => rows.to_owned(),
            Self::Half(rows) => rows.mapv(f16::to_f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(rows: &Array2<f32>) -> Array2<f16> {
        rows.mapv(f16::from_f32)
    }

    #[test]
    fn all_rows_in_order_are_not_copied() {
        let rows =
            halves(&Array2::from_shape_fn((3, 2), |(row, column)| (2 * row + column) as f32));
        let place = rows.as_ptr();
        let borrowed = Matrix::from(rows.view());
        let Matrix::Half(same) = borrowed.clone().select(&[0, 1, 2]) else {
            panic!("halves stay halves")
        };
        assert_eq!(same.as_ptr(), place);
        assert_eq!(
            borrowed.clone().select(&[2, 0]).to_single(),
            ndarray::array![[4.0, 5.0], [0.0, 1.0]]
        );
        assert_eq!(borrowed.select(&[]).dim(), (0, 2));
        let Matrix::Half(moved) = Matrix::from(rows).into_owned() else {
            panic!("halves stay halves")
        };
        assert_eq!(moved.as_ptr(), place);
    }

    #[test]
    fn rows_come_back_from_their_bytes_in_either_precision() {
        let rows = ndarray::array![[0.1_f32, 2.0, -0.0], [3.0, f32::MIN_POSITIVE, 5.0]];
        for is_half in [false, true] {
            let matrix = Matrix::from(rows.clone()).in_precision(is_half);
            let bytes = matrix.as_bytes();
            assert_eq!(bytes.len(), if is_half { 12 } else { 24 });
            let (read, sum) = Matrix::read_rows(&mut &bytes[..], (2, 3), is_half).unwrap();
            assert_eq!((&read, sum), (&matrix, crc32fast::hash(bytes)));
            assert!(Matrix::read_rows(&mut &bytes[1..], (2, 3), is_half).is_err());
        }
        assert_eq!(Matrix::from(halves(&rows)).in_precision(false).as_bytes()[4..8], [0, 0, 0, 64]);
    }
}
