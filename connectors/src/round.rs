//! One round of a connector: read the queue, report what runs, ask for the order, and write the values that differ.
//!
//! A round writes only if every step before it has succeeded, and the state on disk names what is written before the first
//! write. An accounting that is away does not end a round: the order is then of what the server knows.
//! A fault ends the steps that depend on it, and is part of the outcome; the next round begins from the beginning.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use api::people_tree::{PeopleTree, PinnedValue, TreeAnswer};
use api::sequence::{OrderRequest, ServerOrder, WorkloadRow};
use domain::clock::Clock;
use domain::connectors::ConnectorMode;
use domain::time::{MICROS_PER_DAY, Timestamp};

use super::fault::RoundFault;
use super::group_weights::GroupWeights;
use super::outcome::RoundOutcome;
use super::report_spool::{ReportSpool, SpooledReports};
use super::scheduler::{QueueReading, SchedulerConnector, WriteAim, WritePlan};
use super::server::{FairShareServer, ServerFailure};
use super::state_file::ConnectorState;

/// The longest time that the accounting is read again because of rows that were not taken. Without a bound, one row that can never
/// be taken would make each reading longer than the one before.
const MAX_REREAD_MICROS: i64 = MICROS_PER_DAY;
/// The number of readings in a row that miss rows from which on the rounds write without these rows.
const LASTING_READINGS: u32 = 2;

/// The settings of rounds that all connectors share.
#[derive(Clone, Debug)]
pub struct RoundSettings {
    pub mode: ConnectorMode,
    pub resource_group: String,
    pub cluster: String,
    /// The number of jobs that are ordered and compared.
    pub head: u32,
    pub max_writes: u32,
    pub writes_per_second: u32,
    pub accounting_interval: Duration,
    pub nodes_interval: Duration,
    pub tree_interval: Duration,
    /// How long the server may be away until values fade; `None`: they stay.
    pub stale_after: Option<Duration>,
    pub state_dir: PathBuf,
    pub spool_max_bytes: u64,
}

/// The times from which on what is not read in every round is read again.
#[derive(Default)]
struct DueReadings {
    setup: Duration,
    kernels: Duration,
    agents: Duration,
}

/// The faults of the last reading of each kind. They stay with the rounds until the next one, because a round in which a reading is not
/// due has not seen that its fault has gone.
#[derive(Default)]
struct ReadingFaults {
    setup: Vec<RoundFault>,
    tree: Vec<RoundFault>,
    kernels: Vec<RoundFault>,
    /// The faults of rows that the server has refused.
    reports: Vec<RoundFault>,
    agents: Vec<RoundFault>,
}

/// The bounds of the writes of one round.
#[derive(Clone, Copy)]
struct WriteBounds {
    writes: usize,
    per_second: u32,
}

impl WriteBounds {
    const NONE: Self = Self { writes: usize::MAX, per_second: u32::MAX };
}

/// A connector between its rounds.
pub struct RoundRunner<C, F> {
    scheduler: C,
    server: F,
    clock: Arc<dyn Clock>,
    settings: RoundSettings,
    state: ConnectorState,
    spool: ReportSpool,
    due: DueReadings,
    faults: ReadingFaults,
    /// True if the key may set agents and bring the tree of people; `None` until the server has answered.
    has_full_rights: Option<bool>,
    /// The tree of people that the server does not have yet.
    waiting_tree: Option<PeopleTree>,
    /// False once the server or the key was found not to take trees.
    brings_trees: bool,
    /// The number of values that admins have set beside the last tree.
    pinned_values: usize,
    /// The revision of the group whose weights the scheduler has.
    weights_revision: Option<String>,
    /// True while the server compares orders and keeps the status, as far as is known.
    compares_orders: bool,
    keeps_status: bool,
    /// The code of the fault for which the last status was not stored.
    status_fault: Option<String>,
}

impl<C: SchedulerConnector, F> RoundRunner<C, F> {
    pub fn new(scheduler: C, server: F, clock: Arc<dyn Clock>, settings: RoundSettings) -> std::io::Result<Self> {
        let state = ConnectorState::load(&settings.state_dir)?;
        let spool = ReportSpool::new(&settings.state_dir, settings.spool_max_bytes);
        let due = DueReadings::default();
        Ok(Self {
            scheduler,
            server,
            clock,
            settings,
            state,
            spool,
            due,
            faults: ReadingFaults::default(),
            has_full_rights: None,
            waiting_tree: None,
            brings_trees: true,
            pinned_values: 0,
            weights_revision: None,
            compares_orders: true,
            keeps_status: true,
            status_fault: None,
        })
    }

    fn save_state(&self) -> Result<(), RoundFault> {
        self.state.save(&self.settings.state_dir).map_err(|error| self.disk_fault(&error))
    }

    fn disk_fault(&self, error: &std::io::Error) -> RoundFault {
        RoundFault::new("state_dir", format!("cannot use {}: {error}", self.settings.state_dir.display()))
    }

    /// Writes the values that differ from the aim, within the bounds.
    async fn write_values(
        &mut self,
        queue: &C::Queue,
        aim: WriteAim<'_>,
        bounds: WriteBounds,
        outcome: &mut RoundOutcome,
    ) -> Result<(), RoundFault> {
        let plan = self.scheduler.plan_writes(queue, &self.state, aim)?;
        let count = plan.bounded_count(bounds.writes);
        let WritePlan { mut writes, kept, gone, .. } = plan;
        outcome.wanted_writes = writes.len() as u64;
        outcome.left = writes.len().saturating_sub(count) as u64;
        writes.truncate(count);
        for job in gone {
            self.state.written.remove(&job);
        }
        for write in writes.iter().chain(&kept) {
            // A value that is taken back stays in the state until it was written.
            if write.value != 0 {
                self.state.written.insert(write.job.clone(), write.value);
            }
        }
        self.save_state()?;
        if writes.is_empty() {
            return Ok(());
        }
        let result = self.scheduler.write_values(&writes, bounds.per_second).await?;
        outcome.written = result.written;
        outcome.read_back_differs = result.read_back_differs;
        let mut faults = result.faults;
        if result.read_back_differs > 0 {
            let detail = format!("{} values differ from those that were written", result.read_back_differs);
            faults.push(RoundFault::new("read_back_differs", detail));
        }
        // After a fault it is not known which values were taken back, so that the state keeps all of them.
        if faults.is_empty() {
            for write in writes.iter().filter(|write| write.value == 0) {
                self.state.written.remove(&write.job);
            }
        }
        outcome.errors.extend(faults);
        self.save_state()
    }

    /// Takes back everything that was ever written, without bounds and without the server.
    pub async fn reset(&mut self) -> RoundOutcome {
        let start = self.clock.steady();
        let mut outcome = RoundOutcome { mode: self.settings.mode, ..RoundOutcome::default() };
        let taken = async {
            let queue = self.scheduler.read_queue(&self.state.written).await?;
            outcome.counts = queue.counts();
            self.write_values(&queue, WriteAim::Reset, WriteBounds::NONE, &mut outcome).await
        };
        if let Err(fault) = taken.await {
            outcome.errors.push(fault);
        }
        outcome.seconds = self.clock.steady().saturating_sub(start).as_secs_f64();
        outcome
    }
}

impl<C: SchedulerConnector, F: FairShareServer> RoundRunner<C, F> {
    /// Runs one round. Faults are part of the outcome.
    pub async fn run(&mut self) -> RoundOutcome {
        let start = self.clock.steady();
        let mut outcome = RoundOutcome { mode: self.settings.mode, ..RoundOutcome::default() };
        if let Err(fault) = self.take_steps(&mut outcome).await {
            outcome.errors.push(fault);
        }
        outcome.seconds = self.clock.steady().saturating_sub(start).as_secs_f64();
        self.send_status(&outcome).await;
        outcome
    }

    async fn take_steps(&mut self, outcome: &mut RoundOutcome) -> Result<(), RoundFault> {
        let now = self.clock.steady();
        if now >= self.due.setup {
            let read = self.scheduler.read_setup().await;
            self.due.setup = now + self.next_reading(self.settings.tree_interval, &read);
            self.waiting_tree = self.scheduler.take_people_tree().or(self.waiting_tree.take());
            self.faults.setup = read.err().into_iter().collect();
        }
        outcome.errors.extend_from_slice(&self.faults.setup);
        if now >= self.due.kernels {
            let read = self.scheduler.read_kernels(self.state.delivered_until).await;
            self.due.kernels = now + self.settings.accounting_interval;
            self.faults.kernels = match read {
                Ok(reading) => {
                    outcome.rejected += reading.unreadable_rows;
                    let mut faults = reading.unreadable;
                    // A reading that is not kept does not keep the reports that wait from being sent.
                    match self.keep_reports(&reading.reports) {
                        Ok(()) => {
                            self.state.unreadable_rows = reading.unreadable_rows;
                            faults.extend(self.save_state().err());
                        }
                        Err(fault) => faults.push(fault),
                    }
                    faults
                }
                Err(fault) => vec![fault],
            };
        }
        outcome.errors.extend_from_slice(&self.faults.kernels);
        // Runs are reported even if the queue cannot be read.
        let reported = self.send_reports(outcome).await;
        let queue = self.scheduler.read_queue(&self.state.written).await?;
        outcome.counts = queue.counts();
        let answer = match reported {
            Ok(()) => self.order_queue(&queue, outcome).await,
            Err(failure) => Err(failure),
        };
        let order = match answer {
            Ok(order) => order,
            Err(ServerFailure::Away(detail)) => {
                outcome.errors.push(RoundFault::new("server_away", detail));
                return self.fade_values(&queue, outcome).await;
            }
            Err(refused) => return Err(refused.into_fault()),
        };
        self.state.server_answered_at = Some(self.clock.now());
        self.save_state()?;
        if self.settings.mode == ConnectorMode::Shadow {
            return Ok(());
        }
        if self.settings.mode == ConnectorMode::Weights {
            self.read_weights().await.map_err(ServerFailure::into_fault)?;
        }
        let mut obstacles = self.scheduler.write_obstacles();
        let missing = self.missing_rows();
        let is_stopped = !obstacles.is_empty() || (missing.is_some() && !self.are_missing_for_good());
        obstacles.extend(missing);
        outcome.errors.extend(obstacles);
        if is_stopped {
            return Ok(());
        }
        self.write_values(&queue, WriteAim::Follow(&order), self.write_bounds(), outcome).await
    }

    /// The fault of rows of the last reading that the server does not have, which mean that the order is of other usage than the
    /// scheduler's.
    fn missing_rows(&self) -> Option<RoundFault> {
        let ConnectorState { unreadable_rows, refused_rows, .. } = self.state;
        let consequence =
            if self.are_missing_for_good() { "the order is made without them" } else { "nothing is written" };
        let detail = format!(
            "of the last reading of the accounting, {unreadable_rows} rows could not be read and the server refused {refused_rows}: {consequence}"
        );
        (unreadable_rows + refused_rows > 0).then(|| RoundFault::new("missing_rows", detail))
    }

    /// True if a later reading misses rows as well. The refusal of a row may pass, as when the server learns of its owner in between,
    /// and one more reading is waited for. A row that is refused again stays so, and must not stop the order of all others.
    fn are_missing_for_good(&self) -> bool {
        self.state.missing_readings >= LASTING_READINGS
    }

    /// The beginning of the next reading after one that reached until `read_until`. Rows that were not taken are read again for as long
    /// as [`MAX_REREAD_MICROS`].
    fn delivered_until(&self, read_until: Timestamp) -> Timestamp {
        if self.missing_rows().is_none() {
            return read_until;
        }
        let earliest = read_until.plus_micros(-MAX_REREAD_MICROS);
        self.state.delivered_until.map_or(earliest, |until| until.max(earliest))
    }

    /// The time until a reading is made again. One that failed is made again sooner, and not in every round, because programs may take
    /// minutes to reach a daemon that is away.
    fn next_reading<T>(&self, interval: Duration, read: &Result<T, RoundFault>) -> Duration {
        if read.is_ok() { interval } else { interval.min(self.settings.accounting_interval) }
    }

    /// Brings the tree of people, reports what waits, and sets agents. The tree comes first, because reports count for the domains in
    /// which it has the projects.
    async fn send_reports(&mut self, outcome: &mut RoundOutcome) -> Result<(), ServerFailure> {
        let brought = self.bring_tree(outcome).await;
        if brought.is_err() {
            // The reports are not tried, and wait as well.
            let waiting = self.spool.load().map_err(|error| refused_by_disk(self.disk_fault(&error)))?;
            outcome.spooled = waiting.map_or(0, |waiting| waiting.count());
        }
        brought?;
        self.deliver_reports(outcome).await?;
        self.report_agents(outcome).await
    }

    fn keep_reports(&self, reports: &SpooledReports) -> Result<(), RoundFault> {
        if self.spool.replace(reports).map_err(|error| self.disk_fault(&error))? {
            return Ok(());
        }
        let detail = "the reports that wait are larger than spool_max_mb; the accounting is read again later";
        Err(RoundFault::new("spool_full", detail))
    }

    /// Sends the reports that wait. They stay if the server is away or refuses all of them.
    async fn deliver_reports(&mut self, outcome: &mut RoundOutcome) -> Result<(), ServerFailure> {
        let waiting = self.spool.load().map_err(|error| refused_by_disk(self.disk_fault(&error)))?;
        let Some(waiting) = waiting else {
            outcome.errors.extend_from_slice(&self.faults.reports);
            return Ok(());
        };
        let count = waiting.count();
        let SpooledReports { complete_until, lines } = waiting;
        let (mut refused_rows, mut reasons) = (0, Vec::new());
        if count > 0 {
            outcome.spooled = count;
            let answer = self.server.report_kernels(&self.settings.resource_group, lines).await?;
            outcome.spooled = 0;
            outcome.reported = count.saturating_sub(answer.rejected);
            outcome.rejected += answer.rejected;
            refused_rows = answer.rejected.saturating_sub(answer.too_old);
            reasons = answer.reasons;
        }
        outcome.errors.extend_from_slice(&reasons);
        self.faults.reports = reasons;
        self.state.refused_rows = refused_rows;
        let is_missing = refused_rows + self.state.unreadable_rows > 0;
        self.state.missing_readings = if is_missing { self.state.missing_readings.saturating_add(1) } else { 0 };
        if let Some(read_until) = complete_until {
            self.state.delivered_until = Some(self.delivered_until(read_until));
        }
        self.save_state().map_err(refused_by_disk)?;
        self.spool.clear().map_err(|error| refused_by_disk(self.disk_fault(&error)))
    }

    /// True if the key may set agents and bring the tree of people.
    async fn has_full_rights(&mut self) -> Result<bool, ServerFailure> {
        let known = match self.has_full_rights {
            Some(known) => known,
            None => self.server.key_rights().await?.is_of_connector(),
        };
        self.has_full_rights = Some(known);
        Ok(known)
    }

    /// Brings the tree of people that waits, if the key may. A tree that is refused does not end the round: reports and orders go on
    /// with the people that the server has.
    async fn bring_tree(&mut self, outcome: &mut RoundOutcome) -> Result<(), ServerFailure> {
        if !self.brings_trees || self.waiting_tree.is_none() {
            outcome.errors.extend_from_slice(&self.faults.tree);
            return Ok(());
        }
        if !self.has_full_rights().await? {
            tracing::warn!("the key may not bring the tree of people, which needs the role connector");
            self.brings_trees = false;
            return Ok(());
        }
        let Some(tree) = self.waiting_tree.take() else { return Ok(()) };
        let answer = self.server.put_people_tree(&tree).await;
        self.faults.tree.clear();
        match answer {
            Ok(answer) => self.log_tree(&answer),
            Err(ServerFailure::Refused { code, detail }) if code == "unknown_path" => {
                tracing::warn!(detail, "the server takes no tree of people");
                self.brings_trees = false;
            }
            Err(refused @ ServerFailure::Refused { .. }) => {
                let fault = refused.into_fault();
                outcome.errors.push(fault.clone());
                self.faults.tree.push(fault);
            }
            Err(away) => {
                self.waiting_tree = Some(tree);
                return Err(away);
            }
        }
        Ok(())
    }

    fn log_tree(&mut self, answer: &TreeAnswer) {
        let TreeAnswer { set, unset, moved, created, pinned } = answer;
        if set + unset + moved + created > 0 {
            tracing::info!(set, unset, moved, created, "the tree of people has changed");
        }
        // The same values stay in each round.
        if pinned.len() != self.pinned_values {
            for PinnedValue { target_id, target_name, key, from, to } in pinned {
                let target = target_name.as_ref().unwrap_or(target_id);
                tracing::warn!(target, key, ?from, ?to, "a value that was set by hand stays");
            }
            self.pinned_values = pinned.len();
        }
    }

    /// Reads the weights of the group if they may have changed, and gives them to the scheduler.
    async fn read_weights(&mut self) -> Result<(), ServerFailure> {
        let known = self.weights_revision.as_deref();
        if let Some((weights, revision)) =
            GroupWeights::read(&self.server, &self.settings.resource_group, known).await?
        {
            self.scheduler.take_group_weights(weights);
            self.weights_revision = Some(revision);
        }
        Ok(())
    }

    /// Sets the agents, if the key may.
    async fn report_agents(&mut self, outcome: &mut RoundOutcome) -> Result<(), ServerFailure> {
        let now = self.clock.steady();
        if now < self.due.agents {
            outcome.errors.extend_from_slice(&self.faults.agents);
            return Ok(());
        }
        let mut read = Ok(());
        if self.has_full_rights().await? {
            match self.scheduler.read_agents().await {
                Ok(agents) => self.server.put_agents(&self.settings.resource_group, &agents).await?,
                Err(fault) => read = Err(fault),
            }
        }
        self.due.agents = now + self.next_reading(self.settings.nodes_interval, &read);
        self.faults.agents = read.err().into_iter().collect();
        outcome.errors.extend_from_slice(&self.faults.agents);
        Ok(())
    }

    /// Asks for the order of the jobs that may start.
    async fn order_queue(
        &mut self,
        queue: &C::Queue,
        outcome: &mut RoundOutcome,
    ) -> Result<ServerOrder, ServerFailure> {
        let eligible = queue.eligible();
        // The mode `factor` needs the ranks of all owners, and a head of several tiers may have jobs from the end of the order.
        let is_limited = self.settings.mode != ConnectorMode::Factor && !queue.has_several_tiers();
        let limit = is_limited.then_some(self.settings.head.max(1));
        let current_order = || eligible.iter().map(|workload| &*workload.workload_id).collect();
        let mut request = OrderRequest {
            workloads: eligible.iter().map(WorkloadRow::from).collect(),
            limit,
            current_order: self.compares_orders.then(current_order),
        };
        let group = &self.settings.resource_group;
        let mut answer = self.server.order_workloads(group, &request).await;
        if let Err(ServerFailure::Refused { code, detail }) = &answer
            && request.current_order.is_some()
            && detail.contains("current_order")
        {
            tracing::info!(code, detail, "the server compares no orders");
            self.compares_orders = false;
            request.current_order = None;
            answer = self.server.order_workloads(group, &request).await;
        }
        let order = answer?;
        if let Some(agreement) = &order.agreement {
            outcome.compared = Some(agreement.compared as u64);
            outcome.same_place = Some(agreement.same_place as u64);
            outcome.kendall_tau = agreement.kendall_tau;
        }
        Ok(order)
    }

    /// Takes values back while the server is away, if that is set and it has been away for long.
    async fn fade_values(&mut self, queue: &C::Queue, outcome: &mut RoundOutcome) -> Result<(), RoundFault> {
        let Some(stale_after) = self.settings.stale_after.filter(|_| self.settings.mode != ConnectorMode::Shadow)
        else {
            return Ok(());
        };
        let now = self.clock.now();
        let answered_at = *self.state.server_answered_at.get_or_insert(now);
        let away_micros = u64::try_from(now.micros() - answered_at.micros()).unwrap_or_default();
        if Duration::from_micros(away_micros) < stale_after {
            return self.save_state();
        }
        self.write_values(queue, WriteAim::Fade, self.write_bounds(), outcome).await
    }

    fn write_bounds(&self) -> WriteBounds {
        let RoundSettings { max_writes, writes_per_second, .. } = self.settings;
        WriteBounds { writes: usize::try_from(max_writes).unwrap_or(usize::MAX), per_second: writes_per_second }
    }

    /// Stores the outcome at the server. A server that keeps no status is no fault, and is noted once.
    async fn send_status(&mut self, outcome: &RoundOutcome) {
        let is_away = outcome.errors.iter().any(|error| error.code == "server_away");
        if !self.keeps_status || is_away {
            return;
        }
        let status = outcome.status(C::KIND, &self.settings.resource_group);
        match self.server.put_status(&self.settings.cluster, &status).await {
            Ok(()) => self.status_fault = None,
            Err(ServerFailure::Refused { code, detail }) if code == "unknown_path" => {
                tracing::info!(detail, "the server keeps no status of connectors");
                self.keeps_status = false;
            }
            Err(failure) => {
                let fault = failure.into_fault();
                // The same refusal comes in each round.
                if self.status_fault.as_ref() != Some(&fault.code) {
                    tracing::warn!(%fault, "the status was not stored");
                }
                self.status_fault = Some(fault.code);
            }
        }
    }
}

/// A fault of the disk, where a failure of the server is expected. It ends the round like a refusal.
fn refused_by_disk(fault: RoundFault) -> ServerFailure {
    ServerFailure::Refused { code: fault.code, detail: fault.detail }
}
