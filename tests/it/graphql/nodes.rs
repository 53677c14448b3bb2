//! Global ids: every row of every type is found by its own.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Api, role, texts};
use crate::support::fixture::{admin, id};
use crate::support::on_both;

on_both! {
    async fn every_type_is_found_by_its_id(db: TestDb) {
        let api = Api::cluster(db).await;
        api.ask(r#"mutation { upsert_domain_fair_share(resource_group: "gpu-cluster", domain_name: "research", weight: 2) { id } run_job(name: "aggregate") { id } }"#).await;
        let group = r#"resource_group: "gpu-cluster""#;
        let mut ids = Vec::new();
        for (list, kind) in [
            (format!("domain_fair_shares({group})"), "DomainFairShare"),
            (format!("project_fair_shares({group})"), "ProjectFairShare"),
            (format!("user_fair_shares({group})"), "UserFairShare"),
            (format!("domain_usage_buckets({group})"), "DomainUsageBucketNode"),
            (format!("project_usage_buckets({group})"), "ProjectUsageBucketNode"),
            (format!("user_usage_buckets({group})"), "UserUsageBucketNode"),
            (format!("fair_share_weights({group})"), "FairShareWeightNode"),
            (format!("agents({group})"), "Agent"),
            ("job_runs".to_owned(), "JobRun"),
            ("audit_log".to_owned(), "AuditEntry"),
        ] {
            let data = api.ask(&format!("{{ list: {list} {{ edges {{ node {{ id }} }} }} }}")).await;
            let found = texts(&data["list"], "id");
            assert!(!found.is_empty(), "{kind}");
            ids.extend(found.into_iter().map(|id| (id, kind)));
        }
        let group = api.ask("{ resource_groups { id } }").await;
        ids.push((group["resource_groups"][0]["id"].as_str().unwrap().to_owned(), "ScalingGroup"));
        for (id, kind) in &ids {
            let data = api.ask(&format!("{{ node(id: {}) {{ __typename id }} }}", json!(id))).await;
            assert_eq!(data["node"], json!({"__typename": kind, "id": id}));
        }
        let mut unique: Vec<_> = ids.iter().map(|(id, _)| id).collect();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), ids.len());

        let list: Vec<_> = ids.iter().map(|(id, _)| id.as_str()).chain(["x"]).rev().collect();
        let all = format!("{{ nodes(ids: {}) {{ id }} }}", json!(list));
        let data = api.ask(&all).await;
        let found: Vec<_> = data["nodes"].as_array().unwrap().iter().map(|n| n["id"].as_str()).collect();
        assert_eq!(found[0], None);
        assert_eq!(found[1..].iter().map(|id| id.unwrap()).collect::<Vec<_>>(), list[1..]);
    }

    async fn many_nodes_take_no_more_statements_than_few(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"{ user_usage_buckets(resource_group: "gpu-cluster") { edges { node { id } } } user_fair_shares(resource_group: "gpu-cluster") { edges { node { id } } } }"#).await;
        let buckets = texts(&data["user_usage_buckets"], "id");
        assert!(buckets.len() > 3);
        let query = |ids: &[String]| format!("{{ nodes(ids: {}) {{ id }} }}", json!(ids));
        assert_eq!(api.statements(&query(&buckets)).await, api.statements(&query(&buckets[..1])).await);
        assert_eq!(api.statements(&query(&texts(&data["user_fair_shares"], "id"))).await, 0);
    }

    async fn who_has_no_row_in_a_group_is_found_with_the_default(db: TestDb) {
        let api = Api::cluster(db).await;
        api.fixture.group("second", &json!({"default_weight": "3"})).await;
        let (alice, ml) = (id("alice"), id("ml"));
        let fields = "__typename id ... on DomainFairShare { fair_share_factor weight rank } \
            ... on ProjectFairShare { project_name fair_share_factor weight rank } ... on UserFairShare { domain_name fair_share_factor effective_weight rank }";
        let typed = api.ask(&format!(r#"{{
            domain: domain_fair_share(resource_group: "second", domain_name: "research") {{ {} }}
            project: project_fair_share(resource_group: "second", project_id: "{ml}") {{ {} }}
            user: user_fair_share(resource_group: "second", user_uuid: "{alice}", project_id: "{ml}") {{ {} }}
        }}"#, "__typename id fair_share_factor weight rank", "__typename id project_name fair_share_factor weight rank",
            "__typename id domain_name fair_share_factor effective_weight rank")).await;
        let ids = ["domain", "project", "user"].map(|kind| typed[kind]["id"].clone());
        for (kind, id) in ["domain", "project", "user"].into_iter().zip(&ids) {
            let data = api.ask(&format!("{{ node(id: {id}) {{ {fields} }} }}")).await;
            assert_eq!(data["node"]["fair_share_factor"], "1");
            assert_eq!(data["node"], typed[kind]);
        }
        // Known people are found in memory.
        let more = api.ask(&format!(r#"{{
            project: project_fair_share(resource_group: "second", project_id: "{}") {{ id }}
            user: user_fair_share(resource_group: "second", user_uuid: "{}", project_id: "{}") {{ id }}
        }}"#, id("web"), id("dave"), id("web"))).await;
        let few = api.statements(&format!("{{ nodes(ids: {}) {{ id }} }}", json!(ids))).await;
        let all = [ids.to_vec(), vec![more["project"]["id"].clone(), more["user"]["id"].clone()]].concat();
        assert_eq!((few, api.statements(&format!("{{ nodes(ids: {}) {{ id }} }}", json!(all))).await), (0, 0));
        // These are not known: ["DomainFairShare",["second","nowhere"]], ["UserFairShare",["second",alice,alice]].
        for nobody in [r#"["DomainFairShare",["second","nowhere"]]"#.to_owned(), format!(r#"["UserFairShare",["second","{alice}","{alice}"]]"#)] {
            let data = api.ask(&format!(r#"{{ node(id: "{}") {{ id }} }}"#, URL_SAFE_NO_PAD.encode(nobody))).await;
            assert_eq!(data["node"], Value::Null);
        }
        let others = role(Role::User, Some("bob"));
        assert_eq!(api.refused(others, &format!("{{ node(id: {}) {{ id }} }}", ids[2])).await["code"], "forbidden");
    }

    async fn what_is_no_id_is_nothing(db: TestDb) {
        let api = Api::cluster(db).await;
        // ["Agent",[]], ["UserFairShare",["gpu-cluster","x","y"]], ["DomainUsageBucketNode",["nowhere","a","2026-01-01"]]
        for id in ["", "x", "äöü", "WyJBZ2VudCIsW11d", "WyJVc2VyRmFpclNoYXJlIixbImdwdS1jbHVzdGVyIiwieCIsInkiXV0", "WyJEb21haW5Vc2FnZUJ1Y2tldE5vZGUiLFsibm93aGVyZSIsImEiLCIyMDI2LTAxLTAxIl1d"] {
            let data = api.ask(&format!("{{ node(id: {}) {{ id }} }}", json!(id))).await;
            assert_eq!(data["node"], Value::Null, "{id}");
        }
        let query = format!("{{ nodes(ids: {}) {{ id }} }}", json!(vec!["x"; 101]));
        assert_eq!(api.refused(admin(), &query).await["code"], "invalid_page_size");
    }
}
