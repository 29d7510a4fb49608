//! Graphs from a few lines of text.
//!
//! ```text
//! log: append          a channel and its reducer; a kind may follow, or `closed` (callers may not give it)
//! START -> a, b        edges
//! a, b => c            a waiting edge
//! c routed             routers stand at c (or at START)
//! d deferred           d runs when nothing else is left
//! e                    a node that only jumps reach
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_checkpoint::NodeName;
use superstep_pregel::{
    Draft, DynSchema, DynSchemaBuilder, END, Kind, NodeDraft, Place, Routing, START, Timing, Topology,
};

/// A graph over a state made at run time.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) topology: Arc<Topology>,
    pub(crate) schema: Arc<DynSchema>,
}

impl Graph {
    pub(crate) fn parse(text: &str) -> Self {
        let mut reading = Reading { schema: DynSchema::new(), ..Reading::default() };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
            reading.line(line);
        }
        reading.finish()
    }

    pub(crate) fn name(&self, place: Place) -> &str {
        self.topology.name_of(place).as_str()
    }
}

#[derive(Default)]
struct Reading {
    schema: DynSchemaBuilder,
    open: Vec<String>,
    nodes: BTreeMap<String, NodeDraft>,
    draft: Draft,
}

impl Reading {
    fn line(&mut self, line: &str) {
        if let Some((sources, target)) = line.split_once("=>") {
            let sources: Vec<String> = list(sources).map(|name| self.end(name)).collect();
            let target = self.end(target.trim());
            self.draft.waiting.push((sources, target));
        } else if let Some((source, targets)) = line.split_once("->") {
            let source = self.end(source.trim());
            for target in list(targets) {
                let target = self.end(target);
                self.draft.edges.push((source.clone(), target));
            }
        } else if let Some((name, kind)) = line.split_once(':') {
            self.channel(name.trim(), kind.trim());
        } else {
            self.place(line);
        }
    }

    fn channel(&mut self, name: &str, kind: &str) {
        let mut words = kind.split_whitespace();
        let schema = std::mem::take(&mut self.schema);
        self.schema = match words.next().unwrap() {
            "last" => schema.last(name),
            "append" => schema.append(name),
            "concat" => schema.concat(name),
            "add" => schema.add(name),
            "max" => schema.max(name),
            "merge" => schema.merge(name),
            "union" => schema.union(name),
            "messages" => schema.messages(name),
            "any" => schema.any(name),
            "untracked" => schema.untracked(name),
            "ephemeral" => schema.ephemeral(name),
            other => panic!("no reducer {other}"),
        };
        match words.next() {
            Some("closed") => return,
            Some("ephemeral") => self.schema = std::mem::take(&mut self.schema).kind(Kind::Ephemeral),
            Some(other) => panic!("no kind {other}"),
            None => {}
        }
        self.open.push(name.to_owned());
    }

    fn place(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let name = self.end(words.next().unwrap());
        for word in words {
            match (word, self.nodes.get_mut(&name)) {
                ("routed", Some(node)) => node.routing = Routing::Routed,
                ("routed", None) => self.draft.start = Routing::Routed,
                ("deferred", Some(node)) => node.timing = Timing::Deferred,
                _ => panic!("what is {word} at {name}?"),
            }
        }
    }

    /// The name of a node, which is there from now on, or of one of the ends.
    fn end(&mut self, name: &str) -> String {
        match name {
            "START" => START.to_owned(),
            "END" => END.to_owned(),
            name => {
                self.nodes.entry(name.to_owned()).or_insert_with(|| node(name));
                name.to_owned()
            }
        }
    }

    fn finish(mut self) -> Graph {
        let schema = self.schema.input(self.open).build().unwrap();
        "test".clone_into(&mut self.draft.name);
        self.draft.nodes = self.nodes.into_values().collect();
        let topology = Topology::new(self.draft, schema.channels()).unwrap();
        Graph { topology: Arc::new(topology), schema: Arc::new(schema) }
    }
}

fn node(name: &str) -> NodeDraft {
    NodeDraft { name: NodeName::new(name).unwrap(), timing: Timing::Eager, routing: Routing::Direct }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim)
}
