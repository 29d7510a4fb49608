//! `derive(State)` and `#[node]` for superstep. Use them through the crate `superstep`.

mod node;
mod state;

use proc_macro::TokenStream;

/// Makes a struct the state of a graph: each field becomes a channel.
///
/// For `struct Refund` it also makes `RefundUpdate`, what nodes return: a setter by the name of each field, and
/// `overwrite_<field>` which replaces the value instead of reducing into it.
///
/// ```
/// use superstep::{State, Write};
///
/// #[derive(State, Clone, Default)]
/// struct Refund {
///     order: String,
///     #[reducer(append)]
///     log: Vec<String>,
///     approved: Option<bool>,
/// }
///
/// let update = RefundUpdate::new().order("A-17").log(["asked"]).approved(None);
/// assert_eq!(update.approved, Some(Write::Put(None)));
/// ```
///
/// The struct needs `Clone` and `Default`: a field that was never written reads as it does in the default. Fields need
/// `Clone`, `Serialize`, `Deserialize`, `JsonSchema`, `Send` and `Sync`.
///
/// # On a field
///
/// `#[reducer(..)]`, how the writes of one step become one value. Without it, the value written stays, and two writes in
/// one step are an error.
///
/// | reducer | field | leaves |
/// | --- | --- | --- |
/// | `last` | any | the value written (the default) |
/// | `append` | `Vec`, `VecDeque`, `String` | the old items, then the new ones; only those are stored |
/// | `add` | numbers, `Duration`, `Option` of them | the sum; one that does not fit is an error |
/// | `max`, `min` | `PartialOrd` | the greatest, the least; of an `Option`, `None` counts as nothing written |
/// | `merge` | `BTreeMap`, `HashMap`, `serde_json::Map` | all entries, later ones winning |
/// | `union` | `BTreeSet`, `HashSet`, `Vec` with `Ord` items | all members, each once |
/// | `messages` | `Vec` of `Message` | replaced by id, added, removed |
/// | `with = path` | any | what the function `fn(&mut T, T)` leaves |
/// | `any` | `PartialEq` | the same as `#[state(any)]` |
///
/// `#[state(..)]`, one or more of:
///
/// | option | meaning |
/// | --- | --- |
/// | `untracked` | seen by later nodes of the same call; reaches no store. Needs no serde |
/// | `ephemeral` | gone after the next step; with a reducer, each step begins anew. Needs `PartialEq` |
/// | `any` | several writers allowed, the last in task order wins; gone after the next step in which nobody writes it. Needs `PartialEq` |
/// | `input` | callers may give it; if one field says so, only those that do |
/// | `output` | callers see it; if one field says so, only those that do |
/// | `private` | callers neither give nor see it |
///
/// Up to a thousand fields or so compile in seconds; the time grows with the square of their number.
///
/// # On the struct
///
/// `#[state(crate = "path")]`: where the crate `superstep` is, if not at `::superstep`.
///
/// # Setters
///
/// Numbers, `bool` and `char` are taken as they are, so that literals need no suffix; `Option<T>` takes a `T` or an
/// `Option<T>`; lists and sets with a reducer take anything that iterates over what converts to their items (an empty
/// one needs its type, `Vec::<String>::new()`), maps with `merge` over pairs; everything else takes what converts to it.
#[proc_macro_derive(State, attributes(state, reducer))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    state::derive(input.into()).into()
}

/// Says which part of a function does not fit a node, at that part.
///
/// Whether a function is a node of a graph is seen where it is given to the graph, and there the compiler can only say
/// that it is not. With this attribute each parameter, the result and the future are looked at by themselves. It leaves
/// the function as it is and costs nothing at run time, so it may stay.
///
/// ```
/// use std::sync::Arc;
/// use superstep::{DynState, DynUpdate, NodeResult, Runtime, node};
///
/// #[node(DynState)]
/// async fn approve(state: Arc<DynState>, rt: Runtime) -> NodeResult<DynUpdate> {
///     let yes: bool = rt.interrupt(&state["amount"])?;
///     Ok(DynUpdate::new().set("approved", yes))
/// }
/// ```
///
/// `#[node(State, blocking)]` is for functions that become nodes with `blocking(f)`. A parameter or result written as
/// `impl Trait` is not looked at. `#[node(State, crate = "path")]` says where the crate `superstep` is, if not at
/// `::superstep`.
#[proc_macro_attribute]
pub fn node(attr: TokenStream, item: TokenStream) -> TokenStream {
    node::expand(attr.into(), &item.into()).into()
}
