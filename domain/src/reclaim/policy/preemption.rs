//! Preemption inside a queue (DIVISION §6.5).

use std::cmp::Ordering;

use super::{Allowed, Denied, Policy, by_priority};
use crate::division::Position;
use crate::division::report::order::{self, Key};
use crate::reclaim::holdings::Holdings;
use crate::reclaim::snapshot::{Snapshot, Unit};

/// The policy inside a queue. It allows every unit, because the candidates are already limited to lower priorities.
pub struct Preemption {
    pub queue: usize,
}

impl Policy for Preemption {
    fn gate(&self, _: &Holdings) -> Result<(), Denied> {
        Ok(())
    }

    fn before(&self, _: &Holdings, _: &Unit) -> Result<Allowed, Denied> {
        Ok(Allowed { rule: "priority".into(), level: self.queue, column: None })
    }

    fn after(&self, _: &Holdings, _: usize) -> Result<(), Denied> {
        Ok(())
    }

    fn compare_queues(&self, a: (&Position, &Key), b: (&Position, &Key)) -> Ordering {
        order::compare(a, b)
    }

    fn compare_jobs(&self, snapshot: &Snapshot, a: usize, b: usize) -> Ordering {
        by_priority(snapshot, a, b)
    }
}
