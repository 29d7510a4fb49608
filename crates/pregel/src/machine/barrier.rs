//! The end of a super-step: all its updates are checked whole, applied as one batch, and what comes next is planned.

use std::sync::Arc;

use smallvec::SmallVec;
use superstep_checkpoint::{NodeName, Source};

use crate::channel::ChannelSet;
use crate::effect::{End, InvalidUpdate};
use crate::state::{Author, Moment, State, WantUndo};
use crate::topology::Place;

use super::check::invalid;
use super::save::PutNow;
use super::slot::{Ahead, Phase, Slot};
use super::step::Pass;
use super::{Flow, Machine, Mint, Purpose};

impl<S: State> Machine<S> {
    /// All tasks of the step ended.
    pub(super) fn end_step(&mut self, mint: Mint<'_>) -> Flow {
        self.emit_questions();
        if self.slots.iter().any(|slot| matches!(slot.phase, Phase::Failed { .. })) {
            return Err(Box::new(End::Failed { tasks: self.failed() }));
        }
        if self.slots.iter().any(|slot| matches!(slot.phase, Phase::Asked(_))) {
            return self.interrupt();
        }
        self.check_batch().map_err(|clash| Box::new(End::Clash(clash)))?;
        self.cross(mint)
    }

    /// Tasks wait for answers. What the others finished is shown, though it is applied only once all are.
    fn interrupt(&mut self) -> Flow {
        // Before anything is shown in the state: what is stored is the border as it was.
        self.put_rest()?;
        if self.show_finished() {
            self.emit_values();
        }
        Err(Box::new(End::Interrupted))
    }

    /// Applies what finished tasks wrote to the state that is shown, if any finished; whether they wrote something.
    pub(super) fn show_finished(&mut self) -> bool {
        let mut finished = self.slots.iter().filter_map(Slot::output).peekable();
        if finished.peek().is_none() || self.check_batch().is_err() {
            return false;
        }
        let updates = finished.flat_map(|output| output.updates.iter().cloned()).collect();
        let wrote = self.wrote_something();
        Arc::make_mut(&mut self.state).apply(&self.schema, updates, Moment::Step, WantUndo::No);
        wrote
    }

    /// Whether the updates of all finished tasks go together.
    pub(super) fn check_batch(&self) -> Result<(), InvalidUpdate> {
        if self.applied_ahead() {
            return Ok(());
        }
        let mut batch: SmallVec<[(Author, &S::Update); 2]> = SmallVec::new();
        for (author, slot) in (0_u32..).zip(&self.slots) {
            let updates = slot.output().into_iter().flat_map(|output| &output.updates);
            batch.extend(updates.map(|update| (Author(author), update)));
        }
        if batch.len() < 2 && self.slots.len() < 2 {
            return Ok(()); // it was checked by itself
        }
        self.state.check(&self.schema, &batch).map_err(|rejection| {
            let nodes = rejection.authors.iter().map(|author| self.author_name(*author)).collect();
            invalid(rejection, nodes)
        })
    }

    fn author_name(&self, author: Author) -> NodeName {
        let place = self.slots.get(author.0 as usize).map_or(Place::Start, |slot| slot.place);
        self.topology.name_of(place).clone()
    }

    fn applied_ahead(&self) -> bool {
        matches!(self.slots[..], [ref slot] if matches!(slot.phase, Phase::Finished { ahead: Some(_), .. }))
    }

    pub(super) fn wrote_something(&self) -> bool {
        let mut written = ChannelSet::default();
        for output in self.slots.iter().filter_map(|slot| slot.output()) {
            output.updates.iter().for_each(|update| S::written(&self.schema, update, &mut written));
        }
        !written.is_empty()
    }

    /// From one border to the next.
    fn cross(&mut self, mint: Mint<'_>) -> Flow {
        let shows = self.settings.watch.values && self.wrote_something();
        self.put_results();
        let stops = self.stops_after();
        self.plan_next();
        self.apply_step();
        self.forget_step();
        self.slots.clear();
        if self.purpose != Purpose::Run {
            self.border(Source::Update, PutNow::Always, mint)?;
            return Err(Box::new(End::Done));
        }
        self.border(Source::Loop, PutNow::BySaving, mint)?;
        if shows {
            self.emit_values();
        }
        self.emit_checkpoint();
        self.pause(stops)?;
        self.begin_step(Pass::Stop, mint)
    }

    fn stops_after(&self) -> Vec<NodeName> {
        let held = |place: Place| match place {
            Place::Start => false,
            Place::Node(node) => self.settings.after.hold(node),
        };
        let slots = self.slots.iter().filter(|slot| held(slot.place));
        slots.map(|slot| self.topology.name_of(slot.place).clone()).collect()
    }

    fn plan_next(&mut self) {
        let frontier = std::mem::take(&mut self.frontier);
        let passed = self.slots.iter().filter_map(Slot::passed);
        self.frontier = match self.purpose {
            Purpose::Run => frontier.advance(&self.topology, passed),
            Purpose::Edit { .. } => frontier.edit(&self.topology, passed),
        };
    }

    fn apply_step(&mut self) {
        if let Some(ahead) = self.take_ahead() {
            self.ledger.note(S::channels(&self.schema), &ahead.changes);
            return;
        }
        let mut updates: SmallVec<[S::Update; 2]> = SmallVec::new();
        for slot in &mut self.slots {
            updates.extend(slot.take_updates());
        }
        self.apply_batch(updates);
    }

    fn take_ahead(&mut self) -> Option<Ahead<S>> {
        match &mut self.slots[..] {
            [slot] => match &mut slot.phase {
                Phase::Finished { ahead, .. } => ahead.take(),
                _ => None,
            },
            _ => None,
        }
    }
}
