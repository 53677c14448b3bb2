//! Every endpoint and every GraphQL field of a resource group, as the documents list them, refuses keys that may not see the
//! group. Additions to a document are tested without a change here, unless they have arguments with a new name.

use axum::http::StatusCode;
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::Server;
use crate::support::fixture::{GROUP, admin, id, kernel};
use crate::support::on_both;

pub const OPENAPI: &str = include_str!("../../../openapi/fairshared.json");
pub const SCHEMA: &str = include_str!("../../../schema.graphql");
/// The endpoints that a key with the role `user` may call in a group.
const OF_USERS: [&str; 28] = [
    "get_decay_weights",
    "get_resource_group",
    "get_scheduler_options",
    "get_fair_share_status",
    "list_kernels",
    "get_kernel",
    "list_usage_records",
    "get_usage_report",
    "explain_fair_share",
    "get_fairness",
    "get_fairness_history",
    "list_fair_share_history",
    "fairness",
    "fairness_history",
    "fair_share_history",
    "list_workloads",
    "get_workload",
    "workloads",
    "workload",
    "get_forecasts",
    "forecasts",
    "post_workload_what_if",
    "workload_what_if",
    "kernels",
    "sequence",
    "user_fair_shares",
    "user_usage_buckets",
    "usage_records",
];

pub struct Endpoint {
    pub id: String,
    pub method: String,
    pub path: String,
    pub body: Option<Value>,
    /// True if the path contains a resource group.
    pub is_of_group: bool,
}

/// A possible value of the parameter or argument.
fn sample(name: &str) -> String {
    match name {
        "rg" | "resource_group" => GROUP.to_owned(),
        "kernel_id" => id("k2").to_string(),
        "user_uuid" | "uuid" => id("carol").to_string(),
        "id" => "1".to_owned(),
        "project_id" => id("vision").to_string(),
        "tier" => "domains".to_owned(),
        "from" | "to" | "day" => "2026-01-13".to_owned(),
        "taken_at" => "2026-01-13T11:00:00Z".to_owned(),
        "target_type" => "DOMAIN".to_owned(),
        "workload" => r#"{"workload_id": "w", "members": [{"slots": {"cpu": "1"}}]}"#.to_owned(),
        "available_slots" => r#"{"cpu": "1"}"#.to_owned(),
        "input" => "{}".to_owned(),
        "domain_name" | "target_id" => "research".to_owned(),
        "agent_id" | "cluster" | "queue" | "name" | "source" | "workload_id" => "spare".to_owned(),
        _ => panic!("say in `sample` what {name} may be"),
    }
}

/// The endpoints of a resource group.
pub fn endpoints() -> Vec<Endpoint> {
    let found: Vec<Endpoint> = all_endpoints().into_iter().filter(|endpoint| endpoint.is_of_group).collect();
    assert!(found.len() > 25, "the document lists the endpoints of a group");
    found
}

/// Every endpoint of the document, with values for its required parameters.
pub fn all_endpoints() -> Vec<Endpoint> {
    let document: Value = serde_json::from_str(OPENAPI).unwrap();
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let is_of_group = path.contains("{rg}");
            let (mut path, mut query) = (path.clone(), Vec::new());
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().unwrap();
                match (parameter["in"].as_str(), &parameter["required"]) {
                    (Some("path"), _) => path = path.replace(&format!("{{{name}}}"), &sample(name)),
                    (Some("query"), Value::Bool(true)) => query.push(format!("{name}={}", sample(name))),
                    _ => {}
                }
            }
            let path = if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) };
            let id = operation["operationId"].as_str().unwrap().to_owned();
            let body = operation["requestBody"].is_object().then(|| body(&id));
            found.push(Endpoint { id, method: method.to_uppercase(), path, body, is_of_group });
        }
    }
    found
}

fn body(operation: &str) -> Value {
    match operation {
        "put_fair_share_weights" => json!({"items": []}),
        "put_agent" => json!({"available_slots": {}}),
        "put_agents" => json!({"agents": []}),
        "post_kernels" | "post_kernel_snapshot" => json!([kernel("new", "dave", "vision", "2026-01-13T09:00:00Z")]),
        "put_queues" => json!({"queues": []}),
        "put_capacity_days" => json!([]),
        "put_usage_history" => json!({"rows": []}),
        "post_sequence" => json!({"workloads": []}),
        "post_reclaim_plan" => json!({"workload_id": "w", "members": [{"slots": {"cpu": "1"}}]}),
        _ => json!({}),
    }
}

/// Every field with a resource group, and its other required arguments.
pub fn fields() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for line in SCHEMA.lines().map(str::trim).filter(|line| line.contains("(resource_group: String!")) {
        let (name, rest) = line.split_once('(').unwrap();
        let (arguments, returns) = rest.rsplit_once("): ").unwrap();
        let required = arguments.split(", ").filter_map(|argument| argument.split_once(": "));
        let required = required.filter(|(_, kind)| kind.ends_with('!')).map(|(name, kind)| match kind {
            "FairShareTargetType!" => format!("{name}: {}", sample(name)),
            "[AgentInput!]!" | "[QueueInput!]!" => format!("{name}: []"),
            _ => format!("{name}: {}", json!(sample(name))),
        });
        let mut arguments: Vec<String> = required.collect();
        arguments.extend(rest.contains("weight: Decimal").then(|| "weight: \"2\"".to_owned()));
        // One of two optional arguments has to be there.
        arguments.extend((name == "upsert_fair_share_weights").then(|| "items: []".to_owned()));
        let is_leaf = ["Boolean!", "JSONString!"].contains(&returns);
        let selection = if is_leaf { "" } else { " { __typename }" };
        let query = format!("{name}({}){selection}", arguments.join(", "));
        let kind = if name.contains("upsert")
            || ["reset", "update", "delete", "apply"].iter().any(|verb| name.starts_with(verb))
        {
            "mutation"
        } else {
            "query"
        };
        found.push((name.to_owned(), format!("{kind} {{ {query} }}")));
    }
    assert!(found.len() > 20, "the schema lists the fields of a group");
    found
}

async fn code_of(server: &Server, key: &str, query: &str) -> Value {
    let answer = server.call_as(key, "POST", "/graphql", Some(&json!({"query": query}))).await.json(200);
    answer["errors"][0]["extensions"]["code"].clone()
}

on_both! {
    async fn a_key_of_another_group_is_refused_everywhere(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let new = NewKey {
            role: Role::Admin, label: "other".to_owned(), user: None, expires_at: None, groups: Some(vec!["other".to_owned()]),
        };
        let key = server.service.create_key(admin(), new).await.unwrap().0;
        for Endpoint { id, method, path, body, .. } in endpoints() {
            let answer = server.call_as(&key, &method, &path, body.as_ref()).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{id}: {method} {path}: {answer:?}");
        }
        for (name, query) in fields() {
            assert_eq!(code_of(&server, &key, &query).await, "forbidden", "{name}: {query}");
        }
    }

    async fn a_key_of_another_role_is_refused_everywhere(db: TestDb) {
        let server = Server::with_usage(db).await;
        let user = server.key_for(Role::User, Some("alice")).await;
        let viewer = server.key_for(Role::Viewer, None).await;
        let may_be_users = |name: &str| OF_USERS.contains(&name);
        for Endpoint { id, method, path, body, .. } in endpoints() {
            if !may_be_users(&id) {
                let answer = server.call_as(&user, &method, &path, body.as_ref()).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{id}: {method} {path}: {answer:?}");
            }
            // A reader may try what it may not do.
            if method != "GET" && !["simulate_fair_shares", "post_workload_what_if"].contains(&&*id) {
                let answer = server.call_as(&viewer, &method, &path, body.as_ref()).await;
                assert_eq!(answer.status, StatusCode::FORBIDDEN, "{id}: {method} {path}: {answer:?}");
            }
        }
        for (name, query) in fields() {
            if !may_be_users(&name) {
                assert_eq!(code_of(&server, &user, &query).await, "forbidden", "{name}: {query}");
            }
            if query.starts_with("mutation") {
                assert_eq!(code_of(&server, &viewer, &query).await, "forbidden", "{name}: {query}");
            }
        }
    }
}
