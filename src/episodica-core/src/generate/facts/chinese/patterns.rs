//! What stands after the subject, and what it states.

use super::lexicon::{
    EVENTS, ORGANISATIONS, PLAN_VERBS, PROFESSIONS, RELATIONS, VAGUE, ends, starts,
};
use crate::model::MemoryKind;

/// A predicate that states something lasting.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Match<'a> {
    pub(super) kind: MemoryKind,
    pub(super) attribute: String,
    /// The value as written.
    pub(super) value: &'a str,
    /// A value that the words don't spell out; wins unless empty.
    pub(super) fixed: &'static str,
    /// In hundredths.
    pub(super) confidence: u8,
    /// In hundredths.
    pub(super) importance: u8,
    /// It tells of what is to come.
    pub(super) ahead: bool,
}

fn a<'a>(
    kind: MemoryKind,
    attribute: &str,
    value: &'a str,
    confidence: u8,
    importance: u8,
) -> Option<Match<'a>> {
    Some(Match {
        kind,
        attribute: attribute.to_owned(),
        value,
        fixed: "",
        confidence,
        importance,
        ahead: false,
    })
}

/// The first pattern that fits. `core` begins at the verb; `whole` is the predicate with its
/// adverbs.
pub(super) fn matched<'a>(core: &'a str, whole: &'a str) -> Option<Match<'a>> {
    if core.chars().count() < 2 || core.chars().count() > 40 {
        return None;
    }
    facts(core)
        .or_else(|| work(core))
        .or_else(|| home(core, whole))
        .or_else(|| status(core))
        .or_else(|| liking(core, whole))
        .or_else(|| plan(core))
        .or_else(|| event(core))
}

/// Name, age, birthday, numbers, allergies, kin.
fn facts(core: &str) -> Option<Match<'_>> {
    use MemoryKind::{PersonalInfo, Relationship};
    if let Some(name) = after(core, &["名字叫", "名字是", "叫"]) {
        let plausible = (2..=6).contains(&name.chars().count())
            && !name.starts_with(['你', '他', '她', '它', '我', '了', '来', '上'])
            && !name.contains(['了', '去']);
        return if plausible { a(PersonalInfo, "name", name, 86, 78) } else { None };
    }
    if let Some(age) =
        core.strip_suffix('岁').or_else(|| core.strip_suffix("岁了")).filter(|age| numeral(age))
    {
        return a(PersonalInfo, "age", age, 88, 66);
    }
    if let Some(date) = after(core, &["的生日是", "生日是", "的生日在", "生日在", "生日"])
        .filter(|date| date.contains(['月', '号', '日']))
    {
        return a(PersonalInfo, "birthday", date, 88, 76);
    }
    if core.starts_with("对") && core.contains("过敏") {
        return a(PersonalInfo, "allergy", between(core, "对", "过敏"), 92, 82);
    }
    for (words, attribute) in [
        (
            &[
                "的手机号是",
                "手机号是",
                "的电话是",
                "电话是",
                "的号码是",
                "新号码是",
                "号码是",
                "的新号是",
                "新号是",
                "新的是",
            ][..],
            "phone",
        ),
        (&["的邮箱是", "邮箱是"][..], "email"),
        (&["的地址是", "地址是"][..], "address"),
        (&["的血型是", "血型是"][..], "blood_type"),
    ] {
        if let Some(value) = after(core, words).filter(|value| {
            let digits = value.chars().filter(char::is_ascii_digit).count();
            if attribute == "phone" {
                digits >= 5
            } else {
                value.contains(|character: char| character.is_ascii_alphanumeric())
            }
        }) {
            return a(PersonalInfo, attribute, value, 88, 75);
        }
    }
    if core.starts_with('是') && core.ends_with('型') && core.contains(['A', 'B', 'O']) {
        return a(PersonalInfo, "blood_type", &core["是".len()..], 86, 70);
    }
    let owned = after(core, &["养了", "有", "养"])?;
    let counted = owned.trim_start_matches(|character: char| {
        "一两二三四五六七八九十几".contains(character) || character.is_ascii_digit()
    });
    let noun = starts(&["个", "只", "条", "位", "匹"], counted)
        .map(|measure| &counted[measure.len()..])
        .filter(|_| counted.len() < owned.len())?;
    let relation = RELATIONS.iter().find(|relation| noun.contains(**relation))?;
    a(Relationship, &format!("has:{relation}"), noun, 85, 62)
}

/// Jobs and schools.
fn work(core: &str) -> Option<Match<'_>> {
    use MemoryKind::{Goal, WorkHistory};
    if core.starts_with('在') {
        for (verb, attribute) in [
            ("工作", "workplace"),
            ("上班", "workplace"),
            ("任职", "workplace"),
            ("实习", "workplace"),
            ("读书", "school"),
            ("上学", "school"),
            ("读大学", "school"),
            ("念书", "school"),
            ("读研", "school"),
            ("读博", "school"),
        ] {
            if core.trim_end_matches('了').ends_with(verb) {
                let place = between(core, "在", verb);
                let organisation = ends(ORGANISATIONS, place).is_some() || place.is_ascii();
                let attribute =
                    if attribute == "workplace" && organisation { "employer" } else { attribute };
                return if place.is_empty() || place.chars().count() > 14 {
                    None
                } else {
                    a(WorkHistory, attribute, place, 90, 70)
                };
            }
        }
        if let Some(at) = core
            .find('当')
            .or_else(|| core.find('做'))
            .filter(|at| ends(PROFESSIONS, &core[*at..]).is_some())
        {
            return a(WorkHistory, "occupation", &core[at + "当".len()..], 86, 68);
        }
    }
    if let Some(job) =
        after(core, &["是一名", "是一位", "是一个", "是个", "是名", "是位", "是", "当"])
            .filter(|job| ends(PROFESSIONS, job).is_some() && job.chars().count() <= 14)
    {
        return a(WorkHistory, "occupation", job, 86, 66);
    }
    if let Some(place) = after(core, &["毕业于", "考上了", "考上"]) {
        return a(WorkHistory, "education", place, 86, 66);
    }
    if let Some(place) =
        after(core, &["入职了", "入职", "跳槽到", "跳槽去"]).filter(|place| !place.is_empty())
    {
        return a(WorkHistory, "employer", place, 84, 68);
    }
    for (word, importance) in [
        ("辞职了", 64),
        ("提了辞职", 64),
        ("离职了", 64),
        ("升职了", 66),
        ("退休了", 68),
        ("失业了", 66),
        ("被裁了", 66),
        ("毕业了", 62),
        ("跳槽了", 64),
        ("转正了", 60),
    ] {
        if core.contains(word) && !core.contains("不") {
            return a(WorkHistory, "job_change", word.trim_end_matches('了'), 86, importance);
        }
    }
    if let Some(post) =
        after(core, &["升"]).filter(|post| ends(PROFESSIONS, post.trim_end_matches('了')).is_some())
    {
        return a(WorkHistory, "job_change", post, 84, 66);
    }
    let subject = after(core, &["在学", "学的是", "学习", "改学", "开始学"])
        .filter(|subject| subject.chars().count() >= 2)?;
    let subject = subject.trim_end_matches('了');
    if subject.starts_with(['你', '他', '她']) {
        None
    } else {
        a(if core.starts_with("学的是") { WorkHistory } else { Goal }, "learning", subject, 78, 52)
    }
}

/// Homes and origins.
fn home<'a>(core: &'a str, whole: &str) -> Option<Match<'a>> {
    use MemoryKind::PersonalInfo;
    let former = whole.contains("以前") || whole.contains("小时候") || whole.contains("曾经");
    if let Some(place) = after(core, &["住在", "租在", "定居在"]).or_else(|| {
        after(core, &["住"]).filter(|place| {
            !place.starts_with(['了', '院', '得', '过', '不', '下', '校'])
                && place.chars().count() >= 2
        })
    }) {
        return a(PersonalInfo, if former { "former_home" } else { "home" }, place, 88, 72);
    }
    if let Some(place) =
        after(core, &["搬到了", "搬到", "搬去了", "搬去", "搬来了", "搬来", "搬进了", "搬进"])
            .filter(|place| place.chars().count() >= 2)
    {
        return a(PersonalInfo, "home", place.trim_end_matches('了'), 88, 72);
    }
    if let Some(place) = after(core, &["来自", "老家是", "老家在", "的老家在", "的老家是"])
    {
        return a(PersonalInfo, "hometown", place, 88, 66);
    }
    let place = core
        .strip_prefix('是')
        .and_then(|rest| rest.strip_suffix('人'))
        .filter(|place| (2..=5).contains(&place.chars().count()))?;
    let plain = !place.contains(['个', '种', '的', '女', '男', '好', '坏', '老', '大', '一']);
    plain.then(|| a(PersonalInfo, "hometown", place, 80, 62)).flatten()
}

/// Marriage and the like.
fn status(core: &str) -> Option<Match<'_>> {
    let table = [
        ("结婚了", "married", 72),
        ("离婚了", "divorced", 70),
        ("订婚了", "engaged", 72),
        ("分手了", "single", 68),
        ("怀孕了", "pregnant", 76),
        ("求婚成功", "engaged", 72),
        ("住院了", "hospital", 66),
        ("去世了", "died", 76),
        ("退婚了", "single", 66),
    ];
    if let Some((word, value, importance)) = table.iter().find(|(word, ..)| core.contains(word)) {
        let attribute = match *value {
            "pregnant" => "expecting",
            "hospital" => "health",
            "died" => "died",
            _ => "relationship_status",
        };
        return a(MemoryKind::Relationship, attribute, word, 86, *importance)
            .map(|found| Match { fixed: value, ..found });
    }
    (core == "单身" || core == "是单身")
        .then(|| {
            a(MemoryKind::Relationship, "relationship_status", core, 84, 62)
                .map(|found| Match { fixed: "single", ..found })
        })
        .flatten()
}

/// Likes, dislikes, diets.
fn liking<'a>(core: &'a str, whole: &str) -> Option<Match<'a>> {
    use MemoryKind::Preference;
    if let Some(rest) = after(core, &["喜欢的"]).filter(|_| whole.contains("最")) {
        let (thing, value) = rest.split_once('是')?;
        return a(Preference, &format!("favourite:{thing}"), value, 86, 62);
    }
    let solid = |object: &&str| {
        object.chars().count() >= 1
            && starts(VAGUE, object).is_none()
            && !object.starts_with(['了', '的', '过'])
            && !object.contains(['你', '您'])
    };
    if let Some(object) =
        after(core, &["不喜欢", "讨厌", "受不了", "不爱", "害怕", "恨"]).filter(solid)
    {
        return a(Preference, "dislikes", object, 85, 56);
    }
    if let Some(object) =
        after(core, &["喜欢上了", "喜欢", "热爱", "迷上了", "偏爱", "爱上了", "爱好是", "爱"])
            .filter(solid)
    {
        return a(Preference, "likes", object, 84, 54);
    }
    if let Some(object) = after(core, &["从不吃", "不能吃", "不吃", "不喝", "不能喝"])
        .filter(|object| !object.is_empty() && !object.starts_with(['了', '饭', '亏', '惯']))
    {
        return a(Preference, "diet", object, 86, 64);
    }
    if core.starts_with("吃素") || core.starts_with("是素食") {
        return a(Preference, "diet", "吃素", 88, 66);
    }
    let object = after(core, &["戒了", "戒掉了"])
        .filter(|object| !object.is_empty())
        .or_else(|| core.strip_suffix("也戒了").or_else(|| core.strip_suffix("戒了")))
        .or_else(|| core.strip_prefix('戒').and_then(|rest| rest.strip_suffix('了')))?;
    a(Preference, "stopped", object, 80, 54)
}

/// What is intended or decided.
fn plan(core: &str) -> Option<Match<'_>> {
    use MemoryKind::{Decision, Goal};
    if let Some(choice) = after(core, &["决定了要", "决定"])
        .filter(|choice| choice.chars().count() >= 2 && !choice.starts_with('了'))
    {
        return a(Decision, "decision", choice, 86, 58).map(|found| Match { ahead: true, ..found });
    }
    if let Some(aim) = after(core, &["的目标是", "目标是", "的梦想是", "梦想是", "的计划是"])
        .filter(|aim| aim.chars().count() >= 2)
    {
        return a(Goal, "goal", aim, 86, 60).map(|found| Match { ahead: true, ..found });
    }
    if let Some(aim) =
        after(core, &["打算", "计划", "准备", "希望能", "希望", "想要", "一直想", "想", "要"])
    {
        let strong = !core.starts_with(['想', '要']);
        let opening: String = aim.chars().take(6).collect();
        let verb = PLAN_VERBS.iter().any(|verb| opening.contains(verb));
        let enough =
            aim.chars().count() >= if strong { 2 } else { 3 } && !aim.contains(['你', '您']);
        return (enough && verb)
            .then(|| {
                a(Goal, "goal", aim, if strong { 82 } else { 72 }, if strong { 54 } else { 46 })
                    .map(|found| Match { ahead: true, ..found })
            })
            .flatten();
    }
    let aim = after(core, &["在攒钱", "在存钱", "在备考", "在准备"])?;
    a(Goal, "goal", if aim.is_empty() { core } else { aim }, 82, 56)
        .map(|found| Match { ahead: true, ..found })
}

/// What took place.
fn event(core: &str) -> Option<Match<'_>> {
    let (verb, importance) = EVENTS.iter().find(|(verb, _)| core.starts_with(verb))?;
    let object = &core[verb.len()..];
    let solid = object.chars().count() >= 2 && starts(VAGUE, object).is_none();
    let ahead = matches!(*verb, "报了" | "报名了" | "订了");
    solid
        .then(|| {
            a(MemoryKind::Event, "event", object, 80, *importance)
                .map(|found| Match { ahead, ..found })
        })
        .flatten()
}

fn after<'a>(text: &'a str, openers: &[&str]) -> Option<&'a str> {
    starts(openers, text).map(|opener| &text[opener.len()..])
}

fn between<'a>(text: &'a str, opener: &str, end: &str) -> &'a str {
    let rest = text.strip_prefix(opener).unwrap_or(text);
    rest.find(end).map_or("", |at| &rest[..at])
}

fn numeral(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|character| {
            character.is_ascii_digit() || "零一二三四五六七八九十百".contains(character)
        })
}
