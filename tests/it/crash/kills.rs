//! SIGKILL at any moment of ingest, of every job, of other writes, and of a start that takes over the database.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairshared::service::{Clock, SystemClock};
use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::{Client, GROUPS, SummaryInput, die_while_starting, draw, group, groups, kernels, name, numbers};
use crate::cli::program::Server;
use crate::support::database::TestDb;
use crate::support::fixture::id;
use crate::support::on_both;

/// A server is killed at some moment within this many microseconds.
const WITHIN: u64 = 300_000;

/// The writes that the server has acknowledged.
#[derive(Default)]
struct Acknowledged {
    reports: BTreeSet<(u64, u64)>,
    groups: BTreeSet<String>,
    /// The last weight of each group; they only grow.
    weights: std::collections::BTreeMap<String, u64>,
}

struct Chaos {
    client: Client,
    story: SummaryInput,
    yes: Mutex<Acknowledged>,
}

impl Chaos {
    async fn report(&self, server: &str, round: u64, of: u64) {
        let path = format!("/resource-groups/{}/kernels", group(of));
        let answer = self.client.try_send(server, Method::POST, &path, kernels(round, of, self.story)).await;
        if let Ok((200, answer)) = answer {
            assert_eq!(answer["rejected"], json!(0), "{answer}");
            self.yes.lock().unwrap().reports.insert((round, of));
        }
    }

    async fn weigh(&self, server: &str, round: u64) {
        for group in groups() {
            let item = json!({"target_type": "domain", "target_id": "d0", "weight": (round + 1).to_string()});
            let path = format!("/resource-groups/{group}/fair-share-weights");
            let answer = self.client.try_send(server, Method::PUT, &path, json!({"items": [item]}).to_string()).await;
            if let Ok((200, _)) = answer {
                self.yes.lock().unwrap().weights.insert(group, round + 1);
            }
        }
    }

    async fn create(&self, server: &str, round: u64) {
        for n in 0..10 {
            let group = format!("new-{round}-{n}");
            let path = format!("/resource-groups/{group}");
            if let Ok((201, _)) = self.client.try_send(server, Method::PUT, &path, "{}".to_owned()).await {
                self.yes.lock().unwrap().groups.insert(group);
            }
        }
    }

    async fn job(&self, server: &str, job: &str) {
        let _ = self.client.try_send(server, Method::POST, &format!("/jobs/{job}/run"), "{}".to_owned()).await;
    }

    /// The life of one server: reports to every group, and other writes.
    async fn live_and_die(self: &Arc<Self>, db: &TestDb, round: u64, moment: Duration) {
        let server = Server::over(&db.url);
        let mut work = JoinSet::new();
        for of in 0..GROUPS {
            let (this, address) = (Arc::clone(self), server.address.clone());
            work.spawn(async move { this.report(&address, round, of).await });
        }
        let (this, address) = (Arc::clone(self), server.address.clone());
        work.spawn(async move {
            match round % 6 {
                0 | 1 => this.job(&address, "aggregate").await,
                2 => this.job(&address, "purge").await,
                3 => this.job(&address, "rebuild").await,
                4 => this.weigh(&address, round).await,
                _ => this.create(&address, round).await,
            }
        });
        // The moment of the fault, not a wait for anything.
        tokio::time::sleep(moment).await;
        server.kill();
        work.join_all().await;
    }

    /// Fails unless all acknowledged writes are stored.
    async fn assert_kept(&self, server: &str) {
        for (of, group) in (0..GROUPS).zip(groups()) {
            let rows = self.client.all(server, &format!("/resource-groups/{group}/kernels")).await;
            let stored: BTreeSet<String> = rows.iter().map(|k| k["kernel_id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(stored.len(), rows.len(), "twice in {group}");
            let reports = self.yes.lock().unwrap().reports.clone();
            let acknowledged = reports.into_iter().filter(|(_, g)| *g == of).flat_map(|(round, of)| numbers(round, of));
            for n in acknowledged {
                assert!(
                    stored.contains(&id(&name(n)).to_string()),
                    "kernel {n} of {group} was acknowledged and is lost"
                );
            }
        }
        let known: BTreeSet<String> = self
            .client
            .all(server, "/resource-groups")
            .await
            .iter()
            .map(|g| g["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(self.yes.lock().unwrap().groups.is_subset(&known), "{known:?}");
        let weights = self.yes.lock().unwrap().weights.clone();
        for (group, least) in weights {
            let stored = self.client.get(server, &format!("/resource-groups/{group}/fair-share-weights")).await;
            let of_d0 = stored["items"].as_array().unwrap().iter().find(|i| i["target_id"] == "d0");
            let weight: u64 = of_d0.unwrap_or_else(|| panic!("{stored}"))["weight"].as_str().unwrap().parse().unwrap();
            assert!(weight >= least, "{group}: {weight}, {least} was acknowledged");
        }
    }
}

/// A start is killed while it takes over the database from version 0.1.
async fn die_while_migrating(db: &TestDb, moment: Duration) {
    db.give_back_to_version_0_1().await;
    die_while_starting(&db.url, moment).await;
}

/// Kills `kills` servers.
async fn kill(db: TestDb, kills: u64) {
    let client = Client::new(&db);
    let server = Server::over(&db.url);
    client.put_groups(&server.address).await;
    server.kill();
    let began = SystemClock.now().plus_micros(-2 * 3_600_000_000);
    let (before, after) = (SummaryInput { began, over: false }, SummaryInput { began, over: true });
    let chaos = Arc::new(Chaos { client, story: before, yes: Mutex::default() });
    let (mut seed, late_kills) = (20_260_101, kills / 5);
    // One kill stands before, and the last ones come while late ends are taken back.
    let rounds = kills - late_kills - 1;
    for round in 0..rounds {
        let moment = Duration::from_micros(draw(&mut seed, WITHIN));
        if round % 7 == 6 {
            die_while_migrating(&db, moment).await;
        } else {
            chaos.live_and_die(&db, round, moment).await;
        }
    }
    let server = Server::over(&db.url);
    chaos.assert_kept(&server.address).await;
    // Unanswered requests are sent again. Then the late ends arrive, and usage that was recorded beyond them is removed.
    chaos.client.report(&server.address, rounds, before).await;
    for group in groups() {
        chaos.client.run_job(&server.address, "aggregate", &group).await;
    }
    chaos.client.report(&server.address, rounds, after).await;
    server.kill();
    for _ in 0..late_kills {
        let server = Server::over(&db.url);
        let (this, address) = (Arc::clone(&chaos), server.address.clone());
        let work = tokio::spawn(async move { this.job(&address, "aggregate").await });
        tokio::time::sleep(Duration::from_micros(draw(&mut seed, WITHIN / 2))).await;
        server.kill();
        work.await.unwrap();
    }
    let server = Server::over(&db.url);
    for group in groups() {
        chaos.client.run_job(&server.address, "aggregate", &group).await;
    }
    chaos.assert_kept(&server.address).await;
    chaos.client.assert_exact(&server.address, rounds).await;
    let runs = chaos.client.runs(&server.address).await;
    assert!(runs.keys().all(|status| ["succeeded", "abandoned", "running"].contains(&status.as_str())), "{runs:?}");
    let yes = chaos.yes.lock().unwrap();
    println!(
        "{kills} kills: {} of {} reports, {} groups and {} weights were acknowledged and kept; usage exact; runs {runs:?}",
        yes.reports.len(),
        rounds * GROUPS,
        yes.groups.len(),
        yes.weights.len()
    );
}

fn is_sqlite(db: &TestDb) -> bool {
    db.url.starts_with("sqlite")
}

on_both! {
    async fn killed_at_any_moment(db: TestDb) {
        let kills = if is_sqlite(&db) { 20 } else { 10 };
        kill(db, kills).await;
    }

    #[ignore = "long"]
    async fn long_killed_at_any_moment(db: TestDb) {
        let kills = if is_sqlite(&db) { 150 } else { 80 };
        kill(db, kills).await;
    }
}
