//! The trait of schedulers: what a connector reads of one, and what it writes to it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;

use api::agents::AgentReport;
use api::people_tree::PeopleTree;
use api::sequence::ServerOrder;
use domain::time::Timestamp;
use serde::Serialize;

use super::eligible::EligibleWorkload;
use super::fault::RoundFault;
use super::group_weights::GroupWeights;
use super::report_spool::SpooledReports;
use super::state_file::ConnectorState;

/// How many reasons of rows that cannot be read are given.
const MAX_REASONS: usize = 3;

/// The jobs of a scheduler, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    pub jobs: u64,
    pub pending: u64,
    pub eligible: u64,
    pub held: u64,
    pub dependent: u64,
    pub limited: u64,
    pub fixed: u64,
}

/// A reading of the queue.
pub trait QueueReading {
    fn counts(&self) -> JobCounts;

    /// The jobs that may start, in the scheduler's own order.
    fn eligible(&self) -> &[EligibleWorkload];

    /// True if the scheduler starts some of these jobs before others whatever their values.
    fn has_several_tiers(&self) -> bool {
        false
    }
}

/// Kernels of the accounting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelReading {
    pub reports: SpooledReports,
    /// Rows that could not be read, by reason.
    pub unreadable: Vec<RoundFault>,
    pub unreadable_rows: u64,
}

impl KernelReading {
    /// Counts a row that cannot be read, and keeps the reasons of the first ones.
    pub fn note_unreadable(&mut self, detail: String) {
        self.unreadable_rows += 1;
        if self.unreadable.len() < MAX_REASONS {
            self.unreadable.push(RoundFault::new("unreadable_row", detail));
        }
    }
}

/// A value that is written to the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueWrite {
    /// The scheduler's id of the job; where it has one value for each user, the name of the user.
    pub job: String,
    /// 0 takes back what was written.
    pub value: i64,
}

/// The values that a reading of the queue asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WritePlan {
    /// Only values that differ; the front of the order first.
    pub writes: Vec<ValueWrite>,
    /// Jobs whose write is of use only in the same round as the one before it, which overwrites their value.
    pub joined: BTreeSet<String>,
    /// Jobs that have the value already.
    pub kept: Vec<ValueWrite>,
    /// Jobs that were written to and have gone, so that nothing needs to be taken back.
    pub gone: Vec<String>,
}

impl WritePlan {
    /// The number of the first writes that one round makes if it may make `limit`. Writes that are joined are not parted, so that the
    /// first of them may exceed the limit.
    pub fn bounded_count(&self, limit: usize) -> usize {
        let begins = |at: &usize| self.writes.get(*at).is_none_or(|write| !self.joined.contains(&write.job));
        let limit = limit.min(self.writes.len());
        let until = (1..=limit).rev().find(begins);
        until.or_else(|| (limit..=self.writes.len()).find(begins)).unwrap_or_default()
    }
}

/// The aim of the writes of one round.
#[derive(Clone, Copy, Debug)]
pub enum WriteAim<'a> {
    /// The values follow the order of the server.
    Follow(&'a ServerOrder),
    /// The values of the jobs that the connector orders are taken back.
    Fade,
    /// All values are taken back.
    Reset,
}

/// The result of writes, as the scheduler shows it afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteResult {
    pub written: u64,
    pub read_back_differs: u64,
    pub faults: Vec<RoundFault>,
}

/// A scheduler beside which a connector stands.
pub trait SchedulerConnector {
    /// The name of the kind of scheduler.
    const KIND: &'static str;

    type Queue: QueueReading;

    /// Reads the jobs. `written` are the values that the connector has written and not taken back.
    fn read_queue(&mut self, written: &BTreeMap<String, i64>) -> impl Future<Output = Result<Self::Queue, RoundFault>>;

    /// Reads the runs that the accounting knows and the server may not know.
    fn read_kernels(&mut self, since: Option<Timestamp>) -> impl Future<Output = Result<KernelReading, RoundFault>>;

    /// Reads the nodes.
    fn read_agents(&mut self) -> impl Future<Output = Result<Vec<AgentReport>, RoundFault>>;

    /// Reads what seldom changes: the settings of the scheduler, its partitions and its accounts. If a part of it cannot be read, the
    /// others are of use.
    fn read_setup(&mut self) -> impl Future<Output = Result<(), RoundFault>>;

    /// Takes the tree of people, if one was read since the last call and the server is to have it.
    fn take_people_tree(&mut self) -> Option<PeopleTree>;

    /// Takes the weights of the group, which it has in the mode `weights` before each plan. A scheduler without that mode has no use for
    /// them.
    fn take_group_weights(&mut self, _weights: GroupWeights) {}

    /// The faults of the scheduler's settings that forbid to write.
    fn write_obstacles(&self) -> Vec<RoundFault>;

    /// The values that differ from the aim.
    fn plan_writes(&self, queue: &Self::Queue, state: &ConnectorState, aim: WriteAim) -> Result<WritePlan, RoundFault>;

    /// Writes values, at most `per_second` in one second, and reads them back.
    fn write_values(
        &mut self,
        writes: &[ValueWrite],
        per_second: u32,
    ) -> impl Future<Output = Result<WriteResult, RoundFault>>;
}
