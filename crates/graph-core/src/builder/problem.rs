//! What can be wrong with a graph.

use std::fmt;

use superstep_checkpoint::InvalidId;
use superstep_pregel::UnknownNode;

/// A graph that cannot be compiled, with everything that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InvalidGraph {
    /// The graph's name.
    pub graph: String,
    /// What is wrong, at least one problem.
    pub problems: Vec<Problem>,
}

impl fmt::Display for InvalidGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "graph {:?} cannot be compiled: ", self.graph)?;
        if let [problem] = &self.problems[..] {
            return problem.fmt(f);
        }
        write!(f, "{} problems", self.problems.len())?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n- {problem}"))
    }
}

impl std::error::Error for InvalidGraph {}

/// One thing that is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// There are no nodes.
    #[error("the graph has no nodes; add one with `.node(name, f)`")]
    NoNodes,
    /// Nothing leads from START.
    #[error("nothing leads from START, so no node would ever run; add `.edge(START, ..)` or `.branch(START, ..)`")]
    NoEntry,
    /// Two nodes have one name.
    #[error("there are several nodes named {name:?}; give each a name of its own")]
    DuplicateNode {
        /// The name.
        name: String,
    },
    /// A node has a name that the engine keeps for itself.
    #[error("{name:?} is no name for a node: names that begin with two underscores are reserved")]
    ReservedName {
        /// The name.
        name: String,
    },
    /// A name of a node, or of the graph, is empty, too long or holds a NUL.
    #[error(transparent)]
    InvalidName(#[from] InvalidId),
    /// A node's name holds a character that separates names elsewhere.
    #[error("the node name {name:?} holds {character:?}, which separates names in namespaces; use another character")]
    ForbiddenCharacter {
        /// The name.
        name: String,
        /// The character.
        character: char,
    },
    /// Something names a node that is not there.
    #[error("{site} names the node {name:?}, which the graph does not have{}", did_you_mean(.similar.as_deref()))]
    UnknownNode {
        /// The name.
        name: String,
        /// What names it.
        site: Site,
        /// A node whose name is nearly the same.
        similar: Option<String>,
    },
    /// Something begins at END.
    #[error("{site} begins at END, where every path ends; begin at a node, or at START")]
    EndAsSource {
        /// What begins there.
        site: Site,
    },
    /// Something leads to START.
    #[error("{site} leads to START, where only turns begin; lead to the node that is to run again")]
    StartAsTarget {
        /// What leads there.
        site: Site,
    },
    /// A waiting edge waits for nothing.
    #[error("the waiting edge to {to:?} has no sources; name the nodes it waits for")]
    NoSources {
        /// Where it leads.
        to: String,
    },
    /// A waiting edge waits for START.
    #[error("the waiting edge to {to:?} waits for START, which every turn begins with; leave it out")]
    WaitsForStart {
        /// Where it leads.
        to: String,
    },
    /// A waiting edge names a source twice.
    #[error("the waiting edge to {to:?} names {node:?} more than once; name each source once")]
    DuplicateSource {
        /// The source.
        node: String,
        /// Where it leads.
        to: String,
    },
    /// A branch with a list of paths has none.
    #[error(
        "the branch at {from:?} has an empty list of paths, so every answer would be an error; list where it may lead"
    )]
    NoPaths {
        /// Where it stands.
        from: String,
    },
    /// A branch names a key twice.
    #[error("the branch at {from:?} has several paths for {key:?}; give each key one node")]
    DuplicateKey {
        /// Where it stands.
        from: String,
        /// The key.
        key: String,
    },
    /// Several contexts of one type were given.
    #[error(
        "several contexts of type {context} were given, and a node could get only one; wrap them in types of their own"
    )]
    DuplicateContext {
        /// The type.
        context: &'static str,
    },
    /// No step may run.
    #[error("the limit is 0 steps, so nothing could run; give at least 1")]
    ZeroLimit,
    /// Asynchronous durability without any lag.
    #[error("`Durability::Async` with a lag of 0 steps; give at least 1, or use `Durability::Sync`")]
    ZeroLag,
    /// A node may never be tried.
    #[error("the retry policy of node {node:?} allows 0 attempts, but the first counts; give at least 1")]
    ZeroAttempts {
        /// The node.
        node: String,
    },
    /// The interval between attempts would shrink, or be no number.
    #[error("the retry policy of node {node:?} has a factor that is no number of at least 1")]
    InvalidFactor {
        /// The node.
        node: String,
    },
}

impl From<UnknownNode> for Problem {
    fn from(unknown: UnknownNode) -> Self {
        Self::UnknownNode { name: unknown.name, site: Site::Graph, similar: None }
    }
}

fn did_you_mean(similar: Option<&str>) -> String {
    similar.map(|name| format!("; did you mean {name:?}?")).unwrap_or_default()
}

/// Which part of a graph has a [`Problem`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Site {
    /// The graph as a whole.
    Graph,
    /// An edge.
    Edge {
        /// Where it begins.
        from: String,
        /// Where it leads.
        to: String,
    },
    /// A waiting edge.
    WaitingEdge {
        /// What it waits for.
        sources: Vec<String>,
        /// Where it leads.
        to: String,
    },
    /// A branch.
    Branch {
        /// Where it stands.
        from: String,
    },
    /// A path of a branch.
    Path {
        /// Where the branch stands.
        from: String,
        /// The key.
        key: String,
    },
    /// `interrupt_before`.
    InterruptBefore,
    /// `interrupt_after`.
    InterruptAfter,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Graph => f.write_str("the graph"),
            Self::Edge { from, to } => write!(f, "the edge {from:?} -> {to:?}"),
            Self::WaitingEdge { sources, to } => write!(f, "the waiting edge {sources:?} -> {to:?}"),
            Self::Branch { from } => write!(f, "the branch at {from:?}"),
            Self::Path { from, key } => write!(f, "the path {key:?} of the branch at {from:?}"),
            Self::InterruptBefore => f.write_str("`interrupt_before`"),
            Self::InterruptAfter => f.write_str("`interrupt_after`"),
        }
    }
}
