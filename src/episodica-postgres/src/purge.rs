//! Removes the remains of deleted rows from the database's files.
//!
//! A deleted row stays in its table's file until the space is used again, and in the write-ahead
//! log until the segment is overwritten. An erasure only guarantees that no query finds the text; a
//! purge guarantees that the tables' files do not contain it either.

use episodica_core::Result;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;

/// The result of a purge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Tables that were rewritten without the deleted rows.
    pub tables: Vec<String>,
    /// Size of these tables with their indexes before and after, in bytes.
    pub bytes: [u64; 2],
    /// True if the server's write-ahead log was overwritten too, which requires a superuser.
    pub is_log_moved_on: bool,
}

/// Rewrites every table that may have had rows deleted. Locks one table at a time.
///
/// # Errors
/// `StoreUnavailable`; `ReadOnly` if the role lacks the right.
pub(crate) fn purge_deleted(pool: &ConnectionPool) -> Result<PurgeReport> {
    let schema = &pool.address().schema;
    let find = format!(
        "SELECT c.relname::text, pg_total_relation_size(c.oid) FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{schema}' AND c.relkind = 'r' AND \
         (c.relname LIKE 'log\\_%' OR c.relname IN ('users', 'uses', 'requests')) \
         AND pg_total_relation_size(c.oid) > 0 ORDER BY 1"
    );
    let found = pool.repeat_request(async |client| {
        let rows = client.query_typed(&find, &[]).await?;
        let read = |row: &tokio_postgres::Row| -> Result<_, tokio_postgres::Error> {
            Ok((row.try_get::<_, String>(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
        };
        Ok::<_, DatabaseFailure>(rows.iter().map(read).collect::<Result<Vec<_>, _>>()?)
    })?;
    let mut purged = PurgeReport::default();
    for (table, before) in found {
        let (text, size) = (
            format!("VACUUM (FULL) {schema}.{table}"),
            format!("SELECT pg_total_relation_size('{schema}.{table}'::regclass)"),
        );
        let after: i64 = pool.send_without_deadline(async |client| {
            client.batch_execute(&text).await?;
            Ok(client.query_typed_one(&size, &[]).await?.try_get(0)?)
        })?;
        purged.tables.push(table);
        purged.bytes[0] += before;
        purged.bytes[1] += after.unsigned_abs();
    }
    purged.is_log_moved_on = match move_log_on(pool) {
        Ok(()) => true,
        Err(error) => {
            log::info!("the write-ahead log was not overwritten: {}", error.cause_chain());
            false
        }
    };
    Ok(purged)
}

/// Overwrites the segments of the write-ahead log that contain the deleted rows. After a checkpoint
/// the server renames old segments for reuse without clearing them; switching a segment early fills
/// the rest with zeros.
fn move_log_on(pool: &ConnectionPool) -> Result<()> {
    // The server does not switch from an empty segment, so each gets a record first.
    let leave = "SELECT pg_logical_emit_message(false, 'episodica', ''); SELECT pg_switch_wal()";
    pool.send_without_deadline(async |client| {
        client.batch_execute(leave).await?;
        client.batch_execute("CHECKPOINT").await?;
        let row = client.query_typed_one("SELECT count(*) FROM pg_ls_waldir()", &[]).await?;
        for _ in 0..=row.try_get::<_, i64>(0)? {
            client.batch_execute(leave).await?;
        }
        client.batch_execute("CHECKPOINT").await?;
        Ok(())
    })
}
