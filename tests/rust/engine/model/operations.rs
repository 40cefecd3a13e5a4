//! The operations of a random sequence.

use proptest::prelude::*;

use super::USERS;

#[derive(Debug, Clone)]
pub enum Crash {
    PowerCut,
    Lucky(u64),
    Killed,
}

#[derive(Debug, Clone)]
pub enum Op {
    Add {
        user: usize,
        count: usize,
        session: Option<u8>,
        pause: bool,
    },
    AddAgain {
        user: usize,
    },
    Flush {
        user: usize,
    },
    FlushAll,
    CloseSession {
        user: usize,
        session: u8,
    },
    Update {
        user: usize,
        kind: usize,
        place: usize,
    },
    /// Archives a fact, or restores it.
    Shelve {
        user: usize,
        place: usize,
        restores: bool,
    },
    Delete {
        user: usize,
        kind: usize,
        place: usize,
    },
    DeleteUser {
        user: usize,
    },
    Search {
        user: usize,
    },
    Rebuild {
        user: usize,
    },
    Retry,
    /// The next operation fails at its n-th step.
    Fail {
        after: u64,
        forever: bool,
    },
    Reopen,
    Crash(Crash),
}

pub fn op() -> impl Strategy<Value = Op> {
    let user = 0..USERS.len();
    prop_oneof![
        6 => (user.clone(), 1..8_usize, proptest::option::of(0..3_u8), any::<bool>())
            .prop_map(|(user, count, session, pause)| Op::Add { user, count, session, pause }),
        1 => user.clone().prop_map(|user| Op::AddAgain { user }),
        2 => user.clone().prop_map(|user| Op::Flush { user }),
        1 => Just(Op::FlushAll),
        1 => (user.clone(), 0..3_u8)
            .prop_map(|(user, session)| Op::CloseSession { user, session }),
        2 => (user.clone(), 0..2_usize, any::<usize>())
            .prop_map(|(user, kind, place)| Op::Update { user, kind, place }),
        2 => (user.clone(), any::<usize>(), any::<bool>())
            .prop_map(|(user, place, restores)| Op::Shelve { user, place, restores }),
        3 => (user.clone(), 0..3_usize, any::<usize>())
            .prop_map(|(user, kind, place)| Op::Delete { user, kind, place }),
        1 => user.clone().prop_map(|user| Op::DeleteUser { user }),
        2 => user.clone().prop_map(|user| Op::Search { user }),
        1 => user.prop_map(|user| Op::Rebuild { user }),
        1 => Just(Op::Retry),
        3 => (0..40_u64, any::<bool>())
            .prop_map(|(after, forever)| Op::Fail { after, forever }),
        1 => Just(Op::Reopen),
        2 => prop_oneof![
            Just(Crash::PowerCut),
            any::<u64>().prop_map(Crash::Lucky),
            Just(Crash::Killed),
        ]
        .prop_map(Op::Crash),
    ]
}
