//! Scheduling cycles over a live group: plans, options, and the reasons that lists show.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

/// A kernel of the workload `name` that waits for GPUs.
fn waits(name: &str, gpus: &str, changes: &Value) -> Value {
    let pending = json!({"status": "PENDING", "started_at": null, "occupied_slots": {"gpu": gpus}, "gang_id": name, "queue": "vision"});
    with(with(kernel(name, "alice", "vision", "2026-01-13T10:00:00Z"), &pending), changes)
}

/// A kernel of the workload `name` that runs on `agent` since two hours.
fn runs(name: &str, gpus: &str, agent: &str, changes: &Value) -> Value {
    let running = json!({"status": "RUNNING", "started_at": "2026-01-13T10:00:00Z", "agent_id": agent});
    waits(name, gpus, &with(running, changes))
}

async fn report(server: &Server, kernels: &[Value]) {
    let answer = server.call("POST", &group("/kernels"), Some(&json!(kernels))).await.json(200);
    assert_eq!(answer["rejected"], 0, "{answer}");
}

/// Agents with 4 GPUs each.
async fn agents(server: &Server, names: &[&str]) {
    for name in names {
        let agent = json!({"available_slots": {"gpu": "4"}});
        server.call("PUT", &group(&format!("/agents/{name}")), Some(&agent)).await.json(201);
    }
}

async fn queues(server: &Server, queues: Value) {
    server.call("PUT", &group("/queues"), Some(&json!({"queues": queues}))).await.json(200);
}

async fn set_cycle(server: &Server, options: Value) {
    server
        .call("PATCH", &group("/scheduler-options"), Some(&json!({"scheduler_opts": {"cycle": options}})))
        .await
        .json(200);
}

async fn plan(server: &Server, body: Value) -> Value {
    server.call("POST", &group("/cycle-plans"), Some(&body)).await.json(200)
}

/// The workloads that start, each with its agents.
fn started(plan: &Value) -> Vec<String> {
    let agents = |start: &Value| -> Vec<String> {
        let members = start["members"].as_array().unwrap().iter();
        members.map(|member| member["agent_id"].as_str().unwrap_or("-").to_owned()).collect()
    };
    let starts = plan["starts"].as_array().unwrap().iter();
    starts.map(|start| format!("{} {}", start["workload_id"].as_str().unwrap(), agents(start).join(" "))).collect()
}

/// `waiting` of the workload in the list.
async fn waiting(server: &Server, workload: &str) -> Value {
    server.get(&group(&format!("/workloads/{workload}"))).await["waiting"].clone()
}

/// A workload that waits for a reason, and a change after which it starts or waits for another one.
struct ReasonCase {
    reason: &'static str,
    queues: Value,
    options: Value,
    kernels: Vec<Value>,
    details: Value,
    blocked_by: Value,
    /// Takes the cause away.
    without: fn() -> Remedy,
}

enum Remedy {
    Kernel(Value),
    Queues(Value),
    Options(Value),
    Agent(&'static str),
}

impl Remedy {
    async fn apply(self, server: &Server, reason: &str) {
        match self {
            Self::Kernel(kernel) => report(server, &[of_case(reason, kernel)]).await,
            Self::Queues(list) => queues(server, list).await,
            Self::Options(options) => set_cycle(server, options).await,
            Self::Agent(name) => agents(server, &[name]).await,
        }
    }
}

/// The kernel with an id and a session of its own in each case.
fn of_case(reason: &str, kernel: Value) -> Value {
    let own = |key: &str| json!(id(&format!("{reason} {}", kernel[key])));
    let (kernel_id, session_id) = (own("kernel_id"), own("session_id"));
    with(kernel, &json!({"kernel_id": kernel_id, "session_id": session_id}))
}

fn ended(kernel: Value) -> Value {
    with(kernel, &json!({"status": "TERMINATED", "terminated_at": "2026-01-13T12:00:00Z"}))
}

const IDLE: [&str; 2] = ["allocate", "backfill"];

fn case(reason: &'static str, details: Value, kernels: Vec<Value>, without: fn() -> Remedy) -> ReasonCase {
    ReasonCase {
        reason,
        queues: json!([{"name": "vision"}]),
        options: json!({"actions": IDLE}),
        kernels,
        details,
        blocked_by: json!([]),
        without,
    }
}

fn none() -> Value {
    json!({})
}

/// The workload `w` waits for each reason of free room and order. Two agents have 4 GPUs each.
fn room_reasons() -> Vec<ReasonCase> {
    vec![
        case(
            "no_room",
            json!({"slot": "gpu", "asked": "3", "most_free": "2", "free": "4"}),
            vec![runs("r1", "2", "n1", &none()), runs("r2", "2", "n2", &none()), waits("w", "3", &none())],
            || Remedy::Kernel(ended(runs("r1", "2", "n1", &json!({})))),
        ),
        case(
            "gang",
            json!({"fit": 2, "minimum": 3}),
            vec![
                runs("r1", "4", "n1", &none()),
                waits("w", "2", &none()),
                waits("w", "2", &json!({"kernel_id": id("w2")})),
                waits("w", "2", &json!({"kernel_id": id("w3")})),
            ],
            || Remedy::Agent("n3"),
        ),
        ReasonCase {
            queues: json!([{"name": "vision", "limit": {"gpu": "4"}}]),
            ..case(
                "queue_limit",
                json!({"queue": "vision", "slot": "gpu", "limit": "4", "held": "2"}),
                vec![runs("r1", "2", "n1", &none()), waits("w", "3", &none())],
                || Remedy::Queues(json!([{"name": "vision", "limit": {"gpu": "5"}}])),
            )
        },
        ReasonCase {
            queues: json!([{"name": "vision", "quota": {"gpu": "4"}}]),
            ..case(
                "quota_non_preemptible",
                json!({"queue": "vision", "slot": "gpu", "quota": "4", "held": "2"}),
                vec![
                    runs("r1", "2", "n1", &json!({"preemptible": false})),
                    waits("w", "3", &json!({"preemptible": false})),
                ],
                || Remedy::Queues(json!([{"name": "vision", "quota": {"gpu": "5"}}])),
            )
        },
        ReasonCase {
            options: json!({"actions": IDLE, "backfill": "none"}),
            blocked_by: json!(["ahead"]),
            ..case(
                "behind",
                none(),
                vec![
                    runs("r1", "2", "n1", &none()),
                    runs("r2", "2", "n2", &none()),
                    waits("ahead", "3", &json!({"submitted_at": "2026-01-13T09:00:00Z"})),
                    waits("w", "1", &json!({"submitted_at": "2026-01-13T10:00:00Z"})),
                ],
                || Remedy::Options(json!({"backfill": "skip"})),
            )
        },
        ReasonCase {
            options: json!({"actions": IDLE, "backfill": "easy"}),
            blocked_by: json!(["ahead"]),
            ..case(
                "reserved",
                json!({"until": "2026-01-13T13:00:00Z"}),
                vec![
                    runs("r1", "3", "n1", &json!({"expected_seconds": 10_800})),
                    runs("r2", "4", "n2", &json!({"expected_seconds": 108_000})),
                    waits("ahead", "4", &json!({"submitted_at": "2026-01-13T09:00:00Z"})),
                    waits("w", "1", &json!({"submitted_at": "2026-01-13T10:00:00Z"})),
                ],
                || Remedy::Options(json!({"backfill": "skip"})),
            )
        },
    ]
}

/// The workload `w` waits for each reason of shares and searches.
fn share_reasons() -> Vec<ReasonCase> {
    vec![
        ReasonCase {
            options: json!({"actions": ["allocate"], "order": "queues", "backfill": "none"}),
            queues: json!([{"name": "vision", "quota": {"gpu": "4"}}, {"name": "audio", "quota": {"gpu": "4"}}]),
            ..case(
                "queue_share",
                json!({"queue": "vision", "share": {"gpu": "4"}, "held": {"gpu": "4"}}),
                vec![
                    runs("r1", "4", "n1", &none()),
                    runs("r2", "1", "n2", &json!({"queue": "audio"})),
                    waits("other", "4", &json!({"queue": "audio"})),
                    waits("w", "1", &none()),
                ],
                || Remedy::Kernel(ended(runs("r1", "4", "n1", &json!({})))),
            )
        },
        ReasonCase {
            options: json!({"actions": ["allocate", "reclaim"]}),
            queues: json!([{"name": "vision", "quota": {"gpu": "4"}}, {"name": "audio", "quota": {"gpu": "4"}}]),
            ..case(
                "reclaim_refused",
                json!({"rule": "placement"}),
                vec![
                    runs("r1", "4", "n1", &json!({"queue": "audio", "preemptible": false})),
                    runs("r2", "4", "n2", &json!({"queue": "audio", "preemptible": false})),
                    waits("w", "2", &none()),
                ],
                || Remedy::Kernel(ended(runs("r1", "4", "n1", &json!({"queue": "audio", "preemptible": false})))),
            )
        },
        ReasonCase {
            options: json!({"actions": ["allocate", "reclaim"], "search_budget_ms": 0}),
            queues: json!([{"name": "vision", "quota": {"gpu": "4"}}, {"name": "audio", "quota": {"gpu": "4"}}]),
            ..case(
                "budget",
                none(),
                vec![
                    runs("r1", "4", "n1", &json!({"queue": "audio"})),
                    runs("r2", "4", "n2", &json!({"queue": "audio"})),
                    waits("w", "2", &none()),
                ],
                || Remedy::Options(json!({"search_budget_ms": 1_000})),
            )
        },
        ReasonCase {
            options: json!({"actions": IDLE, "depth": 1}),
            ..case(
                "depth",
                none(),
                vec![
                    waits("ahead", "1", &json!({"submitted_at": "2026-01-13T09:00:00Z"})),
                    waits("w", "1", &json!({"submitted_at": "2026-01-13T10:00:00Z"})),
                ],
                || Remedy::Options(json!({"depth": 2})),
            )
        },
    ]
}

on_both! {
    async fn a_plan_says_what_starts_where_and_what_waits(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1", "n2"]).await;
        report(&server, &[
            runs("r", "3", "n1", &json!({})),
            waits("gang", "2", &json!({"submitted_at": "2026-01-13T09:00:00Z"})),
            waits("gang", "2", &json!({"submitted_at": "2026-01-13T09:00:00Z", "kernel_id": id("gang2")})),
            waits("one", "1", &json!({"submitted_at": "2026-01-13T09:10:00Z"})),
            waits("two", "1", &json!({"submitted_at": "2026-01-13T09:20:00Z"})),
            waits("huge", "9", &json!({})),
            waits("partial", "1", &json!({"gang_min": 3})),
        ]).await;
        let answer = plan(&server, json!({})).await;
        assert_eq!(started(&answer), ["gang n2 n2", "one n1"], "{answer:#}");
        let mut kernels = [id("gang").to_string(), id("gang2").to_string()];
        kernels.sort();
        let members = answer["starts"][0]["members"].as_array().unwrap();
        let named: Vec<&str> = members.iter().map(|member| member["kernel_id"].as_str().unwrap()).collect();
        assert_eq!(named, kernels);
        assert_eq!((&answer["starts"][0]["action"], &answer["starts"][0]["position"]), (&json!("allocate"), &json!(1)));
        let reasons: Vec<(&str, &str)> = answer["waiting"].as_array().unwrap().iter()
            .map(|row| (row["workload_id"].as_str().unwrap(), row["reason"].as_str().unwrap())).collect();
        assert_eq!(reasons, [("two", "no_room"), ("huge", "too_large"), ("partial", "gang")]);
        assert_eq!(answer["waiting"][2]["details"], json!({"fit": 0, "minimum": 3, "reported": 1}));
        let imagined = server.call("POST", &group("/workloads/partial/what-if"), Some(&json!({}))).await.json(200);
        assert_eq!((&imagined["starts"], &imagined["waiting"]["details"]["reported"]), (&json!(false), &json!(1)));
        // Once the scheduler has done so, nothing more starts.
        report(&server, &[
            runs("gang", "2", "n2", &json!({})), runs("gang", "2", "n2", &json!({"kernel_id": id("gang2")})), runs("one", "1", "n1", &json!({})),
        ]).await;
        assert_eq!(started(&plan(&server, json!({})).await), [""; 0]);
    }

    async fn every_reason_is_listed_and_true(db: TestDb) {
        let server = Server::new(db).await;
        for case in room_reasons().into_iter().chain(share_reasons()) {
            set_cycle(&server, Value::Null).await;
            set_cycle(&server, case.options).await;
            queues(&server, case.queues).await;
            agents(&server, &["n1", "n2"]).await;
            let kernels: Vec<Value> = case.kernels.into_iter().map(|kernel| of_case(case.reason, kernel)).collect();
            report(&server, &kernels).await;
            let found = waiting(&server, "w").await;
            assert_eq!(found["reason"], case.reason, "{found}");
            let details = found["details"].as_object().unwrap();
            for (key, value) in case.details.as_object().unwrap() {
                assert_eq!(details.get(key), Some(value), "{}: {found}", case.reason);
            }
            assert_eq!((&found["blocked_by"], &found["as_of"]), (&case.blocked_by, &json!("2026-01-13T12:00:00Z")), "{found}");
            let listed = server.get(&group(&format!("/workloads?reason={}", case.reason))).await;
            assert!(listed["items"].as_array().unwrap().iter().any(|item| item["workload_id"] == "w"), "{listed}");
            let explained = server.get(&group("/explain?workload=w")).await;
            assert_eq!(explained["workload"]["waiting"]["reason"], case.reason, "{explained}");
            (case.without)().apply(&server, case.reason).await;
            let answer = plan(&server, json!({})).await;
            let starts = started(&answer).iter().any(|start| start.starts_with("w "));
            assert!(starts || waiting(&server, "w").await["reason"] != case.reason, "{}: {answer:#}", case.reason);
            report(&server, &kernels.into_iter().map(ended).collect::<Vec<_>>()).await;
            for agent in server.get(&group("/agents")).await["items"].as_array().unwrap() {
                let path = group(&format!("/agents/{}", agent["agent_id"].as_str().unwrap()));
                assert_eq!(server.call("DELETE", &path, None).await.status, 204);
            }
        }
    }

    async fn options_are_stored_audited_and_undone_and_a_request_replaces_keys(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[
            runs("r", "2", "n1", &json!({})),
            waits("first", "3", &json!({"submitted_at": "2026-01-13T09:00:00Z"})),
            waits("next", "1", &json!({"submitted_at": "2026-01-13T09:10:00Z"})),
        ]).await;
        assert_eq!(started(&plan(&server, json!({})).await), ["next n1"]);
        set_cycle(&server, json!({"backfill": "none"})).await;
        assert_eq!(started(&plan(&server, json!({})).await), [""; 0]);
        assert_eq!(started(&plan(&server, json!({"cycle": {"backfill": "skip"}})).await), ["next n1"]);
        // The lists show the cycle with the group's own options.
        assert_eq!(waiting(&server, "next").await["reason"], "behind");
        let shown = &server.get(&group("/scheduler-options")).await["scheduler_opts"]["cycle"];
        assert_eq!((&shown["backfill"], &shown["order"]), (&json!("none"), &json!("sequencer")));
        assert_eq!(shown["actions"], json!(["allocate", "backfill", "reclaim", "preempt"]));
        let entries = server.get("/audit-log?action=scheduler_options.patch&limit=1").await;
        let entry = &entries["items"][0];
        let undo = server.call("POST", &format!("/audit-log/{}/undo", entry["id"].as_str().map_or_else(|| entry["id"].to_string(), str::to_owned)), None).await;
        assert!(undo.status.is_success(), "{undo:?}");
        assert_eq!(started(&plan(&server, json!({})).await), ["next n1"]);
    }

    async fn wrong_options_have_their_place(db: TestDb) {
        let server = Server::new(db).await;
        for (options, pointer, code) in [
            (json!({"speed": 1}), "/speed", "unknown_option"),
            (json!({"actions": []}), "/actions", "empty"),
            (json!({"actions": ["grow"]}), "/actions/0", "invalid_value"),
            (json!({"order": "chaos"}), "/order", "invalid_value"),
            (json!({"queue_order": "fifo"}), "/queue_order", "invalid_value"),
            (json!({"depth": 0}), "/depth", "out_of_range"),
            (json!({"node_order": {"nearest": 1}}), "/node_order/nearest", "unknown_score"),
        ] {
            let answer = server.call("POST", &group("/cycle-plans"), Some(&json!({"cycle": options}))).await;
            assert_eq!(answer.refused(422, code), [format!("/cycle{pointer}")]);
            let body = json!({"scheduler_opts": {"cycle": options}});
            let answer = server.call("PATCH", &group("/scheduler-options"), Some(&body)).await;
            assert_eq!(answer.refused(422, code), [format!("/scheduler_opts/cycle{pointer}")]);
        }
    }

    async fn a_request_may_bring_its_own_workloads(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[waits("reported", "4", &json!({}))]).await;
        let workload = |name: &str, user: &str, gpus: &str| json!({
            "workload_id": name, "owner": {"user": id(user), "project": id("vision")},
            "members": [{"slots": {"gpu": gpus}}],
        });
        let answer = plan(&server, json!({"workloads": [workload("a", "alice", "1"), workload("b", "bob", "2")]})).await;
        assert_eq!(answer["starts"].as_array().unwrap().len(), 2, "{answer:#}");
        assert!(answer["starts"][0]["members"][0].get("kernel_id").is_none());
        let unknown = with(workload("a", "alice", "1"), &json!({"owner": {"user": "nobody", "project": id("vision")}}));
        let warned = plan(&server, json!({"workloads": [unknown]})).await;
        assert!(warned["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "unknown_user"), "{warned:#}");
        // Lists show what is reported.
        assert_eq!(waiting(&server, "reported").await, Value::Null);
        for (change, pointer, code) in [
            (json!({"position": 1}), "/workloads/0/position", "not_applicable"),
            (json!({"owner": {"domain": "research"}}), "/workloads/0/owner/domain", "not_applicable"),
            (json!({"owner": {}}), "/workloads/0/owner", "required"),
            (json!({"queue": "gone"}), "/workloads/0/queue", "unknown_queue"),
            (json!({"members": []}), "/workloads/0/members", "empty"),
            (json!({"members": [{"slots": {"gpu": 1}, "count": 0}]}), "/workloads/0/members/0/count", "out_of_range"),
        ] {
            let body = json!({"workloads": [with(workload("a", "alice", "1"), &change)]});
            let answer = server.call("POST", &group("/cycle-plans"), Some(&body)).await;
            assert!(!answer.status.is_success(), "{change}");
            assert_eq!(answer.refused(422, code), [pointer], "{change}");
        }
    }

    async fn schedulers_ask_and_users_see_their_own(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        set_cycle(&server, json!({"backfill": "none", "actions": ["allocate"]})).await;
        report(&server, &[
            runs("r", "2", "n1", &json!({})),
            waits("secret", "3", &json!({"user_uuid": id("bob"), "submitted_at": "2026-01-13T09:00:00Z", "priority": 5})),
            waits("mine", "1", &json!({})),
        ]).await;
        for role in Role::ALL {
            let key = server.key_for(role, (role == Role::User).then_some("alice")).await;
            let status = server.call_as(&key, "POST", &group("/cycle-plans"), Some(&json!({}))).await.status.as_u16();
            let may = matches!(role, Role::Admin | Role::Scheduler);
            assert_eq!(status, if may { 200 } else { 403 }, "{role:?}");
        }
        let key = server.key_for(Role::User, Some("alice")).await;
        let seen = server.call_as(&key, "GET", &group("/workloads/mine"), None).await.json(200);
        assert_eq!((&seen["waiting"]["reason"], &seen["waiting"]["blocked_by"]), (&json!("behind"), &json!([])));
        assert_eq!(waiting(&server, "mine").await["blocked_by"], json!(["secret"]));
    }

    async fn a_workload_may_be_imagined_different(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1", "n2"]).await;
        queues(&server, json!([{"name": "vision", "quota": {"gpu": "4"}}, {"name": "audio", "quota": {"gpu": "4"}}])).await;
        set_cycle(&server, json!({"backfill": "easy"})).await;
        report(&server, &[
            runs("r1", "3", "n1", &json!({"queue": "audio", "expected_seconds": 10_800})),
            runs("r2", "3", "n2", &json!({"queue": "audio", "preemptible": false, "expected_seconds": 108_000})),
            waits("ahead", "4", &json!({"user_uuid": id("bob"), "submitted_at": "2026-01-13T09:00:00Z", "preemptible": false})),
            waits("w", "2", &json!({"submitted_at": "2026-01-13T10:00:00Z"})),
        ]).await;
        let ask = async |change: Value| server.call("POST", &group("/workloads/w/what-if"), Some(&change)).await.json(200);
        let plain = ask(json!({})).await;
        assert_eq!((&plain["starts"], &plain["waiting"]["reason"]), (&json!(false), &waiting(&server, "w").await["reason"]), "{plain:#}");
        let half = ask(json!({"slots_part": "0.5"})).await;
        assert_eq!((&half["starts"], &half["agents"], &half["evicted_kernels"]), (&json!(true), &json!(["n2"]), &json!(0)), "{half:#}");
        let alone = ask(json!({"alone": true})).await;
        assert_eq!((&alone["starts"], &alone["action"], &alone["evicted_kernels"]), (&json!(true), &json!("reclaim"), &json!(1)), "{alone:#}");
        assert_eq!(ask(json!({"queue": "audio", "alone": true})).await["starts"], false);
        // Nothing has changed.
        assert_eq!(waiting(&server, "w").await["reason"], plain["waiting"]["reason"]);
        let query = r#"{ workload_what_if(resource_group: "gpu-cluster", workload_id: "w", change: {slots_part: "0.5"}) }"#;
        let shown: Value = serde_json::from_str(server.graphql(query).await["data"]["workload_what_if"].as_str().unwrap()).unwrap();
        assert_eq!(shown, half);
        for (change, pointer, code) in [
            (json!({"slots_part": "0"}), "/slots_part", "out_of_range"),
            (json!({"slots_part": "1.5"}), "/slots_part", "out_of_range"),
            (json!({"expected_seconds": 0}), "/expected_seconds", "out_of_range"),
            (json!({"queue": "gone"}), "/queue", "unknown_queue"),
            (json!({"speed": 1}), "/speed", "unknown_field"),
        ] {
            let answer = server.call("POST", &group("/workloads/w/what-if"), Some(&change)).await;
            assert_eq!(answer.refused(422, code), [pointer], "{change}");
        }
        for unknown in ["nothing", "r1"] {
            let path = group(&format!("/workloads/{unknown}/what-if"));
            assert_eq!(server.call("POST", &path, Some(&json!({}))).await.json(404)["code"], "unknown_workload");
        }
        // A user asks about their own, and sees nothing of others.
        let key = server.key_for(Role::User, Some("alice")).await;
        let own = server.call_as(&key, "POST", &group("/workloads/w/what-if"), Some(&json!({}))).await.json(200);
        assert_eq!(own["waiting"]["blocked_by"], json!([]));
        let own = server.call_as(&key, "POST", &group("/workloads/w/what-if"), Some(&json!({"slots_part": "0.5"}))).await.json(200);
        assert_eq!((&own["starts"], &own["agents"]), (&json!(true), &json!([])));
        let queue = server.call_as(&key, "POST", &group("/workloads/w/what-if"), Some(&json!({"queue": "audio"}))).await;
        assert_eq!(queue.refused(422, "not_applicable"), ["/queue"]);
        let other = server.call_as(&key, "POST", &group("/workloads/ahead/what-if"), Some(&json!({}))).await;
        assert_eq!(other.json(404)["code"], "unknown_workload");
    }

    async fn graphql_answers_the_same(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[waits("w", "1", &json!({})), waits("v", "4", &json!({}))]).await;
        let answer = server.graphql(r#"{ plan_cycle(resource_group: "gpu-cluster") }"#).await;
        let planned: Value = serde_json::from_str(answer["data"]["plan_cycle"].as_str().unwrap()).unwrap();
        assert_eq!(planned, plan(&server, json!({})).await);
        let query = r#"{ plan_cycle(resource_group: "gpu-cluster", input: {cycle: {depth: 0}}) }"#;
        let refused = server.graphql(query).await;
        assert!(refused["errors"][0].to_string().contains("/input/cycle/depth"), "{refused}");
    }

    async fn a_sequence_of_the_scheduler_hides_no_reason(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[runs("r", "4", "n1", &json!({})), waits("w", "1", &json!({}))]).await;
        let workload = json!({"workload_id": "w", "user_uuid": id("alice"), "project_id": id("vision")});
        server.call("POST", &group("/sequence"), Some(&json!({"workloads": [workload]}))).await.json(200);
        let explained = server.get(&group("/explain?workload=w")).await;
        assert_eq!(explained["workload"]["waiting"]["reason"], "no_room", "{explained}");
    }

    async fn run_times_are_learned_and_never_too_long(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        set_cycle(&server, json!({"backfill": "easy", "actions": IDLE})).await;
        // Alice's kernels run for two hours, and bob's have run for three years.
        let years = json!({"user_uuid": id("bob"), "started_at": "2023-01-13T10:00:00Z"});
        report(&server, &[
            ended(runs("old", "1", "n1", &json!({}))), ended(runs("older", "1", "n1", &years)),
            runs("r", "4", "n1", &json!({"started_at": "2026-01-13T11:00:00Z"})), waits("w", "1", &json!({})),
        ]).await;
        server.tick().await;
        assert_eq!(waiting(&server, "w").await["reserved_at"], "2026-01-13T13:00:00Z");
        report(&server, &[runs("b", "0", "n1", &json!({"user_uuid": id("bob")}))]).await;
        assert_eq!(waiting(&server, "w").await["reserved_at"], "2026-01-13T13:00:00Z");
    }

    async fn members_with_other_rules_are_counted(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[
            waits("w", "1", &json!({"labels": {"app": "x"}})), waits("w", "1", &json!({"labels": {"app": "y"}, "kernel_id": id("w2")})),
        ]).await;
        let answer = plan(&server, json!({})).await;
        assert!(answer["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "members_differ"), "{answer:#}");
    }

    async fn the_queue_of_a_project_is_found_where_queues_take_turns(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        let project = id("vision");
        queues(&server, json!([{"name": project, "limit": {"gpu": "1"}}])).await;
        report(&server, &[runs("r", "0", "n1", &json!({}))]).await;
        let workload = json!({"workload_id": "a", "owner": {"project": project}, "members": [{"slots": {"gpu": 1}}]});
        let answer = plan(&server, json!({"workloads": [workload], "cycle": {"order": "queues"}})).await;
        assert_eq!(answer["starts"][0]["queue"], json!(project), "{answer:#}");
    }

    async fn a_change_is_in_the_next_list(db: TestDb) {
        let server = Server::new(db).await;
        agents(&server, &["n1"]).await;
        report(&server, &[runs("r", "4", "n1", &json!({})), waits("w", "1", &json!({}))]).await;
        assert_eq!(waiting(&server, "w").await["reason"], "no_room");
        report(&server, &[ended(runs("r", "4", "n1", &json!({})))]).await;
        assert_eq!(waiting(&server, "w").await, Value::Null);
        // Kernels without an agent leave nothing but totals to compare.
        report(&server, &[runs("s", "2", "n1", &json!({"agent_id": null}))]).await;
        let answer = plan(&server, json!({})).await;
        assert_eq!(started(&answer), ["w -"]);
        assert!(answer["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "unknown_agent"), "{answer:#}");
    }
}
