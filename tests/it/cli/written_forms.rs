//! Input files in the forms that other programs write, and the output of `weights get` as other programs read it.

use fairshared::domain::identity;
use fairshared::service::people::{KeyUpdate, ProjectChange, UserChange};
use serde_json::json;

use super::program::{end, fed, file, program, run, run_with_input};
use crate::support::fixture::{Fixture, GROUP, admin};
use crate::support::on_both;

/// Names that YAML 1.1 reads as another type than text, or that would end or begin a construct if they were plain.
const ODD: [&str; 61] = [
    "y",
    "Y",
    "n",
    "N",
    "yes",
    "Yes",
    "YES",
    "no",
    "No",
    "NO",
    "on",
    "On",
    "ON",
    "off",
    "Off",
    "OFF",
    "true",
    "True",
    "TRUE",
    "false",
    "null",
    "Null",
    "NULL",
    "~",
    "1e3",
    "1E+3",
    "012",
    "0o14",
    "0x10",
    "0b11",
    "1_000",
    "1.5",
    ".5",
    "+1",
    "-1",
    "12:30:00",
    "190:20:30",
    "2026-01-13",
    "2026-01-13T10:00:00Z",
    "2001-12-14 21:59:43.10 -5",
    "=",
    "<<",
    ".inf",
    "-.INF",
    ".NaN",
    "a: b",
    "a #b",
    "- a",
    "? a",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a",
    "{a}",
    "[a]",
    "'a'",
    "\"a\"",
    "a\\b",
    "---",
];

/// True for texts that need no quotes in both editions of YAML.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./@+ ".contains(c))
        && !WORDS.contains(&text.to_lowercase().as_str())
}

on_both! {
    async fn weights_are_read_alike_in_both_editions_of_yaml(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        for name in ODD {
            let domain_name = KeyUpdate::To("research".to_owned());
            let change = ProjectChange { name: KeyUpdate::To(name.to_owned()), domain_name, ..ProjectChange::default() };
            f.service.put_project(admin(), identity::project(name), change).await.unwrap();
        }
        f.service.put_user(admin(), identity::user("ann"), UserChange::default()).await.unwrap();
        let weights: serde_json::Map<_, _> = ODD.iter().map(|name| ((*name).to_owned(), json!("2"))).collect();
        let users: Vec<_> = ODD.iter().map(|name| json!({"user": identity::user("ann"), "project": name, "weight": "3"})).collect();
        let mut queues: Vec<_> = vec![json!({"name": "yes", "quota": {"mem": "1Gi", "y": "2"}})];
        queues.push(json!({"name": "012", "parent": "yes"}));
        let given = json!({"projects": weights, "users": users, "queues": queues}).to_string();
        let applied = run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], given.as_bytes());
        assert!(applied.stderr.lines().any(|line| line.starts_with("122 set,")), "{applied:?}");

        let text = run(&f.db, ["weights", "get", GROUP]).ok();
        for line in text.lines() {
            let entry = line.trim_start().trim_start_matches("- ");
            let quoted = entry.starts_with(['\'', '"']);
            let key = entry.split(':').next().unwrap();
            assert!(quoted || is_plain(key), "{line}");
            if let Some((_, value)) = entry.rsplit_once(": ") {
                let is_known = ["null", "true", "false", "{}", "[]"].contains(&value) || value.parse::<i64>().is_ok();
                assert!(value.starts_with(['\'', '"']) || value.ends_with(['\'', '"']) || is_plain(value) || is_known, "{line}");
            }
        }
        // The same names come back.
        let back = run_with_input(&f.db, &["weights", "apply", GROUP, "--prune", "-f", "-"], text.as_bytes());
        assert!(back.stderr.lines().any(|line| line.starts_with("0 set, 0 unset, 122 unchanged")), "{back:?}\n{text}");
        assert!(back.stderr.contains("queues: 0 created, 0 changed, 0 removed"), "{back:?}\n{text}");
    }

    async fn files_may_begin_with_a_byte_order_mark(db: TestDb) {
        let folder = tempfile::tempdir().unwrap();
        run(&db, ["groups", "create", "g"]).ok();
        let marked = |name: &str, text: &str| file(folder.path(), name, format!("\u{feff}{text}"));
        let row = json!({
            "kernel_id": uuid::Uuid::from_u128(7), "session_id": uuid::Uuid::from_u128(7), "user": "ann", "project": "bio", "domain_name": "d",
            "occupied_slots": {"cpu": "500m"}, "status": "RUNNING", "started_at": "2026-01-13T10:00:00Z",
        });
        let lines = marked("kernels.ndjson", &format!("{row}\n"));
        assert!(run(&db, ["kernels", "post", "g", &lines]).stderr.starts_with("1 kernel accepted"));
        let array = marked("kernels.json", &format!("[{row}]"));
        assert!(run(&db, ["kernels", "post", "g", &array]).stderr.starts_with("1 kernel accepted"));
        for (name, text) in [("w.yaml", "domains:\n  d: 2\n"), ("w.json", "{\"domains\": {\"d\": \"2\"}}")] {
            run(&db, ["weights", "apply", "g", "-f", &marked(name, text)]).ok();
        }
        assert!(run(&db, ["weights", "get", "g"]).ok().contains("d: '2'"));
        let options = marked("options.json", "{\"scheduler_opts\": {\"half_life_days\": 3}}");
        run(&db, ["options", "set", "g", "-f", &options]).ok();
    }
}

#[test]
fn local_divisions_take_quantities_and_a_byte_order_mark() {
    let input = json!({
        "algorithm": "quota_over_quota", "capacity": {"mem": "128Gi", "cpu": "1"},
        "queues": [{"name": "a", "quota": {"mem": "64Gi", "cpu": "500m"}, "request": {"mem": "96Gi", "cpu": "1"}}],
    });
    let input = format!("\u{feff}{input}");
    let report = fed(program().args(["divide", "-", "-o", "json"]), input.as_bytes()).json();
    assert_eq!(report["queues"][0]["fair_share"], json!({"cpu": "1", "mem": "103079215104"}));
    assert_eq!(end(program().args(["divide", "nowhere"])).code, Some(2));
}
