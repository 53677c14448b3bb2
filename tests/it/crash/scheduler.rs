//! `examples/scheduler.py` runs a simulated cluster by cycle plans, while it and the server are killed.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fairshared::domain::time::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, draw, millionths};
use crate::cli::program::{Server, file, over};
use crate::support::database::TestDb;
use crate::support::on_both;

const GROUP: &str = "cluster";
const AGENTS: u64 = 40;
const GPUS: i64 = 8;
const SCHEDULER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scheduler.py");

/// Gangs, arrays and single kernels with priorities, of several users and projects.
fn workloads(count: u64) -> Vec<Value> {
    let mut dice = 7;
    let mut workload = |number: u64| {
        let (members, minimum) = match draw(&mut dice, 10) {
            0 => (10, 1),
            1..=3 => (draw(&mut dice, 4) + 2, 0),
            _ => (1, 0),
        };
        json!({
            "workload_id": format!("w{number}"), "user": format!("user{}", draw(&mut dice, 12)),
            "project": format!("project{}", draw(&mut dice, 3)), "members": members,
            "gang_min": if minimum == 1 { 1 } else { members }, "slots": {"gpu": (1 + draw(&mut dice, 4)).to_string()},
            "priority": draw(&mut dice, 4), "seconds": 1 + draw(&mut dice, 2),
        })
    };
    (0..count).map(&mut workload).collect()
}

/// A server that has the same port each time.
fn serve(db: &TestDb, port: u16) -> Server {
    let listen = format!("127.0.0.1:{port}");
    Server::start(over(&db.url).args(["serve", "--listen", &listen]).stderr(Stdio::null()))
}

fn schedule(server: &str, key: &str, file: &str) -> Child {
    let mut command = Command::new("python3");
    command.arg("-B").arg(SCHEDULER).args([GROUP, file]).env("FAIRSHARED_SERVER", server).env("FAIRSHARED_KEY", key);
    command.env("ROUND_SECONDS", "0.2").stdout(Stdio::null()).spawn().unwrap()
}

fn micros(kernel: &Value, key: &str) -> i64 {
    kernel[key].as_str().unwrap_or_else(|| panic!("{key} of {kernel}")).parse::<Timestamp>().unwrap().micros()
}

fn gpus(kernel: &Value) -> i64 {
    kernel["occupied_slots"]["gpu"].as_str().unwrap().parse().unwrap()
}

/// The changes of a sum by key, at their moments; ends come before starts.
type Changes = BTreeMap<String, Vec<(i64, i64)>>;

fn changes(kernels: &[Value], key: &str, size: fn(&Value) -> i64) -> Changes {
    let mut found = Changes::new();
    for kernel in kernels {
        let of_key = found.entry(kernel[key].as_str().unwrap().to_owned()).or_default();
        of_key.push((micros(kernel, "started_at"), size(kernel)));
        of_key.push((micros(kernel, "terminated_at"), -size(kernel)));
    }
    for changes in found.values_mut() {
        changes.sort_unstable();
    }
    found
}

/// The sums after each moment.
fn sums(changes: &[(i64, i64)]) -> Vec<i64> {
    let mut sum = 0;
    let mut sums = Vec::new();
    for (at, (moment, change)) in changes.iter().enumerate() {
        sum += change;
        if changes.get(at + 1).is_none_or(|(next, _)| next != moment) {
            sums.push(sum);
        }
    }
    sums
}

/// The GPU-microseconds of the kernels of each user.
fn used_by_user<'k>(kernels: impl Iterator<Item = &'k Value>) -> BTreeMap<String, i64> {
    let mut used = BTreeMap::new();
    for kernel in kernels {
        let user = format!("{} {}", kernel["user_uuid"], kernel["project_id"]);
        *used.entry(user).or_default() +=
            gpus(kernel) * (micros(kernel, "terminated_at") - micros(kernel, "started_at"));
    }
    used
}

/// Members that ran to their end, and those that were evicted before.
struct FinishedRuns {
    whole: usize,
    evicted: usize,
    gpu_micros: i64,
}

/// Fails unless all workloads have run on agents with room, gangs whole, and the usage is that of the kernels.
async fn assert_exact(client: &Client, server: &str, workloads: &[Value]) -> FinishedRuns {
    let kernels = client.all(server, &format!("/resource-groups/{GROUP}/kernels")).await;
    assert!(kernels.iter().all(|kernel| kernel["status"] == "TERMINATED"));
    for (agent, changes) in changes(&kernels, "agent_id", gpus) {
        assert!(sums(&changes).into_iter().all(|sum| (0..=GPUS).contains(&sum)), "{agent}: {changes:?}");
    }
    let gangs = changes(&kernels, "gang_id", |_| 1);
    let (mut whole, mut of_file) = (0, 0);
    for workload in workloads {
        let name = workload["workload_id"].as_str().unwrap();
        let minimum = workload["gang_min"].as_i64().unwrap();
        assert!(sums(&gangs[name]).into_iter().all(|sum| sum == 0 || sum >= minimum), "{workload}: {:?}", gangs[name]);
        let micros_of_run = workload["seconds"].as_i64().unwrap() * 1_000_000;
        let done = kernels.iter().filter(|kernel| {
            let ran = micros(kernel, "terminated_at") - micros(kernel, "started_at");
            kernel["gang_id"] == name && ran == micros_of_run
        });
        let (done, members) = (done.count(), workload["members"].as_i64().unwrap());
        assert_eq!(done.cast_signed(), isize::try_from(members).unwrap(), "{workload} is done once");
        whole += done;
        of_file += members * workload["slots"]["gpu"].as_str().unwrap().parse::<i64>().unwrap() * micros_of_run;
    }
    client.run_job(server, "aggregate", GROUP).await;
    let used = used_by_user(kernels.iter());
    for tier in ["domains", "projects", "users"] {
        let buckets = client.all(server, &format!("/resource-groups/{GROUP}/usage-buckets/{tier}")).await;
        let of_bucket = |bucket: &Value| millionths(bucket["resource_usage"]["gpu"].as_str().unwrap()).cast_signed();
        assert_eq!(buckets.iter().map(of_bucket).sum::<i64>(), used.values().sum::<i64>(), "{tier}");
        if tier == "users" {
            let mut recorded = BTreeMap::new();
            for bucket in &buckets {
                let user = format!("{} {}", bucket["user_uuid"], bucket["project_id"]);
                *recorded.entry(user).or_default() += of_bucket(bucket);
            }
            assert_eq!(recorded, used);
        }
    }
    let audit = client.get(server, &format!("/resource-groups/{GROUP}/audit")).await;
    assert_eq!(audit["ok"], json!(true), "{audit}");
    // Each run to the end counts for as many seconds as its workload says, and nothing but evicted runs comes on top.
    let is_evicted = |kernel: &&Value| {
        let seconds = kernel["expected_seconds"].as_i64().unwrap();
        micros(kernel, "terminated_at") - micros(kernel, "started_at") < seconds * 1_000_000
    };
    let evicted: Vec<&Value> = kernels.iter().filter(is_evicted).collect();
    let gpu_micros = used.values().sum();
    let of_evicted: i64 = used_by_user(evicted.iter().copied()).values().sum();
    assert_eq!(gpu_micros, of_file + of_evicted);
    FinishedRuns { whole, evicted: evicted.len(), gpu_micros }
}

/// Runs the workloads with as many kills of each side.
async fn run(db: &TestDb, count: u64, kills: u64) {
    let folder = tempfile::tempdir().unwrap();
    let (client, workloads) = (Client::new(db), workloads(count));
    let file = file(Path::new(folder.path()), "workloads.json", json!(workloads).to_string());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut server = serve(db, port);
    let address = server.address.clone();
    let body = json!({"scheduler": "fairshare", "scheduler_opts": {"slice_interval_seconds": 86_400}}).to_string();
    let (status, answer) = client.send(&address, Method::PUT, &format!("/resource-groups/{GROUP}"), body).await;
    assert_eq!(status, 201, "{answer}");
    let agents: Vec<Value> =
        (0..AGENTS).map(|n| json!({"agent_id": format!("n{n}"), "available_slots": {"gpu": GPUS}})).collect();
    let path = format!("/resource-groups/{GROUP}/agents");
    assert_eq!(client.send(&address, Method::PUT, &path, json!({"agents": agents}).to_string()).await.0, 200);
    let mut scheduler = schedule(&address, &client.key, &file);
    let (begun, mut dice, mut with_work_left) = (Instant::now(), 11, 0);
    for kill in 0..2 * kills {
        // The moment of the fault, not a wait for anything.
        tokio::time::sleep(Duration::from_millis(500 + draw(&mut dice, 2_500))).await;
        with_work_left += u64::from(scheduler.try_wait().unwrap().is_none());
        if kill % 2 == 0 {
            server.kill();
            server = serve(db, port);
        } else {
            scheduler.kill().unwrap();
            scheduler.wait().unwrap();
            scheduler = schedule(&address, &client.key, &file);
        }
    }
    assert!(scheduler.wait().unwrap().success());
    let seconds = begun.elapsed().as_secs();
    let FinishedRuns { whole, evicted, gpu_micros } = assert_exact(&client, &server.address, &workloads).await;
    println!(
        "{count} workloads with {whole} members on {AGENTS} agents of {GPUS} GPUs in {seconds} s: {kills} kills of the server and {kills} of \
         the scheduler, {with_work_left} of them with work left; each member ran to its end once, {evicted} were evicted before; no agent \
         above its GPUs, no gang half started; usage of {} GPU-seconds exact",
        gpu_micros as f64 / 1e6
    );
}

on_both! {
    async fn a_cluster_by_cycle_plans_survives_kills(db: TestDb) {
        run(&db, 200, 3).await;
    }

    #[ignore = "long"]
    async fn long_2000_workloads_by_cycle_plans_survive_kills(db: TestDb) {
        run(&db, 2_000, 12).await;
    }
}
