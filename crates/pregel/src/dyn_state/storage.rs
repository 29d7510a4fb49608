//! How dynamic values are stored and described.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde_json::{Map, Value, json};
use superstep_checkpoint::{Codec, SealError};

use super::fold::Fold;
use super::{DynSchema, DynUpdate};
use crate::channel::{ChannelSpec, How, Kind, Side};
use crate::state::Face;

/// Encodes the whole value, or what was added to it.
pub(super) fn encode(value: Option<&Value>, how: How, codec: Codec) -> Result<Vec<u8>, SealError> {
    match (how, value) {
        (How::Appended { from }, Some(Value::Array(list))) => codec.encode(list.get(from..).unwrap_or_default()),
        (How::Appended { from }, Some(Value::String(text))) => codec.encode(text.get(from..).unwrap_or_default()),
        (_, value) => codec.encode(value.unwrap_or(&Value::Null)),
    }
}

/// Joins stored parts to a value of the type that the reducer takes.
pub(super) fn decode(fold: Fold, parts: &[(Codec, &[u8])]) -> Result<Option<Value>, SealError> {
    match (fold, parts) {
        (_, []) => Ok(None),
        (Fold::List | Fold::Messages, parts) => join::<Vec<Value>>(parts).map(|list| Some(Value::Array(list))),
        (Fold::Text, parts) => join::<String>(parts).map(|text| Some(Value::String(text))),
        (_, [(codec, body)]) => whole(fold, codec.decode(body)?).map(Some),
        (_, _) => Err(SealError::Damaged("it has segments, but its channel is none to which something is added")),
    }
}

trait Join: serde::de::DeserializeOwned {
    fn join(&mut self, more: Self);
}

impl Join for Vec<Value> {
    fn join(&mut self, more: Self) {
        self.extend(more);
    }
}

impl Join for String {
    fn join(&mut self, more: Self) {
        self.push_str(&more);
    }
}

fn join<T: Join + Default>(parts: &[(Codec, &[u8])]) -> Result<T, SealError> {
    let mut joined = T::default();
    for (codec, body) in parts {
        joined.join(codec.decode(body)?);
    }
    Ok(joined)
}

fn whole(fold: Fold, value: Value) -> Result<Value, SealError> {
    if fold.takes(&value) {
        return Ok(value);
    }
    let text = format!("the reducer takes {}", fold.expected());
    Err(SealError::Decode(serde_json::Error::custom(text)))
}

/// Encodes what may be stored of an update.
pub(super) fn encode_update(schema: &DynSchema, update: &DynUpdate, codec: Codec) -> Result<Vec<u8>, SealError> {
    let stored = |name: &str| schema.index(name).is_none_or(|channel| schema.spec(channel).kind != Kind::Untracked);
    codec.encode(&update.iter().filter(|(name, _)| stored(name)).collect::<BTreeMap<_, _>>())
}

/// The JSON Schema of the open channels.
pub(super) fn json_schema(schema: &DynSchema, face: Face) -> schemars::Schema {
    let open = schema.channels().iter().zip(schema.folds()).filter(|(spec, _)| is_open(spec, face));
    let properties: Map<String, Value> = open.map(|(spec, fold)| (spec.name.to_string(), property(*fold))).collect();
    let mut object = Map::new();
    object.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    object.insert("type".into(), json!("object"));
    object.insert("properties".into(), Value::Object(properties));
    object.insert("additionalProperties".into(), json!(false));
    object.into()
}

pub(crate) fn is_open(spec: &ChannelSpec, face: Face) -> bool {
    match face {
        Face::Whole => true,
        Face::Input => spec.input == Side::Open,
        Face::Output => spec.output == Side::Open,
    }
}

fn property(fold: Fold) -> Value {
    match fold {
        Fold::Last | Fold::With(..) => json!(true),
        Fold::List => json!({ "type": "array" }),
        Fold::Union => json!({ "type": "array", "uniqueItems": true }),
        Fold::Messages => json!({ "type": "array", "items": { "type": "object" } }),
        Fold::Text => json!({ "type": "string" }),
        Fold::Add | Fold::Max | Fold::Min => json!({ "type": "number" }),
        Fold::Merge => json!({ "type": "object" }),
    }
}
