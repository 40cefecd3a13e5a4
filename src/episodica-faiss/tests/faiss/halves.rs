//! Flat indexes of many vectors, which are kept in half precision.

use std::collections::BTreeMap;

use crate::random::Random;
use episodica_core::ErrorKind;
use episodica_core::clock::SystemClock;
use episodica_core::ids::{Owner, vector_key};
use episodica_core::index::{Matrix, TextIndex, VectorIndex, VectorIndexFactory};
use episodica_core::store::{NewSegment, NewVectors, OpenMode, Store};
use episodica_faiss::FaissFactory;
use half::f16;
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

/// Up to this many vectors, an index is in single precision.
const BORDER: usize = 4_096;
/// Maximum difference of a product of unit vectors from that in single precision.
const TOLERANCE: f32 = 2e-3;

fn flat(dimension: usize) -> Box<dyn VectorIndex> {
    FaissFactory.create_index(dimension).unwrap()
}

fn labels(range: std::ops::Range<usize>) -> Vec<u64> {
    range.map(|label| label as u64).collect()
}

/// All vectors ranked by the products of the index itself, which are those of its rows in single
/// precision.
fn ranking(index: &dyn VectorIndex, query: ArrayView1<'_, f32>) -> Vec<(u64, f32)> {
    let scores = index.inner_products(query, index.labels());
    let mut hits: Vec<(u64, f32)> =
        index.labels().iter().copied().zip(scores.into_iter().flatten()).collect();
    for ((_, score), row) in hits.iter().zip(index.vectors().to_single().rows()) {
        assert!((score - row.dot(&query)).abs() < 1e-5);
    }
    hits.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits
}

fn assert_holds(index: &dyn VectorIndex, model: &BTreeMap<u64, Array1<f32>>, random: &mut Random) {
    assert_eq!(index.len(), model.len());
    let rows = index.vectors().to_single();
    for (label, row) in index.labels().iter().zip(rows.rows()) {
        assert!(index.has_label(*label));
        assert!(
            row.iter()
                .zip(&model[label])
                .all(|(kept, given)| (kept - given).abs() <= given.abs() / 2048.0 + 1e-7),
            "vector of {label}"
        );
    }
    let mean = rows.mean_axis(Axis(0)).unwrap();
    assert!(
        index
            .mean_vector()
            .iter()
            .zip(&mean)
            .all(|(kept, computed)| (kept - computed).abs() < 1e-6),
        "mean of what is kept"
    );
    let query = random.directions(1, index.dimension());
    let exact = ranking(index, query.row(0));
    for (label, score) in &exact {
        assert!((score - model[label].dot(&query.row(0))).abs() < TOLERANCE);
    }
    // More than half of all: every row is compared.
    let k = index.len() / 2 + 1;
    assert_eq!(index.search_nearest(query.row(0), k).unwrap(), exact[..k]);
    assert_eq!(index.search_nearest(query.row(0), usize::MAX).unwrap(), exact);
    // Few hits among many rows: the sketch proposes the rows, with the same scores.
    let found = index.search_nearest(query.row(0), 10).unwrap();
    assert_eq!(found.len(), 10);
    assert!(found.is_sorted_by(|a, b| a.1 > b.1 || (a.1 == b.1 && a.0 < b.0)));
    let scores: BTreeMap<u64, f32> = exact.into_iter().collect();
    assert!(found.iter().all(|(label, score)| scores[label] == *score));
}

#[test]
fn promises_hold_through_growth_replacement_and_removal() {
    let mut random = Random(11);
    let (mut index, mut model) = (flat(24), BTreeMap::new());
    let put = |index: &mut Box<dyn VectorIndex>,
               model: &mut BTreeMap<u64, Array1<f32>>,
               random: &mut Random,
               labels: Vec<u64>| {
        let rows = random.directions(labels.len(), 24);
        index.add_vectors(&labels, rows.view()).unwrap();
        model.extend(labels.into_iter().zip(rows.rows().into_iter().map(|row| row.to_owned())));
    };
    put(&mut index, &mut model, &mut random, labels(0..BORDER));
    assert!(!index.vectors().is_half());
    let exactly = index.vectors().to_single();
    assert!(
        index.labels().iter().zip(exactly.rows()).all(|(label, row)| model[label] == row),
        "few are kept as they were given"
    );
    // Crosses the border, with labels that are in the index already and two labels that come twice
    // in one call: the later vector replaces the earlier one.
    put(
        &mut index,
        &mut model,
        &mut random,
        [labels(BORDER - 50..BORDER + 30), vec![7, 9_999, 7, 9_999]].concat(),
    );
    assert!(index.vectors().is_half());
    assert_holds(&*index, &model, &mut random);
    put(&mut index, &mut model, &mut random, labels(3_000..9_000));
    assert_holds(&*index, &model, &mut random);
    let restored = FaissFactory.restore_index(index.labels().to_vec(), index.vectors()).unwrap();
    assert_eq!(restored.vectors(), index.vectors());
    assert_holds(&*restored, &model, &mut random);
    // Shrinks below the border: rows stay in half precision, and all of them are compared.
    let gone: Vec<u64> =
        labels(0..9_000).into_iter().filter(|label| label % 3 > 0).chain([123_456]).collect();
    assert_eq!(index.remove_labels(&gone).unwrap(), 6_000);
    model.retain(|label, _| label % 3 == 0 || *label == 9_999);
    assert!(index.vectors().is_half() && index.len() < BORDER);
    assert_holds(&*index, &model, &mut random);
    put(&mut index, &mut model, &mut random, labels(0..4));
    assert_holds(&*index, &model, &mut random);
    let left = index.labels().to_vec();
    assert_eq!(index.remove_labels(&left).unwrap(), left.len());
    assert_eq!(
        (index.vectors().dim(), index.mean_vector()),
        ((0, 24), index.mean_vector().mapv(|x| x.round()))
    );
    assert_eq!(index.search_nearest(Array1::ones(24).view(), 5).unwrap(), []);
    put(&mut index, &mut BTreeMap::new(), &mut random, vec![1]);
    assert_eq!(index.labels(), [1]);
}

#[test]
fn many_at_once_are_the_same_as_one_after_the_other() {
    let rows = Random(12).directions(BORDER + 700, 16);
    let (mut whole, mut parts) = (flat(16), flat(16));
    whole.add_vectors(&labels(0..rows.nrows()), rows.view()).unwrap();
    for at in (0..rows.nrows()).step_by(97) {
        let range = at..rows.nrows().min(at + 97);
        parts.add_vectors(&labels(range.clone()), rows.slice(ndarray::s![range, ..])).unwrap();
    }
    assert_eq!(whole.vectors(), rows.mapv(f16::from_f32).into());
    assert_eq!(parts.vectors(), whole.vectors());
    assert_eq!(parts.mean_vector(), whole.mean_vector());
    let query = Random(13).directions(1, 16);
    assert_eq!(
        parts.search_nearest(query.row(0), 50).unwrap(),
        whole.search_nearest(query.row(0), 50).unwrap()
    );
}

#[test]
fn what_single_precision_finds_is_found() {
    let (count, d, k) = (BORDER + 2_000, 64, 10);
    let mut random = Random(14);
    let centres = random.directions(200, d);
    let (rows, queries) =
        (random.clustered(count, d, &centres, 0.7), random.clustered(100, d, &centres, 0.7));
    let mut index = flat(d);
    index.add_vectors(&labels(0..count), rows.view()).unwrap();
    let mut found = 0;
    for query in queries.rows() {
        let mut exact: Vec<(u64, f32)> = rows
            .dot(&query)
            .into_iter()
            .enumerate()
            .map(|(row, score)| (row as u64, score))
            .collect();
        exact.sort_by(|a, b| b.1.total_cmp(&a.1));
        found += index
            .search_nearest(query, k)
            .unwrap()
            .iter()
            .filter(|hit| exact[..k].iter().any(|(label, _)| *label == hit.0))
            .count();
    }
    let recall = found as f64 / (k * queries.nrows()) as f64;
    assert!(recall >= 0.97, "recall is {recall}");
}

#[test]
fn ties_go_to_the_lowest_labels() {
    let mut index = flat(2);
    let labels: Vec<u64> = (0..BORDER as u64 + 900).rev().collect();
    index
        .add_vectors(
            &labels,
            Array2::from_shape_fn((labels.len(), 2), |(_, column)| [0.6, 0.8][column]).view(),
        )
        .unwrap();
    for k in [3, labels.len() - 1] {
        let found = index.search_nearest(array![0.6, 0.8].view(), k).unwrap();
        assert_eq!(
            found.iter().map(|hit| hit.0).collect::<Vec<_>>(),
            (0..k as u64).collect::<Vec<_>>()
        );
    }
}

#[test]
fn what_was_stored_is_taken_over_as_it_is() {
    let factory = FaissFactory;
    let few = Random(15).directions(5, 3);
    let halves = few.mapv(f16::from_f32);
    let index = factory.restore_index(vec![9, 8, 7, 6, 5], halves.clone().into()).unwrap();
    assert_eq!(
        (index.labels(), index.vectors()),
        (&[9, 8, 7, 6, 5][..], Matrix::from(halves.clone())),
        "few halves stay halves"
    );
    assert_eq!(index.search_nearest(halves.mapv(f16::to_f32).row(2), 1).unwrap()[0].0, 7);
    assert_eq!(
        factory.restore_index(vec![9, 8, 7, 6, 5], few.clone().into()).unwrap().vectors(),
        Matrix::from(few.clone())
    );
    let many = Random(16).directions(BORDER + 1, 3);
    let index = factory.restore_index(labels(0..many.nrows()), many.view().into()).unwrap();
    assert_eq!(
        index.vectors(),
        many.mapv(f16::from_f32).into(),
        "many in single precision become halves"
    );
    assert!(index.heap_bytes() < many.len() * 4 + many.nrows() * 60);
}

#[test]
fn what_can_not_be_kept_is_refused() {
    let factory = FaissFactory;
    let refused =
        |labels: Vec<u64>, rows: Matrix<'_>| factory.restore_index(labels, rows).err().unwrap();
    for bad in [f16::NAN, f16::INFINITY, f16::NEG_INFINITY] {
        let mut rows = array![[f16::ONE, f16::ZERO], [f16::ZERO, f16::ONE]];
        rows[[1, 0]] = bad;
        assert_eq!(
            refused(vec![1, 2], rows.into()).to_string(),
            "vector is not finite at row: `1`"
        );
    }
    let opposite = array![[f16::INFINITY, f16::ZERO], [f16::NEG_INFINITY, f16::ONE]];
    assert_eq!(refused(vec![1, 2], opposite.into()).kind(), ErrorKind::Index);
    assert_eq!(refused(vec![1], array![[f32::NAN]].into()).kind(), ErrorKind::Index);
    assert_eq!(
        refused(vec![1], array![[1e6_f32]].into()).to_string(),
        "vector is too large for half precision at row: `0`"
    );
    let mut many = Array2::<f32>::zeros((BORDER + 1, 1));
    many[[BORDER, 0]] = 1e6;
    assert_eq!(refused(labels(0..BORDER + 1), many.view().into()).kind(), ErrorKind::Index);
    assert_eq!(refused(vec![1], array![[f16::ONE], [f16::ONE]].into()).kind(), ErrorKind::Index);
    assert_eq!(
        refused(vec![1, 1], array![[f16::ONE], [f16::ONE]].into()).kind(),
        ErrorKind::InvalidInput
    );
    assert_eq!(refused(Vec::new(), Matrix::default()).kind(), ErrorKind::Index);
    // A large index refuses values that would be infinite, and stays unchanged.
    many[[BORDER, 0]] = 1.0;
    let mut index = factory.restore_index(labels(0..BORDER + 1), many.view().into()).unwrap();
    for bad in [f32::NAN, 65_520.0, f32::INFINITY] {
        assert_eq!(
            index.add_vectors(&[3, 70_000], array![[0.5], [bad]].view()).unwrap_err().kind(),
            ErrorKind::Index
        );
    }
    assert_eq!(index.vectors(), many.mapv(f16::from_f32).into());
    assert_eq!(
        index.search_nearest(array![1.0].view(), BORDER).unwrap()[..2],
        [(BORDER as u64, 1.0), (0, 0.0)]
    );
}

#[test]
fn a_field_of_many_comes_back_from_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let (factory, owner) = (FaissFactory, Owner::new("default", "a").unwrap());
    let store = Store::open(folder.path(), OpenMode::ReadWrite, &SystemClock).unwrap();
    for count in [BORDER, BORDER + 5] {
        let (slots, rows) = (labels(0..count), Random(17).directions(count, 8));
        let mut field = TextIndex::default();
        field.add_vectors(&factory, &slots, rows.view()).unwrap();
        let index = field.vector_index().unwrap();
        let part = |count: usize| NewVectors {
            keys: (0..count).map(|slot| vector_key(&slot.to_string())).collect(),
            dimension: 8,
            is_half: index.vectors().is_half(),
            rows: Box::new(|range| Ok(index.vectors().copy_rows(&range.collect::<Vec<_>>()))),
        };
        let vectors = [part(count), part(0), part(0), part(0)];
        let segment = NewSegment { model: "m".into(), vectors, snapshot: None };
        store.save_segment(&owner, segment).unwrap();
        let read = store.open_segment(&owner).unwrap().unwrap().read_vectors(0).unwrap();
        assert_eq!(read, index.vectors());
        assert_eq!(read.is_half(), count > BORDER);
        let mut again = TextIndex::default();
        again.restore_vectors(&factory, slots, read).unwrap();
        assert_eq!(
            again.nearest_slots(rows.row(3), 20).unwrap(),
            field.nearest_slots(rows.row(3), 20).unwrap()
        );
        assert_eq!(again.vector_index().unwrap().mean_vector(), index.mean_vector());
        assert!(again.heap_bytes() <= field.heap_bytes());
    }
}
