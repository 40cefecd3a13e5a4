//! Random sequences of every public operation, compared with a plain model, with failing disks,
//! reopenings and crashes in between.
//!
//! The model knows which messages were acknowledged and which texts were written into records by
//! `update`. Each has a word that occurs nowhere else. So the strongest promise can be checked: a
//! file contains the word if and only if a record shows it.

mod checks;
mod operations;
mod world;

use std::io::ErrorKind as IoKind;

use episodica_core::store::testing::Failure;
use proptest::test_runner::{Config as RunConfig, RngAlgorithm, TestRng, TestRunner};

use crate::counts::{report, rounds};

use operations::{Op, op};
use world::World;

const USERS: [&str; 3] = ["a", "a_b", "A"];

#[test]
fn any_sequence_of_operations_keeps_what_was_acknowledged_and_nothing_else() {
    let (cases, length) = (rounds(40, 4_000) as u32, 30);
    let config = RunConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 400,
        ..RunConfig::default()
    };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let totals = std::sync::Mutex::new((0, 0, 0));
    let outcome = TestRunner::new_with_rng(config, rng).run(
        &proptest::collection::vec(op(), 1..length),
        |operations| {
            let mut world = World::new();
            let mut armed = false;
            for op in &operations {
                if let Op::Fail { after, forever } = op {
                    let failure = if *forever { Failure::FromThenOn } else { Failure::Once };
                    world.disk.fail_after(*after, failure, IoKind::StorageFull);
                    armed = true;
                    continue;
                }
                world.run(op, armed);
                armed = false;
                world.check();
            }
            world.finish();
            let mut totals = totals.lock().unwrap();
            *totals =
                (totals.0 + world.operations, totals.1 + world.faults, totals.2 + world.crashes);
            Ok(())
        },
    );
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (operations, faults, crashes) = *totals.lock().unwrap();
    assert!(operations > 300 && faults > 10 && crashes > 10, "{operations} {faults} {crashes}");
    report(
        "model",
        &[("operations", operations), ("faults", faults), ("kills", crashes), ("losses", 0)],
    );
}

#[test]
fn bytes_of_a_failed_append_go_with_the_message_they_are_about() {
    for after in 0..60 {
        for forever in [false, true] {
            let mut world = World::new();
            world.run(&Op::Add { user: 1, count: 3, session: None, pause: false }, false);
            let failure = if forever { Failure::FromThenOn } else { Failure::Once };
            world.disk.fail_after(after, failure, IoKind::StorageFull);
            world.run(&Op::Flush { user: 1 }, true);
            world.check();
            for place in 0..3 {
                world.run(&Op::Delete { user: 1, kind: 2, place }, false);
                world.check();
            }
            world.finish();
        }
    }
}
