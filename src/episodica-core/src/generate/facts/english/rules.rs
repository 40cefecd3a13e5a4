//! Which verbs with which complements make a statement worth keeping, and of which kind it is.

use crate::model::MemoryKind;

/// When the clause says it takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// It holds: "works", "is working", "has worked since May".
    Now,
    /// It is over: "worked", "has visited".
    Past,
    /// It is to come: "is moving", "will move", "is going to move".
    Ahead,
}

/// One row: the word after the verb, the tense, and what they make of the clause.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Words of which one follows the verb, separated by blanks; `*` = any object, `.` = nothing.
    pub(super) next: &'static str,
    pub(super) when: When,
    pub(super) kind: MemoryKind,
    pub(super) attribute: &'static str,
    /// In hundredths.
    pub(super) confidence: u8,
    /// In hundredths, before what makes the statement specific is counted.
    pub(super) importance: u8,
}

use MemoryKind::{
    Decision, Entity, Event, Goal, PersonalInfo, Preference, Relationship, WorkHistory,
};
use When::{Ahead, Now, Past};

const fn row(
    next: &'static str,
    when: When,
    kind: MemoryKind,
    attribute: &'static str,
    confidence: u8,
    importance: u8,
) -> Rule {
    Rule { next, when, kind, attribute, confidence, importance }
}

/// Verbs for what took place, told apart by how much the event tends to matter.
const EVENT_MAJOR: [Rule; 1] = [row("*", Past, Event, "event", 82, 52)];
const EVENT_MINOR: [Rule; 1] = [row("*", Past, Event, "event", 76, 42)];
const EVENT_TO: [Rule; 2] = [
    row("to through across around up into back from with", Past, Event, "event", 80, 48),
    row("to back", Ahead, Goal, "plan", 78, 52),
];
const LIKING: [Rule; 1] = [row("*", Now, Preference, "likes", 85, 52)];
const DISLIKING: [Rule; 1] = [row("*", Now, Preference, "dislikes", 85, 55)];
const WANTING: [Rule; 2] =
    [row("to", Now, Goal, "goal", 82, 50), row("a an my our", Now, Goal, "goal", 72, 45)];

/// The rows of a verb, the first that fits counts; empty for verbs that make no statement.
pub(super) fn rules(verb: &str) -> &'static [Rule] {
    match verb {
        "work" => {
            const ROWS: &[Rule] = &[
                row("at for", Now, WorkHistory, "employer", 90, 70),
                row("at for", Past, WorkHistory, "former_employer", 85, 62),
                row("as", Now, WorkHistory, "occupation", 90, 70),
                row("as", Past, WorkHistory, "former_occupation", 85, 62),
                row(
                    "in with from remotely part-time full-time nights",
                    Now,
                    WorkHistory,
                    "work",
                    78,
                    52,
                ),
                row("in with", Past, WorkHistory, "work", 75, 48),
                row("on", Now, WorkHistory, "project", 76, 48),
                row("on", Past, WorkHistory, "project", 72, 42),
            ];
            ROWS
        }
        "live" => {
            const ROWS: &[Rule] = &[
                row("in at on near outside by", Now, PersonalInfo, "home", 90, 72),
                row("in at on near outside by", Past, PersonalInfo, "former_home", 85, 60),
                row("with alone", Now, Relationship, "household", 85, 55),
            ];
            ROWS
        }
        "move" => {
            const ROWS: &[Rule] = &[
                row("to into", Past, PersonalInfo, "home", 90, 72),
                row("in", Past, Relationship, "household", 75, 50),
                row("from out back here house", Past, Event, "moved", 80, 55),
                row("to into in out back house", Ahead, Goal, "move", 85, 65),
                row("to into in out back house", Now, Goal, "move", 85, 65),
            ];
            ROWS
        }
        "study" => {
            const ROWS: &[Rule] = &[
                row("*", Now, WorkHistory, "studies", 85, 60),
                row("*", Past, WorkHistory, "education", 82, 58),
            ];
            ROWS
        }
        "teach" => {
            const ROWS: &[Rule] = &[
                row("*", Now, WorkHistory, "teaches", 84, 60),
                row("*", Past, WorkHistory, "taught", 76, 45),
            ];
            ROWS
        }
        "graduate" => {
            const ROWS: &[Rule] = &[row("from in with .", Past, WorkHistory, "education", 88, 68)];
            ROWS
        }
        "retire" => {
            const ROWS: &[Rule] = &[
                row("* .", Past, WorkHistory, "job_status", 88, 70),
                row("from in .", Ahead, Goal, "plan", 80, 60),
            ];
            ROWS
        }
        "join" | "enroll" | "enrol" | "register" => {
            const ROWS: &[Rule] = &[
                row("*", Past, Event, "joined", 82, 52),
                row("a an the in for", Ahead, Goal, "plan", 78, 48),
            ];
            ROWS
        }
        "sign" => {
            const ROWS: &[Rule] = &[row("up with a the", Past, Event, "joined", 80, 52)];
            ROWS
        }
        "start" | "begin" => {
            const ROWS: &[Rule] = &[
                row("at", Past, WorkHistory, "employer", 75, 65),
                row("*", Past, Event, "started", 78, 48),
                row("a an my our at", Ahead, Goal, "plan", 80, 55),
            ];
            ROWS
        }
        "quit" | "leave" | "resign" => {
            const ROWS: &[Rule] = &[
                row("*", Past, WorkHistory, "left", 82, 52),
                row("from", Past, WorkHistory, "left", 82, 55),
            ];
            ROWS
        }
        "lose" => {
            const ROWS: &[Rule] = &[row("my our a an the weight", Past, Event, "lost", 82, 54)];
            ROWS
        }
        "get" => {
            const ROWS: &[Rule] = &[
                row("married", Past, Relationship, "relationship_status", 88, 72),
                row("engaged", Past, Relationship, "relationship_status", 88, 72),
                row("divorced", Past, Relationship, "relationship_status", 88, 70),
                row("promoted hired fired laid", Past, WorkHistory, "job_change", 88, 68),
                row("diagnosed", Past, PersonalInfo, "health", 88, 72),
                row("accepted admitted into selected chosen invited", Past, Event, "event", 80, 55),
                row("back home", Past, Event, "event", 72, 42),
                row("a an my our the two three some new", Past, Event, "got", 74, 44),
                row("married engaged divorced", Ahead, Goal, "plan", 86, 70),
            ];
            ROWS
        }
        "become" => {
            const ROWS: &[Rule] = &[row("a an the", Past, WorkHistory, "became", 80, 60)];
            ROWS
        }
        "break" => {
            const ROWS: &[Rule] = &[
                row("up", Past, Relationship, "relationship_status", 84, 66),
                row("my our the a", Past, Event, "event", 82, 56),
            ];
            ROWS
        }
        "pass" => {
            const ROWS: &[Rule] = &[
                row("away", Past, Relationship, "died", 88, 74),
                row("*", Past, Event, "event", 78, 48),
            ];
            ROWS
        }
        "die" => {
            const ROWS: &[Rule] = &[row("* .", Past, Relationship, "died", 82, 70)];
            ROWS
        }
        "find" => {
            const ROWS: &[Rule] = &[row("a an my our", Past, Event, "found", 72, 42)];
            ROWS
        }
        "marry" => {
            const ROWS: &[Rule] = &[row("my", Past, Relationship, "relationship_status", 80, 62)];
            ROWS
        }
        "love" | "like" | "enjoy" | "adore" | "prefer" => &LIKING,
        "hate" | "dislike" | "loathe" => &DISLIKING,
        "want" | "plan" | "hope" | "aim" | "intend" | "wanna" => &WANTING,
        "save" => {
            const ROWS: &[Rule] = &[row("up for", Now, Goal, "saving", 85, 62)];
            ROWS
        }
        "train" | "prepare" => {
            const ROWS: &[Rule] = &[row("for to as", Now, Goal, "training", 84, 58)];
            ROWS
        }
        "dream" => {
            const ROWS: &[Rule] = &[row("of about", Now, Goal, "dream", 78, 52)];
            ROWS
        }
        "apply" => {
            const ROWS: &[Rule] = &[
                row("for to", Past, Goal, "application", 84, 58),
                row("for to", Now, Goal, "application", 82, 55),
            ];
            ROWS
        }
        "learn" => {
            const ROWS: &[Rule] = &[
                row("*", Now, Goal, "learning", 80, 52),
                row("to how about", Past, Event, "learned", 74, 42),
            ];
            ROWS
        }
        "write" | "build" | "develop" | "design" | "renovate" | "restore" | "compose"
        | "record" | "knit" | "create" => {
            const ROWS: &[Rule] = &[
                row("a an my our the", Now, WorkHistory, "project", 78, 48),
                row("*", Past, Event, "made", 78, 44),
            ];
            ROWS
        }
        "read" => {
            const ROWS: &[Rule] =
                &[row("*", Now, Event, "reading", 72, 40), row("*", Past, Event, "read", 72, 42)];
            ROWS
        }
        "speak" => {
            const ROWS: &[Rule] = &[
                row("*", Now, PersonalInfo, "languages", 78, 55),
                row("at", Past, Event, "event", 76, 48),
            ];
            ROWS
        }
        "play" => {
            const ROWS: &[Rule] = &[
                row("*", Now, Preference, "plays", 80, 50),
                row("*", Past, Event, "event", 70, 40),
            ];
            ROWS
        }
        "own" | "drive" | "ride" | "manage" | "coach" => {
            const ROWS: &[Rule] = &[
                row("a an my our two three the", Now, Entity, "has", 80, 52),
                row("to from", Past, Event, "event", 72, 44),
            ];
            ROWS
        }
        "run" => {
            const ROWS: &[Rule] = &[
                row("a an my our", Now, WorkHistory, "business", 78, 58),
                row("a an the my", Past, Event, "event", 76, 48),
            ];
            ROWS
        }
        "collect" | "volunteer" => {
            const ROWS: &[Rule] = &[
                row("*", Now, Preference, "activity", 82, 54),
                row("*", Past, Event, "event", 76, 48),
            ];
            ROWS
        }
        "decide" => {
            const ROWS: &[Rule] =
                &[row("to on not that against", Past, Decision, "decision", 86, 58)];
            ROWS
        }
        "agree" => {
            const ROWS: &[Rule] = &[row("to on that", Past, Decision, "decision", 80, 52)];
            ROWS
        }
        "choose" | "pick" => {
            const ROWS: &[Rule] = &[
                row("up", Past, Event, "event", 74, 42),
                row("*", Past, Decision, "decision", 74, 44),
            ];
            ROWS
        }
        "go" => {
            const ROWS: &[Rule] = &[
                row("with", Past, Decision, "decision", 72, 45),
                row(
                    "to on back through hiking camping swimming skiing fishing kayaking surfing biking climbing sailing snowboarding diving",
                    Past,
                    Event,
                    "event",
                    78,
                    46,
                ),
                row("to on back hiking camping skiing diving sailing", Ahead, Goal, "plan", 80, 52),
                row(
                    "to hiking camping running swimming climbing skiing fishing",
                    Now,
                    Preference,
                    "habit",
                    70,
                    38,
                ),
            ];
            ROWS
        }
        "fly" | "travel" => &EVENT_TO,
        "visit" => {
            const ROWS: &[Rule] =
                &[row("*", Past, Event, "visited", 84, 52), row("*", Ahead, Goal, "plan", 82, 52)];
            ROWS
        }
        "attend" | "buy" | "adopt" | "win" | "publish" | "launch" | "sell" | "injure"
        | "sprain" | "donate" | "inherit" | "perform" | "compete" | "book" | "rescue" | "found" => {
            &EVENT_MAJOR
        }
        "finish" | "complete" | "host" | "organize" | "organise" | "celebrate" | "participate"
        | "receive" | "paint" | "plant" | "give" | "see" | "watch" | "make" | "bake" | "cook"
        | "order" | "carve" | "repair" | "fix" | "climb" | "hike" | "swim" | "sing" | "draw"
        | "catch" | "bring" | "transfer" | "switch" | "upgrade" | "return" | "rent" | "recover"
        | "relocate" | "earn" | "land" | "sail" | "hire" | "film" => &EVENT_MINOR,
        "open" => {
            const ROWS: &[Rule] = &[
                row("a an my our the", Past, Event, "event", 82, 54),
                row("a an my our", Ahead, Goal, "plan", 82, 58),
            ];
            ROWS
        }
        "meet" => {
            const ROWS: &[Rule] =
                &[row("*", Past, Event, "met", 76, 44), row("*", Ahead, Goal, "plan", 70, 42)];
            ROWS
        }
        "take" => {
            const ROWS: &[Rule] = &[
                row("up", Past, Preference, "activity", 80, 52),
                row("a an my our the", Past, Event, "event", 72, 40),
                row("a an", Now, Event, "course", 74, 46),
            ];
            ROWS
        }
        "think" | "consider" => {
            const ROWS: &[Rule] = &[row("of about", Now, Goal, "considering", 72, 46)];
            ROWS
        }
        "grow" => {
            const ROWS: &[Rule] = &[
                row("up", Past, PersonalInfo, "childhood", 86, 60),
                row("a my our some", Past, Event, "event", 74, 42),
            ];
            ROWS
        }
        "change" => {
            const ROWS: &[Rule] = &[
                row("my", Past, PersonalInfo, "changed", 76, 48),
                row("jobs careers", Past, WorkHistory, "job_change", 82, 60),
            ];
            ROWS
        }
        "try" => {
            const ROWS: &[Rule] = &[row("to", Now, Goal, "goal", 74, 42)];
            ROWS
        }
        "stop" => {
            const ROWS: &[Rule] = &[row(
                "eating drinking smoking working going playing",
                Past,
                Preference,
                "stopped",
                82,
                56,
            )];
            ROWS
        }
        "eat" | "drink" => {
            const ROWS: &[Rule] = &[row("*", Now, Preference, "diet_detail", 72, 44)];
            ROWS
        }
        _ => &[],
    }
}
