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
use crate::rows::{RowOwner, SeenLogs, id_of, int, stored};
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
        let state = schema::prepare(&pool, mode)?;
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
    pub fn look(address: StoreAddress) -> Result<SchemaState> {
        schema::look(&*ConnectionPool::new(address)?)
    }

    /// Creates the tables or migrates them to the current version; returns the previous version.
    ///
    /// # Errors
    /// `StoreUnavailable`; `ReadOnly` if the role lacks the right; `UnsupportedFormat` for newer
    /// tables.
    pub fn migrate(address: StoreAddress) -> Result<i32> {
        schema::migrate(&*ConnectionPool::new(address)?)
    }

    /// The processes that have the store open for writing.
    ///
    /// # Errors
    /// `StoreUnavailable`; `UnsupportedFormat` if the tables are missing.
    pub fn nodes(address: StoreAddress) -> Result<Vec<StoreNode>> {
        nodes::all(&*ConnectionPool::new(address)?)
    }

    /// Lets a database role read one tenant of a store, through SQL and through this package.
    ///
    /// # Errors
    /// `InvalidInput` if the role does not exist; `ReadOnly` if the caller's role may not grant;
    /// `StoreUnavailable`.
    pub fn grant(address: StoreAddress, role: &str, tenant: &str) -> Result<()> {
        rights::grant(&*ConnectionPool::new(address)?, role, &stored(tenant))
    }

    /// Revokes a role's right to read a tenant.
    ///
    /// # Errors
    /// As [`PgLogs::grant`].
    pub fn revoke(address: StoreAddress, role: &str, tenant: &str) -> Result<()> {
        rights::revoke(&*ConnectionPool::new(address)?, role, &stored(tenant))
    }

    /// Rewrites the tables of a store without the deleted rows.
    ///
    /// # Errors
    /// `StoreUnavailable`; `ReadOnly` if the role lacks the right.
    pub fn purge(address: StoreAddress) -> Result<PurgeReport> {
        purge::purge(&*ConnectionPool::new(address)?)
    }

    /// The state of the database at opening.
    pub fn state(&self) -> &SchemaState {
        &self.state
    }

    fn target(&self, owner: &Owner) -> WriteTarget<'_> {
        WriteTarget { pool: &self.pool, statements: &self.statements, who: RowOwner::of(owner) }
    }
}

impl LogStore for PgLogs {
    fn open(&self, owner: &Owner) -> Result<(Box<dyn UserLogs>, LogHead)> {
        let who = RowOwner::of(owner);
        let (epoch, seen) = if self.mode == OpenMode::ReadWrite {
            self.pool.repeat(async |client| {
                let row = client.query_typed_one(&self.statements.open, &who.values()).await?;
                Ok((row.try_get::<_, i64>(0)?.unsigned_abs(), SeenLogs::read(&row, 1)?))
            })?
        } else {
            (0, self.target(owner).look()?)
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
        Ok((Box::new(logs), seen.head(epoch)))
    }

    fn users(&self, tenant: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        let (tenant, after) = (stored(tenant), stored(after.unwrap_or_default()));
        let limit = int(limit as u64);
        self.pool.repeat(async |client| {
            let values =
                [(&tenant as _, Type::TEXT), (&after as _, Type::TEXT), (&limit as _, Type::INT8)];
            let rows = client.query_typed(&self.statements.users, &values).await?;
            Ok(rows.iter().map(|row| row.try_get(0).map(id_of)).collect::<Result<_, _>>()?)
        })
    }

    fn erase(&self, owner: &Owner) -> Result<usize> {
        self.target(owner).forget()
    }

    fn tenants(&self) -> Result<Vec<String>> {
        self.pool.repeat(async |client| {
            let rows = client.query_typed(&self.statements.tenants, &[]).await?;
            Ok(rows.iter().map(|row| row.try_get(0).map(id_of)).collect::<Result<_, _>>()?)
        })
    }

    fn has(&self, owner: &Owner) -> Result<bool> {
        Ok(!self.ends(owner)?.is_nobody())
    }

    fn ends(&self, owner: &Owner) -> Result<LogEnds> {
        let seen = self.target(owner).look()?;
        let number = seen.uid.unwrap_or_default().unsigned_abs();
        let files = seen.ends.map(|end| (end.bytes > 0).then_some((end.bytes, number)));
        Ok(LogEnds { generation: seen.generation, files })
    }

    fn generations(&self, tenant: &str, users: &[String]) -> Result<Vec<Option<u64>>> {
        let tenant = stored(tenant);
        let asked: Vec<String> = users.iter().map(|user| stored(user)).collect();
        self.pool.repeat(async |client| {
            let values = [(&tenant as _, Type::TEXT), (&asked as _, Type::TEXT_ARRAY)];
            let mut found = vec![None; users.len()];
            for row in client.query_typed(&self.statements.generations, &values).await? {
                let place: i64 = row.try_get(0)?;
                found[place as usize - 1] = Some(row.try_get::<_, i64>(1)?.unsigned_abs());
            }
            Ok(found)
        })
    }

    fn slice(&self, owner: &Owner, kind: LogKind, from: u64, most: u64) -> Result<Vec<u8>> {
        let who = RowOwner::of(owner);
        let (mut at, mut start, mut bytes) = (from, None, Vec::new());
        loop {
            let skipped = start.map_or(0, |start| from - start);
            let left = (most + skipped).saturating_sub(bytes.len() as u64);
            if left == 0 || most == 0 {
                break;
            }
            let lines = int((left / 64 + 2).clamp(2, 2_000));
            let rows = self.pool.repeat(async |client| {
                let number = kind as i16;
                let [tenant, user] = who.values();
                let values = [
                    tenant,
                    user,
                    (&number as _, Type::INT2),
                    (&int(at) as _, Type::INT8),
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

    fn uses(&self, owner: &Owner) -> Result<(Vec<u8>, u64)> {
        let who = RowOwner::of(owner);
        self.pool.repeat(async |client| {
            let row = client.query_typed_opt(&self.statements.uses, &who.values()).await?;
            let Some(row) = row else { return Ok((Vec::new(), 0)) };
            Ok((row.try_get(0)?, row.try_get::<_, i64>(1)?.unsigned_abs()))
        })
    }

    fn put_uses(&self, owner: &Owner, bytes: &[u8], number: u64) -> Result<bool> {
        if number == 0 && bytes.is_empty() || self.target(owner).look()?.uid.is_none() {
            return Ok(true);
        }
        let who = RowOwner::of(owner);
        let sent = self.pool.once(async |client| {
            let [tenant, user] = who.values();
            let values =
                [tenant, user, (&bytes as _, Type::BYTEA), (&int(number) as _, Type::INT8)];
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
        self.pool.repeat(async |client| {
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

    fn leave(&self) {
        if let Some(presence) = &self.presence {
            presence.end(&self.pool);
        }
    }

    fn medium(&self) -> LogMedium {
        LogMedium {
            name: "postgresql",
            place: PathBuf::from(self.pool.address().shown()),
            version: Some(self.state.server_version.clone()),
            failure: self.pool.failure(),
        }
    }
}
