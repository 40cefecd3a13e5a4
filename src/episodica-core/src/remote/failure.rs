//! The reason why a call failed: enough to decide how to proceed, without secrets.

use serde_json::Value;

use super::endpoint::SecretText;
use crate::error::{Error, ErrorKind};

/// The cause of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureCause {
    /// The caller requested a stop, or this process cannot make calls.
    Stopped,
    /// The circuit breaker is open; no request was sent.
    Refused,
    /// The connection failed or broke.
    Network,
    /// No complete answer within the endpoint's timeout.
    Timeout,
    /// The server answered with this status, which is not 2xx.
    Status(u16),
    /// The answer is too large, not JSON, or of another shape.
    Unusable,
}

/// A failed call.
#[derive(Debug)]
pub struct CallFailure {
    pub(super) cause: FailureCause,
    pub(super) message: String,
    pub(super) stop: Option<Box<Error>>,
    /// Number of seconds for which the server asked to wait.
    pub(super) retry_after: Option<f64>,
    /// The server's explanation in lower case. It may repeat the request, so it is searched but
    /// never shown.
    pub(super) reason: SecretText,
    pub(super) attempts: u32,
    pub(super) seconds: f64,
}

impl CallFailure {
    /// Creates a failure with a message: one line, lower case, without secrets.
    pub fn new(cause: FailureCause, message: impl Into<String>) -> Self {
        Self {
            cause,
            message: message.into(),
            stop: None,
            retry_after: None,
            reason: SecretText::new(""),
            attempts: 0,
            seconds: 0.0,
        }
    }

    /// The failure of a call that the caller stopped.
    pub fn from_stop(error: Error) -> Self {
        Self { stop: Some(Box::new(error)), ..Self::new(FailureCause::Stopped, "stopped") }
    }

    /// The failure for a status other than 2xx. Of `body`, only the code or type of the error is
    /// shown, and only if it is a single word.
    pub(super) fn from_status(status: u16, origin: &str, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body)
            .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()));
        let error = body.get("error").unwrap_or(&body);
        let word = ["code", "type"]
            .iter()
            .find_map(|key| error.get(key)?.as_str().filter(|text| is_word(text)));
        let code = word.map(|word| format!(" ({word})")).unwrap_or_default();
        let verb = if (300..400).contains(&status) {
            "sent a redirect, which is not followed, with"
        } else {
            "answered with"
        };
        let message = format!("server `{origin}` {verb} status `{status}`{code}");
        let reason = explanation_text(&body).to_lowercase();
        // Some servers (llama-cpp-python) report an invalid request as an internal error.
        let meant =
            if status == 500 && reason.contains("validation error") && reason.contains("body") {
                422
            } else {
                status
            };
        Self { reason: SecretText::new(reason), ..Self::new(FailureCause::Status(meant), message) }
    }

    /// The same failure for a call of several requests: `attempts` in total, within `seconds`.
    #[must_use]
    pub fn over_attempts(self, attempts: u32, seconds: f64) -> Self {
        Self { attempts, seconds, ..self }
    }

    /// The cause.
    pub fn cause(&self) -> FailureCause {
        self.cause
    }

    /// One line for display.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Number of failed requests; 0 if the circuit breaker rejected the call.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Time from the first request until the call gave up.
    pub fn elapsed_seconds(&self) -> f64 {
        self.seconds
    }

    /// True if the server's explanation contains `word` (lower case).
    pub fn mentions_word(&self, word: &str) -> bool {
        self.reason.expose_secret().contains(word)
    }

    /// True if this is all that the server explains (lower case).
    pub fn says_only(&self, text: &str) -> bool {
        self.reason.expose_secret().trim() == text
    }

    /// The numbers in the server's explanation, in order: limits, and the requested values.
    pub fn stated_numbers(&self) -> Vec<u32> {
        let reason = self.reason.expose_secret().replace(',', "");
        reason.split(|one: char| !one.is_ascii_digit()).filter_map(|run| run.parse().ok()).collect()
    }

    /// True if the server rejected the content of the request.
    pub fn is_about_content(&self) -> bool {
        const CONTENT: [&str; 15] = [
            "content_filter",
            "content filter",
            "content management",
            "policy",
            "policies",
            "safety",
            "moderation",
            "inappropriate",
            "data_inspection",
            "context length",
            "context window",
            "context size",
            "context_length",
            "too long",
            "too many tokens",
        ];
        matches!(self.cause, FailureCause::Status(400 | 413 | 422))
            && CONTENT.iter().any(|word| self.mentions_word(word))
    }

    /// True if the same request may succeed later: for network errors, 408, 409, 429 and 5xx except
    /// 501, since "not implemented" concerns the request.
    pub fn is_temporary(&self) -> bool {
        match self.cause {
            FailureCause::Network | FailureCause::Timeout => true,
            FailureCause::Status(status) => {
                matches!(status, 408 | 409 | 429 | 500..=599) && status != 501
            }
            FailureCause::Stopped | FailureCause::Refused | FailureCause::Unusable => false,
        }
    }

    /// True if the server takes no more requests for now. A used-up quota is not such a limit:
    /// waiting does not help.
    pub(crate) fn is_rate_limit(&self) -> bool {
        self.cause == FailureCause::Status(429) && !self.mentions_word("insufficient_quota")
    }

    /// True if the failure is the server's, not the request's. The circuit breaker counts such
    /// failures.
    pub(crate) fn is_outage(&self) -> bool {
        let is_failing = self.is_temporary() && !self.is_rate_limit();
        is_failing || self.cause == FailureCause::Unusable
    }

    /// Converts to the engine's error; `kind` states which kind of call it was.
    pub(crate) fn into_error(self, kind: ErrorKind) -> Error {
        if let Some(error) = self.stop {
            return *error;
        }
        let error = Error::new(kind, self.message);
        match self.cause {
            FailureCause::Status(401 | 403) => error.with_hint(CHECK_KEY),
            FailureCause::Status(404) => error.with_hint(
                "check `base_url` (it usually ends with `/v1`) and the name of the model",
            ),
            FailureCause::Status(300..=399) => {
                error.with_hint("set `base_url` to the address that it redirects to")
            }
            FailureCause::Network => error.with_hint("check `base_url`, and that the server runs"),
            FailureCause::Timeout => {
                error.with_hint("raise `timeout_seconds` if the server is slow")
            }
            _ => error,
        }
    }
}

/// What to do about a refused key.
const CHECK_KEY: &str = "check the API key and its permissions: it comes from `api_key`, else from \
                         OPENAI_API_KEY in the environment";

/// True for a code such as `context_length_exceeded`; longer text may come from the request.
fn is_word(text: &str) -> bool {
    (1..=48).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'-')
        && !text.starts_with("sk-")
}

/// The explanations in an error body, in the formats that servers use. Echoes of the request are
/// omitted where the format allows it.
fn explanation_text(body: &Value) -> String {
    let error = body.get("error").unwrap_or(body);
    let mut found = Vec::new();
    let mut add =
        |value: Option<&Value>| found.extend(value.and_then(Value::as_str).map(str::to_owned));
    add(Some(error));
    for key in ["message", "param", "code", "type", "detail"] {
        add(error.get(key));
        add(body.get(key));
    }
    for item in body.get("detail").and_then(Value::as_array).into_iter().flatten() {
        add(item.get("msg"));
        for place in item.get("loc").and_then(Value::as_array).into_iter().flatten() {
            add(Some(place));
        }
    }
    found.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_show_codes_and_no_words() {
        let body = br#"{"error":{"message":"Your prompt 'my diary' with response_format is bad",
                "type":"invalid_request_error","code":null}}"#;
        let failure = CallFailure::from_status(400, "http://h:1", body);
        assert_eq!(
            failure.message(),
            "server `http://h:1` answered with status `400` (invalid_request_error)"
        );
        assert!(failure.mentions_word("response_format") && failure.mentions_word("diary"));
        let leak = CallFailure::from_status(
            401,
            "http://h:1",
            br#"{"error":{"code":"sk-abcdef","type":"Key ABC is wrong"}}"#,
        );
        assert_eq!(leak.message(), "server `http://h:1` answered with status `401`");
        assert_eq!(leak.into_error(ErrorKind::Llm).hint(), Some(CHECK_KEY));
    }

    #[test]
    fn a_request_that_is_not_valid_is_refused_whatever_the_status() {
        let body = br#"{"error":{
                "message":"1 validation error:\n {'loc': ('body', 'response_format', 'type')}",
                "type":"internal_server_error"}}"#;
        let failure = CallFailure::from_status(500, "http://h:1", body);
        assert!(
            !failure.is_temporary()
                && !failure.is_outage()
                && failure.mentions_word("response_format")
        );
        assert_eq!(
            failure.message(),
            "server `http://h:1` answered with status `500` (internal_server_error)"
        );
        assert!(CallFailure::from_status(500, "http://h:1", b"validation error").is_temporary());
    }

    #[test]
    fn explanations_are_found_in_every_usual_form() {
        for body in [
            r#"{"error":"response_format unknown"}"#,
            r#"{"message":"response_format unknown"}"#,
            r#"{"detail":"response_format unknown"}"#,
            concat!(
                r#"{"detail":[{"loc":["body","response_format"],"msg":"extra","#,
                r#""input":{"temperature":0}}]}"#,
            ),
            "unknown field response_format",
        ] {
            let failure = CallFailure::from_status(422, "h", body.as_bytes());
            assert!(failure.mentions_word("response_format"), "{body}");
            assert!(
                !failure.mentions_word("temperature"),
                "an echo of the request is no explanation"
            );
        }
    }

    #[test]
    fn what_is_tried_again_and_what_speaks_against_the_server() {
        for status in [400, 401, 403, 404, 413, 422, 501, 301] {
            let failure = CallFailure::from_status(status, "h", b"");
            assert!(!failure.is_temporary() && !failure.is_outage(), "{status}");
        }
        for status in [408, 409, 500, 502, 503, 529] {
            let failure = CallFailure::from_status(status, "h", b"");
            assert!(failure.is_temporary() && failure.is_outage(), "{status}");
        }
        let limit =
            CallFailure::from_status(429, "h", br#"{"error":{"code":"rate_limit_exceeded"}}"#);
        assert!(limit.is_temporary() && limit.is_rate_limit() && !limit.is_outage());
        let quota =
            CallFailure::from_status(429, "h", br#"{"error":{"code":"insufficient_quota"}}"#);
        assert!(quota.is_temporary() && !quota.is_rate_limit() && quota.is_outage());
        assert!(!CallFailure::new(FailureCause::Unusable, "x").is_temporary());
        assert!(CallFailure::new(FailureCause::Unusable, "x").is_outage());
    }
}
