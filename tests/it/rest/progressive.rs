//! Progressive sequences (FAIR_SHARE §10) over HTTP.

use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::database::TestDb;
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const NOW: &str = "2026-01-13T12:00:00Z";

/// A group of 10 cpu without any usage, with a window of 10 days: an hour of one cpu is 1 / 2,400 of it.
async fn empty(db: TestDb) -> Server {
    let server = Server::new(db).await;
    server.agent("node-1", &json!({"cpu": "10"})).await;
    server.options(&json!({"lookback_days": 10, "half_life_days": 10})).await;
    server.tick().await;
    server
}

fn workload(name: &str, user: &str) -> Value {
    json!({"workload_id": name, "user_uuid": id(user), "project_id": id("ml"), "submitted_at": "2026-01-13T11:00:00Z",
        "requested_slots": {"cpu": "1"}, "expected_seconds": 3_600})
}

async fn sequence(server: &Server, body: &Value) -> Value {
    server.call("POST", &group("/sequence"), Some(body)).await.json(200)
}

fn ids(answer: &Value) -> Vec<&str> {
    answer["items"].as_array().unwrap().iter().map(|item| item["workload_id"].as_str().unwrap()).collect()
}

/// Users of the items with their charges and the factors after them.
fn charges(answer: &Value) -> Vec<(f64, f64)> {
    let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
    let items = answer["items"].as_array().unwrap().iter();
    items.map(|item| (number(&item["charge"]), number(&item["factor_after"]))).collect()
}

/// The effective usage behind `factor_after`, without the charge.
fn used(answer: &Value, at: usize) -> f64 {
    let (charge, after) = charges(answer)[at];
    -after.log2() - charge
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} and {b}");
}

const HOUR: f64 = 1.0 / 2_400.0;

on_both! {
    async fn what_is_placed_counts_before_the_next_is_chosen(db: TestDb) {
        let server = empty(db).await;
        let workloads = [workload("a1", "ann"), workload("a2", "ann"), workload("a3", "ann"), workload("b1", "bob"), workload("b2", "bob")];
        let mut body = json!({"workloads": workloads});
        let plain = sequence(&server, &body).await;
        assert_eq!((&plain["mode"], ids(&plain)), (&json!("plain"), vec!["a1", "a2", "a3", "b1", "b2"]));
        assert!(plain["items"][0].get("charge").is_none());
        body["mode"] = json!("progressive");
        let progressive = sequence(&server, &body).await;
        assert_eq!((&progressive["mode"], ids(&progressive)), (&json!("progressive"), vec!["a1", "b1", "a2", "b2", "a3"]));
        for (at, hours) in [1.0, 1.0, 2.0, 2.0, 3.0].into_iter().enumerate() {
            let (charge, after) = charges(&progressive)[at];
            near(charge, HOUR);
            near(after, (-hours * HOUR).exp2());
        }
        // The group can have it as its own mode, and a limit cuts.
        server.options(&json!({"sequence_mode": "progressive"})).await;
        let first = sequence(&server, &json!({"workloads": workloads, "limit": 2})).await;
        assert_eq!((&first["mode"], ids(&first)), (&json!("progressive"), vec!["a1", "b1"]));
        let asked = sequence(&server, &json!({"workloads": workloads, "mode": "plain"})).await;
        assert_eq!(asked["mode"], "plain");
        // The highest priority of an owner comes first; it does not put the owner before others.
        let mut urgent = body.clone();
        urgent["workloads"][2]["priority"] = json!(5);
        assert_eq!(ids(&sequence(&server, &urgent).await), ["a3", "b1", "a1", "b2", "a2"]);
    }

    async fn amounts_may_be_quantities(db: TestDb) {
        let server = empty(db).await;
        let asking = |slots: Value| {
            let asking = with(workload("a", "ann"), &json!({"requested_slots": slots}));
            let placed = json!({"kernel_id": id("k"), "user_uuid": id("ann"), "project_id": id("ml"), "requested_slots": slots});
            json!({"mode": "progressive", "workloads": [asking], "placed": [placed]})
        };
        let plain = sequence(&server, &asking(json!({"cpu": "0.5", "mem": 1_048_576}))).await;
        assert_eq!(sequence(&server, &asking(json!({"cpu": "500m", "mem": "1Mi"}))).await["items"], plain["items"]);
        let wrong = server.call("POST", &group("/sequence"), Some(&asking(json!({"cpu": "1Zi"})))).await.json(422);
        assert_eq!(wrong["errors"][0]["pointer"], "/placed/0/requested_slots/cpu", "{wrong}");
        let plan = json!({"workload_id": "w", "queue": "default", "members": [{"slots": {"cpu": "500m"}}]});
        server.call("POST", &group("/reclaim-plans"), Some(&plan)).await.json(200);
    }

    async fn running_kernels_count_between_runs_and_after_a_restart(db: TestDb) {
        let server = empty(db).await;
        let body = json!({"mode": "progressive", "workloads": [workload("a", "ann"), workload("b", "bob")]});
        assert_eq!(ids(&sequence(&server, &body).await), ["a", "b"]);
        // ann has started two kernels since the last run.
        let started = |name: &str, told: Value| with(kernel(name, "ann", "ml", NOW), &json!({"expected_seconds": told}));
        server.ingest(&[started("k1", json!(7_200)), started("k2", Value::Null)]).await;
        let answer = sequence(&server, &body).await;
        assert_eq!(ids(&answer), ["b", "a"]);
        // Two hours as reported, and the slice interval of 300 s for the workload without an expectation.
        near(used(&answer, 1), HOUR * (2.0 + 1.0 / 12.0));
        // An hour later the one is still committed to the second hour; the other has outlived what was expected.
        server.clock.advance_seconds(3_600);
        let later = sequence(&server, &body).await;
        near(used(&later, 1), HOUR * 3.0);
        // The usage that a run records is the same.
        server.service.heartbeat().await.unwrap();
        server.tick().await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 3.0);
        server.clock.advance_seconds(600);
        let before = sequence(&server, &body).await;
        near(used(&before, 1), HOUR * (3.0 + 1.0 / 6.0));
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        assert_eq!(sequence(&server, &body).await["items"], before["items"]);
        // Nor does it change anything that a report comes again, or that an answer was lost and is asked for again.
        server.ingest(&[started("k1", Value::Null), started("k2", Value::Null)]).await;
        assert_eq!(sequence(&server, &body).await["items"], before["items"]);
        assert_eq!(sequence(&server, &body).await["items"], before["items"]);
        // It ends before its time: what it did not use is not there any more.
        let end = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T13:00:00Z"});
        server.ingest(&[with(started("k1", Value::Null), &end), with(started("k2", Value::Null), &end)]).await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
        server.tick().await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
    }

    async fn what_ended_tells_how_long_the_next_will_run(db: TestDb) {
        let server = empty(db).await;
        let job = |name: &str, user: &str, end: &str, told: Value| with(kernel(name, user, "ml", "2026-01-13T10:00:00Z"), &json!({
            "status": "TERMINATED", "terminated_at": format!("2026-01-13T{end}Z"), "expected_seconds": told,
        }));
        let untold = |name: &str, user: &str| with(workload(name, user), &json!({"expected_seconds": null}));
        let body = json!({"mode": "progressive", "workloads": [untold("a", "ann"), untold("b", "bob"), untold("e", "eve"), workload("t", "bob")]});
        let hours = async |server: &Server| {
            let answer = sequence(server, &body).await;
            let charge = |name| charges(&answer)[ids(&answer).iter().position(|id| *id == name).unwrap()].0 / HOUR;
            ["a", "b", "e", "t"].map(charge)
        };
        let are = |found: [f64; 4], expected: [f64; 4]| {
            assert!(found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{found:?}");
        };
        // No kernel has ended: the slice interval, and the reported expectation.
        are(hours(&server).await, [1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0, 1.0]);
        // ann's ran 1 h and 2 h: (1 + 4) / (1 + 2). bob's ran four times as long as he had said.
        server.ingest(&[
            job("k1", "ann", "11:00:00", Value::Null), job("k2", "ann", "12:00:00", Value::Null),
            job("k3", "bob", "11:00:00", json!(900)),
        ]).await;
        server.tick().await;
        let learned = [5.0 / 3.0, 1.0, 6.0 / 4.0, 4.0];
        are(hours(&server).await, learned);
        server.assert_conserved().await;
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        are(hours(&server).await, learned);
        // An end is corrected: 1 h becomes half an hour, first unknown and then known.
        server.ingest(&[job("k1", "ann", "10:30:00", Value::Null)]).await;
        server.tick().await;
        are(hours(&server).await, [(0.25 + 4.0) / 2.5, 1.0, (0.25 + 4.0 + 1.0) / 3.5, 4.0]);
        server.assert_conserved().await;
        server.service.rebuild(crate::support::fixture::GROUP).await.unwrap();
        are(hours(&server).await, [(0.25 + 4.0) / 2.5, 1.0, (0.25 + 4.0 + 1.0) / 3.5, 4.0]);
        // When the window has passed, nothing is known of them any more.
        server.clock.set("2026-01-24T12:00:00Z");
        server.tick().await;
        are(hours(&server).await, [1.0 / 12.0, 1.0 / 12.0, 1.0 / 12.0, 1.0]);
        server.service.purge(crate::support::fixture::GROUP, 1_000).await.unwrap();
        server.assert_conserved().await;
    }

    async fn what_has_started_and_is_not_reported_counts_once(db: TestDb) {
        let server = empty(db).await;
        let placed = json!([{"kernel_id": id("k1"), "user_uuid": id("ann"), "project_id": id("ml"),
            "requested_slots": {"cpu": "2"}, "expected_seconds": 3_600}]);
        let workloads = [workload("a", "ann"), workload("b", "bob")];
        let body = json!({"mode": "progressive", "workloads": workloads, "placed": placed});
        let answer = sequence(&server, &body).await;
        assert_eq!(ids(&answer), ["b", "a"]);
        near(used(&answer, 1), HOUR * 2.0);
        let reported = with(kernel("k1", "ann", "ml", NOW), &json!({"occupied_slots": {"cpu": "2"}}));
        // A pending kernel has not started.
        server.ingest(&[with(reported.clone(), &json!({"status": "PENDING", "started_at": null, "expected_seconds": 3_600}))]).await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
        // The report of the start need not repeat what the one before it said.
        server.ingest(&[reported]).await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
        assert_eq!(server.get(&group(&format!("/kernels/{}", id("k1")))).await["expected_seconds"], 3_600);
        // Nor does it count again once it has ended and a run has recorded it.
        server.clock.advance_seconds(3_600);
        let end = json!({"occupied_slots": {"cpu": "2"}, "status": "TERMINATED", "terminated_at": "2026-01-13T13:00:00Z"});
        server.ingest(&[with(kernel("k1", "ann", "ml", NOW), &end)]).await;
        server.tick().await;
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
        let key = server.key.clone();
        let server = Server::over(server.fixture.restart().await, key);
        near(used(&sequence(&server, &body).await, 1), HOUR * 2.0);
        let mut twice = body.clone();
        twice["placed"] = json!([placed[0], placed[0]]);
        let refused = server.call("POST", &group("/sequence"), Some(&twice)).await;
        assert_eq!(refused.refused(422, "duplicate"), ["/placed/1/kernel_id"]);
    }

    async fn a_suspended_kernel_is_committed_to_nothing(db: TestDb) {
        let server = empty(db).await;
        let running = with(kernel("k1", "ann", "ml", NOW), &json!({"expected_seconds": 36_000}));
        server.ingest(std::slice::from_ref(&running)).await;
        server.clock.advance_seconds(3_600);
        let at = "2026-01-13T12:30:00Z";
        server.ingest(&[with(running, &json!({"status": "SUSPENDED", "status_at": at}))]).await;
        let body = json!({"mode": "progressive", "workloads": [workload("a", "ann")]});
        near(used(&sequence(&server, &body).await, 0), HOUR / 2.0);
        // Once it is resumed, all its remaining time is outstanding: 10 h less the half that it ran.
        server.clock.set("2026-01-13T20:00:00Z");
        let back = with(kernel("k1", "ann", "ml", NOW), &json!({"status": "RUNNING", "status_at": "2026-01-13T20:00:00Z"}));
        assert!(server.ingest(&[back]).await.is_empty());
        near(used(&sequence(&server, &body).await, 0), HOUR * 10.0);
    }

    async fn a_long_job_is_committed_to_a_day_at_most_and_as_long_as_it_lasts(db: TestDb) {
        let server = empty(db).await;
        server.ingest(&[with(kernel("k1", "ann", "ml", NOW), &json!({"expected_seconds": 604_800}))]).await;
        let body = json!({"mode": "progressive", "workloads": [workload("a", "ann")]});
        near(used(&sequence(&server, &body).await, 0), HOUR * 24.0);
        server.clock.advance_seconds(25 * 3_600);
        near(used(&sequence(&server, &body).await, 0), HOUR * 49.0);
    }

    async fn a_new_project_is_in_its_domain(db: TestDb) {
        let server = empty(db).await;
        server.options(&json!({"order": "tiered", "sequence_mode": "progressive"})).await;
        server.ingest(&[with(kernel("k1", "ann", "ml", NOW), &json!({"domain_name": "north", "expected_seconds": 60}))]).await;
        let project = json!({"name": "fresh", "domain_name": "north"});
        server.call("PUT", &format!("/projects/{}", id("fresh")), Some(&project)).await;
        let of = |name: &str, user: &str, project: &str| with(workload(name, user), &json!({"project_id": id(project)}));
        // The north has used something, and what is in no domain has not.
        let body = json!({"workloads": [of("n", "bob", "fresh"), of("u", "eve", "unheard-of")]});
        assert_eq!(ids(&sequence(&server, &body).await), ["u", "n"]);
        server.clock.advance_seconds(300);
        server.service.heartbeat().await.unwrap();
        server.tick().await;
        let plain = json!({"mode": "plain", "workloads": body["workloads"]});
        assert_eq!(ids(&sequence(&server, &plain).await), ["u", "n"]);
        // Placed workloads count for projects without a domain as well.
        let placed = json!([{"kernel_id": id("k2"), "user_uuid": id("eve"), "project_id": id("unheard-of"),
            "requested_slots": {"cpu": "5"}, "expected_seconds": 3_600}]);
        let body = json!({"workloads": body["workloads"], "placed": placed});
        assert_eq!(ids(&sequence(&server, &body).await), ["n", "u"]);
    }

    async fn who_is_new_in_a_new_project_has_the_weight_of_its_domain(db: TestDb) {
        let server = empty(db).await;
        server.ingest(&[with(kernel("k1", "ann", "ml", NOW), &json!({"domain_name": "north", "expected_seconds": 60}))]).await;
        let weights = json!({"items": [{"target_type": "domain", "target_id": "north", "weight": "4"}]});
        server.call("PUT", &group("/fair-share-weights"), Some(&weights)).await.json(200);
        let project = json!({"name": "fresh", "domain_name": "north"});
        server.call("PUT", &format!("/projects/{}", id("fresh")), Some(&project)).await;
        let of = |name: &str, user: &str, project: &str| with(workload(name, user), &json!({"project_id": id(project)}));
        let workloads = [of("n", "bob", "fresh"), of("u", "eve", "unheard-of")];
        let answer = sequence(&server, &json!({"mode": "progressive", "workloads": workloads})).await;
        for ((charge, after), weight) in charges(&answer).into_iter().zip([4.0, 1.0]) {
            near(-after.log2() * weight, charge);
        }
    }

    async fn in_tiers_the_domain_comes_first(db: TestDb) {
        let server = empty(db).await;
        server.options(&json!({"order": "tiered", "sequence_mode": "progressive"})).await;
        let of = |name: &str, user: &str, project: &str, domain: &str| {
            with(kernel(name, user, project, NOW), &json!({"domain_name": domain, "expected_seconds": 60}))
        };
        // Two users of one domain and one of another, who all have used as much.
        server.ingest(&[of("k1", "ann", "ml", "north"), of("k2", "bob", "ml", "north"), of("k3", "eve", "bio", "south")]).await;
        let in_bio = |name: &str| with(workload(name, "eve"), &json!({"project_id": id("bio")}));
        let body = json!({"workloads": [workload("a", "ann"), workload("b", "bob"), in_bio("e1"), in_bio("e2")]});
        // The south has used half of what the north has; then both have their turns.
        assert_eq!(ids(&sequence(&server, &body).await), ["e1", "a", "e2", "b"]);
    }

    async fn drf_counts_what_is_placed_as_occupied(db: TestDb) {
        let server = empty(db).await;
        let patch = json!({"scheduler": "drf", "scheduler_opts": {"sequence_mode": "progressive"}});
        server.call("PATCH", &group("/scheduler-options"), Some(&patch)).await.json(200);
        server.ingest(&[kernel("k1", "bob", "ml", NOW)]).await;
        let mut body = json!({"workloads": [workload("a1", "ann"), workload("a2", "ann"), workload("a3", "ann"), workload("b1", "bob")]});
        let answer = sequence(&server, &body).await;
        assert_eq!((&answer["mode"], ids(&answer)), (&json!("progressive"), vec!["a1", "a2", "b1", "a3"]));
        assert!(answer["items"][0].get("charge").is_none());
        body["placed"] = json!([{"kernel_id": id("k2"), "user_uuid": id("ann"), "project_id": id("ml"),
            "requested_slots": {"cpu": "1"}}]);
        assert_eq!(ids(&sequence(&server, &body).await), ["a1", "b1", "a2", "a3"]);
    }

    async fn what_cannot_be_is_named(db: TestDb) {
        let server = empty(db).await;
        let post = async |body: Value| server.call("POST", &group("/sequence"), Some(&body)).await;
        let with_expected = |seconds: Value| with(workload("a", "ann"), &json!({"expected_seconds": seconds}));
        let entry = json!({"kernel_id": id("k"), "user_uuid": id("ann"), "project_id": id("ml")});
        let cases = [
            (json!({"workloads": [workload("a", "ann"), with_expected(json!(0))]}), "out_of_range", "/workloads/1/expected_seconds"),
            (json!({"workloads": [with_expected(json!(31_536_001))]}), "out_of_range", "/workloads/0/expected_seconds"),
            (json!({"workloads": [with_expected(json!(-1))]}), "invalid_value", "/workloads/0/expected_seconds"),
            (json!({"workloads": [with_expected(json!(-1))]}), "invalid_value", "/workloads/0/expected_seconds"),
            (json!({"workloads": [], "mode": "fast"}), "invalid_value", "/mode"),
            (json!({"workloads": [], "mode": "progressive", "placed": [with(entry.clone(), &json!({"expected_seconds": 0}))]}),
                "out_of_range", "/placed/0/expected_seconds"),
            (json!({"workloads": [], "mode": "progressive", "placed": [entry, {"kernel_id": id("k")}]}),
                "missing_field", "/placed/1/user_uuid"),
            (json!({"workloads": [], "placed": [{"user_uuid": id("ann")}]}), "missing_field", "/placed/0/kernel_id"),
            (json!({"workloads": [], "placed": vec![entry; 100_001]}), "too_many", "/placed"),
        ];
        for (body, code, pointer) in cases {
            let answer = post(body).await;
            assert_eq!(answer.status, 422);
            let problem = answer.json(422);
            let fault = &problem["errors"][0];
            assert_eq!((&fault["pointer"], &fault["code"]), (&json!(pointer), &json!(code)), "{problem}");
        }
        for (seconds, said) in [
            (json!(0), "`expected_seconds` must be at least 1"),
            (json!(-1), "`expected_seconds` is not a whole number of seconds, 1 or more"),
            (json!("1"), "`expected_seconds` is not a whole number of seconds, 1 or more"),
        ] {
            let bad = with(kernel("k9", "ann", "ml", NOW), &json!({"expected_seconds": seconds}));
            let answer = server.call("POST", &group("/kernels"), Some(&json!([bad]))).await.json(200);
            let fault = &answer["errors"][0]["errors"][0];
            assert_eq!((&answer["rejected"], &fault["pointer"]), (&json!(1), &json!("/expected_seconds")), "{answer}");
            assert_eq!(fault["detail"], said);
        }
        // A scheduler that has no such order refuses the request, and says so of the option.
        let patch = json!({"scheduler": "fifo", "scheduler_opts": {"sequence_mode": "progressive"}});
        let patched = server.call("PATCH", &group("/scheduler-options"), Some(&patch)).await.json(200);
        assert_eq!(patched["warnings"][0]["code"], "mode_without_effect", "{patched}");
        let refused = post(json!({"workloads": [], "mode": "progressive"})).await;
        assert_eq!(refused.refused(422, "unsupported_mode"), ["/mode"]);
        assert_eq!(sequence(&server, &json!({"workloads": []})).await["mode"], "plain");
        for (patch, pointer) in [
            (json!({"sequence_mode": "quick"}), "/scheduler_opts/sequence_mode"),
            (json!({"expected_seconds": 86_401}), "/scheduler_opts/expected_seconds"),
        ] {
            let answer = server.call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler_opts": patch}))).await;
            assert_eq!(answer.json(422)["errors"][0]["pointer"], pointer);
        }
    }
}
