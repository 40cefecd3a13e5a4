//! The flat index against brute force over a map of label to vector.

use std::collections::BTreeMap;

use crate::random::Random;
use episodica_core::ErrorKind;
use episodica_core::index::{VectorIndex, VectorIndexFactory};
use episodica_faiss::FaissFactory;
use ndarray::{Array1, Array2, ArrayView1, array};

fn create(dimension: usize) -> Box<dyn VectorIndex> {
    FaissFactory.create_index(dimension).unwrap()
}

/// Best first, ties by label, from scores that the index itself gives, so that rounding can't
/// matter.
fn brute_force(
    index: &dyn VectorIndex,
    model: &BTreeMap<u64, Array1<f32>>,
    query: ArrayView1<'_, f32>,
    k: usize,
) -> Vec<(u64, f32)> {
    let labels: Vec<u64> = model.keys().copied().collect();
    let scores = index.inner_products(query, &labels);
    for (label, score) in labels.iter().zip(&scores) {
        let expected = model[label].dot(&query);
        assert!(
            (score.unwrap() - expected).abs() < 1e-5,
            "score of {label}: {score:?} against {expected}"
        );
    }
    let mut hits: Vec<(u64, f32)> = labels.into_iter().zip(scores.into_iter().flatten()).collect();
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(k);
    hits
}

fn assert_holds(index: &dyn VectorIndex, model: &BTreeMap<u64, Array1<f32>>) {
    assert_eq!(index.len(), model.len());
    assert_eq!(index.is_empty(), model.is_empty());
    assert_eq!(index.labels().len(), model.len());
    for (&label, row) in index.labels().iter().zip(index.vectors().to_single().rows()) {
        assert_eq!(model[&label], row, "vector of {label}");
    }
}

fn random_walk(dimension: usize, seed: u64) {
    let mut random = Random(seed);
    let mut index = create(dimension);
    let mut model = BTreeMap::new();
    for step in 0..120 {
        match random.below(10) {
            0..5 => {
                let n = random.below(40);
                // Few labels and few distinct vectors, so that replacements, repeats in a call and
                // ties are common.
                let labels: Vec<u64> =
                    (0..n).map(|_| random.below(300) as u64 * 1_000_003).collect();
                let mut rows = random.directions(n, dimension);
                for row in 1..n {
                    if random.below(4) == 0 {
                        let copy = rows.row(random.below(row)).to_owned();
                        rows.row_mut(row).assign(&copy);
                    }
                }
                index.add_vectors(&labels, rows.view()).unwrap();
                model.extend(
                    labels.into_iter().zip(rows.rows().into_iter().map(|row| row.to_owned())),
                );
            }
            5..8 => {
                let labels: Vec<u64> =
                    (0..random.below(60)).map(|_| random.below(300) as u64 * 1_000_003).collect();
                let there = labels.iter().filter(|label| model.remove(label).is_some()).count();
                assert_eq!(index.remove_labels(&labels).unwrap(), there);
            }
            8 => {
                index =
                    FaissFactory.restore_index(index.labels().to_vec(), index.vectors()).unwrap();
            }
            _ => {}
        }
        assert_holds(&*index, &model);
        let query = random.directions(1, dimension);
        let k = random.below(30);
        let (found, expected) = (
            index.search_nearest(query.row(0), k).unwrap(),
            brute_force(&*index, &model, query.row(0), k),
        );
        assert_eq!(found, expected, "step {step}, k {k}, {} vectors", model.len());
    }
}

#[test]
fn flat_is_brute_force_through_any_changes() {
    for (seed, dimension) in [(1, 3), (2, 8), (3, 17), (4, 64), (5, 1)] {
        random_walk(dimension, seed);
    }
}

#[test]
fn an_empty_index_answers() {
    let mut index = create(4);
    let query = array![1.0, 0.0, 0.0, 0.0];
    assert!(index.is_empty());
    assert_eq!(index.vectors().dim(), (0, 4));
    assert_eq!(index.search_nearest(query.view(), 10).unwrap(), []);
    assert_eq!(index.inner_products(query.view(), &[1]), [None]);
    assert_eq!(index.remove_labels(&[1, 2]).unwrap(), 0);
    index.add_vectors(&[], Array2::zeros((0, 4)).view()).unwrap();
    index.add_vectors(&[5], query.view().insert_axis(ndarray::Axis(0))).unwrap();
    assert_eq!(index.search_nearest(query.view(), 0).unwrap(), []);
    assert_eq!(index.search_nearest(query.view(), usize::MAX).unwrap(), [(5, 1.0)]);
    assert_eq!(index.remove_labels(&[5, 5]).unwrap(), 1);
    assert_eq!(index.vectors().dim(), (0, 4));
    assert_eq!(index.search_nearest(query.view(), 3).unwrap(), []);
}

#[test]
fn wrong_shapes_and_numbers_change_nothing() {
    let mut index = create(2);
    index.add_vectors(&[1], array![[0.6, 0.8]].view()).unwrap();
    for (labels, rows) in [
        (vec![1], array![[1.0, 0.0, 0.0]]),
        (vec![1, 2], array![[1.0, 0.0]]),
        (vec![1], array![[f32::NAN, 0.0]]),
        (vec![2, 1], array![[1.0, 0.0], [0.0, f32::INFINITY]]),
    ] {
        assert_eq!(index.add_vectors(&labels, rows.view()).unwrap_err().kind(), ErrorKind::Index);
    }
    assert_eq!(index.labels(), [1]);
    assert_eq!(index.vectors(), array![[0.6_f32, 0.8]].into());
    assert_eq!(index.search_nearest(array![1.0].view(), 1).unwrap_err().kind(), ErrorKind::Index);
    assert_eq!(
        index.search_nearest(array![1.0, f32::NAN].view(), 1).unwrap_err().kind(),
        ErrorKind::Index
    );
    assert_eq!(index.inner_products(array![1.0].view(), &[1]), [None]);
    assert_eq!(FaissFactory.create_index(0).err().unwrap().kind(), ErrorKind::Index);
}

#[test]
fn ties_wider_than_k_go_to_the_lowest_labels() {
    let mut index = create(2);
    let labels: Vec<u64> = (0..500).rev().collect();
    index
        .add_vectors(
            &labels,
            Array2::from_shape_fn((500, 2), |(_, column)| [0.6, 0.8][column]).view(),
        )
        .unwrap();
    let found = index.search_nearest(array![0.6, 0.8].view(), 3).unwrap();
    assert_eq!(found.iter().map(|hit| hit.0).collect::<Vec<_>>(), [0, 1, 2]);
}

#[test]
fn searches_run_at_the_same_time() {
    let mut random = Random(3);
    let rows = random.directions(2000, 32);
    let mut index = create(32);
    index.add_vectors(&(0..2000).collect::<Vec<u64>>(), rows.view()).unwrap();
    let expected: Vec<_> =
        (0..50).map(|row| index.search_nearest(rows.row(row), 10).unwrap()).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (row, expected) in expected.iter().enumerate() {
                    assert_eq!(&index.search_nearest(rows.row(row), 10).unwrap(), expected);
                }
            });
        }
    });
}

#[test]
fn version_names_the_library() {
    assert!(FaissFactory.library_version().starts_with("FAISS 1."));
}
