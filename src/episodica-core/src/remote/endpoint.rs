//! The address of a server and how to call it.

use std::fmt;

use reqwest::Url;
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::config::{NumberBounds, SettingKind, SettingRow};
use crate::error::{Error, ErrorKind, Result};

/// A secret text: an API key, the value of a header, or an address that contains a password.
///
/// Formatting and serialising write `***`, so the secret cannot be read back.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    /// Stores `text` without surrounding white space (keys read from files end in a line break).
    pub fn new(text: impl AsRef<str>) -> Self {
        Self(text.as_ref().trim().to_owned())
    }

    /// The secret itself, for sending only.
    pub(crate) fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

impl<'de> Deserialize<'de> for SecretText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Deserialises to a JSON value first, since an error about a wrong type would quote the
        // secret.
        match serde_json::Value::deserialize(deserializer) {
            Ok(serde_json::Value::String(text)) => Ok(Self::new(text)),
            _ => Err(D::Error::custom("a secret is not a string")),
        }
    }
}

/// One server with its timeouts, retries and circuit breaker. Unknown names in JSON are errors;
/// only `base_url` has no default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteEndpoint {
    /// Address without the final `/chat/completions`, for example `https://api.openai.com/v1`. A
    /// query (`?api-version=...`) is kept.
    pub base_url: String,
    /// Sent as `Authorization: Bearer ...`.
    pub api_key: Option<SecretText>,
    /// Sent as `OpenAI-Organization`.
    pub organization: Option<String>,
    /// Sent with every request; the values are secret. In JSON an object, or a list of pairs.
    #[serde(deserialize_with = "headers")]
    pub headers: Vec<(String, SecretText)>,
    /// Maximum duration of one attempt, from connecting to the last byte of the answer. Above 0, at
    /// most 3600.
    pub timeout_seconds: f64,
    /// Address of an HTTP proxy, which may contain a password. Proxies from other sources are not
    /// used.
    pub proxy: Option<SecretText>,
    /// Maximum number of requests per call, 1 to 10.
    pub max_attempts: u32,
    /// Wait before the second attempt, doubled before each further one. 0 to 60.
    pub retry_wait_seconds: f64,
    /// Number of consecutive failed attempts that opens the circuit breaker, at least 1.
    pub breaker_failures: u32,
    /// Time for which an open circuit breaker rejects all calls before it admits one as a test. 0
    /// to 3600.
    pub breaker_seconds: f64,
}

impl Default for RemoteEndpoint {
    fn default() -> Self {
        Self {
            base_url: String::new(),
            api_key: None,
            organization: None,
            headers: Vec::new(),
            timeout_seconds: 60.0,
            proxy: None,
            max_attempts: 3,
            retry_wait_seconds: 1.0,
            breaker_failures: 5,
            breaker_seconds: 60.0,
        }
    }
}

impl RemoteEndpoint {
    /// The server at `base_url`, with defaults for all other settings.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self { base_url: base_url.into(), ..Self::default() }
    }

    /// Checks every value and parses the address.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], naming the value that is out of bounds.
    pub(crate) fn checked_url(&self) -> Result<Url> {
        let fail = |text: &str| Err(Error::new(ErrorKind::Config, text));
        let url = match Url::parse(self.base_url.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
            _ => {
                return Err(Error::new(
                    ErrorKind::Config,
                    "base_url of the endpoint is not an http or https address",
                )
                .with_hint(
                    "write it like `https://api.openai.com/v1` or `http://localhost:11434/v1`",
                ));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return fail("base_url of the endpoint holds a user name or password; use `headers`");
        }
        for setting in self.settings() {
            let value = setting.default.as_f64().unwrap_or(f64::NAN);
            setting.bounds.check_value(setting.name, value, value)?;
        }
        Ok(url)
    }

    /// The table of all numeric settings: names, defaults, bounds and documentation.
    pub fn schema() -> Vec<SettingRow> {
        Self::default().settings()
    }

    /// The table with this endpoint's values in place of the defaults.
    fn settings(&self) -> Vec<SettingRow> {
        let number = |name, value: f64, bounds, documentation: &str| SettingRow {
            name,
            kind: SettingKind::Number,
            default: value.into(),
            bounds,
            documentation: documentation.to_owned(),
        };
        let whole = |name, value: u32, bounds, documentation: &str| SettingRow {
            kind: SettingKind::Integer,
            default: value.into(),
            ..number(name, 0.0, bounds, documentation)
        };
        vec![
            number(
                "timeout_seconds",
                self.timeout_seconds,
                NumberBounds::between(0.001, 3600.0),
                "Maximum wait for one attempt, from connecting to the last byte of the answer.",
            ),
            whole(
                "max_attempts",
                self.max_attempts,
                NumberBounds::between(1.0, 10.0),
                "Maximum number of requests for one call; another one follows only after network \
                 errors and the statuses 408, 409, 429 and 5xx.",
            ),
            number(
                "retry_wait_seconds",
                self.retry_wait_seconds,
                NumberBounds::between(0.0, 60.0),
                "Wait before the second request, doubled before each further one.",
            ),
            whole(
                "breaker_failures",
                self.breaker_failures,
                NumberBounds::between(1.0, f64::from(u32::MAX)),
                "Failed requests in a row after which no call is sent for `breaker_seconds`.",
            ),
            number(
                "breaker_seconds",
                self.breaker_seconds,
                NumberBounds::between(0.0, 3600.0),
                "How long no call is sent after that, until a single call tests the endpoint.",
            ),
        ]
    }
}

fn headers<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(String, SecretText)>, D::Error> {
    struct HeaderPairs;
    impl<'de> Visitor<'de> for HeaderPairs {
        type Value = Vec<(String, SecretText)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object of headers or a list of pairs")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = map.next_entry()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut pairs = Vec::new();
            while let Some(pair) = list.next_element()? {
                pairs.push(pair);
            }
            Ok(pairs)
        }
    }
    deserializer.deserialize_any(HeaderPairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_shows_itself() {
        let json = concat!(
            r#"{"base_url":"https://h/v1","api_key":"sk-1234\n","headers":{"X-Key":"hush"},"#,
            r#""proxy":"http://u:word@p:1"}"#,
        );
        let endpoint: RemoteEndpoint = serde_json::from_str(json).unwrap();
        assert_eq!(endpoint.api_key.as_ref().unwrap().expose_secret(), "sk-1234");
        let shown = format!(
            "{endpoint:?} {} {}",
            serde_json::to_string(&endpoint).unwrap(),
            endpoint.api_key.as_ref().unwrap()
        );
        for secret in ["1234", "hush", "word"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        let error = serde_json::from_str::<RemoteEndpoint>(r#"{"api_key": 987654}"#)
            .unwrap_err()
            .to_string();
        assert!(!error.contains("987654"), "{error}");
    }

    #[test]
    fn headers_come_as_an_object_or_as_pairs() {
        let object: RemoteEndpoint =
            serde_json::from_str(r#"{"base_url":"http://h","headers":{"A":"b"}}"#).unwrap();
        let pairs: RemoteEndpoint =
            serde_json::from_str(r#"{"base_url":"http://h","headers":[["A","b"]]}"#).unwrap();
        assert_eq!(object, pairs);
        assert!(serde_json::from_str::<RemoteEndpoint>(r#"{"base_uri":"http://h"}"#).is_err());
    }

    #[test]
    fn values_out_of_bounds_are_named() {
        assert!(RemoteEndpoint::new("http://localhost:1/v1?api-version=2").checked_url().is_ok());
        for url in ["", "localhost:8080", "ftp://h/", "/v1", "http://user:word@h/v1"] {
            let error = RemoteEndpoint::new(url).checked_url().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config);
            assert!(!error.to_string().contains("word@"));
        }
        let endpoint =
            RemoteEndpoint { timeout_seconds: f64::NAN, ..RemoteEndpoint::new("http://h") };
        assert_eq!(
            endpoint.checked_url().unwrap_err().to_string(),
            "timeout_seconds must be a finite number: `NaN`"
        );
        assert!(
            RemoteEndpoint { max_attempts: 0, ..RemoteEndpoint::new("http://h") }
                .checked_url()
                .is_err()
        );
    }
}
