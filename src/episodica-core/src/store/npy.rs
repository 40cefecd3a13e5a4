//! The NumPy array format, version 1.0, for little-endian matrices of float32 and float16 in C
//! order: only files in the store's own form are read.
//!
//! Numbers are written and read in their memory representation, in one piece.

use std::io::{self, Read};

use bytemuck::Pod;
use half::f16;
use ndarray::Array2;

use crate::matrix::Matrix;

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
/// Data begins at a multiple of this, as the format requires.
const ALIGNMENT: usize = 64;
/// Names of single and half precision in the format.
const SINGLE: &str = "<f4";
const HALF: &str = "<f2";
/// Bytes read at a time, so that they are still in the processor's cache for the checksum.
const CHUNK: usize = 256 << 10;

const _: () =
    assert!(cfg!(target_endian = "little"), "numbers are written as they stand in memory");

/// A matrix as a file: its header and its numbers.
pub(crate) struct EncodedMatrix<'a> {
    header: Vec<u8>,
    numbers: Matrix<'a>,
}

impl EncodedMatrix<'_> {
    pub(crate) fn pieces(&self) -> [&[u8]; 2] {
        [&self.header, numbers(&self.numbers)]
    }
}

pub(crate) fn encode<'a>(matrix: &'a Matrix<'_>) -> EncodedMatrix<'a> {
    let (rows, columns) = matrix.dim();
    let (kind, numbers) = match matrix {
        Matrix::Single(rows) => (SINGLE, Matrix::Single(rows.as_standard_layout())),
        Matrix::Half(rows) => (HALF, Matrix::Half(rows.as_standard_layout())),
    };
    let mut text =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let unpadded = MAGIC.len() + 2 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    text.push('\n');
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(
        &u16::try_from(text.len())
            .expect("invariant: two numbers fit in a short header")
            .to_le_bytes(),
    );
    header.extend_from_slice(text.as_bytes());
    EncodedMatrix { header, numbers }
}

/// The bytes of these rows, as appended to a file of the same precision.
///
/// # Panics
/// If the rows are not in standard layout.
pub(crate) fn numbers<'a>(rows: &'a Matrix<'_>) -> &'a [u8] {
    let numbers = match rows {
        Matrix::Single(rows) => rows.as_slice().map(bytemuck::cast_slice),
        Matrix::Half(rows) => rows.as_slice().map(bytemuck::cast_slice),
    };
    numbers.expect("invariant: standard layout")
}

/// The shape that the header of a file may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NpyHeader {
    /// The shape of the matrix.
    Exact,
    /// The same or fewer rows: rows were appended after the header was written.
    Earlier,
}

/// Reads the matrix of shape `expected` from a file of `bytes` bytes; otherwise returns a readable
/// reason. Never allocates more than the file's length.
///
/// # Errors
/// Errors of `source`, except its end.
pub(crate) fn decode(
    source: &mut dyn Read,
    bytes: u64,
    expected: (usize, usize),
    header: NpyHeader,
) -> io::Result<Result<Matrix<'static>, String>> {
    match read_matrix(source, bytes, expected, header) {
        Ok(matrix) => Ok(Ok(matrix)),
        Err(NpyFailure::Wrong(message)) => Ok(Err(message)),
        Err(NpyFailure::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(Err("the file is cut short".into()))
        }
        Err(NpyFailure::Io(error)) => Err(error),
    }
}

enum NpyFailure {
    Wrong(String),
    Io(io::Error),
}

impl From<io::Error> for NpyFailure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<&str> for NpyFailure {
    fn from(message: &str) -> Self {
        Self::Wrong(message.into())
    }
}

fn read_matrix(
    source: &mut dyn Read,
    bytes: u64,
    expected: (usize, usize),
    names: NpyHeader,
) -> Result<Matrix<'static>, NpyFailure> {
    let mut start = [0; MAGIC.len() + 2];
    source.read_exact(&mut start)?;
    let length = start
        .strip_prefix(MAGIC)
        .and_then(|length| length.first_chunk())
        .ok_or("not a NumPy array of version 1.0")?;
    let mut header = vec![0; usize::from(u16::from_le_bytes(*length))];
    source.read_exact(&mut header)?;
    let header = std::str::from_utf8(&header).map_err(|_| "the header is not ASCII")?;
    let rest = header
        .trim()
        .strip_prefix("{'descr': '")
        .and_then(|rest| rest.split_at_checked(SINGLE.len()));
    let (kind, shape) = rest
        .and_then(|(kind, rest)| {
            Some((
                kind,
                rest.strip_prefix("', 'fortran_order': False, 'shape': (")?.strip_suffix("), }")?,
            ))
        })
        .ok_or("not a matrix in C order")?;
    let (rows, columns) = shape.split_once(", ").ok_or("the shape is not a pair of numbers")?;
    let number =
        |text: &str| text.parse::<usize>().map_err(|_| "the shape is not a pair of numbers");
    let rows = number(rows)?;
    let is_fit = rows == expected.0 || names == NpyHeader::Earlier && rows < expected.0;
    if !is_fit || number(columns)? != expected.1 {
        return Err("the vectors don't have the shape of the manifest".into());
    }
    match kind {
        SINGLE => Ok(read_numbers::<f32>(source, bytes, expected)?.into()),
        HALF => Ok(read_numbers::<f16>(source, bytes, expected)?.into()),
        _ => Err("not a matrix of float32 or float16".into()),
    }
}

fn read_numbers<A: Pod>(
    source: &mut dyn Read,
    bytes: u64,
    shape: (usize, usize),
) -> Result<Array2<A>, NpyFailure> {
    let fits = |count: &usize| {
        count.checked_mul(size_of::<A>()).is_some_and(|needed| needed as u64 <= bytes)
    };
    let count =
        shape.0.checked_mul(shape.1).filter(fits).ok_or("the file is not as long as its shape")?;
    let mut numbers = episodica_simd::zeroed::<A>(count);
    for chunk in bytemuck::cast_slice_mut::<A, u8>(&mut numbers).chunks_mut(CHUNK) {
        source.read_exact(chunk)?;
    }
    if source.read(&mut [0])? > 0 {
        return Err("the file is not as long as its shape".into());
    }
    Array2::from_shape_vec(shape, numbers).map_err(|error| NpyFailure::Wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use ndarray::ArrayView2;

    use super::*;

    fn read(mut bytes: &[u8], shape: (usize, usize)) -> Result<Matrix<'static>, String> {
        let length = bytes.len() as u64;
        decode(&mut bytes, length, shape, NpyHeader::Exact).unwrap()
    }

    fn bytes(rows: ArrayView2<'_, f32>) -> Vec<u8> {
        encode(&rows.into()).pieces().concat()
    }

    #[test]
    fn a_matrix_comes_back() {
        for rows in [
            ndarray::array![[1.0_f32, -2.5], [f32::MIN_POSITIVE, 0.0], [3.0, 4.0]],
            Array2::zeros((0, 7)),
        ] {
            for matrix in [Matrix::from(rows.clone()), rows.mapv(f16::from_f32).into()] {
                let bytes = encode(&matrix).pieces().concat();
                let width = if matrix.is_half() { 2 } else { 4 };
                assert_eq!((bytes.len() - rows.len() * width) % ALIGNMENT, 0);
                assert_eq!(read(&bytes, rows.dim()), Ok(matrix));
                for cut in 0..bytes.len() {
                    assert!(read(&bytes[..cut], rows.dim()).is_err(), "{cut}");
                }
                assert!(read(&[&bytes[..], b"x"].concat(), rows.dim()).is_err());
                assert!(read(&bytes, (rows.nrows() + 1, rows.ncols())).is_err());
            }
        }
    }

    #[test]
    fn rows_in_another_order_of_memory_are_put_in_order() {
        let rows = ndarray::array![[1.0_f32, 2.0], [3.0, 4.0]];
        assert_eq!(
            read(&bytes(rows.t()), (2, 2)),
            Ok(ndarray::array![[1.0_f32, 3.0], [2.0, 4.0]].into())
        );
    }

    #[test]
    fn the_header_is_the_one_numpy_writes() {
        let bytes = bytes(ndarray::array![[1.0_f32]].view());
        assert!(bytes.starts_with(
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }"
        ));
        assert_eq!(bytes[127], b'\n');
        let matrix = Matrix::from(ndarray::array![[f16::ONE]]);
        let halves = encode(&matrix).pieces().concat();
        assert!(halves.starts_with(
            b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1), }"
        ));
        assert_eq!(halves[128..], [0x00, 0x3c]);
    }

    #[test]
    fn other_arrays_are_refused() {
        let file = |header: &str| {
            [MAGIC, &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[0; 16]].concat()
        };
        let said = |header: &str, shape| read(&file(header), shape).unwrap_err();
        let absurd =
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n";
        assert_eq!(said(absurd, (1, 4)), "the vectors don't have the shape of the manifest");
        assert_eq!(
            said(absurd, (4_611_686_018_427_387_904, 4)),
            "the file is not as long as its shape"
        );
        let of = |kind: &str, order: &str| {
            format!("{{'descr': '{kind}', 'fortran_order': {order}, 'shape': (2, 2), }}\n")
        };
        assert!(read(&file(&of("<f4", "False")), (2, 2)).is_ok());
        assert_eq!(said(&of("<f2", "False"), (2, 2)), "the file is not as long as its shape");
        assert_eq!(said(&of(">f4", "False"), (2, 2)), "not a matrix of float32 or float16");
        assert_eq!(said(&of("<f4", "True"), (2, 2)), "not a matrix in C order");
        assert_eq!(said(&of("<f16", "False"), (2, 2)), "not a matrix in C order");
        assert_eq!(said("{'descr': '<f", (2, 2)), "not a matrix in C order");
    }
}
