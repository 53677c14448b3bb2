//! The slots that running members hold, summed by domain, project, user, queue or agent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::decimal::f64_text;
use crate::kernel::KernelPhase;
use crate::queues::LiveKernel;
use crate::slots::SlotAmounts;

/// The kind of the holders in an occupancy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OccupancyBy {
    Domain,
    Project,
    #[default]
    User,
    Queue,
    Agent,
}

impl OccupancyBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Domain => "domain",
            Self::Project => "project",
            Self::User => "user",
            Self::Queue => "queue",
            Self::Agent => "agent",
        }
    }
}

/// The holder that a row stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CapacityHolder {
    /// `None` for kernels of which no agent is reported.
    pub name: Option<String>,
    /// The UUID of a project or user.
    pub id: Option<Uuid>,
}

/// The sums of one holder.
#[derive(Clone, Debug, Default)]
pub struct HolderSums {
    pub held: SlotAmounts,
    /// The number of running kernels.
    pub running: u64,
    /// The number of pending kernels.
    pub pending: u64,
}

impl HolderSums {
    /// Adds a kernel, or the part of one that its holder has, which holds these slots while it runs.
    fn add(&mut self, phase: KernelPhase, slots: &SlotAmounts) {
        match phase {
            KernelPhase::Running => {
                self.held.add(slots);
                self.running += 1;
            }
            KernelPhase::Pending => self.pending += 1,
            KernelPhase::Unknown | KernelPhase::Suspended | KernelPhase::Terminated => {}
        }
    }

    /// The part of the capacity that is held, by slot. Slots without capacity are left out.
    pub fn shares(&self, capacity: &SlotAmounts) -> BTreeMap<&'static str, String> {
        parts(&self.held, capacity).map(|(slot, part)| (slot, f64_text(part))).collect()
    }

    fn largest_share(&self, capacity: &SlotAmounts) -> f64 {
        parts(&self.held, capacity).map(|(_, part)| part).fold(0.0, f64::max)
    }
}

fn parts<'a>(held: &'a SlotAmounts, capacity: &'a SlotAmounts) -> impl Iterator<Item = (&'static str, f64)> + 'a {
    held.iter().filter_map(|(slot, held)| {
        let offered = capacity.get(slot).filter(|offered| !offered.is_zero())?;
        Some((slot.as_str(), held.to_f64() / offered.to_f64()))
    })
}

/// The sums of all holders, the one with the largest share of a slot first, then by name. `empty` are holders that are listed
/// also without kernels. A kernel counts for each of its holders, with the slots that are that holder's part.
pub fn sum_holders<'k, P: IntoIterator<Item = (CapacityHolder, Cow<'k, SlotAmounts>)>>(
    kernels: impl Iterator<Item = &'k LiveKernel>,
    empty: impl Iterator<Item = CapacityHolder>,
    parts_of: impl Fn(&'k LiveKernel) -> P,
    capacity: &SlotAmounts,
) -> Vec<(CapacityHolder, HolderSums)> {
    let mut sums: BTreeMap<CapacityHolder, HolderSums> = empty.map(|holder| (holder, HolderSums::default())).collect();
    for kernel in kernels.filter(|kernel| kernel.phase.is_live()) {
        for (holder, slots) in parts_of(kernel) {
            sums.entry(holder).or_default().add(kernel.phase, &slots);
        }
    }
    let mut rows: Vec<(f64, CapacityHolder, HolderSums)> =
        sums.into_iter().map(|(holder, sums)| (sums.largest_share(capacity), holder, sums)).collect();
    rows.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    rows.into_iter().map(|(_, holder, sums)| (holder, sums)).collect()
}
