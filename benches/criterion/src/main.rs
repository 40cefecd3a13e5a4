//! Times of the kernels: `make bench-kernels`.

use criterion::{Criterion, criterion_group, criterion_main};
use episodica_benches::KERNELS;

fn kernels(criterion: &mut Criterion) {
    for (name, make) in KERNELS {
        let mut run = make();
        criterion.bench_function(name, |bencher| bencher.iter(&mut run));
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
