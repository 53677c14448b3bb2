//! Real clusters at their busiest: divisions and plans for waiting jobs, checked by the laws. Skipped if the traces are not
//! available.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Value, json};

use super::laws;
use super::support::Case;
use crate::support::plain::{data, neutral_rows, unpack};
use fairshared::domain::division::{DivisionOptions, algorithm_names};
use fairshared::domain::reclaim::ReclaimVerdict;

/// One row of a neutral file: a job's part on one node.
struct Part<'a> {
    job: &'a str,
    session: &'a str,
    queue: &'a str,
    submitted: &'a str,
    started: &'a str,
    ended: &'a str,
    amount: u32,
}

/// Rows of one group with a queue by `queue` and an amount of `slot`, as indexes of columns.
fn parts<'a>(rows: &[Vec<&'a str>], group: &str, (queue, slot): (usize, usize)) -> Vec<Part<'a>> {
    let part = |row: &Vec<&'a str>| Part {
        job: row[0],
        session: row[1],
        queue: row[queue],
        submitted: row[6],
        started: row[7],
        ended: row[8],
        amount: row[slot].parse().unwrap(),
    };
    rows.iter().filter(|row| row[5] == group && !row[8].is_empty()).map(part).collect()
}

/// The cluster at a moment: one slot, a queue for each name with an equal quota, half of them in each of two departments.
fn cluster(parts: &[Part], moment: &str, capacity: u32, agent_of: &HashMap<&str, &str>) -> Value {
    let names: BTreeSet<&str> = parts.iter().map(|part| part.queue).collect();
    let quota = capacity / u32::try_from(names.len()).unwrap();
    let mut queues = vec![json!({"name": "even"}), json!({"name": "odd"})];
    for (at, name) in names.into_iter().enumerate() {
        let parent = if at % 2 == 0 { "even" } else { "odd" };
        queues.push(json!({"name": name, "parent": parent, "quota": {"slot": quota}}));
    }
    for at in 0..2 {
        let children = queues.iter().filter(|q| q["parent"] == queues[at]["name"]).count();
        queues[at]["quota"] = json!({"slot": quota * u32::try_from(children).unwrap()});
    }
    let mut running: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in parts.iter().filter(|p| p.started <= moment && moment < p.ended) {
        running.entry(part.session).or_default().push(part);
    }
    let member = |part: &&Part| json!({"kernel_id": part.job, "slots": {"slot": part.amount}, "agent_id": agent_of.get(part.job)});
    let workload = |(session, parts): (&&str, &Vec<&Part>)| {
        json!({
            "workload_id": session, "queue": parts[0].queue, "created_at": parts[0].submitted, "started_at": parts[0].started,
            "members": parts.iter().map(member).collect::<Vec<_>>(),
        })
    };
    json!({"capacity": {"slot": capacity}, "queues": queues, "running": running.iter().map(workload).collect::<Vec<_>>()})
}

/// Plans for workloads with equal members, one for each. Returns the verdicts that occurred.
fn plan_for<'a>(cluster: &Value, waiting: impl Iterator<Item = &'a Part<'a>>) -> BTreeMap<String, usize> {
    let mut sessions: BTreeMap<&str, Vec<&Part>> = BTreeMap::new();
    for part in waiting {
        sessions.entry(part.session).or_default().push(part);
    }
    let mut verdicts = BTreeMap::new();
    for (session, parts) in sessions.into_iter().filter(|(_, p)| p.iter().all(|part| part.amount == p[0].amount)) {
        let mut case = cluster.clone();
        let members: Vec<Value> = parts.iter().map(|part| json!({"slots": {"slot": part.amount}})).collect();
        case["pending"] = json!({"workload_id": session, "queue": parts[0].queue, "priority": 1, "members": members});
        let case = Case::new(&case);
        let tree = case.tree();
        for name in algorithm_names() {
            crate::division::laws::check_division(&tree, name, &DivisionOptions::default()).unwrap();
        }
        let plan = case.plan();
        laws::check(&case, &plan).unwrap_or_else(|e| panic!("{session}: {e}"));
        *verdicts.entry(format!("{:?}", plan.verdict)).or_insert(0) += 1;
    }
    verdicts
}

fn has(verdicts: &BTreeMap<String, usize>, verdict: ReclaimVerdict) -> bool {
    verdicts.contains_key(&format!("{verdict:?}"))
}

/// 18 nodes of 80 cores with their real placement; 22 workloads wait.
#[test]
fn wagap_at_its_busiest() {
    const MOMENT: &str = "2013-01-29T09:53:31Z";
    let Some(folder) = data().map(|d| d.join("wagap2013")) else { return };
    let (jobs, placements) = (unpack(&folder.join("jobs.csv.gz")), unpack(&folder.join("placements.csv.gz")));
    let rows = neutral_rows(&jobs);
    let parts = parts(&rows, "zewura", (2, 9));
    let agent_of: HashMap<&str, &str> = placements.lines().skip(1).filter_map(|line| line.split_once(',')).collect();
    let mut cluster = cluster(&parts, MOMENT, 18 * 80, &agent_of);
    let capacities = std::fs::read_to_string(folder.join("capacities.csv")).unwrap();
    let nodes = neutral_rows(&capacities).into_iter().filter(|row| row[0] == "zewura");
    let agents: Vec<Value> =
        nodes.map(|row| json!({"agent_id": row[1], "available_slots": {"slot": row[2]}})).collect();
    assert_eq!(agents.len(), 18);
    cluster["agents"] = json!(agents);
    let verdicts = plan_for(&cluster, parts.iter().filter(|p| p.submitted <= MOMENT && MOMENT < p.started));
    assert!(verdicts.values().sum::<usize>() >= 10, "{verdicts:?}");
}

/// 1,243 GPUs in use by 11 virtual clusters. The trace has no waiting times, so the jobs that start next count as waiting.
#[test]
fn philly_at_its_busiest() {
    const MOMENT: &str = "2017-10-22T07:03:38Z";
    let Some(folder) = data().map(|d| d.join("philly2017")) else { return };
    let jobs = unpack(&folder.join("jobs.csv.gz"));
    let rows = neutral_rows(&jobs);
    let parts = parts(&rows, "philly", (3, 11));
    let used: u32 = parts.iter().filter(|p| p.started <= MOMENT && MOMENT < p.ended).map(|p| p.amount).sum();
    let cluster = cluster(&parts, MOMENT, used, &HashMap::new());
    let verdicts = plan_for(&cluster, parts.iter().filter(|p| p.started > MOMENT).take(40));
    assert_eq!((used, verdicts.values().sum::<usize>()), (1243, 40));
    assert!(has(&verdicts, ReclaimVerdict::Reclaim), "{verdicts:?}");
}
