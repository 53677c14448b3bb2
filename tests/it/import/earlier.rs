//! Jobs that ended before the server's retention: they count in reports, once, and nowhere else.

use std::collections::BTreeMap;
use std::process::Stdio;

use fairshared::cli::import::command::{ImportArgs, import_history};
use fairshared::cli::import::history::HistoryReport;
use fairshared::cli::import::report::ImportReport;
use fairshared::domain::slots::SlotName;
use fairshared::service::usage_report::ReportRequest;
use fairshared::service::{Clock, SystemClock};
use serde_json::{Value, json};

use super::loading::Desk;
use crate::cli::program::{Server, end, file, over, run};
use crate::rest::support::Server as Router;
use crate::support::database::{TestDb, postgres_unmigrated, sqlite_unmigrated};
use crate::support::fixture::{GROUP, admin, kernel, with};
use crate::support::on_both;

/// 1,100 days before the clock of a desk.
const LIMIT: &str = "2023-02-06";

fn row(job: u32, user: &str, start: &str, end: &str, cpu: u32) -> String {
    format!("{job},{user},ml,research,east,{start},{end},{cpu},,\n")
}

/// Hours of cores by day, in the months that tests use.
async fn days(desk: &Desk) -> BTreeMap<String, String> {
    let cpu = SlotName::new("cpu").unwrap();
    let mut days = BTreeMap::new();
    for (from, to) in [
        ("2016-12-01", "2016-12-31"),
        ("2023-02-01", "2023-02-28"),
        ("2024-03-01", "2024-03-31"),
        ("2025-03-01", "2025-05-31"),
        ("2026-01-01", "2026-02-10"),
    ] {
        let asked = ReportRequest { from, to, by: Some("day"), ..Default::default() };
        let question = desk.fixture.service.report_question(&admin(), None, asked).unwrap();
        for row in desk.fixture.service.usage_report(&admin(), &question).await.unwrap().rows {
            let seconds = row.usage.get(cpu).map_or_else(|| "0".to_owned(), |usage| usage.to_string());
            days.insert(row.first_day.to_string(), seconds);
        }
    }
    days
}

/// Imports the rows as the history `source`.
async fn import_rows_as_history(desk: &Desk, source: &str, rows: &str) -> HistoryReport {
    let args = ImportArgs { history: true, source: Some(source.to_owned()), ..desk.args(rows) };
    import_history(&args, &desk.fixture.client(), &*desk.fixture.clock).await.unwrap()
}

/// A group that has recorded one day of 2024 and whose kernels are removed.
async fn purged_year(db: TestDb) -> Desk {
    let desk = Desk::new(db).await;
    desk.import(&desk.args(&row(1, "ann", "2024-03-01T00:00:00Z", "2024-03-01T02:00:00Z", 1))).await;
    desk.fixture.service.purge("east", 1_100).await.unwrap();
    assert_eq!(desk.fixture.service.purge_kernels("east", 0).await.unwrap(), 1);
    desk
}

/// The expected answer of [`days`].
fn seconds(of: &[(&str, u32)]) -> BTreeMap<String, String> {
    of.iter().map(|(day, seconds)| ((*day).to_owned(), seconds.to_string())).collect()
}

fn earlier(report: &ImportReport) -> u64 {
    report.earlier.as_ref().map_or(0, |earlier| earlier.rows)
}

on_both! {
    async fn every_hour_counts_once_on_both_sides_of_the_limit(db: TestDb) {
        let desk = Desk::new(db).await;
        let rows = row(1, "ann", "2023-02-05T00:00:00Z", "2023-02-05T01:00:00Z", 4)
            + &row(2, "bob", "2023-02-05T22:00:00Z", "2023-02-06T02:00:00Z", 2)
            + &row(3, "ann", "2023-02-06T00:00:00Z", "2023-02-06T01:00:00Z", 1)
            + &row(4, "ann", "2023-02-05T23:00:00Z", "2023-02-06T00:00:00Z", 1)
            + &row(5, "eve", "2016-12-30T00:00:00Z", "2016-12-30T00:00:10Z", 1)
            + &row(6, "eve", "2016-12-30T00:00:00Z", "2016-12-30T00:00:00Z", 1)
            + &row(7, "ann", "2026-02-09T00:00:00Z", "2026-02-09T01:00:00Z", 1);
        let args = desk.args(&rows);
        let report = desk.import(&args).await;
        assert_eq!((report.changed, report.refused_rows(), earlier(&report)), (7, 0, 4), "{report}");
        let said = format!("4 rows are of jobs that ended before {LIMIT}, from when the server keeps no kernels: ");
        assert!(report.to_string().contains(&said), "{report}");
        let all = seconds(&[
            ("2016-12-30", 10),
            ("2023-02-05", 14_400 + 2 * 7_200 + 3_600),
            ("2023-02-06", 2 * 7_200 + 3_600),
            ("2026-02-09", 3_600),
        ]);
        assert_eq!(days(&desk).await, all);
        assert_eq!(desk.kernels("east").await.len(), 3);
        // A second import changes nothing, before a purge and after it.
        let again = desk.import(&args).await;
        assert!(again.changed_nothing() && again.succeeded() && earlier(&again) == 4, "{again}");
        assert_eq!(days(&desk).await, all);
        let service = &desk.fixture.service;
        let difference = async || service.audit_conservation(&admin(), "east").await.unwrap().difference;
        assert_eq!(difference().await, None);
        service.purge("east", 1_100).await.unwrap();
        service.purge_kernels("east", 0).await.unwrap();
        assert_eq!((desk.kernels("east").await.len(), days(&desk).await), (1, all.clone()));
        let after = desk.import(&args).await;
        assert!(after.changed_nothing() && (after.refused_rows(), earlier(&after)) == (0, 4), "{after}");
        assert_eq!((days(&desk).await, difference().await), (all, None));
    }

    async fn another_file_of_those_years_adds_what_it_has_more(db: TestDb) {
        let desk = Desk::new(db).await;
        let first = row(1, "ann", "2016-12-30T00:00:00Z", "2016-12-30T00:00:10Z", 1);
        desk.import(&desk.args(&first)).await;
        let more = first + &row(2, "ann", "2016-12-30T00:00:00Z", "2016-12-31T00:00:05Z", 1);
        let report = desk.import(&desk.args(&more)).await;
        assert_eq!((report.changed, report.known(), earlier(&report)), (1, 1, 2), "{report}");
        assert_eq!(days(&desk).await, seconds(&[("2016-12-30", 86_410), ("2016-12-31", 5)]));
        // A history that an admin removes comes back with the next import.
        desk.fixture.service.delete_history(admin(), "east".into(), "earlier-kernels".into(), None).await.unwrap();
        assert_eq!(days(&desk).await, BTreeMap::new());
        assert_eq!(desk.import(&desk.args(&more)).await.changed, 2);
        assert_eq!(days(&desk).await, seconds(&[("2016-12-30", 86_410), ("2016-12-31", 5)]));
    }

    async fn accounting_from_before_the_server_joins_a_group_whose_kernels_were_purged(db: TestDb) {
        let desk = Desk::new(db).await;
        desk.import(&desk.args(&row(1, "ann", "2026-02-09T00:00:00Z", "2026-02-09T01:00:00Z", 1))).await;
        desk.fixture.clock.set("2026-06-10T12:00:00Z");
        desk.fixture.service.purge("east", 1_100).await.unwrap();
        desk.fixture.service.purge_kernels("east", 0).await.unwrap();
        // The group has recorded nothing before the ninth; what ended on that day may have been counted.
        let rows = row(2, "ann", "2026-02-07T00:00:00Z", "2026-02-07T01:00:00Z", 1)
            + &row(3, "ann", "2026-02-09T02:00:00Z", "2026-02-09T03:00:00Z", 1);
        let args = desk.args(&rows);
        for changed in [1, 0] {
            let report = desk.import(&args).await;
            assert_eq!((report.changed, report.refused_rows(), earlier(&report)), (changed, 1, 1), "{report}");
            assert!(report.to_string().contains("\n  1 refused (too_old)\n    line 3: the kernel ended at "), "{report}");
            assert_eq!(days(&desk).await, seconds(&[("2026-02-07", 3_600), ("2026-02-09", 3_600)]));
        }
    }

    async fn a_second_year_joins_after_the_first_one_was_purged(db: TestDb) {
        let desk = purged_year(db).await;
        // The third job ran on a day that the group has recorded, and the fourth on such a day and on another one.
        let rows = row(2, "ann", "2025-03-01T00:00:00Z", "2025-03-02T01:00:00Z", 2)
            + &row(3, "bob", "2024-03-01T03:00:00Z", "2024-03-01T04:00:00Z", 1)
            + &row(4, "bob", "2024-03-01T23:00:00Z", "2024-03-02T04:00:00Z", 1)
            + &row(5, "bob", "2025-03-01T23:00:00Z", "2025-03-02T00:00:00Z", 1);
        let all = seconds(&[("2024-03-01", 7_200), ("2025-03-01", 2 * 86_400 + 3_600), ("2025-03-02", 7_200)]);
        let args = desk.args(&rows);
        for changed in [2, 0] {
            let report = desk.import(&args).await;
            assert_eq!((report.changed, report.refused_rows(), earlier(&report)), (changed, 2, 2), "{report}");
            let text = report.to_string();
            assert!(text.contains("2 rows are of jobs that ended before 2025-03-03, from when the server keeps no"), "{text}");
            assert!(text.contains("\n  2 refused (too_old)\n") && text.contains("--resource-group NAME"), "{text}");
            assert_eq!(days(&desk).await, all);
        }
        // A later end adds what is new.
        let longer = row(2, "ann", "2025-03-01T00:00:00Z", "2025-03-02T02:00:00Z", 2);
        assert_eq!(desk.import(&desk.args(&longer)).await.changed, 1);
        assert_eq!(days(&desk).await["2025-03-02"], "14400");
        // Days that kernels of the history have used do not count again as a history of another name.
        let counted = row(2, "ann", "2025-03-01T00:00:00Z", "2025-03-02T01:00:00Z", 2)
            + &row(3, "bob", "2024-03-01T03:00:00Z", "2024-03-01T04:00:00Z", 1);
        let again = import_rows_as_history(&desk, "again", &counted).await;
        assert_eq!((again.stored, again.succeeded()), (0, false), "{again}");
        assert!(again.to_string().contains("nothing of them is stored: there is no history \"again\""), "{again}");
        assert!(!again.to_string().contains("taken") && again.to_json()["taken"] == 0, "{again}");
        let audit = desk.fixture.service.audit_conservation(&admin(), "east").await.unwrap();
        assert_eq!(audit.difference, None);
    }

    async fn a_history_has_every_day_that_the_server_does_not_count(db: TestDb) {
        let desk = purged_year(db).await;
        let rows = row(2, "ann", "2025-03-01T00:00:00Z", "2025-03-02T01:00:00Z", 2)
            + &row(3, "bob", "2024-03-01T03:00:00Z", "2024-03-01T04:00:00Z", 1)
            + &row(4, "bob", "2024-03-02T00:00:00Z", "2024-03-02T00:00:01Z", 1)
            // A report may still bring kernels of a day within the look-back.
            + &row(5, "bob", "2026-02-01T00:00:00Z", "2026-02-03T00:00:00Z", 1);
        let report = import_rows_as_history(&desk, "2025", &rows).await;
        assert_eq!((report.stored, report.left_out, report.succeeded()), (3, 3, true), "{report}");
        let left_out = "3 day totals left out, of days whose usage the server counts from kernels: 2024-03-01, \
                        2026-02-01 to 2026-02-02";
        assert!(report.to_string().contains(left_out), "{report}");
        let with_history =
            [("2024-03-01", 7_200), ("2024-03-02", 1), ("2025-03-01", 2 * 86_400), ("2025-03-02", 7_200)];
        assert_eq!(days(&desk).await, seconds(&with_history));
        // Usage that runs still have to record does not count twice, and a file of such days leaves no history.
        let waiting = row(6, "eve", "2025-05-01T00:00:00Z", "2025-05-01T01:00:00Z", 1);
        desk.import(&ImportArgs { resource_group: Some("west".into()), no_aggregate: true, ..desk.args(&waiting) }).await;
        let args = ImportArgs { history: true, source: Some("may".to_owned()), resource_group: Some("west".into()), ..desk.args(&waiting) };
        let report = import_history(&args, &desk.fixture.client(), &*desk.fixture.clock).await.unwrap();
        assert_eq!((report.stored, report.left_out, report.succeeded()), (0, 1, false), "{report}");
        assert!(desk.fixture.service.usage_histories(&admin(), "west").await.unwrap().is_empty());
        desk.fixture.service.aggregate("west").await.unwrap();
        assert_eq!(days(&desk).await["2025-05-01"], "3600");
    }

    async fn reports_say_what_they_have_put_into_the_history(db: TestDb) {
        let server = Router::new(db).await;
        let ended = |name: &str, at: &str| {
            with(kernel(name, "ann", "ml", at), &json!({"status": "TERMINATED", "terminated_at": at}))
        };
        let path = format!("/resource-groups/{GROUP}/kernels");
        let rows = json!([ended("k1", "2016-12-30T10:00:00Z"), ended("k2", "2026-01-13T11:00:00Z")]);
        let dry = server.call("POST", &format!("{path}?dry_run=true"), Some(&rows)).await.json(200);
        assert_eq!((&dry["accepted"], &dry["rejected"]), (&json!(2), &json!(0)));
        for changed in [2, 0] {
            let answer = server.call("POST", &path, Some(&rows)).await.json(200);
            assert_eq!((&answer["accepted"], &answer["changed"]), (&json!(2), &json!(changed)));
            assert_eq!(answer["earlier"], json!({"kernels": 1, "before": "2023-01-09", "source": "earlier-kernels"}));
        }
        let list = server.get(&format!("/resource-groups/{GROUP}/usage-histories")).await;
        assert_eq!((&list["items"][0]["source"], &list["items"][0]["complete"]), (&json!("earlier-kernels"), &json!(true)));
        let taken = format!("/resource-groups/{GROUP}/usage-histories/earlier-kernels");
        server.call("PUT", &taken, Some(&json!({"rows": []}))).await.refused(409, "history_of_kernels");
        assert_eq!(server.get("/audit-log?action=usage_history.put").await["total"], 1);
    }

    async fn a_purge_waits_a_day_after_old_kernels_came(db: TestDb) {
        let server = Router::new(db).await;
        let waits_from = || server.service.group(&admin(), GROUP).unwrap().purge_waits_from().to_string();
        let made = waits_from();
        server.clock.set("2026-02-01T12:00:00Z");
        let ended = json!({"status": "TERMINATED", "terminated_at": "2026-01-31T11:00:00Z"});
        server.ingest(&[with(kernel("new", "ann", "ml", "2026-01-31T10:00:00Z"), &ended)]).await;
        assert_eq!(waits_from(), made);
        let ended = json!({"status": "TERMINATED", "terminated_at": "2025-06-01T11:00:00Z"});
        let old = with(kernel("old", "ann", "ml", "2025-06-01T10:00:00Z"), &ended);
        server.ingest(std::slice::from_ref(&old)).await;
        assert_eq!(waits_from(), "2026-02-01T12:00:00Z");
        server.clock.set("2026-02-01T18:00:00Z");
        server.ingest(&[old]).await;
        assert_eq!(waits_from(), "2026-02-01T12:00:00Z", "nothing came that was not there");
    }
}

#[tokio::test]
async fn a_second_history_of_the_same_jobs_is_warned_of() {
    let (db, folder) = (crate::support::database::sqlite().await, tempfile::tempdir().unwrap());
    let head = "job_id,user,project,domain,resource_group,start_time,end_time,cpu,mem_gib,gpu\n";
    let old = row(1, "ann", "2016-12-30T00:00:00Z", "2016-12-30T10:00:00Z", 4);
    let jobs = file(folder.path(), "jobs.csv", head.to_owned() + &old);
    run(&db, ["import", "csv", &jobs, "--history"]).ok();
    let told = run(&db, ["import", "csv", &jobs]).stderr;
    let warning = "warning: resource group east has the history \"jobs.csv\", too: a job of both counts twice; ";
    assert!(told.contains(warning), "{told}");
}

/// A server, jobs of 2016 and of three months ago, a schedule that has begun, and a purge by hand.
async fn an_import_beside_a_server_keeps_what_it_read(db: TestDb) {
    run(&db, ["migrate", "up"]).ok();
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let server = Server::start(over(&db.url).args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::from(log)));
    let lately = |days: u32| format!("{}T00:00:00Z", SystemClock.now().day().back(days));
    let rows =
        row(1, "ann", "2016-12-30T00:00:00Z", "2016-12-30T10:00:00Z", 4) + &row(2, "ann", &lately(91), &lately(90), 1);
    let head = "job_id,user,project,domain,resource_group,start_time,end_time,cpu,mem_gib,gpu\n";
    let jobs = file(folder.path(), "jobs.csv", head.to_owned() + &rows);
    let import = || run(&db, ["import", "csv", &jobs]).ok();
    let first = import();
    assert!(
        first.contains("\n2 rows new or changed, 0 already known; ")
            && first.contains("\n1 row is of a job that ended before "),
        "{first}"
    );
    // All that was due with the first tick of the schedule has run once `compact` and `divide` have.
    let ran = |job: &str| {
        let jobs = run(&db, ["jobs", "list", "-o", "json"]).json();
        let found = jobs["items"].as_array().unwrap().iter().find(|row| row["name"] == job).unwrap().clone();
        found["last_runs"].as_array().is_some_and(|runs| runs.iter().any(|run| run["status"] == "succeeded"))
    };
    while !(ran("compact") && ran("aggregate")) {
        tokio::task::yield_now().await;
    }
    assert!(!ran("purge"));
    let total = || run(&db, ["kernels", "list", "east", "-o", "json"]).json()["total"].clone();
    assert_eq!(total(), 1);
    assert!(import().contains("\n0 rows new or changed, 2 already known; "));
    let usage = run(&db, ["usage", "east", "--month", "2016-12", "--by", "user", "-o", "csv"]).ok();
    assert!(usage.lines().nth(1).is_some_and(|line| line.ends_with(",40")), "{usage}");
    let key = run(&db, ["keys", "create", "--role", "admin", "--label", "test"]).ok().trim_end().to_owned();
    let mut purge = over(&db.url);
    purge.env("FAIRSHARED_SERVER", &server.address).env("FAIRSHARED_KEY", key);
    end(purge.args(["jobs", "run", "purge", "--group", "east"])).ok();
    assert_eq!(total(), 0);
    let list = run(&db, ["jobs", "list"]).ok();
    assert!(list.contains("kernels 1 (before "), "{list}");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    let lines: Vec<&str> =
        log.lines().filter(|line| line.contains("a purge removed what is past its retention")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    for part in ["INFO", "east", "kernels", "kernels_before", "records_before", "buckets_before"] {
        assert!(lines[0].contains(part), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_beside_a_server_on_sqlite() {
    an_import_beside_a_server_keeps_what_it_read(sqlite_unmigrated()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_beside_a_server_on_postgres() {
    an_import_beside_a_server_keeps_what_it_read(postgres_unmigrated().await).await;
}

/// The real dump that was once lost as a whole, imported before the server starts and while it runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_dump_of_2016_stays() {
    let Some(data) = crate::support::plain::data() else { return };
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let args = ImportArgs {
        format: "sacct".to_owned(),
        file: data.join("xdmod-sacct/pozidriv.sacct.txt.gz"),
        ..desk.args("")
    };
    let report = desk.import(&args).await;
    assert_eq!((report.changed, report.refused_rows(), earlier(&report)), (10_216, 0, 10_216), "{report}");
    let before = days(&desk).await;
    assert!(before.len() == 10 && before.contains_key("2016-12-22"), "{before:?}");
    let again = desk.import(&args).await;
    assert!(again.changed_nothing() && again.succeeded() && again.known() == 10_216, "{again}");
    assert_eq!(days(&desk).await, before);
    let list: Value = again.to_json();
    assert_eq!(list["earlier"]["rows"], 10_216);
}
