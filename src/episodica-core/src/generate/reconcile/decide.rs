//! The rules for reconciling without a model.

use std::cell::OnceCell;
use std::cmp::Ordering;

use rustc_hash::FxHashSet;

use crate::clock::Moment;
use crate::generate::facts::{FactCandidate, tells_change};
use crate::model::{EventKind, SemanticMemory};
use crate::text::hash::Fnv1a;
use crate::text::is_normalized_as;
use crate::text::words::for_each_word_letter;

/// What to do with one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct FactDecision {
    /// The outcome.
    pub event: EventKind,
    /// Index into the nearest facts. With `Add` it refers to a newer fact of the same attribute,
    /// and the candidate is stored as history.
    pub target: Option<usize>,
    /// The text to store, if it differs from the candidate's.
    pub content: Option<String>,
    /// The reason, for display.
    pub reason: String,
}

/// A fact with this many sources gains at most one more per day. Each revision lists all sources,
/// so a sentence repeated a thousand times would otherwise store half a million of them.
const MANY_PROOFS: usize = 64;
const DAY_SECONDS: f64 = 86_400.0;

impl FactDecision {
    /// Stores the candidate in addition to the known facts.
    pub(crate) fn add() -> Self {
        decision(EventKind::Add, None, "new")
    }

    /// Changes the decision to IGNORE if it would only add a source to a fact that has many and was
    /// revised less than a day ago. A fact that expires or is archived gains the source in any
    /// case, which keeps or restores it.
    #[must_use]
    pub fn without_surplus(self, nearest: &[&SemanticMemory], now: Moment) -> Self {
        let target = self.target.and_then(|index| nearest.get(index));
        let is_surplus = target.is_some_and(|known| {
            self.event == EventKind::Merge
                && self.content.as_deref() == Some(&known.content)
                && known.source_messages.len() >= MANY_PROOFS
                && now.seconds_since(known.updated_at) < DAY_SECONDS
                && known.expires_at.is_none()
                && known.archived_at.is_none()
        });
        if is_surplus { Self { event: EventKind::Ignore, content: None, ..self } } else { self }
    }
}

/// Attributes that have one value at a time per subject. All others may have several values at
/// once.
const SINGLE_VALUED: &str = "\
    address age birthday birthplace diet email employer family_name given_name home hometown \
    job_status language manager name occupation partner phone relationship_status role school \
    spouse timezone";

/// Attributes of which a later value always replaces the earlier one. All others need words that
/// tell of a change: a second home, or "Gilbert" after "Arizona", ends nothing.
const REPLACED_BY_NATURE: [&str; 7] =
    ["age", "birthday", "birthplace", "family_name", "given_name", "language", "name"];

/// Slots that have one value at a time per object.
const SINGLE_VALUED_BY_OBJECT: [&str; 6] =
    ["favourite:", "contact:", "plan:", "dose:", "phone:", "email:"];

/// True if the attribute has one value at a time. `favourite:film` has one value per object.
pub fn is_single_valued(attribute: &str) -> bool {
    SINGLE_VALUED_BY_OBJECT.iter().any(|slot| attribute.starts_with(slot))
        || SINGLE_VALUED.split(' ').any(|known| known == attribute)
}

/// A candidate, prepared for comparison with many known facts.
pub(crate) struct CandidateWords<'a> {
    candidate: &'a FactCandidate,
    /// The candidate's [`normalized`](crate::text::normalized) text.
    normalized: &'a str,
    /// Returns the time at which a known fact was last said. Without it, the two starts of validity
    /// are compared.
    said_at: Option<SaidAt<'a>>,
    words: OnceCell<PaddedWords>,
}

/// Returns the time at which a fact was last said.
type SaidAt<'a> = &'a dyn Fn(&SemanticMemory) -> Moment;

impl<'a> CandidateWords<'a> {
    /// Prepares a candidate; `normalized` is its normalized text.
    pub fn by(candidate: &'a FactCandidate, normalized: &'a str) -> Self {
        Self { candidate, normalized, said_at: None, words: OnceCell::new() }
    }

    /// Sets the function that returns when each known fact was last said.
    pub fn after(self, said_at: SaidAt<'a>) -> Self {
        Self { said_at: Some(said_at), ..self }
    }

    /// Compares when the candidate and a known fact were said.
    fn cmp_time(&self, known: &SemanticMemory) -> Ordering {
        match self.said_at {
            Some(said_at) => self.candidate.said.cmp(&said_at(known)),
            None => self.candidate.valid_from.cmp(&known.valid_from),
        }
    }

    fn words(&self) -> &PaddedWords {
        self.words.get_or_init(|| PaddedWords::of(&self.candidate.content))
    }

    /// Decides by rules what to do with the candidate, given those facts of the user that may
    /// concern it. If several facts match, the first one counts.
    ///
    /// The rules are conservative: they add the candidate if none applies. A fact is superseded
    /// only by a later fact with another value of the same single-valued attribute of the same
    /// subject.
    pub fn reconcile_offline(&self, known: &[&SemanticMemory]) -> FactDecision {
        // A statement does not repeat a procedure.
        let current =
            || (0..).zip(known).filter(|(_, fact)| fact.is_current() && !fact.is_procedure());
        let same_text =
            current().find(|(_, fact)| is_normalized_as(&fact.content, self.normalized));
        if let Some((index, fact)) = same_text {
            return repeats(self.candidate, fact, index, "says the same");
        }
        (0..)
            .zip(known)
            .find_map(|(index, fact)| by_attribute(self, fact, index))
            .or_else(|| current().find_map(|(index, fact)| by_extent(self, fact, index)))
            .unwrap_or_else(|| decision(EventKind::Add, None, "new"))
    }

    /// True if a rule may apply to the candidate and this known fact. Other facts need not be
    /// passed to [`CandidateWords::reconcile_offline`].
    pub fn concerns(&self, known: &SemanticMemory) -> bool {
        contradicts(self.candidate, known) || self.reconcile_offline(&[known]).target.is_some()
    }
}

/// The rule for another value of the same single-valued attribute: the later value wins.
fn by_attribute(
    said: &CandidateWords<'_>,
    known: &SemanticMemory,
    index: usize,
) -> Option<FactDecision> {
    let candidate = said.candidate;
    let value = known_value(known);
    if !known.is_current()
        || !same_attribute(candidate, known)
        || candidate.value.is_empty()
        || value.is_empty()
    {
        return None;
    }
    if candidate.value == value {
        // A repeated value in fewer or other words is not new; `by_extent` handles one with more
        // words.
        let news = said.words().count() > PaddedWords::of(&known.content).count();
        return (!news && is_single_valued(&candidate.attribute)).then(|| {
            let why = format!("{} is known to be {value}", candidate.attribute);
            repeats(candidate, known, index, &why)
        });
    }
    if !contradicts(candidate, known) {
        return None;
    }
    let (new, old) = (Statement::of_candidate(candidate), Statement::of_fact(known));
    let order = said.cmp_time(known);
    let replaces = match order {
        Ordering::Greater => new.replaces(&old, &candidate.attribute),
        _ => old.replaces(&new, &candidate.attribute),
    };
    if !replaces {
        return None;
    }
    let change =
        format!("{} of {}: {value} -> {}", candidate.attribute, candidate.subject, candidate.value);
    match order {
        Ordering::Greater => Some(decision(EventKind::Supersede, Some(index), &change)),
        Ordering::Less => {
            Some(decision(EventKind::Add, Some(index), &format!("history; {} is newer", value)))
        }
        Ordering::Equal => None,
    }
}

/// True if a candidate and a known fact cannot both hold: they state different values of a
/// single-valued slot, or one denies the other.
fn contradicts(candidate: &FactCandidate, known: &SemanticMemory) -> bool {
    let (new, old) = (candidate.value.as_str(), known_value(known));
    if !known.is_current()
        || !same_attribute(candidate, known)
        || new.is_empty()
        || old.is_empty()
        || new == old
    {
        return false;
    }
    match (new.strip_prefix("not "), old.strip_prefix("not ")) {
        (Some(ended), None) => ended == old,
        (None, Some(ended)) => ended == new,
        (None, None) => is_single_valued(&candidate.attribute) && !is_more_of(new, old),
        (Some(_), Some(_)) => false,
    }
}

/// A statement of a value of an attribute.
struct Statement<'a> {
    content: &'a str,
    value: &'a str,
    /// True if the application stated it; it cites no message.
    is_stated: bool,
}

impl<'a> Statement<'a> {
    fn of_candidate(candidate: &'a FactCandidate) -> Self {
        let is_stated = candidate.source_messages.is_empty();
        Self { content: &candidate.content, value: &candidate.value, is_stated }
    }

    fn of_fact(fact: &'a SemanticMemory) -> Self {
        let is_stated = fact.source_messages.is_empty();
        Self { content: &fact.content, value: known_value(fact), is_stated }
    }

    /// True if this later statement ends the earlier one, which contradicts it.
    fn replaces(&self, earlier: &Self, attribute: &str) -> bool {
        if attribute == "age" {
            let years = |value: &str| value.parse::<u8>().ok();
            return years(self.value) > years(earlier.value);
        }
        self.is_stated
            || self.value.starts_with("not ")
            || earlier.value.starts_with("not ")
            || REPLACED_BY_NATURE.contains(&attribute)
            || tells_change(self.content, self.value)
    }
}

/// True if one value is a more precise form of the other: "lyon" and "lyon 3e" can both hold.
fn is_more_of(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() > other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.starts_with(' '))
}

/// The rule for two facts about the same subject of which one contains the other word for word.
fn by_extent(
    said: &CandidateWords<'_>,
    known: &SemanticMemory,
    index: usize,
) -> Option<FactDecision> {
    let candidate = said.candidate;
    if !same_subject(candidate, known) || candidate.kind != known.kind {
        return None;
    }
    let (new, old) = (said.words(), PaddedWords::of(&known.content));
    if new.is_empty() || old.is_empty() {
        return None;
    }
    if old.contain(new) {
        return Some(repeats(candidate, known, index, "contained in a known fact"));
    }
    // Compares words in any order; up to one in five may be missing.
    let nearly = new.are_among(&old) && 5 * new.distinct().len() >= 4 * old.distinct().len();
    let agree = || new.are_negated() == old.are_negated();
    if nearly && agree() {
        return Some(repeats(candidate, known, index, "nearly the same as a known fact"));
    }
    let extends = same_attribute(candidate, known)
        && !candidate.attribute.is_empty()
        && old.are_among(new)
        && new.distinct().len() > old.distinct().len();
    (extends && agree())
        .then(|| decision(EventKind::Update, Some(index), "says more than a known fact"))
}

/// Further evidence of a known fact: adds its sources and keeps the text. Does nothing if all
/// sources are known already.
fn repeats(
    candidate: &FactCandidate,
    known: &SemanticMemory,
    index: usize,
    why: &str,
) -> FactDecision {
    let proves = |id| known.source_messages.contains(id);
    if candidate.source_messages.iter().all(proves) {
        return decision(EventKind::Ignore, Some(index), why);
    }
    let content = Some(known.content.clone());
    FactDecision { content, ..decision(EventKind::Merge, Some(index), why) }
}

fn decision(event: EventKind, target: Option<usize>, reason: &str) -> FactDecision {
    FactDecision { event, target, content: None, reason: reason.to_owned() }
}

pub(super) fn same_subject(candidate: &FactCandidate, known: &SemanticMemory) -> bool {
    let (new, old) = (subject_key(&candidate.subject), subject_key(&known.subject));
    let same = || {
        if new.is_ascii() && old.is_ascii() {
            new.eq_ignore_ascii_case(old)
        } else {
            new.to_lowercase() == old.to_lowercase()
        }
    };
    !new.is_empty() && same()
}

/// The subject of a fact as it is compared. A user without a name is "the user", "User" or "用户",
/// depending on the language of the message.
pub(crate) fn subject_key(subject: &str) -> &str {
    match subject {
        "用户" => "user",
        _ if subject.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("the ")) => {
            &subject[4..]
        }
        _ => subject,
    }
}

pub(super) fn same_attribute(candidate: &FactCandidate, known: &SemanticMemory) -> bool {
    same_subject(candidate, known)
        && candidate.attribute == known.attribute
        && !candidate.attribute.is_empty()
}

/// True if a known fact includes the candidate: it has the same value or contains all of its words.
pub(crate) fn same_words(candidate: &FactCandidate, known: &SemanticMemory) -> bool {
    let value = known_value(known);
    same_attribute(candidate, known) && !value.is_empty() && candidate.value == value
        || same_subject(candidate, known)
            && PaddedWords::of(&candidate.content).are_among(&PaddedWords::of(&known.content))
}

/// The value of a fact's attribute, as [`apply`](super::apply) stored it.
pub(crate) fn known_value(known: &SemanticMemory) -> &str {
    known.metadata.get("value").and_then(serde_json::Value::as_str).unwrap_or_default()
}

/// The words of a fact in lower case, each preceded by a space, with a space at the end.
pub(crate) struct PaddedWords(String);

impl PaddedWords {
    pub fn of(text: &str) -> Self {
        let mut words = String::with_capacity(text.len() + 2);
        for_each_word_letter(text, |letter, begins| {
            if begins {
                words.push(' ');
            }
            words.push(letter);
        });
        words.push(' ');
        Self(words)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split_ascii_whitespace()
    }

    fn count(&self) -> usize {
        self.iter().count()
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    fn distinct(&self) -> FxHashSet<&str> {
        self.iter().collect()
    }

    /// True if each of these words is among `others`. Tests the last word first: facts often begin
    /// alike, so the last word usually decides.
    fn are_among(&self, others: &Self) -> bool {
        let has = |last: &str| others.iter().any(|other| other == last);
        self.iter().next_back().is_none_or(has) && self.distinct().is_subset(&others.distinct())
    }

    /// True if these words contain `run` as consecutive whole words.
    pub fn contain(&self, run: &Self) -> bool {
        self.0.contains(&run.0)
    }

    pub fn are_negated(&self) -> bool {
        self.iter().any(|word| {
            matches!(word, "not" | "no" | "never" | "不" | "没") || word.ends_with("n't")
        })
    }
}

/// The words of a fact as a 64-bit set, three bits per word: a fast test that can rule out that one
/// fact contains another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub(crate) struct WordSignature(u64);

impl WordSignature {
    /// The set of a fact's words.
    pub fn of(text: &str) -> Self {
        let (mut bits, mut hash) = (0, None::<Fnv1a>);
        let bits_of = |hash: Option<Fnv1a>| {
            hash.map_or(0_u64, |hash| {
                let number = hash.finish().wrapping_mul(0x9e37_79b9_7f4a_7c15);
                [58, 52, 46].iter().fold(0, |bits, shift| bits | 1 << (number >> shift & 63))
            })
        };
        for_each_word_letter(text, |letter, begins| {
            if begins {
                bits |= bits_of(hash.take());
            }
            hash.get_or_insert_default().push(letter);
        });
        Self(bits | bits_of(hash))
    }

    /// False only if neither of the two facts can contain all words of the other.
    pub fn may_nest(self, other: Self) -> bool {
        let both = self.0 & other.0;
        both == self.0 || both == other.0
    }
}
