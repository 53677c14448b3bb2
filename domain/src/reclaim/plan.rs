//! Makes a plan from an input (DIVISION §6). If the workload does not fit, it looks for victims in other queues, then
//! for victims in the workload's own queue, and otherwise explains why there are none.

use super::budget::SearchBudget;
use super::free_capacity::{FreeCapacity, group_into_classes, total_request};
use super::holdings::QueueHoldings;
use super::input::ReclaimInput;
use super::limits;
use super::outcome::{EvictionRefusal, PlacedMember, PlanFigures, ReclaimPlan, ReclaimRule, ReclaimVerdict};
use super::plan_options::{PlanOptions, PolicyName};
use super::policy::plugins::{self, ReclaimPlugin, plugin};
use super::policy::preemption::PreemptionPolicy;
use super::policy::strategies::StrategyPolicy;
use super::policy::tiers::PluginTiers;
use super::policy::{EvictionDenial, EvictionPolicy};
use super::search::{EvictionMode, SearchAttempt, SearchFailure};
use super::snapshot::{NO_AGENT, ReclaimSnapshot};
use crate::decimal::Amount;
use crate::division::{DivisionWarning, Fraction, QueueAllocation};
use crate::fault::Fault;
use crate::queues::Bound;

/// Plans for the pending workload. The faults name the parts of the input that cannot be used.
pub fn plan(input: &ReclaimInput) -> Result<ReclaimPlan, Vec<Fault>> {
    let plugins = active_plugins(input.options)?;
    let snapshot = ReclaimSnapshot::new(input)?;
    let planner = ReclaimPlanner { snapshot: &snapshot, plugins: &plugins };
    Ok(planner.plan())
}

/// The plug-ins that choose agents and, under `policy: plugins`, also victims.
fn active_plugins(options: &PlanOptions) -> Result<Vec<&'static dyn ReclaimPlugin>, Vec<Fault>> {
    if options.policy == PolicyName::Strategies {
        return Ok(plugins::choosing_agents().collect());
    }
    let faults = plugins::unknown_names(&options.tiers);
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(options.tiers.iter().flatten().filter_map(|name| plugin(name)).collect())
}

struct ReclaimPlanner<'a> {
    snapshot: &'a ReclaimSnapshot<'a>,
    plugins: &'a [&'static dyn ReclaimPlugin],
}

impl ReclaimPlanner<'_> {
    fn plan(&self) -> ReclaimPlan {
        let (snapshot, all) = (self.snapshot, self.snapshot.pending.members.len());
        let mut free = FreeCapacity::new(snapshot, self.plugins);
        let core = snapshot.gang_size();
        let mut sizes = vec![all, core];
        sizes.dedup();
        // A tenth of the search budget. If it runs out here, the workload counts as not fitting; the search for victims
        // then finds the room without taking any.
        let mut budget = SearchBudget::from_ms(snapshot.options.search_budget_ms / 10);
        for size in sizes {
            let classes = group_into_classes(snapshot, self.plugins, size);
            let holdings = QueueHoldings::new(snapshot, total_request(snapshot, size));
            let everywhere: Vec<usize> = (0..free.agents()).collect();
            if limits::check(&holdings).is_ok()
                && self.non_preemptible(&holdings).is_ok()
                && let Ok(Some(placed)) = free.place(&classes, &everywhere, &mut budget)
            {
                let placement = self.placement(&placed);
                return self.finish(
                    ReclaimVerdict::Fits,
                    &holdings,
                    size,
                    ReclaimPlan { placement, ..self.empty(ReclaimVerdict::Fits) },
                );
            }
        }
        self.take_from_others(free, core)
    }

    fn take_from_others(&self, free: FreeCapacity, size: usize) -> ReclaimPlan {
        let snapshot = self.snapshot;
        let classes = group_into_classes(snapshot, self.plugins, size);
        let request = total_request(snapshot, size);
        let holdings = QueueHoldings::new(snapshot, request.clone());
        let refused = |refusals| {
            self.finish(
                ReclaimVerdict::Refused,
                &holdings,
                size,
                ReclaimPlan { refusals, ..self.empty(ReclaimVerdict::Refused) },
            )
        };
        if let Err(denied) = self.non_preemptible(&holdings).and_then(|()| limits::check_request_alone(&holdings)) {
            return refused(vec![denied.shown(snapshot, None)]);
        }
        let policy: Box<dyn EvictionPolicy + '_> = match snapshot.options.policy {
            PolicyName::Strategies => Box::new(StrategyPolicy::new(snapshot, &request)),
            PolicyName::Plugins => Box::new(PluginTiers::new(snapshot)),
        };
        let mut budget = SearchBudget::from_ms(snapshot.options.search_budget_ms);
        let inside = PreemptionPolicy { queue: snapshot.queue() };
        let mut all_refusals = Vec::new();
        let kinds: [(EvictionMode, ReclaimVerdict, &dyn EvictionPolicy); 2] = [
            (EvictionMode::Reclaim, ReclaimVerdict::Reclaim, &*policy),
            (EvictionMode::Preempt, ReclaimVerdict::Preempt, &inside),
        ];
        let attempt = SearchAttempt { snapshot, classes: &classes, request: &request, free, explains_candidates: true };
        for (mode, verdict, policy) in kinds {
            if let Err(denied) = policy.gate(&holdings) {
                all_refusals.push(denied.shown(snapshot, None));
                continue;
            }
            match attempt.search(mode, policy, &mut budget) {
                Ok(taken) => {
                    let verdict = if taken.victims.is_empty() { ReclaimVerdict::Fits } else { verdict };
                    all_refusals.retain(|refusal: &EvictionRefusal| refusal.workload_id.is_none());
                    let plan = ReclaimPlan {
                        victims: taken.victims,
                        placement: self.placement(&taken.placed),
                        refusals: all_refusals,
                        disruption_ratio: taken.disruption_ratio,
                        ..self.empty(verdict)
                    };
                    return self.finish(verdict, &taken.holdings, size, plan);
                }
                Err(SearchFailure::Refused(more)) => all_refusals.extend(more),
                Err(SearchFailure::Exhausted) => {
                    return self.finish(
                        ReclaimVerdict::SearchExhausted,
                        &holdings,
                        size,
                        self.empty(ReclaimVerdict::SearchExhausted),
                    );
                }
            }
        }
        if all_refusals.is_empty() {
            all_refusals.push(EvictionDenial::plain(ReclaimRule::NoCandidate, snapshot.queue()).shown(snapshot, None));
        }
        refused(all_refusals)
    }

    /// Checks that a non-preemptible workload stays within the quota of its queue and of every ancestor
    /// (DIVISION §6.5).
    fn non_preemptible(&self, holdings: &QueueHoldings) -> Result<(), EvictionDenial> {
        let snapshot = self.snapshot;
        if snapshot.pending.preemptible || snapshot.options.policy == PolicyName::Plugins {
            return Ok(());
        }
        for queue in snapshot.path.iter().copied() {
            for column in holdings.asked() {
                let cell = (queue, column);
                let held = snapshot.tree.allocated_non_preemptible[cell].saturating_add(holdings.request[column]);
                if let Bound::Limited(quota) = snapshot.tree.quota[cell]
                    && held > quota
                {
                    return Err(EvictionDenial::ours(ReclaimRule::GateQuota, queue, column, Fraction::of(held, quota)));
                }
            }
        }
        Ok(())
    }

    fn placement(&self, placed: &[(usize, usize)]) -> Option<Vec<PlacedMember>> {
        let agents = self.snapshot.agents?;
        let mut placed: Vec<PlacedMember> = placed
            .iter()
            .map(|(member, agent)| PlacedMember { member: *member, agent_id: agents[*agent].agent_id.clone() })
            .collect();
        placed.sort_by_key(|p| p.member);
        Some(placed)
    }

    fn empty(&self, verdict: ReclaimVerdict) -> ReclaimPlan {
        ReclaimPlan {
            verdict,
            victims: Vec::new(),
            placement: None,
            refusals: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            disruption_ratio: Amount::ZERO,
            warnings: self.warnings(),
        }
    }

    fn warnings(&self) -> Vec<DivisionWarning> {
        let snapshot = self.snapshot;
        let lost = snapshot.members.iter().filter(|member| member.agent == NO_AGENT);
        plan_warnings(snapshot.options, if snapshot.agents.is_some() { lost.count() } else { 0 })
    }

    /// Adds the figures of the reclaimer's queues and of the queues that lost something or were compared.
    fn finish(
        &self,
        verdict: ReclaimVerdict,
        holdings: &QueueHoldings,
        size: usize,
        mut plan: ReclaimPlan,
    ) -> ReclaimPlan {
        let snapshot = self.snapshot;
        let planned = matches!(verdict, ReclaimVerdict::Fits | ReclaimVerdict::Reclaim | ReclaimVerdict::Preempt);
        if planned && size < snapshot.pending.members.len() {
            let left = snapshot.pending.members.len() - size;
            let detail = format!("planned for the {size} members of the gang; {left} more wait for room");
            plan.warnings.push(DivisionWarning::new("surplus_left_pending", None, None, detail));
        }
        let mut queues = snapshot.path.clone();
        let named = plan.victims.iter().flat_map(|v| [&v.queue, &v.level]);
        let compared = plan.refusals.iter().filter_map(|r| r.level.as_ref());
        queues.extend(named.chain(compared).filter_map(|name| snapshot.tree.find(name)));
        let mut seen = vec![false; snapshot.tree.len()];
        queues.retain(|queue| !std::mem::replace(&mut seen[*queue], true));
        for queue in queues {
            plan.before.push(PlanFigures::of(&snapshot.position(queue, &snapshot.tree.allocated)));
            let mut held = holdings.allocated.row(queue).to_vec();
            if planned && snapshot.path.contains(&queue) {
                held = (0..held.len()).map(|column| holdings.with_request(queue, column)).collect();
            }
            let position = QueueAllocation { allocated: &held, ..snapshot.position(queue, &snapshot.tree.allocated) };
            plan.after.push(PlanFigures::of(&position));
        }
        plan
    }
}

/// The warnings about options, and about running members on no known agent.
pub fn plan_warnings(options: &PlanOptions, lost: usize) -> Vec<DivisionWarning> {
    let mut warnings = Vec::new();
    let multiplier = options.reclaimer_utilization_multiplier;
    if multiplier < Amount::whole(1) {
        let detail = format!("reclaimer_utilization_multiplier {multiplier} is below 1 and was raised to 1");
        warnings.push(DivisionWarning::new("multiplier_raised", None, None, detail));
    }
    if lost > 0 {
        let detail = format!("{lost} running members are on no known agent: evicting them frees no room");
        warnings.push(DivisionWarning::new("unknown_agent", None, None, detail));
    }
    warnings
}
