//! Erases records from logs that are not files: their lines are edited in memory.

use std::path::{Path, PathBuf};

use super::apply::{edit_logs, tainted_episodes};
use super::editable_log::EditableLog;
use super::erasure::UserErasure;
use crate::error::Result;
use crate::ids::Owner;
use crate::store::log::{LineRewrite, LogCuts, NoteCuts};
use crate::store::scan::RawLine;

/// The lines of a log, in memory.
#[derive(Debug, Default)]
pub struct LineLog {
    /// The path of the log, for errors.
    pub path: PathBuf,
    /// Its lines, without line feeds.
    pub lines: Vec<Vec<u8>>,
    /// The first line, from 0, that an erasure changed; `None` if none was.
    pub changed_from: Option<usize>,
}

impl EditableLog for LineLog {
    fn path(&self) -> &Path {
        &self.path
    }

    fn for_each(&self, visit: &mut dyn FnMut(RawLine<'_>)) -> Result<()> {
        let mut offset = 0;
        for (number, bytes) in (1..).zip(&self.lines) {
            visit(RawLine { number, offset, bytes });
            offset += bytes.len() as u64 + 1;
        }
        Ok(())
    }

    fn edit_lines(
        &mut self,
        note: NoteCuts<'_>,
        decide: &mut dyn FnMut(RawLine<'_>) -> LineRewrite,
    ) -> Result<()> {
        let (mut offset, mut cuts, mut kept) = (0, LogCuts::default(), Vec::new());
        for (at, bytes) in std::mem::take(&mut self.lines).into_iter().enumerate() {
            let line = RawLine { number: at as u64 + 1, offset, bytes: &bytes };
            let next = offset + bytes.len() as u64 + 1;
            match decide(line) {
                LineRewrite::Keep => {
                    cuts.note_kept(line);
                    kept.push(bytes);
                }
                other => {
                    self.changed_from.get_or_insert(at);
                    if let LineRewrite::Replace(new) = other {
                        cuts.note_replaced(line, new.len() as u64);
                        kept.extend(whole_lines(&new));
                    }
                }
            }
            offset = next;
        }
        let cuts = cuts.cuts_until(offset);
        if !cuts.is_empty() {
            kept.extend(whole_lines(&note(cuts)?));
        }
        self.lines = kept;
        Ok(())
    }
}

fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec)
}

/// Removes the records of an erasure from the logs of a user, with the same result as in files.
/// `generation` is the one after the erasure. Returns the number of changed logs.
///
/// # Errors
/// `Internal` if a current episode would keep an erased message.
pub fn erase_lines(
    owner: &Owner,
    erasure: &UserErasure,
    generation: u64,
    logs: &mut [LineLog; 3],
) -> Result<usize> {
    let tainted = tainted_episodes(erasure, &logs[1], true)?;
    let [messages, episodes, semantic] = logs;
    edit_logs(owner, erasure, &tainted, generation, [messages, episodes, semantic])
}
