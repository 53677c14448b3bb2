//! The revision of a group's configuration: the writes that change it, and the requests that are refused because of it.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

async fn revision(server: &Server) -> String {
    let of = async |path: &str| server.get(&group(path)).await["config_revision"].as_str().unwrap().to_owned();
    let seen = of("").await;
    assert_eq!((of("/scheduler-options").await, of("/fair-share-weights").await), (seen.clone(), seen.clone()));
    let asked = server.graphql(r#"{ resource_group(name: "gpu-cluster") { config_revision } }"#).await;
    assert_eq!(asked["data"]["resource_group"]["config_revision"], seen);
    seen
}

fn weight(weight: &str) -> Value {
    json!({"items": [{"target_type": "domain", "target_id": "research", "weight": weight}]})
}

on_both! {
    async fn configuration_moves_the_revision_and_kernels_do_not(db: TestDb) {
        let server = Server::with_usage(db).await;
        let mut last = revision(&server).await;
        let queue = json!({"queues": [{"name": "a", "quota": {"cpu": "1"}}]});
        let agent = json!({"available_slots": {"cpu": "7"}});
        let days = json!([{"date": "2026-01-01", "capacity": {"cpu": "3"}}]);
        for (method, path, body) in [
            ("PUT", group("/fair-share-weights"), weight("2")),
            ("PATCH", group("/scheduler-options"), json!({"scheduler_opts": {"half_life_days": 3}})),
            ("PUT", group("/agents/node-02"), agent.clone()),
            ("PUT", group("/queues"), queue.clone()),
            ("PUT", group("/capacity-days"), days),
            ("PUT", format!("/projects/{}", id("vision")), json!({"domain_name": "sales"})),
            ("PUT", format!("/users/{}", id("alice")), json!({"display_name": "Alice"})),
        ] {
            let answer = server.call(method, &path, Some(&body)).await;
            assert!(answer.status.is_success(), "{path}: {}", String::from_utf8_lossy(&answer.bytes));
            let now = revision(&server).await;
            assert_ne!(now, last, "{path}");
            last = now;
        }
        // Nothing of this changes a configuration.
        for (method, path, body) in [
            ("PUT", group("/fair-share-weights"), weight("2")), ("PUT", group("/agents/node-02"), agent),
            ("PUT", group("/queues"), queue),
            ("PATCH", group("/scheduler-options"), json!({"scheduler_opts": {"half_life_days": 3}})),
        ] {
            assert!(server.call(method, &path, Some(&body)).await.status.is_success());
            assert_eq!(revision(&server).await, last, "{path}");
        }
        server.clock.advance_seconds(300);
        let newcomer = with(kernel("k9", "dora", "new", "2026-01-13T12:00:00Z"), &json!({"domain_name": "fresh"}));
        server.call("POST", &group("/kernels"), Some(&newcomer)).await.json(200);
        server.tick().await;
        assert_eq!(revision(&server).await, last);
        let Server { fixture, key, .. } = server;
        assert_eq!(revision(&Server::over(fixture.restart().await, key)).await, last);
    }

    async fn a_write_on_the_grounds_of_another_configuration_is_refused(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let other = server.get("/resource-groups/other").await["config_revision"].clone();
        let (old, group_path) = (revision(&server).await, group(""));
        server.call("PUT", &group("/fair-share-weights"), Some(&weight("2"))).await.json(200);
        let now = revision(&server).await;
        let body = |mut body: Value, revision: &Value| {
            body["if_revision"] = revision.clone();
            body
        };
        let options = json!({"scheduler_opts": {"half_life_days": 5}});
        let writes = [
            ("PUT", group("/fair-share-weights"), weight("3")), ("PATCH", group("/scheduler-options"), options.clone()),
            ("PUT", group_path, options), ("PUT", group("/queues"), json!({"queues": [{"name": "a", "priority": 4}]})),
        ];
        let before = server.get("/audit-log").await["total"].clone();
        for (method, path, write) in &writes {
            let refused = server.call(method, path, Some(&body(write.clone(), &json!(old)))).await;
            assert_eq!(refused.refused(409, "config_changed"), [""; 0]);
            assert_eq!(refused.json(409)["config_revision"], now);
            for (wrong, code) in [(other.clone(), "other_group"), (json!("7"), "invalid_value"), (json!("x.y"), "invalid_value")] {
                let refused = server.call(method, path, Some(&body(write.clone(), &wrong))).await;
                assert_eq!(refused.refused(422, code), ["/if_revision"], "{path} {wrong}");
            }
        }
        let file = json!({"domains": {"research": "4"}});
        let stale = group(&format!("/configuration?if_revision={old}"));
        server.call("PUT", &stale, Some(&file)).await.refused(409, "config_changed");
        let queue = |query: String| group(&format!("/queues/a?if_revision={query}"));
        for (method, stale) in [("PUT", queue(old.clone())), ("DELETE", queue(format!("{old}&reason=no")))] {
            server.call(method, &stale, Some(&json!({}))).await.refused(409, "config_changed");
        }
        for write in [
            r#"upsert_queues(resource_group: "gpu-cluster", queues: [{name: "b"}], if_revision: "OLD") { created_count }"#,
            r#"delete_queue(resource_group: "gpu-cluster", name: "a", if_revision: "OLD")"#,
        ] {
            let refused = server.graphql(&format!("mutation {{ {} }}", write.replace("OLD", &old))).await;
            assert_eq!(refused["errors"][0]["extensions"]["code"], "config_changed", "{refused}");
        }
        let mutation = |revision: &str| format!(
            r#"mutation {{ update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{{\"order\": \"tiered\"}}", if_revision: "{revision}") {{ config_revision }} }}"#
        );
        let refused = server.graphql(&mutation(&old)).await["errors"][0]["extensions"].clone();
        assert_eq!((&refused["code"], &refused["config_revision"]), (&json!("config_changed"), &json!(now)), "{refused}");
        assert_eq!((server.get("/audit-log").await["total"].clone(), revision(&server).await), (before, now.clone()));
        let taken = server.graphql(&mutation(&now)).await;
        assert_eq!(taken["data"]["update_scheduler_options"]["config_revision"], revision(&server).await, "{taken}");
        for (method, path, write) in writes {
            let now = json!(revision(&server).await);
            server.call(method, &path, Some(&body(write, &now))).await.json(200);
        }
        let put = queue(revision(&server).await);
        server.call("PUT", &put, Some(&json!({"priority": 5}))).await.json(200);
        let delete = queue(revision(&server).await);
        assert_eq!(server.call("DELETE", &delete, None).await.status, 204);
    }

    async fn a_group_that_is_made_anew_has_other_revisions(db: TestDb) {
        let server = Server::new(db).await;
        server.group("short", &json!({})).await;
        let path = "/resource-groups/short";
        let old = server.get(path).await["config_revision"].clone();
        assert!(server.call("DELETE", path, None).await.status.is_success());
        server.clock.advance_seconds(1);
        server.group("short", &json!({})).await;
        let refused = server.call("PUT", path, Some(&json!({"scheduler": "fifo", "if_revision": old}))).await;
        assert_eq!(refused.refused(422, "other_group"), ["/if_revision"]);
    }
}
