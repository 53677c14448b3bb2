//! The import of jobs into the service: the rows that are accepted and refused, and those that a second import leaves alone.

use std::path::PathBuf;

use fairshared::cli::import::MemoryUnit;
use fairshared::cli::import::charge_class::ChargeClassField;
use fairshared::cli::import::command::{ImportArgs, import};
use fairshared::cli::import::report::ImportReport;
use fairshared::domain::filter::Filter;
use fairshared::domain::kernel::Kernel;
use fairshared::domain::tier::Tier;
use fairshared::service::buckets::{BucketField, BucketList, BucketRow};
use fairshared::service::input::page::PageWindow;
use fairshared::service::kernels::KernelFilter;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{at, gzip};
use crate::support::fixture::{Fixture, admin};
use crate::support::on_both;

const HEADER: &str = "job_id,user,project,domain,resource_group,start_time,end_time,cpu,mem_gib,gpu\n";
const NOW: &str = "2026-02-10T12:00:00Z";

/// A service and a folder for files.
pub(super) struct Desk {
    pub(super) fixture: Fixture,
    folder: TempDir,
}

impl Desk {
    pub(super) async fn new(db: crate::support::database::TestDb) -> Self {
        Self { fixture: Fixture::new(db, NOW).await, folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    pub(super) fn args(&self, rows: &str) -> ImportArgs {
        ImportArgs {
            format: "csv".to_owned(),
            file: self.file("jobs.csv", format!("{HEADER}{rows}")),
            resource_group: None,
            swf_memory: MemoryUnit::ALL[0].0.to_owned(),
            capacities: None,
            domain_map: None,
            timezone: None,
            delimiter: None,
            noheader: false,
            fields: None,
            slot: Vec::new(),
            charge_class: ChargeClassField::None,
            rebase_to_now: false,
            replace: false,
            no_aggregate: false,
            history: false,
            source: None,
        }
    }

    pub(super) async fn import(&self, args: &ImportArgs) -> ImportReport {
        self.try_import(args).await.unwrap()
    }

    pub(super) async fn try_import(&self, args: &ImportArgs) -> anyhow::Result<ImportReport> {
        import(args, &self.fixture.client(), &*self.fixture.clock).await
    }

    pub(super) async fn kernels(&self, group: &str) -> Vec<Kernel> {
        let window = PageWindow::forward(100, None);
        let page = self.fixture.service.kernels(&admin(), group, KernelFilter::default(), &window).await.unwrap();
        page.rows.into_iter().map(|(_, kernel)| kernel).collect()
    }

    pub(super) async fn buckets(&self, group: &str, tier: Tier) -> Vec<BucketRow> {
        let list = BucketList {
            tier,
            filter: Filter::All(vec![]),
            field: BucketField::PeriodStart,
            descending: false,
            window: PageWindow::forward(100, None),
        };
        let page = self.fixture.service.usage_buckets(&admin(), group, list).await.unwrap();
        page.rows.into_iter().map(|(_, row)| row).collect()
    }
}

fn json_of(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

on_both! {
    async fn rows_become_groups_kernels_and_usage(db: TestDb) {
        let desk = Desk::new(db).await;
        let args = desk.args(
            "1,ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n\
             2,bob,ml,research,west,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,2,1,1\n\
             3,ann,ml,research,east,2026-02-09T00:00:00Z,yesterday,4,,\n",
        );
        let report = desk.import(&args).await;
        assert_eq!((report.summary.rows, report.summary.taken, report.summary.dropped_rows()), (3, 2, 1));
        assert_eq!((report.changed, report.known(), report.groups, report.new_groups), (2, 0, 2, 2));
        assert_eq!(report.slices, Some(2));
        let [bucket] = &desk.buckets("west", Tier::User).await[..] else { panic!("one bucket") };
        assert_eq!(json_of(&bucket.resource_usage), json!({"cpu": "7200", "cuda.device": "3600", "mem": "3865470566400"}));
        let group = desk.fixture.service.group(&admin(), "east").unwrap();
        assert_eq!(group.scheduler.name(), "fairshare");
        let rows = &group.whole().unwrap().rows;
        assert_eq!(rows.users.at(0).unwrap().user_name.as_deref(), Some("ann"));
        assert_eq!(rows.projects().next().unwrap().project_name.as_deref(), Some("ml"));
        assert_eq!(&*rows.domains.at(0).unwrap().domain_name, "research");
        let again = desk.import(&args).await;
        assert!(again.changed_nothing() && again.known() == 2, "{again}");
        assert!(again.to_string().contains("nothing changed"), "{again}");
    }

    async fn a_group_without_capacity_is_named(db: TestDb) {
        let desk = Desk::new(db).await;
        let args = desk.args(
            "1,ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n\
             2,bob,ml,research,west,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,2,1,1\n",
        );
        let bare = desk.import(&args).await;
        assert_eq!(bare.without_capacity, ["east", "west"]);
        assert_eq!(bare.to_json()["without_capacity"], json!(["east", "west"]));
        let said = "resource group east has no capacity: everybody's factor stays 1; give it with --capacities FILE";
        assert!(bare.warnings().iter().any(|warning| warning.starts_with(said)), "{:?}", bare.warnings());
        // A capacity of past days is one, and so are agents; both are known from then on.
        let header = "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n";
        let past = desk.file("past.csv", format!("{header}east,n1,8,,,2026-02-01T00:00:00Z,2026-02-10T00:00:00Z\n"));
        let given = desk.import(&ImportArgs { capacities: Some(past), ..args.clone() }).await;
        assert_eq!(given.without_capacity, ["west"]);
        let open = desk.file("open.csv", format!("{header}west,n1,8,16,2,2026-02-01T00:00:00Z,\n"));
        let given = desk.import(&ImportArgs { capacities: Some(open), ..args.clone() }).await;
        assert_eq!(given.without_capacity, Vec::<String>::new());
        let again = desk.import(&args).await;
        assert!(again.without_capacity.is_empty() && again.warnings().is_empty(), "{:?}", again.warnings());
    }

    async fn without_aggregating_the_usage_waits(db: TestDb) {
        let desk = Desk::new(db).await;
        let row = "1,ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n";
        let report = desk.import(&ImportArgs { no_aggregate: true, ..desk.args(row) }).await;
        assert_eq!((report.changed, report.slices), (1, None));
        assert!(desk.buckets("east", Tier::User).await.is_empty());
        assert_eq!(desk.import(&desk.args(row)).await.slices, Some(1));
    }

    async fn a_rebased_trace_ends_now_and_stays_there(db: TestDb) {
        let desk = Desk::new(db).await;
        let rows = "1,ann,ml,,east,2005-11-20T00:00:00Z,2005-11-20T01:00:00Z,4,,\n\
                    2,ann,ml,,east,2005-11-20T00:30:00Z,2005-11-20T02:00:00Z,4,,\n";
        let args = ImportArgs { rebase_to_now: true, ..desk.args(rows) };
        let report = desk.import(&args).await;
        assert_eq!((report.changed, report.rebased.unwrap().kept), (2, false));
        let first = desk.kernels("east").await;
        assert_eq!(first.iter().filter_map(|k| k.report.terminated_at).max(), Some(at(NOW)));
        assert_eq!(first.iter().filter_map(|k| k.report.started_at).min(), Some(at("2026-02-10T10:00:00Z")));
        desk.fixture.clock.advance_seconds(3_600);
        let again = desk.import(&args).await;
        assert!(again.changed_nothing() && again.rebased.unwrap().kept, "{again}");
        assert_eq!(desk.kernels("east").await, first);
        // The rest of a trace joins the part that is known, where that was put.
        let more = format!("{rows}3,bob,ml,,east,2005-11-20T00:00:00Z,2005-11-20T00:10:00Z,4,,\n");
        let report = desk.import(&ImportArgs { rebase_to_now: true, ..desk.args(&more) }).await;
        assert_eq!((report.changed, report.known()), (1, 2));
        let ends: Vec<_> = desk.kernels("east").await.iter().filter_map(|k| k.report.terminated_at).collect();
        assert!(ends.contains(&at("2026-02-10T10:10:00Z")));
    }

    async fn a_cut_file_keeps_its_rows_and_says_where(db: TestDb) {
        let desk = Desk::new(db).await;
        let row = |n: u32| format!("{n},u{n},ml,,east,2026-02-0{}T00:00:00Z,2026-02-09T23:00:0{}Z,{n},,\n", n % 9 + 1, n % 10);
        let text = HEADER.to_owned() + &(0..4_000).map(row).collect::<String>();
        let whole = gzip(text.as_bytes());
        let args = ImportArgs { file: desk.file("cut.csv.gz", &whole[..whole.len() / 2]), ..desk.args("") };
        let report = desk.import(&args).await;
        let early = report.summary.ended_early.clone().unwrap();
        assert!(!report.succeeded() && report.changed > 0 && report.changed == report.summary.taken, "{report}");
        assert_eq!(early.line, report.summary.rows + 2);
        assert!(report.to_string().contains(&format!("ends early at line {}", early.line)), "{report}");
        let args = ImportArgs { file: desk.file("whole.csv.gz", &whole), ..args };
        let rest = desk.import(&args).await;
        assert_eq!((rest.known(), rest.changed), (report.changed, 4_000 - report.changed));
        let audit = desk.fixture.service.audit_conservation(&admin(), "east").await.unwrap();
        assert_eq!(audit.difference, None);
    }

    async fn capacities_count_for_the_time_that_they_were_there(db: TestDb) {
        let desk = Desk::new(db).await;
        let capacities = desk.file(
            "capacities.csv",
            "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n\
             east,a,10,,,2026-01-01T00:00:00Z,\n\
             east,b,8,,,2026-02-08T12:00:00Z,2026-02-09T06:00:00Z\n",
        );
        let rows = "1,ann,ml,,east,2026-02-07T00:00:00Z,2026-02-10T12:00:00Z,4,,\n";
        let args = ImportArgs { capacities: Some(capacities), ..desk.args(rows) };
        let report = desk.import(&args).await;
        assert_eq!((report.capacity_days, report.agents_changed), (40, 1));
        let days: Vec<Value> =
            desk.buckets("east", Tier::User).await.iter().map(|b| json!([b.period_start, b.capacity_snapshot])).collect();
        let cpu = |day: &str, amount: &str| json!([day, {"cpu": amount}]);
        assert_eq!(
            days,
            [cpu("2026-02-07", "10"), cpu("2026-02-08", "14"), cpu("2026-02-09", "12"), cpu("2026-02-10", "10")]
        );
        let agents = desk.fixture.service.agents(&admin(), "east").await.unwrap();
        assert_eq!(agents.iter().map(|a| a.agent_id.as_str()).collect::<Vec<_>>(), ["a"]);
        assert!(desk.import(&args).await.changed_nothing());
        // Capacities come without jobs too, for the days that no job touched.
        let earlier = desk.file(
            "earlier.csv",
            "resource_group,agent_id,cpu,mem_gib,gpu,from,to\n\
             west,a,10,,,2005-01-01T00:00:00Z,2026-02-09T00:00:00Z\n",
        );
        let given = desk.import(&ImportArgs { capacities: Some(earlier), ..desk.args("") }).await;
        assert_eq!(given.capacity_days, 3_660, "as far back as a look-back may reach");
        // A node that has gone since goes here too.
        let gone = desk.file(
            "gone.csv",
            "resource_group,agent_id,cpu,mem_gib,gpu,from,to\neast,a,10,,,2026-01-01T00:00:00Z,2026-02-10T11:00:00Z\n",
        );
        assert_eq!(desk.import(&ImportArgs { capacities: Some(gone), ..args }).await.agents_changed, 1);
        assert!(!desk.fixture.service.agents(&admin(), "east").await.unwrap()[0].alive);
    }

    async fn the_domain_map_places_projects(db: TestDb) {
        let desk = Desk::new(db).await;
        let map = desk.file("map.csv", "account,domain\n\"ml\",\"research\"\n");
        let rows = "1,ann,ml,,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n\
                    2,bob,arts,,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n";
        let args = ImportArgs { domain_map: Some(map), ..desk.args(rows) };
        desk.import(&args).await;
        let domains: Vec<_> = desk.buckets("east", Tier::Domain).await.into_iter().map(|b| b.domain_name).collect();
        assert_eq!(domains, ["research", "unknown"]);
        for (bad, said) in [
            ("ml,research,too\n", "line 1: wrong number of fields"),
            ("ml,research\nx,a/b\n", "line 2: domain name is too long"),
            ("ml,earth\nx,y\nml,mars\n", "lines 1 and 3 put the project \"ml\" into different domains: \"earth\" and \"mars\""),
            ("", "the file names no project"),
            ("project,domain\n\n", "the file names no project"),
        ] {
            let args = ImportArgs { domain_map: Some(desk.file("bad.csv", bad)), ..args.clone() };
            let error = format!("{:#}", desk.try_import(&args).await.unwrap_err());
            assert!(error.contains("bad.csv: ") && error.contains(said), "{error}");
        }
        let twice = desk.file("twice.csv", "ml,research\nml,research\n");
        assert!(desk.import(&ImportArgs { domain_map: Some(twice), ..args }).await.changed_nothing());
    }

    async fn what_contradicts_is_refused_with_its_line(db: TestDb) {
        let desk = Desk::new(db).await;
        desk.import(&desk.args("1,ann,ml,,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n")).await;
        let report = desk
            .import(&desk.args(
                "2,ann,ml,,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n\
                 1,bob,ml,,east,2026-02-09T00:00:00Z,2026-02-09T01:00:00Z,4,,\n\
                 3,ann,ml,,east,1970-01-02T00:00:00Z,,4,,\n",
            ))
            .await;
        assert_eq!((report.changed, report.refused_rows(), report.known()), (1, 2, 0));
        let refused = report.to_json()["refused"].clone();
        let examples = refused.as_array().unwrap().iter().map(|r| &r["examples"][0]);
        let reasons: Vec<_> = examples.map(|r| (r["line"].as_u64().unwrap(), r["reason"].to_string())).collect();
        assert!(reasons.iter().any(|(line, why)| *line == 3 && why.contains("another user")), "{reasons:?}");
        assert!(reasons.iter().any(|(line, why)| *line == 4 && why.contains("3660 days")), "{reasons:?}");
        assert_eq!(desk.kernels("east").await.len(), 2);
    }
}

/// Kernels stay in memory until then. One is running in the first part of the file, and ended in the last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_usage_of_a_long_file_is_recorded_in_parts() {
    const ROWS: usize = 60_500;
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let seen = |end: &str| format!("running,ann,ml,research,east,2026-02-09T00:00:00Z,{end},2,,\n");
    let row = |n: usize| format!("{n},ann,ml,research,east,2026-02-09T00:00:00Z,2026-02-09T00:00:01Z,1,,\n");
    let rows = seen("") + &(0..ROWS).map(row).collect::<String>() + &seen("2026-02-09T00:00:10Z");
    let report = desk.import(&desk.args(&rows)).await;
    assert_eq!((report.summary.taken, report.changed), (ROWS as u64 + 2, ROWS as u64 + 2));
    let runs = desk.fixture.service.last_job_runs(&admin()).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.id).collect::<Vec<_>>(), [2]);
    let [bucket] = &desk.buckets("east", Tier::User).await[..] else { panic!("one bucket") };
    assert_eq!(json_of(&bucket.resource_usage), json!({"cpu": (ROWS + 20).to_string()}));
    desk.fixture.assert_conserved().await;
}

#[tokio::test]
async fn a_pipe_cannot_be_rebased() {
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let args = ImportArgs { file: "-".into(), rebase_to_now: true, ..desk.args("") };
    let error = desk.try_import(&args).await.unwrap_err().to_string();
    assert!(error.contains("real file"), "{error}");
}

/// A full body of one group, then more rows than may wait, of many groups, so that a body is sent in every possible way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_groups_share_the_waiting_room() {
    const ROWS: u64 = 95_000;
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let row = |n: u64| {
        let group = if n < 30_500 || n.is_multiple_of(3) { 0 } else { n % 40 };
        format!("{n},u{},p{},,g{group},2026-02-09T00:00:00Z,2026-02-09T00:00:10Z,1,,\n", n % 50, n % 5)
    };
    let rows: String = (0..ROWS).map(row).collect();
    let report = desk.import(&desk.args(&rows)).await;
    assert_eq!((report.changed, report.slices, report.groups), (ROWS, Some(ROWS), 40));
    assert!(desk.import(&desk.args(&rows)).await.changed_nothing());
}

/// Bodies are sent in another order than the file has. Every row keeps its line, and rows of one kernel stay in their order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_refused_is_told_by_the_lines_of_the_file() {
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let row = |job: usize, user: &str, minute: usize| {
        format!("{job},{user},ml,,east,2026-02-09T00:00:00Z,2026-02-09T00:{minute:02}:00Z,4,,\n")
    };
    let rows: String = (0..60).map(|job| row(job, "ann", 1)).collect();
    let later: String = (0..60).map(|job| row(job, "ann", 2)).collect();
    assert_eq!(desk.import(&desk.args(&(rows + &later))).await.changed, 60);
    assert!(
        desk.kernels("east").await.iter().all(|kernel| kernel.report.terminated_at == Some(at("2026-02-09T00:02:00Z")))
    );
    for contradicts in 0..60 {
        let rows: String = (0..60).map(|job| row(job, if job == contradicts { "bob" } else { "ann" }, 2)).collect();
        let refused = desk.import(&desk.args(&rows)).await.to_json()["refused"].clone();
        // The first line is the header.
        assert_eq!((&refused[0]["rows"], &refused[0]["examples"][0]["line"]), (&json!(1), &json!(contradicts + 2)));
    }
}

/// An answer of the server names the reasons of 10,000 rows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refused_row_of_very_many_is_counted() {
    const ROWS: usize = 10_050;
    let desk = Desk::new(crate::support::database::sqlite().await).await;
    let rows = |user: &str| -> String {
        let row = |job| format!("{job},{user},ml,,east,2026-02-09T00:00:00Z,2026-02-09T00:00:01Z,4,,\n");
        (0..ROWS).map(row).collect()
    };
    desk.import(&desk.args(&rows("ann"))).await;
    let report = desk.import(&desk.args(&rows("bob"))).await;
    assert_eq!((report.refused_rows(), report.known(), report.changed), (ROWS as u64, 0, 0));
    let refused = report.to_json()["refused"].clone();
    let lines: Vec<u64> =
        refused[0]["examples"].as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!((&refused[0]["code"], &refused[0]["rows"], lines.len()), (&json!("conflict"), &json!(ROWS), 3));
    assert!(refused.as_array().unwrap().len() == 1 && lines.is_sorted(), "{refused}");
    let text = report.to_string();
    assert!(text.contains("\n  10050 refused (conflict), such as\n    line "), "{text}");
    assert_eq!(text.matches("another user").count(), 3, "{text}");
}
