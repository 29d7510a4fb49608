//! What a node can ask of the engine while it runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_checkpoint::{NodeName, QuestionId, Step, TaskId, ThreadId};
use superstep_pregel::{Question, QuestionKey, TaskIdentity};

use crate::error::NodeError;
use crate::stream::CustomSink;

/// The engine, as a node sees it. Cheap to clone; take it as a parameter of a node.
///
/// ```
/// # use superstep_graph_core::{NodeResult, Runtime, NodeError};
/// # use serde_json::json;
/// # fn ask(rt: &Runtime) -> Result<bool, NodeError> {
/// let yes: bool = rt.interrupt(json!({ "refund": 4_200 }))?; // parks the run until somebody answers
/// # Ok(yes)
/// # }
/// ```
#[derive(Clone)]
pub struct Runtime {
    scope: Arc<TaskScope>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("node", &self.scope.node)
            .field("step", &self.scope.step)
            .field("attempt", &self.scope.attempt)
            .finish_non_exhaustive()
    }
}

/// Whether a task may ask questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MayAsk {
    Yes,
    /// The run has no thread: nobody could ever answer.
    NoThread,
}

/// One attempt of one task. Counters begin anew with each attempt.
pub(crate) struct TaskScope {
    pub(crate) identity: TaskIdentity,
    pub(crate) node: NodeName,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) step: Step,
    pub(crate) attempt: u32,
    pub(crate) remaining_steps: u64,
    pub(crate) may_ask: MayAsk,
    pub(crate) answers: Arc<BTreeMap<QuestionId, Arc<Value>>>,
    pub(crate) custom: Option<CustomSink>,
    pub(crate) unnamed: AtomicU32,
    pub(crate) asked: Mutex<Asked>,
}

/// What a task asked and did not get answered in this attempt.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) questions: Vec<Question>,
    /// It asked although nobody can answer.
    pub(crate) in_vain: bool,
}

impl Runtime {
    pub(crate) fn new(scope: TaskScope) -> Self {
        Self { scope: Arc::new(scope) }
    }

    pub(crate) fn take_asked(&self) -> Asked {
        std::mem::take(&mut *self.scope.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks a person (or whoever answers): the run is parked, nothing stays in memory, and once there is an answer the
    /// node runs again from its top and gets it here.
    ///
    /// Several questions of one node are matched by their order; use [`interrupt_as`](Self::interrupt_as) where code may
    /// change while a question is open. `T` is what the answer must be: its JSON Schema is stored with the question and
    /// an answer that does not fit is refused.
    ///
    /// # Errors
    /// Give the error on with `?`: it is how the run parks. A node that carries on regardless is parked all the same,
    /// and what it returns does not count. Without a thread the run fails with `NoStore`.
    pub fn interrupt<T: DeserializeOwned + JsonSchema>(&self, payload: impl Serialize) -> Result<T, NodeError> {
        let number = self.scope.unnamed.fetch_add(1, Ordering::Relaxed);
        self.ask(QuestionKey::Number(number), &payload)
    }

    /// Asks like [`interrupt`](Self::interrupt), and matches the answer by this key, which must differ from those of
    /// the node's other questions.
    ///
    /// # Errors
    /// As [`interrupt`](Self::interrupt).
    pub fn interrupt_as<T: DeserializeOwned + JsonSchema>(
        &self,
        key: impl Into<String>,
        payload: impl Serialize,
    ) -> Result<T, NodeError> {
        self.ask(QuestionKey::Name(key.into()), &payload)
    }

    fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        key: QuestionKey,
        payload: &impl Serialize,
    ) -> Result<T, NodeError> {
        let id = self.scope.identity.question(&key);
        if let Some(answer) = self.scope.answers.get(&id) {
            return T::deserialize(answer.as_ref()).map_err(|error| NodeError::answer(id, &error));
        }
        let payload = serde_json::to_value(payload).map_err(NodeError::payload)?;
        let mut asked = self.scope.asked.lock().unwrap_or_else(PoisonError::into_inner);
        match self.scope.may_ask {
            MayAsk::NoThread => asked.in_vain = true,
            MayAsk::Yes => asked.questions.push(Question {
                id,
                key,
                payload: Arc::new(payload),
                schema: Some(Arc::new(schemars::schema_for!(T).to_value())),
            }),
        }
        Err(NodeError::interrupted())
    }

    /// A key for a side effect: the same each time this task runs (retried, resumed, taken over), and different for
    /// every other task, turn, thread and fork. The name tells several effects of one node apart.
    ///
    /// Give it to services that honour idempotency keys and a payment that was made is not made again.
    pub fn idempotency_key(&self, name: &str) -> String {
        self.scope.identity.idempotency_key(name)
    }

    /// Shows something in the stream's `custom` mode. Does nothing if nobody listens. Each event carries the attempt it
    /// was made in.
    ///
    /// # Errors
    /// If the value has no JSON form.
    pub fn emit(&self, value: impl Serialize) -> Result<(), NodeError> {
        if let Some(sink) = &self.scope.custom {
            let value = serde_json::to_value(value).map_err(NodeError::payload)?;
            sink.send(self.scope.identity.id(), &self.scope.node, self.scope.attempt, value);
        }
        Ok(())
    }

    /// The node that runs.
    pub fn node(&self) -> &NodeName {
        &self.scope.node
    }

    /// The thread, if the run has one.
    pub fn thread(&self) -> Option<&ThreadId> {
        self.scope.thread.as_ref()
    }

    /// The number of the super-step.
    pub fn step(&self) -> Step {
        self.scope.step
    }

    /// The id of the task.
    pub fn task_id(&self) -> TaskId {
        self.scope.identity.id()
    }

    /// Which attempt of the task in this call it is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.scope.attempt
    }

    /// How many super-steps may follow this one in this call. Each call has the full limit.
    pub fn remaining_steps(&self) -> u64 {
        self.scope.remaining_steps
    }
}
