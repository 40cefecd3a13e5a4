//! Edits: other words under the id of a known message. The newer words become a version of it, and
//! the earlier ones stay in its history.
//!
//! A version is durable when it is in the message log. It holds once everything that follows from
//! the message follows: under the user's turn, the episodes with the message are written from its
//! new words, facts change as if the old words had been deleted and the new ones added, and a note
//! in the message log says so. After a crash in between, the steps are repeated.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::slice::from_ref;
use std::sync::Arc;

use crate::boundary::{describe_reason, topic_summary};
use crate::clock::Moment;
use crate::control::CallControl;
use crate::engine::asking::conversation::write_trace;
use crate::engine::memory::follow::DecisionBasis;
use crate::engine::memory::view::{UserView, episode_terms};
use crate::engine::services::EngineServices;
use crate::engine::user::OpenUser;
use crate::engine::writing::compact::compact_if_worth;
use crate::engine::writing::compose::{ComposedEpisode, compose_texts};
use crate::engine::writing::deleted::{DeletedMarks, is_deleted};
use crate::engine::writing::draft::decide_anew;
use crate::engine::writing::erase::{learned_after, shown_to, still_learned, without_shown};
use crate::engine::writing::extracted_facts::ExtractedFacts;
use crate::engine::writing::fact_deletion::follow_facts;
use crate::engine::writing::learn::{quoted_facts, quotes_of};
use crate::engine::writing::links::LinkingStep;
use crate::engine::writing::shown_before::ShownBefore;
use crate::error::{Error, Result};
use crate::generate::facts::FactCandidate;
use crate::model::{BoundaryJudgement, Episode, Message, NewMessage, SemanticMemory, clean_name};
use crate::store::{AwaitedEdits, StateRecord, UserErasure};
use crate::text::secrets::{MASK, masked_text};

/// What a message whose id may be known means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrival {
    New,
    /// Its words are known, or older than the known ones.
    Known,
    Edit,
}

/// The latest version of a message: one of these, or one of the view.
pub(crate) fn latest_version<'a>(
    view: &'a UserView,
    latest: &'a HashMap<String, Arc<Message>>,
    id: &str,
) -> Option<&'a Arc<Message>> {
    let awaited = || view.backlog.awaited_edits().get(id).and_then(|versions| versions.last());
    let known = || view.messages.slot_of(id).map(|slot| view.messages.get(slot));
    latest.get(id).or_else(awaited).or_else(known)
}

/// Compares words with the latest version of their message. `edited_at` is the time of the words,
/// if their source knows it: then the later words are the newer ones. Otherwise words that were
/// replaced before are old, so that an older export never undoes an edit.
pub(crate) fn arrival_of(
    view: &UserView,
    known: Option<&Message>,
    content: &str,
    edited_at: Option<Moment>,
) -> Arrival {
    let Some(known) = known else { return Arrival::New };
    if known.content == content || is_masked_form(content, &known.content) {
        return Arrival::Known;
    }
    let since = known.edited_at.unwrap_or(known.timestamp);
    let is_newer = match edited_at {
        Some(at) => at >= since,
        None => {
            let id = known.message_id.as_str();
            let awaited = view.backlog.awaited_edits().get(id).into_iter().flatten();
            let slot = view.messages.slot_of(id).map(|slot| view.messages.get(slot));
            let versions = view.messages.earlier_versions(id).iter().chain(slot).chain(awaited);
            !versions.into_iter().any(|version| version.content == content)
        }
    };
    if is_newer { Arrival::Edit } else { Arrival::Known }
}

/// True for a text whose secrets were masked on the way, as imports do.
fn is_masked_form(content: &str, known: &str) -> bool {
    content.contains(MASK) && masked_text(known).is_some_and(|(text, _)| text == content)
}

/// What tells whether two messages with one id can be versions of one message.
struct Said<'a> {
    role: &'a str,
    name: Option<String>,
    session: Option<&'a str>,
    at: Option<Moment>,
    content: &'a str,
}

impl<'a> Said<'a> {
    fn from_known(message: &'a Message) -> Self {
        Self {
            role: &message.role,
            name: message.name.as_deref().map(str::to_owned),
            session: message.session_id.as_deref(),
            at: Some(message.timestamp),
            content: &message.content,
        }
    }

    fn from_new(message: &'a NewMessage, session: Option<&'a str>) -> Self {
        Self {
            role: &message.role,
            name: message.name.as_deref().and_then(clean_name),
            session: message.session_id.as_deref().or(session),
            at: message.timestamp,
            content: &message.content,
        }
    }

    /// Whose the id is, if it is of another message: of another role, or of another speaker or
    /// session at another time. Counters that begin anew in each session repeat ids, and a chat
    /// that is copied into another session keeps the times.
    fn other_owner(&self, known: &Self) -> Option<String> {
        if self.role != known.role {
            return Some(format!("of `{}`", known.role));
        }
        if self.at.is_some() && self.at == known.at {
            return None;
        }
        let other = |one: Option<&str>, known: Option<&str>| {
            one.zip(known).filter(|(one, known)| one != known).map(|(_, known)| known.to_owned())
        };
        let name = other(self.name.as_deref(), known.name.as_deref());
        let session = || other(self.session, known.session).map(|id| format!("of session `{id}`"));
        name.map(|name| format!("of `{name}`")).or_else(session)
    }
}

/// Checks the messages whose ids are known with other words.
///
/// # Errors
/// `InvalidInput` for the id of another message, and for an edit that the message refuses.
pub(crate) fn check_known(
    view: &UserView,
    latest: &HashMap<String, Arc<Message>>,
    messages: &[NewMessage],
    session_id: Option<&str>,
) -> Result<()> {
    let mut earlier: HashMap<&str, Said<'_>> = HashMap::new();
    for (number, message) in messages.iter().enumerate() {
        let Some(id) = message.message_id.as_deref() else { continue };
        let now = Said::from_new(message, session_id);
        let known = latest_version(view, latest, id).map(|known| &**known);
        let is_edit = match earlier.get(id) {
            Some(before) => before.content != now.content,
            None => arrival_of(view, known, now.content, message.edited_at) == Arrival::Edit,
        };
        let before = earlier.remove(id).or_else(|| known.map(Said::from_known));
        if let Some(before) = before.filter(|_| is_edit) {
            let fail = |what: String, hint| {
                Err(Error::invalid(format!("message {number}: the id {what}: `{id}`"))
                    .with_hint(hint))
            };
            if let Some(whose) = now.other_owner(&before) {
                return fail(
                    format!("belongs to a message {whose}"),
                    "give each message its own id",
                );
            }
            if message.refuses_edit {
                return fail("is known with other words".into(), "give a new message its own id");
            }
        }
        earlier.insert(id, now);
    }
    Ok(())
}

/// The next version of a message. Who said it, when and where does not change.
pub(crate) fn version_of(known: &Message, new: Message, at: Moment) -> Message {
    let since = known.edited_at.unwrap_or(known.timestamp);
    Message {
        content: new.content,
        metadata: new.metadata.or_else(|| known.metadata.clone()),
        edited_at: Some(new.edited_at.filter(|told| *told > since).unwrap_or(at.max(since))),
        ..known.clone()
    }
}

/// Makes the newer versions of messages hold. The caller holds the user's `FormingTurn`.
pub(crate) fn follow_edits(
    services: &EngineServices,
    user: &OpenUser,
    control: &dyn CallControl,
) -> Result<()> {
    if user.view.read().backlog.awaited_edits().is_empty() {
        return Ok(());
    }
    decide_anew(services, control, || {
        let basis = user.decision_basis();
        let edited = EditedRecords::from_edits(services, user, control)?;
        edited.commit_edits(services, user, basis, control)
    })?;
    // A quotation has the vector of its message, and that has none yet.
    user.embed_missing(&services.indexing_settings(), control)?;
    compact_if_worth(services, user, control);
    Ok(())
}

/// The records that edits change.
struct EditedRecords {
    /// Every version that holds now, oldest first.
    versions: Vec<Arc<Message>>,
    episodes: Vec<Arc<Episode>>,
    /// Episodes with other messages, of which only the texts change.
    retold: Vec<Arc<Episode>>,
    /// The facts that a model found while it wrote the episodes.
    stated: Vec<Option<ExtractedFacts>>,
    /// Changed and new facts.
    facts: Vec<Arc<SemanticMemory>>,
    /// Ids of the facts that only the earlier words proved.
    withdrawn: Vec<String>,
    /// Episodes about which a model is to be asked again.
    relearn: BTreeSet<String>,
}

impl EditedRecords {
    /// The records that the awaited edits change, while the view still has the earlier words.
    fn from_edits(
        services: &EngineServices,
        user: &OpenUser,
        control: &dyn CallControl,
    ) -> Result<Self> {
        let edits = user.view.read().backlog.awaited_edits().clone();
        let newest = |id: &str| edits.get(id).and_then(|versions| versions.last());
        let (mut before, mut messages): (Vec<Arc<Episode>>, Vec<Vec<Arc<Message>>>) =
            Default::default();
        {
            let view = user.view.read();
            let slots: HashSet<u32> =
                edits.keys().filter_map(|id| view.messages.slot_of(id)).collect();
            let is_reached = |slot: &u32| view.members.get(*slot).iter().any(|m| slots.contains(m));
            for slot in view.episodes.current_slots().filter(is_reached) {
                let Some(episode) = view.episodes.get(slot) else { continue };
                let said = episode.original_messages.iter();
                let now = |one: &Arc<Message>| Arc::clone(newest(&one.message_id).unwrap_or(one));
                messages.push(said.map(now).collect());
                before.push(Arc::clone(episode));
            }
        }
        // A model wrote other episodes while it was shown the earlier words.
        let edited = before.len();
        let reached = UserErasure {
            messages: edits.keys().cloned().collect(),
            episodes: before.iter().map(|episode| episode.episode_id.clone()).collect(),
            ..UserErasure::default()
        };
        let shown = shown_to(&user.view.read(), &reached, control)?;
        for (episode, _) in shown.into_iter().filter(|(_, tells)| *tells) {
            messages.push(episode.original_messages.clone());
            before.push(episode);
        }
        let with = |(episode, messages): (&Arc<Episode>, &Vec<Arc<Message>>)| {
            Arc::new(Episode { original_messages: messages.clone(), ..(**episode).clone() })
        };
        let mut change = UserErasure {
            messages: edits.keys().cloned().collect(),
            replace_episodes: before.iter().zip(&messages).take(edited).map(with).collect(),
            ..UserErasure::default()
        };
        let quotes = Self::quote_edited(services, user, &change.replace_episodes, &edits, control)?;
        let earlier = Self::quote_edited(services, user, &before[..edited], &edits, control)?;
        let quotes = as_decided(services, user, quotes, earlier.concat())?;
        // As if the earlier words had been deleted, and the new ones were in their place.
        let effects = {
            let (view, owner) = (user.view.read(), &user.owner);
            let still_said = quotes.iter().flatten().filter(|quote| is_known(&view, quote));
            let still_said = still_said.map(|quote| quote.memory_id.clone()).collect();
            follow_facts(services, (owner, &view), &mut change, still_said, control)?
        };
        let slices: Vec<&[Arc<Message>]> = messages.iter().map(Vec::as_slice).collect();
        // A model is not shown the facts that go.
        *user.progress.leaving.lock() = change.semantic.iter().cloned().collect();
        let texts = compose_texts(services, user, &slices, control);
        user.progress.leaving.lock().clear();
        let shown = {
            let view = user.view.read();
            let shown = ShownBefore::from_view(&view, &change.semantic);
            shown.keep_in(&mut change.replace_semantic, &view);
            shown
        };
        let (mut episodes, mut stated) = (Vec::new(), Vec::new());
        for ((episode, messages), mut text) in before.iter().zip(messages).zip(texts?) {
            let asked = std::mem::take(&mut text.asked);
            write_trace(services, user, asked.with_ids(from_ref(&episode.episode_id)));
            stated.push(text.stated.take());
            let next = next_revision(episode, messages, text);
            episodes.push(Arc::new(Episode { shown: shown.in_all(episode, &next), ..next }));
        }
        // The facts of the others are known.
        stated.truncate(edited);
        let mut retold = episodes.split_off(edited);
        retold.extend(Self::without_facts(user, [&episodes, &retold], &change, &shown, control)?);
        // A model reads the episodes with the new words at once.
        let added = if services.llm.is_some() { Vec::new() } else { effects.added };
        let mut edited = Self {
            versions: edits.into_values().flatten().collect(),
            retold,
            episodes,
            stated,
            facts: change.replace_semantic.into_iter().chain(added).collect(),
            withdrawn: change.semantic,
            relearn: effects.relearn,
        };
        edited.add_quotes(&user.view.read(), quotes, services.clock.now());
        Ok(edited)
    }

    /// The quotations of the edited messages in these episodes, by episode; none with a model.
    fn quote_edited(
        services: &EngineServices,
        user: &OpenUser,
        episodes: &[Arc<Episode>],
        edits: &AwaitedEdits,
        control: &dyn CallControl,
    ) -> Result<Vec<Vec<SemanticMemory>>> {
        if services.llm.is_some() || !services.config.semantic_memory {
            return Ok(Vec::new());
        }
        let is_edited =
            |one: &FactCandidate| one.source_messages.iter().any(|id| edits.contains_key(id));
        let mut quotes = Vec::new();
        let found = quotes_of(services, user, episodes, control)?;
        for (episode, found) in episodes.iter().zip(found) {
            let id = &episode.episode_id;
            if user.view.read().backlog.unlearned_episodes().contains_key(id) {
                continue;
            }
            let candidates: Vec<_> = found.candidates.into_iter().filter(is_edited).collect();
            quotes.push(quoted_facts(services, user, &candidates, id).collect());
        }
        Ok(quotes)
    }

    /// The next revisions of further episodes that a model wrote while it was shown a fact that is
    /// withdrawn.
    fn without_facts(
        user: &OpenUser,
        done: [&[Arc<Episode>]; 2],
        change: &UserErasure,
        shown: &ShownBefore,
        control: &dyn CallControl,
    ) -> Result<Vec<Arc<Episode>>> {
        let done = done.into_iter().flatten().map(|episode| episode.episode_id.clone());
        let withdrawn = UserErasure {
            episodes: done.collect(),
            semantic: change.semantic.clone(),
            ..UserErasure::default()
        };
        let left = without_shown(&user.view.read(), &withdrawn, control)?.into_iter();
        let next = |episode: Arc<Episode>| {
            let known = user.view.read().episodes.by_id(&episode.episode_id).cloned()?;
            let (revision, shown) = (known.revision + 1, shown.in_all(&known, &episode));
            Some(Arc::new(Episode { revision, shown, ..(*episode).clone() }))
        };
        Ok(left.filter_map(next).collect())
    }

    /// Adds the quotations of the new words, with their links. One in the place of an earlier
    /// quotation is its next revision.
    fn add_quotes(&mut self, view: &UserView, quotes: Vec<Vec<SemanticMemory>>, now: Moment) {
        let mut new: Vec<SemanticMemory> = Vec::new();
        for fact in quotes.into_iter().flatten() {
            let place = self.withdrawn.iter().position(|id| *id == fact.memory_id);
            let is_there = self.facts.iter().any(|one| one.memory_id == fact.memory_id);
            match (view.facts.by_id(&fact.memory_id), place) {
                (Some(known), Some(place)) => {
                    self.withdrawn.swap_remove(place);
                    new.push(SemanticMemory {
                        created_at: known.created_at,
                        revision_count: known.revision_count + 1,
                        ..fact
                    });
                }
                (None, _) if !is_there => new.push(fact),
                _ => {}
            }
        }
        let gone: HashSet<&str> = self.withdrawn.iter().map(String::as_str).collect();
        let mut links = LinkingStep::rewording(new.iter().map(|fact| fact.memory_id.clone()));
        let mut changed: BTreeMap<String, Arc<SemanticMemory>> =
            self.facts.drain(..).map(|fact| (fact.memory_id.clone(), fact)).collect();
        for fact in new {
            let find = |id: &str| {
                let known = || view.facts.by_id(id).filter(|_| !gone.contains(id));
                changed.get(id).or_else(known)
            };
            let linked = links.link(view, &find, fact, now);
            changed.extend(linked.into_iter().map(|one| (one.memory_id.clone(), Arc::new(one))));
        }
        self.facts = changed.into_values().collect();
    }

    /// Appends everything, the note that the versions hold last; then updates the view.
    fn commit_edits(
        self,
        services: &EngineServices,
        user: &OpenUser,
        basis: DecisionBasis,
        control: &dyn CallControl,
    ) -> Result<()> {
        let Self { versions, mut episodes, retold, stated, facts, withdrawn, relearn } = self;
        let to = services.indexing_settings();
        let words = versions.iter().map(|version| version.content.as_str());
        let readings = to.read_messages(words, control)?;
        // The new words are quoted already; a model has not read them.
        let learned = if services.config.semantic_memory && services.llm.is_some() {
            let is_other = |id: &String| episodes.iter().all(|one| one.episode_id != *id);
            learned_after(services, user, &retold, &relearn.into_iter().filter(is_other).collect())
        } else {
            still_learned(services, user, &[&episodes[..], &retold].concat())
        };
        user.progress.keep_stated(&episodes, stated);
        episodes.extend(retold);
        let gone: Vec<&str> = withdrawn.iter().map(String::as_str).collect();
        let ids: BTreeSet<&String> = versions.iter().map(|version| &version.message_id).collect();
        let message_ids = ids.into_iter().cloned().collect();
        let held = StateRecord::Edited { message_ids, at: services.clock.now() };
        let _writer = user.lock_writer_on(basis, true, &to)?;
        user.store.append_semantic(&facts, &gone, &learned)?;
        user.store.append_episodes(&episodes, &[], &[])?;
        user.store.append_messages(&[], &[held])?;
        user.note_change();
        user.progress.readings.forget_messages(&versions);
        let mut view = user.view.write();
        view.edit_messages(&versions, &readings)?;
        for episode in &episodes {
            let is_learned = learned.iter().any(|state| is_about(state, &episode.episode_id));
            view.put_episode(Arc::clone(episode), &episode_terms(episode), &to)?;
            if services.config.semantic_memory && !is_learned {
                view.backlog.await_learning(&episode.episode_id, episode.revision);
            }
        }
        for fact in &facts {
            view.put_fact(Arc::clone(fact), None, &to)?;
        }
        learned.iter().for_each(|note| view.backlog.note_learned(note));
        view.withdraw_facts(&gone)
    }
}

/// What the user decided about a quotation of the earlier words holds for the same words elsewhere
/// in the message: one that was deleted or reworded does not come back, one that was closed or
/// archived stays so.
fn as_decided(
    services: &EngineServices,
    user: &OpenUser,
    mut quotes: Vec<Vec<SemanticMemory>>,
    earlier: Vec<SemanticMemory>,
) -> Result<Vec<Vec<SemanticMemory>>> {
    if earlier.is_empty() {
        return Ok(quotes);
    }
    let marks = {
        let _writer = user.lock_writer(&services.indexing_settings())?;
        DeletedMarks::read_marks(services, user)?
    };
    let earlier: HashMap<_, _> =
        earlier.iter().map(|one| (words_of(one), &one.memory_id)).collect();
    let view = user.view.read();
    let keep = |new: &mut SemanticMemory| {
        let Some(id) = earlier.get(&words_of(new)) else { return true };
        let Some(known) = view.facts.by_id(id) else { return !is_deleted(&marks, user, id) };
        if known.quote.is_some() {
            new.closed_at = known.closed_at;
            new.valid_to = known.closed_at.map(|at| at.max(new.valid_from));
            (new.archived_at, new.expires_at) = (known.archived_at, known.expires_at);
        }
        known.quote.is_some()
    };
    quotes.iter_mut().for_each(|quotes| quotes.retain_mut(keep));
    Ok(quotes)
}

/// The message of a quotation, and the letters and digits of its words: a comma more changes
/// nothing that was decided.
fn words_of(fact: &SemanticMemory) -> (Option<String>, String) {
    let text = fact.quote.as_ref().map_or("", |quote| &quote.text);
    let letters = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    (fact.source_messages.first().cloned(), letters.collect())
}

/// True if the view has the quotation with these words.
fn is_known(view: &UserView, quote: &SemanticMemory) -> bool {
    view.facts.by_id(&quote.memory_id).is_some_and(|known| known.quote == quote.quote)
}

fn is_about(state: &StateRecord, id: &str) -> bool {
    matches!(state, StateRecord::Learned { episode_id, .. } if episode_id == id)
}

/// The next revision of an episode, written from its messages as they are now.
fn next_revision(
    episode: &Episode,
    messages: Vec<Arc<Message>>,
    written: ComposedEpisode,
) -> Episode {
    let boundary =
        BoundaryJudgement { topic_summary: topic_summary(&messages), ..episode.boundary.clone() };
    Episode {
        shown: written.shown,
        title: written.text.title,
        summary: written.text.summary,
        content: written.text.content,
        entities: written.text.entities,
        boundary_reason: describe_reason(boundary.reason).to_owned(),
        boundary,
        original_messages: messages,
        revision: episode.revision + 1,
        provenance: written.provenance,
        ..episode.clone()
    }
}
