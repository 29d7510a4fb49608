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
#[derive(Clone, Debug, PartialEq)]
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
