//! `ETag`, `If-None-Match`, `If-Match`.

use axum::body::Body;
use serde_json::{Value, json};

use super::support::{Answer, Server, group, request};
use crate::support::fixture::{id, kernel};
use crate::support::on_both;

async fn patch_if(server: &Server, tag: &str, opts: &Value) -> Answer {
    let request = request(&server.key, "PATCH", &group("/scheduler-options"))
        .header("if-match", tag)
        .header("content-type", "application/json");
    server.send(request.body(Body::from(json!({"scheduler_opts": opts}).to_string())).unwrap()).await
}

on_both! {
    async fn an_unchanged_ranking_is_not_sent_again(db: TestDb) {
        let server = Server::with_usage(db).await;
        let alice = group(&format!("/fair-share-status?user_uuid={}", id("alice")));
        let paths = [group("/fair-share-status"), group("/fair-share-status?limit=2"), alice];
        for (path, weight) in paths.into_iter().zip(["2", "3", "4"]) {
            let tag = server.call("GET", &path, None).await.header("etag").to_owned();
            for seen in [tag.clone(), format!("W/{tag}"), format!("\"other\", {tag}"), "*".into()] {
                let answer = server.get_with(&path, "if-none-match", &seen).await;
                assert_eq!((answer.status.as_u16(), answer.bytes.len()), (304, 0), "{seen}");
                assert_eq!(answer.header("etag"), tag);
            }
            assert_eq!(server.get_with(&path, "if-none-match", "\"other\"").await.status, 200);
            let weights = json!({"items": [{"target_type": "user", "target_id": id("alice"), "weight": weight}]});
            server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
            let changed = server.get_with(&path, "if-none-match", &tag).await;
            assert_eq!(changed.status, 200);
            assert_ne!(changed.header("etag"), tag);
        }
    }

    async fn a_change_that_is_based_on_old_options_is_refused(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let first = server.call("GET", &path, None).await.header("etag").to_owned();
        assert_eq!(server.get_with(&path, "if-none-match", &first).await.status, 304);
        let second = patch_if(&server, &first, &json!({"half_life_days": 3})).await;
        second.json(200);
        let second = second.header("etag").to_owned();
        assert_ne!(second, first);
        patch_if(&server, &first, &json!({"half_life_days": 5})).await.refused(412, "stale_match");
        patch_if(&server, &format!("W/{second}"), &json!({"half_life_days": 5})).await.refused(412, "stale_match");
        assert_eq!(server.get(&path).await["scheduler_opts"]["half_life_days"], 3);
        // Kernels that come and go do not make options stale.
        let row = kernel("k", "alice", "vision", "2026-01-13T10:00:00Z");
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        server.tick().await;
        patch_if(&server, &second, &json!({"half_life_days": 5})).await.json(200);
        patch_if(&server, "*", &json!({"half_life_days": 6})).await.json(200);
        patch_if(&server, &format!("{first}, {second}"), &json!({})).await.refused(412, "stale_match");
        // Nothing that does not exist matches.
        let new = request(&server.key, "PUT", "/resource-groups/new").header("if-match", "*");
        let new = server.send(new.header("content-type", "application/json").body(Body::from("{}")).unwrap()).await;
        new.refused(412, "stale_match");
        server.call("GET", "/resource-groups/new", None).await.refused(404, "unknown_resource_group");
    }

    /// A client that sends a condition relies on it.
    async fn a_condition_that_is_not_checked_is_refused(db: TestDb) {
        let server = Server::with_usage(db).await;
        let weights = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3"}]}).to_string();
        let cases = [
            ("PUT", "/fair-share-weights", "If-Match"), ("PUT", "/fair-share-weights", "If-None-Match"),
            ("PUT", "/configuration", "If-Match"), ("PUT", "", "If-None-Match"), ("DELETE", "", "If-Match"),
            ("PATCH", "/scheduler-options", "If-Unmodified-Since"), ("POST", "/kernels", "If-Match"),
        ];
        for (method, path, name) in cases {
            let request = request(&server.key, method, &group(path)).header(name, "\"seen\"");
            let request = request.header("content-type", "application/json").body(Body::from(weights.clone()));
            let refused = server.send(request.unwrap()).await.refused(422, "unsupported_condition");
            assert_eq!(refused, [format!("/{name}")], "{method} {path}");
        }
        assert_eq!(server.get(&group("/fair-share-weights")).await["items"], json!([]));
        // An answer without a validator is new to everyone.
        assert_eq!(server.get_with(&group("/fair-share-weights"), "if-none-match", "\"seen\"").await.status, 200);
    }

    /// The proposal's scenario 5: the third step shows the new ranks.
    async fn ranks_change_at_once_after_a_weight_change(db: TestDb) {
        let server = Server::with_usage(db).await;
        let (alice, bob, carol) = (id("alice"), id("bob"), id("carol"));
        assert_eq!(server.ranking().await, [(carol, 1), (bob, 2), (alice, 3)]);
        let weights = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3.0"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        assert_eq!(server.ranking().await, [(bob, 1), (carol, 2), (alice, 3)]);
        let alice_now = server.get(&group(&format!("/fair-share-status?user_uuid={alice}"))).await;
        assert_eq!(alice_now["effective_weight"], "3");
        // The sequence follows the new ranks as well.
        let workload = |name: &str| json!({"workload_id": name, "user_uuid": id(name), "project_id":
            id(if name == "carol" { "audio" } else { "vision" })});
        let body = json!({"workloads": [workload("alice"), workload("bob"), workload("carol")]});
        let order = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let ids: Vec<_> = order["items"].as_array().unwrap().iter().map(|i| i["workload_id"].as_str().unwrap()).collect();
        assert_eq!(ids, ["bob", "carol", "alice"]);
        // And unsetting brings the old ranks back.
        let unset = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": null}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&unset)).await.json(200);
        assert_eq!(server.ranking().await, [(carol, 1), (bob, 2), (alice, 3)]);
    }
}
