//! The amounts that queues deserve in the current state, over HTTP.

use fairshared::service::Role;
use serde_json::{Value, json};

use super::support::{Server, group};
use crate::support::fixture::{id, kernel, with};
use crate::support::on_both;

const DIVISION: &str = "/division";

/// 36 gpus; p1 (quota 10), p2 (quota 6) and p3 all ask for all of them, and p2 holds them.
pub async fn three_projects(db: crate::support::database::TestDb) -> Server {
    let server = Server::new(db).await;
    server.agent("node-1", &json!({"gpu": "36"})).await;
    let queues = json!({"queues": [
        {"name": "p1", "quota": {"gpu": "10"}, "over_quota_weight": "2"},
        {"name": "p2", "quota": {"gpu": "6"}, "over_quota_weight": "3"},
        {"name": "p3"},
    ]});
    server.call("PUT", &group("/queues"), Some(&queues)).await.json(200);
    let pending = json!({"status": "PENDING", "started_at": null});
    let want = |name: &str, queue: &str, gpus: u32| {
        let row = kernel(name, "ann", "ml", "2026-01-13T11:00:00Z");
        with(row, &json!({"queue": queue, "occupied_slots": {"gpu": gpus.to_string()}, "agent_id": "node-1"}))
    };
    let mut kernels = vec![with(want("w1", "p1", 36), &pending), with(want("w3", "p3", 36), &pending)];
    for n in 0..9 {
        kernels.push(want(&format!("r{n}"), "p2", 4));
    }
    assert!(server.ingest(&kernels).await.is_empty());
    server
}

fn workload(queue: &str, gpus: u32) -> Value {
    json!({"workload_id": "new", "queue": queue, "members": [{"slots": {"gpu": gpus}}]})
}

fn row<'a>(division: &'a Value, name: &str) -> &'a Value {
    division["queues"].as_array().unwrap().iter().find(|q| q["name"] == name).unwrap()
}

on_both! {
    async fn the_division_follows_queues_kernels_and_options(db: TestDb) {
        let server = three_projects(db).await;
        let before = server.service.store().statements();
        let division = server.get(&group(DIVISION)).await;
        assert_eq!(server.service.store().statements(), before, "reads are from memory");
        assert_eq!((&division["algorithm"], &division["capacity"]), (&json!("quota_over_quota"), &json!({"gpu": "36"})));
        let shares = ["p1", "p2", "p3", "default"].map(|name| row(&division, name)["fair_share"]["gpu"].as_str().unwrap().to_owned());
        assert_eq!(shares, ["16.666666666667", "16", "3.333333333333", "0"]);
        let p2 = row(&division, "p2");
        assert_eq!((&p2["request"], &p2["allocated"], &p2["quota"], &p2["saturation_ratio"]),
            (&json!({"gpu": "36"}), &json!({"gpu": "36"}), &json!({"gpu": "6"}), &json!({"gpu": "2.25"})));
        assert_eq!((&p2["limit"], &p2["parent"], &p2["allocated_non_preemptible"]), (&json!({"gpu": "unlimited"}), &Value::Null, &json!({"gpu": "0"})));
        assert_eq!(division["remaining"], json!({"gpu": "0"}));
        assert_eq!(division.get("trace"), None);

        let explained = server.call("GET", &group("/division?explain=true"), None).await;
        assert!(explained.headers.get("etag").is_none());
        let explained = explained.json(200);
        let told = explained["trace"].as_array().unwrap().iter().find(|t| t["queue"] == "p2").unwrap();
        assert_eq!(told["sentence"], "gets 16 of 36 gpu: 6 quota + 3/6 of the 20 unused");
        assert_eq!(explained["queues"], division["queues"]);

        let tag = server.call("GET", &group(DIVISION), None).await.header("etag").to_owned();
        assert_eq!(server.get_with(&group(DIVISION), "if-none-match", &tag).await.status, 304);
        server.call("PUT", &group("/queues/p3"), Some(&json!({"limit": {"gpu": "1"}}))).await.json(200);
        let changed = server.get_with(&group(DIVISION), "if-none-match", &tag).await.json(200);
        assert_eq!(row(&changed, "p3")["fair_share"], json!({"gpu": "1"}));
        let option = json!({"scheduler_opts": {"division": {"algorithm": "min_share", "options": {}}}});
        server.call("PATCH", &group("/scheduler-options"), Some(&option)).await.json(200);
        let changed = server.get(&group(DIVISION)).await;
        assert_eq!((&changed["algorithm"], &changed["options"]["algorithm"]), (&json!("min_share"), &json!("min_share")));
        assert!(row(&changed, "p1")["fair_share_ratio"].is_string(), "{changed}");
        let wrong = json!({"scheduler_opts": {"division": {"options": {"roundin": "whole"}}}});
        let answer = server.call("PATCH", &group("/scheduler-options"), Some(&wrong)).await;
        let code = answer.json(422)["code"].as_str().unwrap().to_owned();
        assert_eq!(answer.refused(422, &code), ["/scheduler_opts/division/options/roundin"]);
    }

    async fn each_day_keeps_its_last_division(db: TestDb) {
        let server = three_projects(db).await;
        let divide = async || server.call("POST", "/jobs/divide/run", Some(&json!({"resource_group": "gpu-cluster"}))).await.json(200);
        divide().await;
        server.call("PUT", &group("/queues/p3"), Some(&json!({"limit": {"gpu": "1"}}))).await.json(200);
        divide().await;
        server.clock.advance_seconds(86_400);
        divide().await;
        let path = group("/division/history");
        let all = server.get(&path).await;
        let rows: Vec<_> = all["items"].as_array().unwrap().iter()
            .map(|r| format!("{} {} {}", r["day"].as_str().unwrap(), r["queue"].as_str().unwrap(), r["fair_share"]["gpu"].as_str().unwrap())).collect();
        assert_eq!(rows.iter().filter(|r| r.contains(" p3 ")).collect::<Vec<_>>(), ["2026-01-13 p3 1", "2026-01-14 p3 1"]);
        assert_eq!((all["total"].as_u64(), rows.len(), rows.is_sorted()), (Some(8), 8, true));
        let first = &all["items"][1];
        assert_eq!((&first["algorithm"], &first["quota"], &first["allocated"]), (&json!("quota_over_quota"), &json!({"gpu": "10"}), &json!({"gpu": "0"})));
        assert_eq!(first["saturation_ratio"], json!({"gpu": "0"}));
        let count = async |query: &str| server.get(&format!("{path}?{query}")).await["total"].clone();
        assert_eq!(count("from=2026-01-14").await, 4);
        assert_eq!(count("to=2026-01-13&queue=p1").await, 1);
        assert_eq!(count("queue=nothing").await, 0);
        // Page by page it is the same list, at two statements a page.
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        loop {
            let before = server.service.store().statements();
            let page = server.get(&format!("{path}?limit=3{cursor}")).await;
            assert_eq!(server.service.store().statements() - before, 2);
            walked.extend(page["items"].as_array().unwrap().iter().cloned());
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(json!(walked), all["items"]);
        for (query, code, pointer) in [("from=yesterday", "invalid_value", "/from"), ("from=2026-01-02&to=2026-01-01", "contradiction", "/to"),
            ("limit=0", "invalid_page_size", "/limit"), ("cursor=x", "invalid_cursor", "/cursor"), ("colour=1", "unknown_field", "/colour")]
        {
            assert_eq!(server.call("GET", &format!("{path}?{query}"), None).await.refused(422, code), [pointer]);
        }
    }

    async fn a_plan_names_victims_and_evicts_nobody(db: TestDb) {
        let server = three_projects(db).await;
        let path = group("/reclaim-plans");
        let log = server.get("/audit-log").await["total"].clone();
        let plan = server.call("POST", &path, Some(&workload("p1", 8))).await.json(200);
        assert_eq!((&plan["verdict"], plan["victims"].as_array().unwrap().len()), (&json!("reclaim"), 2));
        assert!(plan["victims"].as_array().unwrap().iter().all(|v| v["queue"] == "p2"), "{plan}");
        assert_eq!(plan["placement"], json!([{"member": 0, "agent_id": "node-1"}]));
        let again = server.call("POST", &path, Some(&workload("p1", 8))).await.json(200);
        assert_eq!(plan, again);
        // The second of two plans on one snapshot reads nothing again.
        let before = server.service.store().statements();
        let refused = server.call("POST", &path, Some(&workload("p3", 20))).await.json(200);
        assert_eq!(server.service.store().statements(), before);
        assert_eq!(refused["verdict"], "refused");
        assert!(!refused["refusals"].as_array().unwrap().is_empty());
        // Without a queue it is the project's, then its domain's, then `default`.
        let by_project = json!({"workload_id": "new", "project_id": id("ml"), "members": [{"slots": {"gpu": 1}}]});
        server.call("POST", &path, Some(&by_project)).await.json(200);
        assert_eq!((server.get(&group("/kernels?status=RUNNING")).await["total"].clone(), server.get("/audit-log").await["total"].clone()), (json!(9), log));
        for (body, code, pointer) in [
            (workload("nowhere", 1), "unknown_queue", "/queue"),
            (with(workload("p1", 1), &json!({"colour": 1})), "unknown_field", "/colour"),
            (with(workload("p1", 1), &json!({"gang_min": 2})), "", "/gang_min"),
            (with(workload("p1", 1), &json!({"members": [{"slots": {"gpu": "-1"}}]})), "invalid_value", "/members/0/slots/gpu"),
            (with(workload("p1", 1), &json!({"members": [["gpu"]]})), "invalid_type", "/members/0"),
            (json!({"queue": "p1", "members": []}), "missing_field", "/workload_id"),
            (json!([]), "invalid_type", ""),
        ] {
            let answer = server.call("POST", &path, Some(&body)).await;
            let problem = answer.json(422);
            let code = if code.is_empty() { problem["code"].as_str().unwrap() } else { code };
            assert_eq!(answer.refused(422, code), [pointer], "{body}");
        }
    }

    async fn who_may(db: TestDb) {
        let server = three_projects(db).await;
        for (role, user, reads, plans) in
            [(Role::Scheduler, None, true, true), (Role::Viewer, None, true, false), (Role::User, Some("ann"), false, false)]
        {
            let key = server.key_for(role, user).await;
            let status = |may: bool| if may { 200 } else { 403 };
            for path in ["/division", "/division?explain=true", "/division/history"] {
                assert_eq!(server.call_as(&key, "GET", &group(path), None).await.status, status(reads), "{role:?} {path}");
            }
            let answer = server.call_as(&key, "POST", &group("/reclaim-plans"), Some(&workload("p1", 1))).await;
            assert_eq!(answer.status, status(plans), "{role:?}");
        }
        for (method, path, body) in [("GET", "/division", None), ("GET", "/division/history", None), ("POST", "/reclaim-plans", Some(workload("p1", 1)))] {
            let answer = server.call(method, &format!("/resource-groups/none{path}"), body.as_ref()).await;
            answer.refused(404, "unknown_resource_group");
        }
    }
}
