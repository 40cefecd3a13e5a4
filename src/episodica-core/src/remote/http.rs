//! One POST request with a deadline, a bounded answer and cancellation. All endpoints share one
//! small runtime; each has its own connection pool.

use std::error::Error as _;
use std::pin::pin;
use std::time::{Duration, Instant};

use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response, Url};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::endpoint::{RemoteEndpoint, SecretText};
use super::failure::{CallFailure, FailureCause};
use super::retry::retry_after;
use super::timer::{CHECK_INTERVAL, RetryTimer};
use crate::control::CallControl;
use crate::error::{Error, ErrorKind, Result};
use crate::fork::PerProcess;

/// Maximum size of an answer; a larger one is an error.
pub const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Maximum size of an error's body that is read, and maximum time for reading it.
const MAX_ERROR_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIME: Duration = Duration::from_secs(2);
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// The runtime that drives all connections of a process. One per process, since threads do not
/// survive a fork.
static RUNTIME: PerProcess<Runtime> = PerProcess::new();

fn http_runtime() -> Result<&'static Runtime> {
    let place = RUNTIME.process_cell();
    if place.get().is_none() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(4)
            .thread_name("episodica-http")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(ErrorKind::Io, "cannot start the thread for connections")
                    .caused_by(error)
            })?;
        // If another thread was faster, drops this runtime; `shutdown_background` does not block.
        if let Err(second) = place.set(runtime) {
            second.shutdown_background();
        }
    }
    place.get().ok_or_else(|| Error::internal("the runtime for connections is missing"))
}

/// A connection pool for one server.
pub(super) struct HttpPool {
    client: Client,
    base: Url,
    origin: String,
    deadline: Duration,
}

impl HttpPool {
    /// Creates the pool without sending a request.
    ///
    /// # Errors
    /// `Config` for invalid values.
    pub(super) fn new(endpoint: &RemoteEndpoint) -> Result<Self> {
        let base = endpoint.checked_url()?;
        // Fails only if another part of the process has installed a TLS provider, which is then
        // used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let deadline = Duration::try_from_secs_f64(endpoint.timeout_seconds)
            .unwrap_or(Duration::from_secs(60));
        let mut builder = Client::builder()
            .user_agent(concat!("episodica/", env!("CARGO_PKG_VERSION")))
            .default_headers(header_map(endpoint)?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(deadline.min(CONNECT_TIME))
            .tcp_keepalive(Duration::from_secs(60));
        if let Some(proxy) = &endpoint.proxy {
            // The cause is omitted: it would repeat the address, which may contain a password.
            let proxy = reqwest::Proxy::all(proxy.expose_secret())
                .map_err(|_| config_error("proxy of the endpoint is not an address"))?;
            builder = builder.proxy(proxy);
        } else if base.scheme() == "http" {
            // Certificates are not needed without TLS, and small systems have none.
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| {
            config_error("cannot prepare connections to the endpoint")
                .caused_by(error.without_url())
                .with_hint(
                    "for https, install the package `ca-certificates` or name a file of \
                    certificates in `SSL_CERT_FILE`",
                )
        })?;
        let origin = base.origin().ascii_serialization();
        Ok(Self { client, base, origin, deadline })
    }

    /// Scheme, host and port: the only parts of the address that are ever shown.
    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    /// Sends `body` once to `path` below the base address. Returns the body of a 2xx answer whose
    /// content type is JSON or a stream of JSON.
    pub(super) fn post_once(
        &self,
        path: &str,
        body: Vec<u8>,
        timer: &dyn RetryTimer,
        control: &dyn CallControl,
    ) -> Result<Vec<u8>, CallFailure> {
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        control.check().map_err(CallFailure::from_stop)?;
        let runtime = http_runtime().map_err(CallFailure::from_stop)?;
        let left = control.deadline().map(|end| end.saturating_duration_since(Instant::now()));
        let patience = left.map_or(self.deadline, |left| left.min(self.deadline));
        runtime.block_on(async {
            let mut call = pin!(timeout(patience, self.send_request(url, body, timer)));
            loop {
                match timeout(CHECK_INTERVAL, &mut call).await {
                    Ok(Ok(outcome)) => return outcome,
                    Ok(Err(_)) => return Err(self.timed_out(patience)),
                    Err(_) => control.check().map_err(CallFailure::from_stop)?,
                }
            }
        })
    }

    async fn send_request(
        &self,
        url: Url,
        body: Vec<u8>,
        timer: &dyn RetryTimer,
    ) -> Result<Vec<u8>, CallFailure> {
        let mut response = self
            .client
            .post(url)
            .body(body)
            .send()
            .await
            .map_err(|error| self.network_failure(&error))?;
        let status = response.status();
        let header =
            |name: HeaderName| response.headers().get(name).and_then(|value| value.to_str().ok());
        if !status.is_success() {
            let wait = header(RETRY_AFTER).and_then(|text| retry_after(text, timer));
            let mut body = Vec::new();
            let _ = timeout(ERROR_BODY_TIME, read_body(&mut response, MAX_ERROR_BYTES, &mut body))
                .await;
            return Err(CallFailure {
                retry_after: wait,
                ..CallFailure::from_status(status.as_u16(), &self.origin, &body)
            });
        }
        let unusable = |what: &str| {
            CallFailure::new(
                FailureCause::Unusable,
                format!("server answered with {what}: `{}`", self.origin),
            )
        };
        let is_foreign = |kind: &str| {
            let kind = kind.to_ascii_lowercase();
            !kind.contains("json") && !kind.contains("event-stream")
        };
        if header(CONTENT_TYPE).is_some_and(is_foreign) {
            return Err(unusable("something other than JSON"));
        }
        let mut body = Vec::new();
        match read_body(&mut response, MAX_ANSWER_BYTES, &mut body).await {
            Ok(true) => Ok(body),
            Ok(false) => Err(unusable("more than 16 MB")),
            Err(error) => Err(self.network_failure(&error)),
        }
    }

    fn timed_out(&self, patience: Duration) -> CallFailure {
        CallFailure::new(
            FailureCause::Timeout,
            format!(
                "server gave no complete answer within {} s: `{}`",
                (patience.as_secs_f64() * 100.0).round() / 100.0,
                self.origin
            ),
        )
    }

    fn network_failure(&self, error: &reqwest::Error) -> CallFailure {
        if error.is_timeout() && !error.is_connect() {
            return self.timed_out(self.deadline);
        }
        let what = if error.is_connect() {
            "cannot connect to the server"
        } else {
            "connection to the server broke"
        };
        // The innermost cause is the operating system's or the TLS library's; the outer ones repeat
        // the address.
        let mut cause = error.source();
        while let Some(inner) = cause.and_then(|cause| cause.source()) {
            cause = Some(inner);
        }
        let cause = cause
            .map(|cause| format!(" ({})", cause.to_string().to_lowercase()))
            .unwrap_or_default();
        CallFailure::new(FailureCause::Network, format!("{what}{cause}: `{}`", self.origin))
    }
}

/// Appends the response to `body`; returns false if it is longer than `limit`.
async fn read_body(
    response: &mut Response,
    limit: usize,
    body: &mut Vec<u8>,
) -> Result<bool, reqwest::Error> {
    if response.content_length().is_some_and(|length| length > limit as u64) {
        return Ok(false);
    }
    while let Some(chunk) = response.chunk().await? {
        if body.len() + chunk.len() > limit {
            return Ok(false);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(true)
}

fn header_map(endpoint: &RemoteEndpoint) -> Result<HeaderMap> {
    let mut map = HeaderMap::new();
    map.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = endpoint.api_key.as_ref().filter(|key| !key.expose_secret().is_empty()) {
        map.insert(
            AUTHORIZATION,
            secret_header(&format!("Bearer {}", key.expose_secret()), "api_key")?,
        );
    }
    if let Some(organization) = &endpoint.organization {
        map.insert(
            HeaderName::from_static("openai-organization"),
            secret_header(organization, "organization")?,
        );
    }
    for (name, value) in &endpoint.headers {
        let name = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| config_error("name of a header of the endpoint is not valid"))?;
        map.insert(name, secret_header(SecretText::expose_secret(value), "value of a header")?);
    }
    Ok(map)
}

fn secret_header(text: &str, what: &str) -> Result<HeaderValue> {
    let mut value = HeaderValue::from_str(text).map_err(|_| {
        config_error(format!("{what} of the endpoint has characters that no HTTP header can hold"))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn config_error(context: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, context)
}
