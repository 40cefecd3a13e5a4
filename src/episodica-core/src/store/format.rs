//! The format version, stated in `episodica.json` at the root of the store.

use serde::{Deserialize, Serialize};

use super::backend::FileBackend;
use super::files::{io_error, read_file, replace_file};
use super::layout::{LogKind, StoreLayout};
use crate::error::{Error, ErrorKind, Result};

/// The format version that this code writes. It reads this version and all older ones.
pub const FORMAT_VERSION: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct StoreFormat {
    format_version: u32,
    #[serde(default)]
    created_by: String,
}

/// The version that the store states; `None` if it states none.
///
/// # Errors
/// `UnsupportedFormat` for a newer version, and for a folder of Nemori; `CorruptStore` for an
/// unreadable version file; `Io`.
pub(super) fn check_version(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
) -> Result<Option<u32>> {
    let path = layout.format_path();
    let Some(bytes) = read_file(backend, &path, "cannot read the version of the store")? else {
        return refuse_foreign(backend, layout).map(|()| None);
    };
    let format: StoreFormat = serde_json::from_slice(&bytes).map_err(|error| {
        let hint = format!(
            "if no newer version wrote the store, write {{\"format_version\":{FORMAT_VERSION}}} \
             into the file"
        );
        Error::new(ErrorKind::CorruptStore, "the version of the store can't be read")
            .at_path(&path, Some(1))
            .caused_by(error)
            .with_hint(hint)
    })?;
    if format.format_version > FORMAT_VERSION {
        let message = format!(
            "the store has format {}, written by `{}`; this version reads up to `{FORMAT_VERSION}`",
            format.format_version, format.created_by
        );
        return Err(Error::new(ErrorKind::UnsupportedFormat, message)
            .at_path(&path, None)
            .with_hint("update episodica"));
    }
    Ok(Some(format.format_version))
}

/// Writes the current version, durably.
///
/// # Errors
/// `Io`.
pub(super) fn write_version(backend: &dyn FileBackend, layout: &StoreLayout) -> Result<()> {
    let format = StoreFormat {
        format_version: FORMAT_VERSION,
        created_by: format!("episodica {}", env!("CARGO_PKG_VERSION")),
    };
    let mut bytes = serde_json::to_vec(&format)
        .map_err(|error| Error::internal("format has no JSON form").caused_by(error))?;
    bytes.push(b'\n');
    replace_file(backend, &layout.format_path(), &bytes)
}

/// Refuses a folder of Nemori: it has logs of episodes or facts, but no log of messages.
fn refuse_foreign(backend: &dyn FileBackend, layout: &StoreLayout) -> Result<()> {
    let has_logs = |kind: LogKind| -> Result<bool> {
        let directory = layout.root().join(kind.name());
        let entries = backend.list_dir(&directory);
        let entries =
            entries.map_err(|error| io_error("cannot list the directory", &directory, error))?;
        let is_log = |name: &str| name.ends_with(".jsonl") || name.ends_with(".json");
        Ok(entries.iter().any(|(name, _)| is_log(name)))
    };
    if has_logs(LogKind::Messages)?
        || !(has_logs(LogKind::Episodes)? || has_logs(LogKind::Semantic)?)
    {
        return Ok(());
    }
    let message = "the folder is not a store of episodica, but looks like one of Nemori";
    let hint = format!(
        "`episodica --store NEW import {}` copies its memories into a new store",
        layout.root().display()
    );
    Err(Error::new(ErrorKind::UnsupportedFormat, message)
        .at_path(layout.root(), None)
        .with_hint(hint))
}
