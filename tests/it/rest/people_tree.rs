//! The tree of people that a connector brings.

use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::{Answer, Server, group, newest, undo};
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::on_both;

/// `physics` with two projects, and `bio` with one.
fn tree() -> Value {
    json!({"resource_group": GROUP, "domains": [
        {"domain_name": "physics", "weight": "3", "projects": [
            {"project": "climate", "weight": "2", "users": [{"user": "ada", "weight": "1"}, {"user": "ben", "weight": "4"}]},
            {"project": "ocean", "weight": "1", "users": [{"user": "ada", "weight": "1"}]},
        ]},
        {"domain_name": "bio", "weight": "1", "projects": [{"project": "genes", "users": [{"user": "cid"}]}]},
    ]})
}

async fn connector_key(server: &Server, group: &str) -> String {
    let new = NewKey {
        role: Role::Connector,
        label: "slurm".to_owned(),
        user: None,
        expires_at: None,
        groups: Some(vec![group.to_owned()]),
    };
    server.service.create_key(admin(), new).await.unwrap().0
}

async fn put(server: &Server, key: &str, tree: &Value) -> Answer {
    server.call_as(key, "PUT", "/people-tree", Some(tree)).await
}

/// Set, unset, unchanged, moved and created.
fn counts(answer: &Value) -> [u64; 5] {
    ["set", "unset", "unchanged", "moved", "created"].map(|key| answer[key].as_u64().unwrap())
}

/// The rows of a list of the answer as `(name, key, from, to)`.
fn rows(answer: &Value, list: &str) -> Vec<(String, String, Value, Value)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row = |item: &Value| {
        let name = if item["target_name"].is_string() { &item["target_name"] } else { &item["target_id"] };
        (text(name), text(&item["key"]), item["from"].clone(), item["to"].clone())
    };
    answer[list].as_array().unwrap().iter().map(row).collect()
}

fn row(name: &str, key: &str, from: &Value, to: &Value) -> (String, String, Value, Value) {
    (name.to_owned(), key.to_owned(), from.clone(), to.clone())
}

/// The weights of the group by the names of their targets.
async fn weights(server: &Server) -> Vec<(String, String)> {
    let listed = server.get(&group("/fair-share-weights")).await;
    let shown = |item: &Value| {
        let name = item["target_name"].as_str().or(item["target_id"].as_str()).unwrap();
        let project = item["project_name"].as_str().map(|project| format!("{project}/")).unwrap_or_default();
        (format!("{project}{name}"), item["weight"].as_str().unwrap().to_owned())
    };
    let mut all: Vec<_> = listed["items"].as_array().unwrap().iter().map(shown).collect();
    all.sort();
    all
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(name, weight)| ((*name).to_owned(), (*weight).to_owned())).collect()
}

const BROUGHT: [(&str, &str); 7] = [
    ("bio", "1"),
    ("climate", "2"),
    ("climate/ada", "1"),
    ("climate/ben", "4"),
    ("ocean", "1"),
    ("ocean/ada", "1"),
    ("physics", "3"),
];

on_both! {
    async fn a_tree_brings_people_and_weights_and_again_changes_nothing(db: TestDb) {
        let server = Server::new(db).await;
        let key = connector_key(&server, GROUP).await;
        let preview = server.call_as(&key, "PUT", "/people-tree?dry_run=true", Some(&tree())).await.json(200);
        assert_eq!(counts(&preview), [7, 0, 0, 0, 9]);
        assert_eq!((weights(&server).await, server.get("/users").await["total"].clone()), (Vec::new(), json!(0)));

        let entries = server.get("/audit-log").await["total"].as_u64().unwrap();
        let answer = put(&server, &key, &tree()).await.json(200);
        assert_eq!((&answer["items"], counts(&answer)), (&preview["items"], counts(&preview)));
        assert_eq!(answer["pinned"], json!([]));
        assert_eq!(weights(&server).await, pairs(&BROUGHT));
        let entry = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!([&entry["action"], &entry["actor"], &entry["target"]], ["people_tree.put", "slurm", GROUP].map(|text| json!(text)).each_ref());
        assert_eq!(entry["after"]["weights"]["domain:physics"], "3");
        assert_eq!(server.get("/projects/ocean").await["domain_name"], "physics");
        assert_eq!(server.get("/projects/ocean").await["domain_pinned"], false);
        // Users without usage have a rank, because the scheduler counts them, too.
        assert_eq!(server.get(&group("/fair-share-status")).await["total"], 4);

        let again = put(&server, &key, &tree()).await.json(200);
        assert_eq!((counts(&again), &again["items"]), ([0, 0, 7, 0, 0], &json!([])));
        assert_eq!(server.get("/audit-log").await["total"], entries + 1);
        let server = Server::over(server.fixture.restart().await, server.key.clone());
        assert_eq!(counts(&put(&server, &key, &tree()).await.json(200)), [0, 0, 7, 0, 0]);
    }

    async fn shares_change_accounts_move_and_go(db: TestDb) {
        let server = Server::new(db).await;
        let key = connector_key(&server, GROUP).await;
        put(&server, &key, &tree()).await.json(200);
        let mut next = tree();
        next["domains"][0]["weight"] = json!("5");
        let ocean = next["domains"][0]["projects"].as_array_mut().unwrap().remove(1);
        next["domains"][1]["projects"].as_array_mut().unwrap().push(ocean);
        next["domains"][0]["projects"][0]["users"].as_array_mut().unwrap().pop();
        next["reason"] = json!("accounts of October");
        let answer = put(&server, &key, &next).await.json(200);
        assert_eq!(counts(&answer), [1, 1, 5, 1, 0]);
        assert_eq!(rows(&answer, "items"), [
            row("ocean", "domain_name", &json!("physics"), &json!("bio")),
            row("physics", "weight", &json!("3"), &json!("5")),
            row("ben", "weight", &json!("4"), &json!(null)),
        ]);
        assert_eq!(server.get("/projects/ocean").await["domain_name"], "bio");
        let shown = server.get(&group("/fair-share-status/projects")).await;
        let ocean = shown["items"].as_array().unwrap().iter().find(|item| item["project_name"] == "ocean").unwrap().clone();
        assert_eq!(ocean["domain_name"], "bio");
        assert_eq!(server.get("/audit-log?limit=1").await["items"][0]["reason"], "accounts of October");

        // The entry is undone as a whole.
        undo(&server, newest(&server).await).await.json(200);
        assert_eq!(weights(&server).await, pairs(&BROUGHT));
        assert_eq!(server.get("/projects/ocean").await["domain_name"], "physics");
    }

    async fn what_an_admin_has_set_by_hand_stays(db: TestDb) {
        let server = Server::new(db).await;
        let key = connector_key(&server, GROUP).await;
        // Before the first tree.
        server.call("PUT", "/domains/bio", Some(&json!({}))).await.json(201);
        let set = async |target: &Value, weight: &Value| {
            let mut item = target.clone();
            item["weight"] = weight.clone();
            server.call("PUT", &group("/fair-share-weights"), Some(&json!({"items": [item]}))).await.json(200);
        };
        let bio = json!({"target_type": "domain", "target_id": "bio"});
        set(&bio, &json!("7")).await;
        let answer = put(&server, &key, &tree()).await.json(200);
        assert_eq!(rows(&answer, "pinned"), [row("bio", "weight", &json!("7"), &json!("1"))]);
        assert_eq!(answer["pinned"][0]["pointer"], "/domains/1");
        let warning = &answer["warnings"][0];
        assert_eq!([&warning["code"], &warning["pointer"]], [&json!("pinned"), &json!("/domains/1")]);

        // After it.
        set(&json!({"target_type": "project", "project": "climate"}), &json!("9")).await;
        set(&json!({"target_type": "user", "user": "ada", "project": "ocean"}), &json!("8")).await;
        server.call("PUT", "/projects/genes", Some(&json!({"domain_name": "physics"}))).await.json(200);
        let mut next = tree();
        next["domains"][0]["projects"].as_array_mut().unwrap().pop();
        let answer = put(&server, &key, &next).await.json(200);
        assert_eq!(rows(&answer, "pinned"), [
            row("genes", "domain_name", &json!("physics"), &json!("bio")),
            row("climate", "weight", &json!("9"), &json!("2")),
            row("bio", "weight", &json!("7"), &json!("1")),
        ]);
        assert_eq!(answer["warnings"][0]["count"], 3);
        // The tree does not have the project any more, and the weight that it has brought goes; that of the admin stays.
        assert_eq!(rows(&answer, "items"), [row("ocean", "weight", &json!("1"), &json!(null))]);
        assert_eq!(
            weights(&server).await,
            pairs(&[("bio", "7"), ("climate", "9"), ("climate/ada", "1"), ("climate/ben", "4"), ("ocean/ada", "8"), ("physics", "3")])
        );
        assert_eq!(server.get("/projects/genes").await["domain_name"], "physics");

        // A weight that is unset, and a project that is not pinned, follow the tree again.
        set(&bio, &json!(null)).await;
        server.call("PUT", "/projects/genes", Some(&json!({"domain_pinned": false}))).await.json(200);
        let answer = put(&server, &key, &next).await.json(200);
        assert_eq!(rows(&answer, "pinned"), [row("climate", "weight", &json!("9"), &json!("2"))]);
        assert_eq!(rows(&answer, "items"), [
            row("genes", "domain_name", &json!("physics"), &json!("bio")),
            row("bio", "weight", &json!(null), &json!("1")),
        ]);

        // A weight that was set by hand stays also where its account moves.
        let climate = next["domains"][0]["projects"].as_array_mut().unwrap().remove(0);
        next["domains"][1]["projects"].as_array_mut().unwrap().push(climate);
        let answer = put(&server, &key, &next).await.json(200);
        assert_eq!(rows(&answer, "items"), [row("climate", "domain_name", &json!("physics"), &json!("bio"))]);
        for _ in 0..2 {
            let answer = put(&server, &key, &next).await.json(200);
            assert_eq!(rows(&answer, "pinned"), [row("climate", "weight", &json!("9"), &json!("2"))]);
            assert_eq!(answer["items"], json!([]));
        }
        let climate = server.get("/projects/climate").await["project_id"].as_str().unwrap().to_owned();
        let moves = server.get(&format!("/audit-log?target={climate}&action=people_tree.put")).await;
        assert_eq!(moves["total"], 1);
        assert_eq!(moves["items"][0]["after"]["projects"][format!("project:{climate}")]["domain_name"], "bio");
    }

    async fn a_tree_that_is_wrong_changes_nothing(db: TestDb) {
        let server = Server::new(db).await;
        let key = connector_key(&server, GROUP).await;
        let mut wrong = tree();
        wrong["domains"][0]["weight"] = json!("0");
        wrong["domains"][0]["projects"][1]["users"][0]["weight"] = json!("much");
        wrong["domains"][1]["domain_name"] = json!("a/b");
        wrong["domains"][1]["projects"][0]["project"] = json!("climate");
        wrong["domains"][1]["projects"][0]["users"][0]["user"] = json!(" ");
        assert_eq!(put(&server, &key, &wrong).await.refused(422, "invalid"), [
            "/domains/0/weight", "/domains/0/projects/1/users/0/weight", "/domains/1/domain_name", "/domains/1/projects/0/project",
            "/domains/1/projects/0/users/0/user",
        ]);
        for (change, status, code) in [
            (json!({"resource_group": "nowhere"}), 403, "forbidden"), (json!({"domains": 7}), 422, "invalid_type"),
            (json!({"roots": []}), 422, "unknown_field"),
        ] {
            let mut wrong = tree();
            wrong.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            put(&server, &key, &wrong).await.refused(status, code);
        }
        let elsewhere = json!({"resource_group": "nowhere", "domains": []});
        put(&server, &server.key, &elsewhere).await.refused(404, "unknown_resource_group");
        let users: Vec<Value> = (0..250_000).map(|at| json!({"user": at.to_string()})).collect();
        let large = json!({"resource_group": GROUP, "domains": [{"domain_name": "d", "projects": [{"project": "p", "users": users}]}]});
        assert_eq!(put(&server, &key, &large).await.refused(422, "too_many"), ["/domains"]);
        assert_eq!((weights(&server).await, server.get("/users").await["total"].clone()), (Vec::new(), json!(0)));
    }

    async fn a_connector_changes_nothing_of_other_groups(db: TestDb) {
        let server = Server::new(db).await;
        server.group("other", &json!({})).await;
        put(&server, &server.key, &tree()).await.json(200);
        let key = connector_key(&server, "other").await;
        let theirs = json!({"resource_group": "other", "domains": [{"domain_name": "bio", "projects": [
            {"project": "ocean", "weight": "6"}, {"project": "own", "weight": "2"},
        ]}]});
        let answer = put(&server, &key, &theirs).await.json(200);
        assert_eq!(rows(&answer, "pinned"), [row("ocean", "domain_name", &json!("physics"), &json!("bio"))]);
        assert_eq!(counts(&answer), [2, 0, 0, 0, 3]);
        assert_eq!(server.get("/projects/ocean").await["domain_name"], "physics");
        assert_eq!(weights(&server).await, pairs(&BROUGHT));
        put(&server, &key, &tree()).await.refused(403, "forbidden");
    }

    async fn the_tree_is_answered_with_what_is_pinned(db: TestDb) {
        let server = Server::new(db).await;
        let key = connector_key(&server, GROUP).await;
        let path = format!("/people-tree?resource_group={GROUP}");
        assert_eq!(server.get(&path).await, json!({"resource_group": GROUP, "domains": []}));
        put(&server, &key, &tree()).await.json(200);
        let domain = |name: &str, weight: &str, projects: Value| json!({
            "domain_name": name, "weight": weight, "weight_pinned": false, "projects": projects,
        });
        let project = |name: &str, weight: Value, users: Value| json!({
            "project": name, "domain_pinned": false, "weight": weight, "weight_pinned": false, "users": users,
        });
        let user = |name: &str, weight: Value| json!({"user": name, "weight": weight, "weight_pinned": false});
        let mut expected = json!({"resource_group": GROUP, "domains": [
            domain("bio", "1", json!([project("genes", json!(null), json!([user("cid", json!(null))]))])),
            domain("physics", "3", json!([
                project("climate", json!("2"), json!([user("ada", json!("1")), user("ben", json!("4"))])),
                project("ocean", json!("1"), json!([user("ada", json!("1"))])),
            ])),
        ]});
        assert_eq!(server.get(&path).await, expected);

        // By hand: a weight, the domain of a project, and a project whose users have no names.
        let set = json!({"items": [
            {"target_type": "domain", "target_id": "bio", "weight": "7"},
            {"target_type": "user", "user": "ben", "project": "climate", "weight": "5"},
        ]});
        server.call("PUT", &group("/fair-share-weights"), Some(&set)).await.json(200);
        server.call("PUT", "/projects/ocean", Some(&json!({"domain_name": "bio"}))).await.json(200);
        let row = kernel("k", "nameless", "untitled", "2026-01-13T09:00:00Z");
        server.call("POST", &group("/kernels"), Some(&json!([row]))).await.json(200);
        let ocean = expected["domains"][1]["projects"].as_array_mut().unwrap().pop().unwrap();
        let bio = &mut expected["domains"][0];
        (bio["weight"], bio["weight_pinned"]) = (json!("7"), json!(true));
        bio["projects"].as_array_mut().unwrap().push(with(ocean, &json!({"domain_pinned": true})));
        let ben = &mut expected["domains"][1]["projects"][0]["users"][1];
        (ben["weight"], ben["weight_pinned"]) = (json!("5"), json!(true));
        let shown = server.get(&path).await;
        let (untitled, nameless) = (id("untitled").to_string(), id("nameless").to_string());
        let at = shown["domains"].as_array().unwrap().iter().position(|domain| {
            domain["projects"].as_array().unwrap().iter().any(|project| project["project"] == untitled.as_str())
        });
        let reported = shown["domains"][at.unwrap()].clone();
        let of_untitled = reported["projects"].as_array().unwrap().iter().find(|project| project["project"] == untitled.as_str());
        assert_eq!(of_untitled.unwrap()["users"], json!([user(&nameless, json!(null))]));
        let named: Vec<&Value> =
            shown["domains"].as_array().unwrap().iter().filter(|domain| **domain != reported).collect();
        assert_eq!(json!(named), expected["domains"]);

        // The answer can be sent back, and changes nothing.
        let back = server.call("PUT", "/people-tree", Some(&shown)).await.json(200);
        assert_eq!((counts(&back), &back["pinned"]), ([0, 0, 7, 0, 0], &json!([])), "{back}");
        assert_eq!(server.get(&path).await, shown);
        let query = format!(
            "{{ people_tree(resource_group: \"{GROUP}\") {{ resource_group domains {{ domain_name weight weight_pinned projects {{ \
             project domain_pinned weight weight_pinned users {{ user weight weight_pinned }} }} }} }} }}"
        );
        assert_eq!(server.graphql(&query).await["data"]["people_tree"], shown);

        server.call("GET", "/people-tree?resource_group=nowhere", None).await.refused(404, "unknown_resource_group");
        server.call("GET", "/people-tree", None).await.refused(422, "missing_field");
        server.group("other", &json!({})).await;
        let foreign = connector_key(&server, "other").await;
        server.call_as(&foreign, "GET", &path, None).await.refused(403, "forbidden");
        assert_eq!(server.call_as(&key, "GET", &path, None).await.json(200), shown);
    }

    async fn a_tree_takes_as_many_statements_however_large_it_is(db: TestDb) {
        let server = Server::new(db).await;
        let mut taken = Vec::new();
        for (name, users, weight) in [("first", 3, "1"), ("second", 400, "1"), ("second", 400, "2")] {
            let users: Vec<Value> = (0..users).map(|at| json!({"user": format!("{name}-{at}"), "weight": weight})).collect();
            let tree = json!({"resource_group": GROUP, "domains": [
                {"domain_name": "d", "projects": [{"project": "p", "users": users}]}
            ]});
            let before = server.service.store().statements();
            put(&server, &server.key, &tree).await.json(200);
            taken.push(server.service.store().statements() - before);
        }
        // The second tree unsets weights of the first one, for which it asks the audit log.
        assert!(taken[1].abs_diff(taken[0]) <= 4 && taken[2] <= taken[1], "{taken:?}");
    }

    async fn a_connector_needs_a_group_and_reads_nothing_of_users(db: TestDb) {
        let server = Server::with_usage(db).await;
        let unlimited = json!({"role": "connector", "label": "slurm"});
        assert_eq!(server.call("POST", "/keys", Some(&unlimited)).await.refused(422, "missing_field"), ["/resource_groups"]);
        let key = connector_key(&server, GROUP).await;
        let get = async |path: &str| server.call_as(&key, "GET", &group(path), None).await;
        for path in ["/fair-share-status", "/kernels", "/usage-buckets/users", "/workloads"] {
            assert_eq!(get(path).await.json(200)["items"], json!([]), "{path}");
        }
        get("/fair-share-status?user=alice").await.refused(403, "forbidden");
        let role = server.call_as(&key, "GET", "/whoami", None).await.json(200)["role"].clone();
        assert_eq!(role, "connector");
    }
}
