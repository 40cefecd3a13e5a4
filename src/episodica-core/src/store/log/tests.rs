use std::io::ErrorKind as IoKind;

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::store::backend::FileBackend;
use crate::store::handles::HandleCache;
use crate::store::store_root::StoreRoot;
use crate::store::testing::{CountdownBackend, Failure, MemoryBackend};

type Disk = CountdownBackend<MemoryBackend>;
const PATH: &str = "/s/messages/a_messages.jsonl";

fn open(disk: &Disk) -> (RecordLog, LogRecovery, Vec<u64>) {
    let mut seen = Vec::new();
    let place = LogFile {
        backend: Arc::new(disk.clone()),
        root: Arc::new(StoreRoot::new(Path::new("/s"))),
        path: PATH.into(),
        mode: OpenMode::ReadWrite,
        handles: HandleCache::new(),
        until: None,
        mends: true,
    };
    let (log, recovery) = RecordLog::open(place, &mut |line| {
        let value: serde_json::Value =
            serde_json::from_slice(line.bytes).map_err(|error| error.to_string())?;
        seen.push(value["n"].as_u64().ok_or("no number")?);
        Ok(())
    })
    .unwrap();
    (log, recovery, seen)
}

fn row(n: u64) -> serde_json::Value {
    serde_json::json!({ "n": n })
}

#[test]
fn what_is_acknowledged_survives_a_power_cut() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1), row(2)]).unwrap();
    log.append_records(&[row(3)]).unwrap();
    let after = Disk::new(disk.inner().after_power_cut());
    assert_eq!(open(&after).2, [1, 2, 3]);
    assert_eq!(log.end_position(), LogPosition { bytes: 75, records: 3 });
}

#[test]
fn a_full_disk_loses_nothing_and_work_goes_on() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1)]).unwrap();
    disk.take_operations();
    // The `stat` passes; the append itself fails.
    disk.fail_after(1, Failure::FromThenOn, IoKind::StorageFull);
    let error = log.append_records(&[row(2)]).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot append to the log in `{PATH}`"));
    assert_eq!(
        error.hint(),
        Some("free some disk space and call again; nothing acknowledged was lost")
    );
    assert!(
        disk.inner().files()[Path::new(PATH)].len() > 25,
        "the failed append left a part of itself"
    );
    assert!(log.append_records(&[row(2)]).is_err());
    disk.heal();
    log.append_records(&[row(3)]).unwrap();
    assert_eq!(open(&disk).2, [1, 3]);
}

#[test]
fn after_a_failed_sync_the_file_is_replaced() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1)]).unwrap();
    let before = log.file_stamp().unwrap().unwrap().file_number;
    disk.fail_after(2, Failure::Once, IoKind::Other);
    let error = log.append_records(&[row(2)]).unwrap_err();
    assert_eq!(error.cause_chain(), format!("cannot sync the log in `{PATH}`: injected failure"));
    log.append_records(&[row(3)]).unwrap();
    assert_ne!(log.file_stamp().unwrap().unwrap().file_number, before);
    assert_eq!(open(&Disk::new(disk.inner().after_power_cut())).2, [1, 3]);
}

#[test]
fn a_torn_line_is_cut_and_a_bad_line_is_quarantined() {
    let disk = Disk::new(MemoryBackend::new());
    disk.inner().put(PATH, b"{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":2}\n{\"n\":");
    let (mut log, recovery, seen) = open(&disk);
    assert_eq!((seen, recovery.torn_bytes, recovery.quarantined), (vec![1, 2], 5, 1));
    let told: Vec<&str> =
        recovery.problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(
        told,
        ["line is not a record: no number", "the last line was never finished: `5` bytes"]
    );
    log.append_records(&[row(3)]).unwrap();
    let (_, recovery, seen) = open(&disk);
    assert_eq!((seen, recovery.problems), (vec![1, 2, 3], vec![]));
    let quarantine =
        disk.inner().files()[Path::new("/s/messages/a_messages.jsonl.quarantine.jsonl")].clone();
    assert!(
        String::from_utf8(quarantine)
            .unwrap()
            .contains(r#""line":2,"reason":"no number","text":"{\"n\":\"x\"}""#)
    );
}

#[test]
fn a_missing_line_feed_is_added_before_the_next_record() {
    for end in ["", "\u{1}"] {
        let disk = Disk::new(MemoryBackend::new());
        let mut bytes = encode_records(&[row(1)]).unwrap();
        bytes.pop();
        bytes.extend_from_slice(end.as_bytes());
        disk.inner().put(PATH, &bytes);
        let (mut log, _, seen) = open(&disk);
        assert_eq!(seen, [1]);
        log.append_records(&[row(2)]).unwrap();
        assert_eq!(open(&disk).2, [1, 2]);
    }
}

#[test]
fn a_file_that_somebody_else_changed_is_not_written() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1)]).unwrap();
    disk.inner().put(PATH, b"{\"n\":9}\n");
    let error = log.append_records(&[row(2)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the log was changed by another program while it was open in `{PATH}`")
    );
}

#[test]
fn a_log_that_is_deleted_while_a_reader_follows_it_is_no_error() {
    let disk = Disk::new(MemoryBackend::new());
    open(&disk).0.append_records(&[row(1)]).unwrap();
    let (reader, ..) = open(&disk);
    open(&disk).0.append_records(&[row(2)]).unwrap();
    disk.take_operations();
    let gate = disk.gate("read_from");
    let closed = gate.lock();
    std::thread::scope(|scope| {
        let tail = scope.spawn(|| reader.read_tail().unwrap());
        while !disk.has_done("read_from") {
            std::thread::yield_now();
        }
        disk.inner().remove_file(Path::new(PATH)).unwrap();
        drop(closed);
        assert!(tail.join().unwrap().is_none(), "the user must be opened again");
    });
}

#[test]
fn appending_nothing_settles_what_a_dead_writer_left() {
    let memory = MemoryBackend::new();
    memory.create_dir_all(Path::new("/s/messages")).unwrap();
    memory
        .create_new(Path::new(PATH))
        .unwrap()
        .append_bytes(&encode_records(&[row(1)]).unwrap())
        .unwrap();
    let disk = Disk::new(memory);
    let (mut log, _, seen) = open(&disk);
    assert_eq!(seen, [1]);
    assert_eq!(open(&Disk::new(disk.inner().after_power_cut())).2, [0_u64; 0]);
    log.append_records::<serde_json::Value>(&[]).unwrap();
    assert_eq!(open(&Disk::new(disk.inner().after_power_cut())).2, [1]);
}

#[test]
fn rewriting_keeps_drops_and_replaces() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1), row(2), row(3)]).unwrap();
    let mut rewritten = 0;
    log.rewrite_lines(&mut |line| {
        rewritten += 1;
        match line.number {
            1 => LineRewrite::Drop,
            2 => LineRewrite::Replace(encode_records(&[row(7), row(8)]).unwrap()),
            _ => LineRewrite::Keep,
        }
    })
    .unwrap();
    log.append_records(&[row(4)]).unwrap();
    assert_eq!((rewritten, log.end_position().records), (3, 4));
    assert_eq!(open(&Disk::new(disk.inner().after_power_cut())).2, [7, 8, 3, 4]);
}

#[test]
fn a_line_whose_checksum_fails_takes_no_other_line_with_it() {
    let disk = Disk::new(MemoryBackend::new());
    let (mut log, ..) = open(&disk);
    log.append_records(&[row(1), row(2), row(3), row(4)]).unwrap();
    drop(log);
    let mut bytes = disk.inner().files().remove(Path::new(PATH)).unwrap();
    let at = bytes.windows(5).position(|window| window == b"\"n\":2").unwrap();
    bytes[at + 4] = b'7';
    disk.inner().put(PATH, &bytes);
    assert_eq!(open(&disk).2, [1, 3, 4]);
    assert_eq!(
        open(&disk).2,
        [1, 3, 4],
        "the line behind the bad one is in the file that replaced the log"
    );
}
