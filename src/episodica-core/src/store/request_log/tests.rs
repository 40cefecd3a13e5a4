use proptest::prelude::*;

use super::*;
use crate::store::LogStore;
use crate::store::RealBackend;
use crate::store::testing::{MemoryBackend, MemoryLogs, TempDir};

const DAY: i64 = 20_000;

fn on(day: i64) -> Moment {
    Moment::new(day * MICROS_PER_DAY + 7, 0).unwrap()
}

fn note<'a>(name: &'a [u8], body: &'a [u8], step: RequestStep<'a>) -> RequestNote<'a> {
    RequestNote { name, body, step, at: on(DAY) }
}

fn known(body: &[u8], outcome: Option<&str>) -> Option<KnownRequest> {
    Some(KnownRequest { body: to_hex(body), outcome: outcome.map(str::to_owned) })
}

fn disk() -> MemoryBackend {
    let disk = MemoryBackend::new();
    disk.create_dir_all(Path::new("/m")).unwrap();
    disk
}

#[test]
fn the_first_note_of_a_request_counts_for_every_process() {
    let disk = disk();
    let [one, two] = [(), ()].map(|()| RequestLog::new(Path::new("/m")));
    let begin = |log: &RequestLog, body: &[u8]| {
        log.note_step(&disk, &note(b"a", body, RequestStep::Begun)).unwrap()
    };
    assert_eq!(begin(&one, b"x"), known(b"x", None));
    assert_eq!(begin(&two, b"y"), known(b"x", None));
    let done = |log: &RequestLog, text| {
        log.note_step(&disk, &note(b"a", b"x", RequestStep::Done(text))).unwrap()
    };
    assert_eq!(done(&two, "1"), known(b"x", Some("1")));
    assert_eq!(done(&one, "2"), known(b"x", Some("1")));
    let refused = one.note_step(&disk, &note(b"a", b"x", RequestStep::Refused)).unwrap();
    assert_eq!(refused, known(b"x", Some("1")), "what is done stays done");
    assert_eq!(begin(&RequestLog::new(Path::new("/m")), b"z"), known(b"x", Some("1")));
}

#[test]
fn a_refused_request_leaves_its_name_free() {
    let disk = disk();
    let log = RequestLog::new(Path::new("/m"));
    log.note_step(&disk, &note(b"a", b"x", RequestStep::Begun)).unwrap();
    assert_eq!(log.note_step(&disk, &note(b"a", b"x", RequestStep::Refused)).unwrap(), None);
    let again = note(b"a", b"y", RequestStep::Begun);
    assert_eq!(log.note_step(&disk, &again).unwrap(), known(b"y", None));
}

#[test]
fn a_request_is_known_for_a_day_and_gone_after_two() {
    let disk = disk();
    let log = RequestLog::new(Path::new("/m"));
    log.note_step(&disk, &note(b"a", b"x", RequestStep::Begun)).unwrap();
    let later = |days: i64, body| RequestNote {
        at: on(DAY + days),
        ..note(b"a", body, RequestStep::Begun)
    };
    assert_eq!(log.note_step(&disk, &later(1, b"y")).unwrap(), known(b"x", None));
    assert_eq!(log.note_step(&disk, &later(2, b"y")).unwrap(), known(b"y", None));
    let another = RequestNote { at: on(DAY + 4), ..note(b"b", b"x", RequestStep::Begun) };
    log.note_step(&disk, &another).unwrap();
    let files: Vec<_> = disk.files().into_keys().collect();
    assert_eq!(files, [Path::new("/m/requests").join(format!("{}.jsonl", DAY + 4))]);
    assert_eq!(log.state.lock().known.len(), 1);
}

#[test]
fn bad_lines_are_skipped_and_counted() {
    let disk = disk();
    let log = RequestLog::new(Path::new("/m"));
    log.note_step(&disk, &note(b"a", b"x", RequestStep::Begun)).unwrap();
    let path = log.day_path(DAY);
    // A line of noise, and the beginning of a line whose process died.
    disk.open_append(&path).unwrap().append_bytes(b"noise\n{\"request\":\"6").unwrap();
    let two = RequestLog::new(Path::new("/m"));
    for log in [&log, &two] {
        let begun = note(b"b", b"y", RequestStep::Begun);
        assert_eq!(log.note_step(&disk, &begun).unwrap(), known(b"y", None));
        let again = note(b"a", b"z", RequestStep::Begun);
        assert_eq!(log.note_step(&disk, &again).unwrap(), known(b"x", None));
    }
    let problems = log.find_problems(&disk).unwrap();
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].message, "bad lines in the record of requests: 2");
}

#[test]
fn a_file_that_is_removed_or_replaced_is_read_again() {
    let disk = disk();
    let log = RequestLog::new(Path::new("/m"));
    for step in [RequestStep::Begun, RequestStep::Done("1")] {
        log.note_step(&disk, &note(b"a", b"x", step)).unwrap();
    }
    disk.remove_file(&log.day_path(DAY)).unwrap();
    let begun = note(b"a", b"y", RequestStep::Begun);
    assert_eq!(log.note_step(&disk, &begun).unwrap(), known(b"y", None));
}

#[test]
fn on_a_full_disk_a_request_is_not_noted_and_later_it_is() {
    let disk = disk();
    let log = RequestLog::new(Path::new("/m"));
    log.note_step(&disk, &note(b"a", b"x", RequestStep::Begun)).unwrap();
    disk.limit(Some(1));
    let begun = note(b"b", b"x", RequestStep::Begun);
    let error = log.note_step(&disk, &begun).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    disk.limit(None);
    assert_eq!(log.note_step(&disk, &begun).unwrap(), known(b"x", None));
}

#[cfg(unix)]
#[test]
fn whatever_stands_in_its_place_is_replaced_and_never_followed() {
    type Put = fn(&Path, &Path);
    let puts: [(&str, Put); 6] = [
        ("link", |path, outside| std::os::unix::fs::symlink(outside.join("kept"), path).unwrap()),
        ("dangling", |path, outside| std::os::unix::fs::symlink(outside.join("no"), path).unwrap()),
        ("to a folder", |path, outside| std::os::unix::fs::symlink(outside, path).unwrap()),
        ("folder", |path, _| fs_err::create_dir(path).unwrap()),
        ("fifo", |path, _| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("garbage", |path, _| fs_err::write(path, "garbage").unwrap()),
    ];
    for (what, put) in puts {
        for inside in [false, true] {
            let place = TempDir::new();
            let (root, outside) = (place.path().join("store"), place.path().join("outside"));
            fs_err::create_dir(&root).unwrap();
            fs_err::create_dir(&outside).unwrap();
            fs_err::write(outside.join("kept"), "kept").unwrap();
            let (backend, log) = (RealBackend::new(&root), RequestLog::new(&root));
            let path = if inside {
                fs_err::create_dir(log.directory()).unwrap();
                log.day_path(DAY)
            } else {
                log.directory()
            };
            put(&path, &outside);
            let is_plain = what == "garbage" && inside || what == "folder" && !inside;
            assert_eq!(
                log.find_problems(&backend).unwrap().len(),
                usize::from(!is_plain),
                "{what}"
            );
            for step in [RequestStep::Begun, RequestStep::Done("1")] {
                log.note_step(&backend, &note(b"a", b"x", step)).unwrap();
            }
            let other = RequestLog::new(&root);
            let begun = note(b"a", b"y", RequestStep::Begun);
            assert_eq!(
                other.note_step(&backend, &begun).unwrap(),
                known(b"x", Some("1")),
                "{what}"
            );
            assert_eq!(fs_err::read_dir(&outside).unwrap().count(), 1, "{what}");
            assert_eq!(fs_err::read(outside.join("kept")).unwrap(), b"kept", "{what}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_folder_with_files_is_left_and_named() {
    let place = TempDir::new();
    let (backend, log) = (RealBackend::new(place.path()), RequestLog::new(place.path()));
    fs_err::create_dir_all(log.day_path(DAY).join("of somebody")).unwrap();
    let begun = note(b"a", b"x", RequestStep::Begun);
    let error = log.note_step(&backend, &begun).unwrap_err();
    assert_eq!((error.kind(), error.path()), (ErrorKind::Io, Some(&*log.day_path(DAY))));
    assert_eq!(log.find_problems(&backend).unwrap()[0].path, log.day_path(DAY));
}

fn steps() -> impl Strategy<Value = Vec<(usize, u8, u8, u8)>> {
    prop::collection::vec((0..3_usize, 0..3_u8, 0..3_u8, 0..4_u8), 1..40)
}

proptest! {
    #[test]
    fn processes_agree_with_the_model(steps in steps()) {
        let (disk, model) = (disk(), MemoryLogs::default());
        let logs = [(); 3].map(|()| RequestLog::new(Path::new("/m")));
        for (process, name, body, step) in steps {
            let outcome = format!("{{\"by\":{process}}}");
            let step = match step {
                0 | 1 => RequestStep::Begun,
                2 => RequestStep::Done(&outcome),
                _ => RequestStep::Refused,
            };
            let (name, body) = ([name], [body]);
            let note = note(&name, &body, step);
            let answer = logs[process].note_step(&disk, &note).unwrap();
            prop_assert_eq!(answer, model.note_request(&note).unwrap());
        }
    }
}
