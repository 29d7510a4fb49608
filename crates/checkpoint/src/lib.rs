//! The storage contract of superstep.
//!
//! Everything that leaves the process is described here: [ids](crate::id), [checkpoints](Checkpoint),
//! the one mutating call [`Checkpointer::commit`], the [`Sealer`] through which all bytes pass, and
//! [`Memory`], the store that keeps everything in the process and serves as the reference for the others.
//!
//! # The contract in short
//!
//! * A **thread** is one conversation or job. It belongs to a tenant (`""` unless asked otherwise).
//! * Inside a thread, each **namespace** (the root graph is `""`, subgraphs have their own) is a tree of
//!   checkpoints with one **head**. "Latest" always means the head, never the greatest clock value.
//! * [`Commit`] = a key, a [`Guard`] and a list of [`Op`]s. It is atomic: every op is applied and durable as the
//!   store [guarantees](Guarantees), or nothing is. The guard names what the caller believes is stored; if that has
//!   changed the answer is [`CommitError::HeadMoved`] or [`CommitError::Fenced`] and nothing is written.
//! * A checkpoint stores only the channels that changed. Append channels store [segments](PartKind::Segment) after a
//!   [base](PartKind::Base). A fork opens a new [`Branch`] and writes a base of every channel, so a read never leaves
//!   its branch.
//! * Between two checkpoints, what tasks finished, asked or failed with is kept as [`Write`]s on the checkpoint that
//!   scheduled them, keyed by (task, kind, call path): writing one again replaces it.
//! * Stores never look inside a value. They get sealed bytes and give them back.
//!
//! # What is deliberately absent
//!
//! No engine, no runtime, no clock for decisions and no randomness: ids and times are given by the caller.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

pub mod id;

mod checkpoint;
mod checkpointer;
mod commit;
mod error;
mod guarantee;
mod memory;
mod sealer;
mod tenant;
mod thread;
mod validity;
mod view;
mod write;

pub use checkpoint::{Arrivals, Checkpoint, GraphStamp, Metadata, Plan, PlannedTask, RunStamp, Source, Turn};
pub use checkpointer::{Checkpointer, CheckpointerExt, StoreInstance};
pub use commit::{Answer, Change, Commit, Expect, Fence, Guard, NewCheckpoint, Op, PartKind};
pub use error::{CommitError, FoundHead, OpenError, Retry, StoreError, StoreErrorKind};
pub use guarantee::{Abilities, Ability, Durable, Guarantees};
pub use id::{
    AnswerToken, Branch, CallPath, ChannelName, CheckpointId, Digest, Epoch, InvalidId, LineageId, Namespace,
    NamespaceKey, NodeName, OwnerId, QuestionId, RunId, Seq, Step, TaskId, TenantId, ThreadId, ThreadKey,
};
pub use memory::Memory;
pub use sealer::{Codec, Limits, Place, SealError, Sealer, ValueKind, masked};
pub use tenant::Tenant;
pub use thread::{Status, ThreadRow};
pub use view::{At, ListQuery, NamespaceRow, Part, StoredCheckpoint, StoredValue, View};
pub use write::{Write, WriteKind};
