//! Calls to servers that others run: one [`Endpoint`] says where and how, one [`Remote`] keeps its
//! promises.
//!
//! A call is one POST of JSON with a deadline, a bounded answer, up to three attempts
//! ([`RetryPolicy`]) and a circuit breaker ([`Breaker`]) in front. It blocks its thread, and stops
//! soon after its [`Control`](crate::control::Control) says so. `llm` and `embed` are the callers;
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

pub use breaker::{Breaker, Permit};
pub use endpoint::{Endpoint, Secret};
pub use failure::{Cause, Failure};
pub use http::MAX_ANSWER_BYTES;
pub use retry::RetryPolicy;
pub use service::{Remote, Reply};
pub use timer::{SystemTimer, Timer};
