//! Input in the forms that other programs write: quantities of Kubernetes, and the byte order mark of UTF-8.

use axum::body::Body;
use futures::stream;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::kernel;
use crate::support::on_both;

const MARK: &[u8] = b"\xEF\xBB\xBF";
const GIB_64: &str = "68719476736";

fn marked(body: &Value) -> Vec<u8> {
    [MARK, body.to_string().as_bytes()].concat()
}

on_both! {
    async fn queues_take_quantities_and_answer_decimals(db: TestDb) {
        let server = Server::new(db).await;
        // `14-quota-as-quantity.json` of the odd accounting files.
        let body = json!({"queues": [{"name": "a", "quota": {"mem": "64Gi", "cpu": "500m"}}]});
        server.call("PUT", &group("/queues"), Some(&body)).await.json(200);
        let quota = json!({"cpu": "0.5", "mem": GIB_64});
        assert_eq!(server.get(&group("/queues/a")).await["quota"], quota);
        let one = json!({
            "quota": {"mem": "1.5T", "cpu": "unlimited"}, "limit": {"mem": "2e3", "cpu": "unlimited"}, "guarantee": {"mem": "1Ki", "cpu": ".5"},
        });
        let written = server.call("PUT", &group("/queues/a"), Some(&one)).await.json(200);
        assert_eq!(written["queue"]["quota"], json!({"cpu": "unlimited", "mem": "1500000000000"}));
        assert_eq!(written["queue"]["limit"], json!({"cpu": "unlimited", "mem": "2000"}));
        assert_eq!(written["queue"]["guarantee"], json!({"cpu": "0.5", "mem": "1024"}));
        let file = json!({"queues": [{"name": "a", "limit": {"mem": "64Gi"}}]});
        server.call("PUT", &group("/configuration"), Some(&file)).await.json(200);
        assert_eq!(server.get(&group("/queues/a")).await["limit"], json!({"mem": GIB_64}));
        let made = server.graphql(
            "mutation { upsert_queues(resource_group: \"gpu-cluster\", queues: [{name: \"a\", quota: \"{\\\"mem\\\": \\\"64Gi\\\", \\\"cpu\\\": \\\"500m\\\"}\"}]) \
             { affected_queues { quota } } }"
        ).await;
        let told: Value = serde_json::from_str(made["data"]["upsert_queues"]["affected_queues"][0]["quota"].as_str().unwrap()).unwrap();
        assert_eq!(told, quota);
        // A weight is no amount of a slot.
        for (key, value) in [("weight", json!("2k")), ("min_share_ratio", json!("500m")), ("quota", json!({"mem": "64GiB"}))] {
            let refused = server.call("PUT", &group("/queues/a"), Some(&json!({key: value}))).await;
            assert!(refused.refused(422, "invalid_value")[0].starts_with(&format!("/{key}")), "{key}");
        }
    }

    async fn simulations_take_quantities(db: TestDb) {
        let server = Server::new(db).await;
        let divide = json!({
            "algorithm": "quota_over_quota", "capacity": {"mem": "128Gi", "cpu": "2"}, "queues": [
                {"name": "a", "quota": {"mem": "64Gi", "cpu": "500m"}, "request": {"mem": "64Gi", "cpu": "1500m"}, "limit": {"cpu": "750m"}},
                {"name": "b", "allocated": {"mem": "1Gi"}, "request": {"mem": "1Gi"}},
            ]
        });
        let report = server.call("POST", "/division/simulate", Some(&divide)).await.json(200);
        assert_eq!(report["queues"][0]["fair_share"], json!({"cpu": "0.75", "mem": GIB_64}));
        let reclaim = json!({
            "algorithm": "quota_over_quota", "options": {}, "capacity": {"mem": "4Gi"},
            "queues": [{"name": "a", "quota": {"mem": "2Gi"}}, {"name": "b"}],
            "agents": [{"agent_id": "n", "available_slots": {"mem": "4Gi"}}],
            "running": [{"workload_id": "w", "queue": "b", "members": [
                {"kernel_id": "k1", "slots": {"mem": "2Gi"}, "agent_id": "n"}, {"kernel_id": "k2", "slots": {"mem": "2Gi"}, "agent_id": "n"},
            ], "gang_min": 1}],
            "pending": {"workload_id": "new", "queue": "a", "members": [{"slots": {"mem": "2Gi"}}]},
        });
        let plan = server.call("POST", "/reclaim/simulate", Some(&reclaim)).await.json(200);
        assert_eq!(plan["verdict"], "reclaim", "{plan}");
        let what_if = json!({"capacity": {"cpu": "500m", "mem": "64Gi"}});
        server.call("POST", &group("/fair-share-simulations"), Some(&what_if)).await.json(200);
    }

    async fn a_byte_order_mark_before_a_body_is_no_part_of_it(db: TestDb) {
        let server = Server::new(db).await;
        let kernels: Vec<Value> = (0..4).map(|n| kernel(&format!("k{n}"), "alice", "ml", "2026-01-13T10:00:00Z")).collect();
        let lines = format!("{}\n{}\n", kernels[0], kernels[1]);
        let bodies = [
            ("application/x-ndjson", [MARK, lines.as_bytes()].concat(), 2),
            ("application/json", marked(&json!(kernels)), 4),
            ("application/json", marked(&kernels[2]), 1),
        ];
        for (kind, body, rows) in bodies {
            let whole = server.raw("POST", &group("/kernels"), kind, body.clone()).await.json(200);
            assert_eq!((&whole["accepted"], &whole["rejected"]), (&json!(rows), &json!(0)), "{kind}: {whole}");
            // The mark comes in pieces, too.
            let bytes: Vec<_> = body.iter().map(|byte| Ok::<_, std::io::Error>(vec![*byte])).collect();
            let pieces = server.raw("POST", &group("/kernels"), kind, Body::from_stream(stream::iter(bytes))).await.json(200);
            assert_eq!((&pieces["accepted"], &pieces["rejected"]), (&json!(rows), &json!(0)), "{kind}: {pieces}");
        }
        let json = "application/json";
        server.raw("PUT", "/users/ann", json, marked(&json!({"display_name": "Ann"}))).await.json(201);
        server.raw("PUT", &group("/configuration"), json, marked(&json!({"domains": {"research": "2"}}))).await.json(200);
        let options = marked(&json!({"scheduler_opts": {"half_life_days": 3}}));
        server.raw("PATCH", &group("/scheduler-options"), json, options).await.json(200);
        server.raw("POST", "/graphql", json, marked(&json!({"query": "{ whoami { label } }"}))).await.json(200);
        // Only the first one is a mark.
        let twice = [MARK, MARK, b"{}"].concat();
        server.raw("PUT", "/users/ann", json, twice).await.refused(400, "malformed_json");
        assert_eq!(server.raw("POST", &group("/kernels"), "application/x-ndjson", MARK).await.json(200)["accepted"], 0);
    }
}
