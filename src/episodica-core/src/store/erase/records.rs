//! Removes records of a user whose logs are open.

use super::apply::{apply_erasure, finish_erasure, tainted_episodes};
use super::erasure::UserErasure;
use super::intents::{
    DeletionIntent, intent_path, place_intent, read_intent, remove_intent, settle_intent,
    sync_intent,
};
use crate::error::Result;
use crate::ids::Owner;
use crate::store::log::RecordLog;
use crate::store::shared::SharedStore;

/// Removes records, and every revision, quarantined copy, trace and cached model answer of them;
/// returns the number of removed or rewritten files. Calls `begun` when the deletion has begun:
/// from then on nothing may be appended until [`finish_records`] has succeeded.
///
/// # Errors
/// `Internal` if a current episode would keep one of the messages; `ReadOnly`; `Io`. After an `Io`
/// error, [`finish_records`] or opening the store finishes the deletion.
pub(in crate::store) fn erase_records(
    shared: &SharedStore,
    owner: &Owner,
    mut erasure: UserErasure,
    logs: [&mut RecordLog; 3],
    begun: impl FnOnce() -> Result<()>,
) -> Result<usize> {
    shared.check_writable()?;
    let path = intent_path(&shared.layout, owner);
    let earlier = read_intent(&*shared.backend, &path)?;
    if let Some(DeletionIntent { erasure: Some(mut earlier), .. }) = earlier {
        earlier.merge_later(erasure);
        erasure = earlier;
    }
    let tainted = tainted_episodes(&erasure, logs[1], true)?;
    place_intent(shared, owner, Some(erasure.clone()))?;
    begun()?;
    sync_intent(shared)?;
    let files = apply_erasure(shared, owner, &erasure, &tainted, logs)?;
    remove_intent(shared, &path)?;
    Ok(files)
}

/// Finishes an interrupted deletion, if there is one, before anything else is written.
///
/// # Errors
/// `Io`; call again.
pub(in crate::store) fn finish_records(
    shared: &SharedStore,
    owner: &Owner,
    logs: [&mut RecordLog; 3],
) -> Result<()> {
    let path = intent_path(&shared.layout, owner);
    let intent = read_intent(&*shared.backend, &path)?;
    if let Some(DeletionIntent { erasure: Some(erasure), .. }) = intent {
        finish_erasure(shared, owner, &erasure, logs)?;
        remove_intent(shared, &path)?;
    }
    settle_intent(shared, &path)
}
