//! Names that look like UUIDs, from an import to every command that takes a name.

use std::io::Write;

use fairshared::domain::identity;
use serde_json::json;

use super::program::{file, run, run_with_input};
use crate::support::on_both;

const USER: &str = "8b1a9953c4611296a827abf8c47804d7";
const PROJECT: &str = "4f2c9a10-b7de-4d05-a3f1-c09e8d7b6a55";

/// `07-names-like-uuids.csv` of the odd accounting files, with times before `day`.
fn jobs(day: &str) -> String {
    let mut text = Vec::new();
    writeln!(text, "job_id,user,project,resource_group,start_time,end_time,cpu").unwrap();
    writeln!(text, "1,{USER},bio,c1,{day}T10:00:00Z,{day}T11:00:00Z,4").unwrap();
    writeln!(text, "2,ann,{PROJECT},c1,{day}T10:00:00Z,{day}T11:00:00Z,4").unwrap();
    String::from_utf8(text).unwrap()
}

on_both! {
    async fn an_import_can_be_asked_about_by_its_names(db: TestDb) {
        let folder = tempfile::tempdir().unwrap();
        let day = fairshared::service::Clock::now(&fairshared::service::SystemClock).day().plus(-3).to_string();
        let trace = file(folder.path(), "jobs.csv", jobs(&day));
        run(&db, ["import", "csv", &trace]).ok();
        for (kind, name) in [("user", USER), ("project", PROJECT)] {
            let kinds = format!("{kind}s");
            let shown = run(&db, [&kinds, "show", name, "-o", "json"]).json();
            let id = shown[if kind == "user" { "user_uuid" } else { "project_id" }].as_str().unwrap().to_owned();
            assert_eq!((&shown["name"], id.as_str()), (&json!(name), run(&db, ["id", kind, name]).ok().trim_end()));
            let flag = format!("--{kind}");
            assert_eq!(run(&db, ["kernels", "list", "c1", &flag, name, "-o", "json"]).json()["total"], 1);
            let report = run(&db, ["usage", "c1", "--by", kind, &flag, name, "--from", &day, "--to", &day, "-o", "json"]).json();
            assert_eq!(report["items"][0]["slot_hours"]["cpu"], "4", "{report}");
            let records = run(&db, ["usage", "c1", &flag, name, "--from", &day, "--to", &day, "-o", "json"]).json();
            assert!(!records["items"].as_array().unwrap().is_empty());
            run(&db, ["weights", "set", "c1", kind, name, "2"]).ok();
            run(&db, [&kinds, "set", name, "--display-name", "Shown"]).ok();
            assert_eq!(run(&db, [&kinds, "list", "-o", "json"]).json()["total"], 2);
        }
        assert!(run(&db, ["explain", USER, "--group", "c1"]).ok().contains(USER));
        assert!(run(&db, ["explain", "--project", PROJECT, "--group", "c1"]).ok().contains(PROJECT));
        let weights = run(&db, ["weights", "get", "c1"]).ok();
        assert!(weights.contains(USER) && weights.contains(PROJECT), "{weights}");
        let applied = run_with_input(&db, &["weights", "apply", "c1", "--prune", "-f", "-"], weights.as_bytes());
        assert!(applied.stderr.starts_with("0 set, 0 unset, 2 unchanged"), "{applied:?}");
        let key = run(&db, ["keys", "create", "--role", "user", "--label", "own", "--user", USER]);
        assert!(!key.stderr.contains("warning"), "{key:?}");
        let keys = run(&db, ["keys", "list", "-o", "json"]).json();
        assert!(keys["items"].as_array().unwrap().iter().any(|key| key["user_uuid"] == json!(identity::user(USER))), "{keys}");
    }
}

#[test]
fn a_policy_of_a_replay_means_who_has_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let trace = file(folder.path(), "jobs.csv", jobs("2026-01-13"));
    let policy = format!("projects:\n  {PROJECT}: 3\nusers:\n  - {{user: {USER}, weight: 2}}\n");
    let policy = file(folder.path(), "policy.yaml", &policy);
    let ended =
        super::program::end(super::program::program().args(["replay", &trace, "--load", "0.9", "--policy", &policy]));
    assert!(!ended.stderr.contains("without jobs in the trace"), "{ended:?}");
    ended.ok();
}
