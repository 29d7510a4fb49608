//! The stored form of what tasks and callers leave: JSON objects inside envelopes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use superstep_checkpoint::{Codec, Digest, SealError};

use crate::output::{Dispatch, TaskOutput};
use crate::question::QuestionKey;
use crate::state::State;
use crate::topology::{Place, Target, Topology, UnknownNode};

/// A question as stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredQuestion {
    pub(crate) key: QuestionKey,
    /// Its place among the questions its task asked, so that they are listed in that order.
    #[serde(default)]
    pub(crate) order: u32,
    pub(crate) payload: Arc<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) schema: Option<Arc<Value>>,
}

/// A Send as stored inside a result.
#[derive(Serialize, Deserialize)]
struct StoredSend {
    node: String,
    arg: Arc<Value>,
}

#[derive(Serialize)]
struct Tail<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    goto: &'a [&'a str],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sends: &'a [StoredSend],
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<Digest>,
}

#[derive(Deserialize)]
struct StoredOutput<'a> {
    #[serde(borrow, default)]
    updates: Vec<&'a RawValue>,
    #[serde(default)]
    goto: Vec<String>,
    #[serde(default)]
    sends: Vec<StoredSend>,
    #[serde(default)]
    digest: Option<Digest>,
}

/// Bytes of an envelope before its body.
const HEADER: usize = 3;

/// Encodes what a task wrote, or a caller's command (then with its digest).
pub(crate) fn encode_output<S: State>(
    schema: &S::Schema,
    topology: &Topology,
    output: &TaskOutput<S::Update>,
    digest: Option<Digest>,
    codec: Codec,
) -> Result<Vec<u8>, SealError> {
    let mut bytes = Vec::new();
    for update in &output.updates {
        let body = S::encode_update(schema, update, codec)?;
        if bytes.is_empty() {
            bytes.extend_from_slice(&body[..HEADER]);
            bytes.extend_from_slice(b"{\"updates\":[");
        } else {
            bytes.push(b',');
        }
        bytes.extend_from_slice(&body[HEADER..]);
    }
    let goto: Vec<&str> = output.goto.iter().map(|node| topology.name_of(Place::Node(*node)).as_str()).collect();
    let sends: Vec<StoredSend> = output.sends.iter().map(|send| stored_send::<S>(schema, topology, send)).collect();
    let tail = codec.encode(&Tail { goto: &goto, sends: &sends, digest })?;
    if bytes.is_empty() {
        return Ok(tail);
    }
    bytes.push(b']');
    if tail.len() > HEADER + 2 {
        bytes.push(b',');
        bytes.extend_from_slice(&tail[HEADER + 1..]);
    } else {
        bytes.push(b'}');
    }
    Ok(bytes)
}

fn stored_send<S: State>(schema: &S::Schema, topology: &Topology, send: &Dispatch) -> StoredSend {
    StoredSend {
        node: topology.name_of(Place::Node(send.node)).to_string(),
        arg: without_untracked::<S>(schema, &send.arg),
    }
}

/// What a Send carries, without top-level keys that name untracked channels: those reach no store in any form.
pub(crate) fn without_untracked<S: State>(schema: &S::Schema, arg: &Arc<Value>) -> Arc<Value> {
    let untracked = |key: &str| {
        let is = |spec: &crate::channel::ChannelSpec| spec.kind == crate::channel::Kind::Untracked && spec.name == key;
        S::channels(schema).iter().any(is)
    };
    match arg.as_ref() {
        Value::Object(map) if map.keys().any(|key| untracked(key)) => {
            let kept = map.iter().filter(|(key, _)| !untracked(key));
            Arc::new(Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect()))
        }
        _ => Arc::clone(arg),
    }
}

/// Why a stored result cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OutputError {
    #[error(transparent)]
    Decode(#[from] SealError),
    #[error(transparent)]
    UnknownNode(#[from] UnknownNode),
}

/// Reads what [`encode_output`] wrote.
pub(crate) fn decode_output<S: State>(
    schema: &S::Schema,
    topology: &Topology,
    codec: Codec,
    body: &[u8],
) -> Result<(TaskOutput<S::Update>, Option<Digest>), OutputError> {
    let stored: StoredOutput<'_> = match codec {
        Codec::Json => serde_json::from_slice(body).map_err(SealError::Decode)?,
        _ => return Err(SealError::Damaged("its codec is unknown").into()),
    };
    let mut output = TaskOutput::default();
    for update in stored.updates {
        output.updates.push(S::decode_update(schema, codec, update.get().as_bytes())?);
    }
    for name in &stored.goto {
        if let Target::Node(node) = topology.target(name)? {
            output.goto.push(node);
        }
    }
    for send in stored.sends {
        output.sends.push(Dispatch { node: topology.node(&send.node)?, arg: send.arg });
    }
    Ok((output, stored.digest))
}
