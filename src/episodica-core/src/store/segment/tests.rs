use std::io::ErrorKind as IoKind;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;
use crate::clock::{FixedClock, Moment};
use crate::ids::vector_key;
use crate::pack::ColumnPacker;
use crate::store::files::temporary_path;
use crate::store::testing::{CountdownBackend, Failure, MemoryBackend, Random};
use crate::store::{OpenMode, Store};

type Disk = CountdownBackend<MemoryBackend>;
const PATH: &str = "/m/segments/a.segment";

fn owner(user: &str) -> Owner {
    Owner::new("default", user).unwrap()
}

fn store(disk: &Disk) -> Store {
    let clock = FixedClock::new(Moment::new(0, 0).unwrap());
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), OpenMode::ReadWrite, &clock).unwrap()
}

/// Three vectors; the first number tells one segment from another.
fn vectors(first: f32) -> Matrix<'static> {
    ndarray::array![[first, 0.5], [0.25, -1.0], [0.0, 1.0]].into()
}

fn snapshot(text: &str) -> (SnapshotPart, Vec<Vec<u8>>) {
    let mut packer = ColumnPacker::default();
    packer.push_column(text.as_bytes());
    packer.push_column(&[7_u32, 8]);
    let (pieces, sum) = packer.finish();
    (SnapshotPart { made_by: "t".into(), logs: Default::default(), packs: vec![sum] }, pieces)
}

fn segment<'a>(first: f32, text: &str) -> NewSegment<'a> {
    let part = |is_half: bool, all: Matrix<'static>| NewVectors {
        keys: (0..all.nrows()).map(|row| vector_key(&format!("{first} {row}"))).collect(),
        dimension: all.ncols(),
        is_half,
        rows: Box::new(move |range| Ok(all.copy_rows(&range.collect::<Vec<_>>()))),
    };
    NewSegment {
        model: "table-1".into(),
        vectors: [
            part(false, vectors(first)),
            part(true, vectors(first)),
            part(false, Matrix::default()),
            part(true, vectors(-first)),
        ],
        snapshot: Some(snapshot(text)),
    }
}

/// Everything that a segment contains: text, keys and vectors; `None` if any part is damaged.
type Content = (String, Vec<(Vec<VectorKey>, Matrix<'static>)>);

fn content(store: &Store, user: &str) -> Result<Option<Content>, String> {
    let (owner, message) = (owner(user), |problem: crate::model::StoreProblem| problem.message);
    let Some(segment) = store.open_segment(&owner).map_err(message)? else { return Ok(None) };
    let mut pack = segment.open_pack(0).ok_or("no pack")?;
    let text = pack.next_text().ok_or("a pack is damaged")?;
    let numbers: Vec<u32> = pack.next_column().ok_or("a pack is damaged")?;
    if numbers != [7, 8] || !pack.ends_whole() {
        return Err("a pack is damaged".into());
    }
    let part = |number| {
        Ok((
            segment.read_keys(number).map_err(message)?,
            segment.read_vectors(number).map_err(message)?,
        ))
    };
    Ok(Some((text, (0..4).map(part).collect::<Result<_, String>>()?)))
}

fn saved(first: f32, text: &str) -> Disk {
    let disk = Disk::new(MemoryBackend::new());
    store(&disk).save_segment(&owner("a"), segment(first, text)).unwrap();
    disk
}

fn bytes(disk: &Disk) -> Vec<u8> {
    disk.inner().files()[Path::new(PATH)].clone()
}

#[test]
fn a_segment_comes_back() {
    let disk = saved(1.5, "a text");
    let (text, parts) = content(&store(&disk), "a").unwrap().unwrap();
    assert_eq!((text.as_str(), parts.len()), ("a text", 4));
    assert_eq!(parts[0].0[2], vector_key("1.5 2"));
    for (number, first, is_half) in [(0, 1.5, false), (1, 1.5, true), (3, -1.5, true)] {
        assert_eq!(parts[number].1, vectors(first).in_precision(is_half), "part {number}");
    }
    assert_eq!(parts[2], (Vec::new(), Matrix::default()));
    assert_eq!(content(&store(&disk), "b"), Ok(None));
    store(&disk).remove_segment(&owner("a")).unwrap();
    assert_eq!(content(&store(&disk), "a"), Ok(None));
}

#[test]
fn every_cut_and_every_flipped_bit_is_seen() {
    let disk = saved(1.0, "a text");
    let (store, whole) = (store(&disk), bytes(&disk));
    for end in 0..whole.len() {
        disk.inner().put(PATH, &whole[..end]);
        assert!(content(&store, "a").is_err(), "cut at {end}");
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        disk.inner().put(PATH, &flipped);
        assert!(content(&store, "a").is_err(), "bit {bit}");
    }
    for more in [&b"x"[..], b"\n", &whole] {
        disk.inner().put(PATH, &[&whole[..], more].concat());
        let is_refused = content(&store, "a").is_err();
        assert!(is_refused, "{} bytes more", more.len());
    }
    disk.inner().put(PATH, &whole);
    assert!(content(&store, "a").unwrap().is_some());
}

/// Writes a second segment with a failure at each operation, and at each byte of a full disk.
#[test]
fn a_write_that_fails_anywhere_leaves_the_old_segment_or_the_new_one() {
    let (old, new) =
        (content(&store(&saved(1.0, "old")), "a"), content(&store(&saved(2.0, "new")), "a"));
    let check = |disk: &Disk, seed: u64, is_written: bool, case: &str| {
        let images = [
            disk.inner().after_power_cut(),
            disk.inner().after_lucky_power_cut(&mut Random::new(seed)),
            disk.inner().after_process_death(),
        ];
        for image in images {
            let image = Disk::new(image);
            let found = content(&store(&image), "a");
            assert!(found == old && !is_written || found == new, "{case}: {found:?}");
        }
    };
    for failure in [Failure::Once, Failure::FromThenOn] {
        for n in 0.. {
            let disk = saved(1.0, "old");
            let store = store(&disk);
            disk.fail_after(n, failure, IoKind::StorageFull);
            let outcome = store.save_segment(&owner("a"), segment(2.0, "new"));
            let has_failed = disk.failures() > 0;
            disk.heal();
            assert!(outcome.is_ok() || has_failed);
            check(&disk, n, outcome.is_ok(), &format!("{failure:?} at operation {n}"));
            // The next writing succeeds, and leaves nothing of the failed one.
            store.save_segment(&owner("a"), segment(2.0, "new")).unwrap();
            assert_eq!(
                (content(&store, "a"), bytes(&disk).len()),
                (new.clone(), bytes(&saved(2.0, "new")).len())
            );
            assert!(!disk.inner().files().contains_key(&temporary_path(Path::new(PATH))));
            if !has_failed {
                break;
            }
        }
    }
    let full = |disk: &Disk| disk.inner().files().values().map(Vec::len).sum::<usize>();
    for room in 0.. {
        let disk = saved(1.0, "old");
        let store = store(&disk);
        disk.inner().limit(Some(full(&disk) + room));
        let outcome = store.save_segment(&owner("a"), segment(2.0, "new"));
        disk.inner().limit(None);
        assert!(outcome.as_ref().err().is_none_or(|error| error.kind() == ErrorKind::Io));
        check(&disk, room as u64, outcome.is_ok(), &format!("{room} bytes of room"));
        assert!(!disk.inner().files().contains_key(&temporary_path(Path::new(PATH))));
        if outcome.is_ok() {
            break;
        }
    }
}

/// The image of a process that was killed after each byte of the new file.
#[test]
fn a_beginning_of_the_new_file_is_never_taken_for_it() {
    let (disk, new) = (saved(1.0, "old"), bytes(&saved(2.0, "new")));
    let (store, old) = (store(&disk), content(&store(&disk), "a"));
    for end in 0..=new.len() {
        disk.inner().put(temporary_path(Path::new(PATH)), &new[..end]);
        assert_eq!(content(&store, "a"), old);
    }
    store.save_segment(&owner("a"), segment(2.0, "new")).unwrap();
    assert_eq!(bytes(&disk), new);
}

#[test]
fn a_footer_that_contradicts_the_file_is_refused() {
    let (disk, whole) = (saved(1.0, "a text"), bytes(&saved(1.0, "a text")));
    let store = store(&disk);
    let at = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let said = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut footer: serde_json::Value = serde_json::from_slice(&whole[at..]).unwrap();
        change(&mut footer);
        footer.as_object_mut().unwrap().remove("crc");
        let mut bytes = whole[..at].to_vec();
        encode_line(&mut bytes, &footer).unwrap();
        disk.inner().put(PATH, &bytes);
        content(&store, "a")
    };
    assert!(said(&|_| ()).is_ok());
    let length = Err("the segment is not as long as its footer says".to_owned());
    for huge in [4, 1 << 40, u64::MAX / 8, u64::MAX] {
        for key in ["rows", "dimension"] {
            assert_eq!(said(&|footer| footer["vectors"][0][key] = huge.into()), length);
        }
        assert_eq!(said(&|footer| footer["snapshot"]["packs"][0]["bytes"] = huge.into()), length);
    }
    assert_eq!(said(&|footer| footer["vectors"][0]["half"] = true.into()), length);
    let version = "the segment has version 2, this code reads version 1";
    assert_eq!(said(&|footer| footer["version"] = 2.into()), Err(version.into()));
    let other = Err("the segment belongs to another user".to_owned());
    assert_eq!(said(&|footer| footer["owner"]["user"] = "b".into()), other);
    assert!(said(&|footer| footer["vectors"] = serde_json::json!([])).is_err());
    disk.inner().put("/m/segments/b.segment", &whole);
    assert_eq!(content(&store, "b"), other);
}

#[test]
fn another_model_is_named() {
    let disk = saved(1.0, "a text");
    let (store, owner) = (store(&disk), owner("a"));
    let segment = store.open_segment(&owner).unwrap().unwrap();
    let check = |model, dimension| segment.check_model(model, dimension);
    assert_eq!(
        check("ada", Some(1536)).unwrap_err().to_string(),
        "the vectors come from embedding model `table-1` with 2 dimensions, the store was opened \
         with `ada` with 1536 dimensions in `/m/segments/a.segment`"
    );
    let wrong = check("table-1", Some(3)).unwrap_err();
    assert!(wrong.to_string().contains("`table-1` with 2 dimensions"), "{wrong}");
    assert_eq!(wrong.kind(), ErrorKind::EmbeddingMismatch);
    assert!(check("ada", None).is_err());
    assert!(check("table-1", None).is_ok() && check("table-1", Some(2)).is_ok());
    let mut empty = segment.clone();
    empty.footer.vectors = Default::default();
    assert!(empty.check_model("ada", Some(3)).is_ok(), "no vector, no mismatch");
}

#[test]
fn a_segment_that_cant_be_read_is_a_problem_and_not_an_error() {
    let disk = Disk::new(MemoryBackend::new());
    disk.create_dir_all(Path::new(PATH)).unwrap();
    let problem = store(&disk).open_segment(&owner("a")).unwrap_err();
    assert_eq!((problem.path, problem.mended), (PathBuf::from(PATH), true));
    assert_eq!(problem.message, "the segment can't be read: is a directory");
}
