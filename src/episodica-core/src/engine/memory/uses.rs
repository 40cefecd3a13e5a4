//! Counts how often episodes and facts were returned. Counts are kept in memory and added to their
//! file at closing, with a snapshot, or when messages are added after many uses. A search writes
//! nothing.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustc_hash::FxHashMap;

use crate::clock::Moment;
use crate::engine::memory::user::UserMemory;
use crate::engine::memory::view::UserView;
use crate::error::{ErrorKind, Result};
use crate::store::{OpenMode, RecordUse, Store};
use crate::sync::Mutex;

/// After this number of counted answers, the next call that adds messages writes the counts.
const DUE: usize = 256;

/// Uses that are not in the file yet.
#[derive(Default)]
pub(crate) struct UnsavedUses {
    counts: Mutex<FxHashMap<String, RecordUse>>,
    /// Answers counted since the last write.
    answers: AtomicUsize,
}

impl UnsavedUses {
    /// Counts one use of each record; messages count for their episodes.
    pub fn note_uses<'a>(&self, ids: impl IntoIterator<Item = &'a str>, now: Moment) {
        let mut counts = self.counts.lock();
        let one = RecordUse { uses: 1, last_used: now };
        for id in ids {
            match counts.get_mut(id) {
                Some(count) => *count = count.combined_with(one),
                None => drop(counts.insert(id.to_owned(), one)),
            }
        }
        drop(counts);
        self.answers.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds counts, such as those of a file that is about to be removed.
    pub fn add_counts(&self, more: impl IntoIterator<Item = (String, RecordUse)>) {
        let mut counts = self.counts.lock();
        for (id, count) in more {
            counts
                .entry(id)
                .and_modify(|known| *known = known.combined_with(count))
                .or_insert(count);
        }
    }

    pub fn take_counts(&self) -> FxHashMap<String, RecordUse> {
        self.answers.store(0, Ordering::Relaxed);
        std::mem::take(&mut *self.counts.lock())
    }

    /// True if enough answers were counted to write the file.
    pub fn is_due(&self) -> bool {
        self.answers.load(Ordering::Relaxed) >= DUE
    }
}

/// Counts by record. An episode's count includes the uses of its most used message.
fn by_record(
    view: &UserView,
    counts: impl IntoIterator<Item = (String, RecordUse)>,
) -> BTreeMap<String, RecordUse> {
    let (mut known, mut said) = (BTreeMap::new(), BTreeMap::<String, RecordUse>::new());
    for (id, count) in counts {
        if view.facts.slot_by_id(&id).or_else(|| view.episodes.slot_by_id(&id)).is_some() {
            known.insert(id, count);
            continue;
        }
        let episode = view.messages.slot_of(&id).and_then(|slot| view.episode_of(slot));
        let Some(episode) = episode.and_then(|slot| view.episodes.get(slot)) else { continue };
        let most = said.entry(episode.episode_id.clone()).or_insert(count);
        let last_used = most.last_used.max(count.last_used);
        *most = RecordUse { uses: most.uses.max(count.uses), last_used };
    }
    add_uses(&mut known, said);
    known
}

fn add_uses(
    counts: &mut BTreeMap<String, RecordUse>,
    more: impl IntoIterator<Item = (String, RecordUse)>,
) {
    for (id, count) in more {
        counts.entry(id).and_modify(|known| *known = known.combined_with(count)).or_insert(count);
    }
}

impl UserMemory {
    /// How often the user's episodes and facts were returned: by this process, and by other
    /// processes as far as they have written their counts.
    ///
    /// # Errors
    /// `Io`.
    pub fn use_counts(&self, store: &Store) -> Result<BTreeMap<String, RecordUse>> {
        let mut counts = store.read_uses(&self.owner)?;
        let fresh = self.uses.counts.lock().clone();
        add_uses(&mut counts, by_record(&self.view.read(), fresh));
        Ok(counts)
    }

    /// Adds the counts to the file, unless another process is writing it.
    ///
    /// # Errors
    /// `Io`: the counts are kept for the next time.
    pub fn save_uses(&self, store: &Store) -> Result<()> {
        match store.lock_caches(&self.owner, false) {
            Ok(Some(_caches)) => self.write_uses(store),
            Err(error) if error.kind() != ErrorKind::StoreLocked => Err(error),
            _ => Ok(()),
        }
    }

    /// [`UserMemory::save_uses`] for a caller that holds the lock of the caches.
    pub(super) fn write_uses(&self, store: &Store) -> Result<()> {
        let fresh = self.uses.take_counts();
        if fresh.is_empty() || store.open_mode() == OpenMode::ReadOnly {
            return Ok(());
        }
        let written = self.add_to_file(store, fresh.clone());
        if written.is_err() {
            self.uses.add_counts(fresh);
        }
        written
    }

    fn add_to_file(&self, store: &Store, fresh: FxHashMap<String, RecordUse>) -> Result<()> {
        // Nothing may be written about records that another process has erased.
        if self.is_outdated() || self.store.is_erasing() || !self.store.is_continued()? {
            return Ok(());
        }
        store.change_uses(&self.owner, &|known| {
            let view = self.view.read();
            let mut counts = by_record(&view, known);
            add_uses(&mut counts, by_record(&view, fresh.clone()));
            counts
        })
    }
}
