//! Slurm: reads the texts of its programs, and writes `SITE`, a term of the priority that no plugin of the site uses.
//!
//! One file reads the text of one program. [`account_tree`] has the tree of accounts, which [`people`] turns into one of people. [`queue`] puts together what `squeue` and `sprio` show, [`super::order_values`] computes the values,
//! [`reported_runs`] ends the runs that the accounting has lost, and [`setup`] makes the checks of `--check`.

pub mod account_tree;
pub mod left_out_jobs;
pub mod people;
pub mod programs;
pub mod queue;
pub mod reported_runs;
pub mod sacct;
pub mod sacctmgr;
pub mod scontrol;
pub mod settings;
pub mod setup;
pub mod sprio;
pub mod squeue;
mod table_text;
pub mod tres;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::agents::AgentReport;
use api::input_warning::list_names;
use api::people_tree::PeopleTree;
use api::sequence::{ServerOrder, WorkloadPlace};
use domain::clock::Clock;
use domain::connectors::ConnectorMode;
use domain::time::Timestamp;

use account_tree::AccountTree;
use left_out_jobs::LeftOutJobs;
use people::MappedPeople;
use queue::{PartitionTiers, ShownJob, SlurmQueue, join_readings};
use reported_runs::{ReadingMoment, ReportedRuns};
use sacct::{ConversionChoices, JobRecords, RunConversion};
use scontrol::{MULTIFACTOR, SlurmConfig};
use settings::SlurmSettings;
use sprio::{JobPriority, LOWEST_PRIORITY};
use squeue::JobStage;
use tres::SlotMapping;

use super::accounting_window::first_reading;
use super::fault::RoundFault;
use super::order_values::{OrderedJob, order_values, rank_value};
use super::report_spool::SpooledReports;
use super::scheduler::{KernelReading, SchedulerConnector, ValueWrite, WriteAim, WritePlan, WriteResult};
use super::state_file::ConnectorState;

/// The most names that a message lists.
const MAX_NAMED: usize = 5;
/// The code of the fault of jobs without an index of slurmdbd.
const JOB_INDEX: &str = "job_index";

/// Slurm, beside which the connector stands.
pub struct SlurmConnector {
    settings: SlurmSettings,
    config: SlurmConfig,
    resource_group: String,
    slots: SlotMapping,
    /// `None` until they were read. Without them it is not known whose jobs are ordered.
    partitions: Option<PartitionTiers>,
    tree: AccountTree,
    /// The tree of people that was read and not taken yet.
    people: Option<PeopleTree>,
    /// The names of the last tree that the server does not take.
    unusable_names: Vec<String>,
    convert: RunConversion,
    /// Jobs that slurmctld does not change because slurmdbd has not given them an index.
    unindexed: LeftOutJobs,
    /// Jobs whose priority an admin has fixed at the lowest one, found by a write, and those of them that the log has named.
    fixed: LeftOutJobs,
    named_fixed: BTreeSet<String>,
    clock: Arc<dyn Clock>,
}

/// Reads the configuration of the cluster. A cluster that is not the one of the settings is refused.
pub async fn read_config(settings: &SlurmSettings) -> Result<SlurmConfig, RoundFault> {
    let config = scontrol::read_config(&programs::read(scontrol::PROGRAM, &scontrol::CONFIG_ARGS).await?)?;
    match &settings.common.cluster {
        Some(cluster) if *cluster != config.cluster => {
            let detail = format!("the cluster is {:?}, and the settings name {cluster:?}", config.cluster);
            Err(RoundFault::new("cluster", detail))
        }
        _ => Ok(config),
    }
}

fn borrowed(args: &[String]) -> Vec<&str> {
    args.iter().map(String::as_str).collect()
}

/// Reads runs of the accounting. An answer without a column that was asked for is refused.
async fn read_accounting(args: &[String]) -> Result<String, RoundFault> {
    let text = programs::read(sacct::PROGRAM, &borrowed(args)).await?;
    sacct::check_columns(&text)?;
    Ok(text)
}

/// Reads the tree of accounts.
pub async fn read_tree(cluster: &str) -> Result<AccountTree, RoundFault> {
    let args = sacctmgr::tree_args(cluster);
    sacctmgr::read_tree(&programs::read(sacctmgr::PROGRAM, &borrowed(&args)).await?)
}

/// Reads the partitions. A partition of the settings that is not there is refused.
pub async fn read_partitions(settings: &SlurmSettings) -> Result<PartitionTiers, RoundFault> {
    let text = programs::read(scontrol::PROGRAM, &scontrol::PARTITION_ARGS).await?;
    let tiers = scontrol::read_partitions(&text)?;
    if let Some(missing) = settings.partitions.iter().find(|name| !tiers.contains_key(*name)) {
        return Err(RoundFault::new("partitions", format!("there is no partition {missing:?}")));
    }
    let ordered: BTreeSet<String> = settings.partitions.iter().cloned().collect();
    Ok(PartitionTiers { tiers, ordered: (!ordered.is_empty()).then_some(ordered) })
}

fn unknown_format(detail: String) -> RoundFault {
    RoundFault::new("unknown_format", detail)
}

/// The ids of the jobs that slurmctld lists as having nodes, or as ending.
async fn list_jobs() -> Result<BTreeSet<String>, RoundFault> {
    let jobs = squeue::read_jobs(&programs::read(squeue::PROGRAM, &squeue::ARGS).await?)?;
    let run = jobs.into_iter().filter(|job| job.stage != JobStage::Pending);
    Ok(run.map(|job| job.id.to_string()).collect())
}

/// The settings of Slurm that forbid to write.
pub fn priority_obstacles(config: &SlurmConfig, settings: &SlurmSettings) -> Vec<RoundFault> {
    let mut found = Vec::new();
    if config.priority_type != MULTIFACTOR {
        let detail = format!("PriorityType is {}, which ignores SITE", config.priority_type);
        found.push(RoundFault::new("priority_type", detail));
    }
    if config.fairshare_weight > 0 && !settings.allow_fairshare_weight {
        let weight = config.fairshare_weight;
        let detail = format!("PriorityWeightFairshare is {weight}, so that usage would count twice");
        found.push(RoundFault::new("fairshare_weight", detail));
    }
    found
}

impl SlurmConnector {
    pub fn new(settings: SlurmSettings, config: SlurmConfig, convert: RunConversion, clock: Arc<dyn Clock>) -> Self {
        let resource_group = settings.common.group_of(&config.cluster);
        let slots = SlotMapping::new(settings.tres.clone());
        let (partitions, tree, people) = (None, AccountTree::default(), None);
        let unindexed = LeftOutJobs::default();
        let unusable_names = Vec::new();
        Self {
            settings,
            config,
            resource_group,
            slots,
            partitions,
            tree,
            people,
            unusable_names,
            convert,
            unindexed,
            fixed: LeftOutJobs::default(),
            named_fixed: BTreeSet::new(),
            clock,
        }
    }

    /// Keeps the tree that was read, and the tree of people that follows from it if the server is to have it.
    fn keep_tree(&mut self, tree: AccountTree) {
        let mapped = MappedPeople::of(&tree, &self.resource_group);
        // The same names stay in each reading of the tree.
        if !mapped.unusable_names.is_empty() && mapped.unusable_names != self.unusable_names {
            tracing::warn!(names = ?mapped.unusable_names, "the server takes no such names: what runs there counts for `unknown`");
        }
        self.unusable_names = mapped.unusable_names;
        if self.settings.tree_sync {
            self.people = Some(mapped.tree);
        }
        self.tree = tree;
    }

    /// Leaves out jobs whose priority an admin has fixed, and names each of them once.
    fn note_fixed(&mut self, jobs: &BTreeSet<String>) {
        self.fixed.note(jobs, self.clock.steady());
        let new: Vec<String> = jobs.iter().filter(|job| self.named_fixed.insert((*job).clone())).cloned().collect();
        if !new.is_empty() {
            let jobs = list_names(&new, MAX_NAMED);
            tracing::warn!(jobs, "an admin has fixed the priority of jobs, which are left alone");
        }
    }

    fn choices(&self) -> ConversionChoices<'_> {
        let Self { resource_group, tree, slots, .. } = self;
        ConversionChoices { resource_group, slots: slots.pairs(), tree }
    }

    /// All rows of the accounting about some jobs. A job that it does not have is not among them.
    async fn look_up(&self, jobs: &[String]) -> Result<BTreeMap<String, JobRecords>, RoundFault> {
        let mut found = BTreeMap::new();
        for part in jobs.chunks(sacct::MAX_LOOKED_UP) {
            let args = sacct::job_args(&self.config.cluster, part);
            let text = read_accounting(&args).await?;
            let records = sacct::read_records(&text, &self.choices(), self.convert).map_err(unknown_format)?;
            // The id of an array stands for all of its tasks.
            found.extend(records.into_iter().filter(|(job, _)| part.contains(job)));
        }
        Ok(found)
    }

    /// The values that follow an order, in the order of the front first.
    fn wanted_values(&self, queue: &SlurmQueue, order: &ServerOrder) -> Result<Vec<(u64, i64)>, RoundFault> {
        let now = self.clock.steady();
        let is_left_out = |id: &u64| self.unindexed.is_left_out(&id.to_string(), now);
        let eligible: BTreeSet<u64> = queue.eligible_ids.iter().copied().filter(|id| !is_left_out(id)).collect();
        let place = |item: &WorkloadPlace| {
            let id = item.workload_id.parse().ok().filter(|id| eligible.contains(id))?;
            Some((queue.shown.get(&id)?, item.rank))
        };
        let sequence: Vec<(&ShownJob, Option<u32>)> = order.items.iter().filter_map(place).collect();
        let SlurmSettings { site_weight, site_max, .. } = self.settings;
        if self.settings.common.mode == ConnectorMode::Factor {
            let worst = sequence.iter().filter_map(|(_, rank)| *rank).max().unwrap_or(1);
            let value =
                |(job, rank): (&ShownJob, Option<u32>)| (job.id, rank_value(rank, worst, site_weight, site_max));
            return Ok(sequence.into_iter().map(value).collect());
        }
        let mut sequence = queue.with_own_order(sequence.into_iter().map(|(job, _)| job), &eligible);
        sequence.truncate(usize::try_from(self.settings.common.head).unwrap_or(usize::MAX));
        let others = queue.shown.values().filter(|job| job.tier.is_some() && !job.is_fixed);
        // A lower priority would be shown as the lowest one, and would have no place of its own.
        let floor = others.map(|job| job.own).fold(LOWEST_PRIORITY, i64::max);
        // Any user may set a large nice. A job that it pushes so far down that raising it would take more than half of the room
        // stays there, because otherwise there would be no room for the values of the others.
        let is_placed = |job: &&ShownJob| job.own >= 0 || job.own >= (floor - site_max) / 2;
        let placed: Vec<&ShownJob> = sequence.into_iter().filter(is_placed).collect();
        let jobs: Vec<OrderedJob> = placed.iter().map(|job| OrderedJob { own: job.own, value: job.site }).collect();
        let values = order_values(&jobs, floor, site_max).ok_or_else(|| no_room(&jobs, floor, site_max))?;
        Ok(placed.iter().map(|job| job.id).zip(values).collect())
    }

    /// The plan for wanted values: those that differ, and then what goes back to 0.
    fn plan_values(queue: &SlurmQueue, state: &ConnectorState, wanted: &[(u64, i64)], resets_all: bool) -> WritePlan {
        let mut plan = WritePlan::default();
        let values: BTreeMap<u64, i64> = wanted.iter().copied().collect();
        // A heterogeneous job is written once, by its first component, if the value of any component differs.
        let mut parts: BTreeMap<u64, Vec<&ShownJob>> = BTreeMap::new();
        for job in queue.shown.values() {
            parts.entry(job.leader).or_default().push(job);
        }
        let differs = |leader: u64, value: i64| {
            parts.get(&leader).is_none_or(|parts| parts.iter().any(|part| part.site != value))
        };
        for (job, value) in wanted {
            let list = if differs(*job, *value) { &mut plan.writes } else { &mut plan.kept };
            list.push(ValueWrite { job: job.to_string(), value: *value });
        }
        let is_written = |job: &u64| state.written.contains_key(&job.to_string());
        for (leader, parts) in parts.iter().filter(|(leader, _)| !values.contains_key(leader)) {
            let is_ordered = parts.iter().any(|part| part.tier.is_some());
            let is_ours = resets_all || is_ordered || is_written(leader);
            if is_ours && parts.iter().any(|part| part.site != 0) {
                plan.writes.push(ValueWrite { job: leader.to_string(), value: 0 });
            } else if is_written(leader) {
                plan.gone.push(leader.to_string());
            }
        }
        // A job that was written to and that sprio does not show has started, waits for something, or has ended. A reset writes to all
        // such jobs, because slurmctld may have lost the write that has taken a value back.
        let written = state.written.keys().filter_map(|job| job.parse().ok());
        let unshown: BTreeSet<u64> = written.chain(queue.stages.keys().copied().filter(|_| resets_all)).collect();
        let is_planned = |id: &u64| queue.shown.contains_key(id) || parts.contains_key(id) || values.contains_key(id);
        for id in unshown.into_iter().filter(|id| !is_planned(id)) {
            let job = id.to_string();
            match queue.stages.get(&id) {
                Some(JobStage::Pending | JobStage::Active) => plan.writes.push(ValueWrite { job, value: 0 }),
                // A job that ends may be one that was requeued, and then waits again with the value.
                Some(JobStage::Ending) => {}
                // An empty list is no proof that a job has gone.
                None if queue.stages.is_empty() => {}
                None => plan.gone.push(job),
            }
        }
        repeat_tasks(&mut plan, queue);
        plan
    }
}

/// The jobs that show no term at all although `SITE` was written to them, because an admin has fixed their priority.
fn ignored_writes(writes: &[ValueWrite], shown: &[JobPriority], unindexed: &BTreeSet<String>) -> BTreeSet<String> {
    let without_terms: BTreeSet<String> =
        shown.iter().filter(|line| !line.has_terms).map(|line| line.job.to_string()).collect();
    let is_ignored =
        |write: &&ValueWrite| write.value != 0 && without_terms.contains(&write.job) && !unindexed.contains(&write.job);
    writes.iter().filter(is_ignored).map(|write| write.job.clone()).collect()
}

/// The fault of values that do not fit between the other terms of the priorities and `site_max`.
fn no_room(jobs: &[OrderedJob], floor: i64, site_max: i64) -> RoundFault {
    let lowest = jobs.iter().map(|job| job.own).min().unwrap_or_default();
    let highest = jobs.iter().map(|job| job.own).fold(floor, i64::max);
    let detail = format!(
        "site_max is {site_max}, and the other terms of the priority reach from {lowest} to {highest}: there is no room for {} values",
        jobs.len()
    );
    RoundFault::new("site_max", detail)
}

/// Moves the writes to tasks of arrays directly behind those to the records of the arrays, which write over them, and adds those of
/// tasks that have their value already. All of them belong to one round.
fn repeat_tasks(plan: &mut WritePlan, queue: &SlurmQueue) {
    let records: BTreeSet<String> = plan.writes.iter().map(|write| write.job.clone()).collect();
    let values: BTreeMap<String, i64> =
        plan.writes.iter().chain(&plan.kept).map(|write| (write.job.clone(), write.value)).collect();
    let mut tasks: BTreeMap<String, Vec<ValueWrite>> = BTreeMap::new();
    for job in queue.shown.values().filter(|job| job.array != job.id) {
        let (job, array) = (job.id.to_string(), job.array.to_string());
        if records.contains(&array) {
            // A task that the plan does not name has no value, and must not get that of its array.
            let value = values.get(&job).copied().unwrap_or_default();
            plan.joined.insert(job.clone());
            tasks.entry(array).or_default().push(ValueWrite { job, value });
        }
    }
    let WritePlan { writes, joined, kept, .. } = plan;
    writes.retain(|write| !joined.contains(&write.job));
    kept.retain(|write| !joined.contains(&write.job));
    let with_tasks = std::mem::take(writes).into_iter().flat_map(|write| {
        let tasks = tasks.remove(&write.job).unwrap_or_default();
        std::iter::once(write).chain(tasks)
    });
    *writes = with_tasks.collect();
}

impl SchedulerConnector for SlurmConnector {
    const KIND: &'static str = "slurm";

    type Queue = SlurmQueue;

    async fn read_queue(&mut self, _: &BTreeMap<String, i64>) -> Result<SlurmQueue, RoundFault> {
        if self.config.priority_type != MULTIFACTOR {
            let detail = format!(
                "PriorityType is {}, where sprio shows nothing: runs are reported, and nothing is ordered",
                self.config.priority_type
            );
            return Err(RoundFault::new("priority_type", detail));
        }
        let partitions = match &self.partitions {
            Some(known) => known,
            None => self.partitions.insert(read_partitions(&self.settings).await?),
        };
        let jobs = squeue::read_jobs(&programs::read(squeue::PROGRAM, &squeue::ARGS).await?)?;
        // The priorities are read afterwards, so that a job which starts in between is missing in them and is left alone.
        let mut priorities = sprio::read_priorities(&programs::read(sprio::PROGRAM, &sprio::ARGS).await?)?;
        let now = self.clock.steady();
        for line in priorities.iter_mut().filter(|line| !line.has_terms) {
            line.is_fixed |= self.fixed.is_left_out(&line.job.to_string(), now);
        }
        Ok(join_readings(&jobs, &priorities, partitions, &self.slots))
    }

    async fn read_kernels(&mut self, since: Option<Timestamp>) -> Result<KernelReading, RoundFault> {
        let now = self.clock.now();
        let backlog = sacct::read_backlog(&programs::read(sacct::QUEUE_PROGRAM, &[]).await?)?;
        // Runs are reported even if a part of what is known of them cannot be read.
        let mut unreadable = Vec::new();
        let listed_jobs = match backlog {
            0 => list_jobs().await.map_err(|fault| unreadable.push(fault)).ok(),
            _ => None,
        };
        let window_start = sacct::window_start(since.unwrap_or_else(|| first_reading(now)));
        let args = sacct::run_args(&self.config.cluster, window_start);
        let text = read_accounting(&args).await?;
        let converted = (self.convert)(&text, &self.choices()).map_err(unknown_format)?;

        let common = &self.settings.common;
        let disk_fault = |error: std::io::Error| common.state_dir_fault(&error);
        let mut reported = ReportedRuns::load(&common.state_dir).map_err(disk_fault)?;
        let moment = ReadingMoment { now, window_start, delivered_until: since, listed_jobs: listed_jobs.as_ref() };
        let missing: Vec<String> = reported.missing_jobs(&converted.runs, moment).into_iter().collect();
        let records = self.look_up(&missing).await.unwrap_or_else(|fault| {
            unreadable.push(fault);
            // Nothing is decided about a job with a row that could not be read.
            let unread = || JobRecords { unreadable_rows: 1, ..JobRecords::default() };
            missing.iter().map(|job| (job.clone(), unread())).collect()
        });
        let lines = reported.note(converted.runs, &records, moment);
        // The runs are on disk before they are reported. A reading that is too large for the spool is not reported, and must not fill
        // the disk in another file.
        if lines.len() as u64 <= common.spool_max_bytes() {
            reported.save(&common.state_dir).map_err(disk_fault)?;
        }

        unreadable.extend(converted.reasons.into_iter().map(|reason| RoundFault::new("unreadable_row", reason)));
        // While slurmdbd is behind, the next reading begins where this one did.
        let complete_until = (backlog == 0).then_some(now);
        let reports = SpooledReports { complete_until, lines };
        Ok(KernelReading { reports, unreadable, unreadable_rows: converted.unreadable_rows })
    }

    async fn read_agents(&mut self) -> Result<Vec<AgentReport>, RoundFault> {
        scontrol::read_nodes(&programs::read(scontrol::PROGRAM, &scontrol::NODE_ARGS).await?, &self.slots)
    }

    async fn read_setup(&mut self) -> Result<(), RoundFault> {
        let config = read_config(&self.settings).await.map(|config| self.config = config);
        let partitions = read_partitions(&self.settings).await.map(|partitions| self.partitions = Some(partitions));
        let tree = read_tree(&self.config.cluster).await.map(|tree| self.keep_tree(tree));
        config.and(partitions).and(tree)
    }

    fn take_people_tree(&mut self) -> Option<PeopleTree> {
        self.people.take()
    }

    fn write_obstacles(&self) -> Vec<RoundFault> {
        priority_obstacles(&self.config, &self.settings)
    }

    fn plan_writes(&self, queue: &SlurmQueue, state: &ConnectorState, aim: WriteAim) -> Result<WritePlan, RoundFault> {
        let wanted = match aim {
            WriteAim::Follow(order) => self.wanted_values(queue, order)?,
            WriteAim::Fade | WriteAim::Reset => Vec::new(),
        };
        let mut plan = Self::plan_values(queue, state, &wanted, matches!(aim, WriteAim::Reset));
        let now = self.clock.steady();
        plan.writes.retain(|write| !self.unindexed.is_left_out(&write.job, now));
        Ok(plan)
    }

    async fn write_values(&mut self, writes: &[ValueWrite], per_second: u32) -> Result<WriteResult, RoundFault> {
        let lines: Vec<String> = writes.iter().map(scontrol::write_line).collect();
        let per_second = usize::try_from(per_second).unwrap_or(usize::MAX);
        let output = programs::feed(scontrol::PROGRAM, &[], &lines, per_second).await?;
        let unindexed = scontrol::unindexed_jobs(&output.stderr);
        self.unindexed.note(&unindexed, self.clock.steady());
        let mut result = WriteResult::default();
        let is_denied = scontrol::is_denied(&output.stderr);
        if is_denied {
            let detail = format!("Slurm refuses to set SITE: {}", output.message());
            result.faults.push(RoundFault::new("operator_right", detail));
        } else if scontrol::is_away(&output.stderr) {
            return Err(RoundFault::new("slurm_away", output.message()));
        } else if output.is_broken_off() {
            let detail = format!("scontrol did not end in time: {}", output.message());
            return Err(RoundFault::new("slurm_away", detail));
        } else if !unindexed.is_empty() {
            let jobs = list_names(&unindexed.iter().cloned().collect::<Vec<_>>(), MAX_NAMED);
            let detail =
                format!("Slurm changes no job without an index of slurmdbd; these are tried again later: {jobs}");
            result.faults.push(RoundFault::new(JOB_INDEX, detail));
        } else if let Some(signal) = output.signal() {
            let detail = format!("scontrol was ended by signal {signal}; some values may not be written");
            result.faults.push(RoundFault::new("write_failed", detail));
        } else if !output.is_success() && !scontrol::is_only_gone(&output.stderr) {
            // scontrol fails as well if one of many jobs has just gone.
            let detail = format!("scontrol failed: {}", output.message());
            result.faults.push(RoundFault::new("write_failed", detail));
        }
        let shown = sprio::read_priorities(&programs::read(sprio::PROGRAM, &sprio::ARGS).await?)?;
        // After another fault it is not known which writes were made.
        let are_made = result.faults.iter().all(|fault| fault.code == JOB_INDEX);
        let ignored = if are_made { ignored_writes(writes, &shown, &unindexed) } else { BTreeSet::new() };
        self.note_fixed(&ignored);
        let sites: BTreeMap<String, i64> = shown.into_iter().map(|line| (line.job.to_string(), line.site)).collect();
        if is_denied {
            // The right may have gone after some of the writes, and that the others differ follows from it.
            let is_made = |write: &&ValueWrite| sites.get(&write.job) == Some(&write.value);
            result.written = writes.iter().filter(is_made).count() as u64;
            return Ok(result);
        }
        let differs = |write: &&ValueWrite| {
            !unindexed.contains(&write.job)
                && !ignored.contains(&write.job)
                && sites.get(&write.job).is_some_and(|site| *site != write.value)
        };
        result.written = writes.len().saturating_sub(unindexed.len() + ignored.len()) as u64;
        result.read_back_differs = writes.iter().filter(differs).count() as u64;
        Ok(result)
    }
}
