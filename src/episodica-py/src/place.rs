//! The location of a store: a directory, or a database with a cache directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use episodica_core::clock::{Clock, SystemClock};
use episodica_core::ids::Owner;
use episodica_core::store::{
    FileBackend, LockHolder, LogStore, OpenMode, RealBackend, Store, copy_user,
};
use episodica_core::{Error, ErrorKind, Result};
use episodica_postgres::{PgLogs, SCHEMA_VERSION, SchemaState, StoreAddress, StoreNode};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::control::PythonControl;
use crate::errors;

/// A location that is ready to be opened.
pub(crate) struct StorePlace {
    pub path: PathBuf,
    pub backend: Arc<dyn FileBackend>,
    pub logs: Option<Arc<dyn LogStore>>,
}

impl StorePlace {
    /// Connects to the database if `place` is one; `caches` is this machine's cache directory.
    pub fn open(place: &str, caches: Option<&Path>, read_only: bool) -> Result<Self> {
        let mode = if read_only { OpenMode::ReadOnly } else { OpenMode::ReadWrite };
        let (path, logs): (PathBuf, Option<Arc<dyn LogStore>>) = if StoreAddress::is_one(place) {
            let holder = LockHolder::this_process(SystemClock.now());
            let logs = PgLogs::open(parse_address(place)?, mode, &holder)?;
            let caches = caches
                .ok_or_else(|| Error::internal("a database store needs a cache directory"))?;
            (caches.join(&logs.schema_state().identity), Some(Arc::new(logs)))
        } else {
            (place.into(), None)
        };
        Ok(Self { backend: Arc::new(RealBackend::new(&path)), path, logs })
    }

    fn open_store(self, mode: OpenMode) -> Result<Store> {
        match self.logs {
            Some(logs) => Store::open_apart(logs, self.backend, &self.path, mode, &SystemClock),
            None => Store::open_on(self.backend, &self.path, mode, &SystemClock),
        }
    }
}

fn parse_address(place: &str) -> Result<StoreAddress> {
    StoreAddress::parse(place, &|name| std::env::var(name).ok())
}

fn run_detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| errors::to_exception(py, &error))
}

/// The state of a store's database.
#[pyfunction]
pub(crate) fn database_state<'py>(py: Python<'py>, place: &str) -> PyResult<Bound<'py, PyDict>> {
    let state: SchemaState = run_detached(py, || PgLogs::inspect_database(parse_address(place)?))?;
    let found = PyDict::new(py);
    found.set_item("server_version", state.server_version)?;
    found.set_item("schema_version", state.schema_version)?;
    found.set_item("newest_schema_version", SCHEMA_VERSION)?;
    found.set_item("identity", state.identity)?;
    found.set_item("unsafe_settings", state.unsafe_settings)?;
    found.set_item("is_standby", state.is_standby)?;
    found.set_item("may_create", state.may_create)?;
    found.set_item("bytes", state.bytes)?;
    Ok(found)
}

/// Creates or migrates the tables of a store; returns the previous version.
#[pyfunction]
pub(crate) fn database_migrate(py: Python<'_>, place: &str) -> PyResult<i32> {
    run_detached(py, || PgLogs::migrate_tables(parse_address(place)?))
}

/// The processes that have a store open for writing.
#[pyfunction]
pub(crate) fn database_nodes<'py>(
    py: Python<'py>,
    place: &str,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let nodes = run_detached(py, || PgLogs::list_nodes(parse_address(place)?))?;
    let shown = |node: StoreNode| {
        let found = PyDict::new(py);
        let (host, pid) = node.holder.map(|holder| (holder.host, holder.pid)).unzip();
        found.set_item("host", host)?;
        found.set_item("pid", pid)?;
        found.set_item("version", node.version)?;
        found.set_item("opened_at", node.opened_at)?;
        found.set_item("silent_seconds", node.silent_seconds)?;
        found.set_item("is_silent", node.is_silent)?;
        Ok(found)
    };
    nodes.into_iter().map(shown).collect()
}

/// Grants a database role the right to read a tenant, or revokes it.
#[pyfunction]
pub(crate) fn database_grant(
    py: Python<'_>,
    place: &str,
    role: &str,
    tenant: &str,
    revoke: bool,
) -> PyResult<()> {
    run_detached(py, || {
        Owner::new(tenant, "user")?;
        let change = if revoke { PgLogs::revoke_tenant } else { PgLogs::grant_tenant };
        change(parse_address(place)?, role, tenant)
    })
}

/// Rewrites the tables without the deleted rows; returns the tables, their size before and after in
/// bytes, and true if the write-ahead log was overwritten, too.
#[pyfunction]
pub(crate) fn database_purge(
    py: Python<'_>,
    place: &str,
) -> PyResult<(Vec<String>, u64, u64, bool)> {
    let purged = run_detached(py, || PgLogs::purge_deleted(parse_address(place)?))?;
    let [before, after] = purged.bytes;
    Ok((purged.tables, before, after, purged.is_log_moved_on))
}

/// Number of users, lines copied, lines already present, bytes, and the users (tenant and id) that
/// only the target has.
type Copied = (usize, u64, u64, u64, Vec<(String, String)>);

/// Copies a store, or one user of it, to another location. When a whole store is copied, also
/// returns the users that only the target has.
#[pyfunction]
#[pyo3(signature = (source, target, caches, owner, progress))]
pub(crate) fn copy_store(
    py: Python<'_>,
    source: &str,
    target: &str,
    caches: PathBuf,
    owner: Option<(String, String)>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Copied> {
    use episodica_core::control::CallControl;
    let control = PythonControl::new(progress);
    let outcome = py.detach(|| {
        if source == target {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "source and target are the same store",
            ));
        }
        let from = StorePlace::open(source, Some(&caches), true)?.open_store(OpenMode::ReadOnly)?;
        let to = StorePlace::open(target, Some(&caches), false)?.open_store(OpenMode::ReadWrite)?;
        let is_whole = owner.is_none();
        let owners = match owner {
            Some((tenant, user)) => vec![Owner::new(&tenant, &user)?],
            None => from.list_owners()?,
        };
        let mut sums = (owners.len(), 0, 0, 0);
        for (done, owner) in owners.iter().enumerate() {
            control.check()?;
            let copied = copy_user(&from, &to, owner)?;
            sums = (sums.0, sums.1 + copied.lines, sums.2 + copied.known, sums.3 + copied.bytes);
            control.report_progress("users", done + 1, owners.len());
        }
        let only_there = if is_whole { to.list_owners()? } else { Vec::new() };
        let only_there = only_there.into_iter().filter(|owner| !owners.contains(owner));
        let only_there = only_there.map(|owner| (owner.tenant, owner.user)).collect();
        to.release_lock();
        Ok((sums.0, sums.1, sums.2, sums.3, only_there))
    });
    match (control.take_raised(), outcome) {
        (Some(raised), _) => Err(raised),
        (None, outcome) => outcome.map_err(|error| errors::to_exception(py, &error)),
    }
}
