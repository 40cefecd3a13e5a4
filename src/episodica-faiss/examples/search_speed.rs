//! Measures searches through the adapter, in milliseconds: for the best 100 rows, and for all rows
//! in order, beside plain dot products over the same rows.
//!
//! `cargo run --release -p episodica-faiss --example search_speed [-- two-million]`

#![allow(clippy::print_stdout, reason = "a program for people")]

#[path = "../tests/faiss/random.rs"]
mod random;

use std::hint::black_box;
use std::time::Instant;

use episodica_core::index::{VectorIndex, VectorIndexFactory};
use episodica_faiss::FaissFactory;
use ndarray::Array2;
use random::Random;

const K: usize = 100;

fn median_ms(repeats: usize, mut call: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..repeats)
        .map(|at| {
            let start = Instant::now();
            call(at);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[repeats / 2]
}

fn build(rows: &Array2<f32>) -> episodica_core::Result<(Box<dyn VectorIndex>, f64)> {
    let labels: Vec<u64> = (0..rows.nrows() as u64).collect();
    let start = Instant::now();
    let mut index = FaissFactory.create_index(rows.ncols())?;
    index.add_vectors(&labels, rows.view())?;
    Ok((index, start.elapsed().as_secs_f64()))
}

fn main() -> episodica_core::Result<()> {
    println!("{}, k {K}, one thread", FaissFactory.library_version());
    let sizes: &[(usize, usize)] = if std::env::args().any(|argument| argument == "two-million") {
        &[(2_000_000, 384)]
    } else {
        &[(10_000, 256), (100_000, 256), (100_000, 384)]
    };
    for &(n, d) in sizes {
        let mut random = Random(1);
        let centres = random.directions(n / 50, d);
        let rows = random.clustered(n, d, &centres, 0.7);
        let queries = random.clustered(200, d, &centres, 0.7);
        let (flat, seconds) = build(&rows)?;
        let search = median_ms(200, |at| _ = black_box(flat.search_nearest(queries.row(at), K)));
        let plain = median_ms(40, |at| _ = black_box(rows.dot(&queries.row(at))));
        let all = median_ms(5, |at| _ = black_box(flat.search_nearest(queries.row(at), n)));
        println!(
            "flat  {n:>6} x {d}: search {search:6.3} ms, of all {all:.1} ms, dot products alone \
             {plain:6.3} ms, build {seconds:.2} s"
        );
        let stored: Vec<_> =
            (0..3).map(|_| (flat.labels().to_vec(), flat.vectors().into_owned())).collect();
        let stored = std::cell::RefCell::new(stored);
        let restore = median_ms(3, |_| {
            let (labels, rows) = stored.borrow_mut().pop().expect("invariant: one for each call");
            _ = black_box(FaissFactory.restore_index(labels, rows));
        });
        let bytes = flat.heap_bytes() as f64 / (1 << 20) as f64;
        println!("      {n:>6} x {d}: restored {restore:6.1} ms, {bytes:.1} MiB");
    }
    Ok(())
}
