//! When facts end: a fold over the endings that facts state and those that the user decides.
//!
//! A fact ends when it was closed, or from the moment that another fact states, unless that fact
//! had ended itself by then: a plan that was called off before its day ends nothing. The outcome is
//! a function of the facts alone, whatever the order in which they were learned.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Moment;
use crate::model::SemanticMemory;

/// The end of a fact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FactEnd<'f> {
    /// From when on the fact does not hold.
    pub at: Moment,
    /// The fact that ends it; `None` if the user or the application closed it.
    pub by: Option<&'f str>,
}

/// One fact's statement that another one ends.
struct StatedEnding<'f> {
    ended: &'f SemanticMemory,
    by: &'f SemanticMemory,
    from: Moment,
}

impl StatedEnding<'_> {
    /// When the ending takes effect: not before the fact that states it begins, unless it calls
    /// off what was still to come.
    fn takes_effect(&self) -> Moment {
        let is_called_off = self.ended.valid_from > self.from;
        if is_called_off { self.from } else { self.from.max(self.by.valid_from) }
    }
}

/// The end of `fact`, the earliest of all; `None` if it is open. `find` returns a fact by its id;
/// facts that it does not find state nothing.
pub(crate) fn end_of<'f>(
    fact: &'f SemanticMemory,
    find: &dyn Fn(&str) -> Option<&'f SemanticMemory>,
) -> Option<FactEnd<'f>> {
    let mut endings = endings_above(fact, find);
    // In the order of time, so that each fact's end is known before the endings that it states. Of
    // two at the same time, the one told later counts first: it may correct the other.
    endings.sort_by_key(|one| (one.takes_effect(), Reverse(one.by.created_at), &one.by.memory_id));
    let mut ends: BTreeMap<&str, FactEnd<'f>> = BTreeMap::new();
    let closed = |fact: &SemanticMemory| {
        fact.closed_at.map(|at| FactEnd { at: at.max(fact.valid_from), by: None })
    };
    for ending in &endings {
        let ended = ends.get(&*ending.by.memory_id).copied().into_iter().chain(closed(ending.by));
        if ended.map(|end| end.at).min().is_some_and(|at| at <= ending.takes_effect()) {
            continue;
        }
        let at = ending.from.max(ending.ended.valid_from);
        let new = FactEnd { at, by: Some(&ending.by.memory_id) };
        let known = ends.entry(&ending.ended.memory_id).or_insert(new);
        if (new.at, new.by) < (known.at, known.by) {
            *known = new;
        }
    }
    let stated = ends.get(&*fact.memory_id).copied();
    stated.into_iter().chain(closed(fact)).min_by_key(|end| (end.at, end.by))
}

/// The endings that bear on `fact`: its own, those of the facts that end it, and so on.
fn endings_above<'f>(
    fact: &'f SemanticMemory,
    find: &dyn Fn(&str) -> Option<&'f SemanticMemory>,
) -> Vec<StatedEnding<'f>> {
    let mut endings = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::from([&*fact.memory_id]);
    let mut open = vec![fact];
    while let Some(ended) = open.pop() {
        for by in ended.ended_by.iter().filter_map(|id| find(id)) {
            let stated = by.ends.iter().find(|ending| ending.memory_id == ended.memory_id);
            // Facts of earlier formats name only their successor.
            let from = stated.map(|ending| ending.from).or(ended.valid_to);
            endings.extend(from.map(|from| StatedEnding { ended, by, from }));
            if seen.insert(&by.memory_id) {
                open.push(by);
            }
        }
    }
    endings
}

/// The next revision of a fact with this end; `None` if the fact has it already.
pub(crate) fn with_end(
    fact: &SemanticMemory,
    end: Option<FactEnd<'_>>,
    now: Moment,
) -> Option<SemanticMemory> {
    let (valid_to, by) = (end.map(|end| end.at), end.and_then(|end| end.by));
    if (fact.valid_to, fact.superseded_by.as_deref()) == (valid_to, by) {
        return None;
    }
    Some(SemanticMemory {
        valid_to,
        superseded_by: by.map(str::to_owned),
        updated_at: now,
        revision_count: fact.revision_count + 1,
        ..fact.clone()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::model::FactEnding;
    use crate::model::testing::stated_fact;

    fn day(day: i64) -> Moment {
        Moment::new(day * 86_400_000_000, 0).expect("valid")
    }

    fn fact(id: &str, from: i64, ends: &[(&str, i64)]) -> SemanticMemory {
        let ending =
            |(id, from): &(&str, i64)| FactEnding { memory_id: (*id).to_owned(), from: day(*from) };
        let ends = ends.iter().map(ending).collect();
        SemanticMemory {
            memory_id: id.to_owned(),
            valid_from: day(from),
            ends,
            ..stated_fact("a fact")
        }
    }

    /// Links each fact to the facts that end it, and returns the day on which each ends.
    fn ends(mut facts: Vec<SemanticMemory>) -> Vec<Option<i64>> {
        for at in 0..facts.len() {
            let id = facts[at].memory_id.clone();
            let names = |one: &&SemanticMemory| one.ends.iter().any(|end| end.memory_id == id);
            let by = facts.iter().filter(names).map(|one| one.memory_id.clone()).collect();
            facts[at].ended_by = by;
        }
        let known: BTreeMap<&str, &SemanticMemory> =
            facts.iter().map(|fact| (fact.memory_id.as_str(), fact)).collect();
        let end = |fact| end_of(fact, &|id| known.get(id).copied());
        facts.iter().map(|one| end(one).map(|end| end.at.micros() / 86_400_000_000)).collect()
    }

    #[test]
    fn a_plan_called_off_before_its_day_ends_nothing() {
        let home = fact("home", 1, &[]);
        let plan = fact("plan", 60, &[("home", 60)]);
        assert_eq!(ends(vec![home.clone(), plan.clone()]), [Some(60), None]);
        let called_off = fact("called off", 40, &[("plan", 40)]);
        assert_eq!(ends(vec![home.clone(), plan.clone(), called_off]), [None, Some(60), None]);
        let put_off = fact("put off", 80, &[("plan", 50), ("home", 80)]);
        assert_eq!(ends(vec![home.clone(), plan.clone(), put_off]), [Some(80), Some(60), None]);
        let later = fact("moved again", 90, &[("plan", 90)]);
        assert_eq!(ends(vec![home, plan, later]), [Some(60), Some(90), None]);
    }

    #[test]
    fn what_never_held_ends_nothing() {
        let wrong = fact("wrong", 5, &[("home", 5)]);
        let mut right = fact("right", 5, &[("wrong", 5)]);
        right.created_at = Moment::MAX;
        assert_eq!(ends(vec![fact("home", 1, &[]), wrong, right]), [None, Some(5), None]);
    }

    #[test]
    fn the_earliest_end_counts_and_a_circle_is_no_endless_loop() {
        let two =
            vec![fact("home", 1, &[]), fact("b", 9, &[("home", 9)]), fact("a", 7, &[("home", 7)])];
        assert_eq!(ends(two)[0], Some(7));
        let circle = ends(vec![fact("a", 1, &[("b", 3)]), fact("b", 1, &[("a", 4)])]);
        assert_eq!(circle, [None, Some(3)], "the later ending comes from a fact that has ended");
        let closed = SemanticMemory { closed_at: Some(day(2)), ..fact("home", 1, &[]) };
        assert_eq!(ends(vec![closed, fact("a", 7, &[("home", 7)])])[0], Some(2));
        let long: Vec<SemanticMemory> = (0..300)
            .map(|at| fact(&format!("{at:03}"), at, &[(&format!("{:03}", at - 1), at)]))
            .collect();
        assert_eq!(ends(long).iter().filter(|end| end.is_some()).count(), 299);
    }

    proptest! {
        #[test]
        fn the_order_of_facts_does_not_matter(
            stated in proptest::collection::vec((0_i64..9, 0_usize..6, 0_i64..9), 1..6),
            turn in 0_usize..6,
        ) {
            let name = |at: usize| format!("f{at}");
            let make = |(at, (from, ended, when)): (usize, &(i64, usize, i64))| {
                fact(&name(at), *from, &[(&name(*ended), *when)])
            };
            let facts: Vec<SemanticMemory> = stated.iter().enumerate().map(make).collect();
            let mut turned = facts.clone();
            let turn = turn % facts.len();
            turned.rotate_left(turn);
            let mut found = ends(turned);
            found.rotate_right(turn);
            prop_assert_eq!(ends(facts), found);
        }
    }
}
