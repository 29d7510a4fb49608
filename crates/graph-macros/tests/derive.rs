//! What `derive(State)` makes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{State, Write};

#[derive(State, Clone, Debug, Default)]
struct Refund {
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
    let update = RefundUpdate::new().overwrite_log(Vec::<String>::new()).approved(None);
    assert_eq!(update.log, Some(Write::Overwrite(vec![])));
    assert_eq!(update.approved, Some(Write::Put(None)));
    assert_eq!(update.order, None);
}
