//! Simulates changes of weights, options, capacities or people on a copy of a group's state, with the code that makes
//! real changes; the same changes can then be applied.

pub mod answer;
mod apply;
mod changes;
mod compare;
mod orders;
pub mod request;

pub use apply::ACTION as APPLY;

use std::sync::Arc;

use bytes::Bytes;

use self::answer::SimulatedFairShares;
use self::changes::WantedChanges;
use self::compare::SnapshotSide;
use self::request::FairShareSimulation;
use super::input::json::read;
use super::input::terms::WriteTerms;
use super::{Caller, Result, Service};
use crate::api::input_warning::InputWarning;
use crate::domain::ids::Owner;
use crate::domain::parallel;
use crate::engine::accounting::shorter_lookback;
use crate::engine::group::calculate::ClockMoment;
use crate::engine::group::fork::StateFork;
use crate::engine::group::revision::ConfigRevision;
use crate::engine::group::snapshots::GroupSnapshot;
use crate::engine::group::state::GroupState;
use crate::engine::work::{drop_in_background, run_to_completion};
use crate::service::visible_group::VisibleGroup;

/// A group before and after a change. The change need not have been applied.
pub struct WhatIf {
    pub before: VisibleGroup,
    pub after: VisibleGroup,
    pub answer: SimulatedFairShares,
}

impl WhatIf {
    /// The answer without the snapshots. Freeing those of many users takes longer than writing the answer.
    pub fn into_answer(self) -> SimulatedFairShares {
        drop_in_background((self.before, self.after));
        self.answer
    }
}

impl Service {
    /// The effects of `document` on a group. If it requests so, the change is applied, provided that the configuration
    /// is still the same.
    #[tracing::instrument(
        name = "service.what_if.simulate_fair_shares",
        level = "debug",
        skip_all,
        fields(group),
        err(level = "debug")
    )]
    pub async fn simulate_fair_shares(
        self: &Arc<Self>,
        caller: Caller,
        group: String,
        document: Bytes,
    ) -> Result<WhatIf> {
        caller.require_reader()?;
        self.group(&caller, &group)?;
        let memory = self.memory().reserve_for_simulation(caller.principal.role, document.len())?;
        let (called, changes, terms, applies) = {
            let asked: FairShareSimulation = read(&document)?;
            let (called, applies) = (asked.called(), asked.apply);
            let (changes, terms) = asked.into_changes(&self.seen_people(&caller))?;
            (called, changes, terms, applies)
        };
        if applies {
            caller.require_admin()?;
            changes.require_applicable(&caller)?;
        }
        let (service, seen_by) = (Arc::clone(self), caller.clone());
        // Boxed, because it is large, and the future of a query would contain it at each of its levels.
        let trying = Box::pin(async move {
            let _memory = memory;
            // Few requests at a time have a copy of a group, which takes as much memory as the group itself.
            let _turn = service.report_permits.acquire(caller.client()).await?;
            Arc::clone(&service).try_out(caller, group, document, changes, terms, applies).await
        });
        // Without changes to apply, a client that goes away takes its simulation out of the queue.
        let tried = if applies { run_to_completion(trying).await } else { trying.await };
        tried.map_err(|error| called.with_given_names(error, &self.seen_people(&seen_by)))
    }

    async fn try_out(
        self: Arc<Self>,
        caller: Caller,
        group: String,
        document: Bytes,
        changes: WantedChanges,
        terms: WriteTerms,
        applies: bool,
    ) -> Result<WhatIf> {
        let fork = self.engine.fork(&group).await?;
        let revision = ConfigRevision::of(&fork.state.group);
        if let Some(seen) = &terms.if_revision {
            revision.require(seen)?;
        }
        let moment = self.engine.moment();
        if fork.group_snapshot.facts.calculation.is_some() {
            self.engine.load_normalized_days(&fork.snapshot, &fork.group_snapshot.facts).await?;
        }
        let kernels = self.live_kernels(&fork.group_snapshot).await?;
        let mut made = ChangedCopy::of(&self, &caller, fork, &changes, moment).await?;
        let warnings = std::mem::take(&mut made.warnings);
        let service = Arc::clone(&self);
        let seen_by = (caller.clone(), group.clone());
        let compute = move || {
            let (caller, group) = seen_by;
            let seen = |group_snapshot| VisibleGroup::new(&caller, &group, || Some(group_snapshot));
            let before = seen(Arc::clone(&made.before))?;
            let (after, was) = parallel::join_both(
                || made.group_snapshot(&service, &caller, moment),
                || SnapshotSide::of(&service, &before, moment),
            );
            let after = seen(after)?.warned(warnings);
            let sides = [was, SnapshotSide::of(&service, &after, moment)];
            let answer = compare::compare(&service, sides, &read(&document)?, &kernels, moment)?;
            Ok(WhatIf { before, after, answer })
        };
        let mut what_if = self.permits.run(caller.client(), compute).await?;
        if applies {
            let terms = WriteTerms { reason: terms.reason, if_revision: Some(revision.to_string()) };
            what_if.answer.applied = Some(apply::apply(self, caller, group, changes, terms).await?);
        }
        Ok(what_if)
    }
}

/// A copy of a state with the changes made, before anything is calculated.
struct ChangedCopy {
    state: GroupState,
    before: Arc<GroupSnapshot>,
    /// True if usage has to be calculated again.
    recalculates: bool,
    /// True if the next snapshot has other rows.
    reshapes: bool,
    changed: Vec<Owner>,
    /// Probable mistakes in the changes.
    warnings: Vec<InputWarning>,
}

impl ChangedCopy {
    async fn of(
        service: &Service,
        caller: &Caller,
        fork: StateFork,
        changes: &WantedChanges,
        moment: ClockMoment,
    ) -> Result<Self> {
        let StateFork { mut state, group_snapshot, snapshot } = fork;
        let mut warnings = changes.make_people_and_weights(&mut state, &service.seen_people(caller))?;
        let options = state.options.clone();
        let source = caller.slot_name_source(&state.group.name);
        let recalculates = changes.apply_capacity_and_options(&source, &mut state, &snapshot, moment).await?;
        let mut changed = Vec::new();
        if recalculates {
            let from = state.options.window_start(moment.trusted_time.day());
            // If runtimes have to be computed again, the next run does it.
            let recount = state.group.run_times_made && !state.knows_run_times(from);
            changed = state.prepare(&snapshot, moment.trusted_time, recount).await?;
        }
        let today = moment.now.day();
        warnings.extend(shorter_lookback::warnings_in(&service.engine, &snapshot, &state, &options, today).await?);
        Ok(Self { state, before: group_snapshot, recalculates, reshapes: changes.reshape(), changed, warnings })
    }

    /// The snapshot that would follow from the changes.
    fn group_snapshot(self, service: &Service, caller: &Caller, moment: ClockMoment) -> Arc<GroupSnapshot> {
        let Self { mut state, before, recalculates, reshapes, mut changed, .. } = self;
        if recalculates {
            changed.extend(state.calculate(moment.trusted_time));
        }
        let terms = state.weighing_terms();
        let weighed = state.hierarchy.weigh(terms);
        changed.extend(weighed.moved);
        let people = service.seen_people(caller);
        let after =
            if reshapes { before.rebuilt(&state, &people) } else { before.after(&changed, &state, &people, None) };
        drop(people);
        drop_in_background(state);
        Arc::new(after)
    }
}
