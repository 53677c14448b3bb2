//! The clusters of two real traces at their fullest moment: the division and the plans for the waiting jobs, checked by the
//! laws. Skipped if the traces are not available.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairshared::api::kernels::KernelInput;
use fairshared::domain::decimal::Amount;
use fairshared::domain::queues::Bound;
use fairshared::domain::reclaim::{ReclaimPlan, ReclaimVerdict};
use fairshared::domain::slots::SlotName;
use fairshared::domain::time::Timestamp;
use fairshared::engine::group::snapshots::division::SnapshotDivision;
use fairshared::engine::ingest::incoming::check_input;
use fairshared::service::Role;
use fairshared::service::plans::PlanRequest;
use serde_json::{Value, json};

use super::{division, set_queues};
use crate::cli::program::{run, run_with_input};
use crate::rest::support::{Server, create_key, group};
use crate::support::database::{TestDb, postgres, sqlite};
use crate::support::fixture::{Fixture, GROUP, admin, id};
use crate::support::plain::{data, neutral_rows, unpack};
use crate::support::time;

const PLANS: usize = 25;

#[derive(Clone)]
struct Job {
    id: String,
    queue: String,
    submitted: Timestamp,
    start: Timestamp,
    end: Timestamp,
    amount: u64,
    agent: Option<String>,
}

impl Job {
    fn runs_at(&self, moment: Timestamp) -> bool {
        self.start <= moment && moment < self.end
    }

    /// True if the kernel may be evicted.
    fn preemptible(&self) -> bool {
        !id(&self.id).as_u128().is_multiple_of(5)
    }

    fn critical(&self) -> bool {
        id(&self.id).as_u128().is_multiple_of(11)
    }

    fn kernel(&self, slot: &str, moment: Timestamp) -> Value {
        let runs = self.runs_at(moment);
        json!({
            "kernel_id": id(&self.id), "session_id": id(&self.id), "user_uuid": id(&self.queue), "project_id": id(&self.queue),
            "domain_name": "all", "occupied_slots": {slot: self.amount.to_string()}, "queue": self.queue,
            "status": if runs { "RUNNING" } else { "PENDING" }, "started_at": runs.then(|| self.start.to_string()),
            "agent_id": self.agent.as_ref().filter(|_| runs), "preemptible": self.preemptible(), "critical": self.critical(),
        })
    }
}

/// The moment with the most held capacity.
fn fullest(jobs: &[Job]) -> Timestamp {
    let mut events: Vec<(Timestamp, i64)> = Vec::new();
    for job in jobs {
        events.extend([(job.start, job.amount.cast_signed()), (job.end, -job.amount.cast_signed())]);
    }
    events.sort_unstable();
    let (mut held, mut most, mut at) = (0, 0, events[0].0);
    for (moment, change) in events {
        held += change;
        if held > most {
            (most, at) = (held, moment);
        }
    }
    at
}

#[derive(Clone)]
struct Cluster {
    slot: &'static str,
    agents: BTreeMap<String, u64>,
    moment: Timestamp,
    running: Vec<Job>,
    waiting: Vec<Job>,
}

/// One cluster of real nodes, with jobs of one node each. Jobs waited for memory while processors were free, so the nodes
/// are as large as the amounts that were held.
fn wagap() -> Option<Cluster> {
    let folder = data()?.join("wagap2013");
    let placed = unpack(&folder.join("placements.csv.gz"));
    let places: HashMap<&str, &str> = neutral_rows(&placed).into_iter().map(|row| (row[0], row[1])).collect();
    let jobs: Vec<Job> = neutral_rows(&unpack(&folder.join("jobs.csv.gz")))
        .into_iter()
        .filter(|row| row[5] == "zewura" && row[0] == row[1] && row[9] != "0")
        .map(|row| job(&row, row[2], row[9], places.get(row[0]).copied()))
        .collect();
    let moment = fullest(&jobs);
    let waiting = jobs.iter().filter(|j| j.submitted <= moment && moment < j.start).cloned().collect();
    let running: Vec<Job> = jobs.into_iter().filter(|j| j.runs_at(moment)).collect();
    let mut agents = BTreeMap::new();
    for job in &running {
        *agents.entry(job.agent.clone().unwrap()).or_default() += job.amount;
    }
    Some(Cluster { slot: "cpu", agents, moment, running, waiting })
}

/// A cluster without places. Its trace has no waiting times, so the jobs that start next count as waiting. It is as large as
/// the amount that was held.
fn philly() -> Option<Cluster> {
    let jobs: Vec<Job> = neutral_rows(&unpack(&data()?.join("philly2017/jobs.csv.gz")))
        .into_iter()
        .filter(|row| !row[8].is_empty() && row[11] != "0")
        .map(|row| job(&row, row[3], row[11], None))
        .collect();
    let moment = fullest(&jobs);
    let mut waiting: Vec<Job> = jobs.iter().filter(|j| j.start > moment).cloned().collect();
    waiting.sort_by_key(|j| (j.start, j.id.clone()));
    waiting.truncate(200);
    let running: Vec<Job> = jobs.into_iter().filter(|j| j.runs_at(moment)).collect();
    let agents = BTreeMap::from([("all".to_owned(), running.iter().map(|j| j.amount).sum())]);
    Some(Cluster { slot: "cuda.device", agents, moment, running, waiting })
}

fn job(row: &[&str], queue: &str, amount: &str, agent: Option<&str>) -> Job {
    Job {
        id: row[0].to_owned(),
        queue: queue.to_owned(),
        submitted: time(row[6]),
        start: time(row[7]),
        end: time(row[8]),
        amount: amount.parse().unwrap(),
        agent: agent.map(str::to_owned),
    }
}

impl Cluster {
    fn capacity(&self) -> u64 {
        self.agents.values().sum()
    }

    /// Equal quotas for all queues that hold or ask for something.
    fn queues(&self) -> Value {
        let names: BTreeSet<&str> = self.running.iter().chain(&self.waiting).map(|j| j.queue.as_str()).collect();
        let quota = (self.capacity() / names.len() as u64).to_string();
        names.iter().map(|name| json!({"name": name, "quota": {self.slot: quota}})).collect()
    }

    async fn replay(&self, db: TestDb) -> Fixture {
        let f = Fixture::new(db, &self.moment.to_string()).await;
        for (agent, amount) in &self.agents {
            f.agent(agent, &json!({self.slot: amount.to_string()})).await;
        }
        set_queues(&f, &self.queues()).await;
        let kernel = |job: &Job| {
            let input: KernelInput = serde_json::from_value(job.kernel(self.slot, self.moment)).unwrap();
            check_input(input, &f.service.people(), self.moment).unwrap()
        };
        let kernels = self.running.iter().chain(&self.waiting).map(kernel).collect();
        assert!(f.service.ingest(&admin(), GROUP, kernels).await.unwrap().is_empty());
        f
    }

    fn holds(&self, queue: &str) -> u64 {
        self.running.iter().filter(|j| j.queue == queue).map(|j| j.amount).sum()
    }

    fn wants(&self, queue: &str) -> u64 {
        self.holds(queue) + self.waiting.iter().filter(|j| j.queue == queue).map(|j| j.amount).sum::<u64>()
    }

    fn check_division(&self, division: &SnapshotDivision) {
        let (tree, algorithm) = (&division.tree, division.algorithm);
        let column = tree.column(SlotName::new(self.slot).unwrap()).unwrap();
        let capacity = Amount::whole(self.capacity());
        assert_eq!(tree.capacity[column], capacity);
        let (mut given, mut somebody_wants) = (Amount::ZERO, false);
        for queue in 0..tree.len() {
            let cell = (queue, column);
            assert_eq!(tree.request[cell], Amount::whole(self.wants(tree.name(queue))));
            assert_eq!(tree.allocated[cell], Amount::whole(self.holds(tree.name(queue))));
            let share = division.shares.fair_share[cell];
            assert!(share <= tree.request[cell], "{algorithm}: {} is above its request", tree.name(queue));
            given = given.saturating_add(share);
            somebody_wants |= share < tree.request[cell];
        }
        let remaining = division.shares.remaining[column];
        assert!(given <= capacity, "{algorithm}");
        if algorithm == "quota_over_quota" {
            assert_eq!(given.saturating_add(remaining), capacity);
            assert!(remaining.is_zero() || !somebody_wants, "{remaining} is left");
        }
    }

    /// The rules that a plan of a job obeys, from the trace and the division alone.
    fn check_plan(&self, division: &SnapshotDivision, job: &Job, plan: &ReclaimPlan) {
        let column = division.tree.column(SlotName::new(self.slot).unwrap()).unwrap();
        let share = |queue: &str| division.shares.fair_share[(division.tree.find(queue).unwrap(), column)].to_f64();
        let quota = |queue: &str| division.tree.quota[(division.tree.find(queue).unwrap(), column)];
        let by_id: HashMap<String, &Job> = self.running.iter().map(|j| (id(&j.id).to_string(), j)).collect();
        let taken: Vec<&Job> = plan.victims.iter().flat_map(|v| &v.kernel_ids).map(|k| by_id[&**k]).collect();
        match plan.verdict {
            ReclaimVerdict::Fits => assert!(taken.is_empty() && self.has_room(job, &[])),
            ReclaimVerdict::Refused | ReclaimVerdict::SearchExhausted => {
                assert!(taken.is_empty());
                assert_eq!(plan.verdict == ReclaimVerdict::Refused, !plan.refusals.is_empty());
            }
            ReclaimVerdict::Reclaim => {
                assert!(!taken.is_empty() && self.has_room(job, &taken));
                // No more than needed.
                for spared in 0..taken.len() {
                    let others: Vec<&Job> =
                        taken.iter().enumerate().filter(|(at, _)| *at != spared).map(|(_, j)| *j).collect();
                    assert!(!self.has_room(job, &others), "{} need not take {}", job.id, taken[spared].id);
                }
                let ours = (self.holds(&job.queue) + job.amount) as f64;
                let mut left: BTreeMap<&str, f64> = BTreeMap::new();
                for victim in &taken {
                    assert!(victim.preemptible() && !victim.critical() && victim.queue != job.queue);
                    let before = left.entry(&victim.queue).or_insert_with(|| self.holds(&victim.queue) as f64);
                    let in_quota =
                        Bound::Limited(Amount::whole(self.holds(&job.queue) + job.amount)) <= quota(&job.queue);
                    let above_quota = Bound::Limited(Amount::from_f64(*before)) > quota(&victim.queue);
                    assert!(
                        *before > share(&victim.queue) || (in_quota && above_quota),
                        "{} takes {}",
                        job.id,
                        victim.id
                    );
                    assert!(above_quota, "a queue in quota lost {}", victim.id);
                    *before -= victim.amount as f64;
                }
                let reclaimer = ours / share(&job.queue);
                for (queue, holds) in left {
                    assert!(reclaimer <= 1.0 || reclaimer < holds / share(queue), "{} ends above {queue}", job.queue);
                }
            }
            ReclaimVerdict::Preempt => panic!("all have one priority: {plan:?}"),
        }
    }

    /// True if a job of one member has room on one agent once `gone` are evicted.
    fn has_room(&self, job: &Job, gone: &[&Job]) -> bool {
        let mut free = self.agents.clone();
        let placed = |j: &Job| j.agent.clone().unwrap_or_else(|| "all".to_owned());
        for running in self.running.iter().filter(|j| gone.iter().all(|g| g.id != j.id)) {
            let left = free.get_mut(&placed(running)).unwrap();
            *left = left.checked_sub(running.amount).unwrap();
        }
        free.values().any(|left| *left >= job.amount)
    }
}

/// REST, GraphQL and the command line give the answer of the service.
async fn is_told_everywhere(server: &Server, request: &Value, plan: &ReclaimPlan) {
    let plan = serde_json::to_value(plan).unwrap();
    assert_eq!(server.call("POST", &group("/reclaim-plans"), Some(request)).await.json(200), plan);
    let workload = json!(request.to_string());
    let query = json!({"query": format!("{{ plan_reclaim(resource_group: \"{GROUP}\", workload: {workload}) }}")});
    let answer = server.call("POST", "/graphql", Some(&query)).await.json(200);
    let told = answer["data"]["plan_reclaim"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(serde_json::from_str::<Value>(told).unwrap(), plan);
    let printed = run_with_input(&server.db, &["plan", GROUP, "-", "-o", "json"], request.to_string().as_bytes());
    assert_eq!(printed.json(), plan);
}

async fn obeys_the_laws(cluster: Cluster, db: TestDb) {
    let f = cluster.replay(db).await;
    let key = create_key(&f, Role::Admin, None).await;
    let f = Server::over(f, key);
    for algorithm in ["min_share", "proportion", "drf", "quota_over_quota"] {
        f.options(&json!({"division": {"algorithm": algorithm}})).await;
        cluster.check_division(&division(&f).await.division);
    }
    let live = division(&f).await.division;
    let shown = f.get(&group("/division")).await;
    assert_eq!(run(&f.db, ["division", GROUP, "-o", "json"]).json()["queues"], shown["queues"]);
    for queue in shown["queues"].as_array().unwrap() {
        let at = live.tree.find(queue["name"].as_str().unwrap()).unwrap();
        let share = live.shares.fair_share[(at, live.tree.column(SlotName::new(cluster.slot).unwrap()).unwrap())];
        assert_eq!(queue["fair_share"][cluster.slot], json!(share));
    }
    let mut verdicts: BTreeMap<String, usize> = BTreeMap::new();
    for job in cluster.waiting.iter().step_by((cluster.waiting.len() / PLANS).max(1)) {
        let request = json!({
            "workload_id": id(&job.id), "queue": job.queue, "preemptible": true, "created_at": job.submitted.to_string(),
            "members": [{"slots": {cluster.slot: job.amount.to_string()}}],
        });
        let asked: PlanRequest = serde_json::from_value(request.clone()).unwrap();
        let plan = f.service.plan_reclaim(&admin(), GROUP, asked).await.unwrap().plan;
        cluster.check_plan(&live, job, &plan);
        let count = verdicts.entry(format!("{:?}", plan.verdict)).or_default();
        *count += 1;
        if *count == 1 {
            is_told_everywhere(&f, &request, &plan).await;
        }
    }
    // The moment is worth a look: some get what others give back.
    assert!(verdicts.contains_key("Reclaim"), "{verdicts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wagap2013_at_its_fullest() {
    if let Some(cluster) = wagap() {
        obeys_the_laws(cluster.clone(), sqlite().await).await;
        obeys_the_laws(cluster, postgres().await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn philly2017_at_its_fullest() {
    if let Some(cluster) = philly() {
        obeys_the_laws(cluster.clone(), sqlite().await).await;
        obeys_the_laws(cluster, postgres().await).await;
    }
}
