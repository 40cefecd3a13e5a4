//! Metadata conditions in the syntax of MongoDB queries: `{"n": {"$gt": 3}}`.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Operators on the value of one key.
const OPERATORS: [&str; 11] =
    ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$contains", "$exists", "$not"];
/// Operators that combine conditions.
const CONNECTIVES: [&str; 3] = ["$and", "$or", "$not"];

/// Conditions on metadata; all of them must hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Where(Vec<Condition>);

#[derive(Debug, Clone, PartialEq)]
enum Condition {
    Key(String, Vec<Test>),
    All(Vec<Where>),
    Any(Vec<Where>),
    Not(Where),
}

/// A test of one key's value.
#[derive(Debug, Clone, PartialEq)]
enum Test {
    Equal(Value),
    Unequal(Value),
    /// Greater or less than the value, as the `Ordering` says; equal also passes if the flag is
    /// set.
    Ordered(Ordering, bool, Value),
    In(Vec<Value>),
    NotIn(Vec<Value>),
    Contains(Value),
    Exists(bool),
    Not(Vec<Test>),
}

impl Where {
    /// Parses conditions: metadata keys, each with the required value or with operators; `$and`,
    /// `$or` and `$not` combine conditions.
    ///
    /// # Errors
    /// `InvalidInput` for an unknown operator or an operand of the wrong type.
    pub fn parse(conditions: &Map<String, Value>) -> Result<Self> {
        let parse = |(key, operand): (&String, &Value)| match key.as_str() {
            "$and" => Ok(Condition::All(listed(key, operand)?)),
            "$or" => Ok(Condition::Any(listed(key, operand)?)),
            "$not" => Ok(Condition::Not(Self::parse(object(key, operand)?)?)),
            _ if key.starts_with('$') => Err(unknown(key, &CONNECTIVES)),
            _ => Ok(Condition::Key(key.clone(), tests(operand)?)),
        };
        conditions.iter().map(parse).collect::<Result<_>>().map(Self)
    }

    /// True if there are no conditions: every record passes, even one without metadata.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if the metadata meets every condition.
    pub fn admits(&self, metadata: &Map<String, Value>) -> bool {
        self.0.iter().all(|condition| match condition {
            Condition::Key(key, tests) => passes(tests, metadata.get(key)),
            Condition::All(all) => all.iter().all(|one| one.admits(metadata)),
            Condition::Any(any) => any.iter().any(|one| one.admits(metadata)),
            Condition::Not(not) => !not.admits(metadata),
        })
    }
}

fn passes(tests: &[Test], value: Option<&Value>) -> bool {
    tests.iter().all(|test| test.passes(value))
}

impl Test {
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

/// The tests of one key, from a plain value or from operators with operands.
fn tests(operand: &Value) -> Result<Vec<Test>> {
    let operators = match operand {
        Value::Object(map) if map.keys().any(|key| key.starts_with('$')) => map,
        value => return Ok(vec![Test::Equal(value.clone())]),
    };
    operators.iter().map(|(name, operand)| test(name, operand)).collect()
}

fn test(name: &str, operand: &Value) -> Result<Test> {
    let value = || operand.clone();
    let list = || match operand {
        Value::Array(list) => Ok(list.clone()),
        _ => Err(Error::invalid(format!("operand in where must be a list: `{name}`"))),
    };
    let ordered = |order: Ordering, or_equal: bool| match operand {
        Value::Number(_) | Value::String(_) => Ok(Test::Ordered(order, or_equal, value())),
        _ => Err(Error::invalid(format!("operand in where must be a number or text: `{name}`"))),
    };
    match name {
        "$eq" => Ok(Test::Equal(value())),
        "$ne" => Ok(Test::Unequal(value())),
        "$gt" => ordered(Ordering::Greater, false),
        "$gte" => ordered(Ordering::Greater, true),
        "$lt" => ordered(Ordering::Less, false),
        "$lte" => ordered(Ordering::Less, true),
        "$in" => list().map(Test::In),
        "$nin" => list().map(Test::NotIn),
        "$contains" => Ok(Test::Contains(value())),
        "$exists" => operand.as_bool().map(Test::Exists).ok_or_else(|| {
            Error::invalid(format!("operand in where must be true or false: `{name}`"))
        }),
        "$not" => Ok(Test::Not(tests(operand)?)),
        _ => Err(unknown(name, &OPERATORS)),
    }
}

fn listed(name: &str, operand: &Value) -> Result<Vec<Where>> {
    let Value::Array(list) = operand else {
        return Err(Error::invalid(format!("operand in where must be a list: `{name}`")));
    };
    if list.is_empty() {
        return Err(Error::invalid(format!("list in where is empty: `{name}`")));
    }
    list.iter().map(|one| Where::parse(object(name, one)?)).collect()
}

fn object<'a>(name: &str, operand: &'a Value) -> Result<&'a Map<String, Value>> {
    let wrong = || Error::invalid(format!("operand in where must be of conditions: `{name}`"));
    operand.as_object().ok_or_else(wrong)
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let name: String = name.chars().take(40).collect();
    Error::invalid(format!("unknown operator in where: `{name}`"))
        .with_hint(format!("the operators here are {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(conditions: &Value) -> Result<Where> {
        Where::parse(conditions.as_object().unwrap())
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
            (json!({"n": 3.0, "o": {"k": 1.0}}), true),
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
            (json!({"$and": [1]}), "operand in where must be of conditions: `$and`"),
        ] {
            assert_eq!(parse(&conditions).unwrap_err().to_string(), expected);
        }
        let hint = parse(&json!({"$nor": []})).unwrap_err().hint().map(str::to_owned);
        assert_eq!(hint.as_deref(), Some("the operators here are $and, $or, $not"));
    }
}
