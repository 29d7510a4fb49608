//! Which of our ids each recorded one is.

use std::collections::HashMap;

use crate::term::NoValue;

/// A one-to-one map of recorded ids (`#0`, `#1`, …) to ours.
///
/// Where several things differ in nothing but their ids, it is at first not known which of ours is which of theirs: they
/// are kept as a [`Group`] until something tells them apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    actual: HashMap<String, String>,
    recorded: HashMap<String, String>,
    groups: Vec<Group>,
}

/// Things that differ in nothing but their ids: as many recorded ones as ours, each with its ids in order.
#[derive(Clone, Debug)]
struct Group {
    recorded: Vec<Vec<String>>,
    actual: Vec<Vec<String>>,
}

/// Whether an id is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Unknown,
    Known,
    /// It is in this group, the thing at this position.
    Grouped(usize, usize),
}

impl Ids {
    /// Our id for a recorded one. Where several may be it, it is the first from now on.
    pub(crate) fn actual(&mut self, symbol: &str) -> Result<String, NoValue> {
        if let Standing::Grouped(group, at) = self.standing_of_symbol(symbol) {
            self.pair(group, at, 0);
        }
        self.actual.get(symbol).cloned().ok_or_else(|| NoValue(format!("no answer has shown {symbol} yet")))
    }

    /// The recorded id for one of ours.
    pub(crate) fn symbol(&mut self, actual: &str) -> Option<&str> {
        if let Standing::Grouped(group, at) = self.standing_of_actual(actual) {
            self.pair(group, 0, at);
        }
        self.recorded.get(actual).map(String::as_str)
    }

    /// Takes both for the same, unless one is known to be another.
    pub(crate) fn bind(&mut self, symbol: &str, actual: &str) -> bool {
        match (self.standing_of_symbol(symbol), self.standing_of_actual(actual)) {
            (Standing::Unknown, Standing::Unknown) => {
                self.actual.insert(symbol.to_owned(), actual.to_owned());
                self.recorded.insert(actual.to_owned(), symbol.to_owned());
                true
            }
            (Standing::Known, Standing::Known) => self.actual.get(symbol).is_some_and(|known| known == actual),
            (Standing::Grouped(a, theirs), Standing::Grouped(b, ours)) if a == b => {
                self.pair(a, theirs, ours);
                self.bind(symbol, actual)
            }
            _ => false,
        }
    }

    pub(crate) fn standing_of_symbol(&self, symbol: &str) -> Standing {
        standing(&self.actual, symbol, self.groups.iter().map(|group| &group.recorded))
    }

    pub(crate) fn standing_of_actual(&self, actual: &str) -> Standing {
        standing(&self.recorded, actual, self.groups.iter().map(|group| &group.actual))
    }

    /// Two things of a group are the same.
    fn pair(&mut self, group: usize, theirs: usize, ours: usize) {
        let Group { recorded, actual } = &mut self.groups[group];
        let pairs: Vec<_> = recorded.remove(theirs).into_iter().zip(actual.remove(ours)).collect();
        if recorded.len() < 2 {
            let last = self.groups.remove(group);
            self.insert_all(last.recorded.into_iter().flatten().zip(last.actual.into_iter().flatten()));
        }
        self.insert_all(pairs);
    }

    fn insert_all(&mut self, pairs: impl IntoIterator<Item = (String, String)>) {
        for (symbol, actual) in pairs {
            self.actual.insert(symbol.clone(), actual.clone());
            self.recorded.insert(actual, symbol);
        }
    }

    /// Learns that these are the same in some order. All ids are unknown, or all are of one group.
    pub(crate) fn group(&mut self, recorded: Vec<Vec<String>>, actual: Vec<Vec<String>>) -> bool {
        let theirs: Vec<Standing> = recorded.iter().flatten().map(|id| self.standing_of_symbol(id)).collect();
        let ours: Vec<Standing> = actual.iter().flatten().map(|id| self.standing_of_actual(id)).collect();
        if theirs.iter().chain(&ours).all(|standing| *standing == Standing::Unknown) {
            self.groups.push(Group { recorded, actual });
            return true;
        }
        match (members(&theirs), members(&ours)) {
            (Some((a, theirs)), Some((b, ours))) if a == b && theirs.len() == ours.len() => {
                self.split(a, &theirs, &ours);
                true
            }
            _ => recorded.iter().zip(&actual).all(|(a, b)| a.iter().zip(b).all(|(a, b)| self.bind(a, b))),
        }
    }

    /// Some of a group are the same in some order, and so are the others.
    fn split(&mut self, group: usize, theirs: &[usize], ours: &[usize]) {
        if theirs.len() == self.groups[group].recorded.len() {
            return;
        }
        let Group { recorded, actual } = self.groups.remove(group);
        let (chosen, rest) = take(recorded, theirs);
        let (our_chosen, our_rest) = take(actual, ours);
        for (recorded, actual) in [(chosen, our_chosen), (rest, our_rest)] {
            match recorded.len() {
                1 => self.insert_all(recorded.into_iter().flatten().zip(actual.into_iter().flatten())),
                _ => self.groups.push(Group { recorded, actual }),
            }
        }
    }
}

fn standing<'g>(
    known: &HashMap<String, String>,
    id: &str,
    groups: impl Iterator<Item = &'g Vec<Vec<String>>>,
) -> Standing {
    if known.contains_key(id) {
        return Standing::Known;
    }
    let place = |things: &Vec<Vec<String>>| things.iter().position(|ids| ids.iter().any(|known| known == id));
    let found = groups.enumerate().find_map(|(group, things)| Some((group, place(things)?)));
    found.map_or(Standing::Unknown, |(group, at)| Standing::Grouped(group, at))
}

/// The one group to which all belong, and the positions in it.
fn members(standings: &[Standing]) -> Option<(usize, Vec<usize>)> {
    let mut found: Option<(usize, Vec<usize>)> = None;
    for standing in standings {
        let Standing::Grouped(group, at) = standing else { return None };
        let (known, positions) = found.get_or_insert((*group, Vec::new()));
        if known != group {
            return None;
        }
        if !positions.contains(at) {
            positions.push(*at);
        }
    }
    found
}

fn take(things: Vec<Vec<String>>, chosen: &[usize]) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (mut taken, mut rest) = (Vec::new(), Vec::new());
    for (at, thing) in things.into_iter().enumerate() {
        if chosen.contains(&at) { taken.push(thing) } else { rest.push(thing) }
    }
    (taken, rest)
}
