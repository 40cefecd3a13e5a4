//! The NumPy array format, version 1.0, for little-endian float32 matrices in C order: what we write, so what we read.

use ndarray::{Array2, ArrayView2};

const MAGIC: &[u8] = b"\x93NUMPY\x01\x00";
/// Data begins at a multiple of this, as the format demands.
const ALIGNMENT: usize = 64;

/// The bytes of the file.
pub(crate) fn encode(matrix: ArrayView2<'_, f32>) -> Vec<u8> {
    let (rows, columns) = matrix.dim();
    let mut header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let unpadded = MAGIC.len() + 2 + header.len() + 1;
    header.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    header.push('\n');
    let mut bytes = Vec::with_capacity(MAGIC.len() + 2 + header.len() + rows * columns * 4);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&u16::try_from(header.len()).expect("invariant: two numbers fit in a short header").to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    match matrix.as_slice() {
        Some(values) => values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
        None => matrix.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes())),
    }
    bytes
}

/// The matrix in the bytes of a file; what is wrong with them, for people, otherwise.
pub(crate) fn decode(bytes: &[u8]) -> Result<Array2<f32>, String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("not a NumPy array of version 1.0")?;
    let (length, rest) = rest.split_first_chunk::<2>().ok_or("the header is cut short")?;
    let (header, data) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or("the header is cut short")?;
    let header = std::str::from_utf8(header).map_err(|_| "the header is not ASCII")?;
    let shape = header
        .trim()
        .strip_prefix("{'descr': '<f4', 'fortran_order': False, 'shape': (")
        .and_then(|rest| rest.strip_suffix("), }"))
        .and_then(|shape| shape.split_once(", "))
        .ok_or("not a float32 matrix in C order")?;
    let number = |text: &str| text.parse::<usize>().map_err(|_| "the shape is no pair of numbers");
    let (rows, columns) = (number(shape.0)?, number(shape.1)?);
    let values =
        rows.checked_mul(columns).filter(|count| count.checked_mul(4) == Some(data.len())).ok_or("the data is not as long as its shape")?;
    let mut matrix = Vec::with_capacity(values);
    matrix.extend(data.chunks_exact(4).map(|chunk| f32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]])));
    Array2::from_shape_vec((rows, columns), matrix).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_comes_back() {
        for matrix in [ndarray::array![[1.0_f32, -2.5], [f32::MIN_POSITIVE, 0.0], [3.0, 4.0]], Array2::zeros((0, 7))] {
            let bytes = encode(matrix.view());
            assert_eq!((bytes.len() - matrix.len() * 4) % ALIGNMENT, 0);
            assert_eq!(decode(&bytes).unwrap(), matrix);
            for cut in 0..bytes.len() {
                assert!(decode(&bytes[..cut]).is_err(), "{cut}");
            }
        }
    }

    #[test]
    fn the_header_is_the_one_numpy_writes() {
        let bytes = encode(ndarray::array![[1.0_f32]].view());
        assert!(bytes.starts_with(b"\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }"));
        assert_eq!(bytes[127], b'\n');
    }

    #[test]
    fn absurd_shapes_are_refused() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }\n";
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        assert!(decode(&bytes).is_err());
    }
}
