//! A start over many groups that no run has seen: runs take turns, and waiting for a turn is no failure.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fairshared::service::{Service, SystemClock};
use serde_json::{Value, json};

use crate::cli::program::{Server, over, run};
use crate::support::database::TestDb;
use crate::support::fixture::{admin, id, incoming};
use crate::support::on_both;

/// Groups with ended kernels that no run has recorded, each with an open run of a dead process.
async fn fill(db: &TestDb, groups: usize, kernels: usize) {
    let service = Service::new(db.store().await, std::sync::Arc::new(SystemClock)).await.unwrap();
    for group in 0..groups {
        let name = format!("g{group}");
        service.put_group(admin(), name.clone(), fairshared::service::groups::SchedulerPatch::default()).await.unwrap();
        for part in (0..kernels).collect::<Vec<_>>().chunks(5_000) {
            let rows = part.iter().map(|n| {
                let kernel = id(&format!("{group}/{n}"));
                incoming(&json!({
                    "kernel_id": kernel, "session_id": kernel, "user_uuid": id(&format!("u{}", n % 50)),
                    "project_id": id(&format!("p{}", n % 50 % 7)), "domain_name": "d", "occupied_slots": {"cpu": "2"},
                    "status": "TERMINATED", "started_at": "2026-01-01T10:00:00Z", "terminated_at": "2026-01-01T11:00:00Z",
                }))
            });
            assert!(service.ingest(&admin(), &name, rows.collect()).await.unwrap().is_empty());
        }
        service.job_started("aggregate", Some(&name), "schedule", fairshared::process::random::id()).await.unwrap();
    }
    service.store().clone().close().await.unwrap();
}

/// The number of runs by job and status.
async fn runs(server: &Server, key: &str) -> BTreeMap<(String, String), usize> {
    let (client, mut found, mut cursor) = (reqwest::Client::new(), BTreeMap::new(), String::new());
    loop {
        let url = format!("{}/job-runs?limit=1000{cursor}", server.address);
        let page: Value = client.get(url).bearer_auth(key).send().await.unwrap().json().await.unwrap();
        for run in page["items"].as_array().unwrap_or_else(|| panic!("{page}")) {
            let text = |name: &str| run[name].as_str().unwrap().to_owned();
            *found.entry((text("job"), text("status"))).or_default() += 1;
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

async fn start_over(db: TestDb, groups: usize, kernels: usize, limit: Duration) {
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
    fill(&db, groups, kernels).await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let begun = Instant::now();
    let mut command = over(&db.url);
    command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(std::fs::File::create(&log).unwrap());
    let server = Server::start(&mut command);
    let ready = begun.elapsed();
    let count = |runs: &BTreeMap<(String, String), usize>, job: &str, status: &str| {
        runs.get(&(job.to_owned(), status.to_owned())).copied().unwrap_or(0)
    };
    let found = loop {
        let found = runs(&server, &key).await;
        if ["aggregate", "divide", "compact"].iter().all(|job| count(&found, job, "succeeded") >= groups) {
            break found;
        }
        assert!(begun.elapsed() < limit, "{found:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    println!(
        "{groups} groups, {kernels} kernels each: ready after {ready:?}, all runs done after {:?}",
        begun.elapsed()
    );
    assert_eq!(count(&found, "aggregate", "abandoned"), groups, "{found:?}");
    assert!(
        found.keys().all(|(_, status)| ["succeeded", "abandoned", "running"].contains(&status.as_str())),
        "{found:?}"
    );
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let log = std::fs::read_to_string(log).unwrap();
    assert!(!log.contains("ERROR") && !log.contains("WARN fairshared"), "{log}");
    let last = run(&db, ["audit", "-o", "json"]).json();
    let audited = last["items"].as_array().unwrap();
    assert!(audited.len() == groups && audited.iter().all(|group| group["ok"] == json!(true)), "{last}");
}

on_both! {
    async fn runs_of_many_groups_take_turns(db: TestDb) {
        start_over(db, 60, 40, Duration::from_mins(2)).await;
    }

    #[ignore = "long"]
    async fn long_start_over_207_groups(db: TestDb) {
        start_over(db, 207, 2_276, Duration::from_mins(30)).await;
    }
}
