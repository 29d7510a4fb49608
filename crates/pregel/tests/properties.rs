//! What holds for every graph, whatever happens: tried on random graphs, the same ones each time.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use superstep_checkpoint::{
    CallPath, Change, Checkpoint, CheckpointId, Commit, Op, Seq, Source, StoredCheckpoint, TaskId, Write, WriteKind,
};
use superstep_pregel::Saving;

use support::model::Model;
use support::random::model;
use support::rng::Rng;
use support::runner::{Order, Ran, Runner, tracked};
use support::thread::Thread;

/// How many graphs are tried, if `SUPERSTEP_GRAPHS` says it.
fn wanted() -> Option<u64> {
    std::env::var("SUPERSTEP_GRAPHS").ok().map(|count| count.parse().unwrap())
}

fn models() -> impl Iterator<Item = Model> {
    (0..wanted().unwrap_or(500)).map(model)
}

fn run(model: &Model, order: Order) -> Runner<'_> {
    let mut runner = Runner::new(model, order);
    runner.run();
    runner
}

/// A checkpoint as it was put, and what stands on it.
#[derive(Debug, PartialEq)]
struct Content {
    checkpoint: Checkpoint,
    args: Vec<u8>,
    values: Vec<Change>,
    writes: BTreeMap<(TaskId, WriteKind, CallPath), Vec<u8>>,
}

/// What commits leave in a store. Checkpoints are known by their positions, since their ids are random.
fn content(commits: &[Commit]) -> BTreeMap<Seq, Content> {
    let (mut content, mut seqs) = (BTreeMap::new(), BTreeMap::new());
    for op in commits.iter().flat_map(|commit| &commit.ops) {
        match op {
            Op::PutCheckpoint(new) => {
                let mut checkpoint = new.checkpoint.clone();
                seqs.insert(checkpoint.id, checkpoint.seq);
                checkpoint.id = by_seq(checkpoint.seq);
                checkpoint.parent = checkpoint.parent.map(|parent| by_seq(seqs[&parent]));
                let (args, values) = (new.args.to_vec(), new.values.clone());
                content.insert(checkpoint.seq, Content { checkpoint, args, values, writes: BTreeMap::new() });
            }
            Op::PutWrites { checkpoint, writes } => {
                for write in writes {
                    put(&mut content, seqs[checkpoint], write);
                }
            }
            Op::Answer(answer) => put(&mut content, seqs[&answer.checkpoint], &answer.write()),
            _ => {}
        }
    }
    content
}

fn by_seq(seq: Seq) -> CheckpointId {
    support::thread::checkpoint_id(seq.0)
}

/// How often a task failed before it worked is chance, so errors do not count.
fn put(content: &mut BTreeMap<Seq, Content>, on: Seq, write: &Write) {
    if write.kind != WriteKind::Error {
        let place = (write.task, write.kind, write.path.clone());
        content.get_mut(&on).unwrap().writes.insert(place, write.bytes.to_vec());
    }
}

/// Shows only the first difference.
fn assert_same(got: &[Commit], wanted: &[Commit], model: &Model) {
    let (got, wanted) = (content(got), content(wanted));
    for (seq, wanted) in &wanted {
        assert_eq!(got.get(seq), Some(wanted), "{model}");
    }
    assert_eq!(got.len(), wanted.len(), "{model}");
}

#[test]
fn the_order_in_which_tasks_end_changes_nothing() {
    let (mut differing, mut ends) = (0, BTreeMap::new());
    for model in models() {
        let first = run(&model, Order::FirstStarted);
        first.ends.iter().for_each(|end| *ends.entry(*end).or_insert(0) += 1);
        for order in [Order::LastStarted, Order::Random(Rng::new(model.seed))] {
            let other = run(&model, order);
            if other.ended != first.ended {
                differing += 1;
                assert_same(&other.thread.commits, &first.thread.commits, &model);
                assert_eq!(other.values, first.values, "{model}");
            }
        }
    }
    // The test is worth something only if tasks really ended in other orders, and if calls ended in all ways.
    assert!(differing > 500, "only {differing} runs ended tasks in another order");
    for end in ["done", "interrupted", "paused", "failed", "clash", "out of steps"] {
        assert!(ends.get(end).is_some_and(|count| *count >= 50), "{end} is rare: {ends:?}");
    }
}

/// A crash loses the effects after the last commit; so there are as many different crashes as commits. Which tasks
/// were running does not matter to the next process, since it cannot know.
#[test]
fn a_process_may_die_after_every_effect() {
    let mut crashes = 0;
    for model in models() {
        let first = run(&model, Order::FirstStarted);
        for stored in deaths(&model, first.thread.commits.len()) {
            crashes += 1;
            check_crash(&model, &first, stored);
        }
    }
    assert!(crashes > 2_000, "{crashes}");
}

/// After how many commits a process dies: after each, for the first graphs or where the graphs were counted by hand; to
/// save time after three by chance for the others.
fn deaths(model: &Model, commits: usize) -> Vec<usize> {
    if model.seed < 50 || wanted().is_some() {
        return (0..=commits).collect();
    }
    let mut rng = Rng::new(model.seed);
    (0..3).map(|_| rng.below(commits + 1)).collect()
}

/// Another process goes on with what these commits stored, up to where the next turn began.
fn check_crash(model: &Model, first: &Runner<'_>, stored: usize) {
    let turn = first.begun.iter().rposition(|begun| *begun <= stored).unwrap();
    let (before, end) = (&first.thread.commits[..stored], first.begun.get(turn + 1));
    let wanted = &first.thread.commits[..end.copied().unwrap_or(first.thread.commits.len())];
    let order = Order::Random(Rng::new(stored as u64));
    let mut recovered = Runner::on(Thread::after(&model.graph, before), model, order);
    if first.begun[turn] == stored {
        recovered.run_turn(turn);
    } else {
        recovered.recover();
    }
    assert_ran_as_before(first, &recovered, &results(before), model);
    match model.saving {
        Saving::EveryStep => assert_same(&recovered.thread.commits, wanted, model),
        _ => assert_same_end(&recovered.thread, &Thread::after(&model.graph, wanted), model),
    }
}

/// The tasks whose results are in these commits.
fn results(commits: &[Commit]) -> BTreeSet<TaskId> {
    let writes = commits.iter().flat_map(|commit| &commit.ops).filter_map(|op| match op {
        Op::PutWrites { writes, .. } => Some(writes),
        _ => None,
    });
    writes.flatten().filter(|write| write.kind == WriteKind::Result).map(|write| write.task).collect()
}

/// No task runs again whose result was stored. Those that do are the tasks they were, to the outside too.
fn assert_ran_as_before(first: &Runner<'_>, recovered: &Runner<'_>, stored: &BTreeSet<TaskId>, model: &Model) {
    let known: BTreeMap<TaskId, &Ran> = first.ran.iter().map(|ran| (ran.task, ran)).collect();
    for ran in &recovered.ran {
        assert!(!stored.contains(&ran.task), "{ran:?} although its result was stored; {model}");
        assert_eq!(known.get(&ran.task), Some(&ran), "{model}");
    }
}

/// Saved at exit, the borders on the way are chance; the last one is not.
fn assert_same_end(got: &Thread, wanted: &Thread, model: &Model) {
    let end = |thread: &Thread| {
        let last: StoredCheckpoint = thread.stored().pop().unwrap();
        let checkpoint = &last.checkpoint;
        (tracked(&thread.read(&last).state), checkpoint.step, checkpoint.plan.clone(), checkpoint.turn.clone())
    };
    assert_eq!(end(got), end(wanted), "{model}");
}

#[test]
fn a_commit_sent_twice_changes_nothing() {
    for model in models().step_by(2) {
        let once = run(&model, Order::FirstStarted);
        let mut twice = Runner::new(&model, Order::FirstStarted);
        twice.twice = true;
        twice.run();
        assert_same(&twice.thread.commits, &once.thread.commits, &model);
    }
}

/// And while tasks run, what the others of their step left is stored.
#[test]
fn every_border_reads_back_as_it_was() {
    let (mut compared, mut segments, mut kept, mut forks) = (0, 0, 0, 0);
    for model in models() {
        let mut runner = Runner::new(&model, Order::LastStarted);
        runner.reads_back = true;
        runner.run();
        compared += runner.compared;
        kept += runner.kept;
        let stored = runner.thread.stored();
        forks += stored.iter().filter(|one| one.checkpoint.source == Source::Fork).count();
        segments += stored.iter().flat_map(|one| &one.values).filter(|value| value.parts.len() > 1).count();
    }
    assert!(compared > 5_000 && segments > 1_000, "{compared} borders, {segments} values in segments");
    assert!(kept > 1_000 && forks > 50, "{kept} records looked for, {forks} forks");
}
