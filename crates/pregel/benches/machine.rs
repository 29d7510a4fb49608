//! What the machine itself costs a step, without a driver: `cargo bench -p superstep-pregel`.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark")]

use std::sync::Arc;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use superstep_checkpoint::{
    ChannelName, CheckpointId, Codec, Digest, Epoch, NodeName, Seq, TenantId, ThreadId, ThreadKey,
};
use superstep_pregel::{
    Basis, Draft, DynSchema, DynState, DynUpdate, END, Effect, Ended, Event, Ground, Input, Machine, NodeDraft, Pauses,
    Routing, START, Saving, Settings, Start, State, TaskOutput, Timing, Topology, Watch,
};

fn chain(nodes: usize) -> Draft {
    let name = |n: usize| format!("n{n:05}");
    let mut draft = Draft { name: "chain".to_owned(), ..Draft::default() };
    draft.edges.push((START.to_owned(), name(0)));
    for n in 0..nodes {
        let to = if n + 1 == nodes { END.to_owned() } else { name(n + 1) };
        draft.edges.push((name(n), to));
        draft.nodes.push(NodeDraft {
            name: NodeName::new(name(n)).unwrap(),
            timing: Timing::Eager,
            routing: Routing::Direct,
        });
    }
    draft
}

fn machine(topology: &Arc<Topology>, schema: &Arc<DynSchema>, saving: Saving) -> Machine<DynState> {
    let key = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("bench").unwrap() }.root();
    let settings = Settings {
        saving,
        before: Pauses::Never,
        after: Pauses::Never,
        limit: u64::MAX,
        codec: Codec::Json,
        watch: Watch::default(),
    };
    let ground = Ground { key, position: None, basis: Basis::Head, last_seq: Seq(0), epoch: Epoch(0) };
    Machine::new(Arc::clone(topology), Arc::clone(schema), settings, ground)
}

/// Runs a chain to its end; every node writes one channel.
fn run(mut machine: Machine<DynState>) {
    let mut id = 0_u128;
    let mut mint = || {
        id += 1;
        CheckpointId::from_bytes(id.to_le_bytes())
    };
    let input = Input { output: TaskOutput::default(), digest: Digest::from_bytes([1; 16]), run: None };
    machine.handle(Event::Start(Start::Input(input)), &mut mint).unwrap();
    loop {
        match machine.next_effect() {
            Some(Effect::Run(task)) => {
                let mut output = TaskOutput::default();
                output.updates.push(DynUpdate::new().set("count", json!(1)));
                machine.handle(Event::TaskEnded { task, ended: Ended::Finished(output) }, &mut mint).unwrap();
            }
            Some(Effect::Finish(_)) => break,
            Some(_) => {}
            None => unreachable!("the machine waits for nothing"),
        }
    }
}

fn steps(criterion: &mut Criterion) {
    let schema = Arc::new(DynSchema::new().add("count").last("name").append("log").build().unwrap());
    let _: &ChannelName = &DynState::channels(&schema)[0].name;
    for (name, saving) in [("no store", Saving::Never), ("every step", Saving::EveryStep), ("at exit", Saving::AtExit)]
    {
        let mut group = criterion.benchmark_group(name);
        for nodes in [10, 1_000] {
            let topology = Arc::new(Topology::new(chain(nodes), DynState::channels(&schema)).unwrap());
            group.throughput(criterion::Throughput::Elements(nodes as u64));
            group.bench_function(BenchmarkId::new("chain", nodes), |bencher| {
                bencher.iter_batched(|| machine(&topology, &schema, saving), run, BatchSize::SmallInput);
            });
        }
        group.finish();
    }
}

criterion_group!(benches, steps);
criterion_main!(benches);
