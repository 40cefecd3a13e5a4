//! `once KERNEL COUNT`: makes a kernel ready and runs it `COUNT` times. `once` alone lists the
//! kernels.

use episodica_benches::KERNELS;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count] = arguments.as_slice() else {
        KERNELS.iter().for_each(|(name, _)| println!("{name}"));
        return;
    };
    let (_, make) = KERNELS.iter().find(|(known, _)| known == name).expect("a kernel of that name");
    let mut run = make();
    (0..count.parse().expect("a number")).for_each(|_| run());
}
