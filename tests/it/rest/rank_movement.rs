//! Ranks compared with the day before, the largest moves, and histories of days without a run (`FAIR_SHARE` §11).

use fairshared::domain::fairness::PendingCounts;
use fairshared::domain::time::Day;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

/// The day after carol was first, bob second and alice third: alice has a weight that puts her first.
async fn alice_moved_up(db: crate::support::database::TestDb) -> Server {
    let server = Server::with_usage(db).await;
    server.clock.set("2026-01-14T00:05:00Z");
    server.tick().await;
    let weights = json!({"items": [{"target_type": "user", "target_id": id("alice"), "weight": "100"}]});
    server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
    server
}

fn names<'a>(rows: &'a Value, key: &str) -> Vec<(&'a str, u64, Option<u64>)> {
    let rows = rows[key].as_array().unwrap().iter();
    let row = |row: &'a Value| {
        (row["user_name"].as_str().unwrap(), row["rank"].as_u64().unwrap(), row["previous_rank"].as_u64())
    };
    rows.map(row).collect()
}

async fn movers(server: &Server, args: &str) -> Value {
    let fields = "user_name rank previous_rank";
    let query = format!(
        r#"{{ rank_movers(resource_group: "{GROUP}"{args}) {{ since up {{ {fields} }} down {{ {fields} }} }} }}"#
    );
    server.graphql(&query).await
}

on_both! {
    async fn ranks_stand_beside_those_of_the_day_before(db: TestDb) {
        let server = alice_moved_up(db).await;
        let list = server.graphql(&format!(
            r#"{{ user_fair_shares(resource_group: "{GROUP}") {{ edges {{ node {{ user_name rank previous_rank ranked_count lookback_end }} }} }}
                 domain_fair_shares(resource_group: "{GROUP}") {{ edges {{ node {{ domain_name rank previous_rank ranked_count }} }} }}
                 project_fair_share(resource_group: "{GROUP}", project_id: "{}") {{ rank previous_rank ranked_count }} }}"#,
            id("vision"),
        )).await["data"].clone();
        let node = |name: &str, rank: u32, before: u32| json!({"node": {
            "user_name": name, "rank": rank, "previous_rank": before, "ranked_count": 3, "lookback_end": "2026-01-14",
        }});
        assert_eq!(list["user_fair_shares"]["edges"], json!([node("alice", 1, 3), node("carol", 2, 1), node("bob", 3, 2)]));
        let domain = |name: &str, rank: u32| json!({"node": {
            "domain_name": name, "rank": rank, "previous_rank": rank, "ranked_count": 2,
        }});
        assert_eq!(list["domain_fair_shares"]["edges"], json!([domain("sales", 1), domain("research", 2)]));
        assert_eq!(list["project_fair_share"], json!({"rank": 1, "previous_rank": 1, "ranked_count": 1}));

        let one = server.get(&group(&format!("/fair-share-status?user_uuid={}", id("alice")))).await;
        assert_eq!((&one["previous_rank"], &one["memberships"][0]["previous_rank"]), (&json!(3), &json!(3)));
        assert_eq!(names(&server.get(&group("/fair-share-status?limit=2")).await, "items"), [("alice", 1, Some(3)), ("carol", 2, Some(1))]);
        assert_eq!(server.get(&group("/fair-share-status")).await["items"][0]["previous_rank"], Value::Null);
        for tier in ["domains", "projects"] {
            let rows = server.get(&group(&format!("/fair-share-status/{tier}"))).await;
            assert!(rows["items"].as_array().unwrap().iter().all(|row| row["previous_rank"] == row["rank"]), "{rows}");
        }
    }

    async fn a_rank_that_was_not_kept_is_not_known(db: TestDb) {
        let server = Server::with_usage(db).await;
        let one = server.get(&group(&format!("/fair-share-status?user_uuid={}", id("alice")))).await;
        assert_eq!((&one["rank"], &one["previous_rank"]), (&json!(3), &Value::Null));
        assert_eq!(server.get(&group("/fair-share-status/domains")).await["items"][0]["previous_rank"], Value::Null);
        assert_eq!(movers(&server, "").await["data"]["rank_movers"], json!({"since": "2026-01-12", "up": [], "down": []}));
        // The day before is what counts: an older one is no day to compare with.
        server.clock.set("2026-01-14T00:05:00Z");
        server.tick().await;
        server.clock.set("2026-01-16T00:05:00Z");
        server.service.purge_share_history(GROUP, 2).await.unwrap();
        server.tick().await;
        assert_eq!(movers(&server, "").await["data"]["rank_movers"]["since"], "2026-01-15");
        server.group("idle", &json!({})).await;
        let idle = server.graphql(r#"{ rank_movers(resource_group: "idle") { since up { rank } } }"#).await;
        assert_eq!(idle["data"]["rank_movers"], json!({"since": null, "up": []}));
    }

    async fn those_who_moved_most_come_first(db: TestDb) {
        let server = alice_moved_up(db).await;
        let told = &movers(&server, "").await["data"]["rank_movers"];
        assert_eq!(told["since"], "2026-01-13");
        assert_eq!(names(told, "up"), [("alice", 1, Some(3))]);
        // Both fell by one place: the better rank comes first.
        assert_eq!(names(told, "down"), [("carol", 2, Some(1)), ("bob", 3, Some(2))]);
        assert_eq!(names(&movers(&server, ", first: 1").await["data"]["rank_movers"], "down"), [("carol", 2, Some(1))]);
        for first in [0, 101] {
            let refused = movers(&server, &format!(", first: {first}")).await;
            assert_eq!(refused["errors"][0]["extensions"]["code"], "invalid_page_size", "{refused}");
        }
        let key = server.key_for(Role::User, Some("alice")).await;
        let query = json!({"query": format!(r#"{{ rank_movers(resource_group: "{GROUP}") {{ since }} }}"#)});
        let refused = server.call_as(&key, "POST", "/graphql", Some(&query)).await.json(200);
        assert_eq!(refused["errors"][0]["extensions"]["code"], "forbidden");
    }

    async fn a_day_that_is_over_has_movers_of_its_own(db: TestDb) {
        let server = alice_moved_up(db).await;
        server.clock.set("2026-01-15T00:05:00Z");
        server.tick().await;
        server.call("PUT", &format!("/projects/{}", id("vision")), Some(&json!({"name": "vision"}))).await.json(200);
        let of_day = async |day: &str, more: &str| {
            let fields = "user_name project_name rank previous_rank";
            let query = format!(
                r#"{{ rank_movers_of_day(resource_group: "{GROUP}", day: "{day}"{more}) {{ since up {{ {fields} }} down {{ {fields} }} }} }}"#
            );
            server.graphql(&query).await
        };
        let told = of_day("2026-01-14", "").await["data"]["rank_movers_of_day"].clone();
        assert_eq!(told["since"], "2026-01-13");
        assert_eq!(names(&told, "up"), [("alice", 1, Some(3))]);
        assert_eq!(names(&told, "down"), [("carol", 2, Some(1)), ("bob", 3, Some(2))]);
        assert_eq!(told["up"][0]["project_name"], "vision");
        assert_eq!(names(&of_day("2026-01-14", ", first: 1").await["data"]["rank_movers_of_day"], "down"), [("carol", 2, Some(1))]);
        // No ranks are stored for the day before.
        assert_eq!(of_day("2026-01-13", "").await["data"]["rank_movers_of_day"], json!({"since": "2026-01-12", "up": [], "down": []}));
        assert_eq!(of_day("2026-01-14", ", first: 0").await["errors"][0]["extensions"]["code"], "invalid_page_size");
    }

    async fn names_are_searched_in_a_day_that_is_over(db: TestDb) {
        let server = alice_moved_up(db).await;
        server.call("PUT", &format!("/projects/{}", id("vision")), Some(&json!({"name": "vision"}))).await.json(200);
        let found = async |query: &str, key: &str| {
            let path = group(&format!("/fair-share-history?from=2026-01-13&to=2026-01-13&order=rank&{query}"));
            let told = server.get(&path).await;
            let rows = told["items"].as_array().unwrap().iter().map(|row| row[key].as_str().unwrap().to_owned());
            (told["total"].as_u64().unwrap(), rows.collect::<Vec<_>>())
        };
        let named = |names: &[&str]| (names.len() as u64, names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        assert_eq!(found("search=OB", "user_name").await, named(&["bob"]));
        assert_eq!(found("search=a", "user_name").await, named(&["carol", "alice"]));
        assert_eq!(found("search=a&limit=1", "user_name").await, (2, vec!["carol".to_owned()]));
        assert_eq!(found("search=nobody", "user_name").await, named(&[]));
        assert_eq!(found("tier=project&search=Vis", "project_name").await, named(&["vision"]));
        assert_eq!(found("tier=domain&search=SAL", "domain_name").await, named(&["sales"]));
        let query = format!(
            r#"{{ fair_share_history(resource_group: "{GROUP}", from: "2026-01-13", to: "2026-01-13", search: "Ali") {{ edges {{ node {{ user_name }} }} }} }}"#
        );
        assert_eq!(server.graphql(&query).await["data"]["fair_share_history"]["edges"], json!([{"node": {"user_name": "alice"}}]));
        let key = server.key_for(Role::User, Some("alice")).await;
        let others = server.call_as(&key, "GET", &group("/fair-share-history?search=bob"), None).await.json(200);
        assert_eq!(others["total"], 0);
    }

    async fn ranks_of_the_day_before_are_read_once(db: TestDb) {
        let server = alice_moved_up(db).await;
        let previous = async || {
            let one = server.get(&group(&format!("/fair-share-status?user_uuid={}", id("alice")))).await;
            one["previous_rank"].as_u64()
        };
        let before = server.service.store().statements();
        assert_eq!(previous().await, Some(3));
        assert_eq!(server.service.store().statements() - before, 1);
        let ranks = "edges { node { previous_rank } }";
        let users = format!(r#"{{ user_fair_shares(resource_group: "{GROUP}") {{ {ranks} }} }}"#);
        let tree = format!(
            r#"{{ domain_fair_shares(resource_group: "{GROUP}") {{ edges {{ node {{
                   project_fair_shares {{ edges {{ node {{ user_fair_shares {{ {ranks} }} }} }} }} }} }} }} }}"#
        );
        let moved = format!(r#"{{ rank_movers(resource_group: "{GROUP}") {{ up {{ previous_rank }} down {{ previous_rank }} }} }}"#);
        for query in [users, tree, moved] {
            let answer = server.graphql(&query).await;
            assert_eq!(answer["errors"], Value::Null, "{query}");
        }
        for path in ["/fair-share-status", "/fair-share-status?limit=3", "/fair-share-status/domains", "/fair-share-status/projects"] {
            server.get(&group(path)).await;
        }
        assert_eq!(server.service.store().statements() - before, 1);
        // Another day has another day before it.
        server.clock.set("2026-01-15T00:05:00Z");
        server.tick().await;
        assert_eq!(previous().await, Some(1));
        // Ranks that are written again are read again.
        server.service.purge_share_history(GROUP, 0).await.unwrap();
        assert_eq!(previous().await, Some(1));
        server.service.keep_past_days(GROUP, "2026-01-15".parse().unwrap(), PendingCounts::default()).await.unwrap();
        assert_eq!(previous().await, None);
    }

    async fn a_day_is_paged_by_rank(db: TestDb) {
        let server = alice_moved_up(db).await;
        let path = |more: &str| group(&format!("/fair-share-history?from=2026-01-13&to=2026-01-13{more}"));
        let ranked = server.get(&path("&order=rank")).await;
        let ranks: Vec<_> = ranked["items"].as_array().unwrap().iter().map(|row| row["rank"].as_u64().unwrap()).collect();
        assert_eq!(ranks, [1, 2, 3]);
        let first = server.get(&path("&order=rank&limit=2")).await;
        let cursor = first["next_cursor"].as_str().unwrap();
        let rest = server.get(&path(&format!("&order=rank&limit=2&cursor={cursor}"))).await;
        assert_eq!([first["items"].as_array().unwrap().clone(), rest["items"].as_array().unwrap().clone()].concat(), *ranked["items"].as_array().unwrap());
        assert_eq!(server.call("GET", &path(&format!("&cursor={cursor}")), None).await.refused(422, "invalid_cursor"), ["/cursor"]);
        let query = format!(
            r#"{{ fair_share_history(resource_group: "{GROUP}", order: RANK, last: 1) {{ edges {{ node {{ rank user_name }} }} }} }}"#
        );
        let last = &server.graphql(&query).await["data"]["fair_share_history"]["edges"];
        assert_eq!(*last, json!([{"node": {"rank": 3, "user_name": "alice"}}]));
    }

    async fn days_that_no_run_has_seen_are_told_as_runs_would_have(db: TestDb) {
        let server = Server::with_usage(db).await;
        let ended = |name: &str, user: &str, project: &str, domain: &str, cpu: &str, from: &str, to: &str| {
            let slots = json!({"cpu": cpu});
            let changes = json!({
                "domain_name": domain, "occupied_slots": slots, "user_name": user, "status": "TERMINATED", "terminated_at": to,
            });
            with(kernel(name, user, project, from), &changes)
        };
        let day = "2026-01-13T00:00:00Z";
        let over = [
            ended("k1", "alice", "vision", "research", "20", day, "2026-01-13T12:00:00Z"),
            ended("k2", "bob", "vision", "research", "10", day, "2026-01-13T12:00:00Z"),
            ended("k3", "carol", "audio", "sales", "5", day, "2026-01-13T12:00:00Z"),
        ];
        assert!(server.ingest(&over).await.is_empty());
        server.tick().await;
        server.clock.set("2026-01-14T06:00:00Z");
        let more = ended("k4", "carol", "audio", "sales", "60", "2026-01-14T01:00:00Z", "2026-01-14T05:00:00Z");
        assert!(server.ingest(&[more]).await.is_empty());
        server.tick().await;
        server.clock.set("2026-01-15T00:05:00Z");
        server.tick().await;
        let all = async || {
            let mut kept = Vec::new();
            for tier in ["domain", "project", "user"] {
                let rows = server.get(&group(&format!("/fair-share-history?tier={tier}"))).await;
                kept.extend(rows["items"].as_array().unwrap().clone());
            }
            kept
        };
        let fairness = async || {
            let mut days = server.get(&group("/fairness/history")).await["items"].clone();
            days.as_array_mut().unwrap().iter_mut().for_each(|day| day["calculated_at"] = Value::Null);
            days
        };
        let (by_runs, fair_by_runs) = (all().await, fairness().await);
        let days = |day: &str| by_runs.iter().filter(|row| row["day"] == day).count();
        assert_eq!((days("2026-01-13"), days("2026-01-14"), by_runs.len()), (7, 7, 14));
        server.service.purge_share_history(GROUP, 0).await.unwrap();
        server.service.purge_fairness(GROUP, 0).await.unwrap();
        assert_eq!(all().await, Vec::<Value>::new());
        let status = server.get(&group("/fair-share-status")).await;
        let first: Day = "2026-01-13".parse().unwrap();
        server.service.keep_past_days(GROUP, first, PendingCounts::default()).await.unwrap();
        assert_eq!(all().await, by_runs);
        assert_eq!(fairness().await, fair_by_runs);
        assert_eq!(server.get(&group("/fair-share-status")).await, status);
    }
}
