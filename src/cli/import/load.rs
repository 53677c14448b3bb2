//! From jobs to the service: batches for each resource group, capacities, one aggregate run.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::Context;

use super::Reader;
use super::capacities::Capacity;
use super::domain_map::DomainMap;
use super::feed::{Feed, Numbered};
use super::offered;
use super::outcome::Tally;
use super::report::Report;
use crate::domain::time::Day;
use crate::service::agents::{Agent, AgentSpec};
use crate::service::groups::SchedulerPatch;
use crate::service::incoming::{Incoming, LIVES_TOO_LONG, outlives};
use crate::service::ingest::BATCH;
use crate::service::{Caller, Service};

/// Rows that wait, over all resource groups together: what bounds memory.
const MAX_WAITING: usize = 2 * BATCH;

/// What comes with the trace.
#[derive(Clone, Debug, Default)]
pub struct Extras {
    pub domains: DomainMap,
    pub capacities: Vec<Capacity>,
    pub no_aggregate: bool,
}

/// Imports everything that `reader` yields. Rows that were taken stay taken if it fails later.
pub async fn load(service: &Arc<Service>, reader: Reader, extras: &Extras) -> anyhow::Result<Report> {
    let began = service.clock().now();
    let mut loader = Loader {
        service,
        caller: Caller::internal("cli"),
        waiting: HashMap::new(),
        rows_waiting: 0,
        touched: BTreeMap::new(),
        report: Report::default(),
    };
    let mut feed = Feed::start(reader);
    let taken = loader.take_all(&mut feed, extras).await;
    taken.context("the import stopped; rows before this are kept, and a second run takes the rest")?;
    loader.report.summary = feed.finish().await?;
    loader.apply_capacities(&extras.capacities).await.context("the rows are kept; their capacities are not")?;
    if !extras.no_aggregate {
        loader.aggregate().await.context("the rows are kept; the aggregate job will record their usage")?;
    }
    for group in loader.touched.keys() {
        if !service.has_capacity(&loader.caller, group).await? {
            loader.report.without_capacity.push(group.clone());
        }
    }
    if !loader.report.without_capacity.is_empty() {
        let named: BTreeSet<&String> = extras.capacities.iter().map(|row| &row.resource_group).collect();
        let unused = named.into_iter().filter(|group| loader.touched.get(*group).copied().flatten().is_none());
        loader.report.groups_without_rows = unused.cloned().collect();
    }
    let mut report = loader.report;
    report.groups = loader.touched.len() as u64;
    report.seconds = (service.clock().now().micros() - began.micros()) as f64 / 1e6;
    Ok(report)
}

/// Reports with the lines that they came from.
#[derive(Default)]
struct Batch {
    lines: Vec<u64>,
    reports: Vec<Incoming>,
}

struct Loader<'a> {
    service: &'a Arc<Service>,
    caller: Caller,
    waiting: HashMap<String, Batch>,
    rows_waiting: usize,
    /// The first and the last day on which a group was used.
    touched: BTreeMap<String, Option<(Day, Day)>>,
    report: Report,
}

impl Loader<'_> {
    async fn take_all(&mut self, feed: &mut Feed, extras: &Extras) -> anyhow::Result<()> {
        while let Some(chunk) = feed.next().await {
            for mut row in chunk {
                if let Some(domain) = extras.domains.get(&row.job.project) {
                    row.job.domain.clone_from(domain);
                }
                self.take(row).await?;
            }
        }
        while let Some(group) = self.fullest() {
            self.send(&group).await?;
        }
        Ok(())
    }

    async fn take(&mut self, row: Numbered) -> anyhow::Result<()> {
        let Numbered { line, job } = row;
        if outlives(job.started_at, job.terminated_at, self.service.clock().now()) {
            self.refuse(LIVES_TOO_LONG, line);
            return Ok(());
        }
        if !self.touched.contains_key(&job.resource_group) {
            self.ensure_group(&job.resource_group).await?;
        }
        if let Some(start) = job.started_at {
            let end = job.terminated_at.unwrap_or_else(|| self.service.clock().now());
            let used = self.touched.entry(job.resource_group.clone()).or_default();
            let (first, last) = used.unwrap_or((start.day(), end.day()));
            *used = Some((first.min(start.day()), last.max(end.day())));
        }
        let batch = self.waiting.entry(job.resource_group.clone()).or_default();
        let report = job.report();
        batch.lines.push(line);
        batch.reports.push(Incoming { report, user_name: Some(job.user), project_name: Some(job.project) });
        self.rows_waiting += 1;
        if batch.reports.len() >= BATCH {
            self.send(&job.resource_group).await?;
        } else if self.rows_waiting >= MAX_WAITING
            && let Some(fullest) = self.fullest()
        {
            self.send(&fullest).await?;
        }
        Ok(())
    }

    fn fullest(&self) -> Option<String> {
        let fullest = self.waiting.iter().max_by_key(|(name, batch)| (batch.reports.len(), *name));
        fullest.map(|(name, _)| name.clone())
    }

    async fn send(&mut self, group: &str) -> anyhow::Result<()> {
        let Some(Batch { lines, reports }) = self.waiting.remove(group) else { return Ok(()) };
        self.rows_waiting -= reports.len();
        let first = lines.first().copied().unwrap_or(0);
        let done = self.service.ingest_counted(&self.caller, group, reports.into()).await;
        let done = done.with_context(|| format!("rows from line {first} on, resource group {group:?}"))?;
        self.report.changed += done.changed;
        for refused in done.refused {
            let line = lines.get(refused.at).copied().unwrap_or(first);
            self.refuse(&refused.fault.detail, line);
        }
        Ok(())
    }

    fn refuse(&mut self, why: &str, line: u64) {
        let tally = self.report.refused.entry(why.to_owned()).or_insert(Tally { rows: 0, first_line: line });
        tally.rows += 1;
        tally.first_line = tally.first_line.min(line);
    }

    /// Makes sure that the group is there; a new one is ordered by fair share.
    async fn ensure_group(&mut self, name: &str) -> anyhow::Result<()> {
        if self.service.group(name).is_err() {
            let made = self.service.put_group(self.caller.clone(), name.to_owned(), SchedulerPatch::default()).await;
            // Another process may have been faster.
            let (_, is_new) = made.with_context(|| format!("resource group {name:?}"))?;
            self.report.new_groups += u64::from(is_new);
        }
        self.touched.entry(name.to_owned()).or_default();
        Ok(())
    }

    /// Dated rows become capacities of the past days on which the trace used something; today
    /// counts what the agents offer.
    async fn apply_capacities(&mut self, rows: &[Capacity]) -> anyhow::Result<()> {
        let mut by_group: BTreeMap<&str, Vec<&Capacity>> = BTreeMap::new();
        for row in rows {
            by_group.entry(&row.resource_group).or_default().push(row);
        }
        let yesterday = self.service.clock().now().day().plus(-1);
        for (group, rows) in by_group {
            self.ensure_group(group).await?;
            if let Some((first, last)) = self.touched.get(group).copied().flatten() {
                let days = offered::by_day(rows.iter().copied(), first, last.min(yesterday));
                self.report.capacity_days += self.service.give_capacities(self.caller.clone(), group, days).await?;
            }
            self.put_agents(group, &rows).await?;
        }
        Ok(())
    }

    async fn put_agents(&mut self, group: &str, rows: &[&Capacity]) -> anyhow::Result<()> {
        let known = self.service.agents(&self.caller, group).await?;
        let known: HashMap<&str, &Agent> = known.iter().map(|agent| (agent.agent_id.as_str(), agent)).collect();
        let mut specs = BTreeMap::new();
        for (id, offered) in offered::agents(rows.iter().copied(), self.service.clock().now()) {
            let before = known.get(id);
            let alive = offered.is_some();
            let Some(available_slots) = offered.or_else(|| Some(before?.available_slots.clone())) else { continue };
            if before.is_none_or(|agent| agent.alive != alive || agent.available_slots != available_slots) {
                let labels = before.map(|agent| agent.labels.clone()).unwrap_or_default();
                let schedulable = before.is_none_or(|agent| agent.schedulable);
                specs.insert(id.to_owned(), AgentSpec { available_slots, alive, schedulable, labels });
            }
        }
        self.report.agents_changed += specs.len() as u64;
        if !specs.is_empty() {
            self.service.put_agents(self.caller.clone(), group.to_owned(), specs).await?;
        }
        Ok(())
    }

    async fn aggregate(&mut self) -> anyhow::Result<()> {
        let mut slices = 0;
        for group in self.touched.keys() {
            slices += self.service.aggregate(group).await?.slices_created;
        }
        self.report.slices = Some(slices);
        Ok(())
    }
}
