//! Imports jobs through the REST API: batches for each resource group with runs of aggregate between them, capacities,
//! and a last run.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use anyhow::Context;
use serde_json::Value;

use super::api::{AgentRow, ImportApi, WarnedRows};
use super::body::RequestBody;
use super::capacities::AgentCapacity;
use super::domain_map::DomainMap;
use super::feed::{JobFeed, NumberedJob};
use super::job::ImportedJob;
use super::later_runs::RunningBySession;
use super::map_mismatches::MapMismatches;
use super::offered;
use super::rebase::TimeShift;
use super::report::ImportReport;
use super::shifted_times::{ShiftDetector, ShiftedJob, ShiftedTrace};
use super::{ImportError, TraceReader};
use crate::domain::ids::KernelId;
use crate::domain::names::UNKNOWN_DOMAIN;
use crate::domain::time::{Day, Timestamp};
use crate::engine::ingest::batch::BATCH_KERNELS;
use crate::engine::ingest::incoming::{LIVES_TOO_LONG, MAX_KERNEL_DAYS, is_too_long};
use crate::service::Clock;

/// The number of rows in one body.
const BODY_ROWS: usize = 6 * BATCH_KERNELS;
/// The largest number of waiting rows in all resource groups together. It limits memory.
const MAX_WAITING: usize = 2 * BODY_ROWS;
/// The number of rows of a group after which its usage is recorded. Until then the server keeps the rows in memory.
const ROWS_BETWEEN_RUNS: usize = 2 * BODY_ROWS;

/// The further input of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportExtras {
    pub domains: DomainMap,
    pub capacities: Vec<AgentCapacity>,
    pub no_aggregate: bool,
    /// True if known jobs with shifted starts get those of the file.
    pub replace: bool,
}

/// Imports everything that `reader` returns. Rows that were taken stay if it fails later.
pub(super) async fn load(
    api: &ImportApi,
    clock: &dyn Clock,
    reader: TraceReader,
    extras: &ImportExtras,
) -> anyhow::Result<ImportReport> {
    let began = clock.now();
    let mut loader = RowLoader {
        api,
        clock,
        groups: api.groups().await?,
        waiting: HashMap::new(),
        rows_waiting: 0,
        unrecorded: (!extras.no_aggregate).then(HashMap::new),
        touched: BTreeMap::new(),
        running: HashMap::new(),
        shift: reader.shift(),
        detector: ShiftDetector::new(reader.shift()),
        barred: HashMap::new(),
        without_domain: BTreeSet::new(),
        mapped_projects: BTreeSet::new(),
        new_groups: HashSet::new(),
        stored: 0,
        slices: 0,
        report: ImportReport::default(),
    };
    loader.report.placed_projects = loader.projects_to_place(&extras.domains).await?;
    let mut feed = JobFeed::start(reader);
    let taken = loader.take_all(&mut feed, extras).await;
    let refused = taken.as_ref().is_err_and(anyhow::Error::is::<ImportError>);
    if refused {
        return taken.map(|()| ImportReport::default());
    }
    taken.context("the import stopped; rows before this are kept, and a second run takes the rest")?;
    loader.report.summary = feed.finish().await?;
    loader.apply_capacities(&extras.capacities).await.context("the rows are kept; their capacities are not")?;
    loader.place_projects(&extras.domains).await.context("the rows are kept; the domains of their projects are not")?;
    if !extras.no_aggregate {
        loader.aggregate().await.context("the rows are kept; the aggregate job will record their usage")?;
    }
    for group in loader.touched.keys() {
        if !api.has_capacity(group).await? {
            loader.report.without_capacity.push(group.clone());
        }
    }
    loader.report.map_mismatches = MapMismatches::find(api, &extras.domains, &loader.mapped_projects).await?;
    loader.note_other_histories().await?;
    // Asked only now, because the agents of this import are not known while rows arrive.
    if !extras.capacities.is_empty() {
        loader.report.lacking_slots = api.lacking_slots().await;
    }
    if !loader.report.without_capacity.is_empty() {
        let named: BTreeSet<&String> = extras.capacities.iter().map(|row| &row.resource_group).collect();
        let unused = named.into_iter().filter(|group| loader.touched.get(*group).copied().flatten().is_none());
        loader.report.groups_without_rows = unused.cloned().collect();
    }
    let mut report = loader.report;
    report.groups = loader.touched.len() as u64;
    report.seconds = (clock.now().micros() - began.micros()) as f64 / 1e6;
    Ok(report)
}

/// Waiting rows.
#[derive(Default)]
struct RowBatch {
    body: RequestBody,
    /// Earlier runs of the batch's jobs that were seen running, with their latest possible ends.
    over: Vec<(KernelId, Timestamp)>,
}

struct RowLoader<'a> {
    api: &'a ImportApi,
    clock: &'a dyn Clock,
    /// The existing groups.
    groups: HashSet<String>,
    waiting: HashMap<String, RowBatch>,
    rows_waiting: usize,
    /// The number of rows of each group since its last run; `None` if nothing is to be aggregated.
    unrecorded: Option<HashMap<String, usize>>,
    /// The number of slices that runs have recorded so far.
    slices: u64,
    /// The first and the last day with usage, by group.
    touched: BTreeMap<String, Option<(Day, Day)>>,
    /// The running kernels of every group of the import; for a new group those of this import.
    running: HashMap<String, RunningBySession>,
    shift: TimeShift,
    detector: ShiftDetector,
    /// Rows whose known counterpart could not be replaced, with the reason.
    barred: HashMap<KernelId, String>,
    /// Projects of jobs whose domain neither the file nor the map names.
    without_domain: BTreeSet<String>,
    /// Projects of jobs that the domain map names.
    mapped_projects: BTreeSet<String>,
    /// Groups that this import created.
    new_groups: HashSet<String>,
    /// The number of rows that the server has.
    stored: u64,
    report: ImportReport,
}

impl RowLoader<'_> {
    async fn take_all(&mut self, feed: &mut JobFeed, extras: &ImportExtras) -> anyhow::Result<()> {
        while let Some(chunk) = feed.next().await {
            self.look_for_shift(&chunk, extras.replace).await?;
            for mut row in chunk {
                if let Some(domain) = extras.domains.get(&row.job.project) {
                    row.job.domain.clone_from(domain);
                    if !self.mapped_projects.contains(&row.job.project) {
                        self.mapped_projects.insert(row.job.project.clone());
                    }
                }
                if row.job.domain == UNKNOWN_DOMAIN && !self.without_domain.contains(&row.job.project) {
                    self.without_domain.insert(row.job.project.clone());
                }
                self.take(row).await?;
            }
        }
        while let Some(group) = self.fullest() {
            self.send(&group).await?;
        }
        Ok(())
    }

    async fn take(&mut self, row: NumberedJob) -> anyhow::Result<()> {
        let NumberedJob { line, job } = row;
        if is_too_long(job.started_at, job.terminated_at, self.clock.now()) {
            self.report.refused.add("out_of_range", line, LIVES_TOO_LONG);
            return Ok(());
        }
        if let Some(why) = self.barring_reason(&job).cloned() {
            self.report.refused.add("not_replaced", line, &why);
            return Ok(());
        }
        // No group is created for a job that never ran, because its group may be a list of partitions.
        let has_group = job.started_at.is_some() || self.groups.contains(&job.resource_group);
        if has_group && !self.touched.contains_key(&job.resource_group) {
            self.ensure_group(&job.resource_group).await?;
        }
        let shift = self.shift;
        let over = self.running.get_mut(&job.resource_group).map(|running| running.see(&job, shift));
        if let Some(start) = job.started_at {
            let end = job.terminated_at.unwrap_or_else(|| self.clock.now());
            let used = self.touched.entry(job.resource_group.clone()).or_default();
            let (first, last) = used.unwrap_or((start.day(), end.day()));
            *used = Some((first.min(start.day()), last.max(end.day())));
        }
        let batch = self.waiting.entry(job.resource_group.clone()).or_default();
        batch.over.extend(over.unwrap_or_default());
        batch.body.add(&job, line)?;
        self.rows_waiting += 1;
        if batch.body.len() >= BODY_ROWS {
            self.send(&job.resource_group).await?;
        } else if self.rows_waiting >= MAX_WAITING
            && let Some(fullest) = self.fullest()
        {
            self.send(&fullest).await?;
        }
        Ok(())
    }

    /// The reason why the row cannot be taken, if there is one.
    fn barring_reason(&self, job: &ImportedJob) -> Option<&String> {
        if self.barred.is_empty() { None } else { self.barred.get(&job.kernel_id()) }
    }

    fn fullest(&self) -> Option<String> {
        let fullest = self.waiting.iter().max_by_key(|(name, batch)| (batch.body.len(), *name));
        fullest.map(|(name, _)| name.clone())
    }

    async fn send(&mut self, group: &str) -> anyhow::Result<()> {
        let Some(RowBatch { body, over }) = self.waiting.remove(group) else { return Ok(()) };
        self.rows_waiting -= body.len();
        if !self.groups.contains(group) {
            self.report.without_group += body.len() as u64;
            return Ok(());
        }
        let first = body.first_line().unwrap_or(0);
        let (rows, lines) = body.in_order();
        let taken = self.api.report(group, rows).await;
        let taken = taken.with_context(|| format!("rows from line {first} on, resource group {group:?}"))?;
        self.report.changed += taken.changed;
        self.stored += lines.len() as u64;
        for (code, rows) in &taken.rejected_codes {
            self.report.refused.count(code, *rows);
        }
        for rejected in &taken.errors {
            for at in rejected.places() {
                let line = lines.get(at).copied().unwrap_or(first);
                self.report.refused.add_example(rejected.code(), line, rejected.first_reason());
            }
        }
        self.report.note_earlier(taken.earlier);
        for WarnedRows { detail, project_name, rows } in taken.warnings {
            *self.report.server_warnings.entry((project_name.unwrap_or_default(), detail)).or_default() += rows;
        }
        self.end_earlier_runs(group, over).await?;
        self.record_if_many(group, lines.len()).await;
        Ok(())
    }

    /// Records the usage of the group's rows if there are many since its last run.
    async fn record_if_many(&mut self, group: &str, more: usize) {
        let Some(unrecorded) = &mut self.unrecorded else { return };
        let rows = unrecorded.entry(group.to_owned()).or_default();
        *rows += more;
        if *rows < ROWS_BETWEEN_RUNS {
            return;
        }
        *rows = 0;
        // The run after the last row records what this one cannot record, or reports why.
        let recorded = self.api.aggregate(group).await.ok().flatten();
        self.slices += recorded.unwrap_or(0);
    }

    /// Ends earlier runs that still count as running, after all rows that might contain their ends.
    async fn end_earlier_runs(&mut self, group: &str, over: Vec<(KernelId, Timestamp)>) -> anyhow::Result<()> {
        let ids: Vec<KernelId> = over.iter().map(|(id, _)| *id).collect();
        let ends: HashMap<KernelId, Timestamp> = over.into_iter().collect();
        let known = if ids.is_empty() { Vec::new() } else { self.api.known(&ids).await? };
        let still_run = known.iter().filter(|known| known.runs());
        let rows: Vec<Value> = still_run.map(|known| known.ended_at(ends.get(&known.id).copied())).collect();
        self.report.earlier_runs_ended += self.api.report_rows(group, &rows).await?.changed;
        Ok(())
    }

    /// Checks for jobs that are known with other starts. Refuses the file, or removes the known jobs.
    async fn look_for_shift(&mut self, chunk: &[NumberedJob], replace: bool) -> anyhow::Result<()> {
        let known = |group: &str| !self.new_groups.contains(group) && self.groups.contains(group);
        let rows: Vec<&NumberedJob> = chunk.iter().filter(|row| known(&row.job.resource_group)).collect();
        if rows.is_empty() {
            return Ok(());
        }
        self.detector.look(self.api, &rows).await?;
        if let Some((offset, jobs)) = self.detector.found().filter(|_| !replace) {
            return Err(ImportError::Shifted(ShiftedTrace { jobs, offset, taken: self.stored }).into());
        }
        let mut by_group: BTreeMap<String, Vec<ShiftedJob>> = BTreeMap::new();
        for pair in self.detector.take_pairs() {
            by_group.entry(pair.group.clone()).or_default().push(pair);
        }
        for (group, pairs) in by_group {
            self.retire(&group, pairs).await?;
        }
        Ok(())
    }

    /// Removes the usage of known jobs that arrive with other starts. A kernel that ended when it began used nothing,
    /// and may start again.
    async fn retire(&mut self, group: &str, pairs: Vec<ShiftedJob>) -> anyhow::Result<()> {
        let pairs: Vec<ShiftedJob> = pairs.into_iter().filter(|pair| pair.ended || pair.row != pair.known.id).collect();
        let ended: Vec<Value> = pairs.iter().map(|pair| pair.known.ended_at(pair.known.started_at)).collect();
        let taken = self.api.report_rows(group, &ended).await?;
        self.report.replaced += taken.changed;
        for rejected in taken.errors {
            for pair in rejected.places().filter_map(|at| pairs.get(at)) {
                self.barred.insert(pair.row, rejected.first_reason().to_owned());
            }
        }
        self.api.aggregate(group).await?;
        Ok(())
    }

    /// The number of projects without a domain that get one from the map, by rows or after them.
    async fn projects_to_place(&self, domains: &DomainMap) -> anyhow::Result<u64> {
        if domains.is_empty() {
            return Ok(0);
        }
        let unknown = self.api.projects_in(UNKNOWN_DOMAIN).await?;
        Ok(unknown.iter().filter(|project| project.domain_in(domains).is_some()).count() as u64)
    }

    /// Puts projects into the domains of the map that no row could put there, because the server has removed their
    /// jobs. Notes the projects of the file that still have no domain.
    async fn place_projects(&mut self, domains: &DomainMap) -> anyhow::Result<()> {
        if domains.is_empty() && self.without_domain.is_empty() {
            return Ok(());
        }
        for project in self.api.projects_in(UNKNOWN_DOMAIN).await? {
            if let Some(domain) = project.domain_in(domains) {
                self.api.place_project(&project, domain).await?;
            } else if let Some(name) = self.without_domain.iter().find(|name| project.is_called(name)) {
                self.report.without_domain.push(name.clone());
            }
        }
        self.report.without_domain.sort();
        Ok(())
    }

    /// Notes other histories that may contain the same jobs as the one that took earlier jobs.
    async fn note_other_histories(&mut self) -> anyhow::Result<()> {
        let Some(earlier) = &self.report.earlier else { return Ok(()) };
        for group in self.touched.keys() {
            let names = self.api.histories(group).await?;
            let others = names.into_iter().filter(|name| *name != earlier.source).map(|name| (group.clone(), name));
            self.report.other_histories.extend(others);
        }
        Ok(())
    }

    /// Creates the group if it does not exist; a new one is ordered by fair share.
    async fn ensure_group(&mut self, name: &str) -> anyhow::Result<()> {
        if !self.groups.contains(name) {
            let is_new = self.api.make_group(name).await.with_context(|| format!("resource group {name:?}"))?;
            self.groups.insert(name.to_owned());
            if is_new {
                self.report.new_groups += 1;
                self.new_groups.insert(name.to_owned());
            }
        }
        if !self.touched.contains_key(name) {
            let running = self.api.running(name).await?;
            self.running.insert(name.to_owned(), RunningBySession::new(running));
            self.touched.insert(name.to_owned(), None);
        }
        Ok(())
    }

    /// Stores dated rows as capacities of the past days that a look-back may reach or that the trace used. For today,
    /// the agents' amounts count.
    async fn apply_capacities(&mut self, rows: &[AgentCapacity]) -> anyhow::Result<()> {
        let mut by_group: BTreeMap<&str, Vec<&AgentCapacity>> = BTreeMap::new();
        for row in rows {
            by_group.entry(&row.resource_group).or_default().push(row);
        }
        let yesterday = self.clock.now().day().plus(-1);
        for (group, rows) in by_group {
            self.ensure_group(group).await?;
            let used = self.touched.get(group).copied().flatten();
            let reached = yesterday.plus(-MAX_KERNEL_DAYS);
            let first = used.map_or(reached, |(first, _)| first.min(reached));
            let days = offered::by_day(rows.iter().copied(), first, yesterday);
            self.report.capacity_days += self.api.give_capacities(group, days).await?;
            self.put_agents(group, &rows).await?;
        }
        Ok(())
    }

    async fn put_agents(&mut self, group: &str, rows: &[&AgentCapacity]) -> anyhow::Result<()> {
        let known = self.api.agents(group).await?;
        let known: HashMap<&str, &AgentRow> = known.iter().map(|agent| (agent.agent_id.as_str(), agent)).collect();
        let mut agents = Vec::new();
        for (id, offered) in offered::agents(rows.iter().copied(), self.clock.now()) {
            let before = known.get(id);
            let alive = offered.is_some();
            let Some(available_slots) = offered.or_else(|| Some(before?.available_slots.clone())) else { continue };
            if before.is_none_or(|agent| agent.alive != alive || agent.available_slots != available_slots) {
                let labels = before.map(|agent| agent.labels.clone()).unwrap_or_default();
                let schedulable = before.is_none_or(|agent| agent.schedulable);
                let agent_id = id.to_owned();
                agents.push(AgentRow { agent_id, available_slots, alive, schedulable, labels });
            }
        }
        self.report.agents_changed += agents.len() as u64;
        self.api.put_agents(group, &agents).await?;
        Ok(())
    }

    async fn aggregate(&mut self) -> anyhow::Result<()> {
        let mut slices = Some(self.slices);
        for group in self.touched.keys() {
            let recorded = self.api.aggregate(group).await?;
            slices = slices.zip(recorded).map(|(sum, recorded)| sum + recorded);
        }
        self.report.slices = slices;
        Ok(())
    }
}
