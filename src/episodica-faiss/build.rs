//! Compiles the part of FAISS in use, flat indexes, with the C interface
//! `native/index.cpp`.
//!
//! The sources come from the crate `faiss-sys`, whose own build compiles all of FAISS, takes
//! minutes and requires CMake, OpenMP, BLAS and LAPACK. FAISS's files refer to other kinds of
//! indexes in functions that are never called; the linker removes these functions
//! (`--gc-sections`), and with them the references.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The files of FAISS to compile, without `.cpp`.
const FILES: [&str; 18] = [
    "Index",
    "IndexFlat",
    "IndexFlatCodes",
    "impl/AuxIndexStructures",
    "impl/CodePacker",
    "impl/FaissException",
    "impl/IDSelector",
    "utils/Heap",
    "utils/distances",
    "utils/distances_fused/avx512",
    "utils/distances_fused/distances_fused",
    "utils/distances_fused/simdlib_based",
    "utils/distances_simd",
    "utils/extra_distances",
    "utils/partitioning",
    "utils/random",
    "utils/sorting",
    "utils/utils",
];
/// Functions that `native/index.cpp` defines instead of FAISS.
const REPLACED: [&str; 2] = ["fvec_inner_product", "fvec_inner_product_batch_4"];

fn main() {
    println!("cargo::rerun-if-changed=native");
    let faiss = faiss_sources();
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .define("FINTEGER", "int")
        // Without this define, FAISS's headers would import the symbols from a DLL on Windows.
        .define("FAISS_MAIN_LIB", None)
        .flag_if_supported("-fvisibility=hidden")
        .include("native/include")
        .include(&faiss);
    if let Some(architecture) = architecture_flag() {
        build.flag(architecture);
    }
    let mut replacing = build.clone();
    for name in REPLACED {
        replacing.define(name, format!("{name}_of_faiss").as_str());
    }
    let (replaced, plain): (Vec<_>, Vec<_>) =
        FILES.iter().partition(|file| file.ends_with("distances_simd"));
    let path = |file: &&str| faiss.join("faiss").join(file).with_extension("cpp");
    // This library comes first: the linker resolves its symbols in the libraries that follow.
    build.file("native/index.cpp").files(plain.into_iter().map(path));
    build.compile("episodica_faiss_index");
    replacing.files(replaced.into_iter().map(path));
    replacing.compile("episodica_faiss_distances");
}

/// The instruction set that Rust targets, as an option of the C++ compiler; `None` for its default.
fn architecture_flag() -> Option<&'static str> {
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let has = |name: &str| features.split(',').any(|feature| feature == name);
    match env::var("CARGO_CFG_TARGET_ENV").as_deref() {
        Ok("msvc") => None,
        _ if has("avx2") && has("bmi2") && has("fma") => Some("-march=x86-64-v3"),
        _ if has("sse4.2") && has("popcnt") => Some("-march=x86-64-v2"),
        _ => None,
    }
}

/// The folder of FAISS's sources: the crate's folder, as reported by Cargo.
fn faiss_sources() -> PathBuf {
    let metadata = |more: &[&str]| {
        let output = Command::new(env::var_os("CARGO").expect("cargo tells its own path"))
            .args(["metadata", "--format-version=1", "--manifest-path", "Cargo.toml"])
            .args(more)
            .output()
            .expect("cargo runs");
        output.status.success().then_some(output.stdout)
    };
    let target = format!("--filter-platform={}", env::var("TARGET").expect("cargo tells it"));
    // Local packages suffice, unless Cargo needs to read packages of other platforms.
    let found =
        metadata(&["--offline", &target]).or_else(|| metadata(&[])).expect("cargo metadata");
    let found = String::from_utf8(found).expect("cargo writes UTF-8");
    // Only these strings are needed, so the build avoids compiling a JSON parser.
    let manifest = found
        .split("\"manifest_path\":\"")
        .filter_map(|rest| rest.split('"').next())
        .map(|path| PathBuf::from(path.replace("\\\\", "\\")))
        .find(|path| {
            let folder = path.parent().and_then(|folder| folder.file_name()?.to_str());
            folder.is_some_and(|name| name == "faiss-sys" || name.starts_with("faiss-sys-"))
        });
    manifest.expect("faiss-sys is a dependency").with_file_name("faiss")
}
