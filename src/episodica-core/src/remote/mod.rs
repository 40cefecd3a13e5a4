//! Calls to remote servers. A [`RemoteEndpoint`] holds the address and settings; a
//! [`RemoteService`] makes the calls.
//!
//! A call is one POST of JSON with a deadline, a bounded answer, a few attempts ([`RetryPolicy`])
//! and a circuit breaker ([`CircuitBreaker`]). A server that limits its requests makes all calls
//! wait. It blocks its thread and stops soon after its
//! [`CallControl`](crate::control::CallControl) requests it. `llm` and `embed` are the callers and
//! interpret the JSON. This module reads no environment variables, follows no redirects, does not
//! stream, and puts no key, prompt or answer into a message.

mod breaker;
mod endpoint;
mod failure;
mod http;
mod rate_pause;
mod retry;
mod service;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod timer;

pub use breaker::{AttemptPermit, CircuitBreaker};
pub use endpoint::{RemoteEndpoint, SecretText};
pub use failure::{CallFailure, FailureCause};
pub use http::MAX_ANSWER_BYTES;
pub use retry::RetryPolicy;
pub use service::{RemoteService, ServiceReply};
pub use timer::{RetryTimer, SystemTimer};
