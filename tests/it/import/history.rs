//! Usage of earlier years: day totals that are imported once, without kernels.

use std::fmt::Write;

use fairshared::cli::import::command::{ImportArgs, import_history};
use fairshared::cli::import::job::ImportedJob;
use fairshared::service::Role;
use serde_json::{Value, json};

use super::loading::Desk;
use super::{gzip, read};
use crate::cli::program::{file, run};
use crate::rest::support::Server;
use crate::support::database::sqlite;
use crate::support::fixture::{GROUP, admin, kernel, with};
use crate::support::on_both;

const TABLE: &str = "job_id,user,project,domain,start_time,end_time,cpu,mem_gib\n\
                     1,ann,ml,research,2023-03-30T12:00:00Z,2023-04-01T06:00:00Z,4,0\n\
                     2,bob,ml,research,2023-04-01T00:00:00Z,2023-04-01T01:00:00Z,2,3\n\
                     2,bob,ml,research,2023-04-01T00:00:00Z,2023-04-01T01:00:00Z,2,3\n\
                     3,cem,bio,teaching,2023-04-02T00:00:00Z,,2,0\n";

fn hours(report: &str) -> Vec<&str> {
    report.lines().skip(1).collect()
}

#[tokio::test]
async fn a_file_counts_once_and_makes_no_kernels() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let jobs = file(folder.path(), "2023.csv", TABLE);
    let import =
        |more: &[&str]| run(&db, [&["import", "csv", &jobs, "--resource-group", "east", "--history"], more].concat());
    let report = import(&["-o", "json"]).json();
    assert_eq!(
        (&report["source"], &report["taken"], &report["repeated"], &report["unended"]),
        (&json!("2023.csv"), &json!(2), &json!(1), &json!(1))
    );
    assert_eq!((&report["day_totals"], &report["left_out"]), (&json!(4), &json!(0)));
    let usage = |more: &[&str]| run(&db, [&["usage", "east", "-o", "csv"], more].concat()).ok();
    assert_eq!(hours(&usage(&["--month", "2023-04", "--by", "user"])).len(), 2);
    let months = usage(&["--from", "2023-03-01", "--to", "2023-04-30", "--by", "domain,month"]);
    assert_eq!(
        months,
        "first_day,last_day,domain_name,cpu_hours,mem_gib_hours\n\
                        2023-03-01,2023-03-31,research,144,0\n2023-04-01,2023-04-30,research,26,3\n"
    );
    let kernels = run(&db, ["kernels", "list", "east", "-o", "json"]).json();
    assert_eq!(kernels["total"], 0);
    // People of years gone by are known, and have no place in the ranking.
    assert_eq!(run(&db, ["users", "list", "-o", "json"]).json()["total"], 2);
    assert_eq!(run(&db, ["rank", "east", "-o", "json"]).json()["total"], 0);
    let refused = import(&[]).refused(2);
    assert!(refused.contains("\"2023.csv\"") && refused.contains("--source"), "{refused}");
    assert_eq!(import(&["--source", "again"]).code, Some(0));
    assert!(usage(&["--month", "2023-04", "--by", "domain"]).ends_with(",52,6\n"));
    assert_eq!(run(&db, ["audit", "east", "-o", "json"]).code, Some(0));
}

#[tokio::test]
async fn what_an_import_that_broke_off_has_stored_is_left_out() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let head = "job_id,user,project,resource_group,start_time,end_time,cpu,mem_gib\n";
    let job = |id: u8, group: &str| format!("{id},ann,ml,{group},2023-04-01T00:00:00Z,2023-04-01T01:00:00Z,2,0\n");
    let some = file(folder.path(), "some.csv", format!("{head}{}", job(1, "east")));
    let all = file(folder.path(), "all.csv", format!("{head}{}{}", job(1, "east"), job(2, "west")));
    let import = |jobs: &str| run(&db, ["import", "csv", jobs, "--history", "--source", "old", "-o", "json"]);
    import(&some).ok();
    let rest = import(&all).json();
    assert_eq!(
        (&rest["resource_groups"], &rest["known_groups"], &rest["day_totals"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let refused = import(&all).refused(2);
    assert!(refused.contains("usage-histories"), "{refused}");
    for group in ["east", "west"] {
        let usage = run(&db, ["usage", group, "--month", "2023-04", "--by", "user", "-o", "csv"]).ok();
        assert!(hours(&usage)[0].ends_with(",2"), "{usage}");
    }
}

#[tokio::test]
async fn a_file_that_ends_early_or_has_no_name_changes_nothing() {
    let (db, folder) = (sqlite().await, tempfile::tempdir().unwrap());
    let whole = gzip(TABLE.repeat(200).as_bytes());
    let cut = file(folder.path(), "cut.gz", &whole[..whole.len() - 9]);
    let ended = run(&db, ["import", "csv", &cut, "--history"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(run(&db, ["groups", "list", "-o", "json"]).json()["total"], 0);
    let nameless = crate::cli::program::run_with_input(&db, &["import", "csv", "-", "--history"], TABLE.as_bytes());
    assert!(nameless.stderr.contains("--source"), "{nameless:?}");
    // A name that the server would refuse is refused before the file is read.
    let jobs = file(folder.path(), "jobs.csv", TABLE);
    for jobs in [&jobs, "nowhere.csv"] {
        let refused = run(&db, ["import", "csv", jobs, "--history", "--source", "a/b"]).refused(2);
        assert!(refused.contains("the history name \"a/b\" must have 1 to 64 characters"), "{refused}");
    }
    assert_eq!(run(&db, ["groups", "list", "-o", "json"]).json()["total"], 0);
    assert_eq!(run(&db, ["import", "csv", &cut, "--history", "--replace"]).code, Some(2));
    assert_eq!(run(&db, ["import", "csv", &cut, "--source", "x"]).code, Some(2));
}

/// A request with rows of a history.
async fn put(server: &Server, source: &str, rows: Value, complete: bool) -> crate::rest::support::Answer {
    let path = format!("/resource-groups/{GROUP}/usage-histories/{source}");
    server.call("PUT", &path, Some(&json!({"rows": rows, "complete": complete}))).await
}

fn row(day: &str, user: &str, cpu_seconds: &str) -> Value {
    json!({"day": day, "user": user, "project": "ml", "domain_name": "research", "resource_usage": {"cpu": cpu_seconds}})
}

on_both! {
    async fn it_counts_when_it_is_whole_and_until_it_is_removed(db: TestDb) {
        let server = Server::new(db).await;
        let total = async || {
            let answer = server.get(&format!("/resource-groups/{GROUP}/usage-report?from=2025-01-01&to=2026-01-13&by=domain")).await;
            answer["items"][0]["resource_usage"]["cpu"].as_str().unwrap_or("0").to_owned()
        };
        let first = put(&server, "old", json!([row("2025-01-05", "ann", "3600"), row("2025-01-05", "bob", "1")]), false).await.json(200);
        assert_eq!(first, json!({"stored": 2, "left_out": 0}));
        assert_eq!(total().await, "0");
        // A row that is sent again takes its place.
        put(&server, "old", json!([row("2025-01-05", "ann", "3600"), row("2025-03-05", "ann", "0.5")]), true).await.json(200);
        assert_eq!(total().await, "3601.5");
        put(&server, "old", json!([]), true).await.refused(409, "history_complete");
        let list = server.get(&format!("/resource-groups/{GROUP}/usage-histories")).await;
        assert_eq!((&list["items"][0]["source"], &list["items"][0]["complete"]), (&json!("old"), &json!(true)));
        // Runs, rebuilds, audits and purges leave it alone.
        server.ingest(&[with(kernel("k1", "ann", "ml", "2026-01-13T00:00:00Z"), &json!({"status": "TERMINATED", "terminated_at": "2026-01-13T01:00:00Z"}))]).await;
        server.tick().await;
        server.service.rebuild(GROUP).await.unwrap();
        server.service.purge(GROUP, 1).await.unwrap();
        server.assert_conserved().await;
        assert_eq!(total().await, "7201.5");
        // Days that the service has recorded itself are left out.
        let later = put(&server, "new", json!([row("2026-01-12", "ann", "10")]), false).await.json(200);
        assert_eq!(later, json!({"stored": 1, "left_out": 0, "recorded_from": "2026-01-13"}));
        server.clock.set("2026-01-14T12:00:00Z");
        server.tick().await;
        let over = put(&server, "new", json!([row("2026-01-13", "ann", "10")]), true).await.json(200);
        assert_eq!((&over["stored"], &over["left_out"]), (&json!(0), &json!(1)));
        assert_eq!(total().await, "7211.5");
        for source in ["old", "new"] {
            let path = format!("/resource-groups/{GROUP}/usage-histories/{source}?reason=twice");
            assert_eq!(server.call("DELETE", &path, None).await.status, 204);
            server.call("DELETE", &path, None).await.refused(404, "unknown_history");
        }
        assert_eq!(total().await, "3600");
        put(&server, "old", json!([row("2025-01-05", "ann", "3600")]), true).await.json(200);
        let log = server.get("/audit-log?action=usage_history.delete").await;
        assert_eq!((&log["total"], &log["items"][0]["reason"]), (&json!(2), &json!("twice")));
    }

    async fn what_is_wrong_is_named_and_nothing_is_stored(db: TestDb) {
        let server = Server::new(db).await;
        let with = |key: &str, value: Value| {
            let mut wrong = row("2025-01-05", "ann", "1");
            wrong[key] = value;
            json!([row("2025-01-05", "bob", "1"), wrong])
        };
        for (rows, code, pointer) in [
            (with("day", json!("2026-01-13")), "in_future", "/rows/1/day"),
            (with("day", json!("2025-02-30")), "invalid_value", "/rows/1/day"),
            (with("domain_name", json!("a/b")), "invalid_name", "/rows/1/domain_name"),
            (with("user_uuid", json!("6f0c8f3e-5b0c-4f0d-9a55-1d2f3c4b5a69")), "give_one", "/rows/1/user"),
            (with("user", json!("\u{7}")), "invalid_name", "/rows/1/user"),
            (with("colour", json!("red")), "unknown_field", "/rows/1/colour"),
            (with("jobs", json!(-1)), "invalid_value", "/rows/1/jobs"),
        ] {
            let answer = put(&server, "old", rows, true).await;
            answer.refused(422, code);
            assert_eq!(answer.json(422)["errors"][0]["pointer"], pointer);
        }
        let negative = put(&server, "old", json!([row("2025-01-05", "ann", "-1")]), true).await;
        assert_eq!(negative.status, 422);
        assert_eq!(server.get(&format!("/resource-groups/{GROUP}/usage-histories")).await["total"], 0);
        assert_eq!(server.get("/users").await["total"], 0);
        let scheduler = server.key_for(Role::Scheduler, None).await;
        let path = format!("/resource-groups/{GROUP}/usage-histories/old");
        let body = json!({"rows": []});
        server.call_as(&scheduler, "PUT", &path, Some(&body)).await.refused(403, "forbidden");
        server.call_as(&scheduler, "DELETE", &path, None).await.refused(403, "forbidden");
    }

    async fn its_sums_are_those_of_the_jobs(db: TestDb) {
        let desk = Desk::new(db).await;
        let mut swf = ";UnixStartTime: 1600000000\n".to_owned();
        for n in 0..60 {
            let (at, ran, cpus) = (n * 7_000, 50_000 + n * 977, n % 5 + 1);
            writeln!(swf, "{n} {at} 0 {ran} {cpus} -1 -1 {cpus} -1 -1 1 {} {} -1 1 -1 -1 -1", n % 4, n % 3).unwrap();
        }
        let jobs = read("swf", swf.as_bytes()).jobs;
        let args = ImportArgs {
            format: "swf".to_owned(),
            file: desk.file("jobs.swf", &swf),
            history: true,
            source: Some("old".to_owned()),
            ..desk.args("")
        };
        let report = import_history(&args, &desk.fixture.client(), &*desk.fixture.clock).await.unwrap();
        assert_eq!(report.summary.taken, jobs.len() as u64);
        let ran = |job: &ImportedJob| u128::from(job.terminated_at.unwrap().micros().abs_diff(job.started_at.unwrap().micros()));
        let cpu = fairshared::domain::slots::SlotName::new("cpu").unwrap();
        let held = |job: &ImportedJob| job.slots.get(cpu).unwrap().units() / 1_000_000_000_000;
        let expected: u128 = jobs.iter().map(|job| ran(job) * held(job)).sum();
        let question = fairshared::service::usage_report::ReportRequest { from: "2020-09-01", to: "2020-12-31", by: Some("user,day"), ..Default::default() };
        let question = desk.fixture.service.report_question(&admin(), None, question).unwrap();
        let rows = desk.fixture.service.usage_report(&admin(), &question).await.unwrap().rows;
        let mut sum = fairshared::domain::slots::SlotUsages::default();
        for row in &rows {
            sum.add(&row.usage);
        }
        assert_eq!(sum.get(cpu).unwrap().to_string(), (expected / 1_000_000).to_string());
    }
}
