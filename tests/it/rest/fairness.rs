//! Shares and weights, the report of fairness, and the history of both (`FAIR_SHARE` §11).

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

const PENDING: &str = "2026-01-13T11:00:00Z";

fn waiting(name: &str, user: &str, project: &str, domain: &str) -> Value {
    let changes = json!({
        "status": "PENDING", "started_at": null, "domain_name": domain,
        "occupied_slots": {"cpu": "5"},
    });
    with(kernel(name, user, project, PENDING), &changes)
}

async fn report(server: &Server, query: &str) -> Value {
    server.get(&group(&format!("/fairness?{query}"))).await
}

fn column<'a>(rows: &'a Value, key: &str) -> Vec<&'a str> {
    rows["items"].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap()).collect()
}

/// `(user, entitled_share, entitled_share_of_parent)` by user.
async fn entitled(server: &Server) -> Vec<(Value, Value, Value)> {
    let status = server.get(&group("/fair-share-status")).await;
    let rows = status["items"].as_array().unwrap().iter();
    let mut shares: Vec<_> = rows
        .map(|row| (row["user_uuid"].clone(), row["entitled_share"].clone(), row["entitled_share_of_parent"].clone()))
        .collect();
    shares.sort_by_key(|share| share.0.to_string());
    shares
}

async fn entitled_of(server: &Server, user: &str) -> [Value; 2] {
    let (_, of_group, of_parent) =
        entitled(server).await.into_iter().find(|(uuid, ..)| *uuid == json!(id(user))).expect("the user has a row");
    [of_group, of_parent]
}

on_both! {
    async fn shares_stand_beside_weights_and_follow_who_is_active(db: TestDb) {
        let server = Server::with_usage(db).await;
        let weights = json!({"items": [
            {"target_type": "domain", "target_id": "research", "weight": "3"},
            {"target_type": "user", "target_id": id("alice"), "weight": "2"},
        ]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        let domains = server.get(&group("/fair-share-status/domains")).await;
        let research = domains["items"].as_array().unwrap().iter().find(|d| d["domain_name"] == "research").unwrap();
        assert_eq!((&research["nominal_share"], &research["entitled_share"]), (&json!("0.75"), &json!("0.75")));
        let projects = server.get(&group("/fair-share-status/projects")).await;
        let vision = projects["items"].as_array().unwrap().iter().find(|p| p["project_id"] == json!(id("vision"))).unwrap();
        assert_eq!((&vision["nominal_share"], &vision["nominal_share_of_parent"]), (&json!("0.75"), &json!("1")));
        let one = server.get(&group(&format!("/fair-share-status?user_uuid={}", id("alice")))).await;
        for key in ["nominal_share", "entitled_share"] {
            assert_eq!(one[key], "0.5");
            assert_eq!(one[format!("{key}_of_parent")], "0.666666666667");
            assert_eq!(one["memberships"][0][key], "0.5");
        }
        let set = server.get(&group("/fair-share-weights")).await;
        assert_eq!(column(&set, "entitled_share"), ["0.75", "0.5"]);
        // The answer of a GET can be sent back.
        let back = json!({"items": set["items"]});
        server.call("PUT", &group("/fair-share-weights"), Some(&back)).await.json(200);
        let query = format!(
            r#"{{ user_fair_share(resource_group: "{GROUP}", user_uuid: "{}", project_id: "{}")
                 {{ nominal_share nominal_share_of_parent entitled_share entitled_share_of_parent }} }}"#,
            id("alice"), id("vision"),
        );
        assert_eq!(server.graphql(&query).await["data"]["user_fair_share"], json!({
            "nominal_share": "0.5", "nominal_share_of_parent": "0.666666666667", "entitled_share": "0.5",
            "entitled_share_of_parent": "0.666666666667",
        }));

        // dave has used nothing, and is entitled to a part as long as he asks for something.
        assert!(server.ingest(&[waiting("k4", "dave", "audio", "sales")]).await.is_empty());
        assert_eq!(entitled_of(&server, "dave").await, ["0.125", "0.5"]);
        assert_eq!(entitled_of(&server, "carol").await, ["0.125", "0.5"]);
        let gone = with(waiting("k4", "dave", "audio", "sales"), &json!({"status": "CANCELLED", "terminated_at": "2026-01-13T12:00:00Z"}));
        assert!(server.ingest(&[gone]).await.is_empty());
        assert_eq!(entitled_of(&server, "dave").await, ["0", "0"]);
        assert_eq!(entitled_of(&server, "carol").await, ["0.25", "1"]);
        let running = with(kernel("k5", "dave", "audio", "2026-01-13T12:00:00Z"), &json!({"domain_name": "sales"}));
        assert!(server.ingest(&[running]).await.is_empty());
        assert_eq!(entitled_of(&server, "dave").await, ["0.125", "0.5"]);
        // The same in a process that has just read it all.
        let before = entitled(&server).await;
        let Server { fixture, key, .. } = server;
        assert_eq!(entitled(&Server::over(fixture.restart().await, key)).await, before);
    }

    async fn the_report_of_each_tier(db: TestDb) {
        let server = Server::with_usage(db).await;
        // 20, 10 and 5 of 100 cores for half a day, and no user waits: sales asked for no more.
        let fair = report(&server, "window=7d").await;
        assert_eq!((&fair["tier"], &fair["misallocated_share"], &fair["jains_index"]), (&json!("domain"), &json!("0"), &json!("1")));
        assert_eq!(fair["window"], json!({"from": "2026-01-07T00:00:00Z", "to": "2026-01-13T12:00:00Z"}));
        assert_eq!((&fair["most_over_served"], &fair["most_under_served"]), (&Value::Null, &Value::Null));
        assert!(server.ingest(&[waiting("k4", "carol", "audio", "sales")]).await.is_empty());
        let unfair = report(&server, "window=7d").await;
        assert_eq!((&unfair["misallocated_share"], &unfair["jains_index"], &unfair["active"]), (&json!("0.357142857143"), &json!("0.662162162162"), &json!(2)));
        let sales = json!({
            "domain_name": "sales", "used_share": "0.142857142857", "used_share_of_parent": "0.142857142857",
            "entitled_share": "0.5", "entitled_share_of_parent": "0.5", "ratio": "0.285714285714",
            "error": "-0.357142857143", "demand_limited": false,
        });
        assert_eq!(unfair["items"][0], sales);
        assert_eq!(unfair["most_under_served"], sales);
        assert_eq!(unfair["most_over_served"]["domain_name"], "research");
        let users = report(&server, "window=7d&tier=user").await;
        assert_eq!(column(&users, "error"), ["-0.357142857143", "0.035714285714", "0.321428571429"]);
        assert_eq!(column(&users, "used_share_of_parent"), ["1", "0.333333333333", "0.666666666667"]);
        let first = report(&server, "window=7d&tier=user&limit=2").await;
        let rest = report(&server, &format!("window=7d&tier=user&limit=2&cursor={}", first["next_cursor"].as_str().unwrap())).await;
        assert_eq!((column(&first, "error"), column(&rest, "error")), (column(&users, "error")[..2].to_vec(), column(&users, "error")[2..].to_vec()));
        assert_eq!(report(&server, "window=7d&tier=project").await["items"].as_array().unwrap().len(), 2);
        // By days from buckets, by the hour from records, and from memory: the same, for nothing else was used.
        for window in ["1h", "1d", "28d", "2026-01-13..2026-01-13", "2025-12-20..2026-01-13"] {
            let told = report(&server, &format!("window={window}&tier=user")).await;
            assert_eq!(told["items"], users["items"], "{window}");
        }
        let Server { fixture, key, .. } = server;
        let server = Server::over(fixture.restart().await, key);
        assert_eq!(report(&server, "window=7d&tier=user").await["items"], users["items"]);
    }

    async fn one_answer_holds_what_all_pages_hold(db: TestDb) {
        let server = Server::new(db).await;
        // More than one thread writes this number of rows.
        let all: Vec<Value> =
            (0..2_100).map(|n| waiting(&format!("w{n}"), &format!("u{n}"), "vision", "research")).collect();
        server.ingest(&all).await;
        let whole = report(&server, "tier=user").await;
        let (mut paged, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = report(&server, &format!("tier=user&limit=1000{cursor}")).await;
            paged.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!((whole["total"].as_u64(), paged.len()), (Some(2_100), 2_100));
        assert_eq!(whole["items"], json!(paged));
        assert_eq!(report(&server, "tier=domain&window=now").await["items"].as_array().unwrap().len(), 1);
    }

    async fn what_no_run_has_recorded_counts(db: TestDb) {
        let server = Server::with_usage(db).await;
        let more = with(kernel("k4", "carol", "audio", "2026-01-13T12:00:00Z"), &json!({"domain_name": "sales", "occupied_slots": {"cpu": "35"}}));
        assert!(server.ingest(&[more]).await.is_empty());
        server.clock.set("2026-01-13T12:30:00Z");
        let carol = async |window: &str| {
            let told = report(&server, &format!("window={window}&tier=user")).await;
            let rows = told["items"].as_array().unwrap();
            rows.iter().find(|row| row["user_uuid"] == json!(id("carol"))).unwrap()["used_share"].clone()
        };
        // 5 x 1 h and 35 x 0.5 h of 52.5; then 5 x 12.5 h and 35 x 0.5 h of 455.
        assert_eq!(carol("1h").await, "0.428571428571");
        for window in ["1d", "7d", "2026-01-10..2026-01-13"] {
            assert_eq!(carol(window).await, "0.175824175824", "{window}");
        }
        server.tick().await;
        assert_eq!(carol("1h").await, "0.428571428571");
        assert_eq!(carol("7d").await, "0.175824175824");
    }

    async fn what_runs_now_beside_what_is_deserved(db: TestDb) {
        let server = Server::with_usage(db).await;
        let now = report(&server, "window=now").await;
        assert_eq!(now["window"], json!({"from": "2026-01-13T12:00:00Z", "to": "2026-01-13T12:00:00Z"}));
        assert_eq!((&now["misallocated_share"], &now["active"]), (&json!("0"), &json!(2)));
        assert!(server.ingest(&[waiting("k4", "carol", "audio", "sales")]).await.is_empty());
        let now = report(&server, "window=now").await;
        assert_eq!(column(&now, "domain_name"), ["sales", "research"]);
        assert_eq!((column(&now, "used_share"), column(&now, "entitled_share")), (vec!["0.142857142857", "0.857142857143"], vec!["0.5"; 2]));
        assert_eq!(now["misallocated_share"], "0.357142857143");
        // An ended kernel counts as used, and no longer as running.
        let slots = json!({"cpu": "20"});
        let over = with(kernel("k1", "alice", "vision", "2026-01-13T00:00:00Z"), &json!({
            "occupied_slots": slots, "status": "TERMINATED", "terminated_at": "2026-01-13T12:00:00Z",
        }));
        assert!(server.ingest(&[over]).await.is_empty());
        let users = report(&server, "window=now&tier=user").await;
        assert_eq!(users["total"], 2);
        assert_eq!((column(&users, "used_share"), column(&users, "error")), (vec!["0.333333333333", "0.666666666667"], vec!["-0.166666666667", "0.166666666667"]));
        assert_eq!(report(&server, "window=1d&tier=user").await["total"], 3);
        let query = format!(r#"{{ fairness(resource_group: "{GROUP}", window: "now") {{ misallocated_share }} }}"#);
        assert_eq!(server.graphql(&query).await["data"]["fairness"]["misallocated_share"], "0.166666666667");
        let Server { fixture, key, .. } = server;
        let server = Server::over(fixture.restart().await, key);
        assert_eq!(report(&server, "window=now&tier=user").await["items"], users["items"]);
    }

    async fn windows_that_are_refused(db: TestDb) {
        let server = Server::with_usage(db).await;
        let bad = |window: &str| group(&format!("/fairness?window={window}"));
        for window in ["2h", "7", "d", "", "-1d", "0d", "365d", "2026-01-13", "2026-13-01..2026-13-02", "..", "1d..2d"] {
            assert_eq!(server.call("GET", &bad(window), None).await.refused(422, "invalid_value"), ["/window"], "{window}");
        }
        for window in ["2026-01-14..2026-01-15", "2026-01-10..2026-01-14", "2020-01-01..2020-01-02", "2024-06-01..2026-01-13"] {
            assert_eq!(server.call("GET", &bad(window), None).await.refused(422, "out_of_range"), ["/window"], "{window}");
        }
        assert_eq!(server.call("GET", &bad("2026-01-05..2026-01-01"), None).await.refused(422, "contradiction"), ["/window"]);
        let none = report(&server, "window=2026-01-01..2026-01-05&tier=user").await;
        assert_eq!((&none["items"], &none["active"], &none["jains_index"], &none["misallocated_share"]), (&json!([]), &json!(0), &json!("0"), &json!("0")));
        let empty = Server { key: server.key.clone(), ..server };
        empty.group("idle", &json!({})).await;
        let idle = empty.get("/resource-groups/idle/fairness?window=1h").await;
        assert_eq!((&idle["items"], &idle["misallocated_share"]), (&json!([]), &json!("0")));
    }

    async fn a_key_of_one_user_sees_no_other(db: TestDb) {
        let server = Server::with_usage(db).await;
        assert!(server.ingest(&[waiting("k4", "carol", "audio", "sales")]).await.is_empty());
        let key = server.key_for(Role::User, Some("alice")).await;
        for tier in ["domain", "project", "user"] {
            let path = group(&format!("/fairness?tier={tier}"));
            let (whole, own) = (server.get(&path).await, server.call_as(&key, "GET", &path, None).await.json(200));
            for figure in ["misallocated_share", "jains_index", "active", "window"] {
                assert_eq!(own[figure], whole[figure]);
            }
            assert_eq!((&own["most_over_served"], &own["most_under_served"]), (&Value::Null, &Value::Null));
            let mut rows = whole["items"].as_array().unwrap().clone();
            rows.retain(|row| row["user_uuid"] == json!(id("alice")));
            assert_eq!(own["items"], json!(rows), "{tier}");
        }
    }

    async fn gauges_need_no_sql(db: TestDb) {
        let server = Server::with_usage(db).await;
        assert!(server.ingest(&[waiting("k4", "carol", "audio", "sales")]).await.is_empty());
        let before = server.service.store().statements();
        let metrics = String::from_utf8(server.call("GET", "/metrics", None).await.bytes.to_vec()).unwrap();
        assert_eq!(server.service.store().statements(), before);
        for (tier, window) in [("domain", "1d"), ("project", "7d"), ("user", "28d")] {
            let line = format!("fairshared_misallocated_share{{resource_group=\"{GROUP}\",tier=\"{tier}\",window=\"{window}\"}} 0.357");
            assert!(metrics.lines().any(|found| found.starts_with(&line)), "{line}: {metrics}");
        }
    }

    async fn each_day_leaves_its_fairness_its_factors_and_its_ranks(db: TestDb) {
        let server = Server::with_usage(db).await;
        let status = server.get(&group("/fair-share-status")).await;
        let history = async |query: &str| server.get(&group(&format!("/fair-share-history?{query}"))).await;
        assert_eq!(history("").await["total"], 0);
        server.service.keep_fairness(GROUP).await.unwrap();
        let days = server.get(&group("/fairness/history")).await;
        assert_eq!((column(&days, "tier"), column(&days, "day")), (vec!["domain", "project", "user"], vec!["2026-01-13"; 3]));
        server.clock.set("2026-01-14T00:05:00Z");
        // Something else than a run is the first to calculate on the new day.
        server.agent("node-02", &json!({"cpu": "100"})).await;
        server.tick().await;
        let left = history("from=2026-01-13&to=2026-01-13").await;
        assert_eq!(left["total"], 3);
        for row in status["items"].as_array().unwrap() {
            let kept = left["items"].as_array().unwrap().iter().find(|kept| kept["user_uuid"] == row["user_uuid"]).unwrap();
            for key in ["rank", "fair_share_factor", "effective_usage", "effective_weight", "entitled_share", "entitled_share_of_parent", "project_id", "user_name"] {
                assert_eq!(kept[key], row[key], "{key}");
            }
            assert_eq!((&kept["day"], &kept["tier"]), (&json!("2026-01-13"), &json!("user")));
        }
        // The rest of the day counts, though no run has recorded it before the day was over.
        let days = server.get(&group("/fairness/history?tier=user")).await;
        assert_eq!((&days["total"], &days["items"][0]["active"], &days["items"][0]["calculated_at"]), (&json!(1), &json!(3), &json!("2026-01-14T00:05:00Z")));
        server.tick().await;
        server.clock.set("2026-01-15T00:05:00Z");
        server.tick().await;
        assert_eq!(history("from=2026-01-10").await["total"], 6);
        let alice = history(&format!("user={}&from=2025-01-10", id("alice"))).await;
        assert_eq!(column(&alice, "day"), ["2026-01-13", "2026-01-14"]);
        assert_eq!(column(&history("tier=domain&domain=sales").await, "domain_name"), ["sales", "sales"]);
        assert_eq!(history("tier=domain").await["total"], 4);
        assert_eq!(column(&history("tier=project&domain=sales").await, "day"), ["2026-01-13", "2026-01-14"]);
        assert_eq!(history(&format!("tier=project&project={}", id("vision"))).await["total"], 2);
        assert_eq!(history(&format!("tier=user&project={}", id("vision"))).await["total"], 4);
        assert_eq!(history("tier=user&domain=sales").await["total"], 2);
        let first = history("limit=4").await;
        let rest = history(&format!("limit=4&cursor={}", first["next_cursor"].as_str().unwrap())).await;
        let all = history("").await;
        let paged: Vec<&Value> = [&first, &rest].into_iter().flat_map(|page| page["items"].as_array().unwrap()).collect();
        assert_eq!(paged, all["items"].as_array().unwrap().iter().collect::<Vec<_>>());

        let query = format!(
            r#"{{ fair_share_history(resource_group: "{GROUP}", user: "{}") {{ edges {{ node {{ day rank fair_share_factor user_name }} }} }}
                 fairness_history(resource_group: "{GROUP}", tier: USER) {{ count edges {{ node {{ day tier misallocated_share active }} }} }}
                 fairness(resource_group: "{GROUP}", window: "1d", tier: USER) {{ active misallocated_share entries(first: 1) {{ count edges {{ node {{ user_name ratio }} }} }} }} }}"#,
            id("alice"),
        );
        let told = &server.graphql(&query).await["data"];
        let nodes = told["fair_share_history"]["edges"].as_array().unwrap();
        assert_eq!(nodes.len(), 2);
        assert_eq!(nodes[0]["node"]["fair_share_factor"], alice["items"][0]["fair_share_factor"]);
        assert_eq!(told["fairness_history"]["count"], 2);
        assert_eq!((&told["fairness"]["active"], &told["fairness"]["entries"]["count"]), (&json!(3), &json!(3)));

        let key = server.key_for(Role::User, Some("alice")).await;
        let own = server.call_as(&key, "GET", &group("/fair-share-history"), None).await.json(200);
        assert_eq!(own["items"], alice["items"]);
        for (query, code, pointer) in [
            ("from=2026-01-10&to=2026-01-09", "contradiction", "/to"), ("from=2025-01-10", "out_of_range", "/from"),
            ("tier=domain&user=alice", "contradiction", "/user"), ("tier=domain&project=audio", "contradiction", "/project"),
        ] {
            let path = group(&format!("/fair-share-history?{query}"));
            assert_eq!(server.call("GET", &path, None).await.refused(422, code), [pointer], "{query}");
        }

        // Purged when they are older than that, and gone with their group.
        server.clock.set("2026-02-14T12:00:00Z");
        assert_eq!(server.service.purge_share_history(GROUP, 31).await.unwrap(), 7);
        assert_eq!(server.service.purge_fairness(GROUP, 31).await.unwrap(), 3);
        assert_eq!(history(&format!("user={}&from=2025-01-10", id("alice"))).await["total"], 1);
    }

    async fn a_part_of_the_parent_that_was_not_stored_is_unknown(db: TestDb) {
        let server = Server::with_usage(db).await;
        for now in ["2026-01-14T00:05:00Z", "2026-01-15T00:05:00Z"] {
            server.clock.set(now);
            server.tick().await;
        }
        let history = async || server.get(&group("/fair-share-history")).await;
        let written = history().await;
        assert_eq!(written["total"], 6);
        // An early version did not store it.
        server.db.execute("UPDATE share_days SET entitled_share_of_parent = NULL").await;
        let mut unknown = written["items"].clone();
        unknown.as_array_mut().unwrap().iter_mut().for_each(|row| row["entitled_share_of_parent"] = Value::Null);
        assert_eq!(history().await["items"], unknown);
    }
}
