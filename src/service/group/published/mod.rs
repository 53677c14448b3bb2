//! What readers see: one immutable picture of each resource group, swapped whole.

pub mod accounts;
pub mod answers;
pub mod cluster;
pub mod division;
pub mod facts;
pub mod live;
pub mod profile;
pub mod rows;

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;

use self::answers::Answers;
use self::division::Division;
use self::facts::Facts;
use self::live::Live;
use self::rows::Rows;
use super::live_kernels::LiveKernels;
use super::state::GroupState;
use crate::domain::ids::Owner;
use crate::domain::time::Timestamp;
use crate::service::Result;
use crate::service::people::Directory;

/// The picture of one resource group: its facts as of one revision, and what was computed from them so far.
#[derive(Debug)]
pub struct PublishedGroup {
    pub facts: Facts,
    pub live: Live,
}

impl PublishedGroup {
    pub fn build(state: &GroupState, people: &Directory, kernels: Option<LiveKernels>) -> Self {
        Self::of(state, Rows::build(&state.hierarchy, people), kernels)
    }

    /// The picture that follows this one when the shares of `moved` have changed and no others.
    #[must_use]
    pub fn after(&self, moved: &[Owner], state: &GroupState, people: &Directory, kernels: Option<LiveKernels>) -> Self {
        Self::of(state, self.facts.rows.after(moved, &state.hierarchy, people), kernels)
    }

    fn of(state: &GroupState, rows: Rows, kernels: Option<LiveKernels>) -> Self {
        Self { facts: Facts::of(state, rows), live: Live::with(Answers::default(), kernels) }
    }

    /// The same picture with new occupancy and queues.
    #[must_use]
    pub fn with_queues(&self, state: &GroupState, kernels: Option<LiveKernels>) -> Self {
        let answers = self.live.answers.with_queues();
        Self { facts: self.facts.with_queues(state), live: Live::with(answers, kernels) }
    }

    /// What every queue deserves now; computed once.
    pub fn division(&self, now: Timestamp) -> Result<Arc<Division>> {
        self.live.division(&self.facts, now)
    }
}

/// All groups' pictures. Reading never waits.
#[derive(Default)]
pub struct Published(ArcSwap<BTreeMap<Arc<str>, Arc<PublishedGroup>>>);

impl Published {
    pub fn all(&self) -> Arc<BTreeMap<Arc<str>, Arc<PublishedGroup>>> {
        self.0.load_full()
    }

    pub fn get(&self, name: &str) -> Option<Arc<PublishedGroup>> {
        self.0.load().get(name).cloned()
    }

    pub fn put(&self, group: &Arc<PublishedGroup>) {
        let name = &group.facts.name;
        self.0.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.insert(Arc::clone(name), Arc::clone(group));
            next
        });
    }

    pub fn remove(&self, name: &str) {
        self.0.rcu(|old| {
            let mut next = BTreeMap::clone(old);
            next.remove(name);
            next
        });
    }
}
