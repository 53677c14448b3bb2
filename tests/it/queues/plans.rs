//! Reclaim plans of live groups: their victims, and the reasons of refusals.

use fairshared::domain::reclaim::{PendingMember, ReclaimPlan, ReclaimRule, ReclaimVerdict};
use fairshared::service::plans::PlanRequest;
use fairshared::service::{Error, Role, Service};
use serde_json::{Value, json};

use super::set_queues;
use crate::support::fixture::{Fixture, GROUP, admin, caller_with, id, incoming, kernel, slots, with};
use crate::support::on_both;

const START: &str = "2026-01-10T00:00:00Z";

fn gpus(name: &str, queue: &str, count: &str, changes: &Value) -> Value {
    let base = with(kernel(name, "alice", "p", START), &json!({"queue": queue, "occupied_slots": {"gpu": count}}));
    with(base, changes)
}

fn request(workload: &str, queue: &str, members: &[&str]) -> PlanRequest {
    let member = |count: &&str| PendingMember {
        slots: slots(&json!({"gpu": count})),
        labels: std::collections::BTreeMap::new(),
    };
    PlanRequest {
        workload_id: workload.to_owned(),
        queue: Some(queue.to_owned()),
        project: None,
        project_id: None,
        priority: 0,
        preemptible: true,
        created_at: None,
        gang_min: None,
        members: members.iter().map(member).collect(),
    }
}

async fn try_plan(f: &Fixture, request: PlanRequest) -> Result<ReclaimPlan, Error> {
    f.service.plan_reclaim(&admin(), GROUP, request).await.map(|planned| planned.plan)
}

async fn plan(f: &Fixture, request: PlanRequest) -> ReclaimPlan {
    try_plan(f, request).await.unwrap()
}

fn victims(plan: &ReclaimPlan) -> Vec<String> {
    plan.victims.iter().flat_map(|v| v.kernel_ids.iter().map(ToString::to_string)).collect()
}

fn ids(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| id(n).to_string()).collect()
}

/// Two agents of 4 devices; `a` and `b` have a quota of 4 each, and `a` holds six of the eight.
async fn full(db: crate::support::database::TestDb) -> Fixture {
    let f = Fixture::new(db, START).await;
    f.agent("n1", &json!({"gpu": "4"})).await;
    f.agent("n2", &json!({"gpu": "4"})).await;
    set_queues(&f, &json!([{"name": "a", "quota": {"gpu": "4"}}, {"name": "b", "quota": {"gpu": "4"}}])).await;
    let at = |hour: u32, agent: &str| json!({"agent_id": agent, "started_at": format!("2026-01-09T{hour:02}:00:00Z")});
    f.ingest(&[
        gpus("a1", "a", "2", &at(1, "n1")),
        gpus("a2", "a", "2", &at(2, "n1")),
        gpus("a3", "a", "2", &at(3, "n2")),
        gpus("b1", "b", "1", &at(4, "n2")),
    ])
    .await;
    f
}

on_both! {
    async fn what_fits_takes_nobody(db: TestDb) {
        let f = full(db).await;
        let fits = plan(&f, request("w", "b", &["1"])).await;
        assert_eq!((fits.verdict, fits.victims.len()), (ReclaimVerdict::Fits, 0));
        let placed: Vec<_> = fits.placement.unwrap().iter().map(|p| p.agent_id.to_string()).collect();
        assert_eq!(placed, ["n2"]);
    }

    async fn the_newest_of_who_has_too_much_gives_back(db: TestDb) {
        let f = full(db).await;
        let taken = plan(&f, request("w", "b", &["2"])).await;
        assert_eq!(taken.verdict, ReclaimVerdict::Reclaim, "{taken:?}");
        assert_eq!(victims(&taken), ids(&["a3"]));
        assert_eq!(&*taken.victims[0].queue, "a");
        assert_eq!(taken.disruption_ratio.to_string(), "1");
        // Once it ended there is room: live state counts, not what was read before.
        f.ingest(&[gpus("a3", "a", "2", &json!({"agent_id": "n2", "started_at": "2026-01-09T03:00:00Z", "status": "TERMINATED", "terminated_at": "2026-01-10T00:00:00Z"}))]).await;
        assert_eq!(plan(&f, request("w", "b", &["2"])).await.verdict, ReclaimVerdict::Fits);
    }

    async fn refusals_say_why(db: TestDb) {
        let f = full(db).await;
        let refused = plan(&f, request("w", "a", &["2"])).await;
        assert_eq!(refused.verdict, ReclaimVerdict::Refused);
        assert!(refused.victims.is_empty());
        assert_eq!(refused.refusals[0].rule, ReclaimRule::GateFairShare);
        // Critical kernels stay, whatever queue they belong to.
        let critical = |name: &str, agent: &str| gpus(name, "a", "2", &json!({"agent_id": agent, "critical": true, "started_at": "2026-01-09T03:00:00Z"}));
        let started = |name: &str, hour: u32, agent: &str| gpus(name, "a", "2", &json!({"agent_id": agent, "critical": true, "started_at": format!("2026-01-09T{hour:02}:00:00Z")}));
        f.ingest(&[critical("a3", "n2"), started("a1", 1, "n1"), started("a2", 2, "n1")]).await;
        let refused = plan(&f, request("w", "b", &["2"])).await;
        assert_eq!(refused.verdict, ReclaimVerdict::Refused);
        assert!(refused.refusals.iter().any(|r| r.rule == ReclaimRule::Critical), "{refused:?}");
        set_queues(&f, &json!([{"name": "a", "quota": {"gpu": "4"}}, {"name": "b", "limit": {"gpu": "1"}}])).await;
        let over = plan(&f, request("w", "b", &["2"])).await;
        assert_eq!((over.verdict, over.refusals[0].rule), (ReclaimVerdict::Refused, ReclaimRule::Limit));
    }

    async fn kernels_of_a_gang_go_together(db: TestDb) {
        let f = Fixture::new(db, START).await;
        f.agent("n1", &json!({"gpu": "8"})).await;
        set_queues(&f, &json!([{"name": "a", "quota": {"gpu": "2"}}, {"name": "b", "quota": {"gpu": "6"}}])).await;
        let gang = |name: &str| gpus(name, "a", "2", &json!({"agent_id": "n1", "gang_id": "train", "gang_min": 3}));
        f.ingest(&[gang("g1"), gang("g2"), gang("g3"), gang("g4")]).await;
        let one = plan(&f, request("w", "b", &["2"])).await;
        assert_eq!((one.verdict, one.victims.len(), one.victims[0].kernel_ids.len()), (ReclaimVerdict::Reclaim, 1, 1));
        assert_eq!(&*one.victims[0].workload_id, "train");
        let all = plan(&f, request("w", "b", &["2", "2"])).await;
        assert_eq!(victims(&all).len(), 4, "{all:?}");
    }

    async fn kernels_that_wait_already_are_no_second_demand(db: TestDb) {
        let f = full(db).await;
        let wait = |name: &str, gang: &str| gpus(name, "b", "1", &json!({"gang_id": gang, "status": "PENDING", "started_at": null}));
        f.ingest(&[wait("w1", "known"), wait("w2", "known"), wait("w3", "other")]).await;
        let share = |plan: &ReclaimPlan, queue: &str| plan.before.iter().find(|f| &*f.queue == queue).unwrap().fair_share.to_json();
        // a asks for 6, b for 1 + 3: quotas 4 and 4 are the whole.
        set_queues(&f, &json!([{"name": "a"}, {"name": "b"}])).await;
        let known = plan(&f, request("known", "b", &["1", "1"])).await;
        assert_eq!(share(&known, "b"), r#"{"gpu":"4"}"#);
        let larger = plan(&f, request("known", "b", &["1", "1", "1", "1"])).await;
        assert_eq!(share(&larger, "b"), r#"{"gpu":"4"}"#);
        set_queues(&f, &json!([{"name": "a", "over_quota_weight": "0.1"}, {"name": "b"}])).await;
        assert_eq!(share(&plan(&f, request("known", "b", &["1", "1"])).await, "b"), r#"{"gpu":"4"}"#);
        assert_eq!(share(&plan(&f, request("new", "b", &["1", "1"])).await, "b"), r#"{"gpu":"6"}"#);
    }

    async fn the_queue_is_resolved_or_must_be_there(db: TestDb) {
        let f = full(db).await;
        let refused = try_plan(&f, request("w", "ghost", &["1"])).await.unwrap_err();
        let Error::Invalid(faults) = &refused else { panic!("{refused:?}") };
        assert_eq!((faults[0].pointer.as_str(), faults[0].code), ("/queue", "unknown_queue"));
        let of = |queue: Option<&str>, project: Option<&str>| PlanRequest {
            queue: queue.map(str::to_owned), project_id: project.map(|p| fairshared::domain::ids::ProjectId(id(p))), ..request("w", "", &["1"])
        };
        let queue_of = async |request: PlanRequest| plan(&f, request).await.before[0].queue.to_string();
        assert_eq!(queue_of(of(None, None)).await, "default");
        assert_eq!(queue_of(of(Some("default"), None)).await, "default");
        set_queues(&f, &json!([{"name": "a"}, {"name": "b"}, {"name": id("p").to_string()}])).await;
        assert_eq!(queue_of(of(None, Some("p"))).await, id("p").to_string());
    }

    async fn unusable_workloads_are_named(db: TestDb) {
        let f = full(db).await;
        let faults = async |request: PlanRequest| match try_plan(&f, request).await {
            Err(Error::Invalid(faults)) => faults.into_iter().map(|f| (f.pointer, f.code)).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(faults(request("w", "b", &[])).await, [("/members".to_owned(), "empty")]);
        let gang = PlanRequest { gang_min: Some(3), ..request("w", "b", &["1"]) };
        assert_eq!(faults(gang).await, [("/gang_min".to_owned(), "out_of_range")]);
        let mut unknown = request("w", "b", &["1"]);
        unknown.members[0].slots = slots(&json!({"tpu": "1"}));
        assert_eq!(faults(unknown).await, [("/members/0/slots".to_owned(), "unknown_slot")]);
        let huge = plan(&f, request("w", "b", &["1000000000000000000"])).await;
        assert_eq!(huge.verdict, ReclaimVerdict::Refused);
        for role in Role::ALL {
            let caller = caller_with(role);
            let answer = f.service.plan_reclaim(&caller, GROUP, request("w", "b", &["1"])).await;
            assert_eq!(answer.is_ok(), matches!(role, Role::Admin | Role::Scheduler), "{role:?}");
        }
    }

    async fn without_places_only_totals_count(db: TestDb) {
        let f = full(db).await;
        f.ingest(&[gpus("b2", "b", "1", &json!({}))]).await;
        let refused = plan(&f, request("w", "a", &["1"])).await;
        assert_eq!(refused.verdict, ReclaimVerdict::Refused);
        assert!(refused.placement.is_none());
        assert!(refused.warnings.iter().any(|w| w.code == "unknown_agent"), "{refused:?}");
        let taken = plan(&f, request("w", "b", &["1"])).await;
        assert_eq!((taken.verdict, taken.victims.len()), (ReclaimVerdict::Reclaim, 1));
    }

    async fn what_is_odd_about_the_queues_is_told(db: TestDb) {
        let f = Fixture::new(db, START).await;
        let odd = json!([{"name": "a", "quota": {"gpu": 2}}, {"name": "b", "quota": {"gpu": 2}, "limit": {"gpu": 1}}]);
        set_queues(&f, &odd).await;
        let codes = |warnings: &[fairshared::domain::division::DivisionWarning]| warnings.iter().map(|w| w.code).collect::<Vec<_>>();
        let divided = f.service.division(&admin(), GROUP, false).await.unwrap();
        let told = codes(&divided.division.report.warnings);
        assert!(!told.is_empty());
        assert_eq!(codes(&plan(&f, request("w", "a", &["1"])).await.warnings), told);
    }

    async fn what_was_read_once_is_kept_up(db: TestDb) {
        let f = full(db).await;
        let ask = async |service: &std::sync::Arc<Service>, workload: &str, queue: &str, count: &str| {
            let planned = service.plan_reclaim(&admin(), GROUP, request(workload, queue, &[count])).await.unwrap();
            serde_json::to_value(&planned.plan).unwrap()
        };
        let other = Service::new(f.db.store().await, std::sync::Arc::clone(&f.clock) as _).await.unwrap();
        plan(&f, request("w", "b", &["2"])).await;
        // Kernels that come, go, wait, move and change, in many writes; the plans are those of a service that reads everything again.
        let mut elsewhere = false;
        for round in 0..40_u32 {
            let name = |k: u32| format!("k{}", (round * 7 + k * 3) % 11);
            let of = |k: u32| {
                let (queue, agent) = ([Some("a"), Some("b"), None, Some("ghost")][((round + k) % 4) as usize], ["n1", "n2"][(k % 2) as usize]);
                let gang = k.is_multiple_of(3).then(|| format!("gang{}", k % 2));
                let base = json!({"queue": queue, "agent_id": agent, "gang_id": gang, "priority": round % 3, "started_at": format!("2026-01-09T{:02}:00:00Z", k % 24)});
                let state = match (round + k) % 5 {
                    0 => json!({"status": "PENDING", "started_at": null}),
                    1 if round > 20 => json!({"status": "TERMINATED", "terminated_at": "2026-01-09T23:30:00Z"}),
                    _ => json!({}),
                };
                gpus(&name(k), "a", "1", &with(base, &state))
            };
            f.ingest(&(0..(round % 4)).map(of).collect::<Vec<_>>()).await;
            match round % 10 {
                3 => f.agent("n3", &json!({"gpu": (round % 3).to_string()})).await,
                5 => set_queues(&f, &json!([{"name": "a", "quota": {"gpu": (round % 4).to_string()}}, {"name": "b", "quota": {"gpu": "4"}}])).await,
                7 => { f.tick().await; }
                8 => {
                    // Another process writes: what it did is read.
                    elsewhere = true;
                    let batch = vec![incoming(&gpus(&format!("other{round}"), "b", "1", &json!({"agent_id": "n2"})))];
                    assert!(other.ingest(&admin(), GROUP, batch).await.unwrap().is_empty());
                    if round % 20 == 8 {
                        f.service.refresh().await.unwrap();
                    }
                    f.ingest(&[gpus(&format!("own{round}"), "a", "1", &json!({"agent_id": "n1"}))]).await;
                }
                _ => {}
            }
            if round.is_multiple_of(3) {
                let before = f.service.store().statements();
                let mine = ask(&f.service, "gang0", "b", "3").await;
                let read = f.service.store().statements() - before;
                let excused = std::mem::take(&mut elsewhere);
                assert!(read <= 1 || excused, "round {round}: {read} statements, not just the agents");
                let fresh = Service::new(f.db.store().await, std::sync::Arc::clone(&f.clock) as _).await.unwrap();
                assert_eq!(mine, ask(&fresh, "gang0", "b", "3").await, "round {round}");
                assert_eq!(ask(&f.service, "w", "a", "2").await, ask(&fresh, "w", "a", "2").await, "round {round}");
            }
        }
    }
}
