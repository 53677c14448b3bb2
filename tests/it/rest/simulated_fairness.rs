//! What a simulation tells of shares and of fairness is what the server tells before it is done and after.

use serde_json::{Value, json};

use super::support::{NOW, Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

/// Whether the figures of that side are what the server tells now.
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
        // Everybody waits, so that nobody wanted less than the own part.
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
}
