//! How deep a JSON text is nested, before anything parses it.

/// Whether brackets of a JSON text are nested deeper than `most`. Brackets in strings don't count.
///
/// One pass over the bytes, whatever they are. For other bytes than JSON, the answer means nothing.
pub fn nests_deeper(json: &[u8], most: usize) -> bool {
    let mut depth = 0_usize;
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => pass_string(&mut bytes),
            b'[' | b'{' if depth == most => return true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Goes to the end of the string whose opening quote was read, or to the end of the text.
fn pass_string(bytes: &mut std::slice::Iter<'_, u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn depth_of(value: &Value) -> usize {
        let inner = match value {
            Value::Array(items) => items.iter().map(depth_of).max(),
            Value::Object(fields) => fields.values().map(depth_of).max(),
            _ => return 0,
        };
        1 + inner.unwrap_or(0)
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i32>().prop_map(Value::from),
            r#"[\[\]{}"\\/a\n\u{e9}]{0,8}"#.prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 40, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(r#"[\[{"\\}\]]{0,3}"#, inner, 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn counts_what_a_parser_finds(value in values()) {
            let depth = depth_of(&value);
            for text in [value.to_string(), format!("{value:#}")] {
                prop_assert!(!nests_deeper(text.as_bytes(), depth));
                prop_assert!(depth == 0 || nests_deeper(text.as_bytes(), depth - 1));
            }
        }

        #[test]
        fn ends_on_any_bytes(bytes: Vec<u8>, most in 0_usize..4) {
            nests_deeper(&bytes, most);
        }
    }

    #[test]
    fn strings_without_an_end_hide_what_follows() {
        assert!(!nests_deeper(br#"[["[[[[\"[[["#, 2));
        assert!(nests_deeper(br#"[["\\"[[["#, 4));
        assert!(!nests_deeper(br#"["\"#, 1));
    }
}
