//! The search for victims (DIVISION §6.2 to §6.6). It runs at most twice for a plan: for victims in other queues, and
//! for victims in the same queue.
//!
//! The problem: among many running units, find a set that is lawful under the policy and makes room for all pending
//! members. Any lawful set is acceptable, but units should be evicted in the order of DIVISION §6.4 where possible.
//!
//! One attempt has five parts:
//! 1. `candidates` and `SearchAttempt::extents` exclude workloads that may lose nothing;
//! 2. `greedy` takes candidates in their order (`order`) until there is room;
//! 3. if that fails, `backtrack` tries other sets, after `ceilings` could not prove that there is none;
//! 4. `EvictionPolicy::after` judges the whole set. Sides that it would leave worse off than the reclaimer are spared, and the
//!    search starts again without them;
//! 5. `prune` gives back every victim without which the plan still holds. If there is no plan, `refuse` explains why.
//!
//! Invariants: a set that is returned is lawful and minimal. "No plan" means that no lawful set exists, and
//! [`BudgetExhausted`] means that the budget ended before this was known. The search contains no rule about who may lose; the
//! `policy` has them.

mod backtrack;
mod candidates;
mod ceilings;
mod greedy;
mod kinds;
mod order;
mod prune;
mod refuse;

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::budget::{BudgetExhausted, SearchBudget};
use super::free_capacity::{FreeCapacity, PendingClass};
use super::holdings::QueueHoldings;
use super::outcome::{EvictionRefusal, Victim};
use super::policy::{EvictionPolicy, EvictionReason};
use super::snapshot::{EvictionUnit, ReclaimSnapshot};
use crate::decimal::Amount;
use crate::division::Fraction;
use backtrack::BacktrackSearch;
pub use candidates::EvictionMode;
use candidates::{EvictionExtent, WorkloadProtections};
use greedy::{GreedyEnd, GreedySearch};
use refuse::{own_refusal, refusals};

pub struct SearchAttempt<'a> {
    pub snapshot: &'a ReclaimSnapshot<'a>,
    pub classes: &'a [PendingClass],
    pub request: &'a [Amount],
    pub free: FreeCapacity<'a>,
    /// True if a refusal explains each candidate. Otherwise it only says what the pending workload lacks.
    pub explains_candidates: bool,
}

/// The victims of a plan, and the state after they are evicted.
pub struct FoundPlan<'a> {
    pub victims: Vec<Victim>,
    /// The units of the victims, in the same order.
    pub units: Vec<EvictionUnit>,
    /// Pairs (member, agent).
    pub placed: Vec<(usize, usize)>,
    pub holdings: QueueHoldings<'a>,
    pub disruption_ratio: Amount,
}

pub enum SearchFailure {
    Refused(Vec<EvictionRefusal>),
    Exhausted,
}

impl From<BudgetExhausted> for SearchFailure {
    fn from(_: BudgetExhausted) -> Self {
        Self::Exhausted
    }
}

impl<'a> SearchAttempt<'a> {
    pub fn search(
        &self,
        mode: EvictionMode,
        policy: &dyn EvictionPolicy,
        budget: &mut SearchBudget,
    ) -> Result<FoundPlan<'a>, SearchFailure> {
        let protections = WorkloadProtections::new(self.snapshot, mode);
        let extents = self.extents(&protections, policy);
        let mut spared = HashMap::new();
        loop {
            budget.pay(self.snapshot.tree.len())?;
            let start = (self.request.to_vec(), self.free.clone());
            let mut search = GreedySearch::new(self.snapshot, policy, &extents, self.classes, start, spared.clone());
            match search.run(budget) {
                Err(GreedyEnd::Exhausted) => return Err(SearchFailure::Exhausted),
                Err(GreedyEnd::NotFound) => {
                    let start = (self.snapshot, policy, self.classes);
                    let backtrack =
                        BacktrackSearch::new(start, &search.units, self.request.to_vec(), self.free.clone());
                    let Some(victims) = backtrack.find(budget)? else {
                        return Err(SearchFailure::Refused(self.explain(&mut search, &protections)));
                    };
                    search.take_instead(victims);
                }
                Ok(()) => {}
            }
            let worse_off = search.unsettled();
            if worse_off.is_empty() {
                let placed = search.prune(budget)?;
                return Ok(self.taken(policy, &search, placed));
            }
            // Starts again and spares these sides. Every round adds a side, so the number of sides bounds the rounds.
            spared.extend(worse_off);
        }
    }

    fn explain(&self, search: &mut GreedySearch, protections: &WorkloadProtections) -> Vec<EvictionRefusal> {
        if self.explains_candidates {
            refusals(search, protections)
        } else {
            own_refusal(search, protections).into_iter().collect()
        }
    }

    /// The part of each workload that may be evicted, as far as this is known before any eviction.
    fn extents(&self, protections: &WorkloadProtections, policy: &dyn EvictionPolicy) -> Vec<EvictionExtent> {
        let holdings = QueueHoldings::new(self.snapshot, self.request.to_vec());
        let mut by_queue: Vec<Option<bool>> = vec![None; self.snapshot.tree.len()];
        let mut lawful = |job: usize| {
            let known = &self.snapshot.jobs[job];
            let may_go = |members: Range<usize>| {
                let unit = EvictionUnit { job, queue: known.queue, members, is_core: false };
                policy.before(&holdings, &unit).is_ok()
            };
            let mut kernels = self.snapshot.kernels_in(known.members.clone());
            if known.members.is_empty() || !policy.decides_by_queue() {
                return kernels.any(may_go);
            }
            *by_queue[known.queue].get_or_insert_with(|| kernels.any(may_go))
        };
        (0..self.snapshot.jobs.len())
            .map(|job| match protections.extent(job) {
                Ok(extent) if protections.may_take(job) && lawful(job) => extent,
                _ => EvictionExtent::Nothing,
            })
            .collect()
    }

    fn taken(&self, policy: &dyn EvictionPolicy, search: &GreedySearch, placed: Vec<(usize, usize)>) -> FoundPlan<'a> {
        let mut in_order = search.victims.clone();
        in_order.sort_unstable();
        // The order in which victims were taken is certainly lawful. The order in which they arrived is easier to read,
        // so it is used if it is lawful too.
        let reasons = self.replay(policy, search, &in_order).or_else(|| {
            in_order.clone_from(&search.victims);
            self.replay(policy, search, &in_order)
        });
        let (rows, holdings) = reasons.unwrap_or_else(|| {
            let kept = in_order.iter().filter_map(|at| Some(self.shown(&search.units[*at], search.reason(*at)?)));
            let mut holdings = QueueHoldings::new(self.snapshot, self.request.to_vec());
            for at in &in_order {
                holdings.take(&search.units[*at]);
            }
            (kept.collect(), holdings)
        });
        let disruption_ratio = self.disruption(search);
        let units = in_order.iter().map(|at| search.units[*at].clone()).collect();
        FoundPlan { victims: rows, units, placed, holdings, disruption_ratio }
    }

    /// Takes the victims one after the other; `None` if one of them may not be evicted in this order.
    fn replay(
        &self,
        policy: &dyn EvictionPolicy,
        search: &GreedySearch,
        order: &[usize],
    ) -> Option<(Vec<Victim>, QueueHoldings<'a>)> {
        let mut holdings = QueueHoldings::new(self.snapshot, self.request.to_vec());
        let mut rows = Vec::with_capacity(order.len());
        for at in order {
            let unit = &search.units[*at];
            let allowed = policy.before(&holdings, unit).ok()?;
            holdings.take(unit);
            rows.push(self.shown(unit, &allowed));
        }
        Some((rows, holdings))
    }

    fn shown(&self, unit: &EvictionUnit, allowed: &EvictionReason) -> Victim {
        let (snapshot, workload) = (self.snapshot, &self.snapshot.running[unit.job]);
        let first = snapshot.jobs[unit.job].members.start;
        let kernel = |parts: Range<usize>| Arc::clone(&workload.members[parts.start - first].kernel_id);
        Victim {
            workload_id: workload.workload_id.clone(),
            kernel_ids: snapshot.kernels_in(unit.members.clone()).map(kernel).collect(),
            queue: snapshot.tree.queues[unit.queue].name.clone(),
            rule: allowed.rule.clone().into_owned(),
            level: snapshot.tree.queues[allowed.level].name.clone(),
            slot: allowed.column.map(|column| snapshot.tree.slots[column].as_str()),
        }
    }

    /// Evicted / requested, the largest over the slots asked for.
    fn disruption(&self, search: &GreedySearch) -> Amount {
        let mut evicted = vec![0u128; self.snapshot.width()];
        for member in search.victims.iter().flat_map(|at| search.units[*at].members.clone()) {
            for (column, units) in self.snapshot.cells(member) {
                evicted[*column] = evicted[*column].saturating_add(*units);
            }
        }
        let asked = self.request.iter().zip(evicted).filter(|(asked, _)| !asked.is_zero());
        let ratios = asked.map(|(asked, gone)| Fraction::new(gone, asked.units()));
        ratios.max().and_then(Fraction::to_amount).unwrap_or_default()
    }
}
