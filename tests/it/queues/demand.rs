//! The requests and allocations of queues follow from kernels, and the division follows from these.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairshared::domain::division::DivisionSimulation;
use fairshared::domain::queues::QueueSpec;
use fairshared::domain::slots::SlotName;
use fairshared::service::{Role, Service};
use serde_json::{Value, json};

use super::{division, set_queues};
use crate::support::fixture::{Fixture, GROUP, admin, caller_with, id, kernel, slots, with};
use crate::support::{ManualClock, on_both};

const START: &str = "2026-01-10T00:00:00Z";

/// Request, allocated and allocated without preemption of `cpu`, by queue; queues without any are left out.
async fn held(f: &Fixture) -> BTreeMap<String, [String; 3]> {
    held_by(&f.service).await
}

async fn held_by(service: &Arc<Service>) -> BTreeMap<String, [String; 3]> {
    let found = service.division(&admin(), GROUP, false).await.unwrap();
    let cpu = SlotName::new("cpu").unwrap();
    let all = (0..found.division.tree.len()).map(|queue| {
        let figures = found.division.figures(queue);
        let all = [figures.request, figures.allocated, figures.allocated_non_preemptible];
        (found.division.tree.name(queue).to_owned(), all.map(|a| a.get(cpu).unwrap_or_default().to_string()))
    });
    all.filter(|(_, figures)| figures.iter().any(|f| f != "0")).collect()
}

fn expect(table: &[(&str, [&str; 3])]) -> BTreeMap<String, [String; 3]> {
    table.iter().map(|(name, figures)| ((*name).to_owned(), figures.map(str::to_owned))).collect()
}

fn cpus(name: &str, project: &str, count: &str, changes: &Value) -> Value {
    let base = with(kernel(name, "alice", project, START), &json!({"occupied_slots": {"cpu": count}}));
    with(base, changes)
}

fn pending() -> Value {
    json!({"status": "PENDING", "started_at": null})
}

on_both! {
    async fn kernels_count_for_the_queue_they_belong_to(db: TestDb) {
        let f = Fixture::new(db, START).await;
        let own = id("p2").to_string();
        set_queues(&f, &json!([{"name": "named"}, {"name": own}, {"name": "vision"}])).await;
        f.ingest(&[
            cpus("k1", "p1", "1", &json!({"queue": "named"})),
            cpus("k2", "p2", "2", &json!({})),
            cpus("k3", "p3", "4", &json!({"project_name": "vision"})),
            cpus("k4", "p4", "8", &json!({"domain_name": "speech"})),
            // A queue that is not there counts as none.
            cpus("k5", "p2", "16", &json!({"queue": "ghost"})),
        ]).await;
        let before = expect(&[("named", ["1", "1", "0"]), (&own, ["18", "18", "0"]), ("vision", ["4", "4", "0"]), ("default", ["8", "8", "0"])]);
        assert_eq!(held(&f).await, before);
        // Queues that come and go move demand without any kernel changing.
        set_queues(&f, &json!([{"name": "speech", "parent": "all"}, {"name": "ghost"}, {"name": "all"}])).await;
        let after = expect(&[("ghost", ["16", "16", "0"]), ("speech", ["8", "8", "0"]), ("all", ["8", "8", "0"]), ("default", ["7", "7", "0"])]);
        assert_eq!(held(&f).await, after);
        assert_eq!(held(&f.restart().await).await, after);
    }

    async fn a_queue_with_children_may_hold_something_itself(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        set_queues(&f, &json!([{"name": "research"}, {"name": "vision", "parent": "research"}])).await;
        f.ingest(&[
            cpus("k1", "p1", "1", &json!({})),
            cpus("k2", "p2", "2", &json!({"queue": "vision", "preemptible": false})),
            cpus("k3", "p2", "4", &with(pending(), &json!({"queue": "vision"}))),
        ]).await;
        assert_eq!(held(&f).await, expect(&[("research", ["7", "3", "2"]), ("vision", ["6", "2", "2"])]));
    }

    async fn demand_follows_a_kernels_life(db: TestDb) {
        let f = Fixture::new(db, START).await;
        set_queues(&f, &json!([{"name": "a"}, {"name": "b"}])).await;
        let report = async |changes: &Value| {
            assert!(f.ingest(&[cpus("k", "p", "2", changes)]).await.is_empty());
            held(&f).await
        };
        assert_eq!(report(&with(pending(), &json!({"queue": "a"}))).await, expect(&[("a", ["2", "0", "0"])]));
        // The same report once more changes nothing.
        assert_eq!(report(&with(pending(), &json!({"queue": "a"}))).await, expect(&[("a", ["2", "0", "0"])]));
        assert_eq!(report(&json!({"queue": "a"})).await, expect(&[("a", ["2", "2", "0"])]));
        assert_eq!(report(&json!({"queue": "b", "preemptible": false})).await, expect(&[("b", ["2", "2", "2"])]));
        let grown = json!({"queue": "b", "occupied_slots": {"cpu": "5", "gpu": "1"}});
        assert_eq!(report(&grown).await, expect(&[("b", ["5", "5", "0"])]));
        // A late pending report of a running kernel has no say.
        assert_eq!(report(&with(pending(), &json!({"queue": "a"}))).await, expect(&[("b", ["5", "5", "0"])]));
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-10T01:00:00Z", "queue": "b"});
        assert_eq!(report(&ended).await, expect(&[]));
        f.clock.set("2026-01-10T02:00:00Z");
        f.tick().await;
        assert_eq!(held(&f).await, expect(&[]));
    }

    async fn another_process_sees_the_demand(db: TestDb) {
        let f = Fixture::new(db, START).await;
        set_queues(&f, &json!([{"name": "a"}])).await;
        let other = Service::new(f.db.store().await, Arc::new(ManualClock::at(START)) as _).await.unwrap();
        f.ingest(&[cpus("k1", "p", "3", &json!({"queue": "a"})), cpus("k2", "p", "1", &pending())]).await;
        assert_eq!(held_by(&other).await, expect(&[]));
        other.refresh().await.unwrap();
        let both = expect(&[("a", ["3", "3", "0"]), ("default", ["1", "0", "0"])]);
        assert_eq!(held_by(&other).await, both);
        // A write of the other process builds on it as well.
        let batch = vec![crate::support::fixture::incoming(&cpus("k3", "p", "5", &json!({"queue": "a"})))];
        f.ingest(&[cpus("k4", "p", "7", &json!({"queue": "a"}))]).await;
        other.ingest(&admin(), GROUP, batch).await.unwrap();
        assert_eq!(held_by(&other).await["a"], ["15", "15", "0"].map(str::to_owned));
    }

    async fn a_division_is_the_engines_on_the_same_tree(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "36"})).await;
        let queues = json!([{"name": "p1", "quota": {"cpu": "9"}, "over_quota_weight": "2"}, {"name": "p2", "quota": {"cpu": "6"}, "over_quota_weight": "3"},
            {"name": "p3", "quota": {"cpu": "1"}, "over_quota_weight": "1"}]);
        set_queues(&f, &queues).await;
        let wants = |name: &str, count: &str| cpus(name, name, count, &with(pending(), &json!({"queue": name})));
        f.ingest(&[wants("p1", "9"), wants("p2", "20"), wants("p3", "20")]).await;
        for algorithm in ["quota_over_quota", "min_share", "proportion", "drf"] {
            f.options(&json!({"division": {"algorithm": algorithm, "options": {"rounding": "whole"}}})).await;
            let live = f.service.division(&admin(), GROUP, true).await.unwrap();
            let demand = [("default", "0"), ("p1", "9"), ("p2", "20"), ("p3", "20")];
            let configured = f.service.queues(&admin(), GROUP).unwrap();
            let specs = ["p1", "p2", "p3", "default"].map(|name| {
                let wanted = demand.iter().find(|(n, _)| *n == name).unwrap().1;
                let mut spec = configured.get(name).map_or_else(|| QueueSpec::named(name), |q| Arc::clone(q).into());
                spec.given.request = Some(slots(&json!({"cpu": wanted})));
                spec
            });
            let simulation = DivisionSimulation {
                algorithm: algorithm.to_owned(),
                options: live.group.options.division.options.clone(),
                capacity: slots(&json!({"cpu": "36"})),
                queues: specs.to_vec(),
                explain: true,
            };
            let expected = serde_json::to_value(simulation.run().unwrap()).unwrap();
            let shown = serde_json::to_value(&live.division.report).unwrap();
            assert_eq!(shown, expected, "{algorithm}");
            assert_eq!(live.division.algorithm, algorithm);
        }
        // Run:ai's example in whole devices.
        f.options(&json!({"division": {"algorithm": null, "options": {"rounding": "whole"}}})).await;
        let shares: Vec<String> = division(&f).await.division.report.queues.iter().map(|q| q.fair_share.get(SlotName::new("cpu").unwrap()).unwrap().to_string()).collect();
        assert_eq!(shares, ["9", "20", "7", "0"]);
    }

    async fn a_change_shows_at_once_and_nothing_is_made_twice(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        set_queues(&f, &json!([{"name": "a"}])).await;
        f.ingest(&[cpus("k1", "p", "20", &with(pending(), &json!({"queue": "a"})))]).await;
        let share = |found: &fairshared::service::division::GroupDivision| found.division.report.queues[0].fair_share.to_json();
        let first = division(&f).await;
        assert_eq!(share(&first), r#"{"cpu":"10"}"#);
        assert!(Arc::ptr_eq(&first.division, &division(&f).await.division));
        assert!(first.division.report.trace.is_none());
        f.agent("a2", &json!({"cpu": "5"})).await;
        assert_eq!(share(&division(&f).await), r#"{"cpu":"15"}"#);
        set_queues(&f, &json!([{"name": "a", "limit": {"cpu": "7"}}])).await;
        assert_eq!(share(&division(&f).await), r#"{"cpu":"7"}"#);
        let explained = f.service.division(&admin(), GROUP, true).await.unwrap();
        assert!(explained.division.report.trace.as_ref().unwrap()[0].sentence.starts_with("gets 7 of 15 cpu"));
    }

    async fn usage_counts_where_a_gain_asks_for_it(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        set_queues(&f, &json!([{"name": "p1"}, {"name": "p2"}])).await;
        let names = |p: &str, count: &str| cpus(p, p, count, &json!({"project_name": p}));
        f.ingest(&[names("p1", "5"), names("p2", "1")]).await;
        f.clock.set("2026-01-11T00:00:00Z");
        f.tick().await;
        let usage = async || {
            let found = division(&f).await;
            let tree = &found.division.tree;
            [0, 1].map(|queue| tree.usage[(queue, 0)].to_string())
        };
        assert_eq!(usage().await, ["0", "0"]);
        f.options(&json!({"division": {"options": {"history_gain": "1"}}, "lookback_days": 1, "half_life_days": 1, "decay_unit_days": 1})).await;
        // The window is today, on which nothing is recorded yet; in a wider one p1 held half of one day of two.
        assert_eq!(usage().await, ["0", "0"]);
        f.options(&json!({"lookback_days": 2, "half_life_days": 7})).await;
        assert_eq!(usage().await, ["0.25", "0.05"]);
        let figures = division(&f).await.division.figures(0);
        assert_eq!(json!(figures.usage), json!({"cpu": "0.25"}));
        // Usage is recorded by project: the usage of p1 in p2 counts for p1, and there is a warning.
        let told = async || {
            let found = division(&f).await;
            let of = |w: &&fairshared::domain::division::DivisionWarning| w.code == "usage_elsewhere";
            found.division.report.warnings.iter().filter(of).map(|w| w.queue.clone().unwrap()).collect::<Vec<_>>()
        };
        assert!(told().await.is_empty());
        let named = json!({"queue": "p2", "started_at": "2026-01-11T00:00:00Z"});
        f.ingest(&[with(cpus("k3", "p1", "3", &json!({"project_name": "p1"})), &named)]).await;
        assert_eq!(told().await, ["p2"]);
        f.clock.set("2026-01-11T12:00:00Z");
        f.tick().await;
        // In two days p1 held 5 for one and a half, and 3 in p2 for half a day: 9 / 20.
        assert_eq!(usage().await, ["0.45", "0.075"]);
        f.options(&json!({"division": {"options": {"history_gain": "0"}}})).await;
        assert!(told().await.is_empty());
    }

    async fn users_do_not_see_the_division(db: TestDb) {
        let f = Fixture::new(db, START).await;
        for role in Role::ALL {
            let seen = f.service.division(&caller_with(role), GROUP, false).await;
            let reads_all = ![Role::User, Role::Connector].contains(&role);
            assert_eq!(seen.map(|_| ()).map_err(|error| error.code()), if reads_all { Ok(()) } else { Err("forbidden") }, "{role:?}");
        }
        assert_eq!(f.service.division(&admin(), "nowhere", false).await.unwrap_err().code(), "unknown_resource_group");
    }

    async fn slots_without_end_are_cut_off_with_a_warning(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        set_queues(&f, &json!([{"name": "a"}])).await;
        let many = |from: usize| (from..from + 40).map(|n| (format!("slot{n:02}"), json!("1"))).collect::<serde_json::Map<_, _>>();
        let of = |name: &str, from: usize| cpus(name, "p", "1", &json!({"queue": "a", "occupied_slots": many(from)}));
        f.ingest(&[of("k1", 0), of("k2", 40)]).await;
        let found = division(&f).await;
        assert_eq!(found.division.tree.slots.len(), 64);
        let warning = found.division.report.warnings.iter().find(|w| w.code == "too_many_slots").unwrap();
        assert!(warning.detail.contains("17 slots"), "{}", warning.detail);
    }
}
