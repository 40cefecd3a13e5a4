//! A connection pool: a bounded number of connections, with deadlines, replaced when they break.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use episodica_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::StoreAddress;
use crate::failure::DatabaseFailure;
use crate::tls::tls_connector;

/// First and longest pause between two attempts.
const PAUSES: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];
/// Timeout of requests that must not delay the caller.
const SOON: Duration = Duration::from_secs(1);
/// Idle time after which a connection is closed: poolers and firewalls silently drop idle
/// connections.
const LONGEST_IDLE: Duration = Duration::from_secs(300);

struct PooledLink {
    client: Client,
    task: AbortHandle,
    idle_since: Instant,
}

impl Drop for PooledLink {
    fn drop(&mut self) {
        // The connection's task may still wait for a server that does not answer.
        self.task.abort();
    }
}

/// The connections of a process to one database.
pub(crate) struct ConnectionPool {
    address: StoreAddress,
    tls: MakeRustlsConnect,
    idle: Mutex<Vec<PooledLink>>,
    permits: Semaphore,
    /// The cause if the last request failed.
    failure: Mutex<Option<String>>,
    /// Drives the connections; `None` only during `drop`.
    runtime: Option<Runtime>,
}

impl std::fmt::Debug for ConnectionPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({:?})", self.address)
    }
}

impl Drop for ConnectionPool {
    fn drop(&mut self) {
        self.lock_links().clear();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

struct UsedConnection<'a> {
    pool: &'a ConnectionPool,
    link: Option<PooledLink>,
    _permit: SemaphorePermit<'a>,
}

impl UsedConnection<'_> {
    fn client(&self) -> &Client {
        &self.link.as_ref().expect("invariant: only giving it back takes it").client
    }

    fn give_back(mut self) {
        if let Some(mut link) = self.link.take() {
            link.idle_since = Instant::now();
            self.pool.lock_links().push(link);
        }
    }
}

impl ConnectionPool {
    /// Creates the pool without connecting.
    ///
    /// # Errors
    /// `Config` for unreadable root certificates; `Io` if no thread can be created.
    pub fn new(address: StoreAddress) -> Result<Arc<Self>> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("episodica-postgres")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, "no thread for connections").caused_by(error)
            })?;
        Ok(Arc::new(Self {
            tls: tls_connector(&address.trust)?,
            permits: Semaphore::new(address.pool_size),
            address,
            idle: Mutex::default(),
            failure: Mutex::default(),
            runtime: Some(runtime),
        }))
    }

    pub fn address(&self) -> &StoreAddress {
        &self.address
    }

    /// The cause if the last request failed.
    pub fn last_failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn lock_links(&self) -> std::sync::MutexGuard<'_, Vec<PooledLink>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("invariant: only dropping takes it")
    }

    async fn open_link(&self) -> Result<PooledLink, DatabaseFailure> {
        let most = self.address.config.get_connect_timeout().copied();
        let connecting = self.address.config.connect(self.tls.clone());
        let (client, connection) =
            timeout(most.unwrap_or(Duration::MAX), connecting).await.map_err(|_| {
                DatabaseFailure::away("the database does not accept a connection in time")
            })??;
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                log::debug!("a connection to the database broke: {error}");
            }
        });
        Ok(PooledLink { client, task: task.abort_handle(), idle_since: Instant::now() })
    }

    /// Takes a live connection before the deadline.
    async fn take_connection(&self) -> Result<UsedConnection<'_>, DatabaseFailure> {
        let permit = self.permits.acquire().await.expect("invariant: never closed");
        let known = {
            let mut idle = self.lock_links();
            idle.retain(|link| {
                !link.client.is_closed() && link.idle_since.elapsed() < LONGEST_IDLE
            });
            idle.pop()
        };
        let link = match known {
            Some(link) => link,
            None => self.open_link().await?,
        };
        Ok(UsedConnection { pool: self, link: Some(link), _permit: permit })
    }

    /// Runs a request until it succeeds, fails permanently, or the deadline passes. It may be sent
    /// more than once, so it must be idempotent.
    ///
    /// # Errors
    /// `StoreUnavailable`; the error of a permanent failure.
    pub fn repeat_request<T>(
        &self,
        request: impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<T> {
        self.until_deadline(|left| self.attempt_request(left, &request))
    }

    /// Sends a request at most once; only connecting is tried again. An inner `Err` with `is_away`
    /// means that the request may have been executed.
    pub fn send_once<T>(
        &self,
        request: impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<Result<T, DatabaseFailure>> {
        let deadline = Instant::now() + self.address.deadline;
        let used = self.wait_connected()?;
        let left = deadline.saturating_duration_since(Instant::now()).max(PAUSES[0]);
        let outcome = self.runtime().block_on(self.carry_out(used, left, &request));
        self.note_outcome(outcome.as_ref().err());
        Ok(outcome)
    }

    /// Sends a request at most once and without a deadline, for work of unknown duration.
    ///
    /// # Errors
    /// As [`ConnectionPool::repeat_request`].
    pub fn send_without_deadline<T>(
        &self,
        request: impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<T> {
        let used = self.wait_connected()?;
        let endless = Duration::from_secs(u64::from(u32::MAX));
        Ok(self.runtime().block_on(self.carry_out(used, endless, &request))?)
    }

    /// Sends a request once with a short timeout.
    ///
    /// # Errors
    /// As [`ConnectionPool::repeat_request`].
    pub fn send_briefly<T>(
        &self,
        request: impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<T> {
        let outcome = self.attempt_request(SOON.min(self.address.deadline), &request);
        self.note_outcome(outcome.as_ref().err());
        Ok(outcome?)
    }

    /// Sends a statement at regular intervals while the pool exists.
    pub fn send_regularly(
        self: &Arc<Self>,
        pause: Duration,
        text: String,
        values: Vec<String>,
    ) -> AbortHandle {
        let pool = Arc::downgrade(self);
        let task = self.runtime().spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(pool) = pool.upgrade() else { return };
                let told = timeout(pause, pool.execute_text(&text, &values)).await;
                if let Err(failure) = told.unwrap_or_else(|_| Err(deadline_failure())) {
                    log::debug!("a periodic statement failed: {}", failure.error.cause_chain());
                }
            }
        });
        task.abort_handle()
    }

    async fn execute_text(&self, text: &str, values: &[String]) -> Result<(), DatabaseFailure> {
        let used = self.take_connection().await?;
        let typed: Vec<(&(dyn ToSql + Sync), Type)> =
            values.iter().map(|value| (value as &(dyn ToSql + Sync), Type::TEXT)).collect();
        used.client().execute_typed(text, &typed).await?;
        used.give_back();
        Ok(())
    }

    /// Takes a live connection; tries to connect until the deadline.
    fn wait_connected(&self) -> Result<UsedConnection<'_>> {
        self.until_deadline(|left| {
            self.runtime().block_on(async {
                timeout(left, self.take_connection())
                    .await
                    .unwrap_or_else(|_| Err(deadline_failure()))
            })
        })
    }

    fn until_deadline<T>(
        &self,
        mut attempt: impl FnMut(Duration) -> Result<T, DatabaseFailure>,
    ) -> Result<T> {
        let (deadline, [mut pause, longest]) = (Instant::now() + self.address.deadline, PAUSES);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let outcome = attempt(left.max(PAUSES[0]));
            self.note_outcome(outcome.as_ref().err());
            match outcome {
                Ok(value) => return Ok(value),
                Err(failure) if !failure.is_away || Instant::now() + pause >= deadline => {
                    return Err(failure.into());
                }
                Err(_) => std::thread::sleep(pause),
            }
            pause = (pause * 2).min(longest);
        }
    }

    fn note_outcome(&self, failure: Option<&DatabaseFailure>) {
        let away = failure.filter(|failure| failure.error.kind() == ErrorKind::StoreUnavailable);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) =
            away.map(|failure| failure.error.cause_chain());
    }

    fn attempt_request<T>(
        &self,
        left: Duration,
        request: &impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<T, DatabaseFailure> {
        let started = Instant::now();
        self.runtime().block_on(async {
            let used = timeout(left, self.take_connection())
                .await
                .unwrap_or_else(|_| Err(deadline_failure()))?;
            let left = left.saturating_sub(started.elapsed()).max(PAUSES[0]);
            self.carry_out(used, left, request).await
        })
    }

    /// Runs a request on a connection, which is closed if the request fails.
    async fn carry_out<T>(
        &self,
        used: UsedConnection<'_>,
        left: Duration,
        request: &impl AsyncFn(&Client) -> Result<T, DatabaseFailure>,
    ) -> Result<T, DatabaseFailure> {
        let outcome =
            timeout(left, request(used.client())).await.unwrap_or_else(|_| Err(deadline_failure()));
        if outcome.is_ok() {
            used.give_back();
        }
        outcome
    }
}

fn deadline_failure() -> DatabaseFailure {
    DatabaseFailure::away("the database does not answer in time")
}
