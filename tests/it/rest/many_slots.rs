//! Sums have the slots of all that they sum, however many those are.

use serde_json::{Map, Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, kernel, with};
use crate::support::on_both;

/// A running kernel of ann with `count` slots of its own.
fn kernel_with_slots(name: &str, count: usize) -> Value {
    let own = (0..count).map(|n| (format!("{name}-{n}"), json!("1")));
    let slots: Map<String, Value> = own.chain([("cpu".to_owned(), json!("1"))]).collect();
    with(kernel(name, "ann", "ml", "2026-01-13T11:00:00Z"), &json!({ "occupied_slots": slots }))
}

on_both! {
    async fn more_slots_in_sum_than_a_kernel_may_have_stop_nothing(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node-1", &json!({"cpu": "10"})).await;
        server.group("other", &json!({})).await;
        assert!(server.ingest(&[kernel_with_slots("a", 63), kernel_with_slots("b", 63)]).await.is_empty());
        server.tick().await;
        let users = server.get(&group("/usage-buckets/users")).await;
        assert_eq!(users["items"][0]["resource_usage"].as_object().unwrap().len(), 127, "{users}");
        let audit = server.get(&group("/audit")).await;
        assert_eq!((&audit["ok"], &audit["difference"]), (&json!(true), &Value::Null), "{audit}");

        // Another server opens the same database, and runs on.
        let key = server.key.clone();
        let again = Server::over(server.fixture.restart().await, key);
        again.fixture.clock.advance_seconds(3_600);
        again.fixture.tick().await;
        for name in [GROUP, "other"] {
            assert_eq!(again.get(&format!("/resource-groups/{name}/audit")).await["ok"], true, "{name}");
        }
        assert_eq!(again.ranking().await.len(), 1);
    }
}
