//! Random sequences of every public operation against a plain model, with failing disks, reopenings
//! and crashes in between.
//!
//! The model knows which messages were acknowledged and which texts were put into records by hand.
//! A word of its own in each of them makes the strongest of promises checkable: a word stands in
//! some file if and only if some record shows it.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::time::Duration;

use episodica_core::ErrorKind;
use episodica_core::engine::{AnyRecord, Engine, Handle, RecordKind};
use episodica_core::score::Method;
use episodica_core::store::testing::{Failure, MemoryBackend, Random};
use proptest::prelude::*;
use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};

use super::counts::{report, rounds};
use super::support::*;

const USERS: [&str; 3] = ["a", "a_b", "A"];

#[derive(Debug, Clone)]
enum Crash {
    PowerCut,
    Lucky(u64),
    Killed,
}

#[derive(Debug, Clone)]
enum Op {
    Add {
        user: usize,
        count: usize,
        session: Option<u8>,
        pause: bool,
    },
    AddAgain {
        user: usize,
    },
    Flush {
        user: usize,
    },
    FlushAll,
    CloseSession {
        user: usize,
        session: u8,
    },
    Update {
        user: usize,
        kind: usize,
        place: usize,
    },
    Delete {
        user: usize,
        kind: usize,
        place: usize,
    },
    DeleteUser {
        user: usize,
    },
    Search {
        user: usize,
    },
    Rebuild {
        user: usize,
    },
    Retry,
    /// The next operation meets a failure at its n-th step.
    Fail {
        after: u64,
        forever: bool,
    },
    Reopen,
    Crash(Crash),
}

fn op() -> impl Strategy<Value = Op> {
    let user = 0..USERS.len();
    prop_oneof![
        6 => (user.clone(), 1..8_usize, proptest::option::of(0..3_u8), any::<bool>())
            .prop_map(|(user, count, session, pause)| Op::Add { user, count, session, pause }),
        1 => user.clone().prop_map(|user| Op::AddAgain { user }),
        2 => user.clone().prop_map(|user| Op::Flush { user }),
        1 => Just(Op::FlushAll),
        1 => (user.clone(), 0..3_u8).prop_map(|(user, session)| Op::CloseSession { user, session }),
        2 => (user.clone(), 0..2_usize, any::<usize>()).prop_map(|(user, kind, place)| Op::Update { user, kind, place }),
        3 => (user.clone(), 0..3_usize, any::<usize>()).prop_map(|(user, kind, place)| Op::Delete { user, kind, place }),
        1 => user.clone().prop_map(|user| Op::DeleteUser { user }),
        2 => user.clone().prop_map(|user| Op::Search { user }),
        1 => user.prop_map(|user| Op::Rebuild { user }),
        1 => Just(Op::Retry),
        3 => (0..40_u64, any::<bool>()).prop_map(|(after, forever)| Op::Fail { after, forever }),
        1 => Just(Op::Reopen),
        2 => prop_oneof![Just(Crash::PowerCut), any::<u64>().prop_map(Crash::Lucky), Just(Crash::Killed)].prop_map(Op::Crash),
    ]
}

/// What is known of a message.
#[derive(Debug, Clone, PartialEq)]
enum Fate {
    /// `add_messages` returned.
    Kept,
    /// `add_messages` failed, or deleting it did: there or not, until somebody has looked after the
    /// next crash.
    Open,
}

#[derive(Debug, Clone)]
struct Said {
    id: String,
    content: String,
    fate: Fate,
}

struct World {
    disk: Disk,
    engine: Option<Handle>,
    said: BTreeMap<usize, Vec<Said>>,
    /// Words written by `update` that returned, by user, record and order.
    edits: Vec<(usize, String, String)>,
    /// Contents that are gone for good.
    gone: Vec<String>,
    count: usize,
    clock: i64,
    operations: u64,
    faults: u64,
    crashes: u64,
}

/// A word that nothing else contains and no stemmer touches.
fn word(number: usize) -> String {
    let digits: String = format!("{number:05}")
        .bytes()
        .map(|digit| char::from(b"bcdfghjkmp"[usize::from(digit - b'0')]))
        .collect();
    format!("zq{digits}v")
}

fn id_of(record: &AnyRecord) -> &str {
    match record {
        AnyRecord::Message(message) => &message.message_id,
        AnyRecord::Episode(episode) => &episode.episode_id,
        AnyRecord::Semantic(memory) => &memory.memory_id,
    }
}

fn text_of(record: &AnyRecord) -> &str {
    match record {
        AnyRecord::Message(message) => &message.content,
        AnyRecord::Episode(episode) => &episode.content,
        AnyRecord::Semantic(memory) => &memory.content,
    }
}

impl World {
    fn new() -> Self {
        let disk = Disk::new(MemoryBackend::new());
        let engine = Some(open(&disk).unwrap());
        let (said, edits, gone) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self {
            disk,
            engine,
            said,
            edits,
            gone,
            count: 0,
            clock: 0,
            operations: 0,
            faults: 0,
            crashes: 0,
        }
    }

    fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    fn fresh_word(&mut self) -> String {
        self.count += 1;
        word(self.count)
    }

    fn compose(&mut self) -> (String, String) {
        let word = self.fresh_word();
        let content = match self.count % 5 {
            0 => format!("I moved to {word} last Friday."),
            1 => format!("My favourite drink is {word} with milk."),
            2 => format!("My sister works at {word} now, she likes it."),
            3 => format!("What do you think about {word}?"),
            _ => format!("By the way, the {word} trip was lovely. See you tomorrow!"),
        };
        (format!("m-{word}"), content)
    }

    /// A record of the user, by kind and place; none if there are none.
    fn pick(&self, user: usize, kind: usize, place: usize) -> Option<AnyRecord> {
        let kind = [RecordKind::Semantic, RecordKind::Episode, RecordKind::Message][kind];
        let all = records(self.engine(), USERS[user], kind);
        (!all.is_empty()).then(|| all[place % all.len()].clone())
    }

    /// Runs one step; `failing` = the disk was told to fail in it.
    fn run(&mut self, op: &Op, failing: bool) {
        self.operations += 1;
        if !failing {
            self.disk.heal();
        }
        let mut outcome = Ok(());
        match op {
            Op::Add { user, count, session, pause } => {
                self.clock += if *pause { 7_200 } else { 30 };
                let mut said_now = Vec::new();
                let mut batch = Vec::new();
                for _ in 0..*count {
                    let (id, content) = self.compose();
                    self.clock += 20;
                    let session = session.map(|session| format!("s{session}"));
                    batch.push(said(&id, &content, self.clock, session.as_deref()));
                    said_now.push(Said { id, content, fate: Fate::Open });
                }
                outcome =
                    self.engine().add_messages(USERS[*user], batch, None, &NOW).map(|report| {
                        assert_eq!(report.messages_added, *count);
                        said_now.iter_mut().for_each(|said| said.fate = Fate::Kept);
                    });
                self.said.entry(*user).or_default().extend(said_now);
            }
            Op::AddAgain { user } => {
                if let Some(known) = self
                    .said
                    .get(user)
                    .and_then(|all| all.iter().rfind(|said| said.fate == Fate::Kept))
                    .cloned()
                {
                    let again = vec![said(&known.id, &known.content, self.clock, None)];
                    outcome = self
                        .engine()
                        .add_messages(USERS[*user], again, None, &NOW)
                        .map(|report| assert_eq!(report.duplicates, 1));
                }
            }
            Op::Flush { user } => {
                outcome = self.engine().flush(USERS[*user], &NOW).map(drop);
                self.check_buffers(outcome.is_ok(), &[*user]);
            }
            Op::FlushAll => {
                outcome = self.engine().flush_all(&NOW).map(drop);
                self.check_buffers(outcome.is_ok(), &[0, 1, 2]);
            }
            Op::CloseSession { user, session } => {
                outcome = self
                    .engine()
                    .close_session(USERS[*user], &format!("s{session}"), &NOW)
                    .map(drop);
            }
            Op::Update { user, kind, place } => {
                if let Some(record) = (!failing).then(|| self.pick(*user, *kind, *place)).flatten()
                {
                    let word = self.fresh_word();
                    let text = format!("A correction about {word} and nothing else.");
                    let updated = self.engine().update(USERS[*user], id_of(&record), &text, &NOW);
                    outcome = updated
                        .map(|record| self.edits.push((*user, id_of(&record).to_owned(), word)));
                }
            }
            Op::Delete { user, kind, place } => {
                self.disk.heal();
                if let Some(record) = self.pick(*user, *kind, *place) {
                    self.arm(failing);
                    let messages: Vec<String> = match &record {
                        AnyRecord::Message(message) => vec![message.message_id.clone()],
                        AnyRecord::Episode(episode) => episode
                            .original_messages
                            .iter()
                            .map(|message| message.message_id.clone())
                            .collect(),
                        AnyRecord::Semantic(_) => Vec::new(),
                    };
                    outcome = self.engine().delete(USERS[*user], id_of(&record), &NOW).map(drop);
                    self.take_out(*user, outcome.is_ok(), &|said| messages.contains(&said.id));
                    self.forget_edits(outcome.is_ok());
                }
            }
            Op::DeleteUser { user } => {
                outcome = self.engine().delete_user_data(USERS[*user], &NOW).map(drop);
                self.take_out(*user, outcome.is_ok(), &|_| true);
                self.disk.heal();
                self.forget_edits(true);
            }
            Op::Search { user } => {
                self.disk.heal();
                self.check_search(*user);
            }
            Op::Rebuild { user } => {
                outcome = self.engine().rebuild_indices(Some(USERS[*user]), &NOW).map(drop)
            }
            Op::Retry => outcome = self.engine().retry_pending(None, &NOW).map(drop),
            Op::Fail { .. } => {}
            Op::Reopen => {
                outcome = self.engine().close(Duration::ZERO, &NOW);
                self.engine = None;
                self.disk.heal();
                self.engine = Some(open(&self.disk).unwrap());
                self.settle();
            }
            Op::Crash(crash) => {
                self.crashes += 1;
                let disk = self.disk.inner();
                let image = match crash {
                    Crash::PowerCut => disk.after_power_cut(),
                    Crash::Lucky(seed) => disk.after_lucky_power_cut(&mut Random::new(*seed)),
                    Crash::Killed => disk.after_process_death(),
                };
                self.engine = None;
                self.disk = Disk::new(image);
                self.engine = Some(open(&self.disk).unwrap());
                self.settle();
            }
        }
        self.faults += u64::from(self.disk.failures() > 0 && failing);
        if let Err(error) = outcome {
            assert!(failing && error.kind() != ErrorKind::Internal, "{op:?}: {}", error.chain());
        }
        self.disk.heal();
    }

    fn arm(&self, failing: bool) {
        if failing {
            self.disk.fail_after(self.count as u64 % 40, Failure::FromThenOn, IoKind::StorageFull);
        }
    }

    fn take_out(&mut self, user: usize, done: bool, which: &dyn Fn(&Said) -> bool) {
        let Some(all) = self.said.get_mut(&user) else { return };
        for said in all.iter_mut().filter(|said| which(said)) {
            said.fate = Fate::Open;
            if done {
                self.gone.push(said.content.clone());
            }
        }
        if done {
            all.retain(|said| !which(said));
        }
    }

    /// Edits whose record went, or was written anew, are no longer expected.
    fn forget_edits(&mut self, done: bool) {
        let engine = self.engine.as_ref().unwrap();
        let shown = |(user, id, word): &(usize, String, String)| {
            engine
                .history(USERS[*user], id, &NOW)
                .unwrap()
                .iter()
                .any(|record| text_of(record).contains(word.as_str()))
        };
        let (kept, lost): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.edits).into_iter().partition(shown);
        self.edits = kept;
        if done {
            self.gone.extend(lost.into_iter().map(|(_, _, word)| word));
        }
    }

    /// After opening: what is open is now there or not; what was kept is there.
    fn settle(&mut self) {
        for (user, name) in USERS.iter().enumerate() {
            let there = records(self.engine(), name, RecordKind::Message);
            let all = self.said.entry(user).or_default();
            all.retain(|said| {
                said.fate == Fate::Kept || there.iter().any(|record| id_of(record) == said.id)
            });
        }
    }

    /// Everything that must hold at any time.
    fn check(&self) {
        let engine = self.engine();
        for (user, name) in USERS.iter().enumerate() {
            let there = records(engine, name, RecordKind::Message);
            let contents: Vec<&str> = there.iter().map(text_of).collect();
            let mut rest = contents.iter();
            for said in self.said.get(&user).into_iter().flatten() {
                let open = said.fate == Fate::Open;
                assert!(
                    open && !contents.contains(&said.content.as_str())
                        || rest.any(|content| *content == said.content),
                    "lost or out of order: {said:?} in {contents:?}"
                );
            }
            let own = |content: &str| {
                self.said
                    .get(&user)
                    .is_some_and(|all| all.iter().any(|said| said.content == content))
            };
            assert!(
                contents.iter().all(|content| own(content)),
                "a message of nobody's: {contents:?}"
            );
            self.check_episodes(name, &there);
        }
        for content in &self.gone {
            assert!(
                files_with(&self.disk, content).is_empty(),
                "deleted and back: `{content}` in {:?}",
                files_with(&self.disk, content)
            );
        }
        for (user, id, word) in &self.edits {
            let history = engine.history(USERS[*user], id, &NOW).unwrap();
            assert!(
                history.iter().any(|record| text_of(record).contains(word.as_str())),
                "an edit of {id} is lost: {word}"
            );
        }
    }

    fn check_episodes(&self, user: &str, messages: &[AnyRecord]) {
        let mut inside: Vec<String> = Vec::new();
        for record in records(self.engine(), user, RecordKind::Episode) {
            let AnyRecord::Episode(episode) = record else { panic!("asked for episodes") };
            assert_eq!(episode.message_count, episode.original_messages.len());
            inside
                .extend(episode.original_messages.iter().map(|message| message.message_id.clone()));
        }
        let count = inside.len();
        inside.sort();
        inside.dedup();
        assert_eq!(inside.len(), count, "a message is in two episodes");
        assert!(
            inside.iter().all(|id| messages.iter().any(|message| id_of(message) == id)),
            "an episode of lost messages"
        );
        for record in records(self.engine(), user, RecordKind::Semantic) {
            let AnyRecord::Semantic(memory) = record else { panic!("asked for memories") };
            let known = |id: &String| messages.iter().any(|message| id_of(message) == id);
            assert!(
                memory.source_messages.iter().all(known),
                "a memory of deleted messages: {memory:?}"
            );
        }
    }

    fn check_buffers(&self, flushed: bool, users: &[usize]) {
        self.disk.heal();
        for user in users.iter().filter(|_| flushed) {
            assert_eq!(
                self.engine().user_stats(USERS[*user], &NOW).unwrap().buffered,
                0,
                "after a flush"
            );
        }
    }

    fn check_search(&self, user: usize) {
        for (owner, name) in USERS.iter().enumerate() {
            let Some(last) = self
                .said
                .get(&user)
                .and_then(|all| all.iter().rfind(|said| said.fate == Fate::Kept))
            else {
                return;
            };
            let word = last.id.strip_prefix("m-").unwrap();
            let hits = found(self.engine(), name, word, Method::Bm25);
            match owner == user {
                true => assert_eq!(hits.first(), Some(&last.content), "not found: {word}"),
                false => assert!(!hits.contains(&last.content), "found by another user: {word}"),
            }
        }
    }

    /// Closes properly, opens again, and holds everything against everything.
    fn finish(&mut self) {
        self.run(&Op::Reopen, false);
        self.check();
        let verified = self.engine().verify(None, &NOW).unwrap();
        self.run(&Op::Reopen, false);
        let again = self.engine().verify(None, &NOW).unwrap();
        assert!(again.errors == 0 && again.errors <= verified.errors, "{:?}", again.problems);
        for (_, said) in
            self.said.iter().flat_map(|(user, all)| all.iter().map(move |said| (user, said)))
        {
            assert!(said.fate == Fate::Open || !files_with(&self.disk, &said.content).is_empty());
        }
        (0..USERS.len()).for_each(|user| self.check_search(user));
    }
}

#[test]
fn any_sequence_of_operations_keeps_what_was_acknowledged_and_nothing_else() {
    let (cases, length) = (rounds(40, 4_000) as u32, 30);
    let config = RunConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..RunConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let totals = std::sync::Mutex::new((0, 0, 0));
    let outcome = TestRunner::new_with_rng(config, rng).run(
        &proptest::collection::vec(op(), 1..length),
        |operations| {
            let mut world = World::new();
            let mut armed = false;
            for op in &operations {
                if let Op::Fail { after, forever } = op {
                    let failure = if *forever { Failure::FromThenOn } else { Failure::Once };
                    world.disk.fail_after(*after, failure, IoKind::StorageFull);
                    armed = true;
                    continue;
                }
                world.run(op, armed);
                armed = false;
                world.check();
            }
            world.finish();
            let mut totals = totals.lock().unwrap();
            *totals =
                (totals.0 + world.operations, totals.1 + world.faults, totals.2 + world.crashes);
            Ok(())
        },
    );
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (operations, faults, crashes) = *totals.lock().unwrap();
    assert!(operations > 300 && faults > 10 && crashes > 10, "{operations} {faults} {crashes}");
    report(
        "model",
        &[("operations", operations), ("faults", faults), ("kills", crashes), ("losses", 0)],
    );
}
