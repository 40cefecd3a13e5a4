//! Reads lines in pieces of bounded size.

use episodica_core::store::LogKind;
use episodica_core::{Error, ErrorKind, Result};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::pool::ConnectionPool;
use crate::rows::{LogEnd, stored_number};
use crate::statements::SqlTexts;

/// Number of bytes requested at a time; more if a line is longer.
const WINDOW_BYTES: u64 = 4 << 20;
/// Number of lines requested at a time.
const WINDOW_LINES: i64 = 5_000;

/// A range of one log, within one generation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogSpan {
    pub uid: i64,
    pub generation: u64,
    pub kind: LogKind,
    pub from: LogEnd,
    pub to: LogEnd,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadOutcome {
    Whole,
    /// The visitor rejected a line and stopped.
    Refused,
    /// The log does not contain the state at which the span begins.
    Discontinued,
    /// The log was rewritten meanwhile, or the user was deleted.
    Rewritten,
}

/// A line with its range of bytes.
pub(crate) struct ReadLine<'a> {
    pub start: u64,
    pub end: LogEnd,
    pub line: &'a str,
}

/// Calls `visit` with the lines of a span until it returns `false`.
///
/// # Errors
/// `StoreUnavailable`.
pub(crate) fn read_span(
    pool: &ConnectionPool,
    statements: &SqlTexts,
    span: &LogSpan,
    visit: &mut dyn FnMut(ReadLine<'_>) -> bool,
) -> Result<ReadOutcome> {
    let (mut at, mut window) = (span.from, WINDOW_BYTES);
    // Also requests the line that ends where the span begins, to compare its checksum.
    let mut anchor = (span.from.bytes > 0).then_some(span.from);
    while at.bytes < span.to.bytes || anchor.is_some() {
        let until = at.bytes.saturating_add(window).min(span.to.bytes.max(at.bytes));
        let from = if anchor.is_some() { at.bytes } else { at.bytes + 1 };
        let rows = read_window(pool, statements, span, [from, until])?;
        if rows.is_empty() {
            if !is_generation(pool, statements, span)? {
                return Ok(ReadOutcome::Rewritten);
            }
            if anchor.is_some() {
                return Ok(ReadOutcome::Discontinued);
            }
            if until >= span.to.bytes {
                return Err(lost_lines(span));
            }
            window = window.saturating_mul(8);
            continue;
        }
        for row in &rows {
            let (end, line) = line_of(row).map_err(|error| {
                Error::internal("a row has another form").caused_by(error.to_string())
            })?;
            if let Some(known) = anchor.take() {
                if end != known {
                    return Ok(ReadOutcome::Discontinued);
                }
                continue;
            }
            if !visit(ReadLine { start: at.bytes, end, line }) {
                return Ok(ReadOutcome::Refused);
            }
            at = end;
        }
        // The next line may be longer than the window.
        if rows.len() == 1 && at.bytes < span.to.bytes {
            window = window.saturating_mul(2);
        }
    }
    Ok(ReadOutcome::Whole)
}

/// The rows of the lines that end in a range of bytes, at most [`WINDOW_LINES`].
fn read_window(
    pool: &ConnectionPool,
    statements: &SqlTexts,
    span: &LogSpan,
    [from, until]: [u64; 2],
) -> Result<Vec<Row>> {
    pool.repeat_request(async |client| {
        let kind = span.kind as i16;
        let values = [
            (&span.uid as _, Type::INT8),
            (&kind as _, Type::INT2),
            (&stored_number(from) as _, Type::INT8),
            (&stored_number(until) as _, Type::INT8),
            (&stored_number(span.generation) as _, Type::INT8),
            (&WINDOW_LINES as _, Type::INT8),
        ];
        Ok(client.query_typed(&statements.chunk, &values).await?)
    })
}

fn line_of(row: &Row) -> Result<(LogEnd, &str), tokio_postgres::Error> {
    let whole = |at: usize| row.try_get::<_, i64>(at).map(i64::unsigned_abs);
    let end = LogEnd { bytes: whole(0)?, lines: whole(1)?, crc: whole(2)? as u32 };
    Ok((end, row.try_get(3)?))
}

fn is_generation(pool: &ConnectionPool, statements: &SqlTexts, span: &LogSpan) -> Result<bool> {
    let text =
        format!("SELECT 1 FROM {}.users WHERE uid = $1 AND generation = $2", statements.schema);
    pool.repeat_request(async |client| {
        let values =
            [(&span.uid as _, Type::INT8), (&stored_number(span.generation) as _, Type::INT8)];
        Ok(client.query_typed_opt(&text, &values).await?.is_some())
    })
}

fn lost_lines(span: &LogSpan) -> Error {
    Error::new(
        ErrorKind::CorruptStore,
        format!("rows of the {} of a user are missing in the database", span.kind.name()),
    )
    .with_hint("run `episodica verify`; restore the database from a backup")
}
