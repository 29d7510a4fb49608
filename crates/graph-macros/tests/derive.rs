//! What `derive(State)` makes of a struct: the update struct, its setters, the channel table.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
// The derive must leave nothing to warn about in the user's crate.
#![deny(warnings, missing_docs, unreachable_pub, clippy::pedantic)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use superstep::reduce::Message;
use superstep::{State, Write};
use superstep_pregel::{ChannelSet, ChannelSpec, Face, Kind, Reducer, Side};

/// An agent that pays back.
#[derive(State, Clone, Debug, Default, PartialEq)]
pub struct Refund {
    /// The order's number.
    order: String,
    amount_cents: u64,
    #[reducer(append)]
    log: Vec<String>,
    approved: Option<bool>,
}

#[test]
fn setters_take_what_is_at_hand() {
    let update = RefundUpdate::new().order("A-17").amount_cents(420_000).log(["paid"]).approved(Some(true));
    assert_eq!(update.order, Some(Write::Put("A-17".to_owned())));
    assert_eq!(update.amount_cents, Some(Write::Put(420_000)));
    assert_eq!(update.log, Some(Write::Put(vec!["paid".to_owned()])));
    assert_eq!(update.approved, Some(Write::Put(Some(true))));
    let update = RefundUpdate::new().overwrite_log(Vec::<String>::new()).approved(None).overwrite_amount_cents(1);
    assert_eq!(update.log, Some(Write::Overwrite(vec![])));
    assert_eq!(update.approved, Some(Write::Put(None)));
    assert_eq!(update.amount_cents, Some(Write::Overwrite(1)));
    assert_eq!(update.order, None);
    assert_eq!(RefundUpdate::new().approved(true).approved, Some(Write::Put(Some(true))));
}

#[test]
fn a_setter_called_again_replaces() {
    let update = RefundUpdate::new().amount_cents(1).overwrite_amount_cents(2).amount_cents(3);
    assert_eq!(update.amount_cents, Some(Write::Put(3)));
}

#[test]
fn debug_of_an_update_shows_no_values() {
    let update = RefundUpdate::new().order("secret").overwrite_log(["secret"]);
    assert_eq!(format!("{update:?}"), "RefundUpdate { order: Put(..), log: Overwrite(..) }");
}

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Note(u8);

impl From<u8> for Note {
    fn from(value: u8) -> Self {
        Self(value)
    }
}

impl Message for Note {
    fn id(&self) -> Option<&str> {
        None
    }
}

#[derive(State, Clone, Default)]
struct Setters {
    letter: char,
    float: f32,
    maybe: Option<u64>,
    maybe_text: Option<String>,
    maybe_note: Option<Note>,
    plain_list: Vec<u8>,
    path: std::path::PathBuf,
    pair: (u8, u8),
    boxed: Box<str>,
    json: serde_json::Value,
    #[reducer(append)]
    numbers: VecDeque<i64>,
    #[reducer(append)]
    text: String,
    #[reducer(union)]
    tree: BTreeSet<String>,
    #[reducer(union)]
    hash: HashSet<u8>,
    #[reducer(union)]
    sorted: std::vec::Vec<String>,
    #[reducer(merge)]
    map: BTreeMap<String, u64>,
    #[reducer(merge)]
    notes: HashMap<u8, Note>,
    #[reducer(merge)]
    object: serde_json::Map<String, serde_json::Value>,
    #[reducer(messages)]
    messages: Vec<Note>,
    #[reducer(max)]
    top: f64,
    #[reducer(add)]
    sum: Option<i32>,
}

#[test]
fn literals_need_no_suffix_and_texts_no_conversion() {
    let update =
        SettersUpdate::new().letter('x').float(1.5).maybe(3).maybe_text("t".to_owned()).maybe_note(Some(Note(1)));
    let update = update.plain_list([1, 2]).path("/tmp").pair((1, 2)).boxed("b").json("j").numbers([1, 2]).text("t");
    let update = update.tree(["a", "b"]).hash([1, 2]).sorted(["b", "a"]).map([("a", 1)]).notes([(1, 2)]);
    let update = update.object([("k", 1)]).messages([1, 2]).top(0.5).sum(-1);
    assert_eq!(update.maybe, Some(Write::Put(Some(3))));
    assert_eq!(update.numbers, Some(Write::Put(VecDeque::from([1, 2]))));
    assert_eq!(update.map, Some(Write::Put(BTreeMap::from([("a".to_owned(), 1)]))));
    assert_eq!(update.notes, Some(Write::Put(HashMap::from([(1, Note(2))]))));
    assert_eq!(update.messages, Some(Write::Put(vec![Note(1), Note(2)])));
    // Whole values go as well.
    let whole = SettersUpdate::new().numbers(VecDeque::from([1])).tree(BTreeSet::from(["a".to_owned()])).maybe(None);
    let whole =
        whole.map(BTreeMap::from([("a".to_owned(), 1)])).plain_list(vec![]).sorted(vec![String::new()]).sum(None);
    assert_eq!(whole.plain_list, Some(Write::Put(vec![])));
}

fn spec(name: &str, reducer: Reducer) -> ChannelSpec {
    ChannelSpec::new(superstep_checkpoint::ChannelName::new(name).unwrap(), reducer)
}

fn keep(_: &mut u8, _: u8) {}

#[derive(State, Clone, Default)]
struct Table {
    #[reducer(last)]
    a: u8,
    #[reducer(add)]
    b: u8,
    #[reducer(with = keep)]
    c: u8,
    #[state(untracked)]
    d: u8,
    #[state(ephemeral)]
    #[reducer(add)]
    e: u8,
    #[reducer(any)]
    f: u8,
    #[state(any)]
    g: u8,
    r#type: u8,
}

#[test]
fn the_channel_table_is_the_struct() {
    let table = [
        spec("a", Reducer::Last),
        spec("b", Reducer::Add),
        spec("c", Reducer::With("keep")),
        spec("d", Reducer::Last).kind(Kind::Untracked),
        spec("e", Reducer::Add).kind(Kind::Ephemeral),
        spec("f", Reducer::Last).kind(Kind::Any),
        spec("g", Reducer::Last).kind(Kind::Any),
        spec("type", Reducer::Last),
    ];
    assert_eq!(Table::channels(&()), table);
    let mut set = ChannelSet::default();
    Table::written(&(), &TableUpdate::new().r#type(1).overwrite_type(2).b(3), &mut set);
    assert_eq!(set.iter().map(|channel| channel.0).collect::<Vec<_>>(), [1, 7]);
}

#[derive(State, Clone, Default)]
struct Sides {
    #[state(input)]
    given: u8,
    #[state(input, output)]
    both: Option<Note>,
    plain: u8,
    #[state(private, untracked)]
    hidden: u8,
}

#[test]
fn sides_close_what_is_not_named() {
    let sides: Vec<_> = Sides::channels(&()).iter().map(|spec| (spec.input, spec.output)).collect();
    let (open, closed) = (Side::Open, Side::Closed);
    assert_eq!(sides, [(open, closed), (open, open), (closed, closed), (closed, closed)]);
}

#[derive(State, Clone, Default)]
struct Private {
    seen: u8,
    #[state(private)]
    unseen: u8,
}

#[test]
fn private_alone_closes_nothing_else() {
    let sides: Vec<_> = Private::channels(&()).iter().map(|spec| (spec.input, spec.output)).collect();
    assert_eq!(sides, [(Side::Open, Side::Open), (Side::Closed, Side::Closed)]);
}

#[test]
fn schemas_show_the_open_fields() {
    let input = Sides::json_schema(&(), Face::Input).to_value();
    assert_eq!(input["title"], "Sides");
    assert_eq!(input["properties"]["given"]["type"], "integer");
    assert_eq!(input["properties"].as_object().unwrap().len(), 2);
    assert_eq!(input["required"], serde_json::Value::Null);
    assert!(input["$defs"]["Note"].is_object(), "{input}");
    let output = Sides::json_schema(&(), Face::Output).to_value();
    assert_eq!(output["required"], serde_json::json!(["both"]));
    let whole = Sides::json_schema(&(), Face::Whole).to_value();
    assert_eq!(whole["properties"].as_object().unwrap().len(), 3);
}

#[derive(State, Clone, Default)]
struct Empty {}

/// A public state with fields that are not.
#[derive(State, Clone, Debug, Default)]
pub struct Public {
    note: Option<Note>,
    #[reducer(messages)]
    notes: Vec<Note>,
    #[reducer(with = keep)]
    kept: u8,
}

#[test]
fn a_state_may_have_no_fields() {
    assert!(Empty::channels(&()).is_empty());
    assert_eq!(format!("{:?}", EmptyUpdate::new()), "EmptyUpdate");
}

/// Names that the derive uses inside, and names of other things.
#[allow(clippy::struct_field_names, missing_docs)]
mod names {
    use superstep::State;

    #[allow(dead_code)]
    struct Option;
    #[allow(dead_code)]
    struct Vec;
    #[allow(dead_code, non_camel_case_types)]
    struct String;
    #[allow(dead_code)]
    trait Into {}
    #[allow(dead_code)]
    trait Clone {}
    #[allow(dead_code)]
    struct Ok;
    #[allow(dead_code)]
    struct Write;

    pub(super) fn put(value: &mut u8, current: u8) {
        *value += current;
    }

    #[derive(State, core::clone::Clone, Default)]
    pub(super) struct Names {
        pub(super) value: u8,
        pub(super) map: u8,
        pub(super) name: u8,
        pub(super) update: u8,
        pub(super) state: u8,
        pub(super) f: u8,
        pub(super) key: u8,
        pub(super) default: u8,
        pub(super) clone: u8,
        pub(super) into: u8,
        pub(super) set: u8,
        pub(super) batch: u8,
        pub(super) codec: u8,
        pub(super) self_: u8,
        pub(super) r#fn: u8,
        pub(super) _underscore: u8,
        pub(super) größe: u8,
        #[reducer(with = put)]
        pub(super) with: u8,
        #[reducer(with = Self::reduce)]
        pub(super) reduce: u8,
        #[reducer(with = |current, put| *current = put)]
        pub(super) closure: u8,
    }

    impl Names {
        fn reduce(current: &mut u8, put: u8) {
            *current = current.wrapping_mul(2) + put;
        }
    }
}

mod common;

#[test]
fn names_of_fields_do_no_harm() {
    use names::{Names, NamesUpdate};
    let mut state = common::new::<Names>();
    let update = NamesUpdate::new().value(1).map(2).name(3).update(4).state(5).f(6).key(7).default(8).clone(9).into(10);
    let update = update.set(11).batch(12).codec(13).self_(14).r#fn(15)._underscore(17).größe(18).with(19);
    common::step(&mut state, &[update.reduce(20).closure(21), NamesUpdate::new().with(1).reduce(2).closure(3)]);
    assert_eq!((state.value, state.clone, state.r#fn, state.größe), (1, 9, 15, 18));
    assert_eq!((state.with, state.reduce, state.closure), (20, 42, 3));
}

mod elsewhere {
    pub(crate) mod reexported {
        pub(crate) use superstep as inner;
    }
}

#[derive(State, Clone, Default)]
#[state(crate = "crate::elsewhere::reexported::inner")]
struct Renamed {
    x: u8,
}

#[test]
fn the_crate_may_be_elsewhere() {
    assert_eq!(RenamedUpdate::new().x(1).x, Some(Write::Put(1)));
}

#[test]
fn a_state_may_stand_in_a_function() {
    #[derive(State, Clone, Default)]
    struct Local {
        x: u8,
    }
    assert_eq!(LocalUpdate::new().x(1).x, Some(Write::Put(1)));
}

macro_rules! state {
    ($name:ident { $field:ident: $type:ty }) => {
        #[derive(State, Clone, Default)]
        struct $name {
            $field: $type,
            #[reducer(append)]
            list: Vec<$type>,
        }
    };
}

state!(FromMacro { x: u64 });

#[test]
fn a_state_may_come_from_a_macro() {
    let update = FromMacroUpdate::new().x(1).list([1, 2]);
    assert_eq!((update.x, update.list), (Some(Write::Put(1)), Some(Write::Put(vec![1, 2]))));
}
