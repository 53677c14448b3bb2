//! Options that look like a mistake are accepted with a warning.

use serde_json::{Value, json};

use super::support::{Server, group, request};
use crate::support::on_both;

fn codes(answer: &Value) -> Vec<(String, String)> {
    let told = answer["warnings"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    told.map(|w| (text(&w["code"]), text(&w["pointer"]).replace("/scheduler_opts/resource_weights", ""))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(code, pointer)| ((*code).to_owned(), (*pointer).to_owned())).collect()
}

/// More digits than a 64-bit float can represent.
const DIGITS: &str = "123456789.123456789";

on_both! {
    async fn numbers_of_options_keep_their_digits(db: TestDb) {
        let server = Server::with_usage(db).await;
        let weights = async || server.get(&group("/scheduler-options")).await["scheduler_opts"]["resource_weights"].clone();
        let send = async |method: &str, path: &str, opts: &str| {
            let body = format!(r#"{{"scheduler_opts": {opts}}}"#);
            let sent = request(&server.key, method, &group(path)).header("content-type", "application/json");
            server.send(sent.body(body.into()).unwrap()).await
        };
        let opts = format!(r#"{{"resource_weights": {{"mem": {DIGITS}, "cpu": 0.5}}}}"#);
        send("PATCH", "/scheduler-options", &opts).await.json(200);
        assert_eq!(weights().await, json!({"cpu": "0.5", "mem": DIGITS}));
        // A float that can be represented exactly stays the same number.
        let entry = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!(entry["after"]["scheduler_opts"]["resource_weights"], json!({"cpu": 0.5, "mem": DIGITS}));
        // A number is rounded to the places of an amount, and a text is refused.
        send("PUT", "", r#"{"resource_weights": {"mem": 9876543210.1234567890125, "cpu": 12345678901234567890123e-4}}"#).await.json(200);
        assert_eq!(weights().await, json!({"cpu": "1234567890123456789.0123", "mem": "9876543210.123456789013"}));
        let refused = send("PATCH", "/scheduler-options", r#"{"resource_weights": {"mem": "0.1234567890125"}}"#).await;
        assert_eq!(refused.refused(422, "invalid_value"), ["/scheduler_opts/resource_weights/mem"]);
        let made = format!(r#"{{"resource_weights": {{"mem": {DIGITS}, "cpu": 2}}}}, "apply": true"#);
        send("POST", "/fair-share-simulations", &made).await.json(200);
        assert_eq!(weights().await, json!({"cpu": "2", "mem": DIGITS}));
        for (opts, code, pointer) in [
            ("7", "invalid_type", "/scheduler_opts"),
            (r#"{"decay": "\u0000"}"#, "invalid_character", "/scheduler_opts/decay"),
            (r#"{"resource_weights": {"mem": "\u0000"}}"#, "invalid_character", "/scheduler_opts/resource_weights/mem"),
        ] {
            assert_eq!(send("PATCH", "/scheduler-options", opts).await.refused(422, code), [pointer], "{opts}");
            assert_eq!(send("POST", "/fair-share-simulations", opts).await.refused(422, code), [pointer], "{opts}");
        }
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        send("PATCH", "/scheduler-options", &deep).await.refused(400, "too_deep");
    }

    async fn doubtful_options_are_told_everywhere(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/scheduler-options");
        let patch = async |weights: Value| {
            let body = json!({"scheduler_opts": {"resource_weights": weights}});
            server.call("PATCH", &path, Some(&body)).await.json(200)
        };
        assert_eq!(codes(&server.get(&path).await), []);
        let misspelt = [("unused_slot", "/cuda.devices"), ("no_weighted_capacity", "")];
        let answer = patch(json!({"cuda.devices": "1"})).await;
        assert_eq!(codes(&answer), pairs(&misspelt));
        assert_eq!(codes(&server.get(&path).await), pairs(&misspelt));
        assert_eq!(codes(&server.get(&group("")).await), pairs(&misspelt));
        let put = server.call("PUT", &group(""), Some(&json!({}))).await.json(200);
        assert_eq!(codes(&put), pairs(&misspelt));
        let gql = server.graphql("{ resource_groups { name warnings { code pointer detail } } }").await;
        assert_eq!(codes(&gql["data"]["resource_groups"][0]), pairs(&misspelt));
        let gql = server.graphql(r#"mutation { update_scheduler_options(resource_group: "gpu-cluster", reason: "look") { warnings { code pointer } } }"#).await;
        assert_eq!(codes(&gql["data"]["update_scheduler_options"]), pairs(&misspelt));
        // The slots merge: the first weight is still there.
        assert_eq!(codes(&patch(json!({"cpu": "1"})).await), pairs(&misspelt[..1]));
        assert_eq!(codes(&patch(json!({"cpu": 0, "cuda.devices": null})).await), pairs(&[("all_weights_zero", "")]));
        assert_eq!(codes(&patch(json!({"cpu": 2})).await), []);
        // A slot that is only used is known too, though nothing of it counts.
        let job = crate::support::fixture::kernel("gpu", "alice", "vision", "2026-01-13T11:00:00Z");
        let job = crate::support::fixture::with(job, &json!({"occupied_slots": {"cuda.device": "1"}}));
        server.call("POST", &group("/kernels"), Some(&job)).await.json(200);
        assert_eq!(codes(&patch(json!({"cuda.device": 1, "cpu": null})).await), pairs(&[("no_weighted_capacity", "")]));
    }

    async fn an_order_that_misses_weights_of_domains_is_told(db: TestDb) {
        let server = Server::with_usage(db).await;
        let path = group("/scheduler-options");
        let weigh = async |sales: &str| {
            let domain = |name: &str, weight: &str| json!({"target_type": "domain", "target_id": name, "weight": weight});
            server.call("PUT", "/domains/sales", Some(&json!({}))).await;
            let body = json!({"items": [domain("research", "2"), domain("sales", sales)]});
            server.call("PUT", &group("/fair-share-weights"), Some(&body)).await.json(200);
            codes(&server.get(&path).await)
        };
        let set = async |opts: Value| server.call("PATCH", &path, Some(&opts)).await.json(200);
        let doubtful = pairs(&[("flat_misses_domain_weights", "/scheduler_opts/order")]);
        assert_eq!(weigh("2").await, []);
        assert_eq!(weigh("1").await, doubtful);
        assert_eq!(codes(&set(json!({"scheduler_opts": {"order": "tiered"}})).await), []);
        assert_eq!(codes(&set(json!({"scheduler_opts": {"order": "flat"}})).await), doubtful);
        // No weight counts for `fifo`.
        assert_eq!(codes(&set(json!({"scheduler": "fifo"})).await), []);
    }

    async fn validators_tell_warnings_apart_and_guard_the_options(db: TestDb) {
        let server = Server::new(db).await;
        let path = group("/scheduler-options");
        let weights = json!({"scheduler_opts": {"resource_weights": {"cpu": 1}}});
        let doubtful = server.call("PATCH", &path, Some(&weights)).await;
        let etag = doubtful.header("etag").to_owned();
        assert_eq!(server.get_with(&path, "if-none-match", &etag).await.status, 304);
        server.call("PUT", &group("/agents/a"), Some(&json!({"available_slots": {"cpu": 4}}))).await.json(201);
        // The answer is another one now; the options are what they were.
        let fresh = server.get_with(&path, "if-none-match", &etag).await;
        assert_eq!(fresh.json(200)["warnings"], json!([]));
        assert_ne!(fresh.header("etag"), etag);
        let guarded = async |etag: &str| {
            let patch = request(&server.key, "PATCH", &path).header("if-match", etag);
            let body = json!({"scheduler_opts": {"half_life_days": 3}}).to_string();
            server.send(patch.header("content-type", "application/json").body(body.into()).unwrap()).await
        };
        guarded(&etag).await.json(200);
        guarded(&etag).await.refused(412, "stale_match");
    }
}
