//! Random sequences of operations: the file store is compared with the model, and requests and
//! answers are lost, repeated and delayed.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::error::ErrorKind;
use crate::store::file_logs::FileLogs;
use crate::store::shared::SharedStore;
use crate::store::testing::{MemoryBackend, MemoryLogs, record_line as line};

fn owner(user: &str) -> Owner {
    Owner::new("default", user).unwrap()
}

fn files(disk: &MemoryBackend) -> FileLogs {
    FileLogs::new(&Arc::new(SharedStore::new(
        Arc::new(disk.clone()),
        Path::new("/m"),
        OpenMode::ReadWrite,
    )))
}

fn root() -> MemoryBackend {
    let disk = MemoryBackend::new();
    crate::store::FileBackend::create_dir_all(&disk, Path::new("/m/locks")).unwrap();
    disk
}

fn lines_behind(logs: &dyn UserLogs, kind: LogKind, known: &LogSum) -> Option<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    let shown = logs.visit_after(kind, known, &mut |line| {
        lines.push(line.bytes.to_vec());
        Ok(())
    });
    match shown {
        // The log needs repair while other writers are locked out.
        Err(error) if error.kind() == ErrorKind::Conflict => None,
        shown => shown.unwrap().map(|_| lines),
    }
}

fn all_lines(logs: &dyn UserLogs) -> [Vec<Vec<u8>>; 3] {
    LogKind::ALL.map(|kind| lines_behind(logs, kind, &LogSum::default()).unwrap())
}

/// One operation on the logs of one user.
#[derive(Debug, Clone)]
enum Operation {
    /// Appends this many records; `stale` simulates a writer that has not seen the last append.
    Append { kind: LogKind, records: u64, stale: bool },
    /// Erases the message with this number.
    Erase { id: u64 },
    /// Closes and reopens the logs.
    Reopen,
    /// Removes the whole user.
    EraseUser,
}

fn kinds() -> impl Strategy<Value = LogKind> {
    prop::sample::select(LogKind::ALL.to_vec())
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        6 => (kinds(), 0..4_u64, prop::bool::weighted(0.2))
            .prop_map(|(kind, records, stale)| Operation::Append { kind, records, stale }),
        2 => (0..20_u64).prop_map(|id| Operation::Erase { id }),
        2 => Just(Operation::Reopen),
        1 => Just(Operation::EraseUser),
    ];
    prop::collection::vec(operation, 1..25)
}

/// The result that a test compares: whether lines were written, and the next generation.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done { generation_rose: bool },
    Conflict,
}

/// A writer on one store, compared step by step with a writer on the other store.
struct Writer {
    logs: Option<Box<dyn UserLogs>>,
    head: LogHead,
    earlier: LogHead,
    batches: u64,
}

impl Writer {
    fn open(store: &dyn LogStore) -> Self {
        let (logs, opened) = store.open_logs(&owner("a")).unwrap();
        all_lines(&*logs);
        let head = LogHead { epoch: opened.epoch, ..logs.current_head().unwrap() };
        Self { logs: Some(logs), head, earlier: head, batches: 0 }
    }

    fn logs(&self) -> &dyn UserLogs {
        self.logs.as_deref().unwrap()
    }

    fn note(&mut self, answer: AppendAnswer) -> Outcome {
        match answer {
            AppendAnswer::Done(head) => {
                let generation_rose = head.generation > self.head.generation;
                assert!(head.generation >= self.head.generation);
                (self.earlier, self.head) = (self.head, head);
                Outcome::Done { generation_rose }
            }
            AppendAnswer::Conflict(head) => {
                assert_eq!(head.ends, self.head.ends, "nobody else writes");
                Outcome::Conflict
            }
        }
    }

    fn append(&mut self, kind: LogKind, lines: &[u8], records: u64, stale: bool) -> Outcome {
        self.batches += 1;
        let id = BatchId { epoch: self.head.epoch, number: self.batches };
        let expected = if stale { self.earlier } else { self.head };
        let batch = LineBatch { kind, lines, records, id };
        let answer = self.logs().append_batch(&expected, &batch).unwrap();
        self.note(answer)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn files_do_what_the_model_does(operations in operations()) {
        let disk = root();
        let stores: [Box<dyn LogStore>; 2] = [Box::new(files(&disk)), Box::<MemoryLogs>::default()];
        let mut writers = stores.each_ref().map(|store| Writer::open(&**store));
        let mut next = 0;
        for operation in operations {
            match operation {
                Operation::Append { kind, records, stale } => {
                    let lines: Vec<u8> =
                        (next..next + records).flat_map(|id| line(kind, id)).collect();
                    next += records;
                    let [file, model] = writers
                        .each_mut()
                        .map(|writer| writer.append(kind, &lines, records, stale));
                    prop_assert_eq!(file, model);
                }
                Operation::Erase { id } => {
                    let erasure = || UserErasure {
                        messages: vec![format!("r{id}")],
                        episodes: vec![format!("r{id}")],
                        semantic: vec![format!("r{id}")],
                        ..UserErasure::default()
                    };
                    let [file, model] = writers.each_mut().map(|writer| {
                        let (answer, _) =
                            writer.logs().rewrite_logs(&writer.head, erasure()).unwrap();
                        writer.note(answer)
                    });
                    prop_assert_eq!(&file, &model);
                    prop_assert_eq!(file, Outcome::Done { generation_rose: true });
                }
                Operation::Reopen | Operation::EraseUser => {
                    for (writer, store) in writers.iter_mut().zip(&stores) {
                        let epoch = writer.head.epoch;
                        writer.logs = None;
                        if matches!(operation, Operation::EraseUser) {
                            store.erase_user(&owner("a")).unwrap();
                        }
                        *writer = Writer::open(&**store);
                        let again = writer.head.epoch > epoch;
                        prop_assert!(again || matches!(operation, Operation::EraseUser));
                    }
                }
            }
            let [mut file, model] = writers.each_ref().map(|writer| all_lines(writer.logs()));
            // Files note erasures, so that cursors stay valid.
            for lines in &mut file {
                lines.retain(|line| !line.starts_with(br#"{"type":"erased""#));
            }
            prop_assert_eq!(&file, &model);
            let [files, models] = stores.each_ref().map(|store| {
                store.list_users("default", None, 9).unwrap()
            });
            prop_assert!(models.iter().all(|user| files.contains(user)));
        }
    }

    #[test]
    fn any_beginning_is_known_and_the_rest_is_shown(
        records in 1..30_u64,
        known in 0..30_u64,
        flip in prop::option::of(0..10_000_usize),
    ) {
        let known = known.min(records);
        let disk = root();
        let stores: [Box<dyn LogStore>; 2] = [Box::new(files(&disk)), Box::<MemoryLogs>::default()];
        for (at, store) in stores.iter().enumerate() {
            let mut writer = Writer::open(&**store);
            let mut beginning = LogSum::default();
            for id in 0..records {
                writer.append(LogKind::Messages, &line(LogKind::Messages, id), 1, false);
                if id + 1 == known {
                    beginning = writer.logs().log_sum(LogKind::Messages).unwrap().unwrap();
                }
            }
            writer.logs = None;
            let path = Path::new("/m/messages/a_messages.jsonl");
            let flipped = flip.filter(|_| at == 0).map(|flip| {
                let mut bytes = disk.files().remove(path).unwrap();
                let at = flip % bytes.len();
                bytes[at] ^= 1;
                disk.put(path, &bytes);
                at as u64
            });
            let logs = store.open_logs(&owner("a")).unwrap().0;
            let shown = lines_behind(&*logs, LogKind::Messages, &beginning);
            if flipped.is_some_and(|at| at < beginning.position.bytes) {
                prop_assert_eq!(shown, None);
            } else if flipped.is_none() {
                let expected: Vec<Vec<u8>> = (known..records)
                    .map(|id| line(LogKind::Messages, id).strip_suffix(b"\n").unwrap().to_vec())
                    .collect();
                prop_assert_eq!(shown, Some(expected));
            }
        }
    }
}

/// The fate of a request on the network.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Answered,
    RequestLost,
    AnswerLost,
    Repeated,
    /// Arrives together with a later request, after its sender gave up.
    Delayed,
}

/// A writer over an unreliable network. It records the answers that it gets. After a request
/// without an answer, it reopens the logs and reads the lines after its known prefix.
struct Client {
    name: u64,
    logs: Option<Box<dyn UserLogs>>,
    head: LogHead,
    known: LogSum,
    batches: u64,
    acknowledged: Vec<Vec<u8>>,
}

/// A request that is still in transit.
type Delayed = Vec<(LogHead, Vec<u8>, BatchId)>;

impl Client {
    fn new(name: u64) -> Self {
        let (head, known) = (LogHead::default(), LogSum::default());
        Self { name, logs: None, head, known, batches: 0, acknowledged: Vec::new() }
    }

    /// Reopens and reads the new lines; `true` if `wanted` is among them.
    fn follow(&mut self, store: &dyn LogStore, wanted: Option<&[u8]>) -> bool {
        self.logs = None;
        let (logs, opened) = store.open_logs(&owner("a")).unwrap();
        let news = lines_behind(&*logs, LogKind::Messages, &self.known).expect("nobody rewrites");
        self.head = LogHead { epoch: opened.epoch, ..logs.current_head().unwrap() };
        self.known = logs.log_sum(LogKind::Messages).unwrap().unwrap();
        self.logs = Some(logs);
        wanted.is_some_and(|wanted| news.iter().any(|line| line == wanted))
    }

    fn send(&mut self, store: &dyn LogStore, fate: Fate, delayed: &mut Delayed) {
        if self.logs.is_none() {
            self.follow(store, None);
        }
        let content = self.name << 32 | self.batches;
        let lines = line(LogKind::Messages, content);
        let wanted = lines.strip_suffix(b"\n").unwrap().to_vec();
        let id = BatchId { epoch: self.head.epoch, number: self.batches };
        self.batches += 1;
        for _attempt in 0..8 {
            let logs = self.logs.as_deref().unwrap();
            let batch = LineBatch { kind: LogKind::Messages, lines: &lines, records: 1, id };
            let send = || logs.append_batch(&self.head, &batch).unwrap();
            let answer = match fate {
                Fate::Answered => Some(send()),
                Fate::RequestLost => None,
                Fate::AnswerLost => {
                    send();
                    None
                }
                Fate::Repeated => {
                    send();
                    Some(send())
                }
                Fate::Delayed => {
                    delayed.push((self.head, lines.clone(), id));
                    None
                }
            };
            let written = matches!(answer, Some(AppendAnswer::Done(_)));
            if self.follow(store, Some(&wanted)) {
                self.acknowledged.push(wanted);
                return;
            }
            assert!(!written, "an acknowledged line is missing");
            if answer.is_none() {
                // The caller knows that the append failed, and may give up.
                return;
            }
        }
        panic!("a conflict goes away when the tail was read");
    }
}

fn exactly_once(store: &dyn LogStore, steps: &[(bool, Fate)]) {
    let mut clients = [Client::new(1), Client::new(2)];
    let mut delayed = Delayed::new();
    for (second, fate) in steps {
        // The other client stays open, so its position is outdated once this one has appended.
        let client = &mut clients[usize::from(*second)];
        client.send(store, *fate, &mut delayed);
        let logs = client.logs.as_deref().unwrap();
        let before = all_lines(logs);
        for (expected, lines, id) in delayed.drain(..) {
            let batch = LineBatch { kind: LogKind::Messages, lines: &lines, records: 1, id };
            let answer = logs.append_batch(&expected, &batch).unwrap();
            assert!(
                matches!(answer, AppendAnswer::Conflict(_)),
                "its sender was told that it failed"
            );
        }
        assert_eq!(all_lines(logs), before);
    }
    clients.iter_mut().for_each(|client| client.logs = None);
    let [written, ..] = all_lines(&*store.open_logs(&owner("a")).unwrap().0);
    let distinct: HashSet<&Vec<u8>> = written.iter().collect();
    assert_eq!(distinct.len(), written.len(), "a line stands there twice");
    for client in &clients {
        let mut rest = written.iter();
        for line in &client.acknowledged {
            assert!(rest.any(|written| written == line), "lost, or out of order");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_the_network_does_each_acknowledged_line_is_there_once(
        steps in prop::collection::vec(
            (
                any::<bool>(),
                prop::sample::select(vec![
                    Fate::Answered,
                    Fate::RequestLost,
                    Fate::AnswerLost,
                    Fate::Repeated,
                    Fate::Delayed,
                ]),
            ),
            1..20,
        ),
    ) {
        exactly_once(&MemoryLogs::default(), &steps);
        exactly_once(&files(&root()), &steps);
    }
}
