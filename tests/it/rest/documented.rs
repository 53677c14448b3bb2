//! Every REST request that the proposal prints, as printed.

use serde_json::json;

use super::support::{Server, group};
use crate::support::fixture::id;
use crate::support::on_both;

on_both! {
    async fn scheduler_options_read_and_patch(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let defaults = json!({
            "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1, "slice_interval_seconds": 300,
            "default_weight": "1.0", "gap_policy": "interpolate", "max_gap_hours": 24, "resource_weights": {},
            "decay": "flat", "order": "flat", "sequence_mode": "plain",
        });
        let mut shown = server.get(&path).await;
        let division = shown["scheduler_opts"].as_object_mut().unwrap().remove("division").unwrap();
        assert_eq!(division["algorithm"], "quota_over_quota");
        let cycle = shown["scheduler_opts"].as_object_mut().unwrap().remove("cycle").unwrap();
        assert_eq!(cycle["order"], "sequencer");
        assert!(shown["config_revision"].take().is_string());
        assert_eq!(shown, json!({"scheduler": "fairshare", "scheduler_opts": defaults, "warnings": [], "config_revision": null}));
        let patch = json!({"scheduler": "fairshare", "scheduler_opts": {"half_life_days": 14}});
        let answer = server.call("PATCH", &path, Some(&patch)).await.json(200);
        assert_eq!(answer["scheduler_opts"]["half_life_days"], 14);
        assert_eq!(answer["scheduler_opts"]["lookback_days"], 28);
        assert_eq!(server.get(&path).await, answer);
    }

    async fn weights_bulk_write_and_list(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/fair-share-weights");
        assert_eq!(server.get(&path).await["items"], json!([]));
        let set = json!({"items": [{"target_type": "user", "target_id": id("alice"), "weight": "1.0"}]});
        let answer = server.call("PUT", &path, Some(&set)).await.json(200);
        assert_eq!(answer, json!({"ok": true, "upserted": 1, "deleted": 0}));
        let body = json!({"items": [
            {"target_type": "domain", "target_id": "research", "weight": "2.0"},
            {"target_type": "project", "target_id": id("vision"), "weight": "1.5"},
            {"target_type": "user", "target_id": id("alice"), "weight": null},
        ]});
        let answer = server.call("PUT", &path, Some(&body)).await.json(200);
        assert_eq!(answer, json!({"ok": true, "upserted": 2, "deleted": 1}));
        let mut listed = server.get(&path).await;
        for item in listed["items"].as_array_mut().unwrap() {
            let item = item.as_object_mut().unwrap();
            // Two domains have weights of 2 and 1, and the first has one project.
            let shares = ["nominal_share", "nominal_share_of_parent", "entitled_share", "entitled_share_of_parent"];
            let of_group = "0.666666666667";
            let of_parent = if item["target_type"] == "domain" { of_group } else { "1" };
            assert_eq!(shares.map(|key| item.remove(key).unwrap()), [of_group, of_parent, of_group, of_parent]);
        }
        let ids: Vec<_> = listed["items"].as_array().unwrap().iter().map(|i| i["id"].clone()).collect();
        assert!(ids.iter().all(serde_json::Value::is_string) && ids[0] != ids[1]);
        // Decimals carry no trailing zeros: the proposal prints "2.0".
        assert_eq!(listed["items"], json!([
            {"id": ids[0], "target_type": "domain", "target_id": "research", "weight": "2"},
            {"id": ids[1], "target_type": "project", "target_id": id("vision"), "weight": "1.5"},
        ]));
        // A deletion counts only what was set.
        let again = server.call("PUT", &path, Some(&body)).await.json(200);
        assert_eq!(again, json!({"ok": true, "upserted": 2, "deleted": 0}));
    }

    async fn fair_share_status_of_all_and_of_one(db: TestDb) {
        let server = Server::with_usage(db).await;
        let all = server.get(&group("/fair-share-status")).await;
        assert_eq!(all["total"], 3);
        let rows = all["items"].as_array().unwrap();
        // Half a day of 5, 10 and 20 of 100 cpu over a window of 28 days.
        let expected = [("carol", "audio", "sales", "0.000892857143"), ("bob", "vision", "research", "0.001785714286"),
            ("alice", "vision", "research", "0.003571428571")];
        for ((rank, (user, project, domain, usage)), row) in (1..).zip(expected).zip(rows) {
            let (of_group, of_parent) = if user == "carol" { ("0.5", "1") } else { ("0.25", "0.5") };
            let factor = 2f64.powf(-usage.parse::<f64>().unwrap());
            let shown: f64 = row["fair_share_factor"].as_str().unwrap().parse().unwrap();
            assert!((shown - factor).abs() < 1e-11, "{row}");
            assert_eq!(row, &json!({
                "user_uuid": id(user), "fair_share_factor": row["fair_share_factor"], "rank": rank,
                "project_id": id(project), "domain_name": domain, "effective_usage": usage, "effective_weight": "1",
                "user_name": user, "nominal_share": of_group, "nominal_share_of_parent": of_parent,
                "entitled_share": of_group, "entitled_share_of_parent": of_parent,
            }));
        }
        let one = server.get(&group(&format!("/fair-share-status?user_uuid={}", id("bob")))).await;
        assert_eq!(one["memberships"], json!([rows[1]]));
        for key in ["user_uuid", "effective_usage", "effective_weight", "fair_share_factor", "rank", "project_id"] {
            assert_eq!(one[key], rows[1][key], "{key}");
        }
    }
}
