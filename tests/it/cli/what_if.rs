//! `simulate`, `weights diff --ranks`, `options set --dry-run` and `log undo`.

use serde_json::{Value, json};

use super::program::{Ended, run, run_with_input};
use super::two_users;
use crate::support::fixture::{Fixture, GROUP, kernel, with};
use crate::support::on_both;

const THREE: &str = r#"{"weights": [{"target_type": "domain", "target_id": "teaching", "weight": "9"}]}"#;

fn simulate(f: &Fixture, args: &[&str], file: &str) -> Ended {
    run_with_input(&f.db, &[&["simulate", GROUP, "-"], args].concat(), file.as_bytes())
}

fn ranks(f: &Fixture) -> Vec<Value> {
    let ranking = run(&f.db, ["rank", GROUP, "-o", "json"]).json();
    ranking["items"].as_array().unwrap().iter().map(|row| row["user_name"].clone()).collect()
}

on_both! {
    async fn changes_are_tried_made_and_taken_back(db: TestDb) {
        let f = two_users(db).await;
        assert_eq!(ranks(&f), ["alice", "bob"]);
        let tried = simulate(&f, &[], THREE);
        assert!(tried.stdout.contains("bob") && tried.stdout.trim_start().starts_with("TIER"), "{tried:?}");
        assert!(tried.stderr.contains("users: 2 changed, 1 rise, 1 fall"), "{tried:?}");
        assert!(!tried.stderr.contains("pending workloads"), "{tried:?}");
        let waits = |name: &str, user: &str, project: &str, domain: &str| {
            let pending = json!({"status": "PENDING", "started_at": null, "domain_name": domain});
            with(kernel(name, user, project, "2026-01-13T10:00:00Z"), &pending)
        };
        let refused = f.ingest(&[waits("p1", "alice", "ml", "research"), waits("p2", "bob", "course", "teaching")]).await;
        assert!(refused.is_empty(), "{refused:?}");
        let tried = simulate(&f, &[], THREE);
        assert!(tried.stderr.contains("pending workloads: 2 in order, 2 change place"), "{tried:?}");
        let answer = simulate(&f, &["-o", "json"], THREE).json();
        assert_eq!((&answer["winners"][0]["user_name"], &answer["applied"]), (&json!("bob"), &Value::Null));
        let csv = simulate(&f, &["-o", "csv"], THREE).ok();
        assert!(csv.starts_with("tier,name,project,rank_before,rank_after,") && csv.contains("\nuser,bob,course,2,1,"), "{csv}");
        let file = "domains: {teaching: 9}";
        let diff = run_with_input(&f.db, &["weights", "diff", GROUP, "--ranks", "-f", "-", "-o", "csv"], file.as_bytes());
        assert_eq!((diff.code, &diff.stdout), (Some(1), &csv), "{diff:?}");
        assert_eq!(ranks(&f), ["alice", "bob"]);
        let options = |args: &[&str]| run(&f.db, [&["options", "set", GROUP], args].concat());
        let tried = options(&["default_weight=2", "--dry-run", "-o", "json"]).json();
        assert_eq!(tried["users"]["items"][0]["after"]["effective_weight"], "8");
        assert!(run(&f.db, ["options", "get", GROUP]).ok().contains("default_weight=1.0"));
        assert!(options(&["half_life_days=0", "--dry-run"]).refused(2).contains("half_life_days"));
        let apply = THREE.replacen('{', r#"{"apply": true, "#, 1);
        let made = simulate(&f, &["-o", "json"], &apply).json();
        assert_eq!(ranks(&f), ["bob", "alice"]);
        let id = made["applied"]["audit_id"].to_string();
        let undone = run(&f.db, ["log", "undo", &id, "--reason", "no grant"]);
        assert!(undone.stderr.contains(&format!("change {id} is undone")), "{undone:?}");
        assert_eq!(ranks(&f), ["alice", "bob"]);
        let log = run(&f.db, ["log", "--target", "domain:teaching", "-o", "json"]).json();
        assert_eq!((&log["items"][0]["reason"], &log["items"][0]["action"]), (&json!("no grant"), &json!("audit_log.undo")));
        let again = run(&f.db, ["log", "undo", &id]).refused(1);
        assert!(again.contains("was changed since the entry"), "{again}");
        // People are called by their names.
        let weigh = |weight: &str| run(&f.db, ["weights", "set", GROUP, "user", "bob", weight]).ok();
        weigh("2");
        let newest = run(&f.db, ["log", "-o", "json"]).json()["items"][0]["id"].to_string();
        weigh("3");
        let refused = run(&f.db, ["log", "undo", &newest]).refused(1);
        assert!(refused.starts_with(&format!("the user bob in course was changed since the entry {newest} by ")), "{refused}");
        assert!(run(&f.db, ["log", "undo", "999999"]).refused(2).contains("no entry 999999"));
        assert_eq!(simulate(&f, &[], r#"{"weights": 7}"#).code, Some(2));
    }
}
