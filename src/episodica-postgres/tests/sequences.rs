//! Random sequences of operations on a real server, compared with the model; requests that come
//! late; a server that goes away.
//!
//! They run where `EPISODICA_TEST_POSTGRES` names an address whose role may create schemas (`make
//! test-postgres` does); elsewhere they are ignored, and say so.

#![expect(clippy::unwrap_used, reason = "helpers of a test fail the test")]

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use episodica_core::clock::{Clock, SystemClock};
use episodica_core::ids::Owner;
use episodica_core::store::log_store::{AppendAnswer, BatchId, LineBatch, LogHead};
use episodica_core::store::testing::{MemoryLogs, record_line as line};
use episodica_core::store::{
    LockHolder, LogKind, LogStore, LogSum, OpenMode, UserErasure, UserLogs,
};
use episodica_postgres::{PgLogs, StoreAddress};
use proptest::prelude::*;

/// A schema of its own on the server of the tests.
fn server() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // The ignored tests are run only where a server is: without one they fail.
    let base = std::env::var("EPISODICA_TEST_POSTGRES").unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    let mark = if base.contains('?') { '&' } else { '?' };
    format!("{base}{mark}schema=t{}_{now}_{number}", std::process::id())
}

fn open(address: &str) -> PgLogs {
    let address = StoreAddress::parse(address, &|_| None).unwrap();
    PgLogs::open(address, OpenMode::ReadWrite, &LockHolder::this_process(SystemClock.now()))
        .unwrap()
}

fn owner(user: &str) -> Owner {
    Owner::new("default", user).unwrap()
}

fn lines_behind(logs: &dyn UserLogs, kind: LogKind, known: &LogSum) -> Option<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    let shown = logs.visit_after(kind, known, &mut |line| {
        lines.push(line.bytes.to_vec());
        Ok(())
    });
    shown.unwrap().map(|_| lines)
}

fn all_lines(logs: &dyn UserLogs) -> [Vec<Vec<u8>>; 3] {
    LogKind::ALL.map(|kind| lines_behind(logs, kind, &LogSum::default()).unwrap())
}

/// Number of lines of each log, as its position states it.
fn lengths(logs: &dyn UserLogs) -> [u64; 3] {
    LogKind::ALL.map(|kind| logs.log_position(kind).records)
}

#[derive(Debug, Clone)]
enum Operation {
    Append { kind: LogKind, records: u64, stale: bool },
    Erase { id: u64 },
    Reopen,
    EraseUser,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let kinds = || prop::sample::select(LogKind::ALL.to_vec());
    let operation = prop_oneof![
        6 => (kinds(), 0..4_u64, prop::bool::weighted(0.2))
            .prop_map(|(kind, records, stale)| Operation::Append { kind, records, stale }),
        2 => (0..20_u64).prop_map(|id| Operation::Erase { id }),
        2 => Just(Operation::Reopen),
        1 => Just(Operation::EraseUser),
    ];
    prop::collection::vec(operation, 1..25)
}

struct Writer {
    logs: Box<dyn UserLogs>,
    head: LogHead,
    earlier: LogHead,
    batches: u64,
}

impl Writer {
    fn open(store: &dyn LogStore, owner: &Owner) -> Self {
        let (logs, opened) = store.open_logs(owner).unwrap();
        all_lines(&*logs);
        let head = LogHead { epoch: opened.epoch, ..logs.current_head().unwrap() };
        Self { logs, head, earlier: head, batches: 0 }
    }

    /// `true` if the answer is `Done`.
    fn note(&mut self, answer: AppendAnswer) -> bool {
        match answer {
            AppendAnswer::Done(head) => {
                assert!(head.generation >= self.head.generation);
                (self.earlier, self.head) = (self.head, head);
                true
            }
            AppendAnswer::Conflict(head) => {
                assert_eq!(head.ends, self.head.ends, "nobody else writes");
                false
            }
        }
    }

    fn append(&mut self, kind: LogKind, lines: &[u8], records: u64, stale: bool) -> bool {
        self.batches += 1;
        let id = BatchId { epoch: self.head.epoch, number: self.batches };
        let expected = if stale { self.earlier } else { self.head };
        // The first append makes the row, which has a generation from then on.
        let expected = match expected.generation {
            0 => LogHead { generation: self.head.generation, ..expected },
            _ => expected,
        };
        let answer =
            self.logs.append_batch(&expected, &LineBatch { kind, lines, records, id }).unwrap();
        self.note(answer)
    }
}

fn without_notes(mut lines: [Vec<Vec<u8>>; 3]) -> [Vec<Vec<u8>>; 3] {
    for log in &mut lines {
        log.retain(|line| !line.starts_with(br#"{"type":"erased""#));
    }
    lines
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn the_database_does_what_the_model_does() {
    let address = server();
    let database = open(&address);
    let users = AtomicU32::new(0);
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) };
    proptest!(config, |(operations in operations())| {
        let owner = owner(&format!("u{}", users.fetch_add(1, Ordering::SeqCst)));
        let model = MemoryLogs::default();
        let stores: [&dyn LogStore; 2] = [&database, &model];
        let mut writers = stores.map(|store| Writer::open(store, &owner));
        let mut next = 0;
        for operation in operations {
            match operation {
                Operation::Append { kind, records, stale } => {
                    // A batch is stale for the model only if it is for the database: if the end of
                    // this log differs.
                    let stale = stale
                        && writers.iter().all(|one| {
                            one.earlier.log_end(kind) != one.head.log_end(kind)
                                && one.earlier.generation == one.head.generation
                        });
                    let lines: Vec<u8> =
                        (next..next + records).flat_map(|id| line(kind, id)).collect();
                    next += records;
                    let [real, model] = writers
                        .each_mut()
                        .map(|writer| writer.append(kind, &lines, records, stale));
                    prop_assert_eq!(real, model);
                }
                Operation::Erase { id } => {
                    let ids = || vec![format!("r{id}")];
                    for writer in &mut writers {
                        let erasure = UserErasure {
                            messages: ids(),
                            episodes: ids(),
                            semantic: ids(),
                            ..UserErasure::default()
                        };
                        let before = writer.head;
                        let (answer, _) = writer.logs.rewrite_logs(&before, erasure).unwrap();
                        prop_assert!(writer.note(answer));
                    }
                }
                Operation::Reopen | Operation::EraseUser => {
                    for (writer, store) in writers.iter_mut().zip(stores) {
                        let epoch = writer.head.epoch;
                        if matches!(operation, Operation::EraseUser) {
                            store.erase_user(&owner).unwrap();
                        }
                        *writer = Writer::open(store, &owner);
                        prop_assert!(writer.head.epoch > epoch);
                    }
                }
            }
            let [real, model] = writers.each_ref().map(|writer| all_lines(&*writer.logs));
            prop_assert_eq!(without_notes(real), model);
            let logs = &*writers[0].logs;
            prop_assert!(logs.find_damage().unwrap().is_empty());
            prop_assert_eq!(lengths(logs), all_lines(logs).map(|lines| lines.len() as u64));
            for kind in LogKind::ALL {
                let all: Vec<u8> = lines_behind(logs, kind, &LogSum::default())
                    .unwrap()
                    .into_iter()
                    .flat_map(|line| [line, b"\n".to_vec()].concat())
                    .collect();
                let (from, most) = (all.len() / 3, all.len() / 2);
                let part = database.read_slice(&owner, kind, from as u64, most as u64).unwrap();
                prop_assert_eq!(&part[..], &all[from..(from + most).min(all.len())]);
            }
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn any_beginning_is_known_and_the_rest_is_shown() {
    let address = server();
    let database = open(&address);
    let mut writer = Writer::open(&database, &owner("a"));
    let mut beginnings = vec![LogSum::default()];
    for id in 0..20 {
        assert!(writer.append(LogKind::Messages, &line(LogKind::Messages, id), 1, false));
        beginnings.push(writer.logs.log_sum(LogKind::Messages).unwrap().unwrap());
    }
    let all = all_lines(&*writer.logs)[0].clone();
    let again = Writer::open(&database, &owner("a"));
    for (at, known) in beginnings.iter().enumerate() {
        let behind = lines_behind(&*again.logs, LogKind::Messages, known).unwrap();
        assert_eq!(behind, all[at..]);
        let other = LogSum { crc32: "00000001".into(), ..known.clone() };
        // Every log begins with the empty prefix.
        let is_known = lines_behind(&*again.logs, LogKind::Messages, &other).is_some();
        assert_eq!(is_known, at == 0);
    }
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn a_reader_follows_and_a_rewrite_ends_that() {
    let address = server();
    let (database, other) = (open(&address), open(&address));
    let mut writer = Writer::open(&database, &owner("a"));
    let reader = other.open_logs(&owner("a")).unwrap().0;
    let follow = || {
        let mut seen = Vec::new();
        let head = reader.visit_appended(&mut |_, line| {
            seen.push(line.bytes.to_vec());
            Ok(())
        });
        head.unwrap().map(|_| seen.len())
    };
    assert!(writer.append(LogKind::Messages, &line(LogKind::Messages, 1), 1, false));
    assert!(!reader.is_current().unwrap());
    assert_eq!(follow(), Some(1));
    assert!(reader.is_current().unwrap());
    assert!(writer.append(LogKind::Episodes, &line(LogKind::Episodes, 2), 1, false));
    assert!(writer.append(LogKind::Messages, &line(LogKind::Messages, 3), 1, false));
    assert_eq!(follow(), Some(2));
    // The reader may write now, and the writer has to follow.
    let expected = reader.seen_head();
    let lines = line(LogKind::Messages, 4);
    let id = BatchId { epoch: expected.epoch, number: 1 };
    let batch = LineBatch { kind: LogKind::Messages, lines: &lines, records: 1, id };
    assert!(matches!(reader.append_batch(&expected, &batch).unwrap(), AppendAnswer::Done(_)));
    let before = writer.head;
    let answer = writer.logs.append_batch(&before, &batch).unwrap();
    assert!(matches!(answer, AppendAnswer::Conflict(_)));
    writer.logs.visit_appended(&mut |_, _| Ok(())).unwrap().unwrap();
    let erasure = UserErasure { messages: vec!["r1".into()], ..UserErasure::default() };
    let (answer, _) = writer.logs.rewrite_logs(&writer.logs.seen_head(), erasure).unwrap();
    assert!(matches!(answer, AppendAnswer::Done(_)));
    assert_eq!(follow(), None);
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn of_many_writers_every_line_is_there_once_and_in_order() {
    let address = server();
    let written: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4_u64)
            .map(|name| {
                let address = &address;
                scope.spawn(move || {
                    let database = open(address);
                    let (logs, opened) = database.open_logs(&owner("a")).unwrap();
                    let mut acknowledged = Vec::new();
                    for number in 0..25_u64 {
                        let id = name << 32 | number;
                        let lines = line(LogKind::Messages, id);
                        loop {
                            let expected = LogHead { epoch: opened.epoch, ..logs.seen_head() };
                            let batch = LineBatch {
                                kind: LogKind::Messages,
                                lines: &lines,
                                records: 1,
                                id: BatchId { epoch: opened.epoch, number },
                            };
                            match logs.append_batch(&expected, &batch).unwrap() {
                                AppendAnswer::Done(_) => break acknowledged.push(id),
                                AppendAnswer::Conflict(_) => {
                                    logs.visit_appended(&mut |_, _| Ok(())).unwrap().unwrap();
                                }
                            }
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let database = open(&address);
    let [there, ..] = all_lines(&*database.open_logs(&owner("a")).unwrap().0);
    let distinct: HashSet<&Vec<u8>> = there.iter().collect();
    assert_eq!((there.len(), distinct.len()), (100, 100));
    for ids in written {
        let mut rest = there.iter();
        for id in ids {
            let wanted = line(LogKind::Messages, id);
            assert!(rest.any(|line| *line == wanted[..wanted.len() - 1]), "lost, or out of order");
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn generations_are_told_in_the_order_that_was_asked() {
    let address = server();
    let database = open(&address);
    let users = ["a\\b", "none", "c", "d"].map(str::to_owned);
    for user in ["d", "a\\b", "c"] {
        let mut writer = Writer::open(&database, &owner(user));
        assert!(writer.append(LogKind::Messages, &line(LogKind::Messages, 1), 1, false));
    }
    let told = database.log_generations("default", &users).unwrap();
    let each = users.each_ref().map(|user| {
        let ends = database.log_ends(&owner(user)).unwrap();
        (!ends.is_nobody()).then_some(ends.generation)
    });
    assert_eq!(told, each);
    assert_eq!(told.iter().filter(|generation| generation.is_none()).count(), 1);
    assert_eq!(database.log_generations("other", &users).unwrap(), [None; 4]);
}

#[test]
#[ignore = "needs PostgreSQL: make test-postgres"]
fn a_turn_has_one_holder() {
    use episodica_core::store::TurnHolder;
    let address = server();
    let database = open(&address);
    let mut writer = Writer::open(&database, &owner("a"));
    assert!(writer.append(LogKind::Messages, &line(LogKind::Messages, 1), 1, false));
    let other = Writer::open(&database, &owner("a"));
    let TurnHolder::Mine(guard) = writer.logs.try_turn().unwrap() else { panic!("nobody has it") };
    let TurnHolder::Other(Some(holder)) = other.logs.try_turn().unwrap() else {
        panic!("it is taken")
    };
    assert_eq!(holder.pid, std::process::id());
    drop(guard);
    assert!(matches!(other.logs.try_turn().unwrap(), TurnHolder::Mine(_)));
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let address = "postgresql://me:secret@127.0.0.1:1/x?deadline_seconds=0.2";
    let address = StoreAddress::parse(address, &|_| None).unwrap();
    let holder = LockHolder::this_process(SystemClock.now());
    let error = PgLogs::open(address, OpenMode::ReadWrite, &holder).unwrap_err();
    assert_eq!(error.kind(), episodica_core::ErrorKind::StoreUnavailable);
    assert!(!error.cause_chain().contains("secret"));
}
