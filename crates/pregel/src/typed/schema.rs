//! The JSON Schema of a derived state.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::row::Row;
use super::{Owner, Typed};
use crate::channel::Side;
use crate::state::Face;

/// The JSON Schema of the open fields. Callers may leave out what they do not give; what they see is all there, but for
/// untracked fields, whose types need have no JSON form.
pub fn json_schema<S: Typed>(face: Face) -> Schema {
    let mut generator = generator(face);
    let mut properties = Map::new();
    for row in S::ROWS.iter().filter(|row| is_shown(row, face)) {
        properties.insert(row.info.name.to_owned(), property(row, &mut generator));
    }
    let mut object = Map::new();
    object.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    object.insert("title".into(), json!(S::NAME));
    object.insert("type".into(), json!("object"));
    if face != Face::Input {
        object.insert("required".into(), properties.keys().map(String::as_str).collect());
    }
    object.insert("properties".into(), Value::Object(properties));
    object.insert("additionalProperties".into(), json!(false));
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        object.insert("$defs".into(), Value::Object(definitions));
    }
    object.into()
}

fn generator(face: Face) -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12();
    match face {
        Face::Input => settings.for_deserialize().into_generator(),
        _ => settings.for_serialize().into_generator(),
    }
}

fn is_shown<S: Owner>(row: &Row<S>, face: Face) -> bool {
    match face {
        Face::Whole => row.stored.is_some(),
        Face::Input => row.info.input == Side::Open,
        Face::Output => row.info.output == Side::Open && row.stored.is_some(),
    }
}

fn property<S: Owner>(row: &Row<S>, generator: &mut SchemaGenerator) -> Value {
    row.stored.as_ref().map_or(json!(true), |stored| (stored.schema)(generator).to_value())
}
