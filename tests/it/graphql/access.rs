//! Roles over GraphQL.

use axum::http::{Request, StatusCode};
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, column, role};
use crate::support::fixture::id;
use crate::support::on_both;

on_both! {
    async fn a_user_sees_only_own_rows(db: TestDb) {
        let api = Api::cluster(db).await;
        let bob = || role(Role::User, Some("bob"));
        let data = api.ask_as(bob(), r#"{
            user_fair_shares(resource_group: "gpu-cluster") { count edges { node { id user_uuid rank } } }
            user_usage_buckets(resource_group: "gpu-cluster") { count edges { node { id user_uuid } } }
            resource_group(name: "gpu-cluster") { scheduler }
        }"#).await;
        for list in ["user_fair_shares", "user_usage_buckets"] {
            assert_eq!(data[list]["count"], 1);
            assert_eq!(column(&data[list], "user_uuid"), [json!(id("bob"))]);
        }
        assert_eq!(data["user_fair_shares"]["edges"][0]["node"]["rank"], 4);
        for forbidden in [
            r#"domain_fair_shares(resource_group: "gpu-cluster") { count }"#.to_owned(),
            r#"domain_fair_share(resource_group: "gpu-cluster", domain_name: "research") { weight }"#.to_owned(),
            r#"project_fair_shares(resource_group: "gpu-cluster") { count }"#.to_owned(),
            format!(r#"project_fair_share(resource_group: "gpu-cluster", project_id: "{}") {{ weight }}"#, id("ml")),
            format!(r#"user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}") {{ weight }}"#, id("alice"), id("ml")),
            r#"domain_usage_buckets(resource_group: "gpu-cluster") { count }"#.to_owned(),
            r#"project_usage_buckets(resource_group: "gpu-cluster") { count }"#.to_owned(),
            r#"fair_share_weights(resource_group: "gpu-cluster") { count }"#.to_owned(),
            r#"agents(resource_group: "gpu-cluster") { count }"#.to_owned(),
            "jobs { name }".to_owned(),
            "job_runs { count }".to_owned(),
            "audit_log { count }".to_owned(),
        ] {
            assert_eq!(api.refused(bob(), &format!("{{ {forbidden} }}")).await["code"], "forbidden", "{forbidden}");
        }
        let other = api.ask(&format!(r#"{{ user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}") {{ id }} }}"#, id("alice"), id("ml"))).await;
        let node = format!("{{ node(id: {}) {{ id }} }}", other["user_fair_share"]["id"]);
        assert_eq!(api.refused(bob(), &node).await["code"], "forbidden");
    }

    async fn a_viewer_reads_everything_and_the_schema(db: TestDb) {
        let api = Api::cluster(db).await;
        let viewer = || role(Role::Viewer, None);
        let data = api.ask_as(viewer(), INTROSPECTION).await;
        let types = data["__schema"]["types"].as_array().unwrap();
        assert!(types.iter().any(|t| t["name"] == "UserFairShare"));
        api.ask_as(viewer(), r#"{ domain_fair_shares(resource_group: "gpu-cluster") { count } jobs { name } }"#).await;
        assert_eq!(api.refused(viewer(), "{ audit_log { count } }").await["code"], "forbidden");
    }

    async fn without_a_key_there_is_no_answer(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let request = Request::post("/graphql").header("content-type", "application/json").body(json!({"query": "{ resource_groups { name } }"}).to_string().into()).unwrap();
        let (status, headers, body) = api.http(None, request).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert_eq!(headers["content-type"], "application/problem+json");
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["code"], "missing_key");
    }
}

/// The query by which common clients read a schema.
const INTROSPECTION: &str = "query IntrospectionQuery { __schema { description queryType { name } mutationType { name } \
    subscriptionType { name } types { ...FullType } directives { name description isRepeatable locations args { ...InputValue } } } } \
    fragment FullType on __Type { kind name description specifiedByURL fields(includeDeprecated: true) { name description \
    args { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason } inputFields { ...InputValue } \
    interfaces { ...TypeRef } enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } \
    possibleTypes { ...TypeRef } } fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue } \
    fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name \
    ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }";
