//! Domains, projects and users over GraphQL.

use fairshared::domain::identity;
use serde_json::{Value, json};

use crate::rest::support::Server;
use crate::support::on_both;

async fn ask(server: &Server, query: &str) -> Value {
    server.call("POST", "/graphql", Some(&json!({"query": query}))).await.json(200)
}

on_both! {
    async fn people_are_created_listed_and_found_again(db: TestDb) {
        let server = Server::new(db).await;
        let (alice, climate) = (identity::user("alice"), identity::project("climate"));
        let made = ask(&server, &format!(
            "mutation {{ domain: upsert_domain(name: \"earth\", display_name: \"Earth science\") {{ id name display_name archived }} \
             project: upsert_project(project_id: \"{climate}\", name: \"climate\", domain_name: \"earth\") {{ id name domain_name domain_pinned }} \
             user: upsert_user(user_uuid: \"{alice}\", name: \"alice\", reason: \"new\") {{ id name display_name archived_at }} }}"
        )).await["data"].clone();
        assert_eq!(made["domain"]["display_name"], "Earth science");
        assert_eq!((&made["project"]["domain_name"], &made["project"]["domain_pinned"]), (&json!("earth"), &json!(true)));
        assert_eq!((&made["user"]["name"], &made["user"]["display_name"]), (&json!("alice"), &Value::Null));

        let found = ask(&server, &format!(
            "{{ domains {{ count edges {{ node {{ name }} }} }} projects(domain_name: \"earth\") {{ count edges {{ node {{ project_id name }} }} }} \
             users(search: \"ALI\") {{ count edges {{ node {{ user_uuid created_at }} }} }} nobody: users(search: \"bob\") {{ count }} \
             domain(name: \"earth\") {{ id }} project(project_id: \"{climate}\") {{ id }} user(user_uuid: \"{alice}\") {{ id }} \
             none: domain(name: \"nowhere\") {{ id }} }}"
        )).await["data"].clone();
        assert_eq!(found["domains"]["edges"][0]["node"]["name"], "earth");
        assert_eq!(found["projects"]["edges"][0]["node"], json!({"project_id": climate, "name": "climate"}));
        assert_eq!((&found["users"]["count"], &found["nobody"]["count"], &found["none"]), (&json!(1), &json!(0), &Value::Null));
        for kind in ["domain", "project", "user"] {
            assert_eq!(found[kind]["id"], made[kind]["id"], "{kind}");
        }
        let ids: Vec<String> = ["domain", "project", "user"].iter().map(|kind| made[*kind]["id"].to_string()).collect();
        let nodes = ask(&server, &format!("{{ nodes(ids: [{}]) {{ id __typename }} }}", ids.join(","))).await;
        let kinds: Vec<&str> = nodes["data"]["nodes"].as_array().unwrap().iter().map(|n| n["__typename"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["Domain", "Project", "User"]);

        let change = ask(&server, &format!(
            "mutation {{ upsert_user(user_uuid: \"{alice}\", name: null, display_name: \"Alice\", archived: true) {{ name display_name archived }} }}"
        )).await;
        assert_eq!(change["data"]["upsert_user"], json!({"name": null, "display_name": "Alice", "archived": true}));
        let lists = ask(&server, "{ users { count } gone: users(archived: true) { count } }").await;
        assert_eq!((&lists["data"]["users"]["count"], &lists["data"]["gone"]["count"]), (&json!(0), &json!(1)));
        let refused = ask(&server, &format!("mutation {{ upsert_project(project_id: \"{}\") {{ id }} }}", identity::project("new"))).await;
        assert_eq!(refused["errors"][0]["extensions"]["code"], "missing_field");
    }

    async fn names_stand_beside_ids(db: TestDb) {
        let server = Server::new(db).await;
        let kernel = json!({
            "kernel_id": identity::kernel("g", "1"), "session_id": identity::session("g", "1"), "user": "alice", "project": "climate",
            "domain_name": "earth", "occupied_slots": {"cpu": "1"}, "status": "RUNNING", "started_at": "2026-01-13T10:00:00Z",
        });
        server.call("POST", "/resource-groups/gpu-cluster/kernels", Some(&kernel)).await.json(200);
        server.tick().await;
        let weight = json!({"items": [{"target_type": "user", "user": "alice", "weight": "2"}]});
        server.call("PUT", "/resource-groups/gpu-cluster/fair-share-weights", Some(&weight)).await.json(200);
        let found = ask(&server, "{ weights: fair_share_weights(resource_group: \"gpu-cluster\") { edges { node { target_name project_name } } } \
            users: user_usage_buckets(resource_group: \"gpu-cluster\") { edges { node { user_name project_name } } } \
            projects: project_usage_buckets(resource_group: \"gpu-cluster\") { edges { node { project_name } } } \
            shares: user_fair_shares(resource_group: \"gpu-cluster\") { edges { node { user_name project_name } } } }").await["data"].clone();
        assert_eq!(found["weights"]["edges"][0]["node"], json!({"target_name": "alice", "project_name": "climate"}));
        assert_eq!(found["users"]["edges"][0]["node"], json!({"user_name": "alice", "project_name": "climate"}));
        assert_eq!(found["projects"]["edges"][0]["node"], json!({"project_name": "climate"}));
        assert_eq!(found["shares"]["edges"][0]["node"], json!({"user_name": "alice", "project_name": "climate"}));
    }
}
