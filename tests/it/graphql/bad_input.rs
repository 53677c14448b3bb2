//! Each bad request gets its code and changes nothing.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role};
use crate::support::fixture::{admin, id};
use crate::support::on_both;

/// All data that a refused request could have changed.
async fn group_snapshot(api: &Api) -> Value {
    api.ask(
        r#"{
        fair_share_weights(resource_group: "gpu-cluster") { edges { node { id weight } } }
        resource_groups { name scheduler configured_scheduler_opts }
        user_fair_shares(resource_group: "gpu-cluster") { edges { node { id rank fair_share_factor } } }
        job_runs { count }
        audit_log { count }
    }"#,
    )
    .await
}

fn upsert(weight: &str) -> String {
    format!(
        r#"mutation {{ upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "research", weight: {weight}) {{ weight }} }}"#
    )
}

fn users(args: &str) -> String {
    format!(r#"{{ user_fair_shares(resource_group: "gpu-cluster", {args}) {{ count }} }}"#)
}

fn items(items: &str) -> String {
    format!(
        r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [{items}]) {{ upserted_count }} }}"#
    )
}

on_both! {
    async fn nothing_changes(db: TestDb) {
        let api = Api::cluster(db).await;
        api.fixture.service.put_group(admin(), "other".to_owned(), fairshared::service::groups::SchedulerPatch::default()).await.unwrap();
        let before = group_snapshot(&api).await;
        let alice = id("alice");
        let foreign = api.ask(r#"{ user_fair_shares(resource_group: "gpu-cluster", first: 1) { pageInfo { endCursor } } }"#).await;
        let foreign = &foreign["user_fair_shares"]["pageInfo"]["endCursor"];
        let table = [
            // Weights.
            (upsert("0"), "invalid_weight", "/weight"),
            (upsert("\"0.0000\""), "invalid_weight", "/weight"),
            (upsert("-1"), "invalid_weight", "/weight"),
            (upsert("\"-0.5\""), "invalid_weight", "/weight"),
            (upsert("\"NaN\""), "invalid_weight", "/weight"),
            (upsert("\"inf\""), "invalid_weight", "/weight"),
            (upsert("\"1e3\""), "invalid_weight", "/weight"),
            (upsert("\"\""), "invalid_weight", "/weight"),
            (upsert("1.00001"), "invalid_weight", "/weight"),
            (upsert("\"1000000\""), "invalid_weight", "/weight"),
            (upsert("\"999999.99991\""), "invalid_weight", "/weight"),
            (upsert("true"), "invalid_decimal", ""),
            (upsert("[1]"), "invalid_decimal", ""),
            (upsert("0.1234567890123456789"), "invalid_weight", "/weight"),
            (upsert("null").replace(", weight: null", ""), "missing_weight", "/weight"),
            (items(r#"{target_type: DOMAIN, target_id: "research", weight: "1"} {target_type: DOMAIN, target_id: "sales", weight: "x"}"#), "invalid_weight", "/items/1/weight"),
            (items(r#"{target_type: DOMAIN, target_id: "research", weight: "1"} {target_type: DOMAIN, target_id: "research", weight: "2"}"#), "duplicate_target", "/items/1/target_id"),
            (items(r#"{target_type: DOMAIN, target_id: "research"}"#), "missing_weight", "/items/0/weight"),
            (items(r#"{target_type: USER, target_id: "alice", weight: "1"}"#), "invalid_uuid", "/items/0/target_id"),
            (items(&format!(r#"{{target_type: DOMAIN, target_id: "research", project_id: "{}", weight: "1"}}"#, id("ml"))), "contradiction", "/items/0/project_id"),
            (format!(r#"mutation {{ reset_fair_share_weight(resource_group: "gpu-cluster", target_type: DOMAIN, target_id: "research", project_id: "{}") }}"#, id("ml")), "contradiction", "/project_id"),
            (items(&format!(r#"{{target_type: USER, target_id: "{alice}", project_id: "{alice}", weight: "1"}}"#)), "unknown_project", "/items/0/project_id"),
            (items(r#"{target_type: GROUP, target_id: "alice", weight: "1"}"#), "invalid_query", ""),
            (r#"mutation { upsert_fair_share_weights(resource_group: "gpu-cluster") { upserted_count } }"#.to_owned(), "missing_items", "/items"),
            (r#"mutation { upsert_fair_share_weights(resource_group: "gpu-cluster", input: {domain_weights: [{domain_name: "research", weight: "1"}, {domain_name: "nowhere", weight: "1"}]}) { upserted_count } }"#.to_owned(), "unknown_domain", "/input/domain_weights/1/domain_name"),
            // Unknown groups and owners.
            (upsert("1").replace("gpu-cluster", "nowhere"), "unknown_resource_group", ""),
            (upsert("1").replace("research", "nowhere"), "unknown_domain", "/domain_name"),
            (format!(r#"mutation {{ upsert_project_fair_share(resource_group: "gpu-cluster", project_id: "{alice}", weight: 1) {{ weight }} }}"#), "unknown_project", "/project_id"),
            (format!(r#"mutation {{ upsert_user_fair_share(resource_group: "gpu-cluster", user_uuid: "{ml}", project_id: "{ml}", weight: 1) {{ weight }} }}"#, ml = id("ml")), "unknown_user", "/user_uuid"),
            (format!(r#"mutation {{ reset_fair_share_weight(resource_group: "gpu-cluster", target_type: USER, target_id: "{}") }}"#, id("nobody")), "unknown_user", "/target_id"),
            (r#"mutation { reset_fair_share_weight(resource_group: "gpu-cluster", target_type: PROJECT, target_id: "ml") }"#.to_owned(), "invalid_uuid", "/target_id"),
            (users("first: 1").replace("gpu-cluster", "nowhere"), "unknown_resource_group", ""),
            (r#"{ user_usage_buckets(resource_group: "nowhere") { count } }"#.to_owned(), "unknown_resource_group", ""),
            (r#"{ domain_fair_share(resource_group: "nowhere", domain_name: "research") { weight } }"#.to_owned(), "unknown_resource_group", ""),
            // Scalars.
            (users(r#"filter: {user_uuid: {equals: "6ba7b810-..."}}"#), "invalid_uuid", ""),
            (users(r#"filter: {user_uuid: {in: ["x"]}}"#), "invalid_uuid", ""),
            (users("filter: {user_uuid: {equals: 5}}"), "invalid_uuid", ""),
            (r#"{ user_usage_buckets(resource_group: "gpu-cluster", filter: {period_start: {gte: "2026-02-30"}}) { count } }"#.to_owned(), "invalid_date", ""),
            (r#"{ user_usage_buckets(resource_group: "gpu-cluster", filter: {period_start: {gte: "yesterday"}}) { count } }"#.to_owned(), "invalid_date", ""),
            // Pages.
            (users("first: 0"), "invalid_page_size", "/first"),
            (users("first: -1"), "invalid_page_size", "/first"),
            (users("first: 1001"), "invalid_page_size", "/first"),
            (users("first: 1000000000"), "invalid_page_size", "/first"),
            (users("first: 100000000000000"), "invalid_page_size", "/first"),
            (users("last: 0"), "invalid_page_size", "/last"),
            (users("last: 1000000000"), "invalid_page_size", "/last"),
            (users("first: 1, last: 1"), "invalid_page", "/last"),
            (users("offset: -1"), "invalid_offset", "/offset"),
            (users(r#"after: "zzz""#), "invalid_cursor", "/after"),
            (users(r#"before: "ä""#), "invalid_cursor", "/before"),
            (users(&format!("after: {foreign}, order: {{field: RANK, direction: DESC}}")), "invalid_cursor", "/after"),
            (format!(r#"{{ domain_fair_shares(resource_group: "gpu-cluster", after: {foreign}) {{ count }} }}"#), "invalid_cursor", "/after"),
            (format!(r#"{{ user_usage_buckets(resource_group: "gpu-cluster", before: {foreign}) {{ count }} }}"#), "invalid_cursor", "/before"),
            (format!("{{ job_runs(after: {foreign}) {{ count }} }}"), "invalid_cursor", "/after"),
            (format!(r#"{{ user_fair_shares(resource_group: "other", after: {foreign}) {{ count }} }}"#), "invalid_cursor", "/after"),
            // Options and jobs.
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler: "magic") { name } }"#.to_owned(), "unknown_scheduler", "/scheduler"),
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{\"half_life_days\": 0}") { name } }"#.to_owned(), "out_of_range", "/scheduler_opts/half_life_days"),
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{\"halflife\": 1}") { name } }"#.to_owned(), "unknown_option", "/scheduler_opts/halflife"),
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{") { name } }"#.to_owned(), "invalid_json", ""),
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "{\"half_life_days\": 7, \"half_life_days\": 8}") { name } }"#.to_owned(), "duplicate_field", ""),
            (r#"{ simulate_division(input: "{\"capacity\": {\"cpu\": 1, \"cpu\": 2}}") }"#.to_owned(), "duplicate_field", ""),
            (r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: "[1]") { name } }"#.to_owned(), "invalid_value", "/scheduler_opts"),
            (r#"mutation { run_job(name: "dance") { id } }"#.to_owned(), "unknown_job", ""),
            (r#"mutation { run_job(name: "aggregate", resource_group: "nowhere") { id } }"#.to_owned(), "unknown_resource_group", ""),
            // Queries.
            ("{".to_owned(), "invalid_query", ""),
            (String::new(), "invalid_query", ""),
            ("{ nothing }".to_owned(), "invalid_query", ""),
            ("{ user_fair_shares { count } }".to_owned(), "invalid_query", ""),
        ];
        for (query, code, pointer) in &table {
            let extensions = api.refused(admin(), query).await;
            assert_eq!(extensions["code"], *code, "{query}: {extensions}");
            if !pointer.is_empty() {
                assert_eq!(extensions["errors"][0]["pointer"], *pointer, "{query}: {extensions}");
                assert_eq!(extensions["errors"][0]["code"], *code);
            }
        }
        assert_eq!(group_snapshot(&api).await, before);
    }

    async fn every_fault_of_a_write_is_named(db: TestDb) {
        let api = Api::cluster(db).await;
        let extensions = api.refused(admin(), &items(
            r#"{target_type: DOMAIN, target_id: "a", weight: "0"} {target_type: DOMAIN, target_id: "b", weight: "-1"}"#,
        )).await;
        assert_eq!(extensions["code"], "invalid");
        assert_eq!(extensions["errors"].as_array().unwrap().len(), 2);
    }

    async fn the_wrong_role_changes_nothing(db: TestDb) {
        let api = Api::cluster(db).await;
        let before = group_snapshot(&api).await;
        for caller in [role(Role::Viewer, None), role(Role::Scheduler, None), role(Role::User, Some("alice"))] {
            for mutation in [
                upsert("2"),
                // A caller who may not write gets no details of the errors.
                upsert("0"),
                items(r#"{target_type: DOMAIN, target_id: "research", weight: "2"}"#),
                format!(r#"mutation {{ upsert_project_fair_share(resource_group: "gpu-cluster", project_id: "{}", weight: 2) {{ weight }} }}"#, id("ml")),
                format!(r#"mutation {{ upsert_user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}", weight: 2) {{ weight }} }}"#, id("alice"), id("ml")),
                r#"mutation { reset_fair_share_weight(resource_group: "gpu-cluster", target_type: DOMAIN, target_id: "research") }"#.to_owned(),
                r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler: "fifo") { name } }"#.to_owned(),
                r#"mutation { run_job(name: "aggregate") { id } }"#.to_owned(),
            ] {
                assert_eq!(api.refused(caller.clone(), &mutation).await["code"], "forbidden", "{mutation}");
            }
        }
        assert_eq!(group_snapshot(&api).await, before);
    }

    async fn variables_are_checked_like_literals(db: TestDb) {
        let api = Api::cluster(db).await;
        let query = r#"mutation ($weight: Decimal) { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "research", weight: $weight) { weight } }"#;
        for (weight, code) in [(json!("0"), "invalid_weight"), (json!(-1), "invalid_weight"), (json!({}), "invalid_decimal"), (json!("1.23456"), "invalid_weight")] {
            let answer = api.send(admin(), query, json!({"weight": weight})).await;
            assert_eq!(answer["errors"][0]["extensions"]["code"], code, "{answer}");
        }
        for (weight, shown) in [(json!("2.5000"), "2.5"), (json!(0.0001), "0.0001"), (json!(3), "3"), (json!("999999.9999"), "999999.9999")] {
            let answer = api.send(admin(), query, json!({"weight": weight})).await;
            assert_eq!(answer["data"]["upsert_domain_fair_share"]["weight"], shown, "{answer}");
        }
    }
}
