//! Nemori's oldest file format: one JSON array per user, `<user>.json` or `<user>_episodes.json`.
//! Its records become lines of the log.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::backend::{EntryKind, FileBackend, parent_of};
use super::files::{self, io_error, replace_file};
use super::layout::{LogKind, StoreLayout};
use super::line::encode_line;
use super::quarantine;
use crate::error::Result;
use crate::ids::{Owner, encode_file_name};
use crate::model::StoreProblem;

/// The possible paths of a user's array.
pub(super) fn candidates(layout: &StoreLayout, owner: &Owner, kind: LogKind) -> Vec<PathBuf> {
    let directory = layout.tenant_root(&owner.tenant).join(kind.name());
    let encoded = encode_file_name(&owner.user);
    // The literal name is tried only if it is a valid file name and cannot be the encoding of
    // another user.
    let literal = !owner.user.contains(['/', '\\', '\0', '%', '^', '~'])
        && !owner.user.starts_with('.')
        && owner.user.len() < 200;
    let mut names = vec![encoded.clone()];
    if literal && owner.user != encoded {
        names.push(owner.user.clone());
    }
    names
        .iter()
        .flat_map(|name| {
            [format!("_{}.json", kind.name()), ".json".into()]
                .map(|ending| directory.join(name.clone() + &ending))
        })
        .collect()
}

/// The objects of the array as lines without checksum; unreadable objects are reported as problems.
///
/// # Errors
/// `Io`.
pub(super) fn read(
    backend: &dyn FileBackend,
    path: &Path,
    problems: &mut Vec<StoreProblem>,
) -> Result<Vec<Vec<u8>>> {
    let Some(bytes) = files::read(backend, path, "cannot read the file")? else {
        return Ok(Vec::new());
    };
    let rows: Vec<&RawValue> = serde_json::from_slice(&bytes).unwrap_or_else(|error| {
        problems.push(StoreProblem {
            path: path.to_owned(),
            line: Some(error.line() as u64),
            message: format!("the file is not a JSON array of records: {error}"),
            remedy: "it is kept as it is; correct it by hand and put it back".into(),
            mended: false,
        });
        Vec::new()
    });
    let (objects, others): (Vec<&RawValue>, Vec<&RawValue>) =
        rows.into_iter().partition(|row| row.get().starts_with('{'));
    if !others.is_empty() {
        problems.push(StoreProblem {
            path: path.to_owned(),
            line: None,
            message: format!("elements of the array are not records: `{}`", others.len()),
            remedy: "the file is kept as it is; the records in it were read".into(),
            mended: false,
        });
    }
    let lines = objects.iter().map(|row| row.get().replace(['\n', '\r'], " ").into_bytes());
    Ok(lines.collect())
}

#[derive(Deserialize)]
struct LegacyId {
    #[serde(alias = "memory_id")]
    episode_id: Option<String>,
}

fn id_of(line: &[u8]) -> Option<String> {
    serde_json::from_slice::<LegacyId>(line).ok()?.episode_id
}

/// Moves the records of legacy files into the log at `log`. A crash can leave both files; records
/// whose id is already in the log are not moved again.
///
/// # Errors
/// `Io`; the legacy file is then still in place.
pub(super) fn convert(
    backend: &dyn FileBackend,
    layout: &StoreLayout,
    owner: &Owner,
    kind: LogKind,
    log: &Path,
    problems: &mut Vec<StoreProblem>,
) -> Result<()> {
    for path in candidates(layout, owner, kind) {
        let fail = |error| io_error("cannot convert the file", &path, error);
        let Some(stamp) = backend.stat(&path).map_err(fail)? else { continue };
        // On a case-insensitive file system, the name may belong to another user.
        let exact = backend.list_dir(parent_of(&path)).map_err(fail)?;
        if stamp.kind != EntryKind::File
            || !exact
                .iter()
                .any(|(name, _)| path.file_name().is_some_and(|want| want == name.as_str()))
        {
            continue;
        }
        let found = problems.len();
        let rows = read(backend, &path, problems)?;
        let mut bytes = files::read(backend, log, "cannot read the log")?.unwrap_or_default();
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            bytes.push(b'\n');
        }
        let known: HashSet<String> = bytes.split(|byte| *byte == b'\n').filter_map(id_of).collect();
        for row in rows {
            if id_of(&row).is_none_or(|id| !known.contains(&id)) {
                let text = String::from_utf8_lossy(&row).into_owned();
                if let Ok(raw) = RawValue::from_string(text) {
                    // Only `{}` can't become a line, and it contains no data.
                    let _ = encode_line(&mut bytes, &raw);
                }
            }
        }
        replace_file(backend, log, &bytes)?;
        if problems.len() > found {
            backend.rename(&path, &quarantine::path_for(&path)).map_err(fail)?;
        } else {
            backend.remove_file(&path).map_err(fail)?;
        }
        backend.sync_dir(parent_of(&path)).map_err(fail)?;
    }
    Ok(())
}
