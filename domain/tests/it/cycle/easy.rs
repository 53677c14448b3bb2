//! EASY reservations: the reserved time, and what may start before it.

use serde_json::{Value, json};

use super::support::{NOW, agents, cycle, gang, group, job, merged, reason, runs, started, starts, waits, with};

/// A running workload that ends this number of seconds from now.
fn ends_in(id: &str, gpu: u64, agent: &str, seconds: u64) -> Value {
    with(runs(id, "b", gpu, agent), json!({"started_at": NOW, "expected_seconds": seconds}))
}

fn easy(document: Value) -> Value {
    let usual = json!({"queues": [{"name": "a"}, {"name": "b"}], "cycle": {"backfill": "easy", "actions": ["allocate", "backfill"]}});
    cycle(&group(merged(usual, document)))
}

fn short(id: &str, gpu: u64, seconds: u64) -> Value {
    with(job(id, "a", gpu), json!({"expected_seconds": seconds}))
}

#[test]
fn the_first_that_does_not_fit_gets_the_earliest_time() {
    let running = [ends_in("r1", 1, "n1", 100), ends_in("r2", 2, "n1", 300)];
    let answer = easy(json!({"running": running, "pending": [job("w1", "a", 2), job("w2", "a", 4)]}));
    assert_eq!(waits(&answer, "w1")["reserved_at"], "2026-01-13T10:01:40Z");
    assert!(waits(&answer, "w2")["reserved_at"].is_null());
}

#[test]
fn others_start_if_they_end_by_then() {
    let running = [ends_in("r", 3, "n1", 100)];
    let pending = [job("big", "a", 5), short("early", 1, 101), short("fits", 1, 100)];
    let answer = easy(json!({"capacity": {"gpu": 5}, "running": running, "pending": pending}));
    assert_eq!(starts(&answer), ["fits backfill -"]);
    assert_eq!(reason(&answer, "early"), ("reserved".to_owned(), json!({"until": "2026-01-13T10:01:40Z"})));
    assert_eq!(waits(&answer, "early")["blocked_by"], json!(["big"]));
}

#[test]
fn others_start_if_they_use_what_the_reserved_one_does_not_need() {
    let running = [ends_in("r", 3, "n1", 100)];
    let answer =
        easy(json!({"running": running, "pending": [job("big", "a", 3), job("w1", "a", 1), job("w2", "a", 1)]}));
    assert_eq!(started(&answer), ["w1"]);
    assert_eq!(reason(&answer, "w2").0, "no_room");
}

#[test]
fn a_member_goes_to_the_best_agent_that_delays_nothing() {
    // n2 scores best, but the reserved gang needs n2 when r has ended; n1 is free of that.
    let running = [ends_in("r", 3, "n2", 100), runs("s", "b", 1, "n1")];
    let document = json!({"capacity": {"gpu": 7}, "agents": agents(&[3, 4]), "running": running,
        "pending": [job("big", "a", 4), job("small", "a", 1)]});
    assert_eq!(starts(&easy(document)), ["small backfill n1"]);
}

#[test]
fn a_workload_of_another_queue_is_tried_although_its_like_was_refused() {
    // The limit of `a` keeps `w1` from delaying `big`; `w2` is as large, and counts for `b`.
    let queues = json!([{"name": "a", "limit": {"gpu": 4}}, {"name": "b"}]);
    let pending = [with(job("big", "a", 4), json!({"priority": 9})), job("w1", "a", 2), job("w2", "b", 2)];
    let running = [ends_in("r", 8, "n1", 100)];
    let answer = easy(json!({"capacity": {"gpu": 10}, "queues": queues, "running": running, "pending": pending}));
    assert_eq!(starts(&answer), ["w2 backfill -"]);
}

#[test]
fn a_short_workload_gets_its_plan_although_a_long_one_like_it_was_refused() {
    // Both would evict `u`; `long` would still hold the room that `big` needs when everything else has ended.
    let stays = with(ends_in("v", 2, "n1", 100), json!({"preemptible": false}));
    let pending = [with(job("big", "a", 4), json!({"priority": 9})), job("long", "a", 2), short("short", 2, 50)];
    let answer = easy(json!({"queues": [{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}],
        "running": [stays, ends_in("u", 2, "n1", 100)], "pending": pending,
        "cycle": {"backfill": "easy", "actions": ["allocate", "backfill", "reclaim"]}}));
    assert_eq!(started(&answer), ["short"], "{answer:#}");
}

#[test]
fn a_gang_over_several_agents_is_reserved_as_a_whole() {
    let running = [ends_in("r1", 2, "n1", 100), ends_in("r2", 2, "n2", 200), ends_in("r3", 1, "n3", 300)];
    let document = json!({"capacity": {"gpu": 6}, "agents": agents(&[2, 2, 2]), "running": running,
        "pending": [gang("g", "a", 5), job("small", "a", 1)]});
    let answer = easy(document);
    assert_eq!(waits(&answer, "g")["reserved_at"], "2026-01-13T10:03:20Z");
    assert_eq!(reason(&answer, "small").0, "reserved");
}

#[test]
fn what_starts_in_the_cycle_ends_as_well() {
    let pending = [short("a1", 3, 50), job("big", "a", 4)];
    assert_eq!(waits(&easy(json!({"pending": pending})), "big")["reserved_at"], "2026-01-13T10:00:50Z");
}

#[test]
fn what_never_ends_leaves_the_reservation_to_the_next() {
    let running = [runs("r", "b", 2, "n1"), ends_in("s", 1, "n1", 60)];
    let answer = easy(json!({"running": running, "pending": [job("never", "a", 3), job("next", "a", 2)]}));
    assert!(waits(&answer, "never")["reserved_at"].is_null());
    assert_eq!(waits(&answer, "next")["reserved_at"], "2026-01-13T10:01:00Z");
}

#[test]
fn an_end_in_the_past_is_a_second_away() {
    let late = with(runs("r", "b", 4, "n1"), json!({"started_at": "2026-01-13T09:00:00Z", "expected_seconds": 5}));
    let answer = easy(json!({"running": [late], "pending": job("w", "a", 1)}));
    assert_eq!(waits(&answer, "w")["reserved_at"], "2026-01-13T10:00:01Z");
}

#[test]
fn limits_count_at_the_reserved_time() {
    let queues = json!([{"name": "a", "limit": {"gpu": 3}}, {"name": "b"}]);
    let running = [with(ends_in("own", 1, "n1", 50), json!({"queue": "a"})), ends_in("r", 2, "n1", 100)];
    let pending = [job("big", "a", 3), job("small", "a", 1)];
    let answer = easy(json!({"queues": queues, "running": running, "pending": pending}));
    assert_eq!(reason(&answer, "big").0, "queue_limit", "it waits for its limit, not for room");
    assert_eq!(started(&answer), ["small"]);
    // 2 of 3 are free for the queue, and 1 of 4 in the group.
    let pending = [job("big", "a", 2), job("small", "a", 1)];
    let answer = easy(json!({"queues": queues, "running": running, "pending": pending}));
    assert_eq!(reason(&answer, "big").0, "no_room");
    assert_eq!(waits(&answer, "big")["reserved_at"], "2026-01-13T10:00:50Z");
    assert!(started(&answer).is_empty());
}

#[test]
fn under_queues_the_reservation_holds_for_all_of_them() {
    let running = [ends_in("r", 3, "n1", 100)];
    let pending = [with(job("big", "a", 4), json!({"priority": 5})), job("other", "b", 1)];
    let document = json!({"running": running, "pending": pending,
        "cycle": {"backfill": "easy", "actions": ["allocate", "backfill"], "order": "queues"}});
    let answer = easy(document);
    assert_eq!(waits(&answer, "big")["reserved_at"], "2026-01-13T10:01:40Z");
    assert_eq!(reason(&answer, "other").0, "reserved");
}

#[test]
fn surplus_leaves_the_reservation_alone() {
    let running = [ends_in("r", 2, "n1", 100)];
    let elastic = with(gang("elastic", "a", 3), json!({"gang_min": 1, "position": 1}));
    let answer = easy(json!({"running": running, "pending": [elastic, job("big", "a", 3)]}));
    assert_eq!(starts(&answer), ["elastic allocate -"]);
    assert_eq!(reason(&answer, "elastic").0, "reserved");
}

#[test]
fn quotas_count_at_the_reserved_time() {
    // There would be room for all, but the quota of `a` has none for `big` beside `lasting`.
    let queues = json!([{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}}]);
    let stays = |id: &str, gpu: u64| with(job(id, "a", gpu), json!({"preemptible": false}));
    let pending = [stays("big", 2), stays("lasting", 1)];
    let document = json!({"queues": queues, "running": [ends_in("r", 3, "n1", 100)], "pending": pending});
    let answer = easy(document.clone());
    assert_eq!(waits(&answer, "big")["reserved_at"], "2026-01-13T10:01:40Z");
    assert_eq!(reason(&answer, "lasting").0, "reserved");
    let preemptible = json!({"pending": [stays("big", 2), job("lasting", "a", 1)]});
    assert_eq!(started(&easy(merged(document, preemptible))), ["lasting"]);
}

#[test]
fn a_workload_that_comes_to_wait_for_its_limit_keeps_no_reservation() {
    // Surplus of `elastic` leaves `big` its room and its limit at 10:01:40, when `s` has ended. Until then the limit is reached.
    let on = |agent: &str, gpu: u64| json!({"slots": {"gpu": gpu}, "labels": {"agent_id": agent}});
    let pending = json!([
        {"workload_id": "elastic", "queue": "a", "position": 1, "gang_min": 1, "members": [on("n2", 1), on("n2", 1)]},
        {"workload_id": "big", "queue": "a", "position": 2, "members": [on("n1", 3)]},
        {"workload_id": "late", "queue": "b", "position": 3, "members": [on("n1", 2)]}
    ]);
    let running = json!([ends_in("r", 2, "n1", 100), with(ends_in("s", 1, "n2", 50), json!({"queue": "a"}))]);
    let queues = json!([{"name": "a", "limit": {"gpu": 5}}, {"name": "b"}]);
    let document = json!({"capacity": {"gpu": 7}, "agents": agents(&[4, 3]), "queues": queues, "running": running, "pending": pending});
    let answer = easy(document);
    assert_eq!(reason(&answer, "big").0, "queue_limit");
    assert_eq!(starts(&answer), ["elastic allocate n2", "elastic allocate n2", "late allocate n1"]);
}

#[test]
fn what_would_have_delayed_the_reserved_workload_evicts_once_it_waits_for_room() {
    // `late` would delay `big`. Then `short` takes the free gpu, and `late` deserves that of `s`, which never ends either.
    let queues =
        json!([{"name": "a"}, {"name": "b", "quota": {"gpu": 1}}, {"name": "c"}, {"name": "d", "quota": {"gpu": 3}}]);
    let queues = Value::Array(
        queues.as_array().unwrap().iter().map(|queue| merged(json!({"quota": {"gpu": 0}}), queue.clone())).collect(),
    );
    let stays = with(ends_in("r", 2, "n1", 100), json!({"queue": "d", "preemptible": false}));
    let running = [stays, runs("s", "c", 1, "n1")];
    let place = |job: Value, position: u64| with(job, json!({"position": position}));
    let pending = [
        place(job("big", "a", 3), 1),
        place(job("late", "b", 1), 2),
        place(with(job("short", "d", 1), json!({"expected_seconds": 50})), 3),
    ];
    let document = json!({"queues": queues, "running": running, "pending": pending,
        "cycle": {"backfill": "easy", "actions": ["allocate", "backfill", "reclaim"]}});
    assert_eq!(starts(&easy(document)), ["short backfill -", "late reclaim -"]);
}
