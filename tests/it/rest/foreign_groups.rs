//! A key of one group against the people of another: every endpoint and every GraphQL field. The answers to a key of the
//! group `other` contain nothing about people who are only in the first group, and asking for them is like asking for names
//! that do not exist.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};
use uuid::Uuid;

use super::support::{Answer, Server, group};
use super::walk::{SCHEMA, all_endpoints, endpoints, fields};
use crate::support::database::TestDb;
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::on_both;

const START: &str = "2026-01-13T00:00:00Z";
const ROLES: [Role; 3] = [Role::Admin, Role::Scheduler, Role::Viewer];

/// The people and things that are only in the first group.
struct Foreign {
    /// An entry of the audit log of the group.
    audit_entry: i64,
    /// A key that reaches all groups.
    key: Uuid,
}

/// Two groups without a user in common, and a key of the second one for each role.
async fn two_groups(db: TestDb) -> (Server, Foreign, Vec<(Role, String)>) {
    let server = Server::with_usage(db).await;
    server
        .call("PUT", &format!("/users/{}", id("alice")), Some(&json!({"name": "alice-the-foreigner"})))
        .await
        .json(200);
    server
        .call("PUT", &format!("/projects/{}", id("vision")), Some(&json!({"name": "foreign-vision"})))
        .await
        .json(200);
    let queues = json!({"queues": [{"name": "foreign-queue", "quota": {"cpu": 4}}]});
    server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
    let weights = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "2"}]});
    server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
    let connector = json!({"resource_group": GROUP, "kind": "slurm", "version": "1", "mode": "shadow"});
    server.call("PUT", "/connectors/foreign-cluster", Some(&connector)).await.json(201);
    server.group("other", &json!({})).await;
    let agent = json!({"available_slots": {"cpu": "10"}});
    server.call("PUT", "/resource-groups/other/agents/own-node", Some(&agent)).await.json(201);
    let own =
        json!([with(kernel("own", "dora", "radio", START), &json!({"domain_name": "arts", "user_name": "dora"}))]);
    server.call("POST", "/resource-groups/other/kernels", Some(&own)).await.json(200);
    server.call("POST", "/jobs/aggregate/run", Some(&json!({}))).await.json(200);
    let log = server.get(&format!("/audit-log?resource_group={GROUP}&action=weights.put")).await;
    let keys = server.get("/keys").await;
    let foreign = Foreign {
        audit_entry: log["items"][0]["id"].as_i64().unwrap(),
        key: keys["items"][0]["id"].as_str().unwrap().parse().unwrap(),
    };
    let mut of_other = Vec::new();
    for role in ROLES {
        let groups = Some(vec!["other".to_owned()]);
        let new = NewKey { role, label: "limited".to_owned(), user: None, expires_at: None, groups };
        of_other.push((role, server.service.create_key(admin(), new).await.unwrap().0));
    }
    (server, foreign, of_other)
}

/// Texts that name people and things of the first group alone.
fn marks() -> Vec<String> {
    let names = [
        "research",
        "sales",
        "alice-the-foreigner",
        "foreign-vision",
        "foreign-queue",
        "foreign-cluster",
        "node-01",
        "bob",
        "carol",
    ];
    let ids = ["alice", "bob", "carol", "vision", "audio", "k1", "k2", "k3"].map(|name| id(name).to_string());
    names.map(str::to_owned).into_iter().chain(ids).chain([GROUP.to_owned()]).collect()
}

/// Fails if the answer contains a name of the first group that the request does not contain.
fn assert_silent(answer: &Answer, request: &str) {
    let text = String::from_utf8_lossy(&answer.bytes);
    for mark in marks().iter().filter(|mark| !request.contains(mark.as_str())) {
        assert!(!text.contains(mark.as_str()), "{request} tells of {mark}: {text}");
    }
}

/// Requests to an endpoint that does not belong to a group, and true if a limited key is refused. A new endpoint must be
/// added here.
fn requests(operation: &str, foreign: &Foreign) -> (bool, Vec<(String, Option<Value>)>) {
    let (refused, open) = (true, false);
    let alone = |path: &str| vec![(path.to_owned(), None)];
    let with_body = |path: &str, body: Value| vec![(path.to_owned(), Some(body))];
    match operation {
        "list_audit_log" => (open, [alone("/audit-log"), alone("/audit-log?target=domain:research")].concat()),
        "undo_change" => (refused, with_body(&format!("/audit-log/{}/undo", foreign.audit_entry), json!({}))),
        "simulate_division" => {
            (open, with_body("/division/simulate", json!({"algorithm": "drf", "capacity": {"cpu": 1}, "queues": []})))
        }
        "simulate_reclaim" => (refused, with_body("/reclaim/simulate", json!({}))),
        "simulate_cycle" => (refused, with_body("/cycle/simulate", json!({}))),
        "list_connectors" => (open, alone("/connectors")),
        "put_connector" => {
            let of = |group: &str| json!({"resource_group": group, "kind": "slurm", "version": "1", "mode": "shadow"});
            (
                refused,
                [with_body("/connectors/new", of(GROUP)), with_body("/connectors/foreign-cluster", of(GROUP))].concat(),
            )
        }
        "delete_connector" => (
            refused,
            [
                alone("/connectors/foreign-cluster"),
                alone(&format!("/connectors/foreign-cluster?resource_group={GROUP}")),
            ]
            .concat(),
        ),
        "get_doctor" => (open, alone("/doctor")),
        "get_metadata" => (open, alone("/metadata")),
        "get_people_tree" => (refused, alone(&format!("/people-tree?resource_group={GROUP}"))),
        "put_people_tree" => (
            refused,
            with_body("/people-tree", json!({"resource_group": GROUP, "domains": [{"domain_name": "research"}]})),
        ),
        "list_domains" => (refused, alone("/domains")),
        "get_domain" => (refused, alone("/domains/research")),
        "put_domain" => (refused, with_body("/domains/research", json!({"display_name": "mine"}))),
        "healthz" => (open, alone("/healthz")),
        "readyz" => (open, alone("/readyz")),
        "list_job_runs" => (open, alone("/job-runs")),
        "list_jobs" => (open, alone("/jobs")),
        "trust_clock" => (refused, alone("/jobs/trust-clock")),
        "run_job" => (
            refused,
            [
                with_body("/jobs/aggregate/run", json!({})),
                with_body("/jobs/aggregate/run", json!({"resource_group": GROUP})),
            ]
            .concat(),
        ),
        "lookup_kernels" => (open, with_body("/kernels/lookup", json!({"kernel_ids": [id("k1"), id("own")]}))),
        "list_keys" => (refused, alone("/keys")),
        "create_key" => {
            (refused, with_body("/keys", json!({"role": "viewer", "label": "mine", "resource_groups": ["other"]})))
        }
        "revoke_key" => (refused, alone(&format!("/keys/{}", foreign.key))),
        "metrics" => (refused, alone("/metrics")),
        "list_projects" => (refused, alone("/projects")),
        "get_project" => (refused, alone(&format!("/projects/{}", id("vision")))),
        "put_project" => (refused, with_body(&format!("/projects/{}", id("vision")), json!({"domain_name": "arts"}))),
        "list_resource_groups" => (open, alone("/resource-groups")),
        "get_usage_report_of_groups" => {
            (open, alone("/usage-report?from=2026-01-01&to=2026-01-13&by=user,project,domain"))
        }
        "list_users" => (refused, alone("/users")),
        "get_user" => {
            (refused, [alone(&format!("/users/{}", id("alice"))), alone("/users/alice-the-foreigner")].concat())
        }
        "put_user" => (refused, with_body(&format!("/users/{}", id("alice")), json!({"display_name": "mine"}))),
        "whoami" => (open, alone("/whoami")),
        other => panic!("say in `requests` what a key of another group gets of {other}"),
    }
}

/// A document for a field of GraphQL without a resource group, and true if a limited key is refused.
fn document(field: &str, foreign: &Foreign) -> (bool, String) {
    let (refused, open) = (true, false);
    let (vision, alice) = (id("vision"), id("alice"));
    let ids: Vec<String> = node_ids(GROUP, foreign).into_iter().map(|(_, node)| json!(node).to_string()).collect();
    match field {
        "resource_groups" => (open, "{ resource_groups { name capacity queues: allocated } }".replace(" queues: allocated", "")),
        "simulate_division" => (open, r#"{ simulate_division(input: "{\"algorithm\": \"drf\", \"capacity\": {\"cpu\": 1}, \"queues\": []}") }"#.to_owned()),
        "simulate_reclaim" => (refused, r#"{ simulate_reclaim(input: "{}") }"#.to_owned()),
        "simulate_cycle" => (refused, r#"{ simulate_cycle(input: "{}") }"#.to_owned()),
        "usage_report" => (open, r#"{ usage_report(from: "2026-01-01", to: "2026-01-13", by: [USER]) { edges { node { user_uuid user_name } } } }"#.to_owned()),
        "connectors" => (open, "{ connectors { cluster resource_group } }".to_owned()),
        "jobs" => (open, "{ jobs { name } }".to_owned()),
        "job_runs" => (open, "{ job_runs { edges { node { job resource_group } } } }".to_owned()),
        "audit_log" => (open, "{ audit_log { edges { node { action target resource_group before after } } } }".to_owned()),
        "domains" => (refused, "{ domains { count } }".to_owned()),
        "projects" => (refused, "{ projects { count } }".to_owned()),
        "users" => (refused, "{ users { count } }".to_owned()),
        "domain" => (refused, r#"{ domain(name: "research") { name } }"#.to_owned()),
        "project" => (refused, format!(r#"{{ project(project_id: "{vision}") {{ name }} }}"#)),
        "user" => (refused, format!(r#"{{ user(user_uuid: "{alice}") {{ name }} }}"#)),
        "whoami" => (open, "{ whoami { label } }".to_owned()),
        "metadata" => (open, "{ metadata { session_seconds } }".to_owned()),
        "keys" => (refused, "{ keys { count } }".to_owned()),
        "node" => (open, format!("{{ node(id: {}) {{ id __typename }} }}", ids[0])),
        "nodes" => (open, format!("{{ nodes(ids: [{}]) {{ __typename }} }}", ids.join(", "))),
        "undo_change" => (refused, format!("mutation {{ undo_change(id: {}) {{ id }} }}", json!(foreign.audit_entry.to_string()))),
        "upsert_domain" => (refused, r#"mutation { upsert_domain(name: "research", display_name: "mine") { name } }"#.to_owned()),
        "upsert_project" => (refused, format!(r#"mutation {{ upsert_project(project_id: "{vision}", domain_name: "arts") {{ name }} }}"#)),
        "upsert_user" => (refused, format!(r#"mutation {{ upsert_user(user_uuid: "{alice}", display_name: "mine") {{ name }} }}"#)),
        "create_key" => (refused, r#"mutation { create_key(role: VIEWER, label: "mine", resource_groups: ["other"]) { key } }"#.to_owned()),
        "revoke_key" => (refused, format!(r#"mutation {{ revoke_key(id: "{}") }}"#, foreign.key)),
        "run_job" => (refused, format!(r#"mutation {{ run_job(name: "aggregate", resource_group: "{GROUP}") {{ job }} }}"#)),
        "resource_group" => (open, format!(r#"{{ resource_group(name: "{GROUP}") {{ name capacity }} }}"#)),
        "upsert_resource_group" => (refused, format!(r#"mutation {{ upsert_resource_group(name: "{GROUP}") {{ name }} }}"#)),
        "delete_connector" => (refused, r#"mutation { delete_connector(cluster: "foreign-cluster") }"#.to_owned()),
        "delete_resource_group" => (refused, format!(r#"mutation {{ delete_resource_group(name: "{GROUP}", confirm: "{GROUP}", force: true) }}"#)),
        other => panic!("say in `document` what a key of another group gets of {other}"),
    }
}

/// Global ids of rows of a group that are about people of the first one, each with its kind.
fn node_ids(group: &str, foreign: &Foreign) -> Vec<(&'static str, String)> {
    let (alice, vision) = (id("alice").to_string(), id("vision").to_string());
    let entry = foreign.audit_entry.to_string();
    let keys: [(&str, Vec<&str>); 12] = [
        ("UserFairShare", vec![group, &alice, &vision]),
        ("ProjectFairShare", vec![group, &vision]),
        ("DomainFairShare", vec![group, "research"]),
        ("UserUsageBucketNode", vec![group, &alice, &vision, "2026-01-13"]),
        ("ProjectUsageBucketNode", vec![group, &vision, "2026-01-13"]),
        ("DomainUsageBucketNode", vec![group, "research", "2026-01-13"]),
        ("FairShareWeightNode", vec![group, "domain", "research"]),
        ("ScalingGroup", vec![group]),
        ("Queue", vec![group, "foreign-queue"]),
        ("Agent", vec![group, "node-01"]),
        ("AuditEntry", vec![&entry]),
        ("JobRun", vec!["1"]),
    ];
    keys.map(|(kind, key)| (kind, URL_SAFE_NO_PAD.encode(json!([kind, key]).to_string()))).into()
}

/// Endpoints of the document that do not belong to a group: operation and method.
fn other_endpoints() -> Vec<(String, String)> {
    let others = all_endpoints().into_iter().filter(|endpoint| !endpoint.is_of_group);
    others.map(|endpoint| (endpoint.id, endpoint.method)).collect()
}

/// Fields of the schema without an argument `resource_group: String!`.
fn other_fields() -> Vec<String> {
    let roots = ["type Query {", "type Mutation {"].map(|head| {
        let (_, rest) = SCHEMA.split_once(head).unwrap();
        rest.split_once("\n}").unwrap().0
    });
    let of_groups: BTreeSet<String> = fields().into_iter().map(|(name, _)| name).collect();
    let mut is_comment = false;
    let mut found = Vec::new();
    for line in roots.iter().flat_map(|root| root.lines()).map(str::trim) {
        if line == "\"\"\"" {
            is_comment = !is_comment;
        } else if !is_comment && !line.is_empty() {
            found.push(line.split(['(', ':']).next().unwrap().to_owned());
        }
    }
    found.retain(|name| !of_groups.contains(name));
    assert!(found.len() > 20, "the schema lists fields: {found:?}");
    found
}

/// The answer without the values that differ in every answer, and with one name in place of all the names in the request.
fn comparable(answer: &Answer, asked: &[&str]) -> (u16, String) {
    let mut text = String::from_utf8_lossy(&answer.bytes).into_owned();
    let value: Result<Value, _> = serde_json::from_slice(&answer.bytes);
    if let Ok(mut value) = value {
        if let Some(object) = value.as_object_mut() {
            object.remove("request_id");
        }
        text = value.to_string();
    }
    for name in asked {
        text = text.replace(name, "ASKED");
    }
    (answer.status.as_u16(), text)
}

/// A user, a project and a domain: by id and by name.
struct Names {
    user: [String; 2],
    project: [String; 2],
    domain: String,
    kernel: String,
}

impl Names {
    fn all(&self) -> Vec<&str> {
        self.user.iter().chain(&self.project).map(String::as_str).chain([&*self.domain, &*self.kernel]).collect()
    }

    /// All requests to the own group that may contain these names: path and body.
    fn questions(&self) -> Vec<(&'static str, String, Option<Value>)> {
        let own = |path: &str| format!("/resource-groups/other{path}");
        let mut found = Vec::new();
        let mut get = |path: String| found.push(("GET", own(&path), None));
        for (user, project) in self.user.iter().zip(&self.project) {
            let (user_key, project_key) =
                if Uuid::try_parse(user).is_ok() { ("user_uuid", "project_id") } else { ("user", "project") };
            get(format!("/fair-share-status?{user_key}={user}"));
            get(format!("/fair-share-status?{user_key}={user}&{project_key}={project}"));
            get(format!(
                "/fair-share-status?{user_key}={user}&{project_key}={}",
                if user_key == "user" { "radio".to_owned() } else { id("radio").to_string() }
            ));
            get(format!("/explain?user={user}"));
            get(format!("/explain?project={project}"));
            get(format!("/explain?user={user}&project={project}"));
            get(format!("/kernels?{user_key}={user}"));
            get(format!("/kernels?{project_key}={project}"));
            get(format!("/usage-buckets/users?{user_key}={user}"));
            get(format!("/usage-buckets/projects?{project_key}={project}"));
            get(format!("/usage-records?from=2026-01-13&to=2026-01-13&user={user}"));
            get(format!("/usage-records?from=2026-01-13&to=2026-01-13&project={project}"));
            get(format!("/usage-report?from=2026-01-13&to=2026-01-13&user={user}"));
            get(format!("/usage-report?from=2026-01-13&to=2026-01-13&project={project}"));
            get(format!("/fair-share-history?user={user}"));
            get(format!("/fair-share-history?tier=project&project={project}"));
        }
        get(format!("/explain?domain={}", self.domain));
        get(format!("/kernels?domain_name={}", self.domain));
        get(format!("/usage-buckets/domains?domain_name={}", self.domain));
        get(format!("/usage-records?from=2026-01-13&to=2026-01-13&domain={}", self.domain));
        get(format!("/usage-report?from=2026-01-13&to=2026-01-13&domain={}", self.domain));
        get(format!("/fair-share-history?tier=domain&domain={}", self.domain));
        get(format!("/kernels/{}", self.kernel));
        let mut simulate = |body: Value| found.push(("POST", own("/fair-share-simulations"), Some(body)));
        let [user, user_name] = &self.user;
        let [project, project_name] = &self.project;
        simulate(json!({"weights": [{"target_type": "domain", "target_id": self.domain, "weight": "2"}]}));
        simulate(json!({"weights": [{"target_type": "project", "target_id": project, "weight": "2"}]}));
        simulate(json!({"weights": [{"target_type": "project", "project": project_name, "weight": "2"}]}));
        simulate(json!({"weights": [{"target_type": "user", "user": user_name, "project": "radio", "weight": "2"}]}));
        simulate(json!({"add_users": [{"user_uuid": user, "project_id": project}]}));
        simulate(json!({"add_users": [{"user_uuid": user, "project_id": project, "domain_name": "arts"}]}));
        simulate(json!({"remove_users": [{"user_uuid": user}]}));
        simulate(json!({"projects": [{"project_id": project, "domain_name": self.domain}]}));
        found.push(("POST", "/kernels/lookup".to_owned(), Some(json!({"kernel_ids": [self.kernel]}))));
        let mut query = |text: String| found.push(("POST", "/graphql".to_owned(), Some(json!({"query": text}))));
        let domain = &self.domain;
        query(format!(
            r#"{{ domain_fair_share(resource_group: "other", domain_name: "{domain}") {{ domain_name effective_weight }} }}"#
        ));
        query(format!(
            r#"{{ project_fair_share(resource_group: "other", project_id: "{project}") {{ project_id project_name domain_name }} }}"#
        ));
        query(format!(
            r#"{{ user_fair_share(resource_group: "other", user_uuid: "{user}", project_id: "{project}") {{ user_uuid user_name domain_name }} }}"#
        ));
        query(format!(r#"{{ explain_fair_share(resource_group: "other", user: "{user_name}") }}"#));
        query(format!(
            r#"{{ kernels(resource_group: "other", user_uuid: "{user}", project_id: "{project}") {{ edges {{ node {{ kernel_id }} }} }} }}"#
        ));
        query(format!(r#"{{ usage_report(from: "2026-01-13", to: "2026-01-13", user_uuid: "{user}") {{ count }} }}"#));
        for key in [
            vec!["UserFairShare", "other", user, project],
            vec!["ProjectFairShare", "other", project],
            vec!["DomainFairShare", "other", domain],
        ] {
            let node = URL_SAFE_NO_PAD.encode(json!([key[0], key[1..]]).to_string());
            query(format!(r#"{{ node(id: "{node}") {{ __typename }} }}"#));
        }
        found
    }
}

on_both! {
    async fn no_endpoint_tells_of_them(db: TestDb) {
        let (server, foreign, keys) = two_groups(db).await;
        for (role, key) in &keys {
            for endpoint in endpoints() {
                let answer = server.call_as(key, &endpoint.method, &endpoint.path, endpoint.body.as_ref()).await;
                assert!(!answer.status.is_success(), "{role:?} {}: {answer:?}", endpoint.id);
                assert_silent(&answer, &format!("{}{:?}", endpoint.path, endpoint.body));
            }
            for (operation, method) in other_endpoints() {
                let (is_refused, requests) = requests(&operation, &foreign);
                for (path, body) in requests {
                    let answer = server.call_as(key, &method, &path, body.as_ref()).await;
                    assert_silent(&answer, &format!("{path}{body:?}"));
                    let is_good = answer.status.is_success();
                    assert!(is_good != is_refused || *role != Role::Admin, "{operation}: {answer:?}");
                    assert!(!is_good || !is_refused, "{role:?} {operation}: {answer:?}");
                }
            }
        }
    }

    async fn no_field_tells_of_them(db: TestDb) {
        let (server, foreign, keys) = two_groups(db).await;
        for (role, key) in &keys {
            let ask = async |query: &str| server.call_as(key, "POST", "/graphql", Some(&json!({"query": query}))).await;
            for (name, query) in fields() {
                let answer = ask(&query).await;
                assert!(answer.json(200)["errors"].is_array(), "{role:?} {name}: {answer:?}");
                assert_silent(&answer, &query);
            }
            for name in other_fields() {
                let (is_refused, query) = document(&name, &foreign);
                let answer = ask(&query).await;
                assert_silent(&answer, &query);
                let has_errors = answer.json(200)["errors"].is_array();
                assert!(has_errors == is_refused || (*role != Role::Admin && has_errors), "{role:?} {query}: {answer:?}");
            }
            let ids = node_ids(GROUP, &foreign);
            let nodes = json!({"query": "query($ids: [ID!]!) { nodes(ids: $ids) { id } }", "variables": {"ids": ids.iter().map(|(_, node)| node).collect::<Vec<_>>()}});
            let found = server.call_as(key, "POST", "/graphql", Some(&nodes)).await.json(200);
            let is_gone = |at: usize| found["data"]["nodes"][at].is_null() || ids[at].0 == "JobRun";
            assert!((0..ids.len()).all(is_gone), "{role:?} {found}");
        }
    }

    async fn asking_for_them_is_like_asking_for_unknown_names(db: TestDb) {
        let (server, _, keys) = two_groups(db).await;
        let known = Names {
            user: [id("alice").to_string(), "alice-the-foreigner".to_owned()],
            project: [id("vision").to_string(), "foreign-vision".to_owned()],
            domain: "research".to_owned(),
            kernel: id("k1").to_string(),
        };
        let unknown = Names {
            user: [id("nemo").to_string(), "alice-the-stranger".to_owned()],
            project: [id("nowhere").to_string(), "strange-vision".to_owned()],
            domain: "nothing".to_owned(),
            kernel: id("no-kernel").to_string(),
        };
        let by_rule = [
            fairshared::domain::identity::user("alice-the-stranger").to_string(),
            fairshared::domain::identity::project("strange-vision").to_string(),
            fairshared::domain::identity::user("alice-the-foreigner").to_string(),
            fairshared::domain::identity::project("foreign-vision").to_string(),
        ];
        let mut named = known.all();
        named.extend(unknown.all());
        named.extend(by_rule.iter().map(String::as_str));
        for (role, key) in &keys {
            for ((method, path, body), (_, other_path, other_body)) in known.questions().into_iter().zip(unknown.questions()) {
                let foreign = server.call_as(key, method, &path, body.as_ref()).await;
                let invented = server.call_as(key, method, &other_path, other_body.as_ref()).await;
                assert_eq!(comparable(&foreign, &named), comparable(&invented, &named), "{role:?} {method} {path} {body:?}");
            }
        }
    }
}
