//! How derived states and updates are stored: what comes back is what went in, or the save fails.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![allow(clippy::option_option, clippy::type_complexity, reason = "such types are what is tested")]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::error::Error;
use std::time::{Duration, SystemTime};

use common::{body, new, reload, reload_update, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{State, Write};
use superstep_checkpoint::{Codec, SealError};
use superstep_pregel::{ChannelIndex, How};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Lists {
    #[reducer(append)]
    list: Vec<Option<u8>>,
    #[reducer(append)]
    deque: VecDeque<String>,
    #[reducer(append)]
    text: String,
    last: Vec<u8>,
}

#[test]
fn only_what_was_appended_is_encoded() {
    let mut state = new::<Lists>();
    let mut parts: [Vec<Vec<u8>>; 3] = Default::default();
    for word in ["a", "", "é\"", "🦀"] {
        let update = ListsUpdate::new().list([Some(1), None]).deque([word, word]).text(word).last([1]);
        let applied = step(&mut state, &[update]);
        for (channel, parts) in (0..).zip(&mut parts) {
            parts.push(body(&state, channel, applied.changes[usize::from(channel)].how));
        }
    }
    assert_eq!(parts[0][3], b"[1,null]");
    assert_eq!(parts[1][3], "[\"🦀\",\"🦀\"]".as_bytes());
    assert_eq!(parts[2][2], "\"é\\\"\"".as_bytes());
    assert_eq!(body(&state, 3, How::Set), b"[1]");
    let mut loaded = new::<Lists>();
    for (channel, parts) in (0..).zip(&parts) {
        let parts: Vec<_> = parts.iter().map(|part| (Codec::Json, part.as_slice())).collect();
        loaded.decode(&(), ChannelIndex(channel), &parts).unwrap();
    }
    loaded.last.push(1);
    assert_eq!(loaded, state);
    assert_eq!(reload(&state), state);
}

#[test]
fn segments_of_other_channels_and_other_types_are_errors() {
    let mut state = new::<Lists>();
    let mut decode = |channel: u16, parts: &[&[u8]]| {
        let parts: Vec<_> = parts.iter().map(|part| (Codec::Json, *part)).collect();
        state.decode(&(), ChannelIndex(channel), &parts)
    };
    assert!(matches!(decode(3, &[b"[1]", b"[2]"]), Err(SealError::Damaged(_))));
    assert!(matches!(decode(0, &[b"[1]", b"\"x\""]), Err(SealError::Decode(_))));
    assert!(matches!(decode(2, &[b"1"]), Err(SealError::Decode(_))));
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Updates {
    number: u64,
    maybe: Option<u8>,
    #[reducer(append)]
    list: Vec<u8>,
    json: serde_json::Value,
    #[state(untracked)]
    hidden: u8,
}

#[test]
fn updates_survive_storage_and_tell_null_from_absent() {
    let json = serde_json::json!({"put": 1, "overwrite": null, "$overwrite": []});
    let update = UpdatesUpdate::new().number(u64::MAX).maybe(None).overwrite_list([1]).json(json.clone()).hidden(9);
    let bytes = Updates::encode_update(&(), &update, Codec::Json).unwrap();
    let text = r#"{"number":{"put":18446744073709551615},"maybe":{"put":null},"list":{"overwrite":[1]},"json":{"put":"#;
    assert!(std::str::from_utf8(&bytes[3..]).unwrap().starts_with(text), "the stored form is fixed");
    let back = reload_update::<Updates>(&update);
    assert_eq!((back.number, back.maybe), (Some(Write::Put(u64::MAX)), Some(Write::Put(None))));
    assert_eq!((back.list, back.json, back.hidden), (Some(Write::Overwrite(vec![1])), Some(Write::Put(json)), None));
    assert_eq!(reload_update::<Updates>(&UpdatesUpdate::new()).maybe, None);
}

#[test]
fn stored_updates_of_another_shape_are_errors() {
    let decode = |text: &str| Updates::decode_update(&(), Codec::Json, text.as_bytes());
    for text in ["[]", "null", r#"{"number":1}"#, r#"{"number":{"put":"x"}}"#, r#"{"gone":{"put":1}}"#] {
        assert!(matches!(decode(text), Err(SealError::Decode(_))), "{text}");
    }
    assert!(decode(r#"{"hidden":{"put":1}}"#).is_err(), "an untracked field is never stored");
}

#[test]
fn shown_updates_mark_overwrites() {
    let update = UpdatesUpdate::new().maybe(None).overwrite_list([1]).hidden(1);
    let shown = Updates::update_json(&(), &update).unwrap();
    assert_eq!(shown, serde_json::json!({"maybe": null, "list": {"$overwrite": [1]}}));
    let mut state = new::<Updates>();
    step(&mut state, &[UpdatesUpdate::new().number(3).hidden(1)]);
    assert_eq!(state.value_json(&(), ChannelIndex(0)).unwrap(), Some(serde_json::json!(3)));
    assert_eq!(state.value_json(&(), ChannelIndex(4)).unwrap(), None);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
enum Key {
    One,
    Two,
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Maps {
    numbers: BTreeMap<u64, String>,
    signed: HashMap<i8, u8>,
    keys: BTreeMap<Key, u8>,
    nested: Vec<BTreeMap<u64, BTreeMap<Key, u8>>>,
    flags: BTreeMap<bool, u8>,
    letters: BTreeMap<char, u8>,
}

#[test]
fn b81_maps_with_keys_that_are_no_texts_come_back() {
    let mut state = new::<Maps>();
    let nested = vec![BTreeMap::from([(u64::MAX, BTreeMap::from([(Key::Two, 1)]))]), BTreeMap::new()];
    let update = MapsUpdate::new().numbers(BTreeMap::from([(0, "a".to_owned()), (u64::MAX, "b".to_owned())]));
    let update = update.signed(HashMap::from([(-128, 1)])).keys(BTreeMap::from([(Key::One, 1), (Key::Two, 2)]));
    let update = update.nested(nested).flags(BTreeMap::from([(true, 1)])).letters(BTreeMap::from([('é', 1)]));
    let back = reload_update::<Maps>(&update);
    step(&mut state, &[update]);
    assert_eq!(reload(&state), state);
    let mut again = new::<Maps>();
    step(&mut again, &[back]);
    assert_eq!(again, state);
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct PairKeys {
    #[reducer(append)]
    list: Vec<BTreeMap<u8, BTreeMap<(u8, u8), u8>>>,
}

#[test]
fn b81_a_key_that_cannot_be_written_is_an_error_that_names_the_place() {
    let mut state = new::<PairKeys>();
    let bad = BTreeMap::from([(1, BTreeMap::new()), (2, BTreeMap::from([((1, 2), 3)]))]);
    let update = PairKeysUpdate::new().list([BTreeMap::new(), bad]);
    let error = PairKeys::encode_update(&(), &update, Codec::Json).unwrap_err();
    assert_eq!(reason(&error), "list.put[1][1][0].key: key must be a string");
    step(&mut state, &[update]);
    let change = superstep_pregel::ChannelChange { channel: ChannelIndex(0), how: How::Set };
    let error = state.encode(&(), change, Codec::Json).unwrap_err();
    assert_eq!(reason(&error), "[1][1][0].key: key must be a string");
}

fn reason(error: &SealError) -> String {
    assert!(matches!(error, SealError::Encode(_)));
    error.source().unwrap().to_string()
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Every {
    Unit,
    Newtype(Option<u8>),
    Tuple(u8, String),
    Struct { a: Option<u8>, b: Box<Every> },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    Unit,
    Struct { a: Option<i64> },
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Unit;

#[derive(State, Clone, Debug, PartialEq)]
struct Types {
    every: Vec<Every>,
    tagged: Vec<Tagged>,
    options: Vec<Option<Option<u8>>>,
    whole: (u64, i64, u128, i128, u8),
    floats: Vec<f64>,
    small_floats: Vec<f32>,
    bytes: Vec<u8>,
    missing: Option<Vec<u8>>,
    time: SystemTime,
    lasting: Duration,
    set: BTreeSet<String>,
    unit: (),
    unit_struct: Unit,
    text: String,
    json: serde_json::Value,
}

impl Default for Types {
    fn default() -> Self {
        let json = serde_json::json!({"a": [1, -1, 0.1, u64::MAX, i64::MIN, null, true, {"b": {}}]});
        Self {
            every: vec![],
            tagged: vec![Tagged::Unit, Tagged::Struct { a: Some(i64::MIN) }, Tagged::Struct { a: None }],
            options: vec![None, Some(Some(1))],
            whole: (u64::MAX, i64::MIN, u128::MAX, i128::MIN, 0),
            floats: vec![f64::MIN, f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 0.1, 1.0 / 3.0, f64::EPSILON, 1e23],
            small_floats: vec![f32::MIN, f32::MAX, f32::MIN_POSITIVE, 1e-45, 0.1, 16_777_217.0],
            bytes: (0..=255).collect(),
            missing: None,
            time: SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789),
            lasting: Duration::new(u64::MAX, 999_999_999),
            set: BTreeSet::new(),
            unit: (),
            unit_struct: Unit,
            text: "\0\u{1f}\"\\/\u{2028}é🦀\u{10ffff}".to_owned(),
            json,
        }
    }
}

fn every() -> Vec<Every> {
    let inner = Every::Struct { a: None, b: Box::new(Every::Newtype(Some(1))) };
    vec![
        Every::Unit,
        Every::Newtype(None),
        Every::Tuple(1, "x".into()),
        Every::Struct { a: Some(1), b: Box::new(inner) },
    ]
}

#[test]
fn b82_no_value_changes_by_being_stored() {
    let mut state = Types { every: every(), ..Types::default() };
    assert_eq!(reload(&state), state);
    state.missing = Some(vec![]);
    let back = reload(&state);
    assert_eq!(back.missing, Some(vec![]), "an empty list is no missing list");
    let bits = |floats: &[f64]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&back.floats), bits(&state.floats));
    let update = TypesUpdate::new().every(every()).missing(None).floats(state.floats.clone()).unit(()).json(state.json);
    let back = reload_update::<Types>(&update);
    assert_eq!((back.every, back.floats, back.json), (update.every, update.floats, update.json));
    assert_eq!((back.missing, back.unit), (Some(Write::Put(None)), Some(Write::Put(()))));
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Ambiguous {
    nested: Option<Option<u8>>,
    items: Vec<BTreeMap<String, Option<Option<u8>>>>,
    json: Option<serde_json::Value>,
    unit: Option<()>,
    unit_struct: Option<Unit>,
    float: f64,
    #[reducer(append)]
    floats: Vec<f32>,
}

#[test]
fn b82_what_would_read_as_another_value_is_an_error_that_names_the_place() {
    let null = ": a null in a `Some` reads as `None`; use an enum of your own";
    let float = ": it is no finite number, which JSON cannot hold; use an `Option`";
    let entry = |value| BTreeMap::from([("secret".to_owned(), value)]);
    let new = AmbiguousUpdate::new;
    for (update, field, place, why) in [
        (new().nested(Some(None)), "nested", "", null),
        (new().items([entry(Some(Some(1))), entry(Some(None))]), "items", "[1][0]", null),
        (new().json(serde_json::Value::Null), "json", "", null),
        (new().unit(()), "unit", "", null),
        (new().unit_struct(Unit), "unit_struct", "", null),
        (new().float(f64::NAN), "float", "", float),
        (new().floats([1.0, f32::INFINITY]), "floats", "[1]", float),
    ] {
        let error = Ambiguous::encode_update(&(), &update, Codec::Json).unwrap_err();
        assert_eq!(reason(&error), format!("{field}.put{place}{why}"));
        let mut state = common::new::<Ambiguous>();
        let change = step(&mut state, &[update]).changes[0];
        assert_eq!(reason(&state.encode(&(), change, Codec::Json).unwrap_err()), format!("{place}{why}"));
    }
    let fine =
        new().nested(None::<Option<u8>>).items([entry(None)]).json(serde_json::json!(0)).unit(None).float(f64::MAX);
    assert!(Ambiguous::encode_update(&(), &fine, Codec::Json).is_ok());
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Inner {
    #[serde(rename = "other")]
    field: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    skipped: Vec<u8>,
    #[serde(flatten)]
    rest: BTreeMap<String, serde_json::Value>,
}

/// Serde attributes of the state itself do not count: a channel is called as its field.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
struct Attributes {
    #[serde(rename = "renamed")]
    inner: Inner,
    #[serde(skip)]
    r#type: u8,
}

#[test]
fn channels_are_called_as_fields_whatever_serde_says() {
    let inner = Inner { field: Some(1), skipped: vec![], rest: BTreeMap::from([("x".into(), serde_json::json!(1.5))]) };
    let update = AttributesUpdate::new().inner(inner.clone()).r#type(1);
    let bytes = Attributes::encode_update(&(), &update, Codec::Json).unwrap();
    assert_eq!(&bytes[3..], br#"{"inner":{"put":{"other":1,"x":1.5}},"type":{"put":1}}"#);
    let mut state = new::<Attributes>();
    step(&mut state, &[reload_update::<Attributes>(&update)]);
    assert_eq!(reload(&state), Attributes { inner, r#type: 1 });
}
