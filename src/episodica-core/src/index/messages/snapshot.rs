//! The message index in a snapshot.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use bytemuck::{Pod, Zeroable};
use rustc_hash::FxHashMap;

use super::index::MessageVersions;
use super::names::name_words;
use super::prior::{LocalDay, MessagePrior};
use super::reading::TextFeatures;
use super::sample::IdSample;
use super::threads::{ThreadLinks, ThreadPlace};
use super::{MessageIndex, SpeakerId};
use crate::index::{ListColumn, Postings, StringInterner, TextIndex};
use crate::model::{Message, RecordShelf};
use crate::pack::{ColumnPacker, ColumnUnpacker};

/// The form of a [`MessagePrior`] in a snapshot.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PackedPrior {
    speaker: SpeakerId,
    question_share: f32,
    answers: f32,
    worth: f32,
    year: i16,
    month: i8,
    day: i8,
    weekday: i8,
    tells_time: u8,
    has_number: u8,
    by_agent: u8,
}

impl From<&MessagePrior> for PackedPrior {
    fn from(prior: &MessagePrior) -> Self {
        let MessagePrior { speaker, features, answers, day, by_agent } = *prior;
        let TextFeatures { question_share, tells_time, has_number, worth } = features;
        let LocalDay { year, month, day, weekday } = day;
        Self {
            speaker,
            question_share,
            answers,
            worth,
            year,
            month,
            day,
            weekday,
            tells_time: tells_time.into(),
            has_number: has_number.into(),
            by_agent: by_agent.into(),
        }
    }
}

impl From<PackedPrior> for MessagePrior {
    fn from(packed: PackedPrior) -> Self {
        let PackedPrior {
            speaker,
            question_share,
            answers,
            worth,
            year,
            month,
            day,
            weekday,
            tells_time,
            has_number,
            by_agent,
        } = packed;
        let day = LocalDay { year, month, day, weekday };
        Self {
            speaker,
            features: TextFeatures {
                question_share,
                tells_time: tells_time != 0,
                has_number: has_number != 0,
                worth,
            },
            answers,
            day,
            by_agent: by_agent != 0,
        }
    }
}

impl MessageIndex {
    /// Writes to a snapshot everything except the messages themselves and the vectors.
    pub fn pack_columns(&self, packer: &mut ColumnPacker) {
        self.field.postings.pack_columns(packer);
        packer.push_values(self.rows.iter().map(|row| [row.previous, row.next]));
        packer.push_column(&self.links);
        packer.push_values(self.priors.iter().map(PackedPrior::from));
        self.ids.pack_columns(packer);
        self.names.pack_columns(packer);
        packer.push_json(&self.ends.iter().collect::<Vec<_>>());
        self.tokens.pack_columns(packer);
        packer.push_json(&self.history);
    }

    /// Reads from a snapshot; `None` if it is damaged.
    pub(crate) fn unpack_columns(
        unpacker: &mut ColumnUnpacker<'_>,
        shelf: Arc<RecordShelf<Message>>,
    ) -> Option<Self> {
        let field = TextIndex::of_words(Postings::unpack_columns(unpacker)?);
        let rows: Vec<[u32; 2]> = unpacker.next_column()?;
        let rows = rows
            .into_iter()
            .map(|[previous, next]| ThreadPlace { previous, next, line_tokens: AtomicU32::new(0) })
            .collect();
        let links = unpacker.next_column()?;
        let priors: Vec<MessagePrior> =
            unpacker.next_column::<PackedPrior>()?.into_iter().map(MessagePrior::from).collect();
        let (ids, names) =
            (StringInterner::unpack_columns(unpacker)?, StringInterner::unpack_columns(unpacker)?);
        let speakers: Vec<_> =
            (0..names.len() as u32).map(|name| name_words(names.key_of(name))).collect();
        let mut spoken = vec![0; names.len()];
        for prior in &priors {
            *spoken.get_mut(prior.speaker as usize)? += 1;
        }
        let ends = unpacker.next_json::<Vec<(Option<Arc<str>>, u32)>>()?.into_iter().collect();
        let tokens = ListColumn::unpack_columns(unpacker)?;
        let (records, history) = (Vec::new(), unpacker.next_json()?);
        let mut index = Self {
            field,
            rows,
            links,
            priors,
            shelf,
            records,
            edited: FxHashMap::default(),
            history: MessageVersions::default(),
            ids,
            names,
            speakers,
            spoken,
            ends,
            tokens,
            record_bytes: 0,
            sample: IdSample::default(),
        };
        let lengths = [
            index.rows.len(),
            index.links.len(),
            index.priors.len(),
            index.shelf.len(),
            index.tokens.len(),
            index.field.postings.slot_count(),
        ];
        let whole = lengths.iter().all(|length| *length == index.ids.len());
        if !whole || !index.is_sound() {
            return None;
        }
        index.sample = index.draw_sample();
        index.set_history(history);
        Some(index)
    }

    /// True if every slot number is within the index and every other value is valid.
    fn is_sound(&self) -> bool {
        let count = self.rows.len() as u32;
        let leads = |(slot, (row, links)): (u32, (&ThreadPlace, &ThreadLinks))| {
            let (links, next) = (links.0, slot + 1);
            (links & ThreadLinks::PREVIOUS_BESIDE == 0 || slot > 0)
                && (links & ThreadLinks::PREVIOUS_AFAR == 0 || row.previous < slot)
                && (links & ThreadLinks::NEXT_BESIDE == 0 || next < count)
                && (links & ThreadLinks::NEXT_AFAR == 0 || (next..count).contains(&row.next))
        };
        (0..).zip(self.rows.iter().zip(&self.links)).all(leads)
            && self.priors.iter().all(is_sound)
            && self.ends.values().all(|slot| *slot < count)
    }
}

fn is_sound(prior: &MessagePrior) -> bool {
    let LocalDay { year, month, day, weekday } = prior.day;
    [prior.features.question_share, prior.answers].iter().all(|share| share.is_finite())
        && jiff::civil::Date::new(year, month, day).is_ok()
        && (0..7).contains(&weekday)
}
