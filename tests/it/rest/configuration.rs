//! Features of the command line that REST has as well: configuration as one document, dated capacities, many agents, ranks
//! of the upper tiers, and kernels by their ids.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

fn document() -> Value {
    json!({
        "domains": {"research": "2"}, "users": [{"user": "carol", "weight": "3"}],
        "queues": [{"name": "vision", "parent": "all", "priority": 2}, {"name": "all"}],
    })
}

on_both! {
    async fn what_get_answers_put_takes(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/configuration");
        let empty = json!({"resource_group": GROUP, "domains": {}, "projects": {}, "users": []});
        assert_eq!(server.get(&path).await, empty);
        let dry = server.call("PUT", &format!("{path}?dry_run=true"), Some(&document())).await.json(200);
        assert_eq!((&dry["set"], &dry["unset"], &dry["queues"]), (&json!(2), &json!(0), &json!({"created": 2, "changed": 0, "deleted": 0})));
        assert_eq!(server.get(&path).await, empty);
        let done = server.call("PUT", &format!("{path}?reason=grant"), Some(&document())).await.json(200);
        assert_eq!((&done["set"], &done["unchanged"], done["items"].as_array().unwrap().len()), (&json!(2), &json!(0), 4));
        assert_eq!(done["items"][1], json!({
            "target_type": "user", "target": "carol", "target_id": id("carol"), "project": id("audio").to_string(),
            "project_id": id("audio"), "key": "weight", "from": null, "to": "3",
        }));
        let stored = server.get(&path).await;
        assert_eq!((&stored["domains"], &stored["users"][0]["user"]), (&json!({"research": "2"}), &json!("carol")), "{stored}");
        assert_eq!(stored["queues"][1]["priority"], 2);
        assert!(stored["queues"][0].get("priority").is_none());
        let again = server.call("PUT", &format!("{path}?prune=true"), Some(&stored)).await.json(200);
        assert_eq!((&again["items"], &again["unchanged"]), (&json!([]), &json!(2)));
        let pruned = server.call("PUT", &format!("{path}?prune=true"), Some(&json!({"queues": []}))).await.json(200);
        assert_eq!((&pruned["unset"], &pruned["queues"]["deleted"]), (&json!(2), &json!(2)));
        assert_eq!(server.get(&path).await, empty);
        let entry = server.get("/audit-log?action=weights.put").await["items"][1].clone();
        assert_eq!(entry["reason"], "grant");
    }

    async fn a_configuration_with_a_fault_changes_nothing(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/configuration");
        for (body, code, pointer) in [
            (json!({"resource_group": "other"}), "contradiction", "/resource_group"),
            (json!({"domains": {"research": "2", "nowhere": "1"}}), "unknown_domain", "/domains/nowhere"),
            (json!({"domains": {"research": "0"}}), "invalid_weight", "/domains/research"),
            (json!({"domains": {"research": "2"}, "projects": {"a/b": "1"}}), "unknown_project", "/projects/a~1b"),
            (json!({"users": [{"user": "nobody", "weight": "1"}]}), "unknown_user", "/users/0"),
            (json!({"users": [{"user": "carol"}]}), "missing_field", "/users/0/weight"),
            (json!({"queues": [{"name": "x", "parent": "y"}]}), "unknown_parent", "/queues/0/parent"),
            (json!({"queues": [{"name": "x", "colour": 1}]}), "unknown_field", "/queues/0/colour"),
            (json!({"colour": 1}), "unknown_field", "/colour"),
        ] {
            let answer = server.call("PUT", &path, Some(&body)).await;
            assert_eq!(answer.refused(422, code), [pointer], "{body}");
        }
        let twice = server.raw("PUT", &path, "application/json", "{\"domains\": {\"research\": 1, \"research\": 2}}").await;
        assert_eq!(twice.refused(422, "duplicate_target"), ["/domains/research"]);
        server.raw("PUT", &path, "application/json", "[").await.refused(400, "malformed_json");
        assert_eq!(server.get(&path).await["domains"], json!({}));
        server.call("GET", "/resource-groups/nowhere/configuration", None).await.refused(404, "unknown_resource_group");
    }

    async fn days_get_their_capacities(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/capacity-days");
        let before = server.get(&path).await;
        let days = json!([
            {"date": "2026-01-11", "capacity": {"cpu": "50", "mem": "4Gi"}}, {"date": "2026-01-12", "capacity": {"cpu": "25", "gpu": "0"}},
        ]);
        let given = server.call("PUT", &path, Some(&days)).await.json(200);
        assert_eq!(given, json!({"changed": 2}));
        let rows = server.get(&path).await;
        assert_eq!(rows["total"].as_u64().unwrap(), before["total"].as_u64().unwrap() + 2);
        assert_eq!(rows["items"][0], json!({"date": "2026-01-11", "capacity": {"cpu": "50", "mem": "4294967296"}}));
        assert_eq!(rows["items"][1], json!({"date": "2026-01-12", "capacity": {"cpu": "25"}}));
        let first = server.get(&format!("{path}?limit=1")).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        assert_eq!(server.get(&format!("{path}?cursor={cursor}")).await["items"][0], rows["items"][1]);
        // Once more changes nothing, and what GET answers PUT takes.
        assert_eq!(server.call("PUT", &path, Some(&days)).await.json(200), json!({"changed": 0}));
        let entries = server.get("/audit-log?action=capacities.give").await;
        assert_eq!((&entries["total"], &entries["items"][0]["after"]), (&json!(1), &json!({"days": 2})));
        for (body, code, pointer) in [
            (json!([{"date": "2026-01-13", "capacity": {}}]), "out_of_range", "/0/date"),
            (json!([{"date": "2026-01-10", "capacity": {}}, {"date": "2026-01-10", "capacity": {}}]), "duplicate_date", "/1/date"),
            (json!([{"date": "2026-13-10", "capacity": {}}]), "invalid_value", "/0/date"),
            (json!([{"date": "2026-01-10", "capacity": {"cpu": -1}}]), "invalid_value", "/0/capacity/cpu"),
            (json!(vec![json!({"date": "2026-01-10", "capacity": {}}); 5_001]), "too_many", ""),
        ] {
            assert_eq!(server.call("PUT", &path, Some(&body)).await.refused(422, code), [pointer]);
        }
        server.assert_conserved().await;
    }

    async fn many_agents_are_one_write(db: TestDb) {
        let server = Server::with_usage(db).await;
        let body = json!({"agents": [
            {"agent_id": "n1", "available_slots": {"cpu": "10"}}, {"agent_id": "n2", "available_slots": {"cpu": "5"}, "alive": false},
        ], "reason": "new rack"});
        assert_eq!(server.call("PUT", &group("/agents"), Some(&body)).await.json(200), json!({"written": 2}));
        let agents = server.get(&group("/agents")).await;
        let names: Vec<_> = agents["items"].as_array().unwrap().iter().map(|a| a["agent_id"].as_str().unwrap()).collect();
        assert_eq!(names, ["n1", "n2", "node-01"]);
        assert_eq!(server.get(&group("")).await["capacity"], json!({"cpu": "110"}));
        let entry = server.get("/audit-log?action=agents.put").await["items"][0].clone();
        assert_eq!((&entry["after"], &entry["reason"]), (&json!({"agents": 2}), &json!("new rack")));
        for (agents, code, pointer) in [
            (json!([{"agent_id": "n3", "available_slots": {}}, {"agent_id": "a/b", "available_slots": {}}]), "invalid_name", "/agents/1/agent_id"),
            (json!([{"available_slots": {}}]), "invalid_name", "/agents/0/agent_id"),
            (json!([{"agent_id": "n3", "available_slots": {}}, {"agent_id": "n3", "available_slots": {}}]), "duplicate_agent", "/agents/1/agent_id"),
            (json!([{"agent_id": "n3"}]), "missing_field", "/agents/0/available_slots"),
        ] {
            let answer = server.call("PUT", &group("/agents"), Some(&json!({"agents": agents}))).await;
            assert_eq!(answer.refused(422, code), [pointer]);
        }
        assert_eq!(server.get(&group("/agents")).await["total"], 3);
    }

    async fn the_upper_tiers_have_rankings(db: TestDb) {
        let server = Server::with_usage(db).await;
        let domains = server.get(&group("/fair-share-status/domains")).await;
        let names: Vec<_> = domains["items"].as_array().unwrap().iter().map(|d| (d["domain_name"].clone(), d["rank"].clone())).collect();
        assert_eq!(names, [(json!("sales"), json!(1)), (json!("research"), json!(2))]);
        let projects = server.get(&group("/fair-share-status/projects?limit=1")).await;
        assert_eq!((projects["items"].as_array().unwrap().len(), &projects["total"]), (1, &json!(2)));
        let cursor = projects["next_cursor"].as_str().unwrap();
        let rest = server.get(&group(&format!("/fair-share-status/projects?cursor={cursor}"))).await;
        assert_ne!(rest["items"][0]["project_id"], projects["items"][0]["project_id"]);
        let foreign = server.call("GET", &group(&format!("/fair-share-status/domains?cursor={cursor}")), None).await;
        foreign.refused(422, "invalid_cursor");
    }

    async fn kernels_by_their_ids(db: TestDb) {
        let server = Server::with_usage(db).await;
        let look = async |ids: Value| server.call("POST", "/kernels/lookup", Some(&json!({"kernel_ids": ids}))).await;
        let found = look(json!([id("k1"), id("nothing"), id("k3"), id("k1")])).await.json(200);
        let mut wanted = [id("k1"), id("k3")];
        wanted.sort_unstable();
        let ids: Vec<_> = found["items"].as_array().unwrap().iter().map(|k| k["kernel_id"].clone()).collect();
        assert_eq!((ids, &found["total"]), (wanted.map(|id| json!(id)).to_vec(), &json!(2)));
        assert_eq!(look(json!([])).await.json(200)["total"], 0);
        assert_eq!(look(json!(["k1"])).await.refused(422, "invalid_uuid"), ["/kernel_ids/0"]);
        assert_eq!(look(json!(vec![id("k1"); 100_001])).await.refused(422, "too_many"), ["/kernel_ids"]);
        let only = json!({"role": "viewer", "label": "x", "resource_groups": ["other"]});
        let key = server.call("POST", "/keys", Some(&only)).await.json(201)["key"].as_str().unwrap().to_owned();
        let body = json!({"kernel_ids": [id("k1")]});
        assert_eq!(server.call_as(&key, "POST", "/kernels/lookup", Some(&body)).await.json(200)["total"], 0);
    }

    async fn a_trace_moves_projects_that_it_calls_by_name(db: TestDb) {
        let server = Server::new(db).await;
        let row = |name: &str, domain: &str| {
            let mut row = with(kernel(name, "ann", "x", "2026-01-13T10:00:00Z"), &json!({"project": "ml", "domain_name": domain}));
            row.as_object_mut().unwrap().remove("project_id");
            row
        };
        server.call("POST", &group("/kernels"), Some(&row("a", "research"))).await.json(200);
        let stays = server.call("POST", &group("/kernels"), Some(&row("b", "sales"))).await.json(200);
        assert_eq!(stays["errors"][0]["errors"][0]["code"], "project_in_other_domain");
        let moves = server.call("POST", &group("/kernels?moves_projects=true"), Some(&row("b", "sales"))).await.json(200);
        assert_eq!((&moves["accepted"], &moves["changed"]), (&json!(1), &json!(1)));
        assert_eq!(server.get("/projects/ml").await["domain_name"], "sales");
    }
}
