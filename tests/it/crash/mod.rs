//! SIGKILL at any moment of ingest and aggregation: nothing is lost, nothing counted twice.

mod backlog;

use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::program::{Server, run};
use crate::support::fixture::id;
use crate::support::{on_both, time};
use fairshared::domain::time::Timestamp;
use fairshared::service::clock::{Clock, SystemClock};

const ROUNDS: u64 = 12;
const PER_ROUND: u64 = 1_500;
/// Kills while late ends are taken back.
const LATE_ROUNDS: u64 = 6;

/// Each round aggregates a group of its own: the lease of a run that was killed lasts a few seconds.
fn group(n: u64) -> String {
    format!("group-{}", n % ROUNDS)
}

/// CPUs and seconds of the `n`th kernel.
fn shape(n: u64) -> (u64, u64) {
    (n % 7 + 1, 60 + n % 4_000)
}

/// Some run on until everything has been recorded once; then their ends are told, long after they were.
fn ends_late(n: u64) -> bool {
    n % 10 == 3
}

#[derive(Clone, Copy)]
struct Story {
    /// When those that end late have started.
    began: Timestamp,
    /// Whether their ends are known.
    over: bool,
}

/// The kernels of one round for one group, as NDJSON; most start at 23:50, so that they cross midnight.
fn kernels(round: u64, of: &str, story: Story) -> String {
    let mine = (round * PER_ROUND..(round + 1) * PER_ROUND).filter(|n| group(n % (ROUNDS + 1)) == of);
    mine.fold(String::new(), |text, n| {
        let (cpu, seconds) = shape(n);
        let start = if ends_late(n) {
            story.began
        } else {
            time("2026-01-01T23:50:00Z").plus_micros((n % 20).cast_signed() * 86_400_000_000)
        };
        let name = format!("k{n}");
        let mut kernel = json!({
            "kernel_id": id(&name), "session_id": id(&name), "user_uuid": id(&format!("u{}", n % 40)),
            "project_id": id(&format!("p{}", n % 40 % 6)), "domain_name": format!("d{}", n % 40 % 6 % 2),
            "occupied_slots": {"cpu": cpu.to_string()}, "status": "TERMINATED",
            "started_at": start, "terminated_at": start.plus_micros(seconds.cast_signed() * 1_000_000),
        });
        if ends_late(n) && !story.over {
            kernel["status"] = json!("RUNNING");
            kernel["terminated_at"] = json!(null);
        }
        text + &kernel.to_string() + "\n"
    })
}

/// What the kernels of a group add up to, in CPU-seconds.
fn expected(of: &str) -> u64 {
    (0..ROUNDS * PER_ROUND).filter(|n| group(n % (ROUNDS + 1)) == of).map(|n| shape(n).0 * shape(n).1).sum()
}

struct Client {
    http: reqwest::Client,
    key: String,
}

impl Client {
    async fn try_send(
        &self,
        server: &str,
        method: reqwest::Method,
        path: &str,
        body: String,
    ) -> reqwest::Result<(u16, Value)> {
        let request = self.http.request(method, format!("{server}{path}")).bearer_auth(&self.key);
        let kind = if path.ends_with("/kernels") { "application/x-ndjson" } else { "application/json" };
        let answer = request.header("content-type", kind).body(body).send().await?;
        Ok((answer.status().as_u16(), answer.json().await?))
    }

    /// Runs the job for a group; the lease of a killed run ends by itself.
    async fn aggregate(&self, server: &str, group: &str) {
        let body = json!({"resource_group": group}).to_string();
        while self.send(server, reqwest::Method::POST, "/jobs/aggregate/run", body.clone()).await.0 == 409 {
            tokio::task::yield_now().await;
        }
    }

    /// Reports everything; most of it is known already.
    async fn report(&self, server: &str, story: Story) {
        for (round, n) in (0..ROUNDS).flat_map(|round| (0..ROUNDS).map(move |n| (round, n))) {
            let path = format!("/resource-groups/{}/kernels", group(n));
            let (status, answer) =
                self.send(server, reqwest::Method::POST, &path, kernels(round, &group(n), story)).await;
            assert_eq!((status, &answer["rejected"]), (200, &json!(0)), "{answer}");
        }
    }

    async fn send(&self, server: &str, method: reqwest::Method, path: &str, body: String) -> (u16, Value) {
        self.try_send(server, method, path, body).await.unwrap_or_else(|e| panic!("{path}: {e}"))
    }
}

/// A repeatable sequence of numbers below `below`.
fn draw(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

on_both! {
    async fn killed_at_any_moment(db: TestDb) {
        let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
        let client = std::sync::Arc::new(Client { http: reqwest::Client::new(), key });
        let server = Server::over(&db.url);
        for n in 0..ROUNDS {
            let body = json!({"scheduler": "fairshare", "scheduler_opts": {"lookback_days": 3650, "slice_interval_seconds": 86_400}});
            client.send(&server.address, reqwest::Method::PUT, &format!("/resource-groups/{}", group(n)), body.to_string()).await;
        }
        server.kill();
        let began = SystemClock.now().plus_micros(-2 * 3_600_000_000);
        let (before, after) = (Story { began, over: false }, Story { began, over: true });
        let mut seed = 20_260_101;
        for round in 0..ROUNDS {
            let server = Server::over(&db.url);
            let mut work = tokio::task::JoinSet::new();
            for n in 0..ROUNDS {
                let (client, address) = (std::sync::Arc::clone(&client), server.address.clone());
                work.spawn(async move {
                    let _ = client.try_send(&address, reqwest::Method::POST, &format!("/resource-groups/{}/kernels", group(n)), kernels(round, &group(n), before)).await;
                });
            }
            let (aggregating, address) = (std::sync::Arc::clone(&client), server.address.clone());
            work.spawn(async move {
                let body = json!({"resource_group": group(round)}).to_string();
                let _ = aggregating.try_send(&address, reqwest::Method::POST, "/jobs/aggregate/run", body).await;
            });
            // The moment of the fault, not a wait for anything.
            tokio::time::sleep(Duration::from_micros(draw(&mut seed, 250_000))).await;
            server.kill();
            work.join_all().await;
        }
        // Whoever got no answer sends again. Then the late ends come, and what was recorded past them is taken back.
        let server = Server::over(&db.url);
        client.report(&server.address, before).await;
        for n in 0..ROUNDS {
            client.aggregate(&server.address, &group(n)).await;
        }
        client.report(&server.address, after).await;
        server.kill();
        for n in 0..LATE_ROUNDS {
            let server = Server::over(&db.url);
            let (aggregating, address) = (std::sync::Arc::clone(&client), server.address.clone());
            let work = tokio::spawn(async move {
                let body = json!({"resource_group": group(n)}).to_string();
                let _ = aggregating.try_send(&address, reqwest::Method::POST, "/jobs/aggregate/run", body).await;
            });
            tokio::time::sleep(Duration::from_micros(draw(&mut seed, 100_000))).await;
            server.kill();
            work.await.unwrap();
        }
        let server = Server::over(&db.url);
        for n in 0..ROUNDS {
            client.aggregate(&server.address, &group(n)).await;
            let (_, audit) = client.send(&server.address, reqwest::Method::GET, &format!("/resource-groups/{}/audit", group(n)), String::new()).await;
            assert_eq!(audit["ok"], json!(true), "{audit}");
            let path = format!("/resource-groups/{}/usage-buckets/domains?limit=1000", group(n));
            let (_, buckets) = client.send(&server.address, reqwest::Method::GET, &path, String::new()).await;
            let cpu = |bucket: &Value| bucket["resource_usage"]["cpu"].as_str().unwrap().parse::<u64>().unwrap();
            let recorded: u64 = buckets["items"].as_array().unwrap().iter().map(cpu).sum();
            assert_eq!(recorded, expected(&group(n)), "{}", group(n));
        }
    }
}
