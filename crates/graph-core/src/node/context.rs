//! Things that nodes share: clients, settings, handles; given once when the graph is built or for one call.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

/// A thing given with `.context(..)`, taken as a parameter of a node. Dereferences to it.
pub struct Context<T>(pub(crate) Arc<T>);

impl<T> std::ops::Deref for Context<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Context<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Context<T> {
    /// Wraps a thing, for calling a node by hand in a test.
    pub fn new(thing: T) -> Self {
        Self(Arc::new(thing))
    }

    /// The shared thing.
    pub fn into_inner(self) -> Arc<T> {
        self.0
    }
}

impl<T> std::fmt::Debug for Context<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context<{}>", std::any::type_name::<T>())
    }
}

/// A context that a node takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    pub(crate) id: TypeId,
    pub(crate) name: &'static str,
}

impl Need {
    pub(crate) fn of<T: Send + Sync + 'static>() -> Self {
        Self { id: TypeId::of::<T>(), name: std::any::type_name::<T>() }
    }

    /// The name of the type.
    pub fn type_name(&self) -> &'static str {
        self.name
    }
}

/// All contexts of a run, one of each type.
#[derive(Clone, Default)]
pub struct Contexts(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl std::fmt::Debug for Contexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Contexts({})", self.0.len())
    }
}

impl Contexts {
    pub(crate) fn insert<T: Send + Sync + 'static>(&mut self, thing: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(thing));
    }

    pub(crate) fn has(&self, need: Need) -> bool {
        self.0.contains_key(&need.id)
    }

    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Context<T>> {
        let thing = Arc::clone(self.0.get(&TypeId::of::<T>())?);
        thing.downcast().ok().map(Context)
    }

    /// These, with those of a call in front.
    pub(crate) fn overlaid(&self, call: &Self) -> Self {
        let mut all = self.0.clone();
        all.extend(call.0.iter().map(|(id, thing)| (*id, Arc::clone(thing))));
        Self(all)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
