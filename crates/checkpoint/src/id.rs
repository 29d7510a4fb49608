//! Names and ids, each a type of its own.
//!
//! Names given by users are checked once, here, so that every store accepts and refuses the same ones.
//! The rule for all of them: not empty (tenant and namespace excepted), at most 1,024 bytes of UTF-8, no NUL.
//! Everything else (quotes, braces, spaces at the ends, emoji) is allowed and never changes meaning.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The longest name a user may give, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 1_024;

/// Why a name was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidId {
    /// The name is empty.
    #[error("{what} is empty; give it a name of 1 to {MAX_NAME_BYTES} bytes")]
    Empty {
        /// What kind of name it is.
        what: &'static str,
    },
    /// The name is longer than [`MAX_NAME_BYTES`].
    #[error("{what} has {bytes} bytes, the most is {MAX_NAME_BYTES}; use a shorter name, or a hash of it")]
    TooLong {
        /// What kind of name it is.
        what: &'static str,
        /// Its length in bytes.
        bytes: usize,
    },
    /// The name holds a NUL character, which not every store can keep.
    #[error("{what} holds a NUL character at byte {at}; remove it")]
    Nul {
        /// What kind of name it is.
        what: &'static str,
        /// Where, in bytes from the start.
        at: usize,
    },
    /// The text is not the 32 hexadecimal digits of an id.
    #[error("{text:?} is not a {what}: 32 hexadecimal digits are expected")]
    NotHex {
        /// What kind of id it is.
        what: &'static str,
        /// The text given, cut to 64 characters.
        text: String,
    },
}

fn check(what: &'static str, name: &str, may_be_empty: bool) -> Result<(), InvalidId> {
    if name.is_empty() && !may_be_empty {
        return Err(InvalidId::Empty { what });
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(InvalidId::TooLong { what, bytes: name.len() });
    }
    match name.find('\0') {
        Some(at) => Err(InvalidId::Nul { what, at }),
        None => Ok(()),
    }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal, empty: $empty:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the name and keeps it.
            ///
            /// # Errors
            /// [`InvalidId`] if it is empty where that is not allowed, longer than [`MAX_NAME_BYTES`] or holds a NUL.
            pub fn new(name: impl AsRef<str>) -> Result<Self, InvalidId> {
                let name = name.as_ref();
                check($what, name, $empty)?;
                Ok(Self(Arc::from(name)))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(name: String) -> Result<Self, InvalidId> {
                Self::new(name)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = InvalidId;
            fn try_from(name: &str) -> Result<Self, InvalidId> {
                Self::new(name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.to_string()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    };
}

name! {
    /// One conversation or job; all its checkpoints share this name.
    ThreadId, "a thread id", empty: false
}
name! {
    /// Whose thread it is. The default tenant is `""`; a store handle of one tenant reaches no other.
    TenantId, "a tenant", empty: true
}
name! {
    /// The place of a graph inside a thread: `""` for the root graph, a path of segments for subgraphs.
    Namespace, "a namespace", empty: true
}
name! {
    /// A name for one call, given by the caller so that the call can be repeated safely.
    RunId, "a run id", empty: false
}
name! {
    /// The name of a node of a graph.
    NodeName, "a node name", empty: false
}
name! {
    /// The name of a channel: a field of the state.
    ChannelName, "a channel name", empty: false
}
name! {
    /// The position of a record inside its task: empty for the task's own, else a question id or a path of calls.
    CallPath, "a call path", empty: true
}

impl TenantId {
    /// Whether this is the default tenant, `""`.
    pub fn is_default(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for TenantId {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

impl Namespace {
    /// The namespace of the root graph, `""`.
    pub fn root() -> Self {
        Self(Arc::from(""))
    }

    /// Whether this is the root graph's namespace.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }
}

impl Default for CallPath {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

macro_rules! id128 {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; 16]);

        impl $name {
            /// The id of these 128 bits.
            pub const fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(bytes)
            }

            /// Its 128 bits.
            pub const fn as_bytes(&self) -> &[u8; 16] {
                &self.0
            }

            /// Reads 32 hexadecimal digits, as [`Display`](fmt::Display) writes them.
            ///
            /// # Errors
            /// [`InvalidId::NotHex`] for anything else.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                parse_hex(text)
                    .map(Self)
                    .ok_or_else(|| InvalidId::NotHex { what: $what, text: text.chars().take(64).collect() })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.to_string()
            }
        }
    };
}

fn write_hex(bytes: &[u8; 16], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0_u8; 32];
    for (i, byte) in bytes.iter().enumerate() {
        text[2 * i] = DIGITS[usize::from(byte >> 4)];
        text[2 * i + 1] = DIGITS[usize::from(byte & 15)];
    }
    f.write_str(std::str::from_utf8(&text).unwrap_or_default())
}

fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let digits = text.as_bytes();
    if digits.len() != 32 {
        return None;
    }
    let mut bytes = [0_u8; 16];
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = hex_digit(digits[2 * i])? << 4 | hex_digit(digits[2 * i + 1])?;
    }
    Some(bytes)
}

fn hex_digit(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

id128! {
    /// A checkpoint: 128 random bits given by whoever makes it, so that a commit whose outcome is in doubt can be
    /// recognised later.
    CheckpointId, "checkpoint id"
}
id128! {
    /// A task: one execution of one node in one super-step. Derived from where the task stands, so it is the same
    /// when the step runs again.
    TaskId, "task id"
}
id128! {
    /// A question asked by a task with `interrupt`.
    QuestionId, "question id"
}
id128! {
    /// A line of work: forks, and runs on a deleted thread, open a new one, so that their side effects are their own.
    LineageId, "lineage id"
}
id128! {
    /// A digest of what began a turn (an input or an edit).
    Digest, "digest"
}
id128! {
    /// Who holds a thread: one process start of one worker, never used again.
    OwnerId, "owner id"
}
id128! {
    /// 128 random bits that mark one attempt to answer, so that an answer whose commit is in doubt can be recognised.
    AnswerToken, "answer token"
}

impl From<QuestionId> for CallPath {
    /// The path under which a question and its answer are recorded: the text of its id.
    fn from(question: QuestionId) -> Self {
        Self(Arc::from(question.to_string()))
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The number of a super-step in its thread: −1 for the first input, 0 for its arrival, 1 for the first nodes.
    Step, i64
}
number! {
    /// The position of a checkpoint in its (thread, namespace), over all branches, counted from 1.
    Seq, u64
}
number! {
    /// Whose values a checkpoint reads: the [`Seq`] of the first checkpoint of its branch.
    Branch, u64
}
number! {
    /// How often a thread changed hands or was deleted. Never decreases; 0 for a thread that never was.
    Epoch, u64
}

/// A thread of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadKey {
    /// Whose thread.
    pub tenant: TenantId,
    /// Which thread.
    pub thread: ThreadId,
}

impl ThreadKey {
    /// The key of the root graph of this thread.
    pub fn root(&self) -> NamespaceKey {
        self.namespace(Namespace::root())
    }

    /// The key of a namespace of this thread.
    pub fn namespace(&self, namespace: Namespace) -> NamespaceKey {
        NamespaceKey { thread: self.clone(), namespace }
    }
}

impl fmt::Display for ThreadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.tenant.is_default() {
            write!(f, "{:?}", self.thread)
        } else {
            write!(f, "{:?} of tenant {:?}", self.thread, self.tenant)
        }
    }
}

/// A namespace of a thread: where a checkpoint lives.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NamespaceKey {
    /// The thread.
    pub thread: ThreadKey,
    /// The graph inside it.
    pub namespace: Namespace,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_for_all_names() {
        assert_eq!(ThreadId::new(""), Err(InvalidId::Empty { what: "a thread id" }));
        assert!(matches!(ThreadId::new("é".repeat(513)), Err(InvalidId::TooLong { bytes: 1026, .. })));
        assert!(matches!(ThreadId::new("a\0b"), Err(InvalidId::Nul { at: 1, .. })));
        for fine in ["a", " a ", "{\"'}", "🦀", &"x".repeat(1024)] {
            assert_eq!(ThreadId::new(fine).unwrap().as_str(), fine);
        }
        assert!(TenantId::new("").unwrap().is_default());
    }

    #[test]
    fn ids_survive_their_text() {
        let id = CheckpointId::from_bytes([0x0f, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff]);
        assert_eq!(id.to_string(), "0f0102030405060708090a0b0c0d0eff");
        assert_eq!(CheckpointId::parse(&id.to_string()), Ok(id));
        assert!(CheckpointId::parse("zz").is_err());
        assert!(CheckpointId::parse(&"é".repeat(16)).is_err());
    }
}
