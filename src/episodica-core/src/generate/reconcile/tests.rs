//! Reconciling scenarios: a first fact, a second fact, and the expected store.

use proptest::prelude::*;

use super::records::AppliedDecision;
use super::*;
use crate::clock::Moment;
use crate::generate::facts::FactCandidate;
use crate::ids::Owner;
use crate::model::{EventKind, MemoryKind, SemanticMemory};
use crate::text::normalized;

const NOW: &str = "2024-06-01T12:00:00Z";

fn reconcile_offline(candidate: &FactCandidate, nearest: &[&SemanticMemory]) -> FactDecision {
    CandidateWords::by(candidate, &normalized(&candidate.content)).reconcile_offline(nearest)
}

fn moment(text: &str) -> Moment {
    Moment::parse(text).expect("valid")
}

fn candidate(
    subject: &str,
    attribute: &str,
    value: &str,
    from: &str,
    content: &str,
) -> FactCandidate {
    FactCandidate {
        content: content.to_owned(),
        kind: MemoryKind::PersonalInfo,
        confidence: 0.8,
        importance: 0.6,
        subject: subject.to_owned(),
        attribute: attribute.to_owned(),
        value: value.to_owned(),
        valid_from: moment(from),
        said: moment(from),
        source_messages: vec![format!("m-{from}")],
    }
}

/// A store of a few facts: the latest revision of each id.
#[derive(Default)]
struct Store(Vec<SemanticMemory>);

impl Store {
    fn learn(&mut self, candidate: &FactCandidate) -> (FactDecision, AppliedDecision) {
        let owner = Owner::new("default", "alice").expect("valid");
        let nearest: Vec<&SemanticMemory> = self.0.iter().collect();
        let decision = reconcile_offline(candidate, &nearest);
        let known: Vec<&SemanticMemory> = self.0.iter().collect();
        let applied = apply(&owner, candidate, &decision, &known, &["e1".to_owned()], moment(NOW));
        for record in applied.records.clone() {
            match self.0.iter_mut().find(|memory| memory.memory_id == record.memory_id) {
                Some(known) => *known = record,
                None => self.0.push(record),
            }
        }
        (decision, applied)
    }

    fn current(&self) -> Vec<&str> {
        self.0
            .iter()
            .filter(|memory| memory.is_current())
            .map(|memory| memory.content.as_str())
            .collect()
    }
}

fn job(place: &str, from: &str) -> FactCandidate {
    candidate(
        "Alice",
        "employer",
        &place.to_lowercase(),
        from,
        &format!("Alice now works at {place}."),
    )
}

#[test]
fn a_later_employer_supersedes_and_cites_both_sides() {
    let mut store = Store::default();
    store.learn(&job("Google", "2023-01-01"));
    let (decision, applied) = store.learn(&job("Meta", "2024-03-01"));
    assert_eq!((decision.event, applied.event.event), (EventKind::Supersede, EventKind::Supersede));
    assert_eq!(applied.event.previous.as_deref(), Some("Alice now works at Google."));
    let (old, new) = (&store.0[0], &store.0[1]);
    assert_eq!(
        (old.superseded_by.as_ref(), old.valid_to),
        (Some(&new.memory_id), Some(moment("2024-03-01")))
    );
    assert_eq!(new.metadata["supersedes"], old.memory_id);
    assert_eq!((old.revision_count, new.revision_count), (1, 0));
    assert_eq!(store.current(), ["Alice now works at Meta."]);
    assert!(decision.reason.contains("google -> meta"), "{}", decision.reason);
}

#[test]
fn only_a_change_or_the_application_makes_a_value_outdated() {
    let home =
        |value: &str, from: &str, content: &str| candidate("Alice", "home", value, from, content);
    let age = |years: &str, from: &str| {
        candidate("Alice", "age", years, from, &format!("Alice is {years}."))
    };
    let arizona = home("arizona", "2023-01-01", "Alice lives in Arizona.");
    let gilbert = home("gilbert", "2024-01-01", "Alice lives in Gilbert.");
    let moved = home("gilbert", "2024-01-01", "Alice moved to Gilbert.");
    let told = FactCandidate { source_messages: Vec::new(), ..gilbert.clone() };
    for (first, second, left) in [
        (&arizona, &gilbert, 2),
        (&arizona, &moved, 1),
        (&arizona, &told, 1),
        // Learned in another order, the later statement decides as well.
        (&gilbert, &arizona, 2),
        (&moved, &arizona, 1),
        (&age("30", "2023-01-01"), &age("31", "2024-01-01"), 1),
        (&age("31", "2023-01-01"), &age("30", "2024-01-01"), 2),
    ] {
        let mut store = Store::default();
        store.learn(first);
        store.learn(second);
        assert_eq!(store.current().len(), left, "{} {}", first.content, second.content);
    }
}

#[test]
fn a_supersession_can_be_undone() {
    let mut store = Store::default();
    store.learn(&job("Google", "2023-01-01"));
    store.learn(&job("Meta", "2024-03-01"));
    let restored = restore(&store.0[0], moment(NOW));
    assert!(
        restored.is_current()
            && restored.revision_count == 2
            && restored.memory_id == store.0[0].memory_id
    );
    assert_eq!(restored.content, "Alice now works at Google.");
}

#[test]
fn an_older_statement_learned_later_is_history() {
    let mut store = Store::default();
    store.learn(&job("Meta", "2024-03-01"));
    let (decision, applied) = store.learn(&job("Google", "2023-01-01"));
    assert_eq!((decision.event, decision.target), (EventKind::Add, Some(0)));
    assert_eq!(applied.records[0].valid_to, Some(moment("2024-03-01")));
    assert_eq!(store.current(), ["Alice now works at Meta."]);
}

#[test]
fn other_subjects_attributes_and_many_valued_ones_stand_side_by_side() {
    for (first, second) in [
        (
            job("Google", "2023-01-01"),
            candidate("Bob", "employer", "meta", "2024-01-01", "Bob works at Meta."),
        ),
        (
            job("Google", "2023-01-01"),
            candidate("Alice", "home", "lyon", "2024-01-01", "Alice lives in Lyon."),
        ),
        (
            candidate("Alice", "likes", "tea", "2023-01-01", "Alice likes tea."),
            candidate("Alice", "likes", "coffee", "2024-01-01", "Alice likes coffee."),
        ),
        (
            candidate("Alice", "has:dog", "rex", "2023-01-01", "Rex is Alice's dog."),
            candidate("Alice", "has:dog", "bo", "2024-01-01", "Bo is Alice's dog."),
        ),
        (
            candidate(
                "Alice",
                "favourite:colour",
                "green",
                "2023-01-01",
                "Alice's favourite colour is green.",
            ),
            candidate(
                "Alice",
                "favourite:band",
                "blue lagoon",
                "2024-01-01",
                "Alice's favourite band is Blue Lagoon.",
            ),
        ),
    ] {
        let mut store = Store::default();
        store.learn(&first);
        let (decision, _) = store.learn(&second);
        assert_eq!((decision.event, decision.target), (EventKind::Add, None), "{}", second.content);
        assert_eq!(store.current().len(), 2);
    }
}

#[test]
fn the_end_of_one_value_ends_only_that_value() {
    let left = candidate(
        "Alice",
        "employer",
        "not google",
        "2024-04-01",
        "Alice quit their job at Google.",
    );
    let mut store = Store::default();
    store.learn(&job("Google", "2023-01-01"));
    assert_eq!(store.learn(&left).0.event, EventKind::Supersede);
    assert_eq!(store.learn(&job("Meta", "2024-05-01")).0.event, EventKind::Add);
    assert_eq!(store.current(), ["Alice quit their job at Google.", "Alice now works at Meta."]);

    let mut other = Store::default();
    other.learn(&job("Meta", "2023-01-01"));
    assert_eq!(other.learn(&left).0.event, EventKind::Add);
    assert_eq!(other.current().len(), 2);
}

#[test]
fn repeats_and_parts_join_the_proofs_of_the_known_fact() {
    let mut store = Store::default();
    let said = "Alice now works at Google as an engineer.";
    store.learn(&candidate("Alice", "employer", "google", "2023-01-01", said));
    let mut days = vec!["m-2023-01-01".to_owned()];
    for (day, repeat) in [
        ("2024-01-01", "alice now works at  Google as an engineer"),
        ("2024-02-01", "Alice now works at Google."),
    ] {
        let again = candidate("Alice", "employer", "google", day, repeat);
        let (decision, applied) = store.learn(&again);
        assert_eq!((decision.event, decision.target), (EventKind::Merge, Some(0)), "{repeat}");
        days.push(format!("m-{day}"));
        let [known] = &applied.records[..] else { panic!("one record") };
        assert_eq!((known.content.as_str(), &known.source_messages), (said, &days));
        assert_eq!(known.updated_at, moment(NOW));
        assert_eq!(store.learn(&again).0.event, EventKind::Ignore, "{repeat} of the same message");
    }
    assert_eq!(store.0.len(), 1);
}

#[test]
fn a_fact_with_many_proofs_gains_one_a_day() {
    let mut store = Store::default();
    let said = |number: usize| FactCandidate {
        source_messages: vec![format!("m{number}")],
        ..job("Acme", "2020-01-01T00:00:00Z")
    };
    for number in 0..64 {
        store.learn(&said(number));
    }
    let [known] = &store.0[..] else { panic!("one fact: {:?}", store.0) };
    assert_eq!(known.source_messages.len(), 64);
    let decide = |known: &SemanticMemory, candidate: &FactCandidate, now: &str| {
        let decision = reconcile_offline(candidate, &[known]);
        decision.without_surplus(&[known], moment(now)).event
    };
    let (soon, tomorrow) = ("2024-06-02T11:59:59Z", "2024-06-02T12:00:00Z");
    assert_eq!(decide(known, &said(64), soon), EventKind::Ignore);
    assert_eq!(decide(known, &said(64), tomorrow), EventKind::Merge);
    let longer =
        FactCandidate { content: "Alice now works at Acme as an engineer.".to_owned(), ..said(64) };
    assert_eq!(decide(known, &longer, soon), EventKind::Update, "it says more");
    let other = job("Zorg", "2021-01-01T00:00:00Z");
    assert_eq!(decide(known, &other, soon), EventKind::Supersede);
    let fewer =
        SemanticMemory { source_messages: known.source_messages[..63].to_vec(), ..known.clone() };
    let expiring = SemanticMemory { expires_at: Some(moment(tomorrow)), ..known.clone() };
    let archived = SemanticMemory { archived_at: Some(moment(NOW)), ..known.clone() };
    for known in [fewer, expiring, archived] {
        assert_eq!(decide(&known, &said(64), soon), EventKind::Merge);
    }
}

#[test]
fn more_about_the_same_value_is_an_update() {
    let mut store = Store::default();
    store.learn(&job("Google", "2023-01-01"));
    let longer = candidate(
        "Alice",
        "employer",
        "google",
        "2024-01-01",
        "Alice now works at Google as an engineer.",
    );
    let (decision, applied) = store.learn(&longer);
    assert_eq!(
        (decision.event, applied.event.previous.as_deref()),
        (EventKind::Update, Some("Alice now works at Google."))
    );
    assert_eq!(store.0.len(), 1);
    assert_eq!(store.0[0].source_messages, ["m-2023-01-01", "m-2024-01-01"]);
    assert_eq!(store.0[0].revision_count, 1);
}

#[test]
fn a_denial_is_no_extension() {
    let mut store = Store::default();
    store.learn(&candidate("Alice", "diet", "", "2023-01-01", "Alice does eat meat."));
    let denial = candidate("Alice", "diet", "", "2024-01-01", "Alice does not eat meat.");
    assert_eq!(store.learn(&denial).0.event, EventKind::Add);
}

#[test]
fn ids_follow_from_what_they_name() {
    let (mut one, mut two) = (Store::default(), Store::default());
    one.learn(&job("Google", "2023-01-01"));
    two.learn(&job("Google", "2023-01-01"));
    assert_eq!(one.0[0].memory_id, two.0[0].memory_id);
    assert_eq!(one.0[0].provenance.method, "offline");
    two.learn(&job("Meta", "2023-01-01"));
    assert_ne!(two.0[0].memory_id, two.0[1].memory_id);
}

#[test]
fn an_index_beyond_the_list_is_an_addition() {
    let owner = Owner::new("default", "alice").expect("valid");
    let decision = FactDecision {
        event: EventKind::Update,
        target: Some(7),
        content: None,
        reason: String::new(),
    };
    let applied = apply(&owner, &job("Google", "2023-01-01"), &decision, &[], &[], moment(NOW));
    assert_eq!((applied.event.event, applied.records.len()), (EventKind::Add, 1));
}

proptest! {
    #[test]
    fn nothing_panics_and_only_single_values_are_superseded(
        attribute in prop::sample::select(vec!["employer", "likes", "home", "has:dog", ""]),
        values in prop::collection::vec("[a-c]{0,2}", 1..6),
        contents in prop::collection::vec("\\PC{0,20}", 6),
        days in prop::collection::vec(1_u32..28, 6),
    ) {
        let mut store = Store::default();
        for (index, value) in values.iter().enumerate() {
            let from = format!("2024-01-{:02}", days[index]);
            let (decision, _) =
                store.learn(&candidate("Alice", attribute, value, &from, &contents[index]));
            prop_assert!(decision.event != EventKind::Supersede || is_single_valued(attribute));
        }
        for memory in &store.0 {
            prop_assert!(
                memory.valid_to.is_none_or(|until| until >= memory.valid_from)
                    || memory.superseded_by.is_some()
            );
        }
    }
}
