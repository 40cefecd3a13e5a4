use super::*;
use crate::clock::{FixedClock, Moment};
use crate::error::ErrorKind;
use crate::model::Message;
use crate::store::backend::LockShare;
use crate::store::line::encode_line;
use crate::store::testing::{CountdownBackend, Failure, MemoryBackend, TempDir};
use crate::store::{DEFAULT_TENANT, LogKind, UserErasure};

fn clock() -> FixedClock {
    FixedClock::new(Moment::parse("2026-11-01T08:00:00Z").unwrap())
}

fn on(disk: &MemoryBackend, mode: OpenMode) -> Result<Store> {
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), mode, &clock())
}

fn owner(user: &str) -> Owner {
    Owner::new(DEFAULT_TENANT, user).unwrap()
}

fn message(seq: u64, content: &str) -> Arc<Message> {
    let json = serde_json::json!({
        "message_id": format!("m{seq}"), "seq": seq, "role": "user", "content": content,
        "timestamp": "2024-03-11T09:30:00+01:00", "metadata": {"b": 1, "a": [1.50]},
    });
    Arc::new(serde_json::from_value(json).unwrap())
}

#[test]
fn messages_come_back_as_they_went() {
    let place = TempDir::new();
    let store = Store::open(place.path(), OpenMode::ReadWrite, &clock()).unwrap();
    let (user, loaded) = store.open_user(&owner("alice")).unwrap();
    assert_eq!((loaded.messages.len(), loaded.next_seq), (0, 0));
    user.append_messages(&[message(0, "I moved to Lyon\nlast Friday."), message(1, "嗨")], &[])
        .unwrap();
    drop(user);
    let (_, loaded) = store.open_user(&owner("alice")).unwrap();
    let texts: Vec<&str> = loaded.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!((texts, loaded.next_seq), (vec!["I moved to Lyon\nlast Friday.", "嗨"], 2));
    assert!(loaded.problems.is_empty());
    assert!(Arc::ptr_eq(&loaded.messages[0].role, &loaded.messages[1].role));
}

#[test]
fn writers_share_a_store_and_who_has_it_alone_is_named() {
    let place = TempDir::new();
    let open = |mode| Store::open(place.path(), mode, &clock());
    let stores = [open(OpenMode::ReadWrite).unwrap(), open(OpenMode::ReadWrite).unwrap()];
    open(OpenMode::ReadOnly).unwrap();
    drop(stores);
    let backend = RealBackend::new(place.path());
    let lock = StoreLayout::new(place.path()).lock_path();
    let holder = LockHolder::this_process(clock().now()).lock_line().unwrap();
    let alone = backend.try_lock(&lock, LockShare::Alone, &holder).unwrap().unwrap();
    let patience = std::time::Duration::from_millis(20);
    let error =
        lock::acquire_lock(&backend, &StoreLayout::new(place.path()), &holder, patience).err();
    let error = error.unwrap();
    let pid = std::process::id();
    let expected = format!(
        "the store is being written by this process, `{pid}`, since 2026-11-01T08:00:00+00:00"
    );
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::StoreLocked, format!("{expected} in `{}`", place.path().display()))
    );
    drop(alone);
    open(OpenMode::ReadWrite).unwrap();
}

#[test]
fn what_one_writer_appends_another_follows_and_a_stale_append_is_refused() {
    let disk = MemoryBackend::new();
    let (one, other) =
        (on(&disk, OpenMode::ReadWrite).unwrap(), on(&disk, OpenMode::ReadWrite).unwrap());
    let (first, _) = one.open_user(&owner("alice")).unwrap();
    let (second, _) = other.open_user(&owner("alice")).unwrap();
    first.append_messages(&[message(0, "one")], &[]).unwrap();
    assert!(!second.is_current().unwrap());
    assert_eq!(second.try_append_messages(&[message(0, "two")]).unwrap(), None);
    let behind = second.load_appended().unwrap().unwrap();
    assert_eq!((behind.messages.len(), behind.next_seq), (1, 1));
    second.append_messages(&[message(1, "two")], &[]).unwrap();
    assert!(second.is_current().unwrap() && !first.is_current().unwrap());
    let texts = |loaded: &LoadedUser| {
        loaded.messages.iter().map(|message| message.content.clone()).collect::<Vec<_>>()
    };
    assert_eq!(texts(&first.load_appended().unwrap().unwrap()), ["two"]);
    // Logs can't be followed across an erasure.
    let erasure = UserErasure { messages: vec!["m0".into()], ..UserErasure::default() };
    first.erase_records(erasure).unwrap();
    assert!(!second.is_current().unwrap() && second.load_appended().unwrap().is_none());
    assert!(first.is_current().unwrap(), "its own view took part in the erasure");
    first.append_messages(&[message(2, "three")], &[]).unwrap();
    // A writer that stopped half-way must open the user again.
    let (late, _) = other.open_user(&owner("alice")).unwrap();
    first.append_messages(&[message(3, "four")], &[]).unwrap();
    let refused = late.append_messages(&[message(3, "five")], &[]).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(!late.is_current().unwrap() && late.load_appended().unwrap().is_none());
    first
        .erase_records(UserErasure { messages: vec!["m3".into()], ..UserErasure::default() })
        .unwrap();
    assert_eq!(texts(&one.open_user(&owner("alice")).unwrap().1), ["two", "three"]);
}

#[test]
fn a_line_that_a_killed_writer_left_unfinished_is_cut_off_by_the_next_to_append() {
    let disk = MemoryBackend::new();
    let (one, other) =
        (on(&disk, OpenMode::ReadWrite).unwrap(), on(&disk, OpenMode::ReadWrite).unwrap());
    let (first, _) = one.open_user(&owner("alice")).unwrap();
    first.append_messages(&[message(0, "one")], &[]).unwrap();
    let (second, _) = other.open_user(&owner("alice")).unwrap();
    let path = one.layout().log_path(&owner("alice"), LogKind::Messages);
    let whole = disk.files().remove(&path).unwrap();
    disk.open_append(&path).unwrap().append_bytes(b"{\"message_id\":\"torn").unwrap();
    // A reader can't tell it from a line that is being written.
    assert!(second.load_appended().unwrap().unwrap().is_empty());
    assert_ne!(disk.files()[&path], whole);
    {
        let _hold = second.exclude_writers().unwrap();
        assert!(second.load_appended().unwrap().unwrap().is_empty());
        assert_eq!(disk.files()[&path], whole);
        second.append_messages(&[message(1, "two")], &[]).unwrap();
    }
    assert_eq!(first.load_appended().unwrap().unwrap().messages.len(), 1);
}

#[test]
fn an_append_that_fails_leaves_others_no_line_that_was_taken_back() {
    let disk = CountdownBackend::new(MemoryBackend::new());
    let open = || {
        let backend = Arc::new(disk.clone());
        Store::open_on(backend, Path::new("/m"), OpenMode::ReadWrite, &clock()).unwrap()
    };
    let (one, other) = (open(), open());
    let (first, _) = one.open_user(&owner("alice")).unwrap();
    first.append_messages(&[message(0, "one")], &[]).unwrap();
    let (second, _) = other.open_user(&owner("alice")).unwrap();
    let mut failures = 0;
    for operations in 0..40 {
        disk.fail_after(operations, Failure::Once, std::io::ErrorKind::StorageFull);
        let lines = [message(1, "two"), message(2, "three"), message(3, "four")];
        let outcome = first.append_messages(&lines, &[]);
        disk.heal();
        failures += u64::from(outcome.is_err());
        if outcome.is_ok() {
            break;
        }
        // Readers must not keep lines that were removed again.
        if second.is_current().unwrap() {
            assert!(second.load_appended().unwrap().is_some_and(|behind| behind.is_empty()));
        }
    }
    assert!(failures > 3, "{failures}");
    let loaded = open().open_user(&owner("alice")).unwrap().1;
    assert_eq!(loaded.messages.len(), 4);
}

#[test]
fn reading_only_writes_nothing() {
    let disk = MemoryBackend::new();
    assert_eq!(
        on(&disk, OpenMode::ReadOnly).unwrap_err().to_string(),
        "cannot read the store in `/m`"
    );
    let mut line = Vec::new();
    encode_line(&mut line, &message(0, "x")).unwrap();
    line.extend(b"{\"torn");
    disk.put("/m/messages/alice_messages.jsonl", &line);
    let before = disk.files();
    let store = on(&disk, OpenMode::ReadOnly).unwrap();
    let (user, loaded) = store.open_user(&owner("alice")).unwrap();
    assert_eq!((loaded.messages.len(), loaded.problems.len()), (1, 1));
    assert_eq!(
        user.append_messages(&[message(0, "x")], &[]).unwrap_err().kind(),
        ErrorKind::ReadOnly
    );
    assert_eq!(disk.files(), before);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let disk = MemoryBackend::new();
    disk.put("/m/episodica.json", b"{\"format_version\":3,\"created_by\":\"episodica 9.0.0\"}");
    let before = disk.files();
    for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
        let error = on(&disk, mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
        let expected = "the store has format 3, written by `episodica 9.0.0`; this version reads \
            up to `2` in `/m/episodica.json`";
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(disk.files(), before);
    disk.put("/m/episodica.json", b"{\"format_ver");
    assert_eq!(on(&disk, OpenMode::ReadWrite).unwrap_err().kind(), ErrorKind::CorruptStore);
}

#[test]
fn a_directory_on_a_network_is_read_and_not_written() {
    let disk = MemoryBackend::new();
    drop(on(&disk, OpenMode::ReadWrite).unwrap());
    let before = disk.files();
    disk.mount("NFS");
    let error = on(&disk, OpenMode::ReadWrite).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("the directory is on NFS"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("local disk")));
    assert!(on(&disk, OpenMode::ReadOnly).is_ok());
    assert_eq!(disk.files(), before);
}

#[test]
fn a_folder_of_nemori_is_refused_with_the_command_that_copies_it() {
    for name in ["episodes/Alice_episodes.jsonl", "semantic/bob.json"] {
        let disk = MemoryBackend::new();
        disk.put(Path::new("/m").join(name), b"{\"episode_id\":\"e1\",\"content\":\"x\"}\n");
        let before = disk.files();
        for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
            let error = on(&disk, mode).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
            assert!(error.hint().unwrap().contains("`episodica --store NEW import /m`"));
        }
        assert_eq!(disk.files(), before);
        disk.put("/m/episodica.json", b"{\"format_version\":2}\n");
        drop(on(&disk, OpenMode::ReadWrite).unwrap());
    }
}

#[test]
fn a_log_of_another_user_is_refused_and_left_alone() {
    let disk = MemoryBackend::new();
    let store = on(&disk, OpenMode::ReadWrite).unwrap();
    for id in ["alice", "bob"] {
        let (user, _) = store.open_user(&owner(id)).unwrap();
        user.append_messages(&[message(0, &format!("owned by {id}"))], &[]).unwrap();
    }
    let log = |id: &str| store.layout().log_path(&owner(id), LogKind::Messages);
    disk.put(log("bob"), &disk.files()[&log("alice")]);
    let before = disk.files();
    for mode in [OpenMode::ReadWrite, OpenMode::ReadOnly] {
        let store =
            if mode == OpenMode::ReadOnly { on(&disk, mode).unwrap() } else { store.clone() };
        let error = store.open_user(&owner("bob")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptStore);
        assert_eq!(
            error.to_string(),
            "the log belongs to user `alice` of tenant `default`, not to `bob` \
             in `/m/messages/bob_messages.jsonl` line 1"
        );
    }
    assert_eq!(disk.files(), before);
    assert_eq!(store.open_user(&owner("alice")).unwrap().1.messages.len(), 1);
}

#[test]
fn a_store_that_was_moved_acknowledges_nothing_more() {
    let place = TempDir::new();
    let (old, new) = (place.path().join("old"), place.path().join("new"));
    let store = Store::open(&old, OpenMode::ReadWrite, &clock()).unwrap();
    let (user, _) = store.open_user(&owner("alice")).unwrap();
    user.append_messages(&[message(0, "before")], &[]).unwrap();
    let (late, _) = store.open_user(&owner("bob")).unwrap();
    fs_err::rename(&old, &new).unwrap();
    for user in [&user, &late] {
        let error = user.append_messages(&[message(1, "after")], &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
        let expected = format!(
            "the directory of the store was moved or removed while it was open in `{}`",
            old.display()
        );
        assert_eq!(error.to_string(), expected);
    }
    assert!(store.erase_user(&owner("carl")).is_err());
    assert!(!old.exists(), "nothing is made at the old place");
    drop((user, late, store));
    let store = Store::open(&new, OpenMode::ReadWrite, &clock()).unwrap();
    assert_eq!(store.open_user(&owner("alice")).unwrap().1.messages.len(), 1);
}

/// Every operation that opens a file of the store, with a FIFO in the file's place.
#[cfg(unix)]
fn use_everything(root: &Path) {
    for mode in [OpenMode::ReadOnly, OpenMode::ReadWrite] {
        let Ok(store) = Store::open(root, mode, &clock()) else { continue };
        if let Ok((user, _)) = store.open_user(&owner("alice")) {
            let _ = user.append_messages(&[message(1, "more")], &[]);
        }
        let _ = store.open_segment(&owner("alice"));
        let _ = (store.open_answers(&owner("alice")), store.open_trace(&owner("alice")));
        let _ = store.dead_letters(&owner("alice"));
        store.check_files(DEFAULT_TENANT).unwrap();
        let _ = store.erase_user(&owner("alice"));
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_place_of_any_file_keeps_nobody_waiting() {
    let alice = owner("alice");
    let layout = |root: &Path| StoreLayout::new(root);
    let paths = |root: &Path| {
        let layout = layout(root);
        let mut paths = vec![layout.format_path(), layout.lock_path(), layout.segment_path(&alice)];
        for kind in LogKind::ALL {
            let log = layout.log_path(&alice, kind);
            paths.extend([crate::store::files::temporary_path(&log), log.clone()]);
            paths.push(crate::store::quarantine::path_for(&log));
            paths.push(log.parent().unwrap().to_owned());
        }
        let sides = crate::store::SideFile::ALL;
        paths.extend(sides.map(|side| layout.side_path(&alice, side)));
        paths.push(layout.intents_directory().join("00.json"));
        paths.push(layout.intents_directory());
        paths
    };
    let cases = paths(Path::new("/")).len();
    for case in 0..cases {
        let place = TempDir::new();
        let root = place.path().join("store");
        let store = Store::open(&root, OpenMode::ReadWrite, &clock()).unwrap();
        let (user, _) = store.open_user(&alice).unwrap();
        user.append_messages(&[message(0, "hello")], &[]).unwrap();
        drop((user, store));
        let path = paths(&root).remove(case);
        let _ = fs_err::remove_file(&path);
        let _ = fs_err::remove_dir_all(&path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let (done, finished) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            use_everything(&root);
            let _ = done.send(());
        });
        let outcome = finished.recv_timeout(std::time::Duration::from_secs(20));
        assert!(outcome.is_ok(), "hangs or panics: {}", path.display());
    }
    assert!(cases >= 20, "{cases}");
}

#[test]
fn a_user_whose_logs_are_rewritten_meanwhile_is_opened_again() {
    let store = on(&MemoryBackend::new(), OpenMode::ReadWrite).unwrap();
    let open = |refusals: usize| {
        let times = std::cell::Cell::new(0);
        let opened = store.retry_opening(|| {
            times.set(times.get() + 1);
            let refused = Error::new(ErrorKind::Conflict, "the logs were rewritten");
            if times.get() > refusals { Ok(()) } else { Err(refused) }
        });
        (opened.map_err(|error| error.kind()), times.get())
    };
    assert_eq!(open(0), (Ok(()), 1));
    assert_eq!(open(3), (Ok(()), 4));
    assert_eq!(open(usize::MAX), (Err(ErrorKind::Conflict), 4));
}

#[test]
fn a_directory_that_another_process_has_just_removed_is_made_again() {
    let long = owner(&"long-".repeat(60));
    // The file operations of a run in which operation `number` finds no directory.
    let operations = |number: Option<u64>| {
        let disk = CountdownBackend::new(MemoryBackend::new());
        let place = Path::new("/m");
        let store =
            Store::open_on(Arc::new(disk.clone()), place, OpenMode::ReadWrite, &clock()).unwrap();
        disk.take_operations();
        if let Some(number) = number {
            disk.fail_after(number, Failure::Once, std::io::ErrorKind::NotFound);
        }
        let (user, _) = store.open_user(&long).unwrap();
        user.append_messages(&[message(0, "a"), message(1, "b")], &[]).unwrap();
        let gone = UserErasure { messages: vec!["m0".to_owned()], ..UserErasure::default() };
        user.erase_records(gone).unwrap();
        drop(user);
        store.erase_user(&long).unwrap();
        assert_eq!(disk.failures(), u64::from(number.is_some()));
        disk.take_operations()
    };
    let mut made = 0;
    for (number, operation) in (0..).zip(operations(None)) {
        // Rewriting a log creates a file in a directory that is not empty.
        if operation.starts_with("create_new ") && !operation.ends_with(".jsonl.tmp") {
            operations(Some(number));
            made += 1;
        }
    }
    assert!(made > 3, "{made}");
}
