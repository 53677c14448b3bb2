//! `explain`, and `sequence --explain`: the words that a person reads.

use serde_json::json;

use super::program::{run, run_with_input};
use super::two_users;
use crate::support::fixture::{GROUP, id, kernel, with};
use crate::support::on_both;

on_both! {
    async fn who_comes_where_and_why(db: TestDb) {
        let f = two_users(db).await;
        let weights = "users: [{user: alice, project: ml, weight: 2}]";
        let [alice, bob, ml] = ["alice", "bob", "ml"].map(|name| id(name).to_string());
        run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], weights.as_bytes()).ok();
        let explain = |args: &[&str]| run(&f.db, [&["explain"], args].concat());
        let page = explain(&[&bob]).ok();
        assert!(page.starts_with("bob in course, teaching (gpu-cluster)\n\n2nd of 2. 100 % of what counts is "), "{page}");
        assert!(page.contains("\nfactor = 2 ^ -(0.0005952380952380952 / 1) = 0.999587497495\n"), "{page}");
        assert!(page.contains("\nnext above: alice in "), "{page}");
        assert!(page.contains("would lead to place 1\n"), "{page}");
        let weights: Vec<Vec<&str>> = page.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(weights.contains(&vec!["TIER", "WEIGHT", "ENTITLED", "OF", "PARENT", "SOURCE", "SET", "BY", "SET", "AT", "REASON"]), "{page}");
        assert!(weights.contains(&vec!["project", "1", "50.00%", "100.00%", "default"]), "{page}");
        // The one group is taken where no other is named.
        let named = explain(&[&alice, "--group", GROUP, "-o", "json"]).json();
        assert_eq!((&named["place"], &named["weights"][2]["source"]), (&json!(1), &json!("set")));
        assert!(named["weights"][2]["set_by"].as_str().unwrap().starts_with("cli:"));
        assert_eq!(explain(&["--domain", "teaching", "-o", "json"]).json()["tier"], "domain");
        assert_eq!(explain(&["--project", &ml, "-o", "ndjson"]).json()["tier"], "project");
        assert!(page.contains(" 4.00 hours of cpu "), "{page}");
        let csv = explain(&[&bob, "-o", "csv"]).ok();
        assert!(csv.starts_with("period_start,period_end,resource_usage,decay_weight,normalized_usage,contribution,part\n2026-01-13,"), "{csv}");
        assert!(explain(&["nobody"]).refused(2).starts_with("there is no user "));
        assert_eq!(explain(&[&bob, "--group", "nowhere"]).refused(2), "there is no resource group \"nowhere\"");
        assert_eq!(explain(&[&bob, "--domain", "teaching"]).code, Some(2));
    }

    async fn why_a_pending_kernel_waits(db: TestDb) {
        let f = two_users(db).await;
        let zed = with(kernel("first", "zed", "ml", "2026-01-13T11:00:00Z"), &json!({"user_name": "zed", "project_name": "ml", "status": "PENDING", "started_at": null}));
        let waits = json!({"user_name": "bob", "project_name": "course", "domain_name": "teaching", "status": "PENDING", "started_at": null, "occupied_slots": {"cpu": "1"}});
        let bob = with(kernel("later", "bob", "course", "2026-01-13T11:00:00Z"), &waits);
        assert!(f.ingest(&[zed, bob]).await.is_empty());
        f.tick().await;
        // A command is a process of its own: it has answered no sequence.
        let page = run(&f.db, ["explain", "--workload", &id("first").to_string()]).ok();
        assert!(page.starts_with("zed in ml, "), "{page}");
        assert!(page.contains(&format!("{} is 1 of 2: 0 ahead, of 0 owners. Nothing is ahead of it.", id("first"))), "{page}");
        let page = run(&f.db, ["explain", "--workload", &id("later").to_string()]).ok();
        assert!(page.contains(&format!("{} is 2 of 2: 1 ahead, of 1 owners.", id("later"))), "{page}");
        let refused = run(&f.db, ["explain", "--workload", &id("gone").to_string()]).refused(2);
        assert!(refused.starts_with("no reported workload that waits in \"gpu-cluster\" has the id"), "{refused}");
    }

    async fn a_sequence_in_words(db: TestDb) {
        let f = two_users(db).await;
        let workload = |name: &str, user: &str, project: &str| json!({"workload_id": name, "user_uuid": id(user), "project_id": id(project)});
        let body = json!({"workloads": [workload("b", "bob", "course"), workload("a", "alice", "ml")]}).to_string();
        let told = run_with_input(&f.db, &["sequence", GROUP, "-", "--explain", "-o", "csv"], body.as_bytes()).ok();
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines[0], "position,workload_id,fair_share_factor,rank,entitled_share,entitled_share_of_parent,ahead,owners_ahead,because");
        assert!(lines[1].starts_with("1,a,") && lines[1].ends_with(",0.5,1,0,0,Nothing is ahead of it."), "{told}");
        assert!(lines[2].ends_with(",0.5,1,1,1,The user of the one ahead has used less for their weight."), "{told}");
        let table = run_with_input(&f.db, &["sequence", GROUP, "-", "--explain"], body.as_bytes()).ok();
        let first: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(first[4..8], ["50.00%", "100.00%", "0", "0"], "{table}");
        let plain = run_with_input(&f.db, &["sequence", GROUP, "-", "-o", "csv"], body.as_bytes()).ok();
        assert!(plain.starts_with("position,workload_id,fair_share_factor,rank\n"), "{plain}");
    }
}
