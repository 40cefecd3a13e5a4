//! Executes an erasure of records; a repeated execution changes nothing.

use std::collections::{HashMap, HashSet};

use regex::bytes::Regex;

use super::compact::dead_lines;
use super::derived::{remove_derived, remove_positioned};
use super::directories::settle_directories;
use super::editable_log::EditableLog;
use super::erasure::UserErasure;
use super::mentions::IdMentions;
use super::stale::{LineOrigin, StaleLines};
use crate::clock::Moment;
use crate::error::{Error, Result};
use crate::ids::{Owner, mark_of};
use crate::model::{Episode, SemanticMemory};
use crate::store::codec::{
    DeletedLine, ErasedLine, StateRecord, is_deleted, is_state, message_of_line, read_episode,
    read_fact,
};
use crate::store::layout::SideFile;
use crate::store::log::{LineRewrite, NoteCuts, RecordLog, encode_records};
use crate::store::scan::RawLine;
use crate::store::shared::SharedStore;
use crate::store::{dead_letter, quarantine};

/// Minimum length of a text that is searched for in the quarantine; shorter texts are matched by id
/// only.
const MIN_NEEDLE_BYTES: usize = 8;

/// An erasure with its ids as sets, for testing lines.
struct ErasePlan<'a> {
    messages: HashSet<&'a str>,
    episodes: HashSet<&'a str>,
    semantic: HashSet<&'a str>,
    replace_episodes: HashMap<&'a str, &'a Episode>,
    replace_semantic: HashMap<&'a str, &'a SemanticMemory>,
    mentions: IdMentions,
}

impl<'a> ErasePlan<'a> {
    fn new(erasure: &'a UserErasure) -> Self {
        let set = |ids: &'a [String]| ids.iter().map(String::as_str).collect();
        let episodes = erasure.replace_episodes.iter();
        let semantic = erasure.replace_semantic.iter();
        Self {
            messages: set(&erasure.messages),
            episodes: set(&erasure.episodes),
            semantic: set(&erasure.semantic),
            replace_episodes: episodes
                .map(|episode| (episode.episode_id.as_str(), &**episode))
                .collect(),
            replace_semantic: semantic
                .map(|memory| (memory.memory_id.as_str(), &**memory))
                .collect(),
            mentions: IdMentions::from_erasure(erasure),
        }
    }

    fn erased_message(&self, line: &[u8]) -> Option<crate::model::Message> {
        if !self.mentions.may_be_in(line) {
            return None;
        }
        message_of_line(line).filter(|message| self.messages.contains(message.message_id.as_str()))
    }

    fn changed_episode(&self, line: &[u8]) -> Option<Episode> {
        read_episode(line).ok()
    }

    fn changed_fact(&self, line: &[u8]) -> Option<SemanticMemory> {
        read_fact(line).ok()
    }

    /// True for the state of an erased episode, and for a state that names an erased message or
    /// fact.
    fn is_obsolete(&self, state: &[u8]) -> bool {
        match serde_json::from_slice(state) {
            Ok(StateRecord::Learned { episode_id, .. }) => {
                self.episodes.contains(episode_id.as_str())
            }
            Ok(StateRecord::Ignored { memory_id, source_messages, .. }) => {
                self.semantic.contains(memory_id.as_str())
                    || source_messages.iter().any(|id| self.messages.contains(id.as_str()))
            }
            _ => false,
        }
    }

    /// A state of the message log without the erased messages.
    fn without_erased(&self, state: &[u8]) -> LineRewrite {
        let Ok(StateRecord::Edited { message_ids, at }) = serde_json::from_slice(state) else {
            return LineRewrite::Keep;
        };
        let all = message_ids.len();
        let is_left = |id: &String| !self.messages.contains(id.as_str());
        let message_ids: Vec<String> = message_ids.into_iter().filter(is_left).collect();
        if message_ids.len() == all {
            return LineRewrite::Keep;
        }
        match encode_records(&[StateRecord::Edited { message_ids: message_ids.clone(), at }]) {
            Ok(left) if !message_ids.is_empty() => LineRewrite::Replace(left),
            _ => LineRewrite::Drop,
        }
    }

    /// True if the fact log may have lines to remove.
    fn names_facts(&self) -> bool {
        !(self.semantic.is_empty() && self.replace_semantic.is_empty() && self.episodes.is_empty())
    }

    /// True if the fact log has a state that must be removed.
    fn has_obsolete(&self, log: &dyn EditableLog) -> Result<bool> {
        let mut found = false;
        log.for_each(&mut |line| {
            let line = line.bytes;
            found |= self.mentions.may_be_in(line) && is_state(line) && self.is_obsolete(line);
        })?;
        Ok(found)
    }

    /// The lines of withdrawn records that were written from what goes.
    fn stale_lines(
        &self,
        episodes: &dyn EditableLog,
        facts: &dyn EditableLog,
    ) -> Result<StaleLines> {
        let changed = self.episodes.iter().chain(self.replace_episodes.keys());
        let erased = self.messages.iter().chain(&self.semantic).chain(changed);
        let erased = erased.map(|id| (*id).to_owned()).collect();
        let of_episode = |line: &[u8]| {
            let Episode { episode_id: id, original_messages, shown, .. } =
                self.changed_episode(line)?;
            let is_settled = self.replace_episodes.contains_key(id.as_str());
            let held = original_messages.iter().map(|message| message.message_id.clone());
            (!is_settled).then(|| LineOrigin { id, from: held.chain(shown).collect() })
        };
        let of_fact = |line: &[u8]| {
            let SemanticMemory { memory_id: id, source_messages, source_episodes, shown, .. } =
                self.changed_fact(line)?;
            let is_settled = self.replace_semantic.contains_key(id.as_str());
            let from = [source_messages, source_episodes, shown].concat();
            (!is_settled).then_some(LineOrigin { id, from })
        };
        StaleLines::written_from(&erased, (episodes, &of_episode), (facts, &of_fact))
    }

    fn is_gone(&self, id: &str) -> bool {
        self.messages.contains(id) || self.episodes.contains(id) || self.semantic.contains(id)
    }
}

struct EraseNote<'a> {
    owner: &'a Owner,
    generation: u64,
    at: Option<Moment>,
}

impl EraseNote<'_> {
    fn note_line(&self, cuts: Vec<[u64; 3]>, gone: &[String]) -> Result<Vec<u8>> {
        let gone = gone.iter().map(|id| mark_of(self.owner, id)).collect();
        encode_records(&[ErasedLine { generation: self.generation, cuts, at: self.at, gone }])
    }
}

/// Removes the records of an erasure from every file, and the lines of the episode log that are
/// `tainted`; returns the number of changed files.
pub(super) fn apply_erasure(
    shared: &SharedStore,
    owner: &Owner,
    erasure: &UserErasure,
    tainted: &HashSet<u64>,
    logs: [&mut RecordLog; 3],
) -> Result<usize> {
    let [messages, episodes, semantic] = logs;
    let plan = ErasePlan::new(erasure);
    let generation = shared.user_locks(owner).read_generation()?;
    let mut files = 0;
    // Quarantines come first: they are searched for texts that the logs are about to lose.
    let mut quarantined = Vec::new();
    for log in [&*messages, &*episodes, &*semantic] {
        if quarantine::has_quarantine(&*shared.backend, log.path())? {
            quarantined.push(log.path().to_owned());
        }
    }
    if !quarantined.is_empty() {
        let needles = search_needles(&plan, [messages, episodes, semantic])?;
        let needles: Vec<&str> = needles.iter().map(String::as_str).collect();
        for log in quarantined {
            files += usize::from(quarantine::scrub_rows(&*shared.backend, &log, &needles)?);
        }
    }
    files += edit_logs(owner, erasure, tainted, generation, [messages, episodes, semantic])?;
    if erasure.only_compacts() {
        return Ok(files + remove_positioned(shared, owner)?);
    }
    files += remove_derived(shared, owner)?;
    let letters = shared.log_file(shared.layout.side_path(owner, SideFile::DeadLetters));
    files += usize::from(dead_letter::scrub_letters(letters, &|id| plan.is_gone(id))?);
    settle_directories(&*shared.backend, &shared.layout, owner)?;
    Ok(files)
}

/// Removes the records of an erasure, and the `tainted` lines of the episode log, from the logs;
/// returns the number of changed logs.
pub(super) fn edit_logs(
    owner: &Owner,
    erasure: &UserErasure,
    tainted: &HashSet<u64>,
    generation: u64,
    logs: [&mut dyn EditableLog; 3],
) -> Result<usize> {
    let [messages, episodes, semantic] = logs;
    let plan = ErasePlan::new(erasure);
    let noted = EraseNote { owner, generation, at: erasure.at };
    let mut files = 0;
    if !plan.messages.is_empty() {
        files += 1;
        let ended = ended_sessions(&plan, messages)?;
        let is_ended = |line: &[u8]| {
            is_state(line)
                && matches!(
                    serde_json::from_slice(line),
                    Ok(StateRecord::Session { session_id, .. }) if ended.contains(&session_id)
                )
        };
        messages.edit_lines(&|cuts| noted.note_line(cuts, &erasure.messages), &mut |line| {
            if plan.erased_message(line.bytes).is_some() || is_ended(line.bytes) {
                LineRewrite::Drop
            } else if is_state(line.bytes) && plan.mentions.may_be_in(line.bytes) {
                plan.without_erased(line.bytes)
            } else {
                LineRewrite::Keep
            }
        })?;
    }
    let stale = plan.stale_lines(episodes, semantic)?;
    let tainted: HashSet<u64> = tainted.union(&stale.episodes).copied().collect();
    if !tainted.is_empty() || !plan.episodes.is_empty() || !plan.replace_episodes.is_empty() {
        files += 1;
        rewrite_episodes(
            &plan,
            &|cuts| noted.note_line(cuts, &erasure.episodes),
            &tainted,
            episodes,
        )?;
    }
    if plan.names_facts() || !stale.facts.is_empty() || plan.has_obsolete(semantic)? {
        files += 1;
        let note = |cuts| noted.note_line(cuts, &erasure.semantic);
        rewrite_semantic(&plan, &note, &stale.facts, semantic)?;
    }
    if erasure.compact {
        let fact = |line: &[u8]| plan.changed_fact(line).map(|fact| fact.memory_id);
        let episode = |line: &[u8]| plan.changed_episode(line).map(|episode| episode.episode_id);
        files += compact_log(&noted, messages, &|_| None)?;
        files += compact_log(&noted, episodes, &episode)?;
        files += compact_log(&noted, semantic, &fact)?;
    }
    Ok(files)
}

/// Removes the dead lines from a log; returns the number of changed logs.
fn compact_log(
    noted: &EraseNote<'_>,
    log: &mut dyn EditableLog,
    id_of: &dyn Fn(&[u8]) -> Option<String>,
) -> Result<usize> {
    let (dead, gone) = dead_lines(log, id_of)?;
    if dead.is_empty() {
        return Ok(0);
    }
    log.edit_lines(&|cuts| noted.note_line(cuts, &gone), &mut |line| {
        if dead.contains(&line.number) { LineRewrite::Drop } else { LineRewrite::Keep }
    })?;
    Ok(1)
}

/// The sessions that lose all their messages: their ids must not stay either.
fn ended_sessions(plan: &ErasePlan<'_>, messages: &dyn EditableLog) -> Result<HashSet<String>> {
    let mut sessions: HashSet<String> = HashSet::new();
    let mut named: Vec<(String, Option<Regex>)> = Vec::new();
    messages.for_each(&mut |line| {
        let gone = plan.erased_message(line.bytes);
        if let Some(session) = gone.and_then(|message| message.session_id)
            && sessions.insert(session.to_string())
        {
            // JSON may escape any character as `\u`.
            let value = serde_json::Value::from(&*session).to_string();
            let pattern = format!("{}|\\\\u", regex::escape(&value));
            named.push((session.to_string(), Regex::new(&pattern).ok()));
        }
    })?;
    messages.for_each(&mut |line| {
        if is_state(line.bytes) || named.is_empty() || plan.erased_message(line.bytes).is_some() {
            return;
        }
        named.retain(|(session, value)| {
            let may_stay = value.as_ref().is_none_or(|value| value.is_match(line.bytes));
            let stays = may_stay
                && message_of_line(line.bytes)
                    .is_some_and(|message| message.session_id.as_deref() == Some(session));
            if stays {
                sessions.remove(session);
            }
            !stays
        });
    })?;
    Ok(sessions)
}

/// [`apply_erasure`] for a deletion that began earlier.
pub(super) fn finish_erasure(
    shared: &SharedStore,
    owner: &Owner,
    erasure: &UserErasure,
    logs: [&mut RecordLog; 3],
) -> Result<usize> {
    let tainted = tainted_episodes(erasure, logs[1], false)?;
    apply_erasure(shared, owner, erasure, &tainted, logs)
}

/// Numbers of the lines of the episode log that are removed because they contain an erased message.
///
/// # Errors
/// `Internal` if `strict` and a current episode with an erased message is neither erased nor
/// replaced.
pub(super) fn tainted_episodes(
    erasure: &UserErasure,
    log: &dyn EditableLog,
    strict: bool,
) -> Result<HashSet<u64>> {
    let plan = ErasePlan::new(erasure);
    let mut tainted = HashMap::new();
    if plan.messages.is_empty() {
        return Ok(HashSet::new());
    }
    log.for_each(&mut |line| {
        if !is_deleted(line.bytes)
            && !is_state(line.bytes)
            && plan.mentions.may_be_in(line.bytes)
            && let Some(episode) = plan.changed_episode(line.bytes)
        {
            let mut held = episode.original_messages.iter();
            if held.any(|message| plan.messages.contains(message.message_id.as_str())) {
                tainted.insert(line.number, episode.episode_id);
            }
        }
    })?;
    let settled = |id: &str| plan.episodes.contains(id) || plan.replace_episodes.contains_key(id);
    if strict && tainted.values().any(|id| !settled(id)) {
        let current = current_lines(&plan, log)?;
        let left = tainted
            .iter()
            .find(|(number, id)| current.get(id.as_str()) == Some(*number) && !settled(id));
        if let Some((number, id)) = left {
            return Err(Error::internal(format!(
                "an episode would keep an erased message: `{id}`"
            ))
            .at_path(log.path(), Some(*number)));
        }
    }
    Ok(tainted.into_keys().collect())
}

/// The line number of each current episode.
fn current_lines(plan: &ErasePlan<'_>, log: &dyn EditableLog) -> Result<HashMap<String, u64>> {
    let mut current = HashMap::new();
    log.for_each(&mut |line| {
        if is_deleted(line.bytes) {
            if let Ok(gone) = serde_json::from_slice::<DeletedLine>(line.bytes) {
                current.remove(&gone.deleted);
            }
        } else if !is_state(line.bytes)
            && let Some(episode) = plan.changed_episode(line.bytes)
        {
            current.insert(episode.episode_id, line.number);
        }
    })?;
    Ok(current)
}

/// The removed ids, and the texts that identify quarantined copies of their records, in JSON form.
fn search_needles(plan: &ErasePlan<'_>, logs: [&RecordLog; 3]) -> Result<HashSet<String>> {
    let [messages, episodes, semantic] = logs;
    let gone = plan.messages.iter().chain(&plan.episodes).chain(&plan.semantic).copied();
    let replaced = plan.replace_episodes.keys().chain(plan.replace_semantic.keys()).copied();
    let mut needles: HashSet<String> = gone.chain(replaced).map(json_escaped).collect();
    let mut add = |texts: &[&str]| {
        let long = texts.iter().filter(|text| text.len() >= MIN_NEEDLE_BYTES);
        needles.extend(long.map(|text| json_escaped(text)));
    };
    messages.for_each(&mut |line| {
        if let Some(message) = plan.erased_message(line.bytes) {
            add(&[&message.content]);
        }
    })?;
    episodes.for_each(&mut |line| {
        if plan.mentions.may_be_in(line.bytes)
            && let Some(episode) = plan.changed_episode(line.bytes)
            && (plan.episodes.contains(episode.episode_id.as_str())
                || plan.replace_episodes.contains_key(episode.episode_id.as_str()))
        {
            add(&[&episode.title, &episode.content, &episode.summary]);
        }
    })?;
    semantic.for_each(&mut |line| {
        if plan.mentions.may_be_in(line.bytes)
            && let Some(memory) = plan.changed_fact(line.bytes)
            && (plan.semantic.contains(memory.memory_id.as_str())
                || plan.replace_semantic.contains_key(memory.memory_id.as_str()))
        {
            add(&[&memory.content]);
        }
    })?;
    Ok(needles)
}

/// A text as escaped inside a JSON string.
fn json_escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn rewrite_episodes(
    plan: &ErasePlan<'_>,
    note: NoteCuts<'_>,
    tainted: &HashSet<u64>,
    log: &mut dyn EditableLog,
) -> Result<()> {
    let mut written = HashSet::new();
    let id_of = |line: &[u8]| plan.changed_episode(line).map(|episode| episode.episode_id);
    let replacement =
        |id: &str| plan.replace_episodes.get(id).map(|episode| encode_records(&[episode]));
    log.edit_lines(note, &mut |line| {
        let is_tainted = tainted.contains(&line.number);
        if !is_tainted && !plan.mentions.may_be_in(line.bytes) {
            return LineRewrite::Keep;
        }
        match decide_line(line, &id_of, &plan.episodes, &replacement, &mut written) {
            LineRewrite::Keep if is_tainted => LineRewrite::Drop,
            other => other,
        }
    })
}

fn rewrite_semantic(
    plan: &ErasePlan<'_>,
    note: NoteCuts<'_>,
    stale: &HashSet<u64>,
    log: &mut dyn EditableLog,
) -> Result<()> {
    let mut written = HashSet::new();
    let id_of = |line: &[u8]| plan.changed_fact(line).map(|memory| memory.memory_id);
    let replacement =
        |id: &str| plan.replace_semantic.get(id).map(|memory| encode_records(&[memory]));
    log.edit_lines(note, &mut |line| {
        if stale.contains(&line.number) {
            return LineRewrite::Drop;
        }
        if !plan.mentions.may_be_in(line.bytes) {
            return LineRewrite::Keep;
        }
        if is_state(line.bytes) && plan.is_obsolete(line.bytes) {
            return LineRewrite::Drop;
        }
        decide_line(line, &id_of, &plan.semantic, &replacement, &mut written)
    })
}

/// Decides about a line of the episode or fact log. A line that removes an erased id is dropped
/// too; so is one that removes a replaced id, because the replacement is current.
fn decide_line(
    line: RawLine<'_>,
    id_of: &dyn Fn(&[u8]) -> Option<String>,
    gone: &HashSet<&str>,
    replacement: &dyn Fn(&str) -> Option<Result<Vec<u8>>>,
    written: &mut HashSet<String>,
) -> LineRewrite {
    if is_state(line.bytes) {
        return LineRewrite::Keep;
    }
    if is_deleted(line.bytes) {
        let id = serde_json::from_slice::<DeletedLine>(line.bytes)
            .map(|gone| gone.deleted)
            .unwrap_or_default();
        let settled = gone.contains(id.as_str()) || replacement(&id).is_some();
        return if settled { LineRewrite::Drop } else { LineRewrite::Keep };
    }
    let Some(id) = id_of(line.bytes) else { return LineRewrite::Keep };
    if gone.contains(id.as_str()) {
        return LineRewrite::Drop;
    }
    match replacement(&id) {
        None => LineRewrite::Keep,
        Some(Ok(bytes)) if written.insert(id) => LineRewrite::Replace(bytes),
        // Encoding succeeded for the intent, so it succeeds here. The first line of the id already
        // became the replacement.
        Some(_) => LineRewrite::Drop,
    }
}
