//! From the input to a plan: does it fit, who gives back, who is preempted, or why nobody (§6).

use super::budget::Budget;
use super::free_capacity::{Rooms, classes, total_request};
use super::holdings::Standing;
use super::input::{Input, PlanOptions, PolicyName};
use super::limits;
use super::outcome::{Figures, Placed, Plan, Refusal, Rule, Verdict};
use super::policy::plugins::{Plugin, plugin};
use super::policy::strategies::{Inside, Strategies};
use super::policy::tiers::Tiers;
use super::policy::{Denied, Policy};
use super::search::{Attempt, Failed, Mode};
use super::snapshot::{NOWHERE, Scene};
use crate::domain::decimal::Amount;
use crate::domain::division::{Bound, Fraction, Position, TreeFault, Warning};

/// Plans for the pending workload; faults name what of the input cannot be planned with.
pub fn plan(input: &Input) -> Result<Plan, Vec<TreeFault>> {
    let plugins = active_plugins(input.options)?;
    let scene = Scene::new(input)?;
    let planner = Planner { scene: &scene, plugins: &plugins };
    Ok(planner.plan())
}

/// The plug-ins that choose agents and, under `policy: plugins`, victims.
fn active_plugins(options: &PlanOptions) -> Result<Vec<&'static dyn Plugin>, Vec<TreeFault>> {
    if options.policy == PolicyName::Strategies {
        return Ok(["predicates", "node_order"].into_iter().filter_map(plugin).collect());
    }
    let faults = options.unknown_plugins();
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(options.tiers.iter().flatten().filter_map(|name| plugin(name)).collect())
}

struct Planner<'a> {
    scene: &'a Scene<'a>,
    plugins: &'a [&'static dyn Plugin],
}

impl Planner<'_> {
    fn plan(&self) -> Plan {
        let (scene, all) = (self.scene, self.scene.pending.members.len());
        let mut rooms = Rooms::new(scene, self.plugins);
        let core = scene.gang_size();
        let mut sizes = vec![all, core];
        sizes.dedup();
        // Beyond this it counts as not fitting: the search for victims finds it again if there is nobody to take.
        let mut budget = Budget::from_ms(scene.options.search_budget_ms / 10);
        for size in sizes {
            let classes = classes(scene, self.plugins, size);
            let standing = Standing::new(scene, total_request(scene, size));
            let everywhere: Vec<usize> = (0..rooms.agents()).collect();
            if limits::check(&standing).is_ok()
                && self.non_preemptible(&standing).is_ok()
                && let Ok(Some(placed)) = rooms.place(&classes, &everywhere, &mut budget)
            {
                let placement = self.placement(&placed);
                return self.finish(Verdict::Fits, &standing, size, Plan { placement, ..self.empty(Verdict::Fits) });
            }
        }
        self.take_from_others(rooms, core)
    }

    fn take_from_others(&self, rooms: Rooms, size: usize) -> Plan {
        let scene = self.scene;
        let classes = classes(scene, self.plugins, size);
        let request = total_request(scene, size);
        let standing = Standing::new(scene, request.clone());
        let refused = |refusals| {
            self.finish(Verdict::Refused, &standing, size, Plan { refusals, ..self.empty(Verdict::Refused) })
        };
        if let Err(denied) = self.non_preemptible(&standing).and_then(|()| limits::possible(&standing)) {
            return refused(vec![denied.shown(scene, None)]);
        }
        let policy: Box<dyn Policy + '_> = match scene.options.policy {
            PolicyName::Strategies => Box::new(Strategies::new(scene, &request)),
            PolicyName::Plugins => Box::new(Tiers::new(scene)),
        };
        let mut budget = Budget::from_ms(scene.options.search_budget_ms);
        let inside = Inside { queue: scene.queue() };
        let mut all_refusals = Vec::new();
        let kinds: [(Mode, Verdict, &dyn Policy); 2] =
            [(Mode::Reclaim, Verdict::Reclaim, &*policy), (Mode::Preempt, Verdict::Preempt, &inside)];
        let attempt = Attempt { scene, classes: &classes, request: &request, rooms };
        for (mode, verdict, policy) in kinds {
            if let Err(denied) = policy.gate(&standing) {
                all_refusals.push(denied.shown(scene, None));
                continue;
            }
            match attempt.search(mode, policy, &mut budget) {
                Ok(taken) => {
                    let verdict = if taken.victims.is_empty() { Verdict::Fits } else { verdict };
                    all_refusals.retain(|refusal: &Refusal| refusal.workload_id.is_none());
                    let plan = Plan {
                        victims: taken.victims,
                        placement: self.placement(&taken.placed),
                        refusals: all_refusals,
                        disruption_ratio: taken.disruption_ratio,
                        ..self.empty(verdict)
                    };
                    return self.finish(verdict, &taken.standing, size, plan);
                }
                Err(Failed::Refused(more)) => all_refusals.extend(more),
                Err(Failed::Exhausted) => {
                    return self.finish(
                        Verdict::SearchExhausted,
                        &standing,
                        size,
                        self.empty(Verdict::SearchExhausted),
                    );
                }
            }
        }
        if all_refusals.is_empty() {
            all_refusals.push(Denied::plain(Rule::NoCandidate, scene.queue()).shown(scene, None));
        }
        refused(all_refusals)
    }

    /// A non-preemptible workload stays within the quota of its queue and of every ancestor (§6.5).
    fn non_preemptible(&self, standing: &Standing) -> Result<(), Denied> {
        let scene = self.scene;
        if scene.pending.preemptible || scene.options.policy == PolicyName::Plugins {
            return Ok(());
        }
        for queue in scene.path.iter().copied() {
            for column in standing.asked() {
                let cell = (queue, column);
                let held = scene.tree.allocated_non_preemptible[cell].saturating_add(standing.request[column]);
                if let Bound::Limited(quota) = scene.tree.quota[cell]
                    && held > quota
                {
                    return Err(Denied::ours(Rule::GateQuota, queue, column, Fraction::of(held, quota)));
                }
            }
        }
        Ok(())
    }

    fn placement(&self, placed: &[(usize, usize)]) -> Option<Vec<Placed>> {
        let agents = self.scene.agents?;
        let mut placed: Vec<Placed> = placed
            .iter()
            .map(|(member, agent)| Placed { member: *member, agent_id: agents[*agent].agent_id.clone() })
            .collect();
        placed.sort_by_key(|p| p.member);
        Some(placed)
    }

    fn empty(&self, verdict: Verdict) -> Plan {
        Plan {
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

    fn warnings(&self) -> Vec<Warning> {
        let (scene, mut warnings) = (self.scene, Vec::new());
        let multiplier = scene.options.reclaimer_utilization_multiplier;
        if multiplier < Amount::whole(1) {
            let detail = format!("reclaimer_utilization_multiplier {multiplier} is below 1 and was raised to 1");
            warnings.push(Warning::new("multiplier_raised", None, None, detail));
        }
        let lost = |member: &&super::snapshot::Member| member.agent == NOWHERE;
        if scene.agents.is_some() && scene.members.iter().any(|m| lost(&m)) {
            let count = scene.members.iter().filter(lost).count();
            let detail = format!("{count} running members are on no known agent: evicting them frees no room");
            warnings.push(Warning::new("unknown_agent", None, None, detail));
        }
        warnings
    }

    /// Adds the figures of the reclaimer's queues and of those that lost something or were compared.
    fn finish(&self, verdict: Verdict, standing: &Standing, size: usize, mut plan: Plan) -> Plan {
        let scene = self.scene;
        let planned = matches!(verdict, Verdict::Fits | Verdict::Reclaim | Verdict::Preempt);
        if planned && size < scene.pending.members.len() {
            let left = scene.pending.members.len() - size;
            let detail = format!("planned for the {size} members of the gang; {left} more wait for room");
            plan.warnings.push(Warning::new("surplus_left_pending", None, None, detail));
        }
        let mut queues = scene.path.clone();
        let named = plan.victims.iter().flat_map(|v| [&v.queue, &v.level]);
        let compared = plan.refusals.iter().filter_map(|r| r.level.as_ref());
        queues.extend(named.chain(compared).filter_map(|name| scene.tree.find(name)));
        let mut seen = vec![false; scene.tree.len()];
        queues.retain(|queue| !std::mem::replace(&mut seen[*queue], true));
        for queue in queues {
            plan.before.push(figures(scene, queue, scene.tree.allocated.row(queue)));
            let mut held = standing.allocated.row(queue).to_vec();
            if planned && scene.path.contains(&queue) {
                held = (0..held.len()).map(|column| standing.with_request(queue, column)).collect();
            }
            plan.after.push(figures(scene, queue, &held));
        }
        plan
    }
}

fn figures(scene: &Scene, queue: usize, allocated: &[Amount]) -> Figures {
    let position = Position { allocated, ..scene.position(queue, &scene.tree.allocated) };
    let slots = scene.tree.slots.iter().copied().enumerate();
    Figures {
        queue: scene.tree.queues[queue].name.clone(),
        allocated: scene.tree.amounts(allocated),
        fair_share: scene.tree.amounts(position.fair_share),
        saturation_ratio: slots.map(|(column, slot)| (slot, position.saturation(column))).collect(),
    }
}
