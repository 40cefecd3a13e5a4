//! The one error type of the engine.
//!
//! An [`Error`] has a kind ([`ErrorKind`], on which callers branch), a context (one line for
//! people) and a cause (the chain of [`std::error::Error::source`]). It never contains a secret, a
//! prompt or the text of a message. The Python package maps each kind to one exception class.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of every fallible function of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of a failure, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller passed an invalid value; nothing was changed.
    InvalidInput,
    /// A configuration value is unknown or out of its range.
    Config,
    /// Another process has held a lock of the store for too long; that process may hang.
    StoreLocked,
    /// The server of the store can't be reached, or refuses the request. Nothing was acknowledged.
    StoreUnavailable,
    /// The store lacks records that it had acknowledged: a standby without them was promoted, or a
    /// backup was restored. Nothing was overwritten.
    StoreRolledBack,
    /// A file of the store holds bytes that its format doesn't allow.
    CorruptStore,
    /// The store was written by a newer version of the format.
    UnsupportedFormat,
    /// The store was opened for reading only.
    ReadOnly,
    /// The operating system refused: disk full, missing permission, out of file handles.
    Io,
    /// The vectors on disk come from another embedding model or dimension.
    EmbeddingMismatch,
    /// The embedder failed.
    Embedding,
    /// The vector index failed.
    Index,
    /// The LLM endpoint failed, or its answer is unusable.
    Llm,
    /// The caller asked to stop (Ctrl-C, a cancelled task).
    Interrupted,
    /// The memory system was closed before the call.
    Closed,
    /// Another writer changed the records that a decision rested on. No caller sees this kind: the
    /// engine decides again.
    Conflict,
    /// An invariant of the engine is broken: a bug worth reporting.
    Internal,
}

impl ErrorKind {
    /// The stable name that crosses the language boundary.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::Config => "config",
            Self::StoreLocked => "store_locked",
            Self::StoreUnavailable => "store_unavailable",
            Self::StoreRolledBack => "store_rolled_back",
            Self::CorruptStore => "corrupt_store",
            Self::UnsupportedFormat => "unsupported_format",
            Self::ReadOnly => "read_only",
            Self::Io => "io",
            Self::EmbeddingMismatch => "embedding_mismatch",
            Self::Embedding => "embedding",
            Self::Index => "index",
            Self::Llm => "llm",
            Self::Interrupted => "interrupted",
            Self::Closed => "closed",
            Self::Conflict | Self::Internal => "internal",
        }
    }
}

/// A failure with its context; see the module documentation.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    context: String,
    hint: Option<String>,
    location: Option<(PathBuf, Option<u64>)>,
    /// The error number of the operating system.
    os_error: Option<i32>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// A failure of `kind`; `context` is one line, lower case, no full stop, the value last in
    /// backticks.
    pub fn new(kind: ErrorKind, context: impl Into<String>) -> Self {
        Self {
            kind,
            context: context.into(),
            hint: None,
            location: None,
            os_error: None,
            source: None,
        }
    }

    /// Shorthand for [`ErrorKind::InvalidInput`].
    pub fn invalid(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, context)
    }

    /// Shorthand for [`ErrorKind::Internal`].
    pub fn internal(context: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, context)
    }

    /// An operating-system failure on `path`.
    pub fn io(context: impl Into<String>, path: &Path, source: std::io::Error) -> Self {
        let hint = match source.kind() {
            std::io::ErrorKind::StorageFull => {
                Some("free some disk space and call again; nothing acknowledged was lost")
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => Some(
                "make the directory writable for this user, or open the store with \
                 `LightweightSearchSystem`",
            ),
            std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
                Some("a file stands where a directory should be; choose another path")
            }
            _ => None,
        };
        let os_error = os_error(&source);
        let mut error = Self::new(ErrorKind::Io, context).at_path(path, None).caused_by(source);
        error.hint = hint.map(str::to_owned);
        error.os_error = os_error;
        error
    }

    /// A copy for another caller that the same failure stopped; the cause becomes text.
    #[must_use]
    pub(crate) fn clone_flattened(&self) -> Self {
        let source = self.source.as_ref().map(|source| source.to_string().into());
        Self {
            kind: self.kind,
            context: self.context.clone(),
            hint: self.hint.clone(),
            location: self.location.clone(),
            os_error: self.os_error,
            source,
        }
    }

    /// Names the file, and the line (from 1) if the failure is about one.
    #[must_use]
    pub fn at_path(mut self, path: &Path, line: Option<u64>) -> Self {
        self.location = Some((path.to_owned(), line));
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn caused_by(
        mut self,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Attaches advice for the reader.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The kind of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Advice for the reader, if there is any.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The file the failure is about.
    pub fn path(&self) -> Option<&Path> {
        self.location.as_ref().map(|(path, _)| path.as_path())
    }

    /// The line of that file, from 1.
    pub fn line(&self) -> Option<u64> {
        self.location.as_ref().and_then(|(_, line)| *line)
    }

    /// The operating system's error number, if the system reported the failure.
    pub fn error_number(&self) -> Option<i32> {
        self.os_error
    }

    /// The whole chain in one line: context, then each cause.
    pub fn cause_chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
        text
    }
}

/// The error number in an I/O error. Looks through wrappers that only add words.
fn os_error(error: &std::io::Error) -> Option<i32> {
    error.raw_os_error().or_else(|| {
        let mut cause = std::error::Error::source(error);
        std::iter::from_fn(|| {
            let current = cause?;
            cause = current.source();
            Some(current)
        })
        .find_map(|inner| inner.downcast_ref::<std::io::Error>()?.raw_os_error())
        .or_else(|| number_of(error.kind()))
    })
}

/// The error number of a failure that was found without a system call. These numbers are the same
/// on every Unix.
fn number_of(kind: std::io::ErrorKind) -> Option<i32> {
    use std::io::ErrorKind as Kind;
    Some(match kind {
        Kind::NotFound => 2,
        Kind::PermissionDenied => 13,
        Kind::AlreadyExists => 17,
        Kind::NotADirectory => 20,
        Kind::IsADirectory => 21,
        Kind::StorageFull => 28,
        Kind::ReadOnlyFilesystem => 30,
        _ => return None,
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)?;
        match &self.location {
            Some((path, Some(line))) => write!(f, " in `{}` line {line}", path.display()),
            Some((path, None)) => write!(f, " in `{}`", path.display()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_is_one_line_with_place() {
        let error = Error::new(ErrorKind::CorruptStore, "record is not valid JSON")
            .at_path(Path::new("memories/a.jsonl"), Some(3));
        assert_eq!(error.to_string(), "record is not valid JSON in `memories/a.jsonl` line 3");
        assert_eq!(error.line(), Some(3));
    }

    #[test]
    fn the_number_of_the_operating_system_is_kept() {
        let bare = std::io::Error::from_raw_os_error(28);
        assert_eq!(Error::io("cannot append", Path::new("x"), bare).error_number(), Some(28));
        let wrapped = fs_err::File::open("/no such folder/file").unwrap_err();
        let error = Error::io("cannot open", Path::new("x"), wrapped);
        assert_eq!(
            (error.error_number(), error.clone_flattened().error_number()),
            (Some(2), Some(2))
        );
    }

    #[test]
    fn chain_ends_with_the_cause() {
        let cause = std::io::Error::other("device gone");
        let error = Error::io("cannot append", Path::new("x"), cause);
        assert_eq!(error.cause_chain(), "cannot append in `x`: device gone");
    }
}
