//! The length of the tests, and the numbers that they report to `make torture`.

use std::io::Write;

/// The number of rounds: `short` in an ordinary run; in `make torture`, `long` times the scale in
/// `TORTURE_SCALE`, but at least `short`.
pub fn rounds(short: u64, long: u64) -> u64 {
    match std::env::var("TORTURE_SCALE").ok().and_then(|scale| scale.parse::<f64>().ok()) {
        Some(scale) => ((long as f64 * scale) as u64).max(short),
        None => short,
    }
}

/// Writes the counts of a part of the torture as one JSON line into the file named by
/// `TORTURE_COUNTS`; does nothing if that is not set.
///
/// A part whose test fails writes nothing, and `make torture` fails if the line of a part is
/// missing.
pub fn report(part: &str, counts: &[(&str, u64)]) {
    let Ok(path) = std::env::var("TORTURE_COUNTS") else { return };
    let mut row = serde_json::json!({"part": part});
    for (name, count) in counts {
        row[*name] = (*count).into();
    }
    let mut file = std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .expect("the file of counts can be written");
    // One write, so that lines of tests that run at the same time don't mix.
    file.write_all(format!("{row}\n").as_bytes()).expect("the file of counts can be written");
}
