//! The plain model: the messages that were added, and their fate.

use std::collections::BTreeMap;
use std::io::ErrorKind as IoKind;
use std::time::Duration;

use episodica_core::ErrorKind;
use episodica_core::engine::{AnyRecord, Engine, EngineHandle, RecordKind};
use episodica_core::store::testing::{Failure, MemoryBackend, Random};

use crate::engine::support::*;

use super::USERS;
use super::operations::{Crash, Op};

/// Whether a message must be there.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// `add_messages` returned.
    Kept,
    /// `add_messages` failed, or its deletion did: the message may be there or not, until the first
    /// look after the next crash.
    Open,
}

#[derive(Debug, Clone)]
pub struct Said {
    pub id: String,
    pub content: String,
    pub fate: Fate,
}

pub struct World {
    pub disk: Disk,
    pub engine: Option<EngineHandle>,
    pub said: BTreeMap<usize, Vec<Said>>,
    /// Words written by acknowledged calls of `update`: user, record, word.
    pub edits: Vec<(usize, String, String)>,
    /// Whether an archived or restored fact is archived now, by user and id.
    pub shelved: BTreeMap<(usize, String), bool>,
    /// Contents that are deleted for good.
    pub gone: Vec<String>,
    pub count: usize,
    pub clock: i64,
    pub operations: u64,
    pub faults: u64,
    pub crashes: u64,
}

/// A word that nothing else contains and no stemmer touches.
pub fn word(number: usize) -> String {
    let digits: String = format!("{number:05}")
        .bytes()
        .map(|digit| char::from(b"bcdfghjkmp"[usize::from(digit - b'0')]))
        .collect();
    format!("zq{digits}v")
}

pub fn id_of(record: &AnyRecord) -> &str {
    match record {
        AnyRecord::Message(message) => &message.message_id,
        AnyRecord::Episode(episode) => &episode.episode_id,
        AnyRecord::Semantic(memory) => &memory.memory_id,
    }
}

pub fn text_of(record: &AnyRecord) -> &str {
    match record {
        AnyRecord::Message(message) => &message.content,
        AnyRecord::Episode(episode) => &episode.content,
        AnyRecord::Semantic(memory) => &memory.content,
    }
}

impl World {
    pub fn new() -> Self {
        let disk = Disk::new(MemoryBackend::new());
        let engine = Some(open(&disk).unwrap());
        let (said, edits, gone) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self {
            disk,
            engine,
            said,
            edits,
            shelved: BTreeMap::new(),
            gone,
            count: 0,
            clock: 0,
            operations: 0,
            faults: 0,
            crashes: 0,
        }
    }

    pub fn engine(&self) -> &Engine {
        self.engine.as_ref().unwrap()
    }

    pub fn fresh_word(&mut self) -> String {
        self.count += 1;
        word(self.count)
    }

    pub fn compose(&mut self) -> (String, String) {
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

    /// A record of the user, by kind and place; `None` if the user has none.
    pub fn pick(&self, user: usize, kind: usize, place: usize) -> Option<AnyRecord> {
        let kind = [RecordKind::Semantic, RecordKind::Episode, RecordKind::Message][kind];
        let all = records(self.engine(), USERS[user], kind);
        (!all.is_empty()).then(|| all[place % all.len()].clone())
    }

    /// Runs one operation; `failing` is true if the disk was told to fail in it.
    pub fn run(&mut self, op: &Op, failing: bool) {
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
            Op::Shelve { user, place, restores } => {
                self.disk.heal();
                if let Some(record) = self.pick(*user, 0, *place) {
                    let key = (*user, id_of(&record).to_owned());
                    let ids = [key.1.clone()];
                    self.arm(failing);
                    // Nothing is known of the fact if the call fails.
                    self.shelved.remove(&key);
                    let shelved = if *restores {
                        self.engine().restore(USERS[*user], &ids, &NOW)
                    } else {
                        self.engine().archive(USERS[*user], &ids, &NOW)
                    };
                    outcome = shelved.map(|_| {
                        self.shelved.insert(key, !restores);
                    });
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
                    // The check reads the logs, which must not fail here.
                    self.disk.heal();
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
            assert!(
                failing && error.kind() != ErrorKind::Internal,
                "{op:?}: {}",
                error.cause_chain()
            );
        }
        self.disk.heal();
    }

    pub fn arm(&self, failing: bool) {
        if failing {
            self.disk.fail_after(self.count as u64 % 40, Failure::FromThenOn, IoKind::StorageFull);
        }
    }

    pub fn take_out(&mut self, user: usize, done: bool, which: &dyn Fn(&Said) -> bool) {
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

    /// Stops expecting edits whose record was deleted or written anew.
    pub fn forget_edits(&mut self, done: bool) {
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

    /// After opening: each open message is found to be there or not; kept messages must be there.
    pub fn settle(&mut self) {
        for (user, name) in USERS.iter().enumerate() {
            let there = records(self.engine(), name, RecordKind::Message);
            let all = self.said.entry(user).or_default();
            all.retain(|said| {
                said.fate == Fate::Kept || there.iter().any(|record| id_of(record) == said.id)
            });
        }
    }
}
