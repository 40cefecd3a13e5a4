//! `verify` finds changes made to a store from outside, says how to repair them, and finds nothing
//! after the repair.

use std::path::Path;

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, RecordKind};
use episodica_core::ids::{Owner, vector_key};
use episodica_core::model::StoreProblem;
use episodica_core::store::backend::FileBackend;
use episodica_core::store::testing::{MemoryBackend, Random};
use episodica_core::store::{LogKind, StoreLayout};

use super::support::*;
use crate::counts::{report, rounds};

const LOG: &str = "/m/messages/alice_messages.jsonl";

fn filled() -> Disk {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let messages = (0..5)
        .map(|n| said(&format!("m{n}"), &format!("I moved to town{n} last Friday."), n * 60, None))
        .collect();
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    engine.close(std::time::Duration::ZERO, &NOW).unwrap();
    drop(engine);
    Disk::new(disk.inner().after_power_cut())
}

fn errors(engine: &Engine) -> Vec<String> {
    let report = engine.verify(None, &NOW).unwrap();
    assert!(report.problems.iter().all(|problem| !problem.remedy.is_empty()));
    let errors: Vec<String> = report
        .problems
        .into_iter()
        .filter(|problem| !problem.mended)
        .map(|problem| problem.message)
        .collect();
    assert_eq!(report.errors, errors.len());
    errors
}

#[test]
fn facts_that_name_nothing_or_end_before_they_begin_are_found() {
    let disk = filled();
    let path = StoreLayout::new(Path::new("/m"))
        .log_path(&Owner::new("default", "alice").unwrap(), LogKind::Semantic);
    let bytes = disk.inner().read_file(&path).unwrap();
    let first = bytes.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"{\"memory_id\""));
    let mut fact: serde_json::Value = serde_json::from_slice(first.unwrap()).unwrap();
    fact.as_object_mut().unwrap().remove("crc");
    fact["memory_id"] = "damaged".into();
    for (change, value, expected) in [
        ("superseded_by", serde_json::json!("nobody"), "a successor that does not exist"),
        ("valid_to", serde_json::json!("1990-01-01T00:00:00+00:00"), "ends before it begins"),
    ] {
        let mut damaged = fact.clone();
        damaged[change] = value;
        let mut bytes = bytes.clone();
        bytes.extend_from_slice(damaged.to_string().as_bytes());
        bytes.push(b'\n');
        let disk = Disk::new(disk.inner().after_process_death());
        disk.inner().put(&path, &bytes);
        let engine = open(&disk).unwrap();
        let found = errors(&engine);
        assert!(found.iter().any(|one| one.contains(expected)), "{change}: {found:?}");
    }
}

#[test]
fn a_line_damaged_on_a_live_store_is_found_and_set_aside_at_the_next_opening() {
    let disk = filled();
    let engine = open(&disk).unwrap();
    assert!(errors(&engine).is_empty());
    // The same file with one byte changed, as by a failing disk.
    let damaged = Disk::new(disk.inner().after_process_death());
    let mut bytes = damaged.inner().read_file(Path::new(LOG)).unwrap();
    let engine = open(&damaged).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    let at = bytes.windows(5).position(|window| window == b"town0").unwrap();
    bytes[at] ^= 1;
    let mut file = damaged.inner().open_append(Path::new(LOG)).unwrap();
    file.truncate_to(0).unwrap();
    file.append_bytes(&bytes).unwrap();
    let found = errors(&engine);
    assert!(found.len() == 1 && found[0].contains("no longer a record"), "{found:?}");
    drop(engine);
    let engine = open(&damaged).unwrap();
    assert!(errors(&engine).is_empty());
    let report = engine.verify(None, &NOW).unwrap();
    assert!(
        report
            .problems
            .iter()
            .any(|problem| problem.path.to_string_lossy().ends_with(".quarantine.jsonl")),
        "{report:?}"
    );
    assert_eq!(
        records(&engine, "alice", RecordKind::Message).len(),
        4,
        "only the quarantine has the damaged line"
    );
}

#[test]
fn a_reader_reports_what_only_a_writer_can_mend() {
    let disk = filled();
    let mut bytes = disk.inner().read_file(Path::new(LOG)).unwrap();
    bytes.splice(0..0, *b"no record\n");
    disk.inner().put(LOG, &bytes);
    let reader = open_as(&disk, true, MemoryConfig::default()).unwrap();
    let found = errors(&reader);
    assert!(found.len() == 1 && found[0].contains("line is not a record"), "{found:?}");
    drop(reader);
    assert!(errors(&open(&disk).unwrap()).is_empty());
}

#[test]
fn flipped_bits_of_any_file_never_panic_and_never_change_an_answer() {
    let pristine = filled();
    let files: Vec<_> =
        pristine.inner().files().into_iter().filter(|(path, _)| !path.ends_with(".lock")).collect();
    let texts = |engine: &Engine| -> Vec<String> {
        let all = records(engine, "alice", RecordKind::Message);
        all.iter()
            .map(|record| format!("{record:?}"))
            .map(|text| text.split("content: ").nth(1).unwrap().to_owned())
            .collect()
    };
    let expected = texts(&open(&Disk::new(pristine.inner().after_power_cut())).unwrap());
    let answer = |engine: &Engine| {
        found(engine, "alice", "town3", episodica_core::score::SearchMethod::Vector)
    };
    let best = answer(&open(&Disk::new(pristine.inner().after_power_cut())).unwrap());
    let mut random = Random::new(23);
    let (flips, mut refused) = (rounds(400, 10_000), 0);
    for round in 0..flips {
        let (path, bytes) = &files[random.below(files.len() as u64) as usize];
        let bit = random.below(bytes.len() as u64 * 8) as usize;
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let disk = Disk::new(pristine.inner().after_power_cut());
        disk.inner().put(path, &flipped);
        let case = format!("round {round}: bit {bit} of {}", path.display());
        let Ok(engine) = open(&disk) else {
            // Only a damaged file with the version may keep the store from opening.
            assert!(path.ends_with("episodica.json"), "{case}");
            refused += 1;
            continue;
        };
        let found = texts(&engine);
        assert!(
            found.iter().all(|text| expected.contains(text)),
            "{case}: a text that was never written"
        );
        let log = path.to_string_lossy().ends_with(".jsonl");
        assert!(log || found == expected, "{case}: a cache or a manifest has changed the records");
        assert!(log || answer(&engine) == best, "{case}: a damaged cache has changed an answer");
        // A changed line feed joins two records. Otherwise one record is damaged, and no other
        // record is lost.
        let most = if bytes[bit / 8] == b'\n' { 2 } else { 1 };
        assert!(found.len() + most >= expected.len(), "{case}");
        engine.close(std::time::Duration::ZERO, &NOW).unwrap();
        drop(engine);
        let again = open(&disk).unwrap();
        assert!(errors(&again).is_empty(), "{case}: {:?}", errors(&again));
    }
    report("bits", &[("bits", flips), ("refused", refused), ("losses", 0)]);
}

#[test]
fn every_file_that_is_missing_is_an_empty_one() {
    let pristine = filled();
    for (path, _) in pristine.inner().files() {
        let disk = Disk::new(pristine.inner().after_power_cut());
        disk.inner().remove_file(&path).unwrap();
        let engine = open(&disk).unwrap();
        let messages = records(&engine, "alice", RecordKind::Message);
        let expected = if path == Path::new(LOG) { 0 } else { 5 };
        assert_eq!(messages.len(), expected, "without {}", path.display());
        assert!(errors(&engine).is_empty(), "without {}: {:?}", path.display(), errors(&engine));
    }
}

#[test]
fn an_episode_outlives_a_message_whose_line_is_damaged() {
    let disk = filled();
    let log = disk.inner().read_file(Path::new(LOG)).unwrap();
    disk.inner().put(LOG, &String::from_utf8(log).unwrap().replace("town1", "town9").into_bytes());
    for read_only in [true, false, false] {
        let engine = open_as(&disk, read_only, with_snapshots()).unwrap();
        assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 4);
        let AnyRecord::Episode(episode) = records(&engine, "alice", RecordKind::Episode).remove(0)
        else {
            panic!("an episode")
        };
        let held: Vec<&str> =
            episode.original_messages.iter().map(|one| one.message_id.as_str()).collect();
        assert_eq!(held, ["m0", "m2", "m3", "m4"]);
        assert!(episode.revision > 0 || episode.content.contains("town1"), "{}", episode.content);
        let report = engine.verify(None, &NOW).unwrap();
        let is_told = |problem: &StoreProblem| problem.message.contains("messages that were lost");
        assert!(report.problems.iter().any(is_told), "{:?}", report.problems);
        if !read_only {
            let content = format!("An edit of {}.", episode.revision);
            engine.update("alice", &episode.episode_id, &content, &NOW).unwrap();
        }
    }
}

#[test]
fn vectors_of_records_that_are_gone_do_not_stay_in_the_segment() {
    let disk = filled();
    let log = disk.inner().read_file(Path::new(LOG)).unwrap();
    let lines: Vec<&[u8]> = log.split_inclusive(|byte| *byte == b'\n').collect();
    // The logs lack the episodes, the facts and one message, which the segment still contains.
    for path in ["/m/episodes/alice_episodes.jsonl", "/m/semantic/alice_semantic.jsonl"] {
        disk.inner().remove_file(Path::new(path)).unwrap();
    }
    // Keeps the header, removes the first message.
    disk.inner().put(LOG, &[&lines[..1], &lines[2..]].concat().concat());
    let gone = vector_key("I moved to town0 last Friday.");
    assert_eq!(files_with(&disk, gone), [segment_path()]);
    let engine = open(&disk).unwrap();
    assert_eq!(records(&engine, "alice", RecordKind::Message).len(), 4);
    engine.close(std::time::Duration::ZERO, &NOW).unwrap();
    assert!(disk.inner().files().contains_key(&segment_path()));
    assert!(files_with(&disk, gone).is_empty());
}
