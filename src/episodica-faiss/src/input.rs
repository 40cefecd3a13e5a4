//! Checks arguments and orders results.

use std::cmp::Ordering;

use episodica_core::Result;
use ndarray::{ArrayView1, ArrayView2, CowArray, Ix1, Ix2};

use crate::labels::RowLabels;
use crate::native::index_error;
use crate::rows::RowSlice;

/// The smallest value that half precision rounds to infinity.
const TOO_LARGE: f32 = 65_520.0;

/// The rows as one contiguous slice. Checks their shape, and that all values are finite even in
/// half precision, since an index may round them later.
///
/// # Errors
/// `Index` if a check fails.
pub(crate) fn checked_rows<'a>(
    vectors: &'a ArrayView2<'_, f32>,
    labels: usize,
    dimension: usize,
) -> Result<CowArray<'a, f32, Ix2>> {
    let (n, d) = vectors.dim();
    if d != dimension {
        return Err(index_error(format!(
            "vectors have another dimension than the index's {dimension}: `{d}`"
        )));
    }
    if n != labels {
        return Err(index_error(format!(
            "the number of vectors is not that of the labels, {labels}: `{n}`"
        )));
    }
    let rows = vectors.as_standard_layout();
    check_finite(
        RowSlice::Single(rows.as_slice().expect("invariant: standard layout")),
        dimension,
    )?;
    Ok(rows)
}

/// Checks that all values of these rows are finite, even in half precision.
///
/// # Errors
/// `Index` if one is not.
pub(crate) fn check_finite(rows: RowSlice<'_>, dimension: usize) -> Result<()> {
    let not_finite =
        |at: usize| index_error(format!("vector is not finite at row: `{}`", at / dimension));
    match rows {
        RowSlice::Half(numbers) => numbers
            .iter()
            .position(|number| !number.is_finite())
            .map_or(Ok(()), |at| Err(not_finite(at))),
        RowSlice::Single(numbers) => match first_beyond(TOO_LARGE, numbers) {
            Some(at) if numbers[at].is_finite() => Err(index_error(format!(
                "vector is too large for half precision at row: `{}`",
                at / dimension
            ))),
            Some(at) => Err(not_finite(at)),
            None => Ok(()),
        },
    }
}

/// The query as one contiguous slice, checked for its length and for NaN and infinity.
///
/// # Errors
/// `Index` if a check fails.
pub(crate) fn checked_query<'a>(
    query: &'a ArrayView1<'_, f32>,
    dimension: usize,
) -> Result<CowArray<'a, f32, Ix1>> {
    if query.len() != dimension {
        return Err(index_error(format!(
            "query has another dimension than the index's {dimension}: `{}`",
            query.len()
        )));
    }
    let query = query.as_standard_layout();
    match first_beyond(f32::INFINITY, query.as_slice().expect("invariant: standard layout")) {
        Some(at) => Err(index_error(format!("query is not finite at position: `{at}`"))),
        None => Ok(query),
    }
}

/// Position of the first NaN or value of at least `limit`.
fn first_beyond(limit: f32, numbers: &[f32]) -> Option<usize> {
    let below = |x: &f32| x.abs() < limit;
    // Unlike a search that stops early, the compiler vectorises this.
    let all = numbers.chunks(64).all(|chunk| chunk.iter().fold(true, |all, x| all & below(x)));
    if all { None } else { numbers.iter().position(|x| !below(x)) }
}

/// Returns the best `k`, best first, ties by ascending label. Negative zero becomes zero, so that
/// the two zeros tie.
pub(crate) fn best_hits(hits: Vec<(u64, f32)>, k: usize) -> Vec<(u64, f32)> {
    let mut hits = best_and_ties(hits, k);
    hits.truncate(k);
    hits
}

/// Returns the best `k` in the order of [`best_hits`], with all that tie with the last.
pub(crate) fn best_and_ties(mut hits: Vec<(u64, f32)>, k: usize) -> Vec<(u64, f32)> {
    if k == 0 {
        return Vec::new();
    }
    for (_, score) in &mut hits {
        *score += 0.0;
    }
    let order =
        |a: &(u64, f32), b: &(u64, f32)| -> Ordering { b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)) };
    if hits.len() > k {
        let (_, (_, least), _) = hits.select_nth_unstable_by(k - 1, order);
        let least = *least;
        hits.retain(|(_, score)| *score >= least);
    }
    hits.sort_unstable_by(order);
    hits
}

/// Applies `products` to `query` and the row of each label. `None` for an unknown label, and for
/// all labels if the query is invalid.
pub(crate) fn label_products(
    query: ArrayView1<'_, f32>,
    wanted: &[u64],
    labels: &RowLabels,
    dimension: usize,
    products: impl Fn(&[f32], &[usize]) -> Vec<f32>,
) -> Vec<Option<f32>> {
    let Ok(query) = self::checked_query(&query, dimension) else {
        return vec![None; wanted.len()];
    };
    let query = query.as_slice().expect("invariant: standard layout");
    let rows: Vec<Option<usize>> = wanted.iter().map(|&label| labels.row_of(label)).collect();
    let mut products =
        products(query, &rows.iter().flatten().copied().collect::<Vec<_>>()).into_iter();
    rows.into_iter()
        .map(|row| row.and_then(|_| products.next()).map(|product| product + 0.0))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn shapes_and_numbers_are_checked() {
        let good = array![[1.0_f32, 2.0], [3.0, 4.0]];
        assert!(checked_rows(&good.view(), 2, 2).is_ok());
        let text = |result: Result<CowArray<'_, f32, Ix2>>| result.unwrap_err().to_string();
        assert_eq!(
            text(checked_rows(&good.view(), 2, 3)),
            "vectors have another dimension than the index's 3: `2`"
        );
        assert_eq!(
            text(checked_rows(&good.view(), 1, 2)),
            "the number of vectors is not that of the labels, 1: `2`"
        );
        let bad = array![[1.0_f32, 2.0], [3.0, f32::NAN]];
        assert_eq!(text(checked_rows(&bad.view(), 2, 2)), "vector is not finite at row: `1`");
        let large = array![[1.0_f32, -65_519.0], [65_520.0, 0.0]];
        assert_eq!(
            text(checked_rows(&large.view(), 2, 2)),
            "vector is too large for half precision at row: `1`"
        );
        assert!(checked_rows(&large.slice(ndarray::s![..1, ..]), 1, 2).is_ok());
        let bad = array![f32::INFINITY, 0.0];
        assert_eq!(
            checked_query(&bad.view(), 2).unwrap_err().to_string(),
            "query is not finite at position: `0`"
        );
        assert_eq!(
            checked_query(&bad.view(), 1).unwrap_err().to_string(),
            "query has another dimension than the index's 1: `2`"
        );
    }

    #[test]
    fn other_layouts_are_put_in_order() {
        let columns = array![[1.0_f32, 3.0], [2.0, 4.0]];
        let transposed = columns.t();
        assert_eq!(
            checked_rows(&transposed, 2, 2).unwrap().as_slice(),
            Some(&[1.0, 2.0, 3.0, 4.0][..])
        );
    }

    #[test]
    fn ties_go_by_label_and_zero_has_one_sign() {
        let hits = vec![(9, 0.5), (3, 0.5), (1, -0.0), (2, 0.0), (7, 0.9)];
        assert_eq!(best_hits(hits.clone(), 2), [(7, 0.9), (3, 0.5)]);
        assert_eq!(best_hits(hits.clone(), 9), [(7, 0.9), (3, 0.5), (9, 0.5), (1, 0.0), (2, 0.0)]);
        assert!(best_hits(hits.clone(), 0).is_empty());
        let with_ties = |k| best_and_ties(hits.clone(), k);
        assert_eq!(with_ties(2), [(7, 0.9), (3, 0.5), (9, 0.5)]);
        assert_eq!(with_ties(4), with_ties(5));
        assert_eq!(with_ties(4), best_hits(hits.clone(), 9));
        assert!(with_ties(0).is_empty());
    }
}
