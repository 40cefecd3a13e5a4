//! The list of processes that have a store open for writing. For information only.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use episodica_core::Result;
use episodica_core::store::LockHolder;
use tokio::task::AbortHandle;
use tokio_postgres::types::Type;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;

/// Interval at which a process updates its row.
const BEAT: Duration = Duration::from_secs(20);
/// A process without an update for this many seconds is reported as silent.
const SILENT_SECONDS: f64 = 60.0;
/// The row of a process that died is removed after this many days.
const KEPT_DAYS: i32 = 7;

/// A process that has opened the store for writing and not closed it yet.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreNode {
    /// Identification of the process; `None` if the row was written by another version.
    pub holder: Option<LockHolder>,
    /// The process's version of the package.
    pub version: String,
    /// Time at which it opened the store, in RFC 3339.
    pub opened_at: String,
    /// Seconds since its last update.
    pub silent_seconds: f64,
    /// True if an update is overdue: the process was killed, stopped, or has lost the connection.
    pub is_silent: bool,
}

/// This process's entry in the list, until [`NodePresence::end`].
#[derive(Debug)]
pub(crate) struct NodePresence {
    node: String,
    schema: String,
    beat: Mutex<Option<AbortHandle>>,
}

impl NodePresence {
    /// Adds this process to the list and keeps its row updated.
    ///
    /// # Errors
    /// `StoreUnavailable`.
    pub fn begin(pool: &Arc<ConnectionPool>, schema: &str, holder: &str) -> Result<Self> {
        let old = format!(
            "DELETE FROM {schema}.nodes WHERE seen_at < now() - make_interval(days => {KEPT_DAYS})"
        );
        let enter =
            format!("INSERT INTO {schema}.nodes (holder, version) VALUES ($1, $2) RETURNING node");
        let version = env!("CARGO_PKG_VERSION");
        let node: String = pool.repeat_request(async |client| {
            client.execute_typed(&old, &[]).await?;
            let values = [(&holder as _, Type::TEXT), (&version as _, Type::TEXT)];
            Ok(client.query_typed_one(&enter, &values).await?.try_get(0)?)
        })?;
        // The row may have been removed while this process was stopped for long.
        let again = format!(
            "INSERT INTO {schema}.nodes (node, holder, version) VALUES ($1, $2, $3) \
             ON CONFLICT (node) DO UPDATE SET seen_at = now()"
        );
        let values = vec![node.clone(), holder.to_owned(), version.to_owned()];
        let beat = Mutex::new(Some(pool.send_regularly(BEAT, again, values)));
        Ok(Self { node, schema: schema.to_owned(), beat })
    }

    /// Removes this process from the list, if the database answers soon.
    pub fn end(&self, pool: &ConnectionPool) {
        let Some(beat) = self.beat.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        beat.abort();
        let text = format!("DELETE FROM {}.nodes WHERE node = $1", self.schema);
        // If this fails, the row becomes that of a silent node and is removed after some days.
        let _ = pool.send_briefly(async |client| {
            client.execute_typed(&text, &[(&self.node as _, Type::TEXT)]).await?;
            Ok(())
        });
    }
}

/// All nodes, oldest first.
///
/// # Errors
/// `StoreUnavailable`.
pub(crate) fn list_nodes(pool: &ConnectionPool) -> Result<Vec<StoreNode>> {
    let text = format!(
        "SELECT holder, version, to_char(opened_at AT TIME ZONE 'UTC', \
         'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), extract(epoch FROM now() - seen_at)::float8 \
         FROM {}.nodes ORDER BY opened_at, node",
        pool.address().schema
    );
    pool.repeat_request(async |client| {
        let rows = client.query_typed(&text, &[]).await?;
        let node = |row: &tokio_postgres::Row| -> Result<StoreNode, tokio_postgres::Error> {
            let (holder, silent_seconds): (String, f64) = (row.try_get(0)?, row.try_get(3)?);
            Ok(StoreNode {
                holder: serde_json::from_str(&holder).ok(),
                version: row.try_get(1)?,
                opened_at: row.try_get(2)?,
                silent_seconds,
                is_silent: silent_seconds > SILENT_SECONDS,
            })
        };
        Ok::<_, DatabaseFailure>(rows.iter().map(node).collect::<Result<_, _>>()?)
    })
}
