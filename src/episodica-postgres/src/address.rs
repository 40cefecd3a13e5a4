//! The address of a database, completed from the environment variables that all PostgreSQL clients
//! read.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use episodica_core::{Error, ErrorKind, Result};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Maximum number of connections per process, unless the address sets it.
const POOL_SIZE: usize = 8;
/// Deadline of one operation including retries, in seconds.
const DEADLINE_SECONDS: f64 = 10.0;
/// Timeout for connecting, in seconds.
const CONNECT_SECONDS: f64 = 5.0;
/// Name of the schema that contains the tables.
const SCHEMA: &str = "episodica";

/// How the server's certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TlsTrust {
    /// Not at all, as with libpq's `prefer` and `require`.
    Anyone,
    /// By the system's root certificates, for the host's name.
    System,
    /// By the root certificates in this file, for the host's name.
    File(PathBuf),
}

/// An address of a store.
#[derive(Clone)]
pub struct StoreAddress {
    pub(crate) config: Config,
    pub(crate) trust: TlsTrust,
    pub(crate) schema: String,
    pub(crate) pool_size: usize,
    pub(crate) deadline: Duration,
    pub(crate) staleness: Duration,
    /// True if reads use the data in memory while the database is unavailable.
    pub(crate) reads_when_away: bool,
    shown: String,
}

impl std::fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl StoreAddress {
    /// True if a text is an address rather than a path.
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgresql://") || text.starts_with("postgres://")
    }

    /// Parses `postgresql://user@host:port/database?…`. Missing parts come from `PGHOST`, `PGPORT`,
    /// `PGUSER`, `PGPASSWORD`, `PGDATABASE`, `PGSSLMODE`, `PGSSLROOTCERT`, `PGAPPNAME` and
    /// `PGCONNECT_TIMEOUT`, as `variable` returns them. In addition to libpq's parameters, it
    /// accepts `schema`, `pool_size`, `deadline_seconds`, `max_staleness_seconds` and
    /// `reads_when_away`.
    ///
    /// # Errors
    /// `Config`; the message never contains the password.
    pub fn parse(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let mut own = OwnParameters::default();
        let mut rest = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if !own.take_parameter(key, &percent_decoded(value))? {
                rest.push(pair);
            }
        }
        let plain =
            if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        let mut config = Config::from_str(&plain).map_err(|error| {
            address_error("the address of the store can't be read").caused_by(error.to_string())
        })?;
        complete_config(&mut config, variable)?;
        let mode = own.ssl_mode.or_else(|| variable("PGSSLMODE"));
        let root = own.root_certificates.or_else(|| variable("PGSSLROOTCERT"));
        let trust = set_encryption(&mut config, mode.as_deref(), root)?;
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs_f64(CONNECT_SECONDS));
        }
        let schema = own.schema.unwrap_or_else(|| SCHEMA.to_owned());
        let shown = format_address(&config, &schema);
        Ok(Self {
            config,
            trust,
            schema,
            pool_size: own.pool_size.unwrap_or(POOL_SIZE),
            deadline: Duration::from_secs_f64(own.deadline.unwrap_or(DEADLINE_SECONDS)),
            staleness: Duration::from_secs_f64(own.staleness.unwrap_or(0.0)),
            reads_when_away: own.reads_when_away,
            shown,
        })
    }

    /// The address without user and password.
    pub fn public_address(&self) -> &str {
        &self.shown
    }
}

/// Parameters that `tokio-postgres` does not know.
#[derive(Default)]
struct OwnParameters {
    schema: Option<String>,
    pool_size: Option<usize>,
    deadline: Option<f64>,
    staleness: Option<f64>,
    reads_when_away: bool,
    ssl_mode: Option<String>,
    root_certificates: Option<String>,
}

impl OwnParameters {
    fn take_parameter(&mut self, key: &str, value: &str) -> Result<bool> {
        match key {
            "schema" => {
                let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                let is_good = !value.is_empty() && value.len() <= 50 && value.chars().all(is_name);
                if !is_good {
                    return Err(address_error(&format!(
                        "schema must be up to 50 lower-case letters, digits and underscores: \
                         `{value}`"
                    )));
                }
                self.schema = Some(value.to_owned());
            }
            "pool_size" => self.pool_size = Some(parse_number(key, value, 1.0, 1_000.0)? as usize),
            "deadline_seconds" => self.deadline = Some(parse_number(key, value, 0.1, 3_600.0)?),
            "max_staleness_seconds" => {
                self.staleness = Some(parse_number(key, value, 0.0, 86_400.0)?)
            }
            "reads_when_away" => {
                self.reads_when_away = match value {
                    "true" => true,
                    "false" => false,
                    _ => {
                        return Err(address_error(&format!(
                            "{key} must be true or false: `{value}`"
                        )));
                    }
                }
            }
            "sslmode" => self.ssl_mode = Some(value.to_owned()),
            "sslrootcert" => self.root_certificates = Some(value.to_owned()),
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn address_error(text: &str) -> Error {
    Error::new(ErrorKind::Config, text).with_hint("for example postgresql://user@host/database")
}

fn parse_number(key: &str, value: &str, least: f64, most: f64) -> Result<f64> {
    let number = value.parse::<f64>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        Error::new(
            ErrorKind::Config,
            format!("{key} must be between {least} and {most}: `{value}`"),
        )
    })
}

/// Decodes percent-encoding.
fn percent_decoded(text: &str) -> String {
    let (bytes, mut plain, mut at) = (text.as_bytes(), Vec::new(), 0);
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                plain.push(byte);
                at += 3;
            }
            (byte, _) => {
                plain.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Fills missing parts of the address from the environment.
fn complete_config(config: &mut Config, variable: &dyn Fn(&str) -> Option<String>) -> Result<()> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let sockets = ["/var/run/postgresql", "/tmp"];
        let here = || {
            let port = set("PGPORT").unwrap_or_else(|| "5432".to_owned());
            let is_there = |folder: &&str| {
                std::path::Path::new(folder).join(format!(".s.PGSQL.{port}")).exists()
            };
            sockets.into_iter().find(is_there).unwrap_or("localhost").to_owned()
        };
        for host in set("PGHOST").unwrap_or_else(here).split(',') {
            config.host(host);
        }
    }
    if config.get_ports().is_empty()
        && let Some(ports) = set("PGPORT")
    {
        for port in ports.split(',') {
            let port =
                port.parse().map_err(|_| address_error(&format!("PGPORT is no port: `{port}`")))?;
            config.port(port);
        }
    }
    if config.get_user().is_none() {
        let user = set("PGUSER").or_else(|| set("USER")).or_else(|| set("LOGNAME"));
        config.user(user.ok_or_else(|| address_error("the address of the store names no user"))?);
    }
    if config.get_password().is_none()
        && let Some(password) = set("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_dbname().is_none() {
        let name = set("PGDATABASE");
        let user = config.get_user().map(str::to_owned);
        config.dbname(name.or(user).unwrap_or_default());
    }
    if config.get_application_name().is_none() {
        config.application_name(set("PGAPPNAME").unwrap_or_else(|| "episodica".to_owned()));
    }
    if config.get_connect_timeout().is_none()
        && let Some(seconds) = set("PGCONNECT_TIMEOUT").and_then(|text| text.parse().ok())
    {
        config.connect_timeout(Duration::from_secs(seconds));
    }
    Ok(())
}

/// Sets the encryption mode; returns how certificates are verified.
fn set_encryption(
    config: &mut Config,
    mode: Option<&str>,
    root: Option<String>,
) -> Result<TlsTrust> {
    let by_root = |root: Option<String>| match root.as_deref() {
        None | Some("" | "system") => TlsTrust::System,
        Some(path) => TlsTrust::File(path.into()),
    };
    let (ssl, trust) = match mode {
        Some("disable") => (SslMode::Disable, TlsTrust::Anyone),
        None | Some("allow" | "prefer") => (SslMode::Prefer, TlsTrust::Anyone),
        // As in libpq, `require` verifies the certificate if there are root certificates.
        Some("require") if root.is_some() => (SslMode::Require, by_root(root)),
        Some("require") => (SslMode::Require, TlsTrust::Anyone),
        Some("verify-ca" | "verify-full") => (SslMode::Require, by_root(root)),
        Some(other) => {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "sslmode must be disable, prefer, require, verify-ca or verify-full: `{other}`"
                ),
            ));
        }
    };
    config.ssl_mode(ssl);
    Ok(trust)
}

fn format_address(config: &Config, schema: &str) -> String {
    let ports = config.get_ports();
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .enumerate()
        .map(|(at, host)| {
            let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
            let name = match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(path) => path.display().to_string(),
            };
            if port == 5432 { name } else { format!("{name}:{port}") }
        })
        .collect();
    let database = config.get_dbname().unwrap_or_default();
    let schema = if schema == SCHEMA { String::new() } else { format!("?schema={schema}") };
    format!("postgresql://{}/{database}{schema}", hosts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, variables: &[(&str, &str)]) -> Result<StoreAddress> {
        StoreAddress::parse(text, &|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn no_password_is_shown() {
        let address = parsed("postgresql://me:secret@db.example:6432/mem?schema=a_1", &[]).unwrap();
        assert_eq!(address.public_address(), "postgresql://db.example:6432/mem?schema=a_1");
        assert!(!format!("{address:?}").contains("secret"));
        for broken in ["postgresql://me:secret@h:port/x", "postgresql://me:secret@h/x?sslmode=on"] {
            let error = parsed(broken, &[]).unwrap_err();
            assert!(!error.cause_chain().contains("secret"), "{}", error.cause_chain());
        }
    }

    #[test]
    fn what_the_address_lacks_comes_from_the_environment() {
        let variables = [
            ("PGHOST", "db1,db2"),
            ("PGPORT", "5433"),
            ("PGUSER", "me"),
            ("PGPASSWORD", "secret"),
            ("PGDATABASE", "mem"),
            ("PGSSLMODE", "verify-full"),
        ];
        let address = parsed("postgresql://", &variables).unwrap();
        assert_eq!(address.public_address(), "postgresql://db1:5433,db2:5433/mem");
        assert_eq!(address.trust, TlsTrust::System);
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        let given = parsed("postgresql://you@host/other?sslmode=disable", &variables).unwrap();
        assert_eq!(given.config.get_user(), Some("you"));
        assert_eq!(given.config.get_ssl_mode(), SslMode::Disable);
    }

    #[test]
    fn own_parameters_have_bounds() {
        let said = |text: &str| parsed(text, &[]).unwrap_err().to_string();
        assert_eq!(
            said("postgresql://me@h/d?pool_size=0"),
            "pool_size must be between 1 and 1000: `0`"
        );
        assert_eq!(
            said("postgresql://me@h/d?schema=a%22b"),
            "schema must be up to 50 lower-case letters, digits and underscores: `a\"b`"
        );
        let address =
            parsed("postgresql://me@h/d?max_staleness_seconds=2.5&pool_size=3", &[]).unwrap();
        assert_eq!((address.staleness.as_secs_f64(), address.pool_size), (2.5, 3));
    }
}
