//! Tests of the dynamic state.

use serde_json::json;
use smallvec::{SmallVec, smallvec};
use superstep_checkpoint::Codec;

use super::*;
use crate::channel::{ChannelChange, ChannelIndex, ChannelSet, How, Kind};
use crate::state::{Applied, Author, Face, Moment, Rejection, State, WantUndo, Why};
use crate::update::Write;

fn schema() -> DynSchema {
    let builder = DynSchema::new().last("x").append("items").add("n").concat("text").max("top").min("low");
    let builder = builder.merge("map").union("set").messages("chat").any("any").ephemeral("once").untracked("mine");
    builder.with("all", "keep", |old, new| *old = json!([old, new])).build().unwrap()
}

fn update(value: serde_json::Value) -> DynUpdate {
    DynUpdate::try_from(value).unwrap()
}

fn check(state: &DynState, updates: &[DynUpdate]) -> Result<(), Rejection> {
    let batch: Vec<_> = (0..).map(Author).zip(updates).collect();
    state.check(state.schema(), &batch)
}

fn step(state: &mut DynState, updates: &[DynUpdate]) -> Applied<DynUndo> {
    check(state, updates).unwrap();
    let schema = state.schema().clone();
    state.apply(&schema, SmallVec::from_vec(updates.to_vec()), Moment::Step, WantUndo::Yes)
}

fn refused(state: &DynState, updates: &[DynUpdate]) -> (String, Why, Vec<u32>) {
    let rejection = check(state, updates).unwrap_err();
    let authors = rejection.authors.iter().map(|author| author.0).collect();
    (rejection.channel.to_string(), rejection.why, authors)
}

#[test]
fn channels_with_a_reducer_begin_empty_and_others_absent() {
    let state = DynState::initial(&schema());
    let empty = json!({"items": [], "n": 0, "text": "", "top": 0, "map": {}, "set": [], "chat": []});
    assert_eq!(json!(state.to_object()), empty);
    assert_eq!(state.get("x"), None);
    assert_eq!(json!(state), empty);
}

#[test]
fn a_batch_folds_in_task_order() {
    let mut state = DynState::initial(&schema());
    let applied = step(
        &mut state,
        &[
            update(
                json!({"items": ["a"], "n": 2, "text": "a", "top": 3, "low": 3, "map": {"k": 1, "l": 1}, "set": [3, 1]}),
            ),
            update(json!({"items": ["b"], "n": 3, "text": "b", "top": -1, "low": -1, "map": {"k": 2}, "set": [1, 2]})),
        ],
    );
    let want = json!({"items": ["a", "b"], "n": 5, "text": "ab", "top": 3, "low": -1, "map": {"k": 2, "l": 1},
        "set": [1, 2, 3], "chat": []});
    assert_eq!(json!(state.to_object()), want);
    let how: Vec<_> = applied.changes.iter().map(|change| (change.channel.0, change.how)).collect();
    let (set, added) = (How::Set, How::Appended { from: 0 });
    assert_eq!(how, [(1, added), (2, set), (3, added), (4, set), (5, set), (6, set), (7, set)]);
}

#[test]
fn integers_stay_integers() {
    let mut state = DynState::initial(&schema());
    step(&mut state, &[update(json!({"n": u64::MAX - 1}))]);
    step(&mut state, &[update(json!({"n": 1}))]);
    assert_eq!(state["n"], json!(u64::MAX));
    assert_eq!(refused(&state, &[update(json!({"n": 1}))]), ("n".into(), Why::Overflow, vec![0]));
    step(&mut state, &[update(json!({"n": i64::MIN}))]);
    assert_eq!(state["n"], json!(i64::MAX));
    step(&mut state, &[update(json!({"n": 0.5}))]);
    assert!(state["n"].is_f64());
}

#[test]
fn an_overflow_blames_all_who_added() {
    let state = DynState::initial(&schema());
    let half = || update(json!({"n": u64::MAX / 2 + 1}));
    let batch = [half(), update(json!({"x": 1})), half(), half()];
    assert_eq!(refused(&state, &batch), ("n".into(), Why::Overflow, vec![0, 2]));
    let float = |value: f64| update(json!({ "n": value }));
    assert_eq!(refused(&state, &[float(1.7e308), float(1.7e308)]), ("n".into(), Why::Overflow, vec![0, 1]));
}

#[test]
fn two_writers_of_a_plain_channel_clash_even_when_they_agree() {
    let state = DynState::initial(&schema());
    for channel in ["x", "once", "mine"] {
        let write = DynUpdate::new().set(channel, 1);
        assert_eq!(refused(&state, &[write.clone(), write]), (channel.into(), Why::Clash, vec![0, 1]));
    }
}

#[test]
fn what_is_wrong_is_found_before_anything_is_applied() {
    let state = DynState::initial(&schema());
    let refused = |value| refused(&state, &[update(json!({"x": 1})), update(value)]);
    assert_eq!(refused(json!({"nope": 1})), ("nope".into(), Why::UnknownChannel, vec![1]));
    assert_eq!(refused(json!({"": 1})), ("(empty)".into(), Why::UnknownChannel, vec![1]));
    for (value, expected, found) in [
        (json!({"items": "a"}), "a list", "a text"),
        (json!({"items": null}), "a list", "null"),
        (json!({"n": "1"}), "a number", "a text"),
        (json!({"text": 1}), "a text", "a number"),
        (json!({"map": []}), "an object", "a list"),
        (json!({"set": {}}), "a list", "an object"),
        (json!({"top": true}), "a number", "a boolean"),
        (json!({"chat": ["hi"]}), "a list of objects", "a list"),
    ] {
        assert_eq!(refused(value).1, Why::WrongType { expected, found });
    }
    let wrong = DynUpdate::new().overwrite("items", 1);
    assert!(matches!(check(&state, &[wrong]).unwrap_err().why, Why::WrongType { .. }));
}

#[test]
fn an_overwrite_replaces_and_two_are_refused() {
    let mut state = DynState::initial(&schema());
    step(&mut state, &[update(json!({"items": ["old"]}))]);
    let over = |items: serde_json::Value| DynUpdate::new().overwrite("items", items);
    step(
        &mut state,
        &[update(json!({"items": ["lost"]})), over(json!(["new"])), update(json!({"items": ["ignored"]}))],
    );
    assert_eq!(state["items"], json!(["new"]));
    let two = [over(json!([])), update(json!({})), over(json!([]))];
    assert_eq!(refused(&state, &two), ("items".into(), Why::TwoOverwrites, vec![0, 2]));
    // As the first write of channels that begin absent, it leaves the value and no wrapper.
    step(&mut state, &[DynUpdate::new().overwrite("low", 4).overwrite("all", 5).overwrite("x", 6)]);
    assert_eq!((&state["low"], &state["all"], &state["x"]), (&json!(4), &json!(5), &json!(6)));
    step(&mut state, &[DynUpdate::new().overwrite("set", json!([2, 1, 2]))]);
    assert_eq!(state["set"], json!([1, 2]));
}

#[test]
fn the_first_value_of_an_absent_channel_is_taken_as_it_is() {
    let mut state = DynState::initial(&schema());
    step(&mut state, &[update(json!({"all": 1, "low": 9})), update(json!({"all": 2})), update(json!({"all": 3}))]);
    assert_eq!(state["all"], json!([[1, 2], 3]));
    assert_eq!(state["low"], json!(9));
}

#[test]
fn any_keeps_the_last_and_goes_when_nobody_writes() {
    let mut state = DynState::initial(&schema());
    step(&mut state, &[update(json!({"any": 1})), update(json!({"any": 2}))]);
    assert_eq!(state["any"], json!(2));
    let applied = step(&mut state, &[update(json!({"x": 1}))]);
    assert_eq!(state.get("any"), None);
    let cleared = ChannelChange { channel: ChannelIndex(9), how: How::Cleared };
    assert_eq!(applied.changes[1], cleared);
    assert_eq!(step(&mut state, &[]).changes.len(), 0);
}

#[test]
fn ephemeral_values_live_one_step_and_null_is_a_value() {
    let mut state = DynState::initial(&schema());
    step(&mut state, &[update(json!({"once": null}))]);
    assert_eq!(state.get("once"), Some(&json!(null)));
    let schema = schema();
    let patched = state.apply(&schema, smallvec![update(json!({"x": 1}))], Moment::Patch, WantUndo::No);
    assert!(patched.undo.is_none());
    assert_eq!(state.get("once"), Some(&json!(null)));
    step(&mut state, &[]);
    assert_eq!(state.get("once"), None);
}

#[test]
fn an_ephemeral_reducer_begins_anew_each_step() {
    let schema = DynSchema::new().append("box").kind(Kind::Ephemeral).build().unwrap();
    let mut state = DynState::initial(&schema);
    step(&mut state, &[update(json!({"box": [1]})), update(json!({"box": [2]}))]);
    let applied = step(&mut state, &[update(json!({"box": [3]}))]);
    assert_eq!(state["box"], json!([3]));
    assert_eq!(applied.changes[0].how, How::Set);
    state.undo(&schema, applied.undo.unwrap());
    assert_eq!(state["box"], json!([1, 2]));
}

#[test]
fn messages_replace_by_id_and_go_by_id() {
    let mut state = DynState::initial(&schema());
    let chat = |items: serde_json::Value| update(json!({ "chat": items }));
    step(&mut state, &[chat(json!([{"id": "a", "t": 1}, {"t": "no id"}, {"id": "b"}]))]);
    let applied = step(&mut state, &[chat(json!([{"id": "a", "t": 2}, {"type": "remove", "id": "b"}]))]);
    assert_eq!(state["chat"], json!([{"id": "a", "t": 2}, {"t": "no id"}]));
    assert_eq!(applied.changes[0].how, How::Set);
    let gone = [chat(json!([{"type": "remove", "id": "b"}]))];
    assert_eq!(refused(&state, &gone), ("chat".into(), Why::UnknownMessage("b".into()), vec![0]));
    step(&mut state, &[chat(json!([{"type": "remove", "id": "__remove_all__"}, {"id": "z"}]))]);
    assert_eq!(state["chat"], json!([{"id": "z"}]));
    assert_eq!(step(&mut state, &[chat(json!([{"id": "y"}]))]).changes[0].how, How::Appended { from: 1 });
}

#[test]
fn of_two_messages_with_one_id_the_later_is_edited() {
    // They cannot come through the reducer, but be stored from before the channel had it.
    let stored = br#"[{"id":"a","t":1},{"id":"a","t":2}]"#;
    for others in [0, 40] {
        let mut state = DynState::initial(&schema());
        state.decode(&schema(), ChannelIndex(8), &[(Codec::Json, stored)]).unwrap();
        let mut items: Vec<_> = (0..others).map(|i| json!({ "id": i.to_string() })).collect();
        items.push(json!({"id": "a", "t": 3}));
        step(&mut state, &[update(json!({ "chat": items }))]);
        assert_eq!((&state["chat"][0]["t"], &state["chat"][1]["t"]), (&json!(1), &json!(3)));
    }
}

#[test]
fn stored_parts_join_to_the_live_value() {
    let (schema, codec) = (schema(), Codec::Json);
    let mut state = DynState::initial(&schema);
    let (mut list, mut text) = (Vec::new(), Vec::new());
    for word in ["é", "", "b"] {
        let applied = step(&mut state, &[update(json!({"items": [word, 1], "text": word}))]);
        list.push(state.encode(&schema, applied.changes[0], codec).unwrap());
        text.push(state.encode(&schema, applied.changes[1], codec).unwrap());
    }
    assert_eq!(&list[1][3..], b"[\"\",1]");
    let mut loaded = DynState::initial(&schema);
    for (channel, parts) in [(1, &list), (3, &text)] {
        let parts: Vec<_> = parts.iter().map(|part| (codec, &part[3..])).collect();
        loaded.decode(&schema, ChannelIndex(channel), &parts).unwrap();
    }
    assert_eq!(loaded, state);
}

#[test]
fn stored_values_of_another_type_are_errors() {
    let schema = schema();
    let mut state = DynState::initial(&schema);
    let mut decode = |channel: u16, bytes: &[u8]| state.decode(&schema, ChannelIndex(channel), &[(Codec::Json, bytes)]);
    assert!(decode(1, b"3").is_err());
    assert!(decode(2, b"\"3\"").is_err());
    assert!(decode(3, b"[]").is_err());
    assert!(decode(6, b"[]").is_err());
    assert!(decode(2, b"3").is_ok());
    let two = [(Codec::Json, &b"1"[..]), (Codec::Json, &b"2"[..])];
    assert!(state.decode(&schema, ChannelIndex(0), &two).is_err());
    state.decode(&schema, ChannelIndex(2), &[]).unwrap();
    assert_eq!(state["n"], json!(0));
}

#[test]
fn updates_survive_storage_without_the_untracked() {
    let schema = schema();
    let marker = json!({"$overwrite": 1, "put": 2});
    let update = DynUpdate::new().set("x", json!(null)).overwrite("items", json!([])).set("map", marker).set("gone", 1);
    let bytes = DynState::encode_update(&schema, &update.clone().set("mine", "secret"), Codec::Json).unwrap();
    assert_eq!(DynState::decode_update(&schema, Codec::Json, &bytes[3..]).unwrap(), update);
    let shown = DynState::update_json(&schema, &update.set("mine", 1)).unwrap();
    assert_eq!(shown["items"], json!({"$overwrite": []}));
    assert_eq!(shown["mine"], json!(1));
}

#[test]
fn written_names_the_channels() {
    let mut set = ChannelSet::default();
    DynState::written(&schema(), &DynUpdate::new().set("n", 1).write("x", Write::Overwrite(json!(1))), &mut set);
    assert_eq!(set.iter().map(|channel| channel.0).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn debug_shows_no_values() {
    let mut state = DynState::initial(&schema());
    let update = DynUpdate::new().set("x", "secret").overwrite("items", json!(["secret"]));
    step(&mut state, std::slice::from_ref(&update));
    let text = format!("{state:?} {update:?}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("Overwrite(list of 1)"), "{text}");
}

#[test]
fn sides_close_what_is_not_named() {
    let schema = DynSchema::new().last("a").append("b").input(["a"]).output(["b"]).build().unwrap();
    let properties = |face| {
        let schema = DynState::json_schema(&schema, face).to_value();
        schema["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(properties(Face::Input), ["a"]);
    assert_eq!(properties(Face::Output), ["b"]);
    assert_eq!(properties(Face::Whole), ["a", "b"]);
}

#[test]
fn a_schema_says_what_is_wrong_with_it() {
    let error = |builder: DynSchemaBuilder| builder.build().unwrap_err().to_string();
    assert!(error(DynSchema::new().last("")).contains("empty"));
    assert!(error(DynSchema::new().last("a").add("a")).contains("twice"));
    assert!(error(DynSchema::new().last("a").input(["b"])).contains("declare it"));
    assert!(error(DynSchema::new().append("a").kind(Kind::Any)).contains("Append"));
    assert!(error(DynSchema::new().kind(Kind::Any)).contains("first channel"));
    let many = (0..65_536).fold(DynSchema::new(), |builder, i| builder.last(i.to_string()));
    assert!(error(many).contains("65536"));
}
