//! The charge class of kernels and of what they used.

use std::collections::BTreeMap;

use fairshared::domain::decimal::Usage;
use fairshared::domain::time::{MICROS_PER_SECOND, TimeSpan, Timestamp};
use serde_json::{Value, json};

use super::support::{NOW, Server, group, newest, undo};
use crate::accounting::plant;
use crate::support::database::TestDb;
use crate::support::dice::Dice;
use crate::support::fixture::{GROUP, admin, id, kernel, with};
use crate::support::{on_both, time};

/// A running kernel of a class.
fn running(class: &Value) -> Value {
    with(kernel("k", "ann", "ml", NOW), &json!({"charge_class": class}))
}

async fn post(server: &Server, kernel: &Value) -> Value {
    server.call("POST", &group("/kernels"), Some(&json!([kernel]))).await.json(200)
}

async fn run_at(server: &Server, at: &str) {
    server.clock.set(at);
    server.tick().await;
}

/// A report of some days.
async fn report(server: &Server, query: &str) -> Value {
    server.get(&group(&format!("/usage-report?from=2026-01-10&to=2026-01-13&{query}"))).await
}

/// `class: hours of cpu` of each row, by class.
async fn hours(server: &Server, query: &str) -> Vec<String> {
    let report = report(server, &format!("by=charge_class&{query}")).await;
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let row = |row: &Value| format!("{}: {}", text(&row["charge_class"]), text(&row["slot_hours"]["cpu"]));
    let mut rows: Vec<String> = report["items"].as_array().unwrap().iter().map(row).collect();
    rows.sort();
    rows
}

/// A kernel that was without a class for an hour, `high` for two and `low` for four, with a run at each change.
async fn three_classes(db: TestDb) -> Server {
    let server = Server::new(db).await;
    server.agent("node-1", &json!({"cpu": "10"})).await;
    for (class, until) in [("", "13"), ("high", "15"), ("low", "19")] {
        post(&server, &running(&json!(class))).await;
        run_at(&server, &format!("2026-01-13T{until}:00:00Z")).await;
    }
    server
}

const THREE: [&str; 3] = [": 1", "high: 2", "low: 4"];

on_both! {
    async fn a_kernel_shows_its_class(db: TestDb) {
        let server = Server::new(db).await;
        let path = group(&format!("/kernels/{}", id("k")));
        let shown = async || server.get(&path).await["charge_class"].clone();
        post(&server, &kernel("k", "ann", "ml", NOW)).await;
        assert_eq!(shown().await, "");
        assert_eq!(post(&server, &running(&json!("high prio"))).await["changed"], 1);
        assert_eq!(shown().await, "high prio");
        // A report without a class changes nothing, and an empty class takes it back.
        for (class, changed, shows) in [(Value::Null, 0, "high prio"), (json!("low"), 1, "low"), (json!(""), 1, ""), (json!(""), 0, "")] {
            assert_eq!(post(&server, &running(&class)).await["changed"], changed, "{class}");
            assert_eq!(shown().await, shows, "{class}");
        }
        post(&server, &running(&json!("low"))).await;
        let node = server.graphql(&format!(r#"{{ kernels(resource_group: "{}") {{ edges {{ node {{ charge_class }} }} }} }}"#, crate::support::fixture::GROUP)).await;
        assert_eq!(node["data"]["kernels"]["edges"][0]["node"]["charge_class"], "low", "{node}");
        // A restart reads it again.
        let fixture = server.fixture.restart().await;
        let server = Server::over(fixture, server.key);
        assert_eq!(server.get(&path).await["charge_class"], "low");
    }

    async fn a_class_is_a_name_or_nothing(db: TestDb) {
        let server = Server::new(db).await;
        let long = "x".repeat(65);
        for class in [" high", "high ", "a/b", "a\tb", "\u{200B}", ".", "..", long.as_str()] {
            let refused = post(&server, &running(&json!(class))).await;
            let fault = &refused["errors"][0]["errors"][0];
            assert_eq!((&fault["pointer"], &fault["code"]), (&json!("/charge_class"), &json!("invalid_name")), "{class:?}: {refused}");
        }
        for class in [json!(7), json!(["high"]), json!({})] {
            let refused = post(&server, &running(&class)).await;
            assert_eq!(refused["errors"][0]["errors"][0]["pointer"], "/charge_class", "{refused}");
        }
        for class in ["x".repeat(64), "дорого".to_owned()] {
            assert_eq!(post(&server, &running(&json!(class))).await["changed"], 1, "{class}");
        }
    }

    async fn usage_keeps_the_class_that_it_was_recorded_with(db: TestDb) {
        let server = three_classes(db).await;
        assert_eq!(hours(&server, "").await, THREE);
        server.assert_conserved().await;
        let kernel = server.get(&group(&format!("/kernels/{}", id("k")))).await;
        let slices: Vec<&Value> = kernel["slices"].as_array().unwrap().iter().map(|slice| &slice["charge_class"]).collect();
        assert_eq!(slices, ["", "high", "low"]);
        let records = server.get(&group("/usage-records?from=2026-01-13&to=2026-01-13")).await;
        assert_eq!(records["items"][1]["charge_class"], "high");
        // Buckets and factors sum over classes.
        let buckets = server.get(&group("/usage-buckets/users")).await;
        assert_eq!((&buckets["total"], &buckets["items"][0]["resource_usage"]), (&json!(1), &json!({"cpu": "25200"})));
        // Without the column, rows sum over classes, too.
        let users = report(&server, "by=user").await;
        assert_eq!((&users["items"][0]["slot_hours"], users["items"][0].get("charge_class")), (&json!({"cpu": "7"}), None));
        let of_class = report(&server, "by=user,charge_class").await;
        assert_eq!(of_class["total"], 3);
        let shares: Vec<&Value> = of_class["items"].as_array().unwrap().iter().map(|row| &row["used_share"]).collect();
        assert_eq!(shares, ["0.571428571429", "0.285714285714", "0.142857142857"]);
        // A filter leaves other usage out, and with it the shares.
        for (class, expected) in [("high", "high: 2"), ("", ": 1")] {
            assert_eq!(hours(&server, &format!("charge_class={class}")).await, [expected]);
        }
        assert_eq!(hours(&server, "charge_class=none").await, [""; 0]);
        let low = report(&server, "by=domain&charge_class=low").await;
        assert_eq!((&low["items"][0]["slot_hours"], &low["items"][0]["used_share"]), (&json!({"cpu": "4"}), &Value::Null));
    }

    async fn pages_and_graphql_have_classes(db: TestDb) {
        let server = three_classes(db).await;
        let first = report(&server, "by=charge_class&limit=2").await;
        let cursor = first["next_cursor"].as_str().unwrap();
        let rest = report(&server, &format!("by=charge_class&limit=2&cursor={cursor}")).await;
        assert_eq!(rest["items"][0]["charge_class"], "");
        // A cursor of a report of all classes is refused by one of no class.
        let other = group(&format!("/usage-report?from=2026-01-10&to=2026-01-13&by=charge_class&limit=2&charge_class=&cursor={cursor}"));
        server.call("GET", &other, None).await.refused(422, "invalid_cursor");
        let days = r#"from: "2026-01-13", to: "2026-01-13""#;
        let query = format!(
            r#"{{ all: usage_report({days}, by: [CHARGE_CLASS]) {{ edges {{ node {{ charge_class slot_hours }} }} }}
                  none: usage_report({days}, by: [DAY], charge_class: "") {{ edges {{ node {{ charge_class slot_hours }} }} }}
                  usage_records(resource_group: "{GROUP}", {days}) {{ edges {{ node {{ charge_class }} }} }} }}"#
        );
        let data = &server.graphql(&query).await["data"];
        let nodes = |field: &str| -> Vec<Value> { data[field]["edges"].as_array().unwrap().iter().map(|edge| edge["node"].clone()).collect() };
        assert_eq!(nodes("all")[0], json!({"charge_class": "low", "slot_hours": r#"{"cpu":"4"}"#}));
        assert_eq!(nodes("none"), [json!({"charge_class": null, "slot_hours": r#"{"cpu":"1"}"#})]);
        assert_eq!(nodes("usage_records")[2], json!({"charge_class": "low"}));
    }

    async fn questions_about_classes_that_make_no_sense_are_refused(db: TestDb) {
        let server = Server::new(db).await;
        for query in ["by=charge_class,charge_class", "by=class", "by=charge_class,"] {
            let path = group(&format!("/usage-report?from=2026-01-10&to=2026-01-13&{query}"));
            assert_eq!(server.call("GET", &path, None).await.refused(422, "invalid_value"), ["/by"], "{query}");
        }
        let nul = group("/usage-report?from=2026-01-10&to=2026-01-13&charge_class=%00");
        assert_eq!(server.call("GET", &nul, None).await.refused(422, "invalid_character"), ["/charge_class"]);
        let row = json!({"day": "2020-01-05", "user": "ann", "project": "ml", "resource_usage": {"cpu": "60"}, "charge_class": "a/b"});
        let refused = server.call("PUT", &group("/usage-histories/old"), Some(&json!({"rows": [row]}))).await;
        assert_eq!(refused.refused(422, "invalid_name"), ["/rows/0/charge_class"]);
    }

    async fn what_is_taken_back_is_of_the_class_that_it_was_recorded_with(db: TestDb) {
        let server = three_classes(db).await;
        // The kernel was suspended for half an hour of each class, and ended before the class was low.
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-13T15:00:00Z"});
        for (status, at) in [("SUSPENDED", "12:30"), ("RUNNING", "13:30")] {
            let at = format!("2026-01-13T{at}:00Z");
            post(&server, &with(running(&json!("low")), &json!({"status": status, "status_at": at}))).await;
        }
        server.tick().await;
        assert_eq!(hours(&server, "").await, [": 0.5", "high: 1.5", "low: 4"]);
        server.assert_conserved().await;
        post(&server, &with(running(&json!("low")), &ended)).await;
        server.tick().await;
        assert_eq!(hours(&server, "").await, [": 0.5", "high: 1.5"]);
        server.assert_conserved().await;
    }

    async fn classes_outlive_compaction_purges_rebuilds_and_other_buckets(db: TestDb) {
        let server = three_classes(db).await;
        post(&server, &with(running(&json!("low")), &json!({"status": "TERMINATED", "terminated_at": "2026-01-13T19:00:00Z"}))).await;
        run_at(&server, "2026-01-15T06:00:00Z").await;
        assert_eq!(server.service.compact(GROUP, 1).await.unwrap().records_saved, 0, "records of different classes stay apart");
        server.service.rebuild(GROUP).await.unwrap();
        server.assert_conserved().await;
        assert_eq!(hours(&server, "").await, THREE);
        let unit = async |days: u32| {
            let patch = json!({"scheduler_opts": {"decay_unit_days": days}});
            server.call("PATCH", &group("/scheduler-options"), Some(&patch)).await.json(200);
        };
        unit(7).await;
        assert_eq!(hours(&server, "").await, THREE);
        let last = newest(&server).await;
        undo(&server, last).await.json(200);
        assert_eq!(hours(&server, "").await, THREE);
        server.assert_conserved().await;
        // Records go, and the totals of their days stay.
        run_at(&server, "2026-03-15T06:00:00Z").await;
        server.service.purge(GROUP, 1_000).await.unwrap();
        assert_eq!(server.get(&group("/usage-records?from=2026-01-13&to=2026-01-13")).await["total"], 0);
        unit(3).await;
        server.service.rebuild(GROUP).await.unwrap();
        assert_eq!(hours(&server, "").await, THREE);
        server.assert_conserved().await;
    }

    async fn an_audit_finds_a_wrong_class_and_a_rebuild_mends_it(db: TestDb) {
        let server = three_classes(db).await;
        for damage in ["UPDATE day_totals SET charge_class = 'dear' WHERE charge_class = 'high'", "UPDATE day_totals SET resource_usage = '{}' WHERE charge_class = ''"] {
            plant(&server, damage).await;
            let found = server.service.audit_conservation(&admin(), GROUP).await.unwrap().difference.unwrap();
            assert!(found.row.starts_with("day total of user:"), "{found:?}");
            server.service.rebuild(GROUP).await.unwrap();
            assert_eq!(hours(&server, "").await, THREE);
            server.assert_conserved().await;
        }
    }

    async fn a_project_that_finds_its_domain_takes_the_classes_along(db: TestDb) {
        let server = Server::new(db).await;
        for (class, until) in [("high", "13"), ("low", "15")] {
            let mut kernel = with(kernel("k", "ann", "ml", "2026-01-13T12:00:00Z"), &json!({"charge_class": class}));
            kernel.as_object_mut().unwrap().remove("domain_name");
            post(&server, &kernel).await;
            run_at(&server, &format!("2026-01-13T{until}:00:00Z")).await;
        }
        let of = async |domain: &str| hours(&server, &format!("domain={domain}")).await;
        assert_eq!(of("unknown").await, ["high: 1", "low: 2"]);
        let placed = json!({"domain_name": "research"});
        server.call("PUT", &format!("/projects/{}", id("ml")), Some(&placed)).await.json(200);
        server.tick().await;
        assert_eq!((of("unknown").await, of("research").await), (Vec::new(), vec!["high: 1".to_owned(), "low: 2".to_owned()]));
        server.assert_conserved().await;
    }

    async fn histories_have_classes(db: TestDb) {
        let server = Server::new(db).await;
        let row = |class: Value, cpu: &str| json!({
            "day": "2020-01-05", "user": "ann", "project": "ml", "domain_name": "research", "charge_class": class,
            "resource_usage": {"cpu": cpu},
        });
        let mut none = row(Value::Null, "3600");
        none.as_object_mut().unwrap().remove("charge_class");
        let body = json!({"rows": [row(json!("high"), "7200"), none], "complete": true});
        server.call("PUT", &group("/usage-histories/old"), Some(&body)).await.json(200);
        // A kernel that ended before the server keeps usage counts in a history as well.
        let ended = json!({"status": "TERMINATED", "terminated_at": "2020-01-05T03:00:00Z", "charge_class": "low"});
        post(&server, &with(kernel("k", "ann", "ml", "2020-01-05T00:00:00Z"), &ended)).await;
        let old = server.get(&group("/usage-report?from=2020-01-01&to=2020-01-31&by=charge_class")).await;
        let rows: Vec<(&Value, &Value)> =
            old["items"].as_array().unwrap().iter().map(|row| (&row["charge_class"], &row["slot_hours"]["cpu"])).collect();
        assert_eq!(rows, [(&json!("low"), &json!("3")), (&json!("high"), &json!("2")), (&json!(""), &json!("1"))]);
    }

    async fn sums_over_classes_are_the_totals_whatever_happens(db: TestDb) {
        history(db, 7, 60).await;
    }

    #[ignore = "long"]
    async fn long_sums_over_classes_are_the_totals_whatever_happens(db: TestDb) {
        history(db, 8, 600).await;
    }
}

const CLASSES: [&str; 4] = ["", "high", "low", "a b, \"c\""];
const USERS: [&str; 3] = ["ann", "bob", "cem"];

/// A kernel of the random history, and what runs have recorded of it, by day and class, in microseconds.
#[derive(Default)]
struct Known {
    name: String,
    user: usize,
    start: i64,
    end: Option<i64>,
    class: &'static str,
    recorded_until: i64,
}

/// Usage in seconds by day, user and class.
type Model = BTreeMap<(String, usize, &'static str), i64>;

/// A random history of kernels that start, end, and change their class, with runs, compaction, rebuilds and restarts
/// between. A model counts beside it which usage each class has.
async fn history(db: TestDb, seed: u64, steps: u32) {
    let mut server = Server::new(db).await;
    server.agent("node-1", &json!({"cpu": "64"})).await;
    let (mut dice, mut kernels, mut model) = (Dice::seeded(seed), Vec::<Known>::new(), Model::new());
    let mut now = time(NOW).micros() / MICROS_PER_SECOND;
    for step in 0..steps {
        now += 600 + i64::try_from(dice.roll(20_000)).unwrap();
        server.clock.set(&Timestamp::from_seconds(now).to_string());
        for _ in 0..=dice.roll(3) {
            let running: Vec<usize> = (0..kernels.len()).filter(|at| kernels[*at].end.is_none()).collect();
            let at = if running.is_empty() || dice.one_in(3) {
                let started = now - i64::try_from(dice.roll(3_600)).unwrap();
                kernels.push(Known {
                    name: format!("k{}", kernels.len()),
                    user: usize::try_from(dice.roll(3)).unwrap(),
                    start: started,
                    recorded_until: started,
                    ..Known::default()
                });
                kernels.len() - 1
            } else {
                *dice.item(&running)
            };
            let kernel = &mut kernels[at];
            kernel.class = dice.pick(&CLASSES);
            // An end that is reported late takes back what was recorded past it; ends of this history are not late.
            kernel.end = dice.one_in(4).then_some(now);
            assert_eq!(post(&server, &kernel.report()).await["rejected"], 0);
        }
        if dice.one_in(4) {
            continue;
        }
        server.tick().await;
        for kernel in &mut kernels {
            kernel.record(now, &mut model);
        }
        match dice.roll(8) {
            0 => {
                server.service.compact(GROUP, 1).await.unwrap();
            }
            1 => {
                server.service.rebuild(GROUP).await.unwrap();
            }
            2 => server = Server::over(server.fixture.restart().await, server.key),
            3 => server.options(&json!({"decay_unit_days": 1 + step % 3})).await,
            _ => {}
        }
    }
    server.tick().await;
    for kernel in &mut kernels {
        kernel.record(now, &mut model);
    }
    server.assert_conserved().await;
    assert_eq!(reported(&server).await, model);
    // Reports by other columns are sums over classes.
    let days = format!("from=2026-01-13&to={}", &Timestamp::from_seconds(now).to_string()[..10]);
    let sum = |report: &Value| report["totals"]["resource_usage"]["cpu"].as_str().unwrap().to_owned();
    let all = server.get(&group(&format!("/usage-report?{days}&by=user"))).await;
    assert_eq!(sum(&all), model.values().sum::<i64>().to_string());
    for class in CLASSES {
        let class_text: String =
            model.iter().filter(|((.., of), _)| *of == class).map(|(_, seconds)| seconds).sum::<i64>().to_string();
        let query: String = url_text(class);
        let of_class = server.get(&group(&format!("/usage-report?{days}&by=day&charge_class={query}"))).await;
        assert_eq!(sum(&of_class), class_text, "{class:?}");
    }
}

impl Known {
    fn report(&self) -> Value {
        let base = kernel(&self.name, USERS[self.user], "ml", &Timestamp::from_seconds(self.start).to_string());
        let ended = self
            .end
            .map(|end| json!({"status": "TERMINATED", "terminated_at": Timestamp::from_seconds(end).to_string()}));
        with(with(base, &json!({"charge_class": self.class})), &ended.unwrap_or_else(|| json!({})))
    }

    /// Counts what a run at `now` records.
    fn record(&mut self, now: i64, model: &mut Model) {
        let until = self.end.unwrap_or(now).min(now);
        let (from, to) = (Timestamp::from_seconds(self.recorded_until), Timestamp::from_seconds(until));
        for part in TimeSpan::new(from, to).into_iter().flat_map(TimeSpan::by_day) {
            let seconds = i64::try_from(part.micros()).unwrap() / MICROS_PER_SECOND;
            *model.entry((part.start.day().to_string(), self.user, self.class)).or_default() += seconds;
        }
        self.recorded_until = until.max(self.recorded_until);
    }
}

/// The usage in a report by day, user and class.
async fn reported(server: &Server) -> Model {
    let today = server.service.clock().now().day();
    let all = server.get(&group(&format!("/usage-report?from=2026-01-13&to={today}&by=day,user,charge_class"))).await;
    let row = |row: &Value| {
        let class = CLASSES.into_iter().find(|class| row["charge_class"] == *class).unwrap();
        let user = USERS.iter().position(|user| row["user_uuid"] == id(user).to_string()).unwrap();
        let usage: Usage = row["resource_usage"]["cpu"].as_str().unwrap().parse().unwrap();
        ((row["first_day"].as_str().unwrap().to_owned(), user, class), usage.to_string().parse().unwrap())
    };
    all["items"].as_array().unwrap().iter().map(row).collect()
}

/// A text as a value of a query.
fn url_text(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
