//! Runs the recorded scenarios on `DynState`, on every store, and compares the answers with those of the reference.
//!
//! ```text
//! cargo test --test oracle                         all scenarios
//! cargo test --test oracle -- random_flow          those whose names hold one of these words
//! SUPERSTEP_SCENARIOS=dir cargo test --test oracle those of another folder
//! ORACLE_DECLARE=29 cargo test --test oracle -- x  prints a line for `declared.jsonl` for each call that differs
//! ```

mod call;
mod declared;
mod expr;
mod fault;
mod graph;
mod ids;
mod matching;
mod node;
mod python;
mod run;
mod scenario;
mod settle;
mod show;
mod stores;
mod term;

use std::env;
use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use declared::Declared;
use run::{Known, Origin, Verdict};
use scenario::Scenario;
use stores::{Kind, Stores};

/// How many scenarios run at once. Most of them wait for a timer most of the time.
const WORKERS: usize = 8;

/// After this time a scenario counts as hung.
const PATIENCE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    match Suite::read().and_then(Suite::run) {
        Ok(total) if total.failed == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("oracle: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// How many scenarios went how.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    passed: usize,
    declared: usize,
    failed: usize,
}

impl Count {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Declared => self.declared += 1,
            Verdict::Failed(_) => self.failed += 1,
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, declared, failed } = self;
        write!(f, "{passed} passed, {declared} declared, {failed} failed")
    }
}

/// The scenarios to run.
struct Suite {
    scenarios: Vec<Scenario>,
    declared: Declared,
    origin: Origin,
    declare: Option<u32>,
    /// Scenarios that need what is not there yet.
    left_out: usize,
}

impl Suite {
    fn read() -> Result<Self, String> {
        let ours = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"));
        let folder = env::var_os("SUPERSTEP_SCENARIOS").map(PathBuf::from);
        let origin = if folder.is_some() { Origin::Foreign } else { Origin::Ours };
        let all = scenario::read_all(&folder.unwrap_or_else(|| ours.join("scenarios")))?;
        let declared = Declared::read(&ours.join("declared.jsonl"))?;
        if let (Origin::Ours, Some(stray)) = (origin, declared.strays(&all).first()) {
            return Err(stray.clone());
        }
        let words: Vec<String> = env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
        let chosen = |scenario: &Scenario| words.is_empty() || words.iter().any(|word| scenario.name.contains(word));
        let all: Vec<Scenario> = all.into_iter().filter(chosen).collect();
        let (left_out, scenarios): (Vec<_>, Vec<_>) = all.into_iter().partition(Scenario::has_subgraphs);
        let declare = env::var("ORACLE_DECLARE").ok().map(|number| number.parse()).transpose();
        let declare = declare.map_err(|_| "ORACLE_DECLARE is the number of a reason".to_owned())?;
        Ok(Self { scenarios, declared, origin, declare, left_out: left_out.len() })
    }

    /// Runs every scenario on every store, tells what failed, and counts.
    fn run(self) -> Result<Count, String> {
        let stores = Stores::new()?;
        let kinds = if self.declare.is_some() { &Kind::ALL[..1] } else { Kind::ALL };
        let jobs: Vec<(Kind, &Scenario)> =
            kinds.iter().flat_map(|kind| self.scenarios.iter().map(|scenario| (*kind, scenario))).collect();
        let verdicts = self.run_all(&jobs, &stores)?;
        let mut total = Count::default();
        for kind in kinds {
            let mut count = Count::default();
            for ((_, scenario), verdict) in jobs.iter().zip(&verdicts).filter(|((on, _), _)| on == kind) {
                count.add(verdict);
                total.add(verdict);
                if let Verdict::Failed(text) = verdict {
                    println!("{} on {}: {text}", scenario.name, kind.name());
                }
            }
            println!("{}: {count}", kind.name());
        }
        if self.left_out > 0 {
            println!("{} left out: they have subgraphs", self.left_out);
        }
        println!("oracle: {total}");
        Ok(total)
    }

    fn run_all(&self, jobs: &[(Kind, &Scenario)], stores: &Stores) -> Result<Vec<Verdict>, String> {
        let next = AtomicUsize::new(0);
        let verdicts: Vec<Mutex<Option<Verdict>>> = jobs.iter().map(|_| Mutex::default()).collect();
        std::thread::scope(|scope| {
            let work = || -> Result<(), String> {
                let runtime = runtime()?;
                while let Some((at, (kind, scenario))) = take(&next, jobs) {
                    let verdict = self.run_one(&runtime, *kind, scenario, stores);
                    *verdicts[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
                }
                Ok(())
            };
            let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
        })?;
        let panicked = || Verdict::Failed("it panicked".to_owned());
        let verdict = |cell: Mutex<Option<Verdict>>| cell.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(verdicts.into_iter().map(|cell| verdict(cell).unwrap_or_else(panicked)).collect())
    }

    fn run_one(&self, runtime: &tokio::runtime::Runtime, kind: Kind, scenario: &Scenario, stores: &Stores) -> Verdict {
        let lines = self.declared.of(&scenario.name);
        let known = Known { lines, origin: self.origin, declare: self.declare };
        let run = async {
            let store = match stores.open(kind).await {
                Ok(store) => store,
                Err(problem) => return Verdict::Failed(problem),
            };
            match tokio::time::timeout(PATIENCE, run::run(scenario, &known, Arc::clone(&store))).await {
                Ok(verdict) => verdict,
                Err(_) => Verdict::Failed("it does not end".to_owned()),
            }
        };
        runtime.block_on(run)
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("no runtime: {error}"))
}

fn take<'j, J>(next: &AtomicUsize, jobs: &'j [J]) -> Option<(usize, &'j J)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
}
