use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn found(text: &str) -> (Vec<Value>, usize, bool) {
    let items = read_items(text, "facts");
    assert!(items.found, "{text}");
    (items.values, items.lost, items.salvaged)
}

#[test]
fn clean_answers_are_taken_as_they_are() {
    assert_eq!(
        found(r#"{"note":"x","facts":[{"a":1},{"a":2}]}"#),
        (vec![json!({"a": 1}), json!({"a": 2})], 0, false)
    );
    assert_eq!(found(r#" ["one", "two"] "#), (vec![json!("one"), json!("two")], 0, false));
    assert_eq!(found(r#"{"facts":[]}"#), (vec![], 0, false));
    assert_eq!(found(r#"{"facts":null}"#), (vec![], 0, false));
    assert_eq!(
        read_object(r#"{"a":1}"#).unwrap(),
        SalvagedObject {
            value: json!({"a": 1}).as_object().unwrap().clone(),
            salvaged: false,
            lost: 0
        }
    );
    assert_eq!(
        read_object("\u{feff}<think>maybe {\"a\": 0}?</think>\n{\"a\":1}").unwrap().value["a"],
        1
    );
}

#[test]
fn fences_and_prose_around_the_answer_are_ignored() {
    for text in [
        "Here you go:\n```json\n{\"facts\": [{\"a\": 1}]}\n```\nAnything else?",
        "```\n[{\"a\": 1}]\n```",
        "As asked [1], in {curly} form: {\"facts\": [{\"a\": 1}]} I hope [2] this helps.",
        "See [1]: [{\"a\": 1}]",
        "{\"answer\": {\"facts\": [{\"a\": 1}]}}",
        "[{\"facts\": [{\"a\": 1}]}]",
        "{\"statements\": [{\"a\": 1}]}",
        "{\"facts\": {\"a\": 1}}",
        "{\"facts\": [{\"a\": 1,},],}",
    ] {
        assert_eq!(found(text), (vec![json!({"a": 1})], 0, true), "{text}");
    }
    for text in [
        "I use {braces}: {\"a\": 1} done",
        "```json\n{\"a\": 1}\n```",
        "[{\"a\": 1}]",
        "one { two, then {\"a\": 1}",
        "{\"a\": 1,}",
    ] {
        let salvaged = read_object(text).unwrap();
        assert_eq!(
            (Value::Object(salvaged.value), salvaged.salvaged),
            (json!({"a": 1}), true),
            "{text}"
        );
    }
}

#[test]
fn the_last_complete_answer_counts_and_no_draft_before_it() {
    let (draft, answer) =
        (r#"{"title": "Draft", "facts": []}"#, r#"{"title": "A", "facts": [{"a": 1}]}"#);
    for text in [
        format!("<think>{draft}</think>{answer}"),
        format!("Perhaps {draft}\n</think>\n\n{answer}"),
        format!("<thinking>{draft}</thinking>\n{answer}"),
        format!(
            "<|channel|>analysis<|message|>{draft}<|end|><|start|>assistant\
             <|channel|>final<|message|>{answer}"
        ),
        format!("```json\n{draft}\n```\nBetter:\n```json\n{answer}\n```"),
        format!("{draft}\n{answer}"),
        format!("{answer} I hope {{this}} helps."),
        serde_json::to_string(answer).unwrap(),
        format!("{{\"response\": {answer}}}"),
        answer.replace('"', "'"),
    ] {
        assert_eq!(
            object_with(&text, &["title"]).expect("an object").value["title"],
            "A",
            "{text}"
        );
        assert_eq!(read_items(&text, "facts").values, vec![json!({"a": 1})], "{text}");
    }
    for text in [format!("<think>{draft}"), format!("<think>{draft}</think>"), "<think>".to_owned()]
    {
        assert_eq!(object_with(&text, &["title"]), None, "{text}");
        assert!(!read_items(&text, "facts").found, "{text}");
    }
    // A talk about an end mark.
    let about = r#"{"title": "The mark </think>", "facts": [{"a": 1}]}"#;
    assert_eq!(
        object_with(about, &["title"]).expect("an object").value["title"],
        "The mark </think>"
    );
}

#[test]
fn numbers_come_in_many_forms() {
    for (value, expected) in [
        (json!([3, "4", 4.5, null]), vec![3, 4]),
        (json!(3), vec![3]),
        (json!("3"), vec![3]),
        (json!("3-5"), vec![3, 4, 5]),
        (json!("3, 7"), vec![3, 7]),
        (json!([[1]]), vec![]),
        (json!("all"), vec![]),
        (json!(-1), vec![]),
    ] {
        assert_eq!(read_numbers(&value), expected, "{value}");
    }
    assert!(read_numbers(&json!("0-18446744073709551615")).len() <= 10_001);
}

#[test]
fn one_bad_item_never_loses_the_others() {
    let (one, three) = (r#"{"text":"one"}"#, r#"{"text":"three"}"#);
    for bad in [
        r#"{"text": two}"#,
        r#"{"text":"two}"#,
        r#"{"text":"a 5" nail"}"#,
        r#"{"text":"he said "two" loudly"}"#,
        r#"{"text":"two"#,
        r#"{"text":"two","list":[{"x":1},{"x":2}],}}"#,
        r#"two"#,
        r#"{"text":1e999}"#,
        "{\"text\":\"two\\u12\"}",
    ] {
        for text in
            [format!("{{\"facts\":[{one},{bad},{three}]}}"), format!("[{one}, {bad}, {three}]")]
        {
            let (values, lost, salvaged) = found(&text);
            let texts: Vec<_> = values.iter().filter_map(|value| value["text"].as_str()).collect();
            assert_eq!(texts.first(), Some(&"one"), "{text}");
            assert!(salvaged, "{text}");
            // If a bad item's brackets are broken too, neighbouring parts that look like its
            // contents may be lost with it; otherwise only the bad item is lost.
            if !bad.ends_with("two") && !bad.ends_with("}}") || bad == "two" {
                assert_eq!((texts, lost), (vec!["one", "three"], 1), "{text}");
            }
        }
    }
    assert_eq!(found(r#"["a 5" nail", "b"]"#), (vec![json!("b")], 1, true));
    assert_eq!(found(r#"[{"a":1} {"a":2}]"#), (vec![json!({"a": 1}), json!({"a": 2})], 0, true));
}

#[test]
fn an_answer_cut_off_anywhere_keeps_its_whole_items() {
    let whole = concat!(
        r#"{"facts": [{"text": "a, b] {c", "n": 1}, {"text": "d", "tags": ["x", "y"]}, {"text": "#,
        r#""e"}]}"#,
    );
    let start = whole.find('[').unwrap();
    let ends: Vec<_> = [r#"1}"#, r#"]}, {"text": "e"#, r#""e"}"#]
        .iter()
        .map(|part| whole.find(part).unwrap())
        .collect();
    let ends = [ends[0] + 2, ends[1] + 2, ends[2] + 4];
    for cut in start + 1..whole.len() {
        let items = read_items(&whole[..cut], "facts");
        let expected = ends.iter().filter(|end| **end <= cut).count();
        assert_eq!(items.values.len(), expected, "{}", &whole[..cut]);
        let inside = !ends.contains(&cut)
            && whole[..cut].trim_end_matches([' ', ',', '[', ']']).len()
                > *ends[..expected].last().unwrap_or(&start);
        assert_eq!(items.lost, usize::from(inside && cut > start + 1), "{}", &whole[..cut]);
    }
    assert_eq!(found("[12, 34"), (vec![json!(12)], 1, true));
}

#[test]
fn a_broken_object_keeps_its_whole_members() {
    let salvaged =
        read_object(r#"{"title": "A walk", "meta": {"a": 1}, "summary": "they wal"#).unwrap();
    assert_eq!(
        (Value::Object(salvaged.value), salvaged.lost),
        (json!({"title": "A walk", "meta": {"a": 1}}), 1)
    );
    let salvaged = read_object(r#"{"title": "a 5" nail", "summary": "bought", "n": 3}"#).unwrap();
    assert_eq!(
        (Value::Object(salvaged.value), salvaged.lost),
        (json!({"summary": "bought", "n": 3}), 1)
    );
    let salvaged = read_object(r#"{title: "x", "summary": "y"}"#).unwrap();
    assert_eq!((Value::Object(salvaged.value), salvaged.lost), (json!({"summary": "y"}), 1));
}

#[test]
fn where_there_is_nothing_nothing_is_found() {
    for text in [
        "",
        "I cannot help with that.",
        "{",
        "[",
        "\"facts\"",
        "{\"facts\": 3}",
        "{\"title\": \"x\", \"tags\": [{\"a\": 1}], \"n\": 2}",
        "null",
        "```",
        "}{",
    ] {
        assert!(!read_items(text, "facts").found, "{text}");
    }
    for text in ["", "no", "{", "[1]", "{}x", "{\"a\"", "3"] {
        assert_eq!(read_object(text), None, "{text}");
    }
}

#[test]
fn bombs_cost_linear_time_and_no_stack() {
    let size = 4 * MAX_TEXT_BYTES;
    for unit in [
        "[",
        "{",
        "{\"a\":",
        "{\"facts\":[",
        "[{\"a\":\"",
        "\"",
        "[\"a\",",
        "{\"a\":1},",
        "\\\"",
        "```",
        "[1",
        "é{",
        "{\"facts\":[{\"a\":x},",
        "[{",
        "\"facts\":",
        ", \"a\":",
    ] {
        let text = unit.repeat(size / unit.len());
        let started = Instant::now();
        let (_, _) = (read_items(&text, "facts"), read_object(&text));
        assert!(started.elapsed() < Duration::from_secs(5), "{unit}: {:?}", started.elapsed());
    }
    let deep = format!("{{\"facts\":[{}1{}, {{\"a\":1}}]}}", "[".repeat(200), "]".repeat(200));
    assert_eq!(found(&deep), (vec![json!({"a": 1})], 1, true));
}

proptest! {
    #[test]
    fn any_text_is_survived(text in "([\\[\\]{}\",:\\\\ a1é\n]|\"facts\":|```|null){0,60}") {
        let items = read_items(&text, "facts");
        prop_assert!(items.found || items.values.is_empty());
        read_object(&text);
    }

    #[test]
    fn whatever_was_written_is_read(
        texts in proptest::collection::vec("\\PC{0,20}", 0..6), junk in "[a-z .]{0,20}",
    ) {
        let values: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
        let clean = json!({"facts": values}).to_string();
        prop_assert_eq!(read_items(&clean, "facts").values, values.clone());
        let wrapped = read_items(&format!("{junk}\n{clean}\n{junk}"), "facts");
        prop_assert_eq!(wrapped.values, values);
        prop_assert_eq!(wrapped.lost, 0);
    }
}
