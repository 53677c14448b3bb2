//! Orders of workloads by queues and by tiers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use fairshared::api::sequence::PendingWorkload;
use fairshared::domain::ids::{ProjectId, UserId};
use fairshared::service::groups::SchedulerPatch;
use fairshared::service::sequence::SequenceInput;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::set_queues;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, slots, with};
use crate::support::on_both;

const START: &str = "2026-01-10T00:00:00Z";

async fn schedule(f: &Fixture, scheduler: &str) {
    let patch = SchedulerPatch { scheduler: Some(scheduler.to_owned()), ..SchedulerPatch::default() };
    f.service.patch_scheduler_options(admin(), GROUP.to_owned(), patch).await.unwrap();
}

/// (id, queue, cpu, priority), in the order of submission.
type Wish = (&'static str, &'static str, &'static str, i32);

fn workload<'a>((name, queue, cpu, priority): &Wish, minute: usize) -> PendingWorkload<'a> {
    PendingWorkload {
        workload_id: Cow::Borrowed(name),
        user_uuid: Some(UserId(id("alice"))),
        user: None,
        project_id: Some(ProjectId(id("p"))),
        project: None,
        submitted_at: Some(crate::support::time(&format!("2026-01-09T00:{minute:02}:00Z"))),
        priority: *priority,
        queue: Some(Cow::Borrowed(queue)),
        requested_slots: Some(Box::new(slots(&json!({"cpu": cpu})))),
        count: None,
        expected_seconds: None,
    }
}

fn sequence(f: &Fixture, wishes: &[Wish]) -> Vec<String> {
    let pending: Vec<_> = wishes.iter().enumerate().map(|(at, wish)| workload(wish, at)).collect();
    order(f, pending)
}

fn order(f: &Fixture, pending: Vec<PendingWorkload<'_>>) -> Vec<String> {
    let sequenced =
        f.service.sequence(&admin(), GROUP, SequenceInput { workloads: pending, ..SequenceInput::default() }).unwrap();
    sequenced.order.iter().map(|at| sequenced.workloads[*at as usize].id.to_string()).collect()
}

fn running(name: &str, queue: &str, cpu: &str) -> Value {
    with(kernel(name, "alice", "p", START), &json!({"queue": queue, "occupied_slots": {"cpu": cpu}}))
}

fn waiting(name: &str, queue: &str, cpu: &str) -> Value {
    with(running(name, queue, cpu), &json!({"status": "PENDING", "started_at": null}))
}

on_both! {
    async fn saturation_gives_turns_to_the_least_served(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "12"})).await;
        schedule(&f, "saturation").await;
        // Fair shares: a 8 (weight 2), b 4. a holds 4 (ratio 1/2), b holds 1 (ratio 1/4).
        set_queues(&f, &json!([{"name": "a", "over_quota_weight": "2"}, {"name": "b", "over_quota_weight": "1"}])).await;
        f.ingest(&[running("r1", "a", "4"), running("r2", "b", "1"), waiting("w1", "a", "20"), waiting("w2", "b", "20")]).await;
        let wishes: [Wish; 6] = [
            ("a1", "a", "2", 0), ("a2", "a", "2", 0), ("a3", "a", "2", 0), ("b1", "b", "1", 0), ("b2", "b", "1", 0), ("b3", "b", "1", 0),
        ];
        // With the next one: a 6/8, b 2/4: b1. Then b 3/4 = a 6/8; without it a 1/2 = b 2/4; both may come to hold 8 and 4:
        // the smaller, b2. Then b 4/4, a 6/8: a1; a 8/8 = b 4/4, without it a 6/8 = b 3/4: b3; a 8/8, b is through: a2, a3.
        assert_eq!(sequence(&f, &wishes), ["b1", "b2", "a1", "b3", "a2", "a3"]);
    }

    async fn quota_comes_before_priority(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        schedule(&f, "saturation").await;
        set_queues(&f, &json!([{"name": "a", "quota": {"cpu": "2"}}, {"name": "b", "priority": 5}, {"name": "c", "limit": {"cpu": "0"}, "priority": 9}])).await;
        f.ingest(&[waiting("w1", "a", "9"), waiting("w2", "b", "9"), waiting("w3", "c", "9")]).await;
        let wishes: [Wish; 5] = [("c1", "c", "1", 0), ("b1", "b", "1", 0), ("a1", "a", "1", 0), ("a2", "a", "1", 0), ("a3", "a", "1", 0)];
        // a is in quota twice; then no queue is. The higher priority goes first, even what may not be held.
        assert_eq!(sequence(&f, &wishes), ["a1", "a2", "c1", "b1", "a3"]);
    }

    async fn a_queue_serves_itself_before_its_children(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "10"})).await;
        set_queues(&f, &json!([{"name": "a"}, {"name": "a1", "parent": "a"}, {"name": "a2", "parent": "a"}, {"name": "b"}])).await;
        let wishes: [Wish; 6] = [
            ("one", "a1", "1", 0), ("two", "a2", "1", 0), ("late", "a2", "1", 7), ("own", "a", "1", 0), ("bee", "b", "1", 0), ("lost", "ghost", "1", 0),
        ];
        for scheduler in ["saturation", "score"] {
            schedule(&f, scheduler).await;
            // No queue asked for anything yet, so none deserves anything: turns go by what is held.
            let order = sequence(&f, &wishes);
            let at = |name: &str| order.iter().position(|n| n == name).unwrap();
            assert!(at("own") < at("one") && at("own") < at("late") && at("late") < at("two"), "{scheduler}: {order:?}");
            assert_eq!(order.len(), 6);
        }
    }

    async fn scores_give_turns(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "12"})).await;
        f.options(&json!({"division": {"algorithm": "proportion", "options": {"score_weights": {"priority": "0", "drf": "0", "proportion": "1"}}}})).await;
        schedule(&f, "score").await;
        set_queues(&f, &json!([{"name": "a", "weight": "2"}, {"name": "b"}])).await;
        f.ingest(&[running("r1", "a", "4"), running("r2", "b", "1"), waiting("w1", "a", "20"), waiting("w2", "b", "20")]).await;
        let wishes: [Wish; 5] = [("a1", "a", "2", 0), ("a2", "a", "2", 0), ("b1", "b", "1", 0), ("b2", "b", "1", 0), ("b3", "b", "1", 0)];
        // Deserved 8 and 4: a 4/8, b 1/4: b1; 4/8 = 2/4: as old, so by name a1; 6/8, 2/4: b2; 6/8 = 3/4: a2; 8/8, 3/4: b3.
        assert_eq!(sequence(&f, &wishes), ["b1", "a1", "b2", "a2", "b3"]);
        // Priority alone: the higher queue gives all it has.
        f.options(&json!({"division": {"options": {"score_weights": {"priority": "1", "drf": "0", "proportion": "0"}}}})).await;
        set_queues(&f, &json!([{"name": "a"}, {"name": "b", "priority": 1}])).await;
        assert_eq!(sequence(&f, &wishes), ["b1", "b2", "b3", "a1", "a2"]);
    }

    async fn tiers_compare_domains_then_projects_then_users(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("a1", &json!({"cpu": "100"})).await;
        let used = |name: &str, user: &str, project: &str, domain: &str, cpu: &str| {
            with(kernel(name, user, project, START), &json!({"domain_name": domain, "occupied_slots": {"cpu": cpu}}))
        };
        f.ingest(&[
            used("k1", "ann", "p1", "d1", "1"), used("k2", "bob", "p2", "d1", "9"), used("k3", "cid", "p3", "d2", "4"), used("k4", "dan", "p3", "d2", "3"),
        ]).await;
        f.clock.set("2026-01-11T00:00:00Z");
        f.tick().await;
        let of = |name: &'static str, user: &str, project: &str| PendingWorkload {
            user_uuid: Some(UserId(id(user))), project_id: Some(ProjectId(id(project))), requested_slots: None, queue: None, ..workload(&(name, "", "0", 0), 0)
        };
        let wishes = || vec![of("bob", "bob", "p2"), of("ann", "ann", "p1"), of("cid", "cid", "p3"), of("dan", "dan", "p3"), of("eve", "eve", "p2"), of("new", "new", "p9")];
        // Flat: least used first, unknown pairs before all.
        assert_eq!(order(&f, wishes()), ["eve", "new", "ann", "dan", "cid", "bob"]);
        f.options(&json!({"order": "tiered"})).await;
        // d2 has used 7, d1 10; in d1 p1 has used 1, p2 9; eve is new in p2. An unknown project has used nothing.
        assert_eq!(order(&f, wishes()), ["new", "dan", "cid", "ann", "eve", "bob"]);
    }
}

/// Queues of random trees with what they hold; workloads with random queues, sizes and priorities.
#[derive(Clone, Debug)]
struct World {
    queues: Vec<(usize, u64, i32, u64)>,
    wishes: Vec<(usize, u64, i32)>,
}

fn world() -> impl Strategy<Value = World> {
    let queue = (0usize..12, 0u64..5, -1i32..2, 0u64..4);
    let wish = (0usize..14, 0u64..4, -1i32..2);
    (prop::collection::vec(queue, 1..12), prop::collection::vec(wish, 0..60))
        .prop_map(|(queues, wishes)| World { queues, wishes })
}

async fn build(f: &Fixture, world: &World) {
    let name = |at: usize| format!("q{at}");
    let specs: Vec<Value> = world
        .queues
        .iter()
        .enumerate()
        .map(|(at, (parent, quota, priority, _))| {
            let parent = (at > 0 && parent % 2 == 0).then(|| name(parent % at));
            json!({"name": name(at), "parent": parent, "quota": {"cpu": quota.to_string()}, "priority": priority})
        })
        .collect();
    set_queues(f, &json!(specs)).await;
    let held =
        world.queues.iter().enumerate().map(|(at, (_, _, _, held))| running(&name(at), &name(at), &held.to_string()));
    f.ingest(&held.collect::<Vec<_>>()).await;
}

fn pending(world: &World) -> Vec<PendingWorkload<'static>> {
    let of = |(at, (queue, cpu, priority)): (usize, &(usize, u64, i32))| PendingWorkload {
        workload_id: Cow::Owned(format!("w{at:02}")),
        queue: Some(Cow::Owned(format!("q{queue}"))),
        requested_slots: Some(Box::new(slots(&json!({"cpu": cpu.to_string()})))),
        priority: *priority,
        ..workload(&("", "", "0", 0), at / 3)
    };
    world.wishes.iter().enumerate().map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orders_are_total_stable_and_by_priority_inside_a_queue() {
    let runner_config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(runner_config);
    let f = Fixture::new(crate::support::database::sqlite().await, START).await;
    f.agent("a1", &json!({"cpu": "30"})).await;
    let strategy = (world(), any::<prop::sample::Index>());
    for _ in 0..24 {
        let (world, turn) = proptest::strategy::ValueTree::current(&strategy.new_tree(&mut runner).unwrap());
        build(&f, &world).await;
        for scheduler in ["saturation", "score"] {
            schedule(&f, scheduler).await;
            let forward = order(&f, pending(&world));
            let mut sorted = forward.clone();
            sorted.sort();
            let all: Vec<String> = (0..world.wishes.len()).map(|at| format!("w{at:02}")).collect();
            assert_eq!(sorted, all, "{scheduler}: {world:?}");
            // The order of the input has no say.
            let mut moved = pending(&world);
            if !moved.is_empty() {
                let by = turn.index(moved.len());
                moved.rotate_left(by);
            }
            moved.reverse();
            assert_eq!(order(&f, moved), forward, "{scheduler}: {world:?}");
            // In a queue: priority, then submission, then id.
            let mut seen: BTreeMap<usize, Vec<(i32, usize)>> = BTreeMap::new();
            for name in &forward {
                let at: usize = name[1..].parse().unwrap();
                let (queue, _, priority) = world.wishes[at];
                let known = if queue < world.queues.len() { queue } else { usize::MAX };
                seen.entry(known).or_default().push((-priority, at));
            }
            assert!(seen.values().all(|own| own.is_sorted()), "{scheduler}: {world:?}");
        }
    }
}
