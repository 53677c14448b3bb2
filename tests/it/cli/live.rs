//! `division` and `plan`: for a group of the database.

use serde_json::{Value, json};

use super::program::{run, run_with_input};
use super::two_users;
use crate::support::fixture::{Fixture, GROUP, admin, kernel, with};
use crate::support::on_both;

/// Bob's course holds all ten cores of one node. Alice's ml holds four cores of a second node and has a quota of eight.
async fn queues(db: crate::support::database::TestDb) -> Fixture {
    let f = two_users(db).await;
    let file = "queues: [{name: ml, quota: {cpu: 8}}, {name: course, quota: {cpu: 2}}]";
    run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], file.as_bytes()).ok();
    let grab = with(
        kernel("k4", "bob", "course", "2026-01-13T10:30:00Z"),
        &json!({
            "occupied_slots": {"cpu": "5"}, "domain_name": "teaching", "project_name": "course",
        }),
    );
    assert!(f.ingest(&[grab]).await.is_empty());
    f
}

fn workload(queue: &str, cpus: u32) -> String {
    json!({"workload_id": "new", "queue": queue, "members": [{"slots": {"cpu": cpus}}]}).to_string()
}

on_both! {
    async fn what_queues_deserve_now(db: TestDb) {
        let f = queues(db).await;
        let division = |args: &[&str]| run(&f.db, [&["division", GROUP], args].concat());
        let csv = division(&["-o", "csv"]).ok();
        assert!(csv.starts_with("queue,parent,slot,quota,request,allocated,fair_share,state,saturation_ratio\n"), "{csv}");
        assert!(csv.contains("\ncourse,,cpu,2,9,9,9,"), "{csv}");
        let json = division(&["-o", "json"]).json();
        let found = json["queues"].as_array().unwrap().iter().find(|q| q["name"] == "course").unwrap();
        assert_eq!((&found["allocated"], &found["fair_share"]), (&json!({"cpu": "9"}), &json!({"cpu": "9"})));
        assert_eq!((&json["algorithm"], json.get("trace")), (&json!("quota_over_quota"), None));
        let told = division(&["--explain"]).ok();
        assert!(told.contains("\ncourse gets 9 of 10 cpu: 2 quota + "), "{told}");
        assert!(!division(&["--explain", "-o", "csv"]).ok().contains(" gets "));
        assert!(division(&["--explain", "-o", "json"]).json()["trace"].is_array());
        assert_eq!(run(&f.db, ["division", "nowhere"]).refused(2), "there is no resource group \"nowhere\"");
    }

    async fn what_queues_deserved_before(db: TestDb) {
        let f = queues(db).await;
        let history = |args: &[&str]| run(&f.db, [&["division", GROUP, "--history"], args].concat());
        assert_eq!(history(&["-o", "json"]).json(), json!({"items": [], "total": 0}));
        f.service.refresh().await.unwrap();
        f.service.keep_division(GROUP).await.unwrap();
        let rows = history(&["-o", "json"]).json();
        let queues: Vec<&Value> = rows["items"].as_array().unwrap().iter().map(|r| &r["queue"]).collect();
        assert_eq!(queues, ["course", "default", "ml"]);
        assert!(history(&["--queue", "ml", "-o", "csv"]).ok().contains("2026-01-13,ml,quota_over_quota,\"{\"\"cpu\"\":\"\"8\"\"}\","));
        assert_eq!(history(&["--from", "2026-01-14", "-o", "csv"]).ok().lines().count(), 1);
        assert_eq!(history(&["--to", "2026-01-13", "-o", "csv"]).ok().lines().count(), 4);
        let crossed = history(&["--from", "2026-01-14", "--to", "2026-01-13"]);
        assert_eq!(crossed.refused(2), "--from 2026-01-14 lies after --to 2026-01-13");
        assert_eq!(run(&f.db, ["division", GROUP, "--queue", "ml"]).code, Some(2));
        assert_eq!(history(&["--explain"]).code, Some(2));
    }

    async fn who_gives_back_now(db: TestDb) {
        let f = queues(db).await;
        let plan = |args: &[&str], body: &str| run_with_input(&f.db, &[&["plan", GROUP, "-"], args].concat(), body.as_bytes());
        let taken = plan(&["-o", "json"], &workload("ml", 4)).json();
        f.service.refresh().await.unwrap();
        let asked = serde_json::from_str(&workload("ml", 4)).unwrap();
        let of_the_service = f.service.plan_reclaim(&admin(), GROUP, asked).await.unwrap().plan;
        assert_eq!(taken, serde_json::to_value(&of_the_service).unwrap());
        assert_eq!((&taken["verdict"], &taken["victims"][0]["queue"]), (&json!("reclaim"), &json!("course")), "{taken}");
        let csv = plan(&["-o", "csv"], &workload("ml", 4)).ok();
        assert!(csv.starts_with("kind,verdict,workload_id,") && csv.contains("\nverdict,reclaim,"), "{csv}");
        assert!(csv.lines().any(|l| l.starts_with("victim,,")), "{csv}");
        // A refusal is an answer too.
        assert!(plan(&[], &workload("course", 4)).ok().contains("gate_fair_share"));
        assert!(plan(&[], &workload("nowhere", 4)).refused(2).starts_with("standard input: /queue: there is no queue"));
        let member = r#"{"workload_id": "new", "queue": "ml", "members": [{"slots": {"cpu": -1}}]}"#;
        for (body, place) in [("{}", "/workload_id: "), (member, "/members/0/slots/cpu: "), ("{", "the JSON document ends too early")] {
            let line = plan(&[], body).refused(2);
            assert!(line.starts_with(&format!("standard input: {place}")), "{line}");
        }
        let nowhere = run_with_input(&f.db, &["plan", "nowhere", "-"], workload("ml", 4).as_bytes());
        assert_eq!(nowhere.refused(2), "there is no resource group \"nowhere\"");
    }
}
