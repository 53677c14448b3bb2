//! Groups of interchangeable units: replacing a unit of a set by another one of its kind leaves the set lawful or
//! unlawful.

use crate::maps::FastMap;
use crate::reclaim::policy::EvictionPolicy;
use crate::reclaim::snapshot::{EvictionUnit, NO_AGENT, ReclaimSnapshot};

#[derive(Default)]
pub struct UnitKinds {
    /// The kind of each unit.
    kind: Vec<usize>,
    /// The units of each kind.
    alike: Vec<Vec<usize>>,
    /// By agent: the units that have members there.
    on: Vec<Vec<usize>>,
    all: Vec<usize>,
}

/// The properties of a unit that the rules look at: its queue, its gang if the rules depend on it, and the amounts that
/// it frees on each agent.
#[derive(PartialEq, Eq, Hash)]
struct UnitTraits<'a> {
    queue: usize,
    gang: Option<(usize, bool)>,
    frees: Vec<(usize, &'a [(usize, u128)])>,
}

impl UnitKinds {
    pub fn new(snapshot: &ReclaimSnapshot, policy: &dyn EvictionPolicy, units: &[EvictionUnit], agents: usize) -> Self {
        let mut kinds = Self { on: vec![Vec::new(); agents], all: (0..units.len()).collect(), ..Self::default() };
        let mut known = FastMap::default();
        for (at, unit) in units.iter().enumerate() {
            let alone = policy.decides_by_queue() && snapshot.jobs[unit.job].kernels == 1;
            let member = |m: usize| (snapshot.members[m].agent, snapshot.cells(m));
            let traits = UnitTraits {
                queue: unit.queue,
                gang: (!alone).then_some((unit.job, unit.is_core)),
                frees: unit.members.clone().map(member).collect(),
            };
            for (agent, _) in &traits.frees {
                if *agent != NO_AGENT && kinds.on[*agent].last() != Some(&at) {
                    kinds.on[*agent].push(at);
                }
            }
            let kind = *known.entry(traits).or_insert(kinds.alike.len());
            if kind == kinds.alike.len() {
                kinds.alike.push(Vec::new());
            }
            kinds.alike[kind].push(at);
            kinds.kind.push(kind);
        }
        kinds
    }

    pub fn units_of_kind(&self, unit: usize) -> &[usize] {
        &self.alike[self.kind[unit]]
    }

    pub fn on(&self, agent: usize) -> &[usize] {
        &self.on[agent]
    }

    pub fn all(&self) -> &[usize] {
        &self.all
    }

    /// Agents ordered by the first of their units, then the agents without units.
    pub fn agents_in_order(&self) -> Vec<usize> {
        let mut agents: Vec<usize> = (0..self.on.len()).collect();
        agents.sort_by_key(|agent| self.on[*agent].first().copied().unwrap_or(usize::MAX));
        agents
    }
}
