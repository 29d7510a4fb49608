//! A worker process: `worker <folder> <payments address> start | answer <question> | go-on`.

use std::path::Path;
use std::time::Duration;

use superstep::{Command, Outcome, QuestionId, Sqlite};

use crate::Fallible;
use crate::graph::{AfterPayment, Diary, RefundUpdate, build};
use crate::payments::Bank;

const THREAD: &str = "refund-17";

#[tokio::main]
pub async fn run(args: &[String]) -> Fallible {
    let [folder, payments, command @ ..] = args else { return Err("worker <folder> <payments> <command>".into()) };
    let folder = Path::new(folder);
    // The worker that gets the answer is the one that is killed: it dawdles after the payment.
    let after = if matches!(command, [first, ..] if first == "answer") { 60 } else { 0 };
    let graph = build(
        Sqlite::open(folder.join("refunds.db")).await?,
        Bank::at(payments),
        AfterPayment(Duration::from_secs(after)),
        Diary(folder.join("diary.log")),
    )?;
    let outcome = match command {
        [start] if start == "start" => graph.invoke(RefundUpdate::new().order("A-17"), THREAD).await?,
        [answer, question] if answer == "answer" => {
            let question: QuestionId = question.parse()?;
            graph.invoke(Command::answers([(question, true)]), THREAD).await?
        }
        _ => graph.invoke((), THREAD).await?,
    };
    match outcome {
        Outcome::Interrupted(pause) => {
            for interrupt in pause.interrupts() {
                println!("asks {} {}", interrupt.id, interrupt.payload);
            }
        }
        other => println!("done {}", other.state().log.join(" | ")),
    }
    Ok(())
}
