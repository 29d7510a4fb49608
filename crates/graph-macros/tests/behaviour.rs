//! How derived states check and apply batches.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use common::{changes, check, new, refused, step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use smallvec::smallvec;
use superstep::State;
use superstep::reduce::{Addable, Edit, Message};
use superstep_pregel::{How, Moment, WantUndo, Why};

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Plain {
    x: u64,
    note: Option<String>,
    #[reducer(append)]
    log: Vec<String>,
}

#[test]
fn only_what_was_written_changes() {
    let mut state = new::<Plain>();
    let applied = step(&mut state, &[PlainUpdate::new().x(7).log(["a"]), PlainUpdate::new().log(["b", "c"])]);
    assert_eq!(changes(&applied), [(0, How::Set), (2, How::Appended { from: 0 })]);
    assert_eq!(state, Plain { x: 7, note: None, log: ["a", "b", "c"].map(String::from).to_vec() });
    let applied = step(&mut state, &[PlainUpdate::new().log(["d"])]);
    assert_eq!(changes(&applied), [(2, How::Appended { from: 3 })]);
    assert!(step(&mut state, &[PlainUpdate::new()]).changes.is_empty());
}

#[test]
fn equal_values_clash_too_and_name_their_authors() {
    let state = new::<Plain>();
    let write = || PlainUpdate::new().x(1);
    assert_eq!(refused(&state, &[write(), PlainUpdate::new(), write()]), ("x".into(), Why::Clash, vec![0, 2]));
    assert_eq!(refused(&state, &[write(), PlainUpdate::new().overwrite_x(1)]), ("x".into(), Why::Clash, vec![0, 1]));
}

#[test]
fn an_overwrite_wins_and_two_are_refused() {
    let mut state = new::<Plain>();
    step(&mut state, &[PlainUpdate::new().overwrite_log(["first"])]);
    assert_eq!(state.log, ["first"]);
    let over = || PlainUpdate::new().overwrite_log(["new"]);
    let applied = step(&mut state, &[PlainUpdate::new().log(["lost"]), over(), PlainUpdate::new().log(["ignored"])]);
    assert_eq!((changes(&applied), &state.log), (vec![(2, How::Set)], &vec!["new".to_owned()]));
    assert_eq!(refused(&state, &[over(), over()]), ("log".into(), Why::TwoOverwrites, vec![0, 1]));
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state.log, ["first"]);
}

#[test]
fn null_is_written_and_absent_is_not() {
    let mut state = new::<Plain>();
    step(&mut state, &[PlainUpdate::new().note("x".to_owned())]);
    step(&mut state, &[PlainUpdate::new()]);
    assert_eq!(state.note.as_deref(), Some("x"));
    step(&mut state, &[PlainUpdate::new().note(None)]);
    assert_eq!(state.note, None);
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Cents(i64);

impl Addable for Cents {
    fn checked_sum(&self, more: &Self) -> Option<Self> {
        self.0.checked_add(more.0).map(Self)
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Sums {
    #[reducer(add)]
    small: u8,
    #[reducer(add)]
    big: u128,
    #[reducer(add)]
    float: f64,
    #[reducer(add)]
    time: Duration,
    #[reducer(add)]
    maybe: Option<i32>,
    #[reducer(add)]
    own: Cents,
}

#[test]
fn sums_are_exact_or_refused() {
    let mut state = new::<Sums>();
    let update = || SumsUpdate::new().small(100).big(u128::MAX / 2).float(0.5).time(Duration::from_secs(1)).maybe(-2);
    step(&mut state, &[update(), update().own(Cents(7))]);
    let want = Sums {
        small: 200,
        big: u128::MAX - 1,
        float: 1.0,
        time: Duration::from_secs(2),
        maybe: Some(-4),
        own: Cents(7),
    };
    assert_eq!(state, want);
    let none = SumsUpdate::new().maybe(None);
    step(&mut state, &[none]);
    assert_eq!(state.maybe, Some(-4));
    let small = |by| SumsUpdate::new().small(by);
    assert_eq!(refused(&state, &[small(50), small(5), small(1)]), ("small".into(), Why::Overflow, vec![0, 1, 2]));
    assert_eq!(refused(&state, &[small(56), small(1)]), ("small".into(), Why::Overflow, vec![0]));
    let float = SumsUpdate::new().float(f64::MAX);
    assert_eq!(refused(&state, &[float.clone(), float]), ("float".into(), Why::Overflow, vec![0, 1]));
    assert_eq!(refused(&state, &[SumsUpdate::new().time(Duration::MAX)]).1, Why::Overflow);
    assert_eq!(state, want, "what is refused changes nothing");
}

#[derive(State, Clone, Debug, PartialEq)]
struct Extremes {
    #[reducer(max)]
    high: f64,
    #[reducer(min)]
    low: f64,
    #[reducer(min)]
    least: Option<u8>,
    #[reducer(max)]
    most: Option<u8>,
    #[reducer(max)]
    word: String,
    #[reducer(min)]
    from_default: u8,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { high: f64::NAN, low: f64::NAN, least: None, most: None, word: String::new(), from_default: u8::MAX }
    }
}

#[test]
fn extremes_ignore_what_compares_with_nothing() {
    for order in [[1.0, f64::NAN, 2.0], [f64::NAN, 2.0, 1.0], [2.0, 1.0, f64::NAN]] {
        let mut state = new::<Extremes>();
        step(&mut state, &order.map(|value| ExtremesUpdate::new().high(value).low(value)));
        assert_eq!((state.high.to_bits(), state.low.to_bits()), (2.0_f64.to_bits(), 1.0_f64.to_bits()));
    }
}

#[test]
fn of_options_none_counts_as_nothing() {
    let mut state = new::<Extremes>();
    let values = [None, Some(7), Some(3), None, Some(5)];
    step(&mut state, &values.map(|value| ExtremesUpdate::new().least(value).most(value).word("a").from_default(9)));
    assert_eq!((state.least, state.most, state.word.as_str(), state.from_default), (Some(3), Some(7), "a", 9));
    let applied = step(&mut state, &[ExtremesUpdate::new().most(8), ExtremesUpdate::new().most(9)]);
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state.most, Some(7));
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Collections {
    #[reducer(append)]
    deque: VecDeque<u8>,
    #[reducer(append)]
    text: String,
    #[reducer(merge)]
    map: BTreeMap<String, u8>,
    #[reducer(merge)]
    hash_map: HashMap<u8, u8>,
    #[reducer(merge)]
    json: serde_json::Map<String, serde_json::Value>,
    #[reducer(union)]
    set: BTreeSet<u8>,
    #[reducer(union)]
    hash_set: HashSet<u8>,
    #[reducer(union)]
    sorted: Vec<u8>,
}

#[test]
fn collections_join_and_come_apart_again() {
    let mut state = new::<Collections>();
    let first = CollectionsUpdate::new().deque([1]).text("é").map([("a", 1)]).hash_map([(1, 1)]).json([("k", 1)]);
    step(&mut state, &[first.set([1]).hash_set([1]).sorted([3, 1, 3])]);
    let before = state.clone();
    let more = CollectionsUpdate::new().deque([2]).text("b").map([("a", 2), ("b", 2)]).hash_map([(1, 2), (2, 2)]);
    let more = more.json([("k", 2), ("l", 2)]).set([2, 1]).hash_set([2, 1]).sorted([2, 1]);
    let applied = step(&mut state, &[more, CollectionsUpdate::new().sorted((0..100).rev()).map([("b", 3)])]);
    assert_eq!(state.deque, [1, 2]);
    assert_eq!(state.text, "éb");
    assert_eq!(state.map, BTreeMap::from([("a".to_owned(), 2), ("b".to_owned(), 3)]));
    assert_eq!(state.hash_map, HashMap::from([(1, 2), (2, 2)]));
    assert_eq!(serde_json::json!(state.json), serde_json::json!({"k": 2, "l": 2}));
    assert_eq!((state.set.len(), state.hash_set.len()), (2, 2));
    assert_eq!(state.sorted, (0..100).collect::<Vec<_>>());
    assert_eq!(changes(&applied)[..2], [(0, How::Appended { from: 1 }), (1, How::Appended { from: 2 })]);
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state, before);
    step(&mut state, &[CollectionsUpdate::new().overwrite_sorted([5, 4, 5])]);
    assert_eq!(state.sorted, [4, 5]);
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Chat {
    Said { id: Option<String>, text: String },
    Forget(String),
    Clear,
}

impl Message for Chat {
    fn id(&self) -> Option<&str> {
        match self {
            Self::Said { id, .. } => id.as_deref(),
            _ => None,
        }
    }

    fn edit(&self) -> Edit<'_> {
        match self {
            Self::Said { .. } => Edit::Put,
            Self::Forget(id) => Edit::Remove(id),
            Self::Clear => Edit::RemoveAll,
        }
    }
}

#[derive(State, Clone, Debug, Default, PartialEq)]
struct Talk {
    #[reducer(messages)]
    messages: Vec<Chat>,
}

fn said(id: &str, text: &str) -> Chat {
    Chat::Said { id: Some(id.to_owned()), text: text.to_owned() }
}

fn nameless(text: &str) -> Chat {
    Chat::Said { id: None, text: text.to_owned() }
}

fn forget(id: &str) -> Chat {
    Chat::Forget(id.to_owned())
}

fn talk(messages: impl IntoIterator<Item = Chat>) -> TalkUpdate {
    TalkUpdate::new().messages(messages)
}

#[test]
fn messages_are_added_replaced_and_removed() {
    let mut state = new::<Talk>();
    let applied = step(&mut state, &[talk([said("a", "1"), nameless("1")]), talk([nameless("1"), said("b", "1")])]);
    assert_eq!(changes(&applied), [(0, How::Appended { from: 0 })]);
    assert_eq!(state.messages, [said("a", "1"), nameless("1"), nameless("1"), said("b", "1")]);
    let before = state.clone();
    let applied = step(&mut state, &[talk([said("b", "2"), forget("a"), said("c", "1"), said("c", "2")])]);
    assert_eq!(changes(&applied), [(0, How::Set)]);
    assert_eq!(state.messages, [nameless("1"), nameless("1"), said("b", "2"), said("c", "2")]);
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state, before);
}

#[test]
fn a_message_written_again_after_its_removal_stays_in_place() {
    let mut state = new::<Talk>();
    step(&mut state, &[talk([said("a", "1"), said("b", "1")])]);
    step(&mut state, &[talk([forget("a"), said("a", "2")])]);
    assert_eq!(state.messages, [said("a", "2"), said("b", "1")]);
    step(&mut state, &[talk([forget("a")]), talk([said("a", "3")])]);
    assert_eq!(state.messages, [said("b", "1"), said("a", "3")]);
    step(&mut state, &[talk([said("n", "1"), forget("n")])]);
    assert_eq!(state.messages.len(), 2);
}

#[test]
fn remove_all_drops_what_is_before_it() {
    let mut state = new::<Talk>();
    step(&mut state, &[talk([said("a", "1")])]);
    let update = talk([said("b", "1"), Chat::Clear, said("c", "1"), Chat::Clear, said("d", "1"), nameless("1")]);
    let applied = step(&mut state, &[update]);
    assert_eq!(state.messages, [said("d", "1"), nameless("1")]);
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state.messages, [said("a", "1")]);
}

#[test]
fn removing_what_is_not_there_is_refused() {
    let mut state = new::<Talk>();
    step(&mut state, &[talk([said("a", "1")])]);
    let unknown = |id: &str, by| ("messages".to_owned(), Why::UnknownMessage(id.to_owned()), vec![by]);
    assert_eq!(refused(&state, &[talk([forget("x")])]), unknown("x", 0));
    assert_eq!(refused(&state, &[talk([forget("a")]), talk([forget("a")])]), unknown("a", 1));
    assert_eq!(refused(&state, &[talk([Chat::Clear, forget("a")])]), unknown("a", 0));
    assert_eq!(refused(&state, &[TalkUpdate::new().overwrite_messages([forget("a")])]), unknown("a", 0));
    check(&state, &[talk([forget("a"), forget("a")])]).unwrap();
    check(&state, &[talk([said("x", "1")]), talk([forget("x")])]).unwrap();
    // An overwrite makes the removals beside it irrelevant.
    check(&state, &[talk([forget("x")]), TalkUpdate::new().overwrite_messages([said("z", "1")])]).unwrap();
}

#[test]
fn many_messages_do_as_few_do() {
    let many = |text: &str| (0..100).map(|i| said(&i.to_string(), text)).collect::<Vec<_>>();
    let mut state = new::<Talk>();
    step(&mut state, &[talk(many("1"))]);
    let removals = (0..100).filter(|i| i % 2 == 0).map(|i| forget(&i.to_string()));
    let mut update: Vec<_> = many("2").into_iter().chain(removals).collect();
    update.push(said("new", "1"));
    step(&mut state, &[talk(update)]);
    let mut want: Vec<_> = (0..100).filter(|i| i % 2 == 1).map(|i| said(&i.to_string(), "2")).collect();
    want.push(said("new", "1"));
    assert_eq!(state.messages, want);
    let removals = || (0..50).map(|i| forget(&(2 * i + 1).to_string()));
    check(&state, &[talk(removals())]).unwrap();
    assert_eq!(refused(&state, &[talk(removals().chain([forget("0")]))]).1, Why::UnknownMessage("0".into()));
}

/// No serde, no default worth a name, but `Clone`, `Send` and `Sync`.
type Tool = Option<Arc<dyn Fn(u8) -> u8 + Send + Sync>>;

#[derive(State, Clone, Default)]
struct Kinds {
    x: u8,
    #[reducer(any)]
    any: Option<u8>,
    #[state(ephemeral)]
    once: Vec<String>,
    #[state(ephemeral)]
    #[reducer(append)]
    inbox: Vec<u8>,
    #[state(untracked)]
    tool: Tool,
    #[state(untracked)]
    #[reducer(append)]
    seen: Vec<Tool>,
}

#[test]
fn any_keeps_the_last_and_goes_when_nobody_writes() {
    let mut state = new::<Kinds>();
    let any = |value: u8| KindsUpdate::new().any(value);
    step(&mut state, &[any(1), any(2)]);
    assert_eq!(state.any, Some(2));
    step(&mut state, &[any(1), KindsUpdate::new().overwrite_any(9), any(2)]);
    assert_eq!(state.any, Some(9));
    let over = KindsUpdate::new().overwrite_any(9);
    assert_eq!(refused(&state, &[over.clone(), over]).1, Why::TwoOverwrites);
    let applied = step(&mut state, &[KindsUpdate::new().x(1)]);
    assert_eq!((state.any, changes(&applied)), (None, vec![(0, How::Set), (1, How::Cleared)]));
    state.undo(&(), applied.undo.unwrap());
    assert_eq!((state.any, state.x), (Some(9), 0));
}

#[test]
fn ephemeral_values_live_one_step() {
    let mut state = new::<Kinds>();
    let once = || KindsUpdate::new().once(vec!["a".to_owned()]);
    step(&mut state, &[once()]);
    assert_eq!(refused(&state, &[once(), once()]), ("once".into(), Why::Clash, vec![0, 1]));
    let patch = state.apply(&(), smallvec![KindsUpdate::new().x(1)], Moment::Patch, WantUndo::No);
    assert!(patch.undo.is_none() && state.once == ["a"], "what is written beside the steps clears nothing");
    step(&mut state, &[]);
    assert!(state.once.is_empty());
    assert!(step(&mut state, &[]).changes.is_empty(), "it is cleared once");
}

#[test]
fn an_ephemeral_reducer_begins_anew_each_step() {
    let mut state = new::<Kinds>();
    let inbox = |item: u8| KindsUpdate::new().inbox([item]);
    step(&mut state, &[inbox(1), inbox(2)]);
    let applied = step(&mut state, &[inbox(3)]);
    assert_eq!((&state.inbox, changes(&applied)), (&vec![3], vec![(3, How::Set)]));
    state.undo(&(), applied.undo.unwrap());
    assert_eq!(state.inbox, [1, 2]);
}

#[test]
fn untracked_fields_need_no_serde() {
    let mut state = new::<Kinds>();
    let double: Tool = Some(Arc::new(|x| 2 * x));
    step(&mut state, &[KindsUpdate::new().tool(double.clone()).seen([double])]);
    assert_eq!(state.tool.as_ref().map(|tool| tool(4)), Some(8));
    assert_eq!(state.seen.len(), 1);
    step(&mut state, &[]);
    assert!(state.tool.is_some(), "it is kept for the whole call");
}

#[derive(State, Clone, Debug, PartialEq)]
struct Started {
    #[reducer(append)]
    log: Vec<u8>,
    level: u8,
}

impl Default for Started {
    fn default() -> Self {
        Self { log: vec![1], level: 3 }
    }
}

#[test]
fn cleared_channels_read_as_in_the_default() {
    let mut state = new::<Started>();
    step(&mut state, &[StartedUpdate::new().log([2]).level(4)]);
    state.clear(&(), superstep_pregel::ChannelIndex(0));
    assert_eq!(state, Started { log: vec![1], level: 4 });
    state.decode(&(), superstep_pregel::ChannelIndex(1), &[]).unwrap();
    assert_eq!(state, Started::default());
}

#[test]
fn undos_are_taken_back_newest_first() {
    let mut state = new::<Started>();
    let first = step(&mut state, &[StartedUpdate::new().log([2]).level(1)]);
    let second = step(&mut state, &[StartedUpdate::new().overwrite_log([]).level(2)]);
    let third = step(&mut state, &[StartedUpdate::new().log([9])]);
    for applied in [third, second, first] {
        state.undo(&(), applied.undo.unwrap());
    }
    assert_eq!(state, Started::default());
}
