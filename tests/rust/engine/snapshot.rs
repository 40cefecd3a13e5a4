//! A snapshot is used only if it equals the view that the logs give, and nothing deleted survives
//! in a snapshot.

use std::io::ErrorKind as IoKind;
use std::path::Path;
use std::time::{Duration, Instant};

use episodica_core::config::MemoryConfig;
use episodica_core::engine::{AnyRecord, Engine, EngineHandle, RecordKind, StatedFact};
use episodica_core::model::{NewMessage, UserStats};
use episodica_core::score::{HitKind, HitRecord, SearchMethod};
use episodica_core::store::testing::{Failure, MemoryBackend, Random};

use super::support::*;
use crate::counts::rounds;

fn close(engine: &Engine) {
    engine.close(Duration::from_secs(5), &NOW).unwrap();
}

fn talk(from: i64, to: i64) -> Vec<NewMessage> {
    let text = |n: i64| match n % 4 {
        0 => format!("I moved to town{n} last Friday, did you know?"),
        1 => format!("My favourite drink is ade{}.", n % 8),
        2 => format!("We saw a film about ships number{n}. It was long."),
        _ => format!("Bob works at firm{n} now."),
    };
    (from..to)
        .map(|n| {
            said(&format!("m{n}"), &text(n), n * 700, Some(if n % 3 == 0 { "s1" } else { "s2" }))
        })
        .collect()
}

/// A user with episodes, facts, an edited episode and an edited fact (so that there are earlier
/// revisions), and messages that await their episode.
fn furnish(engine: &Engine) {
    engine.add_messages("alice", talk(0, 30), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let AnyRecord::Episode(episode) = records(engine, "alice", RecordKind::Episode).remove(1)
    else {
        panic!("an episode")
    };
    engine
        .update("alice", &episode.episode_id, "They spoke of ships and of moving house.", &NOW)
        .unwrap();
    let AnyRecord::Semantic(fact) = records(engine, "alice", RecordKind::Semantic).remove(0) else {
        panic!("a memory")
    };
    engine.update("alice", &fact.memory_id, "They moved to another place.", &NOW).unwrap();
    let statement = StatedFact {
        content: "The lift is broken.".into(),
        expires_after: Some(60.0),
        ..StatedFact::default()
    };
    engine.remember("alice", statement, &NOW).unwrap();
    let archived = [RecordKind::Episode, RecordKind::Semantic]
        .map(|kind| records(engine, "alice", kind)[2].id().to_owned());
    engine.archive("alice", &archived, &NOW).unwrap();
    engine.add_messages("alice", talk(30, 34), None, &NOW).unwrap();
}

fn furnished() -> Disk {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    furnish(&engine);
    close(&engine);
    drop(engine);
    assert!(snapshot(&disk).is_some());
    disk
}

/// The answers to all questions about a user, each with a score. They are sorted, since equally
/// good or equally old records may come in any order.
type Everything = Vec<(String, f64)>;

fn everything(engine: &Engine) -> Everything {
    let mut all = recorded(engine);
    for query in ["Where did they move?", "ade1 drink", "number14 ships", "What does Bob do?"] {
        for method in
            [SearchMethod::Hybrid, SearchMethod::Bm25, SearchMethod::Vector, SearchMethod::Norlift]
        {
            let kinds = vec![HitKind::Episodic, HitKind::Semantic, HitKind::Message];
            let request = asked(query, 500, kinds, method);
            let hits = engine.search("alice", &request, &NOW).unwrap().hits;
            all.extend(
                hits.into_iter()
                    .map(|hit| (format!("{query} {method:?} {:?}", hit.record), hit.score)),
            );
        }
    }
    let stats = UserStats { memory_bytes: 0, ..engine.user_stats("alice", &NOW).unwrap() };
    all.push((format!("{stats:?}"), 0.0));
    all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The best message for a question.
fn best(engine: &Engine, query: &str, method: SearchMethod) -> String {
    let request = asked(query, 1, vec![HitKind::Message], method);
    let hit = engine.search("alice", &request, &NOW).unwrap().hits.remove(0);
    let HitRecord::Message(message) = hit.record else { panic!("a message") };
    message.content.clone()
}

/// The records and their earlier revisions.
fn recorded(engine: &Engine) -> Everything {
    let mut all = Vec::new();
    for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
        for record in records(engine, "alice", kind) {
            all.push((format!("{record:?}"), 0.0));
            all.push((format!("{:?}", engine.history("alice", record.id(), &NOW).unwrap()), 0.0));
        }
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

/// Compares two answers; scores may differ by the rounding of half precision.
fn same(one: &Everything, other: &Everything, case: &str) {
    let missing = |from: &Everything, all: &Everything| -> Vec<String> {
        let there = |line: &String| from.iter().any(|(other, _)| other == line);
        all.iter()
            .filter(|(line, _)| !there(line))
            .take(2)
            .map(|(line, _)| line.chars().take(600).collect())
            .collect()
    };
    assert!(
        one.iter().map(|(line, _)| line).eq(other.iter().map(|(line, _)| line)),
        "{case}: only here {:#?}, only there {:#?}",
        missing(other, one),
        missing(one, other)
    );
    for ((line, score), (_, other)) in one.iter().zip(other) {
        assert!((score - other).abs() < 5e-3, "{case}: {score} and {other} for {line}");
    }
}

/// An engine opened without a segment.
fn without_segment(disk: &Disk) -> EngineHandle {
    let image = disk.inner().after_process_death();
    let image = Disk::new(image);
    std::mem::drop(episodica_core::store::FileBackend::remove_file(image.inner(), &segment_path()));
    open(&image).unwrap()
}

fn from_the_logs(disk: &Disk) -> Everything {
    everything(&without_segment(disk))
}

#[test]
fn a_user_comes_from_the_snapshot_as_from_the_logs_and_goes_on_alike() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    let before = everything(&engine);
    same(&before, &from_the_logs(&disk), "opened");
    engine.add_messages("alice", talk(34, 60), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let after = everything(&engine);
    same(&after, &from_the_logs(&disk), "gone on");
    close(&engine);
    drop(engine);
    // Records that were not read in between go from one snapshot to the next.
    for n in 0..2 {
        let engine = open(&disk).unwrap();
        let more = said(&format!("n{n}"), "One more.", 90_000 + n, Some("s9"));
        engine.add_messages("alice", vec![more], None, &NOW).unwrap();
        close(&engine);
    }
    let engine = open(&disk).unwrap();
    same(&everything(&engine), &from_the_logs(&disk), "handed on");
}

fn opens_from_the_snapshot(disk: &Disk) -> bool {
    uses_the_snapshot(disk, || {
        open(disk).unwrap().load_user("alice", &NOW).unwrap();
    })
}

#[test]
fn a_killed_process_leaves_a_snapshot_and_the_lines_behind_it() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", talk(34, 60), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let AnyRecord::Episode(episode) = records(&engine, "alice", RecordKind::Episode).remove(0)
    else {
        panic!("an episode")
    };
    for text in ["They spoke of tea.", "They spoke of tea and of coffee."] {
        engine.update("alice", &episode.episode_id, text, &NOW).unwrap();
    }
    let AnyRecord::Semantic(fact) = records(&engine, "alice", RecordKind::Semantic).remove(1)
    else {
        panic!("a fact")
    };
    engine.update("alice", &fact.memory_id, "They like tea.", &NOW).unwrap();
    engine.add_messages("alice", talk(60, 63), None, &NOW).unwrap();
    let killed = Disk::new(disk.inner().after_process_death());
    drop(engine);
    assert!(opens_from_the_snapshot(&killed));
    let opened = open(&killed).unwrap();
    let before = everything(&opened);
    same(&before, &from_the_logs(&killed), "killed");
    assert!(opened.verify(None, &NOW).unwrap().problems.is_empty());
    // The engine accepts messages and closes with a snapshot of everything.
    opened.add_messages("alice", talk(63, 70), None, &NOW).unwrap();
    same(&everything(&opened), &from_the_logs(&killed), "gone on");
    close(&opened);
    drop(opened);
    assert!(opens_from_the_snapshot(&killed));
    same(&everything(&open(&killed).unwrap()), &from_the_logs(&killed), "closed");
}

/// Adds enough messages for a snapshot to be due, and waits until it is written in the background.
fn grow(engine: &Engine, disk: &Disk, from: i64) {
    let before = snapshot(disk);
    engine.add_messages("alice", talk(from, from + GROWTH), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while snapshot(disk) == before {
        assert!(Instant::now() < deadline, "no snapshot was taken");
        std::thread::sleep(Duration::from_millis(20));
    }
}

const GROWTH: i64 = 2_100;

#[test]
fn snapshots_one_after_the_other_add_what_is_new() {
    let disk = furnished();
    let engine = open(&disk).unwrap();
    let rows = |segment: &[u8]| footer_of(segment).0["vectors"][0]["rows"].as_i64().unwrap();
    for round in 0..4 {
        grow(&engine, &disk, 34 + round * GROWTH);
        let after = snapshot(&disk).unwrap();
        assert_eq!(rows(&after), 34 + (round + 1) * GROWTH, "round {round}");
        let killed = Disk::new(disk.inner().after_process_death());
        assert!(opens_from_the_snapshot(&killed), "round {round}");
        let expected = recorded(&without_segment(&killed));
        let opened = open(&killed).unwrap();
        same(&recorded(&opened), &expected, &format!("killed in round {round}"));
        let last = 33 + (round + 1) * GROWTH;
        for said in [2, 34 + round * GROWTH, last - last % 4] {
            let wanted = talk(said, said + 1).remove(0).content;
            assert_eq!(best(&opened, &wanted, SearchMethod::Bm25), wanted);
            // Vectors hardly distinguish numbers.
            let words = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "");
            assert_eq!(words(&best(&opened, &wanted, SearchMethod::Vector)), words(&wanted));
        }
        // Whatever part is lost is made again from the logs.
        let torn = Disk::new(disk.inner().after_process_death());
        torn.inner().put(segment_path(), &after[..after.len() * (round as usize + 1) / 5]);
        same(&recorded(&open(&torn).unwrap()), &expected, &format!("torn in round {round}"));
        // Makes earlier revisions, some of them in the pages of the snapshot.
        let AnyRecord::Episode(episode) =
            records(&engine, "alice", RecordKind::Episode).remove(round as usize)
        else {
            panic!("an episode")
        };
        engine.update("alice", &episode.episode_id, "They spoke of boats.", &NOW).unwrap();
        let AnyRecord::Semantic(fact) = records(&engine, "alice", RecordKind::Semantic).remove(2)
        else {
            panic!("a fact")
        };
        engine.update("alice", &fact.memory_id, &format!("They like tea {round}."), &NOW).unwrap();
    }
    close(&engine);
    drop(engine);
    assert!(opens_from_the_snapshot(&disk));
    same(&recorded(&open(&disk).unwrap()), &recorded(&without_segment(&disk)), "closed");
}

#[test]
fn a_torn_line_behind_the_snapshot_is_cut_off_and_a_bad_one_set_aside() {
    const LOG: &str = "/m/messages/alice_messages.jsonl";
    for (tail, used) in [(&b"{\"message_id\":\"x\",\"con"[..], true), (b"{bad}\n", false)] {
        let disk = furnished();
        let whole = disk.inner().files().remove(Path::new(LOG)).unwrap();
        disk.inner().put(LOG, &[&whole, tail].concat());
        let image = Disk::new(disk.inner().after_process_death());
        assert_eq!(opens_from_the_snapshot(&image), used);
        let engine = open(&disk).unwrap();
        let found = engine.verify(None, &NOW).unwrap().problems;
        assert!(found.iter().any(|problem| problem.path == Path::new(LOG)), "{found:?}");
        assert_eq!(disk.inner().files()[Path::new(LOG)], whole);
        same(&everything(&engine), &from_the_logs(&disk), "mended");
    }
}

#[test]
fn a_snapshot_that_holds_is_read_and_not_written_again() {
    let disk = furnished();
    let before = snapshot(&disk);
    let written = || -> Vec<String> {
        let writes = |operation: &String| {
            ["append", "create", "rename", "remove"].iter().any(|verb| operation.starts_with(verb))
        };
        disk.take_operations()
            .into_iter()
            .filter(|operation| writes(operation) && operation.contains("alice"))
            .collect()
    };
    written();
    let engine = open(&disk).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    close(&engine);
    drop(engine);
    assert!(written().is_empty());
    assert_eq!(snapshot(&disk), before);
    // A reader also uses the snapshot, and writes nothing.
    let reader = open_as(&disk, true, with_snapshots()).unwrap();
    same(&everything(&reader), &from_the_logs(&disk), "read only");
    assert!(written().is_empty());
}

#[test]
fn a_small_user_has_none_and_one_that_is_not_wanted_goes() {
    let disk = furnished();
    let engine = open_as(&disk, false, MemoryConfig::default()).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    close(&engine);
    assert_eq!(snapshot(&disk), None);
}

#[test]
fn what_depends_on_the_configuration_is_not_taken_over() {
    let disk = furnished();
    let without = MemoryConfig { semantic_memory: false, ..with_snapshots() };
    let engine = open_as(&disk, false, without).unwrap();
    assert_eq!(engine.user_stats("alice", &NOW).unwrap().pending_semantic, 0);
    engine.add_messages("alice", talk(60, 70), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    close(&engine);
    drop(engine);
    let engine = open(&disk).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let learned = |record: &AnyRecord| {
        matches!(
            record,
            AnyRecord::Semantic(fact) if fact.source_messages.iter().any(|id| id.as_str() >= "m60"),
        )
    };
    assert!(
        records(&engine, "alice", RecordKind::Semantic).iter().any(learned),
        "learned after learning is on again"
    );
}

#[test]
fn nothing_damaged_or_out_of_date_is_believed() {
    let disk = furnished();
    let expected = from_the_logs(&disk);
    let whole = snapshot(&disk).unwrap();
    let mut random = Random::new(3);
    for round in 0..rounds(150, 3_000) {
        let image = Disk::new(disk.inner().after_process_death());
        let mut damaged = whole.clone();
        match round % 3 {
            0 => damaged[random.below(whole.len() as u64) as usize] ^= 1 << random.below(8),
            1 => damaged.truncate(random.below(whole.len() as u64) as usize),
            _ => damaged.extend_from_slice(b"more"),
        }
        image.inner().put(segment_path(), &damaged);
        same(&everything(&open(&image).unwrap()), &expected, &format!("round {round}"));
    }
    // An older snapshot, sound in itself: the lines behind it are read.
    let engine = open(&disk).unwrap();
    engine
        .add_messages(
            "alice",
            vec![said("late", "A late word about zqlighthouses.", 90_000, Some("s9"))],
            None,
            &NOW,
        )
        .unwrap();
    close(&engine);
    drop(engine);
    let expected = from_the_logs(&disk);
    assert!(expected.iter().any(|(line, _)| line.contains("zqlighthouses")));
    disk.inner().put(segment_path(), &whole);
    same(&everything(&open(&disk).unwrap()), &expected, "an older one");
    // Older logs with a newer snapshot.
    let image = Disk::new(furnished().inner().after_process_death());
    let newer = Disk::new(disk.inner().after_process_death());
    let engine = open(&newer).unwrap();
    close(&engine);
    drop(engine);
    image.inner().put(segment_path(), &snapshot(&newer).unwrap());
    same(&everything(&open(&image).unwrap()), &from_the_logs(&image), "a newer one");
}

#[test]
fn a_deletion_takes_the_snapshot_with_it() {
    let disk = furnished();
    let leftover = format!("{}.tmp", segment_path().display());
    disk.inner().put(&leftover, b"town0, left by a crash");
    let engine = open(&disk).unwrap();
    engine.delete("alice", "m0", &NOW).unwrap();
    assert_eq!(snapshot(&disk), None, "the vectors of the other records are written at once");
    assert!(disk.inner().files().contains_key(&segment_path()));
    assert!(
        files_with(&disk, "town0 ").is_empty() && files_with(&disk, "left by a crash").is_empty()
    );
    // The indexes in memory still contain the deleted words; the next opening builds new indexes.
    close(&engine);
    assert_eq!(snapshot(&disk), None);
    drop(engine);
    let engine = open(&disk).unwrap();
    engine.load_user("alice", &NOW).unwrap();
    close(&engine);
    drop(engine);
    let engine = open(&disk).unwrap();
    assert!(
        snapshot(&disk).is_some()
            && !everything(&engine).iter().any(|(line, _)| line.contains("town0 "))
    );
    engine.delete_user_data("alice", &NOW).unwrap();
    assert_eq!(snapshot(&disk), None);
    close(&engine);
    assert_eq!(snapshot(&disk), None);
}

#[test]
fn closing_may_fail_anywhere_and_nothing_is_lost() {
    for failure in [Failure::Once, Failure::FromThenOn] {
        for n in 0.. {
            let disk = furnished();
            let engine = open(&disk).unwrap();
            engine.add_messages("alice", talk(34, 40), None, &NOW).unwrap();
            let before = everything(&engine);
            disk.fail_after(n, failure, IoKind::StorageFull);
            let outcome = engine.close(Duration::ZERO, &NOW);
            let failed = disk.failures() > 0;
            disk.heal();
            drop(engine);
            for image in [
                disk.inner().after_power_cut(),
                disk.inner().after_lucky_power_cut(&mut Random::new(n)),
                disk.inner().after_process_death(),
            ] {
                same(
                    &everything(&open(&Disk::new(image)).unwrap()),
                    &before,
                    &format!("{failure:?} at operation {n}"),
                );
            }
            if !failed {
                outcome.unwrap();
                break;
            }
        }
    }
}
