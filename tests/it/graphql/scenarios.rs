//! The scenarios of the proposal, with each query and mutation as printed, and with real ids.

use serde_json::{Value, json};

use super::support::{Api, column, texts};
use crate::support::fixture::id;
use crate::support::on_both;

/// Normalised usage of two hours at `cpu` of 100 CPU and `mem` of 1000 in a window of 28 days.
fn used(cpu: f64, mem: f64) -> f64 {
    f64::midpoint(cpu / 100.0, mem / 1000.0) * 7_200.0 / 86_400.0 / 28.0
}

fn close(shown: &Value, expected: f64) {
    let value: f64 = shown.as_str().unwrap().parse().unwrap();
    assert!((value - expected).abs() < 1e-11, "{value} is not {expected}");
}

on_both! {
    async fn scenario_1_configuration(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"query {
    resource_group(name: "gpu-cluster") {
        name
        scheduler        # Check if "fairshare"
        scheduler_opts   # Fair Share parameters
    }
}"#).await;
        let group = &data["resource_group"];
        assert_eq!((&group["name"], &group["scheduler"]), (&json!("gpu-cluster"), &json!("fairshare")));
        let opts: Value = serde_json::from_str(group["scheduler_opts"].as_str().unwrap()).unwrap();
        for (key, value) in [
            ("half_life_days", json!(7)), ("lookback_days", json!(28)), ("decay_unit_days", json!(1)),
            ("default_weight", json!("1.0")), ("gap_policy", json!("interpolate")), ("max_gap_hours", json!(24)),
        ] {
            assert_eq!(opts[key], value, "{key}");
        }
    }

    async fn scenario_2_weight_policy(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"query {
    domain_fair_shares(
        resource_group: "gpu-cluster"
        first: 100
        order: {field: FAIR_SHARE_FACTOR, direction: DESC}
    ) {
        edges {
            node {
                domain_name
                weight               # Configured ratio
                total_decayed_usage  # Calculated usage
                fair_share_factor    # Calculated Factor
                last_calculated_at
            }
        }
        count
    }
}"#).await;
        let domains = &data["domain_fair_shares"];
        assert_eq!(domains["count"], 2);
        assert_eq!(texts(domains, "domain_name"), ["sales", "research"]);
        let sales = &domains["edges"][0]["node"];
        // 2 users x 5 CPU (and 10 of memory) x 7200 s.
        assert_eq!(sales["total_decayed_usage"], r#"{"cpu":"72000","mem":"144000"}"#);
        assert_eq!(sales["weight"], "1");
        assert_eq!(sales["last_calculated_at"], "2026-01-13T00:00:00Z");
        close(&sales["fair_share_factor"], (-used(10.0, 20.0)).exp2());

        let data = api.ask(r#"query {
    project_fair_shares(
        resource_group: "gpu-cluster"
        filter: {domain_name: {equals: "research"}}
    ) {
        edges {
            node {
                project_id
                domain_name
                weight
                fair_share_factor
            }
        }
    }
}"#).await;
        let projects = &data["project_fair_shares"];
        assert_eq!(column(projects, "project_id"), [json!(id("vision")), json!(id("ml"))]);

        let data = api.ask(r#"mutation {
    upsert_domain_fair_share(
        resource_group: "gpu-cluster"
        domain_name: "research"
        weight: "2.0"
    ) {
        domain_name
        weight
        fair_share_factor
    }
}"#).await;
        let research = &data["upsert_domain_fair_share"];
        // Decimals carry no trailing zeros (FAIR_SHARE §2), so the printed "2.0" is answered as "2".
        assert_eq!((&research["domain_name"], &research["weight"]), (&json!("research"), &json!("2")));
        let whole = 2.0 * used(40.0, 10.0) + used(20.0, 10.0) + used(10.0, 10.0);
        close(&research["fair_share_factor"], (-whole / 2.0).exp2());

        let data = api.ask(&r#"mutation {
    upsert_project_fair_share(
        resource_group: "gpu-cluster"
        project_id: "550e8400-..."
        weight: "1.5"
    ) {
        project_id
        weight
        fair_share_factor
    }
}"#.replace("550e8400-...", &id("ml").to_string())).await;
        assert_eq!(data["upsert_project_fair_share"]["weight"], "1.5");
        let ml = 2.0 * used(40.0, 10.0) + used(20.0, 10.0);
        close(&data["upsert_project_fair_share"]["fair_share_factor"], (-ml / 1.5).exp2());

        let data = api.ask(&r#"mutation {
    reset_fair_share_weight(
        resource_group: "gpu-cluster"
        target_type: USER
        target_id: "6ba7b810-..."
    )
}"#.replace("6ba7b810-...", &id("alice").to_string())).await;
        assert_eq!(data, json!({"reset_fair_share_weight": true}));
    }

    async fn scenario_3_current_priority(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"query {
    user_fair_shares(
        resource_group: "gpu-cluster"
        first: 50
        order: {field: FAIR_SHARE_FACTOR, direction: DESC}
    ) {
        edges {
            node {
                user_uuid
                fair_share_factor  # 0~1, higher = higher priority
                rank               # 1st, 2nd, ...
                effective_weight   # Applied Weight (Domain×Project×User)
                effective_usage    # Decay-applied cumulative usage
            }
        }
        count
    }
}"#).await;
        let users = &data["user_fair_shares"];
        assert_eq!(users["count"], 5);
        assert_eq!(column(users, "rank"), [1, 1, 3, 4, 5]);
        let mut first = [json!(id("carol")), json!(id("dave"))];
        first.sort_by_key(ToString::to_string);
        let rest = [json!(id("alice")), json!(id("bob")), json!(id("alice"))];
        assert_eq!(column(users, "user_uuid"), [&first[..], &rest[..]].concat());
        let expected =
            [used(5.0, 10.0), used(5.0, 10.0), used(10.0, 10.0), used(20.0, 10.0), 2.0 * used(40.0, 10.0)];
        for (edge, usage) in users["edges"].as_array().unwrap().iter().zip(expected) {
            close(&edge["node"]["effective_usage"], usage);
            close(&edge["node"]["fair_share_factor"], (-usage).exp2());
            assert_eq!(edge["node"]["effective_weight"], "1");
        }

        let data = api.ask(r#"query {
    user_fair_shares(
        resource_group: "gpu-cluster"
        filter: {domain_name: {equals: "research"}}
        order: {field: RANK, direction: ASC}
    ) {
        edges {
            node {
                user_uuid
                fair_share_factor
                rank
            }
        }
    }
}"#).await;
        assert_eq!(column(&data["user_fair_shares"], "rank"), [3, 4, 5]);

        let data = api.ask(&r#"query {
    user_fair_shares(
        resource_group: "gpu-cluster"
        filter: {user_uuid: {equals: "6ba7b810-..."}}
    ) {
        edges {
            node {
                user_uuid
                fair_share_factor
                rank
                effective_weight
                effective_usage
            }
        }
    }
}"#.replace("6ba7b810-...", &id("alice").to_string())).await;
        assert_eq!(column(&data["user_fair_shares"], "rank"), [3, 5]);
    }

    async fn scenario_4_usage_history(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(&r#"query {
    user_usage_buckets(
        resource_group: "gpu-cluster"
        filter: {user_uuid: {equals: "6ba7b810-..."}}
        first: 28
        order: {field: PERIOD_START, direction: DESC}
    ) {
        edges {
            node {
                period_start          # Bucket start date
                period_end            # Bucket end date
                resource_usage  # {"cpu": 86400, "mem": ...}
            }
        }
    }
}"#.replace("6ba7b810-...", &id("alice").to_string())).await;
        let buckets = &data["user_usage_buckets"];
        assert_eq!(texts(buckets, "period_start"), ["2026-01-12", "2026-01-11", "2026-01-10"]);
        assert_eq!(texts(buckets, "period_end"), ["2026-01-12", "2026-01-11", "2026-01-10"]);
        let busy = r#"{"cpu":"288000","mem":"72000"}"#;
        assert_eq!(texts(buckets, "resource_usage"), [r#"{"cpu":"72000","mem":"72000"}"#, busy, busy]);

        let printed = r#"query {
    user_usage_buckets(
        resource_group: "gpu-cluster"
        filter: {
            user_uuid: {equals: "6ba7b810-..."}
            period_start: {gte: "2026-01-01"}
            period_end: {lte: "2026-01-07"}
        }
    ) {
        edges {
            node {
                period_start
                resource_usage
            }
        }
    }
}"#.replace("6ba7b810-...", &id("alice").to_string());
        assert_eq!(api.ask(&printed).await["user_usage_buckets"]["edges"], json!([]));
        let later = printed.replace("2026-01-01", "2026-01-11").replace("2026-01-07", "2026-01-11");
        assert_eq!(texts(&api.ask(&later).await["user_usage_buckets"], "period_start"), ["2026-01-11"]);
    }

    async fn scenario_5_a_weight_change_shows_at_once(db: TestDb) {
        let api = Api::cluster(db).await;
        let look = r#"query {
    user_fair_shares(resource_group: "gpu-cluster", first: 10) {
        edges {
            node { user_uuid, fair_share_factor, rank, effective_weight }
        }
    }
}"#;
        let before = api.ask(look).await;
        assert_eq!(column(&before["user_fair_shares"], "rank"), [1, 1, 3, 4, 5]);
        let data = api.ask(r#"mutation {
    upsert_domain_fair_share(
        resource_group: "gpu-cluster"
        domain_name: "research"
        weight: "3.0"
    ) {
        domain_name
        weight
        fair_share_factor
    }
}"#).await;
        assert_eq!(data["upsert_domain_fair_share"]["weight"], "3");
        let after = api.ask(look).await;
        let users = &after["user_fair_shares"];
        // alice in vision passes carol and dave; the others of research do not.
        assert_eq!(users["edges"][0]["node"]["user_uuid"], json!(id("alice")));
        assert_eq!(column(users, "rank"), [1, 2, 2, 4, 5]);
        assert_eq!(column(users, "effective_weight"), ["3", "1", "1", "3", "3"]);
        close(&users["edges"][0]["node"]["fair_share_factor"], (-used(10.0, 10.0) / 3.0).exp2());
    }

    async fn every_documented_field_of_a_share(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(&format!(r#"{{
            user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}") {{
                id user_uuid user_name project_id project_name domain_name resource_group share effective_weight weight
                configured_weight effective_usage normalized_usage total_decayed_usage fair_share_factor rank
                last_calculated_at lookback_start lookback_end half_life_days lookback_days decay_unit_days resource_weights
            }}
        }}"#, id("bob"), id("ml"))).await;
        let mut bob = data["user_fair_share"].clone();
        close(&bob["normalized_usage"], used(20.0, 10.0));
        for computed in ["id", "effective_usage", "normalized_usage", "fair_share_factor"] {
            assert!(bob.as_object_mut().unwrap().remove(computed).unwrap().is_string());
        }
        assert_eq!(bob, json!({
            "user_uuid": id("bob"), "user_name": "bob", "project_id": id("ml"), "project_name": "ml",
            "domain_name": "research", "resource_group": "gpu-cluster", "share": "1", "effective_weight": "1",
            "weight": "1", "configured_weight": null, "total_decayed_usage": r#"{"cpu":"144000","mem":"72000"}"#,
            "rank": 4, "last_calculated_at": "2026-01-13T00:00:00Z", "lookback_start": "2025-12-17",
            "lookback_end": "2026-01-13", "half_life_days": 7, "lookback_days": 28, "decay_unit_days": 1,
            "resource_weights": "{}",
        }));
    }

    async fn a_known_entity_without_a_row_has_used_nothing(db: TestDb) {
        let api = Api::cluster(db).await;
        api.fixture.group("other", &json!({"default_weight": "2"})).await;
        let data = api.ask(&format!(r#"{{
            domain: domain_fair_share(resource_group: "other", domain_name: "research") {{ weight effective_weight fair_share_factor rank }}
            project: project_fair_share(resource_group: "other", project_id: "{ml}") {{ weight effective_weight fair_share_factor rank }}
            user: user_fair_share(resource_group: "other", user_uuid: "{bob}", project_id: "{ml}") {{ weight effective_weight fair_share_factor rank }}
            nobody: domain_fair_share(resource_group: "other", domain_name: "nowhere") {{ weight }}
            nothing: project_fair_share(resource_group: "other", project_id: "{bob}") {{ weight }}
            no_user: user_fair_share(resource_group: "other", user_uuid: "{ml}", project_id: "{ml}") {{ weight }}
            no_group: resource_group(name: "nowhere") {{ name }}
        }}"#, ml = id("ml"), bob = id("bob"))).await;
        let row = |weight: &str| json!({"weight": "2", "effective_weight": weight, "fair_share_factor": "1", "rank": null});
        assert_eq!(data["domain"], row("2"));
        assert_eq!(data["project"], row("2"));
        assert_eq!(data["user"], row("8"));
        for unknown in ["nobody", "nothing", "no_user", "no_group"] {
            assert_eq!(data[unknown], Value::Null, "{unknown}");
        }
    }
}
