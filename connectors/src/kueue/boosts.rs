//! The boosts that give Kueue the order of the server.
//!
//! A boost is added to the priority of the Workload's class. It stays below the next higher priority that any Workload has, so that
//! classes stay in their order. **order**: the boosts of a class fall strictly along the sequence, and jobs outside of it have none.
//! **factor**: the boost follows the rank of the owner, in 200 steps.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::order_values::{OrderedJob, order_values, rank_value};

/// A Workload of the sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoostedWorkload {
    pub key: String,
    pub priority: i32,
    pub boost: i64,
    /// The rank of its owner; `None` for an owner that the server does not know yet.
    pub rank: Option<u32>,
}

/// The largest boost of the class of a priority.
pub fn class_room(priority: i32, priorities: &BTreeSet<i32>, boost_max: i64) -> i64 {
    let above = priorities.range(priority..).find(|other| **other > priority);
    above.map_or(boost_max, |above| (i64::from(*above) - i64::from(priority) - 1).min(boost_max))
}

/// The boosts of the first `head` Workloads of a sequence, the first to start first. A class without room for all of them has boosts for
/// its first ones.
pub fn order_boosts(
    mut sequence: Vec<BoostedWorkload>,
    priorities: &BTreeSet<i32>,
    head: usize,
    boost_max: i64,
) -> Vec<(String, i64)> {
    // Kueue looks at the Workloads of a higher class first.
    sequence.sort_by_key(|workload| Reverse(workload.priority));
    sequence.truncate(head);
    let mut boosts = Vec::with_capacity(sequence.len());
    for class in sequence.chunk_by(|one, other| one.priority == other.priority) {
        let room = class_room(class[0].priority, priorities, boost_max);
        // Between the values and their bounds there has to be one gap more than there are values.
        let fitting = usize::try_from(room - 1).unwrap_or_default().min(class.len());
        let jobs: Vec<OrderedJob> =
            class[..fitting].iter().map(|workload| OrderedJob { own: 0, value: workload.boost }).collect();
        let values = order_values(&jobs, 0, room).unwrap_or_default();
        boosts.extend(class.iter().zip(values).map(|(workload, value)| (workload.key.clone(), value)));
    }
    boosts
}

/// The boosts by rank. A boost of 0 is none.
pub fn rank_boosts(sequence: &[BoostedWorkload], priorities: &BTreeSet<i32>, boost_max: i64) -> Vec<(String, i64)> {
    let worst = sequence.iter().filter_map(|workload| workload.rank).max().unwrap_or(1);
    let boost = |workload: &BoostedWorkload| {
        let room = class_room(workload.priority, priorities, boost_max);
        (workload.key.clone(), rank_value(workload.rank, worst, room, room))
    };
    sequence.iter().map(boost).filter(|(_, boost)| *boost > 0).collect()
}
