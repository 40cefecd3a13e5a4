//! How long the tests run, and what they count for `make torture`.

use std::io::Write;

/// How many rounds: `short` in an ordinary run, `long` times the scale in `TORTURE_SCALE`, never
/// fewer than `short`.
pub fn rounds(short: u64, long: u64) -> u64 {
    match std::env::var("TORTURE_SCALE").ok().and_then(|scale| scale.parse::<f64>().ok()) {
        Some(scale) => ((long as f64 * scale) as u64).max(short),
        None => short,
    }
}

/// Writes what a part of the torture counted as one JSON line into the file named by
/// `TORTURE_COUNTS`; nothing without it.
///
/// A part whose test fails writes nothing, and a missing part fails the whole.
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
    // One write, so that lines of tests that run side by side don't mix.
    file.write_all(format!("{row}\n").as_bytes()).expect("the file of counts can be written");
}
