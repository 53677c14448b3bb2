//! Refused requests, their errors, and that they change nothing.

use axum::body::Body;
use fairshared::rest::RequestLimits;
use serde_json::{Value, json};

use super::support::{Server, group, request};
use crate::support::fixture::id;
use crate::support::on_both;

/// All data that a refused request could have changed.
async fn everything(server: &Server) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in ["/scheduler-options", "/fair-share-weights", "/fair-share-status", "/agents", "/kernels"] {
        seen.push(server.get(&group(path)).await);
    }
    seen.push(server.get("/audit-log").await["total"].clone());
    seen.push(server.get("/resource-groups").await);
    seen
}

fn weight(weight: &str) -> String {
    format!(r#"{{"items":[{{"target_type":"domain","target_id":"research","weight":{weight}}}]}}"#)
}

on_both! {
    /// `PostgreSQL` cannot store the character NUL, and no name needs it.
    async fn nul_is_refused_wherever_it_stands(db: TestDb) {
        let server = Server::new(db).await;
        for (path, pointer) in [
            ("/resource-groups/%00/audit".to_owned(), "/rg"), ("/audit-log?action=a%00b".to_owned(), "/action"),
            ("/audit-log?resource_group=%00".to_owned(), "/resource_group"), (group("/kernels?domain_name=%00"), "/domain_name"),
        ] {
            let refused = server.call("GET", &path, None).await.refused(422, "invalid_character");
            assert_eq!(refused, [pointer], "{path}");
        }
        let body = json!({"scheduler_opts": {}, "reason": "a\u{0}b"});
        let refused = server.call("PATCH", &group("/scheduler-options"), Some(&body)).await;
        assert_eq!(refused.refused(422, "invalid_character"), ["/reason"]);
        let query = r#"{ audit_log(action: "a\u0000") { count } }"#;
        let as_variable = json!({"query": "query ($a: String) { audit_log(action: $a) { count } }", "variables": {"a": "\u{0}"}});
        let literal = server.call("POST", "/graphql", Some(&json!({"query": query}))).await.json(200);
        assert_eq!(literal["errors"][0]["extensions"]["code"], "invalid_character");
        let variable = server.call("POST", "/graphql", Some(&as_variable)).await;
        assert_eq!(variable.status, 400);
    }

    async fn weights(db: TestDb) {
        let server = Server::with_usage(db).await;
        let before = everything(&server).await;
        let path = group("/fair-share-weights");
        let put = async |body: String| server.raw("PUT", &path, "application/json", body).await;
        for wrong in ["0", "\"0\"", "\"0.0000\"", "-1", "\"-0.5\"", "\"NaN\"", "\"inf\"", "\"1.00001\"", "1.00001",
            "\"1000000\"", "\"999999.99991\"", "\"\"", "\"1e3\"", "\" 1\"", "\"0x1\"",
            "\"111111111111111111111111111111111111111111111111111111111111\""]
        {
            let pointers = put(weight(wrong)).await.refused(422, "invalid_weight");
            assert_eq!(pointers, ["/items/0/weight"], "{wrong}");
        }
        for wrong in ["true", "[]", "{}"] {
            assert_eq!(put(weight(wrong)).await.refused(422, "invalid_type"), ["/items/0/weight"], "{wrong}");
        }
        for malformed in ["NaN", "Infinity", "01", "1.", "'1'", "1e"] {
            put(weight(malformed)).await.refused(400, "malformed_json");
        }
        let target = |kind: &str, id: &str| {
            json!({"items": [{"target_type": kind, "target_id": id, "weight": "1"}]}).to_string()
        };
        let nobody = id("nobody").to_string();
        for (kind, id, code) in [("domain", "nowhere", "unknown_domain"), ("project", &nobody, "unknown_project"),
            ("user", &nobody, "unknown_user"), ("user", "alice", "invalid_uuid"), ("project", "1-2", "invalid_uuid"),
            ("domain", "a/b", "invalid_name")]
        {
            assert_eq!(put(target(kind, id)).await.refused(422, code), ["/items/0/target_id"], "{kind} {id}");
        }
        put(target("team", "x")).await.refused(422, "invalid_value");
        // A project beside a user has a place of its own.
        for (key, value) in [("project", "nowhere"), ("project_id", nobody.as_str())] {
            let item = json!({"target_type": "user", "user": "alice", key: value, "weight": "1"});
            let answer = put(json!({"items": [item]}).to_string()).await;
            assert_eq!(answer.refused(422, "unknown_project"), [format!("/items/0/{key}")], "{key}");
        }
        // All or nothing: one bad item among good ones.
        let mixed = json!({"items": [
            {"target_type": "domain", "target_id": "research", "weight": "3"},
            {"target_type": "domain", "target_id": "sales", "weight": "-3"},
            {"target_type": "project", "target_id": "x", "weight": "3"},
        ]});
        assert_eq!(put(mixed.to_string()).await.refused(422, "invalid"), ["/items/1/weight", "/items/2/target_id"]);
        let twice = json!({"items": [
            {"target_type": "domain", "target_id": "research", "weight": "3"},
            {"target_type": "domain", "target_id": "research", "weight": "4"},
        ]});
        assert_eq!(put(twice.to_string()).await.refused(422, "duplicate_target"), ["/items/1/target_id"]);
        // The place of a fault is the key that was given.
        let by_name = |name: &str| json!({"target_type": "domain", "domain_name": name, "weight": "3"});
        let twice = json!({"items": [by_name("research"), by_name("research")]}).to_string();
        assert_eq!(put(twice).await.refused(422, "duplicate_target"), ["/items/1/domain_name"]);
        let unknown = json!({"items": [by_name("nowhere")]}).to_string();
        assert_eq!(put(unknown).await.refused(422, "unknown_domain"), ["/items/0/domain_name"]);
        for (body, code, pointer) in [
            (r#"{"items":[{"target_type":"domain","target_id":"research"}]}"#, "missing_field", "/items/0/weight"),
            (r#"{"items":[{"target_type":"domain","target_id":"research","weight":"1","colour":1}]}"#, "unknown_field",
                "/items/0/colour"),
            (r#"{"itms":[]}"#, "unknown_field", "/itms"),
            (r#"{"items":[],"items":[]}"#, "duplicate_field", "/items"),
            ("{}", "missing_field", "/items"),
            ("[]", "invalid_type", ""),
            ("7", "invalid_type", ""),
        ] {
            assert_eq!(put(body.to_owned()).await.refused(422, code), [pointer], "{body}");
        }
        assert_eq!(everything(&server).await, before);
    }

    async fn an_option_is_given_once(db: TestDb) {
        let server = Server::with_usage(db).await;
        let before = everything(&server).await;
        let path = group("/scheduler-options");
        for (options, pointer) in [
            (r#"{"half_life_days": 7, "half_life_days": 8}"#, "/scheduler_opts/half_life_days"),
            (r#"{"resource_weights": {"cpu": 1, "mem": 2, "cpu": 3}}"#, "/scheduler_opts/resource_weights/cpu"),
        ] {
            let body = format!(r#"{{"scheduler_opts": {options}}}"#);
            let answer = server.raw("PATCH", &path, "application/json", body).await;
            assert_eq!(answer.refused(422, "duplicate_field"), [pointer], "{options}");
        }
        assert_eq!(everything(&server).await, before);
    }

    async fn an_array_is_no_object(db: TestDb) {
        let server = Server::with_usage(db).await;
        let before = everything(&server).await;
        for (method, path, body, pointer) in [
            ("PUT", group("/fair-share-weights"), json!([[]]), ""),
            ("PUT", group("/fair-share-weights"), json!([[{"target_type": "domain", "target_id": "research", "weight": "2"}], "why"]), ""),
            ("PUT", group("/fair-share-weights"), json!({"items": [["domain", "research", null, "2"]]}), "/items/0"),
            ("PUT", group("/agents/a"), json!([{"cpu": "1"}, true, true, {}, null]), ""),
            ("PATCH", group("/scheduler-options"), json!(["fifo", {}, null]), ""),
            ("POST", "/keys".to_owned(), json!(["admin", "label", null, null]), ""),
            ("POST", "/jobs/aggregate/run".to_owned(), json!(["gpu-cluster"]), ""),
            ("POST", group("/sequence"), json!([[]]), ""),
            ("POST", group("/sequence"), json!({"workloads": [["w", id("alice"), id("vision")]]}), "/workloads/0"),
        ] {
            let answer = server.call(method, &path, Some(&body)).await;
            assert_eq!(answer.refused(422, "invalid_type"), [pointer], "{method} {path} {body}");
        }
        let row = ["k", "k", "alice", "vision"].map(|name| json!(id(name))).to_vec();
        let answer = server.call("POST", &group("/kernels"), Some(&json!([row]))).await.json(200);
        assert_eq!(answer["errors"][0]["errors"][0]["code"], "invalid_type");
        // The ingest has an entry.
        let mut after = everything(&server).await;
        after[5] = before[5].clone();
        assert_eq!(after, before);
    }

    async fn options(db: TestDb) {
        let server = Server::with_usage(db).await;
        let before = everything(&server).await;
        let path = group("/scheduler-options");
        let patch = async |opts: Value| server.call("PATCH", &path, Some(&json!({"scheduler_opts": opts}))).await;
        for (opts, code, key) in [
            (json!({"half_life_days": 0}), "out_of_range", "half_life_days"),
            (json!({"half_life_days": -1}), "out_of_range", "half_life_days"),
            (json!({"half_life_days": 1.5}), "out_of_range", "half_life_days"),
            (json!({"half_life_days": "7"}), "out_of_range", "half_life_days"),
            (json!({"half_life_days": 1e30}), "out_of_range", "half_life_days"),
            (json!({"lookback_days": 0}), "out_of_range", "lookback_days"),
            (json!({"slice_interval_seconds": 0}), "out_of_range", "slice_interval_seconds"),
            (json!({"max_gap_hours": -1}), "out_of_range", "max_gap_hours"),
            (json!({"decay_unit_days": 29}), "out_of_range", "decay_unit_days"),
            (json!({"default_weight": "0"}), "invalid_weight", "default_weight"),
            (json!({"gap_policy": "forget"}), "invalid_value", "gap_policy"),
            (json!({"decay": "linear"}), "invalid_value", "decay"),
            (json!({"resource_weights": {"cpu": "-1"}}), "invalid_value", "resource_weights/cpu"),
            (json!({"resource_weights": {"c pu": "1"}}), "invalid_value", "resource_weights"),
            (json!({"division": {"options": {"luck": null}}}), "unknown_option", "division/options/luck"),
            (json!({"division": {"options": {"rounding": "up"}}}), "invalid_value", "division/options/rounding"),
            (json!({"quarter_life_days": 7}), "unknown_option", "quarter_life_days"),
            (json!({"quarter_life_days": null}), "unknown_option", "quarter_life_days"),
            (json!({"a/b~c": 1}), "unknown_option", "a~1b~0c"),
        ] {
            let pointers = patch(opts.clone()).await.refused(422, code);
            assert_eq!(pointers, [format!("/scheduler_opts/{key}")], "{opts}");
        }
        // One good key beside a bad one is not kept.
        patch(json!({"half_life_days": 3, "lookback_days": 0})).await.refused(422, "out_of_range");
        let scheduler = server.call("PATCH", &path, Some(&json!({"scheduler": "random"}))).await;
        assert_eq!(scheduler.refused(422, "unknown_scheduler"), ["/scheduler"]);
        assert_eq!(everything(&server).await, before);
    }

    async fn unknown_things_in_the_path(db: TestDb) {
        let server = Server::with_usage(db).await;
        for (method, path, body) in [
            ("GET", "/resource-groups/none", None), ("DELETE", "/resource-groups/none", None),
            ("GET", "/resource-groups/none/scheduler-options", None),
            ("PATCH", "/resource-groups/none/scheduler-options", Some(json!({}))),
            ("GET", "/resource-groups/none/fair-share-weights", None),
            ("PUT", "/resource-groups/none/fair-share-weights", Some(json!({"items": []}))),
            ("GET", "/resource-groups/none/fair-share-status", None),
            ("GET", "/resource-groups/none/explain?user=alice", None),
            ("GET", "/resource-groups/none/agents", None),
            ("PUT", "/resource-groups/none/agents/a", Some(json!({"available_slots": {}}))),
            ("POST", "/resource-groups/none/kernels", Some(json!([]))),
            ("GET", "/resource-groups/none/kernels", None),
            ("POST", "/resource-groups/none/sequence", Some(json!({"workloads": []}))),
            ("GET", "/resource-groups/none/usage-buckets/users", None),
            ("GET", "/resource-groups/none/usage-gaps", None),
            ("GET", "/resource-groups/none/audit", None),
            ("POST", "/jobs/aggregate/run", Some(json!({"resource_group": "none"}))),
        ] {
            server.call(method, path, body.as_ref()).await.refused(404, "unknown_resource_group");
        }
        let nobody = id("nobody");
        for (method, path, code) in [
            ("GET", group(&format!("/kernels/{nobody}")), "unknown_kernel"),
            ("GET", group(&format!("/fair-share-status?user_uuid={nobody}")), "unknown_user"),
            ("GET", group(&format!("/fair-share-status?user_uuid={}&project_id={nobody}", id("alice"))), "unknown_project"),
            ("DELETE", group("/agents/none"), "unknown_agent"),
            ("POST", "/jobs/nothing/run".into(), "unknown_job"),
            ("GET", "/job-runs?job=nope".into(), "unknown_job"),
            ("GET", "/nothing".into(), "unknown_path"),
            ("GET", group("/nothing"), "unknown_path"),
        ] {
            server.call(method, &path, None).await.refused(404, code);
        }
        for path in ["/keys/7", "/resource-groups/gpu-cluster/kernels/abc"] {
            let method = if path.starts_with("/keys") { "DELETE" } else { "GET" };
            assert_eq!(server.call(method, path, None).await.refused(422, "invalid_uuid").len(), 1);
        }
        server.call("GET", &group("/usage-buckets/teams"), None).await.refused(422, "invalid_value");
        server.call("GET", "/resource-groups/%ff%fe", None).await.refused(400, "invalid_utf8");
        server.call("PUT", "/resource-groups/%20x", Some(&json!({}))).await.refused(422, "invalid_name");
        server.call("PUT", "/resource-groups/a%2Fb", Some(&json!({}))).await.refused(422, "invalid_name");
    }

    async fn queries(db: TestDb) {
        let server = Server::with_usage(db).await;
        for (path, code, pointer) in [
            ("/kernels?limit=0", "invalid_page_size", "/limit"),
            ("/kernels?limit=-1", "invalid_page_size", "/limit"),
            ("/kernels?limit=1000000000", "invalid_page_size", "/limit"),
            ("/fair-share-status?limit=0", "invalid_page_size", "/limit"),
            ("/fair-share-status?limit=1000000000", "invalid_page_size", "/limit"),
            ("/kernels?limit=many", "invalid_value", "/limit"),
            ("/kernels?limit=99999999999999999999", "invalid_value", "/limit"),
            ("/kernels?limit=", "invalid_value", "/limit"),
            ("/kernels?limit=1&limit=2", "duplicate_field", "/limit"),
            ("/kernels?colour=red", "unknown_field", "/colour"),
            ("/fair-share-weights?limit=1", "unknown_field", "/limit"),
            ("/scheduler-options?colour=red", "unknown_field", "/colour"),
            ("?colour=red", "unknown_field", "/colour"),
            ("/audit?colour=red", "unknown_field", "/colour"),
            ("/kernels/zz", "invalid_uuid", "/kernel_id"),
            ("/kernels?user_uuid=alice", "invalid_uuid", "/user_uuid"),
            ("/kernels?status=SLEEPING", "unknown_status", "/status"),
            ("/kernels?cursor=%21", "invalid_cursor", "/cursor"),
            ("/kernels?cursor=", "invalid_cursor", "/cursor"),
            ("/fair-share-status?user_uuid=1234", "invalid_uuid", "/user_uuid"),
            ("/usage-buckets/users?from=yesterday", "invalid_value", "/from"),
            ("/usage-buckets/users?from=2026-02-30", "invalid_value", "/from"),
            ("/usage-buckets/users?to=2026-1-1", "invalid_value", "/to"),
            ("/usage-buckets/users?from=2026-01-02&to=2026-01-01", "contradiction", "/to"),
        ] {
            assert_eq!(server.call("GET", &group(path), None).await.refused(422, code), [pointer], "{path}");
        }
        // Parameters of the body are not read elsewhere.
        let runs = async || server.get("/job-runs").await["total"].clone();
        let before = runs().await;
        let everywhere = server.call("POST", "/jobs/aggregate/run?resource_group=nope", None).await;
        assert_eq!(everywhere.refused(422, "unknown_field"), ["/resource_group"]);
        assert_eq!(runs().await, before);
        let (user, project) = (id("alice"), id("vision"));
        for (path, pointer) in [
            (format!("/usage-buckets/domains?user_uuid={user}"), "/user_uuid"),
            (format!("/usage-buckets/projects?user_uuid={user}"), "/user_uuid"),
            (format!("/usage-buckets/domains?project_id={project}"), "/project_id"),
            (format!("/fair-share-status?project_id={project}"), "/project_id"),
            (format!("/fair-share-status?user_uuid={user}&limit=5"), "/user_uuid"),
        ] {
            assert_eq!(server.call("GET", &group(&path), None).await.refused(422, "contradiction"), [pointer], "{path}");
        }
        server.call("GET", &group("/kernels?domain_name=%ff"), None).await.refused(400, "invalid_utf8");
    }

    async fn bodies_that_cannot_be_read(db: TestDb) {
        let limits = RequestLimits { body_bytes: 4096, bulk_bytes: 64 * 1024, ..RequestLimits::default() };
        let server = Server::with_limits(db, limits).await;
        let before = everything(&server).await;
        let deep = "[".repeat(10_000);
        let deep_value = format!("{{\"scheduler_opts\":{{\"decay\":{}", "[".repeat(3_000));
        let closed = format!("{}{}", "[".repeat(1_500), "]".repeat(1_500));
        let targets = [
            ("PATCH", group("/scheduler-options")), ("PUT", group("/fair-share-weights")), ("PUT", group("/agents/a")),
            ("PUT", "/resource-groups/new".into()), ("POST", "/keys".into()), ("POST", "/jobs/aggregate/run".into()),
            ("POST", group("/kernels")), ("POST", group("/sequence")),
        ];
        for (method, path) in &targets {
            let send = async |body: &[u8]| server.raw(method, path, "application/json", body.to_vec()).await;
            for malformed in ["{", "{\"items\":", "[1,", "{\"a\" 1}", "nul", "{} {}", "{}x", "\u{feff}{"] {
                send(malformed.as_bytes()).await.refused(400, "malformed_json");
            }
            // A run needs no body, and a sequence without one is that of the reported workloads.
            if !path.ends_with("/run") && !path.ends_with("/sequence") {
                send(b"").await.refused(400, "malformed_json");
            }
            send(b"{\"reason\":\"\xff\"}").await.refused(400, "invalid_utf8");
            send(closed.as_bytes()).await.refused(400, "too_deep");
            send(deep_value.as_bytes()).await.refused(400, "too_deep");
            let large = " ".repeat(if path.starts_with("/resource-groups/gpu") { 65 * 1024 } else { 5000 });
            send(large.as_bytes()).await.refused(413, "too_large");
            let wrong_kind = server.raw(method, path, "text/plain", "{}").await;
            wrong_kind.refused(415, "unsupported_media_type");
        }
        let too_deep = server.raw("POST", &group("/sequence"), "application/json", deep).await;
        too_deep.refused(400, "too_deep");
        assert_eq!(everything(&server).await, before);
    }

    async fn methods_that_a_path_does_not_take(db: TestDb) {
        let server = Server::new(db).await;
        for (method, path, allowed) in [
            ("DELETE", group("/scheduler-options"), "PATCH"), ("POST", group("/fair-share-status"), "GET"),
            ("PUT", "/healthz".into(), "GET"), ("GET", group("/sequence"), "POST"),
            ("TRACE", group(""), "GET"), ("TRACE", group("/kernels"), "POST"), ("TRACE", "/healthz".into(), "GET"),
        ] {
            let answer = server.call(method, &path, None).await;
            answer.refused(405, "method_not_allowed");
            assert!(answer.header("allow").contains(allowed), "{method} {path}");
        }
        let unsigned = axum::http::Request::builder().method("TRACE").uri(group("")).body(Body::empty()).unwrap();
        server.send(unsigned).await.refused(405, "method_not_allowed");
    }

    async fn request_ids(db: TestDb) {
        let server = Server::new(db).await;
        let sent = |id: &str| {
            let request = request(&server.key, "GET", "/resource-groups/none").header("x-request-id", id);
            server.send(request.body(Body::empty()).unwrap())
        };
        let answer = sent("ticket-4711").await;
        assert_eq!(answer.json(404)["request_id"], "ticket-4711");
        assert_eq!(answer.header("x-request-id"), "ticket-4711");
        for unfit in ["", "two words", &"x".repeat(129)] {
            let answer = sent(unfit).await;
            assert_ne!(answer.header("x-request-id"), unfit);
            answer.refused(404, "unknown_resource_group");
        }
        assert_eq!(sent(&"x".repeat(128)).await.header("x-request-id").len(), 128);
    }
}
