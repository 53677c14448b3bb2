//! HTCondor: reads what its programs print, and writes the priority factor of each user.
//!
//! The negotiator serves users by `real priority x factor`, the lowest first. The real priority is HTCondor's own record of
//! usage; with a half-life of millions of years it stays the same for all, so that the factor alone decides. A factor belongs to an
//! accounting principal, which is a user or an accounting group with a user. There is no value of single jobs, and so no mode `order`.
//!
//! [`jobs`], [`users`], [`machines`] and [`pool`] each read the text of one program; [`queue`] puts jobs and users together,
//! [`runs`] finds the runs of jobs, [`factor_values`] computes the factors, and [`setup`] makes the checks of `--check`.

pub mod class_ads;
pub mod factor_values;
pub mod jobs;
pub mod machines;
pub mod pool;
pub mod programs;
pub mod queue;
pub mod resources;
pub mod runs;
pub mod settings;
pub mod setup;
pub mod users;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::agents::AgentReport;
use api::people_tree::PeopleTree;
use api::sequence::ServerOrder;
use domain::clock::Clock;
use domain::time::{MICROS_PER_SECOND, Timestamp};

use class_ads::{ClassAd, read_ads};
use factor_values::rank_factor;
use jobs::CondorJob;
use machines::{MAX_MISSING_MICROS, read_machines};
use pool::{LEAST_HALF_LIFE, PoolSettings, read_pool};
use programs::schedd_args;
use queue::{CondorQueue, join_readings};
use resources::ResourceMapping;
use runs::{EPOCH_END, RunCollection};
use settings::HtCondorSettings;
use users::{LEAST_REAL_PRIORITY, NegotiatorUser, read_users};

use super::accounting_window::{OVERLAP_MICROS, first_reading};
use super::agent_memory::AgentMemory;
use super::fault::RoundFault;
use super::report_spool::SpooledReports;
use super::scheduler::{KernelReading, SchedulerConnector, ValueWrite, WriteAim, WritePlan, WriteResult};
use super::scheduler_run::RunWriter;
use super::state_file::ConnectorState;
use super::write_turns::write_turns;

/// The highest real priority that counts as that of a user who has used nothing. It is less than the difference of neighbouring steps
/// of factors.
const MAX_REAL_PRIORITY: f64 = LEAST_REAL_PRIORITY * 1.05;

/// HTCondor, beside which the connector stands.
pub struct HtCondorConnector {
    settings: HtCondorSettings,
    pool: PoolSettings,
    resource_group: String,
    resources: ResourceMapping,
    write_run: RunWriter,
    /// The jobs that the reading of runs in this round has read.
    read_ads: Option<Vec<ClassAd>>,
    /// The users with pending jobs whose real priority is not that of a user who has used nothing.
    charged_users: Vec<String>,
    clock: Arc<dyn Clock>,
}

/// Reads the ads of the queues of all access points.
pub async fn read_queue_ads(
    settings: &HtCondorSettings,
    resources: &ResourceMapping,
) -> Result<Vec<ClassAd>, RoundFault> {
    let names = attribute_list(jobs::ATTRIBUTES.map(str::to_owned).into_iter().chain(resources.job_attributes()));
    let mut ads = Vec::new();
    for schedd in settings.schedd_names() {
        let args = [schedd_args(schedd), vec!["-allusers", "-json", "-attributes", &names]].concat();
        ads.extend(read_ads(programs::QUEUE, &programs::read(programs::QUEUE, &args).await?)?);
    }
    Ok(ads)
}

/// Reads the ads of a history of all access points that were written since a time. `more` selects the history, and `written_at` is the
/// attribute with the time at which its ads were written.
pub async fn read_history_ads(
    settings: &HtCondorSettings,
    resources: &ResourceMapping,
    more: &[&str],
    written_at: &str,
    since: Timestamp,
) -> Result<Vec<ClassAd>, RoundFault> {
    let own = jobs::ATTRIBUTES.map(str::to_owned).into_iter().chain([EPOCH_END.to_owned()]);
    let names = attribute_list(own.chain(resources.job_attributes()));
    let older = format!("{written_at} < {}", since.micros() / MICROS_PER_SECOND);
    let mut ads = Vec::new();
    for schedd in settings.schedd_names() {
        let own = ["-json", "-since", &older, "-attributes", &names];
        let args = [schedd_args(schedd), more.to_vec(), own.to_vec()].concat();
        ads.extend(read_ads(programs::HISTORY, &programs::read(programs::HISTORY, &args).await?)?);
    }
    Ok(ads)
}

/// The attribute that the schedd writes when a job leaves the queue.
pub const LEFT_QUEUE: &str = "JobFinishedHookDone";

fn attribute_list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<String>>().join(",")
}

/// Reads the users of the negotiator.
pub async fn read_negotiator_users() -> Result<BTreeMap<String, NegotiatorUser>, RoundFault> {
    read_users(&programs::read(programs::PRIORITIES, &users::ARGS).await?)
}

/// True if HTCondor's own record of usage changes the priority of a user.
pub fn is_charged(user: &NegotiatorUser) -> bool {
    user.real_priority() > MAX_REAL_PRIORITY
}

/// The fault of a half-life with which HTCondor's own record of usage counts beside the factor.
pub fn half_life_obstacle(pool: &PoolSettings) -> Option<RoundFault> {
    let detail = format!("PRIORITY_HALFLIFE is {} seconds, so that usage would count twice", pool.half_life);
    (pool.half_life < LEAST_HALF_LIFE).then(|| RoundFault::new("half_life", detail))
}

/// True if the messages say that the user may not set factors.
fn is_denied(messages: &str) -> bool {
    ["Not an administrator", "PERMISSION DENIED", "not authorized", "DENIED"].iter().any(|part| messages.contains(part))
}

/// True if the messages say that the negotiator does not answer.
fn is_away(messages: &str) -> bool {
    ["Can't locate negotiator", "Can't find address", "failed to connect"].iter().any(|part| messages.contains(part))
}

impl HtCondorConnector {
    pub fn new(settings: HtCondorSettings, pool: PoolSettings, write_run: RunWriter, clock: Arc<dyn Clock>) -> Self {
        let resource_group = settings.common.group_of(&pool.cluster);
        let resources = ResourceMapping::new(settings.resources.clone());
        let (read_ads, charged_users) = (None, Vec::new());
        Self { settings, pool, resource_group, resources, write_run, read_ads, charged_users, clock }
    }

    /// The value as HTCondor gets it. A value that is taken back becomes the default.
    fn factor_of(&self, write: &ValueWrite) -> i64 {
        if write.value == 0 { self.pool.default_factor } else { write.value }
    }

    /// The plan for the order of the server.
    fn plan_order(&self, queue: &CondorQueue, state: &ConnectorState, order: &ServerOrder) -> WritePlan {
        let default_factor = self.pool.default_factor;
        let worst = order.items.iter().filter_map(|item| item.rank).max().unwrap_or(1);
        let mut plan = WritePlan::default();
        let mut planned: BTreeSet<&str> = BTreeSet::new();
        for item in &order.items {
            let Some(principal) = queue.principals.get(&item.workload_id) else { continue };
            if !planned.insert(principal) {
                continue;
            }
            let value = rank_factor(item.rank, worst, default_factor, self.settings.factor_spread);
            let write = ValueWrite { job: principal.clone(), value };
            // A user without a record has the default.
            let has_value = queue.users.get(principal).map_or(value == default_factor, |user| user.has_factor(value));
            if !has_value {
                plan.writes.push(write);
            } else if value != default_factor || state.written.contains_key(principal) {
                plan.kept.push(write);
            }
        }
        // An empty list is no proof that the negotiator has forgotten a user.
        let is_forgotten = |principal: &&String| !queue.users.contains_key(*principal) && !queue.users.is_empty();
        let forgotten = state.written.keys().filter(is_forgotten).filter(|name| !planned.contains(name.as_str()));
        plan.gone = forgotten.cloned().collect();
        plan
    }

    /// The plan that takes back all that was written.
    fn plan_default(&self, queue: &CondorQueue, state: &ConnectorState) -> WritePlan {
        let mut plan = WritePlan::default();
        for principal in state.written.keys() {
            match queue.users.get(principal) {
                Some(user) if !user.has_factor(self.pool.default_factor) => {
                    plan.writes.push(ValueWrite { job: principal.clone(), value: 0 });
                }
                None if queue.users.is_empty() => {}
                _ => plan.gone.push(principal.clone()),
            }
        }
        plan
    }

    fn read_jobs(&self, ads: &[ClassAd]) -> Result<Vec<CondorJob>, RoundFault> {
        ads.iter().map(|ad| CondorJob::read(ad, &self.resources)).collect()
    }
}

impl SchedulerConnector for HtCondorConnector {
    const KIND: &'static str = "htcondor";

    type Queue = CondorQueue;

    async fn read_queue(&mut self, written: &BTreeMap<String, i64>) -> Result<CondorQueue, RoundFault> {
        let ads = match self.read_ads.take() {
            Some(ads) => ads,
            None => read_queue_ads(&self.settings, &self.resources).await?,
        };
        let jobs = self.read_jobs(&ads)?;
        let queue = join_readings(&jobs, read_negotiator_users().await?, self.pool.default_factor, written);
        let waiting: BTreeSet<&String> = queue.principals.values().collect();
        let charged = queue.users.iter().filter(|(name, user)| waiting.contains(name) && is_charged(user));
        self.charged_users = charged.map(|(name, _)| name.clone()).collect();
        Ok(queue)
    }

    async fn read_kernels(&mut self, since: Option<Timestamp>) -> Result<KernelReading, RoundFault> {
        let now = self.clock.now();
        let since = since.unwrap_or_else(|| first_reading(now)).plus_micros(-OVERLAP_MICROS);
        let Self { settings, resources, .. } = &*self;
        // The queue is read first, so that a job that ends in between is in the history as well, and not in neither.
        let queue_ads = read_queue_ads(settings, resources).await?;
        let history = read_history_ads(settings, resources, &[], LEFT_QUEUE, since).await?;
        let epochs = if self.pool.records_runs {
            read_history_ads(settings, resources, &["-epochs"], EPOCH_END, since).await?
        } else {
            Vec::new()
        };
        let mut runs = RunCollection::default();
        let mut reading = KernelReading {
            reports: SpooledReports { complete_until: Some(now), lines: Vec::new() },
            unreadable: Vec::new(),
            unreadable_rows: 0,
        };
        for ad in queue_ads.iter().chain(&history) {
            match runs.add_job(ad, resources) {
                Err(fault) if fault.code == "unreadable_row" => reading.note_unreadable(fault.detail),
                added => added?,
            }
        }
        for ad in &epochs {
            runs.add_epoch(ad, resources)?;
        }
        for run in runs.since(since) {
            if let Err(reason) = (self.write_run)(&run, &self.resource_group, &mut reading.reports.lines) {
                reading.note_unreadable(format!("the run of {}: {reason}", run.job));
            }
        }
        self.read_ads = Some(queue_ads);
        Ok(reading)
    }

    async fn read_agents(&mut self) -> Result<Vec<AgentReport>, RoundFault> {
        let names = machines::ATTRIBUTES.map(str::to_owned).into_iter().chain(self.resources.slot_attributes());
        let args = ["-json", "-attributes", &attribute_list(names)];
        let ads = read_ads(programs::STATUS, &programs::read(programs::STATUS, &args).await?)?;
        let read = read_machines(&ads, &self.resources)?;
        let common = &self.settings.common;
        AgentMemory::note_in(&common.state_dir, read, MAX_MISSING_MICROS, self.clock.now())
            .map_err(|error| common.state_dir_fault(&error))
    }

    async fn read_setup(&mut self) -> Result<(), RoundFault> {
        self.pool = read_pool(&self.settings).await?;
        Ok(())
    }

    /// HTCondor has no tree of people: an accounting group is a name, and its users are those who use it.
    fn take_people_tree(&mut self) -> Option<PeopleTree> {
        None
    }

    fn write_obstacles(&self) -> Vec<RoundFault> {
        let charged = self.charged_users.first().map(|first| {
            let detail = format!(
                "HTCondor's own record of usage counts for {} users who wait, the first of them {first}: \
                 condor_userprio -setprio {first} {LEAST_REAL_PRIORITY}",
                self.charged_users.len()
            );
            RoundFault::new("real_priority", detail)
        });
        half_life_obstacle(&self.pool).into_iter().chain(charged).collect()
    }

    fn plan_writes(&self, queue: &CondorQueue, state: &ConnectorState, aim: WriteAim) -> Result<WritePlan, RoundFault> {
        Ok(match aim {
            WriteAim::Follow(order) => self.plan_order(queue, state, order),
            WriteAim::Fade | WriteAim::Reset => self.plan_default(queue, state),
        })
    }

    async fn write_values(&mut self, writes: &[ValueWrite], per_second: u32) -> Result<WriteResult, RoundFault> {
        let (mut result, mut turns) = (WriteResult::default(), write_turns(per_second));
        let mut failed: Vec<String> = Vec::new();
        for write in writes {
            turns.tick().await;
            let value = self.factor_of(write).to_string();
            let output = programs::run(programs::PRIORITIES, &["-setfactor", &write.job, &value]).await?;
            if output.is_success() {
                result.written += 1;
            } else if is_away(&output.stderr) {
                return Err(RoundFault::new("htcondor_away", output.message()));
            } else if is_denied(&output.stderr) {
                let detail = format!("HTCondor refuses to set factors: {}", output.message());
                result.faults.push(RoundFault::new("administrator_right", detail));
                break;
            } else {
                failed.push(format!("{}: {}", write.job, output.message()));
            }
        }
        if let Some(first) = failed.first() {
            let detail = format!("{} factors could not be set, the first of them that of {first}", failed.len());
            result.faults.push(RoundFault::new("write_failed", detail));
        }
        if result.written > 0 {
            let users = read_negotiator_users().await?;
            let has_value =
                |write: &ValueWrite| users.get(&write.job).is_some_and(|user| user.has_factor(self.factor_of(write)));
            let right = writes.iter().filter(|write| has_value(write)).count() as u64;
            result.read_back_differs = result.written.saturating_sub(right);
        }
        Ok(result)
    }
}
