//! `weights`: one by one, and all of a group as a file.

use std::fmt::Write;

use fairshared::domain::identity;
use fairshared::service::audit_log::AuditFilter;
use fairshared::service::input::page::PageWindow;
use fairshared::service::people::{KeyUpdate, UserChange};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::program::{file, run, run_with_input};
use super::two_users;
use crate::support::fixture::{Fixture, GROUP, admin, id, kernel, with};
use crate::support::on_both;

/// The weights that are set, as `target weight`.
fn weights(f: &Fixture) -> Vec<String> {
    let rows = run(&f.db, ["weights", "get", GROUP, "-o", "csv"]).ok();
    let names = [("alice", "alice"), ("bob", "bob"), ("ml", "ml"), ("course", "course")];
    let named = names.iter().fold(rows, |text, (name, shown)| text.replace(&id(name).to_string(), shown));
    let first = |line: &str| line.split(',').take(4).collect::<Vec<_>>().join(",");
    let mut rows: Vec<String> = named.lines().skip(1).map(first).collect();
    rows.sort();
    rows
}

fn apply(f: &Fixture, args: &[&str], text: &str) -> super::program::Ended {
    run_with_input(&f.db, &[&["weights", "apply", GROUP, "-f", "-"], args].concat(), text.as_bytes())
}

fn diff(f: &Fixture, args: &[&str], text: &str) -> super::program::Ended {
    run_with_input(&f.db, &[&["weights", "diff", GROUP, "-f", "-", "-o", "csv"], args].concat(), text.as_bytes())
}

const FILE: &str = "\
resource_group: gpu-cluster
domains:
  research: 2.0
projects:
  course: '1.5'
users:
  - {user: alice, project: ml, weight: 3}
  - {user: bob, weight: 0.25}
";

on_both! {
    async fn one_weight_shows_in_the_ranks_at_once(db: TestDb) {
        let f = two_users(db).await;
        let set = |args: &[&str]| run(&f.db, [&["weights", "set", GROUP], args].concat());
        set(&["domain", "research", "2.0"]).ok();
        set(&["project", "course", "1.5", "--reason", "term begins"]).ok();
        set(&["user", "bob", "9"]).ok();
        set(&["user", &id("alice").to_string(), "3", "--project", "ml"]).ok();
        assert_eq!(weights(&f), ["domain,research,,2", "project,course,,1.5", "user,alice,ml,3", "user,bob,course,9"]);
        let ranking = run(&f.db, ["rank", GROUP, "-o", "json"]).json();
        // One CPU hour at weight 6 comes before four at 13.5.
        let row = |at: usize| (ranking["items"][at]["user_name"].clone(), ranking["items"][at]["effective_weight"].clone());
        assert_eq!((row(0), row(1)), ((json!("alice"), json!("6")), (json!("bob"), json!("13.5"))));
        set(&["user", "bob", "unset"]).ok();
        assert_eq!(weights(&f).len(), 3);
        let log = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(100, None)).await.unwrap();
        assert!(log.rows.iter().any(|(_, e)| e.actor.starts_with("cli:") && e.reason.as_deref() == Some("term begins")));

        for weight in ["0", "-1", "NaN", "1.00001", "1000000", "", "1e3", "inf"] {
            let args = ["domain", "research", "--", weight];
            assert!(set(&args).refused(2).starts_with(&format!("the weight {weight:?} ")), "{weight}");
        }
        assert_eq!(set(&["domain", "nowhere", "1"]).refused(2), "there is no domain \"nowhere\"");
        assert_eq!(set(&["user", "carol", "1"]).refused(2), "no user is called \"carol\"");
        assert_eq!(set(&["project", "ml", "1", "--project", "ml"]).refused(2), "--project belongs to the weight of a user");
        assert_eq!(weights(&f).len(), 3);
    }

    async fn the_table_shows_names_and_prune_says_what_it_takes(db: TestDb) {
        let f = two_users(db).await;
        apply(&f, &[], FILE).ok();
        let table = run(&f.db, ["weights", "get", GROUP, "-o", "table"]).ok();
        let line = table.lines().find(|line| line.contains("alice")).unwrap();
        assert!(line.contains("ml") && line.contains('3') && !table.contains(&id("alice").to_string()), "{table}");
        // The entitled share is shown with each weight: alice, who is alone in her project, is entitled to all of it.
        let head: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head, ["TARGET", "TYPE", "TARGET", "PROJECT", "WEIGHT", "ENTITLED", "OF", "PARENT"], "{table}");
        assert!(line.trim_end().ends_with("100.00%"), "{table}");
        let csv = run(&f.db, ["weights", "get", GROUP, "-o", "csv"]).ok();
        assert!(csv.lines().next().unwrap().ends_with(",entitled_share,entitled_share_of_parent"), "{csv}");
        let pruned = apply(&f, &["--prune"], "domains: {research: 2}\n");
        assert_eq!(pruned.code, Some(0));
        let lines: Vec<&str> = pruned.stderr.lines().collect();
        assert_eq!(lines, [
            "unsets the weight 1.5 of the project course",
            "unsets the weight 0.25 of the user bob in the project course",
            "unsets the weight 3 of the user alice in the project ml",
            "0 set, 3 unset, 1 unchanged",
        ]);
        // A user without a job yet, by the name that the first job will have.
        let ahead = UserChange { name: KeyUpdate::To("zoe".to_owned()), ..UserChange::default() };
        f.service.put_user(admin(), identity::user("zoe"), ahead).await.unwrap();
        run(&f.db, ["weights", "set", GROUP, "user", "zoe", "4", "--project", "ml"]).ok();
        assert!(run(&f.db, ["weights", "get", GROUP]).ok().contains("user: zoe"));
    }

    async fn what_get_prints_apply_takes(db: TestDb) {
        let f = two_users(db).await;
        let applied = apply(&f, &[], FILE);
        assert_eq!(applied.stderr, "4 set, 0 unset, 0 unchanged\n");
        let all = ["domain,research,,2", "project,course,,1.5", "user,alice,ml,3", "user,bob,course,0.25"];
        assert_eq!(weights(&f), all);
        let printed = run(&f.db, ["weights", "get", GROUP]).ok();
        assert!(printed.contains("user: alice") && printed.contains("research: '2'"), "{printed}");
        assert_eq!(diff(&f, &["--prune"], &printed).code, Some(0));
        assert_eq!(apply(&f, &["--prune"], &printed).stderr, "0 set, 0 unset, 4 unchanged\n");
        // The same file as JSON.
        let json = json!({"domains": {"research": "2"}, "users": [{"user": id("alice"), "project": "ml", "weight": null}]});
        assert_eq!(diff(&f, &[], &json.to_string()).code, Some(1));
        assert_eq!(apply(&f, &[], &json.to_string()).stderr, "0 set, 1 unset, 1 unchanged\n");
        assert_eq!(weights(&f), [all[0], all[1], all[3]]);
        let rows = run(&f.db, ["weights", "get", GROUP, "-o", "json"]).json();
        assert_eq!(rows["items"][0]["target_type"], "domain");
        // Nothing but a change leaves an entry.
        let log = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(100, None)).await.unwrap();
        assert_eq!(log.rows.iter().filter(|(_, e)| e.action == "weights.put").count(), 2);
    }

    async fn a_diff_and_a_dry_run_change_nothing(db: TestDb) {
        let f = two_users(db).await;
        run(&f.db, ["weights", "set", GROUP, "project", "ml", "7"]).ok();
        let before = weights(&f);
        let ended = diff(&f, &["--prune"], FILE);
        assert_eq!(ended.code, Some(1));
        let shown = &ended.stdout;
        assert!(shown.starts_with("target_type,target,project,key,from,to\ndomain,research,,weight,,2\n"), "{shown}");
        assert!(shown.contains("user,alice,ml,weight,,3\n"), "{shown}");
        assert!(shown.ends_with("project,ml,,weight,7,\n"), "{shown}");
        let dry = apply(&f, &["--prune", "--dry-run", "-o", "csv"], FILE);
        assert_eq!((&dry.stderr, &dry.stdout), (&"4 would be set, 1 would be unset, 0 unchanged\n".to_owned(), &ended.stdout));
        // A program that fails writes nothing.
        for empty in ["", "# nothing\n", "null\n"] {
            assert_eq!(apply(&f, &["--prune"], empty).refused(2), "standard input is empty; with --prune, a file without weights is {}");
        }
        assert_eq!(apply(&f, &[], "[]").refused(2), "standard input: the file is not an object");
        assert_eq!(weights(&f), before);
        assert_eq!(apply(&f, &["--prune"], FILE).stderr, "unsets the weight 7 of the project ml\n4 set, 1 unset, 0 unchanged\n");
        assert_eq!(diff(&f, &["--prune"], FILE).ok(), "target_type,target,project,key,from,to\n");
    }

    async fn apply_prints_what_it_changed(db: TestDb) {
        let f = two_users(db).await;
        let expected =
            run_with_input(&f.db, &["weights", "diff", GROUP, "-f", "-", "-o", "json"], FILE.as_bytes()).stdout;
        assert!(expected.contains(r#""to":"2""#), "{expected}");
        assert_eq!(apply(&f, &["--dry-run", "-o", "json"], FILE).ok(), expected);
        assert_eq!(apply(&f, &["-o", "json"], FILE).ok(), expected);
        assert_eq!(apply(&f, &["-o", "csv"], FILE).ok(), "target_type,target,project,key,from,to\n");
    }

    async fn the_group_of_the_file_is_the_group(db: TestDb) {
        let f = two_users(db).await;
        let of_file = |command: &str, text: &str| run_with_input(&f.db, &["weights", command, "-f", "-"], text.as_bytes());
        assert_eq!(of_file("diff", FILE).code, Some(1));
        assert_eq!(of_file("apply", FILE).stderr, "4 set, 0 unset, 0 unchanged\n");
        let printed = run(&f.db, ["weights", "get", GROUP]).ok();
        assert_eq!(of_file("diff", &printed).code, Some(0));
        let unnamed = "name the resource group, here or in the file as resource_group";
        assert_eq!(of_file("apply", "domains: {research: 3}").refused(2), unnamed);
        assert_eq!(of_file("diff", "resource_group: nowhere").refused(2), "there is no resource group \"nowhere\"");
        assert_eq!(weights(&f)[0], "domain,research,,2");
        // Ids stay for programs.
        let changes = run_with_input(&f.db, &["weights", "diff", "-f", "-", "-o", "json"], printed.replace("'3'", "'4'").as_bytes());
        let changes: Value = serde_json::from_str(&changes.stdout).unwrap();
        let change = &changes["items"][0];
        assert_eq!((&change["target"], &change["target_id"]), (&json!("alice"), &json!(id("alice"))), "{changes}");
        assert_eq!((&change["project"], &change["project_id"]), (&json!("ml"), &json!(id("ml"))), "{changes}");
    }

    async fn queues_of_a_file(db: TestDb) {
        const QUEUES: &str = "\
domains: {research: 2}
queues:
  - {name: vision, parent: research, over_quota_weight: 2, limit: {cpu: 2.50, mem: unlimited}, created_at: 2026-01-01T00:00:00Z}
  - {name: research, quota: {cpu: 4}, over_quota_weight: {cpu: 3}}
";
        let f = two_users(db).await;
        // The queues name memory, too.
        f.agent("node-2", &json!({"mem": "1024"})).await;
        let queues = || run(&f.db, ["queues", GROUP, "-o", "csv"]).ok();
        let shown = diff(&f, &[], QUEUES);
        assert_eq!((shown.code, shown.stdout.lines().count()), (Some(1), 4));
        assert!(shown.stdout.contains("queue,vision,,queue,,\"{\"\"created_at\"\":"), "{}", shown.stdout);
        let dry = apply(&f, &["--dry-run", "-o", "csv"], QUEUES);
        assert_eq!((dry.stderr.lines().last(), &dry.stdout), (Some("queues: 2 would be created, 0 would be changed, 0 would be removed"), &shown.stdout));
        assert_eq!(queues().lines().count(), 1);
        let written = async || fairshared::store::groups::find(f.service.store().read(), GROUP).await.unwrap().unwrap().kernels_revision.number();
        let before = written().await;
        let applied = apply(&f, &["--reason", "new cluster"], QUEUES);
        assert_eq!(applied.stderr, "1 set, 0 unset, 0 unchanged\nqueues: 2 created, 0 changed, 0 removed\n");
        assert_eq!(written().await, before + 1);
        let rows = queues();
        assert!(rows.starts_with("name,parent,priority,quota,limit,"), "{rows}");
        assert!(rows.contains("research,,0,\"{\"\"cpu\"\":\"\"4\"\"}\",{},"), "{rows}");
        assert_eq!(run(&f.db, ["queues", GROUP, "-o", "json"]).json()["items"][1]["limit"], json!({"cpu": "2.5", "mem": "unlimited"}));
        // The output of `get` is valid input of `apply`, and changes nothing.
        let printed = run(&f.db, ["weights", "get", GROUP]).ok();
        assert!(printed.contains("- name: vision\n") && !printed.contains("priority"), "{printed}");
        assert_eq!(diff(&f, &["--prune"], &printed).code, Some(0));
        assert_eq!(apply(&f, &["--prune"], &printed).stderr, "0 set, 0 unset, 1 unchanged\nqueues: 0 created, 0 changed, 0 removed\n");
        // A row for each key that changes; what is not named stays unless it is to go.
        let changed = "queues: [{name: research, quota: {cpu: 5}, over_quota_weight: {cpu: 3}}]";
        let shown = diff(&f, &[], changed);
        assert_eq!(shown.stdout.lines().nth(1), Some("queue,research,,quota,\"{\"\"cpu\"\":\"\"4\"\"}\",\"{\"\"cpu\"\":\"\"5\"\"}\""));
        assert_eq!(shown.stdout.lines().count(), 2);
        assert_eq!(apply(&f, &[], changed).stderr, "0 set, 0 unset, 0 unchanged\nqueues: 0 created, 1 changed, 0 removed\n");
        let shown = diff(&f, &["--prune"], changed);
        assert!(shown.stdout.lines().any(|row| row.starts_with("queue,vision,,queue,\"{") && row.ends_with("\",")), "{}", shown.stdout);
        assert_eq!(apply(&f, &["--prune"], changed).stderr, "unsets the weight 2 of the domain research\nremoves the queue vision\n0 set, 1 unset, 0 unchanged\nqueues: 0 created, 0 changed, 1 removed\n");
        // A file that does not speak of queues leaves them alone.
        assert_eq!(apply(&f, &["--prune"], "domains: {}").stderr, "0 set, 0 unset, 0 unchanged\n");
        assert_eq!(queues().lines().count(), 2);
        let log = f.service.audit_log(&admin(), &AuditFilter { action: Some("queues.put".to_owned()), ..AuditFilter::default() }, &PageWindow::forward(9, None)).await.unwrap();
        let reasons: Vec<_> = log.rows.iter().map(|(_, e)| e.reason.as_deref()).collect();
        assert_eq!(reasons, [None, None, Some("new cluster")]);
        let undone = run(&f.db, ["log", "undo", &log.rows[0].1.id.to_string()]);
        assert!(undone.stderr.contains("is undone") && queues().contains("vision"), "{undone:?}");
        let before = queues();
        for (text, part) in [
            ("domains: {research: 3}\nqueues: [{name: x, parent: nowhere}]", "/queues/0/parent: there is no queue \"nowhere\""),
            ("queues: [{name: x, parent: y}, {name: y, parent: x}]", "/queues/1/parent: "),
            ("queues: [{name: x}, {name: x}]", "/queues/1/name: the queue \"x\" is named twice"),
            ("queues: [{name: x, quota: {cpu: -1}}]", "queues"),
            ("queues: [{name: x, quota: {cpu: .nan}}]", "queues"),
            ("queues: [{name: x, colour: 1}]", "/queues/0/colour: `colour` is not known here"),
            (r#"{"queues": [{"name": "x", "colour": 1}]}"#, "/queues/0/colour: `colour` is not known here"),
            ("queues: [{}]", "/queues/0/name: "),
            ("queues: {x: 1}", ""),
            ("domains: {nowhere: 3}\nqueues: [{name: x}]", "/domains/nowhere: "),
        ] {
            for ended in [apply(&f, &[], text), diff(&f, &[], text)] {
                let line = ended.refused(2);
                assert!(line.contains(part), "{text}: {line}");
            }
        }
        assert_eq!(queues(), before);
        assert_eq!(weights(&f), Vec::<String>::new());
    }

    async fn a_file_with_a_fault_changes_nothing(db: TestDb) {
        let f = two_users(db).await;
        let other = with(kernel("k3", "alice2", "ml2", "2026-01-13T10:00:00Z"), &json!({"user_name": "alice", "project_name": "p3"}));
        assert!(f.ingest(&[other]).await.is_empty());
        let alias_bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n";
        let deep = format!("domains: {}", "[".repeat(10_000));
        let deep_json = format!("{{\"domains\": {}", "{\"a\":".repeat(10_000));
        for (text, part) in [
            ("domains: {research: 0}", "/domains/research: "),
            ("domains: {research: -1}", "/domains/research: "),
            ("domains: {research: .nan}", ""),
            ("domains: {research: 1.00001}", "/domains/research: "),
            ("domains: {research: 1000000}", "/domains/research: "),
            ("domains: {research: [1]}", ""),
            ("domains: {research: 1, research: 2}", "/domains/research: domain:research is named twice"),
            ("domains: {'a~b': 1}", "/domains/a~0b: there is no domain"),
            ("projects: {nothing: 1}", "/projects/nothing: no project is called"),
            ("users: [{user: alice, weight: 1}]", "/users/0: more than one user is called \"alice\""),
            ("users: [{user: bob, weight: 1}, {user: bob, project: course, weight: 2}]", "/users/1: "),
            ("users: [{user: bob}]", "weight"),
            ("users: [{user: 00000000-0000-0000-0000-000000000000, weight: 1}]", "/users/0: there is no user"),
            ("groups: {}", "/groups: `groups` is not known here"),
            ("resource_group: other", "/resource_group: the file is for the resource group \"other\""),
            ("domains: {research: 1}\nprojects: {nothing: 1}", "/projects/nothing"),
            ("domains: {research: 1}\nprojects: {nothing: x}", "/projects/nothing"),
            ("domains: [", "is not YAML"), ("just text", ""),
            ("domains: {research: 1}\n---\ndomains: {research: 2}", "holds several YAML documents; weights are one document"), ("{\"domains\": }", "what begins with { is read as JSON"), (alias_bomb, ""), (&deep, ""), (&deep_json, ""),
        ] {
            for ended in [apply(&f, &[], text), apply(&f, &["--dry-run"], text), diff(&f, &[], text)] {
                let line = ended.refused(2);
                assert!(line.contains(part), "{text}: {line}");
            }
        }
        assert!(run_with_input(&f.db, &["weights", "apply", GROUP, "-f", "-"], b"\xff").refused(2).contains("UTF-8"));
        assert!(run(&f.db, ["weights", "apply", GROUP, "-f", "/nowhere"]).refused(2).contains("cannot read /nowhere"));
        assert!(run(&f.db, ["weights", "get", "nowhere"]).refused(2).contains("nowhere"));
        assert_eq!(weights(&f), Vec::<String>::new());
        // An empty file asks for nothing.
        assert_eq!(apply(&f, &[], "").stderr, "0 set, 0 unset, 0 unchanged\n");
    }

    async fn ten_thousand_weights_are_one_write(db: TestDb) {
        let f = Fixture::new(db, "2026-01-13T10:00:00Z").await;
        let kernels: Vec<Value> = (0..10_000).map(|n| kernel(&format!("k{n}"), &format!("u{n}"), "ml", "2026-01-13T10:00:00Z")).collect();
        assert!(f.ingest(&kernels).await.is_empty());
        let folder = TempDir::new().unwrap();
        let text = (0..10_000).fold("users:\n".to_owned(), |mut text, n| {
            writeln!(text, "- {{user: {}, weight: {}.5}}", id(&format!("u{n}")), n + 1).unwrap();
            text
        });
        let path = file(folder.path(), "weights.yaml", text);
        let ended = run(&f.db, ["weights", "apply", GROUP, "-f", &path]);
        assert_eq!(ended.stderr, "10000 set, 0 unset, 0 unchanged\n");
        f.service.refresh().await.unwrap();
        assert_eq!(f.service.weights(&admin(), GROUP).unwrap().len(), 10_000);
        let log = f.service.audit_log(&admin(), &AuditFilter::default(), &PageWindow::forward(100, None)).await.unwrap();
        assert_eq!(log.rows.iter().filter(|(_, e)| e.action == "weights.put").count(), 1);
    }
}
