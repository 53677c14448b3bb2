//! The state of one node in the filling of `drf`.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clock::NonNanFloat;
use crate::division::tree::QueueTree;

/// The reason why a leaf stopped growing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopReason {
    Request,
    /// The limit of a queue on a slot (queue, column); the queue is the leaf itself or one above it.
    Limit(usize, usize),
    /// No capacity of this slot (column) is left.
    UsedUp(usize),
}

impl StopReason {
    pub fn shown(self, tree: &QueueTree, leaf: usize) -> Cow<'static, str> {
        match self {
            Self::Request => "request".into(),
            Self::Limit(queue, column) if queue == leaf => format!("limit on {}", tree.slots[column]).into(),
            Self::Limit(queue, column) => format!("limit of {} on {}", tree.name(queue), tree.slots[column]).into(),
            Self::UsedUp(column) => format!("{}, which is used up", tree.slots[column]).into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FillingEvent {
    Child(usize),
    /// The level reaches that of a child in `ahead`, which grows from then on.
    CatchUp,
    /// Another slot becomes dominant.
    Switch,
    /// A limit is met on a slot (column). At the virtual root the limit is the capacity.
    Limit(usize),
    /// A leaf holds all that it may have.
    Full,
}

/// One node of the filling: a queue, or the virtual parent of the roots.
pub(super) struct FillingNode {
    pub now: f64,
    /// The dominant share over the slots that are not used up, 0 to 1.
    pub dominant: f64,
    /// The growth of the dominant share per unit of the node's clock.
    pub rate: f64,
    pub can_grow: bool,
    pub weight: f64,
    /// The dominant share / weight that all growing children have in common.
    pub level: f64,
    /// True while children of weight 0 grow, because no child with a weight can.
    pub weightless: bool,
    pub growing: usize,
    /// The value of `growing` when the growth was last summed up.
    pub counted: usize,
    /// The number of times that the node began or ended to grow within its parent. An event in the parent's queue
    /// counts only if it carries the current number.
    pub turn: u32,
    pub grows: bool,
    pub events: BinaryHeap<Reverse<(NonNanFloat, usize, u32)>>,
    /// Children that can grow but are above the current level, the highest first.
    pub ahead: Vec<(f64, usize)>,
    /// Growing children whose dominant share does not change. The last one grows alone, because its growth does not
    /// delay any other child.
    pub free: Vec<usize>,
    pub next: f64,
    pub source: FillingEvent,
    /// For leaves: the dominant share at which the leaf has its whole demand.
    pub demand: f64,
    pub full: f64,
    pub stop: Option<StopReason>,
}

impl FillingNode {
    pub fn new(weight: f64) -> Self {
        Self {
            now: 0.0,
            dominant: 0.0,
            rate: 0.0,
            can_grow: false,
            weight,
            level: 0.0,
            weightless: false,
            growing: 0,
            counted: 0,
            turn: 0,
            grows: false,
            events: BinaryHeap::new(),
            ahead: Vec::new(),
            free: Vec::new(),
            next: f64::INFINITY,
            source: FillingEvent::Switch,
            demand: 0.0,
            full: 0.0,
            stop: None,
        }
    }

    /// Ends a leaf's growth. A leaf that is full but for the rounding of the steps becomes full.
    pub fn end(&mut self, stop: StopReason) {
        let (all, more) = (self.full, (self.full - self.dominant).max(0.0));
        self.can_grow = false;
        if more <= ROUNDING_ERROR && more <= all * ROUNDING_MAX_MISSING {
            self.dominant = all;
        } else {
            self.stop = Some(stop);
        }
    }
}

/// The absolute rounding error that many steps may add up to, as a part of the capacity.
const ROUNDING_ERROR: f64 = 1e-12;
/// A missing part of the demand that is larger than this is never taken for rounding.
const ROUNDING_MAX_MISSING: f64 = 1e-6;
