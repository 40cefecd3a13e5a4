//! Compiles the stand-in for BLAS. FAISS itself is built by `faiss-sys`.

fn main() {
    println!("cargo::rerun-if-changed=native/blas.c");
    // Whole: the linker meets this before FAISS asks for it, and would else pass over it and take
    // the system's BLAS.
    cc::Build::new()
        .file("native/blas.c")
        .link_lib_modifier("+whole-archive")
        .compile("episodica_blas");
}
