//! Questions that tasks ask.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep_checkpoint::QuestionId;

/// How a question is matched when its task runs again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionKey {
    /// By its position among the unnamed questions of the task, counted from 0.
    Number(u32),
    /// By a name, so that code may change around it.
    Name(String),
}

/// A question as asked.
#[derive(Clone, PartialEq)]
pub struct Question {
    /// Its id, the same each time the task asks it.
    pub id: QuestionId,
    /// How it is matched.
    pub key: QuestionKey,
    /// What is asked.
    pub payload: Arc<Value>,
    /// The JSON Schema that an answer must fit, where the asker said one.
    pub schema: Option<Arc<Value>>,
}

impl std::fmt::Debug for Question {
    /// Shows which question it is, not what is asked: the payload may quote the state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Question({}, {:?})", self.id, self.key)
    }
}
