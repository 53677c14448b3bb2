//! Scheduling cycles over the snapshot of a request. The tests of the rules cover what they decide.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::Server;
use crate::support::fixture::with;
use crate::support::on_both;

const CYCLE: &str = "/cycle/simulate";

fn document() -> Value {
    json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": 4}, "now": "2026-01-13T10:00:00Z",
        "queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}],
        "agents": [{"agent_id": "n1", "available_slots": {"gpu": 4}}],
        "running": [{"workload_id": "r", "queue": "b", "started_at": "2026-01-13T09:00:00Z", "expected_seconds": 7200,
            "members": [{"kernel_id": "k", "slots": {"gpu": 3}, "agent_id": "n1"}]}],
        "pending": [
            {"workload_id": "big", "queue": "b", "members": [{"slots": {"gpu": 2}}]},
            {"workload_id": "small", "queue": "a", "expected_seconds": 60, "members": [{"slots": {"gpu": 1}}]},
        ],
        "cycle": {"actions": ["allocate", "backfill"], "backfill": "easy"},
    })
}

on_both! {
    async fn every_role_may_ask_what_would_start(db: TestDb) {
        let server = Server::new(db).await;
        for role in Role::ALL {
            let key = server.key_for(role, (role == Role::User).then_some("alice")).await;
            let answer = server.call_as(&key, "POST", CYCLE, Some(&document())).await.json(200);
            let expected = json!([{"workload_id": "small", "queue": "a", "position": 2, "action": "backfill", "surplus": false,
                "members": [{"member": 0, "agent_id": "n1"}]}]);
            assert_eq!(answer["starts"], expected);
            let waiting = json!([{"workload_id": "big", "queue": "b", "position": 1, "members": 1, "started": false, "reason": "no_room",
                "details": {"slot": "gpu", "asked": "2", "most_free": "0", "free": "0"}, "blocked_by": [],
                "reserved_at": "2026-01-13T11:00:00Z"}]);
            assert_eq!(answer["waiting"], waiting);
            assert_eq!(answer["after"][0]["allocated"], json!({"gpu": "1"}));
            assert!(answer["trace"].is_null());
        }
    }

    async fn all_faults_come_at_once(db: TestDb) {
        let server = Server::new(db).await;
        let wrong = json!({
            "agents": [{"agent_id": "n1", "available_slots": {}, "taints": [{"key": "", "effect": "NoSchedule"}]}],
            "pending": [{"workload_id": "w", "queue": "gone", "gang_min": -1, "members": [{"slots": {}, "count": 0}],
                "affinity": {"agents": [{"key": "k", "operator": "Gt", "values": ["x"]}]}}],
            "cycle": {"actions": ["allocate", "allocate", "grow"], "order": "chaos", "depth": 0, "node_order": {"nearest": 1}},
        });
        let pointers = server.call("POST", CYCLE, Some(&with(document(), &wrong))).await.refused(422, "invalid");
        let expected = [
            "/cycle/order", "/cycle/actions/1", "/cycle/actions/2", "/cycle/node_order/nearest", "/cycle/depth",
            "/agents/0/taints/0/key", "/pending/0/queue", "/pending/0/members/0/count", "/pending/0/gang_min",
            "/pending/0/affinity/agents/0/values",
        ];
        assert_eq!(pointers, expected);
    }

    async fn what_cannot_be_read_has_its_place(db: TestDb) {
        let server = Server::new(db).await;
        for (place, pointer, code) in [
            (json!({"cycle": {"speed": 1}}), "/cycle/speed", "unknown_field"),
            (json!({"pending": [{"workload_id": "w", "members": [], "speed": 1}]}), "/pending/0/speed", "unknown_field"),
            (json!({"pending": {"workload_id": "w", "members": [], "speed": 1}}), "/pending/speed", "unknown_field"),
            (json!({"pending": "w"}), "/pending", "invalid_type"),
            (json!({"cycle": {"node_order": {"balanced": "much"}}}), "/cycle/node_order/balanced", "invalid_value"),
            (json!({"cycle": {"depth": "all"}}), "/cycle/depth", "invalid_type"),
            (json!({"agents": [{"agent_id": "n", "available_slots": {}, "taints": [{"key": "k", "effect": "Sometimes"}]}]}),
                "/agents/0/taints/0/effect", "invalid_value"),
        ] {
            let answer = server.call("POST", CYCLE, Some(&with(document(), &place))).await;
            assert_eq!(answer.refused(422, code), [pointer], "{place}");
        }
        for key in ["capacity", "algorithm", "queues", "running", "pending"] {
            let mut body = document();
            body.as_object_mut().unwrap().remove(key);
            assert_eq!(server.call("POST", CYCLE, Some(&body)).await.refused(422, "missing_field"), [format!("/{key}")]);
        }
    }

    async fn doubtful_requests_are_plans(db: TestDb) {
        let server = Server::new(db).await;
        let mut more_than_it_has = document();
        more_than_it_has["agents"][0]["available_slots"] = json!({"gpu": 1});
        let no_agents = with(document(), &json!({"agents": []}));
        let budget = with(document(), &json!({"cycle": {"search_budget_ms": 0}}));
        for (body, reason) in [(more_than_it_has, "too_large"), (no_agents, "predicates"), (budget, "no_room")] {
            let answer = server.call("POST", CYCLE, Some(&body)).await.json(200);
            let big = answer["waiting"].as_array().unwrap().iter().find(|row| row["workload_id"] == "big").unwrap();
            assert_eq!(big["reason"], reason, "{answer}");
        }
    }
}
