//! A server that is stopped in the middle of a write: others wait for it only until they count it as dead.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Reporter, start, until};
use crate::support::database;
use crate::support::fixture::GROUP;
use crate::support::postgres;
use crate::support::proxy::{Cut, Proxy};

/// Without the other server, an abandoned transaction would last for a minute.
const SOON: Duration = Duration::from_secs(30);

fn weight(weight: u64) -> Value {
    json!({"items": [{"target_type": "domain", "target_id": "research", "weight": weight.to_string()}]})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_group_of_a_frozen_server_is_free_soon() {
    let db = database::postgres().await;
    let proxy = Proxy::before(postgres::socket()).await;
    let mut reporter = Reporter::new(db.url.clone());
    let frozen = Arc::new(start(&proxy.url(db.postgres_name().unwrap()), &reporter.log));
    let other = start(&db.url, &reporter.log);
    reporter.make_group(&frozen).await;
    reporter.report_some(&frozen, 3).await;
    let reporter = Arc::new(reporter);
    let path = format!("/resource-groups/{GROUP}/fair-share-weights");
    until("the group known to both", async || {
        reporter.call(&other, Method::PUT, &path, &weight(2)).await.status == 200
    })
    .await;
    // The first server is about to commit, and has the lock of the group.
    proxy.cut_at(Cut::HeldBeforeCommitOf("weights.put"));
    let asked = tokio::spawn({
        let (reporter, frozen, path) = (Arc::clone(&reporter), Arc::clone(&frozen), path.clone());
        async move { reporter.call(&frozen, Method::PUT, &path, &weight(3)).await }
    });
    until("the commit", async || proxy.cuts_done() == 1).await;
    frozen.signal("STOP");
    assert_eq!(reporter.call(&other, Method::PUT, &path, &weight(4)).await.status, 503, "the group is locked");
    let begun = Instant::now();
    until("the write of the other server", async || {
        reporter.call(&other, Method::PUT, &path, &weight(4)).await.status == 200
    })
    .await;
    println!("the group was free after {:?}", begun.elapsed());
    assert!(begun.elapsed() < SOON);
    reporter.log.until_says(&["WARN", "transactions of processes that do not go on were ended"]).await;
    frozen.signal("CONT");
    let refused = asked.await.unwrap();
    assert_eq!(refused.status, 503, "{refused:?}");
    // Both show the acknowledged write, and the frozen server continues with it.
    for server in [&*frozen, &other] {
        until("the weight that was acknowledged", async || {
            let shown = reporter.call(server, Method::GET, &path, &Value::Null).await;
            let mut items = shown.body["items"].as_array().unwrap().iter();
            items.any(|item| item["target_id"] == "research" && item["weight"] == "4")
        })
        .await;
    }
    until("a write of the server that was frozen", async || {
        reporter.call(&frozen, Method::PUT, &path, &weight(5)).await.status == 200
    })
    .await;
    let entries = reporter.call(&other, Method::GET, "/audit-log?action=weights.put&limit=100", &Value::Null).await;
    assert_eq!(entries.body["total"], 3, "{entries:?}");
    reporter.assert_stored().await;
}

/// Servers that are stopped at any moment of their reports, on a path without a proxy. Prints how long each held the group.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long"]
async fn long_servers_frozen_at_any_moment() {
    const TRIALS: u64 = 20;
    let db = database::postgres().await;
    let (mut survivor, mut victim) = (Reporter::new(db.url.clone()), Reporter::new(db.url.clone()));
    let (frozen, other) = (Arc::new(start(&db.url, &victim.log)), start(&db.url, &survivor.log));
    survivor.make_group(&other).await;
    for trial in 0..TRIALS {
        let reports = tokio::spawn({
            let frozen = Arc::clone(&frozen);
            async move {
                for n in 0..40 {
                    // Refused while the others have the group.
                    victim.report(&frozen, &format!("frozen-{trial}-{n}")).await;
                }
                victim
            }
        });
        // The moment differs from trial to trial, and with it what the server is doing.
        tokio::time::sleep(Duration::from_millis(37 * trial % 400)).await;
        frozen.signal("STOP");
        let begun = Instant::now();
        until("a report to the other server", async || survivor.report_another(&other).await.1.status == 200).await;
        println!("trial {trial}: the group was free after {:?}", begun.elapsed());
        frozen.signal("CONT");
        victim = reports.await.unwrap();
        until("a report to the server that was frozen", async || {
            victim.report(&frozen, &format!("thawed-{trial}")).await.status == 200
        })
        .await;
    }
    survivor.assert_stored().await;
    victim.assert_stored().await;
}
