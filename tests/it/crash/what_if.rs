//! SIGKILL while a simulation is applied and while a change is undone: all of it is stored, or nothing.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use super::{Client, draw};
use crate::cli::program::Server;
use crate::support::database::TestDb;
use crate::support::fixture::id;
use crate::support::on_both;

const GROUP: &str = "lab";

/// A server is killed at some moment within this many microseconds after the request for a change.
const WITHIN: u64 = 20_000;

/// The values that one scenario sets together.
#[derive(Clone, Debug, PartialEq)]
struct Configuration {
    weights: [String; 2],
    half_life_days: u64,
    domain: String,
}

impl Configuration {
    /// The `n`th scenario. Consecutive scenarios have no value in common.
    fn numbered(n: u64) -> Self {
        let weight = (n + 2).to_string();
        Self { weights: [weight.clone(), weight], half_life_days: n + 2, domain: format!("d{}", n % 2) }
    }

    fn scenario(&self) -> Value {
        let weight =
            |n: usize| json!({"target_type": "domain", "target_id": format!("d{n}"), "weight": self.weights[n]});
        json!({
            "apply": true, "weights": [weight(0), weight(1)], "scheduler_opts": {"half_life_days": self.half_life_days},
            "projects": [{"project_id": id("p"), "domain_name": self.domain}],
        })
    }
}

impl Client {
    async fn configuration(&self, server: &str) -> Configuration {
        let weights = self.get(server, &format!("/resource-groups/{GROUP}/fair-share-weights")).await;
        let weight = |domain: &str| {
            let found = weights["items"].as_array().unwrap().iter().find(|item| item["target_id"] == domain);
            found.unwrap_or_else(|| panic!("{weights}"))["weight"].as_str().unwrap().to_owned()
        };
        let group = self.get(server, &format!("/resource-groups/{GROUP}")).await;
        let project = self.get(server, &format!("/projects/{}", id("p"))).await;
        Configuration {
            weights: [weight("d0"), weight("d1")],
            half_life_days: group["scheduler_opts"]["half_life_days"].as_u64().unwrap_or_else(|| panic!("{group}")),
            domain: project["domain_name"].as_str().unwrap().to_owned(),
        }
    }

    /// The newest entry of the audit log.
    async fn newest(&self, server: &str) -> i64 {
        self.get(server, "/audit-log?limit=1").await["items"][0]["id"].as_i64().unwrap()
    }
}

async fn begin(client: &Client, server: &str) {
    for (path, body) in [
        (format!("/resource-groups/{GROUP}"), json!({"scheduler": "fairshare"})),
        ("/domains/d0".to_owned(), json!({})),
        ("/domains/d1".to_owned(), json!({})),
        (format!("/projects/{}", id("p")), json!({"name": "p", "domain_name": "d1"})),
        // A scenario may only move a project that the group knows.
        (
            format!("/resource-groups/{GROUP}/fair-share-weights"),
            json!({"items": [{"target_type": "project", "target_id": id("p"), "weight": "2"}]}),
        ),
    ] {
        let (status, answer) = client.send(server, Method::PUT, &path, body.to_string()).await;
        assert!(status == 200 || status == 201, "{path}: {answer}");
    }
    apply(client, server, &Configuration::numbered(1)).await.unwrap();
    apply(client, server, &Configuration::numbered(2)).await.unwrap();
}

async fn apply(client: &Client, server: &str, wanted: &Configuration) -> reqwest::Result<()> {
    let path = format!("/resource-groups/{GROUP}/fair-share-simulations");
    let (status, answer) = client.try_send(server, Method::POST, &path, wanted.scenario().to_string()).await?;
    assert_eq!(status, 200, "{answer}");
    Ok(())
}

async fn undo(client: &Client, server: &str, entry: i64) -> reqwest::Result<()> {
    let (status, answer) =
        client.try_send(server, Method::POST, &format!("/audit-log/{entry}/undo"), "{}".to_owned()).await?;
    assert_eq!(status, 200, "{answer}");
    Ok(())
}

/// Kills `kills` servers, each while it applies a scenario or undoes the last change.
async fn kill(db: TestDb, kills: u64) {
    let client = Client::new(&db);
    let server = Server::over(&db.url);
    begin(&client, &server.address).await;
    let (mut before, mut now) = (Configuration::numbered(1), Configuration::numbered(2));
    let mut entry = client.newest(&server.address).await;
    let (mut seed, mut made, mut acknowledged) = (7, 0, 0);
    let mut server = server;
    for round in 0..kills {
        let is_undo = round % 3 == 2;
        let wanted = if is_undo { before.clone() } else { Configuration::numbered(round + 3) };
        let change = async {
            let address = &server.address;
            if is_undo { undo(&client, address, entry).await } else { apply(&client, address, &wanted).await }
        };
        // The moment of the fault, not a wait for anything.
        let fault = tokio::time::timeout(Duration::from_micros(draw(&mut seed, WITHIN)), change).await;
        server.kill();
        server = Server::over(&db.url);
        let is_acknowledged = matches!(fault, Ok(Ok(())));
        let (found, newest) = (client.configuration(&server.address).await, client.newest(&server.address).await);
        assert!(found == wanted || found == now && !is_acknowledged, "round {round}: {now:?}, {wanted:?}: {found:?}");
        assert_eq!(
            newest != entry,
            found == wanted,
            "round {round}: the audit log tells of what was made, and of nothing else"
        );
        acknowledged += u64::from(is_acknowledged);
        if found == wanted {
            made += 1;
            (before, now, entry) = (now, wanted, newest);
        }
    }
    let audit = client.get(&server.address, &format!("/resource-groups/{GROUP}/audit")).await;
    assert_eq!(audit["ok"], json!(true), "{audit}");
    println!("{kills} kills: {made} changes were made and {acknowledged} of them acknowledged, each as a whole");
}

on_both! {
    async fn killed_while_a_scenario_is_applied_or_undone(db: TestDb) {
        kill(db, 10).await;
    }

    #[ignore = "long"]
    async fn long_killed_while_a_scenario_is_applied_or_undone(db: TestDb) {
        kill(db, 150).await;
    }
}
