//! Log offsets and the lines after them, for readers that follow the logs without opening the user.
//!
//! A place is an offset in bytes, valid in one generation. An erasure notes the bytes that it
//! removed ([`ErasedLine`]), so a place of an older generation can be moved; the checksum of the
//! end of the line before the place confirms the result. Nothing is locked or written: logs that
//! change during a read are read again.

use super::codec::{ERASED_PREFIX, ErasedLine};
use super::layout::LogKind;
use super::line::check_line;
use super::log_store::LogEnds;
use super::store::Store;
use crate::error::Result;
use crate::ids::Owner;

/// A place's checksum covers at most this many bytes before it: the end of one line.
const ANCHOR_BYTES: u64 = 64;
/// Bytes of a log read at a time, unless a line is longer.
const CHUNK_BYTES: u64 = 4 << 20;
/// Attempts to read logs that keep changing. After the last attempt, the logs wait for the next
/// call.
const ATTEMPTS: usize = 20;

/// A place in one log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// Its offset; 0 = the beginning.
    pub bytes: u64,
    /// Checksum of the end of the line before it; 0 at the beginning.
    pub anchor: u32,
}

/// A place in each log of a user, in the order of [`LogKind::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserPlaces {
    /// The generation of the logs in which the places are valid.
    pub generation: u64,
    /// The places.
    pub logs: [LogPlace; 3],
}

/// The whole lines after a place.
#[derive(Debug, Clone, Default)]
pub struct LinesAfter {
    /// The lines, with their line feeds.
    bytes: Vec<u8>,
    /// The offset of the first line.
    start: u64,
    /// True if more lines follow than were read.
    pub has_more: bool,
}

impl LinesAfter {
    /// The whole lines without their line feeds, each with the place after it.
    pub fn whole_lines(&self) -> impl Iterator<Item = (LogPlace, &[u8])> {
        let mut at = self.start;
        self.bytes.split_inclusive(|byte| *byte == b'\n').filter_map(move |line| {
            at += line.len() as u64;
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            let place = LogPlace { bytes: at, anchor: line_anchor(line) };
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            check_line(text).is_ok().then_some((place, text))
        })
    }
}

/// The result of looking for new lines.
#[derive(Debug, Clone)]
pub enum LogLook {
    /// Lines after the places; the places are converted to the current generation.
    Lines(UserPlaces, [LinesAfter; 3]),
    /// The logs do not continue the part before the places: the user was deleted, or damaged lines
    /// were quarantined.
    Discontinued,
    /// A deletion is under way, or the logs change all the time: try again later.
    Busy,
}

impl Store {
    /// The ends of a user's logs; cheap.
    ///
    /// # Errors
    /// `Io`.
    pub fn log_ends(&self, owner: &Owner) -> Result<LogEnds> {
        self.logs.log_ends(owner)
    }

    /// Reads the lines after the places of a user, some megabytes at a time.
    ///
    /// # Errors
    /// `Io`.
    pub fn look_behind(&self, owner: &Owner, places: &UserPlaces) -> Result<LogLook> {
        for _ in 0..ATTEMPTS {
            let ends = self.log_ends(owner)?;
            if self.logs.is_erasing(owner)? {
                return Ok(LogLook::Busy);
            }
            let found = self.look_once(owner, places, &ends)?;
            let now = self.log_ends(owner)?;
            let is_same = ends.generation == now.generation
                && ends.files.iter().zip(now.files).all(|(before, now)| {
                    before.is_none_or(|(_, file)| now.is_some_and(|(_, now)| now == file))
                });
            if is_same && !self.logs.is_erasing(owner)? {
                return Ok(found);
            }
        }
        Ok(LogLook::Busy)
    }

    fn look_once(&self, owner: &Owner, places: &UserPlaces, ends: &LogEnds) -> Result<LogLook> {
        let mut placed = UserPlaces { generation: ends.generation, ..*places };
        let mut behind: [LinesAfter; 3] = Default::default();
        for kind in LogKind::ALL {
            let place = &mut placed.logs[kind as usize];
            let log = FollowedLog { store: self, owner, kind };
            if places.generation < ends.generation && place.bytes > 0 {
                *place = log.moved_place(*place, places.generation)?;
            }
            let end = ends.files[kind as usize].map_or(0, |(bytes, _)| bytes);
            if place.bytes > end || log.anchor_at(place.bytes)? != place.anchor {
                return Ok(LogLook::Discontinued);
            }
            behind[kind as usize] = log.lines_between(place.bytes, end)?;
        }
        Ok(LogLook::Lines(placed, behind))
    }

    /// The places at the end of the last whole line of each log.
    ///
    /// # Errors
    /// `Io`.
    pub fn last_places(&self, owner: &Owner, ends: &LogEnds) -> Result<UserPlaces> {
        let mut places = UserPlaces { generation: ends.generation, ..UserPlaces::default() };
        for kind in LogKind::ALL {
            let log = FollowedLog { store: self, owner, kind };
            let end = ends.files[kind as usize].map_or(0, |(bytes, _)| bytes);
            let bytes = log.last_feed(end)?;
            places.logs[kind as usize] = LogPlace { bytes, anchor: log.anchor_at(bytes)? };
        }
        Ok(places)
    }

    /// Passes the lines of a log before a place to `visit`, oldest first.
    ///
    /// # Errors
    /// `Io`.
    pub fn lines_before(
        &self,
        owner: &Owner,
        kind: LogKind,
        place: LogPlace,
        visit: &mut dyn FnMut(&[u8]),
    ) -> Result<()> {
        let log = FollowedLog { store: self, owner, kind };
        let mut at = 0;
        while at < place.bytes {
            let behind = log.lines_between(at, place.bytes)?;
            if behind.bytes.is_empty() {
                return Ok(());
            }
            behind.whole_lines().for_each(|(_, line)| visit(line));
            at += behind.bytes.len() as u64;
        }
        Ok(())
    }
}

struct FollowedLog<'a> {
    store: &'a Store,
    owner: &'a Owner,
    kind: LogKind,
}

impl FollowedLog<'_> {
    /// Up to `most` bytes from an offset on.
    fn read_slice(&self, from: u64, most: u64) -> Result<Vec<u8>> {
        self.store.logs.read_slice(self.owner, self.kind, from, most)
    }

    /// The whole lines from a place to an end.
    fn lines_between(&self, from: u64, end: u64) -> Result<LinesAfter> {
        let mut most = CHUNK_BYTES;
        loop {
            let asked = most.min(end.saturating_sub(from));
            if asked == 0 {
                return Ok(LinesAfter { start: from, ..LinesAfter::default() });
            }
            let mut bytes = self.read_slice(from, asked)?;
            let is_all = asked < most || (bytes.len() as u64) < asked;
            match bytes.iter().rposition(|byte| *byte == b'\n') {
                Some(last) => bytes.truncate(last + 1),
                None if is_all => bytes.clear(),
                None => {
                    most *= 4;
                    continue;
                }
            }
            let has_more = !is_all && from + (bytes.len() as u64) < end;
            return Ok(LinesAfter { bytes, start: from, has_more });
        }
    }

    /// The place after the last line feed before `end`.
    fn last_feed(&self, end: u64) -> Result<u64> {
        let mut length = ANCHOR_BYTES.min(end);
        loop {
            let bytes = self.read_slice(end - length, length)?;
            if let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') {
                return Ok(end - length + last as u64 + 1);
            }
            if length == end {
                return Ok(0);
            }
            length = (length * 16).min(end);
        }
    }

    /// The checksum for a place at this offset.
    fn anchor_at(&self, place: u64) -> Result<u32> {
        if place == 0 {
            return Ok(0);
        }
        let from = place.saturating_sub(ANCHOR_BYTES);
        Ok(line_anchor(&self.read_slice(from, place - from)?))
    }

    /// Moves a place of an older generation to its current offset, using the notes of erasures.
    fn moved_place(&self, place: LogPlace, generation: u64) -> Result<LogPlace> {
        let (mut bytes, mut is_known) = (place.bytes, true);
        let (mut at, end) = (0, u64::MAX);
        loop {
            let behind = self.lines_between(at, end)?;
            if behind.bytes.is_empty() {
                break;
            }
            at += behind.bytes.len() as u64;
            let noted = behind.whole_lines().filter(|(_, line)| line.starts_with(ERASED_PREFIX));
            for note in
                noted.filter_map(|(_, line)| serde_json::from_slice::<ErasedLine>(line).ok())
            {
                if note.generation > generation {
                    let is_cut = |[from, gone, _]: &[u64; 3]| *from < bytes && bytes <= from + gone;
                    is_known &= !note.cuts.iter().any(is_cut);
                    bytes = note.current_offset(bytes);
                }
            }
        }
        // If the line before the place was removed or replaced, the checksum is of the line that is
        // before it now.
        let anchor = if is_known { place.anchor } else { self.anchor_at(bytes)? };
        Ok(LogPlace { bytes, anchor })
    }
}

/// Checksum of the end of the last line of `bytes`, without its line feed.
fn line_anchor(bytes: &[u8]) -> u32 {
    let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let start = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let line = &line[start..];
    // For a line longer than the window, the same bytes are covered wherever reading begins.
    let window = (ANCHOR_BYTES - 1) as usize;
    crc32fast::hash(&line[line.len().saturating_sub(window)..])
}

#[cfg(test)]
mod tests;
