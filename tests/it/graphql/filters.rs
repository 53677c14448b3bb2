//! Every kind of filter, against the rows that it must return.

use serde_json::json;

use super::support::{Api, texts};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

/// Domains whose names contain wildcards of SQL and letters of both cases.
async fn named(db: crate::support::database::TestDb) -> Api {
    let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
    let kernels: Vec<_> = ["alpha", "Alpha-2", "beta_x", "betaxx", "100%"]
        .into_iter()
        .map(|name| with(kernel(name, name, name, "2026-01-12T00:00:00Z"), &json!({"domain_name": name})))
        .collect();
    api.fixture.ingest(&kernels).await;
    api.fixture.tick().await;
    api
}

on_both! {
    async fn many_conditions_over_many_domains_are_one_statement(db: TestDb) {
        let api = Api::empty(db, "2026-01-13T00:00:00Z").await;
        let kernels: Vec<_> = (0..400)
            .map(|n| with(kernel(&format!("k{n}"), "ann", &format!("p{n}"), "2026-01-12T00:00:00Z"), &json!({"domain_name": format!("d{n}")})))
            .collect();
        api.fixture.ingest(&kernels).await;
        api.fixture.tick().await;
        let condition = r#"{domain_name: {starts_with: "d"}}, "#.repeat(90);
        for list in ["domain_usage_buckets", "project_usage_buckets", "user_usage_buckets"] {
            let data = api.ask(&format!(r#"{{ {list}(resource_group: "gpu-cluster", filter: {{OR: [{condition}]}}) {{ count }} }}"#)).await;
            assert_eq!(data[list]["count"], 400);
        }
    }

    async fn texts_are_matched_literally(db: TestDb) {
        let api = named(db).await;
        let all = ["100%", "Alpha-2", "alpha", "beta_x", "betaxx"];
        for (filter, expected) in [
            (r#"equals: "alpha""#, &["alpha"][..]),
            (r#"i_equals: "ALPHA""#, &["alpha"]),
            (r#"equals: "ALPHA""#, &[]),
            (r#"not_equals: "alpha""#, &["100%", "Alpha-2", "beta_x", "betaxx"]),
            (r#"i_not_equals: "ALPHA-2""#, &["100%", "alpha", "beta_x", "betaxx"]),
            (r#"contains: "ph""#, &["Alpha-2", "alpha"]),
            (r#"contains: "_""#, &["beta_x"]),
            (r#"contains: "%""#, &["100%"]),
            (r#"i_contains: "A_X""#, &["beta_x"]),
            (r#"starts_with: "al""#, &["alpha"]),
            (r#"i_starts_with: "AL""#, &["Alpha-2", "alpha"]),
            (r#"starts_with: "beta_""#, &["beta_x"]),
            (r#"ends_with: "x""#, &["beta_x", "betaxx"]),
            (r#"i_ends_with: "_X""#, &["beta_x"]),
            (r#"in: ["alpha", "100%", "no"]"#, &["100%", "alpha"]),
            ("in: []", &[]),
            (r#"i_in: ["ALPHA-2", "BETAXX"]"#, &["Alpha-2", "betaxx"]),
            (r#"starts_with: "beta", not_equals: "betaxx""#, &["beta_x"]),
            ("equals: null", &all),
            ("", &all),
        ] {
            for (list, order) in [("domain_fair_shares", ""), ("domain_usage_buckets", "order: {field: PERIOD_START}")] {
                let data = api.ask(&format!(
                    r#"{{ {list}(resource_group: "gpu-cluster", {order} filter: {{domain_name: {{{filter}}}}}) {{ count edges {{ node {{ domain_name }} }} }} }}"#
                )).await;
                let mut found = texts(&data[list], "domain_name");
                found.sort();
                assert_eq!(found, expected, "{list} {filter}");
                assert_eq!(data[list]["count"], expected.len());
            }
        }
    }

    async fn filters_nest(db: TestDb) {
        let api = named(db).await;
        let name = |how: &str| format!("{{domain_name: {{{how}}}}}");
        let (a, b, x) = (name(r#"i_starts_with: "alpha""#), name(r#"starts_with: "beta""#), name(r#"contains: "x""#));
        for (filter, expected) in [
            (format!("AND: [{b}, {x}]"), &["beta_x", "betaxx"][..]),
            (format!("OR: [{a}, {x}]"), &["Alpha-2", "alpha", "beta_x", "betaxx"]),
            (format!("NOT: [{a}, {b}]"), &["100%"]),
            // A field, AND, OR and NOT together all have to hold.
            (format!(r#"domain_name: {{contains: "a"}}, OR: [{a}, {b}], NOT: [{x}]"#), &["Alpha-2", "alpha"]),
            (format!("NOT: [{{OR: [{a}, {{AND: [{b}, {x}]}}]}}]"), &["100%"]),
            (format!("NOT: [{{NOT: [{a}]}}]"), &["Alpha-2", "alpha"]),
            ("AND: []".to_owned(), &["100%", "Alpha-2", "alpha", "beta_x", "betaxx"]),
            ("OR: []".to_owned(), &["100%", "Alpha-2", "alpha", "beta_x", "betaxx"]),
            ("NOT: []".to_owned(), &["100%", "Alpha-2", "alpha", "beta_x", "betaxx"]),
        ] {
            for list in ["domain_fair_shares", "project_fair_shares", "user_fair_shares", "domain_usage_buckets", "project_usage_buckets", "user_usage_buckets"] {
                let data = api.ask(&format!(
                    r#"{{ {list}(resource_group: "gpu-cluster", filter: {{{filter}}}) {{ edges {{ node {{ domain_name }} }} }} }}"#
                )).await;
                let mut found = texts(&data[list], "domain_name");
                found.sort();
                assert_eq!(found, expected, "{list} {filter}");
            }
        }
    }

    async fn ids_are_matched(db: TestDb) {
        let api = Api::cluster(db).await;
        let (alice, bob, ml) = (id("alice"), id("bob"), id("ml"));
        for (filter, expected) in [
            (format!(r#"user_uuid: {{equals: "{alice}"}}"#), 2),
            (format!(r#"user_uuid: {{not_equals: "{alice}"}}"#), 3),
            (format!(r#"user_uuid: {{in: ["{alice}", "{bob}"]}}"#), 3),
            ("user_uuid: {in: []}".to_owned(), 0),
            (format!(r#"user_uuid: {{equals: "{alice}"}}, project_id: {{equals: "{ml}"}}"#), 1),
            (format!(r#"user_uuid: {{equals: "{alice}", not_equals: "{alice}"}}"#), 0),
            (format!(r#"project_id: {{not_equals: "{ml}"}}"#), 3),
        ] {
            let data = api.ask(&format!(r#"{{ user_fair_shares(resource_group: "gpu-cluster", filter: {{{filter}}}) {{ count }} }}"#)).await;
            assert_eq!(data["user_fair_shares"]["count"], expected, "{filter}");
        }
        let data = api.ask(&format!(
            r#"{{ project_usage_buckets(resource_group: "gpu-cluster", filter: {{project_id: {{in: ["{ml}"]}}}}) {{ count edges {{ node {{ project_id }} }} }} }}"#
        )).await;
        assert_eq!(data["project_usage_buckets"]["count"], 2);
    }

    async fn days_are_compared(db: TestDb) {
        let api = Api::cluster(db).await;
        for (how, expected) in [
            ("equals", &["2026-01-11"][..]), ("not_equals", &["2026-01-10", "2026-01-12"]),
            ("gt", &["2026-01-12"]), ("after", &["2026-01-12"]), ("gte", &["2026-01-11", "2026-01-12"]),
            ("lt", &["2026-01-10"]), ("before", &["2026-01-10"]), ("lte", &["2026-01-10", "2026-01-11"]),
        ] {
            for field in ["period_start", "period_end"] {
                let data = api.ask(&format!(
                    r#"{{ domain_usage_buckets(resource_group: "gpu-cluster", order: {{field: PERIOD_START, direction: ASC}},
                        filter: {{domain_name: {{equals: "research"}}, {field}: {{{how}: "2026-01-11"}}}}) {{ edges {{ node {{ {field} }} }} }} }}"#
                )).await;
                assert_eq!(texts(&data["domain_usage_buckets"], field), expected, "{field} {how}");
            }
        }
    }

    async fn weights_are_filtered_and_ordered(db: TestDb) {
        let api = Api::cluster(db).await;
        api.ask(&format!(r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [
            {{target_type: DOMAIN, target_id: "research", weight: "2.5"}}
            {{target_type: DOMAIN, target_id: "sales", weight: "10"}}
            {{target_type: PROJECT, target_id: "{ml}", weight: "0.5"}}
            {{target_type: USER, target_id: "{alice}", weight: "2.5"}}
        ]) {{ upserted_count }} }}"#, ml = id("ml"), alice = id("alice"))).await;
        let list = async |args: &str, field: &str| {
            let data = api.ask(&format!(r#"{{ fair_share_weights(resource_group: "gpu-cluster" {args}) {{ edges {{ node {{ {field} }} }} }} }}"#)).await;
            texts(&data["fair_share_weights"], field)
        };
        assert_eq!(list("", "target_type").await, ["DOMAIN", "DOMAIN", "PROJECT", "USER", "USER"]);
        assert_eq!(list("order: {field: WEIGHT}", "weight").await, ["0.5", "2.5", "2.5", "2.5", "10"]);
        assert_eq!(list("order: {field: WEIGHT, direction: DESC}", "weight").await, ["10", "2.5", "2.5", "2.5", "0.5"]);
        assert_eq!(list("order: {field: TARGET_TYPE, direction: DESC}, first: 1", "target_type").await, ["USER"]);
        assert_eq!(list("filter: {target_type: [DOMAIN, PROJECT]}", "target_type").await.len(), 3);
        assert_eq!(list(r#"filter: {target_id: {contains: "sea"}}"#, "target_id").await, ["research"]);
        assert_eq!(list("filter: {NOT: [{target_type: [USER]}, {target_id: {equals: \"sales\"}}]}", "target_type").await, ["DOMAIN", "PROJECT"]);
    }
}
