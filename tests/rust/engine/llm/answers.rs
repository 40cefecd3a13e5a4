//! Answers of any form, and a disk that fails after them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use episodica_core::llm::ChatPrompt;
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::store::testing::Failure;
use proptest::prelude::*;

use crate::engine::support::NOW;

use super::*;

fn any_answer() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        "[\\[\\]{}\",:0-9a-z ]{0,200}",
        Just(String::new()),
        Just("{\"episodes\":[{\"messages\":[0,1,2,3]},{\"messages\":[3,99,-1]}".to_owned()),
        Just("{\"title\":\"x\",\"summary\":".to_owned()),
        Just("{\"facts\":[{\"content\":\"kite1 flew\",\"messages\":[0]},{\"cont".to_owned()),
        Just(
            "{\"facts\":[{\"content\":\"kite2 flew\",\"messages\":[0],\"ends\":[0,12345,\"1\"]}]}"
                .to_owned()
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_answer_at_all_leaves_every_message_in_one_episode(
        answers in prop::collection::vec(any_answer(), 1..20),
        count in 1usize..70,
    ) {
        let next = AtomicUsize::new(0);
        let model = Arc::new(ScriptedModel::new(move |_: &ChatPrompt| {
            Ok(answers[next.fetch_add(1, Ordering::SeqCst) % answers.len()].clone())
        }));
        let engine = with(&disk(), &model);
        engine.add_messages("ann", talk(count), None, &NOW).unwrap();
        wait(&engine, "ann");
        engine.flush("ann", &NOW).unwrap();
        wait(&engine, "ann");
        check_whole(&engine, "ann", count);
    }
}

#[test]
fn a_disk_that_fails_after_the_answers_loses_nothing() {
    let disk = disk();
    let model = Arc::new(ScriptedModel::new(sensible));
    let engine = with(&disk, &model);
    engine.add_messages("ann", talk(19), None, &NOW).unwrap();
    wait(&engine, "ann");
    let mut failures = 0;
    for operations in 0..60 {
        disk.fail_after(operations, Failure::FromThenOn, std::io::ErrorKind::StorageFull);
        let outcome = engine.flush("ann", &NOW);
        disk.heal();
        if outcome.is_ok() {
            break;
        }
        failures += 1;
    }
    assert!(failures > 0, "something failed");
    engine.flush("ann", &NOW).unwrap();
    wait(&engine, "ann");
    assert_eq!(engine.retry_pending(Some("ann"), &NOW).unwrap(), 0);
    check_whole(&engine, "ann", 19);
    assert!(episodes(&engine, "ann").iter().all(|episode| episode.provenance.method == "scripted"));
}
