//! `GET /resource-groups/{rg}/explain` (FAIR_SHARE §12) over HTTP.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{NOW, Server, group};
use crate::support::database::TestDb;
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const DAY: f64 = 86_400.0;

pub(super) async fn explain(server: &Server, query: &str) -> Value {
    server.get(&group(&format!("/explain?{query}"))).await
}

/// Status, code and pointer of a refusal.
pub(super) async fn refused(server: &Server, key: &str, query: &str) -> (u16, String, String) {
    let answer = server.call_as(key, "GET", &group(&format!("/explain?{query}")), None).await;
    let status = answer.status.as_u16();
    let body: Value = serde_json::from_slice(&answer.bytes).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (status, text(&body["code"]), text(&body["errors"][0]["pointer"]))
}

fn number(value: &Value) -> f64 {
    value.as_str().unwrap_or_else(|| panic!("{value} is no decimal text")).parse().unwrap()
}

/// Fails unless both are equal to the last digit.
fn same(redone: f64, told: &Value) {
    assert_eq!(redone.to_bits(), number(told).to_bits(), "{redone} and {told}");
}

/// The factor, calculated from the printed answer alone.
fn redone(told: &Value) -> String {
    let lookback = told["rules"]["lookback_days"].as_f64().unwrap();
    let weights = told["rules"]["resource_weights"].as_object().unwrap();
    let mut sum = 0.0;
    for bucket in told["buckets"].as_array().unwrap() {
        let (mut mean, mut all) = (0.0, 0.0);
        for (slot, offered) in bucket["capacity_snapshot"].as_object().unwrap() {
            let weight = if weights.is_empty() { 1.0 } else { weights.get(slot).map_or(0.0, number) };
            let used = bucket["resource_usage"].get(slot).map_or(0.0, number);
            mean += used / (number(offered) * DAY) * weight;
            all += weight;
        }
        let normalized = number(&bucket["normalized_usage"]);
        // A decimal that is no double is rounded twice on its way there.
        assert!((mean / all - normalized).abs() <= 1e-15 * normalized);
        let weighed = number(&bucket["decay_weight"]) * normalized;
        same(weighed / lookback, &bucket["contribution"]);
        sum += weighed;
    }
    let used = sum / lookback;
    same(used, &told["formula"]["normalized_usage"]);
    let weight: f64 = told["weights"].as_array().unwrap().iter().map(|part| number(&part["weight"])).product();
    same(weight, &told["formula"]["effective_weight"]);
    let factor = format!("{:.12}", (-used / weight).exp2());
    factor.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn ended(name: &str, user: &str, project: &str, cpu: &str, start: &str, end: &str) -> Value {
    with(
        kernel(name, user, project, start),
        &json!({
            "occupied_slots": {"cpu": cpu}, "user_name": user, "project_name": project,
            "status": "TERMINATED", "terminated_at": end,
        }),
    )
}

/// Users with usage of several days in two domains, whose kernels have all ended.
pub(super) async fn used(db: TestDb, options: &Value) -> Server {
    let server = Server::new(db).await;
    server.agent("node-01", &json!({"cpu": "100"})).await;
    server.options(options).await;
    let sales = |kernel: Value| with(kernel, &json!({"domain_name": "sales"}));
    let kernels = [
        ended("a1", "alice", "vision", "30", "2026-01-06T00:00:00Z", "2026-01-06T20:00:00Z"),
        ended("a2", "alice", "vision", "10", "2026-01-12T00:00:00Z", "2026-01-12T05:00:00Z"),
        ended("b1", "bob", "vision", "20", "2026-01-11T00:00:00Z", "2026-01-11T12:00:00Z"),
        ended("b2", "bob", "vision", "3", "2026-01-13T00:00:00Z", "2026-01-13T11:00:00Z"),
        sales(ended("c1", "carol", "audio", "25", "2026-01-10T00:00:00Z", "2026-01-10T18:00:00Z")),
        sales(ended("d1", "dave", "audio", "7", "2026-01-08T00:00:00Z", "2026-01-09T18:00:00Z")),
    ];
    assert!(server.ingest(&kernels).await.is_empty());
    server.tick().await;
    for user in ["alice", "bob", "carol", "dave"] {
        server.call("PUT", &format!("/users/{}", id(user)), Some(&json!({"name": user}))).await.json(200);
    }
    for project in ["vision", "audio"] {
        server.call("PUT", &format!("/projects/{}", id(project)), Some(&json!({"name": project}))).await.json(200);
    }
    server
}

/// The example of `docs/EXPLAIN.md`.
fn example() -> Value {
    let page = include_str!("../../../docs/EXPLAIN.md");
    let (_, rest) = page.split_once("```json").unwrap();
    serde_json::from_str(rest.split_once("```").unwrap().0).unwrap()
}

/// True if `told` has all values that `page` shows.
fn shows(told: &Value, page: &Value) -> bool {
    match (told, page) {
        (Value::Object(told), Value::Object(page)) => page.iter().all(|(key, value)| shows(&told[key], value)),
        (Value::Array(told), Value::Array(page)) => {
            told.len() == page.len() && told.iter().zip(page).all(|(told, page)| shows(told, page))
        }
        _ => told == page,
    }
}

on_both! {
    async fn the_page_shows_what_the_server_answers(db: TestDb) {
        let server = used(db, &json!({})).await;
        let weights = json!({"items": [{"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": 2}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        let told = explain(&server, "user=alice").await;
        assert!(shows(&told, &example()), "{told:#}");
    }

    async fn what_is_printed_redoes_the_factor_of_every_tier(db: TestDb) {
        let server = used(db, &json!({"decay": "continuous", "half_life_days": 3, "resource_weights": {"cpu": "0.7"}})).await;
        let weights = json!({"items": [
            {"target_type": "user", "target_id": id("alice"), "project_id": id("vision"), "weight": "2.5"},
            {"target_type": "domain", "target_id": "research", "weight": "3"},
        ], "reason": "a grant"});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        let ranking = server.get(&group("/fair-share-status")).await;
        for row in ranking["items"].as_array().unwrap() {
            let told = explain(&server, &format!("user={}", row["user_uuid"].as_str().unwrap())).await;
            assert_eq!(redone(&told), row["fair_share_factor"].as_str().unwrap());
            assert_eq!(told["formula"]["fair_share_factor"], row["fair_share_factor"]);
            assert_eq!((&told["rank"], &told["place"], &told["of"]), (&row["rank"], &row["rank"], &json!(4)));
        }
        for (tier, name) in [("project", "project_id"), ("domain", "domain_name")] {
            for row in server.get(&group(&format!("/fair-share-status/{tier}s"))).await["items"].as_array().unwrap() {
                let told = explain(&server, &format!("{tier}={}", row[name].as_str().unwrap())).await;
                assert_eq!((&told["tier"], redone(&told).as_str()), (&json!(tier), row["fair_share_factor"].as_str().unwrap()));
                assert_eq!(told["rank"], row["rank"]);
            }
        }
        // Where the weights come from.
        let alice = explain(&server, "user=alice&project=vision").await;
        let parts = alice["weights"].as_array().unwrap();
        let of = |at: usize| (parts[at]["tier"].as_str().unwrap(), parts[at]["weight"].as_str().unwrap(), parts[at]["source"].as_str().unwrap());
        assert_eq!([of(0), of(1), of(2)], [("domain", "3", "set"), ("project", "1", "default"), ("user", "2.5", "set")]);
        // The entitled shares, of the group and of the parent.
        let shares = |at: usize| (number(&parts[at]["entitled_share"]), number(&parts[at]["entitled_share_of_parent"]));
        assert_eq!([shares(0), shares(1), shares(2)], [(0.75, 0.75), (0.75, 1.0), (0.535_714_285_714, 0.714_285_714_286)]);
        assert_eq!((&parts[2]["set_at"], &parts[2]["reason"]), (&json!(NOW), &json!("a grant")));
        assert_eq!(parts[2]["set_by"], server.get("/audit-log").await["items"][0]["actor"]);
        assert_eq!((&parts[1]["set_by"], &parts[1]["set_at"]), (&Value::Null, &Value::Null));
        // Another process has read no run.
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        assert_eq!(explain(&server, "user=alice&project=vision").await, alice);
    }

    async fn it_says_in_plain_words_who_comes_before_and_why(db: TestDb) {
        let server = used(db, &json!({})).await;
        let carol = explain(&server, "user=carol").await;
        assert_eq!(carol["summary"], "4th of 4. 100 % of what counts is Saturday's 450 hours of cpu. If nothing is run, 2nd on Saturday.");
        let (above, below) = (&carol["above"], &carol["below"]);
        assert_eq!((&above["decided_by"], &above["who"]["user_name"], &above["place"]), (&json!("user"), &json!("alice"), &json!(3)));
        assert_eq!(below, &Value::Null);
        assert!(number(&above["theirs"]["exponent"]) < number(&above["yours"]["exponent"]));
        // In tiers it is the domain that decides.
        server.options(&json!({"order": "tiered"})).await;
        let bob = explain(&server, "user=bob").await;
        let sales = explain(&server, "domain=sales").await;
        assert_eq!((&bob["order"], &sales["place"]), (&json!("tiered"), &json!(2)));
        assert_eq!((&bob["place"], &bob["rank"], &bob["below"]["decided_by"]), (&json!(1), &json!(1), &json!("user")));
        let dave = explain(&server, "user=dave").await;
        assert_eq!((&dave["place"], &dave["above"]["decided_by"]), (&json!(3), &json!("domain")));
        assert_eq!(dave["above"]["who"]["user_name"], "alice");
        assert_eq!(dave["above"]["yours"]["exponent"], sales["formula"]["exponent"]);
        // Its own weight leads no further than to the first place of its project.
        assert_eq!(dave["weights_for_places"][0], json!({"wanted": 2, "place": null, "weight": null}));
    }

    async fn what_is_foretold_comes_true_and_nothing_else_does(db: TestDb) {
        let server = used(db, &json!({"half_life_days": 2, "lookback_days": 6})).await;
        // dave runs something since the last run.
        server.ingest(&[with(kernel("d2", "dave", "audio", NOW), &json!({"occupied_slots": {"cpu": "40"}, "domain_name": "sales", "expected_seconds": 7_200}))]).await;
        server.clock.advance_seconds(1_800);
        let told = explain(&server, "user=dave").await;
        assert_eq!(told["unrecorded"]["resource_usage"], json!({"cpu": "72000"}));
        assert_eq!(told["committed"]["resource_usage"], json!({"cpu": "216000"}));
        let alice = explain(&server, "user=alice").await;
        // From now on nothing is run.
        server.ingest(&[with(kernel("d2", "dave", "audio", NOW), &json!({
            "occupied_slots": {"cpu": "40"}, "domain_name": "sales", "status": "TERMINATED", "terminated_at": "2026-01-13T12:30:00Z",
        }))]).await;
        let stands = async |name: &str| {
            let row = server.get(&group(&format!("/fair-share-status?user={name}"))).await;
            (row["rank"].clone(), row["fair_share_factor"].clone())
        };
        server.tick().await;
        for (name, told) in [("dave", &told), ("alice", &alice)] {
            let next = &told["if_nothing_is_run"]["next_run"];
            assert_eq!(stands(name).await, (next["place"].clone(), next["fair_share_factor"].clone()));
        }
        let mut changes = [Vec::new(), Vec::new()];
        let mut before = [stands("dave").await, stands("alice").await];
        for _ in 0..6 {
            server.clock.advance_seconds(86_400);
            server.tick().await;
            let date = server.get(&group("/explain?user=dave")).await["rules"]["today"].clone();
            for (at, name) in ["dave", "alice"].into_iter().enumerate() {
                let now = stands(name).await;
                if now != before[at] {
                    changes[at].push(json!([date, now.0, now.1]));
                    before[at] = now;
                }
            }
        }
        for (told, changes) in [&told, &alice].into_iter().zip(changes) {
            let dates = told["if_nothing_is_run"]["dates"].as_array().unwrap().iter();
            let found: Vec<Value> = dates.map(|then| json!([then["date"], then["place"], then["fair_share_factor"]])).collect();
            assert!(!found.is_empty());
            assert_eq!(found, changes);
            assert_eq!(told["if_nothing_is_run"]["until"], "2026-01-19");
        }
    }

    async fn weights_and_usage_lead_where_they_are_said_to(db: TestDb) {
        let server = used(db, &json!({})).await;
        let told = explain(&server, "user=carol&place=2").await;
        let (weight, costs) = (&told["weights_for_places"][0], &told["costs"]);
        assert_eq!((&weight["wanted"], &weight["place"], costs), (&json!(2), &json!(2), &Value::Null));
        let put = json!({"items": [{"target_type": "user", "target_id": id("carol"), "project_id": id("audio"), "weight": weight["weight"]}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&put)).await.json(200);
        let now = explain(&server, "user=carol").await;
        assert_eq!(now["place"], 2);
        // The weight for a worse place is the largest that leads there.
        let back = explain(&server, "user=carol&place=4").await;
        assert!(number(&back["weights_for_places"][0]["weight"]) < number(&weight["weight"]));
        assert!(number(&now["costs"]["any_of"]["cpu"]) > 0.0);
        assert_eq!(now["costs"]["place"], 3);
    }

    async fn keys_of_users_see_their_own_page_and_nobody_else_on_it(db: TestDb) {
        let server = used(db, &json!({})).await;
        let key = server.key_for(Role::User, Some("alice")).await;
        let own = server.call_as(&key, "GET", &group("/explain"), None).await.json(200);
        let all = explain(&server, "user=alice").await;
        for part in ["summary", "formula", "weights", "rules", "buckets", "place", "of", "if_nothing_is_run", "weights_for_places", "costs"] {
            assert_eq!(own[part], all[part], "{part}");
        }
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&own["above"]), ["because", "decided_by"]);
        assert_eq!(keys(&own["below"]), ["because", "decided_by"]);
        let text = own.to_string();
        for other in ["bob", "carol", "dave"] {
            assert!(!text.contains(other) && !text.contains(&id(other).to_string()), "{other}: {text}");
        }
        for query in ["user=bob", "tier=project&project=vision", "domain=research", "project=vision&tier=domain&domain=research"] {
            let (status, code, _) = refused(&server, &key, query).await;
            assert!(status == 403 || (status == 422 && code == "contradiction"), "{query}: {status}");
        }
        assert_eq!(refused(&server, &key, "user=bob").await.0, 403);
        assert_eq!(refused(&server, &key, "domain=research").await.0, 403);
        assert_eq!(refused(&server, &key, "tier=project&project=vision").await.0, 403);
    }

    async fn what_cannot_be_explained_is_refused_with_its_place(db: TestDb) {
        let server = used(db, &json!({})).await;
        let key = server.key.clone();
        for (query, status, code, pointer) in [
            ("", 422, "missing_field", "/user"),
            ("tier=project", 422, "missing_field", "/project"),
            ("tier=domain", 422, "missing_field", "/domain"),
            ("tier=nobody&user=alice", 422, "invalid_value", "/tier"),
            ("tier=domain&domain=research&user=alice", 422, "contradiction", "/user"),
            ("tier=domain&domain=research&project=vision", 422, "contradiction", "/project"),
            ("tier=project&project=vision&user=alice", 422, "contradiction", "/user"),
            ("user=alice&domain=sales", 422, "contradiction", "/domain"),
            ("user=alice&place=0", 422, "out_of_range", "/place"),
            ("user=alice&place=5", 422, "out_of_range", "/place"),
            ("user=nobody", 404, "unknown_user", ""),
            ("user=alice&project=nothing", 404, "unknown_project", ""),
            ("project=nothing", 404, "unknown_project", ""),
            ("domain=nowhere", 404, "unknown_domain", ""),
            ("workload=j1", 404, "unknown_workload", ""),
            ("nothing=1", 422, "unknown_field", "/nothing"),
        ] {
            let found = refused(&server, &key, query).await;
            assert_eq!(found, (status, code.to_owned(), pointer.to_owned()), "{query}");
        }
        // A known user without anything in this group yet.
        let path = format!("/users/{}", id("newcomer"));
        server.call("PUT", &path, Some(&json!({"name": "newcomer"}))).await;
        assert_eq!(refused(&server, &key, "user=newcomer").await, (422, "missing_field".to_owned(), "/project".to_owned()));
        let told = explain(&server, "user=newcomer&project=vision").await;
        assert_eq!((&told["in_group"], &told["place"], &told["buckets"]), (&json!(false), &Value::Null, &json!([])));
        assert_eq!(told["summary"], "Not in the ranking: nothing has been used in this group, and no weight is set.");
        assert_eq!(redone(&told), "1");
    }

    async fn a_sequence_says_of_each_workload_why_it_waits(db: TestDb) {
        let server = used(db, &json!({})).await;
        let workload = |name: &str, user: &str, project: &str, submitted: &str| json!({
            "workload_id": name, "user": user, "project": project, "submitted_at": format!("2026-01-13T{submitted}:00Z"),
            "requested_slots": {"cpu": "1"}, "expected_seconds": 600,
        });
        let (vision, audio) = ("vision", "audio");
        let workloads = json!([
            workload("a1", "alice", vision, "11:00"), workload("a2", "alice", vision, "10:00"), workload("b1", "bob", vision, "11:30"),
            workload("c1", "carol", audio, "09:00"), workload("b2", "bob", vision, "11:30"), workload("d1", "dave", audio, "11:00"),
        ]);
        let told = async |server: &Server, more: &Value| {
            let body = with(json!({"workloads": workloads, "explain": true}), more);
            let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
            let items = answer["items"].as_array().unwrap().iter();
            let status = server.get(&group("/fair-share-status")).await;
            let told = |item: &Value| {
                // The weight of the owner stands for the same as in the ranking; no owner is made up.
                let named = workloads.as_array().unwrap().iter().find(|named| named["workload_id"] == item["workload_id"]).unwrap();
                let mut known = status["items"].as_array().unwrap().iter();
                let owner = known.find(|row| row["user_name"] == named["user"] && row["project_name"] == named["project"]);
                for key in ["entitled_share", "entitled_share_of_parent"] {
                    assert_eq!(&item[key], owner.map_or(&Value::Null, |row| &row[key]), "{item}");
                }
                let text = |value: &Value| value.as_str().unwrap().to_owned();
                assert_eq!(item["ahead"].as_u64().unwrap() + 1, item["position"].as_u64().unwrap());
                (text(&item["workload_id"]), item["owners_ahead"].as_u64().unwrap(), text(&item["reason"]["decided_by"]))
            };
            items.map(told).collect::<Vec<_>>()
        };
        let are = |found: &[(String, u64, String)], expected: &[(&str, u64, &str)]| {
            let found: Vec<_> = found.iter().map(|(name, owners, why)| (name.as_str(), *owners, why.as_str())).collect();
            assert_eq!(found, expected);
        };
        are(&told(&server, &json!({})).await, &[
            ("b1", 0, "first"), ("b2", 1, "workload_id"), ("d1", 1, "user"), ("a2", 2, "user"), ("a1", 3, "submitted_at"), ("c1", 3, "user"),
        ]);
        assert_eq!(told(&server, &json!({"limit": 2})).await.len(), 2);
        server.options(&json!({"order": "tiered"})).await;
        are(&told(&server, &json!({})).await, &[
            ("b1", 0, "first"), ("b2", 1, "workload_id"), ("a2", 1, "user"), ("a1", 2, "submitted_at"), ("d1", 2, "domain"), ("c1", 3, "user"),
        ]);
        server.options(&json!({"order": "flat"})).await;
        // Each workload counts before the next is chosen.
        let mut urgent = workloads.clone();
        urgent[0]["priority"] = json!(1);
        let progressive = told(&server, &json!({"mode": "progressive", "workloads": urgent})).await;
        let places: Vec<_> = progressive.iter().map(|(name, _, _)| name.as_str()).collect();
        assert_eq!(places.len(), 6);
        let why = |name: &str| &progressive[places.iter().position(|other| *other == name).unwrap()].2;
        assert_eq!((why("b1").as_str(), why("c1").as_str()), ("first", "user"));
        // In progressive mode the reasons do not speak of past usage alone.
        let body = json!({"workloads": workloads, "explain": true, "mode": "progressive"});
        let answer = server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let by_user = answer["items"].as_array().unwrap().iter().filter(|item| item["reason"]["decided_by"] == "user");
        let because: Vec<&str> = by_user.map(|item| item["reason"]["because"].as_str().unwrap()).collect();
        assert!(!because.is_empty() && because.iter().all(|because| because.starts_with("At this point of the order")), "{because:?}");
        assert!(places.iter().position(|name| *name == "a1") < places.iter().position(|name| *name == "a2"));
        for (scheduler, expected) in [("fifo", "submitted_at"), ("lifo", "workload_id"), ("drf", "submitted_at")] {
            server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler": scheduler}))).await.json(200);
            let told = told(&server, &json!({})).await;
            assert_eq!((told[0].2.as_str(), told[1].2.as_str()), ("first", expected), "{scheduler}");
        }
        // Without the word nothing of it is said.
        let plain = server.call("POST", &group("/sequence"), Some(&json!({"workloads": workloads}))).await.json(200);
        assert!(plain["items"][0].get("reason").is_none() && plain["items"][0].get("ahead").is_none());
        let wrong = server.call("POST", &group("/sequence"), Some(&json!({"workloads": [], "explain": 1}))).await;
        assert_eq!(wrong.json(422)["errors"][0]["pointer"], "/explain");
    }

    async fn the_last_sequence_tells_why_a_job_waits(db: TestDb) {
        let server = used(db, &json!({})).await;
        let workload = |name: &str, user: &str, project: &str| json!({"workload_id": name, "user": user, "project": project});
        let body = json!({"limit": 1, "workloads": [
            workload("a1", "alice", "vision"), workload("b1", "bob", "vision"), workload("c1", "carol", "audio"), workload("b2", "bob", "vision"),
        ]});
        server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        let told = explain(&server, "workload=c1").await;
        assert_eq!(told["user_name"], "carol");
        assert_eq!(told["workload"], json!({
            "workload_id": "c1", "sequenced_at": NOW, "mode": "plain", "position": 4, "of": 4, "ahead": 3, "owners_ahead": 2,
            "reason": {"decided_by": "user", "because": "The user of the one ahead has used less for their weight."},
        }));
        assert_eq!(explain(&server, "workload=b2&user=bob").await["workload"]["owners_ahead"], 1);
        let key = server.key.clone();
        assert_eq!(refused(&server, &key, "workload=c1&user=bob").await, (422, "contradiction".to_owned(), "/user".to_owned()));
        assert_eq!(refused(&server, &key, "workload=c1&project=vision").await, (422, "contradiction".to_owned(), "/project".to_owned()));
        assert_eq!(refused(&server, &key, "workload=nothing").await.1, "unknown_workload");
        // Another scheduler of the group does not make it unknown; many sequences later it is.
        let other = json!({"workloads": [workload("d1", "dave", "vision")]});
        for _ in 0..3 {
            server.call("POST", &group("/sequence"), Some(&other)).await.json(200);
        }
        assert_eq!(explain(&server, "workload=c1").await["workload"]["position"], 4);
        assert_eq!(explain(&server, "workload=d1").await["workload"]["position"], 1);
        // Users ask about their own workloads; about those of others the answer is that they do not exist.
        let alice = server.key_for(Role::User, Some("alice")).await;
        let own = server.call_as(&alice, "GET", &group("/explain?workload=a1"), None).await.json(200);
        assert_eq!((&own["workload"]["position"], &own["workload"]["ahead"]), (&json!(3), &json!(2)));
        assert_eq!(refused(&server, &alice, "workload=c1").await.1, "unknown_workload");
        // Whatever is recorded later, the order is the one that was answered.
        server.ingest(&[ended("b9", "bob", "vision", "90", "2026-01-12T00:00:00Z", "2026-01-12T20:00:00Z")]).await;
        server.clock.advance_seconds(300);
        server.tick().await;
        assert_eq!(explain(&server, "workload=c1").await["workload"]["position"], 4);
        server.call("POST", &group("/sequence"), Some(&other)).await.json(200);
        assert_eq!(refused(&server, &key, "workload=c1").await.1, "unknown_workload");
        server.clock.advance_seconds(601);
        assert_eq!(refused(&server, &key, "workload=d1").await.1, "unknown_workload");
        server.service.forget_sequences();
    }

    async fn the_owner_of_a_workload_may_be_known_from_the_sequence_only(db: TestDb) {
        let server = used(db, &json!({})).await;
        let body = json!({"workloads": [
            {"workload_id": "z1", "user": "zoe", "project": "vision"}, {"workload_id": "n1", "user": "alice", "project": "nowhere"},
        ]});
        server.call("POST", &group("/sequence"), Some(&body)).await.json(200);
        for (workload, user, project, domain) in [("z1", "zoe", "vision", "research"), ("n1", "alice", "nowhere", "unknown")] {
            let told = explain(&server, &format!("workload={workload}")).await;
            assert_eq!((&told["user_name"], &told["project_name"], &told["domain_name"]), (&json!(user), &json!(project), &json!(domain)));
            assert_eq!(told["summary"], "Not in the ranking: nothing has been used in this group, and no weight is set.");
            assert_eq!((&told["workload"]["workload_id"], redone(&told)), (&json!(workload), "1".to_owned()));
        }
        // An owner that is asked about without a sequence is unknown, and no more is to be said.
        let problem = server.call("GET", &group("/explain?user=zoe&project=vision"), None).await.json(404);
        assert!(!problem["detail"].as_str().unwrap().contains("sequence"), "{problem}");
    }

    async fn the_summary_says_why_nothing_counts(db: TestDb) {
        let server = used(db, &json!({})).await;
        let pending = json!({"status": "PENDING", "started_at": null, "user_name": "newcomer", "project_name": "vision"});
        server.ingest(&[with(kernel("first", "newcomer", "vision", NOW), &pending)]).await;
        server.tick().await;
        let summary = async |query: &str| explain(&server, query).await["summary"].as_str().unwrap().to_owned();
        let newcomer = format!("user={}", id("newcomer"));
        let said = summary(&newcomer).await;
        assert!(said.contains(". Nothing has been used yet."), "{said}");
        // In a group without capacity.
        server.call("PUT", "/resource-groups/bare", Some(&json!({}))).await.json(201);
        let row = with(ended("k1", "newcomer", "vision", "1", "2026-01-12T00:00:00Z", "2026-01-12T01:00:00Z"), &json!({"user_name": "newcomer"}));
        server.call("POST", "/resource-groups/bare/kernels", Some(&json!([row]))).await.json(200);
        server.service.aggregate("bare").await.unwrap();
        let bare = server.get(&format!("/resource-groups/bare/explain?{newcomer}")).await;
        let said = bare["summary"].as_str().unwrap();
        assert!(said.ends_with("Nothing of what was used counts, because the group has no capacity."), "{said}");
        // Long after.
        server.clock.set("2026-06-10T12:00:00Z");
        server.tick().await;
        server.service.aggregate("bare").await.unwrap();
        let later = server.get(&format!("/resource-groups/bare/explain?{newcomer}")).await;
        assert!(later["summary"].as_str().unwrap().contains("Nothing that was used counts any more."), "{later}");
    }

    async fn buckets_say_how_much_they_count(db: TestDb) {
        let server = used(db, &json!({"half_life_days": 2, "lookback_days": 6})).await;
        let told = explain(&server, "user=alice").await;
        let listed = server.get(&group("/usage-buckets/users?user=alice")).await;
        let of = |bucket: &Value| [bucket["period_start"].clone(), bucket["decay_weight"].clone(), bucket["contribution"].clone()];
        let listed: Vec<_> = listed["items"].as_array().unwrap().iter().map(of).collect();
        let counted: Vec<_> = told["buckets"].as_array().unwrap().iter().map(of).collect();
        // The bucket of the 6th has left the window.
        assert_eq!(listed[0], [json!("2026-01-06"), json!("0"), json!("0")]);
        assert_eq!((&listed[1..], counted.len()), (&counted[..], 1));
    }
}
