//! Reports of keys that are limited to resource groups: they change no data of other groups.

use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::database::TestDb;
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T11:00:00Z";

/// A key for the group `other` alone.
async fn key_of_other(server: &Server, role: Role) -> String {
    let groups = Some(vec!["other".to_owned()]);
    let new = NewKey { role, label: "other".to_owned(), user: None, expires_at: None, groups };
    server.service.create_key(admin(), new).await.unwrap().0
}

/// The group of the test with usage and a weight of the domain research, and the group `other` with a key of its own.
async fn two_groups(db: TestDb) -> (Server, String) {
    let server = Server::with_usage(db).await;
    let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "10"}]});
    server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
    server.group("other", &json!({})).await;
    let key = key_of_other(&server, Role::Scheduler).await;
    (server, key)
}

async fn report(server: &Server, key: &str, name: &str, kernels: Value) -> Value {
    let path = format!("/resource-groups/{name}/kernels");
    server.call_as(key, "POST", &path, Some(&kernels)).await.json(200)
}

/// The group's shares as readers see them.
async fn shares(server: &Server) -> [Value; 3] {
    let path = |tier: &str| group(&format!("/fair-share-status{tier}"));
    [server.get(&path("")).await, server.get(&path("/projects")).await, server.get(&path("/domains")).await]
}

on_both! {
    async fn it_moves_no_project_that_another_group_has(db: TestDb) {
        let (server, key) = two_groups(db).await;
        let before = shares(&server).await;
        let stranger = with(kernel("o1", "mallory", "vision", START), &json!({"domain_name": "sales"}));
        let answer = report(&server, &key, "other", json!([stranger])).await;
        assert_eq!(answer["accepted"], 1, "{answer}");
        let warning = &answer["warnings"][0];
        assert_eq!((&warning["code"], &warning["kernels"]), (&json!("domain_pinned"), &json!(1)), "{answer}");
        assert!(warning["detail"].as_str().unwrap().contains("groups that the key does not reach have it too"), "{answer}");
        assert_eq!(shares(&server).await, before);
        assert_eq!(server.get(&format!("/projects/{}", id("vision"))).await["domain_name"], "research");
        let taken = server.get(&format!("/resource-groups/other/kernels/{}", id("o1"))).await;
        assert_eq!(taken["domain_name"], "research");
        // A key for all groups still moves it, also with a kernel that is older than that of the limited key.
        let older = with(kernel("k9", "alice", "vision", "2026-01-13T10:00:00Z"), &json!({"domain_name": "sales"}));
        report(&server, &server.key, GROUP, json!([older])).await;
        assert_eq!(server.get(&format!("/projects/{}", id("vision"))).await["domain_name"], "sales");
    }

    async fn a_project_without_a_domain_gets_none_by_it(db: TestDb) {
        let (server, key) = two_groups(db).await;
        let placeless = with(kernel("k9", "alice", "placeless", START), &json!({"domain_name": "unknown"}));
        report(&server, &server.key, GROUP, json!([placeless])).await;
        let named = with(kernel("o1", "mallory", "placeless", START), &json!({"domain_name": "sales"}));
        assert_eq!(report(&server, &key, "other", json!([named])).await["warnings"][0]["code"], "domain_pinned");
        assert_eq!(server.get(&format!("/projects/{}", id("placeless"))).await["domain_name"], "unknown");
        let admin = key_of_other(&server, Role::Admin).await;
        let row = json!({"day": "2026-01-01", "user_uuid": id("mallory"), "project_id": id("placeless"), "domain_name": "sales", "resource_usage": {"cpu": "1"}});
        let body = json!({"rows": [row], "complete": true});
        server.call_as(&admin, "PUT", "/resource-groups/other/usage-histories/old", Some(&body)).await.json(200);
        assert_eq!(server.get(&format!("/projects/{}", id("placeless"))).await["domain_name"], "unknown");
    }

    async fn it_renames_no_user_that_another_group_has(db: TestDb) {
        let (server, key) = two_groups(db).await;
        let before = shares(&server).await;
        let renamed = json!({"user_name": "Mallory", "project_name": "Mallory's", "domain_name": "sales"});
        report(&server, &key, "other", json!([with(kernel("o1", "alice", "vision", START), &renamed)])).await;
        assert_eq!(shares(&server).await, before);
        assert_eq!(server.get(&format!("/users/{}", id("alice"))).await["display_name"], "alice");
        assert_eq!(server.get(&format!("/projects/{}", id("vision"))).await["display_name"], Value::Null);
    }

    /// The key moves and names people that only its group has, as any key does.
    async fn it_ends_no_archiving_of_what_another_group_has(db: TestDb) {
        let (server, key) = two_groups(db).await;
        let paths = [format!("/users/{}", id("alice")), format!("/projects/{}", id("vision")), "/domains/research".to_owned()];
        for path in &paths {
            server.call("PUT", path, Some(&json!({"archived": true}))).await.json(200);
        }
        let archived = async || {
            let mut all = Vec::new();
            for path in &paths {
                all.push(server.get(path).await["archived"].clone());
            }
            all
        };
        assert_eq!(archived().await, [true, true, true]);
        let running = kernel("o1", "alice", "vision", START);
        let answer = report(&server, &key, "other", json!([running])).await;
        assert_eq!((&answer["accepted"], &answer["warnings"][0]["code"]), (&json!(1), &json!("archived_elsewhere")), "{answer}");
        assert_eq!(archived().await, [true, true, true]);
        // A key for all groups still ends it.
        report(&server, &server.key, GROUP, json!([kernel("k9", "alice", "vision", START)])).await;
        assert_eq!(archived().await, [false, false, false]);
    }

    async fn it_moves_and_names_its_own(db: TestDb) {
        let (server, key) = two_groups(db).await;
        let own = |name: &str, start: &str, changes: &Value| with(kernel(name, "dora", "radio", start), changes);
        report(&server, &key, "other", json!([own("o1", START, &json!({"user_name": "Dora"}))])).await;
        let moved = json!({"domain_name": "sales", "user_name": "Dora D.", "project_name": "Radio"});
        let answer = report(&server, &key, "other", json!([own("o2", "2026-01-13T11:30:00Z", &moved)])).await;
        assert_eq!(answer["warnings"], Value::Null, "{answer}");
        let project = server.get(&format!("/projects/{}", id("radio"))).await;
        assert_eq!((&project["domain_name"], &project["display_name"]), (&json!("sales"), &json!("Radio")));
        assert_eq!(server.get(&format!("/users/{}", id("dora"))).await["display_name"], "Dora D.");
    }
}
