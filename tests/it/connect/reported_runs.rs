//! Runs that Slurm starts again, loses or purges, with texts in the form of `sacct`. The memory of runs is read from the disk in each
//! reading, as after a process that was killed.

use std::collections::BTreeSet;
use std::fmt::Write;

use fairshared::cli::connect::run_conversion::convert_runs;
use fairshared::connectors::slurm::account_tree::AccountTree;
use fairshared::connectors::slurm::reported_runs::{LOST_MICROS, ReadingMoment, ReportedRuns};
use fairshared::connectors::slurm::sacct::{ConversionChoices, read_records, window_start};
use fairshared::domain::identity;
use fairshared::domain::time::{MICROS_PER_SECOND, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::recorded;

/// The time of the first reading, in seconds since 1970.
const BEGIN: i64 = 1_796_000_000;
const MINUTE: i64 = 60;

/// A row of the accounting.
#[derive(Clone)]
struct AccountingRow {
    job: u64,
    name: String,
    state: &'static str,
    start: Option<i64>,
    end: Option<i64>,
}

impl AccountingRow {
    fn new(job: u64, state: &'static str, start: impl Into<Option<i64>>, end: impl Into<Option<i64>>) -> Self {
        Self { job, name: job.to_string(), state, start: start.into(), end: end.into() }
    }

    fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    fn write(&self, text: &mut String) {
        let Self { job, name, state, .. } = self;
        let time = |time: Option<i64>| time.map_or("Unknown".to_owned(), |time| time.to_string());
        let (start, end) = (time(self.start), time(self.end));
        let ran = self.start.map_or(0, |start| self.end.unwrap_or(start) - start);
        writeln!(
            text,
            "{job}|{name}|rig|games|climate|{state}|main|normal|{BEGIN}|{start}|{end}|{ran}|00:00:00|billing=2,cpu=2,mem=100M,node=1|2|n1|1|01:00:00"
        )
        .unwrap();
    }
}

/// An accounting with a connector that reads it.
struct AccountingStory {
    folder: TempDir,
    now: i64,
    delivered_until: Option<Timestamp>,
    rows: Vec<AccountingRow>,
    /// The jobs that slurmctld lists; `None` while slurmdbd is behind.
    listed: Option<Vec<u64>>,
}

impl AccountingStory {
    fn new(rows: Vec<AccountingRow>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listed = Some(rows.iter().map(|row| row.job).collect());
        Self { folder, now: BEGIN, delivered_until: None, rows, listed }
    }

    fn text(&self, is_shown: impl Fn(&AccountingRow) -> bool) -> String {
        let mut text = format!("{}\n", recorded::SACCT.lines().next().unwrap());
        for row in self.rows.iter().filter(|row| is_shown(row)) {
            row.write(&mut text);
        }
        text
    }

    /// Reads the accounting as the connector does. Returns the reported runs by `JobIDRaw@START` with their ends.
    fn report(&mut self) -> Vec<(String, Option<i64>)> {
        let tree = AccountTree::default();
        let slots = [("gres/gpu".to_owned(), "cuda.device".to_owned())].into();
        let choices = ConversionChoices { resource_group: "rig", slots: &slots, tree: &tree };
        let now = Timestamp::from_seconds(self.now);
        let from =
            window_start(self.delivered_until.unwrap_or_else(|| Timestamp::from_seconds(BEGIN - 24 * 60 * MINUTE)));
        let from_seconds = from.micros() / MICROS_PER_SECOND;
        let runs = |row: &AccountingRow| {
            row.state != "PENDING" && row.start.is_some() && row.end.is_none_or(|end| end >= from_seconds)
        };
        let reading = convert_runs(&self.text(runs), &choices).unwrap().runs;
        let listed: Option<BTreeSet<String>> =
            self.listed.as_ref().map(|jobs| jobs.iter().map(u64::to_string).collect());
        let moment = ReadingMoment {
            now,
            window_start: from,
            delivered_until: self.delivered_until,
            listed_jobs: listed.as_ref(),
        };
        let mut reported = ReportedRuns::load(self.folder.path()).unwrap();
        let missing = reported.missing_jobs(&reading, moment);
        let asked = self.text(|row| missing.contains(&row.job.to_string()));
        let records = read_records(&asked, &choices, convert_runs).unwrap();
        let lines = reported.note(reading, &records, moment);
        reported.save(self.folder.path()).unwrap();
        let mut found: Vec<(String, Option<i64>)> =
            String::from_utf8(lines).unwrap().lines().map(Self::read_line).collect();
        found.sort();
        found
    }

    fn read_line(line: &str) -> (String, Option<i64>) {
        let line: Value = serde_json::from_str(line).unwrap();
        let seconds = |time: &Value| Some(time.as_str()?.parse::<Timestamp>().unwrap().micros() / MICROS_PER_SECOND);
        let (start, end) = (seconds(&line["started_at"]).unwrap(), seconds(&line["terminated_at"]));
        let is_ended = line["status"] == "TERMINATED";
        assert_eq!(is_ended, end.is_some(), "{line}");
        assert_eq!(line["occupied_slots"], json!({"billing": "2", "cpu": "2", "mem": "104857600"}));
        let key = |job: u64| format!("{job}@{start}");
        let is_of = |job: &u64| line["kernel_id"] == identity::kernel("rig", &key(*job)).to_string();
        let job = (1..100).find(is_of).unwrap_or_else(|| panic!("no job has {line}"));
        (key(job), end)
    }

    /// [`Self::report`], which the server takes. The next reading is a minute later.
    fn deliver(&mut self) -> Vec<(String, Option<i64>)> {
        let reported = self.report();
        self.delivered_until = Some(Timestamp::from_seconds(self.now));
        self.now += MINUTE;
        reported
    }
}

fn run(job: u64, start: i64, end: impl Into<Option<i64>>) -> (String, Option<i64>) {
    (format!("{job}@{start}"), end.into())
}

#[test]
fn a_start_that_is_set_again_takes_the_first_run_back() {
    let (first, second) = (BEGIN - 30, BEGIN + 20);
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", first, None)]);
    assert_eq!(story.deliver(), [run(7, first, None)]);
    assert_eq!(story.deliver(), [run(7, first, None)]);
    story.rows = vec![AccountingRow::new(7, "RUNNING", second, None)];
    // The server is away twice, and the connector is killed each time: the report waits and is made again.
    for _ in 0..2 {
        assert_eq!(story.report(), [run(7, first, first), run(7, second, None)]);
        story.now += MINUTE;
    }
    assert_eq!(story.deliver(), [run(7, first, first), run(7, second, None)]);
    assert_eq!(story.deliver(), [run(7, second, None)]);
    let end = story.now - 5;
    story.rows = vec![AccountingRow::new(7, "COMPLETED", second, end)];
    assert_eq!(story.deliver(), [run(7, second, end)]);
}

#[test]
fn a_job_that_waits_again_without_a_start_takes_its_run_back() {
    let start = BEGIN - 2;
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", start, None)]);
    assert_eq!(story.deliver(), [run(7, start, None)]);
    // After a slurmctld that was killed, sacct shows for a moment a job that waits with the start of the run.
    story.rows = vec![AccountingRow::new(7, "PENDING", start, None)];
    assert_eq!(story.deliver(), []);
    story.rows = vec![AccountingRow::new(7, "PENDING", None, None)];
    assert_eq!(story.deliver(), [run(7, start, start)]);
    assert_eq!(story.deliver(), []);
}

#[test]
fn a_run_that_had_ended_is_taken_back_too() {
    let (first, second) = (BEGIN - 20, BEGIN + 30);
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "COMPLETED", first, first + 3)]);
    assert_eq!(story.deliver(), [run(7, first, first + 3)]);
    story.rows = vec![AccountingRow::new(7, "COMPLETED", second, second + 4)];
    assert_eq!(story.deliver(), [run(7, first, first), run(7, second, second + 4)]);
}

#[test]
fn both_runs_of_a_requeued_job_are_kept() {
    let (first, second) = (BEGIN - 100, BEGIN + 30);
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", first, None)]);
    assert_eq!(story.deliver(), [run(7, first, None)]);
    let requeued = AccountingRow::new(7, "REQUEUED", first, BEGIN + 10);
    story.rows = vec![requeued, AccountingRow::new(7, "RUNNING", second, None)];
    let both = [run(7, first, BEGIN + 10), run(7, second, None)];
    assert_eq!(story.deliver(), both);
    // The first run leaves the time of the readings, and nothing more is said of it.
    for _ in 0..4 {
        assert_eq!(story.deliver(), both);
    }
    story.now += 5 * MINUTE;
    story.deliver();
    assert_eq!(story.deliver(), [run(7, second, None)]);
}

#[test]
fn a_job_that_was_requeued_in_the_second_of_its_start_has_the_longer_run() {
    let rows = [("REQUEUED", Some(BEGIN - 9)), ("RUNNING", None)];
    for order in [[0, 1], [1, 0]] {
        let rows = order.map(|at: usize| AccountingRow::new(7, rows[at].0, BEGIN - 9, rows[at].1));
        let mut story = AccountingStory::new(rows.into());
        assert_eq!(story.deliver(), [run(7, BEGIN - 9, None)]);
    }
}

#[test]
fn tasks_of_arrays_and_components_are_taken_back_each_for_itself() {
    let start = BEGIN - 30;
    let task = |job, name: &str, start: i64| AccountingRow::new(job, "RUNNING", start, None).named(name);
    // The last task of an array has the id of the array, and the first component that of the heterogeneous job.
    let mut story = AccountingStory::new(vec![
        task(21, "20_0", start),
        task(20, "20_1", start),
        task(30, "30+0", start),
        task(31, "30+1", start),
    ]);
    assert_eq!(story.deliver(), [20, 21, 30, 31].map(|job| run(job, start, None)));
    story.rows[0] = task(21, "20_0", BEGIN + 5);
    story.rows[3] = task(31, "30+1", BEGIN + 6);
    assert_eq!(
        story.deliver(),
        [
            run(20, start, None),
            run(21, start, start),
            run(21, BEGIN + 5, None),
            run(30, start, None),
            run(31, start, start),
            run(31, BEGIN + 6, None),
        ]
    );
}

#[test]
fn an_end_that_the_accounting_learns_late_is_reported() {
    let start = BEGIN - 3_000;
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", start, None)]);
    for _ in 0..20 {
        assert_eq!(story.deliver(), [run(7, start, None)]);
    }
    // The end lies before the time of the readings.
    story.rows = vec![AccountingRow::new(7, "NODE_FAIL", start, BEGIN - 10)];
    assert_eq!(story.report(), [run(7, start, BEGIN - 10)]);
    assert_eq!(story.deliver(), [run(7, start, BEGIN - 10)]);
    assert_eq!(story.deliver(), []);
}

#[test]
fn a_clock_that_is_set_back_hides_no_run_that_is_taken_back() {
    let start = BEGIN - 300;
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", start, None)]);
    story.deliver();
    story.deliver();
    story.rows = vec![AccountingRow::new(7, "RUNNING", start + 5, None)];
    story.now -= 3 * MINUTE;
    assert_eq!(story.report(), [run(7, start, start), run(7, start + 5, None)]);
}

#[test]
fn a_run_that_slurmctld_never_listed_goes_on() {
    let start = BEGIN - 300;
    let jobs = [7, 8, 9];
    let mut story = AccountingStory::new(jobs.map(|job| AccountingRow::new(job, "RUNNING", start, None)).into());
    story.listed = Some(vec![8, 9]);
    for _ in 0..15 {
        assert_eq!(story.deliver(), jobs.map(|job| run(job, start, None)));
    }
}

#[test]
fn a_job_that_slurmctld_has_lost_ends_when_it_was_listed_last() {
    let start = BEGIN - 300;
    let jobs = [7, 8, 9];
    let mut story = AccountingStory::new(jobs.map(|job| AccountingRow::new(job, "RUNNING", start, None)).into());
    let running = jobs.map(|job| run(job, start, None));
    assert_eq!(story.deliver(), running);
    let listed_at = BEGIN;
    story.listed = Some(vec![8, 9]);
    for _ in 0..LOST_MICROS / MICROS_PER_SECOND / MINUTE {
        assert_eq!(story.deliver(), running);
    }
    let lost = [run(7, start, listed_at), run(8, start, None), run(9, start, None)];
    assert_eq!(story.deliver(), lost);
    // The accounting goes on to list it as running.
    for _ in 0..30 {
        assert_eq!(story.deliver(), lost);
    }
    // An admin fixes runaway jobs, and Slurm ends them at their start.
    story.rows[0] = AccountingRow::new(7, "COMPLETED", start, start);
    assert_eq!(story.deliver(), [run(7, start, start), run(8, start, None), run(9, start, None)]);
    assert_eq!(story.deliver(), [run(8, start, None), run(9, start, None)]);
}

#[test]
fn nothing_is_lost_while_slurmctld_lists_less_than_half_of_the_runs() {
    let start = BEGIN - 300;
    let jobs = [7, 8, 9];
    let mut story = AccountingStory::new(jobs.map(|job| AccountingRow::new(job, "RUNNING", start, None)).into());
    let running = jobs.map(|job| run(job, start, None));
    // An empty list, one that hides jobs, and a slurmdbd that is behind.
    for listed in [Some(vec![]), Some(vec![7]), None] {
        story.listed = listed;
        for _ in 0..15 {
            assert_eq!(story.deliver(), running);
        }
    }
    // A job has to be missing for ten minutes without a pause.
    for _ in 0..9 {
        story.listed = Some(vec![8, 9]);
        assert_eq!(story.deliver(), running);
        assert_eq!(story.deliver(), running);
        story.listed = Some(jobs.into());
        assert_eq!(story.deliver(), running);
    }
}

#[test]
fn a_job_that_was_purged_ends_when_it_was_listed_last() {
    let start = BEGIN - 300;
    let jobs = [7, 8];
    let mut story = AccountingStory::new(jobs.map(|job| AccountingRow::new(job, "RUNNING", start, None)).into());
    story.deliver();
    // The connector was away for long, and the accounting has neither the end nor the job any more.
    story.now += 100 * 24 * 60 * MINUTE;
    let back = story.now;
    story.rows.remove(0);
    story.listed = Some(vec![8]);
    while story.now < back + LOST_MICROS / MICROS_PER_SECOND {
        assert_eq!(story.deliver(), [run(8, start, None)]);
    }
    assert_eq!(story.deliver(), [run(7, start, BEGIN), run(8, start, None)]);
    for _ in 0..20 {
        assert_eq!(story.deliver(), [run(8, start, None)]);
    }
    // A job that slurmctld lists goes on, also if the accounting has lost it.
    story.rows.clear();
    for _ in 0..15 {
        assert_eq!(story.deliver(), []);
    }
    let end = story.now - 5;
    story.rows.push(AccountingRow::new(8, "COMPLETED", start, end));
    assert_eq!(story.deliver(), [run(8, start, end)]);
}

#[test]
fn a_row_that_cannot_be_read_decides_nothing() {
    let start = BEGIN - 30;
    let mut story = AccountingStory::new(vec![AccountingRow::new(7, "RUNNING", start, None)]);
    story.deliver();
    // A job that runs has a start.
    story.rows = vec![AccountingRow { start: None, ..AccountingRow::new(7, "RUNNING", None, None) }];
    assert_eq!(story.deliver(), []);
    story.rows = vec![AccountingRow::new(7, "RUNNING", start, None)];
    assert_eq!(story.deliver(), [run(7, start, None)]);
}

#[test]
fn a_memory_that_is_damaged_is_a_fault() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(ReportedRuns::load(folder.path()).unwrap(), ReportedRuns::default());
    std::fs::write(folder.path().join("runs.json"), "[{").unwrap();
    assert!(ReportedRuns::load(folder.path()).is_err());
}
