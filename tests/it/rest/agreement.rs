//! A sequence beside the order that another scheduler has now (FAIR_SHARE §13).

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Answer, Server, group};
use crate::cli::program::{fed, file, over};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

fn workload(name: &str, user: &str, project: &str) -> Value {
    json!({"workload_id": name, "user_uuid": id(user), "project_id": id(project)})
}

/// Workloads of alice, bob and carol, and of a user that no report has named. The order is n, c, b, a.
pub fn workloads() -> Value {
    json!([
        workload("a", "alice", "vision"), workload("b", "bob", "vision"), workload("c", "carol", "audio"),
        {"workload_id": "n", "user": "zed", "project": "space"},
    ])
}

pub async fn sequence(server: &Server, body: &Value) -> Answer {
    server.call("POST", &group("/sequence"), Some(body)).await
}

async fn agreement(server: &Server, changes: &Value) -> Value {
    let body = with(json!({"workloads": workloads()}), changes);
    sequence(server, &body).await.json(200)["agreement"].clone()
}

fn owner(user: &str, project: &str, places: u64) -> Value {
    json!({"user_name": user, "project_name": project, "places": places})
}

on_both! {
    async fn the_agreement_says_who_gains_and_who_loses(db: TestDb) {
        let server = Server::with_usage(db).await;
        let (vision, audio) = (id("vision").to_string(), id("audio").to_string());
        let body = json!({"workloads": workloads(), "current_order": ["a", "b", "gone", "c", "n", "lost"]});
        let statements = server.service.store().statements();
        let answer = sequence(&server, &body).await.json(200);
        assert!(server.service.store().statements() - statements <= 2, "a sequence needs no database");
        assert_eq!(answer["items"].as_array().unwrap().len(), 4);
        let ids: Vec<&str> = answer["items"].as_array().unwrap().iter().map(|w| w["workload_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["n", "c", "b", "a"]);
        assert_eq!(answer["agreement"], json!({
            "compared": 4, "same_place": 0, "kendall_tau": -1.0,
            "gain": [owner("zed", "space", 3), owner("carol", &audio, 1)],
            "lose": [owner("alice", &vision, 3), owner("bob", &vision, 1)],
        }));
        let warnings = answer["warnings"].as_array().unwrap();
        let unknown: Vec<&Value> = warnings.iter().filter(|warning| warning["code"] == "unknown_workload").collect();
        assert_eq!(unknown.len(), 1, "{warnings:?}");
        assert_eq!((&unknown[0]["pointer"], &unknown[0]["count"]), (&json!("/current_order/2"), &json!(2)));

        // Places are those among the workloads of both orders.
        let same = agreement(&server, &json!({"current_order": ["x", "n", "y", "c", "b", "a"]})).await;
        assert_eq!(same, json!({"compared": 4, "same_place": 4, "kendall_tau": 1.0, "gain": [], "lose": []}));
        let third = agreement(&server, &json!({"current_order": ["c", "a", "b"]})).await;
        assert_eq!((&third["compared"], &third["same_place"], &third["kendall_tau"]), (&json!(3), &json!(1), &json!(1.0 / 3.0)));
        assert_eq!((&third["gain"], &third["lose"]), (&json!([owner("bob", &vision, 1)]), &json!([owner("alice", &vision, 1)])));
        // With a limit, the heads of both orders are compared, here all workloads, and places remain those among all.
        for mode in ["plain", "progressive"] {
            let body = json!({
                "workloads": workloads(), "current_order": ["a", "b", "c", "n"], "limit": 2, "mode": mode, "explain": true,
            });
            let first = sequence(&server, &body).await.json(200);
            assert_eq!(first["agreement"], answer["agreement"], "{mode}");
            assert_eq!(first["items"].as_array().unwrap().len(), 2);
        }
        // Only n and c are in a head of one workload. The owners of a and b still gain and lose.
        let heads = agreement(&server, &json!({"current_order": ["c", "n", "a", "b"], "limit": 1})).await;
        assert_eq!((&heads["compared"], &heads["same_place"], &heads["kendall_tau"]), (&json!(2), &json!(0), &json!(-1.0)));
        assert_eq!(heads["gain"], json!([owner("bob", &vision, 1), owner("zed", "space", 1)]));
        assert_eq!(heads["lose"], json!([owner("alice", &vision, 1), owner("carol", &audio, 1)]));
        for few in [json!([]), json!(["a"]), json!(["x"])] {
            let few = agreement(&server, &json!({"current_order": few})).await;
            assert_eq!((&few["kendall_tau"], &few["gain"]), (&Value::Null, &json!([])));
        }
        assert_eq!(agreement(&server, &json!({})).await, Value::Null);
        assert_eq!(agreement(&server, &json!({"current_order": null})).await, Value::Null);
        for mode in ["plain", "progressive"] {
            let one = agreement(&server, &json!({"current_order": ["n", "c", "b", "a"], "mode": mode})).await;
            assert_eq!((&one["compared"], &one["same_place"]), (&json!(4), &json!(4)), "{mode}");
        }
    }

    async fn a_head_that_overtakes_another_one_is_no_agreement(db: TestDb) {
        let server = Server::with_usage(db).await;
        // The order of the group: j201 to j400 of carol, then j1 to j200 of alice. The other order is by number.
        let job = |number: u32| {
            let (user, project) = if number > 200 { ("carol", "audio") } else { ("alice", "vision") };
            let submitted = format!("2026-01-13T10:{:02}:{:02}Z", number / 60, number % 60);
            with(workload(&format!("j{number}"), user, project), &json!({"submitted_at": submitted}))
        };
        let jobs: Vec<Value> = (1..=400).map(job).collect();
        let current: Vec<String> = (1..=400).map(|number| format!("j{number}")).collect();
        let body = json!({"workloads": jobs, "current_order": current, "limit": 200, "mode": "plain"});
        let answer = sequence(&server, &body).await.json(200);
        let items = answer["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["workload_id"], &items[199]["workload_id"]), (200, &json!("j201"), &json!("j400")));
        let (vision, audio) = (id("vision").to_string(), id("audio").to_string());
        assert_eq!(answer["agreement"], json!({
            "compared": 400, "same_place": 0, "kendall_tau": -200.0 / 79_800.0,
            "gain": [owner("carol", &audio, 40_000)], "lose": [owner("alice", &vision, 40_000)],
        }));
    }

    async fn a_wrong_current_order_is_named(db: TestDb) {
        let server = Server::with_usage(db).await;
        for (order, code, pointers) in [
            (json!(["a", "b", "a"]), "duplicate", vec!["/current_order/2"]),
            (json!(["a", "a", "b", "b"]), "invalid", vec!["/current_order/1", "/current_order/3"]),
            (json!(["a", 7]), "invalid_type", vec!["/current_order/1"]),
            (json!(["a", null]), "invalid_type", vec!["/current_order/1"]),
            (json!("a"), "invalid_type", vec!["/current_order"]),
            (json!({"a": 1}), "invalid_type", vec!["/current_order"]),
        ] {
            let body = json!({"workloads": workloads(), "current_order": order});
            assert_eq!(sequence(&server, &body).await.refused(422, code), pointers, "{order}");
        }
        let many: Vec<String> = (0..=1_000_000).map(|n| n.to_string()).collect();
        let body = json!({"workloads": [], "current_order": many});
        assert_eq!(sequence(&server, &body).await.refused(422, "too_many"), ["/current_order"]);
        let twice: Vec<u32> = (0..300).map(|n| n % 2).collect();
        let twice: Vec<String> = twice.into_iter().map(|n| n.to_string()).collect();
        let faults = sequence(&server, &json!({"workloads": [], "current_order": twice})).await.refused(422, "invalid");
        assert_eq!(faults.len(), 100, "an answer names 100 faults at most");
    }

    async fn reported_workloads_are_compared_without_being_sent(db: TestDb) {
        let server = Server::with_usage(db).await;
        let waits = |name: &str, user: &str, gang: &str| {
            let changes = json!({"status": "PENDING", "started_at": null, "gang_id": gang, "user_name": user});
            with(kernel(name, user, "vision", "2026-01-13T10:00:00Z"), &changes)
        };
        let kernels = [waits("p1", "alice", "workloads"), waits("p2", "bob", "second")];
        assert!(server.ingest(&kernels).await.is_empty());
        // Without a body, without a key, and with a workload whose id is the name of the key.
        let path = group("/sequence");
        let ids = |answer: &Value| {
            let items = answer["items"].as_array().unwrap().iter();
            items.map(|item| item["workload_id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let whole = server.call("POST", &path, None).await.json(200);
        assert_eq!(ids(&whole), ["second", "workloads"]);
        assert_eq!(sequence(&server, &json!({})).await.json(200)["items"], whole["items"]);
        let answer = sequence(&server, &json!({"current_order": ["workloads", "second"]})).await.json(200);
        assert_eq!(ids(&answer), ["second", "workloads"]);
        assert_eq!((&answer["agreement"]["compared"], &answer["agreement"]["kendall_tau"]), (&json!(2), &json!(-1.0)));
        assert_eq!(answer["agreement"]["gain"][0]["user_name"], "bob");
        // Null is no list, and a client that sends it has lost its own.
        let null = json!({"workloads": null, "current_order": ["second"]});
        assert_eq!(sequence(&server, &null).await.refused(422, "missing_field"), ["/workloads"]);

        // GraphQL and the command line say the same.
        let query = "query($input: JSONString!) { sequence(resource_group: \"gpu-cluster\", input: $input) { \
             items { workload_id requested_slots } agreement { compared same_place kendall_tau gain { user_name project_name places } \
             lose { user_name project_name places } } } }";
        let asked = json!({"query": query, "variables": {"input": {"current_order": ["workloads", "second"]}}});
        let shown = server.call("POST", "/graphql", Some(&asked)).await.json(200);
        assert_eq!(shown["data"]["sequence"]["agreement"], answer["agreement"], "{shown}");
        assert_eq!(shown["data"]["sequence"]["items"][0]["requested_slots"], json!({"cpu": "1"}).to_string());
        let without = server.graphql("{ sequence(resource_group: \"gpu-cluster\") { agreement { compared } } }").await;
        assert_eq!(without["data"]["sequence"]["agreement"], Value::Null);
        let null = json!({"query": query, "variables": {"input": {"workloads": null}}});
        let null = server.call("POST", "/graphql", Some(&null)).await.json(200);
        assert_eq!(null["errors"][0]["extensions"]["code"], "missing_field", "{null}");
        let viewer = server.key_for(Role::Viewer, None).await;
        let refused = server.call_as(&viewer, "POST", "/graphql", Some(&asked)).await.json(200);
        assert_eq!(refused["errors"][0]["extensions"]["code"], "forbidden");

        let folder = tempfile::tempdir().unwrap();
        let lines = file(folder.path(), "order.txt", "workloads\n\nsecond\n");
        let array = file(folder.path(), "order.json", "[\"workloads\", \"second\"]");
        for order in [&lines, &array] {
            let printed = fed(over(&server.db.url).args(["sequence", GROUP, "-o", "json", "--current-order", order]), b"");
            assert_eq!(printed.json()["agreement"], answer["agreement"]);
        }
        let table = fed(over(&server.db.url).args(["sequence", GROUP, "--current-order", "-"]), b"workloads\nsecond\n").ok();
        assert!(table.contains("2 workloads compared, 0 in the same place, Kendall's tau -1.0"), "{table}");
        let both = fed(over(&server.db.url).args(["sequence", GROUP, "-", "--current-order", "-"]), b"");
        assert_eq!(both.refused(2), "the workloads and the current order cannot both come from standard input");
    }
}
