//! Finds jobs that are known with other starts, all by the same difference, because an earlier import used another time
//! zone or `--rebase-to-now`. Taken as they are, they would count twice or be refused row by row.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::api::{ImportApi, ServerKernel};
use super::feed::NumberedJob;
use super::job::ImportedJob;
use super::rebase::TimeShift;
use crate::cli::failure::CommandFailure;
use crate::domain::ids::KernelId;
use crate::domain::time::{MICROS_PER_HOUR, MICROS_PER_SECOND, Timestamp};

/// The number of known jobs with the same offset from which on it is no coincidence.
const MIN_SAME_OFFSETS: u64 = 10;
/// The number of jobs of an import for which every offset between two time zones is tried.
const PROBED_JOBS: usize = 400;
/// Time zones differ by multiples of a quarter of an hour, and by at most 26 hours.
const QUARTER_HOUR_MICROS: i64 = MICROS_PER_HOUR / 4;
const MAX_QUARTER_HOURS: i64 = 104;

/// The reason to refuse a file.
#[derive(Debug)]
pub struct ShiftedTrace {
    pub jobs: u64,
    /// The known starts minus the starts in the file, in microseconds.
    pub offset: i64,
    /// The number of rows that were stored before this was found.
    pub taken: u64,
}

impl fmt::Display for ShiftedTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.offset.unsigned_abs() / MICROS_PER_SECOND.unsigned_abs();
        let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
        let side = if self.offset < 0 { "earlier" } else { "later" };
        write!(
            f,
            "{} jobs are known with a start that is {hours} h {minutes} min {} s {side} ",
            self.jobs,
            seconds % 60
        )?;
        write!(
            f,
            "than in the file; say --rebase-to-now again if an earlier import moved them, or the --timezone that "
        )?;
        write!(f, "it read; --replace puts the times of the file in their place")?;
        if self.taken > 0 {
            write!(f, "; {} rows before that are kept", self.taken)?;
        }
        Ok(())
    }
}

/// A job of the file that is known with another start.
pub(super) struct ShiftedJob {
    offset: i64,
    pub row: KernelId,
    pub group: String,
    pub known: ServerKernel,
    /// True if the row ends a run. A run that still runs keeps its known start.
    pub ended: bool,
}

/// Looks for such jobs while rows arrive.
#[derive(Default)]
pub(super) struct ShiftDetector {
    shift: TimeShift,
    counts: BTreeMap<i64, u64>,
    probed: usize,
    offsets: Vec<i64>,
    waiting: Vec<ShiftedJob>,
}

impl ShiftDetector {
    pub(super) fn new(shift: TimeShift) -> Self {
        Self { shift, ..Self::default() }
    }

    /// Looks at rows of groups that existed before.
    pub(super) async fn look(&mut self, api: &ImportApi, rows: &[&NumberedJob]) -> Result<(), CommandFailure> {
        let jobs: Vec<&ImportedJob> = rows.iter().map(|row| &row.job).filter(|job| job.started_at.is_some()).collect();
        let ids: Vec<KernelId> = jobs.iter().map(|job| job.kernel_id()).collect();
        let known = reports(api, &ids).await?;
        let mut fresh = Vec::new();
        for (job, id) in jobs.into_iter().zip(ids) {
            match known.get(&id) {
                Some(report) => self.pair(job, report.clone()),
                None if !job.run_of.is_empty() => fresh.push(job),
                None => {}
            }
        }
        self.probe(api, &fresh).await?;
        for offset in self.offsets.clone() {
            let others = fresh.iter().filter_map(|job| Some((self.other_run(job, offset)?, *job)));
            let others: HashMap<KernelId, &ImportedJob> = others.collect();
            let ids: Vec<KernelId> = others.keys().copied().collect();
            for (id, report) in reports(api, &ids).await? {
                self.pair(others[&id], report);
            }
        }
        Ok(())
    }

    /// Finds offsets with which some of the jobs are known.
    async fn probe(&mut self, api: &ImportApi, fresh: &[&ImportedJob]) -> Result<(), CommandFailure> {
        let step = (fresh.len() / 50).max(1);
        let sample: Vec<_> = fresh.iter().step_by(step).take(PROBED_JOBS - self.probed.min(PROBED_JOBS)).collect();
        self.probed += sample.len();
        let offsets = (-MAX_QUARTER_HOURS..=MAX_QUARTER_HOURS)
            .filter(|quarters| *quarters != 0)
            .map(|quarters| quarters * QUARTER_HOUR_MICROS);
        let tried: HashMap<KernelId, i64> = offsets
            .flat_map(|offset| sample.iter().map(move |job| (offset, job)))
            .filter_map(|(offset, job)| Some((self.other_run(job, offset)?, offset)))
            .collect();
        let ids: Vec<KernelId> = tried.keys().copied().collect();
        let found: HashSet<i64> = reports(api, &ids).await?.keys().map(|id| tried[id]).collect();
        self.offsets.extend(found.into_iter().filter(|offset| !self.offsets.contains(offset)).collect::<Vec<_>>());
        self.offsets.sort_unstable();
        Ok(())
    }

    /// The kernel of the run that would have begun `offset` later, in the trace's times.
    fn other_run(&self, job: &ImportedJob, offset: i64) -> Option<KernelId> {
        let start = self.shift.back(job.started_at?);
        job.kernel_of_run(Timestamp::from_micros(start.micros().checked_add(offset)?))
    }

    fn pair(&mut self, job: &ImportedJob, known: ServerKernel) {
        let (Some(start), Some(known_start)) = (job.started_at, known.started_at) else { return };
        let offset = known_start.micros() - start.micros();
        // For jobs that ended in both, the end must have moved by the same offset.
        let ends = job.terminated_at.zip(known.terminated_at);
        if offset == 0 || ends.is_some_and(|(end, known_end)| known_end.micros() - end.micros() != offset) {
            return;
        }
        *self.counts.entry(offset).or_default() += 1;
        let group = job.resource_group.clone();
        self.waiting.push(ShiftedJob {
            offset,
            row: job.kernel_id(),
            group,
            known,
            ended: job.terminated_at.is_some(),
        });
    }

    /// The offset that is no coincidence, with the number of its jobs.
    pub(super) fn found(&self) -> Option<(i64, u64)> {
        self.counts.iter().map(|(offset, jobs)| (*offset, *jobs)).find(|(_, jobs)| *jobs >= MIN_SAME_OFFSETS)
    }

    /// The pairs whose offset is no coincidence, each once.
    pub(super) fn take_pairs(&mut self) -> Vec<ShiftedJob> {
        let counts = &self.counts;
        let (enough, waiting) = self.waiting.drain(..).partition(|pair| counts[&pair.offset] >= MIN_SAME_OFFSETS);
        self.waiting = waiting;
        enough
    }
}

async fn reports(api: &ImportApi, ids: &[KernelId]) -> Result<BTreeMap<KernelId, ServerKernel>, CommandFailure> {
    let known = api.known(ids).await?;
    Ok(known.into_iter().map(|known| (known.id, known)).collect())
}
