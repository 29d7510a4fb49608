//! What holds for every graph, whatever happens: tried on random graphs, the same ones each time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use superstep_checkpoint::{CheckpointId, Commit, Seq, StoredCheckpoint, TaskId, WriteKind};
use superstep_pregel::Saving;

use support::model::Model;
use support::random::model;
use support::rng::Rng;
use support::runner::{Order, Ran, Runner, tracked};
use support::thread::Thread;

const GRAPHS: u64 = 500;

fn run(model: &Model, order: Order) -> Runner<'_> {
    let mut runner = Runner::new(model, order);
    runner.run();
    runner
}

/// What a store holds, but for the random ids: checkpoints by their positions.
fn content(thread: &Thread) -> Vec<StoredCheckpoint> {
    let mut all = thread.stored();
    let seqs: BTreeMap<CheckpointId, Seq> = all.iter().map(|one| (one.checkpoint.id, one.checkpoint.seq)).collect();
    let by_seq = |id: CheckpointId| {
        let mut bytes = [0; 16];
        bytes[8..].copy_from_slice(&seqs[&id].0.to_be_bytes());
        CheckpointId::from_bytes(bytes)
    };
    for one in &mut all {
        let mut checkpoint = (*one.checkpoint).clone();
        checkpoint.id = by_seq(checkpoint.id);
        checkpoint.parent = checkpoint.parent.map(by_seq);
        one.checkpoint = checkpoint.into();
        one.values.iter_mut().flat_map(|value| &mut value.parts).for_each(|part| part.checkpoint = by_seq(part.checkpoint));
        // How often a task failed before it worked is chance.
        one.writes.retain(|write| write.kind != WriteKind::Error);
    }
    all
}

/// Shows only the first difference.
fn assert_same(got: &[StoredCheckpoint], wanted: &[StoredCheckpoint], context: &str) {
    for (got, wanted) in got.iter().zip(wanted) {
        let writes = |one: &StoredCheckpoint| one.writes.iter().map(|write| (write.clone(), write.bytes.clone())).collect::<Vec<_>>();
        assert_eq!(got.checkpoint, wanted.checkpoint, "{context}");
        assert_eq!(writes(got), writes(wanted), "at seq {}; {context}", got.checkpoint.seq);
        assert_eq!(got, wanted, "{context}");
    }
    assert_eq!(got.len(), wanted.len(), "{context}");
}

#[test]
fn the_order_in_which_tasks_end_changes_nothing() {
    let (mut differing, mut ends) = (0, BTreeMap::new());
    for seed in 0..GRAPHS {
        let model = model(seed);
        let first = run(&model, Order::FirstStarted);
        first.ends.iter().for_each(|end| *ends.entry(*end).or_insert(0) += 1);
        for order in [Order::LastStarted, Order::Random(Rng::new(seed))] {
            let other = run(&model, order);
            if other.ended == first.ended {
                continue;
            }
            differing += 1;
            assert_same(&content(&other.thread), &content(&first.thread), &format!("seed {seed}\n{}", model.text));
            assert_eq!(other.values, first.values, "seed {seed}\n{}", model.text);
        }
    }
    // The test is worth something only if tasks really ended in other orders, and if calls ended in all ways.
    assert!(differing > GRAPHS, "only {differing} runs ended tasks in another order");
    println!("{differing} {ends:?}");
    for end in ["done", "interrupted", "paused", "failed", "clash", "out of steps"] {
        assert!(ends.get(end).is_some_and(|count| *count >= 20), "{end} is rare: {ends:?}");
    }
}

#[test]
fn a_process_may_die_after_every_effect() {
    let mut points = 0;
    for seed in 0..GRAPHS {
        let model = model(seed);
        let first = run(&model, Order::FirstStarted);
        for stored in 0..=first.thread.commits.len() {
            points += 1;
            let context = format!("seed {seed}, dead after commit {stored}\n{}", model.text);
            let recovered = recover(&model, &first, stored, &context);
            check_recovered(&model, &first, &recovered, &context);
        }
    }
    println!("{points}");
}

/// Another process goes on with what was stored.
fn recover<'m>(model: &'m Model, first: &Runner<'m>, stored: usize, context: &str) -> Runner<'m> {
    let commits = &first.thread.commits[..stored];
    let turn = first.begun.iter().rposition(|begun| *begun <= stored).unwrap();
    let order = Order::Random(Rng::new(stored as u64));
    let mut runner = Runner::on(Thread::after(&model.graph, commits), model, order);
    if first.begun[turn] == stored {
        runner.run_from(turn);
    } else {
        runner.recover(turn);
    }
    let kept = results(commits);
    for ran in &runner.ran {
        assert!(!kept.contains(&ran.task), "{} ran again although its result was stored; {context}", ran.name);
    }
    runner
}

fn check_recovered(model: &Model, first: &Runner<'_>, recovered: &Runner<'_>, context: &str) {
    let known: BTreeMap<TaskId, &Ran> = first.ran.iter().map(|ran| (ran.task, ran)).collect();
    for ran in &recovered.ran {
        assert_eq!(known.get(&ran.task), Some(&ran), "{context}");
    }
    let (got, wanted) = (content(&recovered.thread), content(&first.thread));
    if model.saving == Saving::EveryStep {
        assert_same(&got, &wanted, context);
        return;
    }
    // Saved at exit, the borders on the way are chance; the last one is not.
    let (got, wanted) = (got.last().unwrap(), wanted.last().unwrap());
    let of = |thread: &Thread, one: &StoredCheckpoint| {
        let checkpoint = &one.checkpoint;
        (tracked(&thread.read(one).state), checkpoint.step, checkpoint.plan.clone(), checkpoint.turn.clone())
    };
    assert_eq!(of(&recovered.thread, got), of(&first.thread, wanted), "{context}");
}

/// The tasks whose results are in these commits.
fn results(commits: &[Commit]) -> BTreeSet<TaskId> {
    let writes = commits.iter().flat_map(|commit| &commit.ops).filter_map(|op| match op {
        superstep_checkpoint::Op::PutWrites { writes, .. } => Some(writes),
        _ => None,
    });
    writes.flatten().filter(|write| write.kind == WriteKind::Result).map(|write| write.task).collect()
}

#[test]
fn a_commit_sent_twice_changes_nothing() {
    for seed in 0..GRAPHS {
        let model = model(seed);
        let once = run(&model, Order::FirstStarted);
        let mut twice = Runner::new(&model, Order::FirstStarted);
        twice.twice = true;
        twice.run();
        assert_same(&content(&twice.thread), &content(&once.thread), &format!("seed {seed}\n{}", model.text));
    }
}

#[test]
fn every_border_reads_back_as_it_was() {
    let (mut compared, mut segments) = (0, 0);
    for seed in 0..GRAPHS {
        let model = model(seed);
        let runner = run(&model, Order::LastStarted);
        compared += runner.compared;
        segments += runner.thread.stored().iter().flat_map(|one| &one.values).filter(|value| value.parts.len() > 1).count();
    }
    println!("{compared} {segments}");
    assert!(compared > 5_000 && segments > 1_000, "{compared} borders, {segments} values in segments");
}
