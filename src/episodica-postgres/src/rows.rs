//! Converts rows of the tables to values.

use episodica_core::ids::Owner;
use episodica_core::store::log_store::{BatchId, LogHead};
use episodica_core::store::{LogKind, LogPosition, LogSum};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

/// The owner of rows, with ids as the tables store them: PostgreSQL's text cannot contain a zero
/// character.
#[derive(Debug, Clone)]
pub(crate) struct RowOwner {
    tenant: String,
    user: String,
}

impl RowOwner {
    pub fn from_owner(owner: &Owner) -> Self {
        Self { tenant: stored_id(&owner.tenant), user: stored_id(&owner.user) }
    }

    /// The first two parameters of a statement about a user.
    pub fn sql_parameters(&self) -> [(&(dyn ToSql + Sync), Type); 2] {
        [(&self.tenant, Type::TEXT), (&self.user, Type::TEXT)]
    }
}

/// An id as the tables store it: `\\` for a backslash, `\0` for a zero character.
pub(crate) fn stored_id(id: &str) -> String {
    id.replace('\\', "\\\\").replace('\0', "\\0")
}

/// The id whose [`stored_id`] form this is.
pub(crate) fn id_of(stored: &str) -> String {
    let (mut id, mut chars) = (String::with_capacity(stored.len()), stored.chars());
    while let Some(char) = chars.next() {
        id.push(match char {
            '\\' if chars.next() == Some('0') => '\0',
            other => other,
        });
    }
    id
}

/// The end of a log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub bytes: u64,
    pub lines: u64,
    pub crc: u32,
}

impl LogEnd {
    /// The end after one more line.
    pub fn after_line(self, line: &[u8]) -> Self {
        let mut crc = crc32fast::Hasher::new_with_initial(self.crc);
        crc.update(line);
        crc.update(b"\n");
        let (bytes, lines) = (self.bytes + line.len() as u64 + 1, self.lines + 1);
        Self { bytes, lines, crc: crc.finalize() }
    }

    pub fn to_position(self) -> LogPosition {
        LogPosition { bytes: self.bytes, records: self.lines }
    }

    pub fn to_sum(self) -> LogSum {
        LogSum { position: self.to_position(), crc32: format!("{:08x}", self.crc) }
    }

    /// The end of a known prefix of a log; `None` for an invalid checksum.
    pub fn from_sum(sum: &LogSum) -> Option<Self> {
        let crc = u32::from_str_radix(&sum.crc32, 16).ok()?;
        Some(Self { bytes: sum.position.bytes, lines: sum.position.records, crc })
    }
}

/// The state of a user's logs, as last seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SeenLogs {
    /// The row's key; `None` if the user has no row.
    pub uid: Option<i64>,
    pub generation: u64,
    /// A counter that is incremented when a request without an answer is settled. An append
    /// requires its current value.
    pub fence: i64,
    pub ends: [LogEnd; 3],
    pub batch: Option<BatchId>,
}

impl SeenLogs {
    /// Reads a head, whose columns may all be null, starting at a column.
    pub fn from_row(row: &Row, from: usize) -> Result<Self, tokio_postgres::Error> {
        let number = |at: usize| row.try_get::<_, Option<i64>>(from + at);
        let Some(uid) = number(0)? else { return Ok(Self::default()) };
        let mut ends = [LogEnd::default(); 3];
        for (at, end) in ends.iter_mut().enumerate() {
            *end = LogEnd {
                bytes: unsigned_number(number(3 + 3 * at)?),
                lines: unsigned_number(number(4 + 3 * at)?),
                crc: unsigned_number(number(5 + 3 * at)?) as u32,
            };
        }
        let batch = match (number(12)?, number(13)?) {
            (Some(epoch), Some(number)) => Some(BatchId {
                epoch: unsigned_number(Some(epoch)),
                number: unsigned_number(Some(number)),
            }),
            _ => None,
        };
        let fence = number(2)?.unwrap_or_default();
        Ok(Self { uid: Some(uid), generation: unsigned_number(number(1)?), fence, ends, batch })
    }

    pub fn log_end(&self, kind: LogKind) -> LogEnd {
        self.ends[kind as usize]
    }

    pub fn head_at_epoch(&self, epoch: u64) -> LogHead {
        LogHead {
            generation: self.generation,
            epoch,
            ends: self.ends.map(|end| end.bytes),
            last_batch: self.batch,
        }
    }

    /// True if the logs are unchanged, even if a request was settled meanwhile.
    pub fn has_same_logs(&self, other: &Self) -> bool {
        (self.uid, self.generation, self.ends) == (other.uid, other.generation, other.ends)
    }
}

fn unsigned_number(number: Option<i64>) -> u64 {
    number.unwrap_or_default().unsigned_abs()
}

/// A number as the tables store it.
pub(crate) fn stored_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Lines of one log, as columns.
#[derive(Debug, Default)]
pub(crate) struct LineColumns<'a> {
    pub upto: Vec<i64>,
    pub numbers: Vec<i64>,
    pub crcs: Vec<i64>,
    pub lines: Vec<&'a str>,
}

impl<'a> LineColumns<'a> {
    /// Adds a line; returns the end after it.
    pub fn push_line(&mut self, end: LogEnd, line: &'a str) -> LogEnd {
        let next = end.after_line(line.as_bytes());
        self.upto.push(stored_number(next.bytes));
        self.numbers.push(stored_number(next.lines));
        self.crcs.push(i64::from(next.crc));
        self.lines.push(line);
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_the_tables() {
        for id in ["a", "\0", "a\\0b", "\\", "\\\0\\\\0", "Çağla / 张"] {
            assert!(!stored_id(id).contains('\0'));
            assert_eq!(id_of(&stored_id(id)), id);
        }
    }
}
