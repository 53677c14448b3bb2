//! A scheduling cycle decides what starts now, on which agents, what has to be evicted for it, and why the rest waits.
//! Section marks (`CYCLE §3`) cite `docs/CYCLE.md`.
//!
//! The request (`request`) is the snapshot of a reclaim plan with many pending workloads. `facts` has it with all names resolved to indices;
//! `never` finds what can never start. The shares are divided once, before the first start. Then the `actions` work on one
//! `state`, each on what the ones before left: allocate, backfill, and the evicting ones, which use the search of reclaim
//! plans (`plans`). `placement` chooses agents by `predicates` and `scores`, `reservation` keeps what others may not
//! delay, and `surplus` starts members above the minimum. `reasons` describes the final state.
//!
//! A cycle executes nothing, and it orders nothing by history: the caller gives the group's own order as positions.
//!
//! Invariants:
//! - The same input gives the same answer, in whatever order it is listed: there is no clock, no randomness, and searches
//!   are limited by a count of steps.
//! - No agent, limit or quota is exceeded by a start. A minimum starts whole or not at all.
//! - Nothing is evicted for a start that does not happen, and nothing that starts in the cycle is evicted in it.

mod actions;
mod facts;
mod holdings;
mod live;
mod never;
mod order;
mod outcome;
mod placement;
mod plan_checks;
mod plans;
pub(crate) mod predicates;
mod reasons;
mod report;
mod request;
mod reservation;
mod resolve;
mod room;
mod running;
mod scores;
pub(crate) mod shapes;
pub(crate) mod start_rules;
mod starting;
mod state;
mod surplus;
mod trial;
mod workload_shares;

pub use actions::names as action_names;
pub use live::LiveWorkload;
pub use outcome::{
    CycleAnswer, CycleEviction, CycleFigures, CycleStart, CycleWaiting, HeldAmounts, MemberPlacement, NoDetails,
    RefusingPredicates, TraceStep, WaitDetails, WaitReason,
};
pub use predicates::names as predicate_names;
pub use request::options::{BackfillMode, CycleOptions, DomainWeight, ScoreWeight};
pub use request::workloads::{CycleAgent, CyclePending, CycleRunning, MemberTemplate, WorkloadOwner};
pub use request::{CycleSimulation, OneOrList, PendingList, count_members};
pub use scores::names as score_names;
pub use workload_shares::WorkloadShare;

use crate::division::tree::sums;
use crate::division::{
    DivisionAlgorithm, DivisionResult, DivisionTrace, DivisionWarning, MinShareLeaves, QueueAllocation, QueueTree, lint,
};
use crate::fault::{Fault, MAX_FAULTS};
use crate::reclaim::{PlanFigures, plan_warnings, with_slots_of};
use crate::slots::SlotAmounts;
use crate::time::Timestamp;
use actions::ActionPhase;
use facts::{RequestParts, ResolvedRequest};
use never::ImpedimentIndices;
use reasons::NotedReason;
use report::WaitingReport;
use request::options::CycleSettings;
use running::RunningState;
use state::{AttemptOptions, CycleInput, CycleState};
use workload_shares::SharedRequest;

/// The most rounds of the first two actions. Where placements are greedy each may make room for another start.
const MAX_ROUNDS: usize = 16;

impl CycleSimulation {
    /// Runs the cycle. Every fault of the input names its place.
    pub fn run(mut self, clock: Timestamp) -> Result<CycleAnswer, Vec<Fault>> {
        self.assign_queues();
        let now = self.now.unwrap_or(clock);
        let checked = self.check();
        self.label_agents();
        let (algorithm, settings, mut tree) = checked?;
        let source = RequestParts {
            agents: self.agents.as_deref(),
            running: &self.running,
            pending: &self.pending.elements,
            settings: &settings,
            now,
        };
        let mut facts = ResolvedRequest::new(&source, &tree);
        resolve::resolve(&mut facts, &tree, &source)?;
        let never = never::find(&facts, &tree);
        add_figures(&mut tree, &facts, &never);
        sums::add_up(&mut tree, &self.queues);
        let options = &self.options.division;
        let DivisionResult { fair_share, warnings, ratios, .. } =
            algorithm.divide(&tree, options, &mut DivisionTrace::off());
        let workload_shares = ratios.filter(|_| options.min_share.leaves == MinShareLeaves::Workloads).map(|ratios| {
            let request = SharedRequest { facts: &facts, running: &self.running, tree: &tree, never: &never };
            request.divide(&ratios, options.min_share.rule)
        });
        let warnings = [lint(&tree, algorithm, options), warnings, self.warnings(&facts, &settings)].concat();
        let agents = self.agents.as_ref().map(|_| &facts.agents[..]);
        let running = RunningState::new(&tree, &self.running, facts.running_queues.clone(), agents)?;
        let mut cycle = CycleState::new(CycleInput {
            facts: &facts,
            settings: &settings,
            plan_options: &self.options.plan,
            score_weights: &self.options.division.score.score_weights,
            tree,
            fair_share: &fair_share,
            running,
            never,
            explains: self.explain,
            has_quotas: algorithm.name() == "quota_over_quota",
        });
        let before = figures(&cycle, workload_shares.as_deref());
        run_actions(&mut cycle);
        let after = figures(&cycle, workload_shares.as_deref());
        let waiting = WaitingReport::new(&mut cycle).waiting();
        let CycleState { starts, evictions, steps, .. } = cycle;
        Ok(CycleAnswer { starts, evictions, waiting, before, after, warnings, trace: steps })
    }

    fn check(&self) -> Result<(&'static dyn DivisionAlgorithm, CycleSettings, QueueTree), Vec<Fault>> {
        let algorithm = self.options.check(&self.algorithm);
        let settings = self.cycle.check(&self.options.plan);
        let tree = QueueTree::lay_out(&self.queues, &self.slots());
        let faults = self.faults();
        match (algorithm, settings, tree) {
            (Ok(algorithm), Ok(settings), Ok(tree)) if faults.is_empty() => Ok((algorithm, settings, tree)),
            (algorithm, settings, tree) => {
                let of_settings = settings.err().unwrap_or_default().into_iter();
                let of_settings: Vec<Fault> = of_settings.map(|fault| fault.below("/cycle")).collect();
                let mut all =
                    [algorithm.err().unwrap_or_default(), tree.err().unwrap_or_default(), of_settings, faults].concat();
                all.truncate(MAX_FAULTS);
                Err(all)
            }
        }
    }

    /// The capacity, with the slots of which only workloads know.
    fn slots(&self) -> SlotAmounts {
        let running = self.running.iter().flat_map(|workload| workload.members.iter().map(|member| &member.slots));
        let pending = self.pending.elements.iter().flat_map(|w| w.members.iter().map(|member| &member.slots));
        with_slots_of(&self.capacity, running.chain(pending))
    }

    fn warnings(&self, facts: &ResolvedRequest, settings: &CycleSettings) -> Vec<DivisionWarning> {
        let seats = facts.seats.iter().flatten();
        let lost = seats.filter(|seat| seat.agent >= facts.rows && !facts.only_totals).count();
        let mut warnings = plan_warnings(&self.options.plan, lost);
        let in_future = |at: &Timestamp| *at > facts.now;
        let early = self.pending.elements.iter().filter(|w| w.submitted_at.as_ref().is_some_and(in_future)).count();
        if early > 0 {
            let detail = format!("{early} pending workloads were submitted after the moment of the cycle");
            warnings.push(DivisionWarning::new("submitted_in_future", None, None, detail));
        }
        if !settings.by_queues && settings.has("reclaim") {
            let detail = "the order `sequencer` can start what the shares take back; `queues` heeds the shares";
            warnings.push(DivisionWarning::new("order_ignores_shares", None, None, detail));
        }
        warnings
    }
}

/// Adds to every queue what its own workloads hold and ask for. Workloads and members that are too large ask for nothing.
fn add_figures(tree: &mut QueueTree, facts: &ResolvedRequest, never: &[Option<ImpedimentIndices>]) {
    for (running, seats) in facts.seats.iter().enumerate() {
        let queue = facts.running_queues[running];
        for seat in seats {
            facts::add_times(tree.allocated.row_mut(queue), &seat.request, 1);
            facts::add_times(tree.request.row_mut(queue), &seat.request, 1);
            if !facts.preemptible[running] {
                facts::add_times(tree.allocated_non_preemptible.row_mut(queue), &seat.request, 1);
            }
        }
    }
    for (workload, waiting) in facts.workloads.iter().enumerate() {
        if never[workload].is_some_and(ImpedimentIndices::is_too_large) {
            continue;
        }
        for (group, number) in never::members_that_could_start(facts, tree, waiting) {
            facts::add_times(tree.request.row_mut(waiting.queue), &facts.kinds[group.kind].request, number);
        }
    }
}

/// The figures of every queue, by name.
fn figures(cycle: &CycleState, workload_shares: Option<&[Vec<WorkloadShare>]>) -> Vec<CycleFigures> {
    let tree = &cycle.turn.tree;
    let figures = |queue: usize| {
        let fair_share = cycle.turn.fair_share.row(queue);
        let allocation = QueueAllocation { tree, queue, allocated: tree.allocated.row(queue), fair_share };
        CycleFigures {
            figures: PlanFigures::of(&allocation),
            workloads: workload_shares.map(|shares| shares[queue].clone()),
        }
    };
    let mut all: Vec<CycleFigures> = (0..tree.len()).map(figures).collect();
    all.sort_unstable_by(|a, b| a.figures.queue.cmp(&b.figures.queue));
    all
}

fn run_actions(cycle: &mut CycleState) {
    let allocates = cycle.settings.has("allocate");
    for _ in 0..MAX_ROUNDS {
        start_minimums(cycle);
        let changes = cycle.changes;
        if allocates {
            let heeds_share = cycle.heeds_shares();
            surplus::run(cycle, heeds_share);
        }
        if cycle.changes == changes || !cycle.may_start_more() {
            break;
        }
    }
    let idle_changes = cycle.changes;
    let settings = cycle.settings;
    for action in settings.actions.iter().filter_map(|name| actions::action(name)) {
        if action.phase() == ActionPhase::Evicting {
            action.run(cycle, true);
        }
    }
    if allocates {
        share_idle_room(cycle, idle_changes);
    }
}

/// Gives room that no plan could use to all, until nothing more starts. `before` is the number of changes before the plans.
fn share_idle_room(cycle: &mut CycleState, mut before: usize) {
    // In a strict order a queue that has its share goes on waiting for others.
    let heeds_share = cycle.settings.backfill == BackfillMode::Nothing && cycle.heeds_shares();
    for _ in 0..MAX_ROUNDS {
        let changes = cycle.changes;
        look_again(cycle, changes != before);
        surplus::run(cycle, heeds_share);
        if cycle.changes == changes || !cycle.may_start_more() {
            break;
        }
        before = changes;
    }
}

/// Runs the first two actions until nothing more starts.
fn start_minimums(cycle: &mut CycleState) {
    for _ in 0..MAX_ROUNDS {
        let changes = cycle.changes;
        cycle.begin_round();
        for action in [ActionPhase::InOrder, ActionPhase::Behind].into_iter().flat_map(actions::of_phase) {
            let is_chosen = cycle.settings.has(action.name());
            action.run(cycle, is_chosen);
        }
        if cycle.changes == changes || !cycle.may_start_more() {
            break;
        }
    }
}

/// Gives workloads their turn again for which something has opened: queues that have their share wait no longer for others, and
/// limits may have opened. Where something has changed, other agents may suit those that want to be near others.
fn look_again(cycle: &mut CycleState, has_changed: bool) {
    let mut waiting: Vec<usize> =
        (0..cycle.progress.len()).filter(|workload| cycle.awaits_minimum(*workload)).collect();
    waiting.sort_unstable_by_key(|workload| cycle.progress[*workload].position);
    for workload in waiting {
        let progress = &cycle.progress[workload];
        let is_over = match &progress.reason {
            Some(NotedReason::QueueShare(_)) => cycle.settings.backfill != BackfillMode::Nothing,
            Some(NotedReason::QueueLimit { .. } | NotedReason::Quota { .. }) => {
                cycle.check_bounds(workload, &progress.need(cycle.facts, workload)).is_ok()
            }
            Some(reason) => has_changed && reason.is_for_agents() && !cycle.facts.shape_of(workload).fails_alike(),
            None => false,
        };
        if !is_over {
            continue;
        }
        let refusal = progress.reason.clone().filter(NotedReason::is_of_search);
        let action = cycle.action_for(workload);
        cycle.consider(workload, AttemptOptions { action, heeds_share: false, may_start: true });
        let progress = &mut cycle.progress[workload];
        if let (Some(refusal), true) = (refusal, progress.reason.as_ref().is_some_and(NotedReason::is_for_room)) {
            progress.reason = Some(refusal);
        }
    }
}
