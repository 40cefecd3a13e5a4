//! Turns log lines into events.

use std::collections::{HashMap, HashSet};

use crate::clock::Moment;
use crate::engine::feed::event::{ChangeEvent, ChangeKind};
use crate::error::Result;
use crate::ids::Owner;
use crate::model::{Message, SemanticMemory};
use crate::store::{
    LinesAfter, LogEntry, LogKind, LogPlace, SessionState, StateRecord, Store, UserPlaces,
};

/// An event, and the places after its line.
#[derive(Debug)]
pub(super) struct FeedStep {
    pub event: ChangeEvent,
    pub places: UserPlaces,
    /// The mark (a hash of the id) of a deleted record; the logs don't keep the id.
    pub mark: Option<String>,
}

/// The lines of one user after some places: messages, then episodes, then facts, so that a record
/// comes after the records that it refers to.
pub(super) struct UnreadLines<'a> {
    store: &'a Store,
    owner: &'a Owner,
    now: Moment,
    places: UserPlaces,
    steps: Vec<FeedStep>,
    /// Time of the previous event.
    before: Option<Moment>,
    /// Episodes that were archived before the current line.
    archived: HashSet<String>,
    /// The words of messages that these lines edit, as they were before the current line; empty
    /// before the first version.
    words: HashMap<String, String>,
    has_more: bool,
}

/// A fact whose line names a successor that has not been read yet.
struct EndedFact {
    fact: SemanticMemory,
    place: LogPlace,
}

impl<'a> UnreadLines<'a> {
    pub fn new(store: &'a Store, owner: &'a Owner, places: UserPlaces, now: Moment) -> Self {
        Self {
            store,
            owner,
            now,
            places,
            steps: Vec::new(),
            before: None,
            archived: HashSet::new(),
            words: HashMap::new(),
            has_more: false,
        }
    }

    /// The places up to which everything is reported.
    pub fn reported_places(&self) -> UserPlaces {
        self.places
    }

    pub fn has_more(&self) -> bool {
        self.has_more
    }

    pub fn into_steps(self) -> Vec<FeedStep> {
        self.steps
    }

    /// Reads the lines of the three logs.
    pub fn read_logs(&mut self, behind: &[LinesAfter; 3]) -> Result<()> {
        for kind in LogKind::ALL {
            let lines = &behind[kind as usize];
            match kind {
                LogKind::Semantic => self.report_facts(lines)?,
                LogKind::Messages | LogKind::Episodes => {
                    let read = |(place, line)| (place, LogEntry::from_line(self.owner, kind, line));
                    let entries: Vec<_> = lines.whole_lines().map(read).collect();
                    self.note_archived(&entries)?;
                    self.note_words(&entries)?;
                    for (place, entry) in entries {
                        self.report_line(kind, place, entry);
                    }
                }
            }
            if lines.has_more {
                self.has_more = true;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Notes which of the rewritten episodes were archived before these lines.
    fn note_archived(&mut self, entries: &[(LogPlace, LogEntry)]) -> Result<()> {
        let rewritten = entries.iter().filter_map(|(_, entry)| match entry {
            LogEntry::Episode(episode) if episode.revision > 0 => Some(&*episode.episode_id),
            _ => None,
        });
        let wanted: HashSet<&str> = rewritten.collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let (kind, archived) = (LogKind::Episodes, &mut self.archived);
        let place = self.places.logs[kind as usize];
        self.store.lines_before(self.owner, kind, place, &mut |line| {
            if LogEntry::may_be(kind, line, &wanted)
                && let LogEntry::Episode(episode) = LogEntry::from_line(self.owner, kind, line)
                && wanted.contains(&*episode.episode_id)
            {
                match episode.archived_at {
                    Some(_) => archived.insert(episode.episode_id),
                    None => archived.remove(&episode.episode_id),
                };
            }
        })
    }

    /// Notes the words, before these lines, of the messages that they edit.
    fn note_words(&mut self, entries: &[(LogPlace, LogEntry)]) -> Result<()> {
        let edited = entries.iter().filter_map(|(_, entry)| match entry {
            LogEntry::Message(message) if message.edited_at.is_some() => Some(&*message.message_id),
            _ => None,
        });
        let wanted: HashSet<&str> = edited.collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let (kind, words) = (LogKind::Messages, &mut self.words);
        words.extend(wanted.iter().map(|id| ((*id).to_owned(), String::new())));
        let place = self.places.logs[kind as usize];
        self.store.lines_before(self.owner, kind, place, &mut |line| {
            if LogEntry::may_be(kind, line, &wanted)
                && let LogEntry::Message(message) = LogEntry::from_line(self.owner, kind, line)
                && let Some(known) = words.get_mut(&message.message_id)
            {
                *known = message.content;
            }
        })
    }

    /// The event of a version of a message.
    fn message_event(&mut self, message: Message) -> ChangeEvent {
        let (id, change) = (message.message_id.clone(), ChangeKind::Message);
        let earlier = self.words.get_mut(&id);
        let earlier = earlier.map(|known| std::mem::replace(known, message.content.clone()));
        match message.edited_at {
            None => ChangeEvent::without_texts(change, id, message.timestamp),
            Some(at) => ChangeEvent {
                statement: message.content,
                previous: earlier.filter(|words| !words.is_empty()),
                evidence: vec![id.clone()],
                reason: "edited".to_owned(),
                ..ChangeEvent::without_texts(change, id, at)
            },
        }
    }

    /// Reports a line that is an event of its own.
    fn report_line(&mut self, kind: LogKind, place: LogPlace, entry: LogEntry) {
        self.places.logs[kind as usize] = place;
        match entry {
            LogEntry::Message(message) => {
                let event = self.message_event(message);
                self.push_event(event);
            }
            LogEntry::Episode(episode) => {
                let again = if episode.revision > 0 { "written again" } else { "" };
                let was_archived = match episode.archived_at {
                    Some(_) => !self.archived.insert(episode.episode_id.clone()),
                    None => self.archived.remove(&episode.episode_id),
                };
                let (change, reason) = match (was_archived, episode.archived_at) {
                    (false, Some(_)) => (ChangeKind::Archive, ""),
                    (true, None) => (ChangeKind::Restore, ""),
                    _ => (ChangeKind::Episode, again),
                };
                self.push_event(ChangeEvent {
                    statement: episode.title,
                    reason: reason.to_owned(),
                    ..ChangeEvent::without_texts(
                        change,
                        episode.episode_id,
                        episode.archived_at.unwrap_or(episode.created_at),
                    )
                });
            }
            LogEntry::State(StateRecord::Session {
                session_id,
                state: SessionState::Closed,
                at,
            }) => self.push_event(ChangeEvent::without_texts(ChangeKind::Session, session_id, at)),
            LogEntry::Removed(id) => {
                let at = time_of(None, self.before, self.now);
                let reason = "replaced by another record".to_owned();
                self.push_event(ChangeEvent {
                    reason,
                    ..ChangeEvent::without_texts(ChangeKind::Delete, id, at)
                });
            }
            LogEntry::Erased(noted) => {
                let at = time_of(noted.at, self.before, self.now);
                for mark in noted.gone {
                    let (event, places) =
                        (ChangeEvent::without_texts(ChangeKind::Delete, "", at), self.places);
                    self.steps.push(FeedStep { event, places, mark: Some(mark) });
                }
            }
            LogEntry::Fact(_) | LogEntry::State(_) | LogEntry::Other => {}
        }
    }

    fn push_event(&mut self, event: ChangeEvent) {
        self.before = Some(event.at);
        self.steps.push(FeedStep { event, places: self.places, mark: None });
    }

    fn report_facts(&mut self, lines: &LinesAfter) -> Result<()> {
        let kind = LogKind::Semantic;
        let read = |(place, line)| (place, LogEntry::from_line(self.owner, kind, line));
        let entries: Vec<(LogPlace, LogEntry)> = lines.whole_lines().map(read).collect();
        let mut known = self.earlier_revisions(&entries)?;
        let mut ended: Option<EndedFact> = None;
        for (place, entry) in entries {
            let fact = match entry {
                LogEntry::Fact(fact) => *fact,
                LogEntry::State(StateRecord::Ignored { memory_id, source_messages, at }) => {
                    self.report_ended(&mut ended);
                    self.places.logs[kind as usize] = place;
                    let same = known.get(&memory_id).map(|fact| fact.content.clone());
                    self.push_event(ChangeEvent {
                        statement: same.clone().unwrap_or_default(),
                        previous: same,
                        evidence: source_messages,
                        ..ChangeEvent::without_texts(ChangeKind::Ignore, memory_id, at)
                    });
                    continue;
                }
                other => {
                    self.report_ended(&mut ended);
                    self.report_line(kind, place, other);
                    continue;
                }
            };
            let is_awaited = ended
                .as_ref()
                .is_some_and(|ended| ended.fact.superseded_by.as_ref() == Some(&fact.memory_id));
            if !is_awaited {
                self.report_ended(&mut ended);
            }
            let before = known.insert(fact.memory_id.clone(), fact.clone());
            let is_ended = before.as_ref().is_some_and(|before| is_superseded_now(before, &fact));
            if let (true, Some(by)) = (is_ended, &fact.superseded_by) {
                match known.get(by).cloned() {
                    Some(successor) => {
                        self.places.logs[kind as usize] = place;
                        self.push_event(superseded_event(&successor, &fact));
                    }
                    // The successor's line follows; both lines are one event.
                    None => ended = Some(EndedFact { fact, place }),
                }
                continue;
            }
            self.places.logs[kind as usize] = place;
            let event = match (ended.take(), before) {
                (Some(ended), _) => superseded_event(&fact, &ended.fact),
                (None, before) => changed_event(before.as_ref(), &fact),
            };
            self.push_event(event);
        }
        Ok(())
    }

    /// Reports an ended fact whose successor is missing.
    fn report_ended(&mut self, ended: &mut Option<EndedFact>) {
        let Some(EndedFact { fact, place }) = ended.take() else { return };
        self.places.logs[LogKind::Semantic as usize] = place;
        let by = fact.superseded_by.clone().unwrap_or_default();
        self.push_event(ChangeEvent {
            previous: Some(fact.content.clone()),
            previous_id: Some(fact.memory_id.clone()),
            ..ChangeEvent::without_texts(ChangeKind::Supersede, by, fact.updated_at)
        });
    }

    /// For each fact that these lines change or name, its latest revision before them.
    fn earlier_revisions(
        &self,
        entries: &[(LogPlace, LogEntry)],
    ) -> Result<HashMap<String, SemanticMemory>> {
        let mut wanted: HashSet<&str> = HashSet::new();
        for (_, entry) in entries {
            match entry {
                LogEntry::Fact(fact) => {
                    if fact.revision_count > 0 {
                        wanted.insert(&fact.memory_id);
                    }
                    wanted.extend(fact.superseded_by.as_deref());
                }
                LogEntry::State(StateRecord::Ignored { memory_id, .. }) => {
                    wanted.insert(memory_id);
                }
                _ => {}
            }
        }
        let mut known = HashMap::new();
        if wanted.is_empty() {
            return Ok(known);
        }
        let place = self.places.logs[LogKind::Semantic as usize];
        self.store.lines_before(self.owner, LogKind::Semantic, place, &mut |line| {
            if !LogEntry::may_be(LogKind::Semantic, line, &wanted) {
                return;
            }
            if let LogEntry::Fact(fact) = LogEntry::from_line(self.owner, LogKind::Semantic, line)
                && wanted.contains(fact.memory_id.as_str())
            {
                known.insert(fact.memory_id.clone(), *fact);
            }
        })?;
        Ok(known)
    }
}

/// The time of an event: its own, otherwise the previous event's, otherwise now.
fn time_of(known: Option<Moment>, before: Option<Moment>, now: Moment) -> Moment {
    known.or(before).unwrap_or(now)
}

fn is_superseded_now(before: &SemanticMemory, now: &SemanticMemory) -> bool {
    now.superseded_by.is_some() && now.superseded_by != before.superseded_by
}

fn fact_event(change: ChangeKind, fact: &SemanticMemory) -> ChangeEvent {
    ChangeEvent {
        statement: fact.content.clone(),
        evidence: fact.source_messages.clone(),
        ..ChangeEvent::without_texts(change, &fact.memory_id, fact.updated_at)
    }
}

fn superseded_event(by: &SemanticMemory, ended: &SemanticMemory) -> ChangeEvent {
    ChangeEvent {
        previous: Some(ended.content.clone()),
        previous_id: Some(ended.memory_id.clone()),
        at: ended.updated_at,
        ..fact_event(ChangeKind::Supersede, by)
    }
}

/// The event between two revisions of a fact.
fn changed_event(before: Option<&SemanticMemory>, now: &SemanticMemory) -> ChangeEvent {
    let Some(before) = before else { return fact_event(ChangeKind::Add, now) };
    let gained = now.source_messages.len() > before.source_messages.len();
    let (change, reason) = match (before.is_open(), now.is_open()) {
        _ if now.content != before.content => (ChangeKind::Update, None),
        _ if gained => (ChangeKind::Merge, None),
        _ if before.archived_at.is_none() && now.archived_at.is_some() => {
            (ChangeKind::Archive, None)
        }
        _ if before.archived_at.is_some() && now.archived_at.is_none() => {
            (ChangeKind::Restore, None)
        }
        _ if before.expires_at != now.expires_at => (ChangeKind::Restore, None),
        (true, false) => (ChangeKind::Update, Some("outdated")),
        (false, true) => (ChangeKind::Update, Some("current again")),
        _ => (ChangeKind::Update, Some("other details")),
    };
    let event = ChangeEvent { previous: Some(before.content.clone()), ..fact_event(change, now) };
    match reason {
        Some(reason) => ChangeEvent { reason: reason.to_owned(), ..event },
        None => event,
    }
}
