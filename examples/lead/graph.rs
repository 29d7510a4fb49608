//! The agent that works on a lead.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, END, InvalidGraph, NodeResult, Runtime, START, State, StateGraph,
};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Lead {
    pub company: String,
    #[reducer(append)]
    pub facts: Vec<String>,
    pub draft: Option<String>,
    #[reducer(add)]
    pub cents_spent: u64,
    pub mail: Option<String>,
    #[reducer(append)]
    pub log: Vec<String>,
}

/// A model that takes its time and money. It writes down each call in a file that outlives the process.
pub struct Model {
    pub bill: PathBuf,
    pub pause: Duration,
}

impl Model {
    /// Answers slowly, showing how far it is.
    async fn ask(&self, what: &str, rt: &Runtime) -> NodeResult<String> {
        use std::io::Write;
        let mut bill = std::fs::OpenOptions::new().create(true).append(true).open(&self.bill)?;
        bill.write_all(format!("{what}\n").as_bytes())?; // at once: two nodes may write
        for percent in [25, 50, 75, 100] {
            tokio::time::sleep(self.pause).await;
            rt.emit(json!({ "what": what, "percent": percent }))?;
        }
        Ok(format!("{what}, thought through"))
    }
}

async fn website(s: Arc<Lead>, rt: Runtime, model: Context<Model>) -> NodeResult<LeadUpdate> {
    let fact = model.ask(&format!("website of {}", s.company), &rt).await?;
    Ok(LeadUpdate::new().facts([fact]).cents_spent(120))
}

async fn news(s: Arc<Lead>, rt: Runtime, model: Context<Model>) -> NodeResult<LeadUpdate> {
    let fact = model.ask(&format!("news about {}", s.company), &rt).await?;
    Ok(LeadUpdate::new().facts([fact]).cents_spent(80))
}

async fn draft(s: Arc<Lead>, rt: Runtime, model: Context<Model>) -> NodeResult<LeadUpdate> {
    let text = model.ask(&format!("draft with {} facts", s.facts.len()), &rt).await?;
    Ok(LeadUpdate::new().draft(Some(text)).cents_spent(200))
}

async fn review(s: Arc<Lead>, rt: Runtime) -> NodeResult<Command<LeadUpdate>> {
    let send: bool = rt.interrupt(json!({ "send": s.draft, "to": s.company }))?;
    let log = LeadUpdate::new().log([if send { "approved" } else { "turned down" }]);
    Ok(Command::goto(if send { "send" } else { "note" }).update(log))
}

async fn send(s: Arc<Lead>, rt: Runtime) -> NodeResult<LeadUpdate> {
    let mail = format!("mail {} to {}", &rt.idempotency_key("mail")[..8], s.company);
    Ok(LeadUpdate::new().mail(Some(mail)).log(["sent"]))
}

async fn note(s: Arc<Lead>) -> NodeResult<LeadUpdate> {
    Ok(LeadUpdate::new().log([format!("{}: {} cents spent", s.company, s.cents_spent)]))
}

pub fn build(store: impl Checkpointer, model: Model) -> Result<CompiledGraph<Lead>, InvalidGraph> {
    StateGraph::<Lead>::new()
        .name("lead")
        .node("website", website)
        .node("news", news)
        .node("draft", draft)
        .node("review", review)
        .node("send", send)
        .node("note", note)
        .edge(START, "website")
        .edge(START, "news")
        .waiting_edge(["website", "news"], "draft")
        .edge("draft", "review")
        .edge("send", "note")
        .edge("note", END)
        .context(model)
        .checkpointer(store)
        .compile()
}
