//! `--history`: the daily usage of jobs of past years, for usage reports; no kernels are created.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use anyhow::Context;
use serde::Serialize;
use serde_json::{Value, json};

use super::api::ImportApi;
use super::domain_map::DomainMap;
use super::feed::JobFeed;
use super::job::ImportedJob;
use super::map_mismatches::MapMismatches;
use super::outcome::FileSummary;
use super::report::without_domain;
use super::{ImportError, TraceReader};
use crate::api::input_warning::list_names;
use crate::cli::nouns::with_noun;
use crate::domain::bucket::DayUsage;
use crate::domain::ids::KernelId;
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::slots::SlotUsages;
use crate::domain::time::{Day, TimeSpan};
use crate::engine::ingest::incoming::is_too_long;
use crate::service::Clock;

/// The number of rows in one request.
const REQUEST_ROWS: usize = 2_000;

/// A day, a user, a project, a domain and a charge class.
type TotalPlace = (Day, Arc<str>, Arc<str>, Arc<str>, Arc<str>);

/// A day total as it is sent.
#[derive(Serialize)]
struct TotalRow<'a> {
    day: Day,
    user: &'a str,
    project: &'a str,
    domain_name: &'a str,
    charge_class: &'a str,
    resource_usage: &'a SlotUsages,
    jobs: u64,
}

/// The balance of one import.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryReport {
    /// The name of the history.
    pub source: String,
    /// The balance of the rows of the file.
    pub summary: FileSummary,
    /// The number of jobs that occur twice in the file and were taken once.
    pub repeated: u64,
    /// The number of jobs that have not ended, or that ran too long to be one job.
    pub unended: u64,
    pub groups: u64,
    /// The number of resource groups that already had the whole history, because an interrupted import has stored it.
    pub known_groups: u64,
    /// The number of day totals that were stored.
    pub stored: u64,
    /// The number of day totals of days whose usage the server counts from kernels.
    pub left_out: u64,
    /// The days of these totals.
    pub left_out_days: BTreeSet<Day>,
    /// Projects of the file without a known domain, by name.
    pub without_domain: Vec<String>,
    /// Entries of the domain map that the import did not follow.
    pub map_mismatches: MapMismatches,
}

impl HistoryReport {
    /// True if something of the file was stored, and no job that ran had to be dropped.
    pub fn succeeded(&self) -> bool {
        self.summary.dropped_started == 0 && !self.stored_nothing()
    }

    fn stored_nothing(&self) -> bool {
        self.summary.rows > 0 && self.stored == 0
    }

    /// The number of jobs that the history has. Some of their days may be left out.
    fn taken(&self) -> u64 {
        if self.stored_nothing() { 0 } else { self.summary.taken - self.repeated - self.unended }
    }

    /// Sentences about what the user should look at.
    pub fn warnings(&self) -> Vec<String> {
        let of_domains = (!self.without_domain.is_empty()).then(|| {
            format!(
                "{}. `fairshared projects set NAME --domain DOMAIN` moves it with the next run; a --domain-map of the \
                 import names domains at once",
                without_domain(&self.without_domain)
            )
        });
        let of_resources = self.summary.resource_warnings().into_iter();
        of_resources.chain(of_domains).chain(self.map_mismatches.warnings()).collect()
    }

    pub fn to_json(&self) -> Value {
        let early = self.summary.ended_early.as_ref().map(|e| json!({"line": e.line, "cause": e.cause}));
        let mut report = json!({
            "source": self.source, "rows": self.summary.rows, "taken": self.taken(),
            "dropped": self.summary.dropped_rows(), "repeated": self.repeated, "unended": self.unended,
            "resource_groups": self.groups, "known_groups": self.known_groups, "day_totals": self.stored, "left_out": self.left_out,
            "left_out_days": self.left_out_days,
            "without_domain": self.without_domain, "map_mismatches": self.map_mismatches, "ended_early": early,
        });
        self.summary.add_fields_to(&mut report);
        report
    }
}

impl fmt::Display for HistoryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rows, jobs) = (with_noun(self.summary.rows, "row", "rows"), with_noun(self.taken(), "job", "jobs"));
        if self.stored_nothing() {
            writeln!(f, "{rows}, and nothing of them is stored: there is no history {:?}", self.source)?;
        } else {
            writeln!(f, "{rows}, {jobs} taken into the history {:?}", self.source)?;
        }
        write!(f, "{}", self.summary)?;
        if self.repeated > 0 {
            let rows = with_noun(self.repeated, "row repeats a job", "rows repeat jobs");
            writeln!(f, "  {rows} of the file: each job counts once")?;
        }
        if self.unended > 0 {
            let rows = with_noun(self.unended, "row", "rows");
            writeln!(f, "  {rows} left out, without a start and an end that a job can have")?;
        }
        let totals = |count| with_noun(count, "day total", "day totals");
        let groups = with_noun(self.groups, "resource group", "resource groups");
        write!(f, "{} stored, in {groups}", totals(self.stored))?;
        if self.known_groups > 0 {
            let known = with_noun(self.known_groups, "resource group", "resource groups");
            write!(f, "\n{known} left out: the history is there already, as a whole")?;
        }
        if self.left_out > 0 {
            let left_out = totals(self.left_out);
            let days = day_ranges(&self.left_out_days);
            write!(f, "\n{left_out} left out, of days whose usage the server counts from kernels: {days}")?;
        }
        Ok(())
    }
}

/// The number of ranges of days that a sentence lists.
const RANGES_SHOWN: usize = 5;

/// The days as ranges, such as "2024-03-01 to 2024-03-09, 2024-04-02".
fn day_ranges(days: &BTreeSet<Day>) -> String {
    let days: Vec<Day> = days.iter().copied().collect();
    let ranges: Vec<String> = days
        .chunk_by(|day, next| day.plus(1) == *next)
        .filter_map(|range| match range {
            [day] => Some(day.to_string()),
            [first, .., last] => Some(format!("{first} to {last}")),
            [] => None,
        })
        .collect();
    list_names(&ranges, RANGES_SHOWN)
}

/// Imports the usage of the jobs of `reader` as the history `source`. A file that ends early changes nothing.
pub(super) async fn load(
    api: &ImportApi,
    clock: &dyn Clock,
    reader: TraceReader,
    domains: &DomainMap,
    source: &str,
) -> anyhow::Result<HistoryReport> {
    let (mut totals, mut mapped_projects) = (JobTotals::new(clock.now().day()), BTreeSet::new());
    let mut feed = JobFeed::start(reader);
    while let Some(chunk) = feed.next().await {
        for mut row in chunk {
            if let Some(domain) = domains.get(&row.job.project) {
                row.job.domain.clone_from(domain);
                if !mapped_projects.contains(&row.job.project) {
                    mapped_projects.insert(row.job.project.clone());
                }
            }
            totals.take(&row.job, clock);
        }
    }
    let summary = feed.finish().await?;
    if let Some(early) = summary.ended_early.clone() {
        return Err(ImportError::EndedEarly(early)).context("nothing was imported: a history has to be whole");
    }
    let JobTotals { mut groups, repeated, unended, without_domain, .. } = totals;
    // Nothing is stored before it is certain that nothing would count twice.
    let there = api.groups().await?;
    let mut known = BTreeSet::new();
    for group in groups.keys().filter(|group| there.contains(*group)) {
        match api.history(group, source).await? {
            Some(true) => {
                known.insert(group.clone());
            }
            Some(false) => api.delete_history(group, source).await?,
            None => {}
        }
    }
    groups.retain(|group, _| !known.contains(group));
    if let Some(group) = known.first().filter(|_| groups.is_empty()) {
        return Err(ImportError::HistoryKnown { group: group.clone(), name: source.to_owned() }.into());
    }
    let mut report = HistoryReport {
        source: source.to_owned(),
        summary,
        repeated,
        unended,
        groups: groups.len() as u64,
        known_groups: known.len() as u64,
        ..HistoryReport::default()
    };
    for (group, rows) in &groups {
        if !there.contains(group) {
            api.make_group(group).await.with_context(|| format!("resource group {group:?}"))?;
        }
        let rows: Vec<TotalRow> = rows.iter().map(|(place, daily)| row(place, daily)).collect();
        let (count, stored_before) = (rows.chunks(REQUEST_ROWS).count(), report.stored);
        for (at, part) in rows.chunks(REQUEST_ROWS).enumerate() {
            let is_last = at + 1 == count;
            let taken = api.put_history(group, source, &json!({"rows": part, "complete": is_last})).await;
            let taken =
                taken.with_context(|| format!("resource group {group:?}: import the file again to take the rest"))?;
            report.stored += taken.stored;
            report.left_out += taken.left_out;
            report.left_out_days.extend(taken.left_out_days);
        }
        // An empty history would keep its name from the next import.
        if count > 0 && report.stored == stored_before {
            api.delete_history(group, source).await?;
        }
    }
    if !without_domain.is_empty() {
        let unknown = api.projects_in(UNKNOWN_DOMAIN).await?;
        let is_unknown = |name: &&Arc<str>| unknown.iter().any(|project| project.is_called(name));
        report.without_domain = without_domain.iter().filter(is_unknown).map(ToString::to_string).collect();
    }
    report.map_mismatches = MapMismatches::find(api, domains, &mapped_projects).await?;
    Ok(report)
}

fn row<'a>((day, user, project, domain_name, charge_class): &'a TotalPlace, daily: &'a DayUsage) -> TotalRow<'a> {
    TotalRow { day: *day, user, project, domain_name, charge_class, resource_usage: &daily.usage, jobs: daily.records }
}

/// The usage of jobs, by group.
struct JobTotals {
    today: Day,
    groups: BTreeMap<String, BTreeMap<TotalPlace, DayUsage>>,
    /// The jobs that were taken.
    seen: HashSet<KernelId>,
    names: BTreeSet<Arc<str>>,
    /// Projects whose domain neither the file nor the map names.
    without_domain: BTreeSet<Arc<str>>,
    repeated: u64,
    unended: u64,
}

impl JobTotals {
    fn new(today: Day) -> Self {
        let (groups, seen, names) = (BTreeMap::new(), HashSet::new(), BTreeSet::new());
        Self { today, groups, seen, names, without_domain: BTreeSet::new(), repeated: 0, unended: 0 }
    }

    fn take(&mut self, job: &ImportedJob, clock: &dyn Clock) {
        let (Some(start), Some(end)) = (job.started_at, job.terminated_at) else {
            self.unended += 1;
            return;
        };
        if is_too_long(job.started_at, job.terminated_at, clock.now()) {
            self.unended += 1;
            return;
        }
        if !self.seen.insert(job.kernel_id()) {
            self.repeated += 1;
            return;
        }
        let names = [&job.user, &job.project, &job.domain, &job.charge_class];
        let [user, project, domain, class] = names.map(|name| self.name(name));
        if *domain == *UNKNOWN_DOMAIN {
            self.without_domain.insert(Arc::clone(&project));
        }
        if !self.groups.contains_key(&job.resource_group) {
            self.groups.insert(job.resource_group.clone(), BTreeMap::new());
        }
        let Some(rows) = self.groups.get_mut(&job.resource_group) else { return };
        // Today is not over, so its usage is left out.
        for part in TimeSpan::new(start, end)
            .into_iter()
            .flat_map(TimeSpan::by_day)
            .filter(|part| part.start.day() < self.today)
        {
            let [user, project, domain, class] = [&user, &project, &domain, &class].map(Arc::clone);
            rows.entry((part.start.day(), user, project, domain, class))
                .or_default()
                .add(&job.slots.for_micros(part.micros()));
        }
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let new: Arc<str> = Arc::from(name);
        self.names.insert(Arc::clone(&new));
        new
    }
}
