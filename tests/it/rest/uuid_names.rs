//! Names that look like UUIDs: hashes, and subjects of `OpenID` Connect.

use fairshared::domain::identity;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T10:00:00Z";
/// One name for each way to write a UUID.
const NAMES: [&str; 5] = [
    "8b1a9953c4611296a827abf8c47804d7",
    "4f2c9a10-b7de-4d05-a3f1-c09e8d7b6a55",
    "5D41402A-BC4B-4A76-B971-9D911017C592",
    "urn:uuid:7d793037-a076-4868-81bf-69beacc9c2a3",
    "{e4da3b7f-bbce-4345-9777-2b0674a318d5}",
];

fn named(kernel_name: &str, user: &str, project: &str) -> Value {
    json!({
        "kernel_id": id(kernel_name), "session_id": id(kernel_name), "user": user, "project": project,
        "domain_name": "research", "occupied_slots": {"cpu": "1"}, "status": "RUNNING", "started_at": START,
    })
}

/// A text as a part of a path or query.
fn escaped(text: &str) -> String {
    text.replace('{', "%7B").replace('}', "%7D")
}

/// A server with each name as that of a user and of a project.
async fn server(db: crate::support::database::TestDb) -> Server {
    let server = Server::new(db).await;
    server.agent("node-01", &json!({"cpu": "100"})).await;
    let kernels: Vec<Value> = NAMES.iter().map(|name| named(&format!("k{name}"), name, name)).collect();
    let answer = server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
    assert_eq!(answer["accepted"], NAMES.len());
    server.tick().await;
    server
}

on_both! {
    async fn each_path_and_parameter_finds_who_has_the_name(db: TestDb) {
        let server = server(db).await;
        for name in NAMES {
            let (user, project, text) = (identity::user(name), identity::project(name), escaped(name));
            assert_eq!(server.get(&format!("/users/{text}")).await["user_uuid"], json!(user), "{name}");
            assert_eq!(server.get(&format!("/projects/{text}")).await["project_id"], json!(project), "{name}");
            for path in ["/kernels", "/usage-buckets/users", "/usage-records", "/usage-report"] {
                let period = match path {
                    "/usage-records" | "/usage-report" => "&from=2026-01-13&to=2026-01-13",
                    _ => "",
                };
                let found = server.get(&group(&format!("{path}?user={text}&project={text}{period}"))).await;
                assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{path} {name}: {found}");
            }
            server.get(&group(&format!("/fair-share-history?user={text}&project={text}"))).await;
            let status = server.get(&group(&format!("/fair-share-status?user={text}&project={text}"))).await;
            assert_eq!((&status["user_uuid"], &status["project_id"]), (&json!(user), &json!(project)));
            let why = server.get(&group(&format!("/explain?user={text}&project={text}"))).await;
            assert_eq!(why["user_uuid"], json!(user), "{why}");
            assert_eq!(server.get(&format!("/audit-log?target=user:{text}")).await["total"], 0);
        }
    }

    async fn a_put_by_name_changes_the_one_who_has_it(db: TestDb) {
        let server = server(db).await;
        for name in NAMES {
            let (path, of_project) = (format!("/users/{}", escaped(name)), format!("/projects/{}", escaped(name)));
            let put = server.call("PUT", &path, Some(&json!({"display_name": "Ann"}))).await.json(200);
            assert_eq!((&put["user_uuid"], &put["name"]), (&json!(identity::user(name)), &json!(name)));
            let put = server.call("PUT", &of_project, Some(&json!({"display_name": "Biology"}))).await.json(200);
            assert_eq!((&put["project_id"], &put["name"]), (&json!(identity::project(name)), &json!(name)));
            // GET can be put, and the UUID in answers is accepted.
            assert_eq!(server.call("PUT", &of_project, Some(&put)).await.json(200), put);
            let by_id = server.get(&format!("/users/{}", identity::user(name))).await;
            assert_eq!(by_id["name"], name);
        }
        assert_eq!(server.get("/users").await["total"], NAMES.len());
        assert_eq!(server.get("/projects").await["total"], NAMES.len());
    }

    async fn bodies_mean_who_has_the_name(db: TestDb) {
        let server = server(db).await;
        for name in NAMES {
            let (user, project) = (identity::user(name), identity::project(name));
            let workloads = json!({"workloads": [{"workload_id": "w", "user": name, "project": name}]});
            let order = server.call("POST", &group("/sequence"), Some(&workloads)).await.json(200);
            assert!(order["items"][0]["rank"].is_u64(), "{order}");
            for item in [json!({"user": name, "project": name}), json!({"target_id": name, "project": name})] {
                let item = with(item, &json!({"target_type": "user", "weight": "3"}));
                server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": [item]}))).await.json(200);
            }
            let status = server.get(&group(&format!("/fair-share-status?user_uuid={user}&project_id={project}"))).await;
            assert_eq!(status["effective_weight"], "3");
            let file = json!({"projects": {name: "2"}, "users": [{"user": name, "project": name, "weight": "5"}]});
            let done = server.call("PUT", &group("/configuration"), Some(&file)).await.json(200);
            assert_eq!(done["set"], 2, "{done}");
            let whole = server.get(&group("/configuration")).await;
            assert!(whole["projects"].get(name).is_some(), "{whole}");
            let asked = json!({"weights": [{"target_type": "user", "user": name, "weight": "9"}]});
            server.call("POST", &group("/fair-share-simulations"), Some(&asked)).await.json(200);
            let plan = json!({"workload_id": "p", "project": name, "members": [{"slots": {"cpu": 1}}]});
            server.call("POST", &group("/reclaim-plans"), Some(&plan)).await.json(200);
            let key = json!({"role": "user", "label": "own", "user": name});
            assert_eq!(server.call("POST", "/keys", Some(&key)).await.json(201)["user_uuid"], json!(user));
        }
        assert_eq!(server.get("/users").await["total"], NAMES.len());
        // An answer of GET means the same when it comes back.
        let whole = server.get(&group("/configuration")).await;
        let again = server.call("PUT", &group("/configuration?prune=true"), Some(&whole)).await.json(200);
        assert_eq!((&again["set"], &again["unset"]), (&json!(0), &json!(0)), "{again}");
    }

    async fn live_rows_go_to_who_has_the_name(db: TestDb) {
        let server = server(db).await;
        let later: Vec<Value> = NAMES.iter().map(|name| named(&format!("l{name}"), name, name)).collect();
        let answer = server.call("POST", &group("/kernels"), Some(&json!(later))).await.json(200);
        assert_eq!(answer["accepted"], NAMES.len());
        assert_eq!(server.get("/users").await["total"], NAMES.len());
        for name in NAMES {
            assert_eq!(server.get(&group(&format!("/kernels?user={}", escaped(name)))).await["total"], 2);
        }
        server.tick().await;
        server.assert_conserved().await;
    }

    async fn graphql_finds_who_has_the_name(db: TestDb) {
        let server = server(db).await;
        for name in NAMES {
            let query = format!(
                "{{ user(user_uuid: \"{name}\") {{ name }} project(project_id: \"{name}\") {{ name }} \
                 kernels(resource_group: \"gpu-cluster\", user_uuid: \"{name}\") {{ count }} \
                 user_fair_share(resource_group: \"gpu-cluster\", user_uuid: \"{name}\", project_id: \"{name}\") {{ user_uuid }} \
                 usage_report(from: \"2026-01-13\", to: \"2026-01-13\", user_uuid: \"{name}\") {{ count }} }}"
            );
            let found = server.graphql(&query).await["data"].clone();
            if name.len() == 36 && name.to_lowercase() != name || name.len() > 36 {
                // An argument of the type UUID does not keep upper case and marks.
                continue;
            }
            assert_eq!((&found["user"]["name"], &found["project"]["name"]), (&json!(name), &json!(name)));
            assert_eq!((&found["kernels"]["count"], &found["usage_report"]["count"]), (&json!(1), &json!(1)));
            assert_eq!(found["user_fair_share"]["user_uuid"], json!(identity::user(name)));
            let put = format!("mutation {{ upsert_user(user_uuid: \"{name}\", display_name: \"Ann\") {{ name }} }}");
            assert_eq!(server.graphql(&put).await["data"]["upsert_user"]["name"], name);
        }
        assert_eq!(server.get("/users").await["total"], NAMES.len());
    }

    async fn a_uuid_without_such_a_name_stays_a_uuid(db: TestDb) {
        let server = Server::new(db).await;
        let hidden = id("alice").simple().to_string();
        // Known by UUID first: the same person in every spelling, whether the place takes names only or both.
        server.call("POST", &group("/kernels"), Some(&kernel("k1", "alice", "ml", START))).await.json(200);
        let texts = [id("alice").to_string(), hidden.clone(), hidden.to_uppercase(), id("alice").urn().to_string()];
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(server.get(&format!("/users/{text}")).await["user_uuid"], json!(id("alice")), "{text}");
            let row = with(named(&format!("n{at}"), text, "ml"), &json!({"project": id("ml")}));
            assert_eq!(server.call("POST", &group("/kernels"), Some(&row)).await.json(200)["accepted"], 1);
        }
        assert_eq!((&server.get("/users").await["total"], &server.get("/projects").await["total"]), (&json!(1), &json!(1)));
        assert_eq!(server.get(&format!("/users/{}", id("alice"))).await["name"], Value::Null);
        // An identity provider announces a person by UUID.
        let put = server.call("PUT", &format!("/users/{}", id("bob")), Some(&json!({"name": "bob"}))).await.json(201);
        assert_eq!(put["user_uuid"], json!(id("bob")));
        // A name that hides the UUID of another user is refused, and so is a list for an unknown user.
        let other = json!({"name": id("alice")});
        assert_eq!(server.call("PUT", "/users/bob", Some(&other)).await.refused(422, "invalid_name"), ["/name"]);
        let unknown = server.call("GET", &group(&format!("/kernels?user={}", NAMES[0])), None).await;
        assert_eq!(unknown.refused(422, "unknown_user"), ["/user"]);
    }

    async fn a_display_name_of_an_earlier_import_counts_as_the_name(db: TestDb) {
        let server = Server::new(db).await;
        for name in NAMES {
            let row = json!({
                "user_uuid": identity::user(name), "user_name": name, "project_id": identity::project(name), "project_name": name,
            });
            let mut sent = with(named(&format!("k{name}"), name, name), &row);
            for key in ["user", "project"] {
                sent.as_object_mut().unwrap().remove(key);
            }
            assert_eq!(server.call("POST", &group("/kernels"), Some(&sent)).await.json(200)["accepted"], 1);
            assert_eq!(server.get(&format!("/users/{}", escaped(name))).await["user_uuid"], json!(identity::user(name)));
            let put = server.call("PUT", &format!("/users/{}", escaped(name)), Some(&json!({}))).await.json(200);
            assert_eq!(put["name"], name);
            // A user with another name since is still found by the name that the id follows from.
            server.call("PUT", &format!("/users/{}", escaped(name)), Some(&json!({"name": format!("x{name}")}))).await.json(200);
            let row = named(&format!("l{name}"), name, name);
            assert_eq!(server.call("POST", &group("/kernels"), Some(&row)).await.json(200)["accepted"], 1);
        }
        assert_eq!(server.get("/users").await["total"], NAMES.len());
        assert_eq!(server.get("/projects").await["total"], NAMES.len());
    }
}
