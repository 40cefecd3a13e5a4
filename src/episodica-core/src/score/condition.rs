//! Metadata conditions in the syntax of MongoDB queries, `{"n": {"$gt": 3}}`, and in that of mem0,
//! `{"AND": [{"n": {"gt": 3}}]}`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Operators on the value of one key.
const OPERATORS: [&str; 12] = [
    "$eq",
    "$ne",
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$contains",
    "$icontains",
    "$exists",
    "$not",
];
/// Operators that combine conditions.
const CONNECTIVES: [&str; 3] = ["$and", "$or", "$not"];
/// Conditions on metadata; all of them must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetadataFilter(Vec<MetadataCondition>);

#[derive(Debug, Clone, PartialEq)]
enum MetadataCondition {
    Key(String, Vec<ValueTest>),
    All(Vec<MetadataFilter>),
    Any(Vec<MetadataFilter>),
    Not(MetadataFilter),
}

/// Test of one key's value.
#[derive(Debug, Clone, PartialEq)]
enum ValueTest {
    Equal(Value),
    Unequal(Value),
    /// Compares with the value: greater or less, as the `Ordering` says. `true` also admits
    /// equality.
    Ordered(Ordering, bool, Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    Contains(Value),
    /// Contains the text, ignoring case.
    ContainsFolded(String),
    Exists(bool),
    Not(Vec<ValueTest>),
}

impl MetadataFilter {
    /// Parses conditions: metadata keys, each with the required value or with operators; `$and`,
    /// `$or` and `$not` combine conditions. mem0's names for operators have no `$`.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown operator or an operand of the wrong type.
    pub fn parse(conditions: &Map<String, Value>) -> Result<Self> {
        let parse = |(key, operand): (&String, &Value)| match connective(key, operand) {
            Some("$and") => Ok(MetadataCondition::All(listed(key, operand)?)),
            Some("$or") => Ok(MetadataCondition::Any(listed(key, operand)?)),
            // In mem0's syntax, `NOT` takes a list: none of its conditions may hold.
            Some(_) if operand.is_array() => {
                Ok(MetadataCondition::Not(Self(vec![MetadataCondition::Any(listed(
                    key, operand,
                )?)])))
            }
            Some(_) => Ok(MetadataCondition::Not(Self::parse(object(key, operand)?)?)),
            None if key.starts_with('$') => Err(unknown(key, &CONNECTIVES)),
            None => Ok(MetadataCondition::Key(key.clone(), tests(operand)?)),
        };
        conditions.iter().map(parse).collect::<Result<_>>().map(Self)
    }

    /// True if there are no conditions: every record passes, even without metadata.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the metadata meets every condition.
    pub fn admits(&self, metadata: &Map<String, Value>) -> bool {
        self.0.iter().all(|condition| match condition {
            MetadataCondition::Key(key, tests) => passes(tests, metadata.get(key)),
            MetadataCondition::All(all) => all.iter().all(|one| one.admits(metadata)),
            MetadataCondition::Any(any) => any.iter().any(|one| one.admits(metadata)),
            MetadataCondition::Not(not) => !not.admits(metadata),
        })
    }
}

fn passes(tests: &[ValueTest], value: Option<&Value>) -> bool {
    tests.iter().all(|test| test.passes(value))
}

impl ValueTest {
    /// A missing key has no value to compare: only `$ne`, `$nin`, `$not` and `$exists` can pass.
    fn passes(&self, value: Option<&Value>) -> bool {
        let is = |other: &Value| value.is_some_and(|value| equal(value, other));
        match self {
            Self::Equal(other) => is(other),
            Self::Unequal(other) => !is(other),
            Self::Ordered(order, or_equal, other) => {
                let found = value.and_then(|value| compare(value, other));
                found.is_some_and(|found| found == *order || *or_equal && found.is_eq())
            }
            Self::In(others) => others.iter().any(is),
            Self::NotIn(others) => !others.iter().any(is),
            Self::Contains(part) => match (value, part) {
                (Some(Value::Array(list)), part) => list.iter().any(|one| equal(one, part)),
                (Some(Value::String(text)), Value::String(part)) => text.contains(part),
                _ => false,
            },
            Self::ContainsFolded(part) => value
                .and_then(Value::as_str)
                .is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase())),
            Self::Exists(exists) => value.is_some() == *exists,
            Self::Not(tests) => !passes(tests, value),
        }
    }
}

/// Numbers compare by value: 1 equals 1.0.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(_), Value::Number(_)) => compare(a, b) == Some(Ordering::Equal),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let there = |(key, a): (&String, &Value)| b.get(key).is_some_and(|b| equal(a, b));
            a.len() == b.len() && a.iter().all(there)
        }
        _ => a == b,
    }
}

/// Orders two numbers or two strings; other pairs have no order.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i128(), b.as_i128()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// Returns the connective that `key` denotes. mem0's names have no `$`. In capitals (`OR`) they
/// always count; otherwise only if the operand consists of conditions, since `or` may also be a
/// metadata key.
fn connective(key: &str, operand: &Value) -> Option<&'static str> {
    let is_of_conditions = || match operand {
        Value::Array(list) => !list.is_empty() && list.iter().all(Value::is_object),
        other => other.is_object(),
    };
    let found = CONNECTIVES.into_iter().find(|one| {
        *one == key || one[1..].eq_ignore_ascii_case(key) && (is_shouted(key) || is_of_conditions())
    })?;
    Some(found)
}

fn is_shouted(key: &str) -> bool {
    key.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Parses the tests of one key: a plain value, or operators with operands.
fn tests(operand: &Value) -> Result<Vec<ValueTest>> {
    match operand {
        Value::Object(map) if map.is_empty() => Err(Error::invalid("object in where is empty")),
        Value::Object(map) => map.iter().map(|(name, operand)| test(name, operand)).collect(),
        value => Ok(vec![ValueTest::Equal(value.clone())]),
    }
}

fn test(name: &str, operand: &Value) -> Result<ValueTest> {
    let value = || operand.clone();
    let list = || match operand {
        Value::Array(list) => Ok(list.clone()),
        _ => Err(Error::invalid(format!("operand in where must be a list: `{name}`"))),
    };
    let ordered = |order: Ordering, or_equal: bool| match operand {
        Value::Number(_) | Value::String(_) => Ok(ValueTest::Ordered(order, or_equal, value())),
        _ => Err(Error::invalid(format!("operand in where must be a number or text: `{name}`"))),
    };
    let text = || match operand {
        Value::String(text) => Ok(text.clone()),
        _ => Err(Error::invalid(format!("operand in where must be a text: `{name}`"))),
    };
    let known = OPERATORS.into_iter().find(|known| {
        *known == name || !name.starts_with('$') && known[1..].eq_ignore_ascii_case(name)
    });
    match known.unwrap_or(name) {
        "$eq" => Ok(ValueTest::Equal(value())),
        "$ne" => Ok(ValueTest::Unequal(value())),
        "$gt" => ordered(Ordering::Greater, false),
        "$gte" => ordered(Ordering::Greater, true),
        "$lt" => ordered(Ordering::Less, false),
        "$lte" => ordered(Ordering::Less, true),
        "$in" => list().map(ValueTest::In),
        "$nin" => list().map(ValueTest::NotIn),
        "$contains" => Ok(ValueTest::Contains(value())),
        "$icontains" => text().map(ValueTest::ContainsFolded),
        "$exists" => operand.as_bool().map(ValueTest::Exists).ok_or_else(|| {
            Error::invalid(format!("operand in where must be true or false: `{name}`"))
        }),
        "$not" => Ok(ValueTest::Not(tests(operand)?)),
        _ => Err(unknown(name, &OPERATORS)),
    }
}

fn listed(name: &str, operand: &Value) -> Result<Vec<MetadataFilter>> {
    let Value::Array(list) = operand else {
        return Err(Error::invalid(format!("operand in where must be a list: `{name}`")));
    };
    if list.is_empty() {
        return Err(Error::invalid(format!("list in where is empty: `{name}`")));
    }
    list.iter().map(|one| MetadataFilter::parse(object(name, one)?)).collect()
}

fn object<'a>(name: &str, operand: &'a Value) -> Result<&'a Map<String, Value>> {
    let wrong = || Error::invalid(format!("operand in where must consist of conditions: `{name}`"));
    operand.as_object().ok_or_else(wrong)
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let name: String = name.chars().take(40).collect();
    Error::invalid(format!("unknown operator in where: `{name}`")).with_hint(format!(
        "the operators here are {}; write an object value as `{{\"$eq\": {{…}}}}`",
        known.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(conditions: &Value) -> Result<MetadataFilter> {
        MetadataFilter::parse(conditions.as_object().unwrap())
    }

    fn admits(conditions: &Value, metadata: &Value) -> bool {
        parse(conditions).unwrap().admits(metadata.as_object().unwrap())
    }

    #[test]
    fn operators_mean_what_they_say() {
        let said = json!({"n": 3, "x": 2.5, "tags": ["a", "b"], "channel": "sms", "o": {"k": 1}});
        for (conditions, expected) in [
            (json!({}), true),
            (json!({"channel": "sms", "n": 3}), true),
            (json!({"n": 3.0, "o": {"$eq": {"k": 1.0}}}), true),
            (json!({"channel": "sms", "n": 4}), false),
            (json!({"n": {"$gt": 2, "$lte": 3}}), true),
            (json!({"n": {"$gt": 3}}), false),
            (json!({"n": {"$gte": 3, "$lt": 3.5}}), true),
            (json!({"n": {"$gt": "2"}}), false),
            (json!({"channel": {"$gte": "sm", "$lt": "sn"}}), true),
            (json!({"n": {"$ne": 3}}), false),
            (json!({"missing": {"$ne": 3}}), true),
            (json!({"missing": {"$gt": 3}}), false),
            (json!({"missing": null}), false),
            (json!({"n": {"$in": [1, 3]}}), true),
            (json!({"missing": {"$in": [null]}}), false),
            (json!({"n": {"$nin": [1, 3]}}), false),
            (json!({"missing": {"$nin": [1]}}), true),
            (json!({"tags": {"$contains": "a"}, "channel": {"$contains": "ms"}}), true),
            (json!({"tags": "a"}), false),
            (json!({"n": {"$contains": "3"}}), false),
            (json!({"n": {"$exists": true}, "missing": {"$exists": false}}), true),
            (json!({"n": {"$not": {"$gt": 3}}, "missing": {"$not": {"$gt": 3}}}), true),
            (json!({"$or": [{"n": 4}, {"x": {"$lt": 3}}]}), true),
            (json!({"$and": [{"n": 3}, {"x": 3}]}), false),
            (json!({"$not": {"n": 3, "x": 3}}), true),
            // mem0's words.
            (json!({"n": {"gte": 3, "lt": 4}}), true),
            (json!({"n": {"gte": 4}}), false),
            (json!({"n": {"in": [1, 3]}, "channel": {"ne": "fax"}}), true),
            (json!({"channel": {"icontains": "SM"}}), true),
            (json!({"channel": {"icontains": "fax"}}), false),
            (json!({"AND": [{"n": 3}, {"OR": [{"x": 9}, {"channel": "sms"}]}]}), true),
            (json!({"AND": [{"n": 3}, {"x": {"gt": 2.5}}]}), false),
            (json!({"or": [{"n": 4}, {"n": 3}]}), true),
            (json!({"NOT": [{"n": 4}, {"x": 3}]}), true),
            (json!({"NOT": [{"n": 4}, {"n": 3}]}), false),
            (json!({"not": {"n": 3}}), false),
            // Keys and values that only look like operators.
            (json!({"or": "x"}), false),
            (json!({"o": {"eq": {"k": 1}}}), true),
        ] {
            assert_eq!(admits(&conditions, &said), expected, "{conditions}");
        }
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for (conditions, expected) in [
            (json!({"n": {"$near": 3}}), "unknown operator in where: `$near`"),
            (json!({"$nor": []}), "unknown operator in where: `$nor`"),
            (json!({"n": {"$gt": 1, "m": 2}}), "unknown operator in where: `m`"),
            (json!({"n": {"$gt": [1]}}), "operand in where must be a number or text: `$gt`"),
            (json!({"n": {"$in": 1}}), "operand in where must be a list: `$in`"),
            (json!({"n": {"$exists": 1}}), "operand in where must be true or false: `$exists`"),
            (json!({"$or": {"n": 1}}), "operand in where must be a list: `$or`"),
            (json!({"$and": []}), "list in where is empty: `$and`"),
            (json!({"$and": [1]}), "operand in where must consist of conditions: `$and`"),
            (json!({"AND": {"n": 1}}), "operand in where must be a list: `AND`"),
            (json!({"OR": []}), "list in where is empty: `OR`"),
            (json!({"n": {"gt": 1, "m": 2}}), "unknown operator in where: `m`"),
            (json!({"n": {"between": [1, 2]}}), "unknown operator in where: `between`"),
            (json!({"n": {">=": 3}}), "unknown operator in where: `>=`"),
            (json!({"o": {"k": 1}}), "unknown operator in where: `k`"),
            (json!({"o": {}}), "object in where is empty"),
            (json!({"n": {"icontains": 3}}), "operand in where must be a text: `icontains`"),
        ] {
            assert_eq!(parse(&conditions).unwrap_err().to_string(), expected);
        }
        let hint = parse(&json!({"$nor": []})).unwrap_err().hint().map(str::to_owned);
        let told = "the operators here are $and, $or, $not; ";
        assert!(hint.is_some_and(|hint| hint.starts_with(told)));
    }
}
