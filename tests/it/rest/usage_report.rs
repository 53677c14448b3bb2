//! Reports of usage by domain, project, user, day, week and month.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Usage;
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::dice::Dice;
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::on_both;

fn report(query: &str) -> String {
    group(&format!("/usage-report?{query}"))
}

const DAY: &str = "from=2026-01-13&to=2026-01-13";

fn items(answer: &Value) -> &[Value] {
    answer["items"].as_array().unwrap()
}

/// `names, with slashes between: hours` of each row.
fn lines(answer: &Value, names: &[&str]) -> Vec<String> {
    let line = |row: &Value| {
        let names: Vec<&str> = names.iter().map(|name| row[*name].as_str().unwrap_or("-")).collect();
        format!("{}: {}", names.join("/"), row["slot_hours"]["cpu"].as_str().unwrap())
    };
    items(answer).iter().map(line).collect()
}

/// A kernel of `cpu` cores that ran from `start` to `end`.
fn job(name: &str, user: &str, domain: &str, cpu: u32, (start, end): (&str, &str)) -> Value {
    let slots = json!({"cpu": cpu.to_string(), "mem": "1610612736"});
    with(
        kernel(name, user, "vision", start),
        &json!({
            "occupied_slots": slots, "domain_name": domain, "status": "TERMINATED", "terminated_at": end,
        }),
    )
}

on_both! {
    async fn what_everybody_used_and_what_weights_say(db: TestDb) {
        let server = Server::with_usage(db).await;
        let all = server.get(&report(DAY)).await;
        assert_eq!(all["total"], 3);
        let alice = items(&all).iter().find(|row| row["user_name"] == "alice").unwrap();
        assert_eq!(alice, &json!({
            "first_day": "2026-01-13", "last_day": "2026-01-13", "user_uuid": id("alice"), "user_name": "alice",
            "resource_usage": {"cpu": "864000"}, "slot_hours": {"cpu": "240"}, "capacity_share": {"cpu": "0.2"},
            // 20 of the 35 cores that are used; two domains, and alice and bob share one.
            "used_share": "0.571428571429", "entitled_share": "0.25",
        }));
        let domains = server.get(&report(&format!("{DAY}&by=domain"))).await;
        assert_eq!(lines(&domains, &["domain_name"]), ["research: 360", "sales: 60"]);
        let shares: Vec<(&str, &str)> = items(&domains)
            .iter()
            .map(|row| (row["used_share"].as_str().unwrap(), row["entitled_share"].as_str().unwrap()))
            .collect();
        assert_eq!(shares, [("0.857142857143", "0.5"), ("0.142857142857", "0.5")]);
        let most = server.get(&report(&format!("{DAY}&by=domain,project,user,day&slots=cpu"))).await;
        assert_eq!(most["total"], 3);
        assert_eq!(most["items"][0]["domain_name"], "research");
        assert_eq!(server.get(&report(&format!("{DAY}&slots=mem"))).await["items"][0]["resource_usage"], json!({}));
        // A weight counts at once.
        let weight = json!({"items": [{"target_type": "domain", "target_id": "sales", "weight": "3"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weight)).await.json(200);
        let domains = server.get(&report(&format!("{DAY}&by=domain"))).await;
        assert_eq!(domains["items"][1]["entitled_share"], "0.75");
        // Without the others there is no share of what all used.
        let alone = server.get(&report(&format!("{DAY}&user={}", id("alice")))).await;
        assert_eq!((&alone["total"], &alone["items"][0]["used_share"]), (&json!(1), &Value::Null));
        assert_eq!(server.get(&report(&format!("{DAY}&project={}&by=project", id("audio")))).await["items"][0]["slot_hours"], json!({"cpu": "60"}));
    }

    async fn a_domain_may_have_any_name(db: TestDb) {
        let server = Server::with_usage(db).await;
        let name = r#"a "b" \t c', {d}; 域"#;
        let over = ("2026-01-13T00:00:00Z", "2026-01-13T02:00:00Z");
        assert!(server.ingest(&[job("quoted", "dora", name, 3, over)]).await.is_empty());
        server.tick().await;
        let domains = server.get(&report(&format!("{DAY}&by=domain"))).await;
        assert!(lines(&domains, &["domain_name"]).contains(&format!("{name}: 6")), "{domains}");
    }

    async fn days_weeks_and_months(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node-01", &json!({"cpu": "10", "mem": "17179869184"})).await;
        server.options(&json!({"decay_unit_days": 7, "lookback_days": 60})).await;
        server.ingest(&[
            job("k1", "alice", "research", 2, ("2025-12-30T12:00:00Z", "2026-01-01T06:00:00Z")),
            job("k2", "bob", "research", 1, ("2026-01-12T00:00:00Z", "2026-01-12T02:00:00Z")),
        ]).await;
        server.tick().await;
        let by = async |by: &str| server.get(&report(&format!("from=2025-12-30&to=2026-01-13&by={by}"))).await;
        assert_eq!(lines(&by("day").await, &["first_day", "last_day"]), [
            "2025-12-30/2025-12-30: 24", "2025-12-31/2025-12-31: 48", "2026-01-01/2026-01-01: 12", "2026-01-12/2026-01-12: 2",
        ]);
        assert_eq!(lines(&by("week").await, &["first_day", "last_day"]), ["2025-12-30/2026-01-04: 84", "2026-01-12/2026-01-13: 2"]);
        let months = by("month").await;
        assert_eq!(lines(&months, &["first_day", "last_day"]), ["2025-12-30/2025-12-31: 72", "2026-01-01/2026-01-13: 14"]);
        // One and a half GiB, for 36 hours.
        assert_eq!(months["items"][0]["slot_hours"]["mem"], "54");
        assert_eq!(lines(&by("user,month").await, &["user_uuid"]).len(), 3);
        // Days before the first capacity that is known offer what that one did.
        assert_eq!(months["items"][0]["capacity_share"]["cpu"], "0.15");
    }

    async fn usage_stays_where_it_counted_when_a_project_moves(db: TestDb) {
        let server = Server::new(db).await;
        server.ingest(&[job("k1", "alice", "research", 1, ("2026-01-13T00:00:00Z", "2026-01-13T03:00:00Z"))]).await;
        server.tick().await;
        server.ingest(&[job("k2", "alice", "sales", 1, ("2026-01-13T04:00:00Z", "2026-01-13T05:00:00Z"))]).await;
        server.tick().await;
        let domains = server.get(&report(&format!("{DAY}&by=domain,project"))).await;
        assert_eq!(lines(&domains, &["domain_name"]), ["research: 3", "sales: 1"]);
        assert_eq!(lines(&server.get(&report(&format!("{DAY}&by=project"))).await, &["domain_name"]), ["-: 4"]);
    }

    async fn several_groups_together_and_apart(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        let body = json!([job("o1", "alice", "research", 1, ("2026-01-13T00:00:00Z", "2026-01-13T03:00:00Z"))]);
        server.call("POST", "/resource-groups/other/kernels", Some(&body)).await.json(200);
        server.service.aggregate("other").await.unwrap();
        let ask = async |query: &str| server.get(&format!("/usage-report?{DAY}{query}")).await;
        let together = ask("&by=domain").await;
        assert_eq!(lines(&together, &["domain_name"]), ["research: 363", "sales: 60"]);
        assert_eq!(together["items"][0]["used_share"], Value::Null);
        assert_eq!(ask(&format!("&group={GROUP}&group=other&group=other&by=domain")).await, together);
        assert_eq!(lines(&ask("&group=other&by=domain").await, &["domain_name"]), ["research: 3"]);
        let apart = ask("&by=resource_group,domain").await;
        assert_eq!(
            lines(&apart, &["resource_group", "domain_name"]),
            ["gpu-cluster/research: 360", "gpu-cluster/sales: 60", "other/research: 3"]
        );
        assert_eq!(apart["items"][0]["entitled_share"], "0.5");
        let groups = Some(vec!["other".to_owned()]);
        let new = NewKey { role: Role::Viewer, label: "other".to_owned(), user: None, expires_at: None, groups };
        let key = server.service.create_key(admin(), new).await.unwrap().0;
        let reached = server.call_as(&key, "GET", &format!("/usage-report?{DAY}&by=domain"), None).await.json(200);
        assert_eq!(lines(&reached, &["domain_name"]), ["research: 3"]);
        server.call_as(&key, "GET", &format!("/usage-report?{DAY}&group={GROUP}"), None).await.refused(403, "forbidden");
        server.call("GET", &format!("/usage-report?{DAY}&group=nowhere"), None).await.refused(404, "unknown_resource_group");
    }

    async fn pages_and_statements(db: TestDb) {
        let server = Server::with_usage(db).await;
        let all = server.get(&report(DAY)).await;
        let (mut found, mut cursor, mut counts) = (Vec::new(), String::new(), Vec::new());
        loop {
            let before = server.service.store().statements();
            let page = server.get(&report(&format!("{DAY}&limit=1{cursor}"))).await;
            counts.push(server.service.store().statements() - before);
            found.extend(items(&page).to_vec());
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(json!(found), all["items"]);
        assert!(counts.iter().all(|count| *count <= 2), "{counts:?}");
        // A cursor of another report is refused.
        let other = report(&format!("{DAY}&by=domain{cursor}"));
        server.call("GET", &other, None).await.refused(422, "invalid_cursor");
    }

    async fn rows_are_in_the_order_of_time_usage_and_names(db: TestDb) {
        let server = Server::new(db).await;
        let (first, second) = (("2026-01-12T00:00:00Z", "2026-01-12T01:00:00Z"), ("2026-01-13T00:00:00Z", "2026-01-13T01:00:00Z"));
        let held = |name: &str, user: &str, over, cpu: &str, gpu: &str| {
            let job = job(name, user, "research", 1, over);
            with(job, &json!({"user_name": format!("n-{user}"), "occupied_slots": {"cpu": cpu, "cuda.device": gpu}}))
        };
        server.ingest(&[
            held("1", "zoe", first, "10", "1"), held("2", "ann", first, "9.5", "2"), held("3", "bob", first, "9.55", "2"),
            held("4", "dan", first, "9.5", "3"), held("5", "cem", first, "9.5", "2"), held("6", "ann", second, "100", "0"),
        ]).await;
        server.tick().await;
        let by = async |query: &str| {
            let rows = server.get(&report(&format!("from=2026-01-12&to=2026-01-13&{query}"))).await;
            items(&rows).iter().map(|row| row["user_name"].as_str().unwrap()[2..].to_owned()).collect::<Vec<_>>()
        };
        // Equal CPU time: the next slot, then the name.
        assert_eq!(by("by=user,day").await, ["zoe", "bob", "dan", "ann", "cem", "ann"]);
        assert_eq!(by("by=user").await, ["ann", "zoe", "bob", "dan", "cem"]);
        assert_eq!(by("by=user&slots=cuda.device,cpu").await, ["dan", "ann", "bob", "cem", "zoe"]);
        assert_eq!(by("by=user&slots=cuda.device").await, ["dan", "ann", "bob", "cem", "zoe"]);
        // Pages have the same order, one row each, forwards and backwards.
        for query in ["by=user,day", "by=user", "by=user&slots=cuda.device,cpu"] {
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = server.get(&report(&format!("from=2026-01-12&to=2026-01-13&{query}&limit=1{cursor}"))).await;
                found.extend(items(&page).iter().map(|row| row["user_name"].as_str().unwrap()[2..].to_owned()));
                let Some(next) = page["next_cursor"].as_str() else { break };
                cursor = format!("&cursor={next}");
            }
            assert_eq!(found, by(query).await, "{query}");
        }
    }

    async fn totals_are_of_all_rows_and_pages(db: TestDb) {
        let server = Server::with_usage(db).await;
        let totals = json!({"resource_usage": {"cpu": "1512000"}, "slot_hours": {"cpu": "420"}, "capacity_share": {"cpu": "0.35"}});
        for query in ["", "&by=domain", "&by=project,day", "&by=user&limit=1"] {
            assert_eq!(server.get(&report(&format!("{DAY}{query}"))).await["totals"], totals, "{query}");
        }
        assert_eq!(server.get(&format!("/usage-report?{DAY}")).await["totals"], totals);
        let none = json!({"resource_usage": {}, "slot_hours": {}, "capacity_share": {}});
        assert_eq!(server.get(&report(&format!("{DAY}&slots=mem"))).await["totals"], none);
        assert_eq!(server.get(&report("from=2026-01-01&to=2026-01-02")).await["totals"], none);
        let own = server.key_for(Role::User, Some("alice")).await;
        let rows = server.call_as(&own, "GET", &report(DAY), None).await.json(200);
        assert_eq!(rows["totals"]["slot_hours"], json!({"cpu": "240"}));
        let query = format!(
            "{{ usage_report(resource_groups: [\"{GROUP}\"], from: \"2026-01-13\", to: \"2026-01-13\", first: 1) \
             {{ count totals {{ resource_usage slot_hours capacity_share }} }} }}"
        );
        let list = server.graphql(&query).await["data"]["usage_report"].take();
        assert_eq!(list["count"], 3);
        for key in ["resource_usage", "slot_hours", "capacity_share"] {
            assert_eq!(list["totals"][key], totals[key].to_string(), "{key}");
        }
    }

    async fn a_range_may_have_any_length(db: TestDb) {
        let server = Server::with_usage(db).await;
        let day = server.get(&report(&format!("{DAY}&by=user"))).await;
        let before = server.service.store().statements();
        let ever = server.get(&report("from=1970-01-01&to=2026-01-13&by=user")).await;
        assert!(server.service.store().statements() - before <= 3);
        assert_eq!(ever["totals"]["resource_usage"], day["totals"]["resource_usage"]);
        for (row, of_day) in items(&ever).iter().zip(items(&day)) {
            assert_eq!((&row["first_day"], &row["resource_usage"]), (&json!("1970-01-01"), &of_day["resource_usage"]));
        }
        // 100 cores for 20,466 days and a half, of which one half day was used.
        let days = 20_466.5;
        let part: f64 = ever["totals"]["capacity_share"]["cpu"].as_str().unwrap().parse().unwrap();
        assert!((part - 420.0 / (100.0 * 24.0 * days)).abs() < 1e-12, "{part}");
        let old = json!({"day": "2001-02-03", "user": "old", "project": "ml", "domain_name": "research", "resource_usage": {"cpu": "60"}});
        let body = json!({"rows": [old], "complete": true});
        server.call("PUT", &group("/usage-histories/old"), Some(&body)).await.json(200);
        let months = server.get(&report("from=1999-12-31&to=2026-01-13&by=month")).await;
        assert_eq!(lines(&months, &["first_day"]), ["2001-02-01: 0.016666666667", "2026-01-01: 420"]);
        let alone = server.get(&report("from=1970-01-01&to=2026-01-13&user=old")).await;
        assert_eq!(alone["items"][0]["resource_usage"], json!({"cpu": "60"}));
        server.group("empty", &json!({})).await;
        assert_eq!(server.get("/usage-report?group=empty&from=1970-01-01&to=2026-01-13").await["total"], 0);
    }

    async fn what_is_asked_for_wrongly_and_by_whom(db: TestDb) {
        let server = Server::with_usage(db).await;
        for (query, code, pointer) in [
            ("from=2026-01-13", "missing_field", "to"), ("to=2026-01-13", "missing_field", "from"),
            ("from=noon&to=2026-01-13", "invalid_value", "from"),
            ("from=2026-01-13T00:00:00%2B02:00&to=2026-01-13", "not_a_day", "from"),
            ("from=2026-01-13&to=2026-01-13T00:00:00Z", "not_a_day", "to"),
            ("from=2026-01-13&to=2026-01-12", "contradiction", "to"),
            ("from=2026-01-13&to=2026-01-14", "in_future", "to"), ("from=2026-01-14&to=2026-01-15", "in_future", "from"),
            ("from=2026-01-13&to=2026-01-13&by=", "invalid_value", "by"),
            ("from=2026-01-13&to=2026-01-13&by=colour", "invalid_value", "by"),
            ("from=2026-01-13&to=2026-01-13&by=user,user", "invalid_value", "by"),
            ("from=2026-01-13&to=2026-01-13&by=day,week", "invalid_value", "by"),
            ("from=2026-01-13&to=2026-01-13&slots=", "invalid_value", "slots"),
            ("from=2026-01-13&to=2026-01-13&slots=cpu,,mem", "invalid_value", "slots"),
            ("from=2026-01-13&to=2026-01-13&timezone=Europe/Berlin", "unknown_field", "timezone"),
            ("from=2026-01-13&to=2026-01-13&limit=0", "invalid_page_size", "limit"),
        ] {
            for path in [report(query), format!("/usage-report?{query}")] {
                let answer = server.call("GET", &path, None).await;
                answer.refused(422, code);
                assert_eq!(answer.json(422)["errors"][0]["pointer"], format!("/{pointer}"), "{query}");
            }
        }
        let own = server.key_for(Role::User, Some("alice")).await;
        let rows = server.call_as(&own, "GET", &report(&format!("{DAY}&by=domain,user")), None).await.json(200);
        assert_eq!(lines(&rows, &["domain_name", "user_name"]), ["research/alice: 240"]);
        assert_eq!(rows["items"][0]["used_share"], Value::Null);
        let others = report(&format!("{DAY}&user={}", id("bob")));
        server.call_as(&own, "GET", &others, None).await.refused(403, "forbidden");
        let viewer = server.key_for(Role::Viewer, None).await;
        assert_eq!(server.call_as(&viewer, "GET", &report(DAY), None).await.json(200)["total"], 3);
    }

    async fn graphql_answers_the_same(db: TestDb) {
        let server = Server::with_usage(db).await;
        let rest = server.get(&report(&format!("{DAY}&by=domain,month"))).await;
        let query = format!(
            "{{ usage_report(resource_groups: [\"{GROUP}\"], from: \"2026-01-13\", to: \"2026-01-13\", by: [MONTH, DOMAIN], first: 10) \
             {{ count edges {{ node {{ resource_group first_day last_day domain_name project_id user_uuid resource_usage slot_hours \
             capacity_share used_share entitled_share }} }} }} }}"
        );
        let list = server.graphql(&query).await["data"]["usage_report"].take();
        assert_eq!(list["count"], 2);
        for (edge, row) in list["edges"].as_array().unwrap().iter().zip(items(&rest)) {
            for key in ["first_day", "last_day", "domain_name", "used_share", "entitled_share"] {
                assert_eq!(edge["node"][key], row[key], "{key}");
            }
            for key in ["resource_usage", "slot_hours", "capacity_share"] {
                assert_eq!(edge["node"][key], row[key].to_string(), "{key}");
            }
            assert_eq!((&edge["node"]["resource_group"], &edge["node"]["user_uuid"]), (&Value::Null, &Value::Null));
        }
        let research = query.replace("first: 10", "domain_name: \"research\", first: 10");
        let list = server.graphql(&research).await["data"]["usage_report"].take();
        let of_domain = server.get(&report(&format!("{DAY}&by=domain,month&domain=research"))).await;
        assert_eq!((&list["count"], &of_domain["total"]), (&json!(1), &json!(1)));
        let (edge, row) = (&list["edges"][0]["node"], &items(&of_domain)[0]);
        assert_eq!((&edge["domain_name"], &row["domain_name"]), (&json!("research"), &json!("research")));
        assert_eq!(edge["slot_hours"], row["slot_hours"].to_string());
        assert_eq!(row["slot_hours"], items(&rest)[0]["slot_hours"]);
        // The part of the total is not known where the other rows are left out.
        assert_eq!((&edge["used_share"], row.get("used_share")), (&Value::Null, None));
        let wrong = query.replace("2026-01-13", "2026-01-14");
        assert_eq!(server.graphql(&wrong).await["errors"][0]["extensions"]["code"], "in_future");
    }

    async fn sums_are_those_of_the_records_however_they_are_cut(db: TestDb) {
        let server = Server::new(db).await;
        server.agent("node", &json!({"cpu": "100"})).await;
        let mut dice = Dice::seeded(7);
        for at in 0..40 {
            let (user, domain) = (dice.pick(&["ann", "bob", "cem"]), dice.pick(&["research", "sales"]));
            let day = dice.roll(12) + 1;
            let (start, end) = (format!("2026-01-{day:02}T{:02}:00:00Z", dice.roll(24)), format!("2026-01-13T0{}:30:00Z", dice.roll(9)));
            server.ingest(&[job(&format!("k{at}"), user, domain, u32::try_from(dice.roll(9) + 1).unwrap(), (&start, &end))]).await;
            server.tick().await;
        }
        server.assert_conserved().await;
        let mut whole = fairshared::domain::slots::SlotUsages::default();
        server.day_totals().await.values().for_each(|daily| whole.add(&daily.usage));
        for by in ["user", "domain", "project", "day", "week", "month", "user,day", "domain,project,user,week", "resource_group"] {
            let rows = server.get(&report(&format!("from=2026-01-01&to=2026-01-13&by={by}"))).await;
            let mut sums: BTreeMap<String, Usage> = BTreeMap::new();
            for (slot, used) in items(&rows).iter().flat_map(|row| row["resource_usage"].as_object().unwrap()) {
                *sums.entry(slot.clone()).or_default() += used.as_str().unwrap().parse::<Usage>().unwrap();
            }
            let expected: BTreeMap<String, Usage> = whole.iter().map(|(slot, used)| (slot.to_string(), used)).collect();
            assert_eq!(sums, expected, "{by}");
            let shares: f64 = items(&rows).iter().map(|row| row["entitled_share"].as_str().unwrap().parse::<f64>().unwrap()).sum();
            let periods = items(&rows).iter().map(|row| row["first_day"].as_str().unwrap()).collect::<std::collections::BTreeSet<_>>();
            assert!((shares - periods.len() as f64).abs() < 1e-9, "{by}: {shares}");
        }
    }
}
