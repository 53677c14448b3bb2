//! Who would have to give back so that a pending workload can run now (§6). Nothing is executed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use utoipa::ToSchema;

use super::division::not_a_tree;
use super::group::live_kernels::{Kernels, LiveKernels};
use super::group::published::PublishedGroup;
use super::people::who;
use super::{Caller, Error, Fault, Result, Service};
use crate::domain::decimal::Amount;
use crate::domain::defaults::yes;
use crate::domain::division::{Shares, Trace, Tree, Warning, lint, live_tree};
use crate::domain::ids::ProjectId;
use crate::domain::queues::{DEFAULT_QUEUE, Demand};
use crate::domain::reclaim::{Agent, Input, Pending, PendingMember, Plan, Workloads, plan};
use crate::domain::slots::Amounts;
use crate::domain::time::Timestamp;
use crate::store;

/// What of a group runs, waits and where, as of one picture: made when the first plan asks for it.
#[derive(Debug)]
pub(super) struct Scene {
    tree: Tree,
    shares: Shares,
    workloads: Workloads,
    /// `None`: only totals count.
    agents: Option<Vec<Agent>>,
    warnings: Vec<Warning>,
    /// What all of this is made from.
    kernels: Kernels,
}

/// The workload that wants to run.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({
    "workload_id": "job-7", "queue": "vision", "members": [{"slots": {"cuda.device": 8}}, {"slots": {"cuda.device": 8}}], "gang_min": 2
}))]
pub struct PlanRequest {
    pub workload_id: String,
    /// Absent: the queue of the project, as for kernels; without a project `default`.
    pub queue: Option<String>,
    #[schema(value_type = Option<uuid::Uuid>)]
    pub project_id: Option<ProjectId>,
    /// The project's name instead of the UUID.
    pub project: Option<String>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default = "yes")]
    pub preemptible: bool,
    pub created_at: Option<Timestamp>,
    /// Absent: all members.
    pub gang_min: Option<u32>,
    pub members: Vec<PendingMember>,
}

/// A plan with the picture that it was made on.
#[derive(Clone, Debug)]
pub struct Planned {
    pub group: Arc<PublishedGroup>,
    pub plan: Plan,
}

impl Service {
    /// Plans for one workload against live state. If kernels of its id are pending, their demand is not counted twice.
    pub async fn plan_reclaim(&self, caller: &Caller, group: &str, request: PlanRequest) -> Result<Planned> {
        caller.require_scheduler()?;
        let group = self.group(caller, group)?;
        let project = who::some_project(&self.people(), request.project_id, request.project.as_deref());
        let pending = pending(&group, request, project.map_err(|fault| Error::Invalid(vec![fault]))?)?;
        let scene = group.live.scene.get_or_try_init(|| self.scene(&group)).await.map(Arc::clone)?;
        let now = self.clock().now();
        let work = move || {
            let plan = plan_on(&group, &scene, &pending, now)?;
            Ok(Planned { group, plan })
        };
        self.permits.run(work).await
    }

    async fn scene(&self, group: &Arc<PublishedGroup>) -> Result<Arc<Scene>> {
        let db = self.store().read();
        let known = match &group.live.kernels {
            Some(known) => known.clone(),
            None => LiveKernels::of(store::live_kernels::all(db, &group.name).await?.into()),
        };
        let agents = store::agents::list(db, &group.name).await?;
        let group = Arc::clone(group);
        self.permits.run(move || Ok(Arc::new(Scene::of(&group, known.all(), agents)?))).await
    }
}

impl Scene {
    pub fn kernels(&self) -> Kernels {
        Arc::clone(&self.kernels)
    }

    fn of(group: &PublishedGroup, kernels: Kernels, agents: Vec<store::agents::Agent>) -> Result<Self> {
        let mut demand = Demand::default();
        for kernel in kernels.iter() {
            demand.add(kernel.portion());
        }
        let tree = live_tree(&group.queues, &group.capacity, &group.observed(&demand)).map_err(not_a_tree)?;
        let choice = &group.options.division;
        let shares = choice.algorithm().divide(&tree, &choice.options, &mut Trace::off());
        let mut names: BTreeMap<&str, Arc<str>> = BTreeMap::new();
        names.extend(tree.queues.iter().map(|q| (&*q.name, Arc::clone(&q.name))));
        let workloads = Workloads::of(&kernels, |kernel| {
            let name = group.queue_of(kernel.queue.as_deref(), kernel.project);
            names.get(name).map_or_else(|| Arc::from(name), Arc::clone)
        });
        let lost = workloads.running.iter().flat_map(|w| &w.members).filter(|m| m.agent_id.is_none()).count();
        let mut warnings = [lint(&tree, choice.algorithm(), &choice.options), shares.warnings.clone()].concat();
        if lost > 0 && !agents.is_empty() {
            // Nobody knows which agents have room then.
            let detail = format!("{lost} running kernels name no agent: only totals count, not places");
            warnings.push(Warning::new("unknown_agent", None, None, detail));
        }
        let agents = (lost == 0 && !agents.is_empty()).then(|| agents.into_iter().map(place).collect());
        Ok(Self { tree, shares, workloads, agents, warnings, kernels })
    }

    /// The tree with the demand of `pending` in place of what kernels of its id ask for already; `None`: that is the
    /// same.
    fn with_request(&self, pending: &Pending) -> Option<Tree> {
        let tree = &self.tree;
        let queue = tree.find(&pending.queue)?;
        let mut request = tree.request.clone();
        let mut change = |queue: usize, slots: &Amounts, by: fn(Amount, Amount) -> Amount| {
            for (slot, amount) in slots.iter() {
                let Some(column) = tree.column(slot) else { continue };
                for at in tree.ancestry(queue) {
                    request[(at, column)] = by(request[(at, column)], amount);
                }
            }
        };
        for (name, slots) in self.workloads.waiting.get(&*pending.workload_id).into_iter().flatten() {
            if let Some(waits_in) = tree.find(name) {
                change(waits_in, slots, Amount::saturating_sub);
            }
        }
        for member in &pending.members {
            change(queue, &member.slots, Amount::saturating_add);
        }
        if request == tree.request {
            return None;
        }
        let mut asking = tree.clone();
        asking.request = request;
        Some(asking)
    }
}

fn place(agent: store::agents::Agent) -> Agent {
    let schedulable = agent.offers();
    let store::agents::Agent { agent_id, available_slots, labels, .. } = agent;
    Agent { agent_id: Arc::from(agent_id), available_slots, labels, schedulable }
}

/// The workload in its queue; a queue that is named must be there.
fn pending(group: &PublishedGroup, request: PlanRequest, project: Option<ProjectId>) -> Result<Pending> {
    let queue: Arc<str> = match (&request.queue, project) {
        (Some(name), _) if group.queues.contains_key(name.as_str()) || name == DEFAULT_QUEUE => {
            Arc::from(name.as_str())
        }
        (Some(name), _) => {
            return Err(Error::invalid("/queue", "unknown_queue", format!("there is no queue {name:?}")));
        }
        (None, Some(project)) => Arc::from(group.queue_of(None, project)),
        (None, None) => Arc::from(DEFAULT_QUEUE),
    };
    let PlanRequest { workload_id, priority, preemptible, created_at, gang_min, members, .. } = request;
    Ok(Pending { workload_id: Arc::from(workload_id), queue, priority, preemptible, created_at, gang_min, members })
}

fn plan_on(group: &PublishedGroup, scene: &Scene, pending: &Pending, now: Timestamp) -> Result<Plan> {
    let choice = &group.options.division;
    let asking = scene.with_request(pending);
    let divided = asking.as_ref().map(|tree| choice.algorithm().divide(tree, &choice.options, &mut Trace::off()));
    let (tree, shares) = asking.as_ref().zip(divided.as_ref()).unwrap_or((&scene.tree, &scene.shares));
    let input = Input {
        tree,
        fair_share: &shares.fair_share,
        running: &scene.workloads.running,
        pending,
        agents: scene.agents.as_deref(),
        options: &choice.plan,
        now,
    };
    let mut plan = plan(&input).map_err(|faults| {
        let shown = faults.into_iter().map(|f| {
            let pointer = f.pointer.strip_prefix("/pending").unwrap_or(&f.pointer).to_owned();
            Fault::new(pointer, f.code, f.detail)
        });
        Error::Invalid(shown.collect())
    })?;
    plan.warnings.extend(scene.warnings.iter().cloned());
    Ok(plan)
}
