//! Requests that look like a mistake are executed, and their answers warn of it.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

/// Code, pointer, and number of places of each warning.
fn found(answer: &Value) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    warnings.map(|w| (text(&w["code"]), text(&w["pointer"]), w["count"].as_u64().unwrap_or(1))).collect()
}

fn expected(warnings: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    warnings.iter().map(|(code, pointer, count)| ((*code).to_owned(), (*pointer).to_owned(), *count)).collect()
}

fn detail(answer: &Value, at: usize) -> &str {
    answer["warnings"][at]["detail"].as_str().unwrap()
}

fn job(id: &str, user: &str, project: &str) -> Value {
    json!({"workload_id": id, "user": user, "project": project})
}

/// A server whose users and projects have names: alice and bob in climate, carol in ocean; the agents have cpu and cuda.device.
async fn named(db: crate::support::database::TestDb) -> Server {
    let server = Server::new(db).await;
    server.agent("node-01", &json!({"cpu": "100", "cuda.device": "4"})).await;
    let report = |name: &str, user: &str, project: &str| {
        let mut row = kernel(name, "x", "x", "2026-01-13T11:00:00Z");
        let keys = row.as_object_mut().unwrap();
        keys.remove("user_uuid");
        keys.remove("project_id");
        with(row, &json!({"user": user, "project": project, "occupied_slots": {"cpu": "1"}}))
    };
    let rows = [report("k1", "alice", "climate"), report("k2", "bob", "climate"), report("k3", "carol", "ocean")];
    let answer = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
    assert_eq!((&answer["accepted"], answer.get("warnings")), (&json!(3), None), "{answer}");
    server.tick().await;
    server
}

on_both! {
    async fn unknown_owners_of_a_sequence_are_named_with_the_nearest_name(db: TestDb) {
        let server = named(db).await;
        let ask = async |body: Value| server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let known = ask(json!({"workloads": [job("a", "alice", "climate"), job("b", "bob", "climate")]})).await;
        assert!(known.get("warnings").is_none(), "{known}");
        // Users of the server who are new in a project are no mistake.
        let moved = ask(json!({"workloads": [job("a", "alice", "ocean")]})).await;
        assert!(moved.get("warnings").is_none(), "{moved}");

        let jobs = [job("a", "alice", "climate"), job("b", "alcie", "climate"), job("c", "zoe", "climate"), job("d", "alcie", "ocaen")];
        let answer = ask(json!({"workloads": jobs})).await;
        assert_eq!(found(&answer), expected(&[
            ("unknown_user", "/workloads/1/user", 2), ("unknown_user", "/workloads/2/user", 1), ("unknown_project", "/workloads/3/project", 1),
        ]));
        assert!(detail(&answer, 0).contains("\"alcie\"") && detail(&answer, 0).ends_with("knows is \"alice\""), "{answer}");
        assert!(detail(&answer, 1).contains("\"zoe\"") && !detail(&answer, 1).contains("nearest"), "{answer}");
        assert!(detail(&answer, 2).ends_with("knows is \"ocean\""), "{answer}");
        // The order is what it was: an owner who has used nothing comes first.
        assert_eq!((&answer["items"][0]["workload_id"], &answer["items"][0]["rank"]), (&json!("b"), &Value::Null));

        let by_id = json!({"workload_id": "e", "user_uuid": id("nobody"), "project": "climate"});
        assert_eq!(found(&ask(json!({"workloads": [by_id]})).await), expected(&[("unknown_user", "/workloads/0/user_uuid", 1)]));
        let placed = json!([{"kernel_id": id("started"), "user": "bbo", "project": "climate"}]);
        let answer = ask(json!({"workloads": [], "placed": placed, "mode": "progressive"})).await;
        assert_eq!(found(&answer), expected(&[("unknown_user", "/placed/0/user", 1)]));
        assert!(detail(&answer, 0).ends_with("knows is \"bob\""), "{answer}");

        let query = r#"{ sequence(resource_group: "gpu-cluster", input: "{\"workloads\": [{\"workload_id\": \"a\", \"user\": \"Alcie\", \"project\": \"climate\"}]}") {
            warnings { code pointer detail count } } }"#;
        let answer = server.graphql(query).await["data"]["sequence"].clone();
        assert_eq!(found(&answer), expected(&[("unknown_user", "/workloads/0/user", 1)]));
        assert!(detail(&answer, 0).ends_with("knows is \"alice\""), "{answer}");
    }

    async fn warnings_of_a_long_sequence_are_bounded(db: TestDb) {
        let server = named(db).await;
        let jobs: Vec<Value> = (0..250).map(|at| job(&format!("j{at}"), &format!("stranger-{at}"), "climate")).collect();
        let answer = server.call("POST", &group("/sequence"), Some(&json!({"workloads": jobs}))).await.json(200);
        let found = found(&answer);
        assert_eq!(found.len(), 101);
        assert_eq!(found[100], ("more_warnings".to_owned(), String::new(), 150));
        assert_eq!(answer["items"].as_array().unwrap().len(), 250);
    }

    async fn a_limited_key_learns_no_names_of_other_groups(db: TestDb) {
        let server = named(db).await;
        server.call("PUT", "/resource-groups/other", Some(&json!({}))).await.json(201);
        let body = json!({"role": "scheduler", "label": "other only", "resource_groups": ["other"]});
        let key = server.call("POST", "/keys", Some(&body)).await.json(201)["key"].as_str().unwrap().to_owned();
        let asked = json!({"workloads": [job("a", "alcie", "climate")]});
        let answer = server.call_as(&key, "POST", "/resource-groups/other/sequence", Some(&asked)).await.json(200);
        // A project that only another group has is unknown to it, too.
        let unknown = [("unknown_user", "/workloads/0/user", 1), ("unknown_project", "/workloads/0/project", 1)];
        assert_eq!(found(&answer), expected(&unknown));
        assert!(!answer.to_string().contains("alice"), "{answer}");
    }

    async fn slots_that_no_agent_has_are_named(db: TestDb) {
        let server = named(db).await;
        let asking = |slots: Value| with(job("a", "alice", "climate"), &json!({"requested_slots": slots}));
        let body = json!({"workloads": [asking(json!({"cpu": "1"})), asking(json!({"cpu": "1", "gpu": "1"})), asking(json!({"gpu": "2"}))]});
        let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        assert_eq!(found(&answer), expected(&[("slot_not_offered", "/workloads/1/requested_slots/gpu", 2)]));
        assert!(detail(&answer, 0).ends_with("agents have `cpu`, `cuda.device`"), "{answer}");

        let report = |name: &str, slots: Value| with(kernel(name, "alice", "climate", "2026-01-13T11:30:00Z"), &json!({"occupied_slots": slots}));
        let rows = json!([report("g1", json!({"cpu": "1"})), report("g2", json!({"gpu": "1"})), report("g3", json!({"gpu": 1, "cpu": 1}))]);
        let rejected = with(report("g4", json!({"gpu": 1})), &json!({"priority": "no number"}));
        let rows = json!([rows[0], rejected, rows[1], rows[2]]);
        for query in ["?dry_run=true", ""] {
            let answer = server.call("POST", &group(&format!("/kernels{query}")), Some(&rows)).await.json(200);
            let warning = &answer["warnings"][0];
            assert_eq!(answer["warnings"].as_array().unwrap().len(), 1, "{answer}");
            assert_eq!((&warning["code"], &warning["index"], &warning["kernels"]), (&json!("slot_not_offered"), &json!(2), &json!(2)), "{answer}");
            assert_eq!(warning["pointer"], "/occupied_slots/gpu");
        }
        let lines = format!("{}\n{}\n", report("g5", json!({"cpu": 1})), report("g6", json!({"gpu": 1})));
        let path = group("/kernels/snapshot?taken_at=2026-01-13T12:00:00Z&force=true");
        let answer = server.raw("POST", &path, "application/x-ndjson", lines).await.json(200);
        assert_eq!((&answer["warnings"][0]["code"], &answer["warnings"][0]["line"]), (&json!("slot_not_offered"), &json!(2)), "{answer}");

        // Agents that are out of service know the slot all the same.
        server.call("PUT", &group("/agents/old"), Some(&json!({"available_slots": {"gpu": 2}, "alive": false}))).await.json(201);
        let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        assert!(answer.get("warnings").is_none(), "{answer}");
    }

    async fn groups_without_agents_say_nothing_of_slots(db: TestDb) {
        let server = Server::new(db).await;
        let answer = server.call("POST", &group("/kernels"), Some(&kernel("k", "alice", "climate", "2026-01-13T11:00:00Z"))).await.json(200);
        assert!(answer.get("warnings").is_none(), "{answer}");
    }

    async fn queues_with_slots_that_no_agent_has(db: TestDb) {
        let server = named(db).await;
        let queue = |name: &str, slots: Value| json!({"name": name, "quota": slots});
        let body = json!({"queues": [queue("a", json!({"cpu": 1})), queue("b", json!({"gpu": 2})), queue("c", json!({"gpu": 2}))]});
        let answer = server.call("PUT", &group("/queues"), Some(&body)).await.json(200);
        let doubtful = |answer: &Value| {
            answer["warnings"].as_array().unwrap().iter().find(|w| w["code"] == "slot_not_offered").cloned().unwrap()
        };
        assert_eq!((&doubtful(&answer)["queue"], &doubtful(&answer)["slot"]), (&json!("b"), &json!("gpu")), "{answer}");
        let one = server.call("PUT", &group("/queues/d"), Some(&queue("d", json!({"gpu": 2})))).await;
        assert_eq!(doubtful(&serde_json::from_slice(&one.bytes).unwrap())["queue"], "d");
        // A configuration says it in the shape of all other warnings.
        let answer = server.call("PUT", &group("/configuration"), Some(&json!({"queues": [queue("e", json!({"gpu": 1}))]}))).await.json(200);
        assert_eq!(doubtful(&answer)["pointer"], "/queues/0", "{answer}");
    }

    async fn a_half_life_beyond_the_lookback(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let answer = server.call("PATCH", &path, Some(&json!({"scheduler_opts": {"half_life_days": 29}}))).await.json(200);
        assert_eq!(found(&answer), expected(&[("half_life_exceeds_lookback", "/scheduler_opts/half_life_days", 1)]));
        assert_eq!(found(&server.get(&path).await), found(&answer));
        let answer = server.call("PATCH", &path, Some(&json!({"scheduler_opts": {"half_life_days": 28}}))).await.json(200);
        assert_eq!(answer["warnings"], json!([]));
    }

    async fn the_doctor_names_ranges_archived_owners_and_shortened_look_backs(db: TestDb) {
        let server = Server::new(db).await;
        let check = async |name: &str| {
            let rows = server.get("/doctor").await;
            rows["items"].as_array().unwrap().iter().find(|row| row["check"] == name).unwrap().clone()
        };
        server.agent("node-01", &json!({"cpu": "100"})).await;
        let old = with(kernel("old", "alice", "climate", "2026-01-01T00:00:00Z"), &json!({
            "status": "TERMINATED", "terminated_at": "2026-01-01T06:00:00Z",
        }));
        let runs = with(kernel("now", "bob", "climate", "2026-01-13T01:00:00Z"), &json!({"user_name": "bob"}));
        server.ingest(&[old, runs]).await;
        server.tick().await;
        for name in ["agents", "archived", "purge"] {
            assert_eq!(check(name).await["status"], "ok", "{name}");
        }
        server.agent("node[02-03]", &json!({"cpu": "10"})).await;
        server.call("PUT", &format!("/users/{}", id("bob")), Some(&json!({"archived": true}))).await.json(200);
        let patch = async |days: u32| {
            let body = json!({"scheduler_opts": {"lookback_days": days}});
            server.call("PATCH", &group("/scheduler-options"), Some(&body)).await.json(200)
        };
        patch(7).await;
        for (name, said, remedy) in [
            ("agents", "\"node[02-03]\" in gpu-cluster", "fairshared agents remove"),
            ("archived", "the user bob", "fairshared users archive NAME --undo"),
            ("purge", "gpu-cluster (from 28 to 7 days, 1 records from before 2026-01-05)", "fairshared options set"),
        ] {
            let row = check(name).await;
            assert_eq!(row["status"], "warning", "{row}");
            assert!(row["detail"].as_str().unwrap().contains(said), "{row}");
            assert!(row["remedy"].as_str().unwrap().contains(remedy), "{row}");
        }
        patch(28).await;
        assert_eq!(check("purge").await["status"], "ok");
        patch(7).await;
        server.service.purge(GROUP, 1_100).await.unwrap();
        assert_eq!(check("purge").await["status"], "ok");
    }

    async fn a_shortened_lookback_that_the_next_purge_makes_final(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node-01", &json!({"cpu": "100"})).await;
        let old = with(kernel("old", "alice", "climate", "2026-01-01T00:00:00Z"), &json!({
            "status": "TERMINATED", "terminated_at": "2026-01-01T06:00:00Z",
        }));
        server.ingest(&[old]).await;
        server.tick().await;
        let path = group("/scheduler-options");
        let patch = async |days: u32| server.call("PATCH", &path, Some(&json!({"scheduler_opts": {"lookback_days": days}}))).await.json(200);
        // The usage of 1 January stays in reach.
        assert_eq!(found(&patch(20).await), []);
        let answer = patch(7).await;
        assert_eq!(found(&answer), expected(&[("lookback_shortened", "/scheduler_opts/lookback_days", 1)]));
        assert!(detail(&answer, 0).contains("from 20 to 7 days") && detail(&answer, 0).contains("2026-01-05"), "{answer}");
        // It is about the write, not about the options.
        assert_eq!(server.get(&path).await["warnings"], json!([]));
        let mutation = |days: u32| format!(
            r#"mutation {{ update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{{\"lookback_days\": {days}}}") {{ warnings {{ code pointer }} }} }}"#
        );
        server.graphql(&mutation(28)).await;
        let answer = server.graphql(&mutation(7)).await["data"]["update_scheduler_options"].clone();
        assert_eq!(found(&answer), expected(&[("lookback_shortened", "/scheduler_opts/lookback_days", 1)]));
        // An undo that shortens the look-back, and a simulation of it, say the same.
        server.graphql(&mutation(28)).await;
        let entry = server.get("/audit-log?limit=1").await["items"][0]["id"].clone();
        let undone = server.call("POST", &format!("/audit-log/{entry}/undo"), None).await.json(200);
        assert_eq!(found(&undone), expected(&[("lookback_shortened", "/scheduler_opts/lookback_days", 1)]));
        server.graphql(&mutation(28)).await;
        let simulated = json!({"scheduler_opts": {"lookback_days": 7}});
        let answer = server.call("POST", &group("/fair-share-simulations"), Some(&simulated)).await.json(200);
        assert_eq!(found(&answer), expected(&[("lookback_shortened", "/scheduler_opts/lookback_days", 1)]));
        let entry = server.get("/audit-log?limit=1").await["items"][0]["id"].clone();
        let undone = server.graphql(&format!(r#"mutation {{ back: undo_change(id: "{entry}") {{ action }} }}"#)).await;
        assert_eq!(undone["data"]["back"]["action"], json!("audit_log.undo"), "{undone}");
        let warned = &undone["extensions"];
        assert_eq!(found(warned), expected(&[("lookback_shortened", "/scheduler_opts/lookback_days", 1)]), "{undone}");
        assert_eq!(warned["warnings"][0]["path"], json!(["back"]));
        // Where another group looks as far back, nothing is lost.
        server.graphql(&mutation(28)).await;
        server.call("PUT", "/resource-groups/other", Some(&json!({}))).await.json(201);
        assert_eq!(found(&patch(7).await), []);
    }

    async fn a_weight_without_a_project_that_replaces_several(db: TestDb) {
        let server = named(db).await;
        let path = group("/fair-share-weights");
        let put = async |items: Value| server.call("PUT", &path, Some(&json!({"items": items}))).await.json(200);
        let weigh = |user: &str, project: Option<&str>, weight: &str| {
            json!({"target_type": "user", "user": user, "project": project, "weight": weight})
        };
        let both = with(kernel("k9", "x", "x", "2026-01-13T11:00:00Z"), &json!({"user": "alice", "project": "ocean"}));
        let mut both = both;
        both.as_object_mut().unwrap().retain(|key, _| key != "user_uuid" && key != "project_id");
        server.call("POST", &group("/kernels"), Some(&both)).await.json(200);
        // Neither was set before.
        assert_eq!(found(&put(json!([weigh("alice", None, "2")])).await), []);
        put(json!([weigh("alice", Some("ocean"), "5")])).await;
        let answer = put(json!([weigh("bob", None, "1"), weigh("alice", None, "3")])).await;
        assert_eq!(found(&answer), expected(&[("weight_in_several_projects", "/items/1", 1)]));
        let said = detail(&answer, 0);
        assert!(said.contains("alice") && said.contains("2 in climate") && said.contains("5 in ocean"), "{said}");
        assert_eq!(found(&put(json!([weigh("alice", None, "3")])).await), []);

        let document = json!({"users": [{"user": "alice", "weight": "4"}]});
        let answer = server.call("PUT", &group("/configuration?dry_run=true"), Some(&document)).await.json(200);
        assert_eq!(found(&answer), expected(&[("weight_in_several_projects", "/users/0", 1)]));
        let alice = server.get("/users/alice").await["user_uuid"].as_str().unwrap().to_owned();
        let mutation = format!(
            r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [{{target_type: USER, target_id: "{alice}", weight: "9"}}]) {{
                upserted_count warnings {{ code pointer count }} }} }}"#
        );
        let answer = server.graphql(&mutation).await["data"]["upsert_fair_share_weights"].clone();
        assert_eq!(found(&answer), expected(&[("weight_in_several_projects", "/items/0", 1)]));

        let simulated = json!({"weights": [weigh("bob", None, "1"), weigh("alice", None, "3")]});
        let answer = server.call("POST", &group("/fair-share-simulations"), Some(&simulated)).await.json(200);
        assert_eq!(found(&answer), expected(&[("weight_in_several_projects", "/weights/1", 1)]));
        let reset = format!(r#"mutation {{ reset_fair_share_weight(resource_group: "gpu-cluster", target_type: USER, target_id: "{alice}") }}"#);
        let answer = server.graphql(&reset).await;
        assert_eq!(answer["data"], json!({"reset_fair_share_weight": true}));
        assert_eq!(found(&answer["extensions"]), expected(&[("weight_in_several_projects", "/target_id", 1)]), "{answer}");
        assert_eq!(answer["extensions"]["warnings"][0]["path"], json!(["reset_fair_share_weight"]));
        // A second reset replaces nothing, so that its answer has no extensions.
        assert_eq!(server.graphql(&reset).await, json!({"data": {"reset_fair_share_weight": true}}));
    }

    async fn archiving_where_kernels_run(db: TestDb) {
        let server = named(db).await;
        let archive = async |path: &str, archived: bool| server.call("PUT", path, Some(&json!({"archived": archived}))).await.json(200);
        let at_work = expected(&[("archived_at_work", "/archived", 1)]);
        for path in ["/users/alice", "/projects/climate", "/domains/research"] {
            let answer = archive(path, true).await;
            assert_eq!(found(&answer), at_work, "{path}");
            assert!(detail(&answer, 0).contains("gpu-cluster"), "{answer}");
            assert_eq!(found(&archive(path, false).await), [], "{path}");
        }
        let alice = server.get("/users/alice").await["user_uuid"].as_str().unwrap().to_owned();
        let query = format!(r#"mutation {{ upsert_user(user_uuid: "{alice}", archived: true) {{ archived warnings {{ code pointer }} }} }}"#);
        assert_eq!(found(&server.graphql(&query).await["data"]["upsert_user"]), at_work);
        archive("/users/alice", false).await;
        let ended = with(kernel("k1", "x", "x", "2026-01-13T11:00:00Z"), &json!({
            "user": "alice", "project": "climate", "status": "TERMINATED", "terminated_at": "2026-01-13T12:00:00Z",
        }));
        let mut ended = ended;
        ended.as_object_mut().unwrap().retain(|key, _| key != "user_uuid" && key != "project_id");
        server.call("POST", &group("/kernels"), Some(&ended)).await.json(200);
        assert_eq!(found(&archive("/users/alice", true).await), []);
    }

    async fn names_of_agents_that_look_like_ranges(db: TestDb) {
        let server = Server::new(db).await;
        let slots = json!({"available_slots": {"cpu": 4}});
        for (name, doubtful) in [
            ("node%5B01-10%5D", true), ("node%5B1,3,7-9%5D", true), ("node%7B1..3%7D", true), ("node1,node2", true),
            ("node-01", false), ("rack%5Ba%5D", false), ("node01-10", false),
        ] {
            let answer = server.call("PUT", &group(&format!("/agents/{name}")), Some(&slots)).await.json(201);
            let warnings: &[_] = if doubtful { &[("agent_range", "/agent_id", 1)] } else { &[] };
            assert_eq!(found(&answer), expected(warnings), "{name}");
        }
        let agent = |name: &str| with(slots.clone(), &json!({"agent_id": name}));
        let many = json!({"agents": [agent("a"), agent("b[01-02]")]});
        let answer = server.call("PUT", &group("/agents"), Some(&many)).await.json(200);
        assert_eq!(found(&answer), expected(&[("agent_range", "/agents/1/agent_id", 1)]));
        let mutation = r#"mutation {
            upsert_agents(resource_group: "gpu-cluster", agents: [{agent_id: "c[1-2]", available_slots: "{\"cpu\": 1}"}]) { warnings { code pointer count } }
            upsert_agent(resource_group: "gpu-cluster", agent_id: "d{1..2}", available_slots: "{\"cpu\": 1}") { warnings { code pointer count } }
        }"#;
        let answer = server.graphql(mutation).await["data"].clone();
        assert_eq!(found(&answer["upsert_agents"]), expected(&[("agent_range", "/agents/0/agent_id", 1)]));
        assert_eq!(found(&answer["upsert_agent"]), expected(&[("agent_range", "/agent_id", 1)]));
        let report = with(kernel("k", "alice", "climate", "2026-01-13T11:00:00Z"), &json!({"agent_id": "n[1-2]"}));
        let answer = server.call("POST", &group("/kernels"), Some(&report)).await.json(200);
        assert_eq!(found(&answer), expected(&[("agent_range", "/agent_id", 1)]));
    }
}
