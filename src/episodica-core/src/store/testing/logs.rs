//! Logs in memory: the reference model for every other [`LogStore`].

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::sync::Mutex;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::ids::Owner;
use crate::model::StoreProblem;
use crate::store::backend::LockGuard;
use crate::store::erase::UserErasure;
use crate::store::layout::LogKind;
use crate::store::log::{LogPosition, LogRecovery, LogSum, OpenMode, encode_records};
use crate::store::log_store::{
    AppendAnswer, AppendLock, FollowVisit, Hold, LineBatch, LogEnds, LogHead, LogMedium, LogStore,
    TurnHolder, UserLogs,
};
use crate::store::request_log::{KnownRequest, RequestLine, RequestNote};
use crate::store::scan::{RawLine, Visit};

/// The logs of one user: lines without their line feeds.
#[derive(Debug, Default)]
struct State {
    head: LogHead,
    lines: [Vec<Vec<u8>>; 3],
    uses: (Vec<u8>, u64),
}

impl State {
    /// The current head: ends are counted in lines.
    fn head(&self) -> LogHead {
        LogHead { ends: self.lines.each_ref().map(|lines| lines.len() as u64), ..self.head }
    }
}

/// A line of a log that is a record with the id `r<id>`.
pub fn record_line(kind: LogKind, id: u64) -> Vec<u8> {
    let (date, key) = ("2024-03-11T09:30:00Z", ["message_id", "episode_id", "memory_id"]);
    let record = serde_json::json!({
        key[kind as usize]: format!("r{id}"), "user_id": "a", "title": "", "seq": id,
        "role": "user", "content": format!("text {id}"), "message_count": 0,
        "boundary_reason": "", "timestamp": date, "created_at": date, "ended_at": date,
        "valid_from": date, "updated_at": date, "confidence": 1.0, "importance": 1.0,
        "boundary": {"should_end": true, "reason": "flush", "confidence": 1.0,
            "detection_method": "forced"},
        "provenance": {"method": "offline"},
    });
    encode_records(&[record]).expect("invariant: an object")
}

type Users = Arc<Mutex<BTreeMap<Owner, State>>>;

/// Logs in memory, for any number of users and writers; clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryLogs {
    users: Users,
    requests: Arc<Mutex<BTreeMap<Vec<u8>, KnownRequest>>>,
}

#[derive(Debug)]
struct MemoryUserLogs {
    owner: Owner,
    users: Users,
    seen: Mutex<LogHead>,
}

#[derive(Debug)]
struct Nothing;

impl AppendLock for Nothing {}
impl LockGuard for Nothing {}

impl MemoryUserLogs {
    fn with<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        act(self.users.lock().entry(self.owner.clone()).or_default())
    }
}

impl LogStore for MemoryLogs {
    fn open_logs(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)> {
        let logs = MemoryUserLogs {
            owner: owner.clone(),
            users: Arc::clone(&self.users),
            seen: Mutex::default(),
        };
        let head = logs.with(|state| {
            state.head.epoch += 1;
            state.head()
        });
        *logs.seen.lock() = head;
        Ok((Box::new(logs), head))
    }

    fn list_users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let users = self.users.lock();
        let known = users
            .iter()
            .filter(|(owner, state)| {
                owner.tenant == tenant && state.lines.iter().any(|lines| !lines.is_empty())
            })
            .map(|(owner, _)| owner.user.clone());
        Ok(known
            .filter(|user| after.is_none_or(|after| user.as_str() > after))
            .take(limit)
            .collect())
    }

    fn erase_user(&self, owner: &Owner) -> Result<usize> {
        let mut users = self.users.lock();
        let Some(state) = users.get_mut(owner) else { return Ok(0) };
        let was_there = state.lines.iter().any(|lines| !lines.is_empty());
        state.lines = Default::default();
        state.uses = Default::default();
        state.head.generation += 1;
        Ok(usize::from(was_there))
    }

    fn list_tenants(&self) -> Result<Vec<String>> {
        let users = self.users.lock();
        let mut tenants: Vec<String> = users.keys().map(|owner| owner.tenant.clone()).collect();
        tenants.dedup();
        Ok(tenants)
    }

    fn has_user(&self, owner: &Owner) -> Result<bool> {
        Ok(!self.log_ends(owner)?.is_nobody())
    }

    fn log_ends(&self, owner: &Owner) -> Result<LogEnds> {
        let users = self.users.lock();
        let Some(state) = users.get(owner) else { return Ok(LogEnds::default()) };
        let end =
            |lines: &Vec<Vec<u8>>| (!lines.is_empty()).then(|| (sum(lines).position.bytes, 0));
        let files = state.lines.each_ref().map(end);
        Ok(LogEnds { generation: state.head.generation, files })
    }

    fn read_slice(&self, owner: &Owner, kind: LogKind, from: u64, most: u64) -> Result<Vec<u8>> {
        let users = self.users.lock();
        let lines = users.get(owner).map(|state| &state.lines[kind as usize]);
        let bytes = lines.into_iter().flatten().flat_map(|line| line.iter().chain(b"\n"));
        Ok(bytes.skip(from as usize).take(most as usize).copied().collect())
    }

    fn is_erasing(&self, _: &Owner) -> Result<bool> {
        Ok(false)
    }

    fn read_uses(&self, owner: &Owner) -> Result<(Vec<u8>, u64)> {
        Ok(self.users.lock().get(owner).map(|state| state.uses.clone()).unwrap_or_default())
    }

    fn put_uses(&self, owner: &Owner, bytes: &[u8], number: u64) -> Result<bool> {
        let mut users = self.users.lock();
        let state = users.entry(owner.clone()).or_default();
        let is_same = state.uses.1 == number;
        if is_same {
            state.uses = (bytes.to_vec(), number + 1);
        }
        Ok(is_same)
    }

    fn note_request(&self, note: &RequestNote<'_>) -> Result<Option<KnownRequest>> {
        let mut requests = self.requests.lock();
        let mut known = requests.remove(note.name);
        RequestLine::from_note(note).apply_to(&mut known);
        requests.extend(known.clone().map(|known| (note.name.to_vec(), known)));
        Ok(known)
    }

    fn log_medium(&self) -> LogMedium {
        LogMedium { name: "memory", place: PathBuf::new(), version: None, failure: None }
    }
}

impl UserLogs for MemoryUserLogs {
    fn open_mode(&self) -> OpenMode {
        OpenMode::ReadWrite
    }

    fn current_head(&self) -> Result<LogHead> {
        Ok(self.with(|state| state.head()))
    }

    fn seen_head(&self) -> LogHead {
        *self.seen.lock()
    }

    fn is_current(&self) -> Result<bool> {
        let (head, seen) = (self.current_head()?, self.seen_head());
        Ok((head.generation, head.ends) == (seen.generation, seen.ends))
    }

    fn visit_appended(&self, visit: FollowVisit<'_>) -> Result<Option<LogHead>> {
        let (head, lines) = self.with(|state| (state.head(), state.lines.clone()));
        let seen = self.seen_head();
        if head.generation != seen.generation {
            return Ok(None);
        }
        for kind in LogKind::ALL {
            for (at, bytes) in
                lines[kind as usize].iter().enumerate().skip(seen.log_end(kind) as usize)
            {
                if visit(kind, RawLine { number: at as u64 + 1, offset: 0, bytes }).is_err() {
                    return Ok(None);
                }
            }
        }
        *self.seen.lock() = head;
        Ok(Some(head))
    }

    fn exclude_writers(&self) -> Result<Hold<'_>> {
        Ok(Box::new(Nothing))
    }

    fn visit_after(
        &self,
        kind: LogKind,
        known: &LogSum,
        visit: Visit<'_>,
    ) -> Result<Option<LogRecovery>> {
        let lines = self.with(|state| state.lines[kind as usize].clone());
        let before = known.position.records as usize;
        if lines.len() < before || sum(&lines[..before]) != *known {
            return Ok(None);
        }
        let mut offset = known.position.bytes;
        for (at, bytes) in lines.iter().enumerate().skip(before) {
            visit(RawLine { number: at as u64 + 1, offset, bytes })
                .map_err(|reason| Error::internal(format!("not a record: {reason}")))?;
            offset += bytes.len() as u64 + 1;
        }
        let records = (lines.len() - before) as u64;
        self.seen.lock().ends[kind as usize] = lines.len() as u64;
        Ok(Some(LogRecovery { records, ..LogRecovery::default() }))
    }

    fn append_batch(&self, expected: &LogHead, batch: &LineBatch<'_>) -> Result<AppendAnswer> {
        Ok(self.with(|state| {
            let present = state.head();
            if (present.generation, present.epoch) != (expected.generation, expected.epoch)
                || present.log_end(batch.kind) != expected.log_end(batch.kind)
            {
                return AppendAnswer::Conflict(present);
            }
            let lines = batch.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            state.lines[batch.kind as usize].extend(lines.map(<[u8]>::to_vec));
            state.head.last_batch = Some(batch.id);
            *self.seen.lock() = state.head();
            AppendAnswer::Done(state.head())
        }))
    }

    fn rewrite_logs(
        &self,
        expected: &LogHead,
        erasure: UserErasure,
    ) -> Result<(AppendAnswer, usize)> {
        self.with(|state| {
            let present = state.head();
            if (present.generation, present.epoch) != (expected.generation, expected.epoch) {
                return Ok((AppendAnswer::Conflict(present), 0));
            }
            let drop_ids = |lines: &mut Vec<Vec<u8>>, key: &str, gone: &[String]| {
                lines.retain(|line| {
                    let record: Value = serde_json::from_slice(line).unwrap_or_default();
                    let id = record.get(key).or(record.get("deleted")).and_then(Value::as_str);
                    !id.is_some_and(|id| gone.iter().any(|gone| gone == id))
                });
            };
            let [messages, episodes, semantic] = &mut state.lines;
            drop_ids(messages, "message_id", &erasure.messages);
            drop_ids(episodes, "episode_id", &erasure.episodes);
            drop_ids(semantic, "memory_id", &erasure.semantic);
            for episode in &erasure.replace_episodes {
                let mut line = encode_records(&[episode])?;
                line.pop();
                replace(episodes, "episode_id", &episode.episode_id, line);
            }
            for fact in &erasure.replace_semantic {
                let mut line = encode_records(&[fact])?;
                line.pop();
                replace(semantic, "memory_id", &fact.memory_id, line);
            }
            state.head.generation += 1;
            *self.seen.lock() = state.head();
            Ok((AppendAnswer::Done(state.head()), 1))
        })
    }

    fn is_erasing(&self) -> bool {
        false
    }

    fn finish_erasure(&self) -> Result<()> {
        Ok(())
    }

    fn log_position(&self, kind: LogKind) -> LogPosition {
        self.with(|state| sum(&state.lines[kind as usize]).position)
    }

    fn log_sum(&self, kind: LogKind) -> Result<Option<LogSum>> {
        Ok(Some(self.with(|state| sum(&state.lines[kind as usize]))))
    }

    fn find_damage(&self) -> Result<Vec<StoreProblem>> {
        Ok(Vec::new())
    }

    fn log_path(&self, kind: LogKind) -> PathBuf {
        kind.name().into()
    }

    fn try_turn(&self) -> Result<TurnHolder> {
        Ok(TurnHolder::Mine(Box::new(Nothing)))
    }
}

/// Replaces the first line with this id, and drops the other lines with it.
fn replace(lines: &mut Vec<Vec<u8>>, key: &str, id: &str, replacement: Vec<u8>) {
    let has_id = |line: &Vec<u8>| {
        let record: Value = serde_json::from_slice(line).unwrap_or_default();
        record.get(key).or(record.get("deleted")).and_then(Value::as_str) == Some(id)
    };
    let Some(first) = lines.iter().position(has_id) else { return };
    lines[first] = replacement;
    let mut at = 0;
    lines.retain(|line| {
        at += 1;
        at - 1 <= first || !has_id(line)
    });
}

fn sum(lines: &[Vec<u8>]) -> LogSum {
    let (mut checksum, mut bytes) = (crc32fast::Hasher::new(), 0);
    for line in lines {
        checksum.update(line);
        checksum.update(b"\n");
        bytes += line.len() as u64 + 1;
    }
    let position = LogPosition { bytes, records: lines.len() as u64 };
    LogSum { position, crc32: format!("{:08x}", checksum.finalize()) }
}
