use super::*;
use crate::clock::{FixedClock, Moment};
use crate::error::ErrorKind;
use crate::model::Message;
use crate::store::testing::{MemoryBackend, TempDir};

fn clock() -> FixedClock {
    FixedClock::new(Moment::parse("2026-11-01T08:00:00Z").unwrap())
}

fn on(disk: &MemoryBackend, mode: Mode) -> Result<Store> {
    Store::open_on(Arc::new(disk.clone()), Path::new("/m"), mode, &clock())
}

fn owner(user: &str) -> Owner {
    Owner::new(DEFAULT_TENANT, user).unwrap()
}

fn message(seq: u64, content: &str) -> Arc<Message> {
    let json = serde_json::json!({"message_id": format!("m{seq}"), "seq": seq, "role": "user", "content": content,
        "timestamp": "2024-03-11T09:30:00+01:00", "metadata": {"b": 1, "a": [1.50]}});
    Arc::new(serde_json::from_value(json).unwrap())
}

#[test]
fn messages_come_back_as_they_went() {
    let place = TempDir::new();
    let store = Store::open(place.path(), Mode::ReadWrite, &clock()).unwrap();
    let (user, loaded) = store.open_user(&owner("alice")).unwrap();
    assert_eq!((loaded.messages.len(), loaded.next_seq), (0, 0));
    user.append_messages(&[message(0, "I moved to Lyon\nlast Friday."), message(1, "嗨")], &[])
        .unwrap();
    assert_eq!(store.open_user(&owner("alice")).unwrap_err().kind(), ErrorKind::Internal);
    drop(user);
    let (_, loaded) = store.open_user(&owner("alice")).unwrap();
    let texts: Vec<&str> = loaded.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!((texts, loaded.next_seq), (vec!["I moved to Lyon\nlast Friday.", "嗨"], 2));
    assert!(loaded.problems.is_empty());
    assert!(Arc::ptr_eq(&loaded.messages[0].role, &loaded.messages[1].role));
}

#[test]
fn a_second_writer_is_told_who_has_the_lock() {
    let place = TempDir::new();
    let store = Store::open(place.path(), Mode::ReadWrite, &clock()).unwrap();
    let error = Store::open(place.path(), Mode::ReadWrite, &clock()).unwrap_err();
    let pid = std::process::id();
    let expected = format!(
        "the store is being written by this process, `{pid}`, since 2026-11-01T08:00:00+00:00"
    );
    assert_eq!(
        (error.kind(), error.to_string()),
        (ErrorKind::StoreLocked, format!("{expected} in `{}`", place.path().display()))
    );
    Store::open(place.path(), Mode::ReadOnly, &clock()).unwrap();
    drop(store);
    Store::open(place.path(), Mode::ReadWrite, &clock()).unwrap();
}

#[test]
fn reading_only_writes_nothing() {
    let disk = MemoryBackend::new();
    assert_eq!(on(&disk, Mode::ReadOnly).unwrap_err().to_string(), "cannot read the store in `/m`");
    disk.put(
        "/m/episodes/Alice_episodes.jsonl",
        b"{\"episode_id\":\"e\",\"content\":\"x\"}\n{\"torn",
    );
    disk.put("/m/semantic/bob.json", b"[\n{\"memory_id\": \"f\",\n \"content\": \"y\"}]");
    let before = disk.files();
    let store = on(&disk, Mode::ReadOnly).unwrap();
    let (user, loaded) = store.open_user(&owner("Alice")).unwrap();
    assert_eq!((loaded.episodes.len(), loaded.problems.len()), (1, 1));
    assert_eq!(store.open_user(&owner("bob")).unwrap().1.semantic.len(), 1);
    assert_eq!(
        user.append_messages(&[message(0, "x")], &[]).unwrap_err().kind(),
        ErrorKind::ReadOnly
    );
    assert_eq!(disk.files(), before);
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let disk = MemoryBackend::new();
    disk.put("/m/episodica.json", b"{\"format_version\":2,\"created_by\":\"episodica 9.0.0\"}");
    let before = disk.files();
    for mode in [Mode::ReadOnly, Mode::ReadWrite] {
        let error = on(&disk, mode).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedFormat);
        let expected = "the store has format 2, written by `episodica 9.0.0`; this version reads up to `1` in `/m/episodica.json`";
        assert_eq!(error.to_string(), expected);
    }
    assert_eq!(disk.files(), before);
    disk.put("/m/episodica.json", b"{\"format_ver");
    assert_eq!(on(&disk, Mode::ReadWrite).unwrap_err().kind(), ErrorKind::CorruptStore);
}

#[test]
fn a_directory_of_nemori_opens_and_is_adopted() {
    let disk = MemoryBackend::new();
    disk.put(
        "/m/episodes/Alice_episodes.jsonl",
        b"{\"episode_id\":\"e1\",\"user_id\":\"Alice\",\"content\":\"x\",\"original_messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}\n",
    );
    disk.put("/m/episodes/bob.json", b"[{\"episode_id\": \"e2\",\n \"content\": \"y\"}, 3]");
    let store = on(&disk, Mode::ReadWrite).unwrap();
    assert_eq!(store.users(DEFAULT_TENANT).unwrap(), ["Alice", "bob"]);
    let (user, loaded) = store.open_user(&owner("Alice")).unwrap();
    assert_eq!((loaded.messages.len(), loaded.messages[0].seq, loaded.next_seq), (1, 0, 1));
    assert!(Arc::ptr_eq(&loaded.messages[0], &loaded.episodes[0].original_messages[0]));
    user.append_messages(&[message(1, "new")], &[]).unwrap();
    drop(user);
    let (_, again) = store.open_user(&owner("Alice")).unwrap();
    let order: Vec<&str> = again.messages.iter().map(|message| message.content.as_str()).collect();
    assert_eq!((order, again.next_seq), (vec!["hi", "new"], 2));
    let (_bob, loaded) = store.open_user(&owner("bob")).unwrap();
    assert_eq!(loaded.episodes[0].content, "y");
    let names: Vec<String> = disk.files().keys().map(|path| path.display().to_string()).collect();
    assert!(
        names.contains(&"/m/episodes/^alice_episodes.jsonl".into())
            && names.contains(&"/m/episodes/bob_episodes.jsonl".into())
    );
    assert!(
        names.contains(&"/m/episodes/bob.json.quarantine.jsonl".into())
            && !names.contains(&"/m/episodes/bob.json".into())
    );
    assert_eq!(loaded.problems.len(), 1);
}
