//! What every queue of a group deserves now, from the published picture; and what it deserved on days before.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};

use super::group::live_kernels::LiveKernels;
use super::group::published::PublishedGroup;
use super::input::page::{Key, Page, Window, key_page, key_window};
use super::work::detached;
use super::{Caller, Error, Result, Service, Work};
use crate::domain::decimal::Amount;
use crate::domain::division::{Observed, Report, Shares, Trace, Tree, Warning, live_tree};
use crate::domain::fault::Fault;
use crate::domain::ids::ProjectId;
use crate::domain::queues::{Bound, Claim, MAX_WEIGHT, ProjectNames, queue_of};
use crate::domain::slots::{Amounts, SlotMap};
use crate::domain::time::{Day, Timestamp};
use crate::store;

pub use crate::store::division_days::{DivisionDay, HistoryFilter};

/// The division of one picture.
#[derive(Debug)]
pub struct LiveDivision {
    pub calculated_at: Timestamp,
    pub algorithm: &'static str,
    pub tree: Tree,
    pub shares: Shares,
    pub report: Report,
}

/// A division with the picture that it is of.
#[derive(Clone, Debug)]
pub struct GroupDivision {
    pub group: Arc<PublishedGroup>,
    pub division: Arc<LiveDivision>,
}

/// What follows from one picture and is made when somebody first asks.
#[derive(Debug, Default)]
pub(super) struct Live {
    division: OnceLock<std::result::Result<Arc<LiveDivision>, Vec<Fault>>>,
    pub scene: tokio::sync::OnceCell<Arc<super::plans::Scene>>,
    /// The kernels that run or wait, if an earlier picture had them.
    pub kernels: Option<LiveKernels>,
}

impl Live {
    pub fn with_kernels(kernels: Option<LiveKernels>) -> Self {
        Self { kernels, ..Self::default() }
    }

    /// The kernels that run or wait, as far as that needs no reading.
    pub fn known_kernels(&self) -> Option<LiveKernels> {
        self.scene.get().map(|scene| LiveKernels::of(scene.kernels())).or_else(|| self.kernels.clone())
    }
}

/// What one queue holds, asks for and may have; all slots of the division.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueFigures {
    pub parent: Option<Arc<str>>,
    pub quota: SlotMap<Bound>,
    pub limit: SlotMap<Bound>,
    pub request: Amounts,
    pub allocated: Amounts,
    pub allocated_non_preemptible: Amounts,
    /// The usage that a history gain looks at; none without usage or gain.
    pub usage: Option<Amounts>,
}

impl LiveDivision {
    /// The figures of a queue by its place in the tree, which is its place in the report too.
    pub fn figures(&self, queue: usize) -> QueueFigures {
        let tree = &self.tree;
        let bounds = |row: &[Bound]| tree.slots.iter().copied().zip(row.iter().copied()).collect();
        QueueFigures {
            parent: tree.queues[queue].parent.map(|p| Arc::clone(&tree.queues[p].name)),
            quota: bounds(tree.quota.row(queue)),
            limit: bounds(tree.limit.row(queue)),
            request: tree.amounts(tree.request.row(queue)),
            allocated: tree.amounts(tree.allocated.row(queue)),
            allocated_non_preemptible: tree.amounts(tree.allocated_non_preemptible.row(queue)),
            usage: tree.usage.row(queue).iter().any(|u| !u.is_zero()).then(|| tree.amounts(tree.usage.row(queue))),
        }
    }

    fn day_rows(&self, day: Day) -> Vec<DivisionDay> {
        let ratios = self.shares.ratios.as_deref();
        (0..self.tree.len())
            .map(|queue| {
                let figures = self.figures(queue);
                DivisionDay {
                    day,
                    queue: self.tree.name(queue).to_owned(),
                    algorithm: self.algorithm.to_owned(),
                    fair_share: self.tree.amounts(self.shares.fair_share.row(queue)),
                    allocated: figures.allocated,
                    request: figures.request,
                    quota: figures.quota,
                    ratios: ratios.map(|r| r[queue]),
                    calculated_at: self.calculated_at,
                }
            })
            .collect()
    }
}

impl PublishedGroup {
    /// The queue that a kernel or workload counts for (§1).
    pub fn queue_of(&self, named: Option<&str>, project: ProjectId) -> &str {
        queue_of(&self.queues, named, project, || {
            self.project(project).map_or_else(ProjectNames::default, |share| ProjectNames {
                display_name: share.project_name.as_deref(),
                domain: Some(&share.domain_name),
            })
        })
    }

    /// What the kernels hold and ask for, and what projects have used, by queue.
    pub(super) fn observed<'a>(&'a self, demand: &'a crate::domain::queues::Demand) -> Observed<'a> {
        let of = |claim: &Claim| self.queue_of(claim.queue.as_deref(), claim.project);
        Observed { held: demand.iter().map(|(claim, held)| (of(claim), held)).collect(), usage: self.usage() }
    }

    /// The decayed usage of the projects by queue, as parts of the equally decayed capacity; only a history gain asks.
    fn usage(&self) -> Vec<(&str, Amounts)> {
        if self.decayed_capacity.is_empty() {
            return Vec::new();
        }
        let part = |share: &crate::service::group::published::ProjectShare| {
            let used = share.share.history.total_decayed_usage.iter();
            let parts = used.filter_map(|(slot, used)| {
                let offered = self.decayed_capacity.get(slot).filter(|c| !c.is_zero())?;
                Some((slot, Amount::from_f64(used.to_f64() / offered.to_f64()).min(MAX_WEIGHT)))
            });
            parts.collect()
        };
        self.projects.iter().map(|share| (self.queue_of(None, share.project_id), part(share))).collect()
    }

    /// Queues in which kernels run whose usage counts for another one, because only projects' usage is recorded.
    fn usage_elsewhere(&self) -> Vec<Warning> {
        if self.decayed_capacity.is_empty() {
            return Vec::new();
        }
        let other = |claim: &Claim| {
            let queue = self.queue_of(claim.queue.as_deref(), claim.project);
            (queue != self.queue_of(None, claim.project)).then_some(queue)
        };
        let queues: BTreeSet<&str> = self
            .demand
            .iter()
            .filter(|(_, held)| held.allocated.iter().any(|(_, amount)| !amount.is_zero()))
            .filter_map(|(claim, _)| other(claim))
            .collect();
        let detail =
            "kernels of other queues' projects run here, and their usage counts there: it is recorded by project";
        queues.into_iter().map(|q| Warning::new("usage_elsewhere", Some(q), None, detail)).collect()
    }

    /// The division of this picture; made once.
    pub(super) fn divided(&self, now: Timestamp) -> Result<Arc<LiveDivision>> {
        let made = self.live.division.get_or_init(|| self.divide(now, Trace::off()).map(Arc::new));
        made.clone().map_err(not_a_tree)
    }

    fn divide(&self, now: Timestamp, mut trace: Trace) -> std::result::Result<LiveDivision, Vec<Fault>> {
        let choice = &self.options.division;
        let mut tree = live_tree(&self.queues, &self.capacity, &self.observed(&self.demand))?;
        tree.raised.extend(self.usage_elsewhere());
        let shares = choice.algorithm().divide(&tree, &choice.options, &mut trace);
        let report = Report::tell(&tree, &shares, (choice.algorithm(), &choice.options), trace);
        Ok(LiveDivision { calculated_at: now, algorithm: choice.algorithm().name(), tree, shares, report })
    }
}

/// Queues are checked when they are written; a capacity that grows later can still add slots beyond the most.
pub(super) fn not_a_tree(faults: Vec<Fault>) -> Error {
    let detail = faults.into_iter().next().map_or_else(String::new, |fault| fault.detail);
    Error::Conflict { code: "not_divisible", detail: format!("the group cannot be divided: {detail}") }
}

impl Service {
    /// What every queue of the group deserves now; `explain` adds each step that gave it something.
    pub async fn division(&self, caller: &Caller, group: &str, explain: bool) -> Result<GroupDivision> {
        caller.require_reader()?;
        self.divided(caller, group, explain).await
    }

    async fn divided(&self, caller: &Caller, group: &str, explain: bool) -> Result<GroupDivision> {
        let (group, now) = (self.group(caller, group)?, self.clock().now());
        if let Some(Ok(division)) = group.live.division.get().filter(|_| !explain) {
            let division = Arc::clone(division);
            return Ok(GroupDivision { group, division });
        }
        let work = move || {
            let division = if explain {
                Arc::new(group.divide(now, Trace::on()).map_err(not_a_tree)?)
            } else {
                group.divided(now)?
            };
            Ok(GroupDivision { group, division })
        };
        self.permits.run(work).await
    }

    /// Keeps the group's division as today's; the last one of a day counts. Returns what was done, as counts.
    pub async fn divide(self: &Arc<Self>, work: impl Into<Work>) -> Result<Value> {
        self.check_clock()?;
        let (service, work) = (Arc::clone(self), work.into());
        let GroupDivision { group, division } = self.divided(&Caller::job(), &work.group, false).await?;
        detached(async move {
            let rows = division.day_rows(service.clock().now().day());
            let count = rows.len();
            let tx = service.store().begin().await?;
            // Whoever deletes the group meanwhile finds these rows, or these rows find no group.
            if !store::groups::hold(&tx, &group.name).await? {
                return Err(Error::unknown_group(&group.name));
            }
            let Some(day) = rows.first().map(|row| row.day) else { return Ok(json!({"queues": 0})) };
            store::division_days::replace(&tx, &group.name, day, rows).await?;
            work.check_fence(&tx).await?;
            tx.commit().await.map_err(store::StoreError::from)?;
            Ok(json!({"queues": count}))
        })
        .await
    }

    /// The name in cursors of the division's history.
    pub const DIVISION_HISTORY: &'static str = "division-history";

    /// What queues got, a row for each day and queue, by day and name.
    pub async fn division_history(
        &self,
        caller: &Caller,
        group: &str,
        filter: &HistoryFilter,
        window: &Window,
    ) -> Result<Page<DivisionDay>> {
        caller.require_reader()?;
        self.group(caller, group)?;
        let place = key_window(window, |key| match key {
            [Key::Number(day), Key::Text(queue)] => Some((key_day(*day), queue.clone())),
            _ => None,
        })?;
        let found = store::division_days::page(self.store().read(), group, filter, &place).await?;
        let key = |row: &DivisionDay| vec![day_key(row.day), Key::Text(row.queue.clone())];
        Ok(key_page(Self::DIVISION_HISTORY, found, key, window))
    }

    /// Removes divisions of days that are older than `keep_days`. Returns how many rows.
    pub async fn purge_divisions(&self, group: &str, keep_days: u32) -> Result<u64> {
        let before = self.clock().now().day().plus(-keep_days.cast_signed());
        Ok(store::division_days::purge(self.store().write(), group, before).await?)
    }
}

/// Days as numbers that ascend like them from 0 on.
fn day_key(day: Day) -> Key {
    Key::Number(u64::from(day.0.cast_unsigned() ^ (1 << 31)))
}

fn key_day(key: u64) -> Day {
    Day((u32::try_from(key).unwrap_or(u32::MAX) ^ (1 << 31)).cast_signed())
}
