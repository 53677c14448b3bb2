//! Copy-on-write values: a simulation and the writers of a group begin with the same data, which is copied on the first
//! change.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// A value that clones share until one of them changes it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyOnWrite<T>(Arc<T>);

impl<T> CopyOnWrite<T> {
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Deref for CopyOnWrite<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for CopyOnWrite<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
