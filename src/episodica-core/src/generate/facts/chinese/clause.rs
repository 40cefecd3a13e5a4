//! One Chinese sentence at a time: its clauses, their subjects, and the text of the statements.

use super::lexicon::{
    ADVERBS, OPENERS, PARTICLES, PARTNERS, POINTING, RELATIONS, SUPPOSING, UNSAID, contains, ends,
    starts,
};
use super::patterns::{Match, matched};
use crate::generate::facts::RejectReason;
use crate::generate::facts::dates;
use crate::generate::facts::extract::{Draft, Talk};
use crate::model::MemoryKind;
use crate::text::Language;
use crate::text::time::{TimeMention, mentions};

/// The statements of a sentence.
pub(in crate::generate::facts) fn read(
    sentence: &str,
    talk: &Talk,
) -> Vec<Result<Draft, RejectReason>> {
    let mut found = Vec::new();
    let first_person = sentence.contains(['我', '咱']) || starts(UNSAID, sentence).is_some();
    if !first_person || talk.agent {
        if talk.agent && sentence.contains('我') {
            found.push(Err(RejectReason::NotAboutUser));
        }
        return found;
    }
    if sentence.ends_with(['?', '？'])
        || ends(&["吗", "呢", "吧"], sentence.trim_end_matches(['。', '.', '!', '！']))
            .is_some_and(|end| end == "吗")
    {
        found.push(Err(RejectReason::Question));
        return found;
    }
    found.extend(birthday(sentence, talk).map(Ok));
    let dated_birth = !found.is_empty();
    let mut carried: Option<Subject> = None;
    let mut kin: Option<&'static str> = None;
    for (index, clause) in clauses(sentence).enumerate() {
        let clause = stripped(clause);
        if contains(SUPPOSING, clause) {
            found.push(Err(RejectReason::Hypothetical));
            return found;
        }
        if clause.ends_with(['?', '？']) {
            continue;
        }
        let (lead, rest) = leading_time(clause, talk);
        let fresh = subject(rest, talk);
        let opened = fresh.is_some();
        if !opened && let Some(draft) = belongs(rest, talk) {
            found.push(draft);
            continue;
        }
        let unsaid = || {
            (index == 0 && starts(UNSAID, rest).is_some()).then(|| Subject {
                label: talk.speaker.clone(),
                key: talk.subject(),
                relation: None,
                length: 0,
            })
        };
        let Some(subject) = fresh.or_else(|| carried.clone()).or_else(unsaid) else { continue };
        let subject =
            match (kin.take().filter(|_| !opened), starts(&["名字叫", "名叫", "叫"], rest)) {
                (Some(kin), Some(_)) => Subject {
                    label: format!("{}的{kin}", talk.speaker),
                    key: format!("{}的{kin}", talk.speaker),
                    relation: Some(kin),
                    length: 0,
                },
                (None, Some(_)) if !opened => continue,
                _ => subject,
            };
        let predicate = if opened { &rest[subject.length..] } else { rest };
        if let Some(draft) = named(&subject, predicate, talk) {
            found.push(Ok(draft));
            continue;
        }
        match state(&subject, lead, predicate, talk) {
            Some(Ok(draft)) if draft.attribute == "birthday" && dated_birth => {}
            Some(Ok(draft)) => {
                kin = draft.attribute.strip_prefix("has:").and_then(|kin| starts(RELATIONS, kin));
                let draft = if opened {
                    draft
                } else {
                    Draft { confidence: draft.confidence - 0.1, ..draft }
                };
                found.push(Ok(draft));
            }
            Some(Err(reason)) => found.push(Err(reason)),
            None => {}
        }
        carried = Some(subject);
    }
    found
}

/// Whom a clause is about.
#[derive(Debug, Clone)]
struct Subject {
    /// As the statement writes it.
    label: String,
    /// The key of the statement's subject.
    key: String,
    /// The relation, if it is not the speaker.
    relation: Option<&'static str>,
    /// Bytes of the clause that it takes.
    length: usize,
}

fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    sentence
        .split(['，', ',', '；', ';', '。', '：', ':', '！', '!'])
        .map(str::trim)
        .filter(|clause| !clause.is_empty())
}

fn stripped(mut clause: &str) -> &str {
    while let Some(opener) = starts(OPENERS, clause).filter(|opener| opener.len() < clause.len()) {
        clause = clause[opener.len()..].trim_start();
    }
    clause
}

/// A date before the subject, and the rest.
fn leading_time<'a>(clause: &'a str, talk: &Talk) -> (&'a str, &'a str) {
    let Some(at) = clause.find(['我', '咱']).filter(|at| (1..40).contains(at)) else {
        return ("", clause);
    };
    let lead = &clause[..at];
    let dated = mentions(lead, talk.said)
        .first()
        .is_some_and(|mention| mention.start == 0 && lead.len() - mention.end <= 6);
    if dated { (lead, &clause[at..]) } else { ("", clause) }
}

fn subject(text: &str, talk: &Talk) -> Option<Subject> {
    let (mut length, plural) = match starts(&["我们", "咱们", "我家", "我的", "我"], text)?
    {
        "我们" => ("我们".len(), true),
        "咱们" => ("咱们".len(), true),
        other => (other.len(), false),
    };
    if text[length..].starts_with('家') && plural {
        length += '家'.len_utf8();
    }
    let rest = text[length..].trim_start_matches("的");
    let taken = text.len() - rest.len();
    if let Some(relation) = starts(RELATIONS, rest) {
        let after = &rest[relation.len()..];
        // 我妹 but not 我弟弟's 弟: the longest match is taken; 我哥们 and the like are not kin.
        if !after.starts_with(['们', '圈']) {
            let relation = full(relation);
            let short = starts(RELATIONS, rest).unwrap_or(relation);
            let label = format!("{}的{relation}", talk.speaker);
            return Some(Subject {
                key: label.clone(),
                label,
                relation: Some(relation),
                length: taken + short.len(),
            });
        }
    }
    if text.starts_with("我的") || text.starts_with("我家") {
        length = "我".len();
    }
    Some(Subject { label: talk.speaker.clone(), key: talk.subject(), relation: None, length })
}

/// The full word for kin of one character.
fn full(relation: &'static str) -> &'static str {
    match relation {
        "妈" => "妈妈",
        "爸" => "爸爸",
        "姐" => "姐姐",
        "妹" => "妹妹",
        "哥" => "哥哥",
        "弟" => "弟弟",
        other => other,
    }
}

/// 我生日快到了，三月十八号: the date may stand in another clause.
fn birthday(sentence: &str, talk: &Talk) -> Option<Draft> {
    if !sentence.contains("我生日") && !sentence.contains("我的生日") {
        return None;
    }
    let date = mentions(sentence, talk.said).into_iter().find(|mention| {
        let surface = &sentence[mention.start..mention.end];
        surface.contains('月') && surface.contains(['号', '日']) && mention.from == mention.to
    })?;
    let content = format!("{}的生日是{}月{}日。", talk.speaker, date.from.month(), date.from.day());
    Some(Draft {
        kind: MemoryKind::PersonalInfo,
        subject: talk.subject(),
        attribute: "birthday".to_owned(),
        value: format!("{:02}-{:02}", date.from.month(), date.from.day()),
        confidence: 0.86,
        importance: 0.78,
        content,
        from: None,
    })
}

/// 汤圆是我去年捡的橘猫: a name, and what it is to the speaker.
fn belongs(clause: &str, talk: &Talk) -> Option<Result<Draft, RejectReason>> {
    let (name, rest) = clause.split_once("是我")?;
    let plain = (2..=4).contains(&name.chars().count())
        && !contains(POINTING, name)
        && !name.contains(['你', '谁', '这', '那', '不', '只', '就', '也', '都', '的']);
    let relation = ends(RELATIONS, rest)?;
    if !plain || rest.chars().count() > 14 {
        return None;
    }
    let found = mentions(rest, talk.said);
    Some(told(rest.trim_start_matches("的"), &found, false, talk).map(|rest| Draft {
        kind: MemoryKind::Relationship,
        subject: talk.subject(),
        attribute: if PARTNERS.contains(&relation) {
            "partner".to_owned()
        } else {
            format!("has:{}", full(relation))
        },
        value: name.to_owned(),
        confidence: 0.86,
        importance: 0.66,
        content: format!(
            "{name}是{}{}{rest}。",
            talk.speaker,
            if rest.contains('的') { "" } else { "的" }
        ),
        from: None,
    }))
}

/// 我姐姐叫安娜 and the like.
fn named(subject: &Subject, predicate: &str, talk: &Talk) -> Option<Draft> {
    let relation = subject.relation?;
    let rest = starts(&["名字叫", "的名字叫", "名叫", "叫"], predicate)
        .map(|opener| &predicate[opener.len()..])?;
    let name: String = rest
        .chars()
        .take_while(|character| character.is_alphanumeric() && !"的是在了和跟".contains(*character))
        .collect();
    let length = name.chars().count();
    if !(1..=6).contains(&length)
        || name.starts_with(['我', '你', '他', '她', '它'])
        || talk.is_participant(&name)
    {
        return None;
    }
    let single = PARTNERS.contains(&relation);
    Some(Draft {
        kind: MemoryKind::Relationship,
        subject: talk.subject(),
        attribute: if single { "partner".to_owned() } else { format!("has:{relation}") },
        content: format!("{name}是{}的{relation}。", talk.speaker),
        value: name,
        confidence: 0.88,
        importance: 0.68,
        from: None,
    })
}

/// The statement that a predicate makes about a subject.
fn state(
    subject: &Subject,
    lead: &str,
    predicate: &str,
    talk: &Talk,
) -> Option<Result<Draft, RejectReason>> {
    let predicate = trimmed(predicate);
    let found = mentions(predicate, talk.said);
    let core = core(predicate, &found);
    let Match { kind, attribute, value, fixed, confidence, importance, ahead } =
        matched(core, predicate)?;
    if contains(POINTING, &core.replace("吉他", "").replace("其他", "")) {
        return Some(Err(RejectReason::Unresolved));
    }
    let today = talk.said.local().date();
    let mut mention = None;
    let mut text = subject.label.clone();
    if !lead.is_empty() {
        let found = mentions(lead, talk.said);
        mention = found
            .first()
            .map(|first| dates::meant(first, &lead[first.start..first.end], ahead, today));
        text.push_str(&told(lead, &found, ahead, talk).ok()?);
    }
    let body = match told(predicate, &found, ahead, talk) {
        // "This year" belongs to an age only on the day it is said.
        Ok(_) if attribute == "age" => core.to_owned(),
        Ok(_) if core.starts_with("新的是") => format!("的新号码是{value}"),
        Ok(body) => body,
        Err(reason) => return Some(Err(reason)),
    };
    text.push_str(&body);
    text.push('。');
    mention = mention.or_else(|| {
        found
            .first()
            .map(|first| dates::meant(first, &predicate[first.start..first.end], ahead, today))
    });
    let specific = 0.1 * f32::from(u8::from(mention.is_some()))
        + if core.contains(|character: char| character.is_ascii_alphanumeric()) {
            0.05
        } else {
            0.0
        };
    let length = core.chars().count().min(12) as f32;
    Some(Ok(Draft {
        kind: if subject.relation.is_some()
            && matches!(kind, MemoryKind::PersonalInfo | MemoryKind::WorkHistory)
        {
            MemoryKind::Relationship
        } else {
            kind
        },
        subject: subject.key.clone(),
        attribute,
        value: if fixed.is_empty() { normal(value) } else { fixed.to_owned() },
        confidence: f32::from(confidence) / 100.0,
        importance: (f32::from(importance) / 100.0 + specific + length * 0.004).min(0.95),
        content: text,
        from: mention
            .filter(|mention| !ahead && !dates::is_vague(mention) && mention.from <= today)
            .map(|mention| mention.from),
    }))
}

/// The predicate from its verb on: without adverbs and without the date before the verb.
fn core<'a>(predicate: &'a str, found: &[TimeMention]) -> &'a str {
    let mut at = 0;
    loop {
        let rest = &predicate[at..];
        let skip = found
            .iter()
            .find(|mention| mention.start == at)
            .map(|mention| mention.end - at)
            .or_else(|| starts(ADVERBS, rest).map(str::len))
            .or_else(|| rest.starts_with(' ').then_some(1));
        match skip.filter(|skip| at + skip < predicate.len()) {
            Some(skip) => at += skip,
            None => return rest,
        }
    }
}

fn trimmed(mut text: &str) -> &str {
    while let Some(particle) = ends(PARTICLES, text) {
        text = &text[..text.len() - particle.len()];
    }
    text.trim()
}

/// The words as told by others: dates resolved, 我 and 你 by name.
fn told(
    text: &str,
    found: &[TimeMention],
    ahead: bool,
    talk: &Talk,
) -> Result<String, RejectReason> {
    let today = talk.said.local().date();
    let mut resolved = String::with_capacity(text.len() + 16);
    let mut done = 0;
    for mention in found.iter().filter(|mention| mention.relative) {
        let surface = &text[mention.start..mention.end];
        resolved.push_str(&text[done..mention.start]);
        resolved.push_str(&dates::describe(
            &dates::meant(mention, surface, ahead, today),
            Language::Chinese,
        ));
        done = mention.end;
    }
    resolved.push_str(&text[done..]);
    if resolved.contains("你们") || resolved.contains('您') {
        return Err(RejectReason::Unresolved);
    }
    let resolved =
        resolved.replace("我们", "他们").replace("我的", "自己的").replace('我', &talk.speaker);
    match (resolved.contains('你'), &talk.other) {
        (false, _) => Ok(resolved),
        (true, Some(other)) => Ok(resolved.replace('你', other)),
        (true, None) => Err(RejectReason::Unresolved),
    }
}

/// A value as it is compared.
fn normal(value: &str) -> String {
    value.trim_end_matches(['了', '的', '。', '呢', '啊']).trim().to_lowercase()
}
