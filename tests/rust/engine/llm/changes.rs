//! Changes that are told before their day, and changed again before it: each fact holds from its
//! day to its end, whenever it is read, and whether the talk is learned as it happens or later.

use std::collections::BTreeSet;
use std::sync::Arc;

use episodica_core::clock::FixedClock;
use episodica_core::engine::{Engine, EngineHandle, EngineParts};
use episodica_core::llm::testing::ScriptedModel;
use episodica_core::llm::{ChatPrompt, LanguageModel};
use episodica_core::model::SemanticMemory;
use serde_json::json;

use super::*;
use crate::engine::support::{moment, parts};

const DAY: i64 = 86_400;

/// A message with the fact that a model finds in it.
struct Told {
    day: i64,
    said: &'static str,
    kind: &'static str,
    fact: &'static str,
    /// The day on which the fact begins to hold, if it is another one.
    from: Option<i64>,
    ends: &'static [usize],
}

/// The messages, and the facts that hold on some days.
type Story = (&'static [Told], &'static [(i64, &'static [usize])]);

const fn told(
    (day, said): (i64, &'static str),
    kind: &'static str,
    fact: &'static str,
    from: Option<i64>,
    ends: &'static [usize],
) -> Told {
    Told { day, said, kind, fact, from, ends }
}

const TRIP_CALLED_OFF: Story = (
    &[
        told((0, "Wir zelten im Juli am Walchensee."), "goal", "Sie zelten im Juli.", None, &[]),
        told((20, "Das Zelten rückt in den August."), "goal", "Sie zelten im August.", None, &[0]),
        told((40, "Zelten fällt ganz aus."), "event", "Sie zelten doch nicht.", None, &[1]),
    ],
    &[(10, &[0]), (30, &[1]), (50, &[2]), (400, &[2])],
);

const FEAST_MOVED_TWICE: Story = (
    &[
        told((0, "The feast is on day 200."), "goal", "The feast is on day 200.", None, &[]),
        told((90, "The feast moves to day 300."), "goal", "The feast is on day 300.", None, &[0]),
        told((150, "The feast is on day 250."), "goal", "The feast is on day 250.", None, &[1]),
    ],
    &[(80, &[0]), (100, &[1]), (160, &[2]), (220, &[2]), (400, &[2])],
);

const JOB_TURNED_DOWN: Story = (
    &[
        told((0, "Je suis relieuse à Nantes."), "work_history", "Elle relie à Nantes.", None, &[]),
        told((90, "Je relierai à Lille."), "work_history", "Elle relie à Lille.", Some(150), &[0]),
        told((130, "Lille, j'ai refusé."), "decision", "Elle a refusé Lille.", None, &[1]),
    ],
    &[(80, &[0]), (100, &[0]), (140, &[0, 2]), (160, &[0, 2]), (400, &[0, 2])],
);

const DOSE_CHANGED_TWICE: Story = (
    &[
        told((0, "I take 5 drops."), "personal_info", "She takes 5 drops.", None, &[]),
        told((100, "7 drops soon."), "personal_info", "She takes 7 drops.", Some(105), &[0]),
        told((102, "6 drops, not 7."), "personal_info", "She takes 6 drops.", Some(105), &[1]),
    ],
    &[(99, &[0]), (103, &[0]), (106, &[2]), (400, &[2])],
);

const DOSE_PUT_OFF: Story = (
    &[
        told((0, "I take 5 drops."), "personal_info", "She takes 5 drops.", None, &[]),
        told((100, "7 drops soon."), "personal_info", "She takes 7 drops.", Some(105), &[0]),
        told((102, "6 drops later."), "personal_info", "She takes 6 drops.", Some(120), &[1]),
    ],
    &[(103, &[0]), (110, &[0]), (121, &[2]), (400, &[2])],
);

const MOVE_FALLS_THROUGH: Story = (
    &[
        told((0, "Vivo en Soria."), "personal_info", "Ella vive en Soria.", None, &[]),
        told((40, "Me mudo a Cuenca."), "personal_info", "Vivirá en Cuenca.", Some(60), &[0]),
        told((50, "Cuenca no sale."), "event", "El piso en Cuenca no salió.", None, &[1]),
    ],
    &[(30, &[0]), (45, &[0]), (55, &[0, 2]), (70, &[0, 2]), (400, &[0, 2])],
);

const LESSON_GIVEN_UP: Story = (
    &[
        told((0, "我每周二上古琴课。"), "preference", "她每周二上古琴课。", None, &[]),
        told((3, "古琴课改到周四。"), "preference", "她每周四上古琴课。", Some(12), &[0]),
        told((8, "我不学古琴了。"), "preference", "她不学古琴了。", None, &[0, 1]),
    ],
    &[(2, &[0]), (5, &[0]), (9, &[2]), (13, &[2]), (400, &[2])],
);

const MOVED_AND_MOVED_ON: Story = (
    &[
        told((0, "I live in Ely."), "personal_info", "He lives in Ely.", None, &[]),
        told((5, "We move to Rye."), "personal_info", "He lives in Rye.", Some(10), &[0]),
        told((60, "We went on to Bath."), "personal_info", "He lives in Bath.", Some(55), &[1]),
    ],
    &[(3, &[0]), (7, &[0]), (11, &[1]), (61, &[2]), (400, &[2])],
);

const STORIES: [Story; 8] = [
    TRIP_CALLED_OFF,
    FEAST_MOVED_TWICE,
    JOB_TURNED_DOWN,
    DOSE_CHANGED_TWICE,
    DOSE_PUT_OFF,
    MOVE_FALLS_THROUGH,
    LESSON_GIVEN_UP,
    MOVED_AND_MOVED_ON,
];

/// Finds the fact of each message of a story, and ends the known ones that the prompt shows.
fn answer(story: &'static [Told], prompt: &ChatPrompt) -> String {
    let messages = shown(prompt);
    let known: Vec<&str> = prompt.user.lines().filter(|line| line.contains(" | ")).collect();
    let number_of = |fact: &str| {
        let line = known.iter().find(|line| line.ends_with(&format!("| {fact}")))?;
        line.split(' ').next()
    };
    let day = |day: i64| moment(day * DAY).local().date().to_string();
    let facts = messages.iter().filter_map(|(number, text)| {
        let told = story.iter().find(|told| told.said == text)?;
        let ends: Vec<&str> =
            told.ends.iter().filter_map(|at| number_of(story[*at].fact)).collect();
        assert_eq!(ends.len(), told.ends.len(), "shown for {text}: {known:?}");
        let from = told.from.map(day).unwrap_or_default();
        let number = number.to_string();
        let ends = ends.join(", ");
        Some(json!([told.kind, "high", "user", "matter", "", "", from, ends, number, told.fact]))
    });
    let facts: Vec<Value> = facts.collect();
    json!({"title": "A talk", "narrative": "They talked.", "facts": facts}).to_string()
}

fn engine_on(disk: &Disk, day: i64, story: &'static [Told]) -> EngineHandle {
    let model = ScriptedModel::new(move |prompt: &ChatPrompt| Ok(answer(story, prompt)));
    let llm: Arc<dyn LanguageModel> = Arc::new(model);
    let clock = Arc::new(FixedClock::new(moment(day * DAY + 3_600)));
    Engine::open(EngineParts { clock, llm: Some(llm), ..parts(disk) }).unwrap()
}

fn tell(engine: &Engine, number: usize, told: &Told) {
    let session = format!("s{number}");
    let at = told.day * DAY;
    let messages = vec![
        said(&format!("m{number}"), told.said, at, Some(&session)),
        said(&format!("n{number}"), "Thanks, that is all.", at + 60, Some(&session)),
    ];
    engine.add_messages("alice", messages, None, &NOW).unwrap();
    engine.close_session("alice", &session, &NOW).unwrap();
    wait(engine, "alice");
}

/// The facts of the story that hold on a day.
fn held(engine: &Engine, story: &[Told], day: i64) -> BTreeSet<usize> {
    let at = moment(day * DAY);
    let holds = |fact: &Arc<SemanticMemory>| fact.valid_from <= at && fact.holds_at(at);
    let facts = facts(engine, "alice").into_iter().filter(holds);
    facts.filter_map(|fact| story.iter().position(|told| told.fact == fact.content)).collect()
}

/// The facts that are listed as current on a day and have begun, by an engine that only reads.
fn listed(disk: &Disk, story: &'static [Told], day: i64) -> BTreeSet<usize> {
    let engine = engine_on(disk, day, story);
    let page = episodica_core::engine::ListingPage { limit: 100, ..Default::default() };
    let records = engine.records("alice", RecordKind::Semantic, &page, &NOW).unwrap();
    let begun = |record: &AnyRecord| match record {
        AnyRecord::Semantic(fact) => fact.valid_from <= moment(day * DAY + 3_600),
        _ => false,
    };
    let place = |record: AnyRecord| match record {
        AnyRecord::Semantic(fact) => story.iter().position(|told| told.fact == fact.content),
        _ => None,
    };
    records.into_iter().filter(begun).filter_map(place).collect()
}

#[test]
fn a_change_takes_effect_on_its_day_unless_it_is_called_off() {
    for (number, (story, days)) in STORIES.into_iter().enumerate() {
        let (live, replayed) = (disk(), disk());
        for (at, told) in story.iter().enumerate() {
            tell(&engine_on(&live, told.day, story), at, told);
            for (day, wanted) in days.iter().filter(|(day, _)| {
                *day > told.day && story.get(at + 1).is_none_or(|next| *day < next.day)
            }) {
                let wanted: BTreeSet<usize> = wanted.iter().copied().collect();
                assert_eq!(listed(&live, story, *day), wanted, "story {number}, day {day}");
            }
        }
        let late = engine_on(&replayed, 500, story);
        story.iter().enumerate().for_each(|(at, told)| tell(&late, at, told));
        let live = engine_on(&live, 500, story);
        for (day, wanted) in days {
            let wanted: BTreeSet<usize> = wanted.iter().copied().collect();
            // Facts that are learned later end earlier: only those of the whole story count.
            let told_by = story.iter().filter(|told| told.day <= *day).count();
            if told_by == story.len() {
                assert_eq!(held(&live, story, *day), wanted, "story {number}, day {day}");
            }
            assert_eq!(held(&late, story, *day), held(&live, story, *day), "{number}, {day}");
        }
        for engine in [&live, &late] {
            assert_eq!(engine.verify(None, &NOW).unwrap().errors, 0);
        }
    }
}
