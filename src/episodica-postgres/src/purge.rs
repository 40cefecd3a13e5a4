//! Removes what the database keeps of deleted rows.
//!
//! A deleted row stays in its table's file until it is vacuumed, and in the write-ahead log until
//! the segment is gone. So an erasure proves that no query finds the text; this proves that the
//! files of the tables lack it, too.

use episodica_core::Result;

use crate::failure::Failure;
use crate::pool::Pool;

/// What a purge did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purged {
    /// Tables that were written anew, without what was deleted.
    pub tables: Vec<String>,
    /// Bytes of those tables before and after, with their indexes.
    pub bytes: [u64; 2],
    /// True if the write-ahead log was moved on, so that the server may remove or overwrite what it
    /// holds of the deleted rows.
    pub is_log_moved_on: bool,
}

/// Writes anew every table that had rows deleted. Each is locked meanwhile, one at a time.
///
/// # Errors
/// `StoreUnavailable`, also for a table that takes longer than the deadline; `ReadOnly`.
pub(crate) fn purge(pool: &Pool) -> Result<Purged> {
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
        Ok::<_, Failure>(rows.iter().map(read).collect::<Result<Vec<_>, _>>()?)
    })?;
    let mut purged = Purged::default();
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
    // The log's present segment still names the rows; a role that may not move it on leaves it.
    purged.is_log_moved_on = pool
        .patiently(async |client| {
            for _ in 0..2 {
                client.batch_execute("SELECT pg_switch_wal()").await?;
                client.batch_execute("CHECKPOINT").await?;
            }
            Ok(())
        })
        .is_ok();
    Ok(purged)
}
