//! The tables and their versions.

use episodica_core::store::OpenMode;
use episodica_core::{Error, ErrorKind, Result};
use tokio_postgres::types::Type;

use crate::failure::DatabaseFailure;
use crate::pool::ConnectionPool;

/// The version of the tables that this package reads and writes.
pub const SCHEMA_VERSION: i32 = MIGRATIONS.len() as i32;

/// The scripts that migrate each version to the next; the first one creates the tables. `{s}` is
/// the schema. A released migration is never changed.
const MIGRATIONS: [&str; 3] =
    [include_str!("../sql/1.sql"), include_str!("../sql/2.sql"), include_str!("../sql/3.sql")];

/// The state of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaState {
    /// The server's version.
    pub server_version: String,
    /// The version of the tables; 0 = none.
    pub schema_version: i32,
    /// The id of the store, which never changes; empty without tables.
    pub identity: String,
    /// Settings with which an acknowledged write may be lost.
    pub unsafe_settings: Vec<String>,
    /// True if the server is read-only.
    pub is_standby: bool,
    /// True if this role may create the tables.
    pub may_create: bool,
    /// Size of the tables and their indexes, in bytes.
    pub bytes: u64,
}

/// Inspects the server and its tables.
///
/// # Errors
/// `StoreUnavailable`; `Config` for a database that does not use UTF-8.
pub(crate) fn inspect_schema(pool: &ConnectionPool) -> Result<SchemaState> {
    let schema = &pool.address().schema;
    let text = "SELECT current_setting('server_version'), current_setting('server_encoding'), \
                current_setting('fsync'), current_setting('full_page_writes'), \
                current_setting('synchronous_commit'), pg_is_in_recovery(), \
                to_regclass($1) IS NOT NULL, \
                has_database_privilege(current_database(), 'CREATE'), \
                current_setting('server_version_num')::int4";
    let table = format!("{schema}.meta");
    let (state, encoding, is_there, number) = pool.repeat_request(async |client| {
        let row = client.query_typed_one(text, &[(&table, Type::TEXT)]).await?;
        let said = |at: usize| row.try_get::<_, String>(at);
        let names = ["fsync", "full_page_writes", "synchronous_commit"];
        let mut unsafe_settings = Vec::new();
        for (at, name) in names.into_iter().enumerate() {
            if said(2 + at)? == "off" {
                unsafe_settings.push(name.to_owned());
            }
        }
        let state = SchemaState {
            server_version: said(0)?,
            schema_version: 0,
            identity: String::new(),
            unsafe_settings,
            is_standby: row.try_get(5)?,
            may_create: row.try_get(7)?,
            bytes: 0,
        };
        let number: i32 = row.try_get(8)?;
        Ok((state, said(1)?, row.try_get::<_, bool>(6)?, number))
    })?;
    if encoding != "UTF8" {
        let message = format!("the database must use UTF8: `{encoding}`");
        return Err(Error::new(ErrorKind::Config, message)
            .with_hint("create one with `createdb --encoding UTF8 --template template0`"));
    }
    if number < 150_000 {
        let message = format!("PostgreSQL 15 or newer is needed: `{}`", state.server_version);
        return Err(Error::new(ErrorKind::UnsupportedFormat, message));
    }
    if !is_there {
        return Ok(state);
    }
    let text = format!(
        "SELECT m.version, m.identity, (SELECT sum(pg_total_relation_size(c.oid))::int8 FROM \
         pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = '{schema}' AND c.relkind = 'r') FROM {schema}.meta m"
    );
    let (schema_version, identity, bytes) = pool.repeat_request(async |client| {
        let row = client.query_typed_one(&text, &[]).await?;
        Ok((row.try_get(0)?, row.try_get(1)?, row.try_get::<_, i64>(2)?.unsigned_abs()))
    })?;
    Ok(SchemaState { schema_version, identity, bytes, ..state })
}

/// Creates the tables or migrates them to the current version; returns the previous version.
///
/// # Errors
/// `StoreUnavailable`; `ReadOnly` if the role lacks the right; `UnsupportedFormat` for newer
/// tables.
pub(crate) fn migrate_tables(pool: &ConnectionPool) -> Result<i32> {
    let before = inspect_schema(pool)?;
    check_version(before.schema_version)?;
    if before.schema_version == SCHEMA_VERSION {
        return Ok(SCHEMA_VERSION);
    }
    let schema = &pool.address().schema;
    let steps = &MIGRATIONS[before.schema_version.max(0) as usize..];
    // One transaction under a lock, so that a partial migration is never visible. A second process,
    // or a retry after a lost answer, fails here and finds the migration done.
    let mut script = String::from("BEGIN; SELECT pg_advisory_xact_lock(hashtext('episodica'));");
    if before.schema_version > 0 {
        script.push_str(&format!(
            "DO $$ BEGIN IF (SELECT version FROM {schema}.meta) <> {} THEN RAISE \
             'migrated meanwhile'; END IF; END $$;",
            before.schema_version
        ));
    }
    for step in steps {
        script.push_str(&step.replace("{s}", schema));
    }
    script.push_str(&format!("UPDATE {schema}.meta SET version = {SCHEMA_VERSION}; COMMIT"));
    let outcome = pool.repeat_request(async |client| {
        client.batch_execute(&script).await.map_err(DatabaseFailure::from)
    });
    match outcome {
        Ok(()) => Ok(before.schema_version),
        Err(error) if inspect_schema(pool)?.schema_version == SCHEMA_VERSION => {
            log::debug!("the tables were made before: {}", error.cause_chain());
            Ok(before.schema_version)
        }
        Err(error) => Err(error),
    }
}

fn check_version(version: i32) -> Result<()> {
    if version > SCHEMA_VERSION {
        let message = format!(
            "the store has tables of version {version}; this version of episodica reads up to \
             `{SCHEMA_VERSION}`"
        );
        return Err(Error::new(ErrorKind::UnsupportedFormat, message).with_hint("update episodica"));
    }
    Ok(())
}

/// Checks that the store can be opened; creates the tables if they are missing.
///
/// # Errors
/// `UnsupportedFormat` for tables of another version; `Config` for a server that may lose
/// acknowledged writes; `StoreUnavailable`, also for a standby.
pub(crate) fn prepare_schema(pool: &ConnectionPool, mode: OpenMode) -> Result<SchemaState> {
    let mut state = inspect_schema(pool)?;
    check_version(state.schema_version)?;
    if mode == OpenMode::ReadWrite {
        if state.is_standby {
            let message = "the server is a read-only standby";
            return Err(Error::new(ErrorKind::StoreUnavailable, message).with_hint(
                "name the primary, or all servers with target_session_attrs=read-write",
            ));
        }
        if let Some(name) = state.unsafe_settings.first() {
            let message =
                format!("the database may lose what it has acknowledged: `{name}` is off");
            return Err(Error::new(ErrorKind::Config, message)
                .with_hint("set fsync, full_page_writes and synchronous_commit to on"));
        }
        if state.schema_version == 0 && state.may_create {
            migrate_tables(pool)?;
            state = inspect_schema(pool)?;
        }
    }
    match state.schema_version {
        SCHEMA_VERSION => Ok(state),
        0 => Err(Error::new(ErrorKind::UnsupportedFormat, "the database has no store")
            .with_hint("run `episodica store init` as a role that may create a schema")),
        version => {
            let message = format!(
                "the store has tables of version {version}, this version of episodica needs \
                 `{SCHEMA_VERSION}`"
            );
            Err(Error::new(ErrorKind::UnsupportedFormat, message)
                .with_hint("stop older nodes, back up, and run `episodica store migrate`"))
        }
    }
}
