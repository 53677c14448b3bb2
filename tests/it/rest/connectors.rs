//! Connectors of other schedulers: reports of rounds, and the shadow reports that they leave (FAIR_SHARE §13).

use fairshared::domain::fairness::DaySpan;
use fairshared::domain::time::Day;
use fairshared::service::Role;
use fairshared::service::keys::NewKey;
use fairshared::store::shadow_reports::load_owner_days;
use serde_json::{Value, json};

use super::agreement::{sequence, workloads};
use super::support::{Answer, Server, group};
use crate::accounting::number;
use crate::support::fixture::{GROUP, admin, id, surely, with};
use crate::support::on_both;

/// The report of a round in which nothing was compared.
pub fn round(changes: &Value) -> Value {
    with(json!({"resource_group": GROUP, "kind": "slurm", "version": "0.2.0", "mode": "shadow"}), changes)
}

async fn put(server: &Server, cluster: &str, changes: &Value) -> Answer {
    server.call("PUT", &format!("/connectors/{cluster}"), Some(&round(changes))).await
}

/// Orders the workloads beside an order of another scheduler, and reports the round.
pub async fn play_round(server: &Server, cluster: &str, order: &[&str]) -> Value {
    let answer = sequence(server, &json!({"workloads": workloads(), "current_order": order})).await.json(200);
    let agreement = &answer["agreement"];
    let compared = json!({
        "compared": agreement["compared"], "same_place": agreement["same_place"], "kendall_tau": agreement["kendall_tau"],
    });
    let answer = put(server, cluster, &compared).await;
    assert!(answer.status.is_success(), "{answer:?}");
    serde_json::from_slice(&answer.bytes).unwrap()
}

async fn report(server: &Server) -> Value {
    server.get(&group("/shadow-report")).await
}

async fn limited_key(server: &Server, role: Role, group: &str) -> String {
    let groups = Some(vec![group.to_owned()]);
    let new = NewKey { role, label: "limited".to_owned(), user: None, expires_at: None, groups };
    server.service.create_key(admin(), new).await.unwrap().0
}

const REVERSED: [&str; 4] = ["a", "b", "c", "n"];

on_both! {
    async fn rounds_are_listed_and_replace_one_another(db: TestDb) {
        let server = Server::with_usage(db).await;
        assert_eq!(server.get("/connectors").await, json!({"items": [], "total": 0}));
        let errors = json!([{"code": "write_denied", "detail": "scontrol: Access/permission denied\n"}]);
        let counts = json!({
            "jobs": 10, "pending": 9, "eligible": 8, "held": 1, "dependent": 2, "limited": 3, "fixed": 4, "reported": 5, "rejected": 6,
            "spooled": 7, "wanted_writes": 11, "written": 12, "read_back_differs": 13, "left": 14, "seconds": 1.25, "errors": errors,
        });
        let first = put(&server, "linux", &counts).await.json(201);
        let listed = server.get("/connectors").await;
        assert_eq!(listed["items"], json!([first]));
        let last = with(counts.clone(), &json!({"mode": "shadow", "compared": 0, "same_place": 0, "kendall_tau": null}));
        assert_eq!(first, json!({
            "cluster": "linux", "kind": "slurm", "version": "0.2.0", "mode": "shadow", "resource_group": GROUP,
            "last_round_at": "2026-01-13T12:00:00Z", "last": last,
        }));
        server.clock.advance_seconds(15);
        let second = put(&server, "linux", &json!({"mode": "order", "jobs": 3})).await.json(200);
        assert_eq!((&second["mode"], &second["last"]["jobs"], &second["last"]["errors"]), (&json!("order"), &json!(3), &json!([])));
        assert_eq!(second["last_round_at"], "2026-01-13T12:00:15Z");
        put(&server, "Alpha", &json!({"kind": "htcondor"})).await.json(201);
        let listed = server.get("/connectors?limit=1").await;
        assert_eq!((&listed["items"][0]["cluster"], &listed["total"]), (&json!("Alpha"), &json!(2)));
        let next = server.get(&format!("/connectors?limit=1&cursor={}", listed["next_cursor"].as_str().unwrap())).await;
        assert_eq!(next["items"], json!([second]));
        let shown = server.graphql("{ connectors { cluster kind version mode resource_group last_round_at last } }").await;
        let shown = shown["data"]["connectors"].as_array().unwrap().clone();
        let text = second["last"].to_string();
        assert_eq!(shown[1], with(second.clone(), &json!({"last": text})), "{shown:?}");
        // Only a new connector and a change of it are in the audit log.
        put(&server, "linux", &json!({"mode": "order", "jobs": 4})).await.json(200);
        let log = server.get("/audit-log?action=connector.put").await;
        let changes: Vec<_> = log["items"].as_array().unwrap().iter().map(|e| (&e["target"], &e["before"]["mode"], &e["after"]["mode"])).collect();
        assert_eq!(changes, [
            (&json!("Alpha"), &Value::Null, &json!("shadow")), (&json!("linux"), &json!("shadow"), &json!("order")),
            (&json!("linux"), &Value::Null, &json!("shadow")),
        ]);
    }

    async fn wrong_reports_are_named(db: TestDb) {
        let server = Server::with_usage(db).await;
        let many: Vec<Value> = (0..101).map(|n| json!({"code": format!("e{n}"), "detail": ""})).collect();
        for (changes, code, pointer) in [
            (json!({"mode": "fast"}), "invalid_value", "/mode"),
            (json!({"kind": "lsf"}), "invalid_value", "/kind"),
            (json!({"version": ""}), "invalid_value", "/version"),
            (json!({"version": "v".repeat(65)}), "invalid_value", "/version"),
            (json!({"version": 2}), "invalid_type", "/version"),
            (json!({"jobs": -1}), "invalid_value", "/jobs"),
            (json!({"jobs": 1.5}), "invalid_type", "/jobs"),
            (json!({"jobs": "7"}), "invalid_type", "/jobs"),
            (json!({"left": 4_294_967_296u64}), "invalid_value", "/left"),
            (json!({"kendall_tau": 1.1}), "out_of_range", "/kendall_tau"),
            (json!({"kendall_tau": "1"}), "invalid_type", "/kendall_tau"),
            (json!({"seconds": -0.5}), "out_of_range", "/seconds"),
            (json!({"seconds": 1e300}), "out_of_range", "/seconds"),
            (json!({"compared": 1, "same_place": 2}), "contradiction", "/same_place"),
            (json!({"errors": many}), "too_many", "/errors"),
            (json!({"errors": [{"code": "", "detail": ""}]}), "invalid_value", "/errors/0/code"),
            (json!({"errors": [{"code": "c", "detail": "d".repeat(1001)}]}), "invalid_value", "/errors/0/detail"),
            (json!({"errors": [{"code": "c"}]}), "missing_field", "/errors/0/detail"),
            (json!({"colour": "red"}), "unknown_field", "/colour"),
        ] {
            let pointers = put(&server, "linux", &changes).await.refused(422, code);
            assert_eq!(pointers, [pointer], "{changes}");
        }
        for key in ["resource_group", "kind", "version", "mode"] {
            let mut body = round(&json!({}));
            body.as_object_mut().unwrap().remove(key);
            let answer = server.call("PUT", "/connectors/linux", Some(&body)).await;
            assert_eq!(answer.refused(422, "missing_field"), [format!("/{key}")]);
        }
        let long = "c".repeat(65);
        assert_eq!(put(&server, &long, &json!({})).await.refused(422, "invalid_name"), ["/cluster"]);
        put(&server, "linux", &json!({"resource_group": "nowhere"})).await.refused(404, "unknown_resource_group");
        assert_eq!(server.get("/connectors").await["total"], 0);
    }

    async fn the_report_sums_rounds_by_day_and_owner(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.call("GET", &group("/shadow-report"), None).await.refused(404, "no_shadow_report");
        put(&server, "linux", &json!({})).await.json(201);
        server.call("GET", &group("/shadow-report"), None).await.refused(404, "no_shadow_report");
        let empty = server.graphql("{ shadow_report(resource_group: \"gpu-cluster\") { cluster } }").await;
        assert_eq!(empty["data"]["shadow_report"], Value::Null);

        let written = play_round(&server, "linux", &REVERSED).await;
        assert_eq!(written.get("warnings"), None, "{written}");
        play_round(&server, "linux", &["n", "c", "b", "a"]).await;
        let (vision, audio) = (id("vision").to_string(), id("audio").to_string());
        let place = |name: &str, user: &str, project: &str, place: u32, current: u32| json!({
            "workload_id": name, "user_name": user, "project_name": project, "place": place, "current_place": current,
        });
        let gained = |user: &str, project: &str, date: &str, places: i64| json!({
            "user_name": user, "project_name": project, "date": date, "places_gained": places,
        });
        let first = report(&server).await;
        let owners = |date: &str| [
            gained("zed", "space", date, 3), gained("carol", &audio, date, 1), gained("bob", &vision, date, -1),
            gained("alice", &vision, date, -3),
        ];
        assert_eq!(first, json!({
            "cluster": "linux", "mode": "shadow",
            "latest": {
                "taken_at": "2026-01-13T12:00:00Z", "compared": 4, "same_place": 4, "kendall_tau": 1.0,
                "ours": [
                    place("n", "zed", "space", 1, 1), place("c", "carol", &audio, 2, 2), place("b", "bob", &vision, 3, 3),
                    place("a", "alice", &vision, 4, 4),
                ],
            },
            "days": [{"date": "2026-01-13", "rounds": 2, "compared": 8, "same_place": 4, "kendall_tau": 0.0}],
            "owners": owners("2026-01-13"),
            "owners_left_out": 0,
        }));

        server.clock.advance_seconds(24 * 3600);
        for _ in 0..2 {
            play_round(&server, "linux", &REVERSED).await;
        }
        let both = report(&server).await;
        assert_eq!(both["days"][1], json!({"date": "2026-01-14", "rounds": 2, "compared": 8, "same_place": 0, "kendall_tau": -1.0}));
        let doubled = [
            gained("zed", "space", "2026-01-14", 6), gained("carol", &audio, "2026-01-14", 2),
            gained("bob", &vision, "2026-01-14", -2), gained("alice", &vision, "2026-01-14", -6),
        ];
        assert_eq!(both["owners"], json!([owners("2026-01-13"), doubled].concat()));
        assert_eq!(both["latest"]["ours"][0], place("n", "zed", "space", 1, 4));
        let range = server.get(&group("/shadow-report?from=2026-01-13&to=2026-01-13")).await;
        assert_eq!((&range["days"], &range["owners"]), (&first["days"], &first["owners"]));
        assert_eq!(range["latest"], both["latest"]);
        for (query, code, pointer) in [
            ("from=2026-02-01", "in_future", "/from"), ("from=2026-01-14&to=2026-01-13", "contradiction", "/to"),
            ("from=2024-01-01&to=2026-01-13", "out_of_range", "/from"), ("from=soon", "invalid_value", "/from"),
            ("days=3", "unknown_field", "/days"),
        ] {
            let answer = server.call("GET", &group(&format!("/shadow-report?{query}")), None).await;
            assert_eq!(answer.refused(422, code), [pointer], "{query}");
        }
        let query = "{ shadow_report(resource_group: \"gpu-cluster\", from: \"2026-01-13\", to: \"2026-01-14\") { cluster mode \
             latest { taken_at compared same_place kendall_tau ours { workload_id user_name project_name place current_place } } \
             days { date rounds compared same_place kendall_tau } owners_left_out owners { user_name project_name date places_gained } } }";
        assert_eq!(server.graphql(query).await["data"]["shadow_report"], both);

        // The report outlives the process, and goes with the group.
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        assert_eq!(report(&server).await, both);
        server.service.delete_group(admin(), GROUP.to_owned(), surely(GROUP)).await.unwrap();
        assert_eq!(server.get("/connectors").await["total"], 0);
        server.fixture.group(GROUP, &json!({})).await;
        server.call("GET", &group("/shadow-report"), None).await.refused(404, "no_shadow_report");
        for table in ["connectors", "shadow_comparisons", "shadow_days", "shadow_owner_days"] {
            assert_eq!(number(server.service.store(), &format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
        }
    }

    async fn a_round_counts_once_and_only_with_its_own_comparison(db: TestDb) {
        let server = Server::with_usage(db).await;
        let compared = json!({"compared": 4, "same_place": 0, "kendall_tau": -1.0});
        let warned = |answer: &Answer, status: u16| answer.json(status)["warnings"][0]["code"].clone();
        assert_eq!(warned(&put(&server, "linux", &compared).await, 201), "no_comparison");
        play_round(&server, "linux", &REVERSED).await;
        // The same report again, as after an answer that got lost.
        assert_eq!(warned(&put(&server, "linux", &compared).await, 200), "no_comparison");
        assert_eq!(report(&server).await["days"][0]["rounds"], 1);
        // A sequence of another key, and one with other counts, belong to other rounds.
        let other = server.key_for(Role::Scheduler, None).await;
        let body = json!({"workloads": workloads(), "current_order": REVERSED});
        server.call_as(&other, "POST", &group("/sequence"), Some(&body)).await.json(200);
        assert_eq!(warned(&put(&server, "linux", &compared).await, 200), "no_comparison");
        sequence(&server, &json!({"workloads": workloads(), "current_order": ["a", "n"]})).await.json(200);
        assert_eq!(warned(&put(&server, "linux", &compared).await, 200), "no_comparison");
        assert_eq!(report(&server).await["days"][0]["rounds"], 1);
        // A round that compared nothing adds nothing and warns of nothing.
        assert_eq!(put(&server, "linux", &json!({})).await.json(200).get("warnings"), None);
        let answer = server.call_as(&other, "PUT", "/connectors/other", Some(&round(&compared))).await.json(201);
        assert_eq!(answer.get("warnings"), None);
        let after = report(&server).await;
        assert_eq!((&after["days"][0]["rounds"], &after["cluster"]), (&json!(2), &json!("other")));
        // Rounds at the same time are all counted.
        let sequences = (0..4).map(|n| play(&server, ["c0", "c1", "c2", "c3"][n]));
        futures::future::join_all(sequences).await;
        assert_eq!(report(&server).await["days"][0]["rounds"], 6);
    }

    async fn a_comparison_from_before_the_last_round_belongs_to_no_later_one(db: TestDb) {
        let server = Server::with_usage(db).await;
        put(&server, "linux", &json!({})).await.json(201);
        sequence(&server, &json!({"workloads": workloads(), "current_order": REVERSED})).await.json(200);
        // The next round was reported without a comparison, such as through another server.
        server.clock.advance_seconds(15);
        put(&server, "linux", &json!({})).await.json(200);
        server.clock.advance_seconds(15);
        let compared = json!({"compared": 4, "same_place": 0, "kendall_tau": -1.0});
        let late = put(&server, "linux", &compared).await.json(200);
        assert_eq!(late["warnings"][0]["code"], "no_comparison");
        assert_eq!(play_round(&server, "linux", &REVERSED).await.get("warnings"), None);
        assert_eq!(report(&server).await["days"][0]["rounds"], 1);
    }

    async fn two_clusters_of_one_key_do_not_share_a_comparison(db: TestDb) {
        let server = Server::with_usage(db).await;
        sequence(&server, &json!({"workloads": workloads(), "current_order": REVERSED})).await.json(200);
        let compared = json!({"compared": 4, "same_place": 0, "kendall_tau": -1.0});
        let clusters = ["c0", "c1", "c2", "c3"].map(|cluster| put(&server, cluster, &compared));
        let answers = futures::future::join_all(clusters).await;
        let warned = answers.iter().filter(|answer| answer.json(201).get("warnings").is_some());
        assert_eq!(warned.count(), 3);
        assert_eq!(report(&server).await["days"][0]["rounds"], 1);
    }

    async fn owners_with_the_fewest_places_are_left_out_of_a_long_report(db: TestDb) {
        let server = Server::with_usage(db).await;
        for _ in 0..2 {
            play_round(&server, "linux", &REVERSED).await;
            server.clock.advance_seconds(24 * 3600);
        }
        let group = server.service.group(&admin(), GROUP).unwrap().key;
        let span = DaySpan { first: Day(0), last: Day(100_000) };
        let all = load_owner_days(server.service.store().read(), group, span, 8).await.unwrap();
        assert_eq!((all.rows.len(), all.left_out), (8, 0));
        let most = load_owner_days(server.service.store().read(), group, span, 5).await.unwrap();
        assert!(most.rows.iter().all(|row| row.places_gained.abs() == 3), "{most:?}");
        assert_eq!((most.rows.len(), most.left_out), (4, 2));
    }

    async fn a_comparison_whose_round_is_not_reported_goes_with_the_process(db: TestDb) {
        let server = Server::with_usage(db).await;
        play_round(&server, "linux", &REVERSED).await;
        let before = report(&server).await;
        let body = json!({"workloads": workloads(), "current_order": REVERSED});
        sequence(&server, &body).await.json(200);
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        let compared = json!({"compared": 4, "same_place": 0, "kendall_tau": -1.0});
        let lost = put(&server, "linux", &compared).await.json(200);
        assert_eq!(lost["warnings"][0]["code"], "no_comparison");
        assert_eq!(report(&server).await, before);
        // The next round counts again.
        assert_eq!(play_round(&server, "linux", &REVERSED).await.get("warnings"), None);
        assert_eq!(report(&server).await["days"][0]["rounds"], 2);
    }

    async fn keys_of_other_groups_learn_and_change_nothing(db: TestDb) {
        let server = Server::with_usage(db).await;
        server.group("other", &json!({})).await;
        put(&server, "linux", &json!({})).await.json(201);
        let foreign = limited_key(&server, Role::Scheduler, "other").await;
        let call = async |method: &str, path: &str, body: Option<Value>| {
            server.call_as(&foreign, method, path, body.as_ref()).await
        };
        call("PUT", "/connectors/new", Some(round(&json!({})))).await.refused(403, "forbidden");
        assert_eq!(call("GET", "/connectors", None).await.json(200)["total"], 0);
        call("PUT", "/connectors/own", Some(round(&json!({"resource_group": "other"})))).await.json(201);
        assert_eq!(call("GET", "/connectors", None).await.json(200)["items"][0]["cluster"], "own");
        call("GET", &group("/shadow-report"), None).await.refused(403, "forbidden");
        assert_eq!(server.get("/connectors").await["total"], 2);
        // Another group may have a cluster of the same name.
        let same = round(&json!({"resource_group": "other", "jobs": 7}));
        call("PUT", "/connectors/linux", Some(same)).await.json(201);
        let named: Vec<Value> = server.get("/connectors").await["items"].as_array().unwrap().clone();
        let named: Vec<_> = named.iter().map(|one| (&one["cluster"], &one["resource_group"], &one["last"]["jobs"])).collect();
        assert_eq!(named, [
            (&json!("linux"), &json!(GROUP), &json!(0)), (&json!("linux"), &json!("other"), &json!(7)),
            (&json!("own"), &json!("other"), &json!(0)),
        ]);
        let first = server.get("/connectors?limit=1").await;
        let next = server.get(&format!("/connectors?limit=1&cursor={}", first["next_cursor"].as_str().unwrap())).await;
        assert_eq!(next["items"][0]["resource_group"], "other");
        put(&server, "linux", &json!({})).await.json(200);
        let user = server.key_for(Role::User, Some("alice")).await;
        server.call_as(&user, "GET", "/connectors", None).await.refused(403, "forbidden");
        server.call_as(&user, "GET", &group("/shadow-report"), None).await.refused(403, "forbidden");
    }

    async fn a_connector_that_is_gone_is_forgotten(db: TestDb) {
        let server = Server::with_usage(db).await;
        let remove = async |path: &str| server.call("DELETE", path, None).await;
        remove("/connectors/linux").await.refused(404, "unknown_connector");
        play_round(&server, "linux", &REVERSED).await;
        server.clock.advance_seconds(24 * 3600);
        play_round(&server, "linux", &REVERSED).await;
        put(&server, "second", &json!({})).await.json(201);
        let before = report(&server).await;
        remove(&format!("/connectors/third?resource_group={GROUP}")).await.refused(404, "unknown_connector");
        remove("/connectors/linux?resource_group=nowhere").await.refused(404, "unknown_resource_group");
        assert_eq!(remove("/connectors/linux?force=true").await.status, 422);

        // The report has the sums of all connectors of the group, and stays while there is one.
        assert_eq!(remove("/connectors/linux?reason=switched%20off").await.status, 204);
        assert_eq!(report(&server).await, before);
        let entry = server.get("/audit-log?limit=1").await["items"][0].clone();
        assert_eq!(
            [&entry["action"], &entry["target"], &entry["resource_group"], &entry["reason"], &entry["before"]["mode"], &entry["after"]],
            [json!("connector.delete"), json!("linux"), json!(GROUP), json!("switched off"), json!("shadow"), Value::Null].each_ref()
        );
        let last = server.graphql("mutation { delete_connector(cluster: \"second\", reason: \"gone\") }").await;
        assert_eq!(last["data"]["delete_connector"], true, "{last}");
        assert_eq!(server.get("/connectors").await["total"], 0);
        server.call("GET", &group("/shadow-report"), None).await.refused(404, "no_shadow_report");
        // Nothing of it comes back with a new one of the name.
        put(&server, "linux", &json!({})).await.json(201);
        server.call("GET", &group("/shadow-report"), None).await.refused(404, "no_shadow_report");
        play_round(&server, "linux", &REVERSED).await;
        assert_eq!(report(&server).await["days"].as_array().unwrap().len(), 1);

        // Two groups with a cluster of the same name.
        server.group("other", &json!({})).await;
        put(&server, "linux", &json!({"resource_group": "other"})).await.json(201);
        assert_eq!(remove("/connectors/linux").await.refused(422, "required"), ["/resource_group"]);
        assert_eq!(remove("/connectors/linux?resource_group=other").await.status, 204);
        let left = server.get("/connectors").await;
        assert_eq!((&left["total"], &left["items"][0]["resource_group"]), (&json!(1), &json!(GROUP)));
        assert_eq!(report(&server).await["days"].as_array().unwrap().len(), 1);
    }

    async fn a_report_takes_as_many_statements_however_long_it_is(db: TestDb) {
        let server = Server::with_usage(db).await;
        let mut counts = Vec::new();
        for _ in 0..3 {
            for _ in 0..3 {
                play_round(&server, "linux", &REVERSED).await;
                server.clock.advance_seconds(24 * 3600);
            }
            let statements = server.service.store().statements();
            report(&server).await;
            counts.push(server.service.store().statements() - statements);
        }
        assert_eq!(report(&server).await["days"].as_array().unwrap().len(), 9);
        assert!(counts.iter().all(|count| *count == counts[0] && *count <= 6), "{counts:?}");
        // Days past their retention go.
        assert_eq!(server.service.purge_connectors(GROUP, 5).await.unwrap(), (0, 4));
        assert_eq!(report(&server).await["days"].as_array().unwrap().len(), 5);
        server.clock.advance_seconds(10 * 24 * 3600);
        assert_eq!(server.service.purge_connectors(GROUP, 5).await.unwrap(), (1, 5));
        assert_eq!((&server.get("/connectors").await["total"], &report(&server).await["owners"]), (&json!(0), &json!([])));
    }
}

async fn play(server: &Server, cluster: &str) {
    let key = server.key_for(Role::Scheduler, None).await;
    let body = json!({"workloads": workloads(), "current_order": REVERSED});
    server.call_as(&key, "POST", &group("/sequence"), Some(&body)).await.json(200);
    let compared = round(&json!({"compared": 4, "same_place": 0, "kendall_tau": -1.0}));
    server.call_as(&key, "PUT", &format!("/connectors/{cluster}"), Some(&compared)).await.json(201);
}
