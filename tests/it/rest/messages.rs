//! The messages of refusals: each sentence begins with its subject, and contains no words of a parser.

use axum::http::header;
use serde_json::{Value, json};

use super::support::{Server, group, request};
use crate::support::fixture::{id, with};
use crate::support::on_both;
use fairshared::service::Role;

/// Words of parsers and of internal types.
const FOREIGN: [&str; 22] = [
    "invalid type",
    "invalid value",
    "invalid length",
    "unknown variant",
    "unknown field",
    "missing field",
    "duplicate field",
    "expected ",
    "at line",
    "struct ",
    "enum ",
    "UUID parsing",
    "invalid digit",
    "Failed to parse",
    "occurred while",
    "premature end",
    "trailing",
    "EOF",
    "u32",
    "u64",
    "i64",
    "usize",
];

fn check(sentence: &str, about: &str) {
    for foreign in FOREIGN {
        assert!(!sentence.contains(foreign), "{about}: {sentence}");
    }
    let subjects = ["`", "the ", "there is no ", "a query ", "a filter ", "fields ", "filters ", "brackets "];
    assert!(subjects.iter().any(|subject| sentence.starts_with(subject)), "{about}: {sentence}");
}

fn check_all(sentences: &[String], about: &str) {
    for sentence in sentences {
        check(sentence, about);
    }
}

/// Every sentence of a problem, or of the refused rows of an ingest.
fn sentences(answer: &Value) -> Vec<String> {
    let mut found: Vec<String> = answer["detail"].as_str().map(str::to_owned).into_iter().collect();
    for fault in answer["errors"].as_array().into_iter().flatten() {
        let pointer = fault["pointer"].as_str();
        assert!(pointer.is_none_or(|pointer| pointer.is_empty() || pointer.starts_with('/')), "{fault}");
        found.extend(sentences(fault));
    }
    found
}

on_both! {
    async fn every_refusal_begins_with_its_subject(db: TestDb) {
        let server = Server::with_usage(db).await;
        let (weights, options, kernels, sequence) =
            (group("/fair-share-weights"), group("/scheduler-options"), group("/kernels"), group("/sequence"));
        let agent = group("/agents/a");
        let queue = group("/queues/a");
        let nobody = id("nobody");
        let bodies = [
            "", "{", "nul", "nil", "[1,", "{} {}", "7", "null", "true", "\"x\"", "[]", "[[]]", "[7]", "{}", "{\"a\": 1}", "{\"a\" 1}",
            r#"{"items": 7}"#, r#"{"items": [7]}"#, r#"{"items": [{}]}"#, r#"{"items": [], "items": []}"#,
            r#"{"items": [{"target_type": "team", "target_id": "x", "weight": "1"}]}"#,
            r#"{"items": [{"target_type": 7, "target_id": 7, "weight": "1"}]}"#,
            r#"{"items": [{"target_type": "domain", "target_id": "research", "weight": "heavy"}]}"#,
            r#"{"items": [{"target_type": "domain", "target_id": "research", "weight": -1}]}"#,
            r#"{"items": [{"target_type": "domain", "target_id": "research", "weight": {}}]}"#,
            r#"{"items": [{"target_type": "domain", "target_id": "nowhere", "weight": 1}]}"#,
            r#"{"items": [{"target_type": "user", "target_id": "x", "weight": 1}]}"#,
            r#"{"items": [{"target_type": "user", "target_id": "x", "weight": 1, "project_id": "y"}]}"#,
            r#"{"items": [{"target_type": "domain", "target_id": "a/b", "weight": 1}]}"#,
            r#"{"scheduler": "magic"}"#, r#"{"scheduler": 7}"#, r#"{"scheduler_opts": []}"#,
            r#"{"scheduler_opts": {"half_life_days": "x", "decay": 1, "order": [], "gap_policy": 0, "default_weight": {}}}"#,
            r#"{"scheduler_opts": {"resource_weights": {"cpu": "x"}}}"#, r#"{"scheduler_opts": {"resource_weights": {"c u": 1}}}"#,
            r#"{"scheduler_opts": {"resource_weights": []}}"#, r#"{"scheduler_opts": {"division": 7}}"#,
            r#"{"scheduler_opts": {"division": {"options": {"rounding": "up"}}}}"#,
            r#"{"scheduler_opts": {"division": {"options": {"tiers": "x"}}}}"#,
            r#"{"scheduler_opts": {"division": {"options": {"search_budget_ms": -1}}}}"#,
            r#"{"scheduler_opts": {"division": {"algorithm": 7}}}"#, r#"{"scheduler_opts": {"colour": null}}"#,
            r#"{"scheduler_opts": {"decay_unit_days": 300}}"#,
            r#"{"available_slots": 7}"#, r#"{"available_slots": {"cpu": "many"}}"#, r#"{"available_slots": {"cpu": 1, "cpu": 2}}"#,
            r#"{"available_slots": {}, "alive": "yes"}"#, r#"{"available_slots": {}, "labels": {"rack": 7}}"#,
            r#"{"available_slots": {}, "agent_id": "other"}"#,
            r#"{"quota": {"cpu": "much"}}"#, r#"{"priority": 1.5}"#, r#"{"mode": "odd"}"#, r#"{"created_at": "noon"}"#, r#"{"parent": "x"}"#,
            r#"{"weight": "1000001"}"#, r#"{"name": "other"}"#, r#"{"over_quota_weight": [1]}"#, r#"{"preempt_min_runtime": -1}"#,
            r#"{"workloads": [{"workload_id": "w"}]}"#, r#"{"workloads": [{"workload_id": "w", "user_uuid": "x", "project_id": "y"}]}"#,
            r#"{"algorithm": "best", "capacity": {}, "queues": []}"#, r#"{"algorithm": "drf", "capacity": {}, "queues": [{"name": ""}]}"#,
            r#"{"algorithm": "drf", "capacity": {}, "queues": [{"name": "a"}, {"name": "a"}]}"#,
            r#"{"algorithm": "drf", "capacity": {}, "queues": [{"name": "a", "parent": "a"}]}"#,
            r#"{"algorithm": "drf", "capacity": {}, "queues": [{"name": "a", "request": {"cpu": "x"}}]}"#,
            r#"{"role": "root", "label": "x"}"#, r#"{"role": "admin", "label": ""}"#, r#"{"role": "user", "label": "x"}"#,
            r#"{"role": "admin", "label": "x", "expires_at": "soon"}"#, r#"{"role": "admin", "label": "x", "expires_at": "2020-01-01T00:00:00Z"}"#,
            r#"{"resource_group": 7}"#, r#"{"resource_group": "nowhere"}"#,
        ];
        let targets = [
            ("PUT", &*weights), ("PATCH", &*options), ("PUT", "/resource-groups/gpu-cluster"), ("PUT", &*agent), ("PUT", &*queue),
            ("POST", &*sequence), ("POST", "/division/simulate"), ("POST", "/reclaim/simulate"), ("POST", "/cycle/simulate"), ("POST", "/keys"),
        ];
        let mut seen = 0;
        for (method, path) in targets {
            for body in bodies {
                let answer = server.raw(method, path, "application/json", body).await;
                if answer.status.is_client_error() {
                    let told = sentences(&serde_json::from_slice(&answer.bytes).unwrap());
                    assert!(!told.is_empty());
                    seen += told.len();
                    check_all(&told, &format!("{method} {path} {body}"));
                }
            }
        }
        assert!(seen > 500, "{seen}");
        // Rows of an ingest are refused one by one.
        let kernel = crate::support::fixture::kernel("k", "alice", "vision", "2026-01-13T00:00:00Z");
        for (key, value) in [
            ("kernel_id", json!("x")), ("kernel_id", json!(7)), ("occupied_slots", json!([])), ("occupied_slots", json!({"cpu": null})),
            ("priority", json!("high")), ("preemptible", json!("no")), ("started_at", json!("today")), ("started_at", json!(7)),
            ("gang_min", json!(-1)), ("colour", json!(1)), ("gang_min", json!(0)), ("status", json!(7)), ("status", json!("TERMINATED")),
            ("started_at", json!(null)), ("status", json!("PENDING")), ("terminated_at", json!("2026-01-12T00:00:00Z")),
            ("started_at", json!("1999-01-01T00:00:00Z")), ("domain_name", json!("a/b")), ("user_name", json!("")), ("user_uuid", json!(id("bob"))),
        ] {
            let row = crate::support::fixture::with(kernel.clone(), &json!({key: value}));
            let answer = server.call("POST", &kernels, Some(&json!([row]))).await.json(200);
            let told = sentences(&answer["errors"][0]);
            assert!(!told.is_empty() || row["user_uuid"] == json!(id("bob")), "{row}");
            check_all(&told, &row.to_string());
        }
        for path in [
            "/kernels?limit=0", "/kernels?limit=many", "/kernels?limit=1&limit=2", "/kernels?colour=red", "/kernels?cursor=x",
            "/kernels?status=odd", "/kernels?user_uuid=x", "/kernels/x", "/audit?x=1", "/usage-buckets/teams",
            "/usage-buckets/users?from=x", "/usage-buckets/users?from=2026-01-02&to=2026-01-01", "/fair-share-status?project_id=x",
            "/division?explain=maybe", "/division/history?limit=-1", "/queues/none", "/nothing",
        ] {
            let answer = server.call("GET", &group(path), None).await;
            assert!(answer.status.is_client_error(), "{path}");
            for sentence in sentences(&serde_json::from_slice(&answer.bytes).unwrap()) {
                check(&sentence, path);
            }
        }
        for (method, path) in [
            ("GET", format!("/resource-groups/gpu-cluster/fair-share-status?user_uuid={nobody}")), ("GET", "/job-runs?job=nope".into()),
            ("TRACE", group("")), ("DELETE", format!("/keys/{nobody}")), ("PUT", "/resource-groups/a%2Fb".into()),
            ("GET", "/resource-groups/nowhere".into()), ("GET", "/resource-groups/%ff".into()),
        ] {
            let answer = server.call(method, &path, (method == "PUT").then_some(&json!({}))).await;
            assert!(answer.status.is_client_error(), "{path}");
            for sentence in sentences(&serde_json::from_slice(&answer.bytes).unwrap()) {
                check(&sentence, &path);
            }
        }
        let unsigned = request("x", "GET", "/resource-groups").header(header::AUTHORIZATION, "Basic x");
        let answer = server.send(unsigned.body(axum::body::Body::empty()).unwrap()).await;
        check_all(&sentences(&answer.json(401)), "no key");
    }

    async fn graphql_speaks_no_parsers_words(db: TestDb) {
        let server = Server::with_usage(db).await;
        let update = |opts: &str| format!(
            r#"mutation {{ update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: {opts}) {{ name }} }}"#);
        for query in [
            "{", "", "nonsense", "{ resource_groups { name }",
            &update(r#""{""#), &update(r#""nul""#), &update(r#""[1]""#), &update(r#""{\"half_life_days\": \"x\"}""#),
            &update(r#""{\"division\": {\"options\": {\"rounding\": 1}}}""#),
            r#"mutation { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "research", weight: true) { weight } }"#,
            r#"mutation { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "research", weight: "x") { weight } }"#,
            r#"{ user_fair_share(resource_group: "gpu-cluster", user_uuid: "x", project_id: "y") { rank } }"#,
            r#"{ user_usage_buckets(resource_group: "gpu-cluster", filter: {period_start: {gte: "x"}}) { count } }"#,
            r#"mutation { upsert_queues(resource_group: "gpu-cluster", queues: [{name: "a", quota: "{\"cpu\": \"x\"}"}]) { warnings { code } } }"#,
            r#"{ user_fair_shares(resource_group: "gpu-cluster", first: 0) { count } }"#,
            r#"{ job_runs(job: "nope") { count } }"#,
        ] {
            let answer = server.graphql(query).await;
            let errors = answer["errors"].as_array().unwrap();
            assert!(!errors.is_empty(), "{query}");
            for error in errors {
                let mut told = vec![error["message"].as_str().unwrap().to_owned()];
                told.extend(error["extensions"]["errors"].as_array().into_iter().flatten().flat_map(sentences));
                check_all(&told, query);
            }
        }
        for body in ["", "{", "[]", "{\"query\": 7}", "{\"query\": \"{a}\", \"variables\": 7}"] {
            let answer = server.raw("POST", "/graphql", "application/json", body).await;
            assert_eq!(answer.status, 400, "{body}");
            check_all(&sentences(&serde_json::from_slice(&answer.bytes).unwrap()), body);
        }
    }
}

on_both! {
    async fn who_is_called_by_a_name_is_refused_by_that_name(db: TestDb) {
        let server = Server::with_usage(db).await;
        let faults = async |method: &str, path: &str, body: Value| {
            let answer = server.call(method, &group(path), Some(&body)).await.json(422);
            let fault = &answer["errors"][0];
            format!("{} {}", fault["pointer"].as_str().unwrap(), fault["detail"].as_str().unwrap())
        };
        let weight = |more: Value| json!({"items": [with(json!({"target_type": "user", "weight": "2"}), &more)]});
        assert_eq!(
            faults("PUT", "/fair-share-weights", weight(json!({"user": "ghost", "project_id": id("vision")}))).await,
            "/items/0/user there is no user \"ghost\""
        );
        let of_id = weight(json!({"target_id": id("ghost"), "project_id": id("vision")}));
        assert_eq!(
            faults("PUT", "/fair-share-weights", of_id).await,
            format!("/items/0/target_id there is no user {}", id("ghost"))
        );
        for (change, expected) in [
            (json!({"weights": [{"target_type": "project", "project": "nowhere", "weight": "2"}]}), "/weights/0/project there is no project \"nowhere\""),
            (json!({"remove_users": [{"user": "ghost"}]}), "/remove_users/0/user the user \"ghost\" is not in this resource group, or is removed already"),
            (json!({"projects": [{"project": "nowhere", "domain_name": "sales"}]}), "/projects/0/project this resource group has no project \"nowhere\""),
            (
                json!({"add_users": [{"user": "ghost", "project": "nowhere"}]}),
                "/add_users/0/project there is no project \"nowhere\"; a new one needs `domain_name`",
            ),
        ] {
            assert_eq!(faults("POST", "/fair-share-simulations", change).await, expected);
        }
        for path in ["/explain?user=ghost", "/fair-share-status?user=ghost"] {
            let answer = server.call("GET", &group(path), None).await.json(404);
            assert_eq!((&answer["code"], &answer["detail"]), (&json!("unknown_user"), &json!("there is no user \"ghost\"")), "{path}");
        }
        // A caller who sees all people hears of the nearest name.
        server.call("PUT", "/users/marie", Some(&json!({}))).await;
        for (path, status) in [("/explain?user=mraie", 404), ("/fair-share-status?user=mraie", 404), ("/kernels?user=mraie", 422)] {
            let answer = server.call("GET", &group(path), None).await.json(status);
            let detail = answer["errors"][0]["detail"].as_str().or(answer["detail"].as_str()).unwrap();
            assert_eq!(detail, "there is no user \"mraie\"; the nearest known name is \"marie\"", "{path}");
        }
        // A list for an unknown name is mostly a typing error; for a UUID it is empty.
        for path in [
            "/kernels?project=nowhere",
            "/kernels?user=ghost",
            "/usage-buckets/users?user=ghost",
            "/usage-records?from=2026-01-13&to=2026-01-13&user=ghost",
            "/usage-report?from=2026-01-13&to=2026-01-13&project=nowhere",
            "/fair-share-history?user=ghost",
        ] {
            let answer = server.call("GET", &group(path), None).await.json(422);
            let (code, detail) = (answer["errors"][0]["code"].as_str().unwrap(), answer["errors"][0]["detail"].as_str().unwrap());
            assert!(code.starts_with("unknown_") && detail.starts_with("there is no "), "{path}: {answer}");
        }
        assert_eq!(server.get(&group(&format!("/kernels?user_uuid={}", id("ghost")))).await["total"], 0);
        // A caller who sees only own rows does not learn which users exist.
        let alice = server.key_for(Role::User, Some("alice")).await;
        for user in ["bob", "ghost"] {
            let answer = server.call_as(&alice, "GET", &group(&format!("/kernels?user={user}")), None).await;
            assert_eq!(answer.status, 403, "{user}");
        }
        for path in ["/fairness/history?from=2999-01-01", "/fair-share-history?from=2999-01-01"] {
            let answer = server.call("GET", &group(path), None).await.json(422);
            assert_eq!((&answer["errors"][0]["pointer"], &answer["errors"][0]["code"]), (&json!("/from"), &json!("in_future")), "{path}");
        }
        for place in [-1, 0, 99] {
            let answer = server.call("GET", &group(&format!("/explain?user={}&place={place}", id("alice"))), None).await.json(422);
            assert_eq!(answer["errors"][0]["detail"], "`place` must be 1 to 3, the number of compared owners", "{place}");
            let query = format!(r#"{{ explain_fair_share(resource_group: "gpu-cluster", user: "{}", place: {place}) }}"#, id("alice"));
            let answer = server.graphql(&query).await;
            assert!(answer["errors"][0]["message"].as_str().unwrap().contains("must be 1 to 3"), "{answer}");
        }
    }
}
