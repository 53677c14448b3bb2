//! Later dumps of the same cluster: jobs with shifted starts, and later runs of jobs that were imported while running.

use std::fmt::Write as _;

use fairshared::cli::import::command::ImportArgs;
use fairshared::cli::import::report::ImportReport;
use fairshared::domain::decimal::Usage;
use fairshared::domain::kernel::KernelPhase;
use fairshared::domain::tier::Tier;

use super::loading::Desk;
use super::{at, slot};
use crate::support::fixture::GROUP;
use crate::support::on_both;

const SACCT: &str = "JobID|User|Account|Cluster|State|Submit|Start|End|AllocTRES\n";

fn sacct(desk: &Desk, rows: &str) -> ImportArgs {
    let file = desk.file("sacct.txt", format!("{SACCT}{rows}"));
    ImportArgs { format: "sacct".to_owned(), file, ..desk.args("") }
}

fn berlin(args: &ImportArgs) -> ImportArgs {
    ImportArgs { timezone: Some("Europe/Berlin".parse().unwrap()), ..args.clone() }
}

/// Finished jobs of an hour, one a quarter of an hour.
fn hours(jobs: u32) -> String {
    (0..jobs).fold(String::new(), |mut rows, n| {
        let (start, end) = (n * 15, n * 15 + 60);
        let clock = |minutes: u32| format!("2026-02-08T{:02}:{:02}:00", minutes / 60, minutes % 60);
        writeln!(rows, "{n}|ann|ml|{GROUP}|COMPLETED|{}|{}|{}|cpu=1", clock(start), clock(start), clock(end)).unwrap();
        rows
    })
}

async fn refusal(desk: &Desk, args: &ImportArgs) -> String {
    format!("{:#}", desk.try_import(args).await.unwrap_err())
}

/// The resource-seconds of the group.
async fn used(desk: &Desk) -> String {
    let rows = desk.buckets(GROUP, Tier::User).await;
    rows.iter().filter_map(|row| row.resource_usage.get(slot("cpu"))).sum::<Usage>().to_string()
}

fn told(report: &ImportReport) -> (u64, u64, u64) {
    (report.changed, report.known(), report.refused_rows())
}

on_both! {
    async fn a_dump_in_another_zone_is_refused_before_anything_changes(db: TestDb) {
        let desk = Desk::new(db).await;
        let args = sacct(&desk, &hours(12));
        assert_eq!(desk.import(&args).await.changed, 12);
        let before = desk.kernels(GROUP).await;
        let error = refusal(&desk, &berlin(&args)).await;
        assert!(error.starts_with("shifted: 12 jobs are known with a start that is 1 h 0 min 0 s later"), "{error}");
        assert!(error.contains("--timezone") && error.contains("--replace"), "{error}");
        assert_eq!(desk.kernels(GROUP).await, before);
        // Rows that equal the known ones pass.
        assert!(desk.import(&args).await.changed_nothing());
    }

    async fn with_replace_the_times_of_the_file_count(db: TestDb) {
        let desk = Desk::new(db).await;
        let args = sacct(&desk, &hours(12));
        desk.import(&args).await;
        assert_eq!(used(&desk).await, "43200");
        let report = desk.import(&ImportArgs { replace: true, ..berlin(&args) }).await;
        assert_eq!((told(&report), report.replaced), ((12, 0, 0), 12));
        assert!(report.to_string().contains("12 known kernels were taken back"), "{report}");
        assert_eq!(used(&desk).await, "43200", "nothing counts twice");
        let first = at("2026-02-07T23:00:00Z");
        let kernels = desk.kernels(GROUP).await;
        assert!(kernels.iter().any(|kernel| kernel.report.started_at == Some(first)));
        let audit = desk.fixture.service.audit_conservation(&crate::support::fixture::admin(), GROUP).await.unwrap();
        assert_eq!(audit.difference, None);
        // From then on the zone is the one that is known.
        assert!(desk.import(&berlin(&args)).await.changed_nothing());
    }

    async fn a_trace_that_was_moved_to_now_says_so(db: TestDb) {
        let desk = Desk::new(db).await;
        let row = |n: u32| format!("{n},ann,ml,,{GROUP},2005-11-20T00:00:0{}Z,2005-11-20T01:00:00Z,1,,\n", n % 10);
        let args = desk.args(&(0..12).map(row).collect::<String>());
        let nodes = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n";
        let nodes = desk.file("nodes.csv", format!("{nodes}{GROUP},n1,8,,,2005-11-19T00:00:00Z,2005-11-21T00:00:00Z\n"));
        let moved = ImportArgs { rebase_to_now: true, capacities: Some(nodes), ..args.clone() };
        let report = desk.import(&moved).await;
        assert_eq!(report.changed, 12);
        assert!(report.to_string().contains(", and dated capacities with them"), "{report}");
        assert!(report.rebased.unwrap().capacities && report.to_json()["capacities_shifted"] == true);
        let again = desk.import(&moved).await.to_string();
        assert!(again.contains("times stay where they are; dated capacities moved by the same "), "{again}");
        let error = refusal(&desk, &args).await;
        assert!(error.starts_with("shifted: 12 jobs are known with a start that is "), "{error}");
        assert!(error.contains("say --rebase-to-now again"), "{error}");
        // The times of the file, if that is what is wanted.
        let report = desk.import(&ImportArgs { replace: true, ..args.clone() }).await;
        assert_eq!((told(&report), report.replaced), ((12, 0, 0), 12));
        let starts: Vec<_> = desk.kernels(GROUP).await.iter().filter_map(|k| k.report.started_at).collect();
        assert!(starts.iter().all(|start| *start < at("2005-11-20T00:00:10Z")), "{starts:?}");
        assert!(desk.import(&args).await.changed_nothing());
    }

    async fn a_few_requeued_jobs_are_no_shift(db: TestDb) {
        let desk = Desk::new(db).await;
        desk.import(&sacct(&desk, &hours(9))).await;
        let later = hours(9).replace("2026-02-08", "2026-02-09");
        let report = desk.import(&sacct(&desk, &later)).await;
        assert_eq!(report.changed, 9, "{report}");
        assert_eq!(desk.kernels(GROUP).await.len(), 18);
    }

    async fn a_later_run_ends_the_earlier_one_that_was_seen_running(db: TestDb) {
        let desk = Desk::new(db).await;
        let running = |id: &str, submit: &str, start: &str| {
            format!("{id}|ann|ml|{GROUP}|RUNNING|2026-02-09T{submit}|2026-02-09T{start}|Unknown|cpu=1\n")
        };
        let first = [running("7", "00:00:00", "01:00:00"), running("8_1", "00:00:00", "01:00:00"), running("8_2", "00:00:00", "01:00:00")];
        desk.import(&sacct(&desk, &first.concat())).await;
        // Without --duplicates only the later runs come: of the job, and of one task of the array.
        let later = [running("7", "02:00:00", "03:00:00"), running("8_1", "00:00:00", "04:00:00"), first[2].clone()];
        let args = sacct(&desk, &later.concat());
        let report = desk.import(&args).await;
        assert_eq!((report.changed, report.earlier_runs_ended), (2, 2), "{report}");
        assert!(report.to_string().contains("2 earlier runs ended, because a later run of the same job came"), "{report}");
        let ended = |kernels: Vec<fairshared::domain::kernel::Kernel>| {
            let mut ends: Vec<_> = kernels.into_iter().filter_map(|k| k.report.terminated_at).map(|t| t.to_string()).collect();
            ends.sort();
            ends
        };
        // Queued again at 2 o'clock; of the task no better end is known than its next start.
        assert_eq!(ended(desk.kernels(GROUP).await), ["2026-02-09T02:00:00Z", "2026-02-09T04:00:00Z"]);
        assert!(desk.import(&args).await.changed_nothing());
        // With --duplicates the true end comes after all, and it counts, in whatever order.
        let own = format!("7|ann|ml|{GROUP}|PREEMPTED|2026-02-09T00:00:00|2026-02-09T01:00:00|2026-02-09T01:30:00|cpu=1\n");
        for rows in [format!("{own}{}", later.concat()), format!("{}{own}", later.concat())] {
            desk.import(&sacct(&desk, &rows)).await;
            assert_eq!(ended(desk.kernels(GROUP).await), ["2026-02-09T01:30:00Z", "2026-02-09T04:00:00Z"]);
        }
        let still = desk.kernels(GROUP).await.iter().filter(|k| k.report.phase == KernelPhase::Running).count();
        assert_eq!(still, 3);
    }

    async fn runs_of_one_file_are_told_apart(db: TestDb) {
        let desk = Desk::new(db).await;
        let rows = format!(
            "7|ann|ml|{GROUP}|RUNNING|2026-02-09T00:00:00|2026-02-09T03:00:00|Unknown|cpu=1\n\
             7|ann|ml|{GROUP}|NODE_FAIL|2026-02-09T00:00:00|2026-02-09T01:00:00|2026-02-09T02:00:00|cpu=1\n"
        );
        let report = desk.import(&sacct(&desk, &rows)).await;
        assert_eq!((report.changed, report.earlier_runs_ended), (2, 0), "{report}");
        assert!(desk.import(&sacct(&desk, &rows)).await.changed_nothing());
    }
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_not_replaced() {
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let args = sacct(&desk, &hours(12));
    desk.import(&args).await;
    // Long after, when the records are gone.
    desk.fixture.clock.advance_seconds(86_400 * 400);
    desk.fixture.service.purge(GROUP, 1_000).await.unwrap();
    let report = desk.import(&ImportArgs { replace: true, ..berlin(&args) }).await;
    assert_eq!((told(&report), report.taken()), ((0, 0, 12), 0), "{report}");
    assert!(report.to_string().contains("the records of what the ended kernel used then are purged"), "{report}");
    assert!(!report.succeeded());
}
