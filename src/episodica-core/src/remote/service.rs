//! Calls to one server, with retries, circuit breaker and counters.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::sync::Mutex;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::breaker::{AttemptPermit, CircuitBreaker};
use super::endpoint::RemoteEndpoint;
use super::failure::{CallFailure, FailureCause};
use super::http::HttpPool;
use super::rate_pause::RatePause;
use super::retry::{MAX_WAIT_SECONDS, RetryPolicy};
use super::timer::{RetryTimer, SystemTimer};
use crate::control::CallControl;
use crate::error::Result;
use crate::model::ServiceHealth;

/// After [`HURRIED_FAILURES`] consecutive calls that reached their deadline, calls with a deadline
/// are rejected for [`HURRIED_SECONDS`].
const HURRIED_FAILURES: u32 = 3;
const HURRIED_SECONDS: f64 = 30.0;

/// A server that receives and returns JSON. Thread safe; all threads share the connections and the
/// circuit breaker.
pub struct RemoteService {
    http: HttpPool,
    policy: RetryPolicy,
    breaker: CircuitBreaker,
    /// Rejects calls with a deadline after several of them in a row reached it.
    hurry: CircuitBreaker,
    /// Holds all calls back while the server takes no more requests.
    pause: RatePause,
    timer: Arc<dyn RetryTimer>,
    counts: ServiceCounts,
    /// The last failure, quoted when a call is rejected.
    last: Mutex<String>,
}

#[derive(Default)]
struct ServiceCounts {
    calls: AtomicU64,
    requests: AtomicU64,
    retries: AtomicU64,
    failures: AtomicU64,
    refused: AtomicU64,
    /// True if the latest call failed or was rejected.
    failing: AtomicBool,
}

/// A 2xx answer. Its `Debug` output contains no text of the body.
pub struct ServiceReply {
    /// The body: JSON by its content type, not yet parsed.
    pub body: Vec<u8>,
    /// Number of requests, at least 1.
    pub attempts: u32,
    /// Time from the first request to the answer.
    pub seconds: f64,
}

impl fmt::Debug for ServiceReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("bytes", &self.body.len())
            .field("attempts", &self.attempts)
            .field("seconds", &self.seconds)
            .finish()
    }
}

impl ServiceReply {
    /// Parses the body.
    ///
    /// # Errors
    /// [`FailureCause::Unusable`] if it is not JSON or has another shape; `what` names the expected
    /// content ("a chat completion").
    pub fn parse_body<T: DeserializeOwned>(&self, what: &str) -> Result<T, CallFailure> {
        let body = self.body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&self.body);
        serde_json::from_slice(body).map_err(|error| {
            // Only the position of the parser's error is shown: its text may quote the answer.
            let message = format!(
                "server's answer is not {what}, at line {} column `{}`",
                error.line(),
                error.column()
            );
            CallFailure {
                attempts: self.attempts,
                seconds: self.seconds,
                ..CallFailure::new(FailureCause::Unusable, message)
            }
        })
    }
}

impl RemoteService {
    /// Prepares calls to `endpoint` without sending a request.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for invalid values.
    pub fn new(endpoint: &RemoteEndpoint) -> Result<Self> {
        Self::with_timer(endpoint, Arc::new(SystemTimer::default()))
    }

    /// [`new`](Self::new) with another timer for waits and circuit breaker; the deadline of an
    /// attempt is always in real time.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(crate) fn with_timer(
        endpoint: &RemoteEndpoint,
        timer: Arc<dyn RetryTimer>,
    ) -> Result<Self> {
        Ok(Self {
            http: HttpPool::new(endpoint)?,
            policy: RetryPolicy {
                max_attempts: endpoint.max_attempts,
                wait_seconds: endpoint.retry_wait_seconds,
            },
            breaker: CircuitBreaker::new(endpoint.breaker_failures, endpoint.breaker_seconds),
            hurry: CircuitBreaker::new(HURRIED_FAILURES, HURRIED_SECONDS),
            pause: RatePause::default(),
            timer,
            counts: ServiceCounts::default(),
            last: Mutex::default(),
        })
    }

    /// Sends `body` to `path` (`chat/completions`) below the base address. Blocks for all attempts
    /// and waits. Gives up at the deadline of `control`; such a failure counts only against later
    /// calls with a deadline, since the server may just need more time. Waits out a limit of
    /// requests together with all other calls; that is neither an attempt nor a failure.
    ///
    /// # Errors
    /// The failure of the last attempt; [`FailureCause::Refused`] while the circuit breaker is
    /// open; [`FailureCause::Stopped`] soon after `control` requests it.
    pub(crate) fn post_json(
        &self,
        path: &str,
        body: &Value,
        control: &dyn CallControl,
    ) -> Result<ServiceReply, CallFailure> {
        let body = serde_json::to_vec(body).expect("invariant: a value is JSON");
        let started = self.timer.elapsed_seconds();
        add_count(&self.counts.calls, 1);
        let hurried = self.deadline_permit(control, started)?;
        let mut call =
            ServiceCall { service: self, control, hurried, attempts: 0, limited: 0, last: None };
        let sent = call.send_attempts(path, &body);
        let ServiceCall { hurried, attempts, .. } = call;
        let seconds = self.timer.elapsed_seconds() - started;
        let failure = match sent {
            Ok(body) => {
                if let Some((_, permit)) = hurried {
                    permit.report_success();
                }
                self.counts.failing.store(false, Ordering::Relaxed);
                return Ok(ServiceReply { body, attempts, seconds });
            }
            Err(failure) => failure,
        };
        if let Some((_, permit)) = hurried.filter(|_| failure.cause == FailureCause::Timeout) {
            permit.report_failure(self.timer.elapsed_seconds());
        }
        if failure.cause != FailureCause::Stopped {
            self.counts.failing.store(true, Ordering::Relaxed);
        }
        if !matches!(failure.cause, FailureCause::Stopped | FailureCause::Refused) {
            add_count(&self.counts.failures, 1);
        }
        Err(CallFailure { attempts, seconds, ..failure })
    }

    /// The deadline of a call and its permit; `None` without a deadline.
    fn deadline_permit(
        &self,
        control: &dyn CallControl,
        now: f64,
    ) -> Result<Option<(Instant, AttemptPermit<'_>)>, CallFailure> {
        let Some(deadline) = control.deadline() else { return Ok(None) };
        match self.hurry.admit_attempt(now) {
            Ok(permit) => Ok(Some((deadline, permit))),
            Err(left) => Err(self
                .refused_failure(format!("server was too slow lately, next test in {left:.0} s"))),
        }
    }

    fn refused_failure(&self, text: String) -> CallFailure {
        add_count(&self.counts.refused, 1);
        CallFailure::new(FailureCause::Refused, text)
    }

    /// True if a call would be sent now.
    pub fn is_available(&self) -> bool {
        let now = self.timer.elapsed_seconds();
        self.pause.seconds_left(now) <= MAX_WAIT_SECONDS && self.breaker.is_available(now)
    }

    /// Seconds of this server's timer, for measurements over several calls.
    pub(crate) fn timer_seconds(&self) -> f64 {
        self.timer.elapsed_seconds()
    }

    /// Scheme, host and port of the server.
    pub(crate) fn origin(&self) -> &str {
        self.http.origin()
    }

    /// Counters and state of the circuit breaker, without the name of a model. Contains no secrets.
    pub fn service_health(&self) -> ServiceHealth {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ServiceHealth {
            kind: "endpoint",
            endpoint: self.origin().to_owned(),
            breaker: self.breaker.state_name(self.timer.elapsed_seconds()),
            calls: count(&self.counts.calls),
            requests: count(&self.counts.requests),
            retries: count(&self.counts.retries),
            failures: count(&self.counts.failures),
            refused: count(&self.counts.refused),
            failing: self.counts.failing.load(Ordering::Relaxed),
            ..ServiceHealth::default()
        }
    }
}

/// One call with its attempts.
struct ServiceCall<'a> {
    service: &'a RemoteService,
    control: &'a dyn CallControl,
    /// The deadline, and the permit to be in a hurry.
    hurried: Option<(Instant, AttemptPermit<'a>)>,
    attempts: u32,
    /// Attempts that met a limit of requests.
    limited: u32,
    last: Option<CallFailure>,
}

impl<'a> ServiceCall<'a> {
    /// Sends until an attempt succeeds or none may follow.
    fn send_attempts(&mut self, path: &str, body: &[u8]) -> Result<Vec<u8>, CallFailure> {
        let RemoteService { http, policy, breaker, pause, timer, counts, .. } = self.service;
        loop {
            let permit = self.enter_attempt()?;
            self.attempts += 1;
            add_count(&counts.requests, 1);
            add_count(&counts.retries, u64::from(self.attempts > 1));
            let sent = timer.elapsed_seconds();
            let failure = match http.post_once(path, body.to_vec(), &**timer, self.control) {
                Ok(body) => {
                    permit.report_success();
                    pause.note_answer();
                    return Ok(body);
                }
                Err(failure) => failure,
            };
            self.settle_permit(permit, &failure);
            if failure.is_rate_limit() {
                pause.note_refusal(
                    sent,
                    timer.elapsed_seconds(),
                    failure.retry_after,
                    policy.wait_seconds,
                );
                self.limited += 1;
                if pause.is_hopeless() {
                    return Err(failure);
                }
                log::info!("a server takes no more requests: {}", failure.message());
                self.last = Some(failure);
                continue;
            }
            let attempts = self.attempts;
            let wait = policy.wait_seconds(attempts - self.limited, &failure, &**timer);
            // Does not wait for an attempt that the breaker would reject, or that would be too
            // late.
            let Some(wait) = wait.filter(|wait| {
                !self.comes_late(*wait) && breaker.is_available(timer.elapsed_seconds() + wait)
            }) else {
                return Err(failure);
            };
            log::info!("attempt {attempts} failed, the next in {wait:.1} s: {}", failure.message());
            timer.sleep(wait, self.control).map_err(CallFailure::from_stop)?;
            self.last = Some(failure);
        }
    }

    /// Waits out a limit of requests, and asks the breaker.
    fn enter_attempt(&mut self) -> Result<AttemptPermit<'a>, CallFailure> {
        let service = self.service;
        loop {
            let left = service.pause.seconds_left(service.timer.elapsed_seconds());
            if left > MAX_WAIT_SECONDS || left > 0.0 && self.comes_late(left) {
                let text = || format!("server takes no requests for {left:.0} s");
                return Err(self.last.take().unwrap_or_else(|| service.refused_failure(text())));
            }
            if left <= 0.0 {
                break;
            }
            service.timer.sleep(left, self.control).map_err(CallFailure::from_stop)?;
        }
        service.breaker.admit_attempt(service.timer.elapsed_seconds()).map_err(|left| {
            self.last.take().unwrap_or_else(|| {
                let before = service.last.lock().clone();
                service.refused_failure(format!(
                    "server failed too often, next test in {left:.0} s; before that: {before}"
                ))
            })
        })
    }

    /// Tells the breaker what a failure says about the server.
    fn settle_permit(&self, permit: AttemptPermit<'_>, failure: &CallFailure) {
        let service = self.service;
        match failure.cause {
            FailureCause::Stopped => drop(permit),
            FailureCause::Timeout if self.is_late() => drop(permit),
            _ if failure.is_outage() => {
                service.last.lock().clone_from(&failure.message);
                permit.report_failure(service.timer.elapsed_seconds());
                if !service.breaker.is_available(service.timer.elapsed_seconds()) {
                    log::warn!(
                        "a server failed too often, no call is sent for a while: {}",
                        failure.message()
                    );
                }
            }
            _ => permit.report_success(),
        }
    }

    fn comes_late(&self, wait: f64) -> bool {
        self.hurried.as_ref().is_some_and(|(deadline, _)| {
            deadline.saturating_duration_since(Instant::now()).as_secs_f64() <= wait
        })
    }

    fn is_late(&self) -> bool {
        self.hurried.as_ref().is_some_and(|(deadline, _)| Instant::now() >= *deadline)
    }
}

fn add_count(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}
