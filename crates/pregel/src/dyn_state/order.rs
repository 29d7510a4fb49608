//! One order of all JSON values, exact for numbers.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Orders by kind (null, booleans, numbers, texts, lists, objects), then by value.
pub(super) fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => compare_lists(a.iter(), b.iter()),
        (Value::Object(a), Value::Object(b)) => compare_objects(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

fn compare_lists<'a>(a: impl Iterator<Item = &'a Value>, b: impl Iterator<Item = &'a Value>) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        match (a.next(), b.next()) {
            (Some(a), Some(b)) => match compare(a, b) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
            (a, b) => return a.is_some().cmp(&b.is_some()),
        }
    }
}

/// By keys, then by values, whatever the order in which the objects keep their entries.
fn compare_objects(a: &serde_json::Map<String, Value>, b: &serde_json::Map<String, Value>) -> Ordering {
    let (mut a_keys, mut b_keys): (Vec<_>, Vec<_>) = (a.keys().collect(), b.keys().collect());
    a_keys.sort_unstable();
    b_keys.sort_unstable();
    let by_key = a_keys.cmp(&b_keys);
    by_key.then_with(|| compare_lists(a_keys.iter().map(|key| &a[*key]), b_keys.iter().map(|key| &b[*key])))
}

/// The number as an integer, if it is written as one.
pub(super) fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    let float = |number: &Number| number.as_f64().unwrap_or_default();
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(a), None) => compare_mixed(a, float(b)),
        (None, Some(b)) => compare_mixed(b, float(a)).reverse(),
        (None, None) => float(a).partial_cmp(&float(b)).unwrap_or(Ordering::Equal),
    }
}

/// Compares the whole parts, then what the float has behind the point: no rounding.
fn compare_mixed(integer: i128, float: f64) -> Ordering {
    #[expect(clippy::cast_possible_truncation, reason = "it saturates far beyond every integer of JSON")]
    let whole = float.trunc() as i128;
    integer.cmp(&whole).then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_have_one_order() {
        let sorted = [
            json!(null),
            json!(false),
            json!(true),
            json!(-1e300),
            json!(i64::MIN),
            json!(-0.5),
            json!(0),
            json!(0.5),
            json!(9_007_199_254_740_992_u64),
            json!(9_007_199_254_740_993_u64),
            json!(u64::MAX),
            json!(1.9e19),
            json!(""),
            json!("B"),
            json!("a"),
            json!("é"),
            json!([]),
            json!([1]),
            json!([1, 0]),
            json!([2]),
            json!({}),
            json!({ "a": 2 }),
            json!({ "a": 2, "b": 1 }),
            json!({ "b": 1 }),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} and {b}");
            }
        }
        assert_eq!(compare(&json!(1), &json!(1.0)), Ordering::Equal);
    }
}
