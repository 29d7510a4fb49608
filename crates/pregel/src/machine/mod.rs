//! The super-step machine: [`Machine::handle`] takes an event, [`Machine::next_effect`] gives what it wants done.
//!
//! One call in a picture:
//!
//! ```text
//! Start ─► border ─► begin step ─► Run each task ─► TaskEnded … ─► barrier ─► border ─► … ─► Finish
//!          (Put)     (pauses,      (Put what ended)               (check, apply,
//!                     limit)                                       what comes next)
//! ```
//!
//! Storing comes before showing: of the effects of one event, every [`Effect::Put`] is given before any other.

mod answer;
mod barrier;
mod check;
mod edit;
mod ledger;
mod line;
mod look;
mod save;
mod slot;
mod start;
mod step;
mod view;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, Codec, Epoch, NamespaceKey, QuestionId, Seq, Status, Step, TaskId, Turn};

use crate::channel::{ChannelSpec, Kind};
use crate::effect::{Basis, Effect, End, Event, Put, Refusal};
use crate::frontier::Frontier;
use crate::identity::{TurnIdentity, extend, first_lineage};
use crate::position::{Patch, Position, Record};
use crate::state::{Moment, State, WantUndo};
use crate::topology::{NodeIndex, Topology};
use ledger::Ledger;
use line::Line;
use slot::Slot;

pub use view::{Abandoned, Progress, TaskView};

/// When checkpoints are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Saving {
    /// Never: there is no store, nothing is encoded.
    Never,
    /// At every step, results of parallel tasks as they end.
    EveryStep,
    /// Once, at the end of the call.
    AtExit,
}

/// Nodes to stop at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pauses {
    /// None.
    #[default]
    Never,
    /// Every node.
    Everywhere,
    /// These.
    At(Vec<NodeIndex>),
}

impl Pauses {
    fn hold(&self, node: NodeIndex) -> bool {
        match self {
            Self::Never => false,
            Self::Everywhere => true,
            Self::At(nodes) => nodes.contains(&node),
        }
    }
}

/// How a call is to be run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When checkpoints are stored.
    pub saving: Saving,
    /// Nodes to stop before.
    pub before: Pauses,
    /// Nodes to stop after.
    pub after: Pauses,
    /// The most steps of nodes in this call; the arrival of the input does not count.
    pub limit: u64,
    /// How values are encoded.
    pub codec: Codec,
    /// What is shown.
    pub watch: crate::signal::Watch,
}

/// Where a call begins.
pub struct Ground<S: State> {
    /// Tenant, thread and namespace.
    pub key: NamespaceKey,
    /// The checkpoint to go on from; none on a thread that never ran.
    pub position: Option<Position<S>>,
    /// Whether it is the head.
    pub basis: Basis,
    /// The greatest position used in the namespace.
    pub last_seq: Seq,
    /// The epoch of the thread for this call.
    pub epoch: Epoch,
}

impl<S: State> std::fmt::Debug for Ground<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground").field("key", &self.key).field("basis", &self.basis).finish_non_exhaustive()
    }
}

/// Gives ids to new checkpoints: random, so that a commit in doubt can be recognised.
pub type Mint<'a> = &'a mut dyn FnMut() -> CheckpointId;

/// What stops the flow of a call early.
type Flow = Result<(), Box<End>>;

/// The machine of one call.
#[derive(Debug)]
pub struct Machine<S: State> {
    topology: Arc<Topology>,
    schema: Arc<S::Schema>,
    settings: Settings,
    key: NamespaceKey,
    turn: Turn,
    identity: TurnIdentity,
    state: Arc<S>,
    step: Step,
    frontier: Frontier,
    /// What earlier calls left on the checkpoint in hand. Empty from the first barrier on.
    records: BTreeMap<TaskId, Record<S::Update>>,
    /// All answers on the checkpoint in hand.
    answers: Arc<BTreeMap<QuestionId, Arc<Value>>>,
    patches: Vec<Patch<S::Update>>,
    unput_patches: usize,
    basis: Basis,
    line: Line,
    ledger: Ledger,
    slots: Vec<Slot<S>>,
    running: usize,
    fleeting: Fleeting,
    steps_run: u64,
    purpose: Purpose,
    abandoned: Vec<Abandoned>,
    standing: Option<Status>,
    puts: VecDeque<Put>,
    rest: VecDeque<Effect<S>>,
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// To run.
    Run,
    /// To make one edit and stop.
    Edit {
        /// The task of the step in hand that the edit counts for.
        stands_for: Option<TaskId>,
    },
}

/// Whether the state has channels that a step clears by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fleeting {
    Some,
    None,
}

impl<S: State> Machine<S> {
    /// A machine for one call.
    pub fn new(topology: Arc<Topology>, schema: Arc<S::Schema>, settings: Settings, ground: Ground<S>) -> Self {
        let fleeting = if S::channels(&schema).iter().any(is_fleeting) { Fleeting::Some } else { Fleeting::None };
        let turn = Turn {
            lineage: first_lineage(ground.epoch),
            digest: superstep_checkpoint::Digest::from_bytes([0; 16]),
            run: None,
        };
        let mut machine = Self {
            identity: TurnIdentity::new(&ground.key, &turn),
            state: Arc::new(S::initial(&schema)),
            line: Line::new(ground.last_seq),
            ledger: Ledger::default(),
            topology,
            schema,
            settings,
            key: ground.key,
            turn,
            step: Step(-2),
            frontier: Frontier::default(),
            records: BTreeMap::new(),
            answers: Arc::default(),
            patches: Vec::new(),
            unput_patches: 0,
            basis: ground.basis,
            slots: Vec::new(),
            running: 0,
            fleeting,
            steps_run: 0,
            purpose: Purpose::Run,
            abandoned: Vec::new(),
            standing: None,
            puts: VecDeque::new(),
            rest: VecDeque::new(),
        };
        if let Some(position) = ground.position {
            machine.stand_at(position);
        }
        machine
    }

    fn stand_at(&mut self, position: Position<S>) {
        self.line.stand_at(&position);
        self.identity = TurnIdentity::new(&self.key, &position.turn);
        self.turn = position.turn;
        self.step = position.step;
        self.frontier = position.frontier;
        self.ledger = Ledger::new(position.written, position.sizes);
        let answers = position.records.values().flat_map(|record| &record.answers);
        self.answers = Arc::new(answers.map(|(id, value)| (*id, Arc::clone(value))).collect());
        self.records = position.records;
        self.state = Arc::new(position.state);
        for patch in position.patches {
            self.add_patch(patch);
        }
    }

    /// Takes a caller's command on: its update now, what it starts with the step. It was checked when it was given.
    fn add_patch(&mut self, patch: Patch<S::Update>) {
        let output = &patch.output;
        let state = Arc::make_mut(&mut self.state);
        let applied = state.apply(&self.schema, output.updates.iter().cloned().collect(), Moment::Patch, WantUndo::No);
        self.ledger.note(S::channels(&self.schema), &applied.changes);
        let by = extend(self.turn.digest, patch.digest);
        self.frontier.add_command(&self.topology, &output.goto, &output.sends, by);
        self.patches.push(patch);
    }

    /// Takes an event and decides.
    ///
    /// # Errors
    /// [`Refusal`] only for [`Event::Start`]: the call is refused, there are no effects, and the machine is of no further use.
    pub fn handle(&mut self, event: Event<S::Update>, mint: Mint<'_>) -> Result<(), Refusal> {
        let flow = match event {
            Event::Start(start) => {
                // A refused call leaves nothing, not even what was on its way when it turned out to be wrong.
                let flow = self.start(start, mint).inspect_err(|_| self.puts.clear())?;
                if flow.is_ok() {
                    self.put_ready();
                }
                flow
            }
            Event::Returned { task, output } => self.returned(task, output, mint),
            Event::Retried { task } => {
                self.retried(task);
                Ok(())
            }
            Event::TaskEnded { task, ended } => self.task_ended(task, ended, mint),
        };
        if let Err(end) = flow {
            self.finish(*end);
        }
        Ok(())
    }

    /// The next thing to do, if any.
    pub fn next_effect(&mut self) -> Option<Effect<S>> {
        self.puts.pop_front().map(Effect::Put).or_else(|| self.rest.pop_front())
    }
}

fn is_fleeting(spec: &ChannelSpec) -> bool {
    matches!(spec.kind, Kind::Ephemeral | Kind::Any)
}
