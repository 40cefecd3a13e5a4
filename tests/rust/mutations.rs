//! Runs the fuzz targets over their corpora with random changes, without libFuzzer: some hundred
//! runs of each target in an ordinary test, a minute of each in `make torture`. The seed is fixed,
//! so each failure repeats.

#[path = "../../fuzz/src/targets.rs"]
mod targets;

use std::path::Path;
use std::time::{Duration, Instant};

use episodica_core::store::testing::Random;

use crate::counts;

/// Pieces of text that the readers look for.
const WORDS: [&str; 24] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\u0000",
    "\\ud800",
    ":",
    ",",
    "\n",
    "null",
    "1e999",
    "-0",
    "\"crc\":\"00000000\"",
    "{\"type\":",
    "{\"deleted\":\"e1\"}\n",
    "```json\n",
    "last Friday",
    "昨天",
    "十二月",
    "2024-02-30",
    "\u{feff}",
    "[[[[[[[[[[[[[[[[",
    "9999999999999999999999",
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{}", folder.display());
    files.into_iter().map(|path| std::fs::read(path).unwrap()).collect()
}

fn mutate(random: &mut Random, corpus: &[Vec<u8>]) -> Vec<u8> {
    let pick = |random: &mut Random| corpus[random.below(corpus.len() as u64) as usize].clone();
    let mut bytes = pick(random);
    for _ in 0..=random.below(6) {
        let end = bytes.len() as u64;
        let (a, b) = (random.below(end + 1) as usize, random.below(end + 1) as usize);
        let (from, to) = (a.min(b), a.max(b).min(a.min(b) + 200));
        match random.below(7) {
            0 if end > 0 => bytes[from.min(end as usize - 1)] ^= 1 << random.below(8),
            1 if end > 0 => bytes[from.min(end as usize - 1)] = random.below(256) as u8,
            2 => drop(bytes.drain(from..to)),
            3 => {
                let piece = bytes[from..to].to_vec();
                bytes.splice(to..to, piece);
            }
            4 => bytes.truncate(to),
            5 => {
                let other = pick(random);
                let cut = random.below(other.len() as u64 + 1) as usize;
                bytes.truncate(from);
                bytes.extend_from_slice(&other[cut..]);
            }
            _ => {
                let word = WORDS[random.below(WORDS.len() as u64) as usize];
                bytes.splice(from..from, word.bytes());
            }
        }
    }
    bytes
}

fn run(name: &str, seed: u64, target: fn(&[u8])) {
    let corpus = corpus(name);
    corpus.iter().for_each(|bytes| target(bytes));
    let mut random = Random::new(seed);
    let (least, seconds) = (400, counts::rounds(0, 60));
    let (started, mut runs) = (Instant::now(), 0);
    while runs < least || started.elapsed() < Duration::from_secs(seconds) {
        let input = mutate(&mut random, &corpus);
        let outcome = std::panic::catch_unwind(|| target(&input));
        assert!(outcome.is_ok(), "{name}, run {runs}: {:?}", String::from_utf8_lossy(&input));
        runs += 1;
    }
    counts::report("mutations", &[("inputs", runs)]);
}

#[test]
fn log_reader() {
    run("log_reader", 1, targets::log_reader);
}

#[test]
fn dates() {
    run("dates", 3, targets::dates);
}

#[test]
fn model_answer() {
    run("model_answer", 4, targets::model_answer);
}
