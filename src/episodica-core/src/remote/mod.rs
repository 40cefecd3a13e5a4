//! Calls to servers that others run: one [`RemoteEndpoint`] says where and how, one [`RemoteService`] keeps its
//! promises.
//!
//! A call is one POST of JSON with a deadline, a bounded answer, up to three attempts
//! ([`RetryPolicy`]) and a circuit breaker ([`CircuitBreaker`]) in front. It blocks its thread, and stops
//! soon after its [`CallControl`](crate::control::Control) says so. `llm` and `embed` are the callers;
//! they know what the JSON means, this module doesn't. It reads no environment, follows no
//! redirect, streams nothing, and puts no key, no prompt and no answer into a message.

mod breaker;
mod endpoint;
mod failure;
mod http;
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
