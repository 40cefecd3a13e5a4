//! The index of messages: their words and meaning, who speaks, what stands next to them, and what
//! can be told from each alone.
//!
//! Rows are slots in the order of arrival. A removed message leaves its slot empty; the others answer
//! as if it had never been there.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytemuck::{Pod, Zeroable};

use super::{Field, Keys, Postings, Ragged, Terms};
use crate::clock::Moment;
use crate::error::Result;
use crate::model::{Message, Shelf};
use crate::pack::{Packer, Unpacker};
use crate::text::script::is_unspaced;
use crate::text::vocabulary::{is_function_word, tells_time};
use crate::text::words::{fold, for_each_word};

/// Names one of the speakers of an index.
pub type SpeakerId = u32;

/// Marks the lack of a neighbour.
const NONE: u32 = u32::MAX;

/// Words of a speaker's name that name a role and nobody in particular.
const ROLE_WORDS: &[&str] =
    &["user", "assistant", "system", "agent", "bot", "tool", "human", "ai", "support"];

/// What a message's neighbours lend to its window, from three before to two after: what was said
/// before explains a turn better than what follows.
const WINDOW: [f32; 6] = [0.25, 0.5, 0.75, 1.0, 0.5, 0.25];
const BEFORE: usize = 3;
const AFTER: usize = 2;

/// What neighbours lend to a message's similarity, from two before to one after; the message itself
/// counts 1.
const DENSE_WINDOW: [f32; 4] = [0.3, 0.5, 1.0, 0.3];
const DENSE_BEFORE: usize = 2;

/// Messages without a session that are further apart than this are no neighbours: the talk of
/// another part of the day.
const THREAD_GAP_SECONDS: f64 = 6.0 * 3600.0;

/// Distinct terms of a message that has much to say.
const FULL_MESSAGE_TERMS: f32 = 40.0;

/// The calendar day of a message on its speaker's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Day {
    /// Year.
    pub year: i16,
    /// Month, 1 to 12.
    pub month: i8,
    /// Day of the month.
    pub day: i8,
    /// Day of the week, 0 = Monday.
    pub weekday: i8,
}

impl Day {
    /// The day of a moment.
    pub fn of(moment: Moment) -> Self {
        let local = moment.local();
        Self {
            year: local.year(),
            month: local.month(),
            day: local.day(),
            weekday: local.weekday().to_monday_zero_offset(),
        }
    }
}

/// A place in the thread of talk.
#[derive(Debug)]
struct Row {
    previous: u32,
    next: u32,
    /// Tokens of the message as a line of a context, counted when first asked for; 0 = not yet.
    line_tokens: AtomicU32,
}

/// Where the neighbours of a message stand, in one byte: mostly right beside it, and walking along
/// a thread then reads little memory.
#[derive(Debug, Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
struct Links(u8);

impl Links {
    const PREVIOUS_BESIDE: u8 = 1;
    const PREVIOUS_AFAR: u8 = 2;
    const NEXT_BESIDE: u8 = 4;
    const NEXT_AFAR: u8 = 8;
}

/// What speaks for a message whatever is asked, in one short row: choosing candidates reads it of
/// every message.
#[derive(Debug, Clone, Copy)]
pub struct Prior {
    /// Who said it.
    pub speaker: SpeakerId,
    /// How much it has to say, by its distinct terms, 0 to 1.
    pub mass: f32,
    /// Share of its sentences that ask something, 0 to 1.
    pub question_share: f32,
    /// The same of the message before it; 0 without one.
    pub answers: f32,
    /// When, on its speaker's clock.
    pub day: Day,
    /// Does it hold an expression of time?
    pub tells_time: bool,
    /// Does it hold a digit?
    pub has_number: bool,
}

/// [`Prior`] as it lies in a snapshot.
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct PackedPrior {
    speaker: SpeakerId,
    mass: f32,
    question_share: f32,
    answers: f32,
    year: i16,
    month: i8,
    day: i8,
    weekday: i8,
    tells_time: u8,
    has_number: u8,
    zero: u8,
}

impl From<&Prior> for PackedPrior {
    fn from(prior: &Prior) -> Self {
        let Prior { speaker, mass, question_share, answers, day, tells_time, has_number } = *prior;
        let Day { year, month, day, weekday } = day;
        let (tells_time, has_number) = (tells_time.into(), has_number.into());
        Self {
            speaker,
            mass,
            question_share,
            answers,
            year,
            month,
            day,
            weekday,
            tells_time,
            has_number,
            zero: 0,
        }
    }
}

impl From<PackedPrior> for Prior {
    fn from(packed: PackedPrior) -> Self {
        let PackedPrior {
            speaker,
            mass,
            question_share,
            answers,
            year,
            month,
            day,
            weekday,
            tells_time,
            has_number,
            ..
        } = packed;
        let day = Day { year, month, day, weekday };
        Self {
            speaker,
            mass,
            question_share,
            answers,
            day,
            tells_time: tells_time != 0,
            has_number: has_number != 0,
        }
    }
}

/// What the index wants to know of a message's text. Needs no index: many are read at once before
/// they enter one by one.
#[derive(Debug, Clone, Default)]
pub struct MessageReading {
    terms: Terms,
    tokens: Vec<u16>,
    question_share: f32,
    tells_time: bool,
    has_number: bool,
}

impl MessageReading {
    /// Of a message's text with its WordPiece ids.
    pub fn of(content: &str, tokens: Vec<u16>) -> Self {
        let (question_share, tells_time) = read(content);
        let has_number = content.bytes().any(|byte| byte.is_ascii_digit());
        Self { terms: Terms::of(content), tokens, question_share, tells_time, has_number }
    }
}

/// All messages of one owner; see the module's documentation.
#[derive(Default)]
pub struct MessageIndex {
    /// Words and meaning.
    pub field: Field,
    rows: Vec<Row>,
    links: Vec<Links>,
    /// Number of terms in the window of each message, neighbours counted by what they lend.
    window_lengths: Vec<f32>,
    priors: Vec<Prior>,
    /// The first messages, as far as they came from a snapshot.
    shelf: Arc<Shelf<Message>>,
    /// Those after them.
    records: Vec<Arc<Message>>,
    /// Their ids; the number of an id is the slot.
    ids: Keys,
    /// The names of speakers; the number of a name is the [`SpeakerId`].
    names: Keys,
    speakers: Vec<Vec<String>>,
    /// How many messages each speaker has.
    spoken: Vec<u32>,
    /// The last message of each session; messages without a session are cut into threads by pauses.
    ends: HashMap<Option<Arc<str>>, u32>,
    /// WordPiece ids of every message.
    tokens: Ragged<u16>,
    /// Rough size of the records.
    text_bytes: usize,
}

impl MessageIndex {
    /// Appends a message with its WordPiece ids; returns its slot, or `None` if its id is known.
    pub fn add(&mut self, message: Arc<Message>, tokens: &[u16]) -> Option<u32> {
        let reading = MessageReading::of(&message.content, tokens.to_vec());
        self.add_read(message, &reading)
    }

    /// [`MessageIndex::add`] of a message that was read ahead.
    pub fn add_read(&mut self, message: Arc<Message>, reading: &MessageReading) -> Option<u32> {
        let (slot, new) = self.ids.intern(&message.message_id);
        if !new {
            return None;
        }
        let end = self.ends.insert(message.session_id.clone(), slot);
        let previous = end.filter(|end| is_connected(self.get(*end), &message));
        let speaker = self.speaker(message.speaker());
        self.field.postings.add_terms(slot, &reading.terms);
        let mass = (self.field.postings.distinct(slot) as f32).ln_1p() / FULL_MESSAGE_TERMS.ln_1p();
        self.rows.push(Row { previous: NONE, next: NONE, line_tokens: AtomicU32::new(0) });
        self.links.push(Links(0));
        if let Some(previous) = previous {
            self.connect(previous, slot);
        }
        self.window_lengths.push(0.0);
        let answers =
            previous.map_or(0.0, |previous| self.priors[previous as usize].question_share);
        self.priors.push(Prior {
            speaker,
            mass: mass.min(1.0),
            question_share: reading.question_share,
            answers,
            day: Day::of(message.timestamp),
            tells_time: reading.tells_time,
            has_number: reading.has_number,
        });
        self.tokens.push(reading.tokens.iter().copied());
        self.text_bytes += message.content.len() + 320;
        self.records.push(message);
        self.measure_window(slot);
        Some(slot)
    }

    /// Makes two messages neighbours in their thread.
    fn connect(&mut self, before: u32, after: u32) {
        let beside = before + 1 == after;
        self.rows[before as usize].next = after;
        self.links[before as usize].0 |= if beside { Links::NEXT_BESIDE } else { Links::NEXT_AFAR };
        self.rows[after as usize].previous = before;
        self.links[after as usize].0 |=
            if beside { Links::PREVIOUS_BESIDE } else { Links::PREVIOUS_AFAR };
    }

    /// Removes a message: its neighbours close ranks. Returns its slot; `None` for an unknown id.
    ///
    /// # Errors
    /// `Index` for a failure of the library of vectors.
    pub fn remove(&mut self, message_id: &str) -> Result<Option<u32>> {
        let Some(slot) = self.ids.number(message_id) else { return Ok(None) };
        let message = Arc::clone(self.get(slot));
        let linked = self.previous(slot);
        // Without a session, messages that no thread connects to this one may be connected without
        // it.
        let before = linked.or_else(|| self.loose(&message, (0..slot).rev()));
        let next =
            self.next(slot).or_else(|| self.loose(&message, slot + 1..self.slot_count() as u32));
        let last = self.ends.get(&message.session_id) == Some(&slot);
        self.field.remove(slot)?;
        self.ids.remove(message_id);
        self.tidy_speaker(slot);
        self.links[slot as usize] = Links(0);
        self.window_lengths[slot as usize] = 0.0;
        self.text_bytes = self.text_bytes.saturating_sub(message.content.len() + 320);
        if let Some(later) = (slot as usize).checked_sub(self.shelf.len()) {
            let empty = Message { content: String::new(), metadata: None, ..(*message).clone() };
            self.records[later] = Arc::new(empty);
        }
        if let Some(linked) = linked {
            self.links[linked as usize].0 &= !(Links::NEXT_BESIDE | Links::NEXT_AFAR);
        }
        if let Some(next) = next {
            self.links[next as usize].0 &= !(Links::PREVIOUS_BESIDE | Links::PREVIOUS_AFAR);
            let joined = before.filter(|before| is_connected(self.get(*before), self.get(next)));
            if let Some(before) = joined {
                self.connect(before, next);
            }
            self.priors[next as usize].answers =
                joined.map_or(0.0, |before| self.priors[before as usize].question_share);
        }
        if last {
            match before {
                Some(before) => self.ends.insert(message.session_id.clone(), before),
                None => self.ends.remove(&message.session_id),
            };
        }
        self.measure_around(before, next);
        Ok(Some(slot))
    }

    /// The first of these slots with a message without a session, if `message` has none either.
    fn loose(&self, message: &Message, mut slots: impl Iterator<Item = u32>) -> Option<u32> {
        if message.session_id.is_some() {
            return None;
        }
        slots.find(|slot| self.contains(*slot) && self.get(*slot).session_id.is_none())
    }

    /// Forgets the name of a speaker whose last message goes.
    fn tidy_speaker(&mut self, slot: u32) {
        let speaker = self.priors[slot as usize].speaker as usize;
        self.spoken[speaker] -= 1;
        if self.spoken[speaker] == 0 {
            self.speakers[speaker].clear();
        }
    }

    /// Measures the windows anew that reach over the gap between two messages.
    fn measure_around(&mut self, before: Option<u32>, after: Option<u32>) {
        let earlier = std::iter::successors(before, |slot| self.previous(*slot)).take(AFTER);
        let later = std::iter::successors(after, |slot| self.next(*slot)).take(BEFORE);
        for slot in earlier.chain(later).collect::<Vec<_>>() {
            let length = |slot: u32| self.field.postings.length(slot) as f32;
            let earlier = std::iter::successors(self.previous(slot), |slot| self.previous(*slot));
            let later = std::iter::successors(self.next(slot), |slot| self.next(*slot));
            let lent = (earlier.zip(WINDOW[..BEFORE].iter().rev()))
                .chain(later.zip(&WINDOW[BEFORE + 1..]))
                .map(|(slot, share)| share * length(slot));
            self.window_lengths[slot as usize] = WINDOW[BEFORE] * length(slot) + lent.sum::<f32>();
        }
    }

    /// Brings the window lengths up to date after a message was appended.
    fn measure_window(&mut self, slot: u32) {
        let length = |index: &Self, slot| index.field.postings.length(slot) as f32;
        let mut lent = Vec::with_capacity(1 + AFTER + BEFORE);
        let own = length(self, slot);
        self.for_each_window(slot, |slot, worth| lent.push((slot, worth * own)));
        let mut earlier = self.previous(slot);
        for distance in 1..=BEFORE {
            let Some(neighbour) = earlier else { break };
            lent.push((slot, WINDOW[BEFORE - distance] * length(self, neighbour)));
            earlier = self.previous(neighbour);
        }
        for (slot, amount) in lent {
            self.window_lengths[slot as usize] += amount;
        }
    }

    /// Calls `visit` with every message in whose window `slot` stands, and the share of itself that
    /// it lends there.
    pub fn for_each_window(&self, slot: u32, mut visit: impl FnMut(u32, f32)) {
        visit(slot, WINDOW[BEFORE]);
        let mut later = self.next(slot);
        for distance in 1..=BEFORE {
            let Some(neighbour) = later else { break };
            visit(neighbour, WINDOW[BEFORE - distance]);
            later = self.next(neighbour);
        }
        let mut earlier = self.previous(slot);
        for distance in 1..=AFTER {
            let Some(neighbour) = earlier else { break };
            visit(neighbour, WINDOW[BEFORE + distance]);
            earlier = self.previous(neighbour);
        }
    }

    /// Number of terms in the window of a message, neighbours counted by what they lend.
    pub fn window_length(&self, slot: u32) -> f32 {
        self.window_lengths[slot as usize]
    }

    /// What a whole window counts, in messages.
    pub fn window_weight(&self) -> f32 {
        WINDOW.iter().sum()
    }

    fn speaker(&mut self, name: &str) -> SpeakerId {
        let (id, new) = self.names.intern(name);
        if new {
            self.speakers.push(Vec::new());
            self.spoken.push(0);
        }
        if self.spoken[id as usize] == 0 {
            self.speakers[id as usize] = name_words(name);
        }
        self.spoken[id as usize] += 1;
        id
    }

    /// Is there a message in this slot that was not removed?
    pub fn contains(&self, slot: u32) -> bool {
        self.field.postings.is_alive(slot)
    }

    /// The message in a slot that was not emptied.
    pub fn get(&self, slot: u32) -> &Arc<Message> {
        match (slot as usize).checked_sub(self.shelf.len()) {
            None => self.shelf.get(slot),
            Some(later) => &self.records[later],
        }
    }

    /// The slot of a message.
    pub fn slot(&self, message_id: &str) -> Option<u32> {
        self.ids.number(message_id)
    }

    /// Was anything said in this session?
    pub fn has_session(&self, session_id: &str) -> bool {
        self.ends.contains_key(&Some(Arc::from(session_id)))
    }

    /// The slots of all messages, rising.
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.slot_count() as u32).filter(|slot| self.contains(*slot))
    }

    /// About `count` slots, evenly spread over all messages.
    pub fn spread(&self, count: usize) -> Vec<u32> {
        let step = self.len().div_ceil(count).max(1);
        if self.len() == self.slot_count() {
            return (0..self.len() as u32).step_by(step).collect();
        }
        self.slots().step_by(step).collect()
    }

    /// All messages in order of arrival, with their slots.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, &Arc<Message>)> {
        self.slots().map(|slot| (slot, self.get(slot)))
    }

    /// All messages in order of arrival.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.iter().map(|(_, message)| message)
    }

    /// How many messages.
    pub fn len(&self) -> usize {
        self.field.postings.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more than the highest slot ever given out.
    pub fn slot_count(&self) -> usize {
        self.rows.len()
    }

    /// The message said before this one in the same thread.
    pub fn previous(&self, slot: u32) -> Option<u32> {
        match self.links[slot as usize].0 {
            links if links & Links::PREVIOUS_BESIDE != 0 => Some(slot - 1),
            links if links & Links::PREVIOUS_AFAR != 0 => Some(self.rows[slot as usize].previous),
            _ => None,
        }
    }

    /// The message said after this one in the same thread.
    pub fn next(&self, slot: u32) -> Option<u32> {
        match self.links[slot as usize].0 {
            links if links & Links::NEXT_BESIDE != 0 => Some(slot + 1),
            links if links & Links::NEXT_AFAR != 0 => Some(self.rows[slot as usize].next),
            _ => None,
        }
    }

    /// The weighted mean of `value` over a message and those of its neighbours that exist; `value`
    /// of the message itself counts most.
    pub fn smooth(&self, slot: u32, value: impl Fn(u32) -> f32) -> f32 {
        let (mut sum, mut weight) = (0.0, 0.0);
        let mut add = |slot: u32, worth: f32| {
            sum += worth * value(slot);
            weight += worth;
        };
        add(slot, DENSE_WINDOW[DENSE_BEFORE]);
        let mut earlier = self.previous(slot);
        for distance in 1..=DENSE_BEFORE {
            let Some(neighbour) = earlier else { break };
            add(neighbour, DENSE_WINDOW[DENSE_BEFORE - distance]);
            earlier = self.previous(neighbour);
        }
        if let Some(neighbour) = self.next(slot) {
            add(neighbour, DENSE_WINDOW[DENSE_BEFORE + 1]);
        }
        sum / weight
    }

    /// What speaks for each message whatever is asked, by slot.
    pub fn priors(&self) -> &[Prior] {
        &self.priors
    }

    /// The words by which each speaker can be named, by [`SpeakerId`].
    pub fn speakers(&self) -> &[Vec<String>] {
        &self.speakers
    }

    /// Tokens of the message as a line of a context: `count` is asked once.
    pub fn line_tokens(&self, slot: u32, count: impl FnOnce() -> usize) -> usize {
        let known = &self.rows[slot as usize].line_tokens;
        match known.load(Ordering::Relaxed) {
            0 => {
                let tokens = count();
                known.store(u32::try_from(tokens).unwrap_or(u32::MAX), Ordering::Relaxed);
                tokens
            }
            tokens => tokens as usize,
        }
    }

    /// Its WordPiece ids.
    pub fn tokens(&self, slot: u32) -> &[u16] {
        self.tokens.get(slot)
    }

    /// Rough size in memory, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.text_bytes
            + self.rows.len() * 72
            + self.ids.heap_bytes()
            + self.tokens.heap_bytes()
            + self.field.heap_bytes()
    }

    /// The first messages, where they came from a snapshot.
    pub fn shelf(&self) -> &Arc<Shelf<Message>> {
        &self.shelf
    }

    /// The messages behind those.
    pub fn unshelved(&self) -> &[Arc<Message>] {
        &self.records
    }

    /// For a snapshot: all but the messages themselves and the vectors.
    pub fn pack(&self, packer: &mut Packer) {
        self.field.postings.pack(packer);
        packer.column(&self.rows.iter().map(|row| [row.previous, row.next]).collect::<Vec<_>>());
        packer.column(&self.links);
        packer.column(&self.window_lengths);
        packer.column(&self.priors.iter().map(PackedPrior::from).collect::<Vec<_>>());
        self.ids.pack(packer);
        self.names.pack(packer);
        packer.json(&self.ends.iter().collect::<Vec<_>>());
        self.tokens.pack(packer);
        packer.column(&[self.text_bytes as u64]);
    }

    /// From a snapshot, with the messages in their order.
    pub fn unpack(unpacker: &mut Unpacker<'_>, shelf: Arc<Shelf<Message>>) -> Option<Self> {
        let field = Field::of_words(Postings::unpack(unpacker)?);
        let rows: Vec<[u32; 2]> = unpacker.column()?;
        let rows = rows
            .into_iter()
            .map(|[previous, next]| Row { previous, next, line_tokens: AtomicU32::new(0) })
            .collect();
        let (links, window_lengths) = (unpacker.column()?, unpacker.column()?);
        let priors: Vec<Prior> =
            unpacker.column::<PackedPrior>()?.into_iter().map(Prior::from).collect();
        let (ids, names) = (Keys::unpack(unpacker)?, Keys::unpack(unpacker)?);
        let speakers: Vec<_> =
            (0..names.len() as u32).map(|name| name_words(names.key(name))).collect();
        let mut spoken = vec![0; names.len()];
        for prior in &priors {
            *spoken.get_mut(prior.speaker as usize)? += 1;
        }
        let ends = unpacker.json::<Vec<(Option<Arc<str>>, u32)>>()?.into_iter().collect();
        let tokens = Ragged::unpack(unpacker)?;
        let text_bytes = usize::try_from(*unpacker.column::<u64>()?.first()?).ok()?;
        let records = Vec::new();
        let index = Self {
            field,
            rows,
            links,
            window_lengths,
            priors,
            shelf,
            records,
            ids,
            names,
            speakers,
            spoken,
            ends,
            tokens,
            text_bytes,
        };
        let lengths = [
            index.rows.len(),
            index.links.len(),
            index.window_lengths.len(),
            index.priors.len(),
            index.shelf.len(),
        ];
        lengths.iter().all(|length| *length == index.ids.len()).then_some(index)
    }
}

/// Does a message go on with the thread of the one before it in its session?
fn is_connected(before: &Message, after: &Message) -> bool {
    after.session_id.is_some()
        || after.timestamp.seconds_since(before.timestamp).abs() <= THREAD_GAP_SECONDS
}

/// Share of sentences that ask, and whether a time is told.
fn read(text: &str) -> (f32, bool) {
    let (mut asking, mut sentences, mut open) = (0_u32, 0_u32, false);
    let mut ends = |c: char, open: &mut bool| match c {
        '?' | '？' if *open => {
            asking += 1;
            sentences += 1;
            *open = false;
        }
        '.' | '!' | '。' | '！' if *open => {
            sentences += 1;
            *open = false;
        }
        _ => *open |= c.is_alphanumeric(),
    };
    text.chars().for_each(|c| ends(c, &mut open));
    sentences += u32::from(open);
    let mut time = false;
    for_each_word(text, |word, unspaced| time |= tells_time(word, unspaced));
    (asking as f32 / sentences.max(1) as f32, time)
}

/// The words of a name, without roles and what stands in brackets; single letters of spaced scripts
/// don't name anybody.
fn name_words(name: &str) -> Vec<String> {
    let outside: String = match (name.find('('), name.rfind(')')) {
        (Some(open), Some(close)) if open < close => {
            format!("{} {}", &name[..open], &name[close + 1..])
        }
        _ => name.to_owned(),
    };
    let mut words = Vec::new();
    for_each_word(&fold(&outside), |word, _| {
        if word.chars().count() > 1 && !is_function_word(word) && !ROLE_WORDS.contains(&word) {
            words.push(word.to_owned());
        }
    });
    words
}

/// The forms under which a question may use a word of a name: itself, and a three-character Chinese
/// name without its family name.
pub fn name_forms(word: &str) -> impl Iterator<Item = &str> {
    let mut chars = word.char_indices();
    let given = match (chars.next(), chars.next(), chars.next(), chars.next()) {
        (Some((_, first)), Some((second, _)), Some(_), None) if is_unspaced(first) => {
            Some(&word[second..])
        }
        _ => None,
    };
    [Some(word), given].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Moment;

    fn message(
        id: &str,
        name: &str,
        session: Option<&str>,
        minute: u32,
        content: &str,
    ) -> Arc<Message> {
        Arc::new(Message {
            message_id: id.into(),
            seq: 0,
            role: "user".into(),
            name: Some(name.into()),
            content: content.into(),
            timestamp: Moment::parse(&format!(
                "2024-01-01T{:02}:{:02}:00Z",
                minute / 60,
                minute % 60
            ))
            .expect("valid"),
            session_id: session.map(Into::into),
            metadata: None,
        })
    }

    #[test]
    fn threads_follow_sessions_and_pauses() {
        let mut index = MessageIndex::default();
        for (id, session, minute) in [
            ("a", Some("1"), 0),
            ("b", None, 1),
            ("c", Some("1"), 200),
            ("d", None, 20),
            ("e", None, 900),
        ] {
            index.add(
                message(id, "Ann (HR)", session, minute, "Is it 5? Yes. See you next week"),
                &[1, 2],
            );
        }
        assert_eq!(index.add(message("a", "Ann", None, 0, "again"), &[]), None);
        assert_eq!((index.next(0), index.next(1), index.previous(4)), (Some(2), Some(3), None));
        assert_eq!(index.speakers()[0], ["ann"]);
        let first = index.priors()[0];
        assert!(
            (first.question_share - 1.0 / 3.0).abs() < 1e-6 && first.tells_time && first.has_number
        );
        assert_eq!((first.answers, index.priors()[2].answers), (0.0, first.question_share));
        assert_eq!(index.tokens(4), [1, 2]);
    }

    #[test]
    fn chinese_names_are_used_without_the_family_name() {
        assert_eq!(name_forms("林晓禾").collect::<Vec<_>>(), ["林晓禾", "晓禾"]);
        assert_eq!(name_forms("周牧").collect::<Vec<_>>(), ["周牧"]);
    }
}
