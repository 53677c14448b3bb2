//! Resource groups and their agents.

use serde_json::json;

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn groups_come_change_and_go(db: TestDb) {
        let server = Server::new(db).await;
        let path = "/resource-groups/batch queue";
        let path = path.replace(' ', "%20");
        let body = json!({"scheduler": "fifo", "scheduler_opts": {"half_life_days": 3}, "reason": "new cluster"});
        let created = server.call("PUT", &path, Some(&body)).await.json(201);
        assert_eq!((&created["name"], &created["scheduler"]), (&json!("batch queue"), &json!("fifo")));
        assert_eq!(created["scheduler_opts"]["half_life_days"], 3);
        assert_eq!((&created["capacity"], &created["calculated_at"]), (&json!({}), &json!(null)));
        assert_eq!(server.get(&path).await, created);
        // A second PUT replaces: what it leaves out gets its default.
        let replaced = server.call("PUT", &path, Some(&json!({"scheduler_opts": {"lookback_days": 14}}))).await.json(200);
        assert_eq!(replaced["scheduler_opts"]["half_life_days"], 7);
        assert_eq!(replaced["scheduler_opts"]["lookback_days"], 14);
        // Without options it leaves them alone.
        let kept = server.call("PUT", &path, Some(&json!({}))).await.json(200);
        assert_eq!(kept, replaced);
        let drf = server.call("PUT", &path, Some(&json!({"scheduler": "drf", "reason": "trial"}))).await.json(200);
        assert_eq!((&drf["scheduler"], &drf["scheduler_opts"]), (&json!("drf"), &replaced["scheduler_opts"]));
        let names: Vec<_> = server.get("/resource-groups").await["items"].as_array().unwrap().iter()
            .map(|g| g["name"].as_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["batch queue", "gpu-cluster"]);
        let gone = server.call("DELETE", &format!("{path}?reason=sold"), None).await;
        assert_eq!((gone.status.as_u16(), gone.bytes.len()), (204, 0));
        server.call("GET", &path, None).await.refused(404, "unknown_resource_group");
        server.call("DELETE", &path, None).await.refused(404, "unknown_resource_group");
        let log = server.get("/audit-log?resource_group=batch%20queue").await;
        let entries: Vec<_> = log["items"].as_array().unwrap().iter()
            .map(|e| (e["action"].as_str().unwrap(), e["reason"].as_str(), e["actor"].as_str().unwrap())).collect();
        assert_eq!(entries[0], ("resource_group.delete", Some("sold"), "admin"));
        assert_eq!(entries[1], ("resource_group.put", Some("trial"), "admin"));
        assert_eq!(entries[3], ("resource_group.create", Some("new cluster"), "admin"));
    }

    async fn agents_are_the_capacity(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/agents/node%2001");
        let body = json!({"available_slots": {"cpu": "64", "mem": 1024}, "labels": {"rack": "r7"}});
        let created = server.call("PUT", &path, Some(&body)).await.json(201);
        assert_eq!(created, json!({
            "agent_id": "node 01", "available_slots": {"cpu": "64", "mem": "1024"}, "alive": true, "schedulable": true,
            "labels": {"rack": "r7"}, "taints": [], "updated_at": "2026-01-13T12:00:00Z",
        }));
        server.call("PUT", &group("/agents/node-02"), Some(&json!({"available_slots": {"cpu": "6.5"}}))).await.json(201);
        assert_eq!(server.get(&group("")).await["capacity"], json!({"cpu": "70.5", "mem": "1024"}));
        let dead = json!({"available_slots": {"cpu": "6.5"}, "alive": false});
        server.call("PUT", &group("/agents/node-02"), Some(&dead)).await.json(200);
        assert_eq!(server.get(&group("")).await["capacity"], json!({"cpu": "64", "mem": "1024"}));
        assert_eq!(server.get(&group("/agents")).await["total"], 2);
        assert_eq!(server.call("DELETE", &path, None).await.status, 204);
        assert_eq!(server.get(&group("")).await["capacity"], json!({}));
        for (body, pointer) in [
            (json!({"available_slots": {"cpu": "-1"}}), "/available_slots/cpu"),
            (json!({"available_slots": {"c pu": "1"}}), "/available_slots"),
            (json!({"available_slots": []}), "/available_slots"),
            (json!({"available_slots": {}, "labels": {"rack": 7}}), "/labels/rack"),
            (json!({"labels": {}}), "/available_slots"),
            (json!({"available_slots": {}, "colour": 1}), "/colour"),
        ] {
            let answer = server.call("PUT", &group("/agents/a"), Some(&body)).await;
            let code = answer.json(422)["code"].as_str().unwrap().to_owned();
            assert_eq!(answer.refused(422, &code), [pointer], "{body}");
        }
        assert_eq!(server.get(&group("/agents")).await["total"], 1);
    }

    async fn capacity_is_never_cut(db: TestDb) {
        let server = Server::new(db).await;
        let most = json!({"available_slots": {"mem": "1000000000000000000000"}});
        server.call("PUT", &group("/agents/a"), Some(&most)).await.json(201);
        let beyond = server.call("PUT", &group("/agents/b"), Some(&json!({"available_slots": {"mem": "0.5"}}))).await;
        assert_eq!(beyond.refused(422, "capacity_too_large"), ["/available_slots"]);
        // One that does not count may be as large.
        let down = json!({"available_slots": {"mem": "1000000000000000000000"}, "alive": false});
        server.call("PUT", &group("/agents/b"), Some(&down)).await.json(201);
        let up = json!({"available_slots": {"mem": "1000000000000000000000"}});
        server.call("PUT", &group("/agents/b"), Some(&up)).await.refused(422, "capacity_too_large");
        assert_eq!(server.get(&group("")).await["capacity"], json!({"mem": "1000000000000000000000"}));
        // The occupied slots of users are compared beyond that limit as well, also after some kernels have ended.
        let huge = |name: &str, user: &str| with(kernel(name, user, "vision", "2026-01-13T11:00:00Z"),
            &json!({"occupied_slots": {"mem": "1000000000000000000000"}}));
        let kernels = [huge("k1", "alice"), huge("k2", "alice"), huge("k3", "alice"), huge("k4", "bob"), huge("k5", "bob")];
        server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
        server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler": "drf"}))).await.json(200);
        let first = async || {
            let job = |user: &str| json!({"workload_id": user, "user_uuid": id(user), "project_id": id("vision")});
            let body = json!({"workloads": [job("alice"), job("bob")]});
            server.call("POST", &group("/sequence"), Some(&body)).await.json(200)["items"][0]["workload_id"].clone()
        };
        assert_eq!(first().await, "bob");
        let ended = ["k1", "k2"].map(|name| with(huge(name, "alice"), &json!({"status": "TERMINATED", "terminated_at": "2026-01-13T11:30:00Z"})));
        server.call("POST", &group("/kernels"), Some(&json!(ended))).await.json(200);
        assert_eq!(first().await, "alice");
    }

    async fn a_change_of_agents_may_say_why(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/agents/node-01");
        let body = json!({"available_slots": {"cpu": "64"}, "reason": "rack r7 delivered"});
        let created = server.call("PUT", &path, Some(&body)).await.json(201);
        assert_eq!(created.get("reason"), None);
        assert_eq!(server.call("DELETE", &format!("{path}?reason=broken%20board"), None).await.status, 204);
        let log = server.get("/audit-log?limit=2").await;
        let said: Vec<_> = log["items"].as_array().unwrap().iter()
            .map(|e| (e["action"].as_str().unwrap(), e["target"].as_str().unwrap(), e["reason"].as_str().unwrap())).collect();
        assert_eq!(said, [("agent.delete", "node-01", "broken board"), ("agent.put", "node-01", "rack r7 delivered")]);
        let unknown = server.call("DELETE", &format!("{path}?because=x"), None).await;
        assert_eq!(unknown.refused(422, "unknown_field"), ["/because"]);
    }

    async fn one_user_in_two_projects(db: TestDb) {
        let server = Server::with_usage(db).await;
        let row = kernel("second", "alice", "audio", "2026-01-13T11:00:00Z");
        let row = with(row, &json!({"domain_name": "sales", "occupied_slots": {"cpu": "1"}}));
        server.call("POST", &group("/kernels"), Some(&row)).await.json(200);
        server.tick().await;
        let path = group(&format!("/fair-share-status?user_uuid={}", id("alice")));
        let best = server.get(&path).await;
        assert_eq!((&best["project_id"], &best["rank"]), (&json!(id("audio")), &json!(1)));
        assert_eq!(best["memberships"].as_array().unwrap().len(), 2);
        let other = server.get(&format!("{path}&project_id={}", id("vision"))).await;
        assert_eq!((&other["project_id"], &other["rank"]), (&json!(id("vision")), &json!(4)));
        assert_eq!(other["memberships"], best["memberships"]);
        // A weight without a project goes to both.
        let weights = json!({"items": [{"target_type": "user", "target_id": id("alice"), "weight": "2"}]});
        let answer = server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        assert_eq!(answer["upserted"], 2);
        let one = json!({"items": [{"target_type": "user", "target_id": id("alice"), "project_id": id("audio"), "weight": null}]});
        let answer = server.call("PUT", &group("/fair-share-weights"), Some(&one)).await.json(200);
        assert_eq!(answer, json!({"ok": true, "upserted": 0, "deleted": 1}));
        let listed = server.get(&group("/fair-share-weights")).await["items"].clone();
        assert_eq!(listed, json!([{"id": listed[0]["id"], "target_type": "user", "target_id": id("alice"),
            "target_name": "alice", "project_id": id("vision"), "weight": "2", "nominal_share": "0.333333333333",
            "nominal_share_of_parent": "0.666666666667", "entitled_share": "0.333333333333",
            "entitled_share_of_parent": "0.666666666667"}]));
        // A known user who was never in this group.
        server.group("other", &json!({})).await;
        let refused = server.call("PUT", "/resource-groups/other/fair-share-weights", Some(&weights)).await;
        assert_eq!(refused.refused(422, "unknown_membership"), ["/items/0/target_id"]);
        let elsewhere = server.get(&format!("/resource-groups/other/fair-share-status?user_uuid={}", id("alice"))).await;
        assert_eq!((&elsewhere["fair_share_factor"], &elsewhere["effective_usage"]), (&json!("1"), &json!("0")));
        let place = |row: &serde_json::Value| json!([row["in_group"], row["rank"], row["memberships"]]);
        assert_eq!(place(&elsewhere), json!([false, null, []]));
        assert_eq!((&best["in_group"], &other["in_group"]), (&json!(true), &json!(true)));
        // A user who was created ahead of the first project.
        server.call("PUT", &format!("/users/{}", id("dora")), Some(&json!({"name": "dora"}))).await.json(201);
        server.call("PATCH", "/resource-groups/other/scheduler-options", Some(&json!({"scheduler_opts": {"default_weight": "0.5"}}))).await.json(200);
        let dora = server.get("/resource-groups/other/fair-share-status?user=dora").await;
        assert_eq!(dora, json!({"user_uuid": id("dora"), "user_name": "dora", "project_id": null, "domain_name": null,
            "rank": null, "fair_share_factor": "1", "effective_usage": "0", "effective_weight": "0.125",
            "in_group": false, "memberships": [], "nominal_share": "0", "nominal_share_of_parent": "0",
            "entitled_share": "0", "entitled_share_of_parent": "0", "calculated_at": "2026-01-13T12:00:00Z"}));
        server.group("fresh", &json!({})).await;
        for path in ["", "/domains", "/projects", "?limit=5"] {
            let ranking = server.get(&format!("/resource-groups/fresh/fair-share-status{path}")).await;
            assert_eq!(ranking.get("calculated_at"), Some(&json!(null)), "{path}");
        }
        // A project that the user is not in.
        let bobs = server.get(&group(&format!("/fair-share-status?user_uuid={}&project_id={}", id("carol"), id("vision")))).await;
        assert_eq!((&bobs["in_group"], &bobs["rank"]), (&json!(false), &json!(null)));
        assert_eq!(bobs["memberships"].as_array().unwrap().len(), 1);
        let gql = server.graphql(&format!(
            r#"{{ a: user_fair_share(resource_group: "other", user_uuid: "{alice}", project_id: "{vision}") {{ in_group rank fair_share_factor }}
                b: user_fair_share(resource_group: "gpu-cluster", user_uuid: "{alice}", project_id: "{vision}") {{ in_group rank }} }}"#,
            alice = id("alice"), vision = id("vision"))).await;
        assert_eq!(gql["data"]["a"], json!({"in_group": false, "rank": null, "fair_share_factor": "1"}));
        assert_eq!(gql["data"]["b"]["in_group"], true);
    }
}
