//! The forms in which models list facts: arrays of strings, as the prompts ask for, objects with
//! the names of the parts as keys, and lines with bars. Models vary all of these, so parts are
//! recognised by what they hold, not only by their places.

use serde_json::{Map, Value};

use crate::llm::{json, single_line};
use crate::model::MemoryKind;

/// A fact as an answer states it, unchecked.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct StatedParts {
    pub kind: Option<MemoryKind>,
    /// 0 to 1.
    pub importance: Option<f32>,
    /// 0 to 1.
    pub confidence: Option<f32>,
    pub subject: String,
    pub attribute: String,
    pub value: String,
    /// The day of the event.
    pub when: String,
    /// Since when the fact holds; `None` if the form has no place for it.
    pub from: Option<String>,
    /// Numbers of known facts that no longer hold.
    pub ends: Vec<u64>,
    /// Numbers of known facts that never held.
    pub corrects: Vec<u64>,
    /// Numbers of known facts that the messages only repeat.
    pub repeats: Vec<u64>,
    /// Numbers of the messages that state the fact; `None` if the answer names none.
    pub messages: Option<Vec<u64>>,
    pub sentence: String,
}

/// The names of the parts, in the order of the prompt. The last name of each part is that of
/// earlier prompts or the one that models put in its place.
const NAMES: [&[&str]; 14] = [
    &["kind", "category", "type"],
    &["importance"],
    &["subject"],
    &["attribute"],
    &["value"],
    &["when", "date"],
    &["from", "since", "valid_from"],
    &["ends", "supersedes"],
    &["corrects"],
    &["repeats"],
    &["messages", "message", "sources", "source_messages"],
    &["sentence", "content", "fact", "statement", "text"],
    &["quote", "quotation"],
    &["confidence"],
];

/// The order of the parts between the attribute and the sentence, with and without the parts that
/// models leave out, and that of earlier prompts, which had a quotation before the sentence.
const ORDERS: [&[&str]; 4] = [
    &["value", "when", "from", "ends", "messages"],
    &["when", "from", "ends", "messages"],
    &["value", "when", "ends", "messages"],
    &["when", "ends", "messages"],
];

/// Number of separators in a line whose parts are separated by other marks than bars.
const SEPARATORS: usize = 6;
/// Number of parts from which a row is complete, even if its kind is unknown.
const COMPLETE: usize = 8;
/// Number of parts with a name before them from which all have one.
const NAMED: usize = 3;

/// The facts in the items of an answer. An item that is no fact gives an empty one.
pub(super) fn stated_parts(items: &[Value]) -> Vec<StatedParts> {
    let texts: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
    let is_one_row = texts.is_some_and(|texts| {
        texts.len() >= COMPLETE
            && kind_of(texts[0]).is_some()
            && !texts.iter().any(|text| text.contains(['|', '｜']))
    });
    if is_one_row {
        return vec![of_row(items)];
    }
    items.iter().flat_map(of_item).collect()
}

fn of_item(item: &Value) -> Vec<StatedParts> {
    match item {
        Value::String(text) => text.lines().filter_map(of_line).collect(),
        Value::Array(parts) => match parts.first() {
            Some(Value::Array(_) | Value::Object(_)) => parts.iter().flat_map(of_item).collect(),
            Some(_) => vec![of_row(parts)],
            None => vec![StatedParts::default()],
        },
        Value::Object(members) => vec![of_object(members)],
        _ => vec![StatedParts::default()],
    }
}

/// A line; `None` if it is the frame of a table or a list.
fn of_line(line: &str) -> Option<StatedParts> {
    let line = line.trim().trim_matches('`').trim();
    let line = line.trim_start_matches(['-', '*', '•', ' ']);
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let line = match numbered.strip_prefix(['.', ')']) {
        Some(rest) if numbered.len() < line.len() => rest.trim(),
        _ => line,
    };
    let mut line = line.replace(['｜', '│', '¦'], "|");
    for mark in ["；", ";", "\t"] {
        if !line.contains('|') && line.matches(mark).count() >= SEPARATORS {
            line = line.replace(mark, "|");
        }
    }
    let parts: Vec<String> = line.trim_matches(['|', ' ']).split('|').map(plain).collect();
    let is_frame = parts.iter().all(|part| !part.contains(char::is_alphanumeric));
    let is_head = parts.len() > NAMED && parts.iter().all(|part| key_of(part).is_some());
    (!is_frame && !is_head).then(|| of_parts(&parts))
}

fn of_row(parts: &[Value]) -> StatedParts {
    let parts: Vec<String> = parts.iter().map(|part| plain(&text_of(part))).collect();
    of_parts(&parts)
}

/// The text of a part; the items of a list are separated by commas.
fn text_of(part: &Value) -> String {
    match part {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// The text of a part without what surrounds it: quotation marks, bold print, a dash or a word for
/// nothing.
fn plain(text: &str) -> String {
    const MARKS: [char; 9] = ['`', '"', '“', '”', '„', '«', '»', '*', ' '];
    let text = unescaped(&single_line(text));
    let text = text.trim_matches(MARKS);
    let text = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')).unwrap_or(text);
    match &*text.to_lowercase() {
        "-" | "–" | "—" | "none" | "null" | "n/a" | "无" => String::new(),
        _ => text.to_owned(),
    }
}

/// The text with characters in place of the escapes that a model wrote twice (`\u2019`).
fn unescaped(text: &str) -> String {
    let mut parts = text.split("\\u");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(character) => {
                plain.push(character);
                plain.push_str(&part[4..]);
            }
            None => {
                plain.push_str("\\u");
                plain.push_str(part);
            }
        }
    }
    plain
}

/// The name that the prompt uses for a part, from a name that models use.
fn key_of(name: &str) -> Option<&'static str> {
    let name = name.trim().to_lowercase().replace([' ', '-'], "_");
    NAMES.iter().find(|names| names.contains(&&*name)).map(|names| names[0])
}

/// A fact from its parts in order.
fn of_parts(parts: &[String]) -> StatedParts {
    let named: Map<String, Value> = parts
        .iter()
        .filter_map(|part| part.split_once([':', '=']))
        .filter_map(|(name, part)| Some((key_of(name)?.to_owned(), plain(part).into())))
        .collect();
    if named.len() >= NAMED {
        return of_object(&named);
    }
    let Some((last, _)) = parts.split_last() else { return StatedParts::default() };
    let bare = || StatedParts { sentence: last.clone(), ..StatedParts::default() };
    // A sentence before the other parts.
    let at = match parts.iter().take(2).position(|part| kind_of(part).is_some()) {
        Some(at) => at,
        None if parts.len() >= COMPLETE => 0,
        None => return bare(),
    };
    let mut row = Map::new();
    let mut rest = &parts[at..];
    let mut take = |rest: &mut &[String], key: &str| {
        if let Some((part, left)) = rest.split_first() {
            row.insert(key.to_owned(), part.as_str().into());
            *rest = left;
        }
    };
    take(&mut rest, "kind");
    if rest.first().is_some_and(|part| part.is_empty() || importance_of(part).is_some()) {
        take(&mut rest, "importance");
    }
    take(&mut rest, "subject");
    take(&mut rest, "attribute");
    let Some(order) = ORDERS.iter().find(|order| has_order(rest, order)) else { return bare() };
    for key in *order {
        take(&mut rest, key);
    }
    let is_old = !order.contains(&"from") && !order.contains(&"value");
    let sentence = match rest {
        _ if at > 0 => parts[0].clone(),
        [] => return bare(),
        [quote, sentence] if is_old => {
            let ends = |text: &str| text.ends_with(['.', '!', '。', '！']);
            if ends(quote) && !ends(sentence) { quote.clone() } else { sentence.clone() }
        }
        [_, sentence @ ..] if is_old && !sentence.is_empty() => sentence.join(" "),
        sentence => sentence.join(" "),
    };
    row.insert("sentence".to_owned(), sentence.into());
    of_object(&row)
}

/// True if the parts begin with parts in this order.
fn has_order(parts: &[String], order: &[&str]) -> bool {
    parts.len() >= order.len()
        && order.iter().zip(parts).all(|(key, part)| match *key {
            "when" | "from" => part.is_empty() || is_date(part),
            "ends" | "messages" => part.is_empty() || is_numbers(part),
            _ => true,
        })
}

fn is_date(part: &str) -> bool {
    part.len() >= 4 && part.chars().all(|c| c.is_ascii_digit() || "-/.:TZ+ ".contains(c))
}

/// True for numbers of messages or facts, however they are marked.
fn is_numbers(part: &str) -> bool {
    let part = without_words(part);
    part.contains(|c: char| c.is_ascii_digit())
        && part.chars().all(|c| c.is_ascii_digit() || "#!=[]()-–, ;.".contains(c))
}

/// The numbers without the words before them: `message 3`, `facts 1 and 2`.
fn without_words(part: &str) -> String {
    const WORDS: [&str; 8] = ["messages", "message", "msg", "facts", "fact", "and", "消息", "和"];
    WORDS.iter().fold(part.to_lowercase(), |part, word| part.replace(word, " "))
}

/// A fact from an object with the names of the parts as keys.
fn of_object(members: &Map<String, Value>) -> StatedParts {
    let mut known: Map<String, Value> = Map::new();
    for (name, part) in members {
        if let Some(key) = key_of(name) {
            known.entry(key).or_insert_with(|| part.clone());
        }
    }
    let text = |key: &str| known.get(key).map(|part| plain(&text_of(part))).unwrap_or_default();
    let number = |key: &str| text(key).parse::<f32>().ok().filter(|number| number.is_finite());
    let numbers = |key: &str| references(&text(key));
    let ends = numbers("ends");
    let mut corrects = ends.corrects;
    corrects.extend(numbers("corrects").plain);
    let mut repeats = ends.repeats;
    repeats.extend(numbers("repeats").plain);
    let cited = text("messages");
    StatedParts {
        kind: kind_of(&text("kind")),
        importance: importance_of(&text("importance")),
        confidence: number("confidence").map(|confidence| confidence.clamp(0.0, 1.0)),
        subject: text("subject"),
        attribute: text("attribute"),
        value: text("value"),
        when: text("when"),
        from: known.contains_key("from").then(|| text("from")),
        ends: ends.plain,
        corrects,
        repeats,
        messages: is_given(known.get("messages")).then(|| references(&cited).plain),
        sentence: text("sentence"),
    }
}

/// True if a part has a value; an empty list says that there is none, and so is given.
fn is_given(part: Option<&Value>) -> bool {
    part.is_some_and(|part| part.is_array() || !plain(&text_of(part)).is_empty())
}

/// Numbers of known facts or messages, by their marks.
#[derive(Default)]
struct References {
    plain: Vec<u64>,
    /// Those with `!`.
    corrects: Vec<u64>,
    /// Those with `=`.
    repeats: Vec<u64>,
}

fn references(part: &str) -> References {
    let part = without_words(part).replace("! ", "!").replace("= ", "=");
    let mut found = References::default();
    for one in part.split([',', ';', ' ', '[', ']', '(', ')', '#']) {
        let (list, one) = match (one.strip_prefix('!'), one.strip_prefix('=')) {
            (Some(one), _) => (&mut found.corrects, one),
            (_, Some(one)) => (&mut found.repeats, one),
            _ => (&mut found.plain, one),
        };
        list.extend(json::read_numbers(&Value::from(one.trim_end_matches('.'))));
    }
    found
}

fn kind_of(word: &str) -> Option<MemoryKind> {
    let word = word.trim().to_lowercase().replace([' ', '-'], "_");
    MemoryKind::ALL.into_iter().find(|kind| kind.name() == word)
}

/// Importance from a word, a share, or a mark out of ten or of a hundred.
fn importance_of(word: &str) -> Option<f32> {
    match &*word.to_lowercase() {
        "low" => Some(0.25),
        "medium" => Some(0.5),
        "high" => Some(0.75),
        "critical" => Some(1.0),
        other => {
            let mark = other.parse::<f32>().ok().filter(|mark| mark.is_finite())?;
            let of = if mark <= 1.0 {
                1.0
            } else if mark <= 10.0 {
                10.0
            } else {
                100.0
            };
            Some((mark / of).clamp(0.0, 1.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PARTS: [&str; 10] = [
        "event",
        "high",
        "Ann",
        "home",
        "Lyon",
        "2024-03-08",
        "",
        "3, !4, =5",
        "0, 2",
        "Ann moved to Lyon.",
    ];

    fn wanted() -> StatedParts {
        StatedParts {
            kind: Some(MemoryKind::Event),
            importance: Some(0.75),
            confidence: None,
            subject: "Ann".to_owned(),
            attribute: "home".to_owned(),
            value: "Lyon".to_owned(),
            when: "2024-03-08".to_owned(),
            from: Some(String::new()),
            ends: vec![3],
            corrects: vec![4],
            repeats: vec![5],
            messages: Some(vec![0, 2]),
            sentence: "Ann moved to Lyon.".to_owned(),
        }
    }

    fn lines(form: impl Fn(Vec<&str>) -> String) -> Vec<StatedParts> {
        stated_parts(&[form(PARTS.to_vec()).into()])
    }

    #[test]
    fn arrays_objects_and_lines_say_the_same() {
        let names = NAMES.map(|names| names[0]);
        let object: Map<String, Value> = names
            .iter()
            .filter(|name| !matches!(**name, "corrects" | "repeats"))
            .zip(PARTS)
            .map(|(name, part)| ((*name).to_owned(), part.into()))
            .collect();
        let keyed = |parts: Vec<&str>| {
            let names = object.keys().zip(parts.iter().map(|_| ""));
            let pairs = names.map(|(name, _)| format!("{name}: {}", text_of(&object[name])));
            pairs.collect::<Vec<_>>().join(" | ")
        };
        for found in [
            stated_parts(&[json!(PARTS)]),
            stated_parts(&[json!([PARTS])]),
            stated_parts(&PARTS.map(Value::from)),
            stated_parts(&[object.clone().into()]),
            lines(|parts| parts.join(" | ")),
            lines(|parts| format!("| {} |", parts.join("|"))),
            lines(|parts| format!("- `{}`", parts.join(" | "))),
            lines(|parts| format!("2. {}", parts.join(" ｜ "))),
            lines(|parts| parts.join(" ; ")),
            lines(|parts| parts.join("\t")),
            lines(keyed),
        ] {
            assert_eq!(found, [wanted()]);
        }
        let two = lines(|parts| format!("{}\n{}", parts.join("|"), parts.join("|")));
        assert_eq!(two, [wanted(), wanted()]);
        let heads = "kind | importance | subject | sentence\n--- | --- | --- | ---";
        assert!(lines(|_| heads.to_owned()).is_empty());
    }

    #[test]
    fn parts_that_are_missing_or_elsewhere_are_recognised() {
        let row = |parts: &[&str]| stated_parts(&[json!(parts)]).remove(0);
        let without = |place: usize| {
            let mut parts = PARTS.to_vec();
            parts.remove(place);
            row(&parts)
        };
        assert_eq!(without(4), StatedParts { value: String::new(), ..wanted() });
        assert_eq!(without(1), StatedParts { importance: None, ..wanted() });
        let undated = StatedParts { from: None, ..wanted() };
        assert_eq!(without(6), undated);
        let mut first = PARTS.to_vec();
        first.rotate_right(1);
        assert_eq!(row(&first), wanted());
        let unknown = row(&[&["health"], &PARTS[1..]].concat());
        assert_eq!(unknown, StatedParts { kind: None, ..wanted() });
        let bare = stated_parts(&["event | Ann moved.".into(), "Ann works.".into()]);
        assert_eq!([&*bare[0].sentence, &*bare[1].sentence], ["Ann moved.", "Ann works."]);
        assert_eq!(bare[0].messages, None);
    }

    #[test]
    fn lines_of_earlier_prompts_are_read() {
        let old = |end: &[&str]| {
            let start = ["event", "high", "Ann", "home", "2024-03-08", "3, !4, =5", "0, 2"];
            stated_parts(&[[&start, end].concat().join(" | ").into()]).remove(0)
        };
        let wanted = StatedParts { value: String::new(), from: None, ..wanted() };
        for end in [
            &["moved to Lyon", "Ann moved to Lyon."][..],
            &["Ann moved to Lyon.", "moved to Lyon"],
            &["Ann moved to Lyon."],
            &["moved to", "Ann moved", "to Lyon."],
        ] {
            assert_eq!(old(end), wanted, "{end:?}");
        }
    }

    #[test]
    fn numbers_and_marks_have_many_forms() {
        for (text, plain) in [
            ("[0]", &[0][..]),
            ("#0, #1", &[0, 1]),
            ("0-2", &[0, 1, 2]),
            ("message 3", &[3]),
            ("messages 3 and 4.", &[3, 4]),
            ("消息 3", &[3]),
            ("soon", &[]),
        ] {
            assert_eq!(references(text).plain, plain, "{text}");
        }
        for (mark, importance) in
            [("0.4", 0.4), ("8", 0.8), ("80", 0.8), ("Critical", 1.0), ("-3", 0.0)]
        {
            assert_eq!(importance_of(mark), Some(importance), "{mark}");
        }
        assert_eq!(importance_of("rather"), None);
        assert_eq!(plain("\"**I\\u2019m Ann**\""), "I’m Ann");
        assert_eq!(plain("`None`"), "");
    }

    #[test]
    fn what_is_no_fact_is_empty() {
        for item in [json!(1), json!(null), json!([]), json!({}), json!({"content": 7})] {
            let found = stated_parts(std::slice::from_ref(&item));
            assert_eq!(found.len(), 1, "{item}");
            assert!(!found[0].sentence.contains(char::is_alphabetic), "{item}");
        }
    }
}
