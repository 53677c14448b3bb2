//! Damaged rows of one group: the server goes on with the others and says which group it cannot read.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::{Reporter, until};
use crate::cli::program::{Server, end, over};
use crate::support::fixture::GROUP;
use crate::support::on_both;

/// The reason of `/readyz` for a group that cannot be read.
const UNREADABLE: &str = "group_unreadable";

on_both! {
    async fn a_damaged_group_keeps_no_other_from_being_read(db: TestDb) {
        let mut reporter = Reporter::new(db.url.clone());
        let (server, other) = (Server::over(&db.url), Server::over(&db.url));
        reporter.make_group(&server).await;
        reporter.report_some(&server, 1).await;
        let spoilt = "/resource-groups/spoilt";
        assert_eq!(reporter.call(&server, Method::PUT, spoilt, &json!({})).await.status, 201);
        let weights = format!("/resource-groups/{GROUP}/fair-share-weights");
        let weight = json!({"items": [{"target_type": "domain", "target_id": "research", "weight": "3"}]});
        for options in ["{", "{}"] {
            db.execute(&format!(
                "UPDATE resource_groups SET scheduler_opts = '{options}', shares_revision = shares_revision + 1 WHERE name = 'spoilt'"
            ))
            .await;
            reporter.until_ready_says(&other, UNREADABLE, options == "{").await;
            if options == "{}" {
                break;
            }
            let ready = reporter.call(&other, Method::GET, "/readyz", &Value::Null).await;
            let detail = ready.body["reasons"][0]["detail"].as_str().unwrap();
            assert!(detail.starts_with(r#"the resource group "spoilt" cannot be read: "#), "{ready:?}");
            let refused = end(over(&db.url).args(["serve", "--listen", "127.0.0.1:0"]));
            assert_eq!(refused.code, Some(1), "{refused:?}");
            assert!(refused.stderr.contains(r#"the options of the resource group "spoilt": "#), "{refused:?}");
            assert_eq!(reporter.call(&server, Method::PUT, &weights, &weight).await.status, 200);
            until("the weight on the other server", async || {
                let shown = reporter.call(&other, Method::GET, &weights, &Value::Null).await;
                shown.body["items"].as_array().unwrap().iter().any(|item| item["weight"] == "3")
            })
            .await;
        }
        assert_eq!(reporter.call(&other, Method::GET, spoilt, &Value::Null).await.status, 200);
    }
}
