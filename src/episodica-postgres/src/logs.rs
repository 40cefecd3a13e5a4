//! The logs of all users in the database.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use episodica_core::ids::Owner;
use episodica_core::store::log_store::LogHead;
use episodica_core::store::{
    KnownRequest, LockHolder, LogEnds, LogKind, LogMedium, LogStore, OpenMode, RequestNote,
    RequestStep, UserLogs,
};
use episodica_core::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

use crate::address::StoreAddress;
use crate::nodes::{self, NodePresence, StoreNode};
use crate::pool::ConnectionPool;
use crate::purge::{self, PurgeReport};
use crate::rights;
use crate::rows::{RowOwner, SeenLogs, id_of, stored_id, stored_number};
use crate::schema::{self, SchemaState};
use crate::statements::SqlTexts;
use crate::user_logs::{self, PgUserLogs};
use crate::writing::WriteTarget;

/// A database that contains the logs of a store.
#[derive(Debug)]
pub struct PgLogs {
    pool: Arc<ConnectionPool>,
    statements: Arc<SqlTexts>,
    mode: OpenMode,
    state: SchemaState,
    holder: Arc<str>,
    /// This process's entry in the list of nodes; `None` if it only reads.
    presence: Option<NodePresence>,
}

impl PgLogs {
    /// Connects to a store; creates its tables if they are missing and the role may create them.
    ///
    /// # Errors
    /// `StoreUnavailable`, also if a standby is opened for writing; `UnsupportedFormat` for tables
    /// of another version; `Config` for a server that may lose acknowledged writes.
    pub fn open(address: StoreAddress, mode: OpenMode, holder: &LockHolder) -> Result<Self> {
        let statements = Arc::new(SqlTexts::new(&address.schema));
        let pool = ConnectionPool::new(address)?;
        let state = schema::prepare_schema(&pool, mode)?;
        let holder = serde_json::to_string(holder).unwrap_or_default();
        let presence = match mode {
            OpenMode::ReadWrite => Some(NodePresence::begin(&pool, &statements.schema, &holder)?),
            OpenMode::ReadOnly => None,
        };
        Ok(Self { pool, statements, mode, state, holder: holder.into(), presence })
    }

    /// Inspects a database without opening a store.
    ///
    /// # Errors
    /// `StoreUnavailable`; `Config` for a database that does not use UTF-8.
    pub fn inspect_database(address: StoreAddress) -> Result<SchemaState> {
        schema::inspect_schema(&*ConnectionPool::new(address)?)
    }

    /// Creates the tables or migrates them to the current version; returns the previous version.
    ///
    /// # Errors
    /// `StoreUnavailable`; `ReadOnly` if the role lacks the right; `UnsupportedFormat` for newer
    /// tables.
    pub fn migrate_tables(address: StoreAddress) -> Result<i32> {
        schema::migrate_tables(&*ConnectionPool::new(address)?)
    }

    /// The processes that have the store open for writing.
    ///
    /// # Errors
    /// `StoreUnavailable`; `UnsupportedFormat` if the tables are missing.
    pub fn list_nodes(address: StoreAddress) -> Result<Vec<StoreNode>> {
        nodes::list_nodes(&*ConnectionPool::new(address)?)
    }

    /// Lets a database role read one tenant of a store, through SQL and through this package.
    ///
    /// # Errors
    /// `InvalidInput` if the role does not exist; `ReadOnly` if the caller's role may not grant;
    /// `StoreUnavailable`.
    pub fn grant_tenant(address: StoreAddress, role: &str, tenant: &str) -> Result<()> {
        rights::grant_tenant(&*ConnectionPool::new(address)?, role, &stored_id(tenant))
    }

    /// Revokes a role's right to read a tenant.
    ///
    /// # Errors
    /// As [`PgLogs::grant_tenant`].
    pub fn revoke_tenant(address: StoreAddress, role: &str, tenant: &str) -> Result<()> {
        rights::revoke_tenant(&*ConnectionPool::new(address)?, role, &stored_id(tenant))
    }

    /// Rewrites the tables of a store without the deleted rows.
    ///
    /// # Errors
    /// `StoreUnavailable`; `ReadOnly` if the role lacks the right.
    pub fn purge_deleted(address: StoreAddress) -> Result<PurgeReport> {
        purge::purge_deleted(&*ConnectionPool::new(address)?)
    }

    /// The state of the database at opening.
    pub fn schema_state(&self) -> &SchemaState {
        &self.state
    }

    fn write_target(&self, owner: &Owner) -> WriteTarget<'_> {
        WriteTarget {
            pool: &self.pool,
            statements: &self.statements,
            who: RowOwner::from_owner(owner),
        }
    }
}

impl LogStore for PgLogs {
    fn open_logs(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)> {
        let who = RowOwner::from_owner(owner);
        let (epoch, seen) = if self.mode == OpenMode::ReadWrite {
            self.pool.repeat_request(async |client| {
                let row =
                    client.query_typed_one(&self.statements.open, &who.sql_parameters()).await?;
                Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), SeenLogs::from_row(&row, 1)?))
            })?
        } else {
            (0, self.write_target(owner).read_state()?)
        };
        let logs = PgUserLogs {
            owner: owner.clone(),
            who,
            pool: Arc::clone(&self.pool),
            statements: Arc::clone(&self.statements),
            mode: self.mode,
            epoch,
            holder: Arc::clone(&self.holder),
            state: Mutex::new(user_logs::OpeningState { seen, looked: None, missed: None }),
        };
        Ok((Box::new(logs), seen.head_at_epoch(epoch)))
    }

    fn list_users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let (tenant, after) = (stored_id(tenant), stored_id(after.unwrap_or_default()));
        let limit = stored_number(limit as u64);
        self.pool.repeat_request(async |client| {
            let values =
                [(&tenant as _, Type::TEXT), (&after as _, Type::TEXT), (&limit as _, Type::INT8)];
            let rows = client.query_typed(&self.statements.users, &values).await?;
            Ok(rows.iter().map(|row| row.try_get(0).map(id_of)).collect::<Result<_, _>>()?)
        })
    }

    fn erase_user(&self, owner: &Owner) -> Result<usize> {
        self.write_target(owner).delete_rows()
    }

    fn list_tenants(&self) -> Result<Vec<String>> {
        self.pool.repeat_request(async |client| {
            let rows = client.query_typed(&self.statements.tenants, &[]).await?;
            Ok(rows.iter().map(|row| row.try_get(0).map(id_of)).collect::<Result<_, _>>()?)
        })
    }

    fn has_user(&self, owner: &Owner) -> Result<bool> {
        Ok(!self.log_ends(owner)?.is_nobody())
    }

    fn log_ends(&self, owner: &Owner) -> Result<LogEnds> {
        let seen = self.write_target(owner).read_state()?;
        let number = seen.uid.unwrap_or_default().unsigned_abs();
        let files = seen.ends.map(|end| (end.bytes > 0).then_some((end.bytes, number)));
        Ok(LogEnds { generation: seen.generation, files })
    }

    fn log_generations(&self, tenant: &str, users: &[String]) -> Result<Vec<Option<u64>>> {
        let tenant = stored_id(tenant);
        let asked: Vec<String> = users.iter().map(|user| stored_id(user)).collect();
        self.pool.repeat_request(async |client| {
            let values = [(&tenant as _, Type::TEXT), (&asked as _, Type::TEXT_ARRAY)];
            let mut found = vec![None; users.len()];
            for row in client.query_typed(&self.statements.generations, &values).await? {
                let place: i64 = row.try_get(0)?;
                found[place as usize - 1] = Some(row.try_get::<_, i64>(1)?.unsigned_abs());
            }
            Ok(found)
        })
    }

    fn read_slice(&self, owner: &Owner, kind: LogKind, from: u64, most: u64) -> Result<Vec<u8>> {
        let who = RowOwner::from_owner(owner);
        let (mut at, mut start, mut bytes) = (from, None, Vec::new());
        loop {
            let skipped = start.map_or(0, |start| from - start);
            let left = (most + skipped).saturating_sub(bytes.len() as u64);
            if left == 0 || most == 0 {
                break;
            }
            let lines = stored_number((left / 64 + 2).clamp(2, 2_000));
            let rows = self.pool.repeat_request(async |client| {
                let number = kind as i16;
                let [tenant, user] = who.sql_parameters();
                let values = [
                    tenant,
                    user,
                    (&number as _, Type::INT2),
                    (&stored_number(at) as _, Type::INT8),
                    (&lines as _, Type::INT8),
                ];
                let rows = client.query_typed(&self.statements.slice, &values).await?;
                let line = |row: &tokio_postgres::Row| -> Result<_, tokio_postgres::Error> {
                    Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), row.try_get::<_, String>(1)?))
                };
                Ok(rows.iter().map(line).collect::<Result<Vec<_>, _>>()?)
            })?;
            let is_all = (rows.len() as i64) < lines;
            for (upto, line) in rows {
                start.get_or_insert(upto - line.len() as u64 - 1);
                bytes.extend_from_slice(line.as_bytes());
                bytes.push(b'\n');
                at = upto;
            }
            if is_all {
                break;
            }
        }
        let skipped = start.map_or(0, |start| from - start) as usize;
        bytes.drain(..skipped.min(bytes.len()));
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(bytes)
    }

    fn is_erasing(&self, _: &Owner) -> Result<bool> {
        Ok(false)
    }

    fn read_uses(&self, owner: &Owner) -> Result<(Vec<u8>, u64)> {
        let who = RowOwner::from_owner(owner);
        self.pool.repeat_request(async |client| {
            let row = client.query_typed_opt(&self.statements.uses, &who.sql_parameters()).await?;
            let Some(row) = row else { return Ok((Vec::new(), 0)) };
            Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn put_uses(&self, owner: &Owner, bytes: &[u8], number: u64) -> Result<bool> {
        if number == 0 && bytes.is_empty() || self.write_target(owner).read_state()?.uid.is_none() {
            return Ok(true);
        }
        let who = RowOwner::from_owner(owner);
        let sent = self.pool.send_once(async |client| {
            let [tenant, user] = who.sql_parameters();
            let values = [
                tenant,
                user,
                (&bytes as _, Type::BYTEA),
                (&stored_number(number) as _, Type::INT8),
            ];
            Ok(client.execute_typed(&self.statements.put_uses, &values).await? > 0)
        })?;
        Ok(sent?)
    }

    fn note_request(&self, note: &RequestNote<'_>) -> Result<Option<KnownRequest>> {
        if self.mode == OpenMode::ReadOnly {
            return Err(Error::new(ErrorKind::ReadOnly, "the store was opened for reading only"));
        }
        let texts = &*self.statements;
        let (name, body) = ((&note.name as _, Type::BYTEA), (&note.body as _, Type::BYTEA));
        self.pool.repeat_request(async |client| {
            let row = match note.step {
                RequestStep::Begun => {
                    let values = [name.clone(), body.clone()];
                    client.query_typed_opt(&texts.request_begun, &values).await?
                }
                RequestStep::Done(outcome) => {
                    let values = [name.clone(), body.clone(), (&outcome as _, Type::TEXT)];
                    client.execute_typed(&texts.request_done, &values).await?;
                    client.query_typed_opt(&texts.request, &values[..1]).await?
                }
                RequestStep::Refused => {
                    let values = [name.clone()];
                    client.execute_typed(&texts.request_refused, &values).await?;
                    client.query_typed_opt(&texts.request, &values).await?
                }
            };
            let known = row.map(|row| -> Result<_, tokio_postgres::Error> {
                Ok(KnownRequest { body: row.try_get(0)?, outcome: row.try_get(1)? })
            });
            Ok(known.transpose()?)
        })
    }

    fn unregister_writer(&self) {
        if let Some(presence) = &self.presence {
            presence.end(&self.pool);
        }
    }

    fn log_medium(&self) -> LogMedium {
        LogMedium {
            name: "postgresql",
            place: PathBuf::from(self.pool.address().public_address()),
            version: Some(self.state.server_version.clone()),
            failure: self.pool.last_failure(),
        }
    }
}
