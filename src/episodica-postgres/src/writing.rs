//! Appends and rewrites, and recovery from lost answers.

use episodica_core::store::log_store::{BatchId, LineBatch};
use episodica_core::store::{LineLog, LogKind};
use episodica_core::{Error, ErrorKind, Result};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;
use crate::rows::{LineColumns, LogEnd, RowOwner, SeenLogs, stored_number};
use crate::statements::SqlTexts;

/// Maximum number of bytes of lines per statement of a rewrite.
const INSERT_BYTES: usize = 4 << 20;

/// The user whose logs are written.
#[derive(Debug)]
pub(crate) struct WriteTarget<'a> {
    pub pool: &'a ConnectionPool,
    pub statements: &'a SqlTexts,
    pub who: RowOwner,
}

/// The lines of a batch as text.
///
/// # Errors
/// `Internal` if the bytes are not valid UTF-8; every line is JSON.
fn lines_of<'a>(batch: &LineBatch<'a>) -> Result<Vec<&'a str>> {
    let text = std::str::from_utf8(batch.lines)
        .map_err(|error| Error::internal("a line is not UTF-8").caused_by(error))?;
    Ok(text.split('\n').filter(|line| !line.is_empty()).collect())
}

type Values<'a> = Vec<(&'a (dyn ToSql + Sync), Type)>;

fn with_columns<'a>(columns: &'a LineColumns<'a>) -> Values<'a> {
    let LineColumns { upto, numbers, crcs, lines } = columns;
    let numbers = [upto, numbers, crcs];
    let mut values: Values<'a> = Vec::with_capacity(16);
    values.extend(numbers.map(|column| (column as &(dyn ToSql + Sync), Type::INT8_ARRAY)));
    values.push((lines, Type::TEXT_ARRAY));
    values
}

impl WriteTarget<'_> {
    /// Reads the current state of the user's logs.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub fn read_state(&self) -> Result<SeenLogs> {
        self.pool.repeat_request(async |client| self.query_state(client).await)
    }

    /// [`WriteTarget::read_state`] with a short timeout.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub fn look_once(&self) -> Result<SeenLogs> {
        self.pool.send_briefly(async |client| self.query_state(client).await)
    }

    async fn query_state(&self, client: &Client) -> Result<SeenLogs, DatabaseFailure> {
        let row = client.query_typed_opt(&self.statements.head, &self.who.sql_parameters()).await?;
        Ok(row.map_or_else(|| Ok(SeenLogs::default()), |row| SeenLogs::from_row(&row, 0))?)
    }

    /// Appends a batch if the logs are still as `seen`; returns their new state, or `None` if
    /// another process wrote first. If the answer is lost, finds out whether the batch was written.
    ///
    /// # Errors
    /// `StoreUnavailable`. Whether the batch was written is unknown only if the database stays
    /// unavailable until the deadline.
    pub fn append_batch(&self, seen: &SeenLogs, batch: &LineBatch<'_>) -> Result<Option<SeenLogs>> {
        let (lines, mut columns, mut end) =
            (lines_of(batch)?, LineColumns::default(), seen.log_end(batch.kind));
        for line in &lines {
            end = columns.push_line(end, line);
        }
        let mut seen = *seen;
        loop {
            let sent = self.pool.send_once(async |client| {
                self.send_batch(client, &seen, batch, &columns, end).await
            })?;
            match sent {
                Ok(written) => return Ok(written),
                Err(failure) if !failure.is_away => return Err(failure.into()),
                Err(failure) => {
                    log::warn!(
                        "an append had no answer and is settled: {}",
                        failure.error.cause_chain()
                    )
                }
            }
            // After this, the lost request has either been executed or never will be.
            let now = self.raise_fence()?;
            if self.has_line(&now, batch.kind, end, columns.lines.last().copied())? {
                return Ok(Some(now));
            }
            let is_created = seen.uid.is_none() && now.ends == seen.ends;
            let is_same = now.uid == seen.uid && now.generation == seen.generation;
            if !(is_created || is_same && now.log_end(batch.kind) == seen.log_end(batch.kind)) {
                return Ok(None);
            }
            seen = now;
        }
    }

    async fn send_batch(
        &self,
        client: &Client,
        seen: &SeenLogs,
        batch: &LineBatch<'_>,
        columns: &LineColumns<'_>,
        end: LogEnd,
    ) -> Result<Option<SeenLogs>, DatabaseFailure> {
        let (number, BatchId { epoch, number: id }) = (batch.kind as usize, batch.id);
        let new = [
            stored_number(end.bytes),
            stored_number(end.lines),
            i64::from(end.crc),
            stored_number(epoch),
            stored_number(id),
        ];
        let mut values = with_columns(columns);
        values.extend(new.iter().map(|value| (value as &(dyn ToSql + Sync), Type::INT8)));
        let mut after = SeenLogs { batch: Some(batch.id), ..*seen };
        after.ends[number] = end;
        let Some(uid) = seen.uid else {
            values.extend(self.who.sql_parameters());
            let row = client.query_typed_opt(&self.statements.create[number], &values).await?;
            let Some(row) = row else { return Ok(None) };
            after.uid = Some(row.try_get(0)?);
            after.generation = row.try_get::<_, i64>(1)?.unsigned_abs();
            return Ok(Some(after));
        };
        let before = seen.ends[number];
        let old = [
            uid,
            stored_number(seen.generation),
            seen.fence,
            stored_number(before.bytes),
            i64::from(before.crc),
        ];
        values.extend(old.iter().map(|value| (value as &(dyn ToSql + Sync), Type::INT8)));
        let rows = client.execute_typed(&self.statements.append[number], &values).await?;
        Ok((rows > 0).then_some(after))
    }

    /// Raises the fence, so that no earlier request can be executed any more.
    fn raise_fence(&self) -> Result<SeenLogs> {
        self.pool.repeat_request(async |client| {
            let row =
                client.query_typed_one(&self.statements.fence, &self.who.sql_parameters()).await?;
            Ok(SeenLogs::from_row(&row, 0)?)
        })
    }

    /// True if this last line of a batch is in the log and ends at `end`.
    fn has_line(
        &self,
        now: &SeenLogs,
        kind: LogKind,
        end: LogEnd,
        last: Option<&str>,
    ) -> Result<bool> {
        let (Some(uid), Some(last)) = (now.uid, last) else { return Ok(false) };
        if now.log_end(kind).bytes < end.bytes {
            return Ok(false);
        }
        self.pool.repeat_request(async |client| {
            let kind = kind as i16;
            let values = [
                (&uid as _, Type::INT8),
                (&kind as _, Type::INT2),
                (&stored_number(end.bytes) as _, Type::INT8),
            ];
            let row = client.query_typed_opt(&self.statements.line_at, &values).await?;
            let Some(row) = row else { return Ok(false) };
            let (crc, line): (i64, String) = (row.try_get(0)?, row.try_get(1)?);
            Ok(crc == i64::from(end.crc) && line == last)
        })
    }

    /// Returns a generation number that no logs have had before.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub fn next_generation(&self) -> Result<u64> {
        let text = format!("SELECT nextval('{}.generations')", self.statements.schema);
        self.pool.repeat_request(async |client| {
            let row = client.query_typed_one(&text, &[]).await?;
            Ok(row.try_get::<_, i64>(0)?.unsigned_abs())
        })
    }

    /// Replaces the `seen` logs by the changed `logs` and removes the usage counts; `None` if
    /// another process wrote first.
    ///
    /// # Errors
    /// As [`WriteTarget::append_batch`].
    pub fn rewrite_logs(
        &self,
        seen: &SeenLogs,
        generation: u64,
        logs: &[LineLog; 3],
    ) -> Result<Option<SeenLogs>> {
        let Some(uid) = seen.uid else { return Ok(None) };
        let mut after = SeenLogs { generation, ..*seen };
        for (log, end) in logs.iter().zip(&mut after.ends) {
            if log.changed_from.is_some() {
                *end = log.lines.iter().fold(LogEnd::default(), |end, line| end.after_line(line));
            }
        }
        let mut before = *seen;
        loop {
            let sent = self.pool.send_once(async |client| {
                let done = self.send_rewrite(client, uid, (&before, &after), logs).await;
                if done.is_err() {
                    // The connection is closed anyway; the rollback is for a pooler.
                    let _ = client.batch_execute("ROLLBACK").await;
                }
                done
            })?;
            match sent {
                Ok(true) => return Ok(Some(after)),
                Ok(false) => return Ok(None),
                Err(failure) if !failure.is_away => return Err(failure.into()),
                Err(failure) => {
                    log::warn!(
                        "an erasure had no answer and is settled: {}",
                        failure.error.cause_chain()
                    )
                }
            }
            let now = self.raise_fence()?;
            after.fence = now.fence;
            if now.generation == generation {
                return Ok(Some(now));
            }
            if !now.has_same_logs(&before) {
                return Ok(None);
            }
            before = now;
        }
    }

    async fn send_rewrite(
        &self,
        client: &Client,
        uid: i64,
        (before, after): (&SeenLogs, &SeenLogs),
        logs: &[LineLog; 3],
    ) -> Result<bool, DatabaseFailure> {
        client.batch_execute("BEGIN").await?;
        let mut values = Vec::new();
        for end in after.ends {
            values.extend([stored_number(end.bytes), stored_number(end.lines), i64::from(end.crc)]);
        }
        values.extend([
            stored_number(after.generation),
            uid,
            stored_number(before.generation),
            before.fence,
        ]);
        for end in before.ends {
            values.extend([stored_number(end.bytes), i64::from(end.crc)]);
        }
        let typed: Values<'_> =
            values.iter().map(|value| (value as &(dyn ToSql + Sync), Type::INT8)).collect();
        if client.execute_typed(&self.statements.rewrite, &typed).await? == 0 {
            client.batch_execute("ROLLBACK").await?;
            return Ok(false);
        }
        for (kind, log) in LogKind::ALL.into_iter().zip(logs) {
            let Some(first) = log.changed_from else { continue };
            let kind = kind as i16;
            let number = stored_number(first as u64 + 1);
            let values =
                [(&uid as _, Type::INT8), (&kind as _, Type::INT2), (&number as _, Type::INT8)];
            client.execute_typed(&self.statements.cut, &values).await?;
            let mut end =
                log.lines[..first].iter().fold(LogEnd::default(), |end, line| end.after_line(line));
            let (mut columns, mut bytes) = (LineColumns::default(), 0);
            for line in &log.lines[first..] {
                let text = std::str::from_utf8(line).map_err(|error| {
                    DatabaseFailure::lasting(
                        Error::internal("a line is not UTF-8").caused_by(error),
                    )
                })?;
                end = columns.push_line(end, text);
                bytes += text.len();
                if bytes >= INSERT_BYTES {
                    self.insert_lines(client, uid, kind, &columns).await?;
                    (columns, bytes) = (LineColumns::default(), 0);
                }
            }
            self.insert_lines(client, uid, kind, &columns).await?;
        }
        client.execute_typed(&self.statements.drop_uses, &[(&uid as _, Type::INT8)]).await?;
        client.batch_execute("COMMIT").await?;
        Ok(true)
    }

    async fn insert_lines(
        &self,
        client: &Client,
        uid: i64,
        kind: i16,
        columns: &LineColumns<'_>,
    ) -> Result<(), DatabaseFailure> {
        if columns.lines.is_empty() {
            return Ok(());
        }
        let mut values = with_columns(columns);
        values.push((&uid, Type::INT8));
        values.push((&kind, Type::INT2));
        client.execute_typed(&self.statements.insert, &values).await?;
        Ok(())
    }

    /// Removes every row of the user; returns the number of rows.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub fn delete_rows(&self) -> Result<usize> {
        // Idempotent, so it may be repeated.
        self.pool.repeat_request(async |client| {
            client.batch_execute("BEGIN").await?;
            let row = client
                .query_typed_opt(&self.statements.forget_user, &self.who.sql_parameters())
                .await?;
            let mut rows = 0;
            if let Some(row) = row {
                let uid: i64 = row.try_get(0)?;
                rows = 1;
                // Each statement sees the rows of transactions for which an earlier statement had
                // to wait.
                for statement in &self.statements.forget {
                    rows += client.execute_typed(statement, &[(&uid as _, Type::INT8)]).await?;
                }
            }
            client.batch_execute("COMMIT").await?;
            Ok(usize::try_from(rows).unwrap_or(usize::MAX))
        })
    }
}

/// The error if the logs contain less than was acknowledged.
pub(crate) fn rolled_back(user: &str) -> Error {
    Error::new(
        ErrorKind::StoreRolledBack,
        format!("the database lacks what it had acknowledged for a user: `{user}`"),
    )
    .with_hint(
        "a standby was promoted before it had received everything, or a backup was restored; \
         nothing was overwritten, and the next call goes on with what the database has",
    )
}
