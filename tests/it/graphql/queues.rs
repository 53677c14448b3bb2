//! Queues over GraphQL: the same use-cases as over REST.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, column, role};
use crate::support::fixture::{admin, kernel, with};
use crate::support::on_both;

const GROUP: &str = r#"resource_group: "gpu-cluster""#;

async fn upsert(api: &Api, args: &str) -> Value {
    let fields = "created_count changed_count deleted_count affected_queues { name parent } warnings { code queue }";
    api.ask(&format!("mutation {{ upsert_queues({GROUP}, {args}) {{ {fields} }} }}")).await["upsert_queues"].clone()
}

fn counts(result: &Value) -> [u64; 3] {
    ["created_count", "changed_count", "deleted_count"].map(|key| result[key].as_u64().unwrap())
}

on_both! {
    async fn numbers_in_a_text_keep_their_digits(db: TestDb) {
        let api = Api::cluster(db).await;
        upsert(&api, r#"queues: [{name: "a", quota: "{\"mem\": 123456789.123456789, \"cpu\": 0.1234567890125}"}]"#).await;
        let data = api.ask(&format!(r#"{{ queue({GROUP}, name: "a") {{ quota }} }}"#)).await;
        assert_eq!(data["queue"]["quota"], r#"{"cpu":"0.123456789013","mem":"123456789.123456789"}"#);
        let set = async |weights: &str| {
            let opts = json!({"resource_weights": "@"}).to_string().replace("\"@\"", weights);
            api.send(admin(), &format!("mutation {{ update_scheduler_options({GROUP}, scheduler_opts: {}) {{ scheduler_opts }} }}", json!(opts)), json!({})).await
        };
        let done = set(r#"{"mem": 123456789.123456789}"#).await;
        let opts = done["data"]["update_scheduler_options"]["scheduler_opts"].as_str().unwrap();
        assert!(opts.contains(r#""mem":"123456789.123456789""#), "{opts}");
        let refused = set(r#"{"mem": "0.1234567890125"}"#).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "invalid_value", "{refused}");
    }

    async fn queues_are_written_and_read(db: TestDb) {
        let api = Api::cluster(db).await;
        let done = upsert(&api, r#"reason: "start", queues: [
            {name: "a", quota: "{\"cpu\": 4, \"mem\": \"unlimited\"}", weight: 2.50, mode: FIFO, priority: 7, min_share_ratio: "0.5",
             created_at: "2026-01-01T00:00:00Z", children_over_quota_by: QUOTA, reclaimable: false, preempt_min_runtime: 60, reclaim_min_runtime: 90},
            {name: "b", parent: "a", quota: {cpu: 6}, over_quota_weight: "{\"cpu\": 3}", guarantee: null},
            {name: "c", over_quota_weight: "2"}]"#).await;
        assert_eq!(counts(&done), [3, 0, 0]);
        assert_eq!(done["affected_queues"][1], json!({"name": "b", "parent": "a"}));
        assert!(done["warnings"].as_array().unwrap().iter().any(|w| w["queue"] == "a"), "{done}");
        let fields = "resource_group name parent priority weight mode created_at quota limit guarantee over_quota_weight \
            children_over_quota_by min_share_ratio reclaimable preempt_min_runtime reclaim_min_runtime";
        let data = api.ask(&format!(r#"{{ queue({GROUP}, name: "a") {{ {fields} }} none: queue({GROUP}, name: "x") {{ name }} }}"#)).await;
        assert_eq!(data["none"], Value::Null);
        assert_eq!(data["queue"], json!({
            "resource_group": "gpu-cluster", "name": "a", "parent": null, "priority": 7, "weight": "2.5", "mode": "FIFO",
            "created_at": "2026-01-01T00:00:00Z", "quota": r#"{"cpu":"4","mem":"unlimited"}"#, "limit": "{}", "guarantee": "{}",
            "over_quota_weight": r#""1""#, "children_over_quota_by": "QUOTA", "min_share_ratio": "0.5", "reclaimable": false,
            "preempt_min_runtime": 60, "reclaim_min_runtime": 90,
        }));
        let page = async |args: &str| api.ask(&format!(
            "{{ queues({GROUP}, {args}) {{ count edges {{ node {{ id name over_quota_weight }} }} pageInfo {{ hasNextPage hasPreviousPage endCursor }} }} }}"
        )).await["queues"].clone();
        let whole = page("first: 10").await;
        assert_eq!(column(&whole, "name"), ["a", "b", "c"]);
        assert_eq!(column(&whole, "over_quota_weight"), [r#""1""#, r#"{"cpu":"3"}"#, r#""2""#]);
        assert_eq!(column(&page("last: 2").await, "name"), ["b", "c"]);
        assert_eq!(column(&page("first: 1, offset: 1").await, "name"), ["b"]);
        let first = page("first: 1").await;
        assert_eq!(column(&page(&format!("first: 1, after: {}", first["pageInfo"]["endCursor"])).await, "name"), ["b"]);
        let id = &column(&whole, "id")[1];
        let data = api.ask(&format!("{{ node(id: {id}) {{ id ... on Queue {{ name }} }} }}")).await;
        assert_eq!(data["node"], json!({"id": id, "name": "b"}));
        assert_eq!(api.statements(&format!("{{ queues({GROUP}) {{ edges {{ node {{ id }} }} }} }}")).await, 0);

        assert_eq!(counts(&upsert(&api, r#"queues: [{name: "c"}, {name: "d"}]"#).await), [1, 1, 0]);
        assert_eq!(counts(&upsert(&api, r#"queues: [{name: "a"}, {name: "b", parent: "a"}], prune: true"#).await), [0, 2, 2]);
        assert_eq!(api.code(&format!(r#"mutation {{ delete_queue({GROUP}, name: "a") }}"#)).await, "has_children");
        let data = api.ask(&format!(r#"mutation {{ x: delete_queue({GROUP}, name: "b", reason: "over") y: delete_queue({GROUP}, name: "a") }}"#)).await;
        assert_eq!(data, json!({"x": true, "y": true}));
        let log = api.ask(&format!("{{ audit_log({GROUP}, first: 2) {{ edges {{ node {{ action target reason }} }} }} }}")).await;
        assert_eq!(log["audit_log"]["edges"][1]["node"], json!({"action": "queue.delete", "target": "b", "reason": "over"}));
        let entry = api.ask(r#"{ audit_log(target: "queue:a", first: 1) { edges { node { id undoable } } } }"#).await["audit_log"]["edges"][0]["node"].clone();
        let undone = api.ask(&format!("mutation {{ undo_change(id: {}) {{ action after }} }}", entry["id"])).await["undo_change"].clone();
        assert_eq!((&entry["undoable"], &undone["action"]), (&json!(true), &json!("audit_log.undo")));
        assert!(undone["after"].as_str().unwrap().contains(r#""queue:a":{"#), "{undone}");
        assert_eq!(column(&page("first: 9").await, "name"), ["a"]);
    }

    async fn what_is_refused(db: TestDb) {
        let api = Api::cluster(db).await;
        upsert(&api, r#"queues: [{name: "a"}]"#).await;
        let refused = async |args: &str| {
            let refused = api.refused(admin(), &format!("mutation {{ upsert_queues({GROUP}, {args}) {{ created_count }} }}")).await;
            (refused["code"].clone(), refused["errors"][0]["pointer"].clone())
        };
        for (args, code, pointer) in [
            (r#"queues: [{name: "b", parent: "nowhere"}]"#, "unknown_parent", "/queues/0/parent"),
            (r#"queues: [{name: "a", parent: "a"}]"#, "cycle", "/queues/0/parent"),
            (r#"queues: [{name: "b"}, {name: "b"}]"#, "duplicate_name", "/queues/1/name"),
            (r#"queues: [{name: "b", quota: "{\"cpu\": -1}"}]"#, "invalid_value", "/queues/0/quota/cpu"),
            (r#"queues: [{name: "b"}, {name: "c", limit: "{\"cpu\": \"NaN\"}"}]"#, "invalid_value", "/queues/1/limit/cpu"),
            (r#"queues: [{name: "b", quota: "7"}]"#, "invalid_type", "/queues/0/quota"),
            (r#"queues: [{name: "b", weight: "-1"}]"#, "invalid_value", "/queues/0/weight"),
            (r#"queues: [{name: "b", weight: "1000001"}]"#, "out_of_range", "/queues/0/weight"),
            (r#"queues: [{name: "a/b"}]"#, "invalid_name", "/queues/0/name"),
        ] {
            assert_eq!(refused(args).await, (json!(code), json!(pointer)), "{args}");
        }
        for (query, code) in [
            (format!(r#"mutation {{ upsert_queues({GROUP}, queues: [{{name: "b", colour: 1}}]) {{ created_count }} }}"#), "invalid_query"),
            (format!(r#"mutation {{ upsert_queues({GROUP}, queues: [{{name: "b", quota: "x"}}]) {{ created_count }} }}"#), "invalid_json"),
            (format!(r#"mutation {{ delete_queue({GROUP}, name: "x") }}"#), "unknown_queue"),
            (r#"mutation { delete_queue(resource_group: "none", name: "x") }"#.to_owned(), "unknown_resource_group"),
            (r#"mutation { upsert_queues(resource_group: "none", queues: []) { created_count } }"#.to_owned(), "unknown_resource_group"),
            (r#"{ queues(resource_group: "none") { count } }"#.to_owned(), "unknown_resource_group"),
            (r#"{ queue(resource_group: "none", name: "a") { name } }"#.to_owned(), "unknown_resource_group"),
        ] {
            assert_eq!(api.code(&query).await, code, "{query}");
        }
        for (caller, query) in [
            (role(Role::Viewer, None), format!(r#"mutation {{ upsert_queues({GROUP}, queues: [{{name: "a/b"}}]) {{ created_count }} }}"#)),
            (role(Role::Scheduler, None), format!(r#"mutation {{ delete_queue({GROUP}, name: "a") }}"#)),
            (role(Role::User, Some("alice")), format!("{{ queues({GROUP}) {{ count }} }}")),
        ] {
            assert_eq!(api.refused(caller, &query).await["code"], "forbidden", "{query}");
        }
        let data = api.ask_as(role(Role::Viewer, None), &format!("{{ queues({GROUP}) {{ count }} }}")).await;
        assert_eq!(data["queues"]["count"], 1);
    }
}

on_both! {
    async fn divisions_and_plans(db: TestDb) {
        let api = Api::cluster(db).await;
        upsert(&api, r#"queues: [{name: "research", quota: {cpu: 30}}, {name: "web", parent: "research"}]"#).await;
        let pending = with(kernel("w", "dave", "web", "2026-01-12T00:00:00Z"), &json!({
            "domain_name": "sales", "status": "PENDING", "started_at": null, "queue": "web", "occupied_slots": {"cpu": "50"},
        }));
        api.fixture.ingest(&[pending]).await;
        let ask = |args: &str| format!("{{ division({GROUP} {args}) {{ resource_group calculated_at algorithm capacity order score_order remaining
            queues {{ name parent fair_share state slot_states saturation_ratio dominant_share score ratios quota limit request allocated allocated_non_preemptible }}
            warnings {{ code queue slot detail }} trace {{ queue sentence steps }} }} }}");
        let division = api.ask(&ask("")).await["division"].clone();
        assert_eq!(api.statements(&ask("")).await, 0);
        let web = division["queues"].as_array().unwrap().iter().find(|q| q["name"] == "web").unwrap();
        assert_eq!((&web["parent"], &web["fair_share"], &web["allocated"]), (&json!("research"), &json!(r#"{"cpu":"50","mem":"0"}"#), &json!(r#"{"cpu":"0","mem":"0"}"#)));
        assert_eq!((&division["algorithm"], &division["trace"], &web["ratios"]), (&json!("quota_over_quota"), &Value::Null, &Value::Null));
        let explained = api.ask(&ask("explain: true")).await["division"].clone();
        assert_eq!(explained["queues"], division["queues"]);
        assert!(explained["trace"].as_array().unwrap().iter().any(|t| t["queue"] == "web" && t["sentence"].as_str().unwrap().contains("50 of ")));

        api.fixture.service.keep_division("gpu-cluster").await.unwrap();
        let history = |args: &str| format!("{{ division_history({GROUP} {args}) {{ count edges {{ node {{ day queue algorithm fair_share allocated request quota ratios calculated_at }} }} pageInfo {{ endCursor hasNextPage }} }} }}");
        let data = api.ask(&history(r#"queue: "web", from: "2026-01-13", to: "2026-01-13""#)).await;
        assert_eq!(data["division_history"]["count"], 1);
        assert_eq!(data["division_history"]["edges"][0]["node"]["request"], r#"{"cpu":"50","mem":"0"}"#);
        let first = api.ask(&history("first: 2")).await["division_history"].clone();
        let rest = api.ask(&history(&format!("first: 2, after: {}", first["pageInfo"]["endCursor"]))).await["division_history"].clone();
        assert_eq!([column(&first, "queue"), column(&rest, "queue")].concat(), ["default", "research", "web"]);
        assert_eq!((&rest["pageInfo"]["hasNextPage"], &rest["count"]), (&json!(false), &json!(3)));
        assert_eq!(api.code(&history(r#"from: "2026-01-14", to: "2026-01-13""#)).await, "contradiction");

        let plan = |group: &str, workload: &Value| format!(r#"{{ plan_reclaim(resource_group: "{group}", workload: {}) }}"#, json!(workload.to_string()));
        let workload = json!({"workload_id": "w2", "queue": "web", "members": [{"slots": {"cpu": "10"}}]});
        let data = api.ask(&plan("gpu-cluster", &workload)).await;
        let made: Value = serde_json::from_str(data["plan_reclaim"].as_str().unwrap()).unwrap();
        assert_eq!(made["verdict"], "fits");
        let wrong = api.refused(admin(), &plan("gpu-cluster", &with(workload.clone(), &json!({"queue": "x"})))).await;
        assert_eq!((&wrong["code"], &wrong["errors"][0]["pointer"]), (&json!("unknown_queue"), &json!("/workload/queue")));
        let wrong = api.refused(admin(), &plan("gpu-cluster", &with(workload.clone(), &json!({"colour": 1})))).await;
        assert_eq!((&wrong["code"], &wrong["errors"][0]["pointer"]), (&json!("unknown_field"), &json!("/workload/colour")));
        assert_eq!(api.code(&plan("none", &workload)).await, "unknown_resource_group");
        for (caller, query) in [
            (role(Role::Viewer, None), plan("gpu-cluster", &workload)),
            (role(Role::User, Some("alice")), ask("")),
            (role(Role::User, Some("alice")), history("")),
        ] {
            assert_eq!(api.refused(caller, &query).await["code"], "forbidden", "{query}");
        }
    }
}
