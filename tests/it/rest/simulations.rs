//! Divisions and reclaim plans without stored data: the worked examples of the sources, and every bad input.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Answer, Server};
use crate::support::fixture::with;
use crate::support::on_both;

const DIVIDE: &str = "/division/simulate";
const RECLAIM: &str = "/reclaim/simulate";

/// The queues with their shares, where there is one slot.
fn shares(report: &Value) -> Vec<String> {
    let share = |q: &Value| q["fair_share"].as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
    report["queues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|q| format!("{} {}", q["name"].as_str().unwrap(), share(q)))
        .collect()
}

fn run_ai() -> Value {
    json!({
        "algorithm": "quota_over_quota", "capacity": {"gpu": 36}, "explain": true, "queues": [
            {"name": "p1", "over_quota_weight": 2, "quota": {"gpu": 10}, "request": {"gpu": 36}},
            {"name": "p2", "over_quota_weight": 3, "quota": {"gpu": 6}, "request": {"gpu": 36}},
            {"name": "p3", "over_quota_weight": 1, "request": {"gpu": 36}},
        ]
    })
}

fn ytsaurus(weight: u32) -> Value {
    json!({
        "algorithm": "min_share", "capacity": {"cpu": 100}, "queues": [
            {"name": "A", "weight": weight, "min_share_ratio": "0.6", "request": {"cpu": 100}},
            {"name": "B", "min_share_ratio": 0.2, "request": {"cpu": 100}},
        ]
    })
}

/// `count` running workloads of one gpu.
fn singles(queue: &str, count: usize) -> Vec<Value> {
    let single = |n: usize| {
        json!({
            "workload_id": format!("{queue}-{n}"), "queue": queue, "priority": 0, "preemptible": true,
            "created_at": format!("2026-01-10T00:{n:02}:00Z"),
            "members": [{"kernel_id": format!("{queue}-{n}/0"), "slots": {"gpu": 1}}],
        })
    };
    (0..count).map(single).collect()
}

/// `a` asks for gpus of a cluster of 8 that `b` holds.
fn eight(asked: u32) -> Value {
    json!({
        "algorithm": "quota_over_quota", "options": {}, "capacity": {"gpu": 8},
        "queues": [{"name": "a"}, {"name": "b"}], "running": singles("b", 8),
        "pending": {"workload_id": "new", "queue": "a", "priority": 0, "preemptible": true, "members": [{"slots": {"gpu": asked}}]},
    })
}

impl Server {
    async fn divide(&self, body: &Value) -> Value {
        self.call("POST", DIVIDE, Some(body)).await.json(200)
    }

    async fn plan(&self, body: &Value) -> Value {
        self.call("POST", RECLAIM, Some(body)).await.json(200)
    }

    /// The fault of `body` with one place changed.
    async fn fault(&self, path: &str, body: &Value, place: &str, value: Value) -> (Vec<String>, String) {
        let mut body = body.clone();
        let (parent, key) = place.rsplit_once('/').unwrap();
        match body.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            object => object[key] = value,
        }
        let answer: Answer = self.call("POST", path, Some(&body)).await;
        let problem = answer.json(422);
        let pointers = problem["errors"].as_array().unwrap().iter();
        (
            pointers.map(|e| e["pointer"].as_str().unwrap().to_owned()).collect(),
            problem["code"].as_str().unwrap().to_owned(),
        )
    }
}

on_both! {
    /// Run:ai, `YTsaurus`, kube-batch and the NSDI paper, as printed.
    async fn divisions_of_the_sources(db: TestDb) {
        let server = Server::new(db).await;
        let report = server.divide(&run_ai()).await;
        assert_eq!(shares(&report), ["p1 16.666666666667", "p2 16", "p3 3.333333333333"]);
        assert_eq!(report["trace"][1]["sentence"], "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused");
        assert_eq!((&report["remaining"], &report["order"]), (&json!({"gpu": "0"}), &json!(["p3", "p2", "p1"])));
        let whole = with(run_ai(), &json!({"options": {"rounding": "whole"}, "explain": false}));
        let report = server.divide(&whole).await;
        assert_eq!(shares(&report), ["p1 17", "p2 16", "p3 3"]);
        assert!(report.get("trace").is_none());

        assert_eq!(shares(&server.divide(&ytsaurus(1)).await), ["A 60", "B 40"]);
        assert_eq!(shares(&server.divide(&ytsaurus(3)).await), ["A 75", "B 25"]);
        let mut third = ytsaurus(1);
        third["queues"].as_array_mut().unwrap().push(json!({"name": "C", "request": {"cpu": "100"}}));
        let report = server.divide(&third).await;
        assert_eq!(shares(&report), ["A 60", "B 20", "C 20"]);
        assert_eq!(report["queues"][0]["fair_share_ratio"], "0.6");

        let wants = |name: &str| json!({"name": name, "request": {"cpu": 12}});
        let three = json!({"algorithm": "proportion", "capacity": {"cpu": 12}, "queues": [wants("q1"), wants("q2"), wants("q3")]});
        assert_eq!(shares(&server.divide(&three).await), ["q1 4", "q2 4", "q3 4"]);

        let nsdi = server.divide(&json!({"algorithm": "drf", "capacity": {"cpu": 9, "memory": 18}, "queues": [
            {"name": "A", "request": {"cpu": 9, "memory": 36}}, {"name": "B", "request": {"cpu": 54, "memory": 18}},
        ]})).await;
        // 3 tasks of <1, 4> and 2 tasks of <3, 1>.
        assert_eq!(nsdi["queues"][0]["fair_share"], json!({"cpu": "3", "memory": "12"}));
        assert_eq!(nsdi["queues"][1]["fair_share"], json!({"cpu": "6", "memory": "2"}));
    }

    /// kube-batch's third queue; KAI's two strategies, order and multiplier.
    async fn plans_of_the_sources(db: TestDb) {
        let server = Server::new(db).await;
        let mut third = eight(4);
        third["capacity"] = json!({"gpu": 12});
        third["queues"] = json!([{"name": "q1"}, {"name": "q2"}, {"name": "a"}]);
        third["running"] = json!([singles("q1", 6), singles("q2", 6)].concat());
        third["algorithm"] = json!("proportion");
        for policy in ["plugins", "strategies"] {
            third["options"] = json!({"policy": policy});
            let plan = server.plan(&third).await;
            let from = |queue: &str| plan["victims"].as_array().unwrap().iter().filter(|v| v["queue"] == queue).count();
            assert_eq!((&plan["verdict"], from("q1"), from("q2")), (&json!("reclaim"), 2, 2), "{policy}");
        }

        let plan = server.plan(&eight(2)).await;
        assert_eq!(plan["victims"], json!([
            {"workload_id": "b-7", "kernel_ids": ["b-7/0"], "queue": "b", "rule": "fair_share", "level": "b", "slot": "gpu"},
            {"workload_id": "b-6", "kernel_ids": ["b-6/0"], "queue": "b", "rule": "fair_share", "level": "b", "slot": "gpu"},
        ]));
        assert_eq!((&plan["disruption_ratio"], &plan["refusals"]), (&json!("1"), &json!([])));
        assert_eq!(plan["after"][0], json!({"queue": "a", "allocated": {"gpu": "2"}, "fair_share": {"gpu": "2"}, "saturation_ratio": {"gpu": "1"}}));
        assert!(plan.get("placement").is_none());

        // In quota itself, from a queue over its quota that holds all of its share: the free gpus are on two nodes.
        let mut quota = eight(2);
        quota["capacity"] = json!({"gpu": 12});
        quota["agents"] = json!([{"agent_id": "n0", "available_slots": {"gpu": 6}}, {"agent_id": "n1", "available_slots": {"gpu": 6}}]);
        quota["queues"] =
            json!([{"name": "a", "quota": {"gpu": 4}}, {"name": "b", "quota": {"gpu": 4}}, {"name": "c", "quota": {"gpu": 2}}]);
        let mut running = [singles("b", 8), singles("c", 2)].concat();
        for (at, workload) in running.iter_mut().enumerate() {
            workload["members"][0]["agent_id"] = json!(if at < 5 { "n0" } else { "n1" });
        }
        quota["running"] = json!(running);
        let plan = server.plan(&quota).await;
        let victim = &plan["victims"][0];
        assert_eq!((&victim["workload_id"], &victim["rule"]), (&json!("b-7"), &json!("quota")), "{plan}");
        assert_eq!((plan["victims"].as_array().unwrap().len(), &plan["placement"]), (1, &json!([{"member": 0, "agent_id": "n1"}])));
        quota["options"] = json!({"strategies": ["fair_share"]});
        assert_eq!(server.plan(&quota).await["verdict"], "refused");

        // After the transfer d1 holds 5 of 4; d2 stays above that with 8 of 6, not with a multiplier of 1.2.
        let departments = |multiplier: &str| {
            let mut case = eight(1);
            case["capacity"] = json!({"gpu": 13});
            case["options"] = json!({"reclaimer_utilization_multiplier": multiplier});
            case["queues"] = json!([
                {"name": "d1", "quota": {"gpu": 4}, "over_quota_weight": 0}, {"name": "d2", "quota": {"gpu": 6}, "over_quota_weight": 0},
                {"name": "a", "parent": "d1", "quota": {"gpu": 2}}, {"name": "b", "parent": "d1", "quota": {"gpu": 3}},
                {"name": "c", "parent": "d2"},
            ]);
            case["running"] = json!([singles("a", 1), singles("b", 3), singles("c", 9)].concat());
            case
        };
        let plan = server.plan(&departments("1")).await;
        assert_eq!((&plan["verdict"], &plan["victims"][0]["level"]), (&json!("reclaim"), &json!("d2")));
        let plan = server.plan(&departments("1.2")).await;
        assert_eq!(plan["verdict"], "refused", "{plan}");
        let refusal = plan["refusals"].as_array().unwrap().iter().find(|r| r["rule"] == "saturation").unwrap();
        assert_eq!((&refusal["reclaimer_ratio"], &refusal["level"]), (&json!("1.25"), &json!("d2")));
        let plan = server.plan(&departments("0.5")).await;
        assert!(plan["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "multiplier_raised"), "{plan}");
    }

    /// A plan is made for the moment in the request, or else for that of the server's clock.
    async fn the_moment_of_a_plan(db: TestDb) {
        let server = Server::new(db).await;
        let mut case = eight(8);
        case["queues"][1]["reclaim_min_runtime"] = json!(3600);
        case["queues"][0]["quota"] = json!({"gpu": 8});
        for workload in case["running"].as_array_mut().unwrap() {
            // Half an hour before the server's noon.
            workload["started_at"] = json!("2026-01-13T11:30:00Z");
        }
        let plan = server.plan(&case).await;
        assert_eq!((&plan["verdict"], &plan["refusals"][1]["rule"]), (&json!("refused"), &json!("min_runtime")));
        case["now"] = json!("2026-01-13T12:30:00Z");
        assert_eq!(server.plan(&case).await["verdict"], "reclaim");
    }

    async fn every_role_may_simulate(db: TestDb) {
        let server = Server::new(db).await;
        for role in Role::ALL {
            let key = server.key_for(role, (role == Role::User).then_some("alice")).await;
            server.call_as(&key, "POST", DIVIDE, Some(&run_ai())).await.json(200);
            server.call_as(&key, "POST", RECLAIM, Some(&eight(1))).await.json(200);
        }
        for path in [DIVIDE, RECLAIM] {
            server.call_as("wrong", "POST", path, Some(&run_ai())).await.refused(401, "unknown_key");
        }
    }

    async fn unusable_divisions(db: TestDb) {
        let server = Server::new(db).await;
        let base = run_ai();
        for (place, value, pointer, code) in [
            ("/algorithm", json!("lottery"), "/algorithm", "unknown_algorithm"),
            ("/colour", json!(1), "/colour", "unknown_field"),
            ("/options", json!({"colour": 1}), "/options/colour", "unknown_field"),
            ("/options", json!({"policy": "plugins"}), "/options/policy", "unknown_field"),
            ("/options", json!({"score_weights": {"gang": 1}}), "/options/score_weights/gang", "unknown_field"),
            ("/options", json!({"rounding": "up"}), "/options/rounding", "invalid_value"),
            ("/options", json!({"history_gain": -1}), "/options/history_gain", "invalid_value"),
            ("/options", json!({"history_gain": "1000000.1"}), "/options/history_gain", "out_of_range"),
            ("/capacity", json!({"gpu": -1}), "/capacity/gpu", "invalid_value"),
            ("/capacity", json!({"gpu": "NaN"}), "/capacity/gpu", "invalid_value"),
            ("/capacity", json!({"gpu": "unlimited"}), "/capacity/gpu", "invalid_value"),
            ("/capacity", json!({"gpu": "1".repeat(60)}), "/capacity/gpu", "invalid_value"),
            ("/capacity", json!([]), "/capacity", "invalid_type"),
            ("/queues/0", json!({"quota": {}}), "/queues/0/name", "invalid_name"),
            ("/queues/1/name", json!("p1"), "/queues/1/name", "duplicate_name"),
            ("/queues/1/parent", json!("nobody"), "/queues/1/parent", "unknown_parent"),
            ("/queues/1/parent", json!("p2"), "/queues/1/parent", "cycle"),
            ("/queues/1/weight", json!("-0.5"), "/queues/1/weight", "invalid_value"),
            ("/queues/1/weight", json!("NaN"), "/queues/1/weight", "invalid_value"),
            ("/queues/1/weight", json!("1000001"), "/queues/1/weight", "out_of_range"),
            ("/queues/1/quota", json!({"gpu": "some"}), "/queues/1/quota/gpu", "invalid_value"),
            ("/queues/1/limit", json!({"gpu": -3}), "/queues/1/limit/gpu", "invalid_value"),
            ("/queues/1/request", json!({"gpu": -3}), "/queues/1/request/gpu", "invalid_value"),
            ("/queues/1/over_quota_weight", json!(-1), "/queues/1/over_quota_weight", "invalid_value"),
            ("/queues/1/over_quota_weight", json!("1000000000000001"), "/queues/1/over_quota_weight", "out_of_range"),
            ("/queues/1/over_quota_weight", json!({"gpu": "x"}), "/queues/1/over_quota_weight/gpu", "invalid_value"),
            ("/queues/1/created_at", json!("soon"), "/queues/1/created_at", "invalid_value"),
            ("/queues/1/mode", json!("random"), "/queues/1/mode", "invalid_value"),
            ("/queues/1/priority", json!(1e12), "/queues/1/priority", "invalid_type"),
            ("/queues/1/colour", json!(1), "/queues/1/colour", "unknown_field"),
        ] {
            let found = server.fault(DIVIDE, &base, place, value.clone()).await;
            assert_eq!(found, (vec![pointer.to_owned()], code.to_owned()), "{place} {value}");
        }
        // A circle of three is named whole.
        let mut circle = base.clone();
        for (at, parent) in ["p2", "p3", "p1"].into_iter().enumerate() {
            circle["queues"][at]["parent"] = json!(parent);
        }
        let pointers = server.call("POST", DIVIDE, Some(&circle)).await.refused(422, "invalid");
        assert_eq!(pointers, ["/queues/0/parent", "/queues/1/parent", "/queues/2/parent"]);
        server.raw("POST", DIVIDE, "application/json", "{").await.refused(400, "malformed_json");
        server.raw("POST", DIVIDE, "application/json", vec![0xff, 0xfe]).await.refused(400, "invalid_utf8");
        server.raw("POST", DIVIDE, "application/json", "[".repeat(10_000)).await.refused(400, "too_deep");
        server.raw("POST", DIVIDE, "text/csv", "a").await.refused(415, "unsupported_media_type");
    }

    /// Odd but lawful input has a defined result, with a warning where an admin should look.
    async fn doubtful_divisions(db: TestDb) {
        let server = Server::new(db).await;
        let warned = async |body: Value| -> (Vec<String>, Value) {
            let report = server.divide(&body).await;
            let codes = report["warnings"].as_array().unwrap().iter().map(|w| w["code"].as_str().unwrap().to_owned());
            (codes.collect(), report["queues"][0]["fair_share"].clone())
        };
        let one = |queue: Value, algorithm: &str, capacity: Value| {
            let queue = with(json!({"name": "a", "request": {"gpu": 5}}), &queue);
            json!({"algorithm": algorithm, "capacity": capacity, "queues": [queue]})
        };
        for (queue, algorithm, capacity, code, share) in [
            (json!({"quota": {"gpu": 4}, "limit": {"gpu": 2}}), "quota_over_quota", json!({"gpu": 8}), "limit_below_quota", "2"),
            (json!({}), "quota_over_quota", json!({"gpu": 0}), "no_capacity", "0"),
            (json!({}), "drf", json!({}), "no_capacity", "0"),
            (json!({"over_quota_weight": 0}), "quota_over_quota", json!({"gpu": 8}), "zero_weight_with_demand", "0"),
            (json!({"weight": 0}), "min_share", json!({"gpu": 8}), "zero_weight_with_demand", "0"),
            (json!({"weight": 0}), "proportion", json!({"gpu": 8}), "zero_weight_with_demand", "0"),
            (json!({"min_share_ratio": "1.5"}), "min_share", json!({"gpu": 8}), "min_shares_above_1", "5"),
            (json!({"allocated": {"gpu": 7}}), "quota_over_quota", json!({"gpu": 8}), "request_below_allocation", "5"),
            (json!({"over_quota_weight": "1000000000000000"}), "drf", json!({}), "no_capacity", "0"),
            (json!({"quota": {"gpu": 9}}), "quota_over_quota", json!({"gpu": 8}), "quota_above_capacity", "5"),
        ] {
            let body = one(queue, algorithm, capacity);
            let (codes, shown) = warned(body.clone()).await;
            assert!(codes.iter().any(|c| c == code), "{body}: {codes:?}");
            assert_eq!(shown, json!({"gpu": share}), "{body}");
        }
        let empty = server.divide(&json!({"algorithm": "drf", "capacity": {}, "queues": []})).await;
        assert_eq!(empty, json!({"queues": [], "order": [], "score_order": [], "remaining": {}, "warnings": []}));
    }

    async fn unusable_plans(db: TestDb) {
        let server = Server::new(db).await;
        let mut base = eight(2);
        base["agents"] = json!([{"agent_id": "n0", "available_slots": {"gpu": 8}}, {"agent_id": "n1", "available_slots": {"gpu": 8}}]);
        for (place, value, pointer, code) in [
            ("/algorithm", json!("lottery"), "/algorithm", "unknown_algorithm"),
            ("/options", json!({"colour": 1}), "/options/colour", "unknown_field"),
            ("/options", json!({"policy": "chance"}), "/options/policy", "invalid_value"),
            ("/options", json!({"tiers": [["gang"], ["drf", "magic"]]}), "/options/tiers/1/1", "unknown_plugin"),
            ("/options", json!({"strategies": ["luck"]}), "/options/strategies/0", "invalid_value"),
            ("/options", json!({"reclaimer_utilization_multiplier": "NaN"}), "/options/reclaimer_utilization_multiplier", "invalid_value"),
            ("/options", json!({"search_budget_ms": 60_001}), "/options/search_budget_ms", "out_of_range"),
            ("/queues/0/parent", json!("a"), "/queues/0/parent", "cycle"),
            ("/queues/0/parent", json!("x"), "/queues/0/parent", "unknown_parent"),
            ("/running/3/queue", json!("x"), "/running/3/queue", "unknown_queue"),
            ("/running/3/workload_id", json!("b-1"), "/running/3/workload_id", "duplicate_id"),
            ("/running/3/members/0/kernel_id", json!("b-1/0"), "/running/3/members/0/kernel_id", "duplicate_id"),
            ("/running/3/members/0/slots", json!({"gpu": -1}), "/running/3/members/0/slots/gpu", "invalid_value"),
            ("/running/3/started_at", json!("soon"), "/running/3/started_at", "invalid_value"),
            ("/running/3/colour", json!(1), "/running/3/colour", "unknown_field"),
            ("/agents/1/agent_id", json!("n0"), "/agents/1/agent_id", "duplicate_id"),
            ("/agents/1/agent_id", json!("a/b"), "/agents/1/agent_id", "invalid_name"),
            ("/running/0/members/0/agent_id", json!(""), "/running/0/members/0/agent_id", "invalid_name"),
            ("/agents/1/available_slots", json!({"gpu": "NaN"}), "/agents/1/available_slots/gpu", "invalid_value"),
            ("/pending/queue", json!("x"), "/pending/queue", "unknown_queue"),
            ("/pending/members", json!([]), "/pending/members", "empty"),
            ("/pending/gang_min", json!(2), "/pending/gang_min", "out_of_range"),
            ("/pending/gang_min", json!(0), "/pending/gang_min", "out_of_range"),
            ("/pending/gang_min", json!(-1), "/pending/gang_min", "invalid_value"),
            ("/pending/started_at", json!(null), "/pending/started_at", "unknown_field"),
            ("/now", json!("later"), "/now", "invalid_value"),
        ] {
            let found = server.fault(RECLAIM, &base, place, value.clone()).await;
            assert_eq!(found, (vec![pointer.to_owned()], code.to_owned()), "{place} {value}");
        }
        for key in ["capacity", "algorithm", "queues", "running", "pending"] {
            let mut body = base.clone();
            body.as_object_mut().unwrap().remove(key);
            assert_eq!(server.call("POST", RECLAIM, Some(&body)).await.refused(422, "missing_field"), [format!("/{key}")]);
        }
    }

    /// A workload larger than the cluster, and inconsistent agents and gangs.
    async fn doubtful_plans(db: TestDb) {
        let server = Server::new(db).await;
        let mut larger = eight(9);
        assert_eq!(server.plan(&larger).await["verdict"], "refused");
        larger["queues"][0]["quota"] = json!({"gpu": "unlimited"});
        larger["queues"][0]["request"] = json!({"gpu": 9});
        let plan = server.plan(&larger).await;
        assert_eq!(plan["verdict"], "refused", "{plan}");
        // A gang that has lost members already, on a node of another group: nothing that it holds frees room.
        let mut elsewhere = eight(2);
        elsewhere["agents"] = json!([{"agent_id": "n0", "available_slots": {"gpu": 1}}]);
        for workload in elsewhere["running"].as_array_mut().unwrap() {
            workload["gang_min"] = json!(5);
            workload["members"][0]["agent_id"] = json!("another-group");
        }
        let plan = server.plan(&elsewhere).await;
        assert_eq!(plan["verdict"], "refused");
        assert!(plan["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "unknown_agent"), "{plan}");
        let mut weightless = eight(1);
        weightless["queues"] = json!([{"name": "a", "over_quota_weight": 0}, {"name": "b", "over_quota_weight": 0}]);
        let plan = server.plan(&weightless).await;
        assert_eq!((&plan["verdict"], &plan["refusals"][0]["rule"]), (&json!("refused"), &json!("gate_fair_share")));
        assert!(plan["warnings"].as_array().unwrap().iter().any(|w| w["code"] == "zero_weight_with_demand"), "{plan}");
        let mut nothing = eight(1);
        nothing["capacity"] = json!({});
        assert_eq!(server.plan(&nothing).await["verdict"], "refused");
        let exhausted = with(eight(2), &json!({"options": {"search_budget_ms": 0}}));
        assert_eq!(server.plan(&exhausted).await["verdict"], "search_exhausted");
    }

    async fn trees_of_absurd_shape(db: TestDb) {
        let server = Server::new(db).await;
        let mut wide: Vec<Value> = (0..99_999)
            .map(|n| json!({"name": format!("q{n}"), "parent": "root", "request": {"gpu": n % 7}}))
            .chain([json!({"name": "root"})])
            .collect();
        let body = json!({"algorithm": "quota_over_quota", "capacity": {"gpu": 1000}, "queues": wide});
        assert_eq!(server.divide(&body).await["remaining"], json!({"gpu": "0"}));
        wide.push(json!({"name": "one-too-many"}));
        let body = json!({"algorithm": "quota_over_quota", "capacity": {"gpu": 1000}, "queues": wide});
        assert_eq!(server.call("POST", DIVIDE, Some(&body)).await.refused(422, "too_many"), ["/queues"]);
        let mut chain: Vec<Value> = (0..10_000)
            .map(|n: usize| json!({"name": format!("q{n}"), "parent": n.checked_sub(1).map(|above| format!("q{above}"))}))
            .collect();
        chain[9_999]["request"] = json!({"gpu": 5});
        let body = json!({"algorithm": "min_share", "capacity": {"gpu": 8}, "queues": chain});
        assert_eq!(server.divide(&body).await["queues"][9_999]["fair_share"], json!({"gpu": "5"}));
        // A circle of 10,000 queues is reported in the first faults only.
        chain[0]["parent"] = json!("q9999");
        let body = json!({"algorithm": "drf", "capacity": {"gpu": 8}, "queues": chain});
        assert_eq!(server.call("POST", DIVIDE, Some(&body)).await.refused(422, "invalid").len(), 100);
        let slots: serde_json::Map<String, Value> = (0..60).map(|n| (format!("slot{n}"), json!(1))).collect();
        let queues: Vec<Value> = (0..20_000).map(|n| json!({"name": format!("q{n}")})).collect();
        let body = json!({"algorithm": "drf", "capacity": slots, "queues": queues});
        assert_eq!(server.call("POST", DIVIDE, Some(&body)).await.refused(422, "too_many"), ["/queues"]);
    }
}
