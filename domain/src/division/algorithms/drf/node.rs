//! What the filling of `drf` knows of one node.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::clock::Clock;
use crate::division::tree::Tree;

/// Why a leaf stopped to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Request,
    /// Its own limit, or that of a queue above it, on a slot.
    Limit(usize, usize),
    /// A slot of the capacity.
    UsedUp(usize),
}

impl Stop {
    pub fn shown(self, tree: &Tree, leaf: usize) -> Cow<'static, str> {
        match self {
            Self::Request => "request".into(),
            Self::Limit(queue, column) if queue == leaf => format!("limit on {}", tree.slots[column]).into(),
            Self::Limit(queue, column) => format!("limit of {} on {}", tree.name(queue), tree.slots[column]).into(),
            Self::UsedUp(column) => format!("{}, which is used up", tree.slots[column]).into(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Child(usize),
    /// A child that was ahead is reached.
    CatchUp,
    /// Another slot becomes dominant.
    Switch,
    /// A limit (the capacity, at the root) is met on a slot.
    Limit(usize),
    /// A leaf has what it may have.
    Full,
}

/// Where one node of the filling stands.
pub(super) struct Node {
    pub now: f64,
    /// Dominant share over the slots that are not used up.
    pub dominant: f64,
    /// Growth of the dominant share by the node's clock.
    pub rate: f64,
    pub can_grow: bool,
    pub weight: f64,
    /// The level of the growing children.
    pub level: f64,
    /// Whether the children of weight 0 have their turn.
    pub weightless: bool,
    pub growing: usize,
    /// `growing` when the growth was last added up.
    pub counted: usize,
    /// Whether it grows within its parent now; the entry of its events in the parent's queue counts only for this turn.
    pub turn: u32,
    pub grows: bool,
    pub events: BinaryHeap<Reverse<(Clock, usize, u32)>>,
    /// Children that are ahead, the furthest first.
    pub ahead: Vec<(f64, usize)>,
    /// Growing children whose dominant share stands still: the last one grows alone, because this takes no turn from another.
    pub free: Vec<usize>,
    pub next: f64,
    pub source: Source,
    /// Leaves: the dominant share at which the whole demand is had.
    pub demand: f64,
    pub full: f64,
    pub stop: Option<Stop>,
}

impl Node {
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
            source: Source::Switch,
            demand: 0.0,
            full: 0.0,
            stop: None,
        }
    }

    /// Ends a leaf's growth. A leaf that is full at that moment but for the rounding of the steps is full.
    pub fn end(&mut self, stop: Stop) {
        let (all, more) = (self.full, (self.full - self.dominant).max(0.0));
        self.can_grow = false;
        if more <= NOTHING && more <= all * SMALL {
            self.dominant = all;
        } else {
            self.stop = Some(stop);
        }
    }
}

/// A part of the capacity that the rounding of many steps may add up to.
const NOTHING: f64 = 1e-12;
/// A part of a leaf's demand that cannot be all of it.
const SMALL: f64 = 1e-6;
