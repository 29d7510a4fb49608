//! Values survive being stored, or storing them is an error that says where.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::checkpoint::{
    At, Commit, CommitError, Limits, ListQuery, NamespaceKey, StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep::{
    Checkpointer, Command, CompiledGraph, DynSchema, DynState, DynUpdate, Guarantees, HistoryQuery, NodeFault,
    NodeResult, ReadError, RunError, RunErrorKind, Runtime, START, Sealer, Sqlite, State, StateGraph, StoreError,
    StoreErrorKind, Synchronous,
};

use crate::on_each_store;
use crate::support::{Expected, Store, Trail, TrailUpdate, said};

on_each_store!(
    b81_maps_come_back_or_are_refused,
    b82_values_come_back_as_they_were,
    b82_values_that_would_change_are_refused,
    b84_large_states_are_saved_at_a_pause,
    b85_thread_ids_follow_one_rule,
    b87_an_invalid_update_is_not_stored,
    b151_user_data_that_looks_like_a_marker_is_data,
    b151_damaged_bytes_are_an_error,
);

/// A graph that pauses with its input as state.
macro_rules! pausing {
    ($state:ty, $store:expr) => {
        StateGraph::<$state>::new()
            .node("ask", async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("go on?").map(drop) })
            .edge(START, "ask")
            .checkpointer($store)
            .compile()
            .unwrap()
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Maps {
    numbered: Vec<BTreeMap<u64, String>>,
    coloured: Vec<BTreeMap<Colour, i8>>,
    paired: BTreeMap<String, BTreeMap<(u8, u8), u8>>,
}

async fn b81_maps_come_back_or_are_refused(store: Store) {
    let good = MapsUpdate::new()
        .numbered(vec![BTreeMap::from([(u64::MAX, "max".to_owned()), (0, "zero".to_owned())])])
        .coloured(vec![BTreeMap::from([(Colour::Red, -1), (Colour::Green, 2)])]);
    let pause = pausing!(Maps, store.open().await).invoke(good, "t").await.pause();
    let reloaded = pausing!(Maps, store.open().await);
    assert_eq!(*reloaded.state("t").await.unwrap().state, *pause.state());
    assert_eq!(reloaded.invoke(Command::resume(true), "t").await.done(), *pause.state());

    // JSON has no keys that are pairs.
    let pairs = || MapsUpdate::new().paired(BTreeMap::from([("inner".to_owned(), BTreeMap::from([((1, 2), 3)]))]));
    let error = reloaded.invoke(pairs(), "pairs").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::UnstorableUpdate(_)), "{error}");
    assert!(chain(&error).contains("paired[0][0].key"), "it says where: {}", chain(&error));
    assert!(matches!(reloaded.state("pairs").await.unwrap_err(), ReadError::UnknownThread { .. }));
    let writes = StateGraph::<Maps>::new().name("Pairs").node("write", move || std::future::ready(pairs()));
    let writes = writes.edge(START, "write").checkpointer(store.open().await).compile().unwrap();
    let error = writes.invoke(MapsUpdate::new(), "written").await.unwrap_err();
    let RunErrorKind::Node { failures } = error.kind() else { panic!("{error}") };
    assert_eq!(failures[0].fault, NodeFault::InvalidUpdate);
    assert!(chain(&*failures[0].error).contains("paired"), "{}", chain(&*failures[0].error));
    assert_eq!(*writes.state("written").await.unwrap().state, Maps::default());
}

/// An error and its sources as one text.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let errors = std::iter::successors(Some(error), |error| error.source());
    errors.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
enum Kinds {
    Unit,
    Newtype(u64),
    Tuple(i8, String),
    Struct { inner: Option<Box<Kinds>>, list: Vec<Kinds> },
}

#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Extremes {
    kinds: Vec<Kinds>,
    numbers: (u64, i64, i8),
    wide: i128,
    floats: Vec<f64>,
    bytes: Vec<u8>,
    text: String,
    #[allow(clippy::option_option, reason = "it is what is tested")]
    nothing: Option<Option<bool>>,
    list: Option<Vec<u8>>,
    when: SystemTime,
    lasted: Duration,
    unit: (),
    json: Value,
}

impl Default for Extremes {
    fn default() -> Self {
        Self {
            kinds: vec![Kinds::Unit],
            numbers: (1, 2, 3),
            wide: 0,
            floats: Vec::new(),
            bytes: Vec::new(),
            text: "default".to_owned(),
            nothing: Some(Some(true)),
            list: None,
            when: SystemTime::UNIX_EPOCH,
            lasted: Duration::ZERO,
            unit: (),
            json: Value::Null,
        }
    }
}

async fn b82_values_come_back_as_they_were(store: Store) {
    let nested = Kinds::Struct { inner: Some(Box::new(Kinds::Unit)), list: vec![Kinds::Newtype(0)] };
    let update = ExtremesUpdate::new()
        .kinds(vec![Kinds::Unit, Kinds::Newtype(u64::MAX), Kinds::Tuple(-128, "\u{0}\u{1F980}".to_owned()), nested])
        .numbers((u64::MAX, i64::MIN, i8::MIN))
        .wide(i128::from(i64::MIN))
        .floats(vec![f64::MAX, f64::MIN_POSITIVE, -0.0, 0.1 + 0.2, 5e-324, 1e300, 1.0])
        .bytes(vec![0, 255])
        .text("")
        .nothing(None::<Option<bool>>)
        .list(Some(Vec::new()))
        .when(SystemTime::UNIX_EPOCH + Duration::new(1_700_000_000, 123_456_789))
        .lasted(Duration::from_nanos(1))
        .json(json!({ "null": null, "int": 1, "float": 1.0, "max": u64::MAX, "empty": {}, "list": [] }));
    let graph = pausing!(Extremes, store.open().await);
    let live = graph.invoke(update, "t").await.pause();
    assert_eq!((live.state().nothing, live.state().list.as_deref()), (None, Some(&[][..])));
    let reloaded = pausing!(Extremes, store.open().await);
    let stored = reloaded.state("t").await.unwrap().state;
    assert_eq!(*stored, *live.state());
    assert!(stored.floats[2].is_sign_negative() && stored.json["int"].is_u64() && stored.json["float"].is_f64());
    assert_eq!(reloaded.invoke(Command::resume(true), "t").await.done(), *live.state());
    // What was never written reads as in the default, before and after.
    let fresh = reloaded.invoke(ExtremesUpdate::new(), "fresh").await.pause();
    assert_eq!(*fresh.state(), Extremes::default());
    assert_eq!(*reloaded.state("fresh").await.unwrap().state, Extremes::default());
}

async fn b82_values_that_would_change_are_refused(store: Store) {
    let graph = pausing!(Extremes, store.open().await);
    for (update, place) in [
        (ExtremesUpdate::new().nothing(Some(None)), "null in a `Some`"),
        (ExtremesUpdate::new().floats(vec![1.0, f64::NAN]), "floats[1]"),
        (ExtremesUpdate::new().floats(vec![f64::INFINITY]), "floats[0]"),
        (ExtremesUpdate::new().wide(i128::MIN), "wide"),
    ] {
        let error = graph.invoke(update, "t").await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::UnstorableUpdate(_)), "{error}");
        assert!(chain(&error).contains(place), "{}", chain(&error));
    }
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }));
}

async fn b84_large_states_are_saved_at_a_pause(store: Store) {
    for megabytes in [1, 20] {
        let text = "x".repeat(megabytes << 20);
        let thread = format!("{megabytes} MB");
        let graph = pausing!(Trail, store.open().await);
        graph.invoke(TrailUpdate::new().answer(text.clone()), &*thread).await.pause();
        let reloaded = pausing!(Trail, store.open().await);
        let snapshot = reloaded.state(&*thread).await.unwrap();
        assert!(snapshot.state.answer.as_deref() == Some(&*text) && snapshot.interrupts.len() == 1);
        assert!(reloaded.invoke(Command::resume(true), &*thread).await.done().answer.as_deref() == Some(&*text));
        // A reader that takes less says so, with size and limit, and changes nothing.
        let mut limits = Limits::default();
        limits.max_bytes = 1_000;
        let strict = StateGraph::<Trail>::new()
            .node("ask", async || ())
            .edge(START, "ask")
            .sealer(Sealer::new().limits(limits))
            .checkpointer(store.open().await)
            .compile()
            .unwrap();
        let text = chain(&strict.state(&*thread).await.unwrap_err());
        assert!(text.contains("\"answer\"") && text.contains("the limit is 1000"), "{text}");
    }
}

#[tokio::test]
async fn b84_a_full_file_keeps_the_checkpoint_before() {
    let folder = tempfile::tempdir().unwrap();
    let options = Sqlite::options(folder.path().join("small.db")).synchronous(Synchronous::Normal);
    let store = options.max_bytes(400_000).open().await.unwrap();
    let graph = StateGraph::<Trail>::new()
        .node("small", async || said("small"))
        .node("large", async || TrailUpdate::new().answer("x".repeat(1 << 20)))
        .edge(START, "small")
        .edge("small", "large")
        .checkpointer(store)
        .compile()
        .unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    let RunErrorKind::Store(fault) = error.kind() else { panic!("{error}") };
    assert_eq!(fault.kind(), StoreErrorKind::Full);
    let left = graph.state("t").await.unwrap();
    assert_eq!((left.state.told().as_str(), left.next[0].as_str()), ("small", "large"));
}

async fn b85_thread_ids_follow_one_rule(store: Store) {
    let graph = pausing!(Trail, store.open().await);
    let long = "x".repeat(1_024);
    let accepted = ["x", &"x".repeat(255), &"x".repeat(300), &long, "\u{1F980}", " x", "x ", " x "];
    for thread in accepted {
        graph.invoke(said(thread), thread).await.pause();
    }
    for thread in accepted {
        assert_eq!(graph.state(thread).await.unwrap().state.told(), thread, "two ids never share data");
    }
    for thread in [format!("{long}x"), "x".repeat(4_000)] {
        let error = graph.invoke(said("x"), &*thread).await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::InvalidName(_)), "{error}");
    }
}

async fn b87_an_invalid_update_is_not_stored(store: Store) {
    let schema = DynSchema::new().append("log").add("cents").build().unwrap();
    let graph = StateGraph::<DynState>::with_schema(schema)
        .name("dynamic")
        .node("good", async || DynUpdate::new().set("cents", 1))
        .node("bad", async || DynUpdate::new().set("cents", "one").set("log", json!(["bad"])))
        .edge(START, "good")
        .edge("good", "bad")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    for turn in 1..=2 {
        let error: RunError = graph.invoke(DynUpdate::new(), "t").await.map(drop).unwrap_err();
        let RunErrorKind::Node { failures } = error.kind() else { panic!("{error}") };
        assert_eq!((failures[0].node.as_str(), failures[0].fault), ("bad", NodeFault::InvalidUpdate));
        let state = graph.state("t").await.unwrap();
        assert_eq!((&state.state["cents"], &state.state["log"]), (&json!(turn), &json!([])));
        assert_eq!(state.next, ["bad"]);
        assert_eq!(graph.history("t", HistoryQuery::all()).await.unwrap().len(), 3 * turn);
    }
}

// ---------------------------------------------------------------- what is stored is data

async fn b151_user_data_that_looks_like_a_marker_is_data(store: Store) {
    let schema = DynSchema::new().last("value").append("list").merge("map").build().unwrap();
    let graph = async || {
        StateGraph::<DynState>::with_schema(schema.clone())
            .name("markers")
            .node("copy", async |s: &DynState| DynUpdate::new().set("list", json!([s["value"].clone()])))
            .node("ask", async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("?").map(drop) })
            .edge(START, "copy")
            .edge("copy", "ask")
            .checkpointer(store.open().await)
            .compile()
            .unwrap()
    };
    let markers = [
        json!({ "$overwrite": [1] }),
        json!({ "overwrite": 1 }),
        json!({ "put": { "overwrite": null } }),
        json!({ "__type__": "Send", "node": "copy", "lc": 1, "type": "constructor", "id": ["os", "system"] }),
        json!("__end__"),
        json!({ "$serde_json::private::Number": "1" , "$serde_json::private::RawValue": "2" }),
        json!("\u{1}j\u{0}[]"),
    ];
    for (number, value) in markers.into_iter().enumerate() {
        let thread = number.to_string();
        let input = DynUpdate::new().set("value", value.clone()).set("map", json!({ "$overwrite": value.clone() }));
        graph().await.invoke(input, &*thread).await.pause();
        let state = graph().await.state(&*thread).await.unwrap().state;
        assert_eq!((&state["value"], &state["list"]), (&value, &json!([value])));
        assert_eq!(state["map"], json!({ "$overwrite": value }));
        graph().await.invoke(Command::resume(true), &*thread).await.unwrap().into_done().unwrap();
    }
}

/// A store that hands back other bytes than it was given.
#[derive(Clone, Debug)]
struct Tampered {
    inner: Arc<dyn Checkpointer>,
    bytes: Arc<Vec<u8>>,
}

impl Tampered {
    fn spoil(&self, stored: &mut StoredCheckpoint) {
        let parts = stored.values.iter_mut().flat_map(|value| &mut value.parts);
        parts.for_each(|part| part.bytes = self.bytes.to_vec().into());
    }
}

#[async_trait]
impl Checkpointer for Tampered {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.inner.commit(commit).await
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        let mut view = self.inner.get(key, at).await?;
        view.found.iter_mut().for_each(|found| self.spoil(found));
        Ok(view)
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        let mut list = self.inner.list(key, query).await?;
        for stored in &mut list {
            self.spoil(stored);
        }
        Ok(list)
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.inner.delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }
    fn instance(&self) -> StoreInstance {
        self.inner.instance()
    }
}

async fn b151_damaged_bytes_are_an_error(store: Store) {
    let graph = |store| -> CompiledGraph<Trail> { pausing!(Trail, store) };
    graph(store.open().await).invoke(said("whole").answer("x".to_owned()), "t").await.pause();
    let deep = [b"\x01j\x00".to_vec(), b"[".repeat(1_000_000)].concat();
    let long = [b"\x01j\x00".to_vec(), b"9".repeat(1_000_000)].concat();
    let damaged: [&[u8]; 10] = [
        b"",
        b"\x01",
        b"\x01j\x00",
        b"\x02j\x00[]",
        b"\x01x\x00[]",
        b"\x01j\x07[]",
        b"\x01j\x00{\"a\":",
        b"\x01j\x00\xff\xfe",
        &deep,
        &long,
    ];
    for bytes in damaged {
        let tampered = graph(Arc::new(Tampered { inner: store.open().await, bytes: Arc::new(bytes.to_vec()) }));
        let error = tampered.state("t").await.unwrap_err();
        assert!(matches!(error, ReadError::Load { .. }), "{error}");
        let text = chain(&error);
        assert!(text.len() < 1_000, "the text is short");
        assert!(matches!(tampered.history("t", HistoryQuery::all()).await.unwrap_err(), ReadError::Load { .. }));
        let error = tampered.invoke(Command::resume(true), "t").await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::Load(_)), "{error}");
    }
    assert_eq!(graph(store.open().await).invoke(Command::resume(true), "t").await.done().told(), "whole");
}
