//! The refund agent: qualify, ask above a limit, pay, tell the customer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{Checkpointer, Command, CompiledGraph, Context, END, NodeResult, Runtime, START, State, StateGraph};

use crate::payments::Bank;

/// Above this, a person must approve.
const LIMIT_CENTS: u64 = 100_000;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Refund {
    pub order: String,
    pub amount_cents: u64,
    pub approved: Option<bool>,
    pub receipt: Option<String>,
    #[reducer(append)]
    pub log: Vec<String>,
}

/// Writes down each time a node is entered, in a file that outlives the process.
pub struct Diary(pub PathBuf);

impl Diary {
    fn entered(&self, node: &str) -> std::io::Result<()> {
        use std::io::Write;
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&self.0)?;
        writeln!(file, "{node} {}", std::process::id())
    }
}

/// How long `pay` still has to do after the money moved: the gap in which the story kills the worker.
pub struct AfterPayment(pub Duration);

async fn qualify(state: Arc<Refund>, diary: Context<Diary>) -> NodeResult<RefundUpdate> {
    diary.entered("qualify")?;
    let amount = 420_000; // a model would be asked here, and paid for
    Ok(RefundUpdate::new().amount_cents(amount).log([format!("{} is worth {amount} cents", state.order)]))
}

async fn approve(state: Arc<Refund>, rt: Runtime, diary: Context<Diary>) -> NodeResult<Command<RefundUpdate>> {
    diary.entered("approve")?;
    let yes = if state.amount_cents > LIMIT_CENTS {
        rt.interrupt::<bool>(json!({ "refund": state.amount_cents, "order": state.order }))?
    } else {
        true
    };
    let next = if yes { "pay" } else { END };
    Ok(Command::goto(next).update(RefundUpdate::new().approved(Some(yes)).log([format!("approved: {yes}")])))
}

async fn pay(
    state: Arc<Refund>,
    rt: Runtime,
    bank: Context<Bank>,
    after: Context<AfterPayment>,
    diary: Context<Diary>,
) -> NodeResult<RefundUpdate> {
    diary.entered("pay")?;
    let receipt = bank.refund(state.amount_cents, &rt.idempotency_key("refund")).await?;
    println!("paid {receipt}"); // the story waits for this line
    tokio::time::sleep(after.0).await;
    Ok(RefundUpdate::new().receipt(Some(receipt.clone())).log([format!("paid, receipt {receipt}")]))
}

async fn notify(state: Arc<Refund>, diary: Context<Diary>) -> NodeResult<RefundUpdate> {
    diary.entered("notify")?;
    Ok(RefundUpdate::new().log([format!("told the customer of {}", state.order)]))
}

pub fn build(
    store: impl Checkpointer,
    bank: Bank,
    after: AfterPayment,
    diary: Diary,
) -> Result<CompiledGraph<Refund>, superstep::InvalidGraph> {
    StateGraph::<Refund>::new()
        .name("refund")
        .node("qualify", qualify)
        .node("approve", approve)
        .node("pay", pay)
        .node("notify", notify)
        .edge(START, "qualify")
        .edge("qualify", "approve")
        .edge("pay", "notify")
        .edge("notify", END)
        .context(bank)
        .context(after)
        .context(diary)
        .checkpointer(store)
        .compile()
}
