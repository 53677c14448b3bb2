//! Keys that are limited to resource groups.

use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::on_both;

async fn limited(server: &Server, role: Role, groups: &[&str]) -> String {
    let groups = Some(groups.iter().map(|name| (*name).to_owned()).collect());
    let new = NewKey { role, label: "limited".to_owned(), user: None, expires_at: None, groups };
    server.service.create_key(admin(), new).await.unwrap().0
}

fn post(name: &str) -> Value {
    json!({"query": format!("{{ resource_group(name: \"{name}\") {{ name }} }}")})
}

on_both! {
    /// An empty list could mean all groups as well as none.
    async fn an_empty_list_of_groups_is_refused(db: TestDb) {
        let server = Server::new(db).await;
        let keys = server.get("/keys").await["total"].clone();
        let body = json!({"role": "viewer", "label": "v", "resource_groups": []});
        assert_eq!(server.call("POST", "/keys", Some(&body)).await.refused(422, "empty"), ["/resource_groups"]);
        let query = r#"mutation { create_key(role: VIEWER, label: "v", resource_groups: []) { key } }"#;
        assert_eq!(server.graphql(query).await["errors"][0]["extensions"]["code"], "empty");
        assert_eq!(server.get("/keys").await["total"], keys);
        let body = json!({"role": "viewer", "label": "v", "resource_groups": null});
        assert_eq!(server.call("POST", "/keys", Some(&body)).await.json(201)["resource_groups"], Value::Null);
    }
}

on_both! {
    async fn a_key_for_one_group_does_not_reach_another(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let key = limited(&server, Role::Admin, &["other", "not-yet", "other"]).await;
        let call = async |method: &str, path: &str, body: Option<Value>| server.call_as(&key, method, path, body.as_ref()).await;
        let end = json!([kernel("k1", "alice", "vision", "2026-01-13T00:00:00Z")]);
        let workload = json!({"workloads": []});
        let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "2"}]});
        let agent = json!({"available_slots": {"cpu": "1"}});
        let plan = json!({"workload_id": "w", "members": [{"slots": {"cpu": 1}}]});
        for (method, path, body) in [
            ("GET", group(""), None),
            ("PUT", group(""), Some(json!({}))),
            ("DELETE", group(""), None),
            ("GET", group("/scheduler-options"), None),
            ("PATCH", group("/scheduler-options"), Some(json!({"scheduler": "fifo"}))),
            ("GET", group("/fair-share-weights"), None),
            ("PUT", group("/fair-share-weights"), Some(weight)),
            ("GET", group("/fair-share-status"), None),
            ("GET", group("/fair-share-status/domains"), None),
            ("GET", group("/fair-share-status/projects"), None),
            ("GET", group("/explain?user=alice"), None),
            ("GET", group("/configuration"), None),
            ("PUT", group("/configuration"), Some(json!({}))),
            ("GET", group("/capacity-days"), None),
            ("PUT", group("/capacity-days"), Some(json!([]))),
            ("PUT", group("/agents"), Some(json!({"agents": []}))),
            ("GET", group("/agents"), None),
            ("PUT", group("/agents/node-01"), Some(agent)),
            ("DELETE", group("/agents/node-01"), None),
            ("GET", group("/kernels"), None),
            ("POST", group("/kernels"), Some(end)),
            ("GET", group(&format!("/kernels/{}", id("k1"))), None),
            ("POST", group("/sequence"), Some(workload.clone())),
            ("GET", group("/queues"), None),
            ("PUT", group("/queues"), Some(json!({"queues": []}))),
            ("GET", group("/queues/q"), None),
            ("PUT", group("/queues/q"), Some(json!({}))),
            ("DELETE", group("/queues/q"), None),
            ("GET", group("/division"), None),
            ("GET", group("/division/history"), None),
            ("POST", group("/reclaim-plans"), Some(plan)),
            ("GET", group("/usage-buckets/users"), None),
            ("GET", group("/usage-gaps"), None),
            ("GET", group("/audit"), None),
            ("GET", format!("/audit-log?resource_group={GROUP}"), None),
            ("POST", "/jobs/aggregate/run".to_owned(), Some(json!({"resource_group": GROUP}))),
            ("POST", "/jobs/aggregate/run".to_owned(), None),
            ("POST", "/jobs/trust-clock".to_owned(), None),
            ("GET", "/metrics".to_owned(), None),
            ("GET", "/keys".to_owned(), None),
            ("POST", "/keys".to_owned(), Some(json!({"role": "admin", "label": "free"}))),
        ] {
            let answer = call(method, &path, body).await;
            answer.refused(403, "forbidden");
        }
        server.call("GET", &group("/agents"), None).await.json(200);
        call("GET", "/resource-groups/other/fair-share-status", None).await.json(200);
        call("POST", "/resource-groups/other/sequence", Some(workload)).await.json(200);
        call("PUT", "/resource-groups/not-yet", Some(json!({}))).await.json(201);
        // Its own group cannot be used to end another's kernels either.
        let stolen = json!([kernel("k1", "alice", "vision", "2026-01-13T00:00:00Z")]);
        let answer = call("POST", "/resource-groups/other/kernels", Some(stolen)).await.json(200);
        assert_eq!(answer["errors"][0]["errors"][0]["code"], "kernel_of_another_group");
    }

    async fn lists_over_all_groups_show_those_of_the_key(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        server.call("POST", "/jobs/aggregate/run", None).await.json(200);
        let key = limited(&server, Role::Admin, &["other"]).await;
        let get = async |path: &str| server.call_as(&key, "GET", path, None).await.json(200);
        let names = |list: &Value, key: &str| -> Vec<String> {
            let rows = list["items"].as_array().unwrap().iter();
            rows.map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect()
        };
        assert_eq!(names(&get("/resource-groups").await, "name"), ["other"]);
        let entries = get("/audit-log").await;
        assert_eq!((names(&entries, "resource_group"), &entries["total"]), (vec!["other".to_owned()], &json!(1)));
        assert_eq!(names(&get("/job-runs").await, "resource_group"), ["other"]);
        let own = server.call_as(&key, "GET", "/audit-log?resource_group=other", None).await.json(200);
        assert_eq!(own["total"], 1);

        let ask = async |query: Value| server.call_as(&key, "POST", "/graphql", Some(&query)).await.json(200);
        assert_eq!(ask(json!({"query": "{ resource_groups { name } }"})).await["data"]["resource_groups"], json!([{"name": "other"}]));
        assert_eq!(ask(post("other")).await["data"]["resource_group"]["name"], "other");
        assert!(ask(post(GROUP)).await["data"]["resource_group"].is_null());
        let listed = format!("{{ user_fair_shares(resource_group: \"{GROUP}\") {{ count }} }}");
        assert_eq!(ask(json!({"query": listed})).await["errors"][0]["extensions"]["code"], "forbidden");
        let all = json!({"query": format!("{{ resource_group(name: \"{GROUP}\") {{ id }} audit_log {{ edges {{ node {{ id }} }} }} }}")});
        let ids = server.call("POST", "/graphql", Some(&all)).await.json(200)["data"].clone();
        let mut wanted = vec![ids["resource_group"]["id"].clone()];
        wanted.extend(ids["audit_log"]["edges"].as_array().unwrap().iter().map(|e| e["node"]["id"].clone()));
        let query = json!({"query": "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", "variables": {"ids": wanted}});
        let found = ask(query).await["data"]["nodes"].as_array().unwrap().iter().filter(|n| !n.is_null()).count();
        assert_eq!(found, 1, "only the entry of its own group");
    }

    async fn everybody_may_ask_who_they_are(db: TestDb) {
        let server = Server::new(db).await;
        let body = json!({"role": "scheduler", "label": "gpu bridge", "resource_groups": ["gpu", "a100"], "expires_at": "2026-01-14T00:00:00Z"});
        let created = server.call("POST", "/keys", Some(&body)).await.json(201);
        assert_eq!(created["resource_groups"], json!(["a100", "gpu"]));
        let who = server.call_as(created["key"].as_str().unwrap(), "GET", "/whoami", None).await.json(200);
        assert_eq!(who, json!({
            "key_id": created["id"], "label": "gpu bridge", "role": "scheduler", "user_uuid": null,
            "resource_groups": ["a100", "gpu"], "expires_at": "2026-01-14T00:00:00Z",
        }));
        let user = server.key_for(Role::User, Some("alice")).await;
        let who = server.call_as(&user, "GET", "/whoami", None).await.json(200);
        assert_eq!((&who["user_uuid"], &who["resource_groups"]), (&json!(id("alice")), &Value::Null));
        let bad = json!({"role": "admin", "label": "x", "resource_groups": ["ok", "no/slash"]});
        assert_eq!(server.call("POST", "/keys", Some(&bad)).await.refused(422, "invalid_name"), ["/resource_groups/1"]);
    }
}
