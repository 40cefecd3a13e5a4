//! Removes what the database keeps of deleted rows.
//!
//! A deleted row stays in its table's file until it is vacuumed, and in the write-ahead log until
//! the segment is gone. So an erasure proves that no query finds the text; this proves that the
//! files of the tables lack it, too.

use episodica_core::Result;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;

/// What a purge did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Tables that were written anew, without what was deleted.
    pub tables: Vec<String>,
    /// Bytes of those tables before and after, with their indexes.
    pub bytes: [u64; 2],
    /// True if the write-ahead log on the server was overwritten, too, which a superuser may.
    pub is_log_moved_on: bool,
}

/// Writes anew every table that had rows deleted. Each is locked meanwhile, one at a time.
///
/// # Errors
/// `StoreUnavailable`, also for a table that takes longer than the deadline; `ReadOnly`.
pub(crate) fn purge(pool: &ConnectionPool) -> Result<PurgeReport> {
    let schema = &pool.address().schema;
    let find = format!(
        "SELECT c.relname::text, pg_total_relation_size(c.oid) FROM pg_class c \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{schema}' AND c.relkind = 'r' AND \
         (c.relname LIKE 'log\\_%' OR c.relname IN ('users', 'uses')) \
         AND pg_total_relation_size(c.oid) > 0 ORDER BY 1"
    );
    let found = pool.repeat(async |client| {
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
        let after: i64 = pool.patiently(async |client| {
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
            log::info!("the write-ahead log stays where it is: {}", error.chain());
            false
        }
    };
    Ok(purged)
}

/// Overwrites the segments of the write-ahead log that name the deleted rows. After a checkpoint
/// the server keeps them, with their bytes, under the names of segments to come; leaving a segment
/// early fills it with zeros.
fn move_log_on(pool: &ConnectionPool) -> Result<()> {
    // A segment without a record is not left.
    let leave = "SELECT pg_logical_emit_message(false, 'episodica', ''); SELECT pg_switch_wal()";
    pool.patiently(async |client| {
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
