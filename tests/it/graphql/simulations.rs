//! Divisions and reclaim plans without stored data; the tests of REST cover their rules.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role};
use crate::support::on_both;

const DIVIDE: &str = "query($input: JSONString!) { simulate_division(input: $input) }";
const RECLAIM: &str = "query($input: JSONString!) { simulate_reclaim(input: $input) }";

const CYCLE: &str = "query($input: JSONString!) { simulate_cycle(input: $input) }";

fn division() -> Value {
    json!({"algorithm": "drf", "capacity": {"gpu": 4}, "queues": [{"name": "a", "request": {"gpu": 3}}]})
}

fn reclaim() -> Value {
    json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": 1}, "queues": [{"name": "a", "reclaim_min_runtime": 60}, {"name": "b"}],
        "running": [{"workload_id": "w", "queue": "a", "members": [{"kernel_id": "k", "slots": {"gpu": 1}}],
            "started_at": "2026-01-12T23:59:30Z"}],
        "pending": {"workload_id": "new", "queue": "b", "members": [{"slots": {"gpu": "0.5"}}]},
    })
}

fn read(text: &Value) -> Value {
    serde_json::from_str(text.as_str().unwrap()).unwrap()
}

on_both! {
    async fn objects_and_texts_are_taken(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        for who in [Role::Admin, Role::Scheduler, Role::Viewer, Role::User] {
            for input in [division(), Value::String(division().to_string())] {
                let answer = api.send(role(who, None), DIVIDE, json!({"input": input})).await;
                let report = read(&answer["data"]["simulate_division"]);
                assert_eq!(report["queues"][0]["fair_share"], json!({"gpu": "3"}), "{answer}");
            }
        }
        // Half a minute ago by the service's clock.
        let answer = api.send(role(Role::Viewer, None), RECLAIM, json!({"input": reclaim()})).await;
        let plan = read(&answer["data"]["simulate_reclaim"]);
        assert_eq!((&plan["verdict"], &plan["refusals"][1]["rule"]), (&json!("refused"), &json!("min_runtime")), "{plan}");
    }

    async fn a_cycle_is_that_of_rest(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let input = json!({
            "algorithm": "quota_over_quota", "capacity": {"gpu": 1}, "queues": [{"name": "a"}], "running": [],
            "pending": [{"workload_id": "w", "queue": "a", "expected_seconds": 60, "members": [{"slots": {"gpu": 1}}]},
                {"workload_id": "x", "queue": "a", "members": [{"slots": {"gpu": 1}}]}],
            "cycle": {"backfill": "easy"}
        });
        let answer = api.send(role(Role::User, None), CYCLE, json!({"input": input})).await;
        let cycle = read(&answer["data"]["simulate_cycle"]);
        // The moment of the cycle is that of the service's clock.
        assert_eq!((&cycle["starts"][0]["workload_id"], &cycle["waiting"][0]["reserved_at"]), (&json!("w"), &json!("2026-01-13T00:01:00Z")), "{cycle}");
    }

    async fn faults_have_their_code(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let mut wrong = division();
        wrong["queues"][0]["parent"] = json!("nobody");
        let answer = api.send(role(Role::User, None), DIVIDE, json!({"input": wrong})).await;
        let extensions = &answer["errors"][0]["extensions"];
        assert_eq!((&extensions["code"], &extensions["errors"][0]["pointer"]), (&json!("unknown_parent"), &json!("/queues/0/parent")));
        let mut wrong = reclaim();
        wrong["pending"]["queue"] = json!("nobody");
        let answer = api.send(role(Role::User, None), RECLAIM, json!({"input": wrong})).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"], "unknown_queue", "{answer}");
    }
}
