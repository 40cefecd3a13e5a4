//! Facts and the clock: a wrong clock does no lasting damage; an ending takes effect on its day.

use episodica_core::clock::Moment;
use episodica_core::engine::{AnyRecord, Engine, ListingPage, RecordKind, StatedFact};
use episodica_core::model::{NewMessage, SemanticMemory};
use episodica_core::score::SearchMethod;
use episodica_core::store::testing::MemoryBackend;

use super::support::*;

const DAY: i64 = 86_400;

fn facts(engine: &Engine) -> Vec<SemanticMemory> {
    let semantic = |record| match record {
        AnyRecord::Semantic(fact) => Some((*fact).clone()),
        _ => None,
    };
    records(engine, "alice", RecordKind::Semantic).into_iter().filter_map(semantic).collect()
}

/// The texts of the current facts, sorted.
fn current(engine: &Engine) -> Vec<String> {
    let page = ListingPage { limit: 100, ..ListingPage::default() };
    let records = engine.records("alice", RecordKind::Semantic, &page, &NOW).unwrap();
    let text = |record: AnyRecord| match record {
        AnyRecord::Semantic(fact) => fact.content.clone(),
        other => panic!("{other:?}"),
    };
    let mut texts: Vec<String> = records.into_iter().map(text).collect();
    texts.sort();
    texts
}

fn state(engine: &Engine, town: &str, at: i64) -> SemanticMemory {
    let statement = StatedFact {
        content: format!("I live in {town}."),
        attribute: "home".to_owned(),
        value: town.to_owned(),
        valid_from: Some(moment(at)),
        ..StatedFact::default()
    };
    (*engine.remember("alice", statement, &NOW).unwrap().0).clone()
}

#[test]
fn a_message_of_a_clock_ahead_is_known_from_its_arrival() {
    for days in [0, 1, 40, 50 * 365] {
        let disk = Disk::new(MemoryBackend::new());
        let engine = open(&disk).unwrap();
        let messages = vec![
            said("now", "I live in Paris.", -30 * DAY, Some("s")),
            said("later", "I'm allergic to peanuts.", days * DAY + 3_600, Some("s")),
        ];
        engine.add_messages("alice", messages, None, &NOW).unwrap();
        engine.flush("alice", &NOW).unwrap();
        let texts: Vec<String> = facts(&engine).into_iter().map(|fact| fact.content).collect();
        let wanted = ["alice: \"I live in Paris.\"", "alice: \"I'm allergic to peanuts.\""];
        assert_eq!(texts.len(), wanted.len(), "{texts:?}");
        let now = moment(60);
        assert!(facts(&engine).iter().all(|fact| fact.valid_from <= now), "{days}");
        let Some(AnyRecord::Message(stored)) = engine.get("alice", "later", &NOW).unwrap() else {
            panic!("a message")
        };
        assert_eq!(stored.timestamp, moment(days * DAY + 3_600), "stored with its date");
        assert!(found(&engine, "alice", "peanuts", SearchMethod::Bm25)[0].contains("peanuts"));
    }
}

#[test]
fn an_ending_takes_effect_on_its_day_whoever_reads() {
    let disk = Disk::new(MemoryBackend::new());
    {
        let engine = open(&disk).unwrap();
        let old = state(&engine, "Leeds", -100 * DAY);
        let new = state(&engine, "York", 10 * DAY);
        let old = engine.get("alice", &old.memory_id, &NOW).unwrap();
        let Some(AnyRecord::Semantic(old)) = old else { panic!("a fact") };
        assert_eq!(old.valid_to, Some(moment(10 * DAY)), "told at once, with its day");
        assert_eq!(old.superseded_by, Some(new.memory_id));
        assert_eq!(current(&engine), ["I live in Leeds.", "I live in York."]);
    }
    // Nothing was written since.
    for (days, towns) in [(9, vec!["Leeds", "York"]), (11, vec!["York"]), (400, vec!["York"])] {
        let engine = open_days_later(&disk, days).unwrap();
        let wanted: Vec<String> = towns.iter().map(|town| format!("I live in {town}.")).collect();
        assert_eq!(current(&engine), wanted, "{days} days later");
        assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
    }
}

#[test]
fn a_plan_called_off_before_its_day_leaves_what_it_would_have_ended() {
    let disk = Disk::new(MemoryBackend::new());
    let plan = {
        let engine = open(&disk).unwrap();
        state(&engine, "Leeds", -100 * DAY);
        state(&engine, "York", 10 * DAY)
    };
    {
        let engine = open_days_later(&disk, 5).unwrap();
        let closed = engine.close_fact("alice", &plan.memory_id, None, &NOW).unwrap();
        assert_eq!(closed.valid_to, Some(plan.valid_from), "it never held");
    }
    for days in [6, 11, 400] {
        let engine = open_days_later(&disk, days).unwrap();
        let held: Vec<SemanticMemory> =
            facts(&engine).into_iter().filter(SemanticMemory::is_open).collect();
        assert_eq!(held.len(), 1, "{days}: {held:?}");
        assert_eq!(held[0].value, "Leeds");
    }
    let engine = open_days_later(&disk, 12).unwrap();
    let moved = state(&engine, "Hull", 12 * DAY);
    assert_eq!(current(&engine), ["I live in Hull."]);
    engine.delete("alice", &moved.memory_id, &NOW).unwrap();
    assert_eq!(current(&engine), ["I live in Leeds."], "as if never said");
}

#[test]
fn a_plan_with_another_value_or_day_takes_the_place_of_the_plan() {
    for (from, at_15) in [(10, "Hull"), (12, "Hull"), (20, "Leeds")] {
        let disk = Disk::new(MemoryBackend::new());
        {
            let engine = open(&disk).unwrap();
            state(&engine, "Leeds", -100 * DAY);
            state(&engine, "York", 10 * DAY);
        }
        {
            let engine = open_days_later(&disk, 5).unwrap();
            state(&engine, "Hull", from * DAY);
            let begun = facts(&engine).into_iter().filter(|fact| fact.holds_at(moment(5 * DAY)));
            let towns: Vec<String> = begun.map(|fact| fact.value).collect();
            assert!(!towns.contains(&"York".to_owned()), "called off at once: {towns:?}");
        }
        for (day, town) in [(9, "Leeds"), (15, at_15), (25, "Hull")] {
            let engine = open_days_later(&disk, day).unwrap();
            let now = moment(day * DAY);
            let held = facts(&engine).into_iter();
            let held = held.filter(|fact| fact.valid_from <= now && fact.holds_at(now));
            let towns: Vec<String> = held.map(|fact| fact.value).collect();
            assert_eq!(towns, [town], "from day {from}, on day {day}");
        }
    }
}

#[test]
fn an_unknown_record_or_a_message_is_not_closed() {
    let disk = Disk::new(MemoryBackend::new());
    let engine = open(&disk).unwrap();
    engine.add_messages("alice", vec![said("m", "Hello.", 0, None)], None, &NOW).unwrap();
    for (id, told) in [("nothing", "no record"), ("m", "only a fact")] {
        let error = engine.close_fact("alice", id, None::<Moment>, &NOW).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
    }
    let undated = NewMessage { timestamp: None, ..said("n", "I live in Rome.", 0, None) };
    engine.add_messages("alice", vec![undated], None, &NOW).unwrap();
}

/// What an application states on a day: an attribute, a value, and the day from which it holds, if
/// that is another one.
type Stated = (i64, &'static str, Option<i64>);

/// The statements about one attribute, and the value that holds on some days.
type Plan = (&'static [Stated], &'static [(i64, &'static str)]);

const PLANS: [Plan; 7] = [
    // A trip is moved, then called off.
    (
        &[(0, "Juist im Juli", None), (27, "Juist im August", None), (69, "keine", None)],
        &[(10, "Juist im Juli"), (30, "Juist im August"), (70, "keine"), (400, "keine")],
    ),
    // A feast is moved twice.
    (
        &[(0, "20 September", None), (90, "25 April", None), (150, "30 May", None)],
        &[(80, "20 September"), (100, "25 April"), (160, "30 May"), (400, "30 May")],
    ),
    // A job is turned down.
    (
        &[
            (0, "relieuse à Nantes", None),
            (90, "à Lille", Some(150)),
            (130, "relieuse à Nantes", None),
        ],
        &[(100, "relieuse à Nantes"), (140, "relieuse à Nantes"), (400, "relieuse à Nantes")],
    ),
    // A dose is corrected before its day.
    (
        &[(0, "5 drops", None), (100, "7 drops", Some(105)), (102, "6 drops", Some(105))],
        &[(99, "5 drops"), (103, "5 drops"), (106, "6 drops"), (400, "6 drops")],
    ),
    // A move falls through.
    (
        &[(0, "Soria", None), (40, "Cuenca", Some(60)), (50, "Soria", None)],
        &[(45, "Soria"), (55, "Soria"), (70, "Soria"), (400, "Soria")],
    ),
    // A deadline is put off, then brought forward.
    (
        &[(0, "day 36", None), (20, "day 60", None), (41, "day 51", None)],
        &[(10, "day 36"), (30, "day 60"), (45, "day 51"), (400, "day 51")],
    ),
    // A lesson is moved, then given up before that.
    (
        &[(0, "周二", None), (3, "周四", Some(12)), (8, "不学了", None)],
        &[(2, "周二"), (5, "周二"), (9, "不学了"), (13, "不学了"), (400, "不学了")],
    ),
];

fn state_plan(engine: &Engine, (day, value, from): &Stated, is_told_then: bool) {
    let statement = StatedFact {
        content: format!("It is {value}."),
        attribute: "matter".to_owned(),
        value: (*value).to_owned(),
        valid_from: from.or(is_told_then.then_some(*day)).map(|day| moment(day * DAY)),
        ..StatedFact::default()
    };
    engine.remember("alice", statement, &NOW).unwrap();
}

#[test]
fn plans_that_an_application_states_hold_from_their_days_unless_called_off() {
    for (number, (statements, days)) in PLANS.iter().enumerate() {
        let (live, replayed) = (Disk::new(MemoryBackend::new()), Disk::new(MemoryBackend::new()));
        for stated in *statements {
            state_plan(&open_days_later(&live, stated.0).unwrap(), stated, false);
            state_plan(&open_days_later(&replayed, 500).unwrap(), stated, true);
        }
        for disk in [&live, &replayed] {
            let engine = open_days_later(disk, 500).unwrap();
            assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
            let last = statements[statements.len() - 1].0;
            for (day, wanted) in days.iter().filter(|(day, _)| *day > last) {
                let now = moment(day * DAY + 60);
                let held = facts(&engine).into_iter();
                let held = held.filter(|fact| fact.valid_from <= now && fact.holds_at(now));
                let values: std::collections::BTreeSet<String> =
                    held.map(|fact| fact.value).collect();
                let wanted = std::collections::BTreeSet::from([(*wanted).to_owned()]);
                assert_eq!(values, wanted, "plan {number}, day {day}");
            }
        }
    }
}
