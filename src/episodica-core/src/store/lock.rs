//! One writer per store, across processes: an operating-system lock on `.lock`, which says who
//! holds it.
//!
//! The lock belongs to the open file, so the system releases it when its process dies for any
//! reason; the file's content is then stale and harmless.

use serde::{Deserialize, Serialize};

use super::backend::{Backend, LockGuard};
use super::files::io_error;
use super::layout::Layout;
use crate::clock::Moment;
use crate::error::{Error, ErrorKind, Result};

/// What the lock file says about the writer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id.
    pub pid: u32,
    /// Its host name.
    pub host: String,
    /// When it opened the store.
    pub started: Moment,
}

impl Holder {
    fn this_process(now: Moment) -> Self {
        let host = fs_err::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .map(|name| name.trim().to_owned());
        let host = host.or_else(|| {
            ["HOSTNAME", "COMPUTERNAME"].iter().find_map(|name| std::env::var(name).ok())
        });
        Self {
            pid: std::process::id(),
            host: host.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into()),
            started: now,
        }
    }
}

/// Takes the writer's lock.
///
/// # Errors
/// `StoreLocked`, naming the holder, when another opening has it, in this process or another; `Io`.
pub(crate) fn acquire(
    backend: &dyn Backend,
    layout: &Layout,
    now: Moment,
) -> Result<Box<dyn LockGuard>> {
    let path = layout.lock_path();
    let myself = serde_json::to_string(&Holder::this_process(now))
        .map_err(|error| Error::internal("holder has no JSON form").caused_by(error))?;
    let guard = backend
        .try_lock(&path, &myself)
        .map_err(|error| io_error("cannot lock the store", &path, error))?;
    guard.ok_or_else(|| {
        let who = match holder(backend, layout) {
            Some(holder) if holder.pid == std::process::id() => {
                format!("this process, `{}`, since {}", holder.pid, holder.started)
            }
            Some(holder) => format!(
                "process `{}` on host `{}` since {}",
                holder.pid, holder.host, holder.started
            ),
            None => "another process".into(),
        };
        Error::new(ErrorKind::StoreLocked, format!("the store is being written by {who}"))
            .at(layout.root(), None)
            .with_hint(
                "close it there first, or open this one read-only with `LightweightSearchSystem`",
            )
    })
}

/// Who wrote the store last, by the lock file; the process may be gone.
pub(crate) fn holder(backend: &dyn Backend, layout: &Layout) -> Option<Holder> {
    let bytes = backend.read(&layout.lock_path()).ok()?;
    serde_json::from_slice(&bytes).ok()
}
