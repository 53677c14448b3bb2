//! Domains, projects and users over REST: created in advance, named, moved, archived.

use fairshared::domain::identity;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T10:00:00Z";

/// A running kernel whose report gives its owner by name.
fn by_name(kernel_name: &str, user: &str, project: &str, domain: &str) -> Value {
    json!({
        "kernel_id": id(kernel_name), "session_id": id(kernel_name), "user": user, "project": project,
        "domain_name": domain, "occupied_slots": {"cpu": "1"}, "status": "RUNNING", "started_at": START,
    })
}

async fn post(server: &Server, kernels: &[Value]) -> Value {
    server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200)
}

async fn put(server: &Server, path: &str, body: Value, status: u16) -> Value {
    server.call("PUT", path, Some(&body)).await.json(status)
}

fn names(list: &Value, key: &str) -> Vec<String> {
    list["items"].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap_or_default().to_owned()).collect()
}

/// The newest entries of the audit log with this action.
async fn entries(server: &Server, action: &str) -> Vec<Value> {
    server.get(&format!("/audit-log?action={action}")).await["items"].as_array().unwrap().clone()
}

on_both! {
    async fn a_weight_is_set_before_the_first_job(db: TestDb) {
        let server = Server::new(db).await;
        let alice = put(&server, "/users/alice", json!({"display_name": "Alice Liddell", "reason": "starts in May"}), 201).await;
        assert_eq!(alice, json!({
            "user_uuid": identity::user("alice"), "name": "alice", "display_name": "Alice Liddell", "archived": false,
            "archived_at": null, "created_at": "2026-01-13T12:00:00Z",
        }));
        assert_eq!(put(&server, "/projects/climate", json!({}), 422).await["code"], "missing_field");
        let climate = put(&server, "/projects/climate", json!({"domain_name": "earth"}), 201).await;
        assert_eq!((&climate["name"], &climate["domain_name"], &climate["domain_pinned"]), (&json!("climate"), &json!("earth"), &json!(true)));
        assert_eq!(names(&server.get("/domains").await, "name"), ["earth"]);
        let weights = json!({"items": [
            {"target_type": "domain", "domain_name": "earth", "weight": "2"},
            {"target_type": "project", "project": "climate", "weight": "3"},
            {"target_type": "user", "user": "alice", "project": "climate", "weight": "0.5"},
        ]});
        let written = server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        assert_eq!(written, json!({"ok": true, "upserted": 3, "deleted": 0}));
        let stored = server.get(&group("/fair-share-weights")).await;
        let user = stored["items"].as_array().unwrap().iter().find(|row| row["target_type"] == "user").unwrap().clone();
        assert_eq!((&user["target_name"], &user["project_name"]), (&json!("alice"), &json!("climate")));
        // The answer of GET can be sent back.
        let again = server.call("PUT", &group("/fair-share-weights"), Some(&stored)).await.json(200);
        assert_eq!(again["upserted"], 3);
        // Her first job finds all of it.
        assert_eq!(post(&server, &[by_name("k1", "alice", "climate", "earth")]).await["accepted"], 1);
        let row = server.get(&group("/fair-share-status?user=alice&project=climate")).await;
        assert_eq!((&row["user_name"], &row["project_name"], &row["effective_weight"]), (&json!("alice"), &json!("climate"), &json!("3")));
        let log = entries(&server, "user.put").await;
        assert_eq!((&log[0]["reason"], &log[0]["target"]), (&json!("starts in May"), &json!(identity::user("alice").to_string())));
    }

    async fn what_get_answers_can_be_put(db: TestDb) {
        let server = Server::new(db).await;
        put(&server, "/users/alice", json!({}), 201).await;
        put(&server, "/projects/ml", json!({"domain_name": "research", "domain_pinned": false}), 201).await;
        for path in ["/users/alice", "/projects/ml", "/domains/research"] {
            let found = server.get(path).await;
            assert_eq!(put(&server, path, found.clone(), 200).await, found);
            let changed = with(found.clone(), &json!({"created_at": "whatever", "archived_at": 7}));
            assert_eq!(put(&server, path, changed, 200).await, found);
        }
        let before = server.get("/audit-log").await["total"].clone();
        let other = json!({"user_uuid": id("bob")});
        assert_eq!(server.call("PUT", "/users/alice", Some(&other)).await.refused(422, "contradiction"), ["/user_uuid"]);
        let other = json!({"project_id": id("bob")});
        assert_eq!(server.call("PUT", "/projects/ml", Some(&other)).await.refused(422, "contradiction"), ["/project_id"]);
        let other = json!({"name": "sales"});
        assert_eq!(server.call("PUT", "/domains/research", Some(&other)).await.refused(422, "contradiction"), ["/name"]);
        for (path, body, code, pointer) in [
            ("/users/alice", json!({"name": " alice"}), "invalid_name", "/name"),
            ("/users/alice", json!({"name": id("bob")}), "invalid_name", "/name"),
            ("/users/alice", json!({"display_name": ""}), "invalid_name", "/display_name"),
            ("/users/alice", json!({"nick": "al"}), "unknown_field", "/nick"),
            ("/users/%20alice", json!({}), "invalid_name", "/uuid"),
            ("/projects/ml", json!({"domain_name": "a/b"}), "invalid_name", "/domain_name"),
            ("/projects/ml", json!({"domain_name": null, "domain_pinned": true}), "contradiction", "/domain_pinned"),
            ("/domains/research", json!({"display_name": "a\nb"}), "invalid_name", "/display_name"),
        ] {
            assert_eq!(server.call("PUT", path, Some(&body)).await.refused(422, code), [pointer], "{path} {body}");
        }
        assert_eq!(server.get("/audit-log").await["total"], before);
        server.call("GET", "/users/nobody", None).await.refused(404, "unknown_user");
        server.call("GET", &format!("/projects/{}", id("nothing")), None).await.refused(404, "unknown_project");
        server.call("GET", "/domains/nowhere", None).await.refused(404, "unknown_domain");
    }

    async fn names_are_unique_and_mean_one(db: TestDb) {
        let server = Server::new(db).await;
        // An identity provider knows alice by a UUID of its own.
        let known = format!("/users/{}", id("alice"));
        put(&server, &known, json!({"name": "alice"}), 201).await;
        put(&server, "/users/bob", json!({}), 201).await;
        put(&server, "/users/bob", json!({"name": "alice"}), 409).await;
        assert_eq!(post(&server, &[by_name("k1", "alice", "ml", "research")]).await["accepted"], 1);
        let found = server.get(&group("/kernels?user=alice")).await["items"][0].clone();
        assert_eq!((&found["user_uuid"], &found["user_name"], &found["project_name"]), (&json!(id("alice")), &json!("alice"), &json!("ml")));
        // A report by UUID brings the one whose UUID follows from the name.
        let other = json!({"user_uuid": identity::user("alice")});
        post(&server, &[with(kernel("k2", "x", "ml", START), &other)]).await;
        let answer = post(&server, &[by_name("k3", "alice", "ml", "research")]).await;
        assert_eq!(answer["errors"][0]["errors"][0]["code"], "ambiguous_name");
        assert_eq!(answer["errors"][0]["errors"][0]["pointer"], "/user");
        let workloads = json!({"workloads": [{"workload_id": "w", "user": "alice", "project": "ml"}]});
        assert_eq!(server.call("POST", &group("/sequence"), Some(&workloads)).await.refused(422, "ambiguous_name"), ["/workloads/0/user"]);
        // Once one of them has another name, the name means the other.
        let rule = format!("/users/{}", identity::user("alice"));
        put(&server, &rule, json!({"name": "alice.old"}), 200).await;
        assert_eq!(post(&server, &[by_name("k3", "alice", "ml", "research")]).await["accepted"], 1);
        // A name that only the rule gives is taken as well.
        post(&server, &[with(kernel("k4", "x", "ml", START), &json!({"user_uuid": identity::user("carol")}))]).await;
        put(&server, &known, json!({"name": "carol"}), 409).await;
        assert_eq!(put(&server, &known, json!({"name": null}), 200).await["name"], Value::Null);
    }

    async fn names_stand_for_uuids_where_they_go_in(db: TestDb) {
        let server = Server::with_usage(db).await;
        let fault = |answer: Value| {
            let fault = &answer["errors"][0]["errors"][0];
            (fault["code"].as_str().unwrap().to_owned(), fault["pointer"].as_str().unwrap().to_owned())
        };
        let both = with(by_name("k9", "alice", "ml", "research"), &json!({"user_uuid": id("alice")}));
        assert_eq!(fault(post(&server, &[both]).await), ("give_one".to_owned(), "/user".to_owned()));
        let mut neither = by_name("k9", "alice", "ml", "research");
        neither.as_object_mut().unwrap().remove("project");
        assert_eq!(fault(post(&server, &[neither]).await), ("missing_field".to_owned(), "/project_id".to_owned()));
        let named = [by_name("k9", "dora", "ml", "research"), by_name("k8", "dora", "ml", "research")];
        assert_eq!(post(&server, &named).await["accepted"], 2);
        let workload = |id: &str, user: &str, project: &str| json!({"workload_id": id, "user": user, "project": project});
        let uuids = json!({"workload_id": "u", "user_uuid": identity::user("dora"), "project_id": identity::project("ml")});
        let body = json!({"workloads": [workload("n", "dora", "ml"), uuids, workload("new", "who", "what")]});
        let order = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let rank = |id: &str| order["items"].as_array().unwrap().iter().find(|i| i["workload_id"] == id).unwrap()["rank"].clone();
        assert!(rank("n").is_u64() && rank("n") == rank("u") && rank("new").is_null(), "{order}");
        for (workload, code, pointer) in [
            (json!({"workload_id": "w", "user": "dora"}), "missing_field", "/workloads/0/project_id"),
            (json!({"workload_id": "w", "user": "dora", "user_uuid": id("x"), "project": "ml"}), "give_one", "/workloads/0/user"),
            (json!({"workload_id": "w", "user": "", "project": "ml"}), "invalid_name", "/workloads/0/user"),
        ] {
            let body = json!({"workloads": [workload]});
            assert_eq!(server.call("POST", &group("/sequence"), Some(&body)).await.refused(422, code), [pointer], "{body}");
        }
        assert_eq!(server.get(&group("/kernels?user=dora&project=ml")).await["total"], 2);
        server.call("GET", &group(&format!("/kernels?user=dora&user_uuid={}", id("x"))), None).await.refused(422, "give_one");
        server.tick().await;
        let buckets = server.get(&group("/usage-buckets/users?user=dora")).await;
        assert_eq!((names(&buckets, "user_name"), names(&buckets, "project_name")), (vec!["dora".to_owned()], vec!["ml".to_owned()]));
        let plan = json!({"workload_id": "p", "project": "ml", "members": [{"slots": {"cpu": 1}}]});
        server.call("POST", &group("/reclaim-plans"), Some(&plan)).await.json(200);
        for (item, code, key) in [
            (json!({"target_type": "user", "target_id": id("alice"), "user": "alice"}), "give_one", "user"),
            (json!({"target_type": "project", "project": "ml", "target_id": id("ml")}), "give_one", "project"),
            (json!({"target_type": "domain", "domain_name": "research", "target_id": "research"}), "give_one", "domain_name"),
            (json!({"target_type": "user"}), "missing_field", "target_id"),
            (json!({"target_type": "project", "project": "ml", "user": "dora"}), "contradiction", "user"),
            (json!({"target_type": "project", "project": "nothing"}), "unknown_project", "project"),
        ] {
            let body = json!({"items": [with(item, &json!({"weight": "1"}))]});
            let refused = server.call("PUT", &group("/fair-share-weights"), Some(&body)).await.refused(422, code);
            assert_eq!(refused, [format!("/items/0/{key}")], "{body}");
        }
        let key = json!({"role": "user", "label": "dora", "user": "dora"});
        let created = server.call("POST", "/keys", Some(&key)).await.json(201);
        assert_eq!((&created["user_uuid"], &created["user_name"]), (&json!(identity::user("dora")), &json!("dora")));
        let who = server.call_as(created["key"].as_str().unwrap(), "GET", "/whoami", None).await.json(200);
        assert_eq!(who["user_name"], "dora");
    }

    async fn a_project_told_by_name_stays_in_its_domain(db: TestDb) {
        let server = Server::new(db).await;
        let answer = post(&server, &[by_name("k1", "alice", "default", "research"), by_name("k2", "bob", "default", "sales")]).await;
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(1), &json!(1)));
        assert_eq!(answer["errors"][0]["errors"][0]["code"], "project_in_other_domain");
        assert_eq!(answer["errors"][0]["errors"][0]["pointer"], "/domain_name");
        let again = post(&server, &[by_name("k2", "bob", "default", "sales")]).await;
        assert_eq!(again["errors"][0]["errors"][0]["code"], "project_in_other_domain");
        assert!(entries(&server, "project.moved").await.is_empty());
        // By UUID it moves, with an entry of its own.
        let uuid = identity::project("default");
        let later = json!({"project_id": uuid, "domain_name": "sales", "started_at": "2026-01-13T11:00:00Z"});
        assert_eq!(post(&server, &[with(kernel("k3", "bob", "x", START), &later)]).await["accepted"], 1);
        assert_eq!(server.get("/projects/default").await["domain_name"], "sales");
        let moved = entries(&server, "project.moved").await;
        assert_eq!((&moved[0]["target"], &moved[0]["resource_group"]), (&json!(uuid), &json!(GROUP)));
        assert_eq!((&moved[0]["before"]["domain_name"], &moved[0]["after"]["domain_name"]), (&json!("research"), &json!("sales")));
        assert_eq!(post(&server, &[by_name("k2", "bob", "default", "sales")]).await["accepted"], 1);
    }

    async fn a_project_that_an_admin_puts_into_a_domain_stays_there(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let vision = format!("/projects/{}", id("vision"));
        server.call("POST", "/resource-groups/other/kernels", Some(&kernel("o1", "alice", "vision", START))).await.json(200);
        let put_there = put(&server, &vision, json!({"domain_name": "pinned", "reason": "reorganised"}), 200).await;
        assert_eq!((&put_there["domain_name"], &put_there["domain_pinned"]), (&json!("pinned"), &json!(true)));
        // Every group follows at once.
        for name in [GROUP, "other"] {
            let rows = server.get(&format!("/resource-groups/{name}/fair-share-status")).await;
            let of_vision = rows["items"].as_array().unwrap().iter().filter(|row| row["project_id"] == json!(id("vision")));
            assert!(of_vision.clone().count() > 0 && of_vision.clone().all(|row| row["domain_name"] == "pinned"), "{rows}");
        }
        let later = json!({"domain_name": "elsewhere", "started_at": "2026-01-13T11:59:00Z"});
        let reports = [with(kernel("k5", "alice", "vision", START), &later), with(kernel("k6", "bob", "vision", START), &later)];
        let answer = post(&server, &reports).await;
        assert_eq!((&answer["accepted"], &answer["rejected"]), (&json!(2), &json!(0)));
        assert_eq!(answer["warnings"].as_array().unwrap().len(), 1, "{answer}");
        let warning = &answer["warnings"][0];
        assert_eq!((&warning["code"], &warning["kernels"], &warning["project_id"]), (&json!("domain_pinned"), &json!(2), &json!(id("vision"))));
        assert_eq!(server.get(&group("/kernels?domain_name=pinned")).await["total"], 2);
        assert_eq!(server.get(&vision).await["domain_name"], "pinned");
        // Unpinned, a newer report moves it.
        assert_eq!(put(&server, &vision, json!({"domain_name": null}), 200).await["domain_pinned"], false);
        server.clock.advance_seconds(120);
        let newest = json!({"domain_name": "free", "started_at": "2026-01-13T12:01:00Z"});
        let answer = post(&server, &[with(kernel("k7", "alice", "vision", START), &newest)]).await;
        assert!(answer.get("warnings").is_none(), "{answer}");
        assert_eq!(server.get(&vision).await["domain_name"], "free");
        server.tick().await;
        server.assert_conserved().await;
    }

    async fn archived_is_hidden_and_changes_nobody_elses_numbers(db: TestDb) {
        let server = Server::with_usage(db).await;
        let rows = async || server.get(&group("/fair-share-status")).await["items"].as_array().unwrap().clone();
        let before = rows().await;
        let bob = format!("/users/{}", id("bob"));
        let weight = json!({"items": [{"target_type": "user", "target_id": id("bob"), "weight": "3"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
        let with_weight = rows().await;
        let archived = put(&server, &bob, json!({"archived": true, "reason": "left"}), 200).await;
        assert_eq!((&archived["archived"], &archived["archived_at"]), (&json!(true), &json!("2026-01-13T12:00:00Z")));
        let others = |rows: &[Value]| rows.iter().filter(|row| row["user_uuid"] != json!(id("bob"))).cloned().collect::<Vec<_>>();
        assert_eq!(rows().await, others(&with_weight));
        assert_eq!(before.len(), 3);
        assert!(!server.get("/users").await["items"].to_string().contains(&id("bob").to_string()));
        assert_eq!(server.get("/users?archived=true").await["total"], 1);
        let query = json!({"query": format!("{{ user_fair_shares(resource_group: \"{GROUP}\") {{ count }} }}")});
        assert_eq!(server.call("POST", "/graphql", Some(&query)).await.json(200)["data"]["user_fair_shares"]["count"], 2);
        // Weight, history and the direct question stay.
        assert_eq!(server.get(&group("/fair-share-weights")).await["items"].as_array().unwrap().len(), 1);
        assert_eq!(server.get(&group(&format!("/usage-buckets/users?user_uuid={}", id("bob")))).await["total"], 1);
        assert_eq!(server.get(&group(&format!("/fair-share-status?user_uuid={}", id("bob")))).await["user_uuid"], json!(id("bob")));
        // A kernel that ended before does not end the archiving; a running one does.
        let old = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T11:00:00Z"});
        post(&server, &[with(kernel("old", "bob", "vision", START), &old)]).await;
        assert_eq!(server.get(&bob).await["archived"], true);
        post(&server, &[kernel("back", "bob", "vision", START)]).await;
        assert_eq!(server.get(&bob).await["archived"], false);
        assert_eq!(rows().await.len(), 3);
        assert_eq!(entries(&server, "user.restored").await.len(), 1);
        // A domain hides its projects and their users.
        put(&server, "/domains/research", json!({"archived": true}), 200).await;
        assert_eq!(rows().await.len(), 1);
        assert_eq!((server.get("/domains").await["total"].clone(), server.get("/projects").await["total"].clone()), (json!(1), json!(1)));
        assert_eq!(server.get("/projects?archived=true").await["total"], 1);
        post(&server, &[kernel("again", "alice", "vision", START)]).await;
        assert_eq!(rows().await.len(), 3);
        server.tick().await;
        server.assert_conserved().await;
    }

    async fn lists_are_paged_searched_and_cost_no_statements(db: TestDb) {
        let server = Server::new(db).await;
        let kernels: Vec<Value> = (0..25).map(|n| by_name(&format!("k{n}"), &format!("user-{n:02}"), &format!("p{}", n % 5), &format!("d{}", n % 5))).collect();
        assert_eq!(post(&server, &kernels).await["accepted"], 25);
        let (mut found, mut path) = (Vec::new(), "/users?limit=10".to_owned());
        loop {
            let page = server.get(&path).await;
            assert_eq!(page["total"], 25);
            found.extend(names(&page, "name"));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/users?limit=10&cursor={cursor}");
        }
        assert_eq!(found, (0..25).map(|n| format!("user-{n:02}")).collect::<Vec<_>>());
        assert_eq!(names(&server.get("/users?search=USER-1").await, "name").len(), 10);
        assert_eq!(names(&server.get("/projects?domain_name=d3").await, "name"), ["p3"]);
        let key = server.key_for(Role::Viewer, None).await;
        for path in ["/domains", "/projects", "/users", "/users/user-01"] {
            server.call_as(&key, "GET", path, None).await.json(200);
            let before = server.service.store().statements();
            server.call_as(&key, "GET", path, None).await.json(200);
            assert_eq!(server.service.store().statements(), before, "{path}");
        }
    }

    async fn roles_see_and_change_what_they_may(db: TestDb) {
        let server = Server::with_usage(db).await;
        let viewer = server.key_for(Role::Viewer, None).await;
        let scheduler = server.key_for(Role::Scheduler, None).await;
        let alice = server.key_for(Role::User, Some("alice")).await;
        for key in [&viewer, &scheduler, &alice] {
            for path in ["/users/x", "/projects/x", "/domains/x"] {
                server.call_as(key, "PUT", path, Some(&json!({"domain_name": "d"}))).await.status.is_client_error().then_some(()).unwrap();
            }
            server.call_as(key, "PUT", "/users/x", Some(&json!({}))).await.refused(403, "forbidden");
        }
        let own = server.call_as(&alice, "GET", "/users", None).await.json(200);
        assert_eq!(names(&own, "user_uuid"), [id("alice").to_string()]);
        server.call_as(&alice, "GET", &format!("/users/{}", id("alice")), None).await.json(200);
        server.call_as(&alice, "GET", &format!("/users/{}", id("bob")), None).await.refused(403, "forbidden");
        server.call_as(&alice, "GET", "/projects", None).await.refused(403, "forbidden");
        let body = json!({"role": "admin", "label": "gpu", "resource_groups": [GROUP]});
        let limited = server.call("POST", "/keys", Some(&body)).await.json(201)["key"].as_str().unwrap().to_owned();
        for path in ["/users", "/projects", "/domains"] {
            server.call_as(&limited, "GET", path, None).await.refused(403, "forbidden");
        }
        server.call_as(&limited, "PUT", "/users/x", Some(&json!({}))).await.refused(403, "forbidden");
    }

    async fn another_process_learns_of_people(db: TestDb) {
        let server = Server::new(db).await;
        let other = fairshared::service::Service::new(server.db.store().await, std::sync::Arc::clone(&server.clock) as _).await.unwrap();
        post(&server, &[by_name("k1", "alice", "ml", "research")]).await;
        put(&server, "/users/alice", json!({"name": "liddell"}), 200).await;
        put(&server, "/projects/ml", json!({"domain_name": "earth"}), 200).await;
        other.refresh().await.unwrap();
        let ann = identity::user("alice");
        let rows: Vec<_> = {
            let group_snapshot = other.group(&crate::support::fixture::admin(), GROUP).unwrap();
            group_snapshot.whole().unwrap().rows.users.iter().map(|row| (row.user_name.clone(), row.domain_name.clone())).collect()
        };
        assert_eq!(rows, [(Some("liddell".into()), "earth".into())]);
        assert_eq!(other.people().find_user("liddell").unwrap(), ann);
        // After a start too.
        let third = fairshared::service::Service::new(server.db.store().await, std::sync::Arc::clone(&server.clock) as _).await.unwrap();
        assert_eq!(third.people().find_user("liddell").unwrap(), ann);
        assert_eq!(&*third.people().project(identity::project("ml")).unwrap().domain_name, "earth");
    }

    async fn both_groups_of_two_processes_may_name_the_same_newcomers(db: TestDb) {
        let server = Server::new(db).await;
        server.group("other", &json!({})).await;
        let second = fairshared::service::Service::new(server.db.store().await, std::sync::Arc::clone(&server.clock) as _).await.unwrap();
        let batch = |group: &'static str| (0..40).map(move |n| {
            let kernel = by_name(&format!("{group}{n}"), &format!("u{}", n % 7), &format!("p{}", n % 3), "research");
            crate::support::fixture::incoming(&kernel)
        }).collect::<Vec<_>>();
        let caller = crate::support::fixture::admin();
        let (a, b) = tokio::join!(
            server.service.ingest(&caller, GROUP, batch(GROUP)),
            second.ingest(&caller, "other", batch("other")),
        );
        assert!(a.unwrap().is_empty() && b.unwrap().is_empty());
        server.service.refresh().await.unwrap();
        assert_eq!(server.get("/users").await["total"], 7);
        assert_eq!(names(&server.get("/projects").await, "name"), ["p0", "p1", "p2"]);
    }

    async fn a_group_with_history_goes_only_when_it_is_confirmed(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("");
        let answer = server.call("DELETE", &path, None).await;
        answer.refused(409, "confirmation_needed");
        let counts = answer.json(409)["counts"].clone();
        assert_eq!((&counts["kernels"], &counts["running_kernels"]), (&json!(3), &json!(3)));
        assert!(counts["usage_records"].as_u64().unwrap() >= 3 && counts["usage_buckets"].as_u64().unwrap() >= 7, "{counts}");
        server.call("DELETE", &format!("{path}?confirm=other&force=true"), None).await.refused(409, "confirmation_needed");
        server.call("DELETE", &format!("{path}?confirm={GROUP}"), None).await.refused(409, "kernels_running");
        assert_eq!(server.get(&group("/kernels")).await["total"], 3);
        assert_eq!(server.call("DELETE", &format!("{path}?confirm={GROUP}&force=true&reason=sold"), None).await.status, 204);
        let entry = entries(&server, "resource_group.delete").await[0].clone();
        assert_eq!((&entry["before"]["removed"]["kernels"], &entry["before"]["removed"]["agents"], &entry["reason"]), (&json!(3), &json!(1), &json!("sold")));
        assert_eq!(entry["before"]["removed"]["usage_records"], counts["usage_records"]);
        assert_eq!(entry["before"]["removed"]["day_totals"], counts["day_totals"]);
        // The people outlive the group.
        assert_eq!(server.get("/users").await["total"], 3);
        // An empty one needs no second word.
        server.group("empty", &json!({})).await;
        assert_eq!(server.call("DELETE", "/resource-groups/empty", None).await.status, 204);
    }

    async fn usage_of_years_gone_by_keeps_a_group_too(db: TestDb) {
        let server = Server::new(db).await;
        let old = "/resource-groups/old";
        server.group("old", &json!({})).await;
        let rows = json!([{"day": "2025-01-05", "user": "ann", "project": "ml", "domain_name": "research", "resource_usage": {"cpu": "3600"}}]);
        let history = json!({"rows": rows, "complete": true});
        server.call("PUT", &format!("{old}/usage-histories/2025"), Some(&history)).await.json(200);
        let answer = server.call("DELETE", old, None).await;
        answer.refused(409, "confirmation_needed");
        let problem = answer.json(409);
        assert_eq!(problem["counts"], json!({
            "kernels": 0, "running_kernels": 0, "usage_records": 0, "usage_buckets": 0, "day_totals": 1, "usage_histories": 1,
        }));
        let said = problem["detail"].as_str().unwrap();
        assert!(said.contains("1 day totals and 1 usage histories; to remove all of them, repeat with confirm=old"), "{said}");
        assert_eq!(server.call("DELETE", &format!("{old}?confirm=old"), None).await.status, 204);
        let entry = entries(&server, "resource_group.delete").await[0].clone();
        assert_eq!(entry["before"]["removed"], json!({"day_totals": 1, "usage_histories": 1}));
        // An upload that was begun is lost with its group as well.
        server.group("old", &json!({})).await;
        let begun = json!({"rows": [], "complete": false});
        server.call("PUT", &format!("{old}/usage-histories/2025"), Some(&begun)).await.json(200);
        server.call("DELETE", old, None).await.refused(409, "confirmation_needed");
    }
}
