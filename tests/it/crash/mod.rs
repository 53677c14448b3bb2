//! Faults of real processes: no acknowledged write is lost, and nothing counts twice.

mod backlog;
mod clock;
mod compaction;
mod kills;
mod migration;
mod scheduler;
mod servers;
mod what_if;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairshared::domain::time::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use crate::cli::program::{over, run};
use crate::support::database::TestDb;
use crate::support::fixture::id;
use crate::support::time;

const GROUPS: u64 = 4;
/// The longest time for which a server may be busy.
const BUSY: Duration = Duration::from_secs(30);
/// Kernels of one report to one group.
const PER_REPORT: u64 = 150;

fn group(n: u64) -> String {
    format!("group-{}", n % GROUPS)
}

fn groups() -> impl Iterator<Item = String> {
    (0..GROUPS).map(group)
}

/// A repeatable sequence of numbers below `below`.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

/// CPUs and microseconds of the `n`th kernel.
fn shape(n: u64) -> (u64, u64) {
    (n % 7 + 1, (60 + n % 4_000) * 1_000_000 + n * 7_919 % 1_000_000)
}

/// Some kernels run on until everything was recorded once; then their ends are reported, long after they happened.
fn ends_late(n: u64) -> bool {
    n % 10 == 3
}

#[derive(Clone, Copy)]
struct SummaryInput {
    /// The start of the kernels whose ends are reported late.
    began: Timestamp,
    /// True if the ends of the kernels are known.
    over: bool,
}

/// The numbers of the kernels of one report.
fn numbers(round: u64, of: u64) -> impl Iterator<Item = u64> {
    let first = (round * GROUPS + of) * PER_REPORT;
    first..first + PER_REPORT
}

fn name(n: u64) -> String {
    format!("k{n}")
}

/// The kernels of one report, as NDJSON; most start at 23:50, so that they cross midnight.
fn kernels(round: u64, of: u64, story: SummaryInput) -> String {
    numbers(round, of).fold(String::new(), |text, n| {
        let (cpu, micros) = shape(n);
        let start = if ends_late(n) {
            story.began
        } else {
            time("2026-01-01T23:50:00Z").plus_micros((n % 20).cast_signed() * 86_400_000_000)
        };
        let mut kernel = json!({
            "kernel_id": id(&name(n)), "session_id": id(&name(n)), "user_uuid": id(&format!("u{}", n % 40)),
            "project_id": id(&format!("p{}", n % 40 % 6)), "domain_name": format!("d{}", n % 40 % 6 % 2),
            "occupied_slots": {"cpu": cpu.to_string()}, "status": "TERMINATED",
            "started_at": start, "terminated_at": start.plus_micros(micros.cast_signed()),
        });
        if ends_late(n) && !story.over {
            kernel["status"] = json!("RUNNING");
            kernel["terminated_at"] = json!(null);
        }
        text + &kernel.to_string() + "\n"
    })
}

/// The usage of a group's kernels after `rounds` rounds, in millionths of a CPU-second.
fn expected(of: u64, rounds: u64) -> u64 {
    (0..rounds).flat_map(|round| numbers(round, of)).map(|n| shape(n).0 * shape(n).1).sum()
}

struct Client {
    http: reqwest::Client,
    key: String,
}

impl Client {
    fn new(db: &TestDb) -> Self {
        let key = run(db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
        Self { http: reqwest::Client::new(), key }
    }

    async fn try_send(&self, server: &str, method: Method, path: &str, body: String) -> reqwest::Result<(u16, Value)> {
        let request = self.http.request(method, format!("{server}{path}")).bearer_auth(&self.key);
        let kind = if path.ends_with("/kernels") { "application/x-ndjson" } else { "application/json" };
        let answer = request.header("content-type", kind).body(body).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// Sends again after a 503, as a scheduler does, because a slow machine may lock a group for longer than a request waits
    /// for it.
    async fn send_until_free(
        &self,
        server: &str,
        method: Method,
        path: &str,
        body: String,
    ) -> reqwest::Result<(u16, Value)> {
        let begun = Instant::now();
        loop {
            let answer = self.try_send(server, method.clone(), path, body.clone()).await?;
            if answer.0 != 503 || begun.elapsed() > BUSY {
                return Ok(answer);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn send(&self, server: &str, method: Method, path: &str, body: String) -> (u16, Value) {
        self.send_until_free(server, method, path, body).await.unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    async fn get(&self, server: &str, path: &str) -> Value {
        let (status, answer) = self.send(server, Method::GET, path, String::new()).await;
        assert_eq!(status, 200, "{path}: {answer}");
        answer
    }

    /// All rows of a list.
    async fn all(&self, server: &str, path: &str) -> Vec<Value> {
        let (mut rows, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut page = self.get(server, &format!("{path}?limit=1000{cursor}")).await;
            rows.append(page["items"].as_array_mut().unwrap());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return rows,
            }
        }
    }

    async fn put_groups(&self, server: &str) {
        for group in groups() {
            let opts = json!({"lookback_days": 3650, "slice_interval_seconds": 86_400});
            let body = json!({"scheduler": "fairshare", "scheduler_opts": opts}).to_string();
            let (status, answer) = self.send(server, Method::PUT, &format!("/resource-groups/{group}"), body).await;
            assert!(status == 200 || status == 201, "{answer}");
        }
    }

    /// Runs a job for a group once no other process runs it.
    async fn run_job(&self, server: &str, job: &str, group: &str) {
        let body = json!({"resource_group": group}).to_string();
        loop {
            let (status, answer) = self.send(server, Method::POST, &format!("/jobs/{job}/run"), body.clone()).await;
            if answer["code"] == "job_running" || answer["code"] == "job_waiting" {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            assert_eq!((status, &answer["items"][0]["status"]), (200, &json!("succeeded")), "{answer}");
            return;
        }
    }

    /// Reports all kernels; most are known already.
    async fn report(&self, server: &str, rounds: u64, story: SummaryInput) {
        for (round, of) in (0..rounds).flat_map(|round| (0..GROUPS).map(move |of| (round, of))) {
            let path = format!("/resource-groups/{}/kernels", group(of));
            let (status, answer) = self.send(server, Method::POST, &path, kernels(round, of, story)).await;
            assert_eq!((status, &answer["rejected"]), (200, &json!(0)), "{answer}");
        }
    }

    /// Fails unless every group has recorded exactly what its kernels used.
    async fn assert_exact(&self, server: &str, rounds: u64) {
        for (of, group) in (0..GROUPS).zip(groups()) {
            let audit = self.get(server, &format!("/resource-groups/{group}/audit")).await;
            assert_eq!(audit["ok"], json!(true), "{audit}");
            let buckets = self.all(server, &format!("/resource-groups/{group}/usage-buckets/domains")).await;
            let recorded: u64 = buckets.iter().map(|b| millionths(b["resource_usage"]["cpu"].as_str().unwrap())).sum();
            assert_eq!(recorded, expected(of, rounds), "{group}");
        }
    }

    /// The number of runs by status.
    async fn runs(&self, server: &str) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        for run in self.all(server, "/job-runs").await {
            *found.entry(run["status"].as_str().unwrap().to_owned()).or_default() += 1;
        }
        found
    }
}

/// A server is killed at some moment after it was started.
async fn die_while_starting(url: &str, moment: Duration) {
    let mut command = over(url);
    let mut starting =
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    tokio::time::sleep(moment).await;
    starting.kill().unwrap();
    starting.wait().unwrap();
}

fn millionths(decimal: &str) -> u64 {
    let (whole, fraction) = decimal.split_once('.').unwrap_or((decimal, ""));
    format!("{whole}{fraction:0<6}").parse().unwrap()
}
