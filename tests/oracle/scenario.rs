//! A scenario as it stands in its file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

/// A small graph, calls on it, and what the reference answered.
#[derive(Debug, Deserialize)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    pub(crate) graph: GraphSpec,
    /// Subgraphs, by name.
    #[serde(default)]
    graphs: Map<String, Value>,
    pub(crate) calls: Vec<CallSpec>,
    pub(crate) expect: Vec<Value>,
    /// Set where the reference is wrong: why.
    #[serde(default)]
    pub(crate) reference_fault: Option<String>,
    #[serde(default)]
    pub(crate) instead: Option<Instead>,
}

impl Scenario {
    pub(crate) fn has_subgraphs(&self) -> bool {
        !self.graphs.is_empty() || self.tags.iter().any(|tag| tag == "subgraph")
    }
}

/// The typed error with which a call must answer where the reference is wrong.
#[derive(Debug, Deserialize)]
pub(crate) struct Instead {
    pub(crate) call: usize,
    pub(crate) error: String,
}

/// A graph.
#[derive(Debug, Deserialize)]
pub(crate) struct GraphSpec {
    /// Channel and reducer, in the order of the file.
    pub(crate) state: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) input: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) output: Option<Vec<String>>,
    pub(crate) nodes: BTreeMap<String, NodeSpec>,
    #[serde(default)]
    pub(crate) edges: Vec<(Sources, String)>,
    #[serde(default)]
    pub(crate) branches: Vec<BranchSpec>,
    #[serde(default)]
    pub(crate) interrupt_before: Option<Names>,
    #[serde(default)]
    pub(crate) interrupt_after: Option<Names>,
    /// `false` for a graph without a store.
    #[serde(default)]
    pub(crate) checkpointer: Option<Value>,
}

/// Where an edge begins.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Sources {
    One(String),
    All(Vec<String>),
}

/// Names of nodes, or `"*"` for all.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Names {
    These(Vec<String>),
    Every(Star),
}

#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) enum Star {
    #[serde(rename = "*")]
    Star,
}

/// A node.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NodeSpec {
    #[serde(default)]
    pub(crate) run: Vec<Map<String, Value>>,
    #[serde(default)]
    pub(crate) defer: bool,
    #[serde(default)]
    pub(crate) retry: Option<u32>,
}

/// A conditional edge.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BranchSpec {
    pub(crate) from: String,
    pub(crate) route: Value,
    #[serde(default)]
    pub(crate) paths: Option<Paths>,
}

/// Where a conditional edge may lead.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Paths {
    List(Vec<String>),
    Map(BTreeMap<String, String>),
}

/// A call.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CallSpec {
    #[serde(rename = "do")]
    pub(crate) verb: String,
    /// Everything else that the file says of it.
    #[serde(flatten)]
    pub(crate) with: Map<String, Value>,
}

impl CallSpec {
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.with.get(key).and_then(Value::as_str)
    }

    pub(crate) fn names(&self, key: &str) -> Option<Vec<String>> {
        self.with.get(key).and_then(|value| serde_json::from_value(value.clone()).ok())
    }
}

/// Reads the scenarios of a folder, in the order of their names.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Scenario>, String> {
    let entries = folder.read_dir().map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> Result<Scenario, String> {
    let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| fault(&error))?;
    serde_json::from_str(&text).map_err(|error| fault(&error))
}
