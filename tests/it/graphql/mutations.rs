//! Mutations: the values that they set, unset and leave as they are.

use serde_json::{Value, json};

use super::support::{Api, column, texts};
use crate::support::fixture::id;
use crate::support::on_both;

async fn weights(api: &Api) -> Vec<(String, String)> {
    let data = api
        .ask(r#"{ fair_share_weights(resource_group: "gpu-cluster") { edges { node { target_id weight } } } }"#)
        .await;
    let list = &data["fair_share_weights"];
    texts(list, "target_id").into_iter().zip(texts(list, "weight")).collect()
}

on_both! {
    async fn a_user_weight_is_set_and_unset(db: TestDb) {
        let api = Api::cluster(db).await;
        let upsert = |weight: &str| format!(r#"mutation {{ upsert_user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}", weight: {weight}) {{
            user_uuid share weight configured_weight total_decayed_usage }} }}"#, id("alice"), id("ml"));
        let set = api.ask(&upsert("4")).await["upsert_user_fair_share"].clone();
        assert_eq!((&set["share"], &set["weight"], &set["configured_weight"]), (&json!("4"), &json!("4"), &json!("4")));
        assert_eq!(weights(&api).await, [(id("alice").to_string(), "4".to_owned())]);
        let unset = api.ask(&upsert("null")).await["upsert_user_fair_share"].clone();
        assert_eq!((&unset["weight"], &unset["configured_weight"]), (&json!("1"), &Value::Null));
        // Calculated values stay.
        assert_eq!(unset["total_decayed_usage"], set["total_decayed_usage"]);
        assert_eq!(weights(&api).await, []);
    }

    async fn a_reset_names_one_project_or_takes_all(db: TestDb) {
        let api = Api::cluster(db).await;
        let set = async || {
            let all = api.ask(&format!(r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [{{target_type: USER, target_id: "{}", weight: "2"}}]) {{
                upserted_count deleted_count affected_weights {{ target_type project_id weight }} }} }}"#, id("alice"))).await;
            assert_eq!(all["upsert_fair_share_weights"]["upserted_count"], 2);
            assert_eq!(all["upsert_fair_share_weights"]["affected_weights"].as_array().unwrap().len(), 2);
        };
        let reset = |project: &str| format!(r#"mutation {{ reset_fair_share_weight(resource_group: "gpu-cluster", target_type: USER, target_id: "{}" {project}) }}"#, id("alice"));
        set().await;
        api.ask(&reset(&format!(r#"project_id: "{}""#, id("ml")))).await;
        assert_eq!(weights(&api).await.len(), 1);
        api.ask(&reset("")).await;
        assert_eq!(weights(&api).await, []);
        // Once more changes nothing and is no error.
        assert_eq!(api.ask(&reset("")).await, json!({"reset_fair_share_weight": true}));
    }

    async fn both_forms_of_a_bulk_write(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(&format!(r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", reason: "spring", input: {{
            domain_weights: [{{domain_name: "research", weight: "2.0"}}]
            project_weights: [{{project_id: "{ml}", weight: "1.5"}}]
            user_weights: [{{user_uuid: "{bob}", project_id: "{ml}", weight: "3"}}]
        }}) {{ upserted_count deleted_count affected_weights {{ target_type target_id weight resource_group }} }} }}"#, ml = id("ml"), bob = id("bob"))).await;
        let result = &data["upsert_fair_share_weights"];
        assert_eq!((&result["upserted_count"], &result["deleted_count"]), (&json!(3), &json!(0)));
        assert_eq!(result["affected_weights"][0], json!({"target_type": "DOMAIN", "target_id": "research", "weight": "2", "resource_group": "gpu-cluster"}));
        let share = api.ask(&format!(r#"{{ user_fair_share(resource_group: "gpu-cluster", user_uuid: "{}", project_id: "{}") {{ share effective_weight }} }}"#, id("bob"), id("ml"))).await;
        assert_eq!(share["user_fair_share"], json!({"share": "9", "effective_weight": "9"}));
        let data = api.ask(&format!(r#"mutation {{ upsert_fair_share_weights(resource_group: "gpu-cluster", items: [
            {{target_type: DOMAIN, target_id: "sales", weight: "7"}}
            {{target_type: PROJECT, target_id: "{ml}", weight: null}}
            {{target_type: PROJECT, target_id: "{web}", weight: null}}
        ]) {{ upserted_count deleted_count affected_weights {{ target_id weight }} }} }}"#, ml = id("ml"), web = id("web"))).await;
        // A weight that was not set is not deleted.
        assert_eq!(data["upsert_fair_share_weights"], json!({"upserted_count": 1, "deleted_count": 1, "affected_weights": [
            {"target_id": "sales", "weight": "7"}, {"target_id": id("ml"), "weight": "1"},
        ]}));
        let audit = api.ask(r#"{ audit_log(action: "weights.put") { count edges { node { actor action resource_group reason after } } } }"#).await;
        assert_eq!(audit["audit_log"]["count"], 2);
        assert_eq!(column(&audit["audit_log"], "reason"), [Value::Null, json!("spring")]);
    }

    async fn options_merge_and_take_effect_at_once(db: TestDb) {
        let api = Api::cluster(db).await;
        let data = api.ask(r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler: "drf", scheduler_opts: "{\"default_weight\": \"2\", \"gap_policy\": \"ignore\"}") {
            name scheduler gap_policy configured_scheduler_opts } }"#).await;
        assert_eq!(data["update_scheduler_options"], json!({
            "name": "gpu-cluster", "scheduler": "drf", "gap_policy": "IGNORE",
            "configured_scheduler_opts": r#"{"default_weight":"2","gap_policy":"ignore"}"#,
        }));
        let shares = api.ask(r#"{ user_fair_shares(resource_group: "gpu-cluster", first: 1) { edges { node { weight share } } } }"#).await;
        assert_eq!(shares["user_fair_shares"]["edges"][0]["node"], json!({"weight": "2", "share": "8"}));
        // An object instead of its text, a null option, and no scheduler.
        let data = api.ask(r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", scheduler_opts: {default_weight: null, half_life_days: 14}) { scheduler configured_scheduler_opts } }"#).await;
        assert_eq!(data["update_scheduler_options"], json!({"scheduler": "drf", "configured_scheduler_opts": r#"{"gap_policy":"ignore","half_life_days":14}"#}));
    }
}
