//! Metadata in a form that SQL compares as a whole.

use serde_json::Value;
use superstep_checkpoint::Metadata;

/// The entries as texts that are equal where the entries are: `["key",value]`, objects in the order of their keys. What
/// is stored and what is asked for pass through here, so SQL compares whole texts and knows no key.
pub(crate) fn entries(metadata: &Metadata) -> Vec<String> {
    metadata.iter().map(|(key, value)| format!("[{},{}]", Value::from(key.as_str()), canonical(value))).collect()
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut entries: Vec<(&String, &Value)> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entry = |(key, value): (&String, &Value)| format!("{}:{}", Value::from(key.as_str()), canonical(value));
            format!("{{{}}}", entries.into_iter().map(entry).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        // -0.0 equals 0.0, and is written otherwise.
        Value::Number(number) if number.as_f64() == Some(0.0) && number.is_f64() => "0.0".to_owned(),
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_have_equal_texts() {
        let text = |value: Value| canonical(&value);
        assert_eq!(
            text(json!({"b": [1, {"d": null, "c": "x"}], "a": true})),
            r#"{"a":true,"b":[1,{"c":"x","d":null}]}"#
        );
        assert_eq!(text(json!(-0.0)), text(json!(0.0)));
        assert_ne!(text(json!(0)), text(json!(0.0)));
        assert_ne!(text(json!("1")), text(json!(1)));
        assert_eq!(text(json!(u64::MAX)), "18446744073709551615");
    }

    #[test]
    fn keys_are_data() {
        let metadata = Metadata::from([("a'\"],[\0".to_owned(), json!(1))]);
        assert_eq!(entries(&metadata), [r#"["a'\"],[\u0000",1]"#]);
    }
}
