//! Kueue on Kubernetes: reads its Workloads and queues from the API server, and writes the annotation that Kueue adds to their priority,
//! or the weights of LocalQueues.
//!
//! [`cluster`] has the requests, and [`mirror`] keeps the objects of a kind from reading to reading. [`owners`] finds the owners that
//! Workloads count for, [`queue`] those that may start, and [`runs`] notes those that run. [`boosts`] computes the values of Workloads, [`weights`]
//! has those of LocalQueues, and [`setup`] makes the checks of `--check`.
//!
//! The requests are those of the crate `kube`, which knows kubeconfigs, certificates, tokens that change, and the forms of answers. Its
//! runtime is left out: its watcher keeps a connection open and brings changes at any time, whereas a round has to know that it has
//! read all that there is, or that it has not.

pub mod amounts;
pub mod boosts;
pub mod cluster;
pub mod mirror;
pub mod nodes;
pub mod objects;
pub mod owners;
pub mod queue;
pub mod runs;
pub mod settings;
pub mod setup;
pub mod weights;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::agents::AgentReport;
use api::people_tree::PeopleTree;
use api::sequence::{ServerOrder, WorkloadPlace};
use domain::clock::Clock;
use domain::connectors::ConnectorMode;
use domain::time::Timestamp;

use amounts::QuantityMapping;
use boosts::{BoostedWorkload, order_boosts, rank_boosts};
use cluster::{BoostGate, KueueCluster, MAX_WRITE_ATTEMPTS, MISSING_RIGHT, RequestFailure, WriteEnd};
use mirror::ResourceMirror;
use objects::{ClusterQueue, KueueWorkload, LocalQueue, WorkloadFacts};
use owners::QueueDirectory;
use queue::{KueueQueue, ShownWorkload, WorkloadStage, read_queue};
use runs::RunLog;
use settings::KueueSettings;
use weights::memory::shown_weight;
use weights::{QueueWeights, queue_of_write};

use super::agent_memory::AgentMemory;
use super::fault::RoundFault;
use super::group_weights::GroupWeights;
use super::report_spool::SpooledReports;
use super::scheduler::{KernelReading, SchedulerConnector, ValueWrite, WriteAim, WritePlan, WriteResult};
use super::scheduler_run::RunWriter;
use super::state_file::ConnectorState;
use super::write_turns::write_turns;

/// The longest time from the reading of the runs to that of the queue for which one reading serves both. A server that takes its time
/// with reports lies between them, and an order of old Workloads would be of no use.
const MAX_READING_AGE: Duration = Duration::from_secs(30);
/// A node that is not listed is gone, because a list has all nodes.
const MAX_MISSING_MICROS: i64 = 0;

/// Kueue, beside which the connector stands.
pub struct KueueConnector {
    settings: KueueSettings,
    cluster: KueueCluster,
    mapping: QuantityMapping,
    resource_group: String,
    write_run: RunWriter,
    workloads: ResourceMirror<KueueWorkload>,
    local_queues: ResourceMirror<LocalQueue>,
    cluster_queues: ResourceMirror<ClusterQueue>,
    runs: RunLog,
    /// The steady time of a reading of the runs, which has read the objects for the queue of the same round as well.
    read_at: Option<Duration>,
    /// The feature gate of the boost; `None` until it was tried.
    gate: Option<BoostGate>,
    weights: QueueWeights,
    clock: Arc<dyn Clock>,
}

/// A write that the API server has taken.
struct TakenWrite<'w> {
    write: &'w ValueWrite,
    /// The value as the object is to have it; `None`: it is to have none.
    text: Option<String>,
}

impl KueueConnector {
    /// Connects to the cluster, and reads the runs that were noted before.
    pub async fn start(
        settings: KueueSettings,
        write_run: RunWriter,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, RoundFault> {
        let common = &settings.common;
        let runs = RunLog::load(&common.state_dir).map_err(|error| common.state_dir_fault(&error))?;
        let weights = QueueWeights::load(&common.state_dir).map_err(|error| common.state_dir_fault(&error))?;
        let cluster = KueueCluster::connect(&settings).await?;
        Ok(Self {
            mapping: QuantityMapping::new(settings.resources.clone()),
            resource_group: settings.common.group_of(settings.cluster_name()),
            settings,
            cluster,
            write_run,
            workloads: ResourceMirror::default(),
            local_queues: ResourceMirror::default(),
            cluster_queues: ResourceMirror::default(),
            runs,
            read_at: None,
            gate: None,
            weights,
            clock,
        })
    }

    /// Reads all changes of the objects, and notes the runs that begin or end by them.
    async fn refresh(&mut self) -> Result<(), RoundFault> {
        self.cluster.renew_login().await?;
        let Self { cluster, workloads, local_queues, cluster_queues, .. } = self;
        let cluster = &*cluster;
        let (jobs, locals, clusters) = (cluster.workloads(), cluster.local_queues(), cluster.cluster_queues());
        let read = tokio::join!(
            workloads.refresh(cluster, &jobs),
            local_queues.refresh(cluster, &locals),
            cluster_queues.refresh(cluster, &clusters),
        );
        let read = read.0.and(read.1).and(read.2);
        if !(local_queues.is_listed() && cluster_queues.is_listed()) {
            // Owners follow from the queues, so that the Workloads are listed again once these are known.
            workloads.forget();
            return read;
        }
        // Runs begin and end only by changes of Workloads.
        drop((local_queues.take_changes(), cluster_queues.take_changes()));
        let changes = workloads.take_changes();
        let has_changes = !changes.is_empty();
        let directory = QueueDirectory {
            settings: &self.settings,
            local_queues: &self.local_queues.objects,
            cluster_queues: &self.cluster_queues.objects,
        };
        let (workloads, now) = (&self.workloads.objects, self.clock.now());
        self.runs.note_reading(changes, workloads, directory, &self.mapping, read.is_ok(), now);
        if has_changes {
            let common = &self.settings.common;
            self.runs.save(&common.state_dir).map_err(|error| common.state_dir_fault(&error))?;
        }
        read
    }

    fn directory(&self) -> QueueDirectory<'_> {
        QueueDirectory {
            settings: &self.settings,
            local_queues: &self.local_queues.objects,
            cluster_queues: &self.cluster_queues.objects,
        }
    }

    /// Tries whether Kueue reads the boost, if that is not known and there is a Workload to try it on.
    async fn try_gate(&mut self) {
        if !matches!(self.gate, Some(BoostGate::On | BoostGate::Off))
            && let Some(workload) = gate_candidate(&self.workloads.objects)
        {
            self.gate = Some(self.cluster.boost_gate(workload).await);
        }
    }

    /// The boosts that follow an order, in the order of the front first.
    fn wanted_boosts(&self, queue: &KueueQueue, order: &ServerOrder) -> Vec<(String, i64)> {
        let item = |item: &WorkloadPlace| {
            let shown = queue.shown.get(&item.workload_id).filter(|shown| shown.takes_values)?;
            Some(BoostedWorkload {
                key: item.workload_id.clone(),
                priority: shown.priority,
                boost: shown.boost.unwrap_or_default(),
                rank: item.rank,
            })
        };
        let sequence: Vec<BoostedWorkload> = order.items.iter().filter_map(item).collect();
        let (priorities, boost_max) = (queue.priorities(), self.settings.boost_max);
        if self.settings.common.mode == ConnectorMode::Factor {
            return rank_boosts(&sequence, &priorities, boost_max);
        }
        let head = usize::try_from(self.settings.common.head).unwrap_or(usize::MAX);
        order_boosts(sequence, &priorities, head, boost_max)
    }

    /// Adds wanted boosts to a plan: those that differ, and then what is taken away.
    fn plan_boosts(
        mut plan: WritePlan,
        queue: &KueueQueue,
        state: &ConnectorState,
        wanted: Vec<(String, i64)>,
        resets_all: bool,
    ) -> WritePlan {
        let mut planned: BTreeSet<String> = BTreeSet::new();
        for (job, value) in wanted {
            let has_value = queue.shown.get(&job).is_some_and(|shown| shown.boost == Some(value));
            planned.insert(job.clone());
            let list = if has_value { &mut plan.kept } else { &mut plan.writes };
            list.push(ValueWrite { job, value });
        }
        // An admitted Workload keeps its boost, so that it has one if it has to wait again.
        let takes_away = |shown: &ShownWorkload| resets_all || shown.stage == WorkloadStage::Pending;
        for (job, shown) in queue.shown.iter().filter(|(job, _)| !planned.contains(*job)) {
            if shown.is_ours && shown.has_annotation && takes_away(shown) {
                plan.writes.push(ValueWrite { job: job.clone(), value: 0 });
            }
        }
        let is_gone = |job: &&String| {
            let shown = queue.shown.get(*job).filter(|shown| shown.stage != WorkloadStage::Finished);
            !planned.contains(*job) && shown.is_none_or(|shown| !shown.has_annotation || !shown.is_ours)
        };
        let stays: BTreeSet<&str> = plan.writes.iter().chain(&plan.kept).map(|write| &*write.job).collect();
        let gone = state.written.keys().filter(is_gone).filter(|job| !stays.contains(job.as_str()));
        plan.gone = gone.cloned().collect();
        plan
    }

    /// Writes one boost. A Workload that has changed since it was read is read again, and left alone if it does not wait any more.
    async fn write_boost(&self, write: &ValueWrite) -> WriteEnd {
        let Some(mut workload) = self.workloads.objects.get(&write.job).cloned() else {
            return WriteEnd::Superfluous;
        };
        let (known, boost) = (workload.boost_text().map(str::to_owned), Some(write.value).filter(|value| *value != 0));
        for _ in 0..MAX_WRITE_ATTEMPTS {
            match self.cluster.write_boost(&workload, boost).await {
                Ok(_) => return WriteEnd::Written,
                Err(RequestFailure::Missing) => return WriteEnd::Superfluous,
                Err(RequestFailure::Conflict) => {}
                Err(failure) => return WriteEnd::Failed(failure),
            }
            workload = match self.cluster.workload(&write.job).await {
                Ok(workload) => workload,
                Err(RequestFailure::Missing) => return WriteEnd::Superfluous,
                Err(failure) => return WriteEnd::Failed(failure),
            };
            let is_waiting = !workload.has_quota() && !workload.is_finished();
            let is_changed = workload.boost_text() != known.as_deref() && !workload.is_boost_ours(false);
            if is_changed || (boost.is_some() && !is_waiting) {
                return WriteEnd::Superfluous;
            }
        }
        WriteEnd::Failed(RequestFailure::Conflict)
    }

    /// The value that an object is to have after a write.
    fn text_after(&self, write: &ValueWrite) -> Option<String> {
        match queue_of_write(write) {
            Some(key) => self.weights.text_after(&self.local_queues.objects, key, write.value),
            None => (write.value != 0).then(|| write.value.to_string()),
        }
    }

    /// The number of writes that are shown otherwise than they were written. Workloads and LocalQueues that have gone, and Workloads that
    /// have finished, are left out.
    fn differing(&self, writes: &[TakenWrite<'_>]) -> u64 {
        let differs = |TakenWrite { write, text }: &&TakenWrite<'_>| {
            let shown = if let Some(key) = queue_of_write(write) {
                self.local_queues.objects.get(key).map(shown_weight)
            } else {
                let workload = self.workloads.objects.get(&write.job).filter(|workload| !workload.is_finished());
                workload.map(|workload| workload.boost_text().map(str::to_owned))
            };
            shown.is_some_and(|shown| shown != *text)
        };
        writes.iter().filter(differs).count() as u64
    }
}

/// A Workload on which it can be tried whether Kueue reads the boost.
pub fn gate_candidate(workloads: &BTreeMap<String, KueueWorkload>) -> Option<&KueueWorkload> {
    let unfinished = || workloads.values().filter(|workload| !workload.is_finished());
    unfinished().find(|workload| !workload.has_quota()).or_else(|| unfinished().next())
}

/// The fault of a Kueue that does not read the boost.
pub fn gate_obstacle(gate: &BoostGate) -> Option<RoundFault> {
    match gate {
        BoostGate::On => None,
        BoostGate::Off => {
            let detail = "the feature gate PriorityBoost of Kueue is off, so that it ignores boosts";
            Some(RoundFault::new("priority_boost_gate", detail))
        }
        BoostGate::Unproven(fault) => Some(fault.clone()),
    }
}

impl SchedulerConnector for KueueConnector {
    const KIND: &'static str = "kueue";

    type Queue = KueueQueue;

    async fn read_queue(&mut self, written: &BTreeMap<String, i64>) -> Result<KueueQueue, RoundFault> {
        let age = self.read_at.take().map(|read_at| self.clock.steady().saturating_sub(read_at));
        if age.is_none_or(|age| age > MAX_READING_AGE) {
            self.refresh().await?;
        }
        let mode = self.settings.common.mode;
        if matches!(mode, ConnectorMode::Factor | ConnectorMode::Order) {
            self.try_gate().await;
        }
        let workloads = &self.workloads.objects;
        let mut queue = read_queue(workloads, self.directory(), &self.mapping, written, self.clock.now());
        if mode == ConnectorMode::Weights {
            queue.count_fixed(self.weights.count_changed(&self.local_queues.objects));
        }
        Ok(queue)
    }

    async fn read_kernels(&mut self, since: Option<Timestamp>) -> Result<KernelReading, RoundFault> {
        self.refresh().await?;
        self.read_at = Some(self.clock.steady());
        let Self { runs, settings, resource_group, write_run, .. } = self;
        let mut reading = KernelReading {
            reports: SpooledReports { complete_until: runs.read_at(), lines: Vec::new() },
            unreadable: Vec::new(),
            unreadable_rows: 0,
        };
        for run in runs.take_since(since) {
            if let Err(reason) = write_run(run, resource_group, &mut reading.reports.lines) {
                reading.note_unreadable(format!("the run of {}: {reason}", run.job));
            }
        }
        runs.save(&settings.common.state_dir).map_err(|error| settings.common.state_dir_fault(&error))?;
        Ok(reading)
    }

    async fn read_agents(&mut self) -> Result<Vec<AgentReport>, RoundFault> {
        let (nodes, flavors) = (self.cluster.nodes(), self.cluster.flavors());
        let (nodes, flavors) = tokio::join!(self.cluster.list(&nodes), self.cluster.list(&flavors));
        let (nodes, _) = nodes.map_err(RequestFailure::into_fault)?;
        let (flavors, _) = flavors.map_err(RequestFailure::into_fault)?;
        let read = nodes::agents(&nodes, &flavors, &self.mapping);
        let common = &self.settings.common;
        AgentMemory::note_in(&common.state_dir, read, MAX_MISSING_MICROS, self.clock.now())
            .map_err(|error| common.state_dir_fault(&error))
    }

    /// Lets the next reading of the queue try again whether Kueue reads the boost and takes weights, and finds the version of Kueue's API, which an upgrade
    /// may have taken away.
    async fn read_setup(&mut self) -> Result<(), RoundFault> {
        self.gate = None;
        self.weights.forget_obstacle();
        let version = self.cluster.find_version().await?;
        if version != self.cluster.version {
            self.cluster.version = version;
            self.workloads.forget();
            self.local_queues.forget();
            self.cluster_queues.forget();
        }
        Ok(())
    }

    /// Kueue has no tree of people.
    fn take_people_tree(&mut self) -> Option<PeopleTree> {
        None
    }

    fn take_group_weights(&mut self, weights: GroupWeights) {
        self.weights.set_group(weights);
    }

    fn write_obstacles(&self) -> Vec<RoundFault> {
        self.gate.as_ref().and_then(gate_obstacle).into_iter().chain(self.weights.obstacle().cloned()).collect()
    }

    fn plan_writes(&self, queue: &KueueQueue, state: &ConnectorState, aim: WriteAim) -> Result<WritePlan, RoundFault> {
        // A mode takes back what another one has written.
        let (mut boosts, mut weights) = (Vec::new(), BTreeMap::new());
        match aim {
            WriteAim::Follow(_) if self.settings.common.mode == ConnectorMode::Weights => {
                weights = self.weights.wanted(self.directory());
            }
            WriteAim::Follow(order) => boosts = self.wanted_boosts(queue, order),
            WriteAim::Fade | WriteAim::Reset => {}
        }
        let plan = self.weights.plan(&self.local_queues.objects, &weights);
        Ok(Self::plan_boosts(plan, queue, state, boosts, matches!(aim, WriteAim::Reset)))
    }

    async fn write_values(&mut self, writes: &[ValueWrite], per_second: u32) -> Result<WriteResult, RoundFault> {
        let (mut result, mut turns) = (WriteResult::default(), write_turns(per_second));
        let (mut written, mut failed): (Vec<TakenWrite<'_>>, Vec<String>) = (Vec::new(), Vec::new());
        let disk_fault = |error: std::io::Error| self.settings.common.state_dir_fault(&error);
        let (queues, folder) = (&self.local_queues.objects, &self.settings.common.state_dir);
        self.weights.note_writes(writes, queues, folder).map_err(disk_fault)?;
        for write in writes {
            turns.tick().await;
            let text = self.text_after(write);
            let end = match queue_of_write(write) {
                Some(key) => self.weights.write(&self.cluster, &self.local_queues.objects, key, write.value).await,
                None => self.write_boost(write).await,
            };
            match end {
                WriteEnd::Written => written.push(TakenWrite { write, text }),
                WriteEnd::Superfluous => {}
                WriteEnd::Failed(RequestFailure::Denied(message)) => {
                    let kind = if queue_of_write(write).is_some() { "LocalQueues" } else { "Workloads" };
                    let detail = format!("Kubernetes refuses to write to {kind}: {message}");
                    result.faults.push(RoundFault::new(MISSING_RIGHT, detail));
                    break;
                }
                WriteEnd::Failed(RequestFailure::Other(fault)) => {
                    result.faults.push(fault);
                    break;
                }
                WriteEnd::Failed(failure) => failed.push(format!("{}: {}", write.job, failure.into_fault().detail)),
            }
            // One weight that was dropped is enough to know.
            if let Some(obstacle) = self.weights.obstacle() {
                result.faults.push(obstacle.clone());
                break;
            }
        }
        if let Some(first) = failed.first() {
            let detail = format!("{} values could not be written, the first of them that of {first}", failed.len());
            result.faults.push(RoundFault::new("write_failed", detail));
        }
        if written.iter().any(|taken| queue_of_write(taken.write).is_some()) {
            result.faults.extend(self.weights.save(folder).map_err(disk_fault).err());
        }
        result.written = written.len() as u64;
        if !written.is_empty() {
            match self.refresh().await {
                Ok(()) => result.read_back_differs = self.differing(&written),
                Err(fault) => result.faults.push(fault),
            }
        }
        Ok(result)
    }
}
