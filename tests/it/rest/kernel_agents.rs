//! Kernels that run on several agents: reports, answers, and everything that looks at places.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

/// A kernel of 8 GPUs of the queue `a` that runs on `agents` since two hours.
fn spread(name: &str, agents: &Value) -> Value {
    let changes = json!({"occupied_slots": {"gpu": "8"}, "gang_id": name, "queue": "a", "agent_id": agents});
    with(kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"), &changes)
}

/// A kernel of the queue `b` that waits for GPUs.
fn waits(name: &str, gpus: u32) -> Value {
    let changes = json!({"status": "PENDING", "started_at": null, "occupied_slots": {"gpu": gpus}, "gang_id": name, "queue": "b"});
    with(kernel(name, "bob", "audio", "2026-01-13T10:00:00Z"), &changes)
}

async fn report(server: &Server, kernels: &[Value]) -> Value {
    let answer = server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
    assert_eq!(answer["rejected"], 0, "{answer}");
    answer
}

async fn shown(server: &Server, name: &str) -> (Value, Value) {
    let one = server.get(&group(&format!("/kernels/{}", id(name)))).await;
    (one["agent_id"].clone(), one["agent_ids"].clone())
}

/// Three agents of 4 GPUs, and two queues that share them.
async fn server(db: crate::support::database::TestDb) -> Server {
    let server = Server::new(db).await;
    for name in ["n1", "n2", "n3"] {
        server.agent(name, &json!({"gpu": "4"})).await;
    }
    let queues = json!({"queues": [{"name": "a", "quota": {"gpu": "4"}}, {"name": "b", "quota": {"gpu": "8"}}]});
    server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
    server
}

/// The GPUs that each agent holds, the kernels that run there, and the GPUs that are free, by name.
async fn held(server: &Server) -> Vec<String> {
    let occupancy = server.get(&group("/occupancy?by=agent")).await;
    let mut rows: Vec<String> = occupancy["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            let gpus = |key: &str| item[key]["gpu"].as_str().unwrap_or("0").to_owned();
            format!("{} {} {} {}", item["name"].as_str().unwrap_or("-"), gpus("held"), item["running"], gpus("free"))
        })
        .collect();
    rows.sort();
    rows
}

fn codes(answer: &Value) -> Vec<&str> {
    answer["warnings"].as_array().into_iter().flatten().map(|warning| warning["code"].as_str().unwrap()).collect()
}

on_both! {
    async fn a_list_of_agents_is_kept_in_its_order(db: TestDb) {
        let server = server(db).await;
        assert_eq!(report(&server, &[spread("k", &json!(["n2", "n1"])), spread("one", &json!(["n3"]))]).await["changed"], 2);
        assert_eq!(shown(&server, "k").await, (json!(null), json!(["n2", "n1"])));
        assert_eq!(shown(&server, "one").await, (json!("n3"), json!(["n3"])));
        assert_eq!(report(&server, &[spread("k", &json!(["n2", "n1"])), spread("one", &json!("n3"))]).await["changed"], 0);
        // The job was put on other nodes, grew, shrank to one node, and ended.
        let mut lines = String::new();
        for (name, agents) in [("k", json!(["n1", "n2", "n3"])), ("one", json!(["n3", "n2"]))] {
            lines += &(spread(name, &agents).to_string() + "\n");
        }
        let taken = server.raw("POST", &group("/kernels"), "application/x-ndjson", lines).await.json(200);
        assert_eq!((&taken["changed"], &taken["rejected"]), (&json!(2), &json!(0)));
        assert_eq!(shown(&server, "k").await, (json!(null), json!(["n1", "n2", "n3"])));
        let listed = server.get(&group("/kernels")).await;
        let row = listed["items"].as_array().unwrap().iter().find(|row| row["kernel_id"] == json!(id("one"))).unwrap().clone();
        assert_eq!((&row["agent_id"], &row["agent_ids"]), (&json!(null), &json!(["n3", "n2"])));
        // A row of the list can be sent back.
        assert_eq!(report(&server, &[row]).await["changed"], 0);
        report(&server, &[spread("one", &json!("n1"))]).await;
        assert_eq!(shown(&server, "one").await, (json!("n1"), json!(["n1"])));
        report(&server, &[spread("one", &json!(null))]).await;
        assert_eq!(shown(&server, "one").await, (json!(null), json!([])));
        let asked = server.graphql(&format!(
            "{{ kernels(resource_group: \"{GROUP}\") {{ edges {{ node {{ kernel_id agent_id agent_ids }} }} }} }}"
        )).await;
        let nodes = asked["data"]["kernels"]["edges"].as_array().unwrap().iter().map(|edge| edge["node"].clone());
        let node = nodes.into_iter().find(|node| node["kernel_id"] == json!(id("k"))).unwrap();
        assert_eq!((&node["agent_id"], &node["agent_ids"]), (&json!(null), &json!(["n1", "n2", "n3"])));
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T11:00:00Z"});
        report(&server, &[with(spread("k", &json!(["n1", "n2", "n3"])), &ended)]).await;
        server.tick().await;
        assert_eq!(shown(&server, "k").await.1, json!(["n1", "n2", "n3"]));
        server.assert_conserved().await;
    }

    async fn a_wrong_list_has_its_place(db: TestDb) {
        let server = server(db).await;
        let many: Vec<String> = (0..=10_000).map(|n| format!("n{n}")).collect();
        let wrong = [
            (json!({"agent_id": []}), "/agent_id", "empty"),
            (json!({"agent_id": ["n1", "a/b"]}), "/agent_id/1", "invalid_name"),
            (json!({"agent_id": ["n1", "n2", "n1"]}), "/agent_id/2", "duplicate_agent"),
            (json!({"agent_id": ["n1", 7]}), "/agent_id/1", "invalid_type"),
            (json!({"agent_id": {"name": "n1"}}), "/agent_id", "invalid_type"),
            (json!({"agent_id": many}), "/agent_id", "too_many"),
            (json!({"agent_ids": ["n1", "n1"]}), "/agent_ids/1", "duplicate_agent"),
            (json!({"agent_ids": "n1"}), "/agent_ids", "invalid_type"),
            (json!({"agent_id": "n1", "agent_ids": ["n2"]}), "/agent_ids", "contradiction"),
            (json!({"agent_id": ["n1", "n2"], "agent_ids": []}), "/agent_ids", "contradiction"),
        ];
        let mut rows = vec![spread("first", &json!(["n1", "n2"]))];
        for (at, (changes, ..)) in wrong.iter().enumerate() {
            let mut row = with(spread(&format!("wrong{at}"), &json!(null)), changes);
            if changes.get("agent_id").is_none() {
                row.as_object_mut().unwrap().remove("agent_id");
            }
            rows.push(row);
        }
        let answer = server.call("POST", &group("/kernels"), Some(&json!(rows))).await.json(200);
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!(wrong.len())), "{answer}");
        for (at, (error, (changes, pointer, code))) in answer["errors"].as_array().unwrap().iter().zip(&wrong).enumerate() {
            assert_eq!(error["index"], at + 1);
            assert_eq!((&error["errors"][0]["pointer"], &error["errors"][0]["code"]), (&json!(pointer), &json!(code)), "{changes}");
        }
        assert_eq!(server.get(&group("/kernels")).await["total"], 1);
        let twice = spread("twice", &json!(["n1", "n1"]));
        let answer = server.call("POST", &group("/kernels"), Some(&json!([spread("other", &json!("n1")), twice, twice]))).await.json(200);
        let error = &answer["errors"][0];
        assert_eq!(error["errors"][0]["detail"], "`agent_id` names the agent \"n1\" twice");
        assert_eq!(error["rows"][1]["pointer"], "/2/agent_id/1");
        // A name that looks like several is taken, with a warning.
        let answer = report(&server, &[spread("range", &json!(["n1", "n[2-3]"]))]).await;
        assert_eq!((&answer["warnings"][0]["code"], &answer["warnings"][0]["pointer"]), (&json!("agent_range"), &json!("/agent_id")));
    }

    async fn each_agent_holds_its_part(db: TestDb) {
        let server = server(db).await;
        report(&server, &[spread("k", &json!(["n3", "n2", "n1"]))]).await;
        assert_eq!(held(&server).await, ["n1 2 1 2", "n2 3 1 1", "n3 3 1 1"]);
        let totals = server.get(&group("/occupancy?by=user")).await;
        assert_eq!((&totals["items"][0]["held"], &totals["items"][0]["running"]), (&json!({"gpu": "8"}), &json!(1)));
        // The change comes from memory now.
        report(&server, &[spread("k", &json!(["n1", "n2"]))]).await;
        assert_eq!(held(&server).await, ["n1 4 1 0", "n2 4 1 0", "n3 0 0 4"]);
        report(&server, &[spread("k", &json!("n1"))]).await;
        assert_eq!(held(&server).await, ["n1 8 1 0", "n2 0 0 4", "n3 0 0 4"]);
        report(&server, &[spread("k", &json!(null))]).await;
        assert_eq!(held(&server).await, ["- 8 1 0", "n1 0 0 4", "n2 0 0 4", "n3 0 0 4"]);
    }

    async fn plans_know_the_room_on_each_agent(db: TestDb) {
        let server = server(db).await;
        report(&server, &[spread("k", &json!(["n1", "n2"])), waits("w", 4)]).await;
        let cycle = server.call("POST", &group("/cycle-plans"), Some(&json!({}))).await.json(200);
        assert_eq!((codes(&cycle), &cycle["starts"][0]["members"][0]["agent_id"]), (vec!["order_ignores_shares"], &json!("n3")), "{cycle:#}");
        let plan = async |gpus: u32, members: usize| {
            let members = vec![json!({"slots": {"gpu": gpus}}); members];
            let body = json!({"workload_id": "new", "queue": "b", "members": members});
            server.call("POST", &group("/reclaim-plans"), Some(&body)).await.json(200)
        };
        let fits = plan(4, 1).await;
        assert_eq!((&fits["verdict"], &fits["placement"]), (&json!("fits"), &json!([{"member": 0, "agent_id": "n3"}])), "{fits:#}");
        // The whole kernel goes, once, and frees its part on both agents.
        let both = plan(4, 2).await;
        assert_eq!((&both["verdict"], both["victims"].as_array().unwrap().len(), codes(&both)), (&json!("reclaim"), 1, vec![]), "{both:#}");
        assert_eq!(both["victims"][0]["kernel_ids"], json!([id("k")]));
        assert_eq!(both["disruption_ratio"], "1");
        // With 3, 3 and 2 held, no agent has room for three.
        report(&server, &[spread("k", &json!(["n1", "n2", "n3"])), waits("w", 3)]).await;
        let cycle = server.call("POST", &group("/cycle-plans"), Some(&json!({}))).await.json(200);
        assert_eq!((&cycle["starts"][0]["action"], &cycle["evictions"][0]["kernel_ids"]), (&json!("reclaim"), &json!([id("k")])), "{cycle:#}");
        let only = json!({"cycle": {"actions": ["allocate"]}});
        let cycle = server.call("POST", &group("/cycle-plans"), Some(&only)).await.json(200);
        let waiting = &cycle["waiting"][0];
        assert_eq!((&waiting["reason"], &waiting["details"]["most_free"], &waiting["details"]["free"]), (&json!("no_room"), &json!("2"), &json!("4")), "{waiting:#}");
    }

    async fn a_forecast_knows_the_room_on_each_agent(db: TestDb) {
        let server = server(db).await;
        let ran = |n: i64| {
            let at = |hour: i64| format!("2026-01-{:02}T{:02}:00:00Z", 1 + n % 10, hour);
            let changes = json!({"status": "TERMINATED", "started_at": at(1), "submitted_at": at(1), "terminated_at": at(4)});
            with(spread(&format!("past {n}"), &json!("n1")), &changes)
        };
        let mut kernels: Vec<Value> = (0..20).map(ran).collect();
        let submitted = |name: &str, at: &str| with(waits(name, 2), &json!({"submitted_at": at}));
        kernels.push(spread("k", &json!(["n1", "n2", "n3"])));
        kernels.extend([submitted("now", "2026-01-13T10:00:00Z"), submitted("later", "2026-01-13T11:00:00Z")]);
        report(&server, &kernels).await;
        server.call("POST", "/jobs/forecast/run", Some(&json!({"resource_group": GROUP}))).await.json(200);
        let forecast = async |workload: &str| server.get(&group(&format!("/workloads/{workload}"))).await["forecast"].clone();
        let now = forecast("now").await;
        assert_eq!(now["p90"], now["as_of"], "n3 has two GPUs: {now}");
        let later = forecast("later").await;
        assert!(later["p10"].as_str().unwrap() > later["as_of"].as_str().unwrap(), "n1 and n2 have one each: {later}");
    }

    /// A server of an older version that takes a report leaves the list in place.
    async fn a_single_agent_of_an_older_server_goes_before_the_list(db: TestDb) {
        let server = server(db).await;
        report(&server, &[spread("k", &json!(["n1", "n2"]))]).await;
        #[allow(clippy::disallowed_methods, reason = "the statement of another version")]
        sea_orm::ConnectionTrait::execute_unprepared(server.service.store().write(), "UPDATE kernels SET agent_id = 'n3'").await.unwrap();
        assert_eq!(shown(&server, "k").await, (json!("n3"), json!(["n3"])));
    }

    async fn stateless_requests_take_the_parts_of_a_kernel(db: TestDb) {
        let server = Server::new(db).await;
        let member = |kernel: &str, agent: Value| json!({"kernel_id": kernel, "slots": {"gpu": 1}, "agent_id": agent});
        let body = |members: Value| json!({
            "capacity": {"gpu": 4}, "algorithm": "quota_over_quota", "queues": [{"name": "a"}, {"name": "b", "quota": {"gpu": 4}}],
            "agents": [{"agent_id": "n1", "available_slots": {"gpu": 2}}, {"agent_id": "n2", "available_slots": {"gpu": 2}}],
            "running": [{"workload_id": "r", "queue": "a", "gang_min": 1, "members": members}],
            "pending": {"workload_id": "p", "queue": "b", "members": [{"slots": {"gpu": 1}}]},
        });
        let parts = json!([member("k1", json!("n1")), member("k1", json!("n2")), member("k2", json!("n1")), member("k2", json!("n2"))]);
        for path in ["/reclaim/simulate", "/cycle/simulate"] {
            let answer = server.call("POST", path, Some(&body(parts.clone()))).await.json(200);
            let victims = answer.get("victims").or_else(|| answer.get("evictions")).unwrap();
            assert_eq!(victims[0]["kernel_ids"], json!(["k2"]), "{path} {answer:#}");
            for (members, place) in [
                (json!([member("k1", json!("n1")), member("k1", json!("n1"))]), 1),
                (json!([member("k1", json!("n1")), member("k1", json!(null))]), 1),
                (json!([member("k1", json!("n1")), member("k2", json!("n1")), member("k1", json!("n2"))]), 2),
            ] {
                let refused = server.call("POST", path, Some(&body(members))).await;
                assert_eq!(refused.refused(422, "duplicate_id"), [format!("/running/0/members/{place}/kernel_id")], "{path}");
            }
        }
    }
}
