//! Classifies database failures: unavailable, refused, or a bug.

use episodica_core::{Error, ErrorKind};
use tokio_postgres::error::SqlState;

#[derive(Debug)]
pub(crate) struct DatabaseFailure {
    /// True if the same request may succeed later or on another connection.
    pub is_away: bool,
    pub error: Box<Error>,
}

impl DatabaseFailure {
    /// The database is unreachable.
    pub fn away(what: impl Into<String>) -> Self {
        let hint = "nothing was acknowledged: call again once the database answers";
        let error = Error::new(ErrorKind::StoreUnavailable, what).with_hint(hint);
        Self { is_away: true, error: Box::new(error) }
    }

    fn caused_by(self, said: String) -> Self {
        Self { error: Box::new(self.error.caused_by(said)), ..self }
    }

    /// A failure that would recur.
    pub fn lasting(error: Error) -> Self {
        Self { is_away: false, error: Box::new(error) }
    }
}

impl From<DatabaseFailure> for Error {
    fn from(failure: DatabaseFailure) -> Self {
        *failure.error
    }
}

/// The chain of causes in one line. (The driver's errors contain no parameter values.)
fn cause_chain(error: &tokio_postgres::Error) -> String {
    let mut text = match error.as_db_error() {
        Some(refusal) => return format!("{} ({})", refusal.message(), refusal.code().code()),
        None => error.to_string(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

impl From<tokio_postgres::Error> for DatabaseFailure {
    fn from(error: tokio_postgres::Error) -> Self {
        let said = cause_chain(&error);
        let Some(code) = error.code() else {
            return Self::away("the database is unreachable").caused_by(said);
        };
        let made = |kind, context: &str, hint: &str| {
            Self::lasting(Error::new(kind, context).with_hint(hint).caused_by(said.clone()))
        };
        match *code {
            SqlState::DISK_FULL => made(
                ErrorKind::Io,
                "the database has no room left",
                "free some disk space there and call again; nothing acknowledged was lost",
            ),
            SqlState::INSUFFICIENT_PRIVILEGE => made(
                ErrorKind::ReadOnly,
                "the database does not allow that to this role",
                "connect as the owner of the tables, or let the owner run `episodica store grant`",
            ),
            SqlState::READ_ONLY_SQL_TRANSACTION => {
                let error =
                    Error::new(ErrorKind::StoreUnavailable, "the server is a read-only standby")
                        .with_hint(
                            "name the primary, or all servers with target_session_attrs=read-write",
                        );
                Self { is_away: true, error: Box::new(error.caused_by(said)) }
            }
            SqlState::INVALID_CATALOG_NAME
            | SqlState::INVALID_PASSWORD
            | SqlState::INVALID_AUTHORIZATION_SPECIFICATION => made(
                ErrorKind::StoreUnavailable,
                "the database refuses the connection",
                "check user, password and name of the database",
            ),
            SqlState::UNDEFINED_TABLE
            | SqlState::UNDEFINED_COLUMN
            | SqlState::INVALID_SCHEMA_NAME => made(
                ErrorKind::UnsupportedFormat,
                "the tables of the store are missing or have another form",
                "run `episodica store check`",
            ),
            _ => {
                let class = &code.code()[..2];
                // SQLSTATE classes: connection, resources, operator intervention, rollback, object
                // state.
                if matches!(class, "08" | "53" | "57" | "40" | "55") {
                    return Self::away("the database does not answer").caused_by(said);
                }
                Self::lasting(
                    Error::new(ErrorKind::StoreUnavailable, "the database refuses a request")
                        .caused_by(said),
                )
            }
        }
    }
}
