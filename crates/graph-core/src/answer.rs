//! Whether an answer fits what was asked for.

use serde_json::Value;
use superstep_pregel::Question;

/// Checks an answer against the JSON Schema stored with its question; says where it does not fit, without showing it.
pub(crate) fn check_answer(question: &Question, answer: &Value) -> Result<(), String> {
    let Some(schema) = &question.schema else { return Ok(()) };
    let validator = jsonschema::validator_for(schema).map_err(|_| "the question's schema is not valid".to_owned())?;
    let misfits = validator.iter_errors(answer).map(|error| describe(&error));
    let misfits: Vec<String> = misfits.take(3).collect();
    if misfits.is_empty() { Ok(()) } else { Err(misfits.join("; ")) }
}

fn describe(error: &jsonschema::ValidationError<'_>) -> String {
    let at = error.instance_path().to_string();
    let at = if at.is_empty() { "the answer".to_owned() } else { format!("`{at}`") };
    format!("{at}: {}", error.masked())
}
