//! Caches that were changed on purpose, with fitting checksums. The engine uses them or ignores
//! them; nothing crashes, no message is lost, and every call returns a result or an error.
//!
//! The test runs in a child process, since a wrong length could take all memory, and a wrong link
//! the process.

use std::path::{Path, PathBuf};
use std::time::Duration;

use episodica_core::clock::DisplayZone;
use episodica_core::engine::{AnyRecord, ContextRequest, Engine, RecordKind};
use episodica_core::ids::Owner;
use episodica_core::score::{HitKind, OutputForm, RecordFilter, SearchMethod, SearchRequest};
use episodica_core::store::testing::{MemoryBackend, Random};
use episodica_core::store::{LogKind, StoreLayout};
use episodica_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::support::*;
use crate::child::in_child;
use crate::counts::{report, rounds};

const LOG: &str = "/m/messages/alice_messages.jsonl";
/// Bytes before a column: its number of values and their checksum.
const HEAD: usize = 12;

fn layout() -> (StoreLayout, Owner) {
    (StoreLayout::new(Path::new("/m")), Owner::new("default", "alice").unwrap())
}

fn furnished() -> Disk {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    let text = |n: i64| match n % 3 {
        0 => format!("I moved to town{n} last Friday, did you know?"),
        1 => format!("My favourite drink is ade{}.", n % 4),
        _ => format!("We saw a film about ships number{n}."),
    };
    let talk = |from: i64, to: i64| {
        (from..to)
            .map(|n| said(&format!("m{n}"), &text(n), n * 700, [None, Some("s")][n as usize % 2]))
    };
    engine.add_messages("alice", talk(0, 24).collect(), None, &NOW).unwrap();
    engine.flush("alice", &NOW).unwrap();
    let AnyRecord::Semantic(fact) = records(&engine, "alice", RecordKind::Semantic).remove(0)
    else {
        panic!("asked for facts")
    };
    engine.update("alice", &fact.memory_id, "They moved to another place.", &NOW).unwrap();
    engine.add_messages("alice", talk(24, 27).collect(), None, &NOW).unwrap();
    engine.close(Duration::from_secs(5), &NOW).unwrap();
    disk
}

/// A column of a pack.
#[derive(Clone)]
struct Column {
    bytes: Vec<u8>,
    /// Bytes of a value.
    width: usize,
}

/// The columns of a pack. Nothing states their widths: the width is right if the checksum fits.
fn columns(mut pack: &[u8]) -> Vec<Column> {
    let mut columns = Vec::new();
    while !pack.is_empty() {
        let count = u64::from_le_bytes(pack[..8].try_into().unwrap()) as usize;
        let sum = u32::from_le_bytes(pack[8..HEAD].try_into().unwrap());
        let bytes = |width: usize| pack.get(HEAD..HEAD + count * width);
        let width = (1..=64)
            .find(|width| bytes(*width).is_some_and(|bytes| crc32fast::hash(bytes) == sum))
            .unwrap();
        columns.push(Column { bytes: bytes(width).unwrap().to_vec(), width });
        pack = &pack[HEAD + count * width..];
    }
    columns
}

/// A pack of these columns, and the checksum of its heads.
fn packed(columns: &[Column]) -> (Vec<u8>, u32) {
    let (mut pack, mut heads) = (Vec::new(), crc32fast::Hasher::new());
    for column in columns {
        let count = (column.bytes.len() / column.width) as u64;
        let mut head = count.to_le_bytes().to_vec();
        head.extend(crc32fast::hash(&column.bytes).to_le_bytes());
        heads.update(&head);
        pack.extend(head);
        pack.extend(&column.bytes);
    }
    (pack, heads.finalize())
}

/// A line of JSON with its checksum recomputed.
fn mended(line: &Value) -> Vec<u8> {
    let mut line = line.clone();
    line.as_object_mut().unwrap().shift_remove("crc");
    let mut bytes = serde_json::to_vec(&line).unwrap();
    bytes.pop();
    let sum = format!(",\"crc\":\"{:08x}\"}}\n", crc32fast::hash(&bytes));
    bytes.extend(sum.as_bytes());
    bytes
}

/// Replaces one or two numbers by a random number, a small one or an edge case.
fn change_numbers(random: &mut Random, bytes: &mut Vec<u8>, width: usize) {
    for _ in 0..=random.below(2) {
        if bytes.len() < width.max(1) {
            return;
        }
        let at = random.below((bytes.len() / width) as u64) as usize * width;
        let edges = [0, 1, 2, 23, 24, 26, 27, 28, 255, u64::from(u32::MAX), 1 << 31, u64::MAX];
        let number = match random.below(3) {
            0 => random.next_u64(),
            1 => random.below(40),
            _ => edges[random.below(edges.len() as u64) as usize],
        };
        // At any place in the value, since rows of a table hold several numbers.
        let at = at + random.below(width as u64) as usize / 4 * 4;
        let end = (at + if random.below(2) == 0 { 4 } else { 8 }).min(bytes.len());
        match random.below(8) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes.truncate(at / width * width),
            2 => {
                let copy = bytes[at / width * width..][..width].to_vec();
                bytes.extend(copy);
            }
            _ => bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]),
        }
    }
}

/// Changes a page of compressed records: `columns` contains the ends of rows, the ends of pages,
/// and the pages.
fn change_page(random: &mut Random, columns: &mut [Column]) -> Option<()> {
    let [_, ends, pages] = columns else { return None };
    let ends_at: Vec<usize> =
        ends.bytes.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end) as usize).collect();
    if ends_at.last() != Some(&pages.bytes.len()) || pages.width != 1 {
        return None;
    }
    let page = random.below(ends_at.len() as u64) as usize;
    let start = if page == 0 { 0 } else { ends_at[page - 1] };
    let compressed = &pages.bytes[start..ends_at[page]];
    let mut rows = lz4_flex::block::decompress_size_prepended(compressed).ok()?;
    let width = [1, 4][random.below(2) as usize];
    change_numbers(random, &mut rows, width);
    let changed = lz4_flex::block::compress_prepend_size(&rows);
    let longer = changed.len() as i64 - compressed.len() as i64;
    pages.bytes.splice(start..ends_at[page], changed);
    ends.bytes = ends_at
        .iter()
        .enumerate()
        .flat_map(|(at, end)| (*end as i64 + if at >= page { longer } else { 0 }).to_le_bytes())
        .collect();
    Some(())
}

/// A snapshot with a change and all its checksums recomputed.
fn changed_snapshot(random: &mut Random, snapshot: &[u8]) -> Vec<u8> {
    let end = snapshot.iter().position(|byte| *byte == b'\n').unwrap();
    let mut head: Value = serde_json::from_slice(&snapshot[..end]).unwrap();
    let mut body = &snapshot[end + 1..];
    let lengths: Vec<u64> = head["packs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pack| pack["bytes"].as_u64().unwrap())
        .collect();
    let chosen = random.below(lengths.len() as u64) as usize;
    let mut packs = Vec::new();
    for (number, length) in lengths.iter().enumerate() {
        let (pack, rest) = body.split_at(*length as usize);
        body = rest;
        if number != chosen {
            packs.extend(pack);
            continue;
        }
        let mut columns = columns(pack);
        let at = random.below(columns.len() as u64) as usize;
        let in_page = (at + 3 <= columns.len() && random.below(2) == 0)
            .then(|| change_page(random, &mut columns[at..at + 3]))
            .flatten();
        if in_page.is_none() {
            let width = columns[at].width;
            change_numbers(random, &mut columns[at].bytes, width);
        }
        let (pack, sum) = packed(&columns);
        head["packs"][number] = serde_json::json!({"bytes": pack.len(), "crc32": sum});
        packs.extend(pack);
    }
    if random.below(20) == 0 {
        let edges = [0_u64, 1, 1 << 40, u64::MAX, u64::MAX - 7];
        let edge = Value::from(edges[random.below(edges.len() as u64) as usize]);
        match random.below(3) {
            0 => head["dimension"] = edge,
            1 => head["packs"][chosen]["bytes"] = edge,
            _ => head["vectors"][0]["bytes"] = edge,
        }
    }
    [mended(&head), packs].concat()
}

/// Changes vectors and their manifest alike, and removes the snapshot, so that the vectors are
/// read.
fn change_vectors(random: &mut Random, disk: &MemoryBackend) {
    let (layout, owner) = layout();
    let paths = layout.cache_paths(&owner, LogKind::ALL[random.below(3) as usize]);
    let files = disk.files();
    let mut vectors = files[&paths.embeddings].clone();
    let at = 128 + random.below(vectors.len() as u64 - 128) as usize / 4 * 4;
    let odd = [f32::NAN, f32::INFINITY, -1e30, 0.0][random.below(4) as usize];
    vectors[at..at + 4].copy_from_slice(&odd.to_le_bytes());
    if random.below(4) == 0 {
        vectors[random.below(128) as usize] ^= 1 << random.below(8);
    }
    let mut manifest: Value = serde_json::from_slice(&files[&paths.manifest]).unwrap();
    manifest["embeddings"] =
        serde_json::json!({"bytes": vectors.len(), "crc32": crc32fast::hash(&vectors)});
    match random.below(6) {
        0 => manifest["dimension"] = Value::from(random.below(1 << 62)),
        1 => {
            let rows = manifest["rows"].as_array_mut().unwrap();
            let (from, to) = (
                random.below(rows.len() as u64) as usize,
                random.below(rows.len() as u64) as usize,
            );
            rows[to] = rows[from].clone();
        }
        _ => {}
    }
    disk.put(&paths.embeddings, &vectors);
    disk.put(&paths.manifest, &mended(&manifest));
    let snapshot = layout.snapshot_path(&owner);
    std::mem::drop(episodica_core::store::FileBackend::remove_file(disk, &snapshot));
}

fn request(query: &str) -> SearchRequest {
    SearchRequest {
        query: query.into(),
        top_k: 50,
        kinds: vec![HitKind::Message, HitKind::Episodic, HitKind::Semantic],
        method: SearchMethod::Hybrid,
        filter: RecordFilter::default(),
        threshold: None,
        per_kind: std::collections::BTreeMap::new(),
        include_superseded: true,
        now: moment(0),
    }
}

/// Random calls of a user, some of which read records not read before.
fn use_it(engine: &Engine, random: &mut Random, told: &mut Vec<Error>) {
    type Call<'a> = &'a dyn Fn(&Engine) -> Result<()>;
    let find = |engine: &Engine| engine.search("alice", &request("Which drink?"), &NOW).map(drop);
    let pack = |engine: &Engine| {
        let search = request("Where did they move?");
        let request = ContextRequest {
            search,
            max_tokens: 500,
            form: OutputForm::Text,
            zone: DisplayZone::default(),
        };
        engine.context("alice", &request, &NOW).map(drop)
    };
    let list = |engine: &Engine| {
        for kind in [RecordKind::Message, RecordKind::Episode, RecordKind::Semantic] {
            let page = episodica_core::engine::ListingPage {
                limit: usize::MAX,
                include_superseded: true,
                ..Default::default()
            };
            engine.records("alice", kind, &page, &NOW)?;
        }
        Ok(())
    };
    let add = |engine: &Engine| {
        let more = said("new", "I moved to Lyon last Friday.", 40_000, Some("s"));
        engine.add_messages("alice", vec![more], None, &NOW)?;
        engine.flush("alice", &NOW).map(drop)
    };
    let delete = |engine: &Engine| engine.delete("alice", "m1", &NOW).map(drop);
    let calls: [Call<'_>; 5] = [&find, &pack, &list, &add, &delete];
    let first = random.below(calls.len() as u64) as usize;
    for call in calls.iter().cycle().skip(first).take(2) {
        // A call fails at most once, since the next call reads the logs.
        let outcome = engine.guarded(call).or_else(|error| {
            told.push(error);
            engine.guarded(call)
        });
        told.extend(outcome.err());
    }
}

/// Changes one of the user's caches, the snapshot in seven of eight cases.
fn change(random: &mut Random, disk: &MemoryBackend, path: &Path, snapshot: &[u8]) {
    if random.below(8) == 0 {
        change_vectors(random, disk);
    } else {
        disk.put(path, &changed_snapshot(random, snapshot));
    }
}

/// The lines of a log, without those of deleted messages and of the deletion.
fn acknowledged(disk: &MemoryBackend) -> Vec<String> {
    let log = disk.files().remove(&PathBuf::from(LOG)).unwrap();
    let log = String::from_utf8(log).unwrap();
    let others = ["\"m1\"", "\"new\"", "\"type\":\"erased\""];
    let ours = |line: &&str| others.iter().all(|part| !line.contains(part));
    log.lines().filter(ours).map(str::to_owned).collect()
}

#[test]
fn a_cache_changed_on_purpose_is_used_or_left_aside() {
    in_child("engine::hostile::a_cache_changed_on_purpose_is_used_or_left_aside", || {
        let (written, mut random) = (furnished(), Random::new(29));
        let (layout, owner) = layout();
        let path = layout.snapshot_path(&owner);
        let snapshot = written.inner().files().remove(&path).unwrap();
        let lines = acknowledged(written.inner());
        let (mut changed, mut aside) = (0, 0);
        for round in 0..rounds(1_000, 100_000) {
            let disk = Disk::new(written.inner().after_process_death());
            change(&mut random, disk.inner(), &path, &snapshot);
            let mut told = Vec::new();
            let engine = open(&disk).unwrap();
            use_it(&engine, &mut random, &mut told);
            let closed = engine.guarded(|engine| engine.close(Duration::from_secs(5), &NOW));
            assert!(closed.is_ok(), "{round}: {closed:?}");
            let lost_aside = |error: &Error| {
                error.kind() == ErrorKind::Internal && error.to_string().contains("snapshot")
            };
            assert!(told.len() <= 1 && told.iter().all(lost_aside), "{round}: {told:?}");
            assert_eq!(acknowledged(disk.inner()), lines, "{round}");
            changed += 1;
            aside += told.len() as u64;
        }
        assert!(aside > 0, "no compressed record was changed");
        report("caches", &[("changed", changed), ("errors", aside), ("panics", 0), ("losses", 0)]);
    });
}

/// Repeats the first change that hid an episode from the deletion of one of its messages.
#[test]
fn a_deletion_from_which_a_snapshot_hides_an_episode_reads_the_logs() {
    let (written, mut random) = (furnished(), Random::new(29));
    let (layout, owner) = layout();
    let path = layout.snapshot_path(&owner);
    let snapshot = written.inner().files().remove(&path).unwrap();
    for round in 0..=10_815 {
        let disk = Disk::new(written.inner().after_process_death());
        change(&mut random, disk.inner(), &path, &snapshot);
        if round < 10_815 {
            random.below(5);
            continue;
        }
        let engine = open(&disk).unwrap();
        let delete = || engine.guarded(|engine| engine.delete("alice", "m1", &NOW));
        let report = delete().or_else(|error| {
            assert!(error.to_string().contains("snapshot"), "{error:?}");
            delete()
        });
        assert_eq!(report.unwrap().messages, 1);
        engine.close(Duration::from_secs(5), &NOW).unwrap();
    }
}
