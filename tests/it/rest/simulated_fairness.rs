//! The shares and the fairness that a simulation predicts are those that the server shows before and after the change.

use std::sync::Arc;
use std::time::Duration;

use fairshared::domain::time::Timestamp;
use fairshared::service::{Clock, Service};
use serde_json::{Value, json};

use super::support::{NOW, Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::{ManualClock, on_both};

/// Fails unless the figures of that side are those that the server shows now.
async fn assert_told(server: &Server, answer: &Value, side: &str) {
    let windows = answer["fairness"].as_array().unwrap();
    assert_eq!(windows.len(), 9, "{answer}");
    for window in windows {
        let (days, tier) = (&window["window_days"], window["tier"].as_str().unwrap());
        let report = server.get(&group(&format!("/fairness?window={days}d&tier={tier}"))).await;
        for figure in ["misallocated_share", "jains_index"] {
            assert_eq!(window[format!("{figure}_{side}")], report[figure], "{figure} {side}: {window}");
        }
    }
    for (list, path, ids) in [
        ("domains", "/fair-share-status/domains", &["domain_name"][..]),
        ("projects", "/fair-share-status/projects", &["project_id"]),
        ("users", "/fair-share-status", &["user_uuid", "project_id"]),
    ] {
        let ranking = server.get(&group(path)).await;
        let items = answer[list]["items"].as_array().unwrap();
        assert!(!items.is_empty(), "{answer}");
        for item in items {
            let is_it = |row: &&Value| ids.iter().all(|id| row[id] == item[id]);
            let row = ranking["items"].as_array().unwrap().iter().find(is_it).unwrap();
            for key in ["rank", "fair_share_factor", "effective_weight", "entitled_share", "entitled_share_of_parent"] {
                assert_eq!(item[side][key], row[key], "{key} {side}: {item}");
            }
        }
    }
}

on_both! {
    async fn shares_and_fairness_are_those_that_are_reported(db: TestDb) {
        let server = Server::with_usage(db).await;
        // All users wait, so that none asked for less than the entitled share.
        let pending = [("p1", "alice", "vision", "research"), ("p2", "bob", "vision", "research"), ("p3", "carol", "audio", "sales")];
        let pending = pending.map(|(name, user, project, domain)| {
            with(kernel(name, user, project, NOW), &json!({"status": "PENDING", "started_at": null, "domain_name": domain}))
        });
        assert!(server.ingest(&pending).await.is_empty());
        let weights = json!([
            {"target_type": "domain", "target_id": "research", "weight": "3"},
            {"target_type": "project", "target_id": id("vision"), "weight": "2"},
        ]);
        let answer = server.call("POST", &group("/fair-share-simulations"), Some(&json!({"weights": weights}))).await.json(200);
        assert_told(&server, &answer, "before").await;
        server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": weights}))).await.json(200);
        assert_told(&server, &answer, "after").await;
        let of_users = |side: &str| answer["fairness"][2][format!("jains_index_{side}")].clone();
        assert_ne!(of_users("before"), of_users("after"), "{answer}");
    }

    async fn fairness_is_known_after_a_restart(db: TestDb) {
        let server = Server::with_usage(db).await;
        let weights = json!({"weights": [{"target_type": "domain", "target_id": "research", "weight": "3"}]});
        let simulate = async |server: &Server| {
            server.call("POST", &group("/fair-share-simulations"), Some(&weights)).await.json(200)["fairness"].clone()
        };
        let before = simulate(&server).await;
        assert_eq!(before.as_array().unwrap().len(), 9, "{before}");
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        assert_eq!(simulate(&server).await, before);
        // Metrics need no run either, and a new weight does not hide them.
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        let known = |server: &Server| {
            let seen = server.service.group(&admin(), GROUP).unwrap();
            server.service.known_fairness(&seen, server.service.trusted_now()).len()
        };
        assert_eq!(known(&server), 0);
        server.service.load_all_normalized_days().await.unwrap();
        assert_eq!(known(&server), 9);
        let items = json!({"items": weights["weights"]});
        server.call("PUT", &group("/fair-share-weights"), Some(&items)).await.json(200);
        assert_eq!(known(&server), 9);
    }

    async fn both_sides_of_a_simulation_are_of_one_moment(db: TestDb) {
        let mut server = Server::with_usage(db).await;
        let clock = Arc::new(Moving(Arc::clone(&server.clock)));
        server.fixture.service = Service::new(server.fixture.db.store().await, clock as _).await.unwrap();
        let server = Server::over(server.fixture, server.key);
        let same = server.call("POST", &group("/fair-share-simulations"), Some(&json!({}))).await.json(200);
        let windows = same["fairness"].as_array().unwrap();
        assert_eq!(windows.len(), 9, "{same}");
        for window in windows {
            for figure in ["misallocated_share", "jains_index"] {
                assert_eq!(window[format!("{figure}_before")], window[format!("{figure}_after")], "{window}");
            }
        }
    }
}

/// A clock that advances by a second whenever it is read.
struct Moving(Arc<ManualClock>);

impl Clock for Moving {
    fn now(&self) -> Timestamp {
        self.0.advance_seconds(1);
        self.0.now()
    }

    fn steady(&self) -> Duration {
        self.0.steady()
    }
}
