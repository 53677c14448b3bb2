//! Writes the generated cluster into the service, in the same way as a scheduler and an admin would.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::clock::PastClock;
use super::cluster::DemoCluster;
use super::fair_order::owner;
use super::groups::{DemoKernel, GROUPS, GroupPlan};
use super::people::{GPU_CLUSTER, PEOPLE, PROJECTS, WorkHabit, slots};
use super::policy::{options, weights};
use super::queues::queues;
use crate::cli::import::capacities::AgentCapacity;
use crate::cli::import::offered;
use crate::domain::changes::SuspensionChanges;
use crate::domain::fairness::PendingCounts;
use crate::domain::identity;
use crate::domain::ids::Owner;
use crate::domain::kernel::{KernelPhase, KernelReport, KernelTraits};
use crate::domain::kernel_agents::KernelAgents;
use crate::domain::slots::SlotAmounts;
use crate::domain::time::{MICROS_PER_SECOND, TimeSpan, Timestamp};
use crate::domain::weight::Weight;
use crate::engine::ingest::batch::BATCH_KERNELS;
use crate::engine::ingest::incoming::IncomingReport;
use crate::engine::ingest::incoming::OwnerNames;
use crate::service::agents::AgentSpec;
use crate::service::groups::SchedulerPatch;
use crate::service::queues::QueuesWrite;
use crate::service::weights::{WeightItem, WeightTarget};
use crate::service::{Caller, Result, Service};
use crate::store::Store;

/// The time at which the server stopped, before the last midnight, and how long it was down. Kernels ran meanwhile.
const STOPPED_BEFORE_MIDNIGHT: i64 = 4 * 3_600;
const DOWN_SECONDS: i64 = 8_400;

/// Stores the cluster and accounts for it in three steps: until the server stopped, until it came back, and until
/// `now`.
pub async fn fill(store: &Store, now: Timestamp, cluster: &DemoCluster, seed: u64) -> Result<()> {
    let stopped = now.day().start().plus_micros(-STOPPED_BEFORE_MIDNIGHT * MICROS_PER_SECOND);
    let back = stopped.plus_micros(DOWN_SECONDS * MICROS_PER_SECOND);
    let clock = Arc::new(PastClock::at(stopped));
    let past = ReportedPast { cluster, seed, ends: now, caller: Caller::internal("demo") };

    let service = Service::new(store.clone(), Arc::clone(&clock) as _).await?;
    service.start_serving().await?;
    past.begin(&service).await?;

    clock.pass(back);
    let service = Service::new(store.clone(), Arc::clone(&clock) as _).await?;
    service.start_serving().await?;
    past.account(&service, stopped).await?;

    clock.pass(now);
    service.heartbeat().await?;
    past.account(&service, back).await?;
    let reason = Some("her thesis is due".to_owned());
    service.put_weights(past.caller, GPU_CLUSTER.to_owned(), vec![thesis_weight()], reason).await?;
    Ok(())
}

/// The history that is reported to the service.
struct ReportedPast<'a> {
    cluster: &'a DemoCluster,
    seed: u64,
    ends: Timestamp,
    caller: Caller,
}

impl ReportedPast<'_> {
    /// Creates the groups, with everything that happened until now.
    async fn begin(&self, service: &Arc<Service>) -> Result<()> {
        for group in &GROUPS {
            let patch = SchedulerPatch {
                scheduler: Some(group.scheduler.to_owned()),
                scheduler_opts: Some(options(group)),
                ..SchedulerPatch::default()
            };
            service.put_group(self.caller.clone(), group.name.to_owned(), patch).await?;
            self.report(service, group, self.cluster.first_day.plus(-1).start()).await?;
            offer(service, &self.caller, self.cluster, group).await?;
            if group.name == GPU_CLUSTER {
                let reason = Some("research comes first, courses and theses second".to_owned());
                let items = weights(group).into_iter().map(|(owner, weight)| weight_item(owner, weight)).collect();
                service.put_weights(self.caller.clone(), group.name.to_owned(), items, reason).await?;
                let write = QueuesWrite {
                    queues: queues(),
                    reason: Some("what every project is promised".to_owned()),
                    ..QueuesWrite::default()
                };
                service.put_queues(self.caller.clone(), group.name.to_owned(), write).await?;
            }
            service.aggregate(group.name).await?;
            service.keep_past_days(group.name, self.cluster.first_day, self.waiting(group)).await?;
        }
        Ok(())
    }

    /// The owners in a group with pending kernels. They count as waiting on all past days, because there was never room
    /// for all.
    fn waiting(&self, group: &GroupPlan) -> PendingCounts {
        let mut waiting = PendingCounts::default();
        for kernel in self.cluster.kernels.iter().filter(|kernel| kernel.group == group.name && kernel.placed.is_none())
        {
            waiting.add(owner(&PEOPLE[kernel.person]));
        }
        waiting
    }

    /// Reports what happened after `since`, and accounts for it.
    async fn account(&self, service: &Arc<Service>, since: Timestamp) -> Result<()> {
        for group in &GROUPS {
            self.report(service, group, since).await?;
            offer(service, &self.caller, self.cluster, group).await?;
            service.aggregate(group.name).await?;
        }
        Ok(())
    }

    /// Reports the kernels of a group that began or ended after `since`, in their present state.
    async fn report(&self, service: &Arc<Service>, group: &GroupPlan, since: Timestamp) -> Result<()> {
        let now = service.clock().now();
        let of_group = self.cluster.kernels.iter().filter(|kernel| kernel.group == group.name);
        let kernels: Vec<DemoKernel> = of_group.filter_map(|kernel| self.as_of(kernel, since, now)).collect();
        for batch in kernels.chunks(BATCH_KERNELS) {
            let batch = batch.iter().map(|kernel| incoming_report(kernel, self.seed)).collect();
            service.ingest(&self.caller, group.name, batch).await?;
        }
        Ok(())
    }

    /// The kernel as it was known at `now`; `None` if nothing of it changed after `since`.
    fn as_of(&self, kernel: &DemoKernel, since: Timestamp, now: Timestamp) -> Option<DemoKernel> {
        let Some((_, start)) = kernel.placed else {
            // Pending kernels are reported last, because their earlier waiting is not known.
            return (now == self.ends).then(|| kernel.clone());
        };
        let is_new = |seconds: i64| Timestamp::from_seconds(seconds) > since;
        let has_come = |seconds: i64| Timestamp::from_seconds(seconds) <= now;
        let ended_at = kernel.ended_at.filter(|end| has_come(*end));
        let is_reported = has_come(start) && (is_new(start) || ended_at.is_some_and(is_new));
        is_reported.then(|| DemoKernel { ended_at, ..kernel.clone() })
    }
}

/// A change of a weight that is made after everything else is stored.
fn thesis_weight() -> WeightItem {
    let target = WeightTarget::User(identity::user("priya"), Some(identity::project("theses")));
    WeightItem { target, weight: Weight::from_ten_thousandths(20_000) }
}

fn weight_item(owner: Owner, weight: Weight) -> WeightItem {
    let target = match owner {
        Owner::Domain(name) => WeightTarget::Domain(name.to_string()),
        Owner::Project(project) => WeightTarget::Project(project),
        Owner::User(member) => WeightTarget::User(member.user, Some(member.project)),
    };
    WeightItem { target, weight: Some(weight) }
}

/// Stores capacities of the past days, and the nodes in their present state.
async fn offer(service: &Arc<Service>, caller: &Caller, cluster: &DemoCluster, group: &GroupPlan) -> Result<()> {
    let now = service.clock().now();
    let whole = slots(group.node);
    let mut rows = Vec::new();
    for node in 0..group.nodes {
        let outages = cluster.outages.iter().filter(|o| o.group == group.name && o.node == node);
        let down: Vec<TimeSpan> = outages
            .filter_map(|o| TimeSpan::new(Timestamp::from_seconds(o.from), Timestamp::from_seconds(o.until)))
            .collect();
        let life = TimeSpan::new(cluster.first_day.start(), Timestamp::MAX);
        for up in life.into_iter().flat_map(|life| life.without(&down)) {
            rows.push(AgentCapacity {
                resource_group: group.name.to_owned(),
                agent: agent_name(group.name, node),
                slots: whole.clone(),
                from: up.start,
                to: Some(up.end),
            });
        }
    }
    let days = offered::by_day(rows.iter(), cluster.first_day, now.day().plus(-1));
    service.give_capacities(caller.clone(), group.name, days).await?;
    let agent = |(name, offered): (&str, Option<SlotAmounts>)| {
        let alive = offered.is_some();
        let available_slots = offered.unwrap_or_else(|| whole.clone());
        (
            name.to_owned(),
            AgentSpec { available_slots, alive, schedulable: true, labels: BTreeMap::new(), taints: Vec::new() },
        )
    };
    let specs = offered::agents(rows.iter(), now).into_iter().map(agent).collect();
    service.put_agents(caller.clone(), group.name.to_owned(), specs, None).await
}

fn agent_name(group: &str, node: usize) -> String {
    format!("{group}-{:02}", node + 1)
}

fn incoming_report(kernel: &DemoKernel, seed: u64) -> IncomingReport {
    let person = &PEOPLE[kernel.person];
    let (project, domain) = PROJECTS[person.project];
    let job = format!("{seed}/{}", kernel.job);
    let phase = match (kernel.placed, kernel.ended_at) {
        (None, _) => KernelPhase::Pending,
        (Some(_), None) => KernelPhase::Running,
        (Some(_), Some(_)) => KernelPhase::Terminated,
    };
    let report = Box::new(KernelReport {
        id: identity::kernel(kernel.group, &format!("{job}/{}/{}", kernel.attempt, kernel.member)),
        session: identity::session(kernel.group, &job),
        owner: owner(person),
        domain: domain.to_owned(),
        slots: slots(kernel.need),
        phase,
        started_at: kernel.placed.map(|(_, start)| Timestamp::from_seconds(start)),
        terminated_at: kernel.ended_at.map(Timestamp::from_seconds),
        changes: SuspensionChanges::default(),
        expected_seconds: None,
        charge_class: None,
        submitted_at: None,
        rules: None,
        traits: kernel_traits(kernel, seed),
    });
    let owner_names = |name: &str| OwnerNames { name: Some(name.to_owned()), display_name: None };
    IncomingReport {
        report,
        user: owner_names(person.name),
        project: owner_names(project),
        project_stays: true,
        mistakes: Vec::new(),
    }
}

/// The scheduling properties of a kernel. Training and batch work is preemptible; services are not, and those of the
/// industry are critical. One office job in five is an open notebook, which is not preemptible either.
fn kernel_traits(kernel: &DemoKernel, seed: u64) -> KernelTraits {
    let person = &PEOPLE[kernel.person];
    let service = person.habit == WorkHabit::SteadyService;
    let notebook = person.habit == WorkHabit::Office && kernel.job.is_multiple_of(5);
    KernelTraits {
        agents: KernelAgents::of_one(kernel.placed.map(|(node, _)| agent_name(kernel.group, node))),
        priority: i32::from(service),
        preemptible: !service && !notebook,
        critical: service && PROJECTS[person.project].1 == "industry",
        gang_id: (kernel.members > 1).then(|| format!("training-{seed}-{}", kernel.job)),
        gang_min: (kernel.members > 1).then_some(kernel.members),
        ..KernelTraits::default()
    }
}
