//! Simulations of weights, options, capacity and people: the prediction equals the result of the change, to the last digit;
//! and undo.

use bytes::Bytes;
use fairshared::engine::group::snapshots::rows::{DomainShare, ProjectShare, UserShare};
use fairshared::service::what_if::WhatIf;
use fairshared::service::{Role, VisibleGroup};
use serde_json::{Value, json};

use super::support::{NOW, Server, create_key, group, newest, undo};
use crate::support::database::TestDb;
use crate::support::dice::Dice;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

const PATH: &str = "/fair-share-simulations";
const NAMES: [&str; 6] = ["ann", "bob", "cem", "dee", "eva", "fay"];
const PROJECTS: [&str; 4] = ["ml", "bio", "hpc", "law"];
const DOMAINS: [&str; 3] = ["research", "sales", "teaching"];

/// Every row of a snapshot with its rank.
#[derive(Debug, PartialEq)]
struct Rows {
    domains: Vec<(u32, DomainShare)>,
    projects: Vec<(u32, ProjectShare)>,
    users: Vec<(u32, UserShare)>,
}

fn rows(group: &VisibleGroup) -> Rows {
    let rows = &group.whole().unwrap().rows;
    let mut projects: Vec<(u32, ProjectShare)> =
        rows.placed_projects().map(|placed| (placed.rank, (*placed).clone())).collect();
    projects.sort_by_key(|(_, row)| row.project_id);
    Rows {
        domains: rows.domains.placed().map(|placed| (placed.rank, (*placed).clone())).collect(),
        projects,
        users: rows.users.placed().map(|placed| (placed.rank, (*placed).clone())).collect(),
    }
}

fn now(f: &Fixture) -> Rows {
    rows(&f.service.group(&admin(), GROUP).unwrap())
}

async fn simulate(f: &Fixture, changes: &Value) -> WhatIf {
    let document = Bytes::from(changes.to_string());
    f.service
        .simulate_fair_shares(admin(), GROUP.to_owned(), document)
        .await
        .unwrap_or_else(|e| panic!("{changes}: {e:?}"))
}

/// A group in which kernels of several days ended and some run.
async fn random_group(db: TestDb, dice: &mut Dice) -> Server {
    let server = Server::new(db).await;
    server.agent("node", &json!({"cpu": "100", "mem": "1000"})).await;
    for day in 14..=23 {
        server.clock.set(&format!("2026-01-{day:02}T06:00:00Z"));
        let mut kernels = Vec::new();
        for n in 0..4 {
            let (user, project) = [5, 3].map(|sides| usize::try_from(dice.roll(sides)).unwrap()).into();
            let slots = json!({"cpu": (1 + dice.roll(30)).to_string(), "mem": (1 + dice.roll(99)).to_string()});
            let row = kernel(
                &format!("k{day}-{n}"),
                NAMES[user],
                PROJECTS[project],
                &format!("2026-01-{day:02}T0{n}:00:00Z"),
            );
            let mut row = with(
                row,
                &json!({
                    "occupied_slots": slots, "domain_name": DOMAINS[project % 2], "user_name": NAMES[user], "project_name": PROJECTS[project],
                }),
            );
            if !dice.one_in(3) {
                row = with(
                    row,
                    &json!({"status": "TERMINATED", "terminated_at": format!("2026-01-{day:02}T05:{:02}:00Z", dice.roll(60))}),
                );
            }
            kernels.push(row);
        }
        assert!(server.ingest(&kernels).await.is_empty());
        server.tick().await;
    }
    server.clock.set("2026-01-23T12:00:00Z");
    server.tick().await;
    // A project and a user without any pair in the group, and a domain that it lacks.
    let stranger = json!({"domain_name": "teaching"});
    assert!(server.call("PUT", &format!("/projects/{}", id("law")), Some(&stranger)).await.status.is_success());
    assert!(server.call("PUT", &format!("/users/{}", id("fay")), Some(&json!({}))).await.status.is_success());
    server
}

fn weight(dice: &mut Dice) -> Value {
    if dice.one_in(5) { Value::Null } else { json!(format!("{}.{}", dice.roll(9), 1 + dice.roll(9))) }
}

/// Some weights, options and domains; no target comes twice.
fn random_changes(f: &Fixture, dice: &mut Dice) -> Value {
    let mut weights = Vec::new();
    for domain in &DOMAINS[..2] {
        if dice.one_in(3) {
            weights.push(json!({"target_type": "domain", "target_id": domain, "weight": weight(dice)}));
        }
    }
    let facts = now(f);
    for (_, row) in &facts.projects {
        if dice.one_in(3) {
            weights.push(json!({"target_type": "project", "target_id": row.project_id, "weight": weight(dice)}));
        }
    }
    for (_, row) in &facts.users {
        if dice.one_in(2) {
            weights.push(json!({
                "target_type": "user", "target_id": row.member.user, "project_id": row.member.project, "weight": weight(dice),
            }));
        }
    }
    let mut opts = serde_json::Map::new();
    let choices = [
        ("half_life_days", vec![json!(1), json!(3), json!(30), Value::Null]),
        ("lookback_days", vec![json!(5), json!(9), json!(60), Value::Null]),
        ("decay", vec![json!("continuous"), json!("flat")]),
        ("decay_unit_days", vec![json!(1), json!(2), json!(3)]),
        ("default_weight", vec![json!("2.5"), Value::Null]),
        ("resource_weights", vec![json!({"cpu": 2, "mem": 1}), json!({"cpu": 0, "mem": 3}), Value::Null]),
        ("order", vec![json!("tiered"), json!("flat")]),
        ("sequence_mode", vec![json!("progressive"), Value::Null]),
    ];
    for (key, values) in choices {
        if dice.one_in(4) {
            opts.insert(key.to_owned(), dice.item(&values).clone());
        }
    }
    let mut changes = json!({"weights": weights, "scheduler_opts": opts});
    if dice.one_in(3) {
        changes["projects"] = json!([{"project_id": id(PROJECTS[0]), "domain_name": *dice.item(&DOMAINS)}]);
    }
    changes
}

/// Makes all changes by the endpoints for single changes.
async fn really(server: &Server, changes: &Value) {
    for moved in changes["projects"].as_array().into_iter().flatten() {
        let path = format!("/projects/{}", moved["project_id"].as_str().unwrap());
        server.call("PUT", &path, Some(&json!({"domain_name": moved["domain_name"]}))).await.json(200);
    }
    if changes.get("capacity").is_some() {
        server.agent("node", &changes["capacity"]).await;
    }
    let mut items = changes["weights"].as_array().cloned().unwrap_or_default();
    for added in changes["add_users"].as_array().into_iter().flatten() {
        items.push(json!({
            "target_type": "user", "target_id": added["user_uuid"], "project_id": added["project_id"], "weight": added["weight"],
        }));
    }
    server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": items}))).await.json(200);
    if let Some(opts) = changes.get("scheduler_opts") {
        server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler_opts": opts}))).await.json(200);
    }
}

on_both! {
    async fn what_would_be_is_what_is_once_it_is_done(db: TestDb) {
        let mut dice = Dice::seeded(11);
        let server = random_group(db, &mut dice).await;
        for round in 0..25 {
            let mut changes = random_changes(&server, &mut dice);
            if dice.one_in(4) {
                changes["capacity"] = json!({"cpu": (50 + dice.roll(100)).to_string(), "mem": "700"});
            }
            if round == 3 {
                changes["add_users"] = json!([{"user_uuid": id("fay"), "project_id": id("law"), "weight": "3"}]);
            }
            // Some combinations of options are refused, by the simulation as by the write.
            let document = Bytes::from(changes.to_string());
            let Ok(what_if) = server.service.simulate_fair_shares(admin(), GROUP.to_owned(), document).await else {
                let opts = json!({"scheduler_opts": changes["scheduler_opts"]});
                assert_eq!(server.call("PATCH", &group("/scheduler-options"), Some(&opts)).await.status, 422, "{changes}");
                continue;
            };
            assert_eq!(rows(&what_if.before), now(&server), "{changes}");
            really(&server, &changes).await;
            assert_eq!(rows(&what_if.after), now(&server), "{changes}");
        }
        server.assert_conserved().await;
    }

    async fn what_is_applied_is_what_was_simulated_and_undo_takes_it_back(db: TestDb) {
        let mut dice = Dice::seeded(5);
        let server = random_group(db, &mut dice).await;
        for _ in 0..20 {
            let mut changes = random_changes(&server, &mut dice);
            let before = now(&server);
            let document = Bytes::from(changes.to_string());
            let Ok(only) = server.service.simulate_fair_shares(admin(), GROUP.to_owned(), document).await else { continue };
            assert_eq!(now(&server), before, "{changes}");
            changes["apply"] = json!(true);
            changes["if_revision"] = json!(only.answer.config_revision);
            let made = simulate(&server, &changes).await;
            assert_eq!((rows(&made.before), rows(&made.after)), (before, rows(&only.after)), "{changes}");
            assert_eq!(now(&server), rows(&only.after), "{changes}");
            let applied = made.answer.applied.unwrap();
            let told = server.get(&group("")).await["config_revision"].clone();
            assert_eq!(told, applied.config_revision);
            let Some(audit_id) = applied.audit_id else { continue };
            let undone = undo(&server, audit_id).await.json(200)["audit_id"].as_i64().unwrap();
            let (now_again, was) = (now(&server), rows(&only.before));
            assert_eq!((now_again.users, now_again.projects), (was.users, was.projects), "{changes}");
            // A domain that a project was put into stays known, and is ranked.
            for (rank, row) in &was.domains {
                let again = now_again.domains.iter().find(|(_, again)| again == row);
                assert!(again.is_some_and(|(again, _)| again >= rank), "{changes}");
            }
            if dice.one_in(2) {
                undo(&server, undone).await.json(200);
                assert_eq!(now(&server), rows(&only.after), "{changes}");
            }
        }
        server.assert_conserved().await;
    }

    async fn an_answer_tells_who_moves_and_what_starts_when(db: TestDb) {
        let server = Server::with_usage(db).await;
        let workload = |name: &str, project: &str| json!({"workload_id": name, "user_uuid": id(name), "project_id": id(project)});
        let changes = json!({
            "weights": [{"target_type": "domain", "target_id": "research", "weight": "3"}],
            "workloads": [workload("alice", "vision"), workload("bob", "vision"), workload("carol", "audio")],
        });
        let viewer = create_key(&server, Role::Viewer, None).await;
        let answer = server.call_as(&viewer, "POST", &group(PATH), Some(&changes)).await.json(200);
        assert_eq!(answer["applied"], Value::Null);
        assert_eq!((&answer["users"]["changed"], &answer["users"]["risen"], &answer["users"]["fallen"]), (&json!(3), &json!(1), &json!(1)));
        let mover = |list: &str| {
            let first = &answer[list][0];
            (first["user_uuid"].clone(), first["rank_before"].clone(), first["rank_after"].clone())
        };
        assert_eq!(mover("winners"), (json!(id("bob")), json!(2), json!(1)));
        assert_eq!(mover("losers"), (json!(id("carol")), json!(1), json!(2)));
        assert_eq!(answer["domains"]["items"][0]["domain_name"], "research");
        assert_eq!((&answer["domains"]["items"][0]["before"]["weight"], &answer["domains"]["items"][0]["after"]["weight"]), (&json!("1"), &json!("3")));
        let order: Vec<_> = answer["workloads"]["items"].as_array().unwrap().iter()
            .map(|w| (w["workload_id"].as_str().unwrap(), w["position_before"].as_u64().unwrap(), w["position_after"].as_u64().unwrap()))
            .collect();
        assert_eq!(order, [("bob", 2, 1), ("carol", 1, 2), ("alice", 3, 3)]);
        let fairness = answer["fairness"].as_array().unwrap();
        let tiers: Vec<_> = fairness.iter().map(|f| f["tier"].as_str().unwrap()).collect();
        assert!(["domain", "project", "user"].iter().all(|tier| tiers.contains(tier)), "{answer}");
        assert!(fairness.iter().all(|f| f["misallocated_share_before"].is_string() && f["misallocated_share_after"].is_string()));
        let few = with(changes.clone(), &json!({"limit": 1}));
        let few = server.call("POST", &group(PATH), Some(&few)).await.json(200);
        assert_eq!((few["users"]["items"].as_array().unwrap().len(), &few["users"]["changed"]), (1, &json!(3)));
        // Nothing was done.
        assert_eq!(server.ranking().await, [(id("carol"), 1), (id("bob"), 2), (id("alice"), 3)]);
        let removed = json!({"remove_users": [{"user_uuid": id("carol")}], "add_users": [
            {"user": "new", "project": "fresh", "domain_name": "research", "weight": "2"}]});
        let answer = server.call("POST", &group(PATH), Some(&removed)).await.json(200);
        let users = answer["users"]["items"].as_array().unwrap();
        assert!(users.iter().any(|u| u["user_uuid"] == json!(id("carol")) && u["after"].is_null()), "{answer}");
        assert!(users.iter().any(|u| u["before"].is_null() && u["after"]["effective_weight"] == "2"), "{answer}");
        assert!(answer["projects"]["items"].as_array().unwrap().iter().any(|p| p["before"].is_null()), "{answer}");
        let query = r#"query ($i: JSONString!) { simulate_fair_shares(resource_group: "gpu-cluster", input: $i) }"#;
        let ask = json!({"query": query, "variables": {"i": changes.to_string()}});
        let asked = server.call("POST", "/graphql", Some(&ask)).await.json(200)["data"]["simulate_fair_shares"].clone();
        let asked: Value = serde_json::from_str(asked.as_str().unwrap()).unwrap();
        assert_eq!(asked, server.call("POST", &group(PATH), Some(&changes)).await.json(200));
        let apply = json!({"query": query, "variables": {"i": with(changes.clone(), &json!({"apply": true})).to_string()}});
        let refused = server.call("POST", "/graphql", Some(&apply)).await.json(200);
        assert_eq!(refused["errors"][0]["extensions"]["code"], "not_applicable");
        let mutation = json!({"query": query.replace("query", "mutation").replace("simulate_fair_shares", "apply_fair_share_simulation"),
            "variables": {"i": changes.to_string()}});
        let made = server.call("POST", "/graphql", Some(&mutation)).await.json(200)["data"]["apply_fair_share_simulation"].clone();
        let made: Value = serde_json::from_str(made.as_str().unwrap()).unwrap();
        let id_of = made["applied"]["audit_id"].clone();
        assert_eq!(server.ranking().await, [(id("bob"), 1), (id("carol"), 2), (id("alice"), 3)]);
        let found = server.get("/audit-log?target=domain:research").await;
        assert_eq!((&found["items"][0]["id"], &found["items"][0]["action"]), (&id_of, &json!("configuration.apply")));
        let undone = server.graphql(&format!(r#"mutation {{ undo_change(id: "{id_of}", reason: "back") {{ action reason }} }}"#)).await;
        assert_eq!(undone["data"]["undo_change"], json!({"action": "audit_log.undo", "reason": "back"}), "{undone}");
        assert_eq!(server.ranking().await, [(id("carol"), 1), (id("bob"), 2), (id("alice"), 3)]);
    }

    async fn what_makes_no_sense_is_refused_and_changes_nothing(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let other = server.get("/resource-groups/other").await["config_revision"].clone();
        let carol = json!({"target_type": "user", "target_id": id("carol"), "project_id": id("audio"), "weight": "2"});
        let domain = |name: &str| json!([{"target_type": "domain", "target_id": name, "weight": "2"}]);
        for (path, name) in [("users", "carol"), ("projects", "audio"), ("projects", "vision")] {
            server.call("PUT", &format!("/{path}/{}", id(name)), Some(&json!({"name": name}))).await.json(200);
        }
        let before = (server.get("/audit-log").await["total"].clone(), now(&server));
        for (changes, code, pointer) in [
            (json!({"remove_users": [{"user_uuid": id("carol")}], "weights": [carol]}), "removed", "/weights/0/target_id"),
            (json!({"weights": domain("nowhere")}), "unknown_domain", "/weights/0/target_id"),
            (json!({"weights": [{"target_type": "domain", "target_id": "research", "weight": "0"}]}), "invalid_weight", "/weights/0/weight"),
            (json!({"scheduler_opts": {"half_life_days": 0}}), "out_of_range", "/scheduler_opts/half_life_days"),
            (json!({"scheduler_opts": {"half_live_days": 5}}), "unknown_option", "/scheduler_opts/half_live_days"),
            (json!({"scheduler": "chance"}), "unknown_scheduler", "/scheduler"),
            (json!({"projects": [{"project_id": id("nothing"), "domain_name": "sales"}]}), "unknown_project", "/projects/0/project_id"),
            (json!({"projects": [{"project_id": id("vision"), "domain_name": "a/b"}]}), "invalid_name", "/projects/0/domain_name"),
            (json!({"add_users": [{"user_uuid": id("carol"), "project_id": id("audio")}]}), "already_there", "/add_users/0/user_uuid"),
            (json!({"add_users": [{"user": "zed", "project": "nothing"}]}), "unknown_project", "/add_users/0/project"),
            (json!({"add_users": [{"user": "zed", "project_id": id("audio"), "domain_name": "research"}]}), "contradiction", "/add_users/0/domain_name"),
            (json!({"remove_users": [{"user": "zed"}]}), "unknown_membership", "/remove_users/0/user"),
            (json!({"add_users": [{"user": "carol", "project": "audio"}]}), "already_there", "/add_users/0/user"),
            (json!({"weights": [{"target_type": "domain", "domain_name": "nowhere", "weight": "2"}]}), "unknown_domain", "/weights/0/domain_name"),
            (json!({"projects": [{"project": "nothing", "domain_name": "sales"}]}), "unknown_project", "/projects/0/project"),
            (json!({"projects": [{"project": "vision", "domain_name": "sales"}, {"project": "vision", "domain_name": "research"}]}),
                "duplicate", "/projects/1/project"),
            (json!({"capacity": {"cpu": "1"}, "apply": true}), "not_applicable", "/capacity"),
            (json!({"add_users": [{"user": "zed", "project_id": id("audio")}], "apply": true}), "not_applicable", "/add_users"),
            (json!({"remove_users": [{"user_uuid": id("carol")}], "apply": true}), "not_applicable", "/remove_users"),
            (json!({"if_revision": other}), "other_group", "/if_revision"),
            (json!({"workloads": [{"workload_id": "w", "user_uuid": id("alice")}]}), "missing_field", "/workloads/0/project_id"),
            (json!({"limit": 0}), "invalid_value", "/limit"),
            (json!({"what": 1}), "unknown_field", "/what"),
        ] {
            let refused = server.call("POST", &group(PATH), Some(&changes)).await;
            let problem = refused.json(422);
            if code != "invalid_value" {
                assert_eq!(problem["code"], code, "{changes}: {problem}");
            }
            assert_eq!(problem["errors"][0]["pointer"], pointer, "{changes}: {problem}");
        }
        let old = server.get(&group("")).await["config_revision"].clone();
        assert_eq!((server.get("/audit-log").await["total"].clone(), now(&server)), before);
        server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": domain("research")}))).await.json(200);
        for apply in [false, true] {
            let stale = json!({"weights": domain("sales"), "if_revision": old, "apply": apply});
            server.call("POST", &group(PATH), Some(&stale)).await.refused(409, "config_changed");
        }
        let (viewer, user) = (create_key(&server, Role::Viewer, None).await, create_key(&server, Role::User, Some("alice")).await);
        let apply = json!({"weights": domain("sales"), "apply": true});
        server.call_as(&viewer, "POST", &group(PATH), Some(&apply)).await.refused(403, "forbidden");
        server.call_as(&user, "POST", &group(PATH), Some(&json!({}))).await.refused(403, "forbidden");
        server.call("POST", "/resource-groups/nowhere/fair-share-simulations", Some(&json!({}))).await.refused(404, "unknown_resource_group");
        // An unchanged value leaves no entry.
        let again = json!({"weights": domain("research"), "apply": true});
        let answer = server.call("POST", &group(PATH), Some(&again)).await.json(200);
        assert_eq!(answer["applied"]["audit_id"], Value::Null);
    }

    async fn another_scheduler_moves_pending_kernels_though_no_share_changes(db: TestDb) {
        let server = Server::with_usage(db).await;
        let fixed = json!({"scheduler": "drf"});
        let simulated = server.call("POST", &group(PATH), Some(&fixed)).await.json(200);
        assert_eq!(simulated["pending"], json!({
            "count": 0, "moved": 0, "items": [], "starts_before": null, "starts_after": null, "start_changes": [],
        }));
        // carol used least and holds most now: her kernel waits first by fair share, and last by dominant share.
        let running = with(kernel("k4", "carol", "audio", NOW), &json!({"occupied_slots": {"cpu": "60"}, "domain_name": "sales"}));
        assert!(server.ingest(&[running]).await.is_empty());
        let pending = [("p1", "alice", "vision", "research"), ("p2", "bob", "vision", "research"), ("p3", "carol", "audio", "sales")];
        let pending = pending.map(|(name, user, project, domain)| {
            with(kernel(name, user, project, NOW), &json!({"status": "PENDING", "started_at": null, "domain_name": domain}))
        });
        assert!(server.ingest(&pending).await.is_empty());
        let simulated = server.call("POST", &group(PATH), Some(&fixed)).await.json(200);
        assert_eq!((&simulated["users"]["changed"], &simulated["domains"]["changed"]), (&json!(0), &json!(0)), "{simulated}");
        let moved = &simulated["pending"];
        assert_eq!(moved["count"], 3, "{simulated}");
        let first = json!({"workload_id": id("p3"), "position_before": 1, "position_after": 3});
        assert_eq!(moved["items"][0], first, "{simulated}");
        assert_eq!(moved["items"].as_array().unwrap().len(), moved["moved"]);
        // The same is answered over GraphQL, and once the change is made nothing is left to move.
        let asked = server.graphql(&format!(
            "{{ simulate_fair_shares(resource_group: \"{GROUP}\", input: \"{{\\\"scheduler\\\": \\\"drf\\\"}}\") }}"
        )).await;
        let answer: Value = serde_json::from_str(asked["data"]["simulate_fair_shares"].as_str().unwrap()).unwrap();
        assert_eq!(&answer["pending"], moved, "{asked}");
        server.call("PATCH", &group("/scheduler-options"), Some(&fixed)).await.json(200);
        let simulated = server.call("POST", &group(PATH), Some(&fixed)).await.json(200);
        assert_eq!((&simulated["pending"]["count"], &simulated["pending"]["moved"]), (&json!(3), &json!(0)));
    }

    async fn options_of_cycles_change_what_would_start_and_nothing_else(db: TestDb) {
        let server = Server::with_usage(db).await;
        let waits = |name: &str, cpu: &str, minute: &str| with(kernel(name, "alice", "vision", NOW), &json!({
            "status": "PENDING", "started_at": null, "occupied_slots": {"cpu": cpu}, "submitted_at": format!("2026-01-13T11:{minute}:00Z"),
        }));
        // 35 of 100 cores are held.
        assert!(server.ingest(&[waits("big", "70", "00"), waits("small", "10", "10")]).await.is_empty());
        let strict = json!({"scheduler_opts": {"cycle": {"backfill": "none"}}});
        let simulated = server.call("POST", &group(PATH), Some(&strict)).await.json(200);
        let small = json!([{"workload_id": id("small"), "starts_after": false}]);
        assert_eq!(simulated["pending"], json!({
            "count": 2, "moved": 0, "items": [], "starts_before": 1, "starts_after": 0, "start_changes": small,
        }), "{simulated}");
        assert_eq!(simulated["users"]["changed"], 0);
    }

    async fn weights_and_options_are_undone_unless_they_changed_since(db: TestDb) {
        let server = Server::with_usage(db).await;
        let weigh = async |name: &str, weight: &str| {
            let item = json!({"target_type": "user", "target_id": id(name), "project_id": id("vision"), "weight": weight});
            server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": [item]}))).await.json(200);
            newest(&server).await
        };
        let patch = async |opts: Value| {
            server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler_opts": opts}))).await.json(200);
            newest(&server).await
        };
        let start = now(&server);
        let both = json!({"items": [
            {"target_type": "domain", "target_id": "research", "weight": "2"},
            {"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": "5"},
        ]});
        server.call("PUT", &group("/fair-share-weights"), Some(&both)).await.json(200);
        let first = newest(&server).await;
        let weighed = now(&server);
        let undone = undo(&server, first).await.json(200)["audit_id"].as_i64().unwrap();
        assert_eq!(now(&server), start);
        // Once undone it is not undone again, but the undo is.
        let refused = undo(&server, first).await;
        assert_eq!(refused.refused(409, "changed_since"), [""; 0]);
        assert_eq!((&refused.json(409)["audit_id"], &refused.json(409)["actor"]), (&json!(undone), &json!("admin")));
        let redone = undo(&server, undone).await.json(200)["audit_id"].as_i64().unwrap();
        assert_eq!(now(&server), weighed);
        // If a part of a bulk write was changed since, nothing of it is undone; the weight of another user does not matter.
        weigh("bob", "7").await;
        let later = weigh("alice", "6").await;
        assert_eq!(undo(&server, redone).await.json(409)["audit_id"], later);
        undo(&server, later).await.json(200);
        let of = patch(json!({"half_life_days": 3, "order": "tiered"})).await;
        patch(json!({"max_gap_hours": 5})).await;
        undo(&server, of).await.json(200);
        let opts = server.get(&group("/scheduler-options")).await["scheduler_opts"].clone();
        assert_eq!((&opts["half_life_days"], &opts["order"], &opts["max_gap_hours"]), (&json!(7), &json!("flat"), &json!(5)));
        let first = patch(json!({"decay": "continuous"})).await;
        let second = patch(json!({"decay": "flat"})).await;
        assert_eq!(undo(&server, first).await.json(409)["audit_id"], second);
        // Other entries cannot be undone, and unknown ones are not there.
        server.agent("node-02", &json!({"cpu": "1"})).await;
        assert_eq!(undo(&server, newest(&server).await).await.refused(422, "not_undoable"), ["/id"]);
        undo(&server, 1_000_000).await.refused(404, "unknown_audit_entry");
        let scheduler = create_key(&server, Role::Scheduler, None).await;
        server.call_as(&scheduler, "POST", &format!("/audit-log/{first}/undo"), None).await.refused(403, "forbidden");
        // A group that has the name of one that was removed is another one.
        server.group("short", &json!({})).await;
        server.call("PATCH", "/resource-groups/short/scheduler-options", Some(&json!({"scheduler": "fifo"}))).await.json(200);
        let gone = newest(&server).await;
        assert!(server.call("DELETE", "/resource-groups/short", None).await.status.is_success());
        undo(&server, gone).await.refused(404, "unknown_resource_group");
        server.clock.advance_seconds(1);
        server.group("short", &json!({})).await;
        assert_eq!(undo(&server, gone).await.refused(422, "not_undoable"), ["/id"]);
    }

    /// The example in `docs/WHAT_IF.md`.
    async fn the_example_of_the_documentation_works(db: TestDb) {
        let page = include_str!("../../../docs/WHAT_IF.md");
        let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let server = Server::with_usage(db).await;
        let changes: Value = serde_json::from_str(example).unwrap();
        let answer = server.call("POST", &group(PATH), Some(&changes)).await.json(200);
        assert_eq!(answer["winners"][0]["user_uuid"], json!(id("bob")), "{answer}");
    }
}
