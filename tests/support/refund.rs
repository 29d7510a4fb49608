//! The refund graph under test: a question, a payment, two tasks side by side, and a node that waits for both.
//!
//! `qualify → approve (asks) → pay → book, notify ⇒ close`

use std::io;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, END, NodeResult, Outcome, QuestionId, RunConfig, RunError,
    RunErrorKind, Runtime, START, State, StateGraph, Step, TaskId,
};

pub(crate) const THREAD: &str = "refund-17";

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Refund {
    pub(crate) order: String,
    pub(crate) amount_cents: u64,
    pub(crate) approved: Option<bool>,
    pub(crate) receipt: Option<String>,
    #[reducer(append)]
    pub(crate) log: Vec<String>,
}

impl Refund {
    /// The state in which every run of the story ends.
    pub(crate) fn settled() -> Self {
        let log = ["A-17 is worth 420000 cents", "approved: true", "paid", "booked R-1", "told of R-1", "closed"];
        Self {
            order: "A-17".to_owned(),
            amount_cents: 420_000,
            approved: Some(true),
            receipt: Some("R-1".to_owned()),
            log: log.map(str::to_owned).to_vec(),
        }
    }
}

/// A node that ran. `approve` counts when it has its answer; until then it is `ask`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Visit {
    pub(crate) node: String,
    pub(crate) step: Step,
    pub(crate) task: TaskId,
    pub(crate) key: String,
}

/// The world outside, which remembers what was done to it.
pub(crate) trait World: Send + Sync + 'static {
    /// A node runs.
    fn visited(&self, visit: Visit) -> io::Result<()>;
    /// Pays; the same key gets the receipt of the first payment.
    fn pay(&self, key: &str) -> io::Result<String>;
}

/// The world as the nodes get it.
pub(crate) struct Outside(Arc<dyn World>);

impl Outside {
    fn enter(&self, rt: &Runtime) -> io::Result<()> {
        self.enter_as(rt.node().as_str(), rt)
    }

    fn enter_as(&self, node: &str, rt: &Runtime) -> io::Result<()> {
        let (node, key) = (node.to_owned(), rt.idempotency_key("visit"));
        self.0.visited(Visit { node, step: rt.step(), task: rt.task_id(), key })
    }
}

fn log(text: impl Into<String>) -> RefundUpdate {
    RefundUpdate::new().log([text.into()])
}

fn receipt(state: &Refund) -> &str {
    state.receipt.as_deref().unwrap_or("nothing")
}

async fn qualify(state: Arc<Refund>, rt: Runtime, outside: Context<Outside>) -> NodeResult<RefundUpdate> {
    outside.enter(&rt)?;
    Ok(log(format!("{} is worth 420000 cents", state.order)).amount_cents(420_000))
}

async fn approve(state: Arc<Refund>, rt: Runtime, outside: Context<Outside>) -> NodeResult<Command<RefundUpdate>> {
    outside.enter_as("ask", &rt)?;
    let yes: bool = rt.interrupt(json!({ "refund": state.amount_cents }))?;
    outside.enter(&rt)?;
    let next = if yes { "pay" } else { END };
    Ok(Command::goto(next).update(log(format!("approved: {yes}")).approved(Some(yes))))
}

async fn pay(rt: Runtime, outside: Context<Outside>) -> NodeResult<RefundUpdate> {
    outside.enter(&rt)?;
    let receipt = outside.0.pay(&rt.idempotency_key("refund"))?;
    Ok(log("paid").receipt(Some(receipt)))
}

async fn book(state: Arc<Refund>, rt: Runtime, outside: Context<Outside>) -> NodeResult<RefundUpdate> {
    outside.enter(&rt)?;
    Ok(log(format!("booked {}", receipt(&state))))
}

async fn notify(state: Arc<Refund>, rt: Runtime, outside: Context<Outside>) -> NodeResult<RefundUpdate> {
    outside.enter(&rt)?;
    Ok(log(format!("told of {}", receipt(&state))))
}

async fn close(rt: Runtime, outside: Context<Outside>) -> NodeResult<RefundUpdate> {
    outside.enter(&rt)?;
    Ok(log("closed"))
}

/// The graph over a store, acting on a world.
pub(crate) fn graph(store: impl Checkpointer, world: Arc<dyn World>) -> CompiledGraph<Refund> {
    StateGraph::<Refund>::new()
        .name("refund")
        .node("qualify", qualify)
        .node("approve", approve)
        .node("pay", pay)
        .node("book", book)
        .node("notify", notify)
        .node("close", close)
        .edge(START, "qualify")
        .edge("qualify", "approve")
        .edge("pay", "book")
        .edge("pay", "notify")
        .waiting_edge(["book", "notify"], "close")
        .edge("close", END)
        .context(Outside(world))
        .checkpointer(store)
        .compile()
        .unwrap()
}

pub(crate) fn input() -> RefundUpdate {
    RefundUpdate::new().order("A-17")
}

/// The story as it is meant to be: an input, a question, an answer, the end. `show` is the person's screen.
pub(crate) async fn story(
    graph: &CompiledGraph<Refund>,
    config: RunConfig,
    show: impl FnMut(QuestionId),
) -> Result<Refund, RunError> {
    let outcome = graph.invoke(input(), config.clone()).await?;
    answer(graph, config, outcome, show).await
}

/// The next process, and the person: gives the answer again if the question was seen, goes on if not, and begins anew if
/// nothing is known of the thread. What the person sees is noted in `asked`.
pub(crate) async fn take_up(
    graph: &CompiledGraph<Refund>,
    config: RunConfig,
    asked: &mut Option<QuestionId>,
) -> Result<Refund, RunError> {
    let first = match *asked {
        Some(question) => graph.invoke(Command::answers([(question, true)]), config.clone()).await,
        None => graph.invoke((), config.clone()).await,
    };
    let outcome = match first.as_ref().map_err(RunError::kind) {
        Err(RunErrorKind::AlreadyAnswered(_)) => graph.invoke((), config.clone()).await?,
        Err(RunErrorKind::UnknownThread) if asked.is_none() => graph.invoke(input(), config.clone()).await?,
        _ => first?,
    };
    answer(graph, config, outcome, |question| *asked = Some(question)).await
}

/// The person says yes, if asked.
async fn answer(
    graph: &CompiledGraph<Refund>,
    config: RunConfig,
    outcome: Outcome<Refund>,
    mut show: impl FnMut(QuestionId),
) -> Result<Refund, RunError> {
    let end = match outcome {
        Outcome::Interrupted(pause) => {
            show(pause.interrupts()[0].id);
            graph.invoke(pause.answer(true), config).await?
        }
        outcome => outcome,
    };
    Ok(end.into_done().unwrap().into_state())
}
