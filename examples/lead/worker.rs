//! A worker process: runs the thread as far as it goes and prints what happens.

use std::path::Path;
use std::time::Duration;

use superstep::{Command, Event, Outcome, RunConfig, RunStream, Sqlite, StreamMode};

use crate::Fallible;
use crate::graph::{Lead, LeadUpdate, Model, build};

#[tokio::main]
pub async fn run(folder: &str, command: &str) -> Fallible {
    let folder = Path::new(folder);
    let model = Model { bill: folder.join("bill.log"), pause: Duration::from_millis(40) };
    let graph = build(Sqlite::open(folder.join("leads.db")).await?, model)?;
    let config = RunConfig::thread("acme").stream_modes([StreamMode::Updates, StreamMode::Custom]);
    let events = match command {
        "start" => graph.stream(LeadUpdate::new().company("Acme"), config),
        "go-on" => graph.stream((), config),
        answer => graph.stream(Command::resume(answer == "yes"), config),
    };
    show(events).await
}

async fn show(mut events: RunStream<Lead>) -> Fallible {
    while let Some(event) = events.next().await {
        match event? {
            Event::Custom(event) => {
                let percent = event.value["percent"].as_u64().unwrap_or_default();
                println!("  {:<8} {:>3} %  {}", event.node.as_str(), percent, event.value["what"]);
            }
            Event::Update { task, .. } => println!("  {:<8} saved", task.node.as_str()),
            Event::Interrupted { interrupts } => {
                for interrupt in interrupts {
                    println!("  asks     {}", interrupt.payload);
                }
            }
            Event::Ended(outcome) => {
                if let Outcome::Done(done) = &*outcome {
                    println!("  done     {}", done.state().log.join(", "));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
