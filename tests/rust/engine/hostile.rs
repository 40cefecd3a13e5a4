//! Caches that were changed on purpose, with fitting checksums. The engine uses them or ignores
//! them; nothing crashes, no message is lost, and every call returns a result or an error.
//!
//! The test runs in a child process, since a wrong length could take all memory, and a wrong link
//! the process.

use std::path::PathBuf;
use std::time::Duration;

use episodica_core::clock::DisplayZone;
use episodica_core::engine::{AnyRecord, ContextRequest, Engine, RecordKind};
use episodica_core::score::{HitKind, OutputForm, RecordFilter, SearchMethod, SearchRequest};
use episodica_core::store::testing::{MemoryBackend, Random};
use episodica_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::support::*;
use crate::child::in_child;
use crate::counts::{report, rounds};

const LOG: &str = "/m/messages/alice_messages.jsonl";
/// Bytes before a column: its number of values and their checksum.
const HEAD: usize = 12;

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

/// The lengths of a segment's packs.
fn pack_lengths(footer: &Value) -> Vec<usize> {
    let packs = footer["snapshot"]["packs"].as_array().unwrap().iter();
    packs.map(|pack| pack["bytes"].as_u64().unwrap() as usize).collect()
}

/// A segment with a change in one pack and all its checksums recomputed.
fn with_pack(segment: &[u8], number: usize, change: impl FnOnce(&mut Vec<Column>)) -> Vec<u8> {
    let (mut footer, end) = footer_of(segment);
    let lengths = pack_lengths(&footer);
    let start: usize = lengths[..number].iter().sum();
    let (before, rest) = segment[..end - 1].split_at(start);
    let (pack, after) = rest.split_at(lengths[number]);
    let mut columns = columns(pack);
    change(&mut columns);
    let (pack, sum) = packed(&columns);
    footer["snapshot"]["packs"][number] = serde_json::json!({"bytes": pack.len(), "crc32": sum});
    [before, &pack, after, b"\n", &mended(&footer)].concat()
}

/// A segment with a change in its snapshot and all its checksums recomputed.
fn changed_snapshot(random: &mut Random, segment: &[u8]) -> Vec<u8> {
    let packs = pack_lengths(&footer_of(segment).0).len() as u64;
    let chosen = random.below(packs) as usize;
    let changed = with_pack(segment, chosen, |columns| {
        let at = random.below(columns.len() as u64) as usize;
        let in_page = (at + 3 <= columns.len() && random.below(2) == 0)
            .then(|| change_page(random, &mut columns[at..at + 3]))
            .flatten();
        if in_page.is_none() {
            let width = columns[at].width;
            change_numbers(random, &mut columns[at].bytes, width);
        }
    });
    if random.below(20) > 0 {
        return changed;
    }
    let (mut footer, end) = footer_of(&changed);
    let edges = [0_u64, 1, 1 << 40, u64::MAX, u64::MAX - 7];
    let edge = Value::from(edges[random.below(edges.len() as u64) as usize]);
    match random.below(3) {
        0 => footer["vectors"][0]["dimension"] = edge,
        1 => footer["snapshot"]["packs"][chosen]["bytes"] = edge,
        _ => footer["vectors"][0]["rows"] = edge,
    }
    [&changed[..end], &mended(&footer)].concat()
}

/// A segment without its snapshot, with a change in keys or vectors and all its checksums
/// recomputed.
fn changed_vectors(random: &mut Random, segment: &[u8]) -> Vec<u8> {
    let (mut footer, end) = footer_of(segment);
    let packs: usize = pack_lengths(&footer).iter().sum();
    let mut parts = segment[packs..end - 1].to_vec();
    footer.as_object_mut().unwrap().shift_remove("snapshot");
    let (chosen, mut start) = ([0, 3][random.below(2) as usize], 0);
    // Parts 1 and 2 are empty.
    for number in [0, 3].into_iter().filter(|number| *number <= chosen) {
        let part = &mut footer["vectors"][number];
        let [rows, dimension] =
            ["rows", "dimension"].map(|key| part[key].as_u64().unwrap() as usize);
        assert!(rows > 0);
        let width = if part["half"] == true { 2 } else { 4 };
        let (keys, all) = parts[start..].split_at_mut(16 * rows);
        let all = &mut all[..width * rows * dimension];
        start += keys.len() + all.len();
        if number < chosen {
            continue;
        }
        let at = random.below(all.len() as u64) as usize / 4 * 4;
        let odd = [f32::NAN, f32::INFINITY, -1e30, 0.0][random.below(4) as usize];
        all[at..at + 4].copy_from_slice(&odd.to_le_bytes());
        match random.below(6) {
            0 => part["dimension"] = Value::from(random.below(1 << 62)),
            1 => {
                let [from, to] = [(); 2].map(|()| random.below(rows as u64) as usize * 16);
                keys.copy_within(from..from + 16, to);
            }
            _ => {}
        }
        part["keys_crc32"] = crc32fast::hash(keys).into();
        part["rows_crc32"] = crc32fast::hash(all).into();
    }
    parts.push(b'\n');
    [parts, mended(&footer)].concat()
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
        let outcome = engine.run_guarded(call).or_else(|error| {
            told.push(error);
            engine.run_guarded(call)
        });
        told.extend(outcome.err());
    }
}

/// Changes the user's segment: the snapshot in seven of eight cases, else the vectors.
fn change(random: &mut Random, segment: &[u8]) -> Vec<u8> {
    if random.below(8) == 0 {
        changed_vectors(random, segment)
    } else {
        changed_snapshot(random, segment)
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
        let segment = written.inner().files().remove(&segment_path()).unwrap();
        let lines = acknowledged(written.inner());
        let (mut changed, mut aside) = (0, 0);
        for round in 0..rounds(1_000, 100_000) {
            let disk = Disk::new(written.inner().after_process_death());
            disk.inner().put(segment_path(), &change(&mut random, &segment));
            let mut told = Vec::new();
            let engine = open(&disk).unwrap();
            use_it(&engine, &mut random, &mut told);
            let closed = engine.run_guarded(|engine| engine.close(Duration::from_secs(5), &NOW));
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

/// A snapshot hides from the deletion of a message that an episode has it.
#[test]
fn a_deletion_from_which_a_snapshot_hides_an_episode_reads_the_logs() {
    let disk = furnished();
    let segment = disk.inner().files().remove(&segment_path()).unwrap();
    // The pack of the episodes ends with their messages, the episode of each message, and what is
    // hidden.
    let hidden = with_pack(&segment, 2, |columns| {
        let [.., members, _, episodes, _] = &mut columns[..] else { panic!("more columns") };
        for member in members.bytes.as_chunks_mut().0.iter_mut() {
            assert!(u32::from_le_bytes(*member) < 27, "the slot of a message");
            if u32::from_le_bytes(*member) == 1 {
                *member = 0_u32.to_le_bytes();
            }
        }
        episodes.bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    });
    disk.inner().put(segment_path(), &hidden);
    let engine = open(&disk).unwrap();
    let delete = || engine.run_guarded(|engine| engine.delete("alice", "m1", &NOW));
    let error = delete().unwrap_err();
    assert!(error.to_string().contains("snapshot"), "{error:?}");
    assert_eq!(delete().unwrap().messages, 1);
    engine.close(Duration::from_secs(5), &NOW).unwrap();
}
