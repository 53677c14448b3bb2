//! The records of single kernels.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

fn list(query: &str) -> String {
    group(&format!("/usage-records?{query}"))
}

const DAY: &str = "from=2026-01-13&to=2026-01-13";

/// `kernel start-end` of each row.
fn rows(answer: &Value) -> Vec<(String, String)> {
    let time = |row: &Value, key: &str| row[key].as_str().unwrap()[11..16].to_owned();
    let items = answer["items"].as_array().unwrap().iter();
    items
        .map(|r| (r["kernel_id"].as_str().unwrap().to_owned(), time(r, "period_start") + "-" + &time(r, "period_end")))
        .collect()
}

async fn with_two_ticks(db: crate::support::database::TestDb) -> Server {
    let server = Server::with_usage(db).await;
    server.clock.set("2026-01-13T13:00:00Z");
    server.tick().await;
    server
}

on_both! {
    async fn by_user_project_and_period(db: TestDb) {
        let server = with_two_ticks(db).await;
        let all = server.get(&list(DAY)).await;
        assert_eq!(all["total"], 6);
        let mut sorted = rows(&all);
        sorted.sort();
        assert_eq!(rows(&all), sorted, "by kernel, then by time");
        let alice = server.get(&list(&format!("{DAY}&user={}", id("alice")))).await;
        assert_eq!(alice["items"], json!([
            {"kernel_id": id("k1"), "period_start": "2026-01-13T00:00:00Z", "period_end": "2026-01-13T12:00:00Z",
                "resource_usage": {"cpu": "864000"}, "charge_class": "", "compacted": false},
            {"kernel_id": id("k1"), "period_start": "2026-01-13T12:00:00Z", "period_end": "2026-01-13T13:00:00Z",
                "resource_usage": {"cpu": "72000"}, "charge_class": "", "compacted": false},
        ]));
        let named = json!({"name": "alice"});
        server.call("PUT", &format!("/users/{}", id("alice")), Some(&named)).await.json(200);
        assert_eq!(server.get(&list(&format!("{DAY}&user=alice"))).await["items"], alice["items"]);
        assert_eq!(server.get(&list(&format!("{DAY}&project={}", id("vision")))).await["total"], 4);
        assert_eq!(server.get(&list(&format!("{DAY}&user={}&project={}", id("alice"), id("audio")))).await["total"], 0);
        assert_eq!(server.get(&list(&format!("{DAY}&user={}", id("stranger")))).await["total"], 0);
        for (period, count) in [
            ("from=2026-01-13T12:00:00Z&to=2026-01-13T12:00:00.000001Z", 3), ("from=2026-01-13T11:59:59Z&to=2026-01-13T12:00:01Z", 6),
            ("from=2026-01-12&to=2026-01-12", 0), ("from=2026-01-13T13:00:00Z&to=2026-01-14", 0), ("from=2025-12-14&to=2026-01-13", 6),
        ] {
            assert_eq!(server.get(&list(period)).await["total"], count, "{period}");
        }
        // A kernel of another group is not there, and one that ended stays.
        let end = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T12:30:00Z"});
        server.ingest(&[with(kernel("k1", "alice", "vision", "2026-01-13T00:00:00Z"), &end)]).await;
        server.tick().await;
        let alice = server.get(&list(&format!("{DAY}&user={}", id("alice")))).await;
        assert_eq!(rows(&alice).last().unwrap().1, "12:00-12:30");
        server.group("other", &json!({})).await;
        assert_eq!(server.get(&format!("/resource-groups/other/usage-records?{DAY}")).await["total"], 0);
    }

    async fn of_a_domain_what_counted_for_it(db: TestDb) {
        let server = with_two_ticks(db).await;
        let moved = json!({"domain_name": "sales"});
        server.call("PUT", &format!("/projects/{}", id("vision")), Some(&moved)).await.json(200);
        let late = with(kernel("k4", "alice", "vision", "2026-01-13T13:00:00Z"), &json!({"domain_name": "sales"}));
        assert!(server.ingest(&[late]).await.is_empty());
        server.clock.set("2026-01-13T14:00:00Z");
        server.tick().await;
        // The running kernel counts for the domain that it was reported with, and later usage for the other one.
        let of = async |query: &str| {
            let told = server.get(&list(&format!("{DAY}&{query}"))).await;
            let rows = rows(&told);
            assert_eq!(told["total"], rows.len(), "{query}");
            rows
        };
        let research = of("domain=research").await;
        let times: Vec<&str> = research.iter().map(|(_, time)| time.as_str()).collect();
        assert_eq!(times, ["00:00-12:00", "12:00-13:00", "13:00-14:00", "00:00-12:00", "12:00-13:00", "13:00-14:00"]);
        let sales = of("domain=sales").await;
        assert_eq!((sales.len(), sales.iter().filter(|(kernel, _)| *kernel == id("k4").to_string()).count()), (4, 1));
        assert_eq!(of(&format!("domain=research&user={}", id("alice"))).await.len(), 3);
        assert_eq!(of(&format!("domain=sales&project={}", id("vision"))).await.len(), 1);
        assert_eq!(of("domain=nowhere").await, []);
        let first = server.get(&list(&format!("{DAY}&domain=sales&limit=2"))).await;
        let rest = server.get(&list(&format!("{DAY}&domain=sales&cursor={}", first["next_cursor"].as_str().unwrap()))).await;
        assert_eq!([rows(&first), rows(&rest)].concat(), sales);
        let query = "usage_records(resource_group: \"gpu-cluster\", from: \"2026-01-13\", to: \"2026-01-13\", domain_name: \"research\") \
             { count edges { node { domain_name } } }";
        let told = server.graphql(&format!("{{ {query} }}")).await["data"]["usage_records"].clone();
        assert_eq!((&told["count"], &told["edges"][0]["node"]["domain_name"]), (&json!(6), &json!("research")));
    }

    async fn pages_go_on_where_the_last_one_ended_in_as_many_statements(db: TestDb) {
        let server = with_two_ticks(db).await;
        let all = server.get(&list(DAY)).await;
        let (mut found, mut cursor, mut counts) = (Vec::new(), String::new(), Vec::new());
        loop {
            let before = server.service.store().statements();
            let page = server.get(&list(&format!("{DAY}&limit=4{cursor}"))).await;
            counts.push(server.service.store().statements() - before);
            found.extend(page["items"].as_array().unwrap().clone());
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(json!(found), all["items"]);
        assert!(counts.iter().all(|count| *count <= 3), "{counts:?}");
        let named = json!({"name": "computer-vision"});
        server.call("PUT", &format!("/projects/{}", id("vision")), Some(&named)).await.json(200);
        let graphql = json!({"query": format!(
            "{{ usage_records(resource_group: \"gpu-cluster\", from: \"2026-01-13\", to: \"2026-01-13\", user_uuid: \"{}\", last: 1) \
             {{ count edges {{ node {{ kernel_id period_start resource_usage compacted project_id domain_name user_name project_name }} }} }} }}", id("alice"))});
        let answer = server.call("POST", "/graphql", Some(&graphql)).await.json(200);
        let list = &answer["data"]["usage_records"];
        let node = &list["edges"][0]["node"];
        assert_eq!((&list["count"], &node["period_start"]), (&json!(2), &json!("2026-01-13T12:00:00Z")), "{answer}");
        assert_eq!((&node["user_name"], &node["project_name"]), (&json!("alice"), &json!("computer-vision")), "{answer}");
    }

    async fn what_is_asked_for_wrongly_and_by_whom(db: TestDb) {
        let server = with_two_ticks(db).await;
        for (query, code, pointer) in [
            ("from=2026-01-13", "missing_field", "to"), ("to=2026-01-13", "missing_field", "from"),
            ("from=noon&to=2026-01-13", "invalid_value", "from"), ("from=2026-01-13&to=1", "invalid_value", "to"),
            ("from=2026-01-14&to=2026-01-12", "contradiction", "to"), ("from=2026-01-01&to=2026-02-01", "out_of_range", "to"),
            ("from=2026-01-13&to=2026-01-13&colour=red", "unknown_field", "colour"),
        ] {
            let answer = server.call("GET", &list(query), None).await;
            answer.refused(422, code);
            assert_eq!(answer.json(422)["errors"][0]["pointer"], format!("/{pointer}"), "{query}");
        }
        let own = server.key_for(fairshared::service::Role::User, Some("alice")).await;
        assert_eq!(server.call_as(&own, "GET", &list(DAY), None).await.json(200)["total"], 2);
        let others = list(&format!("{DAY}&user={}", id("bob")));
        server.call_as(&own, "GET", &others, None).await.refused(403, "forbidden");
    }
}
