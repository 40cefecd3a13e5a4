//! Copies the logs of a user from one store to another, on any medium.
//!
//! An interrupted copy continues where it stopped: the target's lines must be a prefix of the
//! source's. At the end every line is compared.

use super::layout::LogKind;
use super::log::LogSum;
use super::log_store::{AppendAnswer, BatchId, LineBatch, LogHead, UserLogs};
use super::store::Store;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::Owner;

const BATCH_BYTES: usize = 4 << 20;

/// The result of copying a user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CopiedUser {
    /// Lines copied.
    pub lines: u64,
    /// Lines that the target already had.
    pub known: u64,
    /// Bytes of the copied lines.
    pub bytes: u64,
}

/// Identifies a line: its length and checksum.
type Mark = (usize, u32);

/// Copies a user's missing lines and counts of uses to the target, then compares every line.
///
/// # Errors
/// `InvalidInput` if the target has other records of the user; `CorruptStore` if the lines differ
/// afterwards; those of both stores.
pub fn copy_user(source: &Store, target: &Store, owner: &Owner) -> Result<CopiedUser> {
    let (from, _) = source.logs.open_logs(owner)?;
    let (to, opened) = target.logs.open_logs(owner)?;
    let mut copied = CopiedUser::default();
    for kind in LogKind::ALL {
        let there = log_marks(&*to, kind)?;
        copied.known += there.len() as u64;
        let mut sink =
            LineSink { to: &*to, opened, kind, lines: Vec::new(), records: 0, number: 0 };
        let (mut at, mut failed) = (0, None);
        from.visit_after(kind, &LogSum::default(), &mut |line| {
            if failed.is_some() {
                return Ok(());
            }
            match there.get(at) {
                Some(known) if *known == line_mark(line.bytes) => {}
                Some(_) => failed = Some(difference_error(owner, kind)),
                None => {
                    copied.lines += 1;
                    copied.bytes += line.bytes.len() as u64 + 1;
                    failed = sink.push_line(line.bytes).err();
                }
            }
            at += 1;
            Ok(())
        })?;
        if at < there.len() {
            failed = failed.or_else(|| Some(difference_error(owner, kind)));
        }
        failed.map_or_else(|| sink.flush(), Err)?;
        if log_marks(&*from, kind)? != log_marks(&*to, kind)? {
            return Err(Error::new(
                ErrorKind::CorruptStore,
                format!("the copy of a user's {} differs: `{}`", kind.name(), owner.user),
            )
            .with_hint("another process may be writing to one of the stores: copy again"));
        }
    }
    from.finish_opening();
    to.finish_opening();
    let (bytes, _) = source.logs.read_uses(owner)?;
    let (known, number) = target.logs.read_uses(owner)?;
    if known != bytes {
        target.logs.put_uses(owner, &bytes, number)?;
    }
    Ok(copied)
}

fn difference_error(owner: &Owner, kind: LogKind) -> Error {
    Error::invalid(format!(
        "the target has other {} of the user, to which these can't be added: `{}`",
        kind.name(),
        owner.user
    ))
    .with_hint("copy into a store without this user, or use `export` and `import`")
}

fn line_mark(line: &[u8]) -> Mark {
    (line.len(), crc32fast::hash(line))
}

fn log_marks(logs: &dyn UserLogs, kind: LogKind) -> Result<Vec<Mark>> {
    let mut marks = Vec::new();
    logs.visit_after(kind, &LogSum::default(), &mut |line| {
        marks.push(line_mark(line.bytes));
        Ok(())
    })?;
    Ok(marks)
}

struct LineSink<'a> {
    to: &'a dyn UserLogs,
    opened: LogHead,
    kind: LogKind,
    lines: Vec<u8>,
    records: u64,
    number: u64,
}

impl LineSink<'_> {
    fn push_line(&mut self, line: &[u8]) -> Result<()> {
        self.lines.extend_from_slice(line);
        self.lines.push(b'\n');
        self.records += 1;
        if self.lines.len() >= BATCH_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        if self.records == 0 {
            return Ok(());
        }
        let expected = LogHead { epoch: self.opened.epoch, ..self.to.seen_head() };
        let id = BatchId { epoch: self.opened.epoch, number: self.number };
        let batch = LineBatch { kind: self.kind, lines: &self.lines, records: self.records, id };
        match self.to.append_batch(&expected, &batch)? {
            AppendAnswer::Done(_) => {}
            AppendAnswer::Conflict(_) => {
                return Err(Error::new(
                    ErrorKind::StoreLocked,
                    "another process is writing to the target",
                ));
            }
        }
        self.lines.clear();
        (self.records, self.number) = (0, self.number + 1);
        Ok(())
    }
}
